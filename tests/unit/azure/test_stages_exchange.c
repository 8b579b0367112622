/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_exchange.c: Services of one batch that stand in each other's way: they exchange ports
 * at a shared address, or their addresses; under the real driver, with a cloud in memory
 * (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "common/base/str.h"
#include "tests/support/unit.h"

#include <limits.h>

#define INTERNAL "{\"azure-load-balancer-internal\":\"true\"}"
#define AT(ip)   "{\"azure-load-balancer-ipv4\":\"" ip "\"}"
#define PORT(p, n)                                                                                 \
    "\"ports\":[{\"name\":\"a\",\"port\":" #p ",\"protocol\":\"TCP\",\"nodePort\":" #n "}]"

static void ask(struct rig_service *s, const char *annotations, const char *spec)
{
    s->annotations = annotations;
    s->spec = spec;
    s->verb = TT_VERB_ENSURE;
}

static void ports__exchanged_at_a_shared_address__both_get_them_in_one_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30080));
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", AT("20.0.0.1"), PORT(81, 30081));
    stage_rig_run(r);
    succeeded(api);
    ask(web, NULL, PORT(81, 30080));
    ask(api, AT("20.0.0.1"), PORT(80, 30081));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    written(r, "balancers: change load balancer kubernetes [api web]\n");
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              "aapi-TCP-80 aweb-TCP-81");
    same_text("security", stage_rig_rules(r), "80>20.0.0.1 81>20.0.0.1");
    stage_rig_settled(r);
}

/* Without floating IP traffic arrives at node ports, which are new ones with the ports: these are
 * open before the balancer sends it there, and the former ones are closed after. */
static void ports__exchanged_without_floating_ip__let_in_before(void **state)
{
    struct stage_rig *r = *state;
    const char *sinks = "{\"azure-disable-load-balancer-floating-ip\":\"true\"}";
    const char *shares = "{\"azure-disable-load-balancer-floating-ip\":\"true\","
                         "\"azure-load-balancer-ipv4\":\"20.0.0.1\"}";
    stage_rig_two_balancers(r);
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", sinks, PORT(80, 30080));
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", shares, PORT(81, 30081));
    stage_rig_run(r);
    succeeded(api);
    ask(web, sinks, PORT(81, 30181));
    ask(api, shares, PORT(80, 30180));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    written(r, "admit: change network security group nsg [api web]\n"
               "balancers: change load balancer lb1 [api web]\n"
               "security: change network security group nsg [web]\n");
    same_text("rules", stage_rig_rules(r), "30181>10.0.1.0 30180>10.0.1.0");
    stage_rig_settled(r);
}

/* Of three that pass their ports on in a ring one asks for what is not: none leaves what the
 * others wait for. */
static void ports__in_a_ring_with_one_that_cannot__all_keep_theirs(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30080));
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", AT("20.0.0.1"), PORT(81, 30081));
    struct rig_service *doc = stage_rig_add(r, "doc", AT("20.0.0.1"), PORT(82, 30082));
    stage_rig_run(r);
    ask(web, NULL, PORT(81, 30080));
    ask(api, AT("20.0.0.1"), PORT(82, 30081));
    ask(doc,
        "{\"azure-load-balancer-ipv4\":\"20.0.0.1\","
        "\"azure-load-balancer-tcp-idle-timeout\":\"3\"}",
        PORT(80, 30082));
    stage_rig_run(r);
    assert_int_equal(web->code, TT_IN_USE);
    assert_int_equal(api->code, TT_IN_USE);
    assert_int_equal(doc->code, TT_INVALID);
    written(r, "");
    ask(web, NULL, PORT(81, 30080));
    ask(api, AT("20.0.0.1"), PORT(82, 30081));
    ask(doc, AT("20.0.0.1"), PORT(80, 30082));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    succeeded(doc);
    stage_rig_settled(r);
}

/* A Service without a conflict, and one that asks for a port that a third one keeps, change nothing
 * for the two. */
