/* SPDX-License-Identifier: Apache-2.0 */
/* world_gce_members.c: who is behind Google's NEGs, judged without knowing what went before
 * (world_internal.h).
 *
 * Members stay where they are as long as there is room, so two clusters with the same nodes may
 * differ in them.  What always holds (docs/spec/gce-l4.md 3.1 to 3.4): only nodes that take part
 * are members, in their own zone, with their own address, once; under policy Local those with a
 * pod; as many as there is room for; spread over the zones as the division says, its remainder in
 * whichever zones.  The objects beside NEGs are there for these Services, and for no others.
 * Nothing is shared with the provider. */
#include "tests/fault/world_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/strset.h"

#define ZONES_MAX    16
#define ALL_UP_TO    25
#define LOCAL_ILB    250
#define LOCAL_NETLB  3000
#define NETLB_MAX    250
#define NETLB_A_ZONE 3

struct zone {
    const char *name;
    size_t nodes;   /* that may be members */
    size_t members; /* that are */
    size_t share;
    bool has_neg;
    bool has_candidates; /* under any policy: a NEG is there */
};
struct neg {
    const struct world_view *v;
    const char *service;
    const char *name;
    struct map *nodes; /* name → struct json_object *, borrowed: who may be a member */
    struct zone zones[ZONES_MAX];
    size_t n_zones;
    size_t endpoints; /* pods that count, over all slices */
    bool local;
    bool internal;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* "gce://project/zone/name" */
static const char *zone_of(struct arena *a, struct json_object *node)
{
    const char *id = str_nonnull(json_str(json_member(node, "spec"), "providerID"));
    size_t n = 0;
    char **parts = str_split(a, id, '/', &n);
    return n == 5 ? parts[3] : NULL;
}

static bool takes_part(struct arena *a, struct json_object *node)
{
    static const char *const excluded[] = {
        "node-role.kubernetes.io/master", "alpha.service-controller.kubernetes.io/exclude-balancer",
        "node.kubernetes.io/exclude-from-external-load-balancers"};
    struct json_object *labels = json_path(node, "metadata.labels");
    for (size_t i = 0; i < ARRAY_LEN(excluded); i++) {
        if (json_member(labels, excluded[i]) != NULL) {
            return false;
        }
    }
    struct json_object *taints = json_path(node, "spec.taints");
    for (size_t i = 0; i < json_len(taints); i++) {
        if (str_eq(json_str(json_object_array_get_idx(taints, i), "key"),
                   "ToBeDeletedByClusterAutoscaler")) {
            return false;
        }
    }
    return json_len(json_path(node, "status.conditions")) > 0 && zone_of(a, node) != NULL &&
           !str_is_empty(json_str(json_member(node, "spec"), "podCIDR"));
}

static struct zone *zone_named(struct neg *g, const char *name)
{
    for (size_t i = 0; i < g->n_zones; i++) {
        if (str_eq(g->zones[i].name, name)) {
            return &g->zones[i];
        }
    }
    if (g->n_zones == ZONES_MAX) {
        abort(); /* larger than any simulated cluster */
    }
    g->zones[g->n_zones] = (struct zone){.name = name};
    return &g->zones[g->n_zones++];
}

static bool is_of(struct json_object *slice, const char *service)
{
    struct json_object *labels = json_path(slice, "metadata.labels");
    return str_eq(json_str(labels, "kubernetes.io/service-name"), service);
}

/* Nodes of the Service's endpoints.  False: there is no slice, and nothing is said. */
static bool find_pods(struct neg *g, struct map *on)
{
    struct json_object *slices = json_path(g->v->world, "kubernetes.endpointslices");
    bool any = false;
    for (size_t i = 0; i < json_len(slices); i++) {
        struct json_object *slice = json_object_array_get_idx(slices, i);
        struct json_object *list = json_member(slice, "endpoints");
        if (!is_of(slice, g->service)) {
            continue;
        }
        any = true;
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *e = json_object_array_get_idx(list, k);
            if (json_member(e, "targetRef") != NULL &&
                !json_bool(json_member(e, "conditions"), "terminating", false)) {
                g->endpoints++;
                map_set(on, str_nonnull(json_str(e, "nodeName")), NULL);
            }
        }
    }
    return any;
}

