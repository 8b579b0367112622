/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft.c: drafts become operations in the order of their phases, with handles
 * turned into indexes. */
#include "tests/support/unit.h"

#include "providers/aws/aws_sync.h"
#include "tests/unit/aws/plan_kit.h"

static int draft(struct aws_planning *p, enum aws_phase phase, const char *name)
{
    int d = aws_draft(p, phase, LB_CREATE, "thing", name, "the test says so");
    aws_draft_action(p, d, AWS_ELBV2, name);
    return d;
}

static void finish(struct kit *k, struct aws_planning *p)
{
    struct err err = ERR_INIT;
    aws_draft_finish(p);
    assert_int_equal(lb_plan_seal(&k->plan, &err), ERR_OK);
}

static void draft__phases__are_waves_and_keep_the_order_inside(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    (void)draft(&p, AWS_PHASE_DROP, "Last");
    (void)draft(&p, AWS_PHASE_FILL, "FillA");
    (void)draft(&p, AWS_PHASE_MAKE, "Make");
    (void)draft(&p, AWS_PHASE_FILL, "FillB");
    finish(k, &p);
    assert_string_equal(kit_waves(k), "1 Make; 2 FillA, FillB; 3 Last");
    kit_free(k);
}

static void draft__values_of_others__are_indexes_of_the_plan(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    int fill = draft(&p, AWS_PHASE_FILL, "Fill");
    int make = draft(&p, AWS_PHASE_MAKE, "Make");
    aws_draft_output(&p, make, "arn", "A/B");
    aws_draft_value(&p, fill, "Arn", aws_draft_value_of(make, "arn"));
    aws_draft_field_value(&p, fill, "arn", NULL, aws_draft_value_of(make, "arn"));
    aws_draft_op(&p, fill)->only_if_op = make;
    aws_draft_op(&p, fill)->only_if = LB_DONE;
    p.critical = make;
    finish(k, &p);
    const struct lb_op *op = kit_op(k, "Fill", 0);
    assert_string_equal(kit_params(k, op, ""), "Arn=<Make arn>");
    assert_int_equal(op->fields[0].new_value.op, 0);
    assert_int_equal(op->only_if_op, 0);
    assert_int_equal(op->sent_after, -1);
    assert_true(k->plan.ops[0].critical);
    assert_false(k->plan.ops[1].critical);
    assert_int_equal(op->calls, 1);
    assert_ptr_equal(op->type, &aws_write_type);
    kit_free(k);
}

static void draft__undoing__is_no_operation_of_the_plan(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    int gone = draft(&p, AWS_PHASE_CLEAR, "Gone");
    int made = draft(&p, AWS_PHASE_FILL, "Made");
    aws_draft_op(&p, made)->part = "half";
    int back = draft(&p, AWS_PHASE_FILL, "Back");
    aws_draft_undoes(&p, back, gone, made);
    int rest = draft(&p, AWS_PHASE_FILL, "Rest");
    aws_draft_undoes(&p, rest, gone, made);
    finish(k, &p);
    assert_string_equal(kit_waves(k), "1 Gone; 2 Made");
    const struct lb_undo *u = kit_op(k, "Gone", 0)->undo;
    assert_string_equal(u->name, "Back");
    assert_string_equal(u->until_name, "Made");
    assert_string_equal(u->until_part, "half");
    assert_string_equal(u->then->name, "Rest");
    assert_null(kit_op(k, "Made", 0)->undo);
    kit_free(k);
}

static void draft__kept_ones__are_counted_and_open_no_wave(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    (void)aws_draft(&p, AWS_PHASE_MAKE, LB_KEEP, "thing", "kept", NULL);
    (void)draft(&p, AWS_PHASE_MAKE, "MakeA");
    (void)aws_draft(&p, AWS_PHASE_MAKE, LB_KEEP, "thing", "kept, too", NULL);
    (void)draft(&p, AWS_PHASE_MAKE, "MakeB");
    finish(k, &p);
    assert_string_equal(kit_waves(k), "1 MakeA, MakeB");
    assert_int_equal(lb_plan_service(&k->plan, k->service->key)->checked, 2);
    kit_free(k);
}

