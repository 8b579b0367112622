/* SPDX-License-Identifier: Apache-2.0 */
/* azure_call.c: the state machine of one call; azure_arm.h says what it promises.
 *
 * BEGIN → (TOKEN →) SEND → (LOOK → SEND →) POLL … → FINAL.  azure_lro.c has the meaning of an
 * answer of a long-running operation. */
#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/arm/azure_arm.h"
#include "providers/azure/arm/azure_budget.h"
#include "providers/azure/arm/azure_lro.h"
#include "providers/azure/arm/azure_metrics.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_errors.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

/* A list that continues for longer is none. */
#define PAGES_MAX 1000
/* A load balancer of 1,500 rules has some 2 MiB. */
#define CALL_MAX_BODY (64u * 1024 * 1024)
/* How often a call looks for a token that another thread fetches; what its own thread
 * brings it sees at once. */
#define TOKEN_LOOK_MS      50
#define BEARER             "Bearer "
#define MIN_RETRY_AFTER_MS 5000

enum phase {
    BEGIN = 0,
    TOKEN,
    SEND,
    LOOK, /* what came of a creation whose answer did not come? */
    POLL,
    FINAL,
};

/* The operation continues whether we look or not: polling is worth more patience. */
static const struct retry_policy poll_policy = {
    .max_attempts = 10,
    .base_ms = 500,
    .cap_ms = 10000,
    .budget_ms = 300000,
    .max_retry_after_ms = AZURE_GATE_WAIT_MS,
    .full_jitter = true,
};

static bool writes(const struct azure_call *c)
{
    return c->spec.verb == AZURE_PUT || c->spec.verb == AZURE_DELETE ||
           c->spec.verb == AZURE_MIGRATE;
}

void azure_call_begin(struct azure_call *c, struct azure_arm *arm, const struct tt_call *call,
                      struct arena *a, const struct azure_call_spec *spec)
{
    *c = (struct azure_call){.arm = arm, .call = call, .a = a, .spec = *spec};
    if (spec->body != NULL) {
        c->body = json_text(a, spec->body, JSON_COMPACT);
        if (spec->passing) {
            json_clear(spec->body);
        }
    }
    if (spec->verb == AZURE_LIST) {
        c->answer = azure_own(a, json_object_new_array());
    }
    c->tenant = azure_arm_is_compute(spec->kind) ? AZURE_TENANT_COMPUTE : AZURE_TENANT_NETWORK;
    retry_begin(&c->retry, &arm->requests, clock_now_ms(arm->clock));
}