static void find_nodes(struct neg *g, const struct map *on)
{
    struct json_object *nodes = json_path(g->v->world, "kubernetes.nodes");
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        const char *name = json_str(json_member(node, "metadata"), "name");
        if (!takes_part(g->v->a, node)) {
            continue;
        }
        struct zone *z = zone_named(g, zone_of(g->v->a, node));
        z->has_candidates = true;
        if (!g->local || map_has(on, name)) {
            z->nodes++;
            map_set(g->nodes, name, node);
        }
    }
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *last_of(const char *link)
{
    const char *slash = strrchr(link, '/');
    return slash == NULL ? link : slash + 1;
}

static const char *address_of(struct json_object *node)
{
    struct json_object *all = json_path(node, "status.addresses");
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *one = json_object_array_get_idx(all, i);
        if (str_eq(json_str(one, "type"), "InternalIP")) {
            return json_str(one, "address");
        }
    }
    return NULL;
}

static int check_member(struct neg *g, const struct zone *z, struct json_object *member,
                        struct map *seen, struct err *err)
{
    const char *instance = last_of(str_nonnull(json_str(member, "instance")));
    const char *ip = str_nonnull(json_str(member, "ipAddress"));
    struct json_object *node = map_get(g->nodes, instance);
    const char *why = node == NULL                                 ? "it takes no part"
                      : !str_eq(zone_of(g->v->a, node), z->name)   ? "it is of another zone"
                      : !str_eq(ip, str_nonnull(address_of(node))) ? "it has another address"
                      : map_has(seen, instance)                    ? "it is there twice"
                                                                   : NULL;
    map_set(seen, instance, NULL);
    return why == NULL ? ERR_OK
                       : err_set(err, ERR_CONFLICT, "node %s (%s) is in NEG %s of zone %s: %s",
                                 instance, ip, g->name, z->name, why);
}

static int count_members(struct neg *g, struct err *err)
{
    int rc = ERR_OK;
    const char *tail = arena_printf(g->v->a, "/networkEndpointGroups/%s", g->name);
    struct json_object *members = json_member(g->v->world, "members");
    struct map *seen = map_new(NULL);
    json_object_object_foreach(g->v->docs, path, doc)
    {
        (void)doc;
        const char *at = strstr(path, "/zones/");
        if (at == NULL || !str_has_suffix(path, tail)) {
            continue;
        }
        struct zone *z = zone_named(g, arena_strndup(g->v->a, at + 7, strcspn(at + 7, "/")));
        struct json_object *list = json_member(members, path);
        z->has_neg = true;
        z->members = json_len(list);
        for (size_t i = 0; i < z->members && rc == ERR_OK; i++) {
            rc = check_member(g, z, json_object_array_get_idx(list, i), seen, err);
        }
    }
    map_free(seen);
    return rc;
}

/* ---- how many -------------------------------------------------------------------------------- */

static size_t min(size_t x, size_t y)
{
    return x < y ? x : y;
}

static size_t max(size_t x, size_t y)
{
    return x > y ? x : y;
}

/* The members by the rules.  External, policy Cluster: at least that; who is there stays. */
static size_t wanted(const struct neg *g, size_t nodes, size_t zones)
{
    if (g->local) {
        return g->internal ? LOCAL_ILB : LOCAL_NETLB;
    }
    if (!g->internal) {
        return min(NETLB_MAX, max(g->endpoints, NETLB_A_ZONE * zones));
    }
    return nodes <= ALL_UP_TO || zones == 0 || 24 % zones != 0 ? ALL_UP_TO : 24;
}

static int by_nodes(const void *x, const void *y)
{
    const struct zone *a = x;
    const struct zone *b = y;
    return a->nodes != b->nodes ? (a->nodes < b->nodes ? -1 : 1) : strcmp(a->name, b->name);
}

