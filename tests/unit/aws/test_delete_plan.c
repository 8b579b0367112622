/* SPDX-License-Identifier: Apache-2.0 */
/* test_delete_plan.c: a Service goes with everything that is its own and nothing else, wherever an
 * earlier deletion stopped (docs/spec/aws.md 7.3, 7.4, 13 rows 1 to 3, 18, 19, 24). */
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define LB      "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"
#define CLASSIC "k8s-elb-" LB

static const char *waves(struct service_kit *s)
{
    return kit_waves(s->k);
}

static struct service_kit *classic(const char *lines)
{
    struct service_kit *s = service_kit_new();
    (void)service_group(s, "sg-a", "a", NULL);
    s->k->lines = lines;
    service_settle(s, true);
    return s;
}

static struct service_kit *nlb(const char *mode)
{
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->naming.nlb_group_mode = mode;
    s->k->ports = "80:30080 443:30443";
    service_settle(s, true);
    return s;
}

/* Nothing of the Service is left: no balancer, no group of its name, and these rules of nodes. */
static void assert_gone(struct service_kit *s, const char *node_rules)
{
    assert_int_equal(s->k->world.n_classics, 0);
    assert_int_equal(s->k->world.n_nlbs, 0);
    assert_int_equal(s->k->world.n_target_groups, 0);
    assert_null(service_named(s, CLASSIC));
    assert_null(service_named(s, s->k->service->nlb_group));
    assert_string_equal(service_rules(s, "sg-nodes"), node_rules);
}

/* ---- whole ----------------------------------------------------------------------------------- */

static void delete__classic__balancer_then_rules_then_group(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    service_add_rule(s, "sg-nodes", "tcp 22 10.0.0.0/8");
    service_add_rule(s, "sg-nodes", "-1 sg-nodes");
    service_plan(s, false);
    assert_string_equal(waves(s), "1 DeleteLoadBalancer; 2 RevokeSecurityGroupIngress; "
                                  "3 DeleteSecurityGroup");
    assert_true(kit_op(s->k, "DeleteLoadBalancer", 0)->critical);
    assert_int_equal(kit_op(s->k, "DeleteLoadBalancer", 0)->tolerate, LB_TOLERATE_ABSENT);
    assert_int_equal(kit_op(s->k, "DeleteSecurityGroup", 0)->tolerate, LB_TOLERATE_ABSENT);
    assert_string_equal(service_effects(s), "The DNS name is given up.");
    service_settle(s, false);
    assert_gone(s, "-1 sg-nodes\ntcp 22 10.0.0.0/8");
    service_kit_free(s);
}

static void delete__nlb__balancer_then_target_groups_and_rules(void **state)
{
    (void)state;
    struct service_kit *s = nlb("Managed");
    service_add_rule(s, "sg-nodes", "tcp 30080 10.9.0.0/16;kubernetes.io/rule/nlb/client=aother");
    service_add_rule(s, "sg-nodes", "icmp 3-4 10.9.0.0/16;kubernetes.io/rule/nlb/mtu");
    service_plan(s, false);
    assert_string_equal(waves(s), "1 DeleteLoadBalancer; "
                                  "2 DeleteTargetGroup, DeleteTargetGroup, "
                                  "RevokeSecurityGroupIngress; 3 DeleteSecurityGroup");
    service_settle(s, false);
    assert_gone(s, "icmp 3-4 10.9.0.0/16;kubernetes.io/rule/nlb/mtu\n"
                   "tcp 30080 10.9.0.0/16;kubernetes.io/rule/nlb/client=aother");
    service_kit_free(s);
}

#define LB_GONE "a0000000000000000000000000000000"
#define LB_HERE "a1111111111111111111111111111111"
#define PROBED  "tcp 10256 10.0.1.0/24;kubernetes.io/rule/nlb/health="

