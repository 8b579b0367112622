/* SPDX-License-Identifier: Apache-2.0 */
/* aws_flows.c: what each flow of an AWS Service costs, as counts, and what is there after it.
 *
 * One rig per story; each step is one act on the API server after which the controller comes to
 * rest.  A step says how many calls it may make at most (the budget, docs/performance.md) and how
 * many of them write, exactly.  Waves, the longest chain of writes that wait for each other, are
 * those of the plan that the log tells.  With TRIMTAB_FLOWS in the environment the figures are
 * printed as a table. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define NLB      "\"service.beta.kubernetes.io/aws-load-balancer-type\":\"nlb\""
#define PORT80   "{\"name\":\"a\",\"port\":80,\"nodePort\":30080}"
#define PORT443  "{\"name\":\"b\",\"port\":443,\"nodePort\":30443}"

/* ---- rigs ------------------------------------------------------------------------------------ */

static struct rig *start_with(const struct rig_args *args)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    rig_counts_reset(r);
    return r;
}

static struct rig *start(void)
{
    static const char *const flags[] = {"--v=2", NULL};
    return start_with(&(struct rig_args){
        .sim = {.seed = 7, .cloud = "aws", .nodes = 3}, .flags = flags, .log_traffic = false});
}

static void restart(struct rig *r)
{
    struct err err = ERR_INIT;
    assert_true(rig_stop(r));
    rig_counts_reset(r);
    assert_int_equal(rig_start(r, &err), ERR_OK);
    assert_true(rig_settle(r, RIG_SOON));
}

static void create(struct rig *r, const char *name, const char *annotations, const char *spec)
{
    const char *body = arena_printf(rig_arena(r),
                                    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{"
                                    "\"name\":\"%s\",\"annotations\":{%s}"
                                    "},\"spec\":{\"type\":\"LoadBalancer\",%s}}",
                                    name, annotations, spec);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
}

static const char *path_of(struct rig *r, const char *name)
{
    return arena_printf(rig_arena(r), SERVICES "/%s", name);
}

/* ---- what is there --------------------------------------------------------------------------- */

/* "elbv2.LoadBalancers" → how many. */
static size_t there(struct rig *r, const char *kind)
{
    return json_len(json_path(json_member(rig_world(r), "aws"), kind));
}

/* The cloud holds nothing but what the seed made: rules in the groups of nodes are gone, too. */
static void expect_nothing_left(struct rig *r)
{
    struct json_object *ec2 = json_path(rig_world(r), "aws.ec2");
    struct json_object *groups = json_member(ec2, "SecurityGroups");
    assert_int_equal(there(r, "elbv2.LoadBalancers"), 0);
    assert_int_equal(there(r, "elbv2.TargetGroups"), 0);
    assert_int_equal(there(r, "elbv2.Listeners"), 0);
    assert_int_equal(there(r, "elb.LoadBalancerDescriptions"), 0);
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *group = json_object_array_get_idx(groups, i);
        struct json_object *rules = json_member(group, "IpPermissions");
        assert_false(str_has_prefix(json_str(group, "GroupName"), "k8s-"));
        for (size_t k = 0; k < json_len(rules); k++) {
            const char *text = json_object_to_json_string(json_object_array_get_idx(rules, k));
            assert_null(strstr(text, "kubernetes.io/rule"));
        }
    }
}

static const char *host_name(struct rig *r, const char *name)
{
    struct json_object *ingress =
        json_path(rig_get(r, path_of(r, name)), "status.loadBalancer.ingress");
    return json_len(ingress) == 0
               ? ""
               : str_nonnull(json_str(json_object_array_get_idx(ingress, 0), "hostname"));
}

