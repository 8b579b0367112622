/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c: YAML as the Kubernetes tools read it.
 *
 * go_yaml.jsonl holds random documents with what sigs.k8s.io/yaml (strict) made of them. */
#include "tests/unit/base/base_test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/data/yaml.h"
#include "common/data/yaml_scalar.h"
#include "tests/support/unit.h"

static void yaml__random__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    struct err err = ERR_INIT;
    struct json_object *got = NULL;
    const char *text = json_str(line, "in");
    bool refused = json_bool(line, "refused", false);
    int rc = yaml_parse(a, text, strlen(text), &got, &err);
    assert_int_equal(rc, refused ? ERR_INVALID : ERR_OK);
    struct json_object *out = json_member(line, "out");
    if (!refused && !json_equal(got, out)) {
        fail_msg("%s: want %s, got %s", text, json_text(a, out, JSON_COMPACT),
                 json_text(a, got, JSON_COMPACT));
    }
}

static void yaml_parse__recorded_from_go__equal(void **state)
{
    (void)state;
    assert_int_equal(vectors_each("go_yaml.jsonl", yaml__random__equal, NULL), 239);
}

static void yaml_parse__scalars__go_yaml_rules(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"y", "true"},
        {"Yes", "true"},
        {"ON", "true"},
        {"N", "false"},
        {"off", "false"},
        {"yEs", "\"yEs\""},
        {"~", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {"'null'", "\"null\""},
        {"\"1\"", "\"1\""},
        {"010", "8"},
        {"08", "8"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"-0x10", "-16"},
        {"0b101", "5"},
        {"0b2", "\"0b2\""},
        {"1_000", "1000"},
        {"_1", "\"_1\""},
        {"+5", "5"},
        {"-", "[null]"},
        {"9223372036854775808", "9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"+18446744073709551615", "18446744073709551616"},
        {"18446744073709551616", "18446744073709551616"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", "-9223372036854775808"}, /* a float, as in Go */
        {"1.5", "1.5"},
        {"80.0", "80"},
        {"1e3", "1000"},
        {".5", "0.5"},
        {"5.", "5"},
        {".", "\".\""},
        {"1e", "\"1e\""},
        {"1e400", "\"1e400\""},
        {"1.2.3", "\"1.2.3\""},
        {"2001-01-01", "\"2001-01-01\""},
        {"12:30", "\"12:30\""},
        {"10.0.0.0/8", "\"10.0.0.0/8\""},
        {"!!str 12", "\"12\""},
        {"!!int 0x10", "16"},
        {"!!float 1", "1"},
        {"!!bool y", "true"},
        {"!!null ''", "null"},
        {"!!binary aGk=", "\"hi\""},
        {"!own x", "\"x\""},
        {"! 12", "\"12\""},
        {"|\n  a\n  b\n", "\"a\\nb\\n\""},
        {">-\n  a\n  b\n", "\"a b\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *got = NULL;
        assert_fine(yaml_parse(a, rows[i].in, strlen(rows[i].in), &got, &err), &err);
        const char *text = json_text(a, got, JSON_COMPACT);
        if (strcmp(text, rows[i].want) != 0) {
            fail_msg("%s: want %s, got %s", rows[i].in, rows[i].want, text);
        }
    }
}

static void yaml_parse__structures__become_json(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"a: 1\nb:\n- x\n- {c: d}\n", "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}]}"},
        {"1: a\ntrue: b\n1.5: c\n", "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\"}"},
        {"a: &x {k: v}\nb: *x\n", "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"}}"},
        {"a: &x 1\nb: [*x, *x]\n", "{\"a\":1,\"b\":[1,1]}"},
        {"&x a: *x\n", "{\"a\":\"a\"}"},
        {"a: &x ~\nb: *x\n", "{\"a\":null,\"b\":null}"},
        {"a: &x {b: &x 1}\nc: *x\n", "{\"a\":{\"b\":1},\"c\":1}"},
        {"base: &b {p: 1, q: 2}\nuse:\n  <<: *b\n  q: 3\n",
         "{\"base\":{\"p\":1,\"q\":2},\"use\":{\"q\":3,\"p\":1}}"},
        {"use:\n  q: 3\n  <<: {p: 1, q: 2}\n", "{\"use\":{\"q\":3,\"p\":1}}"},
        {"- &a {x: 1}\n- &b {x: 2, z: 2}\n- <<: [*a, *b]\n",
         "[{\"x\":1},{\"x\":2,\"z\":2},{\"x\":1,\"z\":2}]"},
        {"'<<': 1\n", "{\"<<\":1}"},
        {"{\"a\": \"\\ud83d\\ude00\"}",
         "{\"a\":\"\xF0\x9F\x98\x80\"}"}, /* JSON escapes that YAML lacks */
        {" [1,\n\t2]", "[1,2]"},
        {"{a: b}", "{\"a\":\"b\"}"},
        {"\xEF\xBB\xBF"
         "a: 1\n",
         "{\"a\":1}"},
        {"? a\n: b\n", "{\"a\":\"b\"}"},
        {"# only a comment\n", "null"},
        {"---\n...\n---\na: 1\n---\n", "{\"a\":1}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *got = NULL;
        assert_fine(yaml_parse(a, rows[i].in, strlen(rows[i].in), &got, &err), &err);
        assert_string_equal(json_text(a, got, JSON_COMPACT), rows[i].want);
    }
}

