/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_together.c: updates of the backends of several Services at once (gce_flow.h).
 *
 * A change of nodes concerns many Services, and the controller hands them over together
 * (TT_CAP_NODES_TOGETHER).  Each is looked at and planned as if it were alone; what must be read
 * for it is read beside what the others need, in one wave for pools and one for members of NEGs,
 * and the operations of one plan go out at the same time, because no two Services share a pool or
 * a NEG.  The instance groups, which they share, are written once for all of them.
 * Blocks; a sync's thread. */
#include "providers/gce/gce_flow.h"

#include "providers/gce/ops/gce_ops.h"

static bool is_update(const struct lb_item *item)
{
    return lb_item_is_active(item) && item->in->verb == TT_VERB_UPDATE;
}

static bool must_be_read(const struct lb_sync *s, const struct gce_tp_item *t)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    return s->fresh || gce_snapshot_get(cloud->snapshot, GCE_KEY(GCE_POOLS, t->names.lb),
                                        GCE_SNAPSHOT_AGE_MS, s->a, NULL) != GCE_PRESENT;
}

static void read_pools(struct lb_sync *s, struct lb_item *const *items, size_t n)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    struct http_job **jobs = ARENA_ARRAY(s->a, struct http_job *, n + 1);
    size_t n_jobs = 0;
    if (!gce_snapshot_was_listed(cloud->snapshot, GCE_KIND(GCE_POOLS), GCE_SNAPSHOT_ANY)) {
        return; /* the first look lists them all */
    }
    for (size_t i = 0; i < n; i++) {
        struct gce_tp_item *t = items[i]->data;
        t->ahead = NULL;
        if (!must_be_read(s, t)) {
            continue;
        }
        t->ahead = ARENA_NEW(s->a, struct gce_read);
        const struct gce_call_spec spec = {
            .collection = GCE_POOLS, .verb = GCE_GET, .name = t->names.lb};
        gce_read_init(t->ahead, &cloud->api, s->call, s->a, &spec);
        t->ahead->job.cancel = s->cancel;
        jobs[n_jobs++] = &t->ahead->job;
    }
    if (n_jobs > 0) {
        http_run(s->http, jobs, n_jobs);
    }
}

void gce_flow_read_ahead(struct lb_sync *s)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    struct lb_item **pools = ARENA_ARRAY(s->a, struct lb_item *, s->n_items);
    struct lb_item **negs = ARENA_ARRAY(s->a, struct lb_item *, s->n_items);
    size_t n_pools = 0;
    size_t n_negs = 0;
    if (s->n_items < 2 || cloud->offline) {
        return;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!is_update(item)) {
            continue;
        }
        if (!gce_item_is_bs(item)) {
            pools[n_pools++] = item;
        } else if (gce_bs_has_negs(s, &gce_item_of(item)->bs)) {
            negs[n_negs++] = item;
        }
    }
    read_pools(s, pools, n_pools);
    gce_bs_members_read_ahead(s, negs, n_negs);
}