static int by_size(const void *x, const void *y)
{
    const size_t a = *(const size_t *)x;
    const size_t b = *(const size_t *)y;
    return a < b ? -1 : a > b;
}

/* The sizes are those of the division; the zones that got its remainder may be others. */
static int check_spread(struct neg *g, size_t total, struct err *err)
{
    size_t are[ZONES_MAX];
    size_t should[ZONES_MAX];
    size_t left = total;
    size_t with_nodes = 0;
    for (size_t i = 0; i < g->n_zones; i++) {
        with_nodes += g->zones[i].nodes > 0;
    }
    qsort(g->zones, g->n_zones, sizeof(*g->zones), by_nodes);
    for (size_t i = 0; i < g->n_zones; i++) {
        struct zone *z = &g->zones[i];
        z->share = z->nodes == 0 ? 0 : min(left / with_nodes, z->nodes);
        with_nodes -= z->nodes > 0;
        left -= z->share;
        are[i] = z->members;
        should[i] = z->share;
        if (z->members > z->share + 1 || z->share > z->members + 1) {
            return err_set(err, ERR_CONFLICT, "NEG %s of zone %s has %zu members, its share is %zu",
                           g->name, z->name, z->members, z->share);
        }
    }
    qsort(are, g->n_zones, sizeof(*are), by_size);
    qsort(should, g->n_zones, sizeof(*should), by_size);
    for (size_t i = 0; i < g->n_zones; i++) {
        if (are[i] != should[i]) {
            return err_set(err, ERR_CONFLICT,
                           "the members of NEG %s are not spread evenly: %zu for %zu", g->name,
                           are[i], should[i]);
        }
    }
    return ERR_OK;
}

static int check_neg(struct neg *g, struct err *err)
{
    size_t nodes = 0;
    size_t zones = 0;
    size_t members = 0;
    int rc = count_members(g, err);
    for (size_t i = 0; i < g->n_zones && rc == ERR_OK; i++) {
        const struct zone *z = &g->zones[i];
        nodes += z->nodes;
        zones += z->nodes > 0;
        members += z->members;
        if (z->has_candidates && !z->has_neg) {
            rc = err_set(err, ERR_CONFLICT, "there is no NEG %s in zone %s", g->name, z->name);
        }
    }
    if (rc != ERR_OK) {
        return rc;
    }
    size_t least = min(wanted(g, nodes, zones), nodes);
    bool stays = !g->local && !g->internal; /* who is there stays: E of the rule */
    if (members < least || (!stays && members > least)) {
        return err_set(err, ERR_CONFLICT,
                       "NEGs %s have %zu members, of %zu nodes there should be %zu", g->name,
                       members, nodes, least);
    }
    return check_spread(g, members, err);
}

/* ---- Services -------------------------------------------------------------------------------- */

static bool holds(struct json_object *service, const char *finalizer)
{
    struct json_object *all = json_path(service, "metadata.finalizers");
    for (size_t i = 0; i < json_len(all); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(all, i)), finalizer)) {
            return true;
        }
    }
    return false;
}

/* A Service with NEGs alone bears no finalizer and has no backend service of ours: it says which
 * NEGs it has.  NULL if it is not one of these, or has none. */
static const char *standalone_neg(const struct world_view *v, struct json_object *service)
{
    struct json_object *spec = json_member(service, "spec");
    const char *text =
        json_str(json_path(service, "metadata.annotations"), "cloud.google.com/neg-status");
    struct json_object *status = NULL;
    if (text == NULL || !str_eq(json_str(spec, "type"), "LoadBalancer") ||
        !str_eq(json_str(spec, "loadBalancerClass"),
                "networking.gke.io/standalone-passthrough-lb-neg") ||
        json_parse_arena(v->a, text, strlen(text), NULL, &status, NULL) != ERR_OK) {
        return NULL;
    }
    return json_str(json_member(status, "network_endpoint_groups"), "0");
}

