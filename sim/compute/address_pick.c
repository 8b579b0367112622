/* SPDX-License-Identifier: Apache-2.0 */
/* address_pick.c: the ranges that addresses come from, and which one is next.
 *
 * External addresses come from a few unroutable ranges per tier, internal ones from the upper half
 * of their subnetwork.  A cursor moves on with every address: one that was freed is not handed out
 * again at once.
 * Source: gce-cloud-provider.md §16; compute v1 "subnetworks". */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

/* Documentation and benchmarking ranges: unroutable. */
static const char *const premium_ranges[] = {"203.0.113.0/24", "198.18.0.0/16", NULL};
static const char *const standard_ranges[] = {"198.51.100.0/24", "198.19.0.0/16", NULL};
#define IPV6_EXTERNAL "2600:1900:4000:"

/* --- ranges ----------------------------------------------------------------------------------- */

static bool in_ranges(const char *const *ranges, const struct ip_addr *ip)
{
    struct ip_net net;
    for (; *ranges; ranges++) {
        if (ip_net_parse(*ranges, &net) && ip_net_contains(&net, ip)) {
            return true;
        }
    }
    return false;
}

bool ce_address_is_external(const char *ip)
{
    struct ip_addr addr;
    if (str_has_prefix(ip, IPV6_EXTERNAL)) {
        return true;
    }
    return ip_parse(ip, &addr) &&
           (in_ranges(premium_ranges, &addr) || in_ranges(standard_ranges, &addr));
}

bool ce_address_in_subnet(struct compute *c, const char *ip, const char *subnet_path)
{
    static const char *const members[] = {"ipCidrRange", "ipv6CidrRange", "internalIpv6Prefix",
                                          "externalIpv6Prefix"};
    const struct resource *subnet = subnet_path ? ce_store_get(c, subnet_path) : NULL;
    char text[IP_TEXT_MAX];
    struct ip_addr addr;
    struct ip_net net;
    size_t n = strcspn(ip, "/");
    if (!subnet || n >= sizeof(text)) {
        return false;
    }
    memcpy(text, ip, n);
    text[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *range = json_str(subnet->body, members[i]);
        if (range && ip_parse(text, &addr) && ip_net_parse(range, &net) &&
            ip_net_contains(&net, &addr)) {
            return true;
        }
    }
    return false;
}

/* Every address in use, so that picking one does not search the store again and again. */
static bool add_taken(struct resource *res, void *arg)
{
    static const char *const members[] = {"address", "IPAddress"};
    struct map *taken = arg;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *ip = json_str(res->body, members[i]);
        if (ip) {
            map_set(taken, ip, NULL);
        }
    }
    struct json_object *nics = json_member(res->body, "networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        const char *ip = json_str(json_object_array_get_idx(nics, i), "networkIP");
        if (ip) {
            map_set(taken, ip, NULL);
        }
    }
    return true;
}

struct map *ce_address_taken(const struct compute *c)
{
    struct map *taken = map_new(NULL);
    ce_store_each(c, "addresses", add_taken, taken);
    ce_store_each(c, "forwardingRules", add_taken, taken);
    ce_store_each(c, "instances", add_taken, taken);
    return taken;
}

/* Asks the store for the first candidate, which nearly always is free, and gathers
 * all addresses only then. */
static bool is_free(struct compute *c, struct map **taken, uint64_t tried, const char *ip)
{
    if (tried == 0) {
        return !ce_address_is_taken(c, ip);
    }
    if (!*taken) {
        *taken = ce_address_taken(c);
    }
    return !map_has(*taken, ip);
}

/* The first free address of a range from host number `first` on, beginning after the cursor. */
static char *pick_in(struct compute *c, struct arena *a, const char *range, uint64_t first)
{
    struct ip_net net;
    if (!ip_net_parse(range, &net) || net.addr.len != 4) {
        return NULL;
    }
    uint64_t size = 1ULL << (32 - net.prefix);
    if (size < first + 2) {
        return NULL;
    }
    struct map *taken = NULL;
    char *picked = NULL;
    for (uint64_t i = 0; i < size - first - 1 && !picked; i++) {
        uint64_t host = first + (c->next_address + i) % (size - first - 1);
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        if (ip_net_nth(&net, host, &ip)) {
            ip_format(&ip, text);
            if (is_free(c, &taken, i, text)) {
                picked = arena_strdup(a, text);
                c->next_address += i + 1;
            }
        }
    }
    map_free(taken);
    return picked;
}

/* The upper half of the subnetwork's /64, without one a /64 per address; in the cloud's spelling,
 * which shortens nothing. */
static char *pick_ipv6(struct compute *c, struct arena *a, const struct resource *subnet,
                       bool internal)
{
    const char *prefix = NULL;
    struct ip_net net;
    if (subnet) {
        prefix = json_str(subnet->body, internal ? "internalIpv6Prefix" : "externalIpv6Prefix");
        prefix = prefix || !internal ? prefix : json_str(subnet->body, "ipv6CidrRange");
    }
    bool known = prefix && ip_net_parse(prefix, &net) && net.addr.len == 16;
    const unsigned char *b = net.addr.bytes;
    for (int tries = 0; tries < 0x10000; tries++) {
        uint64_t n = ++c->next_address & 0xffff;
        char *text =
            known ? arena_printf(a, "%x:%x:%x:%x:8000:%llx:0:0", b[0] << 8 | b[1], b[2] << 8 | b[3],
                                 b[4] << 8 | b[5], b[6] << 8 | b[7], (unsigned long long)n)
                  : arena_printf(a, IPV6_EXTERNAL "%llx:0:0:0:0", (unsigned long long)n);
        if (!ce_address_is_taken(c, text)) {
            return text;
        }
    }
    return NULL;
}

char *ce_address_pick(struct request *q, const char *type, const char *tier,
                      const char *subnet_path, bool ipv6)
{
    bool internal = str_eq(type, "INTERNAL");
    const struct resource *subnet = subnet_path ? ce_store_get(q->c, subnet_path) : NULL;
    if (ipv6) {
        return pick_ipv6(q->c, q->a, subnet, internal);
    }
    if (internal) {
        const char *range = subnet ? json_str(subnet->body, "ipCidrRange") : NULL;
        struct ip_net net;
        /* Instances live in the lower half, addresses of load balancers in the upper one. */
        return range && ip_net_parse(range, &net) && net.prefix < 31
                   ? pick_in(q->c, q->a, range, 1ULL << (31 - net.prefix))
                   : NULL;
    }
    const char *const *ranges = str_eq(tier, "STANDARD") ? standard_ranges : premium_ranges;
    char *ip = NULL;
    for (; *ranges && !ip; ranges++) {
        ip = pick_in(q->c, q->a, *ranges, 10);
    }
    return ip;
}
