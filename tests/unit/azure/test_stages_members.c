/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_members.c: machines in the pools of a balancer through its life: made, changed from
 * interfaces to addresses and back, deleted; for scale sets of both kinds, availability sets, and
 * all of them together; docs/spec/azure.md 7, 6.11.
 *
 * The stages run under the real driver with a cloud in memory (stage_rig.h), which keeps whose
 * interfaces are in which pool. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define GROUP   "/subscriptions/subscription/resourceGroups/rg/providers/"
#define COMPUTE GROUP "Microsoft.Compute/"

#define MODE(set) "{\"azure-load-balancer-mode\":\"" set "\"}"

/* ---- machines -------------------------------------------------------------------------------- */

#define CONFIGS(more)                                                                              \
    "\"ipConfigurations\":[{\"name\":\"c\",\"properties\":{\"primary\":true,"                      \
    "\"privateIPAddressVersion\":\"IPv4\"" more "}}]"
#define NICS                                                                                       \
    "\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"primary\":"           \
    "true," CONFIGS("") "}}]"

static void add_set(struct stage_rig *r, const char *name, const char *mode)
{
    (void)stage_rig_put(
        r, AZURE_VMSSS,
        arena_printf(
            r->a,
            "{\"name\":\"%s\",\"location\":\"westus\",\"properties\":{\"orchestrationMode\":"
            "\"%s\",\"virtualMachineProfile\":{\"networkProfile\":{" NICS "}}}}",
            name, mode));
}

static void add_node(struct stage_rig *r, const char *name, const char *machine, const char *ip)
{
    assert_true(r->n_nodes < RIG_NODES_MAX);
    r->nodes[r->n_nodes++] = test_node_text(
        r->a,
        arena_printf(r->a,
                     "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"providerID\":\"azure://" COMPUTE
                     "%s\"},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
                     "\"%s\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                     name, machine, ip));
}

static void add_instance(struct stage_rig *r, const char *set, const char *id, const char *ip)
{
    const char *machine =
        arena_printf(r->a, "virtualMachineScaleSets/%s/virtualMachines/%s", set, id);
    add_node(r, arena_printf(r->a, "%s-%s", set, id), machine, ip);
    (void)stage_rig_put(
        r, AZURE_VMSS_VMS,
        arena_printf(r->a,
                     "{\"name\":\"%s_%s\",\"id\":\"" COMPUTE
                     "%s\",\"properties\":{\"instanceView\":{\"statuses\":[{\"code\":"
                     "\"PowerState/running\"}]},\"networkProfileConfiguration\":{" NICS "}}}",
                     set, id, machine));
}

/* A machine with an interface of its own; `set`: flexible scale set, or NULL. */
static void add_machine(struct stage_rig *r, const char *name, const char *set, const char *ip)
{
    const char *machine = arena_printf(r->a, "virtualMachines/%s", name);
    add_node(r, name, machine, ip);
    (void)stage_rig_put(r, AZURE_NICS,
                        arena_printf(r->a,
                                     "{\"name\":\"nic-%s\",\"properties\":{\"primary\":true,"
                                     "\"virtualMachine\":{\"id\":\"" COMPUTE
                                     "%s\"}," CONFIGS(",\"privateIPAddress\":\"%s\"") "}}",
                                     name, machine, ip));
    (void)stage_rig_put(
        r, AZURE_VMS,
        set == NULL
            ? arena_printf(r->a, "{\"name\":\"%s\",\"properties\":{}}", name)
            : arena_printf(r->a,
                           "{\"name\":\"%s\",\"properties\":{\"virtualMachineScaleSet\":{\"id\":"
                           "\"" COMPUTE "virtualMachineScaleSets/%s\"}}}",
                           name, set));
}

static void add_availability_set(struct stage_rig *r, const char *name, const char *machine)
{
    (void)stage_rig_put(
        r, AZURE_SETS,
        arena_printf(r->a,
                     "{\"name\":\"%s\",\"properties\":{\"virtualMachines\":[{\"id\":\"" COMPUTE
                     "virtualMachines/%s\"}]}}",
                     name, machine));
}

/* "vmss/0 nic-vm1 10.0.1.4": who is in the pool of the cluster; "-": no such balancer. */
static const char *members(struct stage_rig *r, const char *lb)
{
    struct json_object *doc = stage_rig_doc(r, AZURE_LBS, lb);
    struct json_object *pool = azure_find(azure_array(doc, "backendAddressPools"), "kubernetes");
    const char *text = "";
    struct json_object *o;
    AZURE_EACH (o, azure_array(pool, "backendIPConfigurations")) {
        const char *id = azure_doc_id(o);
        const char *set = azure_id_part(r->a, id, "virtualMachineScaleSets");
        const char *name = set != NULL ? arena_printf(r->a, "%s/%s", set,
                                                      azure_id_part(r->a, id, "virtualMachines"))
                                       : azure_id_part(r->a, id, "networkInterfaces");
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? " " : "", name);
    }
    AZURE_EACH (o, azure_array(pool, "loadBalancerBackendAddresses")) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? " " : "",
                            azure_prop_str(o, "ipAddress"));
    }
    return doc == NULL ? "-" : text;
}

