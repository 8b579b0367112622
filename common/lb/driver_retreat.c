/* SPDX-License-Identifier: Apache-2.0 */
/* driver_retreat.c: the last stage of a sync, for items that have failed: it takes back what
 * earlier stages have done for their sake alone.
 *
 * An undo (driver_undo.c) puts back what an operation took away.  Here it is the other way round:
 * something was added for the next write (ranges let in where the traffic was to go, an address for
 * a first load balancer), the next write was refused, and nothing needs the addition now.  The flow
 * has a list of such retreats (struct lb_retreat): for which items, and by which stages.  Those
 * items take part in these stages alone, without their error, and get it back afterwards: a retreat
 * changes no result but for its message.  Part of driver.h; one thread. */
#include "common/base/str.h"
#include "common/lb/driver_internal.h"

#include <limits.h>
#include <string.h>

#define ASIDE UINT_MAX /* a group that is never released: waits while others retreat */

/* Keeps the errors of those that retreat in `was`; false: none does. */
static bool set_apart(struct drive *d, const struct lb_retreat *retreat, struct err *was)
{
    bool some = false;
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        bool failed = item->err.code != ERR_OK && !item->unpublished;
        item->retreats = failed && retreat->needed(&d->s, item);
        was[i] = item->err;
        some = some || item->retreats;
    }
    for (size_t i = 0; some && i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        item->group = item->retreats ? 0 : ASIDE;
        if (item->retreats) {
            err_clear(&item->err);
        }
    }
    return some;
}

/* The item's own error stays its result; one of the retreat is added to the message. */
static void give_back(struct drive *d, const struct lb_retreat *retreat, struct lb_item *item,
                      const struct err *was)
{
    struct err own = *was;
    bool done = item->err.code == ERR_OK;
    if (!done) {
        (void)err_set(&own, was->code, "%s; what was added for it could not be taken back: %s",
                      was->message, item->err.message);
        own.http_status = was->http_status;
        own.retry_after_ms = was->retry_after_ms;
        memcpy(own.reason, was->reason, sizeof(own.reason));
    }
    item->err = own;
    item->retreats = false;
    if (retreat->ended != NULL) {
        retreat->ended(&d->s, item, done);
    }
}

static void run(struct drive *d, const struct lb_retreat *retreat, struct err *was)
{
    if (cancel_fired(d->s.cancel) || !set_apart(d, retreat, was)) {
        return;
    }
    for (size_t i = 0; i < retreat->n_stages; i++) {
        drive_stage(d, &retreat->stages[i]);
    }
    for (size_t i = 0; i < d->s.n_items; i++) {
        d->s.items[i].group = 0;
        if (d->s.items[i].retreats) {
            give_back(d, retreat, &d->s.items[i], &was[i]);
        }
    }
}

void drive_retreat(struct drive *d)
{
    const struct lb_flow *flow = d->cfg->flow;
    struct err *was = ARENA_ARRAY(d->s.life, struct err, d->s.n_items + 1);
    for (size_t i = 0; i < flow->n_retreats; i++) {
        run(d, &flow->retreats[i], was);
    }
}
