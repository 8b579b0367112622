/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_metrics.c: see gce_l4_metrics.h.
 *
 * Upstream's L4 controllers do not react to nodes: a sync that only moves members (UPDATE) is none
 * of theirs, but the NEG controller's.  What was cancelled, or waits for something, has not ended
 * and is not counted. */
#include "providers/gce/gce_l4_metrics.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/api/gce_neg_metrics.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/ops/gce_ops.h"

/* One sync that has ended, in words that metrics use. */
struct noted {
    struct lb_sync *s;
    const struct lb_item *item;
    const struct gce_item *g;
    const struct gce_bs_item *b; /* what was made, or taken away */
    const struct tt_host *host;
    enum gce_kind kind;
    bool internal;
    bool deletes;
    bool failed;
    bool resync;   /* nothing was wrong before, and nothing was changed */
    uint32_t bits; /* gce_gauges.h */
    int64_t now_ms;
};

static const char *bool_text(bool b)
{
    return b ? "true" : "false";
}

static const char *sync_type(const struct noted *n)
{
    if (n->deletes) {
        return "delete";
    }
    return n->item->in->service->n_ingress > 0 ? "update" : "create";
}

static const char *controller_name(const struct noted *n)
{
    return n->internal ? "l4-ilb-subsetting-controller" : "l4netlb-controller";
}

/* ---- histograms ------------------------------------------------------------------------------ */

