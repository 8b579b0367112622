/* SPDX-License-Identifier: Apache-2.0 */
/* test_pods.c: the life of a Pod: where it goes, what it says of itself, how it ends,
 * what is refused. */
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/pods_fixture.h"

#include "common/base/clock.h"
#include "tests/support/clock_fake.h"

#include <string.h>

static const struct sim_config two_nodes = {.nodes = 2};

/* "node ip phase Ready" of a Pod, or "gone". */
static const char *state_of(struct kf *f, const char *name)
{
    struct kf_call *c = kf_do(f, "GET", arena_printf(f->a, PODS "/%s", name), NULL);
    struct json_object *conditions = json_path(c->json, "status.conditions");
    const char *ready = "?";
    if (c->status == 404) {
        return "gone";
    }
    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *o = json_object_array_get_idx(conditions, i);
        ready = str_eq(json_str(o, "type"), "Ready") ? json_str(o, "status") : ready;
    }
    return arena_printf(f->a, "%s %s %s %s", str_or(kf_text(c, "spec.nodeName"), "-"),
                        str_or(kf_text(c, "status.podIP"), "-"), kf_text(c, "status.phase"), ready);
}

static void pass(struct kf *f, int64_t ms)
{
    clock_fake_advance(f->clock, ms);
    kf_settle(f);
}

static void schedule__fewest_pods_then_name__unless_told(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_make(f, "a", "", "");
    pf_make(f, "b", "", "");
    pf_make(f, "c", "", "");
    pf_make(f, "d", ",'nodeName':'node-1'", "");
    pf_make(f, "e", ",'hostNetwork':true", "");
    assert_string_equal(state_of(f, "a"), "node-0 10.64.0.2 Running True");
    assert_string_equal(state_of(f, "b"), "node-1 10.64.1.2 Running True");
    assert_string_equal(state_of(f, "c"), "node-0 10.64.0.3 Running True");
    assert_string_equal(state_of(f, "d"), "node-1 10.64.1.3 Running True");
    assert_string_equal(state_of(f, "e"), "node-0 10.128.0.10 Running True");
    kf_stop(f);
}

static void schedule__no_node_takes_it__waits_for_one(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 1};
    struct kf *f = kf_start(&cfg);
    kf_expect(kf_patch(f, "/api/v1/nodes/node-0", MERGE,
                       kf_quoted(f, "{'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}")),
              200, "taint");
    pf_make(f, "a", "", "");
    pf_make(f, "b", ",'tolerations':[{'key':'k','operator':'Exists'}]", "");
    pf_make(f, "c", ",'nodeName':'node-7'", "");
    assert_string_equal(state_of(f, "a"), "- - Pending ?");
    assert_string_equal(state_of(f, "b"), "node-0 10.64.0.2 Running True");
    assert_string_equal(state_of(f, "c"), "node-7 - Pending ?");
    kf_expect(kf_do(f, "POST", "/sim/nodes", "{\"count\":1}"), 200, "add node-1");
    kf_settle(f);
    assert_string_equal(state_of(f, "a"), "node-1 10.64.1.2 Running True");
    assert_string_equal(state_of(f, "c"), "node-7 - Pending ?");
    kf_stop(f);
}

static void status__of_the_manifest__is_kept(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_make(f, "a", ",'nodeName':'node-0'",
            "{'podIP':'10.9.9.9','conditions':[{'type':'Ready','status':'False'}]}");
    assert_string_equal(state_of(f, "a"), "node-0 10.9.9.9 Running False");
    pf_make(f, "b", ",'nodeName':'node-0'", "{'phase':'Succeeded'}");
    assert_string_equal(state_of(f, "b"), "node-0 10.64.0.2 Succeeded True");
    kf_stop(f);
}

