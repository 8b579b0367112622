/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: the stored slices of one Service: reading them, and carrying out what was planned. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/rules/rules.h"

#include <string.h>

#define TRIGGER_TIME "endpoints.kubernetes.io/last-change-trigger-time"

static const struct kube_kind *slices_kind(void)
{
    return kube_kind_by_plural("endpointslices");
}

/* --- reading ---------------------------------------------------------------------------------- */
static bool is_owned(struct slice_job *j, struct json_object *tree)
{
    const char *uid = json_str(json_member(j->service, "metadata"), "uid");
    struct json_object *refs = json_path(tree, "metadata.ownerReferences");
    for (size_t i = 0; i < json_len(refs); i++) {
        struct json_object *ref = json_object_array_get_idx(refs, i);
        if (str_eq(json_str(ref, "kind"), "Service") && str_eq(json_str(ref, "apiVersion"), "v1") &&
            str_eq(json_str(ref, "uid"), uid)) {
            return true;
        }
    }
    return false;
}

static struct json_object *list_or_none(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_get(list)
                                                      : json_object_new_array();
}

static void read_one(struct slice_job *j, struct json_object *tree, struct slice_plan *plans,
                     size_t n_plans, struct slice_plan *others)
{
    const char *type = json_str(tree, "addressType");
    struct slice_plan *plan = others;
    for (size_t i = 0; i < n_plans; i++) {
        plan = str_eq(type, plans[i].v6 ? "IPv6" : "IPv4") ? &plans[i] : plan;
    }
    struct slice *s = plan_add(plan);
    s->was = json_object_get(tree);
    s->name = json_str(json_member(tree, "metadata"), "name");
    s->endpoints = list_or_none(json_member(tree, "endpoints"));
    s->ports = list_or_none(json_member(tree, "ports"));
    s->key = ports_key(j->arena, s->ports);
    s->is_owned = is_owned(j, tree);
    s->fate = plan == others ? SLICE_DELETE : SLICE_KEEP;
}

void slices_read(struct slice_job *j, struct slice_plan *plans, size_t n_plans,
                 struct slice_plan *others)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    const char *label = arena_printf(j->arena, "\"%s\":\"%s\"", PODS_SERVICE_NAME, j->name);
    (void)kube_db_list(j->p->st->store, slices_kind()->store, j->ns, 0, &objs, &n);
    for (size_t i = 0; i < n; i++) {
        if (!strstr(objs[i]->text, label)) {
            continue; /* parsing is what costs */
        }
        struct json_object *tree = kube_obj_tree(objs[i]);
        struct json_object *labels = json_path(tree, "metadata.labels");
        if (str_eq(json_str(labels, PODS_SERVICE_NAME), j->name) &&
            str_eq(json_str(labels, PODS_MANAGED_BY), PODS_MANAGER) && !kube_is_deleting(tree)) {
            read_one(j, tree, plans, n_plans, others);
        }
        json_object_put(tree);
    }
    kube_objs_free(objs, n);
}

/* --- labels ----------------------------------------------------------------------------------- */
static bool is_reserved(const char *label)
{
    return str_eq(label, PODS_MANAGED_BY) || str_eq(label, PODS_SERVICE_NAME) ||
           str_eq(label, PODS_HEADLESS);
}

static void copy_labels(struct json_object *to, struct json_object *from)
{
    if (!json_object_is_type(from, json_type_object)) {
        return;
    }
    json_object_object_foreach(from, label, value)
    {
        if (!is_reserved(label)) {
            kube_set(to, label, json_object_get(value));
        }
    }
}

static struct json_object *labels_wanted(struct slice_job *j)
{
    struct json_object *labels = json_object_new_object();
    copy_labels(labels, json_path(j->service, "metadata.labels"));
    if (j->is_headless) {
        json_add_str(labels, PODS_HEADLESS, "");
    }
    json_add_str(labels, PODS_SERVICE_NAME, j->name);
    json_add_str(labels, PODS_MANAGED_BY, PODS_MANAGER);
    return labels;
}

