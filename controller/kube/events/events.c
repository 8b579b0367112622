/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: the recorder's queue and the thread that writes Events.
 *
 * Callers copy what they know into a queue of bounded length and continue; the writer correlates
 * (event_rules.h), makes the body (event_body.h), sends, and repeats what had no answer.  An event
 * is never worth a sync: when the queue is full or the server refuses one, it is dropped and
 * logged.
 * Source: controller.md §4.10 "Flow", "Failure handling". */
#include "controller/kube/events/events.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "controller/kube/events/event_body.h"
#include "controller/kube/events/event_rules.h"
#include "controller/kube/events/event_stable.h"

#define QUEUE_MAX      1000
#define ATTEMPTS_MAX   12
#define ATTEMPT_GAP_MS 10000
#define TRIM_AFTER     200 /* events */

/* One reported event, one block with its texts: a thousand of them may wait. */
struct queued {
    struct queued *next;
    struct event_input in;
    const char *resource_version;
    int64_t now_ms;
    int64_t wall_us;
    char texts[];
};
struct kube_events {
    struct kube_client *client;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel; /* fired when the time of the last flush is over */
    pthread_t thread;
    /* the writer's */
    struct event_rules *rules;
    int64_t last_name_ns;

    struct mutex lock;
    struct cond changed; /* an event came, or closing, or done */
    struct queued *first _guarded_by_(&lock);
    struct queued *last _guarded_by_(&lock);
    size_t n _guarded_by_(&lock);
    bool writing _guarded_by_(&lock); /* an event was taken and its end is not known */
    bool waiting _guarded_by_(&lock); /* ... and the next attempt has its time */
    bool has_thread _guarded_by_(&lock);
    bool closing _guarded_by_(&lock);
    bool done _guarded_by_(&lock);
};

static void *writer_main(void *arg);

/* Without a thread the events wait in the queue, and the next one asks for it again. */
static void start_writer(struct kube_events *e) _requires_(&e->lock)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 1};
    struct err err = ERR_INIT;
    if (e->has_thread || e->closing) {
        return;
    }
    e->has_thread = thread_try(&e->thread, writer_main, e, "events", &err) == ERR_OK;
    if (!e->has_thread && log_limit_ok(&limit, clock_now_ms(e->clock))) {
        log_error(err.message, "Events wait");
    }
}

struct kube_events *kube_events_new(struct kube_client *client, struct clock *clock,
                                    struct rng *rng)
{
    struct kube_events *e = xcalloc(1, sizeof *e);
    e->client = client;
    e->clock = clock == NULL ? clock_real() : clock;
    e->rng = rng == NULL ? rng_real() : rng;
    e->cancel = cancel_new(NULL);
    e->rules = event_rules_new(NULL);
    mutex_init(&e->lock);
    cond_init(&e->changed);
    mutex_lock(&e->lock);
    start_writer(e);
    mutex_unlock(&e->lock);
    return e;
}

/* --- callers ---------------------------------------------------------------------------------- */

/* Copies the first n bytes of the text behind what stands at *at, which moves on. */
static const char *put_text(char **at, const char *text, size_t n)
{
    char *to = *at;
    memcpy(to, text, n);
    to[n] = '\0';
    *at = to + n + 1;
    return to;
}

static struct queued *queued_new(struct kube_events *e, const struct kube_event_object *o,
                                 const char *component, const char *type, const char *reason,
                                 const char *message)
{
    struct event_input in = {0};
    const struct {
        const char *text;
        const char **to;
    } texts[] = {{o->kind, &in.kind},        {o->api_version, &in.api_version},
                 {component, &in.component}, {o->ns, &in.ns},
                 {o->name, &in.name},        {o->uid, &in.uid},
                 {type, &in.type},           {reason, &in.reason},
                 {message, &in.message},     {o->resource_version, NULL}};
    size_t sizes[ARRAY_LEN(texts)];
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = str_nonnull(texts[i].text);
        sizes[i] = text == message ? event_text_cut(text, EVENT_MESSAGE_MAX) : strlen(text);
        size += sizes[i] + 1;
    }
    struct queued *q = xcalloc(1, sizeof *q + size);
    char *at = q->texts;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *copy = put_text(&at, str_nonnull(texts[i].text), sizes[i]);
        *(texts[i].to != NULL ? texts[i].to : &q->resource_version) = copy;
    }
    q->in = in;
    q->now_ms = clock_now_ms(e->clock);
    q->wall_us = clock_wall_us(e->clock);
    return q;
}

static bool enqueue(struct kube_events *e, struct queued *q)
{
    mutex_lock(&e->lock);
    bool fits = e->n < QUEUE_MAX && !e->closing;
    start_writer(e);
    if (fits) {
        if (e->last == NULL) {
            e->first = q;
        } else {
            e->last->next = q;
        }
        e->last = q;
        e->n++;
    }
    mutex_unlock(&e->lock);
    if (fits) {
        cond_broadcast(&e->changed); /* the writer does not wake to wait for the lock */
    }
    return fits;
}

