/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_links.c: private link services while their Services move between balancers, change
 * sides, or go; docs/spec/azure.md 5.3, 6.1 (11a), 10.6, under the real driver with a cloud in
 * memory (stage_rig.h).
 *
 * The cloud refuses to take away a frontend on which a link stands, so a wrong order fails. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define CREATE   "\"azure-pls-create\":\"true\""
#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define ON(lb)   "\"azure-load-balancer-configurations\":\"" lb "\""

static void ensure(struct stage_rig *r, struct rig_service *s, const char *annotations)
{
    s->annotations = annotations;
    s->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
}

/* "lb2-internal/aweb": the balancer and frontend that a link stands on. */
static const char *stands_on(struct stage_rig *r, const char *link)
{
    struct json_object *list =
        azure_array(stage_rig_doc(r, AZURE_PLSS, link), "loadBalancerFrontendIpConfigurations");
    const char *id = json_len(list) == 1 ? azure_doc_id(json_object_array_get_idx(list, 0)) : "";
    return id[0] == '\0' ? ""
                         : arena_printf(r->a, "%s/%s", azure_id_part(r->a, id, "loadBalancers"),
                                        azure_id_last(id));
}

static void moves__the_link_goes_first_and_comes_last(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{" CREATE "," INTERNAL "," ON("lb1") "}", NULL);
    (void)stage_rig_add(r, "api", "{" INTERNAL "," ON("lb1") "}", NULL);
    stage_rig_run(r);
    succeeded(web);
    same_text("before", stands_on(r, "pls-aweb"), "lb1-internal/aweb");
    ensure(r, web, "{" CREATE "," INTERNAL "," ON("lb2") "}");
    succeeded(web);
    written(r, "unlink: delete private link service pls-aweb [web]\n"
               "balancers: change load balancer lb1-internal [web]\n"
               "balancers: create load balancer lb2-internal [web]\n"
               "links: create private link service pls-aweb [web]\n");
    same_text("after", stands_on(r, "pls-aweb"), "lb2-internal/aweb");
    stage_rig_settled(r);
}

static void last_one_moves__the_old_balancer_can_go(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{" CREATE "," INTERNAL "," ON("lb1") "}", NULL);
    stage_rig_run(r);
    ensure(r, web, "{" CREATE "," INTERNAL "," ON("lb2") "}");
    succeeded(web);
    written(r, "unlink: delete private link service pls-aweb [web]\n"
               "balancers: delete load balancer lb1-internal [web]\n"
               "balancers: create load balancer lb2-internal [web]\n"
               "links: create private link service pls-aweb [web]\n");
    stage_rig_settled(r);
}

static void two_trade_places__their_links_too(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{" CREATE "," INTERNAL "," ON("lb1") "}", NULL);
    struct rig_service *api =
        stage_rig_add(r, "api", "{" CREATE "," INTERNAL "," ON("lb2") "}", NULL);
    stage_rig_run(r);
    web->annotations = "{" CREATE "," INTERNAL "," ON("lb2") "}";
    web->verb = TT_VERB_ENSURE;
    ensure(r, api, "{" CREATE "," INTERNAL "," ON("lb1") "}");
    succeeded(web);
    succeeded(api);
    same_text("web", stands_on(r, "pls-aweb"), "lb2-internal/aweb");
    same_text("api", stands_on(r, "pls-aapi"), "lb1-internal/aapi");
    stage_rig_settled(r);
}

/* Nothing is taken away from a Service that cannot have what it asks for. */
static void cannot_move__keeps_its_link(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web =
        stage_rig_add(r, "web", "{" CREATE "," INTERNAL "," ON("lb1") "}", NULL);
    stage_rig_run(r);
    ensure(r, web,
           "{" CREATE "," INTERNAL
           "," ON("lb2") ",\"azure-load-balancer-internal-subnet\":\"nowhere\"}");
    assert_int_equal(web->code, ERR_NOT_FOUND);
    written(r, "");
    same_text("link", stands_on(r, "pls-aweb"), "lb1-internal/aweb");
}

#define SUBNET  "{\"name\":\"apps\",\"properties\":{\"addressPrefix\":\"10.9.0.0/16\"}}"
#define IN_APPS "{" CREATE "," INTERNAL ",\"azure-load-balancer-internal-subnet\":\"apps\"}"

/* The former frontend keeps its link until the status tells the new address; the new one has its
 * own by then. */
