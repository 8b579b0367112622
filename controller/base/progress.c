/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. */
#include "controller/base/progress.h"

#include <inttypes.h>
#include <stdio.h>

void progress_init(struct progress *p, struct clock *clock, int64_t deadline_ms)
{
    p->clock = clock;
    p->deadline_ms = deadline_ms;
    atomic_init(&p->noted_ms, clock_now_ms(clock));
    atomic_init(&p->checked_ms, clock_now_ms(clock));
}

void progress_note(struct progress *p)
{
    if (p != NULL) {
        atomic_store(&p->noted_ms, clock_now_ms(p->clock));
    }
}

bool progress_check(struct progress *p, const struct progress_work *work, char *why, size_t n)
{
    int64_t now_ms = clock_now_ms(p->clock);
    int64_t unchecked_ms = now_ms - atomic_exchange(&p->checked_ms, now_ms);
    bool idle = work->processing == 0 ? work->waiting == 0 : work->calls_in_time;

    if (p->deadline_ms == 0) {
        return true;
    }
    if (idle || unchecked_ms > p->deadline_ms / 2) {
        atomic_store(&p->noted_ms, now_ms);
        return true;
    }
    int64_t quiet_ms = now_ms - atomic_load(&p->noted_ms);
    if (quiet_ms <= p->deadline_ms) {
        return true;
    }
    (void)snprintf(why, n,
                   "no cloud request was answered and no sync has ended for %" PRId64
                   " s, while %zu Services are being synced and %zu wait (--progress-deadline)",
                   quiet_ms / 1000, work->processing, work->waiting);
    return false;
}
