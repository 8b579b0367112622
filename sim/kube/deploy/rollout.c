/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c: see rollout.h.
 *
 * A round brings each Deployment that is due one step further: pods of the template that it has now
 * are made as far as maxSurge allows, pods of older templates are deleted as far as maxUnavailable
 * allows, and the status is written.  The kubelet's (pods/) changes start the next round.  Pods
 * know their template by the label pod-template-hash.  minReadySeconds and progressDeadlineSeconds
 * decide nothing, and a paused Deployment does nothing but count. */
#include "sim/kube/deploy/rollout.h"

#include "common/base/map.h"
#include "sim/kube/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#define HASH_LABEL "pod-template-hash"

struct kube_rollouts {
    struct kube_state *st;
    struct map *due; /* "ns/name" */
    struct sim_timer *timer;
};

struct kube_rollouts *kube_rollouts_new(struct kube_state *st)
{
    struct kube_rollouts *r = xcalloc(1, sizeof(*r));
    r->st = st;
    r->due = map_new(NULL);
    return r;
}

void kube_rollouts_forget(struct kube_rollouts *r)
{
    sim_timer_cancel(r->timer);
    r->timer = NULL;
    map_clear(r->due);
}

void kube_rollouts_free(struct kube_rollouts *r)
{
    if (r) {
        kube_rollouts_forget(r);
        map_free(r->due);
        free(r);
    }
}

/* --- the pods of a Deployment ----------------------------------------------------------------- */

/* One Deployment in a round. */
struct job {
    struct kube_state *st;
    struct arena *a;
    const char *ns, *name, *uid, *hash;
    struct json_object *tree;
    int64_t replicas, surge, unavailable; /* wanted; more than wanted; fewer than wanted */
    bool recreates, paused;
    /* its pods that are there: not finished, and not being deleted */
    int64_t live, updated, ready;
    int64_t ending; /* being deleted */
};

/* The controller of a pod if it is a Deployment; NULL: it is not. */
static struct json_object *owner_of(struct json_object *meta)
{
    struct json_object *refs = json_member(meta, "ownerReferences");
    for (size_t i = 0; i < json_len(refs); i++) {
        struct json_object *ref = json_object_array_get_idx(refs, i);
        if (json_bool(ref, "controller", false) && str_eq(json_str(ref, "kind"), "Deployment")) {
            return ref;
        }
    }
    return NULL;
}

static bool is_ready(struct json_object *pod)
{
    struct json_object *list = json_path(pod, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        if (str_eq(json_str(c, "type"), "Ready")) {
            return str_eq(json_str(c, "status"), "True");
        }
    }
    return false;
}

static bool is_of_template(const struct job *j, struct json_object *pod)
{
    return str_eq(json_str(json_path(pod, "metadata.labels"), HASH_LABEL), j->hash);
}

/* Calls fn for each pod of the Deployment that is there; fn returns false to stop. */
static void each_pod(struct job *j, bool (*fn)(struct job *j, struct json_object *pod, void *arg),
                     void *arg)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    bool go_on = true;
    (void)kube_db_list(j->st->store, kube_kind_by_plural("pods")->store, j->ns, 0, &objs, &n);
    for (size_t i = 0; i < n && go_on; i++) {
        if (strstr(objs[i]->text, j->uid)) {
            struct json_object *pod = kube_obj_tree(objs[i]);
            struct json_object *owner = owner_of(json_member(pod, "metadata"));
            const char *phase = json_str(json_member(pod, "status"), "phase");
            bool over = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
            bool ours = str_eq(json_str(owner, "uid"), j->uid) && !over;
            go_on = !ours || fn(j, pod, arg);
            json_object_put(pod);
        }
    }
    kube_objs_free(objs, n);
}

static bool count_pod(struct job *j, struct json_object *pod, void *arg)
{
    (void)arg;
    if (kube_is_deleting(pod)) {
        j->ending++;
    } else {
        j->live++;
        j->updated += is_of_template(j, pod);
        j->ready += is_ready(pod);
    }
    return true;
}

/* --- making and deleting ---------------------------------------------------------------------- */

static void make_pod(struct job *j)
{
    struct json_object *template = json_path(j->tree, "spec.template");
    struct json_object *pod = json_object_new_object();
    struct json_object *meta = json_copy(json_member(template, "metadata"));
    struct json_object *refs = json_object_new_array(), *ref = json_object_new_object();
    const char *prefix = arena_printf(j->a, "%s-%s-", j->name, j->hash);
    kube_set(meta, "name", json_object_new_string(kube_generate_name(j->st, j->a, prefix)));
    kube_set(meta, "namespace", json_object_new_string(j->ns));
    kube_set(kube_need(meta, "labels"), HASH_LABEL, json_object_new_string(j->hash));
    json_add_str(ref, "apiVersion", "apps/v1");
    json_add_str(ref, "kind", "Deployment");
    json_add_str(ref, "name", j->name);
    json_add_str(ref, "uid", j->uid);
    json_add_bool(ref, "controller", true);
    json_add_bool(ref, "blockOwnerDeletion", true);
    json_object_array_add(refs, ref);
    kube_set(meta, "ownerReferences", refs);
    json_add(pod, "metadata", meta);
    json_add(pod, "spec", json_copy(json_member(template, "spec")));
    kube_make(j->st, kube_kind_by_plural("pods"), pod);
    json_object_put(pod);
}

