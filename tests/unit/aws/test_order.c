/* SPDX-License-Identifier: Apache-2.0 */
/* test_order.c: which operations of a Service's plan wait for which others
 * (aws_order_plan.h), and which do not. */
#include "providers/aws/plan/aws_order_plan.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define IN  "AuthorizeSecurityGroupIngress"
#define OUT "RevokeSecurityGroupIngress"

static struct service_kit *served(const char *kind, const char *ports)
{
    struct service_kit *s = service_kit_new();
    s->k->kind = kind;
    s->k->ports = ports;
    s->k->repairs = true;
    service_settle(s, true);
    return s;
}

/* Does the nth operation of the one action wait for the mth of the other? */
static bool waits(struct service_kit *s, const char *action, size_t nth, const char *on, size_t mth)
{
    const struct lb_op *op = kit_op(s->k, action, nth);
    const struct lb_op *other = kit_op(s->k, on, mth);
    return lb_plan_waits_for(&s->k->plan, (int)(op - s->k->plan.ops),
                             (int)(other - s->k->plan.ops));
}

/* ---- what stays in order --------------------------------------------------------------------- */

static void nlb__node_port__switch_before_drop(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "80:30080 443:30443");
    s->k->ports = "80:30081";
    service_plan(s, true);
    assert_true(waits(s, "RegisterTargets", 0, "CreateTargetGroup", 0));
    assert_true(waits(s, "RegisterTargets", 0, IN, 0));
    assert_true(waits(s, "ModifyListener", 0, "RegisterTargets", 0));
    assert_true(waits(s, "DeleteListener", 0, "ModifyListener", 0));
    assert_true(waits(s, "DeleteTargetGroup", 0, "ModifyListener", 0));
    assert_true(waits(s, "DeleteTargetGroup", 1, "DeleteListener", 0));
    assert_true(waits(s, OUT, 0, "ModifyListener", 0));
    assert_true(waits(s, OUT, 0, "DeleteListener", 0));
    service_kit_free(s);
}

/* The operation of that action that changes a group of such a name, by a rule with that text. */
static size_t which(struct service_kit *s, const char *action, const char *group, const char *text)
{
    for (size_t i = 0;; i++) { /* kit_op() fails the test when there is none left */
        const struct lb_op *op = kit_op(s->k, action, i);
        if (strstr(op->name, group) != NULL && strstr(kit_params(s->k, op, ""), text) != NULL) {
            return i;
        }
    }
}

/* The nodes' group may be full, and another port's listener refused: what a narrower range shuts
 * out waits for new rules of the same group alone. */
static void nlb__narrower_range_and_another_port__waits_for_its_own_rules(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->naming.nlb_group_mode = "Managed";
    s->k->ports = "80:30080 443:30443";
    s->k->repairs = true;
    service_settle(s, true);
    s->k->spec = ",\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]";
    s->k->ports = "80:30080 444:30444";
    service_plan(s, true);
    static const struct {
        const char *group, *other, *stays, *goes;
    } cases[] = {{"k8s-", "nodes", "FromPort=80 ", "FromPort=443 "},
                 {"nodes", "k8s-", "FromPort=30080 ", "FromPort=30443 "}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t narrow = which(s, OUT, cases[i].group, cases[i].stays);
        size_t rest = which(s, OUT, cases[i].group, cases[i].goes);
        assert_int_not_equal(narrow, rest);
        assert_true(waits(s, OUT, narrow, IN, which(s, IN, cases[i].group, "192.0.2.0/24")));
        assert_false(waits(s, OUT, narrow, IN, which(s, IN, cases[i].other, "192.0.2.0/24")));
        assert_false(waits(s, OUT, narrow, "CreateListener", 0));
        assert_true(waits(s, OUT, rest, "DeleteListener", 0));
    }
    service_settle(s, true);
    service_kit_free(s);
}

static void nlb__nodes_replaced__join_before_leave(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "80:30080");
    s->k->instances = kit_texts(s->k, "i-2 i-3 i-4");
    service_plan(s, true);
    assert_true(waits(s, "DeregisterTargets", 0, "RegisterTargets", 0));
    service_kit_free(s);
}

