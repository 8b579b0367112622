/* SPDX-License-Identifier: Apache-2.0 */
/* az_network.c: virtual networks and subnets, as far as security groups ask for them; see azure.h.
 *
 * The service tag VirtualNetwork stands for the address space of the network and of the networks
 * that are peered with it.  A subnet may be a document of its own or part of its network's. */
#include "sim/reach/azure.h"

/* The union of the address spaces of a network and of its peerings. */
static struct reach_ranges space_of(struct arena *a, struct json_object *network)
{
    struct json_object *p = json_member(network, "properties");
    struct json_object *peers = json_member(p, "virtualNetworkPeerings");
    struct reach_ranges all = reach_ranges_of_list(a, json_path(p, "addressSpace.addressPrefixes"));
    for (size_t i = 0; i < json_len(peers); i++) {
        struct json_object *peer = json_object_array_get_idx(peers, i);
        struct json_object *theirs =
            json_path(peer, "properties.remoteAddressSpace.addressPrefixes");
        const char *state = json_str(json_member(peer, "properties"), "peeringState");
        if (state == NULL || str_eq_nocase(state, "Connected")) {
            all = reach_ranges_or(a, all, reach_ranges_of_list(a, theirs));
        }
    }
    return all;
}

static void add_subnet(struct az *z, const char *id, struct json_object *body)
{
    struct json_object *p = json_member(body, "properties");
    const char *group = az_ref(z->a, body, "networkSecurityGroup");
    struct az_subnet *s = ARENA_NEW(z->a, struct az_subnet);
    s->network_id = az_parent(z->a, id);
    s->network = map_get(z->networks, s->network_id);
    s->group = group != NULL ? map_get(z->groups, group) : NULL;
    s->ranges = reach_ranges_or(z->a, reach_ranges_of(z->a, json_str(p, "addressPrefix")),
                                reach_ranges_of_list(z->a, json_member(p, "addressPrefixes")));
    map_set(z->subnets, id, s);
}

static void add_network(struct az *z, const struct az_doc *doc)
{
    struct az_network *network = ARENA_NEW(z->a, struct az_network);
    struct json_object *subnets = json_path(doc->body, "properties.subnets");
    network->ranges = space_of(z->a, doc->body);
    map_set(z->networks, doc->id, network);
    for (size_t i = 0; i < json_len(subnets); i++) {
        struct json_object *subnet = json_object_array_get_idx(subnets, i);
        const char *name = str_nonnull(json_str(subnet, "name"));
        add_subnet(z, az_key(z->a, arena_printf(z->a, "%s/subnets/%s", doc->id, name)), subnet);
    }
}

void az_read_networks(struct az *z)
{
    const struct az_docs *networks = &z->docs[AZURE_NETWORKS];
    const struct az_docs *subnets = &z->docs[AZURE_SUBNETS];
    for (size_t i = 0; i < networks->n; i++) {
        add_network(z, &networks->at[i]);
    }
    for (size_t i = 0; i < subnets->n; i++) {
        add_subnet(z, subnets->at[i].id, subnets->at[i].body);
    }
}

struct sought {
    struct az *z;
    const char *network;
    struct reach_ranges address;
    const struct az_subnet *found;
};

static bool look_at_subnet(const char *id, void *value, void *arg)
{
    const struct az_subnet *subnet = value;
    struct sought *s = arg;
    (void)id;
    if ((s->network == NULL || str_eq(subnet->network_id, s->network)) &&
        reach_ranges_within(s->z->a, s->address, subnet->ranges)) {
        s->found = subnet;
    }
    return s->found == NULL;
}

const struct az_subnet *az_subnet_of(struct az *z, const char *network, struct reach_ranges address)
{
    struct sought s = {.z = z, .network = network, .address = address};
    map_each(z->subnets, look_at_subnet, &s);
    return s.found;
}
