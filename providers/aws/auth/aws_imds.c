/* SPDX-License-Identifier: Apache-2.0 */
/* aws_imds.c: see aws_imds.h.
 *
 * What the service says is not quoted in errors: only statuses are.  No lock is held while a request is under way; two reads
 * that need a token at once both ask for one, which does no harm. */
#include "providers/aws/auth/aws_imds.h"

#include "common/base/lock.h"
#include "common/base/secret.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url_build.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_PATH   "/latest/api/token"
#define TOKEN_HEADER "X-Aws-Ec2-Metadata-Token"
#define TTL_HEADER   "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
#define TTL_S        300
#define TTL_MARGIN_S 5
#define TTL_MAX_S    21600 /* what the service grants at most */
#define TOKEN_MAX    ((size_t)4096)
#define CONNECT_MS   250
#define IDLE_MS      500
#define TOTAL_MS     5000
#define MAX_BODY     ((size_t)64 * 1024)
#define TRIES        3
#define BACKOFF_MS   1000
#define HOP_HINT     "; inside a container " AWS_IMDS_HOPS

struct aws_imds {
    char *base;
    struct clock *clock;
    bool disabled;
    bool v1_disabled;
    void (*on_without)(void *arg, bool lost);
    void *arg;
    struct mutex lock;
    char *token _guarded_by_(lock);
    int64_t token_until_ms _guarded_by_(lock);
    bool without _guarded_by_(lock); /* tokens are not to be had: IMDSv1 */
};
enum phase {
    START = 0,
    TOKEN,
    DATA,
};

struct aws_imds *aws_imds_new(const struct aws_imds_config *cfg)
{
    struct aws_imds *m = xcalloc(1, sizeof(*m));
    m->base = xstrdup(cfg->base);
    m->clock = cfg->clock;
    m->on_without = cfg->on_without;
    m->arg = cfg->arg;
    m->disabled = aws_env_is_true(cfg->env, "AWS_EC2_METADATA_DISABLED");
    m->v1_disabled = aws_env_is_true(cfg->env, "AWS_EC2_METADATA_V1_DISABLED");
    mutex_init(&m->lock);
    return m;
}

void aws_imds_free(struct aws_imds *m)
{
    if (m == NULL) {
        return;
    }
    secret_free(m->token);
    mutex_done(&m->lock);
    free(m->base);
    free(m);
}

bool aws_imds_is_disabled(const struct aws_imds *m)
{
    return m->disabled;
}

/* ---- tokens ------------------------------------------------------------------------------------------------ */

/* True: the read can begin, with *ret_token or, when that is NULL, without one. */
static bool token_of(struct aws_imds *m, struct arena *a, const char **ret_token)
{
    mutex_lock(&m->lock);
    bool valid = m->token != NULL && clock_now_ms(m->clock) < m->token_until_ms;
    bool without = m->without;
    *ret_token = valid && !without ? arena_strdup(a, m->token) : NULL;
    mutex_unlock(&m->lock);
    return valid || without;
}

static void set_token(struct aws_imds *m, const char *token, int64_t ttl_s)
{
    mutex_lock(&m->lock);
    secret_set(&m->token, token);
    m->token_until_ms = clock_now_ms(m->clock) + (ttl_s - TTL_MARGIN_S) * 1000;
    m->without = false;
    mutex_unlock(&m->lock);
}

/* True: reads went with one so far. */
static bool drop_token(struct aws_imds *m, bool without)
{
    mutex_lock(&m->lock);
    bool was_with = !m->without;
    secret_free(STEAL(m->token));
    m->without = without;
    mutex_unlock(&m->lock);
    return was_with;
}

static void go_without(const struct aws_imds_get *g)
{
    if (drop_token(g->imds, true) && g->imds->on_without != NULL) {
        g->imds->on_without(g->imds->arg, g->lost);
    }
}

/* A header can carry it. */
static bool is_token(const char *s)
{
    size_t n = 0;
    while (s[n] > ' ' && s[n] <= '~') {
        n++;
    }
    return n > 0 && n <= TOKEN_MAX && s[n] == '\0';
}

