/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_desired.c: what balancers of ingress-gce's kinds should be; rows V119–V124, V145–V147,
 * V149, V223–V231 of gce-l4.md §11, Appendix A (A8, A9), Appendix C, and everything that is refused
 * before the first write. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/backend/gce_bs.h"
#include "tests/support/unit.h"

#define TCP2                                                                                       \
    "{\"name\":\"a\",\"protocol\":\"TCP\",\"port\":80},{\"name\":\"b\",\"protocol\":\"TCP\","      \
    "\"port\":443}"
#define UDP1     "{\"name\":\"c\",\"protocol\":\"UDP\",\"port\":53}"
#define PORTS(x) "\"ports\":[" x "]"
#define LOCAL    "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30000"
#define V6       "\"ipFamilies\":[\"IPv6\"]"
#define DUAL     "\"ipFamilies\":[\"IPv4\",\"IPv6\"]"

/* Everything that a case may say. */
struct ask {
    enum gce_kind kind;
    const char *annotations;
    const char *spec;
    struct gce_l4_flags flags;
    struct gce_bs_user_address user_v4;
    const struct gce_l4_log *log;
    struct gce_strs zones;
    const char *subnetwork; /* of the cluster; NULL: it has one */
};

static const struct gce_l4_flags all_on = {
    .dual_stack_ilb = true,
    .dual_stack_netlb = true,
    .mixed_ilb = true,
    .mixed_netlb = true,
    .pinhole = true,
};

static struct gce_l4_flags with_l3(void)
{
    struct gce_l4_flags f = all_on;
    f.l3_default = true;
    return f;
}

#define PROJECT "https://www.googleapis.com/compute/v1/projects/"

static int desired(struct arena *a, const struct ask *q, struct gce_bs_desired *ret,
                   struct err *err)
{
    static const char *const sources[] = {"130.211.0.0/22", "35.191.0.0/16", "209.85.152.0/22",
                                          "209.85.204.0/22"};
    static const char *const tags[] = {"node-a"};
    const struct gce_bs_facts facts = {
        .project = "p",
        .network_project = "host",
        .region = "r",
        .projects_base = PROJECT,
        .network = PROJECT "host/global/networks/n",
        .subnetwork =
            q->subnetwork != NULL ? q->subnetwork : PROJECT "host/regions/r/subnetworks/s",
        .kube_system_uid = "ksuid123",
        .cluster_id = "cid",
        .check_sources = gce_strs_of(a, sources, ARRAY_LEN(sources)),
        .check_sources_v6_ilb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_ILB),
        .check_sources_v6_netlb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_NETLB),
        .flags = q->flags,
    };
    const struct tt_service *s = test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"test-namespace\",\"name\":\"test-name\","
                        "\"uid\":\"1234567890\",\"annotations\":{%s}},\"spec\":{\"type\":"
                        "\"LoadBalancer\"%s%s}}",
                        str_nonnull(q->annotations), str_is_empty(q->spec) ? "" : ",",
                        str_nonnull(q->spec)));
    struct gce_bs_input in = {
        .service = s,
        .key = "test-namespace/test-name",
        .verb = TT_VERB_ENSURE,
        .kind = q->kind,
        .tags = str_set_make(a, tags, ARRAY_LEN(tags)),
        .tags_known = true,
        .user_v4 = q->user_v4,
        .user_v6 = {.name = "", .ip = "", .tier = ""},
        .subnetwork = "",
        .log = q->log,
        .zones = q->zones,
    };
    if (in.user_v4.ip == NULL) {
        in.user_v4 = (struct gce_bs_user_address){.name = "", .ip = "", .tier = ""};
    }
    return gce_bs_desired_make(a, &facts, &in, ret, err);
}

static void must(struct arena *a, const char *row, const struct ask *q, struct gce_bs_desired *ret)
{
    struct err err = ERR_INIT;
    if (desired(a, q, ret, &err) != ERR_OK) {
        fail_msg("%s: refused: %s", row, err.message);
    }
}

static const char *joined(struct arena *a, const struct gce_strs *s)
{
    return str_join(a, s->items, s->n, " ");
}

/* "name protocol ports" of each rule; nothing for a side that is not wanted. */
static const char *rules_text(struct arena *a, const struct gce_bs_side *side)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; side->wanted && i < side->n_rules; i++) {
        const struct gce_rule *r = &side->rules[i];
        const char *ports = r->all_ports                   ? "all"
                            : !str_is_empty(r->port_range) ? r->port_range
                                                           : joined(a, &r->ports);
        str_appendf(&b, "%s%s %s %s", i == 0 ? "" : "; ", r->name, r->protocol, ports);
    }
    return str_buf_to_arena(&b, a);
}

