/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_moves.c: which balancer a batch uses, and in which order Services move: Basic with
 * its VM sets, several Standard balancers, and the way from one SKU to the other; under the real
 * driver, with a cloud in memory (stage_rig.h).
 *
 * The cloud refuses a public IP on two frontends, so a wrong order fails. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define ON(lb) "{\"azure-load-balancer-configurations\":\"" lb "\"}"
#define VM(name)                                                                                   \
    "{\"id\":\"/subscriptions/subscription/resourceGroups/rg/providers/Microsoft.Compute/"         \
    "virtualMachines/" name "\"}"
#define SET(set, vm) "{\"name\":\"" set "\",\"properties\":{\"virtualMachines\":[" VM(vm) "]}}"

#define has_balancers(r, want) same_text("balancers", stage_rig_names(r, AZURE_LBS), want)

static void has_frontends(struct stage_rig *r, const char *lb, const char *want)
{
    same_text(lb, stage_rig_elements(r, lb, "frontendIPConfigurations"), want);
}

/* ---- what is there already ------------------------------------------------------------------- */

/* S-04: Azure spells names as their creator did. */
static void existing__balancer_in_another_case__is_kept(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    struct json_object *lb = stage_rig_doc(r, AZURE_LBS, "kubernetes");
    json_object_object_del(lb, "name");
    json_add_str(lb, "name", "Kubernetes");
    (void)ADD(r, "api");
    stage_rig_run(r);
    has_balancers(r, "Kubernetes");
    has_frontends(r, "Kubernetes", "aweb aapi");
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE; /* S-01: found by its frontend */
    stage_rig_run(r);
    has_frontends(r, "Kubernetes", "aapi");
}

/* S-50, S-53; the controller sends no update of what is deleted or no load balancer (S-51, S-52:
 * sync_rules.c). */
static void update__changes_members_of_what_is_there_and_makes_nothing(void **state)
{
    struct stage_rig *r = *state;
    r->p.config.pool_type = AZURE_POOL_IP;
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    stage_rig_add_node(r, "vm-1", "10.0.1.1");
    struct rig_service *api = ADD(r, "api");
    web->verb = TT_VERB_UPDATE;
    api->verb = TT_VERB_UPDATE;
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    written(r, "members: change backend address pool kubernetes/kubernetes [web]\n");
    has_frontends(r, "kubernetes", "aweb");
}

/* S-03, S-61: nothing is there, nothing is made to be deleted. */
static void delete__nothing_is_there__nothing_is_made(void **state)
{
    struct stage_rig *r = *state;
    ADD(r, "web")->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "");
    has_balancers(r, "");
}

/* ---- Basic ----------------------------------------------------------------------------------- */

static void make_basic(struct stage_rig *r)
{
    r->p.config.standard_sku = false;
    r->p.config.lb_sku_text = "basic";
    r->p.config.vm_type = AZURE_VM_STANDARD;
    stage_rig_put(r, AZURE_SETS, SET("as-primary", "vm-0"));
    stage_rig_put(r, AZURE_SETS, SET("as-1", "vm-1"));
    stage_rig_put(r, AZURE_SETS, SET("as-2", "vm-2"));
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    stage_rig_add_node(r, "vm-1", "10.0.1.1");
    stage_rig_add_node(r, "vm-2", "10.0.1.2");
}

static void basic__without_mode_the_primary_set(void **state)
{
    struct stage_rig *r = *state;
    make_basic(r);
    (void)ADD(r, "web");
    stage_rig_run(r);
    has_balancers(r, "kubernetes");
    stage_rig_settled(r);
}

static void basic__any_set_spreads_a_batch(void **state)
{
    struct stage_rig *r = *state;
    static const char *const names[] = {"va", "vb", "vc", "vd"};
    make_basic(r);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)stage_rig_add(r, names[i], "{\"azure-load-balancer-mode\":\"__auto__\"}", NULL);
    }
    stage_rig_run(r);
    has_frontends(r, "kubernetes", "ava avd");
    has_frontends(r, "as-1", "avb");
    has_frontends(r, "as-2", "avc");
    stage_rig_settled(r);
}

static void basic__a_named_set_and_another_later(void **state)
{
    struct stage_rig *r = *state;
    make_basic(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-load-balancer-mode\":\"AS-1\"}", NULL);
    stage_rig_run(r);
    has_balancers(r, "as-1");
    web->annotations = "{\"azure-load-balancer-mode\":\"as-2\"}";
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: delete load balancer as-1 [web]\n"
               "balancers: create load balancer as-2 [web]\n");
    succeeded(web);
    stage_rig_settled(r);
}

static void basic__a_set_that_is_not_there(void **state)
{
    struct stage_rig *r = *state;
    make_basic(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-load-balancer-mode\":\"as-9\"}", NULL);
    struct rig_service *api = ADD(r, "api");
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_NOT_FOUND);
    succeeded(api);
    has_frontends(r, "kubernetes", "aapi");
}