static void ports__exchanged_beside_a_refused_one__the_two_get_them(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30080));
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", AT("20.0.0.1"), PORT(81, 30081));
    (void)stage_rig_add(r, "keeps", AT("20.0.0.1"), PORT(83, 30083));
    struct rig_service *doc = stage_rig_add(r, "doc", AT("20.0.0.1"), PORT(82, 30082));
    stage_rig_run(r);
    ask(web, NULL, PORT(81, 30080));
    ask(api, AT("20.0.0.1"), PORT(80, 30081));
    ask(doc, AT("20.0.0.1"), PORT(83, 30082));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    assert_int_equal(doc->code, TT_IN_USE);
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"),
              "adoc-TCP-82 akeeps-TCP-83 aapi-TCP-80 aweb-TCP-81");
}

static void addresses__exchanged_in_one_batch__both_get_them(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", NULL, PORT(80, 30080));
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30081));
    stage_rig_run(r);
    same_text("api", api->status, "20.0.0.1");
    same_text("web", web->status, "20.0.0.2");
    ask(api, AT("20.0.0.2"), PORT(80, 30080));
    ask(web, AT("20.0.0.1"), PORT(80, 30081));
    stage_rig_run(r);
    succeeded(api);
    succeeded(web);
    same_text("api", api->status, "20.0.0.2");
    same_text("web", web->status, "20.0.0.1");
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"),
              "aapi aweb");
    stage_rig_settled(r);
    /* And back. */
    ask(api, NULL, PORT(80, 30080));
    ask(web, NULL, PORT(80, 30081));
    stage_rig_run(r);
    succeeded(api);
    succeeded(web);
    stage_rig_settled(r);
}

/* Alone it asks for an address at which its port is another Service's: nothing is written, so no
 * tag of it is left there. */
static void address__of_another_with_the_same_port__refused_before_the_first_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", NULL, PORT(80, 30080));
    (void)stage_rig_add(r, "web", NULL, PORT(80, 30081));
    stage_rig_run(r);
    ask(api, AT("20.0.0.2"), PORT(80, 30080));
    stage_rig_run(r);
    assert_int_equal(api->code, TT_IN_USE);
    written(r, "");
    ask(api, AT("20.0.0.2"), PORT(80, 30080));
    stage_rig_plan(r);
    written(r, "");
    ask(api, NULL, PORT(80, 30080));
    stage_rig_run(r);
    succeeded(api);
    written(r, "");
}

#define INSIDE(ip)                                                                                 \
    "{\"azure-load-balancer-internal\":\"true\",\"azure-load-balancer-ipv4\":\"" ip "\"}"

/* A write of its own gives a private address up first, and the plan says so before. */
static void private_addresses__exchanged__are_given_up_first(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", INSIDE("10.0.0.70"), PORT(80, 30080));
    struct rig_service *web = stage_rig_add(r, "web", INSIDE("10.0.0.71"), PORT(80, 30081));
    stage_rig_run(r);
    ask(api, INSIDE("10.0.0.71"), PORT(80, 30080));
    ask(web, INSIDE("10.0.0.70"), PORT(80, 30081));
    stage_rig_plan(r);
    const char *planned = r->log;
    ask(api, INSIDE("10.0.0.71"), PORT(80, 30080));
    ask(web, INSIDE("10.0.0.70"), PORT(80, 30081));
    stage_rig_run(r);
    same_text("as planned", r->log, planned);
    succeeded(api);
    succeeded(web);
    written(r, "balancers: change load balancer kubernetes-internal [api web]\n"
               "balancers: change load balancer kubernetes-internal [api web]\n");
    same_text("api", api->status, "10.0.0.71");
    same_text("web", web->status, "10.0.0.70");
    stage_rig_settled(r);
}

