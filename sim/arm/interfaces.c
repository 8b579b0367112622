/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.c: network interfaces, and the walk over the IP configurations of all machines.
 *
 * Membership in a backend pool stands in the machine's document: in its NIC, or, for an instance of
 * a scale set, in the instance.  The instance's NIC is a view of that.  Source: docs/spec/azure.md
 * §7.2, §7.3, §16 item 9. */
#include "sim/arm/arm.h"

#include <string.h>

/* --- the walk --------------------------------------------------------------------------------- */

struct walk {
    struct arm *arm;
    struct arena *a;
    bool (*fn)(const struct arm_ip_config *c, void *arg);
    void *arg;
    bool stopped;
};

static void each_config(struct walk *w, struct arm_resource *owner, const char *nic,
                        struct json_object *configs)
{
    for (size_t i = 0; i < json_len(configs) && !w->stopped; i++) {
        struct json_object *o = json_object_array_get_idx(configs, i);
        struct arm_ip_config c = {
            .id =
                arena_printf(w->a, "%s/ipConfigurations/%s", nic, str_nonnull(json_str(o, "name"))),
            .nic = nic,
            .owner = owner,
            .properties = arm_properties(o),
        };
        w->stopped = !w->fn(&c, w->arg);
    }
}

static bool walk_nic(struct arm_resource *res, void *arg)
{
    struct walk *w = arg;
    each_config(w, res, res->id, json_path(res->body, "properties.ipConfigurations"));
    return !w->stopped;
}

static bool walk_instance(struct arm_resource *res, void *arg)
{
    struct walk *w = arg;
    struct json_object *nics = json_path(
        res->body, "properties.networkProfileConfiguration.networkInterfaceConfigurations");
    for (size_t i = 0; i < json_len(nics) && !w->stopped; i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        each_config(w, res,
                    arena_printf(w->a, "%s/networkInterfaces/%s", res->id,
                                 str_nonnull(json_str(nic, "name"))),
                    json_path(nic, "properties.ipConfigurations"));
    }
    return !w->stopped;
}

void arm_each_ip_config(struct arm *arm, struct arena *a,
                        bool (*fn)(const struct arm_ip_config *c, void *arg), void *arg)
{
    struct walk w = {.arm = arm, .a = a, .fn = fn, .arg = arg};
    arm_each(arm, "Microsoft.Network/networkInterfaces", walk_nic, &w);
    if (!w.stopped) {
        arm_each(arm, "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", walk_instance,
                 &w);
    }
}

void arm_each_config_of(struct arm *arm, struct arena *a, struct arm_resource *owner,
                        bool (*fn)(const struct arm_ip_config *c, void *arg), void *arg)
{
    struct walk w = {.arm = arm, .a = a, .fn = fn, .arg = arg};
    if (owner->kind && str_eq(owner->kind->ops, "Interfaces")) {
        walk_nic(owner, &w);
    } else {
        walk_instance(owner, &w);
    }
}

const char *arm_machine_address(struct arm *arm, struct arena *a, const struct arm_ip_config *c)
{
    const char *address = json_str(c->properties, "privateIPAddress");
    return address ? address : map_get(arm->addresses, arm_id_key(a, c->id));
}

/* --- pools that a machine wants to be in ------------------------------------------------------ */

static const char *set_of_machine(struct arm_request *q, const char *machine)
{
    struct arm_resource *vm = arm_get(q->arm, machine);
    const char *set = vm ? arm_ref(json_member(vm->body, "properties"), "availabilitySet") : NULL;
    return set ? arm_id_key(q->a, set) : "";
}

struct neighbours {
    struct arm_request *q;
    const char *pool, *set, *self;
    const char *other;
};

static bool find_stranger(const struct arm_ip_config *c, void *arg)
{
    struct neighbours *n = arg;
    struct json_object *pools = json_member(c->properties, "loadBalancerBackendAddressPools");
    const char *machine = arm_ref(json_member(c->owner->body, "properties"), "virtualMachine");
    for (size_t i = 0; i < json_len(pools) && !n->other; i++) {
        const char *id = json_str(json_object_array_get_idx(pools, i), "id");
        if (str_eq_nocase(id, n->pool) && !str_eq_nocase(c->owner->id, n->self) && machine &&
            !str_eq(set_of_machine(n->q, machine), n->set)) {
            n->other = c->owner->id;
        }
    }
    return !n->other;
}

/* A Basic balancer serves one availability set. */
static bool check_set(struct arm_request *q, const char *pool, const char *by)
{
    const char *machine =
        q->res ? arm_ref(json_member(q->res->body, "properties"), "virtualMachine") : NULL;
    if (!machine) {
        return true;
    }
    struct neighbours n = {.q = q, .pool = pool, .set = set_of_machine(q, machine), .self = q->id};
    arm_each_ip_config(q->arm, q->a, find_stranger, &n);
    return !n.other ||
           arm_refuse(q, 400, "NetworkInterfaceAndLoadBalancerAreInDifferentAvailabilitySets",
                      "Network interface %s uses load balancer pool %s which is used by "
                      "%s of another availability set.",
                      by, pool, n.other);
}

