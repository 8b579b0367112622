/* SPDX-License-Identifier: Apache-2.0 */
/* access_authz.c: whether a user may do what the request asks for.
 *
 * Members of system:masters are allowed, open paths are open to all, the API server decides the
 * rest; without one the rest is refused.  Source: controller.md §3.6. */
#include <string.h>

#include "common/base/str.h"
#include "controller/serve/access_internal.h"
#include "controller/serve/access_review_rules.h"

#define CACHED_MAX 10000 /* bytes of path and verb: longer ones are attacks */

struct subject_question {
    struct access *a;
    const char *body;
    bool keep;
};

static struct access_answer *answer_of(const struct access_subject_answer *said)
{
    struct access_answer *x = access_answer_new(said->allowed ? ACCESS_YES : ACCESS_NO);
    x->text = arena_strdup(x->a, said->reason);
    x->denied = said->denied;
    return x;
}

static struct access_answer *fetch_subject(void *arg, struct cancel *cancel, int64_t *ret_ttl_ms)
{
    const struct subject_question *q = arg;
    const struct options *o = q->a->args.options;
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct access_subject_answer said;
    struct kube_response resp;
    struct err err = ERR_INIT;
    const struct access_post post = {.path = ACCESS_SUBJECT_PATH, .body = q->body};
    int rc = access_api_post(q->a->authz, a, &post, cancel, &resp, &err);
    rc = rc != ERR_OK ? rc : access_subject_read(a, resp.body, resp.body_len, &said, &err);
    if (rc != ERR_OK) {
        struct access_answer *x =
            access_answer_new(rc == ERR_CANCELLED ? ACCESS_CANCELLED : ACCESS_TROUBLE);
        x->text = arena_strdup(x->a, err.message);
        return x;
    }
    if (q->keep) {
        *ret_ttl_ms = said.allowed ? o->authz_allowed_ttl_ms : o->authz_denied_ttl_ms;
    }
    return answer_of(&said);
}

static struct access_answer *ask(struct access_trial *t)
{
    struct access *a = t->a;
    struct subject_question q = {
        .a = a,
        .body = access_subject_body(t->req->a, &t->user, t->req->path, t->verb),
        .keep = strlen(t->req->path) + strlen(t->verb) < CACHED_MAX,
    };
    struct access_key key = access_key_of(a->secret, q.body);
    struct access_answer *x = access_memo_get(a->subjects, &key);
    if (x == NULL && t->may_ask) {
        bool shared;
        x = access_memo_ask(a->subjects, &key, t->cancel, fetch_subject, &q, &shared);
    }
    return x;
}

enum access_step access_authorize(struct access_trial *t, const char **ret_reason)
{
    *ret_reason = "";
    t->result = "allowed";
    if (access_in_group(&t->user, ACCESS_MASTERS) ||
        access_path_is_open(&t->a->args.options->always_allow_paths, t->req->path)) {
        return ACCESS_STEP_DONE;
    }
    t->result = "no-opinion";
    if (t->a->authz == NULL) {
        return ACCESS_STEP_REFUSED;
    }
    struct access_answer *x = ask(t);
    if (x == NULL) {
        return ACCESS_STEP_MUST_ASK;
    }
    access_keep(t, x);
    switch (x->outcome) {
    case ACCESS_YES:
        t->result = "allowed";
        return ACCESS_STEP_DONE;
    case ACCESS_NO:
        t->result = x->denied ? "denied" : "no-opinion";
        *ret_reason = x->text;
        return ACCESS_STEP_REFUSED;
    case ACCESS_TROUBLE:
    case ACCESS_CANCELLED:
        break;
    }
    t->result = "error";
    (void)err_set(&t->err, ERR_TRANSIENT, "%s", str_or(x->text, "the request was stopped"));
    return ACCESS_STEP_BROKEN;
}
