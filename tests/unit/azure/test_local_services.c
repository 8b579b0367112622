/* SPDX-License-Identifier: Apache-2.0 */
/* test_local_services.c: pools of Local Services under several Standard balancers: whose they are,
 * who is in them, and when they come and go; docs/spec/azure.md 7.7, the events of 4.5, and 17 row
 * 19.
 *
 * The stages run under the real driver with a cloud in memory (stage_rig.h), so that each
 * write is seen. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define ON(lb)                "{\"azure-load-balancer-configurations\":\"" lb "\"}"
#define LOCAL(ports)          "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000," ports
#define PORT                  "\"ports\":[{\"port\":80,\"nodePort\":30080}]"
#define has_pools(r, l, want) same_text(l, stage_rig_elements(r, l, "backendAddressPools"), want)

/* ---- rules ----------------------------------------------------------------------------------- */

static void names__whose_pool_it_is(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *cluster, *name, *pool;
        int want; /* family, or -1 */
    } rows[] = {
        {"kubernetes", "web", "default-web", AZURE_IPV4},
        {"kubernetes", "web", "DEFAULT-Web", AZURE_IPV4},
        {"kubernetes", "web", "default-web-IPv6", AZURE_IPV6},
        {"kubernetes", "web", "default-webs", -1},
        {"kubernetes", "web", "default-we", -1},
        {"kubernetes", "web", "default", -1},
        {"kubernetes", "web", "", -1},
        {"kubernetes", "web", "kubernetes", -1},
        {"kubernetes", "web-ipv6", "default-web-ipv6", AZURE_IPV4},
        {"kubernetes", "web-ipv6", "default-web-ipv6-ipv6", AZURE_IPV6},
        /* 17 row 19: the cluster's own */
        {"default-web", "web", "default-web", -1},
        {"Default-Web", "web", "default-web-IPv6", -1},
        {"default-web-ipv6", "web", "default-web", AZURE_IPV4},
    };
    struct azure_lb_config lb = {.name = "lb1"};
    struct azure_config c = azure_test_config();
    c.lbs = &lb;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_naming n = {.config = &c, .cluster = rows[i].cluster};
        const struct tt_service *s = azure_test_service(a, rows[i].name, NULL, "\"ports\":[]");
        enum azure_family f = AZURE_IPV4;
        c.n_lbs = 1;
        bool owns = azure_local_owns_pool(&n, s, rows[i].pool, &f);
        if ((owns ? (int)f : -1) != rows[i].want) {
            fail_msg("%s of %s: got %d", rows[i].pool, rows[i].name, owns ? (int)f : -1);
        }
        c.n_lbs = 0; /* one pair of balancers has no such pools */
        assert_false(azure_local_owns_pool(&n, s, rows[i].pool, &f));
    }
}

#define ID(pool) "{\"id\":\"/lb/backendAddressPools/" pool "\"}"

static void leftovers__go_unless_something_points_to_them(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *what, *more;
        bool keep4;
        const char *want;
    } rows[] = {
        {"both go", "", false, "kubernetes"},
        {"one family stays", "", true, "default-web kubernetes"},
        {"a rule of somebody",
         ",\"loadBalancingRules\":[{\"properties\":{\"backendAddressPool\":" ID(
             "default-web") "}}]",
         false, "default-web kubernetes"},
        {"a rule with several pools",
         ",\"loadBalancingRules\":[{\"properties\":{\"backendAddressPools\":[" ID("x") "," ID(
             "DEFAULT-web-ipv6") "]}}]",
         false, "default-web-ipv6 kubernetes"},
        {"an outbound rule",
         ",\"outboundRules\":[{\"properties\":{\"backendAddressPool\":" ID("default-web") "}}]",
         false, "default-web kubernetes"},
        {"a NAT rule",
         ",\"inboundNatRules\":[{\"properties\":{\"backendAddressPool\":" ID("default-web") "}}]",
         false, "default-web kubernetes"},
    };
    struct azure_lb_config lb = {.name = "lb1"};
    struct azure_config c = azure_test_config();
    c.lbs = &lb;
    c.n_lbs = 1;
    const struct azure_naming n = {.config = &c, .cluster = "kubernetes"};
    const struct tt_service *s = azure_test_service(a, "web", NULL, "\"ports\":[]");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *doc = pure_json(
            a, arena_printf(
                   a,
                   "{\"properties\":{\"backendAddressPools\":[{\"name\":\"default-web\",\"id\":"
                   "\"/lb/backendAddressPools/default-web\"},{\"name\":\"default-web-ipv6\","
                   "\"id\":\"/lb/backendAddressPools/default-web-ipv6\"},"
                   "{\"name\":\"kubernetes\"}]%s}}",
                   rows[i].more));
        const bool keep[AZURE_FAMILIES] = {rows[i].keep4, false};
        const char *left = "";
        struct json_object *o;
        assert_true(azure_local_drop_pools(&n, s, keep, doc));
        assert_false(azure_local_drop_pools(&n, s, keep, doc));
        AZURE_EACH (o, azure_array(doc, "backendAddressPools")) {
            left = arena_printf(a, "%s%s%s", left, left[0] != '\0' ? " " : "", azure_doc_name(o));
        }
        same_text(rows[i].what, left, rows[i].want);
    }
}

