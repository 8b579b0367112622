/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_rules.c: what a Service asks of a balancer with a backend service; rows V50–V66, V75–V78,
 * V115–V118, V179–V194, V214–V220 of gce-l4.md §11, and §4.1, §4.2, §4.6, §5.6, §5.8. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_l4_rules.h"
#include "tests/support/unit.h"

static const struct tt_service *service(struct arena *a, const char *meta, const char *spec)
{
    const char *comma = *meta == '\0' ? "" : ",";
    return test_service_text(
        a,
        arena_printf(a,
                     "{\"metadata\":{\"namespace\":\"d\"%s%s},\"spec\":{\"type\":\"LoadBalancer\""
                     "%s%s}}",
                     comma, meta, *spec == '\0' ? "" : ",", spec));
}

static const struct tt_service *annotated(struct arena *a, const char *key, const char *value,
                                          const char *spec)
{
    return service(a, arena_printf(a, "\"annotations\":{\"%s\":\"%s\"}", key, value), spec);
}

static const char *joined(struct arena *a, const struct gce_strs *s)
{
    return str_join(a, s->items, s->n, " ");
}

/* ---- source ranges --------------------------------------------------------------------------- */

#define RANGES "service.beta.kubernetes.io/load-balancer-source-ranges"
#define V58                                                                                        \
    "\"loadBalancerSourceRanges\":[\"0::0/0\",\" 192.168.0.1/10 \","                               \
    "\"2001:db8:3333:4444:5555:6666:7777:8888/32\",\" 132.8.0.1/8\"]"

static void source_ranges__V56_to_V66(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *spec, *annotation, *v4,
            *v6; /* v4 NULL: refused; "-": nothing is left of it */
    } rows[] = {
        {"V56, V63", "", NULL, "0.0.0.0/0", "0::0/0"},
        {"V57",
         "\"loadBalancerSourceRanges\":[\" 0::0/0 "
         "\",\"2001:db8:3333:4444:5555:6666:7777:8888/32\"]",
         NULL, "-", "2001:db8::/32 ::/0"},
        {"V58", V58, NULL, "132.0.0.0/8 192.128.0.0/10", "2001:db8::/32 ::/0"},
        {"V59", "", "0::0/0, 192.168.0.1/10 ,2001:db8::1/32, 132.8.0.1/8 ",
         "132.0.0.0/8 192.128.0.0/10", "2001:db8::/32 ::/0"},
        {"V60", V58, "garbage", "132.0.0.0/8 192.128.0.0/10", "2001:db8::/32 ::/0"},
        {"V61", "\"loadBalancerSourceRanges\":[\"1.0.1.2\"]", NULL, NULL, NULL},
        {"V62", "", "1.2.3.4 1.2.3.4", NULL, NULL},
        {"V64", "\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]", NULL, "10.0.0.0/8", "-"},
        {"V65",
         "\"loadBalancerSourceRanges\":[\"2001:db8:4444:5555:6666:7777:8888:9999/10\",\"1.0.0.0/"
         "8\","
         "\"2001:db8:3333:4444:5555:6666:7777:8888/32\",\"2.0.0.0/8\"]",
         NULL, "1.0.0.0/8 2.0.0.0/8", "2000::/10 2001:db8::/32"},
        {"V66", "\"loadBalancerSourceRanges\":[\"2001:db8::1\"]", NULL, NULL, NULL},
        {"C1, blank", "", " ", NULL, NULL},
        {"C1, empty", "", "", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s = rows[i].annotation == NULL
                                         ? service(a, "", rows[i].spec)
                                         : annotated(a, RANGES, rows[i].annotation, rows[i].spec);
        struct gce_l4_ranges r = {0};
        struct err err = ERR_INIT;
        int rc = gce_l4_source_ranges(a, s, &r, &err);
        if (rows[i].v4 == NULL) {
            same_text(rows[i].row, err_code_name(rc), "invalid");
            continue;
        }
        same_text(rows[i].row, err_code_name(rc), "ok");
        same_text(rows[i].row, r.v4_dropped ? "-" : joined(a, &r.v4), rows[i].v4);
        same_text(rows[i].row, r.v6_dropped ? "-" : joined(a, &r.v6), rows[i].v6);
    }
}

