/* SPDX-License-Identifier: Apache-2.0 */
/* access_authn.c: who a request comes from.
 *
 * The order is upstream's: proxy, certificate, token.  The first authenticator that names a user
 * wins.  A wrong credential is remembered and the next authenticator asked; if none names a user,
 * it decides between 401 and anonymous.  Source: controller.md §3.6;
 * apiserver/pkg/authentication/authenticatorfactory/delegating.go. */
#include <string.h>

#include "common/base/log.h"
#include "controller/serve/access_cert.h"
#include "controller/serve/access_internal.h"
#include "controller/serve/access_metrics.h"
#include "controller/serve/access_review_rules.h"

static int64_t now_ms(const struct access_trial *t)
{
    return clock_now_ms(t->a->args.clock);
}

/* The first error is reported. */
static void note(struct access_trial *t, const struct err *err)
{
    if (t->err.code == ERR_OK && err->code != ERR_OK) {
        (void)err_copy(&t->err, err);
    }
}

static void unref(void *arg)
{
    access_answer_unref(arg);
}

void access_keep(struct access_trial *t, struct access_answer *x)
{
    arena_defer(t->req->a, unref, x);
}

/* --- certificates ----------------------------------------------------------------------------- */

static bool by_proxy(struct access_trial *t, const struct access_trust *trust)
{
    struct err err = ERR_INIT;
    const char *cn = "";
    if (t->req->cert == NULL || trust->proxy_cas == NULL) {
        return false;
    }
    int rc = access_cert_verify(trust->proxy_cas, t->req->cert, t->req->chain,
                                clock_wall_s(t->a->args.clock), &err);
    rc = rc != ERR_OK ? rc : access_cert_cn(t->req->a, t->req->cert, &cn, &err);
    if (rc == ERR_OK && !access_header_cn_allowed(&trust->headers, cn)) {
        rc = err_set(&err, ERR_AUTH, "certificate of \"%s\": not one of the proxy's names", cn);
    }
    bool found = rc == ERR_OK && access_header_user(t->req, &trust->headers, &t->user, &err);
    note(t, &err);
    return found;
}

static bool by_certificate(struct access_trial *t, const struct access_trust *trust)
{
    struct err err = ERR_INIT;
    if (t->req->cert == NULL || trust->client_cas == NULL) {
        return false;
    }
    int64_t wall_s = clock_wall_s(t->a->args.clock);
    int rc = access_cert_verify(trust->client_cas, t->req->cert, t->req->chain, wall_s, &err);
    bool found = rc == ERR_OK && access_cert_user(t->req->a, t->req->cert, &t->user, &err);
    note(t, &err);
    return found;
}

/* The user borrows from the request and its arena, never from the trust. */
static bool by_either(struct access_trial *t)
{
    struct access_trust *trust = access_lookup_trust(t->a->lookup);
    bool found = by_proxy(t, trust) || by_certificate(t, trust);
    access_trust_unref(trust);
    return found;
}

/* --- tokens ----------------------------------------------------------------------------------- */

struct token_question {
    struct access *a;
    const char *token;
};

static struct access_answer *answer_of(const struct access_token_answer *said, const char *token)
{
    struct access_answer *x = access_answer_new(said->authenticated ? ACCESS_YES : ACCESS_NO);
    if (said->authenticated) {
        x->user = access_user_dup(x->a, &said->user);
        return x;
    }
    struct err line = ERR_INIT;
    (void)err_set(&line, ERR_AUTH, "%s", str_or(said->error, "invalid bearer token"));
    err_mask(&line, token); /* a server that echoes it must not make us log it */
    x->text = arena_strdup(x->a, line.message);
    return x;
}

static struct access_answer *trouble_of(struct err *err, const char *token)
{
    err_mask(err, token);
    struct access_answer *x =
        access_answer_new(err->code == ERR_CANCELLED ? ACCESS_CANCELLED : ACCESS_TROUBLE);
    x->text = arena_strdup(x->a, err->message);
    return x;
}

static void show_active(struct access *a)
{
    size_t fetching;
    size_t waiting;
    access_memo_counts(a->tokens, &fetching, &waiting);
    access_metrics_token_active(a->args.metrics, fetching, waiting);
}

static struct access_answer *fetch_token(void *arg, struct cancel *cancel, int64_t *ret_ttl_ms)
{
    const struct token_question *q = arg;
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct access_token_answer said;
    struct kube_response resp;
    struct err err = ERR_INIT;
    show_active(q->a);
    const struct access_post post = {
        .path = ACCESS_TOKEN_PATH,
        .body = access_token_body(a, q->token),
        .secret = q->token,
    };
    int rc = access_api_post(q->a->authn, a, &post, cancel, &resp, &err);
    rc = rc != ERR_OK ? rc : access_token_read(a, resp.body, resp.body_len, &said, &err);
    access_metrics_token_fetch(q->a->args.metrics, rc == ERR_OK);
    if (rc != ERR_OK) {
        return trouble_of(&err, q->token);
    }
    *ret_ttl_ms = q->a->args.options->authn_cache_ttl_ms;
    return answer_of(&said, q->token);
}

static struct access_answer *look_up(struct access_trial *t, const char *token)
{
    struct access *a = t->a;
    struct access_key key = access_key_of(a->secret, token);
    int64_t began_ms = now_ms(t);
    struct access_answer *x = access_memo_get(a->tokens, &key);
    t->token_was_hit = x != NULL;
    if (x == NULL && t->may_ask) {
        struct token_question q = {.a = a, .token = token};
        bool shared;
        x = access_memo_ask(a->tokens, &key, t->cancel, fetch_token, &q, &shared);
        show_active(a);
    }
    t->token_ms = now_ms(t) - began_ms;
    t->asked_token = x != NULL;
    return x;
}

/* DONE: the token names a user; REFUSED: there is none, or a bad one (then t->err says so). */
static enum access_step by_token(struct access_trial *t)
{
    const char *full;
    const char *header = t->req->header(t->req->header_arg, "Authorization", false, 0, &full);
    const char *token = t->a->authn == NULL ? NULL : access_bearer(t->req->a, header);
    if (token == NULL) {
        return ACCESS_STEP_REFUSED;
    }
    struct err err = ERR_INIT;
    if (strlen(token) > ACCESS_TOKEN_MAX) {
        (void)err_set(&err, ERR_AUTH, "a bearer token of more than %zu bytes", ACCESS_TOKEN_MAX);
        note(t, &err);
        return ACCESS_STEP_REFUSED;
    }
    struct access_answer *x = look_up(t, token);
    if (x == NULL) {
        return ACCESS_STEP_MUST_ASK;
    }
    access_keep(t, x);
    if (x->outcome == ACCESS_YES) {
        t->user = x->user;
        return ACCESS_STEP_DONE;
    }
    (void)err_set(&err, x->outcome == ACCESS_NO ? ERR_AUTH : ERR_TRANSIENT, "bearer token: %s",
                  str_or(x->text, "the request was stopped"));
    note(t, &err);
    return ACCESS_STEP_REFUSED;
}

enum access_step access_authenticate(struct access_trial *t)
{
    enum access_step step = by_either(t) ? ACCESS_STEP_DONE : by_token(t);
    if (step == ACCESS_STEP_DONE) {
        t->user = access_with_authenticated(t->req->a, &t->user);
        return step;
    }
    if (step == ACCESS_STEP_REFUSED && t->err.code == ERR_OK) {
        t->user = access_anonymous; /* nothing was shown */
        return ACCESS_STEP_DONE;
    }
    return step;
}
