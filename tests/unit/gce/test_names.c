/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c: names, descriptions and links; rows N1–N13 and Z1–Z24 of the GCE specification. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_node_rules.h"
#include "tests/support/unit.h"

static void names__rows(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *uid, *lb;
    } rows[] = {
        {"N1", "11111111-2222-3333-4444-555555555555", "a1111111122223333444455555555555"},
        {"N2", "fd9b2c7e-4f5a-4a0c-9f0e-0123456789ab", "afd9b2c7e4f5a4a0c9f0e0123456789a"},
        {"N3", "shortuidwith19chars", "ashortuidwith19chars"},
        {"N4", "nextremelylonguidwithmorethan32characters", "anextremelylonguidwithmorethan32"},
        {"N5", "", "a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service s = {.ns = "d", .name = "s", .uid = rows[i].uid};
        struct gce_names n;
        gce_names_make(a, &s, "test-cluster-id", &n);
        same_text(rows[i].row, n.lb, rows[i].lb);
        same_text(rows[i].row, n.firewall, arena_printf(a, "k8s-fw-%s", rows[i].lb));
        same_text(rows[i].row, n.deny_firewall, arena_printf(a, "k8s-fw-%s-deny", rows[i].lb));
        same_text("N13", n.local_check_firewall, arena_printf(a, "k8s-%s-http-hc", rows[i].lb));
        same_text("N6", n.node_check, "k8s-test-cluster-id-node");
        same_text("N6", n.node_check_firewall, "k8s-test-cluster-id-node-http-hc");
        same_text("N12", n.description, "{\"kubernetes.io/service-name\":\"d/s\"}");
        same_text("4.2", n.node_check_description,
                  "{\"kubernetes.io/service-name\":\"k8s-test-cluster-id-node\"}");
        same_text("4.2", n.node_check_firewall_description,
                  "{\"kubernetes.io/cluster-id\":\"test-cluster-id\"}");
        same_text("4.2", n.local_check_description,
                  arena_printf(a, "{\"kubernetes.io/service-name\":\"%s\"}", rows[i].lb));
    }
    same_text("N11", gce_names_firewall_description(a, "", "fakesvc", "1.2.3.0"),
              "{\"kubernetes.io/service-name\":\"/fakesvc\", "
              "\"kubernetes.io/service-ip\":\"1.2.3.0\"}");
}

static void region__Z1_Z2(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    const char *region = NULL;
    assert_int_equal(gce_region_of_zone(a, "us-central1-b", &region, &err), ERR_OK);
    assert_string_equal(region, "us-central1");
    assert_int_equal(gce_region_of_zone(a, "uscentral1f", &region, &err), ERR_INVALID);
    assert_string_equal(err.message, "unexpected zone: uscentral1f");
}

static void provider_id__Z3_Z4_Z5(void **state)
{
    struct arena *a = *state;
    static const char *const good[][4] = {
        {"gce://project-example-164317/us-central1-f/kubernetes-node-fhx1",
         "project-example-164317", "us-central1-f", "kubernetes-node-fhx1"},
        {"gce://project-example.164317/us-central1-f/n", "project-example.164317", "us-central1-f",
         "n"},
    };
    static const char *const bad[] = {
        "gce://p/us-central1-fkubernetes-node",
        "gce:/p/z/n",
        "aws://p/z/n",
        "gce://p/z/n/",
        "gce://p//n",
        "gce://p/n",
        "gce://",
        "",
        NULL,
    };
    struct gce_instance_id id;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(gce_instance_from_provider_id(a, good[i][0], &id, NULL), ERR_OK);
        same_text("project", id.project, good[i][1]);
        same_text("zone", id.zone, good[i][2]);
        same_text("name", id.name, good[i][3]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(gce_instance_from_provider_id(a, bad[i], &id, NULL), ERR_INVALID);
    }
}

