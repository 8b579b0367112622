/* SPDX-License-Identifier: Apache-2.0 */
/* access.c: life of struct access, and the way of one request through it (access.h,
 * access_internal.h).
 *
 * Two doors, one way: access_decide() walks it with what is in memory and gives up where the API
 * server would have to be asked, access_ask() walks it whole.  A request is counted and logged
 * once, where it ends. */
#include "controller/serve/access.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/serve/access_cert.h"
#include "controller/serve/access_internal.h"
#include "controller/serve/access_metrics.h"

#define TOKENS_MAX   4096 /* upstream: 32 parts of 128 */
#define SUBJECTS_MAX 8192

/* --- life ------------------------------------------------------------------------------------- */

static int open_apis(struct access *a, struct err *err)
{
    const struct options *o = a->args.options;
    struct access_api_args args = {
        .kubeconfig = o->authn_kubeconfig,
        .own = a->args.own,
        .own_file = a->args.own_file,
        .flag = "--authentication-kubeconfig",
        .what = "authn",
        .user_agent = a->args.user_agent,
        .metrics = a->args.metrics,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
    };
    struct err why = ERR_INIT;
    int rc = access_api_new(&args, &a->authn, &why);
    if (rc != ERR_OK) {
        return err_copy(err, &why);
    }
    if (a->authn == NULL) {
        log_warning("No --authentication-kubeconfig and not in a cluster: bearer tokens are not "
                    "looked at",
                    LOG_S("err", why.message));
    }
    err_clear(&why);
    args.kubeconfig = o->authz_kubeconfig;
    args.flag = "--authorization-kubeconfig";
    args.what = "authz";
    args.tells_timeout = true;
    rc = access_api_new(&args, &a->authz, &why);
    if (rc != ERR_OK) {
        return err_copy(err, &why);
    }
    if (a->authz == NULL) {
        log_warning("No --authorization-kubeconfig and not in a cluster: only the paths of "
                    "--authorization-always-allow-paths, and members of system:masters, are "
                    "served",
                    LOG_S("err", why.message));
    }
    return ERR_OK;
}

