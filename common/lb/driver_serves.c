/* SPDX-License-Identifier: Apache-2.0 */
/* driver_serves.c: the status of a Service is written when what serves stands, not when the last
 * operation has ended; and what the status names goes when it names what serves now.
 *
 * Releases of held addresses and deletions of what is used no more (lb_op.tail, lb_stage.tidies) go
 * on meanwhile.
 * If one of them fails, or the process dies, the address is published all the same, and the next
 * sync finds the rest as any interrupted run left it (docs/adr/0053).
 * If the status cannot be written, clients go on coming by what it names: the Service leaves the
 * batch before a stage that tidies (lb_op.awaits_status within a plan), fails, and the next sync
 * begins with the status.  An update may not write it, and leaves what goes to the next ensure
 * (docs/adr/0091).
 * Part of driver.h; one thread. */
#include "common/lb/driver_internal.h"

/* ---- one item -------------------------------------------------------------------------------- */

/* The host writes what the result has; its answer. */
static int32_t publish(const struct drive *d, const struct lb_item *item)
{
    const struct tt_host *host = d->s.host;
    if (!TT_HAS(host, result_publish)) {
        if (item->in->verb == TT_VERB_ENSURE) {
            host->result_serves(item->in->result);
        }
        return TT_OK; /* an older host does not say how it went */
    }
    return host->result_publish(item->in->result);
}

/* It leaves the batch: what goes next is what its status names. */
static void withhold(struct lb_item *item, int32_t code)
{
    struct err err = ERR_INIT;
    if (item->in->verb == TT_VERB_UPDATE) {
        item->settled = true; /* its nodes are as asked for */
        return;
    }
    (void)err_set(&err, code, "the status could not be written, and what it names stays");
    item->unpublished = lb_item_is_active(item);
    drive_fail_item(item, &err);
}

static bool can_publish(const struct drive *d)
{
    return TT_HAS(d->s.host, result_serves);
}

/* ---- the plan in progress -------------------------------------------------------------------- */

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
        d->told_serving[i] = d->told_serving[i] && d->unwritten[i] == TT_OK;
        for (size_t k = 0; d->told_serving[i] && k < d->plan.n_ops; k++) {
            const struct lb_op *op = &d->plan.ops[k];
            bool more = op->verb != LB_KEEP && !op->tail;
            d->told_serving[i] = !more || !str_set_has(&op->owners, d->s.items[i].key);
        }
    }
}

/* Does the host hear of such items while the plan is carried out? */
static bool tells(const struct drive *d)
{
    return d->cfg->flow->serves != NULL && d->last_stage && can_publish(d);
}

void drive_note_serving(void *arg, const unsigned *outcomes)
{
    struct drive *d = arg;
    for (size_t i = 0; tells(d) && i < d->s.n_items; i++) {
        struct lb_item *item = &d->s.items[i];
        if (!d->told_serving[i] && item->in->verb == TT_VERB_ENSURE && lb_item_is_active(item) &&
            serves(d, item->key, outcomes)) {
            d->told_serving[i] = true;
            d->cfg->flow->serves(&d->s, item);
            d->unwritten[i] = publish(d, item);
        }
    }
}

bool drive_may_begin(void *arg, const struct lb_op *op, const unsigned *outcomes)
{
    struct drive *d = arg;
    if (!op->awaits_status || !op->tail || d->tidies || !tells(d)) {
        return true;
    }
    drive_note_serving(d, outcomes);
    bool may = true;
    for (size_t i = 0; i < d->s.n_items; i++) {
        const struct lb_item *item = &d->s.items[i];
        if (item->in->verb == TT_VERB_ENSURE && str_set_has(&op->owners, item->key)) {
            d->withheld[i] = d->told_serving[i] && d->unwritten[i] != TT_OK;
            may = may && d->told_serving[i] && !d->withheld[i];
        }
    }
    return may;
}

void drive_withhold(struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        if (d->withheld[i]) {
            withhold(&d->s.items[i], d->unwritten[i]);
        }
        d->withheld[i] = false;
    }
}

/* ---- before a plan is carried out ------------------------------------------------------------ */

static bool is_changed(const struct drive *d, const char *key)
{
    bool changed = false;
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        changed = changed || (op->verb != LB_KEEP && str_set_has(&op->owners, key));
    }
    return changed;
}

/* A stage that tidies: clients may still use that which goes, and hear of the other one first. */
static bool serving_first(struct drive *d, size_t i)
{
    struct lb_item *item = &d->s.items[i];
    bool update = item->in->verb == TT_VERB_UPDATE && TT_HAS(d->s.host, result_publish) &&
                  is_changed(d, item->key);
    bool told = d->told_serving[i] && d->unwritten[i] == TT_OK;
    if (told || (item->in->verb != TT_VERB_ENSURE && !update)) {
        return true;
    }
    d->told_serving[i] = true;
    d->cfg->flow->serves(&d->s, item);
    d->unwritten[i] = publish(d, item);
    if (d->unwritten[i] != TT_OK) {
        withhold(item, d->unwritten[i]);
    }
    return d->unwritten[i] == TT_OK;
}

static bool leaving_first(struct drive *d, const struct lb_stage *stage, size_t i)
{
    struct lb_item *item = &d->s.items[i];
    if (d->told_leaving[i] || item->in->verb != TT_VERB_ENSURE || !is_changed(d, item->key) ||
        !stage->leaves(&d->s, item)) {
        return true;
    }
    d->told_leaving[i] = true;
    int32_t code = publish(d, item);
    if (code != TT_OK) {
        withhold(item, code);
    }
    return code == TT_OK;
}

bool drive_publish_first(struct drive *d, const struct lb_stage *stage)
{
    bool all = true;
    for (size_t i = 0; can_publish(d) && i < d->s.n_items; i++) {
        if (!lb_item_is_active(&d->s.items[i])) {
            continue;
        }
        if (d->tidies && tells(d)) {
            all = serving_first(d, i) && all;
        } else if (stage->leaves != NULL) {
            all = leaving_first(d, stage, i) && all;
        }
    }
    return !all;
}

void drive_publish_again(struct drive *d)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        d->told_serving[i] = d->told_serving[i] && !d->tidies;
        d->told_leaving[i] = false;
    }
}
