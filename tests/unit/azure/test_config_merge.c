/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_merge.c: a configuration from a file and a Secret: which counts, and what of both is
 * left (docs/spec/azure.md 1.1); limits of single clients over the common ones (3.7). */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/arm/azure_arm.h"
#include "tests/support/unit.h"

struct seen {
    struct azure_config c;
    const struct azure_unknown_key *unknown;
    size_t n_unknown;
    struct err err;
    int rc;
};

static struct seen parse(struct arena *a, const char *file, const char *secret,
                         const struct azure_env *env)
{
    static const struct azure_env no_env;
    const struct azure_config_texts texts = {
        .file = {"azure.json", file, file != NULL ? strlen(file) : 0},
        .secret = {"secret a/b, key c", secret, secret != NULL ? strlen(secret) : 0},
    };
    struct seen s = {.err = ERR_INIT};
    s.rc = azure_config_parse_texts(a, &texts, env != NULL ? env : &no_env, &s.c, &s.unknown,
                                    &s.n_unknown, &s.err);
    return s;
}

static void type__says_which_text_counts(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *file;
        const char *secret;
        const char *location;
        const char *vnet;
    } rows[] = {
        {"location: f\nvnetName: v\n", "location: s\n", "s", "v"},
        {"location: f\nvnetName: v\ncloudConfigType: merge\n", "location: s\n", "s", "v"},
        {"location: f\nvnetName: v\ncloudConfigType: MERGE\n", "location: ''\n", "", "v"},
        {"location: f\nvnetName: v\ncloudConfigType: merge\n", "location: null\n", "f", "v"},
        {"location: f\nvnetName: v\ncloudConfigType: file\nuseInstanceMetadata: true\n",
         "location: s\n", "f", "v"},
        {"location: f\nvnetName: v\ncloudConfigType: secret\n", "location: s\n", "s", ""},
        {"location: f\nvnetName: v\ncloudConfigType: secret\n", NULL, "f", "v"},
        {NULL, "location: s\n", "s", ""},
        {"location: f\n", "", "f", ""},
        {"location: f\n", "LOCATION: s\n", "s", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct seen s = parse(a, rows[i].file, rows[i].secret, NULL);
        const char *row = arena_printf(a, "row %zu", i);
        assert_int_equal(s.rc, ERR_OK);
        same_text(row, s.c.location, rows[i].location);
        same_text(row, s.c.vnet_name, rows[i].vnet);
    }
}

static void merge__each_kind_of_value(void **state)
{
    struct arena *a = *state;
    const struct seen s = parse(
        a,
        "resourceGroup: File-RG\nmaximumLoadBalancerRuleCount: 7\nexcludeMasterFromStandardLB: "
        "false\ndisableOutboundSNAT: true\ntagsMap: {a: '1', b: '2'}\nloadBalancerBackendPoolConfig"
        "urationType: nodeIP\nmultipleStandardLoadBalancerConfigurations:\n- name: x\n  "
        "primaryVMSet: x\n- name: y\n  primaryVMSet: v\n",
        "{\"tagsMap\": {\"b\": \"3\", \"c\": 4}, \"cloudProviderBackoff\": true,"
        "\"disableOutboundSNAT\": false, \"multipleStandardLoadBalancerConfigurations\":"
        "[{\"name\": \"z\", \"primaryVMSet\": \"z\"}]}",
        NULL);
    same_text("error", s.err.message, "");
    assert_int_equal(s.rc, ERR_OK);
    same_text("the file's group is lower case", s.c.resource_group, "file-rg");
    assert_int_equal(s.c.max_rules, 7);
    assert_false(s.c.exclude_masters);
    assert_false(s.c.disable_outbound_snat);
    assert_true(s.c.backoff);
    assert_int_equal(s.c.n_tags_map, 3);
    same_text("a", s.c.tags_map[0].value, "1");
    same_text("b", s.c.tags_map[1].value, "3");
    same_text("c", s.c.tags_map[2].value, "4");
    assert_int_equal(s.c.n_lbs, 1); /* lists as a whole */
    same_text("name", s.c.lbs[0].name, "z");
}

static void merge__null__takes_back(void **state)
{
    struct arena *a = *state;
    const struct seen s =
        parse(a,
              "excludeMasterFromStandardLB: false\ntagsMap: {a: '1'}\nloadBalancerRateLimit: "
              "{cloudProviderRateLimit: true}\nloadBalancerBackendPoolConfigurationType: nodeIP\n"
              "multipleStandardLoadBalancerConfigurations: [{name: x, primaryVMSet: x}]\n",
              "excludeMasterFromStandardLB: ~\ntagsMap: ~\nloadBalancerRateLimit: ~\n"
              "multipleStandardLoadBalancerConfigurations: ~\n",
              NULL);
    assert_int_equal(s.rc, ERR_OK);
    assert_true(s.c.exclude_masters); /* the default again */
    assert_int_equal(s.c.n_tags_map, 0);
    assert_int_equal(s.c.n_lbs, 0);
    assert_false(s.c.limits[AZURE_LIMIT_LB].on);
}

