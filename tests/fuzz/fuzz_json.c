/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c: json_parse(), json_print(), json_equal() and json_decode().
 *
 * What holds for every input: a tree that was accepted prints as text that is accepted again, gives
 * an equal tree and prints the same bytes; a refusal has a text with a place; a decoder never
 * accepts what its table forbids; views are taken, refused and decoded as trees are, in
 * the same words. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/data/json_view.h"

struct item {
    const char *name;
    int32_t port;
    int64_t id;
    double weight;
    bool flag;
    const char **words;
    size_t n_words;
    struct item *items;
    size_t n_items;
    struct json_kv *labels;
    size_t n_labels;
};

#define PLAIN(member, t, ...)                                                                      \
    {                                                                                              \
        .name = #member, .type = (t), .offset = offsetof(struct item, member), __VA_ARGS__         \
    }
#define COUNTED(member, t, ...)                                                                    \
    {                                                                                              \
        .name = #member, .type = (t), .offset = offsetof(struct item, member),                     \
        .count_offset = offsetof(struct item, n_##member), __VA_ARGS__                             \
    }
static const struct json_field item_fields[] = {
    PLAIN(name, JSON_T_STR, .max = 63),
    PLAIN(port, JSON_T_I32, .min = 1, .max = 65535),
    PLAIN(id, JSON_T_I64, .has_offset = 0),
    PLAIN(weight, JSON_T_DOUBLE, .has_offset = 0),
    PLAIN(flag, JSON_T_BOOL, .has_offset = 0),
    COUNTED(words, JSON_T_STRS, .max_items = 5),
    COUNTED(items, JSON_T_OBJECTS, .sub = item_fields, .sub_size = sizeof(struct item)),
    COUNTED(labels, JSON_T_MAP, .max_items = 5),
    {0},
};

static const struct json_limits limits = {
    .max_bytes = 1 << 16, .max_depth = 64, .max_values = 10000, .allow_nul = true};

static void check_decoder(struct arena *a, struct json_object *o)
{
    struct item item = {0};
    struct err err = ERR_INIT;
    int rc = json_decode(a, o, item_fields, &item, JSON_SKIP_UNKNOWN, "", &err);
    FUZZ_CHECK(rc == ERR_OK || rc == ERR_INVALID);
    FUZZ_CHECK((rc == ERR_OK) == (err.message[0] == '\0'));
    if (rc == ERR_OK) {
        FUZZ_CHECK(item.port == 0 || (item.port >= 1 && item.port <= 65535));
        FUZZ_CHECK(item.name == NULL || strlen(item.name) <= 63);
        FUZZ_CHECK(item.n_words <= 5 && item.n_labels <= 5);
    }
}

static void check_printing(struct arena *a, struct json_object *o, enum json_style style)
{
    static const struct json_limits wide = {.max_depth = 64, .allow_nul = true};
    struct json_object *again = NULL;
    const char *text = json_text(a, o, style);
    FUZZ_CHECK(json_parse_arena(a, text, strlen(text), &wide, &again, NULL) == ERR_OK);
    FUZZ_CHECK(json_equal(o, again));
    FUZZ_CHECK(strcmp(text, json_text(a, again, style)) == 0);
}

/* `rc`, `err` and `o`: what the tree's way said of the same text. */
static void check_view(struct arena *a, const uint8_t *data, size_t size, int rc,
                       const struct err *err, struct json_object *o)
{
    const struct json_view *v = NULL;
    struct err view_err = ERR_INIT;
    struct item of_tree = {0};
    struct item of_view = {0};
    int view_rc = json_view_parse(a, (const char *)data, size, &limits, &v, &view_err);
    FUZZ_CHECK(view_rc == rc && strcmp(view_err.message, err->message) == 0);
    if (rc != ERR_OK) {
        return;
    }
    struct json_object *again = json_view_tree(v);
    FUZZ_CHECK(strcmp(json_text(a, again, JSON_COMPACT), json_text(a, o, JSON_COMPACT)) == 0);
    json_object_put(again);
    struct err tree_err = ERR_INIT;
    rc = json_decode(a, o, item_fields, &of_tree, JSON_REFUSE_UNKNOWN, "x", &tree_err);
    view_rc = json_decode_view(a, v, item_fields, &of_view, JSON_REFUSE_UNKNOWN, "x", &view_err);
    FUZZ_CHECK(view_rc == rc && strcmp(view_err.message, tree_err.message) == 0);
    FUZZ_CHECK(of_tree.port == of_view.port && of_tree.id == of_view.id &&
               of_tree.n_words == of_view.n_words && of_tree.n_items == of_view.n_items &&
               of_tree.n_labels == of_view.n_labels && str_eq(of_tree.name, of_view.name));
}

FUZZ_TARGET(json, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct json_object *o = NULL;
    int rc = json_parse_arena(a, (const char *)data, size, &limits, &o, &err);
    FUZZ_CHECK(rc == ERR_OK || (rc == ERR_INVALID && strncmp(err.message, "line ", 5) == 0));
    check_view(a, data, size, rc, &err, o);
    if (rc == ERR_OK) {
        check_printing(a, o, JSON_COMPACT);
        check_printing(a, o, JSON_SORTED_PRETTY);
        check_decoder(a, o);
        struct json_object *copy = json_copy(o);
        FUZZ_CHECK(json_equal(o, copy));
        json_object_put(copy);
    }
    arena_free(a);
    return 0;
}
