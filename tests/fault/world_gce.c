/* SPDX-License-Identifier: Apache-2.0 */
/* world_gce.c: what of a world is Google's: what belongs to a Service, what is a whim of the cloud
 * (world_internal.h).
 *
 * Names are written down again here, as the cluster's user would check them: nothing is
 * shared with the provider. */
#include "tests/fault/world_internal.h"

#include <string.h>

#include "common/base/map.h"
#include "common/base/strset.h"

/* ---- foreign things -------------------------------------------------------------------------- */

/* The cloud sets the users of an address. */
static char *text_of(struct arena *a, struct json_object *resource)
{
    _cleanup_(json_putp) struct json_object *o = json_copy(resource);
    json_object_object_del(o, "users");
    json_object_object_del(o, "status");
    return json_text(a, o, JSON_SORTED);
}

static int check_foreign(struct arena *a, const char *id, struct json_object *in_file,
                         struct json_object *was, struct json_object *now, struct err *err)
{
    const char *text = now == NULL ? "it is gone" : text_of(a, now);
    (void)in_file;
    return str_eq(text_of(a, was), text)
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "foreign %s was touched: %s", id, text);
}

/* ---- what belongs to a Service --------------------------------------------------------------- */

struct expected {
    struct arena *a;
    struct json_object *gce;
    struct map *names; /* "targetPools/NAME" of what must be there */
    struct map *may;   /* of what may be there, too */
    const char *cluster;
    bool deny;
};

/* "…/zones/us-central1-a/instanceGroups/x" → "us-central1-a" */
static const char *zone_of(struct arena *a, const char *path)
{
    const char *zone = strstr(path, "/zones/");
    return zone == NULL ? "" : arena_strndup(a, zone + 7, strcspn(zone + 7, "/"));
}

static void expect(struct expected *e, const char *collection, const char *name)
{
    map_set(e->names, arena_printf(e->a, "%s/%s", collection, name), NULL);
}

static bool has_finalizer(struct json_object *service, const char *name)
{
    struct json_object *all = json_path(service, "metadata.finalizers");
    for (size_t i = 0; i < json_len(all); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(all, i)), name)) {
            return true;
        }
    }
    return false;
}

/* Zonal ones are in as many zones as there are; one that lost its nodes may stay. */
static void expect_in_zones(struct expected *e, const char *collection, const char *name)
{
    json_object_object_foreach(e->gce, path, resource)
    {
        (void)resource;
        if (strstr(path, arena_printf(e->a, "/%s/%s", collection, name)) != NULL) {
            expect(e, arena_printf(e->a, "%s@%s", collection, zone_of(e->a, path)), name);
        }
    }
}

/* The check that all Services of a scheme with policy Cluster share, and its firewalls, go with the
 * last Service that might use them, not with the last that does: a change of policy may have been
 * taken back half way. */
static void may_have_shared(struct expected *e, struct json_object *service, bool internal)
{
    static const char *const firewalls[] = {"-fw", "-fw-ipv6"};
    struct json_object *notes = json_path(service, "metadata.annotations");
    const char *own = str_nonnull(json_str(notes, "service.kubernetes.io/backend-service"));
    size_t n = 0;
    char **parts = str_split(e->a, own, '-', &n);
    if (n < 2) {
        return;
    }
    const char *shared = arena_printf(e->a, "k8s2-%s-l4-shared-hc", parts[1]);
    map_set(e->may,
            arena_printf(e->a, "%s/%s", internal ? "healthChecks" : "regionHealthChecks", shared),
            NULL);
    for (size_t i = 0; i < ARRAY_LEN(firewalls); i++) {
        map_set(e->may, arena_printf(e->a, "firewalls/%s%s", shared, firewalls[i]), NULL);
    }
}

