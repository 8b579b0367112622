/* SPDX-License-Identifier: Apache-2.0 */
/* test_reflector_stream.c: streaming lists against a scripted API server: what is asked, what
 * reaches the store, and when.
 *
 * Source: controller.md §4.8 WATCH-LIST, vectors 168–173 and 203–212; which request follows what is
 * tested row by row in test_reflector_rules.c. */
#include "controller/kube/watch/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/net/http.h"
#include "controller/kube/watch/reflector_internal.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define SVC(name, rv)                                                                              \
    "{'kind':'Service','metadata':{'namespace':'demo','name':'" name                               \
    "','uid':'u','resourceVersion':'" rv "'}}"
#define EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define ADDED(name, rv)     EVENT("ADDED", SVC(name, rv))
#define MARKED(rv, value)                                                                          \
    EVENT("BOOKMARK", "{'kind':'Service','metadata':{'resourceVersion':'" rv                       \
                      "','annotations':{'k8s.io/initial-events-end':'" value "'}}}")
#define MARK(rv)     MARKED(rv, "true")
#define BOOKMARK(rv) EVENT("BOOKMARK", "{'kind':'Service','metadata':{'resourceVersion':'" rv "'}}")
#define STATUS(code, reason)                                                                       \
    "{'kind':'Status','status':'Failure','message':'said so','reason':'" reason "','code':" code "}"
#define LIST(rv, items)                                                                            \
    "{'kind':'ServiceList','metadata':{'resourceVersion':'" rv "'},'items':[" items "]}"

#define STREAM_BEGIN "?allowWatchBookmarks=true"
#define STREAM_REST                                                                                \
    "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=#&watch=true"
#define STREAM          STREAM_BEGIN STREAM_REST
#define STREAM_FROM(rv) STREAM_BEGIN "&resourceVersion=" rv STREAM_REST
#define WATCH(rv)       STREAM_BEGIN "&resourceVersion=" rv "&timeoutSeconds=#&watch=true"

#define LIST_FIRST "?limit=500&resourceVersion=0"

/* One reflector of Services over a script, and the calls of its handler. */
struct world {
    struct arena *a;
    struct fake_api *api;
    struct rng *rng;
    struct kube_store *store;
    struct kube_reflectors *reflectors;
    struct str_buf told; /* the reflector thread's until it is stopped */
    struct err err;
};

static void on_changed(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct world *w = arg;
    str_appendf(&w->told, "%s%s@%s ",
                cur == NULL       ? "-"
                : old_obj == NULL ? "+"
                                  : "~",
                (cur == NULL ? old_obj : cur)->key,
                (cur == NULL ? old_obj : cur)->resource_version);
}

static void on_synced(void *arg)
{
    struct world *w = arg;
    str_append(&w->told, "synced ");
}

static struct world *world_start(struct arena *a, const struct api_step *steps, size_t n)
{
    struct world *w = ARENA_NEW(a, struct world);
    *w = (struct world){.a = a, .api = fake_api_start(steps, n), .rng = rng_seeded_new(1)};
    w->store = kube_store_new(KUBE_SERVICE);
    kube_store_add_handler(
        w->store, &(struct kube_handler){.changed = on_changed, .synced = on_synced, .arg = w});
    w->reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w->api),
        .user_agent = "test/1",
        .clock = fake_api_clock(w->api),
        .rng = w->rng,
        .streams = true,
    });
    kube_reflectors_add(w->reflectors, w->store, NULL);
    assert_int_equal(kube_reflectors_start(w->reflectors, &w->err), ERR_OK);
    return w;
}

#define START(steps) world_start(*state, (steps), ARRAY_LEN(steps))

static void world_stop(struct world *w)
{
    kube_reflectors_free(w->reflectors);
    kube_store_free(w->store);
    fake_api_stop(w->api);
    rng_free(w->rng);
    str_buf_done(&w->told);
}

/* Ends the reflectors, so that the recorded calls are ours. */
static const char *told(struct world *w)
{
    kube_reflectors_free(STEAL(w->reflectors));
    return str_buf_text(&w->told);
}

/* The request without its timeoutSeconds, which are random. */
static const char *target(struct world *w, int i)
{
    char *t = arena_strdup(w->a, fake_api_target(w->api, i));
    char *p = strstr(t, "timeoutSeconds=");
    if (p != NULL) {
        p += strlen("timeoutSeconds=");
        size_t digits = strspn(p, "0123456789");
        *p = '#';
        memmove(p + 1, p + digits, strlen(p + digits) + 1);
    }
    return str_replace(w->a, t, "GET /api/v1/services", "");
}

