/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h: signing JSON Web Tokens (RFC 7519) with a private key: RS256, PS256 and ES256.
 *
 * Source: gce-cloud-provider.md §2.4, §2.5; RFC 7515.  Keys are PEM or bare DER, PKCS#8, PKCS#1
 * or EC.  Key text never appears in an error.  Thread-safe: a key is immutable. */
#ifndef TRIMTAB_NET_JWT_H
#define TRIMTAB_NET_JWT_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <json-c/json.h>
#include <stddef.h>

struct jwt_key;

int jwt_key_parse(const void *text, size_t n, struct jwt_key **ret, struct err *err) _warn_unused_;
void jwt_key_free(struct jwt_key *k);
/* header.claims.signature; the algorithm follows the key; `kid` may be NULL or "" (left out). */
int jwt_sign(struct arena *a, const struct jwt_key *k, const char *kid, struct json_object *claims,
             char **ret, struct err *err) _warn_unused_;
/* The same under a header of the caller's own, borrowed: its "alg" (RS256, PS256, ES256)
 * must fit the key. */
int jwt_sign_header(struct arena *a, const struct jwt_key *k, struct json_object *header,
                    struct json_object *claims, char **ret, struct err *err) _warn_unused_;

#endif
