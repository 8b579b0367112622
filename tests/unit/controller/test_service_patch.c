/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_patch.c: writes to a Service bear the version that was read, and what becomes
 * of a 409. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

static int set_up(void **state)
{
    *state = stand_new(0);
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

#define CHANGED "the object has been modified"

/* The list of one that is asked for after a conflict. */
static const char *web_is_version_90(const char *target)
{
    assert_string_equal(target,
                        "/api/v1/namespaces/demo/services?fieldSelector=metadata.name%3Dweb");
    return "{\"kind\":\"ServiceList\",\"items\":[{\"metadata\":{\"name\":\"web\",\"uid\":\"uid-"
           "web\","
           "\"resourceVersion\":\"90\"}}]}";
}

static const char *no_services(const char *target)
{
    (void)target;
    return "{\"kind\":\"ServiceList\",\"items\":[]}";
}

static const char *other_web(const char *target)
{
    (void)target;
    return "{\"kind\":\"ServiceList\",\"items\":[{\"metadata\":{\"name\":\"web\",\"uid\":\"uid-2\","
           "\"resourceVersion\":\"91\"}}]}";
}

/* It has changed since it was read: it is read again, and what this sync says is written to
 * what is there now. */
static void sync__service_changed_meanwhile__read_and_written_again(void **state)
{
    struct stand *r = *state;

    r->get = web_is_version_90;
    stand_refuse(r, "PATCH", "/services/", 409, "Conflict", CHANGED);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("1", stand_patch_request(r, 0)->version);
    assert_string_equal("90", stand_patch_request(r, 1)->version);
    assert_string_equal(stand_patch(r, 0), stand_patch(r, 1));
    assert_null(strstr(stand_events(r), "Warning SyncLoadBalancerFailed"));
}

/* A newer object of the watch counts as the answer. */
static void touch_web(void *arg, struct fake_provider *p, const struct tt_call *call,
                      const struct tt_item *item)
{
    (void)p;
    (void)call;
    (void)item;
    stand_service(arg, "web", STAND_LB, STAND_WITH_F, NULL);
}

static void sync__service_changed_and_watch_knows__not_asked_for(void **state)
{
    struct stand *r = *state;

    stand_refuse(r, "PATCH", "/services/", 409, "Conflict", CHANGED);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    r->provider->during = touch_web;
    r->provider->during_arg = r;
    stand_run(r);
    assert_string_equal("1", stand_patch_request(r, 0)->version);
    assert_string_equal("2", stand_patch_request(r, 1)->version);
    assert_int_equal(stand_requests(r, "GET"), 0);
}

static void sync__service_went_or_was_replaced_after_a_conflict__nothing_is_written(void **state)
{
    static const char *(*const answers[])(const char *) = {no_services, other_web};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct stand *r = stand_new(0);
        r->get = answers[i];
        stand_refuse(r, "PATCH", "/services/", 409, "Conflict", CHANGED);
        stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
        stand_run(r);
        assert_int_equal(1, stand_patches(r));
        assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
        stand_free(r);
    }
}

static struct fence *falling; /* the stand's, for a callback without an argument */

static const char *fence_falls(const char *target)
{
    fence_close(falling);
    return web_is_version_90(target);
}

/* The lease was lost between the conflict and the next try. */
static void sync__fence_falls_after_a_conflict__nothing_more_is_sent(void **state)
{
    struct stand *r = *state;

    falling = &r->fence;
    r->get = fence_falls;
    stand_refuse(r, "PATCH", "/services/", 409, "Conflict", CHANGED);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
}

static const char *web_patched_to_77(const char *target)
{
    (void)target;
    return "{\"kind\":\"Service\",\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"77\"}}";
}

/* The sync's own write is not a conflict. */
static void sync__own_write_before__next_one_bears_its_version(void **state)
{
    struct stand *r = *state;

    r->patched = web_patched_to_77;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_int_equal(2, stand_patches(r)); /* finalizer, status */
    assert_string_equal("1", stand_patch_request(r, 0)->version);
    assert_string_equal("77", stand_patch_request(r, 1)->version);
}

UNIT_MAIN(service_patch)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sync__service_changed_meanwhile__read_and_written_again),
        T(sync__service_changed_and_watch_knows__not_asked_for),
        T(sync__service_went_or_was_replaced_after_a_conflict__nothing_is_written),
        T(sync__fence_falls_after_a_conflict__nothing_more_is_sent),
        T(sync__own_write_before__next_one_bears_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#undef T
}
