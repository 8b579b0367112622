/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_remember.c: the effects of target pools on the snapshot: lists, and writes.
 *
 * gce_target_pool_observe.c decides when listing is worth it (gce_snapshot_list.c lists).  After a
 * write only what is certain is kept: an answer that is not known word by word makes the resource
 * unknown, so that the next sync reads it. */
#include "providers/gce/target_pool/gce_target_pool_remember.h"

#include "common/base/str.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/ops/gce_snapshot_list.h"

int gce_tp_fill(struct gce_cloud *cloud, struct http *http, const struct tt_call *call,
                unsigned *ret_reads, struct err *err)
{
    int rc = gce_snapshot_list(cloud, GCE_KINDS_TARGET_POOL, http, call, ret_reads, err);
    gce_snapshot_filled(cloud->snapshot);
    return rc;
}

bool gce_tp_check_stands(const struct gce_cloud *cloud, struct arena *a, const struct gce_names *n)
{
    return gce_snapshot_get(cloud->snapshot, GCE_KEY(GCE_CHECKS, n->node_check), GCE_SNAPSHOT_ANY,
                            a, NULL) == GCE_PRESENT &&
           gce_snapshot_get(cloud->snapshot, GCE_KEY(GCE_FIREWALLS, n->node_check_firewall),
                            GCE_SNAPSHOT_ANY, a, NULL) == GCE_PRESENT;
}

/* ---- writes ---------------------------------------------------------------------------------- */

static enum gce_collection collection_of(enum gce_tp_action action)
{
    switch (action) {
    case GCE_TP_HOLD_ADDRESS:
    case GCE_TP_DELETE_ADDRESS:
        return GCE_ADDRESSES;
    case GCE_TP_INSERT_RULE:
    case GCE_TP_DELETE_RULE:
    case GCE_TP_RESTORE_RULE:
        return GCE_RULES;
    case GCE_TP_INSERT_FIREWALL:
    case GCE_TP_PATCH_FIREWALL:
    case GCE_TP_DELETE_FIREWALL:
    case GCE_TP_RESTORE_FIREWALL:
        return GCE_FIREWALLS;
    case GCE_TP_INSERT_CHECK:
    case GCE_TP_UPDATE_CHECK:
    case GCE_TP_DELETE_CHECK:
        return GCE_CHECKS;
    default:
        return GCE_POOLS;
    }
}

void gce_tp_wrote(struct gce_cloud *cloud, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    const struct gce_tp_op *arg = op->arg;
    enum gce_collection c = collection_of(arg->action);
    bool gone = op->verb == LB_DELETE &&
                (outcome == LB_DONE || (outcome == LB_TOLERATED && err->code == ERR_NOT_FOUND));
    _cleanup_(json_putp) struct json_object *body = NULL;
    if (outcome == LB_DONE && arg->action == GCE_TP_INSERT_CHECK) {
        body = gce_check_body(&arg->check);
    }
    if (outcome == LB_DONE && arg->action == GCE_TP_INSERT_FIREWALL &&
        !gce_tp_firewall_has_ip(arg->d, arg->firewall)) {
        _cleanup_(json_putp) struct json_object *insert = gce_firewall_body(arg->firewall, false);
        body = gce_firewall_as_made(insert);
    }
    if (gone || body != NULL) {
        gce_snapshot_put(cloud->snapshot, GCE_KEY(c, op->name), body);
    } else {
        gce_snapshot_forget(cloud->snapshot, GCE_KEY(c, op->name));
    }
}
