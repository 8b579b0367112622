/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c: the empty cluster and worlds; see cluster.h.
 *
 * Objects of a world keep their uids, times and resourceVersions, so that a dump that is loaded
 * again changes nothing.  Namespaces that objects refer to are made if the world forgot them. */
#include "sim/kube/cluster.h"

#include "sim/kube/deploy/rollout.h"
#include "sim/kube/gc.h"
#include "sim/kube/pods/counts.h"
#include "sim/kube/pods/pods.h"
#include "sim/kube/rules/rules.h"
#include "sim/kube/service/alloc.h"

static struct json_object *new_object(const char *ns, const char *name)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    json_add_str(meta, "name", name);
    json_add_str(meta, "namespace", ns);
    json_add(o, "metadata", meta);
    return o;
}

static void make(struct kube_state *st, const char *plural, struct json_object *o)
{
    kube_make(st, kube_kind_by_plural(plural), o);
    json_object_put(o);
}

static void need_namespace(struct kube_state *st, const char *name)
{
    const struct kube_kind *kind = kube_kind_by_plural("namespaces");
    if (kube_db_get(st->store, kind->store, "", name)) {
        return;
    }
    static const char *const finalizers[] = {"kubernetes"};
    struct json_object *o = new_object(NULL, name);
    struct json_object *spec = json_object_new_object();
    struct json_object *status = json_object_new_object();
    json_add(spec, "finalizers", json_strs(finalizers, 1));
    json_add_str(status, "phase", "Active");
    json_add(o, "spec", spec);
    json_add(o, "status", status);
    make(st, "namespaces", o);
}

static void make_api_service(struct kube_state *st)
{
    struct json_object *o = new_object("default", "kubernetes");
    struct json_object *labels = json_object_new_object();
    json_add_str(labels, "component", "apiserver");
    json_add_str(labels, "provider", "kubernetes");
    json_add(json_member(o, "metadata"), "labels", labels);
    struct json_object *port = json_object_new_object();
    json_add_str(port, "name", "https");
    json_add_int(port, "port", 443);
    json_add_int(port, "targetPort", sim_port(st->sim));
    struct json_object *ports = json_object_new_array();
    json_object_array_add(ports, port);
    struct json_object *spec = json_object_new_object();
    json_add(spec, "ports", ports);
    bool v6 = sim_cfg(st->sim)->ipv6 && (sim_cfg(st->sim)->ipv6_first || !sim_cfg(st->sim)->ipv4);
    json_add_str(spec, "clusterIP", v6 ? "fd00:1::1" : "10.0.0.1");
    json_add(o, "spec", spec);
    make(st, "services", o);
}

static void make_authentication_config(struct kube_state *st)
{
    struct json_object *data = json_object_new_object();
    const char *ca = sim_ca_pem(st->sim); /* NULL: served without TLS, there are no certificates */
    if (ca != NULL) {
        json_add_str(data, "client-ca-file", ca);
        json_add_str(data, "requestheader-client-ca-file", ca);
    }
    json_add_str(data, "requestheader-allowed-names", "[\"front-proxy-client\"]");
    json_add_str(data, "requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]");
    json_add_str(data, "requestheader-group-headers", "[\"X-Remote-Group\"]");
    json_add_str(data, "requestheader-username-headers", "[\"X-Remote-User\"]");
    struct json_object *o = new_object("kube-system", "extension-apiserver-authentication");
    json_add(o, "data", data);
    make(st, "configmaps", o);
}

void kube_cluster_bootstrap(struct kube_state *st, struct json_object *world)
{
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        need_namespace(st, names[i]);
    }
    if (!json_member(world, "services")) {
        make_api_service(st);
    }
    if (!json_member(world, "configmaps")) {
        make_authentication_config(st);
    }
}

/* --- worlds ----------------------------------------------------------------------------------- */
static void load_object(struct kube_state *st, const struct kube_kind *kind, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    const char *name = str_nonnull(json_str(meta, "name"));
    const char *ns = kind->namespaced ? str_or(json_str(meta, "namespace"), "default") : "";
    if (str_eq(json_str(o, "apiVersion"), "events.k8s.io/v1")) {
        struct json_object *stored = kube_event_as_stored(o);
        struct json_object *copy = json_copy(stored);
        kube_db_load(st->store, kind->store, ns, name, copy);
        json_object_put(stored);
        json_object_put(copy);
        return;
    }
    struct json_object *copy = json_copy(o);
    kube_db_load(st->store, kind->store, ns, name, copy);
    json_object_put(copy);
    kube_gc_learn(st->gc, o);
}

/* Recorded worlds carry Events without their names, which say nothing: they get one
 * from their place. */
