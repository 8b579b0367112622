/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: what follows from kube-proxy's configuration: which addresses of a node take node
 * ports; see world.h.
 * Source: kube-proxy 1.36, util/nodeport_addresses.go. */
#include "common/services/node/world.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

struct ks_node_config ks_node_config_default(enum ks_family family)
{
    return (struct ks_node_config){.name = "",
                                   .zone = "",
                                   .ip = "",
                                   .family = family,
                                   .scheduler = "",
                                   .masquerade_bit = 14,
                                   .random_fully = true,
                                   .localhost_node_ports = true};
}

static bool is_primary(const struct ks_node_config *config)
{
    return config->n_node_port_addresses == 1 && str_eq(config->node_port_addresses[0], "primary");
}

/* The i-th item of --nodeport-addresses; false when it is not a CIDR of this family. */
static bool own_cidr(const struct ks_node_config *config, size_t i, struct ip_net *ret)
{
    return ip_net_parse_sloppy(config->node_port_addresses[i], ret) &&
           ret->addr.len == (config->family == KS_IPV6 ? 16 : 4);
}

bool ks_node_ports_everywhere(const struct ks_node_config *config)
{
    bool has_cidr = false;
    for (size_t i = 0; i < config->n_node_port_addresses; i++) {
        struct ip_net net;
        bool own = own_cidr(config, i, &net);
        if (own && net.prefix == 0) {
            return true;
        }
        has_cidr = has_cidr || own;
    }
    return !has_cidr && !is_primary(config);
}

/* True when the CIDRs of this family hold an address. */
static bool takes_node_ports(const struct ks_node_config *config, const struct ip_addr *ip)
{
    bool in = ks_node_ports_everywhere(config);
    for (size_t i = 0; i < config->n_node_port_addresses && !in; i++) {
        struct ip_net net;
        in = own_cidr(config, i, &net) && ip_net_contains(&net, ip);
    }
    return in;
}

bool ks_localhost_node_ports(const struct ks_node_config *config)
{
    static const struct ip_addr loopback = {.bytes = {127, 0, 0, 1}, .len = 4};
    if (!config->localhost_node_ports || config->family == KS_IPV6) {
        return false;
    }
    bool within = takes_node_ports(config, &loopback);
    for (size_t i = 0; i < config->n_node_port_addresses && !within; i++) {
        struct ip_net net;
        within = own_cidr(config, i, &net) && net.addr.bytes[0] == 127 && net.prefix >= 8;
    }
    return within;
}

static bool is_loopback(const struct ip_addr *ip)
{
    static const struct ip_addr six = {.bytes = {[15] = 1}, .len = 16};
    return ip->len == 4 ? ip->bytes[0] == 127 : ip_eq(ip, &six);
}

/* An address with the text that it is sorted by. */
struct text_ip {
    char text[IP_TEXT_MAX];
    struct ip_addr ip;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct text_ip *)a)->text, ((const struct text_ip *)b)->text);
}

const struct ip_addr *ks_node_port_addresses(struct arena *a, const struct ks_node_config *config,
                                             size_t *ret_n)
{
    bool primary = is_primary(config);
    const char *const *texts = primary ? &config->ip : config->addresses;
    size_t n_texts = primary ? 1 : config->n_addresses;
    struct text_ip *found = ARENA_ARRAY(a, struct text_ip, n_texts);
    size_t n = 0;
    for (size_t i = 0; i < n_texts; i++) {
        struct ip_addr ip;
        if (ip_parse_sloppy(texts[i], &ip) && ip.len == (config->family == KS_IPV6 ? 16 : 4) &&
            !is_loopback(&ip) && (primary || takes_node_ports(config, &ip))) {
            found[n].ip = ip;
            ip_format(&ip, found[n++].text);
        }
    }
    qsort(found, n, sizeof(*found), compare_texts);
    struct ip_addr *ips = ARENA_ARRAY(a, struct ip_addr, n);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (distinct == 0 || !ip_eq(&ips[distinct - 1], &found[i].ip)) {
            ips[distinct++] = found[i].ip;
        }
    }
    *ret_n = distinct;
    return ips;
}

bool ks_node_in_ranges(const struct ks_node_config *config, const struct ks_port *p)
{
    struct ip_addr ip;
    bool in = false;
    bool known = p->n_source_ranges > 0 && ip_parse_sloppy(str_nonnull(config->ip), &ip);
    for (size_t i = 0; known && i < p->n_source_ranges && !in; i++) {
        in = ip_net_contains(&p->source_ranges[i], &ip);
    }
    return in;
}
