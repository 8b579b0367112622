/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: endpoints and tokens of the simulated Azure.
 *
 * Source: docs/spec/azure.md §1.5, §2.2, §2.3, §2.5, §2.7, §16 item 1. */
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define TENANT    "/00000000-0000-4000-8000-000000000002"
#define SECRET    "client_secret=sim-client-secret&client_id=c&grant_type=client_credentials"
#define ASSERTION "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjIn0.c2ln"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity__each_row__status_and_text),
        cmocka_unit_test(endpoints__first__leads_to_this_simulator),
        cmocka_unit_test(token__missing_or_unknown__401_with_challenge),
        cmocka_unit_test(token__old__401),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
