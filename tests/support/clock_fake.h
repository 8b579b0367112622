/* SPDX-License-Identifier: Apache-2.0 */
/* clock_fake.h: a clock that a test moves.
 *
 * The product gets it as any struct clock.  Do not hold a mutex that a waiter uses while moving the
 * clock.  Thread-safe. */
#ifndef TRIMTAB_TESTS_CLOCK_FAKE_H
#define TRIMTAB_TESTS_CLOCK_FAKE_H

#include "common/base/clock.h"
#include "common/base/hooks.h"

/* A clock that stands still until moved.  Free with clock_fake_free(). */
struct clock *clock_fake_new(int64_t mono_ms, int64_t wall_us) _warn_unused_;
void clock_fake_free(struct clock *c);
/* Moves monotonic and wall time by `ms`, and wakes the waiters whose moment has come. */
void clock_fake_advance(struct clock *c, int64_t ms);
/* Moves the fake wall time alone: a clock jump. */
void clock_fake_set_wall_us(struct clock *c, int64_t wall_us);
/* The earliest moment that a hook has announced, or INT64_MAX. */
int64_t hooks_next_ms(struct hooks *h);
/* The earliest moment that a thread waits for in clock_wait(), or CLOCK_NEVER. */
int64_t clock_fake_next_ms(struct clock *c);
/* How many threads are in clock_wait() for a moment that is still to come: if it equals the number
 * that a test has started, all are idle.  One that was woken for another reason counts until it
 * runs. */
size_t clock_fake_waiting(struct clock *c);

#endif
