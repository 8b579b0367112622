/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c: requests, repetitions, meaning of answers; vectors 189–195
 * of controller.md §6.12. */
#include "controller/kube/client/client.h"
#include "tests/unit/kube/kube_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/kube/client/client_rules.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

struct world {
    struct arena *arena;
    struct fake_api *api;
    struct kube_client *client;
    struct cancel *cancel;
    struct kube_response resp;
    struct err err;
    int observed;  /* calls of observe */
    char last[64]; /* "GET services 200" */
    struct kube_sent sent;
};

static void observe(void *arg, const struct kube_sent *sent)
{
    struct world *w = arg;
    assert_true(sent->took_ms >= 0);
    w->observed++;
    w->sent = *sent;
    (void)snprintf(w->last, sizeof w->last, "%s %s %d", sent->method, sent->resource, sent->status);
}

static void world_start(struct world *w, const struct api_step *steps, size_t n)
{
    w->arena = arena_new();
    w->api = fake_api_start(steps, n);
    w->cancel = cancel_new(NULL);
    w->client = kube_client_new(&(struct kube_client_args){
        .config = fake_api_config(w->api),
        .user_agent = "cloud-controller-manager/v1.36.2 (linux/amd64) kubernetes/abcdef0/x",
        .qps = -1,
        .clock = fake_api_clock(w->api),
        .cancel = w->cancel,
        .observe = observe,
        .observe_arg = w,
    });
}

static void world_stop(struct world *w)
{
    kube_client_free(w->client);
    fake_api_stop(w->api);
    cancel_free(w->cancel);
    arena_free(w->arena);
}

/* A call in a thread of its own, while the test moves the fake clock on. */
struct call {
    struct world *w;
    struct kube_request req;
    int rc;
    _Atomic bool done;
};

static void *call_main(void *arg)
{
    struct call *c = arg;
    struct world *w = c->w;
    c->rc = kube_client_do(w->client, w->arena, &c->req, NULL, &w->resp, &w->err);
    c->done = true;
    return NULL;
}

static bool is_done(void *arg)
{
    return ((struct call *)arg)->done;
}

static int send(struct world *w, const struct kube_request *req)
{
    struct call c = {.w = w, .req = *req};
    pthread_t thread;
    err_clear(&w->err);
    w->resp = (struct kube_response){0};
    assert_int_equal(pthread_create(&thread, NULL, call_main, &c), 0);
    fake_api_until(w->api, is_done, &c);
    pthread_join(thread, NULL);
    return c.rc;
}

static int get(struct world *w, const char *path)
{
    return send(w, &(struct kube_request){.method = "GET", .path = path});
}

#define STEPS(w, ...)                                                                              \
    const struct api_step steps[] = {__VA_ARGS__};                                                 \
    world_start((w), steps, ARRAY_LEN(steps))

/* --- what is sent ----------------------------------------------------------------------------- */

static void kube_client_do__patch__all_parts_arrive(void **state)
{
    struct world w = {0};
    STEPS(&w, {.body = "{'kind':'Service'}"});
    const struct kube_request req = {
        .method = "PATCH",
        .path = "/api/v1/namespaces/demo/services/web/status",
        .query = "fieldManager=x",
        .content_type = "application/strategic-merge-patch+json",
        .body = "{\"a\":1}",
        .timeout_ms = 5000,
    };
    assert_int_equal(send(&w, &req), ERR_OK);
    assert_int_equal(w.resp.status, 200);
    assert_string_equal(w.resp.body, "{\"kind\":\"Service\"}");
    assert_string_equal(fake_api_target(w.api, 0),
                        "PATCH /api/v1/namespaces/demo/services/web/status"
                        "?fieldManager=x&timeout=5s");
    assert_string_equal(fake_api_body(w.api, 0), "{\"a\":1}");
    assert_string_equal(fake_api_content_type(w.api, 0), "application/strategic-merge-patch+json");
    assert_string_equal(fake_api_user_agent(w.api, 0),
                        "cloud-controller-manager/v1.36.2 (linux/amd64) kubernetes/abcdef0/x");
    assert_string_equal(fake_api_authorization(w.api, 0), "");
    assert_string_equal(w.last, "PATCH services/status 200");
    assert_false(w.sent.again);
    assert_int_equal(w.sent.sent_bytes, strlen("{\"a\":1}"));
    assert_int_equal(w.sent.received_bytes, strlen("{\"kind\":\"Service\"}"));
    world_stop(&w);
    (void)state;
}

