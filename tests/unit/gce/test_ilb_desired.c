/* SPDX-License-Identifier: Apache-2.0 */
/* test_ilb_desired.c: internal balancers on instance groups, as cloud-provider-gcp makes them:
 * names N6–N10, N12, N13 of gce-cloud-provider.md §9.1 and what they should be, §5.1–§5.8. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/model/gce_ilb_names.h"
#include "tests/support/unit.h"

#define PROJECT  "https://www.googleapis.com/compute/v1/projects/"
#define TCP(n)   "{\"name\":\"p" n "\",\"protocol\":\"TCP\",\"port\":" n "}"
#define UDP(n)   "{\"name\":\"u" n "\",\"protocol\":\"UDP\",\"port\":" n "}"
#define PORTS(x) "\"ports\":[" x "]"
#define LOCAL    "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":30000"
#define SHARE    "\"cloud.google.com/load-balancer-backend-share\":\"true\""

static const struct tt_service *service(struct arena *a, const char *annotations, const char *spec)
{
    return test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"d\",\"name\":\"s\",\"uid\":\"u-1\","
                        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\"%s%s}}",
                        annotations, *spec == '\0' ? "" : ",", spec));
}

static void names__N6_to_N10_N12_N13(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *cid, *annotations, *spec, *backend, *description, *check, *check_firewall,
            *group;
    } rows[] = {
        {"N6, N12", "test-cluster-id", "", PORTS(TCP("80")), "au1",
         "{\"kubernetes.io/service-name\":\"d/s\"}", "k8s-test-cluster-id-node",
         "k8s-test-cluster-id-node-hc", "k8s-ig--test-cluster-id"},
        {"N7", "", "", PORTS(TCP("80")), "au1", "{\"kubernetes.io/service-name\":\"d/s\"}",
         "k8s--node", "k8s--node-hc", "k8s-ig"},
        {"N8", "0123456789abcdef", SHARE, PORTS(TCP("80")) ",\"sessionAffinity\":\"None\"",
         "k8s-0123456789abcdef-internal-tcp-nmv1-6eef6648406c333a", "", "k8s-0123456789abcdef-node",
         "k8s-0123456789abcdef-node-hc", "k8s-ig--0123456789abcdef"},
        {"N9", "0123456789abcdef", SHARE, PORTS(UDP("80")) ",\"sessionAffinity\":\"ClientIP\"",
         "k8s-0123456789abcdef-internal-udp-nmv1-1668fd70f588116e", "", "k8s-0123456789abcdef-node",
         "k8s-0123456789abcdef-node-hc", "k8s-ig--0123456789abcdef"},
        {"5.1, no affinity", "c", SHARE, PORTS(TCP("80")),
         "k8s-c-internal-tcp-nmv1-da39a3ee5e6b4b0d", "", "k8s-c-node", "k8s-c-node-hc",
         "k8s-ig--c"},
        {"5.3, no ports", "c", SHARE, "", "k8s-c-internal-udp-nmv1-da39a3ee5e6b4b0d", "",
         "k8s-c-node", "k8s-c-node-hc", "k8s-ig--c"},
        {"N10, N13", "c", SHARE, PORTS(TCP("80")) "," LOCAL, "au1",
         "{\"kubernetes.io/service-name\":\"d/s\"}", "au1", "au1-hc", "k8s-ig--c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_ilb_names n;
        gce_ilb_names_make(a, service(a, rows[i].annotations, rows[i].spec), rows[i].cid, &n);
        same_text(rows[i].row, n.lb, "au1");
        same_text(rows[i].row, n.firewall, "k8s-fw-au1");
        same_text(rows[i].row, n.legacy_firewall, "au1");
        same_text(rows[i].row, n.backend, rows[i].backend);
        same_text(rows[i].row, n.backend_description, rows[i].description);
        same_text(rows[i].row, n.check, rows[i].check);
        same_text(rows[i].row, n.check_firewall, rows[i].check_firewall);
        same_text(rows[i].row, n.group, rows[i].group);
        /* Both variants are known whatever the spec says now. */
        same_text(rows[i].row, n.local_check_firewall, "au1-hc");
        assert_true(strstr(n.shared_backend, "-internal-") != NULL);
    }
}

