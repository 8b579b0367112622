/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c: see hold.h.  A reader-writer lock whose waits can be cancelled; writers come
 * first. */
#include "common/base/hold.h"

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/lock.h"

#include <stdint.h>

struct hold {
    struct mutex lock;
    struct cond changed;
    unsigned together _guarded_by_(lock);
    unsigned waiting_alone _guarded_by_(lock);
    bool alone _guarded_by_(lock);
    uint64_t changes _guarded_by_(lock); /* how often a holder gave something back */
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
    l->changes++;
    cond_broadcast(&l->changed);
}

static bool is_free_for(const struct hold *l, enum hold_how then) _requires_(l->lock)
{
    return !l->alone && (then == HOLD_ALONE ? l->together == 0 : l->waiting_alone == 0);
}

static bool take(struct hold *l, enum hold_how then, struct cancel *cancel) _requires_(l->lock)
{
    bool alone = then == HOLD_ALONE;
    l->waiting_alone += alone;
    while (!cancel_fired(cancel) && !is_free_for(l, then)) {
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

/* Whether one more waits to be alone; those who kept back for one that no longer does may go on. */
static void count_waiting(struct hold *l, bool *counted, bool waits) _requires_(l->lock)
{
    if (*counted == waits) {
        return;
    }
    *counted = waits;
    if (waits) {
        l->waiting_alone++;
    } else {
        l->waiting_alone--;
        l->changes++;
        cond_broadcast(&l->changed);
    }
}

static enum hold_how take_as_wanted(struct hold *l, enum hold_how (*wanted)(void *arg), void *arg,
                                    struct cancel *cancel) _requires_(l->lock)
{
    bool counted = false;
    enum hold_how then = HOLD_NOT;
    while (!cancel_fired(cancel)) {
        uint64_t seen = l->changes;
        mutex_unlock(&l->lock);
        then = wanted(arg);
        mutex_lock(&l->lock);
        count_waiting(l, &counted, then == HOLD_ALONE);
        if (then == HOLD_NOT || is_free_for(l, then)) {
            l->together += then == HOLD_TOGETHER;
            l->alone = l->alone || then == HOLD_ALONE;
            count_waiting(l, &counted, false);
            return then;
        }
        while (!cancel_fired(cancel) && l->changes == seen) {
            clock_wait(clock_real(), &l->changed, &l->lock, CLOCK_NEVER);
        }
    }
    count_waiting(l, &counted, false);
    return HOLD_NOT;
}

bool hold_as_wanted(struct hold *l, enum hold_how now, enum hold_how (*wanted)(void *arg),
                    void *arg, struct cancel *cancel, enum hold_how *ret)
{
    int hook = cancel_hook(cancel, wake, l);
    mutex_lock(&l->lock);
    if (now != HOLD_NOT) {
        give_back(l, now);
    }
    *ret = take_as_wanted(l, wanted, arg, cancel);
    mutex_unlock(&l->lock);
    if (hook != 0) {
        cancel_unhook(cancel, hook);
    }
    return !cancel_fired(cancel) || *ret != HOLD_NOT;
}

void hold_share(struct hold *l)
{
    mutex_lock(&l->lock);
    l->alone = false;
    l->together++;
    l->changes++;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

bool hold_try_alone(struct hold *l)
{
    mutex_lock(&l->lock);
    bool got = !l->alone && l->together == 0 && l->waiting_alone == 0;
    l->alone = l->alone || got;
    mutex_unlock(&l->lock);
    return got;
}
