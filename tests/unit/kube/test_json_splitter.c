/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_splitter.c: lists and watch streams cut at byte level; vector 175.
 *
 * The recorded answers are fed split at every byte; what comes out must not depend on it. */
#include "common/data/json_splitter.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

struct sink {
    struct str_buf text; /* items, one per line, a broken one with its reason */
    int stop_after;      /* -1: never */
};

static bool take(void *arg, const struct cutter_item *item)
{
    struct sink *s = arg;
    assert_int_equal(strlen(item->text), item->n);
    str_append_n(&s->text, item->text, item->n);
    if (item->broken != NULL) {
        str_appendf(&s->text, " %s", item->broken);
    }
    str_append(&s->text, "\n");
    return s->stop_after < 0 || s->stop_after-- > 0;
}

static const char *const head_members[] = {"kind", "metadata.resourceVersion", "metadata.continue",
                                           NULL};
static const char *const event_members[] = {"type", NULL};

static struct json_splitter *list_cutter(struct sink *s, const char *const *members)
{
    const struct cutter_args args = {.mode = CUTTER_LIST,
                                     .members = members,
                                     .more_members = head_members,
                                     .on_item = take,
                                     .arg = s};
    return json_splitter_new(&args);
}

static struct json_splitter *stream_cutter(struct sink *s, const char *const *members)
{
    const struct cutter_args args = {.mode = CUTTER_STREAM,
                                     .members = members,
                                     .prefix = "object",
                                     .more_members = event_members,
                                     .on_item = take,
                                     .arg = s};
    return json_splitter_new(&args);
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void json_splitter__wanted_paths__only_they_come_out(void **state)
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
        {"{'\\u0061':3,'x':4}", "{'\\u0061':3}"}, /* an escaped name is left to the parser … */
        {"{'\\u0078\\n\\u00e4\\u2028':[3],'a':4}", "{'a':4}"}, /* … if it is a wanted one */
        {"{'aa':1,'':2,'a':3}", "{'a':3}"},
        {"5", "5"},
        {"'text'", "'text'"},
        {"[1,{'a':2,'x':3}]", "[1,{'a':2}]"},
        {"null", "null"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct json_splitter *c = list_cutter(&s, members);
        struct err err = ERR_INIT;
        const char *text =
            quoted(*state, arena_printf(*state, "{'items':[%s,%s]}", rows[i].item, rows[i].item));
        assert_int_equal(json_splitter_feed(c, text, strlen(text), &err), ERR_OK);
        const char *want = quoted(*state, rows[i].want);
        assert_string_equal(str_buf_text(&s.text), arena_printf(*state, "%s\n%s\n", want, want));
        assert_true(json_splitter_at_boundary(c));
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
}

static void json_splitter__list_head__wanted_members_in_any_order(void **state)
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
        struct json_splitter *c = list_cutter(&s, NULL);
        const char *text = quoted(*state, rows[i].list);
        size_t n;
        assert_int_equal(json_splitter_feed(c, text, strlen(text), NULL), ERR_OK);
        assert_string_equal(json_splitter_head(c, &n), quoted(*state, rows[i].head));
        assert_int_equal(json_splitter_count(c), rows[i].items);
        assert_true(json_splitter_at_boundary(c));
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

static void json_splitter__no_json__refused_with_the_byte(void **state)
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
        struct json_splitter *c = list_cutter(&s, NULL);
        const char *text = quoted(*state, rows[i].text);
        assert_int_equal(json_splitter_feed(c, text, strlen(text), &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_false(json_splitter_at_boundary(c));
        assert_int_equal(json_splitter_feed(c, "{}", 2, NULL), ERR_INVALID); /* stays broken */
        json_splitter_reset(c);
        assert_int_equal(json_splitter_feed(c, "{}", 2, NULL), ERR_OK);
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
}

static void json_splitter__nul_bytes__refused_everywhere(void **state)
{
    static const char inside[] = "{\"x\":\"a\0b\"}";
    static const char between[] = "{\"x\":\0 1}";
    const struct {
        const char *text;
        size_t n;
    } rows[] = {{inside, sizeof inside - 1}, {between, sizeof between - 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink s = {.stop_after = -1};
        struct json_splitter *c = list_cutter(&s, NULL);
        assert_int_equal(json_splitter_feed(c, rows[i].text, rows[i].n, NULL), ERR_INVALID);
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
    (void)state;
}

static int feed_repeated(struct json_splitter *c, const char *text, size_t times, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < times; i++) {
        rc = json_splitter_feed(c, text, strlen(text), err);
    }
    return rc;
}

static char *repeated(struct arena *a, const char *text, size_t times)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (size_t i = 0; i < times; i++) {
        str_append(&b, text);
    }
    return str_buf_to_arena(&b, a);
}

/* Output for three items, the second of which is `odd`; the same in chunks of any size. */
static const char *between_good_ones(struct arena *a, bool stream, const char *odd)
{
    static const char *const members[] = {
        "metadata.name", "metadata.labels", "spec.ports", "flag", "name", NULL};
    static const size_t chunks[] = {(size_t)1 << 26, 4093};
    const char *good = "{\"metadata\":{\"name\":\"good\"}}";
    const char *const shape =
        stream ? "{\"object\":%s}\n{\"object\":%s}{\"object\":%s}" : "{\"items\":[%s,%s,%s]}";
    const char *text = arena_printf(a, shape, good, odd, good);
    const char *first = NULL;
    size_t n = strlen(text);
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct sink s = {.stop_after = -1};
        struct json_splitter *c = stream ? stream_cutter(&s, members) : list_cutter(&s, members);
        struct err err = ERR_INIT;
        for (size_t at = 0; at < n; at += chunks[i]) {
            assert_int_equal(
                json_splitter_feed(c, text + at, n - at < chunks[i] ? n - at : chunks[i], &err),
                ERR_OK);
        }
        assert_true(json_splitter_at_boundary(c));
        assert_int_equal(json_splitter_count(c), 3);
        const char *out = str_buf_to_arena(&s.text, a);
        assert_true(s.text.cap < 2 * (CUTTER_KEPT_MAX + CUTTER_ROOM) + (1 << 20));
        json_splitter_free(c);
        str_buf_done(&s.text);
        assert_string_equal(first == NULL ? out : first, out);
        first = out;
    }
    return first;
}

/* A cap belongs to the item: what is not wanted counts for none of them. */
static void json_splitter__unwanted_beyond_all_caps__skipped_without_counting(void **state)
{
    struct arena *a = *state;
    char *big = repeated(a, "0123456789abcdef", 100000); /* 1.6 MB */
    const char *const odd[] = {
        arena_printf(a, "%s1%s", repeated(a, "[", 9000), repeated(a, "]", 9000)),
        arena_printf(a, "%s1%s", repeated(a, "{\"f:a\":", 100000), repeated(a, "}", 100000)),
        arena_printf(a, "%s\"]}\\\"\\\\\", -1.5e3 %s", repeated(a, "[{\"k\":", 5000),
                     repeated(a, "}]", 5000)),
        arena_printf(a, "{\"%s\":\"%s\"}", big, big),
        arena_printf(a, "[%s1]", repeated(a, "1,", 1000000)),
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        const char *item = arena_printf(
            a, "{\"x\":%s,\"metadata\":{\"managedFields\":%s,\"name\":\"odd\"},\"spec\":%s}",
            odd[i], odd[i], odd[i][0] == '[' ? "{\"y\":1}" : odd[i]);
        for (int stream = 0; stream < 2; stream++) {
            const char *out = between_good_ones(a, stream != 0, item);
            assert_null(strstr(out, " is "));
            assert_non_null(strstr(out, "{\"metadata\":{\"name\":\"odd\"},\"spec\":{}}"));
        }
    }
}

struct broken_row {
    const char *item;
    const char *list; /* what comes out of it */
};

static void check_broken(struct arena *a, const struct broken_row *rows, size_t n)
{
    const char *good = "{\"metadata\":{\"name\":\"good\"}}";
    for (size_t i = 0; i < n; i++) {
        const char *want = quoted(a, rows[i].list);
        assert_string_equal(between_good_ones(a, false, rows[i].item),
                            arena_printf(a, "%s\n%s\n%s\n", good, want, good));
        const char *space = strstr(want, " ");
        assert_string_equal(between_good_ones(a, true, rows[i].item),
                            arena_printf(a,
                                         "{\"object\":%s}\n{\"object\":%.*s}%s\n{\"object\":%s}\n",
                                         good, (int)(space - want), want, space, good));
    }
}

/* … and what is wanted, and is too much, takes its field away and nothing else. */
static void json_splitter__wanted_field_over_a_cap__only_it_is_left_out(void **state)
{
    struct arena *a = *state;
    char *big = repeated(a, "0123456789abcdef", 300000); /* 4.8 MB */
    char *pairs = repeated(a, "\"k\":\"0123456789abcdef\",", 300000);
    char *deep = arena_printf(a, "%s1%s", repeated(a, "[", 200), repeated(a, "]", 200));
    char *long_name = repeated(a, "n", CUTTER_NAME_MAX + 1);
#define TOO_LARGE " is larger than 4194304 bytes"
#define TOO_DEEP  " is nested deeper than 64 levels"
    const struct broken_row rows[] = {
        {arena_printf(a, "{\"metadata\":{\"labels\":{\"a\":\"%s\"},\"name\":\"odd\"}}", big),
         "{'metadata':{'labels':true,'name':'odd'}} metadata.labels" TOO_LARGE},
        {arena_printf(
             a, "{\"metadata\":{\"name\":\"odd\",\"labels\":{%s\"z\":1}},\"spec\":{\"ports\":[1]}}",
             pairs),
         "{'metadata':{'name':'odd','labels':true},'spec':{'ports':[1]}} "
         "metadata.labels" TOO_LARGE},
        {arena_printf(a, "{\"metadata\":{\"name\":\"odd\",\"labels\":%s},\"spec\":{\"ports\":[2]}}",
                      deep),
         "{'metadata':{'name':'odd','labels':true},'spec':{'ports':[2]}} metadata.labels" TOO_DEEP},
        {arena_printf(a,
                      "{\"spec\":{\"ports\":\"%s\"},\"metadata\":{\"labels\":%s,\"name\":\"odd\"}}",
                      big, deep),
         "{'spec':{'ports':true},'metadata':{'labels':true,'name':'odd'}} spec.ports" TOO_LARGE},
        {arena_printf(a, "{\"spec\":[%s],\"name\":\"odd\"}", deep),
         "{'spec':true,'name':'odd'} spec" TOO_DEEP},
        {arena_printf(a, "{\"flag\":tr%s,\"name\":\"odd\"}", big),
         "{'flag':[],'name':'odd'} flag" TOO_LARGE},
        {arena_printf(a, "{\"metadata\":{\"labels\":{\"a\":1,\"%s\":{\"b\":[]}},\"name\":\"odd\"}}",
                      long_name),
         "{'metadata':{'labels':true,'name':'odd'}} metadata.labels has a member name that is "
         "longer than "
         "65536 bytes"},
    };
    check_broken(a, rows, ARRAY_LEN(rows));
}

/* Short fields have room behind large ones, but not endlessly. */
static void json_splitter__item_of_nothing_but_names__left_out_without_one(void **state)
{
    struct arena *a = *state;
    const char *out = between_good_ones(
        a, false,
        arena_printf(a, "{%s\"name\":\"odd\"}", repeated(a, "\"name\":\"0123456789\",", 300000)));
    assert_string_equal(out,
                        "{\"metadata\":{\"name\":\"good\"}}\nnull it is larger than 4194304 bytes\n"
                        "{\"metadata\":{\"name\":\"good\"}}\n");
}

static void json_splitter__head_nested_too_deep__refused(void **state)
{
    static const char *const head[] = {"a", NULL};
    struct sink s = {.stop_after = -1};
    struct err err = ERR_INIT;
    const struct cutter_args args = {
        .mode = CUTTER_LIST, .more_members = head, .on_item = take, .arg = &s};
    struct json_splitter *c = json_splitter_new(&args);
    assert_int_equal(feed_repeated(c, "{\"x\":", 1, &err), ERR_OK);
    assert_int_equal(feed_repeated(c, "[", 100000, &err), ERR_OK);
    assert_int_equal(feed_repeated(c, "]", 100000, &err), ERR_OK);
    assert_int_equal(feed_repeated(c, ",\"a\":", 1, &err), ERR_OK);
    assert_int_equal(feed_repeated(c, "[", 1000, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "nested deeper than 64"));
    json_splitter_free(c);
    str_buf_done(&s.text);
    (void)state;
}

static void json_splitter__item_without_end__refused_at_the_cap(void **state)
{
    struct sink s = {.stop_after = -1};
    struct err err = ERR_INIT;
    static const char *const members[] = {"a", NULL};
    struct json_splitter *c = stream_cutter(&s, members);
    char *chunk = repeated(*state, "x", (size_t)1 << 20);
    assert_int_equal(feed_repeated(c, "{\"dropped\":\"", 1, NULL), ERR_OK);
    assert_int_equal(feed_repeated(c, chunk, 100, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "one item is larger than"));
    json_splitter_free(c);
    str_buf_done(&s.text);
}

static void json_splitter__reader_stops__feeding_ends_cancelled(void **state)
{
    struct sink s = {.stop_after = 1};
    struct json_splitter *c = stream_cutter(&s, NULL);
    assert_int_equal(feed_repeated(c, "{\"type\":\"A\"}", 3, NULL), ERR_CANCELLED);
    assert_int_equal(json_splitter_count(c), 2);
    json_splitter_free(c);
    str_buf_done(&s.text);
    (void)state;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* 175: the same two events, whatever stands between them and wherever chunks end. */
static void json_splitter__v175_separators__same_events(void **state)
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
            struct json_splitter *c = stream_cutter(&s, members);
            assert_int_equal(json_splitter_feed(c, text, cut, NULL), ERR_OK);
            assert_int_equal(json_splitter_feed(c, text + cut, n - cut, NULL), ERR_OK);
            assert_string_equal(str_buf_text(&s.text), want);
            assert_true(json_splitter_at_boundary(c));
            json_splitter_free(c);
            str_buf_done(&s.text);
        }
    }
}

