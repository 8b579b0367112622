/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_together.c: providers that update several Services at once, and those that say that a
 * Service serves while their call goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define BUILT_IN (TT_CAP_REPORTS_PLANS | TT_CAP_HOLDS_FINALIZERS)

/* ---- before the call is over ----------------------------------------------------------------- */

/* The address stands, and an annotation with it; then the provider tidies up. */
static void serve(void *arg, struct fake_provider *p, const struct tt_call *call,
                  const struct tt_item *item)
{
    struct stand *r = arg;
    const struct tt_ingress ingress = {.ip = p->ip};
    (void)call;

    if (item->verb == TT_VERB_ENSURE) {
        p->host->result_ingress(item->result, &ingress, 1);
        p->host->result_annotation(item->result, "example.com/rule", "r1");
        p->host->result_serves(item->result);
        r->patches_in_call = stand_patches(r);
    }
}

static struct stand *stand_that_serves(void)
{
    struct stand *r = stand_new(BUILT_IN);

    stand_node(r, "node-0", NULL, NULL);
    r->provider->during = serve;
    r->provider->during_arg = r;
    return r;
}

static void serves__address_and_annotation__written_once_and_in_the_call(void **state)
{
    struct stand *r = stand_that_serves();
    (void)state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, r->patches_in_call);
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "\"example.com/rule\":\"r1\""));
    assert_non_null(strstr(stand_patch(r, 0), "203.0.113.10"));
    stand_free(r);
}

static void serves__address_is_there__nothing_is_written(void **state)
{
    struct stand *r = stand_that_serves();
    (void)state;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(0, r->patches_in_call);
    stand_free(r);
}

static void serves__tidying_fails__the_address_stays_and_it_is_tried_again(void **state)
{
    struct stand *r = stand_that_serves();
    (void)state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_TRANSIENT, "busy", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "203.0.113.10"));
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    stand_free(r);
}

static void serves__api_server_refuses__written_at_the_end(void **state)
{
    struct stand *r = stand_that_serves();
    (void)state;

    stand_refuse(r, "PATCH", "/services/", 500, "InternalError", "not now");
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 1), "\"example.com/rule\":\"r1\""));
    assert_non_null(strstr(stand_patch(r, 1), "203.0.113.10"));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    stand_free(r);
}

/* ---- before what the status names goes ------------------------------------------------------- */

/* The former address goes only when the status names the new one. */
static void publish(void *arg, struct fake_provider *p, const struct tt_call *call,
                    const struct tt_item *item)
{
    struct stand *r = arg;
    const struct tt_ingress ingress = {.ip = p->ip};
    (void)call;

    if (item->verb != TT_VERB_DELETE) {
        p->host->result_ingress(item->result, &ingress, 1);
        r->published = p->host->result_publish(item->result);
        r->patches_in_call = stand_patches(r);
    }
}

static struct stand *stand_that_publishes(const char *status)
{
    struct stand *r = stand_that_serves();

    r->provider->during = publish;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, status);
    return r;
}

static void publish__written_or_there__fine(void **state)
{
    static const char *const status[] = {STAND_STATUS("203.0.113.9"), STAND_STATUS("203.0.113.10")};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(status); i++) {
        struct stand *r = stand_that_publishes(status[i]);
        stand_run(r);
        assert_int_equal(TT_OK, r->published);
        assert_int_equal(i == 0 ? 1 : 0, r->patches_in_call);
        stand_free(r);
    }
}

/* The Service is gone: no client can read its status. */
static void publish__service_is_gone__fine(void **state)
{
    struct stand *r = stand_that_publishes(STAND_STATUS("203.0.113.9"));
    (void)state;

    stand_refuse(r, "PATCH", "/services/", 404, "NotFound", "gone");
    stand_run(r);
    assert_int_equal(TT_OK, r->published);
    stand_free(r);
}

/* The provider fails with the code that it got; owner and queue hear why.  Nodes follow as after
 * each failure, since the provider may have stopped before it came to them. */
static void publish__refused__failure_names_the_status(void **state)
{
    struct stand *r = stand_that_publishes(STAND_STATUS("203.0.113.9"));
    (void)state;

    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_FORBIDDEN,
                                                           "the status stays", 0, false});
    stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "not you");
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web, update demo/web");
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_non_null(strstr(stand_events(r), "SyncLoadBalancerFailed Error syncing load balancer: "
                                            "failed to update load balancer status: "));
    assert_non_null(strstr(stand_events(r), "what it names stays until it names the new address"));
    stand_free(r);
}

