/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_azure_token.c: answers of identity services, and files with certificates.
 *
 * What holds for every input: a fetch that ends well has cached a token that a header can carry;
 * one that fails says why and repeats nothing but codes; a certificate is either read with its key,
 * or refused as AUTH. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "providers/azure/arm/azure_auth_internal.h"
#include "tests/support/azure_config_text.h"
#include "tests/support/clock_fake.h"

static void check_answer(struct arena *a, const char *config, const char *body, int status)
{
    static const struct azure_env env;
    struct azure_config c;
    const struct azure_unknown_key *unknown;
    size_t n;
    FUZZ_CHECK(azure_config_parse(a, config, strlen(config), &env, &c, &unknown, &n, NULL) ==
               ERR_OK);
    const struct azure_cloud cloud = azure_cloud_by_name(a, "");
    struct clock *clock = clock_fake_new(1000, 0);
    const struct azure_auth_config cfg = {
        .config = &c, .env = &env, .cloud = &cloud, .clock = clock};
    struct azure_auth *auth = NULL;
    FUZZ_CHECK(azure_auth_new(&cfg, &auth, NULL) == ERR_OK);
    struct azure_fetch fetch;
    struct http_request req = {0};
    struct err err = ERR_INIT;
    const struct http_response resp = {.status = status, .body = body, .body_len = strlen(body)};
    azure_fetch_begin(&fetch, auth, AZURE_TENANT_COMPUTE, a);
    FUZZ_CHECK(azure_fetch_step(&fetch, &req, NULL, 0, &err) == HTTP_SEND);
    if (azure_fetch_step(&fetch, &req, &resp, 0, &err) == HTTP_DONE && err.code == ERR_OK) {
        const char *token = azure_auth_token(auth, AZURE_TENANT_COMPUTE, a);
        FUZZ_CHECK(token != NULL && token[0] != '\0' && strpbrk(token, " \r\n") == NULL);
    }
    azure_auth_free(auth);
    clock_fake_free(clock);
}

static void check_certificate(const uint8_t *data, size_t size)
{
    struct azure_cert *cert = NULL;
    struct err err = ERR_INIT;
    int rc = azure_cert_parse(data, size, "password", &cert, &err);
    FUZZ_CHECK(rc == ERR_OK ? cert != NULL : rc == ERR_AUTH && err.message[0] != '\0');
    FUZZ_CHECK(strstr(err.message, "password\"") == NULL);
    azure_cert_free(cert);
}

FUZZ_TARGET(azure_token, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    const char *body = arena_strndup(a, (const char *)data, size);
    static const char secret[] = "tenantId: t\naadClientId: c\naadClientSecret: s\n";
    check_answer(a, secret, body, 200);
    check_answer(a, secret, body, 400);
    check_answer(a, "useManagedIdentityExtension: true\n", body, 200);
    check_certificate(data, size);
    arena_free(a);
    return 0;
}