bool slice_labels_fit(struct slice_job *j, struct json_object *stored)
{
    struct json_object *wanted = json_object_new_object();
    struct json_object *has = json_object_new_object();
    copy_labels(wanted, json_path(j->service, "metadata.labels"));
    copy_labels(has, json_path(stored, "metadata.labels"));
    bool same = json_equal(wanted, has);
    json_object_put(wanted);
    json_object_put(has);
    return same;
}

/* --- writing ---------------------------------------------------------------------------------- */
static struct json_object *owner_of(struct slice_job *j)
{
    struct json_object *ref = json_object_new_object();
    struct json_object *refs = json_object_new_array();
    json_add_str(ref, "apiVersion", "v1");
    json_add_str(ref, "kind", "Service");
    json_add_str(ref, "name", j->name);
    json_add_str(ref, "uid", json_str(json_member(j->service, "metadata"), "uid"));
    json_add_bool(ref, "controller", true);
    json_add_bool(ref, "blockOwnerDeletion", true);
    json_object_array_add(refs, ref);
    return refs;
}

static void set_content(struct slice_job *j, struct json_object *o, const struct slice *s)
{
    struct json_object *meta = kube_need(o, "metadata");
    kube_set(meta, "labels", labels_wanted(j));
    if (j->trigger) {
        kube_set(kube_need(meta, "annotations"), TRIGGER_TIME, json_object_new_string(j->trigger));
    } else if (json_member(meta, "annotations")) {
        kube_set(json_member(meta, "annotations"), TRIGGER_TIME, NULL);
    }
    kube_set(o, "endpoints", json_copy(s->endpoints));
    kube_set(o, "ports", json_copy(s->ports));
}

static void create(struct slice_job *j, const struct slice *s, bool v6)
{
    struct kube_state *st = j->p->st;
    struct json_object *o = json_object_new_object();
    struct json_object *meta = kube_need(o, "metadata");
    const char *prefix = arena_printf(j->arena, "%s-", j->name);
    const char *name = NULL;
    do {
        name = kube_generate_name(st, j->arena, prefix);
    } while (kube_db_get(st->store, slices_kind()->store, j->ns, name));
    json_add_str(meta, "name", name);
    json_add_str(meta, "generateName", prefix);
    json_add_str(meta, "namespace", j->ns);
    json_add(meta, "ownerReferences", owner_of(j));
    json_add_str(o, "addressType", v6 ? "IPv6" : "IPv4");
    set_content(j, o, s);
    kube_make(st, slices_kind(), o);
    json_object_put(o);
}

static void update(struct slice_job *j, const struct slice *s)
{
    struct kube_change c = {.st = j->p->st,
                            .arena = j->arena,
                            .kind = slices_kind(),
                            .namespace = j->ns,
                            .name = s->name,
                            .was = s->was,
                            .now = json_copy(s->was)};
    set_content(j, c.now, s);
    kube_count_generation(&c);
    (void)kube_commit(&c);
    json_object_put(c.now);
}

/* A slice that has to be made takes the name of one that has to go, which saves a write and the
 * watchers a gap. */
static void reuse_names(struct slice_plan *plan)
{
    size_t from = plan->n;
    for (size_t i = 0; i < plan->n; i++) {
        struct slice *gone = &plan->items[i];
        if (gone->fate != SLICE_DELETE || !gone->is_owned) {
            continue;
        }
        while (from > 0 && plan->items[from - 1].fate != SLICE_CREATE) {
            from--;
        }
        if (from == 0) {
            return;
        }
        struct slice *made = &plan->items[--from];
        made->name = gone->name;
        made->was = json_object_get(gone->was);
        made->fate = SLICE_UPDATE;
        gone->fate = SLICE_KEEP;
    }
}

void slices_write(struct slice_job *j, struct slice_plan *plan)
{
    reuse_names(plan);
    for (size_t i = 0; i < plan->n && !j->is_deleting; i++) {
        if (plan->items[i].fate == SLICE_CREATE) {
            create(j, &plan->items[i], plan->v6);
        }
    }
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->items[i].fate == SLICE_UPDATE) {
            update(j, &plan->items[i]);
        }
    }
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->items[i].fate == SLICE_DELETE) {
            (void)kube_db_remove(j->p->st->store, slices_kind()->store, j->ns, plan->items[i].name);
        }
    }
}
