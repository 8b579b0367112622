/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: the cloud-config: syntax, types, environment, defaults, and what stops a start
 * (docs/spec/azure.md 1.1 to 1.4, 18 rows 4 and 5).  Rows that upstream's code was asked for stand
 * in tests/data/eval/azure.jsonl; here is what they do not show: where an error is, and the
 * findings about unknown keys. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/config/azure_config_keys.h"
#include "tests/support/azure_config_text.h"
#include "tests/support/doc_page.h"
#include "tests/support/unit.h"

static const struct azure_env no_env;

static int parse(struct arena *a, const char *text, struct azure_config *c, struct err *err)
{
    const struct azure_unknown_key *unknown;
    size_t n;
    return azure_config_parse(a, text, strlen(text), &no_env, c, &unknown, &n, err);
}

static void syntax__yaml_and_json__say_the_same(void **state)
{
    struct arena *a = *state;
    static const char *const texts[] = {
        "resourceGroup: MC_Group\nVMTYPE: vmssflex\ncloudProviderBackoff: true\n",
        "# a comment\n---\nresourcegroup: 'MC_Group'\nvmType: \"vmssflex\"\ncloudproviderbackoff: "
        "yes\n",
        "{\"resourceGroup\":\"MC_Group\",\"vmType\":\"vmssflex\",\"CloudProviderBackoff\":true}",
        "{\"resourceGroup\":\"MC_Group\",\"VMType\":\"standard\",\"vmType\":\"vmssflex\","
        "\"cloudProviderBackoff\":true, \"location\": null}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct azure_config c;
        struct err err = ERR_INIT;
        if (parse(a, texts[i], &c, &err) != ERR_OK) {
            fail_msg("%s: %s", texts[i], err.message);
        }
        same_text(texts[i], c.resource_group, "mc_group");
        same_text(texts[i], c.lb_resource_group, "mc_group");
        same_text(texts[i], c.vm_type_text, "vmssflex");
        assert_int_equal(c.vm_type, AZURE_VM_VMSSFLEX);
        assert_true(c.backoff);
        assert_int_equal(c.backoff_retries, 6);
        same_text(texts[i], c.location, "");
    }
}

static void types__row_18_5__scalars_count_as_text(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *value;
        const char *want;
    } rows[] = {
        {"1", "1"},
        {"true", "true"},
        {"1.50", "1.5"},
        {"0.00001", "1e-05"},
        {"123456.7", "123456.7"},
        {"-3", "-3"},
        {"'007'", "007"},
        {"~", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c;
        const char *text = arena_printf(a, "tags: %s\n", rows[i].value);
        assert_int_equal(parse(a, text, &c, NULL), ERR_OK);
        same_text(text, c.tags, rows[i].want);
    }
}

static void start__what_stops_it__is_told_with_line_and_key(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"location: x\nvmType: [a]\n", "line 2: vmType: want text, got a list"},
        {"location: x\n\nVMTYPE: {}\n", "line 3: vmType: want text, got a mapping"},
        {"maximumLoadBalancerRuleCount: '5'\n",
         "line 1: maximumLoadBalancerRuleCount: want a whole number of 32 bits, got text"},
        {"maximumLoadBalancerRuleCount: 5.5\n",
         "line 1: maximumLoadBalancerRuleCount: want a whole number of 32 bits, got a number"},
        {"{\"location\": \"x\",\n \"cloudProviderBackoff\": \"true\"}",
         "line 2: cloudProviderBackoff: want true or false, got text"},
        {"- a\n", "line 1: want a mapping of keys to values"},
        {"cloud: x\ncloudConfigType: other\n",
         "line 2: cloudConfigType: \"other\" is none of file, secret, merge"},
        {"cloudConfigType: file\n",
         "line 1: cloudConfigType: \"file\" without credentials needs useInstanceMetadata: true"},
        {"loadBalancerSku: basic\ndisableOutboundSNAT: true\n",
         "line 2: disableOutboundSNAT: should only be set when loadBalancerSku is standard, which "
         "is \"basic\""},
        {"vmType: standard\ndisableAvailabilitySetNodes: true\n",
         "line 2: disableAvailabilitySetNodes: goes with vmType \"vmss\" only, which is "
         "\"standard\""},
        {"loadBalancerBackendPoolConfigurationType: podIP\n",
         "line 1: loadBalancerBackendPoolConfigurationType: \"podIP\" is none of "
         "nodeIPConfiguration, nodeIP"},
        {"clusterServiceLoadBalancerHealthProbeMode: none\n",
         "line 1: clusterServiceLoadBalancerHealthProbeMode: \"none\" is none of servicenodeport, "
         "shared"},
        {"serviceGatewayEnabled: true\n",
         "line 1: serviceGatewayEnabled: service gateways are not served by this program"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c;
        struct err err = ERR_INIT;
        assert_int_equal(parse(a, rows[i].text, &c, &err), ERR_INVALID);
        same_text(rows[i].text, err.message, rows[i].want);
    }
}

