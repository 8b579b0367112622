/* SPDX-License-Identifier: Apache-2.0 */
/* azure_cloud.c: see azure_cloud.h.
 *
 * Nothing global is changed on the way, so two providers of one process may be in two clouds. */
#include "providers/azure/arm/azure_cloud.h"

#include "common/base/file.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

#define METADATA_PATH    "metadata/endpoints"
#define METADATA_VERSION "2019-05-01"
#define METADATA_MAX     (1024 * 1024)
#define METADATA_TRIES   4
#define FILE_MAX         (1024 * 1024)

struct azure_cloud azure_cloud_by_name(struct arena *a, const char *name)
{
    static const struct {
        const char *name;
        struct azure_cloud cloud;
    } rows[] = {
        {"AZURECHINACLOUD",
         {"https://management.chinacloudapi.cn", "https://management.core.chinacloudapi.cn/",
          "https://login.chinacloudapi.cn/"}},
        {"AZUREUSGOVERNMENT",
         {"https://management.usgovcloudapi.net", "https://management.core.usgovcloudapi.net/",
          "https://login.microsoftonline.us/"}},
        {"AZUREUSGOVERNMENTCLOUD",
         {"https://management.usgovcloudapi.net", "https://management.core.usgovcloudapi.net/",
          "https://login.microsoftonline.us/"}},
    };
    const char *trimmed = str_trim(a, name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (azure_eq(trimmed, rows[i].name)) {
            return rows[i].cloud;
        }
    }
    return (struct azure_cloud){"https://management.azure.com",
                                "https://management.core.windows.net/",
                                "https://login.microsoftonline.com/"};
}

static const char *without_slash(struct arena *a, const char *url)
{
    size_t n = strlen(url);
    return n > 0 && url[n - 1] == '/' ? arena_strndup(a, url, n - 1) : url;
}

static const char *with_slash(struct arena *a, const char *url)
{
    return str_has_suffix(url, "/") ? url : arena_printf(a, "%s/", url);
}

/* ---- the metadata endpoint (1.5, override 1) ------------------------------------------------- */

/* Sent again after failures that pass; so a start does not depend on one packet. */
struct ask {
    struct clock *clock;
    struct arena *a;
    int tries;
    char *body; /* of the answer, or NULL */
    size_t body_len;
};

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct ask *ask = job->arg;
    if (resp == NULL) {
        return HTTP_SEND;
    }
    bool passing =
        resp->status == 0 ? job->err.code == ERR_TRANSIENT : retry_classify(resp->status) != ERR_OK;
    if (passing && ++ask->tries < METADATA_TRIES) {
        err_clear(&job->err);
        job->req.not_before_ms = clock_now_ms(ask->clock) + (500LL << ask->tries);
        return HTTP_SEND;
    }
    if (resp->status == 200) {
        ask->body = arena_strndup(ask->a, resp->body, resp->body_len);
        ask->body_len = strlen(ask->body);
    } else if (resp->status != 0) {
        (void)err_set(&job->err, passing ? ERR_TRANSIENT : ERR_INVALID, "it answered %d",
                      resp->status);
    }
    return HTTP_DONE;
}

/* The element of that name; without a name the first one. */
static struct json_object *element_of(struct json_object *array, const char *name)
{
    for (size_t i = 0; i < json_len(array); i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (str_is_empty(name) || azure_eq(str_nonnull(json_str(o, "name")), name)) {
            return o;
        }
    }
    return NULL;
}

static int take_element(struct arena *a, const struct azure_config *c, struct json_object *o,
                        struct azure_cloud *cloud, struct err *err)
{
    struct json_object *authentication = json_member(o, "authentication");
    struct json_object *audiences = json_member(authentication, "audiences");
    struct json_object *first =
        json_len(audiences) > 0 ? json_object_array_get_idx(audiences, 0) : NULL;
    if (!json_object_is_type(first, json_type_string)) {
        return err_set(err, ERR_INVALID, "the cloud \"%s\" has no authentication.audiences",
                       str_nonnull(json_str(o, "name")));
    }
    const char *arm = str_or(json_str(o, "resourceManager"), c->resource_manager_endpoint);
    const char *login = json_str(authentication, "loginEndpoint");
    cloud->arm = arena_strdup(a, without_slash(a, arm));
    cloud->audience = arena_strdup(a, json_object_get_string(first));
    if (!str_is_empty(login)) {
        cloud->authority = arena_strdup(a, with_slash(a, login));
    }
    return ERR_OK;
}

