/* SPDX-License-Identifier: Apache-2.0 */
/* test_token.c: which caller fetches, how long others wait, and how long a credential is used. */
#include "common/cloud/token.h"

#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define RETRY_MS 100

struct kit {
    struct arena *a;
    struct clock *clock;
    struct http *http;
    struct token_cache *cache;
    /* the fetch of token_cache_ready(): its result, and how it went */
    int rc;
    int fetches;
    bool once;
};

static void put_off(void *arg, unsigned mark, int64_t now_ms, struct token_life *life)
{
    (void)arg;
    life->refresh_ms = now_ms + RETRY_MS;
    if (mark != 0) {
        life->expires_ms = now_ms + mark;
    }
}

static int setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(0, 0);
    const struct http_config http = {
        .observe = http_ignore_sent, .user_agent = "test", .clock = k->clock};
    k->http = http_new(&http);
    const struct token_cache_config cfg = {.clock = k->clock, .refresh_failed = put_off};
    k->cache = token_cache_new(&cfg);
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kit *k = *state;
    token_cache_free(k->cache);
    http_free(k->http);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

/* Stale from 700, required from 900, invalid from 1000 ms on. */
static struct token token_of(const char *text)
{
    return (struct token){.parts = {text, "secret"}, .life = {700, 900, 1000}};
}

static const char *cached(struct kit *k)
{
    struct token t;
    return token_cache_get(k->cache, k->a, &t) ? t.parts[0] : "";
}

static void end(struct kit *k, int code)
{
    struct err err = ERR_INIT;
    if (code != ERR_OK) {
        (void)err_set(&err, code, "refused");
    }
    token_cache_ended(k->cache, &err);
}

static void begin(void *arg, struct arena *a, bool once)
{
    struct kit *k = arg;
    (void)a;
    k->once = once;
    k->fetches++;
}

static enum http_next step(void *arg, struct http_request *req, const struct http_response *resp,
                           double unit, struct err *err)
{
    struct kit *k = arg;
    (void)req;
    (void)resp;
    (void)unit;
    if (k->rc != ERR_OK) {
        (void)err_set(err, k->rc, "refused");
        return HTTP_DONE;
    }
    const struct token t = token_of("new");
    token_cache_store(k->cache, &t);
    return HTTP_DONE;
}

static int ready(struct kit *k, struct cancel *cancel)
{
    const struct token_fetch fetch = {.begin = begin, .step = step, .arg = k};
    return token_cache_ready(k->cache, &fetch, k->http, cancel, NULL);
}

/* ---- the credential -------------------------------------------------------------------------- */

static void get__until_it_expires__a_copy_of_all_parts(void **state)
{
    struct kit *k = *state;
    struct token t = token_of("first");
    assert_string_equal(cached(k), "");
    token_cache_store(k->cache, &t);
    clock_fake_advance(k->clock, 999);
    assert_true(token_cache_get(k->cache, k->a, &t));
    assert_string_equal(t.parts[0], "first");
    assert_string_equal(t.parts[1], "secret");
    assert_null(t.parts[2]);
    clock_fake_advance(k->clock, 1);
    assert_string_equal(cached(k), "");
}

static void drop__only_the_refused_one(void **state)
{
    struct kit *k = *state;
    struct token t = token_of("first");
    token_cache_store(k->cache, &t);
    assert_true(token_cache_drop(k->cache, "another", "claims"));
    assert_string_equal(cached(k), "first");
    assert_null(token_cache_challenge(k->cache, k->a));
    assert_true(token_cache_drop(k->cache, "first", NULL));
    assert_string_equal(cached(k), "");
}

static void drop__pinned__stays(void **state)
{
    struct kit *k = *state;
    struct token t = token_of("fixed");
    t.pinned = true;
    token_cache_store(k->cache, &t);
    assert_false(token_cache_drop(k->cache, "fixed", NULL));
    assert_string_equal(cached(k), "fixed");
    assert_true(token_cache_drop(k->cache, "another", NULL));
}

