/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth.c: where keys come from, and what is asked to get them (docs/spec/aws.md 2.1 to 2.4).
 *
 * Answers are made up; fetches are stepped by hand on a clock that stands still. */
#include "tests/support/unit.h"
#include "tests/unit/aws/auth_kit.h"

#include "providers/aws/auth/aws_auth_internal.h"
#include "tests/support/clock_fake.h"

#define ENV_KEYS  "AWS_ACCESS_KEY_ID=AKIDENV\nAWS_SECRET_ACCESS_KEY=hush-env\n"
#define ROLE      "arn:aws:iam::123456789012:role/r"
#define ROLE_LINE "RoleARN = " ROLE "\n"
#define NO_IMDS   "AWS_EC2_METADATA_DISABLED=true\n"

/* ---- environment (row 1) --------------------------------------------------------------------- */

/* Where the chain says that keys come from, as messages name it. */
static const char *origin_of(struct kit *k)
{
    struct aws_chain chain;
    assert_int_equal(aws_chain_resolve(k->a, aws_auth_config_of(k->auth), &chain, NULL), ERR_OK);
    return chain.origin;
}

static void environment__needs_no_request(void **state)
{
    struct kit *k = *state;
    static const char *const rows[] = {
        ENV_KEYS,
        "AWS_ACCESS_KEY=AKIDENV\nAWS_SECRET_KEY=hush-env\n",
        ENV_KEYS "AWS_WEB_IDENTITY_TOKEN_FILE=/nonexistent\n",
        ENV_KEYS "AWS_PROFILE=x\nAWS_CONFIG_FILE=/nonexistent\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_open(k, rows[i], NULL);
        assert_int_equal(kit_ask(k), HTTP_DONE);
        same_text(rows[i], kit_key(k), "AKIDENV");
        same_text("origin", origin_of(k), "environment");
    }
}

