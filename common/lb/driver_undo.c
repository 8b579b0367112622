/* SPDX-License-Identifier: Apache-2.0 */
/* driver_undo.c: puts back what a stage took away when what was to replace it does not come.
 *
 * Some clouds force a resource to go before its replacement can be made.  Such an operation carries
 * its undo (plan.h).  From the moment that it is done the sync owes it, through conflicts and new
 * plans, until an operation makes the replacement.  As soon as an owner of the debt has failed, the
 * undo is carried out as a plan of its own, the last debt first: clients that came in before come
 * in again, and the owner's error says so.  A sync that is cancelled puts nothing back: nothing
 * may be sent any more, and the next process finds what is held (docs/adr/0030-putting-back.md).
 * Part of driver.h; one thread. */
#include "common/base/str.h"
#include "common/lb/driver_internal.h"
#include "common/lb/put_back.h"

#include <string.h>

/* Each further try takes down what works, so it waits as long as for a Service that
 * must be edited. */
#define AGAIN_AFTER_MS 300000
#define WHY            "its replacement is refused"

/* ---- what is owed ---------------------------------------------------------------------------- */
static bool is_same(const struct lb_undo *x, const struct lb_undo *y)
{
    return str_eq(x->kind, y->kind) && str_eq(x->name, y->name);
}

/* Keeps an older debt for the same resource: its state before the sync is put back.  The operation
 * goes with its turn, the debt stays. */
static void owe(struct drive *d, struct str_set owners, const struct lb_undo *undo)
{
    for (size_t i = 0; i < d->n_debts; i++) {
        if (is_same(d->debts[i].undo, undo)) {
            return;
        }
    }
    if (d->n_debts == d->cap_debts) {
        size_t cap = d->cap_debts == 0 ? 8 : d->cap_debts * 2;
        struct drive_debt *bigger = ARENA_ARRAY(d->s.life, struct drive_debt, cap);
        if (d->n_debts > 0) {
            memcpy(bigger, d->debts, d->n_debts * sizeof *bigger);
        }
        d->debts = bigger;
        d->cap_debts = cap;
    }
    d->debts[d->n_debts++] =
        (struct drive_debt){.owners = str_set_dup(d->s.life, owners.items, owners.n), .undo = undo};
}

static void drop(struct drive *d, size_t i)
{
    memmove(&d->debts[i], &d->debts[i + 1], (d->n_debts - i - 1) * sizeof *d->debts);
    d->n_debts--;
}

/* A deletion that is answered "not found" after it was observed may be ours, with its
 * first answer lost. */
static bool took_away(const struct lb_op *op, unsigned outcome)
{
    return outcome == LB_DONE || (outcome == LB_TOLERATED && op->verb == LB_DELETE);
}

void drive_debts_book(struct drive *d, const unsigned *outcomes)
{
    for (size_t i = 0; outcomes != NULL && i < d->plan.n_ops; i++) {
        const struct lb_op *op = &d->plan.ops[i];
        for (size_t k = d->n_debts; outcomes[i] == LB_DONE && k-- > 0;) {
            if (lb_op_ends_undo(op, d->debts[k].undo)) {
                drop(d, k);
            }
        }
        if (op->undo != NULL && op->undo != &lb_controller_puts_back &&
            took_away(op, outcomes[i])) {
            owe(d, op->owners, op->undo);
        }
    }
}

/* ---- putting back ---------------------------------------------------------------------------- */
static struct lb_item *failed_owner(const struct drive *d, const struct drive_debt *debt)
{
    const char *key;
    STR_SET_EACH (key, &debt->owners) {
        struct lb_item *item = map_get(d->by_key, key);
        if (item != NULL && item->err.code != ERR_OK) {
            return item;
        }
    }
    return NULL;
}

/* Takes the debts of those who failed off the list, the last one first; NULL ends them. */
static const struct drive_debt **take_due(struct drive *d)
{
    const struct drive_debt **due = ARENA_ARRAY(d->s.a, const struct drive_debt *, d->n_debts + 1);
    size_t n = 0;
    for (size_t i = d->n_debts; i-- > 0;) {
        if (failed_owner(d, &d->debts[i]) != NULL) {
            struct drive_debt *one = ARENA_NEW(d->s.a, struct drive_debt);
            *one = d->debts[i];
            due[n++] = one;
            drop(d, i);
        }
    }
    return due;
}

