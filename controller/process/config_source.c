/* SPDX-License-Identifier: Apache-2.0 */
/* config_source.c: see config_source.h. */
#include "controller/process/config_source.h"

#include <string.h>

#include "common/base/file.h"
#include "common/base/str.h"
#include "common/data/json.h"

/* A Secret cannot hold more, and no file of this kind does. */
#define TEXT_MAX ((size_t)1024 * 1024)
/* base64, and what else an object has. */
#define SECRET_MAX ((size_t)4 * 1024 * 1024)

/* With a NUL behind it. */
static const char *copy_of(struct arena *a, const void *text, size_t n)
{
    if (text == NULL) {
        return NULL;
    }
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

static int read_file(const char *path, struct arena *a, struct config_texts *ret, struct err *err)
{
    char *text = NULL;
    size_t n = 0;

    int rc = file_read(a, path, TEXT_MAX, &text, &n, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "cannot read the cloud provider configuration %s", path);
        return rc;
    }
    ret->path = path;
    ret->text = text;
    ret->len = n;
    return ERR_OK;
}

static int ask_secret(const struct config_source *src, struct arena *a, struct json_object **ret,
                      struct err *err)
{
    char *path = NULL;
    struct kube_response answer;

    if (src->client == NULL) {
        return err_set(err, ERR_INVALID, "no cluster is configured to read it from");
    }
    int rc = kube_path(a, "v1", src->secret_ns, "secrets", src->secret_name, NULL, &path, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request req = {.method = "GET", .path = path, .max_body = SECRET_MAX};
    rc = kube_client_do(src->client, a, &req, src->cancel, &answer, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (json_parse_arena(a, answer.body, answer.body_len, NULL, ret, NULL) != ERR_OK) {
        return err_set(err, ERR_TRANSIENT, "the API server's answer is no JSON");
    }
    return ERR_OK;
}

/* The names of the keys that there are: a slip of the pen is seen at once.  Values
 * are never shown. */
static int no_such_key(const struct config_source *src, struct json_object *data, struct arena *a,
                       struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf names = STR_BUF_INIT;

    if (json_object_is_type(data, json_type_object)) {
        json_object_object_foreach(data, key, value)
        {
            (void)value;
            str_appendf(&names, "%s%.100s", names.len > 0 ? ", " : "", key);
        }
    }
    return err_set(err, ERR_NOT_FOUND, "it has no key \"%s\" (it has: %.300s)", src->secret_key,
                   names.len > 0 ? str_buf_to_arena(&names, a) : "none");
}

static int read_secret(const struct config_source *src, struct arena *a, struct config_texts *ret,
                       struct err *err)
{
    struct json_object *secret = NULL;
    unsigned char *text = NULL;
    size_t n = 0;

    ret->secret_path =
        arena_printf(a, "secret %s/%s, key %s", src->secret_ns, src->secret_name, src->secret_key);
    int rc = ask_secret(src, a, &secret, err);
    if (rc == ERR_OK) {
        struct json_object *data = json_member(secret, "data");
        const char *value = json_str(data, src->secret_key);
        if (value == NULL) {
            rc = no_such_key(src, data, a, err);
        } else if (!str_base64_decode(a, value, false, &text, &n) || n > TEXT_MAX) {
            rc = err_set(err, ERR_INVALID, "its key \"%s\" holds no base64 of at most 1 MiB",
                         src->secret_key);
        }
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "cannot read the cloud provider configuration in the secret %s/%s",
                         src->secret_ns, src->secret_name);
        return rc;
    }
    ret->secret_text = copy_of(a, text, n);
    ret->secret_len = n;
    return ERR_OK;
}

int config_source_read(const struct config_source *src, struct arena *a, struct config_texts *ret,
                       struct err *err)
{
    struct config_texts t = {0};
    int rc = ERR_OK;

    if (!str_is_empty(src->path)) {
        rc = read_file(src->path, a, &t, err);
    }
    if (rc == ERR_OK && !str_is_empty(src->secret_name)) {
        rc = read_secret(src, a, &t, err);
    }
    if (rc == ERR_OK) {
        *ret = t;
    }
    return rc;
}

static bool same(const char *x, size_t n_x, const char *y, size_t n_y)
{
    return (x == NULL) == (y == NULL) && n_x == n_y && (n_x == 0 || memcmp(x, y, n_x) == 0);
}

bool config_texts_equal(const struct config_texts *x, const struct config_texts *y)
{
    return same(x->text, x->len, y->text, y->len) &&
           same(x->secret_text, x->secret_len, y->secret_text, y->secret_len);
}

struct config_texts config_texts_copy(struct arena *a, const struct config_texts *t)
{
    return (struct config_texts){
        .path = arena_strdup(a, t->path),
        .text = copy_of(a, t->text, t->len),
        .len = t->len,
        .secret_path = arena_strdup(a, t->secret_path),
        .secret_text = copy_of(a, t->secret_text, t->secret_len),
        .secret_len = t->secret_len,
    };
}

int config_texts_fill(const struct config_texts *t, const struct tt_provider *desc,
                      struct tt_open_args *args, struct err *err)
{
    bool reads_secret = (desc->capabilities & TT_CAP_READS_SECRET) != 0;

    if (t->text != NULL && t->secret_text != NULL && !reads_secret) {
        return err_set(err, ERR_INVALID,
                       "the provider \"%s\" takes its configuration from one place: give "
                       "--cloud-config or --cloud-config-secret-name",
                       desc->name);
    }
    args->config_path = t->path;
    args->config_text = t->text;
    args->config_len = t->len;
    if (reads_secret) {
        args->secret_path = t->secret_path;
        args->secret_text = t->secret_text;
        args->secret_len = t->secret_len;
    } else if (t->secret_text != NULL) {
        args->config_path = t->secret_path;
        args->config_text = t->secret_text;
        args->config_len = t->secret_len;
    }
    return ERR_OK;
}
