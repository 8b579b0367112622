/* SPDX-License-Identifier: Apache-2.0 */
/* test_gauges.c: in which series a Service counts, how the counts follow it, when an error becomes
 * a persistent one (gce-l4.md §7.6; gce-cloud-provider.md §14.1, rows M6–M8). */
#include "tests/unit/gce/pure.h"

#include "providers/gce/gce_gauges.h"
#include "tests/support/unit.h"

#include <malloc.h>

#define ANN(k, v) "\"" k "\":\"" v "\""

/* ---- series ---------------------------------------------------------------------------------- */

static const struct tt_service *service(struct arena *a, const char *annotations, const char *spec)
{
    return test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"d\",\"name\":\"web\",\"annotations\":{%s}},"
                        "\"spec\":{\"type\":\"LoadBalancer\"%s%s}}",
                        annotations, *spec == '\0' ? "" : ",", spec));
}

/* "name{label=value,…}", those of an empty value left out, as Prometheus sees it. */
static const char *series_text(struct arena *a, const struct gce_gauge_series *s)
{
    struct str_buf b = STR_BUF_INIT;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (*s->labels[i].value != '\0') {
            str_appendf(&b, "%s%s=%s", b.len > 0 ? "," : "", s->labels[i].key, s->labels[i].value);
        }
    }
    const char *text = arena_printf(a, "%s{%s}", s->metric, str_buf_text(&b));
    str_buf_done(&b);
    return text;
}

static void expect_series(struct arena *a, const char *row, uint32_t bits,
                          const struct gce_l4_flags *f, const char *const *want)
{
    struct gce_gauge_series got[GCE_GAUGE_SERIES_MAX];
    size_t n = gce_gauge_series_of(bits, f, got);
    size_t n_want = 0;
    for (; want[n_want] != NULL; n_want++) {
        same_text(row, n_want < n ? series_text(a, &got[n_want]) : NULL, want[n_want]);
    }
    if (n != n_want) {
        fail_msg("%s: %zu series, want %zu; the next is %s", row, n, n_want,
                 series_text(a, &got[n_want]));
    }
}

#define PORTS(p) "\"ports\":[{\"protocol\":\"" p "\",\"port\":80}]"
#define MIXED                                                                                      \
    "\"ports\":[{\"name\":\"a\",\"protocol\":\"TCP\",\"port\":80},"                                \
    "{\"name\":\"b\",\"protocol\":\"UDP\",\"port\":53}]"
#define BOTH                                                                                       \
    "\"ipFamilies\":[\"IPv4\",\"IPv6\"],\"ipFamilyPolicy\":\"PreferDualStack\"," PORTS("TCP")
#define ILBS(status, weighted, zonal, protocol, logging)                                           \
    "l4_ilbs_count{status=" status ",multinet=false,weighted_lb_pods_per_node=" weighted           \
    ",zonal_affinity=" zonal ",protocol=" protocol ",logging_enabled=" logging "}"