/* Cuts `text` at `cut`; 0 feeds it byte by byte. */
static char *cut_at(struct arena *a, struct json_splitter *c, struct sink *s, const char *text,
                    size_t cut)
{
    size_t n = strlen(text);
    json_splitter_reset(c);
    str_buf_reset(&s->text);
    if (cut > 0) {
        assert_int_equal(json_splitter_feed(c, text, cut, NULL), ERR_OK);
        assert_int_equal(json_splitter_feed(c, text + cut, n - cut, NULL), ERR_OK);
    }
    for (size_t i = 0; cut == 0 && i < n; i++) {
        assert_int_equal(json_splitter_feed(c, text + i, 1, NULL), ERR_OK);
    }
    size_t head_n;
    const char *head = json_splitter_head(c, &head_n);
    return a == NULL ? NULL : arena_printf(a, "%s%s", str_buf_text(&s->text), head);
}

static void check_every_cut(struct arena *a, struct json_splitter *c, struct sink *s,
                            const char *text)
{
    const char *want = cut_at(a, c, s, text, 0);
    assert_true(json_splitter_at_boundary(c));
    for (size_t cut = 1; cut <= strlen(text); cut++) {
        size_t head_n;
        (void)cut_at(NULL, c, s, text, cut);
        size_t items_n = s->text.len;
        assert_memory_equal(str_buf_text(&s->text), want, items_n);
        assert_string_equal(json_splitter_head(c, &head_n), want + items_n);
    }
}

