/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth_local.c: keys that this machine hands out: a container's agent, the instance's metadata,
 * a program (docs/spec/aws.md 2.2, 2.1 rows 8 to 11). */
#include "common/base/file.h"
#include "common/base/run.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url_build.h"
#include "providers/aws/auth/aws_auth_internal.h"

#include <string.h>
#include <unistd.h>

#define TOTAL_MS         5000
#define CONNECT_MS       2000
#define MAX_BODY         ((size_t)128 * 1024)
#define TOKEN_MAX        ((size_t)64 * 1024)
#define PROCESS_MS       60000
#define PROCESS_OUT_MAX  ((size_t)128 * 1024)
#define PROCESS_ERR_MAX  ((size_t)4096)
#define INSTANCE_LIFE_MS ((int64_t)3600 * 1000)
#define ROLE_MAX         128

/* ---- containers ------------------------------------------------------------------------------ */

static int authorization_of(struct aws_stage_run *r, const char **ret, struct err *err)
{
    const struct aws_stage *s = r->stage;
    char *text;
    size_t n;
    struct err why = ERR_INIT;
    *ret = s->token;
    if (*s->token_file != '\0') {
        if (file_read(r->f->a, s->token_file, TOKEN_MAX, &text, &n, &why) != ERR_OK) {
            return err_set(err, ERR_AUTH, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE %.300s: %.500s",
                           s->token_file, why.message);
        }
        *ret = strlen(text) == n ? text : "\n";
    }
    for (const char *p = *ret; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            return err_set(err, ERR_AUTH,
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN%s holds a line end or "
                           "another control character",
                           *s->token_file != '\0' ? "_FILE" : "");
        }
    }
    return ERR_OK;
}

static enum http_next ask_container(struct aws_stage_run *r, struct http_request *req,
                                    struct err *err)
{
    const char *authorization;
    if (authorization_of(r, &authorization, err) != ERR_OK) {
        return HTTP_DONE;
    }
    r->headers[0] = (struct http_header){"Accept", "application/json"};
    r->headers[1] = (struct http_header){"Authorization", authorization};
    *req = (struct http_request){
        .api = REQUEST_API_METADATA,
        .op = "container-credentials",
        .method = "GET",
        .url = r->stage->url,
        .headers = r->headers,
        .n_headers = *authorization != '\0' ? 2 : 1,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .max_body = MAX_BODY,
        .direct = str_has_prefix(r->stage->url, "http://"),
        .not_before_ms = req->not_before_ms,
    };
    r->asked = true;
    return HTTP_SEND;
}

static const char *container_code(const struct aws_stage_run *r, const struct http_response *resp)
{
    struct json_object *o = NULL;
    if (resp->status == 0 ||
        json_parse_arena(r->f->a, resp->body, resp->body_len, NULL, &o, NULL) != ERR_OK) {
        return "";
    }
    return aws_stage_code(r->f->a, json_str(o, "code"));
}

enum http_next aws_container_step(struct aws_stage_run *r, struct http_request *req,
                                  const struct http_response *resp, double unit, struct err *err)
{
    if (!r->asked || resp == NULL) {
        req->not_before_ms = 0;
        return ask_container(r, req, err);
    }
    if (resp->status == 200 && aws_stage_take_json(r, resp->body, resp->body_len, "Token",
                                                   aws_stage_now_s(r, resp), err) == ERR_OK) {
        return HTTP_DONE;
    }
    bool passes =
        resp->status == 0 ? err->code == ERR_TRANSIENT : retry_classify(resp->status) != ERR_OK;
    if (aws_stage_again(r, req, resp, passes, unit, err)) {
        return ask_container(r, req, err);
    }
    return aws_stage_fail(r, req, resp, container_code(r, resp), passes, "", err);
}

/* ---- the instance ---------------------------------------------------------------------------- */

