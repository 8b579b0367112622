/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_view.c: views take and refuse what trees do, in the same words, and hold the same
 * values.
 *
 * Documents are made at random, half of them then damaged; the fuzz corpora go the same way
 * (fuzz_json.c). */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/plain_run.h"
#include "common/data/json_view.h"
#include "tests/support/unit.h"

#define DOCUMENTS 20000

/* --- runs of plain bytes ---------------------------------------------------------------------- */

#ifdef PLAIN_RUN_WIDE
/* The same of two blocks at once; the first one is plain. */
static void check_two_blocks(const char *text, uint64_t want)
{
    char two[128];
    uint64_t bits[2];
    memset(two, '!', 64);
    memcpy(two + 64, text, 64);
    plain_run_ends_wide(two, 2, bits);
    assert_true(bits[0] == 0);
    assert_true(bits[1] == want);
}
#endif

/* 64 bytes at a time, as this machine does it and as any machine can: each byte at each place,
 * among others that may leak into it. */
static void plain_run_ends64__every_byte_at_every_place__one_bit_each(void **state)
{
    static const char others[] = {'a', '"', '!', (char)0xa2, '\0'};
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        for (size_t o = 0; o < sizeof others; o++) {
            for (size_t at = 0; at < 64; at++) {
                char text[64];
                memset(text, others[o], sizeof text);
                text[at] = (char)b;
                bool ends = b == '"' || b == '\\' || b < 0x20;
                uint64_t want = others[o] == '"' || others[o] == '\0' ? UINT64_MAX : 0;
                want = (want & ~(UINT64_C(1) << at)) | (uint64_t)ends << at;
                assert_true(plain_run_ends64(text) == want);
                assert_true(plain_run_ends64_plain(text) == want);
#ifdef PLAIN_RUN_WIDE
                if (plain_run_is_wide()) {
                    assert_true(plain_run_ends64_wide(text) == want);
                    check_two_blocks(text, want);
                }
#endif
            }
        }
    }
}

static void plain_run__every_byte_at_every_place__ends_or_not(void **state)
{
    (void)state;
    for (int b = 0; b < 256; b++) {
        bool ends = b < 0x20 || b == '"' || b == '\\';
        for (size_t n = 0; n <= 40; n++) {
            /* exactly n bytes, so that AddressSanitizer sees a step too far; the byte before an end
             * looks like one */
            char *text _cleanup_(xfreep) = xmalloc(n);
            for (size_t at = 0; at < n; at++) {
                memset(text, at % 2 == 0 ? '!' : '#', n);
                text[at] = (char)b;
                assert_int_equal(plain_run(text, n), ends ? at : n);
                assert_int_equal(plain_run_ascii(text, n), ends || b >= 0x80 ? at : n);
                bool visible = b >= 0x20 && b < 0x7f;
                assert_int_equal(plain_run_visible(text, n), visible ? n : at);
            }
        }
    }
}

/* --- random documents ------------------------------------------------------------------------- */

static void random_string(struct rng *r, struct str_buf *b)
{
    static const char *const pieces[] = {"a",
                                         "bc",
                                         "kubernetes.io/hostname",
                                         "\\n",
                                         "\\u0041",
                                         "\\ud83d\\ude00",
                                         "\\ud800",
                                         "\\u0000",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\\\"",
                                         "0123456789abcdef"};
    str_append(b, "\"");
    for (uint64_t n = rng_below(r, 4); n > 0; n--) {
        /* what needs an escape is rarer */
        size_t kinds = rng_below(r, 4) == 0 ? ARRAY_LEN(pieces) : 3;
        str_append(b, pieces[rng_below(r, kinds)]);
    }
    str_append(b, "\"");
}

static void random_scalar(struct rng *r, struct str_buf *b)
{
    static const char *const words[] = {"true",
                                        "false",
                                        "null",
                                        "0",
                                        "-1",
                                        "1.50",
                                        "1e3",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "18446744073709551616",
                                        "123456789012345678",
                                        "1234567890123456789"};
    if (rng_below(r, 2) == 0) {
        random_string(r, b);
    } else {
        str_append(b, words[rng_below(r, ARRAY_LEN(words))]);
    }
}

static void random_value(struct rng *r, struct str_buf *b, int depth)
{
    static const char *const blanks[] = {"", "", "", "", " ", "\n\t "};
    uint64_t kind = depth == 0 ? 2 : rng_below(r, 4);
    if (kind >= 2) {
        random_scalar(r, b);
        return;
    }
    uint64_t n = rng_below(r, 40) == 0 ? 30 + rng_below(r, 60) : rng_below(r, 5);
    str_append(b, kind == 0 ? "{" : "[");
    for (uint64_t i = 0; i < n; i++) {
        str_append(b, i > 0 ? "," : "");
        str_append(b, blanks[rng_below(r, ARRAY_LEN(blanks))]);
        if (kind == 0 && rng_below(r, 20) == 0) {
            random_string(r, b); /* may be there already */
            str_append(b, ":");
        } else if (kind == 0) {
            str_appendf(b, "\"m%d\":", (int)i);
        }
        random_value(r, b, depth - 1);
        str_append(b, blanks[rng_below(r, ARRAY_LEN(blanks))]);
    }
    str_append(b, kind == 0 ? "}" : "]");
}

