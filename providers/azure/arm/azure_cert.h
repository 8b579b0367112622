/* SPDX-License-Identifier: Apache-2.0 */
/* azure_cert.h: a client certificate with its key, and the assertions that are signed with it.
 *
 * Reads PEM and PKCS#12.  Neither key nor password appears in an error.  Immutable once read.
 * Source: docs/spec/azure.md 2.4; RFC 7515 4.1.6 to 4.1.8, RFC 7523. */
#ifndef TRIMTAB_AZURE_CERT_H
#define TRIMTAB_AZURE_CERT_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct azure_cert;
/* ERR_AUTH: neither PEM nor PKCS#12, wrong password, no key, or no certificate that
 * goes with it. */
int azure_cert_parse(const void *text, size_t n, const char *password, struct azure_cert **ret,
                     struct err *err) _warn_unused_;
void azure_cert_free(struct azure_cert *c); /* NULL is fine */

struct azure_assertion {
    const char *audience; /* URL of the token endpoint */
    const char *client_id;
    const char *jti; /* a UUID of this assertion's own */
    int64_t now_s;
    bool adfs; /* RS256 and x5t in place of PS256 and x5t#S256 */
};
int azure_cert_sign(struct arena *a, const struct azure_cert *c,
                    const struct azure_assertion *about, char **ret, struct err *err) _warn_unused_;

#endif
