/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest.c: reading manifests and completing Services; see the header.
 *
 * Source of the defaults: Kubernetes core/v1 defaulting of Services (controller.md §5.2; recorded answers 016, 018, 157, 162). */
#include "controller/cmd/cmd_manifest.h"

#include <stdio.h>
#include <string.h>

#include <uuid/uuid.h>

#include "common/base/file.h"
#include "common/base/yaml.h"

#define MANIFEST_MAX  (64u << 20)
#define LAST_APPLIED  "kubectl.kubernetes.io/last-applied-configuration"
#define STAND_IN_PORT 30000 /* the first of the API server's default range of node ports */

static int read_all(struct arena *a, const char *file, char **ret, size_t *ret_n, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    char piece[8192];
    size_t n;
    if (!str_eq(file, "-")) {
        return file_read(a, file, MANIFEST_MAX, ret, ret_n, err);
    }
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0) {
        if (text.len + n > MANIFEST_MAX) {
            return err_set(err, ERR_INVALID, "more than %u bytes", MANIFEST_MAX);
        }
        str_append_n(&text, piece, n);
    }
    *ret_n = text.len;
    *ret = str_buf_to_arena(&text, a);
    return ERR_OK;
}

static const char *shown(const char *file)
{
    return str_eq(file, "-") ? "standard input" : file;
}

struct objects {
    struct arena *a;
    struct json_object **items;
    size_t n, cap;
};

static void objects_push(struct objects *o, struct json_object *item)
{
    if (o->n == o->cap) {
        size_t cap = o->cap == 0 ? 8 : 2 * o->cap;
        struct json_object **items = ARENA_ARRAY(o->a, struct json_object *, cap);
        for (size_t i = 0; i < o->n; i++) {
            items[i] = o->items[i];
        }
        o->items = items;
        o->cap = cap;
    }
    o->items[o->n++] = item;
}

static void collect(struct objects *o, struct json_object *doc, const char *kind,
                    const char *plural)
{
    const char *own = json_str(doc, "kind");
    struct json_object *items = json_member(doc, "items");
    struct json_object *world = json_member(json_member(doc, "kubernetes"), plural);
    if (str_eq(own, kind)) {
        objects_push(o, doc);
        return;
    }
    if (items == NULL) {
        items = world;
    }
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        const char *of = json_str(item, "kind");
        if (of == NULL || str_eq(of, kind)) {
            objects_push(o, item);
        }
    }
}

int cmd_objects_read(struct arena *a, const char *file, const char *kind, const char *plural,
                     struct json_object ***ret, size_t *ret_n, struct err *err)
{
    struct objects found = {.a = a};
    struct json_object **docs;
    char *text;
    size_t n, n_docs;
    int code = read_all(a, file, &text, &n, err);
    if (code == ERR_OK) {
        code = yaml_parse_all(a, text, n, &docs, &n_docs, err);
    }
    if (code != ERR_OK) {
        (void)err_prefix(err, "%s", shown(file));
        return code;
    }
    for (size_t i = 0; i < n_docs; i++) {
        collect(&found, docs[i], kind, plural);
    }
    *ret = found.items;
    *ret_n = found.n;
    return ERR_OK;
}

/* What is looked into before the decoder sees it. */
static int check_maps(struct json_object *o, const char *file, const char *name, struct err *err)
{
    static const char *const paths[] = {"spec", "metadata.labels", "metadata.annotations"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct json_object *v = json_path(o, paths[i]);
        if (v != NULL && !json_object_is_type(v, json_type_object)) {
            return err_set(err, ERR_INVALID, "%s: Service %s: %s: want a map", file, name,
                           paths[i]);
        }
    }
    return ERR_OK;
}

