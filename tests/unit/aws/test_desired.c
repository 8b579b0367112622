/* SPDX-License-Identifier: Apache-2.0 */
/* test_desired.c: the load balancers that Services should have, whole; rows 226 to 235, 243, 244,
 * sections 4, 5.1 to 5.10. */
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static int classic(struct arena *a, const struct aws_naming *n, const char *annotations,
                   struct aws_classic_want *w, struct err *err)
{
    return aws_classic_desired(a, n, aws_test_service(a, n, annotations, NULL),
                               aws_test_texts(a, "subnet-b subnet-a"),
                               aws_test_texts(a, "i-2 i-1 i-2"), w, err);
}

static int nlb(struct arena *a, const struct aws_naming *n, const char *annotations,
               struct aws_nlb_want *w, struct err *err)
{
    const char *all = annotations == NULL
                          ? "{\"type\":\"nlb\"}"
                          : arena_printf(a, "{\"type\":\"nlb\",%s", annotations + 1);
    return aws_nlb_desired(a, n, aws_test_service(a, n, all, NULL),
                           aws_test_texts(a, "subnet-1234 subnet-3456"),
                           aws_test_texts(a, "i-2 i-1 i-2"), w, err);
}

/* ---- classic --------------------------------------------------------------------------------- */

static void classic__plain(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_classic_want w;
    struct err err = ERR_INIT;
    assert_int_equal(classic(a, &n, NULL, &w, &err), ERR_OK);
    same_text("name", w.name, NAME);
    same_text("subnets", aws_test_joined(a, w.subnets), "subnet-b subnet-a"); /* as chosen */
    same_text("instances", aws_test_joined(a, w.instances), "i-1 i-2");
    same_text("group", w.own->name, "k8s-elb-" NAME);
    same_text("group", w.own->description,
              "Security group for Kubernetes ELB " NAME " (default/web)");
    same_text("rules", aws_test_rules_text(a, &w.own->rules),
              "icmp 3-4 0.0.0.0/0; tcp 80 0.0.0.0/0");
    same_text("health", w.health.target, "TCP:30080");
    assert_int_equal(w.groups.n, 0);
    assert_int_equal(w.n_listeners, 1);
    assert_false(w.internal || w.proxy_protocol || w.has_ssl_policy);
    assert_int_equal(w.attributes.idle_timeout, 60);
    assert_int_equal(w.attributes.access_log, 0);
    assert_int_equal(w.attributes.draining_timeout, -1);
    assert_int_equal(w.attributes.emit_interval, -1);
    assert_null(w.attributes.bucket);
    assert_int_equal(w.add_tags.n, 0);
}

static void classic__everything_annotated(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_classic_want w;
    struct err err = ERR_INIT;
    assert_int_equal(
        classic(a, &n,
                "{\"internal\":\"true\",\"proxy-protocol\":\"*\",\"ssl-negotiation-policy\":\"P\","
                "\"access-log-enabled\":\"t\",\"access-log-emit-interval\":\"5\","
                "\"access-log-s3-bucket-name\":\"b\",\"access-log-s3-bucket-prefix\":\"p\","
                "\"connection-draining-enabled\":\"1\",\"connection-draining-timeout\":\"30\","
                "\"connection-idle-timeout\":\"120\",\"cross-zone-load-balancing-enabled\":"
                "\"TRUE\",\"additional-resource-tags\":\"k=v\"}",
                &w, &err),
        ERR_OK);
    assert_true(w.internal && w.proxy_protocol && w.has_ssl_policy);
    same_text("4.7", w.ssl_policy, "k8s-SSLNegotiationPolicy-P");
    same_text("4.7", w.ssl_reference, "P");
    assert_int_equal(w.attributes.access_log, 1);
    assert_int_equal(w.attributes.emit_interval, 5);
    assert_int_equal(w.attributes.draining, 1);
    assert_int_equal(w.attributes.draining_timeout, 30);
    assert_int_equal(w.attributes.idle_timeout, 120);
    assert_int_equal(w.attributes.cross_zone, 1);
    same_text("4.8", w.attributes.bucket, "b");
    same_text("4.8", w.attributes.prefix, "p");
    same_text("4.5", aws_test_tags(a, &w.add_tags), "k=v");
    assert_int_equal(w.tags.n, 3);
}

