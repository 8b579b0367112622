/* SPDX-License-Identifier: Apache-2.0 */
/* http_drive.c: the loop of a handle.
 *
 * Owns the order of one turn: end what was stopped, cancelled or is late; begin what is due; let
 * libcurl work; deliver what has ended; sleep until the next of these can happen.  Delays
 * (not_before_ms) go by the config's clock, which may be a fake one: the handle announces its next
 * moment, and the clock calls back when it moves. Socket time-outs go by real time, always: the
 * other side is real. Steps of jobs run here and may start or stop jobs, hence every search begins
 * at the head of the list. */
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/str.h"
#include "common/net/http_internal.h"

#define DEFAULT_IDLE_MS  ((int64_t)60 * 1000)
#define DEFAULT_TOTAL_MS ((int64_t)120 * 1000)
#define MAX_SLEEP_MS     ((int64_t)60 * 1000)
#define TLS_CHECK_MS     ((int64_t)10 * 1000) /* looks at files beside a stream */
#define UNWOKEN_MS       ((int64_t)50) /* between two looks while nothing can wake the loop */
#define LULL_MIN_MS      ((int64_t)10)
#define FENCE_LOOK_MS    ((int64_t)100)  /* between two questions while a mutation is on its way */
#define OPENING_MS       ((int64_t)3000) /* for so long a stream holds up those after it */

/* When a limit with a default runs out; CLOCK_NEVER when there is none. */
static int64_t deadline(int64_t from_ms, int64_t limit_ms, int64_t default_ms)
{
    if (limit_ms < 0) {
        return CLOCK_NEVER;
    }
    return from_ms + (limit_ms == 0 ? default_ms : limit_ms);
}

static int64_t total_deadline(const struct http_transfer *t)
{
    return deadline(t->started_ms, t->job->req.total_ms, DEFAULT_TOTAL_MS);
}

/* Until it is connected, connect_ms rules (libcurl's own timer). */
static int64_t idle_deadline(const struct http_transfer *t)
{
    if (t->active_ms == 0) {
        return CLOCK_NEVER;
    }
    return deadline(t->active_ms, t->job->req.idle_ms, DEFAULT_IDLE_MS);
}

/* --- ending ---------------------------------------------------------------------------------- */

static void set_late(struct http_transfer *t, int64_t now_ms)
{
    const struct http_request *req = &t->job->req;
    if (now_ms >= total_deadline(t)) {
        int64_t ms = req->total_ms == 0 ? DEFAULT_TOTAL_MS : req->total_ms;
        err_set(http_transfer_wrong(t), ERR_TRANSIENT,
                t->status == 0 ? "no answer from %s within %s"
                               : "answer of %s was not complete within %s",
                http_origin(t), http_span(t, ms));
    } else {
        int64_t ms = req->idle_ms == 0 ? DEFAULT_IDLE_MS : req->idle_ms;
        err_set(http_transfer_wrong(t), ERR_TRANSIENT, "no byte from %s for %s", http_origin(t),
                http_span(t, ms));
    }
}

static struct http_transfer *find_late(struct http *h, int64_t now_ms)
{
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (t->running && (now_ms >= total_deadline(t) || now_ms >= idle_deadline(t))) {
            return t;
        }
    }
    return NULL;
}

static struct http_transfer *find_stopped(struct http *h)
{
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (t->stopped || t->ended || http_is_cancelled(t)) {
            return t;
        }
    }
    return NULL;
}

static void end_stopped(struct http *h)
{
    struct http_transfer *t;
    while ((t = find_stopped(h)) != NULL) {
        if (t->stopped) {
            http_stop(h, t->job);
        } else if (http_is_cancelled(t)) {
            http_transfer_cancel(t);
        } else {
            t->ended = false;
            http_transfer_complete(t, CURLE_ABORTED_BY_CALLBACK);
        }
    }
}

static void end_late(struct http *h)
{
    int64_t now_ms = http_real_ms();
    struct http_transfer *t;
    while ((t = find_late(h, now_ms)) != NULL) {
        set_late(t, now_ms);
        http_transfer_complete(t, CURLE_OPERATION_TIMEDOUT);
    }
}

/* --- fencing --------------------------------------------------------------------------------- */

