/* SPDX-License-Identifier: Apache-2.0 */
/* http_transfer.c: one transfer from a job's wish to its answer.
 *
 * Owns: easy handles and their recycling, redirects, the delivery of answers to job->step, and the
 * one place that reports requests to the observer (http_sent).
 * Redirects are followed here and not by libcurl, because each hop of a mutation must ask
 * may_mutate again, and because neither tokens nor client certificates may reach another origin.
 * Must not loop or wait: http_drive.c calls.  One thread. */
#include <assert.h>
#include <string.h>

#include "common/net/http_internal.h"
#include "common/net/url_build.h"

static void deliver(struct http_transfer *t, const struct err *err);

/* --- life ------------------------------------------------------------------------------------ */

struct http_transfer *http_transfer_new(struct http *h, struct http_job *job)
{
    struct http_transfer *t = h->spare;
    if (t != NULL) {
        h->spare = t->next;
    } else {
        t = xcalloc(1, sizeof(*t));
        t->http = h;
        t->arena = arena_new();
    }
    t->next = NULL;
    t->job = job;
    t->stopped = t->ended = t->waits = t->counts = false;
    t->round = 0;
    return t;
}

void http_transfer_free(struct http_transfer *t)
{
    assert(t->easy == NULL);
    str_buf_done(&t->body);
    arena_free(t->arena);
    free(t);
}

struct err *http_transfer_wrong(struct http_transfer *t)
{
    if (t->wrong == NULL) {
        t->wrong = ARENA_NEW(t->arena, struct err);
    }
    return t->wrong;
}

static void take_easy(struct http_transfer *t)
{
    struct http *h = t->http;
    if (t->easy != NULL) {
        return; /* the next hop of a redirect */
    }
    t->easy = h->n_spare_easy > 0 ? h->spare_easy[--h->n_spare_easy] : curl_easy_init();
    if (t->easy == NULL) {
        out_of_memory(0);
    }
}

void http_transfer_release(struct http_transfer *t)
{
    struct http *h = t->http;
    CURL *easy = STEAL(t->easy);
    if (easy == NULL) {
        return;
    }
    /* Its options point into this transfer. */
    curl_easy_reset(easy);
    curl_slist_free_all(STEAL(t->headers));
    curl_slist_free_all(STEAL(t->connect_to));
    if (h->n_spare_easy < HTTP_SPARES) {
        h->spare_easy[h->n_spare_easy++] = easy;
    } else {
        curl_easy_cleanup(easy);
    }
}

bool http_transfer_is_endless(const struct http_transfer *t)
{
    return t->job->req.total_ms < 0;
}

void http_transfer_detach(struct http_transfer *t)
{
    if (t->running) {
        curl_multi_remove_handle(t->http->multi, t->easy);
        t->running = false;
        t->http->n_running--;
        t->http->n_counted -= !http_transfer_is_endless(t);
    }
}

/* --- steps ----------------------------------------------------------------------------------- */

static void take_step(struct http_transfer *t, const struct http_response *resp)
{
    t->in_step = true;
    enum http_next next = t->job->step(t->job, resp);
    t->in_step = false;
    t->waits = next == HTTP_WAIT;
    if (t->stopped) {
        http_end_job(t);
    } else if (next == HTTP_DONE) {
        http_finish_job(t);
    } else {
        err_clear(&t->job->err);
        str_buf_done(&t->body); /* the next answer may be far away */
    }
}

void http_transfer_step(struct http_transfer *t)
{
    take_step(t, NULL);
}

/* --- begin ----------------------------------------------------------------------------------- */

static void add_to_multi(struct http_transfer *t)
{
    struct http *h = t->http;
    if (h->drop_connections && h->n_running == 0) {
        http_replace_multi(h);
    }
    curl_multi_add_handle(h->multi, t->easy);
    t->running = true;
    t->counts = true;
    t->began = false;
    t->hop_ms = http_real_ms();
    h->n_running++;
    h->n_counted += !http_transfer_is_endless(t);
}

/* Sends t->url as it stands; false with *err when it cannot even be tried. */
static bool send_hop(struct http_transfer *t, struct err *err)
{
    http_receive_reset(t);
    t->sends = 0;
    t->active_ms = 0;
    take_easy(t);
    bool changed;
    if (http_tls_refresh(t->http, &changed, err) != ERR_OK || http_send_setup(t, err) != ERR_OK) {
        return false;
    }
    add_to_multi(t);
    return true;
}

