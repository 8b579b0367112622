/* SPDX-License-Identifier: Apache-2.0 */
/* test_gcfg.c: gce.conf as upstream's library reads it.
 *
 * gcfg.jsonl holds whole files with the values that the Go controller read from them, go_gcfg.jsonl
 * random ones; the tables add error texts and positions. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/data/gcfg.h"
#include "tests/support/unit.h"

struct conf {
    const char *token_url, *token_body, *project_id, *network_project_id, *network_name,
        *subnetwork_name;
    const char *stack_type, *secondary_range_name, *node_instance_prefix, *api_endpoint;
    const char *container_api_endpoint, *local_zone;
    bool regional, multizone;
    struct gcfg_list node_tags, alpha_features;
    int64_t num;
    double real;
};

#define KEY(key, type, member)                                                                     \
    {                                                                                              \
        "global", key, type, offsetof(struct conf, member)                                         \
    }
static const struct gcfg_key keys[] = {
    KEY("token-url", GCFG_STR, token_url),
    KEY("token-body", GCFG_STR, token_body),
    KEY("project-id", GCFG_STR, project_id),
    KEY("network-project-id", GCFG_STR, network_project_id),
    KEY("network-name", GCFG_STR, network_name),
    KEY("subnetwork-name", GCFG_STR, subnetwork_name),
    KEY("stack-type", GCFG_STR, stack_type),
    KEY("secondary-range-name", GCFG_STR, secondary_range_name),
    KEY("node-instance-prefix", GCFG_STR, node_instance_prefix),
    KEY("api-endpoint", GCFG_STR, api_endpoint),
    KEY("container-api-endpoint", GCFG_STR, container_api_endpoint),
    KEY("local-zone", GCFG_STR, local_zone),
    KEY("regional", GCFG_BOOL, regional),
    KEY("multizone", GCFG_BOOL, multizone),
    KEY("node-tags", GCFG_STRS, node_tags),
    KEY("alpha-features", GCFG_STRS, alpha_features),
    KEY("num", GCFG_INT, num),
    KEY("real", GCFG_DOUBLE, real),
    {0},
};

static int decode(struct arena *a, const char *text, struct conf *c, struct err *err)
{
    struct gcfg_unknown *unknown;
    size_t n;
    return gcfg_decode(a, text, strlen(text), keys, c, &unknown, &n, err);
}

static void assert_list(struct gcfg_list got, struct json_object *want)
{
    assert_int_equal(got.n, json_len(want));
    for (size_t i = 0; i < got.n; i++) {
        assert_string_equal(got.items[i],
                            json_object_get_string(json_object_array_get_idx(want, i)));
    }
}

static void gce_conf__recorded__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    struct conf c = {0};
    struct err err = ERR_INIT;
    const char *text = json_str(json_member(line, "in"), "text");
    struct json_object *out = json_member(line, "out");
    int rc = decode(a, text, &c, &err);
    if (out == NULL) {
        assert_int_equal(rc, ERR_INVALID);
        return;
    }
    assert_fine(rc, &err);
    for (const struct gcfg_key *key = keys; key->section != NULL; key++) {
        const char *name = str_replace(a, key->key, "-", "_");
        const void *at = (const char *)&c + key->offset;
        if (key->type == GCFG_STR) {
            assert_string_equal(str_nonnull(*(const char *const *)at), json_str(out, name));
        } else if (key->type == GCFG_BOOL) {
            assert_int_equal(*(const bool *)at, json_bool(out, name, false));
        } else if (key->type == GCFG_STRS) {
            assert_list(*(const struct gcfg_list *)at, json_member(out, name));
        }
    }
}

static void gcfg__random__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    struct conf c = {0};
    struct err err = ERR_INIT;
    struct json_object *out = json_member(line, "out");
    struct json_object *in = json_member(line, "in");
    struct gcfg_unknown *unknown;
    size_t n;
    int rc = gcfg_decode(a, json_object_get_string(in), (size_t)json_object_get_string_len(in),
                         keys, &c, &unknown, &n, &err);
    assert_int_equal(rc, out == NULL ? ERR_INVALID : ERR_OK);
    if (out != NULL) {
        assert_string_equal(str_nonnull(c.token_url),
                            json_object_get_string(json_object_array_get_idx(out, 0)));
        assert_string_equal(str_nonnull(c.network_name),
                            json_object_get_string(json_object_array_get_idx(out, 1)));
        assert_int_equal(c.regional, json_object_get_boolean(json_object_array_get_idx(out, 2)));
        assert_int_equal(c.multizone, json_object_get_boolean(json_object_array_get_idx(out, 3)));
        assert_list(c.node_tags, json_object_array_get_idx(out, 4));
        assert_list(c.alpha_features, json_object_array_get_idx(out, 5));
        assert_int_equal(c.num, json_object_get_int64(json_object_array_get_idx(out, 6)));
    }
}

static void gcfg_decode__recorded_from_upstream__equal(void **state)
{
    (void)state;
    assert_int_equal(vectors_each("gcfg.jsonl", gce_conf__recorded__equal, NULL), 40);
    assert_int_equal(vectors_each("go_gcfg.jsonl", gcfg__random__equal, NULL), 240);
}

static void gcfg_decode__spec_rows__as_told(void **state)
{
    struct arena *a = *state;
    struct conf c = {0};
    struct err err = ERR_INIT;
    /* C1 */
    assert_fine(
        decode(a,
               "[Global]\ntoken-url = u\ntoken-body = b\nproject-id = p\nnetwork-project-id = np\n"
               "network-name = n\nsubnetwork-name = s\nsecondary-range-name = r\nnode-tags = t\n"
               "node-instance-prefix = i\nmultizone = true\n   regional = true\n  \n",
               &c, &err),
        &err);
    assert_string_equal(c.node_instance_prefix, "i");
    assert_true(c.multizone && c.regional);
    /* C7 */
    assert_fine(decode(a,
                       "[global]\napi-endpoint = https://www.googleapis.com/compute/staging_v1/\n",
                       &c, &err),
                &err);
    assert_string_equal(c.api_endpoint, "https://www.googleapis.com/compute/staging_v1/");
    /* C9 */
    c = (struct conf){0};
    assert_fine(decode(a, "[global]\nnode-tags = a\nnode-tags = b\nnode-tags = a,b\n", &c, &err),
                &err);
    assert_int_equal(c.node_tags.n, 3);
    assert_string_equal(c.node_tags.items[2], "a,b");
    /* C12 */
    assert_fine(decode(a, "[global]\nnetwork-name = \"a b\" ; c\n", &c, &err), &err);
    assert_string_equal(c.network_name, "a b");
}

