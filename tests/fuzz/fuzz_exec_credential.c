/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_exec_credential.c: what credential plugins print, and answers to TokenRequests.
 *
 * What holds for every input: what is read has a token or a whole pair, a token fits into a header,
 * a certificate that is taken belongs to its key; what is refused says why and changes nothing. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/http.h"
#include "controller/kube/client/credentials_answer.h"

static bool fits_header(const char *token)
{
    for (; *token != '\0'; token++) {
        if ((unsigned char)*token < 0x20 || *token == 0x7f) {
            return false;
        }
    }
    return true;
}

static void check(const struct credential *c, int rc, const struct err *err)
{
    if (rc != ERR_OK) {
        FUZZ_CHECK(rc == ERR_INVALID && err->message[0] != '\0');
        FUZZ_CHECK(c->token == NULL && c->cert_pem == NULL && c->key_pem == NULL && !c->has_expiry);
        return;
    }
    FUZZ_CHECK(err->message[0] == '\0');
    FUZZ_CHECK(c->token != NULL || c->cert_pem != NULL);
    FUZZ_CHECK((c->cert_pem == NULL) == (c->key_pem == NULL));
    FUZZ_CHECK(c->token == NULL || (c->token[0] != '\0' && fits_header(c->token)));
}

static void check_pair(const struct credential *c)
{
    struct http_pair *pair = http_pair_new();
    struct http_pair_life life = {0};
    struct err err = ERR_INIT;
    int rc = http_pair_set(pair, c->cert_pem, c->key_pem, &life, NULL, &err);
    FUZZ_CHECK((rc == ERR_OK) == (err.message[0] == '\0'));
    http_pair_free(pair);
}

FUZZ_TARGET(exec_credential, const uint8_t *data, size_t size)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                           "client.authentication.k8s.io/v1beta1"};
    struct arena *a = arena_new();
    const char *text = arena_memdup(a, data, size);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct credential c = {0};
        struct err err = ERR_INIT;
        int rc = credentials_parse_exec(a, versions[i], text, size, &c, &err);
        check(&c, rc, &err);
        if (rc == ERR_OK && c.cert_pem != NULL) {
            check_pair(&c);
        }
    }
    struct credential c = {0};
    struct err err = ERR_INIT;
    int rc = credentials_parse_token_request(a, text, size, &c, &err);
    check(&c, rc, &err);
    FUZZ_CHECK(rc != ERR_OK || (c.token != NULL && c.has_expiry));
    arena_free(a);
    return 0;
}
