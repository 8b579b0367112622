/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c: where each call goes, under which id and label it is reported, and what a list
 * answers.  Method ids are those of Google's description of the API
 * (tests/data/schemas/gce.json). */
#include "tests/unit/gce/pure.h"

#include "providers/gce/api/gce_call.h"
#include "tests/support/unit.h"

static const struct gce_api api = {
    .base = "https://x/compute/v1/", .project = "p", .network_project = "np", .region = "r"};

static void paths__of_every_collection_and_verb(void **state)
{
    struct arena *a = *state;
    static const struct {
        enum gce_collection c;
        enum gce_verb v;
        const char *zone, *name;
        const char *method, *path, *id, *metric;
    } rows[] = {
        {GCE_BACKENDS, GCE_GET, NULL, "n", "GET", "projects/p/regions/r/backendServices/n",
         "compute.regionBackendServices.get", "backendservice_get"},
        {GCE_BACKENDS, GCE_UPDATE, NULL, "n", "PUT", "projects/p/regions/r/backendServices/n",
         "compute.regionBackendServices.update", "backendservice_update"},
        {GCE_BACKENDS, GCE_LIST, NULL, NULL, "GET", "projects/p/regions/r/backendServices",
         "compute.regionBackendServices.list", "backendservice_list"},
        {GCE_HCS, GCE_INSERT, NULL, NULL, "POST", "projects/p/global/healthChecks",
         "compute.healthChecks.insert", "healthcheck_create"},
        {GCE_CHECKS, GCE_INSERT, NULL, NULL, "POST", "projects/p/global/httpHealthChecks",
         "compute.httpHealthChecks.insert", "healthcheck_create_legacy"},
        {GCE_REGION_HCS, GCE_DELETE, NULL, "n", "DELETE", "projects/p/regions/r/healthChecks/n",
         "compute.regionHealthChecks.delete", "healthcheck_delete"},
        {GCE_RULES, GCE_PATCH, NULL, "n", "PATCH", "projects/p/regions/r/forwardingRules/n",
         "compute.forwardingRules.patch", "forwardingrule_patch"},
        {GCE_FIREWALLS, GCE_PATCH, NULL, "n", "PATCH", "projects/np/global/firewalls/n",
         "compute.firewalls.patch", "firewall_Patch"},
        {GCE_ADDRESSES, GCE_INSERT, NULL, NULL, "POST", "projects/p/regions/r/addresses",
         "compute.addresses.insert", "address_reserve"},
        {GCE_NEGS, GCE_INSERT, "z", NULL, "POST", "projects/p/zones/z/networkEndpointGroups",
         "compute.networkEndpointGroups.insert", "networkendpointgroup_create"},
        {GCE_NEGS, GCE_ATTACH, "z", "n", "POST",
         "projects/p/zones/z/networkEndpointGroups/n/attachNetworkEndpoints",
         "compute.networkEndpointGroups.attachNetworkEndpoints", "networkendpointgroup_attach"},
        {GCE_NEGS, GCE_DETACH, "z", "n", "POST",
         "projects/p/zones/z/networkEndpointGroups/n/detachNetworkEndpoints",
         "compute.networkEndpointGroups.detachNetworkEndpoints", "networkendpointgroup_detach"},
        {GCE_NEGS, GCE_LIST_ENDPOINTS, "z", "n", "POST",
         "projects/p/zones/z/networkEndpointGroups/n/listNetworkEndpoints",
         "compute.networkEndpointGroups.listNetworkEndpoints",
         "networkendpointgroup_list_networkendpoints"},
        {GCE_NEGS, GCE_LIST_ALL, NULL, NULL, "GET", "projects/p/aggregated/networkEndpointGroups",
         "compute.networkEndpointGroups.aggregatedList", "networkendpointgroup_aggregated_list"},
        {GCE_GROUPS, GCE_ADD_INSTANCES, "z", "n", "POST",
         "projects/p/zones/z/instanceGroups/n/addInstances", "compute.instanceGroups.addInstances",
         "instancegroup_add_instances"},
        {GCE_GROUPS, GCE_REMOVE_INSTANCES, "z", "n", "POST",
         "projects/p/zones/z/instanceGroups/n/removeInstances",
         "compute.instanceGroups.removeInstances", "instancegroup_remove_instances"},
        {GCE_GROUPS, GCE_LIST_INSTANCES, "z", "n", "POST",
         "projects/p/zones/z/instanceGroups/n/listInstances",
         "compute.instanceGroups.listInstances", "instancegroup_list_instances"},
        {GCE_SUBNETWORKS, GCE_GET, NULL, "n", "GET", "projects/np/regions/r/subnetworks/n",
         "compute.subnetworks.get", "subnetwork_get"},
        {GCE_ZONES, GCE_LIST, NULL, NULL, "GET", "projects/p/zones", "compute.zones.list",
         "zones_list"},
        {GCE_PROJECTS, GCE_GET, NULL, "7", "GET", "projects/7", "compute.projects.get",
         "projects_get"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_call_spec spec = {
            .collection = rows[i].c, .verb = rows[i].v, .zone = rows[i].zone, .name = rows[i].name};
        same_text(rows[i].id, gce_verb_method(rows[i].v), rows[i].method);
        same_text(rows[i].id, gce_call_path(a, &api, &spec), rows[i].path);
        same_text(rows[i].id, gce_api_op_id(a, rows[i].c, rows[i].v), rows[i].id);
        same_text(rows[i].id, gce_metric_request(a, rows[i].c, rows[i].v), rows[i].metric);
    }
}

static void verbs__what_reads_and_what_mutates(void **state)
{
    (void)state;
    static const enum gce_verb reads[] = {GCE_GET, GCE_LIST, GCE_LIST_ENDPOINTS, GCE_LIST_INSTANCES,
                                          GCE_LIST_ALL};
    for (int v = 0; v < GCE_VERB_MAX; v++) {
        bool is_read = false;
        for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
            is_read = is_read || (int)reads[i] == v;
        }
        assert_int_equal(gce_verb_mutates((enum gce_verb)v), !is_read);
        assert_int_equal(gce_verb_lists((enum gce_verb)v), is_read && v != GCE_GET);
    }
}