static void gcfg_decode__refused__position_and_words(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in, *want;
    } rows[] = {
        /* C10 */ {"[global]\nproject_id = x\n", "2:8: illegal character U+005F '_'"},
        /* C11 */
        {"[global]\n multizone =\n",
         "2:2: failed to parse bool \"\" at section \"global\", variable \"multizone\""},
        {"[Global]\nMultizone = maybe\n",
         "2:1: failed to parse bool \"maybe\" at section \"Global\", variable \"Multizone\""},
        {"[global]\nproject-id\n",
         "2:1: blank value not supported for type at section \"global\", variable \"project-id\""},
        {"[global]\nnum\n",
         "2:1: blank value not supported for type at section \"global\", variable \"num\""},
        {"[global]\nnum = 1x\n",
         "2:1: failed to parse int \"1x\" at section \"global\", variable \"num\""},
        {"[global]\nreal = one\n",
         "2:1: failed to parse float \"one\" at section \"global\", variable \"real\""},
        {"[global]\nreal = 1e\n",
         "2:1: failed to parse float \"1e\" at section \"global\", variable \"real\""},
        {"a = b\n", "1:1: expected section header"},
        {"= b\n", "1:1: expected section header"},
        {"\"a\"\n", "1:1: expected section header"},
        {"[a]\n= b\n", "2:1: expected section header or variable declaration"},
        {"[a]\n]\n", "2:1: expected section header or variable declaration"},
        {"[]\n", "1:2: expected section name"},
        {"[ ; c\na]\n", "1:6: expected section name"},
        {"[", "1:2: expected section name"},
        {"[1]\n", "1:2: illegal character U+0031 '1'"},
        {"[a\n", "1:3: expected subsection name or right bracket"},
        {"[a \"b\"\n", "1:7: expected right bracket"},
        {"[a \"b\" \"c\"]\n", "1:8: expected right bracket"},
        {"[a \"\"]\n", "1:4: empty subsection name"},
        {"[a \"b\n\"]\n", "1:4: string not terminated"},
        {"[a \"b", "1:4: string not terminated"},
        {"[a \"\\n\"]\n", "1:6: unknown escape sequence"}, /* 17.2 */
        {"[a \"\\t\"]\n", "1:6: unknown escape sequence"}, /* 17.2 */
        {"[a \"\\", "1:6: unknown escape sequence"},
        {"[a] b\n", "1:5: expected EOL, EOF, or comment"},
        {"[a] _\n", "1:5: illegal character U+005F '_'"},
        {"[a]\nb c\n", "2:3: expected '='"},
        {"[a]\nb \"c\"\n", "2:3: expected '='"},
        {"[a]\nb 1\n", "2:3: illegal character U+0031 '1'"},
        {"[a]\nb = \"c\n", "2:5: string not terminated"},
        {"[a]\nb = \"c", "2:5: string not terminated"},
        {"[a]\nb = \"\\x\"\n", "2:7: unknown escape sequence"},
        {"[a]\nb = c\\d\n", "2:5: unquoted '\\' must be followed by new line or double quote"},
        {"[a]\nb = c\\\\\n", "2:5: unquoted '\\' must be followed by new line or double quote"},
        {"[a]\nb = c\\", "2:5: unquoted '\\' must be followed by new line or double quote"},
        {"\xEF\xBB\xBF[a]\n", "1:1: illegal character U+FEFF"},
        {"[a]\n\f\n", "2:1: illegal character U+000C"}, /* 17.2 */
        {"[a]\n; \xFF\n", "2:3: illegal UTF-8 encoding"},
        {"[a]\nb = \xED\xA0\x80\n", "2:5: illegal UTF-8 encoding"},
        {"[a]\nb\xC3", "2:2: illegal UTF-8 encoding"},
        {"[\xFF", "1:2: illegal UTF-8 encoding"},
        {"[a \xFF", "1:4: illegal UTF-8 encoding"},
        {"[a \"\xFF", "1:5: illegal UTF-8 encoding"},
        {"[a \"b\\\xFF", "1:7: illegal UTF-8 encoding"},
        {"[a \"b\"\xFF", "1:7: illegal UTF-8 encoding"},
        {"[a]\xFF", "1:4: illegal UTF-8 encoding"},
        {"[a]\nb =\xFF", "2:4: illegal UTF-8 encoding"},
        {"[a]\nb = \\\xFF", "2:6: illegal UTF-8 encoding"},
        {"[a]\nb = \\\r\xFF", "2:7: illegal UTF-8 encoding"},
        {"\xFF", "1:1: illegal UTF-8 encoding"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct conf c = {0};
        struct err err = ERR_INIT;
        assert_int_equal(decode(a, rows[i].in, &c, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
    }
    struct conf c = {0};
    struct err err = ERR_INIT;
    struct gcfg_unknown *u;
    size_t n;
    assert_refused(gcfg_decode(a, "[a]\nb = \0\n", 10, keys, &c, &u, &n, &err), &err, ERR_INVALID,
                   "2:5: illegal character NUL");
}

static void gcfg_parse__entries__flat_and_in_order(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    struct gcfg_entry *e = NULL;
    size_t n = 0;
    static const char text[] = "; c\n[A]\n b\n\tc = 1\n[a \"x\\\\\\\"\"] # c\nd =";
    assert_fine(gcfg_parse(a, text, strlen(text), &e, &n, &err), &err);
    assert_int_equal(n, 5);
    assert_string_equal(e[0].section, "A");
    assert_null(e[0].key);
    assert_int_equal(e[0].line, 2);
    assert_string_equal(e[1].key, "b");
    assert_null(e[1].value);
    assert_int_equal(e[1].column, 2);
    assert_string_equal(e[2].value, "1");
    assert_null(e[2].subsection);
    assert_string_equal(e[3].subsection, "x\\\"");
    assert_string_equal(e[4].value, "");
    assert_string_equal(e[4].section, "a");
    assert_int_equal(e[4].line, 6);
    assert_fine(gcfg_parse(a, "", 0, &e, &n, &err), &err);
    assert_int_equal(n, 0);
}

static void gcfg_decode__numbers_and_lists__as_upstream(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *in;
        bool ok;
        int64_t want;
    } rows[] = {
        {"0x1F", true, 31},
        {"-0x10", true, -16},
        {"007", true, 7},
        {"+5", true, 5},
        {"\" 8\"", true, 8},
        {"-9223372036854775808", true, INT64_MIN},
        {"0x", false, 0},
        {"0xg", false, 0},
        {"9223372036854775808", false, 0},
        {"0x8000000000000000", false, 0},
        {"-0x8000000000000000", true, INT64_MIN},
        {"0x10000000000000000", false, 0},
        {"", false, 0},
        {"1.5", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct conf c = {0};
        int rc =
            decode(a, arena_printf(a, "[global]\nnum = %s\nreal = -2.5\n", rows[i].in), &c, NULL);
        assert_int_equal(rc, rows[i].ok ? ERR_OK : ERR_INVALID);
        assert_int_equal(c.num, rows[i].want);
    }
    struct conf c = {0};
    struct err err = ERR_INIT;
    assert_fine(decode(a,
                       "[global]\nreal = -2.5\nnode-tags = a\nnode-tags\nnode-tags = b\nregional\n",
                       &c, &err),
                &err);
    assert_true(c.real == -2.5 && c.regional);
    assert_int_equal(c.node_tags.n, 1);
    static const struct gcfg_key broken[] = {{"a", "b", (enum gcfg_type)9, 0}, {0}};
    struct gcfg_unknown *u;
    size_t n;
    assert_int_equal(gcfg_decode(a, "[a]\nb=1", 7, broken, &c, &u, &n, &err), ERR_BUG);
}

static void gcfg_decode__unknown__collected_once_with_a_hint(void **state)
{
    struct arena *a = *state;
    struct conf c = {0};
    struct err err = ERR_INIT;
    struct gcfg_unknown *u = NULL;
    size_t n = 0;
    /* C2, and slips; Kelvin sign and long s fold to k and s as in Go */
    static const char text[] =
        "[globl]\nx = 1\ny = 2\n[Global]\nunknown-key = abc\nproject-ids = p\nPROJECT-IDS = q\n"
        "[global \"sub\"]\nz = 1\n[GLOBAL]\nto\xE2\x84\xAA"
        "en-url = t\nnode-tag\xC5\xBF = n\n";
    assert_fine(gcfg_decode(a, text, strlen(text), keys, &c, &u, &n, &err), &err);
    assert_int_equal(n, 4);
    assert_string_equal(u[0].section, "globl");
    assert_null(u[0].key);
    assert_string_equal(u[0].nearest, "global");
    assert_int_equal(u[0].line, 1);
    assert_string_equal(u[1].key, "unknown-key");
    assert_null(u[1].nearest);
    assert_int_equal(u[1].line, 5);
    assert_string_equal(u[2].nearest, "project-id");
    assert_string_equal(u[3].section, "global \"sub\"");
    assert_null(u[3].key);
    assert_string_equal(c.token_url, "t");
    assert_int_equal(c.node_tags.n, 1);
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "[global]\n");
    for (int i = 0; i < 300; i++) {
        str_appendf(&b, "zz%dz = 1\n", i);
    }
    assert_fine(gcfg_decode(a, b.data, b.len, keys, &c, &u, &n, &err), &err);
    assert_int_equal(n, 100);
}

static void gcfg_parse__too_many_entries__refused(void **state)
{
    struct arena *a = *state;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct err err = ERR_INIT;
    struct gcfg_entry *e = NULL;
    size_t n = 0;
    str_append(&b, "[a]\n");
    for (int i = 0; i < 100000; i++) {
        str_append(&b, "b\n");
    }
    assert_refused(gcfg_parse(a, b.data, b.len, &e, &n, &err), &err, ERR_INVALID,
                   "100001:1: too many entries");
}

static void gcfg_bool__words__any_case(void **state)
{
    (void)state;
    bool got = false;
    assert_true(gcfg_bool("yEs", &got) && got);
    assert_true(gcfg_bool("OFF", &got) && !got);
    assert_false(gcfg_bool("y", &got));
    assert_false(gcfg_bool(NULL, &got));
}

UNIT_MAIN(gcfg)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcfg_decode__recorded_from_upstream__equal),
        cmocka_unit_test(gcfg_decode__spec_rows__as_told),
        cmocka_unit_test(gcfg_decode__refused__position_and_words),
        cmocka_unit_test(gcfg_parse__entries__flat_and_in_order),
        cmocka_unit_test(gcfg_decode__numbers_and_lists__as_upstream),
        cmocka_unit_test(gcfg_decode__unknown__collected_once_with_a_hint),
        cmocka_unit_test(gcfg_parse__too_many_entries__refused),
        cmocka_unit_test(gcfg_bool__words__any_case),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