/* The events of a Service without failures.  Ends the controller, because Events may come late. */
static void expect_told(struct rig *r, const char *name)
{
    static const char *const reasons[] = {"EnsuringLoadBalancer", "EnsuredLoadBalancer",
                                          "DeletingLoadBalancer", "DeletedLoadBalancer"};
    assert_true(rig_stop(r));
    struct json_object *events =
        json_member(rig_get(r, "/api/v1/namespaces/default/events"), "items");
    size_t met = 0;
    for (size_t i = 0; i < json_len(events); i++) {
        struct json_object *e = json_object_array_get_idx(events, i);
        bool is_its = str_eq(json_str(json_member(e, "involvedObject"), "name"), name);
        assert_string_equal(json_str(e, "type"), "Normal");
        for (size_t k = 0; is_its && k < ARRAY_LEN(reasons); k++) {
            met += str_eq(json_str(e, "reason"), reasons[k]);
        }
    }
    assert_int_equal(met, ARRAY_LEN(reasons));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The waves of the plans in the log's text: the most of one. */
static int64_t waves_in(const char *log)
{
    int64_t most = 0;
    for (const char *at = strstr(log, "] \"Plan\""); at != NULL;
         at = strstr(at + 1, "] \"Plan\"")) {
        const char *waves = strstr(at, " waves=");
        int64_t n = waves == NULL ? 0 : strtoll(waves + strlen(" waves="), NULL, 10);
        most = n > most ? n : most;
    }
    return most;
}

struct step {
    const char *name;
    int64_t calls; /* at most */
    int64_t writes;
    int64_t waves; /* at most */
};

static int64_t calls_of(struct rig *r)
{
    return rig_calls(r, "aws", "*");
}

/* The calls since the last step (settles first). */
static void expect(struct rig *r, size_t *log_at, const struct step *s)
{
    assert_true(rig_settle(r, RIG_SOON));
    const char *log = rig_log(r);
    int64_t calls = calls_of(r);
    int64_t writes = rig_mutations(r);
    int64_t waves = waves_in(log + *log_at);
    if (getenv("TRIMTAB_FLOWS") != NULL) {
        (void)fprintf(stderr, "%-44s %3lld calls (%lld), %3lld writes, %lld waves\n", s->name,
                      (long long)calls, (long long)s->calls, (long long)writes, (long long)waves);
    }
    if (calls > s->calls || writes != s->writes || waves > s->waves) {
        (void)fputs(log + *log_at, stderr);
        fail_msg("%s: %lld calls (at most %lld), %lld writes (%lld), %lld waves (at most %lld): %s",
                 s->name, (long long)calls, (long long)s->calls, (long long)writes,
                 (long long)s->writes, (long long)waves, (long long)s->waves,
                 json_text(rig_arena(r), json_member(rig_counts(r), "aws"), JSON_SORTED));
    }
    *log_at = strlen(log);
    rig_counts_reset(r);
}

static void patch(struct rig *r, const char *name, const char *body)
{
    assert_int_equal(rig_kube(r, "PATCH", path_of(r, name), body, NULL), 200);
}

static void delete(struct rig *r, const char *name)
{
    assert_int_equal(rig_kube(r, "DELETE", path_of(r, name), NULL, NULL), 200);
}

#define TOUCH  "{\"metadata\":{\"annotations\":{\"example.com/x\":\"1\"}}}"
#define RANGES "{\"spec\":{\"loadBalancerSourceRanges\":[\"10.0.0.0/8\",\"192.0.2.0/24\"]}}"
#define NODE_PORT                                                                                  \
    "{\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30081,\"protocol\":\"TCP\"}]}" \
    "}"

#define ANNOTATE(name, value)                                                                      \
    "{\"metadata\":{\"annotations\":{\"service.beta.kubernetes.io/aws-load-balancer-" name         \
    "\":" value "}}}"

/* ---- network balancers ----------------------------------------------------------------------- */

static void flows__network_balancers__cost_what_they_should(void **state)
{
    struct rig *r = start();
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "first", NLB, "\"ports\":[" PORT80 "," PORT443 "]");
    expect(r, &at, &(struct step){"NLB, 2 ports, the first", 16, 8, 5});
    assert_true(str_has_suffix(host_name(r, "first"), ".elb.us-east-1.amazonaws.com"));
    assert_int_equal(there(r, "elbv2.Listeners"), 2);
    delete (r, "first");
    expect(r, &at, &(struct step){"NLB, 2 ports, delete", 7, 4, 5});
    expect_nothing_left(r);

    create(r, "web", NLB, "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30090}]");
    expect(r, &at, &(struct step){"NLB, 1 port, a further one", 9, 5, 5});
    patch(r, "web", TOUCH);
    expect(r, &at, &(struct step){"NLB, no-op", 6, 0, 0});
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    expect(r, &at, &(struct step){"NLB, node added", 7, 1, 1});
    assert_int_equal(rig_kube(r, "DELETE", "/sim/nodes/node-0", NULL, NULL), 200);
    expect(r, &at, &(struct step){"NLB, node removed", 6, 1, 1});
    patch(r, "web", RANGES);
    expect(r, &at, &(struct step){"NLB, source ranges", 8, 2, 5});
    patch(r, "web", NODE_PORT);
    expect(r, &at, &(struct step){"NLB, node port", 11, 6, 4});
    delete (r, "web");
    expect(r, &at, &(struct step){"NLB, 1 port, delete", 7, 3, 5});
    expect_nothing_left(r);
    assert_null(rig_get(r, path_of(r, "web")));
    expect_told(r, "first");
    rig_free(r);
}

