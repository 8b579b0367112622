/* SPDX-License-Identifier: Apache-2.0 */
/* azure_local.c: the whole program follows the endpoints of Local Services on several balancers,
 * and what that costs.
 *
 * Pods come and go in the simulator, whose EndpointSlices the controller watches.  Changes gather
 * until the moment that all Services share; then one list of the balancers and one write per pool
 * that changes bring them up to date, whatever the number of Services and changes.  With one pair
 * of balancers endpoints are not read.  Source: docs/spec/azure.md 7.7, 12. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define INTERVAL 30000
#define COMMON                                                                                     \
    "\"cloud\":\"AzureCloud\",\"tenantId\":\"00000000-0000-4000-8000-000000000002\","              \
    "\"subscriptionId\":\"00000000-0000-4000-8000-000000000001\",\"resourceGroup\":\"rg\","        \
    "\"location\":\"eastus\",\"vnetName\":\"vnet\",\"subnetName\":\"sn\","                         \
    "\"securityGroupName\":\"nsg\",\"vmType\":\"vmss\",\"primaryScaleSetName\":\"vmss\","          \
    "\"loadBalancerSku\":\"standard\",\"useManagedIdentityExtension\":true,"                       \
    "\"useInstanceMetadata\":false,\"resourceManagerEndpoint\":\"<endpoint>\","                    \
    "\"loadBalancerBackendPoolConfigurationType\":\"nodeIP\""

static const char one_pair[] = "{" COMMON "}";
static const char several[] = "{" COMMON ",\"multipleStandardLoadBalancerConfigurations\":["
                              "{\"name\":\"kubernetes\",\"primaryVMSet\":\"vmss\"},{\"name\":"
                              "\"lb2\",\"primaryVMSet\":\"x\"}]}";

/* ---- the cluster ----------------------------------------------------------------------------- */

