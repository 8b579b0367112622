/* SPDX-License-Identifier: Apache-2.0 */
/* gce_call.c: the state machine of one call; see gce_api.h for what it promises. */
#include "providers/gce/api/gce_call.h"
#include "providers/gce/api/gce_budget.h"

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_errors.h"

#include <string.h>

/* The server holds operations.wait for up to two minutes. */
#define WAIT_TOTAL_MS 180000
#define WAIT_IDLE_MS  150000
/* A wait that came back early and undone is not repeated at once. */
#define WAIT_EARLY_MS 500
/* A list that continues for longer is none: 500 items a page. */
#define PAGES_MAX 1000
/* One resource: a pool of 30,000 members has 4 MiB.  Several are read at a time. */
#define CALL_MAX_BODY (4u * 1024 * 1024)
/* A list page may hold 500 pools of thousands of members. */
#define LIST_MAX_BODY (512u * 1024 * 1024)

/* How often a call looks for a token that another thread fetches; what its own thread
 * brings it sees at once. */
#define TOKEN_LOOK_MS 50

enum phase {
    BEGIN = 0,
    TOKEN,
    CALL,
    WAIT,
    HELD, /* by its budget */
};

static const struct retry_policy request_policy = {
    .max_attempts = 4,
    .base_ms = 250,
    .cap_ms = 4000,
    .budget_ms = 30000,
    .max_retry_after_ms = 10000,
    .full_jitter = true,
};
/* The operation continues whether we look or not: polling is worth more patience. */
static const struct retry_policy wait_policy = {
    .max_attempts = 10,
    .base_ms = 250,
    .cap_ms = 10000,
    .budget_ms = 300000,
    .max_retry_after_ms = 60000,
    .full_jitter = true,
};

void gce_call_begin(struct gce_call *c, const struct gce_api *api, const struct tt_call *call,
                    struct arena *a, const struct gce_call_spec *spec)
{
    *c = (struct gce_call){.api = api, .call = call, .a = a, .spec = *spec, .answer = ""};
    c->began_ms = clock_now_ms(api->clock);
    c->body =
        spec->body != NULL ? json_text(a, spec->body, JSON_COMPACT) : gce_verb_body(spec->verb);
    if (gce_verb_mutates(spec->verb)) {
        rng_uuid(api->rng, c->request_id);
    }
    retry_begin(&c->retry, &request_policy, c->began_ms);
}

/* ERR_INVALID for a path with a part that cannot be one segment: it came from a user's text. */
static int finish_url(struct gce_call *c, const char *path, bool wait, const char **ret,
                      struct err *err)
{
    struct url_build b;
    url_build_begin(&b, c->api->base);
    url_build_path(&b, "a part of the resource's path", path);
    url_build_pair(&b, "alt", "json");
    if (!wait && c->spec.filter != NULL) {
        url_build_pair(&b, "filter", c->spec.filter);
    }
    if (!wait && c->page != NULL) {
        url_build_pair(&b, "pageToken", c->page);
    }
    url_build_pair(&b, "prettyPrint", "false");
    if (!wait && c->request_id[0] != '\0') {
        url_build_pair(&b, "requestId", c->request_id);
    }
    return url_build_end(&b, c->a, ret, err);
}

static void fill_common(struct gce_call *c, struct http_request *req, int64_t not_before_ms)
{
    const char *quota = gce_auth_credentials(c->api->auth)->quota_project;
    size_t n = 0;
    c->headers[n++] = (struct http_header){"Content-Type", "application/json"};
    if (!str_is_empty(quota)) {
        c->headers[n++] = (struct http_header){"X-Goog-User-Project", quota};
    }
    *req = (struct http_request){
        .api = "gce",
        .headers = c->headers,
        .n_headers = n,
        .bearer = c->token,
        .gzip = true,
        .max_body = CALL_MAX_BODY,
        .not_before_ms = not_before_ms,
    };
}

/* When --gce-ratelimit lets a request go; 0: at once. */
static int64_t rated_at(struct gce_call *c, bool waits)
{
    const struct gce_api *api = c->api;
    bool again;
    if (api->rates == NULL || api->rates->n == 0) {
        return 0;
    }
    const char *method = waits ? gce_operations_id(c->spec.collection)
                               : gce_api_op_id(c->a, c->spec.collection, c->spec.verb);
    size_t rule = gce_rates_find(api->rates, str_or(api->version, "v1"), method);
    return rule < api->rates->n ? budgets_take(api->rated, rule, false, &again) : 0;
}

