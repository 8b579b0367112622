/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c: long-running writes of the simulated Azure: polling in its three styles, ends,
 * conflicts, faults.
 *
 * Settings ("sim.azure") let operations run for a number of polls, so that no test waits for time.
 * Source: docs/spec/azure.md §3.5, §16 items 4 and 10. */
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

/* The path of a polling URL that the last answer gave. */
static const char *poll_path(struct fixture *f, const char *header)
{
    const char *url = fixture_header(f, header);
    if (!url || !str_has_prefix(url, f->url)) {
        fail_msg("%s is \"%s\"", header, str_nonnull(url));
    }
    return url + strlen(f->url);
}

static void write__without_settings__is_done_at_once(void **state)
{
    (void)state;
    struct fixture *f = arm_start("at-once", NULL);
    int status = arm_call(f, "PUT", PIP, PIP_BODY);
    arm_expect(f, "create", status, 201, NULL);
    assert_null(fixture_header(f, "Azure-AsyncOperation"));
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    arm_expect(f, "again", arm_call(f, "PUT", PIP, PIP_BODY), 200, NULL);
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 200, NULL);
    fixture_stop(f);
}

static void async__header__polled_until_done(void **state)
{
    (void)state;
    struct fixture *f = arm_start("async", NULL);
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":2,\"retry_after\":3}");
    arm_expect(f, "create", arm_call(f, "PUT", PIP, PIP_BODY), 201, NULL);
    assert_int_equal(f->retry_after, 3);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    assert_string_equal(arm_text(f, "properties.ipAddress"), "");
    const char *path = poll_path(f, "Azure-AsyncOperation");
    for (int i = 0; i < 2; i++) {
        arm_must(f, "GET", path, NULL);
        assert_string_equal(arm_text(f, "status"), "InProgress");
        assert_int_equal(f->retry_after, 3);
    }
    arm_must(f, "GET", path, NULL);
    assert_string_equal(arm_text(f, "status"), "Succeeded");
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    assert_string_equal(arm_text(f, "properties.ipAddress"), "20.42.0.4");
    fixture_stop(f);
}

static void retry_after__other_forms__are_sent(void **state)
{
    (void)state;
    struct fixture *f = arm_start("retry-after", NULL);
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":9,\"retry_after\":3,"
                    "\"retry_after_form\":\"ms\"}");
    arm_must(f, "PUT", PIP, PIP_BODY);
    assert_string_equal(fixture_header(f, "x-ms-retry-after-ms"), "3000");
    assert_null(fixture_header(f, "Retry-After"));
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":9,\"retry_after\":3,"
                    "\"retry_after_form\":\"date\"}");
    arm_must(f, "PUT", PIP "2", PIP_BODY);
    assert_non_null(strstr(fixture_header(f, "Retry-After"), " GMT"));
    fixture_stop(f);
}

static void write__of_the_same__keeps_the_etag(void **state)
{
    (void)state;
    struct fixture *f = arm_start("unchanged", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    const char *etag = arm_etag(f, PIP);
    arm_settings(f, "{\"async\":\"azure-async\"}");
    for (int i = 0; i < 2; i++) {
        arm_must(f, "PUT", PIP, PIP_BODY);
        arm_must(f, "GET", poll_path(f, "Azure-AsyncOperation"), NULL);
        assert_string_equal(arm_etag(f, PIP), etag);
    }
    fixture_stop(f);
}

static void location__header__polled_until_done(void **state)
{
    (void)state;
    struct fixture *f = arm_start("location", NULL);
    arm_settings(f, "{\"async\":\"location\",\"polls\":1}");
    arm_expect(f, "create", arm_call(f, "PUT", PIP, PIP_BODY), 201, NULL);
    const char *path = poll_path(f, "Location");
    arm_expect(f, "running", arm_call(f, "GET", path, NULL), 202, NULL);
    assert_non_null(fixture_header(f, "Location"));
    arm_expect(f, "done", arm_call(f, "GET", path, NULL), 200, NULL);
    assert_string_equal(arm_text(f, "name"), "pip");
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 202, NULL);
    path = poll_path(f, "Location");
    arm_expect(f, "still there", arm_call(f, "GET", PIP, NULL), 200, NULL);
    arm_expect(f, "running", arm_call(f, "GET", path, NULL), 202, NULL);
    arm_expect(f, "done", arm_call(f, "GET", path, NULL), 204, NULL);
    arm_expect(f, "gone", arm_call(f, "GET", PIP, NULL), 404, "ResourceNotFound");
    fixture_stop(f);
}

