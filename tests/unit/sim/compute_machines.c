/* SPDX-License-Identifier: Apache-2.0 */
/* compute_machines.c: the machines of nodes that POST /sim/nodes makes: where they are, and how
 * many there can be.
 *
 * Source: docs/simulator.md, "Control"; compute v1 "instances", "subnetworks". */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

/* The first interface of a machine of zone a. */
static struct json_object *nic_of(struct fixture *f, const char *path)
{
    fixture_must(f, "GET", path, NULL);
    return json_object_array_get_idx(json_member(f->answer, "networkInterfaces"), 0);
}

static void nodes__asked_for__are_in_that_zone_and_subnetwork(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    fixture_must(f, "POST", "/sim/nodes",
                 "{\"count\":2,\"zone\":\"us-central1-a\",\"subnetwork\":\"second\"}");
    struct json_object *nic = nic_of(f, Z "/instances/node-7");
    assert_string_equal(json_str(nic, "networkIP"), "10.64.0.17");
    assert_string_equal(json_str(nic, "network"), COMPUTE_LINK "/global/networks/default");
    assert_string_equal(json_str(nic, "subnetwork"),
                        COMPUTE_LINK "/regions/us-central1/subnetworks/second");
    fixture_must(f, "GET", "/api/v1/nodes/node-7", NULL);
    struct json_object *labels = json_path(f->answer, "metadata.labels");
    assert_string_equal(json_str(labels, "cloud.google.com/gke-node-pool-subnet"), "second");
    assert_string_equal(json_str(labels, "topology.kubernetes.io/zone"), "us-central1-a");
    /* The others have no such label. */
    fixture_must(f, "GET", "/api/v1/nodes/node-0", NULL);
    labels = json_path(f->answer, "metadata.labels");
    assert_null(json_member(labels, "cloud.google.com/gke-node-pool-subnet"));
    assert_int_equal(fixture_call(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"mars-1\"}"),
                     400);
    assert_int_equal(fixture_call(f, "POST", "/sim/nodes", "{\"count\":1,\"subnetwork\":\"no\"}"),
                     404);
    fixture_stop(f);
}

static void nodes__with_both_families__have_two_addresses(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"us-central1-a\",\"ipv6\":true}");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"us-central1-a\"}");
    struct json_object *nic = nic_of(f, Z "/instances/node-0");
    assert_string_equal(json_str(nic, "stackType"), "IPV4_IPV6");
    assert_string_equal(json_str(nic, "ipv6Address"), "fd20:0:0:1:0:1::");
    fixture_must(f, "GET", "/api/v1/nodes/node-0", NULL);
    assert_int_equal(json_len(json_path(f->answer, "spec.podCIDRs")), 2);
    assert_null(json_str(nic_of(f, Z "/instances/node-1"), "ipv6Address"));
    fixture_stop(f);
}

/* A number's address that is in use goes to no other. */
static void nodes__on_addresses_that_are_taken__move_on(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    fixture_must(f, "POST", R "/addresses",
                 "{\"name\":\"a\",\"addressType\":\"INTERNAL\",\"address\":\"10.128.0.16\"}");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"us-central1-a\"}");
    const char *ip = json_str(nic_of(f, Z "/instances/node-6"), "networkIP");
    assert_string_equal(ip, "10.128.64.16");
    fixture_stop(f);
}

static bool in_range(struct fixture *f, const char *body)
{
    fixture_must(f, "POST", R "/addresses", body);
    fixture_must(f, "GET", R "/addresses/x", NULL);
    const char *ip = arena_strdup(f->a, fixture_text(f, "address"));
    fixture_must(f, "DELETE", R "/addresses/x", NULL);
    return str_has_prefix(ip, "10.128.32.") || str_has_prefix(ip, "10.128.33.");
}

/* 5,000 machines do not fit into the lower half of a /20: the subnetwork becomes a /18. */
static void nodes__5000__widen_the_subnetwork(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "GET", R "/subnetworks/default", NULL);
    assert_string_equal(fixture_text(f, "ipCidrRange"), "10.128.0.0/20");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":5000}");
    assert_int_equal(json_len(json_member(f->answer, "nodes")), 5000);
    fixture_must(f, "GET", R "/subnetworks/default", NULL);
    assert_string_equal(fixture_text(f, "ipCidrRange"), "10.128.0.0/18");
    /* 4999 + 10 = 19 * 256 + 145 */
    struct json_object *nic = nic_of(f, P "/zones/us-central1-b/instances/node-4999");
    assert_string_equal(json_str(nic, "networkIP"), "10.128.19.145");
    /* Load balancers have the upper half. */
    assert_true(in_range(f, "{\"name\":\"x\",\"addressType\":\"INTERNAL\"}"));
    fixture_stop(f);
}

UNIT_MAIN(compute_machines)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__asked_for__are_in_that_zone_and_subnetwork),
        cmocka_unit_test(nodes__with_both_families__have_two_addresses),
        cmocka_unit_test(nodes__on_addresses_that_are_taken__move_on),
        cmocka_unit_test(nodes__5000__widen_the_subnetwork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
