/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_fields.c: the tables of fields beside the OpenAPI of kube-apiserver 1.36.2
 * (tests/data/schemas/kubernetes.json): no field is missing, none is made up, kinds of values and
 * enumerations agree. */
#include "controller/cmd/cmd_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/file.h"
#include "tests/support/unit.h"

#define DATA_MAX (64u << 20)

struct walk {
    struct arena *a;
    struct json_object *definitions;
    size_t types, fields;
};

static struct json_object *member(struct json_object *o, const char *name)
{
    return json_member(o, name);
}

static const char *ref_of(struct json_object *schema)
{
    const char *ref = json_str(schema, "$ref");
    return ref == NULL ? NULL : strrchr(ref, '/') + 1;
}

/* The kind that a schema asks for. */
static enum cmd_field_kind kind_of(struct json_object *schema)
{
    const char *ref = ref_of(schema);
    const char *type = json_str(schema, "type");
    struct json_object *items = member(schema, "items");
    if (str_eq(ref, "apis.meta.v1.Time")) {
        return CMD_TIME;
    }
    if (str_eq(ref, "util.intstr.IntOrString")) {
        return CMD_INT_OR_TEXT;
    }
    if (str_eq(ref, "apis.meta.v1.FieldsV1")) {
        return CMD_ANY;
    }
    if (ref != NULL) {
        return CMD_OBJECT;
    }
    if (str_eq(type, "string")) {
        return CMD_TEXT;
    }
    if (str_eq(type, "boolean")) {
        return CMD_BOOL;
    }
    if (str_eq(type, "integer")) {
        return str_eq(json_str(schema, "format"), "int32") ? CMD_I32 : CMD_I64;
    }
    if (str_eq(type, "array")) {
        return ref_of(items) != NULL ? CMD_OBJECTS : CMD_TEXTS;
    }
    assert_string_equal("object", type);
    return ref_of(member(schema, "additionalProperties")) != NULL ? CMD_QUANTITY_MAP : CMD_TEXT_MAP;
}

/* "" stands in the schema's enumeration of list items, which the server does not take. */
static void check_words(const struct cmd_field *f, struct json_object *words)
{
    size_t n = 0;
    for (size_t i = 0; i < json_len(words); i++) {
        const char *word = json_object_get_string(json_object_array_get_idx(words, i));
        if (*word != '\0') {
            assert_non_null(f->one_of);
            assert_string_equal(word, str_nonnull(f->one_of[n]));
            n++;
        }
    }
    assert_true(f->one_of == NULL ? n == 0 : f->one_of[n] == NULL);
}

static void check_type(struct walk *w, const struct cmd_type *type);

static void check_field(struct walk *w, const struct cmd_type *type, const struct cmd_field *f)
{
    struct json_object *properties = member(member(w->definitions, type->schema), "properties");
    struct json_object *schema = member(properties, f->name);
    if (schema == NULL) {
        fail_msg("%s.%s is not in the API", type->schema, f->name);
    }
    if (kind_of(schema) != f->kind) {
        fail_msg("%s.%s: want kind %d, got %d", type->schema, f->name, kind_of(schema), f->kind);
    }
    struct json_object *items = member(schema, "items");
    check_words(f, member(items != NULL ? items : schema, "enum"));
    w->fields++;
    if (f->type != NULL) {
        assert_string_equal(ref_of(items != NULL ? items : schema), f->type->schema);
        check_type(w, f->type);
    }
}

static void check_type(struct walk *w, const struct cmd_type *type)
{
    struct json_object *properties = member(member(w->definitions, type->schema), "properties");
    assert_non_null(properties);
    w->types++;
    for (size_t i = 0; i < type->n; i++) {
        check_field(w, type, &type->fields[i]);
    }
    json_object_object_foreach(properties, name, schema)
    {
        bool known = false;
        (void)schema;
        for (size_t i = 0; i < type->n; i++) {
            known |= str_eq(type->fields[i].name, name);
        }
        if (!known) {
            fail_msg("%s.%s is missing", type->schema, name);
        }
    }
}

static void cmd_fields__beside_the_schema__the_same(void **state)
{
    (void)state;
    static const struct cmd_type *const roots[] = {&cmd_type_service, &cmd_type_node};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct walk w = {.a = a};
    struct json_object *pack = NULL;
    char *text;
    size_t n;
    const char *path = arena_printf(a, "%s/schemas/kubernetes.json", getenv("TRIMTAB_TEST_DATA"));
    assert_int_equal(ERR_OK, file_read(a, path, DATA_MAX, &text, &n, NULL));
    assert_int_equal(ERR_OK, json_parse_arena(a, text, n, NULL, &pack, NULL));
    w.definitions = member(pack, "definitions");
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        check_type(&w, roots[i]);
    }
    for (size_t i = 0; i < cmd_type_list.n; i++) { /* a List itself is not in the pack */
        if (cmd_type_list.fields[i].type != NULL) {
            check_type(&w, cmd_type_list.fields[i].type);
        }
    }
    assert_true(w.types > 30 && w.fields > 170);
}

UNIT_MAIN(cmd_fields)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_fields__beside_the_schema__the_same),
    };
    return cmocka_run_group_tests_name("cmd-fields", tests, NULL, NULL);
}
