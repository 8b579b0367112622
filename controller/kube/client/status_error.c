/* SPDX-License-Identifier: Apache-2.0 */
/* status_error.c: what the API server means when it says no.
 *
 * Owns the way from a Status object, or from a bare HTTP status when there is none, to struct err:
 * the code to act on, the server's machine word, its message, and how long it asks us to wait.
 * Source: controller.md §4.6.  Pure; declared in client.h, used by the client and
 * by the reflectors. */
#include <string.h>

#include "controller/kube/client/client.h"

#define BODY_PARSED_MAX   ((size_t)1 << 20)
#define BODY_SHOWN_MAX    512
#define RETRY_AFTER_MAX_S 3600

static const char too_large_rv[] = "ResourceVersionTooLarge";

struct meaning {
    int http_status;
    const char *reason;
    int code;
    const char *text; /* when the server gave none */
};

/* By reason first, by number when the reason is none of these. */
static const struct meaning meanings[] = {
    {400, "BadRequest", ERR_INVALID, "the server rejected our request for an unknown reason"},
    {401, "Unauthorized", ERR_AUTH, "the server has asked for the client to provide credentials"},
    {403, "Forbidden", ERR_FORBIDDEN, "the server refused the request"},
    {404, "NotFound", ERR_NOT_FOUND, "the server could not find the requested resource"},
    {405, "MethodNotAllowed", ERR_TRANSIENT,
     "the server does not allow this method on the requested resource"},
    {406, "NotAcceptable", ERR_TRANSIENT,
     "the server was unable to respond with a content type that the client supports"},
    {409, "Conflict", ERR_CONFLICT, "the server reported a conflict"},
    {409, "AlreadyExists", ERR_EXISTS, "the server reported a conflict"},
    {410, "Expired", ERR_TRANSIENT, "the requested version is no longer available"},
    {410, "Gone", ERR_TRANSIENT, "the requested version is no longer available"},
    {413, "RequestEntityTooLarge", ERR_TRANSIENT, "the request is too large for the server"},
    {415, "UnsupportedMediaType", ERR_TRANSIENT,
     "the server was unable to process the request due to an unsupported media type"},
    {422, "Invalid", ERR_INVALID, "the server rejected our request due to an error in our request"},
    {429, "TooManyRequests", ERR_THROTTLED,
     "the server has received too many requests and has asked us to try again later"},
    {500, "InternalError", ERR_TRANSIENT, NULL},
    {500, "ServerTimeout", ERR_TRANSIENT, NULL},
    {500, "StorageReadError", ERR_TRANSIENT, NULL},
    {503, "ServiceUnavailable", ERR_TRANSIENT,
     "the server is currently unable to handle the request"},
    {504, "Timeout", ERR_TRANSIENT,
     "the server was unable to return a response in the time allotted, but may still be processing "
     "the request"},
};

static const struct meaning *by_reason(const char *reason)
{
    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(meanings); i++) {
        if (strcmp(meanings[i].reason, reason) == 0) {
            return &meanings[i];
        }
    }
    return NULL;
}

static const struct meaning *by_status(int http_status, const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (meanings[i].http_status == http_status) {
            bool creates = http_status == 409 && str_eq(method, "POST");
            return creates ? by_reason("AlreadyExists") : &meanings[i];
        }
    }
    return http_status >= 500 ? by_reason("InternalError") : NULL;
}

static void set_reason(struct err *err, const char *reason)
{
    if (err != NULL && reason != NULL) {
        size_t n = strnlen(reason, sizeof err->reason - 1);
        memcpy(err->reason, reason, n);
        err->reason[n] = '\0';
    }
}

static bool has_cause(struct json_object *status, const char *reason)
{
    struct json_object *causes = json_path(status, "details.causes");
    for (size_t i = 0; i < json_len(causes); i++) {
        if (str_eq(json_str(json_object_array_get_idx(causes, i), "reason"), reason)) {
            return true;
        }
    }
    return false;
}

/* Fills *err from a Status object. */
static int from_status(struct json_object *status, int http_status, const char *method,
                       struct err *err)
{
    const char *reason = json_str(status, "reason");
    const char *message = json_str(status, "message");
    const struct meaning *m = by_reason(reason);
    if (m == NULL) {
        m = by_status(http_status, method);
    }
    int code = m == NULL ? ERR_TRANSIENT : m->code;
    (void)err_set(
        err, code, "%s",
        str_or(message, m == NULL || m->text == NULL ? "the server gave no reason" : m->text));
    int64_t wait_s = json_int(json_member(status, "details"), "retryAfterSeconds", 0);
    if (err != NULL) {
        err->http_status = http_status;
        err->retry_after_ms = wait_s <= 0                  ? 0
                              : wait_s > RETRY_AFTER_MAX_S ? 3600000
                                                           : wait_s * 1000;
    }
    set_reason(err, has_cause(status, too_large_rv) ? too_large_rv
                                                    : str_or(reason, m == NULL ? NULL : m->reason));
    return code;
}

/* The answer of a proxy or of a failing server: text, HTML, nothing. */
static int from_text(int http_status, const char *body, size_t n, const char *method,
                     struct err *err)
{
    const struct meaning *m = by_status(http_status, method);
    int shown = (int)(n < BODY_SHOWN_MAX ? n : BODY_SHOWN_MAX);
    int code = m == NULL ? ERR_TRANSIENT : m->code;
    if (m == NULL) {
        (void)err_set(err, code,
                      "the server responded with the status code %d but did not return more "
                      "information",
                      http_status);
    } else if (m->text == NULL) {
        (void)err_set(err, code,
                      "an error on the server (\"%.*s\") has prevented the request from succeeding",
                      shown, body == NULL ? "" : body);
    } else if (http_status == 403 && shown > 0) {
        (void)err_set(err, code, "%s: %.*s", m->text, shown, body);
    } else {
        (void)err_set(err, code, "%s", m->text);
    }
    if (err != NULL) {
        err->http_status = http_status;
    }
    set_reason(err, m == NULL ? NULL : m->reason);
    return code;
}

int kube_status_error(int http_status, const char *body, size_t n, const char *method,
                      struct err *err)
{
    const struct json_limits limits = {.max_bytes = BODY_PARSED_MAX};
    struct json_object *status _cleanup_(json_putp) = NULL;
    if (n > 0 && body[0] == '{' && json_parse(body, n, &limits, &status, NULL) == ERR_OK &&
        str_eq(json_str(status, "kind"), "Status")) {
        int64_t own = json_int(status, "code", 0);
        if (http_status < 400) { /* an ERROR event, or a Failure in a 200: the number is inside */
            http_status = own >= 400 && own <= 599 ? (int)own : 500;
        }
        return from_status(status, http_status, method, err);
    }
    return from_text(http_status, body, n, method, err);
}

bool kube_error_is_expired(const struct err *err)
{
    bool said = str_eq(err->reason, "Expired") || str_eq(err->reason, "Gone");
    return said || (err->http_status == 410 && by_reason(err->reason) == NULL);
}

bool kube_error_is_too_large_rv(const struct err *err)
{
    bool may = str_eq(err->reason, "Timeout") || str_eq(err->reason, "InternalError");
    return str_eq(err->reason, too_large_rv) ||
           (may && strstr(err->message, "Too large resource version") != NULL);
}