static void delay__all_Services_share_the_moments(void **state)
{
    static const struct {
        int64_t interval, now, want;
    } rows[] = {{30000, 0, 30000},     {30000, 1, 29999},     {30000, 29999, 1},
                {30000, 30000, 30000}, {30000, 61000, 29000}, {1000, 123456789, 211}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_local_delay_ms(rows[i].interval, rows[i].now), rows[i].want);
    }
}

/* ---- flows ----------------------------------------------------------------------------------- */

static void make_multi(struct stage_rig *r)
{
    stage_rig_two_balancers(r);
    stage_rig_add_node(r, "n0", "10.0.1.0");
    stage_rig_add_node(r, "n1", "10.0.1.1");
    stage_rig_add_node(r, "n2", "10.0.1.2");
}

/* "10.0.1.0 10.0.1.1": who is in the pool. */
static const char *members(struct stage_rig *r, const char *lb, const char *pool)
{
    struct json_object *doc =
        azure_find(azure_array(stage_rig_doc(r, AZURE_LBS, lb), "backendAddressPools"), pool);
    const char *text = "";
    struct json_object *o;
    AZURE_EACH (o, azure_array(doc, "loadBalancerBackendAddresses")) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? " " : "",
                            azure_prop_str(o, "ipAddress"));
    }
    return text;
}

static struct rig_service *add_local(struct stage_rig *r, const char *name, const char *lb,
                                     const char *hosts)
{
    struct rig_service *s = stage_rig_add(
        r, name, arena_printf(r->a, "{\"azure-load-balancer-configurations\":\"%s\"}", lb),
        LOCAL(PORT));
    s->hosts = hosts;
    return s;
}

/* Effects of a change of EndpointSlices. */
static void endpoints_move(struct rig_service *s, const char *hosts)
{
    s->hosts = hosts;
    s->verb = TT_VERB_UPDATE;
    s->reasons = TT_REASON_ENDPOINTS;
}

static void created__only_nodes_with_endpoints(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1 N2 gone");
    struct rig_service *api = stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    has_pools(r, "lb1", "kubernetes default-web");
    same_text("web", members(r, "lb1", "default-web"), "10.0.1.1 10.0.1.2");
    same_text("api", members(r, "lb1", "kubernetes"), "10.0.1.0 10.0.1.1 10.0.1.2");
    same_text("nobody is told of a pool that was made", r->events, "");
    stage_rig_settled(r);
}

static void endpoints_changed__one_write_and_an_event(void **state)
{
    struct stage_rig *r = *state;
    static const struct {
        const char *hosts, *members;
    } rows[] = {
        {"n0 n1", "10.0.1.1 10.0.1.0"},
        {"n0", "10.0.1.0"},
        {"", ""}, /* no node: the pool may be empty */
        {"n2 n2 n2", "10.0.1.2"},
    };
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    (void)stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        endpoints_move(web, rows[i].hosts);
        stage_rig_run(r);
        succeeded(web);
        written(r, "members: change backend address pool lb1/default-web [web]\n");
        same_text(rows[i].hosts, members(r, "lb1", "default-web"), rows[i].members);
        same_text("event", r->events, "web LoadBalancerBackendPoolUpdated\n");
        stage_rig_settled(r);
    }
    endpoints_move(web, "n2");
    stage_rig_run(r);
    written(r, "");
    same_text("nothing to tell", r->events, "");
}

static void endpoints_of_many__one_write_per_pool(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    struct rig_service *api = add_local(r, "api", "lb2", "n1");
    struct rig_service *one = add_local(r, "one", "lb1", "n1");
    stage_rig_run(r);
    endpoints_move(web, "n2");
    endpoints_move(api, "n2");
    endpoints_move(one, "n1");
    stage_rig_run(r);
    written(r, "members: change backend address pool lb1/default-web [web]\n"
               "members: change backend address pool lb2/default-api [api]\n");
    same_text("one", members(r, "lb1", "default-one"), "10.0.1.1");
}