static void operations__are_waited_for_where_they_are(void **state)
{
    struct arena *a = *state;
    static const struct {
        enum gce_collection c;
        const char *path, *id, *region;
    } rows[] = {
        {GCE_NEGS, "projects/p/zones/z/operations/o/wait", "compute.zoneOperations.wait", "<n/a>"},
        {GCE_GROUPS, "projects/p/zones/z/operations/o/wait", "compute.zoneOperations.wait",
         "<n/a>"},
        {GCE_BACKENDS, "projects/p/regions/r/operations/o/wait", "compute.regionOperations.wait",
         "r"},
        {GCE_REGION_HCS, "projects/p/regions/r/operations/o/wait", "compute.regionOperations.wait",
         "r"},
        {GCE_HCS, "projects/p/global/operations/o/wait", "compute.globalOperations.wait", "<n/a>"},
        {GCE_FIREWALLS, "projects/np/global/operations/o/wait", "compute.globalOperations.wait",
         "<n/a>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_call_spec spec = {
            .collection = rows[i].c, .verb = GCE_DELETE, .zone = "z", .name = "n"};
        same_text(rows[i].path, gce_wait_path(a, &api, &spec, "o"), rows[i].path);
        same_text(rows[i].path, gce_operations_id(rows[i].c), rows[i].id);
        same_text(rows[i].path, gce_metric_region(&api, rows[i].c), rows[i].region);
    }
}

static void links__of_zonal_resources_name_the_zone(void **state)
{
    struct arena *a = *state;
    same_text("NEG", gce_api_zonal_link(a, &api, GCE_NEGS, "z", "n"),
              "https://x/compute/v1/projects/p/zones/z/networkEndpointGroups/n");
    same_text("subnetwork", gce_api_zonal_link(a, &api, GCE_SUBNETWORKS, "", "n"),
              "https://x/compute/v1/projects/np/regions/r/subnetworks/n");
    assert_true(gce_api_is_zonal(GCE_GROUPS));
    assert_false(gce_api_is_zonal(GCE_BACKENDS));
}

