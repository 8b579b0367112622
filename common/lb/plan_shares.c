/* SPDX-License-Identifier: Apache-2.0 */
/* plan_shares.c: operations by their owners (plan_shares.h): counted first, so that each owner has
 * one array. */
#include "common/lb/plan_shares.h"

#include "common/base/map.h"

struct share {
    const struct tt_operation **operations;
    uint32_t n;
    uint32_t n_counted;
};
struct plan_shares {
    struct map *of; /* key of a Service → struct share, in the arena */
};

static void count_owners(struct arena *a, struct plan_shares *s, const struct tt_operation *op)
{
    for (uint32_t i = 0; i < op->n_owners; i++) {
        struct share *x = map_get(s->of, op->owners[i]);
        if (x == NULL) {
            x = ARENA_NEW(a, struct share);
            *x = (struct share){0};
            map_set(s->of, op->owners[i], x);
        }
        x->n_counted++;
    }
}

/* One that a plugin names twice owns the operation once. */
static void add_owners(struct arena *a, const struct plan_shares *s, const struct tt_operation *op)
{
    for (uint32_t i = 0; i < op->n_owners; i++) {
        struct share *x = map_get(s->of, op->owners[i]);
        if (x->operations == NULL) {
            x->operations = ARENA_ARRAY(a, const struct tt_operation *, x->n_counted);
        }
        if (x->n == 0 || x->operations[x->n - 1] != op) {
            x->operations[x->n++] = op;
        }
    }
}

struct plan_shares *plan_shares_new(struct arena *a, const struct tt_plan *plan)
{
    struct plan_shares *s = ARENA_NEW(a, struct plan_shares);

    *s = (struct plan_shares){.of = map_new(NULL)};
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        count_owners(a, s, plan->operations[i]);
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        add_owners(a, s, plan->operations[i]);
    }
    return s;
}

void plan_shares_done(struct plan_shares *s)
{
    map_free(s->of);
}

struct plan_share plan_share_of(const struct plan_shares *s, const char *key)
{
    const struct share *x = map_get(s->of, key);

    return x == NULL ? (struct plan_share){0} : (struct plan_share){x->operations, x->n};
}

bool plan_share_changes(const struct plan_shares *s, const char *key)
{
    const struct plan_share x = plan_share_of(s, key);

    for (uint32_t i = 0; i < x.n; i++) {
        if (x.operations[i]->verb != TT_OP_KEEP) {
            return true;
        }
    }
    return false;
}
