/* SPDX-License-Identifier: Apache-2.0 */
/* test_pools.c: pools of addresses, pools that go or change their kind, pools of several balancers;
 * sections 5.5, 6.11 and 7.5 to 7.7 of the Azure specification. */
#include "tests/support/unit.h"
#include "tests/unit/azure/members_rows.h"

/* ---- pools of addresses ---------------------------------------------------------------------- */

static void addresses__7_6(void **state)
{
    static const struct row rows[] = {
        {"all are there", TWO, "10.0.0.4 10.0.0.5",
         .want = "1 backend address pool kubernetes: \n"},
        {"one joins", TWO, "10.0.0.4", .want = "1 backend address pool kubernetes: 1 node joins\n"},
        {"one leaves", "n0 vmss/0 10.0.0.4\n", "10.0.0.4 10.0.0.9",
         .want = "1 backend address pool kubernetes: 1 node leaves\n"},
        {"never the last ones", "n0 vmss/0 10.0.0.4 out\n", "10.0.0.4",
         .want = "1 backend address pool kubernetes: \n"},
        {"the control plane never", "n0 vmss/0 10.0.0.4 kubernetes.io/role=master\n", "",
         .want = ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *w = world_new(*state);
        w->config.pool_type = AZURE_POOL_IP;
        build(w, &rows[i]);
        same_text(rows[i].what, world_show(w, planned(w)), rows[i].want);
    }
}

static void addresses__document(void **state)
{
    static const struct row r = {"", TWO, "10.0.0.4", .want = ""};
    struct world *w = world_new(*state);
    w->config.pool_type = AZURE_POOL_IP;
    build(w, &r);
    struct lb_plan *plan = planned(w);
    const struct azure_write *x = world_write(plan, 0);
    same_text("no If-Match", x->spec.if_match, NULL);
    same_text("body", json_text(*state, x->spec.body, JSON_COMPACT),
              "{\"name\":\"kubernetes\",\"id\":\"" POOL(
                  "kubernetes") "\",\"properties\":{"
                                "\"backendIPConfigurations\":[],\"loadBalancerBackendAddresses\":["
                                "{\"name\":\"x\",\"properties\":{\"ipAddress\":\"10.0.0.4\"}},"
                                "{\"name\":\"n1\",\"properties\":{\"ipAddress\":\"10.0.0.5\"}}],"
                                "\"virtualNetwork\":{\"id\":\"" RG
                                "Microsoft.Network/virtualNetworks/vnet\"}}}");
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void decouple__models_first(void **state)
{
    static const struct row r = {"",
                                 TWO,
                                 "vmss/0 nic:nic1",
                                 {"vmss " POOL("kubernetes"), "b"},
                                 {"vmss 0 running " POOL("kubernetes")},
                                 {"nic1 vm1 " POOL("kubernetes")},
                                 .want = ""};
    static const struct {
        enum azure_vm_type type;
        const char *want;
    } rows[] = {{AZURE_VM_VMSS, "1 scale set vmss: leaves kubernetes\n"
                                "2 scale set instance 0: leaves kubernetes\n"
                                "2 network interface nic1: leaves kubernetes\n"},
                {AZURE_VM_STANDARD, "1 scale set vmss: leaves kubernetes\n"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *w = world_new(*state);
        struct lb_plan plan;
        const char *const keys[] = {"default/web"};
        const struct str_set owners = str_set_make(*state, keys, 1);
        w->config.vm_type = rows[i].type;
        build(w, &r);
        lb_plan_init(&plan, w->a);
        assert_int_equal(azure_plan_decouple(&w->y, w->lbs[0], &owners, &plan, NULL), ERR_OK);
        same_text("6.11", world_show(w, &plan), rows[i].want);
    }
}

/* A machine that is in the pools of two balancers leaves both by one write, else the second would
 * bring back the first. */
static void decouple__two_balancers_one_write(void **state)
{
    static const char internal[] = LB("kubernetes-internal") "/backendAddressPools/kubernetes";
    static const struct row r = {"",
                                 TWO,
                                 "vmss/0 nic:nic1",
                                 {"vmss " POOL("kubernetes") " " LB(
                                     "kubernetes-internal") "/backendAddressPools/kubernetes"},
                                 {"vmss 0 running " POOL("kubernetes") " " LB(
                                     "kubernetes-internal") "/backendAddressPools/kubernetes"},
                                 {"nic1 vm1 " POOL("kubernetes") " " LB(
                                     "kubernetes-internal") "/backendAddressPools/kubernetes"},
                                 .want = ""};
    struct world *w = world_new(*state);
    struct lb_plan plan;
    build(w, &r);
    struct json_object *twin = json_copy(w->lbs[0]);
    json_add_str(twin, "name", "kubernetes-internal");
    w->lbs[w->y.lbs.n++] = azure_own(w->a, twin);
    lb_plan_init(&plan, w->a);
    for (size_t i = 0; i < 2; i++) {
        const char *const key = i == 0 ? "default/web" : "default/api";
        const struct str_set owners = str_set_make(w->a, &key, 1);
        assert_int_equal(azure_plan_decouple(&w->y, w->lbs[i], &owners, &plan, NULL), ERR_OK);
    }
    same_text("6.11", world_show(w, &plan),
              "1 scale set vmss: leaves kubernetes; leaves kubernetes\n"
              "2 scale set instance 0: leaves kubernetes; leaves kubernetes\n"
              "2 network interface nic1: leaves kubernetes; leaves kubernetes\n");
    for (size_t i = 0; i < plan.n_ops; i++) {
        const char *body = json_text(w->a, world_write(&plan, i)->spec.body, JSON_COMPACT);
        assert_null(strstr(body, internal));
        assert_null(strstr(body, POOL("kubernetes")));
        assert_int_equal(plan.ops[i].owners.n, 2);
    }
}

static void convert__7_5_and_7_6(void **state)
{
    static const struct {
        const char *what;
        enum azure_pool_type type;
        bool api;
        const char *members, *want;
    } rows[] = {
        {"right kind", AZURE_POOL_NIC, false, "vmss/0", ""},
        {"only a model is of the old kind", AZURE_POOL_IP, false, "10.0.0.4",
         "1 scale set vmss: leaves kubernetes\n"},
        {"7.5", AZURE_POOL_NIC, false, "10.0.0.4",
         "1 backend address pool kubernetes: addresses leave\n"},
        {"7.6", AZURE_POOL_IP, false, "vmss/0",
         "1 scale set vmss: leaves kubernetes\n2 scale set instance 0: leaves kubernetes\n"},
        {"7.6 by Azure", AZURE_POOL_IP, true, "vmss/0",
         "1 scale set vmss: leaves kubernetes\n"
         "2 load balancer kubernetes: network interfaces become addresses\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row r = {"",
                              TWO,
                              rows[i].members,
                              {"vmss " POOL("kubernetes")},
                              {"vmss 0 running " POOL("kubernetes")},
                              .want = ""};
        struct world *w = world_new(*state);
        struct lb_plan plan;
        w->config.pool_type = rows[i].type;
        w->config.migrate_to_ip_pools = rows[i].api;
        build(w, &r);
        lb_plan_init(&plan, w->a);
        assert_int_equal(azure_plan_convert(&w->s, &plan, NULL), ERR_OK);
        same_text(rows[i].what, world_show(w, &plan), rows[i].want);
    }
}

/* A set without instances, whose pools hold addresses already: its model lets go, once. */
static void convert__models_that_still_name_a_pool(void **state)
{
    static const struct {
        const char *what;
        enum azure_pool_type type;
        enum azure_vm_type vm_type;
        const char *set, *want;
        bool seen;
    } rows[] = {
        {"it names the pool", AZURE_POOL_IP, AZURE_VM_VMSS, "vmss " POOL("kubernetes"),
         "1 scale set vmss: leaves kubernetes\n", false},
        {"it names another", AZURE_POOL_IP, AZURE_VM_VMSS,
         "vmss " LB("x") "/backendAddressPools/kubernetes", "", true},
        {"it names none", AZURE_POOL_IP, AZURE_VM_VMSS, "vmss", "", true},
        {"interfaces are configured", AZURE_POOL_NIC, AZURE_VM_VMSS, "vmss " POOL("kubernetes"), "",
         false},
        {"no scale sets", AZURE_POOL_IP, AZURE_VM_STANDARD, "vmss " POOL("kubernetes"), "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row r = {"", TWO, "", {rows[i].set}, .want = ""};
        struct world *w = world_new(*state);
        struct lb_plan plan;
        w->config.pool_type = rows[i].type;
        w->config.vm_type = rows[i].vm_type;
        build(w, &r);
        lb_plan_init(&plan, w->a);
        assert_int_equal(azure_plan_convert(&w->s, &plan, NULL), ERR_OK);
        same_text(rows[i].what, world_show(w, &plan), rows[i].want);
        assert_int_equal(w->p.models_seen, rows[i].seen);
        w->p.models_seen = true;
        lb_plan_init(&plan, w->a);
        assert_int_equal(azure_plan_convert(&w->s, &plan, NULL), ERR_OK);
        same_text("not looked at again", world_show(w, &plan), "");
    }
}

/* ---- several balancers ----------------------------------------------------------------------- */

static void add_lb(struct world *w, const char *name, const char *members)
{
    world_lb(w, world_pool(w->a, "kubernetes", members));
    const char *text = json_text(w->a, w->lbs[w->y.lbs.n - 1], JSON_COMPACT);
    text = str_replace(w->a, text, "loadBalancers/kubernetes",
                       arena_printf(w->a, "loadBalancers/%s", name));
    w->lbs[w->y.lbs.n - 1] = pure_json(w->a, text);
    json_add_str(w->lbs[w->y.lbs.n - 1], "name", name);
}

static void several__each_node_serves_one(void **state)
{
#define P(l) LB(l) "/backendAddressPools/kubernetes"
    static const struct azure_lb_config configs[] = {
        {.name = "lb1", .primary_vm_set = "a", .allow_placement = true},
        {.name = "lb2", .primary_vm_set = "b", .allow_placement = true}};
    static const struct {
        const char *what, *in1, *in2;
        const char *instances[3];
        const char *want;
    } rows[] = {
        {"all are where they belong", "a/0", "b/0", {0}, ""},
        {"a node of another balancer than the Service's is put there, too",
         "",
         "",
         {"a 0 running", "b 0 running"},
         "1 scale set a: joins kubernetes\n1 scale set b: joins kubernetes\n"
         "2 scale set instance 0: joins kubernetes\n2 scale set instance 0: joins kubernetes\n"},
        {"a node that moves is written once",
         "a/0 b/0",
         "",
         {"a 0 running " P("lb1"), "b 0 running " P("lb1")},
         "1 scale set b: joins kubernetes\n"
         "2 scale set instance 0: joins lb2/kubernetes; leaves lb1/kubernetes\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row r = {"",         "n0 a/0 10.0.0.4\nn1 b/0 10.0.0.5\n",         "",
                              {"a", "b"}, {rows[i].instances[0], rows[i].instances[1]}, .want = ""};
        struct world *w = world_new(*state);
        w->config.lbs = configs;
        w->config.n_lbs = 2;
        build(w, &r);
        w->azure_items[0].target = "lb1";
        w->y.lbs.n = 0;
        add_lb(w, "lb1", rows[i].in1);
        add_lb(w, "lb2", rows[i].in2);
        same_text(rows[i].what, world_show(w, planned(w)), rows[i].want);
    }
}

static void several__pool_of_one_Service(void **state)
{
    static const struct azure_lb_config configs[] = {
        {.name = "kubernetes", .primary_vm_set = "vmss", .allow_placement = true}};
    static const struct tt_endpoint endpoints[] = {{.node_name = "n1"}};
    static const struct tt_slice slice = {.endpoints = endpoints, .n_endpoints = 1};
    static const struct tt_slice *const slices[] = {&slice};
    const struct row r = {"", TWO, "", {"vmss"}, {"vmss 0 running", "vmss 1 running"}, .want = ""};
    struct world *w = world_new(*state);
    w->config.lbs = configs;
    w->config.n_lbs = 1;
    build(w, &r);
    w->s.n_items = 0;
    world_service(w, "web", NULL, "\"externalTrafficPolicy\":\"Local\"", "kubernetes");
    w->in[0].slices = slices;
    w->in[0].n_slices = w->in[0].has_slices = 1;
    w->lbs[0] = pure_json(*state, "{\"name\":\"kubernetes\",\"properties\":{}}");
    same_text("7.7", world_show(w, planned(w)), "1 scale set instance 1: joins default-web\n");
}

UNIT_MAIN(pools)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(addresses__7_6),
        PURE_TEST(addresses__document),
        PURE_TEST(decouple__models_first),
        PURE_TEST(decouple__two_balancers_one_write),
        PURE_TEST(convert__7_5_and_7_6),
        PURE_TEST(convert__models_that_still_name_a_pool),
        PURE_TEST(several__each_node_serves_one),
        PURE_TEST(several__pool_of_one_Service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