#define IP_POOLS "loadBalancerBackendPoolConfigurationType: nodeIP\n"
#define LBS      "multipleStandardLoadBalancerConfigurations"

static void multi_slb__1_3__checks(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        const char *want; /* NULL: fine */
    } rows[] = {
        {IP_POOLS LBS ":\n- name: a\n  primaryVMSet: x\n- name: b\n  primaryVMSet: v\n", NULL},
        {LBS ":\n- name: a\n  primaryVMSet: x\n",
         "line 1: " LBS ": needs loadBalancerBackendPoolConfigurationType: nodeIP (pools of "
         "addresses)"},
        {"loadBalancerSku: basic\n" LBS ":\n- name: a\n", NULL},
        {IP_POOLS LBS ":\n- name: a\n  primaryVMSet: x\n- name: A\n  primaryVMSet: v\n",
         "line 5: name: " LBS "[1]: \"A\" is there twice"},
        {IP_POOLS LBS ":\n- name: a\n  primaryVMSet: x\n- name: b\n  primaryVMSet: X\n",
         "line 6: primaryVMSet: " LBS "[1]: \"X\" is there twice"},
        /* y is true in YAML, and no text where upstream reads into an embedded structure */
        {IP_POOLS LBS ":\n- name: y\n  primaryVMSet: y\n",
         "line 4: " LBS "[0].primaryVMSet: want text, got true or false"},
        {IP_POOLS LBS ":\n- name: a\n", "line 2: " LBS ": [0] \"a\" has no primaryVMSet"},
        {IP_POOLS LBS ":\n- ~\n", "line 2: " LBS ": [0] \"\" has no primaryVMSet"},
        {IP_POOLS LBS ": ~\n", NULL},
        {IP_POOLS LBS ":\n- a\n", "line 2: " LBS "[0]: want a mapping"},
        /* 18 row 4 */
        {IP_POOLS LBS ":\n- name: a\n  primaryVMSet: x\n  activeServices: [a]\n",
         "line 5: " LBS "[0].activeServices: want a mapping, got a list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c;
        struct err err = ERR_INIT;
        int rc = parse(a, rows[i].text, &c, &err);
        assert_int_equal(rc, rows[i].want != NULL ? ERR_INVALID : ERR_OK);
        same_text(rows[i].text, err.message, str_nonnull(rows[i].want));
    }
}

static void multi_slb__selectors_and_placement(void **state)
{
    struct arena *a = *state;
    struct azure_config c;
    assert_int_equal(parse(a,
                           IP_POOLS LBS ":\n- name: kubernetes\n  primaryVMSet: x\n"
                                        "  allowServicePlacement: false\n"
                                        "  ServiceLabelSelector:\n    matchLabels: {a: b}\n"
                                        "- name: two\n  primaryVMSet: v\n",
                           &c, NULL),
                     ERR_OK);
    assert_int_equal(c.n_lbs, 2);
    assert_true(azure_config_is_multi_slb(&c));
    assert_false(c.lbs[0].allow_placement);
    assert_true(c.lbs[1].allow_placement);
    assert_int_equal(c.lbs[0].services.n, 1);
    assert_true(c.lbs[0].services.given);
    assert_false(c.lbs[1].services.given);
    assert_int_equal(c.pool_update_interval_s, 30);
}

static void allowed__lists__absent_is_not_empty(void **state)
{
    struct arena *a = *state;
    struct azure_config c;
    assert_int_equal(parse(a, "location: x\n", &c, NULL), ERR_OK);
    assert_false(c.allowed_groups.has || c.allowed_subscriptions.has);
    assert_int_equal(
        parse(a, "allowedResourceGroups: []\nallowedSubscriptions: [a, \"b\"]\n", &c, NULL),
        ERR_OK);
    assert_true(c.allowed_groups.has);
    assert_int_equal(c.allowed_groups.n, 0);
    assert_int_equal(c.allowed_subscriptions.n, 2);
    same_text("second", c.allowed_subscriptions.items[1], "b");
}

static void unknown_keys__are_told_with_path_and_line(void **state)
{
    struct arena *a = *state;
    const char *text = "location: x\nloadBalancerSkuu: basic\n" IP_POOLS LBS
                       ":\n- name: a\n  primaryVMSet: x\n  nodes: {}\nextra: [1]\n";
    struct azure_config c;
    const struct azure_unknown_key *unknown;
    size_t n;
    assert_int_equal(azure_config_parse(a, text, strlen(text), &no_env, &c, &unknown, &n, NULL),
                     ERR_OK);
    assert_int_equal(n, 3);
    same_text("1st", unknown[0].path, "loadBalancerSkuu");
    assert_int_equal(unknown[0].line, 2);
    same_text("2nd", unknown[1].path, "extra");
    assert_int_equal(unknown[1].line, 8);
    same_text("3rd", unknown[2].path, LBS "[0].nodes");
    assert_int_equal(unknown[2].line, 7);
}

