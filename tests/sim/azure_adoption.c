/* SPDX-License-Identifier: Apache-2.0 */
/* azure_adoption.c: trimtab takes over what the Go controller left in Azure, builds it again, and
 * edits it.
 *
 * Each recorded world is loaded into the simulator.  Taken over, nothing is written, by the first
 * controller, by the next, or when time passes.  Rebuilt beside a cloud that has only machines, a
 * network and the users' own addresses, all Services at once or one by one, every document equals
 * the recorded one; when all are deleted, that cloud is back.  Edited, the cloud ends as it ended
 * under the Go controller. */
#include "tests/sim/azure_documents.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

static const char *const flags[] = {"--cluster-name=c1", "--v=4", NULL};

/* ---- rigs ------------------------------------------------------------------------------------ */

static struct rig *start(const char *file, struct json_object *world)
{
    return adoption_rig(&(struct rig_args){
        .world_file = file, .world = world, .flags = flags, .log_traffic = adoption_is_logged()});
}

static void read_world(struct arena *a, const char *file, struct json_object **ret)
{
    struct err err = ERR_INIT;
    if (rig_read_data(a, file, ret, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* "…/providers/Microsoft.Network/loadBalancers/c1" → "loadBalancers/c1" */
static const char *resource_of(const char *id)
{
    const char *at = strstr(id, "/providers/");
    at = at == NULL ? NULL : strchr(at + strlen("/providers/"), '/');
    return at == NULL ? id : at + 1;
}

/* Compares all resources ("azure" members of worlds); how many there are. */
static int compare_clouds(struct json_object *want, struct json_object *got,
                          struct adoption_deviation *deviations)
{
    struct adoption_compare c = {
        .a = arena_new(), .deviations = deviations, .differences = STR_BUF_INIT};
    int n = 0;
    json_object_object_foreach(want, id, resource)
    {
        struct json_object *other = json_member(got, id);
        n++;
        if (other == NULL) {
            adoption_note(&c, resource_of(id), "", "there", "missing");
        } else {
            azure_documents_compare(&c, resource_of(id), resource, other);
        }
    }
    json_object_object_foreach(got, made, extra)
    {
        (void)extra;
        if (json_member(want, made) == NULL) {
            adoption_note(&c, resource_of(made), "", "missing", "there");
        }
    }
    adoption_compare_end(&c);
    arena_free(c.a);
    return n;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void put(void *o)
{
    json_object_put(o);
}

/* name of a public address or of an internal frontend → its address */
static struct json_object *addresses_of(struct arena *a, struct json_object *azure)
{
    struct json_object *out = json_object_new_object();
    arena_defer(a, put, out);
    json_object_object_foreach(azure, id, resource)
    {
        const char *public = json_str(json_member(resource, "properties"), "ipAddress");
        struct json_object *frontends = json_path(resource, "properties.frontendIPConfigurations");
        if (public != NULL) {
            json_add_str(out, id, public);
        }
        for (size_t i = 0; i < json_len(frontends); i++) {
            struct json_object *frontend = json_object_array_get_idx(frontends, i);
            const char *private = json_str(json_member(frontend, "properties"), "privateIPAddress");
            if (private != NULL) {
                json_add_str(out, json_str(frontend, "name"), private);
            }
        }
    }
    return out;
}

static struct json_object *translate(struct arena *a, struct json_object *from,
                                     struct json_object *to)
{
    struct json_object *was = addresses_of(a, json_member(from, "azure"));
    struct json_object *is = addresses_of(a, json_member(to, "azure"));
    struct adoption_pair *pairs =
        ARENA_ARRAY(a, struct adoption_pair, (size_t)json_object_object_length(was));
    size_t n = 0;
    json_object_object_foreach(was, name, address)
    {
        const char *new_ip = json_str(is, name);
        if (new_ip != NULL) {
            pairs[n++] = (struct adoption_pair){json_object_get_string(address), new_ip};
        }
    }
    return adoption_translate(a, from, pairs, n);
}

/* ---- taking over ----------------------------------------------------------------------------- */

static void expect_all_synced(struct rig *r, struct json_object *services)
{
    for (size_t i = 0; i < json_len(services); i++) {
        const char *key = adoption_key(rig_arena(r), json_object_array_get_idx(services, i));
        assert_string_equal(str_nonnull(adoption_outcome(r, key)), "Synced");
    }
}

/* The recording's cloud did not show, in a load balancer, the addresses of its pools.  So the Go
 * controller did not know them, and the Service without floating IP, whose destinations they are,
 * got no security rule.  Azure shows them: the rule is made. */
#define NODE_PORT_RULE "k8s-azure-lb_allow_IPv4_95c4bbd0a69f1c3a0f7e94415219e45c"
static const struct adoption_deviation node_port_rule[] = {
    {"networkSecurityGroups/nsg", "properties.securityRules?" NODE_PORT_RULE "*",
     "none: the recording", false},
    {"networkSecurityGroups/nsg", "priorities", "none: the recording", false},
    {NULL},
};

static void close_gap(struct rig *r, struct json_object **before)
{
    struct adoption_deviation deviations[ARRAY_LEN(node_port_rule)];
    memcpy(deviations, node_port_rule, sizeof(deviations));
    assert_int_equal(rig_mutations(r), 1);
    assert_int_equal(rig_calls(r, "azure", "SecurityGroups.CreateOrUpdate"), 1);
    assert_int_equal(rig_service_writes(r), 0);
    struct json_object *now = rig_world(r);
    compare_clouds(json_member(*before, "azure"), json_member(now, "azure"), deviations);
    *before = now;
    assert_true(rig_stop(r)); /* Events may come late */
    rig_counts_reset(r);
    adoption_run(r);
}

static void adopt(const char *name, size_t n_services, bool has_gap)
{
    struct arena *a = arena_new();
    struct rig *r = start(arena_printf(a, "azure/%s.json", name), NULL);
    struct json_object *before = rig_world(r);
    struct json_object *services = json_path(before, "kubernetes.services");
    adoption_run(r);
    if (has_gap) {
        close_gap(r, &before);
    }
    adoption_expect_untouched(r);
    assert_int_equal(json_len(services), n_services);
    expect_all_synced(r, services);
    rig_advance(r, 600000);
    assert_true(rig_settle(r, RIG_LATER));
    assert_true(rig_stop(r));
    adoption_run(r);
    adoption_expect_untouched(r);
    struct json_object *after = rig_world(r);
    assert_true(json_equal(json_member(before, "azure"), json_member(after, "azure")));
    assert_true(json_equal(services, json_path(after, "kubernetes.services")));
    adoption_end(r, arena_printf(a, "adopt-%s", name));
    arena_free(a);
}

static void adoption__world_of_scale_set_interfaces__is_a_no_op(void **state)
{
    (void)state;
    adopt("world-nic", 24, false);
}

static void adoption__world_of_node_addresses__gets_the_rule_it_lacks(void **state)
{
    (void)state;
    adopt("world-node-ip", 24, true);
}

static void adoption__world_of_availability_sets__is_a_no_op(void **state)
{
    (void)state;
    adopt("world-availability-sets", 9, false);
}

/* ---- building -------------------------------------------------------------------------------- */

static bool any(struct json_object *service)
{
    (void)service;
    return true;
}

/* The status of each Service is as recorded, but for the address. */
static void compare_status(struct arena *a, struct json_object *want, struct json_object *got)
{
    struct json_object *services = json_path(got, "kubernetes.services");
    struct json_object *recorded = json_path(want, "kubernetes.services");
    assert_int_equal(json_len(recorded), json_len(services));
    for (size_t i = 0; i < json_len(recorded); i++) {
        struct json_object *service = json_object_array_get_idx(recorded, i);
        struct json_object *ours = json_object_array_get_idx(services, i);
        assert_string_equal(adoption_key(a, service), adoption_key(a, ours));
        assert_string_equal(json_text(a, json_member(service, "status"), JSON_SORTED),
                            json_text(a, json_member(ours, "status"), JSON_SORTED));
    }
}

struct build {
    const char *name;
    int resources;
    /* the Services come one by one, as they came in the recording: Basic balancers fill up
     * by the order */
    bool in_turn;
    struct adoption_deviation *deviations;
};

/* A Service that is none for a load balancer yet, but has its name and uid. */
static void hold_back(struct json_object *services)
{
    static const char *const members[] = {"healthCheckNodePort", "loadBalancerSourceRanges",
                                          "allocateLoadBalancerNodePorts"};
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *spec = json_member(json_object_array_get_idx(services, i), "spec");
        json_add_str(spec, "type", "NodePort");
        for (size_t k = 0; k < ARRAY_LEN(members); k++) {
            json_object_object_del(spec, members[k]);
        }
    }
}

static int64_t version(struct json_object *service)
{
    return strtoll(json_str(json_member(service, "metadata"), "resourceVersion"), NULL, 10);
}

/* The recorded Service that came next after that version. */
static struct json_object *next_after(struct json_object *services, int64_t after)
{
    struct json_object *next = NULL;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        if (version(service) > after && (next == NULL || version(service) < version(next))) {
            next = service;
        }
    }
    return next;
}

/* On a busy machine the controller may seem at rest before it has taken up the change. */
static void until_address(struct rig *r, const char *key)
{
    const char *address = "";
    for (int i = 0; *address == '\0' && i < 1000; i++) {
        assert_true(rig_settle(r, RIG_LATER));
        address = adoption_address(rig_arena(r), rig_world(r), key);
    }
    assert_string_not_equal(address, "");
}

static void release_in_turn(struct rig *r, struct json_object *recorded)
{
    struct arena *a = rig_arena(r);
    struct json_object *service = next_after(recorded, 0);
    for (; service != NULL; service = next_after(recorded, version(service))) {
        const char *path = arena_printf(a, "/api/v1/namespaces/default/services/%s",
                                        json_str(json_member(service, "metadata"), "name"));
        const char *patch = arena_printf(a, "{\"spec\":%s}",
                                         json_text(a, json_member(service, "spec"), JSON_COMPACT));
        assert_int_equal(rig_kube(r, "PATCH", path, patch, NULL), 200);
        until_address(r, adoption_key(a, service));
    }
}

/* All are deleted at once: the cloud is as it was before any came. */
static void dismantle(struct rig *r, struct json_object *services, struct json_object *empty)
{
    struct arena *a = rig_arena(r);
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(services, i), "metadata");
        const char *path =
            arena_printf(a, "/api/v1/namespaces/default/services/%s", json_str(meta, "name"));
        assert_int_equal(rig_kube(r, "DELETE", path, NULL, NULL), 200);
    }
    assert_true(rig_settle(r, RIG_LATER));
    struct json_object *now = rig_world(r);
    assert_int_equal(json_len(json_path(now, "kubernetes.services")), 0);
    compare_clouds(json_member(empty, "azure"), json_member(now, "azure"), NULL);
}

