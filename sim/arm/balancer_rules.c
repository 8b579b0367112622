/* SPDX-License-Identifier: Apache-2.0 */
/* balancer_rules.c: a load balancer's rules and probes: what they refer to, defaults, and conflicts
 * between them.
 *
 * References must lead to children of the same balancer.  Two rules may not share frontend,
 * protocol and port, nor (unless both float) pool, protocol and backend port.  Source:
 * docs/spec/azure.md §6.5, §6.6, §16 item 6. */
#include "sim/arm/arm.h"

#include <string.h>

#define RULES_STANDARD 1500
#define RULES_BASIC    250

static void add_default_int(struct json_object *p, const char *member, int64_t v)
{
    if (!json_member(p, member)) {
        json_add_int(p, member, v);
    }
}

static void add_default_bool(struct json_object *p, const char *member, bool v)
{
    if (!json_member(p, member)) {
        json_add_bool(p, member, v);
    }
}

static void add_default_str(struct json_object *p, const char *member, const char *v)
{
    if (!json_member(p, member)) {
        json_add_str(p, member, v);
    }
}

static void fill_rule(struct json_object *p)
{
    const char *pool = arm_ref(p, "backendAddressPool");
    struct json_object *pools = json_member(p, "backendAddressPools");
    add_default_int(p, "backendPort", json_int(p, "frontendPort", 0));
    add_default_bool(p, "enableFloatingIP", false);
    add_default_bool(p, "enableTcpReset", false);
    add_default_bool(p, "disableOutboundSnat", false);
    add_default_int(p, "idleTimeoutInMinutes", 4);
    add_default_str(p, "loadDistribution", "Default");
    if (pool && json_len(pools) == 0) {
        pools = json_object_new_array();
        json_object_array_add(pools, arm_sub_resource(pool));
        json_add(p, "backendAddressPools", pools);
    } else if (!pool && json_len(pools) == 1) {
        json_add(p, "backendAddressPool", json_copy(json_object_array_get_idx(pools, 0)));
    }
}

void arm_sku_fill(struct json_object *body, const char *name)
{
    if (!json_member(body, "sku")) {
        json_add(body, "sku", json_object_new_object());
    }
    add_default_str(json_member(body, "sku"), "name", name);
    add_default_str(json_member(body, "sku"), "tier", "Regional");
}

static void fill_frontends(struct json_object *fips)
{
    for (size_t i = 0; i < json_len(fips); i++) {
        struct json_object *p = arm_properties(json_object_array_get_idx(fips, i));
        add_default_str(p, "privateIPAllocationMethod", "Dynamic");
        if (arm_ref(p, "subnet")) {
            add_default_str(p, "privateIPAddressVersion", "IPv4");
            json_add(p, "subnet", arm_sub_resource(arm_ref(p, "subnet")));
        }
    }
}

void arm_lb_fill(struct json_object *body)
{
    arm_sku_fill(body, "Basic");
    fill_frontends(json_path(body, "properties.frontendIPConfigurations"));
    struct json_object *probes = json_path(body, "properties.probes");
    struct json_object *rules = json_path(body, "properties.loadBalancingRules");
    for (size_t i = 0; i < json_len(probes); i++) {
        struct json_object *p = arm_properties(json_object_array_get_idx(probes, i));
        add_default_int(p, "intervalInSeconds", 15);
        add_default_int(p, "numberOfProbes", 1);
        add_default_int(p, "probeThreshold", 1);
        add_default_str(p, "noHealthyBackendsBehavior", "AllProbedDown");
    }
    for (size_t i = 0; i < json_len(rules); i++) {
        fill_rule(arm_properties(json_object_array_get_idx(rules, i)));
    }
}

bool arm_lb_check_ref(struct arm_request *q, struct json_object *lb, const char *by, const char *id,
                      const char *member)
{
    const char *parent = id ? arm_id_parent(q->a, id) : "";
    const char *kind = id ? arena_strndup(q->a, id, (size_t)(arm_id_name(id) - id - 1)) : NULL;
    struct json_object *items = json_path(lb, arena_printf(q->a, "properties.%s", member));
    bool ok = id && str_eq_nocase(parent, q->id) && str_eq_nocase(arm_id_name(kind), member) &&
              arm_find(q, items, arm_id_name(id));
    return ok || arm_refuse_reference(q, str_nonnull(id), by);
}

bool arm_check_range(struct arm_request *q, const char *by, struct json_object *p,
                     const char *member, int64_t min, int64_t max)
{
    int64_t v = json_int(p, member, min);
    return (v >= min && v <= max) ||
           arm_refuse(q, 400, "InvalidParameter",
                      "The value %lld of %s of %s is out of range: it must be from %lld to %lld.",
                      (long long)v, member, by, (long long)min, (long long)max);
}

/* --- probes ----------------------------------------------------------------------------------- */

