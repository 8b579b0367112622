/* SPDX-License-Identifier: Apache-2.0 */
/* gce_explain_nodes.c: see gce_explain_nodes.h.  Who serves is asked of the rules by which
 * a sync decides. */
#include "providers/gce/gce_explain_nodes.h"

#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_node_rules.h"

#include <string.h>

/* ---- target pools ---------------------------------------------------------------------------- */

static size_t pool_nodes(struct lb_explain *x, struct arena *a, const struct gce_explained *e)
{
    struct gce_members m;
    gce_members_of(a, e->nodes, e->n_nodes, e->project, e->region, &m);
    lb_explain_take_part(x, m.n_ids, e->n_nodes, e->n_left);
    for (size_t i = 0; i < e->n_nodes; i++) {
        const char *why = node_left_out_because(a, e->nodes[i]);
        if (why != NULL) {
            lb_explain_left_out(x, e->nodes[i]->name, why);
        }
    }
    for (size_t i = 0; i < m.n_left_out; i++) {
        lb_explain_left_out(x, m.left_out[i].node, m.left_out[i].because);
    }
    return m.n_ids > 0 ? m.n_ids : e->n_left;
}

/* ---- instance groups and NEGs ---------------------------------------------------------------- */

static bool has_internal_ip(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        if (str_eq(n->addresses[i].type, "InternalIP")) {
            return true;
        }
    }
    return false;
}

/* Why ingress-gce's rule leaves a node out (gce-l4.md §3.1); NULL: it does not. */
static const char *why_no_candidate(struct arena *a, const struct gce_explained *e,
                                    const struct tt_node *n, bool ready_only)
{
    struct gce_node_verdict v;
    const char *why = node_left_out_because(a, n);
    gce_node_judge(a, &e->filter, n, &v);
    if (why != NULL) {
        return why;
    }
    if (n->n_pod_cidrs == 0 && e->filter.needs_pod_cidr) {
        return "it has no spec.podCIDR (--gce-nodes-need-pod-cidr)";
    }
    if (str_is_empty(v.zone)) {
        return str_is_empty(n->provider_id)
                   ? "it has no spec.providerID yet"
                   : arena_printf(a, "spec.providerID \"%s\" names no zone", n->provider_id);
    }
    if (!v.all) {
        return "it is in another subnetwork";
    }
    if (gce_kind_has_negs(e->kind) && e->network != NULL) {
        if (!gce_node_is_on_network(a, n, e->network)) {
            return arena_printf(a, "it is not connected to network %s", e->network);
        }
    } else if (gce_kind_has_negs(e->kind) && !has_internal_ip(n)) {
        return "it has no InternalIP yet";
    }
    if (!v.candidate_or_unready) {
        return "a label of it says so, or it has no status yet";
    }
    return ready_only && !v.candidate ? "it is not ready" : NULL;
}

/* One zone: how many, and which; `of` -1: it does not say of how many. */
static void zone(struct lb_explain *x, const char *name, const struct gce_strs *nodes, int64_t of)
{
    const struct tt_explain_row row =
        LB_EXPLAIN_ROW(TT_EXPLAIN_ZONE, .subject = name, .count = (int64_t)nodes->n, .of = of,
                       .names = nodes->items, .n_names = (uint32_t)nodes->n);
    lb_explain_add(x, &row);
}

/* Nodes that a group of cloud-provider-gcp takes: all that take part and have a zone. */
static size_t wanted_in_groups(struct arena *a, const struct gce_explained *e,
                               struct gce_groups_want *ret)
{
    size_t n = 0;
    gce_groups_of(a, e->nodes, e->n_nodes, e->legacy_groups, &e->filter, e->max_group, ret);
    for (size_t i = 0; i < ret->n; i++) {
        n += ret->zones[i].nodes.n;
    }
    return n;
}