static void node_zone__Z6_to_Z10(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][3] = {
        {"Z6", "{}", ""},
        {"Z7", "{\"topology.kubernetes.io/zone\":\"zone-a\"}", "zone-a"},
        {"Z8", "{\"failure-domain.beta.kubernetes.io/zone\":\"zone-b\"}", "zone-b"},
        {"Z9", "{\"topology.kubernetes.io/region\":\"r\"}", ""},
        {"Z10",
         "{\"topology.kubernetes.io/zone\":\"\",\"failure-domain.beta.kubernetes.io/zone\":\"b\"}",
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_node *n =
            test_node_text(a, arena_printf(a, "{\"metadata\":{\"labels\":%s}}", rows[i][1]));
        same_text(rows[i][0], gce_node_zone(n), rows[i][2]);
    }
}

static void links__Z11_Z12__same_resource_whatever_host_and_version(void **state)
{
    (void)state;
    const char *one = "https://www.googleapis.com/compute/v1/projects/p/zones/z/instances/n1";
    assert_true(gce_link_same(one, "https://compute.googleapis.com/compute/beta/projects/p/zones/z/"
                                   "instances/n1"));
    assert_true(gce_link_same(one, "projects/p/zones/z/instances/n1"));
    assert_false(gce_link_same(one, "projects/p/zones/z/instances/n"));
    assert_false(gce_link_same(one, "projects/p/zones/y/instances/n1"));
    assert_false(gce_link_same(one, "projects/q/zones/z/instances/n1"));
    assert_true(gce_link_same("x", "x"));
    assert_string_equal(gce_link_zonal_tail(one), "/zones/z/instances/n1");
    assert_string_equal(gce_link_zonal_tail("x"), "");
}

static void links__Z13_to_Z18(void **state)
{
    struct arena *a = *state;
    struct gce_link l;
    assert_int_equal(
        gce_link_parse(a, "https://x/projects/my-project/regions/us-west2/subnetworks/b", &l, NULL),
        ERR_OK);
    same_text("Z13", l.region, "us-west2");
    same_text("Z14", gce_link_last("https://x/subnetworks/a"), "a");
    same_text("Z14", gce_link_last("d"), "d");
    same_text("Z14", gce_link_last(""), "");
    static const char *const bases[] = {"path/to/api/projects/", "path/to/api/projects",
                                        "path/to/api/", "path/to/api"};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        same_text("Z15", gce_projects_base(a, bases[i]), "path/to/api/projects/");
    }
    same_text("Z16", gce_projects_base(a, "https://compute.googleapis.com/compute/v1/"),
              "https://compute.googleapis.com/compute/v1/projects/");
    assert_int_equal(
        gce_link_parse(a, "projects/project/regions/us-central1/subnetworks", &l, NULL),
        ERR_INVALID);
    assert_int_equal(gce_link_parse(a, "invalid", &l, NULL), ERR_INVALID);
    assert_int_equal(gce_link_parse(a, "http://127.0.0.1:8080/v1/projects/p/global/x/y", &l, NULL),
                     ERR_INVALID);
    same_text("Z24", gce_canonical_name(a, "n1.c.proj.internal"), "n1");
}

/* Texts that upstream's pattern for the API group accepts, found by asking it. */
static void links__api_group_before_the_version__must_be_known(void **state)
{
    static const struct {
        const char *url;
        int code;
    } rows[] = {
        {"v1/projects/p/global/x/y", ERR_OK}, /* nothing stands before it */
        {"compute/v1/projects/p/global/x/y", ERR_OK},
        {"x-compute/v1/projects/p/global/x/y", ERR_OK},
        {"https://networkservices.googleapis.com/v1/projects/p/global/x/y", ERR_OK},
        {"https://h/compute/staging_v1/projects/p/global/x/y", ERR_OK},
        {"xcompute/v1/projects/p/global/x/y", ERR_INVALID},
        {"/v1/projects/p/global/x/y", ERR_INVALID},
        {"https://dns.googleapis.com/v1/projects/p/global/x/y", ERR_INVALID},
        {"projects/p/zones/beta/projects/x", ERR_INVALID}, /* wherever it stands */
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_link l;
        if (gce_link_parse(a, rows[i].url, &l, NULL) != rows[i].code) {
            fail_msg("%s: want %s", rows[i].url, err_code_name(rows[i].code));
        }
    }
}