static const char *contents(struct world *w)
{
    struct str_buf b = STR_BUF_INIT;
    struct kube_snapshot *snap = kube_store_snapshot(w->store);
    for (size_t i = 0; i < snap->n; i++) {
        str_appendf(&b, "%s@%s%s ", snap->objects[i]->key, snap->objects[i]->resource_version,
                    snap->objects[i]->unreadable != NULL ? "!" : "");
    }
    kube_snapshot_unref(snap);
    const char *text = str_buf_to_arena(&b, w->a);
    str_buf_done(&b);
    return text;
}

/* --- the usual way ---------------------------------------------------------------------------- */

/* 168, 172, 207, 210, 212: one request; nothing is seen before the mark; the stream
 * continues as the watch. */
static void reflector__v168_streaming_list__one_request_and_all_at_once(void **state)
{
    const struct api_step steps[] = {
        {.way = API_END,
         .body = ADDED("c", "3") ADDED("a", "1") ADDED("b", "2") BOOKMARK("4")
             EVENT("MODIFIED", SVC("a", "5")) EVENT("DELETED", SVC("c", "6")) MARKED("7", "false")
                 MARK("10") ADDED("d", "11") EVENT("DELETED", SVC("b", "12"))},
        {.way = API_OPEN, .body = BOOKMARK("20")},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 2);
    assert_string_equal(target(w, 0), STREAM);
    assert_string_equal(target(w, 1), WATCH("12"));
    assert_string_equal(contents(w), "demo/a@5 demo/d@11 ");
    assert_string_equal(told(w), "+demo/a@5 +demo/b@2 synced +demo/d@11 -demo/b@12 ");
    world_stop(w);
}

/* 203, 209, 170: cut before the mark: nothing is published, all again. */
static void reflector__v203_no_mark__never_synced_and_again(void **state)
{
    const struct api_step steps[] = {
        {.way = API_END, .body = ADDED("a", "1") BOOKMARK("9")},
        {.way = API_CUT, .body = ADDED("a", "1") ADDED("b", "2")},
        {.way = API_END, .body = ADDED("a", "1") "{'type':'ADDED','object':{'metadata':{'name"},
        {.way = API_HANG},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 4);
    assert_string_equal(target(w, 1), STREAM);
    assert_string_equal(target(w, 2), STREAM);
    assert_string_equal(target(w, 3), LIST_FIRST); /* ours: the third in a row */
    assert_false(kube_store_synced(w->store));
    assert_string_equal(told(w), "");
    world_stop(w);
}

/* 173 with a streaming list: what went without a watch is deleted, unchanged objects are
 * not passed again. */
static void reflector__v173_second_stream__differences_only(void **state)
{
    const struct api_step steps[] = {
        {.way = API_END,
         .body = ADDED("a", "1") ADDED("b", "2") ADDED("c", "3") MARK("10")
             EVENT("ERROR", STATUS("410", "Expired"))},
        {.way = API_OPEN, .body = ADDED("a", "1") ADDED("c", "12") MARK("20")},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 2);
    struct kube_object *before = kube_store_get(w->store, "demo/a");
    while (kube_store_count(w->store) != 2) { /* the mark is on its way */
        fake_api_wait(w->api, 2);
    }
    struct kube_object *after = kube_store_get(w->store, "demo/a");
    assert_string_equal(target(w, 1), STREAM_FROM("10"));
    assert_ptr_equal(before, after); /* not held twice */
    kube_object_unref(before);
    kube_object_unref(after);
    assert_string_equal(contents(w), "demo/a@1 demo/c@12 ");
    assert_string_equal(told(w), "+demo/a@1 +demo/b@2 +demo/c@3 synced ~demo/c@12 -demo/b@2 ");
    world_stop(w);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

/* 169, 205, 206: refused or not understood: LIST and WATCH for this round, and nothing of the
 * stream is left. */
static void reflector__v169_refused_stream__list_then_watch(void **state)
{
    static const struct api_step refusals[] = {
        {.way = API_ANSWER, .status = 422, .body = STATUS("422", "Invalid")},
        {.way = API_ANSWER, .status = 400, .body = "what?"},
        {.way = API_ANSWER, .status = 403, .body = STATUS("403", "Forbidden")},
        {.way = API_ANSWER, .status = 404, .body = "404 page not found"},
        {.way = API_ANSWER, .status = 503, .body = "<html>no</html>"},
        {.way = API_END, .body = "<html><title>Sign in</title></html>"},
        {.way = API_END, .body = LIST("7", SVC("x", "1"))}, /* a LIST although a stream was asked */
        {.way = API_END, .body = ADDED("x", "1") "{'type':'ADDED'}"},
        {.way = API_END, .body = ADDED("x", "1") "{'type':'ADDED','object':7}"},
        {.way = API_END, .body = ADDED("x", "1") EVENT("ERROR", STATUS("500", "InternalError"))},
        {.way = API_END, .body = ADDED("x", "1") EVENT("ADDED", "{'kind':'Pod'}") MARK("5")},
        {.way = API_END,
         .body = ADDED("x", "1") EVENT(
             "BOOKMARK", "{'metadata':{'annotations':{'k8s.io/initial-events-end':'true'}}}")},
    };
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct api_step steps[] = {
            refusals[i],
            {.way = API_END, .body = LIST("10", SVC("a", "1"))},
            {.way = API_OPEN, .body = ADDED("b", "11")},
        };
        struct world *w = START(steps);
        fake_api_wait(w->api, 3);
        while (kube_store_count(w->store) < 2) { /* the last event is on its way */
            fake_api_wait(w->api, 3);
        }
        assert_string_equal(target(w, 1), LIST_FIRST);
        assert_string_equal(target(w, 2), WATCH("10"));
        assert_string_equal(contents(w), "demo/a@1 demo/b@11 ");
        assert_int_equal(kube_reflectors_trouble(w->reflectors, &w->err), ERR_OK);
        world_stop(w);
    }
}

