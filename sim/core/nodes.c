/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c: nodes that come and go, each a Kubernetes Node with its instance in the cloud.
 *
 * Names are node-0, node-1 …, zones go round, addresses follow the number (10.128.0.10 + n, as in
 * the recorded worlds), so that the same start is made again.  Kubernetes and the cloud change
 * together. */
#include "common/base/map.h"
#include "sim/core/frame.h"

#include <string.h>

#define PLAIN_NODES_FROM 10 /* the first node's address ends in it */

/* `next`, or the number behind that of a node of this name. */
static int behind(int next, const char *name)
{
    int64_t number;
    bool ours =
        name && str_has_prefix(name, "node-") && str_to_i64(name + strlen("node-"), &number);
    return ours && number >= next && number < 1000000 ? (int)number + 1 : next;
}

static int behind_instances(int next, struct json_object *gce)
{
    json_object_object_foreach(gce, path, body)
    {
        const char *at = strstr(path, "/instances/");
        next = behind(next, at ? at + strlen("/instances/") : NULL);
        (void)body;
    }
    return next;
}

/* The first number that no node has: nodes and instances of a loaded world count too. */
static int next_number(struct sim *s)
{
    struct json_object *world = sim_dump(s);
    struct json_object *nodes = json_path(world, "kubernetes.nodes"),
                       *gce = json_member(world, "gce");
    int next = s->next_node;
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        next = behind(next, json_str(json_member(node, "metadata"), "name"));
    }
    next = gce ? behind_instances(next, gce) : next;
    json_object_put(world);
    return next;
}

/* Where the nodes of one call go. */
struct placing {
    const struct sim_nodes_wish *wish;
    const char **zones;
    size_t n_zones;
    struct map *taken; /* addresses */
};

static int add_one(struct sim *s, const struct placing *p, int number, struct err *err)
{
    struct arena *a = arena_new();
    void *cloud = sim_module_state(s, "gce"), *kube = sim_module_state(s, "kubernetes");
    const char *next = p->n_zones ? p->zones[(size_t)number % p->n_zones] : s->cfg.zones[0];
    struct sim_node node = {
        .name = arena_printf(a, "node-%d", number),
        .zone = str_or(p->wish->zone, next),
        .subnetwork = p->wish->subnetwork,
        .index = number,
    };
    node.provider_id =
        arena_printf(a, "gce://%s/%s/%s", sim_compute_project(cloud), node.zone, node.name);
    int code = sim_compute_place(cloud, a, p->wish->ipv6, p->taken, &node, err);
    if (!code) {
        code = sim_compute_add_instance(cloud, &node, err);
    }
    if (!code && kube) {
        code = sim_kube_add_node(kube, &node, s->cfg.node_images, err);
    }
    arena_free(a);
    return code;
}

static bool has_zone(const struct placing *p, const char *zone)
{
    bool found = !zone;
    for (size_t i = 0; i < p->n_zones && !found; i++) {
        found = str_eq(p->zones[i], zone);
    }
    return found;
}

static int add_google(struct sim *s, const struct sim_nodes_wish *wish,
                      struct json_object *ret_names, struct err *err)
{
    struct arena *a = arena_new();
    void *cloud = sim_module_state(s, "gce");
    struct placing p = {.wish = wish};
    p.zones = sim_compute_zones(cloud, a, &p.n_zones);
    int code = ERR_OK;
    if (!has_zone(&p, wish->zone)) {
        code = err_set(err, ERR_INVALID, "there is no zone \"%s\"", wish->zone);
    }
    p.taken = sim_compute_addresses(cloud);
    s->next_node = next_number(s);
    for (int i = 0; !code && i < wish->count; i++) {
        int number = s->next_node++;
        code = add_one(s, &p, number, err);
        if (!code && ret_names) {
            json_push_str(ret_names, arena_printf(a, "node-%d", number));
        }
    }
    map_free(p.taken);
    arena_free(a);
    return code;
}

/* Azure's machines name themselves: after their scale set and their number in it. */
static int add_azure(struct sim *s, void *kube, struct json_object *ret_names, struct err *err)
{
    struct arena *a = arena_new();
    struct sim_node node = {0};
    int code = sim_arm_add_node(sim_module_state(s, "azure"), a, &node, err);
    if (!code && kube) {
        code = sim_kube_add_node(kube, &node, s->cfg.node_images, err);
    }
    if (!code && ret_names) {
        json_push_str(ret_names, node.name);
    }
    arena_free(a);
    return code;
}