static void draft__parameters__are_spelled_as_the_query_protocol_does(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    int d = draft(&p, AWS_PHASE_MAKE, "Make");
    static const struct aws_tag tags[] = {{"a", "1"}, {"b", ""}};
    struct aws_texts items = kit_texts(k, "x y");
    aws_draft_text(&p, d, "None", NULL);
    aws_draft_value(&p, d, "Absent", LB_VALUE(NULL));
    aws_draft_int(&p, d, "Port", -1);
    aws_draft_list(&p, d, "Subnets.member.%zu", &items);
    aws_draft_tags(&p, d, "Tags.member", &(struct aws_tags){tags, 2});
    finish(k, &p);
    assert_string_equal(kit_params(k, kit_op(k, "Make", 0), ""),
                        "Port=-1 Subnets.member.1=x Subnets.member.2=y Tags.member.1.Key=a "
                        "Tags.member.1.Value=1 Tags.member.2.Key=b Tags.member.2.Value=");
    kit_free(k);
}

static void draft__rules__of_one_protocol_and_ports_share_a_permission(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    int d = draft(&p, AWS_PHASE_MAKE, "Authorize");
    const struct aws_rule rules[] = {
        {"-1", AWS_NO_PORT, AWS_NO_PORT, AWS_PEER_GROUP, "sg-1", "123", ""},
        {"icmp", 3, 4, AWS_PEER_CIDR, "10.0.0.0/8", "", "mtu"},
        {"tcp", 80, 80, AWS_PEER_CIDR, "10.0.0.0/8", "", ""},
        {"tcp", 80, 80, AWS_PEER_CIDR, "11.0.0.0/8", "", "why"},
        {"tcp", 80, 80, AWS_PEER_CIDR6, "::/0", "", ""},
        {"tcp", 80, 81, AWS_PEER_PREFIX_LIST, "pl-1", "", ""},
    };
    aws_draft_rules(&p, d, &(struct aws_rules){rules, ARRAY_LEN(rules)});
    finish(k, &p);
    assert_string_equal(
        kit_params(k, kit_op(k, "Authorize", 0), ""),
        "IpPermissions.1.IpProtocol=-1 IpPermissions.1.Groups.1.GroupId=sg-1 "
        "IpPermissions.1.Groups.1.UserId=123 "
        "IpPermissions.2.IpProtocol=icmp IpPermissions.2.FromPort=3 IpPermissions.2.ToPort=4 "
        "IpPermissions.2.IpRanges.1.CidrIp=10.0.0.0/8 IpPermissions.2.IpRanges.1.Description=mtu "
        "IpPermissions.3.IpProtocol=tcp IpPermissions.3.FromPort=80 IpPermissions.3.ToPort=80 "
        "IpPermissions.3.IpRanges.1.CidrIp=10.0.0.0/8 IpPermissions.3.IpRanges.2.CidrIp=11.0.0.0/8 "
        "IpPermissions.3.IpRanges.2.Description=why IpPermissions.3.Ipv6Ranges.1.CidrIpv6=::/0 "
        "IpPermissions.4.IpProtocol=tcp IpPermissions.4.FromPort=80 IpPermissions.4.ToPort=81 "
        "IpPermissions.4.PrefixListIds.1.PrefixListId=pl-1");
    kit_free(k);
}

static void draft__many_of_a_phase__go_sixteen_at_a_time(void **state)
{
    (void)state;
    struct kit *k = kit_new();
    struct aws_planning p = kit_begin(k);
    for (int i = 0; i < 40; i++) {
        (void)draft(&p, i % 2 == 0 ? AWS_PHASE_MAKE : AWS_PHASE_FILL, "Make");
    }
    finish(k, &p);
    static const int waves[] = {16, 4, 16, 4};
    size_t at = 0;
    for (size_t w = 0; w < ARRAY_LEN(waves); w++) {
        for (int i = 0; i < waves[w]; i++) {
            assert_int_equal(k->plan.ops[at++].wave, w + 1);
        }
    }
    kit_free(k);
}

UNIT_MAIN(draft)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft__phases__are_waves_and_keep_the_order_inside),
        cmocka_unit_test(draft__values_of_others__are_indexes_of_the_plan),
        cmocka_unit_test(draft__undoing__is_no_operation_of_the_plan),
        cmocka_unit_test(draft__kept_ones__are_counted_and_open_no_wave),
        cmocka_unit_test(draft__many_of_a_phase__go_sixteen_at_a_time),
        cmocka_unit_test(draft__parameters__are_spelled_as_the_query_protocol_does),
        cmocka_unit_test(draft__rules__of_one_protocol_and_ports_share_a_permission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