static bool model_names_a_pool(struct stage_rig *r, const char *set)
{
    struct json_object *doc = stage_rig_doc(r, AZURE_VMSSS, set);
    return strstr(json_text(r->a, doc, JSON_COMPACT), "backendAddressPools/") != NULL;
}

static void ensure(struct stage_rig *r, struct rig_service *s)
{
    s->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(s);
}

/* Azure may come to know of a machine after Kubernetes: it is no failure, and it is
 * looked for again. */
static void machine__not_found__joins_with_the_next_look(void **state)
{
    struct stage_rig *r = *state;
    add_set(r, "vmss", "Uniform");
    add_instance(r, "vmss", "0", "10.0.1.0");
    add_instance(r, "vmss", "1", "10.0.1.1");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    stage_rig_fail_once(r, "1", ERR_NOT_FOUND);
    ensure(r, web);
    same_text("one", members(r, "kubernetes"), "vmss/0");
    assert_in_range(web->again_ms, 60000, 72000);
    web->again_ms = 0;
    ensure(r, web);
    same_text("both", members(r, "kubernetes"), "vmss/0 vmss/1");
    assert_int_equal(web->again_ms, 0);
    stage_rig_settled(r);
}

/* ---- a life ---------------------------------------------------------------------------------- */

static void scale_set__interfaces_addresses_and_back(void **state)
{
    struct stage_rig *r = *state;
    add_set(r, "vmss", "Uniform");
    add_instance(r, "vmss", "0", "10.0.1.0");
    add_instance(r, "vmss", "1", "10.0.1.1");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    ensure(r, web);
    same_text("interfaces", members(r, "kubernetes"), "vmss/0 vmss/1");
    assert_true(model_names_a_pool(r, "vmss"));
    stage_rig_settled(r);

    r->p.config.pool_type = AZURE_POOL_IP;
    ensure(r, web);
    written(r, "convert: change scale set vmss [web]\n"
               "convert: change scale set instance vmss/0 [web]\n"
               "convert: change scale set instance vmss/1 [web]\n"
               "members: change backend address pool kubernetes/kubernetes [web]\n");
    same_text("addresses", members(r, "kubernetes"), "10.0.1.0 10.0.1.1");
    assert_false(model_names_a_pool(r, "vmss"));
    stage_rig_settled(r);

    r->p.config.pool_type = AZURE_POOL_NIC;
    ensure(r, web);
    written(r, "convert: change backend address pool kubernetes/kubernetes [web]\n"
               "members: change scale set vmss [web]\n"
               "members: change scale set instance vmss/0 [web]\n"
               "members: change scale set instance vmss/1 [web]\n");
    same_text("interfaces again", members(r, "kubernetes"), "vmss/0 vmss/1");
    assert_true(model_names_a_pool(r, "vmss"));
    stage_rig_settled(r);

    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    same_text("gone", members(r, "kubernetes"), "-");
    assert_false(model_names_a_pool(r, "vmss"));
}

static void flexible_set__model_and_interfaces(void **state)
{
    struct stage_rig *r = *state;
    r->p.config.vm_type = AZURE_VM_VMSSFLEX;
    add_set(r, "flex", "Flexible");
    add_machine(r, "vm0", "flex", "10.0.1.0");
    add_machine(r, "vm1", "flex", "10.0.1.1");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    ensure(r, web);
    same_text("interfaces", members(r, "kubernetes"), "nic-vm0 nic-vm1");
    assert_true(model_names_a_pool(r, "flex"));
    stage_rig_settled(r);
    r->p.config.pool_type = AZURE_POOL_IP;
    ensure(r, web);
    same_text("addresses", members(r, "kubernetes"), "10.0.1.0 10.0.1.1");
    assert_false(model_names_a_pool(r, "flex"));
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    same_text("gone", members(r, "kubernetes"), "-");
}

