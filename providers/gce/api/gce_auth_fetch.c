/* SPDX-License-Identifier: Apache-2.0 */
/* gce_auth_fetch.c: the requests by which a token is had, as a state machine (gce_auth.h, struct
 * gce_fetch).
 *
 * Source: gce-cloud-provider.md §1.5 (metadata server: headers, retries), §2.1, §2.2, §2.4, §2.6. */
#include "providers/gce/api/gce_auth.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url.h"
#include "common/net/url_build.h"

#include <string.h>

#define TOKEN_PATH     "/computeMetadata/v1/instance/service-accounts/default/token"
#define SCOPE          "https://www.googleapis.com/auth/cloud-platform"
#define MAX_BODY       (1024 * 1024)
#define METADATA_TRIES 6 /* one and five retries */
#define BACKOFF_MS     100
#define BACKOFF_CAP_MS 30000
#define LASTS_MIN_MS   60000
#define LASTS_MAX_MS   (24 * 3600 * 1000LL) /* Google's tokens end within 12 hours */

enum phase {
    START = 0,
    METADATA,
    SOURCE,
};

void gce_fetch_begin(struct gce_fetch *f, struct gce_auth *auth, struct arena *a)
{
    *f = (struct gce_fetch){.auth = auth, .a = a};
}

static enum http_next fail(struct err *err, int code, const char *text)
{
    (void)err_set(err, code, "access token: %s", text);
    return HTTP_DONE;
}

/* Scheme, host and port; the rest of a URL may hold secrets. */
static const char *origin_of(struct gce_fetch *f, const char *text)
{
    struct url u;
    return url_parse(f->a, text, &u, NULL) == ERR_OK ? url_origin(f->a, &u) : "a malformed URL";
}

static const char *metadata_advice(int status)
{
    return status == 404
               ? "attach a service account to this machine, or set token-url = nil in the "
                 "cloud config and GOOGLE_APPLICATION_CREDENTIALS"
               : "GCE_METADATA_HOST names another one; away from Google set token-url = "
                 "nil in the cloud config and GOOGLE_APPLICATION_CREDENTIALS";
}

static const char *source_advice(const struct gce_credentials *c)
{
    return c->kind == GCE_AUTH_TOKEN_URL
               ? "check token-url and token-body in the cloud config"
               : "is the key still valid, the account enabled, and the clock right?";
}

/* "invalid_grant": the endpoint's own word (RFC 6749 §5.2), when it is one; descriptions may
 * echo what we sent. */
static const char *oauth_word(struct gce_fetch *f, const struct http_response *resp)
{
    struct json_object *o;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return "";
    }
    const char *word = str_nonnull(json_str(o, "error"));
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
    return word[n] == '\0' && n > 0 && n < 40 ? arena_printf(f->a, " (%s)", word) : "";
}

static enum http_next ask_metadata(struct gce_fetch *f, struct http_request *req)
{
    const struct gce_credentials *c = gce_auth_credentials(f->auth);
    struct url_build url;
    url_build_begin(&url, c->metadata_base);
    url_build_path(&url, "path", TOKEN_PATH);
    if (c->metadata_scopes) {
        url_build_pair(&url, "scopes", SCOPE);
    }
    f->headers[0] = (struct http_header){"Metadata-Flavor", "Google"};
    *req = (struct http_request){
        .api = REQUEST_API_METADATA,
        .op = "token",
        .method = "GET",
        .url = url_build_text(&url, f->a),
        .headers = f->headers,
        .n_headers = 1,
        .connect_ms = 2000,
        .total_ms = 5000,
        .direct = true,
        .max_body = MAX_BODY,
        .not_before_ms = req->not_before_ms,
    };
    f->phase = METADATA;
    return HTTP_SEND;
}

static enum http_next ask_token_url(struct gce_fetch *f, struct http_request *req)
{
    const struct gce_credentials *c = gce_auth_credentials(f->auth);
    *req = (struct http_request){
        .api = REQUEST_API_TOKEN,
        .op = "token-url",
        .method = "POST",
        .url = c->token_url,
        .body = c->token_body,
        .body_len = strlen(c->token_body),
        .bearer = f->metadata_token,
        .total_ms = 30000,
        .max_body = MAX_BODY,
        .not_before_ms = gce_auth_throttle_ms(f->auth),
    };
    f->phase = SOURCE;
    return HTTP_SEND;
}

