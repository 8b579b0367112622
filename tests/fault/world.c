/* SPDX-License-Identifier: Apache-2.0 */
/* world.c: foreign things, and what belongs to a Service (world.h).  Texts and comparing are in
 * world_text.c, each cloud's own in world_gce.c and world_azure.c. */
#include "tests/fault/world_internal.h"

#include <string.h>

#include "tests/support/rig.h"

/* ---- clouds ---------------------------------------------------------------------------------- */

/* Each cloud seeds documents of its own only when the nodes are there; Google's network
 * is always there. */
const struct world_rules *world_rules_of(struct json_object *world)
{
    static const struct world_rules *const rules[] = {&world_rules_aws, &world_rules_azure};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct json_object *docs = json_member(world, rules[i]->cloud);
        if (docs != NULL && json_object_object_length(docs) > 0) {
            return rules[i];
        }
    }
    return &world_rules_gce;
}

struct json_object *world_docs(struct arena *a, struct json_object *world)
{
    const struct world_rules *rules = world_rules_of(world);
    struct json_object *docs = json_member(world, rules->cloud);
    return rules->flatten == NULL ? docs : rules->flatten(a, docs);
}

static struct json_object *foreign_docs(struct arena *a, const struct world_rules *rules,
                                        struct json_object *foreign)
{
    struct json_object *docs = json_member(foreign, rules->cloud);
    return rules->flatten == NULL ? docs : rules->flatten(a, docs);
}

const char *world_cloud(struct json_object *world)
{
    return world_rules_of(world)->cloud;
}

/* ---- foreign things -------------------------------------------------------------------------- */

int world_add_foreign(struct arena *a, struct json_object *world, struct err *err)
{
    struct json_object *foreign = NULL;
    const struct world_rules *rules = world_rules_of(world);
    int rc = rig_read_data(a, rules->foreign, &foreign, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (rules->add != NULL) {
        rules->add(a, json_member(world, rules->cloud), json_member(foreign, rules->cloud));
    } else {
        json_object_object_foreach(json_member(foreign, rules->cloud), id, doc)
        {
            json_add(json_member(world, rules->cloud), id, json_copy(doc));
        }
    }
    struct json_object *services = json_member(foreign, "services");
    struct json_object *there = json_path(world, "kubernetes.services");
    if (there == NULL) {
        there = json_object_new_array();
        json_add(json_member(world, "kubernetes"), "services", there);
    }
    for (size_t i = 0; i < json_len(services); i++) {
        json_object_array_add(there, json_copy(json_object_array_get_idx(services, i)));
    }
    return ERR_OK;
}

static struct json_object *find_service(struct json_object *world, const char *name)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (str_eq(json_str(json_member(s, "metadata"), "name"), name)) {
            return s;
        }
    }
    return NULL;
}

static int check_same_service(struct arena *a, const char *name, struct json_object *was,
                              struct json_object *now, struct err *err)
{
    const char *text = now == NULL ? "it is gone" : json_text(a, now, JSON_SORTED);
    return str_eq(json_text(a, was, JSON_SORTED), text)
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "foreign Service %s was touched: %s", name, text);
}

void world_remove_service(struct json_object *world, const char *name)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (str_eq(json_str(json_member(s, "metadata"), "name"), name)) {
            json_object_array_del_idx(services, i, 1);
            return;
        }
    }
}

int world_check_foreign(struct arena *a, struct json_object *before, struct json_object *after,
                        struct err *err)
{
    struct json_object *foreign = NULL;
    const struct world_rules *rules = world_rules_of(before);
    int rc = rig_read_data(a, rules->foreign, &foreign, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *docs_before = world_docs(a, before);
    struct json_object *docs_after = world_docs(a, after);
    json_object_object_foreach(foreign_docs(a, rules, foreign), id, doc)
    {
        struct json_object *was = json_member(docs_before, id);
        struct json_object *now = json_member(docs_after, id);
        if (rc == ERR_OK && was != NULL) { /* a flow may begin without */
            rc = rules->check_foreign(a, id, doc, was, now, err);
        }
    }
    struct json_object *services = json_member(foreign, "services");
    for (size_t i = 0; i < json_len(services) && rc == ERR_OK; i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(services, i), "metadata");
        const char *name = json_str(meta, "name");
        struct json_object *was = find_service(before, name);
        if (was != NULL) {
            rc = check_same_service(a, name, was, find_service(after, name), err);
        }
    }
    return rc;
}

/* ---- what belongs to a Service --------------------------------------------------------------- */

