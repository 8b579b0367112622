/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_gce_nodes.c: nodes and pods of fault-chaos with Google's L4 kinds (chaos_gce_l4.h).
 *
 * Pods are where a ReplicaSet would have them: who has lost its node is on another one at once.  A
 * Service never is without pods as long as there are nodes, so that its NEGs have no reason
 * to be empty. */
#include "tests/fault/chaos_gce_l4.h"

#include <stdio.h>
#include <string.h>

#include "common/base/map.h"

#define PODS_NOT_FEWER 1
#define NODES_MIN      4
#define STEPS_MAX      4
#define EXCLUDED       "node.kubernetes.io/exclude-from-external-load-balancers"

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct json_object *nodes_of(struct chaos *c)
{
    return json_path(rig_world(c->s.rig), "kubernetes.nodes");
}

static struct json_object *any_of(struct chaos *c, struct json_object *nodes)
{
    size_t n = json_len(nodes);
    return n == 0 ? NULL : json_object_array_get_idx(nodes, chaos_below(c, n));
}

static const char *name_of(struct json_object *node)
{
    return str_nonnull(json_str(json_member(node, "metadata"), "name"));
}

static const char *zone_of(struct json_object *node)
{
    return str_nonnull(json_str(json_path(node, "metadata.labels"), "topology.kubernetes.io/zone"));
}

