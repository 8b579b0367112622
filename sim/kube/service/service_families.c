/* SPDX-License-Identifier: Apache-2.0 */
/* service_families.c: one or two address families: how a Service gets, gains and loses them.
 *
 * The families of the cluster come from the simulator's configuration.  Source: API server
 * allocation of Services; recorded 022, 023, 153–160. */
#include "sim/kube/service/service.h"

#include "common/base/ip.h"

#include <string.h>

static bool same_list(struct json_object *a, struct json_object *b)
{
    return (json_len(a) == 0 && json_len(b) == 0) || kube_same(a, b);
}

static struct json_object *one_item(const char *s)
{
    return json_strs(&s, 1);
}

void service_sync_cluster_ips(struct kube_change *c)
{
    struct json_object *now = service_spec(c->now);
    const char *ip = str_nonnull(json_str(now, "clusterIP"));
    struct json_object *ips = json_member(now, "clusterIPs");
    if (!c->was) {
        if (*ip && json_len(ips) == 0) {
            kube_set(now, "clusterIPs", one_item(ip));
        }
        return;
    }
    struct json_object *was = service_spec(c->was);
    bool same_ip = str_eq(ip, str_nonnull(json_str(was, "clusterIP")));
    bool same_ips = same_list(ips, json_member(was, "clusterIPs"));
    if (!same_ip && same_ips) {
        kube_set(now, "clusterIPs", *ip ? one_item(ip) : NULL);
    } else if (same_ip && !same_ips) {
        const char *first = json_len(ips) ? kube_item(ips, 0) : "";
        kube_set(now, "clusterIP", *first ? json_object_new_string(first) : NULL);
    }
}

/* --- the families ----------------------------------------------------------------------------- */
struct cluster {
    const char *first;
    const char *second; /* NULL: single-stack */
};

static struct cluster cluster_families(const struct kube_change *c)
{
    const struct sim_config *cfg = sim_cfg(c->st->sim);
    bool v4 = cfg->ipv4 || !cfg->ipv6;
    if (v4 && cfg->ipv6) {
        return cfg->ipv6_first ? (struct cluster){"IPv6", "IPv4"}
                               : (struct cluster){"IPv4", "IPv6"};
    }
    return (struct cluster){v4 ? "IPv4" : "IPv6", NULL};
}

static const char *family_of(const char *ip)
{
    struct ip_addr addr;
    return ip_parse_sloppy(ip, &addr) && addr.len == 16 ? "IPv6" : "IPv4";
}

static void keep_first(struct json_object *spec, const char *name)
{
    struct json_object *list = json_member(spec, name);
    if (json_len(list) > 1) {
        kube_set(spec, name, one_item(kube_item(list, 0)));
    }
}

/* From two families to one: what the client left as it was is cut (recorded 159). */
static void trim_for_single(struct kube_change *c)
{
    struct json_object *now = service_spec(c->now);
    struct json_object *was = service_spec(c->was);
    bool single = str_eq(json_str(now, "ipFamilyPolicy"), "SingleStack") &&
                  !str_eq(json_str(was, "ipFamilyPolicy"), "SingleStack");
    if (!single) {
        return;
    }
    if (same_list(json_member(now, "clusterIPs"), json_member(was, "clusterIPs"))) {
        keep_first(now, "clusterIPs");
    }
    if (same_list(json_member(now, "ipFamilies"), json_member(was, "ipFamilies"))) {
        keep_first(now, "ipFamilies");
    }
}

/* An update that says nothing about the policy keeps it. */
static void keep_policy(struct kube_change *c)
{
    struct json_object *now = service_spec(c->now);
    struct json_object *old = json_member(service_spec(c->was), "ipFamilyPolicy");
    if (old && !json_member(now, "ipFamilyPolicy")) {
        kube_set(now, "ipFamilyPolicy", json_object_get(old));
    }
}

/* PreferDualStack does not follow the cluster; it changes only when its Service is changed. */
static bool is_unchanged_prefer(struct kube_change *c)
{
    if (!c->was || service_is_type(c->was, "ExternalName")) {
        return false;
    }
    struct json_object *now = service_spec(c->now);
    struct json_object *was = service_spec(c->was);
    return str_eq(json_str(now, "ipFamilyPolicy"), "PreferDualStack") &&
           str_eq(json_str(was, "ipFamilyPolicy"), "PreferDualStack") &&
           same_list(json_member(now, "clusterIPs"), json_member(was, "clusterIPs")) &&
           same_list(json_member(now, "ipFamilies"), json_member(was, "ipFamilies"));
}

/* A headless Service without a selector has no pods to follow, so it may have any families
 * on any cluster. */
static bool is_free_headless(struct json_object *service)
{
    struct json_object *selector = json_member(service_spec(service), "selector");
    return service_is_headless(service) && (!selector || json_object_object_length(selector) == 0);
}

