/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.c: where clients of the simulated AWS get keys: STS, the metadata service, the
 * container endpoints.
 *
 * Source: docs/spec/aws.md §2.2, §2.3, §2.4. */
#include "tests/unit/sim/aws/aws_fixture.h"

#include "sim/aws/aws.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <string.h>

#define ROLE    "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fpath%2Fcontroller"
#define SESSION ROLE "&RoleSessionName=me"
#define START_S 1700000000LL

/* --- STS -------------------------------------------------------------------------------------- */

static struct amz_signer keys_of(struct fixture *f)
{
    return (struct amz_signer){
        .access_key = amz_text(f, "Credentials.AccessKeyId"),
        .secret = amz_text(f, "Credentials.SecretAccessKey"),
        .session = amz_text(f, "Credentials.SessionToken"),
    };
}

static void assume_role__its_keys__sign_until_they_expire(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, START_S * 1000000);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("assume_role", &cfg);
    amz_must(f, "sts", "AssumeRole", SESSION "&DurationSeconds=900");
    struct amz_signer keys = keys_of(f);
    assert_string_equal(amz_text(f, "Credentials.Expiration"), "2023-11-14T22:28:20Z");
    assert_string_equal(amz_text(f, "AssumedRoleUser.Arn"),
                        "arn:aws:sts::123456789012:assumed-role/controller/me");
    amz_expect(f, "with the keys", amz_call_as(f, &keys, "sts", "GetCallerIdentity", NULL), 200,
               NULL);
    assert_string_equal(amz_text(f, "Arn"), "arn:aws:sts::123456789012:assumed-role/controller/me");
    assert_string_equal(amz_text(f, "Account"), "123456789012");

    struct amz_signer bare = keys;
    bare.session = NULL;
    amz_expect(f, "without the token", amz_call_as(f, &bare, "elb", "DescribeLoadBalancers", NULL),
               403, "InvalidClientTokenId");
    amz_expect(f, "without the token, EC2", amz_call_as(f, &bare, "ec2", "DescribeVpcs", NULL), 401,
               "AuthFailure");
    struct amz_signer other = keys;
    other.session = "other";
    amz_expect(f, "with another", amz_call_as(f, &other, "sts", "GetCallerIdentity", NULL), 403,
               "InvalidClientTokenId");
    const struct amz_signer static_with_token = {.session = keys.session};
    amz_expect(f, "a static key with a token",
               amz_call_as(f, &static_with_token, "sts", "GetCallerIdentity", NULL), 403,
               "InvalidClientTokenId");

    clock_fake_set_wall_us(clock, (START_S + 899) * 1000000);
    amz_expect(f, "a second before", amz_call_as(f, &keys, "sts", "GetCallerIdentity", NULL), 200,
               NULL);
    clock_fake_set_wall_us(clock, (START_S + 900) * 1000000);
    amz_expect(f, "expired", amz_call_as(f, &keys, "sts", "GetCallerIdentity", NULL), 403,
               "ExpiredToken");
    amz_expect(f, "expired, EC2", amz_call_as(f, &keys, "ec2", "DescribeVpcs", NULL), 400,
               "RequestExpired");
    fixture_stop(f);
    clock_fake_free(clock);
}

static void assume_role__wrong_or_unknown_role__refused(void **state)
{
    static const struct amz_row rows[] = {
        {"no ARN", "sts", "AssumeRole", "RoleArn=trimtab-controller-role&RoleSessionName=me", 400,
         "ValidationError", "is invalid"},
        {"of a user", "sts", "AssumeRole",
         "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Auser%2Fx&RoleSessionName=me", 400,
         "ValidationError", "is invalid"},
        {"without session", "sts", "AssumeRole", ROLE, 400, "ValidationError", "RoleSessionName"},
        {"too short", "sts", "AssumeRole", SESSION "&DurationSeconds=899", 400, "ValidationError",
         "900 to 43200"},
        {"not listed", "sts", "AssumeRole", SESSION, 403, "AccessDenied", "not authorized"},
        {"no JWT", "sts", "AssumeRoleWithWebIdentity", SESSION "&WebIdentityToken=abcd", 400,
         "InvalidIdentityToken", NULL},
    };
    (void)state;
    struct fixture *f = amz_start("roles", NULL);
    amz_settings(f, "{\"roles\":[\"arn:aws:iam::123456789012:role/other\"]}");
    amz_check_refusals(f, rows, ARRAY_LEN(rows));
    amz_must(f, "sts", "AssumeRole",
             "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fother&RoleSessionName=me");
    fixture_stop(f);
}

