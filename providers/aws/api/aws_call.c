/* SPDX-License-Identifier: Apache-2.0 */
/* aws_call.c: the state machine of one call; aws_call.h says what it promises.
 *
 * For each page: the delay across requests → keys (cached, or fetched by one call for all) → a
 * signed attempt → its answer, which ends the page, or is followed by another attempt after a
 * back-off, with other keys or with the server's time.  A request is signed when it is sent, not
 * when it begins to wait, because a signature is good for five minutes only.  What calls share
 * stands in aws_client.c, what refusals mean in aws_errors.c. */
#include "common/base/str.h"
#include "providers/aws/api/aws_budget.h"
#include "providers/aws/api/aws_client.h"
#include "providers/aws/api/aws_errors.h"
#include "providers/aws/api/aws_metrics.h"

#include <string.h>

/* A list that continues for longer is none. */
#define PAGES_MAX  1000
#define TOTAL_MS   30000 /* 2.6 */
#define CONNECT_MS 10000
/* How often a call looks for keys that another thread fetches; what its own thread brings
 * it sees at once. */
#define KEYS_LOOK_MS    50
#define BACKOFF_MOST_MS 20000
#define TOKEN_MAX       ((size_t)16 * 1024)       /* of a page */
#define WHOLE_MAX       ((size_t)2 * 1024 * 1024) /* of an answer that is held whole */
#define REFUSAL_MAX     ((size_t)256 * 1024)      /* of a refusal that is read */
#define COST_RETRY      5
#define COST_TIMEOUT    10
#define FORM            "application/x-www-form-urlencoded; charset=utf-8"

struct aws_call_more {
    struct sigv4_keys keys;
    struct aws_fetch fetch;
    bool fetches;
    struct token_wait wait;
    struct http_header form;
    const char *op;   /* "ec2.DescribeVpcs" */
    const char *body; /* of the page that is asked for */
    /* of the answer that arrives; NULL: nothing of it came yet, or it is collected */
    struct aws_xml_stream *stream;
    bool streamed; /* items of the page may have been handed over */
    bool has_item;
};
/* Input of aws_call_step(). */
struct turn {
    struct aws_call *c;
    struct http_request *req;
    int64_t now_ms;
    int64_t wall_us;
    double unit;
    struct err *err;
};

static enum http_next go_on(struct turn *t);

/* ---- the form -------------------------------------------------------------------------------- */