/* 171, and a version from the future (057): the newest, at once. */
static void reflector__v171_version_unknown__newest_at_once(void **state)
{
    static const struct api_step second[] = {
        {.way = API_END, .body = EVENT("ERROR", STATUS("410", "Expired"))},
        {.way = API_ANSWER, .status = 410, .body = STATUS("410", "Gone")},
        {.way = API_ANSWER,
         .status = 504,
         .header = "Retry-After: 1",
         .body =
             "{'kind':'Status','status':'Failure','message':'Timeout: Too large resource version: "
             "10, current: 2','reason':'Timeout','details':{'causes':[{'reason':"
             "'ResourceVersionTooLarge','message':'Too large resource version'}],"
             "'retryAfterSeconds':1},'code':504}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        const struct api_step steps[] = {
            {.way = API_END,
             .body = ADDED("a", "1") MARK("10") EVENT("ERROR", STATUS("410", "Expired"))},
            second[i],
            {.way = API_OPEN, .body = MARK("2")},
        };
        struct world *w = START(steps);
        fake_api_wait(w->api, 3);
        assert_string_equal(target(w, 1), STREAM_FROM("10"));
        assert_string_equal(target(w, 2), STREAM);
        while (kube_store_count(w->store) != 0) { /* the mark is on its way */
            fake_api_wait(w->api, 3);
        }
        world_stop(w);
    }
}

/* 208: throttled; with Retry-After the very request is repeated when that is over. */
static void reflector__v208_throttled__the_same_again(void **state)
{
    const struct api_step steps[] = {
        {.way = API_ANSWER, .status = 429, .body = STATUS("429", "TooManyRequests")},
        {.way = API_ANSWER, .status = 429, .header = "Retry-After: 2", .body = "slow down"},
        {.way = API_OPEN, .body = MARK("5")},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(target(w, i), STREAM);
    }
    assert_int_equal(kube_reflectors_wait_synced(w->reflectors, CLOCK_NEVER, &w->err), ERR_OK);
    world_stop(w);
}

/* An object that cannot be read stays as it is known; one without a name is left out. */
static void reflector__bad_object_in_stream__known_but_unreadable(void **state)
{
    const struct api_step steps[] = {
        {.way = API_END,
         .body = ADDED("a", "1") MARK("10") EVENT("ERROR", STATUS("410", "Expired"))},
        {.way = API_OPEN,
         .body = EVENT("ADDED", "{'metadata':{'namespace':'demo','name':'a','resourceVersion':'3'},"
                                "'spec':[]}") EVENT("ADDED", "{'spec':{}}")
             EVENT("DELETED", "{'metadata':7}") EVENT("WHAT", "{}") ADDED("b", "4") MARK("20")},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 2);
    while (kube_store_count(w->store) != 2) { /* the mark is on its way */
        fake_api_wait(w->api, 2);
    }
    assert_string_equal(contents(w), "demo/a@3! demo/b@4 ");
    world_stop(w);
}

