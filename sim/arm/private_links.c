/* SPDX-License-Identifier: Apache-2.0 */
/* private_links.c: private link services and the connections to them.
 *
 * A service stands on frontends of a Standard load balancer and takes addresses of a subnet whose
 * policies for private links are off.  Making or deleting one changes the balancer's etag.  It
 * cannot go while there are connections.
 * Source: docs/spec/azure.md §3.4, §10.6. */
#include "sim/arm/arm.h"

#include <string.h>

#define CONFIGS_MAX 8

/* --- frontends -------------------------------------------------------------------------------- */

struct owner {
    const char *fip, *self;
    const char *found;
};

static bool find_owner(struct arm_resource *res, void *arg)
{
    struct owner *o = arg;
    struct json_object *fips =
        json_path(res->body, "properties.loadBalancerFrontendIpConfigurations");
    for (size_t i = 0; i < json_len(fips); i++) {
        if (str_eq_nocase(json_str(json_object_array_get_idx(fips, i), "id"), o->fip) &&
            !str_eq_nocase(res->id, o->self)) {
            o->found = res->id;
        }
    }
    return !o->found;
}

static bool check_frontend(struct arm_request *q, const char *id)
{
    struct arm_resource *lb = arm_get(q->arm, arm_id_parent(q->a, id));
    struct json_object *fips =
        lb ? json_path(lb->body, "properties.frontendIPConfigurations") : NULL;
    if (!arm_named(fips, arm_id_name(id), NULL)) {
        return arm_refuse_reference(q, id, q->id);
    }
    if (!arm_lb_is_standard(lb->body)) {
        return arm_refuse(q, 400, "PrivateLinkServiceRequiresStandardLoadBalancer",
                          "Private link service %s needs a Standard load balancer, %s is Basic.",
                          q->id, lb->id);
    }
    struct owner o = {.fip = id, .self = q->id};
    arm_each(q->arm, "Microsoft.Network/privateLinkServices", find_owner, &o);
    return !o.found ||
           arm_refuse(q, 400, "LoadBalancerFrontendIPConfigurationInUseByPrivateLinkService",
                      "Frontend IP configuration %s is in use by private link service %s.", id,
                      o.found);
}

const char *arm_pls_of_frontend(struct arm_request *q, const char *fip)
{
    struct owner o = {.fip = fip, .self = ""};
    arm_each(q->arm, "Microsoft.Network/privateLinkServices", find_owner, &o);
    return o.found;
}

/* --- addresses -------------------------------------------------------------------------------- */

static bool check_config(struct arm_request *q, struct json_object *old, struct json_object *o)
{
    struct json_object *p = arm_properties(o);
    const char *name = str_nonnull(json_str(o, "name")), *subnet = arm_ref(p, "subnet");
    const char *self = arena_printf(q->a, "%s/ipConfigurations/%s", q->id, name);
    struct json_object *was = json_member(
        arm_named(json_path(old, "properties.ipConfigurations"), name, NULL), "properties");
    bool is_static = str_eq(json_str(p, "privateIPAllocationMethod"), "Static");
    if (!arm_name_is_valid(name, 80) || !subnet) {
        return arm_refuse(q, 400, "InvalidResourceName",
                          "IP configuration %s has no valid name or no subnet.", self);
    }
    if (!arm_subnet_exists(q, subnet, self)) {
        return false;
    }
    struct json_object *place = json_member(arm_get(q->arm, subnet)->body, "properties");
    if (!str_eq(json_str(place, "privateLinkServiceNetworkPolicies"), "Disabled")) {
        return arm_refuse(q, 400,
                          "PrivateLinkServiceCannotBeCreatedInSubnetThatHasNetworkPoliciesEnabled",
                          "Private link service %s cannot be created in a subnet %s since it has "
                          "private link service network policies enabled.",
                          q->id, subnet);
    }
    const char *address =
        is_static ? json_str(p, "privateIPAddress") : json_str(was, "privateIPAddress");
    address = address ? address : arm_subnet_pick(q, subnet, false);
    json_add_str(p, "privateIPAddress", arena_strdup(q->a, str_nonnull(address)));
    json_add_str(p, "privateIPAllocationMethod", is_static ? "Static" : "Dynamic");
    if (!json_str(p, "privateIPAddressVersion")) {
        json_add_str(p, "privateIPAddressVersion", "IPv4");
    }
    return !is_static || arm_subnet_check(q, subnet, json_str(p, "privateIPAddress"), self);
}

