/* SPDX-License-Identifier: Apache-2.0 */
/* compute_worlds.c: worlds go in and come out unchanged, also what is not served, and what is
 * broken is refused.
 *
 * world-legacy.json is a cluster and a cloud as the Go controllers left them.  Source:
 * interfaces.md, "World". */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

static struct json_object *parse(struct fixture *f, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(f->a, text, strlen(text), NULL, &o, &err)) {
        fail_msg("%s", err.message);
    }
    return o;
}

static void world__of_the_go_controllers__comes_out_as_it_went_in(void **state)
{
    (void)state;
    static const char *const members[] = {"gce", "members", "flags", "cloud_config", "made_by"};
    struct fixture *f = fixture_start(NULL);
    struct json_object *world = parse(f, fixture_data(f->a, "gce/world-legacy.json"));
    fixture_must(f, "PUT", "/sim/state", json_text(f->a, world, JSON_COMPACT));
    fixture_must(f, "GET", "/sim/state", NULL);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct json_object *in = json_member(world, members[i]),
                           *out = json_member(f->answer, members[i]);
        if (!json_equal(in, out)) {
            fail_msg("%s differs:\n%s\n%s", members[i], json_text(f->a, in, JSON_SORTED),
                     json_text(f->a, out, JSON_SORTED));
        }
    }
    fixture_stop(f);
}

static void world__get_then_put__changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"empty\"}");
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = f->text;
    fixture_must(f, "PUT", "/sim/state", before);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(before, f->text);
    /* It is the same cloud still: what was in use is in use. */
    int status = fixture_call(f, "DELETE", R "/targetPools/tp", NULL);
    fixture_expect(f, "in use", status, 400, "resourceInUseByAnotherResource");
    fixture_stop(f);
}

static void world__kinds_that_are_not_served__are_kept(void **state)
{
    (void)state;
    static const char world[] =
        "{\"gce\":{\"projects/p9/global/urlMaps/um\":{\"name\":\"um\",\"odd\":1},"
        "\"projects/p9/regions/r-1/addresses/a\":{\"name\":\"a\",\"address\":\"9.9.9.9\"}},"
        "\"azure\":{\"/subscriptions/x\":{\"a\":[1,2]}},\"aws\":{\"elb\":{}},\"note\":\"kept\"}";
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "PUT", "/sim/state", world);
    fixture_must(f, "GET", "/sim/state", NULL);
    struct json_object *gce = json_member(f->answer, "gce");
    assert_int_equal(json_int(json_member(gce, "projects/p9/global/urlMaps/um"), "odd", 0), 1);
    assert_non_null(json_member(f->answer, "azure"));
    assert_non_null(json_member(f->answer, "aws"));
    assert_string_equal(json_str(f->answer, "note"), "kept");
    /* Missing members of the world have the API's defaults. */
    assert_non_null(json_member(gce, "projects/p9/zones/us-central1-a"));
    assert_non_null(json_member(gce, "projects/p9/global/networks/default"));
    /* The next world does not bring it back. */
    fixture_must(f, "PUT", "/sim/state", "{}");
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_null(json_member(f->answer, "azure"));
    assert_null(json_member(f->answer, "note"));
    fixture_stop(f);
}

static void world__project__is_that_of_its_resources(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "PUT", "/sim/state", fixture_data(f->a, "gce/world-legacy.json"));
    fixture_must(f, "GET", "/computeMetadata/v1/project/project-id", NULL);
    assert_string_equal(f->text, "p1");
    fixture_must(f, "GET", "/compute/v1/projects/424242424242", NULL);
    assert_string_equal(fixture_text(f, "name"), "p1");
    fixture_must(f, "GET", "/compute/v1/projects/p1/regions/us-central1/targetPools", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 9);
    fixture_must(f, "POST",
                 "/compute/v1/projects/p1/zones/us-central1-a/instanceGroups/"
                 "k8s-ig--1aad008872845890/listInstances",
                 "{\"instanceState\":\"ALL\"}");
    assert_int_equal(json_len(json_member(f->answer, "items")), 2);
    /* A loaded target pool that a rule uses is in use. */
    int status = fixture_call(f, "DELETE",
                              "/compute/v1/projects/p1/regions/us-central1/targetPools/"
                              "a0b5998bb2d2b4f99b4d820e12233c70",
                              NULL);
    fixture_expect(f, "in use", status, 400, "resourceInUseByAnotherResource");
    fixture_stop(f);
}