/* Only nodes are brought up to date: the status is the next ensure's. */
static void publish__update__nothing_is_written(void **state)
{
    struct stand *r = stand_that_publishes(STAND_STATUS("203.0.113.9"));
    (void)state;

    stand_run(r);
    r->provider->ip = "203.0.113.11";
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_advance(r, 100);
    assert_string_equal(stand_story(r), "ensure demo/web, update demo/web");
    assert_int_equal(TT_IN_USE, r->published);
    assert_int_equal(1, r->patches_in_call);
    stand_free(r);
}

/* ---- Services that follow the nodes ---------------------------------------------------------- */

static struct stand *stand_of_three(void)
{
    static const char *const names[] = {"a", "b", "c"};
    struct stand *r = stand_new(BUILT_IN | TT_CAP_NODES_TOGETHER);

    stand_node(r, "node-0", NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        stand_service(r, names[i], STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    }
    stand_run(r);
    return r;
}

static void nodes__three_services__one_call(void **state)
{
    struct stand *r = stand_of_three();
    (void)state;

    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_advance(r, 100);
    assert_string_equal("ensure demo/a, ensure demo/b, ensure demo/c, "
                        "update demo/a, update demo/b, update demo/c",
                        stand_story(r));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(3, fake_provider_call(r->provider, TT_VERB_UPDATE, i).n_items);
    }
    stand_free(r);
}

static void nodes__one_fails__the_others_are_settled(void **state)
{
    struct stand *r = stand_of_three();
    (void)state;

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_UPDATE, TT_TRANSIENT, "bad one", 0, false});
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_advance(r, 100);
    /* Upstream's next step after a failed update, for this one alone. */
    assert_string_equal("ensure demo/a, ensure demo/b, ensure demo/c, "
                        "update demo/a, update demo/b, update demo/c, ensure demo/a",
                        stand_story(r));
    assert_int_equal(1, fake_provider_call(r->provider, TT_VERB_ENSURE, 3).n_items);
    stand_free(r);
}

/* One that is refused may wait for nodes: its ensure takes longer than an update. */
static void nodes__one_needs_more_than_an_update__goes_alone(void **state)
{
    struct stand *r = stand_of_three();
    (void)state;

    stand_service(r, "stuck", STAND_LB, STAND_WITH_F, NULL);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "no hosts", 0, false});
    stand_run(r);
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_advance(r, 100);
    assert_int_equal(3, fake_provider_call(r->provider, TT_VERB_UPDATE, 0).n_items);
    assert_int_equal(5, fake_provider_count(r->provider, TT_VERB_ENSURE));
    assert_int_equal(1, fake_provider_call(r->provider, TT_VERB_ENSURE, 4).n_items);
    assert_int_equal(3, fake_provider_count(r->provider, TT_VERB_UPDATE));
    stand_free(r);
}

static void note_deadline(void *arg, struct fake_provider *p, const struct tt_call *call,
                          const struct tt_item *item)
{
    int64_t *left_ms = arg;
    (void)item;
    *left_ms = call->deadline_ms - p->host->now_ms(p->host->ctx);
}

/* An operation that hangs does not delay edits of the others of its call by half an hour. */
static void nodes__several_services__the_call_has_five_minutes(void **state)
{
    struct stand *r = stand_of_three();
    int64_t left_ms = 0;
    (void)state;

    r->syncer.call_timeout_ms = 1800000;
    r->provider->during = note_deadline;
    r->provider->during_arg = &left_ms;
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    stand_advance(r, 100);
    assert_int_equal(3, fake_provider_count(r->provider, TT_VERB_UPDATE));
    assert_int_equal(300000, left_ms);
    stand_service(r, "a", STAND_LB ",\"sessionAffinity\":\"ClientIP\"", STAND_WITH_F,
                  STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(1800000, left_ms);
    stand_free(r);
}

UNIT_MAIN(sync_together)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves__address_and_annotation__written_once_and_in_the_call),
        cmocka_unit_test(serves__address_is_there__nothing_is_written),
        cmocka_unit_test(serves__tidying_fails__the_address_stays_and_it_is_tried_again),
        cmocka_unit_test(serves__api_server_refuses__written_at_the_end),
        cmocka_unit_test(publish__written_or_there__fine),
        cmocka_unit_test(publish__service_is_gone__fine),
        cmocka_unit_test(publish__refused__failure_names_the_status),
        cmocka_unit_test(publish__update__nothing_is_written),
        cmocka_unit_test(nodes__three_services__one_call),
        cmocka_unit_test(nodes__several_services__the_call_has_five_minutes),
        cmocka_unit_test(nodes__one_fails__the_others_are_settled),
        cmocka_unit_test(nodes__one_needs_more_than_an_update__goes_alone),
    };
    return cmocka_run_group_tests_name("controller-sync-together", tests, NULL, NULL);
}
