/* SPDX-License-Identifier: Apache-2.0 */
/* test_flow.c: how a sync begins and ends: the results for Kubernetes, repeated syncs, and memory.
 *
 * "5.3" is a section of docs/spec/aws.md. */
#include "common/lb/service_rules.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/flow_kit.h"
#include "tests/unit/aws/memory_size.h"

static const struct tt_service *nlb(struct flow_kit *k)
{
    return aws_test_object(k->a, "{\"type\":\"nlb\"}", NULL);
}

static const struct tt_service *classic(struct flow_kit *k)
{
    return aws_test_object(k->a, NULL, NULL);
}

#define MAKES                                                                                      \
    {"CreateTargetGroup", 0,                                                                       \
     "<TargetGroups><member><TargetGroupArn>arn:tg</TargetGroupArn></member></TargetGroups>", 0},  \
        {"CreateListener", 0,                                                                      \
         "<Listeners><member><ListenerArn>arn:l</ListenerArn></member></Listeners>", 0},           \
        {"CreateSecurityGroup", 0, "<groupId>sg-made</groupId>", 0},                               \
        {"elb CreateLoadBalancer", 0, "<DNSName>made.example</DNSName>", 0},                       \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }

/* ---- status ---------------------------------------------------------------------------------- */

static void nlb__by_its_state__has_a_name_or_not(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name, *balancer, *ingress;
    } cases[] = {
        {"active", FLOW_NLB_STATE("active"), "nlb.example"},
        {"provisioning", FLOW_NLB_STATE("provisioning"), "nlb.example"},
        {"failed", FLOW_NLB_STATE("failed"), "-"}, /* 5.3 item 10 */
        {"active_impaired", FLOW_NLB_STATE("active_impaired"), "-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct flow_row rows[] = {{"elbv2 DescribeLoadBalancers", 0, cases[i].balancer, 0}, MAKES};
        k->rows = rows;
        if (flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)) != TT_OK) {
            fail_msg("%s: %s", cases[i].name, k->r.message);
        }
        same_text(cases[i].name, k->r.ingress, cases[i].ingress);
    }
}

static void made__the_name_is_told_at_once(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elbv2 CreateLoadBalancer", 0, FLOW_NLB_STATE("provisioning"), 0},
                              MAKES};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    same_text("nlb", k->r.ingress, "nlb.example");
    assert_int_equal(k->held, 1);
    assert_int_equal(flow_kit_count(k, "elbv2 DescribeLoadBalancers"), 1); /* 5.3: one is enough */
}

static void classic__without_dns_name__no_ingress(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb CreateLoadBalancer", 0, "<DNSName></DNSName>", 0}, MAKES};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    same_text("4.1 item 21", k->r.ingress, "-");
}

/* ---- Services that are not ours, or wrong ---------------------------------------------------- */

static void elsewhere__is_left_alone(void **state)
{
    struct flow_kit *k = *state;
    const struct tt_service *svc = aws_test_object(k->a, "{\"type\":\"external\"}", NULL);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc),
                     TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, svc), TT_OK);
    assert_int_equal(flow_kit_get(k, svc), TT_OK);
    assert_int_equal(k->r.exists, 0);
    same_text("7.3", flow_kit_asked(k), "");
}

static void elsewhere__what_was_known_of_it_is_forgotten(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_int_equal(aws_memory_size(k->p->memory), 1);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP,
                                   aws_test_object(k->a, "{\"type\":\"external\"}", NULL)),
                     TT_OK);
    assert_int_equal(aws_memory_size(k->p->memory), 0);
}

static void wrong__is_refused_before_anything_is_asked__and_deleted_all_the_same(void **state)
{
    struct flow_kit *k = *state;
    const struct tt_service *svc = aws_test_object(k->a, NULL, "\"ports\":[]");
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_INVALID);
    same_text("refused", flow_kit_asked(k), "");
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, svc), TT_OK);
}

static void came(struct flow_kit *k, const char *name, const char *request, size_t want)
{
    size_t got = flow_kit_count(k, request);
    if (got != want) {
        fail_msg("%s: %s: got %zu, want %zu", name, request, got, want);
    }
}

