/* SPDX-License-Identifier: Apache-2.0 */
/* test_service.c: what a Service asks for, and what is wrong with it; rows 188 to 225. */
#include "common/lb/service_rules.h"
#include "providers/aws/model/aws_service_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static const struct aws_service *read(struct arena *a, const char *annotations, const char *spec)
{
    const struct aws_naming n = aws_test_naming();
    return aws_test_service(a, &n, annotations, spec);
}

/* "ok", or "error" with the place in the message. */
static void same_verdict(struct arena *a, const char *row, const struct aws_service *s,
                         const char *want)
{
    bool good = s->err.code == ERR_OK;
    same_text(row, good ? "ok" : "error", str_eq(want, "ok") ? "ok" : "error");
    assert_int_equal(good, s->err.message[0] == '\0');
    if (!good && strstr(s->err.message, want) == NULL) {
        fail_msg("%s: \"%s\" does not name %s", row, s->err.message, want);
    }
}

static void lists__188_to_192(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *value, *want;
    } rows[] = {
        {"188", " value 1 ", "value 1"},
        {"189", "subnet-1, subnet-2, My Subnet ", "subnet-1|subnet-2|My Subnet"},
        {"190", "\\t,, , ", ""},
        {"191", ", ,,", ""},
        {"192", " sg-byosample , sg-another ", "sg-byosample|sg-another"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_service *s =
            read(a,
                 arena_printf(a,
                              "{\"subnets\":\"%s\",\"extra-security-groups\":\"%s\","
                              "\"security-groups\":\"%s\"}",
                              rows[i].value, rows[i].value, rows[i].value),
                 NULL);
        assert_true(s->has_subnets);
        same_text(rows[i].row, str_join(a, s->subnets.items, s->subnets.n, "|"), rows[i].want);
        same_text(rows[i].row, str_join(a, s->groups.items, s->groups.n, "|"), rows[i].want);
        same_text(rows[i].row, str_join(a, s->extra_groups.items, s->extra_groups.n, "|"),
                  rows[i].want);
    }
    assert_false(read(a, NULL, NULL)->has_subnets);
}

static void kinds__193_to_196(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations;
        enum aws_kind want;
    } rows[] = {
        {"193", "{\"type\":\"nlb\"}", AWS_NLB},
        {"194", "{\"type\":\"elb\"}", AWS_CLASSIC},
        {"194", NULL, AWS_CLASSIC},
        {"195", "{\"type\":\"nlb-ip\"}", AWS_ELSEWHERE},
        {"195", "{\"type\":\"external\"}", AWS_ELSEWHERE},
        {"196", "{\"type\":\"NLB\"}", AWS_CLASSIC},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_service *s = read(a, rows[i].annotations, NULL);
        same_text(rows[i].row, aws_kind_text(s->kind), aws_kind_text(rows[i].want));
        assert_int_equal(s->err.code,
                         rows[i].want == AWS_ELSEWHERE ? ERR_IMPLEMENTED_ELSEWHERE : ERR_OK);
    }
}

