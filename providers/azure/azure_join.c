/* SPDX-License-Identifier: Apache-2.0 */
/* azure_join.c: see azure_join.h. */
#include "providers/azure/azure_join.h"
#include "providers/azure/azure_describe.h"

#define ROUNDS_MOST 4 /* of putting all that move; a batch has a thousand Services */

struct joining {
    struct azure_item **items; /* in their order */
    size_t n;
    bool *moves;        /* per item: it gives up first what it asks for no more; NULL: none does */
    struct err *before; /* errors of the first pass */
};

static bool is_placed(const struct azure_item *it)
{
    return it->want && it->target != NULL && !azure_item_is_unproven(it);
}

/* Ports of all before frontends of any: a frontend goes only when no rule of another Service
 * is at it. */
static void give_up(struct azure_lb_edits *b, const struct joining *j)
{
    for (int frontends = 0; j->moves != NULL && frontends < 2; frontends++) {
        for (size_t i = 0; i < j->n; i++) {
            if (j->moves[i] && azure_sync_lb(b->y, j->items[i]->target) != NULL) {
                azure_lb_edits_give_up(b, j->items[i], frontends == 1);
            }
        }
    }
}

static void pass(struct azure_lb_edits *b, const struct joining *j)
{
    for (size_t i = 0; i < j->n; i++) {
        struct azure_item *it = j->items[i];
        if (!it->want) {
            azure_lb_edits_leave(b, it, it->service, NULL);
            azure_lb_edits_mend(b, it, it->service->internal);
        }
    }
    give_up(b, j);
    for (size_t i = 0; i < j->n; i++) {
        if (is_placed(j->items[i])) {
            (void)azure_lb_edits_join(b, j->items[i]);
        }
    }
}

static size_t count_failed(const struct joining *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++) {
        n += j->items[i]->item->err.code != ERR_OK;
    }
    return n;
}

static bool has_changed(const struct azure_lb_edits *b, const char *key)
{
    bool has = false;
    for (size_t i = 0; i < b->n && !has; i++) {
        has = azure_owners_have(&b->items[i].owners, key);
    }
    return has;
}

/* Those who found something taken, and those who may be about to leave it.  Returns whether any
 * found something taken. */
static bool find_movers(const struct azure_lb_edits *b, struct joining *j)
{
    bool some = false;
    for (size_t i = 0; i < j->n; i++) {
        some = some || (is_placed(j->items[i]) && j->items[i]->item->err.code == ERR_IN_USE);
    }
    for (size_t i = 0; some && i < j->n; i++) {
        const struct azure_item *it = j->items[i];
        bool taken = it->item->err.code == ERR_IN_USE;
        bool fine = it->item->err.code == ERR_OK;
        j->moves[i] = is_placed(it) && (taken || (fine && has_changed(b, it->item->key)));
    }
    return some;
}

/* A Service that still cannot be placed gives up nothing.  Returns whether one had to be
 * removed. */
static bool take_out_failed(struct joining *j)
{
    bool some = false;
    for (size_t i = 0; i < j->n; i++) {
        bool failed = j->moves[i] && j->items[i]->item->err.code != ERR_OK;
        j->moves[i] = j->moves[i] && !failed;
        some = some || failed;
    }
    return some;
}

static void set_errors(const struct joining *j, const struct err *errs)
{
    for (size_t i = 0; i < j->n; i++) {
        j->items[i]->item->err = errs != NULL ? errs[i] : (struct err)ERR_INIT;
    }
}

/* True: more can be placed when those that move give up first what they leave; *b is what that
 * makes of the documents. */
static bool try_together(struct azure_lb_edits *b, struct joining *j)
{
    size_t failed = count_failed(j);
    for (int round = 0; round < ROUNDS_MOST; round++) {
        struct azure_lb_edits with;
        azure_lb_edits_begin(&with, b->y, b->plan);
        with.tries = true; /* the first pass has reported those that go */
        set_errors(j, NULL);
        pass(&with, j);
        if (!take_out_failed(j)) {
            bool better = count_failed(j) < failed;
            with.tries = b->tries;
            *b = better ? with : *b;
            return better;
        }
    }
    return false;
}

static void join(struct azure_lb_edits *b, bool only_external)
{
    struct arena *a = b->y->s->a;
    struct joining j = {0};
    size_t n;
    j.items = azure_items_in_order(b->y, &n);
    for (size_t i = 0; i < n; i++) {
        if (!only_external || !j.items[i]->service->internal) {
            j.items[j.n++] = j.items[i];
        }
    }
    pass(b, &j);
    j.moves = ARENA_ARRAY(a, bool, j.n + 1);
    if (!find_movers(b, &j)) {
        return;
    }
    j.before = ARENA_ARRAY(a, struct err, j.n + 1);
    for (size_t i = 0; i < j.n; i++) {
        j.before[i] = j.items[i]->item->err;
    }
    if (!try_together(b, &j)) {
        set_errors(&j, j.before);
    }
}

void azure_join_all(struct azure_lb_edits *b)
{
    join(b, false);
}

static void foresee(struct azure_sync *y, struct lb_plan *plan, bool only_external,
                    struct azure_lb_edits *ret)
{
    bool *took_part = ARENA_ARRAY(y->s->a, bool, y->s->n_items + 1);
    for (size_t i = 0; i < y->s->n_items; i++) {
        took_part[i] = azure_item_takes_part(&y->items[i]);
    }
    azure_lb_edits_begin(ret, y, plan);
    ret->tries = true;
    join(ret, only_external);
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (took_part[i] && !azure_item_takes_part(&y->items[i])) {
            azure_describe_one(y, plan, &y->items[i]); /* the stage that describes comes later */
        }
    }
}

void azure_join_try(struct azure_sync *y, struct lb_plan *plan, bool only_external)
{
    struct azure_lb_edits unused;
    foresee(y, plan, only_external, &unused);
}

void azure_join_foresee(struct azure_sync *y, struct lb_plan *plan, struct azure_lb_edits *ret)
{
    foresee(y, plan, false, ret);
}
