/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_sync.h: one sync of a golden case: what the provider's flow does around the planner, on a
 * model instead of the cloud.
 *
 * Thinking about members, looking at slots, desired state, plan: as providers/gce/gce_bs_*.c do it,
 * without requests.  Carrying out is a small executor of its own, so that a case shows what a plan
 * means and not what common/lb/exec.c makes of it. */
#ifndef TRIMTAB_TESTS_GOLDEN_GCE_BS_SYNC_H
#define TRIMTAB_TESTS_GOLDEN_GCE_BS_SYNC_H

#include "common/lb/plan.h"
#include "providers/gce/backend/gce_bs.h"
#include "tests/golden/gce_model.h"

struct gce_bs_sync {
    struct arena *a;
    struct gce_model *model;
    struct json_object *service; /* as the API server gives it */
    struct json_object *nodes;
    struct json_object *facts;
    /* filled by gce_bs_sync_plan() */
    struct lb_plan plan; /* sealed */
    struct gce_slots slots;
    struct gce_bs_outcome outcome;
};
/* Six ready nodes in three zones. */
struct json_object *gce_bs_sync_nodes(struct arena *a);
int gce_bs_sync_plan(struct gce_bs_sync *s, struct err *err) _warn_unused_;
/* Carries it out, at most `limit` operations (0: all), and tells each one in *text (NULL: in
 * silence).  ERR_OK when nothing failed. */
int gce_bs_sync_run(struct gce_bs_sync *s, size_t limit, struct str_buf *text,
                    struct err *err) _warn_unused_;

#endif
