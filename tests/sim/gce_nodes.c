/* SPDX-License-Identifier: Apache-2.0 */
/* gce_nodes.c: the whole program when nodes and pods come, go and move: who is behind Google's
 * balancers then, and what that costs in calls.
 *
 * Source: docs/spec/gce-l4.md §3.4, §8.2, §9.4, §9.5 rules 7 and
 * 8; docs/spec/gce-cloud-provider.md §5.10. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/base/strset.h"
#include "tests/support/unit.h"

#define L4_FLAGS "--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg"
static const char *const flags_l4[] = {"--v=4", "--controllers=-service-lb-controller", L4_FLAGS,
                                       NULL};
static const char *const flags_periodic[] = {"--v=4", "--controllers=-service-lb-controller",
                                             L4_FLAGS, "--sync-period=10m", NULL};
static const char *const flags_both[] = {"--cluster-name=c1", "--v=4", L4_FLAGS,
                                         "--controllers=*,gke-service-lb-controller", NULL};

#define SERVICES     "/api/v1/namespaces/default/services"
#define ATTACH       "compute.networkEndpointGroups.attachNetworkEndpoints"
#define DETACH       "compute.networkEndpointGroups.detachNetworkEndpoints"
#define LIST_MEMBERS "compute.networkEndpointGroups.listNetworkEndpoints"
#define NOTICED_MS                                                                                 \
    4000 /* changes of nodes are collected (node_fanout.h), and what is known is read */
#define INTERNAL "\"networking.gke.io/load-balancer-type\":\"Internal\""

