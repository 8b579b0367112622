/* SPDX-License-Identifier: Apache-2.0 */
/* at_rest.c: what is asked of the API server and of the cloud while nothing happens: watches again,
 * and nothing else.
 *
 * An hour of the controller's clock in steps of seven minutes, at each of which the server ends the
 * watches, as a real one does after 300 to 600 s.  The simulator counts.  (Lease renewals:
 * leases.c, one each retry period.) */
#include "tests/support/rig.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOUR_MS     ((int64_t)3600 * 1000)
#define STEP_MS     ((int64_t)7 * 60 * 1000)
#define SERVICES    "/api/v1/namespaces/default/services"
#define N           5
#define PATIENCE_MS 180000 /* real time; it bounds a hang only */

/* Events are written beside the syncs: "ensuring" and "ensured" of each Service,
 * whenever that is. */
static void until_told(struct rig *r)
{
    int64_t end_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    while (rig_calls(r, "kubernetes", "events.create") < (int64_t)2 * N) {
        assert_true(clock_now_ms(clock_real()) < end_ms);
        rig_advance(r, 100);
        assert_true(rig_settle(r, RIG_LATER));
    }
}

static struct rig *rig_with_services(void)
{
    static const char body[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"generateName\":\"s-\"},"
        "\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}}";
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(&(struct rig_args){.sim = {.nodes = 3}}, &r, &err) != ERR_OK ||
        rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
    }
    assert_true(rig_settle(r, RIG_LATER));
    until_told(r);
    return r;
}

/* The re-opened watches are on their way, after a back-off when they had brought nothing before
 * they were cut; how long that takes is the machine's affair. */
static void until_watches(struct rig *r, int64_t n)
{
    int64_t end_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    while (rig_calls(r, "kubernetes", "services.watch") < n ||
           rig_calls(r, "kubernetes", "nodes.watch") < n) {
        assert_true(clock_now_ms(clock_real()) < end_ms);
        rig_advance(r, 100);
        assert_true(rig_settle(r, RIG_LATER));
    }
}

static void cut_watches(struct rig *r)
{
    struct err err = ERR_INIT;
    if (rig_fault(r, "{\"do\":\"watch-cut\"}", NULL, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void an_hour_at_rest__watches_alone(void **state)
{
    struct rig *r = rig_with_services();
    int64_t cuts = 0;
    (void)state;
    rig_counts_reset(r);
    for (int64_t ms = 0; ms < HOUR_MS; ms += STEP_MS) {
        rig_advance(r, STEP_MS);
        assert_true(rig_settle(r, RIG_LATER));
        cut_watches(r);
        until_watches(r, ++cuts);
    }
    assert_int_equal(rig_calls(r, "gce", "*"), 0);
    assert_int_equal(rig_calls(r, "metadata", "*"), 0);
    assert_int_equal(rig_calls(r, "kubernetes", "services.watch"), cuts);
    assert_int_equal(rig_calls(r, "kubernetes", "nodes.watch"), cuts);
    if (rig_calls(r, "kubernetes", "*") != 2 * cuts) {
        fail_msg("more than watches: %s", json_text(rig_arena(r), rig_counts(r), JSON_COMPACT));
    }
    assert_true(rig_stop(r));
    rig_free(r);
}

/* At the start: one streaming list for each kind, no LIST; after the history was lost, one more. */
static void start_and_expiry__streaming_lists__no_list(void **state)
{
    struct rig *r = rig_with_services();
    struct err err = ERR_INIT;
    (void)state;
    assert_int_equal(rig_calls(r, "kubernetes", "services.watch"), 1);
    assert_int_equal(rig_calls(r, "kubernetes", "nodes.watch"), 1);
    if (rig_fault(r, "{\"do\":\"watch-expire\"}", NULL, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    until_watches(r, 2);
    assert_int_equal(rig_calls(r, "kubernetes", "services.list"), 0);
    assert_int_equal(rig_calls(r, "kubernetes", "nodes.list"), 0);
    assert_true(rig_stop(r));
    rig_free(r);
}

UNIT_MAIN(at_rest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_at_rest__watches_alone),
        cmocka_unit_test(start_and_expiry__streaming_lists__no_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
