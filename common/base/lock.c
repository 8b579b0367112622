/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: thin wrappers over pthread mutexes and conditions.
 *
 * A failing lock call is a broken invariant (destroyed or foreign mutex), so it aborts: carrying on
 * without the lock would corrupt state.  Conditions count on CLOCK_MONOTONIC so that a jump of the
 * wall clock never wakes or stalls a thread.  The clang annotations stand in lock.h; the wrappers
 * themselves are opaque to the analysis. */
#include "common/base/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(int rc, const char *what)
{
    if (rc != 0) {
        fprintf(stderr, "%s: error %d\n", what, rc);
        abort();
    }
}

void mutex_init(struct mutex *m)
{
    must(pthread_mutex_init(&m->m, NULL), "pthread_mutex_init");
}

void mutex_done(struct mutex *m)
{
    must(pthread_mutex_destroy(&m->m), "pthread_mutex_destroy");
}

_no_lock_check_ void mutex_lock(struct mutex *m)
{
    must(pthread_mutex_lock(&m->m), "pthread_mutex_lock");
}

_no_lock_check_ void mutex_unlock(struct mutex *m)
{
    must(pthread_mutex_unlock(&m->m), "pthread_mutex_unlock");
}

void cond_init(struct cond *c)
{
    pthread_condattr_t attr;
    must(pthread_condattr_init(&attr), "pthread_condattr_init");
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    must(pthread_cond_init(&c->c, &attr), "pthread_cond_init");
    must(pthread_condattr_destroy(&attr), "pthread_condattr_destroy");
}

void cond_done(struct cond *c)
{
    must(pthread_cond_destroy(&c->c), "pthread_cond_destroy");
}

void cond_signal(struct cond *c)
{
    must(pthread_cond_signal(&c->c), "pthread_cond_signal");
}

void cond_broadcast(struct cond *c)
{
    must(pthread_cond_broadcast(&c->c), "pthread_cond_broadcast");
}
