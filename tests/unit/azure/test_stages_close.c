/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_close.c: the stage "close": an address that a Service leaves is open until the status
 * tells the new one, and no longer (azure_stage_security.c), under the real driver, with a cloud in
 * memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define INTERNAL "{\"azure-load-balancer-internal\":\"true\"}"
#define MINE     "{\"azure-pip-name\":\"mine\"}"
#define USERS_PIP                                                                                  \
    "{\"name\":\"mine\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"ipAddress\":"            \
    "\"20.9.9.9\",\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":\"Static\"}}"
#define ADMIT_WEB "admit: change network security group nsg [web]\n"
#define MOVE_WEB  "balancers: change load balancer kubernetes [web]\n"
#define CLOSE_WEB "close: change network security group nsg [web]\n"
#define RELEASE_WEB                                                                                \
    "release: change load balancer kubernetes [web]\n"                                             \
    "release: delete public IP address kubernetes-aweb [web]\n"
#define has_rules(r, want) same_text("security rules", stage_rig_rules(r), want)

/* The group's rules, and the status, when the last write of a stage "close" was made. */
struct seen {
    const char *rules;
    const char *served;
};

static void look(struct stage_rig *r, const struct lb_op *op, struct json_object *was,
                 const struct err *err)
{
    struct seen *seen = r->arg;
    (void)op;
    (void)err;
    if (str_eq(r->stage, "close")) {
        struct json_object *now = azure_copy(r->a, stage_rig_doc(r, AZURE_NSGS, "nsg"));
        stage_rig_put(r, AZURE_NSGS, json_text(r->a, was, JSON_COMPACT));
        seen->rules = stage_rig_rules(r);
        seen->served = r->services[0].served;
        stage_rig_put(r, AZURE_NSGS, json_text(r->a, now, JSON_COMPACT));
    }
}

/* web stands with 20.0.0.1, api with 20.0.0.2; web goes to the user's address. */
static struct rig_service *moving(struct stage_rig *r)
{
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    same_text("before", web->status, "20.0.0.1");
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    web->annotations = MINE;
    web->verb = TT_VERB_ENSURE;
    return web;
}

static void another_address__closed_once_the_status_tells_it(void **state)
{
    struct stage_rig *r = *state;
    struct seen seen = {0};
    struct rig_service *web = moving(r);
    r->wrote = look;
    r->arg = &seen;
    stage_rig_run(r);
    succeeded(web);
    written(r, ADMIT_WEB MOVE_WEB CLOSE_WEB RELEASE_WEB);
    same_text("open until then", seen.rules, "80>20.0.0.1,20.0.0.2,20.9.9.9");
    same_text("told by then", seen.served, "20.9.9.9");
    has_rules(r, "80>20.0.0.2,20.9.9.9");
    stage_rig_settled(r);
}

/* The group is neither read nor written for it. */
static void same_address__nothing_to_close(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->spec = "\"ports\":[{\"port\":81,\"nodePort\":30081}]";
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    assert_null(strstr(r->log, "close: "));
    assert_null(strstr(r->asked, "close: "));
    has_rules(r, "81>20.0.0.1");
    stage_rig_settled(r);
}

/* A new Service has left nothing; one that goes is closed before its balancer changes. */
static void new_or_gone__nothing_to_close(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    assert_null(strstr(r->log, "close: "));
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    assert_null(strstr(r->log, "close: "));
    has_rules(r, "");
}

/* The address is published, the sync fails, and the next one closes it. */
static void refused__the_next_sync_closes(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = moving(r);
    r->fail = "nsg";
    r->fail_after = 1; /* what is let in before */
    r->fail_times = 1;
    r->fail_code = ERR_TRANSIENT;
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_TRANSIENT);
    written(r, ADMIT_WEB MOVE_WEB CLOSE_WEB);
    same_text("told", web->served, "20.9.9.9");
    has_rules(r, "80>20.0.0.1,20.0.0.2,20.9.9.9");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    has_rules(r, "80>20.0.0.2,20.9.9.9");
    stage_rig_settled(r);
}