#define PORT(protocol) "\"ports\":[{\"port\":53,\"nodePort\":30053,\"protocol\":\"" protocol "\"}]"
#define MIXED                                                                                      \
    "\"ports\":[{\"name\":\"a\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"},"             \
    "{\"name\":\"b\",\"port\":53,\"nodePort\":30054,\"protocol\":\"TCP\"}]"
#define NLB "{\"type\":\"nlb\"}"

static void protocols__197_to_200(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *want;
    } rows[] = {
        {"197", NLB, MIXED, "spec.ports"},
        {"197", NULL, MIXED, "spec.ports"},
        {"198", NULL, PORT("UDP"), AWS_ANNOTATION "type: nlb"},
        {"199", NLB, PORT("UDP"), "ok"},
        {"200", NLB, PORT("SCTP"), "spec.ports: port 53: SCTP"},
        {"4.1", NULL, "\"ports\":[]", "spec.ports: none"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_verdict(a, rows[i].row, read(a, rows[i].annotations, rows[i].spec), rows[i].want);
    }
}

#define PORTS(tcp, udp)                                                                            \
    "\"ports\":[{\"name\":\"a\",\"port\":443,\"nodePort\":" tcp ",\"protocol\":\"TCP\"},"          \
    "{\"name\":\"b\",\"port\":443,\"nodePort\":" udp ",\"protocol\":\"UDP\"}]"

/* 13 row 33 */
static void protocols__mixed__as_the_option_says(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *want;
    } rows[] = {
        {"two numbers", NLB,
         "\"ports\":[{\"name\":\"a\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"},"
         "{\"name\":\"b\",\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}]",
         "53 UDP; 80 TCP"},
        {"one number", NLB, PORTS("30443", "30443"), "443 TCP_UDP"},
        {"one number, two node ports", NLB, PORTS("30443", "30444"),
         "spec.ports: port 443 has node port 30443 for TCP and 30444 for UDP"},
        {"one of them has no node port", NLB, PORTS("30443", "0"), "443 TCP"},
        {"TLS", "{\"type\":\"nlb\",\"ssl-cert\":\"arn:c\"}", PORTS("30443", "30443"),
         "spec.ports: port 443 is TLS and UDP"},
        {"TLS elsewhere", "{\"type\":\"nlb\",\"ssl-cert\":\"arn:c\",\"ssl-ports\":\"8443\"}",
         PORTS("30443", "30443"), "443 TCP_UDP"},
        {"no NLB", NULL, PORTS("30443", "30443"), "spec.ports: TCP and UDP"},
        {"another one", NLB, PORT("SCTP"), "spec.ports: port 53: SCTP"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_naming n = aws_test_naming();
        n.options.mixed_protocols = true;
        const struct aws_service *s = aws_test_service(a, &n, rows[i].annotations, rows[i].spec);
        struct str_buf b = STR_BUF_INIT;
        for (size_t k = 0; s->err.code == ERR_OK && k < s->n_ports; k++) {
            str_appendf(&b, "%s%d %s", k > 0 ? "; " : "", (int)s->ports[k].port,
                        s->ports[k].protocol);
        }
        const char *is = s->err.code == ERR_OK ? str_buf_text(&b) : s->err.message;
        if (!str_has_prefix(is, rows[i].want)) {
            fail_msg("%s: %s, not %s", rows[i].row, is, rows[i].want);
        }
        str_buf_done(&b);
    }
}

#define TGA(value) "{\"type\":\"nlb\",\"target-group-attributes\":\"" value "\"}"

