/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: endpoints and tokens of the simulated Azure.
 *
 * Source: docs/spec/azure.md §1.5, §2.2, §2.3, §2.5, §2.7, §16 item 1. */
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

/* Behind OpenSSL's headers, which have parameters named like the fixture's macros. */
#include "common/net/jwt.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define TENANT "/00000000-0000-4000-8000-000000000002"
#define SECRET "client_secret=sim-client-secret&client_id=c&grant_type=client_credentials"
/* {"alg":"RS256","kid":"k"}, a service account's claims for the exchange until 2100, and no real
 * signature; then: for another audience, of 2001, without a subject. */
#define ASSERTION                                                                                  \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ."                                                          \
    "eyJhdWQiOlsiYXBpOi8vQXp1cmVBRFRva2VuRXhjaGFuZ2UiXSwiaXNzIjoiaHR0cHM6Ly9jbHVzdGVyIiwic3ViIjoi" \
    "c3lzdGVtOnNlcnZpY2VhY2NvdW50Omt1YmUtc3lzdGVtOmNjbSIsImV4cCI6NDEwMjQ0NDgwMH0.c2ln"
#define FOR_ANOTHER                                                                                \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ."                                                          \
    "eyJhdWQiOiJodHRwczovL2t1YmVybmV0ZXMiLCJpc3MiOiJodHRwczovL2NsdXN0ZXIiLCJzdWIiOiJzeXN0ZW06c2Vy" \
    "dmljZWFjY291bnQ6a3ViZS1zeXN0ZW06Y2NtIiwiZXhwIjo0MTAyNDQ0ODAwfQ.c2ln"
#define OF_2001                                                                                    \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ."                                                          \
    "eyJhdWQiOlsiYXBpOi8vQXp1cmVBRFRva2VuRXhjaGFuZ2UiXSwiaXNzIjoiaHR0cHM6Ly9jbHVzdGVyIiwic3ViIjoi" \
    "c3lzdGVtOnNlcnZpY2VhY2NvdW50Omt1YmUtc3lzdGVtOmNjbSIsImV4cCI6MTAwMDAwMDAwMH0.c2ln"
#define OF_NOBODY                                                                                  \
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ."                                                          \
    "eyJhdWQiOlsiYXBpOi8vQXp1cmVBRFRva2VuRXhjaGFuZ2UiXSwiaXNzIjoiaHR0cHM6Ly9jbHVzdGVyIiwiZXhwIjo0" \
    "MTAyNDQ0ODAwfQ.c2ln"
#define BEARER                                                                                     \
    "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"

struct row {
    const char *what;
    const char *path, *body; /* body NULL: GET */
    const char *header;      /* beside the usual ones; NULL: only this is sent: none */
    int status;
    const char *text; /* must be in the answer */
};

