/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: zones' shares, hints per zone, and why there are none; see explain.h. */
#include "common/services/topology/explain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* Something that counts for a zone. */
struct fact {
    const char *zone;
    int64_t ready;
    int64_t hinted;
    size_t nodes;
};
struct facts {
    struct fact *items;
    size_t n;
};
/* Everything one call works on. */
struct explaining {
    struct arena *a;
    const struct ks_service *service;
    struct ks_zone_shares shares;
    struct ks_zone_report *zones;
    struct ks_topology_report report;
};

/* ---- counting -------------------------------------------------------------------------------- */

static bool is_ready(const struct ks_slice_endpoint *e)
{
    return e->ready != KS_FALSE;
}

static void add_fact(struct facts *f, const struct fact *fact)
{
    if (!str_is_empty(fact->zone)) {
        f->items[f->n++] = *fact;
    }
}

static void count_slice(struct explaining *x, const struct ks_slice *s, struct facts *facts)
{
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        if (!is_ready(e)) {
            continue;
        }
        x->report.ready++;
        x->report.unhinted += e->n_zone_hints == 0 ? 1 : 0;
        x->report.zoneless += str_is_empty(e->zone) ? 1 : 0;
        add_fact(facts, &(struct fact){.zone = e->zone, .ready = 1});
        for (size_t k = 0; k < e->n_zone_hints; k++) {
            add_fact(facts, &(struct fact){.zone = e->zone_hints[k], .hinted = 1});
        }
    }
}

static int by_zone(const void *x, const void *y)
{
    return strcmp(((const struct fact *)x)->zone, ((const struct fact *)y)->zone);
}

static void add_up(struct explaining *x, struct facts *facts)
{
    qsort(facts->items, facts->n, sizeof(*facts->items), by_zone);
    x->zones = ARENA_ARRAY(x->a, struct ks_zone_report, facts->n);
    size_t n = 0;
    for (size_t i = 0; i < facts->n; i++) {
        const struct fact *f = &facts->items[i];
        if (n == 0 || !str_eq(x->zones[n - 1].zone, f->zone)) {
            x->zones[n++].zone = f->zone;
        }
        x->zones[n - 1].ready += f->ready;
        x->zones[n - 1].hinted += f->hinted;
        x->zones[n - 1].nodes += f->nodes;
    }
    x->report.zones = x->zones;
    x->report.n_zones = n;
    x->report.has_shares = x->shares.n > 0;
    x->report.in_force = x->report.ready > 0 && x->report.unhinted == 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct ks_zone_report *z = &x->zones[i];
        z->kept = x->report.in_force && z->hinted > 0;
        if (at < x->shares.n && str_eq(x->shares.zones[at].zone, z->zone)) {
            z->share = x->shares.zones[at].ratio;
            z->milli_cpu = x->shares.zones[at].milli_cpu;
            at++;
        }
    }
}

static void count_all(struct explaining *x, const struct ks_node *const *nodes, size_t n_nodes,
                      const struct ks_slice *const *slices, size_t n_slices)
{
    size_t most = n_nodes;
    for (size_t i = 0; i < n_slices; i++) {
        for (size_t k = 0; k < slices[i]->n_endpoints; k++) {
            most += 1 + slices[i]->endpoints[k].n_zone_hints;
        }
    }
    struct facts facts = {.items = ARENA_ARRAY(x->a, struct fact, most)};
    for (size_t i = 0; i < n_nodes; i++) {
        if (nodes[i]->ready && !nodes[i]->control_plane) {
            add_fact(&facts, &(struct fact){.zone = nodes[i]->zone, .nodes = 1});
        }
    }
    for (size_t i = 0; i < n_slices; i++) {
        if (str_eq(slices[i]->address_type, x->report.address_type)) {
            count_slice(x, slices[i], &facts);
        }
    }
    add_up(x, &facts);
}

/* ---- why ------------------------------------------------------------------------------------- */

static enum ks_hints_wish wish_of(const struct ks_service *service)
{
    if (ks_wants_zone_shares(service)) {
        return KS_WISH_SHARES;
    }
    const char *value = service->distribution;
    if (str_eq(value, "PreferSameZone") || str_eq(value, "PreferClose")) {
        return KS_WISH_ZONE;
    }
    return str_eq(value, "PreferSameNode") ? KS_WISH_NODE : KS_WISH_NONE;
}

