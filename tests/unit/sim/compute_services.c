/* SPDX-License-Identifier: Apache-2.0 */
/* compute_services.c: regional backend services and their health checks: what goes together, and
 * what is in use.
 *
 * Source: compute v1 "regionBackendServices", "healthChecks"; gce-l4.md §4.6, §4.12, §5.5, §5.8,
 * §8.3, §9.2; gce-cloud-provider.md §5.5, §16. */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define BS             R "/backendServices"
#define GROUP(g)       "{\"group\":\"zones/us-central1-a/instanceGroups/" g "\"}"
#define NEG(z, g)      "{\"group\":\"zones/us-central1-" z "/networkEndpointGroups/" g "\"}"
#define INT(more)      "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," GLOBAL_CHECK more "}"
#define EXT(more)      "{\"name\":\"x\"," OWN_CHECK more "}"
#define BACKENDS(list) ",\"backends\":[" list "]"
#define TRACKING(more) ",\"connectionTrackingPolicy\":{" more "}"
#define ZONAL(more)    ",\"networkPassThroughLbTrafficPolicy\":{\"zonalAffinity\":{" more "}}"
#define LOG(more)      ",\"logConfig\":{" more "}"

static const struct balancer_row refused[] = {
    /* backends */
    {"groups and NEGs", "POST", BS, INT(BACKENDS(GROUP("ig") "," NEG("a", "neg"))), 400, "invalid",
     "cannot be mixed"},
    {"the same NEG twice", "POST", BS, INT(BACKENDS(NEG("a", "neg") "," NEG("a", "neg"))), 400,
     "invalid", "Duplicate network endpoint groups"},
    {"the same group twice", "POST", BS, INT(BACKENDS(GROUP("ig") "," GROUP("ig"))), 400, "invalid",
     "Duplicate instance groups"},
    {"a NEG of another region", "POST", BS,
     INT(BACKENDS("{\"group\":\"zones/europe-west1-b/networkEndpointGroups/neg\"}")), 400,
     "invalid", "Cross-region"},
    {"a NEG that does not exist", "POST", BS, INT(BACKENDS(NEG("c", "neg"))), 400, "invalid",
     "cannot be found"},
    {"a backend without a group", "POST", BS, INT(BACKENDS("{\"balancingMode\":\"CONNECTION\"}")),
     400, "required", "backends[0].group"},
    {"a machine as a backend", "POST", BS,
     INT(BACKENDS("{\"group\":\"zones/us-central1-a/instances/node-0\"}")), 400, "invalid", NULL},
    {"a group that never had a member", "POST", BS, INT(BACKENDS(GROUP("empty"))), 400, "invalid",
     "Instance group must have a network to be attached to a backend service."},
    {"balancing by utilization", "POST", BS,
     INT(BACKENDS("{\"group\":\"zones/us-central1-a/networkEndpointGroups/neg\","
                  "\"balancingMode\":\"UTILIZATION\"}")),
     400, "invalid", "CONNECTION"},
    {"balancing by rate, external", "POST", BS,
     EXT(BACKENDS("{\"group\":\"zones/us-central1-a/networkEndpointGroups/neg\","
                  "\"balancingMode\":\"RATE\"}")),
     400, "invalid", "CONNECTION"},
    {"a target of connections", "POST", BS,
     INT(BACKENDS("{\"group\":\"zones/us-central1-a/networkEndpointGroups/neg\","
                  "\"maxConnections\":5}")),
     400, "invalid", "maxConnections"},
    {"backends of two networks", "POST", BS, INT("," NETWORK("far") BACKENDS(NEG("a", "neg"))), 400,
     "invalid", "network"},
    {"a network of an external service", "POST", BS, EXT("," NETWORK("far")), 400, "invalid",
     "resource.network"},
    /* scheme, protocol, checks */
    {"a proxy's scheme", "POST", BS,
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL_MANAGED\"," OWN_CHECK "}", 400, "invalid",
     "loadBalancingScheme"},
    {"a proxy's protocol", "POST", BS, INT(",\"protocol\":\"HTTP\""), 400, "invalid", "protocol"},
    {"a global check of an external service", "POST", BS, "{\"name\":\"x\"," GLOBAL_CHECK "}", 400,
     "invalid", "regional"},
    {"a check of another region", "POST", BS,
     "{\"name\":\"x\",\"healthChecks\":[\"regions/europe-west1/healthChecks/own\"]}", 400,
     "invalid", "Cross-region"},
    {"a legacy check", "POST", BS,
     "{\"name\":\"x\",\"healthChecks\":[\"global/httpHealthChecks/own\"]}", 400, "invalid",
     "healthChecks"},
    {"two checks", "POST", BS,
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\",\"healthChecks\":["
     "\"global/healthChecks/global\",\"regions/us-central1/healthChecks/own\"]}",
     400, "invalid", "Exactly one"},
    {"no check", "POST", BS, "{\"name\":\"x\"}", 400, "invalid", "Exactly one"},
    /* policies */
    {"affinity of internal balancers", "POST", BS,
     EXT(",\"sessionAffinity\":\"CLIENT_IP_NO_DESTINATION\""), 400, "invalid", "sessionAffinity"},
    {"affinity of proxies", "POST", BS, INT(",\"sessionAffinity\":\"HTTP_COOKIE\""), 400, "invalid",
     "sessionAffinity"},
    {"draining too long", "POST", BS, INT(",\"connectionDraining\":{\"drainingTimeoutSec\":3601}"),
     400, "invalid", "3600"},
    {"strong affinity, internal", "POST", BS,
     INT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\"")),
     400, "invalid", "EnableStrongAffinity is not supported"},
    {"strong affinity per connection", "POST", BS,
     EXT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING("\"enableStrongAffinity\":true")), 400,
     "invalid", "PER_SESSION"},
    {"strong affinity without affinity", "POST", BS,
     EXT(TRACKING("\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\"")), 400,
     "invalid", "session affinity"},
    {"idle too short", "POST", BS,
     EXT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\",\"idleTimeoutSec\":59")),
     400, "invalid", "between 60 and 57600"},
    {"idle too long", "POST", BS,
     EXT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\","
         "\"idleTimeoutSec\":57601")),
     400, "invalid", "between 60 and 57600"},
    {"idle without strong affinity", "POST", BS, EXT(TRACKING("\"idleTimeoutSec\":120")), 400,
     "invalid", "strong affinity"},
    {"idle of an internal balancer, too short", "POST", BS,
     INT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"trackingMode\":\"PER_SESSION\",\"idleTimeoutSec\":599")),
     400, "invalid", "between 600 and 57600"},
    {"idle per connection", "POST", BS,
     INT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING("\"idleTimeoutSec\":700")), 400, "invalid",
     "PER_SESSION"},
    {"no tracking mode", "POST", BS, EXT(TRACKING("\"trackingMode\":\"INVALID_TRACKING_MODE\"")),
     400, "invalid", "trackingMode"},
    {"locality of proxies", "POST", BS, INT(",\"localityLbPolicy\":\"ROUND_ROBIN\""), 400,
     "invalid", "is not supported for load balancing scheme INTERNAL"},
    {"weights of external balancers", "POST", BS, INT(",\"localityLbPolicy\":\"WEIGHTED_MAGLEV\""),
     400, "invalid", "is not supported"},
    {"weights of internal balancers", "POST", BS,
     EXT(",\"localityLbPolicy\":\"WEIGHTED_GCP_RENDEZVOUS\""), 400, "invalid",
     "WEIGHTED_GCP_RENDEZVOUS is not supported"},
    {"weights without HTTP", "POST", BS,
     "{\"name\":\"x\",\"healthChecks\":[\"regions/us-central1/healthChecks/tcp\"],"
     "\"localityLbPolicy\":\"WEIGHTED_MAGLEV\"}",
     400, "invalid", "HTTP"},
    {"zonal affinity of an external balancer", "POST", BS,
     EXT(ZONAL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\"")), 400, "invalid", "EXTERNAL"},
    {"spillover ratio 1.5", "POST", BS,
     INT(ZONAL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\",\"spilloverRatio\":1.5")), 400,
     "invalid", "between 0 and 1"},
    {"spillover ratio without spillover", "POST", BS, INT(ZONAL("\"spilloverRatio\":0.5")), 400,
     "invalid", "SPILL_CROSS_ZONE"},
    {"sample rate 2", "POST", BS, EXT(LOG("\"enable\":true,\"sampleRate\":2")), 400, "invalid",
     "between 0 and 1"},
    {"sample rate without logs", "POST", BS, EXT(LOG("\"enable\":false,\"sampleRate\":0.5")), 400,
     "invalid", "logging is enabled"},
    {"log fields without their mode", "POST", BS,
     EXT(LOG("\"enable\":true,\"optionalFields\":[\"serverInstance\"]")), 400, "invalid", "CUSTOM"},
    /* changes */
    {"delete while in use", "DELETE", BS "/int", NULL, 400, "resourceInUseByAnotherResource",
     "being used by 'projects/trimtab-sim/regions/us-central1/forwardingRules/fr'"},
    {"protocol while in use", "PATCH", BS "/int", "{\"protocol\":\"UDP\"}", 400, "invalid",
     "being used by"},
    {"protocol while in use, external", "PATCH", BS "/ext", "{\"protocol\":\"UNSPECIFIED\"}", 400,
     "invalid", "being used by"},
    {"scheme", "PATCH", BS "/int-all", "{\"loadBalancingScheme\":\"EXTERNAL\"}", 400, "invalid",
     "cannot be changed"},
    {"another name", "PATCH", BS "/int", "{\"name\":\"int2\"}", 400, "invalid", "name"},
    {"an old fingerprint", "PATCH", BS "/int", "{\"fingerprint\":\"AAAA\",\"timeoutSec\":3}", 412,
     "conditionNotMet", "fingerprint"},
    {"PUT without a fingerprint", "PUT", BS "/int", "{\"name\":\"int\"," GLOBAL_CHECK "}", 400,
     "required", "resource.fingerprint"},
    {"a backend that does not go with the others", "PATCH", BS "/int",
     "{\"backends\":[" GROUP("ig") "," NEG("a", "neg") "]}", 400, "invalid", "mixed"},
    {"health of a stranger", "POST", BS "/int/getHealth", GROUP("ig"), 400, "invalid",
     "not a backend"},
    /* health checks */
    {"global check in use", "DELETE", G "/healthChecks/global", NULL, 400,
     "resourceInUseByAnotherResource", "being used by"},
    {"regional check in use", "DELETE", R "/healthChecks/own", NULL, 400,
     "resourceInUseByAnotherResource", "being used by"},
    {"regional check of the same name", "POST", R "/healthChecks",
     "{\"name\":\"own\",\"type\":\"TCP\"}", 409, "alreadyExists", "regions/us-central1"},
    {"regional check without a type", "POST", R "/healthChecks", "{\"name\":\"x\"}", 400,
     "required", "type"},
    {"interval 301", "POST", R "/healthChecks",
     "{\"name\":\"x\",\"type\":\"TCP\",\"checkIntervalSec\":301}", 400, "invalid", "300"},
};

