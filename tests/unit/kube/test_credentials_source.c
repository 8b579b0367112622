/* SPDX-License-Identifier: Apache-2.0 */
/* test_credentials_source.c: one credential kept good: vectors 196, 197 and 199 of controller.md
 * §6.12, 401s, failures.
 *
 * Fetching is a function of the test's that counts, and can be held up; the clock is fake. */
#include "controller/kube/client/credentials_source.h"
#include "tests/unit/kube/kube_test.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define WALL_US INT64_C(1767323045000000)

struct bench {
    struct arena *a;
    struct clock *clock;
    struct credentials_source *source;
    struct mutex lock;
    struct cond changed;
    int fetches, running, most_running;
    int failing;     /* so many fetches fail */
    int64_t life_ms; /* 0: forever */
    bool held;       /* fetches wait */
    bool freed;
};

static int fetch(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                 struct err *err)
{
    struct bench *b = arg;
    mutex_lock(&b->lock);
    int nth = ++b->fetches;
    b->running++;
    b->most_running = b->running > b->most_running ? b->running : b->most_running;
    cond_broadcast(&b->changed);
    while (b->held && !cancel_fired(cancel)) {
        clock_wait(clock_real(), &b->changed, &b->lock, clock_now_ms(clock_real()) + 5);
    }
    bool fails = b->failing > 0;
    b->failing -= fails;
    b->running--;
    mutex_unlock(&b->lock);
    if (fails) {
        return err_set(err, ERR_AUTH, "no luck");
    }
    *ret = (struct credential){
        .token = arena_printf(a, "token-%d", nth),
        .has_expiry = b->life_ms > 0,
        .expires_us = clock_wall_us(b->clock) + b->life_ms * 1000,
    };
    return ERR_OK;
}

static void done(void *arg)
{
    ((struct bench *)arg)->freed = true;
}

static void bench_start(struct bench *b, struct credentials_source_args args)
{
    bool real = args.clock != NULL;
    b->a = arena_new();
    b->clock = clock_fake_new(1000, WALL_US);
    mutex_init(&b->lock);
    cond_init(&b->changed);
    args.fetch = fetch;
    args.done = done;
    args.arg = b;
    args.name = "test";
    args.clock = real ? args.clock : b->clock;
    b->source = credentials_source_new(&args);
}

static void bench_stop(struct bench *b)
{
    credentials_source_free(b->source);
    assert_true(b->freed);
    clock_fake_free(b->clock);
    cond_done(&b->changed);
    mutex_done(&b->lock);
    arena_free(b->a);
}

static int fetches(struct bench *b)
{
    mutex_lock(&b->lock);
    int n = b->fetches;
    mutex_unlock(&b->lock);
    return n;
}

static void hold(struct bench *b, bool held)
{
    mutex_lock(&b->lock);
    b->held = held;
    cond_broadcast(&b->changed);
    mutex_unlock(&b->lock);
}

static void until_fetches(struct bench *b, int n)
{
    while (fetches(b) < n) {
        (void)poll(NULL, 0, 1);
    }
}

/* The token as one gets it who waits; "!why" after a failure. */
static const char *ask(struct bench *b)
{
    const struct credentials_waiter waiter = {0};
    struct credentials_given given;
    struct err err = ERR_INIT;
    int rc = credentials_source_get(b->source, b->a, &waiter, &given, &err);
    return rc == ERR_OK ? given.token : arena_printf(b->a, "!%s", err.message);
}

/* Without waiting. */
static int peek(struct bench *b, struct credentials_given *ret)
{
    struct err err = ERR_INIT;
    return credentials_source_get(b->source, b->a, NULL, ret, &err);
}

/* The source must have been read again before `token` comes. */
static void until_token(struct bench *b, const char *token)
{
    struct credentials_given given = {.token = ""};
    while (peek(b, &given) != ERR_OK || !str_eq(given.token, token)) {
        (void)poll(NULL, 0, 1);
    }
}

/* 196: a leeway of a minute; 8 min: kept; 10 min: another one, by one call. */
static void source__v196_leeway__fetched_ahead_once(void **state)
{
    struct bench b = {.life_ms = 600000};
    (void)state;
    bench_start(&b, (struct credentials_source_args){.lead_ms = 60000});
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 480000);
    assert_string_equal(ask(&b), "token-1");
    assert_int_equal(fetches(&b), 1);
    clock_fake_advance(b.clock, 120000);
    until_token(&b, "token-2");
    assert_int_equal(fetches(&b), 2);
    bench_stop(&b);
}

static void *ask_main(void *arg)
{
    struct bench *b = arg;
    struct arena *a = arena_new();
    const struct credentials_waiter waiter = {0};
    struct credentials_given given;
    intptr_t rc = credentials_source_get(b->source, a, &waiter, &given, NULL);
    bool right = rc == ERR_OK && str_eq(given.token, "token-1");
    arena_free(a);
    return (void *)(intptr_t)right;
}

