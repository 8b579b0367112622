/* SPDX-License-Identifier: Apache-2.0 */
/* compute_lists.c: lists: filters, pages, order, aggregated lists, and what a new resource looks
 * like.
 *
 * Source: gce-cloud-provider.md §3.3, §16; compute v1 "list", "aggregatedList". */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

static void make_addresses(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++) {
        fixture_must(
            f, "POST", R "/addresses",
            arena_printf(f->a, "{\"name\":\"a%02d\",\"address\":\"203.0.113.%d\"}", i, 100 + i));
    }
}

/* Names of the items of the last answer, joined by commas. */
static const char *names(struct fixture *f)
{
    struct json_object *items = json_member(f->answer, "items");
    const char *out = "";
    for (size_t i = 0; i < json_len(items); i++) {
        const char *name = json_str(json_object_array_get_idx(items, i), "name");
        out = arena_printf(f->a, "%s%s%s", out, i ? "," : "", name);
    }
    return out;
}

/* ingress-gce's own program asks for them at its start. */
static void list__global_backend_services__none(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "GET", P "/global/backendServices?filter=name+eq+k8s.*", NULL);
    assert_string_equal(fixture_text(f, "kind"), "compute#backendServiceList");
    assert_string_equal(names(f), "");
    fixture_stop(f);
}

static void list__filters__choose_items(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *want;
    } rows[] = {
        {"", "a00,a01,a02,a03,a04"},
        {"?filter=address+eq+203.0.113.102", "a02"},
        {"?filter=address+eq+203.0.113.10.", "a00,a01,a02,a03,a04"},
        {"?filter=(name+eq+a0[12])+(address+eq+.*102)", "a02"},
        {"?filter=name%3Da03", "a03"},
        {"?filter=name%3Da03+OR+name%3Da01", "a01,a03"},
        {"?filter=name!%3Da03", "a00,a01,a02,a04"},
        {"?filter=name+eq+nobody", ""},
        {"?orderBy=creationTimestamp+desc", "a04,a03,a02,a01,a00"},
        {"?orderBy=name", "a00,a01,a02,a03,a04"},
        {"?fields=items/name&alt=json&prettyPrint=false", "a00,a01,a02,a03,a04"},
        {"?returnPartialSuccess=true", "a00,a01,a02,a03,a04"},
    };
    struct fixture *f = fixture_start(NULL);
    make_addresses(f, 5);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "GET", arena_printf(f->a, R "/addresses%s", rows[i].query), NULL);
        assert_string_equal(names(f), rows[i].want);
        assert_string_equal(fixture_text(f, "kind"), "compute#addressList");
    }
    fixture_stop(f);
}

static void page_through(struct fixture *f, const char *query, const char *want)
{
    const char *all = "", *token = "";
    int pages = 0;
    do {
        fixture_must(f, "GET",
                     arena_printf(f->a, R "/addresses?maxResults=2&pageToken=%s%s", token, query),
                     NULL);
        all = arena_printf(f->a, "%s%s;", all, names(f));
        token = arena_strdup(f->a, fixture_text(f, "nextPageToken"));
        pages++;
    } while (*token && pages < 10);
    assert_string_equal(all, want);
}

static void list__pages__hold_every_item_once(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    make_addresses(f, 5);
    page_through(f, "", "a00,a01;a02,a03;a04;");
    page_through(f, "&orderBy=creationTimestamp+desc", "a04,a03;a02,a01;a00;");
    page_through(f, "&filter=name+ne+a01", "a00,a02;a03,a04;");
    fixture_stop(f);
}

static void list__deletion_between_pages__shifts_nothing(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    make_addresses(f, 4);
    fixture_must(f, "GET", R "/addresses?maxResults=2", NULL);
    const char *token = arena_strdup(f->a, fixture_text(f, "nextPageToken"));
    fixture_must(f, "DELETE", R "/addresses/a00", NULL);
    fixture_must(f, "GET", arena_printf(f->a, R "/addresses?maxResults=2&pageToken=%s", token),
                 NULL);
    assert_string_equal(names(f), "a02,a03");
    fixture_stop(f);
}

static void aggregated__scopes__have_items_or_a_warning(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 2});
    make_addresses(f, 1);
    fixture_must(f, "GET", P "/aggregated/addresses?includeAllScopes=True", NULL);
    struct json_object *items = json_member(f->answer, "items");
    struct json_object *region = json_member(items, "regions/us-central1");
    assert_int_equal(json_len(json_member(region, "addresses")), 1);
    struct json_object *warning = json_member(json_member(items, "global"), "warning");
    assert_string_equal(json_str(warning, "code"), "NO_RESULTS_ON_PAGE");
    fixture_must(f, "GET", P "/aggregated/instances", NULL);
    items = json_member(f->answer, "items");
    assert_int_equal(json_len(json_member(json_member(items, "zones/us-central1-a"), "instances")),
                     1);
    assert_int_equal(json_len(json_member(json_member(items, "zones/us-central1-b"), "instances")),
                     1);
    assert_non_null(json_member(json_member(items, "zones/us-central1-c"), "warning"));
    fixture_must(f, "GET", P "/aggregated/instances?filter=name+eq+node-1", NULL);
    items = json_member(f->answer, "items");
    assert_non_null(json_member(json_member(items, "zones/us-central1-a"), "warning"));
    fixture_stop(f);
}

