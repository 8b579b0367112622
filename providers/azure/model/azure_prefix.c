/* SPDX-License-Identifier: Apache-2.0 */
/* azure_prefix.c: addresses and networks in security rules (azure_prefix.h).  Pure. */
#include "providers/azure/model/azure_prefix.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define MAPPED_BYTES 12 /* ten zeros and two 0xFF stand before the IPv4 part */

bool azure_addr_parse(const char *s, struct ip_addr *ret)
{
    struct ip_addr ip;
    if (!ip_parse(s, &ip)) {
        return false;
    }
    if (ip.len == 4 && strchr(s, ':') != NULL) {
        memmove(ip.bytes + MAPPED_BYTES, ip.bytes, 4);
        memset(ip.bytes, 0, MAPPED_BYTES - 2);
        memset(ip.bytes + MAPPED_BYTES - 2, 0xFF, 2);
        ip.len = 16;
    }
    *ret = ip;
    return true;
}

const char *azure_addr_canonical(struct arena *a, const char *s)
{
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (!azure_addr_parse(s, &ip)) {
        return NULL;
    }
    ip_format(&ip, text);
    return arena_strdup(a, text);
}

enum azure_family azure_addr_family(const struct ip_addr *ip)
{
    return ip->len == 4 ? AZURE_IPV4 : AZURE_IPV6;
}

enum azure_family azure_addr_text_family(const char *canonical)
{
    return strchr(canonical, ':') == NULL ? AZURE_IPV4 : AZURE_IPV6;
}

/* Digits without sign and without leading zeros, up to `max`. */
static bool parse_bits(const char *s, unsigned max, uint8_t *ret)
{
    uint64_t bits;
    if ((s[0] == '0' && s[1] != '\0') || !str_to_u64(s, &bits) || bits > max) {
        return false;
    }
    *ret = (uint8_t)bits;
    return true;
}

bool azure_prefix_parse(const char *s, struct ip_net *ret)
{
    char text[IP_TEXT_MAX];
    struct ip_net net = {0};
    const char *slash = s == NULL ? NULL : strrchr(s, '/');
    if (slash == NULL || (size_t)(slash - s) >= sizeof text) {
        return false;
    }
    memcpy(text, s, (size_t)(slash - s));
    text[slash - s] = '\0';
    if (!azure_addr_parse(text, &net.addr) ||
        !parse_bits(slash + 1, net.addr.len * 8u, &net.prefix)) {
        return false;
    }
    struct ip_addr first;
    if (!ip_net_nth(&net, 0, &first) || !ip_eq(&first, &net.addr)) {
        return false; /* host bits */
    }
    *ret = net;
    return true;
}

const char *azure_prefix_text(struct arena *a, const struct ip_net *net)
{
    char text[IP_TEXT_MAX];
    ip_net_format(net, text);
    return arena_strdup(a, text);
}

bool azure_prefixes_allow_all(const struct azure_prefixes *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].prefix == 0) {
            return true;
        }
    }
    return false;
}

/* IPv4 before IPv6, then by address, then the larger network first. */
static int compare_nets(const void *x, const void *y)
{
    const struct ip_net *a = x;
    const struct ip_net *b = y;
    if (a->addr.len != b->addr.len) {
        return a->addr.len < b->addr.len ? -1 : 1;
    }
    int order = memcmp(a->addr.bytes, b->addr.bytes, a->addr.len);
    return order != 0 ? order : (int)a->prefix - (int)b->prefix;
}

/* Two halves of one network, `low` being the lower one: *ret_whole is that network. */
static bool are_halves(const struct ip_net *low, const struct ip_net *high,
                       struct ip_net *ret_whole)
{
    struct ip_net whole = *low;
    struct ip_addr first;
    if (low->addr.len != high->addr.len || low->prefix != high->prefix || low->prefix == 0 ||
        ip_net_eq(low, high)) {
        return false;
    }
    whole.prefix--;
    if (!ip_net_nth(&whole, 0, &first) || !ip_eq(&first, &low->addr) ||
        !ip_net_contains(&whole, &high->addr)) {
        return false;
    }
    *ret_whole = whole;
    return true;
}

struct azure_prefixes azure_prefixes_aggregate(struct arena *a, const struct azure_prefixes *p)
{
    if (p->n == 0) {
        return (struct azure_prefixes){0};
    }
    struct ip_net *sorted = arena_memdup(a, p->items, p->n * sizeof *p->items);
    struct ip_net *kept = ARENA_ARRAY(a, struct ip_net, p->n);
    size_t n = 0;
    qsort(sorted, p->n, sizeof *sorted, compare_nets);
    for (size_t i = 0; i < p->n; i++) {
        if (n > 0 && ip_net_contains(&kept[n - 1], &sorted[i].addr)) {
            continue; /* sorted: what holds its first address is at least as large */
        }
        kept[n++] = sorted[i];
        struct ip_net whole;
        while (n > 1 && are_halves(&kept[n - 2], &kept[n - 1], &whole)) {
            kept[--n - 1] = whole;
        }
    }
    return (struct azure_prefixes){.items = kept, .n = n};
}
