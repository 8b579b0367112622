/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages.c: what a batch writes, for which Services and in which order: the stages of the
 * Azure provider under the real driver, with a cloud in memory (stage_rig.h).
 *
 * Each test ends with a settled cluster: ensured once more, nothing is written. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#include <limits.h>

#define INTERNAL    "{\"azure-load-balancer-internal\":\"true\"}"
#define PORTS(port) "\"ports\":[{\"port\":" #port ",\"nodePort\":3" #port "}]"
#define DUAL        "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define has_frontends(r, lb, w)                                                                    \
    same_text("frontends", stage_rig_elements(r, lb, "frontendIPConfigurations"), w)
#define has_pips(r, want)  same_text("public IPs", stage_rig_names(r, AZURE_PIPS), want)
#define has_rules(r, want) same_text("security rules", stage_rig_rules(r), want)

/* ---- one after the other --------------------------------------------------------------------- */

static void create_first__address_balancer_group(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "balancers: create load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n");
    same_text("status", web->status, "20.0.0.1");
    has_rules(r, "80>20.0.0.1");
    stage_rig_settled(r);
}

/* Before anything is written there is one round of questions. */
static void create_first__all_that_is_sure_is_asked_for_at_once(void **state)
{
    struct stage_rig *r = *state;
    (void)stage_rig_add(r, "web", INTERNAL, NULL);
    stage_rig_run(r);
    same_text("asked", r->asked,
              "clean: load balancer\nclean: public IP address\nclean: resource provider\n"
              "clean: subnet\nsecurity: network security group\n");
    stage_rig_settled(r);
}

static void create_first__plan_shows_what_comes_after_the_address(void **state)
{
    struct stage_rig *r = *state;
    (void)ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_plan(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "addresses: create public IP address kubernetes-aapi [api]\n"
               "balancers: create load balancer kubernetes [api web]\n"
               "security: change network security group nsg [api web]\n");
    has_pips(r, "");
}

static void create_second__shared_documents_are_changed(void **state)
{
    struct stage_rig *r = *state;
    (void)ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api = ADD(r, "api");
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aapi [api]\n"
               "balancers: change load balancer kubernetes [api]\n"
               "security: change network security group nsg [api]\n");
    same_text("status", api->status, "20.0.0.2");
    has_rules(r, "80>20.0.0.1,20.0.0.2");
    stage_rig_settled(r);
}

static void burst_of_five__one_write_per_shared_document(void **state)
{
    struct stage_rig *r = *state;
    static const char *const names[] = {"va", "vb", "vc", "vd", "ve"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)ADD(r, names[i]);
    }
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-ava [va]\n"
               "addresses: create public IP address kubernetes-avb [vb]\n"
               "addresses: create public IP address kubernetes-avc [vc]\n"
               "addresses: create public IP address kubernetes-avd [vd]\n"
               "addresses: create public IP address kubernetes-ave [ve]\n"
               "balancers: create load balancer kubernetes [va vb vc vd ve]\n"
               "security: change network security group nsg [va vb vc vd ve]\n");
    stage_rig_settled(r);
}

static void change_of_a_port__no_address_is_touched(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->spec = PORTS(443);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: change load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n");
    has_rules(r, "443>20.0.0.1");
    stage_rig_settled(r);
}

static void nothing_changed__nothing_written(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "");
    same_text("status", web->status, "20.0.0.1");
}

/* ---- going ----------------------------------------------------------------------------------- */

static void delete_one__group_before_balancer_before_address(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [web]\n"
               "balancers: change load balancer kubernetes [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    has_rules(r, "80>20.0.0.2");
    has_frontends(r, "kubernetes", "aapi");
    r->n_services = 2;
    r->services[0] = r->services[1];
    r->n_services = 1;
    stage_rig_settled(r);
}

static void delete_last__the_balancer_goes(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [web]\n"
               "balancers: delete load balancer kubernetes [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    has_rules(r, "");
    has_pips(r, "");
}

/* 6.11: a scale set of which the list did not tell holds the balancer; it is checked by its name,
 * and once more deleted. */
