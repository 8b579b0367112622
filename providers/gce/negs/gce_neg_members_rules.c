/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_members_rules.c: the members of all NEGs of one Service (gce_neg_rules.h).
 *
 *     policy Cluster: nodes that take part ─┐
 *     policy Local: nodes of the endpoints ─┴▶ by zone ─▶ subset ─▶ by zone, subnetwork, IPs
 *
 * Readiness of pods does not matter, the balancer's health check looks at that; endpoints that
 * terminate do not count.  Three deviations, all off with `upstream`: 25 candidates or fewer are
 * all taken (internal, Cluster), the remainder of the division stays where it is, a node counts
 * once.
 * Source: gce-l4.md §1.2, §3.1–§3.5; vectors S27–S33, S43, V198–V206.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

/* One membership in progress. */
struct work {
    struct arena *a;
    const struct gce_neg_wish *w;
    const struct gce_neg_places *current;
    const struct gce_node_table *t;
    const char *subnet;           /* name of the Service's subnetwork */
    struct gce_zone_nodes *zones; /* that take part in the split */
    size_t n_zones;
    int endpoints; /* that count */
};

/* ---- networks -------------------------------------------------------------------------------- */

/* The node's IP on a network, of annotation north-interfaces; NULL: it is not connected to it. */
static const char *ip_in(struct arena *a, const char *networks, const char *network)
{
    struct json_object *list = NULL;
    if (networks == NULL ||
        json_parse_arena(a, networks, strlen(networks), NULL, &list, NULL) != ERR_OK) {
        return NULL;
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (str_eq(json_str(one, "network"), network)) {
            const char *ip = json_str(one, "ipAddress");
            return str_is_empty(ip) ? NULL : ip;
        }
    }
    return NULL;
}

bool gce_node_is_on_network(struct arena *a, const struct tt_node *n, const char *network)
{
    return ip_in(a, gce_node_networks(n), network) != NULL;
}

/* Of the Service's network. */
static const char *ip_on_network(struct arena *a, const struct gce_node_row *r, const char *network)
{
    return network == NULL ? r->ip : ip_in(a, r->networks, network);
}

static bool is_connected(const struct work *k, const struct gce_node_row *r)
{
    return k->w->network == NULL || ip_on_network(k->a, r, k->w->network) != NULL;
}

static const char *subnet_of(const struct work *k, const struct gce_node_row *r)
{
    return k->w->network != NULL ? k->subnet : r->subnet;
}

/* False: the node has no address that a NEG takes (§3.5). */
static bool endpoint_of(const struct work *k, const struct gce_node_row *r,
                        struct gce_endpoint *ret)
{
    struct ip_addr ip;
    const char *text = str_nonnull(ip_on_network(k->a, r, k->w->network));
    *ret = (struct gce_endpoint){.instance = r->name, .ip = "", .ipv6 = ""};
    if (!ip_parse_sloppy(text, &ip)) {
        return false;
    }
    if (ip.len == 4) {
        ret->ip = text;
        return true;
    }
    char canonical[IP_TEXT_MAX];
    ip_format(&ip, canonical);
    ret->ipv6 = arena_strdup(k->a, canonical);
    return k->w->ipv6;
}

/* ---- who takes part -------------------------------------------------------------------------- */

static bool has_target(const struct tt_endpoint *e)
{
    return e->target_kind != NULL || e->target_name != NULL || e->target_uid != NULL;
}

/* Endpoints that count: they do not terminate and have a pod.  One without a node counts, too: it
 * says that there are endpoints, though it brings no node. */
static bool counts(const struct tt_endpoint *e)
{
    return (e->flags & TT_ENDPOINT_TERMINATING) == 0 && has_target(e);
}

static int by_pointer(const void *x, const void *y)
{
    const struct gce_node_row *a = *(const struct gce_node_row *const *)x;
    const struct gce_node_row *b = *(const struct gce_node_row *const *)y;
    return a < b ? -1 : a > b;
}

/* Each row once. */
static size_t unique_rows(const struct gce_node_row **rows, size_t n)
{
    size_t kept = 0;
    qsort(rows, n, sizeof(*rows), by_pointer);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || rows[kept - 1] != rows[i]) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static bool is_local_candidate(const struct work *k, const struct gce_node_row *r)
{
    return r->zone != NULL && (k->w->include_draining ? r->draining : r->unready) &&
           is_connected(k, r);
}

