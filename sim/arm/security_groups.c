/* SPDX-License-Identifier: Apache-2.0 */
/* security_groups.c: network security groups: what a rule must be, and how ARM fills it up.
 *
 * ARM answers empty arrays for the plural members that a rule does not use, and adds its six
 * default rules.
 * Source: docs/spec/azure.md §9.1, §9.6, §16 item 8. */
#include "sim/arm/arm.h"

#include <string.h>

#define RULES_MAX       1000
#define PREFIXES_MAX    4000
#define DESCRIPTION_MAX 140

static const char default_rules[] =
    "[{\"name\":\"AllowVnetInBound\",\"properties\":{\"description\":\"Allow inbound traffic from "
    "all VMs in VNET\",\"protocol\":\"*\",\"sourcePortRange\":\"*\",\"destinationPortRange\":\"*\","
    "\"sourceAddressPrefix\":\"VirtualNetwork\",\"destinationAddressPrefix\":\"VirtualNetwork\","
    "\"access\":\"Allow\",\"priority\":65000,\"direction\":\"Inbound\"}},"
    "{\"name\":\"AllowAzureLoadBalancerInBound\",\"properties\":{\"description\":\"Allow inbound "
    "traffic from azure load balancer\",\"protocol\":\"*\",\"sourcePortRange\":\"*\","
    "\"destinationPortRange\":\"*\",\"sourceAddressPrefix\":\"AzureLoadBalancer\","
    "\"destinationAddressPrefix\":\"*\",\"access\":\"Allow\",\"priority\":65001,\"direction\":"
    "\"Inbound\"}},"
    "{\"name\":\"DenyAllInBound\",\"properties\":{\"description\":\"Deny all inbound traffic\","
    "\"protocol\":\"*\",\"sourcePortRange\":\"*\",\"destinationPortRange\":\"*\","
    "\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"*\",\"access\":\"Deny\","
    "\"priority\":65500,\"direction\":\"Inbound\"}},"
    "{\"name\":\"AllowVnetOutBound\",\"properties\":{\"description\":\"Allow outbound traffic from "
    "all VMs to all VMs in VNET\",\"protocol\":\"*\",\"sourcePortRange\":\"*\","
    "\"destinationPortRange\":\"*\",\"sourceAddressPrefix\":\"VirtualNetwork\","
    "\"destinationAddressPrefix\":\"VirtualNetwork\",\"access\":\"Allow\",\"priority\":65000,"
    "\"direction\":\"Outbound\"}},"
    "{\"name\":\"AllowInternetOutBound\",\"properties\":{\"description\":\"Allow outbound traffic "
    "from all VMs to Internet\",\"protocol\":\"*\",\"sourcePortRange\":\"*\","
    "\"destinationPortRange\":\"*\",\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":"
    "\"Internet\",\"access\":\"Allow\",\"priority\":65001,\"direction\":\"Outbound\"}},"
    "{\"name\":\"DenyAllOutBound\",\"properties\":{\"description\":\"Deny all outbound traffic\","
    "\"protocol\":\"*\",\"sourcePortRange\":\"*\",\"destinationPortRange\":\"*\","
    "\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"*\",\"access\":\"Deny\","
    "\"priority\":65500,\"direction\":\"Outbound\"}}]";

/* --- filling up ------------------------------------------------------------------------------- */

static void fill_rule(struct json_object *rule)
{
    static const char *const plural[] = {"sourcePortRanges", "destinationPortRanges",
                                         "sourceAddressPrefixes", "destinationAddressPrefixes"};
    struct json_object *p = arm_properties(rule);
    for (size_t i = 0; i < ARRAY_LEN(plural); i++) {
        if (!json_member(p, plural[i])) {
            json_add(p, plural[i], json_object_new_array());
        }
    }
}