static int check_service(const struct world_view *v, struct json_object *service,
                         struct map *objects, struct err *err)
{
    struct json_object *meta = json_member(service, "metadata");
    struct neg g = {.v = v, .service = json_str(meta, "name")};
    g.internal = holds(service, "gke.networking.io/l4-ilb-v2");
    g.local = str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
    g.name = json_str(json_member(meta, "annotations"), "service.kubernetes.io/backend-service");
    const char *alone = standalone_neg(v, service);
    g.name = alone != NULL ? alone : g.name;
    if (alone == NULL && !g.internal && !holds(service, "gke.networking.io/l4-netlb-v3")) {
        return ERR_OK;
    }
    if (g.name == NULL) {
        return err_set(err, ERR_CONFLICT, "Service %s does not say what its backend service is",
                       g.service);
    }
    (void)map_remove(objects, g.name); /* it may be missing where a 403 is not retried */
    struct map *on = map_new(NULL);
    g.nodes = map_new(NULL);
    int rc = ERR_OK;
    if (find_pods(&g, on) || !g.local) {
        find_nodes(&g, on);
        rc = check_neg(&g, err);
    }
    map_free(g.nodes);
    map_free(on);
    return rc;
}

int world_gce_check_members(const struct world_view *v, struct err *err)
{
    struct json_object *objects = json_path(v->world, "kubernetes.servicenetworkendpointgroups");
    struct map *names = map_new(NULL);
    for (size_t i = 0; i < json_len(objects); i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(objects, i), "metadata");
        map_set(names, json_str(meta, "name"), NULL);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < v->n_services && rc == ERR_OK; i++) {
        rc = check_service(v, v->services[i], names, err);
    }
    struct json_object *all = json_path(v->world, "kubernetes.services");
    for (size_t i = 0; i < json_len(all) && rc == ERR_OK; i++) {
        struct json_object *service = json_object_array_get_idx(all, i);
        if (standalone_neg(v, service) != NULL) {
            rc = check_service(v, service, names, err);
        }
    }
    size_t n = 0;
    const char **left = map_keys(names, &n);
    if (rc == ERR_OK && n > 0) {
        rc = err_set(err, ERR_CONFLICT, "ServiceNetworkEndpointGroup %s is left behind", left[0]);
    }
    free(left);
    map_free(names);
    return rc;
}

int world_gce_check_objects(struct json_object *world, struct err *err)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    struct json_object *objects = json_path(world, "kubernetes.servicenetworkendpointgroups");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *notes =
            json_path(json_object_array_get_idx(services, i), "metadata.annotations");
        const char *name = json_str(notes, "service.kubernetes.io/backend-service");
        bool there = json_member(notes, "cloud.google.com/neg-status") == NULL;
        for (size_t k = 0; k < json_len(objects) && !there; k++) {
            struct json_object *meta =
                json_member(json_object_array_get_idx(objects, k), "metadata");
            there = str_eq(json_str(meta, "name"), name);
        }
        if (!there) {
            return err_set(err, ERR_CONFLICT, "there is no ServiceNetworkEndpointGroup %s",
                           str_nonnull(name));
        }
    }
    return ERR_OK;
}

/* ---- what depends on what went before -------------------------------------------------------- */

static bool is_ready(struct json_object *node)
{
    struct json_object *all = json_path(node, "status.conditions");
    bool ready = false;
    for (size_t i = 0; i < json_len(all); i++) {
        struct json_object *one = json_object_array_get_idx(all, i);
        ready = ready ||
                (str_eq(json_str(one, "type"), "Ready") && str_eq(json_str(one, "status"), "True"));
    }
    return ready;
}

/* The path is that of a NEG, or of a group: those of a zone without a ready node are unchanged. */
static bool has_node(struct arena *a, struct json_object *world, const char *path)
{
    bool group = strstr(path, "/instanceGroups/") != NULL;
    const char *at = strstr(path, "/zones/");
    const char *zone = at == NULL ? "" : arena_strndup(a, at + 7, strcspn(at + 7, "/"));
    struct json_object *nodes = json_path(world, "kubernetes.nodes");
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);
        if (takes_part(a, node) && str_eq(zone_of(a, node), zone) && (!group || is_ready(node))) {
            return true;
        }
    }
    return false;
}

