/* SPDX-License-Identifier: Apache-2.0 */
/* access_cache.h: answers of the API server that are used for a while.
 *
 * A bounded map from the digest of a question to a shared answer.  Least recently used ones go
 * first, by number and by bytes.  Keys are keyed digests (HMAC-SHA256 with a key that lives as long
 * as the process): the cache holds no token, and an attacker cannot choose keys that collide.
 * `now` is a parameter.  Not thread-safe: access_memo.c holds a lock around it. */
#ifndef TRIMTAB_SERVE_ACCESS_CACHE_H
#define TRIMTAB_SERVE_ACCESS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "controller/serve/access_rules.h"

#define ACCESS_CACHE_BYTES_MAX ((size_t)16 << 20)

enum access_outcome {
    ACCESS_NO = 0, /* not authenticated; not allowed */
    ACCESS_YES,
    ACCESS_TROUBLE,   /* unknown: `text` gives the reason */
    ACCESS_CANCELLED, /* the request was cancelled */
};
/* An answer of the API server.  Immutable, reference counted. */
struct access_answer {
    enum access_outcome outcome;
    const char *text;        /* TROUBLE: the error; NO: what the server said; or "" */
    struct access_user user; /* YES to a token */
    bool denied;             /* NO to a user: an explicit denial, not just a missing permission */
    struct arena *a;         /* owns it and its texts */
};
/* A new one with one reference, in an arena of its own that the caller fills before sharing it. */
struct access_answer *access_answer_new(enum access_outcome outcome) _warn_unused_;
struct access_answer *access_answer_ref(struct access_answer *x);
void access_answer_unref(struct access_answer *x); /* NULL is fine */

struct access_key {
    char hex[65];
};
/* `secret` has 32 bytes. */
struct access_key access_key_of(const unsigned char secret[32], const char *text);

struct access_cache;
struct access_cache *access_cache_new(size_t max) _warn_unused_; /* number of answers */
void access_cache_free(struct access_cache *c);
/* A reference, or NULL: not there, or too old. */
struct access_answer *access_cache_get(struct access_cache *c, const struct access_key *key,
                                       int64_t now_ms);
/* Takes a reference of its own.  ttl_ms <= 0 keeps nothing. */
void access_cache_put(struct access_cache *c, const struct access_key *key, struct access_answer *x,
                      int64_t ttl_ms, int64_t now_ms);

#endif