static void json_splitter__recorded_lists__same_at_every_byte(void **state)
{
    const char *const names[] = {"015-", "050-", "051-", "052-", "063-", "105-", "149-"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sink s = {.stop_after = -1};
        struct json_splitter *c = list_cutter(&s, kube_kind_members(KUBE_SERVICE));
        check_every_cut(*state, c, &s, recorded_body(*state, names[i]));
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
}

/* Items, and what was wrong with the text; `chunk` bytes at a time. */
static char *outcome_of(struct arena *a, struct json_splitter *c, struct sink *s, const char *text,
                        size_t n, size_t chunk)
{
    struct err err = ERR_INIT;
    json_splitter_reset(c);
    str_buf_reset(&s->text);
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < n; i += chunk) {
        rc = json_splitter_feed(c, text + i, n - i < chunk ? n - i : chunk, &err);
    }
    return arena_printf(a, "%s%s %d", str_buf_text(&s->text), err.message,
                        json_splitter_at_boundary(c));
}

/* Tokens that are longer than what the short way reads at once. */
static void json_splitter__long_tokens__same_in_chunks_of_any_size(void **state)
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
            struct json_splitter *c = list_cutter(&s, kube_kind_members(KUBE_NODE));
            assert_string_equal(outcome_of(a, c, &s, text, strlen(text), chunks[k]), want);
            json_splitter_free(c);
            str_buf_done(&s.text);
        }
    }
}

