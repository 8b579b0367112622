/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranges.c: source ranges that become rules of no security group, and those that let no client
 * in (aws_nobody_rules.c).
 *
 * Their rules are in a group of the load balancer's own, or in those of the nodes; where neither is
 * trimtab's, or the group lacks the family, the owner hears of it. */
#include "providers/aws/plan/aws_plan.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#include <string.h>

#define NLB    "\"type\":\"nlb\","
#define NAMED  "\"security-groups\":\"sg-mine\","
#define EXTRA  "\"extra-security-groups\":"
#define NO_IPS "\"target-group-attributes\":\"preserve_client_ip.enabled=false\","
#define V4     "\"192.0.2.0/24\""
#define V6     "\"2001:db8::/32\""
#define ALL    "\"0.0.0.0/0\""

#define RULE(proto, at, of, whom)                                                                  \
    {                                                                                              \
        .protocol = proto, .from = at, .to = at, .peer = of, .source = whom, .description = ""     \
    }

static const struct row {
    const char *notes, *ranges;
    bool managed, without_group, no_node_rules, shared;
    bool local;       /* probes ask a port of their own */
    const char *told; /* a part; NULL: nothing */
    bool nobody;
} rows[] = {
    /* An NLB without a group: nodes let the clients in, by IPv4. */
    {NLB, V4},
    {NLB, V6, .told = "and only clients in its subnets are let in"},
    {NLB, V6, .local = true, .told = "left out, and no client is let in", .nobody = true},
    {NLB, V4 "," V6, .told = "IPv6 ranges are left out"},
    {NLB, ""},
    {NLB, V4, .no_node_rules = true, .told = "DisableSecurityGroupIngress"},
    {NLB, V6, .no_node_rules = true, .told = "DisableSecurityGroupIngress"},
    {NLB, ALL, .no_node_rules = true},
    {NLB NO_IPS, V4, .told = "instead of theirs; every client is let in"},
    {NLB NO_IPS, V6, .told = "instead of theirs; every client is let in"},
    {NLB NO_IPS, V4, .local = true, .told = "theirs; no client is let in", .nobody = true},
    {NLB NO_IPS, V6, .local = true, .told = "theirs; no client is let in", .nobody = true},
    {NLB NO_IPS, V4, .local = true, .managed = true, .nobody = true},
    {NLB NO_IPS, "\"10.0.0.0/8\"", .local = true, .told = "every client is let in"},
    {NLB NO_IPS, ALL, .local = true},
    {NLB NO_IPS, V4, .local = true, .no_node_rules = true, .told = "what these groups allow"},
    /* One with a group of its own, which has rules of both families. */
    {NLB, V4 "," V6, .managed = true},
    {NLB, V6, .managed = true, .nobody = true},
    {NLB NO_IPS, V4, .managed = true},
    {NLB, V4, .managed = true, .no_node_rules = true},
    {NLB, V6, .managed = true, .without_group = true, .local = true, .told = "left out",
     .nobody = true},
    {NLB NAMED, V4, .managed = true},
    {NLB NAMED, V6, .managed = true, .told = "left out"},
    {NLB NAMED, V4, .managed = true, .no_node_rules = true, .told = "have no effect"},
    /* Classic: the main group decides; aws_service.c reports what its own leaves out. */
    {"", V4},
    {"", V6, .nobody = true},
    {EXTRA "\"sg-open\",", V6},
    {EXTRA "\"sg-other\",", V6, .nobody = true},
    {EXTRA "\"sg-not-read\",", V6},
    {NAMED, V4, .told = "aws-load-balancer-security-groups names"},
    {NAMED, V6, .told = "aws-load-balancer-security-groups names"},
    {NAMED, ALL},
    {"", V4, .shared = true, .told = "ElbSecurityGroup"},
};

