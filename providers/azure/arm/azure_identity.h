/* SPDX-License-Identifier: Apache-2.0 */
/* azure_identity.h: the file of a managed identity's data plane (aadMSIDataPlaneIdentityPath).
 *
 * JSON with client_id, tenant_id, authentication_endpoint and client_secret, which is base64 of a
 * certificate with its key.  Its writer exchanges the file before the certificate ends, so
 * it is read for each token.
 * Source: docs/spec/azure.md 2.1 row 5; Azure's managed identity data plane API.  Reads
 * text, no files. */
#ifndef TRIMTAB_AZURE_IDENTITY_H
#define TRIMTAB_AZURE_IDENTITY_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/azure/arm/azure_cert.h"

#include <stddef.h>

struct azure_identity {
    const char *client_id;
    const char *tenant_id;
    const char *authority;   /* ends in '/' */
    struct azure_cert *cert; /* lives as long as the arena */
};
/* ERR_AUTH: names the member that is missing or unfit, never a value. */
int azure_identity_read(struct arena *a, const char *text, size_t n, struct azure_identity *ret,
                        struct err *err) _warn_unused_;

#endif
