/* SPDX-License-Identifier: Apache-2.0 */
/* adoption_edits.c: Services that upstream made are edited under trimtab, and end as they ended
 * under upstream.
 *
 * `before` is loaded, all edits of external Services are made at once, and the cloud at rest equals
 * the recorded `after`.  Addresses stay where they stayed there; where the recorded one changed
 * (another network tier), ours must have changed too. */
#include "tests/sim/adoption.h"

#include "common/base/str.h"
#include "tests/support/unit.h"

#include <string.h>

static const char *const flags[] = {"--cluster-name=c1", "--v=2", NULL};

static bool is_external_name(const char *name)
{
    return str_has_prefix(name, "ext-");
}

static void compare_addresses(struct arena *a, struct json_object *recorded,
                              struct json_object *got)
{
    struct json_object *before = json_member(recorded, "before");
    struct json_object *services = json_path(before, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        const char *key = adoption_key(a, service);
        const char *was = adoption_address(a, before, key);
        if (!adoption_is_external(service)) {
            continue;
        }
        if (str_eq(adoption_address(a, json_member(recorded, "after"), key), was)) {
            assert_string_equal(adoption_address(a, got, key), was);
        } else {
            assert_string_not_equal(adoption_address(a, got, key), was);
            assert_string_not_equal(adoption_address(a, got, key), "");
        }
    }
}

static void adoption__edits_of_adopted_services__end_as_under_upstream(void **state)
{
    struct adoption_deviation deviations[] = {{NULL}};
    struct err err = ERR_INIT;
    struct json_object *recorded = NULL;
    struct arena *a = arena_new();
    (void)state;
    if (rig_read_data(a, "gce/edits-legacy.json", &recorded, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct rig *r =
        adoption_rig(&(struct rig_args){.world = json_member(recorded, "before"), .flags = flags});
    adoption_run(r);
    adoption_expect_untouched(r);
    assert_int_equal(adoption_make_edits(r, json_member(recorded, "edits"), is_external_name), 9);
    assert_true(rig_settle(r, RIG_LATER));
    struct json_object *got = rig_world(r);
    struct json_object *want = adoption_translate_addresses(a, json_member(recorded, "after"), got);
    struct adoption_owned owned = {.a = a, .services = json_path(got, "kubernetes.services")};
    assert_int_equal(adoption_compare(json_member(want, "gce"), json_member(got, "gce"),
                                      adoption_is_owned, &owned, deviations),
                     34);
    compare_addresses(a, recorded, got);
    /* Nothing is left to do, now or after a restart. */
    int64_t writes = rig_mutations(r);
    assert_true(rig_stop(r));
    adoption_run(r);
    assert_int_equal(rig_mutations(r), writes);
    rig_free(r);
    arena_free(a);
}

UNIT_MAIN(adoption_edits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__edits_of_adopted_services__end_as_under_upstream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
