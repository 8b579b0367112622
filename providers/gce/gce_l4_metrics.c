/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_metrics.c: see gce_l4_metrics.h. */
#include "providers/gce/gce_l4_metrics.h"

#include "common/base/str.h"

static const char *sync_type(const struct lb_item *item)
{
    if (item->in->verb == TT_VERB_DELETE) {
        return "delete";
    }
    return item->in->service->n_ingress > 0 ? "update" : "create";
}

static const char *protocol_of(const struct gce_bs_item *b)
{
    const char *p = b->has_desired ? str_nonnull(b->d.service.protocol) : "";
    return str_eq(p, "UNSPECIFIED") ? "MIXED" : p;
}

static const char *bool_text(bool b)
{
    return b ? "true" : "false";
}

/* Upstream's word for the status of an HTTP answer, as far as our codes keep it. */
static const char *error_type(int code)
{
    switch (code) {
    case ERR_FORBIDDEN:
        return "Forbidden";
    case ERR_NOT_FOUND:
        return "Not Found";
    case ERR_CONFLICT:
        return "Precondition Failed";
    case ERR_EXISTS:
        return "Conflict";
    case ERR_THROTTLED:
        return "Too Many Requests";
    case ERR_INVALID:
    case ERR_IN_USE:
        return "Bad Request";
    default:
        return "";
    }
}

static void note_error(struct lb_sync *s, const struct lb_item *item, bool internal)
{
    const struct tt_kv labels[] = {{"sync_type", sync_type(item)},
                                   {"gce_resource", ""},
                                   {"error_type", error_type(item->err.code)}};
    s->host->metric_add(s->host->ctx,
                        internal ? "l4_ilb_sync_error_count" : "l4_netlb_sync_error_count", labels,
                        ARRAY_LEN(labels), 1);
}

void gce_l4_metrics_note(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    bool internal = gce_kind_is_internal(b->in.kind);
    bool failed = item->err.code != ERR_OK;
    bool resync = (item->in->reasons & ~TT_REASON_RESYNC) == 0;
    const char *weighted =
        bool_text(str_has_prefix(str_nonnull(b->d.service.locality), "WEIGHTED"));
    const struct tt_kv labels[] = {
        {"sync_result", failed ? "error" : "success"},
        {"sync_type", sync_type(item)},
        {"periodic_resync", bool_text(resync)},
        {"l4_weighted_lb_pods_per_node", weighted},
        {"protocol", protocol_of(b)},
        {"logging_enabled", bool_text(b->d.log_managed && b->d.service.log_enable)},
        {internal ? "zonal_affinity" : "backend_type",
         internal ? bool_text(str_eq(b->d.service.spillover, "ZONAL_AFFINITY_SPILL_CROSS_ZONE"))
                  : (gce_kind_has_negs(b->in.kind) ? "NEG" : "IG")}};
    const struct tt_kv controller[] = {
        {"controller_name", internal ? "l4-ilb-subsetting-controller" : "l4netlb-controller"}};
    s->host->metric_observe(
        s->host->ctx, internal ? "l4_ilb_sync_duration_seconds" : "l4_netlb_sync_duration_seconds",
        labels, ARRAY_LEN(labels), (double)(s->host->now_ms(s->host->ctx) - b->began_ms) / 1000);
    s->host->metric_set(s->host->ctx, "l4_last_sync_time", controller, 1,
                        (double)(s->host->wall_us(s->host->ctx) / 1000000));
    if (failed) {
        note_error(s, item, internal);
    }
}
