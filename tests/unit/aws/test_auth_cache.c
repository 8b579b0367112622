/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth_cache.c: how long keys are used, who gets new ones, and who
 * waits (docs/spec/aws.md 2.2). */
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/auth_kit.h"

#include <pthread.h>

#define MINUTE    INT64_C(60000)
#define ENV_ROLE  "AWS_ACCESS_KEY_ID=AKIDENV\nAWS_SECRET_ACCESS_KEY=hush-env\n"
#define ROLE_LINE "RoleARN = arn:aws:iam::1:role/r\n"

static int64_t wall_s(struct kit *k)
{
    return clock_wall_s(k->clock) - KIT_WALL_S;
}

/* Keys that last so long from now. */
static void get(struct kit *k, const char *key, int64_t lasts_s)
{
    assert_int_equal(kit_ask(k), HTTP_SEND);
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", key, wall_s(k) + lasts_s)),
                     HTTP_DONE);
    assert_int_equal(k->err.code, ERR_OK);
    kit_end(k);
}

/* Would aws_auth_ready() ask for new keys?  With a server that refuses, the answer is
 * in its requests. */
static bool asks(struct kit *k)
{
    int before = test_server_requests(k->server);
    struct err err = ERR_INIT;
    assert_int_equal(aws_auth_ready(k->auth, k->http, NULL, &err), ERR_OK);
    return test_server_requests(k->server) > before;
}

static void windows__by_the_life_of_the_keys(void **state)
{
    struct kit *k = *state;
    static const struct {
        int64_t lasts_s;
        int64_t window_s;
    } rows[] = {
        {15 * 60, 5 * 60},  {20 * 60, 5 * 60}, {21 * 60, 15 * 60}, {60 * 60, 15 * 60},
        {89 * 60, 15 * 60}, {90 * 60, 3600},   {12 * 3600, 3600},  {4 * 60, 2 * 60},
    };
    kit_serve(k, 403, "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_open(k, ENV_ROLE, ROLE_LINE);
        get(k, "AK", rows[i].lasts_s);
        clock_fake_advance(k->clock, (rows[i].lasts_s - rows[i].window_s) * 1000 - 1);
        assert_false(asks(k));
        clock_fake_advance(k->clock, 1);
        assert_true(asks(k));
        same_text("the old ones serve", kit_key(k), "AK");
    }
}

static void refresh__that_fails__is_put_off_5_to_10_minutes(void **state)
{
    struct kit *k = *state;
    kit_serve(k, 403, "");
    for (int i = 0; i < 8; i++) {
        kit_open(k, ENV_ROLE, ROLE_LINE);
        get(k, "AK", 12 * 3600);
        clock_fake_advance(k->clock, 11 * 60 * MINUTE);
        assert_true(asks(k));
        clock_fake_advance(k->clock, 5 * MINUTE - 1);
        assert_false(asks(k));
        clock_fake_advance(k->clock, 5 * MINUTE + 1);
        assert_true(asks(k));
        same_text("the old ones serve", kit_key(k), "AK");
    }
}

static void refresh__asks_only_once_while_old_keys_serve(void **state)
{
    struct kit *k = *state;
    struct err err = ERR_INIT;
    kit_serve(k, 500, ""); /* would be asked three times */
    kit_open(k, ENV_ROLE, ROLE_LINE);
    get(k, "AK", 900);
    clock_fake_advance(k->clock, 10 * MINUTE);
    int before = test_server_requests(k->server);
    assert_int_equal(aws_auth_ready(k->auth, k->http, NULL, &err), ERR_OK);
    assert_int_equal(test_server_requests(k->server), before + 1);
    assert_int_equal(err.code, ERR_OK);
}

static void last_minute__is_tried_every_ten_seconds__then_it_is_over(void **state)
{
    struct kit *k = *state;
    struct err err = ERR_INIT;
    kit_serve(k, 403, "");
    kit_open(k, ENV_ROLE, ROLE_LINE);
    get(k, "AK", 900);
    clock_fake_advance(k->clock, 14 * MINUTE + 1000);
    assert_true(asks(k));
    assert_false(asks(k));
    clock_fake_advance(k->clock, 10000);
    assert_true(asks(k));
    same_text("still", kit_key(k), "AK");
    clock_fake_advance(k->clock, 49000);
    same_text("over", kit_key(k), NULL);
    assert_int_equal(aws_auth_ready(k->auth, k->http, NULL, &err), ERR_AUTH);
    assert_non_null(strstr(err.message, "RoleARN of the cloud config"));
}

