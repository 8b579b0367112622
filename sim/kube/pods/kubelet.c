/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet.c: what becomes of a Pod: a node, an address, ready, and the end of its grace period.
 *
 * A pod without node goes to the node with the fewest pods (then the first by name) that is ready,
 * not cordoned, and whose taints it tolerates.  Phase, addresses and conditions of its manifest are
 * kept; the rest is filled in at once, without a delay for images.  A pod whose grace period is
 * over is gone.  Pods of a node that went go with it, as the garbage collector of pods takes them
 * away. */
#include "sim/kube/pods/parts.h"

#include "common/base/ip.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define FIRST_ADDRESS 2 /* of a node's range */

/* --- one pod at a time ------------------------------------------------------------------------ */
/* A change of one stored Pod; *ret is false when it is not there (any more). */
static bool open_pod(struct kube_pods *p, const char *key, struct kube_change *c)
{
    const char *slash = strchr(key, '/');
    const struct kube_kind *kind = kube_kind_by_plural("pods");
    *c = (struct kube_change){.st = p->st, .kind = kind, .arena = arena_new()};
    c->namespace = arena_strndup(c->arena, key, (size_t)(slash - key));
    c->name = arena_strdup(c->arena, slash + 1);
    struct kube_obj *o = kube_db_get(p->st->store, kind->store, c->namespace, c->name);
    c->was = o ? kube_obj_tree(o) : NULL;
    c->now = o ? kube_obj_tree(o) : NULL;
    return o != NULL;
}

static void close_pod(struct kube_change *c)
{
    json_object_put(c->now);
    json_object_put(c->was);
    arena_free(c->arena);
}

/* --- the scheduler ---------------------------------------------------------------------------- */
static bool tolerates(struct json_object *pod, struct json_object *taint)
{
    struct json_object *list = json_path(pod, "spec.tolerations");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *t = json_object_array_get_idx(list, i);
        const char *key = str_nonnull(json_str(t, "key"));
        const char *effect = str_nonnull(json_str(t, "effect"));
        bool exists = str_eq(json_str(t, "operator"), "Exists");
        bool value = exists || str_eq(str_nonnull(json_str(t, "value")),
                                      str_nonnull(json_str(taint, "value")));
        if ((*effect == '\0' || str_eq(effect, json_str(taint, "effect"))) && value &&
            (*key == '\0' ? exists : str_eq(key, json_str(taint, "key")))) {
            return true;
        }
    }
    return false;
}

static bool node_takes(const struct pod_node *node, struct json_object *pod)
{
    for (size_t i = 0; i < json_len(node->taints); i++) {
        struct json_object *taint = json_object_array_get_idx(node->taints, i);
        if (!str_eq(json_str(taint, "effect"), "PreferNoSchedule") && !tolerates(pod, taint)) {
            return false;
        }
    }
    return node->ready && !node->cordoned;
}

struct choice {
    struct json_object *pod;
    const char *name;
    const struct pod_node *node;
};

static bool consider(const char *name, void *value, void *arg)
{
    struct choice *c = arg;
    const struct pod_node *node = value;
    if ((!c->node || node->n_pods < c->node->n_pods) && node_takes(node, c->pod)) {
        c->name = name;
        c->node = node;
    }
    return true;
}

/* --- status ----------------------------------------------------------------------------------- */
/* Sets a condition; one of that type that is there stays when `keep`. */
static void set_condition(struct kube_change *c, const char *type, const char *status,
                          const char *reason, bool keep)
{
    char now[32];
    struct json_object *state = kube_need(c->now, "status");
    struct json_object *list = json_member(state, "conditions");
    struct json_object *one = NULL;
    if (!list) {
        list = json_object_new_array();
        json_add(state, "conditions", list);
    }
    for (size_t i = 0; i < json_len(list) && !one; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        one = str_eq(json_str(o, "type"), type) ? o : NULL;
    }
    if (one && (keep || str_eq(json_str(one, "status"), status))) {
        return;
    }
    if (!one) {
        one = json_object_new_object();
        json_object_array_add(list, one);
    }
    kube_now(c->st, now);
    kube_set(one, "type", json_object_new_string(type));
    kube_set(one, "status", json_object_new_string(status));
    kube_set(one, "lastTransitionTime", json_object_new_string(now));
    kube_set(one, "reason", reason ? json_object_new_string(reason) : NULL);
}

