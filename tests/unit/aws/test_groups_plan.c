/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups_plan.c: security groups, a load balancer's own and those of nodes: rows 226 to 242
 * and 252 to 255 of docs/spec/aws.md 11.12, row 81 of 11.6, row 1 of 15, and what is shared with
 * other Services (4.11, FIX). */
#include "providers/aws/plan/aws_groups_plan.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define LB      "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"
#define CLASSIC "k8s-elb-" LB

static const char *waves(struct service_kit *s)
{
    return kit_waves(s->k);
}

static const char *edited(struct service_kit *s)
{
    s->k->repairs = true;
    service_plan(s, true);
    const char *was = waves(s);
    service_settle(s, true);
    return was;
}

static const char *id_of(const struct service_kit *s, const char *name)
{
    const struct aws_group *g = service_named(s, name);
    return g != NULL ? g->id : NULL;
}

static struct aws_group *editable(struct service_kit *s, const char *id)
{
    for (size_t i = 0; i < s->k->world.n_groups; i++) {
        if (str_eq(s->k->world.groups[i].group.id, id)) {
            return &s->k->world.groups[i].group;
        }
    }
    return NULL;
}

static struct service_kit *nlb(const char *mode)
{
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    s->k->naming.nlb_group_mode = mode;
    return s;
}

static struct service_kit *classic(const char *lines)
{
    struct service_kit *s = service_kit_new();
    s->k->lines = lines;
    return s;
}

/* A standing classic balancer with its own group. */
static struct service_kit *standing(void)
{
    struct service_kit *s = service_kit_new();
    service_settle(s, true);
    return s;
}

/* ---- groups of NLBs (5.9) -------------------------------------------------------------------- */

static void nlb__mode__decides_about_the_group(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *mode, *lines;
        int code;
        bool own;
        const char *groups; /* "own": the managed one */
    } rows[] = {
        {226, "Managed", "", ERR_OK, true, "own"},
        {227, "", "", ERR_OK, false, ""},
        {228, "managed", "", ERR_INVALID, false, ""},
        {228, "MANAGED", "", ERR_INVALID, false, ""},
        {228, "Disabled", "", ERR_INVALID, false, ""},
        {228, "BYO", "", ERR_INVALID, false, ""},
        {228, " ", "", ERR_INVALID, false, ""},
        {228, " Managed ", "", ERR_INVALID, false, ""},
        {228, "prefix-Managed", "", ERR_INVALID, false, ""},
        {229, "Managed", "", ERR_OK, true, "own"},
        {233, "", "security-groups=sg-a,sg-b", ERR_OK, false, ""},
        {234, "Managed", "security-groups=sg-a,sg-b", ERR_OK, false, "sg-a sg-b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = nlb(rows[i].mode);
        struct err err = ERR_INIT;
        (void)service_group(s, "sg-a", "a", NULL);
        (void)service_group(s, "sg-b", "b", NULL);
        s->k->lines = rows[i].lines;
        int rc = service_try(s, true, &err);
        if (rc != rows[i].code) {
            fail_msg("row %d: %d %s", rows[i].row, rc, err.message);
        }
        if (rc == ERR_OK) {
            service_settle(s, true);
            const char *own = id_of(s, s->k->service->nlb_group);
            const struct aws_texts *groups = &s->k->world.nlbs[0].nlb.groups;
            assert_int_equal(own != NULL, rows[i].own);
            assert_string_equal(str_join(s->k->a, groups->items, groups->n, " "),
                                str_eq(rows[i].groups, "own") ? own : rows[i].groups);
        }
        service_kit_free(s);
    }
}

/* Rows 230 and 232: what an NLB has stays, whatever made it. */
static void nlb__that_is_there__keeps_its_group(void **state)
{
    (void)state;
    struct service_kit *s = nlb("Managed");
    service_settle(s, true);
    const char *own = id_of(s, s->k->service->nlb_group);
    assert_string_equal(service_rules(s, own), "icmp 3-4 0.0.0.0/0\ntcp 80 0.0.0.0/0");
    assert_string_equal(edited(s), "");
    s->k->naming.nlb_group_mode = ""; /* row 232: not managed any more, and still in use */
    assert_string_equal(edited(s), "");
    assert_string_equal(id_of(s, s->k->service->nlb_group), own);
    service_kit_free(s);
}

