/* SPDX-License-Identifier: Apache-2.0 */
/* gce_nobody.c: does any node answer behind the load balancer that is planned (gce_findings.h)?
 *
 * Only what the plan itself knows counts: members of the pool, of the groups, of the NEGs.  Whether
 * a member is healthy Google's health checks know; a Service without pods is no reason here, except
 * with policy Local and NEGs, whose members are the nodes with endpoints. */
#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "providers/gce/gce_findings.h"
#include "providers/gce/gce_flow.h"

static const char *no_node(struct lb_sync *s, const char *otherwise)
{
    const struct tt_batch *batch = s->batch;
    const char **reasons = ARENA_ARRAY(s->a, const char *, batch->n_nodes + 1);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        const char *why = node_left_out_because(s->a, batch->nodes[i]);
        reasons[i] = why != NULL ? why : otherwise;
    }
    return lb_nobody_nodes(s->a, reasons, batch->n_nodes);
}

/* Members of a pool stay while there are Nodes and none takes part (§4.9): their machines serve on.
 * Without Nodes there are no machines, whatever the pool says. */
static bool pool_stands(const struct lb_sync *s, const struct gce_tp_item *t)
{
    return s->batch->n_nodes > 0 && t->o.has_pool == GCE_PRESENT && t->o.pool.instances.n > 0;
}

static const char *of_pool(struct lb_sync *s, const struct gce_tp_item *t)
{
    const struct gce_members *m = &t->in.members;
    return m->n_ids > 0 || pool_stands(s, t)
               ? NULL
               : no_node(s, m->n_left_out > 0 ? m->left_out[0].because
                                              : "they have no instance in the region");
}

/* The same of groups (gce_groups.h): one that is behind a backend service has had members, and
 * those of a zone without a node that takes part stay. */
static bool groups_stand(const struct lb_sync *s, const struct gce_bs_item *b)
{
    bool some = false;
    for (size_t i = 0; s->batch->n_nodes > 0 && i < b->slots.n; i++) {
        const struct gce_slot *x = &b->slots.items[i];
        const struct gce_bservice *service =
            x->c == GCE_BACKENDS && x->known == GCE_PRESENT ? x->as : NULL;
        some = some || (service != NULL && service->n_backends > 0);
    }
    return some;
}

static const char *of_groups(struct lb_sync *s, const struct gce_bs_item *b)
{
    for (size_t i = 0; i < b->groups.n; i++) {
        if (b->groups.zones[i].nodes.n > 0) {
            return NULL;
        }
    }
    if (groups_stand(s, b)) {
        return NULL;
    }
    return no_node(s, "they are not ready, or have no zone or pod CIDR yet");
}

static const char *of_negs(struct lb_sync *s, const struct gce_bs_item *b)
{
    const struct gce_neg_members *m = &b->members;
    if (m->unsaid) {
        return NULL; /* it is not known yet where its endpoints are */
    }
    for (size_t i = 0; i < m->places.n; i++) {
        if (m->places.items[i].n > 0) {
            return NULL;
        }
    }
    bool local = str_eq(b->in.service->external_traffic_policy, "Local");
    for (uint32_t i = 0; local && i < s->batch->n_nodes; i++) {
        if (node_left_out_because(s->a, s->batch->nodes[i]) == NULL) {
            return "externalTrafficPolicy is Local and no node that takes part has an endpoint of "
                   "the Service";
        }
    }
    return no_node(s, "they are not ready, or have no zone, address or pod CIDR yet");
}

/* Ranges are given, and none is of a family of the Service's. */
static bool is_closed(struct lb_sync *s, const struct tt_service *svc)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_l4_flags *f = &p->options.l4;
    struct gce_l4_ranges ranges;
    bool open = f->disable_firewall || f->empty_family_opens ||
                gce_l4_source_ranges(s->a, svc, &ranges, NULL) != ERR_OK;
    if (!open && svc->n_ip_families == 0) {
        open = ranges.v4.n > 0;
    }
    for (uint32_t i = 0; !open && i < svc->n_ip_families; i++) {
        open = str_eq(svc->ip_families[i], "IPv6") ? ranges.v6.n > 0 : ranges.v4.n > 0;
    }
    return !open;
}

void gce_findings_desired(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_bs_item *b = &gce_item_of(item)->bs;
    if (!gce_item_is_bs(item) || !b->has_desired) {
        return;
    }
    if (b->d.warn_weighted) {
        lb_finding(s, item, "UnsupportedConfiguration", GCE_ANN_WEIGHTED,
                   "Weighted load balancing by pods per node has no effect with "
                   "externalTrafficPolicy Cluster; use Local.");
    }
    if (b->d.warn_options) {
        lb_finding(s, item, "ILBOptionsIgnored", NULL,
                   "Internal LoadBalancer options are not supported with Legacy Networks.");
    }
    gce_idle_addresses(s, item, b);
    if (b->d.warn_collection) {
        lb_finding(s, item, "IPCollectionV6Error", GCE_ANN_IP_COLLECTION,
                   "IP collections are only for external load balancers; the "
                   "annotation " GCE_ANN_IP_COLLECTION " has no effect.");
    }
}

void gce_findings_nobody(struct lb_sync *s, struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    const char *why = NULL;
    if (item->err.code != ERR_OK) {
        return;
    }
    if (!gce_item_is_bs(item)) {
        why = of_pool(s, &g->tp);
    } else if (gce_kind_has_groups(g->decision.kind)) {
        why = of_groups(s, &g->bs);
    } else if (gce_bs_has_negs(s, &g->bs)) {
        why = of_negs(s, &g->bs);
    }
    if (why == NULL && gce_item_is_bs(item) && g->decision.kind != GCE_KIND_NEGS_ONLY &&
        is_closed(s, item->in->service)) {
        why = "the source ranges allow no client: none is of the family of its addresses";
    }
    lb_serves_nobody(s, item, why);
}