static void damage(struct rng *r, struct str_buf *b)
{
    static const char bytes[] = "\"\\{}[],:01-.eEntfa \n\x01\x80\xff";
    for (uint64_t n = 1 + rng_below(r, 2); n > 0 && b->len > 0; n--) {
        size_t at = rng_below(r, b->len);
        if (rng_below(r, 4) == 0) {
            b->len = at;
            b->data[at] = '\0';
        } else {
            b->data[at] = bytes[rng_below(r, sizeof bytes)];
        }
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The same in the text itself, which a refusal leaves as it was, also with a NUL in it. */
static void check_here(const char *text, size_t n, const struct json_limits *limits,
                       const struct json_view *want, const struct err *want_err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    char *here = arena_memdup(a, n > 0 ? text : "", n);
    const struct json_view *view = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(json_view_parse_here(a, here, n, limits, &view, &err), want_err->code);
    assert_string_equal(err.message, want_err->message);
    if (view == NULL) {
        assert_memory_equal(here, text, n);
        return;
    }
    struct json_object *tree _cleanup_(json_putp) = json_view_tree(view);
    struct json_object *wanted _cleanup_(json_putp) = json_view_tree(want);
    assert_true(json_equal(tree, wanted));
}

/* All ways over one text; true when it was taken. */
static bool check_alike(const char *text, size_t n, const struct json_limits *limits)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct json_object *tree = NULL;
    const struct json_view *view = NULL;
    struct err tree_err = ERR_INIT;
    struct err view_err = ERR_INIT;
    int tree_rc = json_parse_arena(a, text, n, limits, &tree, &tree_err);
    int view_rc = json_view_parse(a, text, n, limits, &view, &view_err);
    if (tree_rc != view_rc || strcmp(tree_err.message, view_err.message) != 0) {
        fail_msg("tree \"%s\", view \"%s\" of %.*s", tree_err.message, view_err.message, (int)n,
                 text);
    }
    check_here(text, n, limits, view, &view_err);
    if (view_rc != ERR_OK) {
        assert_null(view);
        return false;
    }
    struct json_object *again _cleanup_(json_putp) = json_view_tree(view);
    const struct json_view shown = json_view_of_tree(tree);
    struct json_object *whole _cleanup_(json_putp) = json_view_tree(json_view_whole(a, &shown));
    const char *want = json_text(a, tree, JSON_COMPACT);
    assert_string_equal(json_text(a, again, JSON_COMPACT), want);
    assert_string_equal(json_text(a, whole, JSON_COMPACT), want);
    assert_true(json_equal(tree, again) && json_equal(tree, whole));
    return true;
}

static void json_view_parse__random_documents__as_trees(void **state)
{
    (void)state;
    static const struct json_limits limits[] = {
        {.allow_nul = true}, {0}, {.allow_nul = true, .max_depth = 3}, {.max_values = 20}};
    struct rng *r = rng_seeded_new(7);
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    int taken = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        str_buf_reset(&b);
        random_value(r, &b, 5);
        if (i % 2 == 1) {
            damage(r, &b);
        }
        taken += check_alike(b.data, b.len, &limits[i % 7 < 4 ? 0 : i % 7 - 3]);
    }
    rng_free(r);
    assert_in_range(taken, DOCUMENTS / 4, DOCUMENTS * 3 / 4);
}

static void json_view_parse__many_members__duplicates_found_wherever_they_are(void **state)
{
    struct arena *a = *state;
    static const int sizes[] = {1, 2, 31, 32, 33, 34, 63, 64, 65, 500, 5000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (int twin = -1; twin < sizes[i]; twin += 1 + sizes[i] / 7) {
            struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
            str_append(&b, "{");
            for (int m = 0; m < sizes[i]; m++) {
                /* an object inside, which has as many, in the midst of it */
                str_appendf(&b, "\"%d\":%s,", m, m == 40 ? "{\"0\":1,\"\\u0031\":2}" : "[0]");
            }
            str_appendf(&b, "\"%d\":null}", twin);
            const struct json_view *v;
            struct err err = ERR_INIT;
            int rc = json_view_parse(a, b.data, b.len, NULL, &v, &err);
            assert_int_equal(rc, twin < 0 ? ERR_OK : ERR_INVALID);
            assert_true(twin < 0 || strstr(err.message, "duplicate member") != NULL);
            assert_int_equal(check_alike(b.data, b.len, NULL), twin < 0);
        }
    }
}

