/* SPDX-License-Identifier: Apache-2.0 */
/* azure_auth_internal.h: between azure_auth.c (credentials and cache) and azure_auth_fetch.c (requests).
 *
 * Nobody else includes it. */
#ifndef TRIMTAB_AZURE_AUTH_INTERNAL_H
#define TRIMTAB_AZURE_AUTH_INTERNAL_H

#include "providers/azure/azure_auth.h"
#include "providers/azure/azure_cert.h"

/* What to ask with (2.1). */
enum azure_auth_kind {
    AZURE_AUTH_WORKLOAD = 1, /* 2.5 */
    AZURE_AUTH_MANAGED,      /* 2.2 */
    AZURE_AUTH_SECRET,       /* 2.3 */
    AZURE_AUTH_CERTIFICATE,  /* 2.4 */
};
/* Owned by the auth object; immutable. */
struct azure_credentials {
    enum azure_auth_kind kind;
    const char *tenants[AZURE_TENANTS];
    const char *client_id;
    const char *secret;
    struct azure_cert *cert;       /* owned */
    struct file_watch *assertion;  /* WORKLOAD: owned; the file is read again every ten minutes */
    const char *assertion_path;    /* for messages */
    const char *identity_endpoint; /* MANAGED of App Service: IDENTITY_ENDPOINT; else NULL */
    const char *identity_header;
    const char *identity; /* userAssignedIdentityID, or "" */
    const char *imds;     /* base URL of the metadata service */
    const char *origin;   /* for messages: "client secret", "managed identity" … */
};
const struct azure_credentials *azure_auth_credentials(const struct azure_auth *auth);
const struct azure_cloud *azure_auth_cloud(const struct azure_auth *auth);
struct clock *azure_auth_clock(const struct azure_auth *auth);
/* A token and how long it lasts; `refresh_ms` 0: nobody said when the next one should be had.  By monotonic time: the
 * wall clock may jump. */
void azure_auth_store(struct azure_auth *auth, enum azure_tenant tenant, const char *token,
                      int64_t lasts_ms, int64_t refresh_ms);
/* The claims that the next request is to carry (a copy), or NULL. */
const char *azure_auth_claims(struct azure_auth *auth, enum azure_tenant tenant, struct arena *a);

#endif