static bool say_no(void *arg)
{
    ++*(int *)arg;
    return false;
}

static void kube_client_do__may_not_mutate__only_reads_are_sent(void **state)
{
    struct world w = {0};
    int asked = 0;
    STEPS(&w, {.body = "{}"});
    struct kube_client *c = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w.api),
        .user_agent = "x",
        .qps = -1,
        .may_mutate = say_no,
        .may_mutate_arg = &asked,
    });
    struct kube_client *mine = w.client;
    w.client = c;
    const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        const struct kube_request req = {.method = methods[i], .path = "/api/v1/x", .body = "{}"};
        assert_int_equal(send(&w, &req), ERR_CANCELLED);
    }
    assert_int_equal(asked, 4);
    assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
    assert_int_equal(fake_api_count(w.api), 1);
    w.client = mine;
    kube_client_free(c);
    world_stop(&w);
    (void)state;
}

/* --- repetitions ------------------------------------------------------------------------------ */

static void kube_client_do__v189_retry_after__sent_again_with_its_body(void **state)
{
    struct world w = {0};
    STEPS(&w, {.status = 429, .header = "Retry-After: 0"},
          {.status = 500, .header = "Retry-After: 0"}, {.status = 501, .header = "Retry-After: 0"},
          {.status = 504, .header = "Retry-After: 0"}, {.status = 200, .body = "{}"});
    const struct kube_request req = {.method = "POST", .path = "/api/v1/x", .body = "{\"b\":2}"};
    assert_int_equal(send(&w, &req), ERR_OK);
    assert_int_equal(fake_api_count(w.api), 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(fake_api_body(w.api, i), "{\"b\":2}");
    }
    assert_int_equal(w.observed, 5);
    assert_true(w.sent.again);
    assert_int_equal(w.sent.before, 504);
    world_stop(&w);
    (void)state;
}

static void kube_client_do__v190_eleven_failures__given_up(void **state)
{
    struct world w = {0};
    struct api_step steps[12];
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        steps[i] = (struct api_step){.status = 503, .header = "Retry-After: 1"};
    }
    world_start(&w, steps, ARRAY_LEN(steps));
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    assert_int_equal(get(&w, "/api/v1/x"), ERR_TRANSIENT);
    assert_int_equal(fake_api_count(w.api), 11);
    assert_int_equal(clock_now_ms(fake_api_clock(w.api)) - began_ms, 10000);
    world_stop(&w);
    (void)state;
}

