/* SPDX-License-Identifier: Apache-2.0 */
/* lag.c: lists of public IPs that show each write some time later (setting `list_lag_ms`). */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#define LIST   NET "/publicIPAddresses"
#define LAG_MS 5000
#define TAGGED                                                                                     \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"tags\":{\"a\":\"1\"},"             \
    "\"properties\":{\"publicIPAllocationMethod\":\"Static\"}}"

static struct clock *the_clock(void)
{
    return clock_fake_new(1000000, 1700000000000000LL);
}

/* Length of the list, and the tag of its first address. */
static void list_shows(struct fixture *f, size_t n, const char *tag)
{
    arm_must(f, "GET", LIST, NULL);
    assert_int_equal(arm_len(f, "value"), n);
    assert_string_equal(arm_text(f, "value.0.tags.a"), tag);
}

static void list__after_a_write__shows_it_later(void **state)
{
    (void)state;
    struct clock *clock = the_clock();
    struct sim_config cfg = {.clock = clock};
    struct fixture *f = arm_start("lag", &cfg);
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"list_lag_ms\":5000}");
    arm_must(f, "PUT", PIP, PIP_BODY);
    list_shows(f, 0, "");
    clock_fake_advance(clock, LAG_MS / 2);
    arm_must(f, "PUT", PIP, TAGGED);
    list_shows(f, 0, "");
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "tags.a"), "1");
    clock_fake_advance(clock, LAG_MS / 2);
    list_shows(f, 1, "");
    clock_fake_advance(clock, LAG_MS / 2);
    list_shows(f, 1, "1");
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 200, NULL);
    arm_expect(f, "by its name", arm_call(f, "GET", PIP, NULL), 404, "ResourceNotFound");
    list_shows(f, 1, "1");
    clock_fake_advance(clock, LAG_MS);
    list_shows(f, 0, "");
    fixture_stop(f);
    clock_fake_free(clock);
}

static void list__made_anew_at_once__shows_one(void **state)
{
    (void)state;
    struct clock *clock = the_clock();
    struct sim_config cfg = {.clock = clock};
    struct fixture *f = arm_start("lag-anew", &cfg);
    arm_must(f, "PUT", PIP, PIP_BODY);
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"list_lag_ms\":5000}");
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 200, NULL);
    arm_must(f, "PUT", PIP, TAGGED);
    list_shows(f, 1, "");
    clock_fake_advance(clock, LAG_MS);
    list_shows(f, 1, "1");
    fixture_stop(f);
    clock_fake_free(clock);
}

UNIT_MAIN(lag)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__after_a_write__shows_it_later),
        cmocka_unit_test(list__made_anew_at_once__shows_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
