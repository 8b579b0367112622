/* SPDX-License-Identifier: Apache-2.0 */
/* seed.c: the start of a simulated Azure: one group with a network, a security group and a scale
 * set; and its nodes.
 *
 * Nodes are the instances of a uniform scale set; where a world has a flexible one or availability
 * sets instead, they are machines with a NIC each.  Names follow Azure's rule (computer name prefix
 * and the instance's number in base 36), so that clients which compute one from the other find
 * their way.  Source: docs/spec/azure.md §7.3. */
#include "sim/arm/arm.h"

#include <stdio.h>
#include <string.h>

#define NODES_FROM 256 /* offset in the subnet of the first node's address */

const char **arm_zones(const struct arm *arm, struct arena *a, size_t *ret_n)
{
    const struct sim_config *cfg = sim_cfg(arm->sim);
    bool ours = str_eq(cfg->cloud, "azure");
    static const char *const usual[] = {"1", "2", "3"};
    const char **zones = ARENA_ARRAY(a, const char *, cfg->n_zones + ARRAY_LEN(usual));
    *ret_n = 0;
    for (size_t i = 0; i < (ours ? cfg->n_zones : ARRAY_LEN(usual)); i++) {
        const char *dash = ours ? strrchr(cfg->zones[i], '-') : NULL;
        zones[(*ret_n)++] = ours ? arena_strdup(a, dash ? dash + 1 : "1") : usual[i];
    }
    return zones;
}

static struct json_object *parse(const char *text)
{
    struct json_object *o = NULL;
    return json_parse(text, strlen(text), NULL, &o, NULL) == ERR_OK ? o : json_object_new_object();
}

static void add(struct arm *arm, struct arena *a, const char *namespace, const char *path,
                const char *text)
{
    struct json_object *o = parse(text);
    json_add_str(o, "location", arm->location);
    (void)arm_commit(arm,
                     arena_printf(a,
                                  "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.%s/%s",
                                  arm->subscription, arm->group, namespace, path),
                     o, "Succeeded");
}

void arm_seed(struct arm *arm)
{
    struct arena *a = arena_new();
    bool ipv6 = sim_cfg(arm->sim)->ipv6;
    const char *network =
        arena_printf(a, "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network",
                     arm->subscription, arm->group);
    const char *subnet =
        arena_printf(a, "%s/virtualNetworks/" ARM_VNET "/subnets/" ARM_SUBNET, network);
    arm_group_add(arm, arm->subscription, arm->group);
    add(arm, a, "Network", "virtualNetworks/" ARM_VNET,
        ipv6 ? "{\"properties\":{\"provisioningState\":\"Succeeded\",\"addressSpace\":{"
               "\"addressPrefixes\":[\"10.0.0.0/8\",\"fd00:db8:deca::/48\"]}}}"
             : "{\"properties\":{\"provisioningState\":\"Succeeded\",\"addressSpace\":{"
               "\"addressPrefixes\":[\"10.0.0.0/8\"]}}}");
    add(arm, a, "Network", "networkSecurityGroups/" ARM_NSG, "{}");
    add(arm, a, "Network", "routeTables/" ARM_ROUTE_TABLE, "{}");
    struct json_object *o = parse(ipv6 ? "{\"properties\":{\"addressPrefixes\":[\"10.240.0.0/16\","
                                         "\"fd00:db8:deca::/64\"]}}"
                                       : "{\"properties\":{\"addressPrefix\":\"10.240.0.0/16\"}}");
    json_add(arm_properties(o), "networkSecurityGroup",
             arm_sub_resource(arena_printf(a, "%s/networkSecurityGroups/" ARM_NSG, network)));
    (void)arm_commit(arm, subnet, o, "Succeeded");
    const char *second =
        arena_printf(a,
                     ",{\"name\":\"ipconfig1-v6\",\"properties\":{\"primary\":false,"
                     "\"privateIPAddressVersion\":\"IPv6\",\"subnet\":{\"id\":\"%s\"}}}",
                     subnet);
    add(arm, a, "Compute", "virtualMachineScaleSets/" ARM_SCALE_SET,
        arena_printf(a,
                     "{\"sku\":{\"name\":\"Standard_D2s_v3\",\"tier\":\"Standard\",\"capacity\":0},"
                     "\"properties\":{\"orchestrationMode\":\"Uniform\",\"overprovision\":false,"
                     "\"singlePlacementGroup\":false,\"upgradePolicy\":{\"mode\":\"Manual\"},"
                     "\"virtualMachineProfile\":{\"osProfile\":{\"computerNamePrefix\":\"%s\"},"
                     "\"networkProfile\":{\"networkInterfaceConfigurations\":[{\"name\":\"nic\","
                     "\"properties\":{\"primary\":true,\"enableIPForwarding\":true,"
                     "\"ipConfigurations\":[{\"name\":\"ipconfig1\",\"properties\":{"
                     "\"primary\":true,\"privateIPAddressVersion\":\"IPv4\",\"subnet\":{"
                     "\"id\":\"%s\"}}}%s]}}]}}}}",
                     ARM_SCALE_SET, subnet, ipv6 ? second : ""));
    arm_settle(arm);
    arena_free(a);
}

