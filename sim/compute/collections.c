/* SPDX-License-Identifier: Apache-2.0 */
/* collections.c: what is served, as tables: a row per collection and scope, a row per action.
 *
 * The generic verbs (write.c, read.c) are steered by these rows; a function on a row holds what no
 * table can say.  Members, types, enumerations and patterns come from the schema pack, not from
 * here.
 * Source: compute v1; gce-cloud-provider.md §16; gce-l4.md §9. */
#include "sim/compute/compute.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct reference address_refs[] = {
    {"subnetwork", "subnetworks", true}, {"network", "networks", true}, {NULL}};
static const struct reference rule_refs[] = {{"target", "targetPools", true},
                                             {"backendService", "backendServices", true},
                                             {"subnetwork", "subnetworks", true},
                                             {"network", "networks", true},
                                             {NULL}};
/* Their targets, proxies, are not served here; global_rules.c looks at the links. */
static const struct reference global_rule_refs[] = {{"network", "networks", true}, {NULL}};
static const struct reference pool_refs[] = {{"healthChecks[]", "httpHealthChecks", true},
                                             {"instances[]", "instances", true},
                                             {"backupPool", "targetPools", true},
                                             {NULL}};
static const struct reference backend_refs[] = {
    {"healthChecks[]", "healthChecks", true},
    {"backends[].group", "instanceGroups networkEndpointGroups", true},
    {"network", "networks", true},
    {NULL}};
static const struct reference network_ref[] = {{"network", "networks", true}, {NULL}};
static const struct reference neg_refs[] = {
    {"subnetwork", "subnetworks", true}, {"network", "networks", true}, {NULL}};

#define LISTS(kind) kind, kind "List", kind "AggregatedList"

const struct collection compute_collections[] = {
    {"addresses", SCOPE_REGION, LISTS("compute#address"), "address", .references = address_refs,
     .quota = "STATIC_ADDRESSES", .insert = ce_address_insert, .remove = ce_address_remove,
     .after = ce_address_after},
    {"addresses", SCOPE_GLOBAL, LISTS("compute#address"), "address", .references = address_refs,
     .insert = ce_global_address_insert, .remove = ce_address_remove, .after = ce_address_after},
    {"forwardingRules", SCOPE_REGION, LISTS("compute#forwardingRule"), "forwarding_rule",
     .references = rule_refs, .quota = "FORWARDING_RULES", .fingerprint = true,
     .insert = ce_rule_insert, .change = ce_rule_change, .after = ce_rule_after},
    {"forwardingRules", SCOPE_GLOBAL, LISTS("compute#forwardingRule"), "forwarding_rule",
     .references = global_rule_refs, .quota = "FORWARDING_RULES", .fingerprint = true,
     .insert = ce_global_rule_insert, .change = ce_rule_change, .after = ce_rule_after},
    {"targetPools", SCOPE_REGION, LISTS("compute#targetPool"), "target_pool",
     .references = pool_refs, .quota = "TARGET_POOLS", .defaults = "{\"sessionAffinity\":\"NONE\"}",
     .insert = ce_pool_insert},
    {"backendServices", SCOPE_REGION, LISTS("compute#backendService"), "backend_service",
     .references = backend_refs, .immutable = NAMES("loadBalancingScheme", "network"),
     .quota = "BACKEND_SERVICES", .fingerprint = true, .insert = ce_backend_insert,
     .change = ce_backend_change},
    /* Only listed: nothing makes global ones here. */
    {"backendServices", SCOPE_GLOBAL, LISTS("compute#backendService"), "backend_service"},
    {"healthChecks", SCOPE_GLOBAL, "compute#healthCheck", "compute#healthCheckList",
     "compute#healthChecksAggregatedList", "health_check", .required = NAMES("type"),
     .quota = "HEALTH_CHECKS", .insert = ce_check_insert, .change = ce_check_change},
    {"healthChecks", SCOPE_REGION, "compute#healthCheck", "compute#healthCheckList",
     "compute#healthChecksAggregatedList", "health_check", .required = NAMES("type"),
     .quota = "HEALTH_CHECKS", .insert = ce_check_insert, .change = ce_check_change},
    {"httpHealthChecks", SCOPE_GLOBAL, LISTS("compute#httpHealthCheck"), "http_health_check",
     .quota = "HEALTH_CHECKS", .insert = ce_check_insert, .change = ce_check_change,
     .defaults = "{\"requestPath\":\"/\"}"},
    {"firewalls", SCOPE_GLOBAL, LISTS("compute#firewall"), "firewall", .references = network_ref,
     .immutable = NAMES("network", "direction"), .quota = "FIREWALLS", .insert = ce_firewall_insert,
     .change = ce_firewall_change,
     .defaults = "{\"priority\":1000,\"direction\":\"INGRESS\",\"disabled\":false,"
                 "\"logConfig\":{\"enable\":false}}"},
    {"instanceGroups", SCOPE_ZONE, LISTS("compute#instanceGroup"), "instance_group",
     .references = neg_refs, .quota = "INSTANCE_GROUPS", .fingerprint = true, .has_members = true,
     .insert = ce_group_insert},
    {"networkEndpointGroups", SCOPE_ZONE, LISTS("compute#networkEndpointGroup"),
     "network_endpoint_group", .references = neg_refs, .quota = "NETWORK_ENDPOINT_GROUPS",
     .required = NAMES("networkEndpointType"), .has_members = true, .insert = ce_neg_insert},
    {"routes", SCOPE_GLOBAL, LISTS("compute#route"), "route", .references = network_ref,
     .quota = "ROUTES", .insert = ce_route_insert},
    {"instances", SCOPE_ZONE, LISTS("compute#instance"), "instance"},
    {"networks", SCOPE_GLOBAL, LISTS("compute#network"), "network"},
    {"subnetworks", SCOPE_REGION, LISTS("compute#subnetwork"), "subnetwork",
     .references = network_ref},
    {"regions", SCOPE_GLOBAL, LISTS("compute#region"), "region"},
    {"zones", SCOPE_GLOBAL, LISTS("compute#zone"), "zone"},
    {NULL},
};

const struct action compute_actions[] = {
    {"forwardingRules", "setTarget", ce_rule_set_target},
    {"targetPools", "addInstance", ce_pool_add_instance},
    {"targetPools", "removeInstance", ce_pool_remove_instance},
    {"targetPools", "addHealthCheck", ce_pool_add_health_check},
    {"targetPools", "removeHealthCheck", ce_pool_remove_health_check},
    {"targetPools", "getHealth", ce_pool_get_health},
    {"backendServices", "getHealth", ce_backend_get_health},
    {"instanceGroups", "addInstances", ce_group_add_instances},
    {"instanceGroups", "removeInstances", ce_group_remove_instances},
    {"instanceGroups", "listInstances", ce_group_list_instances},
    {"instanceGroups", "setNamedPorts", ce_group_set_named_ports},
    {"networkEndpointGroups", "attachNetworkEndpoints", ce_neg_attach},
    {"networkEndpointGroups", "detachNetworkEndpoints", ce_neg_detach},
    {"networkEndpointGroups", "listNetworkEndpoints", ce_neg_list},
    {"operations", "aggregatedList", ce_operations_aggregated},
    {NULL},
};

const struct collection *ce_collection_find(const char *name, enum scope scope)
{
    for (const struct collection *c = compute_collections; c->name; c++) {
        if (str_eq(c->name, name) && (c->scope == scope || scope == SCOPE_AGGREGATED)) {
            return c;
        }
    }
    return NULL;
}
