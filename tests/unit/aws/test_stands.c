/* SPDX-License-Identifier: Apache-2.0 */
/* test_stands.c: of a Service whose sync fails, the provider says whether what stands serves
 * clients, and so does a plan. */
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"

#define DENIED(action)                                                                             \
    {                                                                                              \
        action, 403, "AccessDenied no", 0                                                          \
    }
#define CHECKED "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval"

/* With a wish that is to be carried out, and the address in its status. */
static const struct tt_service *served(struct flow_kit *k, const char *type)
{
    bool nlb = strcmp(type, "nlb") == 0;
    return test_service_text(
        k->a,
        arena_printf(k->a,
                     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
                     "\",\"annotations\":{\"" AWS_ANNOTATION "type\":\"%s\",\"" CHECKED
                     "\":\"%s\"}},\"spec\":{\"type\":\"LoadBalancer\",\"sessionAffinity\":\"None\","
                     "\"ports\":[{\"port\":80,"
                     "\"protocol\":\"TCP\",\"nodePort\":30080}]},\"status\":{\"loadBalancer\":{"
                     "\"ingress\":[{\"hostname\":\"%s\"}]}}}",
                     type, nlb ? "10" : "30", nlb ? "nlb.example" : "classic.example"));
}

static const char *without(struct flow_kit *k, const char *body, const char *part)
{
    const char *at = strstr(body, part);
    assert_non_null(at);
    return arena_printf(k->a, "%.*s%s", (int)(at - body), body, at + strlen(part));
}

static void check(struct flow_kit *k, const struct tt_service *svc, int32_t code,
                  const char *nobody)
{
    k->r = (struct tt_result){0};
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), code);
    same_text("of the failed sync", k->r.nobody, nobody);
}

#define INSTANCES "<member><InstanceId>i-n1</InstanceId></member>"
#define LISTENER                                                                                   \
    "<member><Listener><Protocol>TCP</Protocol><InstanceProtocol>TCP</InstanceProtocol>"           \
    "<LoadBalancerPort>80</LoadBalancerPort><InstancePort>30080</InstancePort></Listener>"         \
    "</member>"

static void classic__failed__by_its_instances_and_listeners(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {DENIED("RegisterInstances"), DENIED("CreateLoadBalancerListeners"),
                              DENIED("ConfigureHealthCheck"), FLOW_CLASSIC_IS_FINE};
    const struct tt_service *svc = served(k, "");
    k->rows = rows;
    check(k, svc, TT_FORBIDDEN, "serves");
    rows[3].body = without(k, FLOW_CLASSIC, INSTANCES);
    check(k, svc, TT_FORBIDDEN, "load balancer " NAME " has no instances");
    rows[3].body = without(k, FLOW_CLASSIC, LISTENER);
    check(k, svc, TT_FORBIDDEN, "load balancer " NAME " has no listener");
    (void)flow_kit_findings(k);
    (void)flow_kit_plan(k, svc);
    assert_non_null(strstr(flow_kit_findings(k),
                           "LoadBalancerServesNobody: serves no client now: load balancer " NAME
                           " has no listener\n"));
}

static void nlb__failed__by_listeners_and_targets(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {DENIED("RegisterTargets"), DENIED("CreateListener"),
                              DENIED("ModifyTargetGroup"), FLOW_NLB_IS_FINE};
    const struct tt_service *svc = served(k, "nlb");
    k->rows = rows;
    check(k, svc, TT_FORBIDDEN, "serves");
    rows[7].body = "<TargetHealthDescriptions></TargetHealthDescriptions>";
    check(k, svc, TT_FORBIDDEN, "target group k8s-default-web-0123456789 has no targets");
    rows[5].body = "<Listeners></Listeners>";
    (void)flow_kit_findings(k);
    (void)flow_kit_plan(k, svc);
    assert_non_null(strstr(flow_kit_findings(k), "now: load balancer " NAME " has no listener\n"));
}

/* It has changed since it was seen: the next sync tells. */
static void changed_half__nothing_is_said(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {DENIED("ConfigureHealthCheck"), FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    rows[1].body = without(k, FLOW_CLASSIC, INSTANCES);
    check(k, served(k, ""), TT_FORBIDDEN, "");
    assert_int_equal(flow_kit_count(k, "RegisterInstancesWithLoadBalancer"), 1);
}

static void no_load_balancer__told(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {DENIED("CreateLoadBalancer"), {NULL, 0, NULL, 0}};
    k->rows = rows;
    check(k, served(k, "nlb"), TT_FORBIDDEN, "it has no load balancer");
}

UNIT_MAIN(stands)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(classic__failed__by_its_instances_and_listeners),
        FLOW_TEST(nlb__failed__by_listeners_and_targets),
        FLOW_TEST(changed_half__nothing_is_said),
        FLOW_TEST(no_load_balancer__told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
