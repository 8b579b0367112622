/* SPDX-License-Identifier: Apache-2.0 */
/* clock_mover.h: moves a fake clock on while threads wait for it, and never over the head of one
 * that has work.
 *
 * For tests that do not care how long a back-off or a simulated cloud takes.  Thread-safe. */
#ifndef TESTS_SUPPORT_CLOCK_MOVER_H
#define TESTS_SUPPORT_CLOCK_MOVER_H

#include "common/base/attr.h"
#include "common/base/clock.h"

#include <stdbool.h>

/* Moves `c` to the earliest moment that a thread waits for and returns true, if all other threads
 * of the process sleep and that moment is to come within `most_ms` (CLOCK_NEVER: whenever).
 * Otherwise blocks for a millisecond of real time. */
bool clock_let_pass(struct clock *c, int64_t most_ms);

/* A thread that does nothing but clock_let_pass(). */
struct clock_mover;
struct clock_mover *clock_mover_start(struct clock *c) _warn_unused_;
/* Waits until the thread has ended; returns how often it moved the clock.  NULL is fine: 0. */
int clock_mover_stop(struct clock_mover *m);

#endif