/* 197 */
static void source__v197_hundred_at_once__one_fetch(void **state)
{
    struct bench b = {.held = true};
    pthread_t threads[100];
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_main, &b), 0);
    }
    until_fetches(&b, 1);
    hold(&b, false);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *right;
        pthread_join(threads[i], &right);
        assert_non_null(right);
    }
    assert_int_equal(fetches(&b), 1);
    bench_stop(&b);
}

/* 199, without looking ahead: good until its very end. */
static void source__v199_end__good_at_it_not_after(void **state)
{
    struct bench b = {.life_ms = 60000};
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 60000);
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 1000);
    assert_string_equal(ask(&b), "token-2");
    assert_int_equal(fetches(&b), 2);
    bench_stop(&b);
}

/* 30 s before its end another one is fetched; meanwhile the old one serves, and no caller
 * starts a second fetch. */
static void source__lead__old_one_serves_while_the_next_is_fetched(void **state)
{
    struct bench b = {.life_ms = 3600000};
    struct credentials_given given;
    (void)state;
    bench_start(&b, (struct credentials_source_args){.lead_ms = 30000});
    assert_string_equal(ask(&b), "token-1");
    hold(&b, true);
    clock_fake_advance(b.clock, 3600000 - 30001);
    assert_int_equal(peek(&b, &given), ERR_OK);
    assert_int_equal(fetches(&b), 1);
    clock_fake_advance(b.clock, 1);
    until_fetches(&b, 2);
    assert_int_equal(peek(&b, &given), ERR_OK);
    assert_string_equal(given.token, "token-1");
    clock_fake_advance(b.clock, 40000); /* it takes too long: now the old one has ended */
    assert_int_equal(peek(&b, &given), ERR_IN_PROGRESS);
    hold(&b, false);
    assert_string_equal(ask(&b), "token-2");
    assert_int_equal(fetches(&b), 2);
    assert_int_equal(b.most_running, 1);
    bench_stop(&b);
}

static void source__lead_percent__at_80_percent(void **state)
{
    struct bench b = {.life_ms = 3600000};
    (void)state;
    bench_start(&b, (struct credentials_source_args){.lead_percent = 20});
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 2879999);
    assert_string_equal(ask(&b), "token-1");
    assert_int_equal(fetches(&b), 1);
    clock_fake_advance(b.clock, 1);
    until_token(&b, "token-2");
    bench_stop(&b);
}

/* Credentials that arrive expired are used for a moment anyway: the server decides, and the client
 * does not spin. */
static void source__ended_on_arrival__kept_for_ten_seconds(void **state)
{
    struct bench b = {.life_ms = 1};
    (void)state;
    bench_start(&b, (struct credentials_source_args){.lead_ms = 30000});
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 9999);
    assert_string_equal(ask(&b), "token-1");
    assert_int_equal(fetches(&b), 1);
    clock_fake_advance(b.clock, 1);
    until_token(&b, "token-2");
    bench_stop(&b);
}

static void source__failures__told_at_once_and_tried_again_later(void **state)
{
    struct bench b = {.failing = 2};
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    assert_string_equal(ask(&b), "!no luck");
    assert_string_equal(ask(&b), "!no luck"); /* without another fetch */
    assert_int_equal(fetches(&b), 1);
    clock_fake_advance(b.clock, 1000);
    assert_string_equal(ask(&b), "!no luck");
    assert_int_equal(fetches(&b), 2);
    clock_fake_advance(b.clock, 1000); /* 2 s by now */
    assert_string_equal(ask(&b), "!no luck");
    clock_fake_advance(b.clock, 1000);
    assert_string_equal(ask(&b), "token-3");
    bench_stop(&b);
}

static void source__renewal_fails__old_one_to_its_end(void **state)
{
    struct bench b = {.life_ms = 100000};
    (void)state;
    bench_start(&b, (struct credentials_source_args){.lead_ms = 30000});
    assert_string_equal(ask(&b), "token-1");
    mutex_lock(&b.lock);
    b.failing = 1000;
    mutex_unlock(&b.lock);
    clock_fake_advance(b.clock, 70000);
    until_fetches(&b, 2);
    assert_string_equal(ask(&b), "token-1");
    clock_fake_advance(b.clock, 30001);
    const char *answer = ask(&b);
    assert_string_equal(answer, "!no luck");
    bench_stop(&b);
}