static void classic__nodes_replaced__join_before_leave(void **state)
{
    (void)state;
    struct service_kit *s = served("", "80:30080");
    s->k->instances = kit_texts(s->k, "i-2 i-3 i-4");
    service_plan(s, true);
    assert_true(
        waits(s, "DeregisterInstancesFromLoadBalancer", 0, "RegisterInstancesWithLoadBalancer", 0));
    service_kit_free(s);
}

static void nlb__tcp_to_udp__replacement_is_ready_before_the_listener_goes(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "53:30053");
    s->k->ports = "53:30053/UDP";
    service_plan(s, true);
    assert_true(waits(s, "DeleteListener", 0, "CreateTargetGroup", 0));
    assert_true(waits(s, "DeleteListener", 0, IN, 0));
    assert_true(waits(s, "CreateListener", 0, "DeleteListener", 0));
    assert_true(waits(s, "DeleteTargetGroup", 0, "CreateListener", 0));
    service_kit_free(s);
}

static void nlb__delete__balancer_rules_group(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->naming.nlb_group_mode = "Managed";
    service_settle(s, true);
    service_plan(s, false);
    assert_true(waits(s, "DeleteTargetGroup", 0, "DeleteLoadBalancer", 0));
    assert_true(waits(s, OUT, 0, "DeleteLoadBalancer", 0));
    assert_true(waits(s, "DeleteSecurityGroup", 0, OUT, 0));
    service_kit_free(s);
}

/* The former listener goes when a copy of its replacement has been tried; that one comes at once,
 * and also when something else fails. */
static void classic__listener_made_again__delete_before_create_and_nothing_between(void **state)
{
    (void)state;
    struct service_kit *s = served("", "80:30080");
    s->k->ports = "80:30081";
    service_plan(s, true);
    const struct lb_op *made = kit_op(s->k, "CreateLoadBalancerListeners", 1);
    assert_true(waits(s, "DeleteLoadBalancerListeners", 0, "CreateLoadBalancerListeners", 0));
    assert_true(waits(s, "CreateLoadBalancerListeners", 1, "DeleteLoadBalancerListeners", 0));
    assert_true(made->after.given);
    assert_int_equal(made->finally, LB_FINALLY_IN_PLACE);
    assert_int_equal(made->wave, kit_op(s->k, "DeleteLoadBalancerListeners", 0)->wave + 1);
    assert_false(waits(s, "ConfigureHealthCheck", 0, "CreateLoadBalancerListeners", 1));
    assert_false(waits(s, "CreateLoadBalancerListeners", 1, "ConfigureHealthCheck", 0));
    service_kit_free(s);
}

/* Settings of a classic balancer name it by its name, not by a value of the operation that makes
 * it. */
static void classic__create__balancer_before_its_check_and_instances(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->ports = "80:30080";
    service_plan(s, true);
    assert_true(waits(s, "ConfigureHealthCheck", 0, "CreateLoadBalancer", 0));
    assert_true(waits(s, "RegisterInstancesWithLoadBalancer", 0, "CreateLoadBalancer", 0));
    assert_true(waits(s, "CreateLoadBalancer", 0, "CreateSecurityGroup", 0));
    service_kit_free(s);
}

/* A port that comes beside one that goes: clients of the old one are served until the new one
 * is. */
static void classic__another_port__switch_before_drop(void **state)
{
    (void)state;
    struct service_kit *s = served("", "80:30080");
    s->k->ports = "81:30081";
    service_plan(s, true);
    assert_true(waits(s, "DeleteLoadBalancerListeners", 0, "CreateLoadBalancerListeners", 0));
    assert_true(waits(s, OUT, 0, "DeleteLoadBalancerListeners", 0));
    service_kit_free(s);
}

/* ---- what need not wait ---------------------------------------------------------------------- */

static void nlb__port_added__listener_does_not_wait_for_targets(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "80:30080");
    s->k->ports = "80:30080 443:30443";
    service_plan(s, true);
    assert_true(waits(s, "CreateListener", 0, "CreateTargetGroup", 0));
    assert_true(waits(s, "CreateListener", 0, IN, 0));
    assert_false(waits(s, "CreateListener", 0, "RegisterTargets", 0));
    service_kit_free(s);
}

