/* SPDX-License-Identifier: Apache-2.0 */
/* compute_groups.c: instance groups and network endpoint groups: who may be in them, and who has
 * them.
 *
 * Source: compute v1 "instanceGroups", "networkEndpointGroups"; gce-l4.md §3.5, §3.6, §8.3, §8.4,
 * §9.2; gce-cloud-provider.md §5.4, §5.9. */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define NEG             Z "/networkEndpointGroups/neg"
#define ENDPOINT(list)  "{\"networkEndpoints\":[" list "]}"
#define INSTANCES(list) "{\"instances\":[" list "]}"

static const struct balancer_row refused[] = {
    /* NEGs */
    {"NEG without a type", "POST", Z "/networkEndpointGroups", "{\"name\":\"x\"}", 400, "required",
     "networkEndpointType"},
    {"NEG of another kind", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"INTERNET_FQDN_PORT\"}", 400, "invalid",
     "GCE_VM_IP"},
    {"NEG with a port", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"GCE_VM_IP\",\"defaultPort\":80}", 400, "invalid",
     "no port"},
    {"NEG in an unknown subnetwork", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"GCE_VM_IP\"," SUBNET("no") "}", 400, "invalid",
     "cannot be found"},
    {"NEG in an unknown network", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"GCE_VM_IP\"," NETWORK("no") "}", 400, "invalid",
     "cannot be found"},
    {"NEG in a subnetwork of another network", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"GCE_VM_IP\"," NETWORK("default") "," SUBNET(
         "far") "}",
     400, "invalid", "is not part of the network resource"},
    {"NEG in another region's subnetwork", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"x\",\"networkEndpointType\":\"GCE_VM_IP\","
     "\"subnetwork\":\"regions/europe-west1/subnetworks/default\"}",
     400, "invalid", "Cross-region"},
    {"NEG of the same name", "POST", Z "/networkEndpointGroups",
     "{\"name\":\"neg\",\"networkEndpointType\":\"GCE_VM_IP\"}", 409, "alreadyExists", NULL},
    {"NEG that a service has", "DELETE", NEG, NULL, 400, "resourceInUseByAnotherResource",
     "is already being used by 'projects/trimtab-sim/regions/us-central1/backendServices/int'"},
    /* endpoints */
    {"no endpoints", "POST", NEG "/attachNetworkEndpoints", ENDPOINT(""), 400, "required", NULL},
    {"endpoint without a machine", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"ipAddress\":\"10.128.0.10\"}"), 400, "required", "instance"},
    {"endpoint of another zone's machine", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-1\"}"), 400, "invalid", "cannot be found in the zone"},
    {"endpoint in another subnetwork", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"vm-second\",\"ipAddress\":\"10.64.0.2\"}"), 400, "invalid",
     "Specified IP address 10.64.0.2 doesn't belong to the (sub)network default or to the instance "
     "vm-second."},
    {"endpoint in another network", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"vm-far\"}"), 400, "invalid", "(sub)network default"},
    {"the address of the machine's other interface", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"vm-two\",\"ipAddress\":\"10.64.0.3\"}"), 400, "invalid",
     "doesn't belong"},
    {"the address of another machine", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.13\"}"), 400, "invalid",
     "doesn't belong"},
    {"the IPv6 address of another machine", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\",\"ipv6Address\":\"fd20:0:0:1:0:4::\"}"), 400, "invalid",
     "resource.ipv6Address"},
    {"endpoint with a port", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\",\"port\":80}"), 400, "invalid", "no port"},
    {"endpoint twice, once without its address", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\"},{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.10\"}"),
     400, "invalid", "named twice"},
    {"one good and one bad", "POST", NEG "/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\"},{\"instance\":\"node-9\"}"), 400, "invalid",
     "networkEndpoints[1]"},
    {"detaching what is not there", "POST", NEG "/detachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.10\"}"), 400, "invalid",
     "not attached"},
    {"endpoints of no group", "POST", Z "/networkEndpointGroups/no/attachNetworkEndpoints",
     ENDPOINT("{\"instance\":\"node-0\"}"), 404, "notFound", NULL},
    {"list of no group", "POST", Z "/networkEndpointGroups/no/listNetworkEndpoints", "{}", 404,
     "notFound", NULL},
    /* instance groups */
    {"member of another subnetwork", "POST", Z "/instanceGroups/ig/addInstances",
     INSTANCES(VM("vm-second")), 400, "wrongSubnetwork",
     "Resource 'projects/trimtab-sim/zones/us-central1-a/instances/vm-second' is expected to be in "
     "the subnetwork 'projects/trimtab-sim/regions/us-central1/subnetworks/default'"},
    {"member of another network", "POST", Z "/instanceGroups/ig/addInstances",
     INSTANCES(VM("vm-far")), 400, "wrongNetwork", "is expected to be in the network"},
    {"first members of two subnetworks", "POST", Z "/instanceGroups/empty/addInstances",
     INSTANCES(VM("vm-second") "," VM("node-3")), 400, "wrongSubnetwork", "subnetworks/second'"},
    {"member that is there", "POST", Z "/instanceGroups/ig/addInstances", INSTANCES(VM("node-0")),
     400, "memberAlreadyExists", "already a member"},
    {"member that does not exist", "POST", Z "/instanceGroups/ig/addInstances",
     INSTANCES(VM("node-9")), 404, "notFound", "node-9"},
    {"removing a stranger", "POST", Z "/instanceGroups/ig/removeInstances", INSTANCES(VM("node-3")),
     400, "invalid", "is not a member of"},
    {"members of no group", "POST", Z "/instanceGroups/no/removeInstances", INSTANCES(VM("node-0")),
     404, "notFound", NULL},
    {"a stale fingerprint", "POST", Z "/instanceGroups/ig/setNamedPorts",
     "{\"fingerprint\":\"AAAA\",\"namedPorts\":[]}", 412, "conditionNotMet", NULL},
    {"a bad named port", "POST", Z "/instanceGroups/ig/setNamedPorts",
     "{\"namedPorts\":[{\"name\":\"Web\",\"port\":80}]}", 400, "invalid", "Web"},
    {"a named port out of range", "POST", Z "/instanceGroups/ig/setNamedPorts",
     "{\"namedPorts\":[{\"name\":\"web\",\"port\":70000}]}", 400, "invalid", "70000"},
};