/* The first free address of a range; NULL when there is none. */
static const char *free_address(struct kube_pods *p, struct arena *a, const char *range)
{
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (!ip_net_parse(range, &net)) {
        return NULL;
    }
    for (uint64_t i = FIRST_ADDRESS; ip_net_nth(&net, i, &ip); i++) {
        ip_format(&ip, text);
        if (!map_has(p->addresses, text)) {
            return arena_strdup(a, text);
        }
    }
    return NULL;
}

/* Its own addresses, one from each range of the node; or those of the node. */
static struct json_object *choose_addresses(struct kube_pods *p, struct kube_change *c,
                                            const struct pod_node *node)
{
    struct json_object *out = json_object_new_array();
    bool of_node = json_bool(json_member(c->now, "spec"), "hostNetwork", false);
    struct json_object *from = of_node ? node->addresses : node->cidrs;
    for (size_t i = 0; i < json_len(from); i++) {
        const char *text = kube_item(from, i);
        const char *address = of_node ? text : free_address(p, c->arena, text);
        if (address) {
            struct json_object *one = json_object_new_object();
            json_add_str(one, "ip", address);
            json_object_array_add(out, one);
        }
    }
    return out;
}

static void give_addresses(struct kube_pods *p, struct kube_change *c, const struct pod_node *node)
{
    struct json_object *status = kube_need(c->now, "status");
    const char *host = json_len(node->addresses) > 0 ? kube_item(node->addresses, 0) : NULL;
    if (str_is_empty(json_str(status, "hostIP")) && host) {
        kube_set(status, "hostIP", json_object_new_string(host));
    }
    if (!str_is_empty(json_str(status, "podIP")) || json_len(json_member(status, "podIPs")) > 0) {
        return;
    }
    struct json_object *ips = choose_addresses(p, c, node);
    if (json_len(ips) > 0) {
        json_add_str(status, "podIP", json_str(json_object_array_get_idx(ips, 0), "ip"));
        kube_set(status, "podIPs", json_object_get(ips));
    }
    json_object_put(ips);
}

static void run_pod(struct kube_pods *p, struct kube_change *c, const struct pod_node *node)
{
    struct json_object *status = kube_need(c->now, "status");
    const char *phase = str_or(json_str(status, "phase"), "Pending");
    char now[32];
    give_addresses(p, c, node);
    if (str_eq(phase, "Pending")) {
        kube_now(c->st, now);
        kube_set(status, "phase", json_object_new_string("Running"));
        kube_set(status, "startTime", json_object_new_string(now));
    }
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        set_condition(c, types[i], "True", NULL, true);
    }
}

static void start_pod(struct kube_pods *p, const char *key)
{
    struct kube_change c;
    if (open_pod(p, key, &c) && !kube_is_deleting(c.now)) {
        struct json_object *spec = kube_need(c.now, "spec");
        struct choice choice = {.pod = c.now, .name = str_nonnull(json_str(spec, "nodeName"))};
        if (*choice.name) {
            choice.node = map_get(p->nodes, choice.name);
        } else {
            map_each(p->nodes, consider, &choice);
        }
        if (choice.node) {
            kube_set(spec, "nodeName", json_object_new_string(choice.name));
            set_condition(&c, "PodScheduled", "True", NULL, false);
            run_pod(p, &c, choice.node);
        } else {
            map_set(p->waiting, key, NULL);
            if (!*choice.name) {
                set_condition(&c, "PodScheduled", "False", "Unschedulable", false);
            }
        }
        (void)kube_commit(&c);
    }
    close_pod(&c);
}

