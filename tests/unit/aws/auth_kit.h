/* SPDX-License-Identifier: Apache-2.0 */
/* auth_kit.h: what the tests of credentials share: an auth object from variables and files, a clock
 * that stands still, fetches that are stepped by hand, and a server for callers that come at once.
 *
 * One kit per test (KIT_TEST).  Secrets in tests hold the word "hush", so that an error
 * that shows one is found. */
#ifndef TRIMTAB_TESTS_AWS_AUTH_KIT_H
#define TRIMTAB_TESTS_AWS_AUTH_KIT_H

#include "providers/aws/auth/aws_auth.h"
#include "tests/support/test_server.h"
#include "tests/unit/aws/aws_env_fake.h"
#include "tests/unit/gce/pure.h"

#define KIT_WALL_S 1767323045 /* 2026-01-02T03:04:05Z */

struct kit {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct aws_config config;
    struct aws_endpoint sts;
    struct aws_imds *imds;
    struct aws_auth *auth;
    /* one fetch by hand */
    struct aws_fetch fetch;
    struct http_request req;
    struct err err;
    /* a server, from kit_serve() on */
    struct test_server *server;
    struct http *http;
    struct mutex lock;
    int status;
    const char *body;
    char folder[64];
};

int kit_setup(void **state);
int kit_teardown(void **state);
#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, kit_setup, kit_teardown)

/* A new auth object from lines of variables and lines of [Global]; either may be NULL.  kit_open()
 * fails the test when kit_try() fails. */
int kit_try(struct kit *k, const char *env, const char *global);
void kit_open(struct kit *k, const char *env, const char *global);
/* Begins a fetch: HTTP_SEND with the request in k->req, or its end. */
enum http_next kit_ask(struct kit *k);
/* Its answer; headers "Name: value" may be NULL. */
enum http_next kit_answer(struct kit *k, int status, const char *body);
enum http_next kit_answer_at(struct kit *k, int status, const char *body, const char *date);
/* No answer came. */
enum http_next kit_silence(struct kit *k);
/* Ends the fetch as a caller does; k->err is its outcome. */
void kit_end(struct kit *k);
/* A field of the form in k->req; NULL when it is not there. */
const char *kit_form(struct kit *k, const char *name);
const char *kit_header(struct kit *k, const char *name); /* of k->req; NULL */
/* The cached access key, or NULL. */
const char *kit_key(struct kit *k);
/* The fetch has failed with this code; the message holds `says` and no secret. */
void kit_failed(struct kit *k, int code, const char *says);

/* The kit's server answers this to everything; STS and IMDS are there from the
 * next kit_open() on. */
void kit_serve(struct kit *k, int status, const char *body);
const char *kit_file(struct kit *k, const char *name, const char *text); /* its path */

/* Answers. */
const char *kit_sts(struct kit *k, const char *action, const char *key, int64_t lasts_s);
const char *kit_json(struct kit *k, const char *key, const char *token_name, int64_t lasts_s);

#endif
