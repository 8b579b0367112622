/* SPDX-License-Identifier: Apache-2.0 */
/* rig_network.c: the rig's second networks: a VPC and a subnetwork in the cloud, interfaces of
 * instances in it, and what the cluster knows of them: annotations of Nodes,
 * and objects (rig.h). */
#include "tests/unit/gce/rig_internal.h"

#include <string.h>

#define ANN_NETWORKS "networking.gke.io/north-interfaces"

void rig_object(struct rig *r, const char *path, const char *json)
{
    if (json == NULL) {
        (void)map_remove(r->objects, path);
    } else {
        map_set(r->objects, path, xstrdup(json));
    }
}

/* ---- the cloud ------------------------------------------------------------------------------- */

static const char *link_of(struct rig *r, const char *path)
{
    return arena_printf(r->a, "https://www.googleapis.com/compute/v1/%s", path);
}

static struct json_object *resource(struct rig *r, const char *kind, const char *path)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", kind);
    json_add_str(o, "name", strrchr(path, '/') + 1);
    json_add_str(o, "id", arena_printf(r->a, "%zu", 900000 + strlen(path)));
    json_add_str(o, "selfLink", link_of(r, path));
    return o;
}

static struct json_object *instance_of(struct json_object *cloud, const char *name)
{
    json_object_object_foreach(cloud, path, o)
    {
        if (strstr(path, "/instances/") != NULL && str_has_suffix(path, name) &&
            path[strlen(path) - strlen(name) - 1] == '/') {
            return o;
        }
    }
    fail_msg("no instance %s", name);
    return NULL;
}

/* ---- both sides ------------------------------------------------------------------------------ */

static void annotate(struct rig *r, const char *node, const char *value)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        if (!str_eq(r->nodes[i]->name, node)) {
            continue;
        }
        struct tt_node *copy = arena_memdup(r->a, r->nodes[i], sizeof(*copy));
        struct tt_kv *list = ARENA_NEW(r->a, struct tt_kv);
        *list = (struct tt_kv){ANN_NETWORKS, value};
        copy->annotations = list;
        copy->n_annotations = 1;
        r->nodes[i] = copy;
    }
}

void rig_add_network(struct rig *r, const char *name, const char *nodes)
{
    struct json_object *world = rig_save(r);
    struct json_object *cloud = json_member(world, "gce");
    const char *vpc = arena_printf(r->a, "projects/%s/global/networks/%s-vpc", r->project, name);
    const char *sub =
        arena_printf(r->a, "projects/%s/regions/us-central1/subnetworks/%s-sub", r->project, name);
    struct json_object *subnet = resource(r, "compute#subnetwork", sub);
    json_add(cloud, vpc, resource(r, "compute#network", vpc));
    json_add_str(subnet, "network", link_of(r, vpc));
    json_add_str(subnet, "ipCidrRange", "172.16.0.0/20");
    json_add_str(subnet, "region",
                 link_of(r, arena_printf(r->a, "projects/%s/regions/us-central1", r->project)));
    json_add(cloud, sub, subnet);
    size_t n = 0;
    char **names = str_split(r->a, nodes, ' ', &n);
    for (size_t i = 0; i < n; i++) {
        int64_t number = 0;
        assert_true(str_to_i64(strrchr(names[i], '-') + 1, &number));
        const char *ip = arena_printf(r->a, "172.16.0.%d", (int)number + 1);
        struct json_object *nic = json_object_new_object();
        json_add_str(nic, "name", "nic1");
        json_add_str(nic, "network", link_of(r, vpc));
        json_add_str(nic, "subnetwork", link_of(r, sub));
        json_add_str(nic, "networkIP", ip);
        json_object_array_add(json_member(instance_of(cloud, names[i]), "networkInterfaces"), nic);
        annotate(r, names[i],
                 arena_printf(r->a, "[{\"network\":\"%s\",\"ipAddress\":\"%s\"}]", name, ip));
    }
    rig_load(r, world);
    json_object_put(world);
}
