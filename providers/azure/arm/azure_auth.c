/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth.c: the choice of credentials of azure_auth.h, and how long a token of theirs is used
 * (common/cloud/token.h keeps one for each tenant). */
#include "common/base/file.h"
#include "common/base/str.h"
#include "providers/azure/arm/azure_auth_internal.h"
#include "providers/azure/arm/azure_identity.h"
#include "providers/azure/model/azure_names.h"

#include <stdlib.h>

#define CERT_MAX        ((size_t)1024 * 1024)
#define ASSERTION_MAX   ((size_t)64 * 1024)
#define ASSERTION_AGE   600000  /* 2.5 */
#define EARLY_MS        300000  /* 2.7 */
#define EARLY_RETRY_MS  30000   /* 2.7: how often an early refresh is tried */
#define HALF_LIFE_OF_MS 7200000 /* 2.7: managed identity */

struct azure_auth {
    struct arena *a;
    struct azure_auth_config cfg;
    struct azure_credentials cred;
    bool multi_tenant;
    struct token_cache *caches[AZURE_TENANTS]; /* the second one: NULL unless multi_tenant */
};

/* ---- credentials (2.1) ------------------------------------------------------------------------------------- */

static int use_workload(struct azure_auth *auth, struct err *err)
{
    const struct azure_config *c = auth->cfg.config;
    struct azure_credentials *cred = &auth->cred;
    if (str_is_empty(c->federated_token_file)) {
        return err_set(err, ERR_AUTH,
                       "useFederatedWorkloadIdentityExtension needs aadFederatedTokenFile or "
                       "AZURE_FEDERATED_TOKEN_FILE");
    }
    if (auth->multi_tenant) {
        return err_set(err, ERR_AUTH,
                       "networkResourceTenantID does not go with workload identity: use a client "
                       "secret or certificate");
    }
    cred->kind = AZURE_AUTH_WORKLOAD;
    cred->origin = "workload identity";
    cred->assertion_path = c->federated_token_file;
    cred->assertion =
        file_watch_new(c->federated_token_file, ASSERTION_MAX, ASSERTION_AGE, auth->cfg.clock);
    char *text;
    size_t n;
    uint64_t generation;
    if (file_watch_get(cred->assertion, auth->a, &text, &n, &generation, err) != ERR_OK) {
        struct err why = *err;
        return err_set(err, ERR_AUTH, "aadFederatedTokenFile: %s", why.message);
    }
    return ERR_OK;
}

static int use_managed(struct azure_auth *auth, struct err *err)
{
    const struct azure_env *env = auth->cfg.env;
    struct azure_credentials *cred = &auth->cred;
    const struct azure_vault *v = &auth->cfg.config->vault;
    bool whole = v->given && !str_is_empty(v->subscription_id) &&
                 !str_is_empty(v->resource_group) && !str_is_empty(v->vault_name) &&
                 !str_is_empty(v->secret_name);
    if (auth->multi_tenant && !whole) {
        return err_set(err, ERR_AUTH,
                       "networkResourceTenantID with useManagedIdentityExtension needs "
                       "auxiliaryTokenProvider: subscriptionID, resourceGroup, vaultName and "
                       "secretName");
    }
    cred->vault = auth->multi_tenant ? v : NULL;
    cred->kind = AZURE_AUTH_MANAGED;
    cred->origin = "managed identity";
    bool app_service = !str_is_empty(env->identity_endpoint) && !str_is_empty(env->identity_header);
    cred->identity_endpoint = app_service ? env->identity_endpoint : NULL;
    cred->identity_header = env->identity_header;
    cred->identity = auth->cfg.config->user_assigned_identity;
    return ERR_OK;
}

