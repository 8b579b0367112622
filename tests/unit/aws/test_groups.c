/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups.c: rules of security groups: same or not, differences, managed groups; rows
 * 64 to 82. */
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"
#include "tests/unit/aws/rule_same.h"

/* Is each rule of `wanted` there? */
static void exists__64_to_72_and_82(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *wanted, *actual;
        bool exists;
    } rows[] = {
        {"64", "tcp 80 sg-2", "tcp 80 sg-1; tcp 80 sg-2; tcp 80 sg-3", true},
        {"65", "tcp 80 sg-4", "tcp 80 sg-1; tcp 80 sg-2; tcp 80 sg-3", false},
        {"66", "tcp 80 sg-1; tcp 80 sg-4", "tcp 80 sg-1; tcp 80 sg-2; tcp 80 sg-3", false},
        {"69", "tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8; tcp 80 192.168.1.0/24", true},
        {"70", "tcp 80 172.16.0.0/16", "tcp 80 10.0.0.0/8; tcp 80 192.168.1.0/24", false},
        {"71", "tcp 80 172.16.0.0/16", "", false},
        {"72", "", "", true},
        {"80", "tcp 30080 0.0.0.0/0 A", "tcp 30080 0.0.0.0/0 B", true},
        {"82", "tcp 80 1.2.3.0/24", "-1 1.2.3.0/24", false},
        {"4.15", "tcp 80 10.0.0.0/8", "udp 80 10.0.0.0/8", false},
        {"4.15", "tcp 80 10.0.0.0/8", "tcp 80-81 10.0.0.0/8", false},
        {"4.15", "tcp 80 sg-1", "tcp 80 pl-1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_rules wanted = aws_test_rules(a, rows[i].wanted);
        struct aws_rules actual = aws_test_rules(a, rows[i].actual);
        same_text(rows[i].row, aws_rules_minus(a, &wanted, &actual).n == 0 ? "exists" : "missing",
                  rows[i].exists ? "exists" : "missing");
    }
}

/* EC2 calls the second a duplicate whatever account it names: so do we, and rows 67 and
 * 68 are one. */
static void users__do_not_tell_rules_apart__67_68(void **state)
{
    struct aws_rules a = aws_test_rules(*state, "tcp 80 sg-2");
    struct aws_rules b = aws_test_rules(*state, "tcp 80 sg-2");
    struct aws_rule of_a = a.items[0];
    of_a.user = "A";
    assert_true(aws_rule_same(&of_a, &b.items[0]));
    assert_true(aws_rules_have(&b, &of_a));
}

static void differences__73_to_79_and_81(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *desired, *actual, *authorize, *revoke;
    } rows[] = {
        {"73", "tcp 80 0.0.0.0/0; tcp 81 0.0.0.0/0; icmp 3-4 0.0.0.0/0",
         "tcp 80 0.0.0.0/0; icmp 3-4 0.0.0.0/0", "tcp 81 0.0.0.0/0", ""},
        {"74",
         "tcp 443 10.0.0.0/8; tcp 443 172.16.0.0/12; tcp 443 192.168.0.0/16; tcp 80 0.0.0.0/0",
         "tcp 443 10.0.0.0/8; tcp 443 172.16.0.0/12; tcp 443 192.168.0.0/16; tcp 8080 10.0.0.0/8; "
         "tcp 8080 172.16.0.0/12",
         "tcp 80 0.0.0.0/0", "tcp 8080 10.0.0.0/8; tcp 8080 172.16.0.0/12"},
        {"75", "", "tcp 80 0.0.0.0/0", "", "tcp 80 0.0.0.0/0"},
        {"76", "tcp 80 0.0.0.0/0", "", "tcp 80 0.0.0.0/0", ""},
        {"77", "tcp 80 10.0.0.0/8; tcp 80 172.16.0.0/12", "tcp 80 172.16.0.0/12; tcp 80 10.0.0.0/8",
         "", ""},
        {"80", "tcp 30080 0.0.0.0/0", "tcp 30080 0.0.0.0/0 B", "", ""},
        {"81", "tcp 80 0.0.0.0/0", "tcp 80 ::/0", "tcp 80 0.0.0.0/0", "tcp 80 ::/0"},
        {"15.1", "tcp 80 10.0.0.0/8", "tcp 80 10.0.0.0/8; tcp 80 sg-x", "", "tcp 80 sg-x"},
        {"4.15", "", "tcp 80 10.0.0.0/8 by-hand", "", "tcp 80 10.0.0.0/8 by-hand"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_rules desired = aws_test_rules(a, rows[i].desired);
        struct aws_rules actual = aws_test_rules(a, rows[i].actual);
        struct aws_rule_diff d = aws_rules_diff(a, &desired, &actual);
        same_text(rows[i].row, aws_test_rules_text(a, &d.authorize), rows[i].authorize);
        same_text(rows[i].row, aws_test_rules_text(a, &d.revoke), rows[i].revoke);
    }
}

