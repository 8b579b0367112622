/* SPDX-License-Identifier: Apache-2.0 */
/* client.c: one request to the API server, with everything that stands around it.
 *
 * A call is a small loop: wait for the limiter, send, look at the answer, perhaps send again.
 * Rules of repetition (§4.5): 429 and 5xx only when the server says when; reads whose connection
 * broke after a second; one more try after a 401 when there is another token to be had.  Everything
 * else goes to the caller, who knows whether the work may be repeated.
 * Must not keep anything of a call.  Thread-safe: state is a handle pool, a limiter and the
 * set of warnings. */
#include "controller/kube/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "common/data/json_shallow.h"
#include "common/net/http.h"
#include "common/net/ratelimit.h"
#include "common/net/url_build.h"
#include "controller/kube/client/client_rules.h"
#include "controller/kube/client/credentials.h"

#define DEFAULT_QPS        5.0
#define DEFAULT_BURST      10
#define DEFAULT_TIMEOUT_MS ((int64_t)60 * 1000)
#define WARNINGS_MAX       256
#define WAIT_LOGGED_MS     50
#define WAIT_SHOWN_MS      1000
#define READY_EVERY_MS     1000 /* §3.4 WaitForAPIServer */
/* parsers of answers go no deeper than 64, a list's own levels included */
#define BODY_DEPTH 60

struct kube_client {
    struct kube_client_args args; /* user_agent is a copy */
    struct http_pool *pool;
    struct mutex lock;
    struct ratelimit limit _guarded_by_(&lock);
    struct map *warnings _guarded_by_(&lock); /* texts that were logged */
};

static void on_sent(void *arg, const struct http_sent *sent);

struct kube_client *kube_client_new(const struct kube_client_args *args)
{
    assert(args->observe != NULL);
    struct kube_client *c = xcalloc(1, sizeof *c);
    c->args = *args;
    c->args.user_agent = xstrdup(args->user_agent);
    c->args.clock = args->clock == NULL ? clock_real() : args->clock;
    struct http_config cfg = kube_http_config(args->config, c->args.user_agent);
    cfg.clock = c->args.clock;
    cfg.cancel = args->cancel;
    cfg.observe = on_sent;
    c->pool = http_pool_new(&cfg);
    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    ratelimit_init(&c->limit, args->qps == 0 ? DEFAULT_QPS : args->qps,
                   args->burst <= 0 ? DEFAULT_BURST : args->burst, clock_now_ms(c->args.clock));
    c->warnings = map_new(NULL);
    mutex_unlock(&c->lock);
    return c;
}

void kube_client_free(struct kube_client *c) _no_lock_check_
{
    if (c == NULL) {
        return;
    }
    http_pool_free(c->pool);
    map_free(c->warnings);
    mutex_done(&c->lock);
    free((char *)c->args.user_agent);
    free(c);
}

bool kube_client_tokens(struct kube_client *c, double *ret)
{
    mutex_lock(&c->lock);
    bool limited = c->limit.per_second > 0;
    *ret = ratelimit_tokens(&c->limit, clock_now_ms(c->args.clock));
    mutex_unlock(&c->lock);
    return limited;
}

const struct kube_config *kube_client_config(const struct kube_client *c)
{
    return c->args.config;
}

const char *kube_client_agent(const struct kube_client *c)
{
    return c->args.user_agent;
}

kube_sent_fn *kube_client_observer(const struct kube_client *c, void **ret_arg)
{
    *ret_arg = c->args.observe_arg;
    return c->args.observe;
}

/* --- one call --------------------------------------------------------------------------------- */

struct call {
    struct kube_client *client;
    const struct kube_request *req;
    struct cancel *cancel;
    struct arena *arena;
    struct client_rules rules;
    int64_t total_ms;         /* 0: the request's */
    struct http_request http; /* filled again for each send */
    struct http_response resp;
    struct kube_credentials creds;
    struct kube_sent told; /* of the send that is being made, for args.observe */
};

static const char *build_url(const struct call *c)
{
    struct url_build b;
    url_build_begin(&b, c->client->args.config->server);
    url_build_built_path(&b, c->req->path);
    url_build_built_query(&b, c->req->query);
    if (c->req->timeout_ms > 0 && !c->req->timeout_untold) {
        /* A limit of the caller's is the server's, too (§4.5): so it does not work on an abandoned
         * request. */
        char text[40];
        duration_format(c->req->timeout_ms * 1000000, text);
        url_build_pair(&b, "timeout", text);
    }
    return url_build_text(&b, c->arena);
}

