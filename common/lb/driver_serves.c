/* SPDX-License-Identifier: Apache-2.0 */
/* driver_serves.c: the status of a Service is written when what serves stands, not when the last
 * operation has ended.
 *
 * Releases of held addresses and deletions of what is used no more (lb_op.tail, lb_stage.tidies) go
 * on meanwhile.
 * If one of them fails, or the process dies, the address is published all the same, and the next
 * sync finds the rest as any interrupted run left it (docs/adr/0053).
 * Part of driver.h; one thread. */
#include "common/lb/driver_internal.h"

/* Of one Service: all but tails has ended well, and a tail is not over.  Without a tail the end of
 * the sync is as near; but in a stage that tidies all Services of the batch wait for its end. */
static bool serves(const struct drive *d, const char *key, const unsigned *outcomes)
{
    bool tidies = false;
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        bool open = outcomes[i] == LB_NOT_RUN;
        bool mine = op->verb != LB_KEEP && str_set_has(&op->owners, key);
        if (mine && ((outcomes[i] & LB_FAILED) != 0 || (open && !op->tail && !d->tidies))) {
            return false;
        }
        tidies = tidies || (open && (mine || d->tidies));
    }
    return tidies;
}

void drive_serving_begin(struct drive *d)
{
    for (size_t i = 0; !d->tidies && i < d->s.n_items; i++) {
        for (size_t k = 0; d->told_serving[i] && k < d->plan.n_ops; k++) {
            const struct lb_op *op = &d->plan.ops[k];
            bool more = op->verb != LB_KEEP && !op->tail;
            d->told_serving[i] = !more || !str_set_has(&op->owners, d->s.items[i].key);
        }
    }
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

static bool is_changed(const struct drive *d, const char *key)
{
    bool changed = false;
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        changed = changed || (op->verb != LB_KEEP && str_set_has(&op->owners, key));
    }
    return changed;
}

void drive_note_leaving(struct drive *d, const struct lb_stage *stage)
{
    const struct tt_host *host = d->s.host;
    for (size_t i = 0; stage->leaves != NULL && TT_HAS(host, result_serves) && i < d->s.n_items;
         i++) {
        struct lb_item *item = &d->s.items[i];
        if (!d->told_leaving[i] && item->in->verb == TT_VERB_ENSURE && lb_item_is_active(item) &&
            is_changed(d, item->key) && stage->leaves(&d->s, item)) {
            d->told_leaving[i] = true;
            host->result_serves(item->in->result);
        }
    }
}
