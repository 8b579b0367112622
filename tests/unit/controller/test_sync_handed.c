/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_handed.c: an ensure of a Service that was handed over to another controller
 * (TT_OWN_GOES, TT_OWN_STAYS): events and status say what was done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define CAPS   (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)
#define READY  "\"type\":\"trimtab.io/LoadBalancerReady\",\"status\":\"True\",\"reason\":\"Ready\""
#define SERVED STAND_STATUS("203.0.113.10") ",\"conditions\":[{" READY "}]"

/* One sync of a healthy Service, of which the provider says `own`; its events. */
static const char *sync_handed(struct stand *r, uint32_t own, uint32_t operations)
{
    r->syncer.conditions = true;
    r->provider->ip = "203.0.113.10";
    r->provider->plan_operations = operations;
    r->provider->own = own;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, SERVED);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    return stand_events(r);
}

static void handed__goes__said_as_a_deletion(void **state)
{
    struct stand *r = *state;

    stand_node(r, "node-0", NULL, NULL);
    assert_string_equal("Normal DeletingLoadBalancer Deleting load balancer\n"
                        "Normal DeletedLoadBalancer Deleted load balancer\n",
                        sync_handed(r, TT_OWN_GOES, 2));
    size_t n = stand_patches(r);
    assert_true(n > 0);
    const char *last = stand_patch(r, n - 1);
    assert_non_null(
        strstr(last, "\"$patch\":\"delete\",\"type\":\"trimtab.io/LoadBalancerReady\""));
    assert_null(strstr(last, "trimtab.io/carried-out\":null")); /* by it the finalizer goes later */
}

static void handed__goes_without_a_node__nothing_said_of_nodes(void **state)
{
    assert_string_equal("Normal DeletingLoadBalancer Deleting load balancer\n"
                        "Normal DeletedLoadBalancer Deleted load balancer\n",
                        sync_handed(*state, TT_OWN_GOES, 2));
}

static void handed__has_gone_before__no_event(void **state)
{
    struct stand *r = *state;

    stand_node(r, "node-0", NULL, NULL);
    assert_string_equal("", sync_handed(r, TT_OWN_GOES, 0));
}

static void handed__stays__said_as_an_update_of_its_nodes(void **state)
{
    struct stand *r = *state;

    stand_node(r, "node-0", NULL, NULL);
    assert_string_equal("Normal UpdatedLoadBalancer Updated load balancer with new hosts\n",
                        sync_handed(r, TT_OWN_STAYS, 1));
}

static void handed__deletion_refused__said_as_one(void **state)
{
    struct stand *r = *state;

    stand_node(r, "node-0", NULL, NULL);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_FORBIDDEN, "no right", 0, false});
    const char *events = sync_handed(r, TT_OWN_GOES, 1);
    assert_non_null(
        strstr(events, "Error syncing load balancer: failed to delete load balancer: no right\n"));
    assert_null(strstr(events, "UpdatedLoadBalancer")); /* it gets no nodes any more */
    assert_string_equal("ensure demo/web", stand_story(r));
}

static int setup(void **state)
{
    *state = stand_new(CAPS);
    return 0;
}

static int teardown(void **state)
{
    stand_free(*state);
    return 0;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(sync_handed)
{
    const struct CMUnitTest tests[] = {
        T(handed__goes__said_as_a_deletion),
        T(handed__goes_without_a_node__nothing_said_of_nodes),
        T(handed__has_gone_before__no_event),
        T(handed__stays__said_as_an_update_of_its_nodes),
        T(handed__deletion_refused__said_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