static void size__what_nobody_writes_is_refused_in_time(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf lbs = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf keys = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf bytes = STR_BUF_INIT;
    str_append(&lbs, LBS ":\n");
    for (int i = 0; i <= 2000; i++) {
        str_append(&lbs, "- {}\n");
        str_appendf(&keys, "key%d: x\n", i);
    }
    while (bytes.len <= 1024 * 1024) {
        str_append(&bytes, "# a comment is as long as it is\n");
    }
    const struct str_buf *const texts[] = {&lbs, &keys, &bytes};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct azure_config c;
        struct err err = ERR_INIT;
        assert_int_equal(parse(a, str_buf_text(texts[i]), &c, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "more than"));
    }
}

static void environment__1_1__overrides_what_is_not_empty(void **state)
{
    struct arena *a = *state;
    const char *text = "tenantId: t\naadClientId: c\naadFederatedTokenFile: f\n";
    const struct azure_env set = {.tenant_id = "T", .client_id = "", .federated_token_file = "/F"};
    struct azure_config c;
    const struct azure_unknown_key *unknown;
    size_t n;
    assert_int_equal(azure_config_parse(a, text, strlen(text), &set, &c, &unknown, &n, NULL),
                     ERR_OK);
    same_text("tenant", c.tenant_id, "T");
    same_text("client", c.client_id, "c");
    same_text("file", c.federated_token_file, "/F");
    assert_true(c.workload_identity);
    assert_int_equal(parse(a, text, &c, NULL), ERR_OK);
    assert_false(c.workload_identity);
}

static void defaults__1_2__of_an_empty_file(void **state)
{
    struct arena *a = *state;
    static const char *const texts[] = {"", "{}", "---\n", "# nothing\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct azure_config c;
        assert_int_equal(parse(a, texts[i], &c, NULL), ERR_OK);
        same_text("vmType", c.vm_type_text, "vmss");
        assert_true(c.standard_sku && c.exclude_masters && !c.disable_outbound_snat);
        assert_int_equal(c.max_rules, 250);
        assert_int_equal(c.shared_probe_port, 10256);
        same_text("path", c.shared_probe_path, "/healthz");
        assert_int_equal(c.backoff_retries, 1);
        assert_int_equal(c.backoff_duration_s, 5);
        assert_int_equal(c.lb_cache_s, 0);
        assert_int_equal(c.vm_cache_s, 0);
        assert_int_equal(c.vmss_cache_s, 0);
        same_text("primary", azure_config_primary_vm_set(&c), "");
    }
}

static void tags_map__values_count_as_text(void **state)
{
    struct arena *a = *state;
    struct azure_config c;
    assert_int_equal(parse(a, "tagsMap: {owner: me, cost: 7}\n", &c, NULL), ERR_OK);
    assert_int_equal(c.n_tags_map, 2);
    same_text("key", c.tags_map[0].key, "owner");
    same_text("value", c.tags_map[1].value, "7");
    assert_int_equal(parse(a, "tagsMap: {owner: [me]}\n", &c, NULL), ERR_INVALID);
}

static void subscriptions__the_network_may_have_its_own(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"subscriptionId: s\n", "s"},
        {"subscriptionId: s\nnetworkResourceSubscriptionID: net\n", "net"},
        {"subscriptionId: Sub\nnetworkResourceSubscriptionID: sUB\n", "Sub"},
        {"networkResourceSubscriptionID: net\n", "net"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config c;
        assert_int_equal(parse(a, rows[i].text, &c, NULL), ERR_OK);
        same_text(rows[i].text, c.network_subscription_id, rows[i].want);
    }
}

/* Every key that is read, and every one that is accepted, stands on the provider's page. */
static void page__tells_every_key(void **state)
{
    struct arena *a = *state;
    const char *text = doc_page_read(a, "providers/azure.md");
    const struct azure_key *const tables[] = {azure_config_keys, azure_lb_config_keys};
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct azure_key *k = tables[t]; k->name != NULL; k++) {
            if (strstr(text, arena_printf(a, "`%s`", k->name)) == NULL) {
                fail_msg("docs/providers/azure.md does not tell `%s`", k->name);
            }
        }
    }
}

UNIT_MAIN(config)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(syntax__yaml_and_json__say_the_same),
        PURE_TEST(types__row_18_5__scalars_count_as_text),
        PURE_TEST(start__what_stops_it__is_told_with_line_and_key),
        PURE_TEST(multi_slb__1_3__checks),
        PURE_TEST(multi_slb__selectors_and_placement),
        PURE_TEST(allowed__lists__absent_is_not_empty),
        PURE_TEST(unknown_keys__are_told_with_path_and_line),
        PURE_TEST(size__what_nobody_writes_is_refused_in_time),
        PURE_TEST(environment__1_1__overrides_what_is_not_empty),
        PURE_TEST(defaults__1_2__of_an_empty_file),
        PURE_TEST(tags_map__values_count_as_text),
        PURE_TEST(subscriptions__the_network_may_have_its_own),
        PURE_TEST(page__tells_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
