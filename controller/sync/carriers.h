/* SPDX-License-Identifier: Apache-2.0 */
/* carriers.h: the threads below the workers: one for each, or few that carry many as tasks.
 *
 * A worker that waits for the cloud needs a stack, not a thread (common/base/task.h).  So workers
 * that block only where a task may share threads: the first CARRIERS_MAX get one each, and those
 * that follow join the thread with the fewest.  A worker never changes its thread.
 * Thread rule: one caller at a time (the lock of workers.c); a worker's function runs without it.
 * Source: docs/adr/0046-tasks.md. */
#ifndef TRIMTAB_CONTROLLER_CARRIERS_H
#define TRIMTAB_CONTROLLER_CARRIERS_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "common/base/err.h"

#define CARRIERS_MAX 4 /* threads that are shared */

struct carriers;
struct carrier; /* one thread */

/* `shares` false: each worker has a thread of its own. */
struct carriers *carriers_new(bool shares) _warn_unused_;
/* All workers have ended.  Waits until their threads have. */
void carriers_free(struct carriers *c);
/* Gives back the threads whose workers have ended, while others have not; waits for those threads
 * to return. */
void carriers_join_ended(struct carriers *c);
/* Starts a worker: work(arg, its carrier), which calls carriers_ended() as its last act.  `waits`
 * lets it ask the system for a thread for half a second.  TRANSIENT when there is none, and none
 * that could be shared.  The first one needs no file descriptor; a later one that gets none, to
 * share a thread, is refused. */
int carriers_start(struct carriers *c, void (*work)(void *arg, struct carrier *c), void *arg,
                   bool waits, struct err *err) _warn_unused_;
/* One of its workers is about to return. */
void carriers_ended(struct carrier *c);
/* Threads with a worker that has not ended. */
unsigned carriers_threads(const struct carriers *c);

#endif