static void delete__takes_its_grace_period(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    struct kf_call *c = kf_do(f, "DELETE", PODS "/a", NULL);
    kf_expect(c, 200, "delete");
    assert_string_equal(kf_text(c, "metadata.deletionGracePeriodSeconds"), "30");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(-st)");
    kf_expect(
        kf_patch(f, PODS "/a/status", STRATEGIC,
                 kf_quoted(f, "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}")),
        200, "the probe fails");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(--t)");
    pass(f, 28000);
    assert_string_not_equal(state_of(f, "a"), "gone");
    pass(f, 2001);
    assert_string_equal(state_of(f, "a"), "gone");
    assert_string_equal(pf_slices(f, "web"), "IPv4");
    kf_stop(f);
}

static void delete__at_once_or_sooner__when_asked(void **state)
{
    (void)state;
    static const struct {
        const char *more, *status, *query;
        int64_t gone_after_ms; /* 0: at once */
    } rows[] = {
        {",'nodeName':'node-0'", "", "?gracePeriodSeconds=0", 0},
        {",'nodeName':'node-0'", "", "?gracePeriodSeconds=5", 5000},
        {",'nodeName':'node-0','terminationGracePeriodSeconds':3", "", "", 3000},
        {",'nodeName':'node-0'", "{'phase':'Failed'}", "", 0},
        {",'schedulerName':'none','nodeSelector':{}", "", "?gracePeriodSeconds=-1", 1000},
    };
    struct kf *f = kf_start(&two_nodes);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        pf_make(f, "a", rows[i].more, rows[i].status);
        kf_expect(kf_do(f, "DELETE", arena_printf(f->a, PODS "/a%s", rows[i].query), NULL), 200,
                  rows[i].query);
        if (rows[i].gone_after_ms > 0) {
            assert_string_not_equal(state_of(f, "a"), "gone");
            pass(f, rows[i].gone_after_ms + 1);
        }
        assert_string_equal(state_of(f, "a"), "gone");
    }
    kf_stop(f);
}

static void delete__again__may_only_hurry(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_make(f, "a", "", "");
    kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=20", NULL), 200, "first");
    struct kf_call *c = kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=60", NULL);
    assert_string_equal(kf_text(c, "metadata.deletionGracePeriodSeconds"), "20");
    c = kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=5", NULL);
    assert_string_equal(kf_text(c, "metadata.deletionGracePeriodSeconds"), "5");
    pass(f, 5001);
    assert_string_equal(state_of(f, "a"), "gone");
    kf_stop(f);
}

static void delete__finalizer__holds_a_pod_that_has_ended(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", "", "");
    kf_expect(kf_patch(f, PODS "/a", MERGE,
                       kf_quoted(f, "{'metadata':{'finalizers':['example.com/hold']}}")),
              200, "finalizer");
    kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=1", NULL), 200, "delete");
    pass(f, 1001);
    assert_string_equal(state_of(f, "a"), "node-0 10.64.0.2 Succeeded False");
    assert_string_equal(pf_slices(f, "web"), "IPv4");
    kf_expect(kf_patch(f, PODS "/a", MERGE, kf_quoted(f, "{'metadata':{'finalizers':null}}")), 200,
              "let go");
    assert_string_equal(state_of(f, "a"), "gone");
    kf_stop(f);
}

static void node__gone__its_pods_go(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    pf_make(f, "b", ",'nodeName':'node-1'", "");
    kf_expect(kf_do(f, "DELETE", "/sim/nodes/node-0", NULL), 200, "remove");
    kf_settle(f);
    assert_string_equal(state_of(f, "a"), "gone");
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP b@node-1=10.64.1.2(rs-)");
    kf_stop(f);
}