/* Exactly the resources in ingress-gce's annotations belong to it. */
static void expect_l4(struct expected *e, struct json_object *service)
{
    static const struct {
        const char *note;
        const char *collection;
    } rows[] = {{"tcp-forwarding-rule", "forwardingRules"},
                {"udp-forwarding-rule", "forwardingRules"},
                {"tcp-forwarding-rule-ipv6", "forwardingRules"},
                {"udp-forwarding-rule-ipv6", "forwardingRules"},
                {"backend-service", "backendServices"},
                {"firewall-rule", "firewalls"},
                {"firewall-rule-ipv6", "firewalls"},
                {"firewall-rule-deny", "firewalls"},
                {"firewall-rule-deny-ipv6", "firewalls"},
                {"firewall-rule-for-hc", "firewalls"},
                {"firewall-rule-for-hc-ipv6", "firewalls"},
                {"healthcheck", "healthChecks"}};
    bool internal = has_finalizer(service, "gke.networking.io/l4-ilb-v2");
    bool narrow = json_len(json_path(service, "spec.loadBalancerSourceRanges")) > 0;
    struct json_object *notes = json_path(service, "metadata.annotations");
    may_have_shared(e, service, internal);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *key = arena_printf(e->a, "service.kubernetes.io/%s", rows[i].note);
        const char *name = json_str(notes, key);
        bool check = str_eq(rows[i].collection, "healthChecks");
        if (str_eq(rows[i].note, "firewall-rule-ipv6") && narrow) {
            map_set(e->may, arena_printf(e->a, "firewalls/%s", name), NULL);
            continue; /* all ranges are IPv4: no client is allowed, and the annotation stays */
        }
        if (name != NULL) {
            expect(e, check && !internal ? "regionHealthChecks" : rows[i].collection, name);
        }
    }
    const char *backend = json_str(notes, "service.kubernetes.io/backend-service");
    if (json_str(notes, "cloud.google.com/neg-status") != NULL) {
        expect_in_zones(e, "networkEndpointGroups", str_nonnull(backend));
    } else {
        expect_in_zones(e, "instanceGroups", arena_printf(e->a, "k8s-ig--%s", e->cluster));
    }
}

static void expect_on_groups(struct expected *e, struct json_object *service)
{
    struct arena *a = e->a;
    const char *lb = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    bool local = str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
    const char *shared = arena_printf(a, "k8s-%s-node", e->cluster);
    const char *check = local ? lb : shared;
    map_set(e->may, arena_printf(a, "healthChecks/%s", shared), NULL); /* as may_have_shared() */
    map_set(e->may, arena_printf(a, "firewalls/%s-hc", shared), NULL);
    expect(e, "forwardingRules", lb);
    expect(e, "backendServices", lb);
    expect(e, "firewalls", arena_printf(a, "k8s-fw-%s", lb));
    expect(e, "healthChecks", check);
    expect(e, "firewalls", arena_printf(a, "%s-hc", check));
    expect_in_zones(e, "instanceGroups", arena_printf(a, "k8s-ig--%s", e->cluster));
}

static void expect_service(struct expected *e, struct json_object *service)
{
    struct arena *a = e->a;
    const char *lb = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    bool local = str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
    if (has_finalizer(service, "gke.networking.io/l4-ilb-v1")) {
        expect_on_groups(e, service);
        return;
    }
    if (!has_finalizer(service, "gke.networking.io/l4-netlb-v1")) {
        expect_l4(e, service);
        return;
    }
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
    static const char *const collections[] = {
        "addresses",    "forwardingRules",       "targetPools",
        "firewalls",    "httpHealthChecks",      "backendServices",
        "healthChecks", "networkEndpointGroups", "instanceGroups"};
    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        if (str_eq(collection, collections[i])) {
            return true;
        }
    }
    return false;
}

/* "targetPools/NAME" of a path, or NULL if it is not one of the load balancer's kinds. */
static const char *short_name(struct arena *a, const char *path)
{
    size_t n = 0;
    char **parts = str_split(a, path, '/', &n);
    if (n < 4 || !is_load_balancing(parts[n - 2])) {
        return NULL;
    }
    if (str_eq(parts[n - 2], "healthChecks") && str_eq(parts[n - 4], "regions")) {
        return arena_printf(a, "regionHealthChecks/%s", parts[n - 1]);
    }
    return str_eq(parts[n - 4], "zones")
               ? arena_printf(a, "%s@%s/%s", parts[n - 2], parts[n - 3], parts[n - 1])
               : arena_printf(a, "%s/%s", parts[n - 2], parts[n - 1]);
}

