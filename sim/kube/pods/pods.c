/* SPDX-License-Identifier: Apache-2.0 */
/* pods.c: hears of every change and decides which pods and which Services have to be looked at.
 *
 * Which changes of a pod count is the EndpointSlice controller's rule: deletionTimestamp,
 * readiness, addresses; and labels, hostname, subdomain for the Services that begin or cease to
 * select it.  One round of the loop first plays the kubelet, then brings the slices up to date, so
 * that a pod that becomes ready is in its slices within one sync. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/pods/counts.h"

#include <string.h>

static void wake(struct kube_pods *p, bool for_a_change);

struct kube_pods *kube_pods_new(struct kube_state *st)
{
    struct kube_pods *p = xcalloc(1, sizeof(*p));
    p->st = st;
    p->spaces = map_new(space_free);
    p->nodes = map_new(pod_node_free);
    p->addresses = map_new(NULL);
    p->starting = map_new(NULL);
    p->waiting = map_new(NULL);
    p->due = map_new(NULL);
    p->lost = map_new(NULL);
    return p;
}

void kube_pods_forget(struct kube_pods *p)
{
    sim_timer_cancel(p->timer);
    sim_timer_cancel(p->end_timer);
    p->timer = NULL;
    p->end_timer = NULL;
    p->awake = false;
    p->nodes_changed = false;
    struct map *const all[] = {p->spaces,  p->nodes, p->addresses, p->starting,
                               p->waiting, p->due,   p->lost};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        map_clear(all[i]);
    }
    zones_free(p);
}

void kube_pods_free(struct kube_pods *p)
{
    if (p) {
        kube_pods_forget(p);
        struct map *const all[] = {p->spaces,  p->nodes, p->addresses, p->starting,
                                   p->waiting, p->due,   p->lost};
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            map_free(all[i]);
        }
        free(p);
    }
}

struct space *pods_space(struct kube_pods *p, const char *ns)
{
    struct space *s = map_get(p->spaces, ns);
    if (!s) {
        s = space_new();
        map_set(p->spaces, ns, s);
    }
    return s;
}

/* --- one round -------------------------------------------------------------------------------- */
static void round_now(void *arg)
{
    struct kube_pods *p = arg;
    size_t n = 0;
    p->timer = NULL;
    p->busy = true;
    if (p->nodes_changed) {
        p->nodes_changed = false;
        zones_recheck(p);
    }
    kubelet_round(p);
    const char **keys = map_keys(p->due, &n);
    struct map *due = p->due; /* the keys belong to it */
    p->due = map_new(NULL);
    for (size_t i = 0; i < n; i++) {
        const char *slash = strchr(keys[i], '/');
        char *ns = xstrndup(keys[i], (size_t)(slash - keys[i]));
        reconcile_service(p, ns, slash + 1);
        free(ns);
    }
    free(keys);
    map_free(due);
    p->busy = false;
    if (map_size(p->due) > 0 || map_size(p->starting) > 0 || map_size(p->lost) > 0) {
        pods_call(p);
    }
}

void pods_call(struct kube_pods *p)
{
    if (!p->timer && !p->busy) {
        p->timer = sim_after(p->st->sim, 0, round_now, p);
    }
}

static void mark(struct kube_pods *p, struct map *set, const char *ns, const char *name)
{
    char *key = xasprintf("%s/%s", ns, name);
    map_set(set, key, NULL);
    free(key);
    pods_call(p);
}

/* --- pods ------------------------------------------------------------------------------------- */
static bool pod_changed(const struct pod *was, const struct pod *now)
{
    return !was || !now || was->terminating != now->terminating || was->ready != now->ready ||
           !json_equal(was->ips, now->ips);
}

static bool labels_changed(const struct pod *was, const struct pod *now)
{
    bool same = was->labels && now->labels ? json_equal(was->labels, now->labels)
                                           : was->labels == now->labels;
    return !same || !str_eq(was->hostname, now->hostname) ||
           !str_eq(was->subdomain, now->subdomain);
}

struct pod_event {
    struct kube_pods *p;
    const char *ns, *name;
    const struct pod *was, *now;
    bool changed, relabelled;
};