/* An unsigned call with an identity token of these claims. */
static int with_claims(struct fixture *f, const char *claims)
{
    const char *token =
        arena_printf(f->a, "e30.%s.c2ln", str_base64_encode(f->a, claims, strlen(claims), true));
    return fixture_call(f, "POST", "/",
                        arena_printf(f->a, "%s%s",
                                     "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&" SESSION
                                     "&WebIdentityToken=",
                                     token));
}

static void web_identity__unsigned__by_its_claims(void **state)
{
    (void)state;
    struct fixture *f = amz_start("web_identity", NULL);
    assert_int_equal(
        with_claims(f, "{\"iss\":\"https://cluster\",\"sub\":\"s\",\"exp\":4102444800,\"aud\":["
                       "\"sts.amazonaws.com\"]}"),
        200);
    assert_non_null(strstr(f->text, "<Audience>sts.amazonaws.com</Audience>"));
    assert_non_null(strstr(f->text, "<Provider>https://cluster</Provider>"));
    assert_int_equal(with_claims(f, "{\"iss\":\"https://cluster\",\"sub\":\"s\",\"exp\":1}"), 400);
    assert_non_null(strstr(f->text, "<Code>ExpiredTokenException</Code>"));
    assert_int_equal(with_claims(f, "{\"iss\":\"https://cluster\"}"), 400);
    assert_non_null(strstr(f->text, "<Code>InvalidIdentityToken</Code>"));
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_int_equal(
        json_int(json_member(f->answer, "metadata"), "sts.AssumeRoleWithWebIdentity", 0), 3);
    assert_int_equal(json_object_object_length(json_member(f->answer, "aws")), 0);
    fixture_stop(f);
}

/* --- the metadata service --------------------------------------------------------------------- */

static int ask(struct fixture *f, const char *method, const char *path, const char *header)
{
    const char *headers[] = {header, NULL};
    f->headers = headers;
    int status = fixture_call(f, method, path, NULL);
    f->headers = NULL;
    return status;
}

static void metadata__with_a_token__tells_about_the_instance(void **state)
{
    static const struct {
        const char *path, *want; /* want NULL: 404 */
    } rows[] = {
        {"meta-data/placement/region", "us-east-1"},
        {"meta-data/placement/availability-zone", "us-east-1a"},
        {"meta-data/placement/availability-zone-id", "us-east-1-az1"},
        {"meta-data/instance-type", "m5.large"},
        {"meta-data/local-ipv4", "10.0.0.10"},
        {"meta-data/local-hostname", "ip-10-0-0-10.ec2.internal"},
        {"meta-data/mac", "0e:00:00:00:00:00"},
        {"meta-data/network/interfaces/macs/", "0e:00:00:00:00:00/"},
        {"meta-data/network/interfaces/macs/0e:00:00:00:00:00/vpc-ipv4-cidr-block", "10.0.0.0/16"},
        {"meta-data/network/interfaces/macs/0e:00:00:00:00:00/subnet-ipv4-cidr-block",
         "10.0.0.0/18"},
        {"meta-data/network/interfaces/macs/0e:00:00:00:00:00/owner-id", "123456789012"},
        {"meta-data/network/interfaces/macs/0e:00:00:00:00:00/colour", NULL},
        {"meta-data/network/interfaces/macs/0e:00:00:00:00:01/vpc-id", NULL},
        {"meta-data/iam/security-credentials/", AMZ_ROLE_NAME},
        {"meta-data/iam/security-credentials/other", NULL},
        {"meta-data/services/domain", "amazonaws.com"},
        {"meta-data/colour", NULL},
        {"user-data", NULL},
    };
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    assert_int_equal(ask(f, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60"),
                     200);
    assert_string_equal(fixture_header(f, "X-aws-ec2-metadata-token-ttl-seconds"), "60");
    const char *token = arena_printf(f->a, "X-aws-ec2-metadata-token: %s", f->text);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = ask(f, "GET", arena_printf(f->a, "/latest/%s", rows[i].path), token);
        if (status != (rows[i].want ? 200 : 404) ||
            (rows[i].want && !str_eq(f->text, rows[i].want))) {
            fail_msg("%s: got %d %s, want %s", rows[i].path, status, f->text,
                     str_or(rows[i].want, "404"));
        }
    }
    assert_int_equal(ask(f, "GET", "/latest/dynamic/instance-identity/document", token), 200);
    assert_string_equal(fixture_text(f, "region"), "us-east-1");
    const char *id = fixture_text(f, "instanceId");
    assert_int_equal(ask(f, "GET", "/latest/meta-data/instance-id", token), 200);
    assert_string_equal(f->text, id);
    assert_int_equal(ask(f, "POST", "/latest/meta-data/instance-id", token), 405);
    fixture_stop(f);
}