static void source__tries__before_it_counts_as_failed(void **state)
{
    struct bench b = {.failing = 3};
    pthread_t thread;
    (void)state;
    bench_start(&b, (struct credentials_source_args){.tries = 4, .pause_ms = 500});
    int64_t began_ms = clock_now_ms(b.clock);
    const struct credentials_waiter waiter = {0};
    (void)waiter;
    b.fetches = -3; /* the fourth is "token-1" */
    assert_int_equal(pthread_create(&thread, NULL, ask_main, &b), 0);
    for (int i = 0; i < 3; i++) { /* 500 ms, 1 s, 2 s */
        until_fetches(&b, -2 + i);
        while (clock_fake_next_ms(b.clock) == CLOCK_NEVER ||
               clock_fake_next_ms(b.clock) <= clock_now_ms(b.clock)) {
            (void)poll(NULL, 0, 1);
        }
        clock_fake_advance(b.clock, clock_fake_next_ms(b.clock) - clock_now_ms(b.clock));
    }
    void *right;
    pthread_join(thread, &right);
    assert_non_null(right);
    assert_int_equal(clock_now_ms(b.clock) - began_ms, 3500);
    bench_stop(&b);
}

/* A 401: one refresh, and only when the credential is still the one that was used. */
static void source__renew__once_for_all_who_used_it(void **state)
{
    struct bench b = {0};
    struct credentials_given first, now;
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    assert_false(credentials_source_renew(b.source, 0)); /* nothing was used */
    assert_string_equal(ask(&b), "token-1");
    assert_int_equal(peek(&b, &first), ERR_OK);
    hold(&b, true);
    assert_true(credentials_source_renew(b.source, first.generation));
    assert_true(credentials_source_renew(b.source, first.generation)); /* is in progress */
    assert_int_equal(peek(&b, &now), ERR_IN_PROGRESS);                 /* not the refused one */
    hold(&b, false);
    assert_string_equal(ask(&b), "token-2");
    assert_true(credentials_source_renew(b.source, first.generation)); /* there is another one */
    assert_int_equal(peek(&b, &now), ERR_OK);
    assert_int_equal(fetches(&b), 2);
    assert_false(credentials_source_renew(b.source, now.generation)); /* not again within 10 s */
    assert_string_equal(ask(&b), "token-2");
    clock_fake_advance(b.clock, 10000);
    assert_true(credentials_source_renew(b.source, now.generation));
    assert_string_equal(ask(&b), "token-3");
    bench_stop(&b);
}

/* It may have been good all the same. */
static void source__renew_fails__refused_one_goes_on(void **state)
{
    struct bench b = {0};
    struct credentials_given given;
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    assert_string_equal(ask(&b), "token-1");
    assert_int_equal(peek(&b, &given), ERR_OK);
    mutex_lock(&b.lock);
    b.failing = 1;
    mutex_unlock(&b.lock);
    assert_true(credentials_source_renew(b.source, given.generation));
    assert_string_equal(ask(&b), "token-1");
    bench_stop(&b);
}

static void *fire_main(void *arg)
{
    cancel_fire(arg);
    return NULL;
}

static void source__cancelled_while_waiting__ends(void **state)
{
    struct bench b = {.held = true};
    struct cancel *cancel = cancel_new(NULL);
    const struct credentials_waiter waiter = {.other = cancel};
    struct credentials_given given;
    pthread_t thread;
    (void)state;
    bench_start(&b, (struct credentials_source_args){0});
    assert_int_equal(peek(&b, &given), ERR_IN_PROGRESS);
    until_fetches(&b, 1);
    assert_int_equal(pthread_create(&thread, NULL, fire_main, cancel), 0);
    assert_int_equal(credentials_source_get(b.source, b.a, &waiter, &given, NULL), ERR_CANCELLED);
    pthread_join(thread, NULL);
    bench_stop(&b); /* ends the fetch, too */
    cancel_free(cancel);
}

/* One whose request has a limit of its own, as a lease's. */
static void source__waiter_with_a_limit__told_in_time(void **state)
{
    struct bench b = {.held = true};
    const struct credentials_waiter waiter = {.timeout_ms = 5};
    struct credentials_given given;
    struct err err = ERR_INIT;
    (void)state;
    bench_start(&b, (struct credentials_source_args){.clock = clock_real()});
    assert_int_equal(credentials_source_get(b.source, b.a, &waiter, &given, &err), ERR_TRANSIENT);
    assert_string_equal(err.message, "credentials did not come within 5 ms");
    bench_stop(&b);
}

UNIT_MAIN(credentials_source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source__v196_leeway__fetched_ahead_once),
        cmocka_unit_test(source__v197_hundred_at_once__one_fetch),
        cmocka_unit_test(source__v199_end__good_at_it_not_after),
        cmocka_unit_test(source__lead__old_one_serves_while_the_next_is_fetched),
        cmocka_unit_test(source__lead_percent__at_80_percent),
        cmocka_unit_test(source__ended_on_arrival__kept_for_ten_seconds),
        cmocka_unit_test(source__failures__told_at_once_and_tried_again_later),
        cmocka_unit_test(source__renewal_fails__old_one_to_its_end),
        cmocka_unit_test(source__tries__before_it_counts_as_failed),
        cmocka_unit_test(source__renew__once_for_all_who_used_it),
        cmocka_unit_test(source__renew_fails__refused_one_goes_on),
        cmocka_unit_test(source__cancelled_while_waiting__ends),
        cmocka_unit_test(source__waiter_with_a_limit__told_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