/* ---- ports ----------------------------------------------------------------------------------- */

static const char *allowed_text(struct arena *a, const struct gce_allows *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < w->n; i++) {
        str_appendf(&b, "%s%s:%s", i == 0 ? "" : "; ", w->items[i].protocol,
                    joined(a, &w->items[i].ports));
    }
    return str_buf_to_arena(&b, a);
}

#define PORT(protocol, number) "{\"protocol\":\"" protocol "\",\"port\":" number "}"

static void ports__V115_to_V118(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *ports;
        bool mixed_on;
        const char *rule, *service, *tcp, *udp, *range, *allowed;
    } rows[] = {
        {"V115", "", true, "TCP", "TCP", "", "", "", ""},
        {"V115", "", false, "TCP", "TCP", "", "", "", ""},
        {"V116", PORT("TCP", "1001") "," PORT("UDP", "1001") "," PORT("TCP", "8080"), true,
         "L3_DEFAULT", "UNSPECIFIED", "1001 8080", "1001", "1001-8080", "udp:1001; tcp:1001 8080"},
        {"V116, not enabled: first port's",
         PORT("TCP", "1001") "," PORT("UDP", "1001") "," PORT("TCP", "8080"), false, "TCP", "TCP",
         "1001 8080", "1001", "1001-8080", "TCP:1001 8080"},
        {"V117", "{\"port\":1001}", true, "TCP", "TCP", "1001", "", "1001-1001", "tcp:1001"},
        {"V118",
         PORT("TCP", "15") "," PORT("TCP", "37") "," PORT("TCP", "900") "," PORT(
             "TCP", "2002") "," PORT("TCP", "2003") "," PORT("TCP", "2004"),
         true, "TCP", "TCP", "15 37 900 2002 2003 2004", "", "15-2004", "tcp:15 37 900 2002-2004"},
        {"4.2, UDP", PORT("UDP", "53"), true, "UDP", "UDP", "", "53", "53-53", "udp:53"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_l4_ports p;
        gce_l4_ports_of(a, service(a, "", arena_printf(a, "\"ports\":[%s]", rows[i].ports)),
                        rows[i].mixed_on, &p);
        same_text(rows[i].row, p.rule_protocol, rows[i].rule);
        same_text(rows[i].row, p.service_protocol, rows[i].service);
        same_text(rows[i].row, joined(a, &p.tcp), rows[i].tcp);
        same_text(rows[i].row, joined(a, &p.udp), rows[i].udp);
        same_text(rows[i].row, p.range, rows[i].range);
        same_text(rows[i].row, allowed_text(a, &p.allowed), rows[i].allowed);
        assert_int_equal(p.mixed, *rows[i].tcp != '\0' && *rows[i].udp != '\0');
    }
}

static void ports_check__C2_A9__refused_before_anything_is_written(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *ports;
        bool mixed_on;
        const char *want; /* NULL: fine */
    } rows[] = {
        {"", true, "no ports: a load balancer needs at least one"},
        {PORT("SCTP", "80"), true,
         "spec.ports[0]: protocol SCTP is not supported, only TCP and UDP are"},
        {PORT("TCP", "80") "," PORT("SCTP", "80"), true,
         "spec.ports[1]: protocol SCTP is not supported, only TCP and UDP are"},
        {PORT("TCP", "80") "," PORT("UDP", "53"), false,
         "spec.ports[1]: TCP and UDP ports in one Service are not enabled here"},
        {PORT("TCP", "80") "," PORT("UDP", "53"), true, NULL},
        {PORT("UDP", "80") "," PORT("UDP", "53"), false, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        int rc =
            gce_l4_ports_check(service(a, "", arena_printf(a, "\"ports\":[%s]", rows[i].ports)),
                               rows[i].mixed_on, &err);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_OK : ERR_INVALID);
        same_text("C2", err.message, rows[i].want == NULL ? "" : rows[i].want);
    }
}

/* ---- families, subnetwork, addresses --------------------------------------------------------- */

