/* SPDX-License-Identifier: Apache-2.0 */
/* global_rules.c: forwarding rules that belong to no region.
 *
 * They lead to proxies (targetHttpProxies and their kin), which the simulator does not serve: a
 * link that can be one is taken as it is.  For load balancers of a region it only matters that a
 * global rule exists, holds a global address and ports on it, and reserves that address.  Source:
 * compute v1 "globalForwardingRules". */
#include "sim/compute/compute.h"

#include <string.h>

/* --- target ----------------------------------------------------------------------------------- */

bool ce_global_rule_target(struct request *q, struct json_object *body)
{
    static const char *const proxies[] = {"targetHttpProxies", "targetHttpsProxies",
                                          "targetTcpProxies", "targetSslProxies",
                                          "targetGrpcProxies"};
    const char *link = json_str(body, "target");
    const char *path = link ? ce_link_path(q->a, link, q->folder) : NULL;
    bool found = false;
    if (!link) {
        return ce_refuse_required(&q->refusal, q->a, "resource.target");
    }
    if (!path) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.target", link,
                                 "The URL is malformed.");
    }
    for (size_t i = 0; i < ARRAY_LEN(proxies) && !found; i++) {
        found = str_eq(ce_path_collection(q->a, path), proxies[i]);
    }
    if (!found || ce_path_location(q->a, path)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.target", link,
                                 "The target of a global forwarding rule must be a global proxy.");
    }
    json_add_str(body, "target", ce_link_full(q->a, path));
    return true;
}

/* --- members ---------------------------------------------------------------------------------- */

static bool check_members(struct request *q, struct json_object *body)
{
    static const char *const foreign[] = {"backendService", "ports", "allPorts", "subnetwork"};
    const char *protocol = json_str(body, "IPProtocol"), *range = json_str(body, "portRange");
    int64_t low, high;
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        struct json_object *value = json_member(body, foreign[i]);
        if (value) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "resource.%s", foreign[i]),
                                     json_object_get_string(value),
                                     "Not supported for a global forwarding rule with a proxy.");
        }
    }
    if (!str_eq(protocol, "TCP")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPProtocol", protocol,
                                 "A rule with a proxy has TCP.");
    }
    if (!range) {
        return ce_refuse_required(&q->refusal, q->a, "resource.portRange");
    }
    if (!ce_port_range_parse(range, 1, &low, &high)) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "resource.portRange", range,
            "Invalid port range: want 'N' or 'N-M' with 1 <= N <= M <= 65535.");
    }
    json_add_str(body, "portRange",
                 arena_printf(q->a, "%lld-%lld", (long long)low, (long long)high));
    return true;
}

/* A project whose default tier is Standard has to name Premium in the rule. */
static bool check_tier(struct request *q, struct json_object *body)
{
    bool given = json_str(body, "networkTier") != NULL;
    const char *tier = json_default_str(body, "networkTier", ce_default_tier(q->c));
    return str_eq(tier, "PREMIUM") ||
           ce_refuse(&q->refusal, q->a, 400, "badRequest",
                     "%s network tier%s is not supported: Network tier other than PREMIUM is not "
                     "supported for global forwarding rules.",
                     tier, given ? "" : " (the project's default network tier)");
}

/* --- address ---------------------------------------------------------------------------------- */

struct conflict {
    struct request *q;
    struct json_object *body;
    bool found;
};

static bool find_conflict(struct resource *res, void *arg)
{
    struct conflict *k = arg;
    k->found = ce_address_same(json_str(k->body, "IPAddress"), json_str(res->body, "IPAddress")) &&
               str_eq(json_str(k->body, "IPProtocol"), json_str(res->body, "IPProtocol")) &&
               ce_rule_ports_overlap(k->q->a, k->body, res->body);
    return !k->found;
}

/* The holder of the address is global, and no rule there has the ports. */
static bool check_address(struct request *q, struct json_object *body, const char *ip)
{
    const struct resource *address = ce_address_by_ip(q->c, ip);
    const struct resource *holder = address ? address : ce_rule_by_ip(q->c, ip);
    if (!holder || ce_path_location(q->a, holder->path) ||
        str_eq(json_str(holder->body, "addressType"), "INTERNAL")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                                 "Invalid IP address specified.");
    }
    struct conflict k = {.q = q, .body = body};
    ce_store_each(q->c, "forwardingRules", find_conflict, &k);
    return !k.found ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                             "Specified IP address is in-use and would result in a conflict.");
}

static bool add_address(struct request *q, struct json_object *body)
{
    const char *given = json_str(body, "IPAddress");
    const char *path = given && strchr(given, '/') ? ce_link_path(q->a, given, q->folder) : NULL;
    if (path) {
        const struct resource *address = ce_store_get(q->c, path);
        if (!address) {
            return ce_refuse_dangling(&q->refusal, q->a, "resource.IPAddress", given, path);
        }
        given = str_nonnull(json_str(address->body, "address"));
        json_add_str(body, "IPAddress", given);
    }
    if (given) {
        return check_address(q, body, given);
    }
    const char *ip = ce_address_pick(q, "EXTERNAL", "PREMIUM", NULL, false);
    if (!ip) {
        return ce_refuse_no_address(&q->refusal, q->a, NULL);
    }
    json_add_str(body, "IPAddress", ip);
    return true;
}

bool ce_global_rule_insert(struct request *q, struct json_object *body)
{
    const char *scheme = json_default_str(body, "loadBalancingScheme", "EXTERNAL");
    if (!str_eq(scheme, "EXTERNAL") && !str_eq(scheme, "EXTERNAL_MANAGED")) {
        return ce_refuse(&q->refusal, q->a, 501, "notImplemented",
                         "Global forwarding rules of the scheme %s are not simulated", scheme);
    }
    if (str_eq(json_str(body, "ipVersion"), "IPV6")) {
        return ce_refuse(&q->refusal, q->a, 501, "notImplemented",
                         "Global forwarding rules of IPv6 are not simulated");
    }
    json_default_str(body, "IPProtocol", "TCP");
    return ce_global_rule_target(q, body) && check_members(q, body) && check_tier(q, body) &&
           add_address(q, body);
}
