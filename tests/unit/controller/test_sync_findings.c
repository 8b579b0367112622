/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_findings.c: wishes without effect and load balancers that serve no client: reported
 * once for each state, and in the condition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define CAPS   (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)
#define SERVED STAND_STATUS("203.0.113.10")
#define NOBODY(message)                                                                            \
    SERVED                                                                                         \
    ",\"conditions\":[{\"type\":\"LoadBalancerServesNobody\",\"status\":\"True\",\"reason\":"      \
    "\"ServesNobody\",\"message\":\"" message "\",\"lastTransitionTime\":"                         \
    "\"2026-01-01T00:00:00Z\"}]"

static struct stand *stand_of(uint32_t operations)
{
    struct stand *r = stand_new(CAPS);

    r->provider->ip = "203.0.113.10";
    r->provider->plan_operations = operations;
    stand_node(r, "node-0", NULL, NULL);
    return r;
}

static size_t count(const char *text, const char *piece)
{
    size_t n = 0;

    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
        n++;
    }
    return n;
}

/* With TT_REASON_RESYNC alone: as after a start. */
static void sync_once(struct stand *r, uint32_t reasons, const char *status)
{
    atomic_store(&r->watch.started, (reasons & TT_REASON_SPEC) != 0);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, status);
    stand_add(r, "web", reasons);
    stand_run(r);
}

static void finding__made_then_resynced__one_event(void **state)
{
    struct stand *r = stand_of(0);
    (void)state;

    r->provider->finding = "annotation a is odd";
    sync_once(r, TT_REASON_SPEC, SERVED);
    sync_once(r, TT_REASON_RESYNC, SERVED);
    sync_once(r, TT_REASON_SPEC, SERVED); /* another field was edited */
    assert_int_equal(1, count(stand_events(r), "Warning AnnotationIgnored annotation a is odd"));
    stand_free(r);
}

static void finding__another_one_after_an_edit__another_event(void **state)
{
    struct stand *r = stand_of(0);
    (void)state;

    r->provider->finding = "annotation a is odd";
    sync_once(r, TT_REASON_SPEC, SERVED);
    r->provider->finding = NULL;
    sync_once(r, TT_REASON_SPEC, SERVED);
    r->provider->finding = "annotation b is odd";
    sync_once(r, TT_REASON_SPEC, SERVED);
    const char *events = stand_events(r);
    assert_int_equal(1, count(events, "Warning AnnotationIgnored annotation a is odd"));
    assert_int_equal(1, count(events, "Warning AnnotationIgnored annotation b is odd"));
    stand_free(r);
}

static void finding__after_a_start__no_event(void **state)
{
    struct stand *r = stand_of(0);
    (void)state;

    r->provider->finding = "annotation a is odd";
    sync_once(r, TT_REASON_RESYNC, SERVED);
    assert_int_equal(0, stand_patches(r));
    assert_int_equal(0, count(stand_events(r), "AnnotationIgnored"));
    stand_free(r);
}

/* It was made while no controller ran, and gets its load balancer now: nothing of it is old. */
static void finding__first_load_balancer_after_a_start__one_event(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->finding = "annotation a is odd";
    sync_once(r, TT_REASON_RESYNC, NULL);
    sync_once(r, TT_REASON_RESYNC, SERVED);
    assert_int_equal(1, count(stand_events(r), "Warning AnnotationIgnored annotation a is odd"));
    stand_free(r);
}

static void finding__the_sync_fails_again_and_again__one_event(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->finding = "annotation a is odd";
    for (int i = 0; i < 3; i++) {
        fake_provider_answer(r->provider,
                             (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA, "full", 0, false});
    }
    sync_once(r, TT_REASON_SPEC, NULL);
    stand_advance(r, 600000);
    stand_advance(r, 600000);
    assert_int_equal(1, count(stand_events(r), "AnnotationIgnored"));
    stand_free(r);
}

static void fail_next(struct stand *r, const char *stands)
{
    r->provider->stands_nobody = stands;
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_FORBIDDEN, "no", 0, false});
}

static void nobody__new_service__event_and_condition_with_the_status(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    assert_int_equal(2, stand_patches(r)); /* finalizer; status with the condition */
    assert_non_null(strstr(stand_patch(r, 1), "\"LoadBalancerServesNobody\""));
    assert_non_null(strstr(stand_patch(r, 1), "\"ingress\":[{"));
    const char *events = stand_events(r);
    assert_int_equal(1, count(events, "Warning LoadBalancerServesNobody no node takes part"));
    assert_int_equal(1, count(events, "Normal EnsuredLoadBalancer"));
    stand_free(r);
}

static void nobody__goes_on__told_once_and_cleared_when_it_ends(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    sync_once(r, TT_REASON_SPEC, SERVED);
    r->provider->plan_operations = 0;
    sync_once(r, TT_REASON_RESYNC, NOBODY("no node takes part"));
    size_t before = stand_patches(r);
    r->provider->serves_nobody = NULL;
    sync_once(r, TT_REASON_RESYNC, NOBODY("no node takes part"));
    assert_int_equal(before + 1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, before), "\"$patch\":\"delete\""));
    assert_int_equal(1, count(stand_events(r), "LoadBalancerServesNobody"));
    stand_free(r);
}