static void all_kinds_together__one_pool(void **state)
{
    struct stage_rig *r = *state;
    add_set(r, "vmss", "Uniform");
    add_set(r, "flex", "Flexible");
    add_instance(r, "vmss", "0", "10.0.1.0");
    add_machine(r, "vm1", "flex", "10.0.1.1");
    add_machine(r, "vm2", NULL, "10.0.1.2");
    add_availability_set(r, "as", "vm2");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    ensure(r, web);
    same_text("interfaces", members(r, "kubernetes"), "nic-vm1 nic-vm2 vmss/0");
    stage_rig_settled(r);
    r->p.config.pool_type = AZURE_POOL_IP;
    ensure(r, web);
    same_text("addresses", members(r, "kubernetes"), "10.0.1.0 10.0.1.1 10.0.1.2");
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    assert_false(model_names_a_pool(r, "vmss"));
    assert_false(model_names_a_pool(r, "flex"));
}

/* Scaled to nothing: the pool has no member that tells of the model, which would bring
 * the next instance in. */
static void empty_set__its_model_lets_go_of_addresses(void **state)
{
    struct stage_rig *r = *state;
    add_set(r, "vmss", "Uniform");
    add_instance(r, "vmss", "0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    ensure(r, web);
    r->n_nodes = 0;
    arm_docs_put(&r->docs, AZURE_VMSS_VMS, COMPUTE "virtualMachineScaleSets/vmss/virtualMachines/0",
                 NULL);
    r->docs.lists[AZURE_LBS] = azure_copy(r->a, r->docs.lists[AZURE_LBS]);
    struct json_object *pool =
        azure_find(azure_array(stage_rig_doc(r, AZURE_LBS, "kubernetes"), "backendAddressPools"),
                   "kubernetes");
    json_object_object_del(azure_props(pool), "backendIPConfigurations");
    r->p.config.pool_type = AZURE_POOL_IP;
    ensure(r, web);
    written(r, "convert: change scale set vmss [web]\n");
    assert_false(model_names_a_pool(r, "vmss"));
    stage_rig_settled(r);
}

/* ---- Basic ----------------------------------------------------------------------------------- */

static void availability_sets__by_name_and_another_later(void **state)
{
    struct stage_rig *r = *state;
    r->p.config.standard_sku = false;
    r->p.config.lb_sku_text = "basic";
    r->p.config.vm_type = AZURE_VM_STANDARD;
    static const char *const vms[] = {"vm0", "vm1", "vm2"};
    static const char *const sets[] = {"as-primary", "as-1", "as-2"};
    for (size_t i = 0; i < ARRAY_LEN(vms); i++) {
        add_machine(r, vms[i], NULL, arena_printf(r->a, "10.0.1.%zu", i));
        add_availability_set(r, sets[i], vms[i]);
    }
    struct rig_service *web = stage_rig_add(r, "web", MODE("as-1"), NULL);
    ensure(r, web);
    same_text("only its set", members(r, "as-1"), "nic-vm1");
    stage_rig_settled(r);
    web->annotations = MODE("as-2");
    ensure(r, web);
    same_text("the old one", members(r, "as-1"), "-");
    same_text("the new one", members(r, "as-2"), "nic-vm2");
    stage_rig_settled(r);
    struct rig_service *api = stage_rig_add(r, "api", NULL, NULL);
    ensure(r, api);
    same_text("without a mode", members(r, "kubernetes"), "nic-vm0");
    stage_rig_settled(r);
}

/* Its clients are let in while its nodes join the pool; the former address is closed after. */
static void external_to_internal__nodes_join__group_is_written_beside_them(void **state)
{
    struct stage_rig *r = *state;
    add_set(r, "vmss", "Uniform");
    add_instance(r, "vmss", "0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", NULL,
                                            "\"ports\":[{\"port\":80,\"nodePort\":30080}],"
                                            "\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->annotations = "{\"azure-load-balancer-internal\":\"true\"}";
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: create load balancer kubernetes-internal [web]\n"
               "members: change scale set vmss [web]\n"
               "members: change scale set instance vmss/0 [web]\n"
               "members: change network security group nsg [web]\n"
               "tidy: change load balancer kubernetes [web]\n"
               "close: change network security group nsg [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    same_text("before the former balancer is written", web->served, web->status);
    stage_rig_settled(r);
}

UNIT_MAIN(stages_members)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(machine__not_found__joins_with_the_next_look),
        RIG_TEST(scale_set__interfaces_addresses_and_back),
        RIG_TEST(flexible_set__model_and_interfaces),
        RIG_TEST(all_kinds_together__one_pool),
        RIG_TEST(empty_set__its_model_lets_go_of_addresses),
        RIG_TEST(availability_sets__by_name_and_another_later),
        RIG_TEST(external_to_internal__nodes_join__group_is_written_beside_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
