/* SPDX-License-Identifier: Apache-2.0 */
/* auth_kit.h: what the tests of credentials and calls share: an auth object from a cloud-config, a clock that stands still, a
 * server that gives one answer to everything, a certificate that is made on the spot.
 *
 * One kit per test (KIT_TEST).  kit_open() sends the public cloud's requests to the kit's server only after kit_serve(). */
#ifndef TRIMTAB_TESTS_AZURE_AUTH_KIT_H
#define TRIMTAB_TESTS_AZURE_AUTH_KIT_H

#include "providers/azure/arm/azure_auth.h"
#include "tests/support/test_server.h"
#include "tests/unit/azure/azure_test.h"

#define KIT_WALL_S 1700000000

struct kit {
    struct arena *a;
    struct clock *clock;
    struct azure_config config;
    struct azure_env env;
    struct azure_cloud cloud;
    struct azure_auth *auth;
    /* one fetch by hand */
    struct azure_fetch fetch;
    struct http_request req;
    struct err err;
    /* a server, from kit_serve() on */
    struct test_server *server;
    struct http *http;
    struct mutex lock;
    int status;
    const char *body;
    /* for certificates */
    void *pkey;
    char folder[64];
};
enum kit_cert {
    KIT_PEM = 0,
    KIT_PEM_LOCKED, /* the key is encrypted */
    KIT_PKCS12,
    KIT_KEY_ONLY,
    KIT_NONSENSE,
};

int kit_setup(void **state);
int kit_teardown(void **state);
#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, kit_setup, kit_teardown)

/* A new auth object from a cloud-config; `env` may be NULL.  kit_open() fails the test when kit_try() fails. */
int kit_try(struct kit *k, const char *config, const struct azure_env *env);
void kit_open(struct kit *k, const char *config, const struct azure_env *env);
void kit_reset_clock(struct kit *k);
/* Begins a fetch: the request is in k->req. */
void kit_ask(struct kit *k, enum azure_tenant tenant);
/* Its answer. */
enum http_next kit_answer(struct kit *k, int status, const char *body);
/* A field of the form in k->req; NULL when it is not there. */
const char *kit_form(struct kit *k, const char *name);
const char *kit_token(struct kit *k); /* of the compute tenant */

/* From now on the server answers this. */
void kit_serve(struct kit *k, int status, const char *body);

const char *kit_path(struct kit *k, const char *name); /* of a file in the kit's own folder */
const char *kit_write_cert(struct kit *k, enum kit_cert kind, const char *password);
/* Takes a JWT apart; false when its signature is not the kit's key's. */
bool kit_verify(struct kit *k, const char *jwt, struct json_object **ret_header,
                struct json_object **ret_claims);

#endif
