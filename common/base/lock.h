/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h: mutexes and conditions that the compiler can check (clang -Wthread-safety).
 *
 * Order in which locks may be taken (outer first); a thread holds at most one of each row:
 *     1  controller state (queue, then the service cache)
 *     2  store
 *     3  provider caches (token, snapshot, network facts)
 *     4  event recorder, metrics
 *     5  log
 *     6  intern tables, then the memory of records (keep.h)
 * No callback runs under a lock, and no lock is held across http_do() (CONTRIBUTING.md), nor while
 * a task blocks (task.h). */
#ifndef TRIMTAB_BASE_LOCK_H
#define TRIMTAB_BASE_LOCK_H

#include "common/base/attr.h"

#include <pthread.h>
#include <stdint.h>

struct task_wait;

struct _capability_("mutex") mutex
{
    pthread_mutex_t m;
};
struct cond {
    pthread_cond_t c; /* CLOCK_MONOTONIC */
    pthread_mutex_t tasks_lock;
    _Atomic(struct task_wait *)
        tasks; /* tasks that wait (task.h), first come first; changed with tasks_lock */
};

#define MUTEX_INIT                                                                                 \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }

void mutex_init(struct mutex *m);
void mutex_done(struct mutex *m);
void mutex_lock(struct mutex *m) _acquires_(m);
void mutex_unlock(struct mutex *m) _releases_(m);
void cond_init(struct cond *c);
void cond_done(struct cond *c);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
/* Sleeps until signalled, or until `real_until_ms` of the real clock (INT64_MAX: no limit); may
 * return early.  In a task the others run meanwhile.  For clocks: all other
 * code calls clock_wait(). */
void cond_sleep(struct cond *c, struct mutex *m, int64_t real_until_ms) _requires_(m);

#endif
