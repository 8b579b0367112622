/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest.c: completes Services as the API server would store them; see the header.  Reading
 * is in cmd_manifest_read.c.
 *
 * Source of the defaults: Kubernetes core/v1 defaulting of Services (controller.md §5.2; recorded
 * answers 016, 018, 157, 162). */
#include "controller/cmd/cmd_manifest.h"

#include <string.h>

#include <uuid/uuid.h>

#define LAST_APPLIED  "kubectl.kubernetes.io/last-applied-configuration"
#define STAND_IN_PORT 30000 /* the first of the API server's default range of node ports */

static void default_str(struct json_object *o, const char *name, const char *value)
{
    struct json_object *v = json_member(o, name);
    if (v == NULL ||
        (json_object_is_type(v, json_type_string) && json_object_get_string_len(v) == 0)) {
        json_object_object_del(o, name);
        json_add_str(o, name, value);
    }
}

/* Takes over from the live object what the server allocated and the manifest leaves out. */
static void keep(struct json_object *o, struct json_object *live, const char *name)
{
    struct json_object *value = json_member(live, name);
    if (json_member(o, name) == NULL && value != NULL) {
        json_add(o, name, json_copy(value));
    }
}

static bool has_node_port(struct json_object *ports, int64_t number)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int(json_object_array_get_idx(ports, i), "nodePort", 0) == number) {
            return true;
        }
    }
    return false;
}

/* Members that the manifest lacks: those of the live object stay, unless the last apply had them.
 * Maps are merged. */
static void take_over(struct json_object *o, struct json_object *live, struct json_object *last)
{
    if (!json_object_is_type(live, json_type_object)) {
        return;
    }
    json_object_object_foreach(live, name, value)
    {
        struct json_object *mine = json_member(o, name);
        if (json_object_is_type(mine, json_type_object)) {
            take_over(mine, value, json_member(last, name));
        } else if (json_member(last, name) == NULL) {
            keep(o, live, name);
        }
    }
}

/* ---- ports ----------------------------------------------------------------------------------- */

#define NO_PORT SIZE_MAX

static int64_t number_of(struct json_object *port)
{
    return json_int(port, "port", 0);
}

/* Returns the index of the port of `others` with which a strategic merge merges `port` of `ports`:
 * of the same number, and of the same protocol where several have the number; or NO_PORT. */
static size_t same_port(struct json_object *ports, struct json_object *port,
                        struct json_object *others)
{
    const char *protocol = str_or(json_str(port, "protocol"), "TCP");
    size_t first = NO_PORT;
    size_t n = 0;
    for (size_t i = 0; i < json_len(others) && number_of(port) != 0; i++) {
        struct json_object *other = json_object_array_get_idx(others, i);
        if (number_of(other) == number_of(port)) {
            if (str_eq(str_or(json_str(other, "protocol"), "TCP"), protocol)) {
                return i;
            }
            first = first == NO_PORT ? i : first;
        }
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        n += number_of(json_object_array_get_idx(ports, i)) == number_of(port);
    }
    return n == 1 ? first : NO_PORT;
}

/* Tells whether live port `k` is the cluster's alone: the manifest lacks it, and the
 * last apply lacked it. */
static bool is_theirs(struct json_object *ports, struct json_object *live_ports, size_t k,
                      struct json_object *last_ports)
{
    struct json_object *live = json_object_array_get_idx(live_ports, k);
    for (size_t i = 0; i < json_len(ports); i++) {
        if (same_port(ports, json_object_array_get_idx(ports, i), live_ports) == k) {
            return false;
        }
    }
    return same_port(live_ports, live, last_ports) == NO_PORT;
}

/* Merges the manifest's ports with those of the live object, as the strategic merge of kubectl
 * apply does.  A live port that stays stands before the first of the manifest's that comes later in
 * the live object.  `last_spec` is NULL where kubectl apply did not write the object: Helm and
 * kubectl replace write all ports of the manifest and no others. */
