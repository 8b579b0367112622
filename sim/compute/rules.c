/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c: forwarding rules: which combinations the cloud takes, and conflicts on an address.
 *
 * A rule either points to a target pool (external, portRange) or to a backend service (portRange,
 * ports or allPorts).  Two rules may share an address only where no packet could match both; where
 * the address comes from is in rule_address.c.  Once made, little of a rule can be changed.
 * Source: compute v1 "forwardingRules"; gce-cloud-provider.md §4.3.2, §5.6, §16;
 * gce-l4.md §4.7, §5.2. */
#include "sim/compute/compute.h"

#include <string.h>

#define PORTS_MAX 5

/* --- ports ------------------------------------------------------------------------------------ */

struct range {
    int64_t low, high;
};

static bool parse_port(const char *text, size_t n, int64_t lowest, int64_t *ret)
{
    char digits[8];
    if (n == 0 || n >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    return str_to_i64(digits, ret) && *ret >= lowest && *ret <= 65535;
}

/* "80", "80-90"; false: not a range of ports. */
bool ce_port_range_parse(const char *text, int64_t lowest, int64_t *ret_low, int64_t *ret_high)
{
    size_t n = strcspn(text, "-");
    if (!parse_port(text, n, lowest, ret_low)) {
        return false;
    }
    if (text[n] == '\0') {
        *ret_high = *ret_low;
        return true;
    }
    return parse_port(text + n + 1, strlen(text + n + 1), lowest, ret_high) &&
           *ret_low <= *ret_high;
}

/* Which way of naming ports goes with this protocol and scheme. */
static bool check_port_kind(struct request *q, struct json_object *body)
{
    const char *range = json_str(body, "portRange");
    bool all = json_bool(body, "allPorts", false);
    if ((json_len(json_member(body, "ports")) > 0) + (range != NULL) + all > 1) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "Only one of ports, portRange and allPorts can be specified.");
    }
    if (!all && str_eq(json_str(body, "IPProtocol"), "L3_DEFAULT")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.IPProtocol", "L3_DEFAULT",
                                 "A rule of this protocol must have allPorts.");
    }
    return !range || !str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL") ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.portRange", range,
                             "An internal rule has ports or allPorts.");
}

static bool check_ports(struct request *q, struct json_object *body)
{
    struct json_object *ports = json_member(body, "ports");
    const char *range = json_str(body, "portRange");
    int64_t low, high;
    if (!check_port_kind(q, body)) {
        return false;
    }
    if (range && !ce_port_range_parse(range, 1, &low, &high)) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "resource.portRange", range,
            "Invalid port range: want 'N' or 'N-M' with 1 <= N <= M <= 65535.");
    }
    if (range) {
        json_add_str(body, "portRange",
                     arena_printf(q->a, "%lld-%lld", (long long)low, (long long)high));
    }
    if (json_len(ports) > PORTS_MAX) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.ports",
                                 arena_printf(q->a, "%zu ports", json_len(ports)),
                                 "At most 5 ports can be specified.");
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        const char *port = json_object_get_string(json_object_array_get_idx(ports, i));
        if (!ce_port_range_parse(port, 1, &low, &high)) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "resource.ports[%zu]", i), port,
                                     "Invalid port.");
        }
    }
    return true;
}

/* The ports of a rule as ranges; all ports when it names none. */
static size_t port_ranges(struct arena *a, struct json_object *body, struct range **ret)
{
    struct json_object *ports = json_member(body, "ports");
    const char *text = json_str(body, "portRange");
    size_t n = json_len(ports), filled = 0;
    struct range *r = ARENA_ARRAY(a, struct range, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *port = json_object_get_string(json_object_array_get_idx(ports, i));
        filled += ce_port_range_parse(port, 1, &r[filled].low, &r[filled].high);
    }
    if (text && ce_port_range_parse(text, 1, &r[0].low, &r[0].high)) {
        filled = 1;
    }
    if (filled == 0) {
        r[0] = (struct range){1, 65535};
        filled = 1;
    }
    *ret = r;
    return filled;
}

bool ce_rule_ports_overlap(struct arena *a, struct json_object *x, struct json_object *y)
{
    struct range *rx, *ry;
    size_t nx = port_ranges(a, x, &rx), ny = port_ranges(a, y, &ry);
    for (size_t i = 0; i < nx; i++) {
        for (size_t j = 0; j < ny; j++) {
            if (rx[i].low <= ry[j].high && ry[j].low <= rx[i].high) {
                return true;
            }
        }
    }
    return false;
}

/* --- conflicts -------------------------------------------------------------------------------- */

struct conflict {
    struct request *q;
    struct json_object *body;
    const char *self; /* path of the rule itself */
    const struct resource *with;
};

static bool may_share_internal(struct conflict *k, const char *ip)
{
    const struct resource *address = ce_address_by_ip(k->q->c, ip);
    return address && str_eq(json_str(address->body, "purpose"), "SHARED_LOADBALANCER_VIP");
}

