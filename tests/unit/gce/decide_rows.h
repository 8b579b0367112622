/* SPDX-License-Identifier: Apache-2.0 */
/* decide_rows.h: cases of gce_decide.h from a few words, and decisions as a few words.
 *
 * A case: "internal i2 rule=bs" = annotation Internal, finalizer l4-ilb-v2, a rule with a backend
 * service.
 *
 *     type        clusterip, deleted, gone
 *     class       class=SUFFIX of networking.gke.io/, class=custom
 *     wish        internal, old-internal, type=V, rbs, rbs=V
 *     finalizers  v1 v2 v3 (l4-netlb-…), i1 i2 (l4-ilb-…), cleanup; mark=PROVIDER or mark=none
 *     before      was=WORDS (with commas: as this process saw it last); else it never saw it
 *     rule        rule=pool, bs, internal, odd (neither target nor backend service), theirs (a pool
 *                 of another owner), failed, unknown; else absent; l4rule (of an L4 name)
 *     network     net=V (spec.selector); else none
 *     names       tcp=V, udp=V (status annotations), negs=PORT (neg-status)
 *     backend     backend=groups, negs, none, ilb, failed, unknown; else absent
 *
 * Flags: "both" = legacy part, ilb and netlb; "legacy", "l4" = one part; gke = classes of the
 * legacy part; subsets, default, neg, negdefault, standalone, status, multinet.
 * A decision: "pool"; "(pool)" = it is one, but another program's; then "teardown", "first=…",
 * "race", "migration", "conflict", "needs-rule", "needs-backend", "mark=…" = its finalizer is that
 * of another kind. */
#ifndef TRIMTAB_TESTS_GCE_DECIDE_ROWS_H
#define TRIMTAB_TESTS_GCE_DECIDE_ROWS_H

#include "common/lb/service_rules.h"
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/unit/gce/pure.h"

#define DECIDE_RULE_NAME "a09e0afadb26f4dccbc25d00f971b289" /* of the Service that rows are about */

struct decide_row {
    const char *number;
    const char *words;
    const char *flags;
    const char *want;
};

/* The word, or what follows "key=" when `key` ends so; NULL: absent. */
static inline const char *decide_word(struct arena *a, const char *words, const char *key)
{
    size_t n;
    char **items = str_split(a, words, ' ', &n);
    size_t len = strlen(key);
    for (size_t i = 0; i < n; i++) {
        if (key[len - 1] == '=' ? strncmp(items[i], key, len) == 0 : str_eq(items[i], key)) {
            return key[len - 1] == '=' ? items[i] + len : items[i];
        }
    }
    return NULL;
}

static inline bool decide_has(struct arena *a, const char *words, const char *key)
{
    return decide_word(a, words, key) != NULL;
}

static inline void decide_annotation(struct json_object *map, const char *key, const char *value)
{
    if (value != NULL) {
        json_add_str(map, key, value);
    }
}