static int by_group(const void *x, const void *y)
{
    struct json_object *a = *(struct json_object *const *)x;
    struct json_object *b = *(struct json_object *const *)y;
    return strcmp(str_nonnull(json_str(a, "group")), str_nonnull(json_str(b, "group")));
}

/* A NEG or group that only a cluster has that had a node there. */
static bool is_of_the_past(struct arena *a, struct json_object *world, const char *path)
{
    bool empty = json_len(json_member(json_member(world, "members"), path)) == 0;
    bool group = strstr(path, "/instanceGroups/") != NULL;
    return group ? empty || !has_node(a, world, path) : empty && !has_node(a, world, path);
}

static void level_backends(struct arena *a, struct json_object *world, struct json_object *service)
{
    struct json_object *list = json_member(service, "backends");
    for (size_t i = json_len(list); i > 0; i--) {
        struct json_object *b = json_object_array_get_idx(list, i - 1);
        const char *path = strstr(str_nonnull(json_str(b, "group")), "projects/");
        if (path != NULL && is_of_the_past(a, world, path)) {
            json_object_array_del_idx(list, i - 1, 1);
        }
    }
    if (list != NULL) {
        json_object_array_sort(list, by_group);
    }
}

static void level_rule(struct arena *a, struct json_object *rule)
{
    const char *text = str_nonnull(json_str(rule, "description"));
    struct json_object *o = NULL;
    if (!json_bool(rule, "allowGlobalAccess", true)) {
        json_object_object_del(rule, "allowGlobalAccess");
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) == ERR_OK) {
        json_object_object_del(o, "networking.gke.io/service-ip");
        json_add_str(rule, "description", json_text(a, o, JSON_SORTED));
    }
}

/* The service controller's finalizer stays on a Service that was one of its kinds, until it is no
 * load balancer at all (docs/adr/0011). */
static void level_finalizers(struct json_object *service)
{
    struct json_object *all = json_path(service, "metadata.finalizers");
    for (size_t i = json_len(all); i > 0 && json_len(all) > 1; i--) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(all, i - 1)),
                   "service.kubernetes.io/load-balancer-cleanup")) {
            json_object_array_del_idx(all, i - 1, 1);
        }
    }
}

/* Of a family of which all source ranges are gone the annotation stays, where it was. */
static void level_annotations(struct json_object *service)
{
    struct json_object *notes = json_path(service, "metadata.annotations");
    if (notes != NULL && json_len(json_path(service, "spec.loadBalancerSourceRanges")) > 0) {
        json_object_object_del(notes, "service.kubernetes.io/firewall-rule-ipv6");
    }
}

void world_gce_level(struct arena *a, struct json_object *world)
{
    struct json_object *docs = json_member(world, "gce");
    const char **gone = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(docs));
    size_t n = 0;
    json_object_object_foreach(docs, path, doc)
    {
        bool neg = strstr(path, "/networkEndpointGroups/") != NULL;
        bool group = neg || strstr(path, "/instanceGroups/") != NULL;
        bool old_check = str_has_suffix(path, "-node-hc") ||
                         (str_has_suffix(path, "-node") && strstr(path, "/healthChecks/"));
        if (strstr(path, "-l4-shared-hc") != NULL || old_check ||
            (group && is_of_the_past(a, world, path))) {
            gone[n++] = arena_strdup(a, path);
        } else if (neg) {
            json_object_object_del(doc, "size");
        } else if (strstr(path, "/backendServices/") != NULL) {
            level_backends(a, world, doc);
        } else if (strstr(path, "/forwardingRules/") != NULL) {
            level_rule(a, doc);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(docs, gone[i]);
    }
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        level_finalizers(json_object_array_get_idx(services, i));
        level_annotations(json_object_array_get_idx(services, i));
    }
}
