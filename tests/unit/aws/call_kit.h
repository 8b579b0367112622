/* SPDX-License-Identifier: Apache-2.0 */
/* call_kit.h: what the tests of calls and of what is read share: a clock that stands still, keys, a
 * client.
 *
 * One kit per test (CALL_TEST).  call_kit_open() takes the environment of the keys ("NAME=value"
 * lines) and where all requests go. */
#ifndef TRIMTAB_TESTS_AWS_CALL_KIT_H
#define TRIMTAB_TESTS_AWS_CALL_KIT_H

#include "providers/aws/api/aws_call.h"
#include "providers/aws/auth/aws_auth.h"
#include "tests/support/clock_fake.h"
#include "tests/unit/aws/aws_env_fake.h"
#include "tests/unit/gce/pure.h"

#define KIT_WALL_S    INT64_C(1700000000) /* 2023-11-14T22:13:20Z */
#define KIT_KEYS      "AWS_ACCESS_KEY_ID=AKIDEXAMPLE\nAWS_SECRET_ACCESS_KEY=secret-of-the-tests\n"
#define KIT_CONTAINER "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1/keys\n"
#define KIT_URL       "https://aws.example/"

struct call_kit {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct aws_config config;
    struct aws_imds *imds;
    struct aws_auth *auth;
    struct aws_client *client;
    struct aws_endpoint sts;
};

static inline int call_kit_setup(void **state)
{
    struct call_kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000000, KIT_WALL_S * INT64_C(1000000));
    k->rng = rng_seeded_new(1);
    *state = k;
    return 0;
}

static inline int call_kit_teardown(void **state)
{
    struct call_kit *k = *state;
    aws_client_free(k->client);
    aws_auth_free(k->auth);
    aws_imds_free(k->imds);
    rng_free(k->rng);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

#define CALL_TEST(fn) cmocka_unit_test_setup_teardown(fn, call_kit_setup, call_kit_teardown)

static inline void call_kit_open(struct call_kit *k, const char *env, const char *url,
                                 const struct tt_host *host)
{
    struct err err = ERR_INIT;
    const struct aws_env *vars = env_fake(k->a, env);
    const struct aws_imds_config imds = {"http://127.0.0.1:1", vars, k->clock};
    k->imds = aws_imds_new(&imds);
    struct gcfg_unknown *unknown = NULL;
    size_t n_unknown = 0;
    assert_int_equal(aws_config_parse(k->a, NULL, 0, &k->config, &unknown, &n_unknown, &err),
                     ERR_OK);
    k->sts = (struct aws_endpoint){url, "us-east-1", "sts", "test"};
    const struct aws_auth_config auth = {.config = &k->config,
                                         .env = vars,
                                         .sts = &k->sts,
                                         .imds = k->imds,
                                         .clock = k->clock,
                                         .rng = k->rng};
    if (aws_auth_new(&auth, &k->auth, &err) != ERR_OK) {
        fail_msg("credentials: %s", err.message);
    }
    struct aws_client_config cfg = {
        .host = host, .clock = k->clock, .auth = k->auth, .region = "us-east-1"};
    for (int i = 0; i < AWS_APIS; i++) {
        cfg.endpoints[i] = (struct aws_endpoint){
            url, "us-east-1", i == AWS_EC2 ? "ec2" : "elasticloadbalancing", "test"};
    }
    k->client = aws_client_new(&cfg);
}

#endif