static bool parse_target(struct http_transfer *t, const char *url, struct err *err)
{
    if (url_parse(t->arena, url, &t->url, err) != ERR_OK || url_check_sent(url, err) != ERR_OK) {
        return false;
    }
    if (!str_eq(t->url.scheme, "http") && !str_eq(t->url.scheme, "https")) {
        err_set(err, ERR_INVALID, "URL scheme \"%s\" is neither http nor https", t->url.scheme);
        return false;
    }
    return true;
}

void http_transfer_begin(struct http_transfer *t)
{
    const struct http_request *req = &t->job->req;
    struct err err;
    arena_reset(t->arena);
    t->wrong = NULL;
    t->url = (struct url){0};
    t->started_ms = http_real_ms();
    t->method = req->method == NULL ? "GET" : req->method;
    t->with_body = req->body != NULL;
    t->with_credentials = true;
    t->redirects = 0;
    http_receive_reset(t);
    if (!parse_target(t, req->url, &err) || !send_hop(t, &err)) {
        err_copy(http_transfer_wrong(t), &err);
        http_transfer_complete(t, CURLE_ABORTED_BY_CALLBACK);
    }
}

/* --- redirects ------------------------------------------------------------------------------- */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static const char *location(const struct http_transfer *t)
{
    const struct http_response r = {.headers = t->answer_headers, .n_headers = t->n_headers};
    return http_response_header(&r, "Location");
}

static bool wants_redirect(const struct http_transfer *t)
{
    return t->job->req.max_redirects > 0 && is_redirect(t->status) && location(t) != NULL;
}

/* The reference of RFC 3986 §5 against the URL that was asked. */
static char *resolve(struct http_transfer *t, const char *ref)
{
    char *base = NULL;
    char *out = NULL;
    char *result = NULL;
    CURLU *u = curl_url();
    /* Not the effective URL of libcurl: that may name the TLS server name instead of the host. */
    base = arena_printf(t->arena, "%s%s%s%s", url_origin(t->arena, &t->url),
                        t->url.path[0] == '\0' ? "/" : t->url.path, t->url.query == NULL ? "" : "?",
                        str_nonnull(t->url.query));
    if (u != NULL && curl_url_set(u, CURLUPART_URL, base, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_URL, ref, CURLU_URLENCODE) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_URL, &out, 0) == CURLUE_OK) {
        result = arena_strdup(t->arena, out);
    }
    curl_free(out);
    curl_url_cleanup(u);
    return result;
}

static bool same_origin(const struct url *a, const struct url *b)
{
    return str_eq(a->scheme, b->scheme) && str_eq(a->host, b->host) && a->port == b->port;
}

/* As browsers and Go do it: 301, 302 and 303 turn everything but HEAD into a GET without a body. */
static void redirect_method(struct http_transfer *t)
{
    bool keeps = t->status == 307 || t->status == 308 || str_eq(t->method, "HEAD");
    if (!keeps) {
        t->method = "GET";
        t->with_body = false;
    }
}

/* True when the next hop is on its way; false with an error. */
static bool follow_redirect(struct http_transfer *t, struct err *err)
{
    if (t->redirects == t->job->req.max_redirects) {
        err_set(err, ERR_INVALID, "%s redirected more than %d times", http_origin(t), t->redirects);
        return false;
    }
    struct url from = t->url;
    char *target = resolve(t, location(t));
    if (target == NULL) {
        err_set(err, ERR_INVALID, "%s redirected to something that is not a URL", http_origin(t));
        return false;
    }
    target[strcspn(target, "#")] = '\0'; /* a fragment is for browsers; no server sees it */
    if (!parse_target(t, target, err)) {
        err_prefix(err, "redirect of %s", url_origin(t->arena, &from));
        return false;
    }
    t->redirects++;
    redirect_method(t);
    t->with_credentials = t->with_credentials && same_origin(&from, &t->url);
    return send_hop(t, err);
}

/* --- complete -------------------------------------------------------------------------------- */