static void complete_free_headless(struct json_object *spec, const struct cluster *cl)
{
    if (json_len(json_member(spec, "ipFamilies")) == 0) {
        kube_set(spec, "ipFamilies", one_item(cl->first));
    }
    struct json_object *families = json_member(spec, "ipFamilies");
    if (json_len(families) == 1 && !str_eq(json_str(spec, "ipFamilyPolicy"), "SingleStack")) {
        const char *have = kube_item(families, 0);
        const char *both[] = {have, str_eq(have, "IPv4") ? "IPv6" : "IPv4"};
        kube_set(spec, "ipFamilies", json_strs(both, 2));
    }
}

static bool is_configured(const struct cluster *cl, const char *family)
{
    return str_eq(family, cl->first) || str_eq(family, cl->second);
}

/* Two of anything need a policy that says so; without one it is SingleStack. */
static void check_single_has_one(struct json_object *spec, struct kube_causes *causes)
{
    static const char *const lists[][2] = {{"clusterIPs", "cluster IPs"},
                                           {"ipFamilies", "IP families"}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (json_len(json_member(spec, lists[i][0])) == 2) {
            kube_invalid(
                causes, "spec.ipFamilyPolicy", "SingleStack",
                arena_printf(causes->arena,
                             "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
                             "%s are specified",
                             lists[i][1]));
        }
    }
}

/* The families of the addresses that the client chose. */
static void infer_from_addresses(struct json_object *spec, const struct cluster *cl,
                                 struct kube_causes *causes)
{
    struct json_object *families = json_member(spec, "ipFamilies");
    struct json_object *ips = json_member(spec, "clusterIPs");
    struct json_object *all = families ? json_copy(families) : json_object_new_array();
    for (size_t i = json_len(all); i < json_len(ips); i++) {
        const char *ip = kube_item(ips, i);
        if (str_eq(ip, "None")) {
            break;
        }
        if (!is_configured(cl, family_of(ip))) {
            kube_invalid_json(
                causes, arena_printf(causes->arena, "spec.clusterIPs[%zu]", i), ips,
                arena_printf(causes->arena, "%s is not configured on this cluster", family_of(ip)));
        }
        json_push_str(all, family_of(ip));
    }
    kube_set(spec, "ipFamilies", json_len(all) ? json_object_get(all) : NULL);
    json_object_put(all);
}

static void check_configured(struct json_object *spec, const struct cluster *cl,
                             struct kube_causes *causes)
{
    struct json_object *families = json_member(spec, "ipFamilies");
    const char *policy = str_nonnull(json_str(spec, "ipFamilyPolicy"));
    if (str_eq(policy, "RequireDualStack") && !cl->second) {
        kube_invalid(causes, "spec.ipFamilyPolicy", policy,
                     "this cluster is not configured for dual-stack services");
    }
    for (size_t i = 0; i < json_len(families); i++) {
        const char *f = kube_item(families, i);
        if (!is_configured(cl, f)) {
            kube_invalid(causes, arena_printf(causes->arena, "spec.ipFamilies[%zu]", i), f,
                         "not configured on this cluster");
        }
    }
}

static void complete(struct json_object *spec, const struct cluster *cl)
{
    if (json_len(json_member(spec, "ipFamilies")) == 0) {
        kube_set(spec, "ipFamilies", one_item(cl->first));
    }
    bool wants_two = !str_eq(json_str(spec, "ipFamilyPolicy"), "SingleStack");
    struct json_object *families = json_member(spec, "ipFamilies");
    if (wants_two && cl->second && json_len(families) == 1) {
        const char *have = kube_item(families, 0);
        const char *both[] = {have, str_eq(have, cl->first) ? cl->second : cl->first};
        kube_set(spec, "ipFamilies", json_strs(both, 2));
    }
}

struct json_object *service_settle_families(struct kube_change *c)
{
    struct cluster cl = cluster_families(c);
    struct json_object *spec = service_spec(c->now);
    if (!service_needs_cluster_ip(c->now) || is_unchanged_prefer(c)) {
        return NULL;
    }
    struct kube_causes causes = {.arena = c->arena};
    if (c->was) {
        keep_policy(c);
        trim_for_single(c);
    }
    service_validate_cluster_ips(c->now, &causes);
    if (kube_has_causes(&causes)) {
        return kube_status_invalid(c->kind, c->name, &causes, false);
    }
    bool free_headless = is_free_headless(c->now);
    if (!json_member(spec, "ipFamilyPolicy")) {
        kube_set(spec, "ipFamilyPolicy",
                 json_object_new_string(free_headless ? "RequireDualStack" : "SingleStack"));
    }
    if (str_eq(json_str(spec, "ipFamilyPolicy"), "SingleStack")) {
        check_single_has_one(spec, &causes);
    }
    if (!free_headless) {
        infer_from_addresses(spec, &cl, &causes);
        if (!kube_has_causes(&causes)) {
            check_configured(spec, &cl, &causes);
        }
    }
    if (kube_has_causes(&causes)) {
        return kube_status_invalid(c->kind, c->name, &causes, false);
    }
    (free_headless ? complete_free_headless : complete)(spec, &cl);
    return NULL;
}

