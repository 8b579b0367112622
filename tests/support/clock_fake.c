/* SPDX-License-Identifier: Apache-2.0 */
/* clock_fake.c: a clock for tests that stands still until moved.
 *
 * A thread or task in clock_wait() really sleeps on the caller's condition.  A move broadcasts the
 * conditions of those waiters whose moment has come, each with its caller's mutex held, so no
 * wake-up is lost between the look at the clock and the sleep; the others sleep on.
 *
 * Order of locks: the caller's mutex, then the clock's.  The mover must therefore not take a
 * waiter's mutex while it holds the clock's; it *pins* the waiter instead, lets go of the clock,
 * and only then takes the waiter's mutex.  A waiter that wakes up for another reason lets go of its
 * mutex until it is no longer pinned, so the mover never touches a condition that is gone.
 * Rule for tests: do not hold a mutex that a waiter uses while moving the clock. Thread-safe. */
#include "tests/support/clock_fake.h"
#include "common/base/arena.h"
#include "common/base/clock_impl.h"

struct waiter {
    struct waiter *next;
    struct cond *cond;   /* borrowed from the thread that waits */
    struct mutex *mutex; /* the same */
    int64_t until_ms;
    int pins;          /* movers that are about to use cond and mutex */
    uint64_t woken_by; /* number of the last move that woke it */
};

struct fake_clock {
    struct clock clock; /* first: a struct clock * is cast to this */
    struct mutex lock;  /* all members below */
    struct cond unpinned;
    int64_t mono_ms;
    int64_t wall_us;
    uint64_t moves;
    struct waiter *waiters; /* on the stacks of the waiting threads */
    struct hooks hooks;     /* own lock; called without any other */
};

static struct fake_clock *fake_of(struct clock *c)
{
    return CONTAINER_OF(c, struct fake_clock, clock);
}

static int64_t fake_now_ms(struct clock *c)
{
    struct fake_clock *f = fake_of(c);
    mutex_lock(&f->lock);
    int64_t now = f->mono_ms;
    mutex_unlock(&f->lock);
    return now;
}

static int64_t fake_wall_us(struct clock *c)
{
    struct fake_clock *f = fake_of(c);
    mutex_lock(&f->lock);
    int64_t now = f->wall_us;
    mutex_unlock(&f->lock);
    return now;
}

static void waiter_remove(struct fake_clock *f, struct waiter *w)
{
    for (struct waiter **at = &f->waiters; *at != NULL; at = &(*at)->next) {
        if (*at == w) {
            *at = w->next;
            return;
        }
    }
}

_no_lock_check_ static void fake_wait(struct clock *c, struct cond *cond, struct mutex *m,
                                      int64_t until_ms)
{
    struct fake_clock *f = fake_of(c);
    struct waiter self = {.cond = cond, .mutex = m, .until_ms = until_ms};
    mutex_lock(&f->lock);
    if (f->mono_ms >= until_ms) {
        mutex_unlock(&f->lock);
        return;
    }
    self.next = f->waiters;
    self.woken_by = f->moves;
    f->waiters = &self;
    mutex_unlock(&f->lock);

    cond_sleep(cond, m, CLOCK_NEVER);

    mutex_lock(&f->lock);
    waiter_remove(f, &self);
    if (self.pins > 0) {
        /* A mover wants `m`: let it have it, else both wait forever. */
        mutex_unlock(m);
        while (self.pins > 0) {
            (void)pthread_cond_wait(&f->unpinned.c, &f->lock.m);
        }
        mutex_unlock(&f->lock);
        mutex_lock(m);
        return;
    }
    mutex_unlock(&f->lock);
}

static const struct clock_ops fake_ops = {
    .now_ms = fake_now_ms,
    .wall_us = fake_wall_us,
    .wait = fake_wait,
};

struct clock *clock_fake_new(int64_t mono_ms, int64_t wall_us)
{
    struct fake_clock *f = xcalloc(1, sizeof *f);
    hooks_init(&f->hooks);
    f->clock.ops = &fake_ops;
    f->clock.hooks = &f->hooks;
    mutex_init(&f->lock);
    cond_init(&f->unpinned);
    f->mono_ms = mono_ms;
    f->wall_us = wall_us;
    return &f->clock;
}

void clock_fake_free(struct clock *c)
{
    if (c == NULL) {
        return;
    }
    struct fake_clock *f = fake_of(c);
    hooks_done(&f->hooks);
    cond_done(&f->unpinned);
    mutex_done(&f->lock);
    free(f);
}

/* The next waiter whose moment has come and that `move` has not woken yet, pinned; NULL
 * when there is none. */
static struct waiter *waiter_pin(struct fake_clock *f, uint64_t move)
{
    mutex_lock(&f->lock);
    struct waiter *w = f->waiters;
    while (w != NULL && (w->until_ms > f->mono_ms || w->woken_by >= move)) {
        w = w->next;
    }
    if (w != NULL) {
        w->woken_by = move;
        w->pins++;
    }
    mutex_unlock(&f->lock);
    return w;
}

static void waiter_unpin(struct fake_clock *f, struct waiter *w)
{
    mutex_lock(&f->lock);
    w->pins--;
    cond_broadcast(&f->unpinned);
    mutex_unlock(&f->lock);
}

void clock_fake_advance(struct clock *c, int64_t ms)
{
    struct fake_clock *f = fake_of(c);
    mutex_lock(&f->lock);
    f->mono_ms += ms;
    f->wall_us += ms * 1000;
    int64_t now_ms = f->mono_ms;
    uint64_t move = ++f->moves;
    mutex_unlock(&f->lock);

    struct waiter *w;
    while ((w = waiter_pin(f, move)) != NULL) {
        struct cond *cond = w->cond;
        struct mutex *m = w->mutex;
        mutex_lock(m);
        cond_broadcast(cond);
        mutex_unlock(m);
        waiter_unpin(f, w);
    }
    hooks_run(&f->hooks, now_ms);
}

void clock_fake_set_wall_us(struct clock *c, int64_t wall_us)
{
    struct fake_clock *f = fake_of(c);
    mutex_lock(&f->lock);
    f->wall_us = wall_us;
    mutex_unlock(&f->lock);
}

int64_t hooks_next_ms(struct hooks *h)
{
    int64_t next = INT64_MAX;
    mutex_lock(&h->lock);
    for (struct hook *hook = h->list; hook != NULL; hook = hook->next) {
        if (hook->until_ms != 0 && hook->until_ms < next) {
            next = hook->until_ms;
        }
    }
    mutex_unlock(&h->lock);
    return next;
}

int64_t clock_fake_next_ms(struct clock *c)
{
    struct fake_clock *f = fake_of(c);
    int64_t next = hooks_next_ms(&f->hooks);
    mutex_lock(&f->lock);
    for (struct waiter *w = f->waiters; w != NULL; w = w->next) {
        if (w->until_ms < next) {
            next = w->until_ms;
        }
    }
    mutex_unlock(&f->lock);
    return next;
}

size_t clock_fake_waiting(struct clock *c)
{
    struct fake_clock *f = fake_of(c);
    size_t n = 0;
    mutex_lock(&f->lock);
    for (struct waiter *w = f->waiters; w != NULL; w = w->next) {
        n += w->until_ms > f->mono_ms;
    }
    mutex_unlock(&f->lock);
    return n;
}
