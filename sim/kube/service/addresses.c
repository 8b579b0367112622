/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c: what the API server says about IP addresses and CIDRs in its objects.
 *
 * Pure; adds complaints in the server's words and order.  Neighbours: names.c does the same for
 * names.
 * Source: apimachinery util/validation (IP, CIDR), API server validation of endpoints; recorded
 * 029, 067 and tests/data/kube-answers. */
#include "sim/kube/rules/rules.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#include <string.h>

void kube_check_ip(struct kube_causes *c, const char *field, const char *ip)
{
    struct ip_addr addr;
    if (!ip_parse_sloppy(ip, &addr)) {
        kube_invalid(c, field, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    } else if (addr.len == 4 && strchr(ip, ':')) {
        kube_invalid(c, field, ip, "must not be an IPv4-mapped IPv6 address");
    } else if (!ip_parse(ip, &addr)) {
        kube_invalid(c, field, ip, "must not have leading 0s");
    }
}

/* "/08": Go's prefix lengths may have leading zeros, the API's may not. */
static bool has_padded_prefix(const char *cidr)
{
    const char *slash = strchr(cidr, '/');
    return slash && slash[1] == '0' && slash[2] != '\0';
}

void kube_check_cidr(struct kube_causes *c, const char *field, const char *cidr)
{
    struct ip_net net;
    struct ip_net exact;
    if (!ip_net_parse_sloppy(cidr, &net)) {
        kube_invalid(c, field, cidr,
                     "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    } else if (net.was_mapped) {
        kube_invalid(c, field, cidr, "must not have an IPv4-mapped IPv6 address");
    } else if (!ip_net_parse(cidr, &net) || has_padded_prefix(cidr)) {
        kube_invalid(c, field, cidr, "must not have leading 0s in IP or prefix length");
    } else if (ip_net_parse_host(cidr, &exact) && !ip_eq(&exact.addr, &net.addr)) {
        kube_invalid(c, field, cidr, "must not have bits set beyond the prefix length");
    }
}

static bool is_in(const struct ip_addr *ip, const char *cidr)
{
    struct ip_net net;
    return ip_net_parse(cidr, &net) && ip_net_contains(&net, ip);
}

void kube_check_endpoint_ip(struct kube_causes *c, const char *field, const char *ip)
{
    static const struct {
        const char *v4, *v6, *text;
    } rows[] = {
        {"0.0.0.0/32", "::/128", NULL},
        {"127.0.0.0/8", "::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
        {"169.254.0.0/16", "fe80::/10",
         "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
        {"224.0.0.0/24", "ff02::/16",
         "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
    };
    struct ip_addr addr;
    if (!ip_parse_sloppy(ip, &addr)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_in(&addr, addr.len == 4 ? rows[i].v4 : rows[i].v6)) {
            kube_invalid(c, field, ip,
                         rows[i].text ? rows[i].text
                                      : arena_printf(c->arena, "may not be unspecified (%s)", ip));
        }
    }
}