static bool check_probe(struct arm_request *q, struct json_object *lb, struct json_object *o)
{
    const char *self = arena_printf(q->a, "%s/probes/%s", q->id, json_str(o, "name"));
    struct json_object *p = arm_properties(o);
    bool tcp = str_eq(json_str(p, "protocol"), "Tcp");
    bool https = str_eq(json_str(p, "protocol"), "Https");
    if (tcp == !str_is_empty(json_str(p, "requestPath"))) {
        return arm_refuse(q, 400, tcp ? "ProbeRequestPathNotAllowed" : "ProbeRequestPathMissing",
                          "Probe %s has the protocol %s: a request path is %s.", self,
                          json_str(p, "protocol"), tcp ? "not allowed" : "required");
    }
    if (strlen(str_nonnull(json_str(p, "requestPath"))) > 2048) {
        return arm_refuse(q, 400, "ProbeRequestPathTooLong",
                          "Probe %s: the request path has more than 2048 characters.", self);
    }
    if (https && !arm_lb_is_standard(lb)) {
        return arm_refuse(q, 400, "HttpsProbeNotSupportedForBasicLoadBalancer",
                          "Probe %s: Https is not supported by a Basic load balancer.", self);
    }
    return arm_check_range(q, self, p, "port", 1, 65535) &&
           arm_check_range(q, self, p, "intervalInSeconds", 5, INT32_MAX) &&
           arm_check_range(q, self, p, "probeThreshold", 1, 100) &&
           arm_check_range(q, self, p, "numberOfProbes", 1, INT32_MAX);
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool check_rule_pools(struct arm_request *q, struct json_object *lb, const char *self,
                             struct json_object *p)
{
    const char *pool = arm_ref(p, "backendAddressPool");
    struct json_object *pools = json_member(p, "backendAddressPools");
    bool same = false;
    for (size_t i = 0; i < json_len(pools); i++) {
        const char *id = json_str(json_object_array_get_idx(pools, i), "id");
        same = same || str_eq_nocase(id, pool);
        if (!arm_lb_check_ref(q, lb, self, id, "backendAddressPools")) {
            return false;
        }
    }
    return !pool || same ||
           arm_refuse(q, 400, "LoadBalancingRuleBackendAddressPoolsMismatch",
                      "Load balancing rule %s: backendAddressPool %s is not among "
                      "backendAddressPools.",
                      self, pool);
}

static bool frontend_is_public(struct arm_request *q, struct json_object *lb,
                               struct json_object *rule)
{
    const char *id = arm_ref(rule, "frontendIPConfiguration");
    struct json_object *fip = arm_find(q, json_path(lb, "properties.frontendIPConfigurations"),
                                       id ? arm_id_name(id) : NULL);
    return arm_ref(json_member(fip, "properties"), "subnet") == NULL;
}

static bool check_rule(struct arm_request *q, struct json_object *lb, struct json_object *o)
{
    const char *self = arena_printf(q->a, "%s/loadBalancingRules/%s", q->id, json_str(o, "name"));
    struct json_object *p = arm_properties(o);
    const char *probe = arm_ref(p, "probe");
    bool all = str_eq(json_str(p, "protocol"), "All");
    if (!arm_lb_check_ref(q, lb, self, arm_ref(p, "frontendIPConfiguration"),
                          "frontendIPConfigurations") ||
        !check_rule_pools(q, lb, self, p) ||
        (probe && !arm_lb_check_ref(q, lb, self, probe, "probes"))) {
        return false;
    }
    bool any_port = json_int(p, "frontendPort", 0) == 0;
    if ((any_port || json_int(p, "backendPort", 0) == 0) && !all) {
        return arm_refuse(q, 400, "LoadBalancingRuleInvalidPort",
                          "Load balancing rule %s: the port 0 is for the protocol All only.", self);
    }
    if (any_port && frontend_is_public(q, lb, p)) {
        return arm_refuse(q, 400, "HAPortsNotSupportedForPublicFrontend",
                          "Load balancing rule %s: all ports at once are for internal frontends.",
                          self);
    }
    if (all && !arm_lb_is_standard(lb)) {
        return arm_refuse(q, 400, "HAPortsNotSupportedForBasicLoadBalancer",
                          "Load balancing rule %s: the protocol All is not supported by a Basic "
                          "load balancer.",
                          self);
    }
    if (json_bool(p, "enableTcpReset", false) && !arm_lb_is_standard(lb)) {
        return arm_refuse(q, 400, "TcpResetNotSupportedForBasicLoadBalancer",
                          "Load balancing rule %s: enableTcpReset is not supported by a Basic load "
                          "balancer.",
                          self);
    }
    return arm_check_range(q, self, p, "frontendPort", 0, 65534) &&
           arm_check_range(q, self, p, "backendPort", 0, 65535) &&
           arm_check_range(q, self, p, "idleTimeoutInMinutes", 4, 100);
}

/* --- conflicts -------------------------------------------------------------------------------- */

static bool holds_scale_set(struct arm_request *q, const char *pool)
{
    struct arm_links *l = arm_links_new(q->arm);
    struct json_object *members = arm_links_members(l, pool);
    const char *id = json_len(members) ? json_str(json_object_array_get_idx(members, 0), "id") : "";
    bool in_set = strstr(id, "/virtualMachineScaleSets/") != NULL;
    arm_links_free(l);
    return in_set;
}

static bool take_frontend(struct arm_request *q, struct map *seen, const char *name,
                          struct json_object *p)
{
    const char *fip = str_nonnull(arm_ref(p, "frontendIPConfiguration"));
    char *key = arena_printf(q->a, "%s %s %lld", arm_id_key(q->a, fip), json_str(p, "protocol"),
                             (long long)json_int(p, "frontendPort", 0));
    /* All ports leave nothing for another rule. */
    char *any = arena_printf(q->a, "%s any", arm_id_key(q->a, fip));
    char *all = arena_printf(q->a, "%s All 0", arm_id_key(q->a, fip));
    bool takes_all = str_eq(key, all);
    key = map_has(seen, all) ? all : takes_all && map_has(seen, any) ? any : key;
    if (map_has(seen, key)) {
        return arm_refuse(q, 400, "RulesUseSameFrontendPortProtocolAndIPConfig",
                          "Load balancing rules %s and %s with the same protocol %s and frontend "
                          "port %lld use the same frontend IP configuration %s.",
                          (const char *)map_get(seen, key), name, json_str(p, "protocol"),
                          (long long)json_int(p, "frontendPort", 0), fip);
    }
    map_set(seen, key, (void *)name);
    map_set(seen, any, (void *)name);
    return true;
}

/* Rules that float meet by their frontends, the others by the machines' own addresses. */
static bool take_backend(struct arm_request *q, struct map *seen, const char *name,
                         struct json_object *p)
{
    const char *pool = arm_ref(p, "backendAddressPool");
    bool floats = json_bool(p, "enableFloatingIP", false);
    if (!pool) {
        return true;
    }
    char *key = arena_printf(
        q->a, "%s %s %lld %s", arm_id_key(q->a, pool), json_str(p, "protocol"),
        (long long)json_int(p, "backendPort", 0),
        floats ? arm_id_key(q->a, str_nonnull(arm_ref(p, "frontendIPConfiguration"))) : "");
    if (map_has(seen, key)) {
        return arm_refuse(q, 400,
                          holds_scale_set(q, pool) ? "RulesUseSameBackendPortProtocolAndVmssPool"
                                                   : "RulesUseSameBackendPortProtocolAndPool",
                          "Load balancing rules %s and %s cannot reference the same backend "
                          "address pool %s when they use the same backend port %lld and protocol "
                          "%s.",
                          (const char *)map_get(seen, key), name, pool,
                          (long long)json_int(p, "backendPort", 0), json_str(p, "protocol"));
    }
    map_set(seen, key, (void *)name);
    return true;
}

static bool check_conflicts(struct arm_request *q, struct json_object *rules)
{
    struct map *front = map_new(NULL), *back = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(rules) && ok; i++) {
        struct json_object *o = json_object_array_get_idx(rules, i);
        struct json_object *p = json_member(o, "properties");
        ok = take_frontend(q, front, json_str(o, "name"), p) &&
             take_backend(q, back, json_str(o, "name"), p);
    }
    map_free(front);
    map_free(back);
    return ok;
}

bool arm_lb_check_rules(struct arm_request *q, struct json_object *body)
{
    struct json_object *probes = json_path(body, "properties.probes");
    struct json_object *rules = json_path(body, "properties.loadBalancingRules");
    size_t limit = (size_t)arm_limit(q->arm, "loadBalancingRules",
                                     arm_lb_is_standard(body) ? RULES_STANDARD : RULES_BASIC);
    arm_lb_fill(body);
    size_t n = json_len(rules) + json_len(json_path(body, "properties.inboundNatRules"));
    if (n > limit) {
        return arm_refuse(q, 400, "LoadBalancingRuleLimitReached",
                          "Load balancer %s has %zu load balancing and inbound NAT rules; at most "
                          "%zu are allowed.",
                          q->id, n, limit);
    }
    for (size_t i = 0; i < json_len(probes); i++) {
        if (!check_probe(q, body, json_object_array_get_idx(probes, i))) {
            return false;
        }
    }
    for (size_t i = 0; i < json_len(rules); i++) {
        if (!check_rule(q, body, json_object_array_get_idx(rules, i))) {
            return false;
        }
    }
    return check_conflicts(q, rules) && arm_lb_check_nat(q, body);
}
