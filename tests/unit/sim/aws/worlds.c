/* SPDX-License-Identifier: Apache-2.0 */
/* worlds.c: the start of a simulated AWS, its nodes, and worlds that are loaded and dumped.
 *
 * Source: interfaces.md, "World"; docs/spec/aws.md §1.3, §4.9, §6, §10.3. */
#include "tests/unit/sim/aws/aws_fixture.h"

#include "sim/aws/aws.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <event2/event.h>
#include <string.h>

static struct json_object *item(struct json_object *list, size_t i)
{
    return json_object_array_get_idx(list, i);
}

/* --- the start -------------------------------------------------------------------------------- */

static void seed__default__tagged_public_subnet_per_zone(void **state)
{
    (void)state;
    struct fixture *f = amz_start("seed", NULL);
    struct json_object *ec2 = amz_world(f, "ec2");
    struct json_object *subnets = json_member(ec2, "Subnets");
    assert_int_equal(json_len(json_member(ec2, "Vpcs")), 1);
    assert_int_equal(json_len(json_member(ec2, "AvailabilityZones")), 3);
    assert_int_equal(json_len(subnets), 3);
    static const char *const cidrs[] = {"10.0.0.0/18", "10.0.64.0/18", "10.0.128.0/18"};
    for (size_t i = 0; i < 3; i++) {
        struct json_object *tags = json_member(item(subnets, i), "Tags");
        assert_string_equal(json_str(item(subnets, i), "CidrBlock"), cidrs[i]);
        assert_string_equal(amz_tag(tags, "kubernetes.io/cluster/kubernetes"), "shared");
        assert_string_equal(amz_tag(tags, "kubernetes.io/role/elb"), "1");
        assert_string_equal(amz_tag(tags, "kubernetes.io/role/internal-elb"), "1");
    }
    struct json_object *table = item(json_member(ec2, "RouteTables"), 0);
    assert_true(json_bool(item(json_member(table, "Associations"), 0), "Main", false));
    assert_true(
        str_has_prefix(json_str(item(json_member(table, "Routes"), 1), "GatewayId"), "igw-"));
    struct json_object *groups = json_member(ec2, "SecurityGroups");
    assert_int_equal(json_len(groups), 2);
    assert_int_equal(json_len(json_member(item(groups, 0), "Tags")), 0);
    assert_string_equal(
        amz_tag(json_member(item(groups, 1), "Tags"), "kubernetes.io/cluster/kubernetes"), "owned");
    struct json_object *instance =
        item(json_member(item(json_member(ec2, "Reservations"), 1), "Instances"), 0);
    assert_string_equal(json_str(instance, "PrivateDnsName"), "ip-10-0-64-10.ec2.internal");
    assert_string_equal(json_str(item(json_member(instance, "SecurityGroups"), 0), "GroupId"),
                        json_str(item(groups, 1), "GroupId"));
    fixture_stop(f);
}

