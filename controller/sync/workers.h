/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h: the workers that take batches from the queue, started when they are needed.
 *
 * One waits at first; whenever one takes work and no other waits, another is started, up to the limit
 * (--concurrent-service-syncs and the provider's max_parallel): it counts Services, or batches, in flight.  With a built-in
 * provider workers are tasks on at most CARRIERS_MAX threads (carriers.h), so that a quiet cluster costs one thread and a busy
 * one few.  With a plugin each worker is a thread, and one that is in a call beyond its deadline is replaced by another one
 * (late_calls.h), up to syncer.late_max of them; when it comes back, one ends.
 * Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_WORKERS_H
#define TRIMTAB_CONTROLLER_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "controller/sync/sync.h"

struct workers;

struct workers *workers_new(const struct syncer *syncer, unsigned most) _warn_unused_;
int workers_start(struct workers *w, struct err *err) _warn_unused_;
/* How long what is with the workers has been there. */
struct work_ages {
    int64_t sum_ms;     /* of all keys, added up */
    int64_t longest_ms; /* of the one that was taken first */
    int64_t stuck_ms; /* of the call into the provider that is well beyond its time-out; 0: none */
};
struct work_ages workers_ages(struct workers *w);
/* Brings the series of the queue up to date; the workers do it, too, whenever one has ended a batch. */
void workers_publish(struct workers *w);
/* How many threads carry the workers now. */
unsigned workers_threads(struct workers *w);
/* After queue_shutdown(): waits until all have ended, at most until `real_until_ms` of the real clock, and frees.
 * False: some are still inside the provider; nothing was freed, and nothing they use may be. */
bool workers_end(struct workers *w, int64_t real_until_ms);

#endif
