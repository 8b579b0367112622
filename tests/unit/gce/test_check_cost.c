/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_cost.c: whether the shared check stands is asked at every sync, so it must not make a
 * tree of what the snapshot holds.  Trees are counted by the linker's --wrap (meson.build). */
#include "tests/unit/gce/pure.h"

#include "common/base/clock.h"
#include "common/data/json.h"
#include "providers/gce/cache/gce_store.h"
#include "providers/gce/gce_target_pool_others.h"
#include "tests/support/unit.h"

static unsigned *trees(void)
{
    static unsigned made; /* there is no way to hand something to a wrapped function */
    return &made;
}

struct json_object *__real_gce_store_tree(const struct gce_entry *e, const char *name);
struct json_object *__wrap_gce_store_tree(const struct gce_entry *e, const char *name);
struct json_object *__wrap_gce_store_tree(const struct gce_entry *e, const char *name)
{
    ++*trees();
    return __real_gce_store_tree(e, name);
}

static void put(struct gce_cloud *cloud, enum gce_collection c, const char *name)
{
    struct json_object *o = json_object_new_object();
    json_add(o, "name", json_object_new_string(name));
    gce_snapshot_put(cloud->snapshot, GCE_KEY(c, name), o);
    json_object_put(o);
}

static void gce_tp_check_stands__asked__no_tree_is_made(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct gce_cloud cloud = {.snapshot = gce_snapshot_new(clock_real())};
    const struct gce_names names = {.node_check = "k8s-1-node",
                                    .node_check_firewall = "k8s-1-node-http-hc"};

    (void)state;
    assert_false(gce_tp_check_stands(&cloud, a, &names));
    put(&cloud, GCE_CHECKS, names.node_check);
    assert_false(gce_tp_check_stands(&cloud, a, &names));
    put(&cloud, GCE_FIREWALLS, names.node_check_firewall);
    assert_true(gce_tp_check_stands(&cloud, a, &names));
    assert_int_equal(*trees(), 0);
    gce_snapshot_free(cloud.snapshot);
}

UNIT_MAIN(check_cost)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gce_tp_check_stands__asked__no_tree_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
