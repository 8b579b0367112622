/* SPDX-License-Identifier: Apache-2.0 */
/* test_reflector_rules.c: the reflector's state machine as scripts: vectors 159–171, 174, 203–212
 * of controller.md (what 172, 173, 175 and 207 do to the store is in test_reflector.c and
 * test_reflector_stream.c).
 *
 * A script is a row of words, what comes of each request in turn:
 *   ok:RV         a list's last page        page:TOKEN   a page that is continued
 *   closed        a watch closed after an event at +60 s; closed:RV with that version seen
 *   short         a watch closed at once without an event
 *   410 429 500 504 net other              what ended the request; a watch: before it was opened
 *   e410 e429 e500 eother cut              a watch: as an event, or in the middle
 *   mark:RV[,WORD]                         a streaming list's end mark, then WORD as of a watch
 *   part                                   a streaming list that is closed before its mark, at +60
 *                                          s
 *   silent                                 the connection is given up after +90 s without a byte
 * The trace names each request: L(rv,limit[,token]), W(rv) or S(rv), a streaming list, with "+ms"
 * when it had to wait. */
#include "controller/kube/watch/reflector_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/kube_test.h"

#include <stdlib.h>
#include <string.h>

struct script {
    struct reflector_rules rules;
    struct str_buf trace;
    int64_t now_ms;
    struct reflector_request ask;
    struct arena *arena;
};

static void ask(struct script *s)
{
    reflector_next(&s->rules, s->now_ms, 0.0, &s->ask);
    const struct reflector_request *q = &s->ask;
    if (q->ask != REFLECTOR_LIST) {
        str_appendf(&s->trace, "%c(%s)", q->ask == REFLECTOR_WATCH ? 'W' : 'S', q->rv);
    } else if (q->token != NULL) {
        str_appendf(&s->trace, "L(%s,%d,%s)", q->rv, q->limit, q->token);
    } else {
        str_appendf(&s->trace, "L(%s,%d)", q->rv, q->limit);
    }
    if (q->not_before_ms > s->now_ms) {
        str_appendf(&s->trace, "+%lld", (long long)(q->not_before_ms - s->now_ms));
        s->now_ms = q->not_before_ms;
    }
    str_append(&s->trace, " ");
}

static enum reflector_end end_of(const char *word)
{
    static const struct {
        const char *word;
        enum reflector_end end;
    } words[] = {
        {"410", REFLECTOR_END_EXPIRED}, {"429", REFLECTOR_END_THROTTLED},
        {"500", REFLECTOR_END_OTHER},   {"504", REFLECTOR_END_TOO_LARGE},
        {"net", REFLECTOR_END_NETWORK}, {"other", REFLECTOR_END_OTHER},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq(words[i].word, word)) {
            return words[i].end;
        }
    }
    fail_msg("no such word: %s", word);
    return REFLECTOR_END_OK;
}

static void answer_list(struct script *s, const char *word)
{
    if (str_has_prefix(word, "ok:")) {
        assert_true(reflector_list_page(&s->rules, word + 3, ""));
    } else if (str_has_prefix(word, "page:")) {
        assert_false(reflector_list_page(&s->rules, "1", word + 5));
    } else {
        reflector_list_failed(&s->rules, end_of(word), s->now_ms, 0.0);
    }
}

static void answer_watch(struct script *s, const char *word)
{
    enum reflector_end end = REFLECTOR_END_OK;
    bool opened = true;
    if (str_has_prefix(word, "mark:")) {
        const char *comma = strchr(word, ',');
        size_t n = comma == NULL ? strlen(word + 5) : (size_t)(comma - word - 5);
        reflector_initial_end(&s->rules, arena_strndup(s->arena, word + 5, n));
        word = comma == NULL ? "closed" : comma + 1;
    }
    if (str_eq(word, "silent")) {
        end = REFLECTOR_END_NETWORK;
        s->now_ms += 90000;
    } else if (str_eq(word, "part")) {
        reflector_watch_event(&s->rules, "77");
        s->now_ms += 60000;
    } else if (str_eq(word, "short")) {
        s->now_ms += 10;
    } else if (str_has_prefix(word, "closed")) {
        reflector_watch_event(&s->rules, word[6] == ':' ? word + 7 : NULL);
        s->now_ms += 60000;
    } else if (str_eq(word, "cut")) {
        end = REFLECTOR_END_NETWORK;
        s->now_ms += 60000;
        reflector_watch_bytes(&s->rules, s->now_ms);
    } else if (word[0] == 'e') {
        end = end_of(word + 1);
        s->now_ms += 60000;
    } else {
        end = end_of(word);
        opened = false;
    }
    reflector_watch_ended(&s->rules, end, opened, s->now_ms, 0.0);
}

