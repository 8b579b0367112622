/* SPDX-License-Identifier: Apache-2.0 */
/* adoption_build.c: what trimtab builds for the Services of a recorded world is what upstream
 * built.
 *
 * The world's cluster is loaded with its external Services as their owners wrote them (no status,
 * no finalizers), beside a cloud that has the same machines, networks and reserved addresses but no
 * load balancer.  When the controller rests, every forwarding rule, target pool, firewall, health
 * check and address equals the recorded one, member by member. */
#include "tests/sim/adoption.h"
#include "tests/support/unit.h"

static const char *const flags[] = {"--cluster-name=c1", NULL};

/* The status of each Service is as recorded, but for the address. */
static void compare_status(struct arena *a, struct json_object *want, struct json_object *got)
{
    struct json_object *services = json_path(got, "kubernetes.services");
    struct json_object *recorded = json_path(want, "kubernetes.services");
    size_t n = 0;
    for (size_t i = 0; i < json_len(recorded); i++) {
        struct json_object *service = json_object_array_get_idx(recorded, i);
        if (!adoption_is_external(service)) {
            continue;
        }
        struct json_object *ours = json_object_array_get_idx(services, n++);
        assert_string_equal(adoption_key(a, service), adoption_key(a, ours));
        assert_string_equal(json_text(a, json_member(service, "status"), JSON_SORTED),
                            json_text(a, json_member(ours, "status"), JSON_SORTED));
    }
    assert_int_equal(n, json_len(services));
}

static void build(const char *file, int resources, struct adoption_deviation *deviations)
{
    struct err err = ERR_INIT;
    struct json_object *world = NULL;
    struct arena *a = arena_new();
    if (rig_read_data(a, file, &world, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct rig *r = adoption_rig(&(struct rig_args){
        .world = adoption_before_any(a, world, adoption_is_external), .flags = flags});
    adoption_run(r);
    struct json_object *built = rig_world(r);
    struct json_object *want = adoption_translate_addresses(a, world, built);
    struct adoption_owned owned = {.a = a, .services = json_path(built, "kubernetes.services")};
    assert_int_equal(adoption_compare(json_member(want, "gce"), json_member(built, "gce"),
                                      adoption_is_owned, &owned, deviations),
                     resources);
    compare_status(a, want, built);
    rig_free(r);
    arena_free(a);
}

static void adoption__services_of_a_world_without_load_balancers__are_built_as_upstream_did(
    void **state)
{
    struct adoption_deviation deviations[] = {
        {"firewalls/k8s-*-node-http-hc", "destinationRanges", "shared health-check firewall"},
        {NULL},
    };
    (void)state;
    build("gce/world-legacy.json", 34, deviations);
}

static void adoption__services_beside_ingress_gce__are_built_as_upstream_did(void **state)
{
    struct adoption_deviation deviations[] = {
        {"firewalls/k8s-*-node-http-hc", "destinationRanges", "shared health-check firewall"},
        {NULL},
    };
    (void)state;
    build("gce/world-both.json", 16, deviations);
}

UNIT_MAIN(adoption_build)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            adoption__services_of_a_world_without_load_balancers__are_built_as_upstream_did),
        cmocka_unit_test(adoption__services_beside_ingress_gce__are_built_as_upstream_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
