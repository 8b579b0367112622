/* SPDX-License-Identifier: Apache-2.0 */
/* auth_kit.c: see auth_kit.h. */
#include "tests/unit/aws/auth_kit.h"

#include "common/base/file.h"
#include "common/base/timefmt.h"
#include "common/net/url.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"

#include <dirent.h>
#include <unistd.h>

int kit_setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000, KIT_WALL_S * INT64_C(1000000));
    k->rng = rng_seeded_new(1);
    mutex_init(&k->lock);
    *state = k;
    return 0;
}

static void remove_folder(struct kit *k)
{
    DIR *d = k->folder[0] != '\0' ? opendir(k->folder) : NULL;
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        (void)unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d != NULL) {
        closedir(d);
        (void)rmdir(k->folder);
    }
}

int kit_teardown(void **state)
{
    struct kit *k = *state;
    aws_auth_free(k->auth);
    aws_imds_free(k->imds);
    http_free(k->http);
    test_server_stop(k->server);
    remove_folder(k);
    mutex_done(&k->lock);
    rng_free(k->rng);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

int kit_try(struct kit *k, const char *env, const char *global)
{
    struct gcfg_unknown *unknown;
    size_t n;
    const char *text = arena_printf(k->a, "[Global]\n%s", str_nonnull(global));
    const struct aws_env *e = env_fake(k->a, str_nonnull(env));
    const char *base = k->server != NULL ? test_server_url(k->server, "") : "http://imds";
    const struct aws_imds_config imds = {.base = base, .env = e, .clock = k->clock};
    aws_auth_free(k->auth);
    aws_imds_free(k->imds);
    k->auth = NULL;
    k->imds = aws_imds_new(&imds);
    err_clear(&k->err);
    if (aws_config_parse(k->a, text, strlen(text), &k->config, &unknown, &n, &k->err) != ERR_OK) {
        fail_msg("%s: %s", text, k->err.message);
    }
    k->sts = (struct aws_endpoint){
        .url = k->server != NULL ? test_server_url(k->server, "/")
                                 : "https://sts.us-east-1.amazonaws.com/",
        .signing_region = "us-east-1",
        .signing_name = "sts",
        .origin = "AWS",
    };
    const struct aws_auth_config cfg = {
        .config = &k->config,
        .env = e,
        .sts = &k->sts,
        .imds = k->imds,
        .clock = k->clock,
        .rng = k->rng,
    };
    return aws_auth_new(&cfg, &k->auth, &k->err);
}

void kit_open(struct kit *k, const char *env, const char *global)
{
    if (kit_try(k, env, global) != ERR_OK) {
        fail_msg("%s: %s", str_nonnull(env), k->err.message);
    }
}

/* ---- a fetch by hand ------------------------------------------------------------------------- */

enum http_next kit_ask(struct kit *k)
{
    k->req = (struct http_request){0};
    err_clear(&k->err);
    aws_fetch_begin(&k->fetch, k->auth, k->a, NULL);
    return aws_fetch_step(&k->fetch, &k->req, NULL, 0.5, &k->err);
}

enum http_next kit_answer_at(struct kit *k, int status, const char *body, const char *date)
{
    const struct http_header header = {"Date", date};
    const struct http_response resp = {
        .status = status,
        .body = body,
        .body_len = strlen(body),
        .headers = &header,
        .n_headers = date != NULL ? 1 : 0,
    };
    return aws_fetch_step(&k->fetch, &k->req, &resp, 0.5, &k->err);
}

enum http_next kit_answer(struct kit *k, int status, const char *body)
{
    return kit_answer_at(k, status, body, NULL);
}

enum http_next kit_silence(struct kit *k)
{
    const struct http_response resp = {.body = ""};
    (void)err_set(&k->err, ERR_TRANSIENT, "no answer");
    return aws_fetch_step(&k->fetch, &k->req, &resp, 0.5, &k->err);
}

void kit_end(struct kit *k)
{
    aws_auth_ended(k->auth, &k->err);
}

const char *kit_form(struct kit *k, const char *name)
{
    struct url_param *params;
    size_t n;
    if (url_query_parse(k->a, k->req.body, &params, &n, NULL) != ERR_OK) {
        return NULL;
    }
    return url_query_get(params, n, name);
}

const char *kit_header(struct kit *k, const char *name)
{
    for (size_t i = 0; i < k->req.n_headers; i++) {
        if (str_eq_nocase(k->req.headers[i].name, name)) {
            return k->req.headers[i].value;
        }
    }
    return NULL;
}

const char *kit_key(struct kit *k)
{
    struct sigv4_keys keys;
    return aws_auth_keys(k->auth, k->a, &keys) ? keys.access_key : NULL;
}

void kit_failed(struct kit *k, int code, const char *says)
{
    if (k->err.code != code || strstr(k->err.message, says) == NULL ||
        strstr(k->err.message, "hush") != NULL) {
        fail_msg("want %s and \"%s\", got %s: %s", err_code_name(code), says,
                 err_code_name(k->err.code), k->err.message);
    }
}

/* ---- the server and files -------------------------------------------------------------------- */

static void handle(void *arg, struct http_req *req)
{
    struct kit *k = arg;
    mutex_lock(&k->lock);
    int status = k->status;
    const char *body = k->body;
    mutex_unlock(&k->lock);
    http_req_answer(req, status, body, strlen(body));
}

void kit_serve(struct kit *k, int status, const char *body)
{
    mutex_lock(&k->lock);
    k->status = status;
    k->body = arena_strdup(k->a, body);
    mutex_unlock(&k->lock);
    if (k->server == NULL) {
        const struct test_server_config cfg = {.handle = handle, .arg = k};
        k->server = test_server_start(&cfg);
    }
    if (k->http == NULL) {
        const struct http_config http = {
            .observe = http_ignore_sent, .user_agent = "test", .clock = k->clock};
        k->http = http_new(&http);
    }
}

const char *kit_file(struct kit *k, const char *name, const char *text)
{
    if (k->folder[0] == '\0') {
        strncpy(k->folder, "/tmp/trimtab-aws-XXXXXX", sizeof(k->folder) - 1);
        assert_non_null(mkdtemp(k->folder));
    }
    const char *path = arena_printf(k->a, "%s/%s", k->folder, name);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *until(int64_t lasts_s)
{
    static char text[32];
    time_format_rfc3339((KIT_WALL_S + lasts_s) * INT64_C(1000000), text);
    return text;
}

const char *kit_sts(struct kit *k, const char *action, const char *key, int64_t lasts_s)
{
    return arena_printf(k->a,
                        "<%sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><%sResult>"
                        "<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>hush-%s"
                        "</SecretAccessKey><SessionToken>hush+/=%s</SessionToken><Expiration>%s"
                        "</Expiration></Credentials></%sResult></%sResponse>",
                        action, action, key, key, key, until(lasts_s), action, action);
}

const char *kit_json(struct kit *k, const char *key, const char *token_name, int64_t lasts_s)
{
    return arena_printf(k->a,
                        "{\"Code\":\"Success\",\"Version\":1,\"AccessKeyId\":\"%s\","
                        "\"SecretAccessKey\":\"hush-%s\",\"%s\":\"hush+%s\",\"Expiration\":\"%s\"}",
                        key, key, token_name, key, until(lasts_s));
}
