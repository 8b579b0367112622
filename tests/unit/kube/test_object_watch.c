/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of object_watch: what is asked in which order, and what its user
 * hears.  controller.md §3.6, §4.8. */
#include "tests/unit/kube/kube_test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/lock.h"
#include "controller/kube/watch/object_watch.h"
#include "controller/kube/watch/object_watch_rules.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define COLLECTION "/api/v1/namespaces/kube-system/configmaps"
#define OBJECT(rv, value)                                                                          \
    "{'kind':'ConfigMap','metadata':{'name':'c','resourceVersion':'" rv "'},'data':{'k':'" value   \
    "'}}"
#define EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define END_OF_STATE(rv)                                                                           \
    EVENT("BOOKMARK", "{'kind':'ConfigMap','metadata':{'resourceVersion':'" rv                     \
                      "','annotations':{'k8s.io/initial-events-end':'true'}}}")
#define EXPIRED                                                                                    \
    EVENT("ERROR", "{'kind':'Status','status':'Failure','reason':'Expired','code':410,"            \
                   "'message':'too old resource version'}")

/* --- the watch against a scripted server ------------------------------------------------------ */

struct watcher {
    struct fake_api *api;
    struct object_watch *watch;
    struct rng *rng;
    struct mutex lock;
    struct str_buf heard; /* "a b - " values, "-" for no object, "!" for trouble */
};

static void seen(void *arg, struct json_object *object)
{
    struct watcher *w = arg;
    mutex_lock(&w->lock);
    const char *value = json_str(json_member(object, "data"), "k");
    str_appendf(&w->heard, "%s ", object == NULL ? "-" : str_nonnull(value));
    mutex_unlock(&w->lock);
}

static void trouble(void *arg, const struct err *err)
{
    struct watcher *w = arg;
    mutex_lock(&w->lock);
    str_append(&w->heard, err->message[0] == '\0' ? "? " : "! ");
    mutex_unlock(&w->lock);
}

static void changed(void *arg, const char *type, struct json_object *object);

static void begin(struct watcher *w, const struct api_step *steps, size_t n, bool set)
{
    static const char *const members[] = {"data", NULL};
    *w = (struct watcher){.api = fake_api_start(steps, n), .rng = rng_seeded_new(1)};
    mutex_init(&w->lock);
    const struct object_watch_args args = {
        .config = fake_api_config(w->api),
        .user_agent = "trimtab/test",
        .collection = COLLECTION,
        .name = set ? NULL : "c",
        .selector = set ? "a=b" : NULL,
        .members = members,
        .clock = fake_api_clock(w->api),
        .rng = w->rng,
        .seen = seen,
        .changed = changed,
        .trouble = trouble,
        .arg = w,
        .observe = kube_ignore_sent,
    };
    struct err err = ERR_INIT;
    assert_int_equal(object_watch_start(&args, &w->watch, &err), ERR_OK);
}

static void start(struct watcher *w, const struct api_step *steps, size_t n)
{
    begin(w, steps, n, false);
}

static void start_set(struct watcher *w, const struct api_step *steps, size_t n)
{
    begin(w, steps, n, true);
}

/* Until so many requests were seen, then the end; what was heard must be this. */
static void finish(struct watcher *w, int requests, const char *heard)
{
    fake_api_wait(w->api, requests);
    object_watch_stop(w->watch);
    assert_string_equal(str_buf_text(&w->heard), heard);
}

static void done(struct watcher *w)
{
    fake_api_stop(w->api);
    str_buf_done(&w->heard);
    rng_free(w->rng);
    mutex_done(&w->lock);
}

/* Numbers of the time-out are random. */
static void assert_form(const char *target, const char *before, const char *after)
{
    unsigned minutes;
    unsigned seconds;
    unsigned whole;
    int used = 0;
    assert_true(str_has_prefix(target, before));
    const char *rest = target + strlen(before);
    assert_int_equal(
        sscanf(rest, "&timeout=%um%us&timeoutSeconds=%u%n", &minutes, &seconds, &whole, &used), 3);
    assert_int_equal(minutes * 60 + seconds, whole);
    assert_in_range(whole, 300, 600);
    assert_string_equal(rest + used, after);
}

