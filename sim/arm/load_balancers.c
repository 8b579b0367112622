/* SPDX-License-Identifier: Apache-2.0 */
/* load_balancers.c: what a load balancer must be, its frontends' addresses, and its
 * back-references.
 *
 * Rules and probes are checked in balancer_rules.c, pools in pools.c.  A frontend has a public
 * address (which no other holds), a public prefix, or an address of a subnet; a dynamic one keeps
 * what it got as long as it stays in the subnet.
 * Source: docs/spec/azure.md §3.10, §6.3, §16 items 5 to 7 and 9. */
#include "sim/arm/arm.h"

#include <string.h>

#define FRONTENDS_STANDARD 600
#define FRONTENDS_BASIC    200

bool arm_lb_is_standard(struct json_object *body)
{
    return !str_eq_nocase(str_or(json_str(json_member(body, "sku"), "name"), "Basic"), "Basic");
}

/* --- children --------------------------------------------------------------------------------- */

static bool check_child_names(struct arm_request *q, struct json_object *items, const char *member)
{
    struct map *seen = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(items) && ok; i++) {
        const char *name = json_str(json_object_array_get_idx(items, i), "name");
        if (str_is_empty(name) || !arm_name_is_valid(name, 80)) {
            ok = arm_refuse(q, 400, "InvalidResourceName",
                            "Resource name %s is invalid. The name can be up to 80 characters "
                            "long. It must begin with a word character, and it must end with a "
                            "word character or with '_'. The name may contain word characters or "
                            "'.', '-', '_'.",
                            str_nonnull(name));
        } else if (map_has(seen, str_lower(q->a, name))) {
            ok = arm_refuse(q, 400, "DuplicateResourceName",
                            "Resource %s has two child resources with the same name (%s) in %s.",
                            q->id, name, member);
        }
        map_set(seen, str_lower(q->a, str_nonnull(name)), NULL);
    }
    map_free(seen);
    return ok;
}

static bool check_children(struct arm_request *q, struct json_object *p)
{
    for (const struct arm_child *c = q->kind->children; c->member; c++) {
        if (!check_child_names(q, json_member(p, c->member), c->member)) {
            return false;
        }
    }
    return true;
}

static bool check_sku(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    arm_sku_fill(body, str_or(json_str(json_member(old, "sku"), "name"), "Basic"));
    return !old || arm_lb_is_standard(old) == arm_lb_is_standard(body) ||
           arm_refuse(q, 400, "LoadBalancerSkuCannotBeChanged",
                      "The sku of load balancer %s cannot be changed from %s to %s.", q->id,
                      str_or(json_str(json_member(old, "sku"), "name"), "Basic"),
                      json_str(json_member(body, "sku"), "name"));
}

/* --- frontends with public addresses ---------------------------------------------------------- */

struct frontends {
    struct arm_request *q;
    struct json_object *old, *body;
    struct arm_links *links;
    struct map *used;      /* lower id of a public address → name of the frontend */
    struct map *addresses; /* private address → name of the frontend */
};

static bool check_provisioned(struct arm_request *q, const struct arm_resource *ip)
{
    const char *state =
        str_or(json_str(json_member(ip->body, "properties"), "provisioningState"), "Succeeded");
    state = ip->op ? "Updating" : state;
    return str_eq(state, "Succeeded") ||
           arm_refuse(q, ip->op ? 409 : 400, "ReferencedResourceNotProvisioned",
                      "Cannot proceed with operation because resource %s used by resource %s is "
                      "not in Succeeded state. Resource is in %s state and the last operation that "
                      "updated/is updating the resource is PutPublicIpAddressOperation.",
                      ip->id, q->id, state);
}

