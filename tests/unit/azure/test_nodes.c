/* SPDX-License-Identifier: Apache-2.0 */
/* test_nodes.c: nodes and machines, and their spread over several balancers; rows M-01 to M-07 and
 * U-09 of the Azure specification. */
#include "tests/unit/azure/azure_test.h"

#include "common/lb/service_rules.h"
#include "providers/azure/members/azure_members_rules.h"
#include "providers/azure/members/azure_spread_rules.h"
#include "providers/azure/model/azure_node_rules.h"
#include "tests/support/unit.h"

#define POOL(lb)                                                                                   \
    "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/loadBalancers/" lb             \
    "/backendAddressPools/p"

static void pools__M_01_to_M_05(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *pool, *other;
        int code;
        bool same;
        const char *lb;
    } rows[] = {
        {"M-01", POOL("lb1"), POOL("lb1"), ERR_OK, true, "lb1"},
        {"M-02", POOL("lb1-internal"), POOL("lb1"), ERR_OK, true, "lb1"},
        {"M-02", POOL("lb1"), POOL("lb1-internal"), ERR_OK, true, "lb1-internal"},
        {"M-03", POOL("lb1"), POOL("lb2"), ERR_OK, false, "lb2"},
        {"M-04", "lb1", POOL("lb1"), ERR_INVALID, false, NULL},
        {"M-04", POOL("lb1"), "/subscriptions/s/loadBalancers/lb1", ERR_INVALID, false, NULL},
        {"M-05", POOL("malformed-lb1-internal"), POOL("malformed-lb1-lanretni"), ERR_OK, false,
         "malformed-lb1-lanretni"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool same = false;
        const char *lb = NULL;
        int code = azure_pool_same_lb(a, rows[i].pool, rows[i].other, &same, &lb, NULL);
        if (code != rows[i].code || same != rows[i].same) {
            fail_msg("%s: got %s, same %d", rows[i].row, err_code_name(code), same);
        }
        same_text(rows[i].row, lb, rows[i].lb);
    }
}

