/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: time and randomness as things that are handed in, so that tests can replace them.
 *
 * Pure state machines take `now` as a parameter and never see a clock.  Threads that wait for a
 * moment do it with clock_wait(), so that a fake clock can move them on.  Monotonic milliseconds
 * are for intervals and deadlines; wall time is for what people and servers read.  Thread-safe. */
#ifndef TRIMTAB_BASE_CLOCK_H
#define TRIMTAB_BASE_CLOCK_H

#include "common/base/attr.h"
#include "common/base/lock.h"
#include "common/base/timefmt.h"

#include <stddef.h>
#include <stdint.h>

struct clock;

#define CLOCK_NEVER INT64_MAX

/* The real clock: CLOCK_MONOTONIC and CLOCK_REALTIME.  Shared, never freed. */
struct clock *clock_real(void);

int64_t clock_now_ms(struct clock *c);  /* monotonic, ms since an arbitrary start */
int64_t clock_wall_us(struct clock *c); /* µs since 1970-01-01 UTC */
static inline int64_t clock_wall_s(struct clock *c)
{
    return clock_wall_us(c) / 1000000;
}

/* Waits on `cond` (whose mutex `m` is held) until signalled or until clock_now_ms() >= until_ms
 * (CLOCK_NEVER: no limit).  May wake early, like pthread_cond_wait.  The condition must have been
 * made with cond_init(). */
void clock_wait(struct clock *c, struct cond *cond, struct mutex *m, int64_t until_ms)
    _requires_(m);
/* Calls fn(arg) from the thread that moves a fake clock, unless the subscription has announced a
 * later moment; the real clock never calls it.  For waiters that do not sleep on a condition (a
 * curl multi handle).  Returns an id for clock_unsubscribe(). */
int clock_subscribe(struct clock *c, void (*fn)(void *arg), void *arg);
void clock_unsubscribe(struct clock *c, int id);
/* Tells a fake clock that some waiter outside clock_wait() waits for `until_ms`; 0 takes it back.
 * `id` is the subscription's.  The clock may have moved past `until_ms` before the call, without a
 * call of fn: the waiter reads the clock once more before it sleeps.  No effect on
 * the real clock. */
void clock_announce(struct clock *c, int id, int64_t until_ms);

/* --- randomness ------------------------------------------------------------------------------- */
struct rng;
struct rng *rng_real(void); /* the kernel's; shared, never freed */
struct rng *rng_seeded_new(uint64_t seed)
    _warn_unused_;            /* repeatable; for tests and the simulator */
void rng_free(struct rng *r); /* NULL and rng_real() are fine */
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t bound); /* 0 … bound-1; bound > 0 */
double rng_unit(struct rng *r);                    /* [0, 1) */
void rng_bytes(struct rng *r, void *p, size_t n);
/* A random UUID (RFC 9562 version 4) in lower case; `out` has 37 bytes. */
void rng_uuid(struct rng *r, char out[37]);

#endif