static void new_keys__replace_old_ones(void **state)
{
    struct kit *k = *state;
    struct sigv4_keys keys;
    struct err err = ERR_INIT;
    kit_serve(k, 200, kit_sts(k, "AssumeRole", "AKNEW", 3600));
    kit_open(k, ENV_ROLE, ROLE_LINE);
    get(k, "AKOLD", 900);
    clock_fake_advance(k->clock, 10 * MINUTE);
    assert_int_equal(aws_auth_ready(k->auth, k->http, NULL, &err), ERR_OK);
    assert_true(aws_auth_keys(k->auth, k->a, &keys));
    same_text("key", keys.access_key, "AKNEW");
    same_text("token", keys.session_token, "hush+/=AKNEW");
}

/* ---- refused keys ---------------------------------------------------------------------------- */

static void drop__only_the_keys_that_were_refused(void **state)
{
    struct kit *k = *state;
    kit_open(k, ENV_ROLE, ROLE_LINE);
    get(k, "AK1", 900);
    assert_true(aws_auth_drop(k->auth, "AK1"));
    same_text("gone", kit_key(k), NULL);
    get(k, "AK2", 900);
    assert_true(aws_auth_drop(k->auth, "AK1")); /* told late: there are others already */
    same_text("kept", kit_key(k), "AK2");
}

static void drop__keys_of_the_environment_stay(void **state)
{
    struct kit *k = *state;
    kit_open(k, ENV_ROLE, NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    assert_false(aws_auth_drop(k->auth, "AKIDENV"));
    same_text("kept", kit_key(k), "AKIDENV");
}

static void stale_codes(void **state)
{
    static const char *const yes[] = {"ExpiredToken", "ExpiredTokenException",
                                      "InvalidClientTokenId", "RequestExpired"};
    static const char *const no[] = {"", "AccessDenied", "UnauthorizedOperation", "expiredtoken"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        assert_true(aws_auth_is_stale_code(yes[i]));
        assert_false(aws_auth_is_stale_code(no[i]));
    }
}

/* ---- the instance's keys outlive their end --------------------------------------------------- */

static void instance__old_keys_serve_while_the_service_fails(void **state)
{
    struct kit *k = *state;
    kit_open(k, "", NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    assert_int_equal(kit_answer(k, 200, "hush-imds"), HTTP_SEND);
    assert_int_equal(kit_answer(k, 200, "role"), HTTP_SEND);
    assert_int_equal(kit_answer(k, 200, kit_json(k, "AKNODE", "Token", 3600)), HTTP_DONE);
    kit_end(k);
    for (int hours = 0; hours < 3; hours++) {
        clock_fake_advance(k->clock, 60 * MINUTE);
        same_text("over", kit_key(k), NULL);
        assert_int_equal(kit_ask(k), HTTP_SEND);
        while (kit_answer(k, 500, "") != HTTP_DONE) {
        }
        assert_int_equal(k->err.code, ERR_TRANSIENT);
        kit_end(k);
        same_text("kept", kit_key(k), "AKNODE");
        clock_fake_advance(k->clock, 5 * MINUTE);
        same_text("for 5 minutes at least", kit_key(k), "AKNODE");
    }
    /* Refused ones do not. */
    assert_true(aws_auth_drop(k->auth, "AKNODE"));
    assert_int_equal(kit_ask(k), HTTP_SEND);
    while (kit_answer(k, 500, "") != HTTP_DONE) {
    }
    kit_end(k);
    same_text("gone", kit_key(k), NULL);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void turns__one_fetches__others_wait_and_share_its_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait first = {0};
    struct token_wait second = {0};
    struct err err = ERR_INIT;
    kit_open(k, ENV_ROLE, ROLE_LINE);
    assert_int_equal(aws_auth_turn(k->auth, &first, &err), TOKEN_TURN_MINE);
    assert_int_equal(aws_auth_turn(k->auth, &second, &err), TOKEN_TURN_WAIT);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    assert_int_equal(kit_answer(k, 403, ""), HTTP_DONE);
    kit_end(k);
    assert_int_equal(aws_auth_turn(k->auth, &second, &err), TOKEN_TURN_FAILED);
    assert_int_equal(err.code, ERR_AUTH);
    second = (struct token_wait){0};
    assert_int_equal(aws_auth_turn(k->auth, &second, &err), TOKEN_TURN_MINE);
    get(k, "AK", 900);
    assert_int_equal(aws_auth_turn(k->auth, &first, &err), TOKEN_TURN_READY);
}

static void turns__one_who_was_told_to_stop__leaves_the_turn_to_others(void **state)
{
    struct kit *k = *state;
    struct token_wait first = {0};
    struct token_wait second = {0};
    struct err err = ERR_INIT;
    kit_open(k, ENV_ROLE, ROLE_LINE);
    assert_int_equal(aws_auth_turn(k->auth, &first, &err), TOKEN_TURN_MINE);
    assert_int_equal(aws_auth_turn(k->auth, &second, &err), TOKEN_TURN_WAIT);
    (void)err_set(&k->err, ERR_CANCELLED, "asked to stop");
    kit_end(k);
    assert_int_equal(aws_auth_turn(k->auth, &second, &err), TOKEN_TURN_MINE);
}

static void turn__next_fetch_has_begun__waiter_still_gets_the_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait waits[3] = {{0}};
    struct err err = ERR_INIT;
    kit_open(k, ENV_ROLE, ROLE_LINE);
    assert_int_equal(aws_auth_turn(k->auth, &waits[0], &err), TOKEN_TURN_MINE);
    assert_int_equal(aws_auth_turn(k->auth, &waits[1], &err), TOKEN_TURN_WAIT);
    (void)err_set(&err, ERR_AUTH, "refused");
    aws_auth_ended(k->auth, &err);
    assert_int_equal(aws_auth_turn(k->auth, &waits[2], &err), TOKEN_TURN_MINE);
    assert_int_equal(aws_auth_turn(k->auth, &waits[1], &err), TOKEN_TURN_FAILED);
}

/* ---- callers that come at once --------------------------------------------------------------- */

struct caller {
    struct kit *k;
    int rc;
    struct err err;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    const struct http_config cfg = {
        .observe = http_ignore_sent, .user_agent = "test", .clock = c->k->clock};
    struct http *http = http_new(&cfg);
    c->rc = aws_auth_ready(c->k->auth, http, NULL, &c->err);
    http_free(http);
    return NULL;
}

static void call_at_once(struct kit *k, int want_rc)
{
    struct caller callers[6] = {{0}};
    pthread_t threads[6];
    for (size_t i = 0; i < ARRAY_LEN(callers); i++) {
        callers[i].k = k;
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(callers); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].rc, want_rc);
        assert_int_equal(callers[i].err.code, want_rc);
    }
}