static void lists__are_known_by_their_kind(void **state)
{
    struct arena *a = *state;
    static const struct {
        enum gce_collection c;
        enum gce_verb v;
        const char *answer;
        bool is;
    } rows[] = {
        {GCE_NEGS, GCE_LIST, "{\"kind\":\"compute#networkEndpointGroupList\"}", true},
        {GCE_NEGS, GCE_LIST_ALL, "{\"kind\":\"compute#networkEndpointGroupList\"}", false},
        {GCE_NEGS, GCE_LIST_ALL, "{\"kind\":\"compute#networkEndpointGroupAggregatedList\"}", true},
        {GCE_NEGS, GCE_LIST, "{\"kind\":\"compute#networkEndpointGroupAggregatedList\"}", false},
        {GCE_NEGS, GCE_LIST_ENDPOINTS,
         "{\"kind\":\"compute#networkEndpointGroupsListNetworkEndpoints\"}", true},
        {GCE_NEGS, GCE_LIST_ENDPOINTS, "{\"kind\":\"compute#networkEndpointGroupList\"}", false},
        {GCE_GROUPS, GCE_LIST_INSTANCES, "{\"kind\":\"compute#instanceGroupsListInstances\"}",
         true},
        {GCE_GROUPS, GCE_LIST_INSTANCES, "{}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is = gce_api_is_list_of(rows[i].c, rows[i].v, pure_json(a, rows[i].answer));
        assert_int_equal(is, rows[i].is);
    }
}

/* ---- aggregated lists ------------------------------------------------------------------------ */

static void item(void *arg, const char *text, size_t n)
{
    struct str_buf *seen = arg;
    str_append_n(seen, text, n);
    str_append_c(seen, '\n');
}

static void cutter__items_of_all_scopes(void **state)
{
    (void)state;
    static const char *const json =
        "{\"kind\":\"k\", \"items\" : {\"zones/a\":{\"things\":[{\"things\":[{}]},{\"b\":\"]\"}]},"
        "\"zones/b\":{\"warning\":{\"data\":[{\"things\":[1]}]},\"others\":[{\"no\":1}]},"
        "\"zones/c\":{\"things\": [{\"c\":3}]}},\"nextPageToken\":\"t\"}";
    static const char *const around =
        "{\"kind\":\"k\", \"items\" : {\"zones/a\":{\"things\":[]},"
        "\"zones/b\":{\"warning\":{\"data\":[{\"things\":[1]}]},\"others\":[{\"no\":1}]},"
        "\"zones/c\":{\"things\": []}},\"nextPageToken\":\"t\"}";
    for (size_t piece = 1; piece < 40; piece += 3) {
        struct str_buf seen = STR_BUF_INIT;
        struct gce_splitter c;
        gce_splitter_init(&c, item, &seen);
        c.scoped = "things";
        for (size_t i = 0; i < strlen(json); i += piece) {
            size_t left = strlen(json) - i;
            assert_true(gce_splitter_feed(&c, json + i, left < piece ? left : piece));
        }
        same_text("items", str_buf_text(&seen), "{\"things\":[{}]}\n{\"b\":\"]\"}\n{\"c\":3}\n");
        same_text("around", gce_splitter_rest(&c), around);
        gce_splitter_done(&c);
        str_buf_done(&seen);
    }
}

UNIT_MAIN(api)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(paths__of_every_collection_and_verb),
        PURE_TEST(verbs__what_reads_and_what_mutates),
        PURE_TEST(operations__are_waited_for_where_they_are),
        PURE_TEST(links__of_zonal_resources_name_the_zone),
        PURE_TEST(lists__are_known_by_their_kind),
        PURE_TEST(cutter__items_of_all_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
