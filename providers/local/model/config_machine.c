/* SPDX-License-Identifier: Apache-2.0 */
/* config_machine.c: pools against the addresses and interfaces of a machine (config_machine.h).
 *
 * Addresses of kube-ipvs0 are not the machine's own: kube-proxy puts the VIPs of Services there.
 * Pure. */
#include "providers/local/model/config_machine.h"

#include "providers/local/model/config_internal.h"

#define PROXY_INTERFACE "kube-ipvs0"

struct collector {
    struct arena *a;
    struct local_config_finding *items;
    size_t n;
    size_t cap;
};

static void add(struct collector *c, bool is_error, const struct local_pool *p, const char *text)
{
    if (c->n == c->cap) {
        size_t cap = c->cap == 0 ? 8 : 2 * c->cap;
        struct local_config_finding *items = ARENA_ARRAY(c->a, struct local_config_finding, cap);
        for (size_t i = 0; i < c->n; i++) {
            items[i] = c->items[i];
        }
        c->items = items;
        c->cap = cap;
    }
    c->items[c->n++] = (struct local_config_finding){is_error, p->line, str_clean(c->a, text)};
}

static bool hands_out(const struct local_pool *p, const struct ip_addr *addr)
{
    const struct local_range one = {*addr, *addr};
    bool buggy = addr->len == 4 && (addr->bytes[3] == 0 || addr->bytes[3] == 255);
    return local_ranges_cover(p->ranges, p->n_ranges, &one) &&
           !local_ranges_cover(p->exclude, p->n_exclude, &one) && !(p->avoid_buggy_ips && buggy);
}

static bool is_own(const struct local_pool *p, const struct local_machine_addr *has)
{
    return !has->ours && !str_eq(has->interface, PROXY_INTERFACE) && hands_out(p, &has->net.addr);
}

static bool in_a_pool(const struct local_config *config, const struct local_machine_addr *has)
{
    bool any = false;

    for (size_t i = 0; i < config->n_pools && !any; i++) {
        any = is_own(&config->pools[i], has);
    }
    return any;
}

/* Has the machine another address in the same network, which no pool has?  Then that one is its
 * own, and the network is here without `has`. */
static bool has_beside(const struct local_config *config, const struct local_machine *m,
                       const struct local_machine_addr *has)
{
    for (size_t i = 0; i < m->n_addrs; i++) {
        const struct local_machine_addr *other = &m->addrs[i];
        if (other != has && !other->ours && other->net.prefix == has->net.prefix &&
            other->net.addr.len == has->net.addr.len &&
            ip_net_contains(&other->net, &has->net.addr) && !in_a_pool(config, other)) {
            return true;
        }
    }
    return false;
}

/* keepalived and the like hold an address alone, or with a network in which the machine has an
 * address of its own.  The one that it has there comes with the network, and a pool that has it is
 * a mistake.  Before the first run all of them are. */
static bool passes(const struct local_config *config, const struct local_machine *m,
                   const struct local_machine_addr *has)
{
    return m->has_served &&
           (has->net.prefix == 8 * has->net.addr.len || has_beside(config, m, has));
}

bool local_config_keeps_out(const struct local_config *config, const struct local_machine *m,
                            const struct local_machine_addr *has)
{
    return in_a_pool(config, has) && passes(config, m, has);
}

static void own_addresses(struct collector *c, const struct local_config *config,
                          const struct local_pool *p, const struct local_machine *m)
{
    for (size_t i = 0; i < m->n_addrs; i++) {
        const struct local_machine_addr *has = &m->addrs[i];
        char addr[IP_TEXT_MAX];
        if (!is_own(p, has)) {
            continue;
        }
        ip_format(&has->net.addr, addr);
        bool warns = passes(config, m, has);
        add(c, !warns, p,
            arena_printf(c->a, "pool \"%s\" contains %s, which this machine has on %s%s", p->name,
                         addr, has->interface, warns ? "; no other Service gets it" : ""));
    }
}

/* ---- ARP ------------------------------------------------------------------------------------- */

static bool is_matched(const struct local_machine *m, const char *glob)
{
    for (size_t i = 0; i < m->n_interfaces; i++) {
        if (str_glob(glob, m->interfaces[i])) {
            return true;
        }
    }
    return false;
}

/* Returns false, with a finding, when a glob matches no interface. */
static bool globs_match(struct collector *c, const struct local_pool *p,
                        const struct local_machine *m)
{
    bool all = true;
    for (size_t i = 0; i < p->n_interfaces; i++) {
        if (!is_matched(m, p->interfaces[i])) {
            all = false;
            add(c, false, p,
                arena_printf(c->a, "announce.interfaces: no interface matches \"%s\"",
                             p->interfaces[i]));
        }
    }
    return all;
}

static bool announces_on(const struct local_pool *p, const char *interface)
{
    for (size_t i = 0; i < p->n_interfaces; i++) {
        if (str_glob(p->interfaces[i], interface)) {
            return true;
        }
    }
    return p->n_interfaces == 0;
}

/* The addresses that share a network with the machine, as a range; false: it has no neighbours
 * by this one. */
static bool network_of(const struct local_machine_addr *has, struct local_range *ret)
{
    char text[IP_TEXT_MAX];
    struct ip_net net;
    ip_net_format(&has->net, text);
    if (has->ours || str_eq(has->interface, "lo") || has->net.prefix >= has->net.addr.len * 8 ||
        !ip_net_parse(text, &net)) {
        return false;
    }
    *ret = (struct local_range){net.addr, ip_net_last(&net)};
    return true;
}

static bool is_reachable(const struct local_pool *p, const struct local_range *r,
                         const struct local_machine *m)
{
    for (size_t i = 0; i < m->n_addrs; i++) {
        struct local_range net;
        if (announces_on(p, m->addrs[i].interface) && network_of(&m->addrs[i], &net) &&
            net.first.len == r->first.len && local_addr_cmp(&net.first, &r->last) <= 0 &&
            local_addr_cmp(&r->first, &net.last) <= 0) {
            return true;
        }
    }
    return false;
}

static void neighbours(struct collector *c, const struct local_pool *p,
                       const struct local_machine *m)
{
    const struct local_range *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < p->n_ranges; i++) {
        if (!is_reachable(p, &p->ranges[i], m)) {
            first = first == NULL ? &p->ranges[i] : first;
            n++;
        }
    }
    if (first == NULL) {
        return;
    }
    const char *more = n == 1 ? "" : arena_printf(c->a, " and %zu more of its entries", n - 1);
    add(c, false, p,
        arena_printf(c->a,
                     "pool \"%s\": no interface has an address in %s%s; no host will ask for it by "
                     "ARP (announce: {by: routes}?)",
                     p->name, local_range_text(c->a, first), more));
}

struct local_config_findings local_config_on_machine(struct arena *a,
                                                     const struct local_config *config,
                                                     const struct local_machine *m)
{
    struct collector c = {.a = a};
    for (size_t i = 0; i < config->n_pools; i++) {
        const struct local_pool *p = &config->pools[i];
        own_addresses(&c, config, p, m);
        if (p->announce_by == LOCAL_ANNOUNCE_ARP && globs_match(&c, p, m)) {
            neighbours(&c, p, m);
        }
    }
    return (struct local_config_findings){c.items, c.n};
}