void arm_nsg_fill(struct json_object *body)
{
    struct json_object *p = arm_properties(body), *defaults = NULL;
    if (!json_member(p, "securityRules")) {
        json_add(p, "securityRules", json_object_new_array());
    }
    if (json_len(json_member(p, "defaultSecurityRules")) == 0 &&
        json_parse(default_rules, strlen(default_rules), NULL, &defaults, NULL) == ERR_OK) {
        json_add(p, "defaultSecurityRules", defaults);
    }
    static const char *const lists[] = {"securityRules", "defaultSecurityRules"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_object *rules = json_member(p, lists[i]);
        for (size_t k = 0; k < json_len(rules); k++) {
            fill_rule(json_object_array_get_idx(rules, k));
        }
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static bool port_range_is_valid(const char *text)
{
    int64_t low, high;
    const char *dash = strchr(text, '-');
    char first[8] = "";
    if (str_eq(text, "*")) {
        return true;
    }
    size_t n = dash ? (size_t)(dash - text) : strlen(text);
    if (n == 0 || n >= sizeof(first)) {
        return false;
    }
    memcpy(first, text, n);
    return str_to_i64(first, &low) && (!dash || str_to_i64(dash + 1, &high)) && low >= 0 &&
           low <= 65535 && (!dash || (high >= low && high <= 65535));
}

/* "*", an address, a network without host bits, or a service tag. */
static bool prefix_is_valid(const char *text)
{
    struct ip_addr ip;
    struct ip_net net, host;
    if (strchr(text, '/')) {
        return ip_net_parse(text, &net) && ip_net_parse_host(text, &host) &&
               ip_eq(&net.addr, &host.addr);
    }
    return str_eq(text, "*") || ip_parse(text, &ip) || arm_is_service_tag(text);
}

struct value_check {
    const char *one, *many;
    bool is_port;
};

static bool check_value(struct arm_request *q, const char *rule, const struct value_check *c,
                        const char *text)
{
    if (c->is_port) {
        return port_range_is_valid(text) ||
               arm_refuse(q, 400, "SecurityRuleInvalidPortRange",
                          "Security rule %s has invalid Port range. Value provided: %s. Value "
                          "should be an integer OR integer range with '-' delimiter. Valid range "
                          "0-65535.",
                          rule, text);
    }
    return prefix_is_valid(text) || arm_refuse(q, 400, "SecurityRuleInvalidAddressPrefix",
                                               "Security rule %s has invalid Address prefix. Value "
                                               "provided: %s",
                                               rule, text);
}

/* --- lists of values -------------------------------------------------------------------------- */

static int compare_nets(const void *x, const void *y)
{
    const struct ip_net *a = x, *b = y;
    if (a->addr.len != b->addr.len) {
        return a->addr.len < b->addr.len ? -1 : 1;
    }
    int order = memcmp(a->addr.bytes, b->addr.bytes, a->addr.len);
    return order ? order : (a->prefix > b->prefix) - (a->prefix < b->prefix);
}

/* Sorted, what contains another stands right before it. */
static bool check_overlap(struct arm_request *q, const char *rule, const struct value_check *c,
                          struct json_object *many)
{
    size_t n = json_len(many);
    struct ip_net *nets = ARENA_ARRAY(q->a, struct ip_net, n);
    char one[IP_TEXT_MAX], other[IP_TEXT_MAX];
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(many, i));
        if (!ip_net_parse(text, &nets[i]) && ip_parse(text, &nets[i].addr)) {
            nets[i].prefix = (uint8_t)(nets[i].addr.len * 8);
        }
    }
    qsort(nets, n, sizeof(*nets), compare_nets);
    for (size_t i = 1; i < n; i++) {
        if (nets[i].addr.len == nets[i - 1].addr.len &&
            ip_net_contains(&nets[i - 1], &nets[i].addr)) {
            ip_net_format(&nets[i - 1], one);
            ip_net_format(&nets[i], other);
            return arm_refuse(q, 400, "OverlappingSubnetsNotPermittedInSecurityRule",
                              "Security rule parameter %s for rule %s cannot specify overlapping "
                              "subnets: %s, %s.",
                              c->many, rule, one, other);
        }
    }
    return true;
}

