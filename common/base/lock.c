/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: thin wrappers over pthread mutexes and conditions.
 *
 * A failing lock call is a broken invariant (destroyed or foreign mutex), so it aborts: carrying on
 * without the lock would corrupt state.  Conditions count on CLOCK_MONOTONIC so that a jump of the
 * wall clock never wakes or stalls a thread.  Tasks (task.h) wait in a queue of the condition
 * beside the threads that sleep in it; a signal wakes one of each kind.  The clang annotations
 * stand in lock.h; the wrappers themselves are opaque to the analysis. */
#include "common/base/lock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/task.h"

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
    task_count_mutex(1);
}

_no_lock_check_ void mutex_unlock(struct mutex *m)
{
    task_count_mutex(-1);
    must(pthread_mutex_unlock(&m->m), "pthread_mutex_unlock");
}

void cond_init(struct cond *c)
{
    pthread_condattr_t attr;
    must(pthread_condattr_init(&attr), "pthread_condattr_init");
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    must(pthread_cond_init(&c->c, &attr), "pthread_cond_init");
    must(pthread_condattr_destroy(&attr), "pthread_condattr_destroy");
    must(pthread_mutex_init(&c->tasks_lock, NULL), "pthread_mutex_init");
    atomic_init(&c->tasks, NULL);
}

void cond_done(struct cond *c)
{
    assert(atomic_load(&c->tasks) == NULL);
    must(pthread_mutex_destroy(&c->tasks_lock), "pthread_mutex_destroy");
    must(pthread_cond_destroy(&c->c), "pthread_cond_destroy");
}

/* ---- tasks that wait ------------------------------------------------------------------------- */

static void lock_tasks(struct cond *c)
{
    must(pthread_mutex_lock(&c->tasks_lock), "pthread_mutex_lock");
}

static void unlock_tasks(struct cond *c)
{
    must(pthread_mutex_unlock(&c->tasks_lock), "pthread_mutex_unlock");
}

static void enqueue(struct cond *c, struct task_wait *w)
{
    lock_tasks(c);
    struct task_wait *first = atomic_load(&c->tasks);
    struct task_wait *last = first;
    while (last != NULL && last->next != NULL) {
        last = last->next;
    }
    if (last == NULL) {
        atomic_store(&c->tasks, w);
    } else {
        last->next = w;
    }
    w->queued = true;
    unlock_tasks(c);
}

/* Of a task whose time is over.  One that was signalled has been taken out by the signal. */
static void dequeue(struct cond *c, struct task_wait *w)
{
    lock_tasks(c);
    if (w->queued) {
        struct task_wait *before = NULL;
        for (struct task_wait *i = atomic_load(&c->tasks); i != w; i = i->next) {
            before = i;
        }
        if (before == NULL) {
            atomic_store(&c->tasks, w->next);
        } else {
            before->next = w->next;
        }
        w->queued = false;
    }
    unlock_tasks(c);
}

/* A task enters its queue before it gives its mutex back; so a caller that has changed anything
 * under that mutex sees it. */
static void wake_tasks(struct cond *c, bool all)
{
    if (atomic_load(&c->tasks) == NULL) {
        return;
    }
    lock_tasks(c);
    struct task_wait *w = atomic_load(&c->tasks);
    while (w != NULL) {
        struct task_wait *next = w->next;
        w->queued = false;
        atomic_store(&c->tasks, next);
        task_wake(w->task); /* it cannot go on before unlock_tasks() */
        w = all ? next : NULL;
    }
    unlock_tasks(c);
}

_no_lock_check_ static void sleep_as_task(struct cond *c, struct mutex *m, int64_t real_until_ms)
{
    struct task_wait self = {.task = task_current()};
    task_will_sleep();
    enqueue(c, &self);
    mutex_unlock(m);
    task_sleep(real_until_ms);
    dequeue(c, &self);
    mutex_lock(m);
}

_no_lock_check_ void cond_sleep(struct cond *c, struct mutex *m, int64_t real_until_ms)
{
    if (task_current() != NULL) {
        sleep_as_task(c, m, real_until_ms);
        return;
    }
    if (real_until_ms == INT64_MAX) {
        (void)pthread_cond_wait(&c->c, &m->m); /* cannot fail with a held mutex */
        return;
    }
    int64_t until_ms = real_until_ms < 0 ? 0 : real_until_ms;
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&c->c, &m->m, &until); /* callers look at the clock themselves */
}

void cond_signal(struct cond *c)
{
    wake_tasks(c, false);
    must(pthread_cond_signal(&c->c), "pthread_cond_signal");
}

void cond_broadcast(struct cond *c)
{
    wake_tasks(c, true);
    must(pthread_cond_broadcast(&c->c), "pthread_cond_broadcast");
}