/* A wish that cannot be carried out keeps no node away from a load balancer that stands. */
static void upkeep__whatever_the_service_says__nodes_follow(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name, *notes, *spec;
        bool nlb; /* is what stands */
    } cases[] = {
        {"value", "{\"connection-idle-timeout\":\"5m\"}", NULL, false},
        {"no ports", "{\"type\":\"nlb\"}", "\"ports\":[]", true},
        {"kind", "{\"type\":\"nlb\"}", NULL, false},
        {"other kind", NULL, NULL, true},
        {"groups", "{\"security-groups\":\"sg-none\"}", NULL, false},
        {"ports", NULL, "\"ports\":[{\"port\":81,\"nodePort\":30081,\"protocol\":\"TCP\"}]", false},
        {"ports", "{\"type\":\"nlb\"}",
         "\"ports\":[{\"port\":81,\"nodePort\":30081,\"protocol\":\"UDP\"}]", true},
    };
    struct flow_row classic_rows[] = {FLOW_CLASSIC_IS_FINE};
    struct flow_row nlb_rows[] = {FLOW_NLB_IS_FINE};
    k->nodes = "n1 n2";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        k->rows = cases[i].nlb ? nlb_rows : classic_rows;
        const struct tt_service *svc = aws_test_object(k->a, cases[i].notes, cases[i].spec);
        if (flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc) != TT_OK) {
            fail_msg("%s: %s", cases[i].name, k->r.message);
        }
        came(k, cases[i].name, "Register", 1);
        came(k, cases[i].name, "Listener&", 0);
        came(k, cases[i].name, "Deregister", 0);
        (void)flow_kit_asked(k);
        aws_memory_drop(k->p->memory, svc->uid);
    }
}

#define RANGED(ranges)                                                                             \
    "\"ports\":[{\"port\":81,\"nodePort\":30081,\"protocol\":\"TCP\"}],"                           \
    "\"loadBalancerSourceRanges\":[\"" ranges "\"]"

/* Of a Service that was refused nothing is carried out: rules of nodes stay, and no
 * target leaves for a label. */
static void upkeep__of_a_service_that_was_never_carried_out__by_what_stands(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name, *notes, *spec;
        bool unproven;
        size_t rules, registered, deregistered;
    } cases[] = {
        {"ranges", "{\"type\":\"nlb\"}", RANGED("192.0.2.0/24"), true, 0, 1, 0},
        {"ranges, carried out", "{\"type\":\"nlb\"}", RANGED("192.0.2.0/24"), false, 2, 1, 0},
        {"label", "{\"type\":\"nlb\",\"target-node-labels\":\"name=n2\"}", NULL, true, 0, 1, 0},
        {"label, carried out", "{\"type\":\"nlb\",\"target-node-labels\":\"name=n2\"}", NULL, false,
         0, 1, 1},
    };
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    k->nodes = "n1 n2";
    k->rows = rows;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct tt_service *svc = aws_test_object(k->a, cases[i].notes, cases[i].spec);
        k->unproven = cases[i].unproven;
        if (flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc) != TT_OK) {
            fail_msg("%s: %s", cases[i].name, k->r.message);
        }
        came(k, cases[i].name, "SecurityGroupIngress", cases[i].rules);
        came(k, cases[i].name, " RegisterTargets", cases[i].registered);
        came(k, cases[i].name, "DeregisterTargets", cases[i].deregistered);
        (void)flow_kit_asked(k);
        aws_memory_drop(k->p->memory, svc->uid);
        clock_fake_advance(k->clock, AWS_SETTLES_MS); /* EC2's lists are believed again */
    }
    k->rows = NULL;
}

/* A slip in a label is no outage. */
static void labels__that_no_node_has__take_no_target_out(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    k->nodes = "n1 n2";
    assert_int_equal(
        flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC,
                      aws_test_object(k->a, "{\"target-node-labels\":\"no=node\"}", NULL)),
        TT_OK);
    came(k, "labels", "egisterInstances", 0);
    assert_non_null(strstr(flow_kit_findings(k), "NoNodeHasLabels: "));
    assert_int_equal(TT_OWN_NODES, k->r.own); /* it follows when one has them */
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_int_equal(0, k->r.own);
}