/* --- validation ------------------------------------------------------------------------------- */
/* True when a value is wrong so that later checks would only confuse. */
static bool validate_values(struct json_object *spec, struct kube_causes *causes)
{
    struct json_object *ips = json_member(spec, "clusterIPs");
    const char *ip = str_nonnull(json_str(spec, "clusterIP"));
    size_t n = json_len(ips);
    bool bad = false;
    if (!*ip && n > 0) {
        kube_invalid_json(causes, "spec.clusterIPs", ips,
                          "must be empty when `clusterIP` is not specified");
        bad = true;
    } else if (*ip && n == 0) {
        kube_required(causes, "spec.clusterIPs", NULL);
        bad = true;
    } else if (n > 0 && !str_eq(kube_item(ips, 0), ip)) {
        kube_invalid_json(causes, "spec.clusterIPs", ips, "first value must match `clusterIP`");
    }
    for (size_t i = 0; i < n; i++) {
        const char *one = kube_item(ips, i);
        if (i == 0 && str_eq(one, "None")) {
            if (n > 1) {
                kube_invalid_json(causes, "spec.clusterIPs", ips,
                                  "'None' must be the first and only value");
                bad = true;
            }
            continue;
        }
        size_t before = json_len(causes->list);
        kube_check_ip(causes, arena_printf(causes->arena, "spec.clusterIPs[%zu]", i), one);
        bad = bad || json_len(causes->list) > before;
    }
    if (n > 2) {
        kube_invalid_json(causes, "spec.clusterIPs", ips, "may only hold up to 2 values");
    }
    return bad;
}

static void validate_families(struct json_object *spec, struct kube_causes *causes)
{
    static const char *const known[] = {"IPv4", "IPv6", NULL};
    static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack",
                                           NULL};
    struct json_object *families = json_member(spec, "ipFamilies");
    for (size_t i = 0; i < json_len(families); i++) {
        const char *f = kube_item(families, i);
        const char *field = arena_printf(causes->arena, "spec.ipFamilies[%zu]", i);
        if (!str_eq(f, known[0]) && !str_eq(f, known[1])) {
            kube_not_supported(causes, field, f, known);
        }
        if (i > 0 && str_eq(f, kube_item(families, 0))) {
            kube_duplicate(causes, field, kube_quoted(causes->arena, f));
        }
    }
    const char *policy = json_str(spec, "ipFamilyPolicy");
    bool fine = !policy;
    for (size_t i = 0; policies[i] && !fine; i++) {
        fine = str_eq(policy, policies[i]);
    }
    if (!fine) {
        kube_not_supported(causes, "spec.ipFamilyPolicy", policy, policies);
    }
}

void service_validate_cluster_ips(struct json_object *service, struct kube_causes *causes)
{
    struct json_object *spec = service_spec(service);
    if (service_is_type(service, "ExternalName")) {
        return;
    }
    struct json_object *ips = json_member(spec, "clusterIPs");
    struct json_object *families = json_member(spec, "ipFamilies");
    validate_families(spec, causes);
    bool bad = validate_values(spec, causes);
    if (bad) {
        return;
    }
    size_t n = json_len(ips);
    const char *first = n ? kube_item(ips, 0) : "";
    const char *second = n > 1 ? kube_item(ips, 1) : NULL;
    if (second && str_eq(family_of(first), family_of(second))) {
        kube_invalid_json(causes, "spec.clusterIPs", ips,
                          "may specify no more than one IP for each IP family");
    }
    if (service_is_headless(service) || kube_has_causes(causes)) {
        return;
    }
    for (size_t i = 0; i < n && i < json_len(families); i++) {
        const char *ip = kube_item(ips, i);
        const char *f = kube_item(families, i);
        if (!str_eq(f, family_of(ip))) {
            kube_invalid(causes, arena_printf(causes->arena, "spec.clusterIPs[%zu]", i), ip,
                         arena_printf(causes->arena,
                                      "expected an %s value as indicated by `ipFamilies[%zu]`", f,
                                      i));
        }
    }
}

static const char *item(struct json_object *list, size_t i)
{
    return i < json_len(list) ? kube_item(list, i) : NULL;
}

void service_validate_families_update(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *now = service_spec(c->now);
    struct json_object *was = service_spec(c->was);
    if (service_is_type(c->now, "ExternalName") || service_is_type(c->was, "ExternalName")) {
        return;
    }
    static const char *const lists[] = {"clusterIPs", "ipFamilies"};
    bool single = str_eq(json_str(now, "ipFamilyPolicy"), "SingleStack");
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct json_object *a = json_member(now, lists[k]);
        struct json_object *b = json_member(was, lists[k]);
        for (size_t i = 0; i < 2; i++) {
            const char *new_item = item(a, i);
            const char *old_item = item(b, i);
            const char *field = arena_printf(causes->arena, "spec.%s[%zu]", lists[k], i);
            if (!old_item || str_eq(new_item, old_item)) {
                continue;
            }
            if (new_item) {
                kube_invalid_json(causes, field, a, "may not change once set");
            } else if (!single) {
                kube_invalid_json(causes, "spec.ipFamilyPolicy", json_member(now, "ipFamilyPolicy"),
                                  "must be 'SingleStack' to release the secondary address");
            }
        }
    }
}