static bool check_public(struct frontends *f, const char *fip, const char *id)
{
    struct arm_request *q = f->q;
    const struct arm_resource *ip = arm_get(q->arm, id);
    const char *holder = arm_links_holder(f->links, id);
    const char *key = arm_id_key(q->a, id);
    if (!ip || !str_eq(json_str(ip->body, "location"), json_str(f->body, "location"))) {
        return arm_refuse_reference(q, id, fip);
    }
    if (map_has(f->used, key) || (holder && !arm_id_is_below(holder, q->id))) {
        return arm_refuse(q, 400, "PublicIPReferencedByMultipleIPConfigs",
                          "Public IP address %s is referenced by multiple ipconfigs: %s and %s.",
                          ip->id, fip,
                          map_has(f->used, key) ? (const char *)map_get(f->used, key) : holder);
    }
    map_set(f->used, key, (void *)fip);
    bool standard = str_eq(json_str(json_member(ip->body, "sku"), "name"), "Standard");
    if (standard != arm_lb_is_standard(f->body)) {
        return arm_refuse(q, 400, "PublicIPAndLBSkuDoNotMatch",
                          "%s sku load balancer %s cannot reference %s sku publicIP %s.",
                          arm_lb_is_standard(f->body) ? "Standard" : "Basic", q->id,
                          standard ? "Standard" : "Basic", ip->id);
    }
    return check_provisioned(q, ip);
}

/* --- frontends with private addresses --------------------------------------------------------- */

static bool is_ipv6(struct json_object *p)
{
    return str_eq(json_str(p, "privateIPAddressVersion"), "IPv6");
}

/* The address that this frontend has already, if it stays in its subnet. */
static const char *kept_address(struct frontends *f, const char *name, struct json_object *p)
{
    struct json_object *fips = json_path(f->old, "properties.frontendIPConfigurations");
    struct json_object *was = json_member(arm_find(f->q, fips, name), "properties");
    bool same =
        str_eq_nocase(arm_ref(was, "subnet"), arm_ref(p, "subnet")) && is_ipv6(was) == is_ipv6(p);
    return same ? json_str(was, "privateIPAddress") : NULL;
}

static bool check_private(struct frontends *f, const char *fip, const char *name,
                          struct json_object *p)
{
    struct arm_request *q = f->q;
    const char *subnet = arena_strdup(q->a, arm_ref(p, "subnet"));
    bool is_static = str_eq(json_str(p, "privateIPAllocationMethod"), "Static");
    if (!arm_subnet_exists(q, subnet, fip) ||
        !arm_check_region(q, arm_id_parent(q->a, subnet), json_str(f->body, "location"), fip)) {
        return false;
    }
    const char *address = is_static ? json_str(p, "privateIPAddress") : kept_address(f, name, p);
    if (is_static && !arm_check_static(q, p, fip)) {
        return false;
    }
    address = address ? arm_id_key(q->a, address) : NULL;
    while (!address) {
        address = arm_subnet_pick(q, subnet, is_ipv6(p));
        if (!address) {
            return arm_refuse(q, 400, "SubnetIsFull",
                              "Subnet %s does not have enough capacity for 1 IP addresses.",
                              subnet);
        }
    }
    if (map_has(f->addresses, address)) {
        return arm_refuse(q, 400, "PrivateIPAddressInUse",
                          "IP configuration %s is using the private IP address %s which is "
                          "already allocated to resource %s.",
                          fip, address, (const char *)map_get(f->addresses, address));
    }
    map_set(f->addresses, address, (void *)fip);
    json_add_str(p, "privateIPAddress", address);
    json_add_str(p, "privateIPAllocationMethod", is_static ? "Static" : "Dynamic");
    if (!json_str(p, "privateIPAddressVersion")) {
        json_add_str(p, "privateIPAddressVersion", "IPv4");
    }
    json_add(p, "subnet", arm_sub_resource(arm_get(q->arm, subnet)->id));
    return !is_static || arm_subnet_check(q, subnet, address, fip);
}