static void writes__what_no_pod_may_be__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *field, *says;
    } rows[] = {
        {"{'metadata':{'name':'x'},'spec':{}}", "spec.containers", "Required value"},
        {"{'metadata':{'name':'x'},'spec':{'containers':[{'image':'i'}]}}",
         "spec.containers[0].name", "Required value"},
        {"{'metadata':{'name':'x'},'spec':{'containers':[{'name':'c'}]}}",
         "spec.containers[0].image", "Required value"},
        {"{'metadata':{'name':'X'},'spec':{'containers':[{'name':'c','image':'i'}]}}",
         "metadata.name", "RFC 1123 subdomain"},
        {"{'metadata':{'name':'x'},'spec':{'containers':[{'name':'c','image':'i'},{'name':'c',"
         "'image':'i'}]}}",
         "spec.containers[1].name", "Duplicate value"},
        {"{'metadata':{'name':'x'},'spec':{'containers':[{'name':'c','image':'i','ports':[{"
         "'containerPort':70000}]}]}}",
         "spec.containers[0].ports[0].containerPort", "between 1 and 65535"},
        {"{'metadata':{'name':'x'},'spec':{'restartPolicy':'Now','containers':[{'name':'c',"
         "'image':'i'}]}}",
         "spec.restartPolicy", "Unsupported value: \"Now\""},
        {"{'metadata':{'name':'x'},'spec':{'containers':[{'name':'c','image':'i'}]},'status':{"
         "'podIPs':[{'ip':'10.0.0.1'},{'ip':'10.0.0.2'}]}}",
         "status.podIPs", "no more than one IP for each IP family"},
    };
    struct kf *f = kf_start(&two_nodes);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf_call *c = kf_do(f, "POST", PODS, kf_quoted(f, rows[i].body));
        kf_expect(c, 422, rows[i].body);
        struct json_object *causes = json_path(c->json, "details.causes");
        assert_string_equal(json_str(json_object_array_get_idx(causes, 0), "field"), rows[i].field);
        if (!strstr(kf_text(c, "message"), rows[i].says)) {
            fail_msg("%s: want %s, got %s", rows[i].field, rows[i].says, kf_text(c, "message"));
        }
    }
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    struct kf_call *c = kf_patch(f, PODS "/a", MERGE, "{\"spec\":{\"nodeName\":\"node-1\"}}");
    kf_expect(c, 422, "another node");
    assert_non_null(strstr(kf_text(c, "message"),
                           "spec: Forbidden: pod updates may not change fields other than"));
    c = kf_patch(f, PODS "/a", STRATEGIC,
                 kf_quoted(f, "{'spec':{'containers':[{'name':'c','image':'i:2'}]}}"));
    kf_expect(c, 200, "another image");
    kf_stop(f);
}

static void counts__and_pods__never_serve_one_service(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", "", "");
    struct kf_call *c = kf_do(f, "PUT", "/sim/pods/default/web", "{\"node-0\":1}");
    kf_expect(c, 409, "counts over pods");
    assert_string_equal(kf_text(c, "error"),
                        "service default/web selects the pod a: its EndpointSlices follow from Pod "
                        "objects; delete those, or change them with kubectl");
    kf_expect(kf_do(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL), 200, "delete");
    kf_settle(f);
    kf_expect(kf_do(f, "PUT", "/sim/pods/default/web", "{\"node-1\":1}"), 200, "counts");
    assert_string_equal(pf_slices(f, "web"),
                        "IPv4 http:8080/TCP web-node-1-0@node-1=10.64.1.2(rs-)");
    c = kf_do(f, "POST", PODS, pf_pod(f, "b", "", ""));
    kf_expect(c, 403, "a pod over counts");
    assert_string_equal(kf_text(c, "message"),
                        "pods \"b\" is forbidden: service default/web selects it, whose pods are "
                        "counted by PUT /sim/pods/default/web; take the counts back with DELETE "
                        "/sim/pods/default/web");
    kf_expect(kf_do(f, "DELETE", "/sim/pods/default/web", NULL), 200, "take back");
    kf_expect(kf_do(f, "DELETE", "/sim/pods/default/web", NULL), 404, "take back again");
    pf_make(f, "b", "", "");
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP b@node-0=10.64.0.2(rs-)");
    kf_stop(f);
}

static void without_pods__no_slices__are_written(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    assert_string_equal(pf_slices(f, "web"), "");
    kf_expect(kf_do(f, "POST", PODS "?dryRun=All", pf_pod(f, "a", "", "")), 201, "dry run");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), "");
    kf_stop(f);
}

