/* SPDX-License-Identifier: Apache-2.0 */
/* adoption.c: see adoption.h. */
#include "tests/sim/adoption.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"

/* ---- running --------------------------------------------------------------------------------- */

struct rig *adoption_rig(const struct rig_args *args)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(args, &r, &err) != ERR_OK) {
        fail_msg("rig: %s", err.message);
    }
    return r;
}

void adoption_run(struct rig *r)
{
    struct err err = ERR_INIT;
    if (rig_start(r, &err) != ERR_OK) {
        fail_msg("start: %s\n%s", err.message, rig_log(r));
    }
    if (!rig_settle(r, RIG_LATER)) {
        fail_msg("the controller does not come to rest:\n%s", rig_log(r));
    }
}

void adoption_expect_untouched(struct rig *r)
{
    int64_t cloud = rig_mutations(r);
    int64_t services = rig_service_writes(r);
    int64_t events = rig_calls(r, "kubernetes", "events.create");
    if (cloud != 0 || services != 0 || events != 0) {
        (void)fputs(rig_log(r), stderr); /* print_message() cuts long texts */
        fail_msg("%lld calls change the cloud, %lld write Services, %lld write Events: %s",
                 (long long)cloud, (long long)services, (long long)events,
                 json_text(rig_arena(r), rig_counts(r), JSON_SORTED_PRETTY));
    }
}

bool adoption_is_logged(void)
{
    return getenv("TRIMTAB_ADOPTION_LOGS") != NULL;
}

void adoption_end(struct rig *r, const char *name)
{
    struct err err = ERR_INIT;
    const char *folder = getenv("TRIMTAB_ADOPTION_LOGS");
    assert_true(rig_stop(r));
    if (folder != NULL) {
        const char *to = arena_printf(rig_arena(r), "%s/%s.log", folder, name);
        const char *text = adoption_read(rig_arena(r), rig_file(r, "traffic.log"));
        if (file_write_atomic(to, text, strlen(text), 0600, &err) != ERR_OK) {
            fail_msg("%s: %s", to, err.message);
        }
    }
    rig_free(r);
}

const char *adoption_outcome(struct rig *r, const char *key)
{
    /* The last line of a sync is "Synced" in either case, so it is looked for last. */
    static const char *const lines[] = {"Load balancer is implemented elsewhere", "Synced"};
    struct arena *a = rig_arena(r);
    const char *log = rig_log(r);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (strstr(log, arena_printf(a, "\"%s\" service=\"%s\"", lines[i], key)) != NULL) {
            return lines[i];
        }
    }
    return NULL;
}

/* ---- worlds ---------------------------------------------------------------------------------- */

const char *adoption_key(struct arena *a, struct json_object *service)
{
    struct json_object *meta = json_member(service, "metadata");
    return arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
}

bool adoption_is_external(struct json_object *service)
{
    return str_has_prefix(json_str(json_member(service, "metadata"), "name"), "ext-");
}