static void subnets__Z22(void **state)
{
    struct arena *a = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static const char *const cidrs[] = {"10.0.0.0/20", "10.0.16.0/20", "10.132.0.0/20",
                                        "10.0.32.0/20", "10.134.0.0/20"};
    const char **got;
    size_t n;
    assert_int_equal(gce_subnets_in_auto_range(a, names, cidrs, 5, &got, &n, NULL), ERR_OK);
    assert_int_equal(n, 2);
    assert_string_equal(got[0], "c");
    assert_string_equal(got[1], "e");
    static const char *const broken[] = {"10.0.0.0"};
    assert_int_equal(gce_subnets_in_auto_range(a, names, broken, 1, &got, &n, NULL), ERR_INVALID);
}

static void members__only_eligible_nodes_of_project_and_region(void **state)
{
    struct arena *a = *state;
    static const char *const ids[] = {"gce://p/us-central1-a/n0", "", "gce://q/us-central1-a/n2",
                                      "gce://p/europe-west1-b/n3", "nonsense"};
    const struct tt_node *nodes[ARRAY_LEN(ids) + 1];
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        nodes[i] = test_node_text(a, arena_printf(a,
                                                  "{\"metadata\":{\"name\":\"n%zu\"},\"spec\":{"
                                                  "\"providerID\":\"%s\"}}",
                                                  i, ids[i]));
    }
    nodes[ARRAY_LEN(ids)] =
        test_node_text(a, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"node.kubernetes.io/"
                          "exclude-from-external-load-balancers\":\"true\"}},"
                          "\"spec\":{\"providerID\":\"gce://p/us-central1-a/x\"}}");
    struct gce_members m;
    gce_members_of(a, nodes, ARRAY_LEN(nodes), "p", "us-central1", &m);
    assert_int_equal(m.n_eligible, 5);
    assert_int_equal(m.paths.n, 1);
    assert_string_equal(m.paths.items[0], "/zones/us-central1-a/instances/n0");
    assert_int_equal(m.n_left_out, 4);
    assert_string_equal(m.left_out[0].because, "it has no providerID yet");
    gce_members_of(a, nodes, ARRAY_LEN(nodes), "123456", "us-central1", &m);
    assert_int_equal(m.paths.n, 2); /* the project is known by number only */
}

static void host_tags__W24_W25(void **state)
{
    struct arena *a = *state;
    static const char *tags[] = {"gke-c1", "gke-c1-pool", "http"};
    static const char *web[] = {"web"};
    const struct gce_instance_id hosts[] = {{"p", "z", "gke-c1-pool-abc"}};
    struct gce_instance in = {
        .name = "gke-c1-pool-abc", .zone = "https://x/projects/p/zones/z", .tags = {tags, 3}};
    struct str_set got;
    assert_int_equal(gce_host_tags(a, hosts, 1, &in, 1, &got, NULL), ERR_OK);
    assert_int_equal(got.n, 1);
    assert_string_equal(got.items[0], "gke-c1-pool");
    in.tags = (struct gce_strs){web, 1};
    struct err err = ERR_INIT;
    assert_int_equal(gce_host_tags(a, hosts, 1, &in, 1, &got, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "could not find any tag that is a prefix"));
    in.zone = "other";
    assert_int_equal(gce_host_tags(a, hosts, 1, &in, 1, &got, &err), ERR_INVALID);
    assert_string_equal(err.message, "no instances found");
    same_text("7.2", gce_instances_filter(a, "gke-"), "name eq gke-.*");
    same_text("7.2", gce_instances_filter(a, ""), "name eq .*");
}

UNIT_MAIN(names)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(names__rows),
        PURE_TEST(region__Z1_Z2),
        PURE_TEST(provider_id__Z3_Z4_Z5),
        PURE_TEST(node_zone__Z6_to_Z10),
        PURE_TEST(links__Z11_Z12__same_resource_whatever_host_and_version),
        PURE_TEST(links__Z13_to_Z18),
        PURE_TEST(links__api_group_before_the_version__must_be_known),
        PURE_TEST(subnets__Z22),
        PURE_TEST(members__only_eligible_nodes_of_project_and_region),
        PURE_TEST(host_tags__W24_W25),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