/* A list holds addresses and ranges; what stands for all of something stands alone. */
static bool check_list(struct arm_request *q, const char *rule, const struct value_check *c,
                       struct json_object *many)
{
    struct map *seen = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(many) && ok; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(many, i));
        bool plain = !str_eq(text, "*") && (c->is_port || strpbrk(text, "/:") ||
                                            strspn(text, "0123456789.") == strlen(text));
        if (!check_value(q, rule, c, text)) {
            ok = false;
        } else if (!plain) {
            ok = arm_refuse(q, 400, "SecurityRuleParameterContainsUnsupportedValue",
                            "Security rule parameter %s for rule %s cannot specify existing "
                            "VIRTUALNETWORK, INTERNET, AZURELOADBALANCER, '*' or system tags. "
                            "Unsupported value used: %s.",
                            c->many, rule, text);
        } else if (map_has(seen, str_lower(q->a, text))) {
            ok = arm_refuse(q, 400, "SecurityRuleDuplicateParameterValue",
                            "Security rule %s: %s is given twice in %s.", rule, text, c->many);
        }
        map_set(seen, str_lower(q->a, text), NULL);
    }
    map_free(seen);
    return ok && (c->is_port || check_overlap(q, rule, c, many));
}

/* --- one rule --------------------------------------------------------------------------------- */

/* Exactly one of a member and its plural; `optional`: security groups of applications may
 * stand for them. */
static bool check_pair(struct arm_request *q, const char *rule, struct json_object *p,
                       const struct value_check *c, bool optional, size_t *ret_n)
{
    const char *one = json_str(p, c->one);
    struct json_object *many = json_member(p, c->many);
    if (one && json_len(many)) {
        return arm_refuse(q, 400, "SecurityRuleParameterConflict",
                          "Security rule %s: only one of %s and %s may be given.", rule, c->one,
                          c->many);
    }
    if (optional && (one || json_len(many))) {
        return arm_refuse(q, 400, "SecurityRuleParameterConflict",
                          "Security rule %s: application security groups cannot be given together "
                          "with %s.",
                          rule, c->one);
    }
    if (str_is_empty(one) && json_len(many) == 0) {
        return optional ||
               arm_refuse(q, 400, "SecurityRuleParameterMissing",
                          "Security rule %s: one of %s and %s is required.", rule, c->one, c->many);
    }
    *ret_n += one ? 1 : json_len(many);
    if (json_len(many) && !check_list(q, rule, c, many)) {
        return false;
    }
    return !one || check_value(q, rule, c, one);
}

/* 4, 6, 0 for no address at all, -1 for both kinds. */
static int family_of(struct json_object *p, const char *one, const char *many)
{
    struct json_object *list = json_member(p, many);
    size_t n = json_len(list);
    int family = 0;
    for (size_t i = 0; i < (n ? n : 1); i++) {
        const char *text = n ? json_object_get_string(json_object_array_get_idx(list, i))
                             : str_nonnull(json_str(p, one));
        int this = strchr(text, ':')                                                   ? 6
                   : strchr(text, '.') && strspn(text, "0123456789./") == strlen(text) ? 4
                                                                                       : 0;
        family = family && this && family != this ? -1 : family ? family : this;
    }
    return family;
}

static bool check_families(struct arm_request *q, const char *rule, struct json_object *p)
{
    int source = family_of(p, "sourceAddressPrefix", "sourceAddressPrefixes");
    int destination = family_of(p, "destinationAddressPrefix", "destinationAddressPrefixes");
    bool fits =
        source >= 0 && destination >= 0 && (!source || !destination || source == destination);
    return fits || arm_refuse(q, 400, "SecurityRuleAddressPrefixFamilyMismatch",
                              "Security rule %s has IPv4 and IPv6 address prefixes; all of a rule "
                              "must be of one family.",
                              rule);
}

static bool check_rule(struct arm_request *q, struct json_object *rule, size_t *ret_sources,
                       size_t *ret_destinations)
{
    static const struct value_check checks[] = {
        {"sourcePortRange", "sourcePortRanges", true},
        {"destinationPortRange", "destinationPortRanges", true},
        {"sourceAddressPrefix", "sourceAddressPrefixes", false},
        {"destinationAddressPrefix", "destinationAddressPrefixes", false},
    };
    struct json_object *p = arm_properties(rule);
    const char *name = str_nonnull(json_str(rule, "name"));
    int64_t priority = json_int(p, "priority", 0);
    size_t ports = 0;
    size_t *counts[] = {&ports, &ports, ret_sources, ret_destinations};
    if (!arm_name_is_valid(name, 80)) {
        return arm_refuse(q, 400, "InvalidResourceName", "Resource name %s is invalid.", name);
    }
    if (strlen(str_nonnull(json_str(p, "description"))) > DESCRIPTION_MAX) {
        return arm_refuse(q, 400, "SecurityRuleDescriptionTooLong",
                          "Security rule %s: the description has more than %d characters.", name,
                          DESCRIPTION_MAX);
    }
    if (priority < 100 || priority > 4096) {
        return arm_refuse(q, 400, "SecurityRuleInvalidPriority",
                          "Security rule %s has invalid Priority. Value provided: %lld Allowed "
                          "range 100-4096.",
                          name, (long long)priority);
    }
    bool groups[] = {false, false, json_len(json_member(p, "sourceApplicationSecurityGroups")) > 0,
                     json_len(json_member(p, "destinationApplicationSecurityGroups")) > 0};
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (!check_pair(q, name, p, &checks[i], groups[i], counts[i])) {
            return false;
        }
    }
    return check_families(q, name, p);
}

