/* SPDX-License-Identifier: Apache-2.0 */
/* azure_machines.c: machines' IP configurations: their names, addresses and pools; see azure.h.
 *
 * A virtual machine has NICs that are documents; an instance of a uniform scale set holds its NICs
 * in itself.  The pools of a NIC stand in its IP configurations; those of a scale set's model are
 * for instances to come, and do not count.  A scale set's instance does not tell its private
 * address: the world's "azure_addresses" does, or its Node. */
#include "sim/reach/azure.h"

struct machine {
    const char *name;
    bool runs;
};
struct reading {
    struct az *z;
    struct map *machines; /* id → struct machine */
    struct map *by_nic;   /* id of a NIC → struct machine, by the machines' own lists */
    struct map *nodes;    /* id of a machine → its Node's addresses, borrowed */
};

/* One NIC: a document, or a part of an instance. */
struct nic_source {
    const char *id;
    const char *owner; /* id of the machine, or NULL */
    const struct machine *machine;
    struct json_object *o; /* has "properties" */
};

/* --- machines --------------------------------------------------------------------------------- */

static bool is_running(struct json_object *machine)
{
    static const char power[] = "PowerState/";
    struct json_object *statuses = json_path(machine, "properties.instanceView.statuses");
    for (size_t i = 0; i < json_len(statuses); i++) {
        const char *code = json_str(json_object_array_get_idx(statuses, i), "code");
        if (code != NULL && str_has_prefix(code, power)) {
            return str_eq_nocase(code, "PowerState/running");
        }
    }
    return true;
}

static struct machine *add_machine(struct reading *rd, const struct az_doc *doc)
{
    struct arena *a = rd->z->a;
    struct machine *m = ARENA_NEW(a, struct machine);
    const char *name = json_str(json_path(doc->body, "properties.osProfile"), "computerName");
    m->name = str_lower(a, str_or(name, az_name(doc->id)));
    m->runs = is_running(doc->body);
    map_set(rd->machines, doc->id, m);
    return m;
}

static void read_machines(struct reading *rd)
{
    const struct az_docs *docs = &rd->z->docs[AZURE_MACHINES];
    for (size_t i = 0; i < docs->n; i++) {
        struct machine *m = add_machine(rd, &docs->at[i]);
        struct json_object *nics =
            json_path(docs->at[i].body, "properties.networkProfile.networkInterfaces");
        for (size_t k = 0; k < json_len(nics); k++) {
            const char *nic = json_str(json_object_array_get_idx(nics, k), "id");
            if (nic != NULL) {
                map_set(rd->by_nic, az_key(rd->z->a, nic), m);
            }
        }
    }
}

static void read_nodes(struct reading *rd)
{
    static const char scheme[] = "azure://";
    struct json_object *nodes = json_path(rd->z->world, "kubernetes.nodes");
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        const char *id = json_str(json_member(node, "spec"), "providerID");
        if (id != NULL && str_has_prefix(id, scheme)) {
            map_set(rd->nodes, az_key(rd->z->a, id + sizeof(scheme) - 1),
                    json_path(node, "status.addresses"));
        }
    }
}

/* --- addresses -------------------------------------------------------------------------------- */

static const char *address_of_node(const struct reading *rd, const char *owner, bool ipv6)
{
    struct json_object *list = owner != NULL ? map_get(rd->nodes, owner) : NULL;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        const char *text = json_str(o, "address");
        struct ip_addr ip;
        if (str_eq(json_str(o, "type"), "InternalIP") && text != NULL && ip_parse(text, &ip) &&
            (ip.len == 16) == ipv6) {
            return text;
        }
    }
    return NULL;
}

static void set_address(struct az *z, struct az_nic *nic, const char *text)
{
    nic->text = az_address(z->a, text);
    if (nic->text != NULL) {
        (void)ip_parse(nic->text, &nic->address);
        nic->ipv6 = nic->address.len == 16;
    }
}

static void remember_address(struct az *z, struct az_nic *nic, const char *network)
{
    if (nic->text != NULL) {
        map_set(z->by_address, arena_printf(z->a, "%s %s", str_nonnull(network), nic->text), nic);
    }
}

/* --- IP configurations ------------------------------------------------------------------------ */

/* Adds the NIC to the list of each id that the configuration names there. */
static void join(struct az *z, struct map *lists, struct json_object *ids, struct az_nic *nic)
{
    for (size_t i = 0; i < json_len(ids); i++) {
        const char *id = json_str(json_object_array_get_idx(ids, i), "id");
        if (id != NULL) {
            az_push(z->a, az_list_of(z->a, lists, az_key(z->a, id)), nic);
        }
    }
}

