/* SPDX-License-Identifier: Apache-2.0 */
/* http_receive.c: libcurl's callbacks: what comes in, and the last moment before something goes
 * out.
 *
 * Owns the caps on headers and body, the collecting of both, the time of the last byte, and
 * may_mutate before the first byte (http_drive.c asks again while a body is on its way). A callback
 * that finds something wrong writes http_transfer_wrong() and makes libcurl stop; http_errors.c
 * prefers that text to libcurl's own.
 * Must not remove handles from the multi: libcurl is on the stack. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/net/http_internal.h"

#define MAX_HEADER_BYTES                                                                           \
    ((size_t)64 * 1024) /* all of an answer, interim ones and trailers included */
#define DEFAULT_MAX_BODY ((size_t)32 * 1024 * 1024)
#define KEPT_BODY_BYTES  ((size_t)256 * 1024) /* a recycled transfer holds no more than this */

static size_t on_header(char *bytes, size_t size, size_t n, void *arg);
static size_t on_body(char *bytes, size_t size, size_t n, void *arg);
static int on_progress(void *arg, curl_off_t dl_total, curl_off_t dl_now, curl_off_t ul_total,
                       curl_off_t ul_now);
static int on_ready_to_send(void *arg, char *remote_ip, char *local_ip, int remote_port,
                            int local_port);

void http_receive_reset(struct http_transfer *t)
{
    t->status = 0;
    t->sending = false;
    t->head_done = false;
    t->header_bytes = 0;
    t->answer_headers = NULL;
    t->n_headers = t->cap_headers = 0;
    t->body_bytes = 0;
    t->bytes_moved = 0;
    t->curl_text[0] = '\0';
    if (t->body.cap > KEPT_BODY_BYTES) {
        str_buf_done(&t->body);
    }
    str_buf_reset(&t->body);
}

void http_receive_setup(struct http_transfer *t)
{
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_text);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(e, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_ready_to_send);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
}

/* --- about to send --------------------------------------------------------------------------- */

/* Replayable requests, as Go's transport calls them: after a lost answer they may be sent again. */
static bool is_replayable(const struct http_transfer *t)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (str_eq(t->method, methods[i])) {
            return true;
        }
    }
    return false;
}

/* A redirect may have turned the mutation into a plain GET. */
static bool hop_mutates(const struct http_transfer *t)
{
    return t->job->req.mutates && (t->redirects == 0 || !is_replayable(t));
}

static void observe_lost_copy(struct http_transfer *t)
{
    struct err err = ERR_INIT;
    (void)http_error_broken(t, NULL, &err);
    http_transfer_observe(t, &err);
    t->counts = true;
    t->hop_ms = http_real_ms();
}

/* The connection stands, nothing of the request has been written. */
static int on_ready_to_send(void *arg, char *remote_ip, char *local_ip, int remote_port,
                            int local_port)
{
    (void)remote_ip, (void)local_ip, (void)remote_port, (void)local_port;
    struct http_transfer *t = arg;
    struct http *h = t->http;
    t->active_ms = http_real_ms();
    /* libcurl sends once more when a kept connection ends without an answer.  The first copy of a
     * mutation may have been executed: its caller must look before it is repeated. */
    bool mutates = hop_mutates(t);
    if (t->sends > 0 && (mutates || !is_replayable(t))) {
        http_error_broken(t, NULL, http_transfer_wrong(t));
        return CURL_PREREQFUNC_ABORT;
    }
    if (t->sends > 0) {
        observe_lost_copy(t);
    }
    if (mutates && http_is_cancelled(t)) {
        t->counts = false;
        err_set(http_transfer_wrong(t), ERR_CANCELLED, "cancelled before %s was asked",
                http_origin(t));
        return CURL_PREREQFUNC_ABORT;
    }
    if (mutates && h->may_mutate != NULL && !h->may_mutate(h->may_mutate_arg)) {
        t->counts = false;
        err_set(http_transfer_wrong(t), ERR_CANCELLED,
                "%s to %s was not sent: no changes may be made now", t->method, http_origin(t));
        return CURL_PREREQFUNC_ABORT;
    }
    t->sends++;
    t->sending = mutates && h->may_mutate != NULL && t->with_body && t->job->req.body_len > 0;
    return CURL_PREREQFUNC_OK;
}

