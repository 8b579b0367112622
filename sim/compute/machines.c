/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c: the machines of nodes: where they are placed, and how they come and go.
 *
 * A node's number gives its addresses, so that the same cluster is made again: the lower half of
 * its subnetwork belongs to machines, the upper one to load balancers.  A cluster that needs more
 * room gets it as a project's owner would give it, by widening the subnetwork.  The frame calls
 * this for its nodes (sim/core/nodes.c).
 * Source: the shape of the recorded worlds; compute v1 "instances", "subnetworks". */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

#define FIRST_HOST   10     /* of node-0 */
#define STEP         0x4000 /* a machine whose address is taken moves on by this */
#define SHORTEST_NET 9
#define PRESET_RANGE "10.128.0.0/20"
#define PRESET_IPV6  "fd20:0:0:1::/64"

/* --- places ----------------------------------------------------------------------------------- */

static const char *subnet_path(const struct compute *c, struct arena *a, const char *zone,
                               const char *subnetwork)
{
    return arena_printf(a, "projects/%s/regions/%s/subnetworks/%s", c->project,
                        ce_zone_region(a, zone), str_or(subnetwork, SIM_NETWORK));
}

/* Widens the range until the host is in its lower half; false: that would be another network. */
static bool widen(struct resource *subnet, struct ip_net *net, uint64_t host)
{
    char text[IP_TEXT_MAX];
    struct ip_addr base;
    uint8_t before = net->prefix;
    while (host >= 1ULL << (31 - net->prefix)) {
        net->prefix--;
        if (net->prefix < SHORTEST_NET || !ip_net_nth(net, 0, &base) || !ip_eq(&base, &net->addr)) {
            return false;
        }
    }
    if (subnet && net->prefix != before) {
        ip_net_format(net, text);
        json_add_str(subnet->body, "ipCidrRange", text);
    }
    return true;
}

/* The first free address from the host on; NULL: the subnetwork has no room and
 * cannot be widened. */
static const char *pick_ipv4(struct arena *a, struct resource *subnet, struct map *taken,
                             uint64_t host)
{
    const char *range = subnet ? json_str(subnet->body, "ipCidrRange") : NULL;
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (!ip_net_parse(str_or(range, PRESET_RANGE), &net) || net.addr.len != 4 || net.prefix > 30) {
        return NULL;
    }
    do {
        if (!widen(subnet, &net, host) || !ip_net_nth(&net, host, &ip)) {
            return NULL;
        }
        ip_format(&ip, text);
        host += STEP;
    } while (map_has(taken, text));
    map_set(taken, text, NULL);
    return arena_strdup(a, text);
}

static const char *ipv6_of(struct arena *a, const struct resource *subnet, int number)
{
    const char *prefix = subnet ? json_str(subnet->body, "internalIpv6Prefix") : NULL;
    struct ip_net net;
    if (!ip_net_parse(str_or(prefix, PRESET_IPV6), &net) || net.addr.len != 16) {
        return NULL;
    }
    const unsigned char *b = net.addr.bytes;
    return arena_printf(a, "%x:%x:%x:%x:0:%x::", b[0] << 8 | b[1], b[2] << 8 | b[3],
                        b[4] << 8 | b[5], b[6] << 8 | b[7], number + 1);
}

int sim_compute_place(void *compute_state, struct arena *a, bool ipv6, struct map *taken,
                      struct sim_node *node, struct err *err)
{
    struct compute *c = compute_state;
    const char *path = subnet_path(c, a, node->zone, node->subnetwork);
    struct resource *subnet = ce_store_get(c, path);
    if (!subnet && node->subnetwork) {
        return err_set(err, ERR_NOT_FOUND, "there is no %s", path);
    }
    node->internal_ip = pick_ipv4(a, subnet, taken, (uint64_t)node->index + FIRST_HOST);
    node->internal_ip6 = ipv6 ? ipv6_of(a, subnet, node->index) : "";
    return node->internal_ip && node->internal_ip6
               ? ERR_OK
               : err_set(err, ERR_INVALID, "%s has no room for %s", path, node->name);
}

struct map *sim_compute_addresses(const void *compute_state)
{
    return ce_address_taken(compute_state);
}

/* --- coming and going ------------------------------------------------------------------------- */

