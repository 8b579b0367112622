/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_former.c: a Service goes to another address of the same balancer: the former one
 * serves until the status tells the new one (azure_lb_former_rules.h), under the real driver, with
 * a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define MINE  "{\"azure-pip-name\":\"mine\"}"
#define YOURS "{\"azure-pip-name\":\"kubernetes-aweb\"}"
#define IN    "\"azure-load-balancer-internal\":\"true\""
#define APPS  "{" IN ",\"azure-load-balancer-internal-subnet\":\"apps\"}"
#define SINKS ",\"azure-disable-load-balancer-floating-ip\":\"true\"}"
#define USERS_PIP                                                                                  \
    "{\"name\":\"mine\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"ipAddress\":"            \
    "\"20.9.9.9\",\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":\"Static\"}}"
#define SUBNET "{\"name\":\"apps\",\"properties\":{\"addressPrefix\":\"10.9.0.0/16\"}}"
#define FORMER "aweb-interim-"
#define SHARED "{" IN ",\"azure-load-balancer-ipv4\":\"10.0.7.7\"}"

static void holds(const char *text, const char *want)
{
    if (text == NULL || strstr(text, want) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", want, text);
    }
}

static const char *fronts(struct stage_rig *r, const char *lb)
{
    return stage_rig_elements(r, lb, "frontendIPConfigurations");
}

static bool has_former(struct stage_rig *r)
{
    return strstr(fronts(r, "kubernetes"), FORMER) != NULL &&
           strstr(stage_rig_elements(r, "kubernetes", "loadBalancingRules"), FORMER) != NULL;
}

static const char *pip_of(struct stage_rig *r, const char *frontend)
{
    struct json_object *lb = stage_rig_doc(r, AZURE_LBS, "kubernetes");
    struct json_object *o = azure_find(azure_array(lb, "frontendIPConfigurations"), frontend);
    return arena_strdup(r->a, azure_id_last(azure_ref(o, "publicIPAddress")));
}

/* web stands with 20.0.0.1. */
static struct rig_service *standing(struct stage_rig *r, const char *annotations)
{
    struct rig_service *web = stage_rig_add(r, "web", annotations, NULL);
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    stage_rig_run(r);
    return web;
}

static void edit(struct rig_service *web, const char *annotations)
{
    web->annotations = annotations;
    web->verb = TT_VERB_ENSURE;
}

static void another_public_ip__former_one_serves_until_the_status(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, NULL);
    edit(web, MINE);
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    same_text("own", pip_of(r, "aweb"), "mine");
    assert_true(has_former(r));
    holds(stage_rig_rules(r), "20.0.0.1");
    holds(stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
    web->status = "20.0.0.1";
    web->unwritten = TT_OK;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("after", web->status, "20.9.9.9");
    same_text("frontends", fronts(r, "kubernetes"), "aweb");
    same_text("rules", stage_rig_elements(r, "kubernetes", "loadBalancingRules"), "aweb-TCP-80");
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "mine");
    stage_rig_settled(r);
}

/* The former public IP comes back to the frontend, and the one that was asked for in between
 * serves as long as the status tells it. */
static void taken_back_meanwhile__they_change_places(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, NULL);
    edit(web, MINE);
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    web->status = "20.0.0.1";
    web->unwritten = TT_OK;
    edit(web, NULL);
    stage_rig_run(r);
    succeeded(web);
    same_text("own", pip_of(r, "aweb"), "kubernetes-aweb");
    same_text("frontends", fronts(r, "kubernetes"), "aweb");
    same_text("after", web->status, "20.0.0.1");
    stage_rig_settled(r);
}

static void ports_change_meanwhile__former_one_serves_what_is_left(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web =
        stage_rig_add(r, "web", NULL,
                      "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                      "{\"name\":\"b\",\"port\":81,\"nodePort\":30081}]");
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    stage_rig_run(r);
    edit(web, MINE);
    web->spec = "\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080},"
                "{\"name\":\"c\",\"port\":82,\"nodePort\":30082}]";
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    const char *rules = stage_rig_elements(r, "kubernetes", "loadBalancingRules");
    holds(rules, "-TCP-80 aweb-TCP-82");
    assert_null(strstr(rules, "TCP-81"));
    assert_true(has_former(r));
}

static void another_service_asks_for_it__it_gets_it_at_once(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, NULL);
    struct rig_service *api = stage_rig_add(r, "api", YOURS, NULL);
    edit(web, MINE);
    stage_rig_run(r);
    web->verb = api->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    same_text("api's", pip_of(r, "aapi"), "kubernetes-aweb");
    same_text("web's", pip_of(r, "aweb"), "mine");
    assert_false(has_former(r));
}

