/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_emit.c: see azure_members_emit.h.  Pure. */
#include "providers/azure/azure_members_emit.h"
#include "common/base/map.h"
#include "common/base/str.h"

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
        .tolerate = w->kind == AZURE_VMSS_VMS || w->kind == AZURE_NICS ? LB_TOLERATE_ABSENT : 0u,
    };
    (void)azure_emit(y, plan, &e);
}

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
    for (int rank = 0; rank < AZURE_RANKS; rank++) {
        bool more = true;
        while (more) {
            more = emit_wave(y, w, plan, (enum azure_rank)rank);
        }
    }
}