static bool check_zones(struct frontends *f, const char *fip, const char *name,
                        struct json_object *o)
{
    struct json_object *fips = json_path(f->old, "properties.frontendIPConfigurations");
    struct json_object *was = arm_find(f->q, fips, name);
    struct json_object *now = json_member(o, "zones"), *then = json_member(was, "zones");
    if (json_len(now) && !arm_lb_is_standard(f->body)) {
        return arm_refuse(f->q, 400, "SkuNotSupportedInAvailabilityZone",
                          "Frontend IP configuration %s: zones need a Standard load balancer.",
                          fip);
    }
    if (json_len(now) && arm_ref(json_member(o, "properties"), "publicIPAddress")) {
        return arm_refuse(f->q, 400, "FrontendIPConfigurationWithPublicIPCannotHaveZones",
                          "Frontend IP configuration %s references a public IP address: its zones "
                          "are those of the address.",
                          fip);
    }
    if (!arm_check_zones(f->q, now, fip, json_str(f->body, "location"))) {
        return false;
    }
    bool same = json_len(now) == json_len(then);
    for (size_t i = 0; i < json_len(now) && same; i++) {
        same = json_equal(json_object_array_get_idx(now, i), json_object_array_get_idx(then, i));
    }
    return !was || same ||
           arm_refuse(f->q, 400, "ResourceAvailabilityZonesCannotBeModified",
                      "Resource %s has an existing availability zone constraint and the request "
                      "has another one. Zones cannot be added/updated/removed once the resource is "
                      "created.",
                      fip);
}

static bool check_frontend(struct frontends *f, struct json_object *o)
{
    struct arm_request *q = f->q;
    const char *name = json_str(o, "name");
    const char *fip = arena_printf(q->a, "%s/frontendIPConfigurations/%s", q->id, name);
    struct json_object *p = arm_properties(o);
    /* Copies: the members that they come from are replaced. */
    const char *public = arena_strdup(q->a, arm_ref(p, "publicIPAddress"));
    const char *subnet = arena_strdup(q->a, arm_ref(p, "subnet"));
    int sources = !!public + !!subnet + !!arm_ref(p, "publicIPPrefix");
    if (sources != 1) {
        return arm_refuse(q, 400, "LoadBalancerFrontendIPConfigurationInvalid",
                          "Frontend IP configuration %s must reference exactly one of a subnet, a "
                          "public IP address and a public IP prefix.",
                          fip);
    }
    if (!check_zones(f, fip, name, o)) {
        return false;
    }
    if (public) {
        json_add(p, "publicIPAddress", arm_sub_resource(public));
        json_add_str(p, "privateIPAllocationMethod", "Dynamic");
        return check_public(f, fip, public);
    }
    if (!subnet) {
        const char *prefix = arm_ref(p, "publicIPPrefix");
        return arm_get(q->arm, prefix) || arm_refuse_reference(q, prefix, fip);
    }
    return check_private(f, fip, name, p);
}

/* Static addresses first, so that a dynamic one does not take what the same request asks for. */
static bool check_frontends(struct frontends *f)
{
    struct json_object *fips = json_path(f->body, "properties.frontendIPConfigurations");
    size_t limit =
        (size_t)arm_limit(f->q->arm, "frontendIPConfigurations",
                          arm_lb_is_standard(f->body) ? FRONTENDS_STANDARD : FRONTENDS_BASIC);
    size_t n = json_len(fips), n_private = 0;
    if (n > limit) {
        return arm_refuse(f->q, 400, "LoadBalancerFrontendIPConfigurationCountLimitReached",
                          "A load balancer cannot have more than %zu FrontendIPConfigurations.",
                          limit); /* as Azure says it: colemickens/azure-kubernetes-status, 6 */
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            struct json_object *o = json_object_array_get_idx(fips, i);
            struct json_object *p = json_member(o, "properties");
            bool is_static = str_eq(json_str(p, "privateIPAllocationMethod"), "Static") ||
                             kept_address(f, json_str(o, "name"), p) != NULL;
            n_private += pass == 0 && arm_ref(p, "subnet") != NULL;
            if (is_static == (pass == 0) && !check_frontend(f, o)) {
                return false;
            }
        }
    }
    return n_private == 0 || n_private == n ||
           arm_refuse(
               f->q, 400, "LoadBalancerFrontendIPConfigurationInvalid",
               "Load balancer %s has public and private frontend IP configurations; all must "
               "be of one kind.",
               f->q->id);
}

