/* SPDX-License-Identifier: Apache-2.0 */
/* test_cloud.c: where the APIs of a cloud are (docs/spec/azure.md 1.5): by name, by its metadata
 * endpoint, by the environment file of Azure Stack. */
#include "tests/unit/azure/auth_kit.h"

#include "common/base/file.h"
#include "providers/azure/arm/azure_cloud.h"
#include "tests/support/unit.h"

static void by_name__1_5(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *name;
        const char *arm;
        const char *audience;
        const char *authority;
    } rows[] = {
        {"", "https://management.azure.com", "https://management.core.windows.net/",
         "https://login.microsoftonline.com/"},
        {"AzurePublicCloud", "https://management.azure.com", "https://management.core.windows.net/",
         "https://login.microsoftonline.com/"},
        {"nonsense", "https://management.azure.com", "https://management.core.windows.net/",
         "https://login.microsoftonline.com/"},
        {" azurechinacloud ", "https://management.chinacloudapi.cn",
         "https://management.core.chinacloudapi.cn/", "https://login.chinacloudapi.cn/"},
        {"AZUREUSGOVERNMENT", "https://management.usgovcloudapi.net",
         "https://management.core.usgovcloudapi.net/", "https://login.microsoftonline.us/"},
        {"AzureUSGovernmentCloud", "https://management.usgovcloudapi.net",
         "https://management.core.usgovcloudapi.net/", "https://login.microsoftonline.us/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_cloud c = azure_cloud_by_name(k->a, rows[i].name);
        same_text(rows[i].name, c.arm, rows[i].arm);
        same_text(rows[i].name, c.audience, rows[i].audience);
        same_text(rows[i].name, c.authority, rows[i].authority);
    }
}

static int find(struct kit *k, const char *cloud, const char *endpoint, const char *file,
                struct azure_cloud *ret)
{
    struct azure_config c = azure_test_config();
    c.cloud = cloud;
    c.resource_manager_endpoint = endpoint;
    const struct azure_env env = {.environment_file = file};
    err_clear(&k->err);
    const struct azure_cloud_reach reach = {.http = k->http, .clock = k->clock};
    return azure_cloud_find(k->a, &c, &env, &reach, ret, &k->err);
}

#define STACK                                                                                      \
    "[{\"name\":\"AzureCloud\",\"authentication\":{\"audiences\":[\"https://one/\"]}},"            \
    "{\"name\":\"azurestackcloud\",\"resourceManager\":\"http://arm.local/\","                     \
    "\"authentication\":{\"audiences\":[\"https://two/\",\"x\"],"                                  \
    "\"loginEndpoint\":\"https://login.local\"}}]"

static void metadata__the_element_of_the_name_counts(void **state)
{
    struct kit *k = *state;
    struct azure_cloud c;
    kit_serve(k, 200, STACK);
    const char *endpoint = test_server_url(k->server, "/");
    assert_int_equal(find(k, "AzureStackCloud", endpoint, NULL, &c), ERR_OK);
    same_text("arm", c.arm, "http://arm.local");
    same_text("audience", c.audience, "https://two/");
    same_text("authority", c.authority, "https://login.local/");
    /* without a name the first one; what it lacks stays */
    assert_int_equal(find(k, "", endpoint, NULL, &c), ERR_OK);
    assert_true(str_has_prefix(c.arm, "http://127.0.0.1:"));
    assert_false(str_has_suffix(c.arm, "/"));
    same_text("audience", c.audience, "https://one/");
    same_text("authority", c.authority, "https://login.microsoftonline.com/");
    /* no such element: nothing is overridden */
    assert_int_equal(find(k, "AzureChinaCloud", endpoint, NULL, &c), ERR_OK);
    same_text("arm", c.arm, "https://management.chinacloudapi.cn");
}

static void metadata__no_answer_of_a_cloud__is_refused(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status;
        const char *body;
        const char *says;
    } rows[] = {
        {200, "{}", "no JSON array"},
        {200, "<html>", "no JSON array"},
        {200, "[{\"name\":\"x\"}]", "has no authentication.audiences"},
        {200, "[{\"authentication\":{\"audiences\":[7]}}]", "has no authentication.audiences"},
        {200, "[7]", "has no authentication.audiences"},
        {404, "[]", "it answered 404"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_cloud c;
        kit_serve(k, rows[i].status, rows[i].body);
        assert_int_equal(find(k, "", test_server_url(k->server, ""), NULL, &c), ERR_INVALID);
        if (strstr(k->err.message, rows[i].says) == NULL ||
            strstr(k->err.message, "resourceManagerEndpoint http://127.0.0.1:") == NULL) {
            fail_msg("row %zu: %s", i, k->err.message);
        }
    }
}

static void metadata__no_url__is_refused(void **state)
{
    struct kit *k = *state;
    struct azure_cloud c;
    assert_int_equal(find(k, "", "management.local", NULL, &c), ERR_INVALID);
    assert_int_equal(find(k, "", "ftp://management.local", NULL, &c), ERR_INVALID);
}

#define FILE_TEXT                                                                                  \
    "{\"resourceManagerEndpoint\":\"http://127.0.0.1:1/\",\"tokenAudience\":\"http://aud/\","      \
    "\"activeDirectoryEndpoint\":\"http://127.0.0.1:2\"}"

static void environment_file__counts_on_azure_stack_only(void **state)
{
    struct kit *k = *state;
    struct azure_cloud c;
    const char *path = kit_path(k, "env.json");
    assert_int_equal(file_write_atomic(path, FILE_TEXT, strlen(FILE_TEXT), 0600, NULL), ERR_OK);
    assert_int_equal(find(k, "AzureStackCloud", "", path, &c), ERR_OK);
    same_text("arm", c.arm, "http://127.0.0.1:1");
    same_text("audience", c.audience, "http://aud/");
    same_text("authority", c.authority, "http://127.0.0.1:2/");
    assert_int_equal(find(k, "AzureCloud", "", path, &c), ERR_OK);
    same_text("arm", c.arm, "https://management.azure.com");
    assert_int_equal(find(k, "AzureStackCloud", "", kit_path(k, "none"), &c), ERR_NOT_FOUND);
}

static void environment_file__tokens_do_not_go_over_plain_http_to_a_safe_api(void **state)
{
    struct kit *k = *state;
    struct azure_cloud c;
    static const char text[] = "{\"activeDirectoryEndpoint\":\"http://login.local/\"}";
    const char *path = kit_path(k, "env.json");
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), ERR_OK);
    assert_int_equal(find(k, "AzureStackCloud", "", path, &c), ERR_INVALID);
    same_text("message", k->err.message,
              "the identity authority http://login.local/ must be https, as "
              "https://management.azure.com is");
}

UNIT_MAIN(cloud)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(by_name__1_5),
        KIT_TEST(metadata__the_element_of_the_name_counts),
        KIT_TEST(metadata__no_answer_of_a_cloud__is_refused),
        KIT_TEST(metadata__no_url__is_refused),
        KIT_TEST(environment_file__counts_on_azure_stack_only),
        KIT_TEST(environment_file__tokens_do_not_go_over_plain_http_to_a_safe_api),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