static void load_unnamed_event(struct kube_state *st, const struct kube_kind *kind,
                               struct json_object *o, size_t place)
{
    struct json_object *about = json_member(o, "involvedObject");
    struct json_object *named = json_copy(o);
    struct json_object *meta = json_member(o, "metadata");
    meta = meta ? json_copy(meta) : json_object_new_object();
    char *name = xasprintf("%s.%zu", str_or(json_str(about, "name"), "event"), place);
    json_add_str(meta, "name", name);
    json_add_str(meta, "namespace", str_or(json_str(about, "namespace"), "default"));
    json_add(named, "metadata", meta);
    load_object(st, kind, named);
    json_object_put(named);
    free(name);
}

/* Can all of it be loaded?  Asked before anything is thrown away. */
static int check_world(struct json_object *mine, struct err *err)
{
    if (!mine) {
        return ERR_OK;
    }
    if (!json_object_is_type(mine, json_type_object)) {
        return err_set(err, ERR_INVALID, "kubernetes: want an object of lists by plural name");
    }
    json_object_object_foreach(mine, plural, list)
    {
        if (!json_object_is_type(list, json_type_array)) {
            return err_set(err, ERR_INVALID, "kubernetes.%s: want a list of objects", plural);
        }
        for (size_t i = 0; kube_kind_by_plural(plural) && i < json_len(list); i++) {
            struct json_object *o = json_object_array_get_idx(list, i);
            if (str_is_empty(json_str(json_member(o, "metadata"), "name")) &&
                !str_eq(plural, "events")) {
                return err_set(err, ERR_INVALID, "kubernetes.%s[%zu]: metadata.name is missing",
                               plural, i);
            }
        }
    }
    return ERR_OK;
}

static void load_plural(struct kube_state *st, const char *plural, struct json_object *list)
{
    const struct kube_kind *kind = kube_kind_by_plural(plural);
    if (!kind) {
        json_object_object_add(st->unknown, plural, json_copy(list));
        return;
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        if (str_is_empty(json_str(json_member(o, "metadata"), "name"))) {
            load_unnamed_event(st, kind, o, i);
        } else {
            load_object(st, kind, o);
        }
    }
}

static void need_used_namespaces(struct kube_state *st)
{
    struct arena *a = arena_new();
    for (int i = 0; i < kube_n_stores; i++) {
        struct kube_obj **objs = NULL;
        size_t n = 0;
        if (!kube_kind_of_store(i)->namespaced) {
            continue;
        }
        (void)kube_db_list(st->store, i, "", 0, &objs, &n);
        const char *last = "";
        for (size_t k = 0; k < n; k++) {
            const char *ns = kube_obj_ns(objs[k], a);
            if (!str_eq(ns, last)) {
                need_namespace(st, ns);
                last = ns;
            }
        }
        kube_objs_free(objs, n);
    }
    arena_free(a);
}

static void count_allocated(struct kube_state *st)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    kube_alloc_clear(st->alloc);
    (void)kube_db_list(st->store, kube_kind_by_plural("services")->store, "", 0, &objs, &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *tree = kube_obj_tree(objs[i]);
        kube_alloc_follow(st->alloc, NULL, tree);
        json_object_put(tree);
    }
    kube_objs_free(objs, n);
}

int kube_world_load(void *state, struct json_object *world, struct err *err)
{
    struct kube_state *st = state;
    struct json_object *mine = json_member(world, "kubernetes");
    int code = check_world(mine, err);
    if (code) {
        return code;
    }
    kube_db_expire(st->store, -1); /* ends the watches, so that they do not see what follows */
    kube_db_clear(st->store);
    kube_counts_forget(st->counts);
    kube_pods_forget(st->pods);
    kube_rollouts_forget(st->rollouts);
    kube_gc_forget(st->gc);
    json_object_put(st->unknown);
    st->unknown = json_object_new_object();
    if (mine) {
        json_object_object_foreach(mine, plural, list)
        {
            load_plural(st, plural, list);
        }
    }
    count_allocated(st);
    kube_cluster_bootstrap(st, mine);
    need_used_namespaces(st);
    kube_pods_load(st->pods);
    kube_db_expire(st->store, -1);
    return ERR_OK;
}

void kube_world_dump(void *state, struct json_object *world)
{
    struct kube_state *st = state;
    struct json_object *mine = json_object_new_object();
    struct arena *a = arena_new();
    for (int i = 0; i < kube_n_stores; i++) {
        const struct kube_kind *kind = kube_kind_of_store(i);
        struct kube_obj **objs = NULL;
        size_t n = 0;
        (void)kube_db_list(st->store, i, "", 0, &objs, &n);
        struct json_object *list = json_object_new_array_ext((int)n + 1);
        for (size_t k = 0; k < n; k++) {
            struct json_object *o = kube_obj_tree(objs[k]);
            json_add_str(o, "kind", kind->kind);
            json_add_str(o, "apiVersion", kube_api_version(kind, a));
            json_object_array_add(list, o);
        }
        kube_objs_free(objs, n);
        json_add(mine, kind->plural, list);
    }
    if (st->unknown) {
        json_object_object_foreach(st->unknown, plural, list)
        {
            json_add(mine, plural, json_copy(list));
        }
    }
    arena_free(a);
    json_add(world, "kubernetes", mine);
}