static void merge_ports(struct json_object *spec, struct json_object *live_ports,
                        struct json_object *last_spec)
{
    struct json_object *ports = json_member(spec, "ports");
    struct json_object *last_ports = json_member(last_spec, "ports");
    struct json_object *merged;
    size_t at = 0; /* of the manifest's next port */
    if (!json_object_is_type(ports, json_type_array) || json_len(live_ports) == 0) {
        return;
    }
    merged = json_object_new_array();
    for (size_t k = 0; k < json_len(live_ports); k++) {
        if (last_spec == NULL || !is_theirs(ports, live_ports, k, last_ports)) {
            continue;
        }
        size_t stop = at;
        for (; stop < json_len(ports); stop++) {
            size_t i = same_port(ports, json_object_array_get_idx(ports, stop), live_ports);
            if (i != NO_PORT && i > k) {
                break;
            }
        }
        while (at < stop) {
            json_object_array_add(merged, json_object_get(json_object_array_get_idx(ports, at++)));
        }
        json_object_array_add(merged, json_copy(json_object_array_get_idx(live_ports, k)));
    }
    while (at < json_len(ports)) {
        json_object_array_add(merged, json_object_get(json_object_array_get_idx(ports, at++)));
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        size_t in_live = same_port(ports, port, live_ports);
        size_t in_last = same_port(ports, port, last_ports);
        if (in_live != NO_PORT && json_object_is_type(port, json_type_object)) {
            take_over(port, json_object_array_get_idx(live_ports, in_live),
                      in_last == NO_PORT ? NULL : json_object_array_get_idx(last_ports, in_last));
        }
    }
    json_object_object_del(spec, "ports");
    json_add(spec, "ports", merged);
}

/* A port without a node port has that of the live port of its name, unless another port
 * has taken it. */
static void keep_node_port(struct json_object *spec, struct json_object *port,
                           struct json_object *live_ports)
{
    const char *name = str_nonnull(json_str(port, "name"));
    for (size_t k = 0; k < json_len(live_ports); k++) {
        struct json_object *live = json_object_array_get_idx(live_ports, k);
        int64_t number = json_int(live, "nodePort", 0);
        if (number != 0 && str_eq(name, str_nonnull(json_str(live, "name"))) &&
            json_bool(spec, "allocateLoadBalancerNodePorts", true) &&
            !has_node_port(json_member(spec, "ports"), number)) {
            keep(port, live, "nodePort");
        }
    }
}

/* The server takes the number 0 for an absent one. */
static void drop_zero(struct json_object *o, const char *name)
{
    if (json_int(o, name, -1) == 0) {
        json_object_object_del(o, name);
    }
}

/* Node ports are kept by the name of the port (recorded answers 157, 162, 163). */
static void complete_ports(struct json_object *spec, struct json_object *live_spec,
                           struct json_object *last_spec)
{
    struct json_object *live_ports = json_member(live_spec, "ports");
    merge_ports(spec, live_ports, last_spec);
    struct json_object *ports = json_member(spec, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        if (!json_object_is_type(port, json_type_object)) {
            continue; /* the decoder refuses it and says where */
        }
        default_str(port, "protocol", "TCP");
        struct json_object *target = json_member(port, "targetPort");
        bool unset = target == NULL || str_eq(json_object_get_string(target), "") ||
                     str_eq(json_object_get_string(target), "0");
        if (unset && json_member(port, "port") != NULL) {
            json_object_object_del(port, "targetPort");
            json_add(port, "targetPort", json_copy(json_member(port, "port")));
        }
        drop_zero(port, "nodePort");
        keep_node_port(spec, port, live_ports);
    }
}

/* ---- the spec -------------------------------------------------------------------------------- */

static bool wants_check_port(struct json_object *spec)
{
    return str_eq(json_str(spec, "type"), "LoadBalancer") &&
           str_eq(json_str(spec, "externalTrafficPolicy"), "Local");
}

/* The node port of another port of that number, which a new Service shares with it; 0 if
 * there is none. */