/* The short way looks at 8192 bytes at once: whatever stands over their end, kept or dropped. */
static void json_splitter__tokens_over_a_window__same_at_every_byte(void **state)
{
    static const char item[] =
        "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"uid\":\"u\",\"x\":[]},"
        "\"status\":{\"images\":[{\"names\":[\"one\",\"two\"],\"sizeBytes\":"
        "123456789012},{},[\"\\n\"]],\"nodeInfo\":{\"architecture\":\"z\"}}}";
    struct sink s = {.stop_after = -1};
    struct json_splitter *c = list_cutter(&s, kube_kind_members(KUBE_NODE));
    char *x = arena_calloc(*state, 1, 8193);
    memset(x, 'x', 8192);
    for (int pad = 8192 - (int)sizeof item - 16; pad <= 8192; pad++) {
        struct arena *a = arena_new();
        char *text = arena_printf(a, "{\"x\":\"%.*s\",\"items\":[%s,%s]}", pad - 16, x, item, item);
        size_t n = strlen(text);
        const char *want = outcome_of(a, c, &s, text, n, 1);
        assert_string_equal(outcome_of(a, c, &s, text, n, n), want);
        arena_free(a);
    }
    json_splitter_free(c);
    str_buf_done(&s.text);
}

/* The fast path leaves every error to the state machine: byte by byte only the latter runs. */
static void check_damaged(enum kube_kind kind, const char *whole)
{
    static const char bytes[] = "\"\\{}[],:01-.eEntfa \n\x01\x80\xff";
    struct rng *r = rng_seeded_new(3);
    struct sink s = {.stop_after = -1};
    struct json_splitter *c = list_cutter(&s, kube_kind_members(kind));
    size_t n = strlen(whole);
    int refused = 0;
    for (int i = 0; i < 2000; i++) {
        struct arena *a = arena_new();
        char *text = arena_memdup(a, whole, n + 1);
        for (uint64_t k = rng_below(r, 3); k > 0; k--) {
            text[rng_below(r, n)] = bytes[rng_below(r, sizeof bytes)];
        }
        const char *want = outcome_of(a, c, &s, text, n, 1);
        refused += strstr(want, "byte ") != NULL;
        assert_string_equal(outcome_of(a, c, &s, text, n, n), want);
        assert_string_equal(outcome_of(a, c, &s, text, n, 100), want);
        arena_free(a);
    }
    assert_in_range(refused, 200, 1800);
    json_splitter_free(c);
    str_buf_done(&s.text);
    rng_free(r);
}