static void annotations__201_to_212(void **state)
{
    struct arena *a = *state;
    static const char attributes[] = AWS_ANNOTATION "target-group-attributes";
    const struct {
        const char *row, *annotations, *spec, *want;
    } rows[] = {
        {"201", TGA(""), NULL, "ok"},
        {"202", TGA("preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false"), NULL, "ok"},
        {"203", TGA("preserve_client_ip.enabled=true,preserve_client_ip.enabled=false"), NULL,
         "ok"},
        {"204", TGA("preserve_client_ip.enabled="), NULL, attributes},
        {"205", TGA("preserve_client_ip.enabled=invalid"), NULL, attributes},
        {"205", TGA("preserve_client_ip.enabled=True"), NULL, attributes},
        {"205", TGA("preserve_client_ip.enabled= true "), NULL, attributes},
        {"206", TGA("proxy_protocol_v2.enabled=yes"), NULL, attributes},
        {"206", TGA("proxy_protocol_v2.enabled=FALSE"), NULL, attributes},
        {"207", TGA("unsupported_attribute=value"), NULL, attributes},
        {"208", TGA("preserve_client_ip.enabled=false"), PORT("UDP"), attributes},
        {"209", TGA("preserve_client_ip.enabled=true"), PORT("UDP"), "ok"},
        {"210", "{\"target-group-attributes\":\"proxy_protocol_v2.enabled=true\"}", NULL,
         attributes},
        {"210", "{\"target-group-attributes\":\"\"}", NULL, attributes},
        {"211", "{\"type\":\"nlb\",\"extra-security-groups\":\"sg-1\"}", NULL,
         AWS_ANNOTATION "extra-security-groups"},
        {"211", "{\"type\":\"nlb\",\"extra-security-groups\":\"\"}", NULL,
         AWS_ANNOTATION "extra-security-groups"},
        {"212", "{\"type\":\"nlb\",\"security-groups\":\"sg-1\"}", NULL, "ok"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_verdict(a, rows[i].row, read(a, rows[i].annotations, rows[i].spec), rows[i].want);
    }
}

/* Rows 213 to 220: whether a balancer of the other kind is there is looked up, not read from
 * a host name (13.4). */
static void status__does_not_count__213_to_220(void **state)
{
    struct arena *a = *state;
    static const char *const hosts[] = {
        "x.us-east-1.elb.amazonaws.com",    "internal-my-lb-123.eu-west-1.elb.amazonaws.com",
        "x.elb.us-east-1.amazonaws.com",    "x.cn-north-1.elb.amazonaws.com.cn",
        "a1-1.us-east-1.elb.amazonaws.com", "",
    };
    static const char *const types[] = {"nlb", "clb"};
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(hosts) * ARRAY_LEN(types); i++) {
        const char *text = arena_printf(
            a,
            "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
            "\",\"annotations\":{\"" AWS_ANNOTATION "type\":\"%s\"}},\"spec\":{\"type\":"
            "\"LoadBalancer\",\"sessionAffinity\":\"None\"," ONE_PORT
            "},\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"%s\"}]}}}",
            types[i % 2], hosts[i / 2]);
        same_verdict(a, hosts[i / 2], aws_service_read(a, &n, test_service_text(a, text)), "ok");
    }
}

static void internal__221_222(void **state)
{
    static const struct {
        const char *row, *annotations;
        bool internal;
    } rows[] = {
        {"221", "{\"internal\":\"false\"}", false},
        {"221", "{\"internal\":\"\"}", false},
        {"221", NULL, false},
        {"222", "{\"internal\":\"true\"}", true},
        {"222", "{\"internal\":\"0.0.0.0/0\"}", true},
        {"222", "{\"internal\":\"False\"}", true},
        {"222", "{\"internal\":\"0\"}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row, read(*state, rows[i].annotations, NULL)->internal ? "yes" : "no",
                  rows[i].internal ? "yes" : "no");
    }
}

#define RANGES(list) ONE_PORT ",\"loadBalancerSourceRanges\":[" list "]"

static void ranges__223_224(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *spec, *want, *want6;
    } rows[] = {
        {"223", RANGES("\"10.1.2.3/8\",\" 10.0.0.0/8\""), "10.0.0.0/8", ""},
        {"224", RANGES("\"10.0.0.1\""), NULL, NULL},
        {"4.3", NULL, "0.0.0.0/0", ""},
        {"4.3", RANGES("\"2001:DB8::1/64\",\"9.0.0.0/8\",\"10.0.0.0/8\""), "10.0.0.0/8 9.0.0.0/8",
         "2001:db8::/64"},
        {"4.3", RANGES("\"\""), NULL, NULL},
        {"15.2", RANGES("\"010.0.0.0/8\""), NULL, NULL},
        {"15.2", RANGES("\"10.0.0.0/08\""), NULL, NULL},
        {"15.2", RANGES("\"::ffff:10.0.0.0/104\""), NULL, NULL},
        {"4.3", RANGES("\"10.0.0.0/0\""), "0.0.0.0/0", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_service *s = read(a, NULL, rows[i].spec);
        same_verdict(a, rows[i].row, s,
                     rows[i].want == NULL ? "spec.loadBalancerSourceRanges" : "ok");
        if (rows[i].want != NULL) {
            same_text(rows[i].row, aws_test_joined(a, s->ranges), rows[i].want);
            same_text(rows[i].row, aws_test_joined(a, s->ranges6), rows[i].want6);
        }
    }
}