size_t gce_explain_group_nodes(struct arena *a, const struct gce_explained *e)
{
    struct gce_groups_want want;
    return wanted_in_groups(a, e, &want);
}

static size_t group_nodes(struct lb_explain *x, struct arena *a, const struct gce_explained *e)
{
    struct gce_groups_want want;
    size_t n = wanted_in_groups(a, e, &want);
    if (n == 0 && e->n_left > 0) {
        lb_explain_take_part(x, n, e->n_nodes, e->n_left);
    } else {
        lb_explain_nodes(
            x, n, e->n_nodes,
            arena_printf(a, "%zu of %zu are in the cluster's instance groups, one per zone", n,
                         e->n_nodes));
    }
    for (size_t i = 0; i < want.n; i++) {
        zone(x, want.zones[i].zone, &want.zones[i].nodes, -1);
    }
    for (size_t i = 0; i < e->n_nodes; i++) {
        const char *why = e->legacy_groups ? node_left_out_because(a, e->nodes[i])
                                           : why_no_candidate(a, e, e->nodes[i], true);
        if (why != NULL) {
            lb_explain_left_out(x, e->nodes[i]->name, why);
        }
    }
    return n > 0 ? n : e->n_left;
}

static void neg_zones(struct lb_explain *x, struct arena *a, const struct gce_explained *e,
                      const struct gce_neg_members *m)
{
    const struct gce_node_table *t = gce_node_table_make(a, &e->filter, e->nodes, e->n_nodes);
    for (size_t i = 0; i < m->places.n; i++) {
        const struct gce_neg_place *p = &m->places.items[i];
        struct gce_strs names = {.items = ARENA_ARRAY(a, const char *, p->n), .n = p->n};
        size_t of = 0;
        for (size_t k = 0; k < p->n; k++) {
            names.items[k] = p->endpoints[k].instance;
        }
        for (size_t k = 0; k < t->n_zones; k++) {
            of += str_eq(t->zones[k].zone, p->zone) ? t->zones[k].nodes.n : 0;
        }
        zone(x, p->zone, &names, (int64_t)of);
    }
}

/* How the number came about (gce-l4.md §3.3). */
static const char *neg_rule(struct arena *a, const struct gce_explained *e,
                            const struct gce_neg_members *m, bool local)
{
    if (m->unsaid) {
        return "there is no EndpointSlice yet: members stay as they are";
    }
    if (local) {
        return "those with an endpoint of the Service: policy Local";
    }
    return arena_printf(a, "at most %d; who is a member stays, who joins is chosen by a hash%s",
                        m->wanted,
                        e->current_unknown ? "; members now could not be read, so this is how a "
                                             "new load balancer would be"
                                           : "");
}

