/* SPDX-License-Identifier: Apache-2.0 */
/* clock_impl.h: what a clock is made of.  Private to clock.c, and to tests that
 * bring a clock of their own (tests/support/clock_fake.c). */
#ifndef TRIMTAB_BASE_CLOCK_IMPL_H
#define TRIMTAB_BASE_CLOCK_IMPL_H

#include "common/base/clock.h"
#include "common/base/hooks.h"

struct clock_ops {
    int64_t (*now_ms)(struct clock *c);
    int64_t (*wall_us)(struct clock *c);
    /* Called with `m` held and returns with it held. */
    void (*wait)(struct clock *c, struct cond *cond, struct mutex *m, int64_t until_ms);
};

struct clock {
    const struct clock_ops *ops;
    struct hooks *hooks; /* subscriptions; NULL for the real clock */
};

#endif