/* A stream that never stops naming new objects, before its mark. */
static void reflector_on_event__endless_stream__ends_at_the_cap(void **state)
{
    const struct kube_config config = {.server = "http://127.0.0.1:1", .context = "", .source = ""};
    struct kube_reflectors all = {
        .args = {.config = &config, .clock = clock_real(), .rng = rng_real(), .streams = true},
    };
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct reflector x;
    char line[256];
    bool go_on = true;
    reflector_init(&x, &all, store, NULL);
    assert_int_equal(reflector_step(&x.job, NULL), HTTP_SEND);
    assert_int_equal(x.job.req.idle_ms, 60000);
    assert_int_equal(x.job.req.total_ms, -1);
    assert_false(x.job.req.gzip);
    size_t i = 0;
    for (; go_on && i < LIST_ITEMS_MAX + 10; i++) {
        int n = snprintf(line, sizeof line,
                         "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"d\","
                         "\"name\":\"s%07zu\",\"resourceVersion\":\"1\"}}}",
                         i);
        const struct cutter_item item = {.text = line, .n = (size_t)n};
        go_on = reflector_on_event(&x, &item);
    }
    assert_int_equal(i, LIST_ITEMS_MAX + 1);
    assert_non_null(strstr(x.stream_err.message, "more than 100000 objects"));
    assert_int_equal(kube_store_count(store), 0);
    reflector_done(&x);
    kube_store_free(store);
    (void)state;
}

/* --- 139, 141, 151, 152: what a real server sent ---------------------------------------------- */

/* The stream of a real server, its mark, and the same objects again after its restart. */
static void reflector__recorded_streams__all_objects(void **state)
{
    size_t n;
    size_t again_n;
    const char *first = recorded_lines(*state, "141-", &n);
    const char *again = recorded_lines(*state, "152-", &again_n);
    const struct api_step steps[] = {
        {.way = API_END, .body = first},
        {.way = API_END, .body = recorded_lines(*state, "151-", &again_n)},
        {.way = API_OPEN, .body = again},
    };
    struct world *w = START(steps);
    fake_api_wait(w->api, 1);
    assert_int_equal(kube_reflectors_wait_synced(w->reflectors, CLOCK_NEVER, &w->err), ERR_OK);
    assert_int_equal(kube_store_count(w->store), n - 1); /* all but the mark */
    struct kube_object *bad = kube_store_get(w->store, "demo/1bad");
    assert_non_null(bad);
    kube_object_unref(bad);
    fake_api_wait(w->api, 3);
    assert_string_equal(target(w, 1), WATCH("338")); /* the mark's */
    assert_string_equal(target(w, 2), STREAM_FROM("338"));
    world_stop(w);
}

/* 142: without resourceVersionMatch the server refuses; its answer is one of those that
 * lead to LIST. */
static void reflector_classify__recorded_refusal__list(void **state)
{
    size_t n;
    const char *body = recorded_lines(*state, "142-", &n);
    struct err err = ERR_INIT;
    (void)kube_status_error(recorded_status(*state, "142-"), body, strlen(body), "GET", &err);
    assert_int_equal(reflector_classify(&err), REFLECTOR_END_OTHER);
    err_clear(&err);
    body = recorded_body(*state, "057-");
    (void)kube_status_error(recorded_status(*state, "057-"), body, strlen(body), "GET", &err);
    assert_int_equal(reflector_classify(&err), REFLECTOR_END_TOO_LARGE);
}

/* §3.3: the gate. */
static void kube_reflectors_gate__values__on_unless_told_otherwise(void **state)
{
    (void)state;
    assert_true(kube_reflectors_gate(NULL));
    assert_true(kube_reflectors_gate(""));
    assert_true(kube_reflectors_gate("true"));
    assert_true(kube_reflectors_gate("T"));
    assert_true(kube_reflectors_gate("maybe"));
    assert_false(kube_reflectors_gate("false"));
    assert_false(kube_reflectors_gate("0"));
}

UNIT_MAIN(reflector_stream)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(reflector__v168_streaming_list__one_request_and_all_at_once),
        KUBE_TEST(reflector__v203_no_mark__never_synced_and_again),
        KUBE_TEST(reflector__v173_second_stream__differences_only),
        KUBE_TEST(reflector__v169_refused_stream__list_then_watch),
        KUBE_TEST(reflector__v171_version_unknown__newest_at_once),
        KUBE_TEST(reflector__v208_throttled__the_same_again),
        KUBE_TEST(reflector__bad_object_in_stream__known_but_unreadable),
        KUBE_TEST(reflector_on_event__endless_stream__ends_at_the_cap),
        KUBE_TEST(reflector__recorded_streams__all_objects),
        KUBE_TEST(reflector_classify__recorded_refusal__list),
        KUBE_TEST(kube_reflectors_gate__values__on_unless_told_otherwise),
    };
    if (http_global_init(NULL) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