/* AWS' quota is met once: the plan that follows makes room first. */
static void quota__met__what_goes_makes_room(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"RegisterTargets", 400, "TooManyTargets full", 1}, FLOW_NLB_IS_FINE};
    k->rows = rows;
    k->nodes = "n2";
    flow_kit_lets_time_pass(k);
    if (flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, nlb(k)) != TT_OK) {
        fail_msg("%s", k->r.message);
    }
    came(k, "quota", "RegisterTargets", 2);
    came(k, "quota", "DeregisterTargets", 1);
    const char *asked = k->asked.data;
    assert_true(strstr(asked, "DeregisterTargets") <
                strstr(strstr(asked, " RegisterTargets") + 1, " RegisterTargets"));
}

/* A Service of another controller whose status names a load balancer. */
static const struct tt_service *handed(struct flow_kit *k, const char *host, const char *over)
{
    return test_service_text(
        k->a,
        arena_printf(k->a,
                     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
                     "\",\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"],"
                     "\"annotations\":{\"" AWS_ANNOTATION "type\":\"external\",\"" AWS_ANNOTATION
                     "handed-over\":\"%s\"}},\"spec\":{\"type\":\"LoadBalancer\","
                     "\"sessionAffinity\":\"None\"," ONE_PORT
                     "},\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"%s\"}]}}}",
                     over, host));
}

static void hand_over__status_names_ours__it_stays_and_nodes_follow(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    const struct tt_service *svc = handed(k, NAME "-1.elb.example", "no");
    k->rows = rows;
    k->nodes = "n1 n2";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_OK);
    came(k, "edit", "Register", 1);
    came(k, "edit", "Delete", 0);
    same_text("edit", k->r.ingress, "classic.example");
    assert_non_null(strstr(flow_kit_findings(k), "NotHandedOver: "));
    assert_int_equal(k->r.own, TT_OWN_STAYS);
    (void)flow_kit_asked(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc), TT_OK);
    came(k, "nodes", "Register", 1);
}

static void hand_over__done__ours_goes_and_then_the_service_is_let_go(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name, *host, *over, *ingress;
    } cases[] = {
        {"the status names another one", "k8s-web.elb.example", "", "k8s-web.elb.example"},
        {"the owner says so", NAME "-1.elb.example", "true", "-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
        struct flow_row none[] = {{NULL, 0, NULL, 0}};
        const struct tt_service *svc = handed(k, cases[i].host, cases[i].over);
        k->rows = rows;
        if (flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc) != TT_OK) {
            fail_msg("%s: %s", cases[i].name, k->r.message);
        }
        came(k, cases[i].name, "DeleteLoadBalancer ", 1);
        came(k, cases[i].name, "Register", 0);
        assert_int_equal(k->r.own, TT_OWN_GOES);
        same_text(cases[i].name, k->r.ingress, cases[i].ingress);
        assert_true(k->r.again_ms > 0);
        k->rows = none;
        (void)flow_kit_asked(k);
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC,
                                       i == 0 ? svc : handed(k, "", cases[i].over)),
                         TT_IMPLEMENTED_ELSEWHERE);
        same_text("never marked as ours", k->r.dropped, "");
        came(k, cases[i].name, "Delete", 0);
        (void)flow_kit_asked(k);
    }
}

/* The process died after the deletion, or its last answer was lost. */
static void hand_over__ours_has_gone__the_status_that_names_it_is_emptied(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row none[] = {{NULL, 0, NULL, 0}};
    k->rows = none;
    assert_int_equal(
        flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, handed(k, NAME "-1.elb.example", "true")),
        TT_OK);
    same_text("status", k->r.ingress, "-");
    assert_true(k->r.again_ms > 0);
}

static void hand_over__over__the_finalizer_goes(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row none[] = {{NULL, 0, NULL, 0}};
    const struct tt_kv mark = {.key = LB_MARK_ANNOTATION, .value = UID " " NAME "-1.elb.example"};
    struct tt_service svc = *handed(k, "", "true");
    struct tt_kv *notes = ARENA_ARRAY(k->a, struct tt_kv, svc.n_annotations + 1);
    memcpy(notes, svc.annotations, svc.n_annotations * sizeof *notes);
    notes[svc.n_annotations++] = mark;
    svc.annotations = notes;
    k->rows = none;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, &svc),
                     TT_IMPLEMENTED_ELSEWHERE);
    same_text("finalizer", k->r.dropped, "service.kubernetes.io/load-balancer-cleanup");
}

