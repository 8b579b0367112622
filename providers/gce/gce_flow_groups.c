/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_groups.c: the stage of Google's flow in which the instance groups of the cluster follow
 * its nodes (gce_flow.h), before the first balancer refers to them.
 *
 * They are the same for all Services of a batch: they are written once, for all of them, and a
 * failure is that of all.  Whose turn it is decides groups/gce_groups.c.  Blocks; one thread. */
#include "common/base/str.h"
#include "providers/gce/gce_flow.h"

static bool wants_groups(const struct lb_item *item)
{
    return gce_flow_is_built(item) && gce_item_is_bs(item) &&
           gce_kind_has_groups(gce_item_of(item)->decision.kind);
}

/* The groups are the same for all that want them.  NULL: none does. */
static const struct gce_bs_item *first_of(const struct lb_sync *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        if (wants_groups(&s->items[i])) {
            return &gce_item_of(&s->items[i])->bs;
        }
    }
    return NULL;
}

bool gce_flow_groups_needed(const struct lb_sync *s)
{
    return first_of(s) != NULL;
}

int gce_flow_groups_observe(struct lb_sync *s, struct err *err)
{
    const struct gce_bs_item *first = first_of(s);
    for (size_t i = 0; i < s->n_items; i++) {
        if (wants_groups(&s->items[i])) {
            gce_flow_release_formers(&s->items[i]);
        }
    }
    if (first == NULL) {
        return ERR_OK;
    }
    s->observed_fresh = true; /* belief about groups was read, or written, by the turn's holder */
    return gce_groups_observe(gce_provider_of(s)->groups, s, first->group_name, &first->groups,
                              err);
}

/* Appends the operations, with all Services that want groups as owners. */
static void append(struct lb_sync *s, struct lb_plan *plan, const struct gce_bs_item *first)
{
    const char **keys = ARENA_ARRAY(plan->a, const char *, s->n_items);
    size_t n = 0;
    for (size_t i = 0; i < s->n_items; i++) {
        if (wants_groups(&s->items[i])) {
            keys[n++] = s->items[i].key;
        }
    }
    size_t from = plan->n_ops;
    gce_groups_plan(gce_provider_of(s)->groups, s, plan, keys[0], first->group_name,
                    &first->groups);
    const struct str_set owners = str_set_make(plan->a, keys, n);
    for (size_t i = from; i < plan->n_ops; i++) {
        plan->ops[i].owners = owners;
    }
}

int gce_flow_groups_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    const struct gce_bs_item *first = first_of(s);
    if (first != NULL &&
        !gce_groups_put_off(gce_provider_of(s)->groups, s, first->group_name, &first->groups)) {
        append(s, plan, first);
    }
    return ERR_OK;
}

bool gce_flow_groups_are_put_off(struct lb_sync *s)
{
    return first_of(s) != NULL && gce_groups_are_put_off(gce_provider_of(s)->groups, s);
}

void gce_flow_groups_plan_beside(struct lb_sync *s, struct lb_plan *plan)
{
    append(s, plan, first_of(s));
}