/* It is read for each token; here only to tell early what is wrong with it. */
static int use_identity_file(struct azure_auth *auth, struct err *err)
{
    struct azure_credentials *cred = &auth->cred;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct azure_identity id;
    char *text;
    size_t n;
    uint64_t generation;
    if (auth->multi_tenant) {
        return err_set(
            err, ERR_AUTH,
            "networkResourceTenantID does not go with aadMSIDataPlaneIdentityPath: use a "
            "client secret or certificate");
    }
    cred->kind = AZURE_AUTH_IDENTITY;
    cred->origin = "managed identity's data plane";
    cred->assertion_path = auth->cfg.config->msi_data_plane_path;
    cred->assertion =
        file_watch_new(cred->assertion_path, CERT_MAX, ASSERTION_AGE, auth->cfg.clock);
    int rc = file_watch_get(cred->assertion, a, &text, &n, &generation, err);
    if (rc == ERR_OK) {
        rc = azure_identity_read(a, text, n, &id, err);
    }
    if (rc != ERR_OK) {
        struct err why = *err;
        return err_set(err, ERR_AUTH, "aadMSIDataPlaneIdentityPath %s: %s", cred->assertion_path,
                       why.message);
    }
    return ERR_OK;
}

static int use_certificate(struct azure_auth *auth, struct err *err)
{
    const struct azure_config *c = auth->cfg.config;
    struct azure_credentials *cred = &auth->cred;
    char *text;
    size_t n;
    cred->kind = AZURE_AUTH_CERTIFICATE;
    cred->origin = "client certificate";
    int rc = file_read(auth->a, c->client_cert_path, CERT_MAX, &text, &n, err);
    if (rc == ERR_OK) {
        rc = azure_cert_parse(text, n, c->client_cert_password, &cred->cert, err);
    }
    if (rc != ERR_OK) {
        struct err why = *err;
        return err_set(err, ERR_AUTH, "aadClientCertPath %s: %s", c->client_cert_path, why.message);
    }
    return ERR_OK;
}

static int need(const char *key, const char *value, const char *origin, struct err *err)
{
    return str_is_empty(value) ? err_set(err, ERR_AUTH, "%s: %s is not set", origin, key) : ERR_OK;
}

static int find_credentials(struct azure_auth *auth, struct err *err)
{
    const struct azure_config *c = auth->cfg.config;
    struct azure_credentials *cred = &auth->cred;
    cred->secret = str_or(auth->cfg.env->client_secret, c->client_secret);
    int rc;
    if (c->workload_identity) {
        rc = use_workload(auth, err);
    } else if (c->managed_identity) {
        return use_managed(auth, err);
    } else if (!str_is_empty(cred->secret)) {
        cred->kind = AZURE_AUTH_SECRET;
        cred->origin = "client secret";
        rc = ERR_OK;
    } else if (!str_is_empty(c->client_cert_path)) {
        rc = use_certificate(auth, err);
    } else if (!str_is_empty(c->msi_data_plane_path)) {
        return use_identity_file(auth, err);
    } else {
        return err_set(err, ERR_AUTH,
                       "no credentials: set useManagedIdentityExtension, "
                       "useFederatedWorkloadIdentityExtension, aadClientSecret or "
                       "aadClientCertPath");
    }
    if (rc == ERR_OK) {
        rc = need("tenantId", c->tenant_id, cred->origin, err);
    }
    return rc == ERR_OK ? need("aadClientId", c->client_id, cred->origin, err) : rc;
}

/* 2.7: how often an early refresh is tried. */
static void refresh_failed(void *arg, unsigned mark, int64_t now_ms, struct token_life *life)
{
    (void)arg;
    (void)mark;
    life->refresh_ms = now_ms + EARLY_RETRY_MS;
}

int azure_auth_new(const struct azure_auth_config *cfg, struct azure_auth **ret, struct err *err)
{
    const struct azure_config *c = cfg->config;
    struct azure_auth *auth = xcalloc(1, sizeof(*auth));
    auth->a = arena_new();
    auth->cfg = *cfg;
    auth->multi_tenant =
        !str_is_empty(c->network_tenant_id) && !azure_eq(c->network_tenant_id, c->tenant_id);
    auth->cred = (struct azure_credentials){
        .tenants = {c->tenant_id, auth->multi_tenant ? c->network_tenant_id : c->tenant_id},
        .client_id = c->client_id,
        .imds = str_or(cfg->imds, "http://169.254.169.254"),
    };
    const struct token_cache_config cache = {.clock = cfg->clock, .refresh_failed = refresh_failed};
    for (int i = 0; i < (auth->multi_tenant ? AZURE_TENANTS : 1); i++) {
        auth->caches[i] = token_cache_new(&cache);
    }
    int rc = find_credentials(auth, err);
    if (rc != ERR_OK) {
        azure_auth_free(auth);
        return rc;
    }
    *ret = auth;
    return ERR_OK;
}

