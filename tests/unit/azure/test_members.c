/* SPDX-License-Identifier: Apache-2.0 */
/* test_members.c: nodes into pools: documents in, operations out; section 7 of the Azure
 * specification, rows 18, 21, 31, 35, 38 of its section 14, and what its section 17 wants
 * to be better. */
#include "tests/unit/azure/members_rows.h"

#include "providers/azure/members/azure_members_gather.h"
#include "providers/azure/members/azure_members_vmss_plan.h"
#include "tests/support/unit.h"

static void check(struct arena *a, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct world *w = world_new(a);
        build(w, &rows[i]);
        same_text(rows[i].what, world_show(w, planned(w)), rows[i].want);
    }
}

static void instances__join(void **state)
{
    static const struct row rows[] = {
        {"all are there", TWO, "vmss/0 vmss/1", .want = ""},
        {"7.3, 14 row 18: the model first, then instances side by side",
         TWO,
         "",
         {"vmss"},
         {"vmss 0 running", "vmss 1 running"},
         .want = "1 scale set vmss: joins kubernetes\n"
                 "2 scale set instance 0: joins kubernetes\n"
                 "2 scale set instance 1: joins kubernetes\n"},
        {"14 row 42: one is there, and the model: one write",
         TWO,
         "vmss/0",
         {"vmss " POOL("kubernetes")},
         {"vmss 0 running " POOL("kubernetes"), "vmss 1 running"},
         .want = "1 scale set instance 1: joins kubernetes\n"},
        {"two sets side by side",
         "n0 a/0 10.0.0.4\nn1 a/1 10.0.0.5\nn2 b/0 10.0.0.6\n",
         "",
         {"a", "b"},
         {"a 0 running", "a 1 running", "b 0 running"},
         .want = "1 scale set a: joins kubernetes\n"
                 "1 scale set b: joins kubernetes\n"
                 "2 scale set instance 0: joins kubernetes\n"
                 "2 scale set instance 1: joins kubernetes\n"
                 "2 scale set instance 0: joins kubernetes\n"},
        {"17 row 13: a set of another balancer does not end it",
         "n0 a/0 10.0.0.4\nn1 b/0 10.0.0.5\n",
         "",
         {"a " OTHER, "b"},
         {"a 0 running " OTHER, "b 0 running"},
         .want = "1 scale set b: joins kubernetes\n2 scale set instance 0: joins kubernetes\n"},
        {"the internal twin is no other balancer",
         "n0 a/0 10.0.0.4\n",
         "",
         {"a " LB("kubernetes-internal") "/backendAddressPools/kubernetes"},
         {"a 0 running " LB("kubernetes-internal") "/backendAddressPools/kubernetes"},
         .want = "1 scale set a: joins kubernetes\n2 scale set instance 0: joins kubernetes\n"},
        {"what does not run waits",
         TWO,
         "",
         {"vmss " POOL("kubernetes")},
         {"vmss 0 deallocated", "vmss 1 Stopping"},
         .want = ""},
        {"a set that is being deleted is left alone",
         TWO,
         "",
         {"+deleting vmss"},
         {"vmss 0 running"},
         .want = ""},
        {"14 row 21: a node without providerID is found by its name",
         "vmss000001  10.0.0.5\n",
         "",
         {"vmss " POOL("kubernetes")},
         {"vmss 1 running"},
         .want = "1 scale set instance 1: joins kubernetes\n"},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void instances__leave_or_stay(void **state)
{
    static const struct row rows[] = {
        {"an instance whose node is not there yet stays", TWO, "vmss/0 vmss/1 vmss/2", .want = ""},
        {"an excluded node leaves",
         "n0 vmss/0 10.0.0.4\nn1 vmss/1 10.0.0.5 kubernetes.azure.com/managed=false\n",
         "vmss/0 vmss/1",
         {"vmss " POOL("kubernetes")},
         {"vmss 0 running " POOL("kubernetes"), "vmss 1 running " POOL("kubernetes")},
         .want = "1 scale set instance 1: leaves kubernetes\n"},
        {"a pool is never emptied",
         "n1 vmss/1 10.0.0.5 kubernetes.azure.com/managed=false\n",
         "vmss/1",
         {"vmss " POOL("kubernetes")},
         {"vmss 1 running " POOL("kubernetes")},
         .want = ""},
        {"who joins goes before who leaves",
         "n0 vmss/0 10.0.0.4\nn1 vmss/1 10.0.0.5 kubernetes.azure.com/managed=false\n",
         "vmss/1",
         {"vmss " POOL("kubernetes")},
         {"vmss 0 running", "vmss 1 running " POOL("kubernetes")},
         .want = "1 scale set instance 0: joins kubernetes\n"
                 "2 scale set instance 1: leaves kubernetes\n"},
        {"a node that takes no part does not join, and is not thrown out",
         "n0 vmss/0 10.0.0.4 out\nn1 vmss/1 10.0.0.5 out\n", "vmss/1", .want = ""},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void interfaces__join_or_stay(void **state)
{
    static const struct row rows[] = {
        {"7.2: interfaces of single machines, side by side", "n0 vm0 10.0.0.4\nn1 vm1 10.0.0.5\n",
         "", .nics = {"nic0 vm0", "nic1 vm1"},
         .want = "1 network interface nic0: joins kubernetes\n"
                 "1 network interface nic1: joins kubernetes\n"},
        {"interfaces that are there", "n0 vm0 10.0.0.4\n", "nic:NIC0", .nics = {"nic0 vm0"},
         .want = ""},
        {"an interface whose machine is not known stays", "n0 vm0 10.0.0.4\n", "nic:nic0 nic:x",
         .nics = {"nic0 vm0"}, .want = ""},
        {"an interface of another balancer stays there", "n0 vm0 10.0.0.4\n", "",
         .nics = {"nic0 vm0 " OTHER}, .want = ""},
        {"mixed",
         "n0 vmss/0 10.0.0.4\nn1 vm1 10.0.0.5\n",
         "",
         {"vmss"},
         {"vmss 0 running"},
         {"nic1 vm1"},
         .want = "1 scale set vmss: joins kubernetes\n"
                 "2 scale set instance 0: joins kubernetes\n"
                 "2 network interface nic1: joins kubernetes\n"},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void masters__excluded_on_standard_only(void **state)
{
    static const struct row r = {"",
                                 "n0 vmss/0 10.0.0.4 node-role.kubernetes.io/control-plane=x\n",
                                 "",
                                 {"vmss " POOL("kubernetes")},
                                 {"vmss 0 running"},
                                 .want = ""};
    for (int exclude = 0; exclude < 2; exclude++) {
        struct world *w = world_new(*state);
        w->config.exclude_masters = exclude == 1;
        build(w, &r);
        same_text(exclude ? "excluded" : "not excluded", world_show(w, planned(w)),
                  exclude ? "" : "1 scale set instance 0: joins kubernetes\n");
    }
}

static void gone__a_machine_that_had_a_node_leaves(void **state)
{
    static const struct row r = {"",
                                 TWO,
                                 "vmss/0 vmss/1 vmss/2 vmss/3",
                                 {"vmss"},
                                 {"vmss 2 running " POOL("kubernetes")},
                                 .want = ""};
    struct world *w = world_new(*state);
    w->p.machines = map_new(NULL);
    map_set(w->p.machines, str_lower(*state, SET("vmss/virtualMachines/2")), NULL);
    build(w, &r);
    same_text("2 had a node, 3 never had", world_show(w, planned(w)),
              "1 scale set instance 2: leaves kubernetes\n");
    map_free(w->p.machines);
}

static void coordinated__batch_size(void **state)
{
    static const struct {
        const char *tags;
        int32_t size;
        size_t want;
    } rows[] = {{"", 8, 16},
                {"\"tags\":{\"aks-managed-coordination\":\"x\"},", 8, 8},
                {"\"tags\":{\"aks-managed-coordination\":\"x\"},", 0, 16}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c = azure_test_config();
        c.put_vmss_vm_batch_size = rows[i].size;
        struct json_object *set =
            pure_json(*state, arena_printf(*state, "{%s\"name\":\"vmss\"}", rows[i].tags));
        assert_int_equal(azure_vmss_batch(&c, set, 16), rows[i].want);
    }
}

static void bodies__what_is_sent(void **state)
{
    static const struct row r = {"",
                                 "n0 vmss/0 10.0.0.4\nn1 vm1 10.0.0.5\n",
                                 "",
                                 {"vmss"},
                                 {"vmss 0 running"},
                                 {"nic1 vm1"},
                                 .want = ""};
#define JOINED                                                                                     \
    "\"ipConfigurations\":[{\"name\":\"c\",\"properties\":{\"loadBalancerBackendAddressPools\":["  \
    "{\"id\":\"" POOL("kubernetes") "\"}],\"unknown\":1}}]"
#define NICS                                                                                       \
    "\"networkInterfaceConfigurations\":[{\"name\":\"n\",\"properties\":{\"primary\":true,"        \
    "\"unknown\":2," JOINED "}}]"
    static const struct {
        const char *what, *body, *if_match;
    } rows[] = {
        {"model",
         "{\"location\":\"westus\",\"etag\":\"set-etag\",\"properties\":{\"virtualMachineProfile\":"
         "{"
         "\"networkProfile\":{" NICS "}}}}",
         "set-etag"},
        {"instance",
         "{\"location\":\"westus\",\"etag\":\"vm-etag\",\"properties\":{\"hardwareProfile\":{\"x\":"
         "1},"
         "\"networkProfileConfiguration\":{" NICS "}}}",
         "vm-etag"},
        {"interface",
         "{\"name\":\"nic1\",\"id\":\"" NIC("nic1") "\",\"unknown\":3,\"properties\":{"
                                                    "\"virtualMachine\":{\"id\":\"" VM(
                                                        "vm1") "\"}," JOINED "}}",
         NULL},
    };
    struct world *w = world_new(*state);
    build(w, &r);
    struct lb_plan *plan = planned(w);
    (void)world_show(w, plan);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_write *x = world_write(plan, i);
        same_text(rows[i].what, json_text(*state, x->spec.body, JSON_COMPACT), rows[i].body);
        same_text(rows[i].what, x->spec.if_match, rows[i].if_match);
        assert_true(x->touches_lbs);
    }
}

/* Two Services, two families: one machine, one write, both are its owners. */
static void shared__one_write_per_machine(void **state)
{
    struct world *w = world_new(*state);
    static const struct row r = {"", "n0 vm0 10.0.0.4\n", "", .nics = {0}, .want = ""};
    build(w, &r);
    world_service(w, "api", NULL, "\"ipFamilies\":[\"IPv4\",\"IPv6\"]", "kubernetes");
    w->y.n_seen = 0;
    world_see(w, AZURE_NICS,
              "[{\"name\":\"nic0\",\"id\":\"" NIC(
                  "nic0") "\",\"properties\":{\"virtualMachine\":{"
                          "\"id\":\"" VM(
                              "VM0") "\"},\"ipConfigurations\":["
                                     "{\"name\":\"v6\",\"properties\":{\"privateIPAddressVersion\":"
                                     "\"IPv6\"}},"
                                     "{\"name\":\"v4\",\"properties\":{\"primary\":true}}]}}]");
    struct lb_plan *plan = planned(w);
    same_text("one write", world_show(w, plan),
              "1 network interface nic0: joins kubernetes, kubernetes-IPv6\n");
    assert_int_equal(plan->ops[0].owners.n, 2);
    same_text("each family its configuration",
              json_text(*state, azure_array(world_write(plan, 0)->spec.body, "ipConfigurations"),
                        JSON_COMPACT),
              "[{\"name\":\"v6\",\"properties\":{\"privateIPAddressVersion\":\"IPv6\","
              "\"loadBalancerBackendAddressPools\":[{\"id\":\"" POOL(
                  "kubernetes-IPv6") "\"}]}},"
                                     "{\"name\":\"v4\",\"properties\":{\"primary\":true,"
                                     "\"loadBalancerBackendAddressPools\":[{\"id\":\"" POOL(
                                         "kubernetes") "\"}]}}]");
}

/* 7.4: the model of the set, and the interfaces of its machines; only the machine says which
 * set it belongs to. */
static void flexible__model_and_interfaces(void **state)
{
    static const struct row r = {
        "", "n0 vm0 10.0.0.4\n", "", {"+flex flex", "vmss"}, .nics = {"nic0 vm0"}, .want = ""};
    struct world *w = world_new(*state);
    build(w, &r);
    world_see(w, AZURE_VMS,
              "[{\"id\":\"" VM("vm0") "\",\"properties\":{\"virtualMachineScaleSet\":{"
                                      "\"id\":\"" SET("FLEX") "\"}}}]");
    struct lb_plan *plan = planned(w);
    same_text("7.4", world_show(w, plan),
              "1 scale set flex: joins kubernetes\n2 network interface nic0: joins kubernetes\n");
    same_text("7.4",
              json_str(json_path(world_write(plan, 0)->spec.body,
                                 "properties.virtualMachineProfile.networkProfile"),
                       "networkApiVersion"),
              "2020-11-01");
}

/* 7.3: Windows Server 2019 has no IPv6. */
static void windows_2019__no_IPv6(void **state)
{
#define IMAGE(v)                                                                                   \
    "/subscriptions/s/resourceGroups/r/providers/x/images/windows-2019-containerd/versions/" v
    static const struct {
        const char *image, *os;
        bool joins;
    } rows[] = {{IMAGE("17763.1.2"), "Windows", false},
                {IMAGE("17763.1.2"), "Linux", true},
                {"/images/windows-2022", "Windows", true}};
    static const char *const pool = POOL("kubernetes-IPv6");
    const struct azure_config c = azure_test_config();
    const struct azure_refs refs = {.join = &pool, .n_join = 1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *set = pure_json(
            *state,
            arena_printf(*state,
                         "{\"properties\":{\"virtualMachineProfile\":{\"storageProfile\":{"
                         "\"imageReference\":{\"id\":\"%s\"},\"osDisk\":{\"osType\":\"%s\"}},"
                         "\"networkProfile\":{\"networkInterfaceConfigurations\":[{\"properties\":{"
                         "\"ipConfigurations\":[{\"properties\":{\"privateIPAddressVersion\":"
                         "\"IPv6\"}}]}}]}}}}",
                         rows[i].image, rows[i].os));
        const char *why_not = NULL;
        if ((azure_vmss_model(*state, &c, set, &refs, &why_not) != NULL) != rows[i].joins) {
            fail_msg("%s %s: joins %d", rows[i].image, rows[i].os, !rows[i].joins);
        }
    }
}

static void preconfigured__left_alone(void **state)
{
    static const struct row r = {"", TWO, "", {"vmss"}, {"vmss 0 running"}, .want = ""};
    struct world *w = world_new(*state);
    w->config.preconfigured_pools = "all";
    build(w, &r);
    same_text("M-06", world_show(w, planned(w)), "");
}
/* ---- reading --------------------------------------------------------------------------------- */

static void reading__only_what_is_needed(void **state)
{
    static const struct {
        const char *what, *nodes, *members;
        const char *nics[2];
        const char *want;
    } rows[] = {
        {"instances that are there: nothing", TWO, "vmss/0 vmss/1", {0}, ""},
        {"an instance is missing", TWO, "vmss/0", {0}, "scale set\nscale set instance\n"},
        {"interfaces whose machines are known: nothing",
         "n0 vm0 10.0.0.4\n",
         "nic:nic0",
         {"nic0 vm0"},
         ""},
        {"interfaces whose machines are not known",
         "n0 vm0 10.0.0.4\n",
         "nic:nic0",
         {0},
         "network interface\nscale set\n"},
        {"no providerID",
         "vmss000001  10.0.0.4\n",
         "vmss/0",
         {0},
         "network interface\nscale set\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row r = {"", rows[i].nodes, rows[i].members, .nics = {rows[i].nics[0]},
                              .want = ""};
        struct world *w = world_new(*state);
        struct azure_members m;
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        build(w, &r);
        size_t before = w->y.n_seen;
        assert_int_equal(azure_members_gather(&w->y, &m, NULL), ERR_OK);
        bool more = azure_members_need(&w->y, &m);
        assert_int_equal(more, w->y.n_seen > before);
        for (size_t k = before; k < w->y.n_seen; k++) {
            str_appendf(&b, "%s\n", azure_arm_word(w->y.seen[k].kind));
        }
        same_text(rows[i].what, str_buf_text(&b), rows[i].want);
    }
}

/* An instance that is newer than the list is asked for again, once. */
static void reading__what_an_old_list_lacks(void **state)
{
    static const struct row r = {"", TWO, "vmss/0", {"vmss"}, {"vmss 0 running"}, .want = ""};
    for (int old = 0; old < 2; old++) {
        struct world *w = world_new(*state);
        struct azure_members m;
        build(w, &r);
        w->seen[0].scope = RG "Microsoft.Compute/virtualMachineScaleSets";
        w->seen[1].scope = SET("vmss") "/virtualMachines";
        w->seen[1].read = old == 0;
        assert_int_equal(azure_members_gather(&w->y, &m, NULL), ERR_OK);
        assert_int_equal(azure_members_need(&w->y, &m), old);
        assert_int_equal(w->seen[1].array == NULL, old);
    }
}

static void facts__addresses_and_vm_sets(void **state)
{
    static const struct row r = {"",
                                 "n0 vmss/0 10.0.0.4\nn1 vm1 10.0.0.5\n"
                                 "n2 b/0 10.0.0.6 kubernetes.io/role=master\n",
                                 "vmss/0 nic:nic1 vmss/7", .nics = {"nic1 vm1"}, .want = ""};
    struct world *w = world_new(*state);
    build(w, &r);
    struct azure_texts ips = azure_members_ips(&w->y, w->lbs[0]);
    same_text("9.2", str_join(*state, ips.items, ips.n, " "), "10.0.0.4 10.0.0.5");
    world_see(
        w, AZURE_SETS,
        "[{\"name\":\"as1\",\"properties\":{\"virtualMachines\":[{\"id\":\"" VM("VM1") "\"}]}}]");
    struct azure_vm_sets sets = azure_members_vm_sets(&w->y);
    same_text("5.4", str_join(*state, sets.names, sets.n, " "), "vmss as1");
}

static void names__instances_in_base_36(void **state)
{
    static const struct {
        const char *computer;
        int64_t id;
    } rows[] = {{"aks-np-000000", 0},
                {"aks-np-00000A", 10},
                {"aks-np-000010", 36},
                {"aks-np-00-000", -1},
                {"short", -1}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_vmss_instance_id(rows[i].computer), rows[i].id);
    }
}

UNIT_MAIN(members)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(instances__join),
        PURE_TEST(instances__leave_or_stay),
        PURE_TEST(interfaces__join_or_stay),
        PURE_TEST(masters__excluded_on_standard_only),
        PURE_TEST(gone__a_machine_that_had_a_node_leaves),
        PURE_TEST(coordinated__batch_size),
        PURE_TEST(bodies__what_is_sent),
        PURE_TEST(shared__one_write_per_machine),
        PURE_TEST(flexible__model_and_interfaces),
        PURE_TEST(windows_2019__no_IPv6),
        PURE_TEST(preconfigured__left_alone),
        PURE_TEST(reading__only_what_is_needed),
        PURE_TEST(reading__what_an_old_list_lacks),
        PURE_TEST(facts__addresses_and_vm_sets),
        PURE_TEST(names__instances_in_base_36),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
