/* SPDX-License-Identifier: Apache-2.0 */
/* test_endpoint.c: where requests go and what they are signed for; the files of AWS' tools
 * (docs/spec/aws.md 1.3, 2.1, 2.3, 2.5). */
#include "providers/aws/auth/aws_endpoint.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_env_fake.h"
#include "tests/unit/gce/pure.h"

struct question {
    const char *config; /* lines of aws.conf, or NULL */
    const char *env;    /* "NAME=value\n…", or NULL */
    const char *shared; /* ~/.aws/config, or NULL */
    const char *region;
};

static struct aws_endpoint_args args_of(struct arena *a, const struct question *q)
{
    struct aws_config *c = ARENA_NEW(a, struct aws_config);
    struct gcfg_unknown *unknown;
    size_t n;
    struct err err = ERR_INIT;
    const char *text = str_nonnull(q->config);
    const struct aws_profiles *profiles = NULL;
    if (aws_config_parse(a, text, strlen(text), c, &unknown, &n, &err) != ERR_OK ||
        (q->shared != NULL &&
         aws_profiles_parse(a, q->shared, strlen(q->shared), NULL, 0, &profiles, &err) != ERR_OK)) {
        fail_msg("%s", err.message);
    }
    return (struct aws_endpoint_args){.config = c,
                                      .env = env_fake(a, str_nonnull(q->env)),
                                      .profiles = profiles,
                                      .region = str_or(q->region, "us-east-1")};
}

#define OVERRIDE(label, service, region, url)                                                      \
    "[ServiceOverride \"" label "\"]\nService=" service "\nRegion=" region "\nURL=" url            \
    "\nSigningRegion=sr\n"

static void own__by_partition(void **state)
{
    static const struct {
        const char *region;
        const char *suffix;
    } rows[] = {
        {"us-east-1", "amazonaws.com"},        {"cn-north-1", "amazonaws.com.cn"},
        {"us-gov-west-1", "amazonaws.com"},    {"us-iso-east-1", "c2s.ic.gov"},
        {"us-isob-east-1", "sc2s.sgov.gov"},   {"eu-isoe-west-1", "cloud.adc-e.uk"},
        {"us-isof-south-1", "csp.hci.ic.gov"},
    };
    static const char *const hosts[] = {"ec2", "elasticloadbalancing", "elasticloadbalancing",
                                        "sts"};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {.region = rows[i].region};
        const struct aws_endpoint_args args = args_of(a, &q);
        for (enum aws_api api = 0; api < AWS_APIS; api++) {
            struct aws_endpoint e;
            assert_int_equal(aws_endpoint_resolve(a, &args, api, &e, NULL), ERR_OK);
            same_text(
                "url", e.url,
                arena_printf(a, "https://%s.%s.%s/", hosts[api], rows[i].region, rows[i].suffix));
            same_text("region", e.signing_region, rows[i].region);
            same_text("name", e.signing_name, hosts[api]);
            same_text("origin", e.origin, "AWS");
        }
    }
}

