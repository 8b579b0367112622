/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.h: AWS Signature Version 4, by which requests to AWS prove whose they are.
 *
 * The caller gives the request as it will be sent and gets the Authorization header.  Signed are
 * the headers that are given, and host, x-amz-date and (with a session token) x-amz-security-token;
 * so whatever libcurl or a proxy may change must not be given: User-Agent, Accept-Encoding,
 * Content-Length, Expect.  The path is escaped once more, as for all services but S3.  Keys never
 * appear in errors.  Source: docs/spec/aws.md 2.7; vectors 11.14.  Time is a parameter; but for the
 * cache of derived keys, which is thread-safe, this is pure. */
#ifndef TRIMTAB_NET_SIGV4_H
#define TRIMTAB_NET_SIGV4_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/lock.h"
#include "common/net/http.h"

#include <stddef.h>
#include <stdint.h>

#define SIGV4_CACHE_SLOTS 16

struct sigv4_keys {
    const char *access_key;
    const char *secret_key;
    const char *session_token; /* NULL or "": long-lived keys */
};
struct sigv4_request {
    const char *method;
    const char *url;                   /* absolute; escaped as it is sent */
    const struct http_header *headers; /* that are to be signed; host and x-amz-date are ours */
    size_t n_headers;
    const void *body;
    size_t body_len;
    const char *region;
    const char *service; /* "ec2", "elasticloadbalancing", "sts" */
    int64_t time_s;      /* s since 1970, as the server sees it */
};
/* Derived keys last a day per (keys, region, service); deriving one takes four HMACs.
 * Embedded by its owner. */
struct sigv4_cache {
    struct mutex lock;
    struct {
        unsigned char id[32]; /* a digest of what it was derived from */
        unsigned char key[32];
    } slots[SIGV4_CACHE_SLOTS] _guarded_by_(lock);
    size_t used _guarded_by_(lock);
    size_t next _guarded_by_(lock); /* to be overwritten */
};
void sigv4_cache_init(struct sigv4_cache *c);
void sigv4_cache_done(struct sigv4_cache *c); /* wipes the keys */

/* All in the arena. */
struct sigv4_signature {
    const char *authorization;  /* of the header Authorization */
    const char *date;           /* of the header X-Amz-Date */
    const char *payload_hash;   /* hex */
    const char *canonical_hash; /* hex; of the canonical request, for tests and messages */
};
/* `cache` may be NULL.  ERR_INVALID: the URL is none, or a header is given twice that
 * must be ours. */
int sigv4_sign(struct arena *a, struct sigv4_cache *cache, const struct sigv4_keys *keys,
               const struct sigv4_request *req, struct sigv4_signature *ret,
               struct err *err) _warn_unused_;
/* Signs `req` itself: its headers become a new array (in the arena) with X-Amz-Date,
 * X-Amz-Security-Token and Authorization behind those that were given. */
int sigv4_sign_http(struct arena *a, struct sigv4_cache *cache, const struct sigv4_keys *keys,
                    const char *region, const char *service, int64_t time_s,
                    struct http_request *req, struct err *err) _warn_unused_;
/* Appends name=value to a query or a form, with '&' before it unless `b` is empty.  Both sides are
 * escaped as AWS wants it: all but letters, digits and "-_.~" become %XX. */
void sigv4_append_pair(struct str_buf *b, const char *name, const char *value);

#endif