/* 191 and its neighbours: who is not asked twice. */
static void kube_client_do__v191_no_usable_retry_after__one_request(void **state)
{
    const struct {
        struct api_step step;
        int want;
    } rows[] = {
        {{.status = 500}, ERR_TRANSIENT},
        {{.status = 429}, ERR_THROTTLED},
        {{.status = 429, .header = "Retry-After: Fri, 02 Jan 2026 03:04:05 GMT"}, ERR_THROTTLED},
        {{.status = 503, .header = "Retry-After: 31"},
         ERR_TRANSIENT}, /* longer than a worker waits */
        {{.status = 404, .header = "Retry-After: 0"}, ERR_NOT_FOUND},
        {{.status = 409, .header = "Retry-After: 0"}, ERR_CONFLICT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w = {0};
        const struct api_step steps[] = {rows[i].step, {.status = 200}};
        world_start(&w, steps, 2);
        assert_int_equal(get(&w, "/api/v1/x"), rows[i].want);
        assert_int_equal(fake_api_count(w.api), 1);
        world_stop(&w);
    }
    (void)state;
}

static void kube_client_do__long_retry_after__passed_on(void **state)
{
    struct world w = {0};
    STEPS(&w, {.status = 429, .header = "Retry-After: 40"});
    assert_int_equal(get(&w, "/api/v1/x"), ERR_THROTTLED);
    assert_int_equal(w.err.retry_after_ms, 40000);
    world_stop(&w);
    (void)state;
}

static void kube_client_do__v192_193_broken_connection__only_reads_again(void **state)
{
    const struct {
        const char *method;
        int requests;
    } rows[] = {{"GET", 2}, {"POST", 1}, {"PATCH", 1}, {"DELETE", 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w = {0};
        STEPS(&w, {.way = API_DROP}, {.body = "{}"});
        int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
        const struct kube_request req = {.method = rows[i].method, .path = "/api/v1/x"};
        int rc = send(&w, &req);
        assert_int_equal(rc, rows[i].requests == 2 ? ERR_OK : ERR_TRANSIENT);
        assert_int_equal(fake_api_count(w.api), rows[i].requests);
        assert_int_equal(clock_now_ms(fake_api_clock(w.api)) - began_ms,
                         rows[i].requests == 2 ? 1000 : 0);
        world_stop(&w);
    }
    (void)state;
}

static void kube_client_do__no_retry__one_request(void **state)
{
    struct world w = {0};
    STEPS(&w, {.status = 503, .header = "Retry-After: 0"}, {.body = "{}"});
    const struct kube_request req = {.method = "GET", .path = "/x", .no_retry = true};
    assert_int_equal(send(&w, &req), ERR_TRANSIENT);
    assert_int_equal(fake_api_count(w.api), 1);
    world_stop(&w);
    (void)state;
}

/* A 401 makes the token file be read at once; a new token gets one more try, an old one none. */
static void kube_client_do__401__token_file_read_again(void **state)
{
    struct world w = {0};
    STEPS(&w, {.status = 401}, {.body = "{}"}, {.status = 401}, {.status = 401});
    char path[] = "/tmp/trimtab-token-XXXXXX";
    assert_true(close(mkstemp(path)) == 0);
    struct kube_config *config = fake_api_config(w.api);
    config->credentials_allowed = true; /* as if it were TLS */
    config->token_file = file_watch_new(path, 4096, 50000, fake_api_clock(w.api));
    assert_int_equal(file_write_atomic(path, "new", 3, 0600, NULL), ERR_OK);
    assert_int_equal(get(&w, "/api/v1/x"), ERR_AUTH); /* the same token: no second try */
    assert_string_equal(fake_api_authorization(w.api, 0), "Bearer new");
    assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
    assert_int_equal(file_write_atomic(path, "newer", 5, 0600, NULL), ERR_OK);
    assert_int_equal(get(&w, "/api/v1/x"), ERR_AUTH);
    assert_int_equal(fake_api_count(w.api), 4);
    assert_string_equal(fake_api_authorization(w.api, 2), "Bearer new");
    assert_string_equal(fake_api_authorization(w.api, 3), "Bearer newer");
    file_watch_free(config->token_file);
    config->token_file = NULL;
    (void)unlink(path);
    world_stop(&w);
    (void)state;
}

static void kube_client_do__rate_limit__delays_by_the_clock(void **state)
{
    struct world w = {0};
    STEPS(&w, {.body = "{}"}, {.body = "{}"}, {.body = "{}"}, {.body = "{}"});
    struct kube_client *c = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w.api),
        .user_agent = "x",
        .qps = 2,
        .burst = 2,
        .clock = fake_api_clock(w.api),
    });
    struct kube_client *mine = w.client;
    w.client = c;
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    const int64_t want_ms[] = {0, 0, 500, 1000};
    for (size_t i = 0; i < ARRAY_LEN(want_ms); i++) {
        assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
        assert_int_equal(clock_now_ms(fake_api_clock(w.api)) - began_ms, want_ms[i]);
    }
    w.client = mine;
    kube_client_free(c);
    world_stop(&w);
    (void)state;
}

