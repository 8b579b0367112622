/* SPDX-License-Identifier: Apache-2.0 */
/* slices.c: one pass of the EndpointSlice controller over a Service; see slices.h.
 *
 * Per family: pods into groups of equal ports, each group over its slices (slice_group.c), the
 * placeholder, hints, names taken over from slices that would be deleted. */
#include "common/services/slices/slices.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/services/slices/pod.h"
#include "common/services/slices/port_lists.h"
#include "common/services/slices/slices_internal.h"

#define MAX_ENDPOINTS_DEFAULT 100

/* A selected pod. */
struct member {
    const struct ks_pod *pod;
    const struct ks_node *node; /* NULL when it is not known */
    const struct port_list *ports;
};
/* An existing slice of the family that the Service owns, with the key of its ports. */
struct keyed_slice {
    const struct ks_slice *slice;
    const char *key;
};
/* Everything a pass works on. */
struct pass {
    struct arena *a;
    const struct ks_slice_input *in;
    struct member *members; /* sorted by ports, then name of the pod */
    size_t n_members;
    const struct ks_slice **existing; /* sorted by name */
    size_t n_existing;
    struct ks_zone_shares shares; /* when the Service asks for hints by them */
    size_t max;
    struct ks_slice_pass result; /* lists have room for everything */
};

/* ---- what is there --------------------------------------------------------------------------- */

static int by_node_name(const void *x, const void *y)
{
    const struct ks_node *a = *(const struct ks_node *const *)x;
    const struct ks_node *b = *(const struct ks_node *const *)y;
    return strcmp(a->meta.name, b->meta.name);
}

static int node_of_name(const void *name, const void *x)
{
    return strcmp(name, (*(const struct ks_node *const *)x)->meta.name);
}

static int by_member(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int order = a->ports == b->ports ? 0 : strcmp(a->ports->key, b->ports->key);
    return order != 0 ? order : strcmp(a->pod->meta.name, b->pod->meta.name);
}

static int by_slice_name(const void *x, const void *y)
{
    const struct ks_slice *a = *(const struct ks_slice *const *)x;
    const struct ks_slice *b = *(const struct ks_slice *const *)y;
    return strcmp(a->meta.name, b->meta.name);
}

static void gather_members(struct pass *p)
{
    const struct ks_slice_input *in = p->in;
    const struct ks_node **nodes = ARENA_ARRAY(p->a, const struct ks_node *, in->n_nodes);
    for (size_t i = 0; i < in->n_nodes; i++) {
        nodes[i] = in->nodes[i];
    }
    qsort(nodes, in->n_nodes, sizeof(*nodes), by_node_name);
    p->members = ARENA_ARRAY(p->a, struct member, in->n_pods);
    struct port_lists lists = port_lists_open(p->a, in->service);
    for (size_t i = 0; i < in->n_pods; i++) {
        const struct ks_pod *pod = in->pods[i];
        if (!str_eq(pod->meta.ns, in->service->meta.ns) ||
            !ks_service_selects(in->service, pod->meta.labels, pod->meta.n_labels) ||
            !ks_pod_counts(pod, true)) {
            continue;
        }
        struct member *m = &p->members[p->n_members++];
        const struct ks_node **node = in->n_nodes == 0 ? NULL
                                                       : bsearch(pod->node_name, nodes, in->n_nodes,
                                                                 sizeof(*nodes), node_of_name);
        m->pod = pod;
        m->node = node == NULL ? NULL : *node;
        m->ports = port_lists_of(&lists, pod);
    }
    port_lists_close(&lists);
    qsort(p->members, p->n_members, sizeof(*p->members), by_member);
}

static void gather_slices(struct pass *p)
{
    p->existing = ARENA_ARRAY(p->a, const struct ks_slice *, p->in->n_slices);
    for (size_t i = 0; i < p->in->n_slices; i++) {
        if (p->in->slices[i]->meta.deletion_timestamp == NULL) {
            p->existing[p->n_existing++] = p->in->slices[i];
        }
    }
    qsort(p->existing, p->n_existing, sizeof(*p->existing), by_slice_name);
}

/* The families that the Service has slices of, in its own order; returns how many. */
static size_t families_of(const struct ks_service *service, enum ks_family ret[2])
{
    size_t n = 0;
    for (size_t i = 0; i < service->n_ip_families; i++) {
        bool v6 = str_eq(service->ip_families[i], "IPv6");
        enum ks_family family = v6 ? KS_IPV6 : KS_IPV4;
        bool known = v6 || str_eq(service->ip_families[i], "IPv4");
        if (known && n < 2 && (n == 0 || ret[0] != family)) {
            ret[n++] = family;
        }
    }
    if (n == 0 && !ks_service_is_headless(service)) {
        struct ip_addr ip;
        bool v6 = ip_parse_sloppy(service->cluster_ip, &ip) && ip.len == 16;
        ret[n++] = v6 ? KS_IPV6 : KS_IPV4;
    } else if (n == 0) {
        ret[n++] = KS_IPV4;
        ret[n++] = KS_IPV6;
    }
    return n;
}

/* ---- one family ------------------------------------------------------------------------------ */

