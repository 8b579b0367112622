/* SPDX-License-Identifier: Apache-2.0 */
/* compute_recorded.c: every recorded world is served as it is, and could have been made by
 * requests.
 *
 * A world is loaded without any check, so it proves little that it is served.  The second test
 * makes each load balancer of it again in a cloud that has only the machines: what the Go
 * controllers built must be taken, member by member.  The recorded stand-in invented addresses;
 * those that no cloud hands out are left to ours.
 * Source: tests/data/gce/README.md. */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

static const struct {
    const char *file, *member; /* member NULL: the file is the world */
    int negs, groups, rules;
} worlds[] = {
    {"gce/world-legacy.json", NULL, 0, 3, 18},
    {"gce/world-l4.json", NULL, 27, 3, 18},
    {"gce/world-l4-netlb-neg.json", NULL, 54, 0, 18},
    {"gce/world-l4-dual-internal.json", NULL, 15, 0, 9},
    {"gce/world-l4-dual-external.json", NULL, 0, 3, 7},
    {"gce/world-both.json", NULL, 9, 3, 8},
    {"gce/edits-legacy.json", "before", 0, 3, 18},
    {"gce/edits-legacy.json", "after", 0, 3, 18},
    {"gce/edits-l4.json", "before", 27, 3, 18},
    {"gce/edits-l4.json", "after", 27, 3, 18},
};

static struct json_object *read_world(struct fixture *f, size_t i)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *text = fixture_data(f->a, worlds[i].file);
    if (json_parse_arena(f->a, text, strlen(text), NULL, &o, &err)) {
        fail_msg("%s: %s", worlds[i].file, err.message);
    }
    return worlds[i].member ? json_member(o, worlds[i].member) : o;
}

static const char *label(struct fixture *f, size_t i)
{
    return arena_printf(f->a, "%s %s", worlds[i].file, str_nonnull(worlds[i].member));
}

#define ENDPOINTS "networkEndpointGroups"

static bool is_of(const char *path, const char *collection)
{
    const char *at = strstr(path, collection);
    size_t n = strlen(collection);
    return at && at[-1] == '/' && at[n] == '/' && !strchr(at + n + 1, '/');
}

static int count_of(struct json_object *gce, const char *collection)
{
    int n = 0;
    json_object_object_foreach(gce, path, body)
    {
        n += is_of(path, collection);
        (void)body;
    }
    return n;
}

static const char *api(struct fixture *f, const char *path)
{
    return arena_printf(f->a, "/compute/v1/%s", path);
}

/* Members of the group at `path`, in the world's form; new reference. */
static struct json_object *members_of(struct fixture *f, const char *path)
{
    bool neg = is_of(path, ENDPOINTS);
    const char *verb = neg ? "listNetworkEndpoints" : "listInstances";
    struct json_object *out = json_object_new_array();
    fixture_must(f, "POST", arena_printf(f->a, "/compute/v1/%s/%s", path, verb), "{}");
    struct json_object *items = json_member(f->answer, "items");
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        json_object_array_add(out,
                              json_copy(json_member(item, neg ? "networkEndpoint" : "instance")));
    }
    return out;
}

static void expect_members(struct fixture *f, size_t i, struct json_object *world)
{
    struct json_object *members = json_member(world, "members");
    json_object_object_foreach(members, path, want)
    {
        struct json_object *got = members_of(f, path);
        if (!json_equal(want, got)) {
            fail_msg("%s: %s has %s", label(f, i), path, json_object_to_json_string(got));
        }
        json_object_put(got);
    }
}

/* --- served ----------------------------------------------------------------------------------- */

static void expect_served(struct fixture *f, size_t i)
{
    struct json_object *world = read_world(f, i), *gce = json_member(world, "gce");
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    json_object_object_foreach(gce, path, want)
    {
        fixture_must(f, "GET", api(f, path), NULL);
        json_object_object_del(f->answer, "quotas"); /* of regions: not kept, counted */
        if (!json_equal(want, f->answer)) {
            fail_msg("%s: %s is %s", label(f, i), path, f->text);
        }
    }
    expect_members(f, i, world);
    assert_int_equal(count_of(gce, ENDPOINTS), worlds[i].negs);
    assert_int_equal(count_of(gce, "instanceGroups"), worlds[i].groups);
    assert_int_equal(count_of(gce, "forwardingRules"), worlds[i].rules);
}

/* The machine of each node is there: its endpoints are valid. */
static void expect_machines(struct fixture *f)
{
    fixture_must(f, "GET", "/api/v1/nodes", NULL);
    struct json_object *nodes = json_member(f->answer, "items");
    assert_int_equal(json_len(nodes), 6);
    for (size_t i = 0; i < json_len(nodes); i++) {
        size_t n = 0;
        const char *id =
            json_str(json_member(json_object_array_get_idx(nodes, i), "spec"), "providerID");
        char **part = str_split(f->a, id + strlen("gce://"), '/', &n);
        assert_int_equal(n, 3);
        assert_int_equal(
            fixture_call(f, "GET",
                         arena_printf(f->a, "/compute/v1/projects/%s/zones/%s/instances/%s",
                                      part[0], part[1], part[2]),
                         NULL),
            200);
    }
}

static void world__recorded__is_served_as_it_is(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        expect_served(f, i);
        expect_machines(f);
    }
    fixture_stop(f);
}

/* --- recreated -------------------------------------------------------------------------------- */

