/* SPDX-License-Identifier: Apache-2.0 */
/* test_reflector.c: reflectors against a scripted API server: what they ask, what reaches the
 * store.
 *
 * Source: controller.md §4.8; which request follows what is tested row by row in
 * test_reflector_rules.c. */
#include "controller/kube/watch/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/net/http.h"
#include "controller/kube/client/credentials_source.h"
#include "controller/kube/watch/reflector_internal.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define SVC(name, rv)                                                                              \
    "{'metadata':{'namespace':'demo','name':'" name "','uid':'u','resourceVersion':'" rv "'}}"
#define LIST(rv, items)                                                                            \
    "{'kind':'ServiceList','apiVersion':'v1','metadata':{'resourceVersion':'" rv                   \
    "'},'items':[" items "]}"
#define PAGE(rv, token, items)                                                                     \
    "{'kind':'ServiceList','metadata':{'resourceVersion':'" rv "','continue':'" token              \
    "'},'items':[" items "]}"
#define EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define STATUS(code, reason)                                                                       \
    "{'kind':'Status','status':'Failure','message':'said so','reason':'" reason "','code':" code "}"

/* One reflector of Services over a script. */
struct world {
    struct fake_api *api;
    struct rng *rng;
    struct kube_store *store;
    struct kube_reflectors *reflectors;
    struct err err;
};

static struct world world_start(const struct api_step *steps, size_t n)
{
    struct world w = {.api = fake_api_start(steps, n), .rng = rng_seeded_new(1)};
    w.store = kube_store_new(KUBE_SERVICE);
    w.reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w.api),
        .user_agent = "test/1",
        .clock = fake_api_clock(w.api),
        .rng = w.rng,
    });
    kube_reflectors_add(w.reflectors, w.store, NULL);
    assert_int_equal(kube_reflectors_start(w.reflectors, &w.err), ERR_OK);
    return w;
}

static void world_stop(struct world *w)
{
    int64_t began_ms = clock_now_ms(clock_real());
    kube_reflectors_free(w->reflectors);
    assert_true(clock_now_ms(clock_real()) - began_ms < AT_ONCE_MS);
    kube_store_free(w->store);
    fake_api_stop(w->api);
    rng_free(w->rng);
}

#define START(steps) world_start((steps), ARRAY_LEN(steps))

