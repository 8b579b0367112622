/* SPDX-License-Identifier: Apache-2.0 */
/* seed.c: what a cloud has before anybody makes anything: zones, regions, the default network; and instances.
 *
 * A world brings its own; only kinds that it does not have at all are added.  Instances come and go with nodes
 * (sim/core/nodes.c).  Source: the shape of the recorded worlds. */
#include "sim/compute/compute.h"

#include <string.h>

struct any {
    bool found;
};

static bool mark_found(struct resource *res, void *arg)
{
    (void)res;
    ((struct any *)arg)->found = true;
    return false;
}

static bool has_any(struct compute *c, const char *collection)
{
    struct any any = {0};
    ce_store_each(c, collection, mark_found, &any);
    return any.found;
}

static struct json_object *body_new(struct compute *c, struct arena *a, const char *kind,
                                    const char *path)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", kind);
    json_add_str(o, "id", arena_printf(a, "%llu", (unsigned long long)ce_store_next_id(c)));
    json_add_str(o, "name", ce_path_name(path));
    json_add_str(o, "selfLink", ce_link_full(a, path));
    return o;
}

static void add_zone(struct compute *c, struct arena *a, const char *zone)
{
    const char *region =
        arena_printf(a, "projects/%s/regions/%s", c->project, ce_zone_region(a, zone));
    const char *path = arena_printf(a, "projects/%s/zones/%s", c->project, zone);
    struct json_object *o = body_new(c, a, "compute#zone", path);
    json_add_str(o, "status", "UP");
    json_add_str(o, "region", ce_link_full(a, region));
    ce_store_put(c, path, o);
}

static void add_region(struct compute *c, struct arena *a, const char *zone)
{
    const char *path =
        arena_printf(a, "projects/%s/regions/%s", c->project, ce_zone_region(a, zone));
    const char *zone_link =
        ce_link_full(a, arena_printf(a, "projects/%s/zones/%s", c->project, zone));
    struct resource *res = ce_store_get(c, path);
    if (!res) {
        struct json_object *o = body_new(c, a, "compute#region", path);
        json_add_str(o, "status", "UP");
        json_add(o, "zones", json_object_new_array());
        res = ce_store_put(c, path, o);
    }
    json_push_str(json_member(res->body, "zones"), zone_link);
}

static void add_subnetwork(struct compute *c, struct arena *a, const char *region)
{
    const struct sim_config *cfg = sim_cfg(c->sim);
    const char *network = arena_printf(a, "projects/%s/global/networks/" SIM_NETWORK, c->project);
    const char *path =
        arena_printf(a, "projects/%s/regions/%s/subnetworks/" SIM_NETWORK, c->project, region);
    struct json_object *o = body_new(c, a, "compute#subnetwork", path);
    json_add_str(o, "network", ce_link_full(a, network));
    /* Google's default network has a /20 per region; a big simulated cluster needs more room. */
    json_add_str(o, "ipCidrRange", cfg->nodes > 1000 ? "10.128.0.0/16" : "10.128.0.0/20");
    json_add_str(o, "gatewayAddress", "10.128.0.1");
    json_add_str(o, "purpose", "PRIVATE");
    json_add_str(o, "region",
                 ce_link_full(a, arena_printf(a, "projects/%s/regions/%s", c->project, region)));
    json_add_str(o, "stackType", cfg->ipv6 ? "IPV4_IPV6" : "IPV4_ONLY");
    if (cfg->ipv6) {
        json_add_str(o, "ipv6AccessType", "EXTERNAL");
        json_add_str(o, "ipv6CidrRange", "fd20:0:0:1::/64");
        json_add_str(o, "internalIpv6Prefix", "fd20:0:0:1::/64");
    }
    ce_store_put(c, path, o);
    struct resource *net = ce_store_get(c, network);
    if (net && json_member(net->body, "subnetworks")) {
        json_push_str(json_member(net->body, "subnetworks"), ce_link_full(a, path));
    }
}

static void add_network(struct compute *c, struct arena *a)
{
    const char *path = arena_printf(a, "projects/%s/global/networks/" SIM_NETWORK, c->project);
    struct json_object *o = body_new(c, a, "compute#network", path);
    json_add_bool(o, "autoCreateSubnetworks", true);
    json_add(o, "subnetworks", json_object_new_array());
    ce_store_put(c, path, o);
}

void ce_seed_missing(struct compute *c)
{
    const struct sim_config *cfg = sim_cfg(c->sim);
    struct arena *a = arena_new();
    bool zones = !has_any(c, "zones"), regions = !has_any(c, "regions");
    if (!has_any(c, "networks")) {
        add_network(c, a);
    }
    size_t n = 0;
    for (size_t i = 0; zones && i < cfg->n_zones; i++) {
        add_zone(c, a, cfg->zones[i]);
    }
    const char **names = sim_compute_zones(c, a, &n);
    for (size_t i = 0; regions && i < n; i++) {
        add_region(c, a, names[i]);
    }
    if (!has_any(c, "subnetworks")) {
        const struct folder *f =
            ce_store_folder(c, arena_printf(a, "projects/%s/regions", c->project));
        const char **keys = f ? map_keys(f->items, &n) : NULL;
        for (size_t i = 0; keys && i < n; i++) {
            add_subnetwork(c, a, keys[i]);
        }
        free(keys);
    }
    arena_free(a);
}

/* --- instances ------------------------------------------------------------------------------------ */

static struct json_object *nic_json(struct compute *c, struct arena *a, const struct sim_node *node)
{
    struct json_object *nic = json_object_new_object();
    const char *region = ce_zone_region(a, node->zone);
    json_add_str(nic, "name", "nic0");
    json_add_str(
        nic, "network",
        ce_link_full(a, arena_printf(a, "projects/%s/global/networks/" SIM_NETWORK, c->project)));
    json_add_str(nic, "subnetwork",
                 ce_link_full(a, arena_printf(a, "projects/%s/regions/%s/subnetworks/" SIM_NETWORK,
                                              c->project, region)));
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
    struct json_object *o = body_new(c, a, "compute#instance", path);
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
