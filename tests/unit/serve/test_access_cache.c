/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what access remembers: age, number, bytes, keys; and that one question is asked once. */
#include "tests/unit/serve/access_kit.h"

#include <pthread.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "controller/serve/access_cache.h"
#include "controller/serve/access_cache_internal.h"
#include "controller/serve/access_memo.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

static const unsigned char secret[32] = "0123456789abcdef0123456789abcde";

static struct access_answer *answer(const char *text)
{
    struct access_answer *x = access_answer_new(ACCESS_YES);
    x->text = arena_strdup(x->a, text);
    return x;
}

static void put(struct access_cache *c, const char *question, const char *text, int64_t ttl_ms,
                int64_t now_ms)
{
    struct access_key key = access_key_of(secret, question);
    struct access_answer *x = answer(text);
    access_cache_put(c, &key, x, ttl_ms, now_ms);
    access_answer_unref(x);
}

static void assert_has(struct access_cache *c, const char *question, int64_t now_ms,
                       const char *text)
{
    struct access_key key = access_key_of(secret, question);
    struct access_answer *x = access_cache_get(c, &key, now_ms);
    if (!str_eq(x == NULL ? NULL : x->text, text)) {
        fail_msg("\"%s\": want %s, got %s", question, str_or(text, "nothing"),
                 x == NULL ? "nothing" : x->text);
    }
    access_answer_unref(x);
}

static void cache__age__ends_at_the_ttl(void **state)
{
    (void)state;
    struct access_cache *c = access_cache_new(10);
    put(c, "q", "a", 10000, 500);
    assert_has(c, "q", 500, "a");
    assert_has(c, "q", 10499, "a");
    assert_has(c, "q", 10500, NULL);
    assert_int_equal(map_size(c->entries), 0);
    put(c, "q", "a", 0, 500);
    assert_has(c, "q", 500, NULL);
    access_cache_free(c);
}

static void cache__another_answer__replaces(void **state)
{
    (void)state;
    struct access_cache *c = access_cache_new(10);
    put(c, "q", "a", 1000, 0);
    put(c, "q", "b", 1000, 500);
    assert_has(c, "q", 1200, "b");
    put(c, "q", "c", 0, 500); /* not to be kept: nor is the old one */
    assert_has(c, "q", 1200, NULL);
    access_cache_free(c);
}

static void cache__full__loses_what_was_not_used_for_longest(void **state)
{
    (void)state;
    struct access_cache *c = access_cache_new(3);
    put(c, "1", "a", 1000, 0);
    put(c, "2", "b", 1000, 0);
    put(c, "3", "c", 1000, 0);
    assert_has(c, "1", 1, "a");
    put(c, "4", "d", 1000, 1);
    assert_int_equal(map_size(c->entries), 3);
    assert_has(c, "2", 1, NULL);
    assert_has(c, "1", 1, "a");
    assert_has(c, "3", 1, "c");
    assert_has(c, "4", 1, "d");
    access_cache_free(c);
}

static void cache__big_answers__are_bounded_by_bytes(void **state)
{
    char *big = ARENA_ARRAY(*state, char, ACCESS_CACHE_BYTES_MAX / 32);
    memset(big, 'x', ACCESS_CACHE_BYTES_MAX / 32 - 1);
    struct access_cache *c = access_cache_new(10000);
    for (int i = 0; i < 100; i++) {
        put(c, arena_printf(*state, "%d", i), big, 1000, 0);
    }
    assert_in_range(map_size(c->entries), 20, 32);
    assert_has(c, "99", 0, big);
    char *huge = ARENA_ARRAY(*state, char, ACCESS_CACHE_BYTES_MAX / 8);
    memset(huge, 'x', ACCESS_CACHE_BYTES_MAX / 8 - 1);
    put(c, "huge", huge, 1000, 0);
    assert_has(c, "huge", 0, NULL); /* one answer does not push out all others */
    assert_has(c, "99", 0, big);
    access_cache_free(c);
}

static void keys__depend_on_secret_and_text_and_show_neither(void **state)
{
    (void)state;
    static const unsigned char other[32] = "another";
    struct access_key a = access_key_of(secret, "token");
    struct access_key b = access_key_of(secret, "token");
    struct access_key c = access_key_of(other, "token");
    struct access_key d = access_key_of(secret, "Token");
    assert_string_equal(a.hex, b.hex);
    assert_string_not_equal(a.hex, c.hex);
    assert_string_not_equal(a.hex, d.hex);
    assert_int_equal(strlen(a.hex), 64);
}

/* --- one flight ------------------------------------------------------------------------------- */

#define CALLERS 8

struct flights {
    struct access_memo *memo;
    struct clock *clock;
    struct mutex lock;
    struct cond changed;
    int fetches;
    bool open; /* fetches may end */
    enum access_outcome outcome;
    int64_t ttl_ms;
};
struct caller {
    struct flights *f;
    struct cancel *cancel;
    pthread_t thread;
    struct access_answer *got;
    bool shared;
};

static struct access_answer *fetch(void *arg, struct cancel *cancel, int64_t *ret_ttl_ms)
{
    struct flights *f = arg;
    mutex_lock(&f->lock);
    int nth = ++f->fetches;
    cond_broadcast(&f->changed);
    while (!f->open && !cancel_fired(cancel)) {
        clock_wait(clock_real(), &f->changed, &f->lock, clock_now_ms(clock_real()) + 5);
    }
    bool stopped = !f->open;
    mutex_unlock(&f->lock);
    struct access_answer *x = access_answer_new(stopped ? ACCESS_CANCELLED : f->outcome);
    x->text = arena_printf(x->a, "answer %d", nth);
    *ret_ttl_ms = stopped ? 0 : f->ttl_ms;
    return x;
}