static bool is_load_balancers(const char *path, struct json_object *resource)
{
    static const char *const collections[] = {
        "/forwardingRules/", "/targetPools/",     "/firewalls/",      "/httpHealthChecks/",
        "/healthChecks/",    "/backendServices/", "/instanceGroups/", "/networkEndpointGroups/"};
    (void)resource;
    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        if (strstr(path, collections[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static struct json_object *cloud_before(struct json_object *gce)
{
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(gce, path, resource)
    {
        if (is_load_balancers(path, resource)) {
            continue;
        }
        struct json_object *copy = json_copy(resource);
        if (strstr(path, "/addresses/") != NULL) {
            json_object_object_del(copy, "users");
            json_add_str(copy, "status", "RESERVED");
        }
        json_add(out, path, copy);
    }
    return out;
}

/* The document without its places in pools, and without security rules. */
static void empty_document(struct json_object *v)
{
    static const char *const ours[] = {"loadBalancerBackendAddressPools", "securityRules",
                                       "ipConfiguration"};
    for (size_t i = 0; i < json_len(v) && json_object_is_type(v, json_type_array); i++) {
        empty_document(json_object_array_get_idx(v, i));
    }
    if (!json_object_is_type(v, json_type_object)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        json_object_object_del(v, ours[i]);
    }
    json_object_object_foreach(v, name, member)
    {
        (void)name;
        empty_document(member);
    }
}

static struct json_object *azure_before(struct json_object *azure)
{
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(azure, id, resource)
    {
        bool is_service = json_member(json_member(resource, "tags"), "k8s-azure-service") != NULL;
        if (strstr(id, "/loadBalancers/") == NULL && !is_service) {
            struct json_object *copy = json_copy(resource);
            empty_document(copy);
            json_add(out, id, copy);
        }
    }
    return out;
}

static struct json_object *services_before(struct json_object *services,
                                           bool (*keep)(struct json_object *service))
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        if (!keep(service)) {
            continue;
        }
        struct json_object *copy = json_copy(service);
        json_object_object_del(json_member(copy, "metadata"), "finalizers");
        json_object_object_del(copy, "status");
        json_object_array_add(out, copy);
    }
    return out;
}

static void put(void *o)
{
    json_object_put(o);
}

struct json_object *adoption_before_any(struct arena *a, struct json_object *world,
                                        bool (*keep)(struct json_object *service))
{
    struct json_object *out = json_copy(world);
    struct json_object *kubernetes = json_member(out, "kubernetes");
    arena_defer(a, put, out);
    json_add(kubernetes, "services",
             services_before(json_path(world, "kubernetes.services"), keep));
    if (json_member(world, "azure") != NULL) {
        json_add(out, "azure", azure_before(json_member(world, "azure")));
    } else {
        json_add(out, "gce", cloud_before(json_member(world, "gce")));
    }
    json_object_object_del(out, "members");
    return out;
}

char *adoption_read(struct arena *a, const char *path)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    if (file_read(a, path, 256UL << 20, &text, &n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return text;
}

void adoption_create(struct rig *r, const char *text)
{
    struct err err = ERR_INIT;
    struct json_object *service = NULL;
    struct json_object *world = rig_world(r);
    assert_int_equal(json_parse(text, strlen(text), NULL, &service, NULL), ERR_OK);
    json_object_array_add(json_path(world, "kubernetes.services"), service);
    if (rig_load(r, world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

static struct json_object *find_service(struct arena *a, struct json_object *world, const char *key)
{
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        if (str_eq(adoption_key(a, service), key)) {
            return service;
        }
    }
    return NULL;
}

const char *adoption_address(struct arena *a, struct json_object *world, const char *key)
{
    struct json_object *ingress =
        json_path(find_service(a, world, key), "status.loadBalancer.ingress");
    return json_len(ingress) == 0 ? "" : json_str(json_object_array_get_idx(ingress, 0), "ip");
}

int adoption_make_edits(struct rig *r, struct json_object *edits, bool (*keep)(const char *name))
{
    struct arena *a = rig_arena(r);
    int n = 0;
    for (size_t i = 0; i < json_len(edits); i++) {
        struct json_object *edit = json_object_array_get_idx(edits, i);
        const char *name = json_str(edit, "service");
        if (keep == NULL || keep(name)) {
            const char *path = arena_printf(a, "/api/v1/namespaces/default/services/%s", name);
            const char *patch = json_text(a, json_member(edit, "merge_patch"), JSON_COMPACT);
            assert_int_equal(rig_kube(r, "PATCH", path, patch, NULL), 200);
            n++;
        }
    }
    return n;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* "…/regions/us-central1/targetPools/a12" → "targetPools/a12" */
static const char *resource_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash != NULL && slash > path && slash[-1] != '/') {
        slash--;
    }
    return slash == NULL ? path : slash;
}

static bool is_of_a_balancer(const char *path)
{
    static const char *const collections[] = {
        "forwardingRules/*", "targetPools/*",     "firewalls/*",    "httpHealthChecks/*",
        "addresses/*",       "backendServices/*", "healthChecks/*", "networkEndpointGroups/*",
        "instanceGroups/*"};
    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        if (str_glob(collections[i], resource_of(path))) {
            return true;
        }
    }
    return false;
}

/* Creator, time and order are not compared.  labelFingerprint and what a lax server left out are
 * the server's, too. */
static bool is_incidental(const char *field)
{
    static const char *const fields[] = {"id",
                                         "creationTimestamp",
                                         "fingerprint",
                                         "kind",
                                         "labelFingerprint",
                                         "selfLink",
                                         "selfLinkWithId",
                                         "region",
                                         "status",
                                         "users",
                                         "logConfig",
                                         "direction",
                                         "enableLogging",
                                         "disabled",
                                         "ipVersion",
                                         "purpose",
                                         "host"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_eq(field, fields[i])) {
            return true;
        }
    }
    return false;
}

/* "https://…/compute/v1/projects/p1/zones/z/instances/i" and "/zones/z/instances/i" name
 * the same thing. */
static const char *short_link(const char *s)
{
    const char *at = strstr(s, "/zones/");
    if (str_has_prefix(s, "projects/") && at != NULL) {
        return at;
    }
    if (at == NULL) {
        at = strstr(s, "/projects/");
    }
    return at != NULL && (str_has_prefix(s, "http") || at == s) ? at : s;
}

/* The value as text that can be compared: lists sorted, links short, absent and empty the same. */
const char *adoption_text(struct arena *a, struct json_object *v)
{
    if (v == NULL) {
        return "";
    }
    if (json_object_is_type(v, json_type_array)) {
        size_t n = json_len(v);
        const char **items = ARENA_ARRAY(a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            items[i] = adoption_text(a, json_object_array_get_idx(v, i));
        }
        struct str_set set = str_set_make(a, items, n);
        return n == 0 ? "" : arena_printf(a, "[%s]", str_set_text(a, &set, ", "));
    }
    if (json_object_is_type(v, json_type_object)) {
        struct json_object *ports = json_member(v, "ports");
        if (json_member(v, "group") != NULL) { /* a backend */
            return arena_printf(a, "%s %s", adoption_text(a, json_member(v, "group")),
                                str_nonnull(json_str(v, "balancingMode")));
        }
        return ports == NULL ? json_text(a, v, JSON_SORTED)
                             : arena_printf(a, "%s:%s", str_nonnull(json_str(v, "IPProtocol")),
                                            adoption_text(a, ports));
    }
    return short_link(json_object_get_string(v));
}

static bool is_meant(struct adoption_compare *c, const char *resource, const char *field)
{
    for (struct adoption_deviation *d = c->deviations; d != NULL && d->resource != NULL; d++) {
        if (str_glob(d->resource, resource) && str_glob(d->field, field)) {
            d->met = true;
            return true;
        }
    }
    return false;
}

void adoption_note(struct adoption_compare *c, const char *resource, const char *field,
                   const char *want, const char *got)
{
    if (!is_meant(c, resource, field)) {
        str_appendf(&c->differences, "%s %s\n    want %s\n    got  %s\n", resource, field, want,
                    got);
    }
}

static void compare_fields(struct adoption_compare *c, const char *resource,
                           struct json_object *want, struct json_object *got)
{
    json_object_object_foreach(want, field, value)
    {
        const char *w = adoption_text(c->a, value);
        const char *g = adoption_text(c->a, json_member(got, field));
        if (!is_incidental(field) && !str_eq(w, g)) {
            adoption_note(c, resource, field, w, g);
        }
    }
    json_object_object_foreach(got, other, extra)
    {
        const char *g = adoption_text(c->a, extra);
        if (!is_incidental(other) && json_member(want, other) == NULL && *g != '\0') {
            adoption_note(c, resource, other, "", g);
        }
    }
}

static void drop_if(struct json_object *o, const char *member, const char *text)
{
    struct json_object *v = json_member(o, member);
    if (v != NULL && str_eq(json_object_get_string(v), text)) {
        json_object_object_del(o, member);
    }
}

/* Values that the server fills in, and a lax one leaves out. */
static void fill_defaults(struct json_object *resource, const char *path)
{
    if (strstr(path, "/firewalls/") != NULL && json_member(resource, "priority") == NULL) {
        json_add_int(resource, "priority", 1000);
    }
    if (strstr(path, "/healthChecks/") != NULL) {
        drop_if(json_member(resource, "httpHealthCheck"), "proxyHeader", "NONE");
    }
    if (strstr(path, "/backendServices/") != NULL) {
        struct json_object *draining = json_member(resource, "connectionDraining");
        drop_if(resource, "timeoutSec", "30");
        drop_if(draining, "drainingTimeoutSec", "0");
        if (draining != NULL && json_object_object_length(draining) == 0) {
            json_object_object_del(resource, "connectionDraining");
        }
    }
    struct json_object *backends = json_member(resource, "backends");
    for (size_t i = 0; i < json_len(backends); i++) {
        drop_if(json_object_array_get_idx(backends, i), "balancingMode", "CONNECTION");
    }
    drop_if(resource, "allowGlobalAccess", "false");
    if (strstr(path, "/instanceGroups/") != NULL) { /* of its first member */
        json_object_object_del(resource, "network");
        json_object_object_del(resource, "subnetwork");
    }
}

void adoption_compare_end(struct adoption_compare *c)
{
    for (struct adoption_deviation *d = c->deviations; d != NULL && d->resource != NULL; d++) {
        if (!d->met) {
            str_appendf(&c->differences, "deviation %s %s is not met any more (%s)\n", d->resource,
                        d->field, d->row);
        }
    }
    if (c->differences.len > 0) {
        /* print_message() cuts long texts */
        (void)fputs(str_buf_text(&c->differences), stderr);
        str_buf_done(&c->differences);
        fail_msg("the clouds differ");
    }
    str_buf_done(&c->differences);
}

int adoption_compare(struct json_object *want, struct json_object *got,
                     bool (*keep)(const char *path, void *arg), void *arg,
                     struct adoption_deviation *deviations)
{
    struct adoption_compare c = {
        .a = arena_new(), .deviations = deviations, .differences = STR_BUF_INIT};
    int n = 0;
    json_object_object_foreach(want, path, resource)
    {
        struct json_object *other = json_member(got, path);
        if (!is_of_a_balancer(path) || (keep != NULL && !keep(path, arg))) {
            continue;
        }
        n++;
        fill_defaults(resource, path);
        if (other == NULL) {
            adoption_note(&c, resource_of(path), "", "there", "missing");
        } else {
            fill_defaults(other, path);
            compare_fields(&c, resource_of(path), resource, other);
        }
    }
    json_object_object_foreach(got, made, extra)
    {
        (void)extra;
        if (is_of_a_balancer(made) && json_member(want, made) == NULL &&
            (keep == NULL || keep(made, arg))) {
            adoption_note(&c, resource_of(made), "", "missing", "there");
        }
    }
    adoption_compare_end(&c);
    arena_free(c.a);
    return n;
}

/* "node-3 10.128.0.13", whatever the member looks like. */
static struct json_object *member_texts(struct arena *a, struct json_object *members)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(members); i++) {
        struct json_object *m = json_object_array_get_idx(members, i);
        const char *text = json_object_is_type(m, json_type_string)
                               ? json_object_get_string(m)
                               : arena_printf(a, "%s %s %s", str_nonnull(json_str(m, "instance")),
                                              str_nonnull(json_str(m, "ipAddress")),
                                              str_nonnull(json_str(m, "ipv6Address")));
        const char *slash = strrchr(text, '/');
        json_object_array_add(out, json_object_new_string(slash != NULL ? slash + 1 : text));
    }
    return out;
}

