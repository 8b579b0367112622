/* SPDX-License-Identifier: Apache-2.0 */
/* test_class_foreign.c: a Service that trimtab has served comes back with another controller's
 * class, or with another type, and without a finalizer: its mark alone tells that something of it
 * may stand (docs/adr/0100); against the simulator. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv flags[] = {{"enable-l4-neg", "true"},
                                     {"gce-nodes-need-pod-cidr", "false"},
                                     {"run-l4-controller", "true"},
                                     {"run-l4-netlb-controller", "true"}};

static const char *const kinds[] = {
    "{}",
    "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}}",
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}}}",
};

/* The edits after which it wants nothing of ours. */
static const char *const edits[] = {
    "{\"metadata\":{\"finalizers\":null},\"spec\":{\"loadBalancerClass\":\"example.com/lb\"}}",
    "{\"metadata\":{\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"]},"
    "\"spec\":{\"loadBalancerClass\":\"example.com/lb\"}}",
    "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"ClusterIP\"}}",
};

/* With `n` flags: 0 for internal ones with instance groups. */
static struct rig *start_served(const char *kind, size_t n)
{
    const struct rig_options opt = {.flags = flags, .n_flags = n};
    struct rig *r = rig_start(&opt);
    rig_give_addresses(r);
    rig_service(r, "web", "{}");
    rig_edit(r, "web", kind);
    for (int turn = 0; turn < 4 && str_is_empty(rig_ensure(r, "web")->ip); turn++) {
    }
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    return r;
}

/* Marked as made here, then edited while no process runs. */
static struct rig *start(const char *kind, const char *edit, size_t n)
{
    struct rig *r = start_served(kind, n);
    struct json_object *tree = rig_service_tree(r, "web");
    const char *uid = json_str(json_member(tree, "metadata"), "uid");
    const char *mark =
        arena_printf(rig_arena(r),
                     "{\"metadata\":{\"annotations\":{\"trimtab.io/carried-out-by\":\"gce %s\","
                     "\"trimtab.io/carried-out\":\"%s\"}}}",
                     uid, uid);
    json_putp(&tree);
    rig_edit(r, "web", mark);
    rig_edit(r, "web", edit);
    rig_reopen(r);
    rig_forget(r);
    return r;
}

static size_t flags_of(size_t which)
{
    return which == 0 ? 0 : ARRAY_LEN(flags);
}

static bool is_run(size_t kind, size_t n)
{
    return n > 0 || kind != 1;
}

static void not_wanted__killed_anywhere__the_cloud_is_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(edits) * 2; i++) {
        const char *kind = kinds[i % ARRAY_LEN(kinds)];
        const char *edit = edits[i / ARRAY_LEN(kinds) % ARRAY_LEN(edits)];
        size_t n = flags_of(i / ARRAY_LEN(kinds) / ARRAY_LEN(edits));
        bool dies = is_run(i % ARRAY_LEN(kinds), n);
        for (unsigned nth = 1; dies; nth++) {
            struct rig *r = start(kind, edit, n);
            rig_die_at(r, RIG_DIES_AFTER, nth);
            (void)rig_sync(r, TT_VERB_DELETE, "web");
            dies = rig_is_dead(r);
            rig_reopen(r);
            const struct tt_result *res = rig_sync(r, TT_VERB_DELETE, "web");
            if (res->code != TT_OK || !str_eq(rig_inventory(r), "")) {
                fail_msg("%s, %s, killed at %u: %d %s\n%s", kind, edit, nth, res->code,
                         res->message, rig_inventory(r));
            }
            rig_stop(r);
        }
    }
}

/* The process saw it as it was, and nothing but the finalizers told of its kind. */
static void not_wanted__watched_and_only_taken_over__the_cloud_is_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(edits) * 2; i++) {
        const char *kind = kinds[i % ARRAY_LEN(kinds)];
        const char *edit = edits[i / ARRAY_LEN(kinds) % ARRAY_LEN(edits)];
        size_t n = flags_of(i / ARRAY_LEN(kinds) / ARRAY_LEN(edits));
        if (!is_run(i % ARRAY_LEN(kinds), n)) {
            continue;
        }
        struct rig *r = start_served(kind, n);
        rig_reopen(r);
        assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
        rig_remember(r, "web");
        rig_edit(r, "web", edit);
        const struct tt_result *res = rig_sync(r, TT_VERB_DELETE, "web");
        if (res->code != TT_OK || !str_eq(rig_inventory(r), "")) {
            fail_msg("%s, %s: %d %s\n%s", kind, edit, res->code, res->message, rig_inventory(r));
        }
        rig_stop(r);
    }
}

static void class_of_others__explained__it_loses_what_it_has(void **state)
{
    (void)state;
    struct rig *r = start(kinds[0], edits[0], ARRAY_LEN(flags));
    const char *text = rig_explain(r, "web")->text;
    if (strstr(text, "loses an external load balancer with a target pool, because its "
                     "loadBalancerClass is\n  another controller's.") == NULL) {
        fail_msg("%s", text);
    }
    rig_stop(r);
}

UNIT_MAIN(class_foreign)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_wanted__killed_anywhere__the_cloud_is_empty),
        cmocka_unit_test(not_wanted__watched_and_only_taken_over__the_cloud_is_empty),
        cmocka_unit_test(class_of_others__explained__it_loses_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
