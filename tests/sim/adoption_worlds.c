/* SPDX-License-Identifier: Apache-2.0 */
/* adoption_worlds.c: without the flags of ingress-gce, trimtab leaves alone what that has made, and
 * keeps target pools beside it.
 *
 * Each world is loaded into the simulator, a controller runs on it until it rests: no call changes
 * the cloud, no Service is written, no Event is raised.  That this is not because nothing was
 * looked at is shown by the log (each external Service was synced) and by the gauge of load
 * balancers that are well. */
#include "tests/sim/adoption.h"

#include "common/base/str.h"
#include "controller/process/app_internal.h"
#include "tests/support/unit.h"

/* The flags of a world that have a meaning here, and those that are ingress-gce's alone. */
static const char *const flags_legacy[] = {"--cluster-name=c1", "--v=4", NULL};
static const char *const flags_l4[] = {"--v=4", NULL};

static const struct {
    const char *file;
    const char *const *flags;
    const char *left_out; /* flags of the recording that only ingress-gce has */
    int external;         /* Services with a target pool */
    int others;           /* internal ones and those with a regional backend service */
} worlds[] = {
    {"gce/world-l4.json", flags_l4, "--run-l4-controller --run-l4-netlb-controller --enable-l4-neg",
     0, 18},
    {"gce/world-l4-netlb-neg.json", flags_l4,
     "--run-l4-controller --run-l4-netlb-controller --enable-l4-neg --enable-l4-netlb-neg "
     "--enable-l4-netlb-neg-default",
     0, 18},
    {"gce/world-both.json", flags_legacy,
     "--run-l4-controller --run-l4-netlb-controller --enable-l4-neg", 3, 5},
    {"gce/world-l4-dual-internal.json", flags_l4,
     "--run-l4-controller --run-l4-netlb-controller --enable-l4-neg", 0, 5},
    {"gce/world-l4-dual-external.json", flags_l4,
     "--run-l4-controller --run-l4-netlb-controller --enable-l4-neg", 0, 4},
};

static void expect_outcomes(struct rig *r, struct json_object *services, int external, int others)
{
    struct arena *a = rig_arena(r);
    int synced = 0;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        const char *outcome = adoption_outcome(r, adoption_key(a, service));
        if (adoption_is_external(service)) {
            assert_string_equal(str_nonnull(outcome), "Synced");
            synced++;
        } else {
            assert_string_equal(str_nonnull(outcome), "Load balancer is implemented elsewhere");
        }
    }
    assert_int_equal(synced, external);
    assert_int_equal((int)json_len(services) - synced, others);
}

static double gauge(struct rig *r, const char *status)
{
    const struct tt_kv labels[] = {{"status", status}, {"deny_firewall", ""}};
    return metrics_value(rig_app(r)->metrics, "number_of_l4_netlbs", labels, ARRAY_LEN(labels));
}

static void adopt(size_t i)
{
    struct rig *r =
        adoption_rig(&(struct rig_args){.world_file = worlds[i].file, .flags = worlds[i].flags});
    struct json_object *before = rig_world(r);
    adoption_run(r);
    adoption_expect_untouched(r);
    expect_outcomes(r, json_path(before, "kubernetes.services"), worlds[i].external,
                    worlds[i].others);
    assert_float_equal(gauge(r, "Success"), worlds[i].external, 0.001);
    assert_float_equal(gauge(r, "Error"), 0, 0.001);
    /* A change of a node that concerns no load balancer, and a restart, change nothing either. */
    assert_int_equal(rig_kube(r, "PATCH", "/api/v1/nodes/node-0",
                              "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}", NULL),
                     200);
    assert_true(rig_settle(r, RIG_LATER));
    assert_true(rig_stop(r));
    adoption_run(r);
    adoption_expect_untouched(r);
    struct json_object *after = rig_world(r);
    assert_true(json_equal(json_member(before, "gce"), json_member(after, "gce")));
    assert_true(json_equal(json_path(before, "kubernetes.services"),
                           json_path(after, "kubernetes.services")));
    rig_free(r);
}

#define WORLD(index, name)                                                                         \
    static void adoption__##name##__is_left_alone(void **state)                                    \
    {                                                                                              \
        (void)state;                                                                               \
        adopt(index);                                                                              \
    }
WORLD(0, world_of_ingress_gce)
WORLD(1, world_of_ingress_gce_with_negs)
WORLD(2, world_of_both_controllers)
WORLD(3, world_of_internal_dual_stack)
WORLD(4, world_of_external_dual_stack)

UNIT_MAIN(adoption_worlds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__world_of_ingress_gce__is_left_alone),
        cmocka_unit_test(adoption__world_of_ingress_gce_with_negs__is_left_alone),
        cmocka_unit_test(adoption__world_of_both_controllers__is_left_alone),
        cmocka_unit_test(adoption__world_of_internal_dual_stack__is_left_alone),
        cmocka_unit_test(adoption__world_of_external_dual_stack__is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
