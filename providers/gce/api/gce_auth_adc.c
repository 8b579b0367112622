/* SPDX-License-Identifier: Apache-2.0 */
/* gce_auth_adc.c: where credentials come from: gce.conf, a credentials file, or the metadata
 * server.
 *
 * Source: gce-cloud-provider.md §2.2, §2.3 (search order of Application Default Credentials),
 * §2.4, §2.6.  Federated and impersonated credentials are refused by name: they come with a
 * later version. */
#include "common/base/file.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/net/url_build.h"
#include "providers/gce/api/gce_auth.h"

#include <stdlib.h>
#include <string.h>

#define METADATA_ADDRESS "169.254.169.254"
#define TOKEN_ENDPOINT   "https://oauth2.googleapis.com/token"
#define WELL_KNOWN_FILE  ".config/gcloud/application_default_credentials.json"
#define MAX_FILE         (1024 * 1024)

static const char *from_env(const struct gce_auth_config *cfg, const char *name)
{
    return cfg->env != NULL ? cfg->env(name) : getenv(name);
}

const char *gce_metadata_base(struct arena *a, const char *(*env)(const char *name))
{
    const char *host = env != NULL ? env("GCE_METADATA_HOST") : getenv("GCE_METADATA_HOST");
    return url_join(a, "http://", str_or(host, METADATA_ADDRESS));
}

static const char *dup_member(struct arena *a, struct json_object *o, const char *name)
{
    return arena_strdup(a, str_nonnull(json_str(o, name)));
}

/* The assertion sent there is worth a token. */
static int check_token_uri(const struct gce_credentials *c, struct err *err)
{
    if (str_has_prefix(c->token_url, "https://") || str_has_prefix(c->token_url, "http://")) {
        return ERR_OK;
    }
    return err_set(err, ERR_AUTH, "%s: token_uri is no http:// or https:// URL", c->origin);
}

static int service_account(struct arena *a, struct json_object *o, struct gce_credentials *c,
                           struct err *err)
{
    const char *pem = json_str(o, "private_key");
    c->kind = GCE_AUTH_SERVICE_ACCOUNT;
    c->client_email = dup_member(a, o, "client_email");
    c->key_id = dup_member(a, o, "private_key_id");
    c->token_url = arena_strdup(a, str_or(json_str(o, "token_uri"), TOKEN_ENDPOINT));
    if (pem == NULL || *c->client_email == '\0') {
        return err_set(err, ERR_AUTH, "%s: a service account needs client_email and private_key",
                       c->origin);
    }
    if (check_token_uri(c, err) != ERR_OK) {
        return ERR_AUTH;
    }
    int rc = jwt_key_parse(pem, strlen(pem), &c->key, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s: private_key", c->origin);
        return ERR_AUTH;
    }
    return ERR_OK;
}

static int authorized_user(struct arena *a, struct json_object *o, struct gce_credentials *c,
                           struct err *err)
{
    c->kind = GCE_AUTH_USER;
    c->client_id = dup_member(a, o, "client_id");
    c->client_secret = dup_member(a, o, "client_secret");
    c->refresh_token = dup_member(a, o, "refresh_token");
    c->token_url = arena_strdup(a, str_or(json_str(o, "token_uri"), TOKEN_ENDPOINT));
    if (*c->client_id == '\0' || *c->refresh_token == '\0') {
        return err_set(err, ERR_AUTH, "%s: an authorized user needs client_id and refresh_token",
                       c->origin);
    }
    return check_token_uri(c, err);
}

static int read_credentials(struct arena *a, const char *path, struct gce_credentials *c,
                            struct err *err)
{
    _cleanup_(json_putp) struct json_object *o = NULL;
    char *text;
    size_t n;
    c->origin = arena_strdup(a, path);
    if (file_read(a, path, MAX_FILE, &text, &n, err) != ERR_OK) {
        (void)err_prefix(err, "application default credentials (GOOGLE_APPLICATION_CREDENTIALS)");
        return err == NULL ? ERR_AUTH : (err->code = ERR_AUTH);
    }
    struct err why = ERR_INIT;
    if (json_parse(text, n, NULL, &o, &why) != ERR_OK) {
        return err_set(err, ERR_AUTH, "%s: no JSON: %s; create the key again", path, why.message);
    }
    c->quota_project = dup_member(a, o, "quota_project_id");
    const char *type = str_nonnull(json_str(o, "type"));
    const char *universe = json_str(o, "universe_domain");
    if (!str_is_empty(universe) && !str_eq(universe, "googleapis.com")) {
        return err_set(err, ERR_AUTH, "%s: universe %s is not supported", path, universe);
    }
    if (str_eq(type, "service_account")) {
        return service_account(a, o, c, err);
    }
    if (str_eq(type, "authorized_user")) {
        return authorized_user(a, o, c, err);
    }
    if (*type == '\0') {
        return err_set(err, ERR_AUTH,
                       "%s: has no member \"type\"; want a service-account key or the file that "
                       "gcloud auth application-default login writes",
                       path);
    }
    return err_set(err, ERR_AUTH,
                   "%s: credentials of type \"%s\" are not supported; allowed: service_account, "
                   "authorized_user",
                   path, type);
}

static int application_default(struct arena *a, const struct gce_auth_config *cfg,
                               struct gce_credentials *c, struct err *err)
{
    const char *path = from_env(cfg, "GOOGLE_APPLICATION_CREDENTIALS");
    if (!str_is_empty(path)) {
        return read_credentials(a, path, c, err);
    }
    const char *home = from_env(cfg, "HOME");
    if (!str_is_empty(home)) {
        char *text;
        size_t n;
        path = arena_printf(a, "%s/%s", home, WELL_KNOWN_FILE);
        if (file_read(a, path, MAX_FILE, &text, &n, NULL) == ERR_OK) {
            return read_credentials(a, path, c, err);
        }
    }
    c->metadata_scopes = true;
    return ERR_OK;
}

int gce_credentials_find(struct arena *a, const struct gce_auth_config *cfg,
                         struct gce_credentials *ret, struct err *err)
{
    struct gce_credentials c = {
        .kind = GCE_AUTH_METADATA,
        .metadata_base = gce_metadata_base(a, cfg->env),
        .token_body = "",
        .quota_project = "",
        .origin = "metadata server",
    };
    if (str_eq(cfg->token_url, "nil")) {
        int rc = application_default(a, cfg, &c, err);
        if (rc != ERR_OK) {
            return rc;
        }
        const char *quota = from_env(cfg, "GOOGLE_CLOUD_QUOTA_PROJECT");
        if (!str_is_empty(quota)) {
            c.quota_project = arena_strdup(a, quota);
        }
    } else if (!str_is_empty(cfg->token_url)) {
        c.kind = GCE_AUTH_TOKEN_URL;
        c.token_url = arena_strdup(a, cfg->token_url);
        c.token_body = arena_strdup(a, str_nonnull(cfg->token_body));
        c.origin = "token-url";
    }
    *ret = c;
    return ERR_OK;
}
