/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_service_rules.c: what is refused before a plan, beside what kube-apiserver 1.36.2
 * refused.
 *
 * tests/data/kube-answers/services.jsonl holds requests that create Services, with the server's
 * answers.  Each body goes the way of a manifest: fields, defaults, rules.  What the server took
 * has no hard fault; of what it refused with 422 every cause is found, in its words, but for those
 * that need the server's flags or its other objects. */
#include "controller/cmd/cmd_service_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/file.h"
#include "controller/cmd/cmd_fields.h"
#include "controller/cmd/cmd_manifest.h"
#include "tests/support/unit.h"

#define DATA_MAX (64u << 20)

/* Hard faults of a body as a manifest; `live` is what the cluster has, or NULL. */
static struct cmd_faults faults_of(struct arena *a, struct json_object *body,
                                   struct json_object *live)
{
    struct cmd_faults faults = {.a = a};
    const struct cmd_origin origin = {.file = "f"};
    const char *note = NULL;
    cmd_fields_check(&faults, &origin, &cmd_type_service, body);
    if (cmd_faults_hard(&faults) > 0) {
        return faults;
    }
    const char *name = str_nonnull(json_str(json_member(body, "metadata"), "name"));
    const char *ns = json_str(json_member(body, "metadata"), "namespace");
    const struct cmd_manifest m = {.origin = origin, .ns = ns, .name = name, .object = body};
    _cleanup_(json_putp) struct json_object *whole = cmd_manifest_complete(a, &m, live, &note);
    cmd_service_check(&faults, &origin, whole, live);
    return faults;
}

/* Faults that are printed before the first request. */
static struct cmd_faults faults_alone(struct arena *a, struct json_object *body)
{
    struct cmd_faults faults = {.a = a};
    const struct cmd_origin origin = {.file = "f"};
    const char *note = NULL;
    cmd_fields_check(&faults, &origin, &cmd_type_service, body);
    if (cmd_faults_hard(&faults) == 0) {
        const struct cmd_manifest m = {.origin = origin, .name = "x", .object = body};
        _cleanup_(json_putp) struct json_object *whole = cmd_manifest_complete(a, &m, NULL, &note);
        cmd_service_check_alone(&faults, &origin, whole);
    }
    return faults;
}

static bool has_fault(const struct cmd_faults *f, const char *text)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strstr(f->items[i].text, text) != NULL) {
            return true;
        }
    }
    return false;
}

/* Causes that only the server can know, or that follow from what it fills in. */
static bool is_servers_own(const char *field, const char *message)
{
    static const char *const words[] = {
        "provided port is not in the valid range",
        "provided port is already allocated",
        "not configured on this cluster",
        "provided IP is not in the valid range",
        "failed to allocate IP",
        "this cluster is not configured for dual-stack services",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strstr(message, words[i]) != NULL) {
            return true;
        }
    }
    return str_has_prefix(field, "metadata.managedFields");
}

struct tally {
    size_t taken, causes, wrong;
    struct json_object *live; /* the Service of the row before; reference */
};

static void complain(struct tally *t, struct json_object *row, const char *what, const char *text)
{
    t->wrong++;
    print_message("# %s: %s %s\n", json_str(row, "name"), what, text);
}

/* Wrong types have our own words. */
static bool has_wrong_type(const struct cmd_faults *f)
{
    return has_fault(f, ": want a");
}

static void check_causes(struct arena *a, struct tally *t, struct json_object *row,
                         const struct cmd_faults *faults)
{
    struct json_object *causes = json_path(row, "response.body.details.causes");
    for (size_t i = 0; i < json_len(causes); i++) {
        struct json_object *cause = json_object_array_get_idx(causes, i);
        const char *field = str_nonnull(json_str(cause, "field"));
        const char *message = str_nonnull(json_str(cause, "message"));
        if (is_servers_own(field, message)) {
            continue;
        }
        const char *text = arena_printf(a, "%s: %s", field, message);
        t->causes++;
        if (!has_fault(faults, text) && !has_wrong_type(faults)) {
            complain(t, row, "is not told", text);
        }
    }
}

static bool is_create(struct json_object *row)
{
    struct json_object *request = json_member(row, "request");
    return str_eq(json_str(request, "method"), "POST") &&
           str_has_suffix(str_nonnull(json_str(request, "path")), "/services") &&
           json_object_is_type(json_member(request, "body"), json_type_object);
}

static void check_create(struct tally *t, const char *line, size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *row = NULL;
    assert_int_equal(ERR_OK, json_parse_arena(a, line, n, NULL, &row, NULL));
    int64_t status = json_int(json_member(row, "response"), "status", 0);
    if (status == 0 || !is_create(row)) {
        return;
    }
    struct cmd_faults faults = faults_of(a, json_path(row, "request.body"), NULL);
    if (status == 201 && cmd_faults_hard(&faults) > 0) {
        complain(t, row, "was taken, but here", faults.items[0].text);
    }
    t->taken += status == 201;
    if (status == 422) {
        check_causes(a, t, row, &faults);
    }
    if (status == 400 && faults.n == 0) {
        complain(t, row, "is not told",
                 str_nonnull(json_str(json_path(row, "response.body"), "message")));
    }
}