static void group__what_does_not_belong__is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    balancer_expect_refused(f, refused, ARRAY_LEN(refused));
    fixture_stop(f);
}

static void neg__endpoint_without_an_address__gets_that_of_its_interface(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    fixture_must(f, "POST", Z "/networkEndpointGroups",
                 "{\"name\":\"neg\",\"networkEndpointType\":\"GCE_VM_IP\"," SUBNET("second") "}");
    fixture_must(f, "GET", NEG, NULL);
    assert_string_equal(fixture_text(f, "network"), COMPUTE_LINK "/global/networks/default");
    fixture_must(f, "POST", NEG "/attachNetworkEndpoints",
                 ENDPOINT("{\"instance\":\"vm-two\"},{\"instance\":\"vm-second\"}"));
    fixture_must(f, "POST", NEG "/listNetworkEndpoints", "{}");
    struct json_object *items = json_member(f->answer, "items");
    assert_int_equal(json_len(items), 2);
    struct json_object *first = json_object_array_get_idx(items, 0);
    assert_string_equal(json_str(json_member(first, "networkEndpoint"), "ipAddress"), "10.64.0.3");
    assert_null(json_member(first, "healths"));
    /* Named by its address, it is the same endpoint. */
    int status = fixture_call(f, "POST", NEG "/attachNetworkEndpoints",
                              ENDPOINT("{\"instance\":\"vm-two\",\"ipAddress\":\"10.64.0.3\"}"));
    fixture_expect(f, "again", status, 400, "invalid");
    assert_non_null(strstr(fixture_text(f, "error.message"), "already attached"));
    fixture_must(f, "POST", NEG "/detachNetworkEndpoints",
                 ENDPOINT("{\"instance\":\"vm-two\",\"ipAddress\":\"10.64.0.3\"}"));
    fixture_must(f, "GET", NEG, NULL);
    assert_int_equal(json_int(f->answer, "size", 0), 1);
    fixture_stop(f);
}

