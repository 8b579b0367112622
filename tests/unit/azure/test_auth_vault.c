/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth_vault.c: tokens that come the long way: the networks' tenant from a Key Vault
 * (docs/spec/azure.md 2.6), and the file of a managed identity's data plane (2.1 row 5). */
#include "tests/unit/azure/auth_kit.h"

#include "common/base/file.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define MARK "hunter2-do-not-print"
#define CONFIG                                                                                     \
    "tenantId: t\nnetworkResourceTenantID: net\nuseManagedIdentityExtension: true\n"               \
    "auxiliaryTokenProvider: {subscriptionID: vs, resourceGroup: vrg, vaultName: va ult, "         \
    "secretName: tok}\n"
#define TOKEN(t) "{\"access_token\":\"" t "\",\"expires_in\":3600}"
#define VAULT    "{\"properties\":{\"vaultUri\":\"https://vault.vault.azure.net/\"}}"
#define ENDS     "2023-11-14T23:13:20Z" /* an hour after KIT_WALL_S */
#define SECRET(t, ends)                                                                            \
    "{\"value\":\"{\\\"access_token\\\":\\\"" t "\\\",\\\"expires_on\\\":" ends "}\"}"

#define IMDS "http://imds/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
#define VAULT_URL                                                                                  \
    "https://management.azure.com/subscriptions/vs/resourceGroups/vrg/providers/"                  \
    "Microsoft.KeyVault/vaults/va%20ult?api-version=2023-07-01"
#define SECRET_URL "https://vault.vault.azure.net/secrets/tok?api-version=7.4"

struct turn {
    const char *url;
    const char *bearer; /* NULL: none */
    int status;
    const char *answer;
};

/* Ends with the error's message, or "" and the network's token in the cache. */
static const char *talk(struct kit *k, const struct turn *turns, size_t n)
{
    enum http_next next = HTTP_SEND;
    kit_open(k, CONFIG, NULL);
    kit_ask(k, AZURE_TENANT_NETWORK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(next, HTTP_SEND);
        same_text("url", k->req.url, turns[i].url);
        same_text("bearer", k->req.bearer, turns[i].bearer);
        next = kit_answer(k, turns[i].status, turns[i].answer);
    }
    assert_int_equal(next, HTTP_DONE);
    return k->err.message;
}

#define FIRST_THREE                                                                                \
    {IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 200, TOKEN("arm")},                \
        {VAULT_URL, "arm", 200, VAULT},                                                            \
    {                                                                                              \
        IMDS "https%3A%2F%2Fvault.azure.net", NULL, 200, TOKEN("vt")                               \
    }

static void vault__the_networks_token(void **state)
{
    struct kit *k = *state;
    static const char *const ends[] = {"\\\"" ENDS "\\\"", "1700003600", "\\\"1700003600\\\""};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        const char *secret = arena_printf(
            k->a, "{\"value\":\"{\\\"access_token\\\":\\\"net-token\\\",\\\"expires_on\\\":%s}\"}",
            ends[i]);
        const struct turn turns[] = {FIRST_THREE, {SECRET_URL, "vt", 200, secret}};
        same_text(ends[i], talk(k, turns, ARRAY_LEN(turns)), "");
        same_text("network", azure_auth_token(k->auth, AZURE_TENANT_NETWORK, k->a), "net-token");
        same_text("compute", kit_token(k), NULL);
        clock_fake_advance(k->clock, 3599000);
        same_text("still", azure_auth_token(k->auth, AZURE_TENANT_NETWORK, k->a), "net-token");
        clock_fake_advance(k->clock, 1000);
        same_text("over", azure_auth_token(k->auth, AZURE_TENANT_NETWORK, k->a), NULL);
        kit_reset_clock(k);
    }
}

static void vault__what_passes__is_asked_again(void **state)
{
    struct kit *k = *state;
    const struct turn turns[] = {
        {IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 410, ""},
        FIRST_THREE,
        {SECRET_URL, "vt", 429, ""},
        {SECRET_URL, "vt", 200, SECRET("net-token", "1700003600")},
    };
    same_text("talk", talk(k, turns, ARRAY_LEN(turns)), "");
}

