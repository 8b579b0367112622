/* SPDX-License-Identifier: Apache-2.0 */
/* test_room.c: edits in an account that has no room for one more target group, or in a security
 * group of nodes that has none for one more rule.  See test_group_change.c for rules of an NLB. */
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define FULL  "security group nodes (sg-nodes)"
#define IN    "AuthorizeSecurityGroupIngress"
#define OUT   "RevokeSecurityGroupIngress"
#define APPLY "ApplySecurityGroupsToLoadBalancer"

static int wave_of(struct service_kit *s, const char *action, size_t nth)
{
    return kit_op(s->k, action, nth)->wave;
}

static bool plans(struct service_kit *s, const char *action)
{
    return strstr(kit_waves(s->k), action) != NULL;
}

/* ---- a classic balancer gets another main group ---------------------------------------------- */

static struct service_kit *other_group(void)
{
    struct service_kit *s = service_kit_new();
    service_settle(s, true);
    (void)service_group(s, "sg-named", "named", NULL);
    s->k->lines = "security-groups=sg-named";
    s->k->repairs = true;
    return s;
}

/* The balancer has both groups while the nodes change from the one to the other; the plan says that
 * it interrupts, and the former rule comes back when AWS refuses the new one. */
static void classic__nodes_full__rules_are_exchanged_while_the_balancer_has_both(void **state)
{
    (void)state;
    struct service_kit *s = other_group();
    s->full = FULL;
    service_plan(s, true);
    assert_true(wave_of(s, APPLY, 0) < wave_of(s, OUT, 0));
    assert_true(wave_of(s, OUT, 0) < wave_of(s, IN, 0));
    assert_true(wave_of(s, IN, 0) < wave_of(s, APPLY, 1));
    assert_true(wave_of(s, APPLY, 1) < wave_of(s, "DeleteSecurityGroup", 0));
    const struct lb_op *gone = kit_op(s->k, OUT, 0);
    assert_non_null(gone->undo);
    assert_true(lb_op_takes_down(gone));
    assert_true(lb_op_ends_undo(kit_op(s->k, IN, 0), gone->undo));
    assert_string_equal(((const struct aws_write *)gone->undo->arg)->action, IN);
    assert_non_null(strstr(service_effects(s), "Traffic is interrupted for a moment"));
    service_settle(s, true);
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-named");
    service_kit_free(s);
}

/* The own group again: it is made in the same plan. */
static void classic__nodes_full__exchanged_for_a_group_that_is_made(void **state)
{
    (void)state;
    struct service_kit *s = other_group();
    service_settle(s, true);
    s->k->lines = "";
    s->full = FULL;
    service_plan(s, true);
    assert_true(wave_of(s, "CreateSecurityGroup", 0) < wave_of(s, APPLY, 0));
    assert_non_null(strstr(service_effects(s), "interrupted"));
    service_settle(s, true);
    service_kit_free(s);
}

/* There is room as far as is known, another group is full, or the exchange was refused a while
 * ago: the new rule comes first, and AWS decides. */
static void classic__not_full_or_spared__new_rule_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *full;
        bool spares;
    } rows[] = {{NULL, false}, {"security group other (sg-other)", false}, {FULL, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = other_group();
        s->full = rows[i].full;
        s->spares = rows[i].spares;
        service_plan(s, true);
        assert_int_equal(wave_of(s, IN, 0), 1);
        assert_null(strstr(service_effects(s), "interrupted"));
        service_settle(s, true);
        service_kit_free(s);
    }
}

/* ---- an NLB's port gets another node port ---------------------------------------------------- */

static struct service_kit *other_node_port(const char *then)
{
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->ports = "80:30080";
    service_settle(s, true);
    s->k->ports = then;
    s->k->repairs = true;
    return s;
}