/* A list of all groups has a name of its own.  Source: operation ids of Azure's REST reference. */
static const char *op_id_of(const struct azure_call_spec *spec)
{
    bool everywhere = spec->verb == AZURE_LIST && spec->kind == AZURE_PLSS &&
                      strstr(spec->id, "/resourceGroups/") == NULL;
    return everywhere ? "PrivateLinkServices.ListBySubscription"
                      : azure_arm_op_id(spec->kind, spec->verb);
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* When the subscription's budget lets a request go; 0: at once. */
static int64_t turn_at(const struct azure_call *c, size_t kind)
{
    bool again;
    return budgets_take(c->arm->budgets, kind, false, &again);
}

/* When this request may be sent; the rate limiter's token is taken here.  A gate that stays closed
 * for long sets *ret_closed_ms, and takes no token: a caller that returns would find the bucket
 * emptier each time. */
static int64_t may_send_at(struct azure_call *c, bool write, int64_t *ret_closed_ms)
{
    struct azure_arm *arm = c->arm;
    int64_t now = clock_now_ms(arm->clock);
    int64_t limit = now;
    mutex_lock(&arm->lock);
    int64_t gate = arm->gate.until_ms[c->spec.kind][write];
    bool closed = gate - now > AZURE_GATE_WAIT_MS;
    if (!closed) {
        limit = ratelimit_take(&arm->limits[azure_arm_limit(c->spec.kind)][write], now);
    }
    mutex_unlock(&arm->lock);
    if (limit > now) {
        azure_metrics_held(arm, op_id_of(&c->spec), c->spec.id, false);
    }
    if (!closed) {
        int64_t turn = turn_at(c, azure_budget_of(c->spec.verb));
        closed = turn - now > AZURE_GATE_WAIT_MS;
        gate = gate > turn ? gate : turn;
    }
    *ret_closed_ms = closed ? gate - now : 0;
    return gate > limit ? gate : limit;
}

static void close_gate(struct azure_call *c, bool write, int64_t for_ms)
{
    struct azure_arm *arm = c->arm;
    int64_t until = clock_now_ms(arm->clock) + for_ms;
    mutex_lock(&arm->lock);
    int64_t *gate = &arm->gate.until_ms[c->spec.kind][write];
    *gate = *gate > until ? *gate : until;
    mutex_unlock(&arm->lock);
    azure_metrics_held(arm, c->op_id, c->spec.id, true);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* ERR_INVALID for an ID with a part that cannot be one segment: it came from a user's text. */
static int first_url(struct azure_call *c, const char **ret, struct err *err)
{
    struct url_build b;
    url_build_begin(&b, c->arm->base);
    url_build_path(&b, "a part of the resource ID", c->spec.id);
    if (c->spec.verb == AZURE_MIGRATE) {
        url_build_path(&b, "action", "migrateToIpBased");
    }
    url_build_pair(&b, "api-version", azure_arm_version(c->arm, c->spec.kind));
    url_build_built_query(&b, c->spec.query);
    return url_build_end(&b, c->a, ret, err);
}

static void fill(struct azure_call *c, struct http_request *req, int64_t at_ms)
{
    size_t n = 0;
    rng_uuid(c->arm->rng, c->request_id);
    c->headers[n++] = (struct http_header){"Accept", "application/json"};
    c->headers[n++] = (struct http_header){"x-ms-client-request-id", c->request_id};
    if (c->auxiliary != NULL) {
        c->headers[n++] = (struct http_header){"x-ms-authorization-auxiliary", c->auxiliary};
    }
    *req = (struct http_request){
        .api = "azure",
        .method = "GET",
        .url = c->url,
        .headers = c->headers,
        .n_headers = n,
        .bearer = c->bearer,
        .gzip = true,
        .max_body = CALL_MAX_BODY,
        .not_before_ms = at_ms,
    };
    c->requests++;
}

static enum http_next send_first(struct azure_call *c, struct http_request *req, int64_t at_ms,
                                 struct err *err)
{
    static const char *const methods[] = {
        [AZURE_GET] = "GET",       [AZURE_LIST] = "GET",     [AZURE_PUT] = "PUT",
        [AZURE_DELETE] = "DELETE", [AZURE_MIGRATE] = "POST",
    };
    int64_t closed_ms;
    int64_t gate = may_send_at(c, writes(c), &closed_ms);
    if (closed_ms > 0) {
        (void)err_set(err, ERR_THROTTLED, "%s: throttled due to too many requests",
                      azure_arm_word(c->spec.kind));
        err->retry_after_ms = closed_ms;
        return HTTP_DONE;
    }
    if (c->url == NULL && first_url(c, &c->url, err) != ERR_OK) {
        return HTTP_DONE;
    }
    fill(c, req, at_ms > gate ? at_ms : gate);
    req->method = methods[c->spec.verb];
    req->mutates = writes(c);
    if (c->body != NULL) {
        c->headers[req->n_headers++] = (struct http_header){"Content-Type", "application/json"};
        req->body = c->body;
        req->body_len = strlen(c->body);
    }
    if (c->spec.if_match != NULL) {
        c->headers[req->n_headers++] = (struct http_header){"If-Match", c->spec.if_match};
    }
    c->op_id = op_id_of(&c->spec);
    req->op = c->op_id;
    c->phase = SEND;
    return HTTP_SEND;
}

/* Is it about the resource or its operation, not the write itself?  Such requests are reads,
 * whatever the call's verb is. */
static bool reads_on(const struct azure_call *c)
{
    return c->phase == POLL || c->phase == LOOK || c->phase == FINAL;
}

static enum http_next send_poll(struct azure_call *c, struct http_request *req, int64_t at_ms)
{
    int64_t turn = turn_at(c, azure_budget_of(AZURE_GET));
    c->url = c->poll_url;
    fill(c, req, at_ms > turn ? at_ms : turn);
    c->op_id = c->poll_style == AZURE_LRO_BODY ? azure_arm_op_id(c->spec.kind, AZURE_GET)
                                               : "Operations.Get";
    req->op = c->op_id;
    c->phase = POLL;
    return HTTP_SEND;
}

/* The resource in its final form. */
static enum http_next send_final(struct azure_call *c, struct http_request *req, int64_t at_ms,
                                 struct err *err)
{
    struct azure_call_spec spec = c->spec;
    c->spec.query = NULL;
    int rc = first_url(c, &c->url, err);
    c->spec = spec;
    if (rc != ERR_OK) {
        return HTTP_DONE;
    }
    int64_t turn = turn_at(c, azure_budget_of(AZURE_GET));
    fill(c, req, at_ms > turn ? at_ms : turn);
    c->op_id = azure_arm_op_id(c->spec.kind, AZURE_GET);
    req->op = c->op_id;
    c->phase = FINAL;
    return HTTP_SEND;
}

static enum http_next send_look(struct azure_call *c, struct http_request *req, int64_t at_ms)
{
    int64_t turn = turn_at(c, azure_budget_of(AZURE_GET));
    fill(c, req, at_ms > turn ? at_ms : turn);
    c->op_id = azure_arm_op_id(c->spec.kind, AZURE_GET);
    req->op = c->op_id;
    c->phase = LOOK;
    return HTTP_SEND;
}

static enum http_next send_again(struct azure_call *c, struct http_request *req, int64_t at_ms,
                                 struct err *err)
{
    switch (c->phase) {
    case LOOK:
        return send_look(c, req, at_ms);
    case POLL:
        return send_poll(c, req, at_ms);
    case FINAL:
        return send_final(c, req, at_ms, err);
    default:
        return send_first(c, req, at_ms, err);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void report(const struct azure_call *c, const struct http_response *resp)
{
    azure_metrics_request(c->arm, c->op_id, c->spec.id, resp->status, resp->took_ms);
}

/* "resource group rg", "the subscription", "virtualMachineScaleSets vmss": where a list is. */
static const char *place_of_list(const struct azure_call *c)
{
    const char *group = azure_id_group(c->a, c->spec.id);
    const char *end = strrchr(c->spec.id, '/');
    const char *parent = memrchr(c->spec.id, '/', (size_t)(end - c->spec.id));
    const char *type = parent == NULL || parent == c->spec.id
                           ? NULL
                           : memrchr(c->spec.id, '/', (size_t)(parent - c->spec.id));
    if (type != NULL && memchr(parent, '.', (size_t)(end - parent)) == NULL) {
        return arena_printf(c->a, "%.*s %.*s", (int)(parent - type) - 1, type + 1,
                            (int)(end - parent) - 1, parent + 1);
    }
    return group != NULL ? arena_printf(c->a, "resource group %s", group) : "the subscription";
}

static enum http_next give_up(const struct azure_call *c, struct err *err)
{
    const char *last = strrchr(c->spec.id, '/') + 1;
    if (c->spec.verb == AZURE_LIST) {
        (void)err_prefix(err, "listing %s of %s", last, place_of_list(c));
    } else {
        (void)err_prefix(err, "%s %s", azure_arm_word(c->spec.kind), last);
    }
    return HTTP_DONE;
}

/* The same request meets the same answer: also where a public IP refers to something of the owner's
 * that is not there.  Balancers and links refer to what a sync has just made. */
static bool is_final(const struct azure_call *c, const struct err *err)
{
    return azure_error_is_refusal(err) ||
           (c->spec.kind == AZURE_PIPS && str_eq(err->reason, "InvalidResourceReference"));
}

static enum http_next failed(struct azure_call *c, struct http_request *req, struct err *err)
{
    int64_t now = clock_now_ms(c->arm->clock);
    int64_t at;
    bool again = err->code == ERR_TRANSIENT || err->code == ERR_THROTTLED;
    again = again && !is_final(c, err);
    if (again && retry_next(&c->retry, now, err->retry_after_ms, rng_unit(c->arm->rng), &at)) {
        bool looks = c->phase == SEND && c->spec.creates && err->code == ERR_TRANSIENT;
        err_clear(err);
        return looks ? send_look(c, req, at) : send_again(c, req, at, err);
    }
    return give_up(c, err);
}

static enum http_next no_json(struct azure_call *c, struct http_request *req, struct err *err)
{
    (void)err_set(err, ERR_TRANSIENT, "%s: the answer is no JSON object", c->op_id);
    return failed(c, req, err);
}

/* An answer that is not about what was asked says nothing. */
static bool is_about(const struct azure_call *c, struct json_object *o)
{
    const char *id = json_str(o, "id");
    return c->spec.kind == AZURE_PROVIDERS ||
           (id != NULL && azure_id_eq(id, c->spec.id) && azure_doc_is_sound(o));
}

static enum http_next take_resource(struct azure_call *c, struct http_request *req,
                                    struct json_object *o, struct err *err)
{
    if (!is_about(c, o)) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is about something else", c->op_id);
        return failed(c, req, err);
    }
    c->answer = o;
    return HTTP_DONE;
}

static enum http_next take_page(struct azure_call *c, struct http_request *req,
                                struct json_object *o, struct err *err)
{
    struct json_object *value = json_member(o, "value");
    if (value == NULL || !json_object_is_type(value, json_type_array)) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the answer is no list", c->op_id);
        return failed(c, req, err);
    }
    for (size_t i = 0; i < json_len(value); i++) {
        struct json_object *item = json_object_array_get_idx(value, i);
        if (json_str(item, "id") == NULL || !azure_doc_is_sound(item)) {
            (void)err_set(err, ERR_TRANSIENT, "%s: an item of the list is no resource", c->op_id);
            return failed(c, req, err);
        }
        (void)json_object_array_add(c->answer, json_object_get(item));
    }
    const char *next = json_str(o, "nextLink");
    if (str_is_empty(next)) {
        return HTTP_DONE;
    }
    if (++c->pages >= PAGES_MAX || str_eq(next, c->url) || !azure_lro_is_ours(c->arm->base, next)) {
        (void)err_set(err, ERR_TRANSIENT, "%s: the list does not end, or leads elsewhere",
                      c->op_id);
        return HTTP_DONE;
    }
    c->url = next;
    retry_begin(&c->retry, &c->arm->requests, clock_now_ms(c->arm->clock));
    return send_first(c, req, 0, err);
}

/* The place of the call's kind of write. */
static int64_t *usual_of(struct azure_call *c) _requires_(c->arm->lock)
{
    return &c->arm->usual_ms[c->spec.kind][c->spec.verb == AZURE_DELETE];
}

static int64_t usual_ms(struct azure_call *c)
{
    mutex_lock(&c->arm->lock);
    int64_t ms = *usual_of(c);
    mutex_unlock(&c->arm->lock);
    return ms;
}

static void note_took(struct azure_call *c, int64_t most_ms)
{
    mutex_lock(&c->arm->lock);
    int64_t *usual = usual_of(c);
    *usual = azure_lro_usual_ms(*usual, c->at_work_ms, most_ms);
    mutex_unlock(&c->arm->lock);
}

/* Where a look costs what others wait for, one at a moment at which the write is done most
 * likely. */
static int64_t wait_for_poll(struct azure_call *c, int64_t asked_ms)
{
    int64_t usual = usual_ms(c);
    bool first = c->phase == SEND;
    if (asked_ms == 0 && usual > 0 &&
        budgets_are_short(c->arm->budgets, azure_budget_of(AZURE_GET))) {
        c->spares = true;
        return azure_lro_spare_ms(c->at_work_ms, usual);
    }
    return azure_lro_wait_ms(first, c->at_work_ms, usual, asked_ms);
}

/* The budget's token is taken when the poll is due: one that was taken long before would let the
 * poll go beside those that others take then. */
static enum http_next poll_when_due(struct azure_call *c, struct http_request *req)
{
    int64_t at_ms = c->poll_at_ms;
    c->phase = POLL;
    if (c->arm->budgets != NULL && clock_now_ms(c->arm->clock) < at_ms) {
        req->not_before_ms = at_ms;
        return HTTP_WAIT;
    }
    c->poll_at_ms = 0;
    return send_poll(c, req, at_ms > clock_now_ms(c->arm->clock) ? at_ms : 0);
}

/* A write was taken: is it done, and do we hold the resource in its final form? */
static enum http_next take_progress(struct azure_call *c, struct http_request *req,
                                    const struct http_response *resp, struct json_object *o,
                                    struct err *err)
{
    struct azure_lro lro = {
        .style = c->poll_style,
        .poll_url = c->poll_url,
        .base = c->arm->base,
        .resource_url = c->phase == SEND ? c->url : NULL,
        .put = c->spec.verb == AZURE_PUT,
        .first = c->phase == SEND,
    };
    int64_t now = clock_now_ms(c->arm->clock);
    if (azure_lro_look(c->a, &lro, resp, o, clock_wall_s(c->arm->clock), err) != ERR_OK) {
        return lro.done ? give_up(c, err) : failed(c, req, err);
    }
    if (c->arm->config->min_retry_after && lro.retry_after_ms < MIN_RETRY_AFTER_MS) {
        lro.retry_after_ms = 0; /* enableMinimumRetryAfter: our own pace (3.6) */
    }
    c->poll_style = lro.style;
    c->poll_url = lro.poll_url;
    if (!lro.done) {
        if (c->phase == SEND) {
            retry_begin(&c->retry, &poll_policy, now);
            c->poll_since_ms = now;
        }
        c->at_work_ms = now - c->poll_since_ms;
        c->poll_at_ms = now + wait_for_poll(c, lro.retry_after_ms);
        return poll_when_due(c, req);
    }
    if (c->phase != SEND && (!c->spares || c->at_work_ms > 0)) {
        note_took(c, now - c->poll_since_ms);
    }
    if (c->spec.verb != AZURE_PUT) {
        return HTTP_DONE;
    }
    return lro.has_resource ? take_resource(c, req, o, err) : send_final(c, req, 0, err);
}

static enum http_next take_body(struct azure_call *c, struct http_request *req,
                                const struct http_response *resp, struct err *err)
{
    struct json_object *o = NULL;
    bool empty = resp->body_len == 0;
    if (!empty && (json_parse_arena(c->a, resp->body, resp->body_len, &azure_doc_limits, &o,
                                    NULL) != ERR_OK ||
                   !json_object_is_type(o, json_type_object))) {
        return no_json(c, req, err);
    }
    if (c->phase == POLL || (c->phase == SEND && writes(c))) {
        return take_progress(c, req, resp, o, err);
    }
    if (o == NULL) {
        return no_json(c, req, err);
    }
    if (c->phase == LOOK) {
        (void)err_set(err, ERR_CONFLICT, "it stands now");
        return give_up(c, err);
    }
    return c->spec.verb == AZURE_LIST ? take_page(c, req, o, err) : take_resource(c, req, o, err);
}

static enum http_next take_refusal(struct azure_call *c, struct http_request *req,
                                   const struct http_response *resp, struct err *err)
{
    if (c->phase == LOOK && resp->status == 404) {
        return send_first(c, req, 0, err);
    }
    (void)azure_error_of_answer(resp->status, resp->body, resp->body_len, err);
    err_mask(err, c->bearer);
    err_mask(err, c->auxiliary != NULL ? c->auxiliary + strlen(BEARER) : NULL);
    int64_t asked = http_retry_after_ms(resp, clock_wall_s(c->arm->clock));
    err->retry_after_ms = asked > 0 ? asked : err->retry_after_ms;
    if (azure_budget_refused_it(err)) {
        budgets_refused(c->arm->budgets, azure_budget_of(reads_on(c) ? AZURE_GET : c->spec.verb),
                        err->retry_after_ms);
    }
    if (resp->status == 429) {
        close_gate(c, writes(c) && !reads_on(c), err->retry_after_ms);
    }
    if (c->phase != FINAL && reads_on(c) && resp->status == 404 && c->spec.verb == AZURE_DELETE) {
        err_clear(err); /* what was being deleted is gone, its operation with it */
        return HTTP_DONE;
    }
    return failed(c, req, err);
}

static enum http_next take_answer(struct azure_call *c, struct http_request *req,
                                  const struct http_response *resp, struct err *err)
{
    report(c, resp);
    if (resp->status == 0) {
        return failed(c, req, err);
    }
    if (resp->status == 401 && !c->token_renewed) {
        azure_auth_drop(c->arm->auth, c->tenant, c->bearer,
                        azure_lro_claims(c->a, http_response_header(resp, "WWW-Authenticate")));
        if (c->auxiliary != NULL) { /* it may have been that one */
            azure_auth_drop(c->arm->auth, AZURE_TENANT_NETWORK, c->auxiliary + strlen(BEARER),
                            NULL);
        }
        c->token_renewed = true;
        c->bearer = NULL;
        c->auxiliary = NULL;
        return azure_call_step(c, req, NULL, err);
    }
    if (resp->status < 200 || resp->status >= 300) {
        return take_refusal(c, req, resp, err);
    }
    return take_body(c, req, resp, err);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* True when all tokens that the request needs are there; else the tenant whose is missing
 * stands in c->fetch. */
static bool has_tokens(struct azure_call *c)
{
    if (c->bearer == NULL) {
        c->bearer = azure_auth_token(c->arm->auth, c->tenant, c->a);
    }
    bool aux = c->tenant == AZURE_TENANT_COMPUTE && azure_auth_is_multi_tenant(c->arm->auth);
    if (aux && c->auxiliary == NULL) {
        const char *token = azure_auth_token(c->arm->auth, AZURE_TENANT_NETWORK, c->a);
        c->auxiliary = token != NULL ? arena_printf(c->a, BEARER "%s", token) : NULL;
    }
    return c->bearer != NULL && (!aux || c->auxiliary != NULL);
}

static enum http_next fetch_token(struct azure_call *c, struct http_request *req,
                                  const struct http_response *resp, struct err *err)
{
    bool cancelled = resp != NULL && err->code == ERR_CANCELLED; /* no step follows */
    if (!cancelled &&
        azure_fetch_step(&c->fetch, req, resp, rng_unit(c->arm->rng), err) == HTTP_SEND) {
        return HTTP_SEND;
    }
    azure_auth_ended(c->arm->auth, c->fetch.tenant, err);
    c->fetch.auth = NULL;
    return err->code != ERR_OK ? HTTP_DONE : azure_call_step(c, req, NULL, err);
}

/* A wave whose token has expired is refused as a whole: one call gets a new one, the
 * others wait for it. */
static enum http_next get_token(struct azure_call *c, struct http_request *req, struct err *err)
{
    enum azure_tenant tenant = c->bearer == NULL ? c->tenant : AZURE_TENANT_NETWORK;
    switch (azure_auth_turn(c->arm->auth, tenant, &c->wait, err)) {
    case TOKEN_TURN_FAILED:
        return HTTP_DONE;
    case TOKEN_TURN_WAIT:
        req->not_before_ms = clock_now_ms(c->arm->clock) + TOKEN_LOOK_MS;
        return HTTP_WAIT;
    case TOKEN_TURN_READY: /* just now */
        c->wait = (struct token_wait){0};
        return azure_call_step(c, req, NULL, err);
    case TOKEN_TURN_MINE:
        break;
    }
    c->wait = (struct token_wait){0};
    azure_fetch_begin(&c->fetch, c->arm->auth, tenant, c->a);
    return fetch_token(c, req, NULL, err);
}

enum http_next azure_call_step(struct azure_call *c, struct http_request *req,
                               const struct http_response *resp, struct err *err)
{
    if (c->fetch.auth != NULL) {
        return fetch_token(c, req, resp, err);
    }
    if (resp != NULL && (c->wait.waits || c->poll_at_ms > 0)) {
        return HTTP_DONE; /* the wait was cancelled */
    }
    if (resp == NULL && c->poll_at_ms > 0) {
        return poll_when_due(c, req);
    }
    if (resp != NULL) {
        return take_answer(c, req, resp, err);
    }
    if (has_tokens(c)) {
        c->wait = (struct token_wait){0};
        return send_again(c, req, 0, err);
    }
    return get_token(c, req, err);
}

/* ---- reads as jobs --------------------------------------------------------------------------- */

static enum http_next read_step(struct http_job *job, const struct http_response *resp)
{
    struct azure_read *r = job->arg;
    return azure_call_step(&r->call, &job->req, resp, &job->err);
}

void azure_read_init(struct azure_read *r, struct azure_arm *arm, const struct tt_call *call,
                     struct arena *a, const struct azure_call_spec *spec)
{
    *r = (struct azure_read){.job = {.step = read_step, .arg = r}};
    azure_call_begin(&r->call, arm, call, a, spec);
}