static int start(struct access *a, struct err *err)
{
    int rc = access_check_paths(&a->args.options->always_allow_paths, err);
    rc = rc != ERR_OK ? rc : open_apis(a, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct access_lookup_args lookup = {
        .options = a->args.options,
        .api = a->authn,
        .user_agent = a->args.user_agent,
        .clock = a->args.clock,
        .rng = a->args.rng,
    };
    return access_lookup_new(&lookup, &a->lookup, err);
}

int access_new(const struct access_args *args, struct access **ret, struct err *err)
{
    struct access *a = xcalloc(1, sizeof *a);
    a->args = *args;
    a->args.user_agent = xstrdup(args->user_agent);
    a->args.clock = args->clock == NULL ? clock_real() : args->clock;
    a->args.rng = args->rng == NULL ? rng_real() : args->rng;
    a->cancel = cancel_new(NULL);
    /* Not args->rng: a test's seed must not be able to weaken it. */
    rng_bytes(rng_real(), a->secret, sizeof a->secret);
    a->tokens = access_memo_new(TOKENS_MAX, a->args.clock);
    a->subjects = access_memo_new(SUBJECTS_MAX, a->args.clock);
    mutex_init(&a->lock);
    cond_init(&a->left);
    access_metrics_register(args->metrics);
    int rc = start(a, err);
    if (rc != ERR_OK) {
        access_free(a);
        return rc;
    }
    *ret = a;
    return ERR_OK;
}

static void wait_until_empty(struct access *a)
{
    mutex_lock(&a->lock);
    while (a->inside > 0) {
        clock_wait(a->args.clock, &a->left, &a->lock, CLOCK_NEVER);
    }
    mutex_unlock(&a->lock);
}

void access_free(struct access *a)
{
    if (a == NULL) {
        return;
    }
    cancel_fire(a->cancel);
    wait_until_empty(a);
    access_lookup_free(a->lookup);
    access_api_free(a->authn);
    access_api_free(a->authz);
    access_memo_free(a->tokens);
    access_memo_free(a->subjects);
    cancel_free(a->cancel);
    cond_done(&a->left);
    mutex_done(&a->lock);
    explicit_bzero(a->secret, sizeof a->secret);
    free((char *)a->args.user_agent);
    free(a);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static struct access_verdict refused(struct access_trial *t)
{
    static struct log_limit limit = {.interval_ms = 10000, .burst = 20};
    if (log_limit_ok(&limit, clock_now_ms(t->a->args.clock))) {
        log_error(t->err.message, "Unable to authenticate the request",
                  LOG_S("path", t->req->path));
    }
    return (struct access_verdict){
        .status = 401, .message = "Unauthorized", .reason = "Unauthorized", .user = ""};
}

static struct access_verdict broken(struct access_trial *t)
{
    static struct log_limit limit = {.interval_ms = 10000, .burst = 20};
    if (log_limit_ok(&limit, clock_now_ms(t->a->args.clock))) {
        log_error(t->err.message, "The authorization of the request is unknown",
                  LOG_S("user", t->user.name), LOG_S("path", t->req->path));
    }
    /* Why is the log's to know: the text may speak of hosts and files. */
    return (struct access_verdict){
        .status = 500,
        .message = "Internal Server Error: the API server could not be asked",
        .reason = "InternalError",
        .user = t->user.name,
    };
}

static struct access_verdict forbidden(struct access_trial *t, const char *reason)
{
    log_info(4, "Forbidden", LOG_S("user", t->user.name), LOG_S("verb", t->verb),
             LOG_S("path", t->req->path), LOG_S("reason", reason));
    return (struct access_verdict){
        .status = 403,
        .message = access_forbidden_text(t->req->a, t->user.name, t->verb, t->req->path, reason),
        .reason = "Forbidden",
        .user = t->user.name,
    };
}

/* --- the way ---------------------------------------------------------------------------------- */

static void count_shown(struct access_trial *t)
{
    struct metrics *m = t->a->args.metrics;
    if (t->asked_token) {
        access_metrics_token(m, t->token_was_hit, t->token_ms);
    }
    if (t->req->cert != NULL) {
        access_metrics_certificate(
            m, access_cert_remaining_s(t->req->cert, clock_wall_s(t->a->args.clock)));
    }
}

/* False: the API server must be asked, and may not be. */
static bool walk(struct access_trial *t, struct access_verdict *ret)
{
    struct access *a = t->a;
    struct metrics *m = a->args.metrics;
    int64_t began_ms = clock_now_ms(a->args.clock);
    t->verb = str_lower(t->req->a, t->req->method);
    enum access_step step = access_authenticate(t);
    int64_t known_ms = clock_now_ms(a->args.clock);
    if (step == ACCESS_STEP_MUST_ASK) {
        return false;
    }
    if (step == ACCESS_STEP_REFUSED) {
        count_shown(t);
        access_metrics_authn(m, "error", NULL, known_ms - began_ms);
        *ret = refused(t);
        return true;
    }
    t->user.name = arena_strdup(t->req->a, t->user.name); /* the verdict shows it */
    const char *reason = "";
    step = access_authorize(t, &reason);
    if (step == ACCESS_STEP_MUST_ASK) {
        return false;
    }
    count_shown(t);
    access_metrics_authn(m, "success", t->user.name, known_ms - began_ms);
    access_metrics_authz(m, t->result, clock_now_ms(a->args.clock) - known_ms);
    if (step == ACCESS_STEP_DONE) {
        *ret = (struct access_verdict){.message = "", .reason = "", .user = t->user.name};
    } else {
        *ret = step == ACCESS_STEP_REFUSED ? forbidden(t, reason) : broken(t);
    }
    return true;
}

bool access_decide(struct access *a, const struct access_request *req, struct access_verdict *ret)
{
    struct access_trial t = {.a = a, .req = req};
    return walk(&t, ret);
}

void access_ask(struct access *a, const struct access_request *req, struct cancel *cancel,
                struct access_verdict *ret)
{
    struct access_trial t = {.a = a, .req = req, .cancel = cancel, .may_ask = true};
    mutex_lock(&a->lock);
    a->inside++;
    mutex_unlock(&a->lock);
    (void)walk(&t, ret); /* true: it may ask */
    mutex_lock(&a->lock);
    a->inside--;
    cond_broadcast(&a->left);
    mutex_unlock(&a->lock);
}

static void add_names(STACK_OF(X509_NAME) * names, const STACK_OF(X509_NAME) * from)
{
    for (int i = 0; i < sk_X509_NAME_num(from); i++) {
        X509_NAME *name = X509_NAME_dup(sk_X509_NAME_value(from, i));
        if (name == NULL || sk_X509_NAME_push(names, name) == 0) {
            out_of_memory(0);
        }
    }
}

STACK_OF(X509_NAME) * access_client_ca_names(struct access *a)
{
    struct access_trust *t = access_lookup_trust(a->lookup);
    STACK_OF(X509_NAME) *names = NULL;
    if (sk_X509_NAME_num(t->client_names) + sk_X509_NAME_num(t->proxy_names) > 0) {
        names = sk_X509_NAME_new_null();
        add_names(names, t->client_names);
        add_names(names, t->proxy_names);
    }
    access_trust_unref(t);
    return names;
}