static void add_config(struct reading *rd, const struct nic_source *source, struct json_object *o)
{
    struct az *z = rd->z;
    struct json_object *p = json_member(o, "properties");
    const char *id = az_key(z->a, arena_printf(z->a, "%s/ipconfigurations/%s", source->id,
                                               str_nonnull(json_str(o, "name"))));
    const char *subnet = az_ref(z->a, o, "subnet");
    const char *group = az_ref(z->a, source->o, "networkSecurityGroup");
    const char *public = az_ref(z->a, o, "publicIPAddress");
    struct az_nic *nic = ARENA_NEW(z->a, struct az_nic);
    nic->machine = source->machine != NULL ? source->machine->name : NULL;
    nic->runs = source->machine != NULL && source->machine->runs;
    nic->ipv6 = str_eq_nocase(json_str(p, "privateIPAddressVersion"), "IPv6");
    nic->subnet = subnet != NULL ? map_get(z->subnets, subnet) : NULL;
    nic->group = group != NULL ? map_get(z->groups, group) : NULL;
    const char *text = json_str(p, "privateIPAddress");
    text = text != NULL ? text : json_str(json_member(z->world, "azure_addresses"), id);
    set_address(z, nic, text != NULL ? text : address_of_node(rd, source->owner, nic->ipv6));
    remember_address(z, nic, NULL);
    remember_address(z, nic, subnet != NULL ? az_parent(z->a, subnet) : NULL);
    map_set(z->by_config, id, nic);
    if (public != NULL) {
        map_set(z->seen, public, NULL);
    }
    join(z, z->in_pool, json_member(p, "loadBalancerBackendAddressPools"), nic);
    join(z, z->behind_nat, json_member(p, "loadBalancerInboundNatRules"), nic);
    join(z, z->behind_nat, json_member(p, "loadBalancerInboundNatPools"), nic);
}

static void add_nic(struct reading *rd, const struct nic_source *source)
{
    struct json_object *configs = json_path(source->o, "properties.ipConfigurations");
    for (size_t i = 0; i < json_len(configs); i++) {
        add_config(rd, source, json_object_array_get_idx(configs, i));
    }
}

static void read_nics(struct reading *rd)
{
    const struct az_docs *docs = &rd->z->docs[AZURE_NICS];
    for (size_t i = 0; i < docs->n; i++) {
        const char *owner = az_ref(rd->z->a, docs->at[i].body, "virtualMachine");
        const struct machine *m = map_get(rd->by_nic, docs->at[i].id);
        m = m == NULL && owner != NULL ? map_get(rd->machines, owner) : m;
        add_nic(rd, &(struct nic_source){docs->at[i].id, owner, m, docs->at[i].body});
    }
}

static void read_instances(struct reading *rd)
{
    const struct az_docs *docs = &rd->z->docs[AZURE_INSTANCES];
    struct arena *a = rd->z->a;
    for (size_t i = 0; i < docs->n; i++) {
        const struct az_doc *doc = &docs->at[i];
        const struct machine *m = add_machine(rd, doc);
        struct json_object *nics = json_path(
            doc->body, "properties.networkProfileConfiguration.networkInterfaceConfigurations");
        for (size_t k = 0; k < json_len(nics); k++) {
            struct json_object *o = json_object_array_get_idx(nics, k);
            const char *id = arena_printf(a, "%s/networkinterfaces/%s", doc->id,
                                          str_nonnull(json_str(o, "name")));
            add_nic(rd, &(struct nic_source){az_key(a, id), doc->id, m, o});
        }
    }
}

void az_read_machines(struct az *z)
{
    struct reading rd = {
        .z = z,
        .machines = reach_map(z->a),
        .by_nic = reach_map(z->a),
        .nodes = reach_map(z->a),
    };
    read_machines(&rd);
    read_nodes(&rd);
    read_nics(&rd);
    read_instances(&rd);
}

const struct az_nic *az_nic_at(struct az *z, const char *network, const char *address)
{
    const char *text = az_address(z->a, address);
    if (text == NULL) {
        return NULL;
    }
    struct az_nic *nic =
        map_get(z->by_address, arena_printf(z->a, "%s %s", str_nonnull(network), text));
    if (nic == NULL) {
        nic = ARENA_NEW(z->a, struct az_nic);
        set_address(z, nic, text);
        nic->subnet = az_subnet_of(z, network, reach_ranges_of(z->a, text));
        remember_address(z, nic, network);
    }
    return nic;
}

struct az_gate az_gate_of(const struct az_nic *nic)
{
    return (struct az_gate){
        .groups = {nic->subnet != NULL ? nic->subnet->group : NULL, nic->group},
        .network = nic->subnet != NULL ? nic->subnet->network : NULL,
    };
}