void http_transfer_complete(struct http_transfer *t, CURLcode code)
{
    struct err err = ERR_INIT;
    if (t->stopped) {
        http_end_job(t);
        return;
    }
    /* libcurl is content with headers that end in the middle, or with nothing after a 1xx. */
    if (code == CURLE_OK && (!t->head_done || t->status < 200)) {
        code = CURLE_GOT_NOTHING;
    }
    if (code != CURLE_OK || t->wrong != NULL) {
        (void)http_error_of(t, code, &err);
    }
    http_transfer_detach(t);
    http_transfer_observe(t, err.code == ERR_OK ? NULL : &err);
    if (err.code == ERR_OK && wants_redirect(t) && follow_redirect(t, &err)) {
        return;
    }
    deliver(t, err.code == ERR_OK ? NULL : &err);
}

/* --- observing ------------------------------------------------------------------------------- */

static void tell(struct http_transfer *t, enum http_sent_part part, int status,
                 const struct err *err)
{
    struct http *h = t->http;
    const struct http_sent sent = {
        .job = t->job,
        .owner = h->owner,
        .part = part,
        .method = t->method,
        .status = status,
        .took_ms = http_real_ms() - t->hop_ms,
        .sent_bytes = t->with_body ? t->job->req.body_len : 0,
        .received_bytes = t->body_bytes,
        .err = err,
    };
    h->cfg.observe(h->cfg.observe_arg, &sent);
}

void http_transfer_observe(struct http_transfer *t, const struct err *err)
{
    if (!t->counts) {
        return;
    }
    t->counts = false;
    if (t->began) {
        tell(t, HTTP_SENT_ENDED, t->status, err);
    } else {
        tell(t, HTTP_SENT_WHOLE, err == NULL ? t->status : 0, err);
    }
}

void http_transfer_observe_end(struct http_transfer *t, const struct err *err)
{
    t->counts = t->counts && t->sends > 0;
    http_transfer_observe(t, err);
}

void http_transfer_observe_head(struct http_transfer *t)
{
    if (t->counts && !t->began && t->status >= 200 && t->status <= 299 && t->job->req.streams) {
        t->began = true;
        tell(t, HTTP_SENT_BEGAN, t->status, NULL);
    }
}

/* --- deliver --------------------------------------------------------------------------------- */

static int http_version(CURL *easy)
{
    long v = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &v);
    return v == CURL_HTTP_VERSION_1_0 ? 10 : v == CURL_HTTP_VERSION_2_0 ? 20 : 11;
}

static struct http_response build_response(struct http_transfer *t, const struct err *err)
{
    struct http_response r = {
        .body = "",
        .received_bytes = t->body_bytes,
        .took_ms = t->started_ms == 0 ? 0 : http_real_ms() - t->started_ms,
    };
    if (err != NULL) {
        return r;
    }
    long connects = 0;
    curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
    r.status = t->status;
    r.body = str_buf_text(&t->body);
    r.body_len = t->body.len;
    r.headers = t->answer_headers;
    r.n_headers = t->n_headers;
    r.reused = connects == 0;
    r.http_version = http_version(t->easy);
    return r;
}

static void deliver(struct http_transfer *t, const struct err *err)
{
    struct http_response resp = build_response(t, err);
    http_transfer_release(t);
    err_clear(&t->job->err);
    if (err != NULL) {
        err_copy(&t->job->err, err);
    }
    take_step(t, &resp);
}

void http_transfer_cancel(struct http_transfer *t)
{
    struct http_job *job = t->job;
    struct err err;
    err_set(&err, ERR_CANCELLED, "%s%s", t->running ? "cancelled while waiting for " : "cancelled",
            t->running ? http_origin(t) : "");
    http_transfer_observe_end(t, &err);
    http_transfer_detach(t);
    struct http_response resp = {.body = ""};
    err_copy(&job->err, &err);
    t->in_step = true;
    enum http_next next = job->step(job, &resp);
    t->in_step = false;
    if (next != HTTP_DONE || job->err.code == ERR_OK) {
        err_copy(&job->err, &err); /* nothing more is sent, whatever it wishes */
    }
    http_finish_job(t);
}

char *http_transfer_take_body(struct http_transfer *t, struct arena *a)
{
    /* Small bodies are copied, or each would keep a buffer that was grown for a bigger one. */
    const size_t worth_moving = (size_t)64 * 1024;
    if (t->body.len < worth_moving) {
        return arena_memdup(a, str_buf_text(&t->body), t->body.len + 1);
    }
    char *text = str_buf_steal(&t->body);
    arena_defer(a, free, text);
    return text;
}
