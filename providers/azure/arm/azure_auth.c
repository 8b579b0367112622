/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth.c: the choice of credentials and the token cache of azure_auth.h.  No lock is held while a token is fetched:
 * `fetching` stands for it. */
#include "common/base/file.h"
#include "common/base/lock.h"
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

/* The token of one tenant. */
struct slot {
    char *token;
    int64_t expires_ms; /* monotonic */
    int64_t refresh_ms; /* from when on a new one is had early */
    char *claims;       /* of the challenge that the last token met, or NULL */
    bool fetching;
    unsigned failures; /* how many fetches have failed */
    struct err failed; /* the last of them */
};
struct azure_auth {
    struct arena *a;
    struct azure_auth_config cfg;
    struct azure_credentials cred;
    bool multi_tenant;
    struct mutex lock;
    struct cond changed; /* a fetch ended */
    struct slot slots[AZURE_TENANTS] _guarded_by_(lock);
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
    mutex_init(&auth->lock);
    cond_init(&auth->changed);
    int rc = find_credentials(auth, err);
    if (rc != ERR_OK) {
        azure_auth_free(auth);
        return rc;
    }
    *ret = auth;
    return ERR_OK;
}

static void free_secret(char *text)
{
    for (volatile char *p = text; p != NULL && *p != '\0'; p++) {
        *p = '\0';
    }
    free(text);
}