static int64_t port_of_sibling(struct json_object *ports, int64_t number)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *other = json_object_array_get_idx(ports, i);
        if (number_of(other) == number && json_int(other, "nodePort", 0) != 0) {
            return json_int(other, "nodePort", 0);
        }
    }
    return 0;
}

/* Ports to which the API server would give a node port get one after the other; those of a new
 * Service that differ in their protocol alone get one together.  True: some did. */
static bool make_node_ports(struct json_object *spec, bool is_new)
{
    struct json_object *ports = json_member(spec, "ports");
    bool wanted = str_eq(json_str(spec, "type"), "LoadBalancer") &&
                  json_bool(spec, "allocateLoadBalancerNodePorts", true);
    int64_t next = STAND_IN_PORT + 1;
    bool made = false;
    for (size_t i = 0; wanted && i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        if (!json_object_is_type(port, json_type_object) || json_int(port, "nodePort", 0) != 0) {
            continue;
        }
        int64_t shared = is_new ? port_of_sibling(ports, number_of(port)) : 0;
        while (shared == 0 && has_node_port(ports, next)) {
            next++;
        }
        json_object_object_del(port, "nodePort");
        json_add_int(port, "nodePort", shared != 0 ? shared : next++);
        made = true;
    }
    return made;
}

/* Names the parts of a spec that only the API server can know, and that were made up. */
struct made {
    bool check_port;
    bool node_ports;
};

static bool has_type(struct json_object *spec, const char *type)
{
    return str_eq(json_str(spec, "type"), type);
}

static bool has_node_ports(struct json_object *spec)
{
    return has_type(spec, "NodePort") || has_type(spec, "LoadBalancer");
}

/* Externally accessible: externalTrafficPolicy is for those. */
static bool is_outside(struct json_object *spec)
{
    return has_node_ports(spec) ||
           (has_type(spec, "ClusterIP") && json_len(json_member(spec, "externalIPs")) > 0);
}

/* With its type a Service loses fields, unless the manifest says something new of
 * them (recorded 088, 090). */
static void drop_same(struct json_object *spec, struct json_object *live_spec, const char *name)
{
    struct json_object *v = json_member(spec, name);
    struct json_object *was = json_member(live_spec, name);
    if (v != NULL && was != NULL && json_equal(v, was)) {
        json_object_object_del(spec, name);
    }
}

static void drop_node_ports(struct json_object *spec, struct json_object *live_spec)
{
    struct json_object *ports = json_member(spec, "ports");
    struct json_object *live_ports = json_member(live_spec, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        int64_t number = json_int(port, "nodePort", 0);
        if (number != 0 && has_node_port(live_ports, number)) {
            json_object_object_del(port, "nodePort");
        }
    }
}

static void drop_for_type(struct json_object *spec, struct json_object *live_spec)
{
    static const char *const inside[] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy",
                                         "internalTrafficPolicy"};
    for (size_t i = 0; i < ARRAY_LEN(inside) && has_type(spec, "ExternalName"); i++) {
        drop_same(spec, live_spec, inside[i]);
    }
    if (has_node_ports(live_spec) && !has_node_ports(spec)) {
        drop_node_ports(spec, live_spec);
    }
    if (has_type(live_spec, "LoadBalancer") && !has_type(spec, "LoadBalancer")) {
        drop_same(spec, live_spec, "allocateLoadBalancerNodePorts");
        drop_same(spec, live_spec, "loadBalancerClass");
    }
    if (!is_outside(spec)) {
        drop_same(spec, live_spec, "externalTrafficPolicy");
    }
    if (!wants_check_port(spec)) {
        drop_same(spec, live_spec, "healthCheckNodePort");
    }
}

static void truncate_list(struct json_object *spec, const char *name)
{
    struct json_object *list = json_member(spec, name);
    if (json_len(list) > 1) {
        struct json_object *first = json_object_new_array();
        json_object_array_add(first, json_object_get(json_object_array_get_idx(list, 0)));
        json_object_object_del(spec, name);
        json_add(spec, name, first);
    }
}

