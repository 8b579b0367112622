/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: the real clock, and the one face over both clocks.
 *
 * A clock is a table of five functions; the real one is here, the fake one in clock_fake.c.
 * Milliseconds are CLOCK_MONOTONIC, wall time is CLOCK_REALTIME.  Thread-safe. */
#include "common/base/clock_impl.h"

#include <time.h>

static int64_t real_now_ms(struct clock *c)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t real_wall_us(struct clock *c)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Called by clock_wait(), whose callers hold the mutex. */
_no_lock_check_ static void real_wait(struct clock *c, struct cond *cond, struct mutex *m,
                                      int64_t until_ms)
{
    cond_sleep(cond, m, until_ms);
}

static const struct clock_ops real_ops = {
    .now_ms = real_now_ms,
    .wall_us = real_wall_us,
    .wait = real_wait,
};

struct clock *clock_real(void)
{
    static const struct clock real = {.ops = &real_ops};
    return (struct clock *)&real; /* no member is ever written: a real clock has no state */
}

int64_t clock_now_ms(struct clock *c)
{
    return c->ops->now_ms(c);
}

int64_t clock_wall_us(struct clock *c)
{
    return c->ops->wall_us(c);
}

void clock_wait(struct clock *c, struct cond *cond, struct mutex *m, int64_t until_ms)
{
    c->ops->wait(c, cond, m, until_ms);
}

int clock_subscribe(struct clock *c, void (*fn)(void *arg), void *arg)
{
    return c->hooks != NULL ? hooks_add(c->hooks, fn, arg) : 0;
}

void clock_unsubscribe(struct clock *c, int id)
{
    if (c->hooks != NULL) {
        hooks_remove(c->hooks, id);
    }
}

void clock_announce(struct clock *c, int id, int64_t until_ms)
{
    if (c->hooks != NULL) {
        hooks_announce(c->hooks, id, until_ms);
    }
}
