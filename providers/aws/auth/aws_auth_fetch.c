/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth_fetch.c: getting keys, stage by stage of the chain, as a state machine of requests
 * (struct aws_fetch).
 *
 * The chain is resolved again for each fetch, so that a profile's file that has changed is seen.
 * What sources share is here, too: taking keys over, trying again, saying what failed.  What a
 * server says in words is not quoted, because it may echo what we sent; its codes are. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/net/retry.h"
#include "common/net/url.h"
#include "providers/aws/auth/aws_auth_internal.h"

#include <string.h>

#define TRIES          3
#define TRIES_MOST     20
#define CAP_MS         20000
#define LASTS_MAX_MS   ((int64_t)7 * 24 * 3600 * 1000)
#define KEY_MAX        ((size_t)256)
#define TOKEN_MAX      ((size_t)64 * 1024)
#define CODE_MAX       64
#define RETRY_AFTER_MS 20000 /* a longer wait is passed on */

struct fetch_state {
    bool resolved;
    struct aws_chain chain;
    size_t at; /* the stage */
    struct aws_stage_run run;
};

void aws_fetch_begin(struct aws_fetch *f, struct aws_auth *auth, struct arena *a,
                     struct cancel *cancel)
{
    *f = (struct aws_fetch){
        .auth = auth, .a = a, .cancel = cancel, .more = ARENA_NEW(a, struct fetch_state)};
}

/* ---- what sources share ---------------------------------------------------------------------- */

int64_t aws_stage_now_s(const struct aws_stage_run *r, const struct http_response *resp)
{
    int64_t server_s = resp != NULL ? http_response_date_s(resp) : -1;
    return server_s >= 0 ? server_s : clock_wall_s(r->cfg->clock);
}

/* A header can carry it, and a signature's text. */
static bool is_word(const char *s, size_t max)
{
    size_t n = 0;
    while (s[n] > ' ' && s[n] <= '~') {
        n++;
    }
    return n <= max && s[n] == '\0';
}

static bool are_keys(const struct sigv4_keys *k)
{
    return !str_is_empty(k->access_key) && !str_is_empty(k->secret_key) &&
           is_word(k->access_key, KEY_MAX) && strpbrk(k->access_key, "/,= ") == NULL &&
           strlen(k->secret_key) <= KEY_MAX && is_word(str_nonnull(k->session_token), TOKEN_MAX);
}

int aws_stage_take(struct aws_stage_run *r, const struct sigv4_keys *keys, const char *expiration,
                   int64_t now_s, struct err *err)
{
    struct aws_found found = {.expires = expiration != NULL};
    if (!are_keys(keys)) {
        return err_set(err, ERR_AUTH, "gave no usable keys");
    }
    if (expiration != NULL) {
        int64_t until_us;
        if (!time_parse_rfc3339(expiration, &until_us)) {
            return err_set(err, ERR_AUTH, "gave keys without a readable Expiration");
        }
        int64_t left_s = until_us / 1000000 - now_s;
        if (left_s <= 0) {
            return err_set(err, ERR_AUTH, "gave keys that have expired already");
        }
        found.lasts_ms = left_s > LASTS_MAX_MS / 1000 ? LASTS_MAX_MS : left_s * 1000;
    }
    found.keys = (struct sigv4_keys){
        .access_key = arena_strdup(r->f->a, keys->access_key),
        .secret_key = arena_strdup(r->f->a, keys->secret_key),
        .session_token = arena_strdup(r->f->a, str_nonnull(keys->session_token)),
    };
    r->found = found;
    return ERR_OK;
}

int aws_stage_take_json(struct aws_stage_run *r, const char *text, size_t n, const char *token,
                        int64_t now_s, struct err *err)
{
    const struct json_limits limits = {.max_bytes = TOKEN_MAX * 2, .max_depth = 8};
    struct json_object *o = NULL;
    if (json_parse_arena(r->f->a, text, n, &limits, &o, NULL) != ERR_OK ||
        !json_object_is_type(o, json_type_object)) {
        return err_set(err, ERR_AUTH, "gave no JSON object");
    }
    const struct sigv4_keys keys = {
        .access_key = json_str(o, "AccessKeyId"),
        .secret_key = json_str(o, "SecretAccessKey"),
        .session_token = json_str(o, token),
    };
    const char *expiration = json_str(o, "Expiration");
    if (expiration == NULL && json_member(o, "Expiration") != NULL) {
        return err_set(err, ERR_AUTH, "gave keys without a readable Expiration");
    }
    return aws_stage_take(r, &keys, str_is_empty(expiration) ? NULL : expiration, now_s, err);
}