/* In this order nothing refers to what is not there yet. */
static const char *const order[] = {"addresses",       "healthChecks",    "httpHealthChecks",
                                    "instanceGroups",  ENDPOINTS,         "targetPools",
                                    "backendServices", "forwardingRules", "firewalls"};

static bool is_made(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        if (is_of(path, order[i])) {
            return true;
        }
    }
    return false;
}

static void load_machines(struct fixture *f, struct json_object *gce)
{
    struct json_object *world = json_object_new_object(), *kept = json_object_new_object();
    json_add(world, "gce", kept);
    json_object_object_foreach(gce, path, body)
    {
        if (!is_made(path)) {
            json_add(kept, path, json_copy(body));
        }
    }
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    json_object_put(world);
}

/* The body that made it: tiers of internal addresses, and internal IPv6
 * addresses, were invented. */
static struct json_object *body_of(struct json_object *recorded)
{
    struct json_object *body = json_copy(recorded);
    const char *ip = json_str(body, "IPAddress");
    if (str_eq(json_str(body, "addressType"), "INTERNAL")) {
        json_object_object_del(body, "networkTier");
    }
    if (ip && strchr(ip, ':') && str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL")) {
        json_object_object_del(body, "IPAddress");
    }
    return body;
}

/* As the controllers do: a given external address is held until the rule has it. */
static bool hold(struct fixture *f, const char *region, struct json_object *body)
{
    const char *ip = json_str(body, "IPAddress");
    if (!ip || strchr(ip, ':') || !str_eq(json_str(body, "loadBalancingScheme"), "EXTERNAL")) {
        return false;
    }
    const char *text =
        arena_printf(f->a, "{\"name\":\"hold\",\"address\":\"%s\",\"networkTier\":\"%s\"}", ip,
                     json_str(body, "networkTier"));
    int status = fixture_call(f, "POST", arena_printf(f->a, "%s/addresses", region), text);
    return status == 200; /* else it is reserved by its owner */
}

static void take(struct fixture *f, size_t i, const char *path, const char *text)
{
    int status = fixture_call(f, "POST", path, text);
    if (status != 200 || json_member(f->answer, "error")) {
        fail_msg("%s: POST %s %s: %d %s", label(f, i), path, text, status, f->text);
    }
}

static void add_members(struct fixture *f, size_t i, const char *path, struct json_object *members)
{
    bool neg = is_of(path, ENDPOINTS);
    struct str_buf b = STR_BUF_INIT;
    for (size_t k = 0; k < json_len(members); k++) {
        struct json_object *member = json_object_array_get_idx(members, k);
        const char *text = json_text(f->a, member, JSON_COMPACT);
        str_appendf(&b, neg ? "%s%s" : "%s{\"instance\":%s}", k ? "," : "", text);
    }
    const char *body = arena_printf(f->a, "{\"%s\":[%s]}", neg ? "networkEndpoints" : "instances",
                                    str_buf_text(&b));
    str_buf_done(&b);
    if (json_len(members) > 0) {
        take(f, i,
             arena_printf(f->a, "/compute/v1/%s/%s", path,
                          neg ? "attachNetworkEndpoints" : "addInstances"),
             body);
    }
}

/* Members that are neither lists nor objects, nor the server's, must be as they were sent. */
static void expect_kept(struct fixture *f, size_t i, const char *path, struct json_object *body)
{
    static const char *const server[] = {"id",          "creationTimestamp", "selfLink",
                                         "fingerprint", "labelFingerprint",  "status"};
    fixture_must(f, "GET", api(f, path), NULL);
    json_object_object_foreach(body, member, want)
    {
        bool skip = json_object_is_type(want, json_type_array) ||
                    json_object_is_type(want, json_type_object);
        for (size_t k = 0; k < ARRAY_LEN(server); k++) {
            skip = skip || str_eq(member, server[k]);
        }
        if (!skip && !json_equal(want, json_member(f->answer, member))) {
            fail_msg("%s: %s: %s is not %s in %s", label(f, i), path, member,
                     json_object_to_json_string(want), f->text);
        }
    }
}

static void make(struct fixture *f, size_t i, const char *path, struct json_object *recorded,
                 struct json_object *members)
{
    struct json_object *body = body_of(recorded);
    const char *folder = arena_strndup(f->a, path, (size_t)(strrchr(path, '/') - path));
    const char *region =
        api(f, arena_strndup(f->a, folder, (size_t)(strrchr(folder, '/') - folder)));
    bool held = hold(f, region, body);
    take(f, i, api(f, folder), json_text(f->a, body, JSON_COMPACT));
    if (held) {
        fixture_must(f, "DELETE", arena_printf(f->a, "%s/addresses/hold", region), NULL);
    }
    add_members(f, i, path, json_member(members, path));
    expect_kept(f, i, path, body);
    json_object_put(body);
}

static void make_all(struct fixture *f, size_t i)
{
    struct json_object *world = read_world(f, i), *gce = json_member(world, "gce");
    load_machines(f, gce);
    for (size_t k = 0; k < ARRAY_LEN(order); k++) {
        json_object_object_foreach(gce, path, body)
        {
            if (is_of(path, order[k])) {
                make(f, i, path, body, json_member(world, "members"));
            }
        }
    }
    expect_members(f, i, world);
}

static void world__recorded__could_have_been_made_by_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct fixture *f = fixture_start(NULL);
        make_all(f, i);
        fixture_stop(f);
    }
}

UNIT_MAIN(compute_recorded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world__recorded__is_served_as_it_is),
        cmocka_unit_test(world__recorded__could_have_been_made_by_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
