/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile.c: one Service: which families it has, what is planned for each, what is written.
 *
 * A Service of type ExternalName or without a selector is left alone, also its slices.  A Service
 * whose pods are counted (counts.h) has no slices of this controller. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/pods/counts.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define FAMILIES_MAX 2

static bool is_headless(struct json_object *service)
{
    const char *ip = str_nonnull(json_str(json_member(service, "spec"), "clusterIP"));
    return *ip == '\0' || str_eq(ip, "None");
}

/* One plan for each family; returns how many. */
static size_t plan_families(struct json_object *service, struct slice_plan plans[FAMILIES_MAX])
{
    struct json_object *families = json_path(service, "spec.ipFamilies");
    const char *ip = str_nonnull(json_str(json_member(service, "spec"), "clusterIP"));
    size_t n = 0;
    for (size_t i = 0; i < json_len(families) && n < FAMILIES_MAX; i++) {
        plans[n++].v6 = str_eq(kube_item(families, i), "IPv6");
    }
    if (n == 0 && is_headless(service)) {
        plans[n++].v6 = false;
        plans[n++].v6 = true;
    } else if (n == 0) {
        plans[n++].v6 = strchr(ip, ':') != NULL;
    }
    return n;
}

static void plan_and_write(struct slice_job *j)
{
    struct slice_plan plans[FAMILIES_MAX] = {{.n = 0}, {.n = 0}};
    struct slice_plan others = {.n = 0};
    size_t n = plan_families(j->service, plans);
    slices_read(j, plans, n, &others);
    for (size_t i = 0; i < n; i++) {
        plan_groups(j, &plans[i]);
        hints_apply(j, &plans[i]);
        slices_write(j, &plans[i]);
        plan_done(&plans[i]);
    }
    slices_write(j, &others);
    plan_done(&others);
}

/* --- what began it ---------------------------------------------------------------------------- */
static bool later_pod(const char *name, void *value, void *arg)
{
    struct slice_job *j = arg;
    const struct pod *pod = map_get(j->space->pods, name);
    (void)value;
    if (pod && *pod->ready_since && (!j->trigger || strcmp(pod->ready_since, j->trigger) > 0)) {
        j->trigger = pod->ready_since;
    }
    return true;
}

void reconcile_service(struct kube_pods *p, const char *ns, const char *name)
{
    struct slice_job j = {.p = p, .ns = ns, .name = name};
    struct kube_obj *o =
        kube_db_get(p->st->store, kube_kind_by_plural("services")->store, ns, name);
    j.space = map_get(p->spaces, ns);
    j.svc = j.space ? map_get(j.space->services, name) : NULL;
    if (!o || !j.svc || !j.svc->selector) {
        return;
    }
    if (kube_counts_has(p->st->counts, ns, name)) {
        kube_pods_drop_slices(p, ns, name);
        return;
    }
    j.arena = arena_new();
    j.service = kube_obj_tree(o);
    j.is_headless = is_headless(j.service);
    j.is_deleting = kube_is_deleting(j.service);
    j.publishes_unready =
        json_bool(json_member(j.service, "spec"), "publishNotReadyAddresses", false);
    j.trigger = json_str(json_member(j.service, "metadata"), "creationTimestamp");
    map_each(j.svc->members, later_pod, &j);
    j.trigger = j.trigger ? arena_strdup(j.arena, j.trigger) : NULL;
    plan_and_write(&j);
    json_object_put(j.service);
    arena_free(j.arena);
}

void kube_pods_drop_slices(struct kube_pods *p, const char *ns, const char *service)
{
    struct slice_job j = {.p = p, .ns = ns, .name = service, .arena = arena_new()};
    struct slice_plan others = {.n = 0};
    bool was_busy = p->busy;
    p->busy = true;
    slices_read(&j, NULL, 0, &others);
    slices_write(&j, &others);
    plan_done(&others);
    p->busy = was_busy;
    arena_free(j.arena);
}
