/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c: backend pools of load balancers, as part of the balancer and as resources of their own.
 *
 * A pool lives in its balancer's document: a PUT of the pool is a PUT of the balancer with this
 * pool changed, and gives both the new etag (docs/spec/azure.md §3.4).  A pool holds NICs or
 * addresses, never both.
 * Source: docs/spec/azure.md §7.5, §7.6. */
#include "sim/arm/arm.h"

#include <string.h>

static struct json_object *pools_of(struct json_object *lb)
{
    return json_path(lb, "properties.backendAddressPools");
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool in_network(struct arm_request *q, const char *vnet, const struct ip_addr *ip)
{
    struct json_object *spaces =
        json_path(arm_get(q->arm, vnet)->body, "properties.addressSpace.addressPrefixes");
    bool found = json_len(spaces) == 0;
    for (size_t i = 0; i < json_len(spaces) && !found; i++) {
        struct ip_net net;
        const char *text = json_object_get_string(json_object_array_get_idx(spaces, i));
        found = ip_net_parse(str_nonnull(text), &net) && ip_net_contains(&net, ip);
    }
    return found;
}

static bool check_address(struct arm_request *q, const char *pool, struct json_object *p,
                          struct json_object *address)
{
    struct json_object *inner = json_member(address, "properties");
    const char *ip = json_str(inner, "ipAddress");
    const char *vnet = arm_ref(inner, "virtualNetwork");
    const char *subnet = arm_ref(inner, "subnet");
    struct ip_addr parsed;
    if (!ip) {
        return true; /* a NIC's entry as it was read: derived again */
    }
    vnet = vnet ? vnet : arm_ref(p, "virtualNetwork");
    if (str_is_empty(json_str(address, "name"))) {
        return arm_refuse(q, 400, "LoadBalancerBackendAddressNameMissing",
                          "A backend address of pool %s has no name.", pool);
    }
    if (!ip_parse(ip, &parsed)) {
        return arm_refuse(q, 400, "InvalidIPAddressFormat",
                          "IP address %s of backend address pool %s is invalid.", ip, pool);
    }
    if (!vnet && !subnet) {
        return arm_refuse(q, 400, "LoadBalancerBackendAddressMissingVirtualNetwork",
                          "Backend address %s of pool %s has neither a virtual network nor a "
                          "subnet.",
                          json_str(address, "name"), pool);
    }
    const char *place = subnet ? subnet : vnet;
    if (!arm_get(q->arm, place)) {
        return arm_refuse_reference(q, place, pool);
    }
    return subnet || in_network(q, vnet, &parsed) ||
           arm_refuse(
               q, 400, "LoadBalancerBackendAddressNotInVirtualNetwork",
               "Backend address %s of pool %s is not in the address space of virtual network "
               "%s.",
               ip, pool, vnet);
}

/* Names and addresses are there once; *ret_n counts addresses. */
static bool check_addresses(struct arm_request *q, const char *pool, struct json_object *p,
                            size_t *ret_n)
{
    struct json_object *addresses = json_member(p, "loadBalancerBackendAddresses");
    struct map *seen = map_new(NULL);
    bool ok = true;
    *ret_n = 0;
    for (size_t i = 0; i < json_len(addresses) && ok; i++) {
        struct json_object *o = json_object_array_get_idx(addresses, i);
        const char *ip = json_str(json_member(o, "properties"), "ipAddress");
        const char *name = str_nonnull(json_str(o, "name"));
        ok = check_address(q, pool, p, o);
        if (!ip || !ok) {
            continue;
        }
        (*ret_n)++;
        const char *keys[] = {arena_printf(q->a, "ip %s", ip),
                              arena_printf(q->a, "name %s", str_lower(q->a, name))};
        for (size_t k = 0; k < ARRAY_LEN(keys) && ok; k++) {
            ok = !map_has(seen, keys[k]) ||
                 arm_refuse(q, 400, "DuplicateBackendAddress",
                            "Backend address pool %s has the backend address %s (%s) twice.", pool,
                            name, ip);
            map_set(seen, keys[k], NULL);
        }
    }
    map_free(seen);
    return ok;
}

/* How many rules of the balancer lead to this pool, against what one interface in it may carry (a
 * limit that is only in force when the settings name it: clusters beyond it exist).  The text is
 * Azure's (MicrosoftDocs/azure-docs issue 47423), its code is not known. */
static bool check_rules_of(struct arm_request *q, struct json_object *lb, const char *pool)
{
    int64_t limit = arm_limit(q->arm, "rulesPerNetworkInterface", INT64_MAX), n = 0;
    struct json_object *rules = json_path(lb, "properties.loadBalancingRules");
    for (size_t i = 0; limit < INT64_MAX && i < json_len(rules); i++) {
        struct json_object *p = json_member(json_object_array_get_idx(rules, i), "properties");
        n += str_eq_nocase(arm_ref(p, "backendAddressPool"), pool);
    }
    return n <= limit ||
           arm_refuse(
               q, 400, "LoadBalancingRulesPerNetworkInterfaceLimitReached",
               "IpConfiguration of backend address pool %s cannot have more than %lld NAT or load "
               "balancing rules combined.",
               pool, (long long)limit);
}

bool arm_check_rules_per_nic(struct arm_request *q, const char *pool)
{
    const struct arm_resource *lb = arm_get(q->arm, arm_id_parent(q->a, pool));
    return !lb || check_rules_of(q, lb->body, pool);
}

static bool check_pool(struct arm_request *q, const struct arm_links *l, bool standard,
                       const char *lb, struct json_object *o)
{
    const char *pool = arena_printf(q->a, "%s/backendAddressPools/%s", lb, json_str(o, "name"));
    struct json_object *p = arm_properties(o);
    const char *vnet = arm_ref(p, "virtualNetwork");
    size_t n = 0;
    if (vnet && !arm_get(q->arm, vnet)) {
        return arm_refuse_reference(q, vnet, pool);
    }
    if (!check_addresses(q, pool, p, &n)) {
        return false;
    }
    if (n > 0 && !standard) {
        return arm_refuse(q, 400, "IPBasedBackendPoolNotSupportedForBasicLoadBalancer",
                          "Backend address pool %s: backend addresses need a Standard load "
                          "balancer.",
                          pool);
    }
    return n == 0 || json_len(arm_links_members(l, pool)) == 0 ||
           arm_refuse(q, 400, "BackendPoolMixedIPAndNic",
                      "Backend address pool %s has network interfaces; backend addresses cannot be "
                      "added to it.",
                      pool);
}

/* A pool is deleted: it must not have members any more. */
static bool check_gone(struct arm_request *q, const struct arm_links *l, const char *lb,
                       struct json_object *old, struct json_object *body)
{
    struct json_object *was = pools_of(old);
    for (size_t i = 0; i < json_len(was); i++) {
        const char *name = json_str(json_object_array_get_idx(was, i), "name");
        const char *pool = arena_printf(q->a, "%s/backendAddressPools/%s", lb, name);
        struct json_object *members = arm_links_members(l, pool);
        if (arm_named(pools_of(body), name, NULL)) {
            continue;
        }
        if (arm_links_model(l, pool)) {
            return arm_refuse(q, 400, "InUseBackendAddressPoolCannotBeDeleted",
                              "Cannot remove backend address pool %s from load balancer since it "
                              "is in use by virtual machine scale set %s.",
                              name, arm_links_model(l, pool));
        }
        if (json_len(members) > 0) {
            return arm_refuse(q, 400, "InUseBackendAddressPoolCannotBeDeleted",
                              "Backend address pool %s cannot be deleted because it is in use by "
                              "%s.",
                              pool, json_str(json_object_array_get_idx(members, 0), "id"));
        }
    }
    return true;
}

bool arm_lb_check_pools(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct arm_links *l = arm_links_new(q->arm);
    const char *lb = strstr(q->op->id, "Pools.") ? arm_id_parent(q->a, q->id) : q->id;
    struct json_object *pools = pools_of(body);
    bool ok = check_gone(q, l, lb, old, body);
    for (size_t i = 0; i < json_len(pools) && ok; i++) {
        struct json_object *o = json_object_array_get_idx(pools, i);
        const char *pool = arena_printf(q->a, "%s/backendAddressPools/%s", lb, json_str(o, "name"));
        ok = check_pool(q, l, arm_lb_is_standard(body), lb, o) &&
             (json_len(arm_links_members(l, pool)) == 0 || check_rules_of(q, body, pool));
    }
    arm_links_free(l);
    return ok;
}

/* --- pools as resources ----------------------------------------------------------------------- */

static struct arm_resource *balancer_of(struct arm_request *q)
{
    return arm_get(q->arm, arm_id_parent(q->a, q->id));
}

static struct json_object *find_pool(struct arm_request *q, struct json_object *lb)
{
    return arm_named(pools_of(lb), q->name, NULL);
}

static bool refuse_parent(struct arm_request *q, const char *verb)
{
    return arm_refuse(q, 404, "ParentResourceNotFound",
                      "Failed to perform '%s' on resource(s) of type "
                      "'loadBalancers/backendAddressPools', because the parent resource '%s' could "
                      "not be found.",
                      verb, arm_id_parent(q->a, q->id));
}

bool arm_pool_get(struct arm_request *q)
{
    struct arm_resource *lb = balancer_of(q);
    if (!lb) {
        return refuse_parent(q, "read");
    }
    arm_operations_look(lb);
    struct json_object *view = arm_view(lb);
    struct json_object *pool = find_pool(q, view);
    q->answer = pool ? json_object_get(pool) : NULL;
    json_object_put(view);
    return pool || arm_refuse(q, 404, "NotFound", "Resource %s not found.", q->id);
}

bool arm_pool_list(struct arm_request *q)
{
    struct arm_resource *lb =
        arm_get(q->arm, arm_id_parent(q->a, arena_printf(q->a, "%s/x", q->id)));
    if (!lb) {
        return refuse_parent(q, "read");
    }
    struct json_object *view = arm_view(lb);
    struct json_object *items = json_copy(pools_of(view));
    json_object_put(view);
    return arm_answer_page(q, items);
}

/* Stores the balancer with its pools changed (taken over). */
static bool put_balancer(struct arm_request *q, struct arm_resource *lb, struct json_object *body)
{
    const struct arm_kind *kind = q->kind;
    q->kind = lb->kind;
    bool ok = arm_lb_check_pools(q, lb->body, body);
    q->kind = kind;
    if (!ok) {
        json_object_put(body);
        return false;
    }
    q->target = arm_commit(q->arm, lb->id, body, "Succeeded");
    arm_settle(q->arm);
    return true;
}

bool arm_pool_put(struct arm_request *q)
{
    struct arm_resource *lb = balancer_of(q);
    if (!lb) {
        return refuse_parent(q, "write");
    }
    struct json_object *was = find_pool(q, lb->body);
    if (!arm_check_name(q, was != NULL) || !arm_check_etag(q, json_str(was, "etag")) ||
        !arm_operations_admit(q, lb)) {
        return false;
    }
    struct json_object *body = json_copy(lb->body), *pool = json_copy(q->body);
    struct json_object *pools = pools_of(body);
    size_t at = json_len(pools);
    q->created = !arm_named(pools, q->name, &at);
    json_add_str(pool, "name", q->created ? q->name : json_str(was, "name"));
    json_object_array_put_idx(pools, at, pool);
    if (!put_balancer(q, lb, body)) {
        return false;
    }
    q->answer = json_copy(find_pool(q, q->target->body));
    return true;
}

static bool is_used(struct json_object *pool)
{
    struct json_object *p = json_member(pool, "properties");
    return json_len(json_member(p, "loadBalancingRules")) ||
           json_len(json_member(p, "outboundRules")) || json_len(json_member(p, "inboundNatRules"));
}

bool arm_pool_delete(struct arm_request *q)
{
    struct arm_resource *lb = balancer_of(q);
    struct json_object *was = lb ? find_pool(q, lb->body) : NULL;
    size_t at = 0;
    if (!was) {
        q->status = 204;
        return true;
    }
    if (!arm_check_etag(q, json_str(was, "etag")) || !arm_operations_admit(q, lb)) {
        return false;
    }
    if (is_used(was)) {
        return arm_refuse(q, 400, "InUseBackendAddressPoolCannotBeDeleted",
                          "Backend address pool %s cannot be deleted because it is in use by rules "
                          "of its load balancer.",
                          q->id);
    }
    struct json_object *body = json_copy(lb->body);
    (void)arm_named(pools_of(body), q->name, &at);
    json_object_array_del_idx(pools_of(body), at, 1);
    return put_balancer(q, lb, body);
}

/* --- from NICs to addresses ------------------------------------------------------------------- */

struct migration {
    struct arm_request *q;
    const char *pool;
    struct json_object *addresses;
    const char *vnet;
};

static bool migrate_config(const struct arm_ip_config *c, void *arg)
{
    struct migration *m = arg;
    struct arena *a = m->q->a;
    struct json_object *pools = json_member(c->properties, "loadBalancerBackendAddressPools");
    for (size_t i = json_len(pools); i > 0; i--) {
        if (!str_eq_nocase(json_str(json_object_array_get_idx(pools, i - 1), "id"), m->pool)) {
            continue;
        }
        struct json_object *o = json_object_new_object(), *p = json_object_new_object();
        json_add_str(p, "ipAddress", arm_machine_address(m->q->arm, a, c));
        json_add_str(o, "name",
                     arena_printf(a, "%s_%s", arm_id_name(c->owner->id), arm_id_name(c->nic)));
        json_add(o, "properties", p);
        json_object_array_add(m->addresses, o);
        json_object_array_del_idx(pools, i - 1, 1);
        const char *subnet = arm_ref(c->properties, "subnet");
        m->vnet = subnet ? arm_id_parent(a, subnet) : m->vnet;
        arm_touch(m->q->arm, c->owner->id);
    }
    return true;
}

bool arm_lb_migrate(struct arm_request *q)
{
    const char *lb_id = arena_strndup(q->a, q->id, strlen(q->id) - strlen("/migrateToIpBased"));
    struct arm_resource *lb = arm_get(q->arm, lb_id);
    if (!lb) {
        return arm_refuse(q, 404, "ResourceNotFound", "The Resource '%s' was not found.", lb_id);
    }
    if (!arm_operations_admit(q, lb)) {
        return false;
    }
    struct json_object *names = json_member(q->body, "pools"), *done = json_object_new_array();
    struct json_object *body = json_copy(lb->body);
    for (size_t i = 0; i < json_len(pools_of(body)); i++) {
        struct json_object *pool = json_object_array_get_idx(pools_of(body), i);
        const char *name = json_str(pool, "name");
        bool wanted = json_len(names) == 0;
        for (size_t k = 0; k < json_len(names); k++) {
            wanted =
                wanted ||
                str_eq_nocase(json_object_get_string(json_object_array_get_idx(names, k)), name);
        }
        struct migration m = {.q = q,
                              .pool = arena_printf(q->a, "%s/backendAddressPools/%s", lb->id, name),
                              .addresses = json_object_new_array()};
        if (wanted) {
            arm_each_ip_config(q->arm, q->a, migrate_config, &m);
        }
        if (json_len(m.addresses) == 0) {
            json_object_put(m.addresses);
            continue;
        }
        json_add(arm_properties(pool), "loadBalancerBackendAddresses", m.addresses);
        if (m.vnet) {
            json_add(arm_properties(pool), "virtualNetwork", arm_sub_resource(m.vnet));
        }
        json_push_str(done, name);
    }
    (void)arm_commit(q->arm, lb->id, body, NULL);
    arm_settle(q->arm);
    q->answer = json_object_new_object();
    json_add(q->answer, "migratedPools", done);
    return true;
}