static inline const struct tt_service *decide_service(struct arena *a, const char *words)
{
    static const struct {
        const char *word;
        const char *finalizer;
    } finalizers[] = {
        {"v1", GCE_FINALIZER_NETLB_V1}, {"v2", GCE_FINALIZER_NETLB_V2},
        {"v3", GCE_FINALIZER_NETLB_V3}, {"i1", GCE_FINALIZER_ILB_V1},
        {"i2", GCE_FINALIZER_ILB_V2},   {"cleanup", "service.kubernetes.io/load-balancer-cleanup"}};
    struct json_object *o = pure_json(
        a, "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
           "\"09e0afad-b26f-4dcc-bc25-d00f971b2890\"},\"spec\":{\"type\":\"LoadBalancer\"}}");
    struct json_object *meta = json_member(o, "metadata");
    struct json_object *spec = json_member(o, "spec");
    struct json_object *map = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < ARRAY_LEN(finalizers); i++) {
        if (decide_has(a, words, finalizers[i].word)) {
            json_object_array_add(list, json_object_new_string(finalizers[i].finalizer));
        }
    }
    decide_annotation(map, GCE_ANN_TYPE,
                      decide_has(a, words, "internal") ? "Internal"
                                                       : decide_word(a, words, "type="));
    decide_annotation(map, GCE_ANN_TYPE_OLD,
                      decide_has(a, words, "old-internal") ? "internal" : NULL);
    decide_annotation(map, GCE_ANN_RBS,
                      decide_has(a, words, "rbs") ? "enabled" : decide_word(a, words, "rbs="));
    decide_annotation(map, "service.kubernetes.io/tcp-forwarding-rule",
                      decide_word(a, words, "tcp="));
    decide_annotation(map, "service.kubernetes.io/udp-forwarding-rule",
                      decide_word(a, words, "udp="));
    const char *port = decide_word(a, words, "negs=");
    decide_annotation(map, "cloud.google.com/neg-status",
                      port == NULL ? NULL
                                   : arena_printf(a,
                                                  "{\"network_endpoint_groups\":{\"%s\":\"n\"},"
                                                  "\"zones\":[]}",
                                                  port));
    const char *by = decide_word(a, words, "mark=");
    if (by != NULL) {
        static const char uid[] = "09e0afad-b26f-4dcc-bc25-d00f971b2890";
        decide_annotation(map, LB_MARK_ANNOTATION, uid);
        decide_annotation(map, LB_MARK_BY_ANNOTATION,
                          str_eq(by, "none") ? NULL : arena_printf(a, "%s %s", by, uid));
    }
    json_add(meta, "annotations", map);
    json_add(meta, "finalizers", list);
    const char *class_ = decide_word(a, words, "class=");
    if (class_ != NULL) {
        json_add_str(spec, "loadBalancerClass",
                     str_eq(class_, "custom") ? "example.com/lb"
                                              : arena_printf(a, "networking.gke.io/%s", class_));
    }
    const char *network = decide_word(a, words, "net=");
    if (network != NULL) {
        struct json_object *selector = json_object_new_object();
        json_add_str(selector, "networking.gke.io/network", network);
        json_add(spec, "selector", selector);
    }
    if (decide_has(a, words, "clusterip")) {
        json_object_object_del(spec, "type");
        json_add_str(spec, "type", "ClusterIP");
    }
    if (decide_has(a, words, "deleted")) {
        json_add_str(meta, "deletionTimestamp", "2026-01-02T03:04:05Z");
    }
    return test_service(a, o);
}

static inline enum gce_found decide_found(const char *value)
{
    return value == NULL              ? GCE_FOUND_ABSENT
           : str_eq(value, "unknown") ? GCE_FOUND_UNKNOWN
           : str_eq(value, "failed")  ? GCE_FOUND_FAILED
                                      : GCE_FOUND_PRESENT;
}

/* The rule of the words; unset scheme, target and backend service are "", as decoded. */
static inline struct gce_rule decide_rule(const char *value)
{
    bool theirs = str_eq(value, "theirs");
    bool is_bs = str_eq(value, "bs");
    bool internal = str_eq(value, "internal");
    return (struct gce_rule){
        .ip = "203.0.113.10",
        .description = theirs ? "made by hand" : "{\"kubernetes.io/service-name\":\"demo/web\"}",
        .scheme = internal ? "INTERNAL" : "EXTERNAL",
        .target = theirs || str_eq(value, "pool") ? "projects/p/regions/r/targetPools/x" : "",
        .backend_service = is_bs || internal ? "projects/p/regions/r/backendServices/x" : "",
    };
}