void kube_events_emit(struct kube_events *e, const struct tt_service *svc, const char *component,
                      const char *type, const char *reason, const char *message)
{
    const struct kube_event_object object = {.api_version = "v1",
                                             .kind = "Service",
                                             .ns = svc->ns,
                                             .name = svc->name,
                                             .uid = svc->uid,
                                             .resource_version = svc->resource_version};
    kube_events_emit_on(e, &object, component, type, reason, message);
}

void kube_events_emit_on(struct kube_events *e, const struct kube_event_object *o,
                         const char *component, const char *type, const char *reason,
                         const char *message)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char *object = arena_printf(a, "%s/%s", str_nonnull(o->ns), str_nonnull(o->name));
    if (!str_eq(type, "Normal") && !str_eq(type, "Warning")) {
        log_error("unsupported event type", "Event dropped", LOG_S("object", object),
                  LOG_S("type", type), LOG_S("reason", reason));
        return;
    }
    log_info(0, "Event occurred", LOG_S("object", object), LOG_S("fieldPath", ""),
             LOG_S("kind", o->kind), LOG_S("apiVersion", o->api_version), LOG_S("type", type),
             LOG_S("reason", reason), LOG_S("message", message));
    const char *sent = str_eq(type, "Warning") ? event_stable(a, str_nonnull(message)) : message;
    struct queued *q = queued_new(e, o, component, type, reason, sent);
    if (!enqueue(e, q)) {
        static struct log_limit limit = {.interval_ms = 10000, .burst = 3};
        if (log_limit_ok(&limit, clock_now_ms(e->clock))) {
            log_error("the queue of events is full", "Event dropped", LOG_S("object", object),
                      LOG_S("reason", reason));
        }
        free(q);
    }
}

bool kube_events_are_quiet(struct kube_events *e)
{
    mutex_lock(&e->lock);
    bool quiet = !e->has_thread || e->waiting || (e->first == NULL && !e->writing);
    mutex_unlock(&e->lock);
    return quiet;
}

/* --- the writer ------------------------------------------------------------------------------- */

/* Waits for the next event; NULL when there is none and none will come. */
static struct queued *dequeue(struct kube_events *e)
{
    mutex_lock(&e->lock);
    e->writing = false;
    while (e->first == NULL && !e->closing) {
        clock_wait(e->clock, &e->changed, &e->lock, CLOCK_NEVER);
    }
    struct queued *q = cancel_fired(e->cancel) ? NULL : e->first;
    if (q != NULL) {
        e->first = q->next;
        e->last = e->first == NULL ? NULL : e->last;
        e->n--;
    }
    e->writing = q != NULL;
    mutex_unlock(&e->lock);
    return q;
}

/* Nanoseconds of which none comes twice, because a second event of that name would be refused. */
static int64_t next_name_ns(struct kube_events *e, int64_t wall_us)
{
    int64_t ns = wall_us * 1000;
    e->last_name_ns = ns > e->last_name_ns ? ns : e->last_name_ns + 1;
    return e->last_name_ns;
}

/* The requests for one event; name and bodies stay the same over all attempts. */
struct writing {
    struct queued *q;
    struct event_verdict verdict;
    const char *name;
    bool patch; /* false: create */
};