/* Two ports: each listener waits for the targets of its own group. */
static void nlb__two_node_ports__listeners_wait_for_their_own_groups(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "80:30080 443:30443");
    s->k->ports = "80:30081 443:30444";
    service_plan(s, true);
    for (size_t i = 0; i < 2; i++) {
        assert_true(waits(s, "ModifyListener", i, "RegisterTargets", i));
        assert_false(waits(s, "ModifyListener", i, "RegisterTargets", 1 - i));
    }
    service_kit_free(s);
}

/* Attributes that AWS refuses keep no node from leaving. */
static void nlb__attribute_refused__nodes_leave_all_the_same(void **state)
{
    (void)state;
    struct service_kit *s = served("nlb", "80:30080");
    s->k->lines = "cross-zone-load-balancing-enabled=true";
    s->k->instances = kit_texts(s->k, "i-2 i-3 i-4");
    service_plan(s, true);
    assert_false(waits(s, "DeregisterTargets", 0, "ModifyLoadBalancerAttributes", 0));
    service_kit_free(s);
}

/* Settings that AWS refuses keep no range open, and no port that the Service has no more. */
static void settings_refused__ranges_and_ports_leave_all_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *lines, *action, *goes;
    } rows[] = {
        {"nlb", "access-log-enabled=true\naccess-log-s3-bucket-name=logs",
         "ModifyLoadBalancerAttributes", "DeleteListener"},
        {"", "access-log-enabled=true\naccess-log-s3-bucket-name=logs",
         "ModifyLoadBalancerAttributes", "DeleteLoadBalancerListeners"},
        {"", "proxy-protocol=*", "CreateLoadBalancerPolicy", "DeleteLoadBalancerListeners"},
        {"", "proxy-protocol=*", "SetLoadBalancerPoliciesForBackendServer",
         "DeleteLoadBalancerListeners"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = served(rows[i].kind, "80:30080 443:30443");
        s->k->lines = rows[i].lines;
        s->k->ports = "80:30080";
        service_plan(s, true);
        assert_true(kit_op(s->k, rows[i].action, 0)->fails_alone);
        assert_false(kit_op(s->k, rows[i].goes, 0)->fails_alone);
        assert_false(waits(s, rows[i].goes, 0, rows[i].action, 0));
        assert_false(waits(s, OUT, 0, rows[i].action, 0));
        service_kit_free(s);
    }
}

/* AWS takes a burst of calls: of one phase so many are in progress at a time. */
static void nlb__many_ports__a_window_of_calls(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    struct str_buf ports _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (int i = 0; i < 20; i++) {
        str_appendf(&ports, "%s%d:%d", i > 0 ? " " : "", 80 + i, 30080 + i);
    }
    s->k->kind = "nlb";
    s->k->ports = str_buf_text(&ports);
    service_plan(s, true);
    assert_false(waits(s, "CreateTargetGroup", 1, "CreateTargetGroup", 0));
    assert_true(waits(s, "CreateTargetGroup", 19, "CreateTargetGroup", 3));
    assert_false(waits(s, "CreateTargetGroup", 19, "CreateTargetGroup", 4));
    service_kit_free(s);
}

UNIT_MAIN(order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nlb__node_port__switch_before_drop),
        cmocka_unit_test(nlb__narrower_range_and_another_port__waits_for_its_own_rules),
        cmocka_unit_test(nlb__nodes_replaced__join_before_leave),
        cmocka_unit_test(classic__nodes_replaced__join_before_leave),
        cmocka_unit_test(nlb__tcp_to_udp__replacement_is_ready_before_the_listener_goes),
        cmocka_unit_test(nlb__delete__balancer_rules_group),
        cmocka_unit_test(classic__listener_made_again__delete_before_create_and_nothing_between),
        cmocka_unit_test(classic__create__balancer_before_its_check_and_instances),
        cmocka_unit_test(classic__another_port__switch_before_drop),
        cmocka_unit_test(nlb__port_added__listener_does_not_wait_for_targets),
        cmocka_unit_test(nlb__two_node_ports__listeners_wait_for_their_own_groups),
        cmocka_unit_test(nlb__attribute_refused__nodes_leave_all_the_same),
        cmocka_unit_test(settings_refused__ranges_and_ports_leave_all_the_same),
        cmocka_unit_test(nlb__many_ports__a_window_of_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
