/* SPDX-License-Identifier: Apache-2.0 */
/* compute_members.c: what is in target pools, instance groups, NEGs and backend services.
 *
 * Source: gce-cloud-provider.md §4.8, §5.4, §16; gce-l4.md §9.2. */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

#define NODE0 "zones/us-central1-a/instances/node-0"
#define NODE3 "zones/us-central1-a/instances/node-3"

static void pool__instances__come_and_go_in_any_form(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(
        f, "POST", R "/targetPools/tp/addInstance",
        "{\"instances\":[{\"instance\":\"/" NODE0 "\"},{\"instance\":\"" NODE3 "\"},"
        "{\"instance\":\"https://compute.googleapis.com/compute/v1/projects/trimtab-sim/" NODE0
        "\"}]}");
    fixture_must(f, "GET", R "/targetPools/tp", NULL);
    struct json_object *list = json_member(f->answer, "instances");
    assert_int_equal(json_len(list), 2);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(list, 0)),
                        COMPUTE_LINK "/" NODE0);
    fixture_must(f, "POST", R "/targetPools/tp/removeInstance",
                 "{\"instances\":[{\"instance\":\"/" NODE0 "\"},"
                 "{\"instance\":\"/zones/us-central1-b/instances/node-1\"}]}");
    fixture_must(f, "GET", R "/targetPools/tp", NULL);
    assert_int_equal(json_len(json_member(f->answer, "instances")), 1);
    fixture_stop(f);
}

static void pool__more_than_200_at_creation__is_refused(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 201});
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 201; i++) {
        str_appendf(&b, "%s\"/zones/us-central1-%c/instances/node-%d\"", i ? "," : "", "abc"[i % 3],
                    i);
    }
    const char *all = str_buf_to_arena(&b, f->a);
    str_buf_done(&b);
    int status = fixture_call(f, "POST", R "/targetPools",
                              arena_printf(f->a, "{\"name\":\"tp\",\"instances\":[%s]}", all));
    fixture_expect(f, "201 instances", status, 400, "invalid");
    fixture_stop(f);
}

/* {"instances":[{"instance":…}, …]} of n machines that need not exist. */
static const char *many_instances(struct fixture *f, int n)
{
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        str_appendf(&b, "%s{\"instance\":\"/zones/us-central1-a/instances/node-%d\"}", i ? "," : "",
                    i);
    }
    const char *body = arena_printf(f->a, "{\"instances\":[%s]}", str_buf_text(&b));
    str_buf_done(&b);
    return body;
}

static void members__more_than_1000_in_one_call__are_refused(void **state)
{
    (void)state;
    static const char *const calls[] = {
        R "/targetPools/tp/addInstance", R "/targetPools/tp/removeInstance",
        Z "/instanceGroups/ig/addInstances", Z "/instanceGroups/ig/removeInstances"};
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1});
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig\"}");
    const char *body = many_instances(f, 1001);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        int status = fixture_call(f, "POST", calls[i], body);
        fixture_expect(f, calls[i], status, 400, "invalid");
        assert_non_null(strstr(fixture_text(f, "error.message"), "At most 1000"));
    }
    fixture_stop(f);
}

static void group__named_ports__are_set_with_the_current_fingerprint(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig\"}");
    fixture_must(f, "GET", Z "/instanceGroups/ig", NULL);
    const char *fingerprint = arena_strdup(f->a, fixture_text(f, "fingerprint"));
    const char *body = arena_printf(f->a,
                                    "{\"fingerprint\":\"%s\",\"namedPorts\":[{\"name\":\"web\","
                                    "\"port\":80}]}",
                                    fingerprint);
    fixture_must(f, "POST", Z "/instanceGroups/ig/setNamedPorts", body);
    int status = fixture_call(f, "POST", Z "/instanceGroups/ig/setNamedPorts", body);
    fixture_expect(f, "the second time", status, 412, "conditionNotMet");
    fixture_stop(f);
}

static void pool__health_check__is_swapped(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    fixture_must(f, "POST", G "/httpHealthChecks", "{\"name\":\"other\"}");
    fixture_must(f, "POST", R "/targetPools/tp/removeHealthCheck",
                 "{\"healthChecks\":[{\"healthCheck\":\"global/httpHealthChecks/hc\"}]}");
    fixture_must(f, "POST", R "/targetPools/tp/addHealthCheck",
                 "{\"healthChecks\":[{\"healthCheck\":\"global/httpHealthChecks/other\"}]}");
    fixture_must(f, "DELETE", G "/httpHealthChecks/hc", NULL);
    fixture_must(f, "POST", R "/targetPools/tp/getHealth", "{\"instance\":\"" NODE0 "\"}");
    fixture_stop(f);
}