static void environment__session_token(void **state)
{
    struct kit *k = *state;
    struct sigv4_keys keys;
    kit_open(k, ENV_KEYS "AWS_SESSION_TOKEN=hush-token", NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    assert_true(aws_auth_keys(k->auth, k->a, &keys));
    same_text("token", keys.session_token, "hush-token");
    same_text("secret", keys.secret_key, "hush-env");
}

static void environment__malformed_keys__are_refused(void **state)
{
    struct kit *k = *state;
    static const char *const rows[] = {
        "AWS_ACCESS_KEY_ID=A B\nAWS_SECRET_ACCESS_KEY=hush",
        "AWS_ACCESS_KEY_ID=A/B\nAWS_SECRET_ACCESS_KEY=hush",
        ENV_KEYS "AWS_SESSION_TOKEN=hush\rX: y",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_open(k, rows[i], NULL);
        assert_int_equal(kit_ask(k), HTTP_DONE);
        kit_failed(k, ERR_AUTH, "credentials: environment: its access key, secret key or token");
        same_text("none", kit_key(k), NULL);
    }
}

/* ---- web identity (row 2) -------------------------------------------------------------------- */

static void web_identity__the_request(void **state)
{
    struct kit *k = *state;
    const char *file = kit_file(k, "token", "hush.jwt.1\n");
    const char *env =
        arena_printf(k->a, "AWS_WEB_IDENTITY_TOKEN_FILE=%s\nAWS_ROLE_ARN=" ROLE, file);
    kit_open(k, env, NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("method", k->req.method, "POST");
    same_text("url", k->req.url, "https://sts.us-east-1.amazonaws.com/");
    same_text("action", kit_form(k, "Action"), "AssumeRoleWithWebIdentity");
    same_text("version", kit_form(k, "Version"), "2011-06-15");
    same_text("role", kit_form(k, "RoleArn"), ROLE);
    same_text("session", kit_form(k, "RoleSessionName"), "trimtab-1767323045000000000");
    same_text("token", kit_form(k, "WebIdentityToken"), "hush.jwt.1");
    same_text("duration", kit_form(k, "DurationSeconds"), NULL);
    same_text("signed", kit_header(k, "Authorization"), NULL);
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRoleWithWebIdentity", "AKWEB", 3600)),
                     HTTP_DONE);
    assert_int_equal(k->err.code, ERR_OK);
    same_text("key", kit_key(k), "AKWEB");
    /* The file is read anew each time: it rotates. */
    (void)kit_file(k, "token", "hush.jwt.2");
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("token", kit_form(k, "WebIdentityToken"), "hush.jwt.2");
}

static void web_identity__session_name(void **state)
{
    struct kit *k = *state;
    kit_open(k,
             arena_printf(k->a,
                          "AWS_WEB_IDENTITY_TOKEN_FILE=%s\nAWS_ROLE_ARN=" ROLE
                          "\nAWS_ROLE_SESSION_NAME=me",
                          kit_file(k, "token", "hush")),
             NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("session", kit_form(k, "RoleSessionName"), "me");
}

static void web_identity__what_is_missing(void **state)
{
    struct kit *k = *state;
    assert_int_equal(kit_try(k, "AWS_WEB_IDENTITY_TOKEN_FILE=/x", NULL), ERR_AUTH);
    kit_failed(k, ERR_AUTH, "credentials: web identity: AWS_ROLE_ARN is not set");
    kit_open(k, "AWS_WEB_IDENTITY_TOKEN_FILE=/nonexistent\nAWS_ROLE_ARN=" ROLE, NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    kit_failed(k, ERR_AUTH, "credentials: web identity: token file /nonexistent: ");
    const char *blank = kit_file(k, "blank", " \n");
    kit_open(k, arena_printf(k->a, "AWS_WEB_IDENTITY_TOKEN_FILE=%s\nAWS_ROLE_ARN=" ROLE, blank),
             NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    kit_failed(k, ERR_AUTH, "there is no token in it");
}

#define ERROR_OF(code)                                                                             \
    "<ErrorResponse><Error><Code>" code "</Code><Message>hush</Message></Error></ErrorResponse>"

static void sts__refusals(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status;
        const char *body;
        int code;
        const char *says;
    } rows[] = {
        {403, ERROR_OF("AccessDenied"), ERR_AUTH,
         "sts.us-east-1.amazonaws.com answered 403 (AccessDenied); check the role's trust policy"},
        {400, ERROR_OF("some hush words"), ERR_AUTH, " answered 400; check"},
        {400, "hush", ERR_AUTH, " answered 400; check"},
        {302, "", ERR_AUTH, " answered 302"},
        {200, "<AssumeRoleWithWebIdentityResponse/>", ERR_AUTH, "gave no usable keys"},
        {200, "<!DOCTYPE a><a/>", ERR_AUTH, "gave no XML"},
    };
    kit_open(k,
             arena_printf(k->a, "AWS_WEB_IDENTITY_TOKEN_FILE=%s\nAWS_ROLE_ARN=" ROLE,
                          kit_file(k, "token", "hush")),
             NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_ask(k), HTTP_SEND);
        assert_int_equal(kit_answer(k, rows[i].status, rows[i].body), HTTP_DONE);
        kit_failed(k, rows[i].code, rows[i].says);
        assert_int_equal(k->err.http_status, rows[i].status);
        same_text("none", kit_key(k), NULL);
    }
}

static void sts__what_passes__is_asked_three_times(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status; /* 0: no answer */
        const char *body;
    } rows[] = {
        {500, ""},
        {503, "<html>"},
        {429, ""},
        {400, ERROR_OF("Throttling")},
        {400, ERROR_OF("IDPCommunicationError")},
        {400, ERROR_OF("InvalidIdentityToken")},
        {200, "<AssumeRoleWithWebIdentityResponse><AssumeRole"},
        {0, ""},
    };
    kit_open(k,
             arena_printf(k->a, "AWS_WEB_IDENTITY_TOKEN_FILE=%s\nAWS_ROLE_ARN=" ROLE,
                          kit_file(k, "token", "hush")),
             NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_ask(k), HTTP_SEND);
        for (int n = 1; n <= 3; n++) {
            enum http_next next =
                rows[i].status == 0 ? kit_silence(k) : kit_answer(k, rows[i].status, rows[i].body);
            assert_int_equal(next, n < 3 ? HTTP_SEND : HTTP_DONE);
            assert_int_equal(k->req.not_before_ms, n == 1 ? 2000 : 3000);
        }
        kit_failed(k, ERR_TRANSIENT, "credentials: web identity: ");
    }
}