static void callers_at_once__one_request(void **state)
{
    struct kit *k = *state;
    kit_serve(k, 200, kit_sts(k, "AssumeRole", "AK", 900));
    kit_open(k, ENV_ROLE, ROLE_LINE);
    call_at_once(k, ERR_OK);
    assert_int_equal(test_server_requests(k->server), 1);
    same_text("key", kit_key(k), "AK");
}

static void callers_at_once__all_are_told_of_the_failure(void **state)
{
    struct kit *k = *state;
    kit_serve(k, 403, "");
    kit_open(k, ENV_ROLE, ROLE_LINE);
    call_at_once(k, ERR_AUTH);
    same_text("none", kit_key(k), NULL);
}

static void caller__that_waits__can_be_stopped(void **state)
{
    struct kit *k = *state;
    struct token_wait wait = {0};
    struct err err = ERR_INIT;
    struct cancel *cancel = cancel_new(NULL);
    kit_serve(k, 200, "");
    kit_open(k, ENV_ROLE, ROLE_LINE);
    assert_int_equal(aws_auth_turn(k->auth, &wait, &err), TOKEN_TURN_MINE); /* and never ends */
    cancel_fire(cancel);
    assert_int_equal(aws_auth_ready(k->auth, k->http, cancel, &err), ERR_CANCELLED);
    assert_int_equal(test_server_requests(k->server), 0);
    cancel_free(cancel);
}

static void hostile_answer__is_cut_off(void **state)
{
    struct kit *k = *state;
    struct err err = ERR_INIT;
    char *huge = arena_alloc(k->a, 1024 * 1024);
    memset(huge, 'h', 1024 * 1024 - 1);
    kit_serve(k, 200, huge);
    kit_open(k, ENV_ROLE, ROLE_LINE);
    int rc = aws_auth_ready(k->auth, k->http, NULL, &err);
    if (rc != ERR_INVALID || strlen(err.message) > 600) {
        fail_msg("%d: %s", rc, err.message);
    }
}

UNIT_MAIN(auth_cache)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(windows__by_the_life_of_the_keys),
        KIT_TEST(refresh__that_fails__is_put_off_5_to_10_minutes),
        KIT_TEST(refresh__asks_only_once_while_old_keys_serve),
        KIT_TEST(last_minute__is_tried_every_ten_seconds__then_it_is_over),
        KIT_TEST(new_keys__replace_old_ones),
        KIT_TEST(drop__only_the_keys_that_were_refused),
        KIT_TEST(drop__keys_of_the_environment_stay),
        KIT_TEST(stale_codes),
        KIT_TEST(instance__old_keys_serve_while_the_service_fails),
        KIT_TEST(turns__one_fetches__others_wait_and_share_its_failure),
        KIT_TEST(turns__one_who_was_told_to_stop__leaves_the_turn_to_others),
        KIT_TEST(turn__next_fetch_has_begun__waiter_still_gets_the_failure),
        KIT_TEST(callers_at_once__one_request),
        KIT_TEST(callers_at_once__all_are_told_of_the_failure),
        KIT_TEST(caller__that_waits__can_be_stopped),
        KIT_TEST(hostile_answer__is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