static void internal__series(void **state)
{
    struct arena *a = *state;
    static const struct gce_l4_flags off = {0};
    static const struct gce_l4_flags on = {
        .weighted_ilb = true, .zonal_affinity = true, .dual_stack_ilb = true};
    static const struct {
        const char *row, *annotations, *spec;
        const struct gce_l4_flags *flags;
        enum gce_kind kind;
        enum gce_status status;
        const char *want[GCE_GAUGE_SERIES_MAX];
    } rows[] = {
        {"plain",
         "",
         PORTS("TCP"),
         &off,
         GCE_KIND_ILB_NEGS,
         GCE_STATUS_SUCCESS,
         {ILBS("Success", "false", "false", "TCP", "true"),
          "number_of_l4_ilbs{feature=L4ILBService}", "number_of_l4_ilbs{feature=L4ILBInSuccess}"}},
        {"global access and subnetwork",
         ANN("networking.gke.io/internal-load-balancer-allow-global-access",
             "true") "," ANN("networking.gke.io/load-balancer-subnet", "mine"),
         MIXED,
         &off,
         GCE_KIND_ILB_NEGS,
         GCE_STATUS_SUCCESS,
         {ILBS("Success", "false", "false", "MIXED", "true"),
          "number_of_l4_ilbs{feature=L4ILBService}", "number_of_l4_ilbs{feature=L4ILBInSuccess}",
          "number_of_l4_ilbs{feature=L4ILBGlobalAccess}",
          "number_of_l4_ilbs{feature=L4ILBCustomSubnet}"}},
        {"in error only as that",
         ANN("networking.gke.io/internal-load-balancer-allow-global-access", "true"),
         PORTS("UDP"),
         &off,
         GCE_KIND_ILB_NEGS,
         GCE_STATUS_ERROR,
         {ILBS("Error", "false", "false", "UDP", "true"), "number_of_l4_ilbs{feature=L4ILBService}",
          "number_of_l4_ilbs{feature=L4ILBInError}"}},
        {"user error",
         "",
         PORTS("TCP"),
         &off,
         GCE_KIND_ILB_NEGS,
         GCE_STATUS_USER_ERROR,
         {ILBS("UserError", "false", "false", "TCP", "true"),
          "number_of_l4_ilbs{feature=L4ILBService}",
          "number_of_l4_ilbs{feature=L4ILBInUserError}"}},
        {"weighted, zonal, both families",
         ANN("networking.gke.io/weighted-load-balancing", "pods-per-node"),
         "\"externalTrafficPolicy\":\"Local\",\"trafficDistribution\":\"PreferClose\"," BOTH,
         &on,
         GCE_KIND_ILB_NEGS,
         GCE_STATUS_PERSISTENT_ERROR,
         {ILBS("PersistentError", "true", "true", "TCP", "true"),
          "number_of_l4_dual_stack_ilbs{ip_families=IPv4,IPv6,ip_family_policy=PreferDualStack,"
          "status=PersistentError}",
          "number_of_l4_ilbs{feature=L4ILBService}", "number_of_l4_ilbs{feature=L4ILBInError}"}},
        {"M6: cloud-provider-gcp knows features only",
         "",
         PORTS("TCP"),
         &on,
         GCE_KIND_ILB_GROUPS,
         GCE_STATUS_SUCCESS,
         {"number_of_l4_ilbs{feature=L4ILBService}", "number_of_l4_ilbs{feature=L4ILBInSuccess}"}},
        {"M6: and no errors of the user's",
         "",
         PORTS("TCP"),
         &on,
         GCE_KIND_ILB_GROUPS,
         GCE_STATUS_USER_ERROR,
         {"number_of_l4_ilbs{feature=L4ILBService}", "number_of_l4_ilbs{feature=L4ILBInError}"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t bits = gce_gauge_bits(service(a, rows[i].annotations, rows[i].spec), rows[i].kind,
                                       rows[i].status, true, rows[i].flags);
        expect_series(a, rows[i].row, bits, rows[i].flags, rows[i].want);
    }
}

#define NETLBS(status, strong, backend, deny)                                                      \
    "l4_netlbs_count{status=" status ",multinet=false,strong_session_affinity=" strong             \
    ",weighted_lb_pods_per_node=false,backend_type=" backend                                       \
    ",protocol=TCP,logging_enabled=false" deny "}"
#define FEATURE(f) "number_of_l4_netlbs{feature=L4NetLB" f "}"

static void external__series(void **state)
{
    struct arena *a = *state;
    static const struct gce_l4_flags off = {0};
    static const struct gce_l4_flags deny = {
        .deny_firewall = true, .deny_cleanup = true, .dual_stack_netlb = true};
    static const struct gce_l4_flags cleanup = {.deny_cleanup = true};
    static const struct {
        const char *row, *annotations, *spec;
        const struct gce_l4_flags *flags;
        enum gce_kind kind;
        enum gce_status status;
        const char *want[GCE_GAUGE_SERIES_MAX];
    } rows[] = {
        {"premium, an address of ours",
         "",
         PORTS("TCP"),
         &off,
         GCE_KIND_NETLB_GROUPS,
         GCE_STATUS_SUCCESS,
         {NETLBS("Success", "false", "IG", ""), FEATURE("Service"), FEATURE("InSuccess"),
          FEATURE("StaticIP"), FEATURE("PremiumNetworkTier"), FEATURE("ManagedStaticIP")}},
        {"standard, the user's address",
         ANN("cloud.google.com/network-tier", "Standard"),
         "\"loadBalancerIP\":\"35.1.2.3\"," PORTS("TCP"),
         &off,
         GCE_KIND_NETLB_NEGS,
         GCE_STATUS_SUCCESS,
         {NETLBS("Success", "false", "NEG", ""), FEATURE("Service"), FEATURE("InSuccess"),
          FEATURE("StaticIP")}},
        {"in error, not for long",
         "",
         PORTS("TCP"),
         &off,
         GCE_KIND_NETLB_GROUPS,
         GCE_STATUS_ERROR,
         {NETLBS("Error", "false", "IG", ""), FEATURE("Service")}},
        {"in error for long",
         "",
         PORTS("TCP"),
         &off,
         GCE_KIND_NETLB_GROUPS,
         GCE_STATUS_PERSISTENT_ERROR,
         {NETLBS("PersistentError", "false", "IG", ""), FEATURE("Service"), FEATURE("InError")}},
        {"user error",
         "",
         PORTS("TCP"),
         &cleanup,
         GCE_KIND_NETLB_GROUPS,
         GCE_STATUS_USER_ERROR,
         {NETLBS("UserError", "false", "IG", ",deny_firewall=DISABLED"), FEATURE("Service"),
          FEATURE("InUserError")}},
        {"deny firewalls of both families",
         ANN("cloud.google.com/network-tier", "Standard"),
         "\"loadBalancerIP\":\"35.1.2.3\"," BOTH,
         &deny,
         GCE_KIND_NETLB_NEGS,
         GCE_STATUS_SUCCESS,
         {NETLBS("Success", "false", "NEG", ",deny_firewall=IPv4_IPv6"),
          "number_of_l4_dual_stack_netlbs{ip_families=IPv4,IPv6,ip_family_policy=PreferDualStack,"
          "status=Success}",
          FEATURE("Service"), FEATURE("InSuccess"), FEATURE("StaticIP")}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t bits = gce_gauge_bits(service(a, rows[i].annotations, rows[i].spec), rows[i].kind,
                                       rows[i].status, false, rows[i].flags);
        expect_series(a, rows[i].row, bits, rows[i].flags, rows[i].want);
    }
}

static void target_pools__by_status_and_deny_firewall(void **state)
{
    struct arena *a = *state;
    static const struct gce_l4_flags deny = {.deny_firewall = true, .deny_cleanup = true};
    static const struct gce_l4_flags cleanup = {.deny_cleanup = true};
    static const struct {
        const char *row;
        const struct gce_l4_flags *flags;
        enum gce_status status;
        const char *want[2];
    } rows[] = {
        {"off, cleaned up",
         &cleanup,
         GCE_STATUS_SUCCESS,
         {"number_of_l4_netlbs{status=Success,deny_firewall=DISABLED}"}},
        {"on",
         &deny,
         GCE_STATUS_SUCCESS,
         {"number_of_l4_netlbs{status=Success,deny_firewall=IPv4}"}},
        {"on, in error", &deny, GCE_STATUS_ERROR, {"number_of_l4_netlbs{status=Error}"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t bits = gce_gauge_bits(service(a, "", PORTS("TCP")), GCE_KIND_TARGET_POOL,
                                       rows[i].status, false, rows[i].flags);
        expect_series(a, rows[i].row, bits, rows[i].flags, rows[i].want);
    }
}

static void strong_affinity__with_its_flag(void **state)
{
    struct arena *a = *state;
    const struct tt_service *s =
        service(a, ANN("networking.gke.io/l4-strong-session-affinity", "enabled"),
                "\"sessionAffinity\":\"ClientIP\",\"sessionAffinityConfig\":{\"clientIP\":"
                "{\"timeoutSeconds\":600}}," PORTS("TCP"));
    for (int on = 0; on <= 1; on++) {
        const struct gce_l4_flags f = {.strong_affinity = on != 0};
        uint32_t bits = gce_gauge_bits(s, GCE_KIND_NETLB_NEGS, GCE_STATUS_SUCCESS, false, &f);
        assert_int_equal(gce_gauge_get(bits, GCE_GAUGE_STRONG), on);
    }
}

static void nothing__counts_nowhere(void **state)
{
    struct arena *a = *state;
    static const struct gce_l4_flags f = {0};
    const struct tt_service *s = service(a, "", PORTS("TCP"));
    assert_int_equal(gce_gauge_bits(s, GCE_KIND_NONE, GCE_STATUS_ERROR, false, &f), 0);
    assert_int_equal(gce_gauge_bits(s, GCE_KIND_NEGS_ONLY, GCE_STATUS_ERROR, false, &f), 0);
}

/* ---- counts ---------------------------------------------------------------------------------- */

struct board {
    struct arena *a;
    struct str_buf said; /* what was set since the last look */
    struct tt_host host;
    struct gce_gauges *gauges;
    struct gce_l4_flags flags;
};

static void set_gauge(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                      uint32_t n, double value)
{
    struct board *b = (struct board *)ctx;
    struct gce_gauge_series s = {.metric = name, .n_labels = n};
    for (uint32_t i = 0; i < n; i++) {
        s.labels[i] = labels[i];
    }
    str_appendf(&b->said, "%s%s=%d", b->said.len > 0 ? " " : "", series_text(b->a, &s), (int)value);
}

static void board_init(struct board *b, struct arena *a, int64_t deadline_ms)
{
    *b = (struct board){.a = a};
    b->host = (struct tt_host){.ctx = (struct tt_host_ctx *)b, .metric_set = set_gauge};
    b->gauges = gce_gauges_new(&b->flags, deadline_ms);
}

static void board_done(struct board *b)
{
    gce_gauges_free(b->gauges);
    str_buf_done(&b->said);
}

static void expect_said(struct board *b, const char *row, const char *want)
{
    same_text(row, str_buf_text(&b->said), want);
    str_buf_reset(&b->said);
}

static uint32_t pool(enum gce_status status, unsigned deny)
{
    uint32_t bits = gce_gauge_with(0, GCE_GAUGE_KIND, GCE_KIND_TARGET_POOL);
    return gce_gauge_with(gce_gauge_with(bits, GCE_GAUGE_STATUS, status), GCE_GAUGE_DENY, deny);
}

#define POOL(status)      "number_of_l4_netlbs{status=" status "}"
#define POOL_D(status, d) "number_of_l4_netlbs{status=" status ",deny_firewall=" d "}"

static void counts__M7_M8__follow_each_change(void **state)
{
    struct board b;
    board_init(&b, *state, 1200000);
    const struct {
        const char *row, *key;
        uint32_t bits;
        const char *want;
    } rows[] = {
        {"first", "a", pool(GCE_STATUS_SUCCESS, 0), POOL("Success") "=1"},
        {"second", "b", pool(GCE_STATUS_SUCCESS, 0), POOL("Success") "=2"},
        {"the same again", "b", pool(GCE_STATUS_SUCCESS, 0), ""},
        {"deny is off but cleaned up", "b", pool(GCE_STATUS_SUCCESS, 1),
         POOL("Success") "=1 " POOL_D("Success", "DISABLED") "=1"},
        {"deny is on", "b", pool(GCE_STATUS_SUCCESS, 2),
         POOL_D("Success", "DISABLED") "=0 " POOL_D("Success", "IPv4") "=1"},
        {"it fails", "b", pool(GCE_STATUS_ERROR, 0),
         POOL_D("Success", "IPv4") "=0 " POOL("Error") "=1"},
        {"it is gone", "b", 0, POOL("Error") "=0"},
        {"it is still gone", "b", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        gce_gauges_set(b.gauges, &b.host, rows[i].key, rows[i].bits, 1000);
        expect_said(&b, rows[i].row, rows[i].want);
        assert_int_equal(gce_gauges_get(b.gauges, rows[i].key), rows[i].bits);
    }
    board_done(&b);
}

static void counts__another_kind__leaves_the_old_series(void **state)
{
    struct board b;
    board_init(&b, *state, 1200000);
    const struct tt_service *s = service(b.a, "", PORTS("TCP"));
    gce_gauges_set(b.gauges, &b.host, "d/web",
                   gce_gauge_bits(s, GCE_KIND_ILB_GROUPS, GCE_STATUS_SUCCESS, false, &b.flags), 0);
    str_buf_reset(&b.said);
    gce_gauges_set(b.gauges, &b.host, "d/web",
                   gce_gauge_bits(s, GCE_KIND_NETLB_GROUPS, GCE_STATUS_ERROR, false, &b.flags), 0);
    expect_said(&b, "internal to external",
                "number_of_l4_ilbs{feature=L4ILBService}=0 "
                "number_of_l4_ilbs{feature=L4ILBInSuccess}=0 " NETLBS(
                    "Error", "false", "IG", "") "="
                                                "1 " FEATURE("Service") "=1");
    board_done(&b);
}

/* ---- errors that last ------------------------------------------------------------------------ */

static void error__past_its_deadline__persistent_with_anybodys_sync(void **state)
{
    struct board b;
    board_init(&b, *state, 1000);
    const struct {
        const char *row, *key;
        uint32_t bits;
        int64_t now_ms;
        const char *want;
    } rows[] = {
        {"the first fails", "a", pool(GCE_STATUS_ERROR, 0), 0, POOL("Error") "=1"},
        {"the second later", "b", pool(GCE_STATUS_ERROR, 0), 400, POOL("Error") "=2"},
        {"again, before the deadline", "a", pool(GCE_STATUS_ERROR, 0), 999, ""},
        {"somebody else's sync finds it out", "c", pool(GCE_STATUS_SUCCESS, 0), 1000,
         POOL("Success") "=1 " POOL("Error") "=1 " POOL("PersistentError") "=1"},
        {"it fails again", "a", pool(GCE_STATUS_ERROR, 0), 1100, ""},
        {"the second", "b", pool(GCE_STATUS_ERROR, 0), 1400,
         POOL("Error") "=0 " POOL("PersistentError") "=2"},
        {"the first is well", "a", pool(GCE_STATUS_SUCCESS, 0), 1500,
         POOL("PersistentError") "=1 " POOL("Success") "=2"},
        {"and fails anew", "a", pool(GCE_STATUS_ERROR, 0), 1600,
         POOL("Success") "=1 " POOL("Error") "=1"},
        {"the second goes", "b", 0, 2599, POOL("PersistentError") "=0"},
        {"the first counts from its new failure", "c", pool(GCE_STATUS_SUCCESS, 0), 2600,
         POOL("Error") "=0 " POOL("PersistentError") "=1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        gce_gauges_set(b.gauges, &b.host, rows[i].key, rows[i].bits, rows[i].now_ms);
        expect_said(&b, rows[i].row, rows[i].want);
    }
    board_done(&b);
}

static void user_error__never_persistent(void **state)
{
    struct board b;
    board_init(&b, *state, 1000);
    gce_gauges_set(b.gauges, &b.host, "a", pool(GCE_STATUS_USER_ERROR, 0), 0);
    str_buf_reset(&b.said);
    gce_gauges_set(b.gauges, &b.host, "a", pool(GCE_STATUS_USER_ERROR, 0), 5000);
    expect_said(&b, "long after", "");
    gce_gauges_set(b.gauges, &b.host, "a", pool(GCE_STATUS_ERROR, 0), 5999);
    expect_said(&b, "its error counts from the user's", POOL("UserError") "=0 " POOL("Error") "=1");
    gce_gauges_set(b.gauges, &b.host, "a", pool(GCE_STATUS_ERROR, 0), 6000);
    expect_said(&b, "and lasts", POOL("Error") "=0 " POOL("PersistentError") "=1");
    board_done(&b);
}

static void set_nothing(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                        uint32_t n, double value)
{
    (void)ctx;
    (void)name;
    (void)labels;
    (void)n;
    (void)value;
}

/* 0 where malloc is not glibc's. */
static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void memory__five_thousand_services__a_quarter_of_a_mebibyte(void **state)
{
    struct board b;
    board_init(&b, *state, 1200000);
    const char **keys = ARENA_ARRAY(b.a, const char *, 5000);
    for (int i = 0; i < 5000; i++) {
        keys[i] = arena_printf(b.a, "namespace/service-%d", i);
    }
    b.host.metric_set = set_nothing;
    size_t before = heap_bytes();
    for (int i = 0; i < 5000; i++) {
        gce_gauges_set(b.gauges, &b.host, keys[i], pool(GCE_STATUS_SUCCESS, 0), i);
    }
    size_t bytes = heap_bytes() - before;
    b.host.metric_set = set_gauge;
    if (bytes > 256 * 1024) {
        fail_msg("%zu bytes", bytes);
    }
    gce_gauges_set(b.gauges, &b.host, "one/more", pool(GCE_STATUS_SUCCESS, 0), 0);
    expect_said(&b, "all are counted", POOL("Success") "=5001");
    board_done(&b);
}

UNIT_MAIN(gauges)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(internal__series),
        PURE_TEST(external__series),
        PURE_TEST(target_pools__by_status_and_deny_firewall),
        PURE_TEST(strong_affinity__with_its_flag),
        PURE_TEST(nothing__counts_nowhere),
        PURE_TEST(counts__M7_M8__follow_each_change),
        PURE_TEST(counts__another_kind__leaves_the_old_series),
        PURE_TEST(error__past_its_deadline__persistent_with_anybodys_sync),
        PURE_TEST(user_error__never_persistent),
        PURE_TEST(memory__five_thousand_services__a_quarter_of_a_mebibyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