/* Row 231: AWS gives no group to an NLB that was made without. */
static void nlb__made_without_groups__gets_none(void **state)
{
    (void)state;
    struct service_kit *s = nlb("");
    service_settle(s, true);
    s->k->naming.nlb_group_mode = "Managed";
    assert_string_equal(edited(s), "");
    assert_null(service_named(s, s->k->service->nlb_group));
    service_kit_free(s);
}

/* Row 235, and the way there: managed → own groups → managed. */
static void nlb__annotation_comes_and_goes__group_follows(void **state)
{
    (void)state;
    struct service_kit *s = nlb("Managed");
    (void)service_group(s, "sg-a", "a", NULL);
    service_settle(s, true);
    s->k->lines = "security-groups=sg-a";
    assert_string_equal(edited(s), "1 SetSecurityGroups; 2 DeleteSecurityGroup");
    assert_null(service_named(s, s->k->service->nlb_group));
    s->k->lines = "";
    assert_string_equal(edited(s), "1 CreateSecurityGroup; 2 AuthorizeSecurityGroupIngress; "
                                   "3 SetSecurityGroups");
    assert_string_equal(s->k->world.nlbs[0].nlb.groups.items[0],
                        id_of(s, s->k->service->nlb_group));
    assert_string_equal(service_rules(s, "sg-a"), "");
    service_kit_free(s);
}

/* ---- the main group (rows 236 to 239) -------------------------------------------------------- */

static void main_group__of_several__by_annotation_then_tag_then_id(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *groups, *lines, *tagged, *order;
    } rows[] = {
        {236, "2 1 3", "security-groups=3,2,1", "", "3 2 1"},
        {237, "2 1 3 4", "extra-security-groups=3,2,1", "", "4 3 2 1"},
        {238, "2 1 3 4 5 6", "security-groups=3,2,1\nextra-security-groups=6,5", "", "3 2 1 4 6 5"},
        {239, "2 1", "", "1", "1 2"},
        {239, "2 1", "", "2", "2 1"},
        /* the tag does not beat the annotation (FIX 38) */
        {38, "1 2 3", "security-groups=3,2", "1 2", "3 2 1"},
        {38, "1 2", "extra-security-groups=2", "2", "1 2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = classic(rows[i].lines);
        struct aws_planning p = kit_begin(s->k);
        struct aws_surroundings around = *s->k->around;
        struct aws_texts tagged = kit_texts(s->k, rows[i].tagged);
        around.tagged = str_set_make(s->k->a, tagged.items, tagged.n);
        p.around = &around;
        struct aws_texts groups = kit_texts(s->k, rows[i].groups);
        struct aws_texts order = aws_main_group_order(&p, &groups);
        assert_string_equal(str_join(s->k->a, order.items, order.n, " "), rows[i].order);
        service_kit_free(s);
    }
}

/* ---- groups of instances (rows 240 to 242) --------------------------------------------------- */

static void node_group__of_an_instance__is_the_tagged_one(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *tagged[3]; /* of sg-x, sg-y, sg-z; NULL: no tag */
        size_t n_groups;
        const char *got_rule; /* NULL: refused */
    } rows[] = {
        {240, {"owned", "shared", NULL}, 2, NULL},
        {241, {NULL, "owned", NULL}, 3, "sg-y"},
        {242, {NULL, NULL, NULL}, 2, NULL},
        {0, {NULL, NULL, NULL}, 1, "sg-x"},
    };
    static const struct aws_group_ref refs[] = {
        {"sg-x", "one"}, {"sg-y", "two"}, {"sg-z", "three"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = service_kit_new();
        struct err err = ERR_INIT;
        for (size_t k = 0; k < 3; k++) {
            (void)service_group(s, refs[k].id, refs[k].name, rows[i].tagged[k]);
        }
        s->k->world.instances[0].groups = refs;
        s->k->world.instances[0].n_groups = rows[i].n_groups;
        s->k->instances = kit_texts(s->k, "i-1");
        int rc = service_try(s, true, &err);
        if (rows[i].got_rule == NULL) {
            assert_int_equal(rc, ERR_INVALID);
            assert_int_equal(s->k->plan.n_ops, 0);
            assert_non_null(
                strstr(err.message, rows[i].row == 240 ? "sg-x(one) sg-y(two)" : "i-1"));
        } else {
            service_settle(s, true);
            assert_string_equal(service_rules(s, rows[i].got_rule),
                                arena_printf(s->k->a, "-1 %s", id_of(s, CLASSIC)));
            assert_string_equal(service_rules(s, "sg-nodes"), "");
        }
        service_kit_free(s);
    }
}

