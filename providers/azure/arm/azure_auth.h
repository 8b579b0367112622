/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth.h: the access token that goes with every request to Azure Resource Manager.
 *
 * How it is had is decided once (2.1): workload identity, managed identity, client secret, client certificate, or none.
 * A token is cached per tenant (struct token_cache) and used until refresh_in, or five minutes before it expires; an
 * early refresh is tried at most every 30 s.  Fetching is a small state machine of HTTP requests, so that it can run by
 * itself or inside a call that was answered 401.  Secrets, tokens and keys never appear in errors or logs.
 * Source: docs/spec/azure.md 2.  Thread-safe. */
#ifndef TRIMTAB_AZURE_AUTH_H
#define TRIMTAB_AZURE_AUTH_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/cloud/token.h"
#include "common/net/http.h"
#include "providers/azure/arm/azure_cloud.h"
#include "providers/azure/model/azure_config.h"

#include <stdbool.h>
#include <stdint.h>

/* Whose token.  The same one unless networkResourceTenantID names another tenant (2.6). */
enum azure_tenant {
    AZURE_TENANT_COMPUTE = 0,
    AZURE_TENANT_NETWORK,
    AZURE_TENANTS,
};
struct azure_auth_config {
    const struct azure_config *config; /* borrowed for the life of the object */
    const struct azure_env *env;       /* likewise */
    const struct azure_cloud *cloud;   /* likewise */
    struct clock *clock;
    const char *imds; /* base URL of the metadata service; NULL: http://169.254.169.254 */
};
struct azure_auth;
/* Reads key files, never the network.  ERR_AUTH: no credentials, or unreadable ones, by name of key and file. */
int azure_auth_new(const struct azure_auth_config *cfg, struct azure_auth **ret,
                   struct err *err) _warn_unused_;
void azure_auth_free(struct azure_auth *auth); /* NULL is fine */
bool azure_auth_is_multi_tenant(const struct azure_auth *auth);
/* Makes sure that a usable token is cached; blocks.  ERR_AUTH, TRANSIENT, CANCELLED. */
int azure_auth_ready(struct azure_auth *auth, enum azure_tenant tenant, struct http *http,
                     struct cancel *cancel, struct err *err) _warn_unused_;
/* The same for all tenants that there are. */
int azure_auth_ready_all(struct azure_auth *auth, struct http *http, struct cancel *cancel,
                         struct err *err) _warn_unused_;
/* A copy of the token, or NULL when there is none that is still valid. */
const char *azure_auth_token(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a);
/* Azure answered 401 to this token: it is not used again.  `claims` (base64url text of the challenge, or NULL) is sent
 * with the next request for a token. */
void azure_auth_drop(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                     const char *claims);

/* See token_cache_turn() and token_cache_ended(); the fetch is azure_fetch_begin() and _step().  `wait` is
 * for one token: zero again for another tenant. */
enum token_turn azure_auth_turn(struct azure_auth *auth, enum azure_tenant tenant,
                                struct token_wait *wait, struct err *err);
void azure_auth_ended(struct azure_auth *auth, enum azure_tenant tenant, const struct err *err);

/* One fetch under way. */
struct azure_fetch {
    struct azure_auth *auth;
    bool once; /* the old token still serves: what fails is not tried again at once */
    enum azure_tenant tenant;
    struct arena *a; /* for the requests */
    int phase;
    int tries;
    struct http_header headers[3];
    void *more; /* azure_auth_fetch.c's own */
};
void azure_fetch_begin(struct azure_fetch *f, struct azure_auth *auth, enum azure_tenant tenant,
                       struct arena *a);
/* The next request, or HTTP_DONE: then either the token is cached, or *err says why not.  `resp` NULL at first; with
 * status 0, *err holds the transport's error. */
enum http_next azure_fetch_step(struct azure_fetch *f, struct http_request *req,
                                const struct http_response *resp, double unit, struct err *err);

#endif
