/* SPDX-License-Identifier: Apache-2.0 */
/* test_budget.c: the rate that an API is sent requests with, learnt from refusals; time
 * is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/net/budget.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

static const struct budget_limit limit = {
    .api = "cloud", .kind = "writes", .per_second = 10, .burst = 40};

static int64_t take(struct budget *b, int64_t now_ms)
{
    bool again;
    int64_t at = budget_take(b, now_ms, false, &again);
    assert_false(again);
    return at;
}

static void budget_take__a_burst__then_the_documented_rate(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(take(&b, 0), 0);
    }
    assert_int_equal(take(&b, 0), 100);
    assert_int_equal(take(&b, 0), 200);
    assert_int_equal(b.held, 2);
    assert_int_equal(b.refused, 0);
}

static void budget_refused__many_at_once__cuts_the_rate_once(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(take(&b, 0), 0);
    }
    for (int i = 0; i < 16; i++) {
        budget_refused(&b, 100 + i, 0);
    }
    assert_int_equal(b.refused, 16);
    assert_true(b.bucket.per_second == 7.0);
    assert_int_equal(take(&b, 116), 243); /* nothing is saved: 143 ms from the refusal on */
    budget_refused(&b, 1200, 0);
    assert_true(b.bucket.per_second > 4.89 && b.bucket.per_second < 5.3);
}

static void budget_refused__again_and_again__leaves_a_twentieth(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    for (int i = 1; i < 100; i++) {
        budget_refused(&b, (int64_t)i * 1000, 0);
    }
    assert_true(b.bucket.per_second == 0.5);
}

static void budget_refused__told_when_to_come_back__is_closed_until_then(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    budget_refused(&b, 1000, 7000);
    assert_int_equal(take(&b, 1500), 8000);
    budget_refused(&b, 1500, 100); /* a shorter one does not open it */
    assert_int_equal(take(&b, 1600), 8000);
    assert_int_equal(take(&b, 9000), 9000);
    budget_refused(&b, 10000, 3600000); /* an hour is nothing that a request waits for */
    assert_int_equal(take(&b, 10001), 20000);
}

static void budget_take__no_refusals_any_more__returns_to_the_documented_rate(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    budget_refused(&b, 1000, 0);
    take(&b, 5000); /* four seconds: a fifth of the documented rate more */
    assert_true(b.bucket.per_second > 8.9 && b.bucket.per_second < 9.1);
    for (int64_t t = 7000; t < 60000; t += 1000) {
        take(&b, t);
    }
    assert_true(b.bucket.per_second == 10.0); /* one a second is no shortage */
}

static void budget_take__short_of_tokens__grows_beyond_what_is_documented(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    int64_t sent = 0, last = 0;
    while (sent < 2000) {
        last = take(&b, last);
        sent++;
    }
    assert_true(b.bucket.per_second > 20.0);
    assert_true(last < 100000); /* at the documented rate: 196 s */
    int64_t now = last;
    for (int i = 0; i < 100000; i++) {
        now = take(&b, now);
    }
    assert_true(b.bucket.per_second == 200.0);
}

/* A rate that was tried beyond the documented one falls back to that, not below. */
static void budget_refused__above_what_is_documented__falls_back_to_that(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, &limit, 0);
    int64_t now = 0;
    for (int i = 0; i < 500; i++) {
        now = take(&b, now);
    }
    assert_true(b.bucket.per_second > 12.0);
    budget_refused(&b, now, 0);
    assert_true(b.bucket.per_second == 10.0);
}

/* An account with the documented limit is tried seldom: once, after a minute, after two, … */
static void budget_refused__above_what_is_documented__stays_at_that_for_longer_each_time(
    void **state)
{
    (void)state;
    struct budget b;
    int64_t waits_ms[3], now = 0;
    budget_init(&b, &limit, 0);
    for (int i = 0; i < 3; i++) {
        while (b.bucket.per_second <= 12.0) {
            now = take(&b, now);
        }
        budget_refused(&b, now, 0);
        int64_t refused_ms = now;
        while (b.bucket.per_second <= 10.0) {
            now = take(&b, now);
        }
        waits_ms[i] = now - refused_ms;
    }
    assert_in_range(waits_ms[0], 60000, 62000);
    assert_in_range(waits_ms[1], 120000, 122000);
    assert_in_range(waits_ms[2], 240000, 242000);
}

/* The cloud has the documented limit.  A burst has IN_FLIGHT requests in flight at most.  Each one
 * is sent when its token may be used, is answered after TRIP_MS, and takes another token when the
 * cloud refuses it. */