/* --- finding machines ------------------------------------------------------------------------- */

struct search {
    const char *name; /* of a machine, or NULL */
    int64_t number;   /* of a machine, when there is no name */
    int64_t max;      /* highest number seen */
    struct arm_resource *found;
};

static const char *name_of(const struct arm_resource *res)
{
    return json_str(json_path(res->body, "properties.osProfile"), "computerName");
}

static int64_t number_of(const struct arm_resource *res)
{
    const char *text = str_nonnull(json_str(res->body, "instanceId"));
    int64_t n;
    if (str_to_i64(text, &n)) {
        return n;
    }
    const char *dash = strrchr(arm_id_name(res->id), '-');
    return dash && str_to_i64(dash + 1, &n) ? n : -1;
}

static bool search_machine(struct arm_resource *res, void *arg)
{
    struct search *s = arg;
    int64_t n = number_of(res);
    s->max = n > s->max ? n : s->max;
    bool hit = s->name ? str_eq_nocase(name_of(res), s->name) : n == s->number;
    s->found = hit ? res : s->found;
    return true;
}

static void search_machines(struct arm *arm, struct search *s)
{
    arm_each(arm, "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", search_machine, s);
    arm_each(arm, "Microsoft.Compute/virtualMachines", search_machine, s);
}

static bool first_of(struct arm_resource *res, void *arg)
{
    *(struct arm_resource **)arg = res;
    return false;
}

static struct arm_resource *any(struct arm *arm, const char *type)
{
    struct arm_resource *res = NULL;
    arm_each(arm, type, first_of, &res);
    return res;
}

/* --- addresses of machines -------------------------------------------------------------------- */

/* The prefix of a subnet in that family; false: it has none, or is not known. */
static bool prefix_of(struct arm *arm, const char *subnet, bool ipv6, struct ip_net *ret)
{
    struct arm_resource *res = arm_get(arm, subnet);
    struct json_object *p = res ? json_member(res->body, "properties") : NULL;
    struct json_object *many = json_member(p, "addressPrefixes");
    size_t n = json_len(many);
    for (size_t i = 0; p && i < (n ? n : 1); i++) {
        const char *prefix = n ? json_object_get_string(json_object_array_get_idx(many, i))
                               : json_str(p, "addressPrefix");
        if (prefix && ip_net_parse(prefix, ret) && (ret->addr.len == 16) == ipv6) {
            return true;
        }
    }
    return false;
}

/* A free address of a subnet, counted from `from`; NULL: none. */
static char *free_address(struct arm *arm, struct arena *a, const char *subnet, bool ipv6,
                          uint64_t from)
{
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX], *found = NULL;
    if (!prefix_of(arm, subnet, ipv6, &net)) {
        return NULL;
    }
    struct map *holders = arm_private_holders(arm, a, arm_id_parent(a, subnet));
    for (uint64_t k = from; !found && ip_net_nth(&net, k, &ip); k++) {
        ip_format(&ip, text);
        found = map_has(holders, text) ? NULL : arena_strdup(a, text);
    }
    map_free(holders);
    return found;
}

struct given {
    struct arm *arm;
    struct arena *a;
    struct map *nodes; /* lower id of a machine → its Node's addresses, borrowed */
};