static void families__4_1(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *families;
        bool dual, v4, v6;
    } rows[] = {
        {"", false, true, false},
        {"", true, true, false},
        {"\"IPv6\"", false, true, false},
        {"\"IPv6\"", true, false, true},
        {"\"IPv4\"", true, true, false},
        {"\"IPv6\",\"IPv4\"", true, true, true},
        {"\"IPv6\",\"IPv4\"", false, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s =
            service(a, "", arena_printf(a, "\"ipFamilies\":[%s]", rows[i].families));
        assert_int_equal(gce_l4_wants_v4(s, rows[i].dual), rows[i].v4);
        assert_int_equal(gce_l4_wants_v6(s, rows[i].dual), rows[i].v6);
    }
}

static void subnet__newer_key_hides_the_older(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *ilb, *netlb;
    } rows[] = {
        {"", "", ""},
        {"\"networking.gke.io/load-balancer-subnet\":\"new\"", "new", "new"},
        {"\"networking.gke.io/internal-load-balancer-subnet\":\"old\"", "old", ""},
        {"\"networking.gke.io/load-balancer-subnet\":\"\","
         "\"networking.gke.io/internal-load-balancer-subnet\":\"old\"",
         "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s =
            service(a, arena_printf(a, "\"annotations\":{%s}", rows[i].annotations), "");
        same_text("10, ILB", gce_l4_subnet(s, true), rows[i].ilb);
        same_text("10, NetLB", gce_l4_subnet(s, false), rows[i].netlb);
    }
}

