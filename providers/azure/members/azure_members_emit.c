/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_emit.c: see azure_members_emit.h.  Pure. */
#include "providers/azure/members/azure_members_emit.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

#include <stdlib.h>
#include <string.h>

void azure_member_writes_add(struct arena *a, struct azure_member_writes *w,
                             const struct azure_member_write *item)
{
    if (w->n == w->cap) {
        w->cap = w->cap * 2 + 16;
        struct azure_member_write *more = ARENA_ARRAY(a, struct azure_member_write, w->cap);
        if (w->n > 0) {
            memcpy(more, w->items, w->n * sizeof(*more));
        }
        w->items = more;
    }
    w->items[w->n++] = *item;
}

static int emit(struct azure_sync *y, struct lb_plan *plan, const struct azure_member_write *w,
                bool beside)
{
    const struct azure_emit e = {
        .kind = w->kind,
        .id = w->id,
        .was = w->was,
        .doc = w->doc,
        .why = w->why,
        .summary = w->summary,
        .owners = &w->owners,
        .shared = true,
        .beside = beside,
        .touches_lbs = true,
        .unguarded = w->unguarded,
        .announced = w->announced,
        .tolerate = w->may_be_gone ? LB_TOLERATE_ABSENT : 0u,
    };
    return azure_emit(y, plan, &e);
}

/* ---- what is written already ----------------------------------------------------------------- */

static const char *key_of(struct arena *a, enum azure_kind k, const char *id)
{
    return arena_printf(a, "%d %s", (int)k, str_lower(a, id));
}

/* The operations of the stage so far, by what they write; values are indexes plus one.  What an
 * earlier stage writes is written by the time that this one begins. */
static struct map *written(const struct azure_sync *y, const struct lb_plan *plan)
{
    struct arena *a = y->s->a;
    struct map *m = map_new(NULL);
    for (size_t i = azure_stage_ops(y, plan); i < plan->n_ops; i++) {
        const struct azure_write *w = plan->ops[i].arg;
        if (plan->ops[i].type == &azure_put_type && w->spec.verb == AZURE_PUT) {
            map_set(m, key_of(a, w->spec.kind, w->spec.id), (void *)(uintptr_t)(i + 1));
        }
    }
    return m;
}

static void leave_too(struct arena *a, enum azure_kind k, struct json_object *body,
                      const struct azure_refs *leaves)
{
    static const char nics[] = "networkInterfaceConfigurations";
    const char *path = k == AZURE_VMSSS ? "properties.virtualMachineProfile.networkProfile"
                                        : "properties.networkProfileConfiguration";
    const char *why_not = NULL;
    if (k == AZURE_NICS) {
        (void)azure_refs_edit(a, azure_array(body, "ipConfigurations"), leaves, false, &why_not);
    } else {
        (void)azure_refs_edit_nics(a, json_member(json_path(body, path), nics), leaves, false,
                                   &why_not);
    }
}

static bool merge(struct azure_sync *y, const struct map *before, struct lb_plan *plan,
                  const struct azure_member_write *w)
{
    struct arena *a = y->s->a;
    uintptr_t at = (uintptr_t)map_get(before, key_of(a, w->kind, w->id));
    if (at == 0 || w->leaves.n_leave == 0) {
        return false;
    }
    struct lb_op *op = &plan->ops[at - 1];
    const struct azure_write *earlier = op->arg;
    const struct str_set more = azure_owners_set(a, &w->owners);
    leave_too(a, w->kind, earlier->spec.body, &w->leaves);
    op->owners = str_set_union(a, &op->owners, &more);
    op->summary = arena_printf(a, "%s; %s", str_nonnull(op->summary), str_nonnull(w->summary));
    return true;
}

static void merge_all(struct azure_sync *y, struct azure_member_writes *w, struct lb_plan *plan)
{
    struct map *before = written(y, plan);
    for (size_t i = 0; i < w->n; i++) {
        w->items[i].emitted = merge(y, before, plan, &w->items[i]);
    }
    map_free(before);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* The writes of a lane that are in the plan: one waits for that which is lane_max before it. */
struct lane {
    int *ops;
    size_t n;
};

static void lane_free(void *p)
{
    struct lane *l = p;
    free(l->ops);
    free(l);
}

static void into_lane(struct map *lanes, const struct azure_member_writes *w,
                      const struct azure_member_write *item, struct lb_plan *plan, int op)
{
    struct lane *l = map_get(lanes, item->lane);
    if (l == NULL) {
        l = xcalloc(1, sizeof(*l));
        l->ops = xcalloc(w->n, sizeof(*l->ops));
        map_set(lanes, item->lane, l);
    }
    if (l->n >= item->lane_max) {
        lb_plan_after(plan, op, l->ops[l->n - item->lane_max]);
    }
    l->ops[l->n++] = op;
}

/* Side by side, but for those of a lane. */
static void emit_rank(struct azure_sync *y, struct azure_member_writes *w, struct lb_plan *plan,
                      enum azure_rank rank)
{
    struct map *lanes = map_new(lane_free);
    bool some = false;
    for (size_t i = 0; i < w->n; i++) {
        struct azure_member_write *item = &w->items[i];
        if (item->emitted || item->rank != rank) {
            continue;
        }
        int op = emit(y, plan, item, some);
        if (item->lane != NULL) {
            into_lane(lanes, w, item, plan, op);
        }
        some = true;
    }
    map_free(lanes);
}

void azure_member_writes_emit(struct azure_sync *y, struct azure_member_writes *w,
                              struct lb_plan *plan)
{
    merge_all(y, w, plan);
    for (int rank = 0; rank < AZURE_RANKS; rank++) {
        emit_rank(y, w, plan, (enum azure_rank)rank);
    }
}
