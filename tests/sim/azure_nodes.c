/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nodes.c: the whole program when nodes come and go while its lists of machines are young.
 *
 * In the recorded world of availability sets the list of sets says who is behind which balancer.
 * It is kept for a while; a machine that comes in the meantime is in no set that the list knows,
 * and nothing would bring its node up again later.
 * Source: docs/spec/azure.md 3.9, 7.2. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

/* The recorded cluster without its Services and what was made for them. */
static struct json_object *empty_world(void)
{
    const char *folder = getenv("TRIMTAB_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof(path), "%s/azure/world-availability-sets.json", folder);
    struct json_object *world = json_object_from_file(path);
    assert_non_null(world);
    struct json_object *azure = json_member(world, "azure");
    json_object_object_foreach(azure, id, doc)
    {
        struct json_object *configs = json_path(doc, "properties.ipConfigurations");
        for (size_t i = 0; i < json_len(configs); i++) {
            json_object_object_del(json_member(json_object_array_get_idx(configs, i), "properties"),
                                   "loadBalancerBackendAddressPools");
        }
        if (strstr(id, "/loadBalancers/") || strstr(id, "/publicIPAddresses/")) {
            json_object_object_del(azure, id);
        }
    }
    json_object_object_del(json_member(world, "kubernetes"), "services");
    return world;
}

static struct rig *start(struct json_object *world)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    static const char *const flags[] = {"--cluster-name=c1", NULL};
    const struct rig_args args = {
        .world = world, .sim = {.seed = 7, .cloud = "azure"}, .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

/* "nic-0 nic-1": whose interfaces are in the first pool of a balancer. */
static const char *members(struct rig *r, const char *lb)
{
    struct arena *a = rig_arena(r);
    struct json_object *azure = json_member(rig_world(r), "azure");
    const char *end = arena_printf(a, "/loadBalancers/%s", lb);
    const char *text = "";
    json_object_object_foreach(azure, id, doc)
    {
        struct json_object *pools = json_path(doc, "properties.backendAddressPools");
        bool is_it = str_has_suffix(id, end) && json_len(pools) > 0;
        struct json_object *configs = is_it ? json_path(json_object_array_get_idx(pools, 0),
                                                        "properties.backendIPConfigurations")
                                            : NULL;
        for (size_t i = 0; i < json_len(configs); i++) {
            const char *config = json_str(json_object_array_get_idx(configs, i), "id");
            const char *nic = strstr(config, "/networkInterfaces/") + strlen("/networkInterfaces/");
            text = arena_printf(a, "%s%s%.*s", text, *text ? " " : "", (int)strcspn(nic, "/"), nic);
        }
    }
    return text;
}

static void availability_set__a_machine_comes_while_the_list_is_young__joins(void **state)
{
    (void)state;
    struct json_object *world = empty_world();
    struct rig *r = start(world);
    assert_int_equal(rig_kube(r, "POST", "/api/v1/namespaces/default/services",
                              "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":"
                              "\"late\"},\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":"
                              "99}]}}",
                              NULL),
                     201);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(members(r, "c1"), "nic-0 nic-1 nic-2");
    static const char *const then[] = {"nic-0 nic-1 nic-2 nic-6", "nic-0 nic-1 nic-2 nic-6 nic-7"};
    for (size_t i = 0; i < ARRAY_LEN(then); i++) {
        rig_counts_reset(r);
        assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
        assert_true(rig_settle(r, RIG_SOON));
        assert_string_equal(members(r, "c1"), then[i]);
        assert_int_equal(rig_calls(r, "azure", "AvailabilitySets.List"), 1);
        assert_int_equal(rig_calls(r, "azure", "Interfaces.CreateOrUpdate"), 1);
    }
    rig_free(r);
    json_object_put(world);
}

UNIT_MAIN(azure_nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(availability_set__a_machine_comes_while_the_list_is_young__joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