static void seed__same_seed__same_ids(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    const char *texts[3];
    struct arena *a = arena_new();
    for (uint64_t i = 0; i < 3; i++) {
        struct sim_config cfg = {.nodes = 2, .clock = clock, .seed = i / 2};
        struct fixture *f = amz_start(NULL, &cfg);
        texts[i] = json_text(a, amz_world(f, "ec2"), JSON_SORTED);
        fixture_stop(f);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_string_not_equal(texts[0], texts[2]);
    arena_free(a);
    clock_fake_free(clock);
}

static void seed__both_families_and_other_zones__as_asked(void **state)
{
    static const char *const zones[] = {"eu-central-1a", "eu-central-1b"};
    (void)state;
    struct sim_config cfg = {.nodes = 1, .ipv4 = true, .ipv6 = true, .zones = zones, .n_zones = 2};
    struct fixture *f = amz_start(NULL, &cfg);
    struct json_object *ec2 = amz_world(f, "ec2");
    struct json_object *blocks =
        json_member(item(json_member(ec2, "Subnets"), 1), "Ipv6CidrBlockAssociationSet");
    assert_string_equal(json_str(item(blocks, 0), "Ipv6CidrBlock"), "2600:1f18:42:1::/64");
    struct json_object *instance =
        item(json_member(item(json_member(ec2, "Reservations"), 0), "Instances"), 0);
    struct json_object *nic = item(json_member(instance, "NetworkInterfaces"), 0);
    assert_string_equal(json_str(item(json_member(nic, "Ipv6Addresses"), 0), "Ipv6Address"),
                        "2600:1f18:42::a");
    assert_string_equal(json_str(instance, "PrivateDnsName"),
                        "ip-10-0-0-10.eu-central-1.compute.internal");
    const struct amz_signer eu = {.region = "eu-central-1"};
    amz_expect(f, "its region", amz_call_as(f, &eu, "sts", "GetCallerIdentity", NULL), 200, NULL);
    fixture_must(f, "GET", "/api/v1/nodes", NULL);
    struct json_object *labels =
        json_path(item(json_member(f->answer, "items"), 0), "metadata.labels");
    assert_string_equal(json_str(labels, "topology.kubernetes.io/region"), "eu-central-1");
    assert_string_equal(json_str(labels, "topology.kubernetes.io/zone"), "eu-central-1a");
    fixture_stop(f);
}

static void region__of_each_zone__is_its_prefix(void **state)
{
    static const char *const rows[][2] = {
        {"us-east-1a", "us-east-1"},
        {"us-west-2-lax-1a", "us-west-2"},
        {"us-gov-east-1a", "us-gov-east-1"},
        {"some-fake-zone", NULL},
        {"", NULL},
        {"1a", NULL},
    };
    (void)state;
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = amz_region_of_zone(a, rows[i][0]);
        if (!str_eq(got, rows[i][1])) {
            fail_msg("%s: got %s, want %s", rows[i][0], str_nonnull(got), str_nonnull(rows[i][1]));
        }
    }
    arena_free(a);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static size_t count_nodes(struct fixture *f)
{
    fixture_must(f, "GET", "/api/v1/nodes", NULL);
    return json_len(json_member(f->answer, "items"));
}

static void nodes__added_and_removed__with_their_instances(void **state)
{
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":2}");
    assert_string_equal(json_object_get_string(item(json_member(f->answer, "nodes"), 0)),
                        "ip-10-0-0-11.ec2.internal");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"us-east-1c\"}");
    assert_string_equal(json_object_get_string(item(json_member(f->answer, "nodes"), 0)),
                        "ip-10-0-128-11.ec2.internal");
    assert_int_equal(count_nodes(f), 6);
    assert_int_equal(json_len(amz_world(f, "ec2.Reservations")), 6);
    fixture_must(f, "DELETE", "/sim/nodes/node-0", NULL);
    fixture_must(f, "DELETE", "/sim/nodes/ip-10-0-64-10.ec2.internal", NULL);
    assert_int_equal(count_nodes(f), 4);
    struct json_object *list = amz_world(f, "ec2.Reservations");
    for (size_t i = 0; i < 6; i++) {
        struct json_object *one = item(json_member(item(list, i), "Instances"), 0);
        assert_string_equal(json_str(json_member(one, "State"), "Name"),
                            i < 2 ? "terminated" : "running");
    }
    assert_int_equal(fixture_call(f, "DELETE", "/sim/nodes/node-0", NULL), 404);
    assert_int_equal(fixture_call(f, "POST", "/sim/nodes", "{\"count\":1,\"zone\":\"x-1a\"}"), 400);
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    assert_string_equal(json_object_get_string(item(json_member(f->answer, "nodes"), 0)),
                        "ip-10-0-0-10.ec2.internal");
    fixture_stop(f);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static struct json_object *recorded(struct arena *a)
{
    struct json_object *world = NULL;
    const char *text = fixture_data(a, "aws/world.json");
    assert_int_equal(json_parse_arena(a, text, strlen(text), NULL, &world, NULL), ERR_OK);
    return world;
}