#define WATCH_TARGET "GET " COLLECTION "?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dc"

static void object_watch__stream__asks_as_upstream_then_goes_on_from_the_last_version(void **state)
{
    (void)state;
    static const struct api_step steps[] = {
        {.way = API_END,
         .body = EVENT("ADDED", OBJECT("7", "a")) END_OF_STATE("8")
             EVENT("MODIFIED", OBJECT("9", "b"))},
        {.way = API_OPEN, .body = EVENT("MODIFIED", OBJECT("10", "c"))},
    };
    struct watcher w;
    start(&w, steps, ARRAY_LEN(steps));
    fake_api_wait(w.api, 2);
    assert_form(fake_api_target(w.api, 0),
                WATCH_TARGET "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true",
                "&watch=true");
    assert_form(fake_api_target(w.api, 1), WATCH_TARGET "&resourceVersion=9", "&watch=true");
    assert_string_equal(fake_api_user_agent(w.api, 0), "trimtab/test");
    object_watch_stop(w.watch);
    assert_true(str_has_prefix(str_buf_text(&w.heard), "a b "));
    done(&w);
}

struct script {
    const char *name;
    const struct api_step *steps;
    int n;
    int requests;
    const char *targets[6]; /* beginnings; NULL: not looked at */
    const char *heard;
};

#define READ_TARGET "GET " COLLECTION "/c"
#define STEPS(...)                                                                                 \
    .steps = (const struct api_step[]){__VA_ARGS__},                                               \
    .n = sizeof((const struct api_step[]){__VA_ARGS__}) / sizeof(struct api_step)
#define READ_OK(rv, value)                                                                         \
    {                                                                                              \
        .body = OBJECT(rv, value)                                                                  \
    }

static const struct script scripts[] = {
    {.name = "a server without streaming lists",
     STEPS({.status = 422, .body = "{'kind':'Status','reason':'Invalid','code':422}"},
           READ_OK("7", "a"), {.way = API_HANG}),
     .requests = 3,
     .targets = {WATCH_TARGET, READ_TARGET, WATCH_TARGET "&resourceVersion=7&"},
     .heard = "a "},
    {.name = "410 as an event",
     STEPS({.way = API_END, .body = EVENT("ADDED", OBJECT("7", "a")) END_OF_STATE("8") EXPIRED},
           READ_OK("20", "b"), {.way = API_HANG}),
     .requests = 3,
     .targets = {WATCH_TARGET, READ_TARGET, WATCH_TARGET "&resourceVersion=20&"},
     .heard = "a b "},
    {.name = "410 as an answer",
     STEPS({.way = API_END, .body = EVENT("ADDED", OBJECT("7", "a")) END_OF_STATE("8")},
           {.status = 410, .body = "{'kind':'Status','reason':'Expired','code':410}"},
           READ_OK("20", "b"), {.way = API_HANG}),
     .requests = 4,
     .targets = {WATCH_TARGET, WATCH_TARGET "&resourceVersion=8&", READ_TARGET,
                 WATCH_TARGET "&resourceVersion=20&"},
     .heard = "a b "},
    {.name = "a connection that is cut",
     STEPS({.way = API_CUT, .body = EVENT("ADDED", OBJECT("7", "a")) END_OF_STATE("8")},
           READ_OK("9", "b"), {.way = API_HANG}),
     .requests = 3,
     .targets = {WATCH_TARGET, READ_TARGET, WATCH_TARGET "&resourceVersion=9&"},
     .heard = "a ! b "},
    {.name = "a server that drops everybody",
     STEPS({.way = API_DROP}, {.way = API_DROP}, READ_OK("9", "b"), {.way = API_HANG}),
     .requests = 4,
     .targets = {WATCH_TARGET, READ_TARGET, READ_TARGET, WATCH_TARGET},
     .heard = "! ! b "},
    {.name = "reading is allowed, watching is not",
     STEPS({.status = 403, .body = "{'kind':'Status','reason':'Forbidden','code':403}"},
           READ_OK("7", "a"),
           {.status = 403, .body = "{'kind':'Status','reason':'Forbidden','code':403}"},
           READ_OK("7", "b"), {.way = API_HANG}),
     .requests = 5,
     .targets = {WATCH_TARGET, READ_TARGET, WATCH_TARGET, READ_TARGET, WATCH_TARGET},
     .heard = "! a ! b "},
    {.name = "no such object",
     STEPS({.way = API_END,
            .body = END_OF_STATE("8") EVENT("ADDED", OBJECT("9", "a"))
                EVENT("DELETED", OBJECT("10", "a"))},
           {.status = 403, .body = "{'kind':'Status','reason':'Forbidden','code':403}"},
           {.status = 404, .body = "{'kind':'Status','reason':'NotFound','code':404}"},
           {.way = API_END, .body = EVENT("ADDED", OBJECT("11", "b"))}, {.way = API_HANG}),
     .requests = 5,
     .targets = {WATCH_TARGET, WATCH_TARGET "&resourceVersion=10&", READ_TARGET,
                 WATCH_TARGET "&timeout=", WATCH_TARGET "&resourceVersion=11&"},
     .heard = "- a - ! - b "},
    {.name = "lies: a page of HTML, another object, no JSON at all",
     STEPS({.way = API_END, .body = "<html>hello</html>"}, {.body = "<html>hello</html>"},
           {.body = "{'kind':'ConfigMap','metadata':{'name':'other','resourceVersion':'3'}}"},
           {.body = OBJECT("7", "a")}, {.way = API_END, .body = "{'type':'ADDED','object':3}"},
           READ_OK("8", "b"), {.way = API_HANG}),
     .requests = 7,
     .targets = {WATCH_TARGET, READ_TARGET, READ_TARGET, READ_TARGET, WATCH_TARGET, READ_TARGET},
     .heard = "! ! ! a ! b "},
};

