/* SPDX-License-Identifier: Apache-2.0 */
/* node_fanout.c: see node_fanout.h. */
#include "controller/sync/node_fanout.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "controller/sync/sync_internal.h"

struct node_fanout {
    const struct syncer *syncer;
    pthread_t thread;
    bool started;
    struct mutex lock;
    struct cond wake;
    bool stop _guarded_by_(lock);
    bool pending _guarded_by_(lock);
    bool running _guarded_by_(lock);
    int64_t began_ms _guarded_by_(lock); /* running: since when */
    int64_t first_ms _guarded_by_(lock);
    int64_t last_ms _guarded_by_(lock);
};

static const struct tt_kv node_queue[] = {{"name", "node"}};

static void enqueue(const struct syncer *s, const char *key)
{
    char batch_key[SYNC_BATCH_KEY_MAX];
    _cleanup_(kube_object_unrefp) struct kube_object *obj = kube_store_get(s->services, key);

    if (obj == NULL || !scope_wants(&s->scope, obj->service) ||
        scope_needs_cleanup(&s->scope, obj->service)) {
        return;
    }
    syncer_batch_key(s, obj->service, batch_key, sizeof(batch_key));
    queue_add(s->queue, key, batch_key, TT_REASON_NODES);
}

void node_fanout_pass(const struct syncer *s)
{
    int64_t started_ms = clock_now_ms(s->clock);
    struct kube_snapshot *nodes = kube_store_snapshot(s->nodes);
    struct node_set set = node_sets_of(s->node_sets, s->desc, s->provider, nodes);
    size_t n = 0;

    kube_snapshot_unref(nodes);
    char **keys = service_cache_with_other_nodes(s->cache, &set.digests, &n);
    /* Before the first is added: a worker may begin, and log, at once. */
    log_info(2, "Syncing backends for all LB services", LOG_I("changed", n));
    for (size_t i = 0; i < n; i++) {
        enqueue(s, keys[i]);
        free(keys[i]);
    }
    free(keys);
    metrics_add(s->metrics, METRIC_QUEUE_ADDS, node_queue, 1, 1);
    metrics_observe(s->metrics, METRIC_NODESYNC_LATENCY, NULL, 0,
                    (double)(clock_now_ms(s->clock) - started_ms) / 1000);
}

static int64_t due_ms(const struct node_fanout *f) _requires_(f->lock)
{
    int64_t idle = f->last_ms + FANOUT_IDLE_MS;
    int64_t most = f->first_ms + FANOUT_MAX_MS;

    if (!f->pending) {
        return CLOCK_NEVER;
    }
    return idle < most ? idle : most;
}

static void observe(const struct node_fanout *f, const char *metric, int64_t from_ms, int64_t to_ms)
{
    metrics_observe(f->syncer->metrics, metric, node_queue, 1, (double)(to_ms - from_ms) / 1000);
}

static void *fanout_thread(void *arg)
{
    struct node_fanout *f = arg;

    mutex_lock(&f->lock);
    while (!f->stop) {
        int64_t due = due_ms(f);
        if (due > clock_now_ms(f->syncer->clock)) {
            clock_wait(f->syncer->clock, &f->wake, &f->lock, due);
            continue;
        }
        f->pending = false;
        f->running = true;
        int64_t first_ms = f->first_ms;
        int64_t began_ms = clock_now_ms(f->syncer->clock);
        f->began_ms = began_ms;
        mutex_unlock(&f->lock);
        observe(f, METRIC_QUEUE_DURATION, first_ms, began_ms);
        node_fanout_pass(f->syncer);
        observe(f, METRIC_WORK_DURATION, began_ms, clock_now_ms(f->syncer->clock));
        mutex_lock(&f->lock);
        f->running = false;
    }
    mutex_unlock(&f->lock);
    return NULL;
}

struct node_fanout *node_fanout_new(const struct syncer *syncer)
{
    struct node_fanout *f = xcalloc(1, sizeof(*f));

    f->syncer = syncer;
    mutex_init(&f->lock);
    cond_init(&f->wake);
    return f;
}

int node_fanout_start(struct node_fanout *f, struct err *err)
{
    int rc = thread_start(&f->thread, fanout_thread, f, "changes of nodes", err);

    f->started = rc == ERR_OK;
    return rc;
}

void node_fanout_free(struct node_fanout *f)
{
    if (f == NULL) {
        return;
    }
    mutex_lock(&f->lock);
    f->stop = true;
    cond_broadcast(&f->wake);
    mutex_unlock(&f->lock);
    if (f->started) {
        pthread_join(f->thread, NULL);
    }
    cond_done(&f->wake);
    mutex_done(&f->lock);
    free(f);
}

void node_fanout_touch(struct node_fanout *f)
{
    int64_t now = clock_now_ms(f->syncer->clock);

    mutex_lock(&f->lock);
    if (!f->pending) {
        f->pending = true;
        f->first_ms = now;
    }
    f->last_ms = now;
    cond_signal(&f->wake);
    mutex_unlock(&f->lock);
}

struct work_ages node_fanout_ages(struct node_fanout *f)
{
    int64_t now_ms = clock_now_ms(f->syncer->clock);

    mutex_lock(&f->lock);
    int64_t age_ms = f->running ? now_ms - f->began_ms : 0;
    double depth = f->pending ? 1 : 0;
    mutex_unlock(&f->lock);
    metrics_set(f->syncer->metrics, METRIC_QUEUE_DEPTH, node_queue, 1, depth);
    return (struct work_ages){.sum_ms = age_ms, .longest_ms = age_ms};
}

bool node_fanout_is_idle(struct node_fanout *f)
{
    mutex_lock(&f->lock);
    bool idle = !f->pending && !f->running;
    mutex_unlock(&f->lock);
    return idle;
}

int64_t node_fanout_next_ms(struct node_fanout *f)
{
    mutex_lock(&f->lock);
    int64_t due = due_ms(f);
    mutex_unlock(&f->lock);
    return due;
}