static bool collides(struct conflict *k, struct json_object *other)
{
    struct json_object *body = k->body;
    const char *ip = json_str(body, "IPAddress");
    if (!ce_address_same(ip, json_str(other, "IPAddress"))) {
        return false;
    }
    if (str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL")) {
        /* Networks have their addresses for themselves. */
        const char *here = json_str(body, "network"), *there = json_str(other, "network");
        if (here && there && !ce_link_same(k->q->a, here, there, k->q->folder)) {
            return false;
        }
        if (!may_share_internal(k, ip)) {
            return true;
        }
    }
    const char *px = json_str(body, "IPProtocol"), *py = json_str(other, "IPProtocol");
    if (!str_eq(px, py)) {
        /* A rule for a protocol beats L3_DEFAULT on the same address; that is allowed. */
        return false;
    }
    return ce_rule_ports_overlap(k->q->a, body, other);
}

static bool find_conflict(struct resource *res, void *arg)
{
    struct conflict *k = arg;
    if (!str_eq(res->path, k->self) && collides(k, res->body)) {
        k->with = res;
    }
    return !k->with;
}

/* Rules of backend services may share an address, so it is the ports that clash; else it
 * is the address. */
static bool check_conflict(struct request *q, struct json_object *body)
{
    struct conflict k = {.q = q,
                         .body = body,
                         .self = arena_printf(q->a, "%s/%s", q->folder, json_str(body, "name"))};
    ce_store_each(q->c, "forwardingRules", find_conflict, &k);
    bool shared = str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL")
                      ? may_share_internal(&k, json_str(body, "IPAddress"))
                      : json_str(body, "backendService") != NULL;
    if (k.with && shared) {
        return ce_refuse(&q->refusal, q->a, 400, "invalidUsage",
                         "Invalid resource usage: 'Forwarding rule's port range is conflicting "
                         "with forwarding rule: %s'.",
                         ce_path_name(k.with->path));
    }
    const char *ip = json_str(body, "IPAddress");
    if (k.with && str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL")) {
        return ce_refuse_ip_in_use(&q->refusal, q->a, ip);
    }
    return !k.with ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.IPAddress", ip,
                             "Specified IP address is in-use and would result in a conflict.");
}

/* --- target and backend service --------------------------------------------------------------- */

/* An internal rule is in the network of the backends. */
static bool check_network(struct request *q, struct json_object *body, struct json_object *service)
{
    const char *theirs = ce_backend_network(q, service), *ours = json_str(body, "network");
    bool internal = str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL");
    return !internal || !theirs || !ours || ce_link_same(q->a, theirs, ours, q->folder) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.network", ours,
                             "The network of the rule must be that of the backend service.");
}

static bool check_target(struct request *q, struct json_object *body, bool internal)
{
    const char *target = json_str(body, "target"), *service = json_str(body, "backendService");
    const char *protocol = json_str(body, "IPProtocol");
    if ((target != NULL) == (service != NULL)) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "Exactly one of target and backendService must be specified.");
    }
    if (target) {
        if (internal || json_member(body, "ports") || json_bool(body, "allPorts", false)) {
            return ce_refuse(&q->refusal, q->a, 400, "invalid",
                             "A rule with a target pool is external and has a portRange.");
        }
        return str_eq(protocol, "TCP") || str_eq(protocol, "UDP") ||
               ce_refuse_invalid(&q->refusal, q->a, "resource.IPProtocol", protocol,
                                 "A rule with a target pool has TCP or UDP.");
    }
    const struct resource *bs = ce_store_get(q->c, ce_link_path(q->a, service, q->folder));
    const char *scheme = json_str(bs->body, "loadBalancingScheme");
    if (!str_eq(scheme, json_str(body, "loadBalancingScheme"))) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.loadBalancingScheme",
                                 json_str(body, "loadBalancingScheme"),
                                 arena_printf(q->a, "The backend service has %s.", scheme));
    }
    const char *bs_protocol = json_str(bs->body, "protocol");
    if (!str_eq(bs_protocol, protocol) && !str_eq(bs_protocol, "UNSPECIFIED")) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "resource.IPProtocol", protocol,
            arena_printf(q->a, "The backend service has protocol %s.", bs_protocol));
    }
    if (!check_network(q, body, bs->body)) {
        return false;
    }
    bool ports = json_len(json_member(body, "ports")) > 0 || json_str(body, "portRange") ||
                 json_bool(body, "allPorts", false);
    return ports || ce_refuse(&q->refusal, q->a, 400, "required",
                              "One of ports, portRange and allPorts must be specified.");
}