static void ranges__that_become_rules_of_no_group__told(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct aws_naming naming = aws_test_naming();
        naming.nlb_group_mode = row->managed ? "Managed" : "";
        naming.no_node_rules = row->no_node_rules;
        naming.shared_group = row->shared ? "sg-shared" : "";
        const struct aws_nlb nlb = {.name = "x"};
        const struct aws_observed seen = {.nlb = row->without_group ? &nlb : NULL};
        struct aws_rule rules[] = {
            {.protocol = "tcp", .from = 80, .to = 80, .peer = AWS_PEER_CIDR, .source = "0.0.0.0/0"},
            {.protocol = "tcp", .from = 22, .to = 22, .peer = AWS_PEER_CIDR, .source = "0.0.0.0/0"},
        };
        const struct aws_group open = {.id = "sg-open", .rules = {.items = &rules[0], .n = 1}};
        const struct aws_group other = {.id = "sg-other", .rules = {.items = &rules[1], .n = 1}};
        const struct aws_group *groups[] = {&open, &other};
        const struct aws_subnet subnet = {.id = "subnet-1", .cidr = "10.0.0.0/24"};
        const struct aws_surroundings around = {.groups = groups,
                                                .n_groups = ARRAY_LEN(groups),
                                                .places = {.subnets = &subnet, .n_subnets = 1}};
        const struct aws_planning p = {
            .a = a,
            .around = &around,
            .naming = &naming,
            .seen = &seen,
            .service = aws_test_service(
                a, &naming, arena_printf(a, "{%s\"x\":\"y\"}", row->notes),
                arena_printf(a,
                             "\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}],"
                             "\"loadBalancerSourceRanges\":[%s]%s",
                             row->ranges,
                             row->local ? ",\"externalTrafficPolicy\":\"Local\","
                                          "\"healthCheckNodePort\":32101"
                                        : "")),
        };
        const char *told = aws_ranges_without_effect(&p);
        bool right =
            row->told == NULL ? told == NULL : told != NULL && strstr(told, row->told) != NULL;
        if (!right || (aws_ranges_let_nobody_in(&p) != NULL) != row->nobody) {
            fail_msg("row %zu: \"%s\", nobody %d", i, str_nonnull(told), !row->nobody);
        }
    }
}

/* A group of nodes with one rule, and a Service with node port 30080. */
static const struct closed_row {
    const char *notes;
    struct aws_rule rule;
    bool managed, keeps_rules, unread, nobody;
} closed_rows[] = {
    {NLB, RULE("tcp", 30080, AWS_PEER_CIDR, "192.0.2.0/24")},
    {NLB, RULE("tcp", 30080, AWS_PEER_PREFIX_LIST, "pl-1")},
    {NLB, RULE("-1", -1, AWS_PEER_CIDR, "10.0.0.0/8")},
    {NLB, RULE("tcp", 22, AWS_PEER_CIDR, "0.0.0.0/0"), .nobody = true},
    {NLB, RULE("udp", 30080, AWS_PEER_CIDR, "0.0.0.0/0"), .nobody = true},
    {NLB, RULE("-1", -1, AWS_PEER_GROUP, "sg-nodes"), .nobody = true},
    {NLB, RULE("-1", -1, AWS_PEER_GROUP, "sg-lb"), .nobody = true},
    {NLB, RULE("-1", -1, AWS_PEER_GROUP, "sg-lb"), .managed = true},
    {"", RULE("-1", -1, AWS_PEER_GROUP, "sg-lb")},
    {"", RULE("-1", -1, AWS_PEER_GROUP, "sg-nodes"), .nobody = true},
    {"", RULE("tcp", 22, AWS_PEER_CIDR, "0.0.0.0/0"), .unread = true},
    {"", RULE("tcp", 22, AWS_PEER_CIDR, "0.0.0.0/0"), .keeps_rules = true},
};

static void nodes__whose_rules_are_not_ours__told_when_they_are_closed(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(closed_rows); i++) {
        const struct closed_row *row = &closed_rows[i];
        struct aws_naming naming = aws_test_naming();
        naming.nlb_group_mode = row->managed ? "Managed" : "";
        naming.no_node_rules = !row->keeps_rules;
        const struct aws_group nodes = {.id = row->unread ? "sg-other" : "sg-nodes",
                                        .rules = {.items = &row->rule, .n = 1}};
        const struct aws_group *groups[] = {&nodes};
        const struct aws_group_ref ref = {"sg-nodes", "nodes"};
        const struct aws_instance instance = {.id = "i-1", .groups = &ref, .n_groups = 1};
        const struct aws_surroundings around = {
            .groups = groups, .n_groups = 1, .instances = &instance, .n_instances = 1};
        const struct aws_observed seen = {0};
        const struct aws_planning p = {
            .a = a,
            .around = &around,
            .naming = &naming,
            .seen = &seen,
            .service = aws_test_service(
                a, &naming, arena_printf(a, "{%s\"x\":\"y\"}", row->notes),
                "\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}]"),
        };
        if (aws_nodes_let_nobody_in(&p) != row->nobody) {
            fail_msg("row %zu: nobody %d", i, !row->nobody);
        }
    }
}

UNIT_MAIN(ranges)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(ranges__that_become_rules_of_no_group__told),
        PURE_TEST(nodes__whose_rules_are_not_ours__told_when_they_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
