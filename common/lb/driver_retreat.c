/* SPDX-License-Identifier: Apache-2.0 */
/* driver_retreat.c: the last stage of a sync, for items that have failed: it takes back what
 * earlier stages have done for their sake alone.
 *
 * An undo (driver_undo.c) puts back what an operation took away.  Here it is the other way round:
 * something was added so that the next write interrupts no client (ranges let in where the traffic
 * was to go), the next write was refused, and nothing needs the addition now.  The flow says for
 * which items (lb_flow.retreats) and how (lb_flow.retreat).  Those items take part in that stage
 * alone, without their error, and get it back afterwards: the retreat changes no result.  Part of
 * driver.h; one thread. */
#include "common/base/str.h"
#include "common/lb/driver_internal.h"

#include <limits.h>
#include <string.h>

#define ASIDE UINT_MAX /* a group that is never released: waits while others retreat */

/* Keeps the errors of those that retreat in `was`; false: none does. */
static bool set_apart(struct drive *d, struct err *was)
{
    bool some = false;
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        was[i] = item->err;
        item->retreats = item->err.code != ERR_OK && d->cfg->flow->retreats(&d->s, &d->s.items[i]);
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
static void give_back(struct lb_item *item, const struct err *was)
{
    struct err own = *was;
    if (item->err.code != ERR_OK) {
        (void)err_set(&own, was->code, "%s; what was added for it could not be taken back: %s",
                      was->message, item->err.message);
        own.http_status = was->http_status;
        own.retry_after_ms = was->retry_after_ms;
        memcpy(own.reason, was->reason, sizeof(own.reason));
        item->retreats = false;
    }
    item->err = own;
}

void drive_retreat(struct drive *d)
{
    const struct lb_flow *flow = d->cfg->flow;
    if (flow->retreat == NULL || cancel_fired(d->s.cancel)) {
        return;
    }
    struct err *was = ARENA_ARRAY(d->s.life, struct err, d->s.n_items + 1);
    if (!set_apart(d, was)) {
        return;
    }
    drive_stage(d, flow->retreat);
    for (size_t i = 0; i < d->s.n_items; i++) {
        d->s.items[i].group = 0;
        if (was[i].code != ERR_OK && (d->s.items[i].retreats || d->s.items[i].err.code == ERR_OK)) {
            give_back(&d->s.items[i], &was[i]);
        }
    }
}
