/* SPDX-License-Identifier: Apache-2.0 */
/* access_review_rules.c: see access_review_rules.h.  Pure; what it makes lives in the arena. */
#include "controller/serve/access_review_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"

#define TRIES_MAX      5 /* webhook back-off of upstream: 500 ms × 1.5, jitter 0.2, 5 steps */
#define DELAY_FIRST_MS 500
#define REASON_MAX     1024
#define KEYS_MAX       ACCESS_GROUPS_MAX

static const struct json_limits answer_limits = {
    .max_bytes = ACCESS_ANSWER_BYTES_MAX,
    .max_depth = 32,
    .max_values = 20000,
};

/* --- out -------------------------------------------------------------------------------------- */

const char *access_token_body(struct arena *a, const char *token)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\","
                   "\"metadata\":{},\"spec\":{\"token\":");
    str_append_json_quoted(&b, token);
    str_append(&b, "},\"status\":{\"user\":{}}}");
    const char *body = str_buf_to_arena(&b, a);
    explicit_bzero(b.data, b.len);
    return body;
}

static void append_strs(struct str_buf *b, const char *const *items, size_t n)
{
    str_append(b, "[");
    for (size_t i = 0; i < n; i++) {
        str_append(b, i > 0 ? "," : "");
        str_append_json_quoted(b, items[i]);
    }
    str_append(b, "]");
}

static void append_extra(struct str_buf *b, const struct access_user *u)
{
    str_append(b, ",\"extra\":{");
    for (size_t i = 0; i < u->n_extra; i++) {
        str_append(b, i > 0 ? "," : "");
        str_append_json_quoted(b, u->extra[i].key);
        str_append(b, ":");
        append_strs(b, u->extra[i].values, u->extra[i].n);
    }
    str_append(b, "}");
}

const char *access_subject_body(struct arena *a, const struct access_user *u, const char *path,
                                const char *verb)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
                   "\"metadata\":{},\"spec\":{\"nonResourceAttributes\":{\"path\":");
    str_append_json_quoted(&b, path);
    str_append(&b, ",\"verb\":");
    str_append_json_quoted(&b, verb);
    str_append(&b, "},\"user\":");
    str_append_json_quoted(&b, u->name);
    if (u->n_groups > 0) {
        str_append(&b, ",\"groups\":");
        append_strs(&b, u->groups, u->n_groups);
    }
    if (u->n_extra > 0) {
        append_extra(&b, u);
    }
    if (!str_is_empty(u->uid)) {
        str_append(&b, ",\"uid\":");
        str_append_json_quoted(&b, u->uid);
    }
    str_append(&b, "},\"status\":{\"allowed\":false}}");
    return str_buf_to_arena(&b, a);
}

/* --- in --------------------------------------------------------------------------------------- */

/* Common part of both answers: an object of that kind with a status. */
static int open_review(struct arena *a, const char *body, size_t n, const char *kind,
                       struct json_object **ret_status, struct err *err)
{
    struct json_object *o = NULL;
    int rc = json_parse_arena(a, body, n, &answer_limits, &o, err);
    if (rc != ERR_OK) {
        return err_set(err, ERR_INVALID, "the answer is not the JSON that was asked for");
    }
    if (!str_eq(json_str(o, "kind"), kind)) {
        return err_set(err, ERR_INVALID, "the answer is no %s", kind);
    }
    struct json_object *status = json_member(o, "status");
    if (!json_object_is_type(status, json_type_object)) {
        return err_set(err, ERR_INVALID, "the %s has no status", kind);
    }
    *ret_status = status;
    return ERR_OK;
}

/* Names of a user are those of an outside party: "want …, got …" would quote them. */
static int decode(struct arena *a, struct json_object *o, const struct json_field *fields,
                  void *out, struct err *err)
{
    return json_decode(a, o, fields, out, JSON_SKIP_UNKNOWN, "", NULL) == ERR_OK
               ? ERR_OK
               : err_set(err, ERR_INVALID, "a member of the answer's status is not of its type");
}

struct raw_user {
    bool has_name;
    const char *name;
    const char *uid;
    const char **groups;
    size_t n_groups;
    struct json_object *extra;
};
struct raw_token {
    bool has_it;
    bool authenticated;
    const char *error;
    struct raw_user user;
};

static const struct json_field user_fields[] = {
    {.name = "username",
     .type = JSON_T_STR,
     .offset = offsetof(struct raw_user, name),
     .max = ACCESS_NAME_MAX},
    {.name = "uid",
     .type = JSON_T_STR,
     .offset = offsetof(struct raw_user, uid),
     .max = ACCESS_NAME_MAX},
    {.name = "groups",
     .type = JSON_T_STRS,
     .offset = offsetof(struct raw_user, groups),
     .count_offset = offsetof(struct raw_user, n_groups),
     .max_items = ACCESS_GROUPS_MAX},
    {.name = "extra", .type = JSON_T_RAW, .offset = offsetof(struct raw_user, extra)},
    {0},
};
static const struct json_field token_fields[] = {
    {.name = "authenticated",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct raw_token, authenticated)},
    {.name = "error", .type = JSON_T_STR, .offset = offsetof(struct raw_token, error)},
    {.name = "user",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct raw_token, user),
     .sub = user_fields},
    {0},
};

static int extra_error(struct err *err)
{
    return err_set(err, ERR_INVALID, "status.user.extra is not what it should be");
}