static const char *allowed_text(struct arena *a, const struct gce_firewall *f)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < f->allowed.n; i++) {
        str_appendf(&b, "%s%s:%s", i == 0 ? "" : "; ", f->allowed.items[i].protocol,
                    joined(a, &f->allowed.items[i].ports));
    }
    return str_buf_to_arena(&b, a);
}

/* The value of a status annotation; "-": it is to be dropped; NULL: it is not ours to touch. */
static const char *annotation(const struct gce_bs_desired *d, const char *key)
{
    for (size_t i = 0; i < d->n_annotations; i++) {
        if (str_eq(d->annotations[i].key + strlen(GCE_ANN_STATUS_PREFIX), key)) {
            return d->annotations[i].value == NULL ? "-" : d->annotations[i].value;
        }
    }
    return NULL;
}

/* ---- end states ------------------------------------------------------------------------------ */

#define H "axyqjz2d-test-namespace-test-name-yuvhdy7i"

static void desired__V223_to_V230__rules_backend_firewall(void **state)
{
    struct arena *a = *state;
    const struct {
        const char *row;
        enum gce_kind kind;
        const char *spec;
        bool l3;
        const char *v4, *v6, *key, *value, *service, *allowed;
    } rows[] = {
        {"V223", GCE_KIND_ILB_NEGS, PORTS(TCP2), false, "k8s2-tcp-" H " TCP 80 443", "",
         "tcp-forwarding-rule", "k8s2-tcp-" H, "TCP", "tcp:80 443"},
        {"V224", GCE_KIND_ILB_NEGS, PORTS(TCP2 "," UDP1), false, "k8s2-l3-" H " L3_DEFAULT all", "",
         "l3-forwarding-rule", "k8s2-l3-" H, "UNSPECIFIED", "udp:53; tcp:80 443"},
        {"V225", GCE_KIND_ILB_NEGS, PORTS(UDP1) "," V6, false, "", "k8s2-udp-" H "-ipv6 UDP 53",
         "udp-forwarding-rule-ipv6", "k8s2-udp-" H "-ipv6", "UDP", "udp:53"},
        {"V226", GCE_KIND_NETLB_GROUPS, PORTS(TCP2), false, "a1234567890 TCP 80-443", "",
         "tcp-forwarding-rule", "a1234567890", "TCP", "tcp:80 443"},
        {"V227", GCE_KIND_NETLB_GROUPS, PORTS(TCP2) "," V6, false, "",
         "a1234567890-ipv6 TCP 80-443", "tcp-forwarding-rule-ipv6", "a1234567890-ipv6", "TCP",
         "tcp:80 443"},
        {"V228", GCE_KIND_NETLB_NEGS, PORTS(TCP2 "," UDP1), false,
         "k8s2-tcp-" H " TCP 80 443; k8s2-udp-" H " UDP 53", "", "udp-forwarding-rule",
         "k8s2-udp-" H, "UNSPECIFIED", "udp:53; tcp:80 443"},
        {"V229", GCE_KIND_NETLB_NEGS, PORTS(TCP2 "," UDP1), true, "k8s2-l3-" H " L3_DEFAULT all",
         "", "l3-forwarding-rule", "k8s2-l3-" H, "UNSPECIFIED", "udp:53; tcp:80 443"},
        {"V230", GCE_KIND_NETLB_NEGS, PORTS(TCP2 "," UDP1) "," DUAL, true,
         "k8s2-l3-" H " L3_DEFAULT all", "k8s2-l3-" H "-ipv6 L3_DEFAULT all",
         "l3-forwarding-rule-ipv6", "k8s2-l3-" H "-ipv6", "UNSPECIFIED", "udp:53; tcp:80 443"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bs_desired d;
        const struct ask q = {
            .kind = rows[i].kind, .spec = rows[i].spec, .flags = rows[i].l3 ? with_l3() : all_on};
        must(a, rows[i].row, &q, &d);
        const struct gce_bs_side *side = d.v4.wanted ? &d.v4 : &d.v6;
        same_text(rows[i].row, rules_text(a, &d.v4), rows[i].v4);
        same_text(rows[i].row, rules_text(a, &d.v6), rows[i].v6);
        same_text(rows[i].row, d.service.protocol, rows[i].service);
        same_text(rows[i].row, allowed_text(a, &side->firewall), rows[i].allowed);
        same_text(rows[i].row, joined(a, &side->firewall.sources),
                  side->v6 ? "0::0/0" : "0.0.0.0/0");
        same_text(rows[i].row, annotation(&d, rows[i].key), rows[i].value);
        same_text(rows[i].row, annotation(&d, "backend-service"), "k8s2-" H);
        same_text(rows[i].row, annotation(&d, "firewall-rule-deny"), "-");
        assert_true(side->want_firewall);
    }
}

static void desired__V119_to_V122__ports_of_rules(void **state)
{
    struct arena *a = *state;
#define P(n) "{\"name\":\"p" n "\",\"protocol\":\"TCP\",\"port\":" n "}"
    const struct {
        const char *row;
        enum gce_kind kind;
        const char *annotations, *spec;
        bool discrete;
        const char *rules, *tier;
    } rows[] = {
        {"V119", GCE_KIND_NETLB_GROUPS, "", PORTS(P("8080")), false, "a1234567890 TCP 8080-8080",
         "PREMIUM"},
        {"V120", GCE_KIND_NETLB_GROUPS, "\"cloud.google.com/network-tier\":\"Standard\"",
         PORTS("{\"name\":\"a\",\"protocol\":\"UDP\",\"port\":8080},"
               "{\"name\":\"b\",\"protocol\":\"UDP\",\"port\":8085}"),
         false, "a1234567890 UDP 8080-8085", "STANDARD"},
        {"V121", GCE_KIND_NETLB_GROUPS, "", PORTS(P("8080") "," P("8082")), false,
         "a1234567890 TCP 8080-8082", "PREMIUM"},
        {"5.2, discrete", GCE_KIND_NETLB_GROUPS, "", PORTS(P("8080") "," P("8082")), true,
         "a1234567890 TCP 8080 8082", "PREMIUM"},
        {"5.2, too many", GCE_KIND_NETLB_GROUPS, "",
         PORTS(P("1") "," P("2") "," P("3") "," P("4") "," P("5") "," P("9")), true,
         "a1234567890 TCP 1-9", "PREMIUM"},
        {"V122", GCE_KIND_ILB_NEGS, "",
         PORTS(P("1") "," P("2") "," P("3") "," P("4") "," P("5") "," P("9")), false,
         "k8s2-tcp-" H " TCP all", "PREMIUM"},
        {"4.2, five", GCE_KIND_ILB_NEGS, "",
         PORTS(P("5") "," P("2") "," P("3") "," P("4") "," P("1")), false,
         "k8s2-tcp-" H " TCP 5 2 3 4 1", "PREMIUM"},
    };
#undef P
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bs_desired d;
        struct ask q = {.kind = rows[i].kind,
                        .annotations = rows[i].annotations,
                        .spec = rows[i].spec,
                        .flags = all_on};
        q.flags.discrete_ports = rows[i].discrete;
        must(a, rows[i].row, &q, &d);
        same_text(rows[i].row, rules_text(a, &d.v4), rows[i].rules);
        same_text(rows[i].row, d.v4.rules[0].tier, rows[i].tier);
        assert_int_equal(d.tier_is_set, *rows[i].annotations != '\0');
    }
}

