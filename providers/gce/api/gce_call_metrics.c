/* SPDX-License-Identifier: Apache-2.0 */
/* gce_call_metrics.c: what is measured of one call to the cloud, its operation included
 * (gce_call.h).
 *
 * cloud-provider-gcp's names always; where ingress-gce's part is played, too, those under which it
 * counts calls of the kinds that it sends itself (gce_api_…), NEGs (gce_neg_metrics.h) and the
 * members of instance groups.
 * Source: gce-cloud-provider.md §14.1; gce-l4.md §7.6. */
#include "common/base/str.h"
#include "providers/gce/api/gce_call.h"
#include "providers/gce/api/gce_neg_metrics.h"

const char *gce_metric_composite(struct arena *a, enum gce_collection c, enum gce_verb v)
{
    static const char *const kinds[GCE_COLLECTION_MAX] = {
        [GCE_ADDRESSES] = "Address",       [GCE_RULES] = "ForwardingRule",
        [GCE_BACKENDS] = "BackendService", [GCE_HCS] = "HealthCheck",
        [GCE_REGION_HCS] = "HealthCheck",  [GCE_NEGS] = "NetworkEndpointGroup",
    };
    static const char *const verbs[GCE_VERB_MAX] = {
        [GCE_GET] = "get",
        [GCE_LIST] = "list",
        [GCE_INSERT] = "create",
        [GCE_DELETE] = "delete",
        [GCE_PATCH] = "patch",
        [GCE_UPDATE] = "update",
        [GCE_ATTACH] = "attach",
        [GCE_DETACH] = "detach",
        [GCE_LIST_ALL] = "aggregated_list",
        [GCE_LIST_ENDPOINTS] = "list_endpoints",
    };
    return kinds[c] == NULL || verbs[v] == NULL ? NULL
                                                : arena_printf(a, "%s_%s", kinds[c], verbs[v]);
}

struct measure {
    const struct gce_call *c;
    const struct tt_host *host;
    double seconds;
    const struct err *err;
};

static void requests(const struct measure *m, const char *request, const char *version,
                     const char *seconds, const char *errors)
{
    const struct gce_call *c = m->c;
    const struct tt_kv labels[] = {
        {"request", request},
        {"region", gce_metric_region(c->api, c->spec.collection)},
        {"zone", str_or(c->spec.zone, "<n/a>")},
        {"version", version},
    };
    m->host->metric_observe(m->host->ctx, seconds, labels, ARRAY_LEN(labels), m->seconds);
    if (m->err->code != ERR_OK) {
        m->host->metric_add(m->host->ctx, errors, labels, ARRAY_LEN(labels), 1);
    }
}

/* Counted as upstream does: when it is tried, however it ends. */
static void group_members(const struct measure *m)
{
    const struct gce_call *c = m->c;
    bool add = c->spec.verb == GCE_ADD_INSTANCES;
    if (c->spec.collection != GCE_GROUPS || (!add && c->spec.verb != GCE_REMOVE_INSTANCES)) {
        return;
    }
    const struct tt_kv label = {"operation_type", add ? "Add" : "Remove"};
    size_t n = json_len(json_member(c->spec.body, "instances"));
    m->host->metric_observe(m->host->ctx, "instance_group_event_size", &label, 1, (double)n);
    m->host->metric_add(m->host->ctx, "instance_group_event_count", &label, 1, 1);
}

void gce_call_measure(const struct gce_call *c, const struct err *err)
{
    const struct tt_host *host = c->api->host;
    if (host == NULL || host->metric_observe == NULL) {
        return;
    }
    int64_t took_ms = clock_now_ms(c->api->clock) - c->began_ms;
    const struct measure m = {
        .c = c, .host = host, .seconds = (double)took_ms / 1000.0, .err = err};
    const char *version = c->api->version;
    requests(&m, gce_metric_request(c->a, c->spec.collection, c->spec.verb), str_or(version, "v1"),
             "cloudprovider_gce_api_request_duration_seconds",
             "cloudprovider_gce_api_request_errors");
    if (!c->api->l4) {
        return;
    }
    const char *composite = gce_metric_composite(c->a, c->spec.collection, c->spec.verb);
    if (composite != NULL) {
        requests(&m, composite, str_or(version, "ga"), "gce_api_request_duration_seconds",
                 "gce_api_request_errors");
    }
    if (c->spec.collection == GCE_NEGS) {
        gce_neg_metrics_call(host, &c->spec, m.seconds, err);
    }
    group_members(&m);
}
