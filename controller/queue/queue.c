/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c: lock, conditions and clock around queue_core.c.
 *
 * The condition `work` wakes workers: something was added, a delay may have become the earliest
 * one, shut down.  Lock order: row 1 of common/base/lock.h. */
#include "controller/queue/queue.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/lock.h"

struct queue {
    struct clock *clock;
    struct mutex lock;
    struct cond work;
    struct queue_core *core _guarded_by_(lock);
    unsigned idle_workers _guarded_by_(lock);
};

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
    queue_core_add(q->core, key, batch_key, reasons, clock_now_ms(q->clock));
    cond_signal(&q->work);
    mutex_unlock(&q->lock);
}

void queue_add_after(struct queue *q, const char *key, const char *batch_key, uint32_t reasons,
                     int64_t delay_ms)
{
    mutex_lock(&q->lock);
    queue_core_add_after(q->core, key, batch_key, reasons, delay_ms, clock_now_ms(q->clock));
    cond_signal(&q->work);
    mutex_unlock(&q->lock);
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

bool queue_get(struct queue *q, struct queue_batch *ret, bool *others_idle)
{
    bool got = false;

    mutex_lock(&q->lock);
    for (;;) {
        int64_t now = clock_now_ms(q->clock);
        got = queue_core_get(q->core, now, ret);
        if (got || queue_core_is_shut_down(q->core)) {
            break;
        }
        q->idle_workers++;
        clock_wait(q->clock, &q->work, &q->lock, queue_core_next_ms(q->core, now));
        q->idle_workers--;
    }
    if (others_idle != NULL) {
        *others_idle = q->idle_workers > 0;
    }
    if (got) {
        cond_signal(&q->work); /* several may be due: pass the baton */
    }
    mutex_unlock(&q->lock);
    return got;
}

void queue_done(struct queue *q, const struct queue_batch *batch)
{
    mutex_lock(&q->lock);
    for (size_t i = 0; i < batch->n; i++) {
        queue_core_done(q->core, batch->items[i].key, clock_now_ms(q->clock));
    }
    cond_signal(&q->work);
    mutex_unlock(&q->lock);
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