static int on_progress(void *arg, curl_off_t dl_total, curl_off_t dl_now, curl_off_t ul_total,
                       curl_off_t ul_now)
{
    (void)dl_total, (void)ul_total;
    struct http_transfer *t = arg;
    t->sending = t->sending && ul_now < (curl_off_t)t->job->req.body_len;
    if (dl_now + ul_now != t->bytes_moved) {
        t->bytes_moved = dl_now + ul_now;
        t->active_ms = http_real_ms();
    }
    return 0;
}

/* --- headers --------------------------------------------------------------------------------- */

/* "HTTP/1.1 200 OK" or "HTTP/2 200": the number after the first blank. */
static int parse_status(const char *line, size_t n)
{
    const char *p = memchr(line, ' ', n);
    int status = 0;
    for (size_t i = 1; p != NULL && i <= 3 && p + i < line + n; i++) {
        status = isdigit((unsigned char)p[i]) ? status * 10 + (p[i] - '0') : 0;
    }
    return status;
}

static void keep_header(struct http_transfer *t, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    if (colon == NULL) {
        return;
    }
    if (t->n_headers == t->cap_headers) {
        size_t cap = t->cap_headers == 0 ? 16 : t->cap_headers * 2;
        struct http_header *grown = ARENA_ARRAY(t->arena, struct http_header, cap);
        if (t->n_headers > 0) {
            memcpy(grown, t->answer_headers, t->n_headers * sizeof(*grown));
        }
        t->answer_headers = grown;
        t->cap_headers = cap;
    }
    char *name = arena_strndup(t->arena, line, n); /* one block for both */
    char *value = name + (colon - line);
    *value++ = '\0';
    t->answer_headers[t->n_headers++] =
        (struct http_header){.name = name, .value = str_trim_here(value)};
}

static size_t on_header(char *bytes, size_t size, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    n *= size;
    t->active_ms = http_real_ms();
    t->header_bytes += n;
    t->sending = false; /* the server has made up its mind */
    if (t->header_bytes > MAX_HEADER_BYTES) {
        err_set(http_transfer_wrong(t), ERR_INVALID,
                "headers of the answer of %s are larger than %zu bytes", http_origin(t),
                MAX_HEADER_BYTES);
        return 0;
    }
    if (memchr(bytes, '\0', n) != NULL) {
        err_set(http_transfer_wrong(t), ERR_INVALID, "answer of %s has a NUL in its headers",
                http_origin(t));
        return 0;
    }
    bool blank = n <= 2 && (bytes[0] == '\r' || bytes[0] == '\n');
    /* 1xx answers come before the real one; the first status line after them starts again. */
    bool interim = t->head_done && t->status >= 100 && t->status < 200;
    if ((t->status == 0 || interim) && n > 5 && strncasecmp(bytes, "HTTP/", 5) == 0) {
        t->status = parse_status(bytes, n);
        t->head_done = false;
        t->n_headers = 0;
    } else if (blank) {
        t->head_done = true;
        http_transfer_observe_head(t);
    } else if (!t->head_done) {
        keep_header(t, bytes, n);
    }
    return n;
}

/* --- body ------------------------------------------------------------------------------------ */

static bool stream(struct http_transfer *t, const char *bytes, size_t n)
{
    struct http_job *job = t->job;
    err_clear(&job->err);
    if (t->stopped || job->on_body(job, t->status, bytes, n)) {
        return !t->stopped;
    }
    if (job->err.code != ERR_OK) {
        err_copy(http_transfer_wrong(t), &job->err);
    } else {
        err_set(http_transfer_wrong(t), ERR_INVALID, "answer of %s was refused", http_origin(t));
    }
    return false;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    n *= size;
    size_t most = t->job->req.max_body == 0 ? DEFAULT_MAX_BODY : t->job->req.max_body;
    t->active_ms = http_real_ms();
    if (n > most - t->body_bytes) {
        err_set(http_transfer_wrong(t), ERR_INVALID, "answer of %s is larger than %zu bytes",
                http_origin(t), most);
        return 0;
    }
    t->body_bytes += n;
    bool is_2xx = t->status >= 200 && t->status <= 299;
    if (t->job->on_body != NULL && is_2xx) {
        return stream(t, bytes, n) ? n : 0;
    }
    str_append_n(&t->body, bytes, n);
    return n;
}