static void credentials__are_wrong__it_is_every_calls_result(void **state)
{
    struct flow_kit *k = *state;
    k->env = "HOME=/nonexistent\n"; /* the instance's role, which it has not */
    flow_kit_lets_time_pass(k);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_AUTH);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_AUTH);
    assert_int_equal(flow_kit_get(k, classic(k)), TT_AUTH);
    assert_true(strstr(k->r.message, "looking for the load balancer: ") == k->r.message);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The controller makes an event of each that is new (controller-sync-findings). */
static void findings__are_in_every_plan_and_no_event_of_the_provider(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    const struct tt_service *svc = aws_test_object(k->a, "{\"internal\":\"true\"}", NULL);
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_OK);
    assert_non_null(strstr(flow_kit_findings(k), "SchemeNotChanged: The load balancer stays"));
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, svc), TT_OK);
    assert_non_null(strstr(flow_kit_findings(k), "SchemeNotChanged: "));
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, svc), TT_OK);
    assert_int_equal(flow_kit_plan(k, svc), TT_OK);
    assert_non_null(strstr(flow_kit_findings(k), "SchemeNotChanged: "));
    same_text("events", flow_kit_events(k), "");
}

#define TAGS(value)                                                                                \
    "<TagDescriptions><member><ResourceArn>" FLOW_ARN "</ResourceArn><Tags><member><Key>team"      \
    "</Key><Value>" value "</Value></member></Tags></member></TagDescriptions>"

/* AWS is asked in a sync of an edit alone, and without the right to it nothing is said. */
static void tags__edited_on_an_nlb_that_is_there__told_by_what_it_has(void **state)
{
    struct flow_kit *k = *state;
    static const struct {
        struct flow_row tags;
        bool told;
    } cases[] = {
        {{"DescribeTags", 0, TAGS("store"), 0}, true},
        {{"DescribeTags", 0, TAGS("shop"), 0}, false},
        {{"DescribeTags", 403, "AccessDenied no", 0}, false},
    };
    const struct tt_service *svc = aws_test_object(
        k->a, "{\"type\":\"nlb\",\"additional-resource-tags\":\"team=shop\"}", NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct flow_row rows[] = {cases[i].tags, FLOW_NLB_IS_FINE};
        k->rows = rows;
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, svc), TT_OK);
        assert_int_equal(flow_kit_count(k, "DescribeTags"), 0);
        (void)flow_kit_findings(k);
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, svc), TT_OK);
        assert_int_equal(flow_kit_count(k, "DescribeTags"), 1);
        assert_int_equal(flow_kit_count(k, "AddTags"), 0);
        bool told = strstr(flow_kit_findings(k), "tag team does not reach the NLB") != NULL;
        assert_int_equal(told, cases[i].told);
        (void)flow_kit_asked(k);
    }
}

/* AWS lets an NLB that was made without groups have none. */
static void groups__named_for_an_nlb_that_has_none__told(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"=sg-1", 0, FLOW_GROUPS(FLOW_GROUP("sg-1", "mine", "", "")), 0},
                              FLOW_NLB_IS_FINE};
    k->rows = rows;
    k->config = "NLBSecurityGroupMode=Managed";
    (void)flow_kit_sync(
        k, TT_VERB_ENSURE, TT_REASON_SPEC,
        aws_test_object(k->a, "{\"type\":\"nlb\",\"security-groups\":\"sg-1\"}", NULL));
    assert_non_null(strstr(flow_kit_findings(k), "was made without security groups"));
}

#define CLOSED                                                                                     \
    "\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}],"                           \
    "\"loadBalancerSourceRanges\":[\"2001:db8::/32\"]"

