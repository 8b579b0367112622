/* SPDX-License-Identifier: Apache-2.0 */
/* gce.c: reachability through Google's pass-through load balancers.
 *
 * A packet to an address passes
 *
 *     forwarding rule      address, protocol, ports; target pool or backend service (gce_fronts.c,
 *                          gce_targets.c)
 *     a machine            member of the pool, of an instance group, or of a NEG (gce_targets.c)
 *     firewalls            of the interface's network; the packet's destination still is the
 *                          address, and its port still the client's, since nothing on the way
 *                          rewrites it: a target is "node-1:80" (gce_firewalls.c)
 *
 * External and internal rules of a region are judged, IPv4 and IPv6, with target pools, instance
 * groups and NEGs of GCE_VM_IP.  Rules with another target (proxies, instances, attachments) or
 * scheme belong to other products and are left out, their addresses, too.  `clients` of an internal
 * rule are those that the firewalls let through, of the network and all that is connected to it,
 * wherever that is: allowGlobalAccess and the subnetworks' ranges do not narrow them.
 *
 * `why` no packet arrives:
 *
 *     listener missing   an address is reserved and no rule (and no machine) has it
 *     no rule            a rule leads nowhere: its pool or service is gone, or has another protocol
 *                        or scheme
 *     no target          the pool, or each group, is empty or has only machines that are gone
 *     no permission      machines are there, and the firewalls let no client in
 *
 * `healthy` follows from the cloud's state and from what the node answers (gce_targets.c).
 * An unhealthy target keeps its clients: with none healthy the cloud sends to all.  Failover groups
 * count like others, backup pools do not count.  Left out, since no world has them: firewall
 * policies, and routes.  Two internal rules with one address in two networks share its entry.
 *
 * Source: the documentation of VPC firewall rules, forwarding rules, target pools, pass-through
 * load balancers and health checks; gce-cloud-provider.md §4, §5; gce-l4.md §0, §3–§5. */
#include <string.h>

#include "common/base/str.h"
#include "sim/reach/gce.h"

/* --- rules ------------------------------------------------------------------------------------ */

struct found {
    struct gce *g;
    struct gce_rule **rules;
    size_t n;
    struct map *addresses; /* those that some rule has, judged or not */
};

/* Is it one of those that pass packets through? */
static bool is_pass_through(struct gce *g, const struct gce_rule *rule)
{
    const char *scheme = str_or(json_str(rule->body, "loadBalancingScheme"), "EXTERNAL");
    const char *target = gce_path(g, json_str(rule->body, "target"), rule->path);
    return (str_eq(scheme, "EXTERNAL") || str_eq(scheme, "INTERNAL")) &&
           strstr(rule->path, "/regions/") != NULL &&
           (target == NULL || gce_is(target, "targetPools"));
}

/* The network of an internal rule: its own or that of its subnetwork. */
static const char *network_of(struct gce *g, const struct gce_rule *rule)
{
    const char *network = gce_path(g, json_str(rule->body, "network"), rule->path);
    if (network != NULL) {
        return network;
    }
    const char *path = NULL;
    struct json_object *subnet = gce_find(g, json_str(rule->body, "subnetwork"), rule->path, &path);
    return subnet != NULL ? gce_path(g, json_str(subnet, "network"), path) : NULL;
}

static void read_rule(struct found *f, const char *path, struct json_object *body)
{
    struct gce *g = f->g;
    struct gce_rule *rule = ARENA_NEW(g->a, struct gce_rule);
    rule->path = path;
    rule->body = body;
    if (!gce_address(g->a, json_str(body, "IPAddress"), &rule->address)) {
        return;
    }
    rule->text = gce_address_text(g->a, &rule->address);
    map_set(f->addresses, rule->text, NULL);
    if (!is_pass_through(g, rule)) {
        return;
    }
    rule->ipv6 = rule->address.len == 16;
    rule->internal = str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL");
    rule->network = rule->internal ? network_of(g, rule) : NULL;
    rule->firewalls = gce_firewalls_to(g, &rule->address);
    gce_targets_read(g, rule);
    f->rules[f->n++] = rule;
}

/* --- addresses without a rule ----------------------------------------------------------------- */

static void note_address(struct found *f, const char *text)
{
    struct ip_addr ip;
    if (gce_address(f->g->a, text, &ip)) {
        map_set(f->addresses, gce_address_text(f->g->a, &ip), NULL);
    }
}

static bool note_machine(const char *path, void *value, void *arg)
{
    const struct gce_machine *m = value;
    struct json_object *nics = json_member(m->body, "networkInterfaces");
    (void)path;
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        struct json_object *configs = json_member(nic, "accessConfigs");
        note_address(arg, json_str(nic, "networkIP"));
        note_address(arg, json_str(nic, "ipv6Address"));
        for (size_t k = 0; k < json_len(configs); k++) {
            note_address(arg, json_str(json_object_array_get_idx(configs, k), "natIP"));
        }
    }
    return true;
}

/* Reserved for load balancers, as far as its purpose says. */
static bool is_for_rules(struct json_object *address)
{
    const char *purpose = json_str(address, "purpose");
    return purpose == NULL || str_eq(purpose, "GCE_ENDPOINT") ||
           str_eq(purpose, "SHARED_LOADBALANCER_VIP");
}

static void add_unused(struct found *f, struct reach *r)
{
    map_each(f->g->machines, note_machine, f);
    json_object_object_foreach(f->g->resources, path, body)
    {
        struct ip_addr ip;
        if (!gce_is(path, "addresses") || !is_for_rules(body) ||
            !gce_address(f->g->a, json_str(body, "address"), &ip)) {
            continue;
        }
        const char *text = gce_address_text(f->g->a, &ip);
        if (!map_has(f->addresses, text)) {
            (void)reach_listen(r, &(struct reach_listener){
                                      .address = text,
                                      .internal = str_eq(json_str(body, "addressType"), "INTERNAL"),
                                      .why = REACH_NO_LISTENER,
                                  });
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

void reach_gce(struct reach *r, struct json_object *world)
{
    struct arena *a = reach_arena(r);
    struct gce g = {
        .a = a,
        .resources = json_member(world, "gce"),
        .members = json_member(world, "members"),
        .cluster = reach_cluster(r, world),
        .texts = reach_map(a),
        .machines = reach_map(a),
        .classes = reach_map(a),
        .pinned = reach_map(a),
    };
    if (!json_object_is_type(g.resources, json_type_object)) {
        return;
    }
    struct found f = {.g = &g, .addresses = reach_map(a)};
    f.rules = ARENA_ARRAY(a, struct gce_rule *, (size_t)json_object_object_length(g.resources) + 1);
    gce_machines_read(&g);
    gce_firewalls_read(&g);
    json_object_object_foreach(g.resources, path, body)
    {
        if (gce_is(path, "forwardingRules")) {
            read_rule(&f, path, body);
        }
    }
    gce_fronts_add(&g, r, f.rules, f.n);
    add_unused(&f, r);
}