/* Calls `fn` with each line of a file of recorded answers. */
static void each_row(const char *file, void (*fn)(struct tally *t, const char *line, size_t n),
                     struct tally *t)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    char *text;
    size_t n;
    const char *path = arena_printf(a, "%s/kube-answers/%s", getenv("TRIMTAB_TEST_DATA"), file);
    assert_int_equal(ERR_OK, file_read(a, path, DATA_MAX, &text, &n, NULL));
    for (char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        fn(t, line, length);
        line += length + (line[length] == '\n');
    }
    json_object_put(t->live);
    t->live = NULL;
}

static void cmd_service_check__recorded_creates__same_causes(void **state)
{
    (void)state;
    struct tally t = {0};
    each_row("services.jsonl", check_create, &t);
    assert_int_equal(0, t.wrong);
    assert_int_equal(116, t.taken);
    assert_int_equal(149, t.causes);
}

/* A patch of members without null is what applying a manifest with these members does. */
static bool is_plain(struct json_object *o)
{
    if (!json_object_is_type(o, json_type_object)) {
        return o != NULL;
    }
    json_object_object_foreach(o, name, value)
    {
        (void)name;
        if (!is_plain(value)) {
            return false;
        }
    }
    return true;
}

static bool is_patch(struct json_object *row)
{
    struct json_object *request = json_member(row, "request");
    struct json_object *headers = json_member(request, "headers");
    struct json_object *body = json_member(request, "body");
    bool merge = str_eq(json_str(headers, "Content-Type"), "application/merge-patch+json");
    return merge && json_member(body, "spec") != NULL && is_plain(body) &&
           json_object_object_length(body) == 1;
}

/* A merge patch replaces lists: as an apply does when the last one had all of their items; of the
 * lists only that of ports is merged. */
static void note_applied(struct arena *a, struct json_object *live)
{
    _cleanup_(json_putp) struct json_object *last = json_object_new_object();
    struct json_object *spec = json_object_new_object();
    struct json_object *meta = json_member(live, "metadata");
    struct json_object *notes = json_object_new_object();
    json_add(last, "spec", spec);
    json_add(spec, "ports", json_copy(json_path(live, "spec.ports")));
    json_add_str(notes, "kubectl.kubernetes.io/last-applied-configuration",
                 json_text(a, last, JSON_COMPACT));
    json_object_object_del(meta, "annotations");
    json_add(meta, "annotations", notes);
}

static void check_update(struct tally *t, const char *line, size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *row = NULL;
    assert_int_equal(ERR_OK, json_parse_arena(a, line, n, NULL, &row, NULL));
    int64_t status = json_int(json_member(row, "response"), "status", 0);
    struct json_object *answer = json_path(row, "response.body");
    const char *path = str_nonnull(json_str(json_member(row, "request"), "path"));
    const char *slash = strrchr(path, '/');
    const char *name = str_nonnull(json_str(json_member(t->live, "metadata"), "name"));
    if (is_patch(row) && slash != NULL && str_eq(slash + 1, name)) {
        struct json_object *body = json_path(row, "request.body");
        struct json_object *meta = json_object_new_object();
        json_add(body, "metadata", meta);
        json_add_str(meta, "name", name);
        json_add_str(meta, "namespace", "kd");
        if (json_path(body, "spec.ports") != NULL) {
            note_applied(a, t->live);
        }
        struct cmd_faults alone = faults_alone(a, body);
        if (status == 200 && cmd_faults_hard(&alone) > 0) {
            complain(t, row, "was taken, but alone", alone.items[0].text);
        }
        struct cmd_faults faults = faults_of(a, body, t->live);
        if (status == 200 && cmd_faults_hard(&faults) > 0) {
            complain(t, row, "was taken, but here", faults.items[0].text);
        }
        t->taken += status == 200;
        if (status == 422) {
            check_causes(a, t, row, &faults);
        }
    }
    if (status == 200 || status == 201) {
        json_object_put(t->live);
        t->live = str_eq(json_str(answer, "kind"), "Service") ? json_copy(answer) : NULL;
    }
}

static void cmd_service_check__recorded_updates__same_causes(void **state)
{
    (void)state;
    struct tally t = {0};
    each_row("updates.jsonl", check_update, &t);
    assert_int_equal(0, t.wrong);
    assert_int_equal(20, t.taken);
    assert_int_equal(5, t.causes);
}

UNIT_MAIN(cmd_service_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_service_check__recorded_creates__same_causes),
        cmocka_unit_test(cmd_service_check__recorded_updates__same_causes),
    };
    return cmocka_run_group_tests_name("cmd-service-rules", tests, NULL, NULL);
}