static void nobody__no_instance_or_no_listener__told_with_the_reason(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    same_text("a node", flow_kit_findings(k), "");
    k->nodes = "";
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_non_null(
        strstr(flow_kit_findings(k), "serves nobody: no node takes part: the cluster has none\n"));
    assert_int_equal(flow_kit_sync(k, TT_VERB_UPDATE, TT_REASON_NODES, classic(k)), TT_OK);
    assert_non_null(strstr(flow_kit_findings(k), "serves nobody: no node takes part"));
    k->nodes = "n1";
    const struct tt_service *svc = aws_test_object(k->a, NULL, "\"ports\":[{\"port\":81}]");
    (void)flow_kit_plan(k, svc);
    assert_non_null(strstr(flow_kit_findings(k), "serves nobody: no port has a node port"));
    svc = aws_test_object(k->a, NULL, CLOSED);
    (void)flow_kit_plan(k, svc);
    assert_non_null(
        strstr(flow_kit_findings(k), "serves nobody: the source ranges allow no client"));
    svc = aws_test_object(k->a, "{\"security-groups\":\"sg-mine\"}", CLOSED);
    (void)flow_kit_plan(k, svc);
    assert_null(strstr(flow_kit_findings(k), "serves nobody")); /* its rules are the owner's */
}

/* Groups that the Service names are served by their own rules. */
static void nobody__named_groups_without_a_rule__told(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *rules;
        bool nobody;
    } cases[] = {
        {"", true},
        {FLOW_RULE("tcp", "80", "192.0.2.0/24", ""), false},
        {FLOW_RULE("tcp", "8080", "0.0.0.0/0", ""), true},
        {FLOW_RULE("udp", "80", "0.0.0.0/0", ""), true},
        {FLOW_PAIR("sg-other"), false},
    };
    struct flow_row rows[] = {{"sg-mine", 0, NULL, 0}, FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *id =
            arena_printf(k->a, "sg-mine%zu", i); /* the clock stands: answers are kept */
        const struct tt_service *svc =
            aws_test_object(k->a, arena_printf(k->a, "{\"security-groups\":\"%s\"}", id), NULL);
        rows[0].body = arena_printf(
            k->a,
            "<securityGroupInfo><item><groupId>%s</groupId><groupName>mine</groupName>"
            "<vpcId>vpc-1</vpcId><groupDescription>x</groupDescription><tagSet></tagSet>"
            "<ipPermissions>%s</ipPermissions></item></securityGroupInfo>",
            id, cases[i].rules);
        (void)flow_kit_plan(k, svc);
        bool says = strstr(flow_kit_findings(k), "serves nobody: the security groups") != NULL;
        if (says != cases[i].nobody) {
            fail_msg("%s: says %d", cases[i].rules, says);
        }
        aws_memory_drop(k->p->memory, svc->uid);
    }
    k->rows = NULL;
}

/* Every reason that an event may have is in the descriptor. */
static void events__have_reasons_of_the_descriptor(void **state)
{
    (void)state;
    static const char *const used[] = {
        "AboveLimit",        "AnnotationIgnored", "NoNodeHasLabels",    "NotHandedOver",
        "PortIgnored",       "SchemeNotChanged",  "SourceRangeIgnored", "SubnetNotChanged",
        "SubnetsNotChanged", "SubnetsNotFound",   "TargetGroupKept",    "TargetRefused",
        "UnknownType"};
    for (size_t i = 0; i < ARRAY_LEN(used); i++) {
        bool is_in = false;
        for (uint32_t n = 0; n < tt_aws_provider.n_event_reasons; n++) {
            is_in = is_in || str_eq(tt_aws_provider.event_reasons[n], used[i]);
        }
        if (!is_in) {
            fail_msg("%s is not among the descriptor's event reasons", used[i]);
        }
    }
}

/* ---- looking again --------------------------------------------------------------------------- */

#define STOPPED                                                                                    \
    "<reservationSet><item><instancesSet><item><instanceId>i-n1</instanceId><instanceState>"       \
    "<name>stopped</name></instanceState><vpcId>vpc-1</vpcId><tagSet>" FLOW_OURS "</tagSet>"       \
    "<groupSet><item><groupId>sg-nodes</groupId><groupName>nodes</groupName></item></groupSet>"    \
    "</item></instancesSet></item></reservationSet>"

