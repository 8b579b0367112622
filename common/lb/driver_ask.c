/* SPDX-License-Identifier: Apache-2.0 */
/* driver_ask.c: asks the cloud, before something is taken down for a replacement, whether the like
 * of it may be made at all.
 *
 * Some clouds force a resource to go before its replacement can be made.  A process that may delete
 * one, but not make one (a role that lost a permission), would take down what it can neither
 * replace nor put back.  So the operation carries how the resource would be made again as it stands
 * (lb_op.ask), and that request is sent while it still stands: a cloud that allows it answers that
 * the name is taken, and nothing has changed; a cloud that forbids it says so, and the owners leave
 * the batch with everything in place (docs/adr/0049-asked-before.md).
 *
 * A replacement that was refused for a missing right is not tried again for a while, as each try
 * takes down what works (docs/adr/0050).  But the right may come back any time.  So the cloud gets
 * the very requests that matter, while all stands: to delete what is not there, and to make the
 * replacement, whose name is still taken, or to write over a state that it does not have
 * (docs/adr/0094, 0098).  Part of driver.h; one thread. */
#include "common/base/str.h"
#include "common/lb/driver_internal.h"
#include "common/lb/mark_rules.h"

#include <string.h>

struct asking {
    struct drive *d;
    size_t n_refused;
};

/* "Exists" is the answer that is hoped for.  Limits, and what the cloud has against the contents,
 * say nothing about the right to make it: what goes makes room, and the replacement has other
 * contents.  An answer that may be another one in a moment (throttled, 5xx, none) is no permission
 * to take anything down. */
static bool forbids(const struct err *err)
{
    switch (err->code) {
    case ERR_FORBIDDEN:
    case ERR_AUTH:
    case ERR_THROTTLED:
    case ERR_CANCELLED:
        return true;
    case ERR_TRANSIENT:
        return err->http_status / 100 != 4;
    default:
        return false;
    }
}

static void answered(void *arg, const struct lb_op *op, int index, unsigned outcome,
                     const struct err *err, int64_t took_ms)
{
    struct asking *k = arg;
    struct err why;
    const char *key;
    (void)index;
    (void)took_ms;
    if (outcome == LB_DONE || !forbids(err)) {
        return;
    }
    (void)err_set(&why, err->code, "%s; the former %s stays", err->message, op->kind);
    why.http_status = err->http_status;
    why.retry_after_ms = err->retry_after_ms;
    memcpy(why.reason, err->reason, sizeof(why.reason));
    STR_SET_EACH (key, &op->owners) {
        struct lb_item *item = map_get(k->d->by_key, key);
        if (item != NULL && lb_item_is_active(item)) {
            k->d->s.host->result_resource(item->in->result, op->kind, op->name);
            drive_fail_item(item, &why);
            k->n_refused++;
        }
    }
}

static void add_question(struct lb_plan *p, const struct lb_op *op, const struct lb_undo *u)
{
    struct lb_op question =
        LB_OP(.verb = u->verb, .kind = u->kind, .name = u->name, .why = op->why,
              .owners = op->owners, .type = u->type, .arg = u->arg, .calls = u->calls,
              .parallel = p->n_ops > 0, .tolerate = u->verb == LB_DELETE ? LB_TOLERATE_ABSENT : 0);
    (void)lb_plan_add(p, NULL, &question);
}

bool drive_ask_first(struct drive *d)
{
    struct asking k = {.d = d};
    struct lb_plan p;
    struct err err = ERR_INIT;
    struct lb_exec_result result;
    lb_plan_init(&p, d->s.a);
    for (size_t i = 0; i < d->plan.n_ops; i++) {
        if (d->plan.ops[i].ask != NULL) {
            add_question(&p, &d->plan.ops[i], d->plan.ops[i].ask);
        }
    }
    if (p.n_ops == 0) {
        return true;
    }
    if (lb_plan_seal(&p, &err) != ERR_OK) {
        drive_fail_active(d, &err);
        return false;
    }
    struct lb_exec_config cfg = drive_exec_config(d);
    cfg.on_over = NULL;
    cfg.on_done = answered;
    cfg.arg = &k;
    int rc = lb_exec_run(&p, &cfg, &result, &err);
    if (rc == ERR_CANCELLED) {
        drive_fail_active(d, &err);
        return false;
    }
    return k.n_refused == 0; /* other answers do not stop the plan */
}

/* ---- is the right back? ---------------------------------------------------------------------- */

struct proving {
    size_t n_fine;
};

static void proof_answered(void *arg, const struct lb_op *op, int index, unsigned outcome,
                           const struct err *err, int64_t took_ms)
{
    struct proving *k = arg;
    (void)index;
    (void)took_ms;
    if (outcome == LB_DONE) {
        return; /* it was not there: the next look finds what was made */
    }
    bool taken = err->code == ERR_EXISTS || err->code == ERR_CONFLICT;
    bool absent = err->code == ERR_NOT_FOUND;
    k->n_fine += op->verb == LB_DELETE ? absent : op->verb == LB_CHANGE ? absent || taken : taken;
}

/* How what replaces it is asked for while it stands; NULL: that cannot be asked. */
static const struct lb_undo *replacing(const struct lb_plan *p, const struct lb_op *op)
{
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct lb_undo *asked = p->ops[i].asked;
        if (lb_op_ends_undo(&p->ops[i], op->undo) && asked != NULL &&
            str_eq(asked->kind, op->kind) && str_eq(asked->name, op->name)) {
            return asked;
        }
    }
    return NULL;
}

/* False: what goes cannot be asked for.  A change in place without a proof takes nothing down by
 * itself. */
static bool add_proofs(struct lb_plan *p, const struct lb_plan *plan, const struct lb_op *op)
{
    const struct lb_undo *new = op->proves_all ? NULL : replacing(plan, op);
    if (op->proof == NULL && op->verb != LB_DELETE) {
        return true;
    }
    if (op->proof == NULL || (new == NULL && !op->proves_all)) {
        return false;
    }
    for (const struct lb_undo *one = op->proof; one != NULL; one = one->then) {
        add_question(p, op, one);
    }
    if (new != NULL) {
        add_question(p, op, new);
    }
    return true;
}

bool drive_proves(struct drive *d, struct lb_item *item)
{
    struct proving k = {0};
    struct lb_plan p;
    struct err err = ERR_INIT;
    struct lb_exec_result result;
    bool askable = lb_asks_again(item->in) && !d->s.planning;
    lb_plan_init(&p, d->s.a);
    for (size_t i = 0; askable && !item->proven && i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        if (lb_op_takes_down(op) && str_set_has(&op->owners, item->key)) {
            askable = add_proofs(&p, &d->plan, op);
        }
    }
    if (!askable || item->proven || p.n_ops == 0 || lb_plan_seal(&p, &err) != ERR_OK) {
        return askable && item->proven;
    }
    struct lb_exec_config cfg = drive_exec_config(d);
    cfg.on_over = NULL;
    cfg.on_done = proof_answered;
    cfg.arg = &k;
    int rc = lb_exec_run(&p, &cfg, &result, &err);
    item->proven = rc != ERR_CANCELLED && k.n_fine == p.n_ops;
    return item->proven;
}