static const char *form_of(const struct aws_call *c)
{
    static const char *const versions[AWS_APIS] = {"2016-11-15", "2012-06-01", "2015-12-01",
                                                   "2011-06-15"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    sigv4_append_pair(&b, "Action", c->action);
    sigv4_append_pair(&b, "Version", versions[c->api]);
    for (size_t i = 0; i < c->n_pairs; i++) {
        sigv4_append_pair(&b, c->pairs[i].name, c->pairs[i].value);
    }
    if (c->state.page != NULL) {
        sigv4_append_pair(&b, c->api == AWS_EC2 ? "NextToken" : "Marker", c->state.page);
    }
    return str_buf_to_arena(&b, c->a);
}

/* ---- sending --------------------------------------------------------------------------------- */

static enum http_next send_attempt(struct turn *t)
{
    struct aws_call *c = t->c;
    struct aws_call_state *s = &c->state;
    const struct aws_endpoint *to = &c->client->endpoints[c->api];
    s->more->body = s->more->body != NULL ? s->more->body : form_of(c);
    s->more->form = (struct http_header){"Content-Type", FORM};
    *t->req = (struct http_request){
        .api = "aws",
        .op = s->more->op,
        .method = "POST",
        .url = to->url,
        .headers = &s->more->form,
        .n_headers = 1,
        .body = s->more->body,
        .body_len = strlen(s->more->body),
        .mutates = c->mutates,
        .gzip = true,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .max_body = c->on_page != NULL ? AWS_XML_BYTES_MAX : WHOLE_MAX,
    };
    s->skew_us = aws_client_skew(c->client, t->now_ms, t->wall_us, !c->mutates, &s->probes);
    if (sigv4_sign_http(c->a, &c->client->cache, &s->more->keys, to->signing_region,
                        to->signing_name, (t->wall_us + s->skew_us) / 1000000, t->req,
                        t->err) != ERR_OK) {
        return HTTP_DONE;
    }
    if (s->more->streamed && c->on_restart != NULL) {
        c->on_restart(c);
    }
    s->more->streamed = false;
    aws_xml_stream_free(s->more->stream);
    s->more->stream = NULL;
    s->attempts++;
    s->has_turn = false;
    s->sent = true;
    s->sent_ms = t->now_ms;
    s->sent_wall_us = t->wall_us;
    c->requests++;
    return HTTP_SEND;
}

static enum http_next wait_until(struct turn *t, int64_t at_ms)
{
    *t->req = (struct http_request){.not_before_ms = at_ms};
    return HTTP_WAIT;
}

static enum http_next step_fetch(struct turn *t, const struct http_response *resp)
{
    struct aws_call_more *m = t->c->state.more;
    bool cancelled = resp != NULL && t->err->code == ERR_CANCELLED; /* no step follows */
    enum http_next next =
        cancelled ? HTTP_DONE : aws_fetch_step(&m->fetch, t->req, resp, t->unit, t->err);
    if (next != HTTP_DONE) {
        return next;
    }
    m->fetches = false;
    aws_auth_ended(t->c->client->auth, t->err);
    return t->err->code != ERR_OK ? HTTP_DONE : go_on(t);
}

/* A wave whose keys have expired is refused as a whole: one call gets new ones, the others
 * wait for it. */
static enum http_next get_keys(struct turn *t)
{
    struct aws_call *c = t->c;
    struct aws_call_more *m = c->state.more;
    switch (aws_auth_turn(c->client->auth, &m->wait, t->err)) {
    case TOKEN_TURN_FAILED:
        return HTTP_DONE;
    case TOKEN_TURN_WAIT:
        return wait_until(t, t->now_ms + KEYS_LOOK_MS);
    case TOKEN_TURN_READY: /* just now; or so it seems */
        m->wait = (struct token_wait){0};
        return aws_auth_keys(c->client->auth, c->a, &m->keys)
                   ? send_attempt(t)
                   : wait_until(t, t->now_ms + KEYS_LOOK_MS);
    case TOKEN_TURN_MINE:
        break;
    }
    m->wait = (struct token_wait){0};
    m->fetches = true;
    aws_fetch_begin(&m->fetch, c->client->auth, c->a, c->cancel);
    return step_fetch(t, NULL);
}

/* Takes the attempt's token of its budget, which may be booked for later. */
static void take_turn(struct turn *t)
{
    const struct aws_call *c = t->c;
    struct aws_call_state *s = &t->c->state;
    bool again;
    int64_t at =
        budgets_take(c->client->request_budgets, aws_budget_of(c->api, c->action, c->mutates),
                     c->background && !c->mutates, &again);
    s->has_turn = !again;
    s->not_before_ms = at > s->not_before_ms ? at : s->not_before_ms;
}

/* The waits before the next attempt, and the attempt. */
static enum http_next go_on(struct turn *t)
{
    struct aws_call *c = t->c;
    struct aws_call_state *s = &c->state;
    if (!s->delayed) {
        s->delayed = true;
        s->not_before_ms = aws_client_delay(c->client, c->api, t->now_ms);
    }
    if (t->now_ms >= s->not_before_ms && !s->has_turn) {
        take_turn(t);
    }
    if (t->now_ms < s->not_before_ms) {
        return wait_until(t, s->not_before_ms);
    }
    if (!s->more->wait.waits && aws_auth_keys(c->client->auth, c->a, &s->more->keys)) {
        return send_attempt(t);
    }
    return get_keys(t);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The resource of the call by its parameters; NULL: none.  A write is an operation of a plan, whose
 * failure begins with its resource. */
static const char *subject(const struct aws_call *c)
{
    static const char *const names[] = {
        "LoadBalancerName",
        "LoadBalancerNames.member.1",
        "Names.member.1",
        "ListenerArn",
        "TargetGroupArn",
        "TargetGroupArns.member.1",
        "LoadBalancerArn",
        "LoadBalancerArns.member.1",
        "ResourceArns.member.1",
        "GroupId",
        "GroupName",
        "ResourceId.1",
        "Name",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (size_t k = 0; k < c->n_pairs && !c->mutates; k++) {
            if (str_eq(c->pairs[k].name, names[i])) {
                return c->pairs[k].value;
            }
        }
    }
    return NULL;
}

static enum http_next give_up(struct turn *t)
{
    struct aws_call *c = t->c;
    const char *about = subject(c);
    if (aws_error_is_throttle(t->err->reason)) {
        aws_client_throttled(c->client, c->api);
        aws_metrics_throttled(c->client->host, c->action);
    }
    aws_metrics_call(c->client->host, c->api, c->action, false, t->now_ms - c->state.began_ms);
    (void)err_prefix(t->err, "%s%s%s", c->action, about != NULL ? " " : "", str_nonnull(about));
    return HTTP_DONE;
}

static int64_t backoff_ms(const struct turn *t)
{
    int n = t->c->state.attempts;
    return n > 4 ? BACKOFF_MOST_MS : (int64_t)(t->unit * 1000 * (double)(1 << n));
}

/* Another attempt, if there may be one.  `wait_ms` is what the server asked for. */
static enum http_next try_again(struct turn *t, int64_t wait_ms, bool timed_out)
{
    struct aws_call *c = t->c;
    int cost = timed_out ? COST_TIMEOUT : COST_RETRY;
    if (c->state.attempts >= c->client->max_attempts || wait_ms > BACKOFF_MOST_MS ||
        !aws_client_take_retry(c->client, c->api, cost)) {
        t->err->retry_after_ms = wait_ms;
        return give_up(t);
    }
    int64_t ms = backoff_ms(t);
    c->state.cost = cost;
    c->state.not_before_ms = t->now_ms + (ms > wait_ms ? ms : wait_ms);
    err_clear(t->err);
    return go_on(t);
}

static enum http_next take_loss(struct turn *t)
{
    const struct err *err = t->err;
    bool unreached = str_eq(err->reason, "refused") || str_eq(err->reason, "no-host");
    bool lasts = str_eq(err->reason, "untrusted") || str_eq(err->reason, "refused-certificate") ||
                 (unreached && t->c->client->answers_once);
    t->c->maybe_done = t->c->mutates;
    if (err->code != ERR_TRANSIENT || lasts) {
        return give_up(t);
    }
    return try_again(t, 0, t->now_ms - t->c->state.sent_ms >= TOTAL_MS);
}

/* Was it refused because our clock is off, or the server's?  Then its time is taken over (2.8). */
static bool learns_time(const struct turn *t, const struct http_response *resp)
{
    const struct aws_call_state *s = &t->c->state;
    int64_t server_s = http_response_date_s(resp);
    int64_t middle_us = s->sent_wall_us + (t->wall_us - s->sent_wall_us) / 2;
    return !s->skew_tried && aws_error_is_of_time(t->err->reason) && server_s >= 0 &&
           http_response_header(resp, "Age") == NULL && t->now_ms - s->sent_ms <= TOTAL_MS &&
           aws_client_learn_skew(t->c->client, server_s, middle_us, t->now_ms, s->skew_us);
}

/* Were the keys refused as too old?  Then new ones are had once. */
static bool drops_keys(const struct turn *t)
{
    const struct aws_call *c = t->c;
    return !c->state.fresh_tried && aws_auth_is_stale_code(t->err->reason) &&
           aws_auth_drop(c->client->auth, c->state.more->keys.access_key);
}

static enum http_next take_refusal(struct turn *t, const struct http_response *resp,
                                   const struct aws_node *root)
{
    struct aws_call *c = t->c;
    struct aws_call_state *s = &c->state;
    (void)aws_error_of_answer(c->api, c->action, resp->status, root, t->err);
    err_mask(t->err, s->more->keys.secret_key);
    err_mask(t->err, s->more->keys.session_token);
    if (resp->status >= 500) {
        c->maybe_done = c->mutates;
    }
    if (learns_time(t, resp)) {
        s->skew_tried = true;
        err_clear(t->err);
        return go_on(t);
    }
    if (drops_keys(t)) {
        s->fresh_tried = true;
        err_clear(t->err);
        return go_on(t);
    }
    int64_t asked_ms = http_retry_after_ms(resp, t->wall_us / 1000000);
    if (aws_error_is_throttle(t->err->reason)) {
        budgets_refused(c->client->request_budgets, aws_budget_of(c->api, c->action, c->mutates),
                        asked_ms);
    }
    if (aws_error_is_retried(resp->status, t->err->reason)) {
        return try_again(t, asked_ms, false);
    }
    t->err->retry_after_ms = asked_ms;
    return give_up(t);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int hand_item(void *arg, const struct aws_node *item, struct err *err)
{
    struct aws_call *c = arg;
    c->state.more->has_item = true;
    if (c->on_item(c, item, err)) {
        return ERR_OK;
    }
    return err->code != ERR_OK ? err->code : err_set(err, ERR_INVALID, "an item cannot be used");
}

/* The path of the items from the root's children. */
static const char *path_of(const struct aws_call *c)
{
    return c->api == AWS_EC2 ? c->items : arena_printf(c->a, "%sResult/%s", c->action, c->items);
}

/* Bytes of the answer to the attempt in progress.  False: they are not for us. */
static bool take_bytes(struct aws_call *c, int status, const char *bytes, size_t n)
{
    struct aws_call_more *m = c->state.more;
    if (!c->state.sent || m->fetches || status != 200) {
        return false;
    }
    if (m->stream == NULL) {
        m->stream = aws_xml_stream_new(c->a, path_of(c), hand_item, c);
        m->streamed = true;
        m->has_item = false;
    }
    aws_xml_stream_feed(m->stream, bytes, n);
    return true;
}

static const struct aws_node *result_of(const struct aws_call *c, const struct aws_node *root)
{
    const struct aws_node *result =
        c->api == AWS_EC2 ? root : aws_xml_child(root, arena_printf(c->a, "%sResult", c->action));
    return result != NULL ? result : root;
}

/* Was the list that was asked for in the answer, empty or not?  AWS never leaves it out; what has
 * none is something else's answer, or a part of one, and must not pass for "there are none". */
static int check_list(const struct aws_call *c, const struct aws_node *root, struct err *err)
{
    const char *name = c->items;
    size_t len = strcspn(name, "/");
    const struct aws_node *list = aws_xml_child(result_of(c, root), arena_strndup(c->a, name, len));
    bool is_whole = name[len] == '\0' ? c->state.more->has_item
                                      : list != NULL && str_is_empty(str_trim(c->a, list->text));
    const char *items = name[len] == '\0' ? NULL : strchr(name + len + 1, '/');
    const char *inner =
        items != NULL ? arena_strndup(c->a, items + 1, strcspn(items + 1, "/")) : NULL;
    AWS_XML_EACH(around, list, "") /* reservations of instances */
    {
        is_whole = is_whole && (inner == NULL || aws_xml_child(around, inner) != NULL);
    }
    return is_whole ? ERR_OK
                    : err_set(err, ERR_TRANSIENT, "the answer has no list %.*s", (int)len, name);
}

static int parse(struct turn *t, const struct http_response *resp, const struct aws_node **ret)
{
    struct aws_call *c = t->c;
    struct aws_call_more *m = c->state.more;
    if (c->items == NULL || resp->status != 200) {
        return aws_xml_parse(c->a, resp->body, resp->body_len, ret, t->err);
    }
    if (resp->body_len > 0) { /* it came as one */
        (void)take_bytes(c, resp->status, resp->body, resp->body_len);
    }
    if (m->stream == NULL) {
        return aws_xml_parse(c->a, "", 0, ret, t->err);
    }
    int rc = aws_xml_stream_end(m->stream, ret, t->err);
    aws_xml_stream_free(m->stream);
    m->stream = NULL;
    return rc;
}

static enum http_next finish(struct turn *t)
{
    const struct aws_call *c = t->c;
    aws_metrics_call(c->client->host, c->api, c->action, true, t->now_ms - c->state.began_ms);
    return HTTP_DONE;
}

/* Lists that go in a circle are seen by one token that is kept, of the 1st, 2nd, 4th, 8th … page
 * (Brent): the circle is noticed within about three times its pages and those before it. */
static bool list_ends(struct aws_call_state *s, const char *token)
{
    bool again = str_eq(token, s->mark);
    s->pages++;
    if ((s->pages & (s->pages - 1)) == 0) {
        s->mark = token;
    }
    return !again && s->pages < PAGES_MAX;
}

static enum http_next take_page(struct turn *t)
{
    struct aws_call *c = t->c;
    struct aws_call_state *s = &c->state;
    if (c->on_page == NULL) {
        return finish(t);
    }
    if (!c->on_page(c, c->root, t->err)) {
        return t->err->code == ERR_OK ? finish(t) : give_up(t);
    }
    const char *token = aws_xml_text(c->root, c->api == AWS_EC2 ? "nextToken" : "NextMarker");
    if (str_is_empty(token)) {
        return finish(t);
    }
    if (strlen(token) > TOKEN_MAX || !list_ends(s, token)) {
        (void)err_set(t->err, ERR_TRANSIENT, "%s",
                      strlen(token) > TOKEN_MAX ? "the token of the next page is too long"
                                                : "the list does not end");
        return give_up(t);
    }
    s->page = token;
    s->more->streamed = false; /* they count */
    s->attempts = 0;
    s->cost = 0;
    s->delayed = false;
    s->more->body = NULL;
    return go_on(t);
}

static enum http_next take_success(struct turn *t, const struct aws_node *root)
{
    struct aws_call *c = t->c;
    aws_client_give_back(c->client, c->api, c->state.cost);
    c->state.cost = 0;
    if (c->state.probes) {
        aws_client_probe_went_well(c->client);
    }
    c->root = result_of(c, root);
    return take_page(t);
}

static const char *id_of(const struct aws_node *root)
{
    const char *id = aws_xml_text(root, "requestId");
    id = id != NULL ? id : aws_xml_text(root, "ResponseMetadata/RequestId");
    id = id != NULL ? id : aws_xml_text(root, "RequestId");
    return id != NULL ? id : aws_xml_text(root, "RequestID");
}

static enum http_next take_answer(struct turn *t, const struct http_response *resp)
{
    struct aws_call *c = t->c;
    const struct aws_node *root = NULL;
    aws_metrics_status(c->client->host, c->api, c->action, resp->status);
    if (resp->status == 0) {
        c->state.sent = false;
        return take_loss(t);
    }
    int rc = parse(t, resp, &root);
    c->state.sent = false;
    c->request_id = id_of(root);
    if (resp->status != 200 || aws_error_find(root) != NULL) {
        err_clear(t->err); /* no XML, and none is needed */
        return take_refusal(t, resp, root);
    }
    if (rc == ERR_OK && !str_eq(root->name, arena_printf(c->a, "%sResponse", c->action))) {
        rc = err_set(t->err, ERR_TRANSIENT, "the answer is about something else");
    }
    rc = rc == ERR_OK && c->on_page != NULL ? check_list(c, root, t->err) : rc;
    if (rc == ERR_OK) {
        return take_success(t, root);
    }
    c->maybe_done = c->mutates;
    return rc == ERR_TRANSIENT ? try_again(t, 0, false) : give_up(t);
}

enum http_next aws_call_step(struct aws_call *c, struct http_request *req,
                             const struct http_response *resp, int64_t now_ms, int64_t wall_us,
                             double unit, struct err *err)
{
    struct turn t = {c, req, now_ms, wall_us, unit, err};
    if (c->state.more == NULL) {
        c->state.more = ARENA_NEW(c->a, struct aws_call_more);
        c->state.more->op = arena_printf(c->a, "%s.%s", aws_api_name(c->api), c->action);
        c->state.began_ms = now_ms;
    }
    if (c->state.more->fetches) {
        return step_fetch(&t, resp);
    }
    if (resp == NULL) {
        return go_on(&t);
    }
    return c->state.sent ? take_answer(&t, resp) : give_up(&t); /* the wait was cancelled */
}

/* ---- calls as jobs --------------------------------------------------------------------------- */

struct one {
    struct http_job job;
    struct aws_call *call;
    struct str_buf body; /* of an answer that is no stream, although the call has one */
    double (*unit)(void *arg);
    void *arg;
};

static enum http_next step_one(struct http_job *job, const struct http_response *resp)
{
    struct one *o = job->arg;
    struct clock *clock = o->call->client->clock;
    struct http_response whole;
    if (resp != NULL && o->body.len > 0) {
        whole = *resp;
        whole.body = arena_strndup(o->call->a, o->body.data, o->body.len);
        whole.body_len = o->body.len;
        resp = &whole;
    }
    str_buf_done(&o->body);
    return aws_call_step(o->call, &job->req, resp, clock_now_ms(clock), clock_wall_us(clock),
                         o->unit(o->arg), &job->err);
}

static bool take_bytes_of(struct http_job *job, int status, const char *bytes, size_t n)
{
    struct one *o = job->arg;
    if (!take_bytes(o->call, status, bytes, n) && o->body.len + n <= REFUSAL_MAX) {
        str_append_n(&o->body, bytes, n);
    }
    return true;
}

/* It may have been cancelled while an answer arrived. */
static void stop_streaming(struct aws_call *c)
{
    if (c->state.more != NULL) {
        aws_xml_stream_free(c->state.more->stream);
        c->state.more->stream = NULL;
    }
}

int aws_calls_run(struct http *http, struct cancel *cancel, double (*unit)(void *arg), void *arg,
                  struct aws_call *const *calls, size_t n, struct err *errs)
{
    _cleanup_(xfreep) struct one *ones = xcalloc(n + 1, sizeof(*ones));
    _cleanup_(xfreep) struct http_job **jobs = xcalloc(n + 1, sizeof(*jobs));
    int rc = ERR_OK;
    const struct tt_call *owner = http_owner(http);
    for (size_t i = 0; i < n; i++) {
        calls[i]->background = owner != NULL && owner->background != 0;
        ones[i] = (struct one){.call = calls[i], .unit = unit, .arg = arg};
        ones[i].job = (struct http_job){.step = step_one, .arg = &ones[i], .cancel = cancel};
        ones[i].job.on_body = calls[i]->items != NULL ? take_bytes_of : NULL;
        jobs[i] = &ones[i].job;
    }
    http_run(http, jobs, n);
    for (size_t i = 0; i < n; i++) {
        errs[i] = ones[i].job.err;
        str_buf_done(&ones[i].body);
        stop_streaming(calls[i]);
        rc = rc == ERR_OK ? errs[i].code : rc;
    }
    return rc;
}