static int by_slice_key(const void *x, const void *y)
{
    const struct keyed_slice *a = x, *b = y;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : strcmp(a->slice->meta.name, b->slice->meta.name);
}

/* The family's existing slices that the Service owns, sorted by key; others go to lists->remove.
 * Returns how many there are in the family in all. */
static size_t split_existing(struct pass *p, const char *type, struct slice_lists *lists,
                             struct keyed_slice *owned, size_t *n_owned)
{
    size_t all = 0;
    for (size_t i = 0; i < p->n_existing; i++) {
        const struct ks_slice *s = p->existing[i];
        if (!str_eq(s->address_type, type)) {
            continue;
        }
        all++;
        if (slice_is_owned(s, &p->in->service->meta, "Service")) {
            owned[(*n_owned)++] =
                (struct keyed_slice){s, slice_ports_key(p->a, s->ports, s->n_ports)};
        } else {
            lists->remove[lists->n_remove++] = s;
        }
    }
    qsort(owned, *n_owned, sizeof(*owned), by_slice_key);
    return all;
}

/* The endpoints of members[from..to), which have equal ports. */
static struct endpoint_set desired_of(struct pass *p, size_t from, size_t to, enum ks_family family)
{
    const struct ks_service *service = p->in->service;
    struct endpoint_set desired = endpoint_set_make(p->a, to - from);
    for (size_t i = from; i < to; i++) {
        const struct member *m = &p->members[i];
        if (m->node == NULL && !service->publish_not_ready) {
            p->result.node_unknown = true;
            continue;
        }
        const struct ks_slice_endpoint e = ks_pod_endpoint(p->a, service, m->pod, m->node, family);
        if (e.n_addresses > 0) {
            endpoint_set_add(p->a, &desired, &e);
        }
    }
    endpoint_set_seal(&desired);
    return desired;
}

/* Reconciles each group of pods; slices of groups that no pod is in are removed. */
static void reconcile_groups(struct pass *p, enum ks_family family, struct slice_lists *lists,
                             const struct keyed_slice *owned, size_t n_owned)
{
    const struct ks_slice **group = ARENA_ARRAY(p->a, const struct ks_slice *, n_owned);
    size_t at = 0, to = 0;
    size_t n_orphans = 0;
    const struct ks_slice **orphans = ARENA_ARRAY(p->a, const struct ks_slice *, n_owned);
    for (size_t from = 0; from < p->n_members; from = to) {
        const struct port_list *ports = p->members[from].ports;
        for (to = from; to < p->n_members && str_eq(p->members[to].ports->key, ports->key);) {
            to++;
        }
        for (; at < n_owned && strcmp(owned[at].key, ports->key) < 0; at++) {
            orphans[n_orphans++] = owned[at].slice;
        }
        size_t n = 0;
        for (; at < n_owned && str_eq(owned[at].key, ports->key); at++) {
            group[n++] = owned[at].slice;
        }
        struct endpoint_set desired = desired_of(p, from, to, family);
        struct slice_group g = {.service = p->in->service,
                                .type = ks_address_type(family),
                                .ports = ports->ports,
                                .n_ports = ports->n,
                                .existing = group,
                                .n_existing = n,
                                .desired = &desired,
                                .max = p->max};
        slice_group_reconcile(p->a, &g, lists);
    }
    for (; at < n_owned; at++) {
        orphans[n_orphans++] = owned[at].slice;
    }
    for (size_t i = 0; i < n_orphans; i++) {
        lists->remove[lists->n_remove++] = orphans[i];
    }
}

/* A Service has at least one slice in each of its families. */
static void add_placeholder(struct pass *p, enum ks_family family, struct slice_lists *lists,
                            size_t n_existing)
{
    if (lists->n_remove != n_existing || lists->n_create > 0) {
        return;
    }
    if (n_existing == 1 && slice_is_placeholder(p->a, lists->remove[0], p->in->service)) {
        lists->n_remove = 0;
        lists->unchanged[lists->n_unchanged++] = lists->remove[0];
        return;
    }
    const struct ks_slice s = slice_new(p->a, p->in->service, ks_address_type(family));
    lists->create[lists->n_create++] = arena_memdup(p->a, &s, sizeof(s));
}

static void add_event(struct ks_slice_pass *r, const struct ks_event *e)
{
    ((struct ks_event *)r->events)[r->n_events++] = *e; /* made by ks_slices_pass() */
}