static void own__fips_and_dual_stack(void **state)
{
    static const struct {
        const char *env;
        const char *region;
        const char *url; /* NULL: refused */
    } rows[] = {
        {"AWS_USE_FIPS_ENDPOINT=true", "us-east-1", "https://ec2-fips.us-east-1.amazonaws.com/"},
        {"AWS_USE_DUALSTACK_ENDPOINT=TRUE", "us-east-1", "https://ec2.us-east-1.api.aws/"},
        {"AWS_USE_FIPS_ENDPOINT=true\nAWS_USE_DUALSTACK_ENDPOINT=true", "us-east-1",
         "https://ec2-fips.us-east-1.api.aws/"},
        {"AWS_USE_FIPS_ENDPOINT=true", "us-gov-west-1", "https://ec2.us-gov-west-1.amazonaws.com/"},
        {"AWS_USE_DUALSTACK_ENDPOINT=true", "cn-north-1",
         "https://ec2.cn-north-1.api.amazonwebservices.com.cn/"},
        {"AWS_USE_DUALSTACK_ENDPOINT=true", "us-iso-east-1", NULL},
        {"AWS_USE_FIPS_ENDPOINT=false", "us-east-1", "https://ec2.us-east-1.amazonaws.com/"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {.env = rows[i].env, .region = rows[i].region};
        const struct aws_endpoint_args args = args_of(a, &q);
        struct aws_endpoint e = {0};
        int rc = aws_endpoint_resolve(a, &args, AWS_EC2, &e, NULL);
        same_text(rows[i].env, e.url, rows[i].url);
        assert_int_equal(rc, rows[i].url != NULL ? ERR_OK : ERR_INVALID);
    }
}

static void overrides__exact_names_first__then_aliases(void **state)
{
    static const char all[] = OVERRIDE("1", "EC2", "us-east-1", "http://exact:5000")
        OVERRIDE("2", "ec2", "us-east-1", "http://alias")
            OVERRIDE("3", "ELB", "us-east-1", "http://elb/a/b")
                OVERRIDE("4", "elbv2", "us-east-1", "http://v2/a/")
                    OVERRIDE("5", "sts", "us-east-1", "https://sts");
    static const char old[] = OVERRIDE("1", "elasticloadbalancing", "us-east-1", "http://both");
    static const char elsewhere[] = OVERRIDE("1", "EC2", "eu-west-1", "http://exact:5000");
    static const struct {
        const char *config;
        enum aws_api api;
        const char *url;
        const char *origin;
    } rows[] = {
        {all, AWS_EC2, "http://exact:5000/", "ServiceOverride \"1\""},
        {all, AWS_ELB, "http://elb/a/b/", "ServiceOverride \"3\""},
        {all, AWS_ELBV2, "http://v2/a/", "ServiceOverride \"4\""},
        {all, AWS_STS, "https://sts/", "ServiceOverride \"5\""},
        {old, AWS_ELB, "http://both/", "ServiceOverride \"1\""},
        {old, AWS_ELBV2, "http://both/", "ServiceOverride \"1\""},
        {old, AWS_EC2, "https://ec2.us-east-1.amazonaws.com/", "AWS"},
        {elsewhere, AWS_EC2, "https://ec2.us-east-1.amazonaws.com/", "AWS"},
        {OVERRIDE("1", "Elastic Load Balancing", "us-east-1", "http://classic"), AWS_ELBV2,
         "https://elasticloadbalancing.us-east-1.amazonaws.com/", "AWS"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {.config = rows[i].config};
        const struct aws_endpoint_args args = args_of(a, &q);
        struct aws_endpoint e = {0};
        assert_int_equal(aws_endpoint_resolve(a, &args, rows[i].api, &e, NULL), ERR_OK);
        same_text("url", e.url, rows[i].url);
        same_text("origin", e.origin, rows[i].origin);
        same_text("signing region", e.signing_region, str_eq(e.origin, "AWS") ? "us-east-1" : "sr");
    }
}

static void override__its_signing_name(void **state)
{
    struct arena *a = *state;
    const struct question q = {
        .config = OVERRIDE("1", "EC2", "us-east-1", "http://x") "SigningName=other\n"};
    const struct aws_endpoint_args args = args_of(a, &q);
    struct aws_endpoint e = {0};
    assert_int_equal(aws_endpoint_resolve(a, &args, AWS_EC2, &e, NULL), ERR_OK);
    same_text("name", e.signing_name, "other");
}

static void configured__by_variables_and_profiles__in_order(void **state)
{
#define SHARED                                                                                     \
    "[default]\nendpoint_url = http://profile\nservices = s\n[profile other]\nendpoint_url = "     \
    "http://other\n[services s]\nec2 =\n  endpoint_url = http://block\nelastic_load_balancing_v2 " \
    "=\n  endpoint_url = http://v2block\n"
    static const struct {
        const char *config;
        const char *env;
        const char *shared;
        enum aws_api api;
        const char *url;
    } rows[] = {
        {NULL, "AWS_ENDPOINT_URL=http://all\nAWS_ENDPOINT_URL_EC2=http://ec2", NULL, AWS_EC2,
         "http://ec2/"},
        {NULL, "AWS_ENDPOINT_URL=http://all\nAWS_ENDPOINT_URL_EC2=http://ec2", NULL, AWS_ELB,
         "http://all/"},
        {NULL, "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING=http://c", NULL, AWS_ELB, "http://c/"},
        {NULL, "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2=http://n", NULL, AWS_ELBV2, "http://n/"},
        {NULL, "AWS_ENDPOINT_URL_STS=http://s:1", NULL, AWS_STS, "http://s:1/"},
        {NULL, "AWS_ENDPOINT_URL_STS=HTTPS://STS.Example.COM:8443/Path/", NULL, AWS_STS,
         "https://sts.example.com:8443/Path/"},
        {NULL, "AWS_ENDPOINT_URL_STS=http://[FD00::1]:80", NULL, AWS_STS, "http://[fd00::1]:80/"},
        {NULL, "AWS_ENDPOINT_URL=http://all", SHARED, AWS_EC2, "http://all/"},
        {NULL, NULL, SHARED, AWS_EC2, "http://block/"},
        {NULL, NULL, SHARED, AWS_ELBV2, "http://v2block/"},
        {NULL, NULL, SHARED, AWS_ELB, "http://profile/"},
        {NULL, "AWS_PROFILE=other", SHARED, AWS_EC2, "http://other/"},
        {NULL, "AWS_DEFAULT_PROFILE=other", SHARED, AWS_EC2, "http://other/"},
        {NULL, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true\nAWS_ENDPOINT_URL=http://all", SHARED,
         AWS_EC2, "https://ec2.us-east-1.amazonaws.com/"},
        {OVERRIDE("1", "EC2", "us-east-1", "http://file"), "AWS_ENDPOINT_URL_EC2=http://ec2", NULL,
         AWS_EC2, "http://file/"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {rows[i].config, rows[i].env, rows[i].shared, NULL};
        const struct aws_endpoint_args args = args_of(a, &q);
        struct aws_endpoint e = {0};
        struct err err = ERR_INIT;
        if (aws_endpoint_resolve(a, &args, rows[i].api, &e, &err) != ERR_OK) {
            fail_msg("row %zu: %s", i, err.message);
        }
        same_text(str_or(rows[i].env, "-"), e.url, rows[i].url);
    }
}

static void bad_urls_and_regions__are_refused_by_name(void **state)
{
    static const struct {
        const char *config;
        const char *env;
        const char *region;
        const char *says;
    } rows[] = {
        {NULL, "AWS_ENDPOINT_URL=127.0.0.1:5000", NULL, "AWS_ENDPOINT_URL: URL has no scheme"},
        {NULL, "AWS_ENDPOINT_URL_EC2=ftp://h", NULL, "AWS_ENDPOINT_URL_EC2: want http://"},
        {NULL, "AWS_ENDPOINT_URL=http://u:secret@h", NULL, "want no user"},
        {NULL, "AWS_ENDPOINT_URL=http://h/?secret=1", NULL, "want no user, query"},
        {OVERRIDE("x", "EC2", "us-east-1", "h"), NULL, NULL, "ServiceOverride \"x\": URL has no"},
        {NULL, NULL, "us-east-1.evil.com/x", "is no region"},
        {NULL, NULL, "-", "is no region"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {rows[i].config, rows[i].env, NULL, rows[i].region};
        const struct aws_endpoint_args args = args_of(a, &q);
        struct aws_endpoint e = {0};
        struct err err = ERR_INIT;
        assert_int_equal(aws_endpoint_resolve(a, &args, AWS_EC2, &e, &err), ERR_INVALID);
        if (strstr(err.message, rows[i].says) == NULL || strstr(err.message, "secret") != NULL) {
            fail_msg("row %zu: %s", i, err.message);
        }
    }
}

static void imds__whose_endpoint_counts(void **state)
{
    static const struct {
        const char *config;
        const char *env;
        const char *shared;
        const char *url; /* NULL: refused */
    } rows[] = {
        {NULL, NULL, NULL, "http://169.254.169.254"},
        {NULL, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6", NULL, "http://[fd00:ec2::254]"},
        {NULL, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=ipv4", NULL, "http://169.254.169.254"},
        {NULL, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=ipv5", NULL, NULL},
        {NULL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://h:1/", NULL, "http://h:1"},
        {NULL, NULL, "[default]\nec2_metadata_service_endpoint=http://p\n", "http://p"},
        {OVERRIDE("1", "ec2metadata", "anywhere", "http://old")
             OVERRIDE("2", "ec2imds", "x", "http://new/"),
         "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://h:1/", NULL, "http://new"},
        {OVERRIDE("1", "ec2metadata", "anywhere", "http://old"), NULL, NULL, "http://old"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question q = {rows[i].config, rows[i].env, rows[i].shared, NULL};
        const struct aws_endpoint_args args = args_of(a, &q);
        const char *url = NULL;
        int rc = aws_endpoint_imds(a, &args, &url, NULL);
        same_text(str_or(rows[i].env, "-"), url, rows[i].url);
        assert_int_equal(rc, rows[i].url != NULL ? ERR_OK : ERR_INVALID);
    }
}

/* ---- profiles -------------------------------------------------------------------------------- */

static const char config_file[] = "# a comment\r\n"
                                  "lost = value\n"
                                  "[default]\r\n"
                                  "Region = us-west-2 # where\r\n"
                                  "output=json;not a comment\n"
                                  "aws_access_key_id = from-config\n"
                                  "[ profile  dev ] ; comment\n"
                                  "role_arn = arn:a=b\n"
                                  "no equals sign\n"
                                  "empty =\n"
                                  "s3 =\n"
                                  "  max = 10\n"
                                  "[profile \"with blank\"]\n"
                                  "k = 1\n"
                                  "[profile dev]\n"
                                  "k = again\n"
                                  "[broken\n"
                                  "k = nowhere\n";
static const char credentials_file[] = "[default]\naws_access_key_id = AKID\n"
                                       "[dev]\naws_secret_access_key = s#cret\n"
                                       "[profile dev]\nrole_arn = ignored\n";

static void profiles__values_of_both_files(void **state)
{
    static const struct {
        const char *profile;
        const char *key;
        const char *want;
    } rows[] = {
        {"default", "region", "us-west-2"},
        {"default", "output", "json;not a comment"},
        {"default", "aws_access_key_id", "AKID"},
        {"default", "lost", NULL},
        {"dev", "role_arn", "arn:a=b"},
        {"dev", "k", "again"},
        {"dev", "empty", ""},
        {"dev", "max", NULL},
        {"dev", "aws_secret_access_key", "s#cret"},
        {"with blank", "k", "1"},
        {"none", "k", NULL},
    };
    const struct aws_profiles *p = NULL;
    assert_int_equal(aws_profiles_parse(*state, config_file, strlen(config_file), credentials_file,
                                        strlen(credentials_file), &p, NULL),
                     ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].key, aws_profile_get(p, rows[i].profile, rows[i].key), rows[i].want);
    }
    assert_true(aws_profile_exists(p, "dev"));
    assert_true(aws_profile_exists(p, "with blank"));
    assert_false(aws_profile_exists(p, "none"));
}

static void profiles__profile_default_hides_default(void **state)
{
    static const char text[] = "[profile default]\na = 1\n[default]\na = 2\nb = 3\n";
    const struct aws_profiles *p = NULL;
    assert_int_equal(aws_profiles_parse(*state, text, strlen(text), NULL, 0, &p, NULL), ERR_OK);
    same_text("a", aws_profile_get(p, "default", "a"), "1");
    same_text("b", aws_profile_get(p, "default", "b"), NULL);
}

static void profiles__hostile_files(void **state)
{
    struct arena *a = *state;
    const struct aws_profiles *p = NULL;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "[default]\n");
    for (int i = 0; i < 30000; i++) {
        str_append(&b, "a=b\n");
    }
    assert_int_equal(aws_profiles_parse(a, b.data, b.len, NULL, 0, &p, NULL), ERR_INVALID);
    assert_int_equal(aws_profiles_parse(a, "[a]\nb=\0c", 8, NULL, 0, &p, NULL), ERR_INVALID);
    assert_int_equal(aws_profiles_parse(a, NULL, 0, NULL, 0, &p, NULL), ERR_OK);
    assert_false(aws_profile_exists(p, "default"));
}

static void profiles__without_files_and_without_home(void **state)
{
    struct arena *a = *state;
    const struct aws_profiles *p = NULL;
    assert_int_equal(aws_profiles_read(a, env_fake(a, ""), &p, NULL), ERR_OK);
    assert_int_equal(aws_profiles_read(a, env_fake(a, "HOME=/nonexistent"), &p, NULL), ERR_OK);
    assert_false(aws_profile_exists(p, "default"));
    struct err err = ERR_INIT;
    assert_int_not_equal(aws_profiles_read(a, env_fake(a, "AWS_CONFIG_FILE=/"), &p, &err), ERR_OK);
    assert_non_null(strstr(err.message, "/: "));
}

/* As the SDK: only a profile that was asked for must be there. */
static void profiles__one_that_is_asked_for_must_be_there(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *env, *want; /* "" : fine */
    } rows[] = {
        {"AWS_PROFILE=prdo\nHOME=/nonexistent",
         "AWS_PROFILE: there is no profile \"prdo\": neither [profile prdo] in "
         "/nonexistent/.aws/config nor [prdo] in /nonexistent/.aws/credentials"},
        {"AWS_PROFILE=prdo\nAWS_CONFIG_FILE=/nonexistent/a\nAWS_SHARED_CREDENTIALS_FILE=/"
         "nonexistent/b",
         "AWS_PROFILE: there is no profile \"prdo\": neither [profile prdo] in /nonexistent/a nor "
         "[prdo] in /nonexistent/b"},
        {"AWS_PROFILE=default\nHOME=/nonexistent", "AWS_PROFILE: there is no profile \"default\""},
        {"AWS_DEFAULT_PROFILE=prdo\nHOME=/nonexistent", ""},
        {"HOME=/nonexistent", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_profiles *p = NULL;
        struct err err = ERR_INIT;
        int rc = aws_profiles_read(a, env_fake(a, rows[i].env), &p, &err);
        assert_int_equal(rc, *rows[i].want != '\0' ? ERR_INVALID : ERR_OK);
        assert_non_null(strstr(err.message, rows[i].want));
    }
}

static void attempts__of_the_environment_or_the_profile(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *env, *config, *want;
    } rows[] = {
        {"", "", "0"},
        {"AWS_MAX_ATTEMPTS=7", "[default]\nmax_attempts=5\n", "7"},
        {"AWS_MAX_ATTEMPTS=0", "[default]\nmax_attempts=5\n", "5"},
        {"AWS_PROFILE=x", "[default]\nmax_attempts=5\n[profile x]\nmax_attempts = 9\n", "9"},
        {"AWS_PROFILE=x", "[default]\nmax_attempts=5\n[profile x]\n", "0"},
        {"AWS_MAX_ATTEMPTS=99999999999", "", "2147483647"},
        {"AWS_MAX_ATTEMPTS=many", "", "AWS_MAX_ATTEMPTS \"many\": want a number, 0 or more"},
        {"AWS_MAX_ATTEMPTS=-1", "", "AWS_MAX_ATTEMPTS \"-1\": want a number, 0 or more"},
        {"AWS_PROFILE=x", "[profile x]\nmax_attempts=a few\n",
         "max_attempts of profile \"x\" \"a few\": want a number, 0 or more"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct aws_profiles *p = NULL;
        struct err err = ERR_INIT;
        int n = -1;
        assert_int_equal(
            aws_profiles_parse(a, rows[i].config, strlen(rows[i].config), NULL, 0, &p, NULL),
            ERR_OK);
        int rc = aws_profile_max_attempts(p, env_fake(a, rows[i].env), &n, &err);
        same_text(rows[i].env, rc == ERR_OK ? arena_printf(a, "%d", n) : err.message, rows[i].want);
    }
}

UNIT_MAIN(endpoint)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(own__by_partition),
        PURE_TEST(own__fips_and_dual_stack),
        PURE_TEST(overrides__exact_names_first__then_aliases),
        PURE_TEST(override__its_signing_name),
        PURE_TEST(configured__by_variables_and_profiles__in_order),
        PURE_TEST(bad_urls_and_regions__are_refused_by_name),
        PURE_TEST(imds__whose_endpoint_counts),
        PURE_TEST(profiles__values_of_both_files),
        PURE_TEST(profiles__profile_default_hides_default),
        PURE_TEST(profiles__hostile_files),
        PURE_TEST(profiles__without_files_and_without_home),
        PURE_TEST(profiles__one_that_is_asked_for_must_be_there),
        PURE_TEST(attempts__of_the_environment_or_the_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
