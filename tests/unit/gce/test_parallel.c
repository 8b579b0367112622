/* SPDX-License-Identifier: Apache-2.0 */
/* test_parallel.c: many Services at the same time on one provider: what they share is made once
 * and goes with the last.  Rows H11, H12 of the GCE specification; run under the thread
 * sanitizer, too. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#define SERVICES 24
#define THREADS  8

static const char *names[SERVICES];

static struct rig *start(void)
{
    struct rig *r = rig_start(NULL);
    for (size_t i = 0; i < SERVICES; i++) {
        names[i] = arena_printf(rig_arena(r), "s%zu", i);
        rig_service(r, names[i], "{}");
    }
    return r;
}

static void ensure__H11__shared_check_and_firewall_are_made_exactly_once(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_set_waiting(r, SERVICES);
    rig_sync_all(r, TT_VERB_ENSURE, names, SERVICES, THREADS);
    assert_int_equal(rig_calls(r, "compute.httpHealthChecks.insert"), 1);
    assert_int_equal(rig_calls(r, "compute.firewalls.insert"), SERVICES + 1);
    assert_int_equal(rig_calls(r, "compute.targetPools.insert"), SERVICES);
    rig_stop(r);
}

static void ensure__H12__first_try_fails__the_others_make_it(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_fault(r, "{\"match\":{\"op\":\"compute.httpHealthChecks.insert\"},\"count\":1,"
                 "\"do\":\"refuse\",\"status\":403}");
    rig_sync_all(r, TT_VERB_ENSURE, names, SERVICES, THREADS);
    assert_int_equal(rig_calls(r, "compute.httpHealthChecks.insert"), 2);
    rig_stop(r);
}

static void delete__all_at_once__nothing_is_left(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_sync_all(r, TT_VERB_ENSURE, names, SERVICES, THREADS);
    for (size_t i = 0; i < SERVICES; i++) {
        rig_service_deleted(r, names[i]);
    }
    rig_sync_all(r, TT_VERB_DELETE, names, SERVICES, THREADS);
    assert_string_equal(rig_inventory(r), "");
    rig_stop(r);
}

static void delete_and_ensure__at_once__the_shared_check_is_there_in_the_end(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_sync_all(r, TT_VERB_ENSURE, names, SERVICES / 2, THREADS);
    for (size_t i = 0; i < SERVICES / 2; i++) {
        rig_service_deleted(r, names[i]);
    }
    rig_sync_mixed(r, names, SERVICES, THREADS);
    assert_non_null(rig_resource(r, "httpHealthChecks/k8s-0123456789abcdef-node"));
    assert_non_null(rig_resource(r, "firewalls/k8s-0123456789abcdef-node-http-hc"));
    rig_forget(r);
    for (size_t i = SERVICES / 2; i < SERVICES; i++) {
        assert_int_equal(rig_ensure(r, names[i])->code, TT_OK);
    }
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

UNIT_MAIN(parallel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ensure__H11__shared_check_and_firewall_are_made_exactly_once),
        cmocka_unit_test(ensure__H12__first_try_fails__the_others_make_it),
        cmocka_unit_test(delete__all_at_once__nothing_is_left),
        cmocka_unit_test(delete_and_ensure__at_once__the_shared_check_is_there_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