/* ---- groups that left (rows 252 to 255) ------------------------------------------------------ */

/* Row 252.  Row 255, a group that cannot be read, ends before anything is planned. */
static void left__owned_and_referenced__is_deleted_after_its_references(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    (void)service_group(s, "sg-a", "a", NULL);
    s->k->lines = "security-groups=sg-a";
    assert_string_equal(edited(s), "1 AuthorizeSecurityGroupIngress; "
                                   "2 ApplySecurityGroupsToLoadBalancer; "
                                   "3 RevokeSecurityGroupIngress; 4 DeleteSecurityGroup");
    assert_null(service_named(s, CLASSIC));
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-a");
    service_kit_free(s);
}

/* Row 253.  Only rules of the form that the controller writes (13 row 16). */
static void left__not_owned__loses_its_references_and_stays(void **state)
{
    (void)state;
    struct service_kit *s = classic("security-groups=sg-a");
    (void)service_group(s, "sg-a", "a", NULL);
    (void)service_group(s, "sg-b", "b", "owned");
    service_settle(s, true);
    service_add_rule(s, "sg-nodes", "tcp 22 sg-a");
    service_add_rule(s, "sg-b", "-1 sg-a;by hand");
    s->k->lines = "security-groups=sg-c";
    (void)service_group(s, "sg-c", "c", NULL);
    (void)edited(s);
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-c\ntcp 22 sg-a");
    assert_string_equal(service_rules(s, "sg-b"), "-1 sg-a;by hand");
    assert_string_equal(service_rules(s, "sg-a"), "");
    service_kit_free(s);
}

/* Row 254: what people wrote in groups of theirs is theirs; AWS refuses the deletion
 * until they take it away. */
static void left__referenced_by_an_untagged_group__deletion_is_tried(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    struct err err = ERR_INIT;
    const char *own = id_of(s, CLASSIC);
    (void)service_group(s, "sg-a", "a", NULL);
    (void)service_group(s, "sg-db", "database", NULL);
    service_add_rule(s, "sg-db", arena_printf(s->k->a, "-1 %s", own));
    s->k->lines = "security-groups=sg-a";
    s->referring = true;
    service_plan(s, true);
    const struct lb_op *op = kit_op(s->k, "DeleteSecurityGroup", 0);
    assert_int_equal(op->tolerate, LB_TOLERATE_ABSENT);
    assert_string_equal(op->note, "held by a rule of database (sg-db) that is not the "
                                  "controller's: take it away");
    assert_int_equal(aws_world_run(&s->k->world, &s->k->plan, &s->k->run, &err), ERR_IN_USE);
    assert_string_equal(service_rules(s, "sg-db"), arena_printf(s->k->a, "-1 %s", own));
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-a");
    service_kit_free(s);
}

static void left__what_is_not_ours__stays(void **state)
{
    (void)state;
    static const struct {
        const char *name, *tag, *vpc, *other;
        const char *lines;
        bool stays;
    } rows[] = {
        {CLASSIC, "owned", "vpc-1", "", "security-groups=sg-a", false},
        {CLASSIC, "shared", "vpc-1", "", "security-groups=sg-a", true},
        {CLASSIC, NULL, "vpc-1", "", "security-groups=sg-a", true},
        {CLASSIC, "owned", "vpc-2", "", "security-groups=sg-a", true},
        {CLASSIC "0", "owned", "vpc-1", "", "security-groups=sg-a", true},
        {CLASSIC, "owned", "vpc-1", "sg-left", "security-groups=sg-a", true},
        {CLASSIC, "owned", "vpc-1", "", "security-groups=sg-left", true},
        {CLASSIC, "owned", "vpc-1", "", "security-groups=sg-a\nextra-security-groups=sg-left",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct service_kit *s = classic(rows[i].lines);
        (void)service_group(s, "sg-a", "a", NULL);
        service_group(s, "sg-left", rows[i].name, rows[i].tag)->vpc = rows[i].vpc;
        s->other_groups = str_set_make(s->k->a, &rows[i].other, 1);
        service_settle(s, true);
        assert_int_equal(aws_world_group(&s->k->world, "sg-left") != NULL, rows[i].stays);
        service_kit_free(s);
    }
}

/* ---- the own group --------------------------------------------------------------------------- */

static void own__tags_taken_away__are_given_back(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    struct aws_group *g = editable(s, id_of(s, CLASSIC));
    struct aws_tag empty = {AWS_CLUSTER_TAG_PREFIX "c1", ""};
    g->tags = (struct aws_tags){&empty, 1};
    service_plan(s, true);
    assert_string_equal(waves(s), "1 CreateTags");
    assert_string_equal(kit_params(s->k, kit_op(s->k, "CreateTags", 0), "ResourceId"),
                        "Tag.1.Key=kubernetes.io/cluster/c1 Tag.1.Value=owned");
    service_settle(s, true);
    service_kit_free(s);
}

static void own__of_another_cluster__is_refused(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    struct err err = ERR_INIT;
    struct aws_tag shared = {AWS_CLUSTER_TAG_PREFIX "c1", "shared"};
    editable(s, id_of(s, CLASSIC))->tags = (struct aws_tags){&shared, 1};
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, CLASSIC));
    assert_non_null(strstr(err.message, "delete it"));
    assert_int_equal(s->k->plan.n_ops, 0);
    service_kit_free(s);
}

