/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: handles and jobs: what callers of http.h hold in their hands.
 *
 * Owns the life of a `struct http` (multi handle, wake-up, what it is bound to) and of jobs (in
 * the list from http_start() until done).  The loop is http_drive.c's, transfers are
 * http_transfer.c's.
 * Must not know methods, statuses or retries.
 * A handle belongs to one thread; http_wakeup(), cancels and fake clocks poke it from others. */
#include "common/net/http.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/net/http_internal.h"

/* Kept connections per handle: Go keeps 25 per host, and we rarely talk to more than one. */
#define MAX_KEPT_CONNECTIONS 32L

/* libcurl counts: with the first call it and OpenSSL read their configuration, with the
 * last one they drop it. */
int http_global_init(struct err *err)
{
    /* libcurl does not touch signals (CURLOPT_NOSIGNAL); a server that closes early must
     * not kill us. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return err_set(err, ERR_BUG, "libcurl cannot be initialised");
    }
    return ERR_OK;
}

void http_global_done(void)
{
    curl_global_cleanup();
}

int64_t http_real_ms(void)
{
    return clock_now_ms(clock_real());
}

/* --- waking ---------------------------------------------------------------------------------- */

void http_poke(struct http *h)
{
    uint64_t one = 1;
    int fd = atomic_load(&h->wake_fd);
    if (fd < 0) {
        return; /* the loop looks by itself */
    }
    /* EAGAIN means that the counter is full, so the poll ends anyway. */
    ssize_t n = write(fd, &one, sizeof(one));
    (void)n;
}

static void poke_cb(void *arg)
{
    http_poke(arg);
}

void http_wakeup(struct http *h)
{
    atomic_store(&h->woken, true);
    http_poke(h);
}

/* --- handles --------------------------------------------------------------------------------- */

static CURLM *multi_new(void)
{
    CURLM *multi = curl_multi_init();
    if (multi == NULL) {
        out_of_memory(0); /* it needs no descriptor */
    }
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, MAX_KEPT_CONNECTIONS);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    return multi;
}

struct http *http_new(const struct http_config *cfg)
{
    struct http *h = xcalloc(1, sizeof(*h));
    assert(cfg->observe != NULL);

