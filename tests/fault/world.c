/* SPDX-License-Identifier: Apache-2.0 */
/* world.c: foreign things, and what belongs to a Service (world.h).  Texts and comparing are in world_text.c. */
#include "tests/fault/world.h"

#include <string.h>

#include "common/base/map.h"
#include "tests/support/rig.h"

/* ---- foreign things ------------------------------------------------------------------------------ */

int world_add_foreign(struct arena *a, struct json_object *world, struct err *err)
{
    struct json_object *foreign = NULL;
    int rc = rig_read_data(a, "fault/foreign.json", &foreign, err);
    if (rc != ERR_OK) {
        return rc;
    }
    json_object_object_foreach(json_member(foreign, "gce"), path, resource)
    {
        json_add(json_member(world, "gce"), path, json_copy(resource));
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

/* Who uses an address is the cloud's to say. */
static char *text_of(struct arena *a, struct json_object *resource)
{
    _cleanup_(json_putp) struct json_object *o = json_copy(resource);
    json_object_object_del(o, "users");
    json_object_object_del(o, "status");
    return json_text(a, o, JSON_SORTED);
}

static int check_same(struct arena *a, const char *what, struct json_object *was,
                      struct json_object *now, struct err *err)
{
    if (now == NULL) {
        return err_set(err, ERR_CONFLICT, "foreign %s is gone", what);
    }
    const char *text = text_of(a, now);
    return str_eq(text_of(a, was), text)
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "foreign %s was touched: %s", what, text);
}

int world_check_foreign(struct arena *a, struct json_object *before, struct json_object *after,
                        struct err *err)
{
    struct json_object *foreign = NULL;
    int rc = rig_read_data(a, "fault/foreign.json", &foreign, err);
    if (rc != ERR_OK) {
        return rc;
    }
    json_object_object_foreach(json_member(foreign, "gce"), path, resource)
    {
        (void)resource;
        if (rc == ERR_OK) {
            rc = check_same(a, path, json_member(json_member(before, "gce"), path),
                            json_member(json_member(after, "gce"), path), err);
        }
    }
    struct json_object *services = json_member(foreign, "services");
    for (size_t i = 0; i < json_len(services) && rc == ERR_OK; i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(services, i), "metadata");
        const char *name = json_str(meta, "name");
        rc = check_same(a, name, find_service(before, name), find_service(after, name), err);
    }
    return rc;
}

/* ---- what belongs to a Service ------------------------------------------------------------------- */

bool world_service_is_ours(struct json_object *service)
{
    struct json_object *spec = json_member(service, "spec");
    struct json_object *notes = json_path(service, "metadata.annotations");
    return str_eq(json_str(spec, "type"), "LoadBalancer") &&
           json_str(spec, "loadBalancerClass") == NULL &&
           json_str(notes, "cloud.google.com/l4-rbs") == NULL &&
           !str_eq(json_str(notes, "networking.gke.io/load-balancer-type"), "Internal");
}

struct expected {
    struct arena *a;
    struct json_object *gce;
    struct map *names; /* "targetPools/NAME" of what must be there */
    const char *cluster;
    bool deny;
};

static void expect(struct expected *e, const char *collection, const char *name)
{
    map_set(e->names, arena_printf(e->a, "%s/%s", collection, name), NULL);
}

static void expect_service(struct expected *e, struct json_object *service)
{
    struct arena *a = e->a;
    const char *lb = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    bool local = str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
    expect(e, "forwardingRules", lb);
    expect(e, "targetPools", lb);
    expect(e, "firewalls", arena_printf(a, "k8s-fw-%s", lb));
    if (e->deny) {
        expect(e, "firewalls", arena_printf(a, "k8s-fw-%s-deny", lb));
    }
    if (local) {
        expect(e, "httpHealthChecks", lb);
        expect(e, "firewalls", arena_printf(a, "k8s-%s-http-hc", lb));
    } else {
        expect(e, "httpHealthChecks", arena_printf(a, "k8s-%s-node", e->cluster));
        expect(e, "firewalls", arena_printf(a, "k8s-%s-node-http-hc", e->cluster));
    }
}

static const char *cluster_id(struct json_object *world)
{
    struct json_object *maps = json_path(world, "kubernetes.configmaps");
    for (size_t i = 0; i < json_len(maps); i++) {
        struct json_object *m = json_object_array_get_idx(maps, i);
        if (str_eq(json_str(json_member(m, "metadata"), "name"), "ingress-uid")) {
            return str_nonnull(json_str(json_member(m, "data"), "uid"));
        }
    }
    return "";
}

static bool is_load_balancing(const char *collection)
{
    static const char *const collections[] = {"addresses", "forwardingRules", "targetPools",
                                              "firewalls", "httpHealthChecks"};
    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        if (str_eq(collection, collections[i])) {
            return true;
        }
    }
    return false;
}

