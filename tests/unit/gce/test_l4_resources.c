/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_resources.c: wire forms of balancers with a backend service: what is read comes back, and
 * a PUT of a backend service keeps what it does not own (gce-l4.md §4.6, §9.2, §9.5 rule 6). */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_l4_resources.h"
#include "tests/support/gce_decode.h"
#include "tests/support/unit.h"

#define GROUP(z)                                                                                   \
    "https://www.googleapis.com/compute/v1/projects/p/zones/" z "/networkEndpointGroups/n"

static const char *text_of(struct arena *a, struct json_object *o)
{
    const char *text = json_text(a, o, JSON_SORTED);
    json_object_put(o);
    return text;
}

static const char read_service[] =
    "{\"backends\":[{\"balancingMode\":\"CONNECTION\",\"description\":\"by "
    "hand\",\"group\":\"" GROUP(
        "a") "\"}],"
             "\"connectionDraining\":{\"drainingTimeoutSec\":120},"
             "\"connectionTrackingPolicy\":{\"connectionPersistenceOnUnhealthyBackends\":\"NEVER_"
             "PERSIST\","
             "\"trackingMode\":\"PER_CONNECTION\"},"
             "\"customThing\":{\"x\":1},\"description\":\"d\",\"fingerprint\":\"abc=\","
             "\"healthChecks\":[\"hc\"],\"id\":\"42\",\"loadBalancingScheme\":\"INTERNAL\","
             "\"localityLbPolicy\":\"MAGLEV\",\"logConfig\":{\"enable\":true,\"sampleRate\":0.5},"
             "\"name\":\"b\",\"network\":\"net\","
             "\"networkPassThroughLbTrafficPolicy\":{\"zonalAffinity\":{\"spillover\":"
             "\"ZONAL_AFFINITY_DISABLED\"}},\"protocol\":\"TCP\",\"sessionAffinity\":\"NONE\"}";

static struct gce_bservice read_one(struct arena *a)
{
    struct gce_bservice b;
    assert_int_equal(gce_bservice_decode(a, pure_json(a, read_service), &b, NULL), ERR_OK);
    return b;
}

static void bservice_decode__every_member(void **state)
{
    struct arena *a = *state;
    struct gce_bservice b = read_one(a);
    assert_string_equal(b.name, "b");
    assert_string_equal(b.fingerprint, "abc=");
    assert_string_equal(b.locality, "MAGLEV");
    assert_string_equal(b.network, "net");
    assert_int_equal(b.n_backends, 1);
    assert_string_equal(b.backends[0].group, GROUP("a"));
    assert_string_equal(b.backends[0].mode, "CONNECTION");
    assert_true(b.has_draining && b.has_tracking && b.has_log && b.has_zonal);
    assert_int_equal(b.draining_s, 120);
    assert_string_equal(b.tracking_mode, "PER_CONNECTION");
    assert_string_equal(b.spillover, "ZONAL_AFFINITY_DISABLED");
    assert_true(b.log_enable && b.log_rate > 0.49 && b.log_rate < 0.51);
}

static void bservice_decode__nothing__no_null(void **state)
{
    struct arena *a = *state;
    struct gce_bservice b;
    assert_int_equal(gce_bservice_decode(a, pure_json(a, "{\"backends\":[{}]}"), &b, NULL), ERR_OK);
    const char *const texts[] = {b.name,
                                 b.description,
                                 b.protocol,
                                 b.scheme,
                                 b.affinity,
                                 b.network,
                                 b.locality,
                                 b.fingerprint,
                                 b.link,
                                 b.tracking_mode,
                                 b.log_mode,
                                 b.spillover,
                                 b.backends[0].group,
                                 b.backends[0].mode};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_non_null(texts[i]);
    }
    assert_false(b.has_draining || b.has_tracking || b.has_log || b.has_zonal);
}

static void decode__another_type__is_transient(void **state)
{
    struct arena *a = *state;
    struct gce_bservice b;
    struct gce_hc c;
    struct err err = ERR_INIT;
    assert_int_equal(gce_bservice_decode(a, pure_json(a, "{\"backends\":7}"), &b, &err),
                     ERR_TRANSIENT);
    assert_int_equal(err.code, ERR_TRANSIENT);
    assert_true(str_has_prefix(err.message, "backend service.backends"));
    assert_int_equal(
        gce_hc_decode(a, pure_json(a, "{\"httpHealthCheck\":{\"port\":\"x\"}}"), &c, NULL),
        ERR_TRANSIENT);
}