static bool tell_service(const char *service, void *value, void *arg)
{
    struct pod_event *e = arg;
    struct svc *s = value;
    bool selected = map_has(s->members, e->name);
    bool selects = e->now && s->selector && selector_takes(s->selector, e->now->labels);
    if (selects && !selected) {
        map_set(s->members, e->name, NULL);
    } else if (selected && !selects) {
        (void)map_remove(s->members, e->name);
    }
    if (e->changed ? selected || selects : e->relabelled && selected != selects) {
        mark(e->p, e->p->due, e->ns, service);
    }
    return true;
}

/* Keeps count of pods per node and of addresses in use. */
static void count_pod(struct kube_pods *p, const struct pod *pod, int step)
{
    struct pod_node *node = pod ? map_get(p->nodes, pod->node) : NULL;
    if (node && !pod->finished) {
        node->n_pods = (size_t)((int64_t)node->n_pods + step);
    }
    for (size_t i = 0; pod && !pod->host_network && i < json_len(pod->ips); i++) {
        const char *ip = json_object_get_string(json_object_array_get_idx(pod->ips, i));
        if (step > 0) {
            map_set(p->addresses, ip, NULL);
        } else {
            (void)map_remove(p->addresses, ip);
        }
    }
}

static void follow_pod(struct kube_pods *p, const char *ns, const char *name,
                       struct json_object *tree)
{
    struct space *space = pods_space(p, ns);
    struct pod *was = map_take(space->pods, name);
    struct pod *now = tree ? pod_read(tree) : NULL;
    count_pod(p, was, -1);
    count_pod(p, now, 1);
    if (now) {
        map_set(space->pods, name, now);
    }
    struct pod_event e = {.p = p, .ns = ns, .name = name, .was = was, .now = now};
    e.changed = pod_changed(was, now);
    e.relabelled = !e.changed && labels_changed(was, now);
    map_each(space->services, tell_service, &e);
    if (now && now->terminating) {
        kubelet_arm_at(p, now->end_us);
    }
    if (now && (!was || json_len(now->ips) == 0)) {
        mark(p, p->starting, ns, name);
    }
    pod_free(was);
}

/* --- Services --------------------------------------------------------------------------------- */
struct member_scan {
    struct svc *svc;
};

static bool add_member(const char *name, void *value, void *arg)
{
    struct member_scan *scan = arg;
    struct pod *pod = value;
    if (selector_takes(scan->svc->selector, pod->labels)) {
        map_set(scan->svc->members, name, NULL);
    }
    return true;
}

static bool same_selector(const struct svc *a, const struct svc *b)
{
    return a->selector && b->selector ? json_equal(a->selector, b->selector)
                                      : a->selector == b->selector;
}

static void follow_service(struct kube_pods *p, const char *ns, const char *name,
                           struct json_object *tree)
{
    struct space *space = pods_space(p, ns);
    struct svc *was = map_get(space->services, name);
    struct svc *now = tree ? svc_read(tree) : NULL;
    if (!now) {
        (void)map_remove(space->services, name);
        return;
    }
    if (was && same_selector(was, now)) {
        svc_free(now);
        now = was;
    } else {
        struct member_scan scan = {now};
        map_set(space->services, name, now);
        if (now->selector) {
            map_each(space->pods, add_member, &scan);
        }
    }
    if (now->selector) {
        mark(p, p->due, ns, name);
    }
}

/* --- nodes and slices ------------------------------------------------------------------------- */
static void start_waiting(struct kube_pods *p)
{
    size_t n = 0;
    const char **keys = map_keys(p->waiting, &n);
    for (size_t i = 0; i < n; i++) {
        map_set(p->starting, keys[i], NULL);
    }
    free(keys);
    map_clear(p->waiting);
}

static void follow_node(struct kube_pods *p, const char *name, struct json_object *tree)
{
    struct pod_node *was = map_take(p->nodes, name);
    struct pod_node *now = tree ? pod_node_read(tree) : NULL;
    if (now) {
        now->n_pods = was ? was->n_pods : 0;
        map_set(p->nodes, name, now);
        start_waiting(p);
        pods_call(p);
    } else if (was) {
        map_set(p->lost, name, NULL);
        pods_call(p);
    }
    if (!was || !now || was->ready != now->ready || !str_eq(was->zone, now->zone)) {
        p->shares_known = false;
        p->nodes_changed = true;
        pods_call(p);
    }
    pod_node_free(was);
}

