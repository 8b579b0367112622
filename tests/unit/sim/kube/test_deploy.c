/* SPDX-License-Identifier: Apache-2.0 */
/* test_deploy.c: the kinds of deployment manifests: what they get, what is refused, and the
 * pods of Deployments. */
#include "sim/kube/rules/rules.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/pods_fixture.h"

#include <string.h>

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define DAEMON_SETS "/apis/apps/v1/namespaces/default/daemonsets"
#define RBAC        "/apis/rbac.authorization.k8s.io/v1/"
#define ROLES       RBAC "namespaces/default/roles"
#define BINDINGS    RBAC "namespaces/default/rolebindings"
#define POLICIES    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
#define BUDGETS     "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define CONTAINERS  "'containers':[{'name':'c','image':'i'}]"
#define TEMPLATE    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{" CONTAINERS "}}"

/* One create and its answer: what the message holds ("" for those that are taken). */
struct row {
    const char *path, *body;
    int status;
    const char *says;
};

static void post_rows(const struct row *rows, size_t n)
{
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < n; i++) {
        struct kf_call *c = kf_do(f, "POST", rows[i].path, kf_quoted(f, rows[i].body));
        kf_expect(c, rows[i].status, rows[i].body);
        if (!strstr(kf_text(c, "message"), rows[i].says)) {
            fail_msg("%s: want %s, got %s", rows[i].body, rows[i].says, kf_text(c, "message"));
        }
    }
    kf_stop(f);
}

static void deployments__what_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}", 422,
         "spec.selector: Required value"},
        {DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{'selector':{}," TEMPLATE "}}", 422,
         "empty selector is invalid for deployment"},
        {DEPLOYMENTS,
         "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'c'}}," TEMPLATE "}}",
         422, "`selector` does not match template `labels`"},
        {DEPLOYMENTS,
         "{'metadata':{'name':'d'},'spec':{'selector':{'matchExpressions':[{'key':'a','operator':"
         "'Exists'}]}," TEMPLATE "}}",
         201, ""},
        {DEPLOYMENTS,
         "{'metadata':{'name':'e'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{"
         "'metadata':{'labels':{'a':'b'}},'spec':{'containers':[]}}}}",
         422, "spec.template.spec.containers: Required value"},
        {DEPLOYMENTS,
         "{'metadata':{'name':'e'},'spec':{'replicas':-1,'selector':{'matchLabels':{'a':'b'}}"
         "," TEMPLATE "}}",
         422, "spec.replicas: Invalid value: -1"},
        {DEPLOYMENTS "?fieldValidation=Strict",
         "{'metadata':{'name':'e'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'"
         "metadata':{"
         "'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i','livenessProbe':{'"
         "httpGet':{"
         "'port':1,'pth':'/'}}}]}}}}",
         400, "unknown field \"spec.template.spec.containers[0].livenessProbe.httpGet.pth\""},
    };
    post_rows(rows, ARRAY_LEN(rows));
}

static void daemon_sets__what_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {DAEMON_SETS, "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}", 422,
         "spec.selector: Required value"},
        {DAEMON_SETS, "{'metadata':{'name':'d'},'spec':{'selector':{}," TEMPLATE "}}", 422,
         "empty selector is invalid for daemonset"},
        {DAEMON_SETS,
         "{'metadata':{'name':'d'},'spec':{'updateStrategy':{'type':'Recreate'},'selector':{"
         "'matchLabels':{'a':'b'}}," TEMPLATE "}}",
         422, "spec.updateStrategy.type: Unsupported value: \"Recreate\""},
        {DAEMON_SETS "?fieldValidation=Strict",
         "{'metadata':{'name':'d'},'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}}"
         "," TEMPLATE "}}",
         400, "unknown field \"spec.replicas\""},
        {DAEMON_SETS,
         "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
         201, ""},
    };
    post_rows(rows, ARRAY_LEN(rows));
}