static struct rig *start(int nodes, const char *const *flags)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {.sim = {.seed = 7, .nodes = nodes}, .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

static void settle(struct rig *r)
{
    if (!rig_settle(r, RIG_SOON)) {
        fail_msg("it does not come to rest:\n%s", rig_log(r));
    }
}

static void post_service(struct rig *r, const char *name, const char *meta, const char *spec)
{
    const char *body = arena_printf(
        rig_arena(r),
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"%s\"},"
        "\"ports\":[{\"port\":80}]%s}}",
        name, meta, name, spec);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
}

static void pods(struct rig *r, const char *name, const char *json)
{
    const char *path = arena_printf(rig_arena(r), "/sim/pods/default/%s", name);
    assert_int_equal(rig_kube(r, "PUT", path, json, NULL), 200);
}

static const char *ip_of(struct rig *r, const char *name)
{
    struct json_object *o = rig_get(r, arena_printf(rig_arena(r), SERVICES "/%s", name));
    struct json_object *list = json_path(o, "status.loadBalancer.ingress");
    return json_len(list) == 0 ? NULL : json_str(json_object_array_get_idx(list, 0), "ip");
}

static void wants_ip(struct rig *r, const char *name)
{
    if (ip_of(r, name) == NULL) {
        fail_msg("%s has no address:\n%s", name, rig_log(r));
    }
}

/* Members of all resources of a collection whose path has this part, sorted: "node-0 node-3". */
static const char *members(struct rig *r, const char *part)
{
    struct arena *a = rig_arena(r);
    const char **names = ARENA_ARRAY(a, const char *, 10000);
    size_t n = 0;
    json_object_object_foreach(json_member(rig_world(r), "members"), path, list)
    {
        for (size_t i = 0; strstr(path, part) != NULL && i < json_len(list); i++) {
            struct json_object *o = json_object_array_get_idx(list, i);
            const char *text = json_object_is_type(o, json_type_string) ? json_object_get_string(o)
                                                                        : json_str(o, "instance");
            const char *slash = strrchr(text, '/');
            names[n++] = slash == NULL ? text : slash + 1;
        }
    }
    struct str_set set = str_set_make(a, names, n);
    return str_set_text(a, &set, " ");
}

static size_t count_words(const char *text)
{
    size_t n = *text != '\0';
    for (; *text != '\0'; text++) {
        n += *text == ' ';
    }
    return n;
}

static void patch_node(struct rig *r, const char *name, const char *json)
{
    const char *path = arena_printf(rig_arena(r), "/api/v1/nodes/%s/status", name);
    assert_int_equal(rig_kube(r, "PATCH", path, json, NULL), 200);
}
#define NOT_READY "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}"

/* ---- NEGs ------------------------------------------------------------------------------------ */

static void negs__node_comes_while_subsets_are_full__not_one_call(void **state)
{
    (void)state;
    struct rig *r = start(60, flags_l4);
    for (int i = 0; i < 20; i++) {
        const char *name = arena_printf(rig_arena(r), "web-%d", i);
        post_service(r, name, INTERNAL, "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, "web-0");
    wants_ip(r, "web-19");
    const char *before = members(r, "-web-0-");
    assert_int_equal(count_words(before), 24);
    rig_counts_reset(r);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":3}", NULL), 200);
    settle(r);
    patch_node(r, "node-60", NOT_READY);
    settle(r);
    assert_int_equal(rig_calls(r, "gce", "*"), 0);
    assert_string_equal(members(r, "-web-0-"), before);
    rig_free(r);
}

/* However long nothing happened: that members are to be compared some time is no reason to
 * list all of them now. */
static void negs__node_comes_after_an_hour__not_one_call(void **state)
{
    (void)state;
    struct rig *r = start(30, flags_l4);
    for (int i = 0; i < 5; i++) {
        const char *name = arena_printf(rig_arena(r), "web-%d", i);
        post_service(r, name, INTERNAL, "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, "web-4");
    rig_advance(r, 3600000);
    settle(r);
    rig_counts_reset(r);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(rig_calls(r, "gce", "*"), 0);
    rig_free(r);
}

/* A member that was removed by hand is added again at the next periodic sync. */
static void negs__damaged_by_hand__mended_within_the_period(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_periodic);
    post_service(r, "web", INTERNAL, "");
    pods(r, "web", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "web");
    assert_int_equal(count_words(members(r, "-web-")), 6);
    struct json_object *world = rig_world(r);
    struct err err = ERR_INIT;
    json_object_object_foreach(json_member(world, "members"), path, list)
    {
        if (strstr(path, "/networkEndpointGroups/") != NULL) {
            (void)json_object_array_del_idx(list, 0, 1);
        }
    }
    assert_int_equal(rig_load(r, world, &err), ERR_OK);
    settle(r);
    assert_int_equal(count_words(members(r, "-web-")), 3);
    rig_advance(r, 660000); /* ten minutes, and the tenth that it may be later */
    settle(r);
    assert_int_equal(count_words(members(r, "-web-")), 6);
    rig_free(r);
}

static void negs__25_nodes__all_of_them__26__only_24(void **state)
{
    (void)state;
    struct rig *r = start(24, flags_l4);
    post_service(r, "web", INTERNAL, "");
    pods(r, "web", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "web");
    assert_int_equal(count_words(members(r, "-web-")), 24);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(count_words(members(r, "-web-")), 25);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(count_words(members(r, "-web-")), 24);
    rig_free(r);
}

static void negs__pod_moves_local__four_calls(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_periodic);
    post_service(r, "web", INTERNAL, ",\"externalTrafficPolicy\":\"Local\"");
    pods(r, "web", "{\"node-0\":1,\"node-1\":1}");
    settle(r);
    wants_ip(r, "web");
    assert_string_equal(members(r, "-web-"), "node-0 node-1");
    rig_counts_reset(r);
    pods(r, "web", "{\"node-0\":0,\"node-1\":1,\"node-4\":1}");
    settle(r);
    assert_string_equal(members(r, "-web-"), "node-1 node-4");
    assert_int_equal(rig_calls(r, "gce", ATTACH), 1);
    assert_int_equal(rig_calls(r, "gce", DETACH), 1);
    assert_int_equal(rig_calls(r, "gce", "*"), 4);
    rig_free(r);
}

static void negs__member_goes__replaced_where_it_was(void **state)
{
    (void)state;
    struct rig *r = start(60, flags_l4);
    post_service(r, "web", INTERNAL, "");
    post_service(r, "api", INTERNAL, "");
    pods(r, "web", "{\"node-0\":1}");
    pods(r, "api", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "web");
    wants_ip(r, "api");
    const char *web = members(r, "-web-");
    const char *api = members(r, "-api-");
    const char *gone = arena_strndup(rig_arena(r), web, strcspn(web, " "));
    bool both = strstr(arena_printf(rig_arena(r), " %s ", api),
                       arena_printf(rig_arena(r), " %s ", gone)) != NULL;
    rig_counts_reset(r);
    assert_int_equal(
        rig_kube(r, "DELETE", arena_printf(rig_arena(r), "/sim/nodes/%s", gone), "", NULL), 200);
    settle(r);
    assert_int_equal(count_words(members(r, "-web-")), 24);
    assert_int_equal(rig_calls(r, "gce", ATTACH), both ? 2 : 1);
    if (!both) {
        assert_string_equal(members(r, "-api-"), api);
    }
    rig_free(r);
}

static void negs__restart__members_are_not_listed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rig *r = start(30, flags_l4);
    for (int i = 0; i < 10; i++) {
        const char *name = arena_printf(rig_arena(r), "web-%d", i);
        post_service(r, name, INTERNAL, "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, "web-9");
    assert_true(rig_stop(r));
    rig_counts_reset(r);
    assert_int_equal(rig_start(r, &err), ERR_OK);
    settle(r);
    assert_int_equal(rig_calls(r, "gce", LIST_MEMBERS), 0);
    assert_int_equal(rig_mutations(r), 0);
    rig_free(r);
}

/* A13: a NEG that turns out to be on another network is not torn out of its load balancer. */
static void negs__on_another_network_and_linked__left_alone(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rig *r = start(6, flags_l4);
    post_service(r, "web", INTERNAL, "");
    pods(r, "web", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "web");
    const char *before = members(r, "-web-");
    assert_true(rig_stop(r));
    struct json_object *world = rig_world(r);
    json_object_object_foreach(json_member(world, "gce"), path, o)
    {
        if (strstr(path, "/networkEndpointGroups/") != NULL) {
            json_add_str(o, "network", arena_printf(rig_arena(r), "%s-2", json_str(o, "network")));
        }
    }
    assert_int_equal(rig_load(r, world, &err), ERR_OK);
    rig_counts_reset(r);
    assert_int_equal(rig_start(r, &err), ERR_OK);
    settle(r);
    assert_int_equal(rig_calls(r, "gce", "compute.networkEndpointGroups.delete"), 0);
    assert_int_equal(rig_mutations(r), 0);
    assert_non_null(strstr(rig_log(r), "a backend service refers to it"));
    assert_string_equal(members(r, "-web-"), before);
    rig_free(r);
}

/* ---- many Services at once ------------------------------------------------------------------- */

#define MANY 40 /* more than workers, and than a plan for one Service has in flight */

static const char *const flags_many[] = {"--v=4", L4_FLAGS, "--concurrent-service-syncs=10", NULL};

/* The cluster of `r`, which ends, in a cloud that takes its time, with another controller. */
static struct rig *in_a_slow_cloud(struct rig *r, const char *const *flags)
{
    struct err err = ERR_INIT;
    struct rig *slow = NULL;
    _cleanup_(json_putp) struct json_object *world = json_object_get(rig_world(r));
    assert_true(rig_stop(r));
    rig_free(r);
    const struct rig_args args = {
        .world = world, .sim = {.seed = 7, .latency = SIM_LATENCY_CLOUD}, .flags = flags};
    if (rig_new(&args, &slow, &err) != ERR_OK || rig_start(slow, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    settle(slow);
    return slow;
}

/* For how long the log says that an operation of this kind took at most, in ms. */
static int64_t longest_ms(struct rig *r, const char *what)
{
    int64_t most = 0;
    for (const char *at = strstr(rig_log(r), "\"Done\""); at != NULL;
         at = strstr(at + 1, "\"Done\"")) {
        const char *line = arena_strndup(rig_arena(r), at, strcspn(at, "\n"));
        const char *took = strstr(line, "took=\"");
        char unit[3] = "";
        double n = 0;
        if (strstr(line, what) != NULL && took != NULL &&
            sscanf(took, "took=\"%lf%2[ms]", &n, unit) == 2) {
            int64_t ms = (int64_t)(str_eq(unit, "s") ? n * 1000 : n);
            most = ms > most ? ms : most;
        }
    }
    return most;
}

/* Time that a new node takes to get into all of them, from the moment that it is seen. */
static int64_t node_comes_ms(struct rig *r)
{
    int64_t began_ms = clock_now_ms(rig_clock(r));
    rig_counts_reset(r);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    return clock_now_ms(rig_clock(r)) - began_ms;
}

static void many(struct rig *r, const char *meta)
{
    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(rig_arena(r), "web-%d", i);
        post_service(r, name, meta, "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, arena_printf(rig_arena(r), "web-%d", MANY - 1));
}

/* All attaches are under way at the same time, whatever the number of workers: the whole takes
 * hardly longer than one of them. */
static void negs__node_comes__all_services_attach_at_once(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_many);
    many(r, INTERNAL);
    r = in_a_slow_cloud(r, flags_many);
    int64_t took_ms = node_comes_ms(r);
    int64_t one_ms = longest_ms(r, "resource=\"NEG ");
    print_message("# %d Services: %lld ms, one attach %lld ms\n", MANY, (long long)took_ms,
                  (long long)one_ms);
    assert_int_equal(rig_calls(r, "gce", ATTACH), MANY);
    assert_int_equal(rig_mutations(r), MANY);
    assert_true(one_ms > 0 && took_ms < one_ms * 3 / 2 + NOTICED_MS);
    assert_int_equal(count_words(members(r, "-web-0-")), 7);
    assert_true(rig_stop(r));
    rig_free(r);
}

/* The pools are read beside each other, too. */
static void pools__node_comes__all_services_join_at_once(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_many);
    many(r, "\"a\":\"0\"");
    r = in_a_slow_cloud(r, flags_many);
    int64_t took_ms = node_comes_ms(r);
    int64_t one_ms = longest_ms(r, "target pool");
    print_message("# %d Services: %lld ms, one pool %lld ms\n", MANY, (long long)took_ms,
                  (long long)one_ms);
    assert_int_equal(rig_calls(r, "gce", "compute.targetPools.addInstance"), MANY);
    assert_true(rig_calls(r, "gce", "compute.targetPools.get") <= MANY);
    assert_true(one_ms > 0 && took_ms < one_ms * 3 / 2 + NOTICED_MS);
    assert_true(rig_stop(r));
    rig_free(r);
}

/* The groups are the same for all: one write, of which all are owners. */
static void groups__node_comes__one_write_for_all_services(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_many);
    many(r, "\"cloud.google.com/l4-rbs\":\"enabled\"");
    rig_counts_reset(r);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(rig_calls(r, "gce", "compute.instanceGroups.addInstances"), 1);
    assert_int_equal(rig_mutations(r), 1);
    assert_int_equal(rig_calls(r, "gce", "*"), 2);
    assert_true(rig_stop(r));
    rig_free(r);
}

/* A Service whose NEG cannot be written is told so, and the others have the node. */
static void negs__node_comes_and_one_is_refused__the_others_have_it(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rig *r = start(6, flags_many);
    many(r, INTERNAL);
    const char *fault = "{\"match\":{\"op\":\"" ATTACH "\",\"path\":\"*-web-3-*\"},\"count\":0,"
                        "\"do\":\"refuse\",\"status\":403}";
    int64_t id = 0;
    assert_int_equal(rig_fault(r, fault, &id, &err), ERR_OK);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(count_words(members(r, "-web-3-")), 6);
    for (int i = 0; i < MANY; i++) {
        const char *part = arena_printf(rig_arena(r), "-web-%d-", i);
        assert_int_equal(count_words(members(r, part)), i == 3 ? 6 : 7);
    }
    rig_fault_remove(r, id);
    assert_true(rig_settle(r, 600000));
    assert_int_equal(count_words(members(r, "-web-3-")), 7);
    assert_true(rig_stop(r));
    rig_free(r);
}

/* ---- instance groups ------------------------------------------------------------------------- */

/* Two kinds on the same groups, in one process: an unready node is not taken in and
 * out in turns. */
static void groups__both_kinds__do_not_undo_each_other(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_both);
    post_service(r, "old", "\"a\":\"0\"",
                 ",\"loadBalancerClass\":\"networking.gke.io/l4-regional-internal-legacy\"");
    post_service(r, "rbs", "\"cloud.google.com/l4-rbs\":\"enabled\"", "");
    pods(r, "old", "{\"node-0\":1}");
    pods(r, "rbs", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "old");
    wants_ip(r, "rbs");
    patch_node(r, "node-1", NOT_READY);
    settle(r);
    const char *then = members(r, "instanceGroups/");
    rig_counts_reset(r);
    for (int i = 0; i < 3; i++) {
        const char *edit =
            arena_printf(rig_arena(r), "{\"metadata\":{\"annotations\":{\"a\":\"%d\"}}}", i + 1);
        assert_int_equal(rig_kube(r, "PATCH", SERVICES "/old", edit, NULL), 200);
        assert_int_equal(rig_kube(r, "PATCH", SERVICES "/rbs", edit, NULL), 200);
        settle(r);
    }
    assert_int_equal(rig_calls(r, "gce", "compute.instanceGroups.*"), 0);
    assert_string_equal(members(r, "instanceGroups/"), then);
    assert_int_equal(count_words(then),
                     6); /* cloud-provider-gcp's rule: readiness does not count */
    rig_free(r);
}

static void groups__node_comes__added_once_for_all(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_l4);
    for (int i = 0; i < 10; i++) {
        const char *name = arena_printf(rig_arena(r), "rbs-%d", i);
        post_service(r, name, "\"cloud.google.com/l4-rbs\":\"enabled\"", "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, "rbs-9");
    assert_int_equal(count_words(members(r, "instanceGroups/")), 6);
    rig_counts_reset(r);
    assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
    settle(r);
    assert_int_equal(count_words(members(r, "instanceGroups/")), 7);
    assert_int_equal(rig_calls(r, "gce", "compute.instanceGroups.addInstances"), 1);
    assert_int_equal(rig_calls(r, "gce", "compute.instanceGroups.*"), 1);
    assert_int_equal(rig_mutations(r), 1);
    rig_free(r);
}

static size_t count_groups(struct rig *r)
{
    size_t n = 0;
    json_object_object_foreach(json_member(rig_world(r), "gce"), path, o)
    {
        (void)o;
        n += strstr(path, "/instanceGroups/k8s-ig--") != NULL;
    }
    return n;
}

static void delete_service(struct rig *r, const char *name)
{
    const char *path = arena_printf(rig_arena(r), SERVICES "/%s", name);
    assert_int_equal(rig_kube(r, "DELETE", path, "", NULL), 200);
    settle(r);
    if (rig_get(r, path) != NULL) {
        fail_msg("%s is still there:\n%s", name, rig_log(r));
    }
}

static void groups__last_service_goes__they_go_too(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_both);
    post_service(r, "old", "",
                 ",\"loadBalancerClass\":\"networking.gke.io/l4-regional-internal-legacy\"");
    post_service(r, "rbs", "\"cloud.google.com/l4-rbs\":\"enabled\"", "");
    pods(r, "old", "{\"node-0\":1}");
    pods(r, "rbs", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "old");
    wants_ip(r, "rbs");
    assert_int_equal(count_groups(r), 3);
    rig_counts_reset(r);
    delete_service(r, "rbs");
    assert_int_equal(count_groups(r), 3);
    assert_int_equal(rig_calls(r, "gce", "compute.instanceGroups.delete"), 0); /* not even tried */
    delete_service(r, "old");
    assert_int_equal(count_groups(r), 0);
    /* And come again. */
    post_service(r, "new", "\"cloud.google.com/l4-rbs\":\"enabled\"", "");
    pods(r, "new", "{\"node-0\":1}");
    settle(r);
    wants_ip(r, "new");
    assert_int_equal(count_groups(r), 3);
    assert_int_equal(count_words(members(r, "instanceGroups/")), 6);
    rig_free(r);
}

static void groups__all_services_go_at_once__they_go_too(void **state)
{
    (void)state;
    struct rig *r = start(6, flags_l4);
    for (int i = 0; i < 4; i++) {
        const char *name = arena_printf(rig_arena(r), "rbs-%d", i);
        post_service(r, name, "\"cloud.google.com/l4-rbs\":\"enabled\"", "");
        pods(r, name, "{\"node-0\":1}");
    }
    settle(r);
    wants_ip(r, "rbs-3");
    for (int i = 0; i < 4; i++) {
        const char *path = arena_printf(rig_arena(r), SERVICES "/rbs-%d", i);
        assert_int_equal(rig_kube(r, "DELETE", path, "", NULL), 200);
    }
    settle(r);
    assert_int_equal(count_groups(r), 0);
    rig_free(r);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static bool makes_the_check(void *arg)
{
    return rig_calls(arg, "gce", "compute.healthChecks.insert") > 0 && rig_service_writes(arg) >= 3;
}

/* Two want the check that they share: one makes it, the other waits for that. */
static void stopped__while_one_waits_for_the_shared_check__ends_cleanly(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct err err = ERR_INIT;
        struct rig *r = start(3, flags_l4);
        assert_int_equal(rig_fault(r,
                                   "{\"match\":{\"op\":\"compute.healthChecks.insert\"},"
                                   "\"count\":0,\"do\":\"hang\"}",
                                   NULL, &err),
                         ERR_OK);
        post_service(r, "web-0", INTERNAL, "");
        post_service(r, "web-1", INTERNAL, "");
        (void)rig_settle_unless(r, RIG_SOON, makes_the_check, r); /* it comes to no rest */
        assert_true(makes_the_check(r));
        assert_true(rig_stop(r));
        rig_free(r);
    }
}

UNIT_MAIN(gce_nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negs__node_comes_while_subsets_are_full__not_one_call),
        cmocka_unit_test(stopped__while_one_waits_for_the_shared_check__ends_cleanly),
        cmocka_unit_test(negs__node_comes_after_an_hour__not_one_call),
        cmocka_unit_test(negs__damaged_by_hand__mended_within_the_period),
        cmocka_unit_test(negs__25_nodes__all_of_them__26__only_24),
        cmocka_unit_test(negs__pod_moves_local__four_calls),
        cmocka_unit_test(negs__member_goes__replaced_where_it_was),
        cmocka_unit_test(negs__node_comes__all_services_attach_at_once),
        cmocka_unit_test(pools__node_comes__all_services_join_at_once),
        cmocka_unit_test(groups__node_comes__one_write_for_all_services),
        cmocka_unit_test(negs__node_comes_and_one_is_refused__the_others_have_it),
        cmocka_unit_test(negs__restart__members_are_not_listed),
        cmocka_unit_test(negs__on_another_network_and_linked__left_alone),
        cmocka_unit_test(groups__both_kinds__do_not_undo_each_other),
        cmocka_unit_test(groups__node_comes__added_once_for_all),
        cmocka_unit_test(groups__last_service_goes__they_go_too),
        cmocka_unit_test(groups__all_services_go_at_once__they_go_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