static int fill_request(struct call *c, struct err *err)
{
    const struct kube_request *req = c->req;
    const struct credentials_waiter waiter = {
        .one = c->cancel, .other = c->client->args.cancel, .timeout_ms = req->timeout_ms};
    int rc = kube_credentials_wait(c->client->args.config, c->arena, 1, &waiter, &c->creds, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (req->body != NULL) {
        c->creds.headers[c->creds.n_headers++] = (struct http_header){
            .name = "Content-Type", .value = str_or(req->content_type, "application/json")};
    }
    int64_t timeout_ms = req->timeout_ms > 0 ? req->timeout_ms : DEFAULT_TIMEOUT_MS;
    timeout_ms = c->total_ms > 0 ? c->total_ms : timeout_ms;
    c->http = (struct http_request){
        .method = req->method,
        .url = build_url(c),
        .headers = c->creds.headers,
        .n_headers = c->creds.n_headers,
        .body = req->body,
        .body_len = req->body == NULL ? 0 : strlen(req->body),
        .bearer = c->creds.bearer,
        .mutates = client_is_mutation(req->method),
        .total_ms = timeout_ms,
        .idle_ms = timeout_ms,
        .max_body = req->max_body,
        .max_redirects = client_is_mutation(req->method) ? 0 : 10,
    };
    return ERR_OK;
}

/* Books a token; says when it may be used. */
static int64_t book(struct call *c)
{
    struct kube_client *k = c->client;
    int64_t now_ms = clock_now_ms(k->args.clock);
    mutex_lock(&k->lock);
    int64_t at_ms = ratelimit_take(&k->limit, now_ms);
    mutex_unlock(&k->lock);
    int64_t wait_ms = at_ms - now_ms;
    c->told.limited = true;
    c->told.waited_ms = wait_ms;
    if (wait_ms > WAIT_LOGGED_MS) {
        log_info(wait_ms > WAIT_SHOWN_MS ? 2 : 3, "Waited before sending request",
                 LOG_MS("delay", wait_ms),
                 LOG_S("reason", "client-side throttling, not priority and fairness"),
                 LOG_S("verb", c->req->method), LOG_S("path", c->req->path));
    }
    return at_ms;
}

/* Warning: 299 - "text", once per text. */
static void log_warnings(struct kube_client *c, const struct call *call)
{
    const struct http_response *resp = &call->resp;
    for (size_t i = 0; i < resp->n_headers; i++) {
        struct err shown = ERR_INIT;
        if (!str_eq_nocase(resp->headers[i].name, "Warning")) {
            continue;
        }
        (void)err_set(&shown, ERR_INVALID, "%s", resp->headers[i].value);
        kube_credentials_mask(&call->creds, &shown);
        err_mask(&shown, call->req->secret);
        const char *text = shown.message;
        mutex_lock(&c->lock);
        bool is_new = !map_has(c->warnings, text) && map_size(c->warnings) < WARNINGS_MAX;
        if (is_new) {
            map_set(c->warnings, text, NULL);
        }
        mutex_unlock(&c->lock);
        if (is_new) {
            log_warning("The API server warns", LOG_S("warning", text));
        }
    }
}

static void log_answer(const struct call *c, const struct err *err)
{
    log_info(8, "Request", LOG_S("verb", c->req->method), LOG_S("path", c->req->path),
             LOG_I("status", c->resp.status), LOG_S("err", err->message),
             LOG_MS("took", c->resp.took_ms));
}

static struct client_answer answer_of(const struct call *c)
{
    return (struct client_answer){
        .status = c->resp.status,
        .body = c->resp.body,
        .body_len = c->resp.body_len,
        .retry_after = http_response_header(&c->resp, "Retry-After"),
    };
}

/* Sends once; in *err what the answer means. */
static void send_once(struct call *c, struct http *h, struct err *err)
{
    struct kube_client *k = c->client;
    const struct kube_request *req = c->req;
    int64_t began_ms = clock_now_ms(k->args.clock);
    c->resp = (struct http_response){.body = ""};
    err_clear(err);
    if (http_do(h, c->arena, &c->http, c->cancel, &c->resp, err) == ERR_OK) {
        const struct client_answer ans = answer_of(c);
        log_warnings(k, c);
        (void)client_judge(&ans, req->method, err);
        kube_credentials_mask(&c->creds, err);
        err_mask(err, req->secret);
    } else {
        c->resp.took_ms = clock_now_ms(k->args.clock) - began_ms;
    }
    c->told = (struct kube_sent){.again = true, .before = c->resp.status}; /* if there is another */
    log_answer(c, err);
}

/* Runs for each request on the wire and each hop of a redirect; a request that was fenced off never
 * comes here.  A wait or a retry is reported with the first attempt only. */
static void on_sent(void *arg, const struct http_sent *sent)
{
    struct call *c = sent->owner;
    const struct kube_client *k = c->client;
    char resource[128];
    (void)arg;
    struct kube_sent told =
        kube_sent_of(sent, client_resource(c->req->path, resource, sizeof resource));
    told.limited = c->told.limited;
    told.waited_ms = c->told.waited_ms;
    told.again = c->told.again;
    told.before = c->told.before;
    k->args.observe(k->args.observe_arg, &told);
    c->told = (struct kube_sent){0};
}

/* True when a 401 came and there is another token now, or will be. */
static bool may_renew(struct call *c, const struct err *err)
{
    if (err->http_status != 401 || c->rules.renewed) {
        return false;
    }
    c->rules.renewed = true;
    return kube_credentials_renew(c->client->args.config, c->arena, &c->creds);
}

static int run(struct call *c, struct http *h, struct err *err)
{
    int64_t not_before_ms = 0;
    for (;;) {
        int rc = fill_request(c, err);
        if (rc != ERR_OK) {
            return rc; /* without a token of the rate: nothing is sent */
        }
        int64_t booked_ms = book(c);
        c->http.not_before_ms = booked_ms > not_before_ms ? booked_ms : not_before_ms;
        send_once(c, h, err);
        if (err->code == ERR_OK || c->req->no_retry) {
            return err->code;
        }
        int64_t now_ms = clock_now_ms(c->client->args.clock);
        const struct client_answer ans = answer_of(c);
        if (may_renew(c, err)) {
            not_before_ms = now_ms;
        } else if (!client_retry(&c->rules, c->req->method, &ans, err, now_ms, &not_before_ms)) {
            return err->code;
        }
    }
}

/* *ret is written on success only. */
static int do_call(struct call *call, struct kube_response *ret, struct err *err)
{
    struct kube_client *c = call->client;
    struct err local = ERR_INIT;
    struct http *h = http_pool_get(c->pool);
    http_bind(h, c->args.cancel, c->args.may_mutate, c->args.may_mutate_arg, call);
    int rc = run(call, h, &local);
    http_pool_put(c->pool, h);
    if (rc != ERR_OK) {
        return err_copy(err, &local);
    }
    size_t n = call->resp.body_len;
    const char *body = json_shallow(call->arena, call->resp.body, &n, BODY_DEPTH);
    *ret = (struct kube_response){.status = call->resp.status, .body = body, .body_len = n};
    return ERR_OK;
}

int kube_client_do(struct kube_client *c, struct arena *a, const struct kube_request *req,
                   struct cancel *cancel, struct kube_response *ret, struct err *err)
{
    struct call call = {.client = c, .req = req, .cancel = cancel, .arena = a};
    return do_call(&call, ret, err);
}

int kube_client_wait_ready(struct kube_client *c, int64_t timeout_ms,
                           void (*progress)(void *arg, const struct err *last), void *arg,
                           struct err *err)
{
    const struct kube_request req = {.method = "GET", .path = "/healthz", .no_retry = true};
    int64_t now_ms = clock_now_ms(c->args.clock);
    int64_t until_ms = now_ms + timeout_ms;
    struct err last = ERR_INIT;
    int64_t next_ms = now_ms;
    while (next_ms < until_ms) {
        cancel_nap(c->args.cancel, c->args.clock, next_ms);
        struct arena *a _cleanup_(arena_freep) = arena_new();
        struct kube_response resp;
        struct call call = {.client = c, .req = &req, .arena = a, .total_ms = until_ms - next_ms};
        int rc = do_call(&call, &resp, &last);
        if (rc == ERR_OK || rc == ERR_CANCELLED) {
            return err_copy(err, rc == ERR_OK ? NULL : &last);
        }
        if (progress != NULL) {
            progress(arg, &last);
        }
        now_ms = clock_now_ms(c->args.clock);
        next_ms = next_ms + READY_EVERY_MS > now_ms ? next_ms + READY_EVERY_MS : now_ms;
    }
    cancel_nap(c->args.cancel, c->args.clock, until_ms);
    err_copy(err, &last);
    (void)err_prefix(err, "timed out waiting for the condition");
    return last.code;
}