static void sts__keys_that_no_request_can_carry(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *key;
        int64_t lasts_s;
        const char *says;
    } rows[] = {
        {"AK", 0, "gave keys that have expired already"},
        {"AK", -60, "gave keys that have expired already"},
        {"A K", 900, "gave no usable keys"},
        {"A&#10;K", 900, "gave no usable keys"},
        {"", 900, "gave no usable keys"},
    };
    kit_open(k, ENV_KEYS, ROLE_LINE);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_ask(k), HTTP_SEND);
        assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", rows[i].key, rows[i].lasts_s)),
                         HTTP_DONE);
        kit_failed(k, ERR_AUTH, rows[i].says);
    }
}

/* ---- RoleARN (2.4) --------------------------------------------------------------------------- */

static void role_arn__the_request(void **state)
{
    struct kit *k = *state;
    kit_open(k, ENV_KEYS, ROLE_LINE "SourceARN = arn:aws:eks:us-east-1:1:cluster/c\n");
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("action", kit_form(k, "Action"), "AssumeRole");
    same_text("role", kit_form(k, "RoleArn"), ROLE);
    same_text("duration", kit_form(k, "DurationSeconds"), "900");
    same_text("account", kit_header(k, "x-amz-source-account"), "123456789012");
    same_text("arn", kit_header(k, "x-amz-source-arn"), "arn:aws:eks:us-east-1:1:cluster/c");
    const char *authorization = kit_header(k, "Authorization");
    assert_true(str_has_prefix(authorization, "AWS4-HMAC-SHA256 Credential=AKIDENV/20260102/"
                                              "us-east-1/sts/aws4_request, SignedHeaders="
                                              "content-type;host;x-amz-date;x-amz-source-account;"
                                              "x-amz-source-arn, Signature="));
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", "AKROLE", 900)), HTTP_DONE);
    same_text("key", kit_key(k), "AKROLE");
    same_text("origin", origin_of(k), "environment, RoleARN of the cloud config");
}

static void role_arn__without_source_arn__and_malformed(void **state)
{
    struct kit *k = *state;
    kit_open(k, ENV_KEYS, ROLE_LINE);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("account", kit_header(k, "x-amz-source-account"), "123456789012");
    same_text("arn", kit_header(k, "x-amz-source-arn"), NULL);
    assert_int_equal(kit_try(k, ENV_KEYS, "RoleARN = role/x\n"), ERR_INVALID);
    kit_failed(k, ERR_INVALID, "RoleARN: \"role/x\" is no ARN");
}

static void sts__a_clock_that_is_off__is_corrected_once(void **state)
{
    struct kit *k = *state;
    static const char date[] = "Fri, 02 Jan 2026 05:04:05 GMT"; /* two hours ahead */
    kit_open(k, ENV_KEYS, ROLE_LINE);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("ours", kit_header(k, "X-Amz-Date"), "20260102T030405Z");
    assert_int_equal(kit_answer_at(k, 403, ERROR_OF("SignatureDoesNotMatch"), date), HTTP_SEND);
    same_text("theirs", kit_header(k, "X-Amz-Date"), "20260102T050405Z");
    assert_int_equal(kit_answer_at(k, 403, ERROR_OF("SignatureDoesNotMatch"), date), HTTP_DONE);
    kit_failed(k, ERR_AUTH, "(SignatureDoesNotMatch)");
    /* Four minutes are not a reason. */
    assert_int_equal(kit_ask(k), HTTP_SEND);
    assert_int_equal(
        kit_answer_at(k, 403, ERROR_OF("SignatureDoesNotMatch"), "Fri, 02 Jan 2026 03:08:05 GMT"),
        HTTP_DONE);
}