static const char *play(struct script *s, const char *words)
{
    size_t n;
    char **w = str_split(s->arena, words, ' ', &n);
    ask(s);
    for (size_t i = 0; i < n; i++) {
        if (s->ask.ask == REFLECTOR_LIST) {
            answer_list(s, w[i]);
        } else {
            answer_watch(s, w[i]);
        }
        ask(s);
    }
    return str_buf_text(&s->trace);
}

static void reflector_rules__scripts__requests(void **state)
{
    const struct {
        int vector; /* 0: ours */
        int page_size;
        const char *words;
        const char *want;
    } rows[] = {
        {159, 0, "ok:10 e410 410 ok:11", "L(0,500) W(10) L(10,0)+800 L(,500) W(11) "},
        {160, 4, "ok:10 e410 page:C1 410 ok:20",
         "L(0,4) W(10) L(10,4)+800 L(,4,C1) L(10,0) W(20) "},
        {161, 0, "page:C1 410 ok:20", "L(0,500) L(,500,C1) L(0,0) W(20) "},
        {162, 0, "ok:20 e410 504 ok:30 e410 504 ok:40 e410 504 ok:50",
         "L(0,500) W(20) L(20,0)+800 L(,500) W(30) L(30,0)+1600 L(,500) W(40) L(40,0)+3200 L(,500) "
         "W(50) "},
        {163, 0, "ok:10 e410 ok:11", "L(0,500) W(10) L(10,0)+800 W(11) "},
        {164, 0, "page:C1 ok:10 e410 ok:11", "L(0,500) L(,500,C1) W(10) L(10,500)+800 W(11) "},
        {165, 0, "ok:1 429 429 429 429", "L(0,500) W(1) W(1)+800 W(1)+1600 W(1)+3200 W(1)+6400 "},
        {165, 0, "ok:1 e429 e429", "L(0,500) W(1) W(1)+800 W(1)+1600 "},
        {167, 0, "ok:1 e500 ok:2", "L(0,500) W(1) L(1,0)+800 W(2) "},
        /* closed by the server: at once again, from the last version seen */
        {0, 0, "ok:1 closed:5 closed closed:7", "L(0,500) W(1) W(5) W(5) W(7) "},
        /* a very short watch without an event: list again after the back-off */
        {0, 0, "ok:1 short ok:2 short", "L(0,500) W(1) L(1,0)+800 W(2) L(2,0)+1600 "},
        /* cut in the middle is as closed; not opened at all waits, but lists nothing */
        {0, 0, "ok:1 cut net net closed:3", "L(0,500) W(1) W(1) W(1)+800 W(1)+1600 W(3) "},
        /* first lists fail: growing delays, at most 30 s (174) */
        {174, 0, "net net other 500 429 net net net",
         "L(0,500) L(0,500)+800 L(0,500)+1600 L(0,500)+3200 L(0,500)+6400 L(0,500)+12800 "
         "L(0,500)+25600 L(0,500)+30000 L(0,500)+30000 "},
        /* a later page lost otherwise: the whole list again */
        {0, 0, "page:C1 net page:C2 ok:9", "L(0,500) L(,500,C1) L(0,500)+800 L(,500,C2) W(9) "},
        /* the newest is refused as well: back-off, and the newest again */
        {0, 0, "ok:10 e410 410 410 ok:12",
         "L(0,500) W(10) L(10,0)+800 L(,500) L(,500)+1600 W(12) "},
        /* everything that is refused when opened */
        {0, 0, "ok:1 other ok:2 410 ok:3", "L(0,500) W(1) L(1,0)+800 W(2) L(2,0)+1600 W(3) "},
        {0, 0, "ok:1 eother ok:2", "L(0,500) W(1) L(1,0)+800 W(2) "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct script s = {.now_ms = 1000, .arena = *state};
        reflector_rules_init(&s.rules, rows[i].page_size, 0);
        assert_string_equal(play(&s, rows[i].words), rows[i].want);
        reflector_rules_done(&s.rules);
        str_buf_done(&s.trace);
    }
}

/* The same with streaming lists. */
static void reflector_rules__streaming_scripts__requests(void **state)
{
    const struct {
        int vector; /* 0: ours */
        const char *words;
        const char *want;
    } rows[] = {
        {168, "mark:10", "S() W(10) "},
        {169, "other ok:1", "S() L(0,500) W(1) "},
        {170, "part mark:10", "S() S() W(10) "},
        {171, "mark:10,e410 410 mark:20", "S() S(10)+800 S() W(20) "},
        {171, "mark:10,e410 e410 mark:20", "S() S(10)+800 S() W(20) "},
        {171, "mark:10,e410 504 mark:20", "S() S(10)+800 S() W(20) "},
        {203, "closed:5 mark:9", "S() S() W(9) "},
        {205, "500 ok:1 closed", "S() L(0,500) W(1) W(1) "},
        {206, "other ok:1 closed", "S() L(0,500) W(1) W(1) "},
        {208, "429 429 mark:5", "S() S()+800 S()+1600 W(5) "},
        {208, "e429 mark:5", "S() S()+800 W(5) "},
        {209, "cut mark:5", "S() S() W(5) "},
        {210, "mark:2,closed:3 closed:4", "S() W(3) W(4) "},
        {211, "mark:2 410 mark:5", "S() W(2) S(2)+800 W(5) "},
        /* not reached: back-off, and streaming again */
        {0, "net net mark:5", "S() S()+800 S()+1600 W(5) "},
        /* the newest has expired as well */
        {0, "410 ok:1", "S() L(0,500) W(1) "},
        {0, "mark:7,e410 410 410 ok:9", "S() S(7)+800 S() L(,500) W(9) "},
        /* LIST is for one round */
        {0, "other ok:1 e410 mark:5", "S() L(0,500) W(1) S(1)+800 W(5) "},
        {0, "other other mark:5", "S() L(0,500) S()+800 W(5) "},
        {0, "mark:3,eother other ok:4", "S() S(3)+800 L(3,0) W(4) "},
        /* the third cut in a row, and one without anything */
        {0, "part cut part ok:1", "S() S() S() L(0,500) W(1) "},
        {0, "part part mark:4,e410 part part mark:5", "S() S() S() S(4)+800 S(4) S(4) W(5) "},
        {0, "short ok:1", "S() L(0,500) W(1) "},
        /* the end mark does not come */
        {0, "silent ok:1", "S() L(0,500) W(1) "},
        {0, "mark:3,e410 silent ok:4 closed", "S() S(3)+800 L(3,0) W(4) W(4) "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct script s = {.now_ms = 1000, .arena = *state};
        reflector_rules_init(&s.rules, 0, 0);
        reflector_rules_stream(&s.rules);
        assert_string_equal(play(&s, rows[i].words), rows[i].want);
        reflector_rules_done(&s.rules);
        str_buf_done(&s.trace);
    }
}

/* The watchdog's limit: 60 s from the beginning, 30 s from the last byte, whichever is later; three
 * minutes after the end mark. */
static void reflector_silence__before_and_after_the_mark__limits(void **state)
{
    struct reflector_rules r;
    struct reflector_request q;
    reflector_rules_init(&r, 0, 0);
    reflector_rules_stream(&r);
    reflector_next(&r, 1000, 0, &q);
    assert_true(reflector_is_collecting(&r));
    assert_int_equal(reflector_silence_ms(&r, 1000), 60000);
    assert_int_equal(reflector_silence_ms(&r, 21000), 40000);
    assert_int_equal(reflector_silence_ms(&r, 31000), 30000);
    assert_int_equal(reflector_silence_ms(&r, 500000), 30000);
    /* bytes at 50 s: given up at 80 s, and not before */
    reflector_watch_bytes(&r, 51000);
    assert_int_equal(reflector_watch_ended(&r, REFLECTOR_END_NETWORK, true, 80000, 0),
                     REFLECTOR_SAY_NOTHING);
    reflector_next(&r, 100000, 0, &q);
    reflector_watch_bytes(&r, 150000);
    assert_int_equal(reflector_watch_ended(&r, REFLECTOR_END_NETWORK, true, 180000, 0),
                     REFLECTOR_SAY_STALLED);
    reflector_next(&r, 200000, 0, &q);
    assert_int_equal(q.ask, REFLECTOR_LIST);
    reflector_list_page(&r, "5", "");
    reflector_next(&r, 200000, 0, &q);
    assert_false(reflector_is_collecting(&r));
    assert_int_equal(reflector_silence_ms(&r, 200000), 180000);
    reflector_rules_done(&r);
    (void)state;
}

/* Recorded: what a Go informer of 1.36 asks first (its client-side time-out, which repeats
 * timeoutSeconds, left out), and 141. */
static void reflector_query__streaming_list__as_recorded(void **state)
{
    struct str_buf b = STR_BUF_INIT;
    struct reflector_request q = {.ask = REFLECTOR_WATCH_LIST, .rv = "", .timeout_s = 552};
    reflector_query(&b, &q, NULL);
    assert_string_equal(str_buf_text(&b),
                        "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
                        "&sendInitialEvents=true&timeoutSeconds=552&watch=true");
    q.rv = "367";
    reflector_query(&b, &q, "a=b");
    assert_string_equal(str_buf_text(&b),
                        "allowWatchBookmarks=true&labelSelector=a%3Db&resourceVersion=367"
                        "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
                        "&timeoutSeconds=552&watch=true");
    str_buf_done(&b);
    (void)state;
}

/* A server that sends an event and hangs up, over and over, meets the back-off in the end. */
static void reflector_rules__short_watches_with_events__backed_off(void **state)
{
    struct reflector_rules r;
    struct reflector_request q;
    int64_t now_ms = 1000;
    int waits = 0;
    reflector_rules_init(&r, 0, 0);
    reflector_next(&r, now_ms, 0, &q);
    reflector_list_page(&r, "1", "");
    for (int i = 0; i < 20; i++) {
        reflector_next(&r, now_ms, 0, &q);
        waits += q.not_before_ms > now_ms;
        now_ms = (q.not_before_ms > now_ms ? q.not_before_ms : now_ms) + 5;
        reflector_watch_event(&r, "2");
        reflector_watch_ended(&r, REFLECTOR_END_OK, true, now_ms, 0);
    }
    assert_int_equal(waits, 14);
    reflector_rules_done(&r);
    (void)state;
}

/* 174 with jitter: twice the base at most; again after two quiet minutes. */
static void reflector_backoff__v174__bases_and_reset(void **state)
{
    static const int64_t bases[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    struct reflector_rules low;
    struct reflector_rules high;
    int64_t now_ms = 0;
    reflector_rules_init(&low, 0, 0);
    reflector_rules_init(&high, 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        now_ms += 1000;
        assert_int_equal(reflector_backoff(&low, now_ms, 0.0), bases[i]);
        assert_int_equal(reflector_backoff(&high, now_ms, 0.5), bases[i] + bases[i] / 2);
    }
    assert_int_equal(reflector_backoff(&low, now_ms + 119999, 0.0), 30000);
    assert_int_equal(reflector_backoff(&low, now_ms + 119999 + 120000, 0.0), 800);
    (void)state;
}

/* 166 */
static void reflector_next__v166_watch_timeouts__from_min_to_twice(void **state)
{
    const struct {
        int64_t min_watch_ms;
        double unit;
        int want_s;
    } rows[] = {
        {0, 0.0, 300},          {0, 0.999, 599},  {1800000, 0.0, 1800},
        {1800000, 0.999, 3598}, {1000, 0.0, 300}, {1000, 0.5, 450},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct reflector_rules r;
        struct reflector_request q;
        reflector_rules_init(&r, 0, rows[i].min_watch_ms);
        reflector_next(&r, 0, 0, &q);
        reflector_list_page(&r, "1", "");
        reflector_next(&r, 0, rows[i].unit, &q);
        assert_int_equal(q.timeout_s, rows[i].want_s);
        reflector_rules_done(&r);
    }
    (void)state;
}

static void reflector_query__requests__sorted_and_escaped(void **state)
{
    const struct {
        struct reflector_request q;
        const char *selector;
        const char *want;
    } rows[] = {
        {{.rv = "0", .limit = 500}, NULL, "limit=500&resourceVersion=0"},
        {{.rv = ""}, NULL, ""},
        {{.rv = "", .limit = 500, .token = "a+b/="}, NULL, "continue=a%2Bb%2F%3D&limit=500"},
        {{.rv = "7"}, "a=b,!c", "labelSelector=a%3Db%2C%21c&resourceVersion=7"},
        {{.ask = REFLECTOR_WATCH, .rv = "12", .timeout_s = 300},
         NULL,
         "allowWatchBookmarks=true&resourceVersion=12&timeoutSeconds=300&watch=true"},
    };
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        reflector_query(&b, &rows[i].q, rows[i].selector);
        assert_string_equal(str_buf_text(&b), rows[i].want);
    }
    str_buf_done(&b);
    (void)state;
}

UNIT_MAIN(reflector_rules)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(reflector_rules__scripts__requests),
        KUBE_TEST(reflector_rules__streaming_scripts__requests),
        KUBE_TEST(reflector_silence__before_and_after_the_mark__limits),
        KUBE_TEST(reflector_query__streaming_list__as_recorded),
        KUBE_TEST(reflector_rules__short_watches_with_events__backed_off),
        KUBE_TEST(reflector_backoff__v174__bases_and_reset),
        KUBE_TEST(reflector_next__v166_watch_timeouts__from_min_to_twice),
        KUBE_TEST(reflector_query__requests__sorted_and_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
