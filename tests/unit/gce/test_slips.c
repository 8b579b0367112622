/* SPDX-License-Identifier: Apache-2.0 */
/* test_slips.c: misspelled annotations and values become findings, and right ones do not
 * (docs/adr/0031). */
#include "providers/gce/gce_findings.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/support/slips.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

static const char *const right_keys[] = {
    "cloud.google.com/neg",
    "cloud.google.com/backend-config",
    "external-dns.alpha.kubernetes.io/hostname",
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/release-name",
    "prometheus.io/scrape",
    "service.alpha.kubernetes.io/tolerate-unready-endpoints",
    "service.kubernetes.io/topology-mode",
    "service.beta.kubernetes.io/azure-load-balancer-internal",
    NULL,
};

static void keys__each_slip_is_told_and_no_right_key(void **state)
{
    (void)state;
    slips_check_keys(&gce_annotation_keys, right_keys);
}

/* The rows of gce_findings() whose values are words, on a kind where they have an effect. */
static const struct {
    const char *key;
    enum gce_kind kind;
    const char *values[2];
} rows[] = {
    {GCE_ANN_RBS, GCE_KIND_NETLB_GROUPS, {"enabled", "disabled"}},
    {GCE_ANN_GLOBAL_ACCESS, GCE_KIND_ILB_GROUPS, {"true", "false"}},
    {GCE_ANN_GLOBAL_ACCESS, GCE_KIND_ILB_NEGS, {"true", "false"}},
    {GCE_ANN_SHARE, GCE_KIND_ILB_GROUPS, {"true", "false"}},
    {GCE_ANN_SHARE_OLD, GCE_KIND_ILB_GROUPS, {"true", "false"}},
    {GCE_ANN_WEIGHTED, GCE_KIND_NETLB_NEGS, {"pods-per-node"}},
    {GCE_ANN_STRONG_AFFINITY, GCE_KIND_NETLB_GROUPS, {"enabled", "disabled"}},
};

/* The number of findings of a Service with that annotation. */
static size_t told(struct arena *a, const char *key, enum gce_kind kind, const char *value)
{
    const struct gce_options options = {.l4 = {.weighted_netlb = true, .weighted_ilb = true}};
    const struct tt_service *service = test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"u\","
                        "\"annotations\":{\"%s\":\"%s\"}},\"spec\":{\"type\":\"LoadBalancer\"}}",
                        key, value));
    const struct tt_item in = {.service = service};
    struct lb_item item = {.in = &in};
    struct lb_sync sync = {.a = a, .life = a, .items = &item};
    gce_findings(&sync, &item, kind, &options);
    return item.n_findings;
}

static void values__each_slip_is_told_and_no_right_value(void **state)
{
    (void)state;
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        for (size_t v = 0; v < ARRAY_LEN(rows[r].values) && rows[r].values[v] != NULL; v++) {
            _cleanup_(arena_freep) struct arena *a = arena_new();
            size_t n = 0;
            const char **slips = slips_of(a, rows[r].values[v], &n);
            assert_int_equal(told(a, rows[r].key, rows[r].kind, rows[r].values[v]), 0);
            for (size_t i = 0; i < n; i++) {
                if (told(a, rows[r].key, rows[r].kind, slips[i]) != 1) {
                    fail_msg("%s: \"%s\" is not told", rows[r].key, slips[i]);
                }
            }
        }
    }
}

/* The findings of a Service of that kind, and of a class or none, with these annotations. */
static const struct tt_finding *told_of_type(struct arena *a, enum gce_kind kind, const char *spec,
                                             const char *annotations, size_t *ret_n)
{
    const struct gce_options options = {0};
    const struct tt_service *service = test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"u\","
                        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\"%s}}",
                        annotations, spec));
    const struct tt_item in = {.service = service};
    struct lb_item item = {.in = &in};
    struct lb_sync sync = {.a = a, .life = a, .items = &item};
    gce_findings(&sync, &item, kind, &options);
    *ret_n = item.n_findings;
    return item.findings;
}