    if (http_global_init(NULL) != ERR_OK) {
        out_of_memory(0);
    }
    h->cfg = *cfg;
    h->cfg.clock = cfg->clock == NULL ? clock_real() : cfg->clock;
    h->multi = multi_new();
    atomic_init(&h->wake_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    h->clock_sub = clock_subscribe(h->cfg.clock, poke_cb, h);
    http_bind(h, cfg->cancel, cfg->may_mutate, cfg->may_mutate_arg, NULL);
    return h;
}

void http_bind(struct http *h, struct cancel *cancel, bool (*may_mutate)(void *arg), void *arg,
               void *owner)
{
    if (h->cancel != NULL) {
        cancel_unhook(h->cancel, h->cancel_hook);
    }
    h->cancel = cancel;
    h->may_mutate = may_mutate;
    h->may_mutate_arg = arg;
    h->owner = owner;
    if (cancel != NULL) {
        h->cancel_hook = cancel_hook(cancel, poke_cb, h);
    }
}

void *http_owner(const struct http *h)
{
    return h->owner;
}

void http_end_job(struct http_transfer *t)
{
    err_set(&t->job->err, ERR_CANCELLED, "stopped");
    http_transfer_observe_end(t, &t->job->err);
    http_transfer_detach(t);
    http_finish_job(t);
}

void http_free(struct http *h)
{
    if (h == NULL) {
        return;
    }
    assert(!h->in_curl);
    while (h->first != NULL) {
        http_end_job(h->first);
    }
    http_bind(h, NULL, NULL, NULL, NULL);
    clock_unsubscribe(h->cfg.clock, h->clock_sub);
    while (h->spare != NULL) {
        struct http_transfer *t = h->spare;
        h->spare = t->next;
        http_transfer_free(t);
    }
    while (h->n_spare_easy > 0) {
        curl_easy_cleanup(h->spare_easy[--h->n_spare_easy]);
    }
    curl_multi_cleanup(h->multi);
    if (h->wake_fd >= 0) {
        close(h->wake_fd);
    }
    http_tls_done(&h->tls);
    free(h->fds);
    free(h);
    http_global_done();
}

void http_replace_multi(struct http *h)
{
    assert(h->n_running == 0);
    curl_multi_cleanup(h->multi);
    h->multi = multi_new();
    h->drop_connections = false;
}

/* --- jobs ------------------------------------------------------------------------------------ */

bool http_is_cancelled(const struct http_transfer *t)
{
    return cancel_fired(t->http->cancel) || cancel_fired(t->job->cancel);
}

void http_start(struct http *h, struct http_job *job)
{
    assert(job->step != NULL);
    struct http_transfer *t = http_transfer_new(h, job);
    job->done = false;
    job->transfer = t;
    err_clear(&job->err);
    t->prev = h->last;
    if (h->last != NULL) {
        h->last->next = t;
    } else {
        h->first = t;
    }
    h->last = t;
    if (job->cancel != NULL) {
        t->cancel_hook = cancel_hook(job->cancel, poke_cb, h);
    }
    http_transfer_step(t);
}

void http_finish_job(struct http_transfer *t)
{
    struct http *h = t->http;
    struct http_job *job = t->job;
    http_transfer_release(t);
    if (job->cancel != NULL) {
        cancel_unhook(job->cancel, t->cancel_hook);
    }
    if (t->prev != NULL) {
        t->prev->next = t->next;
    } else {
        h->first = t->next;
    }
    if (t->next != NULL) {
        t->next->prev = t->prev;
    } else {
        h->last = t->prev;
    }
    t->job = NULL;
    t->prev = NULL;
    t->next = h->spare;
    h->spare = t;
    job->transfer = NULL;
    job->done = true;
    h->any_done = true;
}

void http_stop(struct http *h, struct http_job *job)
{
    struct http_transfer *t = job->transfer;
    if (t == NULL || job->done) {
        return;
    }
    if (h->in_curl || t->in_step) {
        t->stopped = true; /* called from on_body or from its own step: who called these does it */
        return;
    }
    http_end_job(t);
}

/* Many requests at once are followed by few: what was recycled of the others is given back. */
static void trim(struct http *h)
{
    struct http_transfer **at = &h->spare;
    for (size_t kept = 0; *at != NULL && kept < HTTP_SPARES; kept++) {
        at = &(*at)->next;
    }
    while (*at != NULL) {
        struct http_transfer *t = *at;
        *at = t->next;
        http_transfer_free(t);
    }
}

void http_wait(struct http *h, int64_t until_ms)
{
    while (!h->any_done && !atomic_exchange(&h->woken, false) &&
           clock_now_ms(h->cfg.clock) < until_ms) {
        http_drive(h, until_ms);
    }
    h->any_done = false;
    trim(h);
}

static bool all_done(struct http_job *const *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i]->done) {
            return false;
        }
    }
    return true;
}

void http_run(struct http *h, struct http_job *const *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        http_start(h, jobs[i]);
    }
    while (!all_done(jobs, n)) {
        http_drive(h, CLOCK_NEVER);
    }
    trim(h);
}

/* --- one request ----------------------------------------------------------------------------- */

struct single {
    struct http_job job;
    struct arena *arena;
    struct http_response resp;
};

static enum http_next single_step(struct http_job *job, const struct http_response *resp)
{
    struct single *s = CONTAINER_OF(job, struct single, job);
    if (resp == NULL) {
        return HTTP_SEND;
    }
    if (resp->status == 0) {
        return HTTP_DONE;
    }
    s->resp = *resp;
    struct http_header *headers = ARENA_ARRAY(s->arena, struct http_header, resp->n_headers);
    for (size_t i = 0; i < resp->n_headers; i++) {
        headers[i].name = arena_strdup(s->arena, resp->headers[i].name);
        headers[i].value = arena_strdup(s->arena, resp->headers[i].value);
    }
    s->resp.headers = headers;
    s->resp.body = http_transfer_take_body(job->transfer, s->arena);
    return HTTP_DONE;
}

int http_do(struct http *h, struct arena *a, const struct http_request *req, struct cancel *cancel,
            struct http_response *ret, struct err *err)
{
    struct single s = {
        .job = {.step = single_step, .req = *req, .cancel = cancel},
        .arena = a,
    };
    struct http_job *job = &s.job;
    http_run(h, &job, 1);
    if (job->err.code != ERR_OK) {
        return err_copy(err, &job->err);
    }
    *ret = s.resp;
    return ERR_OK;
}