/* Possible leftovers of an earlier form of the Service. */
static void desired__stale_rules__all_other_names(void **state)
{
    struct arena *a = *state;
    const struct {
        enum gce_kind kind;
        bool l3;
        const char *spec, *v4, *v6, *address;
    } rows[] = {
        {GCE_KIND_ILB_NEGS, false, PORTS(TCP2), "k8s2-udp-" H " k8s2-l3-" H,
         "k8s2-udp-" H "-ipv6 k8s2-l3-" H "-ipv6", "k8s2-tcp-" H},
        {GCE_KIND_NETLB_NEGS, false, PORTS(TCP2), "k8s2-tcp-" H " k8s2-udp-" H " k8s2-l3-" H,
         "k8s2-l3-" H "-ipv6", "a1234567890"},
        {GCE_KIND_NETLB_NEGS, false, PORTS(TCP2 "," UDP1), "a1234567890 k8s2-l3-" H,
         "k8s2-l3-" H "-ipv6", "a1234567890"},
        {GCE_KIND_NETLB_NEGS, true, PORTS(TCP2 "," UDP1), "a1234567890 k8s2-tcp-" H " k8s2-udp-" H,
         "a1234567890-ipv6", "a1234567890"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bs_desired d;
        const struct ask q = {
            .kind = rows[i].kind, .spec = rows[i].spec, .flags = rows[i].l3 ? with_l3() : all_on};
        must(a, rows[i].spec, &q, &d);
        same_text(rows[i].spec, joined(a, &d.v4.stale_rules), rows[i].v4);
        same_text(rows[i].spec, joined(a, &d.v6.stale_rules), rows[i].v6);
        same_text(rows[i].spec, d.v4.address_name, rows[i].address);
    }
}

/* ---- rules and firewalls with their address -------------------------------------------------- */

static const char *rule_json(struct arena *a, const struct gce_bs_desired *d,
                             const struct gce_rule *r, const char *ip)
{
    struct gce_rule full = gce_bs_rule_for(a, d, r, ip);
    _cleanup_(json_putp) struct json_object *o = gce_rule_body(&full);
    return json_text(a, o, JSON_SORTED);
}

static void rule_for__4_7_5_4__whole_bodies(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_ILB_NEGS,
                    .annotations =
                        "\"networking.gke.io/internal-load-balancer-allow-global-access\":\"true\"",
                    .spec = PORTS(TCP2) "," DUAL,
                    .flags = all_on};
    must(a, "4.7", &q, &d);
    same_text(
        "4.7, IPv4", rule_json(a, &d, &d.v4.rules[0], "10.0.0.9"),
        "{\"IPAddress\":\"10.0.0.9\",\"IPProtocol\":\"TCP\",\"allowGlobalAccess\":true,"
        "\"backendService\":\"" PROJECT "p/regions/r/backendServices/k8s2-" H "\",\"description\":"
        "\"{\\\"networking.gke.io/service-name\\\":\\\"test-namespace/test-name\\\","
        "\\\"networking.gke.io/api-version\\\":\\\"ga\\\",\\\"networking.gke.io/service-ip\\\":"
        "\\\"10.0.0.9\\\"}\",\"loadBalancingScheme\":\"INTERNAL\",\"name\":\"k8s2-tcp-" H "\","
        "\"network\":\"" PROJECT "host/global/networks/n\",\"networkTier\":\"PREMIUM\",\"ports\":["
        "\"80\",\"443\"],\"subnetwork\":\"" PROJECT "host/regions/r/subnetworks/s\"}");
    assert_false(gce_bs_rule_has_prefix(&d, &d.v6.rules[0]));
    assert_string_equal(gce_bs_rule_for(a, &d, &d.v6.rules[0], "fd20::1").ip, "fd20::1");
    q.kind = GCE_KIND_NETLB_NEGS;
    must(a, "5.4", &q, &d);
    assert_true(gce_bs_rule_has_prefix(&d, &d.v6.rules[0]));
    assert_false(gce_bs_rule_has_prefix(&d, &d.v4.rules[0]));
    same_text("5.4, IPv6", rule_json(a, &d, &d.v6.rules[0], "2600::"),
              "{\"IPAddress\":\"2600::/96\",\"IPProtocol\":\"TCP\",\"backendService\":\"" PROJECT
              "p/regions/r/backendServices/k8s2-" H "\",\"description\":"
              "\"{\\\"networking.gke.io/service-name\\\":\\\"test-namespace/test-name\\\"}\","
              "\"ipVersion\":\"IPV6\",\"loadBalancingScheme\":\"EXTERNAL\",\"name\":"
              "\"a1234567890-ipv6\",\"networkTier\":\"PREMIUM\",\"portRange\":\"80-443\","
              "\"subnetwork\":\"" PROJECT "host/regions/r/subnetworks/s\"}");
    /* External IPv4 rules name neither network nor subnetwork. */
    assert_string_equal(d.v4.rules[0].network, "");
    assert_string_equal(d.v4.rules[0].subnetwork, "");
    assert_string_equal(gce_bs_rule_for(a, &d, &d.v4.rules[0], "").ip, "");
}