static void json_view_parse__nested_to_the_cap__as_trees(void **state)
{
    (void)state;
    for (int depth = 1022; depth < 1027; depth++) {
        struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
        for (int i = 0; i < depth; i++) {
            str_append(&b, i % 2 == 0 ? "[" : "{\"a\":");
        }
        str_append(&b, "7");
        for (int i = depth - 1; i >= 0; i--) {
            str_append(&b, i % 2 == 0 ? "]" : "}");
        }
        const struct json_limits limits = {.max_depth = 2000};
        assert_int_equal(check_alike(b.data, b.len, &limits), depth <= 1024);
    }
}

static void json_view_parse__values__at_hand(void **state)
{
    struct arena *a = *state;
    char text[] = "{\"s\":\"x\\ty\",\"i\":-7,\"u\":18446744073709551615,\"d\":1.50,\"b\":true,"
                  "\"n\":null,\"a\":[\"p\",\"q\"],\"e\":{}}";
    const struct json_view *v;
    struct err err = ERR_INIT;
    assert_fine(json_view_parse(a, text, sizeof text - 1, NULL, &v, &err), &err);
    memset(text, '#', sizeof text); /* the view does not need it */
    assert_int_equal(v->type, JSON_V_OBJECT);
    assert_int_equal(v->n, 8);
    assert_string_equal(json_view_str(v, "s"), "x\ty");
    assert_int_equal(json_view_member(v, "i")->i, -7);
    assert_int_equal(json_view_member(v, "u")->type, JSON_V_UINT);
    assert_true(json_view_member(v, "u")->u == UINT64_MAX);
    assert_string_equal(json_view_member(v, "d")->text, "1.50");
    assert_true(json_view_member(v, "b")->b);
    assert_null(json_view_member(v, "n"));
    assert_null(json_view_member(v, "zz"));
    assert_null(json_view_str(v, "i"));
    assert_null(json_view_member(NULL, "s"));
    assert_null(json_view_member(json_view_member(v, "a"), "s"));
    const struct json_view *items = json_view_items(a, json_view_member(v, "a"));
    assert_string_equal(items[1].text, "q");
    assert_null(json_view_items(a, json_view_member(v, "e")));
    assert_null(json_view_items(a, json_view_member(v, "i")));
    assert_string_equal(json_view_shown(a, json_view_member(v, "a")), "[ \"p\", \"q\" ]");
    assert_string_equal(json_view_shown(a, json_view_member(v, "s")), "x\ty");
    assert_string_equal(json_view_shown(a, &v->items[5]), "null");
}

static void json_decode_view__raw_member__a_tree_of_its_own(void **state)
{
    struct arena *a = *state;
    struct {
        struct json_object *raw;
        const struct json_view *view;
        const char *text;
    } out = {0};
    const struct json_field fields[] = {
        {.name = "m", .type = JSON_T_RAW, .offset = 0},
        {.name = "v", .type = JSON_T_VIEW, .offset = sizeof(void *)},
        {.name = "t", .type = JSON_T_STR, .offset = 2 * sizeof(void *)},
        {0},
    };
    static const char text[] = "{\"t\":\"x\",\"v\":{\"a\":[1.5]},\"m\":[{\"b\":1}]}";
    const struct json_view *v;
    struct json_object *tree = NULL;
    struct err err = ERR_INIT;
    assert_fine(json_view_parse(a, text, sizeof text - 1, NULL, &v, &err), &err);
    assert_fine(json_decode_view(a, v, fields, &out, JSON_SKIP_UNKNOWN, "", &err), &err);
    assert_string_equal(json_text(a, out.raw, JSON_COMPACT), "[{\"b\":1}]");
    assert_ptr_equal(out.view, json_view_member(v, "v"));
    /* From a tree: what was decoded stays when the tree is gone. */
    assert_fine(json_parse(text, sizeof text - 1, NULL, &tree, &err), &err);
    assert_fine(json_decode(a, tree, fields, &out, JSON_SKIP_UNKNOWN, "", &err), &err);
    assert_ptr_equal(out.raw, json_member(tree, "m"));
    json_object_put(tree);
    assert_string_equal(out.text, "x");
    struct json_object *view _cleanup_(json_putp) = json_view_tree(out.view);
    assert_string_equal(json_text(a, view, JSON_COMPACT), "{\"a\":[1.5]}");
}

UNIT_MAIN(json_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_run__every_byte_at_every_place__ends_or_not),
        cmocka_unit_test(plain_run_ends64__every_byte_at_every_place__one_bit_each),
        cmocka_unit_test(json_view_parse__random_documents__as_trees),
        cmocka_unit_test(json_view_parse__many_members__duplicates_found_wherever_they_are),
        cmocka_unit_test(json_view_parse__nested_to_the_cap__as_trees),
        cmocka_unit_test(json_view_parse__values__at_hand),
        cmocka_unit_test(json_decode_view__raw_member__a_tree_of_its_own),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