static void yaml_parse__broken__refused_with_line(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        {"a: 1\na: 2\n", "line 2: key \"a\" is already set"},
        {"1: x\n0x1: y\n", "line 2: key \"1\" is already set"},
        {"a: *x\n", "line 1: unknown anchor"},
        {"a: &x [*x]\n", "line 1: anchor's value contains itself"},
        {"\n? [a]\n: b\n", "line 2: a mapping key must be a scalar"},
        {"~: b\n", "line 1: a mapping key must be a scalar, not null"},
        {"- &x [1]\n- *x : b\n", "line 2: a mapping key must be a scalar, not array"},
        {"a:\n  <<: 1\n", "line 2: a merge needs a mapping or a sequence of mappings"},
        {"a:\n  <<: [1]\n", "line 2: a merge needs a mapping or a sequence of mappings"},
        {"a: .inf\n", "line 1: .inf has no JSON form"},
        {"a:\n- .NaN\n", "line 2: .NaN has no JSON form"},
        {"a: \"x\\0\"\n", "line 1: NUL in a scalar"},
        {"a: !!int x\n", "line 1: cannot decode `x` as a !!int"},
        {"a: !!bool .inf\n", "line 1: .inf has no JSON form"},
        {"a: !!null 1\n", "line 1: cannot decode `1` as a !!null"},
        {"a: !!binary '*'\n", "line 1: !!binary is not base64"},
        {"a: !!binary AAA=\n", "line 1: !!binary is no text"},
        {"a: !!binary /w==\n", "line 1: !!binary is no text"},
        {"a: b: c\n", "line 1: mapping values are not allowed in this context"},
        {"a: [1\n", "line 2: did not find expected ',' or ']' while parsing a flow sequence"},
        {"a: \x01\n", "control characters are not allowed"},
        {"a: \xFF\n", "invalid leading UTF-8 octet"},
        {"{\"a\":1,\"a\":2}", "line 1: key \"a\" is already set"},
        {"a: 1\n---\nb: 1\n", "line 1: want one document, got 2"},
        {"- &x [1, {b: c}]\n- *x\n]",
         "line 3: did not find expected '-' indicator"}, /* behind an alias */
        {"a: 1\n... x\n", "did not find expected <document start>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *got = NULL;
        int rc = yaml_parse(a, rows[i].in, strlen(rows[i].in), &got, &err);
        assert_refused(rc, &err, ERR_INVALID, rows[i].want);
        assert_null(got);
        assert_int_equal(yaml_parse(a, rows[i].in, strlen(rows[i].in), &got, NULL), ERR_INVALID);
    }
}