/* Keys last as long as the server's clock says, whatever ours does. */
static void sts__life_is_counted_by_the_servers_clock(void **state)
{
    struct kit *k = *state;
    kit_open(k, ENV_KEYS, ROLE_LINE);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    const char *answer = kit_sts(k, "AssumeRole", "AKROLE", 7200 + 900);
    assert_int_equal(kit_answer_at(k, 200, answer, "Fri, 02 Jan 2026 05:04:05 GMT"), HTTP_DONE);
    clock_fake_advance(k->clock, 899 * 1000);
    same_text("still", kit_key(k), "AKROLE");
    clock_fake_advance(k->clock, 1000);
    same_text("over", kit_key(k), NULL);
}

/* ---- profiles (rows 3 to 8) ------------------------------------------------------------------ */

static const char *profile_env(struct kit *k, const char *config, const char *more)
{
    return arena_printf(k->a, "AWS_CONFIG_FILE=%s\n%s", kit_file(k, "config", config), more);
}

#define P_KEYS "aws_access_key_id=AKPROFILE\naws_secret_access_key=hush-profile\n"

static void profile__static_keys(void **state)
{
    struct kit *k = *state;
    kit_open(k, profile_env(k, "[profile a]\n" P_KEYS, "AWS_PROFILE=a\n"), NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    same_text("key", kit_key(k), "AKPROFILE");
    same_text("origin", origin_of(k), "profile \"a\"");
    /* Refused ones may have been replaced in the file: it is read again. */
    assert_true(aws_auth_drop(k->auth, "AKPROFILE"));
    (void)kit_file(k, "config",
                   "[profile a]\naws_access_key_id=AKNEW\naws_secret_access_key=hush\n");
    assert_int_equal(kit_ask(k), HTTP_DONE);
    same_text("key", kit_key(k), "AKNEW");
}

static void profile__a_row_of_sources(void **state)
{
    struct kit *k = *state;
    static const char config[] =
        "[default]\nsource_profile=middle\nrole_arn=arn:1\nrole_session_name=s1\n"
        "[profile middle]\nsource_profile=base\nrole_arn=arn:2\nexternal_id=x y\n"
        "duration_seconds=3600\n"
        "[profile base]\n" P_KEYS;
    kit_open(k, profile_env(k, config, ""), ROLE_LINE);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("first role", kit_form(k, "RoleArn"), "arn:2");
    same_text("external id", kit_form(k, "ExternalId"), "x y");
    same_text("duration", kit_form(k, "DurationSeconds"), "3600");
    assert_non_null(strstr(kit_header(k, "Authorization"), "Credential=AKPROFILE/"));
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", "AK2", 3600)), HTTP_SEND);
    same_text("second role", kit_form(k, "RoleArn"), "arn:1");
    same_text("session", kit_form(k, "RoleSessionName"), "s1");
    same_text("duration", kit_form(k, "DurationSeconds"), "900");
    same_text("source account", kit_header(k, "x-amz-source-account"), NULL);
    assert_non_null(strstr(kit_header(k, "Authorization"), "Credential=AK2/"));
    same_text("token", kit_header(k, "X-Amz-Security-Token"), "hush+/=AK2");
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", "AK1", 3600)), HTTP_SEND);
    same_text("third role", kit_form(k, "RoleArn"), ROLE);
    assert_non_null(strstr(kit_header(k, "Authorization"), "Credential=AK1/"));
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRole", "AK0", 900)), HTTP_DONE);
    same_text("key", kit_key(k), "AK0");
}

static void profile__that_is_its_own_source(void **state)
{
    struct kit *k = *state;
    kit_open(k, profile_env(k, "[default]\nsource_profile=default\nrole_arn=arn:1\n" P_KEYS, ""),
             NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("role", kit_form(k, "RoleArn"), "arn:1");
    assert_non_null(strstr(kit_header(k, "Authorization"), "Credential=AKPROFILE/"));
}

static void profile__credential_source(void **state)
{
    struct kit *k = *state;
    static const char head[] = "[default]\nrole_arn=arn:1\ncredential_source=";
    const char *of_instance = arena_printf(k->a, "%sEc2InstanceMetadata\n", head);
    const char *of_container = arena_printf(k->a, "%sEcsContainer\n", head);
    kit_open(k, profile_env(k, of_instance, ""), NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("imds", k->req.url, "http://imds/latest/api/token");
    kit_open(k, profile_env(k, of_container, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/c\n"), NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("container", k->req.url, "http://169.254.170.2/c");
}

static void profile__web_identity(void **state)
{
    struct kit *k = *state;
    const char *token = kit_file(k, "token", "hush");
    const char *config = arena_printf(
        k->a, "[default]\nweb_identity_token_file=%s\nrole_arn=arn:1\nrole_session_name=s\n",
        token);
    kit_open(k, profile_env(k, config, ""), NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("action", kit_form(k, "Action"), "AssumeRoleWithWebIdentity");
    same_text("role", kit_form(k, "RoleArn"), "arn:1");
    same_text("session", kit_form(k, "RoleSessionName"), "s");
    /* Its role is not assumed once more. */
    assert_int_equal(kit_answer(k, 200, kit_sts(k, "AssumeRoleWithWebIdentity", "AKW", 3600)),
                     HTTP_DONE);
    same_text("key", kit_key(k), "AKW");
}

static void profile__what_cannot_work__is_told_at_the_start(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *config;
        const char *says;
    } rows[] = {
        {"[default]\nsso_session=x\n", "profile \"default\": SSO needs a person"},
        {"[default]\nsso_start_url=https://x\n", "profile \"default\": SSO needs a person"},
        {"[default]\nsource_profile=b\n", "source_profile and credential_source need role_arn"},
        {"[default]\nsource_profile=b\nrole_arn=r\n", "its source_profile \"b\" does not exist"},
        {"[default]\nsource_profile=b\nrole_arn=r\n[profile "
         "b]\nsource_profile=default\nrole_arn=r\n",
         "its row of source_profile is too long, or a circle"},
        {"[default]\ncredential_source=Elsewhere\nrole_arn=r\n",
         "credential_source: want Environment"},
        {"[default]\ncredential_source=Environment\nrole_arn=r\n", "AWS_ACCESS_KEY_ID and"},
        {"[default]\ncredential_source=EcsContainer\nrole_arn=r\n", "AWS_CONTAINER_CREDENTIALS_"},
        {"[default]\nweb_identity_token_file=/x\n", "profile \"default\": role_arn is not set"},
        {"[default]\nrole_arn=r\nmfa_serial=1\n" P_KEYS, "mfa_serial needs a person"},
        {"[default]\nrole_arn=r\nduration_seconds=x\n" P_KEYS, "duration_seconds is no number"},
        {"[default]\n", "there are none: AWS_EC2_METADATA_DISABLED is true"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_try(k, profile_env(k, rows[i].config, NO_IMDS), NULL), ERR_AUTH);
        kit_failed(k, ERR_AUTH, rows[i].says);
    }
}

/* ---- credential_process (row 8) -------------------------------------------------------------- */

static void process__its_keys(void **state)
{
    struct kit *k = *state;
    const char *json = kit_file(k, "json", kit_json(k, "AKPROC", "SessionToken", 900));
    kit_open(
        k,
        profile_env(k, arena_printf(k->a, "[default]\ncredential_process = cat '%s'\n", json), ""),
        NULL);
    assert_int_equal(kit_ask(k), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_OK);
    same_text("key", kit_key(k), "AKPROC");
}

static void process__that_fails(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *command;
        const char *says;
    } rows[] = {
        {"echo hush >&2; exit 3", "credential_process ended with status 3"},
        {"echo hush", "credential_process printed no JSON of Version 1"},
        {"echo '{\"Version\":2,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\"}'",
         "credential_process printed no JSON of Version 1"},
        {"echo '{\"Version\":1,\"AccessKeyId\":\"a\"}'", "credential_process gave no usable keys"},
        {"echo '{\"Version\":1,\"AccessKeyId\":1,\"SecretAccessKey\":[]}'",
         "credential_process gave no usable keys"},
        {"echo "
         "'{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\",\"Expiration\":7}'",
         "credential_process gave keys without a readable Expiration"},
        {"echo '{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\","
         "\"Expiration\":\"soon\"}'",
         "credential_process gave keys without a readable Expiration"},
        {"echo '{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\","
         "\"Expiration\":\"2020-01-01T00:00:00Z\"}'",
         "credential_process gave keys that have expired already"},
        {"head -c 200000 /dev/zero | tr '\\\\0' h", "printed more than"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_open(
            k,
            profile_env(
                k, arena_printf(k->a, "[default]\ncredential_process = %s\n", rows[i].command), ""),
            NULL);
        assert_int_equal(kit_ask(k), HTTP_DONE);
        kit_failed(k, ERR_AUTH, rows[i].says);
    }
}

/* ---- containers (rows 9, 10) ----------------------------------------------------------------- */

static void container__the_request(void **state)
{
    struct kit *k = *state;
    const char *token = kit_file(k, "token", "hush-auth");
    kit_open(
        k,
        arena_printf(k->a,
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials\n"
                     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/other\n"
                     "AWS_CONTAINER_AUTHORIZATION_TOKEN=hush-other\n"
                     "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=%s\n",
                     token),
        NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("url", k->req.url, "http://169.254.170.23/v1/credentials");
    same_text("authorization", kit_header(k, "Authorization"), "hush-auth");
    assert_true(k->req.direct);
    assert_int_equal(kit_answer(k, 200, kit_json(k, "AKPOD", "Token", 3600)), HTTP_DONE);
    same_text("key", kit_key(k), "AKPOD");
    (void)kit_file(k, "token", "hush\r\nX: y");
    assert_int_equal(kit_ask(k), HTTP_DONE);
    kit_failed(k, ERR_AUTH, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE holds a line end");
}

static void container__hosts(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *url;
        bool allowed;
    } rows[] = {
        {"http://localhost:80/x", true},
        {"http://127.1.2.3/x", true},
        {"http://[::1]:8080/", true},
        {"http://169.254.170.2/", true},
        {"http://169.254.170.23/", true},
        {"http://[fd00:ec2::23]/", true},
        {"https://anywhere.example/", true},
        {"http://169.254.169.254/", false},
        {"http://10.0.0.1/", false},
        {"http://anywhere.example/", false},
        {"http://localhost.evil/", false},
        {"http://127.0.0.1@evil/", false},
        {"ftp://localhost/", false},
        {"http://2130706433/", false},
        {"nonsense", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *env =
            arena_printf(k->a, "AWS_CONTAINER_CREDENTIALS_FULL_URI=%s\n", rows[i].url);
        int rc = kit_try(k, env, NULL);
        if (rc != (rows[i].allowed ? ERR_OK : ERR_AUTH)) {
            fail_msg("%s: %d %s", rows[i].url, rc, k->err.message);
        }
    }
    assert_int_equal(kit_try(k, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=@evil/", NULL), ERR_AUTH);
}

static void container__refusals_and_static_keys(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status;
        const char *body;
        const char *says;
    } rows[] = {
        {403, "{\"code\":\"AccessDenied\",\"message\":\"hush\"}", " answered 403 (AccessDenied)"},
        {404, "hush", " answered 404"},
        {200, "hush", "gave no JSON object"},
        {200, "[]", "gave no JSON object"},
        {200, "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\",\"Expiration\":{}}",
         "gave keys without a readable Expiration"},
    };
    kit_open(k, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/c\n", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_ask(k), HTTP_SEND);
        assert_int_equal(kit_answer(k, rows[i].status, rows[i].body), HTTP_DONE);
        kit_failed(k, ERR_AUTH, rows[i].says);
    }
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("no token", kit_header(k, "Authorization"), NULL);
    assert_int_equal(kit_answer(k, 200, "{\"AccessKeyId\":\"AKS\",\"SecretAccessKey\":\"hush\"}"),
                     HTTP_DONE);
    clock_fake_advance(k->clock, INT64_C(400) * 86400 * 1000);
    same_text("lasts", kit_key(k), "AKS");
}

/* ---- the instance (row 11) ------------------------------------------------------------------- */

static void instance__its_role(void **state)
{
    struct kit *k = *state;
    kit_open(k, "", NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    same_text("token", k->req.method, "PUT");
    assert_int_equal(kit_answer(k, 200, "hush-imds"), HTTP_SEND);
    same_text("roles", k->req.url, "http://imds/latest/meta-data/iam/security-credentials/");
    assert_int_equal(kit_answer(k, 200, "node-role\nsecond\n"), HTTP_SEND);
    same_text("role", k->req.url,
              "http://imds/latest/meta-data/iam/security-credentials/node-role");
    same_text("header", kit_header(k, "X-Aws-Ec2-Metadata-Token"), "hush-imds");
    assert_int_equal(kit_answer(k, 200, kit_json(k, "AKNODE", "Token", 6 * 3600)), HTTP_DONE);
    same_text("key", kit_key(k), "AKNODE");
    /* They are used for an hour at most, whatever they say. */
    clock_fake_advance(k->clock, 3600 * 1000);
    same_text("over", kit_key(k), NULL);
}

static void instance__what_it_may_answer(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *role;
        const char *json;
        const char *says;
    } rows[] = {
        {"", NULL, "the metadata service names no role"},
        {"a/../b", NULL, "the metadata service names no role"},
        {"r", "hush", "gave no JSON object"},
        {"r", "{\"Code\":\"Failed\",\"Message\":\"hush\"}", "has no keys: Code is \"Failed\""},
        {"r", "{\"Code\":\"hush hush\"}", "has no keys: Code is \"\""},
        {"r", "{\"AccessKeyId\":\"a\"}", "has no keys: Code is \"\""},
        {"r", "{\"Code\":\"success\",\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hush\"}",
         "without a readable Expiration"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_open(k, "", NULL);
        assert_int_equal(kit_ask(k), HTTP_SEND);
        assert_int_equal(kit_answer(k, 200, "hush-imds"), HTTP_SEND);
        enum http_next next = kit_answer(k, 200, rows[i].role);
        if (rows[i].json != NULL) {
            assert_int_equal(next, HTTP_SEND);
            next = kit_answer(k, 200, rows[i].json);
        }
        assert_int_equal(next, HTTP_DONE);
        kit_failed(k, ERR_AUTH, rows[i].says);
    }
    kit_open(k, "", NULL);
    assert_int_equal(kit_ask(k), HTTP_SEND);
    assert_int_equal(kit_answer(k, 200, "hush-imds"), HTTP_SEND);
    assert_int_equal(kit_answer(k, 404, ""), HTTP_DONE);
    kit_failed(k, ERR_AUTH, "this instance has no role");
}

UNIT_MAIN(auth)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(environment__needs_no_request),
        KIT_TEST(environment__session_token),
        KIT_TEST(environment__malformed_keys__are_refused),
        KIT_TEST(web_identity__the_request),
        KIT_TEST(web_identity__session_name),
        KIT_TEST(web_identity__what_is_missing),
        KIT_TEST(sts__refusals),
        KIT_TEST(sts__what_passes__is_asked_three_times),
        KIT_TEST(sts__keys_that_no_request_can_carry),
        KIT_TEST(role_arn__the_request),
        KIT_TEST(role_arn__without_source_arn__and_malformed),
        KIT_TEST(sts__a_clock_that_is_off__is_corrected_once),
        KIT_TEST(sts__life_is_counted_by_the_servers_clock),
        KIT_TEST(profile__static_keys),
        KIT_TEST(profile__a_row_of_sources),
        KIT_TEST(profile__that_is_its_own_source),
        KIT_TEST(profile__credential_source),
        KIT_TEST(profile__web_identity),
        KIT_TEST(profile__what_cannot_work__is_told_at_the_start),
        KIT_TEST(process__its_keys),
        KIT_TEST(process__that_fails),
        KIT_TEST(container__the_request),
        KIT_TEST(container__hosts),
        KIT_TEST(container__refusals_and_static_keys),
        KIT_TEST(instance__its_role),
        KIT_TEST(instance__what_it_may_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
