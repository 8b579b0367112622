/* SPDX-License-Identifier: Apache-2.0 */
/* access_review_rules.h: what is asked of the API server about a token or a user, and what its
 * answer says.
 *
 * TokenReview (authentication.k8s.io/v1) and SubjectAccessReview (authorization.k8s.io/v1): bodies
 * out as upstream's client writes them, answers in with caps and exact types, because the answer
 * decides about access here.  Also which failures are worth another try, and when.  Source:
 * controller.md §3.6; recorded exchanges 131–134; client-requests.jsonl.  Pure. */
#ifndef TRIMTAB_SERVE_ACCESS_REVIEW_RULES_H
#define TRIMTAB_SERVE_ACCESS_REVIEW_RULES_H

#include <stdint.h>

#include "controller/serve/access_rules.h"

#define ACCESS_ANSWER_BYTES_MAX ((size_t)256 << 10)
#define ACCESS_TOKEN_PATH       "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_SUBJECT_PATH     "/apis/authorization.k8s.io/v1/subjectaccessreviews"

const char *access_token_body(struct arena *a, const char *token);
const char *access_subject_body(struct arena *a, const struct access_user *u, const char *path,
                                const char *verb);

struct access_token_answer {
    bool authenticated;
    struct access_user user; /* when authenticated */
    const char *error;       /* what the server said about it, or "" */
};
struct access_subject_answer {
    bool allowed;
    bool denied;        /* else no authorizer had an opinion */
    const char *reason; /* or "" */
};
/* INVALID: no such object, a member of the wrong type, more than the caps; the texts
 * quote no value. */
int access_token_read(struct arena *a, const char *body, size_t n, struct access_token_answer *ret,
                      struct err *err) _warn_unused_;
/* INVALID also when it is both allowed and denied. */
int access_subject_read(struct arena *a, const char *body, size_t n,
                        struct access_subject_answer *ret, struct err *err) _warn_unused_;

/* Retries of one question. */
struct access_retry {
    int64_t until_ms; /* nothing is sent after that */
    int tries;        /* sends so far */
    int64_t delay_ms; /* before the next one, without jitter */
    bool renewed;     /* the one try after a 401 of our own credentials was used */
};
#define ACCESS_QUESTION_MS ((int64_t)10000) /* for all tries */

void access_retry_begin(struct access_retry *r, int64_t now_ms);
/* After a failure: true with the moment of the next try.  `unit` in [0,1). */
bool access_retry_next(struct access_retry *r, const struct err *err, int64_t now_ms, double unit,
                       int64_t *ret_at_ms);

#endif