static void another_subnet__the_former_link_goes_last(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", "{" CREATE "," INTERNAL "}", NULL);
    stage_rig_run(r);
    stage_rig_put(r, AZURE_SUBNETS, SUBNET);
    ensure(r, web, IN_APPS);
    succeeded(web);
    written(r, "balancers: change load balancer kubernetes-internal [web]\n"
               "links: change subnet apps [web]\n"
               "links: create private link service pls-aweb-apps [web]\n"
               "sever: delete private link service pls-aweb [web]\n"
               "release: change load balancer kubernetes-internal [web]\n");
    same_text("after", stands_on(r, "pls-aweb-apps"), "kubernetes-internal/aweb-apps");
    stage_rig_settled(r);
}

static void another_subnet__refused__the_link_stays(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", "{" CREATE "," INTERNAL "}", NULL);
    stage_rig_run(r);
    stage_rig_put(r, AZURE_SUBNETS, SUBNET);
    r->fail = "kubernetes-internal";
    r->fail_times = 1;
    r->fail_code = ERR_INVALID;
    ensure(r, web, IN_APPS);
    assert_int_equal(web->code, ERR_INVALID);
    same_text("link", stands_on(r, "pls-aweb"), "kubernetes-internal/aweb");
}

/* A move that was cut off: frontends of one name on both balancers, the link on one
 * or the other. */
