/* SPDX-License-Identifier: Apache-2.0 */
/* nat_rules.c: a load balancer's inbound NAT rules and pools and its outbound rules.
 *
 * No program here makes them, but people have them in balancers that a controller shares, and a
 * document with them is sent back whole: what is wrong in them, or in conflict with balancing
 * rules, refuses the document.
 * Source: docs/spec/azure.md §6.8, §16 item 6; Azure's limits of outbound rules. */
#include "sim/arm/arm.h"

#include <string.h>

#define OUTBOUND_PORTS_MAX 64000
#define OUTBOUND_RULES_MAX 600

/* --- references ------------------------------------------------------------------------------- */

static bool check_refs(struct arm_request *q, struct json_object *lb, const char *member)
{
    struct json_object *items = json_path(lb, arena_printf(q->a, "properties.%s", member));
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        struct json_object *p = arm_properties(o);
        const char *self = arena_printf(q->a, "%s/%s/%s", q->id, member, json_str(o, "name"));
        struct json_object *many = json_member(p, "frontendIPConfigurations");
        const char *one = arm_ref(p, "frontendIPConfiguration");
        const char *pool = arm_ref(p, "backendAddressPool");
        bool inbound = !str_eq(member, "outboundRules");
        if (((one || inbound) && !arm_lb_check_ref(q, lb, self, one, "frontendIPConfigurations")) ||
            (pool && !arm_lb_check_ref(q, lb, self, pool, "backendAddressPools"))) {
            return false;
        }
        for (size_t k = 0; k < json_len(many); k++) {
            if (!arm_lb_check_ref(q, lb, self, json_str(json_object_array_get_idx(many, k), "id"),
                                  "frontendIPConfigurations")) {
                return false;
            }
        }
    }
    return true;
}

/* --- inbound ---------------------------------------------------------------------------------- */

/* A user of ports of a frontend: a rule uses one, a pool or a rule with a range many. */
struct taker {
    const char *name, *fip, *protocol;
    int64_t from, to;
};

static bool meet(const struct taker *x, const struct taker *y)
{
    bool same = str_eq(x->protocol, y->protocol) || str_eq(x->protocol, "All") ||
                str_eq(y->protocol, "All");
    return same && str_eq_nocase(x->fip, y->fip) && x->from <= y->to && y->from <= x->to;
}

static struct taker taker_of(struct json_object *o)
{
    struct json_object *p = json_member(o, "properties");
    int64_t port = json_int(p, "frontendPort", 0);
    return (struct taker){
        .name = str_nonnull(json_str(o, "name")),
        .fip = str_nonnull(arm_ref(p, "frontendIPConfiguration")),
        .protocol = str_nonnull(json_str(p, "protocol")),
        .from = port ? port : json_int(p, "frontendPortRangeStart", 0),
        .to = port ? port : json_int(p, "frontendPortRangeEnd", 0),
    };
}

static bool refuse_meeting(struct arm_request *q, const struct taker *x, const struct taker *y)
{
    return arm_refuse(q, 400, "RulesUseSameFrontendPortProtocolAndIPConfig",
                      "Rules %s and %s with the same protocol %s and frontend port %lld use the "
                      "same frontend IP configuration %s.",
                      y->name, x->name, x->protocol,
                      (long long)(x->from > y->from ? x->from : y->from), x->fip);
}

/* `o` meets none of the first `n` of a list. */
static bool check_against(struct arm_request *q, const struct taker *t, struct json_object *list,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct taker other = taker_of(json_object_array_get_idx(list, i));
        if (meet(t, &other)) {
            return refuse_meeting(q, t, &other);
        }
    }
    return true;
}

static bool check_inbound(struct arm_request *q, struct json_object *lb, const char *member)
{
    struct json_object *rules = json_path(lb, "properties.loadBalancingRules");
    struct json_object *nat = json_path(lb, "properties.inboundNatRules");
    struct json_object *items = json_path(lb, arena_printf(q->a, "properties.%s", member));
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        const char *self = arena_printf(q->a, "%s/%s/%s", q->id, member, json_str(o, "name"));
        struct taker t = taker_of(o);
        struct json_object *p = json_member(o, "properties");
        if (!arm_check_range(q, self, p, "backendPort", 1, 65535) ||
            !arm_check_range(q, self, p, "idleTimeoutInMinutes", 4, 30)) {
            return false;
        }
        if (t.from < 1 || t.to < t.from || t.to > 65534) {
            return arm_refuse(q, 400, "InvalidFrontendPortRange",
                              "%s: the frontend ports %lld to %lld are no range from 1 to 65534.",
                              self, (long long)t.from, (long long)t.to);
        }
        bool is_rule = items == nat;
        if (!check_against(q, &t, rules, json_len(rules)) ||
            !check_against(q, &t, nat, is_rule ? i : json_len(nat)) ||
            (!is_rule && !check_against(q, &t, items, i))) {
            return false;
        }
    }
    return true;
}