static void neg__endpoints_with_health__name_the_service(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", NEG "/attachNetworkEndpoints",
                 ENDPOINT("{\"instance\":\"node-0\"},{\"instance\":\"node-3\"}"));
    fixture_must(f, "POST", NEG "/listNetworkEndpoints?maxResults=1",
                 "{\"healthStatus\":\"SHOW\"}");
    struct json_object *items = json_member(f->answer, "items");
    assert_int_equal(json_len(items), 1);
    struct json_object *item = json_object_array_get_idx(items, 0);
    struct json_object *health = json_object_array_get_idx(json_member(item, "healths"), 0);
    assert_string_equal(json_str(json_path(health, "backendService"), "backendService"),
                        COMPUTE_LINK "/regions/us-central1/backendServices/int");
    assert_string_not_equal(fixture_text(f, "nextPageToken"), "");
    fixture_must(f, "POST",
                 arena_printf(f->a, NEG "/listNetworkEndpoints?pageToken=%s",
                              fixture_text(f, "nextPageToken")),
                 "{}");
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    assert_string_equal(fixture_text(f, "nextPageToken"), "");
    /* A machine that goes leaves the group. */
    fixture_must(f, "DELETE", "/sim/nodes/node-3", NULL);
    fixture_must(f, "GET", NEG, NULL);
    assert_int_equal(json_int(f->answer, "size", 0), 1);
    fixture_stop(f);
}

/* {"networkEndpoints":[…]} of the nodes first, first + 3 … of zone a. */
static const char *nodes_of_zone_a(struct fixture *f, int first, int n)
{
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%s{\"instance\":\"node-%d\"}", i ? "," : "", first + 3 * i);
    }
    const char *body = arena_printf(f->a, ENDPOINT("%s"), str_buf_text(&b));
    str_buf_done(&b);
    return body;
}

static void neg__500_endpoints__are_the_most_of_a_call(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 3003});
    fixture_must(f, "POST", Z "/networkEndpointGroups",
                 "{\"name\":\"neg\",\"networkEndpointType\":\"GCE_VM_IP\"}");
    int status = fixture_call(f, "POST", NEG "/attachNetworkEndpoints", nodes_of_zone_a(f, 0, 501));
    fixture_expect(f, "501 endpoints", status, 400, "invalid");
    fixture_must(f, "POST", NEG "/attachNetworkEndpoints", nodes_of_zone_a(f, 0, 500));
    fixture_must(f, "POST", NEG "/attachNetworkEndpoints", nodes_of_zone_a(f, 1500, 500));
    status = fixture_call(f, "POST", NEG "/detachNetworkEndpoints", nodes_of_zone_a(f, 0, 501));
    fixture_expect(f, "501 endpoints", status, 400, "invalid");
    fixture_must(f, "POST", NEG "/detachNetworkEndpoints", nodes_of_zone_a(f, 750, 500));
    fixture_must(f, "GET", NEG, NULL);
    assert_int_equal(json_int(f->answer, "size", 0), 500);
    fixture_must(f, "POST", NEG "/listNetworkEndpoints", "{}");
    assert_int_equal(json_len(json_member(f->answer, "items")), 500);
    fixture_stop(f);
}