static int read_values(struct arena *a, struct json_object *list, struct access_extra *ret,
                       struct err *err)
{
    size_t n = json_len(list);
    if (!json_object_is_type(list, json_type_array) || n > ACCESS_GROUPS_MAX) {
        return extra_error(err);
    }
    const char **values = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        if (!json_object_is_type(v, json_type_string)) {
            return extra_error(err);
        }
        values[i] = arena_strdup(a, json_object_get_string(v));
    }
    ret->values = values;
    ret->n = n;
    return ERR_OK;
}

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct access_extra *)x)->key, ((const struct access_extra *)y)->key);
}

static int read_extra(struct arena *a, struct json_object *o, struct access_user *u,
                      struct err *err)
{
    if (o == NULL) {
        return ERR_OK;
    }
    if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) > KEYS_MAX) {
        return extra_error(err);
    }
    struct access_extra *extra =
        ARENA_ARRAY(a, struct access_extra, (size_t)json_object_object_length(o));
    size_t n = 0;
    json_object_object_foreach(o, key, list)
    {
        extra[n].key = arena_strdup(a, key);
        int rc = read_values(a, list, &extra[n++], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    qsort(extra, n, sizeof *extra, by_key);
    u->extra = extra;
    u->n_extra = n;
    return ERR_OK;
}

static int read_user(struct arena *a, const struct raw_user *raw, struct access_user *ret,
                     struct err *err)
{
    struct access_user u = {
        .name = str_nonnull(raw->name),
        .uid = str_nonnull(raw->uid),
        .groups = raw->groups,
        .n_groups = raw->n_groups,
    };
    int rc = read_extra(a, raw->extra, &u, err);
    if (rc == ERR_OK && !access_user_fits(&u)) {
        rc = err_set(err, ERR_INVALID, "the answer names no user, or one of more than is allowed");
    }
    if (rc == ERR_OK) {
        *ret = u;
    }
    return rc;
}

int access_token_read(struct arena *a, const char *body, size_t n, struct access_token_answer *ret,
                      struct err *err)
{
    struct json_object *status = NULL;
    struct raw_token raw = {0};
    struct access_token_answer out = {0};
    int rc = open_review(a, body, n, "TokenReview", &status, err);
    if (rc == ERR_OK) {
        rc = decode(a, status, token_fields, &raw, err);
    }
    if (rc == ERR_OK && raw.authenticated) {
        rc = read_user(a, &raw.user, &out.user, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    out.authenticated = raw.authenticated;
    out.error = str_nonnull(raw.error);
    *ret = out;
    return ERR_OK;
}

static const struct json_field subject_fields[] = {
    {.name = "allowed",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct access_subject_answer, allowed)},
    {.name = "denied",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct access_subject_answer, denied)},
    {.name = "reason",
     .type = JSON_T_STR,
     .offset = offsetof(struct access_subject_answer, reason)},
    {0},
};

/* One line of bounded length: it goes into an answer. */
static const char *clean_reason(struct arena *a, const char *reason)
{
    struct err line = ERR_INIT;
    if (str_is_empty(reason)) {
        return "";
    }
    (void)err_set(&line, ERR_FORBIDDEN, "%.*s", REASON_MAX, reason);
    return arena_strdup(a, line.message);
}

int access_subject_read(struct arena *a, const char *body, size_t n,
                        struct access_subject_answer *ret, struct err *err)
{
    struct json_object *status = NULL;
    struct access_subject_answer out = {.reason = ""};
    int rc = open_review(a, body, n, "SubjectAccessReview", &status, err);
    if (rc == ERR_OK) {
        rc = decode(a, status, subject_fields, &out, err);
    }
    if (rc == ERR_OK && out.allowed && out.denied) {
        rc = err_set(err, ERR_INVALID, "the SubjectAccessReview both allows and denies");
    }
    if (rc != ERR_OK) {
        return rc;
    }
    out.reason = clean_reason(a, out.reason);
    *ret = out;
    return ERR_OK;
}

/* --- retries ---------------------------------------------------------------------------------- */

void access_retry_begin(struct access_retry *r, int64_t now_ms)
{
    *r = (struct access_retry){.until_ms = now_ms + ACCESS_QUESTION_MS, .delay_ms = DELAY_FIRST_MS};
}

/* Upstream's list: a connection that was reset, 500, 504, 429, and whatever says when
 * to come back. */
static bool is_worth_it(const struct err *err)
{
    return (err->http_status == 0 && str_eq(err->reason, "broken")) || err->http_status == 500 ||
           err->http_status == 504 || err->http_status == 429 || err->retry_after_ms > 0;
}

bool access_retry_next(struct access_retry *r, const struct err *err, int64_t now_ms, double unit,
                       int64_t *ret_at_ms)
{
    r->tries++;
    if (err->http_status == 401 && !r->renewed) {
        r->renewed = true; /* our own token may have been replaced on disk */
        *ret_at_ms = now_ms;
        return now_ms < r->until_ms;
    }
    int64_t wait_ms = r->delay_ms + (int64_t)(unit * 0.2 * (double)r->delay_ms);
    wait_ms = err->retry_after_ms > wait_ms ? err->retry_after_ms : wait_ms;
    r->delay_ms = r->delay_ms * 3 / 2;
    *ret_at_ms = now_ms + wait_ms;
    return is_worth_it(err) && r->tries < TRIES_MAX && *ret_at_ms < r->until_ms;
}