static void yaml_parse_all__streams__empty_documents_left_out(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    struct json_object **docs = NULL;
    size_t n = 9;
    static const char text[] = "---\n# nothing\n---\na: 1\n---\n- 2\n...\n---\nanchors: &x 1\n";
    assert_fine(yaml_parse_all(a, text, strlen(text), &docs, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_int_equal(json_int(docs[0], "a", 0), 1);
    assert_int_equal(json_len(docs[1]), 1);
    assert_fine(yaml_parse_all(a, "", 0, &docs, &n, &err), &err);
    assert_int_equal(n, 0);
    static const char apart[] = "a: &x 1\n---\nb: *x\n";
    assert_refused(yaml_parse_all(a, apart, strlen(apart), &docs, &n, &err), &err, ERR_INVALID,
                   "line 3: unknown anchor");
}

static void yaml_parse__hostile__ends_at_the_caps(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    struct json_object *got = NULL;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++) {
        str_appendf(&b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) {
            str_appendf(&b, "%s*a%d", k > 0 ? "," : "", i - 1);
        }
        str_append(&b, "]\n");
    }
    assert_refused(yaml_parse(a, b.data, b.len, &got, &err), &err, ERR_INVALID, "too many nodes");
    str_buf_reset(&b);
    for (int i = 0; i < 65; i++) {
        str_append(&b, "[");
    }
    assert_refused(yaml_parse(a, b.data, b.len, &got, &err), &err, ERR_INVALID,
                   "nested too deeply");
    str_buf_reset(&b);
    str_append(
        &b,
        "a: &a "
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\nb: ");
    for (int i = 0; i < 40; i++) {
        str_append(&b, "[");
    }
    str_append(&b, "*a");
    assert_refused(yaml_parse(a, b.data, b.len, &got, &err), &err, ERR_INVALID,
                   "line 2: nested too deeply");
    str_buf_reset(&b);
    for (int i = 0; i < 10001; i++) {
        str_append(&b, "--- 1\n");
    }
    assert_refused(yaml_parse(a, b.data, b.len, &got, &err), &err, ERR_INVALID,
                   "too many documents");
    size_t n = 16 * 1024 * 1024 + 1;
    assert_refused(yaml_parse(a, arena_alloc(a, n), n, &got, &err), &err, ERR_INVALID,
                   "bytes of YAML are more than");
}

/* A read beyond the text ends the process. */
static void yaml_parse__no_nul_behind_the_text__reads_no_further(void **state)
{
    struct arena *a = *state;
    static const char *const rows[] = {"{}",     "[1]\n", "{\"a\":1}{\"b\":2} ",
                                       "a: 1\n", "{",     "\xef\xbb\xbf{}"};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i]);
        char *text = map + page - n;
        struct yaml_docs docs = {0};
        memcpy(text, rows[i], n);
        int rc = yaml_parse_lenient(a, text, n, &docs, NULL);
        assert_int_equal(rc, str_eq(rows[i], "{") ? ERR_INVALID : ERR_OK);
    }
    assert_int_equal(munmap(map, 2 * page), 0);
}

static void yaml_parse__json__may_be_longer_than_yaml(void **state)
{
    struct arena *a = *state;
    struct json_object *got = NULL;
    struct err err = ERR_INIT;
    size_t n = 16 * 1024 * 1024 + 1;
    char *text = arena_alloc(a, n);
    memset(text, ' ', n);
    memcpy(text, "{\"a\":", 5);
    text[n - 2] = '1';
    text[n - 1] = '}';
    assert_int_equal(ERR_OK, yaml_parse(a, text, n, &got, &err));
    assert_string_equal("{\"a\":1}", json_text(a, got, JSON_COMPACT));
    text[n - 1] = ']';
    assert_int_equal(ERR_INVALID, yaml_parse(a, text, n, &got, &err));
    assert_null(strstr(err.message, "YAML"));
}

static void yaml_parse__byte_order_mark__passed_over(void **state)
{
    struct arena *a = *state;
    static const char *const texts[] = {"\xEF\xBB\xBF"
                                        "a:\n  b: 1\n",
                                        "\xEF\xBB\xBF{\"a\":\n{\"b\": 1}}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct json_object *got = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(ERR_OK, yaml_parse(a, texts[i], strlen(texts[i]), &got, &err));
        assert_string_equal("{\"a\":{\"b\":1}}", json_text(a, got, JSON_COMPACT));
        assert_int_equal(
            2, yaml_find_line(texts[i], strlen(texts[i]), 0, (const char *const[]){"a", "b"}, 2));
    }
}

