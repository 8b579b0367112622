/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops_remember.c: the effects of a write on the snapshot (gce_ops.h).
 *
 * Only what is certain is kept: that something is gone, and bodies to which the cloud adds nothing
 * that trimtab compares (health checks, backend services).  Everything else that was touched is
 * forgotten, so that the next sync reads it. */
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/ops/gce_ops.h"

static bool is_gone(const struct gce_op *op, unsigned outcome, const struct err *err)
{
    return op->verb == GCE_DELETE &&
           (outcome == LB_DONE || (outcome == LB_TOLERATED && err->code == ERR_NOT_FOUND));
}

static bool is_known_by_its_body(const struct gce_op *op)
{
    bool check = op->c == GCE_HCS || op->c == GCE_REGION_HCS || op->c == GCE_CHECKS;
    /* A writer reads it before, so it needs no fingerprint here; a change of nodes only asks for
     * its backends. */
    bool backends = op->c == GCE_BACKENDS;
    return (check || backends) && op->n_late == 0 &&
           (op->verb == GCE_INSERT || op->verb == GCE_UPDATE);
}

/* A firewall that was just made, with a body that was known when it was planned. */
static bool is_firewall_known(const struct gce_op *op)
{
    return op->c == GCE_FIREWALLS && op->verb == GCE_INSERT && op->n_late == 0;
}

/* The mirror has the members of a NEG or group (gce_neg_mirror.h); the resource itself stays
 * unchanged, except for its size, which is unreliable now. */
static void forget_size(struct gce_cloud *cloud, const struct gce_key *key)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *o;
    if (gce_snapshot_get(cloud->snapshot, key, GCE_SNAPSHOT_ANY, a, &o) == GCE_PRESENT) {
        json_add_int(o, "size", -1);
        gce_snapshot_put(cloud->snapshot, key, o);
    }
}

void gce_op_wrote(struct gce_cloud *cloud, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    const struct gce_op *arg = op->arg;
    const struct gce_key key = {.c = arg->c, .zone = arg->zone, .name = arg->name};
    if (outcome == LB_SKIPPED || outcome == LB_NOT_RUN) {
        return;
    }
    if (is_gone(arg, outcome, err)) {
        gce_snapshot_put(cloud->snapshot, &key, NULL);
    } else if (outcome == LB_DONE && arg->members && arg->c != GCE_POOLS) {
        forget_size(cloud, &key);
    } else if (outcome == LB_DONE && is_firewall_known(arg)) {
        _cleanup_(json_putp) struct json_object *made = gce_firewall_as_made(arg->body);
        gce_snapshot_put(cloud->snapshot, &key, made);
    } else if (outcome == LB_DONE && is_known_by_its_body(arg)) {
        gce_snapshot_put(cloud->snapshot, &key, arg->body);
    } else {
        gce_snapshot_forget(cloud->snapshot, &key);
    }
}