static void delete_last__a_scale_set_clings_to_it(void **state)
{
    static const struct {
        const char *group;
        int code;
        const char *log;
    } rows[] = {
        {"RG", ERR_OK,
         "withdraw: change network security group nsg [web]\n"
         "balancers: delete load balancer kubernetes [web]\n"
         "balancers: delete load balancer kubernetes [web]\n"
         "release: delete public IP address kubernetes-aweb [web]\n"},
        {"other", ERR_IN_USE,
         "withdraw: change network security group nsg [web]\n"
         "balancers: delete load balancer kubernetes [web]\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = ADD(r, "web");
        stage_rig_run(r);
        stage_rig_fail_once(r, "kubernetes", ERR_IN_USE);
        r->fail_message = arena_printf(
            r->a,
            "LoadBalancerInUseByVirtualMachineScaleSet: it is used by /subscriptions/s/"
            "resourceGroups/%s/providers/Microsoft.Compute/virtualMachineScaleSets/vmss.",
            rows[i].group);
        web->verb = TT_VERB_DELETE;
        stage_rig_run(r);
        assert_int_equal(web->code, rows[i].code);
        same_text(rows[i].group, r->log, rows[i].log);
        stage_rig_free(r);
    }
}

static void mixed_batch__group_written_twice_and_never_between(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    (void)ADD(r, "api");
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [web]\n"
               "addresses: create public IP address kubernetes-aapi [api]\n"
               "balancers: change load balancer kubernetes [api web]\n"
               "security: change network security group nsg [api]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    has_rules(r, "80>20.0.0.2");
}

static void delete_without_group__is_not_held_up(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    r->p.config.security_group_name = "other";
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "balancers: delete load balancer kubernetes [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
}

static void delete_of_what_never_was__nothing_to_do(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "");
    succeeded(web);
}

/* Others reach 80 through the same rule: only its own address is closed, also
 * without any frontend. */
static void delete_after_the_balancer_was_lost__nothing_stays_open(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    r->docs.lists[AZURE_LBS] = azure_own(r->a, json_object_new_array());
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    has_rules(r, "");
    has_pips(r, "");
}

/* ---- addresses ------------------------------------------------------------------------------- */

#define USERS_PIP                                                                                  \
    "{\"name\":\"mine\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"ipAddress\":"            \
    "\"20.9.9.9\",\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":\"Static\"}}"

static void users_address__is_neither_tagged_nor_deleted(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    struct rig_service *web = stage_rig_add(r, "web", "{\"azure-pip-name\":\"MINE\"}", NULL);
    stage_rig_run(r);
    written(r, "balancers: create load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n");
    same_text("status", web->status, "20.9.9.9");
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [web]\n"
               "balancers: delete load balancer kubernetes [web]\n");
    has_pips(r, "mine");
}

static void users_address_missing__only_its_service_fails(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", "{\"azure-pip-name\":\"mine\"}", NULL);
    struct rig_service *api = ADD(r, "api");
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_NOT_FOUND);
    succeeded(api);
    has_frontends(r, "kubernetes", "aapi");
}

static void shared_address__primary_goes_first_then_the_last_one(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api =
        stage_rig_add(r, "api", "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}", PORTS(443));
    stage_rig_run(r);
    written(r, "addresses: change public IP address kubernetes-aweb [api]\n"
               "balancers: change load balancer kubernetes [api]\n"
               "security: change network security group nsg [api]\n");
    has_frontends(r, "kubernetes", "aweb");
    stage_rig_settled(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    has_frontends(r, "kubernetes", "aweb");
    has_pips(r, "kubernetes-aweb");
    has_rules(r, "443>20.0.0.1");
    same_text("events", r->events, "web DeletingFrontendIPConfiguration\n");
    api->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [api]\n"
               "balancers: delete load balancer kubernetes [api]\n"
               "release: delete public IP address kubernetes-aweb [api]\n");
}

static void shared_address__both_go_in_one_batch(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api =
        stage_rig_add(r, "api", "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}", PORTS(443));
    stage_rig_run(r);
    web->verb = api->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [api web]\n"
               "balancers: delete load balancer kubernetes [api web]\n"
               "release: delete public IP address kubernetes-aweb [api web]\n");
    has_rules(r, "");
}

/* Azure refuses to delete an address that is in use: its Service hears of it, and is let go. */
static void address_in_use__event_and_on(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    r->fail = "kubernetes-aweb";
    r->fail_times = UINT_MAX;
    r->fail_code = ERR_IN_USE;
    stage_rig_run(r);
    succeeded(web);
    same_text("events", r->events, "web DeletePublicIPAddress\n");
    has_pips(r, "kubernetes-aweb");
}

/* The Service shared an address as the last one, and turned internal: no Service names the
 * frontend any more (8.9). */
static void left_frontend__goes_with_its_address(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api =
        stage_rig_add(r, "api", "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}", PORTS(443));
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    api->annotations = INTERNAL;
    api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(api);
    has_pips(r, "");
    same_text("balancers", stage_rig_names(r, AZURE_LBS), "kubernetes-internal");
}

static void dual_stack__two_of_each_and_back_to_one(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, DUAL);
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "addresses: create public IP address kubernetes-aweb-IPv6 [web]\n"
               "balancers: create load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n");
    same_text("status", web->status, "20.0.0.1 2001:db8::2");
    stage_rig_settled(r);
    web->spec = PORTS(80);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    has_pips(r, "kubernetes-aweb");
    has_frontends(r, "kubernetes", "aweb");
    stage_rig_settled(r);
}