static void instances__that_do_not_run__are_looked_at_ever_more_seldom(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"DescribeInstances", 0, STOPPED, 0}, FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    for (int64_t ms = 60000; ms <= 960000; ms *= 2) {
        assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k)), TT_OK);
        assert_true(k->r.again_ms >= ms && k->r.again_ms <= ms + ms / 5);
    }
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k)), TT_OK);
    assert_true(k->r.again_ms >= 960000 && k->r.again_ms <= 1152000);
    rows[0].times = -1; /* it runs */
    clock_fake_advance(k->clock, 60001);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, classic(k)), TT_OK);
    assert_int_equal(k->r.again_ms, 0);
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static void memory__of_a_service__ends_with_it(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_CLASSIC_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, classic(k)), TT_OK);
    assert_int_equal(aws_memory_get(k->p->memory, UID), AWS_KNOWS_NO_NLB);
    assert_int_equal(flow_kit_get(k, classic(k)), TT_OK); /* a look leaves it as it is */
    assert_int_equal(aws_memory_get(k->p->memory, UID), AWS_KNOWS_NO_NLB);
    assert_int_equal(flow_kit_sync(k, TT_VERB_DELETE, TT_REASON_CLEANUP, classic(k)), TT_OK);
    assert_int_equal(aws_memory_size(k->p->memory), 0);
    assert_int_equal(flow_kit_get(k, classic(k)), TT_OK);
    (void)flow_kit_explain(k, classic(k));
    assert_int_equal(aws_memory_size(k->p->memory), 0);
}

/* ---- --repair-adopted ------------------------------------------------------------------------ */

/* Differences that upstream overlooks are repaired on load balancers that trimtab made or edited,
 * or with --repair-adopted. */
static void repairs__of_what_upstream_overlooks(void **state)
{
    struct flow_kit *k = *state;
    const char *fine = FLOW_TARGET_GROUP("<member>" FLOW_ARN "</member>");
    const char *at = strstr(fine, "<UnhealthyThresholdCount>3");
    struct flow_row rows[] = {
        {"DescribeTargetGroups", 0,
         arena_printf(k->a, "%.*s<UnhealthyThresholdCount>5%s", (int)(at - fine), fine,
                      at + strlen("<UnhealthyThresholdCount>3")),
         0},
        FLOW_NLB_IS_FINE};
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyTargetGroup"), 0);
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyTargetGroup"), 0);
    k->puts_right = true; /* whatever brought it up */
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyTargetGroup"), 1);
    k->puts_right = false;
    tt_aws_provider.close(k->p);
    k->p = NULL;
    k->repair_adopted = true;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, nlb(k)), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyTargetGroup"), 2);
}

/* Upstream's listener for "443, 80" is plain; an edit asks for ours. */
static void ssl_ports__with_blanks__wait_for_an_edit(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {FLOW_NLB_IS_FINE};
    const struct tt_service *s = aws_test_object(
        k->a, "{\"type\":\"nlb\",\"ssl-cert\":\"arn:cert\",\"ssl-ports\":\"443, 80\"}", NULL);
    const struct tt_service *before = aws_test_object(
        k->a, "{\"type\":\"nlb\",\"ssl-cert\":\"arn:cert\",\"ssl-ports\":\"443\"}", NULL);
    k->rows = rows;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_RESYNC, s), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyListener"), 0);
    k->previous = before;
    assert_int_equal(flow_kit_sync(k, TT_VERB_ENSURE, TT_REASON_SPEC, s), TT_OK);
    assert_int_equal(flow_kit_count(k, "ModifyListener"), 1);
}

/* ---- get ------------------------------------------------------------------------------------- */

