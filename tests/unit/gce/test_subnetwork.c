/* SPDX-License-Identifier: Apache-2.0 */
/* test_subnetwork.c: which subnetwork is the cluster's when the cloud config names none, and how
 * often Google is asked.
 *
 * Rows of gce-cloud-provider.md §1.4; a network as Google answers it, changed in
 * the simulator's saved world. */
#include "common/base/str.h"
#include "providers/gce/cache/gce_subnetwork.h"
#include "providers/gce/gce_provider.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define INTERNAL                                                                                   \
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}}}"
#define GET_NETWORK "compute.networks.get"
#define LIST        "compute.subnetworks.list"

static const struct tt_kv l4[] = {
    {"enable-l4-neg", "true"}, {"gce-nodes-need-pod-cidr", "false"}, {"run-l4-controller", "true"}};

static struct rig *start(const char *config_less)
{
    const struct rig_options opt = {
        .nodes = 3, .config_less = config_less, .flags = l4, .n_flags = ARRAY_LEN(l4)};
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", INTERNAL);
    rig_pods(r, "web", "node-0 node-1");
    return r;
}

static const char *known(struct rig *r)
{
    const struct gce_provider *p = rig_provider(r);
    return gce_subnet_search_known(p->subnet_search, rig_arena(r));
}

static struct json_object *part(struct json_object *world, const char *path_end)
{
    json_object_object_foreach(json_member(world, "gce"), path, resource)
    {
        if (str_has_suffix(path, path_end)) {
            return resource;
        }
    }
    fail_msg("the world has no %s", path_end);
    return NULL;
}

/* A twin of the region's subnetwork, under another name and with another range. */
static void add_subnetwork(struct rig *r, struct json_object *world, const char *name,
                           const char *cidr)
{
    struct json_object *cloud = json_member(world, "gce");
    struct json_object *copy = NULL;
    json_object_object_foreach(cloud, path, resource)
    {
        if (str_has_suffix(path, "/subnetworks/default")) {
            assert_int_equal(json_object_deep_copy(resource, &copy, NULL), 0);
            json_add_str(copy, "name", name);
            json_add_str(copy, "ipCidrRange", cidr);
            json_add_str(copy, "selfLink",
                         str_replace(rig_arena(r), json_str(copy, "selfLink"),
                                     "/subnetworks/default",
                                     arena_printf(rig_arena(r), "/subnetworks/%s", name)));
            json_object_object_add(cloud,
                                   str_replace(rig_arena(r), path, "/subnetworks/default",
                                               arena_printf(rig_arena(r), "/subnetworks/%s", name)),
                                   copy);
            return;
        }
    }
}

static const struct row {
    const char *name;
    bool custom;
    const char *v4_range; /* of a legacy network */
    const char *first;    /* range of subnetwork "default"; NULL: as it is */
    const char *second;   /* range of another one; NULL if there is none */
    const char *want;     /* name; "" when nothing is known */
    unsigned lists;
} rows[] = {
    {"auto, one", false, NULL, NULL, NULL, "default", 1},
    {"auto, another one made by hand", false, NULL, NULL, "10.0.0.0/20", "default", 1},
    {"auto, the one is the other", false, NULL, "10.0.0.0/20", "10.132.0.0/20", "other", 1},
    {"auto, two in the range", false, NULL, NULL, "10.132.0.0/20", "", 1},
    {"auto, none in the range", false, NULL, "192.168.0.0/20", NULL, "", 1},
    {"auto, a range that is none", false, NULL, NULL, "10.132.0.0", "", 1},
    {"custom", true, NULL, NULL, NULL, "", 0},
    {"legacy", false, "10.240.0.0/16", NULL, NULL, "", 0},
};

static void change_network(struct rig *r, const struct row *row)
{
    struct json_object *world = rig_save(r);
    struct json_object *network = part(world, "/global/networks/default");
    if (row->custom) {
        json_object_object_add(network, "autoCreateSubnetworks", json_object_new_boolean(false));
    }
    if (row->v4_range != NULL) {
        json_object_object_del(network, "autoCreateSubnetworks");
        json_add_str(network, "IPv4Range", row->v4_range);
    }
    if (row->second != NULL) {
        add_subnetwork(r, world, "other", row->second);
    }
    if (row->first != NULL) {
        json_add_str(part(world, "/subnetworks/default"), "ipCidrRange", row->first);
    }
    rig_load(r, world);
    json_object_put(world);
}

static void not_configured__kinds_of_networks__found_or_not_and_asked_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct rig *r = start("subnetwork-name");
        change_network(r, row);
        rig_forget(r);
        (void)rig_ensure(r, "web"); /* what becomes of it is another test's affair */
        const char *link = known(r);
        const char *name = strrchr(link, '/');
        if (!str_eq(name == NULL ? "" : name + 1, row->want)) {
            fail_msg("%s: found \"%s\", want %s", row->name, link, row->want);
        }
        if (rig_calls(r, GET_NETWORK) != 1 || rig_calls(r, LIST) != row->lists) {
            fail_msg("%s: %u gets, %u lists", row->name, rig_calls(r, GET_NETWORK),
                     rig_calls(r, LIST));
        }
        rig_forget(r);
        (void)rig_ensure(r, "web");
        assert_int_equal(rig_calls(r, GET_NETWORK) + rig_calls(r, LIST), 0);
        rig_stop(r);
    }
}

static void configured__nothing_is_asked(void **state)
{
    (void)state;
    struct rig *r = start(NULL);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, GET_NETWORK) + rig_calls(r, LIST), 0);
    assert_string_equal(known(r), "");
    rig_stop(r);
}

static void target_pool__nothing_is_asked(void **state)
{
    (void)state;
    struct rig *r = start("subnetwork-name");
    rig_service(r, "pool", "{}");
    assert_int_equal(rig_ensure(r, "pool")->code, TT_OK);
    assert_int_equal(rig_calls(r, GET_NETWORK) + rig_calls(r, LIST), 0);
    rig_stop(r);
}

static void refused__goes_on_without__not_asked_at_once_again(void **state)
{
    (void)state;
    struct rig *r = start("subnetwork-name");
    rig_fault(r, "{\"match\":{\"op\":\"compute.networks.get\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":403}");
    /* A NEG without a subnetwork is tested elsewhere. */
    assert_null(strstr(rig_ensure(r, "web")->message, "looking for"));
    assert_string_equal(known(r), "");
    assert_int_equal(rig_calls(r, GET_NETWORK), 1);
    (void)rig_ensure(r, "web");
    assert_int_equal(rig_calls(r, GET_NETWORK), 1);
    rig_stop(r);
}

static void failed__sync_fails__found_with_the_next(void **state)
{
    (void)state;
    struct rig *r = start("subnetwork-name");
    rig_fault(r, "{\"match\":{\"op\":\"compute.subnetworks.list\"},\"count\":0,\"do\":\"refuse\","
                 "\"status\":409}");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_not_equal(res->code, TT_OK);
    assert_non_null(strstr(res->message, "looking for the cluster's subnetwork"));
    assert_int_equal(rig_mutations(r), 0);
    rig_no_faults(r);
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    assert_true(str_has_suffix(known(r), "/subnetworks/default"));
    rig_stop(r);
}

UNIT_MAIN(subnetwork)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_configured__kinds_of_networks__found_or_not_and_asked_once),
        cmocka_unit_test(configured__nothing_is_asked),
        cmocka_unit_test(target_pool__nothing_is_asked),
        cmocka_unit_test(refused__goes_on_without__not_asked_at_once_again),
        cmocka_unit_test(failed__sync_fails__found_with_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
