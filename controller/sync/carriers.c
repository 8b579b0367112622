/* SPDX-License-Identifier: Apache-2.0 */
/* carriers.c: see carriers.h.
 *
 * A carrier whose last worker has been counted out takes no other one: its thread is about to end,
 * and is joined when the next worker is started.
 * A thread with tasks needs a file descriptor.  When none is free, the first worker has its thread
 * alone, so that a process can take over without one.  The others ask again: a worker without tasks
 * never shares, so a few of them would fill all places for good. */
#include "controller/sync/carriers.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/base/task.h"

struct carrier {
    struct carrier *next;
    pthread_t thread;
    struct task_loop *loop; /* NULL: its one worker has the whole thread */
    unsigned n;             /* workers that have not ended */
};

struct carriers {
    bool shares;
    struct carrier *first; /* newest first */
};

/* Function and argument of a new worker; freed by it. */
struct start {
    void (*work)(void *arg, struct carrier *c);
    void *arg;
    struct carrier *carrier;
};

struct carriers *carriers_new(bool shares)
{
    struct carriers *c = xcalloc(1, sizeof(*c));

    c->shares = shares;
    return c;
}

void carriers_join_ended(struct carriers *c)
{
    struct carrier **at = &c->first;

    while (*at != NULL) {
        struct carrier *one = *at;
        if (one->n > 0) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        (void)pthread_join(one->thread, NULL); /* started, and joined here alone */
        task_loop_free(one->loop);
        free(one);
    }
}

void carriers_free(struct carriers *c)
{
    carriers_join_ended(c);
    free(c);
}

unsigned carriers_threads(const struct carriers *c)
{
    unsigned n = 0;

    for (const struct carrier *one = c->first; one != NULL; one = one->next) {
        n += one->n > 0;
    }
    return n;
}

void carriers_ended(struct carrier *c)
{
    c->n--;
}

static void run_start(void *arg)
{
    struct start s = *(struct start *)arg;

    free(arg);
    s.work(s.arg, s.carrier);
}

static void *run_alone(void *arg)
{
    run_start(arg);
    return NULL;
}

static void *run_tasks(void *arg)
{
    task_loop_run(arg);
    return NULL;
}

/* The loop of a new thread; none for a worker that has it alone. */
static int begin_loop(const struct carriers *c, struct carrier *one, struct err *err)
{
    if (!c->shares) {
        return ERR_OK;
    }
    int rc = task_loop_new(&one->loop, err);
    if (rc != ERR_OK && c->first == NULL) {
        err_clear(err);
        return ERR_OK;
    }
    return rc;
}

/* A thread for `s`, as its only worker or as its first task. */
static int begin_thread(const struct carriers *c, struct start *s, bool waits, struct err *err)
{
    struct carrier *one = s->carrier;
    int rc = begin_loop(c, one, err);
    bool tasks = one->loop != NULL;

    if (rc == ERR_OK && tasks) {
        rc = task_start(one->loop, run_start, s, err);
    }
    void *(*run)(void *arg) = tasks ? run_tasks : run_alone;
    void *arg = tasks ? (void *)one->loop : s;
    if (rc == ERR_OK) {
        rc = waits ? thread_start(&one->thread, run, arg, "a worker", err)
                   : thread_try(&one->thread, run, arg, "a worker", err);
    }
    return rc;
}

static int add_carrier(struct carriers *c, struct start *s, bool waits, struct err *err)
{
    struct carrier *one = xcalloc(1, sizeof(*one));

    s->carrier = one;
    one->n = 1; /* before its thread can count it out */
    int rc = begin_thread(c, s, waits, err);
    if (rc != ERR_OK) {
        task_loop_free(one->loop);
        free(one);
        return rc;
    }
    one->next = c->first;
    c->first = one;
    return ERR_OK;
}

static int add_task(struct carrier *one, struct start *s, struct err *err)
{
    s->carrier = one;
    int rc = task_start(one->loop, run_start, s, err);
    one->n += rc == ERR_OK;
    return rc;
}

/* The one that carries the fewest; NULL when there is none to share. */
static struct carrier *least(const struct carriers *c)
{
    struct carrier *ret = NULL;

    for (struct carrier *one = c->first; one != NULL; one = one->next) {
        if (one->loop != NULL && (ret == NULL || one->n < ret->n)) {
            ret = one;
        }
    }
    return ret;
}

int carriers_start(struct carriers *c, void (*work)(void *arg, struct carrier *c), void *arg,
                   bool waits, struct err *err)
{
    struct start *s = xcalloc(1, sizeof(*s));
    int rc = ERR_TRANSIENT;

    *s = (struct start){.work = work, .arg = arg};
    carriers_join_ended(c);
    struct carrier *shared = least(c);
    if (!c->shares || carriers_threads(c) < CARRIERS_MAX) {
        rc = add_carrier(c, s, waits, err);
    }
    if (rc != ERR_OK && shared != NULL) { /* a thread that is refused costs a turn, no worker */
        err_clear(err);
        rc = add_task(shared, s, err);
    }
    if (rc != ERR_OK) {
        free(s);
    }
    return rc;
}