/* ---- requests ---------------------------------------------------------------------------------------------- */

/* Without the beginning that all paths have, and without a role's name. */
static const char *op_of(struct arena *a, const char *path)
{
    static const char root[] = "/latest/";
    static const char roles[] = "security-credentials/";
    const char *op = str_has_prefix(path, root) ? path + strlen(root) : path;
    const char *role = strstr(op, roles);
    return role == NULL ? op : arena_strndup(a, op, (size_t)(role - op) + strlen(roles) - 1);
}

static enum http_next send(struct aws_imds_get *g, struct http_request *req, int phase,
                           const char *method, const char *path)
{
    bool has_header = g->header.value != NULL;
    g->phase = phase;
    *req = (struct http_request){
        .api = REQUEST_API_METADATA,
        .op = op_of(g->a, path),
        .method = method,
        .url = url_join(g->a, g->imds->base, path),
        .headers = has_header ? &g->header : NULL,
        .n_headers = has_header ? 1 : 0,
        .connect_ms = CONNECT_MS,
        .idle_ms = IDLE_MS,
        .total_ms = TOTAL_MS,
        .max_body = MAX_BODY,
        .direct = true,
        .not_before_ms = req->not_before_ms,
    };
    return HTTP_SEND;
}

static enum http_next send_data(struct aws_imds_get *g, struct http_request *req, const char *token)
{
    g->tries = 0;
    g->without = token == NULL;
    g->header = (struct http_header){TOKEN_HEADER, token};
    req->not_before_ms = 0;
    return send(g, req, DATA, "GET", g->path);
}

static enum http_next begin(struct aws_imds_get *g, struct http_request *req)
{
    const char *token;
    req->not_before_ms = 0;
    if (token_of(g->imds, g->a, &token)) {
        return send_data(g, req, token);
    }
    g->tries = 0;
    g->header = (struct http_header){TTL_HEADER, "300"};
    return send(g, req, TOKEN, "PUT", TOKEN_PATH);
}

/* Send it again, a little later. */
static bool again(struct aws_imds_get *g, struct http_request *req,
                  const struct http_response *resp, double unit, struct err *err)
{
    bool passes =
        resp->status == 0 ? err->code == ERR_TRANSIENT : retry_classify(resp->status) != ERR_OK;
    if (!passes || ++g->tries >= TRIES) {
        return false;
    }
    req->not_before_ms = clock_now_ms(g->imds->clock) + (int64_t)(unit * BACKOFF_MS);
    err_clear(err);
    return true;
}

/* ---- answers ----------------------------------------------------------------------------------------------- */

static enum http_next fail(struct aws_imds_get *g, int code, const struct http_response *resp,
                           const char *hint, struct err *err)
{
    struct err why = *err;
    const char *what = g->phase == TOKEN ? "a token" : g->path;
    if (resp->status == 0) {
        (void)err_set(err, why.code, "instance metadata: %s: %.600s%s", what, why.message, hint);
    } else {
        (void)err_set(err, code, "instance metadata: %s: %s answered %d%s", what, g->imds->base,
                      resp->status, hint);
    }
    err->http_status = resp->status;
    return HTTP_DONE;
}

static enum http_next take_token(struct aws_imds_get *g, struct http_request *req,
                                 const struct http_response *resp, struct err *err)
{
    int64_t ttl_s = TTL_S;
    const char *told = http_response_header(resp, TTL_HEADER);
    if (!is_token(resp->body)) {
        return fail(g, ERR_TRANSIENT, resp, " without one", err);
    }
    if (told != NULL && (!str_to_i64(told, &ttl_s) || ttl_s <= 0 || ttl_s > TTL_MAX_S)) {
        ttl_s = TTL_S;
    }
    set_token(g->imds, resp->body, ttl_s);
    return send_data(g, req, arena_strdup(g->a, resp->body));
}