/* The first zone with nodes whose traffic is not kept there; NULL when there is none. */
static const struct ks_zone_report *zone_without_hint(const struct ks_topology_report *r)
{
    for (size_t i = 0; i < r->n_zones; i++) {
        if (r->zones[i].nodes > 0 && r->zones[i].hinted == 0) {
            return &r->zones[i];
        }
    }
    return NULL;
}

static enum ks_hints_why safeguard_of(const struct explaining *x)
{
    static const enum ks_hints_why no_shares[] = {
        [KS_SHARES_FINE] = KS_WHY_FEW_ZONES, /* does not come with KS_HINTS_NO_SHARES */
        [KS_SHARES_NO_ZONE] = KS_WHY_NODE_WITHOUT_ZONE,
        [KS_SHARES_NO_CPU] = KS_WHY_NODE_WITHOUT_CPU,
        [KS_SHARES_FEW_ZONES] = KS_WHY_FEW_ZONES,
    };
    const struct ks_allocation *zones;
    switch (ks_allocate(x->a, &x->shares, x->report.ready, &zones)) {
    case KS_HINTS_NO_SHARES:
        return no_shares[x->shares.off];
    case KS_HINTS_FEW_ENDPOINTS:
        return KS_WHY_FEW_ENDPOINTS;
    case KS_HINTS_OVERLOAD:
        return KS_WHY_OVERLOAD;
    default:
        return x->report.zoneless > 0 ? KS_WHY_ENDPOINT_WITHOUT_ZONE : KS_WHY_MAX;
    }
}

static enum ks_hints_why why_of(const struct explaining *x)
{
    const struct ks_topology_report *r = &x->report;
    if (r->ready == 0) {
        return KS_WHY_NO_ENDPOINTS;
    }
    if (r->in_force) {
        return zone_without_hint(r) == NULL ? KS_WHY_HINTED : KS_WHY_ZONE_WITHOUT_HINT;
    }
    enum ks_hints_why safeguard = KS_WHY_MAX;
    if (r->wish == KS_WISH_SHARES) {
        safeguard = safeguard_of(x);
    } else if (r->wish != KS_WISH_NONE && r->zoneless > 0) {
        safeguard = KS_WHY_ENDPOINT_WITHOUT_ZONE;
    } else if (r->wish == KS_WISH_NONE && x->service->distribution != NULL) {
        safeguard = KS_WHY_UNKNOWN_VALUE;
    }
    if (safeguard != KS_WHY_MAX) {
        return safeguard;
    }
    if (r->unhinted < r->ready) {
        return KS_WHY_PARTLY_HINTED;
    }
    return r->wish == KS_WISH_NONE ? KS_WHY_NOT_ASKED : KS_WHY_NOT_WRITTEN;
}

/* ---- in words -------------------------------------------------------------------------------- */

static const char *lacking_sentence(const struct explaining *x, const char *what, const char *next)
{
    const struct ks_zone_shares *s = &x->shares;
    const char *others =
        s->n_lacking > 1 ? arena_printf(x->a, " (%zu nodes lack a zone or CPU)", s->n_lacking) : "";
    return arena_printf(x->a, "no hints in the whole cluster: node %s %s%s; %s",
                        s->lacking->meta.name, what, others, next);
}