static void classic__groups__4_10(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *shared;
        bool own;
        const char *groups;
    } rows[] = {
        {NULL, "", true, ""},
        {"{\"extra-security-groups\":\"sg-9,sg-8\"}", "", true, "sg-9 sg-8"},
        {NULL, "sg-all", false, "sg-all"},
        {"{\"security-groups\":\"sg-2, sg-1\"}", "sg-all", false, "sg-2 sg-1"},
        {"{\"security-groups\":\" , \"}", "sg-all", false, "sg-all"},
        {"{\"security-groups\":\"sg-2\",\"extra-security-groups\":\"sg-9\"}", "", false,
         "sg-2 sg-9"},
    };
    struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_classic_want w;
        struct err err = ERR_INIT;
        n.shared_group = rows[i].shared;
        assert_int_equal(classic(a, &n, rows[i].annotations, &w, &err), ERR_OK);
        assert_int_equal(w.own != NULL, rows[i].own);
        same_text("4.10", aws_test_joined(a, w.groups), rows[i].groups);
    }
}

static void classic__refused(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][2] = {
        {"{\"access-log-enabled\":\"yes\"}", "access-log-enabled"},
        {"{\"access-log-emit-interval\":\"x\"}", "access-log-emit-interval"},
        {"{\"connection-draining-enabled\":\" true\"}", "connection-draining-enabled"},
        {"{\"connection-draining-timeout\":\"-1\"}", "connection-draining-timeout"},
        {"{\"connection-idle-timeout\":\"9999999999\"}", "connection-idle-timeout"},
        {"{\"cross-zone-load-balancing-enabled\":\"on\"}", "cross-zone-load-balancing-enabled"},
        {"{\"healthcheck-timeout\":\"1\"}", "healthcheck-timeout"},
        {"{\"proxy-protocol\":\"x\"}", "proxy-protocol"},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_classic_want w;
        struct err err = ERR_INIT;
        assert_int_equal(classic(a, &n, rows[i][0], &w, &err), ERR_INVALID);
        if (strstr(err.message, rows[i][1]) == NULL) {
            fail_msg("\"%s\" does not name %s", err.message, rows[i][1]);
        }
    }
}

static void both__need_a_subnet(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    const struct aws_texts none = {0};
    struct aws_classic_want c;
    struct aws_nlb_want w;
    struct err err = ERR_INIT;
    assert_int_equal(
        aws_classic_desired(a, &n, aws_test_service(a, &n, NULL, NULL), none, none, &c, &err),
        ERR_INVALID);
    assert_non_null(strstr(err.message, "no subnet"));
    err_clear(&err);
    assert_int_equal(aws_nlb_desired(a, &n, aws_test_service(a, &n, "{\"type\":\"nlb\"}", NULL),
                                     none, none, &w, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.message, "no subnet"));
}

/* ---- NLB ------------------------------------------------------------------------------------- */

static void nlb__plain(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_nlb_want w;
    struct err err = ERR_INIT;
    assert_int_equal(nlb(a, &n, NULL, &w, &err), ERR_OK);
    same_text("name", w.name, NAME);
    same_text("instances", aws_test_joined(a, w.instances), "i-1 i-2");
    assert_int_equal(w.n_mappings, 2);
    same_text("subnet", w.mappings[0].subnet, "subnet-1234");
    same_text("subnet", w.mappings[0].allocation, "");
    assert_int_equal(w.n_ports, 1);
    same_text("10", w.ports[0].group_name, "k8s-default-web-2e7f1b24e2");
    same_text("protocol", w.ports[0].protocol, "TCP");
    same_text("attributes", aws_test_tags(a, &w.attributes),
              "access_logs.s3.enabled=false|load_balancing.cross_zone.enabled=false");
    assert_false(w.internal || w.managed_groups || w.has_group_attributes);
    assert_null(w.own);
    assert_int_equal(w.health.timeout, 0);
}

/* Nothing is probed without a node port, so what is wrong about probes does no harm. */
static void nlb__health_annotations__count_with_a_node_port_only__5_1(void **state)
{
    struct arena *a = *state;
    static const char wrong[] = "{\"type\":\"nlb\",\"healthcheck-interval\":\"x\"}";
    const struct aws_naming n = aws_test_naming();
    const struct aws_texts none = {0};
    struct aws_nlb_want w;
    struct err err = ERR_INIT;
    const struct aws_service *s =
        aws_test_service(a, &n, wrong, "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]");
    assert_int_equal(aws_nlb_desired(a, &n, s, aws_test_texts(a, "subnet-1"), none, &w, &err), 0);
    assert_int_equal(w.n_ports, 0);
    same_text("port", w.health.port, "traffic-port");
    s = aws_test_service(a, &n, wrong, NULL);
    assert_int_equal(aws_nlb_desired(a, &n, s, aws_test_texts(a, "subnet-1"), none, &w, &err),
                     ERR_INVALID);
}