static void ranges__of_the_annotation__223(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *value, *want;
    } rows[] = {
        {"10.1.2.3/8, 10.0.0.0/8", "10.0.0.0/8"},
        {" ", "0.0.0.0/0"},
        {"10.0.0.0/8,", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_kv kv = {"service.beta.kubernetes.io/load-balancer-source-ranges", rows[i].value};
        const struct tt_service s = {
            .size = sizeof(s), .annotations = &kv, .n_annotations = 1, .has_annotations = 1};
        struct str_set ranges = {0};
        struct err err = ERR_INIT;
        int rc = aws_service_ranges(a, &s, &ranges, &err);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_INVALID : ERR_OK);
        assert_int_equal(rc != ERR_OK, strstr(err.message, kv.key) != NULL);
        if (rows[i].want != NULL) {
            same_text(rows[i].value, str_set_text(a, &ranges, " "), rows[i].want);
        }
    }
}

static void other_members__225_and_4_1(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *want;
    } rows[] = {
        {"225", "{\"proxy-protocol\":\"true\"}", NULL, AWS_ANNOTATION "proxy-protocol"},
        {"4.1", "{\"proxy-protocol\":\"\"}", NULL, "ok"},
        {"4.1", "{\"proxy-protocol\":\"*\"}", NULL, "ok"},
        {"4.1", "{\"proxy-protocol\":\"true\",\"type\":\"nlb\"}", NULL, "ok"},
        {"4.1", NULL, ONE_PORT ",\"loadBalancerIP\":\"1.2.3.4\"", "spec.loadBalancerIP"},
        {"4.4", "{\"backend-protocol\":\"x\",\"ssl-cert\":\"arn\"}", NULL,
         AWS_ANNOTATION "backend-protocol"},
        {"5.1", "{\"backend-protocol\":\"x\",\"ssl-cert\":\"arn\",\"type\":\"nlb\"}", NULL, "ok"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_verdict(a, rows[i].row, read(a, rows[i].annotations, rows[i].spec), rows[i].want);
    }
    const struct aws_naming n = aws_test_naming();
    const struct aws_service *s = aws_service_read(
        a, &n,
        test_service_text(a, "{\"metadata\":{\"namespace\":\"d\",\"name\":\"w\"},\"spec\":{"
                             "\"type\":\"LoadBalancer\",\"sessionAffinity\":\"ClientIP\"," ONE_PORT
                             "}}"));
    same_verdict(a, "4.1", s, "spec.sessionAffinity: \"ClientIP\"");
}

/* The first of several errors is that of upstream's order; reading continues whatever it is. */
static void order__of_errors_is_upstreams__4_1(void **state)
{
    struct arena *a = *state;
    const struct aws_service *s =
        read(a, "{\"target-group-attributes\":\"x\",\"proxy-protocol\":\"x\",\"internal\":\"1\"}",
             MIXED ",\"loadBalancerSourceRanges\":[\"x\"],\"loadBalancerIP\":\"1.2.3.4\"");
    same_verdict(a, "4.1", s, "target-group-attributes");
    assert_true(s->internal);
    assert_int_equal(s->n_ports, 2);
    same_verdict(a, "4.1",
                 read(a, "{\"proxy-protocol\":\"x\"}",
                      MIXED ",\"loadBalancerSourceRanges\":[\"x\"],\"loadBalancerIP\":\"1.2.3.4\""),
                 "spec.loadBalancerSourceRanges");
}

/* As long as the API server lets an annotation be: read in no time, and refused before
 * rules are made of it. */