/* A rule that several balancers needed bears the name of the first; the last one takes it away. */
static void delete__probes_of_a_balancer_that_is_gone__last_who_needs_them_takes_them(void **state)
{
    (void)state;
    static const char *const here[] = {LB_HERE};
    static const struct {
        const char *name, *owner;
        bool known, stays;
    } rows[] = {
        {LB_GONE, "owned", true, false},     {LB_HERE, "owned", true, true},
        {LB_GONE, "owned", false, true},     {LB_GONE, "shared", true, true},
        {"somebody's", "owned", true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = nlb("Managed");
        const char *rule = arena_printf(s->k->a, PROBED "%s", rows[i].name);
        s->knows_needed = rows[i].known;
        s->other_names = str_set_make(s->k->a, here, 1);
        service_add_rule(s, "sg-nodes", rule);
        struct aws_group *nodes = &s->k->world.groups[0].group;
        const struct aws_tag tag = {AWS_CLUSTER_TAG_PREFIX "c1", rows[i].owner};
        assert_string_equal(nodes->id, "sg-nodes");
        nodes->tags = (struct aws_tags){.items = &tag, .n = 1};
        service_settle(s, false);
        assert_gone(s, rows[i].stays ? rule : "");
        service_kit_free(s);
    }
}

/* Upstream follows the annotation as it is now, and leaks the other one (13 row 3; CPA 1254). */
static void delete__balancers_of_both_kinds__both_go(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    struct aws_classic balancer = s->k->world.classics[0];
    s->k->world.n_classics = 0;
    s->k->kind = "nlb";
    service_settle(s, true);
    s->k->world.classics[0] = balancer;
    s->k->world.n_classics = 1;
    s->k->kind = "external"; /* whatever it says now */
    service_plan(s, false);
    assert_true(kit_op(s->k, "DeleteLoadBalancer", 0)->critical);
    assert_false(kit_op(s->k, "DeleteLoadBalancer", 1)->critical);
    service_settle(s, false);
    assert_gone(s, "");
    service_kit_free(s);
}

static void delete__service_that_is_wrong__goes_all_the_same(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    s->k->lines = "proxy-protocol=nonsense\nhealthcheck-port=x";
    s->k->spec = ",\"loadBalancerSourceRanges\":[\"nonsense\"]";
    service_settle(s, false);
    assert_gone(s, "");
    service_kit_free(s);
}

static void delete__nothing_there__is_nothing_to_do(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    service_plan(s, false);
    assert_int_equal(s->k->plan.n_ops, 0);
    assert_string_equal(service_effects(s), "");
    service_kit_free(s);
}

/* ---- what is left of it ---------------------------------------------------------------------- */

/* 13 rows 1 and 2: wherever it stops, the next deletion finds the rest. */
static void delete__stopped_anywhere__the_rest_is_found(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int stop = 0; stop < 6; stop++) {
            struct service_kit *s = kind == 0 ? classic("") : nlb("Managed");
            struct err err = ERR_INIT;
            service_plan(s, false);
            s->k->run = (struct aws_world_run){.stop_after = stop, .backwards = stop % 2 == 1};
            assert_int_equal(aws_world_run(&s->k->world, &s->k->plan, &s->k->run, &err), ERR_OK);
            service_settle(s, false);
            assert_gone(s, "");
            service_kit_free(s);
        }
    }
}

/* 12 row 16: a balancer that never came to be, its group made before it. */
static void delete__creation_stopped_anywhere__nothing_is_left(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int stop = 0; stop < 10; stop++) {
            struct service_kit *s = service_kit_new();
            struct err err = ERR_INIT;
            s->k->kind = kind == 0 ? "" : "nlb";
            s->k->naming.nlb_group_mode = "Managed";
            service_plan(s, true);
            s->k->run = (struct aws_world_run){.stop_after = stop, .backwards = stop % 2 == 1};
            assert_int_equal(aws_world_run(&s->k->world, &s->k->plan, &s->k->run, &err), ERR_OK);
            service_settle(s, false);
            assert_gone(s, "");
            service_kit_free(s);
        }
    }
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* 13 row 18. */
static void delete__group_of_somebody__stays_although_the_balancer_had_it(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    (void)service_group(s, "sg-b", "b", "shared");
    s->k->lines = "extra-security-groups=sg-b";
    service_settle(s, true);
    service_settle(s, false);
    assert_gone(s, "");
    assert_non_null(aws_world_group(&s->k->world, "sg-b"));
    service_kit_free(s);
}

static void delete__group_that_was_named__loses_only_the_rule_about_it(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        struct service_kit *s = classic("security-groups=sg-a");
        service_add_rule(s, "sg-nodes", "tcp 22 sg-a");
        if (there == 0) { /* the balancer is gone already: the annotation still tells */
            s->k->world.n_classics = 0;
        }
        service_settle(s, false);
        assert_gone(s, "tcp 22 sg-a");
        assert_non_null(aws_world_group(&s->k->world, "sg-a"));
        service_kit_free(s);
    }
}

static void delete__shared_group__is_let_in_while_others_use_it(void **state)
{
    (void)state;
    static const char *const shared[] = {"sg-a"};
    struct service_kit *s = service_kit_new();
    s->k->naming.shared_group = "sg-a";
    (void)service_group(s, "sg-a", "a", NULL);
    service_settle(s, true);
    s->other_groups = s->other_mains = str_set_make(s->k->a, shared, 1);
    service_settle(s, false);
    assert_gone(s, "-1 sg-a");
    s->other_mains = (struct str_set){0};
    service_settle(s, false);
    assert_gone(s, "");
    service_kit_free(s);
}

static void delete__target_group_of_another_balancer__stays(void **state)
{
    (void)state;
    struct service_kit *s = nlb("");
    struct aws_listener foreign = s->k->world.listeners[0];
    foreign.arn = "arn:their-listener";
    foreign.balancer = "arn:their-balancer";
    s->k->world.listeners[s->k->world.n_listeners++] = foreign;
    service_plan(s, false);
    assert_non_null(strstr(service_finding(s), "arn:their-balancer forwards to it, too"));
    kit_run(s->k);
    assert_int_equal(s->k->world.n_target_groups, 1);
    assert_int_equal(s->k->world.n_nlbs, 0);
    service_kit_free(s);
}