static void private_addresses__exchange_refused__former_frontends_are_put_back(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", INSIDE("10.0.0.70"), PORT(80, 30080));
    struct rig_service *web = stage_rig_add(r, "web", INSIDE("10.0.0.71"), PORT(80, 30081));
    stage_rig_run(r);
    ask(api, INSIDE("10.0.0.71"), PORT(80, 30080));
    ask(web, INSIDE("10.0.0.70"),
        "\"ports\":[{\"name\":\"a\",\"port\":81,\"protocol\":\"TCP\","
        "\"nodePort\":30081}]");
    r->poison = "aweb-TCP-81";
    stage_rig_run(r);
    assert_int_not_equal(web->code, TT_OK);
    same_text("frontends", stage_rig_elements(r, "kubernetes-internal", "frontendIPConfigurations"),
              "aapi aweb");
    same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
              "aapi-TCP-80 aweb-TCP-80");
}

/* The status still tells the address of the Service with which it shared the frontend. */
static void private_address__shared_no_more__another_one_is_taken(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", INSIDE("10.0.0.70"), PORT(80, 30080));
    stage_rig_run(r);
    struct rig_service *web = stage_rig_add(r, "web", INSIDE("10.0.0.70"), PORT(81, 30081));
    stage_rig_run(r);
    succeeded(web);
    same_text("shared", web->status, "10.0.0.70");
    ask(web, INTERNAL, PORT(81, 30081));
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    same_text("api", api->status, "10.0.0.70");
    assert_string_not_equal(web->status, "10.0.0.70");
    same_text("frontends", stage_rig_elements(r, "kubernetes-internal", "frontendIPConfigurations"),
              "aapi aweb");
    stage_rig_settled(r);
}

/* A port, and n ranges in 10.0.0.0/8 or another block. */
static const char *with_ranges(struct arena *a, int block, int n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, PORT(80, 30080) ",\"loadBalancerSourceRanges\":[");
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%s\"%d.%d.%d.0/25\"", i > 0 ? "," : "", block, i / 256, i % 256);
    }
    str_append(&b, "]");
    return str_buf_to_arena(&b, a);
}

/* A balancer with as many frontends as Azure allows: no public IP is made for one more. */
static void full_balancer__a_new_service__refused_before_the_first_write(void **state)
{
    struct stage_rig *r = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{\"name\":\"kubernetes\",\"sku\":{\"name\":\"Standard\"},\"properties\":{"
                   "\"frontendIPConfigurations\":[");
    for (int i = 0; i < 600; i++) {
        str_appendf(&b, "%s{\"name\":\"f%d\",\"properties\":{}}", i > 0 ? "," : "", i);
    }
    str_append(&b, "]}}");
    (void)stage_rig_put(r, AZURE_LBS, str_buf_text(&b));
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30080));
    stage_rig_run(r);
    assert_int_equal(web->code, TT_QUOTA);
    same_text("message", web->message,
              "load balancer kubernetes: load balancer kubernetes would have 601 frontends, but "
              "Azure allows 600");
    written(r, "");
}

/* Half of a group's 4,000 source addresses are there: a Service with more of its own than are left
 * gets no public IP; a smaller one does. */
static void ranges__more_than_the_group_takes__refused_before_the_first_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = stage_rig_add(r, "api", NULL, with_ranges(r->a, 10, 2000));
    stage_rig_run(r);
    succeeded(api);
    struct rig_service *web = stage_rig_add(r, "web", NULL, with_ranges(r->a, 11, 2001));
    stage_rig_plan(r);
    assert_int_equal(web->code, TT_QUOTA);
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    assert_int_equal(web->code, TT_QUOTA);
    same_text("message", web->message,
              "the security group exceeds the maximum number of source IP addresses "
              "(4001 > 4000)");
    written(r, "");
    ask(web, NULL, with_ranges(r->a, 11, 2000));
    stage_rig_run(r);
    succeeded(web);
    stage_rig_settled(r);
}

/* Azure counts the rules of each network interface, and says how many it takes when it refuses one
 * more: later Services make no public IP for an hour.  What stands is edited as before. */
