/* SPDX-License-Identifier: Apache-2.0 */
/* test_reasons.c: changes of nodes and of EndpointSlices that make Services sync, and those that do
 * not: what the targets of a Service are made of, and nothing else. */
#include "tests/unit/local/flow/flow_kit.h"

#include "tests/support/objects.h"
#include "tests/support/unit.h"

#define NODE(LABELS, ADDRESSES)                                                                    \
    "{\"metadata\": {\"name\": \"n1\", \"labels\": {" LABELS                                       \
    "}}, \"status\": {\"addresses\": [" ADDRESSES "]}}"
#define INTERNAL(A) "{\"type\": \"InternalIP\", \"address\": \"" A "\"}"
#define USUAL       NODE("", INTERNAL("10.1.0.1"))

static uint64_t digest(struct flow_kit *k, const char *node)
{
    return tt_local_provider.node_digest(k->p, test_node_text(k->a, node));
}

static void local_node_digest__what_targets_are_made_of__differs(void **state)
{
    static struct flow_kit k;
    static const struct {
        const char *node;
        bool matters;
    } rows[] = {
        {USUAL, false},
        {NODE("\"x\": \"y\"", INTERNAL("10.1.0.1")), false},
        {NODE("", INTERNAL("10.1.0.1") ", {\"type\": \"ExternalIP\", \"address\": \"8.8.8.8\"}"),
         false},
        {NODE("", INTERNAL("10.1.0.2")), true},
        {NODE("", ""), true},
        {NODE("", INTERNAL("10.1.0.1") ", " INTERNAL("fd01::1")), true},
        {NODE("\"no\": \"lb\"", INTERNAL("10.1.0.1")), true},
        {NODE("\"topology.kubernetes.io/zone\": \"z1\"", INTERNAL("10.1.0.1")), true},
        {NODE("\"node.kubernetes.io/exclude-from-external-load-balancers\": \"\"",
              INTERNAL("10.1.0.1")),
         true},
    };

    (void)state;
    flow_kit_begin(&k);
    (void)flow_kit_run(&k, "config director: {nodeSelector: {matchExpressions: [{key: \"no\", "
                           "operator: DoesNotExist}]}}; svc d/a; sync");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if ((digest(&k, rows[i].node) != digest(&k, USUAL)) != rows[i].matters) {
            fail_msg("%s", rows[i].node);
        }
    }
    assert_int_equal(0, digest(&k, rows[ARRAY_LEN(rows) - 1].node)); /* concerns no Service */
    flow_kit_end(&k);
}

static void local_endpoints_delay__pods_are_targets__endpoints_matter(void **state)
{
    static struct flow_kit k;
    static const struct {
        const char *before, *annotations, *spec;
        bool matters;
    } rows[] = {
        {"", "", "", false},
        {"", "", ", \"externalTrafficPolicy\": \"Local\"", true},
        {"", "", ", \"allocateLoadBalancerNodePorts\": false", true},
        {"", "\"local.trimtab.io/targets\": \"pod\"", "", true},
        {"", "\"loxilb.io/usepodnetwork\": \"yes\"", "", true},
        {"pool [10.0.0.0/29], targets: pod; ", "", "", true},
        {"pool [10.0.0.0/29], targets: nodePort; ", "", "", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        flow_kit_begin(&k);
        (void)flow_kit_run(
            &k, arena_printf(k.a, "config director: {podsRoutable: true}; %ssync", rows[i].before));
        const struct tt_service *s = test_service_text(
            k.a, arena_printf(k.a,
                              "{\"metadata\": {\"namespace\": \"d\", \"name\": \"a\", "
                              "\"annotations\": {%s}}, \"spec\": {\"type\": \"LoadBalancer\", "
                              "\"ports\": [{\"port\": 80, \"nodePort\": 30080}]%s}}",
                              rows[i].annotations, rows[i].spec));
        if ((tt_local_provider.endpoints_delay_ms(k.p, s) >= 0) != rows[i].matters) {
            fail_msg("row %zu", i);
        }
        flow_kit_end(&k);
    }
}

UNIT_MAIN(reasons)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_node_digest__what_targets_are_made_of__differs),
        cmocka_unit_test(local_endpoints_delay__pods_are_targets__endpoints_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