static int desired(struct arena *a, const char *annotations, const char *spec,
                   const char *subnetwork, struct gce_bs_desired *ret, struct err *err)
{
    static const char *const sources[] = {"130.211.0.0/22", "35.191.0.0/16"};
    static const char *const tags[] = {"node-a"};
    static const char *const zones[] = {"z-b", "z-a"};
    const struct gce_bs_facts facts = {
        .project = "p",
        .network_project = "host",
        .region = "r",
        .projects_base = PROJECT,
        .network = PROJECT "host/global/networks/n",
        .subnetwork = subnetwork,
        .kube_system_uid = "",
        .cluster_id = "cid",
        .check_sources = gce_strs_of(a, sources, 2),
    };
    const struct gce_bs_input in = {
        .service = service(a, annotations, spec),
        .key = "d/s",
        .verb = TT_VERB_ENSURE,
        .kind = GCE_KIND_ILB_GROUPS,
        .tags = str_set_make(a, tags, 1),
        .tags_known = true,
        .user_v4 = {.name = "", .ip = "", .tier = ""},
        .user_v6 = {.name = "", .ip = "", .tier = ""},
        /* The annotation networking.gke.io/load-balancer-subnet has no effect on this kind
         * (§6.1). */
        .subnetwork = PROJECT "host/regions/r/subnetworks/of-the-newer-key",
        .zones = gce_strs_of(a, zones, 2),
    };
    return gce_bs_desired_make(a, &facts, &in, ret, err);
}

#define SUBNET PROJECT "host/regions/r/subnetworks/s"

static const char *body(struct arena *a, struct json_object *o)
{
    const char *text = json_text(a, o, JSON_SORTED);
    json_object_put(o);
    return text;
}

static void desired__5_4_to_5_8__whole_bodies(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    assert_int_equal(
        desired(a, "", PORTS(TCP("443") "," TCP("80") "," TCP("81")), SUBNET, &d, NULL), ERR_OK);
    struct gce_rule rule = gce_bs_rule_for(a, &d, &d.v4.rules[0], "10.0.0.9");
    same_text("5.6", body(a, gce_rule_body(&rule)),
              "{\"IPAddress\":\"10.0.0.9\",\"IPProtocol\":\"TCP\",\"backendService\":\"" PROJECT
              "p/regions/r/backendServices/au1\",\"description\":"
              "\"{\\\"kubernetes.io/service-name\\\":\\\"d/s\\\"}\",\"loadBalancingScheme\":"
              "\"INTERNAL\",\"name\":\"au1\",\"network\":\"" PROJECT
              "host/global/networks/n\",\"ports\":[\"443\",\"80\",\"81\"],\"subnetwork\":\"" SUBNET
              "\"}");
    same_text("5.5", body(a, gce_bservice_body(&d.service, NULL)),
              "{\"description\":\"{\\\"kubernetes.io/service-name\\\":\\\"d/s\\\"}\","
              "\"healthChecks\":[\"" PROJECT "p/global/healthChecks/k8s-cid-node\"],"
              "\"loadBalancingScheme\":\"INTERNAL\",\"name\":\"au1\",\"protocol\":\"TCP\","
              "\"sessionAffinity\":\"NONE\"}");
    same_text("5.5", body(a, gce_hc_body(&d.check)),
              "{\"checkIntervalSec\":8,\"healthyThreshold\":1,\"httpHealthCheck\":{\"port\":10256,"
              "\"requestPath\":\"/healthz\"},\"name\":\"k8s-cid-node\",\"timeoutSec\":1,\"type\":"
              "\"HTTP\",\"unhealthyThreshold\":3}");
    struct gce_firewall f = gce_bs_firewall_for(a, &d, &d.v4.firewall, "10.0.0.9");
    same_text("5.8", body(a, gce_firewall_body(&f, false)),
              "{\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"80-81\",\"443\"]}],"
              "\"description\":\"{\\\"kubernetes.io/service-name\\\":\\\"d/s\\\", "
              "\\\"kubernetes.io/service-ip\\\":\\\"10.0.0.9\\\"}\",\"destinationRanges\":["
              "\"10.0.0.9\"],\"name\":\"k8s-fw-au1\",\"network\":\"" PROJECT
              "host/global/networks/n\",\"sourceRanges\":[\"0.0.0.0/0\"],\"targetTags\":["
              "\"node-a\"]}");
    struct gce_firewall check = gce_bs_firewall_for(a, &d, &d.v4.check_firewall, "10.0.0.9");
    same_text(
        "5.8", body(a, gce_firewall_body(&check, false)),
        "{\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"10256\"]}],\"name\":"
        "\"k8s-cid-node-hc\",\"network\":\"" PROJECT "host/global/networks/n\","
        "\"sourceRanges\":[\"130.211.0.0/22\",\"35.191.0.0/16\"],\"targetTags\":[\"node-a\"]}");
    same_text("5.4", str_join(a, d.groups.items, d.groups.n, " "),
              PROJECT "p/zones/z-a/instanceGroups/k8s-ig--cid " PROJECT
                      "p/zones/z-b/instanceGroups/k8s-ig--cid");
    assert_string_equal(d.mode, "CONNECTION"); /* §15 row 20 */
    assert_true(d.legacy && d.internal && d.unlink && !d.v6.wanted);
    assert_int_equal(d.n_annotations, 0);
    assert_string_equal(d.v4.address_name, "au1");
}