/* The first line, when it can stand in a path. */
static const char *role_of(struct arena *a, const char *text)
{
    const char *role = str_trim(a, arena_strndup(a, text, strcspn(text, "\n")));
    size_t n =
        strspn(role, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+=,.@-");
    return n > 0 && n <= ROLE_MAX && role[n] == '\0' ? role : NULL;
}

static int take_instance(struct aws_stage_run *r, const struct http_response *resp, struct err *err)
{
    const char *text = r->imds.body;
    struct json_object *o = NULL;
    if (json_parse_arena(r->f->a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return err_set(err, ERR_AUTH, "the metadata service gave no JSON object");
    }
    const char *code = json_str(o, "Code");
    if (!str_eq_nocase(code, "Success")) {
        return err_set(err, ERR_AUTH, "the metadata service has no keys: Code is \"%s\"",
                       aws_stage_code(r->f->a, code));
    }
    struct err why = ERR_INIT;
    if (json_str(o, "Expiration") == NULL) {
        return err_set(err, ERR_AUTH,
                       "the metadata service gave keys without a readable Expiration");
    }
    if (aws_stage_take_json(r, text, strlen(text), "Token", aws_stage_now_s(r, resp), &why) !=
        ERR_OK) {
        return err_set(err, ERR_AUTH, "the metadata service %.300s", why.message);
    }
    if (r->found.lasts_ms > INSTANCE_LIFE_MS) {
        r->found.lasts_ms = INSTANCE_LIFE_MS;
    }
    return ERR_OK;
}

static void begin_read(struct aws_stage_run *r, const char *path)
{
    aws_imds_begin(&r->imds, r->cfg->imds, r->f->a, path);
}

enum http_next aws_instance_step(struct aws_stage_run *r, struct http_request *req,
                                 const struct http_response *resp, double unit, struct err *err)
{
    if (!r->asked) {
        r->asked = true;
        begin_read(r, AWS_IMDS_ROLE);
        resp = NULL;
    }
    enum http_next next = aws_imds_step(&r->imds, req, resp, unit, err);
    if (next != HTTP_DONE) {
        return next;
    }
    if (err->code == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_AUTH,
                      "no other credentials are given, and this instance has no role (instance "
                      "profile)");
    } else if (err->code != ERR_OK && err->code != ERR_TRANSIENT && err->code != ERR_CANCELLED) {
        err->code = ERR_AUTH;
    }
    if (err->code != ERR_OK) {
        return HTTP_DONE;
    }
    if (r->has_role) {
        (void)take_instance(r, resp, err);
        return HTTP_DONE;
    }
    const char *role = role_of(r->f->a, r->imds.body);
    if (role == NULL) {
        (void)err_set(err, ERR_AUTH, "the metadata service names no role");
        return HTTP_DONE;
    }
    struct url_build path;
    const char *text = NULL;
    url_build_begin(&path, AWS_IMDS_ROLE);
    url_build_segment(&path, "role of the metadata service", role);
    if (url_build_end(&path, r->f->a, &text, err) != ERR_OK) {
        err->code = ERR_AUTH;
        return HTTP_DONE;
    }
    r->has_role = true;
    begin_read(r, text);
    return aws_imds_step(&r->imds, req, NULL, unit, err);
}

/* ---- a program ------------------------------------------------------------------------------- */

/* Its output is secret, and its stderr may be: neither is logged. */
static int run_process(struct aws_stage_run *r, struct err *err)
{
    const char *const argv[] = {"sh", "-c", r->stage->command, NULL};
    const struct run_args args = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .timeout_ms = PROCESS_MS,
        .out_max = PROCESS_OUT_MAX,
        .err_max = PROCESS_ERR_MAX,
        .cancel = r->f->cancel,
    };
    struct run_result result;
    struct err why = ERR_INIT;
    int rc = run_program(r->f->a, &args, &result, &why);
    if (rc != ERR_OK) {
        int code = rc == ERR_CANCELLED || rc == ERR_TRANSIENT ? rc : ERR_AUTH;
        return err_set(err, code, "credential_process: %.300s", why.message);
    }
    if (result.exit_code != 0) {
        return err_set(err, ERR_AUTH, "credential_process ended with status %d", result.exit_code);
    }
    struct json_object *o = NULL;
    if (json_parse_arena(r->f->a, result.out, result.out_len, NULL, &o, NULL) != ERR_OK ||
        json_int(o, "Version", 0) != 1) {
        return err_set(err, ERR_AUTH, "credential_process printed no JSON of Version 1");
    }
    if (aws_stage_take_json(r, result.out, result.out_len, "SessionToken", aws_stage_now_s(r, NULL),
                            &why) != ERR_OK) {
        return err_set(err, ERR_AUTH, "credential_process %.300s", why.message);
    }
    return ERR_OK;
}

enum http_next aws_process_step(struct aws_stage_run *r, struct err *err)
{
    (void)run_process(r, err); /* what came of it is in *err */
    return HTTP_DONE;
}
