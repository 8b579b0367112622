/* SPDX-License-Identifier: Apache-2.0 */
/* gce_tails.c: the whole program while a load balancer of Google's serves and is tidied up: its
 * address is published before a reservation is given back, whatever becomes of that.
 *
 * docs/adr/0053. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define RELEASE  "compute.addresses.delete"

static const char *const flags[] = {"--v=4", "--run-l4-controller", "--run-l4-netlb-controller",
                                    "--enable-l4-neg", NULL};

static const struct {
    const char *kind;
    const char *notes;
} kinds[] = {
    {"target pool", "\"a\":\"0\""},
    {"internal, NEGs", "\"networking.gke.io/load-balancer-type\":\"Internal\""},
    {"external, instance groups", "\"cloud.google.com/l4-rbs\":\"enabled\""},
};

static struct rig *start(void)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {.sim = {.seed = 7, .nodes = 6}, .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

static void create(struct rig *r, const char *notes)
{
    const char *body = arena_printf(
        rig_arena(r),
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\","
        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"web\"},"
        "\"ports\":[{\"port\":80}]}}",
        notes);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
    assert_int_equal(rig_kube(r, "PUT", "/sim/pods/default/web", "{\"node-0\":1}", NULL), 200);
}

static const char *ip(struct rig *r)
{
    struct json_object *list =
        json_path(rig_get(r, SERVICES "/web"), "status.loadBalancer.ingress");
    return json_len(list) == 0 ? "" : json_str(json_object_array_get_idx(list, 0), "ip");
}

/* A reservation of ours is still there. */
static bool holds(struct rig *r)
{
    json_object_object_foreach(json_member(rig_world(r), "gce"), path, o)
    {
        (void)o;
        if (strstr(path, "/addresses/") != NULL) {
            return true;
        }
    }
    return false;
}

static void refuse_releases(struct rig *r, int64_t *ret_id)
{
    struct err err = ERR_INIT;
    const char *fault = "{\"match\":{\"op\":\"" RELEASE "\"},\"count\":0,\"do\":\"refuse\","
                        "\"status\":403}";
    assert_int_equal(rig_fault(r, fault, ret_id, &err), ERR_OK);
}

/* Before: no address until the reservation was given back. */
static void tail__release_is_refused__the_address_is_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start();
        int64_t id = 0;
        print_message("# %s\n", kinds[i].kind);
        refuse_releases(r, &id);
        create(r, kinds[i].notes);
        assert_true(rig_settle(r, RIG_SOON));
        const char *published = ip(r);
        assert_string_not_equal(published, "");
        assert_true(holds(r));
        rig_fault_remove(r, id);
        assert_true(rig_settle(r, 600000));
        assert_string_equal(ip(r), published);
        assert_false(holds(r));
        assert_true(rig_stop(r));
        rig_free(r);
    }
}

/* The process dies with the release: nothing is lost, and the next one gives it back. */
static void tail__process_dies__the_next_one_tidies_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct err err = ERR_INIT;
        struct rig *r = start();
        int64_t id = 0;
        print_message("# %s\n", kinds[i].kind);
        refuse_releases(r, &id);
        create(r, kinds[i].notes);
        assert_true(rig_settle(r, RIG_SOON));
        const char *published = ip(r);
        assert_true(rig_stop(r));
        rig_fault_remove(r, id);
        assert_int_equal(rig_start(r, &err), ERR_OK);
        assert_true(rig_settle(r, RIG_SOON));
        assert_string_equal(ip(r), published);
        assert_false(holds(r));
        rig_counts_reset(r);
        assert_int_equal(rig_mutations(r), 0);
        assert_true(rig_stop(r));
        rig_free(r);
    }
}

/* Nothing is written twice: one patch for the finalizer, one for all else. */
static void tail__all_goes_well__as_many_writes_to_the_service(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig *r = start();
        print_message("# %s\n", kinds[i].kind);
        rig_counts_reset(r);
        create(r, kinds[i].notes);
        assert_true(rig_settle(r, RIG_SOON));
        assert_string_not_equal(ip(r), "");
        assert_int_equal(rig_calls(r, "gce", RELEASE), 1);
        assert_int_equal(rig_service_writes(r), 3); /* the test's, and these */
        assert_true(rig_stop(r));
        rig_free(r);
    }
}

UNIT_MAIN(gce_tails)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tail__release_is_refused__the_address_is_published),
        cmocka_unit_test(tail__process_dies__the_next_one_tidies_up),
        cmocka_unit_test(tail__all_goes_well__as_many_writes_to_the_service),
    };
    return cmocka_run_group_tests_name("gce-tails", tests, NULL, NULL);
}