static void add_op(struct lb_plan *p, const struct drive_debt *debt, const struct lb_undo *u)
{
    struct lb_op op =
        LB_OP(.verb = u->verb, .kind = u->kind, .name = u->name, .why = WHY, .note = "as it was",
              .restores = true, .owners = debt->owners, .type = u->type, .arg = u->arg,
              .calls = u->calls, .tolerate = u->verb == LB_CREATE ? LB_TOLERATE_EXISTS : 0);
    (void)lb_plan_add(p, NULL, &op);
}

/* After a refusal that stays the next try is as late as after a faulty Service.  A bad request for
 * an unknown reason is one; clouds throttle with that status, too. */
static bool is_for_good(const struct err *err)
{
    bool unknown = err->http_status == 400 || err->http_status == 422;
    return err->code == ERR_TRANSIENT
               ? unknown
               : err->code != ERR_THROTTLED && err->code != ERR_IN_PROGRESS &&
                     err->code != ERR_AUTH && err->code != ERR_BUG;
}

/* The message of an item grows; code, status and reason stay. */
static void say(struct lb_item *item, const char *text)
{
    struct err was = item->err;
    (void)err_set(&item->err, was.code, "%s; %s", was.message, text);
    item->err.http_status = was.http_status;
    item->err.retry_after_ms = was.retry_after_ms;
    memcpy(item->err.reason, was.reason, sizeof(was.reason));
}

/* The kinds of what is back for the item: "forwarding rule", "target pool". */
static struct str_set kinds_back(struct drive *d, const struct lb_plan *p, const unsigned *outcomes,
                                 const char *key)
{
    const char **kinds = ARENA_ARRAY(d->s.a, const char *, p->n_ops + 1);
    size_t n = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        if (outcomes[i] == LB_DONE && str_set_has(&p->ops[i].owners, key)) {
            kinds[n++] = p->ops[i].kind;
        }
    }
    return str_set_make(d->s.a, kinds, n);
}

/* "firewall, forwarding rule and target pool"; of one at least. */
static const char *enumerated(struct arena *a, const struct str_set *words)
{
    const char *last = words->items[words->n - 1];
    const char *rest = str_join(a, words->items, words->n - 1, ", ");
    return words->n == 1 ? last : arena_printf(a, "%s and %s", rest, last);
}

static void tell_item(struct drive *d, struct lb_item *item, const struct lb_plan *p,
                      const struct lb_exec_result *res)
{
    struct str_set kinds = kinds_back(d, p, res->outcomes, item->key);
    const struct lb_op *failed = res->failed_op >= 0 ? &p->ops[res->failed_op] : NULL;
    if (kinds.n > 0) {
        say(item, arena_printf(d->s.a, "the former %s %s put back", enumerated(d->s.a, &kinds),
                               kinds.n > 1 ? "were" : "was"));
    }
    if (failed != NULL) {
        say(item, arena_printf(d->s.a, "the former %s could not be put back: %s", failed->kind,
                               res->err.message));
    } else if (kinds.n > 0 && is_for_good(&item->err) &&
               item->err.retry_after_ms < AGAIN_AFTER_MS) {
        item->err.retry_after_ms = AGAIN_AFTER_MS;
    }
}

static void tell(struct drive *d, const struct lb_plan *p, const struct lb_exec_result *res)
{
    for (size_t i = 0; i < d->s.n_items; i++) {
        bool owns = false;
        for (size_t k = 0; k < p->n_ops; k++) {
            owns = owns || str_set_has(&p->ops[k].owners, d->s.items[i].key);
        }
        if (owns && d->s.items[i].err.code != ERR_OK) {
            tell_item(d, &d->s.items[i], p, res);
        }
    }
}

void drive_put_back(struct drive *d)
{
    struct lb_plan p;
    struct err err = ERR_INIT;
    if (d->n_debts == 0 || cancel_fired(d->s.cancel)) {
        return;
    }
    lb_plan_init(&p, d->s.a);
    const struct drive_debt **due = take_due(d);
    for (size_t i = 0; due[i] != NULL; i++) {
        for (const struct lb_undo *u = due[i]->undo; u != NULL; u = u->then) {
            add_op(&p, due[i], u);
        }
    }
    if (p.n_ops == 0 || lb_plan_seal(&p, &err) != ERR_OK) {
        return; /* a debt is checked when the plan that has it is sealed */
    }
    struct lb_exec_config cfg = drive_exec_config(d);
    struct lb_exec_result result;
    d->view = lb_plan_view(&p);
    d->failures = ARENA_ARRAY(d->s.a, const struct drive_failure *, p.n_ops);
    d->n_failures = 0;
    d->s.host->report_plan(d->s.host->ctx, d->s.call, d->view);
    if (lb_exec_run(&p, &cfg, &result, &err) == ERR_OK || result.outcomes != NULL) {
        tell(d, &p, &result);
    }
}