/* Removes the expected resources from the present ones; the rest has no owner. */
static int check_resources(struct expected *e, struct json_object *foreign, struct err *err)
{
    json_object_object_foreach(e->gce, path, resource)
    {
        const char *name = short_name(e->a, path);
        (void)resource;
        if (name == NULL || json_member(foreign, path) != NULL) {
            continue;
        }
        if (!map_remove(e->names, name) && !map_has(e->may, name)) {
            return err_set(err, ERR_CONFLICT, "%s is left behind", name);
        }
    }
    size_t n = 0;
    const char **missing = map_keys(e->names, &n);
    int rc = n == 0 ? ERR_OK : err_set(err, ERR_CONFLICT, "%s is missing", missing[0]);
    free(missing);
    return rc;
}

/* The rule that has its address. */
static const char *rule_of(struct expected *e, struct json_object *service)
{
    struct json_object *notes = json_path(service, "metadata.annotations");
    const char *tcp = json_str(notes, "service.kubernetes.io/tcp-forwarding-rule");
    const char *udp = json_str(notes, "service.kubernetes.io/udp-forwarding-rule");
    const char *lb = names_lb(e->a, json_str(json_member(service, "metadata"), "uid"));
    return tcp != NULL ? tcp : str_or(udp, lb);
}

static int check_address(struct expected *e, struct json_object *service, struct err *err)
{
    struct json_object *meta = json_member(service, "metadata");
    const char *lb = rule_of(e, service);
    const char *published = world_published_address(service);
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

/* A Service of ingress-gce's uses the instance groups of the cluster, too: then they stay. */
static bool another_has_groups(struct json_object *world)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *notes =
            json_path(json_object_array_get_idx(services, i), "metadata.annotations");
        if (json_str(notes, "cloud.google.com/l4-rbs") != NULL) {
            return true;
        }
    }
    return false;
}

/* NEGs alone: no finalizer and no address of ours; which ones they are, an annotation says. */
static void expect_negs_alone(struct expected *e, struct json_object *world)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        struct json_object *spec = json_member(service, "spec");
        struct json_object *meta = json_member(service, "metadata");
        struct json_object *said = NULL;
        const char *text =
            json_str(json_member(meta, "annotations"), "cloud.google.com/neg-status");
        if (!str_eq(json_str(spec, "type"), "LoadBalancer") ||
            !str_eq(json_str(spec, "loadBalancerClass"),
                    "networking.gke.io/standalone-passthrough-lb-neg")) {
            continue;
        }
        if (text == NULL ||
            json_parse_arena(e->a, text, strlen(text), NULL, &said, NULL) != ERR_OK) {
            expect(e, "networkEndpointGroups", arena_printf(e->a, "of %s", json_str(meta, "name")));
            continue;
        }
        const char *name = json_str(json_member(said, "network_endpoint_groups"), "0");
        struct json_object *zones = json_member(said, "zones");
        expect_in_zones(e, "networkEndpointGroups", str_nonnull(name));
        for (size_t z = 0; z < json_len(zones); z++) {
            const char *zone = json_object_get_string(json_object_array_get_idx(zones, z));
            expect(e, arena_printf(e->a, "networkEndpointGroups@%s", zone), str_nonnull(name));
        }
    }
}

static int check_whole(const struct world_view *v, struct err *err)
{
    struct expected e = {.a = v->a,
                         .gce = v->docs,
                         .names = map_new(NULL),
                         .may = map_new(NULL),
                         .cluster = cluster_id(v->world),
                         .deny = v->deny};
    int rc = ERR_OK;
    for (size_t i = 0; i < v->n_services && rc == ERR_OK; i++) {
        expect_service(&e, v->services[i]);
        rc = check_address(&e, v->services[i], err);
    }
    expect_negs_alone(&e, v->world);
    if (another_has_groups(v->world)) {
        expect_in_zones(&e, "instanceGroups", arena_printf(v->a, "k8s-ig--%s", e.cluster));
    }
    if (rc == ERR_OK) {
        rc = check_resources(&e, v->foreign, err);
    }
    map_free(e.names);
    map_free(e.may);
    return rc == ERR_OK ? world_gce_check_members(v, err) : rc;
}