static void group__members__are_listed_with_pages(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig\"}");
    fixture_must(f, "POST", Z "/instanceGroups/ig/addInstances",
                 "{\"instances\":[{\"instance\":\"" NODE0 "\"},{\"instance\":\"" NODE3 "\"}]}");
    fixture_must(f, "GET", Z "/instanceGroups/ig", NULL);
    assert_string_equal(fixture_text(f, "size"), "2");
    fixture_must(f, "POST", Z "/instanceGroups/ig/listInstances?maxResults=1",
                 "{\"instanceState\":\"ALL\"}");
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    const char *token = arena_strdup(f->a, fixture_text(f, "nextPageToken"));
    fixture_must(f, "POST",
                 arena_printf(f->a, Z "/instanceGroups/ig/listInstances?pageToken=%s", token),
                 "{\"instanceState\":\"ALL\"}");
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    /* A node that goes leaves the group. */
    fixture_must(f, "DELETE", "/sim/nodes/node-0", NULL);
    fixture_must(f, "GET", Z "/instanceGroups/ig", NULL);
    assert_string_equal(fixture_text(f, "size"), "1");
    fixture_stop(f);
}

static void neg__endpoints__are_attached_listed_detached(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_must(f, "POST", Z "/networkEndpointGroups",
                 "{\"name\":\"neg\",\"networkEndpointType\":\"GCE_VM_IP\"}");
    fixture_must(
        f, "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
        "{\"networkEndpoints\":[{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.10\"}]}");
    fixture_must(f, "POST", Z "/networkEndpointGroups/neg/listNetworkEndpoints",
                 "{\"healthStatus\":\"SHOW\"}");
    struct json_object *item = json_object_array_get_idx(json_member(f->answer, "items"), 0);
    assert_string_equal(json_str(json_member(item, "networkEndpoint"), "instance"), "node-0");
    assert_int_equal(json_len(json_member(item, "healths")), 1);
    fixture_must(
        f, "POST", Z "/networkEndpointGroups/neg/detachNetworkEndpoints",
        "{\"networkEndpoints\":[{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.10\"}]}");
    fixture_must(f, "GET", Z "/networkEndpointGroups/neg", NULL);
    assert_string_equal(fixture_text(f, "size"), "0");
    fixture_stop(f);
}

static void service__fingerprint__changes_with_every_write(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_must(f, "POST", G "/healthChecks",
                 "{\"name\":\"hc\",\"type\":\"TCP\",\"tcpHealthCheck\":{\"port\":80}}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs\",\"loadBalancingScheme\":\"INTERNAL\",\"protocol\":\"TCP\","
                 "\"healthChecks\":[\"global/healthChecks/hc\"]}");
    fixture_must(f, "GET", R "/backendServices/bs", NULL);
    const char *read = arena_strdup(f->a, f->text);
    const char *old = arena_strdup(f->a, fixture_text(f, "fingerprint"));
    /* A read document can be written back. */
    fixture_must(f, "PUT", R "/backendServices/bs", read);
    fixture_must(f, "GET", R "/backendServices/bs", NULL);
    assert_string_not_equal(fixture_text(f, "fingerprint"), old);
    int status = fixture_call(f, "PUT", R "/backendServices/bs", read);
    fixture_expect(f, "the second time", status, 412, "conditionNotMet");
    fixture_stop(f);
}

UNIT_MAIN(compute_members)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool__instances__come_and_go_in_any_form),
        cmocka_unit_test(pool__more_than_200_at_creation__is_refused),
        cmocka_unit_test(members__more_than_1000_in_one_call__are_refused),
        cmocka_unit_test(group__named_ports__are_set_with_the_current_fingerprint),
        cmocka_unit_test(pool__health_check__is_swapped),
        cmocka_unit_test(group__members__are_listed_with_pages),
        cmocka_unit_test(neg__endpoints__are_attached_listed_detached),
        cmocka_unit_test(service__fingerprint__changes_with_every_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