static void *call(void *arg)
{
    struct caller *c = arg;
    struct access_key key = access_key_of(secret, "q");
    c->got = access_memo_ask(c->f->memo, &key, c->cancel, fetch, c->f, &c->shared);
    return NULL;
}

static void start(struct flights *f)
{
    *f = (struct flights){.clock = clock_fake_new(1000, 0), .outcome = ACCESS_YES, .ttl_ms = 100};
    mutex_init(&f->lock);
    cond_init(&f->changed);
    f->memo = access_memo_new(100, f->clock);
}

static void done(struct flights *f)
{
    access_memo_free(f->memo);
    clock_fake_free(f->clock);
    cond_done(&f->changed);
    mutex_done(&f->lock);
}

/* Until so many ask and wait. */
static void until(struct flights *f, size_t fetching, size_t waiting)
{
    size_t now_fetching;
    size_t now_waiting;
    do {
        sched_yield();
        access_memo_counts(f->memo, &now_fetching, &now_waiting);
    } while (now_fetching != fetching || now_waiting != waiting);
}

static void open_gate(struct flights *f)
{
    mutex_lock(&f->lock);
    f->open = true;
    cond_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static void call_all(struct flights *f, struct caller *callers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        callers[i] = (struct caller){.f = f, .cancel = cancel_new(NULL)};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
}

static void end(struct caller *c)
{
    access_answer_unref(c->got);
    cancel_free(c->cancel);
}

static void memo__many_callers__one_fetch(void **state)
{
    (void)state;
    struct flights f;
    struct caller callers[CALLERS];
    size_t shared = 0;
    start(&f);
    call_all(&f, callers, CALLERS);
    until(&f, 1, CALLERS - 1);
    open_gate(&f);
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_string_equal(callers[i].got->text, "answer 1");
        shared += callers[i].shared;
        end(&callers[i]);
    }
    assert_int_equal(f.fetches, 1);
    assert_int_equal(shared, CALLERS - 1);
    done(&f);
}

static void memo__trouble__is_shared_but_not_remembered(void **state)
{
    (void)state;
    struct flights f;
    struct caller callers[2];
    struct access_key key = access_key_of(secret, "q");
    start(&f);
    f.outcome = ACCESS_TROUBLE;
    f.ttl_ms = 0;
    call_all(&f, callers, 2);
    until(&f, 1, 1);
    open_gate(&f);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].got->outcome, ACCESS_TROUBLE);
        end(&callers[i]);
    }
    assert_int_equal(f.fetches, 1);
    assert_null(access_memo_get(f.memo, &key));
    call_all(&f, callers, 1);
    pthread_join(callers[0].thread, NULL);
    assert_int_equal(f.fetches, 2);
    end(&callers[0]);
    done(&f);
}

static void memo__answer__is_remembered_for_its_time(void **state)
{
    (void)state;
    struct flights f;
    struct caller c;
    struct access_key key = access_key_of(secret, "q");
    start(&f);
    open_gate(&f);
    call_all(&f, &c, 1);
    pthread_join(c.thread, NULL);
    end(&c);
    clock_fake_advance(f.clock, 99);
    struct access_answer *x = access_memo_get(f.memo, &key);
    assert_non_null(x);
    access_answer_unref(x);
    clock_fake_advance(f.clock, 1);
    assert_null(access_memo_get(f.memo, &key));
    done(&f);
}

static void memo__who_waits_is_stopped__the_others_go_on(void **state)
{
    (void)state;
    struct flights f;
    struct caller callers[3];
    start(&f);
    call_all(&f, callers, 1);
    until(&f, 1, 0);
    call_all(&f, callers + 1, 2);
    until(&f, 1, 2);
    cancel_fire(callers[1].cancel);
    pthread_join(callers[1].thread, NULL);
    assert_int_equal(callers[1].got->outcome, ACCESS_CANCELLED);
    until(&f, 1, 1);
    open_gate(&f);
    pthread_join(callers[0].thread, NULL);
    pthread_join(callers[2].thread, NULL);
    assert_int_equal(callers[2].got->outcome, ACCESS_YES);
    assert_int_equal(f.fetches, 1);
    for (size_t i = 0; i < 3; i++) {
        end(&callers[i]);
    }
    done(&f);
}

static void memo__who_asks_is_stopped__another_takes_over(void **state)
{
    (void)state;
    struct flights f;
    struct caller callers[2];
    start(&f);
    call_all(&f, callers, 1);
    until(&f, 1, 0);
    call_all(&f, callers + 1, 1);
    until(&f, 1, 1);
    cancel_fire(callers[0].cancel);
    pthread_join(callers[0].thread, NULL);
    assert_int_equal(callers[0].got->outcome, ACCESS_CANCELLED);
    until(&f, 1, 0); /* who waited asks now */
    open_gate(&f);
    pthread_join(callers[1].thread, NULL);
    assert_string_equal(callers[1].got->text, "answer 2");
    assert_int_equal(callers[1].got->outcome, ACCESS_YES);
    end(&callers[0]);
    end(&callers[1]);
    done(&f);
}

UNIT_MAIN(access_cache)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(cache__age__ends_at_the_ttl),
        KIT_TEST(cache__another_answer__replaces),
        KIT_TEST(cache__full__loses_what_was_not_used_for_longest),
        KIT_TEST(cache__big_answers__are_bounded_by_bytes),
        KIT_TEST(keys__depend_on_secret_and_text_and_show_neither),
        KIT_TEST(memo__many_callers__one_fetch),
        KIT_TEST(memo__trouble__is_shared_but_not_remembered),
        KIT_TEST(memo__answer__is_remembered_for_its_time),
        KIT_TEST(memo__who_waits_is_stopped__the_others_go_on),
        KIT_TEST(memo__who_asks_is_stopped__another_takes_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