/* Desired state of ingress-gce's kinds: all their members. */
static struct gce_bservice wanted(struct arena *a)
{
    return (struct gce_bservice){
        .name = "b",
        .description = "d2",
        .protocol = "TCP",
        .scheme = "INTERNAL",
        .affinity = "CLIENT_IP",
        .network = "",
        .locality = "",
        .checks = gce_strs_one(a, "hc2"),
        .draining_s = 30,
        .has_draining = true,
        .has_zonal = true,
        .spillover = "ZONAL_AFFINITY_SPILL_CROSS_ZONE",
        .owns = GCE_BS_OWNS_NETWORK | GCE_BS_OWNS_LOCALITY,
    };
}

static void bservice_body__insert(void **state)
{
    struct arena *a = *state;
    struct gce_bservice w = wanted(a);
    w.protocol = "UDP";
    w.draining_s = 0;
    same_text("9.2: zero values are left out", text_of(a, gce_bservice_body(&w, NULL)),
              "{\"connectionDraining\":{},\"description\":\"d2\",\"healthChecks\":[\"hc2\"],"
              "\"loadBalancingScheme\":\"INTERNAL\",\"name\":\"b\","
              "\"networkPassThroughLbTrafficPolicy\":{\"zonalAffinity\":{\"spillover\":"
              "\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\"}},\"protocol\":\"UDP\",\"sessionAffinity\":"
              "\"CLIENT_IP\"}");
}

static void bservice_body__put__keeps_what_is_not_ours(void **state)
{
    struct arena *a = *state;
    struct gce_bservice is = read_one(a);
    struct gce_bservice w = wanted(a);
    same_text(
        "9.5", text_of(a, gce_bservice_body(&w, &is)),
        "{\"backends\":[{\"balancingMode\":\"CONNECTION\",\"description\":\"by hand\","
        "\"group\":\"" GROUP(
            "a") "\"}],\"connectionDraining\":{\"drainingTimeoutSec\":120},"
                 "\"connectionTrackingPolicy\":{\"connectionPersistenceOnUnhealthyBackends\":"
                 "\"NEVER_PERSIST\",\"trackingMode\":\"PER_CONNECTION\"},\"customThing\":{\"x\":1},"
                 "\"description\":\"d2\",\"fingerprint\":\"abc=\",\"healthChecks\":[\"hc2\"],"
                 "\"id\":\"42\",\"loadBalancingScheme\":\"INTERNAL\",\"localityLbPolicy\":"
                 "\"MAGLEV\","
                 "\"logConfig\":{\"enable\":true,\"sampleRate\":0.5},\"name\":\"b\","
                 "\"networkPassThroughLbTrafficPolicy\":{\"zonalAffinity\":{\"spillover\":"
                 "\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\"}},\"protocol\":\"TCP\",\"sessionAffinity\":"
                 "\"CLIENT_IP\"}");
    /* The read document is unchanged. */
    same_text("untouched", json_text(a, is.raw, JSON_SORTED),
              json_text(a, pure_json(a, read_service), JSON_SORTED));
}

static void bservice_body__put__a_newer_api_version_stays(void **state)
{
    struct arena *a = *state;
    static const char beta[] = "{\"networking.gke.io/service-name\":\"d/s\","
                               "\"networking.gke.io/api-version\":\"beta\"}";
    struct gce_bservice is;
    struct gce_bservice w = wanted(a);
    _cleanup_(json_putp) struct json_object *read = json_object_new_object();
    json_add_str(read, "description", beta);
    assert_int_equal(gce_bservice_decode(a, read, &is, NULL), ERR_OK);
    w.description = "{\"networking.gke.io/service-name\":\"d/s\","
                    "\"networking.gke.io/api-version\":\"ga\"}";
    _cleanup_(json_putp) struct json_object *o = gce_bservice_body(&w, &is);
    same_text("2.6", json_str(o, "description"), beta);
}

static void bservice_body__put__clears_what_is_ours(void **state)
{
    struct arena *a = *state;
    struct gce_bservice is = read_one(a);
    struct gce_bservice w = wanted(a);
    w.owns |= GCE_BS_OWNS_TRACKING | GCE_BS_OWNS_LOG;
    w.protocol = "UDP"; /* the user's time belongs to TCP */
    w.draining_s = 0;
    w.locality = "WEIGHTED_GCP_RENDEZVOUS";
    _cleanup_(json_putp) struct json_object *o = gce_bservice_body(&w, &is);
    assert_null(json_member(o, "connectionTrackingPolicy"));
    assert_null(json_member(o, "logConfig"));
    assert_null(json_member(o, "network"));
    assert_int_equal(json_int(json_member(o, "connectionDraining"), "drainingTimeoutSec", 0), 0);
    assert_string_equal(json_str(o, "localityLbPolicy"), "WEIGHTED_GCP_RENDEZVOUS");
}

