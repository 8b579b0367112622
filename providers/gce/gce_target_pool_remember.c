/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_remember.c: what the snapshot is told: everything that can be listed, and what
 * was written.
 *
 * gce_target_pool_observe.c decides when listing is worth it.  Items go into the snapshot one by
 * one as bytes arrive; a kind whose list failed keeps what it had.  After a write only what is
 * certain is kept: an answer that is not known word by word makes the resource unknown, so that
 * the next sync reads it. */
#include "common/base/str.h"
#include "providers/gce/gce_target_pool_observe.h"

/* ---- listing ------------------------------------------------------------------------------------- */

struct list_job {
    enum gce_collection kind;
    struct gce_read read;
    struct gce_cutter cutter;
    struct gce_fill *fill;
};

/* Lists all kinds but those that we may not list; *ret_n of them. */
static void fill_begin(struct gce_provider *p, const struct tt_call *call, struct arena *a,
                       struct list_job *jobs, struct http_job **run, size_t *ret_n)
{
    for (int k = 0; k < GCE_SNAPSHOT_KINDS; k++) {
        if (gce_snapshot_is_unlistable(p->snapshot, (enum gce_collection)k)) {
            continue;
        }
        struct list_job *job = &jobs[*ret_n];
        job->kind = (enum gce_collection)k;
        job->fill = gce_fill_begin(p->snapshot, job->kind);
        gce_cutter_init(&job->cutter, gce_fill_item, job->fill);
        struct gce_call_spec spec = {
            .collection = job->kind,
            .verb = GCE_LIST,
            .filter = k == GCE_FIREWALLS ? "name eq k8s-.*" : NULL, /* others' are many */
            .cutter = &job->cutter,
        };
        gce_read_init(&job->read, &p->api, call, a, &spec);
        run[(*ret_n)++] = &job->read.job;
    }
}

static int fill_all(struct gce_provider *p, struct http *http, const struct tt_call *call,
                    unsigned *ret_reads, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct list_job *jobs = ARENA_ARRAY(a, struct list_job, GCE_SNAPSHOT_KINDS);
    struct http_job *run[GCE_SNAPSHOT_KINDS];
    size_t n = 0;
    fill_begin(p, call, a, jobs, run, &n);
    http_run(http, run, n);
    int rc = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        struct err *failed = &jobs[i].read.job.err;
        if (failed->code == ERR_OK && gce_fill_is_bad(jobs[i].fill)) {
            (void)err_set(failed, ERR_TRANSIENT, "%s: an item of the list is no resource",
                          jobs[i].read.call.op_id);
        }
        *ret_reads += jobs[i].read.call.requests;
        gce_cutter_done(&jobs[i].cutter);
        bool over = gce_fill_is_over(jobs[i].fill); /* too many to keep: read one by one */
        if (failed->code == ERR_OK && !over) {
            gce_fill_commit(jobs[i].fill);
            continue;
        }
        gce_fill_drop(jobs[i].fill);
        if (over || failed->code == ERR_FORBIDDEN || failed->code == ERR_NOT_FOUND) {
            gce_snapshot_set_unlistable(p->snapshot, jobs[i].kind);
        } else {
            rc = rc != ERR_OK ? rc : err_copy(err, failed);
        }
    }
    return rc;
}

int gce_tp_fill(struct gce_provider *p, struct http *http, const struct tt_call *call,
                unsigned *ret_reads, struct err *err)
{
    int rc = fill_all(p, http, call, ret_reads, err);
    gce_snapshot_filled(p->snapshot);
    return rc;
}

/* ---- writes -------------------------------------------------------------------------------------- */

static enum gce_collection collection_of(enum gce_tp_action action)
{
    switch (action) {
    case GCE_TP_HOLD_ADDRESS:
    case GCE_TP_DELETE_ADDRESS:
        return GCE_ADDRESSES;
    case GCE_TP_INSERT_RULE:
    case GCE_TP_DELETE_RULE:
        return GCE_RULES;
    case GCE_TP_INSERT_FIREWALL:
    case GCE_TP_PATCH_FIREWALL:
    case GCE_TP_DELETE_FIREWALL:
        return GCE_FIREWALLS;
    case GCE_TP_INSERT_CHECK:
    case GCE_TP_UPDATE_CHECK:
    case GCE_TP_DELETE_CHECK:
        return GCE_CHECKS;
    default:
        return GCE_POOLS;
    }
}

void gce_tp_wrote(struct gce_provider *p, const struct lb_op *op, unsigned outcome,
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
    if (gone || body != NULL) {
        gce_snapshot_put(p->snapshot, c, op->name, body);
    } else {
        gce_snapshot_forget(p->snapshot, c, op->name);
    }
}
