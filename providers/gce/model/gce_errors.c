/* SPDX-License-Identifier: Apache-2.0 */
/* gce_errors.c: see gce_errors.h.  Reasons of answers are camelCase, codes of operations
 * UPPER_CASE: one table holds both. */
#include "providers/gce/model/gce_errors.h"

#include "common/base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    int code;
} reasons[] = {
    {"rateLimitExceeded", ERR_THROTTLED},
    {"userRateLimitExceeded", ERR_THROTTLED},
    {"concurrentLimitExceeded", ERR_THROTTLED},
    {"RATE_LIMIT_EXCEEDED", ERR_THROTTLED},
    {"quotaExceeded", ERR_QUOTA},
    {"limitExceeded", ERR_QUOTA},
    {"dailyLimitExceeded", ERR_QUOTA},
    {"QUOTA_EXCEEDED", ERR_QUOTA},
    {"QUOTA_LIMIT", ERR_QUOTA},
    {"LIMIT_EXCEEDED", ERR_QUOTA},
    {"resourceInUseByAnotherResource", ERR_IN_USE},
    {"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", ERR_IN_USE},
    {"ipInUseByAnotherResource", ERR_IN_USE},
    {"IP_IN_USE_BY_ANOTHER_RESOURCE", ERR_IN_USE},
    {"resourceNotReady", ERR_TRANSIENT},
    {"RESOURCE_NOT_READY", ERR_TRANSIENT},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", ERR_THROTTLED},
    {"resourceOperationRateExceeded", ERR_THROTTLED},
    {"resourceGroupReferenceQuotaExceeded", ERR_QUOTA},
    {"RESOURCE_GROUP_REFERENCE_QUOTA_EXCEEDED", ERR_QUOTA},
    /* With status 400, but no fault of the Service's: a subnetwork has no address left. */
    {"IP_SPACE_EXHAUSTED", ERR_QUOTA},
    {"IP_SPACE_EXHAUSTED_WITH_DETAILS", ERR_QUOTA},
    {"backendError", ERR_TRANSIENT},
    {"internalError", ERR_TRANSIENT},
    {"INTERNAL_ERROR", ERR_TRANSIENT},
    {"conditionNotMet", ERR_CONFLICT},
    {"CONDITION_NOT_MET", ERR_CONFLICT},
    {"alreadyExists", ERR_EXISTS},
    {"memberAlreadyExists", ERR_EXISTS},
    {"MEMBER_ALREADY_EXISTS", ERR_EXISTS},
    {"RESOURCE_ALREADY_EXISTS", ERR_EXISTS},
    {"notFound", ERR_NOT_FOUND},
    {"RESOURCE_NOT_FOUND", ERR_NOT_FOUND},
    {"invalidUsage", ERR_INVALID},
    {"INVALID_USAGE", ERR_INVALID},
    {"INVALID_FIELD_VALUE", ERR_INVALID},
    {"instanceInMultipleLoadBalancedIgs", ERR_INVALID},
    {"INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS", ERR_INVALID},
    {"accessNotConfigured", ERR_AUTH},
    {"forbidden", ERR_FORBIDDEN},
    {"insufficientPermissions", ERR_FORBIDDEN},
    {"PERMISSIONS_ERROR", ERR_FORBIDDEN},
    {"IAM_PERMISSION_DENIED", ERR_FORBIDDEN},
};

static int code_of_status(int status, const char *reason)
{
    switch (status) {
    case 400:
        return ERR_INVALID;
    case 401:
        return ERR_AUTH;
    case 403:
        /* Only where no reason says otherwise: a reason that we do not know is no lack of
         * permission. */
        return str_is_empty(reason) ? ERR_FORBIDDEN : ERR_AUTH;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_EXISTS;
    case 412:
        return ERR_CONFLICT;
    case 429:
        return ERR_THROTTLED;
    default:
        /* 408, 5xx, an operation error without status: the same may succeed later. */
        return status >= 410 && status < 500 ? ERR_INVALID : ERR_TRANSIENT;
    }
}

int gce_error_code(int status, const char *reason, const char *message)
{
    const char *m = str_nonnull(message);
    if (strstr(m, "being used by") != NULL && status < 401) {
        return ERR_IN_USE;
    }
    /* An organisation's rule, not a fingerprint: trying again does not help (gce-l4.md §4.14). */
    if (status == 412 && strstr(m, "Constraint") != NULL && strstr(m, "violated") != NULL) {
        return ERR_INVALID;
    }
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (str_eq(reasons[i].word, reason)) {
            return reasons[i].code;
        }
    }
    return code_of_status(status, reason);
}