static const char *contents(struct arena *a, struct kube_store *s)
{
    struct str_buf b = STR_BUF_INIT;
    struct kube_snapshot *snap = kube_store_snapshot(s);
    for (size_t i = 0; i < snap->n; i++) {
        str_appendf(&b, "%s@%s%s ", snap->objects[i]->key, snap->objects[i]->resource_version,
                    snap->objects[i]->unreadable != NULL ? "!" : "");
    }
    kube_snapshot_unref(snap);
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* The request without its timeoutSeconds, which are random. */
static const char *target(struct arena *a, struct world *w, int i)
{
    char *t = arena_strdup(a, fake_api_target(w->api, i));
    char *p = strstr(t, "timeoutSeconds=");
    if (p != NULL) {
        p += strlen("timeoutSeconds=");
        size_t digits = strspn(p, "0123456789");
        assert_int_equal(digits, 3);
        memmove(p + 1, p + digits, strlen(p + digits) + 1);
        *p = '#';
    }
    return str_replace(a, t, "GET /api/v1/services", "");
}

#define WATCH(rv) "?allowWatchBookmarks=true&resourceVersion=" rv "&timeoutSeconds=#&watch=true"

/* --- the usual way ---------------------------------------------------------------------------- */

static void kube_reflectors__list_then_watch__store_follows(void **state)
{
    const struct api_step steps[] = {
        {.way = API_END, .body = LIST("10", SVC("a", "1") "," SVC("b", "2"))},
        {.way = API_END,
         .body = EVENT("ADDED", SVC("c", "11")) EVENT("MODIFIED", SVC("a", "12"))
             EVENT("DELETED", SVC("b", "13"))
                 EVENT("BOOKMARK", "{'kind':'Service','metadata':{'resourceVersion':'20'}}")},
        {.way = API_OPEN, .body = EVENT("ADDED", SVC("d", "21"))},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 3);
    assert_int_equal(kube_reflectors_wait_synced(w.reflectors, CLOCK_NEVER, &w.err), ERR_OK);
    assert_string_equal(target(*state, &w, 0), "?limit=500&resourceVersion=0");
    assert_string_equal(target(*state, &w, 1), WATCH("10"));
    assert_string_equal(target(*state, &w, 2), WATCH("20"));
    assert_string_equal(fake_api_user_agent(w.api, 0), "test/1");
    while (kube_store_count(w.store) < 3) { /* the last event is on its way */
        fake_api_wait(w.api, 3);
    }
    assert_string_equal(contents(*state, w.store), "demo/a@12 demo/c@11 demo/d@21 ");
    world_stop(&w);
}

static void kube_reflectors__pages__one_list(void **state)
{
    const struct api_step steps[] = {
        {.body = PAGE("10", "C1", SVC("a", "1"))},
        {.body = PAGE("10", "C2", SVC("b", "2"))},
        {.body = LIST("10", SVC("c", "3"))},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 4);
    assert_string_equal(target(*state, &w, 1), "?continue=C1&limit=500");
    assert_string_equal(target(*state, &w, 2), "?continue=C2&limit=500");
    assert_string_equal(target(*state, &w, 3), WATCH("10"));
    assert_string_equal(contents(*state, w.store), "demo/a@1 demo/b@2 demo/c@3 ");
    world_stop(&w);
}

static void kube_reflectors__no_items__synced_and_empty(void **state)
{
    const struct api_step steps[] = {
        {.body = "{'kind':'ServiceList','metadata':{'resourceVersion':'7'},'items':null}"},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 2);
    assert_int_equal(kube_reflectors_wait_synced(w.reflectors, CLOCK_NEVER, &w.err), ERR_OK);
    assert_int_equal(kube_store_count(w.store), 0);
    world_stop(&w);
    (void)state;
}

/* --- lists that fail -------------------------------------------------------------------------- */

/* Each first answer is no list; the second is.  Nothing of the first may stay or be lost. */
static void kube_reflectors__bad_first_list__error_then_good_one(void **state)
{
    static const char with_nul[] = "{\"items\":[\0]}";
    char deep[200];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{'items':", 9);
    deep[sizeof deep - 1] = '\0';
    const struct {
        struct api_step step;
        const char *want; /* part of the error */
    } rows[] = {
        {{.body = "<html><body>login</body></html>"}, "want a JSON object, got '<'"},
        {{.body = ""}, "ended in the middle"},
        {{.body =
              "{'kind':'ServiceList','metadata':{'resourceVersion':'1'},'items':[" SVC("x", "1")},
         "ended in the middle, after 1 items"},
        {{.body = "{'kind':'ServiceList','items':[]}"}, "no metadata.resourceVersion"},
        {{.body =
              "{'kind':'PodList','metadata':{'resourceVersion':'1'},'items':[" SVC("x", "1") "]}"},
         "the answer is no ServiceList"},
        {{.body = "{'kind': 'PodList','metadata':{'resourceVersion':'1'},'items':[]}"},
         "the answer is no ServiceList but a PodList"},
        {{.body = "{'metadata':{'resourceVersion':'1'},'items':[],'kind':'PodList'}"},
         "the answer is no ServiceList but a PodList"},
        {{.body = STATUS("403", "Forbidden")}, "said so"},
        {{.body = "[]"}, "want a JSON object"},
        {{.body = deep}, "ended in the middle, after 0 items"},
        {{.body = with_nul, .body_len = sizeof with_nul - 1}, "want a value, got 0x00"},
        {{.way = API_CUT, .body = "{'kind':'ServiceList','items':["}, "was cut"},
        {{.way = API_DROP}, "closed the connection without an answer"},
        {{.status = 403, .body = STATUS("403", "Forbidden")}, "said so"},
        {{.status = 500, .body = "oops"}, "an error on the server (\"oops\")"},
        {{.status = 404, .body = "404 page not found\n"}, "could not find the requested resource"},
        {{.status = 429, .body = ""}, "too many requests"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct api_step steps[] = {
            rows[i].step,
            {.way = API_HANG},
            {.body = LIST("5", SVC("a", "1"))},
            {.way = API_OPEN},
        };
        struct world w = START(steps);
        fake_api_wait(w.api, 2); /* the second request is in progress: the first was judged */
        int64_t now_ms = clock_now_ms(fake_api_clock(w.api));
        assert_true(kube_reflectors_wait_synced(w.reflectors, now_ms, &w.err) != ERR_OK);
        if (strstr(w.err.message, rows[i].want) == NULL) {
            fail_msg("row %zu: \"%s\" is not in \"%s\"", i, rows[i].want, w.err.message);
        }
        assert_string_equal(target(*state, &w, 1), "?limit=500&resourceVersion=0");
        world_stop(&w);

        const struct api_step mended[] = {rows[i].step, steps[2], steps[3]};
        w = START(mended);
        fake_api_wait(w.api, 3);
        assert_string_equal(contents(*state, w.store), "demo/a@1 ");
        world_stop(&w);
    }
}

static void kube_reflectors__expired_lists__newest_at_once(void **state)
{
    const struct api_step steps[] = {
        {.body = LIST("10", SVC("a", "1"))},
        {.way = API_OPEN, .body = EVENT("ERROR", STATUS("410", "Expired"))},
        {.status = 410, .body = STATUS("410", "Expired")},
        {.body = LIST("30", SVC("b", "2"))},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 5);
    assert_string_equal(target(*state, &w, 2), "?resourceVersion=10");
    assert_string_equal(target(*state, &w, 3), "?limit=500");
    assert_string_equal(target(*state, &w, 4), WATCH("30"));
    assert_string_equal(contents(*state, w.store), "demo/b@2 ");
    world_stop(&w);
}

/* 504 with cause ResourceVersionTooLarge says Retry-After, but the newest is asked for at once. */
static void kube_reflectors__too_large_version__newest_at_once(void **state)
{
    const struct api_step steps[] = {
        {.body = LIST("10", SVC("a", "1"))},
        {.status = 410, .body = STATUS("410", "Gone")},
        {.status = 504, .header = "Retry-After: 1", .body = recorded_body(*state, "057-")},
        {.body = LIST("9", SVC("a", "1"))},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 5);
    assert_string_equal(target(*state, &w, 2), "?resourceVersion=10");
    assert_string_equal(target(*state, &w, 3), "?limit=500");
    assert_string_equal(target(*state, &w, 4), WATCH("9"));
    world_stop(&w);
}

static void kube_reflectors__retry_after__same_request_again(void **state)
{
    const struct api_step steps[] = {
        {.status = 429, .header = "Retry-After: 3", .body = ""},
        {.status = 503, .header = "Retry-After: 2", .body = ""},
        {.body = LIST("10", "")},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    fake_api_wait(w.api, 4);
    assert_string_equal(target(*state, &w, 2), "?limit=500&resourceVersion=0");
    assert_int_equal(clock_now_ms(fake_api_clock(w.api)) - began_ms, 5000);
    world_stop(&w);
}

/* One object that cannot be read neither stops the others nor takes away what is known of it. */
static void kube_reflectors__bad_object__known_but_unreadable(void **state)
{
    const struct api_step steps[] = {
        {.body = LIST("10", SVC("a", "1") "," SVC("b", "2"))},
        {.way = API_OPEN,
         .body =
             EVENT("MODIFIED", "{'metadata':{'namespace':'demo','name':'a','resourceVersion':'11'},"
                               "'spec':{'ports':5}}") EVENT("ADDED", SVC("c", "12"))
                 EVENT("ERROR", STATUS("410", "Gone"))},
        {.body = LIST(
             "30", "{'metadata':{'namespace':'demo','name':'a','resourceVersion':'11'},'spec':[]},"
                   "{'spec':{}},7,null," SVC("b", "2"))},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 4);
    assert_string_equal(target(*state, &w, 2), "?resourceVersion=12");
    assert_string_equal(contents(*state, w.store), "demo/a@11! demo/b@2 ");
    world_stop(&w);
}

/* --- watches that fail ------------------------------------------------------------------------ */

/* Events of a watch before it broke are kept; the next request depends on how it broke. */
static void kube_reflectors__broken_watch__resumed_or_listed(void **state)
{
    static const char nul_event[] = "{\"type\":\"ADDED\",\0}";
    const struct {
        struct api_step step;
        const char *next;
    } rows[] = {
        {{.way = API_CUT, .body = EVENT("ADDED", SVC("b", "11")) "{'type':'ADD"}, WATCH("11")},
        {{.way = API_END, .body = EVENT("ADDED", SVC("b", "11")) "{'type':'ADDED','obj"},
         WATCH("11")},
        {{.way = API_END, .body = EVENT("BOOKMARK", SVC("", "12"))}, WATCH("12")},
        {{.way = API_OPEN,
          .body = EVENT("ADDED", SVC("b", "11")) EVENT("ERROR", STATUS("429", "TooManyRequests"))},
         WATCH("11")},
        {{.way = API_OPEN,
          .body = EVENT("ADDED", SVC("b", "11")) EVENT("ERROR", STATUS("500", "InternalError"))},
         "?resourceVersion=11"},
        {{.way = API_OPEN, .body = EVENT("ADDED", SVC("b", "11")) EVENT("ERROR", "{}")},
         "?resourceVersion=11"},
        {{.way = API_OPEN, .body = EVENT("ADDED", SVC("b", "11")) "<html>"}, "?resourceVersion=11"},
        {{.way = API_OPEN, .body = EVENT("ADDED", SVC("b", "11")) "{'type':'ADDED'}"},
         "?resourceVersion=11"},
        {{.way = API_OPEN,
          .body = EVENT("ADDED", SVC("b", "11")) EVENT("ADDED", "{'metadata':{'name':'\\uZZ'}}")},
         "?resourceVersion=11"},
        {{.way = API_OPEN, .body = nul_event, .body_len = sizeof nul_event - 1},
         "?resourceVersion=10"},
        {{.way = API_END, .body = EVENT("WHAT", SVC("x", "13")) EVENT("ADDED", SVC("b", "14"))},
         WATCH("14")},
        {{.way = API_END,
          .body = EVENT("ADDED", "{'kind':'Pod','metadata':{'resourceVersion':'13'}}")
              EVENT("ADDED", SVC("b", "14"))},
         WATCH("14")},
        {{.way = API_END, .body = ""}, "?resourceVersion=10"}, /* very short */
        {{.way = API_DROP}, WATCH("10")},
        {{.status = 429, .body = ""}, WATCH("10")},
        {{.status = 410, .body = STATUS("410", "Expired")}, "?resourceVersion=10"},
        {{.status = 403, .body = STATUS("403", "Forbidden")}, "?resourceVersion=10"},
        {{.status = 500, .body = recorded_body(*state, "140-")}, "?resourceVersion=10"},
        {{.status = 200, .body = "<html>sign in</html>"}, "?resourceVersion=10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct api_step steps[] = {
            {.body = LIST("10", SVC("a", "1"))},
            rows[i].step,
            {.way = API_HANG},
        };
        struct world w = START(steps);
        fake_api_wait(w.api, 3);
        const char *next = target(*state, &w, 2);
        if (!str_eq(next, rows[i].next)) {
            fail_msg("row %zu: %s != %s", i, next, rows[i].next);
        }
        struct kube_object *a = kube_store_get(w.store, "demo/a");
        struct kube_object *b = kube_store_get(w.store, "demo/b");
        bool brought = rows[i].step.body != NULL && strstr(rows[i].step.body, "'b'") != NULL;
        assert_non_null(a);
        assert_int_equal(b != NULL, brought);
        kube_object_unref(a);
        kube_object_unref(b);
        world_stop(&w);
    }
}

static void kube_reflectors__undecodable_deletion__known_object_deleted(void **state)
{
    const struct api_step steps[] = {
        {.body = LIST("10", SVC("a", "1") "," SVC("b", "1"))},
        {.way = API_END,
         .body =
             EVENT("DELETED", "{'metadata':{'namespace':'demo','name':'a','resourceVersion':'11'},"
                              "'spec':5}")},
        {.way = API_OPEN},
    };
    struct world w = START(steps);
    fake_api_wait(w.api, 3);
    assert_string_equal(contents(*state, w.store), "demo/b@1 ");
    world_stop(&w);
}

static void reflector_on_event__endless_new_objects__watch_ends(void **state)
{
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct kube_reflectors *all = kube_reflectors_new(
        &(struct kube_reflectors_args){.observe = kube_ignore_sent, .user_agent = "test/1"});
    kube_reflectors_add(all, store, NULL);
    struct reflector *x = &all->items[0];
    char text[256];
    unsigned n = 0;
    bool go_on = true;
    while (go_on && n < 2 * LIST_ITEMS_MAX) {
        int len = snprintf(text, sizeof text,
                           "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"demo\","
                           "\"name\":\"s%07u\",\"uid\":\"u\",\"resourceVersion\":\"%u\"}}}",
                           n, n + 1);
        const struct cutter_item item = {.text = text, .n = (size_t)len};
        go_on = reflector_on_event(x, &item);
        n += go_on;
    }
    assert_int_equal(n, LIST_ITEMS_MAX);
    assert_int_equal(kube_store_count(store), LIST_ITEMS_MAX);
    assert_string_equal(x->stream_err.message, "the watch brings more than 100000 objects");
    kube_reflectors_free(all);
    kube_store_free(store);
    (void)state;
}

/* --- trouble and time ------------------------------------------------------------------------- */

static void kube_reflectors_wait_synced__nobody_listens__says_where_to_look(void **state)
{
    struct fake_api *api = fake_api_start(NULL, 0);
    struct kube_config *config = fake_api_config(api);
    struct raw_server *closed = raw_server_start_bytes("", 0);
    char server[64];
    (void)snprintf(server, sizeof server, "http://127.0.0.1:%d", raw_server_port(closed));
    raw_server_stop(closed); /* a port without a listener */
    config->server = server;
    struct kube_store *store = kube_store_new(KUBE_NODE);
    struct kube_reflectors *r =
        kube_reflectors_new(&(struct kube_reflectors_args){.observe = kube_ignore_sent,
                                                           .config = config,
                                                           .user_agent = "test/1",
                                                           .clock = fake_api_clock(api)});
    struct err err = ERR_INIT;
    kube_reflectors_add(r, store, NULL);
    assert_int_equal(kube_reflectors_start(r, &err), ERR_OK);
    int rc;
    do { /* until the first attempt has failed */
        rc = kube_reflectors_wait_synced(r, clock_now_ms(fake_api_clock(api)), &err);
    } while (strstr(err.message, "not sent its lists") != NULL);
    assert_int_equal(rc, ERR_TRANSIENT);
    const char *want = arena_printf(*state, "cannot reach the API server %s: ", server);
    assert_true(str_has_prefix(err.message, want));
    assert_non_null(strstr(err.message, "connection refused"));
    assert_non_null(strstr(err.message, "check the server address in kc, context \"prod\""));
    kube_reflectors_free(r);
    kube_store_free(store);
    fake_api_stop(api);
}

/* A refusal is an answer: the silence before it is over, and that is said once. */
static void kube_reflectors__refusal_after_silence__can_be_reached_again(void **state)
{
    const struct api_step steps[] = {
        {.way = API_DROP},
        {.status = 403, .body = "{'kind':'Status','reason':'Forbidden','message':'no','code':403}"},
        {.body = LIST("10", SVC("a", "1"))},
        {.way = API_OPEN},
    };
    int fd = memfd_create("log", 0);
    assert_true(fd >= 0);
    log_setup(&(struct log_config){.fd = fd});
    struct world w = START(steps);
    fake_api_wait(w.api, 4);
    world_stop(&w);
    log_setup(&(struct log_config){.fd = 2});
    char text[8192] = "";
    assert_true(pread(fd, text, sizeof text - 1, 0) > 0);
    const char *again = strstr(text, "can be reached again");
    const char *refused = strstr(text, "failed to list *v1.Service: no");
    assert_non_null(again);
    assert_non_null(refused);
    assert_true(again < refused);
    assert_null(strstr(again + 1, "can be reached again"));
    close(fd);
    (void)state;
}

static void kube_reflectors__cancelled_or_freed__ends_at_once(void **state)
{
    struct cancel *cancel = cancel_new(NULL);
    struct fake_api *api = fake_api_start(NULL, 0); /* every request hangs */
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct kube_reflectors *r =
        kube_reflectors_new(&(struct kube_reflectors_args){.observe = kube_ignore_sent,
                                                           .config = fake_api_config(api),
                                                           .user_agent = "test/1",
                                                           .cancel = cancel});
    struct err err = ERR_INIT;
    kube_reflectors_add(r, store, NULL);
    assert_int_equal(kube_reflectors_start(r, &err), ERR_OK);
    fake_api_wait(api, 1);
    cancel_fire(cancel);
    assert_int_equal(kube_reflectors_wait_synced(r, CLOCK_NEVER, &err), ERR_CANCELLED);
    int64_t began_ms = clock_now_ms(clock_real());
    kube_reflectors_free(r);
    assert_true(clock_now_ms(clock_real()) - began_ms < AT_ONCE_MS);
    kube_store_free(store);
    fake_api_stop(api);
    cancel_free(cancel);
    (void)state;
}

/* The time limits of a list and a watch, checked in the request: waiting for them would take
 * minutes. */
static void reflector_step__requests__bounded_in_time(void **state)
{
    static const char head[] =
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"5\"}}";
    const struct kube_config config = {.server = "http://127.0.0.1:1", .context = "", .source = ""};
    struct kube_reflectors all = {
        .args = {.config = &config, .clock = clock_real(), .rng = rng_real()},
        .http = http_new(&(struct http_config){.observe = http_ignore_sent}),
    };
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct reflector x;
    mutex_init(&all.lock);
    cond_init(&all.changed);
    reflector_init(&x, &all, store, "a=b");
    assert_int_equal(reflector_step(&x.job, NULL), HTTP_SEND);
    assert_string_equal(x.job.req.url, "http://127.0.0.1:1/api/v1/services"
                                       "?labelSelector=a%3Db&limit=500&resourceVersion=0");
    assert_int_equal(x.job.req.idle_ms, 60000);
    assert_int_equal(x.job.req.total_ms, 600000);
    assert_true(x.job.req.gzip);
    assert_true(reflector_on_body(&x.job, 200, head, sizeof head - 1));
    assert_int_equal(reflector_step(&x.job, &(struct http_response){.status = 200, .body = ""}),
                     HTTP_SEND);
    assert_int_equal(x.ask.ask, REFLECTOR_WATCH);
    assert_int_equal(x.job.req.idle_ms, 180000); /* bookmarks come every minute */
    assert_int_equal(x.job.req.total_ms, -1);
    reflector_done(&x);
    kube_store_free(store);
    http_free(all.http);
    (void)state;
}

/* Never started: nothing to end. */
static void kube_reflectors_free__never_started__fine(void **state)
{
    const struct kube_config config = {.server = "http://127.0.0.1:1", .context = "", .source = ""};
    struct kube_store *store = kube_store_new(KUBE_SLICE);
    struct kube_reflectors *r = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent, .config = &config, .user_agent = "test/1"});
    kube_reflectors_add(r, store, "a=b");
    kube_reflectors_free(r);
    kube_reflectors_free(NULL);
    kube_store_free(store);
    (void)state;
}

static void serve_endless_item(int fd, int nth, void *arg)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
                               "{\"kind\":\"ServiceList\",\"items\":[{\"metadata\":{\"x\":\"";
    char request[8192];
    char junk[65536];
    (void)nth, (void)arg;
    memset(junk, 'j', sizeof junk);
    if (raw_read_head(fd, request, sizeof request) && raw_send(fd, head, sizeof head - 1)) {
        while (raw_send(fd, junk, sizeof junk)) {
        }
    }
}

static void kube_reflectors__item_without_end__cut_off_at_the_cap(void **state)
{
    struct raw_server *server = raw_server_start(serve_endless_item, NULL);
    const struct kube_config config = {
        .server = raw_server_url(server), .context = "", .source = "kc", .proxy_url = ""};
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct kube_reflectors *r = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent, .config = &config, .user_agent = "test/1"});
    struct err err = ERR_INIT;
    kube_reflectors_add(r, store, NULL);
    assert_int_equal(kube_reflectors_start(r, &err), ERR_OK);
    do {
        (void)!kube_reflectors_wait_synced(r, clock_now_ms(clock_real()) + 20, &err);
    } while (strstr(err.message, "not sent its lists") != NULL);
    assert_non_null(strstr(err.message, "one item is larger than 67108864"));
    kube_reflectors_free(r);
    kube_store_free(store);
    raw_server_stop(server);
    (void)state;
}