/* The old target group serves the new node port, and the new group is tried when all is done. */
static void nlb__no_room_for_a_group__old_one_serves_the_new_port(void **state)
{
    (void)state;
    struct service_kit *s = other_node_port("80:30081");
    s->full = "target group";
    service_plan(s, true);
    const struct lb_op *make = kit_op(s->k, "CreateTargetGroup", 0);
    assert_true(make->serves_without);
    assert_int_equal(make->wave, s->k->plan.waves);
    assert_true(lb_plan_service(&s->k->plan, s->k->service->key)->again);
    assert_non_null(strstr(kit_params(s->k, kit_op(s->k, "RegisterTargets", 0), "TargetGroupArn"),
                           "Port=30081"));
    assert_non_null(strstr(kit_params(s->k, kit_op(s->k, "DeregisterTargets", 0), "TargetGroupArn"),
                           "Port=30080"));
    assert_true(wave_of(s, "RegisterTargets", 0) < wave_of(s, "DeregisterTargets", 0));
    assert_false(plans(s, "ModifyListener"));
    assert_false(plans(s, "DeleteTargetGroup"));
    assert_null(strstr(service_effects(s), "interrupted"));
    kit_run(s->k); /* there was room in the end */
    s->full = NULL;
    service_plan(s, true);
    assert_true(plans(s, "ModifyListener"));
    assert_true(plans(s, "DeleteTargetGroup"));
    service_settle(s, true);
    service_kit_free(s);
}

/* Another protocol is another kind of group, and a port that is new has none to borrow. */
static void nlb__no_group_to_borrow__waits_for_room(void **state)
{
    (void)state;
    static const char *const rows[] = {"80:30081/UDP", "80:30080 443:30443"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = other_node_port(rows[i]);
        s->full = "target group";
        service_plan(s, true);
        const struct lb_op *make = kit_op(s->k, "CreateTargetGroup", 0);
        assert_false(make->serves_without);
        assert_int_equal(make->wave, 1);
        service_kit_free(s);
    }
}

/* ---- a balancer that takes no further listener ----------------------------------------------- */

/* Listeners go first only where those that come fit in their place: else AWS refuses the new ones,
 * and the ports that served would be gone. */
static void full_of_listeners__what_goes_goes_first_where_the_rest_fits(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        const char *full;
        const char *remove;
        const char *make;
        const char *ports;
        bool first;
    } rows[] = {
        {"classic", "classic load balancer", "DeleteLoadBalancerListeners",
         "CreateLoadBalancerListeners", "80:30080 8080:30083", true},
        {"classic", "classic load balancer", "DeleteLoadBalancerListeners",
         "CreateLoadBalancerListeners", "80:30080 8080:30083 9:30084", false},
        {"nlb", "listener", "DeleteListener", "CreateListener", "80:30080 8080:30083", true},
        {"nlb", "listener", "DeleteListener", "CreateListener", "80:30080 8080:30083 9:30084",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = service_kit_new();
        s->k->kind = rows[i].kind;
        s->k->ports = "81:30081 8081:30082";
        service_settle(s, true);
        s->k->ports = rows[i].ports;
        s->k->repairs = true;
        s->full = rows[i].full;
        service_plan(s, true);
        if ((wave_of(s, rows[i].remove, 0) < wave_of(s, rows[i].make, 0)) != rows[i].first) {
            fail_msg("row %zu: %s", i, kit_waves(s->k));
        }
        service_kit_free(s);
    }
}

UNIT_MAIN(room)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classic__nodes_full__rules_are_exchanged_while_the_balancer_has_both),
        cmocka_unit_test(classic__nodes_full__exchanged_for_a_group_that_is_made),
        cmocka_unit_test(classic__not_full_or_spared__new_rule_comes_first),
        cmocka_unit_test(nlb__no_room_for_a_group__old_one_serves_the_new_port),
        cmocka_unit_test(nlb__no_group_to_borrow__waits_for_room),
        cmocka_unit_test(full_of_listeners__what_goes_goes_first_where_the_rest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