static void preconfigured__M_06(void **state)
{
    (void)state;
    static const struct {
        const char *types;
        bool internal, external;
    } rows[] = {{"all", true, true},
                {"internal", true, false},
                {"external", false, true},
                {"", false, false},
                {"All", false, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c = azure_test_config();
        c.preconfigured_pools = rows[i].types;
        if (azure_lb_is_preconfigured(&c, true) != rows[i].internal ||
            azure_lb_is_preconfigured(&c, false) != rows[i].external) {
            fail_msg("M-06: %s", rows[i].types);
        }
    }
}

static const struct tt_node *node_with(struct arena *a, const char *labels)
{
    return test_node_text(a,
                          arena_printf(a, "{\"metadata\":{\"name\":\"n\",\"labels\":%s}}", labels));
}

static void filters__M_07_and_7_1(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *labels;
        bool control_plane, excluded;
    } rows[] = {
        {"M-07", "{\"node-role.kubernetes.io/control-plane\":\"\"}", true, false},
        {"M-07", "{\"node-role.kubernetes.io/master\":\"\"}", true, false},
        {"M-07", "{\"kubernetes.io/role\":\"master\"}", true, false},
        {"M-07", "{\"kubernetes.io/role\":\"Master\"}", false, false},
        {"M-07", "{}", false, false},
        {"7.1", "{\"kubernetes.azure.com/managed\":\"False\"}", false, true},
        {"7.1", "{\"kubernetes.azure.com/managed\":\"true\"}", false, false},
        {"7.1", "{\"node.kubernetes.io/exclude-from-external-load-balancers\":\"false\"}", false,
         true},
        {"7.1", "{\"kubernetes.azure.com/resource-group\":\"other\"}", false, true},
        {"7.1", "{\"kubernetes.azure.com/resource-group\":\"RG\"}", false, false},
        {"7.1", "{\"kubernetes.azure.com/resource-group\":\"\"}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_node *n = node_with(a, rows[i].labels);
        if (azure_node_is_control_plane(n) != rows[i].control_plane ||
            azure_node_is_excluded(n, "rg", false) != rows[i].excluded) {
            fail_msg("%s: %s", rows[i].row, rows[i].labels);
        }
    }
    assert_true(azure_node_is_excluded(node_with(a, "{}"), "rg", true));
}

static void addresses__U_09(void **state)
{
    struct arena *a = *state;
    const struct tt_node *n =
        test_node_text(a, "{\"metadata\":{\"name\":\"n\"},\"status\":{\"addresses\":["
                          "{\"type\":\"ExternalIP\",\"address\":\"10.244.0.1\"},"
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"},"
                          "{\"type\":\"InternalIP\",\"address\":\"2001::1\"}]}}");
    size_t count;
    const char **ips = azure_node_internal_ips(a, n, &count);
    same_text("U-09", azure_node_internal_ip(n, AZURE_IPV4), "10.0.0.1");
    same_text("U-09", azure_node_internal_ip(n, AZURE_IPV6), "2001::1");
    assert_int_equal(count, 2);
    same_text("U-09", ips[1], "2001::1");
    same_text("U-09", azure_node_internal_ip(node_with(a, "{}"), AZURE_IPV4), "");
}

#define COMPUTE "azure:///subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/"

static void machines__provider_ids(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *id;
        int code;
        const char *scale_set, *name;
    } rows[] = {
        {COMPUTE "virtualMachines/vm1", ERR_OK, NULL, "vm1"},
        {COMPUTE "virtualMachineScaleSets/vmss/virtualMachines/12", ERR_OK, "vmss", "12"},
        {"azure:///SUBSCRIPTIONS/s/resourcegroups/RG/providers/microsoft.compute/VIRTUALMACHINES/v",
         ERR_OK, NULL, "v"},
        {COMPUTE "virtualMachineScaleSets/vmss/virtualMachines/x", ERR_INVALID, NULL, NULL},
        {COMPUTE "virtualMachineScaleSets/vmss", ERR_INVALID, NULL, NULL},
        {COMPUTE "virtualMachines/", ERR_INVALID, NULL, NULL},
        {COMPUTE "virtualMachines/vm1/extensions/e", ERR_INVALID, NULL, NULL},
        {"azure:///subscriptions/s/providers/Microsoft.Compute/virtualMachines/v", ERR_INVALID,
         NULL, NULL},
        {"aws:///eu/i-1", ERR_INVALID, NULL, NULL},
        {"azure://", ERR_INVALID, NULL, NULL},
        {"", ERR_INVALID, NULL, NULL},
        {NULL, ERR_INVALID, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_machine m = {0};
        int code = azure_machine_parse(a, rows[i].id, &m, NULL);
        if (code != rows[i].code) {
            fail_msg("%s: got %s", rows[i].id, err_code_name(code));
        }
        same_text(rows[i].id, m.scale_set, rows[i].scale_set);
        same_text(rows[i].id, m.name, rows[i].name);
        if (code == ERR_OK) {
            same_text(rows[i].id, m.resource_group, "RG");
            same_text(rows[i].id, m.subscription, "s");
        }
    }
}

/* ---- spread ---------------------------------------------------------------------------------- */

static struct azure_selector selector(struct arena *a, const char *text)
{
    struct azure_selector s;
    assert_int_equal(azure_selector_decode(a, pure_json(a, text), &s, NULL), ERR_OK);
    return s;
}

/* One node, its labels and VM set, where it is, where it has to be; lb1 and lb2 exist,
 * lb3 does not. */
/* Equal digests: pools and balancers see no difference. */
static void node_digest__what_pools_read__and_what_they_do_not(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *first, *then;
        bool same, none; /* none: `then` is in no pool */
    } rows[] = {
        {"{}", "{\"rack\":\"7\"}", true, false},
        {"{}", "{\"" LB_EXCLUDE_LABEL "\":\"false\"}", false, true},
        {"{}", "{\"kubernetes.azure.com/managed\":\"false\"}", false, true},
        {"{}", "{\"kubernetes.azure.com/managed\":\"true\"}", true, false},
        {"{}", "{\"kubernetes.azure.com/resource-group\":\"rg2\"}", false, true},
        {"{}", "{\"node-role.kubernetes.io/master\":\"\"}", false, false},
        {"{}", "{\"pool\":\"a\"}", false, false},
        {"{\"pool\":\"a\"}", "{\"pool\":\"b\"}", false, false},
        {"{\"pool\":\"b\"}", "{\"pool\":\"c\"}", true, false},
    };
    struct azure_lb_config lb = {.name = "lb1", .primary_vm_set = "s"};
    struct azure_config c = azure_test_config();
    lb.nodes = selector(a, "{\"matchLabels\":{\"pool\":\"a\"}}");
    c.lbs = &lb;
    c.n_lbs = 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t first = azure_node_digest(&c, node_with(a, rows[i].first));
        uint64_t then = azure_node_digest(&c, node_with(a, rows[i].then));
        if (first == 0 || (first == then) != rows[i].same || (then == 0) != rows[i].none) {
            fail_msg("row %zu", i);
        }
    }
    assert_int_not_equal(
        azure_node_digest(&c, node_with(a, "{}")),
        azure_node_digest(&c, test_node_text(a, "{\"metadata\":{\"name\":\"n\"},\"status\":{"
                                                "\"addresses\":[{\"type\":\"InternalIP\","
                                                "\"address\":\"10.0.0.1\"}]}}")));
}