static void long_lists__are_no_burden(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf ports = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf tokens = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf ranges = STR_BUF_INIT;
    for (int i = 0; i < 2000; i++) {
        str_appendf(&ports, "%s{\"name\":\"p%d\",\"port\":%d,\"nodePort\":%d,\"protocol\":\"TCP\"}",
                    i == 0 ? "" : ",", i, i + 1, i + 30000);
    }
    for (int i = 0; i < 40000; i++) {
        str_appendf(&tokens, "%s%d=", i == 0 ? "" : ",", i);
    }
    for (int i = 0; i < 6; i++) {
        str_appendf(&ranges, "%s\"10.%d.0.0/16\"", i == 0 ? "" : ",", i);
    }
    const char *annotations = arena_printf(
        a, "{\"ssl-cert\":\"arn\",\"ssl-ports\":\"%s,7\",\"additional-resource-tags\":\"%s\"}",
        str_buf_text(&tokens), str_buf_text(&tokens));
    const char *spec = arena_printf(a, "\"ports\":[%s],\"loadBalancerSourceRanges\":[%s]",
                                    str_buf_text(&ports), str_buf_text(&ranges));
    size_t before = arena_used(a);
    const struct aws_service *s = read(a, annotations, spec);
    /* A list that is split for each port would take 2000 times its length. */
    assert_in_range(arena_used(a) - before, 1, 100 * (strlen(annotations) + strlen(spec)));
    assert_int_equal(s->extra_tags.n, 40000);
    assert_true(s->ports[6].tls);
    assert_false(s->ports[7].tls);
    same_verdict(a, "rules", s, "6 source ranges and 2000 ports");
}

/* ---- findings -------------------------------------------------------------------------------- */

static void findings__name_what_has_no_effect(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *spec, *want; /* NULL: none */
    } rows[] = {
        {NULL, NULL, NULL},
        {"{\"internal\":\"true\",\"healthcheck-interval\":\"20\"}", NULL, NULL},
        {"{\"eip-allocations\":\"e\"}", NULL, "has no effect on a classic load balancer"},
        {"{\"type\":\"nlb\",\"connection-idle-timeout\":\"5\"}", NULL, "has no effect on an NLB"},
        {"{\"sheme\":\"internal\"}", NULL, NULL}, /* no slip of a key that counts here */
        {"{\"internal\":\"yes\"}", NULL, "counts as true"},
        {"{\"internal\":\"0.0.0.0/0\"}", NULL, NULL},
        {"{\"Internal\":\"true\"}", NULL,
         "is service.beta.kubernetes.io/aws-load-balancer-internal "
         "meant?"},
        {"{\"internl\":\"true\"}", NULL,
         "is service.beta.kubernetes.io/aws-load-balancer-internal meant?"},
        {"{\"scheme\":\"internal\"}", NULL, "aws-load-balancer-controller only"},
        {"{\"type\":\"nlb\",\"backend-protocol\":\"sll\"}", NULL, "\"sll\" is not understood"},
        {"{\"backend-protocol\":\"sll\"}", NULL, "\"sll\" is not understood"},
        {"{\"target-group-attributes.80\":\"x\"}", NULL, "aws-load-balancer-controller only"},
        {"{\"type\":\"NLB\"}", NULL, "means a classic load balancer"},
        {"{\"type\":\"clb\"}", NULL, NULL},
        {"{\"type\":\"nlb\",\"security-groups\":\"sg-1\"}", NULL, "NLBSecurityGroupMode"},
        {"{\"type\":\"external\",\"scheme\":\"internal\"}", NULL, NULL},
        {NULL, RANGES("\"2001:db8::/32\""), "IPv4 only"},
        {"{\"type\":\"nlb\"}", RANGES("\"2001:db8::/32\""), NULL},
        {NULL, "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]", "without node port"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_service *s = read(a, rows[i].annotations, rows[i].spec);
        if (s->n_findings != (rows[i].want != NULL)) {
            fail_msg("%s: %s", rows[i].annotations,
                     s->n_findings > 0 ? s->findings[0].message : "");
        }
        if (rows[i].want != NULL && strstr(s->findings[0].message, rows[i].want) == NULL) {
            fail_msg("%s does not say \"%s\"", s->findings[0].message, rows[i].want);
        }
    }
}