/* HTTP_SEND: the request may go, at *at_ms at the earliest.  HTTP_WAIT: its turn has not come. */
static enum http_next take_turn(struct gce_call *c, struct http_request *req, int64_t *at_ms,
                                bool waits)
{
    bool again, reads = !waits && !gce_verb_mutates(c->spec.verb);
    bool background = reads && c->call != NULL && c->call->background;
    size_t kind = gce_budget_of(c->spec.collection, c->spec.verb, waits);
    int64_t at = budgets_take(c->api->budgets, kind, background, &again);
    *at_ms = at > *at_ms ? at : *at_ms;
    if (!again) {
        at = rated_at(c, waits);
        *at_ms = at > *at_ms ? at : *at_ms;
        return HTTP_SEND;
    }
    c->phase = HELD;
    c->held_until_ms = *at_ms;
    *req = (struct http_request){.not_before_ms = *at_ms};
    return HTTP_WAIT;
}

static enum http_next send_call(struct gce_call *c, struct http_request *req, int64_t at_ms,
                                struct err *err)
{
    if (take_turn(c, req, &at_ms, false) == HTTP_WAIT) {
        return HTTP_WAIT;
    }
    fill_common(c, req, at_ms);
    req->method = gce_verb_method(c->spec.verb);
    if (finish_url(c, gce_call_path(c->a, c->api, &c->spec), false, &req->url, err) != ERR_OK) {
        return HTTP_DONE;
    }
    req->mutates = gce_verb_mutates(c->spec.verb);
    if (c->body != NULL) {
        req->body = c->body;
        req->body_len = strlen(c->body);
    }
    if (gce_verb_lists(c->spec.verb)) {
        req->max_body = LIST_MAX_BODY;
        gce_splitter_reset(c->spec.cutter);
        c->spec.cutter->scoped =
            c->spec.verb == GCE_LIST_ALL ? gce_api_collection_name(c->spec.collection) : NULL;
    }
    c->op_id = gce_api_op_id(c->a, c->spec.collection, c->spec.verb);
    req->op = c->op_id;
    c->phase = CALL;
    c->requests++;
    return HTTP_SEND;
}

/* Waiting changes nothing: it is not fenced, so that an operation in progress is seen
 * to its end. */
static enum http_next send_wait(struct gce_call *c, struct http_request *req, int64_t at_ms,
                                struct err *err)
{
    if (take_turn(c, req, &at_ms, true) == HTTP_WAIT) {
        return HTTP_WAIT;
    }
    fill_common(c, req, at_ms);
    req->method = "POST";
    const char *path = gce_wait_path(c->a, c->api, &c->spec, c->operation);
    if (finish_url(c, path, true, &req->url, err) != ERR_OK) {
        return HTTP_DONE;
    }
    req->idle_ms = WAIT_IDLE_MS;
    req->total_ms = WAIT_TOTAL_MS;
    c->op_id = gce_operations_id(c->spec.collection);
    req->op = c->op_id;
    c->phase = WAIT;
    c->requests++;
    return HTTP_SEND;
}

static enum http_next send_again(struct gce_call *c, struct http_request *req, int64_t at_ms,
                                 struct err *err)
{
    return c->operation != NULL ? send_wait(c, req, at_ms, err) : send_call(c, req, at_ms, err);
}

static enum http_next done(struct gce_call *c, const struct err *err)
{
    gce_call_measure(c, err);
    return HTTP_DONE;
}

/* *err holds a failure: send again later, or end with it. */
static enum http_next failed(struct gce_call *c, struct http_request *req, struct err *err)
{
    int64_t now = clock_now_ms(c->api->clock);
    int64_t at;
    bool again = err->code == ERR_TRANSIENT || err->code == ERR_THROTTLED;
    if (again && retry_next(&c->retry, now, err->retry_after_ms, rng_unit(c->api->rng), &at)) {
        err_clear(err);
        return send_again(c, req, at, err);
    }
    return done(c, err);
}

