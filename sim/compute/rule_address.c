/* SPDX-License-Identifier: Apache-2.0 */
/* rule_address.c: the address of a new forwarding rule.
 *
 * It is a reserved one of the right kind, region, tier and subnetwork, the ephemeral one of another
 * rule that may share it, a free one of the subnetwork that the client chose, or, when the client
 * named none, one that the cloud picks.  An IPv6 rule has a /96, and its subnetwork must hand out
 * such addresses.  May write ipVersion and IPAddress into the body.
 * Source: compute v1 "forwardingRules"; gce-cloud-provider.md §4.3.2, §5.6; gce-l4.md
 * §4.7, §4.14, §5.4. */
#include "sim/compute/compute.h"

#include <string.h>

/* IPAddress may name an address resource; then it becomes its literal. */
static bool resolve(struct request *q, struct json_object *body)
{
    const char *given = json_str(body, "IPAddress");
    const char *path = given && strchr(given, '/') && !strchr(given, ':')
                           ? ce_link_path(q->a, given, q->folder)
                           : NULL;
    if (given && str_has_prefix(given, "http")) {
        path = ce_link_path(q->a, given, q->folder);
    }
    if (!path) {
        return true;
    }
    const struct resource *address = ce_store_get(q->c, path);
    const char *ip = address ? json_str(address->body, "address") : NULL;
    if (!ip) {
        return ce_refuse_dangling(&q->refusal, q->a, "resource.IPAddress", given, path);
    }
    json_add_str(body, "IPAddress", strchr(ip, ':') ? arena_printf(q->a, "%s/96", ip) : ip);
    return true;
}

/* --- families --------------------------------------------------------------------------------- */

/* Notes the family; refuses one that the address is not of. */
static bool check_family(struct request *q, struct json_object *body, bool *ret_ipv6)
{
    const char *ip = json_str(body, "IPAddress"), *version = json_str(body, "ipVersion");
    bool ipv6 = ip ? strchr(ip, ':') != NULL : str_eq(version, "IPV6");
    if (ip && version && str_eq(version, "IPV6") != ipv6) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "The address is not of the rule's IP version.");
    }
    json_add_str(body, "ipVersion", ipv6 ? "IPV6" : "IPV4");
    *ret_ipv6 = ipv6;
    return true;
}

static bool check_ipv6(struct request *q, struct json_object *body, bool internal)
{
    const char *ip = json_str(body, "IPAddress");
    if (json_str(body, "target")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.ipVersion", "IPV6",
                                 "A rule with a target pool has an IPv4 address.");
    }
    size_t n = ip ? strlen(ip) : 0;
    if (ip && !internal && (n < 3 || !str_eq(ip + n - 3, "/96"))) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "An external IPv6 address of a rule is a range with the prefix "
                                 "length 96.");
    }
    return ce_address_check_ipv6(q, body, internal ? "INTERNAL" : "EXTERNAL",
                                 internal ? NULL : json_str(body, "networkTier"), !ip);
}

/* --- where it comes from ---------------------------------------------------------------------- */

static bool pick(struct request *q, struct json_object *body, const char *type, bool ipv6)
{
    const char *subnet = ce_link_path(q->a, json_str(body, "subnetwork"), q->folder);
    const char *ip = ce_address_pick(q, type, json_str(body, "networkTier"), subnet, ipv6);
    if (!ip) {
        return ce_refuse_no_address(&q->refusal, q->a, subnet);
    }
    json_add_str(body, "IPAddress", ipv6 ? arena_printf(q->a, "%s/96", ip) : ip);
    return true;
}

static bool check_reserved(struct request *q, struct json_object *body,
                           const struct resource *address, const char *type)
{
    const char *ip = json_str(body, "IPAddress"), *tier = json_str(body, "networkTier");
    const char *region = arena_printf(q->a, "/regions/%s/", q->location);
    if (!strstr(address->path, region) || !str_eq(json_str(address->body, "addressType"), type)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "Invalid IP address specified.");
    }
    if (str_eq(json_str(address->body, "ipv6EndpointType"), "VM")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "The address is reserved for machines, not for rules.");
    }
    const char *home = json_str(address->body, "subnetwork"), *ours = json_str(body, "subnetwork");
    if (home && ours && !ce_link_same(q->a, home, ours, q->folder)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.subnetwork", ours,
                                 "The address is of another subnetwork.");
    }
    const char *own = str_or(json_str(address->body, "networkTier"), "PREMIUM");
    return str_eq(type, "INTERNAL") || str_eq(own, tier) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                             arena_printf(q->a,
                                          "The network tier of external IP is %s, that of "
                                          "ForwardingRule must be the same.",
                                          own));
}

/* An unreserved address: internal ones, and IPv6, may be chosen freely from the subnetwork. */
static bool check_literal(struct request *q, struct json_object *body, bool internal, bool ipv6)
{
    const char *ip = json_str(body, "IPAddress");
    const char *subnet = ce_link_path(q->a, json_str(body, "subnetwork"), q->folder);
    if (!internal) {
        return (ipv6 && ce_address_is_external(ip)) ||
               ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "Invalid IP address specified.");
    }
    if (!ce_address_in_subnet(q->c, ip, subnet)) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "resource.IPAddress", ip,
            "Requested internal IP address is outside the network/subnetwork range.");
    }
    return !ce_instance_by_ip(q->c, ip) || ce_refuse_ip_in_use(&q->refusal, q->a, ip);
}

bool ce_rule_address(struct request *q, struct json_object *body, bool internal)
{
    const char *type = internal ? "INTERNAL" : "EXTERNAL";
    bool ipv6 = false;
    if (!resolve(q, body) || !check_family(q, body, &ipv6) ||
        (ipv6 && !check_ipv6(q, body, internal))) {
        return false;
    }
    const char *ip = json_str(body, "IPAddress");
    if (!ip) {
        return pick(q, body, type, ipv6);
    }
    if (ipv6 && !strchr(ip, '/')) {
        json_add_str(body, "IPAddress", arena_printf(q->a, "%s/96", ip));
        ip = json_str(body, "IPAddress");
    }
    const struct resource *address = ce_address_by_ip(q->c, ip);
    if (address) {
        return check_reserved(q, body, address, type);
    }
    const struct resource *holder = internal ? NULL : ce_rule_by_ip(q->c, ip);
    return holder ? ce_address_check_holder(q, holder, "resource.IPAddress", type,
                                            json_str(body, "networkTier"))
                  : check_literal(q, body, internal, ipv6);
}