static void firewall_for__4_8_5_7__destinations_and_priorities(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_NETLB_NEGS, .spec = PORTS(TCP2) "," DUAL, .flags = all_on};
    q.flags.deny_firewall = true;
    must(a, "5.7", &q, &d);
    assert_true(d.v4.want_deny && d.v6.want_deny);
    const struct {
        const char *row;
        const struct gce_firewall *f;
        const char *ip, *name, *destinations, *sources;
        int32_t priority;
    } rows[] = {
        {"allow", &d.v4.firewall, "1.2.3.4", "k8s2-" H, "1.2.3.4", "0.0.0.0/0", 999},
        {"allow, IPv6", &d.v6.firewall, "2600::", "k8s2-" H "-ipv6", "2600::", "0::0/0", 999},
        {"deny", &d.v4.deny, "1.2.3.4", "k8s2-" H "-deny", "1.2.3.4", "0.0.0.0/0", 1000},
        {"deny, IPv6", &d.v6.deny, "2600::", "k8s2-" H "-deny-ipv6", "2600::/96", "::/0", 1000},
        {"V231", &d.v4.check_firewall, "1.2.3.4", "k8s2-axyqjz2d-l4-shared-hc-fw", "",
         "130.211.0.0/22 35.191.0.0/16 209.85.152.0/22 209.85.204.0/22", 999},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_firewall f = gce_bs_firewall_for(a, &d, rows[i].f, rows[i].ip);
        same_text(rows[i].row, f.name, rows[i].name);
        same_text(rows[i].row, joined(a, &f.destinations), rows[i].destinations);
        same_text(rows[i].row, joined(a, &f.sources), rows[i].sources);
        same_text(rows[i].row, joined(a, &f.tags), "node-a");
        assert_int_equal(f.priority, rows[i].priority);
    }
    same_text("V231", allowed_text(a, &d.v4.check_firewall), "TCP:10256");
    same_text("5.7", annotation(&d, "firewall-rule-deny-ipv6"), "k8s2-" H "-deny-ipv6");
    q.flags.pinhole = false;
    q.flags.deny_firewall = false;
    must(a, "4.8", &q, &d);
    struct gce_firewall open = gce_bs_firewall_for(a, &d, &d.v4.firewall, "1.2.3.4");
    assert_int_equal(open.destinations.n, 0);
    assert_int_equal(open.priority, 1000);
}