static bool is_there(struct json_object *nodes, const char *name)
{
    for (size_t i = 0; i < json_len(nodes); i++) {
        if (str_eq(name_of(json_object_array_get_idx(nodes, i)), name)) {
            return true;
        }
    }
    return false;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static int put_pods(struct chaos *c, struct wish *w, struct json_object *nodes)
{
    _cleanup_(json_putp) struct json_object *o = json_object_new_object();
    for (size_t i = 0; w->crowd && i < json_len(nodes); i++) {
        json_add_int(o, name_of(json_object_array_get_idx(nodes, i)), 1);
    }
    for (unsigned i = 0; !w->crowd && i < w->n_pods; i++) {
        json_add_int(o, w->pods[i], 1);
    }
    return chaos_step(c, STEP_PODS, w->name, json_text(c->s.a, o, JSON_COMPACT));
}

static bool is_shut_out(struct json_object *node)
{
    return json_member(json_path(node, "metadata.labels"), EXCLUDED) != NULL;
}

/* On any node that takes part, if there is one. */
static void place(struct chaos *c, char pod[24], struct json_object *nodes)
{
    struct json_object *node = any_of(c, nodes);
    for (size_t i = 0; i < json_len(nodes) && is_shut_out(node); i++) {
        node = json_object_array_get_idx(nodes, i);
    }
    (void)snprintf(pod, 24, "%s", name_of(node));
}

int l4_pods_first(struct chaos *c, struct wish *w)
{
    struct json_object *nodes = nodes_of(c);
    w->n_pods = 1 + (unsigned)chaos_below(c, CHAOS_PODS_MAX);
    w->crowd = l4_of(c)->family->crowds && chaos_one_in(c, 2);
    for (unsigned i = 0; i < w->n_pods; i++) {
        place(c, w->pods[i], nodes);
    }
    return put_pods(c, w, nodes);
}

/* Moves pods that lost their node, or are on `but` (NULL: none), to another one. */
static int reschedule(struct chaos *c, const char *but)
{
    struct json_object *nodes = nodes_of(c);
    int rc = ERR_OK;
    for (size_t i = json_len(nodes); i > 0; i--) {
        if (str_eq(name_of(json_object_array_get_idx(nodes, i - 1)), but)) {
            json_object_array_del_idx(nodes, i - 1, 1);
        }
    }
    for (size_t i = 0; i < c->n_services && rc == ERR_OK; i++) {
        struct wish *w = &c->wishes[i];
        bool moved = w->crowd;
        for (unsigned k = 0; !w->crowd && k < w->n_pods; k++) {
            if (!is_there(nodes, w->pods[k])) {
                place(c, w->pods[k], nodes);
                moved = true;
            }
        }
        if (w->name[0] != '\0' && moved) {
            rc = put_pods(c, w, nodes);
        }
    }
    return rc;
}

int l4_roll_out(struct chaos *c)
{
    struct wish *w = chaos_any_wish(c, true);
    int rc = ERR_OK;
    if (w == NULL) {
        return ERR_OK;
    }
    w->crowd = false;
    size_t steps = 1 + chaos_below(c, STEPS_MAX);
    for (size_t i = 0; i < steps && rc == ERR_OK; i++) {
        struct json_object *nodes = nodes_of(c);
        if (chaos_one_in(c, 4) && w->n_pods < CHAOS_PODS_MAX) {
            place(c, w->pods[w->n_pods++], nodes);
        } else if (chaos_one_in(c, 4) && w->n_pods > PODS_NOT_FEWER) {
            w->n_pods--;
        } else {
            place(c, w->pods[chaos_below(c, w->n_pods)], nodes);
        }
        rc = put_pods(c, w, nodes);
        rc = rc == ERR_OK ? stage_live(&c->s, chaos_one_in(c, 2) ? 0 : RIG_SOON) : rc;
    }
    return rc;
}

/* ---- coming and going ------------------------------------------------------------------------ */

static int take_away(struct chaos *c, const char *name)
{
    writer_gce_unsteady(l4_of(c)->writer, name);
    return chaos_step(c, STEP_REMOVE_NODE, name, NULL);
}

struct arrival {
    const char *name;
    const char *zone;
    int index; /* gives its addresses */
    bool both;
    int rc;
};

static void arrive(struct sim *s, void *arg)
{
    struct arrival *v = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    void *cloud = sim_module_state(s, "gce");
    struct map *taken = sim_compute_addresses(cloud);
    struct sim_node node = {.name = v->name, .zone = v->zone, .index = v->index};
    node.provider_id =
        arena_printf(a, "gce://%s/%s/%s", sim_compute_project(cloud), node.zone, node.name);
    v->rc = sim_compute_place(cloud, a, v->both, taken, &node, NULL);
    v->rc = v->rc == ERR_OK ? sim_compute_add_instance(cloud, &node, NULL) : v->rc;
    v->rc = v->rc == ERR_OK ? sim_kube_add_node(sim_module_state(s, "kubernetes"), &node, 0, NULL)
                            : v->rc;
    map_free(taken);
}

/* Under its name; `moved`: with another address. */
static int bring_back(struct chaos *c, const char *name, const char *zone, bool moved)
{
    int64_t number = 0;
    (void)str_to_i64(name + strlen("node-"), &number); /* the simulator's names */
    struct arrival v = {.name = name,
                        .zone = zone,
                        .index = (int)number + (moved ? 700 : 0),
                        .both = c->s.both_families};
    str_appendf(&c->story, "%s is back in %s%s\n", name, zone, moved ? ", elsewhere" : "");
    rig_in_sim(c->s.rig, arrive, &v);
    return v.rc == ERR_OK ? ERR_OK : err_set(c->s.err, ERR_BUG, "%s cannot come back", name);
}

static int add_nodes(struct chaos *c, size_t n, const char *zone)
{
    const char *where = zone == NULL ? "" : arena_printf(c->s.a, ",\"zone\":\"%s\"", zone);
    const char *body = arena_printf(c->s.a, "{\"count\":%zu%s,\"ipv6\":%s}", n, where,
                                    c->s.both_families ? "true" : "false");
    str_appendf(&c->story, "more nodes %s\n", body);
    int status = rig_kube(c->s.rig, "POST", "/sim/nodes", body, NULL);
    return status == 200 ? ERR_OK : err_set(c->s.err, ERR_BUG, "nodes: answered %d", status);
}

int l4_change_nodes(struct chaos *c)
{
    struct json_object *nodes = nodes_of(c);
    size_t n = json_len(nodes);
    size_t edge = l4_of(c)->family->edge;
    int rc = ERR_OK;
    if (n < edge || (n == edge && chaos_one_in(c, 2))) {
        rc = add_nodes(c, 1 + (edge > n + 1 ? chaos_below(c, edge - n) : 0), NULL);
    } else if (n > NODES_MIN) {
        rc = take_away(c, name_of(any_of(c, nodes)));
    }
    return rc == ERR_OK ? reschedule(c, NULL) : rc;
}

int l4_recreate(struct chaos *c)
{
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    struct json_object *node = any_of(c, nodes_of(c));
    const char *name = name_of(node);
    if (l4_of(c)->family->groups) {
        return l4_change_nodes(c); /* a machine leaves its group, unnoticed if it is back at once */
    }
    const char *zone = chaos_one_in(c, 2) ? zone_of(node) : zones[chaos_below(c, ARRAY_LEN(zones))];
    int rc = take_away(c, name);
    if (rc == ERR_OK && chaos_one_in(c, 2)) {
        rc = stage_live(&c->s, RIG_SOON);
    }
    rc = rc == ERR_OK ? bring_back(c, name, zone, chaos_one_in(c, 2)) : rc;
    return rc == ERR_OK ? reschedule(c, NULL) : rc;
}

static int return_all(struct chaos *c)
{
    struct l4 *l4 = l4_of(c);
    int rc = ERR_OK;
    bool anew = chaos_one_in(c, 2);
    if (anew) {
        rc = add_nodes(c, l4->n_lost, l4->lost[0].zone);
    }
    for (size_t i = 0; i < l4->n_lost && !anew && rc == ERR_OK; i++) {
        rc = bring_back(c, l4->lost[i].name, l4->lost[i].zone, false);
    }
    l4->n_lost = 0;
    return rc;
}

int l4_zone(struct chaos *c)
{
    struct l4 *l4 = l4_of(c);
    if (l4->n_lost > 0) {
        int rc = return_all(c);
        return rc == ERR_OK ? reschedule(c, NULL) : rc;
    }
    struct json_object *nodes = nodes_of(c);
    const char *zone = zone_of(any_of(c, nodes));
    size_t others = 0;
    for (size_t i = 0; i < json_len(nodes); i++) {
        others += !str_eq(zone_of(json_object_array_get_idx(nodes, i)), zone);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < json_len(nodes) && others > 0 && rc == ERR_OK; i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        if (str_eq(zone_of(node), zone) && l4->n_lost < LOST_MAX) {
            struct l4_lost *lost = &l4->lost[l4->n_lost++];
            (void)snprintf(lost->name, sizeof(lost->name), "%s", name_of(node));
            (void)snprintf(lost->zone, sizeof(lost->zone), "%s", zone);
            rc = take_away(c, lost->name);
        }
    }
    return rc == ERR_OK ? reschedule(c, NULL) : rc;
}

/* ---- what they are --------------------------------------------------------------------------- */

static int patch_node(struct chaos *c, const char *name, const char *what, const char *body)
{
    const char *path = arena_printf(c->s.a, "/api/v1/nodes/%s%s", name, what);
    str_appendf(&c->story, "node %s %s\n", name, body);
    for (int i = 0; i < 2; i++) {
        if (rig_kube(c->s.rig, "PATCH", path, body, NULL) == 200) {
            return ERR_OK;
        }
        probe_heal(c->s.probe); /* it is down for all */
    }
    return err_set(c->s.err, ERR_BUG, "node %s cannot be edited", name);
}

static int make_ready(struct chaos *c, struct json_object *node, const char *ready)
{
    return patch_node(c, name_of(node), "/status",
                      arena_printf(c->s.a,
                                   "{\"status\":{\"conditions\":[{\"type\":\"Ready\","
                                   "\"status\":\"%s\"}]}}",
                                   ready));
}

int l4_unready(struct chaos *c)
{
    static const char *const states[] = {"False", "Unknown", "True", "True"};
    struct json_object *nodes = nodes_of(c);
    const char *state = states[chaos_below(c, ARRAY_LEN(states))];
    struct json_object *any = any_of(c, nodes);
    const char *zone = zone_of(any);
    if (!chaos_one_in(c, 4)) {
        return make_ready(c, any, state);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < json_len(nodes) && rc == ERR_OK; i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        if (str_eq(zone_of(node), zone)) {
            rc = make_ready(c, node, state);
        }
    }
    return rc;
}

/* It is drained first. */
int l4_shut_out(struct chaos *c)
{
    struct json_object *nodes = nodes_of(c);
    const char *name = name_of(any_of(c, nodes));
    for (size_t i = 0; i < json_len(nodes) && !chaos_one_in(c, 3); i++) {
        struct json_object *one = json_object_array_get_idx(nodes, i);
        if (is_shut_out(one)) {
            return patch_node(c, name_of(one), "",
                              "{\"metadata\":{\"labels\":{\"" EXCLUDED "\":null}}}");
        }
    }
    writer_gce_unsteady(l4_of(c)->writer, name);
    int rc = json_len(nodes) > NODES_MIN ? reschedule(c, name) : ERR_OK;
    return rc == ERR_OK
               ? patch_node(c, name, "", "{\"metadata\":{\"labels\":{\"" EXCLUDED "\":\"\"}}}")
               : rc;
}