/* A change of another writer in a slice of the controller is reverted. */
static void follow_slice(struct kube_pods *p, const char *ns, struct json_object *tree)
{
    struct json_object *labels = json_path(tree, "metadata.labels");
    const char *service = json_str(labels, PODS_SERVICE_NAME);
    struct space *space = map_get(p->spaces, ns);
    struct svc *svc = space && service ? map_get(space->services, service) : NULL;
    if (!p->busy && svc && svc->selector &&
        str_eq(json_str(labels, PODS_MANAGED_BY), PODS_MANAGER)) {
        mark(p, p->due, ns, service);
    }
}

void kube_pods_follow(struct kube_pods *p, const struct kube_kind *kind,
                      const struct kube_event *ev)
{
    bool is_pod = str_eq(kind->plural, "pods");
    if (!p->awake) {
        if (is_pod && ev->type != KUBE_DELETED) {
            wake(p, true);
        }
        return; /* waking reads everything, this change too */
    }
    bool is_service = str_eq(kind->plural, "services"), is_node = str_eq(kind->plural, "nodes");
    bool is_slice = str_eq(kind->plural, "endpointslices") && !p->busy;
    if (!is_pod && !is_service && !is_node && !is_slice) {
        return;
    }
    struct arena *a = arena_new();
    const char *ns = kube_obj_ns(ev->now, a);
    const char *name = kube_obj_name(ev->now);
    bool gone = ev->type == KUBE_DELETED;
    struct json_object *tree = gone && !is_slice ? NULL : kube_obj_tree(ev->now);
    if (is_pod) {
        follow_pod(p, ns, name, tree);
    } else if (is_service) {
        follow_service(p, ns, name, tree);
    } else if (is_node) {
        follow_node(p, name, tree);
    } else {
        follow_slice(p, ns, tree);
        if (ev->prev) {
            struct json_object *before = kube_obj_tree(ev->prev);
            follow_slice(p, ns, before);
            json_object_put(before);
        }
    }
    json_object_put(tree);
    arena_free(a);
}

/* --- waking ----------------------------------------------------------------------------------- */
static void read_all(struct kube_pods *p, const char *plural)
{
    const struct kube_kind *kind = kube_kind_by_plural(plural);
    struct kube_obj **objs = NULL;
    size_t n = 0;
    (void)kube_db_list(p->st->store, kind->store, "", 0, &objs, &n);
    for (size_t i = 0; i < n; i++) {
        const struct kube_event ev = {.type = KUBE_ADDED, .now = objs[i]};
        kube_pods_follow(p, kind, &ev);
    }
    kube_objs_free(objs, n);
}

static void wake(struct kube_pods *p, bool for_a_change)
{
    p->awake = true;
    p->busy = !for_a_change; /* no callbacks while a world is loaded */
    read_all(p, "nodes");
    read_all(p, "services");
    read_all(p, "pods");
    p->busy = false;
    if (!for_a_change) {
        map_clear(p->due);
        map_clear(p->starting);
        p->nodes_changed = false;
    }
}

void kube_pods_load(struct kube_pods *p)
{
    if (kube_db_count(p->st->store, kube_kind_by_plural("pods")->store) > 0) {
        wake(p, false);
    }
}

/* --- who writes ------------------------------------------------------------------------------- */
const char *kube_pods_one_of(struct kube_pods *p, const char *ns, const char *service)
{
    struct space *space = map_get(p->spaces, ns);
    struct svc *svc = space ? map_get(space->services, service) : NULL;
    size_t n = 0;
    const char **names = svc ? map_keys(svc->members, &n) : NULL;
    const char *first = n > 0 ? names[0] : NULL;
    free(names);
    return first;
}

void kube_pods_look_at(struct kube_pods *p, const char *ns, const char *service)
{
    if (p->awake) {
        mark(p, p->due, ns, service);
    }
}