/* ---- references ------------------------------------------------------------------------------ */

/* 4.11 item 6: while the group itself goes, wherever they are; 12 row 17: what is not
 * ours is named. */
static void delete__references_elsewhere__ours_go_and_others_are_named(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    struct err err = ERR_INIT;
    const char *own = service_named(s, CLASSIC)->id;
    (void)service_group(s, "sg-db", "database", NULL);
    service_add_rule(s, "sg-db", arena_printf(s->k->a, "-1 %s", own));
    s->referring = true;
    service_settle(s, false);
    assert_gone(s, "");
    assert_string_equal(service_rules(s, "sg-db"), "");
    service_kit_free(s);

    s = classic("");
    own = service_named(s, CLASSIC)->id;
    (void)service_group(s, "sg-db", "database", NULL);
    service_add_rule(s, "sg-db", arena_printf(s->k->a, "-1 %s", own));
    service_add_rule(s, "sg-db", arena_printf(s->k->a, "tcp 5432 %s", own));
    s->referring = true;
    service_plan(s, false);
    assert_string_equal(kit_op(s->k, "DeleteSecurityGroup", 0)->note,
                        "held by a rule of database (sg-db) that is not the controller's: take "
                        "it away");
    s->k->run = (struct aws_world_run){.stop_after = -1};
    assert_int_equal(aws_world_run(&s->k->world, &s->k->plan, &s->k->run, &err), ERR_IN_USE);
    assert_string_equal(service_rules(s, "sg-db"), arena_printf(s->k->a, "tcp 5432 %s", own));
    service_kit_free(s);
}

/* 5.11 item 7: upstream leaves those of groups without tag. */
static void delete__rules_in_a_group_without_tag__go_too(void **state)
{
    (void)state;
    static const struct aws_group_ref plain = {"sg-plain", "plain"};
    struct service_kit *s = service_kit_new();
    (void)service_group(s, "sg-plain", "plain", NULL);
    s->k->world.instances[0].groups = &plain;
    s->k->kind = "nlb";
    service_settle(s, true);
    assert_non_null(strstr(service_rules(s, "sg-plain"), "client=" LB));
    service_settle(s, false);
    assert_string_equal(service_rules(s, "sg-plain"), "");
    assert_gone(s, "");
    service_kit_free(s);
}

/* One Revoke for whatever a group of nodes has of the Service. */
static void delete__rules_of_both_kinds_in_a_group__one_call(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    service_add_rule(s, "sg-nodes", "tcp 30080 0.0.0.0/0;kubernetes.io/rule/nlb/client=" LB);
    service_add_rule(s, "sg-nodes", "tcp 30080 10.0.0.0/24;kubernetes.io/rule/nlb/health=" LB);
    service_plan(s, false);
    assert_string_equal(waves(s), "1 DeleteLoadBalancer; 2 RevokeSecurityGroupIngress; "
                                  "3 DeleteSecurityGroup");
    service_settle(s, false);
    assert_gone(s, "");
    service_kit_free(s);
}

static void delete__rules_are_not_ours_to_write__only_references_go(void **state)
{
    (void)state;
    struct service_kit *s = classic("");
    const char *mine = "tcp 30080 0.0.0.0/0;kubernetes.io/rule/nlb/client=" LB;
    service_add_rule(s, "sg-nodes", mine);
    s->k->naming.no_node_rules = true;
    service_settle(s, false);
    assert_gone(s, mine);
    service_kit_free(s);
}

UNIT_MAIN(delete_plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delete__classic__balancer_then_rules_then_group),
        cmocka_unit_test(delete__nlb__balancer_then_target_groups_and_rules),
        cmocka_unit_test(delete__probes_of_a_balancer_that_is_gone__last_who_needs_them_takes_them),
        cmocka_unit_test(delete__balancers_of_both_kinds__both_go),
        cmocka_unit_test(delete__service_that_is_wrong__goes_all_the_same),
        cmocka_unit_test(delete__nothing_there__is_nothing_to_do),
        cmocka_unit_test(delete__stopped_anywhere__the_rest_is_found),
        cmocka_unit_test(delete__creation_stopped_anywhere__nothing_is_left),
        cmocka_unit_test(delete__group_of_somebody__stays_although_the_balancer_had_it),
        cmocka_unit_test(delete__group_that_was_named__loses_only_the_rule_about_it),
        cmocka_unit_test(delete__shared_group__is_let_in_while_others_use_it),
        cmocka_unit_test(delete__target_group_of_another_balancer__stays),
        cmocka_unit_test(delete__references_elsewhere__ours_go_and_others_are_named),
        cmocka_unit_test(delete__rules_in_a_group_without_tag__go_too),
        cmocka_unit_test(delete__rules_of_both_kinds_in_a_group__one_call),
        cmocka_unit_test(delete__rules_are_not_ours_to_write__only_references_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
