/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth_fetch.c: the requests by which a token is had, as a state machine (azure_auth.h,
 * struct azure_fetch).
 *
 * One endpoint per fetch: the metadata service, App Service's, or the identity authority's (a Key
 * Vault's token needs four:  azure_auth_vault.c).  What an endpoint says in words is not quoted,
 * because it may echo what we sent; its codes are.
 * Source: docs/spec/azure.md 2.2 to 2.7. */
#include "common/base/file.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url.h"
#include "common/net/url_build.h"
#include "providers/azure/arm/azure_auth_internal.h"
#include "providers/azure/arm/azure_identity.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

#define MAX_BODY       (1024 * 1024)
#define TRIES_MANAGED  6
#define TRIES_OAUTH    4
#define BACKOFF_MS     2000
#define BACKOFF_CAP_MS 30000
#define RETRY_AFTER_MS 60000 /* a longer wait is passed on */
#define LASTS_MIN_MS   60000
#define LASTS_MAX_MS   (48 * 3600 * 1000LL)
#define CLAIMS_MAX     16384
#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

enum phase {
    START = 0,
    ASKED,
};

void azure_fetch_begin(struct azure_fetch *f, struct azure_auth *auth, enum azure_tenant tenant,
                       struct arena *a)
{
    *f = (struct azure_fetch){.auth = auth, .tenant = tenant, .a = a};
}

static const struct azure_credentials *cred_of(const struct azure_fetch *f)
{
    return azure_auth_credentials(f->auth);
}

/* ---- managed identity (2.2) ------------------------------------------------------------------ */

void azure_fetch_ask_managed(struct azure_fetch *f, struct http_request *req, const char *audience)
{
    const struct azure_credentials *c = cred_of(f);
    bool app = c->identity_endpoint != NULL;
    struct url_build url;
    url_build_begin(&url, app ? c->identity_endpoint : c->imds);
    if (app) {
        url_build_pair(&url, "api-version", "2019-08-01");
        f->headers[0] = (struct http_header){"X-IDENTITY-HEADER", c->identity_header};
    } else {
        url_build_path(&url, "path", "metadata/identity/oauth2/token");
        url_build_pair(&url, "api-version", "2018-02-01");
        f->headers[0] = (struct http_header){"Metadata", "true"};
    }
    url_build_pair(&url, "resource", audience);
    if (!str_is_empty(c->identity)) {
        const char *upper = str_upper(f->a, c->identity);
        bool is_id = strstr(upper, "/SUBSCRIPTIONS/") != NULL;
        const char *by_id = app ? "mi_res_id" : "msi_res_id";
        url_build_pair(&url, is_id ? by_id : "client_id", c->identity);
    }
    *req = (struct http_request){
        .api = REQUEST_API_METADATA,
        .op = "identityToken",
        .method = "GET",
        .url = url_build_text(&url, f->a),
        .headers = f->headers,
        .n_headers = 1,
        .connect_ms = 5000,
        .total_ms = 60000,
        .direct = true,
        .max_body = MAX_BODY,
        .not_before_ms = req->not_before_ms,
    };
}

/* ---- the identity authority (2.3 to 2.5) ----------------------------------------------------- */

/* Of the identity's file when it is one's own, as it stands now. */
static const char *tenant_of(const struct azure_fetch *f)
{
    const struct azure_identity *id = f->more;
    return id != NULL ? id->tenant_id : cred_of(f)->tenants[f->tenant];
}

static const char *client_of(const struct azure_fetch *f)
{
    const struct azure_identity *id = f->more;
    return id != NULL ? id->client_id : cred_of(f)->client_id;
}

static bool is_adfs(const struct azure_fetch *f)
{
    return azure_eq(tenant_of(f), "adfs");
}

static int read_identity(struct azure_fetch *f, struct err *err)
{
    char *text;
    size_t n;
    uint64_t generation;
    struct azure_identity *id = ARENA_NEW(f->a, struct azure_identity);
    int rc = file_watch_get(cred_of(f)->assertion, f->a, &text, &n, &generation, err);
    if (rc == ERR_OK) {
        rc = azure_identity_read(f->a, text, n, id, err);
    }
    if (rc != ERR_OK) {
        struct err why = *err;
        return err_set(err, ERR_AUTH, "access token: aadMSIDataPlaneIdentityPath %s: %s",
                       cred_of(f)->assertion_path, why.message);
    }
    f->more = id;
    return ERR_OK;
}

static int token_url(const struct azure_fetch *f, const char **ret, struct err *err)
{
    const struct azure_identity *id = f->more;
    const char *authority = id != NULL ? id->authority : azure_auth_cloud(f->auth)->authority;
    struct url_build b;
    url_build_begin(&b, authority);
    url_build_segment(&b, "tenant", is_adfs(f) ? "adfs" : tenant_of(f));
    url_build_path(&b, "path", is_adfs(f) ? "oauth2/token" : "oauth2/v2.0/token");
    return url_build_end(&b, f->a, ret, err);
}

/* The claims of a challenge, with the client's capability for challenges (CAE). */
static const char *claims_text(struct azure_fetch *f)
{
    const char *asked = azure_auth_claims(f->auth, f->tenant, f->a);
    unsigned char *text = NULL;
    size_t n = 0;
    struct json_object *o = NULL;
    bool usable = asked != NULL && strlen(asked) < CLAIMS_MAX &&
                  (str_base64_decode(f->a, asked, true, &text, &n) ||
                   str_base64_decode(f->a, asked, false, &text, &n)) &&
                  json_parse_arena(f->a, (const char *)text, n, NULL, &o, NULL) == ERR_OK &&
                  json_object_is_type(o, json_type_object);
    _cleanup_(json_putp) struct json_object *claims =
        usable ? json_copy(o) : json_object_new_object();
    struct json_object *access = json_member(claims, "access_token");
    if (!json_object_is_type(access, json_type_object)) {
        access = json_object_new_object();
        json_add(claims, "access_token", access);
    }
    static const char *const capable[] = {"CP1"};
    struct json_object *values = json_object_new_object();
    json_add(values, "values", json_strs(capable, 1));
    json_add(access, "xms_cc", values);
    return json_text(f->a, claims, JSON_COMPACT);
}

static int assertion_of(struct azure_fetch *f, const char *url, const char **ret, struct err *err)
{
    const struct azure_credentials *c = cred_of(f);
    char *text = NULL;
    if (c->kind == AZURE_AUTH_WORKLOAD) {
        size_t n;
        uint64_t generation;
        if (file_watch_get(c->assertion, f->a, &text, &n, &generation, err) != ERR_OK) {
            struct err why = *err;
            return err_set(err, ERR_AUTH, "access token: aadFederatedTokenFile: %s", why.message);
        }
        *ret = str_trim(f->a, text);
        return ERR_OK;
    }
    char jti[37];
    rng_uuid(rng_real(), jti);
    const struct azure_assertion about = {
        .audience = url,
        .client_id = client_of(f),
        .jti = jti,
        .now_s = clock_wall_s(azure_auth_clock(f->auth)),
        .adfs = is_adfs(f),
    };
    const struct azure_identity *id = f->more;
    if (azure_cert_sign(f->a, id != NULL ? id->cert : c->cert, &about, &text, err) != ERR_OK) {
        struct err why = *err;
        return err_set(err, ERR_AUTH, "access token: client certificate: %s", why.message);
    }
    *ret = text;
    return ERR_OK;
}

static int form_of(struct azure_fetch *f, const char *url, struct str_buf *b, struct err *err)
{
    const struct azure_credentials *c = cred_of(f);
    const char *audience = azure_auth_cloud(f->auth)->audience;
    url_append_pair(b, "grant_type", "client_credentials");
    url_append_pair(b, "client_id", client_of(f));
    if (is_adfs(f)) {
        url_append_pair(b, "resource", audience);
    } else {
        /* The audience ends in '/', and so upstream's scope has two (2.3). */
        url_append_pair(b, "scope", arena_printf(f->a, "%s/.default", audience));
        url_append_pair(b, "claims", claims_text(f));
    }
    if (c->kind == AZURE_AUTH_SECRET) {
        url_append_pair(b, "client_secret", c->secret);
        return ERR_OK;
    }
    const char *assertion;
    int rc = assertion_of(f, url, &assertion, err);
    if (rc == ERR_OK) {
        url_append_pair(b, "client_assertion_type", ASSERTION_TYPE);
        url_append_pair(b, "client_assertion", assertion);
    }
    return rc;
}

static int ask_authority(struct azure_fetch *f, struct http_request *req, struct err *err)
{
    if (cred_of(f)->kind == AZURE_AUTH_IDENTITY && read_identity(f, err) != ERR_OK) {
        return ERR_AUTH;
    }
    const char *url = NULL;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    int rc = token_url(f, &url, err);
    if (rc == ERR_OK) {
        rc = form_of(f, url, &b, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const char *form = str_buf_to_arena(&b, f->a);
    f->headers[0] = (struct http_header){"Content-Type", "application/x-www-form-urlencoded"};
    f->headers[1] = (struct http_header){"Accept", "application/json"};
    *req = (struct http_request){
        .api = REQUEST_API_TOKEN,
        .op = "directoryToken",
        .method = "POST",
        .url = url,
        .headers = f->headers,
        .n_headers = 2,
        .body = form,
        .body_len = strlen(form),
        .total_ms = 60000,
        .max_body = MAX_BODY,
        .not_before_ms = req->not_before_ms,
    };
    return ERR_OK;
}

static enum http_next ask(struct azure_fetch *f, struct http_request *req, struct err *err)
{
    if (cred_of(f)->kind == AZURE_AUTH_MANAGED) {
        azure_fetch_ask_managed(f, req, azure_auth_cloud(f->auth)->audience);
    } else if (ask_authority(f, req, err) != ERR_OK) {
        return HTTP_DONE;
    }
    f->phase = ASKED;
    return HTTP_SEND;
}

/* ---- answers --------------------------------------------------------------------------------- */

static int64_t bounded_ms(int64_t s)
{
    return s > LASTS_MAX_MS / 1000 ? LASTS_MAX_MS : s * 1000;
}

/* expires_in is the issuer's own count; expires_on is a moment of its clock, and ours may be hours
 * off, so a token that was made just now is never over already. */
static int64_t lasts_ms(const struct azure_fetch *f, struct json_object *o)
{
    int64_t in_s = json_int(o, "expires_in", 0);
    int64_t on_s = json_int(o, "expires_on", 0);
    if (in_s > 0) {
        return bounded_ms(in_s);
    }
    if (on_s <= 0) {
        return 0;
    }
    int64_t left = on_s - clock_wall_s(azure_auth_clock(f->auth));
    return left < LASTS_MIN_MS / 1000 ? LASTS_MIN_MS : bounded_ms(left);
}

/* A header cannot carry anything else. */
bool azure_fetch_is_token(const char *s)
{
    for (const char *p = s; *p != '\0'; p++) {
        if (*p <= ' ' || *p > '~') {
            return false;
        }
    }
    return *s != '\0';
}

static const char *read_token(struct azure_fetch *f, const struct http_response *resp,
                              int64_t *ret_lasts_ms, int64_t *ret_refresh_s)
{
    struct json_object *o;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return NULL;
    }
    const char *token = str_nonnull(json_str(o, "access_token"));
    *ret_lasts_ms = lasts_ms(f, o);
    *ret_refresh_s = json_int(o, "refresh_in", 0);
    return azure_fetch_is_token(token) && *ret_lasts_ms > 0 ? token : NULL;
}

const char *azure_fetch_token_of(struct azure_fetch *f, const struct http_response *resp)
{
    int64_t lasts;
    int64_t refresh_s;
    return read_token(f, resp, &lasts, &refresh_s);
}

static bool take_token(struct azure_fetch *f, const struct http_response *resp)
{
    int64_t lasts;
    int64_t refresh_s;
    const char *token = read_token(f, resp, &lasts, &refresh_s);
    if (token == NULL) {
        return false;
    }
    azure_auth_store(f->auth, f->tenant, token, lasts, refresh_s > 0 ? bounded_ms(refresh_s) : 0);
    return true;
}

/* " (invalid_client, AADSTS7000215)": the endpoint's own codes, when they look like such. */
static const char *codes_of(struct azure_fetch *f, const struct http_response *resp)
{
    struct json_object *o;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return "";
    }
    const char *word = str_nonnull(json_str(o, "error"));
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
    if (n == 0 || n > 40 || word[n] != '\0') {
        return "";
    }
    const char *more = strstr(str_nonnull(json_str(o, "error_description")), "AADSTS");
    size_t digits = more != NULL ? strspn(more + 6, "0123456789") : 0;
    return digits > 0 && digits < 12
               ? arena_printf(f->a, " (%s, %.*s)", word, (int)digits + 6, more)
               : arena_printf(f->a, " (%s)", word);
}

static const char *advice(const struct azure_fetch *f, int status)
{
    const struct azure_credentials *c = cred_of(f);
    switch (c->kind) {
    case AZURE_AUTH_MANAGED:
        if (f->tenant == AZURE_TENANT_NETWORK && c->vault != NULL) {
            return "check auxiliaryTokenProvider: may the identity read the vault and its secret, "
                   "and is the "
                   "token in it still valid?";
        }
        return status == 400 ? "is the identity assigned to this machine? see "
                               "userAssignedIdentityID in the cloud config"
                             : "away from Azure set aadClientSecret or aadClientCertPath";
    case AZURE_AUTH_WORKLOAD:
        return "check aadClientId, tenantId and the federated credential of the identity";
    case AZURE_AUTH_CERTIFICATE:
        return "check aadClientId and tenantId; is the certificate registered and still valid?";
    case AZURE_AUTH_IDENTITY:
        return "is the file of aadMSIDataPlaneIdentityPath still renewed?";
    case AZURE_AUTH_SECRET:
        break;
    }
    return "check aadClientId, aadClientSecret and tenantId; has the secret expired?";
}

/* Scheme, host and port: enough to know who was asked. */
static const char *origin_of(const struct azure_fetch *f, const char *text)
{
    struct url u;
    return url_parse(f->a, text, &u, NULL) == ERR_OK ? url_origin(f->a, &u) : "a malformed URL";
}

/* 404 and 410: the metadata service is refreshing the identity (2.2). */
static bool is_passing(const struct azure_fetch *f, const struct http_response *resp,
                       const struct err *err)
{
    if (resp->status == 0) {
        return err->code == ERR_TRANSIENT;
    }
    bool refreshing = resp->status == 404 || resp->status == 410;
    return retry_classify(resp->status) != ERR_OK ||
           (cred_of(f)->kind == AZURE_AUTH_MANAGED && refreshing);
}

static bool again(struct azure_fetch *f, struct http_request *req, int64_t asked_ms, double unit)
{
    int most = f->once ? 1 : cred_of(f)->kind == AZURE_AUTH_MANAGED ? TRIES_MANAGED : TRIES_OAUTH;
    if (++f->tries >= most || asked_ms > RETRY_AFTER_MS) {
        return false;
    }
    int64_t wait = (int64_t)BACKOFF_MS << (f->tries - 1);
    wait = wait > BACKOFF_CAP_MS ? BACKOFF_CAP_MS : wait;
    wait = asked_ms > 0 ? asked_ms : (int64_t)(unit * (double)wait);
    req->not_before_ms = clock_now_ms(azure_auth_clock(f->auth)) + wait;
    return true;
}

bool azure_fetch_again(struct azure_fetch *f, struct http_request *req,
                       const struct http_response *resp, double unit, struct err *err)
{
    int64_t asked = http_retry_after_ms(resp, clock_wall_s(azure_auth_clock(f->auth)));
    bool yes = is_passing(f, resp, err) && again(f, req, asked, unit);
    if (yes) {
        err_clear(err);
    }
    return yes;
}

enum http_next azure_fetch_failed(struct azure_fetch *f, const struct http_request *req,
                                  const struct http_response *resp, struct err *err)
{
    int64_t asked_ms = http_retry_after_ms(resp, clock_wall_s(azure_auth_clock(f->auth)));
    const char *origin = cred_of(f)->origin;
    struct err why = *err;
    if (resp->status == 0) {
        bool cancelled = why.code == ERR_CANCELLED;
        (void)err_set(err, why.code, "access token: %s: %.600s%s%s", origin, why.message,
                      cancelled ? "" : "; ", cancelled ? "" : advice(f, 0));
        return HTTP_DONE;
    }
    int code = is_passing(f, resp, err) ? ERR_TRANSIENT : ERR_AUTH;
    const char *where = origin_of(f, req->url);
    if (resp->status == 200) {
        (void)err_set(err, ERR_AUTH, "access token: %s: the answer of %s holds no token; %s",
                      origin, where, advice(f, 200));
    } else {
        (void)err_set(err, code, "access token: %s: %s answered %d%s; %s", origin, where,
                      resp->status, codes_of(f, resp), advice(f, resp->status));
    }
    err->http_status = resp->status;
    err->retry_after_ms = asked_ms;
    return HTTP_DONE;
}

enum http_next azure_fetch_step(struct azure_fetch *f, struct http_request *req,
                                const struct http_response *resp, double unit, struct err *err)
{
    if (f->tenant == AZURE_TENANT_NETWORK && cred_of(f)->vault != NULL) {
        return azure_vault_step(f, req, resp, unit, err);
    }
    if (f->phase == START || resp == NULL) {
        req->not_before_ms = 0;
        return ask(f, req, err);
    }
    if (resp->status == 200 && take_token(f, resp)) {
        return HTTP_DONE;
    }
    if (azure_fetch_again(f, req, resp, unit, err)) {
        return ask(f, req, err);
    }
    if (cred_of(f)->assertion != NULL) {
        file_watch_expire(cred_of(f)->assertion); /* it may have been renewed meanwhile */
    }
    return azure_fetch_failed(f, req, resp, err);
}
