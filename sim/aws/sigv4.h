/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.h: AWS Signature Version 4 as the server computes it, to compare with what a client sent.
 *
 * Pure.  The provider signs with code of its own; neither side can hide the other's mistake.
 * Source: docs/spec/aws.md §2.7, §11.14. */
#ifndef TRIMTAB_SIM_AWS_SIGV4_H
#define TRIMTAB_SIM_AWS_SIGV4_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* The header Authorization, taken apart; texts of the arena. */
struct amz_authorization {
    const char *access_key;
    const char *date, *region, *service; /* of the scope; date "20260102" */
    const char **headers;                /* signed ones, in their order, as written */
    size_t n_headers;
    const char *signature;
};

/* A message as it arrived. */
struct amz_message {
    const char *method;
    const char *path;  /* raw */
    const char *query; /* raw, or NULL */
    const void *body;
    size_t body_len;
    /* The value of a header, several of one name joined by ','; NULL: absent. */
    const char *(*header)(void *arg, const char *name);
    void *arg;
};

/* NULL: it is complete; otherwise what is missing, in AWS' words (arena). */
const char *amz_authorization_parse(struct arena *a, const char *text,
                                    struct amz_authorization *ret);
/* The canonical request; NULL: the query is malformed. */
char *amz_canonical_request(struct arena *a, const struct amz_message *m,
                            const struct amz_authorization *auth);
/* Lower-case hex of SHA-256. */
char *amz_sha256_hex(struct arena *a, const void *p, size_t n);
void amz_signing_key(const char *secret, const char *date, const char *region, const char *service,
                     unsigned char out[32]);
/* The expected signature; NULL as amz_canonical_request(). */
char *amz_signature(struct arena *a, const struct amz_message *m,
                    const struct amz_authorization *auth, const char *amz_date, const char *secret);

#endif
