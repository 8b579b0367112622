/* SPDX-License-Identifier: Apache-2.0 */
/* service_plan_internal.h: what service_plan.c and ipvs_plan.c share. */
#ifndef TRIMTAB_LOCAL_PLAN_SERVICE_PLAN_INTERNAL_H
#define TRIMTAB_LOCAL_PLAN_SERVICE_PLAN_INTERNAL_H

#include "common/base/map.h"
#include "providers/local/plan/service_plan.h"

/* One phase of the plan, at one Service. */
struct emit {
    struct lb_plan *plan;
    struct arena *a;
    const struct local_service_state *s;
    size_t n_before;    /* operations before this phase */
    struct map *shared; /* those of the phase that others may join: text → index + 1 */
};
/* Appends an operation of this Service to the phase. */
void local_emit(struct emit *e, struct lb_op op);
/* "203.0.113.5:80/tcp", in the plan's arena. */
const char *local_emit_front_name(struct emit *e, const struct local_frontend_id *id);
/* The one of that id; NULL: none. */
const struct local_front *local_front_of(const struct local_front *fronts, size_t n,
                                         const struct local_frontend_id *id);

/* Changes of elements that are being put together for one operation. */
struct changes {
    struct local_nft_change *items;
    size_t n;
};
/* Room for `most` of them, in the plan's arena. */
struct changes local_changes_for(struct emit *e, size_t most);
void local_change(struct changes *c, bool del, struct local_nft_element element);
struct local_nft_deed *local_deed_of(struct emit *e, const struct changes *c);

/* Phases of ranges_plan.c. */
void local_ranges_open(struct emit *e);
void local_ranges_narrow(struct emit *e);
void local_ranges_complete(struct emit *e);
/* No client may come any more. */
void local_ranges_close(struct changes *c, const struct local_front *from);

/* Phases of ipvs_plan.c. */
void local_ipvs_own(struct emit *e);
void local_ipvs_serve(struct emit *e);
void local_ipvs_fill(struct emit *e);
void local_ipvs_quiet(struct emit *e);
void local_ipvs_quiet_closed(struct emit *e);
void local_ipvs_drop(struct emit *e);

#endif
