/* SPDX-License-Identifier: Apache-2.0 */
/* neg_kit.h: nodes, names and Services in short forms, for the tests of NEGs and instance groups.
 *
 * Sets of names are written "node1000-1004 1007": the letters before the first number are the
 * prefix of all of them, a range counts up and keeps its leading zeros.  Nodes are built as
 * structs, because some tests have tens of thousands.  Everything lives in the test's arena. */
#ifndef TRIMTAB_TESTS_GCE_NEG_KIT_H
#define TRIMTAB_TESTS_GCE_NEG_KIT_H

#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_neg_rules.h"

#include <stdlib.h>

#define KIT_SUBNET_URL                                                                             \
    "https://www.googleapis.com/compute/v1/projects/p/regions/us-central1/subnetworks/default"
#define KIT_NETWORK_URL "https://www.googleapis.com/compute/v1/projects/p/global/networks/default"

/* ---- names ----------------------------------------------------------------------------------- */

static inline void kit_add_name(struct arena *a, struct gce_strs *s, const char *name)
{
    const char **more = ARENA_ARRAY(a, const char *, s->n + 1);
    if (s->n > 0) {
        memcpy(more, s->items, s->n * sizeof(*more));
    }
    more[s->n++] = name;
    s->items = more;
}

/* "node1000-1004 1007" → node1000 … node1004, node1007; "" → none.  Not sorted. */
static inline struct gce_strs kit_list(struct arena *a, const char *text)
{
    struct gce_strs out = {0};
    size_t n_prefix = strcspn(text, "0123456789");
    const char *at = text + n_prefix;
    while (*at != '\0') {
        char *end;
        long first = strtol(at, &end, 10);
        int width = (int)(end - at);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last; i++) {
            kit_add_name(a, &out, arena_printf(a, "%.*s%0*ld", (int)n_prefix, text, width, i));
        }
        at = end + strspn(end, " ");
    }
    return out;
}

static inline struct gce_strs kit_sorted(struct arena *a, struct gce_strs s)
{
    struct str_set set = gce_strs_set(a, &s);
    return gce_strs_of(a, set.items, set.n);
}

static inline struct gce_strs kit_names(struct arena *a, const char *text)
{
    return kit_sorted(a, kit_list(a, text));
}

