/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_adoption.c: clusters that ingress-gce and cloud-provider-gcp have served, taken over whole
 * by one trimtab that plays the part, or the parts, that served them.
 *
 *   adopted   each world: no call changes the cloud, no Service is written, no Event is raised,
 *             every Service was synced
 *   built     the same Services beside a cloud without balancers: what is built equals what
 *             upstream built, member by member
 *   edited    the recorded edits, all at once: the cloud ends as it ended under upstream, addresses
 *             stay where they stayed
 *
 * What differs for a reason stands in a table with the row of docs/deviations.md. */
#include "tests/sim/adoption.h"

#include "common/base/str.h"
#include "tests/support/unit.h"

#include <string.h>

#define L4_FLAGS "--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg"
#define ALONE    "--controllers=-service-lb-controller"
static const char *const flags_legacy[] = {"--cluster-name=c1", "--v=4", NULL};
static const char *const flags_l4[] = {"--v=4", ALONE, L4_FLAGS, NULL};
static const char *const flags_negs[] = {
    "--v=4", ALONE, L4_FLAGS, "--enable-l4-netlb-neg", "--enable-l4-netlb-neg-default", NULL};
static const char *const flags_both[] = {"--cluster-name=c1", "--v=4", L4_FLAGS, NULL};

static const struct {
    const char *file;
    const char *const *flags;
    int services;
} worlds[] = {
    {"gce/world-legacy.json", flags_legacy, 18},
    {"gce/world-l4.json", flags_l4, 18},
    {"gce/world-l4-netlb-neg.json", flags_negs, 18},
    {"gce/world-both.json", flags_both, 8},
    {"gce/world-l4-dual-internal.json", flags_l4, 5},
    {"gce/world-l4-dual-external.json", flags_l4, 4},
};

/* ---- adopted --------------------------------------------------------------------------------- */

static void expect_all_synced(struct rig *r, struct json_object *services, int n)
{
    assert_int_equal((int)json_len(services), n);
    for (size_t i = 0; i < json_len(services); i++) {
        const char *key = adoption_key(rig_arena(r), json_object_array_get_idx(services, i));
        const char *outcome = adoption_outcome(r, key);
        if (!str_eq(outcome, "Synced")) {
            fail_msg("%s: %s\n%s", key, str_nonnull(outcome), rig_log(r));
        }
    }
}

static void adopt(size_t i)
{
    struct rig *r =
        adoption_rig(&(struct rig_args){.world_file = worlds[i].file, .flags = worlds[i].flags});
    struct json_object *before = rig_world(r);
    adoption_run(r);
    adoption_expect_untouched(r);
    expect_all_synced(r, json_path(before, "kubernetes.services"), worlds[i].services);
    assert_int_equal(rig_kube(r, "PATCH", "/api/v1/nodes/node-0",
                              "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}", NULL),
                     200);
    assert_true(rig_settle(r, RIG_LATER));
    assert_true(rig_stop(r));
    adoption_run(r);
    adoption_expect_untouched(r);
    struct json_object *after = rig_world(r);
    assert_true(json_equal(json_member(before, "gce"), json_member(after, "gce")));
    assert_true(json_equal(json_member(before, "members"), json_member(after, "members")));
    assert_true(json_equal(json_path(before, "kubernetes.services"),
                           json_path(after, "kubernetes.services")));
    assert_true(json_equal(json_path(before, "kubernetes.servicenetworkendpointgroups"),
                           json_path(after, "kubernetes.servicenetworkendpointgroups")));
    rig_free(r);
}

#define WORLD(index, name)                                                                         \
    static void adoption__##name##__is_a_no_op(void **state)                                       \
    {                                                                                              \
        (void)state;                                                                               \
        adopt(index);                                                                              \
    }
WORLD(0, world_of_cloud_provider_gcp)
WORLD(1, world_of_ingress_gce)
WORLD(2, world_of_ingress_gce_with_negs)
WORLD(3, world_of_both_in_one_process)
WORLD(4, world_of_internal_dual_stack)
WORLD(5, world_of_external_dual_stack)

/* ---- built ----------------------------------------------------------------------------------- */

static bool every(struct json_object *service)
{
    (void)service;
    return true;
}