static void bservice_body__strong_affinity__beside_what_is_there(void **state)
{
    struct arena *a = *state;
    struct gce_bservice is = read_one(a);
    struct gce_bservice w = wanted(a);
    w.has_tracking = true;
    w.strong = true;
    w.tracking_mode = "PER_SESSION";
    w.idle_s = 600;
    _cleanup_(json_putp) struct json_object *o = gce_bservice_body(&w, &is);
    same_text("5.5", json_text(a, json_member(o, "connectionTrackingPolicy"), JSON_SORTED),
              "{\"connectionPersistenceOnUnhealthyBackends\":\"NEVER_PERSIST\","
              "\"enableStrongAffinity\":true,\"idleTimeoutSec\":600,\"trackingMode\":"
              "\"PER_SESSION\"}");
}

static void bservice_body__logging__off_is_written(void **state)
{
    struct arena *a = *state;
    struct gce_bservice w = wanted(a);
    w.has_log = true;
    _cleanup_(json_putp) struct json_object *off = gce_bservice_body(&w, NULL);
    same_text("9.2", json_text(a, json_member(off, "logConfig"), JSON_SORTED),
              "{\"enable\":false}");
    w.log_enable = true;
    w.log_rate = 0;
    w.log_mode = "CUSTOM";
    w.log_fields = gce_strs_one(a, "f");
    _cleanup_(json_putp) struct json_object *on = gce_bservice_body(&w, NULL);
    struct json_object *log = json_member(on, "logConfig");
    assert_non_null(json_member(log, "sampleRate")); /* also 0 */
    assert_string_equal(json_str(log, "optionalMode"), "CUSTOM");
    assert_int_equal(json_len(json_member(log, "optionalFields")), 1);
}

static void backends_body__those_that_stay__keep_what_they_have(void **state)
{
    struct arena *a = *state;
    struct gce_bservice is = read_one(a);
    const struct gce_backend backends[] = {
        {.group = "https://compute.googleapis.com/compute/beta/projects/p/zones/a/"
                  "networkEndpointGroups/n",
         .mode = "CONNECTION"},
        {.group = GROUP("b"), .mode = "CONNECTION"},
        {.group = GROUP("c"), .mode = ""},
    };
    _cleanup_(json_putp) struct json_object *o = gce_bservice_backends_body(&is, backends, 3);
    same_text(
        "9.2", json_text(a, json_member(o, "backends"), JSON_SORTED),
        "[{\"balancingMode\":\"CONNECTION\",\"description\":\"by hand\",\"group\":\"" GROUP(
            "a") "\"},{\"balancingMode\":\"CONNECTION\",\"group\":\"" GROUP("b") "\"},{\"group\":"
                                                                                 "\"" GROUP(
                                                                                     "c") "\"}]");
    assert_string_equal(json_str(o, "fingerprint"), "abc=");
    assert_int_equal(json_len(json_member(is.raw, "backends")), 1);
}