/* The rest of the targets of docs/spec/aws.md 9.1. */
static void flows__network_balancers_edited__cost_what_they_should(void **state)
{
    static const char two[] = "{\"spec\":{\"ports\":[" PORT80 "," PORT443 "]}}";
    static const char one[] = "{\"spec\":{\"ports\":[" PORT80 "]}}";
    static const char udp[] =
        "\"ports\":[{\"name\":\"dns\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}]";
    struct rig *r = start();
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "web", NLB, "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"NLB, 1 port, the first", 11, 5, 2});
    patch(r, "web", two);
    expect(r, &at, &(struct step){"NLB, a port more", 10, 4, 2});
    patch(r, "web", one);
    expect(r, &at, &(struct step){"NLB, a port less", 9, 3, 2});
    patch(r, "web", ANNOTATE("healthcheck-protocol", "\"HTTP\""));
    expect(r, &at, &(struct step){"NLB, health checks by HTTP", 7, 1, 1});
    create(r, "dns", NLB, udp);
    expect(r, &at, &(struct step){"NLB, UDP", 8, 5, 2});
    patch(r, "dns", TOUCH);
    expect(r, &at, &(struct step){"NLB, UDP, no-op", 6, 0, 0});
    delete (r, "dns");
    expect(r, &at, &(struct step){"NLB, UDP, delete", 6, 3, 2});
    delete (r, "web");
    expect(r, &at, &(struct step){"NLB, delete", 6, 3, 2});
    expect_nothing_left(r);
    rig_free(r);
}

/* ---- classic ones ---------------------------------------------------------------------------- */

static void exclude(struct rig *r, const char *node, const char *value)
{
    const char *path = arena_printf(rig_arena(r), "/api/v1/nodes/%s", node);
    const char *body = arena_printf(rig_arena(r),
                                    "{\"metadata\":{\"labels\":{\"node.kubernetes.io/"
                                    "exclude-from-external-load-balancers\":%s}}}",
                                    value);
    assert_int_equal(rig_kube(r, "PATCH", path, body, NULL), 200);
}

static void flows__classic_balancers__cost_what_they_should(void **state)
{
    struct rig *r = start();
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "first", "", "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"classic, 1 port, the first", 13, 6, 5});
    delete (r, "first");
    expect(r, &at, &(struct step){"classic, 1 port, delete", 6, 3, 5});
    expect_nothing_left(r);

    create(r, "web", "", "\"ports\":[" PORT80 "," PORT443 "]");
    expect(r, &at, &(struct step){"classic, 2 ports, a further one", 9, 6, 5});
    assert_true(str_has_suffix(host_name(r, "web"), ".us-east-1.elb.amazonaws.com"));
    patch(r, "web", TOUCH);
    expect(r, &at, &(struct step){"classic, no-op", 3, 0, 0});
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    expect(r, &at, &(struct step){"classic, node added, unknown instance", 4, 1, 1});
    exclude(r, "ip-10-0-0-10.ec2.internal", "\"true\"");
    expect(r, &at, &(struct step){"classic, node removed", 3, 1, 1});
    exclude(r, "ip-10-0-0-10.ec2.internal", "null");
    expect(r, &at, &(struct step){"classic, node added, known instance", 3, 1, 1});
    patch(r, "web", RANGES);
    expect(r, &at, &(struct step){"classic, source ranges", 5, 2, 3});
    delete (r, "web");
    expect(r, &at, &(struct step){"classic, 2 ports, delete", 6, 3, 5});
    expect_nothing_left(r);
    expect_told(r, "first");
    rig_free(r);
}