static void basic_to_standard__old_balancers_go_first(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    r->p.config.standard_sku = false;
    stage_rig_run(r);
    r->p.config.standard_sku = true;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "clean: delete load balancer kubernetes [web]\n"
               "addresses: change public IP address kubernetes-aweb [web]\n"
               "balancers: create load balancer kubernetes [web]\n");
    same_text("status", web->status, "20.0.0.1");
    stage_rig_settled(r);
}

/* ---- several Standard balancers -------------------------------------------------------------- */

static void make_multi(struct stage_rig *r)
{
    struct azure_lb_config *lbs = ARENA_ARRAY(r->a, struct azure_lb_config, 3);
    lbs[0] = (struct azure_lb_config){
        .name = "Lb1", .primary_vm_set = "vmss-1", .allow_placement = true};
    lbs[1] = (struct azure_lb_config){
        .name = "lb2", .primary_vm_set = "vmss-2", .allow_placement = true};
    lbs[2] = (struct azure_lb_config){
        .name = "lb3", .primary_vm_set = "vmss-3", .allow_placement = true};
    r->p.config.lbs = lbs;
    r->p.config.n_lbs = 3;
}

static void move(struct rig_service *s, const char *annotations)
{
    s->annotations = annotations;
    s->verb = TT_VERB_ENSURE;
}

static void several__a_batch_is_spread_and_stays(void **state)
{
    struct stage_rig *r = *state;
    static const char *const names[] = {"va", "vb", "vc", "vd"};
    make_multi(r);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)ADD(r, names[i]);
    }
    stage_rig_run(r);
    has_balancers(r, "Lb1 lb2 lb3");
    has_frontends(r, "Lb1", "ava avd");
    has_frontends(r, "lb2", "avb");
    has_frontends(r, "lb3", "avc");
    stage_rig_settled(r);
}

static void several__names_without_case_are_the_same_balancer(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    stage_rig_put(r, AZURE_LBS,
                  "{\"name\":\"LB1\",\"sku\":{\"name\":\"Standard\"},\"properties\":{}}");
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    stage_rig_run(r);
    succeeded(web);
    has_balancers(r, "LB1");
    has_frontends(r, "LB1", "aweb");
}

static void several__who_moves_leaves_before_it_joins(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    (void)stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    move(web, ON("lb2"));
    stage_rig_run(r);
    written(r, "balancers: change load balancer Lb1 [web]\n"
               "balancers: create load balancer lb2 [web]\n");
    succeeded(web);
    stage_rig_settled(r);
}

/* "web" on lb1 and "api" on lb2, each with a Service that stays. */
static struct rig_service *two_balancers(struct stage_rig *r, struct rig_service **ret_api)
{
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    *ret_api = stage_rig_add(r, "api", ON("lb2"), NULL);
    (void)stage_rig_add(r, "one", ON("lb1"), NULL);
    (void)stage_rig_add(r, "two", ON("lb2"), NULL);
    stage_rig_run(r);
    return web;
}

static void several__a_chain_of_moves_has_an_order(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api, *web = two_balancers(r, &api);
    move(web, ON("lb2"));
    move(api, ON("lb3"));
    stage_rig_run(r);
    written(r, "balancers: change load balancer Lb1 [web]\n"
               "balancers: change load balancer lb2 [api web]\n"
               "balancers: create load balancer lb3 [api]\n");
    succeeded(web);
    succeeded(api);
    stage_rig_settled(r);
}

static void several__two_that_trade_places_leave_first(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api, *web = two_balancers(r, &api);
    move(web, ON("lb2"));
    move(api, ON("lb1"));
    stage_rig_run(r);
    written(r, "leave: change load balancer lb2 [api]\n"
               "leave: change load balancer Lb1 [web]\n"
               "balancers: change load balancer Lb1 [api]\n"
               "balancers: change load balancer lb2 [web]\n");
    succeeded(web);
    succeeded(api);
    has_frontends(r, "Lb1", "aone aapi");
    has_frontends(r, "lb2", "atwo aweb");
    stage_rig_settled(r);
}

static void several__who_cannot_join_stays(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    struct rig_service *api = stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    move(web, ON("lb9"));
    move(api, ON("lb2"));
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_INVALID);
    succeeded(api);
    has_frontends(r, "Lb1", "aweb");
    has_frontends(r, "lb2", "aapi");
}

static void several__a_frontend_that_others_use_keeps_its_service(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    stage_rig_run(r);
    (void)stage_rig_add(r, "api", "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}",
                        "\"ports\":[{\"port\":443,\"nodePort\":30443}]");
    stage_rig_run(r);
    move(web, ON("lb2"));
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_IN_USE);
    has_balancers(r, "Lb1");
    has_frontends(r, "Lb1", "aweb");
}