static size_t neg_nodes(struct lb_explain *x, struct arena *a, const struct gce_explained *e)
{
    static const struct tt_slice empty = {.size = sizeof(empty), .address_type = "IPv4"};
    static const struct tt_slice *const unknown[] = {&empty};
    bool local = svc_only_local_traffic(e->service);
    struct gce_neg_members m;
    struct err err = ERR_INIT;
    size_t n = 0;
    if (local && !e->has_slices) {
        const struct tt_explain_row row = LB_EXPLAIN_ROW(
            TT_EXPLAIN_NODES, .of = (int64_t)e->n_nodes,
            .value = "those with an endpoint of the Service (policy Local); endpoints are not "
                     "known here");
        lb_explain_add(x, &row);
        return 0;
    }
    /* Policy Cluster does not ask where the endpoints are, and a sync does not wait for
     * the first slice either. */
    bool assumed = !local && (!e->has_slices || e->n_slices == 0);
    const struct gce_neg_wish wish = {
        .ns = e->service->ns,
        .name = e->service->name,
        .local = local,
        .internal = gce_kind_is_internal(e->kind),
        .filter = e->filter,
        .subnetwork = e->subnetwork,
        .network = e->network,
        .include_draining = e->flags.neg_local_draining,
        .ipv6 = e->flags.ipv6_node_endpoints,
        .nodes = e->nodes,
        .n_nodes = e->n_nodes,
        .slices = assumed ? unknown : e->slices,
        .n_slices = assumed ? ARRAY_LEN(unknown) : e->n_slices,
    };
    if (gce_neg_membership(a, &wish, e->current, &m, &err) != ERR_OK) {
        lb_explain_nodes(x, 0, e->n_nodes, arena_printf(a, "none can be chosen: %s", err.message));
        return 0;
    }
    for (size_t i = 0; i < m.places.n; i++) {
        n += m.places.items[i].n;
    }
    lb_explain_nodes(
        x, n, e->n_nodes,
        arena_printf(a, "%zu of %zu are members of the NEGs, one NEG per zone", n, e->n_nodes));
    neg_zones(x, a, e, &m);
    lb_explain_text_row(x, TT_EXPLAIN_NODES_RULE, neg_rule(a, e, &m, local));
    for (size_t i = 0; i < e->n_nodes; i++) {
        const char *why = why_no_candidate(a, e, e->nodes[i], false);
        if (why != NULL) {
            lb_explain_left_out(x, e->nodes[i]->name, why);
        }
    }
    return n;
}

/* ---- the way of a packet --------------------------------------------------------------------- */

static void packet(struct lb_explain *x, struct arena *a, const struct gce_explained *e, size_t n)
{
    const struct tt_service *s = e->service;
    int32_t port = s->n_ports > 0 ? s->ports[0].port : 0;
    bool local = svc_only_local_traffic(s);
    const char *what = gce_kind_has_negs(e->kind)        ? "members"
                       : e->kind == GCE_KIND_TARGET_POOL ? "instances"
                                                         : "instances of the groups";
    bool unknown = local && gce_kind_has_negs(e->kind) && !e->has_slices;
    lb_explain_hop(x, "client", gce_kind_is_internal(e->kind) ? "client in the network" : "client",
                   -1, NULL);
    lb_explain_hop(x, "load balancer", str_is_empty(e->ip) ? NULL : e->ip, port, NULL);
    lb_explain_hop(x, "backend",
                   arena_printf(a, "%s of %s%s", local ? "one with a ready pod" : "any",
                                unknown ? "the " : arena_printf(a, "%zu ", n), what),
                   port, NULL);
    lb_explain_hop(x, "node", "kube-proxy", -1, NULL);
    lb_explain_hop(x, "pod", "a pod", -1,
                   local ? "source address is kept: policy Local"
                         : "source address is not kept: policy Cluster");
}

static void health(struct lb_explain *x, const struct gce_explained *e)
{
    int32_t port;
    const char *path = svc_health_check(e->service, &port);
    bool l4 = gce_kind_part(e->kind) == GCE_PART_L4;
    const struct tt_explain_row row = LB_EXPLAIN_ROW(
        TT_EXPLAIN_HEALTH, .subject = "HTTP", .value = str_or(path, "/healthz"),
        .port = path != NULL ? port : 10256, .every_ms = l4 && path != NULL ? 3000 : 8000);
    lb_explain_add(x, &row);
}

void gce_explain_nodes(struct lb_explain *x, struct arena *a, const struct gce_explained *e)
{
    size_t n = 0;
    if (e->kind == GCE_KIND_TARGET_POOL) {
        n = pool_nodes(x, a, e);
    } else if (gce_kind_has_negs(e->kind)) {
        n = neg_nodes(x, a, e);
    } else {
        n = group_nodes(x, a, e);
    }
    if (e->kind != GCE_KIND_NEGS_ONLY) {
        packet(x, a, e, n);
        health(x, e);
    }
    if (!str_is_empty(e->ip)) {
        lb_explain_text_row(x, TT_EXPLAIN_ADDRESS, e->ip);
    }
}
