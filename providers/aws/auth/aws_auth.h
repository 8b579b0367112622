/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth.h: the keys with which requests are signed.
 *
 * Where they come from is decided by AWS' usual chain (2.1), and with RoleARN in the cloud config a
 * role is assumed on top.  Temporary keys are cached once for all services (struct token_cache):
 * stale from the advisory moment on (2.2: 5, 15 or 60 minutes before they end, by their life),
 * required in their last minute; a refresh that fails is tried again 5 to 10 minutes later.  The
 * fetch is a small state machine of HTTP requests, so that it can run by itself or inside a call
 * whose keys were refused.  Keys and tokens never appear in errors or logs.
 * Source: docs/spec/aws.md 2.1 to 2.4.  Thread-safe.
 *
 *     before a wave of jobs       aws_auth_ready()     blocks; then each job takes aws_auth_keys()
 *     ExpiredToken and its kin    aws_auth_drop()      then, inside a job that cannot block:
 *                                 aws_auth_turn(), and when it is MINE aws_fetch_begin(), _step()
 *                                 and aws_auth_ended() */
#ifndef TRIMTAB_AWS_AUTH_H
#define TRIMTAB_AWS_AUTH_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/cloud/token.h"
#include "common/net/http.h"
#include "common/net/sigv4.h"
#include "providers/aws/auth/aws_endpoint.h"
#include "providers/aws/auth/aws_imds.h"
#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_env.h"

#include <stdbool.h>
#include <stdint.h>

struct aws_auth_config {
    /* RoleARN, SourceARN; all borrowed for the life of the object */
    const struct aws_config *config;
    const struct aws_env *env;
    const struct aws_endpoint *sts; /* aws_endpoint_resolve(AWS_STS) */
    struct aws_imds *imds;
    int max_attempts; /* of a request; 0: 3 */
    struct clock *clock;
    struct rng *rng; /* NULL: rng_real() */
};
struct aws_auth;
/* Reads variables and the profiles' files, never the network.  ERR_AUTH: the chain cannot work, by
 * name of variable, file or profile; ERR_INVALID: RoleARN is no ARN. */
int aws_auth_new(const struct aws_auth_config *cfg, struct aws_auth **ret,
                 struct err *err) _warn_unused_;
void aws_auth_free(struct aws_auth *auth); /* NULL is fine */
/* Makes sure that usable keys are cached; blocks.  ERR_AUTH, TRANSIENT, CANCELLED. */
int aws_auth_ready(struct aws_auth *auth, struct http *http, struct cancel *cancel,
                   struct err *err) _warn_unused_;
/* A copy of the keys in `a`; false when there are none that are still valid.  Does not block. */
bool aws_auth_keys(struct aws_auth *auth, struct arena *a, struct sigv4_keys *ret);
/* AWS refused keys with this access key as expired or unknown: they are not used again.  False:
 * nothing better can be had (they are long-lived ones of the environment). */
bool aws_auth_drop(struct aws_auth *auth, const char *access_key);
/* The error codes after which aws_auth_drop() and one more try are right (2.2). */
bool aws_auth_is_stale_code(const char *code);

/* See token_cache_turn() and token_cache_ended(); the fetch is aws_fetch_begin() and _step(). */
enum token_turn aws_auth_turn(struct aws_auth *auth, struct token_wait *wait, struct err *err);
void aws_auth_ended(struct aws_auth *auth, const struct err *err);

/* One fetch under way; its members are aws_auth_fetch.c's own. */
struct aws_fetch {
    struct aws_auth *auth;
    struct arena *a;
    struct cancel *cancel;
    bool once; /* the old keys still serve: what fails is not tried again at once */
    void *more;
};
void aws_fetch_begin(struct aws_fetch *f, struct aws_auth *auth, struct arena *a,
                     struct cancel *cancel);
/* The next request, or HTTP_DONE: then either the keys are cached, or *err says why not.  `resp`
 * NULL at first; with status 0, *err holds the transport's error.  `unit` in [0,1) is the
 * randomness.  Blocks only for credential_process. */
enum http_next aws_fetch_step(struct aws_fetch *f, struct http_request *req,
                              const struct http_response *resp, double unit, struct err *err);

#endif
