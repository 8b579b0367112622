/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: the destinations of a world, sorted for bisection; see plan.h. */
#include "common/services/node/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

const char *ks_dest_protocol(const struct ks_dest *d)
{
    return d->kind == KS_DEST_HEALTH_CHECK_PORT ? "TCP" : d->port->protocol;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_addresses(const struct ip_addr *a, const struct ip_addr *b)
{
    int order = compare_numbers(a->len, b->len);
    return order != 0 ? order : memcmp(a->bytes, b->bytes, a->len);
}

static int compare_dests(const void *a, const void *b)
{
    const struct ks_dest *x = a;
    const struct ks_dest *y = b;
    int order = compare_addresses(&x->address, &y->address);
    order = order != 0 ? order : compare_numbers(x->number, y->number);
    order = order != 0 ? order : strcmp(ks_dest_protocol(x), ks_dest_protocol(y));
    order = order != 0 ? order : compare_numbers((int64_t)x->kind, (int64_t)y->kind);
    return order != 0 ? order : (x->port > y->port) - (x->port < y->port);
}

/* Where a destination stands to what is looked for; `protocol` NULL: any of the address. */
static int compare_to(const struct ks_dest *d, const struct ip_addr *address, int32_t number,
                      const char *protocol)
{
    int order = compare_addresses(&d->address, address);
    if (order != 0 || protocol == NULL) {
        return order;
    }
    order = compare_numbers(d->number, number);
    return order != 0 ? order : strcmp(ks_dest_protocol(d), protocol);
}

static const struct ks_dest *find(const struct ks_dest *dests, size_t n,
                                  const struct ip_addr *address, int32_t number,
                                  const char *protocol, size_t *ret_n)
{
    static const struct ip_addr of_node = {.len = 0};
    const struct ip_addr *wanted = address == NULL ? &of_node : address;
    size_t from = 0;
    for (size_t high = n; from < high;) {
        size_t mid = from + (high - from) / 2;
        bool before = compare_to(&dests[mid], wanted, number, protocol) < 0;
        from = before ? mid + 1 : from;
        high = before ? high : mid;
    }
    size_t end = from;
    while (end < n && compare_to(&dests[end], wanted, number, protocol) == 0) {
        end++;
    }
    *ret_n = end - from;
    return end == from ? NULL : dests + from;
}

const struct ks_dest *ks_plan_find(const struct ks_plan *plan, const struct ip_addr *address,
                                   int32_t number, const char *protocol, size_t *ret_n)
{
    return find(plan->dests, plan->n_dests, address, number, protocol, ret_n);
}

const struct ks_dest *ks_plan_find_passed(const struct ks_plan *plan, const struct ip_addr *address,
                                          int32_t number, const char *protocol, size_t *ret_n)
{
    return find(plan->passed, plan->n_passed, address, number, protocol, ret_n);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Destinations on the way into the plan; the array has room for all. */
struct dests {
    struct ks_dest *items;
    size_t n;
};

static void add(struct dests *to, enum ks_dest_kind kind, const struct ks_port *port,
                const struct ip_addr *address, int32_t number)
{
    struct ks_dest *d = &to->items[to->n++];
    *d = (struct ks_dest){.kind = kind, .port = port, .number = number};
    if (address != NULL) {
        d->address = *address;
    }
}

static void add_port(struct dests *to, const struct ks_port *p, bool first_of_service)
{
    add(to, KS_DEST_CLUSTER_IP, p, &p->cluster_ip, p->port);
    for (size_t i = 0; i < p->n_external_ips; i++) {
        add(to, KS_DEST_EXTERNAL_IP, p, &p->external_ips[i], p->port);
    }
    for (size_t i = 0; i < p->n_lb_vips; i++) {
        add(to, KS_DEST_LB_VIP, p, &p->lb_vips[i], p->port);
    }
    if (p->node_port != 0) {
        add(to, KS_DEST_NODE_PORT, p, NULL, p->node_port);
    }
    if (p->health_check_node_port != 0 && first_of_service) {
        add(to, KS_DEST_HEALTH_CHECK_PORT, p, NULL, p->health_check_node_port);
    }
}

/* Addresses with ipMode Proxy, of the world's family. */
static void add_passed(struct dests *to, const struct ks_port *p, enum ks_family family)
{
    for (size_t i = 0; i < p->service->n_ingress; i++) {
        const struct ks_ingress *in = &p->service->ingress[i];
        struct ip_addr ip;
        if (*in->ip_mode != '\0' && !str_eq(in->ip_mode, "VIP") && ip_parse_sloppy(in->ip, &ip) &&
            ip.len == (family == KS_IPV6 ? 16 : 4)) {
            add(to, KS_DEST_LB_VIP, p, &ip, p->port);
        }
    }
}

const struct ks_plan *ks_plan_make(struct arena *a, const struct ks_world *world)
{
    struct ks_plan *plan = ARENA_NEW(a, struct ks_plan);
    size_t n = 0;
    size_t n_ingress = 0;
    for (size_t i = 0; i < world->n_ports; i++) {
        n += 3 + world->ports[i].n_external_ips + world->ports[i].n_lb_vips;
        n_ingress += world->ports[i].service->n_ingress;
    }
    struct dests dests = {.items = ARENA_ARRAY(a, struct ks_dest, n)};
    struct dests passed = {.items = ARENA_ARRAY(a, struct ks_dest, n_ingress)};
    for (size_t i = 0; i < world->n_ports; i++) {
        const struct ks_port *p = &world->ports[i];
        add_port(&dests, p, i == 0 || world->ports[i - 1].service != p->service);
        add_passed(&passed, p, world->config.family);
    }
    qsort(dests.items, dests.n, sizeof(*dests.items), compare_dests);
    qsort(passed.items, passed.n, sizeof(*passed.items), compare_dests);
    plan->world = world;
    plan->dests = dests.items;
    plan->n_dests = dests.n;
    plan->passed = passed.items;
    plan->n_passed = passed.n;
    return plan;
}