static const char *address_of_node(struct given *g, const struct arm_ip_config *c, bool ipv6)
{
    struct json_object *list = map_get(g->nodes, arm_id_key(g->a, c->owner->id));
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        const char *text = json_str(o, "address");
        if (str_eq(json_str(o, "type"), "InternalIP") && text &&
            (strchr(text, ':') != NULL) == ipv6) {
            return text;
        }
    }
    return NULL;
}

static bool give_address(const struct arm_ip_config *c, void *arg)
{
    struct given *g = arg;
    char *key = arm_id_key(g->a, c->id);
    bool ipv6 = str_eq(json_str(c->properties, "privateIPAddressVersion"), "IPv6");
    if (json_str(c->properties, "privateIPAddress") || map_has(g->arm->addresses, key)) {
        return true;
    }
    const char *text = address_of_node(g, c, ipv6);
    int64_t number = number_of(c->owner);
    text = text ? text
                : free_address(g->arm, g->a, str_nonnull(arm_ref(c->properties, "subnet")), ipv6,
                               NODES_FROM + (uint64_t)(number > 0 ? number : 0));
    if (text) {
        map_set(g->arm->addresses, key, xstrdup(text));
    }
    return true;
}

void arm_addresses_give(struct arm *arm, struct json_object *nodes)
{
    static const char scheme[] = "azure://";
    struct given g = {.arm = arm, .a = arena_new(), .nodes = map_new(NULL)};
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        const char *id = json_str(json_member(node, "spec"), "providerID");
        if (id && str_has_prefix(id, scheme)) {
            map_set(g.nodes, arm_id_key(g.a, id + strlen(scheme)),
                    json_path(node, "status.addresses"));
        }
    }
    arm_each_ip_config(arm, g.a, give_address, &g);
    map_free(g.nodes);
    arena_free(g.a);
}

/* --- coming and going ------------------------------------------------------------------------- */

static char *base36(struct arena *a, int64_t n)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char text[7] = "000000";
    for (int i = 5; i >= 0 && n > 0; i--, n /= 36) {
        text[i] = digits[n % 36];
    }
    return arena_strdup(a, text);
}

static void set_capacity(struct arm *arm, const char *set, int64_t by)
{
    struct arm_resource *res = arm_get(arm, set);
    struct json_object *body = res ? json_copy(res->body) : NULL;
    struct json_object *sku = json_member(body, "sku");
    if (sku) {
        json_add_int(sku, "capacity", json_int(sku, "capacity", 0) + by);
    }
    if (body) {
        (void)arm_commit(arm, set, body, NULL);
    }
}

static struct arm_resource *add_instance(struct arm *arm, struct arena *a,
                                         const struct arm_resource *set, int64_t number,
                                         const char *zone)
{
    struct json_object *profile = json_path(set->body, "properties.virtualMachineProfile");
    const char *prefix = json_str(json_member(profile, "osProfile"), "computerNamePrefix");
    char *name = arena_printf(a, "%s%s", str_or(prefix, arm_id_name(set->id)), base36(a, number));
    const char *id = arena_printf(a, "%s/virtualMachines/%lld", set->id, (long long)number);
    struct json_object *nics = json_path(profile, "networkProfile.networkInterfaceConfigurations");
    struct json_object *o = parse(arena_printf(
        a,
        "{\"instanceId\":\"%lld\",\"sku\":{\"name\":\"Standard_D2s_v3\",\"tier\":\"Standard\"},"
        "\"properties\":{\"vmId\":\"%s\",\"latestModelApplied\":true,\"hardwareProfile\":{},"
        "\"osProfile\":{\"computerName\":\"%s\"},\"networkProfile\":{\"networkInterfaces\":[]},"
        "\"networkProfileConfiguration\":{\"networkInterfaceConfigurations\":[]},"
        "\"instanceView\":{\"statuses\":[{\"code\":\"ProvisioningState/succeeded\"},"
        "{\"code\":\"PowerState/running\"}]}}}",
        (long long)number, arm_uuid(arm, a), name));
    json_add_str(o, "location", str_or(json_str(set->body, "location"), arm->location));
    if (zone) {
        json_add(o, "zones", json_strs(&zone, 1));
    }
    struct json_object *list = json_path(o, "properties.networkProfile.networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        const char *nic = json_str(json_object_array_get_idx(nics, i), "name");
        json_object_array_add(list, arm_sub_resource(arena_printf(a, "%s/networkInterfaces/%s", id,
                                                                  str_nonnull(nic))));
    }
    json_add(json_path(o, "properties.networkProfileConfiguration"),
             "networkInterfaceConfigurations", json_copy(nics));
    struct arm_resource *res = arm_commit(arm, id, o, "Succeeded");
    set_capacity(arm, set->id, 1);
    return res;
}

