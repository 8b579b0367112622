/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h: the work queue that threads share: queue_core.h behind a lock, with waiting.
 *
 * Producers (reflector thread, node fan-out, workers that retry) add keys; workers block in
 * queue_get().  Waiting goes through the injected clock, so a fake clock moves it on.  The
 * functions with the same names as in queue_core.h mean the same; `now` is the clock's.
 * Thread-safe.  Nothing is called under the lock. */
#ifndef TRIMTAB_CONTROLLER_QUEUE_H
#define TRIMTAB_CONTROLLER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "controller/queue/queue_core.h"

struct queue;

struct queue *queue_new(const struct queue_limits *limits, struct clock *clock) _warn_unused_;
void queue_free(struct queue *q); /* no thread may be waiting in it; NULL is fine */

void queue_add(struct queue *q, const char *key, const char *batch_key, uint32_t reasons);
void queue_add_after(struct queue *q, const char *key, const char *batch_key, uint32_t reasons,
                     int64_t delay_ms);
int64_t queue_fail(struct queue *q, const char *key, int64_t cap_ms);
void queue_forget(struct queue *q, const char *key);
void queue_freed(struct queue *q, const char *key);
bool queue_undelay(struct queue *q, const char *key, uint32_t reasons);
int queue_failures(struct queue *q, const char *key);

/* Blocks until something is due; false: shut down (and drained).  `others_idle` (may be NULL) is
 * set to whether another thread waits in queue_get() now. */
bool queue_get(struct queue *q, struct queue_batch *ret, bool *others_idle);
void queue_done(struct queue *q, const struct queue_batch *batch);
void queue_shutdown(struct queue *q, bool drain);

struct queue_counts queue_counts(struct queue *q);
/* Nothing is due now and nothing is being processed; delayed keys may wait. */
bool queue_is_idle(struct queue *q);
/* The moment of the next delayed key or batch; CLOCK_NEVER: none. */
int64_t queue_next_ms(struct queue *q);

#endif
