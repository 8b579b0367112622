/* SPDX-License-Identifier: Apache-2.0 */
/* compute_operations.c: long operations, request ids, and time at --latency cloud (with a fake
 * clock).
 *
 * Source: gce-cloud-provider.md §3.5, §16. */
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

/* Path of the operation of the last answer, as the client sees it. */
static const char *operation_path(struct fixture *f)
{
    const char *link = fixture_text(f, "selfLink");
    const char *at = strstr(link, "/compute/v1/projects/");
    return at ? arena_strdup(f->a, at) : "";
}

static void operation__latency_none__is_done_at_the_first_look(void **state)
{
    (void)state;
    static const struct {
        const char *method, *suffix;
    } looks[] = {{"GET", ""}, {"POST", "/wait"}};
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        fixture_must(f, "POST", R "/addresses", arena_printf(f->a, "{\"name\":\"a%zu\"}", i));
        assert_string_equal(fixture_text(f, "kind"), "compute#operation");
        assert_string_equal(fixture_text(f, "status"), "RUNNING");
        assert_string_equal(fixture_text(f, "operationType"), "insert");
        const char *path = operation_path(f);
        assert_true(str_has_prefix(path, R "/operations/operation-"));
        fixture_must(f, looks[i].method, arena_printf(f->a, "%s%s", path, looks[i].suffix), NULL);
        assert_string_equal(fixture_text(f, "status"), "DONE");
        assert_string_equal(fixture_text(f, "progress"), "100");
    }
    fixture_must(f, "GET", R "/operations?maxResults=1", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    assert_string_not_equal(fixture_text(f, "nextPageToken"), "");
    fixture_must(f, "GET", P "/aggregated/operations", NULL);
    assert_non_null(json_member(json_member(f->answer, "items"), "regions/us-central1"));
    fixture_stop(f);
}

static void request_id__sent_again__answers_the_same_operation(void **state)
{
    (void)state;
    static const char path[] = R "/addresses?requestId=0b8c2b9e-1111-4222-8333-444455556666";
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", path, "{\"name\":\"a\"}");
    const char *first = arena_strdup(f->a, fixture_text(f, "name"));
    fixture_must(f, "POST", path, "{\"name\":\"a\"}");
    assert_string_equal(fixture_text(f, "name"), first);
    int status = fixture_call(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_expect(f, "without the id", status, 409, "alreadyExists");
    fixture_must(f, "GET", R "/addresses", NULL);
    assert_int_equal(json_len(json_member(f->answer, "items")), 1);
    fixture_stop(f);
}

/* A fake clock that continues: every wait of the simulator comes to its end. */
static struct clock *clock_new(void)
{
    return clock_fake_new(1000, 1795287600000000);
}

static void operation__latency_cloud__takes_its_time_and_wait_blocks(void **state)
{
    (void)state;
    struct clock *clock = clock_new();
    struct clock_mover *m = clock_mover_start(clock);
    struct fixture *f = fixture_start(
        &(struct sim_config){.nodes = 6, .latency = SIM_LATENCY_CLOUD, .clock = clock});
    int64_t start = clock_now_ms(clock);
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    const char *path = operation_path(f);
    fixture_must(f, "POST", arena_printf(f->a, "%s/wait", path), NULL);
    assert_string_equal(fixture_text(f, "status"), "DONE");
    int64_t took = clock_now_ms(clock) - start;
    assert_in_range(took, 1000, 10000);
    (void)clock_mover_stop(m);
    fixture_stop(f);
    clock_fake_free(clock);
}

#define PART(request, body)                                                                        \
    "--part\r\nContent-Type: application/http\r\n\r\n" request " HTTP/1.1\r\n\r\n" body "\r\n"

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

static void operation__insert_still_running__resource_is_not_ready(void **state)
{
    (void)state;
    struct clock *clock = clock_new();
    struct clock_mover *m = clock_mover_start(clock);
    struct fixture *f = fixture_start(
        &(struct sim_config){.nodes = 6, .latency = SIM_LATENCY_CLOUD, .clock = clock});
    static const char pool[] =
        "{\"name\":\"tp\",\"healthChecks\":[\"global/httpHealthChecks/hc\"]}";
    /* In one batch, so that no time passes between them: the check is made, then used too early. */
    fixture_call(f, "POST", "/batch/compute/v1",
                 PART("POST " G "/httpHealthChecks", "{\"name\":\"hc\"}")
                     PART("POST " R "/targetPools",
                          "{\"name\":\"tp\",\"healthChecks\":[\"global/httpHealthChecks/hc\"]}")
                         PART("DELETE " G "/httpHealthChecks/hc", "") "--part--\r\n");
    assert_int_equal(count_of(f->text, "HTTP/1.1 200"), 1);
    assert_int_equal(count_of(f->text, "HTTP/1.1 400"), 2);
    assert_int_equal(count_of(f->text, "\"resourceNotReady\""), 2);
    const char *at = strstr(f->text, "\"selfLink\": \"https://www.googleapis.com");
    assert_non_null(at);
    at = strstr(at, "/compute/v1/");
    const char *wait = arena_printf(f->a, "%.*s/wait", (int)strcspn(at, "\""), at);
    fixture_must(f, "POST", wait, NULL);
    fixture_must(f, "POST", R "/targetPools", pool);
    (void)clock_mover_stop(m);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void fault__fail__ends_the_operation_and_nothing_is_done(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code, *status;
    } ends[] = {
        {"{}", "INTERNAL_ERROR", "503"},
        {"{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"no\",\"httpErrorStatusCode\":403}",
         "QUOTA_EXCEEDED", "403"},
    };
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        fixture_must(f, "POST", "/sim/faults",
                     arena_printf(f->a,
                                  "{\"match\":{\"op\":\"compute.addresses.insert\"},\"do\":"
                                  "\"fail\",\"body\":%s}",
                                  ends[i].body));
        fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
        fixture_must(f, "GET", operation_path(f), NULL);
        assert_string_equal(fixture_text(f, "status"), "DONE");
        assert_string_equal(fixture_text(f, "httpErrorStatusCode"), ends[i].status);
        struct json_object *errors = json_path(f->answer, "error.errors");
        assert_string_equal(json_str(json_object_array_get_idx(errors, 0), "code"), ends[i].code);
        int status = fixture_call(f, "GET", R "/addresses/a", NULL);
        fixture_expect(f, "nothing is made", status, 404, "notFound");
    }
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_must(f, "GET", R "/addresses/a", NULL);
    fixture_stop(f);
}

UNIT_MAIN(compute_operations)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation__latency_none__is_done_at_the_first_look),
        cmocka_unit_test(request_id__sent_again__answers_the_same_operation),
        cmocka_unit_test(operation__latency_cloud__takes_its_time_and_wait_blocks),
        cmocka_unit_test(operation__insert_still_running__resource_is_not_ready),
        cmocka_unit_test(fault__fail__ends_the_operation_and_nothing_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