static struct http_transfer *find_fenced(struct http *h)
{
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (t->running && t->sending && !h->may_mutate(h->may_mutate_arg)) {
            return t;
        }
    }
    return NULL;
}

/* A server that takes the bytes slowly would get the last ones when another process may write
 * already.  What it has not got whole it does not execute.  What the kernel still holds must not
 * arrive later, either: the connection is reset. */
static void end_fenced(struct http *h)
{
    struct http_transfer *t;
    while ((t = find_fenced(h)) != NULL) {
        err_set(http_transfer_wrong(t), ERR_CANCELLED,
                "%s to %s was broken off before it was sent whole: no changes may be made now",
                t->method, http_origin(t));
        h->resets = true;
        http_transfer_complete(t, CURLE_ABORTED_BY_CALLBACK);
        h->resets = false;
    }
}

/* --- beginning ------------------------------------------------------------------------------- */

/* Until when a stream that is not connected yet holds up others; CLOCK_NEVER when it does not. */
static int64_t opening_deadline(const struct http_transfer *t, int64_t now_ms)
{
    int64_t until_ms = t->started_ms + OPENING_MS;
    bool opens = t->running && t->active_ms == 0 && http_transfer_is_endless(t);
    return opens && now_ms < until_ms ? until_ms : CLOCK_NEVER;
}

/* Streams are to share a connection.  When several begin at once libcurl (7.88.1) makes one for
 * each of them, unless it has never spoken to the server: after a GOAWAY there would be as many
 * connections as watches.  So the next one begins when the last one is connected. */
static bool stream_opens(const struct http *h)
{
    const int64_t now_ms = http_real_ms();
    for (const struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (opening_deadline(t, now_ms) != CLOCK_NEVER) {
            return true;
        }
    }
    return false;
}

static bool has_turn(const struct http_transfer *t)
{
    return http_transfer_is_endless(t) ? !stream_opens(t->http)
                                       : t->http->n_counted < HTTP_MAX_RUNNING;
}

/* Does the request go to the server that refused the last connection?  A command does not wait for
 * it to come back. */
static bool is_in_vain(const struct http_transfer *t)
{
    const char *refused = t->http->refused;
    size_t n = strlen(refused);
    if (n == 0 || t->waits) { /* without a request yet */
        return false;
    }
    const char *url = t->job->req.url;
    return strncmp(url, refused, n) == 0 && strchr("/?", url[n]) != NULL;
}

static bool is_due(const struct http_transfer *t, int64_t now_ms)
{
    return t->waits || ((t->job->req.not_before_ms <= now_ms || is_in_vain(t)) && has_turn(t));
}

static struct http_transfer *find_due(struct http *h, int64_t now_ms)
{
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (!t->running && t->round != h->round && is_due(t, now_ms)) {
            return t;
        }
    }
    return NULL;
}

static void begin_due(struct http *h)
{
    int64_t now_ms = clock_now_ms(h->cfg.clock);
    struct http_transfer *t;
    h->round++;
    while ((t = find_due(h, now_ms)) != NULL) {
        t->round = h->round;
        if (t->waits) {
            http_transfer_step(t);
        } else {
            http_transfer_begin(t);
        }
    }
}

/* A stream may outlive its certificate: without a new request another place must look. */
static void check_tls_files(struct http *h)
{
    int64_t now_ms = clock_now_ms(h->cfg.clock);
    if (h->n_running == 0 || !http_tls_has_files(h) || now_ms - h->tls.checked_ms < TLS_CHECK_MS) {
        return;
    }
    bool changed = false;
    struct err err = ERR_INIT;
    /* A file that cannot be read matters to the next request, which will say so. */
    (void)!http_tls_refresh(h, &changed, &err);
}

/* --- libcurl --------------------------------------------------------------------------------- */

static void perform(struct http *h)
{
    int still_running;
    h->in_curl = true;
    curl_multi_perform(h->multi, &still_running);
    h->in_curl = false;

    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(h->multi, &left)) != NULL) {
        struct http_transfer *t = NULL;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
        if (msg->msg == CURLMSG_DONE) {
            http_transfer_complete(t, msg->data.result);
        }
    }
}

/* --- sleeping -------------------------------------------------------------------------------- */

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t remaining(int64_t deadline_ms, int64_t now_ms)
{
    return deadline_ms == CLOCK_NEVER ? CLOCK_NEVER : deadline_ms - now_ms;
}