int cmd_manifest_read(struct arena *a, const char *file, const char *default_ns,
                      struct cmd_manifest **ret, size_t *ret_n, struct err *err)
{
    struct json_object **objects;
    size_t n;
    int code = cmd_objects_read(a, file, "Service", "services", &objects, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    if (n == 0) {
        return err_set(err, ERR_INVALID, "%s: no object of kind Service in it", shown(file));
    }
    struct cmd_manifest *out = ARENA_ARRAY(a, struct cmd_manifest, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *meta = json_member(objects[i], "metadata");
        out[i] = (struct cmd_manifest){shown(file), str_or(json_str(meta, "namespace"), default_ns),
                                       json_str(meta, "name"), objects[i]};
        if (str_is_empty(out[i].name)) {
            return err_set(err, ERR_INVALID, "%s: Service %zu has no metadata.name", shown(file),
                           i + 1);
        }
        code = check_maps(objects[i], out[i].file, out[i].name, err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = out;
    *ret_n = n;
    return ERR_OK;
}

static void default_str(struct json_object *o, const char *name, const char *value)
{
    if (json_member(o, name) == NULL) {
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

/* Ports of the live object are found by name (recorded answers 157, 162, 163). */
static void complete_ports(struct json_object *spec, struct json_object *live_spec)
{
    struct json_object *ports = json_member(spec, "ports");
    struct json_object *live_ports = json_member(live_spec, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        if (!json_object_is_type(port, json_type_object)) {
            continue; /* the decoder refuses it and says where */
        }
        default_str(port, "protocol", "TCP");
        if (json_member(port, "targetPort") == NULL && json_member(port, "port") != NULL) {
            json_add(port, "targetPort", json_copy(json_member(port, "port")));
        }
        for (size_t k = 0; k < json_len(live_ports); k++) {
            struct json_object *live = json_object_array_get_idx(live_ports, k);
            if (str_eq(str_nonnull(json_str(port, "name")), str_nonnull(json_str(live, "name")))) {
                keep(port, live, "nodePort");
            }
        }
    }
}

/* Members that the manifest lacks: those of the live object stay, unless the last apply had them. */
static void take_over(struct json_object *o, struct json_object *live, struct json_object *last)
{
    if (live == NULL || !json_object_is_type(live, json_type_object)) {
        return;
    }
    json_object_object_foreach(live, name, value)
    {
        (void)value;
        if (json_member(last, name) == NULL) {
            keep(o, live, name);
        }
    }
}

static bool wants_check_port(struct json_object *spec)
{
    return str_eq(json_str(spec, "type"), "LoadBalancer") &&
           str_eq(json_str(spec, "externalTrafficPolicy"), "Local");
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

/* Ports to which the API server would give a node port get one after the other.  True: some did. */
static bool make_node_ports(struct json_object *spec)
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
        while (has_node_port(ports, next)) {
            next++;
        }
        json_object_object_del(port, "nodePort");
        json_add_int(port, "nodePort", next++);
        made = true;
    }
    return made;
}

/* What of a spec only the API server can know, and was made up. */
struct made {
    bool check_port;
    bool node_ports;
};

static struct made complete_spec(struct json_object *spec, struct json_object *live_spec,
                                 struct json_object *last_spec)
{
    struct made made = {0};
    take_over(spec, live_spec, last_spec);
    default_str(spec, "type", "ClusterIP");
    default_str(spec, "sessionAffinity", "None");
    if (!str_eq(json_str(spec, "type"), "ClusterIP")) {
        default_str(spec, "externalTrafficPolicy", "Cluster");
    }
    complete_ports(spec, live_spec);
    made.node_ports = make_node_ports(spec);
    if (!wants_check_port(spec)) {
        json_object_object_del(spec, "healthCheckNodePort");
    } else if (json_int(spec, "healthCheckNodePort", 0) == 0) {
        json_object_object_del(spec, "healthCheckNodePort");
        json_add_int(spec, "healthCheckNodePort", STAND_IN_PORT);
        made.check_port = true;
    }
    return made;
}

/* What the last kubectl apply had, or NULL.  New reference. */
static struct json_object *last_applied(struct json_object *live_meta)
{
    const char *text = json_str(json_member(live_meta, "annotations"), LAST_APPLIED);
    struct json_object *o = NULL;
    if (text == NULL || json_parse(text, strlen(text), NULL, &o, NULL) != ERR_OK) {
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
    const char *name = arena_printf(a, "%s/%s", m->ns, m->name);
    uuid_t id;
    char text[37];
    uuid_generate_sha1(id, *uuid_get_template("url"), name, strlen(name));
    uuid_unparse_lower(id, text);
    return arena_strdup(a, text);
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
                            "the API server has not chosen node ports yet → %d and those that "
                            "follow stand for them",
                            made->check_port ? STAND_IN_PORT : STAND_IN_PORT + 1);
    }
    return made->check_port ? arena_printf(a,
                                           "the API server has not chosen the health check's port "
                                           "yet → %d stands for it",
                                           STAND_IN_PORT)
                            : NULL;
}

static void complete_meta(struct arena *a, const struct cmd_manifest *m, struct json_object *meta,
                          struct json_object *live_meta, struct json_object *last_meta)
{
    static const char *const identity[] = {"uid",        "resourceVersion",   "creationTimestamp",
                                           "finalizers", "deletionTimestamp", "generation"};
    static const char *const maps[] = {"labels", "annotations"};
    json_object_object_del(meta, "namespace");
    json_add_str(meta, "namespace", m->ns);
    for (size_t i = 0; i < ARRAY_LEN(identity); i++) {
        json_object_object_del(meta, identity[i]);
        keep(meta, live_meta, identity[i]);
    }
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
    _cleanup_(json_putp) struct json_object *last = last_applied(live_meta);
    complete_meta(a, m, member_or_new(o, "metadata"), live_meta, json_member(last, "metadata"));
    const struct made made = complete_spec(member_or_new(o, "spec"), json_member(live, "spec"),
                                           json_member(last, "spec"));
    json_object_object_del(o, "status");
    keep(o, live, "status");
    *ret_note = note_on(a, live == NULL, &made);
    return o;
}