static inline struct gce_switches decide_flags(struct arena *a, const char *words)
{
    bool both = decide_has(a, words, "both");
    struct gce_switches f = {
        .legacy_off = !both && !decide_has(a, words, "legacy"),
        .gke_classes = decide_has(a, words, "gke"),
        .run_ilb = both || decide_has(a, words, "l4"),
        .rbs_default = decide_has(a, words, "default"),
        .neg_netlb = decide_has(a, words, "neg"),
        .neg_default = decide_has(a, words, "negdefault"),
        .standalone_negs = decide_has(a, words, "standalone"),
        .standalone_status = decide_has(a, words, "status"),
        .multi_network = decide_has(a, words, "multinet"),
    };
    f.run_netlb = f.run_ilb;
    f.neg_ilb = f.run_ilb;
    f.ilb_subsets = f.run_ilb || decide_has(a, words, "subsets");
    return f;
}

/* As this process carried it out last. */
static inline const struct tt_service *decide_previous(struct arena *a, const char *words)
{
    const char *was = decide_word(a, words, "was=");
    return was == NULL ? NULL : decide_service(a, str_replace(a, was, ",", " "));
}

static inline struct gce_case decide_case(struct arena *a, const char *words,
                                          const struct gce_switches *flags)
{
    const char *rule = decide_word(a, words, "rule=");
    const char *backend = decide_word(a, words, "backend=");
    bool groups = str_eq(backend, "groups") || str_eq(backend, "ilb");
    return (struct gce_case){
        .service = decide_service(a, words),
        .previous = decide_previous(a, words),
        .flags = flags,
        .gone = decide_has(a, words, "gone"),
        .rule_found = decide_found(rule),
        .rule = decide_rule(rule),
        .backend_found = decide_found(backend),
        .has_l4_rule = decide_has(a, words, "l4rule"),
        .backend_scheme = str_eq(backend, "ilb") ? "INTERNAL" : "EXTERNAL",
        .backend_group = groups                    ? "projects/p/zones/z/instanceGroups/g"
                         : str_eq(backend, "negs") ? "projects/p/zones/z/networkEndpointGroups/n"
                                                   : "",
    };
}

static const char *const decide_kinds[GCE_KIND_MAX] = {[GCE_KIND_NONE] = "none",
                                                       [GCE_KIND_TARGET_POOL] = "pool",
                                                       [GCE_KIND_ILB_GROUPS] = "igroups",
                                                       [GCE_KIND_ILB_NEGS] = "inegs",
                                                       [GCE_KIND_NETLB_GROUPS] = "egroups",
                                                       [GCE_KIND_NETLB_NEGS] = "enegs",
                                                       [GCE_KIND_NEGS_ONLY] = "negs"};

static inline const char *decide_text(struct arena *a, const struct gce_decision *d)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    bool elsewhere = d->kind == GCE_KIND_NONE && d->is != GCE_KIND_NONE;
    str_appendf(&b, elsewhere ? "(%s)" : "%s", decide_kinds[elsewhere ? d->is : d->kind]);
    str_append(&b, d->teardown ? " teardown" : "");
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        if ((d->former & 1u << (unsigned)k) != 0) {
            str_appendf(&b, " first=%s", decide_kinds[k]);
        }
    }
    str_append(&b, d->guard_race ? " race" : "");
    str_append(&b, d->guard_migration ? " migration" : "");
    str_append(&b, d->conflict ? " conflict" : "");
    if (d->mark != d->kind) {
        str_appendf(&b, " mark=%s", decide_kinds[d->mark]);
    }
    str_append(&b, (d->needs & GCE_NEEDS_RULE) != 0 ? " needs-rule" : "");
    str_append(&b, (d->needs & GCE_NEEDS_BACKEND) != 0 ? " needs-backend" : "");
    return str_buf_to_arena(&b, a);
}

static inline void decide_check(struct arena *a, const struct decide_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct gce_switches f = decide_flags(a, rows[i].flags);
        const struct gce_case c = decide_case(a, rows[i].words, &f);
        struct gce_decision d;
        gce_decide(&c, &d);
        same_text(arena_printf(a, "%s: %s [%s]: rule %s", rows[i].number, rows[i].words,
                               rows[i].flags, d.rule),
                  decide_text(a, &d), rows[i].want);
    }
}

#endif