/* Amazon's, too: after their private address. */
static int add_amazon(struct sim *s, const struct sim_nodes_wish *wish,
                      struct json_object *ret_names, struct err *err)
{
    struct arena *a = arena_new();
    void *cloud = sim_module_state(s, "aws"), *kube = sim_module_state(s, "kubernetes");
    struct map *taken = sim_aws_addresses(cloud);
    int number = sim_aws_next_node(cloud), code = ERR_OK;
    for (int i = 0; i < wish->count && !code; i++) {
        struct sim_node node = {.zone = wish->zone, .index = number + i};
        code = sim_aws_add_node(cloud, a, wish->ipv6, taken, &node, err);
        if (!code && kube) {
            code = sim_kube_add_node(kube, &node, s->cfg.node_images, err);
        }
        if (!code && ret_names) {
            json_push_str(ret_names, node.name);
        }
    }
    map_free(taken);
    arena_free(a);
    return code;
}

/* Without a cloud: Node objects alone, at 10.128.0.10 + n. */
static int add_plain(struct sim *s, const struct sim_nodes_wish *wish,
                     struct json_object *ret_names, struct err *err)
{
    void *kube = sim_module_state(s, "kubernetes");
    int code = ERR_OK;
    s->next_node = next_number(s);
    for (int i = 0; !code && i < wish->count; i++) {
        struct arena *a = arena_new();
        int number = s->next_node++, at = number + PLAIN_NODES_FROM;
        size_t n = s->cfg.n_zones;
        const struct sim_node node = {
            .name = arena_printf(a, "node-%d", number),
            .zone = wish->zone ? wish->zone
                    : n        ? s->cfg.zones[(size_t)number % n]
                               : NULL,
            .internal_ip = arena_printf(a, "10.128.%d.%d", at / 256, at % 256),
            .internal_ip6 = wish->ipv6 ? arena_printf(a, "fd00:10:128::%x", at) : "",
            .index = number,
        };
        code = sim_kube_add_node(kube, &node, s->cfg.node_images, err);
        if (!code && ret_names) {
            json_push_str(ret_names, node.name);
        }
        arena_free(a);
    }
    return code;
}

static bool is_none(const struct sim *s)
{
    return str_eq(s->cfg.cloud, "none");
}

static bool is_azure(const struct sim *s)
{
    return str_eq(s->cfg.cloud, "azure");
}

static bool is_amazon(const struct sim *s)
{
    return str_eq(s->cfg.cloud, "aws");
}

const char *sim_nodes_name(struct sim *s, struct arena *a, const char *name)
{
    int64_t number;
    bool numbered = str_has_prefix(name, "node-") && str_to_i64(name + strlen("node-"), &number);
    const char *real = !numbered      ? NULL
                       : is_azure(s)  ? sim_arm_node_name(sim_module_state(s, "azure"), a, number)
                       : is_amazon(s) ? sim_aws_node_name(sim_module_state(s, "aws"), number)
                                      : NULL;
    return real ? real : name;
}

/* Of a machine that its cloud names. */
static int remove_named(struct sim *s, const char *name, struct err *err)
{
    struct arena *a = arena_new();
    void *kube = sim_module_state(s, "kubernetes");
    struct err gone = ERR_INIT;
    name = arena_strdup(a, sim_nodes_name(s, a, name));
    int code = kube ? sim_kube_remove_node(kube, name, err) : ERR_OK;
    if (!code) {
        code = is_azure(s) ? sim_arm_remove_node(sim_module_state(s, "azure"), name, &gone)
                           : sim_aws_remove_node(sim_module_state(s, "aws"), name, &gone);
        code = code == ERR_NOT_FOUND && kube ? ERR_OK : code ? err_copy(err, &gone) : ERR_OK;
    }
    arena_free(a);
    return code;
}

int sim_nodes_add(struct sim *s, const struct sim_nodes_wish *wish, struct json_object *ret_names,
                  struct err *err)
{
    if (is_none(s)) {
        return add_plain(s, wish, ret_names, err);
    }
    if (is_amazon(s)) {
        return add_amazon(s, wish, ret_names, err);
    }
    if (!is_azure(s)) {
        return add_google(s, wish, ret_names, err);
    }
    int code = ERR_OK;
    for (int i = 0; i < wish->count && !code; i++) {
        code = add_azure(s, sim_module_state(s, "kubernetes"), ret_names, err);
    }
    return code;
}

int sim_nodes_remove(struct sim *s, const char *name, struct err *err)
{
    void *kube = sim_module_state(s, "kubernetes");
    if (is_azure(s) || is_amazon(s)) {
        return remove_named(s, name, err);
    }
    int code = kube ? sim_kube_remove_node(kube, name, err) : ERR_OK;
    if (code || is_none(s)) {
        return code;
    }
    struct err gone = ERR_INIT;
    code = sim_compute_remove_instance(sim_module_state(s, "gce"), name, &gone);
    /* A node without an instance is fine: it may have come from a manifest. */
    return code == ERR_OK || (kube && code == ERR_NOT_FOUND) ? ERR_OK : err_copy(err, &gone);
}