/* The family of a frontend: of its address, its prefix, or as it says. */
static bool is_ipv6_frontend(struct arm_request *q, struct json_object *p)
{
    const char *ip = arm_ref(p, "publicIPAddress"), *prefix = arm_ref(p, "publicIPPrefix");
    const struct arm_resource *res = arm_get(q->arm, ip ? ip : prefix);
    const char *version =
        res ? json_str(json_member(res->body, "properties"), "publicIPAddressVersion") : NULL;
    return ip || prefix ? str_eq_nocase(version, "IPv6") : is_ipv6(p);
}

/* Azure refuses a balancer whose frontends are all of IPv6. */
static bool check_families(struct arm_request *q, struct json_object *p)
{
    struct json_object *fips = json_member(p, "frontendIPConfigurations");
    size_t n = json_len(fips), n_ipv6 = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(fips, i);
        n_ipv6 += is_ipv6_frontend(q, json_member(o, "properties"));
    }
    return n_ipv6 == 0 || n_ipv6 < n ||
           arm_refuse(q, 400, "AtleastOneIpV4RequiredForIpV6LbFrontendIpConfiguration",
                      "At least one IPv4 frontend ipConfiguration is required for an IPv6 frontend "
                      "ipConfiguration on the load balancer '%s'",
                      q->id);
}

/* A frontend goes: no private link service may stand on it any more. */
static bool check_gone(struct arm_request *q, struct json_object *old, struct json_object *p)
{
    struct json_object *was = json_path(old, "properties.frontendIPConfigurations");
    for (size_t i = 0; i < json_len(was); i++) {
        const char *name = json_str(json_object_array_get_idx(was, i), "name");
        if (arm_find(q, json_member(p, "frontendIPConfigurations"), name)) {
            continue;
        }
        const char *fip = arena_printf(q->a, "%s/frontendIPConfigurations/%s", q->res->id, name);
        const char *link = arm_pls_of_frontend(q, fip);
        if (link) {
            return arm_refuse(
                q, 400, "LoadBalancerFrontendIPConfigurationInUseByPrivateLinkService",
                "Frontend IP configuration %s cannot be deleted since it is in use by "
                "private link service %s.",
                fip, link);
        }
    }
    return true;
}

bool arm_lb_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    struct frontends f = {.q = q, .old = old, .body = body};
    if (!check_sku(q, old, body) || !check_children(q, p) || !check_gone(q, old, p)) {
        return false;
    }
    f.links = arm_links_new(q->arm);
    f.used = map_new(NULL);
    f.addresses = map_new(NULL);
    bool ok = check_frontends(&f);
    arm_links_free(f.links);
    map_free(f.used);
    map_free(f.addresses);
    return ok && check_families(q, p) && arm_lb_check_pools(q, old, body) &&
           arm_lb_check_rules(q, body);
}

/* --- deleting --------------------------------------------------------------------------------- */

static bool uses_balancer(struct json_object *pools, const char *balancer)
{
    for (size_t i = 0; i < json_len(pools); i++) {
        const char *id = json_str(json_object_array_get_idx(pools, i), "id");
        if (id && arm_id_is_below(id, balancer)) {
            return true;
        }
    }
    return false;
}

struct user {
    struct arm *arm;
    const char *balancer;
    const struct arm_resource *found;
    struct arena *a;
};