static void insert__new_resource__gets_the_servers_members(void **state)
{
    (void)state;
    static const struct {
        const char *path, *member, *want;
    } rows[] = {
        {G "/httpHealthChecks/hc", "checkIntervalSec", "5"},
        {G "/httpHealthChecks/hc", "requestPath", "/"},
        {G "/httpHealthChecks/hc", "kind", "compute#httpHealthCheck"},
        {R "/targetPools/tp", "sessionAffinity", "NONE"},
        {R "/targetPools/tp", "selfLink", COMPUTE_LINK "/regions/us-central1/targetPools/tp"},
        {R "/targetPools/tp", "region", COMPUTE_LINK "/regions/us-central1"},
        {R "/forwardingRules/fr", "loadBalancingScheme", "EXTERNAL"},
        {R "/forwardingRules/fr", "IPProtocol", "TCP"},
        {R "/forwardingRules/fr", "networkTier", "PREMIUM"},
        {R "/forwardingRules/fr", "target", COMPUTE_LINK "/regions/us-central1/targetPools/tp"},
        {R "/addresses/ip", "status", "IN_USE"},
        {R "/addresses/ip", "addressType", "EXTERNAL"},
        {G "/firewalls/fw", "priority", "1000"},
        {G "/firewalls/fw", "direction", "INGRESS"},
        {G "/firewalls/fw", "network", COMPUTE_LINK "/global/networks/default"},
    };
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    fixture_must(f, "POST", G "/firewalls",
                 "{\"name\":\"fw\",\"id\":\"1\",\"kind\":\"compute#firewall\","
                 "\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"sourceRanges\":[\"10.1.2.3/8\"]}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "GET", rows[i].path, NULL);
        assert_string_equal(fixture_text(f, rows[i].member), rows[i].want);
    }
    fixture_must(f, "GET", G "/firewalls/fw", NULL);
    assert_string_not_equal(fixture_text(f, "id"), "1");
    struct json_object *ranges = json_member(f->answer, "sourceRanges");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(ranges, 0)), "10.0.0.0/8");
    fixture_stop(f);
}

static void patch__members__are_merged_and_null_removes(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", G "/firewalls",
                 "{\"name\":\"fw\",\"description\":\"d\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],"
                 "\"destinationRanges\":[\"192.0.2.1\"],\"targetTags\":[\"node\"]}");
    fixture_must(f, "PATCH", G "/firewalls/fw",
                 "{\"name\":\"fw\",\"description\":null,\"priority\":5,\"destinationRanges\":[]}");
    fixture_must(f, "GET", G "/firewalls/fw", NULL);
    assert_string_equal(fixture_text(f, "description"), "");
    assert_string_equal(fixture_text(f, "priority"), "5");
    assert_int_equal(json_len(json_member(f->answer, "destinationRanges")), 0);
    assert_int_equal(json_len(json_member(f->answer, "targetTags")), 1);
    fixture_stop(f);
}

static void update__body__replaces_what_is_not_the_servers(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", G "/httpHealthChecks",
                 "{\"name\":\"hc\",\"description\":\"d\",\"port\":1,\"healthyThreshold\":3}");
    fixture_must(f, "GET", G "/httpHealthChecks/hc", NULL);
    const char *id = arena_strdup(f->a, fixture_text(f, "id"));
    fixture_must(f, "PUT", G "/httpHealthChecks/hc", "{\"name\":\"hc\",\"port\":2}");
    fixture_must(f, "GET", G "/httpHealthChecks/hc", NULL);
    assert_string_equal(fixture_text(f, "id"), id);
    assert_string_equal(fixture_text(f, "port"), "2");
    assert_string_equal(fixture_text(f, "description"), "");
    assert_string_equal(fixture_text(f, "healthyThreshold"), "2");
    fixture_stop(f);
}

UNIT_MAIN(compute_lists)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__global_backend_services__none),
        cmocka_unit_test(list__filters__choose_items),
        cmocka_unit_test(list__pages__hold_every_item_once),
        cmocka_unit_test(list__deletion_between_pages__shifts_nothing),
        cmocka_unit_test(aggregated__scopes__have_items_or_a_warning),
        cmocka_unit_test(insert__new_resource__gets_the_servers_members),
        cmocka_unit_test(patch__members__are_merged_and_null_removes),
        cmocka_unit_test(update__body__replaces_what_is_not_the_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