static enum http_next on_token(struct aws_imds_get *g, struct http_request *req,
                               const struct http_response *resp, double unit, struct err *err)
{
    if (resp->status == 200) {
        return take_token(g, req, resp, err);
    }
    if (again(g, req, resp, unit, err)) {
        return send(g, req, TOKEN, "PUT", TOKEN_PATH);
    }
    bool stop = resp->status == 400 || (resp->status == 0 && err->code != ERR_TRANSIENT);
    if (stop || g->imds->v1_disabled) {
        int code = retry_classify(resp->status) != ERR_OK ? ERR_TRANSIENT : ERR_AUTH;
        return fail(g, code, resp, resp->status == 0 && !stop ? HOP_HINT : "", err);
    }
    bool unknown = resp->status == 403 || resp->status == 404 || resp->status == 405;
    g->lost = resp->status == 0;
    if (unknown || g->lost) {
        go_without(g);
    }
    err_clear(err);
    return send_data(g, req, NULL);
}

static enum http_next on_data(struct aws_imds_get *g, struct http_request *req,
                              const struct http_response *resp, double unit, struct err *err)
{
    if (resp->status == 200) {
        g->body = arena_strndup(g->a, resp->body, resp->body_len);
        return HTTP_DONE;
    }
    if (resp->status == 401 && !g->denied) {
        g->denied = true;
        (void)drop_token(g->imds, false);
        return begin(g, req);
    }
    if (again(g, req, resp, unit, err)) {
        return send(g, req, DATA, "GET", g->path);
    }
    int code = resp->status == 404                          ? ERR_NOT_FOUND
               : retry_classify(resp->status) != ERR_OK     ? ERR_TRANSIENT
               : resp->status == 401 || resp->status == 403 ? ERR_FORBIDDEN
                                                            : ERR_INVALID;
    bool hops = g->without && (resp->status == 0 || (resp->status == 401 && g->lost));
    return fail(g, code, resp, hops ? HOP_HINT : "", err);
}

void aws_imds_begin(struct aws_imds_get *g, struct aws_imds *imds, struct arena *a,
                    const char *path)
{
    *g = (struct aws_imds_get){.imds = imds, .a = a, .path = path};
}

enum http_next aws_imds_step(struct aws_imds_get *g, struct http_request *req,
                             const struct http_response *resp, double unit, struct err *err)
{
    if (g->imds->disabled) {
        (void)err_set(err, ERR_INVALID,
                      "instance metadata: AWS_EC2_METADATA_DISABLED is true, so %s is not read",
                      g->path);
        return HTTP_DONE;
    }
    if (g->phase == START || resp == NULL) {
        return begin(g, req);
    }
    return g->phase == TOKEN ? on_token(g, req, resp, unit, err) : on_data(g, req, resp, unit, err);
}

/* ---- whole reads ------------------------------------------------------------------------------------------- */

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    return aws_imds_step(job->arg, &job->req, resp, rng_unit(rng_real()), &job->err);
}

int aws_imds_read(struct aws_imds *imds, struct http *http, struct arena *a, const char *path,
                  struct cancel *cancel, const char **ret, struct err *err)
{
    struct aws_imds_get g;
    struct http_job job = {.step = step, .arg = &g, .cancel = cancel};
    struct http_job *jobs[] = {&job};
    aws_imds_begin(&g, imds, a, path);
    http_run(http, jobs, 1);
    if (job.err.code == ERR_OK) {
        *ret = g.body;
        return ERR_OK;
    }
    return err_copy(err, &job.err);
}

int aws_imds_region(struct aws_imds *imds, struct http *http, struct arena *a,
                    struct cancel *cancel, const char **ret, struct err *err)
{
    const char *text;
    struct json_object *o = NULL;
    int rc = aws_imds_read(imds, http, a, AWS_IMDS_DOCUMENT, cancel, &text, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK ||
        str_is_empty(json_str(o, "region"))) {
        return err_set(err, ERR_TRANSIENT,
                       "instance metadata: the identity document names no "
                       "region");
    }
    *ret = json_str(o, "region");
    return ERR_OK;
}
