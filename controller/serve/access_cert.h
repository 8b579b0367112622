/* SPDX-License-Identifier: Apache-2.0 */
/* access_cert.h: which CAs are trusted, whether a client's certificate is from one of them, and
 * which user it names.
 *
 * As Go verifies: every certificate of a bundle is an anchor, intermediates come from what the
 * client sent, and each certificate of the chain must allow client authentication if it says what
 * it is for.  Weak keys and digests (OpenSSL's security level 1) are refused.  No I/O and no clock:
 * texts come in, the moment is a parameter.
 * Source: controller.md §3.6 (1), (2).  A store is immutable once made and may be used
 * by any thread. */
#ifndef TRIMTAB_SERVE_ACCESS_CERT_H
#define TRIMTAB_SERVE_ACCESS_CERT_H

#include <openssl/x509.h>
#include <stdint.h>

#include "controller/serve/access_rules.h"

#define ACCESS_CA_BYTES_MAX ((size_t)1 << 20)
#define ACCESS_CA_MAX       1000 /* certificates of a bundle */
#define ACCESS_CHAIN_MAX    16   /* what a client may send along */

/* A bundle: "" and no certificate in it are INVALID, as is one that cannot be read.  *ret_names:
 * their subjects. */
int access_cas_parse(const char *pem, size_t n, X509_STORE **ret, STACK_OF(X509_NAME) * *ret_names,
                     struct err *err) _warn_unused_;
/* AUTH: not from these CAs, not valid at `wall_s`, not for clients; the text says
 * which certificate and why. */
int access_cert_verify(X509_STORE *cas, X509 *cert, STACK_OF(X509) * chain, int64_t wall_s,
                       struct err *err) _warn_unused_;
/* The subject's last common name in UTF-8; "" when it has none.  INVALID: a NUL in it, longer than
 * ACCESS_NAME_MAX. */
int access_cert_cn(struct arena *a, X509 *cert, const char **ret, struct err *err) _warn_unused_;
/* Name, UID (1.3.6.1.4.1.57683.2), groups (each organization), extra credential-id.  False: it has
 * no common name, and therefore names no user; or INVALID, in *err. */
bool access_cert_user(struct arena *a, X509 *cert, struct access_user *ret, struct err *err);
/* Seconds until it expires; negative when it has. */
int64_t access_cert_remaining_s(X509 *cert, int64_t wall_s);

#endif
