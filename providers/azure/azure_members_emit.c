/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_emit.c: see azure_members_emit.h.  Pure. */
#include "providers/azure/azure_members_emit.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

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

static void emit(struct azure_sync *y, struct lb_plan *plan, const struct azure_member_write *w,
                 bool parallel)
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
        .parallel = parallel,
        .touches_lbs = true,
        .unguarded = w->unguarded,
        .announced = w->announced,
        .tolerate = w->may_be_gone ? LB_TOLERATE_ABSENT : 0u,
    };
    (void)azure_emit(y, plan, &e);
}

/* ---- what is written already ------------------------------------------------------------------------------- */

static const char *key_of(struct arena *a, enum azure_kind k, const char *id)
{
    return arena_printf(a, "%d %s", (int)k, str_lower(a, id));
}

/* The operations of the plan so far, by what they write; values are indexes plus one. */
static struct map *written(struct arena *a, const struct lb_plan *plan)
{
    struct map *m = map_new(NULL);
    for (size_t i = 0; i < plan->n_ops; i++) {
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
    struct map *before = written(y->s->a, plan);
    for (size_t i = 0; i < w->n; i++) {
        w->items[i].emitted = merge(y, before, plan, &w->items[i]);
    }
    map_free(before);
}

/* ---- waves ------------------------------------------------------------------------------------------------- */

/* One wave of a rank; false when nothing was left.  `lanes`: how many of a lane are in it, plus one. */
static bool emit_wave(struct azure_sync *y, struct azure_member_writes *w, struct lb_plan *plan,
                      enum azure_rank rank)
{
    struct map *lanes = map_new(NULL);
    size_t n = 0;
    for (size_t i = 0; n < AZURE_PARALLEL_MAX && i < w->n; i++) {
        struct azure_member_write *item = &w->items[i];
        if (item->emitted || item->rank != rank) {
            continue;
        }
        uintptr_t used = item->lane != NULL ? (uintptr_t)map_get(lanes, item->lane) : 0;
        if (item->lane != NULL && used >= item->lane_max) {
            continue;
        }
        if (item->lane != NULL) {
            map_set(lanes, item->lane, (void *)(used + 1));
        }
        emit(y, plan, item, n > 0);
        item->emitted = true;
        n++;
    }
    map_free(lanes);
    return n > 0;
}

void azure_member_writes_emit(struct azure_sync *y, struct azure_member_writes *w,
                              struct lb_plan *plan)
{
    merge_all(y, w, plan);
    for (int rank = 0; rank < AZURE_RANKS; rank++) {
        bool more = true;
        while (more) {
            more = emit_wave(y, w, plan, (enum azure_rank)rank);
        }
    }
}