/* ---- options of [Trimtab] -------------------------------------------------------------------- */

#define NLB_TAGS(text)                                                                             \
    NLB ",\"service.beta.kubernetes.io/aws-load-balancer-additional-resource-tags\":\"" text "\""

static struct rig *start_with_options(const char *options)
{
    static const char *const flags[] = {"--v=2", NULL};
    struct arena *a = arena_new();
    struct rig *r = start_with(
        &(struct rig_args){.sim = {.seed = 7, .cloud = "aws", .nodes = 3},
                           .flags = flags,
                           .cloud_config = arena_printf(a, "<own>\n[Trimtab]\n%s\n", options)});
    arena_free(a);
    return r;
}

/* How many tags with this key and value the balancers' API has. */
static size_t tagged(struct rig *r, const char *key, const char *value)
{
    const char *text = json_text(rig_arena(r), json_path(rig_world(r), "aws.elbv2"), JSON_SORTED);
    const char *tag = arena_printf(rig_arena(r), "{\"Key\":\"%s\",\"Value\":\"%s\"}", key, value);
    size_t n = 0;
    for (const char *at = strstr(text, tag); at != NULL; at = strstr(at + 1, tag)) {
        n++;
    }
    return n;
}

static void options__tags__reach_what_is_there(void **state)
{
    struct rig *r = start_with_options("NLBTags");
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "web", NLB_TAGS("team=a"), "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"NLB with tags", 11, 5, 2});
    assert_int_equal(tagged(r, "team", "a"), 3);
    patch(r, "web", TOUCH);
    expect(r, &at, &(struct step){"NLB with tags, no-op", 7, 0, 0});
    patch(r, "web", ANNOTATE("additional-resource-tags", "\"team=b,env=prod\""));
    expect(r, &at, &(struct step){"NLB, tags", 8, 1, 1});
    assert_int_equal(tagged(r, "team", "b"), 3);
    assert_int_equal(tagged(r, "env", "prod"), 3);
    patch(r, "web", ANNOTATE("additional-resource-tags", "null"));
    expect(r, &at, &(struct step){"NLB, tags are not named any more", 6, 0, 0});
    assert_int_equal(tagged(r, "team", "b"), 3);
    delete (r, "web");
    expect(r, &at, &(struct step){"NLB with tags, delete", 7, 3, 5});
    expect_nothing_left(r);
    rig_free(r);
}

static void options__tags_that_may_not_be_set__are_told_and_hold_nothing_up(void **state)
{
    struct rig *r = start_with_options("NLBTags");
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "web", NLB_TAGS("team=a"), "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"NLB with tags", 11, 5, 2});
    const char *fault =
        "{\"match\":{\"api\":\"aws\",\"op\":\"elbv2.AddTags\"},\"count\":0,"
        "\"do\":\"refuse\",\"status\":403,\"body\":\"<ErrorResponse><Error><Code>AccessDenied"
        "</Code></Error></ErrorResponse>\"}";
    struct err err = ERR_INIT;
    int64_t id = 0;
    assert_int_equal(rig_fault(r, fault, &id, &err), ERR_OK);
    patch(r, "web", ANNOTATE("additional-resource-tags", "\"team=b\""));
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(tagged(r, "team", "a"), 3);
    assert_true(rig_stop(r));
    const char *events =
        json_text(rig_arena(r), rig_get(r, "/api/v1/namespaces/default/events"), JSON_COMPACT);
    assert_non_null(strstr(events, "TagsNotChanged"));
    assert_non_null(strstr(events, "elasticloadbalancing:AddTags"));
    assert_null(strstr(events, "SyncLoadBalancerFailed"));
    rig_free(r);
}

