/* SPDX-License-Identifier: Apache-2.0 */
/* test_idle.c: wishes without effect beside what the Service or the cloud-config says otherwise
 * (azure_idle_rules.c): one finding each, and none for those that have their effect. */
#include "providers/azure/model/azure_idle_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/azure_test.h"

#include <string.h>

#define IN    "\"azure-load-balancer-internal\":\"true\","
#define V4    "\"ipFamilies\":[\"IPv4\"]"
#define V6    "\"ipFamilies\":[\"IPv6\"]"
#define TCP   "{\"name\":\"http\",\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}"
#define PORTS "\"ports\":[" TCP "]," V4
#define BOTH                                                                                       \
    "\"ports\":[" TCP ",{\"name\":\"dns\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}],"  \
    "\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define LOCAL  "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101," PORTS
#define ALL    "azure-load-balancer-health-probe-"
#define ONE    "port_80_health-probe_"
#define PREFIX "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/publicIPPrefixes/p"

enum world { USUAL = 0, BASIC, SHARED, SEVERAL };

static struct azure_config config_of(enum world w)
{
    static const struct azure_lb_config lbs[2];
    struct azure_config c = azure_test_config();
    c.standard_sku = w != BASIC;
    c.shared_probe = w == SHARED;
    c.lbs = lbs;
    c.n_lbs = w == SEVERAL ? 2 : 0;
    return c;
}

struct row {
    const char *notes, *spec;
    const char *part; /* of the finding; NULL: none */
    enum world world;
};

static void check(struct arena *a, const struct row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        const struct azure_config config = config_of(rows[i].world);
        const struct azure_naming naming = {.config = &config, .cluster = "kubernetes"};
        const struct azure_service *s = azure_service_read(
            a, &naming,
            azure_test_service(a, "web", arena_printf(a, "{%s}", rows[i].notes), rows[i].spec));
        struct azure_finding got[8];
        size_t n = azure_idle_findings(a, &naming, s, got, ARRAY_LEN(got));
        const char *text = n > 0 ? got[0].message : "";
        if (n != (rows[i].part != NULL) || strstr(text, str_nonnull(rows[i].part)) == NULL) {
            fail_msg("%s: %zu findings, %s; want %s", rows[i].notes, n, text,
                     str_or(rows[i].part, "none"));
        }
        if (n > 0 && (got[0].fatal || got[0].field == NULL)) {
            fail_msg("%s: the event of an edit needs the key", rows[i].notes);
        }
    }
}