/* 15 row 1: upstream takes the wanted range away with the unwanted pair that
 * shares its permission. */
static void own__wanted_and_unwanted_in_one_permission__wanted_stays(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    service_add_rule(s, id_of(s, CLASSIC), "tcp 80 sg-nodes");
    service_add_rule(s, id_of(s, CLASSIC), "tcp 80 10.0.0.0/8");
    service_plan(s, true);
    assert_string_equal(waves(s), "1 RevokeSecurityGroupIngress");
    assert_string_equal(kit_fields(s->k, kit_op(s->k, "RevokeSecurityGroupIngress", 0)),
                        "ingress: tcp 80 from 10.0.0.0/8 -> none; "
                        "ingress: tcp 80 from sg-nodes -> none");
    service_settle(s, true);
    assert_string_equal(service_rules(s, id_of(s, CLASSIC)),
                        "icmp 3-4 0.0.0.0/0\ntcp 80 0.0.0.0/0");
    service_kit_free(s);
}

/* Row 81. */
static void own__ipv6_beside_a_wanted_range__stays_until_the_service_is_edited(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    const char *own = id_of(s, CLASSIC);
    service_add_rule(s, own, "tcp 80 ::/0");
    service_plan(s, true);
    assert_string_equal(waves(s), "");
    service_add_rule(s, own, "tcp 81 ::/0"); /* upstream sees this one */
    service_plan(s, true);
    assert_string_equal(waves(s), "1 RevokeSecurityGroupIngress");
    (void)edited(s);
    assert_string_equal(service_rules(s, own), "icmp 3-4 0.0.0.0/0\ntcp 80 0.0.0.0/0");
    service_kit_free(s);
}

static void own__ranges_change__new_ones_come_first(void **state)
{
    (void)state;
    struct service_kit *s = standing();
    s->k->spec = ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\",\"192.168.0.0/16\"]";
    service_plan(s, true);
    assert_string_equal(waves(s), "1 AuthorizeSecurityGroupIngress; 2 RevokeSecurityGroupIngress");
    assert_string_equal(
        kit_params(s->k, kit_op(s->k, "AuthorizeSecurityGroupIngress", 0), "GroupId"),
        "IpPermissions.1.IpProtocol=icmp IpPermissions.1.FromPort=3 IpPermissions.1.ToPort=4 "
        "IpPermissions.1.IpRanges.1.CidrIp=10.0.0.0/8 "
        "IpPermissions.1.IpRanges.2.CidrIp=192.168.0.0/16 "
        "IpPermissions.2.IpProtocol=tcp IpPermissions.2.FromPort=80 IpPermissions.2.ToPort=80 "
        "IpPermissions.2.IpRanges.1.CidrIp=10.0.0.0/8 "
        "IpPermissions.2.IpRanges.2.CidrIp=192.168.0.0/16");
    service_settle(s, true);
    service_kit_free(s);
}