static void options__mixed_protocols__one_listener_where_they_meet(void **state)
{
    struct rig *r = start_with_options("MixedProtocols = true");
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "dns", NLB,
           "\"ports\":[{\"name\":\"t\",\"port\":53,\"nodePort\":30053,\"protocol\":\"TCP\"},"
           "{\"name\":\"u\",\"port\":53,\"nodePort\":30053,\"protocol\":\"UDP\"}," PORT80 "]");
    expect(r, &at, &(struct step){"NLB, TCP_UDP and TCP", 14, 8, 2});
    assert_int_equal(there(r, "elbv2.Listeners"), 2);
    patch(r, "dns", TOUCH);
    expect(r, &at, &(struct step){"NLB, TCP_UDP and TCP, no-op", 7, 0, 0});
    delete (r, "dns");
    expect(r, &at, &(struct step){"NLB, TCP_UDP and TCP, delete", 7, 4, 5});
    expect_nothing_left(r);
    rig_free(r);
}

static size_t zones(struct rig *r)
{
    struct json_object *all = json_path(rig_world(r), "aws.elbv2.LoadBalancers");
    return json_len(json_member(json_object_array_get_idx(all, 0), "AvailabilityZones"));
}

static const char *a_subnet(struct rig *r)
{
    struct json_object *all = json_path(rig_world(r), "aws.ec2.Subnets");
    return json_str(json_object_array_get_idx(all, 0), "SubnetId");
}

static void options__subnets__are_followed(void **state)
{
    struct rig *r = start_with_options("NLBSubnets = true");
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "web", NLB, "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"NLB in three zones", 11, 5, 2});
    assert_int_equal(zones(r), 3);
    const char *host = host_name(r, "web");
    const char *one = arena_printf(rig_arena(r), ANNOTATE("subnets", "\"%s\""), a_subnet(r));
    patch(r, "web", one);
    expect(r, &at, &(struct step){"NLB, to one zone", 7, 1, 1});
    assert_int_equal(zones(r), 1);
    patch(r, "web", ANNOTATE("subnets", "null"));
    expect(r, &at, &(struct step){"NLB, to three zones", 7, 1, 1});
    assert_int_equal(zones(r), 3);
    assert_string_equal(host_name(r, "web"), host);
    rig_free(r);
}

static void options__scheme__makes_another_balancer(void **state)
{
    struct rig *r = start_with_options("ReplaceOnSchemeChange = true");
    size_t at = strlen(rig_log(r));
    (void)state;
    create(r, "web", NLB, "\"ports\":[" PORT80 "]");
    expect(r, &at, &(struct step){"NLB", 11, 5, 2});
    create(r, "shop", "", "\"ports\":[" PORT443 "]");
    expect(r, &at, &(struct step){"classic", 9, 6, 3});
    const char *web = host_name(r, "web");
    const char *shop = host_name(r, "shop");
    patch(r, "web", ANNOTATE("internal", "\"true\""));
    expect(r, &at, &(struct step){"NLB, internal now", 9, 3, 3});
    patch(r, "shop", ANNOTATE("internal", "\"true\""));
    expect(r, &at, &(struct step){"classic, internal now", 7, 4, 3});
    assert_string_not_equal(host_name(r, "web"), web);
    assert_string_not_equal(host_name(r, "shop"), shop);
    assert_int_equal(there(r, "elbv2.LoadBalancers"), 1);
    assert_int_equal(there(r, "elb.LoadBalancerDescriptions"), 1);
    patch(r, "web", TOUCH);
    patch(r, "shop", TOUCH);
    expect(r, &at, &(struct step){"no-op of both", 9, 0, 0});
    delete (r, "web");
    delete (r, "shop");
    assert_true(rig_settle(r, RIG_LATER));
    expect_nothing_left(r);
    rig_free(r);
}

/* ---- after a restart ------------------------------------------------------------------------- */