static inline const char *kit_text(struct arena *a, struct gce_strs s)
{
    struct gce_strs sorted = kit_sorted(a, s);
    return str_join(a, sorted.items, sorted.n, " ");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct kit_node {
    const char *name;
    const char *zone;   /* NULL: no providerID; "" is one with an empty zone */
    const char *subnet; /* label, or NULL */
    const char *ip;     /* NULL: none */
    const char *ready;  /* NULL: "True"; "": no conditions at all */
    const char *label;  /* one more, with value `value`; or NULL */
    const char *value;
    const char *taint;    /* or NULL */
    const char *networks; /* annotation, or NULL */
    bool no_cidr;
    bool unschedulable;
};

static inline const struct tt_node *kit_node(struct arena *a, struct kit_node k)
{
    struct tt_node *n = ARENA_NEW(a, struct tt_node);
    struct tt_kv *labels = ARENA_ARRAY(a, struct tt_kv, 2);
    struct tt_taint *taint = ARENA_NEW(a, struct tt_taint);
    struct tt_condition *ready = ARENA_NEW(a, struct tt_condition);
    struct tt_node_address *ip = ARENA_ARRAY(a, struct tt_node_address, 2);
    struct tt_kv *networks = ARENA_NEW(a, struct tt_kv);
    const char **cidr = ARENA_NEW(a, const char *);
    *n = (struct tt_node){.size = sizeof(*n), .name = k.name, .labels = labels};
    n->provider_id = k.zone == NULL ? "" : arena_printf(a, "gce://p/%s/%s", k.zone, k.name);
    if (k.subnet != NULL) {
        labels[n->n_labels++] =
            (struct tt_kv){.key = "cloud.google.com/gke-node-pool-subnet", .value = k.subnet};
    }
    if (k.label != NULL) {
        labels[n->n_labels++] = (struct tt_kv){.key = k.label, .value = str_nonnull(k.value)};
    }
    *taint = (struct tt_taint){.key = k.taint, .value = "", .effect = "NoSchedule"};
    n->taints = taint;
    n->n_taints = k.taint != NULL;
    *ready = (struct tt_condition){.type = "Ready", .status = str_or(k.ready, "True")};
    n->conditions = ready;
    n->n_conditions = k.ready == NULL || *k.ready != '\0';
    ip[0] = (struct tt_node_address){.type = "ExternalIP", .address = "34.1.2.3"};
    ip[1] = (struct tt_node_address){.type = "InternalIP", .address = k.ip};
    n->addresses = ip;
    n->n_addresses = k.ip != NULL ? 2 : 1;
    *networks = (struct tt_kv){.key = "networking.gke.io/north-interfaces", .value = k.networks};
    n->annotations = networks;
    n->n_annotations = k.networks != NULL;
    *cidr = "10.8.0.0/24";
    n->pod_cidrs = cidr;
    n->n_pod_cidrs = !k.no_cidr;
    n->unschedulable = k.unschedulable;
    n->flags = TT_NODE_ELIGIBLE | (str_eq(str_or(k.ready, "True"), "True") ? TT_NODE_READY : 0);
    return n;
}

struct kit_nodes {
    const struct tt_node **items;
    size_t n;
};

static inline void kit_add_nodes(struct arena *a, struct kit_nodes *all, const char *zone,
                                 const char *subnet, struct gce_strs names)
{
    const struct tt_node **more = ARENA_ARRAY(a, const struct tt_node *, all->n + names.n);
    if (all->n > 0) {
        memcpy(more, all->items, all->n * sizeof(*more));
    }
    for (size_t i = 0; i < names.n; i++) {
        size_t id = all->n + i;
        more[id] = kit_node(
            a, (struct kit_node){
                   .name = names.items[i],
                   .zone = zone,
                   .subnet = subnet,
                   .ip = arena_printf(a, "10.%zu.%zu.%zu", id >> 16 & 255, id >> 8 & 255, id & 255),
               });
    }
    all->items = more;
    all->n += names.n;
}

/* ---- endpoints ------------------------------------------------------------------------------- */

/* One slice; an entry of `hosts` NULL is an endpoint without node. */
static inline const struct tt_slice *kit_slice(struct arena *a, const char *const *hosts, size_t n)
{
    struct tt_slice *s = ARENA_NEW(a, struct tt_slice);
    struct tt_endpoint *e = ARENA_ARRAY(a, struct tt_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        e[i] = (struct tt_endpoint){.address = "10.8.0.1",
                                    .node_name = hosts[i],
                                    .target_kind = "Pod",
                                    .target_name = "p",
                                    .flags = TT_ENDPOINT_READY | TT_ENDPOINT_SERVING};
    }
    *s = (struct tt_slice){.size = sizeof(*s),
                           .ns = "default",
                           .name = "web-1",
                           .service = "web",
                           .address_type = "IPv4",
                           .endpoints = e,
                           .n_endpoints = (uint32_t)n};
    return s;
}

/* "z1/default: a b; z2/default: c" */
static inline const char *kit_places(struct arena *a, const struct gce_neg_places *p, bool ips)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < p->n; i++) {
        str_appendf(&b, "%s%s/%s:", i > 0 ? "; " : "", p->items[i].zone, p->items[i].subnet);
        for (size_t j = 0; j < p->items[i].n; j++) {
            const struct gce_endpoint *e = &p->items[i].endpoints[j];
            str_appendf(&b, " %s", e->instance);
            if (ips) {
                str_appendf(&b, "=%s%s", e->ip, e->ipv6);
            }
        }
    }
    return str_buf_to_arena(&b, a);
}

#endif