/* Writes hints into the family's slices.  *lists then holds copies. */
static struct ks_slice_lists write_hints(struct pass *p, enum ks_family family,
                                         const struct slice_lists *lists)
{
    struct ks_slice_pass *r = &p->result;
    const struct ks_slice_lists all = {.create = lists->create,
                                       .update = lists->update,
                                       .unchanged = lists->unchanged,
                                       .n_create = lists->n_create,
                                       .n_update = lists->n_update,
                                       .n_unchanged = lists->n_unchanged};
    if (!ks_wants_zone_shares(p->in->service)) {
        if (r->hints_on) {
            const struct ks_event e = {
                "Warning", "TopologyAwareHintsDisabled",
                arena_printf(p->a, "Topology Aware Hints has been disabled, addressType: %s",
                             ks_address_type(family))};
            add_event(r, &e);
        }
        r->hints_on = false;
        return ks_hints_by_distribution(p->a, p->in->service->distribution, &all);
    }
    const struct ks_hints h = ks_hints_by_shares(p->a, &p->shares, family, &all, r->hints_on);
    r->hints_on = h.on;
    *(family == KS_IPV6 ? &r->hints_ipv6 : &r->hints_ipv4) = h.counts;
    *(family == KS_IPV6 ? &r->hints_off_ipv6 : &r->hints_off_ipv4) = h.off;
    for (size_t i = 0; i < h.n_events; i++) {
        add_event(r, &h.events[i]);
    }
    return h.lists;
}

static void add_slice(struct pass *p, bool create, const struct ks_slice *s)
{
    struct ks_slice_pass *r = &p->result;
    struct ks_slice *to = create ? &((struct ks_slice *)r->create)[r->n_create++]
                                 : &((struct ks_slice *)r->update)[r->n_update++];
    *to = *s;
    slice_stamp(p->a, to, p->in->trigger_time);
}

/* Turns creations into updates of slices that would be deleted, the last one first; adds what
 * remains to the result. */
static void finish_family(struct pass *p, const struct ks_slice_lists *lists,
                          const struct slice_lists *before)
{
    const struct ks_service *service = p->in->service;
    size_t n_create = lists->n_create;
    for (size_t i = 0; i < lists->n_update; i++) {
        add_slice(p, false, lists->update[i]);
    }
    for (size_t i = 0; i < before->n_remove; i++) {
        const struct ks_slice *gone = before->remove[i];
        if (n_create == 0 || !slice_is_owned(gone, &service->meta, "Service")) {
            p->result.remove[p->result.n_remove++] = gone->meta.name;
            continue;
        }
        struct ks_slice taken = *lists->create[--n_create];
        taken.meta.name = gone->meta.name;
        taken.meta.generate_name = "";
        add_slice(p, false, &taken);
    }
    for (size_t i = 0; i < n_create && service->meta.deletion_timestamp == NULL; i++) {
        add_slice(p, true, lists->create[i]);
    }
}

static void reconcile_family(struct pass *p, enum ks_family family)
{
    struct arena *a = p->a;
    size_t pods = p->n_members, slices = p->n_existing;
    struct slice_lists lists = {.create = ARENA_ARRAY(a, const struct ks_slice *, pods + 1),
                                .update = ARENA_ARRAY(a, const struct ks_slice *, slices),
                                .remove = ARENA_ARRAY(a, const struct ks_slice *, slices),
                                .unchanged = ARENA_ARRAY(a, const struct ks_slice *, slices)};
    struct keyed_slice *owned = ARENA_ARRAY(a, struct keyed_slice, slices);
    size_t n_owned = 0;
    size_t n = split_existing(p, ks_address_type(family), &lists, owned, &n_owned);
    reconcile_groups(p, family, &lists, owned, n_owned);
    add_placeholder(p, family, &lists, n);
    qsort(lists.unchanged, lists.n_unchanged, sizeof(*lists.unchanged), by_slice_name);
    const struct ks_slice_lists hinted = write_hints(p, family, &lists);
    finish_family(p, &hinted, &lists);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool has_family(const enum ks_family *families, size_t n, const char *type)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(ks_address_type(families[i]), type)) {
            return true;
        }
    }
    return false;
}

struct ks_slice_pass ks_slices_pass(struct arena *a, const struct ks_slice_input *in)
{
    struct pass p = {.a = a,
                     .in = in,
                     .max = in->max_endpoints == 0 ? MAX_ENDPOINTS_DEFAULT : in->max_endpoints,
                     .result = {.hints_on = in->hints_before}};
    if (!in->service->has_selector || str_eq(in->service->type, "ExternalName")) {
        return p.result;
    }
    enum ks_family families[2];
    size_t n = families_of(in->service, families);
    gather_members(&p);
    gather_slices(&p);
    if (ks_wants_zone_shares(in->service)) {
        p.shares = ks_zone_shares(a, in->nodes, in->n_nodes);
    }
    p.result.create = ARENA_ARRAY(a, struct ks_slice, 2 * (p.n_members + 1));
    p.result.update = ARENA_ARRAY(a, struct ks_slice, p.n_existing);
    p.result.remove = ARENA_ARRAY(a, const char *, p.n_existing);
    p.result.events = ARENA_ARRAY(a, struct ks_event, 2);
    for (size_t i = 0; i < p.n_existing; i++) {
        if (!has_family(families, n, p.existing[i]->address_type)) {
            p.result.hints_on = false; /* as upstream: families share this state */
        }
    }
    for (size_t i = 0; i < n; i++) {
        reconcile_family(&p, families[i]);
    }
    for (size_t i = 0; i < p.n_existing; i++) {
        if (!has_family(families, n, p.existing[i]->address_type)) {
            p.result.remove[p.result.n_remove++] = p.existing[i]->meta.name;
        }
    }
    return p.result;
}