static bool is_unchanged(struct json_object *spec, struct json_object *live_spec, const char *name)
{
    struct json_object *was = json_member(live_spec, name);
    return was != NULL && json_equal(json_member(spec, name), was);
}

/* RequireDualStack brings the other family (a cluster without one refuses the Service), SingleStack
 * takes the second one away.  What PreferDualStack brings depends on the cluster: nothing
 * is added for it. */
static void complete_families(struct json_object *spec, struct json_object *live_spec)
{
    const char *policy = json_str(spec, "ipFamilyPolicy");
    struct json_object *families = json_member(spec, "ipFamilies");
    const char *first = json_len(families) == 0
                            ? "IPv4"
                            : json_object_get_string(json_object_array_get_idx(families, 0));
    bool is_list = families == NULL || json_object_is_type(families, json_type_array);
    if (!has_node_ports(spec) || !is_list) {
        return;
    }
    if (str_eq(policy, "RequireDualStack") && json_len(families) < 2) {
        struct json_object *both = json_object_new_array();
        json_push_str(both, first);
        json_push_str(both, str_eq(first, "IPv6") ? "IPv4" : "IPv6");
        json_object_object_del(spec, "ipFamilies");
        json_add(spec, "ipFamilies", both);
    } else if (str_eq(policy, "SingleStack") && is_unchanged(spec, live_spec, "ipFamilies") &&
               !is_unchanged(spec, live_spec, "ipFamilyPolicy")) {
        truncate_list(spec, "ipFamilies");
        truncate_list(spec, "clusterIPs");
    }
}

static struct made complete_spec(struct json_object *spec, struct json_object *live_spec,
                                 struct json_object *last_spec)
{
    struct made made = {0};
    take_over(spec, live_spec, last_spec);
    default_str(spec, "type", "ClusterIP");
    default_str(spec, "sessionAffinity", "None");
    if (is_outside(spec)) {
        default_str(spec, "externalTrafficPolicy", "Cluster");
    }
    complete_ports(spec, live_spec, last_spec);
    drop_zero(spec, "healthCheckNodePort");
    if (wants_check_port(spec) && wants_check_port(live_spec)) {
        keep(spec, live_spec, "healthCheckNodePort");
    }
    drop_for_type(spec, live_spec);
    complete_families(spec, live_spec);
    made.node_ports = make_node_ports(spec, live_spec == NULL);
    if (wants_check_port(spec) && json_int(spec, "healthCheckNodePort", 0) == 0) {
        json_object_object_del(spec, "healthCheckNodePort");
        json_add_int(spec, "healthCheckNodePort", STAND_IN_PORT);
        made.check_port = true;
    }
    return made;
}

struct json_object *cmd_manifest_last_applied(struct arena *a, struct json_object *live)
{
    struct json_object *annotations = json_path(live, "metadata.annotations");
    const char *text = json_str(annotations, LAST_APPLIED);
    struct json_object *o = NULL;
    if (text == NULL || json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK ||
        !json_object_is_type(o, json_type_object)) {
        return NULL;
    }
    return o;
}

static struct json_object *member_or_new(struct json_object *o, const char *name)
{
    if (!json_object_is_type(json_member(o, name), json_type_object)) {
        json_object_object_del(o, name);
        json_add(o, name, json_object_new_object());
    }
    return json_member(o, name);
}

/* A uid made from the name: the same in every run, and of the right form. */
static char *made_uid(struct arena *a, const struct cmd_manifest *m)
{
    const char *name = arena_printf(a, "%s/%s", str_or(m->ns, "default"), m->name);
    uuid_t id;
    char text[37];
    uuid_generate_sha1(id, *uuid_get_template("url"), name, strlen(name));
    uuid_unparse_lower(id, text);
    return arena_strdup(a, text);
}

void cmd_manifest_stand_in(struct arena *a, const struct cmd_manifest *m, struct json_object *o)
{
    struct json_object *meta = member_or_new(o, "metadata");
    json_object_object_del(meta, "uid");
    json_add_str(meta, "uid", made_uid(a, m));
}