#define IN_FLIGHT 100
#define TRIP_MS   200

struct burst {
    struct budget ours;
    struct ratelimit cloud;
    int per_minute; /* of a cloud that counts minutes of the clock; 0: it has the bucket */
    int64_t minute;
    int counted;
    int64_t sent_ms[IN_FLIGHT]; /* by request; -1: none */
    int todo;
};

static int next_of(const struct burst *u)
{
    int next = -1;
    for (int i = 0; i < IN_FLIGHT; i++) {
        if (u->sent_ms[i] >= 0 && (next < 0 || u->sent_ms[i] < u->sent_ms[next])) {
            next = i;
        }
    }
    return next;
}

static bool serves(struct burst *u, int64_t now_ms)
{
    if (u->per_minute == 0) {
        return ratelimit_try(&u->cloud, now_ms);
    }
    u->counted = now_ms / 60000 == u->minute ? u->counted + 1 : 1;
    u->minute = now_ms / 60000;
    return u->counted <= u->per_minute;
}

/* Returns when the last one is done. */
static int64_t play(struct burst *u)
{
    int64_t end = 0;
    for (int i = 0; i < IN_FLIGHT; i++) {
        u->sent_ms[i] = take(&u->ours, 0);
        u->todo--;
    }
    for (int i; (i = next_of(u)) >= 0;) {
        int64_t answered = u->sent_ms[i] + TRIP_MS;
        bool served = serves(u, u->sent_ms[i]);
        if (!served) {
            budget_refused(&u->ours, answered, 0);
        }
        end = answered;
        u->todo -= served;
        u->sent_ms[i] = served && u->todo < 0 ? -1 : take(&u->ours, answered);
    }
    return end;
}

/* Requests that were booked at a refused rate are refused, too, and say nothing of the new one. */
static void budget_refused__what_was_booked_before__cuts_no_more(void **state)
{
    (void)state;
    struct burst u = {.todo = 1000};
    budget_init(&u.ours, &limit, 0);
    ratelimit_init(&u.cloud, limit.per_second, limit.burst, 0);
    int64_t end = play(&u);
    assert_in_range(end, 96000, 103000); /* at the documented rate: 96 s */
    assert_true(u.ours.refused < 110);   /* a higher rate is tried twice */
}

/* 1,500 a minute are 300 at once and 20 a second, and 25 a second in the minutes after. */
static void budget_take__cloud_counts_minutes__whole_limit_is_used(void **state)
{
    (void)state;
    static const struct budget_limit minutes = {
        .api = "cloud", .kind = "writes", .per_second = 20, .burst = 300, .sustained = 24.5};
    struct burst u = {.todo = 8000, .per_minute = 1500};
    budget_init(&u.ours, &minutes, 0);
    int64_t end = play(&u);
    assert_in_range(end, 300000, 325000); /* five minutes, and the rest; else 335 s */
}

/* An account may have a higher limit, whatever is counted. */
static void budget_take__cloud_counts_minutes__grows_while_short(void **state)
{
    (void)state;
    static const struct budget_limit minutes = {
        .api = "cloud", .kind = "writes", .per_second = 20, .burst = 300, .sustained = 24.5};
    struct budget b;
    budget_init(&b, &minutes, 0);
    int64_t now = 0;
    while (now < 30000) {
        now = take(&b, now);
    }
    assert_true(b.bucket.per_second > 40.0);
}

/* Idle, the bucket fills as before: the limit holds in every minute. */
static void budget_take__idle_after_a_burst__saves_at_the_lower_rate(void **state)
{
    (void)state;
    static const struct budget_limit minutes = {.api = "cloud",
                                                .kind = "writes",
                                                .per_second = 20,
                                                .burst = 300,
                                                .sustained = 24.5,
                                                .fixed = true};
    struct budget b;
    budget_init(&b, &minutes, 0);
    int64_t now = 0;
    while (now < 90000) {
        now = take(&b, now);
    }
    assert_true(b.bucket.per_second == 24.5);
    for (int i = 0; i < 20; i++) {
        (void)take(&b, now + 1000); /* in waves: nothing is saved */
    }
    assert_true(b.bucket.per_second == 24.5);
    now += 1000;
    (void)take(&b, now + 2000);
    (void)take(&b, now + 4000);
    assert_true(b.bucket.per_second == 20.0);
}