static void nlb__tls__5_1(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *want; /* frontend, target group, certificate, policy */
    } rows[] = {
        {"{\"ssl-cert\":\"arn\"}", "TLS TCP arn -"},
        {"{\"ssl-cert\":\"arn\",\"backend-protocol\":\"ssl\"}", "TLS TLS arn -"},
        {"{\"ssl-cert\":\"arn\",\"backend-protocol\":\"SSL\"}", "TLS TCP arn -"},
        {"{\"ssl-cert\":\"arn\",\"ssl-negotiation-policy\":\"P\"}", "TLS TCP arn P"},
        {"{\"ssl-cert\":\"arn\",\"ssl-ports\":\"443\",\"ssl-negotiation-policy\":\"P\"}",
         "TCP TCP - -"},
        {"{\"ssl-cert\":\"\",\"backend-protocol\":\"ssl\"}", "TCP TCP - -"},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_nlb_want w;
        struct err err = ERR_INIT;
        assert_int_equal(nlb(a, &n, rows[i].annotations, &w, &err), ERR_OK);
        const struct aws_nlb_port *p = &w.ports[0];
        same_text(rows[i].annotations,
                  arena_printf(a, "%s %s %s %s", p->protocol, p->traffic_protocol,
                               str_or(p->certificate, "-"), str_or(p->ssl_policy, "-")),
                  rows[i].want);
    }
}

static void nlb__addresses__243_244(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    struct aws_nlb_want w;
    struct err err = ERR_INIT;
    assert_int_equal(nlb(a, &n, "{\"eip-allocations\":\"2345, 4567 \"}", &w, &err), ERR_OK);
    same_text("243", w.mappings[0].allocation, "2345");
    same_text("243", w.mappings[1].allocation, "4567");
    same_text("243", w.mappings[1].subnet, "subnet-3456");
    assert_int_equal(nlb(a, &n, "{\"private-ipv4-addresses\":\"10.1.2.3,10.2.3.4\"}", &w, &err),
                     ERR_OK);
    same_text("244", w.mappings[0].address, "10.1.2.3");
    same_text("244", w.mappings[1].address, "10.2.3.4");
}

static void nlb__refused(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][2] = {
        {"{\"eip-allocations\":\"e1\"}", "eip-allocations"},
        {"{\"eip-allocations\":\"\"}", "eip-allocations"},
        {"{\"eip-allocations\":\"e1,e2,\"}", "eip-allocations"},
        {"{\"private-ipv4-addresses\":\"10.0.0.1\"}", "private-ipv4-addresses"},
        {"{\"access-log-enabled\":\"yes\"}", "access-log-enabled"},
        {"{\"cross-zone-load-balancing-enabled\":\"x\"}", "cross-zone-load-balancing-enabled"},
        {"{\"healthcheck-port\":\"x\"}", "healthcheck-port"},
        {"{\"extra-security-groups\":\"sg-1\"}", "extra-security-groups"},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_nlb_want w;
        struct err err = ERR_INIT;
        assert_int_equal(nlb(a, &n, rows[i][0], &w, &err), ERR_INVALID);
        if (strstr(err.message, rows[i][1]) == NULL) {
            fail_msg("\"%s\" does not name %s", err.message, rows[i][1]);
        }
    }
}

/* The planner handles existing resources (rows 230 to 232, 235). */
static void nlb__groups__226_to_235(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *mode, *annotations;
        int rc;
        bool managed, own;
        const char *groups;
    } rows[] = {
        {"226", "Managed", NULL, ERR_OK, true, true, ""},
        {"227", "", NULL, ERR_OK, false, false, ""},
        {"228", "managed", NULL, ERR_INVALID, false, false, ""},
        {"228", "MANAGED", NULL, ERR_INVALID, false, false, ""},
        {"228", "Disabled", NULL, ERR_INVALID, false, false, ""},
        {"228", "BYO", NULL, ERR_INVALID, false, false, ""},
        {"228", " ", NULL, ERR_INVALID, false, false, ""},
        {"228", " Managed ", NULL, ERR_INVALID, false, false, ""},
        {"228", "prefix-Managed", NULL, ERR_INVALID, false, false, ""},
        {"229", "Managed", "{\"security-groups\":\" ,\"}", ERR_OK, true, true, ""},
        {"233", "", "{\"security-groups\":\"sg-1\"}", ERR_OK, false, false, ""},
        {"234", "Managed", "{\"security-groups\":\"sg-1, sg-2\"}", ERR_OK, true, false,
         "sg-1 sg-2"},
    };
    struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_nlb_want w;
        struct err err = ERR_INIT;
        n.nlb_group_mode = rows[i].mode;
        assert_int_equal(nlb(a, &n, rows[i].annotations, &w, &err), rows[i].rc);
        if (rows[i].rc != ERR_OK) {
            assert_non_null(strstr(err.message, "NLBSecurityGroupMode"));
            continue;
        }
        assert_int_equal(w.managed_groups, rows[i].managed);
        assert_int_equal(w.own != NULL, rows[i].own);
        same_text(rows[i].row, aws_test_joined(a, w.groups), rows[i].groups);
        if (w.own != NULL) {
            same_text("26", w.own->name, "k8s-default-web-133a436e34");
            same_text("5.9", w.own->description, "[k8s] Managed SecurityGroup for LoadBalancer");
        }
    }
}

