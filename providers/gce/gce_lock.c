/* SPDX-License-Identifier: Apache-2.0 */
/* gce_lock.c: see gce_lock.h.  A reader-writer lock whose waits can be cancelled; writers come
 * first. */
#include "providers/gce/gce_lock.h"

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/lock.h"

struct gce_lock {
    struct mutex lock;
    struct cond changed;
    unsigned together _guarded_by_(lock);
    unsigned waiting_alone _guarded_by_(lock);
    bool alone _guarded_by_(lock);
};

struct gce_lock *gce_lock_new(void)
{
    struct gce_lock *l = xcalloc(1, sizeof(*l));
    mutex_init(&l->lock);
    cond_init(&l->changed);
    return l;
}

void gce_lock_free(struct gce_lock *l)
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
    struct gce_lock *l = arg;
    mutex_lock(&l->lock);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

static void give_back(struct gce_lock *l, enum gce_hold now) _requires_(l->lock)
{
    if (now == GCE_HOLD_TOGETHER) {
        l->together--;
    } else if (now == GCE_HOLD_ALONE) {
        l->alone = false;
    }
    cond_broadcast(&l->changed);
}

static bool take(struct gce_lock *l, enum gce_hold then, struct cancel *cancel) _requires_(l->lock)
{
    bool alone = then == GCE_HOLD_ALONE;
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

bool gce_lock_change(struct gce_lock *l, enum gce_hold now, enum gce_hold then,
                     struct cancel *cancel)
{
    if (now == then) {
        return true;
    }
    int hook = then == GCE_HOLD_NOT ? 0 : cancel_hook(cancel, wake, l);
    mutex_lock(&l->lock);
    give_back(l, now);
    bool got = then == GCE_HOLD_NOT || take(l, then, cancel);
    mutex_unlock(&l->lock);
    if (hook != 0) {
        cancel_unhook(cancel, hook);
    }
    return got;
}

bool gce_lock_try_alone(struct gce_lock *l)
{
    mutex_lock(&l->lock);
    bool got = !l->alone && l->together == 0 && l->waiting_alone == 0;
    l->alone = l->alone || got;
    mutex_unlock(&l->lock);
    return got;
}