/* --- the whole group -------------------------------------------------------------------------- */

static bool check_unique(struct arm_request *q, struct map *seen, const char *key, const char *name,
                         bool by_name)
{
    const char *other = map_get(seen, key);
    if (!other) {
        map_set(seen, key, (void *)name);
        return true;
    }
    if (by_name) {
        return arm_refuse(q, 400, "DuplicateResourceName",
                          "Resource %s has two child resources with the same name (%s).", q->id,
                          name);
    }
    return arm_refuse(
        q, 400, "SecurityRuleConflict",
        "Security rule %s conflicts with rule %s. Rules cannot have the same Priority "
        "and Direction.",
        name, other);
}

/* Code and text are Azure's (kubernetes-sigs/cloud-provider-azure issue 2725). */
static bool check_prefixes(struct arm_request *q, const char *which, size_t n)
{
    return n <= PREFIXES_MAX ||
           arm_refuse(q, 400, "SecurityRuleAddressesOrPortsPerSecurityGroupLimitReached",
                      "Network security group %s has %zu %s. A security group cannot have more "
                      "than %d %s as per the limit "
                      "MaxSecurityRuleAddressesOrPortsPerSecurityGroup.",
                      q->id, n, which, PREFIXES_MAX, which);
}

/* Code and text of the limit are Azure's (Azure/azure-rest-api-specs issue 3003). */
static bool check_rules(struct arm_request *q, struct json_object *rules, struct map *seen)
{
    size_t sources = 0, destinations = 0;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_object_array_get_idx(rules, i);
        struct json_object *p = arm_properties(rule);
        const char *name = str_nonnull(json_str(rule, "name"));
        const char *place = arena_printf(q->a, "%s %lld", str_nonnull(json_str(p, "direction")),
                                         (long long)json_int(p, "priority", 0));
        if (!check_rule(q, rule, &sources, &destinations) ||
            !check_unique(q, seen, arena_printf(q->a, "name %s", str_lower(q->a, name)), name,
                          true) ||
            !check_unique(q, seen, place, name, false)) {
            return false;
        }
    }
    int64_t limit = arm_limit(q->arm, "securityRules", RULES_MAX);
    if ((int64_t)json_len(rules) > limit) {
        return arm_refuse(q, 400, "SecurityRuleCountLimitReached",
                          "A security group cannot have more than %lld security rules.",
                          (long long)limit);
    }
    return check_prefixes(q, "SourceAddressPrefixes", sources) &&
           check_prefixes(q, "DestinationAddressPrefixes", destinations);
}

bool arm_nsg_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct map *seen = map_new(NULL);
    (void)old;
    arm_nsg_fill(body);
    bool ok = check_rules(q, json_path(body, "properties.securityRules"), seen);
    map_free(seen);
    return ok;
}

bool arm_nsg_remove(struct arm_request *q)
{
    static const char *const users[] = {"subnets", "networkInterfaces"};
    struct json_object *p = json_member(q->res->body, "properties");
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct json_object *list = json_member(p, users[i]);
        if (json_len(list)) {
            return arm_refuse(q, 400, "InUseNetworkSecurityGroupCannotBeDeleted",
                              "Network security group %s cannot be deleted because it is in use by "
                              "the following resources: %s.",
                              q->res->id, json_str(json_object_array_get_idx(list, 0), "id"));
        }
    }
    return true;
}