static bool holds_addresses(struct json_object *pool)
{
    struct json_object *list = json_path(pool, "properties.loadBalancerBackendAddresses");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *p = json_member(json_object_array_get_idx(list, i), "properties");
        if (json_str(p, "ipAddress")) {
            return true;
        }
    }
    return false;
}

/* A machine is behind one public and one internal balancer at most. */
static bool check_kinds(struct arm_request *q, struct json_object *pools, const char *by)
{
    const struct arm_resource *seen[2] = {NULL, NULL};
    for (size_t i = 0; i < json_len(pools); i++) {
        const char *id = str_nonnull(json_str(json_object_array_get_idx(pools, i), "id"));
        const struct arm_resource *lb = arm_get(q->arm, arm_id_parent(q->a, id));
        struct json_object *fips =
            lb ? json_path(lb->body, "properties.frontendIPConfigurations") : NULL;
        if (json_len(fips) == 0) {
            continue;
        }
        struct json_object *p = json_member(json_object_array_get_idx(fips, 0), "properties");
        int kind = arm_ref(p, "subnet") != NULL;
        if (seen[kind] && seen[kind] != lb) {
            return arm_refuse(
                q, 400, "NetworkInterfaceInMultipleLoadBalancersOfSameType",
                "IP configuration %s references pools of the %s load balancers %s and "
                "%s; only one of each type is allowed.",
                by, kind ? "internal" : "public", seen[kind]->id, lb->id);
        }
        seen[kind] = lb;
    }
    return true;
}

bool arm_check_pools_of(struct arm_request *q, struct json_object *properties, const char *by)
{
    struct json_object *pools = json_member(properties, "loadBalancerBackendAddressPools");
    const char *sku = NULL;
    for (size_t i = 0; i < json_len(pools); i++) {
        const char *id = str_nonnull(json_str(json_object_array_get_idx(pools, i), "id"));
        struct arm_resource *lb = arm_get(q->arm, arm_id_parent(q->a, id));
        struct json_object *list =
            lb ? json_path(lb->body, "properties.backendAddressPools") : NULL;
        struct json_object *pool = arm_named(list, arm_id_name(id), NULL);
        if (!pool || !strstr(arm_id_key(q->a, id), "/backendaddresspools/")) {
            return arm_refuse_reference(q, id, by);
        }
        if (!arm_check_region(q, lb->id, json_str(q->body, "location"), by) ||
            !arm_check_rules_per_nic(q, id)) {
            return false;
        }
        const char *now = arm_lb_is_standard(lb->body) ? "Standard" : "Basic";
        if (sku && !str_eq(sku, now)) {
            return arm_refuse(
                q, 400, "DifferentSkuLoadBalancersAndPublicIPAddressNotAllowedInVM",
                "Different basic sku and standard sku load balancer resources are not "
                "allowed for %s.",
                by);
        }
        sku = now;
        if (holds_addresses(pool)) {
            return arm_refuse(q, 400, "BackendPoolMixedIPAndNic",
                              "Backend address pool %s has backend addresses; IP configuration %s "
                              "cannot be added to it.",
                              id, by);
        }
        if (str_eq(now, "Basic") && q->kind && str_eq(q->kind->ops, "Interfaces") &&
            !check_set(q, id, by)) {
            return false;
        }
    }
    return check_kinds(q, pools, by);
}

/* --- NICs ------------------------------------------------------------------------------------- */

/* A public address exists and has no other holder. */
static bool check_public(struct arm_request *q, const char *public, const char *by)
{
    const struct arm_resource *ip = arm_get(q->arm, public);
    const char *holder =
        ip ? arm_ref(json_member(ip->body, "properties"), "ipConfiguration") : NULL;
    if (!ip) {
        return arm_refuse_reference(q, public, by);
    }
    return !holder || str_eq_nocase(holder, by) ||
           arm_refuse(q, 400, "PublicIPReferencedByMultipleIPConfigs",
                      "Public IP address %s is referenced by multiple ipconfigs: %s and %s.",
                      ip->id, by, holder);
}