static void errors_of_the_service__come_first(void **state)
{
    struct arena *a = *state;
    const struct aws_naming n = aws_test_naming();
    const struct aws_service *s =
        aws_test_service(a, &n, "{\"type\":\"external\",\"healthcheck-port\":\"x\"}", NULL);
    struct aws_nlb_want w;
    struct aws_classic_want c;
    struct err err = ERR_INIT;
    const struct aws_texts none = {0};
    assert_int_equal(aws_nlb_desired(a, &n, s, none, none, &w, &err), ERR_IMPLEMENTED_ELSEWHERE);
    err_clear(&err);
    assert_int_equal(aws_classic_desired(a, &n, s, none, none, &c, &err),
                     ERR_IMPLEMENTED_ELSEWHERE);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static struct aws_tags pairs(struct arena *a, const char *text)
{
    return aws_pairs_read(a, text);
}

static void nlb_attributes__differences__5_8(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *annotations, *actual, *want;
    } rows[] = {
        {NULL, "access_logs.s3.enabled=false,load_balancing.cross_zone.enabled=false,x=1", ""},
        {NULL, "", "access_logs.s3.enabled=false|load_balancing.cross_zone.enabled=false"},
        {"{\"access-log-s3-bucket-name\":\"b\"}",
         "access_logs.s3.enabled=true,access_logs.s3.bucket=c,"
         "load_balancing.cross_zone.enabled=false",
         "access_logs.s3.enabled=false"},
        {"{\"access-log-enabled\":\"t\",\"access-log-s3-bucket-name\":\"b\"}",
         "access_logs.s3.enabled=true,access_logs.s3.bucket=c,access_logs.s3.prefix=p,"
         "load_balancing.cross_zone.enabled=true",
         "access_logs.s3.bucket=b|access_logs.s3.prefix=|load_balancing.cross_zone.enabled=false"},
        {"{\"access-log-enabled\":\"true\"}", "load_balancing.cross_zone.enabled=false",
         "access_logs.s3.enabled=true"},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_nlb_want w;
        struct err err = ERR_INIT;
        assert_int_equal(nlb(a, &n, rows[i].annotations, &w, &err), ERR_OK);
        struct aws_tags actual = pairs(a, rows[i].actual);
        struct aws_tags d = aws_nlb_attributes_diff(a, &w.attributes, &actual);
        same_text(rows[i].actual, aws_test_tags(a, &d), rows[i].want);
    }
}

static void group_attributes__differences__256_to_259(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *wanted, *actual;
        bool send_unknown;
        const char *want;
    } rows[] = {
        {"256", "k=true", "k=false", false, "k=true"},
        {"257", "k=true", "k=true", false, ""},
        {"258", "k=true", "j=false", false, ""},
        {"258", "k=true", "j=false", true, "k=true"},
        {"259", "", "k=false", true, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags wanted = pairs(a, rows[i].wanted);
        struct aws_tags actual = pairs(a, rows[i].actual);
        struct aws_tags d = aws_group_attributes_diff(a, &wanted, &actual, rows[i].send_unknown);
        same_text(rows[i].row, aws_test_tags(a, &d), rows[i].want);
    }
}

UNIT_MAIN(desired)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(classic__plain),
        PURE_TEST(classic__everything_annotated),
        PURE_TEST(classic__groups__4_10),
        PURE_TEST(classic__refused),
        PURE_TEST(both__need_a_subnet),
        PURE_TEST(nlb__plain),
        PURE_TEST(nlb__health_annotations__count_with_a_node_port_only__5_1),
        PURE_TEST(nlb__tls__5_1),
        PURE_TEST(nlb__addresses__243_244),
        PURE_TEST(nlb__refused),
        PURE_TEST(nlb__groups__226_to_235),
        PURE_TEST(errors_of_the_service__come_first),
        PURE_TEST(nlb_attributes__differences__5_8),
        PURE_TEST(group_attributes__differences__256_to_259),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