static void full_interfaces__once_told__refused_before_the_first_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, PORT(80, 30080));
    stage_rig_run(r);
    succeeded(web);
    struct rig_service *api = stage_rig_add(r, "api", NULL, PORT(81, 30081));
    r->fail = "kubernetes";
    r->fail_times = UINT_MAX;
    r->fail_code = ERR_QUOTA;
    r->fail_message = "SomeLimitReached: IpConfiguration /x cannot have more than 1 NAT or load "
                      "balancing rules combined.";
    stage_rig_run(r);
    assert_int_equal(api->code, TT_QUOTA);
    r->fail_times = 0;
    api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    same_text("message", api->message,
              "load balancer kubernetes: the network interfaces behind load balancer kubernetes "
              "would have 2 rules, but Azure allows 1 for each; public IP kubernetes-aapi, which "
              "was made for it, stays for the next try");
    written(r, "");
    ask(web, NULL, PORT(82, 30082));
    stage_rig_run(r);
    succeeded(web);
    r->p.rules_per_nic_until_ms = 0;
    api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(api);
}

/* A permission for a frontend that Azure then refuses goes at once. */
static void admitted__for_a_refused_balancer__goes_at_once(void **state)
{
    static const struct {
        const char *before, *after;
    } rows[] = {
        {NULL, AT("20.0.0.2")},
        {NULL, "{\"azure-disable-load-balancer-floating-ip\":\"true\"}"},
        {"{\"azure-disable-load-balancer-floating-ip\":\"true\"}", NULL},
        {"{\"azure-load-balancer-internal\":\"true\"}",
         "{\"azure-load-balancer-internal\":\"true\",\"azure-load-balancer-ipv4\":\"10.0.0.77\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = i == 0 ? *state : stage_rig_new();
        stage_rig_add_node(r, "vm-0", "10.0.1.0");
        struct rig_service *web = stage_rig_add(r, "web", rows[i].before, PORT(80, 30080));
        stage_rig_run(r);
        (void)stage_rig_add(r, "other", NULL, PORT(81, 30081));
        stage_rig_run(r);
        const char *rules = stage_rig_rules(r);
        ask(web, rows[i].after, PORT(80, 30080));
        r->fail = i == 3 ? "kubernetes-internal" : "kubernetes";
        r->fail_times = 9;
        r->fail_code = ERR_INVALID;
        r->fail_message = "no";
        stage_rig_run(r);
        assert_int_equal(web->code, TT_INVALID);
        same_text("rules of a refused edit", stage_rig_rules(r), rules);
        r->fail = NULL;
        ask(web, rows[i].before, PORT(80, 30080));
        stage_rig_run(r);
        succeeded(web);
        same_text("rules", stage_rig_rules(r), rules);
        stage_rig_settled(r);
        if (i > 0) {
            stage_rig_free(r);
        }
    }
}

UNIT_MAIN(stages_exchange)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(ports__exchanged_at_a_shared_address__both_get_them_in_one_write),
        RIG_TEST(ports__exchanged_without_floating_ip__let_in_before),
        RIG_TEST(ports__in_a_ring_with_one_that_cannot__all_keep_theirs),
        RIG_TEST(ports__exchanged_beside_a_refused_one__the_two_get_them),
        RIG_TEST(addresses__exchanged_in_one_batch__both_get_them),
        RIG_TEST(private_addresses__exchanged__are_given_up_first),
        RIG_TEST(private_addresses__exchange_refused__former_frontends_are_put_back),
        RIG_TEST(private_address__shared_no_more__another_one_is_taken),
        RIG_TEST(full_balancer__a_new_service__refused_before_the_first_write),
        RIG_TEST(ranges__more_than_the_group_takes__refused_before_the_first_write),
        RIG_TEST(full_interfaces__once_told__refused_before_the_first_write),
        RIG_TEST(admitted__for_a_refused_balancer__goes_at_once),
        RIG_TEST(address__of_another_with_the_same_port__refused_before_the_first_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