/* --- outbound --------------------------------------------------------------------------------- */

static bool check_outbound(struct arm_request *q, struct json_object *lb)
{
    struct json_object *items = json_path(lb, "properties.outboundRules");
    if (json_len(items) && !arm_lb_is_standard(lb)) {
        return arm_refuse(q, 400, "OutboundRulesNotSupportedForBasicLoadBalancer",
                          "Load balancer %s: outbound rules need the Standard sku.", q->id);
    }
    if (json_len(items) > OUTBOUND_RULES_MAX) {
        return arm_refuse(q, 400, "OutboundRuleLimitReached",
                          "Load balancer %s has %zu outbound rules; at most %d are allowed.", q->id,
                          json_len(items), OUTBOUND_RULES_MAX);
    }
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        struct json_object *p = json_member(o, "properties");
        const char *self = arena_printf(q->a, "%s/outboundRules/%s", q->id, json_str(o, "name"));
        if (json_len(json_member(p, "frontendIPConfigurations")) == 0) {
            return arm_refuse(q, 400, "OutboundRuleFrontendIPConfigurationMissing",
                              "Outbound rule %s has no frontend IP configuration.", self);
        }
        if (json_int(p, "allocatedOutboundPorts", 0) % 8) {
            return arm_refuse(q, 400, "OutboundRuleInvalidAllocatedOutboundPorts",
                              "Outbound rule %s: allocatedOutboundPorts must be a multiple of 8.",
                              self);
        }
        if (!arm_check_range(q, self, p, "allocatedOutboundPorts", 0, OUTBOUND_PORTS_MAX) ||
            (json_member(p, "idleTimeoutInMinutes") &&
             !arm_check_range(q, self, p, "idleTimeoutInMinutes", 4, 120))) {
            return false;
        }
    }
    return true;
}

/* A rule whose frontend has an outbound rule must disable outbound SNAT. */
static bool check_snat(struct arm_request *q, struct json_object *body)
{
    struct json_object *rules = json_path(body, "properties.loadBalancingRules");
    struct json_object *outbound = json_path(body, "properties.outboundRules");
    struct map *taken = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(outbound); i++) {
        struct json_object *o = json_object_array_get_idx(outbound, i);
        struct json_object *many = json_path(o, "properties.frontendIPConfigurations");
        for (size_t k = 0; k < json_len(many); k++) {
            const char *id = str_nonnull(json_str(json_object_array_get_idx(many, k), "id"));
            map_set(taken, arm_id_key(q->a, id), (void *)json_str(o, "name"));
        }
    }
    for (size_t i = 0; i < json_len(rules) && ok && map_size(taken) > 0; i++) {
        struct json_object *o = json_object_array_get_idx(rules, i);
        struct json_object *p = json_member(o, "properties");
        const char *fip = str_nonnull(arm_ref(p, "frontendIPConfiguration"));
        const char *by = map_get(taken, arm_id_key(q->a, fip));
        ok = !by || json_bool(p, "disableOutboundSnat", false) ||
             arm_refuse(
                 q, 400,
                 "LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferenced"
                 "ByOutboundRule",
                 "Load balancing rule %s must disable SNAT since same frontend IP "
                 "configuration %s is referenced by the outbound rule %s.",
                 json_str(o, "name"), fip, by);
    }
    map_free(taken);
    return ok;
}

bool arm_lb_check_nat(struct arm_request *q, struct json_object *body)
{
    return check_refs(q, body, "outboundRules") && check_refs(q, body, "inboundNatRules") &&
           check_refs(q, body, "inboundNatPools") && check_inbound(q, body, "inboundNatRules") &&
           check_inbound(q, body, "inboundNatPools") && check_outbound(q, body) &&
           check_snat(q, body);
}