static void flows__restart_with_few__reads_lists_and_writes_nothing(void **state)
{
    struct rig *r = start();
    size_t at = 0;
    (void)state;
    for (int i = 0; i < 5; i++) {
        const char *port =
            arena_printf(rig_arena(r), "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":%d}%s]",
                         30100 + i, i == 0 ? "," PORT443 : "");
        create(r, arena_printf(rig_arena(r), "svc-%d", i), i < 3 ? NLB : "", port);
    }
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(there(r, "elbv2.LoadBalancers"), 3);
    assert_int_equal(there(r, "elb.LoadBalancerDescriptions"), 2);
    int64_t writes = rig_service_writes(r);
    restart(r);
    assert_true(writes > 0 && rig_service_writes(r) == 0);
    at = strlen(rig_log(r));
    expect(r, &at, &(struct step){"restart with 3 NLBs and 2 classic ones", 20, 0, 0});
    rig_free(r);
}

#define MANY 500 /* half of them of each kind */

/* A Service that the store need not be asked about; ports differ, so that rules do. */
static struct json_object *service_of(struct arena *a, int i)
{
    struct json_object *o = NULL;
    const char *text = arena_printf(
        a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s%d\",\"namespace\":"
        "\"default\",\"uid\":\"%08d-0000-4000-8000-000000000000\",\"annotations\":{%s}},\"spec\":{"
        "\"type\":"
        "\"LoadBalancer\",\"externalTrafficPolicy\":\"Cluster\",\"sessionAffinity\":\"None\","
        "\"ports\":[{\"port\":80,"
        "\"nodePort\":%d,"
        "\"protocol\":\"TCP\"}]}}",
        i, i, i % 2 == 0 ? NLB : "", 30000 + i);
    assert_int_equal(json_parse_arena(a, text, strlen(text), NULL, &o, NULL), ERR_OK);
    return json_object_get(o);
}

/* Cost of a list: pages of AWS, and the part that all share. */
#define LISTS 20

static void flows__restart_with_many__reads_little_of_each(void **state)
{
    static const char *const flags[] = {"--concurrent-service-syncs=8", NULL};
    static const char *const quotas[] = {"rules_per_group=1000", "groups_per_vpc=1000",
                                         "load_balancers=1000",  "classic_load_balancers=1000",
                                         "target_groups=1000",   "targets_per_nlb=1000"};
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    struct step s = {"restart with 250 NLBs and 250 classic ones",
                     MANY / 2 * 32 / 10 + MANY / 2 * 12 / 10 + LISTS, 0, 0};
    const struct rig_args args = {.sim = {.seed = 7,
                                          .cloud = "aws",
                                          .nodes = 3,
                                          .quotas = quotas,
                                          .n_quotas = ARRAY_LEN(quotas)},
                                  .flags = flags};
    (void)state;
    assert_int_equal(rig_new(&args, &r, &err), ERR_OK);
    struct json_object *world = rig_world(r);
    struct json_object *services = json_object_new_array();
    for (int i = 0; i < MANY; i++) {
        json_object_array_add(services, service_of(rig_arena(r), i));
    }
    json_object_object_add(json_member(world, "kubernetes"), "services", services);
    if (rig_load(r, world, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_LATER));
    assert_int_equal(there(r, "elbv2.LoadBalancers"), MANY / 2);
    assert_int_equal(there(r, "elb.LoadBalancerDescriptions"), MANY / 2);
    restart(r);
    size_t at = strlen(rig_log(r));
    expect(r, &at, &s);
    rig_free(r);
}

UNIT_MAIN(aws_flows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows__network_balancers__cost_what_they_should),
        cmocka_unit_test(flows__network_balancers_edited__cost_what_they_should),
        cmocka_unit_test(flows__classic_balancers__cost_what_they_should),
        cmocka_unit_test(options__tags__reach_what_is_there),
        cmocka_unit_test(options__tags_that_may_not_be_set__are_told_and_hold_nothing_up),
        cmocka_unit_test(options__mixed_protocols__one_listener_where_they_meet),
        cmocka_unit_test(options__subnets__are_followed),
        cmocka_unit_test(options__scheme__makes_another_balancer),
        cmocka_unit_test(flows__restart_with_few__reads_lists_and_writes_nothing),
        cmocka_unit_test(flows__restart_with_many__reads_little_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
