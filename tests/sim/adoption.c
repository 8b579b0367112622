/* SPDX-License-Identifier: Apache-2.0 */
/* adoption.c: see adoption.h. */
#include "tests/sim/adoption.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strset.h"
#include "common/lb/service_rules.h"

/* ---- running ------------------------------------------------------------------------------------- */

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
        fail_msg("%lld calls change the cloud, %lld write Services, %lld write Events: %s\n%s",
                 (long long)cloud, (long long)services, (long long)events,
                 json_text(rig_arena(r), rig_counts(r), JSON_SORTED_PRETTY), rig_log(r));
    }
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

/* ---- worlds -------------------------------------------------------------------------------------- */

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
    json_add(out, "gce", cloud_before(json_member(world, "gce")));
    json_object_object_del(out, "members");
    return out;
}

/* ---- comparing ----------------------------------------------------------------------------------- */

struct compare {
    struct arena *a;
    struct adoption_deviation *deviations;
    struct str_buf differences;
};

/* "…/regions/us-central1/targetPools/a12" → "targetPools/a12" */
static const char *resource_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash != NULL && slash > path && slash[-1] != '/') {
        slash--;
    }
    return slash == NULL ? path : slash;
}

static bool is_of_a_target_pool(const char *path)
{
    static const char *const collections[] = {"forwardingRules/*", "targetPools/*", "firewalls/*",
                                              "httpHealthChecks/*", "addresses/*"};
    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        if (str_glob(collections[i], resource_of(path))) {
            return true;
        }
    }
    return false;
}

/* Who made it, when, and in which order: nothing to compare.  labelFingerprint and what a lax server left out are the
 * server's, too. */
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

/* "https://…/compute/v1/projects/p1/zones/z/instances/i" and "/zones/z/instances/i" name the same thing. */
static const char *short_link(const char *s)
{
    const char *at = strstr(s, "/zones/");
    if (at == NULL) {
        at = strstr(s, "/projects/");
    }
    return at != NULL && (str_has_prefix(s, "http") || at == s) ? at : s;
}

/* The value as text that can be compared: lists sorted, links short, absent and empty the same. */
static const char *normal_text(struct arena *a, struct json_object *v)
{
    if (v == NULL) {
        return "";
    }
    if (json_object_is_type(v, json_type_array)) {
        size_t n = json_len(v);
        const char **items = ARENA_ARRAY(a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            items[i] = normal_text(a, json_object_array_get_idx(v, i));
        }
        struct str_set set = str_set_make(a, items, n);
        return n == 0 ? "" : arena_printf(a, "[%s]", str_set_text(a, &set, ", "));
    }
    if (json_object_is_type(v, json_type_object)) {
        struct json_object *ports = json_member(v, "ports");
        return ports == NULL ? json_text(a, v, JSON_SORTED)
                             : arena_printf(a, "%s:%s", str_nonnull(json_str(v, "IPProtocol")),
                                            normal_text(a, ports));
    }
    return short_link(json_object_get_string(v));
}

static bool is_meant(struct compare *c, const char *resource, const char *field)
{
    for (struct adoption_deviation *d = c->deviations; d != NULL && d->resource != NULL; d++) {
        if (str_glob(d->resource, resource) && str_glob(d->field, field)) {
            d->met = true;
            return true;
        }
    }
    return false;
}

static void note(struct compare *c, const char *resource, const char *field, const char *want,
                 const char *got)
{
    if (!is_meant(c, resource, field)) {
        str_appendf(&c->differences, "%s %s\n    want %s\n    got  %s\n", resource, field, want,
                    got);
    }
}

static void compare_fields(struct compare *c, const char *resource, struct json_object *want,
                           struct json_object *got)
{
    json_object_object_foreach(want, field, value)
    {
        const char *w = normal_text(c->a, value);
        const char *g = normal_text(c->a, json_member(got, field));
        if (!is_incidental(field) && !str_eq(w, g)) {
            note(c, resource, field, w, g);
        }
    }
    json_object_object_foreach(got, other, extra)
    {
        const char *g = normal_text(c->a, extra);
        if (!is_incidental(other) && json_member(want, other) == NULL && *g != '\0') {
            note(c, resource, other, "", g);
        }
    }
}

/* Priority 1000 is what the server puts where nothing was sent: a lax one leaves it out. */
static void fill_defaults(struct json_object *resource, const char *path)
{
    if (strstr(path, "/firewalls/") != NULL && json_member(resource, "priority") == NULL) {
        json_add_int(resource, "priority", 1000);
    }
}

int adoption_compare(struct json_object *want, struct json_object *got,
                     bool (*keep)(const char *path, void *arg), void *arg,
                     struct adoption_deviation *deviations)
{
    struct compare c = {.a = arena_new(), .deviations = deviations, .differences = STR_BUF_INIT};
    int n = 0;
    json_object_object_foreach(want, path, resource)
    {
        struct json_object *other = json_member(got, path);
        if (!is_of_a_target_pool(path) || (keep != NULL && !keep(path, arg))) {
            continue;
        }
        n++;
        fill_defaults(resource, path);
        if (other == NULL) {
            note(&c, resource_of(path), "", "there", "missing");
        } else {
            fill_defaults(other, path);
            compare_fields(&c, resource_of(path), resource, other);
        }
    }
    json_object_object_foreach(got, made, extra)
    {
        (void)extra;
        if (is_of_a_target_pool(made) && json_member(want, made) == NULL &&
            (keep == NULL || keep(made, arg))) {
            note(&c, resource_of(made), "", "missing", "there");
        }
    }
    for (struct adoption_deviation *d = deviations; d != NULL && d->resource != NULL; d++) {
        if (!d->met) {
            str_appendf(&c.differences, "deviation %s %s is not met any more (%s)\n", d->resource,
                        d->field, d->row);
        }
    }
    arena_free(c.a);
    if (c.differences.len > 0) {
        print_message("%s", str_buf_text(&c.differences));
        str_buf_done(&c.differences);
        fail_msg("the clouds differ");
    }
    str_buf_done(&c.differences);
    return n;
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

struct json_object *adoption_translate_addresses(struct arena *a, struct json_object *from,
                                                 struct json_object *to)
{
    const char *text = json_text(a, from, JSON_COMPACT);
    struct json_object *out = NULL;
    struct json_object *gce = json_member(from, "gce");
    size_t n = 0;
    const char **marks = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(gce));
    const char **addresses = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(gce));
    /* In two steps, because old and new addresses overlap. */
    json_object_object_foreach(gce, path, rule)
    {
        const char *old_ip = json_str(rule, "IPAddress");
        const char *new_ip = json_str(json_member(json_member(to, "gce"), path), "IPAddress");
        if (strstr(path, "/forwardingRules/") != NULL && old_ip != NULL && new_ip != NULL) {
            marks[n] = arena_printf(a, "@address-%zu@", n);
            addresses[n] = new_ip;
            text = str_replace(a, text, arena_printf(a, "\"%s\"", old_ip),
                               arena_printf(a, "\"%s\"", marks[n]));
            text = str_replace(a, text, arena_printf(a, "\\\"%s\\\"", old_ip),
                               arena_printf(a, "\\\"%s\\\"", marks[n]));
            n++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        text = str_replace(a, text, marks[i], addresses[i]);
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &out, NULL) != ERR_OK) {
        fail_msg("a world that was changed does not parse");
    }
    return out;
}
