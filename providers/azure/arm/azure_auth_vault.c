/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth_vault.c: the token of the networks' tenant from a Key Vault (auxiliaryTokenProvider),
 * as a state machine.
 *
 *     token for Azure Resource Manager → where the vault is → token for vaults → the secret
 *
 * Both tokens are the managed identity's.  The secret's value is {"access_token","expires_on"}:
 * another program puts a new one there in time.  Source: docs/spec/azure.md 2.6; Key Vault's REST
 * API, api-versions 2023-07-01 (vaults), 7.4 (secrets). */
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/url.h"
#include "common/net/url_build.h"
#include "providers/azure/arm/azure_auth_internal.h"

#include <string.h>

#define MAX_BODY (1024 * 1024)

enum phase {
    ARM_TOKEN = 0,
    VAULT,
    VAULT_TOKEN,
    SECRET,
};
struct state {
    enum phase phase;
    const char *bearer;
    const char *vault_uri; /* without a '/' at the end */
};

static void ask(struct azure_fetch *f, struct http_request *req, const char *url)
{
    const struct state *s = f->more;
    f->headers[0] = (struct http_header){"Accept", "application/json"};
    *req = (struct http_request){
        .api = REQUEST_API_TOKEN,
        .op = s->phase == VAULT ? "vault" : "vaultSecret",
        .method = "GET",
        .url = url,
        .headers = f->headers,
        .n_headers = 1,
        .bearer = s->bearer,
        .total_ms = 60000,
        .max_body = MAX_BODY,
        .not_before_ms = req->not_before_ms,
    };
}

/* "https://vault.azure.net" for "https://NAME.vault.azure.net". */
static const char *audience_of(struct azure_fetch *f, const char *vault_uri)
{
    struct url u;
    const char *dot = NULL;
    if (url_parse(f->a, vault_uri, &u, NULL) == ERR_OK) {
        dot = strchr(u.host, '.');
    }
    return dot != NULL ? url_origin(f->a, &(struct url){.scheme = "https", .host = dot + 1})
                       : vault_uri;
}

static enum http_next send(struct azure_fetch *f, struct http_request *req, struct err *err)
{
    const struct state *s = f->more;
    const struct azure_vault *v = azure_auth_credentials(f->auth)->vault;
    const struct azure_cloud *cloud = azure_auth_cloud(f->auth);
    const char *url = NULL;
    struct url_build b;
    switch (s->phase) {
    case ARM_TOKEN:
        azure_fetch_ask_managed(f, req, cloud->audience);
        return HTTP_SEND;
    case VAULT_TOKEN:
        azure_fetch_ask_managed(f, req, audience_of(f, s->vault_uri));
        return HTTP_SEND;
    case VAULT:
        url_build_begin(&b, cloud->arm);
        url_build_path(&b, "path", "subscriptions");
        url_build_segment(&b, "subscriptionID", v->subscription_id);
        url_build_path(&b, "path", "resourceGroups");
        url_build_segment(&b, "resourceGroup", v->resource_group);
        url_build_path(&b, "path", "providers/Microsoft.KeyVault/vaults");
        url_build_segment(&b, "vaultName", v->vault_name);
        url_build_pair(&b, "api-version", "2023-07-01");
        break;
    case SECRET:
        url_build_begin(&b, s->vault_uri);
        url_build_path(&b, "path", "secrets");
        url_build_segment(&b, "secretName", v->secret_name);
        url_build_pair(&b, "api-version", "7.4");
        break;
    }
    if (url_build_end(&b, f->a, &url, err) != ERR_OK) {
        (void)err_prefix(err, "auxiliaryTokenProvider");
        return HTTP_DONE;
    }
    ask(f, req, url);
    return HTTP_SEND;
}

/* A vault gets a token for vaults: it must be where the cloud says, and as safe as the
 * cloud's own API. */
static const char *take_uri(struct azure_fetch *f, const struct http_response *resp)
{
    struct json_object *o = NULL;
    struct url u;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return NULL;
    }
    const char *uri = json_str(json_member(o, "properties"), "vaultUri");
    if (url_parse(f->a, str_nonnull(uri), &u, NULL) != ERR_OK || u.userinfo != NULL) {
        return NULL;
    }
    bool safe =
        str_eq(u.scheme, "https") ||
        (str_eq(u.scheme, "http") && str_has_prefix(azure_auth_cloud(f->auth)->arm, "http:"));
    return safe ? url_origin(f->a, &u) : NULL;
}

/* Seconds since 1970, or RFC 3339, as writers of the secret spell it. */
static int64_t ends_us(struct json_object *o)
{
    int64_t us = 0;
    const char *text = json_str(o, "expires_on");
    if (text != NULL && time_parse_rfc3339(text, &us)) {
        return us;
    }
    int64_t s = json_int(o, "expires_on", 0);
    return s > 0 && s < INT64_MAX / 1000000 ? s * 1000000 : 0;
}

static bool take_secret(struct azure_fetch *f, const struct http_response *resp)
{
    struct json_object *answer = NULL;
    struct json_object *o = NULL;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &answer, NULL) != ERR_OK) {
        return false;
    }
    const char *value = str_nonnull(json_str(answer, "value"));
    if (json_parse_arena(f->a, value, strlen(value), NULL, &o, NULL) != ERR_OK) {
        return false;
    }
    const char *token = json_str(o, "access_token");
    int64_t left_ms = (ends_us(o) - clock_wall_us(azure_auth_clock(f->auth))) / 1000;
    if (!azure_fetch_is_token(str_nonnull(token)) || left_ms <= 0) {
        return false;
    }
    azure_auth_store(f->auth, f->tenant, token, left_ms, 0);
    return true;
}

/* False: the answer does not say what was asked for. */
static bool take(struct azure_fetch *f, const struct http_response *resp)
{
    struct state *s = f->more;
    const char *text = NULL;
    switch (s->phase) {
    case ARM_TOKEN:
    case VAULT_TOKEN:
        text = azure_fetch_token_of(f, resp);
        s->bearer = text;
        break;
    case VAULT:
        text = take_uri(f, resp);
        s->vault_uri = text;
        break;
    case SECRET:
        return take_secret(f, resp);
    }
    return text != NULL;
}

enum http_next azure_vault_step(struct azure_fetch *f, struct http_request *req,
                                const struct http_response *resp, double unit, struct err *err)
{
    if (f->more == NULL || resp == NULL) {
        f->more = ARENA_NEW(f->a, struct state);
        req->not_before_ms = 0;
        return send(f, req, err);
    }
    struct state *s = f->more;
    if (resp->status == 200 && take(f, resp)) {
        if (s->phase == SECRET) {
            return HTTP_DONE;
        }
        s->phase++;
        f->tries = 0;
        req->not_before_ms = 0;
        return send(f, req, err);
    }
    /* The metadata service answers so in passing; vault and secret are not there. */
    bool absent = resp->status == 404 && (s->phase == VAULT || s->phase == SECRET);
    if (!absent && azure_fetch_again(f, req, resp, unit, err)) {
        return send(f, req, err);
    }
    enum http_next next = azure_fetch_failed(f, req, resp, err);
    err->code = absent ? ERR_AUTH : err->code;
    return next;
}
