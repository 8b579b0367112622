/* SPDX-License-Identifier: Apache-2.0 */
/* test_written.c: rules of security groups that were written a moment ago, and lists of EC2 that do
 * not show that yet (aws_written.h). */
#include "providers/aws/cloud/aws_written.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

static struct aws_rule rule(int32_t port, const char *description)
{
    return (struct aws_rule){.protocol = "tcp",
                             .from = port,
                             .to = port,
                             .peer = AWS_PEER_CIDR,
                             .source = "10.0.0.0/8",
                             .user = "",
                             .description = description};
}

/* "80=text 81=text" as it counts, of a list that shows port 80. */
static const char *counted(struct aws_written *w, struct arena *a, const char *group, int64_t ms)
{
    struct aws_rule shows = rule(80, "shown");
    const struct aws_rules shown = {&shows, 1};
    struct aws_rules is = aws_written_correct(w, a, group, &shown, ms);
    const char *text = "";
    for (size_t i = 0; i < is.n; i++) {
        text = arena_printf(a, "%s%s%d=%s", text, i > 0 ? " " : "", (int)is.items[i].from,
                            is.items[i].description);
    }
    return text;
}

static void rules__written__count_until_they_are_shown(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct aws_written *w = aws_written_new();
    struct aws_rule is_80 = rule(80, "ours");
    struct aws_rule is_81 = rule(81, "ours");
    same_text("nothing", counted(w, a, "g", 1), "80=shown");
    aws_written_note(w, "g", &is_81, true, 1000);
    aws_written_note(w, "g", &is_80, true, 1000); /* the list knows it, and its description */
    same_text("added", counted(w, a, "g", 1000), "80=shown 81=ours");
    same_text("another group", counted(w, a, "h", 1000), "80=shown");
    aws_written_note(w, "g", &is_80, false, 2000);
    same_text("taken away", counted(w, a, "g", 2000), "81=ours");
    aws_written_note(w, "g", &is_80, true, 3000);
    aws_written_note(w, "g", &is_81, false, 3000);
    same_text("the other way round", counted(w, a, "g", 3000), "80=shown");
    aws_written_note(w, "g", &is_80, false, 4000);
    same_text("not yet old", counted(w, a, "g", 4000 + AWS_SETTLES_MS - 1), "");
    same_text("old", counted(w, a, "g", 4000 + AWS_SETTLES_MS), "80=shown");
    aws_written_note(w, "g", &is_80, false, 5000);
    aws_written_free(w);
}

/* Nodes do not let the balancer in, and no list shows that they do. */
#define BLIND_GROUPS                                                                               \
    FLOW_GROUPS(FLOW_NODES_GROUP("") FLOW_GROUP("sg-own", "k8s-elb-" NAME, FLOW_OURS,              \
                                                FLOW_RULE("tcp", "80", "0.0.0.0/0", "")))

static int32_t sync(struct flow_kit *k, uint32_t verb)
{
    k->nodes = "n1";
    (void)flow_kit_asked(k);
    return flow_kit_sync(k, verb, verb == TT_VERB_DELETE ? TT_REASON_CLEANUP : TT_REASON_SPEC,
                         aws_test_object(k->a, NULL, NULL));
}

/* The rule by which nodes let the balancer in. */
static size_t sent(struct flow_kit *k, const char *action)
{
    return flow_kit_count(k, arena_printf(k->a, "%s GroupId=sg-nodes", action));
}

static void rule__of_nodes__unshown__is_not_added_twice_and_goes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"tag-key", 0, BLIND_GROUPS, 0}, FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(sync(k, TT_VERB_ENSURE), TT_OK);
    assert_int_equal(sent(k, "AuthorizeSecurityGroupIngress"), 1);
    assert_int_equal(sync(k, TT_VERB_ENSURE), TT_OK);
    assert_int_equal(sent(k, "AuthorizeSecurityGroupIngress"), 0);
    assert_int_equal(sync(k, TT_VERB_DELETE), TT_OK);
    assert_int_equal(sent(k, "RevokeSecurityGroupIngress"), 1);
    assert_int_equal(sync(k, TT_VERB_DELETE), TT_OK);
    assert_int_equal(sent(k, "RevokeSecurityGroupIngress"), 0);
}