/* All nodes are behind lb1, and stay there. */
static void balancer_without_nodes__serves_nobody_and_says_so(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *api = stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    succeeded(api);
    same_text("all are behind lb1", r->nobody, NULL);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb2"), NULL);
    stage_rig_run(r);
    succeeded(web);
    same_text("none is behind lb2", r->nobody,
              "no node is behind load balancer lb2: those that take part are of other VM sets, or "
              "behind other load balancers");
    web->annotations = ON("lb1");
    web->verb = TT_VERB_ENSURE;
    r->nobody = NULL;
    stage_rig_run(r);
    same_text("back", r->nobody, NULL);
}

static void write_fails__a_warning_and_again(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    stage_rig_run(r);
    r->fail = "default-web";
    r->fail_times = 1;
    r->fail_code = ERR_FORBIDDEN;
    r->fail_message = "AuthorizationFailed";
    endpoints_move(web, "n2");
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    same_text("event", r->events, "web LoadBalancerBackendPoolUpdateFailed\n");
    same_text("members", members(r, "lb1", "default-web"), "10.0.1.1");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("members", members(r, "lb1", "default-web"), "10.0.1.2");
}

/* Another program deleted the balancer or the pool: the next full sync makes it again. */
static void pool_gone__dropped_without_a_word(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    stage_rig_run(r);
    r->fail = "default-web";
    r->fail_times = 1;
    r->fail_code = ERR_NOT_FOUND;
    r->fail_message = "NotFound";
    endpoints_move(web, "n2");
    stage_rig_run(r);
    succeeded(web);
    same_text("event", r->events, "");
}

/* "a-b/c" and "a/b-c" have one pool. */
static void one_name_of_two_Services__nodes_of_both(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *one = add_local(r, "c", "lb1", "n0");
    struct rig_service *two = add_local(r, "b-c", "lb1", "n1");
    one->ns = "a-b";
    two->ns = "a";
    stage_rig_run(r);
    succeeded(one);
    succeeded(two);
    has_pools(r, "lb1", "a-b-c");
    same_text("both", members(r, "lb1", "a-b-c"), "10.0.1.0 10.0.1.1");
    endpoints_move(one, "n2");
    stage_rig_run(r);
    same_text("the other's stay", members(r, "lb1", "a-b-c"), "10.0.1.1 10.0.1.2");
    stage_rig_settled(r);
    one->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(one);
    has_pools(r, "lb1", "a-b-c");
    two->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    same_text("only its own", members(r, "lb1", "a-b-c"), "10.0.1.1");
    two->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(two);
    same_text("balancers", stage_rig_names(r, AZURE_LBS), "");
}

static void node_gone__leaves_its_pools(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1 n2");
    stage_rig_run(r);
    r->n_nodes = 2; /* n2 is gone, its endpoint not yet */
    web->verb = TT_VERB_UPDATE;
    web->reasons = TT_REASON_NODES;
    stage_rig_run(r);
    same_text("members", members(r, "lb1", "default-web"), "10.0.1.1");
    same_text("nodes are no endpoints", r->events, "");
}

static void endpoints_not_known__members_stay(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    stage_rig_run(r);
    web->hosts = NULL;
    stage_rig_settled(r);
    same_text("members", members(r, "lb1", "default-web"), "10.0.1.1");
}

static void policy_changes__its_pool_comes_and_goes(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    stage_rig_run(r);
    has_pools(r, "lb1", "default-web");
    web->spec = PORT;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "balancers: change load balancer lb1 [web]\n"
               "members: change backend address pool lb1/kubernetes [web]\n");
    has_pools(r, "lb1", "kubernetes");
    stage_rig_settled(r);
    web->spec = LOCAL(PORT);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "balancers: change load balancer lb1 [web]\n"
               "members: change backend address pool lb1/default-web [web]\n");
    has_pools(r, "lb1", "kubernetes default-web");
    stage_rig_settled(r);
}

static void moves__its_pool_goes_with_it(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    (void)stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    web->annotations = ON("lb2");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "balancers: change load balancer lb1 [web]\n"
               "balancers: create load balancer lb2 [web]\n"
               "members: change backend address pool lb2/default-web [web]\n");
    has_pools(r, "lb1", "kubernetes");
    same_text("members", members(r, "lb2", "default-web"), "10.0.1.1");
    stage_rig_settled(r);
}

static void deleted__nothing_is_left(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    (void)stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    has_pools(r, "lb1", "kubernetes");
    same_text("rules", stage_rig_elements(r, "lb1", "loadBalancingRules"), "aapi-TCP-80");
}

