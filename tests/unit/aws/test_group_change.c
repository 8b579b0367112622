/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_change.c: rules that come to a security group and leave it, where the group has no
 * room for both. */
#include "providers/aws/plan/aws_groups_plan.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define LB       "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"
#define FULL     "security group nodes (sg-nodes)"
#define IN       "AuthorizeSecurityGroupIngress"
#define OUT      "RevokeSecurityGroupIngress"
#define SHUT_OUT "Some clients are interrupted for a moment"

/* An NLB that serves these ports; the plan of other ones follows. */
static struct service_kit *nlb_with(const char *ports, const char *then)
{
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->ports = ports;
    service_settle(s, true);
    s->k->ports = then;
    s->k->repairs = true;
    return s;
}

static void fill(struct service_kit *s, const char *group, int n)
{
    for (int i = 0; i < n; i++) {
        service_add_rule(s, group, arena_printf(s->k->a, "tcp 22 172.16.%d.0/24;mine", i));
    }
}

static const char *params(struct service_kit *s, const char *action, size_t nth)
{
    return kit_params(s->k, kit_op(s->k, action, nth), "GroupId");
}

static size_t wave_of(struct service_kit *s, const char *action, size_t nth)
{
    return (size_t)kit_op(s->k, action, nth)->wave;
}

/* ---- rules of nodes: another node port ------------------------------------------------------- */

/* AWS says that the group is full: the rule of the port that goes makes room, not that of
 * the port that stays. */
static void nodes__full__rule_of_the_port_that_goes_makes_room(void **state)
{
    (void)state;
    struct service_kit *s = nlb_with("80:30080 443:30443", "80:30081");
    s->full = FULL;
    service_plan(s, true);
    assert_int_equal(wave_of(s, OUT, 0), 1);
    assert_non_null(strstr(params(s, OUT, 0), "FromPort=30443"));
    assert_null(strstr(params(s, OUT, 0), "FromPort=30080"));
    assert_true(wave_of(s, IN, 0) > 1);
    assert_true(wave_of(s, OUT, 1) > wave_of(s, "ModifyListener", 0));
    assert_null(strstr(service_effects(s), "interrupted"));
    service_settle(s, true);
    service_kit_free(s);
}

/* The quota is known: the order is right before AWS refuses anything. */
static void nodes__near_the_quota__idle_rule_goes_first(void **state)
{
    (void)state;
    struct service_kit *s = nlb_with("80:30080 443:30443", "80:30081");
    fill(s, "sg-nodes", 57); /* 80, 443, ICMP */
    service_plan(s, true);
    assert_int_equal(wave_of(s, OUT, 0), 1);
    assert_non_null(strstr(params(s, OUT, 0), "FromPort=30443"));
    assert_null(strstr(service_effects(s), "interrupted"));
    service_settle(s, true);
    service_kit_free(s);
}

/* Nothing else can go: the plan announces it, and what goes is put back when AWS refuses
 * the new rule. */
static void nodes__nothing_idle__is_announced_and_put_back(void **state)
{
    (void)state;
    struct service_kit *s = nlb_with("80:30080", "80:30081");
    s->full = FULL;
    service_plan(s, true);
    const struct lb_op *gone = kit_op(s->k, OUT, 0);
    assert_int_equal(gone->wave, 1);
    assert_non_null(strstr(service_effects(s), SHUT_OUT));
    assert_non_null(gone->undo);
    assert_true(lb_op_ends_undo(kit_op(s->k, IN, 0), gone->undo));
    const struct aws_write *back = gone->undo->arg;
    assert_string_equal(back->action, IN);
    service_settle(s, true);
    service_kit_free(s);
}

/* AWS has room, as far as is known: new rules first. */
static void nodes__room_for_both__new_rule_comes_first(void **state)
{
    (void)state;
    struct service_kit *s = nlb_with("80:30080 443:30443", "80:30081");
    fill(s, "sg-nodes", 56);
    service_plan(s, true);
    assert_int_equal(wave_of(s, IN, 0), 1);
    assert_true(wave_of(s, OUT, 0) > wave_of(s, "ModifyListener", 0));
    service_kit_free(s);
}

/* Another group is full, or the account has no room for one more group: this one is
 * planned as ever. */
static void nodes__another_group_is_full__order_stays(void **state)
{
    (void)state;
    const char *const full[] = {"security group", "security group other (sg-other)"};
    for (size_t i = 0; i < ARRAY_LEN(full); i++) {
        struct service_kit *s = nlb_with("80:30080", "80:30081");
        s->full = full[i];
        service_plan(s, true);
        assert_int_equal(wave_of(s, IN, 0), 1);
        service_kit_free(s);
    }
}

/* ---- rules of nodes: another balancer's name ------------------------------------------------- */

#define ANEW  "UpdateSecurityGroupRuleDescriptionsIngress"
#define OTHER "a0123456789abcdef0123456789abcde"

/* The rule for clients bears the name of another balancer. */
static struct service_kit *taken_over(const char *name)
{
    struct service_kit *s = nlb_with("80:30080", "80:30080");
    s->knows_needed = true;
    struct aws_group *nodes = (struct aws_group *)service_named(s, "nodes");
    struct aws_rule *rules =
        arena_memdup(s->k->a, nodes->rules.items, nodes->rules.n * sizeof *rules);
    for (size_t i = 0; i < nodes->rules.n; i++) {
        if (rules[i].from == 30080) {
            rules[i].description = arena_printf(s->k->a, AWS_RULE_CLIENT "%s", name);
        }
    }
    nodes->rules.items = rules;
    return s;
}