static bool find_model(struct arm_resource *res, void *arg)
{
    struct user *u = arg;
    struct json_object *nics =
        json_path(res->body,
                  "properties.virtualMachineProfile.networkProfile.networkInterfaceConfigurations");
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *configs =
            json_path(json_object_array_get_idx(nics, i), "properties.ipConfigurations");
        for (size_t k = 0; k < json_len(configs); k++) {
            struct json_object *p =
                json_member(json_object_array_get_idx(configs, k), "properties");
            if (uses_balancer(json_member(p, "loadBalancerBackendAddressPools"), u->balancer)) {
                u->found = res;
            }
        }
    }
    return !u->found;
}

static bool find_member(const struct arm_ip_config *c, void *arg)
{
    struct user *u = arg;
    bool in_set = strstr(c->owner->id, "/virtualMachineScaleSets/") != NULL;
    if (in_set &&
        uses_balancer(json_member(c->properties, "loadBalancerBackendAddressPools"), u->balancer)) {
        u->found = c->owner;
    }
    return !u->found;
}

static bool find_link(struct arm_resource *res, void *arg)
{
    struct user *u = arg;
    struct json_object *fips =
        json_path(res->body, "properties.loadBalancerFrontendIpConfigurations");
    u->found = uses_balancer(fips, u->balancer) ? res : u->found;
    return !u->found;
}

/* Pools of a balancer that goes are left by ordinary NICs, as the cloud does it. */
static bool leave_pools(const struct arm_ip_config *c, void *arg)
{
    struct user *u = arg;
    struct json_object *pools = json_member(c->properties, "loadBalancerBackendAddressPools");
    for (size_t i = json_len(pools); i > 0; i--) {
        const char *id = json_str(json_object_array_get_idx(pools, i - 1), "id");
        if (id && arm_id_is_below(id, u->balancer)) {
            json_object_array_del_idx(pools, i - 1, 1);
            arm_touch(u->arm, c->owner->id);
        }
    }
    return true;
}

bool arm_lb_remove(struct arm_request *q)
{
    struct user u = {.arm = q->arm, .balancer = q->res->id, .a = q->a};
    arm_each(q->arm, "Microsoft.Compute/virtualMachineScaleSets", find_model, &u);
    if (!u.found) {
        arm_each_ip_config(q->arm, q->a, find_member, &u);
    }
    if (u.found) {
        const char *set = strstr(u.found->id, "/virtualMachines/")
                              ? arm_id_parent(q->a, u.found->id)
                              : u.found->id;
        return arm_refuse(q, 400, "LoadBalancerInUseByVirtualMachineScaleSet",
                          "Cannot delete load balancer %s since its child resources are in use by "
                          "virtual machine scale set %s.",
                          q->res->id, set);
    }
    arm_each(q->arm, "Microsoft.Network/privateLinkServices", find_link, &u);
    if (u.found) {
        return arm_refuse(q, 400, "LoadBalancerInUseByPrivateLinkService",
                          "Cannot delete load balancer %s since it is in use by private link "
                          "service %s.",
                          q->res->id, u.found->id);
    }
    arm_each_ip_config(q->arm, q->a, leave_pools, &u);
    return true;
}

/* --- back-references -------------------------------------------------------------------------- */

struct back {
    struct arena *a;
    struct map *lists; /* lower id of a child + " member" → array */
};

static void put_json(void *o)
{
    json_object_put(o);
}

static void add_back(struct back *b, const char *target, const char *member, const char *id)
{
    if (!target) {
        return;
    }
    char *key = arena_printf(b->a, "%s %s", arm_id_key(b->a, target), member);
    struct json_object *list = map_get(b->lists, key);
    if (!list) {
        list = json_object_new_array();
        map_set(b->lists, key, list);
    }
    json_object_array_add(list, arm_sub_resource(id));
}