static void challenge__kept_until_a_token_is_stored(void **state)
{
    struct kit *k = *state;
    struct token t = token_of("first");
    token_cache_store(k->cache, &t);
    assert_true(token_cache_drop(k->cache, "first", "claims"));
    assert_true(token_cache_drop(k->cache, "first", NULL)); /* a second call reports it */
    assert_string_equal(token_cache_challenge(k->cache, k->a), "claims");
    token_cache_store(k->cache, &t);
    assert_null(token_cache_challenge(k->cache, k->a));
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void turn__one_fetches__others_wait_and_share_its_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait first = {0};
    struct token_wait second = {0};
    struct err err = ERR_INIT;
    assert_int_equal(token_cache_turn(k->cache, &first, &err), TOKEN_TURN_MINE);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_WAIT);
    end(k, ERR_AUTH);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_FAILED);
    assert_int_equal(err.code, ERR_AUTH);
    second = (struct token_wait){0};
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_MINE);
    const struct token t = token_of("t");
    token_cache_store(k->cache, &t);
    end(k, ERR_OK);
    assert_int_equal(token_cache_turn(k->cache, &first, &err), TOKEN_TURN_READY);
}

static void turn__next_fetch_has_begun__waiter_still_gets_the_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait first = {0};
    struct token_wait second = {0};
    struct token_wait third = {0};
    struct err err = ERR_INIT;
    assert_int_equal(token_cache_turn(k->cache, &first, &err), TOKEN_TURN_MINE);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_WAIT);
    end(k, ERR_AUTH);
    assert_int_equal(token_cache_turn(k->cache, &third, &err), TOKEN_TURN_MINE);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_FAILED);
}

static void turn__cancelled_fetch__is_not_a_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait first = {0};
    struct token_wait second = {0};
    struct err err = ERR_INIT;
    assert_int_equal(token_cache_turn(k->cache, &first, &err), TOKEN_TURN_MINE);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_WAIT);
    end(k, ERR_CANCELLED);
    assert_int_equal(token_cache_turn(k->cache, &second, &err), TOKEN_TURN_MINE);
}

/* ---- blocking -------------------------------------------------------------------------------- */

static void ready__by_state__fetches_when_due(void **state)
{
    struct kit *k = *state;
    assert_int_equal(ready(k, NULL), ERR_OK);
    assert_int_equal(k->fetches, 1);
    assert_false(k->once); /* nothing was cached */
    clock_fake_advance(k->clock, 699);
    assert_int_equal(ready(k, NULL), ERR_OK);
    assert_int_equal(k->fetches, 1);
    clock_fake_advance(k->clock, 1);
    k->rc = ERR_TRANSIENT;
    assert_int_equal(ready(k, NULL), ERR_OK); /* fails, and the old one is used */
    assert_int_equal(k->fetches, 2);
    assert_true(k->once);
    assert_int_equal(ready(k, NULL), ERR_OK); /* put off */
    assert_int_equal(k->fetches, 2);
    clock_fake_advance(k->clock, RETRY_MS);
    assert_int_equal(ready(k, NULL), ERR_OK);
    assert_int_equal(k->fetches, 3);
    clock_fake_advance(k->clock, 200);
    assert_int_equal(ready(k, NULL), ERR_TRANSIENT); /* expired */
    assert_int_equal(k->fetches, 4);
}

static void ready__cancelled_refresh__is_not_put_off(void **state)
{
    struct kit *k = *state;
    const struct token t = token_of("first");
    token_cache_store(k->cache, &t);
    clock_fake_advance(k->clock, 700);
    k->rc = ERR_CANCELLED;
    assert_int_equal(ready(k, NULL), ERR_OK);
    k->rc = ERR_OK;
    assert_int_equal(ready(k, NULL), ERR_OK);
    assert_int_equal(k->fetches, 2);
    assert_string_equal(cached(k), "new");
}