static enum http_next take_operation(struct gce_call *c, struct http_request *req,
                                     const struct http_response *resp, struct err *err)
{
    struct json_object *op;
    if (json_parse_arena(c->a, resp->body, resp->body_len, NULL, &op, NULL) != ERR_OK) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is no JSON", c->op_id);
        return failed(c, req, err);
    }
    const char *name = json_str(op, "name");
    if (c->operation != NULL && !str_eq(name, c->operation)) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is about another operation", c->op_id);
        return failed(c, req, err);
    }
    if (str_eq(json_str(op, "status"), "DONE")) {
        (void)gce_error_of_operation(op, err);
        err_mask(err, c->token);
        return done(c, err);
    }
    if (str_is_empty(name)) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer names no operation", c->op_id);
        return failed(c, req, err);
    }
    int64_t now = clock_now_ms(c->api->clock);
    bool early = c->operation != NULL;
    if (!early) {
        retry_begin(&c->retry, &wait_policy, now);
    }
    c->operation = name;
    return send_wait(c, req, early ? now + WAIT_EARLY_MS : 0, err);
}

/* The page without its items; in *err why it is not a page of a list. */
static struct json_object *page_head(struct gce_call *c, struct err *err)
{
    struct json_object *rest;
    struct err why = ERR_INIT;
    const char *text = gce_splitter_rest(c->spec.cutter);
    if (json_parse_arena(c->a, text, strlen(text), NULL, &rest, &why) != ERR_OK) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is no JSON: %s", c->op_id, why.message);
        return NULL;
    }
    struct json_object *items = json_member(rest, "items");
    enum json_type form = c->spec.verb == GCE_LIST_ALL ? json_type_object : json_type_array;
    if (!gce_api_is_list_of(c->spec.collection, c->spec.verb, rest) ||
        (items != NULL && !json_object_is_type(items, form))) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is no list", c->op_id);
        return NULL;
    }
    return rest;
}

static enum http_next take_page(struct gce_call *c, struct http_request *req, struct err *err)
{
    struct json_object *rest = page_head(c, err);
    if (rest == NULL) {
        return failed(c, req, err);
    }
    const char *before = c->page;
    c->pages++;
    c->page = json_str(rest, "nextPageToken");
    if (str_is_empty(c->page)) {
        return done(c, err);
    }
    if (str_eq(c->page, before) || c->pages >= PAGES_MAX) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the list does not end (%u pages)", c->op_id,
                      c->pages);
        return done(c, err);
    }
    retry_begin(&c->retry, &request_policy, clock_now_ms(c->api->clock));
    return send_call(c, req, 0, err);
}

/* The token was refused.  Of several calls at the same time the first gets a new one,
 * the others take that. */
static enum http_next renew_token(struct gce_call *c, struct http_request *req, struct err *err)
{
    gce_auth_drop(c->api->auth, c->token);
    c->token_renewed = true;
    c->phase = BEGIN;
    return gce_call_step(c, req, NULL, err);
}

static enum http_next take_answer(struct gce_call *c, struct http_request *req,
                                  const struct http_response *resp, struct err *err)
{
    if (resp->status == 0) {
        return failed(c, req, err);
    }
    if (resp->status == 401 && !c->token_renewed) {
        return renew_token(c, req, err);
    }
    if (resp->status < 200 || resp->status >= 300) {
        (void)gce_error_of_answer(resp->status, resp->body, resp->body_len, err);
        err_mask(err, c->token);
        err->retry_after_ms = http_retry_after_ms(resp, clock_wall_s(c->api->clock));
        if (err->code == ERR_THROTTLED) {
            budgets_refused(c->api->budgets,
                            gce_budget_of(c->spec.collection, c->spec.verb, c->phase == WAIT),
                            err->retry_after_ms);
        }
        return failed(c, req, err);
    }
    if (gce_verb_mutates(c->spec.verb)) {
        return take_operation(c, req, resp, err);
    }
    if (gce_verb_lists(c->spec.verb)) {
        return take_page(c, req, err);
    }
    c->answer = arena_strndup(c->a, resp->body, resp->body_len);
    c->answer_len = resp->body_len;
    return done(c, err);
}

static enum http_next fetch_token(struct gce_call *c, struct http_request *req,
                                  const struct http_response *resp, struct err *err)
{
    if (resp != NULL && err->code == ERR_CANCELLED) {
        gce_auth_ended(c->api->auth, err); /* the others fetch it themselves: no step follows */
        return done(c, err);
    }
    enum http_next next = gce_fetch_step(&c->fetch, req, resp, rng_unit(c->api->rng), err);
    if (next == HTTP_SEND) {
        return next;
    }
    gce_auth_ended(c->api->auth, err);
    if (err->code != ERR_OK) {
        return done(c, err);
    }
    c->token = gce_auth_token(c->api->auth, c->a);
    if (c->token == NULL) {
        (void)err_set(err, ERR_AUTH, "access token: it is expired already");
        return done(c, err);
    }
    return send_again(c, req, 0, err);
}