/* Both in one batch: the one that comes to share is older in the order of names, so the
 * other one cannot leave. */
static void several__who_is_joined_by_a_sharer_stays(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}",
                                            "\"ports\":[{\"port\":443,\"nodePort\":30443}]");
    move(web, ON("lb2"));
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_IN_USE);
    succeeded(api);
    has_balancers(r, "Lb1");
    same_text("rules", stage_rig_elements(r, "Lb1", "loadBalancingRules"),
              "aweb-TCP-80 aapi-TCP-443");
}

static void several__labels_of_the_namespace_decide(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct azure_selector *namespaces =
        &((struct azure_lb_config *)(uintptr_t)r->p.config.lbs)[1].namespaces;
    struct err err = ERR_INIT;
    assert_int_equal(azure_selector_decode(r->a, pure_json(r->a, "{\"matchLabels\":{\"k\":\"v\"}}"),
                                           namespaces, &err),
                     ERR_OK);
    r->namespace_labels = "{\"k\":\"v\"}";
    (void)ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    has_balancers(r, "lb2");
    stage_rig_settled(r);
}

static void several__two_internal_ones_trade_places_too(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
#define INTERNAL_ON(lb)                                                                            \
    "{\"azure-load-balancer-internal\":\"true\",\"azure-load-balancer-configurations\":\"" lb "\"" \
    "}"
    struct rig_service *web = stage_rig_add(r, "web", INTERNAL_ON("lb1"), NULL);
    struct rig_service *api = stage_rig_add(r, "api", INTERNAL_ON("lb2"), NULL);
    stage_rig_run(r);
    move(web, INTERNAL_ON("lb2"));
    move(api, INTERNAL_ON("lb1"));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    same_text("api", api->status, "10.0.0.1");
    same_text("web", web->status, "10.0.0.2");
    has_frontends(r, "Lb1-internal", "aapi");
    stage_rig_settled(r);
}

/* ---- nodes as destinations ------------------------------------------------------------------- */

static void floating_ip_off__nodes_are_destinations_until_it_goes(void **state)
{
    struct stage_rig *r = *state;
    r->p.config.pool_type = AZURE_POOL_IP;
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    stage_rig_add_node(r, "vm-1", "10.0.1.1");
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-disable-load-balancer-floating-ip\":\"true\"}", NULL);
    (void)ADD(r, "api");
    stage_rig_run(r);
    succeeded(web);
    same_text("rules", stage_rig_rules(r), "30080>10.0.1.0,10.0.1.1 80>20.0.0.2");
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    same_text("rules", stage_rig_rules(r), "80>20.0.0.2");
}

/* Nodes are spread over all balancers: a Service that moves changes pools of the other kind, too,
 * and one of these writes may have been accepted and not carried out. */
static void several__failed_balancer_of_the_other_kind__is_written_again(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    (void)ADD(r, "web");
    struct rig_service *db = ADD(r, "db");
    db->annotations = "{\"azure-load-balancer-internal\":\"true\"}";
    stage_rig_run(r);
    json_add_str(azure_props_make(stage_rig_doc(r, AZURE_LBS, "Lb1")), "provisioningState",
                 "Failed");
    db->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: change load balancer Lb1 [db]\n");
    succeeded(db);
}

UNIT_MAIN(stages_moves)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(existing__balancer_in_another_case__is_kept),
        RIG_TEST(update__changes_members_of_what_is_there_and_makes_nothing),
        RIG_TEST(delete__nothing_is_there__nothing_is_made),
        RIG_TEST(basic__without_mode_the_primary_set),
        RIG_TEST(basic__any_set_spreads_a_batch),
        RIG_TEST(basic__a_named_set_and_another_later),
        RIG_TEST(basic__a_set_that_is_not_there),
        RIG_TEST(basic_to_standard__old_balancers_go_first),
        RIG_TEST(several__a_batch_is_spread_and_stays),
        RIG_TEST(several__names_without_case_are_the_same_balancer),
        RIG_TEST(several__who_moves_leaves_before_it_joins),
        RIG_TEST(several__a_chain_of_moves_has_an_order),
        RIG_TEST(several__two_that_trade_places_leave_first),
        RIG_TEST(several__who_cannot_join_stays),
        RIG_TEST(several__a_frontend_that_others_use_keeps_its_service),
        RIG_TEST(several__who_is_joined_by_a_sharer_stays),
        RIG_TEST(several__labels_of_the_namespace_decide),
        RIG_TEST(several__two_internal_ones_trade_places_too),
        RIG_TEST(several__failed_balancer_of_the_other_kind__is_written_again),
        RIG_TEST(floating_ip_off__nodes_are_destinations_until_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