static void address_not_given_yet__no_success(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-disable-load-balancer-nsg-rule\":\"true\"}", NULL);
    stage_rig_put(
        r, AZURE_PIPS,
        "{\"name\":\"kubernetes-aweb\",\"sku\":{\"name\":\"Standard\"},\"tags\":{"
        "\"k8s-azure-service\":\"default/web\",\"k8s-azure-cluster-name\":\"kubernetes\"},"
        "\"properties\":{\"publicIPAddressVersion\":\"IPv4\"}}");
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_TRANSIENT);
    same_text("status", web->status, "");
}

/* ---- options --------------------------------------------------------------------------------- */

static void group_disabled__no_rule(void **state)
{
    struct stage_rig *r = *state;
    (void)stage_rig_add(r, "web", "{\"azure-disable-load-balancer-nsg-rule\":\"true\"}", NULL);
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "balancers: create load balancer kubernetes [web]\n");
    has_rules(r, "");
    stage_rig_settled(r);
}

static void tags_of_the_configuration__are_set_on_a_balancer_that_lacks_them(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    r->p.config.tags = "team=net";
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "addresses: change public IP address kubernetes-aweb [web]\n"
               "balancers: change load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n");
    stage_rig_settled(r);
}

static void balancer_in_state_failed__is_written_again(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    json_add_str(azure_props_make(stage_rig_doc(r, AZURE_LBS, "kubernetes")), "provisioningState",
                 "Failed");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: change load balancer kubernetes [web]\n");
}

/* ---- failures -------------------------------------------------------------------------------- */

static void invalid_annotation__fails_alone_and_stays_as_it_is(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->annotations = "{\"azure-load-balancer-tcp-idle-timeout\":\"3\"}";
    web->verb = TT_VERB_UPDATE;
    (void)ADD(r, "api");
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_INVALID);
    has_frontends(r, "kubernetes", "aweb aapi");
    has_rules(r, "80>20.0.0.1,20.0.0.2");
}

static void balancer_full__only_the_last_one_fails(void **state)
{
    struct stage_rig *r = *state;
    const char *ports = "";
    for (int i = 0; i < 800; i++) {
        ports = arena_printf(r->a, "%s%s{\"name\":\"p%d\",\"port\":%d,\"nodePort\":%d}", ports,
                             i > 0 ? "," : "", i, 1000 + i, 30000 + i);
    }
    ports = arena_printf(r->a, "\"ports\":[%s]", ports);
    struct rig_service *one = stage_rig_add(r, "one", NULL, ports);
    struct rig_service *two = stage_rig_add(r, "two", NULL, ports);
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    succeeded(one);
    succeeded(web);
    assert_int_equal(two->code, ERR_QUOTA);
    has_frontends(r, "kubernetes", "aone aweb");
}

/* An address costs, and has no owner when the Service never gets a load balancer (12.6 step 2). */
static void refused__gets_no_address(void **state)
{
    struct stage_rig *r = *state;
    static const struct {
        const char *annotations;
        const char *spec;
        bool basic;
    } rows[] = {
        {NULL, "\"ports\":[{\"protocol\":\"SCTP\",\"port\":9,\"nodePort\":30009}]", false},
        {"{\"azure-disable-load-balancer-floating-ip\":\"true\"}", "\"ports\":[{\"port\":80}]",
         false},
        {"{\"port_80_health-probe_port\":\"none\"}", NULL, false},
        {NULL, "\"ports\":[{\"protocol\":\"TCP\",\"port\":80}]", false}, /* no node port to probe */
        {"{\"azure-load-balancer-mode\":\"no-such-set\"}", NULL, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig_service *web =
            stage_rig_add(r, arena_printf(r->a, "w%zu", i), rows[i].annotations, rows[i].spec);
        r->p.config.standard_sku = !rows[i].basic;
        stage_rig_run(r);
        assert_int_equal(web->code, rows[i].basic ? ERR_NOT_FOUND : ERR_INVALID);
        has_pips(r, "");
    }
}

static void poisoned_member__is_found_by_halves(void **state)
{
    struct stage_rig *r = *state;
    static const char *const names[] = {"va", "vb", "vc", "vd", "ve"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)ADD(r, names[i]);
    }
    r->poison = "avd-TCP";
    stage_rig_run(r);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        same_text(names[i], r->services[i].code == ERR_OK ? "fine" : "failed",
                  i == 3 ? "failed" : "fine");
    }
    has_rules(r, "80>20.0.0.1,20.0.0.2,20.0.0.3,20.0.0.5");
    has_pips(r, "kubernetes-ava kubernetes-avb kubernetes-avc kubernetes-ave"); /* taken back */
}