/* C7: it also suppresses the deny firewall; that of the health check stays. */
static void disable_firewall__4_8__no_traffic_firewall(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_NETLB_NEGS, .spec = PORTS(TCP2), .flags = all_on};
    q.flags.disable_firewall = true;
    q.flags.deny_firewall = true;
    must(a, "C7", &q, &d);
    assert_false(d.v4.want_firewall);
    assert_false(d.v4.want_deny);
    assert_false(d.v4.nobody);
    same_text("4.8", annotation(&d, "firewall-rule"), "-");
    same_text("4.8", annotation(&d, "firewall-rule-for-hc"), d.v4.check_firewall.name);
}

/* ---- source ranges (A8) ---------------------------------------------------------------------- */

static void a_family_without_ranges__A8__lets_nobody_in(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *ranges;
        bool opens, v4, v6;
        const char *v4_sources, *v6_sources;
    } rows[] = {
        {"none given", "", false, true, true, "0.0.0.0/0", "0::0/0"},
        {"only IPv6", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\"],", false, false, true, "",
         "2001:db8::/32"},
        {"only IPv4", "\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"],", false, true, false,
         "10.0.0.0/8", ""},
        {"only IPv6, as upstream", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\"],", true, true,
         true, "0.0.0.0/0", "2001:db8::/32"},
        {"only IPv4, as upstream", "\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"],", true, true,
         true, "10.0.0.0/8", "0::0/0"},
    };
    static const enum gce_kind kinds[] = {GCE_KIND_ILB_NEGS, GCE_KIND_NETLB_GROUPS};
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(kinds); i++) {
        const size_t r = i / ARRAY_LEN(kinds);
        struct gce_bs_desired d;
        struct ask q = {.kind = kinds[i % ARRAY_LEN(kinds)],
                        .spec = arena_printf(a, "%s%s", rows[r].ranges, PORTS(TCP2) "," DUAL),
                        .flags = all_on};
        q.flags.empty_family_opens = rows[r].opens;
        must(a, rows[r].row, &q, &d);
        assert_int_equal(d.v4.want_firewall, rows[r].v4);
        assert_int_equal(d.v6.want_firewall, rows[r].v6);
        assert_int_equal(d.v4.nobody, !rows[r].v4);
        assert_int_equal(d.v6.nobody, !rows[r].v6);
        assert_int_equal(d.warn_family_dropped, !rows[r].v4 || !rows[r].v6);
        same_text(rows[r].row, joined(a, &d.v4.firewall.sources), rows[r].v4_sources);
        same_text(rows[r].row, joined(a, &d.v6.firewall.sources), rows[r].v6_sources);
        same_text(rows[r].row, annotation(&d, "firewall-rule"),
                  rows[r].v4 ? d.v4.firewall.name : "-");
        /* Balancers stay reachable for health checks. */
        assert_true(d.v4.check_firewall.sources.n > 0 && d.v6.check_firewall.sources.n > 0);
    }
}

/* A family that the Service does not have is not a loss. */
static void a_family_without_ranges__not_wanted__is_not_told(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    const struct ask q = {.kind = GCE_KIND_ILB_NEGS,
                          .spec = PORTS(TCP2) ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]",
                          .flags = all_on};
    must(a, "A8", &q, &d);
    assert_false(d.v6.nobody);
    assert_false(d.v6.wanted);
    assert_false(d.warn_family_dropped);
}