/* Which pods may be deleted, and how many of them. */
struct cut {
    bool updated; /* those of the template, else all others */
    bool ready;
    int64_t n;
    struct map *names;
};

static bool choose(struct job *j, struct json_object *pod, void *arg)
{
    struct cut *cut = arg;
    if (!kube_is_deleting(pod) && is_of_template(j, pod) == cut->updated &&
        is_ready(pod) == cut->ready) {
        map_set(cut->names, json_str(json_member(pod, "metadata"), "name"), NULL);
        cut->n--;
    }
    return cut->n > 0;
}

static void delete_pod(struct job *j, const char *name)
{
    const struct kube_kind *kind = kube_kind_by_plural("pods");
    struct json_object *last = NULL;
    struct kube_change c = {.st = j->st, .arena = j->a, .kind = kind, .grace_s = -1};
    struct kube_obj *o = kube_db_get(j->st->store, kind->store, j->ns, name);
    c.namespace = j->ns;
    c.name = name;
    c.was = o ? kube_obj_tree(o) : NULL;
    json_object_put(kube_delete_one(&c, &last));
    json_object_put(last);
    json_object_put(c.now);
    json_object_put(c.was);
}

/* Deletes up to n pods; returns how many. */
static int64_t delete_pods(struct job *j, bool updated, bool ready, int64_t n)
{
    struct cut cut = {updated, ready, n, map_new(NULL)};
    size_t chosen = 0;
    if (n > 0) {
        each_pod(j, choose, &cut);
    }
    const char **names = map_keys(cut.names, &chosen);
    for (size_t i = 0; i < chosen; i++) {
        delete_pod(j, names[i]);
    }
    free(names);
    map_free(cut.names);
    return (int64_t)chosen;
}

/* --- one Deployment --------------------------------------------------------------------------- */

/* A number, or a part of `of` in percent, rounded up or down. */
static int64_t part_of(struct json_object *value, int64_t of, bool up)
{
    if (json_object_is_type(value, json_type_string)) {
        int64_t percent = strtoll(json_object_get_string(value), NULL, 10);
        return (percent * of + (up ? 99 : 0)) / 100;
    }
    return value ? json_object_get_int64(value) : 0;
}

/* A short name for a template: equal templates have equal ones. */
static const char *hash_of(struct arena *a, struct json_object *template)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint32_t h = 2166136261U;
    char out[9];
    for (const char *p = json_text(a, template, JSON_COMPACT); *p; p++) {
        h = (h ^ (unsigned char)*p) * 16777619U;
    }
    for (size_t i = 0; i + 1 < sizeof(out); i++, h /= 16) {
        out[i] = letters[h % 16];
    }
    out[sizeof(out) - 1] = '\0';
    return arena_strdup(a, out);
}

static void read_job(struct job *j)
{
    struct json_object *spec = json_member(j->tree, "spec");
    struct json_object *rolling = json_path(spec, "strategy.rollingUpdate");
    j->uid = str_nonnull(json_str(json_member(j->tree, "metadata"), "uid"));
    j->hash = hash_of(j->a, json_member(spec, "template"));
    j->replicas = json_int(spec, "replicas", 1);
    j->paused = json_bool(spec, "paused", false);
    j->recreates = str_eq(json_str(json_member(spec, "strategy"), "type"), "Recreate");
    j->surge = part_of(json_member(rolling, "maxSurge"), j->replicas, true);
    j->unavailable = part_of(json_member(rolling, "maxUnavailable"), j->replicas, false);
    if (j->surge == 0 && j->unavailable == 0) {
        j->unavailable = 1;
    }
}

static void step(struct job *j)
{
    int64_t old = j->live - j->updated;
    int64_t extra = j->updated - j->replicas;
    if (extra > 0) {
        extra -= delete_pods(j, true, false, extra);
        (void)delete_pods(j, true, true, extra);
    }
    if (j->recreates) {
        (void)delete_pods(j, false, false, old);
        (void)delete_pods(j, false, true, old);
        old += j->ending;
    } else if (old > 0) {
        int64_t gone = delete_pods(j, false, false, old);
        int64_t spare = j->ready - (j->replicas - j->unavailable);
        (void)delete_pods(j, false, true, spare < old - gone ? spare : old - gone);
    }
    int64_t room = j->recreates ? (old > 0 ? 0 : j->replicas) : j->replicas + j->surge - old;
    int64_t wanted = room < j->replicas ? room : j->replicas;
    for (int64_t i = j->updated; i < wanted; i++) {
        make_pod(j);
    }
}