/* Upstream takes away only what bears the name of the balancer that goes. */
static void nodes__rule_of_a_balancer_that_is_gone__gets_our_name(void **state)
{
    (void)state;
    struct service_kit *s = taken_over(OTHER);
    service_plan(s, true);
    assert_string_equal(kit_waves(s->k), "1 " ANEW);
    assert_non_null(strstr(params(s, ANEW, 0), "Description=" AWS_RULE_CLIENT LB));
    assert_null(strstr(params(s, ANEW, 0), OTHER));
    service_settle(s, true);
    assert_null(strstr(service_rules(s, "sg-nodes"), OTHER));
    service_kit_free(s);
}

/* The other balancer stands, the right is missing, nothing is known of others, or the name is no
 * balancer's. */
static void nodes__rule_with_another_name__stays(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct service_kit *s = taken_over(way == 3 ? "mine" : OTHER);
        const char *other = OTHER;
        s->other_names = way == 0 ? str_set_make(s->k->a, &other, 1) : (struct str_set){0};
        s->texts_stay = way == 1;
        s->knows_needed = way != 2;
        service_plan(s, true);
        assert_string_equal(kit_waves(s->k), "");
        service_kit_free(s);
    }
}

/* ---- rules of the own group: other ranges ---------------------------------------------------- */

/* IPv4 and IPv6 have a quota each. */
static void own__families__count_apart(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    service_settle(s, true);
    const char *own = service_named(s, "k8s-elb-" LB)->id;
    for (int i = 0; i < 59; i++) {
        service_add_rule(s, own, arena_printf(s->k->a, "tcp 80 2001:db8:%x::/48", i));
    }
    s->k->spec = ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]";
    service_plan(s, true);
    assert_int_equal(wave_of(s, IN, 0), 1);
    assert_true(wave_of(s, OUT, 0) > 1);
    service_kit_free(s);
}

/* A raised quota is known to AWS alone: new ranges are tried first. */
static void own__beyond_the_usual_quota__aws_is_asked(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    service_settle(s, true);
    const char *own = service_named(s, "k8s-elb-" LB)->id;
    for (int i = 0; i < 70; i++) {
        service_add_rule(s, own, arena_printf(s->k->a, "tcp 80 10.1.%d.0/24", i));
    }
    s->k->spec = ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]";
    s->k->repairs = true;
    service_plan(s, true);
    assert_int_equal(wave_of(s, IN, 0), 1);
    s->full = arena_printf(s->k->a, "security group k8s-elb-" LB " (%s)", own);
    service_plan(s, true);
    assert_int_equal(wave_of(s, OUT, 0), 1);
    service_kit_free(s);
}

/* ---- which rules serve ----------------------------------------------------------------------- */

static struct aws_rules rules_of(struct service_kit *s, const char *texts)
{
    struct aws_texts t = {0};
    size_t n = 0;
    t.items = (const char *const *)str_split(s->k->a, texts, ',', &n);
    struct aws_rule *items = ARENA_ARRAY(s->k->a, struct aws_rule, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = service_rule(s, t.items[i]);
    }
    return str_is_empty(texts) ? (struct aws_rules){0} : aws_rules_sorted(s->k->a, items, n);
}

static void serving__which_rules__by_what_comes_and_stays(void **state)
{
    (void)state;
    static const struct {
        const char *actual, *revoke, *authorize;
        size_t serving;
    } rows[] = {
        {"tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8", "tcp 80 10.1.0.0/16", 1},
        {"tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8", "tcp 80 0.0.0.0/0", 1},
        {"tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8", "tcp 80 192.0.2.0/24", 0},
        {"tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8", "tcp 81 10.0.0.0/8", 0},
        {"tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8", "udp 80 10.0.0.0/8", 0},
        {"tcp 80 10.0.0.0/8,tcp 80 10.0.0.0/7", "tcp 80 10.0.0.0/8", "tcp 80 0.0.0.0/0", 0},
        {"tcp 80 10.0.0.0/8,tcp 80 10.0.0.0/9", "tcp 80 10.0.0.0/8", "tcp 80 0.0.0.0/0", 1},
        {"tcp 80 sg-1", "tcp 80 sg-1", "tcp 80 0.0.0.0/0", 0},
        {"tcp 80 ::/0", "tcp 80 ::/0", "tcp 80 2001:db8::/32", 1},
    };
    struct service_kit *s = service_kit_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_rules actual = rules_of(s, rows[i].actual);
        struct aws_rule_diff diff = {.authorize = rules_of(s, rows[i].authorize),
                                     .revoke = rules_of(s, rows[i].revoke)};
        size_t n = aws_rules_serving(s->k->a, &actual, &diff).n;
        if (n != rows[i].serving) {
            fail_msg("%s → %s: %zu", rows[i].revoke, rows[i].authorize, n);
        }
    }
    service_kit_free(s);
}

UNIT_MAIN(group_change)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__full__rule_of_the_port_that_goes_makes_room),
        cmocka_unit_test(nodes__near_the_quota__idle_rule_goes_first),
        cmocka_unit_test(nodes__nothing_idle__is_announced_and_put_back),
        cmocka_unit_test(nodes__room_for_both__new_rule_comes_first),
        cmocka_unit_test(nodes__another_group_is_full__order_stays),
        cmocka_unit_test(nodes__rule_of_a_balancer_that_is_gone__gets_our_name),
        cmocka_unit_test(nodes__rule_with_another_name__stays),
        cmocka_unit_test(own__families__count_apart),
        cmocka_unit_test(own__beyond_the_usual_quota__aws_is_asked),
        cmocka_unit_test(serving__which_rules__by_what_comes_and_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
