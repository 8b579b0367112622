/* SPDX-License-Identifier: Apache-2.0 */
/* derive.c: members that the cloud computes from other documents: members of a pool, holders of a
 * public address.
 *
 * An index of all references is built once per write; from it and from the document itself every
 * back-reference is recreated, so that none can be forgotten.  Source: docs/spec/azure.md §3.10
 * (read-only back-references), §16 items 5, 6, 9. */
#include "sim/arm/arm.h"

#include <string.h>

struct arm_links {
    struct arena *a;
    struct map *pools;      /* lower pool id → array of {"id": IP configuration} */
    struct map *holders;    /* lower public address id → id of the IP configuration */
    struct map *nics;       /* lower NIC id → id of its machine */
    struct map *groups;     /* lower security group id → array of {"id": subnet} */
    struct map *sets;       /* lower availability set id → array of {"id": machine} */
    struct map *group_nics; /* lower security group id → array of {"id": NIC} */
    struct map *models;     /* lower pool id → id of a scale set whose model names it */
};

static void put_json(void *o)
{
    json_object_put(o);
}

static struct json_object *list_of(struct map *m, struct arena *a, const char *id)
{
    char *key = arm_id_key(a, id);
    struct json_object *list = map_get(m, key);
    if (!list) {
        list = json_object_new_array();
        map_set(m, key, list);
    }
    return list;
}

static void push_ref(struct map *m, struct arena *a, const char *id, const char *ref)
{
    if (id) {
        json_object_array_add(list_of(m, a, id), arm_sub_resource(ref));
    }
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool collect_config(const struct arm_ip_config *c, void *arg)
{
    struct arm_links *l = arg;
    struct json_object *pools = json_member(c->properties, "loadBalancerBackendAddressPools");
    for (size_t i = 0; i < json_len(pools); i++) {
        push_ref(l->pools, l->a, json_str(json_object_array_get_idx(pools, i), "id"), c->id);
    }
    const char *ip = arm_ref(c->properties, "publicIPAddress");
    if (ip) {
        map_set(l->holders, arm_id_key(l->a, ip), arena_strdup(l->a, c->id));
    }
    return true;
}

static bool collect_balancer(struct arm_resource *res, void *arg)
{
    struct arm_links *l = arg;
    struct json_object *fips = json_path(res->body, "properties.frontendIPConfigurations");
    for (size_t i = 0; i < json_len(fips); i++) {
        struct json_object *fip = json_object_array_get_idx(fips, i);
        const char *ip = arm_ref(json_member(fip, "properties"), "publicIPAddress");
        if (ip) {
            map_set(l->holders, arm_id_key(l->a, ip),
                    arena_printf(l->a, "%s/frontendIPConfigurations/%s", res->id,
                                 str_nonnull(json_str(fip, "name"))));
        }
    }
    return true;
}

static bool collect_machine(struct arm_resource *res, void *arg)
{
    struct arm_links *l = arg;
    struct json_object *nics = json_path(res->body, "properties.networkProfile.networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        const char *id = json_str(json_object_array_get_idx(nics, i), "id");
        if (id) {
            map_set(l->nics, arm_id_key(l->a, id), res->id);
        }
    }
    push_ref(l->sets, l->a, arm_ref(json_member(res->body, "properties"), "availabilitySet"),
             res->id);
    return true;
}

static bool collect_subnet(struct arm_resource *res, void *arg)
{
    struct arm_links *l = arg;
    push_ref(l->groups, l->a, arm_ref(json_member(res->body, "properties"), "networkSecurityGroup"),
             res->id);
    return true;
}

static bool collect_nic(struct arm_resource *res, void *arg)
{
    struct arm_links *l = arg;
    push_ref(l->group_nics, l->a,
             arm_ref(json_member(res->body, "properties"), "networkSecurityGroup"), res->id);
    return true;
}

static bool collect_model(struct arm_resource *res, void *arg)
{
    struct arm_links *l = arg;
    struct json_object *nics =
        json_path(res->body,
                  "properties.virtualMachineProfile.networkProfile.networkInterfaceConfigurations");
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *configs =
            json_path(json_object_array_get_idx(nics, i), "properties.ipConfigurations");
        for (size_t k = 0; k < json_len(configs); k++) {
            struct json_object *pools = json_path(json_object_array_get_idx(configs, k),
                                                  "properties.loadBalancerBackendAddressPools");
            for (size_t m = 0; m < json_len(pools); m++) {
                const char *id = json_str(json_object_array_get_idx(pools, m), "id");
                map_set(l->models, arm_id_key(l->a, str_nonnull(id)), res->id);
            }
        }
    }
    return true;
}