/* The next sync begins before the watch has shown the condition. */
static void nobody__told_and_not_yet_seen__cleared_all_the_same(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    fail_next(r, "forwarding rule f is missing");
    sync_once(r, TT_REASON_SPEC, SERVED);
    size_t before = stand_patches(r);
    assert_non_null(strstr(stand_patch(r, before - 1), "\"LoadBalancerServesNobody\""));
    sync_once(r, TT_REASON_RESYNC, SERVED);
    assert_true(stand_patches(r) > before);
    const char *last = stand_patch(r, stand_patches(r) - 1);
    assert_non_null(strstr(last, "\"$patch\":\"delete\",\"type\":\"LoadBalancerServesNobody\""));
    r->provider->plan_operations = 0;
    before = stand_patches(r);
    sync_once(r, TT_REASON_RESYNC, SERVED);
    assert_int_equal(before, stand_patches(r)); /* once is enough */
    stand_free(r);
}

static void nobody__taken_over__nothing_is_written_and_no_event(void **state)
{
    struct stand *r = stand_of(0);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    sync_once(r, TT_REASON_RESYNC, SERVED);
    assert_int_equal(0, stand_patches(r));
    assert_int_equal(0, count(stand_events(r), "LoadBalancerServesNobody"));
    stand_free(r);
}

/* The earlier process died behind its last write to the cloud: nothing is left to do, and no
 * event was sent. */
static void nobody__made_by_an_earlier_process__told_without_a_change(void **state)
{
    struct stand *r = stand_of(0);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    atomic_store(&r->watch.started, false);
    stand_service(r, "web", STAND_LB,
                  STAND_WITH_F ",\"annotations\":{\"trimtab.io/carried-out\":"
                               "\"uid-web 203.0.113.10\"}",
                  SERVED);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "\"LoadBalancerServesNobody\""));
    assert_int_equal(1, count(stand_events(r), "LoadBalancerServesNobody"));
    stand_free(r);
}

static void nobody__told_by_an_earlier_process__not_again(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    sync_once(r, TT_REASON_RESYNC, NOBODY("no node takes part"));
    assert_int_equal(0, count(stand_events(r), "LoadBalancerServesNobody"));
    stand_free(r);
}

static void nobody__the_sync_failed__not_told(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    r->provider->serves_nobody = "no node takes part";
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA, "full", 0, false});
    sync_once(r, TT_REASON_SPEC, NULL);
    assert_int_equal(0, count(stand_events(r), "LoadBalancerServesNobody"));
    stand_free(r);
}

/* The plan would serve, and failed; what stands does not. */
static void stands_nobody__the_sync_failed__event_and_condition_once(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    fail_next(r, "forwarding rule f is missing");
    sync_once(r, TT_REASON_SPEC, SERVED);
    size_t before = stand_patches(r);
    assert_non_null(strstr(stand_patch(r, before - 1), "\"LoadBalancerServesNobody\""));
    fail_next(r, "forwarding rule f is missing");
    sync_once(r, TT_REASON_RESYNC, NOBODY("forwarding rule f is missing"));
    fail_next(r, NULL); /* the cloud could not be asked: it is as it was */
    sync_once(r, TT_REASON_RESYNC, NOBODY("forwarding rule f is missing"));
    fail_next(r, "forwarding rule f is missing");
    sync_once(r, TT_REASON_RESYNC, NOBODY("forwarding rule f is missing"));
    assert_int_equal(before, stand_patches(r));
    const char *events = stand_events(r);
    assert_int_equal(1, count(events, "LoadBalancerServesNobody forwarding rule f is missing"));
    stand_free(r);
}

static void stands_nobody__put_back_although_it_fails__condition_goes(void **state)
{
    struct stand *r = stand_of(1);
    (void)state;

    fail_next(r, "");
    sync_once(r, TT_REASON_RESYNC, NOBODY("forwarding rule f is missing"));
    size_t n = stand_patches(r);
    assert_true(n > 0);
    assert_non_null(strstr(stand_patch(r, n - 1), "LoadBalancerServesNobody"));
    assert_non_null(strstr(stand_patch(r, n - 1), "\"$patch\":\"delete\""));
    stand_free(r);
}

UNIT_MAIN(sync_findings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finding__made_then_resynced__one_event),
        cmocka_unit_test(finding__another_one_after_an_edit__another_event),
        cmocka_unit_test(finding__after_a_start__no_event),
        cmocka_unit_test(finding__first_load_balancer_after_a_start__one_event),
        cmocka_unit_test(finding__the_sync_fails_again_and_again__one_event),
        cmocka_unit_test(nobody__new_service__event_and_condition_with_the_status),
        cmocka_unit_test(nobody__goes_on__told_once_and_cleared_when_it_ends),
        cmocka_unit_test(nobody__told_and_not_yet_seen__cleared_all_the_same),
        cmocka_unit_test(nobody__taken_over__nothing_is_written_and_no_event),
        cmocka_unit_test(nobody__made_by_an_earlier_process__told_without_a_change),
        cmocka_unit_test(nobody__told_by_an_earlier_process__not_again),
        cmocka_unit_test(nobody__the_sync_failed__not_told),
        cmocka_unit_test(stands_nobody__the_sync_failed__event_and_condition_once),
        cmocka_unit_test(stands_nobody__put_back_although_it_fails__condition_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