/* Of classes the four of Google's; of types for AWS those that are not for its other controller. */
bool world_service_is_ours(struct json_object *service)
{
    struct json_object *spec = json_member(service, "spec");
    const char *class = json_str(spec, "loadBalancerClass");
    const char *type = json_str(json_path(service, "metadata.annotations"),
                                "service.beta.kubernetes.io/aws-load-balancer-type");
    if (str_eq(type, "external") || str_eq(type, "nlb-ip")) {
        return false;
    }
    return str_eq(json_str(spec, "type"), "LoadBalancer") &&
           (class == NULL || str_has_prefix(class, "networking.gke.io/l4-regional-"));
}

static bool is_foreign_service(struct json_object *foreign, struct json_object *service)
{
    struct json_object *services = json_member(foreign, "services");
    const char *uid = json_str(json_member(service, "metadata"), "uid");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (str_eq(json_str(json_member(s, "metadata"), "uid"), uid)) {
            return true;
        }
    }
    return false;
}

const char *world_published_address(struct json_object *service)
{
    struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
    struct json_object *first =
        json_len(ingress) == 0 ? NULL : json_object_array_get_idx(ingress, 0);
    return str_or(json_str(first, "ip"), json_str(first, "hostname"));
}

/* A Service that is no load balancer of ours any more holds nothing of ours. */
static int add_service(struct world_view *v, struct json_object *service, struct err *err)
{
    struct json_object *meta = json_member(service, "metadata");
    if (world_service_is_ours(service) && json_member(meta, "deletionTimestamp") == NULL) {
        v->services[v->n_services++] = service;
        return ERR_OK;
    }
    if (json_len(json_member(meta, "finalizers")) > 0) {
        return err_set(err, ERR_CONFLICT, "Service %s still has finalizers",
                       json_str(meta, "name"));
    }
    return ERR_OK;
}

int world_check_whole(struct arena *a, struct json_object *world, bool deny, struct err *err)
{
    struct json_object *foreign = NULL;
    const struct world_rules *rules = world_rules_of(world);
    int rc = rig_read_data(a, rules->foreign, &foreign, err);
    struct json_object *services = json_path(world, "kubernetes.services");
    struct world_view v = {.a = a,
                           .world = world,
                           .docs = world_docs(a, world),
                           .foreign = foreign_docs(a, rules, foreign),
                           .services = ARENA_ARRAY(a, struct json_object *, json_len(services) + 1),
                           .deny = deny};
    for (size_t i = 0; i < json_len(services) && rc == ERR_OK; i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (!is_foreign_service(foreign, s)) {
            rc = add_service(&v, s, err);
        }
    }
    return rc == ERR_OK ? rules->check_whole(&v, err) : rc;
}

/* ---- starting over --------------------------------------------------------------------------- */

/* The controllers' writes on it.  Google's annotations are those of docs/spec/gce-l4.md section
 * 10. */
static void strip_annotations(struct arena *a, struct json_object *notes)
{
    const char **keys = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(notes));
    size_t n = 0;
    json_object_object_foreach(notes, key, value)
    {
        (void)value;
        if (str_has_prefix(key, "service.kubernetes.io/") ||
            str_eq(key, "cloud.google.com/neg-status")) {
            keys[n++] = arena_strdup(a, key);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(notes, keys[i]);
    }
}

static void strip_service(struct arena *a, struct json_object *service)
{
    struct json_object *notes = json_path(service, "metadata.annotations");
    if (notes != NULL) {
        strip_annotations(a, notes);
    }
    struct json_object *status = json_object_new_object();
    json_object_object_del(json_member(service, "metadata"), "finalizers");
    json_add(status, "loadBalancer", json_object_new_object());
    json_add(service, "status", status);
}

/* Members of deleted groups are deleted. */
static void strip_members(struct arena *a, struct json_object *world, struct json_object *docs)
{
    struct json_object *members = json_member(world, "members");
    if (members == NULL) {
        return;
    }
    const char **paths = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(members));
    size_t n = 0;
    json_object_object_foreach(members, path, list)
    {
        (void)list;
        if (json_member(docs, path) == NULL) {
            paths[n++] = arena_strdup(a, path);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(members, paths[i]);
    }
}

int world_unbuilt(struct arena *a, struct json_object *world, struct json_object **ret,
                  struct err *err)
{
    struct json_object *foreign = NULL;
    struct json_object *copy = NULL;
    const char *text = json_text(a, world, JSON_COMPACT);
    const struct world_rules *rules = world_rules_of(world);
    int rc = rig_read_data(a, rules->foreign, &foreign, err);
    rc = rc == ERR_OK ? json_parse_arena(a, text, strlen(text), NULL, &copy, err) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *services = json_path(copy, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (!is_foreign_service(foreign, s)) {
            strip_service(a, s);
        }
    }
    rules->strip(a, json_member(copy, rules->cloud), json_member(foreign, rules->cloud));
    strip_members(a, copy, json_member(copy, rules->cloud));
    json_object_object_del(json_member(copy, "kubernetes"), "servicenetworkendpointgroups");
    *ret = copy;
    return ERR_OK;
}