#define TYPE     "\"" GCE_ANN_TYPE "\":"
#define TYPE_OLD "\"" GCE_ANN_TYPE_OLD "\":"
#define CLASS    ",\"loadBalancerClass\":\"networking.gke.io/l4-regional-external\""

static void type__that_is_not_understood_or_does_not_count__is_told(void **state)
{
    (void)state;
    static const struct {
        enum gce_kind kind;
        const char *spec;
        const char *annotations;
        const char *told; /* NULL: nothing is */
    } cases[] = {
        {GCE_KIND_TARGET_POOL, "", TYPE "\"External\"", NULL},
        {GCE_KIND_TARGET_POOL, "", TYPE "\"EXTERNAL\"", NULL},
        {GCE_KIND_TARGET_POOL, "", TYPE "\" \"", NULL},
        {GCE_KIND_ILB_GROUPS, "", TYPE "\"Internal\"", NULL},
        {GCE_KIND_TARGET_POOL, "", TYPE "\"private\"", "counts as External; want Internal or"},
        {GCE_KIND_NETLB_NEGS, "", TYPE_OLD "\"ILB\"", "counts as External; want Internal or"},
        {GCE_KIND_TARGET_POOL, "", TYPE "\"Extrenal\"", "counts as External; want Internal or"},
        {GCE_KIND_TARGET_POOL, "", TYPE "\"internl\"", "\"Internal\" was probably meant"},
        {GCE_KIND_TARGET_POOL, "", TYPE "\"\"," TYPE_OLD "\"Internal\"", "has no effect beside"},
        {GCE_KIND_ILB_NEGS, "", TYPE "\"Internal\"," TYPE_OLD "\"Internal\"", NULL},
        {GCE_KIND_NETLB_NEGS, CLASS, TYPE "\"Internal\"", "beside spec.loadBalancerClass"},
        {GCE_KIND_NETLB_NEGS, CLASS, TYPE "\"External\"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        size_t n = 0;
        const struct tt_finding *told =
            told_of_type(a, cases[i].kind, cases[i].spec, cases[i].annotations, &n);
        if (n != (cases[i].told != NULL) ||
            (n > 0 && strstr(told->message, cases[i].told) == NULL)) {
            fail_msg("%s: %zu findings, %s", cases[i].annotations, n, n > 0 ? told->message : "");
        }
    }
}

/* The number of findings of a Service that selects that network. */
static size_t told_of_network(const char *name, enum gce_kind kind, bool flag)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct gce_options options = {.l4 = {.multi_network = flag}};
    const struct tt_service *service = test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"u\"},"
                        "\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{"
                        "\"networking.gke.io/network\":\"%s\"}}}",
                        name));
    const struct tt_item in = {.service = service};
    struct lb_item item = {.in = &in};
    struct lb_sync sync = {.a = a, .life = a, .items = &item};
    gce_findings(&sync, &item, kind, &options);
    return item.n_findings;
}

static void network__that_the_selector_names_without_effect__is_told(void **state)
{
    (void)state;
    assert_int_equal(told_of_network("blue", GCE_KIND_TARGET_POOL, true), 1);
    assert_int_equal(told_of_network("blue", GCE_KIND_ILB_GROUPS, true), 1);
    assert_int_equal(told_of_network("blue", GCE_KIND_NETLB_NEGS, false), 1);
    assert_int_equal(told_of_network("blue", GCE_KIND_NETLB_NEGS, true), 0);
    assert_int_equal(told_of_network("default", GCE_KIND_TARGET_POOL, false), 0);
}

UNIT_MAIN(slips)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(values__each_slip_is_told_and_no_right_value),
        PURE_TEST(type__that_is_not_understood_or_does_not_count__is_told),
        PURE_TEST(network__that_the_selector_names_without_effect__is_told),
        PURE_TEST(keys__each_slip_is_told_and_no_right_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