static void desired__local__own_check_at_the_node_port(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    assert_int_equal(desired(a, SHARE, PORTS(UDP("53")) "," LOCAL, SUBNET, &d, NULL), ERR_OK);
    assert_string_equal(d.check.name, "au1");
    assert_int_equal(d.check.port, 30000);
    assert_string_equal(d.check.description, "{\"kubernetes.io/service-name\":\"d/s\"}");
    assert_string_equal(d.v4.check_firewall.name, "au1-hc");
    assert_string_equal(d.service.protocol, "UDP");
    assert_false(d.check_shared);
}

static void desired__six_ports__all_ports(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    const char *six =
        PORTS(TCP("1") "," TCP("2") "," TCP("3") "," TCP("4") "," TCP("5") "," TCP("9"));
    assert_int_equal(desired(a, "", six, SUBNET, &d, NULL), ERR_OK);
    assert_true(d.v4.rules[0].all_ports);
    assert_int_equal(d.v4.rules[0].ports.n, 0);
    same_text("5.6: the firewall lists them",
              str_join(a, d.v4.firewall.allowed.items[0].ports.items,
                       d.v4.firewall.allowed.items[0].ports.n, " "),
              "1-5 9");
}

#define ACCESS "\"networking.gke.io/internal-load-balancer-allow-global-access\":\"true\""

static void desired__options__count_only_with_subnetworks(void **state)
{
    struct arena *a = *state;
    struct gce_bs_desired d;
    const char *both = ACCESS ",\"networking.gke.io/internal-load-balancer-subnet\":\"other\"";
    assert_int_equal(desired(a, both, PORTS(TCP("80")), SUBNET, &d, NULL), ERR_OK);
    assert_true(d.v4.rules[0].global_access);
    assert_string_equal(d.v4.rules[0].subnetwork, PROJECT "host/regions/r/subnetworks/other");
    assert_false(d.warn_options);
    assert_int_equal(desired(a, both, PORTS(TCP("80")), "", &d, NULL), ERR_OK);
    assert_false(d.v4.rules[0].global_access);
    assert_string_equal(d.v4.rules[0].subnetwork, "");
    assert_true(d.warn_options);
    assert_int_equal(desired(a, "", PORTS(TCP("80")), "", &d, NULL), ERR_OK);
    assert_false(d.warn_options); /* upstream warns at every sync */
}

static void refused__before_the_first_write(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *spec, *says;
    } rows[] = {
        {PORTS(TCP("80") "," UDP("53")), "mixed protocol is not supported for LoadBalancer"},
        {PORTS("{\"name\":\"a\",\"protocol\":\"SCTP\",\"port\":80}"),
         "Invalid protocol SCTP, only TCP and UDP are supported"},
        {"", "no ports specified for GCE load balancer"},
        {PORTS(TCP("80")) ",\"externalTrafficPolicy\":\"Local\"",
         "spec.healthCheckNodePort is not set: with externalTrafficPolicy Local nodes are asked "
         "there whether they have endpoints"},
        {PORTS(TCP("80")) ",\"loadBalancerSourceRanges\":[\"Bad\"]",
         "service.Spec.LoadBalancerSourceRanges: [Bad] is not valid. Expecting a list of IP "
         "ranges. "
         "For example, 10.0.0.0/24. Error msg: invalid CIDR address: Bad"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bs_desired d;
        struct err err = ERR_INIT;
        assert_int_equal(desired(a, "", rows[i].spec, SUBNET, &d, &err), ERR_INVALID);
        same_text(rows[i].spec, err.message, rows[i].says);
    }
}

UNIT_MAIN(ilb_desired)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(names__N6_to_N10_N12_N13),
        PURE_TEST(desired__5_4_to_5_8__whole_bodies),
        PURE_TEST(desired__local__own_check_at_the_node_port),
        PURE_TEST(desired__six_ports__all_ports),
        PURE_TEST(desired__options__count_only_with_subnetworks),
        PURE_TEST(refused__before_the_first_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