/* ---- health check ---------------------------------------------------------------------------- */

static void check__4_3__shared_and_local(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_ILB_NEGS, .spec = PORTS(TCP2) "," DUAL, .flags = all_on};
    must(a, "V123", &q, &d);
    assert_true(d.check_shared);
    assert_false(d.check_regional);
    assert_string_equal(d.check.name, "k8s2-axyqjz2d-l4-shared-hc");
    assert_int_equal(d.check.port, 10256);
    same_text("4.3", joined(a, &d.service.checks),
              PROJECT "p/global/healthChecks/k8s2-axyqjz2d-l4-shared-hc");
    same_text("V147", joined(a, &d.v6.check_firewall.sources),
              "2600:1901:8001::/48 2600:2d00:1:b029::/64");
    q.spec = PORTS(TCP2) "," DUAL "," LOCAL;
    must(a, "V124", &q, &d);
    assert_false(d.check_shared);
    assert_string_equal(d.check.name, "k8s2-" H);
    assert_int_equal(d.check.port, 30000);
    same_text("V146", joined(a, &d.v6.check_firewall.sources), "2600:2d00:1:b029::/64");
    same_text("2.3", d.v6.check_firewall.name, "k8s2-" H "-fw-ipv6");
    q.kind = GCE_KIND_NETLB_GROUPS;
    must(a, "V145", &q, &d);
    assert_true(d.check_regional);
    same_text("4.3", joined(a, &d.service.checks), PROJECT "p/regions/r/healthChecks/k8s2-" H);
    same_text("V145", joined(a, &d.v6.check_firewall.sources), "2600:1901:8001::/48");
    q.flags.deny_firewall = true;
    must(a, "V149", &q, &d);
    assert_int_equal(d.v4.check_firewall.priority, 999);
    q.kind = GCE_KIND_ILB_NEGS;
    q.flags.dual_stack_ilb = false;
    must(a, "5.7: external only", &q, &d);
    assert_false(d.v4.want_deny);
    assert_int_equal(d.v4.firewall.priority, 1000);
    assert_null(annotation(&d, "firewall-rule-ipv6")); /* §4.11: not ours to touch then */
}

/* ---- backend service ------------------------------------------------------------------------- */

static void service__4_6_5_5__members_by_kind_and_flags(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_ILB_NEGS,
                    .spec = PORTS(TCP2) ",\"trafficDistribution\":\"PreferClose\"",
                    .flags = all_on};
    q.flags.zonal_affinity = true;
    must(a, "4.6", &q, &d);
    assert_int_equal(d.service.draining_s, 30);
    assert_string_equal(d.service.scheme, "INTERNAL");
    assert_string_equal(d.service.spillover, "ZONAL_AFFINITY_SPILL_CROSS_ZONE");
    q.kind = GCE_KIND_NETLB_NEGS; /* 5.9 */
    must(a, "5.9", &q, &d);
    assert_string_equal(d.service.spillover, "ZONAL_AFFINITY_DISABLED");
    assert_string_equal(d.service.scheme, "EXTERNAL");
    q.spec = PORTS(UDP1);
    must(a, "4.6, UDP", &q, &d);
    assert_int_equal(d.service.draining_s, 0);
    assert_true(d.service.has_draining);
    q.annotations = "\"networking.gke.io/l4-strong-session-affinity\":\"enabled\"";
    q.spec =
        PORTS(UDP1) ",\"sessionAffinity\":\"ClientIP\",\"sessionAffinityConfig\":{\"clientIP\":"
                    "{\"timeoutSeconds\":600}}";
    q.flags.strong_affinity = true;
    must(a, "5.5", &q, &d);
    assert_true(d.strong_compared && d.service.has_tracking && d.service.strong);
    assert_int_equal(d.service.idle_s, 600);
    assert_string_equal(d.service.tracking_mode, "PER_SESSION");
    assert_string_equal(d.service.affinity, "CLIENT_IP");
    q.annotations = "";
    must(a, "5.5, annotation gone", &q, &d);
    assert_false(d.service.has_tracking);
    assert_true((d.service.owns & GCE_BS_OWNS_TRACKING) != 0);
}