static const struct balancer_row taken[] = {
    {"internal NEGs", "POST", BS, INT(BACKENDS(NEG("a", "neg") "," NEG("b", "neg-b"))), 200, NULL,
     NULL},
    {"internal groups, no mode", "POST", BS, INT(BACKENDS(GROUP("ig"))), 200, NULL, NULL},
    {"external groups", "POST", BS, EXT(BACKENDS(GROUP("ig"))), 200, NULL, NULL},
    {"external NEGs", "POST", BS, EXT(BACKENDS(NEG("a", "neg"))), 200, NULL, NULL},
    {"an empty group of an external service", "POST", BS, EXT(BACKENDS(GROUP("empty"))), 200, NULL,
     NULL},
    {"a regional check of an internal service", "POST", BS,
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\"," OWN_CHECK "}", 200, NULL, NULL},
    {"five-part affinity", "POST", BS, EXT(",\"sessionAffinity\":\"CLIENT_IP_PORT_PROTO\""), 200,
     NULL, NULL},
    {"affinity without destination", "POST", BS,
     INT(",\"sessionAffinity\":\"CLIENT_IP_NO_DESTINATION\""), 200, NULL, NULL},
    {"strong affinity", "POST", BS,
     EXT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\","
         "\"idleTimeoutSec\":57600")),
     200, NULL, NULL},
    {"idle of an internal balancer", "POST", BS,
     INT(",\"sessionAffinity\":\"CLIENT_IP\"" TRACKING(
         "\"trackingMode\":\"PER_SESSION\",\"idleTimeoutSec\":1200")),
     200, NULL, NULL},
    {"weights", "POST", BS, EXT(",\"localityLbPolicy\":\"WEIGHTED_MAGLEV\""), 200, NULL, NULL},
    {"internal weights", "POST", BS, INT(",\"localityLbPolicy\":\"WEIGHTED_GCP_RENDEZVOUS\""), 200,
     NULL, NULL},
    {"the default locality", "POST", BS, EXT(",\"localityLbPolicy\":\"MAGLEV\""), 200, NULL, NULL},
    {"no zonal affinity, external", "POST", BS,
     EXT(ZONAL("\"spillover\":\"ZONAL_AFFINITY_DISABLED\",\"spilloverRatio\":0")), 200, NULL, NULL},
    {"zonal affinity", "POST", BS,
     INT(ZONAL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\",\"spilloverRatio\":0.25")), 200,
     NULL, NULL},
    {"logs", "POST", BS,
     INT(LOG("\"enable\":true,\"sampleRate\":1,\"optionalMode\":\"CUSTOM\","
             "\"optionalFields\":[\"serverInstance\"]")),
     200, NULL, NULL},
    {"no logs", "POST", BS, INT(LOG("\"enable\":false,\"sampleRate\":0")), 200, NULL, NULL},
    {"draining as Go sends zero", "POST", BS, INT(",\"connectionDraining\":{}"), 200, NULL, NULL},
    {"protocol while nobody uses it", "PATCH", BS "/int-all", "{\"protocol\":\"UDP\"}", 200, NULL,
     NULL},
    {"backends while in use", "PATCH", BS "/int", "{\"backends\":[" NEG("b", "neg-b") "]}", 200,
     NULL, NULL},
    {"the other kind of backends", "PATCH", BS "/int", "{\"backends\":[" GROUP("ig") "]}", 200,
     NULL, NULL},
};