/* "targetPools/NAME" of a path, or NULL when it is none of the load balancer's kinds. */
static const char *short_name(struct arena *a, const char *path)
{
    size_t n = 0;
    char **parts = str_split(a, path, '/', &n);
    return n < 2 || !is_load_balancing(parts[n - 2])
               ? NULL
               : arena_printf(a, "%s/%s", parts[n - 2], parts[n - 1]);
}

/* Takes what is there from what must be there; what is left over belongs to nobody. */
static int check_resources(struct expected *e, struct json_object *foreign, struct err *err)
{
    json_object_object_foreach(e->gce, path, resource)
    {
        const char *name = short_name(e->a, path);
        (void)resource;
        if (name == NULL || json_member(json_member(foreign, "gce"), path) != NULL) {
            continue;
        }
        if (!map_remove(e->names, name)) {
            return err_set(err, ERR_CONFLICT, "%s is left behind", name);
        }
    }
    size_t n = 0;
    const char **missing = map_keys(e->names, &n);
    int rc = n == 0 ? ERR_OK : err_set(err, ERR_CONFLICT, "%s is missing", missing[0]);
    free(missing);
    return rc;
}

static int check_address(struct expected *e, struct json_object *service, struct err *err)
{
    struct json_object *meta = json_member(service, "metadata");
    const char *lb = names_lb(e->a, json_str(meta, "uid"));
    struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
    const char *published =
        json_len(ingress) == 0 ? NULL : json_str(json_object_array_get_idx(ingress, 0), "ip");
    const char *rule_ip = NULL;
    json_object_object_foreach(e->gce, path, resource)
    {
        if (str_eq(short_name(e->a, path), arena_printf(e->a, "forwardingRules/%s", lb))) {
            rule_ip = json_str(resource, "IPAddress");
        }
    }
    if (published == NULL || !str_eq(published, rule_ip)) {
        return err_set(err, ERR_CONFLICT, "Service %s publishes %s, its rule has %s",
                       json_str(meta, "name"), str_or(published, "nothing"),
                       str_or(rule_ip, "none"));
    }
    return ERR_OK;
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

static int check_service(struct expected *e, struct json_object *service, struct err *err)
{
    struct json_object *meta = json_member(service, "metadata");
    if (world_service_is_ours(service) && json_member(meta, "deletionTimestamp") == NULL) {
        expect_service(e, service);
        return check_address(e, service, err);
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
    int rc = rig_read_data(a, "fault/foreign.json", &foreign, err);
    struct json_object *services = json_path(world, "kubernetes.services");
    struct expected e = {.a = a,
                         .gce = json_member(world, "gce"),
                         .names = map_new(NULL),
                         .cluster = cluster_id(world),
                         .deny = deny};
    for (size_t i = 0; i < json_len(services) && rc == ERR_OK; i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (!is_foreign_service(foreign, s)) {
            rc = check_service(&e, s, err);
        }
    }
    if (rc == ERR_OK) {
        rc = check_resources(&e, foreign, err);
    }
    map_free(e.names);
    return rc;
}

/* ---- starting over ------------------------------------------------------------------------------- */

static void strip_service(struct json_object *service)
{
    struct json_object *status = json_object_new_object();
    json_object_object_del(json_member(service, "metadata"), "finalizers");
    json_add(status, "loadBalancer", json_object_new_object());
    json_add(service, "status", status);
}

static void strip_cloud(struct arena *a, struct json_object *gce, struct json_object *foreign)
{
    const char **paths = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(gce));
    size_t n = 0;
    json_object_object_foreach(gce, path, resource)
    {
        bool users = json_member(json_member(foreign, "gce"), path) != NULL;
        if (short_name(a, path) != NULL && !users) {
            paths[n++] = arena_strdup(a, path);
        } else if (strstr(path, "/addresses/") != NULL) {
            json_object_object_del(resource, "users");
            json_add_str(resource, "status", "RESERVED");
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(gce, paths[i]);
    }
}

int world_unbuilt(struct arena *a, struct json_object *world, struct json_object **ret,
                  struct err *err)
{
    struct json_object *foreign = NULL;
    struct json_object *copy = NULL;
    const char *text = json_text(a, world, JSON_COMPACT);
    int rc = rig_read_data(a, "fault/foreign.json", &foreign, err);
    rc = rc == ERR_OK ? json_parse_arena(a, text, strlen(text), NULL, &copy, err) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *services = json_path(copy, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        if (!is_foreign_service(foreign, s)) {
            strip_service(s);
        }
    }
    strip_cloud(a, json_member(copy, "gce"), foreign);
    *ret = copy;
    return ERR_OK;
}