/* Members that only one of the two schemes has. */
static bool check_scheme(struct request *q, struct json_object *body, bool internal)
{
    const char *tier = json_str(body, "networkTier");
    if (internal && !str_eq(tier, "PREMIUM")) {
        return ce_refuse(&q->refusal, q->a, 400, "badRequest",
                         "%s network tier is not supported: Network tier other than PREMIUM is not "
                         "supported for loadBalancingScheme=INTERNAL.",
                         tier);
    }
    return internal || !json_bool(body, "allowGlobalAccess", false) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.allowGlobalAccess", "true",
                             "Only an internal rule can have global access.");
}

/* Without a network and a subnetwork, those of the project's default. */
static bool add_place(struct request *q, struct json_object *body)
{
    if (!json_str(body, "subnetwork") && !json_str(body, "network")) {
        json_add_str(
            body, "subnetwork",
            ce_link_full(q->a, arena_printf(q->a, "projects/%s/regions/%s/subnetworks/" SIM_NETWORK,
                                            q->project, q->location)));
    }
    if (!ce_place_complete(q, body)) {
        return false;
    }
    if (!json_str(body, "subnetwork")) {
        const char *network = ce_link_path(q->a, json_str(body, "network"), q->folder);
        const struct resource *home = network ? ce_store_get(q->c, network) : NULL;
        if (home && !json_bool(home->body, "autoCreateSubnetworks", true)) {
            return ce_refuse_invalid(
                &q->refusal, q->a, "resource.subnetwork", "",
                "Network interface must specify a subnet if the network resource is in custom "
                "subnet mode.");
        }
        json_add_str(body, "subnetwork",
                     ce_link_full(q->a, arena_printf(q->a, "projects/%s/regions/%s/subnetworks/%s",
                                                     ce_path_project(q->a, network), q->location,
                                                     ce_path_name(network))));
    }
    return true;
}

bool ce_rule_insert(struct request *q, struct json_object *body)
{
    bool internal = str_eq(json_default_str(body, "loadBalancingScheme", "EXTERNAL"), "INTERNAL");
    json_default_str(body, "IPProtocol", "TCP");
    const char *tier = internal ? "PREMIUM" : ce_default_tier(q->c);
    if (!ce_tier_check(q, json_default_str(body, "networkTier", tier)) ||
        !ce_policy_check(q, body)) {
        return false;
    }
    if (internal && !add_place(q, body)) {
        return false;
    }
    if (!check_scheme(q, body, internal) || !check_ports(q, body) ||
        !check_target(q, body, internal)) {
        return false;
    }
    if (json_str(body, "target") && !json_str(body, "portRange")) {
        json_add_str(body, "portRange", "1-65535");
    }
    return ce_rule_address(q, body, internal) && check_conflict(q, body);
}

bool ce_rule_change(struct request *q, struct json_object *old, struct json_object *body)
{
    static const char *const changeable[] = {
        "allowGlobalAccess",   "networkTier", "description",    "labels",
        "labelFingerprint",    "fingerprint", "sourceIpRanges", "metadataFilters",
        "allowPscGlobalAccess"};
    json_object_object_foreach(q->body, key, value)
    {
        bool may = json_equal(json_member(old, key), value);
        for (size_t i = 0; i < ARRAY_LEN(changeable) && !may; i++) {
            may = str_eq(changeable[i], key);
        }
        if (!may) {
            return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "resource.%s", key),
                                     json_object_get_string(value),
                                     "This field of a forwarding rule cannot be changed.");
        }
    }
    const char *tier = json_str(body, "networkTier");
    if (!check_scheme(q, body, str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL"))) {
        return false;
    }
    return str_eq(tier, json_str(old, "networkTier")) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", str_nonnull(tier),
                             arena_printf(q->a,
                                          "The network tier of external IP is %s, that of "
                                          "ForwardingRule must be the same.",
                                          json_str(old, "networkTier")));
}

void ce_rule_after(struct request *q, struct json_object *body)
{
    ce_address_refresh(q->c, json_str(body, "IPAddress"));
}

bool ce_rule_set_target(struct request *q, struct json_object **ret)
{
    (void)ret;
    bool global = q->scope == SCOPE_GLOBAL;
    const char *path = ce_link_path(q->a, json_str(q->body, "target"), q->folder);
    if (!path || (!global && !ce_store_get(q->c, path))) {
        const char *link = str_nonnull(json_str(q->body, "target"));
        return path ? ce_refuse_dangling(&q->refusal, q->a, "resource.target", link, path)
                    : ce_refuse_invalid(&q->refusal, q->a, "resource.target", link,
                                        "The URL is malformed.");
    }
    struct json_object *body = json_copy(q->res->body);
    json_add_str(body, "target", ce_link_full(q->a, path));
    bool ok = ce_references_check(q, body) &&
              (global ? ce_global_rule_target(q, body) : check_target(q, body, false));
    if (ok) {
        ce_write_store(q, json_object_get(body));
    }
    json_object_put(body);
    return ok;
}