static void build(size_t i, int resources, struct adoption_deviation *deviations)
{
    struct err err = ERR_INIT;
    struct json_object *world = NULL;
    struct arena *a = arena_new();
    if (rig_read_data(a, worlds[i].file, &world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct json_object *bare = adoption_before_any(a, world, every);
    json_add(json_member(bare, "kubernetes"), "servicenetworkendpointgroups",
             json_object_new_array());
    struct rig *r = adoption_rig(&(struct rig_args){.world = bare, .flags = worlds[i].flags});
    adoption_run(r);
    struct json_object *built = rig_world(r);
    struct json_object *want = adoption_translate_addresses(a, world, built);
    assert_int_equal(adoption_compare(json_member(want, "gce"), json_member(built, "gce"), NULL,
                                      NULL, deviations),
                     resources);
    adoption_compare_members(want, built);
    int64_t writes = rig_mutations(r);
    assert_true(rig_stop(r));
    adoption_run(r);
    assert_int_equal(rig_mutations(r), writes);
    rig_free(r);
    arena_free(a);
}

static void adoption__services_of_cloud_provider_gcp__are_built_as_it_did(void **state)
{
    struct adoption_deviation deviations[] = {
        {"firewalls/k8s-*-node-http-hc", "destinationRanges", "shared health-check firewall"},
        {NULL},
    };
    (void)state;
    build(0, 68, deviations);
}

static void adoption__services_of_ingress_gce__are_built_as_it_did(void **state)
{
    struct adoption_deviation deviations[] = {{NULL}};
    (void)state;
    build(1, 94, deviations);
}

static void adoption__services_of_ingress_gce_with_negs__are_built_as_it_did(void **state)
{
    struct adoption_deviation deviations[] = {{NULL}};
    (void)state;
    build(2, 118, deviations);
}

static void adoption__services_of_both__are_built_as_they_did(void **state)
{
    struct adoption_deviation deviations[] = {
        {"firewalls/k8s-*-node-http-hc", "destinationRanges", "shared health-check firewall"},
        {NULL},
    };
    (void)state;
    build(3, 50, deviations);
}

static void adoption__internal_dual_stack__is_built_as_upstream_did(void **state)
{
    struct adoption_deviation deviations[] = {
        {"firewalls/*-dual-v4ranges-*-ipv6", "", "source ranges of one family"}, {NULL}};
    (void)state;
    build(4, 47, deviations);
}

static void adoption__external_dual_stack__is_built_as_upstream_did(void **state)
{
    struct adoption_deviation deviations[] = {{NULL}};
    (void)state;
    build(5, 30, deviations);
}

/* ---- edited ---------------------------------------------------------------------------------- */

static void compare_addresses(struct arena *a, struct json_object *recorded,
                              struct json_object *got)
{
    struct json_object *before = json_member(recorded, "before");
    struct json_object *services = json_path(before, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        const char *key = adoption_key(a, service);
        const char *was = adoption_address(a, before, key);
        const char *is = adoption_address(a, got, key);
        if (str_eq(adoption_address(a, json_member(recorded, "after"), key), was)) {
            assert_string_equal(is, was);
        } else {
            assert_string_not_equal(is, was);
            assert_string_not_equal(is, "");
        }
    }
}

static void edit(const char *file, const char *const *flags, int edits, int resources,
                 struct adoption_deviation *deviations)
{
    struct err err = ERR_INIT;
    struct json_object *recorded = NULL;
    struct arena *a = arena_new();
    if (rig_read_data(a, file, &recorded, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct rig *r =
        adoption_rig(&(struct rig_args){.world = json_member(recorded, "before"), .flags = flags});
    adoption_run(r);
    adoption_expect_untouched(r);
    assert_int_equal(adoption_make_edits(r, json_member(recorded, "edits"), NULL), edits);
    assert_true(rig_settle(r, RIG_LATER));
    struct json_object *got = rig_world(r);
    struct json_object *want = adoption_translate_addresses(a, json_member(recorded, "after"), got);
    assert_int_equal(
        adoption_compare(json_member(want, "gce"), json_member(got, "gce"), NULL, NULL, deviations),
        resources);
    adoption_compare_members(want, got);
    compare_addresses(a, recorded, got);
    int64_t writes = rig_mutations(r);
    assert_true(rig_stop(r));
    adoption_run(r);
    assert_int_equal(rig_mutations(r), writes);
    rig_free(r);
    arena_free(a);
}

static void adoption__edits_of_services_of_ingress_gce__end_as_under_it(void **state)
{
    struct adoption_deviation deviations[] = {
        {"healthChecks/*-local-*", "", "unused local health check"},
        {"firewalls/*-local-*-fw", "", "unused local health check"},
        {NULL},
    };
    (void)state;
    edit("gce/edits-l4.json", flags_l4, 15, 98, deviations);
}

static void adoption__edits_of_services_of_cloud_provider_gcp__end_as_under_it(void **state)
{
    struct adoption_deviation deviations[] = {{NULL}};
    (void)state;
    edit("gce/edits-legacy.json", flags_legacy, 18, 68, deviations);
}

UNIT_MAIN(gce_l4_adoption)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__world_of_cloud_provider_gcp__is_a_no_op),
        cmocka_unit_test(adoption__world_of_ingress_gce__is_a_no_op),
        cmocka_unit_test(adoption__world_of_ingress_gce_with_negs__is_a_no_op),
        cmocka_unit_test(adoption__world_of_both_in_one_process__is_a_no_op),
        cmocka_unit_test(adoption__world_of_internal_dual_stack__is_a_no_op),
        cmocka_unit_test(adoption__world_of_external_dual_stack__is_a_no_op),
        cmocka_unit_test(adoption__services_of_cloud_provider_gcp__are_built_as_it_did),
        cmocka_unit_test(adoption__services_of_ingress_gce__are_built_as_it_did),
        cmocka_unit_test(adoption__services_of_ingress_gce_with_negs__are_built_as_it_did),
        cmocka_unit_test(adoption__services_of_both__are_built_as_they_did),
        cmocka_unit_test(adoption__internal_dual_stack__is_built_as_upstream_did),
        cmocka_unit_test(adoption__external_dual_stack__is_built_as_upstream_did),
        cmocka_unit_test(adoption__edits_of_services_of_ingress_gce__end_as_under_it),
        cmocka_unit_test(adoption__edits_of_services_of_cloud_provider_gcp__end_as_under_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
