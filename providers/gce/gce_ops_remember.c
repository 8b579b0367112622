/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops_remember.c: what the snapshot is told of a write (gce_ops.h).
 *
 * Only what is certain is kept: that something is gone, and bodies to which the cloud adds nothing that anybody compares
 * (health checks).  Everything else that was touched is forgotten, so that the next sync reads it. */
#include "providers/gce/gce_ops.h"
#include "providers/gce/gce_provider.h"

static bool is_gone(const struct gce_op *op, unsigned outcome, const struct err *err)
{
    return op->verb == GCE_DELETE &&
           (outcome == LB_DONE || (outcome == LB_TOLERATED && err->code == ERR_NOT_FOUND));
}

void gce_op_wrote(struct gce_provider *p, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    const struct gce_op *arg = op->arg;
    if (outcome == LB_SKIPPED || outcome == LB_NOT_RUN) {
        return;
    }
    const struct gce_key key = {.c = arg->c, .zone = arg->zone, .name = arg->name};
    if (is_gone(arg, outcome, err)) {
        gce_snapshot_put(p->snapshot, &key, NULL);
    } else {
        gce_snapshot_forget(p->snapshot, &key);
    }
}
