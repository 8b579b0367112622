/* SPDX-License-Identifier: Apache-2.0 */
/* nap.c: see nap.h. */
#include "common/base/nap.h"

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/lock.h"

struct nap {
    struct mutex lock;
    struct cond woken;
};

static void wake(void *arg)
{
    struct nap *nap = arg;
    mutex_lock(&nap->lock);
    cond_broadcast(&nap->woken);
    mutex_unlock(&nap->lock);
}

void nap_until(struct clock *clock, struct cancel *cancel, int64_t until_ms)
{
    struct nap nap;
    mutex_init(&nap.lock);
    cond_init(&nap.woken);
    int hook = cancel_hook(cancel, wake, &nap);
    mutex_lock(&nap.lock);
    while (!cancel_fired(cancel) && clock_now_ms(clock) < until_ms) {
        clock_wait(clock, &nap.woken, &nap.lock, until_ms);
    }
    mutex_unlock(&nap.lock);
    cancel_unhook(cancel, hook);
    cond_done(&nap.woken);
    mutex_done(&nap.lock);
}
