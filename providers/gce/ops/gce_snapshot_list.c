/* SPDX-License-Identifier: Apache-2.0 */
/* gce_snapshot_list.c: see gce_snapshot_list.h.  Items go into the snapshot one by one as bytes
 * arrive; a kind whose list failed keeps what it had. */
#include "providers/gce/ops/gce_snapshot_list.h"

#include "common/base/arena.h"
#include "providers/gce/cache/gce_cloud.h"

struct list_job {
    enum gce_collection kind;
    struct gce_read read;
    struct gce_splitter cutter;
    struct gce_fill *fill;
};

struct lists {
    struct gce_cloud *cloud;
    struct arena *a;
    struct list_job jobs[GCE_COLLECTION_MAX];
    struct http_job *run[GCE_COLLECTION_MAX];
    size_t n;
};

static void begin(struct lists *l, enum gce_collection c, const struct tt_call *call)
{
    struct list_job *job = &l->jobs[l->n];
    job->kind = c;
    job->fill = gce_fill_begin(l->cloud->snapshot, c);
    gce_splitter_init(&job->cutter, gce_fill_item, job->fill);
    const struct gce_call_spec spec = {
        .collection = c,
        .verb = gce_api_is_zonal(c) ? GCE_LIST_ALL : GCE_LIST,
        .filter = gce_snapshot_filter(c),
        .cutter = &job->cutter,
    };
    gce_read_init(&job->read, &l->cloud->api, call, l->a, &spec);
    l->run[l->n++] = &job->read.job;
}

static int end(struct lists *l, struct list_job *job, struct err *err)
{
    struct err *failed = &job->read.job.err;
    if (failed->code == ERR_OK && gce_fill_is_bad(job->fill)) {
        (void)err_set(failed, ERR_TRANSIENT, "%s: an item of the list is no resource",
                      job->read.call.op_id);
    }
    gce_splitter_done(&job->cutter);
    bool over = gce_fill_is_over(job->fill); /* too many to keep: read one by one */
    if (failed->code == ERR_OK && !over) {
        gce_fill_commit(job->fill);
        return ERR_OK;
    }
    gce_fill_drop(job->fill);
    if (over || failed->code == ERR_FORBIDDEN || failed->code == ERR_NOT_FOUND) {
        gce_snapshot_set_unlistable(l->cloud->snapshot, job->kind);
        return ERR_OK;
    }
    return err_copy(err, failed);
}

int gce_snapshot_list(struct gce_cloud *cloud, unsigned kinds, struct http *http,
                      const struct tt_call *call, unsigned *ret_reads, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct lists *l = ARENA_NEW(a, struct lists);
    l->cloud = cloud;
    l->a = a;
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        if ((kinds & GCE_KIND(c)) != 0 && gce_snapshot_lists((enum gce_collection)c) &&
            !gce_snapshot_is_unlistable(cloud->snapshot, (enum gce_collection)c)) {
            begin(l, (enum gce_collection)c, call);
        }
    }
    http_run(http, l->run, l->n);
    int rc = ERR_OK;
    for (size_t i = 0; i < l->n; i++) {
        struct err one = ERR_INIT;
        int code = end(l, &l->jobs[i], &one);
        *ret_reads += l->jobs[i].read.call.requests;
        if (code != ERR_OK && rc == ERR_OK) {
            rc = err_copy(err, &one);
        }
    }
    return rc;
}