/* How long nothing will happen unless bytes or a poke come.  *ret_until is the moment
 * of the config's clock for which we wait, which may be nearer or further than real time says. */
static int64_t sleep_ms(struct http *h, int64_t until_ms, int64_t *ret_until)
{
    int64_t real_ms = http_real_ms();
    int64_t now_ms = clock_now_ms(h->cfg.clock);
    int64_t ms = MAX_SLEEP_MS;
    for (struct http_transfer *t = h->first; t != NULL; t = t->next) {
        if (t->stopped || t->ended) {
            ms = 0;
        } else if (t->running) {
            ms = min_ms(ms, remaining(total_deadline(t), real_ms));
            ms = min_ms(ms, remaining(idle_deadline(t), real_ms));
            ms = min_ms(ms, remaining(opening_deadline(t, real_ms), real_ms));
            ms = t->sending ? min_ms(ms, FENCE_LOOK_MS) : ms;
        } else if (t->waits || has_turn(t)) {
            until_ms = min_ms(until_ms, is_in_vain(t) ? now_ms : t->job->req.not_before_ms);
        }
    }
    if (h->n_running > 0 && http_tls_has_files(h)) {
        until_ms = min_ms(until_ms, h->tls.checked_ms + TLS_CHECK_MS);
    }
    ms = min_ms(ms, remaining(until_ms, now_ms));
    *ret_until = until_ms;
    return ms < 0 ? 0 : ms;
}

static bool has_streams(const struct http *h)
{
    for (const struct http_transfer *t = h->first; t != NULL && !h->cfg.no_http2; t = t->next) {
        if (t->running && str_eq(t->url.scheme, "https")) {
            return true;
        }
    }
    return false;
}

/* While libcurl reads for one HTTP/2 stream it may come upon the answer of another, keep it in
 * memory, and not say that there is something to do: no socket will ever wake us for that (7.88.1,
 * one start in fifty).  A further call of it delivers the bytes.  So after each sign of life
 * we look again soon, then less and less often. */
static void learn_lull(struct http *h, int64_t slept_ms)
{
    if (slept_ms < h->lull_ms) {
        h->lull_ms = LULL_MIN_MS;
    } else {
        h->lull_ms = min_ms(h->lull_ms * 2, MAX_SLEEP_MS);
    }
}

/* Returns the descriptor that ends a sleep; -1 while none is free. */
static int wake_fd(struct http *h)
{
    int fd = atomic_load(&h->wake_fd);
    if (fd < 0) {
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        atomic_store(&h->wake_fd, fd);
    }
    return fd;
}

static void sleep_until_something(struct http *h, int64_t until_ms)
{
    bool missed = atomic_load(&h->wake_fd) < 0; /* pokes up to now found nothing to write to */
    int fd = wake_fd(h);
    int64_t ms = sleep_ms(h, until_ms, &until_ms);
    ms = missed ? min_ms(ms, UNWOKEN_MS) : ms;
    bool streams = has_streams(h);
    h->lull_ms = streams && h->lull_ms > 0 ? h->lull_ms : LULL_MIN_MS;
    ms = streams ? min_ms(ms, h->lull_ms) : ms;
    if (until_ms != CLOCK_NEVER && until_ms > 0) {
        clock_announce(h->cfg.clock, h->clock_sub, until_ms);
        /* The clock may have moved between reading and announcing; then its poke came too early. */
        if (clock_now_ms(h->cfg.clock) >= until_ms) {
            ms = 0;
        }
    }
    int64_t before_ms = http_real_ms();
    http_sleep(h, fd, ms);
    learn_lull(h, http_real_ms() - before_ms);
    clock_announce(h->cfg.clock, h->clock_sub, 0);

    uint64_t count;
    ssize_t n = fd < 0 ? 0 : read(fd, &count, sizeof(count)); /* EAGAIN: no poke */
    (void)n;
}

void http_drive(struct http *h, int64_t until_ms)
{
    bool had_done = h->any_done;
    h->any_done = false;
    end_stopped(h);
    end_late(h);
    end_fenced(h);
    check_tls_files(h);
    begin_due(h);
    perform(h);
    if (!h->any_done) {
        sleep_until_something(h, until_ms);
    }
    h->any_done |= had_done;
}