/* A writer of the object may nest its managedFields: that has no effect. */
static void object_watch__deep_managed_fields__object_is_seen(void **state)
{
    struct arena *a = *state;
    struct str_buf deep _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (int i = 0; i < 5000; i++) {
        str_append(&deep, "{'f:a':");
    }
    str_append(&deep, "{}");
    for (int i = 0; i < 5000; i++) {
        str_append(&deep, "}");
    }
    const char *form = "{'kind':'ConfigMap','metadata':{'managedFields':[%s],'name':'c',"
                       "'resourceVersion':'%s'},'data':{'k':'%s'}}";
    const char *first = arena_printf(a, form, str_buf_text(&deep), "7", "a");
    const struct api_step steps[] = {
        {.way = API_END, .body = arena_printf(a, "{'type':'ADDED','object':%s}" EXPIRED, first)},
        {.body = arena_printf(a, form, str_buf_text(&deep), "8", "b")},
        {.way = API_HANG},
    };
    struct watcher w;
    start(&w, steps, ARRAY_LEN(steps));
    finish(&w, 3, "a b ");
    done(&w);
}

static void object_watch__trouble__is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        const struct script *s = &scripts[i];
        struct watcher w;
        print_message("# %s\n", s->name);
        start(&w, s->steps, (size_t)s->n);
        fake_api_wait(w.api, s->requests);
        for (size_t t = 0; t < ARRAY_LEN(s->targets) && s->targets[t] != NULL; t++) {
            const char *target = fake_api_target(w.api, (int)t);
            if (!str_has_prefix(target, s->targets[t]) ||
                (str_eq(s->targets[t], READ_TARGET) && !str_eq(target, READ_TARGET))) {
                fail_msg("request %zu: want %s, got %s", t, s->targets[t], target);
            }
        }
        finish(&w, s->requests, s->heard);
        done(&w);
    }
}

/* --- a collection ----------------------------------------------------------------------------- */

