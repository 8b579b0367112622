/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c: see hold.h.  A reader-writer lock whose waits can be cancelled; writers come
 * first. */
#include "common/base/hold.h"

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/lock.h"

struct hold {
    struct mutex lock;
    struct cond changed;
    unsigned together _guarded_by_(lock);
    unsigned waiting_alone _guarded_by_(lock);
    bool alone _guarded_by_(lock);
};

struct hold *hold_new(void)
{
    struct hold *l = xcalloc(1, sizeof(*l));
    mutex_init(&l->lock);
    cond_init(&l->changed);
    return l;
}

void hold_free(struct hold *l)
{
    if (l == NULL) {
        return;
    }
    cond_done(&l->changed);
    mutex_done(&l->lock);
    free(l);
}

static void wake(void *arg)
{
    struct hold *l = arg;
    mutex_lock(&l->lock);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

static void give_back(struct hold *l, enum hold_how now) _requires_(l->lock)
{
    if (now == HOLD_TOGETHER) {
        l->together--;
    } else if (now == HOLD_ALONE) {
        l->alone = false;
    }
    cond_broadcast(&l->changed);
}

static bool take(struct hold *l, enum hold_how then, struct cancel *cancel) _requires_(l->lock)
{
    bool alone = then == HOLD_ALONE;
    l->waiting_alone += alone;
    while (!cancel_fired(cancel) &&
           (l->alone || (alone ? l->together > 0 : l->waiting_alone > 0))) {
        clock_wait(clock_real(), &l->changed, &l->lock, CLOCK_NEVER);
    }
    l->waiting_alone -= alone;
    if (cancel_fired(cancel)) {
        cond_broadcast(&l->changed);
        return false;
    }
    l->together += !alone;
    l->alone = alone;
    return true;
}

bool hold_change(struct hold *l, enum hold_how now, enum hold_how then, struct cancel *cancel)
{
    if (now == then) {
        return true;
    }
    int hook = then == HOLD_NOT ? 0 : cancel_hook(cancel, wake, l);
    mutex_lock(&l->lock);
    give_back(l, now);
    bool got = then == HOLD_NOT || take(l, then, cancel);
    mutex_unlock(&l->lock);
    if (hook != 0) {
        cancel_unhook(cancel, hook);
    }
    return got;
}

bool hold_try_alone(struct hold *l)
{
    mutex_lock(&l->lock);
    bool got = !l->alone && l->together == 0 && l->waiting_alone == 0;
    l->alone = l->alone || got;
    mutex_unlock(&l->lock);
    return got;
}
