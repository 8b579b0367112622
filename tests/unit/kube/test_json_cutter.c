/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_cutter.c: lists and watch streams cut at byte level; vector 175.
 *
 * The recorded answers are fed split at every byte; what comes out must not depend on it. */
#include "controller/kube/json_cutter.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

struct sink {
    struct str_buf text; /* items, one per line */
    int stop_after;      /* -1: never */
    size_t too_large;
};

static bool take(void *arg, const char *text, size_t n, bool too_large)
{
    struct sink *s = arg;
    assert_int_equal(strlen(text), n);
    s->too_large += too_large;
    str_append_n(&s->text, text, n);
    str_append(&s->text, "\n");
    return s->stop_after < 0 || s->stop_after-- > 0;
}

static const char *const head_members[] = {"kind", "metadata.resourceVersion", "metadata.continue",
                                           NULL};
static const char *const event_members[] = {"type", NULL};

static struct json_cutter *list_cutter(struct sink *s, const char *const *members)
{
    const struct cutter_args args = {.mode = CUTTER_LIST,
                                     .members = members,
                                     .more_members = head_members,
                                     .on_item = take,
                                     .arg = s};
    return json_cutter_new(&args);
}

static struct json_cutter *stream_cutter(struct sink *s, const char *const *members)
{
    const struct cutter_args args = {.mode = CUTTER_STREAM,
                                     .members = members,
                                     .prefix = "object",
                                     .more_members = event_members,
                                     .on_item = take,
                                     .arg = s};
    return json_cutter_new(&args);
}

/* --- what is kept -------------------------------------------------------------------------------- */

