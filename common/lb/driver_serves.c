/* SPDX-License-Identifier: Apache-2.0 */
/* driver_serves.c: the status of a Service is written when what serves stands, not when the last
 * operation has ended.
 *
 * Releases of held addresses and deletions of what is used no more (lb_op.tail) go on meanwhile.
 * If one of them fails, or the process dies, the address is published all the same, and the next
 * sync finds the rest as any interrupted run left it (docs/adr/0053).
 * Part of driver.h; one thread. */
#include "common/lb/driver_internal.h"

/* Of one Service: all but tails has ended well, and a tail is not over.  Without a tail the end of
 * the sync is as near. */
static bool serves(const struct drive *d, const char *key, const unsigned *outcomes)
{
    bool tidies = false;
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        if (op->verb == LB_KEEP || !str_set_has(&op->owners, key)) {
            continue;
        }
        bool open = outcomes[i] == LB_NOT_RUN;
        if ((outcomes[i] & LB_FAILED) != 0 || (open && !op->tail && !d->tidying)) {
            return false;
        }
        tidies = tidies || open;
    }
    return tidies;
}

void drive_note_serving(void *arg, const unsigned *outcomes)
{
    struct drive *d = arg;
    const struct lb_flow *flow = d->cfg->flow;
    const struct tt_host *host = d->s.host;
    if (flow->serves == NULL || !d->last_stage || !TT_HAS(host, result_serves)) {
        return;
    }
    for (size_t i = 0; i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        if (!d->told_serving[i] && item->in->verb == TT_VERB_ENSURE && lb_item_is_active(item) &&
            serves(d, item->key, outcomes)) {
            d->told_serving[i] = true;
            flow->serves(&d->s, item);
            host->result_serves(item->in->result);
        }
    }
}