void adoption_compare_members(struct json_object *want, struct json_object *got)
{
    struct adoption_compare c = {.a = arena_new(), .differences = STR_BUF_INIT};
    struct json_object *others = json_member(got, "members");
    size_t n = 0;
    json_object_object_foreach(json_member(want, "members"), path, members)
    {
        struct json_object *w = member_texts(c.a, members);
        struct json_object *g = member_texts(c.a, json_member(others, path));
        const char *wanted = adoption_text(c.a, w);
        const char *is = adoption_text(c.a, g);
        n++;
        if (!str_eq(wanted, is) && strstr(path, "/targetPools/") == NULL) {
            adoption_note(&c, resource_of(path), "members", wanted, is);
        }
        json_object_put(w);
        json_object_put(g);
    }
    assert_true(n > 0);
    adoption_compare_end(&c);
    arena_free(c.a);
}

bool adoption_is_owned(const char *path, void *owned)
{
    const struct adoption_owned *o = owned;
    for (size_t i = 0; i < json_len(o->services); i++) {
        struct json_object *service = json_object_array_get_idx(o->services, i);
        const char *uid = json_str(json_member(service, "metadata"), "uid");
        if (adoption_is_external(service) &&
            strstr(path, svc_default_lb_name(o->a, str_nonnull(uid))) != NULL) {
            return true;
        }
    }
    return str_has_suffix(path, "-node-http-hc") || strstr(path, "/addresses/mine-") != NULL ||
           (strstr(path, "/httpHealthChecks/k8s-") != NULL && str_has_suffix(path, "-node"));
}

