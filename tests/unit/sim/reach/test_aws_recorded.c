/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the judge of AWS with a recorded world: what cloud-provider-aws left behind serves every
 * Service of it.
 *
 * The world (tests/data/aws/README.md) has three network and two classic balancers.  Each Service
 * with a host name is served on each of its ports, by all six nodes, for the ranges that it allows;
 * there are no exceptions.  Its seventh instance, which was taken out of the cluster before, is a
 * target of none. */
#include "tests/unit/sim/reach/reach_test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/file.h"
#include "common/base/str.h"

static struct json_object *read_world(struct arena *a, const char *name)
{
    const char *path = arena_printf(a, "%s/%s", getenv("TRIMTAB_TEST_DATA"), name);
    struct json_object *world = NULL;
    char *text;
    size_t n;
    assert_int_equal(file_read(a, path, 1 << 20, &text, &n, NULL), ERR_OK);
    assert_int_equal(json_parse_arena(a, text, n, NULL, &world, NULL), ERR_OK);
    return world;
}

/* The Service's port is served as its spec asks. */
static void check_port(struct arena *a, struct json_object *reach, struct json_object *service,
                       struct json_object *port, size_t n_nodes)
{
    struct json_object *wanted = json_path(service, "spec.loadBalancerSourceRanges");
    const char *key = arena_printf(a, "%s/%lld", json_str(port, "protocol"),
                                   (long long)json_int(port, "port", 0));
    const char *end = arena_printf(a, ":%lld", (long long)json_int(port, "nodePort", 0));
    struct json_object *served = json_member(reach, key);
    struct json_object *targets = json_member(served, "targets");
    struct reach_ranges all =
        json_len(wanted) > 0 ? reach_ranges_of_list(a, wanted) : reach_ranges_all(a, true, false);
    assert_non_null(served);
    assert_null(json_str(served, "why"));
    assert_string_equal(json_str(served, "from"), "internet");
    struct reach_ranges clients = reach_ranges_of_list(a, json_member(served, "clients"));
    assert_true(reach_ranges_within(a, all, clients));
    assert_int_equal(json_len(targets), n_nodes);
    for (size_t i = 0; i < n_nodes; i++) {
        struct json_object *one = json_object_array_get_idx(targets, i);
        assert_true(json_bool(one, "healthy", false));
        assert_null(json_member(one, "clients"));
        assert_true(str_has_suffix(json_str(one, "target"), end));
    }
}

static void every_service_is_served(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *world = read_world(a, "aws/world.json");
    struct json_object *document = reach_of_world(world);
    struct json_object *services = json_path(world, "kubernetes.services");
    size_t n_nodes = json_len(json_path(world, "kubernetes.nodes"));
    size_t n_ports = 0;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
        const char *host = json_str(json_object_array_get_idx(ingress, 0), "hostname");
        struct json_object *ports = json_path(service, "spec.ports");
        assert_non_null(host);
        struct json_object *reach = json_member(document, host);
        assert_int_equal(json_object_object_length(reach), json_len(ports));
        for (size_t k = 0; k < json_len(ports); k++, n_ports++) {
            check_port(a, reach, service, json_object_array_get_idx(ports, k), n_nodes);
        }
    }
    assert_int_equal(n_ports, 7);
    assert_int_equal(json_object_object_length(document), json_len(services));
    json_object_put(document);
    arena_free(a);
}

/* The nodes' names in Kubernetes are those of the targets. */
static void targets_are_nodes(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *world = read_world(a, "aws/world.json");
    struct json_object *document = reach_of_world(world);
    struct json_object *nodes = json_path(world, "kubernetes.nodes");
    struct json_object *port = json_member(
        json_member(document, "aac38a41b51774156a521883cd38f69f-1.elb.us-east-1.amazonaws.com"),
        "TCP/80");
    struct json_object *targets = json_member(port, "targets");
    assert_int_equal(json_len(targets), json_len(nodes));
    for (size_t i = 0; i < json_len(nodes); i++) {
        const char *name =
            json_str(json_member(json_object_array_get_idx(nodes, i), "metadata"), "name");
        assert_string_equal(json_str(json_object_array_get_idx(targets, i), "target"),
                            arena_printf(a, "%s:30658", name));
    }
    json_object_put(document);
    arena_free(a);
}

/* A world of six nodes in three zones whose one group has three rules for each of
 * n network balancers. */