static void group__of_a_secret__keeps_its_case(void **state)
{
    struct arena *a = *state;
    const struct seen s = parse(a, "resourceGroup: File-RG\n", "resourceGroup: Secret-RG\n", NULL);
    same_text("group", s.c.resource_group, "Secret-RG");
    same_text("of balancers", s.c.lb_resource_group, "Secret-RG");
}

static void environment__wins_over_both(void **state)
{
    struct arena *a = *state;
    const struct azure_env env = {.tenant_id = "env", .federated_token_file = "/token"};
    const struct seen s =
        parse(a, "tenantId: file\n",
              "tenantId: secret\nuseFederatedWorkloadIdentityExtension: false\n", &env);
    same_text("tenant", s.c.tenant_id, "env");
    assert_true(s.c.workload_identity);
}

static void faults__name_their_text_and_line(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *file;
        const char *secret;
        const char *want;
    } rows[] = {
        {"location: x\nvmType: []\n", "location: y\n",
         "azure.json:2: vmType: want text, got a list"},
        {"location: x\n", "\n\nvmType: []\n", "secret a/b, key c:3: vmType: want text, got a list"},
        {"cloudConfigType: secret\nvmType: []\n", "location: y\n",
         "azure.json:2: vmType: want text, got a list"},
        {"location: x\n", "- a\n", "secret a/b, key c:1: want a mapping of keys to values"},
        {"disableOutboundSNAT: true\n", "location: y\nloadBalancerSku: basic\n",
         "azure.json:1: disableOutboundSNAT: should only be set when loadBalancerSku is standard, "
         "which is \"basic\""},
        {"clusterServiceLoadBalancerHealthProbeMode: shared\n",
         "\nclusterServiceLoadBalancerHealthProbeMode: none\n",
         "secret a/b, key c:2: clusterServiceLoadBalancerHealthProbeMode: \"none\" is none of "
         "servicenodeport, shared"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct seen s = parse(a, rows[i].file, rows[i].secret, NULL);
        assert_int_equal(s.rc, ERR_INVALID);
        same_text(arena_printf(a, "row %zu", i), s.err.message, rows[i].want);
    }
}

static void unknown_keys__name_their_text(void **state)
{
    struct arena *a = *state;
    const struct seen s =
        parse(a, "location: x\nlocatio: x\n", "auxiliaryTokenProvider:\n  vault: x\n", NULL);
    assert_int_equal(s.rc, ERR_OK);
    assert_int_equal(s.n_unknown, 2);
    same_text("file", s.unknown[0].file, "azure.json");
    same_text("path", s.unknown[0].path, "locatio");
    assert_int_equal(s.unknown[0].line, 2);
    same_text("file", s.unknown[1].file, "secret a/b, key c");
    same_text("path", s.unknown[1].path, "auxiliaryTokenProvider.vault");
    assert_int_equal(s.unknown[1].line, 2);
}

/* 3.7: a client with a block of its own goes by that. */
static void limits__of_single_clients(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        enum azure_limit which;
        bool on;
        int qps, qps_write, bucket, bucket_write;
    } rows[] = {
        {"", AZURE_LIMIT_LB, false, 1, 1, 5, 5},
        {"cloudProviderRateLimit: true\n", AZURE_LIMIT_LB, true, 1, 1, 5, 5},
        {"cloudProviderRateLimit: true\ncloudProviderRateLimitQPS: 6\n"
         "cloudProviderRateLimitBucketWrite: 9\n",
         AZURE_LIMIT_REST, true, 6, 1, 5, 9},
        {"cloudProviderRateLimit: true\nloadBalancerRateLimit: {cloudProviderRateLimit: false}\n",
         AZURE_LIMIT_LB, false, 1, 1, 5, 5},
        {"cloudProviderRateLimit: true\nloadBalancerRateLimit: {cloudProviderRateLimit: false}\n",
         AZURE_LIMIT_PIP, true, 1, 1, 5, 5},
        {"cloudProviderRateLimitQPS: 6\npublicIPAddressRateLimit: {cloudProviderRateLimit: true, "
         "cloudProviderRateLimitBucket: 3}\n",
         AZURE_LIMIT_PIP, true, 6, 1, 3, 5},
        {"cloudProviderRateLimit: true\nvirtualMachineScaleSetRateLimit: {}\n", AZURE_LIMIT_VMSS,
         false, 1, 1, 5, 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct seen s = parse(a, rows[i].text, NULL, NULL);
        const struct azure_rate_limit *l = &s.c.limits[rows[i].which];
        assert_int_equal(s.rc, ERR_OK);
        assert_int_equal(l->on, rows[i].on);
        assert_int_equal((int)l->qps, rows[i].qps);
        assert_int_equal((int)l->qps_write, rows[i].qps_write);
        assert_int_equal(l->bucket, rows[i].bucket);
        assert_int_equal(l->bucket_write, rows[i].bucket_write);
    }
}

