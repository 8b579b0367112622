/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth_sts.c: keys of a role from the security token service: AssumeRoleWithWebIdentity,
 * AssumeRole (docs/spec/aws.md 2.2, 2.4).
 *
 * The first is not signed: the token in its form is what proves who we are, read from its file each
 * time.  The second is signed with the keys of the stage before.  When the service refuses a
 * signature because of its time, and its own clock is more than four minutes from ours, it is asked
 * once more by that clock. */
#include "common/base/file.h"
#include "common/base/str.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "providers/aws/auth/aws_auth_internal.h"
#include "providers/aws/model/aws_xml.h"

#include <string.h>

#define VERSION    "2011-06-15"
#define TOTAL_MS   30000
#define CONNECT_MS 5000
#define MAX_BODY   ((size_t)256 * 1024)
#define TOKEN_MAX  ((size_t)64 * 1024)
#define SKEW_S     240

static bool is_web(const struct aws_stage_run *r)
{
    return r->stage->source == AWS_SOURCE_WEB;
}

/* ---- the request ----------------------------------------------------------------------------- */

static const char *session_of(const struct aws_stage_run *r)
{
    if (!str_is_empty(r->stage->session_name)) {
        return r->stage->session_name;
    }
    return arena_printf(r->f->a, "trimtab-%lld", (long long)clock_wall_us(r->cfg->clock) * 1000);
}

static int read_token(const struct aws_stage_run *r, const char **ret, struct err *err)
{
    char *text;
    size_t n;
    struct err why = ERR_INIT;
    if (file_read(r->f->a, r->stage->token_file, TOKEN_MAX, &text, &n, &why) != ERR_OK) {
        return err_set(err, ERR_AUTH, "token file %.300s: %.500s", r->stage->token_file,
                       why.message);
    }
    const char *token = str_trim(r->f->a, text);
    if (*token == '\0' || strlen(text) != n) {
        return err_set(err, ERR_AUTH, "token file %.300s: there is no token in it",
                       r->stage->token_file);
    }
    *ret = token;
    return ERR_OK;
}

static int form_of(const struct aws_stage_run *r, struct str_buf *b, struct err *err)
{
    const struct aws_stage *s = r->stage;
    const char *token = NULL;
    sigv4_append_pair(b, "Action", is_web(r) ? "AssumeRoleWithWebIdentity" : "AssumeRole");
    if (is_web(r) && read_token(r, &token, err) != ERR_OK) {
        return ERR_AUTH;
    }
    if (!is_web(r)) {
        sigv4_append_pair(b, "DurationSeconds",
                          arena_printf(r->f->a, "%lld", (long long)s->duration_s));
    }
    if (*s->external_id != '\0') {
        sigv4_append_pair(b, "ExternalId", s->external_id);
    }
    sigv4_append_pair(b, "RoleArn", s->role_arn);
    sigv4_append_pair(b, "RoleSessionName", session_of(r));
    sigv4_append_pair(b, "Version", VERSION);
    if (token != NULL) {
        sigv4_append_pair(b, "WebIdentityToken", token);
    }
    return ERR_OK;
}

static int sign(struct aws_stage_run *r, struct http_request *req, struct err *err)
{
    const struct aws_endpoint *e = r->cfg->sts;
    return sigv4_sign_http(r->f->a, NULL, &r->found.keys, e->signing_region, e->signing_name,
                           aws_stage_now_s(r, NULL) + r->offset_s, req, err);
}

