/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_classes.c: a Service gets another controller's class, or another type, while no
 * controller runs: the next process takes away what trimtab made for it, whatever became of the
 * finalizers; what trimtab only took over waits for the deletion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define CAPS   (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)
#define IP     "203.0.113.10"
#define OTHER  "198.51.100.7"
#define KEY    "trimtab.io/carried-out"
#define MARK   "\"annotations\":{" STAND_MARK("uid-web " IP) "}"
#define EDITED "\"annotations\":{" STAND_MARK("uid-web " IP " edited") "}"
#define OLD    "\"annotations\":{\"" KEY "\":\"uid-web " IP "\"}"
#define OTHERS                                                                                     \
    "\"annotations\":{\"" KEY "-by\":\"other uid-web " IP "\",\"" KEY "\":\"uid-web " IP "\"}"
#define COPIED  "\"annotations\":{" STAND_MARK("uid-old " IP) "}"
#define FOREIGN STAND_LB ",\"loadBalancerClass\":\"example.com/lb\""

static struct stand *stand_with(const char *spec, const char *meta, const char *status)
{
    struct stand *r = stand_new(CAPS);

    r->provider->exists = true;
    r->provider->plan_operations = 1;
    stand_service(r, "web", spec, meta, status);
    stand_run(r);
    return r;
}

static bool is_patched(struct stand *r, const char *text)
{
    for (size_t i = 0; i < stand_patches(r); i++) {
        if (strstr(stand_patch(r, i), text) != NULL) {
            return true;
        }
    }
    return false;
}

static void class_came_unwatched__what_was_made_here__is_deleted_and_told(void **state)
{
    static const char *const metas[] = {MARK, EDITED, STAND_WITH_F "," MARK};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
        struct stand *r = stand_with(FOREIGN, metas[i], NULL);
        assert_string_equal("delete demo/web", stand_story(r));
        assert_true(is_patched(r, "\"" KEY "\":null"));
        assert_true(is_patched(r, "$deleteFromPrimitiveList") == (i == 2));
        assert_non_null(strstr(stand_events(r), "Normal DeletedLoadBalancer"));
        stand_free(r);
    }
}

/* A class cannot be edited, and the API server empties the status of a type that goes: a Service
 * whose status names our addresses has been ours all the time, and a flag of this process is
 * missing. */
static void class_is_anothers__status_names_ours__it_stays(void **state)
{
    static const char *const metas[] = {MARK, STAND_WITH_F "," EDITED, STAND_WITH_F "," MARK};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
        struct stand *r = stand_with(FOREIGN, metas[i], STAND_STATUS(IP));
        assert_string_equal("", stand_story(r));
        assert_int_equal(0, stand_patches(r));
        stand_free(r);
    }
}

/* The other controller serves already. */
static void class_came_unwatched__status_names_anothers_address__it_stays(void **state)
{
    struct stand *r = stand_with(FOREIGN, MARK, STAND_STATUS(OTHER));
    (void)state;
    assert_string_equal("delete demo/web", stand_story(r));
    assert_true(is_patched(r, "\"" KEY "\":null"));
    assert_false(is_patched(r, "ingress") || is_patched(r, "\"loadBalancer\":{}"));
    stand_free(r);
}

/* The same when this process published the address that was there before. */
static void class_comes__status_names_anothers_address__it_stays(void **state)
{
    struct stand *r = stand_new(CAPS);
    (void)state;
    r->provider->ip = IP;
    r->provider->exists = true;
    r->provider->plan_operations = 1;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    stand_run(r);
    stand_service(r, "web", FOREIGN, STAND_WITH_F, STAND_STATUS(OTHER));
    stand_run(r);
    assert_string_equal("ensure demo/web, delete demo/web", stand_story(r));
    assert_false(is_patched(r, "\"loadBalancer\":{}") || is_patched(r, "\"ingress\":null"));
    stand_free(r);
}

static void class_came_unwatched__not_known_to_be_made_here__is_left_alone(void **state)
{
    static const char *const metas[] = {STAND_WITH_F,         COPIED, STAND_WITH_F "," COPIED, OLD,
                                        STAND_WITH_F "," OLD, OTHERS, STAND_WITH_F "," OTHERS};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
        struct stand *r = stand_with(FOREIGN, metas[i], STAND_STATUS(IP));
        assert_string_equal("", stand_story(r));
        assert_int_equal(0, stand_patches(r));
        stand_free(r);
    }
}

/* A deletion that fails leaves the mark, by which this process and the next one come back. */
static void class_came_unwatched__deletion_fails__is_tried_again(void **state)
{
    struct stand *r = stand_new(CAPS);
    (void)state;
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_DELETE, TT_TRANSIENT, "no", 0, false});
    stand_service(r, "web", FOREIGN, MARK, NULL);
    stand_run(r);
    assert_false(is_patched(r, "\"" KEY "\":null"));
    stand_advance(r, 30000);
    assert_string_equal("delete demo/web, delete demo/web", stand_story(r));
    assert_true(is_patched(r, "\"" KEY "\":null"));
    stand_free(r);
}

/* Without a finalizer nothing else tells: what another provider made, or has a mark that names no
 * provider, is not looked at. */
static void type_went_unwatched__not_known_to_be_made_here__is_left_alone(void **state)
{
    static const char *const metas[] = {OLD, OTHERS, COPIED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
        struct stand *r = stand_with(STAND_CLUSTER_IP, metas[i], NULL);
        assert_string_equal("", stand_story(r));
        assert_int_equal(0, stand_patches(r));
        stand_free(r);
    }
}

static void type_went_unwatched__finalizers_lost__is_deleted(void **state)
{
    struct stand *r = stand_with(STAND_CLUSTER_IP, MARK, NULL);
    (void)state;
    assert_string_equal("delete demo/web", stand_story(r));
    assert_true(is_patched(r, "\"" KEY "\":null"));
    stand_free(r);
}

static void deleted__finalizers_lost_but_anothers_holds_it__is_deleted(void **state)
{
    struct stand *r =
        stand_with(FOREIGN, "\"finalizers\":[\"example.com/f\"]," STAND_DELETING "," MARK, NULL);
    (void)state;
    assert_string_equal("delete demo/web", stand_story(r));
    stand_free(r);
}

UNIT_MAIN(sync_classes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_came_unwatched__what_was_made_here__is_deleted_and_told),
        cmocka_unit_test(class_is_anothers__status_names_ours__it_stays),
        cmocka_unit_test(class_came_unwatched__status_names_anothers_address__it_stays),
        cmocka_unit_test(class_comes__status_names_anothers_address__it_stays),
        cmocka_unit_test(class_came_unwatched__not_known_to_be_made_here__is_left_alone),
        cmocka_unit_test(class_came_unwatched__deletion_fails__is_tried_again),
        cmocka_unit_test(type_went_unwatched__not_known_to_be_made_here__is_left_alone),
        cmocka_unit_test(type_went_unwatched__finalizers_lost__is_deleted),
        cmocka_unit_test(deleted__finalizers_lost_but_anothers_holds_it__is_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