static bool is_flexible(const struct arm_resource *set)
{
    return str_eq_nocase(json_str(json_member(set->body, "properties"), "orchestrationMode"),
                         "Flexible");
}

/* The IP configurations of a new machine's NIC: those of the set's model, or one in
 * the only subnet. */
static struct json_object *new_configs(struct arm *arm, struct arena *a,
                                       const struct arm_resource *set)
{
    struct json_object *nics =
        json_path(set->body,
                  "properties.virtualMachineProfile.networkProfile.networkInterfaceConfigurations");
    struct json_object *model = json_len(nics) ? json_path(json_object_array_get_idx(nics, 0),
                                                           "properties.ipConfigurations")
                                               : NULL;
    struct arm_resource *subnet = any(arm, "Microsoft.Network/virtualNetworks/subnets");
    return model ? json_copy(model)
                 : parse(arena_printf(a,
                                      "[{\"name\":\"ipconfig1\",\"properties\":{\"primary\":true,"
                                      "\"privateIPAddressVersion\":\"IPv4\",\"subnet\":{\"id\":"
                                      "\"%s\"}}}]",
                                      subnet ? subnet->id : ""));
}

static const char *add_nic(struct arm *arm, struct arena *a, const struct arm_resource *set,
                           const char *base, int64_t number)
{
    const char *nic =
        arena_printf(a, "%s/Microsoft.Network/networkInterfaces/nic-%lld", base, (long long)number);
    struct json_object *configs = new_configs(arm, a, set);
    for (size_t i = 0; i < json_len(configs); i++) {
        struct json_object *p = arm_properties(json_object_array_get_idx(configs, i));
        bool ipv6 = str_eq(json_str(p, "privateIPAddressVersion"), "IPv6");
        const char *subnet = str_nonnull(arm_ref(p, "subnet"));
        json_add_str(p, "privateIPAddress",
                     free_address(arm, a, subnet, ipv6, NODES_FROM + (uint64_t)number));
        json_add_str(p, "privateIPAllocationMethod", "Dynamic");
    }
    struct json_object *o = parse("{\"properties\":{\"primary\":true}}");
    json_add_str(o, "location", arm->location);
    json_add(json_member(o, "properties"), "ipConfigurations", configs);
    (void)arm_commit(arm, nic, o, "Succeeded");
    return nic;
}

/* A machine of an availability set, or of a flexible scale set. */
static struct arm_resource *add_machine(struct arm *arm, struct arena *a,
                                        const struct arm_resource *set, int64_t number,
                                        const char *zone)
{
    bool flexible = is_flexible(set);
    char *name = arena_printf(a, "vm-%lld", (long long)number);
    const char *base = arena_printf(a, "/subscriptions/%s/resourceGroups/%s/providers",
                                    arm->subscription, arm->group);
    struct json_object *o = parse(arena_printf(
        a,
        "{\"location\":\"%s\",\"properties\":{\"vmId\":\"%s\",\"%s\":{\"id\":\"%s\"},"
        "\"hardwareProfile\":{\"vmSize\":\"Standard_D2s_v3\"},\"osProfile\":{\"computerName\":"
        "\"%s\"},\"networkProfile\":{\"networkInterfaces\":[{\"id\":\"%s\",\"properties\":{"
        "\"primary\":true}}]},\"instanceView\":{\"statuses\":[{\"code\":"
        "\"ProvisioningState/succeeded\"},{\"code\":\"PowerState/running\"}]}}}",
        arm->location, arm_uuid(arm, a), flexible ? "virtualMachineScaleSet" : "availabilitySet",
        set->id, name, add_nic(arm, a, set, base, number)));
    if (flexible && zone) {
        json_add(o, "zones", json_strs(&zone, 1));
    }
    if (flexible) {
        set_capacity(arm, set->id, 1);
    }
    return arm_commit(arm, arena_printf(a, "%s/Microsoft.Compute/virtualMachines/%s", base, name),
                      o, "Succeeded");
}

