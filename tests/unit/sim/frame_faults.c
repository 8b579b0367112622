/* SPDX-License-Identifier: Apache-2.0 */
/* frame_faults.c: every kind of fault on a cloud call, by number and match, and the list of faults.
 *
 * Faults on watches are tested with the Kubernetes API.  Source:
 * interfaces.md, POST /sim/faults. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

#define INSERT_A "{\"name\":\"a\"}"

static void fault__refuse__answers_in_the_apis_form_or_with_a_body(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(
        f, "POST", "/sim/faults",
        "{\"match\":{\"op\":\"compute.addresses.insert\"},\"do\":\"refuse\",\"status\":403}");
    int status = fixture_call(f, "POST", R "/addresses", INSERT_A);
    fixture_expect(f, "refused", status, 403, "forbidden");
    fixture_must(f, "POST", R "/addresses", INSERT_A);
    fixture_must(f, "POST", "/sim/faults",
                 "[{\"match\":{\"path\":\"*/addresses/a\"},\"do\":\"refuse\",\"status\":502,"
                 "\"body\":\"<html>oops</html>\"},"
                 "{\"match\":{\"method\":\"DELETE\"},\"do\":\"refuse\",\"status\":400,"
                 "\"body\":{\"error\":{\"code\":400,\"message\":\"m\"}}}]");
    assert_int_equal(json_len(json_member(f->answer, "ids")), 2);
    assert_int_equal(fixture_call(f, "GET", R "/addresses/a", NULL), 502);
    assert_string_equal(f->text, "<html>oops</html>");
    assert_int_equal(fixture_call(f, "DELETE", R "/addresses/a", NULL), 400);
    assert_string_equal(fixture_text(f, "error.message"), "m");
    fixture_stop(f);
}

static void fault__lose__effect_is_there_without_an_answer(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"op\":\"compute.addresses.insert\"},\"do\":\"lose\"}");
    assert_int_equal(fixture_call(f, "POST", R "/addresses", INSERT_A), 0);
    fixture_must(f, "GET", R "/addresses/a", NULL);
    fixture_must(f, "GET", "/sim/calls", NULL);
    struct json_object *gce = json_member(f->answer, "gce");
    assert_int_equal(json_int(gce, "compute.addresses.insert", 0), 1);
    fixture_stop(f);
}

static void fault__close__nothing_happens_and_nothing_comes(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/faults", "{\"match\":{\"api\":\"gce\"},\"do\":\"close\"}");
    assert_int_equal(fixture_call(f, "POST", R "/addresses", INSERT_A), 0);
    assert_int_equal(fixture_call(f, "GET", R "/addresses/a", NULL), 404);
    fixture_stop(f);
}

static void fault__hang__no_answer_ever(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/faults", "{\"match\":{\"api\":\"gce\"},\"do\":\"hang\"}");
    assert_int_equal(fixture_call_within(f, "POST", R "/addresses", INSERT_A, 100), -1);
    assert_int_equal(fixture_call(f, "GET", R "/addresses/a", NULL), 404);
    fixture_stop(f);
}

static void fault__throttle__says_when_to_come_back(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"api\":\"gce\"},\"do\":\"throttle\",\"retry_after\":7}");
    int status = fixture_call(f, "GET", R "/addresses", NULL);
    fixture_expect(f, "throttled", status, 429, "rateLimitExceeded");
    assert_int_equal(f->retry_after, 7);
    fixture_must(f, "GET", R "/addresses", NULL);
    assert_int_equal(f->retry_after, -1);
    fixture_stop(f);
}

static void fault__delay__answers_by_the_clock(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 1795287600000000);
    struct fixture *f = fixture_start(&(struct sim_config){.clock = clock});
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"api\":\"gce\"},\"do\":\"delay\",\"ms\":5000,\"count\":0}");
    /* Time stands still: no answer.  The client leaves, and nothing was done. */
    assert_int_equal(fixture_call_within(f, "POST", R "/addresses", INSERT_A, 100), -1);
    clock_fake_advance(clock, 6000);
    fixture_must(f, "DELETE", "/sim/faults", NULL);
    assert_int_equal(fixture_call(f, "GET", R "/addresses/a", NULL), 404);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void fault__from_and_count__hit_the_calls_of_these_numbers(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(
        f, "POST", "/sim/faults",
        "{\"match\":{\"op\":\"compute.zones.*\"},\"from\":2,\"count\":2,\"do\":\"refuse\"}");
    static const int want[] = {200, 503, 503, 200, 200};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(fixture_call(f, "GET", P "/zones", NULL), want[i]);
    }
    fixture_must(f, "GET", "/sim/faults", NULL);
    struct json_object *fault = json_object_array_get_idx(f->answer, 0);
    assert_int_equal(json_int(fault, "hits", -1), 2);
    assert_int_equal(json_int(fault, "seen", -1), 5);
    fixture_stop(f);
}

static void fault__count_0__lasts_until_removed(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", "/sim/faults",
                 "{\"match\":{\"api\":\"gce\"},\"count\":0,\"do\":\"refuse\",\"status\":500}");
    int64_t id = json_object_get_int64(json_object_array_get_idx(json_member(f->answer, "ids"), 0));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fixture_call(f, "GET", P "/zones", NULL), 500);
    }
    fixture_must(f, "DELETE", arena_printf(f->a, "/sim/faults/%lld", (long long)id), NULL);
    assert_int_equal(fixture_call(f, "GET", P "/zones", NULL), 200);
    assert_int_equal(fixture_call(f, "DELETE", "/sim/faults/99", NULL), 404);
    fixture_stop(f);
}

static void fault__bad_ones__are_refused_and_none_is_added(void **state)
{
    (void)state;
    static const struct {
        const char *body, *text;
    } rows[] = {
        {"{}", "do"},
        {"{\"do\":\"explode\"}", "explode"},
        {"{\"do\":\"refuse\",\"statsu\":500}", "did you mean \"status\""},
        {"{\"do\":\"refuse\",\"match\":{\"verb\":\"GET\"}}", "verb"},
        {"{\"do\":\"refuse\",\"from\":0}", "from"},
        {"{\"do\":\"refuse\",\"status\":700}", "status"},
        {"[{\"do\":\"refuse\"},{\"do\":\"x\"}]", "x"},
        {"7", "object"},
    };
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(fixture_call(f, "POST", "/sim/faults", rows[i].body), 400);
        assert_non_null(strstr(fixture_text(f, "error"), rows[i].text));
    }
    fixture_must(f, "GET", "/sim/faults", NULL);
    assert_int_equal(json_len(f->answer), 0);
    fixture_stop(f);
}

UNIT_MAIN(frame_faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__refuse__answers_in_the_apis_form_or_with_a_body),
        cmocka_unit_test(fault__lose__effect_is_there_without_an_answer),
        cmocka_unit_test(fault__close__nothing_happens_and_nothing_comes),
        cmocka_unit_test(fault__hang__no_answer_ever),
        cmocka_unit_test(fault__throttle__says_when_to_come_back),
        cmocka_unit_test(fault__delay__answers_by_the_clock),
        cmocka_unit_test(fault__from_and_count__hit_the_calls_of_these_numbers),
        cmocka_unit_test(fault__count_0__lasts_until_removed),
        cmocka_unit_test(fault__bad_ones__are_refused_and_none_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
