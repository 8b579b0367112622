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

#define MANIFEST_MAX (64u << 20)

static int read_all(struct arena *a, const char *file, char **ret, size_t *ret_n, struct err *err)
{
    struct str_buf text = STR_BUF_INIT;
    char piece[8192];
    size_t n;
    if (!str_eq(file, "-")) {
        return file_read(a, file, MANIFEST_MAX, ret, ret_n, err);
    }
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0 && text.len < MANIFEST_MAX) {
        str_append_n(&text, piece, n);
    }
    *ret_n = text.len;
    *ret = str_buf_to_arena(&text, a);
    str_buf_done(&text);
    return ERR_OK;
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
        err_prefix(err, "%s", file);
        return code;
    }
    for (size_t i = 0; i < n_docs; i++) {
        collect(&found, docs[i], kind, plural);
    }
    *ret = found.items;
    *ret_n = found.n;
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
        return err_set(err, ERR_INVALID, "%s: no object of kind Service in it", file);
    }
    struct cmd_manifest *out = ARENA_ARRAY(a, struct cmd_manifest, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *meta = json_member(objects[i], "metadata");
        out[i] = (struct cmd_manifest){file, str_or(json_str(meta, "namespace"), default_ns),
                                       json_str(meta, "name"), objects[i]};
        if (str_is_empty(out[i].name)) {
            return err_set(err, ERR_INVALID, "%s: Service %zu has no metadata.name", file, i + 1);
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
        default_str(port, "protocol", "TCP");
        keep(port, port, "targetPort");
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

static void complete_spec(struct json_object *spec, struct json_object *live_spec)
{
    static const char *const kept[] = {"clusterIP",           "clusterIPs",
                                       "ipFamilies",          "ipFamilyPolicy",
                                       "healthCheckNodePort", "internalTrafficPolicy"};
    const char *policy;
    default_str(spec, "type", "ClusterIP");
    default_str(spec, "sessionAffinity", "None");
    if (!str_eq(json_str(spec, "type"), "ClusterIP")) {
        default_str(spec, "externalTrafficPolicy", "Cluster");
    }
    policy = json_str(spec, "externalTrafficPolicy");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (!str_eq(kept[i], "healthCheckNodePort") || str_eq(policy, "Local")) {
            keep(spec, live_spec, kept[i]);
        }
    }
    complete_ports(spec, live_spec);
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

struct json_object *cmd_manifest_complete(struct arena *a, const struct cmd_manifest *m,
                                          struct json_object *live)
{
    static const char *const identity[] = {"uid",        "resourceVersion",   "creationTimestamp",
                                           "finalizers", "deletionTimestamp", "generation"};
    struct json_object *o = json_copy(m->object);
    struct json_object *meta = json_member(o, "metadata");
    struct json_object *live_meta = json_member(live, "metadata");
    json_object_object_del(meta, "namespace");
    json_add_str(meta, "namespace", m->ns);
    for (size_t i = 0; i < ARRAY_LEN(identity); i++) {
        json_object_object_del(meta, identity[i]);
        keep(meta, live_meta, identity[i]);
    }
    default_str(meta, "uid", made_uid(a, m));
    default_str(meta, "resourceVersion", "0");
    if (json_member(o, "spec") == NULL) {
        json_add(o, "spec", json_object_new_object());
    }
    complete_spec(json_member(o, "spec"), json_member(live, "spec"));
    json_object_object_del(o, "status");
    keep(o, live, "status");
    return o;
}