static void service__4_12__logging_only_when_managed(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    const struct gce_l4_log log = {
        .enable = true, .rate = 0.5, .mode = "CUSTOM", .fields = gce_strs_one(a, "f")};
    struct ask q = {.kind = GCE_KIND_ILB_NEGS, .spec = PORTS(TCP2), .flags = all_on, .log = &log};
    must(a, "flag off", &q, &d);
    assert_false(d.log_managed || d.service.has_log);
    q.flags.logging = true;
    must(a, "managed", &q, &d);
    assert_true(d.log_managed && d.service.has_log && d.service.log_enable);
    assert_string_equal(d.service.log_mode, "CUSTOM");
    same_text("4.12", joined(a, &d.service.log_fields), "f");
    q.log = NULL;
    must(a, "unmanaged", &q, &d);
    assert_false(d.log_managed || d.service.has_log);
    assert_int_equal(d.service.owns & GCE_BS_OWNS_LOG, 0);
}

static void backends__4_9_8_3(void **state)
{
    struct arena *a = *state;
    static const char *const zones[] = {"z-b", "z-a"};
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_NETLB_NEGS,
                    .spec = PORTS(TCP2),
                    .flags = all_on,
                    .zones = gce_strs_of(a, zones, 2)};
    must(a, "4.9", &q, &d);
    same_text("4.9", joined(a, &d.groups),
              PROJECT "p/zones/z-a/networkEndpointGroups/k8s2-" H " " PROJECT
                      "p/zones/z-b/networkEndpointGroups/k8s2-" H);
    assert_string_equal(d.mode, "CONNECTION");
    assert_false(d.unlink);
    q.kind = GCE_KIND_NETLB_GROUPS;
    must(a, "8.3", &q, &d);
    same_text("8.3", joined(a, &d.groups),
              PROJECT "p/zones/z-a/instanceGroups/k8s-ig--cid " PROJECT
                      "p/zones/z-b/instanceGroups/k8s-ig--cid");
    assert_string_equal(d.mode, "");
    assert_true(d.unlink);
}

/* ---- subnetwork ------------------------------------------------------------------------------ */

static void subnetwork__4_13__annotation_cluster_or_none(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_ILB_NEGS,
                    .annotations = "\"networking.gke.io/load-balancer-subnet\":\"other\"",
                    .spec = PORTS(TCP2) "," DUAL,
                    .flags = all_on};
    must(a, "4.13", &q, &d);
    same_text("4.13", d.v4.rules[0].subnetwork, PROJECT "host/regions/r/subnetworks/other");
    same_text("4.13", d.v6.rules[0].subnetwork, PROJECT "host/regions/r/subnetworks/other");
    assert_false(d.warn_options);
    q.subnetwork = "";
    must(a, "4.13, legacy network", &q, &d);
    same_text("4.13", d.v4.rules[0].subnetwork, "");
    assert_true(d.warn_options);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refused__before_the_first_write(void **state)
{
    struct arena *a = *state;
#define RANGES "\"service.beta.kubernetes.io/load-balancer-source-ranges\":"
    const struct {
        const char *row;
        enum gce_kind kind;
        const char *annotations, *spec, *says;
    } rows[] = {
        {"no ports", GCE_KIND_ILB_NEGS, "", "", "no ports"},
        {"SCTP", GCE_KIND_ILB_NEGS, "", PORTS("{\"name\":\"a\",\"protocol\":\"SCTP\",\"port\":80}"),
         "protocol SCTP"},
        {"SCTP", GCE_KIND_NETLB_GROUPS, "",
         PORTS("{\"name\":\"a\",\"protocol\":\"SCTP\",\"port\":80}"), "protocol SCTP"},
        {"V61", GCE_KIND_NETLB_NEGS, "", PORTS(TCP2) ",\"loadBalancerSourceRanges\":[\"1.0.1.2\"]",
         "spec.loadBalancerSourceRanges: \"1.0.1.2\""},
        {"V62", GCE_KIND_ILB_NEGS, RANGES "\"1.2.3.4 1.2.3.4\"", PORTS(TCP2),
         "load-balancer-source-ranges"},
        {"mapped", GCE_KIND_ILB_NEGS, RANGES "\"::ffff:1.2.3.4/96\"", PORTS(TCP2),
         "::ffff:1.2.3.4/96"},
        {"5.4", GCE_KIND_NETLB_NEGS, "\"cloud.google.com/network-tier\":\"Standard\"",
         PORTS(TCP2) "," DUAL, "Network tier Standard is not supported for IPv6"},
        {"A9", GCE_KIND_NETLB_NEGS, "", PORTS(TCP2 "," UDP1) "," DUAL, "L3 forwarding rules"},
        {"V180", GCE_KIND_NETLB_NEGS,
         "\"networking.gke.io/l4-strong-session-affinity\":\"enabled\"", PORTS(TCP2),
         "strong session affinity"},
        {"no node port", GCE_KIND_ILB_NEGS, "", PORTS(TCP2) ",\"externalTrafficPolicy\":\"Local\"",
         "spec.healthCheckNodePort"},
    };
#undef RANGES
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bs_desired d;
        struct err err = ERR_INIT;
        const struct ask q = {.kind = rows[i].kind,
                              .annotations = rows[i].annotations,
                              .spec = rows[i].spec,
                              .flags = all_on};
        int rc = desired(a, &q, &d, &err);
        same_text(rows[i].row, err_code_name(rc), "invalid");
        if (strstr(err.message, rows[i].says) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].row, err.message, rows[i].says);
        }
    }
}

