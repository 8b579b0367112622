/* SPDX-License-Identifier: Apache-2.0 */
/* access_internal.h: the parts of access, and one request on its way through them.
 *
 *   access.c         life; the way of a request: authenticate, authorize, verdict
 *   access_authn.c   the user: proxy, certificate, token, anonymous
 *   access_authz.c   whether it may: groups, paths, SubjectAccessReview
 *   access_lookup.c  CAs and header names, kept up to date      access_trust.c, access_cert.c,
 *                    access_header_rules.c
 *   access_memo.c    answers that are remembered, asked once     access_cache.c
 *   access_api.c     the API server                              access_review_rules.c
 * Private to controller/serve/access*.c. */
#ifndef TRIMTAB_SERVE_ACCESS_INTERNAL_H
#define TRIMTAB_SERVE_ACCESS_INTERNAL_H

#include "common/base/lock.h"
#include "controller/serve/access.h"
#include "controller/serve/access_api.h"
#include "controller/serve/access_lookup.h"
#include "controller/serve/access_memo.h"
#include "controller/serve/access_rules.h"

struct access {
    struct access_args args;
    unsigned char secret[32]; /* keys the digests of what is remembered */
    struct cancel *cancel;    /* ends every call */
    struct access_api *authn; /* NULL: tokens are not checked */
    struct access_api *authz; /* NULL: only open paths and masters */
    struct access_lookup *lookup;
    struct access_memo *tokens;
    struct access_memo *subjects;
    struct mutex lock;
    struct cond left;
    size_t inside _guarded_by_(&lock); /* callers of access_ask() */
};

/* One request. */
struct access_trial {
    struct access *a;
    const struct access_request *req;
    struct cancel *cancel;
    bool may_ask; /* may block */
    struct access_user user;
    struct err err;     /* the first thing that was wrong with what was shown */
    bool asked_token;   /* for metrics: a token was looked up, */
    bool token_was_hit; /* and known */
    int64_t token_ms;   /* and took so long */
    const char *result; /* of the authorization, for metrics */
    const char *verb;   /* "get" */
};

enum access_step {
    ACCESS_STEP_DONE = 0,
    ACCESS_STEP_REFUSED,  /* 401, 403 */
    ACCESS_STEP_BROKEN,   /* 500 */
    ACCESS_STEP_MUST_ASK, /* only when !may_ask */
};
/* Fills user; REFUSED: what was shown is bad. */
enum access_step access_authenticate(struct access_trial *t);
/* Fills result; REFUSED: *ret_reason is what the API server said about it, or "". */
enum access_step access_authorize(struct access_trial *t, const char **ret_reason);
/* Keeps an answer until the request's arena goes. */
void access_keep(struct access_trial *t, struct access_answer *x);

#endif