/* AWS may have carried it out: the Service comes back when lists show whether it has. */
static void rule__without_an_answer__deletion_waits_until_it_is_known(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"AuthorizeSecurityGroupIngress", 500, "InternalError x", 0},
                              {"tag-key", 0, BLIND_GROUPS, 0},
                              FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    flow_kit_lets_time_pass(k); /* while it is tried again */
    assert_int_not_equal(sync(k, TT_VERB_ENSURE), TT_OK);
    assert_int_equal(sync(k, TT_VERB_DELETE), TT_IN_PROGRESS);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer"), 0);
    clock_fake_advance(k->clock, AWS_SETTLES_MS);
    assert_int_equal(sync(k, TT_VERB_DELETE), TT_OK);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer"), 1);
}

static const struct tt_service *held(struct flow_kit *k, bool holds)
{
    return test_service_text(
        k->a,
        arena_printf(k->a,
                     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
                     "\",\"finalizers\":[%s]},\"spec\":{\"type\":\"LoadBalancer\","
                     "\"sessionAffinity\":\"None\",\"ports\":[{\"port\":80,\"nodePort\":"
                     "30080,\"protocol\":\"TCP\"}]}}",
                     holds ? "\"service.kubernetes.io/load-balancer-cleanup\"" : ""));
}

/* The process before may have made something of it that AWS does not list yet: nothing tells that
 * there is nothing to delete. */
static void start__deletion_soon_after_it__nothing_listed__waits(void **state)
{
    struct flow_kit *k = *state;
    k->just_begun = true;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)),
                     TT_IN_PROGRESS);
    assert_int_equal(k->r.retry_after_ms, AWS_SETTLES_MS);
    clock_fake_advance(k->clock, AWS_SETTLES_MS - 1);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)),
                     TT_IN_PROGRESS);
    assert_int_equal(k->r.retry_after_ms, 1);
    clock_fake_advance(k->clock, 1);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)), TT_OK);
}

/* No client is served for ten seconds more than the owner asked for. */
static void start__deletion_soon_after_it__what_is_listed_goes_at_once(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->just_begun = true;
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)),
                     TT_IN_PROGRESS);
    assert_int_equal(k->r.retry_after_ms, AWS_SETTLES_MS);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer"), 1);
    clock_fake_advance(k->clock, AWS_SETTLES_MS);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)), TT_OK);
}

/* It knows of all that was made. */
static void start__deletion_of_what_it_made_itself__does_not_wait(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row made[] = {{"elb CreateLoadBalancer", 0, "<DNSName>made.example</DNSName>", 0},
                              {"CreateSecurityGroup", 0, "<groupId>sg-own</groupId>", 0},
                              {NULL, 0, NULL, 0}};
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->just_begun = true;
    k->rows = made;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, held(k, true)), TT_OK);
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, true)), TT_OK);
    assert_int_equal(flow_kit_count(k, "DeleteLoadBalancer"), 1);
}

/* So does `trimtab orphans --delete` ask, which saw what it deletes. */
static void start__deletion_without_a_finalizer__goes_at_once(void **state)
{
    struct flow_kit *k = *state;
    k->just_begun = true;
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, held(k, false)), TT_OK);
}

/* An edit that was made meanwhile does not see what the former one added. */
static void start__edit_soon_after_it__is_looked_at_again(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->just_begun = true;
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, held(k, true)), TT_OK);
    assert_int_equal(k->r.again_ms, 0); /* nothing was to be done */
    k->nodes = "n1 n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, held(k, true)), TT_OK);
    assert_int_equal(k->r.again_ms, AWS_SETTLES_MS);
    clock_fake_advance(k->clock, 2 * AWS_SETTLES_MS);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, held(k, true)), TT_OK);
    assert_int_equal(k->r.again_ms, 0);
}

UNIT_MAIN(written)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules__written__count_until_they_are_shown),
        FLOW_TEST(rule__of_nodes__unshown__is_not_added_twice_and_goes),
        FLOW_TEST(rule__without_an_answer__deletion_waits_until_it_is_known),
        FLOW_TEST(start__deletion_soon_after_it__nothing_listed__waits),
        FLOW_TEST(start__deletion_soon_after_it__what_is_listed_goes_at_once),
        FLOW_TEST(start__deletion_of_what_it_made_itself__does_not_wait),
        FLOW_TEST(start__deletion_without_a_finalizer__goes_at_once),
        FLOW_TEST(start__edit_soon_after_it__is_looked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