static void collect(struct back *b, const char *id, struct json_object *p, const char *member)
{
    struct json_object *items = json_member(p, member);
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        struct json_object *r = json_member(o, "properties");
        const char *self =
            arena_printf(b->a, "%s/%s/%s", id, member, str_nonnull(json_str(o, "name")));
        struct json_object *many = json_member(r, "frontendIPConfigurations");
        add_back(b, arm_ref(r, "frontendIPConfiguration"), member, self);
        add_back(b, arm_ref(r, "backendAddressPool"), member, self);
        add_back(b, arm_ref(r, "probe"), member, self);
        for (size_t k = 0; k < json_len(many); k++) {
            add_back(b, json_str(json_object_array_get_idx(many, k), "id"), member, self);
        }
    }
}

static void set_back(struct back *b, const char *self, struct json_object *p, const char *member)
{
    struct json_object *list =
        map_get(b->lists, arena_printf(b->a, "%s %s", arm_id_key(b->a, self), member));
    if (list) {
        json_add(p, member, json_copy(list));
    } else {
        json_object_object_del(p, member);
    }
}

/* Members of a pool: a member by its NIC is in both lists, as in ARM. */
static void set_members(struct back *b, const struct arm_links *l, const char *self,
                        struct json_object *p)
{
    struct json_object *members = arm_links_members(l, self);
    struct json_object *addresses = json_member(p, "loadBalancerBackendAddresses");
    if (!addresses) {
        addresses = json_object_new_array();
        json_add(p, "loadBalancerBackendAddresses", addresses);
    }
    for (size_t i = json_len(addresses); i > 0; i--) {
        struct json_object *o = json_object_array_get_idx(addresses, i - 1);
        struct json_object *inner = json_member(o, "properties");
        if (!json_str(inner, "ipAddress") &&
            !arm_ref(inner, "loadBalancerFrontendIPConfiguration")) {
            json_object_array_del_idx(addresses, i - 1, 1);
        }
    }
    for (size_t i = 0; i < json_len(members); i++) {
        const char *id = json_str(json_object_array_get_idx(members, i), "id");
        struct json_object *o = json_object_new_object(), *inner = json_object_new_object();
        json_add_str(
            o, "name",
            arena_printf(b->a, "%s_%s", arm_id_name(arm_id_parent(b->a, id)), arm_id_name(id)));
        json_add(inner, "networkInterfaceIPConfiguration", arm_sub_resource(id));
        json_add(o, "properties", inner);
        json_object_array_add(addresses, o);
    }
    if (json_len(members)) {
        json_add(p, "backendIPConfigurations", json_copy(members));
    } else {
        json_object_object_del(p, "backendIPConfigurations");
    }
}

void arm_lb_derive(struct arm *arm, const struct arm_links *l, const char *id,
                   struct json_object *body)
{
    static const char *const users[] = {"loadBalancingRules", "inboundNatRules", "inboundNatPools",
                                        "outboundRules"};
    static const char *const used[] = {"frontendIPConfigurations", "backendAddressPools", "probes"};
    struct back b = {.a = arena_new(), .lists = map_new(put_json)};
    struct json_object *p = arm_properties(body);
    (void)arm;
    arm_lb_fill(body);
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        collect(&b, id, p, users[i]);
    }
    for (size_t u = 0; u < ARRAY_LEN(used); u++) {
        struct json_object *items = json_member(p, used[u]);
        for (size_t i = 0; i < json_len(items); i++) {
            struct json_object *o = json_object_array_get_idx(items, i);
            const char *self =
                arena_printf(b.a, "%s/%s/%s", id, used[u], str_nonnull(json_str(o, "name")));
            struct json_object *inner = arm_properties(o);
            set_back(&b, self, inner, "loadBalancingRules");
            if (!str_eq(used[u], "probes")) {
                set_back(&b, self, inner, "outboundRules");
                set_back(&b, self, inner, "inboundNatRules");
            }
            if (str_eq(used[u], "frontendIPConfigurations")) {
                set_back(&b, self, inner, "inboundNatPools");
            }
            if (str_eq(used[u], "backendAddressPools")) {
                set_members(&b, l, self, inner);
            }
        }
    }
    map_free(b.lists);
    arena_free(b.a);
}