static void small_ones__decode_and_body(void **state)
{
    struct arena *a = *state;
    struct gce_neg neg;
    struct gce_group group;
    struct gce_subnetwork sub;
    struct gce_hc hc;
    assert_int_equal(
        gce_neg_decode(a,
                       pure_json(a,
                                 "{\"id\":\"18446744073709551615\",\"name\":\"n\",\"zone\":"
                                 "\"https://x/projects/p/zones/z\",\"networkEndpointType\":"
                                 "\"GCE_VM_IP\",\"size\":3,\"subnetwork\":\"s\",\"selfLink\":\"l\","
                                 "\"description\":\"d\",\"network\":\"w\"}"),
                       &neg, NULL),
        ERR_OK);
    assert_string_equal(neg.id, "18446744073709551615");
    assert_string_equal(neg.zone, "z");
    assert_int_equal(neg.size, 3);
    same_text("3.9", text_of(a, gce_neg_body(&neg)),
              "{\"description\":\"d\",\"name\":\"n\",\"network\":\"w\",\"networkEndpointType\":"
              "\"GCE_VM_IP\",\"subnetwork\":\"s\"}");
    assert_int_equal(
        gce_group_decode(a, pure_json(a, "{\"name\":\"g\",\"zone\":\"zones/z\",\"size\":2}"),
                         &group, NULL),
        ERR_OK);
    assert_string_equal(group.zone, "z");
    same_text("8.2", text_of(a, gce_group_body(&group)), "{\"name\":\"g\"}");
    assert_int_equal(
        gce_subnetwork_decode(a,
                              pure_json(a, "{\"name\":\"s\",\"ipv6AccessType\":"
                                           "\"EXTERNAL\",\"stackType\":\"IPV4_IPV6\"}"),
                              &sub, NULL),
        ERR_OK);
    assert_string_equal(sub.ipv6_access, "EXTERNAL");
    assert_string_equal(sub.stack, "IPV4_IPV6");
    static const char check[] =
        "{\"checkIntervalSec\":8,\"description\":\"d\",\"healthyThreshold\":1,"
        "\"httpHealthCheck\":{\"port\":10256,\"requestPath\":\"/healthz\"},"
        "\"name\":\"h\",\"timeoutSec\":1,\"type\":\"HTTP\","
        "\"unhealthyThreshold\":3}";
    assert_int_equal(gce_hc_decode(a, pure_json(a, check), &hc, NULL), ERR_OK);
    same_text("4.3", text_of(a, gce_hc_body(&hc)), check);
    const struct gce_endpoint endpoints[] = {{.instance = "n1", .ip = "10.0.0.1", .ipv6 = ""},
                                             {.instance = "n2", .ip = "", .ipv6 = "fd00::1"}};
    same_text(
        "9.2", text_of(a, gce_endpoints_body(endpoints, 2)),
        "{\"networkEndpoints\":[{\"instance\":\"n1\",\"ipAddress\":\"10.0.0.1\"},{\"instance\":"
        "\"n2\",\"ipv6Address\":\"fd00::1\"}]}");
}

/* The new members of rules and addresses; those with a target pool send what they always sent
 * (test_bodies.c). */
static void rule_and_address__decode_and_body(void **state)
{
    struct arena *a = *state;
    static const char rule_text[] =
        "{\"IPAddress\":\"10.0.0.9\",\"IPProtocol\":\"TCP\",\"allPorts\":true,"
        "\"allowGlobalAccess\":"
        "true,\"backendService\":\"b\",\"description\":\"d\",\"ipCollection\":\"c\",\"ipVersion\":"
        "\"IPV6\",\"loadBalancingScheme\":\"INTERNAL\",\"name\":\"r\",\"network\":\"n\","
        "\"networkTier\":\"PREMIUM\",\"portRange\":\"1-2\",\"ports\":[\"80\"],\"subnetwork\":"
        "\"s\"}";
    static const char address_text[] =
        "{\"address\":\"10.0.0.9\",\"addressType\":\"INTERNAL\",\"description\":\"d\","
        "\"ipCollection\":\"c\",\"ipVersion\":\"IPV6\",\"ipv6EndpointType\":\"NETLB\",\"name\":"
        "\"a\","
        "\"networkTier\":\"PREMIUM\",\"prefixLength\":96,\"purpose\":\"GCE_ENDPOINT\","
        "\"subnetwork\":\"s\"}";
    struct gce_rule rule;
    struct gce_address address;
    assert_int_equal(gce_rule_decode(a, pure_json(a, rule_text), &rule, NULL), ERR_OK);
    same_text("4.7", text_of(a, gce_rule_body(&rule)), rule_text);
    assert_string_equal(rule.id, "");
    assert_int_equal(gce_address_decode(a, pure_json(a, address_text), &address, NULL), ERR_OK);
    same_text("9.2", text_of(a, gce_address_body(&address)), address_text);
    assert_int_equal(gce_rule_decode(a, pure_json(a, "{\"id\":123}"), &rule, NULL), ERR_OK);
    assert_string_equal(rule.id, "123");
}

UNIT_MAIN(l4_resources)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(bservice_decode__every_member),
        PURE_TEST(bservice_decode__nothing__no_null),
        PURE_TEST(decode__another_type__is_transient),
        PURE_TEST(bservice_body__insert),
        PURE_TEST(bservice_body__put__keeps_what_is_not_ours),
        PURE_TEST(bservice_body__put__a_newer_api_version_stays),
        PURE_TEST(bservice_body__put__clears_what_is_ours),
        PURE_TEST(bservice_body__strong_affinity__beside_what_is_there),
        PURE_TEST(bservice_body__logging__off_is_written),
        PURE_TEST(backends_body__those_that_stay__keep_what_they_have),
        PURE_TEST(small_ones__decode_and_body),
        PURE_TEST(rule_and_address__decode_and_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