static void world__broken__is_refused_with_the_place_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *world, *text;
    } rows[] = {
        {"[]", "a world is a JSON object"},
        {"{\"gce\":[]}", "gce"},
        {"{\"gce\":{\"regions/r/addresses/a\":{}}}", "regions/r/addresses/a"},
        {"{\"gce\":{\"projects/p/global/x/y\":1}}", "projects/p/global/x/y"},
        {"{\"members\":{\"projects/p/zones/z/instanceGroups/g\":[]}}", "not in gce"},
        {"{\"gce\":{\"projects/p/zones/z/instanceGroups/g\":{}},"
         "\"members\":{\"projects/p/zones/z/instanceGroups/g\":{}}}",
         "want a list"},
        {"{\"gce\":", "line 1"},
    };
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = f->text;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = fixture_call(f, "PUT", "/sim/state", rows[i].world);
        assert_int_equal(status, 400);
        if (!strstr(fixture_text(f, "error"), rows[i].text)) {
            fail_msg("%s: \"%s\" is not in: %s", rows[i].world, rows[i].text, f->text);
        }
    }
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(before, f->text);
    fixture_stop(f);
}

static void world__settings__are_in_force_and_dumped(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "PUT", "/sim/state",
                 "{\"sim\":{\"quotas\":{\"FIREWALLS\":0},\"strict_address_delete\":true}}");
    int status = fixture_call(f, "POST", G "/firewalls",
                              "{\"name\":\"a\",\"allowed\":[{\"IPProtocol\":\"tcp\"}]}");
    fixture_expect(f, "quota", status, 403, "quotaExceeded");
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_true(json_bool(json_member(f->answer, "sim"), "strict_address_delete", false));
    fixture_stop(f);
}

/* Which kind of IPv6 the usual subnetwork hands out decides which balancers can have it. */
static void world__ipv6_access__is_that_of_the_usual_subnetwork(void **state)
{
    (void)state;
    static const struct {
        const char *world, *access, *type, *other;
    } rows[] = {{"{}", "EXTERNAL", "EXTERNAL", "INTERNAL"},
                {"{\"sim\":{\"ipv6_access\":\"INTERNAL\"}}", "INTERNAL", "INTERNAL", "EXTERNAL"}};
    static const char body[] = "{\"name\":\"a\",\"ipVersion\":\"IPV6\",\"addressType\":\"%s\","
                               "\"subnetwork\":\"regions/us-central1/subnetworks/default\"}";
    struct fixture *f = fixture_start(&(struct sim_config){.ipv4 = true, .ipv6 = true});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "PUT", "/sim/state", rows[i].world);
        fixture_must(f, "GET", R "/subnetworks/default", NULL);
        assert_string_equal(fixture_text(f, "ipv6AccessType"), rows[i].access);
        int status =
            fixture_call(f, "POST", R "/addresses", arena_printf(f->a, body, rows[i].other));
        fixture_expect(f, rows[i].other, status, 400, "invalid");
        fixture_must(f, "POST", R "/addresses", arena_printf(f->a, body, rows[i].type));
    }
    fixture_stop(f);
}

UNIT_MAIN(compute_worlds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world__of_the_go_controllers__comes_out_as_it_went_in),
        cmocka_unit_test(world__get_then_put__changes_nothing),
        cmocka_unit_test(world__kinds_that_are_not_served__are_kept),
        cmocka_unit_test(world__project__is_that_of_its_resources),
        cmocka_unit_test(world__broken__is_refused_with_the_place_and_changes_nothing),
        cmocka_unit_test(world__settings__are_in_force_and_dumped),
        cmocka_unit_test(world__ipv6_access__is_that_of_the_usual_subnetwork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