static const char *note_on_new(struct arena *a, const struct made *made)
{
    if (!made->node_ports && !made->check_port) {
        return "the cluster does not have it yet → its uid and the names made from it are "
               "stand-ins";
    }
    return arena_printf(a,
                        "the cluster does not have it yet → its uid%s%s and names made from "
                        "them are stand-ins",
                        made->node_ports ? ", node ports" : "",
                        made->check_port ? ", the health check's port" : "");
}

static const char *note_on(struct arena *a, bool is_new, const struct made *made)
{
    if (is_new) {
        return note_on_new(a, made);
    }
    if (made->node_ports) {
        return arena_printf(a,
                            "the API server has not chosen node ports yet → %d and the following "
                            "numbers are used instead",
                            made->check_port ? STAND_IN_PORT : STAND_IN_PORT + 1);
    }
    return made->check_port ? arena_printf(a,
                                           "the API server has not chosen the health check's port "
                                           "yet → %d stands for it",
                                           STAND_IN_PORT)
                            : NULL;
}

static bool has_text(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(list, i)), text)) {
            return true;
        }
    }
    return false;
}

/* The live object's stay, but for those that only the last apply had; then come those that
 * only the manifest has. */
static void merge_finalizers(struct json_object *meta, struct json_object *live,
                             struct json_object *last)
{
    struct json_object *mine = json_member(meta, "finalizers");
    struct json_object *merged = json_object_new_array();
    for (size_t i = 0; i < json_len(live); i++) {
        struct json_object *item = json_object_array_get_idx(live, i);
        const char *text = json_object_get_string(item);
        if (has_text(mine, text) || !has_text(last, text)) {
            json_object_array_add(merged, json_copy(item));
        }
    }
    for (size_t i = 0; i < json_len(mine); i++) {
        struct json_object *item = json_object_array_get_idx(mine, i);
        if (!has_text(merged, json_object_get_string(item))) {
            json_object_array_add(merged, json_copy(item));
        }
    }
    json_object_object_del(meta, "finalizers");
    if (json_len(merged) > 0) {
        json_add(meta, "finalizers", merged);
    } else {
        json_object_put(merged);
    }
}

static void complete_meta(struct arena *a, const struct cmd_manifest *m, struct json_object *meta,
                          struct json_object *live_meta, struct json_object *last_meta)
{
    static const char *const identity[] = {"uid", "resourceVersion", "creationTimestamp",
                                           "deletionTimestamp", "generation"};
    static const char *const maps[] = {"labels", "annotations"};
    json_object_object_del(meta, "namespace");
    json_add_str(meta, "namespace", str_or(m->ns, "default"));
    for (size_t i = 0; i < ARRAY_LEN(identity); i++) {
        json_object_object_del(meta, identity[i]);
        keep(meta, live_meta, identity[i]);
    }
    merge_finalizers(meta, json_member(live_meta, "finalizers"),
                     json_member(last_meta, "finalizers"));
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        take_over(member_or_new(meta, maps[i]), json_member(live_meta, maps[i]),
                  json_member(last_meta, maps[i]));
    }
    default_str(meta, "uid", made_uid(a, m));
    default_str(meta, "resourceVersion", "0");
}

struct json_object *cmd_manifest_complete(struct arena *a, const struct cmd_manifest *m,
                                          struct json_object *live, const char **ret_note)
{
    struct json_object *o = json_copy(m->object);
    struct json_object *live_meta = json_member(live, "metadata");
    struct json_object *last = cmd_manifest_last_applied(a, live);
    complete_meta(a, m, member_or_new(o, "metadata"), live_meta, json_member(last, "metadata"));
    const struct made made = complete_spec(member_or_new(o, "spec"), json_member(live, "spec"),
                                           json_member(last, "spec"));
    json_object_object_del(o, "status");
    keep(o, live, "status");
    *ret_note = note_on(a, live == NULL, &made);
    return o;
}