static const char *ranges(struct service_kit *s, int net, int n)
{
    const char **items = ARENA_ARRAY(s->k->a, const char *, (size_t)n);
    for (int i = 0; i < n; i++) {
        items[i] = arena_printf(s->k->a, "\"10.%d.%d.0/24\"", net, i);
    }
    return arena_printf(s->k->a, ",\"loadBalancerSourceRanges\":[%s]",
                        str_join(s->k->a, items, (size_t)n, ","));
}

/* A group takes 60 rules: what has to make room goes first. */
static void own__near_the_quota__old_ranges_go_first(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->spec = ranges(s, 1, 25);
    service_settle(s, true);
    s->k->spec = ranges(s, 2, 25);
    assert_string_equal(edited(s), "1 RevokeSecurityGroupIngress; 2 AuthorizeSecurityGroupIngress");
    s->k->spec = ranges(s, 2, 4);
    assert_string_equal(edited(s), "1 RevokeSecurityGroupIngress");
    service_kit_free(s);
}

/* Rules that do not fit even then cost nothing of those that are there: AWS refuses it, and
 * the old ranges stay. */
static void own__beyond_the_quota__old_ranges_stay(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    s->k->spec = ranges(s, 1, 25);
    service_settle(s, true);
    s->k->spec = ranges(s, 2, 40);
    s->k->repairs = true;
    service_plan(s, true);
    assert_string_equal(kit_waves(s->k),
                        "1 AuthorizeSecurityGroupIngress; 2 RevokeSecurityGroupIngress");
    service_kit_free(s);
}

/* ---- rules in groups of nodes ---------------------------------------------------------------- */

/* 13 row 43: a narrower rule about the group is not the one that is needed. */
static void nodes__narrower_rule__is_not_enough(void **state)
{
    (void)state;
    struct service_kit *s = classic("security-groups=sg-a");
    (void)service_group(s, "sg-a", "a", NULL);
    service_add_rule(s, "sg-nodes", "tcp 30080 sg-a");
    service_settle(s, true);
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-a\ntcp 30080 sg-a");
    service_kit_free(s);
}

/* 13 row 44, k/k 62793. */
static void nodes__main_group_of_several_services__stays_let_in(void **state)
{
    (void)state;
    static const char *const shared[] = {"sg-a"};
    struct service_kit *s = classic("security-groups=sg-a");
    (void)service_group(s, "sg-a", "a", NULL);
    service_settle(s, true);
    s->other_groups = s->other_mains = str_set_make(s->k->a, shared, 1);
    s->k->instances = kit_texts(s->k, "");
    assert_string_equal(edited(s), "1 DeregisterInstancesFromLoadBalancer");
    service_settle(s, false);
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-a");
    s->other_mains = (struct str_set){
        0}; /* a network balancer has it still: nodes let clients in, not the group */
    service_settle(s, false);
    assert_string_equal(service_rules(s, "sg-nodes"), "");
    service_kit_free(s);
}

/* Clusters let their nodes talk to each other in this way. */
static void nodes__rule_of_a_group_about_itself__stays(void **state)
{
    (void)state;
    struct service_kit *s = classic("security-groups=sg-nodes");
    service_add_rule(s, "sg-nodes", "-1 sg-nodes");
    service_settle(s, true);
    service_settle(s, false);
    assert_string_equal(service_rules(s, "sg-nodes"), "-1 sg-nodes");
    service_kit_free(s);
}

static void nodes__that_left_a_group__take_its_rule_with_them(void **state)
{
    (void)state;
    static const struct aws_group_ref other = {"sg-pool", "pool"};
    struct service_kit *s = service_kit_new();
    (void)service_group(s, "sg-pool", "pool", "owned");
    s->k->world.instances[3].groups = &other;
    service_settle(s, true);
    const char *rule = arena_printf(s->k->a, "-1 %s", id_of(s, CLASSIC));
    service_add_rule(s, "sg-pool", "tcp 22 10.0.0.0/8;ssh");
    s->k->instances = kit_texts(s->k, "i-4");
    assert_string_equal(edited(s), "1 AuthorizeSecurityGroupIngress; "
                                   "2 RegisterInstancesWithLoadBalancer; "
                                   "3 DeregisterInstancesFromLoadBalancer; "
                                   "4 RevokeSecurityGroupIngress");
    assert_string_equal(service_rules(s, "sg-nodes"), "");
    assert_string_equal(service_rules(s, "sg-pool"),
                        arena_printf(s->k->a, "%s\ntcp 22 10.0.0.0/8;ssh", rule));
    service_kit_free(s);
}