static void service__what_does_not_go_together__is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    balancer_expect_refused(f, refused, ARRAY_LEN(refused));
    fixture_stop(f);
}

static void service__what_goes_together__is_taken(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    balancer_expect_taken(f, taken, ARRAY_LEN(taken));
    fixture_stop(f);
}

/* PUT: what is left out is set back; PATCH: it stays. */
static void service__put__replaces_all_and_patch_what_it_names(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", BS,
                 EXT(",\"description\":\"mine\",\"sessionAffinity\":\"CLIENT_IP\","
                     "\"connectionDraining\":{\"drainingTimeoutSec\":30}" TRACKING(
                         "\"enableStrongAffinity\":true,\"trackingMode\":\"PER_SESSION\"")
                         BACKENDS(NEG("a", "neg"))));
    fixture_must(f, "PATCH", BS "/x", "{\"connectionDraining\":{\"drainingTimeoutSec\":7}}");
    fixture_must(f, "GET", BS "/x", NULL);
    assert_string_equal(fixture_text(f, "description"), "mine");
    assert_int_equal(
        json_int(json_member(f->answer, "connectionDraining"), "drainingTimeoutSec", 0), 7);
    assert_non_null(json_member(f->answer, "connectionTrackingPolicy"));
    const char *put = arena_printf(f->a, "{\"name\":\"x\",\"fingerprint\":\"%s\"," OWN_CHECK "}",
                                   fixture_text(f, "fingerprint"));
    fixture_must(f, "PUT", BS "/x", put);
    fixture_must(f, "GET", BS "/x", NULL);
    assert_string_equal(fixture_text(f, "description"), "");
    assert_string_equal(fixture_text(f, "sessionAffinity"), "NONE");
    assert_int_equal(json_len(json_member(f->answer, "backends")), 0);
    assert_null(json_member(f->answer, "connectionTrackingPolicy"));
    assert_int_equal(
        json_int(json_member(f->answer, "connectionDraining"), "drainingTimeoutSec", 1), 0);
    fixture_expect(f, "the old fingerprint", fixture_call(f, "PUT", BS "/x", put), 412,
                   "conditionNotMet");
    fixture_stop(f);
}