static void kube_client_do__cancelled_while_hanging__ends(void **state)
{
    struct world w = {0};
    STEPS(&w, {.way = API_HANG});
    struct call c = {.w = &w, .req = {.method = "GET", .path = "/api/v1/x"}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_main, &c), 0);
    fake_api_wait(w.api, 1);
    cancel_fire(w.cancel);
    pthread_join(thread, NULL);
    assert_int_equal(c.rc, ERR_CANCELLED); /* by then: no limit of its own had passed */
    world_stop(&w);
    (void)state;
}

/* --- what answers mean ------------------------------------------------------------------------ */

static void kube_status_error__recorded_refusals__codes_and_texts(void **state)
{
    const struct {
        const char *name;
        const char *method;
        int code;
        const char *reason;
        const char *text; /* part of the message */
    } rows[] = {
        {"012-", "GET", ERR_NOT_FOUND, "NotFound", "could not find the requested resource"},
        {"017-", "POST", ERR_EXISTS, "AlreadyExists", "already exists"},
        {"029-", "POST", ERR_INVALID, "Invalid", "LoadBalancerSourceRanges"},
        {"042-", "POST", ERR_INVALID, "BadRequest", ""},
        {"044-", "POST", ERR_TRANSIENT, "UnsupportedMediaType", ""},
        {"045-", "GET", ERR_TRANSIENT, "NotAcceptable", ""},
        {"048-", "GET", ERR_NOT_FOUND, "NotFound", "not found"},
        {"053-", "GET", ERR_INVALID, "BadRequest", "continue"},
        {"057-", "GET", ERR_TRANSIENT, "ResourceVersionTooLarge", "Too large resource version"},
        {"079-", "PATCH", ERR_CONFLICT, "Conflict", "the object has been modified"},
        {"080-", "PATCH", ERR_INVALID, "Invalid", ""},
        {"093-", "PATCH", ERR_INVALID, "Invalid", "finalizers"},
        {"097-", "DELETE", ERR_CONFLICT, "Conflict", ""},
        {"111-", "PUT", ERR_CONFLICT, "Conflict", ""},
        {"123-", "PATCH", ERR_NOT_FOUND, "NotFound", ""},
        {"126-", "GET", ERR_FORBIDDEN, "Forbidden", "system:anonymous"},
        {"128-", "GET", ERR_AUTH, "Unauthorized", ""},
        {"129-", "GET", ERR_FORBIDDEN, "Forbidden", "cannot list resource"},
        {"140-", "GET", ERR_TRANSIENT, "InternalError", ""},
        {"149-", "GET", ERR_TRANSIENT, "Expired", "too old"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const char *body = recorded_body(*state, rows[i].name);
        int status = recorded_status(*state, rows[i].name);
        int code = kube_status_error(status, body, strlen(body), rows[i].method, &err);
        if (code != rows[i].code || !str_eq(err.reason, rows[i].reason) ||
            strstr(err.message, rows[i].text) == NULL) {
            fail_msg("%s: %s, %s, %s", rows[i].name, err_code_name(code), err.reason, err.message);
        }
        assert_int_equal(err.http_status, status);
        assert_int_equal(err.code, code);
    }
}

static void kube_status_error__no_status__by_number(void **state)
{
    const struct {
        int status;
        const char *method;
        const char *body;
        int code;
        const char *text;
    } rows[] = {
        {400, "GET", "no", ERR_INVALID, "the server rejected our request for an unknown reason"},
        {401, "GET", "", ERR_AUTH, "the server has asked for the client to provide credentials"},
        {403, "GET", "no entry", ERR_FORBIDDEN, "the server refused the request: no entry"},
        {409, "POST", "", ERR_EXISTS, "the server reported a conflict"},
        {409, "PUT", "", ERR_CONFLICT, "the server reported a conflict"},
        {418, "GET", "", ERR_TRANSIENT,
         "the server responded with the status code 418 but did not return more information"},
        {429, "GET", "", ERR_THROTTLED,
         "the server has received too many requests and has asked us to try again later"},
        {500, "GET", "oh\nno", ERR_TRANSIENT,
         "an error on the server (\"oh no\") has prevented the request from succeeding"},
        {502, "GET", "{not json", ERR_TRANSIENT,
         "an error on the server (\"{not json\") has prevented the request from succeeding"},
        {503, "GET", "", ERR_TRANSIENT, "the server is currently unable to handle the request"},
        {504, "GET", "", ERR_TRANSIENT,
         "the server was unable to return a response in the time allotted, but may still be "
         "processing the "
         "request"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(kube_status_error(rows[i].status, rows[i].body, strlen(rows[i].body),
                                           rows[i].method, &err),
                         rows[i].code);
        assert_string_equal(err.message, rows[i].text);
        assert_int_equal(err.http_status, rows[i].status);
    }
    (void)state;
}

static void kube_error__expired_and_too_large__told_apart(void **state)
{
    const struct {
        int status;
        const char *body;
        bool expired;
        bool too_large;
    } rows[] = {
        {410, "{'kind':'Status','reason':'Expired'}", true, false},
        {410, "{'kind':'Status','reason':'Gone'}", true, false},
        {410, "", true, false},
        {200, "{'kind':'Status','reason':'Expired','code':410}", true, false},
        {410, "{'kind':'Status','reason':'NotFound'}", false, false},
        {504,
         "{'kind':'Status','reason':'Timeout','details':{'causes':[{'reason':"
         "'ResourceVersionTooLarge'}]}}",
         false, true},
        {504, "{'kind':'Status','reason':'Timeout','message':'Too large resource version: 9'}",
         false, true},
        {500, "{'kind':'Status','reason':'InternalError','message':'Too large resource version'}",
         false, true},
        {504, "{'kind':'Status','reason':'Timeout','message':'slow'}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const char *body = quoted(*state, rows[i].body);
        (void)kube_status_error(rows[i].status, body, strlen(body), "GET", &err);
        assert_int_equal(kube_error_is_expired(&err), rows[i].expired);
        assert_int_equal(kube_error_is_too_large_rv(&err), rows[i].too_large);
    }
}

static void kube_client_do__v194_failure_in_a_200__is_an_error(void **state)
{
    struct world w = {0};
    STEPS(&w,
          {.body =
               "{'kind':'Status','status':'Failure','reason':'Conflict','message':'m','code':409}"},
          {.body = "{'kind':'Status','status':'Success'}"},
          {.body = "{'kind':'Event','message':'Failure'}"});
    assert_int_equal(get(&w, "/api/v1/x"), ERR_CONFLICT);
    assert_string_equal(w.err.message, "m");
    assert_int_equal(w.err.http_status, 409);
    assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
    assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
    world_stop(&w);
    (void)state;
}

/* --- names ------------------------------------------------------------------------------------ */

static void kube_path__v195_names__kept_inside_their_segment(void **state)
{
    const struct {
        const char *version, *ns, *resource, *name, *sub;
        const char *want; /* NULL: refused */
    } rows[] = {
        {"v1", "demo", "services", "web", "status", "/api/v1/namespaces/demo/services/web/status"},
        {"v1", NULL, "nodes", NULL, NULL, "/api/v1/nodes"},
        {"coordination.k8s.io/v1", "kube-system", "leases", "x", NULL,
         "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"},
        {"v1", "demo", "services", "a b", NULL, "/api/v1/namespaces/demo/services/a%20b"},
        {"v1", "demo", "services", ".", NULL, NULL},
        {"v1", "demo", "services", "..", NULL, NULL},
        {"v1", "demo", "services", "a/b", NULL, NULL},
        {"v1", "demo", "services", "a%b", NULL, NULL},
        {"v1", "demo", "services", "a?watch=1", NULL, NULL},
        {"v1", "demo", "services", "a#b", NULL, NULL},
        {"v1", "demo", "services", "a\nb", NULL, NULL},
        {"v1/../..", "demo", "services", "a", NULL, NULL},
        {"v1", "..", "services", "a", NULL, NULL},
        {"v1", "demo", "services", "", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *path = NULL;
        struct err err = ERR_INIT;
        int rc = kube_path(*state, rows[i].version, rows[i].ns, rows[i].resource, rows[i].name,
                           rows[i].sub, &path, &err);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_INVALID : ERR_OK);
        if (rows[i].want != NULL) {
            assert_string_equal(path, rows[i].want);
        }
    }
}

static void client_is_other_object__refusals__by_uid_only(void **state)
{
    static const struct {
        int status;
        const char *message;
        bool other;
    } rows[] = {
        {422, "Service \"web\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable",
         true},
        {409, "Precondition failed: UID in precondition: x, UID in object meta: y", true},
        {422, "Service \"web\" is invalid: spec.ports: Required value", false},
        {409, "the object has been modified", false},
        {500, "metadata.uid", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_INVALID, "%s", rows[i].message);
        err.http_status = rows[i].status;
        assert_int_equal(client_is_other_object(&err), rows[i].other);
    }
}

static void client_resource__paths__resource_and_subresource(void **state)
{
    const char *const rows[][2] = {
        {"/api/v1/services", "services"},
        {"/api/v1/namespaces/demo/services", "services"},
        {"/api/v1/namespaces/demo/services/web", "services"},
        {"/api/v1/namespaces/demo/services/web/status", "services/status"},
        {"/api/v1/nodes/n/status", "nodes/status"},
        {"/api/v1/namespaces", "namespaces"},
        {"/api/v1/namespaces/demo", "namespaces"},
        {"/api/v1/namespaces/demo/finalize", "namespaces/finalize"},
        {"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x", "leases"},
        {"/apis/discovery.k8s.io/v1/endpointslices", "endpointslices"},
        {"/healthz", "/healthz"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char out[128];
        assert_string_equal(client_resource(rows[i][0], out, sizeof out), rows[i][1]);
    }
    (void)state;
}

/* --- warnings --------------------------------------------------------------------------------- */

static size_t count_in(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++) {
        n++;
    }
    return n;
}

static void kube_client_do__warning_headers__logged_once_per_text(void **state)
{
    struct world w = {0};
    STEPS(&w, {.header = "Warning: 299 - \"spec.x is old\""},
          {.header = "Warning: 299 - \"spec.x is old\""},
          {.header = "Warning: 299 - \"spec.y is old\""});
    int fd = memfd_create("log", 0);
    assert_true(fd >= 0);
    log_setup(&(struct log_config){.fd = fd});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get(&w, "/api/v1/x"), ERR_OK);
    }
    log_setup(&(struct log_config){.fd = 2});
    char text[4096] = "";
    assert_true(pread(fd, text, sizeof text - 1, 0) > 0);
    assert_int_equal(count_in(text, "spec.x is old"), 1);
    assert_int_equal(count_in(text, "spec.y is old"), 1);
    close(fd);
    world_stop(&w);
    (void)state;
}

UNIT_MAIN(client)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_client_do__patch__all_parts_arrive),
        KUBE_TEST(kube_client_do__may_not_mutate__only_reads_are_sent),
        KUBE_TEST(kube_client_do__v189_retry_after__sent_again_with_its_body),
        KUBE_TEST(kube_client_do__v190_eleven_failures__given_up),
        KUBE_TEST(kube_client_do__v191_no_usable_retry_after__one_request),
        KUBE_TEST(kube_client_do__long_retry_after__passed_on),
        KUBE_TEST(kube_client_do__v192_193_broken_connection__only_reads_again),
        KUBE_TEST(kube_client_do__no_retry__one_request),
        KUBE_TEST(kube_client_do__401__token_file_read_again),
        KUBE_TEST(kube_client_do__rate_limit__delays_by_the_clock),
        KUBE_TEST(kube_client_do__cancelled_while_hanging__ends),
        KUBE_TEST(kube_status_error__recorded_refusals__codes_and_texts),
        KUBE_TEST(kube_status_error__no_status__by_number),
        KUBE_TEST(kube_error__expired_and_too_large__told_apart),
        KUBE_TEST(kube_client_do__v194_failure_in_a_200__is_an_error),
        KUBE_TEST(kube_client_do__warning_headers__logged_once_per_text),
        KUBE_TEST(kube_path__v195_names__kept_inside_their_segment),
        KUBE_TEST(client_is_other_object__refusals__by_uid_only),
        KUBE_TEST(client_resource__paths__resource_and_subresource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
