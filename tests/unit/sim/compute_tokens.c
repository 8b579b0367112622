/* SPDX-License-Identifier: Apache-2.0 */
/* compute_tokens.c: who gets a token, and who is let in with one; and the metadata server.
 *
 * Source: gce-cloud-provider.md §1.5, §2.1–2.6. */
#include "common/net/jwt.h"
#include "common/net/url.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

static void expect_401(struct fixture *f, const char *token, const char *reason)
{
    f->token = token;
    int status = fixture_call(f, "GET", P "/zones", NULL);
    fixture_expect(f, str_nonnull(token), status, 401, reason);
    assert_string_equal(fixture_text(f, "error.status"), "UNAUTHENTICATED");
}

static void token__missing_unknown_or_expired__is_401(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 1795287600000000);
    struct fixture *f = fixture_start(&(struct sim_config){.clock = clock});
    const char *good = f->token;
    fixture_must(f, "GET", P "/zones", NULL);
    expect_401(f, NULL, "required");
    expect_401(f, "ya29.somebody-elses", "authError");
    clock_fake_advance(clock, 3601 * 1000);
    expect_401(f, good, "authError");
    fixture_must(f, "GET", "/computeMetadata/v1/instance/service-accounts/default/token", NULL);
    f->token = arena_strdup(f->a, fixture_text(f, "access_token"));
    fixture_must(f, "GET", P "/zones", NULL);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void metadata__token__is_the_same_until_it_is_old(void **state)
{
    (void)state;
    static const char path[] = "/computeMetadata/v1/instance/service-accounts/default/token";
    struct clock *clock = clock_fake_new(1000, 1795287600000000);
    struct fixture *f = fixture_start(&(struct sim_config){.clock = clock});
    const char *first = f->token;
    clock_fake_advance(clock, 3000 * 1000);
    fixture_must(f, "GET", path, NULL);
    assert_string_equal(fixture_text(f, "access_token"), first);
    assert_string_equal(fixture_text(f, "expires_in"), "600");
    clock_fake_advance(clock, 400 * 1000);
    fixture_must(f, "GET", path, NULL);
    assert_string_not_equal(fixture_text(f, "access_token"), first);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void metadata__paths__answer_what_controllers_ask(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
        const char *want;
    } rows[] = {
        {"project/project-id", 200, "trimtab-sim"},
        {"project/numeric-project-id", 200, "424242424242"},
        {"instance/zone", 200, "projects/424242424242/zones/us-central1-a"},
        {"instance/network-interfaces/0/network", 200, "projects/424242424242/networks/default"},
        {"universe/universe_domain", 200, "googleapis.com"},
        {"instance/nothing", 404, "Not Found\n"},
    };
    struct fixture *f = fixture_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = fixture_call(f, "GET",
                                  arena_printf(f->a, "/computeMetadata/v1/%s", rows[i].path), NULL);
        assert_int_equal(status, rows[i].status);
        assert_string_equal(f->text, rows[i].want);
    }
    fixture_stop(f);
}

/* A form body for /token with a signed assertion; `key_text` is a credentials file. */
static const char *assertion_form(struct fixture *f, const char *key_text, const char *audience,
                                  int64_t iat)
{
    struct json_object *file = NULL, *claims = json_object_new_object();
    struct jwt_key *key = NULL;
    char *jwt = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(json_parse_arena(f->a, key_text, strlen(key_text), NULL, &file, &err), ERR_OK);
    const char *pem = json_str(file, "private_key");
    assert_int_equal(jwt_key_parse(pem, strlen(pem), &key, &err), ERR_OK);
    json_add_str(claims, "iss", json_str(file, "client_email"));
    json_add_str(claims, "aud", audience ? audience : json_str(file, "token_uri"));
    json_add_int(claims, "iat", iat);
    json_add_int(claims, "exp", iat + 3600);
    assert_int_equal(jwt_sign(f->a, key, json_str(file, "private_key_id"), claims, &jwt, &err),
                     ERR_OK);
    json_object_put(claims);
    jwt_key_free(key);
    return arena_printf(f->a,
                        "assertion=%s&grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3A"
                        "jwt-bearer",
                        jwt);
}

static void token_endpoint__grants__are_checked(void **state)
{
    (void)state;
    static const char refresh[] =
        "grant_type=refresh_token&client_id=trimtab-sim.apps.googleusercontent.com"
        "&client_secret=sim-client-secret&refresh_token=1%2F%2Fsim-refresh-token";
    struct fixture *f = fixture_start(NULL);
    f->token = NULL;
    assert_int_equal(fixture_call(f, "POST", "/token", refresh), 200);
    assert_string_equal(fixture_text(f, "token_type"), "Bearer");
    f->token = arena_strdup(f->a, fixture_text(f, "access_token"));
    fixture_must(f, "GET", P "/zones", NULL);
    assert_int_equal(fixture_call(f, "POST", "/token", "grant_type=refresh_token&refresh_token=x"),
                     400);
    assert_string_equal(fixture_text(f, "error"), "invalid_grant");
    assert_int_equal(fixture_call(f, "POST", "/token", "grant_type=password"), 400);
    assert_string_equal(fixture_text(f, "error"), "unsupported_grant_type");
    /* token-url: whatever the body says, a metadata token must be shown. */
    assert_int_equal(fixture_call(f, "POST", "/token", "{\"cluster\":\"c\"}"), 200);
    assert_string_not_equal(fixture_text(f, "accessToken"), "");
    assert_string_not_equal(fixture_text(f, "expireTime"), "");
    f->token = NULL;
    assert_int_equal(fixture_call(f, "POST", "/token", "{\"cluster\":\"c\"}"), 401);
    fixture_stop(f);
}

static void token_endpoint__signed_assertion__must_be_of_our_account_and_of_now(void **state)
{
    (void)state;
    const int64_t now = 1795287600;
    struct clock *clock = clock_fake_new(1000, now * 1000000);
    struct fixture *f = fixture_start_signing(&(struct sim_config){.clock = clock});
    const char *key = fixture_credentials(f);
    assert_int_equal(fixture_call(f, "POST", "/token", assertion_form(f, key, NULL, now)), 200);
    f->token = arena_strdup(f->a, fixture_text(f, "access_token"));
    fixture_must(f, "GET", P "/zones", NULL);
    const char *old = assertion_form(f, key, NULL, now - 4000);
    assert_int_equal(fixture_call(f, "POST", "/token", old), 400);
    const char *elsewhere = assertion_form(f, key, "https://oauth2.googleapis.com/token", now);
    assert_int_equal(fixture_call(f, "POST", "/token", elsewhere), 400);
    char *forged = arena_strdup(f->a, assertion_form(f, key, NULL, now));
    char *dot = strrchr(forged, '.');
    dot[5] = dot[5] == 'A' ? 'B' : 'A';
    assert_int_equal(fixture_call(f, "POST", "/token", forged), 400);
    fixture_stop(f);
    clock_fake_free(clock);
}

UNIT_MAIN(compute_tokens)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token__missing_unknown_or_expired__is_401),
        cmocka_unit_test(metadata__token__is_the_same_until_it_is_old),
        cmocka_unit_test(metadata__paths__answer_what_controllers_ask),
        cmocka_unit_test(token_endpoint__grants__are_checked),
        cmocka_unit_test(token_endpoint__signed_assertion__must_be_of_our_account_and_of_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