static struct json_object *nic_json(struct compute *c, struct arena *a, const struct sim_node *node)
{
    struct json_object *nic = json_object_new_object();
    const char *path = subnet_path(c, a, node->zone, node->subnetwork);
    const struct resource *subnet = ce_store_get(c, path);
    const char *network = subnet ? json_str(subnet->body, "network") : NULL;
    const char *preset = arena_printf(a, "projects/%s/global/networks/" SIM_NETWORK, c->project);
    json_add_str(nic, "name", "nic0");
    json_add_str(nic, "network", network ? network : ce_link_full(a, preset));
    json_add_str(nic, "subnetwork", ce_link_full(a, path));
    json_add_str(nic, "networkIP", node->internal_ip);
    bool ipv6 = !str_is_empty(node->internal_ip6);
    json_add_str(nic, "stackType", ipv6 ? "IPV4_IPV6" : "IPV4_ONLY");
    if (ipv6) {
        json_add_str(nic, "ipv6Address", node->internal_ip6);
        json_add_int(nic, "internalIpv6PrefixLength", 96);
    }
    return nic;
}

int sim_compute_add_instance(void *compute_state, const struct sim_node *node, struct err *err)
{
    struct compute *c = compute_state;
    struct arena *a = arena_new();
    const char *zone = arena_printf(a, "projects/%s/zones/%s", c->project, node->zone);
    const char *path = arena_printf(a, "%s/instances/%s", zone, node->name);
    if (ce_store_get(c, path)) {
        arena_free(a);
        return err_set(err, ERR_EXISTS, "there is an instance %s", node->name);
    }
    struct json_object *o = ce_seed_body(c, a, "compute#instance", path);
    json_add_str(o, "zone", ce_link_full(a, zone));
    json_add_str(o, "status", "RUNNING");
    json_add_str(o, "creationTimestamp", compute_time(c, a));
    json_add_str(o, "machineType",
                 ce_link_full(a, arena_printf(a, "%s/machineTypes/e2-medium", zone)));
    struct json_object *items = json_object_new_array();
    json_push_str(items, SIM_NODE_TAG);
    struct json_object *tags = json_object_new_object();
    json_add(tags, "items", items);
    json_add_str(tags, "fingerprint", compute_fingerprint(c, a));
    json_add(o, "tags", tags);
    struct json_object *nics = json_object_new_array();
    json_object_array_add(nics, nic_json(c, a, node));
    json_add(o, "networkInterfaces", nics);
    json_add(o, "labels", json_object_new_object());
    json_add(o, "metadata", json_object_new_object());
    ce_store_put(c, path, o);
    arena_free(a);
    return ERR_OK;
}

struct removal {
    const char *name;
    char *path; /* heap */
};

static bool find_instance(struct resource *res, void *arg)
{
    struct removal *r = arg;
    if (str_eq(ce_path_name(res->path), r->name)) {
        r->path = xstrdup(res->path);
    }
    return !r->path;
}

/* A deleted machine leaves its groups; target pools keep naming it, as the cloud's do. */
static bool leave_group(struct resource *res, void *arg)
{
    const struct removal *r = arg;
    for (size_t i = json_len(res->members); i > 0; i--) {
        struct json_object *member = json_object_array_get_idx(res->members, i - 1);
        bool is_text = json_object_is_type(member, json_type_string);
        const char *text = is_text ? json_object_get_string(member) : json_str(member, "instance");
        if (text && str_eq(ce_path_name(text), r->name)) {
            json_object_array_del_idx(res->members, i - 1, 1);
            json_add_int(res->body, "size", (int64_t)json_len(res->members));
        }
    }
    return true;
}

int sim_compute_remove_instance(void *compute_state, const char *name, struct err *err)
{
    struct compute *c = compute_state;
    struct removal r = {.name = name};
    ce_store_each(c, "instances", find_instance, &r);
    if (!r.path) {
        return err_set(err, ERR_NOT_FOUND, "there is no instance %s", name);
    }
    ce_store_remove(c, r.path);
    free(r.path);
    ce_store_each(c, "instanceGroups", leave_group, &r);
    ce_store_each(c, "networkEndpointGroups", leave_group, &r);
    return ERR_OK;
}