static int held_token(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                      struct err *err)
{
    atomic_int *stage = arg; /* 0: held, 1: let go */
    (void)err;
    while (atomic_load(stage) == 0 && !cancel_fired(cancel)) {
        (void)poll(NULL, 0, 1);
    }
    ret->token = arena_strdup(a, "issued");
    return ERR_OK;
}

static bool is_synced(void *arg)
{
    return kube_store_synced(arg);
}

/* A plugin that takes its time: nothing is sent without its token, and the thread continues. */
static void reflector__credentials_in_the_making__waits_for_them(void **state)
{
    static const struct api_step steps[] = {{.body = LIST("5", "")}, {.way = API_OPEN}};
    atomic_int stage = 0;
    struct world w = {.api = fake_api_start(steps, ARRAY_LEN(steps)), .rng = rng_seeded_new(1)};
    struct kube_config *config = fake_api_config(w.api);
    config->credentials_allowed = true;
    config->issuer = credentials_source_new(&(struct credentials_source_args){
        .fetch = held_token, .arg = &stage, .name = "test", .clock = fake_api_clock(w.api)});
    w.store = kube_store_new(KUBE_SERVICE);
    w.reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent,
        .config = config,
        .user_agent = "test/1",
        .clock = fake_api_clock(w.api),
        .rng = w.rng,
    });
    kube_reflectors_add(w.reflectors, w.store, NULL);
    assert_int_equal(kube_reflectors_start(w.reflectors, &w.err), ERR_OK);
    for (int i = 0; i < 5; i++) { /* it looks, and looks again */
        while (clock_fake_next_ms(fake_api_clock(w.api)) == CLOCK_NEVER) {
            (void)poll(NULL, 0, 1);
        }
        clock_fake_advance(fake_api_clock(w.api), 100);
    }
    assert_int_equal(fake_api_count(w.api), 0);
    atomic_store(&stage, 1);
    fake_api_until(w.api, is_synced, w.store);
    assert_string_equal(fake_api_authorization(w.api, 0), "Bearer issued");
    kube_reflectors_free(w.reflectors);
    kube_store_free(w.store);
    credentials_source_free(config->issuer);
    fake_api_stop(w.api);
    rng_free(w.rng);
    (void)state;
}