static struct json_object *large_world(struct arena *a, int n)
{
    struct str_buf rules = STR_BUF_INIT, lbs = STR_BUF_INIT, listeners = STR_BUF_INIT;
    struct str_buf groups = STR_BUF_INIT, health = STR_BUF_INIT, nodes = STR_BUF_INIT;
    struct json_object *world = NULL;
    for (int i = 0; i < 6; i++) {
        str_appendf(&nodes,
                    "%s{\"InstanceId\":\"i-%d\",\"State\":{\"Name\":\"running\"},\"Placement\":{"
                    "\"AvailabilityZone\":\"%d\"},\"PrivateIpAddress\":\"10.0.%d.4\","
                    "\"SecurityGroups\":[{\"GroupId\":\"sg-1\"}]}",
                    i > 0 ? "," : "", i, i % 3, i % 3);
    }
    for (int i = 0; i < n; i++) {
        const char *comma = i > 0 ? "," : "";
        str_appendf(&rules,
                    "%s{\"IpProtocol\":\"tcp\",\"FromPort\":%d,\"ToPort\":%d,\"IpRanges\":["
                    "{\"CidrIp\":\"192.0.2.0/24\"},{\"CidrIp\":\"10.0.0.0/24\"},"
                    "{\"CidrIp\":\"10.0.1.0/24\"},{\"CidrIp\":\"10.0.2.0/24\"}]}",
                    comma, 10000 + i, 10000 + i);
        str_appendf(
            &lbs,
            "%s{\"LoadBalancerArn\":\"lb%d\",\"DNSName\":\"lb%d\",\"Type\":\"network\","
            "\"AvailabilityZones\":[{\"SubnetId\":\"subnet-0\"},{\"SubnetId\":\"subnet-1\"},"
            "{\"SubnetId\":\"subnet-2\"}]}",
            comma, i, i);
        str_appendf(
            &listeners,
            "%s{\"LoadBalancerArn\":\"lb%d\",\"Port\":80,\"Protocol\":\"TCP\",\"DefaultActions\":["
            "{\"TargetGroupArn\":\"tg%d\"}]}",
            comma, i, i);
        str_appendf(&groups, "%s{\"TargetGroupArn\":\"tg%d\",\"Protocol\":\"TCP\",\"Port\":%d}",
                    comma, i, 10000 + i);
        str_appendf(&health, "%s\"tg%d\":[", comma, i);
        for (int k = 0; k < 6; k++) {
            str_appendf(&health, "%s{\"Target\":{\"Id\":\"i-%d\"}}", k > 0 ? "," : "", k);
        }
        str_append(&health, "]");
    }
    const char *text = arena_printf(
        a,
        "{\"aws\":{\"ec2\":{\"Reservations\":[{\"Instances\":[%s]}],\"SecurityGroups\":[{"
        "\"GroupId\":"
        "\"sg-1\",\"IpPermissions\":[%s]}],\"Subnets\":["
        "{\"SubnetId\":\"subnet-0\",\"AvailabilityZone\":\"0\",\"CidrBlock\":\"10.0.0.0/24\"},"
        "{\"SubnetId\":\"subnet-1\",\"AvailabilityZone\":\"1\",\"CidrBlock\":\"10.0.1.0/24\"},"
        "{\"SubnetId\":\"subnet-2\",\"AvailabilityZone\":\"2\",\"CidrBlock\":\"10.0.2.0/24\"}]},"
        "\"elbv2\":{\"LoadBalancers\":[%s],\"Listeners\":[%s],\"TargetGroups\":[%s],"
        "\"TargetHealth\":{%s}}}}",
        str_buf_text(&nodes), str_buf_text(&rules), str_buf_text(&lbs), str_buf_text(&listeners),
        str_buf_text(&groups), str_buf_text(&health));
    assert_int_equal(json_parse_arena(a, text, strlen(text), NULL, &world, NULL), ERR_OK);
    struct str_buf *const all[] = {&rules, &lbs, &listeners, &groups, &health, &nodes};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        str_buf_done(all[i]);
    }
    return world;
}

/* Bytes that the judge takes for n balancers, which grow as its work does. */
static size_t cost_of(int n)
{
    struct arena *a = arena_new();
    struct json_object *world = large_world(a, n);
    struct arena *own = arena_new();
    struct reach *r = reach_new(own);
    reach_aws(r, world);
    struct json_object *document = reach_json(r);
    struct json_object *port = json_member(json_member(document, "lb0"), "TCP/80");
    assert_int_equal(json_object_object_length(document), n);
    assert_int_equal(json_len(json_member(port, "targets")), 6);
    assert_int_equal(json_len(json_member(port, "clients")), 3);
    size_t used = arena_used(own);
    json_object_put(document);
    arena_free(own);
    arena_free(a);
    return used;
}

static void cost_is_linear(void **state)
{
    (void)state;
    assert_in_range(cost_of(400), 0, 5 * cost_of(100));
}

UNIT_MAIN(aws_recorded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_service_is_served),
        cmocka_unit_test(targets_are_nodes),
        cmocka_unit_test(cost_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
