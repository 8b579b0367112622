/* SPDX-License-Identifier: Apache-2.0 */
/* test_slips.c: misspelled annotations and values become findings, and right ones do not
 * (docs/adr/0031). */
#include "providers/aws/model/aws_desired.h"
#include "tests/support/slips.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

static const char *const right_keys[] = {
    "external-dns.alpha.kubernetes.io/hostname",
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/release-name",
    "prometheus.io/scrape",
    "service.alpha.kubernetes.io/tolerate-unready-endpoints",
    "service.kubernetes.io/topology-mode",
    "example.com/aws-load-balancer-controller",
    NULL,
};

static void keys__each_slip_is_told_and_no_right_key(void **state)
{
    slips_check_keys(aws_annotation_keys(*state), right_keys);
}

#define NLB      "\"type\":\"nlb\","
#define CERT     "\"ssl-cert\":\"arn:aws:acm:us-east-1:123456789012:certificate/one\","
#define LOGS     "\"access-log-enabled\":\"true\",\"access-log-s3-bucket-name\":\"logs\","
#define DRAINING "\"connection-draining-enabled\":\"true\","

static const struct {
    const char *beside; /* annotations */
    const char *name;
    const char *values[6];
} rows[] = {
    {"", "type", {"nlb"}},
    {"", "internal", {"true", "false"}},
    {"", "proxy-protocol", {"*"}},
    {"", "access-log-enabled", {"true", "false"}},
    {LOGS, "access-log-emit-interval", {"60"}},
    {"", "connection-draining-enabled", {"true", "false"}},
    {DRAINING, "connection-draining-timeout", {"300"}},
    {"", "connection-idle-timeout", {"120"}},
    {"", "cross-zone-load-balancing-enabled", {"true", "false"}},
    {NLB, "cross-zone-load-balancing-enabled", {"true", "false"}},
    {CERT, "backend-protocol", {"tcp", "ssl", "http", "https"}},
    {NLB CERT, "backend-protocol", {"ssl"}},
    {NLB, "healthcheck-protocol", {"HTTP", "HTTPS", "HTTPs", "TCP"}}, /* whatever the case */
    {"", "healthcheck-port", {"traffic-port", "8080"}},
    {NLB, "healthcheck-port", {"traffic-port", "8080"}},
    {NLB, "healthcheck-interval", {"30"}},
    {NLB,
     "target-group-attributes",
     {"preserve_client_ip.enabled=true", "proxy_protocol_v2.enabled=false"}},
};

/* "", or the finding. */
static const char *told(struct arena *a, const char *beside, const char *name, const char *value)
{
    const struct aws_naming n = aws_test_naming();
    const struct aws_service *s =
        aws_test_service(a, &n, arena_printf(a, "{%s\"%s\":\"%s\"}", beside, name, value), NULL);
    struct err *err = ARENA_NEW(a, struct err);
    if (s->err.code != ERR_OK || s->n_findings > 0) {
        return s->err.code != ERR_OK ? s->err.message : s->findings[0].message;
    }
    const struct aws_texts subnets = aws_test_texts(a, "subnet-1");
    const struct aws_texts instances = aws_test_texts(a, "i-1");
    struct aws_classic_want classic;
    struct aws_nlb_want nlb;
    int rc = s->kind == AWS_NLB ? aws_nlb_desired(a, &n, s, subnets, instances, &nlb, err)
                                : aws_classic_desired(a, &n, s, subnets, instances, &classic, err);
    return rc == ERR_OK ? "" : err->message;
}

/* True of another right value, of a number where one is wanted, and of Go's other booleans. */
static bool is_right(size_t row, const char *value)
{
    static const char *const go_booleans[] = {"True", "TRUE", "False", "FALSE"};
    int64_t number;
    for (size_t i = 0; i < ARRAY_LEN(rows[row].values) && rows[row].values[i] != NULL; i++) {
        if (str_eq(value, rows[row].values[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(go_booleans); i++) {
        if (str_eq(rows[row].values[0], "true") && str_eq(value, go_booleans[i])) {
            return true;
        }
    }
    bool takes_numbers = str_has_suffix(rows[row].name, "-port") ||
                         strpbrk(rows[row].values[0], "0123456789") != NULL;
    return str_to_i64(value, &number) && takes_numbers;
}

static void values__each_slip_is_told_and_no_right_value(void **state)
{
    (void)state;
    size_t bad = 0;
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        for (size_t v = 0; v < ARRAY_LEN(rows[r].values) && rows[r].values[v] != NULL; v++) {
            _cleanup_(arena_freep) struct arena *a = arena_new();
            const char *value = rows[r].values[v];
            const char *right = told(a, rows[r].beside, rows[r].name, value);
            size_t n = 0;
            const char **slips = slips_of(a, value, &n);
            if (*right != '\0') {
                print_error("%s: \"%s\" is right, and is told: %s\n", rows[r].name, value, right);
                bad++;
            }
            for (size_t i = 0; i < n; i++) {
                if (!is_right(r, slips[i]) &&
                    *told(a, rows[r].beside, rows[r].name, slips[i]) == '\0') {
                    print_error("%s%s: \"%s\" is not told\n", rows[r].beside, rows[r].name,
                                slips[i]);
                    bad++;
                }
            }
        }
    }
    assert_int_equal(bad, 0);
}

UNIT_MAIN(slips)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(keys__each_slip_is_told_and_no_right_key),
        PURE_TEST(values__each_slip_is_told_and_no_right_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