/* ---- starting over --------------------------------------------------------------------------- */

static void strip(struct arena *a, struct json_object *gce, struct json_object *foreign)
{
    const char **paths = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(gce));
    size_t n = 0;
    json_object_object_foreach(gce, path, resource)
    {
        bool users = json_member(foreign, path) != NULL;
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

/* ---- texts ----------------------------------------------------------------------------------- */

static struct json_object *clean_resource(struct arena *a, struct json_object *resource)
{
    static const char *const whims[] = {"id", "creationTimestamp", "fingerprint",
                                        "labelFingerprint"};
    struct json_object *o = json_copy(resource);
    for (size_t i = 0; i < ARRAY_LEN(whims); i++) {
        json_object_object_del(o, whims[i]);
    }
    if (!json_bool(o, "allowGlobalAccess", true)) {
        json_object_object_del(o, "allowGlobalAccess"); /* as if it had never been asked for */
    }
    struct json_object *tags = json_member(o, "tags"); /* of a machine */
    if (tags != NULL) {
        json_object_object_del(tags, "fingerprint");
    }
    world_sort_lists(a, o);
    return o;
}

/* As names_replace() reads it: an IPv6 address without its prefix length, and without a
 * colon at its end. */
static const char *word_of(struct arena *a, const char *ip)
{
    size_t n = strcspn(ip, "/");
    n -= n > 1 && ip[n - 1] == ':';
    return arena_strndup(a, ip, n);
}

/* An address that the cloud chose for a load balancer; one that a user reserved is what it is. */
static void learn_addresses(struct arena *a, struct json_object *gce, struct names *names)
{
    struct str_set reserved = {0};
    json_object_object_foreach(gce, path, resource)
    {
        const char *ip = json_str(resource, "address");
        const char *name = str_nonnull(json_str(resource, "name"));
        if (strstr(path, "/addresses/") != NULL && ip != NULL &&
            names_owner(names, a, name) == NULL) {
            struct str_set one = str_set_make(a, &ip, 1);
            reserved = str_set_union(a, &reserved, &one);
        }
    }
    json_object_object_foreach(gce, path2, rule)
    {
        const char *ip = json_str(rule, "IPAddress");
        const char *name = str_nonnull(json_str(rule, "name"));
        bool by_name = str_has_prefix(name, "k8s2-") || str_has_suffix(name, "-ipv6");
        const char *owner = by_name ? name : names_owner(names, a, name);
        bool ours = strstr(path2, "/forwardingRules/") != NULL && owner != NULL && ip != NULL;
        if (ours && !str_set_has(&reserved, ip)) {
            names_alias(names, word_of(a, ip), arena_printf(a, "{address of %s}", owner));
        }
    }
}

/* The address in the description of a rule that ingress-gce would make: it is known only if it
 * could be reserved before the rule was made, and at a quota it could not.  A description is never
 * changed afterwards, and the rule has its address as a member. */
static void drop_known_address(struct arena *a, struct json_object *rule)
{
    const char *text = str_nonnull(json_str(rule, "description"));
    struct json_object *o = NULL;
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) == ERR_OK) {
        json_object_object_del(o, "networking.gke.io/service-ip");
        json_add_str(rule, "description", json_text(a, o, JSON_SORTED));
    }
}

static void add_lines(struct arena *a, const char *path, struct json_object *resource,
                      struct names *names, struct json_object *out)
{
    struct json_object *clean = clean_resource(a, resource);
    (void)names;
    if (strstr(path, "/forwardingRules/") != NULL) {
        drop_known_address(a, clean);
    }
    json_add(out, path, clean);
}

const struct world_rules world_rules_gce = {
    .cloud = "gce",
    .foreign = "fault/foreign.json",
    .check_foreign = check_foreign,
    .check_whole = check_whole,
    .strip = strip,
    .learn_addresses = learn_addresses,
    .add_lines = add_lines,
};
