/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_answer.h: what programs and servers hand out as credentials: an ExecCredential, a
 * TokenRequest.
 *
 * Pure; the bytes are an outside party's.  Errors quote no value that could be a secret.  Source:
 * controller.md §3.9, 4.4, vector 202. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_ANSWER_H
#define TRIMTAB_KUBE_CREDENTIALS_ANSWER_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts live in the arena. */
struct credential {
    const char *token;    /* one line; or NULL */
    const char *cert_pem; /* both or none; not looked into */
    const char *key_pem;
    bool has_expiry;
    int64_t expires_us; /* wall clock */
};

/* Output of a plugin.  `api_version` is that of its configuration.  ERR_INVALID with upstream's
 * texts. */
int credentials_parse_exec(struct arena *a, const char *api_version, const char *text, size_t n,
                           struct credential *ret, struct err *err) _warn_unused_;
/* The answer to a TokenRequest: a token and its end.  ERR_INVALID. */
int credentials_parse_token_request(struct arena *a, const char *text, size_t n,
                                    struct credential *ret, struct err *err) _warn_unused_;

#endif