/* --- the end ---------------------------------------------------------------------------------- */
/* The kubelet is done with it: it is gone, or waits for its finalizers with nothing running. */
static void end_pod(struct kube_pods *p, const char *key)
{
    struct kube_change c;
    struct json_object *last = NULL;
    if (open_pod(p, key, &c)) {
        if (json_len(json_path(c.was, "metadata.finalizers")) > 0) {
            kube_set(kube_need(c.now, "status"), "phase", json_object_new_string("Succeeded"));
            set_condition(&c, "Ready", "False", "PodCompleted", false);
            kube_set(kube_need(c.now, "metadata"), "deletionGracePeriodSeconds",
                     json_object_new_int(0));
            (void)kube_commit(&c);
        } else {
            json_object_put(STEAL(c.now)); /* the deletion makes its own */
            json_object_put(kube_delete_one(&c, &last));
        }
    }
    json_object_put(last);
    close_pod(&c);
}

struct end_scan {
    struct kube_pods *p;
    int64_t now_us, next_us;
    const char *ns;
    struct map *over; /* "ns/name" */
};

static bool look_for_end(const char *name, void *value, void *arg)
{
    struct end_scan *s = arg;
    const struct pod *pod = value;
    if (!pod->terminating || pod->finished) {
        return true;
    }
    if (pod->end_us <= s->now_us) {
        char *key = xasprintf("%s/%s", s->ns, name);
        map_set(s->over, key, NULL);
        free(key);
    } else if (s->next_us == 0 || pod->end_us < s->next_us) {
        s->next_us = pod->end_us;
    }
    return true;
}

static bool look_in_space(const char *ns, void *value, void *arg)
{
    struct end_scan *s = arg;
    s->ns = ns;
    map_each(((struct space *)value)->pods, look_for_end, s);
    return true;
}

static void end_all(struct kube_pods *p, struct map *keys)
{
    size_t n = 0;
    const char **all = map_keys(keys, &n);
    for (size_t i = 0; i < n; i++) {
        end_pod(p, all[i]);
    }
    free(all);
}

static void on_end(void *arg)
{
    struct kube_pods *p = arg;
    struct end_scan s = {.p = p, .over = map_new(NULL)};
    s.now_us = clock_wall_us(sim_clock(p->st->sim));
    p->end_timer = NULL;
    map_each(p->spaces, look_in_space, &s);
    end_all(p, s.over);
    map_free(s.over);
    if (s.next_us > 0) {
        kubelet_arm_at(p, s.next_us);
    }
}

void kubelet_arm_at(struct kube_pods *p, int64_t end_us)
{
    int64_t left_us = end_us - clock_wall_us(sim_clock(p->st->sim));
    if (p->end_timer && p->end_due_us <= end_us) {
        return;
    }
    sim_timer_cancel(p->end_timer);
    p->end_due_us = end_us;
    p->end_timer = sim_after(p->st->sim, left_us > 0 ? (left_us + 999) / 1000 : 0, on_end, p);
}

/* --- lost nodes ------------------------------------------------------------------------------- */
struct lost_scan {
    struct kube_pods *p;
    const char *ns;
    struct map *gone;
};

static bool was_on_lost(const char *name, void *value, void *arg)
{
    struct lost_scan *s = arg;
    const struct pod *pod = value;
    if (*pod->node && map_has(s->p->lost, pod->node) && !map_has(s->p->nodes, pod->node)) {
        char *key = xasprintf("%s/%s", s->ns, name);
        map_set(s->gone, key, NULL);
        free(key);
    }
    return true;
}

static bool lost_in_space(const char *ns, void *value, void *arg)
{
    struct lost_scan *s = arg;
    s->ns = ns;
    map_each(((struct space *)value)->pods, was_on_lost, s);
    return true;
}

void kubelet_round(struct kube_pods *p)
{
    size_t n = 0;
    if (map_size(p->lost) > 0) {
        struct lost_scan s = {.p = p, .gone = map_new(NULL)};
        map_each(p->spaces, lost_in_space, &s);
        end_all(p, s.gone);
        map_free(s.gone);
        map_clear(p->lost);
    }
    const char **keys = map_keys(p->starting, &n);
    struct map *starting = p->starting;
    p->starting = map_new(NULL);
    for (size_t i = 0; i < n; i++) {
        start_pod(p, keys[i]);
    }
    free(keys);
    map_free(starting);
    map_clear(p->starting); /* what these writes asked for was just done */
}
