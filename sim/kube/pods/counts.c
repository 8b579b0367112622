/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c: the slice engine of counts.h.
 *
 * Works from scratch each time: the wanted slices of a Service are computed and stored; equal ones
 * are not written.  A slice holds at most 100 endpoints, as a real controller's. */
#include "sim/kube/pods/counts.h"

#include "common/base/ip.h"
#include "common/base/map.h"
#include "sim/kube/pods/parts.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define MANAGER      "trimtab-sim"
#define MANAGED_BY   "endpointslice.kubernetes.io/managed-by"
#define SERVICE_NAME "kubernetes.io/service-name"
#define PER_SLICE    100
#define PODS_MAX     1000 /* per node and Service */

struct kube_counts {
    struct kube_state *st;
    struct map *wanted; /* "ns/service" → {"node": n} (owned reference) */
    struct sim_timer *timer;
};

static void put_tree(void *value)
{
    json_object_put(value);
}

struct kube_counts *kube_counts_new(struct kube_state *st)
{
    struct kube_counts *p = xcalloc(1, sizeof(*p));
    p->st = st;
    p->wanted = map_new(put_tree);
    return p;
}

void kube_counts_free(struct kube_counts *p)
{
    if (p) {
        sim_timer_cancel(p->timer);
        map_free(p->wanted);
        free(p);
    }
}

void kube_counts_forget(struct kube_counts *p)
{
    map_clear(p->wanted);
}

/* --- one Service ------------------------------------------------------------------------------ */
struct job {
    struct kube_counts *p;
    struct arena *arena;
    const char *ns, *name;
    struct json_object *service;
    struct json_object *pods; /* {"node": n} */
    size_t next_slice;
};

static const struct kube_kind *slices_kind(void)
{
    return kube_kind_by_plural("endpointslices");
}

static char *slice_name(struct job *j, size_t i)
{
    return arena_printf(j->arena, "%s-sim-%zu", j->name, i);
}

/* Does another writer have slices of this Service? */
static bool others_write(struct job *j)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    bool others = false;
    (void)kube_db_list(j->p->st->store, slices_kind()->store, j->ns, 0, &objs, &n);
    for (size_t i = 0; i < n && !others; i++) {
        struct json_object *meta = kube_obj_meta(objs[i]);
        struct json_object *labels = json_member(meta, "labels");
        others = str_eq(json_str(labels, SERVICE_NAME), j->name) &&
                 !str_eq(json_str(labels, MANAGED_BY), MANAGER);
        json_object_put(meta);
    }
    kube_objs_free(objs, n);
    return others;
}

static struct json_object *make_ports(struct job *j)
{
    struct json_object *out = json_object_new_array();
    struct json_object *ports = json_path(j->service, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        struct json_object *target = json_member(p, "targetPort");
        struct json_object *one = json_object_new_object();
        json_add_str(one, "name", str_nonnull(json_str(p, "name")));
        json_add_str(one, "protocol", str_or(json_str(p, "protocol"), "TCP"));
        json_add_int(one, "port",
                     json_object_is_type(target, json_type_int) ? json_object_get_int64(target)
                                                                : 8080);
        json_object_array_add(out, one);
    }
    return out;
}

/* The n-th pod address of a node in that family; NULL when the node has no such range. */
static char *pod_address(struct job *j, struct json_object *node, bool v6, int64_t n)
{
    struct json_object *ranges = json_path(node, "spec.podCIDRs");
    for (size_t i = 0; i < json_len(ranges); i++) {
        struct ip_net net;
        struct ip_addr addr;
        char text[IP_TEXT_MAX];
        const char *range = kube_item(ranges, i);
        if (ip_net_parse(range, &net) && (net.addr.len == 16) == v6 &&
            ip_net_nth(&net, (uint64_t)n + 2, &addr)) {
            ip_format(&addr, text);
            return arena_strdup(j->arena, text);
        }
    }
    return NULL;
}

static struct json_object *make_endpoint(struct job *j, struct json_object *node,
                                         const char *node_name, const char *address, int64_t n)
{
    struct json_object *e = json_object_new_object();
    struct json_object *conditions = json_object_new_object();
    json_add_bool(conditions, "ready", true);
    json_add_bool(conditions, "serving", true);
    json_add_bool(conditions, "terminating", false);
    struct json_object *pod = json_object_new_object();
    json_add_str(pod, "kind", "Pod");
    json_add_str(pod, "namespace", j->ns);
    json_add_str(pod, "name",
                 arena_printf(j->arena, "%s-%s-%lld", j->name, node_name, (long long)n));
    json_add(e, "addresses", json_strs(&address, 1));
    json_add(e, "conditions", conditions);
    json_add(e, "targetRef", pod);
    json_add_str(e, "nodeName", node_name);
    json_add_str(e, "zone",
                 json_str(json_path(node, "metadata.labels"), "topology.kubernetes.io/zone"));
    return e;
}

static void store_slice(struct job *j, const char *family, struct json_object *endpoints)
{
    const struct kube_kind *kind = slices_kind();
    char *name = slice_name(j, j->next_slice++);
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *labels = json_object_new_object();
    json_add_str(labels, MANAGED_BY, MANAGER);
    json_add_str(labels, SERVICE_NAME, j->name);
    json_add_str(meta, "name", name);
    json_add_str(meta, "namespace", j->ns);
    json_add(meta, "labels", labels);
    json_add(o, "metadata", meta);
    json_add_str(o, "addressType", family);
    json_add(o, "endpoints", endpoints);
    json_add(o, "ports", make_ports(j));
    struct kube_obj *old = kube_db_get(j->p->st->store, kind->store, j->ns, name);
    if (!old) {
        kube_make(j->p->st, kind, o);
    } else {
        struct kube_change c = {.st = j->p->st,
                                .arena = j->arena,
                                .kind = kind,
                                .namespace = j->ns,
                                .name = name,
                                .now = o,
                                .was = kube_obj_tree(old)};
        kube_prepare_meta(&c);
        kube_count_generation(&c);
        (void)kube_commit(&c);
        json_object_put(c.was);
        o = c.now;
    }
    json_object_put(o);
}