/* A saved text comes back as it was; the loop continues with it. */
static void world__with_pods__goes_on(void **state)
{
    (void)state;
    struct kf *f = kf_start(&two_nodes);
    pf_service(f, "8080", "");
    pf_make(f, "a", ",'nodeName':'node-0'", "");
    const char *before = pf_slices(f, "web");
    struct kf_call *world = kf_do(f, "GET", "/sim/state", NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state", world->body), 200, "load");
    kf_settle(f);
    assert_string_equal(pf_slices(f, "web"), before);
    pf_make(f, "b", ",'nodeName':'node-0'", "");
    assert_string_equal(pf_slices(f, "web"), "IPv4 http:8080/TCP a@node-0=10.64.0.2(rs-) "
                                             "b@node-0=10.64.0.3(rs-)");
    kf_stop(f);
}

/* A world may hold what no request could make: it is lived with, and what is well
 * formed is served. */
static void world__odd_objects__are_survived(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "{'pods':[{'metadata':{'name':'p','namespace':'default'}}]}",
        "{'pods':[{'metadata':{'name':'p','labels':'x','deletionTimestamp':7},'spec':7,'status':[]}"
        "]}",
        "{'pods':[{'metadata':{'name':'p','labels':{'app':'web'}},'spec':{'containers':[7,null,{'"
        "ports':"
        "[null,7]}]},'status':{'podIPs':[null,7,{'ip':7}],'conditions':[null,7]}}]}",
        "{'pods':[{'metadata':{'name':'p','labels':{'app':null}}}],'services':[{'metadata':{'name':"
        "'s'},"
        "'spec':{'selector':'x','ports':7,'ipFamilies':'IPv4'}}]}",
        "{'pods':[{'metadata':{'name':'p'}}],'services':[{'metadata':{'name':'s','labels':7},'spec'"
        ":{"
        "'selector':{'app':'web'},'ports':[null,{'port':'x'}]}}],'endpointslices':[{'metadata':{'"
        "name':"
        "'s-1','labels':{'kubernetes.io/service-name':'s','endpointslice.kubernetes.io/managed-by':"
        "'endpointslice-controller.k8s.io'}},'addressType':7,'endpoints':{},'ports':7}]}",
        "{'pods':[{'metadata':{'name':'p'}}],'nodes':[{'metadata':{'name':'n','labels':7},'spec':{"
        "'podCIDRs':'x','taints':7},'status':{'addresses':[null,7],'allocatable':{'cpu':{}},"
        "'conditions':7}}]}",
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        const char *world = kf_quoted(f, arena_printf(f->a, "{'kubernetes':%s}", odd[i]));
        kf_expect(kf_do(f, "PUT", "/sim/state", world), 200, odd[i]);
        kf_settle(f);
        (void)kf_patch(f, SERVICES "/s", MERGE, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
        (void)kf_do(f, "DELETE", PODS "/p", NULL);
        kf_expect(kf_do(f, "POST", "/sim/nodes", "{\"count\":1}"), 200, "a node");
        pf_make(f, "a", "", "");
        pf_service(f, "8080", "");
        if (!strstr(pf_slices(f, "web"), " a@node-")) {
            fail_msg("%s: %s", odd[i], pf_slices(f, "web"));
        }
        kf_settle(f);
    }
    kf_stop(f);
}

UNIT_MAIN(pods)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule__fewest_pods_then_name__unless_told),
        cmocka_unit_test(schedule__no_node_takes_it__waits_for_one),
        cmocka_unit_test(status__of_the_manifest__is_kept),
        cmocka_unit_test(delete__takes_its_grace_period),
        cmocka_unit_test(delete__at_once_or_sooner__when_asked),
        cmocka_unit_test(delete__again__may_only_hurry),
        cmocka_unit_test(delete__finalizer__holds_a_pod_that_has_ended),
        cmocka_unit_test(node__gone__its_pods_go),
        cmocka_unit_test(writes__what_no_pod_may_be__is_refused),
        cmocka_unit_test(counts__and_pods__never_serve_one_service),
        cmocka_unit_test(without_pods__no_slices__are_written),
        cmocka_unit_test(world__with_pods__goes_on),
        cmocka_unit_test(world__odd_objects__are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
