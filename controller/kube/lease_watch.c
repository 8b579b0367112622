/* SPDX-License-Identifier: Apache-2.0 */
/* lease_watch.c: the thread of lease_watch.h: watches until it is told to end.
 *
 * Without a resourceVersion the server begins with what is there (a synthetic ADDED) and goes on with changes, so no list
 * is needed and no version can be too old.  Real time throughout: this is about a server that answers or does not.
 * Must not decide anything: it calls on_free(). */
#include "controller/kube/lease_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/net/http.h"
#include "controller/kube/client.h"
#include "controller/kube/credentials.h"

#define WATCH_S    300                      /* the server ends it then */
#define TOTAL_MS   ((int64_t)330 * 1000)    /* and we a little later */
#define LINE_MAX_  ((size_t)1024 * 1024)    /* a Lease has 1 kB */
#define BODY_MAX   ((size_t)256 << 20)      /* of one watch */
#define AGAIN_MS   1000                     /* after it ended as it should */
#define BROKEN_MS  2000                     /* after trouble: this to twice this */
#define REFUSED_MS ((int64_t)5 * 60 * 1000) /* the right may be granted some day */

struct lease_watch {
    struct lease_watch_args args; /* texts in `a` */
    struct arena *a;
    struct cancel *cancel;
    struct http *http;
    pthread_t thread;
    struct mutex mutex;
    struct cond woken;
    /* the thread's: one request */
    struct arena *scratch;
    struct http_job job;
    struct str_buf line;
    int status;
};

static void *watch_main(void *arg);
static enum http_next watch_step(struct http_job *job, const struct http_response *resp);
static bool watch_bytes(struct http_job *job, int status, const char *bytes, size_t n);

/* --- life ----------------------------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct lease_watch *w = arg;
    mutex_lock(&w->mutex);
    cond_broadcast(&w->woken);
    mutex_unlock(&w->mutex);
}

static void destroy(struct lease_watch *w)
{
    http_free(w->http);
    cancel_free(w->cancel);
    cond_done(&w->woken);
    mutex_done(&w->mutex);
    str_buf_done(&w->line);
    arena_free(w->scratch);
    arena_free(w->a);
    free(w);
}

struct lease_watch *lease_watch_new(const struct lease_watch_args *args)
{
    struct lease_watch *w = xcalloc(1, sizeof *w);
    w->a = arena_new();
    w->scratch = arena_new();
    w->args = *args;
    w->args.user_agent = arena_strdup(w->a, args->user_agent);
    w->args.ns = arena_strdup(w->a, args->ns);
    w->args.name = arena_strdup(w->a, args->name);
    w->cancel = cancel_new(NULL);
    struct http_config cfg = kube_http_config(args->config, w->args.user_agent);
    cfg.cancel = w->cancel;
    w->http = http_new(&cfg);
    mutex_init(&w->mutex);
    cond_init(&w->woken);
    if (pthread_create(&w->thread, NULL, watch_main, w) != 0) {
        destroy(w);
        return NULL;
    }
    return w;
}

void lease_watch_free(struct lease_watch *w)
{
    if (w == NULL) {
        return;
    }
    cancel_fire(w->cancel);
    wake(w);
    (void)pthread_join(w->thread, NULL);
    destroy(w);
}

/* --- one request ---------------------------------------------------------------------------------- */

static const char *build_url(struct lease_watch *w, struct err *err)
{
    char *path = NULL;
    if (kube_path(w->scratch, "coordination.k8s.io/v1", w->args.ns, "leases", NULL, NULL, &path,
                  err) != ERR_OK) {
        return NULL;
    }
    return arena_printf(w->scratch,
                        "%s%s?fieldSelector=metadata.name%%3D%s&timeoutSeconds=%d&watch=true",
                        w->args.config->server, path, w->args.name, WATCH_S);
}