static void roles__what_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {ROLES,
         "{'metadata':{'name':'r:a'},'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':["
         "'get']}]}",
         201, ""},
        {ROLES, "{'metadata':{'name':'a/b'},'rules':[]}", 422, "may not contain '/'"},
        {ROLES, "{'metadata':{'name':'r'},'rules':[{'apiGroups':[''],'resources':['pods']}]}", 422,
         "rules[0].verbs: Required value: verbs must contain at least one value"},
        {ROLES, "{'metadata':{'name':'r'},'rules':[{'resources':['pods'],'verbs':['get']}]}", 422,
         "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
        {ROLES, "{'metadata':{'name':'r'},'rules':[{'nonResourceURLs':['/x'],'verbs':['get']}]}",
         422, "namespaced rules cannot apply to non-resource URLs"},
        {RBAC "clusterroles",
         "{'metadata':{'name':'r'},'rules':[{'nonResourceURLs':['/x'],'verbs':["
         "'get']}]}",
         201, ""},
        {BINDINGS, "{'metadata':{'name':'b'},'roleRef':{'kind':'Rolle','name':'r'}}", 422,
         "roleRef.kind: Unsupported value: \"Rolle\": supported values: \"ClusterRole\", \"Role\""},
        {BINDINGS,
         "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':"
         "'ServiceAccount','name':'s'}]}",
         422, "subjects[0].namespace: Required value"},
        {BINDINGS, "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'r'}}", 201, ""},
    };
    post_rows(rows, ARRAY_LEN(rows));
}

static void policies_and_budgets__what_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {POLICIES, "{'metadata':{'name':'p'},'spec':{'podSelector':{},'policyTypes':['In']}}", 422,
         "spec.policyTypes[0]: Unsupported value: \"In\""},
        {POLICIES,
         "{'metadata':{'name':'p'},'spec':{'podSelector':{},'egress':[{'to':[{'ipBlock':{'cidr':"
         "'10.0.0.0'}}]}]}}",
         422, "spec.egress[0].to[0].ipBlock.cidr"},
        {POLICIES, "{'metadata':{'name':'p'},'spec':{'podSelector':{},'ingress':[{'from':[{}]}]}}",
         422, "spec.ingress[0].from[0]: Required value: must specify a peer"},
        {BUDGETS, "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'maxUnavailable':'50%'}}", 422,
         "minAvailable and maxUnavailable cannot be both set"},
        {BUDGETS,
         "{'metadata':{'name':'b'},'spec':{'maxUnavailable':1,'unhealthyPodEvictionPolicy':"
         "'Never'}}",
         422, "spec.unhealthyPodEvictionPolicy: Unsupported value"},
        {BUDGETS "?fieldValidation=Strict", "{'metadata':{'name':'b'},'spec':{'maxUnavailble':1}}",
         400, "unknown field \"spec.maxUnavailble\""},
    };
    post_rows(rows, ARRAY_LEN(rows));
}

static void defaults__are_filled_in(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body, *at, *value;
    } rows[] = {
        {DEPLOYMENTS,
         "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
         "spec.strategy.rollingUpdate.maxSurge", "25%"},
        {DEPLOYMENTS,
         "{'metadata':{'name':'e'},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
         "spec.template.spec.restartPolicy", "Always"},
        {BINDINGS, "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'r'}}",
         "roleRef.apiGroup", "rbac.authorization.k8s.io"},
        {POLICIES, "{'metadata':{'name':'p'},'spec':{'podSelector':{},'egress':[{}]}}",
         "spec.policyTypes", "[\"Ingress\",\"Egress\"]"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf_call *c = kf_do(f, "POST", rows[i].path, kf_quoted(f, rows[i].body));
        kf_expect(c, 201, rows[i].body);
        struct json_object *v = json_path(c->json, rows[i].at);
        assert_string_equal(json_object_is_type(v, json_type_string)
                                ? json_object_get_string(v)
                                : json_text(f->a, v, JSON_COMPACT),
                            rows[i].value);
    }
    struct kf_call *c = kf_patch(f, BINDINGS "/b", MERGE,
                                 "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"}}");
    kf_expect(c, 422, "another role");
    assert_non_null(strstr(kf_text(c, "message"), "cannot change roleRef"));
    kf_stop(f);
}