static void note_duration(const struct noted *n)
{
    double seconds = (double)(n->now_ms - n->b->began_ms) / 1000;
    const struct gce_l4_flags *f = &n->b->facts.flags;
    const char *result = n->failed ? "error" : "success";
    const struct tt_kv labels[] = {
        {"sync_result", result},
        {"sync_type", sync_type(n)},
        {"periodic_resync", bool_text(n->resync)},
        {"l4_weighted_lb_pods_per_node", gce_gauge_word(n->bits, GCE_GAUGE_WEIGHTED)},
        {"protocol", gce_gauge_word(n->bits, GCE_GAUGE_PROTOCOL)},
        {"logging_enabled", gce_gauge_word(n->bits, GCE_GAUGE_LOGGING)},
        {n->internal ? "zonal_affinity" : "backend_type",
         gce_gauge_word(n->bits, n->internal ? GCE_GAUGE_ZONAL : GCE_GAUGE_KIND)}};
    const struct tt_kv dual[] = {labels[0],
                                 labels[1],
                                 labels[2],
                                 {"ip_families", gce_gauge_word(n->bits, GCE_GAUGE_FAMILIES)}};
    n->host->metric_observe(n->host->ctx,
                            n->internal ? "l4_ilb_sync_duration_seconds"
                                        : "l4_netlb_sync_duration_seconds",
                            labels, ARRAY_LEN(labels), seconds);
    if (n->internal ? f->dual_stack_ilb : f->dual_stack_netlb) {
        n->host->metric_observe(n->host->ctx,
                                n->internal ? "l4_ilb_dualstack_sync_duration_seconds"
                                            : "l4_netlb_dualstack_sync_duration_seconds",
                                dual, ARRAY_LEN(dual), seconds);
    }
    if (gce_gauge_get(n->bits, GCE_GAUGE_MULTINET) != 0) { /* `dual` without the families */
        n->host->metric_observe(n->host->ctx,
                                n->internal ? "l4_ilb_multinet_sync_duration_seconds"
                                            : "l4_netlb_multinet_sync_duration_seconds",
                                dual, ARRAY_LEN(dual) - 1, seconds);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

/* The failed resource; "" if it was not an operation (a user error, a read). */
static const char *resource_of(const struct noted *n)
{
    const struct gce_op *op = n->g->failed_op;
    const struct tt_service *svc = n->item->in->service;
    struct gce_l4_names names;
    if (op == NULL || n->g->failed_code != n->item->err.code) {
        return "";
    }
    gce_l4_names_make(n->s->a, n->b->facts.kube_system_uid, svc->ns, svc->name,
                      str_nonnull(svc->uid), &names);
    return gce_l4_resource_label(&names, op->c, op->name);
}

static void note_error(const struct noted *n)
{
    const struct tt_kv labels[] = {
        {"sync_type", sync_type(n)},
        {"gce_resource", resource_of(n)},
        {"error_type", gce_l4_error_type(&n->item->err)},
        {"l4_weighted_lb_pods_per_node", gce_gauge_word(n->bits, GCE_GAUGE_WEIGHTED)},
        {"protocol", gce_gauge_word(n->bits, GCE_GAUGE_PROTOCOL)},
        {"logging_enabled", gce_gauge_word(n->bits, GCE_GAUGE_LOGGING)},
        {"zonal_affinity", gce_gauge_word(n->bits, GCE_GAUGE_ZONAL)}};
    n->host->metric_add(n->host->ctx,
                        n->internal ? "l4_ilb_sync_error_count" : "l4_netlb_sync_error_count",
                        labels, n->internal ? ARRAY_LEN(labels) : ARRAY_LEN(labels) - 1, 1);
}

static void note_details(const struct noted *n)
{
    const struct tt_kv labels[] = {{"controller_name", controller_name(n)},
                                   {"success", bool_text(!n->failed)},
                                   {"predicted_periodic_resync", bool_text(n->resync)},
                                   {"was_update", bool_text(n->g->bs.changed)}};
    n->host->metric_add(n->host->ctx, "l4_sync_details_count", labels, ARRAY_LEN(labels), 1);
}

/* One that asked for another side had its finalizer taken off by us, when that side went. */
static bool asks_alike(const struct tt_service *was, const struct tt_service *now)
{
    return gce_svc_scheme(was) == gce_svc_scheme(now) && str_eq(was->type, now->type);
}

/* Another program took the finalizer of its kind off.  Seen at the first sync that ends well after
 * two views of the Service, one with it and one without; our own taking it away goes with another
 * kind, or with deletion. */
static void note_finalizer(const struct noted *n)
{
    const struct tt_service *now = n->item->in->service;
    const struct tt_service *was = n->item->in->previous;
    const struct gce_decision *d = &n->g->decision;
    const char *finalizer = gce_kind_finalizer(n->kind == d->kind ? d->mark : n->kind);
    const struct tt_kv label = {"finalizer_name", n->kind == GCE_KIND_ILB_GROUPS ? "ilb_legacy"
                                                  : n->internal                  ? "ilb"
                                                                                 : "netlb_rbs"};
    if (was == NULL || finalizer == NULL || n->failed || n->kind == GCE_KIND_TARGET_POOL ||
        !asks_alike(was, now) ||
        !gce_l4_finalizer_lost(was->finalizers, was->n_finalizers, now->finalizers,
                               now->n_finalizers, finalizer, n->deletes || now->deleted_us != 0)) {
        return;
    }
    n->host->metric_add(n->host->ctx, "l4_removed_finalizer_count", &label, 1, 1);
    n->host->event(n->host->ctx, now, TT_EVENT_WARNING, GCE_EVENT_FINALIZER,
                   arena_printf(n->s->a, "Finalizer %s was unexpectedly removed from the service.",
                                finalizer));
}

/* ---- the three controllers ------------------------------------------------------------------- */

static void note_negs(const struct noted *n)
{
    const struct tt_service *svc = n->item->in->service;
    const struct gce_neg_sync sync = {.began_ms = n->b->began_ms,
                                      .local = str_eq(svc->external_traffic_policy, "Local"),
                                      .made = n->g->made_neg,
                                      .failed = n->failed};
    gce_neg_metrics_sync(n->host, &sync);
}

static void note_l4(const struct noted *n)
{
    const struct tt_kv controller = {"controller_name", controller_name(n)};
    note_duration(n);
    n->host->metric_set(n->host->ctx, "l4_last_sync_time", &controller, 1,
                        (double)(n->host->wall_us(n->host->ctx) / 1000000));
    if (n->failed) {
        note_error(n);
    }
    if (!n->deletes) {
        note_details(n);
    }
}

/* A Service counts as what its last ensure made of it; one whose deletion fails, as what it was. */
static void note_gauges(const struct noted *n)
{
    const struct gce_provider *p = gce_provider_of(n->s);
    if (n->deletes && !n->failed) {
        gce_gauges_set(p->gauges, n->host, n->item->key, 0, n->now_ms);
    } else if (!n->deletes && n->item->in->verb == TT_VERB_ENSURE) {
        gce_gauges_set(p->gauges, n->host, n->item->key, n->bits, n->now_ms);
    }
}

/* The owner's error only where ingress-gce tells them apart (§4.14). */
static enum gce_status status_of(enum gce_kind kind, const struct err *err)
{
    if (err->code == ERR_OK) {
        return GCE_STATUS_SUCCESS;
    }
    bool users = gce_kind_part(kind) == GCE_PART_L4 && gce_l4_error_is_users(err);
    return users ? GCE_STATUS_USER_ERROR : GCE_STATUS_ERROR;
}

static bool was_good(const struct gce_provider *p, const char *key)
{
    uint32_t bits = gce_gauges_get(p->gauges, key);
    return bits != 0 && gce_gauge_get(bits, GCE_GAUGE_STATUS) == GCE_STATUS_SUCCESS;
}

/* Its facts were asked for: from there on upstream counts the time. */
static bool has_begun(const struct gce_bs_item *b)
{
    return b->in.key != NULL;
}

static struct noted look(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_item *g = gce_item_of(item);
    bool deletes = item->in->verb == TT_VERB_DELETE || g->decision.teardown;
    const struct gce_bs_item *b = deletes ? gce_item_was(g) : &g->bs;
    enum gce_kind kind = has_begun(b) ? b->in.kind : g->decision.kind;
    bool logs = b->d.log_managed && b->d.service.log_enable;
    return (struct noted){
        .s = s,
        .item = item,
        .g = g,
        .b = b,
        .host = s->host,
        .kind = kind,
        .internal = gce_kind_is_internal(kind),
        .deletes = deletes,
        .failed = item->err.code != ERR_OK,
        .resync = !deletes && item->in->reasons == TT_REASON_RESYNC && was_good(p, item->key),
        .bits = gce_gauge_bits(item->in->service, kind, status_of(kind, &item->err), logs,
                               &p->options.l4),
        .now_ms = s->host->now_ms(s->host->ctx),
    };
}

void gce_metrics_note(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (s->planning || item->err.code == ERR_CANCELLED || item->err.code == ERR_IN_PROGRESS) {
        return;
    }
    const struct noted n = look(s, item);
    if (item->settled || item->err.code == ERR_IMPLEMENTED_ELSEWHERE) {
        gce_gauges_set(p->gauges, s->host, item->key, 0, n.now_ms);
        return;
    }
    bool began = has_begun(n.b);
    bool of_l4 = gce_kind_has_service(n.kind) && gce_kind_part(n.kind) == GCE_PART_L4;
    if (began && of_l4 && item->in->verb != TT_VERB_UPDATE) {
        note_l4(&n);
    }
    if (began && gce_kind_has_negs(n.kind) && !n.deletes) {
        note_negs(&n);
    }
    note_finalizer(&n);
    note_gauges(&n);
}

void gce_metrics_gone(struct gce_provider *p, const struct tt_service *service)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    gce_gauges_set(p->gauges, p->cloud.host, svc_key(a, service), 0,
                   p->cloud.host->now_ms(p->cloud.host->ctx));
}