/* Another Service that asks for it while it serves former clients waits, and puts nothing on the
 * frontend that goes. */
static void another_service_asks_for_it_meanwhile__it_waits(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, NULL);
    edit(web, MINE);
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    struct rig_service *api = stage_rig_add(r, "api", YOURS, NULL);
    stage_rig_run(r);
    assert_int_equal(api->code, TT_IN_USE);
    holds(api->message, FORMER);
    assert_null(strstr(stage_rig_elements(r, "kubernetes", "loadBalancingRules"), "aapi"));
}

/* Azure takes no second frontend for the same ports then. */
static void without_floating_ip__exchanged_at_once_and_announced(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, "{\"a\":\"\"" SINKS);
    edit(web, "{\"azure-pip-name\":\"mine\"" SINKS);
    stage_rig_run(r);
    succeeded(web);
    assert_null(strstr(r->log, "release: change"));
    same_text("after", web->status, "20.9.9.9");
    stage_rig_settled(r);
}

static void no_room__exchanged_at_once(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, NULL);
    edit(web, MINE);
    r->fail = "kubernetes";
    r->fail_times = 1;
    r->fail_code = ERR_QUOTA;
    stage_rig_run(r);
    succeeded(web);
    assert_false(has_former(r));
    same_text("after", web->status, "20.9.9.9");
    stage_rig_settled(r);
}

static void another_subnet__former_frontend_serves_until_the_status(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = standing(r, "{" IN "}");
    const char *before = web->status;
    stage_rig_put(r, AZURE_SUBNETS, SUBNET);
    edit(web, APPS);
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    same_text("frontends", fronts(r, "kubernetes-internal"), "aweb aweb-apps");
    same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
              "aweb-TCP-80 aweb-apps-TCP-80");
    web->status = before;
    web->unwritten = TT_OK;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("frontends", fronts(r, "kubernetes-internal"), "aweb-apps");
    same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
              "aweb-apps-TCP-80");
    assert_string_not_equal(web->status, before);
    stage_rig_settled(r);
}

#define ONE  "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[\"IPv4\"]"
#define BOTH "\"ports\":[{\"port\":80,\"nodePort\":30080}],\"ipFamilies\":[\"IPv4\",\"IPv6\"]"

/* From two families to one; the status cannot be written at first. */
static void gives_up_a_family(struct stage_rig *r, const char *annotations, const char *lb)
{
    struct rig_service *web = stage_rig_add(r, "web", annotations, BOTH);
    stage_rig_run(r);
    succeeded(web);
    const char *before = web->status;
    web->spec = ONE;
    web->verb = TT_VERB_ENSURE;
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    same_text("frontends", fronts(r, lb), "aweb aweb-IPv6");
    same_text("rules", stage_rig_elements(r, lb, "loadBalancingRules"),
              "aweb-TCP-80 aweb-TCP-80-IPv6");
    bool let_in = *stage_rig_rules(r) != '\0'; /* internal ones need no rule */
    assert_true(!let_in || strstr(stage_rig_rules(r), strchr(before, ' ') + 1) != NULL);
    web->status = before;
    web->unwritten = TT_OK;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("after", web->status, arena_printf(r->a, "%.*s", (int)strcspn(before, " "), before));
    same_text("frontends", fronts(r, lb), "aweb");
    same_text("rules", stage_rig_elements(r, lb, "loadBalancingRules"), "aweb-TCP-80");
    assert_null(strstr(stage_rig_rules(r), strchr(before, ' ') + 1));
    stage_rig_settled(r);
}

static void one_family_fewer__its_frontend_serves_until_the_status(void **state)
{
    struct stage_rig *r = *state;
    gives_up_a_family(r, NULL, "kubernetes");
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
}

static void one_family_fewer_internal__its_frontend_serves_until_the_status(void **state)
{
    gives_up_a_family(*state, "{" IN "}", "kubernetes-internal");
}