static const char *sentence_of(const struct explaining *x)
{
    struct arena *a = x->a;
    const struct ks_topology_report *r = &x->report;
    const char *ready = str_count(a, (size_t)r->ready, "ready endpoint");
    switch (r->why) {
    case KS_WHY_NO_ENDPOINTS:
        return "no endpoint is ready, so there is nothing to hint";
    case KS_WHY_HINTED:
        return "every node sends to the endpoints that are hinted for its zone";
    case KS_WHY_ZONE_WITHOUT_HINT:
        return arena_printf(a,
                            "nodes of zone %s send to endpoints in all zones, since none is hinted "
                            "for it; elsewhere traffic stays in its zone",
                            zone_without_hint(r)->zone);
    case KS_WHY_NODE_WITHOUT_ZONE:
        return lacking_sentence(x, "has no label topology.kubernetes.io/zone",
                                "label it, or remove it");
    case KS_WHY_NODE_WITHOUT_CPU:
        return lacking_sentence(x, "shows no allocatable CPU",
                                "see status.allocatable.cpu of the node");
    case KS_WHY_FEW_ZONES:
        return "no hints in the whole cluster: ready nodes are in fewer than two zones";
    case KS_WHY_FEW_ENDPOINTS:
        return arena_printf(a, "no hints: %s for %zu zones; each zone needs at least one", ready,
                            x->shares.n);
    case KS_WHY_OVERLOAD:
        return arena_printf(a,
                            "no hints: %s cannot be divided over %zu zones without one of them "
                            "getting more than 20 %% above its share; add pods, or use "
                            "spec.trafficDistribution",
                            ready, x->shares.n);
    case KS_WHY_ENDPOINT_WITHOUT_ZONE:
        return arena_printf(
            a,
            "no hints in force: ready endpoints without a zone: %lld of %lld; label "
            "their nodes with topology.kubernetes.io/zone",
            (long long)r->zoneless, (long long)r->ready);
    case KS_WHY_UNKNOWN_VALUE:
        return arena_printf(a,
                            "no hints: spec.trafficDistribution has the unknown value \"%s\"; "
                            "known are PreferSameZone and PreferSameNode",
                            x->service->distribution);
    case KS_WHY_PARTLY_HINTED:
        return arena_printf(a,
                            "kube-proxy ignores the hints: ready endpoints without one: %lld of "
                            "%lld; it obeys them when all have one",
                            (long long)r->unhinted, (long long)r->ready);
    case KS_WHY_NOT_WRITTEN:
        return "the Service asks for hints and nothing is in the way, but its slices have none; "
               "see "
               "the EndpointSlice controller";
    case KS_WHY_NOT_ASKED:
        return "the Service does not ask for hints, so every node sends to all endpoints";
    case KS_WHY_MAX:
        break;
    }
    return "";
}

struct ks_topology_report ks_topology_explain(struct arena *a, const struct ks_service *service,
                                              enum ks_family family,
                                              const struct ks_node *const *nodes, size_t n_nodes,
                                              const struct ks_slice *const *slices, size_t n_slices)
{
    struct explaining x = {
        .a = a,
        .service = service,
        .shares = ks_zone_shares(a, nodes, n_nodes),
        .report = {.address_type = ks_address_type(family), .wish = wish_of(service)}};
    count_all(&x, nodes, n_nodes, slices, n_slices);
    x.report.why = why_of(&x);
    x.report.sentence = sentence_of(&x);
    return x.report;
}

const char *ks_hints_why_word(enum ks_hints_why why)
{
    static const char *const words[KS_WHY_MAX] = {
        [KS_WHY_NO_ENDPOINTS] = "no-endpoints",
        [KS_WHY_HINTED] = "hinted",
        [KS_WHY_ZONE_WITHOUT_HINT] = "zone-without-hint",
        [KS_WHY_NODE_WITHOUT_ZONE] = "node-without-zone",
        [KS_WHY_NODE_WITHOUT_CPU] = "node-without-cpu",
        [KS_WHY_FEW_ZONES] = "few-zones",
        [KS_WHY_FEW_ENDPOINTS] = "few-endpoints",
        [KS_WHY_OVERLOAD] = "overload",
        [KS_WHY_ENDPOINT_WITHOUT_ZONE] = "endpoint-without-zone",
        [KS_WHY_UNKNOWN_VALUE] = "unknown-value",
        [KS_WHY_PARTLY_HINTED] = "partly-hinted",
        [KS_WHY_NOT_WRITTEN] = "not-written",
        [KS_WHY_NOT_ASKED] = "not-asked",
    };
    return why < KS_WHY_MAX ? words[why] : "";
}

const char *ks_hints_wish_word(enum ks_hints_wish wish)
{
    static const char *const words[] = {"none", "zone-shares", "same-zone", "same-node"};
    return words[wish];
}
