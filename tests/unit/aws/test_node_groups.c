/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_groups.c: rules of NLBs in security groups of nodes; section 5.11, 13 rows 24, 25. */
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#define C   "kubernetes.io/rule/nlb/client=lb1"
#define H   "kubernetes.io/rule/nlb/health=lb1"
#define M   "kubernetes.io/rule/nlb/mtu"
#define C2  "kubernetes.io/rule/nlb/client=lb2"
#define H2  "kubernetes.io/rule/nlb/health=lb2"
#define ALL "tcp 30080 0.0.0.0/0 "

struct row {
    const char *row;
    bool wanted;
    const char *clients, *ports, *health_port; /* ports: "tcp:30080 udp:30053 t_u:30054" */
    const char *actual, *needed, *grant, *revoke;
    const char *left; /* description of a balancer that is gone */
    bool mixed;       /* MixedProtocols */
    bool keeps_superfluous;
};

static void check(struct arena *a, const struct row *r)
{
    struct aws_nlb_port ports[4] = {0};
    struct aws_texts words = aws_test_texts(a, r->ports);
    for (size_t i = 0; i < words.n; i++) {
        ports[i].traffic_protocol = str_has_prefix(words.items[i], "udp")   ? "UDP"
                                    : str_has_prefix(words.items[i], "tls") ? "TLS"
                                    : str_has_prefix(words.items[i], "t_u") ? "TCP_UDP"
                                                                            : "TCP";
        ports[i].node_port = (int32_t)strtol(words.items[i] + 4, NULL, 10);
    }
    const struct aws_nlb_node_want w = {.lb_name = "lb1",
                                        .subnet_cidrs = aws_test_texts(a, "10.0.0.0/24"),
                                        .client_cidrs = aws_test_texts(a, r->clients),
                                        .ports = ports,
                                        .n_ports = words.n,
                                        .mixed = r->mixed,
                                        .keeps_superfluous = r->keeps_superfluous,
                                        .health_port = str_or(r->health_port, "traffic-port"),
                                        .left = str_set_make(a, &r->left, r->left != NULL)};
    struct aws_rules actual = aws_test_rules(a, r->actual);
    struct aws_rules needed = aws_test_rules(a, str_nonnull(r->needed));
    struct aws_rule_diff d = aws_nlb_node_rules_diff(a, &w, r->wanted, &actual, &needed);
    same_text(arena_printf(a, "%s grant", r->row), aws_test_rules_text(a, &d.authorize), r->grant);
    same_text(arena_printf(a, "%s revoke", r->row), aws_test_rules_text(a, &d.revoke), r->revoke);
    for (size_t i = 0; i < d.authorize.n; i++) {
        assert_false(aws_rules_have(&d.revoke, &d.authorize.items[i]));
        assert_false(aws_rules_have(&actual, &d.authorize.items[i]));
    }
}