/* They lead to nodes of another family, so they do not meet. */
static void one_family_fewer_without_floating_ip__its_frontend_serves_until_the_status(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", "{\"a\":\"\"" SINKS, BOTH);
    stage_rig_run(r);
    web->spec = ONE;
    web->verb = TT_VERB_ENSURE;
    web->unwritten = TT_TRANSIENT;
    stage_rig_run(r);
    same_text("frontends", fronts(r, "kubernetes"), "aweb aweb-IPv6");
}

/* A Service that has its link at the frontend that stays asks for none at the other one. */
static void one_family_fewer_with_a_link__asks_for_none_of_the_other(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web =
        stage_rig_add(r, "web", "{" IN ",\"azure-pls-create\":\"true\"}", BOTH);
    stage_rig_run(r);
    succeeded(web);
    web->spec = ONE;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    same_text("frontends", fronts(r, "kubernetes-internal"), "aweb");
    stage_rig_settled(r);
}

/* From a frontend of its own in another subnet to one that it shares. */
static void to_a_shared_address__former_frontend_goes_after_the_status(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_put(r, AZURE_SUBNETS, SUBNET);
    (void)stage_rig_add(r, "web", SHARED, NULL);
    struct rig_service *api =
        stage_rig_add(r, "api", APPS, "\"ports\":[{\"port\":81,\"nodePort\":30081}]");
    stage_rig_run(r);
    same_text("before", fronts(r, "kubernetes-internal"), "aapi-apps aweb");
    edit(api, SHARED);
    stage_rig_run(r);
    succeeded(api);
    same_text("status", api->status, "10.0.7.7");
    same_text("frontends", fronts(r, "kubernetes-internal"), "aweb");
    same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
              "aweb-TCP-80 aapi-TCP-81");
    stage_rig_settled(r);
}

static void note_effects(struct stage_rig *r, const struct tt_plan *view)
{
    struct str_buf *told = r->arg;
    (void)view;
    for (size_t i = 0; r->plan != NULL && i < r->plan->n_services; i++) {
        for (size_t k = 0; k < r->plan->services[i].n_effects; k++) {
            str_appendf(told, "%s: %s\n", r->plan->services[i].key,
                        r->plan->services[i].effects[k]);
        }
    }
}

/* Its rules leave the other Service's frontend in the write that makes its own, before the status
 * tells that: the plan says so. */
static void from_a_shared_address__interruption_announced(void **state)
{
    static const struct {
        const char *shared, *own;
    } rows[] = {{SHARED, "{" IN "}"}, {MINE, NULL}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = i == 0 ? *state : stage_rig_new();
        struct str_buf told = STR_BUF_INIT;
        stage_rig_put(r, AZURE_PIPS, USERS_PIP);
        (void)stage_rig_add(r, "api", rows[i].shared,
                            "\"ports\":[{\"port\":81,\"nodePort\":30081}]");
        struct rig_service *web = stage_rig_add(r, "web", rows[i].shared, NULL);
        stage_rig_run(r);
        edit(web, rows[i].own);
        r->reported = note_effects;
        r->arg = &told;
        stage_rig_plan(r);
        holds(str_buf_text(&told), "web: Traffic is interrupted until the status shows");
        str_buf_done(&told);
        if (i > 0) {
            stage_rig_free(r);
        }
    }
}

UNIT_MAIN(stages_former)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(another_public_ip__former_one_serves_until_the_status),
        RIG_TEST(taken_back_meanwhile__they_change_places),
        RIG_TEST(ports_change_meanwhile__former_one_serves_what_is_left),
        RIG_TEST(another_service_asks_for_it__it_gets_it_at_once),
        RIG_TEST(another_service_asks_for_it_meanwhile__it_waits),
        RIG_TEST(without_floating_ip__exchanged_at_once_and_announced),
        RIG_TEST(no_room__exchanged_at_once),
        RIG_TEST(another_subnet__former_frontend_serves_until_the_status),
        RIG_TEST(one_family_fewer__its_frontend_serves_until_the_status),
        RIG_TEST(one_family_fewer_internal__its_frontend_serves_until_the_status),
        RIG_TEST(one_family_fewer_without_floating_ip__its_frontend_serves_until_the_status),
        RIG_TEST(one_family_fewer_with_a_link__asks_for_none_of_the_other),
        RIG_TEST(to_a_shared_address__former_frontend_goes_after_the_status),
        RIG_TEST(from_a_shared_address__interruption_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
