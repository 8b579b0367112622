/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth_internal.h: between azure_auth.c (credentials and cache) and azure_auth_fetch.c
 * (requests).
 *
 * No other file includes it. */
#ifndef TRIMTAB_AZURE_AUTH_INTERNAL_H
#define TRIMTAB_AZURE_AUTH_INTERNAL_H

#include "providers/azure/arm/azure_auth.h"
#include "providers/azure/arm/azure_cert.h"

/* Credential for the request (2.1). */
enum azure_auth_kind {
    AZURE_AUTH_WORKLOAD = 1, /* 2.5 */
    AZURE_AUTH_MANAGED,      /* 2.2 */
    AZURE_AUTH_SECRET,       /* 2.3 */
    AZURE_AUTH_CERTIFICATE,  /* 2.4 */
    AZURE_AUTH_IDENTITY,     /* the file of a managed identity's data plane, 2.1 row 5 */
};
/* Owned by the auth object; immutable. */
struct azure_credentials {
    enum azure_auth_kind kind;
    const char *tenants[AZURE_TENANTS];
    const char *client_id;
    const char *secret;
    struct azure_cert *cert; /* owned */
    /* WORKLOAD, IDENTITY: owned; the file is read again every ten minutes */
    struct file_watch *assertion;
    const char *assertion_path;    /* for messages */
    const char *identity_endpoint; /* MANAGED of App Service: IDENTITY_ENDPOINT; else NULL */
    const char *identity_header;
    const char *identity;            /* userAssignedIdentityID, or "" */
    const char *imds;                /* base URL of the metadata service */
    const struct azure_vault *vault; /* MANAGED with two tenants: the networks' token; else NULL */
    const char *origin;              /* for messages: "client secret", "managed identity" … */
};
const struct azure_credentials *azure_auth_credentials(const struct azure_auth *auth);
const struct azure_cloud *azure_auth_cloud(const struct azure_auth *auth);
struct clock *azure_auth_clock(const struct azure_auth *auth);
/* A token and how long it lasts; `refresh_ms` 0: no time is given for the next one.  By
 * monotonic time: the wall clock may jump. */
void azure_auth_store(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                      int64_t lasts_ms, int64_t refresh_ms);
/* Pieces of azure_auth_fetch.c for azure_auth_vault.c. */
void azure_fetch_ask_managed(struct azure_fetch *f, struct http_request *req, const char *audience);
bool azure_fetch_is_token(const char *text); /* a header can carry it */
/* "access_token" of an answer, in the fetch's arena; NULL when it holds none that lasts. */
const char *azure_fetch_token_of(struct azure_fetch *f, const struct http_response *resp);
/* True: what failed passes, and is to be asked again at req->not_before_ms. */
bool azure_fetch_again(struct azure_fetch *f, struct http_request *req,
                       const struct http_response *resp, double unit, struct err *err);
/* Says why it has failed. */
enum http_next azure_fetch_failed(struct azure_fetch *f, const struct http_request *req,
                                  const struct http_response *resp, struct err *err);
/* As azure_fetch_step(), for a token that lies in a Key Vault. */
enum http_next azure_vault_step(struct azure_fetch *f, struct http_request *req,
                                const struct http_response *resp, double unit, struct err *err);

/* The claims that the next request is to carry (a copy), or NULL. */
const char *azure_auth_claims(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a);

#endif
