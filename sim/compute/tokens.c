/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c: access tokens: who hands them out, and their check on every Compute request.
 *
 * The metadata server (metadata.c) and POST /token give out opaque tokens with a life of one hour;
 * /token takes what clients of Google send: a signed assertion of a service account, a refresh
 * token, or (for token-url) a metadata token in the header.  A self-signed token of the service
 * account is taken as well.  A request without a valid token is refused with 401.  Signatures are
 * checked here, with code of the simulator's own.
 * Source: gce-cloud-provider.md §2.1–2.6; RFC 7515, RFC 7523. */
#include "sim/compute/compute.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#define LIFETIME_S    3600
#define TOKENS_MAX    10000 /* beyond, the one that ends first is forgotten */
#define CLIENT_ID     "trimtab-sim.apps.googleusercontent.com"
#define CLIENT_SECRET "sim-client-secret"
#define REFRESH_TOKEN "1//sim-refresh-token"

static int64_t now_s(const struct compute *c)
{
    return clock_wall_s(sim_clock(c->sim));
}

/* --- opaque tokens ---------------------------------------------------------------------------- */

struct first_end {
    const char *token;
    int64_t expiry;
};

static bool find_first_end(const char *token, void *value, void *arg)
{
    struct first_end *f = arg;
    int64_t expiry = *(const int64_t *)value;
    if (!f->token || expiry < f->expiry) {
        *f = (struct first_end){token, expiry};
    }
    return true;
}

static void make_room(struct compute *c, struct arena *a)
{
    struct first_end f = {0};
    if (map_size(c->tokens) >= TOKENS_MAX) {
        map_each(c->tokens, find_first_end, &f);
        map_remove(c->tokens, arena_strdup(a, f.token));
    }
}

char *ce_token_new(struct compute *c, struct arena *a, int64_t lifetime_s)
{
    make_room(c, a);
    unsigned char bytes[24];
    rng_bytes(sim_rng(c->sim), bytes, sizeof(bytes));
    char *token = arena_printf(a, "ya29.sim-%s", str_base64_encode(a, bytes, sizeof(bytes), true));
    int64_t *expiry = xcalloc(1, sizeof(*expiry));
    *expiry = now_s(c) + lifetime_s;
    map_set(c->tokens, token, expiry);
    return token;
}

static bool opaque_is_valid(const struct compute *c, const char *token)
{
    const int64_t *expiry = map_get(c->tokens, token);
    return expiry && *expiry > now_s(c);
}

void ce_tokens_done(struct compute *c)
{
    EVP_PKEY_free(c->signing_key);
    map_free(c->tokens);
    free(c->metadata_token);
}

/* --- the service account ---------------------------------------------------------------------- */

/* Half as long as Google's: it protects nothing, and a long one takes most of
 * the simulator's start. */
static EVP_PKEY *signing_key(struct compute *c)
{
    if (!c->signing_key) {
        c->signing_key = EVP_RSA_gen(1024);
    }
    return c->signing_key;
}

static char *account_email(const struct compute *c, struct arena *a)
{
    return arena_printf(a, "trimtab-sim@%s.iam.gserviceaccount.com", c->project);
}

/* True when `jwt` is signed by the service account, of now, and (unless NULL)
 * meant for `audience`. */
static bool jwt_is_valid(struct compute *c, struct arena *a, const char *jwt, const char *audience)
{
    size_t n = 0, sig_len = 0, claims_len = 0;
    unsigned char *sig = NULL, *claims_text = NULL;
    char **part = str_split(a, jwt, '.', &n);
    if (n != 3 || !c->signing_key || !str_base64_decode(a, part[2], true, &sig, &sig_len) ||
        !str_base64_decode(a, part[1], true, &claims_text, &claims_len)) {
        return false;
    }
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const char *signed_text = arena_printf(a, "%s.%s", part[0], part[1]);
    bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, c->signing_key) == 1 &&
              EVP_DigestVerify(ctx, sig, sig_len, (const unsigned char *)signed_text,
                               strlen(signed_text)) == 1;
    EVP_MD_CTX_free(ctx);
    struct json_object *claims = NULL;
    if (!ok || json_parse_arena(a, (const char *)claims_text, claims_len, NULL, &claims, NULL)) {
        return false;
    }
    int64_t now = now_s(c), iat = json_int(claims, "iat", 0), exp = json_int(claims, "exp", 0);
    return str_eq(json_str(claims, "iss"), account_email(c, a)) && iat <= now + 300 && exp > now &&
           exp <= iat + LIFETIME_S && (!audience || str_eq(json_str(claims, "aud"), audience));
}

static char *key_pem(struct compute *c, struct arena *a)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *data = NULL, *text = NULL;
    if (bio && PEM_write_bio_PKCS8PrivateKey(bio, signing_key(c), NULL, NULL, 0, NULL, NULL) == 1) {
        long n = BIO_get_mem_data(bio, &data);
        text = arena_strndup(a, data, (size_t)n);
    }
    BIO_free(bio);
    return text;
}

