/* SPDX-License-Identifier: Apache-2.0 */
/* gce_rounds.c: the whole program, and how often it waits for reads before it deletes a load
 * balancer of Google's: once.
 *
 * Reads are made to take a hundred seconds of the fake clock; those that are sent together take
 * them together, so the time that a flow takes is the number of its rounds. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define READ_MS  100000 /* far more than all writes of a flow take */

static const char *const flags_l4[] = {"--v=4", "--run-l4-controller", "--run-l4-netlb-controller",
                                       "--enable-l4-neg", NULL};
static const char *const flags_negs[] = {"--v=4",
                                         "--run-l4-controller",
                                         "--run-l4-netlb-controller",
                                         "--enable-l4-neg",
                                         "--enable-l4-netlb-neg",
                                         "--enable-l4-netlb-neg-default",
                                         NULL};
static const char *const flags_none[] = {"--v=4", NULL};

#define INTERNAL "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS      "\"cloud.google.com/l4-rbs\":\"enabled\""

static const struct {
    const char *kind;
    const char *notes;
    const char *const *flags;
} kinds[] = {
    {"target pool", "\"a\":\"0\"", flags_none},
    {"target pool beside the L4 parts", "\"a\":\"0\"", flags_l4},
    {"internal, instance groups", INTERNAL, flags_none},
    {"internal, NEGs", INTERNAL, flags_l4},
    {"external, instance groups", RBS, flags_l4},
    {"external, NEGs", RBS, flags_negs},
};

static void settle(struct rig *r, int64_t ahead_ms)
{
    if (!rig_settle(r, ahead_ms)) {
        fail_msg("it does not come to rest:\n%s", rig_log(r));
    }
}

static struct rig *start(const char *const *flags)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {.sim = {.seed = 7, .nodes = 6, .latency = SIM_LATENCY_CLOUD},
                                  .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    settle(r, RIG_SOON);
    return r;
}

static void create(struct rig *r, const char *name, const char *notes)
{
    const char *path = arena_printf(rig_arena(r), "/sim/pods/default/%s", name);
    const char *body = arena_printf(
        rig_arena(r),
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"%s\"},"
        "\"ports\":[{\"port\":80}]}}",
        name, notes, name);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
    assert_int_equal(rig_kube(r, "PUT", path, "{\"node-0\":1}", NULL), 200);
    settle(r, RIG_SOON);
}

static void slow_reads(struct rig *r)
{
    static const char *const ops[] = {"compute.*.get", "compute.*.list*",
                                      "compute.*.aggregatedList"};
    struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        const char *fault = arena_printf(rig_arena(r),
                                         "{\"match\":{\"api\":\"gce\",\"op\":\"%s\"},"
                                         "\"count\":0,\"do\":\"delay\",\"ms\":%d}",
                                         ops[i], READ_MS);
        assert_int_equal(rig_fault(r, fault, NULL, &err), ERR_OK);
    }
}

static int64_t reads(struct rig *r)
{
    return rig_calls(r, "gce", "compute.*.get") + rig_calls(r, "gce", "compute.*.list*") +
           rig_calls(r, "gce", "compute.*.aggregatedList");
}

/* Rounds of reads of the deletion of `name`. */
static int64_t rounds_of_delete(struct rig *r, const char *name)
{
    int64_t began_ms = clock_now_ms(rig_clock(r));
    rig_counts_reset(r);
    slow_reads(r);
    assert_int_equal(
        rig_kube(r, "DELETE", arena_printf(rig_arena(r), SERVICES "/%s", name), "", NULL), 200);
    settle(r, RIG_SOON);
    assert_null(rig_get(r, arena_printf(rig_arena(r), SERVICES "/%s", name)));
    rig_fault_remove(r, 0);
    return (clock_now_ms(rig_clock(r)) - began_ms) / READ_MS;
}

/* One of two Services soon after it was made, and the last of the cluster when what the process
 * knows of it is minutes old. */
static void delete__every_kind__one_round_of_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start(kinds[i].flags);
        create(r, "one", kinds[i].notes);
        create(r, "two", kinds[i].notes);
        for (int n = 0; n < 2; n++) {
            int64_t rounds = rounds_of_delete(r, n == 0 ? "one" : "two");
            print_message("# %s, %s: %lld rounds, %lld reads\n", kinds[i].kind,
                          n == 0 ? "one of two" : "the last", (long long)rounds,
                          (long long)reads(r));
            assert_int_equal(rounds, 1);
            rig_advance(r, 120000);
            settle(r, RIG_SOON);
        }
        assert_true(rig_stop(r));
        rig_free(r);
    }
}

UNIT_MAIN(gce_rounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delete__every_kind__one_round_of_reads),
    };
    return cmocka_run_group_tests_name("gce-rounds", tests, NULL, NULL);
}