struct arm_links *arm_links_new(struct arm *arm)
{
    struct arm_links *l = xcalloc(1, sizeof(*l));
    l->a = arena_new();
    l->pools = map_new(put_json);
    l->holders = map_new(NULL);
    l->nics = map_new(NULL);
    l->groups = map_new(put_json);
    l->sets = map_new(put_json);
    l->group_nics = map_new(put_json);
    l->models = map_new(NULL);
    arm_each_ip_config(arm, l->a, collect_config, l);
    arm_each(arm, "Microsoft.Network/loadBalancers", collect_balancer, l);
    arm_each(arm, "Microsoft.Compute/virtualMachines", collect_machine, l);
    arm_each(arm, "Microsoft.Network/virtualNetworks/subnets", collect_subnet, l);
    arm_each(arm, "Microsoft.Network/networkInterfaces", collect_nic, l);
    arm_each(arm, "Microsoft.Compute/virtualMachineScaleSets", collect_model, l);
    return l;
}

void arm_links_free(struct arm_links *l)
{
    map_free(l->pools);
    map_free(l->holders);
    map_free(l->nics);
    map_free(l->groups);
    map_free(l->sets);
    map_free(l->group_nics);
    map_free(l->models);
    arena_free(l->a);
    free(l);
}

const char *arm_links_holder(const struct arm_links *l, const char *public_ip)
{
    return map_get(l->holders, arm_id_key(l->a, public_ip));
}

struct json_object *arm_links_members(const struct arm_links *l, const char *pool)
{
    return map_get(l->pools, arm_id_key(l->a, pool));
}

const char *arm_links_model(const struct arm_links *l, const char *pool)
{
    return map_get(l->models, arm_id_key(l->a, pool));
}

/* --- deriving --------------------------------------------------------------------------------- */

/* Sets `member` to a copy of the list for `id`, or removes it when there is none. */
static void set_list(const struct arm_links *l, const struct map *m, const char *id,
                     struct json_object *properties, const char *member)
{
    struct json_object *list = map_get(m, arm_id_key(l->a, id));
    if (list) {
        json_add(properties, member, json_copy(list));
    } else {
        json_object_object_del(properties, member);
    }
}

static void derive_public_ip(const struct arm_links *l, const char *id, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    const char *holder = arm_links_holder(l, id);
    arm_sku_fill(body, "Basic");
    if (holder) {
        json_add(p, "ipConfiguration", arm_sub_resource(holder));
    } else {
        json_object_object_del(p, "ipConfiguration");
    }
}

static void derive_nic(struct arm *arm, const struct arm_links *l, const char *id,
                       struct json_object *p)
{
    const char *machine = map_get(l->nics, arm_id_key(l->a, id));
    (void)arm;
    if (machine) {
        json_add(p, "virtualMachine", arm_sub_resource(machine));
    } else {
        json_object_object_del(p, "virtualMachine");
    }
}

/* --- is it derived already? ------------------------------------------------------------------- */

static bool same_list(const struct arm_links *l, const struct map *m, const char *id,
                      struct json_object *properties, const char *member)
{
    struct json_object *list = map_get(m, arm_id_key(l->a, id));
    struct json_object *have = json_member(properties, member);
    return json_len(list) == json_len(have) && (!list || json_equal(list, have));
}

static bool same_members(const struct arm_links *l, const char *id, struct json_object *p)
{
    struct json_object *pools = json_member(p, "backendAddressPools");
    for (size_t i = 0; i < json_len(pools); i++) {
        struct json_object *o = json_object_array_get_idx(pools, i);
        const char *pool =
            arena_printf(l->a, "%s/backendAddressPools/%s", id, str_nonnull(json_str(o, "name")));
        if (!same_list(l, l->pools, pool, json_member(o, "properties"),
                       "backendIPConfigurations")) {
            return false;
        }
    }
    return true;
}

bool arm_is_derived(const struct arm_links *l, const struct arm_resource *res)
{
    struct json_object *p = json_member(res->body, "properties");
    const char *key = arm_id_key(l->a, res->id);
    if (str_eq(res->kind->ops, "LoadBalancers")) {
        return same_members(l, res->id, p);
    }
    if (str_eq(res->kind->ops, "PublicIPAddresses")) {
        return str_eq(map_get(l->holders, key), arm_ref(p, "ipConfiguration"));
    }
    if (str_eq(res->kind->ops, "Interfaces")) {
        return str_eq(map_get(l->nics, key), arm_ref(p, "virtualMachine"));
    }
    if (str_eq(res->kind->ops, "SecurityGroups")) {
        return same_list(l, l->groups, res->id, p, "subnets") &&
               same_list(l, l->group_nics, res->id, p, "networkInterfaces");
    }
    return same_list(l, l->sets, res->id, p, "virtualMachines");
}

void arm_derive(struct arm *arm, const struct arm_links *l, const struct arm_kind *kind,
                const char *id, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    if (str_eq(kind->ops, "LoadBalancers")) {
        arm_lb_derive(arm, l, id, body);
    } else if (str_eq(kind->ops, "PublicIPAddresses")) {
        derive_public_ip(l, id, body);
    } else if (str_eq(kind->ops, "Interfaces")) {
        derive_nic(arm, l, id, p);
    } else if (str_eq(kind->ops, "SecurityGroups")) {
        arm_nsg_fill(body);
        set_list(l, l->groups, id, p, "subnets");
        set_list(l, l->group_nics, id, p, "networkInterfaces");
    } else if (str_eq(kind->ops, "AvailabilitySets")) {
        set_list(l, l->sets, id, p, "virtualMachines");
    }
}