static void spread__one_node(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *why, *labels, *vm_set, *coming;
        size_t now, want;
    } rows[] = {
        {"VM set", "{}", "SET2", NULL, AZURE_NO_LB, 1},
        {"VM set moves it", "{}", "set2", NULL, 0, 1},
        {"VM set of a balancer that is not there", "{}", "set3", NULL, AZURE_NO_LB, 1},
        {"VM set of one that comes", "{}", "set3", "lb3-internal", AZURE_NO_LB, 2},
        {"selector", "{\"pool\":\"a\"}", "x", NULL, AZURE_NO_LB, 0},
        {"selector moves it", "{\"pool\":\"a\"}", "x", NULL, 1, 0},
        {"no selector matches", "{\"pool\":\"b\"}", "x", NULL, AZURE_NO_LB, 1},
        {"it stays", "{}", "x", NULL, 1, 1},
        {"selector of a balancer that is not there", "{\"pool\":\"c\"}", "x", NULL, AZURE_NO_LB,
         AZURE_NO_LB},
    };
    struct azure_lb_config lbs[] = {
        {.name = "lb1",
         .primary_vm_set = "set1",
         .nodes = selector(a, "{\"matchLabels\":{"
                              "\"pool\":\"a\"}}")},
        {.name = "lb2", .primary_vm_set = "set2"},
        {.name = "lb3",
         .primary_vm_set = "set3",
         .nodes = selector(a, "{\"matchLabels\":{"
                              "\"pool\":\"c\"}}")},
    };
    struct azure_config c = azure_test_config();
    c.lbs = lbs;
    c.n_lbs = ARRAY_LEN(lbs);
    struct azure_lbs existing;
    existing.items =
        azure_test_docs(a, "[{\"name\":\"LB1\"},{\"name\":\"lb2-internal\"}]", &existing.n);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_spread_node node = {
            .node = node_with(a, rows[i].labels), .vm_set = rows[i].vm_set, .lb = rows[i].now};
        assert_int_equal(azure_spread_nodes(a, &c, &existing, rows[i].coming, &node, 1, NULL),
                         ERR_OK);
        if (node.lb != rows[i].want) {
            fail_msg("%s: got %zu, want %zu", rows[i].why, node.lb, rows[i].want);
        }
    }
}