static void json_cutter__wanted_paths__only_they_come_out(void **state)
{
    static const char *const members[] = {"a", "b.c", "d.e.f", NULL};
    const struct {
        const char *item;
        const char *want;
    } rows[] = {
        {"{}", "{}"},
        {"{'a':1}", "{'a':1}"},
        {"{'x':1}", "{}"},
        {"{ 'a' : [ 1 , { 'y' : 'z w' } ] , 'x' : { } }", "{'a':[1,{'y':'z w'}]}"},
        {"{'x':{'a':1},'a':null}", "{'a':null}"},
        {"{'b':{'c':true,'d':false},'a':-1.5e+3}", "{'b':{'c':true},'a':-1.5e+3}"},
        {"{'b':{}}", "{'b':{}}"},
        {"{'b':7}", "{'b':7}"}, /* the decoder shall see the wrong type */
        {"{'b':'c'}", "{'b':'c'}"},
        {"{'b':[{'c':1,'x':2},{'x':3},{'c':4}]}", "{'b':[{'c':1},{},{'c':4}]}"},
        {"{'b':[1,{'c':2}]}", "{'b':[1,{'c':2}]}"},
        {"{'d':{'e':{'f':{'g':1},'h':2},'i':3}}", "{'d':{'e':{'f':{'g':1}}}}"},
        {"{'d':[[{'e':{'f':1}}]]}", "{'d':[[{'e':{'f':1}}]]}"},
        {"{'x':'}]\\\\','a':2}", "{'a':2}"}, /* brackets and escapes in what is dropped */
        {"{'x':'\\\"','a':'\\\"'}", "{'a':'\\\"'}"},
        {"{'\\u0061':3,'a':4}", "{'\\u0061':3,'a':4}"}, /* an escaped name is left to the parser */
        {"{'aa':1,'':2,'a':3}", "{'a':3}"},
        {"5", "5"},
        {"'text'", "'text'"},
        {"[1,{'a':2,'x':3}]", "[1,{'a':2}]"},
        {"null", "null"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct json_cutter *c = list_cutter(&s, members);
        struct err err = ERR_INIT;
        const char *text =
            quoted(*state, arena_printf(*state, "{'items':[%s,%s]}", rows[i].item, rows[i].item));
        assert_int_equal(json_cutter_feed(c, text, strlen(text), &err), ERR_OK);
        const char *want = quoted(*state, rows[i].want);
        assert_string_equal(str_buf_text(&s.text), arena_printf(*state, "%s\n%s\n", want, want));
        assert_true(json_cutter_at_boundary(c));
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
}

static void json_cutter__list_head__wanted_members_in_any_order(void **state)
{
    const struct {
        const char *list;
        const char *head;
        size_t items;
    } rows[] = {
        {"{'kind':'L','metadata':{'resourceVersion':'7','x':1},'items':[{},{}]}",
         "{'kind':'L','metadata':{'resourceVersion':'7'}}", 2},
        {"{'items':[{}],'metadata':{'continue':'t'}}", "{'metadata':{'continue':'t'}}", 1},
        {"{'items':null,'metadata':{'resourceVersion':'7'}}",
         "{'metadata':{'resourceVersion':'7'}}", 0},
        {" { \"items\" : [ ] } \n", "{}", 0},
        {"{}", "{}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct json_cutter *c = list_cutter(&s, NULL);
        const char *text = quoted(*state, rows[i].list);
        size_t n;
        assert_int_equal(json_cutter_feed(c, text, strlen(text), NULL), ERR_OK);
        assert_string_equal(json_cutter_head(c, &n), quoted(*state, rows[i].head));
        assert_int_equal(json_cutter_count(c), rows[i].items);
        assert_true(json_cutter_at_boundary(c));
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
}

/* --- what is refused ----------------------------------------------------------------------------- */

static void json_cutter__no_json__refused_with_the_byte(void **state)
{
    const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"<html>", "byte 0: want a JSON object, got '<'"},
        {"[]", "byte 0: want a JSON object, got '['"},
        {"{'items':{}}", "byte 9: want an array of items, got '{'"},
        {"{'items':'x'}", "byte 9: want an array of items, got '\"'"},
        {"{'items':[],'items':[]}", "byte 18: \"items\" comes twice in one list, after 0"},
        {"{'items':[}", "byte 10: want a value, got '}'"},
        {"{'items':[{]", "byte 11: want a member's name, got ']'"},
        {"{'items':[{}}", "byte 12: want the other kind of bracket, got '}'"},
        {"{'items':[{} {}]}", "byte 13: want a comma or a closing bracket, got '{'"},
        {"{'items':[{'x' 1}]}", "byte 15: want a colon, got '1'"},
        {"{'items':[{'x':1,}]}", "byte 17: want a member's name, got '}'"},
        {"{'x':1]", "byte 6: want the other kind of bracket, got ']'"},
        {"{'x':}", "byte 5: want a value, got '}'"},
        {"{} {}", "byte 3: want nothing behind the list, got '{'"},
        {"{'x':'a\nb'}", "byte 7: want no control byte inside a string, got 0x0a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct err err = ERR_INIT;
        struct json_cutter *c = list_cutter(&s, NULL);
        const char *text = quoted(*state, rows[i].text);
        assert_int_equal(json_cutter_feed(c, text, strlen(text), &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_false(json_cutter_at_boundary(c));
        assert_int_equal(json_cutter_feed(c, "{}", 2, NULL), ERR_INVALID); /* stays broken */
        json_cutter_reset(c);
        assert_int_equal(json_cutter_feed(c, "{}", 2, NULL), ERR_OK);
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
}

static void json_cutter__nul_bytes__refused_everywhere(void **state)
{
    static const char inside[] = "{\"x\":\"a\0b\"}";
    static const char between[] = "{\"x\":\0 1}";
    const struct {
        const char *text;
        size_t n;
    } rows[] = {{inside, sizeof inside - 1}, {between, sizeof between - 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct json_cutter *c = list_cutter(&s, NULL);
        assert_int_equal(json_cutter_feed(c, rows[i].text, rows[i].n, NULL), ERR_INVALID);
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
    (void)state;
}

static int feed_repeated(struct json_cutter *c, const char *text, size_t times, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < times; i++) {
        rc = json_cutter_feed(c, text, strlen(text), err);
    }
    return rc;
}

static void json_cutter__nested_too_deep__refused_also_in_what_is_dropped(void **state)
{
    static const char *const members[] = {"a", NULL};
    const char *const starts[] = {"{\"items\":[{\"a\":", "{\"items\":[{\"x\":"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct sink s = {.stop_after = -1};
        struct err err = ERR_INIT;
        struct json_cutter *c = list_cutter(&s, members);
        assert_int_equal(feed_repeated(c, starts[i], 1, &err), ERR_OK);
        assert_int_equal(feed_repeated(c, "[", 1000000, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "nested deeper than 64"));
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
    (void)state;
}

static void json_cutter__huge_item__reported_and_the_list_goes_on(void **state)
{
    static const char *const members[] = {"a", "name", NULL};
    struct sink s = {.stop_after = -1};
    struct json_cutter *c = list_cutter(&s, members);
    char chunk[1001];
    memset(chunk, 'x', 1000);
    chunk[1000] = '\0';
    assert_int_equal(feed_repeated(c, "{\"items\":[{\"name\":\"big\",\"a\":\"", 1, NULL), ERR_OK);
    assert_int_equal(feed_repeated(c, chunk, 5000, NULL), ERR_OK);
    assert_int_equal(feed_repeated(c, "\"},", 1, NULL), ERR_OK);
    assert_int_equal(s.too_large, 1);
    assert_true(str_has_prefix(str_buf_text(&s.text), "{\"name\":\"big\",\"a\":\"xxx"));
    assert_true(s.text.len <= CUTTER_KEPT_MAX + 1);
    str_buf_reset(&s.text);
    assert_int_equal(feed_repeated(c, "{\"a\":1}]}", 1, NULL), ERR_OK);
    assert_string_equal(str_buf_text(&s.text), "{\"a\":1}\n");
    assert_true(json_cutter_at_boundary(c));
    json_cutter_free(c);
    str_buf_done(&s.text);
    (void)state;
}

static void json_cutter__item_without_end__refused_at_the_cap(void **state)
{
    struct sink s = {.stop_after = -1};
    struct err err = ERR_INIT;
    static const char *const members[] = {"a", NULL};
    struct json_cutter *c = stream_cutter(&s, members);
    char chunk[4097];
    memset(chunk, 'x', 4096);
    chunk[4096] = '\0';
    assert_int_equal(feed_repeated(c, "{\"dropped\":\"", 1, NULL), ERR_OK);
    assert_int_equal(feed_repeated(c, chunk, 10000, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "one item is larger than"));
    json_cutter_free(c);
    str_buf_done(&s.text);
    (void)state;
}

static void json_cutter__reader_stops__feeding_ends_cancelled(void **state)
{
    struct sink s = {.stop_after = 1};
    struct json_cutter *c = stream_cutter(&s, NULL);
    assert_int_equal(feed_repeated(c, "{\"type\":\"A\"}", 3, NULL), ERR_CANCELLED);
    assert_int_equal(json_cutter_count(c), 2);
    json_cutter_free(c);
    str_buf_done(&s.text);
    (void)state;
}

/* --- chunks -------------------------------------------------------------------------------------- */

/* 175: the same two events, whatever stands between them and wherever chunks end. */
static void json_cutter__v175_separators__same_events(void **state)
{
    static const char *const members[] = {"metadata.name", NULL};
    const char *const between[] = {"\n", "\r\n", "", "  \n\n\t", "\r"};
    const char *one = quoted(*state, "{'type':'ADDED','object':{'metadata':{'name':'a','x':1}}}");
    const char *two = quoted(*state, "{'type':'DELETED','object':{'metadata':{'name':'b'}}}");
    const char *want = quoted(*state, "{'type':'ADDED','object':{'metadata':{'name':'a'}}}\n"
                                      "{'type':'DELETED','object':{'metadata':{'name':'b'}}}\n");
    for (size_t i = 0; i < ARRAY_LEN(between); i++) {
        const char *text = arena_printf(*state, "%s%s%s%s", one, between[i], two, between[i]);
        size_t n = strlen(text);
        for (size_t cut = 0; cut <= n; cut++) {
            struct sink s = {.stop_after = -1};
            struct json_cutter *c = stream_cutter(&s, members);
            assert_int_equal(json_cutter_feed(c, text, cut, NULL), ERR_OK);
            assert_int_equal(json_cutter_feed(c, text + cut, n - cut, NULL), ERR_OK);
            assert_string_equal(str_buf_text(&s.text), want);
            assert_true(json_cutter_at_boundary(c));
            json_cutter_free(c);
            str_buf_done(&s.text);
        }
    }
}

/* Cuts `text` at `cut`; 0 feeds it byte by byte. */
static char *cut_at(struct arena *a, struct json_cutter *c, struct sink *s, const char *text,
                    size_t cut)
{
    size_t n = strlen(text);
    json_cutter_reset(c);
    str_buf_reset(&s->text);
    if (cut > 0) {
        assert_int_equal(json_cutter_feed(c, text, cut, NULL), ERR_OK);
        assert_int_equal(json_cutter_feed(c, text + cut, n - cut, NULL), ERR_OK);
    }
    for (size_t i = 0; cut == 0 && i < n; i++) {
        assert_int_equal(json_cutter_feed(c, text + i, 1, NULL), ERR_OK);
    }
    size_t head_n;
    const char *head = json_cutter_head(c, &head_n);
    return a == NULL ? NULL : arena_printf(a, "%s%s", str_buf_text(&s->text), head);
}

static void check_every_cut(struct arena *a, struct json_cutter *c, struct sink *s,
                            const char *text)
{
    const char *want = cut_at(a, c, s, text, 0);
    assert_true(json_cutter_at_boundary(c));
    for (size_t cut = 1; cut <= strlen(text); cut++) {
        size_t head_n;
        (void)cut_at(NULL, c, s, text, cut);
        size_t items_n = s->text.len;
        assert_memory_equal(str_buf_text(&s->text), want, items_n);
        assert_string_equal(json_cutter_head(c, &head_n), want + items_n);
    }
}

static void json_cutter__recorded_lists__same_at_every_byte(void **state)
{
    const char *const names[] = {"015-", "050-", "051-", "052-", "063-", "105-", "149-"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sink s = {.stop_after = -1};
        struct json_cutter *c = list_cutter(&s, kube_kind_members(KUBE_SERVICE));
        check_every_cut(*state, c, &s, recorded_body(*state, names[i]));
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
}

/* Items, and what was wrong with the text; `chunk` bytes at a time. */
static char *outcome_of(struct arena *a, struct json_cutter *c, struct sink *s, const char *text,
                        size_t n, size_t chunk)
{
    struct err err = ERR_INIT;
    json_cutter_reset(c);
    str_buf_reset(&s->text);
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < n; i += chunk) {
        rc = json_cutter_feed(c, text + i, n - i < chunk ? n - i : chunk, &err);
    }
    return arena_printf(a, "%s%s %d", str_buf_text(&s->text), err.message,
                        json_cutter_at_boundary(c));
}

/* Tokens that are longer than what the short way reads at once. */
static void json_cutter__long_tokens__same_in_chunks_of_any_size(void **state)
{
    static const size_t lengths[] = {511, 512, 513, 8180, 8192, 20000};
    static const size_t chunks[] = {1, 7, 4096, 8192, 1 << 20};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        char *x = arena_calloc(a, 1, lengths[i] + 1);
        memset(x, 'x', lengths[i]);
        char *want =
            arena_printf(a, "{\"metadata\":{\"labels\":{\"%s\":\"%s\",\"n\":[1,2,{}]}}}\n 1", x, x);
        char *text = arena_printf(a,
                                  "{\"items\":[{\"%s\":\"%s\",\"metadata\":{\"%s\":{},\"labels\":"
                                  "{\"%s\":\"%s\",\"n\":[1, 2,{}]}},\"z\":[\"%s\",0]}]}",
                                  x, x, x, x, x, x);
        for (size_t k = 0; k < ARRAY_LEN(chunks); k++) {
            struct sink s = {.stop_after = -1};
            struct json_cutter *c = list_cutter(&s, kube_kind_members(KUBE_NODE));
            assert_string_equal(outcome_of(a, c, &s, text, strlen(text), chunks[k]), want);
            json_cutter_free(c);
            str_buf_done(&s.text);
        }
    }
}

/* Whatever is wrong, the short way leaves it to the whole machine: byte by byte there is only the latter. */
static void json_cutter__damaged_lists__same_whole_and_byte_by_byte(void **state)
{
    static const char bytes[] = "\"\\{}[],:01-.eEntfa \n\x01\x80\xff";
    struct rng *r = rng_seeded_new(3);
    struct sink s = {.stop_after = -1};
    struct json_cutter *c = list_cutter(&s, kube_kind_members(KUBE_SERVICE));
    const char *recorded_text = recorded_body(*state, "149-");
    size_t n = strlen(recorded_text);
    int refused = 0;
    for (int i = 0; i < 2000; i++) {
        struct arena *a = arena_new();
        char *text = arena_memdup(a, recorded_text, n + 1);
        for (uint64_t k = rng_below(r, 3); k > 0; k--) {
            text[rng_below(r, n)] = bytes[rng_below(r, sizeof bytes)];
        }
        const char *want = outcome_of(a, c, &s, text, n, 1);
        refused += strstr(want, "byte ") != NULL;
        assert_string_equal(outcome_of(a, c, &s, text, n, n), want);
        arena_free(a);
    }
    assert_in_range(refused, 200, 1800);
    json_cutter_free(c);
    str_buf_done(&s.text);
    rng_free(r);
}

static void json_cutter__recorded_watches__same_at_every_byte(void **state)
{
    const char *const names[] = {"136-", "137-", "145-", "148-", "151-"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sink s = {.stop_after = -1};
        size_t n;
        struct json_cutter *c = stream_cutter(&s, kube_kind_members(KUBE_SERVICE));
        const char *lines = recorded_lines(*state, names[i], &n);
        check_every_cut(*state, c, &s, lines);
        assert_int_equal(json_cutter_count(c), n);
        assert_null(strstr(str_buf_text(&s.text), "managedFields"));
        json_cutter_free(c);
        str_buf_done(&s.text);
    }
}

UNIT_MAIN(json_cutter)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(json_cutter__wanted_paths__only_they_come_out),
        KUBE_TEST(json_cutter__list_head__wanted_members_in_any_order),
        KUBE_TEST(json_cutter__no_json__refused_with_the_byte),
        KUBE_TEST(json_cutter__nul_bytes__refused_everywhere),
        KUBE_TEST(json_cutter__nested_too_deep__refused_also_in_what_is_dropped),
        KUBE_TEST(json_cutter__huge_item__reported_and_the_list_goes_on),
        KUBE_TEST(json_cutter__item_without_end__refused_at_the_cap),
        KUBE_TEST(json_cutter__reader_stops__feeding_ends_cancelled),
        KUBE_TEST(json_cutter__v175_separators__same_events),
        KUBE_TEST(json_cutter__recorded_lists__same_at_every_byte),
        KUBE_TEST(json_cutter__long_tokens__same_in_chunks_of_any_size),
        KUBE_TEST(json_cutter__damaged_lists__same_whole_and_byte_by_byte),
        KUBE_TEST(json_cutter__recorded_watches__same_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