#define MEMBER(name, rv)                                                                           \
    "{'kind':'ConfigMap','metadata':{'name':'" name "','resourceVersion':'" rv "'}}"
#define LIST_TARGET "GET " COLLECTION "?labelSelector=a%3Db"
#define SET_TARGET  "GET " COLLECTION "?allowWatchBookmarks=true&labelSelector=a%3Db"

static void changed(void *arg, const char *type, struct json_object *object)
{
    struct watcher *w = arg;
    mutex_lock(&w->lock);
    const char *sign = str_eq(type, "DELETED") ? "-" : str_eq(type, "ADDED") ? "+" : "~";
    str_appendf(&w->heard, "%s%s ", sign, json_str(json_member(object, "metadata"), "name"));
    mutex_unlock(&w->lock);
}

static const struct script set_scripts[] = {
    {.name = "cut: what went meanwhile is deleted",
     STEPS({.way = API_CUT,
            .body = EVENT("ADDED", MEMBER("a", "5")) EVENT("ADDED", MEMBER("b", "6"))
                END_OF_STATE("8") EVENT("MODIFIED", MEMBER("b", "9"))
                    EVENT("DELETED", MEMBER("a", "10")) EVENT("ADDED", MEMBER("c", "11"))},
           {.body = "{'kind':'List','metadata':{'resourceVersion':'20'},'items':[" MEMBER(
                "b", "9") "," MEMBER("d", "12") "]}"},
           {.way = API_HANG}),
     .requests = 3,
     .targets = {SET_TARGET "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true",
                 LIST_TARGET, SET_TARGET "&resourceVersion=20&"},
     .heard = "+a +b ~b -a +c ! +b +d -c "},
    {.name = "a stream that ends within its state: that is not all",
     STEPS({.way = API_END, .body = EVENT("ADDED", MEMBER("a", "5"))},
           {.body = "{'kind':'List','metadata':{'resourceVersion':'20'},'items':[]}"},
           {.way = API_HANG}),
     .requests = 3,
     .targets = {SET_TARGET, LIST_TARGET, SET_TARGET "&resourceVersion=20&"},
     .heard = "+a -a "},
    {.name = "lies: no list, a member without a name",
     STEPS({.status = 422, .body = "{'kind':'Status','reason':'Invalid','code':422}"},
           {.body = MEMBER("a", "5")},
           {.body = "{'kind':'List','metadata':{'resourceVersion':'20'},'items':[{}]}"},
           {.body = "{'kind':'List','metadata':{'resourceVersion':'21'},'items':[]}"},
           {.way = API_HANG}),
     .requests = 5,
     .targets = {SET_TARGET, LIST_TARGET, LIST_TARGET, LIST_TARGET,
                 SET_TARGET "&resourceVersion=21&"},
     .heard = "! ! "},
};

static void object_watch__collection__tells_what_is_there_and_what_went(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(set_scripts); i++) {
        const struct script *s = &set_scripts[i];
        struct watcher w;
        print_message("# %s\n", s->name);
        start_set(&w, s->steps, (size_t)s->n);
        fake_api_wait(w.api, s->requests);
        for (size_t t = 0; t < ARRAY_LEN(s->targets) && s->targets[t] != NULL; t++) {
            if (!str_has_prefix(fake_api_target(w.api, (int)t), s->targets[t])) {
                fail_msg("request %zu: want %s, got %s", t, s->targets[t],
                         fake_api_target(w.api, (int)t));
            }
        }
        finish(&w, s->requests, s->heard);
        done(&w);
    }
}

static void object_watch__stop_while_nothing_answers__ends(void **state)
{
    (void)state;
    struct watcher w;
    start(&w, NULL, 0);
    finish(&w, 1, "");
    done(&w);
}

/* --- the rules -------------------------------------------------------------------------------- */

static struct err refusal(int code, int status)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, code, "no");
    err.http_status = status;
    return err;
}