static struct rig *start(const char *cloud_config)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {.sim = {.nodes = 3, .seed = 7, .cloud = "azure"},
                                  .cloud_config = cloud_config};
    if (rig_new(&args, &r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void run(struct rig *r)
{
    struct err err = ERR_INIT;
    if (rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
}

static void add(struct rig *r, const char *name, const char *lb, const char *policy)
{
    const char *body = arena_printf(
        rig_arena(r),
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\",\"annotations\":"
        "{"
        "\"service.beta.kubernetes.io/azure-load-balancer-configurations\":\"%s\"}},\"spec\":{"
        "\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"%s\",\"selector\":{\"app\":\"%s\"},"
        "\"ports\":[{\"port\":80}]}}",
        name, lb, policy, name);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
}

/* "0 2": one pod on each of these nodes. */
static void pods(struct rig *r, const char *name, const char *nodes)
{
    struct arena *a = rig_arena(r);
    const char *body = "";
    size_t n;
    char **items = str_split(a, nodes, ' ', &n);
    for (size_t i = 0; i < n && nodes[0] != '\0'; i++) {
        body = arena_printf(a, "%s%s\"vmss00000%s\":1", body, i > 0 ? "," : "", items[i]);
    }
    assert_int_equal(rig_kube(r, "PUT", arena_printf(a, "/sim/pods/default/%s", name),
                              arena_printf(a, "{%s}", body), NULL),
                     200);
}

/* "0 2": whose addresses are in the pool; "-": there is no such pool. */
static const char *members(struct rig *r, const char *lb, const char *pool)
{
    struct arena *a = rig_arena(r);
    struct json_object *azure = json_member(rig_world(r), "azure");
    const char *end = arena_printf(a, "/loadBalancers/%s", lb);
    const char *text = "-";
    json_object_object_foreach(azure, id, doc)
    {
        struct json_object *pools = json_path(doc, "properties.backendAddressPools");
        for (size_t i = 0; str_has_suffix(id, end) && i < json_len(pools); i++) {
            struct json_object *o = json_object_array_get_idx(pools, i);
            struct json_object *list = json_path(o, "properties.loadBalancerBackendAddresses");
            text = str_eq(json_str(o, "name"), pool) ? "" : text;
            for (size_t k = 0; str_eq(json_str(o, "name"), pool) && k < json_len(list); k++) {
                const char *ip = json_str(
                    json_path(json_object_array_get_idx(list, k), "properties"), "ipAddress");
                text = arena_printf(a, "%s%s%s", text, k > 0 ? " " : "", strrchr(ip, '.') + 1);
            }
        }
    }
    return text;
}

#define calls(r, op) (int)rig_calls(r, "azure", op)

/* ---- tests ----------------------------------------------------------------------------------- */

static void several__pools_follow_their_endpoints__one_list_and_a_write_each(void **state)
{
    struct rig *r = start(several);
    (void)state;
    add(r, "web", "kubernetes", "Local");
    add(r, "api", "lb2", "Local");
    add(r, "near", "kubernetes", "Cluster");
    pods(r, "web", "0");
    pods(r, "api", "1");
    pods(r, "near", "0");
    run(r);
    assert_string_equal(members(r, "kubernetes", "default-web"), "0");
    assert_string_equal(members(r, "lb2", "default-api"), "1");
    assert_string_equal(members(r, "kubernetes", "kubernetes"), "0 1 2");

    /* Ten changes of two Services in one interval, and one of a Service that they
     * do not concern. */
    rig_counts_reset(r);
    for (int i = 0; i < 5; i++) {
        pods(r, "web", i % 2 == 0 ? "1 2" : "2");
        pods(r, "api", i % 2 == 0 ? "0" : "");
    }
    pods(r, "near", "2");
    assert_true(rig_settle(r, INTERVAL + RIG_SOON));
    assert_string_equal(members(r, "kubernetes", "default-web"), "1 2");
    assert_string_equal(members(r, "lb2", "default-api"), "0");
    assert_int_equal(calls(r, "LoadBalancerBackendAddressPools.CreateOrUpdate"), 2);
    assert_int_equal(calls(r, "LoadBalancers.List"), 1);
    assert_int_equal(calls(r, "LoadBalancers.CreateOrUpdate"), 0);

    /* There and back before the moment comes: nothing is written. */
    rig_counts_reset(r);
    pods(r, "web", "0");
    pods(r, "web", "1 2");
    assert_true(rig_settle(r, INTERVAL + RIG_SOON));
    assert_int_equal(calls(r, "LoadBalancerBackendAddressPools.CreateOrUpdate"), 0);
    rig_free(r);
}

static void several__policy_and_balancer_change__the_pool_goes_with_them(void **state)
{
    struct rig *r = start(several);
    (void)state;
    add(r, "web", "kubernetes", "Local");
    add(r, "near", "kubernetes", "Cluster");
    pods(r, "web", "0");
    run(r);
    assert_string_equal(members(r, "kubernetes", "default-web"), "0");
    assert_int_equal(rig_kube(r, "PATCH", SERVICES "/web",
                              "{\"metadata\":{\"annotations\":{\"service.beta.kubernetes.io/"
                              "azure-load-balancer-configurations\":\"lb2\"}}}",
                              NULL),
                     200);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(members(r, "kubernetes", "default-web"), "-");
    assert_string_equal(members(r, "lb2", "default-web"), "0");
    assert_int_equal(rig_kube(r, "PATCH", SERVICES "/web",
                              "{\"spec\":{\"externalTrafficPolicy\":\"Cluster\"}}", NULL),
                     200);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(members(r, "lb2", "default-web"), "-");
    assert_int_equal(rig_kube(r, "PATCH", SERVICES "/web",
                              "{\"spec\":{\"externalTrafficPolicy\":\"Local\"}}", NULL),
                     200);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(members(r, "lb2", "default-web"), "0");
    /* A restart finds all as it should be. */
    assert_true(rig_stop(r));
    rig_counts_reset(r);
    run(r);
    assert_int_equal(rig_mutations(r), 0);
    assert_int_equal(rig_kube(r, "DELETE", SERVICES "/web", NULL, NULL), 200);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(members(r, "lb2", "default-web"), "-");
    rig_free(r);
}

static void one_pair__nobody_asks_for_endpoints(void **state)
{
    struct rig *r = start(one_pair);
    (void)state;
    add(r, "web", "", "Local");
    pods(r, "web", "0");
    run(r);
    assert_string_equal(members(r, "kubernetes", "kubernetes"), "0 1 2");
    assert_int_equal(rig_calls(r, "kubernetes", "endpointslices.list"), 0);
    assert_int_equal(rig_calls(r, "kubernetes", "endpointslices.watch"), 0);
    rig_counts_reset(r);
    pods(r, "web", "1");
    assert_true(rig_settle(r, INTERVAL + RIG_SOON));
    assert_int_equal(calls(r, "*"), 0);
    rig_free(r);
}

UNIT_MAIN(azure_local)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several__pools_follow_their_endpoints__one_list_and_a_write_each),
        cmocka_unit_test(several__policy_and_balancer_change__the_pool_goes_with_them),
        cmocka_unit_test(one_pair__nobody_asks_for_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