static void world__recorded__is_dumped_as_it_came(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *world = recorded(a);
    struct sim_config cfg = {.world = world};
    struct fixture *f = amz_start(NULL, &cfg);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(json_text(f->a, json_member(f->answer, "aws"), JSON_SORTED_PRETTY),
                        json_text(f->a, json_member(world, "aws"), JSON_SORTED_PRETTY));
    const char *before = arena_strdup(f->a, f->text);
    fixture_must(f, "PUT", "/sim/state", before);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(f->text, before);
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    assert_string_equal(json_object_get_string(item(json_member(f->answer, "nodes"), 0)),
                        "ip-10-0-0-10.ec2.internal");
    struct json_object *list = amz_world(f, "ec2.Reservations");
    struct json_object *added = item(json_member(item(list, json_len(list) - 1), "Instances"), 0);
    assert_string_equal(json_str(added, "VpcId"), "vpc-c3f8576e598373f9b");
    assert_string_equal(amz_tag(json_member(added, "Tags"), "kubernetes.io/cluster/c1"), "owned");
    fixture_stop(f);
    arena_free(a);
}

static void world__that_is_none__refused_and_nothing_changes(void **state)
{
    static const char *const rows[] = {
        "{\"aws\":[]}",
        "{\"aws\":{\"ec2\":{\"Vpcs\":{}}}}",
        "{\"aws\":{\"ec2\":{\"Vpcs\":[{}]}}}",
        "{\"aws\":{\"ec2\":{\"Vpcs\":[{\"VpcId\":\"a\"},{\"VpcId\":\"a\"}]}}}",
        "{\"aws\":{\"elbv2\":{\"Attributes\":[]}}}",
        "{\"aws\":{\"ec2\":{\"Reservations\":[{\"ReservationId\":\"r\",\"Instances\":[{}]}]}}}",
        "{\"aws\":{\"ec2\":[]}}",
        "{\"aws\":{\"ec2\":{\"Vpcs\":[{\"VpcId\":\"a\",\"Tags\":{}}]}}}",
        "{\"aws\":{\"ec2\":{\"Subnets\":[{\"SubnetId\":\"a\",\"Tags\":[\"x\"]}]}}}",
        "{\"aws\":{\"ec2\":{\"Reservations\":[{\"ReservationId\":\"r\",\"Instances\":[{"
        "\"InstanceId\":"
        "\"i\",\"NetworkInterfaces\":[[]]}]}]}}}",
        ("{\"aws\":{\"ec2\":{\"InternetGateways\":[{\"InternetGatewayId\":\"i\",\"Attachments\":"
         "\"vpc\"}]}}}"),
        "{\"aws\":{\"elb\":{\"Attributes\":{\"a\":[]}}}}",
        "{\"aws\":{\"elbv2\":{\"TargetHealth\":{\"a\":[null]}}}}",
        "{\"aws\":{\"elbv2\":{\"TargetHealth\":{\"a\":[{\"Target\":[]}]}}}}",
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = arena_strdup(f->a, f->text);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(fixture_call(f, "PUT", "/sim/state", rows[i]), 400);
        fixture_must(f, "GET", "/sim/state", NULL);
        assert_string_equal(f->text, before);
    }
    fixture_stop(f);
}