UNIT_MAIN(reflector)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_reflectors__list_then_watch__store_follows),
        KUBE_TEST(kube_reflectors__pages__one_list),
        KUBE_TEST(kube_reflectors__no_items__synced_and_empty),
        KUBE_TEST(kube_reflectors__bad_first_list__error_then_good_one),
        KUBE_TEST(kube_reflectors__expired_lists__newest_at_once),
        KUBE_TEST(kube_reflectors__too_large_version__newest_at_once),
        KUBE_TEST(kube_reflectors__retry_after__same_request_again),
        KUBE_TEST(kube_reflectors__bad_object__known_but_unreadable),
        KUBE_TEST(kube_reflectors__broken_watch__resumed_or_listed),
        KUBE_TEST(kube_reflectors__undecodable_deletion__known_object_deleted),
        KUBE_TEST(kube_reflectors_wait_synced__nobody_listens__says_where_to_look),
        KUBE_TEST(reflector_on_event__endless_new_objects__watch_ends),
        KUBE_TEST(kube_reflectors__refusal_after_silence__can_be_reached_again),
        KUBE_TEST(kube_reflectors__cancelled_or_freed__ends_at_once),
        KUBE_TEST(reflector_step__requests__bounded_in_time),
        KUBE_TEST(kube_reflectors_free__never_started__fine),
        KUBE_TEST(kube_reflectors__item_without_end__cut_off_at_the_cap),
        KUBE_TEST(reflector__credentials_in_the_making__waits_for_them),
    };
    if (http_global_init(NULL) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