static void spread__many_nodes__evenly_and_those_that_are_there_stay(void **state)
{
    struct arena *a = *state;
    struct azure_lb_config lbs[] = {{.name = "lb1", .primary_vm_set = "set1"},
                                    {.name = "lb2", .primary_vm_set = "set2"}};
    struct azure_config c = azure_test_config();
    c.lbs = lbs;
    c.n_lbs = ARRAY_LEN(lbs);
    struct azure_lbs none = {0};
    struct azure_lbs both;
    both.items = azure_test_docs(a, "[{\"name\":\"lb1\"},{\"name\":\"lb2\"}]", &both.n);
    static const struct {
        const char *vm_set;
        size_t now, want;
    } rows[] = {{"set1", AZURE_NO_LB, 0}, {"set1", AZURE_NO_LB, 0}, {"x", 0, 0},
                {"x", AZURE_NO_LB, 1},    {"x", AZURE_NO_LB, 1},    {"x", AZURE_NO_LB, 1},
                {"x", AZURE_NO_LB, 0}};
    struct azure_spread_node nodes[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        nodes[i] = (struct azure_spread_node){
            .node = node_with(a, "{}"), .vm_set = rows[i].vm_set, .lb = rows[i].now};
    }
    assert_int_equal(azure_spread_nodes(a, &c, &both, NULL, nodes, ARRAY_LEN(rows), NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (nodes[i].lb != rows[i].want) {
            fail_msg("node %zu: got %zu, want %zu", i, nodes[i].lb, rows[i].want);
        }
    }
    assert_int_equal(azure_spread_nodes(a, &c, &none, NULL, nodes, 1, NULL), ERR_OK);
    assert_true(nodes[0].lb == AZURE_NO_LB);
    lbs[0].nodes = selector(a, "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Near\"}]}");
    struct err err = ERR_INIT;
    nodes[0].vm_set = "x";
    assert_int_equal(azure_spread_nodes(a, &c, &both, NULL, nodes, 1, &err), ERR_INVALID);
    same_text("error", err.message,
              "nodeSelector of load balancer \"lb1\": label selector: k: operator \"Near\": want "
              "In, NotIn, Exists or DoesNotExist");
}

/* A refusal of Kubernetes is returned with its code, also without `err`. */
static void refused_selectors__the_code_counts_without_a_text(void **state)
{
    static const char bad[] =
        "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[]}]}";
    struct arena *a = *state;
    struct azure_lb_config lb = {.name = "lb1", .primary_vm_set = "s", .allow_placement = true};
    struct azure_config c = azure_test_config();
    c.lbs = &lb;
    c.n_lbs = 1;
    const struct azure_naming naming = {.config = &c, .cluster = "kubernetes"};
    const struct azure_placement p = {.naming = &naming};
    const struct azure_service *s =
        azure_service_read(a, &naming, azure_test_service(a, "web", NULL, "\"ports\":[]"));
    const char *lb_name;
    struct err err = ERR_INIT;
    lb.services = selector(a, bad);
    assert_int_equal(azure_place(a, &p, s, true, &lb_name, NULL), ERR_INVALID);
    assert_int_equal(azure_place(a, &p, s, true, &lb_name, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "serviceLabelSelector of load balancer \"lb1\": "));
    lb.services = (struct azure_selector){0};
    lb.namespaces = selector(a, bad);
    assert_int_equal(azure_place(a, &p, s, true, &lb_name, NULL), ERR_INVALID);
    lb.nodes = selector(a, bad);
    struct azure_lbs none = {0};
    struct azure_spread_node node = {.node = node_with(a, "{}"), .vm_set = "", .lb = AZURE_NO_LB};
    assert_int_equal(azure_spread_nodes(a, &c, &none, NULL, &node, 1, NULL), ERR_INVALID);
}

UNIT_MAIN(nodes)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(pools__M_01_to_M_05),
        PURE_TEST(preconfigured__M_06),
        PURE_TEST(filters__M_07_and_7_1),
        PURE_TEST(addresses__U_09),
        PURE_TEST(machines__provider_ids),
        PURE_TEST(node_digest__what_pools_read__and_what_they_do_not),
        PURE_TEST(spread__one_node),
        PURE_TEST(spread__many_nodes__evenly_and_those_that_are_there_stay),
        PURE_TEST(refused_selectors__the_code_counts_without_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