static enum http_next post_form(struct gce_fetch *f, struct http_request *req, const char *form)
{
    f->headers[0] = (struct http_header){"Content-Type", "application/x-www-form-urlencoded"};
    *req = (struct http_request){
        .api = REQUEST_API_TOKEN,
        .op = "oauth2",
        .method = "POST",
        .url = gce_auth_credentials(f->auth)->token_url,
        .headers = f->headers,
        .n_headers = 1,
        .body = form,
        .body_len = strlen(form),
        .total_ms = 30000,
        .max_body = MAX_BODY,
    };
    f->phase = SOURCE;
    return HTTP_SEND;
}

static enum http_next ask_with_jwt(struct gce_fetch *f, struct http_request *req, struct err *err)
{
    const struct gce_credentials *c = gce_auth_credentials(f->auth);
    int64_t iat = clock_wall_s(gce_auth_clock(f->auth)) - 10;
    _cleanup_(json_putp) struct json_object *claims = json_object_new_object();
    json_add_str(claims, "iss", c->client_email);
    json_add_str(claims, "scope", SCOPE);
    json_add_str(claims, "aud", c->token_url);
    json_add_int(claims, "iat", iat);
    json_add_int(claims, "exp", iat + 3600);
    char *jwt;
    if (jwt_sign(f->a, c->key, c->key_id, claims, &jwt, err) != ERR_OK) {
        return HTTP_DONE;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    url_append_pair(&b, "assertion", jwt);
    url_append_pair(&b, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    return post_form(f, req, str_buf_to_arena(&b, f->a));
}

static enum http_next ask_as_user(struct gce_fetch *f, struct http_request *req)
{
    const struct gce_credentials *c = gce_auth_credentials(f->auth);
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    url_append_pair(&b, "client_id", c->client_id);
    url_append_pair(&b, "client_secret", c->client_secret);
    url_append_pair(&b, "grant_type", "refresh_token");
    url_append_pair(&b, "refresh_token", gce_auth_refresh_token(f->auth, f->a));
    return post_form(f, req, str_buf_to_arena(&b, f->a));
}

/* How long a token lasts that ends at this moment of the source's clock.  Ours may be hours off, so a token that was made
 * just now is never over already: Google's 401 knows better than two calendars. */
static int64_t lasts_until(struct gce_fetch *f, const char *when)
{
    int64_t end_us;
    if (when == NULL || !time_parse_rfc3339(when, &end_us)) {
        return 0;
    }
    int64_t ms = end_us / 1000 - clock_wall_us(gce_auth_clock(f->auth)) / 1000;
    return ms < LASTS_MIN_MS ? LASTS_MIN_MS : ms;
}

/* A header cannot carry anything else, so nothing else may be kept until it expires. */
static bool is_token(const char *s)
{
    const char *p = str_nonnull(s);
    while (*p > ' ' && *p <= '~') {
        p++;
    }
    return *p == '\0' && !str_is_empty(s);
}

/* {"access_token","expires_in"} of Google's endpoints, {"accessToken","expireTime"} of alternate
 * sources. */
static bool read_token(struct gce_fetch *f, const struct http_response *resp, const char **ret,
                       int64_t *ret_lasts_ms, const char **ret_refresh)
{
    struct json_object *o;
    if (json_parse_arena(f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return false;
    }
    const char *token = json_str(o, "access_token");
    int64_t lasts_s = json_int(o, "expires_in", 0);
    int64_t lasts_ms = lasts_s > LASTS_MAX_MS / 1000 ? LASTS_MAX_MS
                       : lasts_s > 0                 ? lasts_s * 1000
                                                     : 0;
    if (token == NULL) {
        token = json_str(o, "accessToken");
        lasts_ms = lasts_until(f, json_str(o, "expireTime"));
    }
    *ret = token;
    *ret_lasts_ms = lasts_ms > LASTS_MAX_MS ? LASTS_MAX_MS : lasts_ms;
    *ret_refresh = json_str(o, "refresh_token");
    return is_token(token) && lasts_ms > 0;
}

static bool again(struct gce_fetch *f, struct http_request *req, int status, double unit)
{
    bool transient = status == 0 || retry_classify(status) != ERR_OK;
    if (!transient || f->once || ++f->tries >= METADATA_TRIES) {
        return false;
    }
    int64_t most = BACKOFF_MS << (f->tries - 1);
    most = most > BACKOFF_CAP_MS ? BACKOFF_CAP_MS : most;
    req->not_before_ms = clock_now_ms(gce_auth_clock(f->auth)) + (int64_t)(unit * (double)most);
    return true;
}

static enum http_next metadata_failed(struct gce_fetch *f, int status, struct err *err)
{
    if (status == 0) {
        struct err why = *err;
        bool cancelled = why.code == ERR_CANCELLED;
        (void)err_set(err, why.code, "access token: metadata server: %.600s%s%s", why.message,
                      cancelled ? "" : "; ", cancelled ? "" : metadata_advice(0));
        return HTTP_DONE;
    }
    int code = retry_classify(status) != ERR_OK ? ERR_TRANSIENT : ERR_AUTH;
    return fail(err, code,
                arena_printf(f->a, "the metadata server %s answered %d; %s",
                             gce_auth_credentials(f->auth)->metadata_base, status,
                             metadata_advice(status)));
}

static enum http_next take_metadata(struct gce_fetch *f, struct http_request *req,
                                    const struct http_response *resp, double unit, struct err *err)
{
    const char *token;
    const char *refresh;
    int64_t lasts_ms;
    if (resp->status != 200) {
        if (again(f, req, resp->status, unit)) {
            err_clear(err);
            return ask_metadata(f, req);
        }
        return metadata_failed(f, resp->status, err);
    }
    if (!read_token(f, resp, &token, &lasts_ms, &refresh)) {
        return fail(err, ERR_AUTH,
                    arena_printf(f->a, "the answer of the metadata server %s holds no token; %s",
                                 gce_auth_credentials(f->auth)->metadata_base,
                                 metadata_advice(200)));
    }
    if (gce_auth_credentials(f->auth)->kind == GCE_AUTH_TOKEN_URL) {
        f->metadata_token = token;
        return ask_token_url(f, req);
    }
    gce_auth_store(f->auth, token, lasts_ms, NULL);
    return HTTP_DONE;
}

static enum http_next take_source(struct gce_fetch *f, const struct http_response *resp,
                                  struct err *err)
{
    const struct gce_credentials *c = gce_auth_credentials(f->auth);
    const char *token;
    const char *refresh;
    int64_t lasts_ms;
    bool answered = resp->status >= 200 && resp->status < 300;
    bool ok = answered && read_token(f, resp, &token, &lasts_ms, &refresh);
    if (c->kind == GCE_AUTH_TOKEN_URL) {
        gce_auth_count(f->auth, !ok);
    }
    if (ok) {
        gce_auth_store(f->auth, token, lasts_ms, refresh);
        return HTTP_DONE;
    }
    if (resp->status == 0) {
        (void)err_prefix(err, "access token: %s", c->origin);
        return HTTP_DONE;
    }
    if (answered) {
        return fail(err, ERR_AUTH,
                    arena_printf(f->a, "%s: the answer of %s holds no token; %s", c->origin,
                                 origin_of(f, c->token_url), source_advice(c)));
    }
    int code = retry_classify(resp->status) != ERR_OK ? ERR_TRANSIENT : ERR_AUTH;
    return fail(err, code,
                arena_printf(f->a, "%s: %s answered %d%s; %s", c->origin,
                             origin_of(f, c->token_url), resp->status, oauth_word(f, resp),
                             source_advice(c)));
}

enum http_next gce_fetch_step(struct gce_fetch *f, struct http_request *req,
                              const struct http_response *resp, double unit, struct err *err)
{
    if (f->phase == METADATA && resp != NULL) {
        return take_metadata(f, req, resp, unit, err);
    }
    if (f->phase == SOURCE && resp != NULL) {
        return take_source(f, resp, err);
    }
    switch (gce_auth_credentials(f->auth)->kind) {
    case GCE_AUTH_SERVICE_ACCOUNT:
        return ask_with_jwt(f, req, err);
    case GCE_AUTH_USER:
        return ask_as_user(f, req);
    case GCE_AUTH_METADATA:
    case GCE_AUTH_TOKEN_URL:
        break;
    }
    req->not_before_ms = 0;
    return ask_metadata(f, req);
}