static int send_once(struct kube_events *e, const struct writing *w, struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char *ns = str_or(w->q->in.ns, "default");
    char *path = NULL;
    int rc = kube_path(a, "v1", ns, "events", w->patch ? w->name : NULL, NULL, &path, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct kube_response resp;
    const struct kube_request req = {
        .method = w->patch ? "PATCH" : "POST",
        .path = path,
        .content_type = w->patch ? KUBE_STRATEGIC_PATCH : NULL,
        .body = w->patch ? event_body_patch(a, &w->verdict, w->q->wall_us)
                         : event_body_create(a, &w->q->in, w->q->resource_version, &w->verdict,
                                             w->name, w->q->wall_us),
    };
    return kube_client_do(e->client, a, &req, e->cancel, &resp, err);
}

/* Sleeps before the next attempt; false when there is no time for one. */
static bool wait_for_attempt(struct kube_events *e, int attempt)
{
    int64_t wait_ms = ATTEMPT_GAP_MS;
    if (attempt == 1) { /* so that many controllers do not come back at once */
        wait_ms = (int64_t)(rng_unit(e->rng) * ATTEMPT_GAP_MS);
    }
    int64_t until_ms = clock_now_ms(e->clock) + wait_ms;
    mutex_lock(&e->lock);
    e->waiting = true;
    while (!e->closing && clock_now_ms(e->clock) < until_ms) {
        clock_wait(e->clock, &e->changed, &e->lock, until_ms);
    }
    e->waiting = false;
    bool go_on = !e->closing;
    mutex_unlock(&e->lock);
    return go_on;
}

static void log_dropped(const struct writing *w, const struct err *err)
{
    const struct event_input *in = &w->q->in;
    bool expected = err->code == ERR_EXISTS || err->code == ERR_CANCELLED ||
                    strstr(err->message, "because it is being terminated") != NULL;
    if (expected) {
        log_info(5, "Event dropped", LOG_S("namespace", in->ns), LOG_S("name", w->name),
                 LOG_S("err", err->message));
        return;
    }
    log_error(err->message,
              err->http_status != 0 ? "Server rejected event (will not retry!)"
                                    : "Unable to write event (retry limit exceeded!)",
              LOG_S("namespace", in->ns), LOG_S("name", w->name), LOG_S("reason", in->reason));
}

static void write_event(struct kube_events *e, struct writing *w)
{
    struct err err = ERR_INIT;
    for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        int rc = send_once(e, w, &err);
        if (rc == ERR_NOT_FOUND && w->patch) { /* it has expired: begin again */
            w->patch = false;
            rc = send_once(e, w, &err);
        }
        if (rc == ERR_OK) {
            return;
        }
        bool had_answer = err.http_status != 0;
        if (had_answer || rc != ERR_TRANSIENT || attempt == ATTEMPTS_MAX ||
            !wait_for_attempt(e, attempt)) {
            break;
        }
    }
    log_dropped(w, &err);
}

static void handle(struct kube_events *e, struct queued *q)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct writing w = {.q = q};
    event_rules_see(e->rules, &q->in, q->now_ms, q->wall_us, &w.verdict);
    if (w.verdict.drop) {
        log_info(5, "Event dropped as one of too many", LOG_S("namespace", q->in.ns),
                 LOG_S("object", q->in.name), LOG_S("reason", q->in.reason));
        return;
    }
    w.patch = w.verdict.patch;
    if (w.verdict.event_name != NULL) {
        w.name = arena_strdup(a, w.verdict.event_name);
    } else {
        char uuid[37];
        rng_uuid(e->rng, uuid);
        w.name = event_name(a, q->in.name, next_name_ns(e, q->wall_us), uuid);
        event_rules_named(e->rules, w.name);
    }
    write_event(e, &w);
}

/* Thousands of events leave holes, between records of the Services that they are about. */
static void trim_heap(struct kube_events *e, size_t *untrimmed)
{
    mutex_lock(&e->lock);
    bool idle = e->n == 0;
    mutex_unlock(&e->lock);
    if (idle && *untrimmed >= TRIM_AFTER) {
        *untrimmed = 0;
        (void)malloc_trim(0);
    }
}

static void *writer_main(void *arg)
{
    struct kube_events *e = arg;
    struct queued *q;
    size_t untrimmed = 0;
    while ((q = dequeue(e)) != NULL) {
        handle(e, q);
        free(q);
        untrimmed++;
        trim_heap(e, &untrimmed);
    }
    mutex_lock(&e->lock);
    e->done = true;
    cond_broadcast(&e->changed);
    mutex_unlock(&e->lock);
    return NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Real time, whatever the clock is: this bounds how long a process takes to end.  Returns true if
 * there is a thread to join. */
static bool wait_done(struct kube_events *e, int64_t timeout_ms)
{
    int64_t until_ms = clock_now_ms(clock_real()) + timeout_ms;
    mutex_lock(&e->lock);
    e->closing = true;
    cond_broadcast(&e->changed);
    while (e->has_thread && !e->done && clock_now_ms(clock_real()) < until_ms) {
        clock_wait(clock_real(), &e->changed, &e->lock, until_ms);
    }
    bool has_thread = e->has_thread;
    mutex_unlock(&e->lock);
    return has_thread;
}

static void drop_rest(struct kube_events *e) _no_lock_check_
{
    if (e->n > 0) {
        log_warning("Events were not written before the end", LOG_I("events", e->n));
    }
    while (e->first != NULL) {
        struct queued *q = e->first;
        e->first = q->next;
        free(q);
    }
}

void kube_events_free(struct kube_events *e, int64_t timeout_ms)
{
    if (e == NULL) {
        return;
    }
    bool has_thread = wait_done(e, timeout_ms);
    cancel_fire(e->cancel);
    if (has_thread) {
        (void)pthread_join(e->thread, NULL);
    }
    drop_rest(e);
    event_rules_free(e->rules);
    cancel_free(e->cancel);
    cond_done(&e->changed);
    mutex_done(&e->lock);
    free(e);
}