static void object_rules__watching_is_forbidden__polls_once_a_minute_at_the_latest(void **state)
{
    (void)state;
    struct object_rules r;
    struct object_request q;
    struct err forbidden = refusal(ERR_FORBIDDEN, 403);
    int64_t now_ms = 1000;
    int64_t longest_ms = 0;
    int reads = 0;
    object_rules_init(&r);
    for (int i = 0; i < 60; i++) {
        object_rules_next(&r, now_ms, (i % 10) / 10.0, &q);
        int64_t at_ms = q.not_before_ms > now_ms ? q.not_before_ms : now_ms;
        longest_ms = at_ms - now_ms > longest_ms ? at_ms - now_ms : longest_ms;
        now_ms = at_ms;
        if (q.ask == OBJECT_READ) {
            reads++;
            object_rules_read(&r, "7");
        } else {
            assert_true(object_rules_ended(&r, &forbidden, false, now_ms, (i % 10) / 10.0));
        }
    }
    assert_int_equal(reads, 30);
    assert_in_range(longest_ms, 45000, 60000);
}

static void object_rules__silence_after_a_quiet_hour__is_read_at_once(void **state)
{
    (void)state;
    struct object_rules r;
    struct object_request q;
    struct err silent = refusal(ERR_TRANSIENT, 0);
    object_rules_init(&r);
    object_rules_next(&r, 1000, 0, &q);
    assert_int_equal(object_rules_event(&r, "ADDED", "5", false), OBJECT_IS);
    assert_true(object_rules_ended(&r, &silent, true, 3600000, 0));
    object_rules_next(&r, 3600000, 0, &q);
    assert_int_equal(q.ask, OBJECT_READ);
    assert_int_equal(q.not_before_ms, 0);
}

static void object_rules__version_longer_than_any__is_forgotten(void **state)
{
    (void)state;
    struct object_rules r;
    struct object_request q;
    char rv[OBJECT_RV_MAX + 1];
    memset(rv, '9', sizeof rv);
    rv[OBJECT_RV_MAX] = '\0';
    object_rules_init(&r);
    object_rules_read(&r, rv);
    object_rules_next(&r, 1000, 0, &q);
    assert_string_equal(q.rv, "");
    rv[OBJECT_RV_MAX - 1] = '\0';
    object_rules_read(&r, rv);
    object_rules_next(&r, 1000, 0, &q);
    assert_string_equal(q.rv, rv);
}

static void object_rules__events__say_whether_the_object_is_there(void **state)
{
    (void)state;
    struct object_rules r;
    struct object_request q;
    object_rules_init(&r);
    object_rules_next(&r, 1000, 0, &q);
    assert_int_equal(object_rules_event(&r, "BOOKMARK", "5", false), OBJECT_NO_NEWS);
    assert_int_equal(object_rules_event(&r, "BOOKMARK", "5", true), OBJECT_IS_NOT);
    assert_int_equal(object_rules_event(&r, "ADDED", "6", false), OBJECT_IS);
    assert_int_equal(object_rules_event(&r, "BOOKMARK", "7", true), OBJECT_NO_NEWS);
    assert_int_equal(object_rules_event(&r, "SOMETHING", "8", false), OBJECT_NO_NEWS);
    assert_int_equal(object_rules_event(&r, "DELETED", "9", false), OBJECT_IS_NOT);
}

UNIT_MAIN(object_watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_watch__stream__asks_as_upstream_then_goes_on_from_the_last_version),
        KUBE_TEST(object_watch__deep_managed_fields__object_is_seen),
        cmocka_unit_test(object_watch__trouble__is_survived),
        cmocka_unit_test(object_watch__collection__tells_what_is_there_and_what_went),
        cmocka_unit_test(object_watch__stop_while_nothing_answers__ends),
        cmocka_unit_test(object_rules__watching_is_forbidden__polls_once_a_minute_at_the_latest),
        cmocka_unit_test(object_rules__silence_after_a_quiet_hour__is_read_at_once),
        cmocka_unit_test(object_rules__version_longer_than_any__is_forgotten),
        cmocka_unit_test(object_rules__events__say_whether_the_object_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