static void limits__each_kind_has_its_client(void **state)
{
    static const struct {
        enum azure_kind kind;
        enum azure_limit limit;
    } rows[] = {
        {AZURE_LBS, AZURE_LIMIT_LB},         {AZURE_POOLS, AZURE_LIMIT_LB},
        {AZURE_PIPS, AZURE_LIMIT_PIP},       {AZURE_NSGS, AZURE_LIMIT_NSG},
        {AZURE_SUBNETS, AZURE_LIMIT_SUBNET}, {AZURE_PLSS, AZURE_LIMIT_PLS},
        {AZURE_NICS, AZURE_LIMIT_NIC},       {AZURE_VMS, AZURE_LIMIT_VM},
        {AZURE_SETS, AZURE_LIMIT_SET},       {AZURE_VMSSS, AZURE_LIMIT_VMSS},
        {AZURE_VMSS_VMS, AZURE_LIMIT_VMSS},  {AZURE_PROVIDERS, AZURE_LIMIT_REST},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_arm_limit(rows[i].kind), rows[i].limit);
    }
}

/* 3.2, 1.6: the zones are asked for in the networks' subscription, so with its tenant's token. */
static void tenants__of_each_kind(void **state)
{
    static const struct {
        enum azure_kind kind;
        bool compute;
    } rows[] = {
        {AZURE_LBS, false},     {AZURE_POOLS, false},    {AZURE_PIPS, false},
        {AZURE_NSGS, false},    {AZURE_SUBNETS, false},  {AZURE_PROVIDERS, false},
        {AZURE_NICS, true},     {AZURE_PLSS, true},      {AZURE_PE_CONNECTIONS, true},
        {AZURE_VMS, true},      {AZURE_SETS, true},      {AZURE_VMSSS, true},
        {AZURE_VMSS_VMS, true}, {AZURE_VMSS_NICS, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_arm_is_compute(rows[i].kind), rows[i].compute);
    }
}

/* 3.9 */
static void ages__of_what_was_read(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        enum azure_kind kind;
        int64_t want_ms;
    } rows[] = {
        {"", AZURE_LBS, 60000},
        {"loadBalancerCacheTTLInSeconds: 300\n", AZURE_LBS, 300000},
        {"loadBalancerCacheTTLInSeconds: 300\n", AZURE_PIPS, 60000},
        {"publicIPCacheTTLInSeconds: 2147483647\n", AZURE_PIPS, 2147483647000},
        {"nsgCacheTTLInSeconds: 0\n", AZURE_NSGS, 60000},
        {"nsgCacheTTLInSeconds: -5\n", AZURE_NSGS, 60000},
        {"plsCacheTTLInSeconds: 1\n", AZURE_PLSS, 1000},
        {"vmCacheTTLInSeconds: 7\n", AZURE_VMS, 7000},
        {"vmssCacheTTLInSeconds: 8\n", AZURE_VMSSS, 8000},
        {"vmssVirtualMachinesCacheTTLInSeconds: 9\n", AZURE_VMSS_VMS, 9000},
        {"availabilitySetsCacheTTLInSeconds: 10\n", AZURE_SETS, 10000},
        {"disableAPICallCache: true\nloadBalancerCacheTTLInSeconds: 300\n", AZURE_LBS, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct seen s = parse(a, rows[i].text, NULL, NULL);
        const struct azure_arm arm = {.config = &s.c};
        assert_int_equal(azure_arm_age_ms(&arm, rows[i].kind), rows[i].want_ms);
    }
}

UNIT_MAIN(config_merge)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(type__says_which_text_counts),     PURE_TEST(merge__each_kind_of_value),
        PURE_TEST(merge__null__takes_back),          PURE_TEST(group__of_a_secret__keeps_its_case),
        PURE_TEST(environment__wins_over_both),      PURE_TEST(faults__name_their_text_and_line),
        PURE_TEST(unknown_keys__name_their_text),    PURE_TEST(limits__of_single_clients),
        PURE_TEST(limits__each_kind_has_its_client), PURE_TEST(tenants__of_each_kind),
        PURE_TEST(ages__of_what_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