char *sim_compute_credentials(void *compute_state, struct arena *a, const char *type)
{
    struct compute *c = compute_state;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "type", type);
    if (str_eq(type, "service_account")) {
        json_add_str(o, "project_id", c->project);
        json_add_str(o, "private_key_id", "sim-key-1");
        json_add_str(o, "private_key", key_pem(c, a));
        json_add_str(o, "client_email", account_email(c, a));
        json_add_str(o, "client_id", "1");
        json_add_str(o, "token_uri", arena_printf(a, "%s/token", sim_url(c->sim)));
    } else {
        json_add_str(o, "client_id", CLIENT_ID);
        json_add_str(o, "client_secret", CLIENT_SECRET);
        json_add_str(o, "refresh_token", REFRESH_TOKEN);
        json_add_str(o, "token_uri", arena_printf(a, "%s/token", sim_url(c->sim)));
    }
    char *text = json_text(a, o, JSON_PRETTY);
    json_object_put(o);
    return text;
}

char *sim_compute_new_token(void *compute_state, struct arena *a, int64_t lifetime_s)
{
    return ce_token_new(compute_state, a, lifetime_s);
}

/* --- the check -------------------------------------------------------------------------------- */

static const char *bearer_of(struct sim_call *call)
{
    const char *header = http_req_header(call->req, "Authorization");
    if (header && str_eq_nocase(arena_strndup(call->arena, header, 7), "Bearer ")) {
        return str_trim(call->arena, header + 7);
    }
    const char *param = sim_call_param(call, "access_token");
    return param ? param : sim_call_param(call, "oauth_token");
}

static bool bearer_is_valid(struct compute *c, struct sim_call *call)
{
    const char *token = bearer_of(call);
    return token && (opaque_is_valid(c, token) || jwt_is_valid(c, call->arena, token, NULL));
}

bool ce_token_check(struct request *q)
{
    if (bearer_is_valid(q->c, q->call)) {
        return true;
    }
    if (!bearer_of(q->call)) {
        return ce_refuse(&q->refusal, q->a, 401, "required",
                         "Request is missing required authentication credential. Expected OAuth 2 "
                         "access token; the simulator's metadata server hands one out.");
    }
    return ce_refuse(
        &q->refusal, q->a, 401, "authError",
        "Request had invalid authentication credentials. Expected OAuth 2 access token: "
        "this one is unknown or has expired.");
}

/* --- POST /token ------------------------------------------------------------------------------ */

static void answer_token(struct compute *c, struct sim_call *call)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "access_token", ce_token_new(c, call->arena, LIFETIME_S));
    json_add_int(o, "expires_in", LIFETIME_S - 1);
    json_add_str(o, "token_type", "Bearer");
    sim_answer(call, 200, o);
}

static void answer_oauth_error(struct sim_call *call, const char *error, const char *text)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "error", error);
    json_add_str(o, "error_description", text);
    sim_answer(call, 400, o);
}

/* token-url: the body is the cluster's business; who asks shows a metadata token. */
static void answer_alternate(struct compute *c, struct sim_call *call)
{
    char time[32];
    if (!bearer_is_valid(c, call)) {
        sim_answer(
            call, 401,
            compute_error_body(c, call, 401, "authError", "Want a token of the metadata server"));
        return;
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "accessToken", ce_token_new(c, call->arena, LIFETIME_S));
    time_format_rfc3339(clock_wall_us(sim_clock(c->sim)) + LIFETIME_S * 1000000LL, time);
    json_add_str(o, "expireTime", time);
    sim_answer(call, 200, o);
}

void ce_token_handle(struct compute *c, struct sim_call *call)
{
    struct url_param *form = NULL;
    size_t n = 0;
    struct arena *a = call->arena;
    bool is_form = url_query_parse(a, call->body, &form, &n, NULL) == ERR_OK;
    const char *grant = is_form ? url_query_get(form, n, "grant_type") : NULL;
    if (!str_eq(call->method, "POST")) {
        sim_answer(call, 405, NULL);
    } else if (!grant) {
        answer_alternate(c, call);
    } else if (str_eq(grant, "refresh_token")) {
        bool ok = str_eq(url_query_get(form, n, "refresh_token"), REFRESH_TOKEN) &&
                  str_eq(url_query_get(form, n, "client_id"), CLIENT_ID) &&
                  str_eq(url_query_get(form, n, "client_secret"), CLIENT_SECRET);
        if (ok) {
            answer_token(c, call);
        } else {
            answer_oauth_error(call, "invalid_grant", "Bad refresh token or client");
        }
    } else if (str_eq(grant, "urn:ietf:params:oauth:grant-type:jwt-bearer")) {
        const char *assertion = url_query_get(form, n, "assertion");
        const char *audience = arena_printf(a, "%s/token", sim_url(c->sim));
        if (assertion && jwt_is_valid(c, a, assertion, audience)) {
            answer_token(c, call);
        } else {
            answer_oauth_error(call, "invalid_grant", "Invalid JWT signature or claims");
        }
    } else {
        answer_oauth_error(call, "unsupported_grant_type", "This grant type is not supported");
    }
}