bool arm_pls_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    struct json_object *fips = json_member(p, "loadBalancerFrontendIpConfigurations");
    struct json_object *configs = json_member(p, "ipConfigurations");
    if (json_len(fips) == 0 || json_len(configs) == 0 || json_len(configs) > CONFIGS_MAX) {
        return arm_refuse(q, 400, "PrivateLinkServiceInvalidConfiguration",
                          "Private link service %s needs a load balancer frontend and 1 to %d IP "
                          "configurations.",
                          q->id, CONFIGS_MAX);
    }
    for (size_t i = 0; i < json_len(fips); i++) {
        const char *id = json_str(json_object_array_get_idx(fips, i), "id");
        if (!check_frontend(q, str_nonnull(id))) {
            return false;
        }
    }
    for (size_t i = 0; i < json_len(configs); i++) {
        if (!check_config(q, old, json_object_array_get_idx(configs, i))) {
            return false;
        }
    }
    if (!json_str(p, "alias")) {
        json_add_str(p, "alias",
                     arena_printf(q->a, "%s.%s.%s.azure.privatelinkservice", q->name,
                                  arm_uuid(q->arm, q->a), json_str(body, "location")));
    }
    return true;
}

static void touch_balancers(struct arm *arm, struct json_object *body)
{
    struct arena *a = arena_new();
    struct json_object *fips = json_path(body, "properties.loadBalancerFrontendIpConfigurations");
    for (size_t i = 0; i < json_len(fips); i++) {
        const char *id = str_nonnull(json_str(json_object_array_get_idx(fips, i), "id"));
        arm_touch(arm, arm_id_parent(a, id));
    }
    arena_free(a);
}

void arm_pls_after(struct arm_request *q, struct json_object *old, struct arm_resource *res)
{
    if (!old) {
        touch_balancers(q->arm, res->body);
    }
}

bool arm_pls_remove(struct arm_request *q)
{
    struct json_object *list = json_path(q->res->body, "properties.privateEndpointConnections");
    if (json_len(list)) {
        return arm_refuse(q, 400, "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
                          "Private link service %s cannot be deleted: it has %zu private endpoint "
                          "connections.",
                          q->res->id, json_len(list));
    }
    touch_balancers(q->arm, q->res->body);
    return true;
}

/* --- connections ------------------------------------------------------------------------------ */

bool arm_pls_connection(struct arm_request *q)
{
    bool is_list = str_has_prefix(q->verb, "List");
    const char *id = arm_id_parent(q->a, is_list ? arena_printf(q->a, "%s/x", q->id) : q->id);
    struct arm_resource *pls = arm_get(q->arm, id);
    struct json_object *list =
        pls ? json_path(pls->body, "properties.privateEndpointConnections") : NULL;
    size_t at = 0;
    if (!pls) {
        return arm_refuse(q, 404, "ResourceNotFound", "The Resource '%s' was not found.", id);
    }
    if (is_list) {
        return arm_answer_page(q, json_copy(list));
    }
    struct json_object *found = arm_named(list, q->name, &at);
    if (!found && str_eq(q->op->method, "DELETE")) {
        q->status = 204;
        return true;
    }
    if (!found) {
        return arm_refuse(q, 404, "NotFound", "Resource %s not found.", q->id);
    }
    struct json_object *body = json_copy(pls->body);
    list = json_path(body, "properties.privateEndpointConnections");
    if (str_eq(q->op->method, "DELETE")) {
        json_object_array_del_idx(list, at, 1);
    } else if (str_eq(q->op->method, "PUT")) {
        struct json_object *state =
            json_path(q->body, "properties.privateLinkServiceConnectionState");
        struct json_object *p = arm_properties(json_object_array_get_idx(list, at));
        if (state) {
            json_add(p, "privateLinkServiceConnectionState", json_copy(state));
        }
    }
    pls = arm_commit(q->arm, pls->id, body, NULL);
    if (!str_eq(q->op->method, "DELETE")) {
        list = json_path(pls->body, "properties.privateEndpointConnections");
        q->answer = json_copy(arm_named(list, q->name, NULL));
    }
    return true;
}