static void group__first_member__gives_it_a_network(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "GET", Z "/instanceGroups/empty", NULL);
    assert_string_equal(fixture_text(f, "network"), "");
    fixture_must(f, "POST", Z "/instanceGroups/empty/addInstances", INSTANCES(VM("vm-second")));
    fixture_must(f, "GET", Z "/instanceGroups/empty", NULL);
    assert_string_equal(fixture_text(f, "network"), COMPUTE_LINK "/global/networks/default");
    assert_string_equal(fixture_text(f, "subnetwork"),
                        COMPUTE_LINK "/regions/us-central1/subnetworks/second");
    /* It keeps the place when the last one leaves. */
    fixture_must(f, "POST", Z "/instanceGroups/empty/removeInstances", INSTANCES(VM("vm-second")));
    int status =
        fixture_call(f, "POST", Z "/instanceGroups/empty/addInstances", INSTANCES(VM("node-3")));
    fixture_expect(f, "of another subnetwork", status, 400, "wrongSubnetwork");
    fixture_stop(f);
}

#define IG_SERVICE(name, group)                                                                    \
    "{\"name\":\"" name "\",\"loadBalancingScheme\":\"INTERNAL\"," GLOBAL_CHECK                    \
    ",\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/" group "\"}]}"

static void expect_multiple(struct fixture *f, const char *what, const char *path, const char *body)
{
    const struct balancer_row row = {
        what,
        "POST",
        path,
        body,
        400,
        "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS",
        "Validation failed for instance "
        "'projects/trimtab-sim/zones/us-central1-a/instances/node-0': "
        "instance may belong to at most one load-balanced instance group."};
    balancer_expect_refused(f, &row, 1);
}

static void group__second_balanced_group_of_a_machine__is_refused_either_way(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig2\"}");
    fixture_must(f, "POST", Z "/instanceGroups/ig2/addInstances",
                 INSTANCES(VM("node-0") "," VM("node-3")));
    fixture_must(f, "POST", R "/backendServices", IG_SERVICE("one", "ig"));
    expect_multiple(f, "a service on the second group", R "/backendServices",
                    IG_SERVICE("two", "ig2"));
    fixture_must(f, "POST", Z "/instanceGroups/ig2/removeInstances", INSTANCES(VM("node-0")));
    fixture_must(f, "POST", R "/backendServices", IG_SERVICE("two", "ig2"));
    expect_multiple(f, "a member of a balanced group", Z "/instanceGroups/ig2/addInstances",
                    INSTANCES(VM("node-0")));
    /* The same group may serve many. */
    fixture_must(f, "POST", R "/backendServices", IG_SERVICE("three", "ig"));
    /* Through a change of a service, too. */
    fixture_must(f, "DELETE", R "/backendServices/two", NULL);
    fixture_must(f, "POST", Z "/instanceGroups/ig2/addInstances", INSTANCES(VM("node-0")));
    fixture_must(f, "GET", R "/backendServices/three", NULL);
    int status =
        fixture_call(f, "PATCH", R "/backendServices/three",
                     "{\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/ig2\"}]}");
    assert_int_equal(status, 200);
    assert_int_equal(json_int(f->answer, "httpErrorStatusCode", 0), 400);
    /* A NEG is no group of this kind: its machines are free. */
    fixture_must(f, "POST", NEG "/attachNetworkEndpoints", ENDPOINT("{\"instance\":\"node-0\"}"));
    fixture_stop(f);
}

UNIT_MAIN(compute_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group__what_does_not_belong__is_refused_and_changes_nothing),
        cmocka_unit_test(neg__endpoint_without_an_address__gets_that_of_its_interface),
        cmocka_unit_test(neg__endpoints_with_health__name_the_service),
        cmocka_unit_test(neg__500_endpoints__are_the_most_of_a_call),
        cmocka_unit_test(group__first_member__gives_it_a_network),
        cmocka_unit_test(group__second_balanced_group_of_a_machine__is_refused_either_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