static void service__51_backends__are_refused(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 51; i++) {
        fixture_must(
            f, "POST", Z "/networkEndpointGroups",
            arena_printf(f->a, "{\"name\":\"n%d\",\"networkEndpointType\":\"GCE_VM_IP\"}", i));
        str_appendf(&b, "%s{\"group\":\"zones/us-central1-a/networkEndpointGroups/n%d\"}",
                    i ? "," : "", i);
    }
    const char *body = arena_printf(f->a, INT(BACKENDS("%s")), str_buf_text(&b));
    str_buf_done(&b);
    fixture_expect(f, "51 backends", fixture_call(f, "POST", BS, body), 400, "invalid");
    fixture_stop(f);
}

/* Global and regional checks of one name are two. */
static void check__scopes__are_apart(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", R "/healthChecks", "{\"name\":\"global\",\"type\":\"TCP\"}");
    fixture_must(f, "GET", R "/healthChecks/global", NULL);
    assert_string_equal(fixture_text(f, "type"), "TCP");
    fixture_must(f, "GET", G "/healthChecks/global", NULL);
    assert_string_equal(fixture_text(f, "type"), "HTTP");
    fixture_must(f, "DELETE", R "/healthChecks/global", NULL);
    fixture_must(f, "PUT", R "/healthChecks/own",
                 "{\"name\":\"own\",\"type\":\"HTTP\",\"httpHealthCheck\":{\"port\":31000}}");
    fixture_must(f, "GET", R "/healthChecks/own", NULL);
    assert_int_equal(json_int(json_member(f->answer, "httpHealthCheck"), "port", 0), 31000);
    fixture_stop(f);
}

UNIT_MAIN(compute_services)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(service__what_does_not_go_together__is_refused_and_changes_nothing),
        cmocka_unit_test(service__what_goes_together__is_taken),
        cmocka_unit_test(service__put__replaces_all_and_patch_what_it_names),
        cmocka_unit_test(service__51_backends__are_refused),
        cmocka_unit_test(check__scopes__are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