/* docs/adr/0028. */
static void private__asked_for_in_vain__a_new_service_is_refused(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations;
        const char *want; /* NULL: fine */
    } rows[] = {
        {"{\"scheme\":\"internal\"}", "internal: \"true\" was probably meant"},
        {"{\"scheme\":\"internl\"}", "internal: \"true\" was probably meant"},
        {"{\"scheme\":\"Internal \"}", "internal: \"true\" was probably meant"},
        {"{\"scheme\":\"internet-facing\"}", NULL},
        {"{\"scheme\":\"\"}", NULL},
        {"{\"scheme\":\"internal\",\"internal\":\"true\"}", NULL},
        {"{\"scheme\":\"internal\",\"internal\":\"false\"}", NULL}, /* that one counts */
        {"{\"internl\":\"true\"}", "aws-load-balancer-internal was probably meant"},
        {"{\"Internal\":\"yes\"}", "aws-load-balancer-internal was probably meant"},
        {"{\"internl\":\"false\"}", NULL},
        {"{\"internal\":\"ture\"}", NULL}, /* any text but false is internal */
    };
    static const struct tt_ingress host = {.hostname = "x.elb.amazonaws.com"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_naming n = aws_test_naming();
        struct tt_service svc = *aws_test_object(a, rows[i].annotations, NULL);
        same_verdict(a, rows[i].annotations, aws_service_read(a, &n, &svc),
                     str_or(rows[i].want, "ok"));
        svc.ingress = &host;
        svc.n_ingress = 1;
        same_verdict(a, "it stands", aws_service_read(a, &n, &svc), "ok");
        svc.n_ingress = 0;
        n.options.lenient_scheme = true;
        same_verdict(a, "lenient", aws_service_read(a, &n, &svc), "ok");
    }
}

/* The page's tables are printed from these rows (test_docs.c). */
static void known_keys__are_no_slips(void **state)
{
    struct arena *a = *state;
    const struct lb_annotation_keys *keys = aws_annotation_keys(a);
    for (const struct aws_annotation *row = aws_annotation_table; row->name != NULL; row++) {
        assert_null(lb_annotation_meant(a, keys, arena_printf(a, AWS_ANNOTATION "%s", row->name)));
    }
    for (const struct aws_elsewhere *row = aws_elsewhere_table; row->name != NULL; row++) {
        assert_null(lb_annotation_meant(a, keys, arena_printf(a, AWS_ANNOTATION "%s", row->name)));
    }
    assert_null(lb_annotation_meant(a, keys, LB_SOURCE_RANGES_ANNOTATION));
    assert_null(
        lb_annotation_meant(a, keys, "service.beta.kubernetes.io/azure-load-balancer-internal"));
    assert_null(
        lb_annotation_meant(a, keys, "service.beta.kubernetes.io/oci-load-balancer-internal"));
}

static void findings__are_bounded(void **state)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 100; i++) {
        str_appendf(&b, "%s\"target-group-attributes.%d\":\"x\"", i == 0 ? "{" : ",", i);
    }
    str_append(&b, "}");
    assert_in_range(read(*state, str_buf_text(&b), NULL)->n_findings, 1, 16);
}

UNIT_MAIN(service)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(lists__188_to_192),
        PURE_TEST(kinds__193_to_196),
        PURE_TEST(protocols__197_to_200),
        PURE_TEST(protocols__mixed__as_the_option_says),
        PURE_TEST(annotations__201_to_212),
        PURE_TEST(status__does_not_count__213_to_220),
        PURE_TEST(internal__221_222),
        PURE_TEST(ranges__223_224),
        PURE_TEST(ranges__of_the_annotation__223),
        PURE_TEST(other_members__225_and_4_1),
        PURE_TEST(order__of_errors_is_upstreams__4_1),
        PURE_TEST(long_lists__are_no_burden),
        PURE_TEST(findings__name_what_has_no_effect),
        PURE_TEST(private__asked_for_in_vain__a_new_service_is_refused),
        PURE_TEST(known_keys__are_no_slips),
        PURE_TEST(findings__are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