static void loses_a_family__its_pool_goes(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    web->spec = LOCAL("\"ipFamilies\":[\"IPv4\",\"IPv6\"]," PORT);
    stage_rig_run(r);
    has_pools(r, "lb1", "default-web default-web-ipv6");
    web->spec = LOCAL("\"ipFamilies\":[\"IPv4\"]," PORT);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    has_pools(r, "lb1", "default-web");
    stage_rig_settled(r);
}

/* Leftovers of an interrupted run, or of upstream, on a balancer where the Service has nothing
 * else. */
static void left_behind_elsewhere__goes_with_the_next_sync(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    (void)stage_rig_add(r, "api", ON("lb2"), NULL);
    stage_rig_run(r);
    struct json_object *lb2 = azure_copy(r->a, stage_rig_doc(r, AZURE_LBS, "lb2"));
    const char *id = arena_printf(r->a, "%s/backendAddressPools/default-web", azure_doc_id(lb2));
    (void)json_object_array_add(
        azure_array(lb2, "backendAddressPools"),
        json_object_get(
            pure_json(r->a, arena_printf(r->a, "{\"name\":\"default-web\",\"id\":\"%s\"}", id))));
    (void)stage_rig_put(r, AZURE_LBS, json_text(r->a, lb2, JSON_COMPACT));
    has_pools(r, "lb2", "kubernetes default-web");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "balancers: change load balancer lb2 [web]\n");
    has_pools(r, "lb2", "kubernetes");
    stage_rig_settled(r);
}

/* 17 row 19. */
static void named_as_the_cluster__all_nodes_and_it_stays(void **state)
{
    struct stage_rig *r = *state;
    make_multi(r);
    r->p.naming.cluster = "default-web";
    struct rig_service *web = add_local(r, "web", "lb1", "n1");
    struct rig_service *api = stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_run(r);
    succeeded(web);
    same_text("members", members(r, "lb1", "default-web"), "10.0.1.0 10.0.1.1 10.0.1.2");
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    has_pools(r, "lb1", "default-web");
    succeeded(api);
}

/* ---- nodes without a balancer ---------------------------------------------------------------- */

static void node_without_balancer__told_once(void **state)
{
    struct stage_rig *r = *state;
    struct err err = ERR_INIT;
    make_multi(r);
    struct azure_lb_config *lbs = (struct azure_lb_config *)(uintptr_t)r->p.config.lbs;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(azure_selector_decode(r->a,
                                               pure_json(r->a, "{\"matchLabels\":{\"k\":\"v\"}}"),
                                               &lbs[i].nodes, &err),
                         ERR_OK);
    }
    struct rig_service *web = stage_rig_add(r, "web", ON("lb1"), NULL);
    struct rig_service *api = stage_rig_add(r, "api", ON("lb1"), NULL);
    stage_rig_plan(r);
    same_text("a plan tells nothing", r->events, "");
    stage_rig_run(r);
    same_text("events", r->events, "api FailedToFindLoadBalancerForNode\n");
    same_text("members", members(r, "lb1", "kubernetes"), "");
    web->verb = api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    same_text("it is known", r->events, "");
    lbs[0].nodes = (struct azure_selector){0};
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    same_text("they have a place", r->events, "");
    same_text("members", members(r, "lb1", "kubernetes"), "10.0.1.0 10.0.1.1 10.0.1.2");
    lbs[0].nodes = lbs[1].nodes;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    same_text("and lose it", r->events, "web FailedToFindLoadBalancerForNode\n");
}

UNIT_MAIN(local_services)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(names__whose_pool_it_is),
        PURE_TEST(leftovers__go_unless_something_points_to_them),
        PURE_TEST(delay__all_Services_share_the_moments),
        RIG_TEST(created__only_nodes_with_endpoints),
        RIG_TEST(endpoints_changed__one_write_and_an_event),
        RIG_TEST(endpoints_of_many__one_write_per_pool),
        RIG_TEST(balancer_without_nodes__serves_nobody_and_says_so),
        RIG_TEST(write_fails__a_warning_and_again),
        RIG_TEST(pool_gone__dropped_without_a_word),
        RIG_TEST(one_name_of_two_Services__nodes_of_both),
        RIG_TEST(node_gone__leaves_its_pools),
        RIG_TEST(endpoints_not_known__members_stay),
        RIG_TEST(policy_changes__its_pool_comes_and_goes),
        RIG_TEST(moves__its_pool_goes_with_it),
        RIG_TEST(deleted__nothing_is_left),
        RIG_TEST(loses_a_family__its_pool_goes),
        RIG_TEST(left_behind_elsewhere__goes_with_the_next_sync),
        RIG_TEST(named_as_the_cluster__all_nodes_and_it_stays),
        RIG_TEST(node_without_balancer__told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