static void body__state__polled_by_get(void **state)
{
    (void)state;
    struct fixture *f = arm_start("body", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_settings(f, "{\"async\":\"body\",\"polls\":1}");
    arm_expect(f, "create", arm_call(f, "PUT", LB, LB_BODY), 201, NULL);
    assert_null(fixture_header(f, "Azure-AsyncOperation"));
    assert_null(fixture_header(f, "Location"));
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    assert_string_equal(arm_text(f, "properties.probes.0.properties.provisioningState"),
                        "Updating");
    arm_must(f, "GET", LB, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    arm_must(f, "GET", LB, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    fixture_stop(f);
}

static void pool__that_is_being_written__says_so(void **state)
{
    (void)state;
    struct fixture *f = arm_start("pool", NULL);
    arm_make_balancer(f);
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":1}");
    arm_expect(f, "write", arm_call(f, "PUT", LB "/backendAddressPools/x", "{\"properties\":{}}"),
               201, NULL);
    assert_string_equal(arm_text(f, "name"), "x");
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    const char *path = poll_path(f, "Azure-AsyncOperation");
    arm_must(f, "GET", LB "/backendAddressPools/x", NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    for (int i = 0; i < 2; i++) {
        arm_must(f, "GET", path, NULL);
    }
    arm_must(f, "GET", LB "/backendAddressPools/x", NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    fixture_stop(f);
}

static void instance__update__is_202(void **state)
{
    (void)state;
    struct fixture *f = arm_start("instance", NULL);
    arm_settings(f, "{\"async\":\"azure-async\"}");
    int status = arm_call(f, "PUT", VMSS "/virtualMachines/1",
                          "{\"location\":\"eastus\",\"tags\":{\"a\":\"b\"}}");
    arm_expect(f, "update", status, 202, NULL);
    arm_must(f, "GET", poll_path(f, "Azure-AsyncOperation"), NULL);
    assert_string_equal(arm_text(f, "status"), "Succeeded");
    fixture_stop(f);
}

static void write__while_another_runs__409(void **state)
{
    (void)state;
    static const struct {
        const char *method, *id, *body;
    } writes[] = {
        {"PUT", LB, LB_BODY},
        {"PATCH", LB, "{\"tags\":{}}"},
        {"PUT", POOL, "{\"properties\":{}}"},
        {"DELETE", LB, NULL},
    };
    struct fixture *f = arm_start("conflict", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":9,\"retry_after\":13}");
    arm_must(f, "PUT", LB, LB_BODY);
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        int status = arm_call(f, writes[i].method, writes[i].id, writes[i].body);
        arm_expect(f, writes[i].id, status, 409, "AnotherOperationInProgress");
        assert_int_equal(f->retry_after, 13);
    }
    arm_expect(f, "address of it", arm_call(f, "PUT", PIP, PIP_BODY), 409,
               "AnotherOperationInProgress");
    arm_expect(f, "free address", arm_call(f, "PUT", PIP "2", PIP_BODY), 201, NULL);
    int other = arm_call(f, "PUT", VMSS "/virtualMachines/1", "{\"location\":\"eastus\"}");
    arm_expect(f, "another document", other, 202, NULL);
    fixture_stop(f);
}

static void instance__while_another_runs__says_when(void **state)
{
    (void)state;
    struct fixture *f = arm_start("instance-conflict", NULL);
    const char *id = VMSS "/virtualMachines/1", *body = "{\"location\":\"eastus\"}";
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":9,\"retry_after\":13}");
    arm_expect(f, "first", arm_call(f, "PUT", id, body), 202, NULL);
    arm_expect(f, "second", arm_call(f, "PUT", id, body), 409,
               "RetryableErrorDueToAnotherOperation");
    assert_non_null(strstr(f->text, "retried in 13 seconds"));
    fixture_stop(f);
}

static void write__superseding__cancels_the_first(void **state)
{
    (void)state;
    struct fixture *f = arm_start("supersede", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_settings(f, "{\"async\":\"azure-async\",\"polls\":9,\"supersede\":true}");
    arm_must(f, "PUT", LB, LB_BODY);
    const char *first = poll_path(f, "Azure-AsyncOperation");
    arm_must(f, "PUT", LB, LB_BODY);
    arm_must(f, "GET", first, NULL);
    assert_string_equal(arm_text(f, "status"), "Canceled");
    assert_string_equal(arm_text(f, "error.code"), "CanceledAndSupersededDueToAnotherOperation");
    fixture_stop(f);
}

static void fault__fail__ends_the_operation_so(void **state)
{
    (void)state;
    static const struct {
        const char *body, *status, *code;
    } ends[] = {
        {"{\"code\":\"SubnetIsFull\",\"message\":\"full\"}", "Failed", "SubnetIsFull"},
        {"{\"status\":\"Canceled\",\"error\":{\"code\":"
         "\"CanceledAndSupersededDueToAnotherOperation\","
         "\"message\":\"x\"}}",
         "Canceled", "CanceledAndSupersededDueToAnotherOperation"},
        {"{}", "Failed", "InternalServerError"},
    };
    struct fixture *f = arm_start("fail", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        fixture_must(f, "POST", "/sim/faults",
                     arena_printf(f->a,
                                  "{\"match\":{\"op\":\"LoadBalancers.CreateOrUpdate\"},\"do\":"
                                  "\"fail\",\"body\":%s}",
                                  ends[i].body));
        arm_must(f, "PUT", LB, LB_BODY);
        arm_must(f, "GET", poll_path(f, "Azure-AsyncOperation"), NULL);
        assert_string_equal(arm_text(f, "status"), ends[i].status);
        assert_string_equal(arm_text(f, "error.code"), ends[i].code);
        arm_must(f, "GET", LB, NULL);
        assert_string_equal(arm_text(f, "properties.provisioningState"), "Failed");
    }
    arm_must(f, "PUT", LB, LB_BODY);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    fixture_stop(f);
}

static void address__that_failed__is_repaired_by_a_put(void **state)
{
    (void)state;
    struct fixture *f = arm_start("repair", NULL);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"op\":\"PublicIPAddresses.CreateOrUpdate\"},\"do\":\"fail\"}");
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "GET", poll_path(f, "Azure-AsyncOperation"), NULL);
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Failed");
    assert_string_equal(arm_text(f, "properties.ipAddress"), "");
    const char *failed = arena_strdup(f->a, f->text);
    arm_expect(f, "refers to it", arm_call(f, "PUT", LB, LB_BODY), 400,
               "ReferencedResourceNotProvisioned");
    arm_must(f, "PUT", PIP, failed);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    assert_string_not_equal(arm_text(f, "properties.ipAddress"), "");
    arm_must(f, "PUT", LB, LB_BODY);
    fixture_stop(f);
}

static void fault__throttle__429_for_one_type(void **state)
{
    (void)state;
    struct fixture *f = arm_start("throttle", NULL);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"op\":\"PublicIPAddresses.*\"},\"count\":0,\"do\":\"throttle\","
                 "\"retry_after\":17}");
    arm_expect(f, "put", arm_call(f, "PUT", PIP, PIP_BODY), 429, "TooManyRequests");
    assert_int_equal(f->retry_after, 17);
    arm_expect(f, "list", arm_call(f, "GET", NET "/publicIPAddresses", NULL), 429, NULL);
    arm_must(f, "GET", NET "/loadBalancers", NULL);
    fixture_stop(f);
}