static void nodes__not_ours_to_write__are_left(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct service_kit *s = service_kit_new();
        s->k->kind = kind == 0 ? "" : "nlb";
        s->k->naming.no_node_rules = true;
        service_settle(s, true);
        assert_string_equal(service_rules(s, "sg-nodes"), "");
        service_kit_free(s);

        s = service_kit_new(); /* ElbSecurityGroup is a node's, too */
        s->k->kind = kind == 0 ? "" : "nlb";
        s->k->naming.shared_group = "sg-nodes";
        service_settle(s, true);
        assert_string_equal(service_rules(s, "sg-nodes"), "");
        service_kit_free(s);
    }
}

/* 5.11: one Authorize, one Revoke, in this order; the quota turns it round. */
static void nlb_nodes__ranges_change__once_in_once_out(void **state)
{
    (void)state;
    struct service_kit *s = nlb("");
    service_settle(s, true);
    service_add_rule(s, "sg-nodes", "tcp 30080 172.16.0.0/12;mine");
    s->k->spec = ranges(s, 1, 2);
    assert_string_equal(edited(s), "1 AuthorizeSecurityGroupIngress; 2 RevokeSecurityGroupIngress");
    s->k->spec = ranges(s, 1, 20);
    (void)edited(s);
    s->k->spec = ranges(s, 2, 20);
    assert_string_equal(edited(s), "1 RevokeSecurityGroupIngress; 2 AuthorizeSecurityGroupIngress");
    s->k->spec = "";
    (void)edited(s);
    assert_string_equal(service_rules(s, "sg-nodes"),
                        "icmp 3-4 0.0.0.0/0;kubernetes.io/rule/nlb/mtu\n"
                        "tcp 30080 0.0.0.0/0;kubernetes.io/rule/nlb/client=" LB "\n"
                        "tcp 30080 172.16.0.0/12;mine");
    service_kit_free(s);
}

static void nlb_nodes__subnet_of_another_vpc__says_so(void **state)
{
    (void)state;
    static const char *const elsewhere[] = {"subnet-9"};
    struct service_kit *s = nlb("");
    struct err err = ERR_INIT;
    service_settle(s, true);
    s->k->world.nlbs[0].nlb.subnets = (struct aws_texts){elsewhere, 1};
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "subnet-9"));
    service_kit_free(s);
}

UNIT_MAIN(groups_plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nlb__mode__decides_about_the_group),
        cmocka_unit_test(nlb__that_is_there__keeps_its_group),
        cmocka_unit_test(nlb__made_without_groups__gets_none),
        cmocka_unit_test(nlb__annotation_comes_and_goes__group_follows),
        cmocka_unit_test(main_group__of_several__by_annotation_then_tag_then_id),
        cmocka_unit_test(node_group__of_an_instance__is_the_tagged_one),
        cmocka_unit_test(left__owned_and_referenced__is_deleted_after_its_references),
        cmocka_unit_test(left__not_owned__loses_its_references_and_stays),
        cmocka_unit_test(left__referenced_by_an_untagged_group__deletion_is_tried),
        cmocka_unit_test(left__what_is_not_ours__stays),
        cmocka_unit_test(own__tags_taken_away__are_given_back),
        cmocka_unit_test(own__of_another_cluster__is_refused),
        cmocka_unit_test(own__wanted_and_unwanted_in_one_permission__wanted_stays),
        cmocka_unit_test(own__ipv6_beside_a_wanted_range__stays_until_the_service_is_edited),
        cmocka_unit_test(own__ranges_change__new_ones_come_first),
        cmocka_unit_test(own__near_the_quota__old_ranges_go_first),
        cmocka_unit_test(own__beyond_the_quota__old_ranges_stay),
        cmocka_unit_test(nodes__narrower_rule__is_not_enough),
        cmocka_unit_test(nodes__main_group_of_several_services__stays_let_in),
        cmocka_unit_test(nodes__rule_of_a_group_about_itself__stays),
        cmocka_unit_test(nodes__that_left_a_group__take_its_rule_with_them),
        cmocka_unit_test(nodes__not_ours_to_write__are_left),
        cmocka_unit_test(nlb_nodes__ranges_change__once_in_once_out),
        cmocka_unit_test(nlb_nodes__subnet_of_another_vpc__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