static enum http_next get_token(struct gce_call *c, struct http_request *req, struct err *err)
{
    switch (gce_auth_turn(c->api->auth, &c->wait, err)) {
    case TOKEN_TURN_FAILED:
        return done(c, err);
    case TOKEN_TURN_WAIT:
        req->not_before_ms = clock_now_ms(c->api->clock) + TOKEN_LOOK_MS;
        return HTTP_WAIT;
    case TOKEN_TURN_READY: /* just now */
        return gce_call_step(c, req, NULL, err);
    case TOKEN_TURN_MINE:
        break;
    }
    c->wait = (struct token_wait){0};
    gce_fetch_begin(&c->fetch, c->api->auth, c->a);
    c->phase = TOKEN;
    return fetch_token(c, req, NULL, err);
}

/* Its turn may have come.  An answer now says that the wait was cancelled. */
static enum http_next go_on(struct gce_call *c, struct http_request *req,
                            const struct http_response *resp, struct err *err)
{
    if (resp != NULL) {
        return done(c, err);
    }
    if (clock_now_ms(c->api->clock) < c->held_until_ms) {
        *req = (struct http_request){.not_before_ms = c->held_until_ms};
        return HTTP_WAIT;
    }
    return send_again(c, req, 0, err);
}

enum http_next gce_call_step(struct gce_call *c, struct http_request *req,
                             const struct http_response *resp, struct err *err)
{
    if (c->phase == BEGIN) {
        if (resp != NULL && c->wait.waits) {
            return done(c, err); /* the wait was cancelled */
        }
        c->token = gce_auth_token(c->api->auth, c->a);
        if (c->token == NULL) {
            return get_token(c, req, err);
        }
        c->wait = (struct token_wait){0};
        return send_again(c, req, 0, err);
    }
    if (c->phase == HELD) {
        return go_on(c, req, resp, err);
    }
    return c->phase == TOKEN ? fetch_token(c, req, resp, err) : take_answer(c, req, resp, err);
}

/* ---- reads as jobs --------------------------------------------------------------------------- */

static bool read_body(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)status;
    struct gce_read *r = job->arg;
    if (gce_splitter_feed(r->call.spec.cutter, bytes, n)) {
        return true;
    }
    (void)err_set(&job->err, ERR_INVALID, "%s: an item of the list is over its cap", r->call.op_id);
    return false;
}

/* Only the pages of a list stream; a token's answer on the way there is collected. */
static enum http_next read_step(struct http_job *job, const struct http_response *resp)
{
    struct gce_read *r = job->arg;
    enum http_next next = gce_call_step(&r->call, &job->req, resp, &job->err);
    bool page = gce_verb_lists(r->call.spec.verb) && r->call.phase == CALL;
    job->on_body = page ? read_body : NULL;
    return next;
}

void gce_read_init(struct gce_read *r, const struct gce_api *api, const struct tt_call *call,
                   struct arena *a, const struct gce_call_spec *spec)
{
    *r = (struct gce_read){.job = {.step = read_step, .arg = r}};
    gce_call_begin(&r->call, api, call, a, spec);
}

int gce_read_json(const struct gce_read *r, struct arena *a, struct json_object **ret,
                  struct err *err)
{
    if (r->job.err.code != ERR_OK) {
        return err_copy(err, &r->job.err);
    }
    struct json_object *o;
    struct err why = ERR_INIT;
    if (json_parse_arena(a, r->call.answer, r->call.answer_len, NULL, &o, &why) != ERR_OK) {
        return err_set(err, ERR_TRANSIENT, "%s: the answer is no JSON: %s", r->call.op_id,
                       why.message);
    }
    /* A resource of another kind or without the name that was asked for is not that resource:
     * nothing may be concluded from it.  A project is asked for by its number, too. */
    enum gce_collection collection = r->call.spec.collection;
    bool named = collection == GCE_PROJECTS || str_eq(json_str(o, "name"), r->call.spec.name);
    if (!named || !gce_api_is_one_of(collection, o)) {
        return err_set(err, ERR_TRANSIENT, "%s: the answer is about something else", r->call.op_id);
    }
    *ret = o;
    return ERR_OK;
}