static void ready__failed_refresh__may_extend_the_credential(void **state)
{
    struct kit *k = *state;
    struct token t = token_of("first");
    t.mark = 5000;
    token_cache_store(k->cache, &t);
    clock_fake_advance(k->clock, 1000);
    k->rc = ERR_TRANSIENT;
    assert_int_equal(ready(k, NULL), ERR_OK);
    assert_string_equal(cached(k), "first");
}

static void ready__waiting__can_be_cancelled(void **state)
{
    struct kit *k = *state;
    struct token_wait wait = {0};
    struct err err = ERR_INIT;
    struct cancel *cancel = cancel_new(NULL);
    assert_int_equal(token_cache_turn(k->cache, &wait, &err), TOKEN_TURN_MINE); /* never ends */
    cancel_fire(cancel);
    assert_int_equal(ready(k, cancel), ERR_CANCELLED);
    cancel_free(cancel);
}

struct caller {
    struct kit *k;
    pthread_t thread;
    int rc;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    c->rc = ready(c->k, NULL);
    return NULL;
}

/* Starts a caller that blocks, because a fetch is in progress. */
static void start(struct kit *k, struct caller *c)
{
    c->k = k;
    assert_int_equal(pthread_create(&c->thread, NULL, call, c), 0);
    while (clock_fake_waiting(k->clock) == 0) {
        (void)sched_yield();
    }
}

static void join(struct caller *c)
{
    assert_int_equal(pthread_join(c->thread, NULL), 0);
}

static void ready__while_another_fetches__waits_and_shares_the_result(void **state)
{
    struct kit *k = *state;
    static const int results[] = {ERR_OK, ERR_AUTH};
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        struct token_wait wait = {0};
        struct err err = ERR_INIT;
        struct caller c;
        assert_int_equal(token_cache_turn(k->cache, &wait, &err), TOKEN_TURN_MINE);
        start(k, &c);
        if (results[i] == ERR_OK) {
            const struct token t = token_of("t");
            token_cache_store(k->cache, &t);
        }
        end(k, results[i]);
        join(&c);
        assert_int_equal(c.rc, results[i]);
        assert_int_equal(k->fetches, 0);
        assert_true(token_cache_drop(k->cache, "t", NULL));
    }
}

static void ready__required__waits_and_uses_the_old_one_after_a_failure(void **state)
{
    struct kit *k = *state;
    struct caller first;
    struct token_wait wait = {0};
    struct err err = ERR_INIT;
    assert_int_equal(token_cache_turn(k->cache, &wait, &err), TOKEN_TURN_MINE);
    const struct token t = token_of("old");
    token_cache_store(k->cache, &t);
    clock_fake_advance(k->clock, 899);
    assert_int_equal(ready(k, NULL), ERR_OK); /* stale: does not wait */
    clock_fake_advance(k->clock, 1);
    start(k, &first);
    end(k, ERR_TRANSIENT);
    join(&first);
    assert_int_equal(first.rc, ERR_OK);
    assert_int_equal(k->fetches, 0);
    assert_string_equal(cached(k), "old");
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(token)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(get__until_it_expires__a_copy_of_all_parts),
        KIT_TEST(drop__only_the_refused_one),
        KIT_TEST(drop__pinned__stays),
        KIT_TEST(challenge__kept_until_a_token_is_stored),
        KIT_TEST(turn__one_fetches__others_wait_and_share_its_failure),
        KIT_TEST(turn__next_fetch_has_begun__waiter_still_gets_the_failure),
        KIT_TEST(turn__cancelled_fetch__is_not_a_failure),
        KIT_TEST(ready__by_state__fetches_when_due),
        KIT_TEST(ready__cancelled_refresh__is_not_put_off),
        KIT_TEST(ready__failed_refresh__may_extend_the_credential),
        KIT_TEST(ready__waiting__can_be_cancelled),
        KIT_TEST(ready__while_another_fetches__waits_and_shares_the_result),
        KIT_TEST(ready__required__waits_and_uses_the_old_one_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
