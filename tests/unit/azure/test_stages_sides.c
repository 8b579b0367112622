/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_sides.c: a Service that goes from the external balancer to the internal one, or back:
 * what is written in which order, and what of it comes after the status.
 *
 * As test_stages.c. */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define INTERNAL "{\"azure-load-balancer-internal\":\"true\"}"
#define has_frontends(r, lb, w)                                                                    \
    same_text("frontends", stage_rig_elements(r, lb, "frontendIPConfigurations"), w)
#define has_pips(r, want)  same_text("public IPs", stage_rig_names(r, AZURE_PIPS), want)
#define has_rules(r, want) same_text("security rules", stage_rig_rules(r), want)

static void external_to_internal__new_side_first_address_last(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: create load balancer kubernetes-internal [web]\n"
               "tidy: delete load balancer kubernetes [web]\n"
               "close: change network security group nsg [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    same_text("status", web->status, "10.0.0.2");
    same_text("before tidying", web->served, "10.0.0.2");
    has_rules(r, "");
    stage_rig_settled(r);
}

/* Another Service stays on the former balancer, so that is written and not deleted. */
static void external_to_internal__former_balancer_stays__status_before_its_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "balancers: create load balancer kubernetes-internal [web]\n"
               "tidy: change load balancer kubernetes [web]\n"
               "close: change network security group nsg [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    same_text("before the former balancer is written", web->served, web->status);
    stage_rig_settled(r);
}

static void internal_to_external__former_balancer_stays__status_before_its_write(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", INTERNAL, NULL);
    (void)stage_rig_add(r, "api", INTERNAL, NULL);
    stage_rig_run(r);
    web->annotations = NULL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "balancers: create load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n"
               "tidy: change load balancer kubernetes-internal [web]\n");
    same_text("before the former balancer is written", web->served, web->status);
    stage_rig_settled(r);
}

static void set_failed(struct stage_rig *r, const char *lb)
{
    json_add_str(azure_props_make(stage_rig_doc(r, AZURE_LBS, lb)), "provisioningState", "Failed");
}

/* Azure carried out the write of the former balancer in part and reports it as Failed.  The status
 * says nothing of that any more: what the Service has left to release does. */
static void external_to_internal__former_balancer_failed_after_status__is_mended(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_TRANSIENT);
    r->fail_message = "InternalServerError";
    stage_rig_run(r);
    web->status = web->served;
    has_pips(r, "kubernetes-aweb kubernetes-aapi");
    set_failed(r, "kubernetes");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "tidy: change load balancer kubernetes [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    succeeded(web);
}

/* The other way round nothing is left to release; this process knows of the edit. */
static void internal_to_external__former_balancer_failed_after_status__is_mended(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", INTERNAL, NULL);
    (void)stage_rig_add(r, "api", INTERNAL, NULL);
    stage_rig_run(r);
    web->before = INTERNAL;
    web->annotations = NULL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    set_failed(r, "kubernetes-internal");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "tidy: change load balancer kubernetes-internal [web]\n");
    succeeded(web);
}

static void internal_to_external__new_side_first(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", INTERNAL, NULL);
    stage_rig_run(r);
    written(r, "balancers: create load balancer kubernetes-internal [web]\n");
    web->annotations = NULL;
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "addresses: create public IP address kubernetes-aweb [web]\n"
               "balancers: create load balancer kubernetes [web]\n"
               "security: change network security group nsg [web]\n"
               "tidy: delete load balancer kubernetes-internal [web]\n");
    same_text("status", web->status, "20.0.0.2");
    same_text("before tidying", web->served, "20.0.0.2");
    stage_rig_settled(r);
}

static void update_after_a_flip__waits_for_its_ensure(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_UPDATE;
    stage_rig_run(r);
    written(r, "");
    succeeded(web);
    has_frontends(r, "kubernetes", "aweb");
}

static void deleted_before_a_flip_was_ensured__both_sides_are_looked_at(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->annotations = INTERNAL;
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    written(r, "withdraw: change network security group nsg [web]\n"
               "tidy: delete load balancer kubernetes [web]\n"
               "release: delete public IP address kubernetes-aweb [web]\n");
    has_rules(r, "");
}

/* Clients come by the address that the status names: nothing of the former side goes, the security
 * group lets in at both, and no request is made for it until the status can be written. */
static void status_cannot_be_written__former_side_stays(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *stays, *rest;
    } rows[] = {{NULL, INTERNAL, "kubernetes",
                 "tidy: delete load balancer kubernetes [web]\n"
                 "close: change network security group nsg [web]\n"
                 "release: delete public IP address kubernetes-aweb [web]\n"},
                {INTERNAL, NULL, "kubernetes-internal",
                 "tidy: delete load balancer kubernetes-internal [web]\n"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = stage_rig_add(r, "web", rows[i].from, NULL);
        stage_rig_run(r);
        const char *published = web->status;
        web->annotations = rows[i].to;
        for (int k = 0; k < 3; k++) {
            web->verb = TT_VERB_ENSURE;
            web->unwritten = TT_FORBIDDEN;
            stage_rig_run(r);
            assert_int_equal(web->code, TT_FORBIDDEN);
            has_frontends(r, rows[i].stays, "aweb");
            assert_true(k == 0 || str_is_empty(r->log));
            web->status = published;
        }
        web->verb = TT_VERB_ENSURE;
        web->unwritten = TT_OK;
        stage_rig_run(r);
        written(r, rows[i].rest);
        assert_string_not_equal(web->status, published);
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

UNIT_MAIN(stages_sides)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(external_to_internal__new_side_first_address_last),
        RIG_TEST(external_to_internal__former_balancer_stays__status_before_its_write),
        RIG_TEST(internal_to_external__former_balancer_stays__status_before_its_write),
        RIG_TEST(external_to_internal__former_balancer_failed_after_status__is_mended),
        RIG_TEST(internal_to_external__former_balancer_failed_after_status__is_mended),
        RIG_TEST(internal_to_external__new_side_first),
        RIG_TEST(status_cannot_be_written__former_side_stays),
        RIG_TEST(update_after_a_flip__waits_for_its_ensure),
        RIG_TEST(deleted_before_a_flip_was_ensured__both_sides_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