static void addresses__without_effect__one_finding_each(void **state)
{
    static const struct row rows[] = {
        {"\"azure-load-balancer-internal-subnet\":\"s\"", PORTS, "internal-subnet has no effect"},
        {IN "\"azure-load-balancer-internal-subnet\":\"s\"", PORTS, NULL},
        {"\"azure-load-balancer-mode\":\"__auto__\"", PORTS, "loadBalancerSku standard"},
        {"\"azure-load-balancer-mode\":\"__auto__\"", PORTS, NULL, BASIC},
        {"\"azure-dns-label-name\":\"shop\"", PORTS, NULL},
        {IN "\"azure-dns-label-name\":\"shop\"", PORTS, "on an internal load balancer"},
        {IN "\"azure-dns-label-name\":\"\"", PORTS, NULL},
        {IN "\"azure-load-balancer-resource-group\":\"g\"", PORTS, "on an internal"},
        {"\"azure-load-balancer-resource-group\":\"g\"", PORTS, NULL},
        {IN "\"azure-pip-name\":\"p\"", PORTS, "azure-pip-name has no effect on an internal"},
        {"\"azure-pip-name\":\"p\"", PORTS, NULL},
        {"\"azure-pip-name\":\"p\"", V6, NULL},
        {"\"azure-pip-name\":\"p\",\"azure-pip-name-ipv6\":\"q\"", V6, "beside service.beta"},
        {"\"azure-pip-name-ipv6\":\"p\"", PORTS, "on a Service without IPv6"},
        {"\"azure-pip-name-ipv6\":\"p\"", BOTH, NULL},
        {"\"azure-pip-prefix-id\":\"" PREFIX "\"", PORTS, NULL},
        {"\"azure-pip-prefix-id\":\"" PREFIX "\"", PORTS, "loadBalancerSku basic", BASIC},
        {"\"azure-pip-prefix-id\":\"" PREFIX "\",\"azure-pip-name\":\"p\"", PORTS,
         "beside a public IP that the Service names"},
        {"\"azure-pip-prefix-id-ipv6\":\"" PREFIX "\"", PORTS, "on a Service without IPv6"},
        {"\"azure-pip-tags\":\"a=b\"", PORTS, NULL},
        {IN "\"azure-pip-tags\":\"a=b\"", PORTS, "pip-tags has no effect on an internal"},
        {"\"azure-pip-tags\":\"a=b,K8s-Azure-Service=default/near\"", PORTS,
         "tag k8s-azure-service has no effect"},
        {"\"azure-pip-tags\":\"k8s-azure-cluster-name=other\"", PORTS,
         "tag k8s-azure-cluster-name has no effect"},
        {IN "\"azure-pip-ip-tags\":\"a=b\"", PORTS, "ip-tags has no effect on an internal"},
        {"\"azure-load-balancer-ipv6\":\"2001:db8::1\"", PORTS, "on a Service without IPv6"},
        {"\"azure-load-balancer-ipv4\":\"20.0.0.1\"", V6, "on a Service without IPv4"},
        {"\"azure-load-balancer-ipv4\":\"20.0.0.1\"", BOTH, NULL},
        {"\"azure-load-balancer-configurations\":\"lb\"", PORTS, "multipleStandardLoadBalancer"},
        {"\"azure-load-balancer-configurations\":\"lb\"", PORTS, NULL, SEVERAL},
        {"\"azure-load-balancer-enable-high-availability-ports\":\"true\"", PORTS, "is internal"},
        {"\"azure-load-balancer-enable-high-availability-ports\":\"false\"", PORTS, NULL},
        {IN "\"azure-load-balancer-enable-high-availability-ports\":\"true\"", PORTS, NULL},
        {"\"azure-load-balancer-disable-tcp-reset\":\"true\"", PORTS, "Sku basic", BASIC},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void sources__without_effect__one_finding_each(void **state)
{
#define NO_RULE "\"azure-disable-load-balancer-nsg-rule\":\"true\","
    static const struct row rows[] = {
        {"\"azure-deny-all-except-load-balancer-source-ranges\":\"true\"", PORTS,
         "without source ranges"},
        {"\"azure-deny-all-except-load-balancer-source-ranges\":\"true\"",
         "\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]," PORTS, NULL},
        {NO_RULE "\"azure-allowed-service-tags\":\"AzureCloud\"", PORTS, "nsg-rule is \"true\""},
        {NO_RULE "\"azure-allowed-ip-ranges\":\"10.0.0.0/8\"", PORTS, "nsg-rule is \"true\""},
        {NO_RULE "\"azure-additional-public-ips\":\"20.0.0.9\"", PORTS, "on the security group, "},
        {"\"azure-additional-public-ips\":\"20.0.0.9\"", PORTS, NULL},
        {IN "\"azure-additional-public-ips\":\"20.0.0.9\"", PORTS, "on the security group: an"},
        {IN
         "\"azure-additional-public-ips\":\"20.0.0.9\",\"azure-allowed-ip-ranges\":\"10.0.0.0/8\"",
         PORTS, NULL},
        {IN "\"azure-disable-load-balancer-nsg-rule\":\"true\"", PORTS, "has no rule there"},
        {"\"azure-disable-load-balancer-nsg-rule\":\"true\"", PORTS, NULL},
        {IN "\"azure-disable-load-balancer-nsg-rule\":\"false\"", PORTS, NULL},
        {"", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\"]," PORTS,
         "spec.loadBalancerSourceRanges admits no client: the Service has no IPv6"},
        {"", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\",\"10.0.0.0/8\"]," PORTS,
         "spec.loadBalancerSourceRanges: 2001:db8::/32 has no effect: the Service has no IPv6"},
        {"", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\",\"10.0.0.0/8\"]," BOTH, NULL},
        {"\"azure-allowed-ip-ranges\":\"10.0.0.0/8, 2001:db8::/32\"", PORTS,
         "azure-allowed-ip-ranges: 2001:db8::/32 has no effect"},
        {"", "\"loadBalancerSourceRanges\":[\"2001:db8::/32\"]," BOTH, NULL},
        {"\"azure-allowed-ip-ranges\":\" 10.0.0.0/8 \"", V6,
         "admits no client: the Service has no"},
        {"\"azure-allowed-ip-ranges\":\"nothing\"", V6, NULL},
        {"\"azure-shared-securityrule\":\"false\"", PORTS, "any more: security rules are always"},
        {"\"azure-shared-securityrule\":\"true\"", PORTS, NULL},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void links__without_effect__one_finding_each(void **state)
{
    static const char *const names[] = {"resource-group",
                                        "name",
                                        "ip-configuration-subnet",
                                        "ip-configuration-ip-address-count",
                                        "ip-configuration-ip-address",
                                        "fqdns",
                                        "proxy-protocol",
                                        "visibility",
                                        "auto-approval"};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        bool on = strcmp(names[i], "proxy-protocol") == 0;
        const char *value = on ? "true" : "1";
        const char *alone = arena_printf(a, "\"azure-pls-%s\":\"%s\"", names[i], value);
        const char *with = arena_printf(a, IN "\"azure-pls-create\":\"true\",%s", alone);
        const struct row rows[] = {{alone, PORTS, "azure-pls-create is \"true\""},
                                   {with, PORTS, NULL}};
        check(a, rows, ARRAY_LEN(rows));
    }
}

static void probes__without_effect__one_finding_each(void **state)
{
    static const struct row rows[] = {
        {"\"" ALL "request-path\":\"/x\"", PORTS, "unless the probe is by HTTP"},
        {"\"" ALL "request-path\":\"/x\",\"" ALL "protocol\":\"http\"", PORTS, NULL},
        {"\"" ALL "request-path\":\"/x\",\"" ONE "protocol\":\"https\"", PORTS, NULL},
        {"\"" ALL "request-path\":\"/x\",\"" ONE "protocol\":\"https\"", PORTS, "by HTTP", BASIC},
        {"\"" ALL "request-path\":\"/x\",\"" ONE "protocol\":\"http\",\"" ONE
         "request-path\":\"/y\"",
         PORTS, "where each port says it by itself"},
        {"\"" ONE "request-path\":\"/x\"", PORTS,
         "port_80_health-probe_request-path has no effect"},
        {"\"" ALL "interval\":\"7\"", PORTS, NULL},
        {"\"" ALL "interval\":\"7\"", PORTS, "is shared", SHARED},
        {"\"" ONE "interval\":\"7\"", PORTS, "is shared", SHARED},
        {"\"" ALL "interval\":\"7\"", LOCAL, NULL, SHARED},
        {"\"" ALL "protocol\":\"http\"", LOCAL, "externalTrafficPolicy is Local"},
        {"\"" ONE "protocol\":\"http\"", LOCAL, "externalTrafficPolicy is Local"},
        {"\"" ONE "protocol\":\"http\",\"" ONE "port\":\"80\"", LOCAL, NULL},
        {"\"" ONE "port\":\"80\"", LOCAL, NULL},
        {"\"port_53_health-probe_interval\":\"7\"", BOTH, "not of TCP"},
        {"\"port_53_no_probe_rule\":\"true\"", BOTH, "not of TCP"},
        {"\"port_80_no_probe_rule\":\"true\"", BOTH, NULL},
        {"\"port_80_no_probe_rule\":\"true\"", PORTS, NULL, SHARED},
        {"\"port_80_no_probe_rule\":\"true\",\"" ONE "interval\":\"7\"", PORTS, "no_probe_rule is"},
        {"\"port_80_no_lb_rule\":\"true\",\"" ONE "interval\":\"7\"", PORTS, "no_lb_rule is"},
        {"\"port_80_no_lb_rule\":\"true\",\"port_80_no_probe_rule\":\"true\"", PORTS, "no_lb_rule"},
        {IN "\"azure-load-balancer-enable-high-availability-ports\":\"true\","
            "\"port_80_no_lb_rule\":\"true\"",
         PORTS, "while one rule serves all ports"},
        {IN "\"azure-load-balancer-enable-high-availability-ports\":\"true\",\"" ONE
            "interval\":\"7\"",
         PORTS, NULL},
        {"\"" ALL "protocol\":\"http\"",
         "\"ports\":[{\"port\":80,\"nodePort\":1,\"protocol\":\"TCP\",\"appProtocol\":\"https\"}]",
         "where each port says it by itself"},
        {"\"" ALL "num-of-probe\":\"\"", LOCAL, NULL, SHARED},
    };
    check(*state, rows, ARRAY_LEN(rows));
}

static void edits__of_what_azure_keeps__one_finding_each(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *before, *now, *part;
    } cases[] = {
        {"\"azure-dns-label-name\":\"shop\"", "", "keeps its DNS label"},
        {"\"azure-dns-label-name\":\"shop\"", "\"azure-dns-label-name\":\"\"", NULL},
        {"\"azure-dns-label-name\":\"shop\"", IN "\"azure-pls-create\":\"\"", NULL},
        {"\"azure-dns-label-name\":\"shop\"", "\"azure-pip-name\":\"mine\"", NULL},
        {"\"azure-dns-label-name\":\"shop\"", "\"azure-load-balancer-resource-group\":\"far\"",
         NULL},
        {"\"azure-dns-label-name\":\"shop\"", "\"azure-pip-prefix-id\":\"" PREFIX "\"", NULL},
        {"\"azure-pip-tags\":\"a=1,b=2\"", "\"azure-pip-tags\":\"A=3\"", "keeps tags"},
        {"\"azure-pip-tags\":\"a=1\"", "\"azure-pip-tags\":\"a=2,b=2\"", NULL},
        {"\"azure-pip-ip-tags\":\"a=1\"", "", "keeps the IP tags"},
        {"", "", NULL},
    };
    struct azure_config config = azure_test_config();
    const struct azure_naming n = {.config = &config, .cluster = "kubernetes"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct azure_finding got[4];
        const struct azure_service *both[2];
        for (int k = 0; k < 2; k++) {
            const char *notes = k == 0 ? cases[i].before : cases[i].now;
            both[k] = azure_service_read(
                a, &n, azure_test_service(a, "web", arena_printf(a, "{%s}", notes), PORTS));
        }
        size_t n_got = azure_kept_findings(a, &n, both[1], both[0], got, ARRAY_LEN(got));
        if (n_got != (cases[i].part != NULL) ||
            (n_got > 0 && strstr(got[0].message, cases[i].part) == NULL)) {
            fail_msg("%s: %zu findings, %s", cases[i].before, n_got,
                     n_got > 0 ? got[0].message : "");
        }
    }
}

UNIT_MAIN(idle)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(addresses__without_effect__one_finding_each),
        PURE_TEST(sources__without_effect__one_finding_each),
        PURE_TEST(links__without_effect__one_finding_each),
        PURE_TEST(probes__without_effect__one_finding_each),
        PURE_TEST(edits__of_what_azure_keeps__one_finding_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