static void half_moved__only_the_link_on_the_old_one_goes(void **state)
{
    static const struct {
        const char *link_on, *want;
    } rows[] = {
        {"lb1-internal", "unlink: delete private link service pls-aweb [web]\n"
                         "balancers: delete load balancer lb1-internal [web]\n"
                         "links: create private link service pls-aweb [web]\n"},
        {"lb2-internal", "balancers: delete load balancer lb1-internal [web]\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        stage_rig_two_balancers(r);
        struct rig_service *web =
            stage_rig_add(r, "web", "{" CREATE "," INTERNAL "," ON("lb2") "}", NULL);
        stage_rig_run(r);
        const char *lb2 =
            json_text(r->a, stage_rig_doc(r, AZURE_LBS, "lb2-internal"), JSON_COMPACT);
        (void)stage_rig_put(r, AZURE_LBS, str_replace(r->a, lb2, "lb2-internal", "lb1-internal"));
        const char *pls = json_text(r->a, stage_rig_doc(r, AZURE_PLSS, "pls-aweb"), JSON_COMPACT);
        (void)stage_rig_put(r, AZURE_PLSS, str_replace(r->a, pls, "lb2-internal", rows[i].link_on));
        web->verb = TT_VERB_ENSURE;
        stage_rig_run(r);
        succeeded(web);
        written(r, rows[i].want);
        same_text("link", stands_on(r, "pls-aweb"), "lb2-internal/aweb");
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

static void internal_to_external__link_with_it(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web = stage_rig_add(r, "web", "{" CREATE "," INTERNAL "}", NULL);
    stage_rig_run(r);
    ensure(r, web, "{" CREATE ",\"azure-disable-load-balancer-floating-ip\":\"true\"}");
    succeeded(web);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "unlink: delete private link service pls-aweb [web]\n"
               "balancers: create load balancer lb1 [web]\n"
               "links: create private link service pls-aweb [web]\n"
               "tidy: delete load balancer lb1-internal [web]\n");
    same_text("link", stands_on(r, "pls-aweb"), "lb1/aweb");
    stage_rig_settled(r);
}

/* A PUT would point the other's link here, and the deletion would take it away. */
static void named_by_another__stays_where_it_is(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *theirs = stage_rig_add(
        r, "theirs", "{" CREATE "," INTERNAL ",\"azure-pls-name\":\"their-link\"}", NULL);
    stage_rig_run(r);
    const char *before = stands_on(r, "their-link");
    struct rig_service *ours = stage_rig_add(
        r, "ours", "{" CREATE "," INTERNAL ",\"azure-pls-name\":\"THEIR-link\"}", NULL);
    ensure(r, ours, ours->annotations);
    assert_int_equal(ours->code, TT_EXISTS);
    same_text("ours", ours->message,
              "private link service THEIR-link is there already, on frontend atheirs of load "
              "balancer lb1-internal; it belongs to Service default/theirs of cluster kubernetes");
    same_text("stays", stands_on(r, "their-link"), before);
    ours->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    same_text("is not taken along", stands_on(r, "their-link"), before);
    succeeded(theirs);
}

static void named_twice_in_one_batch__the_first_has_it(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    const char *same = "{" CREATE "," INTERNAL ",\"azure-pls-name\":\"link\"}";
    struct rig_service *one = stage_rig_add(r, "one", same, NULL);
    struct rig_service *two = stage_rig_add(r, "two", same, NULL);
    stage_rig_run(r);
    bool first = one->code == TT_OK;
    assert_int_equal(first ? two->code : one->code, TT_EXISTS);
    assert_int_equal(first ? one->code : two->code, TT_OK);
    same_text("link", stands_on(r, "link"), first ? "lb1-internal/aone" : "lb1-internal/atwo");
}

/* A Service whose link cannot be made gets nothing, in whatever way it is refused, at no try. */
static void first_one_is_refused__nothing_is_made(void **state)
{
    static const struct {
        const char *notes;
        int code;
        const char *message;
    } rows[] = {
        {"{" CREATE "," INTERNAL ",\"azure-pls-name\":\"their-link\"}", TT_EXISTS,
         "private link service their-link is there already"},
        {"{" CREATE ",\"azure-disable-load-balancer-floating-ip\":\"true\","
         "\"azure-pls-name\":\"their-link\"}",
         TT_EXISTS, "private link service their-link is there already"},
        {"{" CREATE "," INTERNAL ",\"azure-pls-ip-configuration-subnet\":\"nope\"}", TT_NOT_FOUND,
         "subnet nope of the private link service does not exist"},
        {"{" CREATE "," INTERNAL ",\"azure-pls-ip-configuration-ip-address-count\":\"99\"}",
         TT_INVALID, "want a whole number from 1 to 8"},
    };
    struct stage_rig *r = *state;
    stage_rig_put(r, AZURE_PLSS,
                  "{\"name\":\"their-link\",\"tags\":{\"k8s-azure-cluster-name\":\"another\"},"
                  "\"properties\":{}}");
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        web->annotations = rows[i / 2].notes;
        web->status = "";
        web->verb = TT_VERB_ENSURE;
        stage_rig_run(r);
        assert_int_equal(web->code, rows[i / 2].code);
        assert_non_null(strstr(web->message, rows[i / 2].message));
        written(r, "");
    }
}

/* One that is served keeps what it has, and gets what else it asks for. */
static void served_one_is_refused__all_else_is_carried_out(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", "{" INTERNAL "}", NULL);
    stage_rig_run(r);
    stage_rig_put(r, AZURE_PLSS,
                  "{\"name\":\"their-link\",\"tags\":{\"k8s-azure-cluster-name\":\"another\"},"
                  "\"properties\":{}}");
    web->spec = "\"ports\":[{\"port\":81,\"nodePort\":30081}]";
    ensure(r, web, "{" CREATE "," INTERNAL ",\"azure-pls-name\":\"their-link\"}");
    assert_int_equal(web->code, TT_EXISTS);
    same_text("rules", stage_rig_elements(r, "kubernetes-internal", "loadBalancingRules"),
              "aweb-TCP-81");
}

static void deleted__link_before_frontend(void **state)
{
    struct stage_rig *r = *state;
    stage_rig_two_balancers(r);
    struct rig_service *web = stage_rig_add(r, "web", "{" CREATE "," INTERNAL "}", NULL);
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "unlink: delete private link service pls-aweb [web]\n"
               "balancers: delete load balancer lb1-internal [web]\n");
}

UNIT_MAIN(stages_links)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(moves__the_link_goes_first_and_comes_last),
        RIG_TEST(last_one_moves__the_old_balancer_can_go),
        RIG_TEST(two_trade_places__their_links_too),
        RIG_TEST(cannot_move__keeps_its_link),
        RIG_TEST(another_subnet__the_former_link_goes_last),
        RIG_TEST(another_subnet__refused__the_link_stays),
        RIG_TEST(half_moved__only_the_link_on_the_old_one_goes),
        RIG_TEST(internal_to_external__link_with_it),
        RIG_TEST(named_by_another__stays_where_it_is),
        RIG_TEST(named_twice_in_one_batch__the_first_has_it),
        RIG_TEST(first_one_is_refused__nothing_is_made),
        RIG_TEST(served_one_is_refused__all_else_is_carried_out),
        RIG_TEST(deleted__link_before_frontend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
