/* SPDX-License-Identifier: Apache-2.0 */
/* seed.c: the initial resources of a cloud: zones, regions, the default network.
 *
 * A world brings its own; only kinds that it does not have at all are added.  Machines are made in
 * machines.c.
 * Source: the shape of the recorded worlds. */
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

struct json_object *ce_seed_body(struct compute *c, struct arena *a, const char *kind,
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
    struct json_object *o = ce_seed_body(c, a, "compute#zone", path);
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
        struct json_object *o = ce_seed_body(c, a, "compute#region", path);
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
    struct json_object *o = ce_seed_body(c, a, "compute#subnetwork", path);
    json_add_str(o, "network", ce_link_full(a, network));
    /* Google's default network has a /20 per region; a big simulated cluster needs more room. */
    json_add_str(o, "ipCidrRange", cfg->nodes > 1000 ? "10.128.0.0/16" : "10.128.0.0/20");
    json_add_str(o, "gatewayAddress", "10.128.0.1");
    json_add_str(o, "purpose", "PRIVATE");
    json_add_str(o, "region",
                 ce_link_full(a, arena_printf(a, "projects/%s/regions/%s", c->project, region)));
    json_add_str(o, "stackType", cfg->ipv6 ? "IPV4_IPV6" : "IPV4_ONLY");
    if (cfg->ipv6) {
        json_add_str(o, "ipv6AccessType",
                     str_or(json_object_get_string(ce_setting(c, "ipv6_access")), "EXTERNAL"));
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
    struct json_object *o = ce_seed_body(c, a, "compute#network", path);
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