struct joining {
    struct arm *arm;
    struct arena *a;
    char *ip, *ip6;
    bool in_pool;
};

static bool look_at_config(const struct arm_ip_config *c, void *arg)
{
    struct joining *j = arg;
    const char *text = str_nonnull(arm_machine_address(j->arm, j->a, c));
    char **at = strchr(text, ':') ? &j->ip6 : &j->ip;
    *at = *at ? *at : arena_strdup(j->a, text);
    j->in_pool =
        j->in_pool || json_len(json_member(c->properties, "loadBalancerBackendAddressPools"));
    return true;
}

/* The document that has a machine's IP configurations: the instance itself, or
 * the machine's NIC. */
static struct arm_resource *owner_of(struct arm *arm, struct arm_resource *machine)
{
    struct json_object *nics =
        json_path(machine->body, "properties.networkProfile.networkInterfaces");
    struct arm_resource *nic =
        json_len(nics) ? arm_get(arm, json_str(json_object_array_get_idx(nics, 0), "id")) : NULL;
    return nic ? nic : machine;
}

int sim_arm_add_node(void *state, struct arena *a, struct sim_node *ret, struct err *err)
{
    struct arm *arm = state;
    struct search s = {.number = -1, .max = -1};
    size_t n_zones = 0;
    const char **zones = arm_zones(arm, a, &n_zones);
    struct arm_resource *set = any(arm, "Microsoft.Compute/virtualMachineScaleSets");
    struct arm_resource *availability = any(arm, "Microsoft.Compute/availabilitySets");
    search_machines(arm, &s);
    int64_t number = s.max + 1;
    const char *zone = n_zones ? zones[(size_t)number % n_zones] : NULL;
    if (!set && !availability) {
        return err_set(err, ERR_NOT_FOUND, "there is no scale set and no availability set");
    }
    bool uniform = set && !is_flexible(set);
    struct arm_resource *machine =
        uniform ? add_instance(arm, a, set, number, zone)
                : add_machine(arm, a, set ? set : availability, number, zone);
    struct joining j = {.arm = arm, .a = a};
    struct given g = {.arm = arm, .a = a, .nodes = map_new(NULL)};
    arm_each_config_of(arm, a, owner_of(arm, machine), give_address, &g);
    arm_each_config_of(arm, a, owner_of(arm, machine), look_at_config, &j);
    map_free(g.nodes);
    if (j.in_pool || !uniform) {
        arm_settle(arm);
    }
    *ret = (struct sim_node){
        .name = arena_strdup(a, name_of(machine)),
        .zone = zone ? arena_printf(a, "%s-%s", arm->location, zone) : "0",
        .internal_ip = str_nonnull(j.ip),
        .internal_ip6 = str_nonnull(j.ip6),
        .provider_id = arena_printf(a, "azure://%s", machine->id),
        .index = (int)number,
    };
    return ERR_OK;
}

int sim_arm_remove_node(void *state, const char *name, struct err *err)
{
    struct arm *arm = state;
    struct search s = {.name = name};
    struct arena *a = arena_new();
    search_machines(arm, &s);
    if (!s.found) {
        arena_free(a);
        return err_set(err, ERR_NOT_FOUND, "there is no machine %s", name);
    }
    char *id = arena_strdup(a, s.found->id);
    struct json_object *nics =
        json_path(s.found->body, "properties.networkProfile.networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        arm_unset(arm, str_nonnull(json_str(json_object_array_get_idx(nics, i), "id")));
    }
    const char *set =
        strstr(id, "/virtualMachineScaleSets/")
            ? arm_id_parent(a, id)
            : arm_ref(json_member(s.found->body, "properties"), "virtualMachineScaleSet");
    set = arena_strdup(a, set);
    arm_unset(arm, id);
    if (set) {
        set_capacity(arm, set, -1);
    }
    arm_settle(arm);
    arena_free(a);
    return ERR_OK;
}

char *sim_arm_node_name(void *state, struct arena *a, int64_t number)
{
    struct search s = {.number = number};
    search_machines(state, &s);
    return s.found ? arena_strdup(a, name_of(s.found)) : NULL;
}