/* Also counts the endpoints. */
static void zones_of_endpoints(struct work *k)
{
    const struct gce_neg_wish *w = k->w;
    size_t max = 0;
    for (size_t i = 0; i < w->n_slices; i++) {
        max += w->slices[i]->n_endpoints;
    }
    const struct gce_node_row **rows = ARENA_ARRAY(k->a, const struct gce_node_row *, max);
    size_t n = 0;
    for (size_t i = 0; i < w->n_slices; i++) {
        for (uint32_t j = 0; j < w->slices[i]->n_endpoints; j++) {
            const struct tt_endpoint *e = &w->slices[i]->endpoints[j];
            if (!counts(e)) {
                continue;
            }
            k->endpoints++;
            const struct gce_node_row *r =
                w->local ? gce_node_table_find(k->t, e->node_name) : NULL;
            if (r != NULL && is_local_candidate(k, r)) {
                rows[n++] = r;
            }
        }
    }
    k->zones = gce_nodes_by_zone(k->a, rows, unique_rows(rows, n), &k->n_zones);
}

/* Nodes that are on the Service's network; the filter is that of the NEGs' zones. */
static const struct gce_node_row **connected(const struct work *k, bool draining, size_t *ret_n)
{
    const struct gce_node_row **rows = ARENA_ARRAY(k->a, const struct gce_node_row *, k->t->n);
    *ret_n = 0;
    for (size_t i = 0; i < k->t->n; i++) {
        const struct gce_node_row *r = &k->t->rows[i];
        if (r->zone != NULL && (draining ? r->draining : r->unready) && is_connected(k, r)) {
            rows[(*ret_n)++] = r;
        }
    }
    return rows;
}

/* Returns the number of places. */
static int zones_of_cluster(struct work *k)
{
    if (k->w->network == NULL) {
        k->zones = arena_memdup(k->a, k->t->zones, k->t->n_zones * sizeof(*k->zones));
        k->n_zones = k->t->n_zones;
        return k->t->n_places;
    }
    size_t n;
    const struct gce_node_row **rows = connected(k, false, &n);
    k->zones = gce_nodes_by_zone(k->a, rows, n, &k->n_zones);
    return (int)k->n_zones; /* one subnetwork, the network's */
}

static struct gce_strs zones_of_negs(struct work *k)
{
    bool draining = k->w->local && k->w->include_draining;
    if (k->w->network == NULL) {
        return draining ? k->t->zones_draining : gce_zones_names(k->a, k->t->zones, k->t->n_zones);
    }
    size_t n;
    const struct gce_node_row **rows = connected(k, draining, &n);
    struct gce_zone_nodes *zones = gce_nodes_by_zone(k->a, rows, n, &n);
    return gce_zones_names(k->a, zones, n);
}

/* ---- how many -------------------------------------------------------------------------------- */

static size_t count_candidates(const struct work *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_zones; i++) {
        n += k->zones[i].nodes.n;
    }
    return n;
}

static int count_current(const struct work *k)
{
    size_t n = 0;
    for (size_t i = 0; k->current != NULL && i < k->current->n; i++) {
        n += k->current->items[i].n;
    }
    return (int)n;
}

static int total_of(const struct work *k, int places)
{
    const struct gce_neg_wish *w = k->w;
    if (w->local) {
        return w->internal ? GCE_NEG_LOCAL_MAX_ILB : GCE_NEG_LOCAL_MAX_NETLB;
    }
    if (!w->internal) {
        return gce_neg_total_netlb(k->endpoints, places, count_current(k));
    }
    bool all = count_candidates(k) <= GCE_SUBSET_MAX;
    return all ? GCE_SUBSET_MAX : gce_neg_total_ilb(k->n_zones);
}