static void get__says_what_is_there(void **state)
{
    struct flow_kit *k = *state;
    const struct {
        const char *name;
        struct flow_row row;
        int32_t exists;
        const char *ingress;
    } cases[] = {
        {"nothing", {"none", 0, "", 0}, 0, ""},
        {"nlb", {"elbv2 DescribeLoadBalancers", 0, FLOW_NLB, 0}, 1, "nlb.example"},
        {"classic", {"elb DescribeLoadBalancers", 0, FLOW_CLASSIC, 0}, 1, "classic.example"},
        {"its group", {"tag-key", 0, FLOW_CLASSIC_GROUPS, 0}, 1, ""},
        {"a rule of nodes",
         {"tag-key", 0,
          FLOW_GROUPS(FLOW_NODES_GROUP(
              FLOW_RULE("tcp", "30080", "0.0.0.0/0", "kubernetes.io/rule/nlb/client=" NAME))),
          0},
         1,
         ""},
        {"a rule of nodes for another one",
         {"tag-key", 0,
          FLOW_GROUPS(FLOW_NODES_GROUP(
              FLOW_RULE("tcp", "30080", "0.0.0.0/0", "kubernetes.io/rule/nlb/client=a2"))),
          0},
         0,
         ""},
        {"a group of the name without our tag",
         {"tag-key", 0,
          FLOW_GROUPS(FLOW_GROUP("sg-own", "k8s-elb-" NAME,
                                 FLOW_TAG("kubernetes.io/cluster/c1", "shared"), "")),
          0},
         0,
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct flow_row rows[] = {cases[i].row, {NULL, 0, NULL, 0}};
        k->rows = rows;
        assert_int_equal(flow_kit_get(k, classic(k)), TT_OK);
        if (k->r.exists != cases[i].exists) {
            fail_msg("%s: exists %d", cases[i].name, (int)k->r.exists);
        }
        same_text(cases[i].name, k->r.ingress, cases[i].ingress);
    }
    assert_int_equal(flow_kit_count(k, "Delete"), 0);
}

static void get__a_failure_says_what_it_was_about(void **state)
{
    struct flow_kit *k = *state;
    struct flow_row rows[] = {{"elb Describe", 403, "AccessDenied no", 0}, {NULL, 0, NULL, 0}};
    k->rows = rows;
    assert_int_equal(flow_kit_get(k, classic(k)), TT_FORBIDDEN);
    same_text("get", k->r.message,
              "looking for the load balancer: DescribeLoadBalancers " NAME
              ": AccessDenied: the controller lacks the "
              "permission elasticloadbalancing:DescribeLoadBalancers: no");
    assert_int_equal(k->r.exists, -1);
}

UNIT_MAIN(flow)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(nlb__by_its_state__has_a_name_or_not),
        FLOW_TEST(made__the_name_is_told_at_once),
        FLOW_TEST(classic__without_dns_name__no_ingress),
        FLOW_TEST(elsewhere__is_left_alone),
        FLOW_TEST(elsewhere__what_was_known_of_it_is_forgotten),
        FLOW_TEST(wrong__is_refused_before_anything_is_asked__and_deleted_all_the_same),
        FLOW_TEST(upkeep__whatever_the_service_says__nodes_follow),
        FLOW_TEST(upkeep__of_a_service_that_was_never_carried_out__by_what_stands),
        FLOW_TEST(labels__that_no_node_has__take_no_target_out),
        FLOW_TEST(quota__met__what_goes_makes_room),
        FLOW_TEST(hand_over__status_names_ours__it_stays_and_nodes_follow),
        FLOW_TEST(hand_over__done__ours_goes_and_then_the_service_is_let_go),
        FLOW_TEST(hand_over__ours_has_gone__the_status_that_names_it_is_emptied),
        FLOW_TEST(hand_over__over__the_finalizer_goes),
        FLOW_TEST(credentials__are_wrong__it_is_every_calls_result),
        FLOW_TEST(findings__are_in_every_plan_and_no_event_of_the_provider),
        FLOW_TEST(tags__edited_on_an_nlb_that_is_there__told_by_what_it_has),
        FLOW_TEST(groups__named_for_an_nlb_that_has_none__told),
        FLOW_TEST(nobody__no_instance_or_no_listener__told_with_the_reason),
        FLOW_TEST(nobody__named_groups_without_a_rule__told),
        FLOW_TEST(events__have_reasons_of_the_descriptor),
        FLOW_TEST(instances__that_do_not_run__are_looked_at_ever_more_seldom),
        FLOW_TEST(memory__of_a_service__ends_with_it),
        FLOW_TEST(repairs__of_what_upstream_overlooks),
        FLOW_TEST(ssl_ports__with_blanks__wait_for_an_edit),
        FLOW_TEST(get__says_what_is_there),
        FLOW_TEST(get__a_failure_says_what_it_was_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