/* 13 row 33: each port by its own protocol. */
static void comes__mixed_protocols(void **state)
{
    static const struct row rows[] = {
        {"upstream calls all of them UDP", true, "0.0.0.0/0", "tcp:30080 udp:30053", NULL, "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; tcp 30053 10.0.0.0/24 " H "; tcp 30080 10.0.0.0/24 " H
         "; udp 30053 0.0.0.0/0 " C "; udp 30080 0.0.0.0/0 " C,
         ""},
        {"each by its own", true, "0.0.0.0/0", "tcp:30080 udp:30053", NULL, "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; tcp 30053 10.0.0.0/24 " H "; " ALL C "; udp 30053 0.0.0.0/0 " C,
         "", NULL, true},
        {"both on one port: probes come as clients do", true, "0.0.0.0/0", "t_u:30080", NULL, "",
         NULL, "icmp 3-4 0.0.0.0/0 " M "; " ALL C "; udp 30080 0.0.0.0/0 " C, "", NULL, true},
        {"both on one port, from a range", true, "1.2.3.0/24", "t_u:30080", NULL, "", NULL,
         "icmp 3-4 1.2.3.0/24 " M "; tcp 30080 1.2.3.0/24 " C "; tcp 30080 10.0.0.0/24 " H
         "; udp 30080 1.2.3.0/24 " C,
         "", NULL, true},
        {"another health port", true, "0.0.0.0/0", "tcp:30080 udp:30053", "32000", "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C "; tcp 32000 10.0.0.0/24 " H "; udp 30053 0.0.0.0/0 " C,
         "", NULL, true},
        {"UDP goes from a port", true, "0.0.0.0/0", "tcp:30080", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C "; udp 30080 0.0.0.0/0 " C, NULL, "",
         "udp 30080 0.0.0.0/0 " C, NULL, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(*state, &rows[i]);
    }
}

static void comes__5_11(void **state)
{
    static const struct row rows[] = {
        {"everybody", true, "0.0.0.0/0", "tcp:30080", NULL, "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C, ""},
        {"TLS is tcp", true, "0.0.0.0/0", "tls:30080", NULL, "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C, ""},
        {"a range: probes, too", true, "1.2.3.0/24", "tcp:30080", NULL, "", NULL,
         "icmp 3-4 1.2.3.0/24 " M "; tcp 30080 1.2.3.0/24 " C "; tcp 30080 10.0.0.0/24 " H, ""},
        {"everybody, but another health port", true, "0.0.0.0/0", "tcp:30080", "10256", "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; tcp 10256 10.0.0.0/24 " H "; " ALL C, ""},
        {"the health port is the node port", true, "0.0.0.0/0", "tcp:30080", "30080", "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C, ""},
        {"the health port is one of two", true, "0.0.0.0/0", "tcp:30080 tcp:30443", "30080", "",
         NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C "; tcp 30080 10.0.0.0/24 " H "; tcp 30443 0.0.0.0/0 " C,
         ""},
        {"UDP is probed by TCP", true, "0.0.0.0/0", "udp:30053", NULL, "", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; tcp 30053 10.0.0.0/24 " H "; udp 30053 0.0.0.0/0 " C, ""},
        {"clients of the subnet", true, "10.0.0.0/24", "tcp:30080", NULL, "", NULL,
         "icmp 3-4 10.0.0.0/24 " M "; tcp 30080 10.0.0.0/24 " C, ""},
        {"nothing changes", true, "0.0.0.0/0", "tcp:30080", NULL,
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C, NULL, "", ""},
        {"row 80: a foreign rule serves as well", true, "0.0.0.0/0", "tcp:30080", NULL,
         ALL "by-hand", NULL, "", ""},
        {"another's rule serves as well", true, "0.0.0.0/0", "tcp:30080", NULL, ALL C2, NULL,
         "icmp 3-4 0.0.0.0/0 " M, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(*state, &rows[i]);
    }
}

static void goes__5_11(void **state)
{
    static const struct row rows[] = {
        {"the whole balancer", false, "", "", NULL,
         ALL C "; tcp 30443 10.0.0.0/24 " H "; udp 53 1.2.3.4/32 " C "; icmp 3-4 0.0.0.0/0 " M
               "; icmp 3-4 1.2.3.4/32 " M,
         NULL, "",
         "icmp 3-4 0.0.0.0/0 " M "; icmp 3-4 1.2.3.4/32 " M "; " ALL C "; tcp 30443 10.0.0.0/24 " H
         "; udp 53 1.2.3.4/32 " C},
        {"others' rules stay", false, "", "", NULL,
         "tcp 30080 0.0.0.0/0 " C2 "; tcp 30080 10.0.0.0/24 " H2
         "; tcp 22 0.0.0.0/0 by-hand; tcp 30443 sg-1; icmp 3-4 0.0.0.0/0 " M,
         NULL, "", ""},
        {"MTU rules of others' clients stay", false, "", "", NULL,
         "tcp 1 0.0.0.0/0 " C "; tcp 2 0.0.0.0/0 " C2 "; icmp 3-4 0.0.0.0/0 " M, NULL, "",
         "tcp 1 0.0.0.0/0 " C},
        {"a name that only begins alike", false, "", "", NULL, "tcp 1 0.0.0.0/0 " C "x", NULL,
         "icmp 3-4 0.0.0.0/0 " M, ""},
        {"instances have left the group", false, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; icmp 3-4 0.0.0.0/0 " M, NULL, "", "icmp 3-4 0.0.0.0/0 " M "; " ALL C},
        {"others need it", false, "", "", NULL, ALL C "; icmp 3-4 0.0.0.0/0 " M, ALL "x", "", ""},
        {"others need one of two", false, "", "", NULL,
         ALL C "; tcp 30443 0.0.0.0/0 " C "; icmp 3-4 0.0.0.0/0 " M, ALL "x", "",
         "tcp 30443 0.0.0.0/0 " C},
        {"others need the MTU rule", false, "", "", NULL, "icmp 3-4 1.2.3.4/32 " M,
         "icmp 3-4 1.2.3.4/32", "", ""},
        {"who shared it is gone, too", false, "", "", NULL, "tcp 10256 10.0.0.0/24 " H2, NULL, "",
         "tcp 10256 10.0.0.0/24 " H2, H2},
        {"who shared it is gone, a third one needs it", false, "", "", NULL,
         "tcp 10256 10.0.0.0/24 " H2, "tcp 10256 10.0.0.0/24", "", "", H2},
        {"who shared it is gone, this one needs it", true, "0.0.0.0/0", "tcp:30080", "10256",
         ALL C "; tcp 10256 10.0.0.0/24 " H2 "; icmp 3-4 0.0.0.0/0 " M, NULL, "", "", H2},
        {"who shared it is gone, this one is asked elsewhere now", true, "0.0.0.0/0", "tcp:30080",
         NULL, ALL C "; tcp 10256 10.0.0.0/24 " H2 "; icmp 3-4 0.0.0.0/0 " M, NULL, "",
         "tcp 10256 10.0.0.0/24 " H2, H2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(*state, &rows[i]);
    }
}

static void changes__13_24_and_25(void **state)
{
    static const struct row rows[] = {
        {"a range instead of another", true, "1.2.3.0/24", "tcp:30080", NULL,
         "tcp 30080 9.9.9.0/24 " C "; tcp 30080 10.0.0.0/24 " H "; icmp 3-4 9.9.9.0/24 " M, NULL,
         "icmp 3-4 1.2.3.0/24 " M "; tcp 30080 1.2.3.0/24 " C,
         "icmp 3-4 9.9.9.0/24 " M "; tcp 30080 9.9.9.0/24 " C},
        {"13.24: probes are covered now", true, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; tcp 30080 10.0.0.0/24 " H "; icmp 3-4 0.0.0.0/0 " M, NULL, "",
         "tcp 30080 10.0.0.0/24 " H},
        {"13.25: MTU is repaired alone", true, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; icmp 3-4 9.9.9.0/24 " M, NULL, "icmp 3-4 0.0.0.0/0 " M, "icmp 3-4 9.9.9.0/24 " M},
        {"13.25: also where none of ours is", false, "", "", NULL, ALL C2, NULL,
         "icmp 3-4 0.0.0.0/0 " M, ""},
        {"the port moves", true, "0.0.0.0/0", "tcp:30081", NULL, ALL C "; icmp 3-4 0.0.0.0/0 " M,
         NULL, "tcp 30081 0.0.0.0/0 " C, ALL C},
        {"the description alone differs", true, "10.0.0.0/24", "tcp:30080", NULL,
         "tcp 30080 10.0.0.0/24 " H, NULL, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(*state, &rows[i]);
    }
}

/* An adopted group stays as upstream would have left it. */
static void changes__not_repaired__superfluous_rules_stay(void **state)
{
    static const struct row rows[] = {
        {"13.24: probes are covered", true, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; tcp 30080 10.0.0.0/24 " H "; icmp 3-4 0.0.0.0/0 " M, NULL, "", "", NULL, false,
         true},
        {"13.24: covered, and a port goes", true, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; tcp 30443 0.0.0.0/0 " C "; tcp 30080 10.0.0.0/24 " H "; icmp 3-4 0.0.0.0/0 " M,
         NULL, "", "tcp 30080 10.0.0.0/24 " H "; tcp 30443 0.0.0.0/0 " C, NULL, false, true},
        {"not covered: rules for other probes go", true, "1.2.3.0/24", "tcp:30080", NULL,
         "tcp 30080 1.2.3.0/24 " C "; tcp 30080 10.0.0.0/24 " H "; tcp 99 10.0.0.0/24 " H
         "; icmp 3-4 1.2.3.0/24 " M,
         NULL, "", "tcp 99 10.0.0.0/24 " H, NULL, false, true},
        {"13.25: MTU alone", true, "0.0.0.0/0", "tcp:30080", NULL, ALL C "; icmp 3-4 9.9.9.0/24 " M,
         NULL, "icmp 3-4 0.0.0.0/0 " M, "icmp 3-4 9.9.9.0/24 " M, NULL, false, true},
        {"13.25: MTU with traffic", true, "1.2.3.0/24", "tcp:30080", "30080",
         "tcp 30080 10.0.0.0/24 " H "; icmp 3-4 9.9.9.0/24 " M, NULL,
         "icmp 3-4 1.2.3.0/24 " M "; tcp 30080 1.2.3.0/24 " C, "icmp 3-4 9.9.9.0/24 " M, NULL,
         false, true},
        {"13.1: a balancer is gone", true, "0.0.0.0/0", "tcp:30080", "10256",
         ALL C "; tcp 10256 10.0.0.0/24 " H "; tcp 99 10.0.0.0/24 " H2 "; icmp 3-4 0.0.0.0/0 " M,
         NULL, "", "", H2, false, true},
        {"instances have left the group", false, "0.0.0.0/0", "tcp:30080", NULL,
         ALL C "; tcp 30080 10.0.0.0/24 " H "; icmp 3-4 0.0.0.0/0 " M, NULL, "",
         "icmp 3-4 0.0.0.0/0 " M "; " ALL C "; tcp 30080 10.0.0.0/24 " H, NULL, false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(*state, &rows[i]);
    }
}

UNIT_MAIN(node_groups)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(comes__5_11),
        PURE_TEST(comes__mixed_protocols),
        PURE_TEST(goes__5_11),
        PURE_TEST(changes__13_24_and_25),
        PURE_TEST(changes__not_repaired__superfluous_rules_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
