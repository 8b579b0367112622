/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_asked.c: a provider asks, outside of a call, that one Service be ensured again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

/* Two Services that are served, and one that wants no load balancer. */
static struct stand *served(void)
{
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_service(r, "shop", STAND_LB, NULL, NULL);
    stand_service(r, "inner", STAND_CLUSTER_IP, NULL, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    return r;
}

static void ask(const struct stand *r, const char *name, int64_t after_ms)
{
    const struct tt_host *host = r->provider->host;

    host->service_again(host->ctx, "demo", name, after_ms);
}

static void asked__one_service__ensured_alone_and_once(void **state)
{
    (void)state;
    struct stand *r = served();

    ask(r, "web", 0);
    ask(r, "web", -5);
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    stand_advance(r, 3600000);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_free(r);
}

static void asked__later__at_the_earliest_moment(void **state)
{
    (void)state;
    struct stand *r = served();

    ask(r, "web", 60000);
    ask(r, "web", 30000);
    ask(r, "web", 90000);
    stand_advance(r, 29000);
    assert_int_equal(0, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_advance(r, 2000);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_advance(r, 3600000);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    stand_free(r);
}

static void asked__service_is_none_of_ours_or_absent__nothing(void **state)
{
    (void)state;
    struct stand *r = served();

    ask(r, "inner", 0);
    ask(r, "nobody", 0);
    ask(r, NULL, 0);
    ask(r, "", 0);
    stand_run(r);
    assert_string_equal("", stand_story(r));
    stand_free(r);
}

UNIT_MAIN(sync_asked)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked__one_service__ensured_alone_and_once),
        cmocka_unit_test(asked__later__at_the_earliest_moment),
        cmocka_unit_test(asked__service_is_none_of_ours_or_absent__nothing),
    };
    return cmocka_run_group_tests_name("controller-sync-asked", tests, NULL, NULL);
}