bool aws_stage_again(struct aws_stage_run *r, struct http_request *req,
                     const struct http_response *resp, bool passes, double unit, struct err *err)
{
    int64_t asked_ms = http_retry_after_ms(resp, clock_wall_s(r->cfg->clock));
    int told = r->cfg->max_attempts > 0 ? r->cfg->max_attempts : TRIES;
    int most = r->f->once ? 1 : told < TRIES_MOST ? told : TRIES_MOST;
    if (!passes || ++r->tries >= most || asked_ms > RETRY_AFTER_MS) {
        return false;
    }
    int64_t wait_ms = (int64_t)(unit * (double)((int64_t)1000 << r->tries));
    wait_ms = asked_ms > wait_ms ? asked_ms : wait_ms;
    req->not_before_ms = clock_now_ms(r->cfg->clock) + (wait_ms > CAP_MS ? CAP_MS : wait_ms);
    err_clear(err);
    return true;
}

const char *aws_stage_code(struct arena *a, const char *text)
{
    size_t n = strspn(str_nonnull(text),
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.");
    return n > 0 && n <= CODE_MAX && text[n] == '\0' ? arena_strdup(a, text) : "";
}

/* Scheme, host and port: enough to know who was asked. */
static const char *origin_of(const struct aws_stage_run *r, const char *text)
{
    struct url u;
    return url_parse(r->f->a, text, &u, NULL) == ERR_OK ? url_origin(r->f->a, &u)
                                                        : "a malformed URL";
}

enum http_next aws_stage_fail(struct aws_stage_run *r, const struct http_request *req,
                              const struct http_response *resp, const char *code, bool passes,
                              const char *advice, struct err *err)
{
    struct err why = *err;
    const char *more = *advice != '\0' ? "; " : "";
    if (resp->status == 0) {
        bool cancelled = why.code == ERR_CANCELLED;
        (void)err_set(err, why.code, "%.600s%s%s", why.message, cancelled ? "" : more,
                      cancelled ? "" : advice);
        return HTTP_DONE;
    }
    const char *where = origin_of(r, req->url);
    if (resp->status == 200) {
        (void)err_set(err, passes ? ERR_TRANSIENT : ERR_AUTH, "%s %.300s%s%s", where, why.message,
                      more, advice);
    } else {
        (void)err_set(err, passes ? ERR_TRANSIENT : ERR_AUTH, "%s answered %d%s%s%s%s%s", where,
                      resp->status, *code != '\0' ? " (" : "", code, *code != '\0' ? ")" : "", more,
                      advice);
    }
    err->http_status = resp->status;
    err->retry_after_ms = http_retry_after_ms(resp, clock_wall_s(r->cfg->clock));
    return HTTP_DONE;
}

/* ---- stage by stage -------------------------------------------------------------------------- */

static void begin_stage(struct fetch_state *s, struct aws_fetch *f)
{
    const struct aws_found found = s->run.found;
    s->run = (struct aws_stage_run){.f = f,
                                    .cfg = aws_auth_config_of(f->auth),
                                    .stage = &s->chain.stages[s->at],
                                    .found = found};
}

static enum http_next step_stage(struct aws_stage_run *r, struct http_request *req,
                                 const struct http_response *resp, double unit, struct err *err)
{
    switch (r->stage->source) {
    case AWS_SOURCE_STATIC:
        if (aws_stage_take(r, &r->stage->keys, NULL, 0, err) != ERR_OK) {
            (void)err_set(err, ERR_AUTH, "its access key, secret key or token is malformed");
        }
        return HTTP_DONE;
    case AWS_SOURCE_PROCESS:
        return aws_process_step(r, err);
    case AWS_SOURCE_CONTAINER:
        return aws_container_step(r, req, resp, unit, err);
    case AWS_SOURCE_IMDS:
        return aws_instance_step(r, req, resp, unit, err);
    case AWS_SOURCE_WEB:
    case AWS_SOURCE_ROLE:
        return aws_sts_step(r, req, resp, unit, err);
    }
    (void)err_set(err, ERR_BUG, "source %d", (int)r->stage->source);
    return HTTP_DONE;
}

static enum http_next fail(const struct aws_stage_run *r, struct err *err)
{
    struct err why = *err;
    (void)err_set(err, why.code, "credentials: %s: %.900s", r->stage->origin, why.message);
    err->http_status = why.http_status;
    err->retry_after_ms = why.retry_after_ms;
    return HTTP_DONE;
}

enum http_next aws_fetch_step(struct aws_fetch *f, struct http_request *req,
                              const struct http_response *resp, double unit, struct err *err)
{
    struct fetch_state *s = f->more;
    if (!s->resolved) {
        if (aws_chain_resolve(f->a, aws_auth_config_of(f->auth), &s->chain, err) != ERR_OK) {
            return HTTP_DONE;
        }
        s->resolved = true;
        begin_stage(s, f);
        resp = NULL;
    }
    for (;;) {
        enum http_next next = step_stage(&s->run, req, resp, unit, err);
        if (next != HTTP_DONE) {
            return next;
        }
        if (err->code != ERR_OK) {
            return fail(&s->run, err);
        }
        if (++s->at == s->chain.n) {
            aws_auth_store(f->auth, &s->chain, &s->run.found);
            return HTTP_DONE;
        }
        begin_stage(s, f);
        resp = NULL;
    }
}