/* Another process finds the status as it was before: both addresses stay open until it tells the
 * new one. */
static void died_before_the_status__closed_after_it(void **state)
{
    struct stage_rig *r = *state;
    struct seen seen = {0};
    struct rig_service *web = moving(r);
    r->fail = "nsg";
    r->fail_after = 1;
    r->fail_times = 1;
    r->fail_code = ERR_TRANSIENT;
    stage_rig_run(r);
    web->status = "20.0.0.1";
    (void)map_remove(r->p.assigned, "default/web");
    (void)map_remove(r->p.redirected, "default/web");
    r->wrote = look;
    r->arg = &seen;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    succeeded(web);
    written(r, CLOSE_WEB RELEASE_WEB);
    same_text("open until then", seen.rules, "80>20.0.0.1,20.0.0.2,20.9.9.9");
    same_text("told by then", seen.served, "20.9.9.9");
    has_rules(r, "80>20.0.0.2,20.9.9.9");
}

/* The sync ends there: the former address serves, and stays open. */
static void balancer_refused__nothing_is_closed(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = moving(r);
    stage_rig_fail_once(r, "kubernetes", ERR_FORBIDDEN);
    stage_rig_run(r);
    assert_int_equal(web->code, ERR_FORBIDDEN);
    assert_null(strstr(r->log, "close: "));
    assert_null(web->served);
    has_rules(r, "80>20.0.0.1,20.0.0.2");
}

/* Without room for both, one write takes the old address and the new one. */
static void group_is_full__closed_at_once(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = moving(r);
    stage_rig_fail_once(r, "nsg", ERR_QUOTA);
    stage_rig_run(r);
    succeeded(web);
    has_rules(r, "80>20.0.0.2,20.9.9.9");
    stage_rig_settled(r);
}

/* Of two Services in one batch only the one that moves leaves an address; the other one's rules
 * take nothing away that the first one's status tells. */
static void another_one_of_the_batch__closes_no_address_that_is_told(void **state)
{
    struct stage_rig *r = *state;
    struct seen seen = {0};
    struct rig_service *web = moving(r);
    struct rig_service *api = &r->services[1];
    api->spec = "\"ports\":[{\"port\":81,\"nodePort\":30081}]";
    api->verb = TT_VERB_ENSURE;
    r->wrote = look;
    r->arg = &seen;
    stage_rig_run(r);
    succeeded(web);
    succeeded(api);
    same_text("open until then", seen.rules, "80>20.0.0.1,20.9.9.9 81>20.0.0.2");
    has_rules(r, "80>20.9.9.9 81>20.0.0.2");
    stage_rig_settled(r);
}

/* The former public address, when a Service becomes internal. */
static void other_side__closed_after_the_status(void **state)
{
    struct stage_rig *r = *state;
    struct seen seen = {0};
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_ENSURE;
    r->wrote = look;
    r->arg = &seen;
    stage_rig_run(r);
    succeeded(web);
    same_text("open until then", seen.rules, "80>20.0.0.1,20.0.0.2");
    same_text("told by then", seen.served, "10.0.0.3");
    has_rules(r, "80>20.0.0.2");
    stage_rig_settled(r);
}

UNIT_MAIN(stages_close)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(another_address__closed_once_the_status_tells_it),
        RIG_TEST(same_address__nothing_to_close),
        RIG_TEST(new_or_gone__nothing_to_close),
        RIG_TEST(refused__the_next_sync_closes),
        RIG_TEST(died_before_the_status__closed_after_it),
        RIG_TEST(balancer_refused__nothing_is_closed),
        RIG_TEST(group_is_full__closed_at_once),
        RIG_TEST(another_one_of_the_batch__closes_no_address_that_is_told),
        RIG_TEST(other_side__closed_after_the_status),
    };
    return cmocka_run_group_tests_name("stages_close", tests, NULL, NULL);
}
