/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: whether this process gets on with its work: a leader that does not lets go of its
 * lease.
 *
 *     progress_init(&p, clock, deadline_ms);
 *     progress_note(&p);                          a cloud request was answered, a sync ended
 *     if (!progress_check(&p, &work, why, n)) …   before each renewal of the lease, and for /livez
 *
 * Having nothing to do is progress, and so is a call into a plugin that is within its time: what a
 * plugin does inside cannot be seen.  The checks themselves are noticed, too: a process that slept
 * as a whole (a stopped container, a machine that was suspended) is not blamed for it.
 * Source: none upstream; docs/operations.md, "A leader that hangs".  Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_PROGRESS_H
#define TRIMTAB_CONTROLLER_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

/* The minimum of a deadline, if there is one: a single request may take half of that. */
#define PROGRESS_DEADLINE_LEAST_MS 60000

struct progress {
    struct clock *clock;
    int64_t deadline_ms;            /* 0: it is not checked */
    atomic_int_fast64_t noted_ms;   /* the last progress */
    atomic_int_fast64_t checked_ms; /* the last check */
};

/* The pending work at the moment of a check. */
struct progress_work {
    size_t waiting;    /* keys that are due */
    size_t processing; /* keys that workers have */
    /* all of those are in calls whose inside is not seen, and within their time */
    bool calls_in_time;
};

/* `clock` must live longer.  Begins as if something had just been done. */
void progress_init(struct progress *p, struct clock *clock, int64_t deadline_ms);
/* NULL is fine. */
void progress_note(struct progress *p);
/* False: work waits, and nothing was done for the deadline; `why` (n bytes) says so. */
bool progress_check(struct progress *p, const struct progress_work *work, char *why, size_t n);

#endif
