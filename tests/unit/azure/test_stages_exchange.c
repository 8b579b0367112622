/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_exchange.c: Services of one batch that stand in each other's way: they exchange ports at a shared address, or their
 * addresses; under the real driver, with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "tests/support/unit.h"

#define AT(ip) "{\"azure-load-balancer-ipv4\":\"" ip "\"}"
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

/* Of three that pass their ports on in a ring one asks for what is not: nobody leaves what the others wait for. */
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

/* Whoever is in nobody's way, and whoever asks for what a third one keeps, changes nothing for the two. */
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

/* Alone it asks for an address at which its port is another Service's: nothing is written, so no tag of it is left there. */
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

UNIT_MAIN(stages_exchange)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(ports__exchanged_at_a_shared_address__both_get_them_in_one_write),
        RIG_TEST(ports__in_a_ring_with_one_that_cannot__all_keep_theirs),
        RIG_TEST(ports__exchanged_beside_a_refused_one__the_two_get_them),
        RIG_TEST(addresses__exchanged_in_one_batch__both_get_them),
        RIG_TEST(address__of_another_with_the_same_port__refused_before_the_first_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