void azure_auth_free(struct azure_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    for (int i = 0; i < AZURE_TENANTS; i++) {
        token_cache_free(auth->caches[i]);
    }
    azure_cert_free(auth->cred.cert);
    file_watch_free(auth->cred.assertion);
    arena_free(auth->a);
    free(auth);
}

bool azure_auth_is_multi_tenant(const struct azure_auth *auth)
{
    return auth->multi_tenant;
}

const struct azure_credentials *azure_auth_credentials(const struct azure_auth *auth)
{
    return &auth->cred;
}

const struct azure_cloud *azure_auth_cloud(const struct azure_auth *auth)
{
    return auth->cfg.cloud;
}

struct clock *azure_auth_clock(const struct azure_auth *auth)
{
    return auth->cfg.clock;
}

/* ---- the cache (2.7) --------------------------------------------------------------------------------------- */

/* Both tenants share a token when they are one. */
static struct token_cache *cache_of(const struct azure_auth *auth, enum azure_tenant tenant)
{
    return auth->caches[auth->multi_tenant ? tenant : AZURE_TENANT_COMPUTE];
}

const char *azure_auth_token(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a)
{
    struct token t;
    return token_cache_get(cache_of(auth, tenant), a, &t) ? t.parts[0] : NULL;
}

const char *azure_auth_claims(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a)
{
    return token_cache_challenge(cache_of(auth, tenant), a);
}

void azure_auth_drop(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                     const char *claims)
{
    (void)token_cache_drop(cache_of(auth, tenant), token, claims);
}

void azure_auth_store(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                      int64_t lasts_ms, int64_t refresh_ms)
{
    int64_t now = clock_now_ms(auth->cfg.clock);
    int64_t after = lasts_ms - EARLY_MS;
    if (refresh_ms > 0 && refresh_ms < lasts_ms) {
        after = refresh_ms;
    } else if (auth->cred.kind == AZURE_AUTH_MANAGED && lasts_ms >= HALF_LIFE_OF_MS) {
        after = lasts_ms / 2;
    }
    const struct token t = {
        .parts = {token},
        .life = {.refresh_ms = now + (after > EARLY_RETRY_MS ? after : EARLY_RETRY_MS),
                 .required_ms = now + lasts_ms,
                 .expires_ms = now + lasts_ms},
    };
    token_cache_store(cache_of(auth, tenant), &t);
}

enum token_turn azure_auth_turn(struct azure_auth *auth, enum azure_tenant tenant,
                                struct token_wait *wait, struct err *err)
{
    return token_cache_turn(cache_of(auth, tenant), wait, err);
}

void azure_auth_ended(struct azure_auth *auth, enum azure_tenant tenant, const struct err *err)
{
    token_cache_ended(cache_of(auth, tenant), err);
}

static void begin(void *arg, struct arena *a, bool once)
{
    struct azure_fetch *f = arg;
    azure_fetch_begin(f, f->auth, f->tenant, a);
    f->once = once;
}

static enum http_next step(void *arg, struct http_request *req, const struct http_response *resp,
                           double unit, struct err *err)
{
    return azure_fetch_step(arg, req, resp, unit, err);
}

int azure_auth_ready(struct azure_auth *auth, enum azure_tenant tenant, struct http *http,
                     struct cancel *cancel, struct err *err)
{
    struct azure_fetch f = {.auth = auth, .tenant = tenant};
    const struct token_fetch fetch = {.begin = begin, .step = step, .arg = &f};
    return token_cache_ready(cache_of(auth, tenant), &fetch, http, cancel, err);
}

int azure_auth_ready_all(struct azure_auth *auth, struct http *http, struct cancel *cancel,
                         struct err *err)
{
    int rc = azure_auth_ready(auth, AZURE_TENANT_COMPUTE, http, cancel, err);
    if (rc == ERR_OK && auth->multi_tenant) {
        rc = azure_auth_ready(auth, AZURE_TENANT_NETWORK, http, cancel, err);
    }
    return rc;
}