static void lists__are_sorted_and_unique__78_79(void **state)
{
    struct arena *a = *state;
    struct aws_rules r = aws_test_rules(
        a, "tcp 80 sg-1; udp 1 10.0.0.0/8; tcp 80 10.0.0.0/8 b; tcp 80 10.0.0.0/8 a; -1 sg-1; "
           "tcp 80 10.0.0.0/8 a; tcp 9-10 10.0.0.0/8; tcp 9 10.0.0.0/8");
    same_text("4.15", aws_test_rules_text(a, &r),
              "-1 sg-1; tcp 9 10.0.0.0/8; tcp 9-10 10.0.0.0/8; tcp 80 10.0.0.0/8 a; "
              "tcp 80 10.0.0.0/8 b; tcp 80 sg-1; udp 1 10.0.0.0/8");
}

#define TWO_PORTS                                                                                  \
    "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"},"             \
    "{\"name\":\"b\",\"port\":443,\"protocol\":\"TCP\"}]"
#define BOTH_FAMILIES TWO_PORTS ",\"loadBalancerSourceRanges\":[\"2001:db8::/32\",\"10.0.0.0/8\"]"

static void managed__by_kind__13_5_and_13_27(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *want;
    } rows[] = {
        {"4.10", NULL, TWO_PORTS, "icmp 3-4 0.0.0.0/0; tcp 80 0.0.0.0/0; tcp 443 0.0.0.0/0"},
        {"5.9", "{\"type\":\"nlb\"}", TWO_PORTS, "icmp 3-4 0.0.0.0/0; tcp 80 0.0.0.0/0"},
        {"13.5", "{\"type\":\"nlb\",\"ssl-cert\":\"arn\"}", TWO_PORTS,
         "icmp 3-4 0.0.0.0/0; tcp 80 0.0.0.0/0"},
        {"13.27", NULL, BOTH_FAMILIES,
         "icmp 3-4 10.0.0.0/8; tcp 80 10.0.0.0/8; tcp 443 10.0.0.0/8"},
        {"13.27", "{\"type\":\"nlb\"}", BOTH_FAMILIES,
         "icmp 3-4 10.0.0.0/8; tcp 80 10.0.0.0/8; tcp 80 2001:db8::/32"},
        {"5.9", "{\"type\":\"nlb\"}",
         "\"ports\":[{\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}]",
         "icmp 3-4 0.0.0.0/0; udp 53 0.0.0.0/0"},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_rules r =
            aws_managed_rules(a, aws_test_service(a, &n, rows[i].annotations, rows[i].spec));
        same_text(rows[i].row, aws_test_rules_text(a, &r), rows[i].want);
    }
}

static void text__says_what_and_from_where(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *rule, *want;
    } rows[] = {
        {"tcp 80 10.0.0.0/8", "tcp 80 from 10.0.0.0/8"},
        {"tcp 80-90 ::/0", "tcp 80-90 from ::/0"},
        {"-1 sg-1", "all traffic from sg-1"},
        {"icmp 3-4 0.0.0.0/0", "icmp type 3 code 4 from 0.0.0.0/0"},
        {"icmp 8--1 0.0.0.0/0", "icmp type 8 from 0.0.0.0/0"},
        {"icmp -1 0.0.0.0/0", "icmp from 0.0.0.0/0"},
        {"47 -1 0.0.0.0/0", "47 from 0.0.0.0/0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_rules r = aws_test_rules(a, rows[i].rule);
        same_text(rows[i].rule, aws_rule_text(a, &r.items[0]), rows[i].want);
    }
}

UNIT_MAIN(groups)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(exists__64_to_72_and_82),
        PURE_TEST(users__do_not_tell_rules_apart__67_68),
        PURE_TEST(differences__73_to_79_and_81),
        PURE_TEST(lists__are_sorted_and_unique__78_79),
        PURE_TEST(managed__by_kind__13_5_and_13_27),
        PURE_TEST(text__says_what_and_from_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