static const struct row rows[] = {
    {"IMDS", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x", NULL,
     "Metadata: true", 200, "\"token_type\":\"Bearer\""},
    {"IMDS for an identity",
     "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x&client_id=c", NULL,
     "Metadata: true", 200, "expires_on"},
    {"IMDS without header", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x",
     NULL, NULL, 400, "Required metadata header"},
    {"IMDS without resource", "/metadata/identity/oauth2/token?api-version=2018-02-01", NULL,
     "Metadata: true", 400, "invalid_request"},
    {"App Service", "/msi/token?api-version=2019-08-01&resource=x", NULL,
     "X-IDENTITY-HEADER: sim-identity-header", 200, "access_token"},
    {"App Service, wrong header", "/msi/token?api-version=2019-08-01&resource=x", NULL,
     "X-IDENTITY-HEADER: guess", 401, "wrong"},
    {"secret, scope with two slashes", TENANT "/oauth2/v2.0/token",
     SECRET "&scope=http%3A%2F%2Fx%2F%2F.default", NULL, 200, "\"expires_in\":3599"},
    {"secret, scope with one slash", TENANT "/oauth2/v2.0/token",
     SECRET "&scope=http%3A%2F%2Fx%2F.default", NULL, 200, "access_token"},
    {"secret, no scope", TENANT "/oauth2/v2.0/token", SECRET, NULL, 400, "invalid_scope"},
    {"wrong secret", TENANT "/oauth2/v2.0/token",
     "client_secret=guess&client_id=c&grant_type=client_credentials&scope=x%2F.default", NULL, 401,
     "AADSTS7000215"},
    {"no client", TENANT "/oauth2/v2.0/token",
     "client_secret=guess&grant_type=client_credentials&scope=x%2F.default", NULL, 400,
     "invalid_request"},
    {"assertion", TENANT "/oauth2/v2.0/token",
     BEARER "&client_assertion=" ASSERTION
            "&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 200, "access_token"},
    {"assertion that is none", TENANT "/oauth2/v2.0/token",
     BEARER "&client_assertion=abc&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 401, "invalid_client"},
    {"assertion for another audience", TENANT "/oauth2/v2.0/token",
     BEARER "&client_assertion=" FOR_ANOTHER
            "&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 401, "AADSTS700212"},
    {"assertion of yesterday", TENANT "/oauth2/v2.0/token",
     BEARER "&client_assertion=" OF_2001
            "&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 401, "AADSTS700024"},
    {"assertion of nobody", TENANT "/oauth2/v2.0/token",
     BEARER "&client_assertion=" OF_NOBODY
            "&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 401, "AADSTS700211"},
    {"neither secret nor assertion", TENANT "/oauth2/v2.0/token",
     "client_id=c&grant_type=client_credentials&scope=x%2F.default", NULL, 401, "AADSTS7000218"},
    {"another tenant", "/00000000-0000-4000-8000-000000000003/oauth2/v2.0/token",
     SECRET "&scope=x%2F.default", NULL, 400, "AADSTS90002"},
    {"a form that says it is none", TENANT "/oauth2/v2.0/token", SECRET "&scope=x%2F.default",
     "Content-Type: application/json", 400, "AADSTS900144"},
    {"IMDS through a proxy", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x",
     NULL, "Metadata: true\r\nX-Forwarded-For: 192.0.2.1", 400, "forwarded"},
    {"IMDS of an unknown version",
     "/metadata/identity/oauth2/token?api-version=2017-01-01&resource=x", NULL, "Metadata: true",
     400, "api-version"},
    {"IMDS by POST", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x", "",
     "Metadata: true", 405, "not allowed"},
    {"assertion without type", TENANT "/oauth2/v2.0/token",
     "client_assertion=" ASSERTION "&client_id=c&grant_type=client_credentials&scope=x%2F.default",
     NULL, 401, "invalid_client"},
    {"secret, first version", TENANT "/oauth2/token", SECRET "&resource=x", NULL, 200,
     "\"expires_on\":\""},
    {"ADFS", "/adfs/oauth2/token", SECRET "&resource=x", NULL, 200, "\"expires_in\":3599"},
    {"discovery", TENANT "/v2.0/.well-known/openid-configuration", NULL, NULL, 200,
     TENANT "/oauth2/v2.0/token"},
    {"instances", "/common/discovery/instance?api-version=1.1", NULL, NULL, 200,
     "tenant_discovery_endpoint"},
    {"endpoints", "/metadata/endpoints?api-version=2019-05-01", NULL, NULL, 200,
     "[{\"name\":\"AzureCloud\""},
    {"endpoints as the az command asks for them", "/metadata/endpoints?api-version=2022-09-01",
     NULL, NULL, 200, "{\"name\":\"AzureCloud\""},
    {"endpoints as Azure Stack gives them", "/metadata/endpoints?api-version=1.0", NULL, NULL, 200,
     "{\"galleryEndpoint\""},
};

static void identity__each_row__status_and_text(void **state)
{
    (void)state;
    struct fixture *f = arm_start("identity", NULL);
    f->token = NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *headers[] = {r->header ? r->header : "Accept: application/json", NULL};
        f->headers = headers;
        int status = fixture_call(f, r->body ? "POST" : "GET", r->path, r->body);
        if (status != r->status || !strstr(f->text, r->text)) {
            fail_msg("%s: got %d, want %d and \"%s\": %s", r->what, status, r->status, r->text,
                     f->text);
        }
        f->headers = NULL;
    }
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_string_equal(fixture_text(f, "metadata.endpoints"), "3");
    assert_int_equal(json_object_object_length(json_member(f->answer, "azure")), 0);
    fixture_stop(f);
}

static void endpoints__first__leads_to_this_simulator(void **state)
{
    (void)state;
    struct fixture *f = arm_start("endpoints", NULL);
    fixture_must(f, "GET", "/metadata/endpoints?api-version=2019-05-01", NULL);
    assert_string_equal(arm_text(f, "0.resourceManager"), f->url);
    assert_string_equal(arm_text(f, "0.authentication.audiences.0"),
                        arena_printf(f->a, "%s/", f->url));
    assert_string_equal(arm_text(f, "0.name"), "AzureCloud");
    fixture_stop(f);
}

static void token__missing_or_unknown__401_with_challenge(void **state)
{
    (void)state;
    struct fixture *f = arm_start("unauthorized", NULL);
    f->token = NULL;
    arm_expect(f, "none", arm_call(f, "GET", LB, NULL), 401, "AuthenticationFailed");
    assert_non_null(fixture_header(f, "WWW-Authenticate"));
    f->token = "guess";
    arm_expect(f, "unknown", arm_call(f, "GET", LB, NULL), 401, "InvalidAuthenticationToken");
    const char *challenge = fixture_header(f, "WWW-Authenticate");
    assert_true(str_has_prefix(challenge, "Bearer authorization_uri="));
    assert_null(strstr(challenge, "claims="));
    arm_settings(f, "{\"claims\":\"eyJhIjoxfQ==\"}");
    arm_expect(f, "with claims", arm_call(f, "GET", LB, NULL), 401, "InvalidAuthenticationToken");
    assert_non_null(strstr(fixture_header(f, "WWW-Authenticate"), "claims=\"eyJhIjoxfQ==\""));
    fixture_stop(f);
}

static void token__old__401(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.clock = clock};
    struct fixture *f = arm_start("expired", &cfg);
    arm_must(f, "GET", NET "/loadBalancers", NULL);
    clock_fake_set_wall_us(clock, 1700000000000000LL + 90000LL * 1000000);
    arm_expect(f, "old", arm_call(f, "GET", LB, NULL), 401, "ExpiredAuthenticationToken");
    fixture_stop(f);
    clock_fake_free(clock);
}

static void identities__several__one_must_be_named(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *query;
        int status;
        const char *text;
    } cases[] = {
        {"{}", "&client_id=x", 200, "access_token"},
        {"{\"identities\":[\"a\",\"b\"]}", "", 400, "Multiple user assigned identities"},
        {"{\"identities\":[\"a\",\"b\"]}", "&client_id=B", 200, "access_token"},
        {"{\"identities\":[\"a\",\"/subscriptions/s/x\"]}", "&msi_res_id=/subscriptions/s/x", 200,
         "access_token"},
        {"{\"identities\":[\"a\"]}", "&client_id=c", 400, "Identity not found"},
        {"{\"identities\":[\"a\"]}", "", 200, "access_token"},
        {"{\"identities\":[]}", "", 400, "Identity not found"},
    };
    struct fixture *f = arm_start("identities", NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture_must(f, "PUT", "/sim/settings/azure", cases[i].settings);
        int status = fixture_call(
            f, "GET",
            arena_printf(f->a,
                         "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x%s",
                         cases[i].query),
            NULL);
        if (status != cases[i].status || !strstr(f->text, cases[i].text)) {
            fail_msg("%s %s: got %d, want %d and \"%s\": %s", cases[i].settings, cases[i].query,
                     status, cases[i].status, cases[i].text, f->text);
        }
    }
    fixture_stop(f);
}

/* --- certificates ----------------------------------------------------------------------------- */

/* A key with its certificate, and what an assertion says of them. */
struct certificate {
    struct jwt_key *key;
    const char *x5c, *sha1, *sha256;
};

static struct certificate make_certificate(struct arena *a)
{
    struct certificate c = {0};
    EVP_PKEY *pair = EVP_RSA_gen(2048);
    X509 *x = X509_new();
    unsigned char *der = NULL, digest[SHA256_DIGEST_LENGTH], *pkcs8 = NULL;
    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, pair);
    assert_true(X509_sign(x, pair, EVP_sha256()) > 0);
    int n = i2d_X509(x, &der);
    c.x5c = str_base64_encode(a, der, (size_t)n, false);
    c.sha1 = str_base64_encode(a, SHA1(der, (size_t)n, digest), SHA_DIGEST_LENGTH, true);
    c.sha256 = str_base64_encode(a, SHA256(der, (size_t)n, digest), SHA256_DIGEST_LENGTH, true);
    n = i2d_PrivateKey(pair, &pkcs8);
    assert_int_equal(jwt_key_parse(pkcs8, (size_t)n, &c.key, NULL), ERR_OK);
    OPENSSL_free(pkcs8);
    OPENSSL_free(der);
    X509_free(x);
    EVP_PKEY_free(pair);
    return c;
}

static const char *sign(struct arena *a, const struct certificate *c, const char *header,
                        const char *claims)
{
    struct json_object *h = NULL, *o = NULL;
    char *jwt = NULL;
    assert_int_equal(json_parse_arena(a, header, strlen(header), NULL, &h, NULL), ERR_OK);
    assert_int_equal(json_parse_arena(a, claims, strlen(claims), NULL, &o, NULL), ERR_OK);
    assert_int_equal(jwt_sign_header(a, c->key, h, o, &jwt, NULL), ERR_OK);
    return jwt;
}

struct signed_case {
    const char *what;
    const char *alg, *thumb; /* of the header */
    bool foreign_chain;      /* the certificate of another key */
    const char *iss, *sub, *more;
    const char *aud; /* NULL: the endpoint */
    const char *error;
};

#define YEAR_2100 ",\"jti\":\"j\",\"nbf\":1600000000,\"exp\":4102444800"

static const struct signed_case signed_cases[] = {
    {"PS256", "PS256", "x5t#S256", false, "c", "c", YEAR_2100, NULL, NULL},
    {"RS256", "RS256", "x5t", false, "c", "c", YEAR_2100, NULL, NULL},
    {"a date with a fraction", "PS256", "x5t#S256", false, "c", "c",
     ",\"jti\":\"j\",\"exp\":4102444800.25", NULL, NULL},
    {"RS256 with the wide thumbprint", "RS256", "x5t#S256", false, "c", "c", YEAR_2100, NULL,
     "AADSTS700027"},
    {"another's certificate", "PS256", "x5t#S256", true, "c", "c", YEAR_2100, NULL, "AADSTS700027"},
    {"another issuer", "PS256", "x5t#S256", false, "d", "c", YEAR_2100, NULL, "AADSTS700021"},
    {"another subject", "PS256", "x5t#S256", false, "c", "d", YEAR_2100, NULL, "AADSTS700021"},
    {"no jti", "PS256", "x5t#S256", false, "c", "c", ",\"exp\":4102444800", NULL, "AADSTS700021"},
    {"another endpoint", "PS256", "x5t#S256", false, "c", "c", YEAR_2100,
     "https://login.microsoftonline.com/t/oauth2/v2.0/token", "AADSTS700023"},
    {"over", "PS256", "x5t#S256", false, "c", "c", ",\"jti\":\"j\",\"exp\":1600000000", NULL,
     "AADSTS700024"},
    {"not yet", "PS256", "x5t#S256", false, "c", "c",
     ",\"jti\":\"j\",\"nbf\":4102444000,\"exp\":4102444800", NULL, "AADSTS700024"},
};

/* The path of a token endpoint differs from its URL in nothing but the host. */
static void check_signed(struct fixture *f, const struct signed_case *s,
                         const struct certificate *mine, const struct certificate *other)
{
    const char *path = TENANT "/oauth2/v2.0/token";
    const struct certificate *shown = s->foreign_chain ? other : mine;
    const char *thumb = str_eq(s->thumb, "x5t") ? shown->sha1 : shown->sha256;
    const char *jwt = sign(f->a, mine,
                           arena_printf(f->a, "{\"alg\":\"%s\",\"%s\":\"%s\",\"x5c\":[\"%s\"]}",
                                        s->alg, s->thumb, thumb, shown->x5c),
                           arena_printf(f->a, "{\"aud\":\"%s\",\"iss\":\"%s\",\"sub\":\"%s\"%s}",
                                        s->aud ? s->aud : arena_printf(f->a, "%s%s", f->url, path),
                                        s->iss, s->sub, s->more));
    int status = fixture_call(
        f, "POST", path,
        arena_printf(f->a,
                     "%s&client_assertion=%s&client_id=c&grant_type=client_credentials&scope=%s",
                     BEARER, jwt, "x%2F.default"));
    if (status != (s->error ? 401 : 200) ||
        !strstr(f->text, s->error ? s->error : "access_token")) {
        fail_msg("%s: got %d %s", s->what, status, f->text);
    }
}

static void assertion__of_a_certificate__is_verified(void **state)
{
    (void)state;
    struct fixture *f = arm_start("certificate", NULL);
    struct certificate mine = make_certificate(f->a), other = make_certificate(f->a);
    f->headers = NULL;
    f->token = NULL;
    for (size_t i = 0; i < ARRAY_LEN(signed_cases); i++) {
        check_signed(f, &signed_cases[i], &mine, &other);
    }
    jwt_key_free(mine.key);
    jwt_key_free(other.key);
    fixture_stop(f);
}

UNIT_MAIN(identity)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity__each_row__status_and_text),
        cmocka_unit_test(identities__several__one_must_be_named),
        cmocka_unit_test(assertion__of_a_certificate__is_verified),
        cmocka_unit_test(endpoints__first__leads_to_this_simulator),
        cmocka_unit_test(token__missing_or_unknown__401_with_challenge),
        cmocka_unit_test(token__old__401),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