struct json_object *adoption_translate(struct arena *a, struct json_object *from,
                                       const struct adoption_pair *pairs, size_t n)
{
    const char *text = json_text(a, from, JSON_COMPACT);
    struct json_object *out = NULL;
    /* In two steps, because old and new addresses overlap. */
    for (size_t i = 0; i < n; i++) {
        const char *mark = arena_printf(a, "@address-%zu@", i);
        text = str_replace(a, text, arena_printf(a, "\"%s\"", pairs[i].was),
                           arena_printf(a, "\"%s\"", mark));
        text = str_replace(a, text, arena_printf(a, "\\\"%s\\\"", pairs[i].was),
                           arena_printf(a, "\\\"%s\\\"", mark));
    }
    for (size_t i = 0; i < n; i++) {
        text = str_replace(a, text, arena_printf(a, "@address-%zu@", i), pairs[i].is);
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &out, NULL) != ERR_OK) {
        fail_msg("a world that was changed does not parse");
    }
    return out;
}

static const char *without_prefix(struct arena *a, const char *ip)
{
    return arena_strndup(a, ip, strcspn(ip, "/"));
}

struct json_object *adoption_translate_addresses(struct arena *a, struct json_object *from,
                                                 struct json_object *to)
{
    struct json_object *gce = json_member(from, "gce");
    size_t n = 0;
    struct adoption_pair *pairs =
        ARENA_ARRAY(a, struct adoption_pair, 2 * (size_t)json_object_object_length(gce));
    json_object_object_foreach(gce, path, rule)
    {
        const char *old_ip = json_str(rule, "IPAddress");
        const char *new_ip = json_str(json_member(json_member(to, "gce"), path), "IPAddress");
        if (strstr(path, "/forwardingRules/") != NULL && old_ip != NULL && new_ip != NULL) {
            pairs[n++] = (struct adoption_pair){old_ip, new_ip};
            if (strchr(old_ip, '/') !=
                NULL) { /* IPv6: firewalls name the address, rules its range */
                pairs[n++] =
                    (struct adoption_pair){without_prefix(a, old_ip), without_prefix(a, new_ip)};
            }
        }
    }
    return adoption_translate(a, from, pairs, n);
}