static void write_family(struct job *j, const char *family)
{
    const struct kube_kind *nodes = kube_kind_by_plural("nodes");
    struct json_object *endpoints = json_object_new_array();
    json_object_object_foreach(j->pods, node_name, count)
    {
        struct kube_obj *o = kube_db_get(j->p->st->store, nodes->store, "", node_name);
        int64_t n = json_object_get_int64(count);
        struct json_object *node = o ? kube_obj_tree(o) : NULL;
        for (int64_t i = 0; node && i < n && i < PODS_MAX; i++) {
            const char *address = pod_address(j, node, str_eq(family, "IPv6"), i);
            if (!address) {
                break;
            }
            if (json_len(endpoints) == PER_SLICE) {
                store_slice(j, family, endpoints);
                endpoints = json_object_new_array();
            }
            json_object_array_add(endpoints, make_endpoint(j, node, node_name, address, i));
        }
        json_object_put(node);
    }
    store_slice(j, family, endpoints);
}

/* Slices that a larger run left. */
static void drop_rest(struct job *j)
{
    const struct kube_kind *kind = slices_kind();
    for (size_t i = j->next_slice;; i++) {
        if (!kube_db_remove(j->p->st->store, kind->store, j->ns, slice_name(j, i))) {
            return;
        }
    }
}

static void write_service(struct kube_counts *p, const char *key, struct json_object *pods)
{
    struct job j = {.p = p, .arena = arena_new(), .pods = pods};
    const char *slash = strchr(key, '/');
    j.ns = arena_strndup(j.arena, key, (size_t)(slash - key));
    j.name = slash + 1;
    struct kube_obj *o =
        kube_db_get(p->st->store, kube_kind_by_plural("services")->store, j.ns, j.name);
    if (o && !others_write(&j)) {
        j.service = kube_obj_tree(o);
        struct json_object *families = json_path(j.service, "spec.ipFamilies");
        for (size_t i = 0; i < json_len(families); i++) {
            write_family(&j, kube_item(families, i));
        }
        json_object_put(j.service);
    }
    drop_rest(&j);
    arena_free(j.arena);
}

bool kube_counts_has(const struct kube_counts *p, const char *ns, const char *service)
{
    char *key = xasprintf("%s/%s", ns, service);
    bool has = map_has(p->wanted, key);
    free(key);
    return has;
}

bool kube_counts_drop(struct kube_counts *p, const char *ns, const char *service)
{
    char *key = xasprintf("%s/%s", ns, service);
    bool had = map_remove(p->wanted, key);
    struct job j = {.p = p, .arena = arena_new(), .ns = ns, .name = service};
    if (had) {
        drop_rest(&j);
    }
    arena_free(j.arena);
    free(key);
    return had;
}

struct selecting {
    const struct kube_counts *p;
    struct arena *arena;
    const char *ns;
    struct json_object *labels;
    const char *found;
};

static bool selects(const char *key, void *value, void *arg)
{
    struct selecting *s = arg;
    const char *slash = strchr(key, '/');
    const struct kube_kind *services = kube_kind_by_plural("services");
    (void)value;
    if (strlen(s->ns) != (size_t)(slash - key) || !str_has_prefix(key, s->ns)) {
        return true;
    }
    struct kube_obj *o = kube_db_get(s->p->st->store, services->store, s->ns, slash + 1);
    struct json_object *tree = o ? kube_obj_tree(o) : NULL;
    struct json_object *selector = json_path(tree, "spec.selector");
    if (selector && selector_takes(selector, s->labels)) {
        s->found = arena_strdup(s->arena, slash + 1);
    }
    json_object_put(tree);
    return s->found == NULL;
}

const char *kube_counts_selecting(const struct kube_counts *p, struct arena *a, const char *ns,
                                  struct json_object *labels)
{
    struct selecting s = {.p = p, .arena = a, .ns = ns, .labels = labels};
    map_each(p->wanted, selects, &s);
    return s.found;
}

/* --- all of them ------------------------------------------------------------------------------ */
static bool write_one(const char *key, void *value, void *arg)
{
    write_service(arg, key, value);
    return true;
}

static void write_all(void *arg)
{
    struct kube_counts *p = arg;
    p->timer = NULL;
    map_each(p->wanted, write_one, p);
}

void kube_counts_set(struct kube_counts *p, const char *ns, const char *service,
                     struct json_object *pods_per_node)
{
    char *key = xasprintf("%s/%s", ns, service);
    struct json_object *copy = json_copy(pods_per_node);
    map_set(p->wanted, key, copy);
    write_service(p, key, copy);
    free(key);
}

void kube_counts_follow(struct kube_counts *p, const struct kube_kind *kind,
                        const struct kube_event *ev)
{
    bool matters = str_eq(kind->plural, "services") ||
                   (str_eq(kind->plural, "nodes") && ev->type != KUBE_MODIFIED) ||
                   (str_eq(kind->plural, "endpointslices") && ev->type == KUBE_ADDED);
    if (matters && map_size(p->wanted) > 0 && !p->timer) {
        p->timer = sim_after(p->st->sim, 0, write_all, p);
    }
}
