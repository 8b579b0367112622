/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_left.c: Services that went, or lost their type, while no controller ran: the provider
 * is asked for them, and they are cleaned up as if that had happened under our eyes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/unit.h"
#include "tests/unit/controller/service_count.h"
#include "tests/unit/controller/stand.h"

#define CLASS "example.com/alone"

/* The provider's report. */
struct left {
    const char *names[4];
    int fails;    /* so many times it is asked in vain */
    int32_t code; /* that it says then; 0: TRANSIENT */
    int asked;
};

static int32_t list_left(void *provider, const struct tt_call *call)
{
    struct fake_provider *p = provider;
    struct left *l = p->during_arg;
    l->asked++;
    if (l->asked <= l->fails) {
        return l->code == 0 ? TT_TRANSIENT : l->code;
    }
    for (size_t i = 0; i < 4 && l->names[i] != NULL; i++) {
        const struct tt_service s = {.size = sizeof(s),
                                     .ns = "demo",
                                     .name = l->names[i],
                                     .uid = "uid-old",
                                     .type = "LoadBalancer",
                                     .lb_class = CLASS};
        p->host->report_left(p->host->ctx, call, &s);
    }
    return TT_OK;
}

static struct stand *stand_with(struct left *l)
{
    static const char *const classes[] = {CLASS};
    struct stand *r = stand_new(0);
    r->provider->desc.list_left = list_left;
    r->provider->desc.classes = classes;
    r->provider->desc.n_classes = 1;
    r->provider->during_arg = l;
    stand_describe(r);
    return r;
}

static void left__service_is_gone__deleted_once_as_it_was(void **state)
{
    (void)state;
    struct left l = {.names = {"web"}};
    struct stand *r = stand_with(&l);

    r->provider->exists = true;
    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_string_equal("delete demo/web", stand_story(r));
    assert_string_equal("uid-old", fake_provider_call(r->provider, TT_VERB_DELETE, 0).uid);
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    assert_int_equal(0, stand_patches(r));
    stand_advance(r, 3600000);
    assert_int_equal(1, l.asked);
    stand_free(r);
}

static void left__its_delete_fails__tried_again(void **state)
{
    (void)state;
    struct left l = {.names = {"web"}};
    struct stand *r = stand_with(&l);

    r->provider->exists = true;
    fake_provider_answer(r->provider, (struct fake_answer){.verb = TT_VERB_DELETE,
                                                           .code = TT_IN_USE,
                                                           .message = "somebody has it"});
    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_int_equal(1, service_cache_count(r->syncer.cache));
    stand_advance(r, 300000);
    assert_int_equal(2, fake_provider_count(r->provider, TT_VERB_DELETE));
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    stand_free(r);
}

static void left__service_wants_a_load_balancer__not_deleted(void **state)
{
    (void)state;
    struct left l = {.names = {"web", "theirs"}};
    struct stand *r = stand_with(&l);

    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"" CLASS "\"", NULL, NULL);
    stand_service(r, "theirs", STAND_LB ",\"loadBalancerClass\":\"example.com/theirs\"", NULL,
                  NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_int_equal(1, l.asked);
    assert_string_equal("", stand_story(r));
    stand_free(r);
}

static void left__service_lost_its_type__deleted_as_it_is(void **state)
{
    (void)state;
    struct left l = {.names = {"web"}};
    struct stand *r = stand_with(&l);

    r->provider->exists = true;
    stand_service(r, "web", STAND_CLUSTER_IP, NULL, NULL);
    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_DELETE));
    assert_string_equal("uid-web", fake_provider_call(r->provider, TT_VERB_DELETE, 0).uid);
    stand_free(r);
}

static void left__not_known_yet__asked_every_few_seconds(void **state)
{
    (void)state;
    struct left l = {.names = {"web"}, .fails = 6, .code = TT_IN_PROGRESS};
    struct stand *r = stand_with(&l);

    r->provider->exists = true;
    syncer_ask_left(&r->syncer);
    stand_run(r);
    for (int i = 1; i <= 6; i++) { /* no back-off */
        assert_int_equal(i, l.asked);
        assert_int_equal(0, fake_provider_count(r->provider, TT_VERB_DELETE));
        stand_advance(r, 5000);
    }
    assert_int_equal(7, l.asked);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_DELETE));
    stand_free(r);
}

static void left__asking_fails__asked_again_until_it_is_known(void **state)
{
    (void)state;
    struct left l = {.names = {"web"}, .fails = 2};
    struct stand *r = stand_with(&l);

    r->provider->exists = true;
    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_int_equal(1, l.asked);
    assert_int_equal(0, fake_provider_count(r->provider, TT_VERB_DELETE));
    stand_advance(r, 300000);
    stand_advance(r, 300000);
    assert_int_equal(3, l.asked);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_DELETE));
    stand_free(r);
}

static void left__names_that_are_none__ignored(void **state)
{
    (void)state;
    struct left l = {.names = {"", "a/b"}};
    struct stand *r = stand_with(&l);

    syncer_ask_left(&r->syncer);
    stand_run(r);
    assert_int_equal(1, l.asked);
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    assert_string_equal("", stand_story(r));
    stand_free(r);
}

static void left__provider_has_no_such_function__nothing_waits(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    syncer_ask_left(&r->syncer);
    assert_int_equal(0, queue_counts(r->syncer.queue).waiting);
    stand_free(r);
}

UNIT_MAIN(sync_left)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left__service_is_gone__deleted_once_as_it_was),
        cmocka_unit_test(left__its_delete_fails__tried_again),
        cmocka_unit_test(left__service_wants_a_load_balancer__not_deleted),
        cmocka_unit_test(left__service_lost_its_type__deleted_as_it_is),
        cmocka_unit_test(left__not_known_yet__asked_every_few_seconds),
        cmocka_unit_test(left__asking_fails__asked_again_until_it_is_known),
        cmocka_unit_test(left__names_that_are_none__ignored),
        cmocka_unit_test(left__provider_has_no_such_function__nothing_waits),
    };
    return cmocka_run_group_tests_name("controller-sync-left", tests, NULL, NULL);
}