/* The configurations of one interface: each name and each address once, one primary. */
static bool check_together(struct arm_request *q, struct json_object *configs)
{
    struct map *seen = map_new(NULL);
    size_t primaries = 0;
    bool ok = true;
    for (size_t i = 0; i < json_len(configs) && ok; i++) {
        struct json_object *o = json_object_array_get_idx(configs, i);
        struct json_object *p = json_member(o, "properties");
        const char *name = str_lower(q->a, str_nonnull(json_str(o, "name")));
        const char *address = str_nonnull(json_str(p, "privateIPAddress"));
        primaries += json_bool(p, "primary", false);
        if (map_has(seen, name)) {
            ok = arm_refuse(q, 400, "DuplicateResourceName",
                            "Resource %s has two child resources with the same name (%s).", q->id,
                            name);
        } else if (map_has(seen, address)) {
            ok = arm_refuse(q, 400, "PrivateIPAddressInUse",
                            "Two IP configurations of %s use the private IP address %s.", q->id,
                            address);
        }
        map_set(seen, name, NULL);
        map_set(seen, address, NULL);
    }
    map_free(seen);
    return ok && (primaries == 1 ||
                  arm_refuse(q, 400, "NetworkInterfaceMustHaveOnePrimaryIpConfiguration",
                             "Network interface %s must have exactly one primary IP configuration, "
                             "not %zu.",
                             q->id, primaries));
}

static bool put_config(struct arm_request *q, struct json_object *old, struct json_object *o)
{
    const char *name = str_nonnull(json_str(o, "name"));
    const char *self = arena_printf(q->a, "%s/ipConfigurations/%s", q->id, name);
    struct json_object *p = arm_properties(o);
    const char *subnet = arm_ref(p, "subnet"), *public = arm_ref(p, "publicIPAddress");
    struct json_object *was = json_member(
        arm_named(json_path(old, "properties.ipConfigurations"), name, NULL), "properties");
    bool is_static = str_eq(json_str(p, "privateIPAllocationMethod"), "Static");
    if (!arm_name_is_valid(name, 80)) {
        return arm_refuse(q, 400, "InvalidResourceName", "Resource name %s is invalid.", name);
    }
    if (!subnet) {
        return arm_refuse(q, 400, "NicIPConfigurationMissingSubnet",
                          "IP configuration %s has no subnet.", self);
    }
    if (!arm_subnet_exists(q, subnet, self) || !arm_check_pools_of(q, p, self)) {
        return false;
    }
    if (!arm_check_region(q, arm_id_parent(q->a, subnet), json_str(q->body, "location"), self) ||
        (public && !check_public(q, public, self)) ||
        (is_static && !arm_check_static(q, p, self))) {
        return false;
    }
    if (!json_str(p, "privateIPAddressVersion")) {
        json_add_str(p, "privateIPAddressVersion", "IPv4");
    }
    bool ipv6 = str_eq(json_str(p, "privateIPAddressVersion"), "IPv6");
    bool stays = str_eq_nocase(arm_ref(was, "subnet"), subnet) &&
                 str_eq(json_str(was, "privateIPAddressVersion"), ipv6 ? "IPv6" : "IPv4");
    const char *address = is_static ? json_str(p, "privateIPAddress")
                          : stays   ? json_str(was, "privateIPAddress")
                                    : NULL;
    address = address ? address : arm_subnet_pick(q, subnet, ipv6);
    if (!address) {
        return arm_refuse(q, 400, "SubnetIsFull",
                          "Subnet %s does not have enough capacity for 1 IP addresses.", subnet);
    }
    json_add_str(p, "privateIPAddress", arena_strdup(q->a, address));
    json_add_str(p, "privateIPAllocationMethod", is_static ? "Static" : "Dynamic");
    return !is_static || arm_subnet_check(q, subnet, json_str(p, "privateIPAddress"), self);
}

bool arm_nic_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *configs = json_path(body, "properties.ipConfigurations");
    if (json_len(configs) == 0) {
        return arm_refuse(q, 400, "NetworkInterfaceMustHaveAtleastOneIpConfiguration",
                          "Network interface %s must have at least one IP configuration.", q->id);
    }
    bool any_primary = false;
    for (size_t i = 0; i < json_len(configs); i++) {
        struct json_object *p = arm_properties(json_object_array_get_idx(configs, i));
        any_primary = any_primary || json_bool(p, "primary", false);
    }
    for (size_t i = 0; i < json_len(configs); i++) {
        struct json_object *o = json_object_array_get_idx(configs, i);
        if (!json_member(arm_properties(o), "primary")) {
            json_add_bool(arm_properties(o), "primary", i == 0 && !any_primary);
        }
        if (!put_config(q, old, o)) {
            return false;
        }
    }
    if (!check_together(q, configs)) {
        return false;
    }
    const char *nsg = arm_ref(arm_properties(body), "networkSecurityGroup");
    return !nsg || arm_get(q->arm, nsg) || arm_refuse_reference(q, nsg, q->id);
}

bool arm_nic_remove(struct arm_request *q)
{
    const char *machine = arm_ref(json_member(q->res->body, "properties"), "virtualMachine");
    return !machine ||
           arm_refuse(q, 400, "NicInUse",
                      "Network Interface %s is used by existing resource %s. In order to "
                      "delete the network interface, it must be dissociated from the "
                      "resource.",
                      q->res->id, machine);
}