static void build(const struct build *b)
{
    struct err err = ERR_INIT;
    struct json_object *world = NULL;
    struct arena *a = arena_new();
    read_world(a, arena_printf(a, "azure/%s.json", b->name), &world);
    struct rig *r = start(NULL, world);
    struct json_object *recorded = rig_world(r); /* as the simulator words it */
    struct json_object *before = adoption_before_any(a, world, any);
    if (b->in_turn) {
        hold_back(json_path(before, "kubernetes.services"));
    }
    if (rig_load(r, before, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct json_object *empty = rig_world(r);
    adoption_run(r);
    if (b->in_turn) {
        release_in_turn(r, json_path(world, "kubernetes.services"));
    }
    struct json_object *built = rig_world(r);
    struct json_object *want = translate(a, recorded, built);
    assert_int_equal(
        compare_clouds(json_member(want, "azure"), json_member(built, "azure"), b->deviations),
        b->resources);
    compare_status(a, want, built);
    dismantle(r, json_path(built, "kubernetes.services"), empty);
    adoption_end(r, arena_printf(a, "build-%s%s", b->name, b->in_turn ? "-in-turn" : ""));
    arena_free(a);
}

static void adoption__services_of_scale_set_interfaces__are_built_as_upstream_did(void **state)
{
    (void)state;
    build(&(struct build){.name = "world-nic", .resources = 31});
    build(&(struct build){.name = "world-nic", .resources = 31, .in_turn = true});
}

static void adoption__services_of_node_addresses__are_built_as_upstream_did(void **state)
{
    struct adoption_deviation deviations[ARRAY_LEN(node_port_rule)];
    struct build b = {.name = "world-node-ip", .resources = 31, .deviations = deviations};
    (void)state;
    memcpy(deviations, node_port_rule, sizeof(deviations));
    build(&b);
    b.in_turn = true;
    memcpy(deviations, node_port_rule, sizeof(deviations));
    build(&b);
}

static void adoption__services_of_availability_sets__are_built_as_upstream_did(void **state)
{
    (void)state;
    build(&(struct build){.name = "world-availability-sets", .resources = 29, .in_turn = true});
}

/* ---- editing --------------------------------------------------------------------------------- */

static void compare_addresses(struct arena *a, struct json_object *recorded,
                              struct json_object *got)
{
    struct json_object *before = json_member(recorded, "before");
    struct json_object *services = json_path(before, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        const char *key = adoption_key(a, json_object_array_get_idx(services, i));
        const char *was = adoption_address(a, before, key);
        if (str_eq(adoption_address(a, json_member(recorded, "after"), key), was)) {
            assert_string_equal(adoption_address(a, got, key), was);
        } else {
            assert_string_not_equal(adoption_address(a, got, key), was);
            assert_string_not_equal(adoption_address(a, got, key), "");
        }
    }
}

/* name of a security rule → its priority */
static struct json_object *priorities_of(struct arena *a, struct json_object *world)
{
    struct json_object *out = json_object_new_object();
    arena_defer(a, put, out);
    json_object_object_foreach(json_member(world, "azure"), id, resource)
    {
        struct json_object *rules = json_path(resource, "properties.securityRules");
        (void)id;
        for (size_t i = 0; i < json_len(rules); i++) {
            struct json_object *rule = json_object_array_get_idx(rules, i);
            json_add_int(out, json_str(rule, "name"),
                         json_int(json_member(rule, "properties"), "priority", 0));
        }
    }
    return out;
}

/* A rule that was there keeps its place; which free ones new rules get depends on the order
 * of the edits. */
static void compare_priorities(struct arena *a, struct json_object *before, struct json_object *got)
{
    struct json_object *was = priorities_of(a, before);
    struct json_object *is = priorities_of(a, got);
    int kept = 0;
    json_object_object_foreach(was, name, priority)
    {
        if (json_member(is, name) != NULL) {
            assert_int_equal(json_int(is, name, 0), json_object_get_int64(priority));
            kept++;
        }
    }
    assert_true(kept > 4);
}

static void make_edits(struct rig *r, struct json_object *edits, bool in_turn)
{
    for (size_t i = 0; in_turn && i < json_len(edits); i++) {
        struct json_object *one = json_object_new_array();
        arena_defer(rig_arena(r), put, one);
        json_object_array_add(one, json_object_get(json_object_array_get_idx(edits, i)));
        assert_int_equal(adoption_make_edits(r, one, NULL), 1);
        assert_true(rig_settle(r, RIG_LATER));
    }
    if (!in_turn) {
        assert_int_equal(adoption_make_edits(r, edits, NULL), json_len(edits));
        assert_true(rig_settle(r, RIG_LATER));
    }
}

static void edit(bool in_turn)
{
    struct adoption_deviation deviations[] = {
        {"networkSecurityGroups/nsg",
         "properties.securityRules?k8s-azure-lb_allow_IPv4_bc87afc9aeeece13e643801ad1da615f*",
         "4.2, 9.4: an address that a Service has left", false},
        {"networkSecurityGroups/nsg",
         "properties.securityRules?k8s-azure-lb_allow_IPv4_06b5e9d080b1668dff56f791599d614f*",
         "9.4, 9.5: a port that floating IP has left", false},
        {"networkSecurityGroups/nsg", "priorities", "none: the order of edits", false},
        {NULL},
    };
    struct err err = ERR_INIT;
    struct json_object *recorded = NULL;
    struct arena *a = arena_new();
    read_world(a, "azure/edits-nic.json", &recorded);
    struct rig *r = start(NULL, json_member(recorded, "after"));
    struct json_object *after = rig_world(r); /* as the simulator words it */
    if (rig_load(r, json_member(recorded, "before"), &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    adoption_run(r);
    adoption_expect_untouched(r);
    assert_int_equal(json_len(json_member(recorded, "edits")), 20);
    make_edits(r, json_member(recorded, "edits"), in_turn);
    struct json_object *got = rig_world(r);
    struct json_object *want = translate(a, after, got);
    assert_int_equal(
        compare_clouds(json_member(want, "azure"), json_member(got, "azure"), deviations), 32);
    compare_addresses(a, recorded, got);
    compare_priorities(a, json_member(recorded, "before"), got);
    /* Nothing is left to do, now or after a restart. */
    int64_t writes = rig_mutations(r);
    assert_true(rig_stop(r));
    adoption_run(r);
    assert_int_equal(rig_mutations(r), writes);
    adoption_end(r, in_turn ? "edits-nic-in-turn" : "edits-nic");
    arena_free(a);
}

static void adoption__edits_of_adopted_services__end_as_under_upstream(void **state)
{
    (void)state;
    edit(false);
}

static void adoption__edits_one_by_one__end_as_under_upstream(void **state)
{
    (void)state;
    edit(true);
}

UNIT_MAIN(azure_adoption)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adoption__world_of_scale_set_interfaces__is_a_no_op),
        cmocka_unit_test(adoption__world_of_node_addresses__gets_the_rule_it_lacks),
        cmocka_unit_test(adoption__world_of_availability_sets__is_a_no_op),
        cmocka_unit_test(adoption__services_of_scale_set_interfaces__are_built_as_upstream_did),
        cmocka_unit_test(adoption__services_of_node_addresses__are_built_as_upstream_did),
        cmocka_unit_test(adoption__services_of_availability_sets__are_built_as_upstream_did),
        cmocka_unit_test(adoption__edits_of_adopted_services__end_as_under_upstream),
        cmocka_unit_test(adoption__edits_one_by_one__end_as_under_upstream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