static void vault__what_fails__says_where_and_no_secret(void **state)
{
    struct kit *k = *state;
    static const struct {
        struct turn turns[4];
        size_t n;
        const char *says;
    } rows[] = {
        {{{IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 400, "{}"}},
         1,
         "http://imds answered 400"},
        {{{IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 200, TOKEN("arm")},
          {VAULT_URL, "arm", 404, "{\"error\":{\"message\":\"" MARK "\"}}"}},
         2,
         "https://management.azure.com answered 404"},
        {{{IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 200, TOKEN("arm")},
          {VAULT_URL, "arm", 200, "{\"properties\":{\"vaultUri\":\"http://vault.evil/\"}}"}},
         2,
         "the answer of https://management.azure.com holds no token"},
        {{{IMDS "https%3A%2F%2Fmanagement.core.windows.net%2F", NULL, 200, TOKEN("arm")},
          {VAULT_URL, "arm", 200, "{\"properties\":{\"vaultUri\":\"https://a:b@vault.evil/\"}}"}},
         2,
         "the answer of https://management.azure.com holds no token"},
        {{FIRST_THREE, {SECRET_URL, "vt", 403, "{}"}},
         4,
         "https://vault.vault.azure.net answered 403"},
        {{FIRST_THREE, {SECRET_URL, "vt", 200, SECRET(MARK, "1600000000")}},
         4,
         "the answer of https://vault.vault.azure.net holds no token"},
        {{FIRST_THREE, {SECRET_URL, "vt", 200, SECRET(MARK, "9223372036854775807")}},
         4,
         "the answer of https://vault.vault.azure.net holds no token"},
        {{FIRST_THREE, {SECRET_URL, "vt", 200, "{\"value\":\"" MARK "\"}"}},
         4,
         "the answer of https://vault.vault.azure.net holds no token"},
        {{FIRST_THREE, {SECRET_URL, "vt", 200, "[]"}},
         4,
         "the answer of https://vault.vault.azure.net holds no token"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = talk(k, rows[i].turns, rows[i].n);
        if (strstr(text, rows[i].says) == NULL || strstr(text, MARK) != NULL ||
            strstr(text, "auxiliaryTokenProvider") == NULL) {
            fail_msg("row %zu: %s", i, text);
        }
        assert_int_equal(k->err.code, ERR_AUTH);
    }
}

/* ---- the data plane's file ------------------------------------------------------------------- */

static const char *write_identity(struct kit *k, const char *client, enum kit_cert kind)
{
    char *pem;
    size_t n;
    const char *path = kit_path(k, "identity.json");
    assert_int_equal(
        file_read(k->a, kit_write_cert(k, kind, NULL), (size_t)1 << 20, &pem, &n, NULL), ERR_OK);
    const char *text = arena_printf(
        k->a,
        "{\"client_id\":\"%s\",\"tenant_id\":\"file-tenant\",\"object_id\":\"o\",\"resource_id\":"
        "\"r\","
        "\"authentication_endpoint\":\"https://login.example/\",\"client_secret\":\"%s\"}",
        client, str_base64_encode(k->a, pem, n, false));
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

static void identity_file__asks_as_it_says__and_is_read_again(void **state)
{
    struct kit *k = *state;
    const char *path = write_identity(k, "first", KIT_PEM);
    kit_open(k, arena_printf(k->a, "aadMSIDataPlaneIdentityPath: %s\n", path), NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("url", k->req.url, "https://login.example/file-tenant/oauth2/v2.0/token");
    same_text("client", kit_form(k, "client_id"), "first");
    assert_non_null(kit_form(k, "client_assertion"));
    same_text("no secret", kit_form(k, "client_secret"), NULL);
    assert_int_equal(kit_answer(k, 200, TOKEN("t")), HTTP_DONE);
    same_text("token", kit_token(k), "t");
    (void)write_identity(k, "second", KIT_PKCS12);
    clock_fake_advance(k->clock, 600001);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    same_text("client", kit_form(k, "client_id"), "second");
}

static void identity_file__unfit__is_told_without_its_contents(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"[]", "want a JSON object"},
        {"{\"client_id\":\"c\"", "want a JSON object"},
        {"{\"client_id\":\"c\",\"tenant_id\":\"t\",\"client_secret\":\"" MARK "\"}",
         "authentication_endpoint is missing"},
        {"{\"client_id\":\"c\",\"tenant_id\":\"t\",\"authentication_endpoint\":\"http://x/\","
         "\"client_secret\":\"" MARK "\"}",
         "authentication_endpoint is no https:// URL"},
        {"{\"client_id\":\"c\",\"tenant_id\":\"t\",\"authentication_endpoint\":\"https://x/\","
         "\"client_secret\":\"" MARK "%\"}",
         "client_secret is no base64"},
        {"{\"client_id\":\"c\",\"tenant_id\":\"t\",\"authentication_endpoint\":\"https://x/\","
         "\"client_secret\":\"aHVudGVyMi1kby1ub3QtcHJpbnQ=\"}",
         "client_secret: "},
    };
    const char *path = kit_path(k, "identity.json");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(file_write_atomic(path, rows[i].text, strlen(rows[i].text), 0600, NULL),
                         ERR_OK);
        assert_int_equal(
            kit_try(k, arena_printf(k->a, "aadMSIDataPlaneIdentityPath: %s\n", path), NULL),
            ERR_AUTH);
        const char *want =
            arena_printf(k->a, "aadMSIDataPlaneIdentityPath %s: %s", path, rows[i].want);
        if (!str_has_prefix(k->err.message, want) || strstr(k->err.message, MARK) != NULL) {
            fail_msg("row %zu: %s", i, k->err.message);
        }
    }
}

UNIT_MAIN(auth_vault)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(vault__the_networks_token),
        KIT_TEST(vault__what_passes__is_asked_again),
        KIT_TEST(vault__what_fails__says_where_and_no_secret),
        KIT_TEST(identity_file__asks_as_it_says__and_is_read_again),
        KIT_TEST(identity_file__unfit__is_told_without_its_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