/* {"error":{…}}, also inside an array of one. */
static struct json_object *error_member(struct json_object *o)
{
    if (json_object_is_type(o, json_type_array) && json_len(o) > 0) {
        o = json_object_array_get_idx(o, 0);
    }
    return json_member(o, "error");
}

static void finish(struct err *err, int status, const char *reason, int64_t retry_after_ms)
{
    if (err == NULL) {
        return;
    }
    err->http_status = status;
    err->retry_after_ms = retry_after_ms;
    (void)snprintf(err->reason, sizeof(err->reason), "%s", str_nonnull(reason));
}

static int error_of_body(int status, struct json_object *e, struct err *err)
{
    const char *message = str_nonnull(json_str(e, "message"));
    struct json_object *items = json_member(e, "errors");
    struct json_object *first = json_len(items) > 0 ? json_object_array_get_idx(items, 0) : NULL;
    const char *reason = str_nonnull(json_str(first, "reason"));
    int shown = (int)json_int(e, "code", status);
    int code = gce_error_code(status, reason, message);
    bool one = json_len(items) == 1 && str_eq(json_str(first, "message"), message);
    if (one) {
        (void)err_set(err, code, "googleapi: Error %d: %s, %s", shown, message, reason);
    } else if (first == NULL) {
        (void)err_set(err, code, "googleapi: Error %d: %s", shown, message);
    } else {
        (void)err_set(err, code, "googleapi: Error %d: %s More details: Reason: %s, Message: %s",
                      shown, message, reason, str_nonnull(json_str(first, "message")));
    }
    finish(err, status, reason, 0);
    return code;
}

int gce_error_of_answer(int status, const char *body, size_t n, struct err *err)
{
    _cleanup_(json_putp) struct json_object *o = NULL;
    struct json_object *e = NULL;
    if (json_parse(body, n, NULL, &o, NULL) == ERR_OK) {
        e = error_member(o);
    }
    if (e != NULL && (json_member(e, "message") != NULL || json_member(e, "errors") != NULL)) {
        return error_of_body(status, e, err);
    }
    int code = code_of_status(status, "");
    (void)err_set(err, code, "googleapi: got HTTP response code %d with body: %.200s", status,
                  str_nonnull(body));
    finish(err, status, "", 0);
    return code;
}

/* DONE, and something is wrong that no list of errors tells: however little is said about it, what
 * was asked for was not done. */
static int error_of_half(struct json_object *op, struct err *err)
{
    struct json_object *e = json_member(op, "error");
    int status = (int)json_int(op, "httpErrorStatusCode", json_int(e, "code", 0));
    const char *message =
        str_or(json_str(e, "message"), str_or(json_str(op, "httpErrorMessage"), "no reason given"));
    int code = gce_error_code(status, "", message);
    (void)err_set(err, code, "googleapi: Error %d: the operation failed: %s", status, message);
    finish(err, status, "", 0);
    return code;
}

int gce_error_of_operation(struct json_object *op, struct err *err)
{
    struct json_object *errors = json_path(op, "error.errors");
    if (json_len(errors) == 0) {
        bool fine =
            json_member(op, "error") == NULL && json_int(op, "httpErrorStatusCode", 0) < 400;
        return fine ? ERR_OK : error_of_half(op, err);
    }
    struct json_object *first = json_object_array_get_idx(errors, 0);
    const char *word = str_nonnull(json_str(first, "code"));
    const char *message = str_nonnull(json_str(first, "message"));
    int status = (int)json_int(op, "httpErrorStatusCode", 0);
    int code = gce_error_code(status, word, message);
    (void)err_set(err, code, "googleapi: Error %d: %s - %s", status, word, message);
    finish(err, status, word, 0);
    return code;
}

char *gce_error_instance(struct arena *a, const char *message)
{
    const char *at = strstr(str_nonnull(message), "/instances/");
    if (at == NULL) {
        return NULL;
    }
    at += strlen("/instances/");
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '-') {
        n++;
    }
    return n == 0 ? NULL : arena_strndup(a, at, n);
}
