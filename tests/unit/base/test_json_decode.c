/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_decode.c: structures filled by tables, and errors that say where. */
#include "tests/support/unit.h"
#include "tests/unit/base/base_test.h"

#include <string.h>

struct port {
    const char *name;
    int32_t port;
    const char *protocol;
};
struct thing {
    const char *name;
    bool flag;
    bool has_flag;
    int32_t count;
    int64_t id;
    double weight;
    const char **words;
    size_t n_words;
    struct port first;
    struct port *ports;
    size_t n_ports;
    struct json_kv *labels;
    size_t n_labels;
    struct json_object *raw;
};

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const struct json_field port_fields[] = {
    {.name = "name", .type = JSON_T_STR, .offset = offsetof(struct port, name), .max = 5},
    {.name = "port",
     .type = JSON_T_I32,
     .offset = offsetof(struct port, port),
     .min = 1,
     .max = 65535,
     .required = true},
    {.name = "protocol",
     .type = JSON_T_STR,
     .offset = offsetof(struct port, protocol),
     .one_of = protocols},
    {0},
};
static const struct json_field fields[] = {
    {.name = "name", .type = JSON_T_STR, .offset = offsetof(struct thing, name)},
    {.name = "flag",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct thing, flag),
     .has_offset = offsetof(struct thing, has_flag)},
    {.name = "count", .type = JSON_T_I32, .offset = offsetof(struct thing, count)},
    {.name = "id", .type = JSON_T_I64, .offset = offsetof(struct thing, id)},
    {.name = "weight", .type = JSON_T_DOUBLE, .offset = offsetof(struct thing, weight), .max = 10},
    {.name = "words",
     .type = JSON_T_STRS,
     .offset = offsetof(struct thing, words),
     .count_offset = offsetof(struct thing, n_words),
     .max_items = 3},
    {.name = "first",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct thing, first),
     .sub = port_fields},
    {.name = "ports",
     .type = JSON_T_OBJECTS,
     .offset = offsetof(struct thing, ports),
     .count_offset = offsetof(struct thing, n_ports),
     .sub = port_fields,
     .sub_size = sizeof(struct port)},
    {.name = "labels",
     .type = JSON_T_MAP,
     .offset = offsetof(struct thing, labels),
     .count_offset = offsetof(struct thing, n_labels)},
    {.name = "raw", .type = JSON_T_RAW, .offset = offsetof(struct thing, raw)},
    {0},
};

static int decode(struct arena *a, const char *text, enum json_unknown unknown, const char *where,
                  struct thing *out, struct err *err)
{
    struct json_object *o = NULL;
    const struct json_limits limits = {.allow_nul = true};
    struct err parse_err = ERR_INIT;
    assert_fine(json_parse_arena(a, text, strlen(text), &limits, &o, &parse_err), &parse_err);
    return json_decode(a, o, fields, out, unknown, where, err);
}

static void json_decode__every_type__filled(void **state)
{
    struct arena *a = *state;
    struct thing t = {.count = 5};
    struct err err = ERR_INIT;
    assert_fine(
        decode(
            a,
            "{\"name\":\"n\",\"flag\":false,\"count\":-2147483648,\"id\":\"9223372036854775807\","
            "\"weight\":2,\"words\":[\"b\",\"a\"],\"first\":{\"port\":1},"
            "\"ports\":[{\"port\":80,\"name\":\"http\",\"protocol\":\"TCP\"},{\"port\":65535}],"
            "\"labels\":{\"z\":\"1\",\"a\":\"2\"},\"raw\":[7],\"other\":{}}",
            JSON_SKIP_UNKNOWN, "", &t, &err),
        &err);
    assert_string_equal(t.name, "n");
    assert_true(!t.flag && t.has_flag);
    assert_int_equal(t.count, INT32_MIN);
    assert_int_equal(t.id, INT64_MAX);
    assert_true(t.weight == 2.0);
    assert_int_equal(t.n_words, 2);
    assert_string_equal(t.words[0], "b");
    assert_int_equal(t.first.port, 1);
    assert_int_equal(t.n_ports, 2);
    assert_string_equal(t.ports[0].protocol, "TCP");
    assert_null(t.ports[1].name);
    assert_int_equal(t.ports[1].port, 65535);
    assert_int_equal(t.n_labels, 2);
    assert_string_equal(t.labels[0].key, "a");
    assert_string_equal(t.labels[1].value, "1");
    assert_int_equal(json_len(t.raw), 1);
}

static void json_decode__absent_and_null__leave_defaults(void **state)
{
    struct arena *a = *state;
    struct thing t = {.name = "default", .count = 5, .flag = true, .weight = 1.5, .id = 9};
    struct err err = ERR_INIT;
    assert_fine(decode(a, "{\"name\":null,\"flag\":null,\"count\":null,\"ports\":null}",
                       JSON_REFUSE_UNKNOWN, "", &t, &err),
                &err);
    assert_string_equal(t.name, "default");
    assert_true(t.flag && !t.has_flag);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.id, 9);
    assert_fine(
        decode(a, "{\"ports\":[],\"words\":[],\"labels\":{}}", JSON_REFUSE_UNKNOWN, "", &t, &err),
        &err);
    assert_int_equal(t.n_ports + t.n_words + t.n_labels, 0);
}

