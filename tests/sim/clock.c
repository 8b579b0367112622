/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: wall time that jumps while monotonic time continues: tokens, events and caches survive.
 *
 * A machine that wakes up, a VM that was moved, an NTP that finds out: wall time may be hours off
 * in both directions and come back.  Deadlines, back-offs and the age of snapshots go by monotonic
 * time and must not notice; tokens and the times in events go by wall time and must recover by
 * themselves.  In one process with the simulator (rig.h). */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/strset.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define HOUR_US  (3600 * 1000000LL)
#define SERVICES "/api/v1/namespaces/default/services"
#define EVENTS   "/api/v1/namespaces/default/events"

/* One after the other: back, forth beyond the start, home again. */
static const int jumps_h[] = {-1, 2, -6, 10, -24 * 365, 2 * 24 * 365, -24 * 365};

static struct rig *rig_with_web(void)
{
    static const char body[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"},"
        "\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"web\"},"
        "\"ports\":[{\"port\":80}]}}";
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(&(struct rig_args){.sim = {.nodes = 3}}, &r, &err) != ERR_OK ||
        rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

static void jump(struct rig *r, int hours)
{
    clock_fake_set_wall_us(rig_clock(r), clock_wall_us(rig_clock(r)) + hours * HOUR_US);
}

static const char *address(struct rig *r)
{
    struct json_object *ingress =
        json_path(rig_get(r, SERVICES "/web"), "status.loadBalancer.ingress");
    return json_len(ingress) == 0 ? "" : json_str(json_object_array_get_idx(ingress, 0), "ip");
}

/* An edit, which costs one change of the cloud. */
static void edit(struct rig *r, int nth)
{
    const char *patch = arena_printf(
        rig_arena(r), "{\"spec\":{\"loadBalancerSourceRanges\":[\"10.%d.0.0/16\"]}}", nth);
    assert_int_equal(rig_kube(r, "PATCH", SERVICES "/web", patch, NULL), 200);
}

static void must_fault(struct rig *r, const char *fault)
{
    struct err err = ERR_INIT;
    if (rig_fault(r, fault, NULL, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void clock_jump__either_way__edits_are_made_and_the_address_stays(void **state)
{
    struct rig *r = rig_with_web();
    const char *before = address(r);
    (void)state;
    assert_string_not_equal(before, "");
    for (size_t i = 0; i < ARRAY_LEN(jumps_h); i++) {
        rig_counts_reset(r);
        jump(r, jumps_h[i]);
        edit(r, (int)i);
        assert_true(rig_settle(r, RIG_SOON)); /* no back-off was needed */
        assert_int_equal(rig_calls(r, "gce", "compute.firewalls.patch"), 1);
        assert_int_equal(rig_mutations(r), 1);
        assert_string_equal(address(r), before);
    }
    assert_true(rig_stop(r));
    rig_free(r);
}

/* The alternate source says when its token ends by its own calendar, which says hours
 * ago by ours. */
static void clock_jump__forth__tokens_are_used_as_long_as_they_last(void **state)
{
    struct rig *r = rig_with_web();
    (void)state;
    jump(r, 5);
    rig_counts_reset(r);
    edit(r, 1);
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(rig_mutations(r), 1);
    assert_int_equal(rig_calls(r, "metadata", "*"), 0); /* the one that was cached */
    rig_advance(r, 3600000);                            /* now it is over */
    edit(r, 2);
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(rig_mutations(r), 2);
    assert_true(rig_calls(r, "metadata", "*") >= 1);
    rig_free(r);
}

/* Wall time says that it is good for hours, Google says that it is over: the 401 decides. */
static void clock_jump__back__a_token_that_is_over_is_renewed_by_its_401(void **state)
{
    struct rig *r = rig_with_web();
    (void)state;
    jump(r, -5);
    must_fault(r, "{\"match\":{\"api\":\"gce\"},\"do\":\"refuse\",\"status\":401,\"count\":1}");
    rig_counts_reset(r);
    edit(r, 1);
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(rig_calls(r, "gce", "compute.firewalls.patch"), 1);
    assert_true(rig_calls(r, "metadata", "*") >= 1);
    rig_free(r);
}

/* Names are made of times, and none may come twice. */
static void clock_jump__back__events_keep_their_own_names(void **state)
{
    struct rig *r = rig_with_web();
    struct json_object *list = NULL;
    (void)state;
    for (int i = 0; i < 3; i++) {
        must_fault(r, "{\"match\":{\"op\":\"compute.firewalls.patch\"},\"do\":\"refuse\","
                      "\"status\":400,\"count\":1}");
        edit(r, i);
        assert_true(rig_settle(r, RIG_LATER));
        jump(r, -7);
    }
    assert_int_equal(rig_kube(r, "GET", EVENTS, NULL, &list), 200);
    struct json_object *items = json_member(list, "items");
    size_t n = json_len(items);
    const char **names = ARENA_ARRAY(rig_arena(r), const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        names[i] = json_str(json_member(item, "metadata"), "name");
        assert_non_null(json_str(item, "lastTimestamp"));
    }
    assert_true(n >= 3); /* ensuring, ensured, failed: with counts */
    assert_int_equal(str_set_make(rig_arena(r), names, n).n, n);
    json_object_put(list);
    rig_free(r);
}

/* A sync that finds nothing to do. */
static void look_again(struct rig *r, int nth)
{
    const char *patch =
        arena_printf(rig_arena(r), "{\"metadata\":{\"annotations\":{\"x\":\"%d\"}}}", nth);
    assert_int_equal(rig_kube(r, "PATCH", SERVICES "/web", patch, NULL), 200);
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(rig_mutations(r), 0);
}

/* The age of what is remembered goes by monotonic time. */
static void clock_jump__caches__neither_dropped_nor_kept_for_longer(void **state)
{
    struct rig *r = rig_with_web();
    (void)state;
    rig_counts_reset(r);
    look_again(r, 1); /* reads what was just written */
    rig_counts_reset(r);
    jump(r, 48);
    look_again(r, 2);
    assert_int_equal(rig_calls(r, "gce", "*"), 0); /* seconds old, whatever the calendar says */
    rig_advance(r, 120000);
    jump(r, -48);
    look_again(r, 3);
    assert_true(rig_calls(r, "gce", "*") > 0); /* two minutes old, whatever it says */
    rig_free(r);
}

/* A back-off of seconds stays one of seconds, and is not skipped. */
static void clock_jump__back_off__its_length_stays(void **state)
{
    struct rig *r = rig_with_web();
    (void)state;
    must_fault(r, "{\"match\":{\"op\":\"compute.firewalls.patch\"},\"do\":\"refuse\","
                  "\"status\":400,\"count\":1}");
    rig_counts_reset(r);
    edit(r, 1);
    assert_true(rig_settle(r, RIG_SOON));
    jump(r, 72);
    assert_true(rig_settle(r, RIG_SOON));
    assert_int_equal(rig_calls(r, "gce", "compute.firewalls.patch"), 1); /* still waiting */
    jump(r, -144);
    assert_true(rig_settle(r, RIG_LATER));
    assert_int_equal(rig_calls(r, "gce", "compute.firewalls.patch"), 2);
    rig_free(r);
}

/* The clock was wrong before, is wrong after, or both: a restart takes over without a write. */
static void clock_jump__across_a_restart__nothing_is_written(void **state)
{
    struct rig *r = rig_with_web();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jumps_h); i++) {
        struct err err = ERR_INIT;
        assert_true(rig_stop(r));
        rig_counts_reset(r);
        if (rig_start(r, &err) != ERR_OK) {
            fail_msg("%s", err.message);
        }
        jump(r, jumps_h[i]);
        assert_true(rig_settle(r, RIG_SOON));
        assert_int_equal(rig_mutations(r), 0);
        assert_int_equal(rig_service_writes(r), 0);
    }
    rig_free(r);
}

UNIT_MAIN(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_jump__either_way__edits_are_made_and_the_address_stays),
        cmocka_unit_test(clock_jump__forth__tokens_are_used_as_long_as_they_last),
        cmocka_unit_test(clock_jump__back__a_token_that_is_over_is_renewed_by_its_401),
        cmocka_unit_test(clock_jump__back__events_keep_their_own_names),
        cmocka_unit_test(clock_jump__caches__neither_dropped_nor_kept_for_longer),
        cmocka_unit_test(clock_jump__back_off__its_length_stays),
        cmocka_unit_test(clock_jump__across_a_restart__nothing_is_written),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