/* ---- who was there --------------------------------------------------------------------------- */

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Instances in all NEGs of the zone, sorted. */
static struct gce_strs current_of(const struct work *k, const char *zone)
{
    struct gce_strs names = {0};
    size_t max = 0;
    size_t places = 0;
    for (size_t i = 0; k->current != NULL && i < k->current->n; i++) {
        bool here = str_eq(k->current->items[i].zone, zone);
        max += here ? k->current->items[i].n : 0;
        places += here;
    }
    names.items = ARENA_ARRAY(k->a, const char *, max);
    for (size_t i = 0; places > 0 && i < k->current->n; i++) {
        const struct gce_neg_place *p = &k->current->items[i];
        for (size_t j = 0; str_eq(p->zone, zone) && j < p->n; j++) {
            names.items[names.n++] = p->endpoints[j].instance;
        }
    }
    if (places > 1) {
        qsort(names.items, names.n, sizeof(*names.items), by_text);
    }
    return names;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static struct gce_neg_place *place_of(struct gce_neg_places *p, size_t first, const char *subnet)
{
    for (size_t i = first; i < p->n; i++) {
        if (str_eq(p->items[i].subnet, subnet)) {
            return &p->items[i];
        }
    }
    return NULL;
}

static int by_zone_and_subnet(const void *x, const void *y)
{
    const struct gce_neg_place *a = x;
    const struct gce_neg_place *b = y;
    int order = strcmp(a->zone, b->zone);
    return order != 0 ? order : strcmp(a->subnet, b->subnet);
}

static int by_instance(const void *x, const void *y)
{
    const struct gce_endpoint *a = x;
    const struct gce_endpoint *b = y;
    return strcmp(a->instance, b->instance);
}

/* The members of one zone, from place `first` on.  The Service's own subnetwork always has an
 * entry, and so has that of a node whose address is of no use (Appendix C row 4). */
static void places_of_zone(const struct work *k, const struct gce_zone_nodes *z,
                           struct gce_neg_places *ret)
{
    size_t first = ret->n;
    ret->items[ret->n++] = (struct gce_neg_place){
        .zone = z->zone,
        .subnet = k->subnet,
        .endpoints = ARENA_ARRAY(k->a, struct gce_endpoint, z->picked.n),
    };
    for (size_t i = 0; i < z->picked.n; i++) {
        const struct gce_node_row *r = gce_node_table_find(k->t, z->picked.items[i]);
        struct gce_neg_place *p = place_of(ret, first, subnet_of(k, r));
        if (p == NULL) {
            p = &ret->items[ret->n++];
            *p = (struct gce_neg_place){
                .zone = z->zone,
                .subnet = subnet_of(k, r),
                .endpoints = ARENA_ARRAY(k->a, struct gce_endpoint, z->picked.n),
            };
        }
        p->n += endpoint_of(k, r, &p->endpoints[p->n]);
    }
    for (size_t i = first; i < ret->n; i++) {
        qsort(ret->items[i].endpoints, ret->items[i].n, sizeof(struct gce_endpoint), by_instance);
    }
}

static struct gce_neg_places places_of(const struct work *k)
{
    size_t max = k->n_zones;
    for (size_t i = 0; i < k->n_zones; i++) {
        max += k->zones[i].picked.n;
    }
    struct gce_neg_places ret = {.items = ARENA_ARRAY(k->a, struct gce_neg_place, max)};
    for (size_t i = 0; i < k->n_zones; i++) {
        places_of_zone(k, &k->zones[i], &ret);
    }
    qsort(ret.items, ret.n, sizeof(*ret.items), by_zone_and_subnet);
    return ret;
}

int gce_neg_membership(struct arena *a, const struct gce_neg_wish *w,
                       const struct gce_neg_places *current, struct gce_neg_members *ret,
                       struct err *err)
{
    struct gce_link subnet;
    struct work k = {.a = a, .w = w, .current = current, .t = w->table};
    if (gce_link_parse(a, str_nonnull(w->subnetwork), &subnet, NULL) != ERR_OK) {
        return err_set(
            err, ERR_INVALID,
            "the cluster has no subnetwork (\"%s\"), and network endpoint groups need one",
            str_nonnull(w->subnetwork));
    }
    k.subnet = subnet.name;
    if (k.t == NULL) {
        k.t = gce_node_table_make(a, &w->filter, w->nodes, w->n_nodes);
    }
    *ret = (struct gce_neg_members){.zones = zones_of_negs(&k)};
    if (w->n_slices == 0) {
        ret->unsaid = true;
        ret->places = current != NULL ? *current : (struct gce_neg_places){0};
        return ERR_OK;
    }
    zones_of_endpoints(&k);
    if (w->local && k.endpoints == 0) {
        ret->nobody = true;
        return ERR_OK;
    }
    ret->wanted = total_of(&k, w->local ? 0 : zones_of_cluster(&k));
    ret->candidates = w->local ? count_candidates(&k) : 0;
    for (size_t i = 0; i < k.n_zones; i++) {
        k.zones[i].current = current_of(&k, k.zones[i].zone);
    }
    const char *salt = arena_printf(a, "%s/%s", str_nonnull(w->name), str_nonnull(w->ns));
    gce_neg_subset(a, k.zones, k.n_zones, ret->wanted, salt);
    ret->places = places_of(&k);
    return ERR_OK;
}