static enum http_next ask(struct aws_stage_run *r, struct http_request *req, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    if (form_of(r, &b, err) != ERR_OK) {
        return HTTP_DONE;
    }
    size_t n = 0;
    r->headers[n++] =
        (struct http_header){"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"};
    if (*r->stage->account != '\0') {
        r->headers[n++] = (struct http_header){"x-amz-source-account", r->stage->account};
    }
    if (*r->stage->source_arn != '\0') {
        r->headers[n++] = (struct http_header){"x-amz-source-arn", r->stage->source_arn};
    }
    *req = (struct http_request){
        .api = REQUEST_API_TOKEN,
        .op = is_web(r) ? "sts.AssumeRoleWithWebIdentity" : "sts.AssumeRole",
        .method = "POST",
        .url = r->cfg->sts->url,
        .headers = r->headers,
        .n_headers = n,
        .body = str_buf_to_arena(&b, r->f->a),
        .body_len = b.len,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .max_body = MAX_BODY,
        .not_before_ms = req->not_before_ms,
    };
    if (!is_web(r) && sign(r, req, err) != ERR_OK) {
        return HTTP_DONE;
    }
    r->asked = true;
    return HTTP_SEND;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* *ret_cut: it may come whole the next time. */
static int take(struct aws_stage_run *r, const struct http_response *resp, bool *ret_cut,
                struct err *err)
{
    const struct aws_node *root = NULL;
    int rc = aws_xml_parse(r->f->a, resp->body, resp->body_len, &root, NULL);
    *ret_cut = rc == ERR_TRANSIENT;
    if (rc != ERR_OK) {
        return err_set(err, ERR_AUTH, "gave no XML");
    }
    const struct aws_node *c =
        aws_xml_find(root, is_web(r) ? "AssumeRoleWithWebIdentityResult/Credentials"
                                     : "AssumeRoleResult/Credentials");
    const struct sigv4_keys keys = {
        .access_key = aws_xml_text(c, "AccessKeyId"),
        .secret_key = aws_xml_text(c, "SecretAccessKey"),
        .session_token = aws_xml_text(c, "SessionToken"),
    };
    if (str_is_empty(keys.session_token)) {
        return err_set(err, ERR_AUTH, "gave no usable keys");
    }
    return aws_stage_take(r, &keys, str_nonnull(aws_xml_text(c, "Expiration")),
                          aws_stage_now_s(r, resp), err);
}

static const char *code_of(const struct aws_stage_run *r, const struct http_response *resp)
{
    const struct aws_node *root = NULL;
    if (resp->status == 0 || resp->status == 200 ||
        aws_xml_parse(r->f->a, resp->body, resp->body_len, &root, NULL) != ERR_OK) {
        return "";
    }
    return aws_stage_code(r->f->a, aws_xml_text(root, "Error/Code"));
}

static bool is_one_of(const char *code, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(code, list[i])) {
            return true;
        }
    }
    return false;
}

static bool passes(const struct aws_stage_run *r, const struct http_response *resp,
                   const char *code, bool cut, const struct err *err)
{
    static const char *const throttled[] = {"Throttling",           "ThrottlingException",
                                            "RequestLimitExceeded", "TooManyRequestsException",
                                            "RequestTimeout",       "IDPCommunicationError"};
    if (resp->status == 0) {
        return err->code == ERR_TRANSIENT;
    }
    bool of_identity = is_web(r) && str_eq(code, "InvalidIdentityToken");
    return cut || of_identity || retry_classify(resp->status) != ERR_OK ||
           is_one_of(code, throttled, ARRAY_LEN(throttled));
}

/* Once: by the server's clock. */
static bool learns_time(struct aws_stage_run *r, const struct http_response *resp, const char *code)
{
    static const char *const codes[] = {"RequestExpired", "RequestTimeTooSkewed",
                                        "RequestInTheFuture", "SignatureDoesNotMatch",
                                        "InvalidSignatureException"};
    int64_t date_s = http_response_date_s(resp);
    int64_t off_s = date_s - aws_stage_now_s(r, NULL);
    if (is_web(r) || r->offset_s != 0 || date_s < 0 || (off_s <= SKEW_S && off_s >= -SKEW_S) ||
        http_response_header(resp, "Age") != NULL || !is_one_of(code, codes, ARRAY_LEN(codes))) {
        return false;
    }
    r->offset_s = off_s;
    return true;
}

static const char *advice(const struct aws_stage_run *r, const struct http_response *resp)
{
    if (resp->status == 0 || resp->status >= 500) {
        return "";
    }
    return is_web(r) ? "check the role's trust policy, and the token's audience and service account"
                     : "may these credentials assume this role? see its trust policy";
}

enum http_next aws_sts_step(struct aws_stage_run *r, struct http_request *req,
                            const struct http_response *resp, double unit, struct err *err)
{
    bool cut = false;
    if (!r->asked || resp == NULL) {
        req->not_before_ms = 0;
        return ask(r, req, err);
    }
    if (resp->status == 200 && take(r, resp, &cut, err) == ERR_OK) {
        return HTTP_DONE;
    }
    const char *code = code_of(r, resp);
    if (learns_time(r, resp, code)) {
        req->not_before_ms = 0;
        return ask(r, req, err);
    }
    bool again = passes(r, resp, code, cut, err);
    if (aws_stage_again(r, req, resp, again, unit, err)) {
        return ask(r, req, err);
    }
    return aws_stage_fail(r, req, resp, code, again, advice(r, resp), err);
}