static void add_condition(struct job *j, struct json_object *list, const char *type, bool yes,
                          const char *reason)
{
    struct json_object *before = json_path(j->tree, "status.conditions");
    struct json_object *one = json_object_new_object();
    const char *status = yes ? "True" : "False";
    char now[32];
    kube_now(j->st, now);
    const char *since = now, *updated = now;
    for (size_t i = 0; i < json_len(before); i++) {
        struct json_object *c = json_object_array_get_idx(before, i);
        if (str_eq(json_str(c, "type"), type) && str_eq(json_str(c, "status"), status)) {
            since = str_or(json_str(c, "lastTransitionTime"), now);
            updated = str_eq(json_str(c, "reason"), reason)
                          ? str_or(json_str(c, "lastUpdateTime"), now)
                          : now;
        }
    }
    json_add_str(one, "type", type);
    json_add_str(one, "status", status);
    json_add_str(one, "lastUpdateTime", updated);
    json_add_str(one, "lastTransitionTime", since);
    json_add_str(one, "reason", reason);
    json_object_array_add(list, one);
}

static void write_status(struct job *j)
{
    struct json_object *status = json_object_new_object(), *list = json_object_new_array();
    struct json_object *meta = json_member(j->tree, "metadata");
    bool enough = j->ready >= j->replicas - (j->recreates ? 0 : j->unavailable);
    bool done = j->updated == j->replicas && j->live == j->updated && j->ready >= j->replicas;
    json_add_int(status, "observedGeneration", json_int(meta, "generation", 0));
    json_add_int(status, "replicas", j->live);
    json_add_int(status, "updatedReplicas", j->updated);
    json_add_int(status, "readyReplicas", j->ready);
    json_add_int(status, "availableReplicas", j->ready);
    json_add_int(status, "unavailableReplicas",
                 j->replicas > j->ready ? j->replicas - j->ready : 0);
    json_add_int(status, "terminatingReplicas", j->ending);
    add_condition(j, list, "Available", enough,
                  enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable");
    add_condition(j, list, "Progressing", true,
                  done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated");
    json_add(status, "conditions", list);
    struct kube_change c = {.st = j->st,
                            .arena = j->a,
                            .kind = kube_kind_by_plural("deployments"),
                            .namespace = j->ns,
                            .name = j->name,
                            .was = j->tree,
                            .now = json_copy(j->tree)};
    kube_set(c.now, "status", status);
    (void)kube_commit(&c);
    json_object_put(c.now);
}

static void reconcile(struct kube_state *st, const char *key)
{
    const char *slash = strchr(key, '/');
    struct job j = {.st = st, .a = arena_new()};
    j.ns = arena_strndup(j.a, key, (size_t)(slash - key));
    j.name = arena_strdup(j.a, slash + 1);
    struct kube_obj *o =
        kube_db_get(st->store, kube_kind_by_plural("deployments")->store, j.ns, j.name);
    j.tree = o ? kube_obj_tree(o) : NULL;
    struct json_object *template = json_path(j.tree, "spec.template");
    bool whole = json_object_is_type(json_member(template, "spec"), json_type_object) &&
                 json_object_is_type(json_member(template, "metadata"), json_type_object);
    if (whole && !kube_is_deleting(j.tree)) { /* worlds may hold anything */
        read_job(&j);
        each_pod(&j, count_pod, NULL);
        if (!j.paused) {
            step(&j);
            j.live = j.updated = j.ready = j.ending = 0;
            each_pod(&j, count_pod, NULL);
        }
        write_status(&j);
    }
    json_object_put(j.tree);
    arena_free(j.a);
}

/* --- following -------------------------------------------------------------------------------- */

static void round_now(void *arg)
{
    struct kube_rollouts *r = arg;
    struct map *due = r->due;
    size_t n = 0;
    r->timer = NULL;
    r->due = map_new(NULL);
    const char **keys = map_keys(due, &n);
    for (size_t i = 0; i < n; i++) {
        reconcile(r->st, keys[i]);
    }
    free(keys);
    map_free(due);
}

static void mark(struct kube_rollouts *r, const char *ns, const char *name)
{
    char *key = xasprintf("%s/%s", ns, name);
    map_set(r->due, key, NULL);
    free(key);
    if (!r->timer) {
        r->timer = sim_after(r->st->sim, 0, round_now, r);
    }
}

void kube_rollouts_follow(struct kube_rollouts *r, const struct kube_kind *kind,
                          const struct kube_event *ev)
{
    bool is_pod = str_eq(kind->plural, "pods");
    if (!is_pod && !str_eq(kind->plural, "deployments")) {
        return;
    }
    struct arena *a = arena_new();
    const char *ns = kube_obj_ns(ev->now, a);
    if (!is_pod && ev->type != KUBE_DELETED) {
        mark(r, ns, kube_obj_name(ev->now));
    } else if (is_pod && strstr(ev->now->text, "\"Deployment\"")) {
        struct json_object *meta = kube_obj_meta(ev->now);
        const char *owner = json_str(owner_of(meta), "name");
        if (owner) {
            mark(r, ns, owner);
        }
        json_object_put(meta);
    }
    arena_free(a);
}