static void yaml_find_line__paths__line_of_the_key(void **state)
{
    (void)state;
    static const char text[] =
        "# head\n---\n---\n~\n---\na:\n  b: [1,\n    2]\n  'c.d': &x {e: 5}\n---\n"
        "- y: *x\n- z:\n    w: 1\n";
    static const struct {
        size_t doc;
        const char *path[4];
        size_t line;
    } rows[] = {
        {0, {NULL}, 6},           {0, {"a"}, 6},           {0, {"a", "b"}, 7},
        {0, {"a", "b", "1"}, 8},  {0, {"a", "b", "7"}, 7}, {0, {"a", "c.d", "e"}, 9},
        {0, {"a", "none"}, 6},    {0, {"none", "b"}, 6},   {1, {"0", "y", "e"}, 11},
        {1, {"1", "z", "w"}, 13}, {1, {"x"}, 11},          {2, {NULL}, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = 0;
        while (n < 4 && rows[i].path[n] != NULL) {
            n++;
        }
        size_t line = yaml_find_line(text, strlen(text), rows[i].doc, rows[i].path, n);
        if (line != rows[i].line) {
            fail_msg("row %zu: want line %zu, got %zu", i, rows[i].line, line);
        }
    }
    static const char broken[] = "a: [";
    size_t lines[4] = {9, 9, 9, 9};
    static const char list[] = "b: [x]\na:\n- 1\n- [2,\n  3]\n\n- {c: 4}\n";
    yaml_item_lines(list, strlen(list), 0, "a", lines, 4);
    assert_true(lines[0] == 3 && lines[1] == 4 && lines[2] == 7 && lines[3] == 0);
    yaml_item_lines(broken, strlen(broken), 0, "a", lines, 4);
    assert_true(lines[0] == 0 && lines[3] == 0);
    assert_int_equal(0, yaml_find_line("\tx", 2, 0, NULL, 0));
    assert_int_equal(1, yaml_find_line(broken, strlen(broken), 0, NULL, 0));
}

static void yaml_parse_lenient__duplicate_keys__noted_and_the_last_counts(void **state)
{
    struct arena *a = *state;
    static const char text[] = "a: 1\n---\nb: {c: 1, c: 2}\nd: 3\nb: {e: 4}\n";
    struct yaml_docs docs;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, yaml_parse_lenient(a, text, strlen(text), &docs, &err));
    assert_int_equal(2, docs.n);
    assert_string_equal("{\"b\":{\"e\":4},\"d\":3}", json_text(a, docs.items[1], JSON_COMPACT));
    assert_int_equal(2, docs.n_twice);
    assert_string_equal("c", docs.twice[0].key);
    assert_int_equal(1, docs.twice[0].doc);
    assert_int_equal(3, docs.twice[0].line);
    assert_string_equal("b", docs.twice[1].key);
    assert_int_equal(5, docs.twice[1].line);
    _cleanup_(str_buf_done) struct str_buf many = STR_BUF_INIT;
    for (int i = 0; i < 50; i++) {
        str_append(&many, "k: 1\n");
    }
    assert_int_equal(ERR_OK, yaml_parse_lenient(a, many.data, many.len, &docs, &err));
    assert_int_equal(YAML_DUPLICATES_MAX, docs.n_twice);
    assert_int_equal(49 - YAML_DUPLICATES_MAX, docs.n_twice_more);
}

static void yaml_parse_all__json_documents__one_behind_the_other(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        size_t n; /* 0: refused */
        const char *last;
    } rows[] = {
        {"{\"a\": 1}\n{\"b\": 2}\n", 2, "{\"b\":2}"},
        {"{\"a\": \"}{\\\"\"}{\"b\": [{}]} [3] ", 3, "[3]"},
        {"{\"a\": 1}", 1, "{\"a\":1}"},
        {"{\"a\": 1}\n---\n{\"b\": 2}\n", 2, "{\"b\":2}"},
        {"{a: 1}", 1, "{\"a\":1}"},
        {"{\"a\": 1} b", 0, NULL},
        {"{\"a\": 1}{\"b\"", 0, NULL},
        {"{\"a\": 1}}", 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object **docs = NULL;
        size_t n = 0;
        struct err err = ERR_INIT;
        int rc = yaml_parse_all(a, rows[i].text, strlen(rows[i].text), &docs, &n, &err);
        assert_int_equal(rc == ERR_OK ? n : 0, rows[i].n);
        if (rows[i].n > 0) {
            assert_string_equal(json_text(a, docs[n - 1], JSON_COMPACT), rows[i].last);
        }
    }
}

UNIT_MAIN(yaml)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_parse__recorded_from_go__equal),
        cmocka_unit_test(yaml_parse__scalars__go_yaml_rules),
        cmocka_unit_test(yaml_parse__structures__become_json),
        cmocka_unit_test(yaml_parse__broken__refused_with_line),
        cmocka_unit_test(yaml_parse_all__streams__empty_documents_left_out),
        cmocka_unit_test(yaml_parse_all__json_documents__one_behind_the_other),
        cmocka_unit_test(yaml_parse__hostile__ends_at_the_caps),
        cmocka_unit_test(yaml_parse__json__may_be_longer_than_yaml),
        cmocka_unit_test(yaml_parse__byte_order_mark__passed_over),
        cmocka_unit_test(yaml_parse__no_nul_behind_the_text__reads_no_further),
        cmocka_unit_test(yaml_find_line__paths__line_of_the_key),
        cmocka_unit_test(yaml_parse_lenient__duplicate_keys__noted_and_the_last_counts),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
