/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c: lock, conditions and clock around queue_core.c.
 *
 * The condition `work` wakes a worker: something is due before any that waits would look, or the
 * queue is shut down.  Lock order: row 1 of common/base/lock.h. */
#include "controller/queue/queue.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/lock.h"

struct queue {
    struct clock *clock;
    struct mutex lock;
    struct cond work;
    struct queue_core *core _guarded_by_(lock);
    struct sleeper *sleepers _guarded_by_(lock);
};

/* A worker that waits. */
struct sleeper {
    struct sleeper *next;
    int64_t until_ms;
};

/* No worker that waits would look as soon as there is something to do. */
static bool wants_worker(const struct queue *q, int64_t now_ms) _requires_(q->lock)
{
    int64_t next_ms = queue_core_next_ms(q->core, now_ms);

    for (const struct sleeper *s = q->sleepers; s != NULL; s = s->next) {
        if (s->until_ms <= next_ms) {
            return false;
        }
    }
    return q->sleepers != NULL && next_ms != INT64_MAX;
}

/* Gives the lock back first: a worker does not wake to wait for it. */
static void unlock_and_wake(struct queue *q, int64_t now_ms) _releases_(q->lock)
{
    bool wake = wants_worker(q, now_ms);

    mutex_unlock(&q->lock);
    if (wake) {
        cond_signal(&q->work);
    }
}

struct queue *queue_new(const struct queue_limits *limits, struct clock *clock)
{
    struct queue *q = xcalloc(1, sizeof(*q));

    q->clock = clock;
    mutex_init(&q->lock);
    cond_init(&q->work);
    mutex_lock(&q->lock);
    q->core = queue_core_new(limits);
    mutex_unlock(&q->lock);
    return q;
}

void queue_free(struct queue *q)
{
    if (q == NULL) {
        return;
    }
    mutex_lock(&q->lock);
    queue_core_free(q->core);
    mutex_unlock(&q->lock);
    cond_done(&q->work);
    mutex_done(&q->lock);
    free(q);
}

void queue_add(struct queue *q, const char *key, const char *batch_key, uint32_t reasons)
{
    mutex_lock(&q->lock);
    int64_t now_ms = clock_now_ms(q->clock);
    queue_core_add(q->core, key, batch_key, reasons, now_ms);
    unlock_and_wake(q, now_ms);
}

void queue_add_after(struct queue *q, const char *key, const char *batch_key, uint32_t reasons,
                     int64_t delay_ms)
{
    mutex_lock(&q->lock);
    int64_t now_ms = clock_now_ms(q->clock);
    queue_core_add_after(q->core, key, batch_key, reasons, delay_ms, now_ms);
    unlock_and_wake(q, now_ms);
}

int64_t queue_fail(struct queue *q, const char *key, int64_t cap_ms)
{
    mutex_lock(&q->lock);
    int64_t delay = queue_core_fail_capped(q->core, key, cap_ms);
    mutex_unlock(&q->lock);
    return delay;
}

void queue_forget(struct queue *q, const char *key)
{
    mutex_lock(&q->lock);
    queue_core_forget(q->core, key);
    mutex_unlock(&q->lock);
}

void queue_freed(struct queue *q, const char *key)
{
    mutex_lock(&q->lock);
    int64_t now_ms = clock_now_ms(q->clock);
    queue_core_freed(q->core, key, now_ms);
    unlock_and_wake(q, now_ms);
}

bool queue_undelay(struct queue *q, const char *key, uint32_t reasons)
{
    mutex_lock(&q->lock);
    bool had = queue_core_undelay(q->core, key, reasons);
    mutex_unlock(&q->lock);
    return had;
}

int queue_failures(struct queue *q, const char *key)
{
    mutex_lock(&q->lock);
    int n = queue_core_failures(q->core, key);
    mutex_unlock(&q->lock);
    return n;
}

static void sleep_until(struct queue *q, int64_t until_ms) _requires_(q->lock)
{
    struct sleeper self = {.next = q->sleepers, .until_ms = until_ms};
    struct sleeper **at = &q->sleepers;

    q->sleepers = &self;
    clock_wait(q->clock, &q->work, &q->lock, until_ms);
    while (*at != &self) {
        at = &(*at)->next;
    }
    *at = self.next;
}

bool queue_get(struct queue *q, struct queue_batch *ret, bool *others_idle)
{
    bool got = false;
    int64_t now_ms = 0;

    mutex_lock(&q->lock);
    for (;;) {
        now_ms = clock_now_ms(q->clock);
        got = queue_core_get(q->core, now_ms, ret);
        if (got || queue_core_is_shut_down(q->core)) {
            break;
        }
        sleep_until(q, queue_core_next_ms(q->core, now_ms));
    }
    if (others_idle != NULL) {
        *others_idle = q->sleepers != NULL;
    }
    unlock_and_wake(q, now_ms); /* several may be due: pass the baton */
    return got;
}

void queue_done(struct queue *q, const struct queue_batch *batch)
{
    mutex_lock(&q->lock);
    int64_t now_ms = clock_now_ms(q->clock);
    for (size_t i = 0; i < batch->n; i++) {
        queue_core_done(q->core, batch->items[i].key, now_ms);
    }
    unlock_and_wake(q, now_ms);
}

void queue_shutdown(struct queue *q, bool drain)
{
    mutex_lock(&q->lock);
    queue_core_shutdown(q->core, drain);
    cond_broadcast(&q->work);
    mutex_unlock(&q->lock);
}

struct queue_counts queue_counts(struct queue *q)
{
    mutex_lock(&q->lock);
    struct queue_counts c = queue_core_counts(q->core);
    mutex_unlock(&q->lock);
    return c;
}

static bool is_idle(struct queue *q) _requires_(q->lock)
{
    int64_t now = clock_now_ms(q->clock);

    return queue_core_counts(q->core).processing == 0 && queue_core_next_ms(q->core, now) > now;
}

bool queue_is_idle(struct queue *q)
{
    mutex_lock(&q->lock);
    bool idle = is_idle(q);
    mutex_unlock(&q->lock);
    return idle;
}

int64_t queue_next_ms(struct queue *q)
{
    mutex_lock(&q->lock);
    int64_t next = queue_core_next_ms(q->core, clock_now_ms(q->clock));
    mutex_unlock(&q->lock);
    return next;
}
