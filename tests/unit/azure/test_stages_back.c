/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_back.c: a Service that moves to another balancer is back where it was when that, or
 * its nodes, are refused; azure_lb_moves.h under the real driver, with a cloud in memory
 * (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "tests/support/unit.h"

#include <limits.h>

#define ON(lb) "{\"azure-load-balancer-configurations\":\"" lb "\"}"
#define LOCAL                                                                                      \
    "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32000,\"ports\":[{\"name\":"      \
    "\"a\","                                                                                       \
    "\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]"
#define PORT_81    "\"ports\":[{\"name\":\"a\",\"port\":81,\"protocol\":\"TCP\",\"nodePort\":30081}]"
#define LEFT       "balancers: change load balancer lb1 [web]\n"
#define MOVED      LEFT "balancers: create load balancer lb2 [web]\n"
#define POOL(lb)   "members: change backend address pool " lb "/default-web [web]\n"
#define MOVED_BACK "balancers: delete load balancer lb2 [web]\n" LEFT POOL("lb1")

static const char *frontends(struct stage_rig *r, const char *lb)
{
    return stage_rig_elements(r, lb, "frontendIPConfigurations");
}

/* web and api on lb1, with a node; then web is to move. */
static struct rig_service *about_to_move(struct stage_rig *r, const char *spec, bool alone)
{
    stage_rig_two_balancers(r);
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    stage_rig_add_node(r, "vm-1", "10.0.1.1");
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), spec);
    web->hosts = "vm-0";
    if (!alone) {
        (void)stage_rig_add(r, "api", ON("lb1"), PORT_81);
    }
    stage_rig_run(r);
    succeeded(web);
    web->annotations = ON("lb2");
    web->verb = TT_VERB_ENSURE;
    return web;
}

static void refuse(struct stage_rig *r, const char *name, unsigned after, int code)
{
    r->fail = name;
    r->fail_after = after;
    r->fail_times = 1;
    r->fail_code = code;
    r->fail_message = "no";
}

static void joined_balancer_refused__put_back_at_once(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = about_to_move(r, NULL, false);
    refuse(r, "lb2", 0, ERR_FORBIDDEN);
    stage_rig_run(r);
    written(r, MOVED LEFT);
    same_text("message", web->message,
              "load balancer lb2: no; the former load balancer was put back");
    same_text("lb1", frontends(r, "lb1"), "aapi aweb");
    same_text("lb2", frontends(r, "lb2"), "");
    same_text("rules", stage_rig_elements(r, "lb1", "loadBalancingRules"),
              "aapi-TCP-81 aweb-TCP-80");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("lb2", frontends(r, "lb2"), "aweb");
    stage_rig_settled(r);
}

/* It has not moved, and is tried again as soon as any other. */
static void left_balancer_refused__stays_as_it_is(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = about_to_move(r, NULL, false);
    refuse(r, "lb1", 0, ERR_FORBIDDEN);
    stage_rig_run(r);
    written(r, LEFT);
    same_text("message", web->message, "load balancer lb1: no");
    same_text("lb1", frontends(r, "lb1"), "aapi aweb");
}

/* The balancer, which no other Service uses, was deleted for the move. */
static void left_balancer_was_deleted__is_there_again(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = about_to_move(r, NULL, true);
    refuse(r, "lb2", 0, ERR_INVALID);
    stage_rig_run(r);
    assert_int_equal(web->code, TT_INVALID);
    same_text("lb1", frontends(r, "lb1"), "aweb");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("balancers", stage_rig_names(r, AZURE_LBS), "lb2");
    stage_rig_settled(r);
}

/* Without nodes on the joined balancer no client is served there. */
static void nodes_of_the_joined_one_refused__moves_back(void **state)
{
    static const int codes[] = {ERR_FORBIDDEN, ERR_QUOTA, ERR_TRANSIENT};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = about_to_move(r, LOCAL, false);
        refuse(r, "default-web", 0, codes[i]);
        stage_rig_run(r);
        written(r, MOVED POOL("lb2") MOVED_BACK);
        same_text("message", web->message,
                  "backend address pool lb2/default-web: no; it is on load balancer lb1 again");
        same_text("lb1", frontends(r, "lb1"), "aapi aweb");
        web->verb = TT_VERB_ENSURE;
        stage_rig_run(r);
        succeeded(web);
        written(r, MOVED POOL("lb2"));
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* The right may be back any time: that very write is sent once more, with no version that the
 * balancer has, and nothing else until Azure takes it. */
static void joined_one_refused_for_a_right__asked_for_while_all_stands(void **state)
{
    static const char *const names[] = {"lb2", "default-web"};
    static const char *const asked[] = {"balancers: change load balancer lb2 [web]\n",
                                        "balancers: change backend address pool lb2/default-web "
                                        "[web]\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = about_to_move(r, LOCAL, false);
        refuse(r, names[i], 0, ERR_FORBIDDEN);
        stage_rig_run(r);
        assert_int_equal(web->code, TT_FORBIDDEN);
        refuse(r, names[i], 0, ERR_FORBIDDEN);
        web->flags = TT_ITEM_SPARE | TT_ITEM_ASKS;
        web->verb = TT_VERB_ENSURE;
        stage_rig_reconcile(r);
        assert_int_equal(web->code, TT_IN_USE); /* as spared */
        written(r, asked[i]);
        same_text("lb1", frontends(r, "lb1"), "aapi aweb");
        stage_rig_run(r);
        succeeded(web);
        written(r, arena_printf(r->a, "%s" MOVED POOL("lb2"), asked[i]));
        web->flags = 0;
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* Another process does not know which write was refused, and asks for all of them. */
static void refused_in_another_process__asked_for_while_all_stands(void **state)
{
    static const char asked[] = "balancers: change load balancer lb2 [web]\n"
                                "balancers: change backend address pool lb2/default-web [web]\n";
    static const char *const names[] = {"lb2", "default-web"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = about_to_move(r, LOCAL, false);
        web->flags = TT_ITEM_SPARE | TT_ITEM_ASKS;
        refuse(r, names[i], 0, ERR_FORBIDDEN);
        stage_rig_reconcile(r);
        assert_int_equal(web->code, TT_IN_USE);
        written(r, asked);
        same_text("lb1", frontends(r, "lb1"), "aapi aweb");
        stage_rig_run(r);
        succeeded(web);
        written(r, arena_printf(r->a, "%s" MOVED POOL("lb2"), asked));
        web->flags = 0;
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* Machines that would be written are not known yet. */
static void refused_in_another_process__pools_of_interfaces__spared(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = about_to_move(r, NULL, false);
    r->p.config.pool_type = AZURE_POOL_NIC;
    web->flags = TT_ITEM_SPARE | TT_ITEM_ASKS;
    stage_rig_run(r);
    assert_int_equal(web->code, TT_IN_USE);
    written(r, "");
}

UNIT_MAIN(stages_back)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(joined_balancer_refused__put_back_at_once),
        cmocka_unit_test(nodes_of_the_joined_one_refused__moves_back),
        cmocka_unit_test(joined_one_refused_for_a_right__asked_for_while_all_stands),
        cmocka_unit_test(refused_in_another_process__asked_for_while_all_stands),
        RIG_TEST(refused_in_another_process__pools_of_interfaces__spared),
        RIG_TEST(left_balancer_refused__stays_as_it_is),
        RIG_TEST(left_balancer_was_deleted__is_there_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