static int ask_metadata(struct arena *a, const struct azure_config *c,
                        const struct azure_cloud_reach *reach, struct azure_cloud *cloud,
                        struct err *err)
{
    struct ask ask = {.clock = reach->clock, .a = a};
    struct http_job job = {.step = step, .arg = &ask, .cancel = reach->cancel};
    struct http_job *jobs[] = {&job};
    struct url_build url;
    url_build_begin(&url, c->resource_manager_endpoint);
    url_build_path(&url, "path", METADATA_PATH);
    url_build_pair(&url, "api-version", METADATA_VERSION);
    job.req = (struct http_request){
        .api = REQUEST_API_METADATA,
        .op = "endpoints",
        .method = "GET",
        .url = url_build_text(&url, a),
        .connect_ms = 5000, /* a start waits for it */
        .total_ms = 15000,
        .max_body = METADATA_MAX,
    };
    http_run(reach->http, jobs, 1);
    if (ask.body == NULL) {
        return err_copy(err, &job.err);
    }
    struct json_object *array;
    if (json_parse_arena(a, ask.body, ask.body_len, NULL, &array, NULL) != ERR_OK ||
        !json_object_is_type(array, json_type_array)) {
        return err_set(err, ERR_INVALID, "its answer is no JSON array of clouds");
    }
    struct json_object *o = element_of(array, c->cloud);
    return o != NULL ? take_element(a, c, o, cloud, err) : ERR_OK;
}

/* ---- the environment file (1.5, override 2) -------------------------------------------------- */

static int read_environment(struct arena *a, const char *path, struct azure_cloud *cloud,
                            struct err *err)
{
    char *text;
    size_t n;
    struct json_object *o;
    int rc = file_read(a, path, FILE_MAX, &text, &n, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "AZURE_ENVIRONMENT_FILEPATH");
        return rc;
    }
    rc = json_parse_arena(a, text, n, NULL, &o, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "AZURE_ENVIRONMENT_FILEPATH %s", path);
        return rc;
    }
    const char *arm = json_str(o, "resourceManagerEndpoint");
    const char *audience = json_str(o, "tokenAudience");
    const char *authority = json_str(o, "activeDirectoryEndpoint");
    if (!str_is_empty(arm) && !str_is_empty(audience)) {
        cloud->arm = arena_strdup(a, without_slash(a, arm));
        cloud->audience = arena_strdup(a, audience);
    }
    if (!str_is_empty(authority)) {
        cloud->authority = arena_strdup(a, with_slash(a, authority));
    }
    return ERR_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int check_url(struct arena *a, const char *what, const char *text, struct err *err)
{
    struct url u;
    bool usable = url_parse(a, text, &u, NULL) == ERR_OK &&
                  (str_eq(u.scheme, "http") || str_eq(u.scheme, "https")) && !str_is_empty(u.host);
    return usable
               ? ERR_OK
               : err_set(err, ERR_INVALID, "%s \"%s\" is no http:// or https:// URL", what, text);
}

/* An eavesdropper can use tokens: a secret goes over plain HTTP only where the API itself does. */
static int check_cloud(struct arena *a, const struct azure_cloud *cloud, struct err *err)
{
    int rc = check_url(a, "the endpoint of Azure Resource Manager", cloud->arm, err);
    if (rc == ERR_OK) {
        rc = check_url(a, "the identity authority", cloud->authority, err);
    }
    if (rc == ERR_OK && str_has_prefix(cloud->arm, "https:") &&
        !str_has_prefix(cloud->authority, "https:")) {
        rc = err_set(err, ERR_INVALID, "the identity authority %s must be https, as %s is",
                     cloud->authority, cloud->arm);
    }
    return rc;
}

int azure_cloud_find(struct arena *a, const struct azure_config *c, const struct azure_env *env,
                     const struct azure_cloud_reach *reach, struct azure_cloud *ret,
                     struct err *err)
{
    struct azure_cloud cloud = azure_cloud_by_name(a, c->cloud);
    int rc = ERR_OK;
    if (!str_is_empty(c->resource_manager_endpoint)) {
        rc = check_url(a, "it", c->resource_manager_endpoint, err);
        if (rc == ERR_OK) {
            rc = ask_metadata(a, c, reach, &cloud, err);
        }
        if (rc != ERR_OK) {
            (void)err_prefix(err, "resourceManagerEndpoint %s", c->resource_manager_endpoint);
        }
    }
    if (rc == ERR_OK && azure_eq(c->cloud, "AZURESTACKCLOUD") &&
        !str_is_empty(env->environment_file)) {
        rc = read_environment(a, env->environment_file, &cloud, err);
    }
    if (rc == ERR_OK) {
        rc = check_cloud(a, &cloud, err);
    }
    if (rc == ERR_OK) {
        *ret = cloud;
    }
    return rc;
}