static void json_decode__wrong_values__named_with_path(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"[]", "spec: want an object, got an array"},
        {"{\"name\":1}", "spec.name: want a string, got 1"},
        {"{\"name\":{}}", "spec.name: want a string, got an object"},
        {"{\"name\":\"a\\u0000b\"}", "spec.name: want a string without NUL"},
        {"{\"flag\":\"true\"}", "spec.flag: want true or false, got \"true\""},
        {"{\"count\":2147483648}",
         "spec.count: want a whole number from -2147483648 to 2147483647, got 2147483648"},
        {"{\"count\":\"1\"}",
         "spec.count: want a whole number from -2147483648 to 2147483647, got \"1\""},
        {"{\"count\":1.0}",
         "spec.count: want a whole number from -2147483648 to 2147483647, got 1.0"},
        {"{\"id\":\"x\"}", "spec.id: want a whole number, got \"x\""},
        {"{\"id\":9223372036854775808}", "spec.id: want a whole number, got 9223372036854775808"},
        {"{\"id\":true}", "spec.id: want a whole number, got true"},
        {"{\"weight\":\"1\"}", "spec.weight: want a number, got \"1\""},
        {"{\"weight\":10.5}", "spec.weight: want a number from 0 to 10, got 10.5"},
        {"{\"weight\":-1}", "spec.weight: want a number from 0 to 10, got -1"},
        {"{\"words\":\"a\"}", "spec.words: want an array of strings, got \"a\""},
        {"{\"words\":[\"a\",null]}", "spec.words[1]: want a string, got null"},
        {"{\"words\":[\"a\",\"b\",\"c\",\"d\"]}", "spec.words: want at most 3 items, got 4"},
        {"{\"ports\":{}}", "spec.ports: want an array of objects, got an object"},
        {"{\"ports\":[{\"port\":1},7]}", "spec.ports[1]: want an object, got 7"},
        {"{\"ports\":[{\"port\":1},{\"port\":2},{\"port\":\"http\"}]}",
         "spec.ports[2].port: want a whole number from 1 to 65535, got \"http\""},
        {"{\"ports\":[{}]}", "spec.ports[0].port: is missing"},
        {"{\"ports\":[{\"port\":null}]}", "spec.ports[0].port: is missing"},
        {"{\"first\":{\"port\":0}}", "spec.first.port: want a whole number from 1 to 65535, got 0"},
        {"{\"first\":{\"port\":1,\"name\":\"123456\"}}",
         "spec.first.name: want at most 5 bytes, got 6"},
        {"{\"first\":{\"port\":1,\"protocol\":\"tcp\"}}",
         "spec.first.protocol: want \"TCP\", \"UDP\" or \"SCTP\", got \"tcp\""},
        {"{\"labels\":[]}", "spec.labels: want an object with strings, got an array"},
        {"{\"labels\":{\"a.b/c\":1}}", "spec.labels.a.b/c: want a string, got 1"},
        {"{\"nmae\":1}", "spec.nmae: unknown member"},
        {"{\"first\":{\"port\":1,\"x\":1}}", "spec.first.x: unknown member"},
        {"{\"name\":[1]}", "spec.name: want a string, got an array"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct thing t = {0};
        struct err err = ERR_INIT;
        assert_int_equal(decode(a, rows[i].in, JSON_REFUSE_UNKNOWN, "spec", &t, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
    }
}

static void json_decode__long_values_and_no_place__shown_short(void **state)
{
    struct arena *a = *state;
    struct thing t = {0};
    struct err err = ERR_INIT;
    assert_refused(decode(a, "[]", JSON_SKIP_UNKNOWN, "", &t, &err), &err, ERR_INVALID,
                   "want an object");
    char text[200];
    memset(text, 'x', sizeof text);
    memcpy(text, "{\"flag\":\"", 9);
    memcpy(text + sizeof text - 3, "\"}", 3);
    assert_int_equal(decode(a, text, JSON_SKIP_UNKNOWN, "", &t, &err), ERR_INVALID);
    assert_int_equal(strlen(err.message), strlen("flag: want true or false, got ") + 60 + 3);
    static const struct json_field broken[] = {{.name = "a", .type = (enum json_field_type)77},
                                               {0}};
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    json_add_int(o, "a", 1);
    assert_int_equal(json_decode(a, o, broken, &t, JSON_SKIP_UNKNOWN, "", &err), ERR_BUG);
}

static void json_decode__big_map__capped(void **state)
{
    struct arena *a = *state;
    struct thing t = {0};
    struct err err = ERR_INIT;
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    struct json_object *labels = json_object_new_object();
    for (int i = 0; i < 10001; i++) {
        json_add_str(labels, arena_printf(a, "k%d", i), "");
    }
    json_add(o, "labels", labels);
    assert_refused(json_decode(a, o, fields, &t, JSON_SKIP_UNKNOWN, "", &err), &err, ERR_INVALID,
                   "labels: want at most 10000 items, got 10001");
}

UNIT_MAIN(json_decode)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_decode__every_type__filled),
        cmocka_unit_test(json_decode__absent_and_null__leave_defaults),
        cmocka_unit_test(json_decode__wrong_values__named_with_path),
        cmocka_unit_test(json_decode__long_values_and_no_place__shown_short),
        cmocka_unit_test(json_decode__big_map__capped),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