static void json_splitter__damaged_lists__same_whole_and_byte_by_byte(void **state)
{
    check_damaged(KUBE_SERVICE, recorded_body(*state, "149-"));
}

/* Nearly all of it is dropped: strings of all lengths in arrays, numbers, containers. */
static void json_splitter__damaged_images__same_whole_and_byte_by_byte(void **state)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    char *x = arena_calloc(*state, 1, 200);
    memset(x, 'x', 199);
    str_append(&b, "{\"items\":[{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":[");
    for (int i = 0; i < 12; i++) {
        str_append(&b, i > 0 ? ",{\"names\":[" : "{\"names\":[");
        str_appendf(&b, "\"%.*s\",\"a\\n%.*s\",\"\"]", i * 17, x, 63 + i, x);
        str_appendf(&b, ",\"sizeBytes\":%d,\"e\":[{},[],-1.5e3,null]}", i * 12345);
    }
    str_append(&b, "],\"nodeInfo\":{\"architecture\":\"amd64\"}},");
    str_append(&b, "\"spec\":{\"podCIDR\":\"c\"}}]}");
    check_damaged(KUBE_NODE, b.data);
}

static void json_splitter__recorded_watches__same_at_every_byte(void **state)
{
    const char *const names[] = {"136-", "137-", "145-", "148-", "151-"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sink s = {.stop_after = -1};
        size_t n;
        struct json_splitter *c = stream_cutter(&s, kube_kind_members(KUBE_SERVICE));
        const char *lines = recorded_lines(*state, names[i], &n);
        check_every_cut(*state, c, &s, lines);
        assert_int_equal(json_splitter_count(c), n);
        assert_null(strstr(str_buf_text(&s.text), "managedFields"));
        json_splitter_free(c);
        str_buf_done(&s.text);
    }
}

UNIT_MAIN(json_splitter)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(json_splitter__wanted_paths__only_they_come_out),
        KUBE_TEST(json_splitter__list_head__wanted_members_in_any_order),
        KUBE_TEST(json_splitter__no_json__refused_with_the_byte),
        KUBE_TEST(json_splitter__nul_bytes__refused_everywhere),
        KUBE_TEST(json_splitter__unwanted_beyond_all_caps__skipped_without_counting),
        KUBE_TEST(json_splitter__wanted_field_over_a_cap__only_it_is_left_out),
        KUBE_TEST(json_splitter__item_of_nothing_but_names__left_out_without_one),
        KUBE_TEST(json_splitter__head_nested_too_deep__refused),
        KUBE_TEST(json_splitter__item_without_end__refused_at_the_cap),
        KUBE_TEST(json_splitter__reader_stops__feeding_ends_cancelled),
        KUBE_TEST(json_splitter__v175_separators__same_events),
        KUBE_TEST(json_splitter__recorded_lists__same_at_every_byte),
        KUBE_TEST(json_splitter__long_tokens__same_in_chunks_of_any_size),
        KUBE_TEST(json_splitter__tokens_over_a_window__same_at_every_byte),
        KUBE_TEST(json_splitter__damaged_lists__same_whole_and_byte_by_byte),
        KUBE_TEST(json_splitter__damaged_images__same_whole_and_byte_by_byte),
        KUBE_TEST(json_splitter__recorded_watches__same_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
