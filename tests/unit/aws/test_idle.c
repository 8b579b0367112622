/* SPDX-License-Identifier: Apache-2.0 */
/* test_idle.c: annotations without effect beside what the Service says otherwise
 * (aws_idle_rules.c): one finding each, and none for those that have their effect. */
#include "providers/aws/model/aws_annotations.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#include <string.h>

#define NLB   "\"type\":\"nlb\","
#define CERT  "\"ssl-cert\":\"arn:aws:acm:us-east-1:123456789012:certificate/one\","
#define LOGS  "\"access-log-enabled\":\"true\",\"access-log-s3-bucket-name\":\"logs\""
#define LOCAL "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101"
#define PORTS "\"ports\":[{\"name\":\"Web\",\"port\":443,\"nodePort\":30443,\"protocol\":\"TCP\"}]"

static struct aws_service read_one(struct arena *a, const struct aws_naming *n, const char *notes,
                                   const char *spec)
{
    return *aws_test_service(a, n, arena_printf(a, "{%s}", notes), spec);
}

#define FAMILIES(policy, list) "\"ipFamilyPolicy\":\"" policy "\",\"ipFamilies\":[\"" list "\"]"

static void annotations__without_effect__one_finding_each(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *notes, *spec, *part; /* of the finding; NULL: none */
        bool shared;                     /* probe mode */
    } cases[] = {
        {"\"handed-over\":\"true\"", NULL, "handed-over has no effect while"},
        {"\"handed-over\":\"yes\"", NULL, "handed-over has no effect while"},
        {"\"access-log-s3-bucket-name\":\"logs\"", NULL, "access-log-enabled is \"true\""},
        {"\"access-log-enabled\":\"false\",\"access-log-s3-bucket-prefix\":\"web\"", NULL,
         "bucket-prefix has no effect"},
        {LOGS, NULL, NULL},
        {"\"access-log-emit-interval\":\"5\"", NULL, "emit-interval has no effect unless"},
        {"\"connection-draining-timeout\":\"60\"", NULL, "connection-draining-enabled is"},
        {"\"connection-draining-enabled\":\"true\",\"connection-draining-timeout\":\"60\"", NULL,
         NULL},
        {"\"ssl-ports\":\"443\"", PORTS, "ssl-ports has no effect without"},
        {NLB "\"ssl-ports\":\"443\"", PORTS, "ssl-ports has no effect without"},
        {CERT "\"ssl-ports\":\"443,web,*\"", PORTS, NULL},
        {CERT "\"ssl-ports\":\"443,999\"", PORTS, "\"999\" is left out, which is no port"},
        {NLB "\"ssl-negotiation-policy\":\"P\"", PORTS, "ssl-negotiation-policy has no effect"},
        {NLB "\"backend-protocol\":\"ssl\"", PORTS, "backend-protocol has no effect on an NLB"},
        {NLB CERT "\"backend-protocol\":\"ssl\"", PORTS, NULL},
        {NLB CERT "\"backend-protocol\":\"http\"", PORTS, "backend-protocol has no effect"},
        {NLB "\"backend-protocol\":\"tcp\"", PORTS, NULL},
        {"\"backend-protocol\":\"ssl\"", PORTS, NULL},
        {"\"backend-protocol\":\"ftp\"", PORTS, "\"ftp\" is not understood"},
        {"\"healthcheck-path\":\"/x\"", PORTS, "healthcheck-path has no effect unless"},
        {"\"healthcheck-path\":\"/x\",\"healthcheck-protocol\":\"http\"", PORTS, NULL},
        {NLB "\"healthcheck-path\":\"/x\",\"healthcheck-protocol\":\"TCP\"", PORTS,
         "healthcheck-path has no effect unless"},
        {NLB "\"healthcheck-path\":\"/x\"", LOCAL "," PORTS, NULL},
        {NLB "\"healthcheck-path\":\"/x\"", PORTS, "HealthProbeMode of the cloud-config is Shared",
         true},
        {NLB "\"healthcheck-port\":\"8080\"", PORTS, "is Shared", true},
        {"\"healthcheck-path\":\"/x\"", PORTS, NULL, true},
        {"\"additional-resource-tags\":\"team=shop,=x\"", NULL, "\"=x\" is left out, without a"},
        {"\"additional-resource-tags\":\"team=shop, cost\"", NULL, NULL},
        {"", FAMILIES("RequireDualStack", "IPv4\",\"IPv6"), "spec.ipFamilies: IPv6 has no effect"},
        {"\"type\":\"nlb\"", FAMILIES("SingleStack", "IPv6"), "spec.ipFamilies: IPv6 has no"},
        {"", FAMILIES("PreferDualStack", "IPv4\",\"IPv6"), NULL},
        {"\"target-node-labels\":\"=x\"", NULL, "\"=x\" is left out, without a key"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct aws_naming n = aws_test_naming();
        n.probe_mode = cases[i].shared ? AWS_PROBE_SHARED : n.probe_mode;
        const struct aws_service s = read_one(a, &n, cases[i].notes, cases[i].spec);
        const char *got = s.n_findings > 0 ? s.findings[0].message : "";
        if (s.n_findings != (cases[i].part != NULL) ||
            strstr(got, str_nonnull(cases[i].part)) == NULL) {
            fail_msg("%s: %zu findings, %s", cases[i].notes, s.n_findings, got);
        }
        if (s.n_findings > 0 && !str_has_prefix(s.findings[0].field, AWS_ANNOTATION) &&
            !str_has_prefix(s.findings[0].field, "spec.")) {
            fail_msg("%s: the event of an edit needs the key", cases[i].notes);
        }
    }
}

static void edits__of_what_aws_keeps__one_finding_each(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *before, *now, *part;
    } cases[] = {
        {"\"additional-resource-tags\":\"a=1,b=2\"", "\"additional-resource-tags\":\"a=3\"",
         "tags that it no longer names stay"},
        {"\"additional-resource-tags\":\"a=1\"", "\"additional-resource-tags\":\"a=2,c=3\"", NULL},
        {NLB "\"target-group-attributes\":\"preserve_client_ip.enabled=true\"", "\"type\":\"nlb\"",
         NULL}, /* they are as AWS has them again */
        {CERT "\"ssl-negotiation-policy\":\"P\"", CERT "\"ssl-ports\":\"*\"",
         "the listeners keep the policy"},
        {CERT "\"ssl-negotiation-policy\":\"P\"", CERT "\"ssl-negotiation-policy\":\"Q\"", NULL},
        {NLB CERT "\"ssl-negotiation-policy\":\"P\"", NLB CERT "\"ssl-ports\":\"*\"", NULL},
        {"", "", NULL},
    };
    const struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct aws_finding got[4];
        const struct aws_service before = read_one(a, &n, cases[i].before, PORTS);
        const struct aws_service now = read_one(a, &n, cases[i].now, PORTS);
        size_t n_got = aws_kept_findings(a, &now, &before, got, ARRAY_LEN(got));
        if (n_got != (cases[i].part != NULL) ||
            (n_got > 0 && strstr(got[0].message, cases[i].part) == NULL)) {
            fail_msg("%s: %zu findings, %s", cases[i].now, n_got, n_got > 0 ? got[0].message : "");
        }
    }
}

UNIT_MAIN(idle)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(annotations__without_effect__one_finding_each),
        PURE_TEST(edits__of_what_aws_keeps__one_finding_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