void azure_auth_free(struct azure_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    mutex_lock(&auth->lock);
    for (int i = 0; i < AZURE_TENANTS; i++) {
        free_secret(auth->slots[i].token);
        free(auth->slots[i].claims);
    }
    mutex_unlock(&auth->lock);
    cond_done(&auth->changed);
    mutex_done(&auth->lock);
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
static struct slot *slot_of(struct azure_auth *auth, enum azure_tenant tenant)
    _requires_(auth->lock)
{
    return &auth->slots[auth->multi_tenant ? tenant : AZURE_TENANT_COMPUTE];
}

static bool is_valid(const struct azure_auth *auth, const struct slot *s)
{
    return s->token != NULL && clock_now_ms(auth->cfg.clock) < s->expires_ms;
}

char *azure_auth_token(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a)
{
    mutex_lock(&auth->lock);
    const struct slot *s = slot_of(auth, tenant);
    char *copy = is_valid(auth, s) ? arena_strdup(a, s->token) : NULL;
    mutex_unlock(&auth->lock);
    return copy;
}

const char *azure_auth_claims(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a)
{
    mutex_lock(&auth->lock);
    const char *copy = arena_strdup(a, slot_of(auth, tenant)->claims);
    mutex_unlock(&auth->lock);
    return copy;
}

void azure_auth_drop(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                     const char *claims)
{
    mutex_lock(&auth->lock);
    struct slot *s = slot_of(auth, tenant);
    /* A token that is another one by now was had after the refusal; of several refusals of one token, the one that says
     * more counts. */
    bool was_it = s->token == NULL || str_eq(s->token, token);
    if (was_it) {
        free_secret(STEAL(s->token));
    }
    if (was_it && claims != NULL) {
        free(s->claims);
        s->claims = xstrdup(claims);
    }
    mutex_unlock(&auth->lock);
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
    mutex_lock(&auth->lock);
    struct slot *s = slot_of(auth, tenant);
    free_secret(s->token);
    s->token = xstrdup(token);
    s->expires_ms = now + lasts_ms;
    s->refresh_ms = now + (after > EARLY_RETRY_MS ? after : EARLY_RETRY_MS);
    free(STEAL(s->claims));
    mutex_unlock(&auth->lock);
}

static void wake(void *arg)
{
    struct azure_auth *auth = arg;
    mutex_lock(&auth->lock);
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

static bool needs_new(const struct azure_auth *auth, const struct slot *s)
{
    return !is_valid(auth, s) || clock_now_ms(auth->cfg.clock) >= s->refresh_ms;
}

/* Blocks while another one fetches what is needed now.  Without a token, what that one met is this one's outcome, too. */
static enum azure_turn claim(struct azure_auth *auth, enum azure_tenant tenant,
                             struct cancel *cancel, struct err *err)
{
    int hook = cancel_hook(cancel, wake, auth);
    mutex_lock(&auth->lock);
    struct slot *s = slot_of(auth, tenant);
    unsigned failures = s->failures;
    while (!is_valid(auth, s) && s->fetching && !cancel_fired(cancel)) {
        clock_wait(auth->cfg.clock, &auth->changed, &auth->lock, CLOCK_NEVER);
    }
    enum azure_turn turn = AZURE_TURN_READY;
    if (cancel_fired(cancel)) {
        turn = AZURE_TURN_FAILED;
        (void)err_set(err, ERR_CANCELLED, "asked to stop");
    } else if (!is_valid(auth, s) && s->failures != failures) {
        turn = AZURE_TURN_FAILED;
        (void)err_copy(err, &s->failed);
    } else if (!s->fetching && needs_new(auth, s)) {
        turn = AZURE_TURN_MINE;
        s->fetching = true;
    }
    mutex_unlock(&auth->lock);
    cancel_unhook(cancel, hook);
    return turn;
}

enum azure_turn azure_auth_turn(struct azure_auth *auth, enum azure_tenant tenant,
                                struct azure_wait *wait, struct err *err)
{
    enum azure_turn turn = AZURE_TURN_MINE;
    mutex_lock(&auth->lock);
    struct slot *s = slot_of(auth, tenant);
    if (is_valid(auth, s)) {
        turn = AZURE_TURN_READY;
    } else if (s->fetching) {
        turn = AZURE_TURN_WAIT;
        wait->failures = wait->waits ? wait->failures : s->failures;
        wait->waits = true;
    } else if (wait->waits && wait->failures != s->failures) {
        turn = AZURE_TURN_FAILED;
        (void)err_copy(err, &s->failed);
    } else {
        s->fetching = true;
    }
    mutex_unlock(&auth->lock);
    return turn;
}

void azure_auth_ended(struct azure_auth *auth, enum azure_tenant tenant, const struct err *err)
{
    mutex_lock(&auth->lock);
    struct slot *s = slot_of(auth, tenant);
    s->fetching = false;
    if (err->code != ERR_OK) {
        s->refresh_ms = clock_now_ms(auth->cfg.clock) + EARLY_RETRY_MS;
    }
    /* Whoever was told to stop says nothing about the others' chances. */
    if (err->code != ERR_OK && err->code != ERR_CANCELLED) {
        s->failures++;
        s->failed = *err;
    }
    cond_broadcast(&auth->changed);
    mutex_unlock(&auth->lock);
}

struct fetch_job {
    struct azure_fetch fetch;
    struct rng *rng;
};

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct fetch_job *f = job->arg;
    return azure_fetch_step(&f->fetch, &job->req, resp, rng_unit(f->rng), &job->err);
}

static bool has_valid(struct azure_auth *auth, enum azure_tenant tenant)
{
    mutex_lock(&auth->lock);
    bool valid = is_valid(auth, slot_of(auth, tenant));
    mutex_unlock(&auth->lock);
    return valid;
}

int azure_auth_ready(struct azure_auth *auth, enum azure_tenant tenant, struct http *http,
                     struct cancel *cancel, struct err *err)
{
    struct err why = ERR_INIT;
    enum azure_turn turn = claim(auth, tenant, cancel, &why);
    if (turn != AZURE_TURN_MINE) {
        return turn == AZURE_TURN_READY ? ERR_OK : err_copy(err, &why);
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct fetch_job f = {.rng = rng_real()};
    struct http_job job = {.step = step, .arg = &f, .cancel = cancel};
    struct http_job *jobs[] = {&job};
    azure_fetch_begin(&f.fetch, auth, tenant, a);
    f.fetch.once = has_valid(auth, tenant);
    http_run(http, jobs, 1);
    azure_auth_ended(auth, tenant, &job.err);
    /* The old one is good enough while its successor could not be had. */
    return has_valid(auth, tenant) ? ERR_OK : err_copy(err, &job.err);
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
