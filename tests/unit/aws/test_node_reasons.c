/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_reasons.c: nodes that get no packets: texts of explain and LoadBalancerServesNobody.
 *
 * AWS sends nothing to targets of other zones than those of the load balancer's subnets, nor to
 * stopped ones (docs/adr/0089). */
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

static void explain__nodes_that_get_nothing__named_with_the_reason(void **state)
{
    static const char instances[] =
        FLOW_INSTANCES(FLOW_INSTANCE("i-n1", "running", "a") FLOW_INSTANCE("i-n2", "stopped", "b")
                           FLOW_INSTANCE("i-n3", "running", "c"));
    static const char want[] =
        "\nNodes: 1 of 4 take part\n"
        "  n2         left out   instance i-n2 is stopped\n"
        "  n3         left out   is in zone us-east-1c, where the load balancer has no subnet\n"
        "  n4         left out   instance i-n4 is not there, or lacks the tag "
        "kubernetes.io/cluster/c1\n";
    struct flow_kit *k = *state;
    struct flow_row is_not_there[] = {{"DescribeInstances", 0, instances, 0}, {NULL, 0, NULL, 0}};
    struct flow_row nlb[] = {{"DescribeInstances", 0, instances, 0}, FLOW_NLB_IS_FINE};
    struct flow_row classic[] = {{"DescribeInstances", 0, instances, 0}, FLOW_CLASSIC_IS_FINE};
    struct flow_row *const rows[] = {is_not_there, nlb, classic};
    k->nodes = "n1 n2 n3 n4";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        k->rows = rows[i];
        const char *text =
            flow_kit_explain(k, aws_test_object(k->a, i == 1 ? "{\"type\":\"nlb\"}" : NULL, NULL));
        const char *nodes = strstr(text, "\nNodes:");
        same_text("nodes", nodes != NULL ? nodes : text, want);
        tt_aws_provider.close(k->p);
        k->p = NULL;
    }
}

static void explain__nodes_without_the_labels__named(void **state)
{
    struct flow_kit *k = *state;
    const char *text =
        flow_kit_explain(k, aws_test_object(k->a, "{\"target-node-labels\":\"no=node\"}", NULL));
    const char *nodes = strstr(text, "\nNodes:");
    same_text("nodes", nodes != NULL ? nodes : text,
              "\nNodes: 0 of 1 take part\n"
              "  n1         left out   lacks the labels of aws-load-balancer-target-node-labels\n");
}

/* No node has the labels: those that are targets stay (NoNodeHasLabels). */
static void explain__no_node_has_the_labels__targets_take_part(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row nlb[] = {FLOW_NLB_IS_FINE};
    k->nodes = "n1 n2";
    k->rows = nlb;
    const char *text = flow_kit_explain(
        k, aws_test_object(k->a, "{\"type\":\"nlb\",\"target-node-labels\":\"no=node\"}", NULL));
    const char *nodes = strstr(text, "\nNodes:");
    same_text("nodes", nodes != NULL ? nodes : text,
              "\nNodes: 1 of 2 take part\n"
              "  n2         left out   lacks the labels of aws-load-balancer-target-node-labels\n");
}

/* Both ways of a sync: the whole Service, and its nodes alone. */
static void same_nobody(struct flow_kit *k, struct flow_row *rows, const char *notes,
                        const char *want)
{
    const struct tt_service *svc = aws_test_object(k->a, notes, NULL);
    k->rows = rows;
    (void)flow_kit_plan(k, svc);
    same_text("plan", flow_kit_findings(k), want);
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc), TT_OK);
    same_text("nodes alone", flow_kit_findings(k), want);
    tt_aws_provider.close(k->p);
    k->p = NULL;
}

static void nobody__all_nodes_in_zones_without_a_subnet__told(void **state)
{
    static const char instances[] =
        FLOW_INSTANCES(FLOW_INSTANCE("i-n1", "running", "c") FLOW_INSTANCE("i-n2", "stopped", "a"));
    static const char want[] =
        "serves nobody: no node takes part: they are in zone us-east-1c, where the load balancer "
        "has no subnet; they have no instance that runs\n";
    struct flow_kit *k = *state;
    struct flow_row nlb[] = {{"DescribeInstances", 0, instances, 0}, FLOW_NLB_IS_FINE};
    struct flow_row classic[] = {{"DescribeInstances", 0, instances, 0}, FLOW_CLASSIC_IS_FINE};
    k->nodes = "n1 n2";
    same_nobody(k, nlb, "{\"type\":\"nlb\"}", want);
    same_nobody(k, classic, NULL, want);
}

static void nobody__a_node_in_a_zone_of_its_own__nothing_told(void **state)
{
    static const char instances[] =
        FLOW_INSTANCES(FLOW_INSTANCE("i-n1", "running", "b") FLOW_INSTANCE("i-n2", "running", "c"));
    struct flow_kit *k = *state;
    struct flow_row nlb[] = {{"DescribeInstances", 0, instances, 0}, FLOW_NLB_IS_FINE};
    struct flow_row classic[] = {{"DescribeInstances", 0, instances, 0}, FLOW_CLASSIC_IS_FINE};
    k->nodes = "n1 n2";
    same_nobody(k, nlb, "{\"type\":\"nlb\"}", "");
    same_nobody(k, classic, NULL, "");
}

UNIT_MAIN(node_reasons)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(explain__nodes_that_get_nothing__named_with_the_reason),
        FLOW_TEST(explain__nodes_without_the_labels__named),
        FLOW_TEST(explain__no_node_has_the_labels__targets_take_part),
        FLOW_TEST(nobody__all_nodes_in_zones_without_a_subnet__told),
        FLOW_TEST(nobody__a_node_in_a_zone_of_its_own__nothing_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