/* How many of the Deployment's pods there are, ready ones, of the present template,
 * and that end. */
static void expect_status(struct kf *f, int live, int ready, int updated, int ending)
{
    kf_settle(f);
    struct kf_call *c = kf_do(f, "GET", DEPLOYMENTS "/d", NULL);
    struct json_object *status = json_member(c->json, "status");
    assert_int_equal(json_int(status, "replicas", 0), live);
    assert_int_equal(json_int(status, "readyReplicas", 0), ready);
    assert_int_equal(json_int(status, "updatedReplicas", 0), updated);
    assert_int_equal(json_int(status, "terminatingReplicas", 0), ending);
    assert_int_equal(json_int(status, "observedGeneration", 0),
                     json_int(json_member(c->json, "metadata"), "generation", -1));
    c = kf_do(f, "GET", PODS, NULL);
    assert_int_equal(json_len(json_member(c->json, "items")), live + ending);
}

static const char *name_of_a_pod(struct kf *f)
{
    struct json_object *items = json_member(kf_do(f, "GET", PODS, NULL)->json, "items");
    return json_str(json_member(json_object_array_get_idx(items, 0), "metadata"), "name");
}

static void deployment__pods__made_replaced_and_rolled_over(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1};
    struct kf *f = kf_start(&cfg);
    kf_expect(kf_do(f, "POST", DEPLOYMENTS,
                    kf_quoted(f, "{'metadata':{'name':'d'},'spec':{'replicas':4,'selector':{"
                                 "'matchLabels':{'a':'b'}}," TEMPLATE "}}")),
              201, "deployment");
    expect_status(f, 4, 4, 4, 0);
    kf_do(f, "DELETE", arena_printf(f->a, PODS "/%s", name_of_a_pod(f)), NULL);
    expect_status(f, 4, 4, 4, 1);
    kf_patch(f, DEPLOYMENTS "/d/scale", MERGE, "{\"spec\":{\"replicas\":3}}");
    expect_status(f, 3, 3, 3, 2);
    /* No node takes new pods: maxSurge 1 and maxUnavailable 0 of 3 let one be made, and
     * none be deleted. */
    kf_patch(f, "/api/v1/nodes/node-0", MERGE, "{\"spec\":{\"unschedulable\":true}}");
    kf_patch(f, DEPLOYMENTS "/d", MERGE,
             "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"n\":\"1\"}}}}}");
    expect_status(f, 4, 3, 1, 2);
    kf_patch(f, "/api/v1/nodes/node-0", MERGE, "{\"spec\":{\"unschedulable\":false}}");
    expect_status(f, 3, 3, 3, 5);
    /* A paused one counts only. */
    kf_patch(f, DEPLOYMENTS "/d", MERGE, "{\"spec\":{\"paused\":true,\"replicas\":9}}");
    expect_status(f, 3, 3, 3, 5);
    kf_do(f, "DELETE", DEPLOYMENTS "/d", NULL);
    kf_settle(f);
    struct json_object *items = json_member(kf_do(f, "GET", PODS, NULL)->json, "items");
    for (size_t i = 0; i < json_len(items); i++) {
        assert_true(kube_is_deleting(json_object_array_get_idx(items, i)));
    }
    kf_stop(f);
}

static void ingresses__are_listed(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *c = kf_do(f, "GET", "/apis/networking.k8s.io/v1/ingresses", NULL);
    kf_expect(c, 200, "ingresses");
    assert_string_equal(kf_text(c, "kind"), "IngressList");
    assert_int_equal(json_len(json_member(c->json, "items")), 0);
    kf_stop(f);
}

UNIT_MAIN(deploy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deployments__what_is_refused),
        cmocka_unit_test(daemon_sets__what_is_refused),
        cmocka_unit_test(roles__what_is_refused),
        cmocka_unit_test(policies_and_budgets__what_is_refused),
        cmocka_unit_test(defaults__are_filled_in),
        cmocka_unit_test(deployment__pods__made_replaced_and_rolled_over),
        cmocka_unit_test(ingresses__are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