static enum http_next begin(struct lease_watch *w)
{
    struct kube_credentials creds;
    struct err *err = &w->job.err;
    const char *url = build_url(w, err);
    const struct credentials_waiter waiter = {.one = w->cancel};
    if (url == NULL ||
        kube_credentials_wait(w->args.config, w->scratch, 0, &waiter, &creds, err) != ERR_OK) {
        return HTTP_DONE;
    }
    w->job.req = (struct http_request){
        .method = "GET",
        .url = url,
        .headers = creds.headers,
        .n_headers = creds.n_headers,
        .bearer = creds.bearer,
        .idle_ms = -1,
        .total_ms = TOTAL_MS,
        .max_body = BODY_MAX,
    };
    return HTTP_SEND;
}

static enum http_next watch_step(struct http_job *job, const struct http_response *resp)
{
    struct lease_watch *w = job->arg;
    if (resp == NULL) {
        return begin(w);
    }
    w->status = resp->status;
    return HTTP_DONE;
}

bool lease_watch_line_says_free(const char *line, size_t n, const char *name)
{
    struct json_object *event = NULL;
    if (json_parse(line, n, NULL, &event, NULL) != ERR_OK) {
        return false;
    }
    struct json_object *lease = json_member(event, "object");
    const char *type = str_nonnull(json_str(event, "type"));
    bool is_ours = str_eq(json_str(json_member(lease, "metadata"), "name"), name);
    bool is_gone = str_eq(type, "DELETED");
    bool is_there = str_eq(type, "ADDED") || str_eq(type, "MODIFIED");
    bool is_held = !str_is_empty(json_str(json_member(lease, "spec"), "holderIdentity"));
    json_object_put(event);
    return is_ours && (is_gone || (is_there && !is_held));
}

static bool watch_bytes(struct http_job *job, int status, const char *bytes, size_t n)
{
    struct lease_watch *w = job->arg;
    (void)status;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end == NULL ? n : (size_t)(end - bytes);
        if (part > LINE_MAX_ - w->line.len) {
            return err_set(&job->err, ERR_INVALID, "a line is longer than %zu bytes", LINE_MAX_) ==
                   ERR_OK;
        }
        str_append_n(&w->line, bytes, part);
        if (end == NULL) {
            break;
        }
        if (lease_watch_line_says_free(str_buf_text(&w->line), w->line.len, w->args.name)) {
            w->args.on_free(w->args.arg);
        }
        str_buf_reset(&w->line);
        bytes = end + 1;
        n -= part + 1;
    }
    return true;
}

/* --- the thread ----------------------------------------------------------------------------------- */

/* One watch until it ends; returns how long to wait before the next. */
static int64_t watch_once(struct lease_watch *w)
{
    struct http_job *jobs[] = {&w->job};
    arena_reset(w->scratch);
    str_buf_reset(&w->line);
    w->status = 0;
    w->job = (struct http_job){.step = watch_step, .on_body = watch_bytes, .arg = w};
    http_run(w->http, jobs, 1);
    if (w->status == 200 && w->job.err.code == ERR_OK) {
        return AGAIN_MS;
    }
    bool refused = w->status >= 400 && w->status < 500;
    log_info(refused ? 2 : 4, "The lease is not watched; it is asked for instead",
             LOG_S("lease", w->args.name), LOG_I("status", w->status),
             LOG_S("err", w->job.err.message));
    return refused ? REFUSED_MS : BROKEN_MS + (int64_t)rng_below(rng_real(), (uint64_t)BROKEN_MS);
}

static void *watch_main(void *arg)
{
    struct lease_watch *w = arg;
    while (!cancel_fired(w->cancel)) {
        int64_t until_ms = clock_now_ms(clock_real()) + watch_once(w);
        mutex_lock(&w->mutex);
        while (!cancel_fired(w->cancel) && clock_now_ms(clock_real()) < until_ms) {
            clock_wait(clock_real(), &w->woken, &w->mutex, until_ms);
        }
        mutex_unlock(&w->mutex);
    }
    return NULL;
}
