/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c: the subresource "scale" of Deployments, which kubectl scale reads and writes.  Answers
 * autoscaling/v1 Scale. */
#include "sim/kube/deploy/rollout.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

/* {matchLabels: {a: b}} → "a=b". */
static const char *selector_text(struct arena *a, struct json_object *selector)
{
    struct json_object *labels = json_member(selector, "matchLabels");
    const char *text = "";
    if (json_object_is_type(labels, json_type_object)) {
        json_object_object_foreach(labels, key, value)
        {
            text = arena_printf(a, "%s%s%s=%s", text, *text ? "," : "", key,
                                str_nonnull(json_object_get_string(value)));
        }
    }
    return text;
}

static void answer_scale(struct kube_request *r, struct json_object *tree)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    struct json_object *o = json_object_new_object(), *meta = json_object_new_object();
    struct json_object *spec = json_object_new_object(), *status = json_object_new_object();
    struct json_object *of = json_member(tree, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_add_str(meta, kept[i], json_str(of, kept[i]));
    }
    json_add_int(spec, "replicas", json_int(json_member(tree, "spec"), "replicas", 0));
    json_add_int(status, "replicas", json_int(json_member(tree, "status"), "replicas", 0));
    json_add_str(status, "selector", selector_text(r->arena, json_path(tree, "spec.selector")));
    json_add_str(o, "kind", "Scale");
    json_add_str(o, "apiVersion", "autoscaling/v1");
    json_add(o, "metadata", meta);
    json_add(o, "spec", spec);
    json_add(o, "status", status);
    const char *text = json_text(r->arena, o, JSON_COMPACT);
    kube_answer_json(r, 200, text, strlen(text));
    json_object_put(o);
}

/* A PUT names every member, a PATCH the one that it changes; NULL: fine. */
static struct json_object *refusal_of(struct kube_request *r, struct json_object *body,
                                      struct json_object *tree)
{
    struct json_object *replicas = json_path(body, "spec.replicas");
    const char *version = json_str(json_member(body, "metadata"), "resourceVersion");
    const char *stored = json_str(json_member(tree, "metadata"), "resourceVersion");
    if (!json_object_is_type(body, json_type_object) ||
        (replicas && !json_object_is_type(replicas, json_type_int))) {
        return kube_status_bad_request("a Scale or a merge patch of one is wanted, with a whole "
                                       "number as spec.replicas");
    }
    if (!str_is_empty(version) && !str_eq(version, stored)) {
        return kube_status_conflict(r->kind, r->name,
                                    "the object has been modified; please apply your changes to "
                                    "the latest version and try again");
    }
    struct kube_causes causes = {.arena = r->arena};
    int64_t n = replicas ? json_object_get_int64(replicas) : 0;
    if (n < 0) {
        kube_invalid_int(&causes, "spec.replicas", n, "must be greater than or equal to 0");
        return kube_status_invalid(r->kind, r->name, &causes, false);
    }
    return NULL;
}

static void write_scale(struct kube_request *r, struct json_object *tree)
{
    struct json_object *body = NULL; /* the arena's */
    if (!sim_call_json(r->call, &body)) {
        return;
    }
    struct json_object *refusal = refusal_of(r, body, tree);
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    struct json_object *replicas = json_path(body, "spec.replicas");
    struct kube_change c = {.st = r->st,
                            .arena = r->arena,
                            .kind = r->kind,
                            .namespace = r->namespace,
                            .name = r->name,
                            .dry_run = sim_call_param(r->call, "dryRun") != NULL,
                            .was = tree,
                            .now = json_copy(tree)};
    if (replicas || r->verb == KUBE_UPDATE) {
        kube_set(kube_need(c.now, "spec"), "replicas",
                 json_object_new_int64(replicas ? json_object_get_int64(replicas) : 0));
    }
    kube_count_generation(&c);
    (void)kube_commit(&c);
    answer_scale(r, c.now);
    json_object_put(c.now);
}

void kube_handle_scale(struct kube_request *r)
{
    struct kube_obj *o = kube_db_get(r->st->store, r->kind->store, r->namespace, r->name);
    struct json_object *tree = o ? kube_obj_tree(o) : NULL;
    if (!tree) {
        kube_answer_status(r, kube_status_not_found(r->kind, r->name));
    } else if (r->verb == KUBE_GET) {
        answer_scale(r, tree);
    } else {
        write_scale(r, tree);
    }
    json_object_put(tree);
}