static void metadata__tokens__are_required_and_expire(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, START_S * 1000000);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start(NULL, &cfg);
    const char *id = "/latest/meta-data/instance-id";
    assert_int_equal(ask(f, "PUT", "/latest/api/token", NULL), 400);
    assert_int_equal(
        ask(f, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21601"), 400);
    assert_int_equal(ask(f, "GET", id, NULL), 401);
    assert_int_equal(ask(f, "GET", id, "X-aws-ec2-metadata-token: guess"), 401);
    assert_int_equal(ask(f, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60"),
                     200);
    const char *token = arena_printf(f->a, "X-aws-ec2-metadata-token: %s", f->text);
    assert_int_equal(ask(f, "GET", id, token), 200);
    clock_fake_advance(clock, 60 * 1000);
    assert_int_equal(ask(f, "GET", id, token), 401);
    amz_settings(f, "{\"imds_tokens\":\"optional\"}");
    assert_int_equal(ask(f, "GET", id, NULL), 200);
    assert_int_equal(ask(f, "GET", id, token), 401);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void metadata__credentials_of_the_role__sign_and_are_renewed(void **state)
{
    const char *path = "/latest/meta-data/iam/security-credentials/" AMZ_ROLE_NAME;
    (void)state;
    struct clock *clock = clock_fake_new(1000000, START_S * 1000000);
    struct sim_config cfg = {.nodes = 1, .clock = clock};
    struct fixture *f = amz_start("role", &cfg);
    amz_settings(f, "{\"imds_tokens\":\"optional\",\"credentials_lifetime_s\":1000}");
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    assert_string_equal(fixture_text(f, "Code"), "Success");
    const struct amz_signer keys = {
        .access_key = arena_strdup(f->a, fixture_text(f, "AccessKeyId")),
        .secret = arena_strdup(f->a, fixture_text(f, "SecretAccessKey")),
        .session = arena_strdup(f->a, fixture_text(f, "Token")),
    };
    amz_expect(f, "signed", amz_call_as(f, &keys, "sts", "GetCallerIdentity", NULL), 200, NULL);
    clock_fake_set_wall_us(clock, (START_S + 700) * 1000000);
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    assert_string_equal(fixture_text(f, "AccessKeyId"), keys.access_key);
    clock_fake_set_wall_us(clock, (START_S + 701) * 1000000);
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    assert_string_not_equal(fixture_text(f, "AccessKeyId"), keys.access_key);
    amz_expect(f, "the old ones", amz_call_as(f, &keys, "sts", "GetCallerIdentity", NULL), 200,
               NULL);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void containers__full_uri__wants_its_authorization(void **state)
{
    (void)state;
    struct fixture *f = amz_start(NULL, NULL);
    assert_int_equal(ask(f, "GET", "/v2/credentials/any-id", NULL), 200);
    const char *key = arena_strdup(f->a, fixture_text(f, "AccessKeyId"));
    assert_int_not_equal(strlen(fixture_text(f, "Expiration")), 0);
    assert_int_equal(ask(f, "GET", "/v1/credentials", NULL), 401);
    assert_string_equal(fixture_text(f, "code"), "InvalidAuthorizationToken");
    assert_int_equal(ask(f, "GET", "/v1/credentials", "Authorization: guess"), 401);
    assert_int_equal(ask(f, "GET", "/v1/credentials", "Authorization: " AMZ_CONTAINER_AUTH), 200);
    assert_string_equal(fixture_text(f, "AccessKeyId"), key);
    fixture_stop(f);
}

UNIT_MAIN(credentials)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assume_role__its_keys__sign_until_they_expire),
        cmocka_unit_test(assume_role__wrong_or_unknown_role__refused),
        cmocka_unit_test(web_identity__unsigned__by_its_claims),
        cmocka_unit_test(metadata__with_a_token__tells_about_the_instance),
        cmocka_unit_test(metadata__tokens__are_required_and_expire),
        cmocka_unit_test(metadata__credentials_of_the_role__sign_and_are_renewed),
        cmocka_unit_test(containers__full_uri__wants_its_authorization),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