static void world__settings_and_members_of_no_kind__are_kept(void **state)
{
    static const char world[] =
        "{\"aws\":{\"ec2\":{\"Vpcs\":[{\"VpcId\":\"vpc-1\",\"Colour\":\"red\"}],\"Fleets\":[1]},"
        "\"s3\":{\"Buckets\":[]}},\"sim\":{\"aws\":{\"page_size\":3}}}";
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    fixture_must(f, "PUT", "/sim/state", world);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(
        json_text(f->a, json_member(f->answer, "aws"), JSON_SORTED),
        "{\"ec2\":{\"Fleets\":[1],\"Vpcs\":[{\"Colour\":\"red\",\"VpcId\":\"vpc-1\"}]},\"s3\":{"
        "\"Buckets\":[]}}");
    assert_int_equal(json_int(json_path(f->answer, "sim.aws"), "page_size", 0), 3);
    fixture_stop(f);
}

static void world__bare_documents__nodes_and_metadata_all_the_same(void **state)
{
    static const char world[] =
        "{\"aws\":{\"ec2\":{\"Vpcs\":[{\"VpcId\":\"vpc-1\"}],\"Subnets\":[{\"SubnetId\":\"subnet-"
        "1\","
        "\"VpcId\":\"vpc-1\",\"AvailabilityZone\":\"us-east-1a\",\"CidrBlock\":\"10.0.0.0/24\"}],"
        "\"Reservations\":[{\"ReservationId\":\"r-1\",\"Instances\":[{\"InstanceId\":\"i-1\"}]}]}},"
        "\"sim\":{\"aws\":{\"imds_tokens\":\"optional\"}}}";
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    fixture_must(f, "PUT", "/sim/state", world);
    fixture_must(f, "GET", "/latest/meta-data/instance-id", NULL);
    assert_string_equal(f->text, "i-1");
    fixture_must(f, "POST", "/sim/nodes", "{\"count\":1}");
    assert_int_equal(json_len(amz_world(f, "ec2.Reservations")), 2);
    amz_must(f, "ec2", "DescribeInstances", NULL);
    amz_must(f, "ec2", "DescribeNetworkInterfaces", NULL);
    fixture_stop(f);
}

/* --- configuration ---------------------------------------------------------------------------- */

static void configuration__names_this_simulator(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct event_base *base = event_base_new();
    struct sim_config cfg = {.cloud = "aws"};
    struct sim *s = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(sim_new(base, &cfg, &s, &err), ERR_OK);
    void *aws = sim_module_state(s, "aws");
    const char *conf = sim_aws_cloud_config(aws, a);
    assert_non_null(strstr(conf, "[Global]\nRegion = us-east-1\nVPC = vpc-"));
    assert_non_null(strstr(conf, "\nKubernetesClusterID = kubernetes\n"));
    assert_non_null(
        strstr(conf, arena_printf(a,
                                  "[ServiceOverride \"3\"]\nService = Elastic Load Balancing v2\n"
                                  "Region = us-east-1\nURL = %s\nSigningRegion = us-east-1\n",
                                  sim_url(s))));
    const char *env = sim_aws_env(aws, a, "/d/ca.crt");
    assert_non_null(strstr(env, "AWS_ACCESS_KEY_ID=" AMZ_ACCESS_KEY "\n"));
    assert_non_null(strstr(env, "AWS_CA_BUNDLE=/d/ca.crt\n"));
    assert_null(strstr(sim_aws_env(aws, a, NULL), "ca.crt"));
    sim_free(s);
    http_server_free_loop(base);
    arena_free(a);
}

UNIT_MAIN(worlds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed__default__tagged_public_subnet_per_zone),
        cmocka_unit_test(seed__same_seed__same_ids),
        cmocka_unit_test(seed__both_families_and_other_zones__as_asked),
        cmocka_unit_test(region__of_each_zone__is_its_prefix),
        cmocka_unit_test(nodes__added_and_removed__with_their_instances),
        cmocka_unit_test(world__recorded__is_dumped_as_it_came),
        cmocka_unit_test(world__that_is_none__refused_and_nothing_changes),
        cmocka_unit_test(world__settings_and_members_of_no_kind__are_kept),
        cmocka_unit_test(world__bare_documents__nodes_and_metadata_all_the_same),
        cmocka_unit_test(configuration__names_this_simulator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
