/* SPDX-License-Identifier: Apache-2.0 */
/* azure_subnet_rules.c: see azure_subnet_rules.h.  Pure. */
#include "providers/azure/model/azure_subnet_rules.h"
#include "common/base/ip.h"

#define FIRST_RESERVED 4

struct azure_texts azure_subnet_prefixes(struct arena *a, struct json_object *subnet)
{
    const char *one = azure_prop_str(subnet, "addressPrefix");
    struct json_object *many = azure_array(subnet, "addressPrefixes");
    const char **items = ARENA_ARRAY(a, const char *, json_len(many) + 1);
    struct azure_texts all = {.items = items};
    struct json_object *prefix;
    if (one != NULL) {
        items[all.n++] = one;
    }
    AZURE_EACH (prefix, many) {
        const char *text = json_object_get_string(prefix);
        if (text != NULL) {
            items[all.n++] = text;
        }
    }
    return all;
}

/* The prefix that holds the address.  False: none does. */
static bool prefix_of(struct arena *a, struct json_object *subnet, const char *text,
                      struct ip_net *ret_net, struct ip_addr *ret_ip)
{
    struct azure_texts all = azure_subnet_prefixes(a, subnet);
    bool has = false;
    for (size_t i = 0; i < all.n && !has && text != NULL && ip_parse(text, ret_ip); i++) {
        has = ip_net_parse(all.items[i], ret_net) && ip_net_contains(ret_net, ret_ip);
    }
    return has;
}

bool azure_subnet_has(struct arena *a, struct json_object *subnet, const char *ip)
{
    struct ip_net net;
    struct ip_addr addr;
    return prefix_of(a, subnet, ip, &net, &addr);
}

static uint32_t number(const struct ip_addr *ip)
{
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) {
        n = n << 8 | ip->bytes[i];
    }
    return n;
}

bool azure_subnet_reserves(struct arena *a, struct json_object *subnet, const char *ip)
{
    struct ip_net net;
    struct ip_addr addr;
    if (!prefix_of(a, subnet, ip, &net, &addr) || addr.len != 4) {
        return false;
    }
    uint32_t hosts = net.prefix < 32 ? UINT32_MAX >> net.prefix : 0;
    uint32_t nth = number(&addr) & hosts;
    return nth < FIRST_RESERVED || nth == hosts;
}