static void delete__that_failed__leaves_the_document(void **state)
{
    (void)state;
    struct fixture *f = arm_start("delete-fails", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"op\":\"PublicIPAddresses.Delete\"},\"do\":\"fail\"}");
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 202, NULL);
    arm_must(f, "GET", poll_path(f, "Azure-AsyncOperation"), NULL);
    assert_string_equal(arm_text(f, "status"), "Failed");
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Failed");
    fixture_stop(f);
}

static void latency__of_the_cloud__finishes_by_itself(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.nodes = 1, .latency = SIM_LATENCY_CLOUD, .clock = clock};
    struct fixture *f = arm_start("latency", &cfg);
    struct clock_mover *m =
        clock_mover_start(clock); /* every wait of the simulator comes to its end */
    arm_expect(f, "create", arm_call(f, "PUT", PIP, PIP_BODY), 201, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Updating");
    const char *path = poll_path(f, "Azure-AsyncOperation");
    int polls = 0;
    do {
        arm_must(f, "GET", path, NULL);
        polls++;
    } while (str_eq(arm_text(f, "status"), "InProgress") && polls < 1000);
    assert_string_equal(arm_text(f, "status"), "Succeeded");
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.ipAddress"), "20.42.0.4");
    (void)clock_mover_stop(m);
    fixture_stop(f);
    clock_fake_free(clock);
}

UNIT_MAIN(operations)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write__without_settings__is_done_at_once),
        cmocka_unit_test(async__header__polled_until_done),
        cmocka_unit_test(retry_after__other_forms__are_sent),
        cmocka_unit_test(write__of_the_same__keeps_the_etag),
        cmocka_unit_test(location__header__polled_until_done),
        cmocka_unit_test(body__state__polled_by_get),
        cmocka_unit_test(pool__that_is_being_written__says_so),
        cmocka_unit_test(instance__update__is_202),
        cmocka_unit_test(write__while_another_runs__409),
        cmocka_unit_test(instance__while_another_runs__says_when),
        cmocka_unit_test(write__superseding__cancels_the_first),
        cmocka_unit_test(fault__fail__ends_the_operation_so),
        cmocka_unit_test(address__that_failed__is_repaired_by_a_put),
        cmocka_unit_test(fault__throttle__429_for_one_type),
        cmocka_unit_test(delete__that_failed__leaves_the_document),
        cmocka_unit_test(latency__of_the_cloud__finishes_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
