/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth.c: which credentials are used, what is asked with them, and how long a token is used
 * (docs/spec/azure.md 2).
 *
 * Answers are made up; the state machine of a fetch is stepped by hand on a clock that stands
 * still, and only the test of callers that come at once has a server. */
#include "tests/unit/azure/auth_kit.h"

#include "common/base/file.h"
#include "common/net/url.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <unistd.h>

#define TOKEN(t, more) "{\"access_token\":\"" t "\",\"token_type\":\"Bearer\"" more "}"

#define SECRET_CONFIG "tenantId: tenant-1\naadClientId: client-1\naadClientSecret: s3cret/+ word\n"

/* ---- managed identity (2.2) ------------------------------------------------------------------ */

static void managed__who_is_asked_and_how(void **state)
{
    struct kit *k = *state;
    static const char imds[] =
        "http://imds/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
        "https%3A%2F%2Fmanagement.core.windows.net%2F";
    static const char app[] = "http://app/token?api-version=2019-08-01&resource="
                              "https%3A%2F%2Fmanagement.core.windows.net%2F";
    static const struct {
        const char *identity;
        bool app;
        const char *more;
    } rows[] = {
        {"", false, ""},
        {"11-22", false, "&client_id=11-22"},
        {"/subscriptions/s/x", false, "&msi_res_id=%2Fsubscriptions%2Fs%2Fx"},
        {"/subscriptions/s/x", true, "&mi_res_id=%2Fsubscriptions%2Fs%2Fx"},
        {"", true, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_env env = {
            .identity_endpoint = rows[i].app ? "http://app/token" : NULL,
            .identity_header = rows[i].app ? "app-header" : NULL,
        };
        kit_open(k,
                 arena_printf(k->a,
                              "useManagedIdentityExtension: true\nuserAssignedIdentityID: '%s'\n",
                              rows[i].identity),
                 &env);
        kit_ask(k, AZURE_TENANT_COMPUTE);
        same_text("url", k->req.url,
                  arena_printf(k->a, "%s%s", rows[i].app ? app : imds, rows[i].more));
        same_text("header", k->req.headers[0].name, rows[i].app ? "X-IDENTITY-HEADER" : "Metadata");
        same_text("value", k->req.headers[0].value, rows[i].app ? "app-header" : "true");
    }
}

static void managed__what_passes_is_asked_again(void **state)
{
    struct kit *k = *state;
    static const int passing[] = {404, 410, 429, 500, 503};
    kit_open(k, "useManagedIdentityExtension: true\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    for (size_t i = 0; i < ARRAY_LEN(passing); i++) {
        assert_int_equal(kit_answer(k, passing[i], ""), HTTP_SEND);
        int64_t wait = 1000LL << i;
        assert_int_equal(k->req.not_before_ms, 1000 + (wait < 15000 ? wait : 15000));
    }
    assert_int_equal(kit_answer(k, 503, ""), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_TRANSIENT);
}

static void managed__400__is_final(void **state)
{
    struct kit *k = *state;
    kit_open(k, "useManagedIdentityExtension: true\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    assert_int_equal(
        kit_answer(k, 400,
                   "{\"error\":\"invalid_request\",\"error_description\":\"Identity not found\"}"),
        HTTP_DONE);
    assert_int_equal(k->err.code, ERR_AUTH);
    same_text("message", k->err.message,
              "access token: managed identity: http://imds answered 400 (invalid_request); is the "
              "identity assigned to this machine? see userAssignedIdentityID in the cloud config");
}

static void retry_after__is_obeyed_or_passed_on(void **state)
{
    struct kit *k = *state;
    const struct http_header soon = {"Retry-After", "7"};
    const struct http_header late = {"Retry-After", "600"};
    struct http_response resp = {.status = 429, .body = "", .headers = &soon, .n_headers = 1};
    kit_open(k, "useManagedIdentityExtension: true\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    assert_int_equal(azure_fetch_step(&k->fetch, &k->req, &resp, 0.5, &k->err), HTTP_SEND);
    assert_int_equal(k->req.not_before_ms, 1000 + 7000);
    resp.headers = &late;
    assert_int_equal(azure_fetch_step(&k->fetch, &k->req, &resp, 0.5, &k->err), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_TRANSIENT);
    assert_int_equal(k->err.retry_after_ms, 600000);
}

/* ---- secret (2.3) ---------------------------------------------------------------------------- */

static void secret__the_form(void **state)
{
    struct kit *k = *state;
    kit_open(k, SECRET_CONFIG, NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("method", k->req.method, "POST");
    same_text("url", k->req.url, "https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token");
    same_text("grant", kit_form(k, "grant_type"), "client_credentials");
    same_text("client", kit_form(k, "client_id"), "client-1");
    same_text("secret", kit_form(k, "client_secret"), "s3cret/+ word");
    same_text("scope", kit_form(k, "scope"), "https://management.core.windows.net//.default");
    same_text("claims", kit_form(k, "claims"),
              "{\"access_token\":{\"xms_cc\":{\"values\":[\"CP1\"]}}}");
    assert_int_equal(kit_answer(k, 200, TOKEN("t1", ",\"expires_in\":3599")), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_OK);
    same_text("token", kit_token(k), "t1");
}

static void secret__of_the_environment_wins(void **state)
{
    struct kit *k = *state;
    const struct azure_env env = {.client_secret = "from-env", .client_id = "env-client"};
    kit_open(k, SECRET_CONFIG, &env);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("secret", kit_form(k, "client_secret"), "from-env");
    same_text("client", kit_form(k, "client_id"), "env-client");
}

static void secret__adfs__has_a_url_of_its_own(void **state)
{
    struct kit *k = *state;
    kit_open(k, "tenantId: adfs\naadClientId: c\naadClientSecret: s\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("url", k->req.url, "https://login.microsoftonline.com/adfs/oauth2/token");
    same_text("resource", kit_form(k, "resource"), "https://management.core.windows.net/");
    same_text("scope", kit_form(k, "scope"), NULL);
}

static void authority__refusals(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status;
        const char *body;
        int want;
        const char *says;
    } rows[] = {
        {401,
         "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid secret "
         "s3cret/+ word\"}",
         ERR_AUTH, " answered 401 (invalid_client, AADSTS7000215); check aadClientId"},
        {400, "{\"error\":\"Some Words s3cret/+ word\"}", ERR_AUTH, " answered 400; check"},
        {400, "s3cret/+ word", ERR_AUTH, " answered 400; check"},
        {200, "{}", ERR_AUTH, "holds no token"},
        {200, TOKEN("t", ""), ERR_AUTH, "holds no token"},
        {200, TOKEN("a b", ",\"expires_in\":10"), ERR_AUTH, "holds no token"},
        {200, TOKEN("a\\r\\nX: y", ",\"expires_in\":10"), ERR_AUTH, "holds no token"},
        {200, "nonsense", ERR_AUTH, "holds no token"},
        {302, "", ERR_AUTH, " answered 302"},
    };
    kit_open(k, SECRET_CONFIG, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_ask(k, AZURE_TENANT_COMPUTE);
        assert_int_equal(kit_answer(k, rows[i].status, rows[i].body), HTTP_DONE);
        assert_int_equal(k->err.code, rows[i].want);
        if (strstr(k->err.message, rows[i].says) == NULL ||
            strstr(k->err.message, "s3cret") != NULL) {
            fail_msg("row %zu: %s", i, k->err.message);
        }
        same_text("none", kit_token(k), NULL);
    }
}

/* ---- certificate (2.4) ----------------------------------------------------------------------- */

static void certificate__pem_and_pkcs12__sign_assertions(void **state)
{
    struct kit *k = *state;
    static const struct {
        enum kit_cert kind;
        const char *password;
        const char *tenant;
        const char *alg;
        const char *thumb;
    } rows[] = {
        {KIT_PEM, "", "tenant-1", "PS256", "x5t#S256"},
        {KIT_PEM_LOCKED, "open", "tenant-1", "PS256", "x5t#S256"},
        {KIT_PKCS12, "open", "tenant-1", "PS256", "x5t#S256"},
        {KIT_PKCS12, "open", "adfs", "RS256", "x5t"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *path = kit_write_cert(k, rows[i].kind, rows[i].password);
        kit_open(k,
                 arena_printf(k->a,
                              "tenantId: %s\naadClientId: client-1\naadClientCertPath: '%s'\n"
                              "aadClientCertPassword: '%s'\n",
                              rows[i].tenant, path, rows[i].password),
                 NULL);
        kit_ask(k, AZURE_TENANT_COMPUTE);
        same_text("type", kit_form(k, "client_assertion_type"),
                  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        same_text("secret", kit_form(k, "client_secret"), NULL);
        struct json_object *header;
        struct json_object *claims;
        assert_true(kit_verify(k, kit_form(k, "client_assertion"), &header, &claims));
        same_text("alg", json_str(header, "alg"), rows[i].alg);
        assert_non_null(json_str(header, rows[i].thumb));
        assert_int_equal(json_len(json_member(header, "x5c")), 1);
        same_text("aud", json_str(claims, "aud"), k->req.url);
        same_text("iss", json_str(claims, "iss"), "client-1");
        same_text("sub", json_str(claims, "sub"), "client-1");
        assert_int_equal(strlen(json_str(claims, "jti")), 36);
        assert_int_equal(json_int(claims, "nbf", 0), KIT_WALL_S);
        assert_int_equal(json_int(claims, "exp", 0), KIT_WALL_S + 600);
    }
}

static void certificate__unusable__names_the_file_and_hides_the_password(void **state)
{
    struct kit *k = *state;
    static const struct {
        enum kit_cert kind;
        const char *password;
        const char *says;
    } rows[] = {
        {KIT_PEM_LOCKED, "wrong-password", "is it encrypted, and aadClientCertPassword right?"},
        {KIT_PKCS12, "wrong-password", "PKCS#12 that aadClientCertPassword does not open"},
        {KIT_KEY_ONLY, "", "no certificate that goes with the private key"},
        {KIT_NONSENSE, "", "no private key"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *path = kit_write_cert(k, rows[i].kind, "open");
        const char *text = arena_printf(k->a,
                                        "tenantId: t\naadClientId: c\naadClientCertPath: '%s'\n"
                                        "aadClientCertPassword: '%s'\n",
                                        path, rows[i].password);
        assert_int_equal(kit_try(k, text, NULL), ERR_AUTH);
        if (strstr(k->err.message, rows[i].says) == NULL || strstr(k->err.message, path) == NULL ||
            strstr(k->err.message, "wrong-password") != NULL) {
            fail_msg("row %zu: %s", i, k->err.message);
        }
    }
}

/* ---- workload identity (2.5) ----------------------------------------------------------------- */

static void workload__the_file_is_read_again_after_ten_minutes(void **state)
{
    struct kit *k = *state;
    const char *path = kit_path(k, "token");
    assert_int_equal(file_write_atomic(path, "first\n", 6, 0600, NULL), ERR_OK);
    const struct azure_env env = {.federated_token_file = path};
    kit_open(k, "tenantId: t\naadClientId: c\n", &env);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("first", kit_form(k, "client_assertion"), "first");
    assert_int_equal(file_write_atomic(path, "second\n", 7, 0600, NULL), ERR_OK);
    clock_fake_advance(k->clock, 599000);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("still", kit_form(k, "client_assertion"), "first");
    clock_fake_advance(k->clock, 2000);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("second", kit_form(k, "client_assertion"), "second");
}

/* ---- choice (2.1, 2.6) ----------------------------------------------------------------------- */

static void choice__what_cannot_be_used__is_told_by_its_key(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"tenantId: t\n",
         "no credentials: set useManagedIdentityExtension, useFederatedWorkloadIdentityExtension, "
         "aadClientSecret or aadClientCertPath"},
        {"aadClientId: c\naadClientSecret: s\n", "client secret: tenantId is not set"},
        {"tenantId: t\naadClientSecret: s\n", "client secret: aadClientId is not set"},
        {"useFederatedWorkloadIdentityExtension: true\n",
         "useFederatedWorkloadIdentityExtension needs aadFederatedTokenFile or "
         "AZURE_FEDERATED_TOKEN_FILE"},
        {"tenantId: t\nnetworkResourceTenantID: net\nuseManagedIdentityExtension: true\n",
         "networkResourceTenantID with useManagedIdentityExtension needs auxiliaryTokenProvider: "
         "subscriptionID, resourceGroup, vaultName and secretName"},
        {"tenantId: t\nnetworkResourceTenantID: net\nuseManagedIdentityExtension: true\n"
         "auxiliaryTokenProvider: {vaultName: v, secretName: s, resourceGroup: rg}\n",
         "networkResourceTenantID with useManagedIdentityExtension needs auxiliaryTokenProvider: "
         "subscriptionID, resourceGroup, vaultName and secretName"},
        {"tenantId: t\nnetworkResourceTenantID: net\naadMSIDataPlaneIdentityPath: /x\n",
         "networkResourceTenantID does not go with aadMSIDataPlaneIdentityPath: use a client "
         "secret or certificate"},
        {"aadMSIDataPlaneIdentityPath: /nonexistent/x\n",
         "aadMSIDataPlaneIdentityPath /nonexistent/x: stat /nonexistent/x: no such file or "
         "directory"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_try(k, rows[i].text, NULL), ERR_AUTH);
        same_text(rows[i].text, k->err.message, rows[i].want);
    }
}

static void choice__first_match_wins(void **state)
{
    struct kit *k = *state;
    kit_open(k, SECRET_CONFIG "useManagedIdentityExtension: true\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("managed before secret", k->req.method, "GET");
    kit_open(k, SECRET_CONFIG "aadClientCertPath: /none\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("secret before certificate", kit_form(k, "client_secret"), "s3cret/+ word");
}

static void tenants__each_has_its_token(void **state)
{
    struct kit *k = *state;
    kit_open(k, SECRET_CONFIG "networkResourceTenantID: net\n", NULL);
    assert_true(azure_auth_is_multi_tenant(k->auth));
    kit_ask(k, AZURE_TENANT_NETWORK);
    same_text("url", k->req.url, "https://login.microsoftonline.com/net/oauth2/v2.0/token");
    assert_int_equal(kit_answer(k, 200, TOKEN("n", ",\"expires_in\":\"3599\"")), HTTP_DONE);
    same_text("compute", kit_token(k), NULL);
    same_text("network", azure_auth_token(k->auth, AZURE_TENANT_NETWORK, k->a), "n");
    kit_open(k, SECRET_CONFIG "networkResourceTenantID: TENANT-1\n", NULL);
    assert_false(azure_auth_is_multi_tenant(k->auth));
}

/* ---- the cache (2.7) ------------------------------------------------------------------------- */

static void cache__a_token_lasts_as_long_as_it_says(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *body;
        int64_t lasts_s;
    } rows[] = {
        {TOKEN("t", ",\"expires_in\":3600"), 3600},
        {TOKEN("t", ",\"expires_in\":\"3600\""), 3600},
        {TOKEN("t", ",\"expires_on\":\"1700007200\""), 7200},
        {TOKEN("t", ",\"expires_on\":1600000000"), 60}, /* our clock is wrong: made just now */
        {TOKEN("t", ",\"expires_in\":99999999999"), 48 * 3600},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_reset_clock(k);
        kit_open(k, SECRET_CONFIG, NULL);
        kit_ask(k, AZURE_TENANT_COMPUTE);
        assert_int_equal(kit_answer(k, 200, rows[i].body), HTTP_DONE);
        clock_fake_advance(k->clock, rows[i].lasts_s * 1000 - 1);
        same_text("used", kit_token(k), "t");
        clock_fake_advance(k->clock, 1);
        same_text("over", kit_token(k), NULL);
    }
}

static void challenge__its_claims_go_with_the_next_request(void **state)
{
    struct kit *k = *state;
    kit_open(k, SECRET_CONFIG, NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    assert_int_equal(kit_answer(k, 200, TOKEN("t1", ",\"expires_in\":3600")), HTTP_DONE);
    azure_auth_drop(k->auth, AZURE_TENANT_COMPUTE, "another", NULL);
    same_text("another one's refusal", kit_token(k), "t1");
    azure_auth_drop(k->auth, AZURE_TENANT_COMPUTE, "t1",
                    "eyJhY2Nlc3NfdG9rZW4iOnsibmJmIjp7ImVzc2VudGlhbCI6dHJ1ZX19fQ");
    same_text("dropped", kit_token(k), NULL);
    azure_auth_drop(k->auth, AZURE_TENANT_COMPUTE, "t1", NULL); /* a second refusal of the same */
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text(
        "claims", kit_form(k, "claims"),
        "{\"access_token\":{\"nbf\":{\"essential\":true},\"xms_cc\":{\"values\":[\"CP1\"]}}}");
    assert_int_equal(kit_answer(k, 200, TOKEN("t2", ",\"expires_in\":3600")), HTTP_DONE);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("once", kit_form(k, "claims"),
              "{\"access_token\":{\"xms_cc\":{\"values\":[\"CP1\"]}}}");
    azure_auth_drop(k->auth, AZURE_TENANT_COMPUTE, "t2", "!no base64!");
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("nonsense", kit_form(k, "claims"),
              "{\"access_token\":{\"xms_cc\":{\"values\":[\"CP1\"]}}}");
}

static int ready(struct kit *k)
{
    err_clear(&k->err);
    return azure_auth_ready(k->auth, AZURE_TENANT_COMPUTE, k->http, NULL, &k->err);
}

static void refresh__early_and_seldom(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *config;
        const char *more;
        int64_t refresh_s;
    } rows[] = {
        {SECRET_CONFIG, ",\"expires_in\":3600", 3300},
        {SECRET_CONFIG, ",\"expires_in\":3600,\"refresh_in\":1000", 1000},
        {SECRET_CONFIG, ",\"expires_in\":86400", 86100},
        {"useManagedIdentityExtension: true\n", ",\"expires_in\":86400", 43200},
        {"useManagedIdentityExtension: true\n", ",\"expires_in\":3600", 3300},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_reset_clock(k);
        kit_serve(k, 200, arena_printf(k->a, TOKEN("first", "%s"), rows[i].more));
        kit_open(k, rows[i].config, NULL);
        int before = test_server_requests(k->server);
        assert_int_equal(ready(k), ERR_OK);
        assert_int_equal(test_server_requests(k->server), before + 1);
        clock_fake_advance(k->clock, rows[i].refresh_s * 1000 - 1);
        kit_serve(k, 400, "{}");
        assert_int_equal(ready(k), ERR_OK);
        assert_int_equal(test_server_requests(k->server), before + 1);
        clock_fake_advance(k->clock, 1);
        assert_int_equal(ready(k), ERR_OK); /* fails, and the old one is used on */
        assert_int_equal(test_server_requests(k->server), before + 2);
        assert_int_equal(ready(k), ERR_OK); /* not asked again at once */
        assert_int_equal(test_server_requests(k->server), before + 2);
        same_text("old", kit_token(k), "first");
        clock_fake_advance(k->clock, 30000);
        kit_serve(k, 200, TOKEN("second", ",\"expires_in\":3600"));
        assert_int_equal(ready(k), ERR_OK);
        same_text("new", kit_token(k), "second");
    }
}

static void *ready_thread(void *arg)
{
    struct kit *k = arg;
    const struct http_config cfg = {.observe = http_ignore_sent, .user_agent = "test"};
    struct http *http = http_new(&cfg);
    int rc = azure_auth_ready(k->auth, AZURE_TENANT_COMPUTE, http, NULL, NULL);
    http_free(http);
    return rc == ERR_OK ? k : NULL;
}

static void single_flight__who_comes_at_once_waits_for_one_request(void **state)
{
    struct kit *k = *state;
    pthread_t threads[8];
    kit_serve(k, 200, TOKEN("t", ",\"expires_in\":3600"));
    kit_open(k, SECRET_CONFIG, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ready_thread, k), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *ok = NULL;
        assert_int_equal(pthread_join(threads[i], &ok), 0);
        assert_non_null(ok);
    }
    assert_int_equal(test_server_requests(k->server), 1);
}

static void turn__next_fetch_has_begun__waiter_still_gets_the_failure(void **state)
{
    struct kit *k = *state;
    struct token_wait waits[3] = {{0}};
    struct err err = ERR_INIT;
    kit_open(k, SECRET_CONFIG, NULL);
    assert_int_equal(azure_auth_turn(k->auth, AZURE_TENANT_COMPUTE, &waits[0], &err),
                     TOKEN_TURN_MINE);
    assert_int_equal(azure_auth_turn(k->auth, AZURE_TENANT_COMPUTE, &waits[1], &err),
                     TOKEN_TURN_WAIT);
    (void)err_set(&err, ERR_AUTH, "refused");
    azure_auth_ended(k->auth, AZURE_TENANT_COMPUTE, &err);
    assert_int_equal(azure_auth_turn(k->auth, AZURE_TENANT_COMPUTE, &waits[2], &err),
                     TOKEN_TURN_MINE);
    assert_int_equal(azure_auth_turn(k->auth, AZURE_TENANT_COMPUTE, &waits[1], &err),
                     TOKEN_TURN_FAILED);
}

UNIT_MAIN(auth)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(managed__who_is_asked_and_how),
        KIT_TEST(managed__what_passes_is_asked_again),
        KIT_TEST(managed__400__is_final),
        KIT_TEST(retry_after__is_obeyed_or_passed_on),
        KIT_TEST(secret__the_form),
        KIT_TEST(secret__of_the_environment_wins),
        KIT_TEST(secret__adfs__has_a_url_of_its_own),
        KIT_TEST(authority__refusals),
        KIT_TEST(certificate__pem_and_pkcs12__sign_assertions),
        KIT_TEST(certificate__unusable__names_the_file_and_hides_the_password),
        KIT_TEST(workload__the_file_is_read_again_after_ten_minutes),
        KIT_TEST(choice__what_cannot_be_used__is_told_by_its_key),
        KIT_TEST(choice__first_match_wins),
        KIT_TEST(tenants__each_has_its_token),
        KIT_TEST(cache__a_token_lasts_as_long_as_it_says),
        KIT_TEST(challenge__its_claims_go_with_the_next_request),
        KIT_TEST(refresh__early_and_seldom),
        KIT_TEST(turn__next_fetch_has_begun__waiter_still_gets_the_failure),
        KIT_TEST(single_flight__who_comes_at_once_waits_for_one_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