static void budgets__less_than_half_is_left__are_short(void **state)
{
    (void)state;
    static const struct budget_limit limits[] = {
        {.api = "cloud", .kind = "reads", .per_second = 1, .burst = 4}};
    struct clock *clock = clock_fake_new(5000, 0);
    struct budgets *s = budgets_new(limits, 1, clock, NULL, NULL);
    bool again;
    assert_false(budgets_are_short(NULL, 0));
    for (int i = 0; i < 3; i++) {
        assert_false(budgets_are_short(s, 0));
        (void)budgets_take(s, 0, false, &again);
    }
    assert_true(budgets_are_short(s, 0));
    clock_fake_advance(clock, 1000);
    assert_false(budgets_are_short(s, 0));
    budgets_refused(s, 0, 3000); /* closed */
    assert_true(budgets_are_short(s, 0));
    budgets_free(s);
    clock_fake_free(clock);
}

static void budget_take__background__leaves_a_quarter_and_books_nothing(void **state)
{
    (void)state;
    struct budget b;
    bool again = true;
    budget_init(&b, &limit, 0);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(budget_take(&b, 0, true, &again), 0);
        assert_false(again);
    }
    double tokens = b.bucket.tokens;
    int64_t at = budget_take(&b, 0, true, &again);
    assert_true(again);
    assert_true(at > 0 && at <= 110);
    assert_true(b.bucket.tokens == tokens);
    for (int i = 0; i < 10; i++) { /* what a user waits for has the rest */
        assert_int_equal(take(&b, 0), 0);
    }
    assert_int_equal(take(&b, 0), 100);
    (void)budget_take(&b, at, true, &again); /* and has moved the background back */
    assert_true(again);
}

struct told {
    int n;
    enum budget_event event;
    struct budget_view last;
};

static void note(void *arg, enum budget_event event, const struct budget_view *now)
{
    struct told *t = arg;
    t->n++;
    t->event = event;
    t->last = *now;
}

static void budgets__of_a_provider__report_what_changes(void **state)
{
    (void)state;
    static const struct budget_limit limits[] = {
        {.api = "cloud", .kind = "reads", .per_second = 20, .burst = 2},
        {.api = "cloud", .kind = "writes", .per_second = 10, .burst = 1},
    };
    struct clock *clock = clock_fake_new(5000, 0);
    struct told told = {0};
    struct budgets *s = budgets_new(limits, ARRAY_LEN(limits), clock, note, &told);
    bool again;
    assert_int_equal(budgets_take(s, 0, false, &again), 0); /* at once */
    assert_int_equal(told.n, 0);
    assert_int_equal(budgets_take(s, 1, false, &again), 0);
    assert_int_equal(budgets_take(s, 1, false, &again), 5100);
    assert_int_equal(told.n, 1);
    assert_string_equal(told.last.kind, "writes");
    assert_int_equal(told.event, BUDGET_HELD);
    assert_int_equal(told.last.held, 1);
    budgets_refused(s, 0, 0);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.event, BUDGET_REFUSED);
    assert_string_equal(told.last.kind, "reads");
    assert_true(told.last.per_second == 14.0);
    assert_int_equal(told.last.refused, 1);
    assert_int_equal(budgets_take(NULL, 0, true, &again), 0);
    assert_false(again);
    budgets_refused(NULL, 0, 0);
    budgets_free(s);
    clock_fake_free(clock);
}

UNIT_MAIN(budget)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_take__a_burst__then_the_documented_rate),
        cmocka_unit_test(budget_refused__many_at_once__cuts_the_rate_once),
        cmocka_unit_test(budget_refused__again_and_again__leaves_a_twentieth),
        cmocka_unit_test(budget_refused__told_when_to_come_back__is_closed_until_then),
        cmocka_unit_test(budget_take__no_refusals_any_more__returns_to_the_documented_rate),
        cmocka_unit_test(budget_take__short_of_tokens__grows_beyond_what_is_documented),
        cmocka_unit_test(budget_refused__above_what_is_documented__falls_back_to_that),
        cmocka_unit_test(
            budget_refused__above_what_is_documented__stays_at_that_for_longer_each_time),
        cmocka_unit_test(budget_refused__what_was_booked_before__cuts_no_more),
        cmocka_unit_test(budget_take__cloud_counts_minutes__whole_limit_is_used),
        cmocka_unit_test(budget_take__cloud_counts_minutes__grows_while_short),
        cmocka_unit_test(budget_take__idle_after_a_burst__saves_at_the_lower_rate),
        cmocka_unit_test(budgets__less_than_half_is_left__are_short),
        cmocka_unit_test(budget_take__background__leaves_a_quarter_and_books_nothing),
        cmocka_unit_test(budgets__of_a_provider__report_what_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