static void refused__mixed_ports_without_the_flag(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_ILB_NEGS, .spec = PORTS(TCP2 "," UDP1)};
    assert_int_equal(desired(a, &q, &d, NULL), ERR_INVALID);
    q.flags.mixed_ilb = true;
    assert_int_equal(desired(a, &q, &d, NULL), ERR_OK);
    q.kind = GCE_KIND_NETLB_NEGS;
    assert_int_equal(desired(a, &q, &d, NULL), ERR_INVALID);
}

static void refused__reserved_address_of_another_tier(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct err err = ERR_INIT;
    struct ask q = {
        .kind = GCE_KIND_NETLB_NEGS,
        .spec = PORTS(TCP2),
        .flags = all_on,
        .user_v4 = {.name = "mine", .ip = "1.2.3.4", .tier = "STANDARD", .reserved = true}};
    assert_int_equal(desired(a, &q, &d, &err), ERR_INVALID);
    assert_string_equal(
        err.message,
        "Network tier mismatch for resource mine, desired: PREMIUM, received: STANDARD");
    q.kind = GCE_KIND_ILB_NEGS; /* internal addresses have no tier of their own */
    assert_int_equal(desired(a, &q, &d, NULL), ERR_OK);
}

static void collection__5_1__IPv6_only_and_without_subnetwork(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    struct ask q = {.kind = GCE_KIND_NETLB_NEGS,
                    .annotations = "\"networking.gke.io/ip-collection-v6\":\"coll\"",
                    .spec = PORTS(TCP2) "," V6,
                    .flags = all_on};
    must(a, "flag off", &q, &d);
    assert_string_equal(d.v6.rules[0].ip_collection, "");
    q.flags.byo_ipv6 = true;
    must(a, "5.4", &q, &d);
    assert_string_equal(d.v6.rules[0].ip_collection, "coll");
    assert_string_equal(d.v6.rules[0].subnetwork, "");
    q.spec = PORTS(TCP2) "," DUAL;
    assert_int_equal(desired(a, &q, &d, NULL), ERR_INVALID);
    q.spec = PORTS(TCP2) "," V6;
    q.annotations = "\"networking.gke.io/ip-collection-v6\":\"coll\","
                    "\"networking.gke.io/load-balancer-subnet\":\"other\"";
    assert_int_equal(desired(a, &q, &d, NULL), ERR_INVALID);
    assert_false(d.warn_collection);
    q.kind = GCE_KIND_ILB_NEGS;
    must(a, "4.1 E3", &q, &d);
    assert_true(d.warn_collection);
}

UNIT_MAIN(l4_desired)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(desired__V223_to_V230__rules_backend_firewall),
        PURE_TEST(desired__V119_to_V122__ports_of_rules),
        PURE_TEST(desired__stale_rules__all_other_names),
        PURE_TEST(rule_for__4_7_5_4__whole_bodies),
        PURE_TEST(firewall_for__4_8_5_7__destinations_and_priorities),
        PURE_TEST(disable_firewall__4_8__no_traffic_firewall),
        PURE_TEST(a_family_without_ranges__A8__lets_nobody_in),
        PURE_TEST(a_family_without_ranges__not_wanted__is_not_told),
        PURE_TEST(check__4_3__shared_and_local),
        PURE_TEST(service__4_6_5_5__members_by_kind_and_flags),
        PURE_TEST(service__4_12__logging_only_when_managed),
        PURE_TEST(backends__4_9_8_3),
        PURE_TEST(subnetwork__4_13__annotation_cluster_or_none),
        PURE_TEST(refused__before_the_first_write),
        PURE_TEST(refused__mixed_ports_without_the_flag),
        PURE_TEST(refused__reserved_address_of_another_tier),
        PURE_TEST(collection__5_1__IPv6_only_and_without_subnetwork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