static void nobody__no_node_takes_part__told_as_long_as_the_pools_are_empty(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    same_text("none", r->nobody, "no node takes part: the cluster has none");
    stage_rig_add_node(r, "n1", "10.0.0.4");
    web->verb = TT_VERB_UPDATE;
    stage_rig_run(r);
    same_text("one", str_nonnull(r->nobody), "");
}

static void conflict__looks_again_and_writes_once_more(void **state)
{
    static const char *const names[] = {"kubernetes", "nsg", "kubernetes-aapi"};
    struct stage_rig *r = *state;
    (void)ADD(r, "web");
    stage_rig_run(r);
    struct rig_service *api = ADD(r, "api");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        stage_rig_fail_once(r, names[i], ERR_CONFLICT);
        api->spec = i % 2 == 0 ? PORTS(443) : PORTS(80);
        api->annotations = i == 2 ? "{\"azure-dns-label-name\":\"x\"}" : NULL;
        api->verb = TT_VERB_ENSURE;
        stage_rig_run(r);
        succeeded(api);
        same_text("events", r->events, "");
        stage_rig_settled(r);
    }
}

static void balancer_fails_for_good__nothing_after_it_is_done(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_ENSURE;
    r->fail = "kubernetes-internal";
    r->fail_times = 9;
    r->fail_code = ERR_FORBIDDEN;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    has_frontends(r, "kubernetes", "aweb");
    has_pips(r, "kubernetes-aweb");
    has_rules(r, "80>20.0.0.1");
}

static void withdraw_fails__the_balancer_stays(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    (void)ADD(r, "api");
    stage_rig_fail_once(r, "nsg", ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    has_frontends(r, "kubernetes", "aweb aapi");
    has_rules(r, "80>20.0.0.1,20.0.0.2");
}

/* A status may lag behind: what this process gave out stays open although no Service shows
 * it yet (17 row 20). */
static void fresh_address_of_another__stays_open(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->status = "";
    (void)stage_rig_add(r, "api", NULL, PORTS(443));
    stage_rig_run(r);
    has_rules(r, "80>20.0.0.1 443>20.0.0.2");
}

UNIT_MAIN(stages)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(create_first__address_balancer_group),
        RIG_TEST(create_first__all_that_is_sure_is_asked_for_at_once),
        RIG_TEST(create_first__plan_shows_what_comes_after_the_address),
        RIG_TEST(create_second__shared_documents_are_changed),
        RIG_TEST(burst_of_five__one_write_per_shared_document),
        RIG_TEST(change_of_a_port__no_address_is_touched),
        RIG_TEST(nothing_changed__nothing_written),
        RIG_TEST(delete_one__group_before_balancer_before_address),
        RIG_TEST(delete_last__the_balancer_goes),
        RIG_TEST(delete_last__a_scale_set_clings_to_it),
        RIG_TEST(mixed_batch__group_written_twice_and_never_between),
        RIG_TEST(delete_without_group__is_not_held_up),
        RIG_TEST(delete_of_what_never_was__nothing_to_do),
        RIG_TEST(delete_after_the_balancer_was_lost__nothing_stays_open),
        RIG_TEST(users_address__is_neither_tagged_nor_deleted),
        RIG_TEST(users_address_missing__only_its_service_fails),
        RIG_TEST(shared_address__primary_goes_first_then_the_last_one),
        RIG_TEST(shared_address__both_go_in_one_batch),
        RIG_TEST(address_in_use__event_and_on),
        RIG_TEST(left_frontend__goes_with_its_address),
        RIG_TEST(dual_stack__two_of_each_and_back_to_one),
        RIG_TEST(address_not_given_yet__no_success),
        RIG_TEST(group_disabled__no_rule),
        RIG_TEST(tags_of_the_configuration__are_set_on_a_balancer_that_lacks_them),
        RIG_TEST(balancer_in_state_failed__is_written_again),
        RIG_TEST(invalid_annotation__fails_alone_and_stays_as_it_is),
        RIG_TEST(balancer_full__only_the_last_one_fails),
        RIG_TEST(refused__gets_no_address),
        RIG_TEST(poisoned_member__is_found_by_halves),
        RIG_TEST(nobody__no_node_takes_part__told_as_long_as_the_pools_are_empty),
        RIG_TEST(conflict__looks_again_and_writes_once_more),
        RIG_TEST(balancer_fails_for_good__nothing_after_it_is_done),
        RIG_TEST(withdraw_fails__the_balancer_stays),
        RIG_TEST(fresh_address_of_another__stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