static void subnetwork_check__E4__access_and_stack(void **state)
{
    (void)state;
    static const struct {
        const char *access, *stack;
        bool internal;
        int want;
    } rows[] = {
        {"INTERNAL", "IPV4_IPV6", true, ERR_OK},       {"INTERNAL", "IPV6_ONLY", true, ERR_OK},
        {"EXTERNAL", "IPV4_IPV6", true, ERR_INVALID},  {"INTERNAL", "IPV4_ONLY", true, ERR_INVALID},
        {"", "IPV4_IPV6", true, ERR_INVALID},          {"EXTERNAL", "IPV4_IPV6", false, ERR_OK},
        {"INTERNAL", "IPV4_IPV6", false, ERR_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_subnetwork s = {
            .name = "sub", .link = "", .ipv6_access = rows[i].access, .stack = rows[i].stack};
        assert_int_equal(gce_l4_subnetwork_check(&s, rows[i].internal, NULL), rows[i].want);
    }
}

static void address_names__V75_to_V78__first_two_entries(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][3] = {
        {"V75", "ipv4-address, ipv4-address", "ipv4-address ipv4-address"},
        {"V76", "ipv4-address,ipv6-address", "ipv4-address ipv6-address"},
        {"V77", "a,b,c,d", "a b"},
        {"V78", " , , ,    ,,", ""},
        {"V78, a blank counts", " ,a,b", "a"},
        {"10", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_strs names = gce_l4_address_names(
            a, annotated(a, "networking.gke.io/load-balancer-ip-addresses", rows[i][1], ""));
        same_text(rows[i][0], joined(a, &names), rows[i][2]);
    }
}

/* ---- balancing ------------------------------------------------------------------------------- */

#define LOCAL "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30000"

static void locality__4_6_5_8(void **state)
{
    struct arena *a = *state;
    static const struct {
        bool on, ilb;
        const char *annotation, *spec, *want;
        bool unsupported;
    } rows[] = {
        {true, true, "pods-per-node", LOCAL, "WEIGHTED_GCP_RENDEZVOUS", false},
        {true, true, "pods-per-node", "", "", true},
        {true, true, "x", LOCAL, "", false},
        {true, false, "pods-per-node", LOCAL, "WEIGHTED_MAGLEV", false},
        {true, false, "pods-per-node", "", "MAGLEV", true},
        {true, false, "x", "", "MAGLEV", false},
        {false, false, "pods-per-node", LOCAL, "", false},
        {false, true, "pods-per-node", "", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_l4_flags f = {.weighted_ilb = rows[i].on, .weighted_netlb = rows[i].on};
        bool unsupported;
        const struct tt_service *s =
            annotated(a, GCE_ANN_WEIGHTED, rows[i].annotation, rows[i].spec);
        same_text("4.6", gce_l4_locality(s, rows[i].ilb, &f, &unsupported), rows[i].want);
        assert_int_equal(unsupported, rows[i].unsupported);
    }
}

static void zonal_affinity__4_6(void **state)
{
    struct arena *a = *state;
    const struct gce_l4_flags on = {.zonal_affinity = true};
    const struct gce_l4_flags off = {0};
    const struct tt_service *close = service(a, "", "\"trafficDistribution\":\"PreferClose\"");
    const struct tt_service *zone = service(a, "", "\"trafficDistribution\":\"PreferSameZone\"");
    const struct tt_service *node = service(a, "", "\"trafficDistribution\":\"PreferSameNode\"");
    assert_true(gce_l4_wants_zonal_affinity(close, &on));
    assert_true(gce_l4_wants_zonal_affinity(zone, &on));
    assert_false(gce_l4_wants_zonal_affinity(node, &on));
    assert_false(gce_l4_wants_zonal_affinity(service(a, "", ""), &on));
    assert_false(gce_l4_wants_zonal_affinity(close, &off));
}

static void strong_affinity__V179_to_V185(void **state)
{
    struct arena *a = *state;
#define TIMEOUT(s)                                                                                 \
    "\"sessionAffinity\":\"ClientIP\",\"sessionAffinityConfig\":{\"clientIP\":{"                   \
    "\"timeoutSeconds\":" s "}}"
    static const struct {
        const char *row;
        bool on;
        const char *annotation, *spec;
        int want;
        bool strong;
    } rows[] = {
        {"V179", false, "", "", ERR_OK, false},
        {"V180", false, "enabled", TIMEOUT("60"), ERR_INVALID, false},
        {"V181", true, "", "", ERR_OK, false},
        {"V182", true, "enabled",
         "\"sessionAffinity\":\"None\",\"sessionAffinityConfig\":{\"clientIP\":{\"timeoutSeconds\":"
         "60}}",
         ERR_INVALID, false},
        {"V183", true, "enabled", TIMEOUT("57601"), ERR_INVALID, false},
        {"V183, low", true, "enabled", TIMEOUT("59"), ERR_INVALID, false},
        {"V184", true, "enabled",
         "\"sessionAffinity\":\"ClientIP\",\"sessionAffinityConfig\":{\"clientIP\":{}}",
         ERR_INVALID, false},
        {"V184", true, "enabled", "\"sessionAffinity\":\"ClientIP\"", ERR_INVALID, false},
        {"V185", true, "enabled", TIMEOUT("60"), ERR_OK, true},
        {"V185, high", true, "enabled", TIMEOUT("57600"), ERR_OK, true},
        {"5.5, exact word", true, "Enabled", TIMEOUT("60"), ERR_OK, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool strong = !rows[i].strong;
        struct err err = ERR_INIT;
        const struct tt_service *s =
            *rows[i].annotation == '\0'
                ? service(a, "", rows[i].spec)
                : annotated(a, GCE_ANN_STRONG_AFFINITY, rows[i].annotation, rows[i].spec);
        int rc = gce_l4_strong_affinity(s, rows[i].on, &strong, &err);
        same_text(rows[i].row, err_code_name(rc), err_code_name(rows[i].want));
        assert_int_equal(strong, rows[i].strong);
        assert_int_equal(*err.message != '\0', rows[i].want != ERR_OK);
    }
#undef TIMEOUT
}

static void tier__5_6__exact_words(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *value, *want;
        bool set;
    } rows[] = {
        {"Standard", "STANDARD", true}, {"Premium", "PREMIUM", true},
        {"standard", "PREMIUM", false}, {"", "PREMIUM", false},
        {"Basic", "PREMIUM", false},
    };
    bool set = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service *s =
            annotated(a, "cloud.google.com/network-tier", rows[i].value, "");
        same_text("5.6", gce_l4_tier(s, &set), rows[i].want);
        assert_int_equal(set, rows[i].set);
    }
    same_text("5.6", gce_l4_tier(service(a, "", ""), &set), "PREMIUM");
    assert_false(set);
}

/* ---- finalizers ------------------------------------------------------------------------------ */

static void finalizer_lost__V186_to_V188(void **state)
{
    (void)state;
    static const char *const v2_and_x[] = {"x", "gke.networking.io/l4-ilb-v2"};
    static const char *const x_and_v2[] = {"gke.networking.io/l4-ilb-v2", "x"};
    static const char *const alike[] = {"x", "gke.networking.io/l4-ilb-v2x"};
    const char *v2 = "gke.networking.io/l4-ilb-v2";
    assert_true(gce_l4_finalizer_lost(v2_and_x, 2, alike, 2, v2, false));     /* V186 */
    assert_false(gce_l4_finalizer_lost(v2_and_x, 2, x_and_v2, 2, v2, false)); /* V187 */
    assert_false(gce_l4_finalizer_lost(v2_and_x, 2, alike, 2, v2, true));     /* V188 */
    assert_false(gce_l4_finalizer_lost(alike, 2, v2_and_x, 2, v2, false));
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void error_of__V214_to_V220(void **state)
{
    (void)state;
#define TIER(t) "The network tier of external IP is " t "that of Address must be the same."
    static const struct {
        const char *row;
        int status;
        const char *message;
        struct gce_l4_error want;
    } rows[] = {
        {"V214",
         400,
         "x: Specified IP address is in-use and would result in a conflict., invalid",
         {.ip_in_use = true}},
        {"V214, 409", 409, "IP_IN_USE_BY_ANOTHER_RESOURCE - x", {.ip_in_use = true}},
        {"V214, another status", 412, "IP_IN_USE_BY_ANOTHER_RESOURCE - x", {0}},
        {"V215",
         400,
         "Invalid resource usage: 'Forwarding rule's port range is conflicting with forwarding "
         "rule: abcd'.",
         {.ports_conflict = true}},
        {"V216", 412, "Constraint constraints/x violated for project", {.user = true}},
        {"V217", 412, "Precondition failed", {0}},
        {"V217", 400, "Constraint constraints/x violated for project", {0}},
        {"V218",
         400,
         "x: Requested internal IP address is outside the network/subnetwork range",
         {.user = true}},
        {"V219",
         0,
         "x: Requested internal IP address is outside the network/subnetwork range",
         {0}},
        {"V220", 400, TIER("STANDARD, "), {.tier_mismatch = true}},
        {"V220", 0, TIER("PREMIUM, "), {.tier_mismatch = true}},
        {"V220, no tier", 400, TIER(", "), {0}},
        {"5.5", 400, "EnableStrongAffinity is not supported.", {.no_strong_affinity = true}},
        {"4.6", 400, "x GCP_RENDEZVOUS is not supported", {.no_rendezvous = true}},
        {"4.6, another status", 409, "x GCP_RENDEZVOUS is not supported", {0}},
        {"8.4",
         400,
         "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS - x",
         {.one_group_per_instance = true}},
        {"8.4",
         400,
         "instance may belong to at most one load-balanced instance group",
         {.one_group_per_instance = true}},
    };
#undef TIER
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_l4_error got;
        gce_l4_error_of(rows[i].status, rows[i].message, &got);
        const struct gce_l4_error *w = &rows[i].want;
        if (got.user != w->user || got.tier_mismatch != w->tier_mismatch ||
            got.no_strong_affinity != w->no_strong_affinity ||
            got.no_rendezvous != w->no_rendezvous || got.ip_in_use != w->ip_in_use ||
            got.ports_conflict != w->ports_conflict ||
            got.one_group_per_instance != w->one_group_per_instance) {
            fail_msg("%s: %d %s is taken for something else", rows[i].row, rows[i].status,
                     rows[i].message);
        }
    }
}

UNIT_MAIN(l4_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(source_ranges__V56_to_V66),
        PURE_TEST(ports__V115_to_V118),
        PURE_TEST(ports_check__C2_A9__refused_before_anything_is_written),
        PURE_TEST(families__4_1),
        PURE_TEST(subnet__newer_key_hides_the_older),
        PURE_TEST(subnetwork_check__E4__access_and_stack),
        PURE_TEST(address_names__V75_to_V78__first_two_entries),
        PURE_TEST(locality__4_6_5_8),
        PURE_TEST(zonal_affinity__4_6),
        PURE_TEST(strong_affinity__V179_to_V185),
        PURE_TEST(tier__5_6__exact_words),
        PURE_TEST(finalizer_lost__V186_to_V188),
        PURE_TEST(error_of__V214_to_V220),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
