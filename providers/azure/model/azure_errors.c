/* SPDX-License-Identifier: Apache-2.0 */
/* azure_errors.c: answers of Azure to codes that can be acted on (azure_errors.h).  Pure. */
#include "providers/azure/model/azure_errors.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MOST_S 3600

/* Azure's codes that say more than the status.  A '*' at the end or beginning
 * stands for anything. */
static const struct {
    const char *pattern;
    int code;
} rows[] = {
    {"PublicIPAddressCannotBeDeleted", ERR_IN_USE},
    {"LoadBalancerInUseByVirtualMachineScaleSet", ERR_IN_USE},
    {"InUse*", ERR_IN_USE},
    {"*InUse", ERR_IN_USE},
    {"ReferencedResourceNotProvisioned", ERR_TRANSIENT},
    {"AnotherOperationInProgress", ERR_TRANSIENT},
    {"RetryableError*", ERR_TRANSIENT},
    {"Canceled*Superseded*", ERR_CONFLICT},
    {"Cancelled*Superseded*", ERR_CONFLICT},
    {"OperationPreempted", ERR_CONFLICT},
    {"PreconditionFailed", ERR_CONFLICT},
    {"*LimitReached", ERR_QUOTA},
    {"*LimitExceeded", ERR_QUOTA},
    {"*QuotaExceeded", ERR_QUOTA},
    {"QuotaExceeded*", ERR_QUOTA},
    {"OperationNotAllowed", ERR_QUOTA},
    {"AuthorizationFailed", ERR_FORBIDDEN},
    {"LinkedAuthorizationFailed", ERR_FORBIDDEN},
    {"RequestDisallowedByPolicy", ERR_FORBIDDEN},
    {"TooManyRequests", ERR_THROTTLED},
    {"InternalServerError", ERR_TRANSIENT},
    {"*IsAllocated", ERR_IN_USE},
    {"SubnetIsFull", ERR_QUOTA},
    {"InvalidResourceReference", ERR_TRANSIENT}, /* what is referred to is not there (yet) */
};
/* The request says what can never be. */
static const char *const of_text[] = {"*Invalid*", "*Reserved*", "PrivateIPAddressNotIn*"};

static int code_of_status(int status)
{
    switch (status) {
    case 401:
        return ERR_AUTH;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 412:
        return ERR_CONFLICT;
    case 429:
        return ERR_THROTTLED;
    default: /* also 400: only a code that is known says that the Service's text is at fault */
        return ERR_TRANSIENT;
    }
}

static int code_of(const char *word, int otherwise)
{
    for (size_t i = 0; word != NULL && i < ARRAY_LEN(rows); i++) {
        if (str_glob(rows[i].pattern, word)) {
            return rows[i].code;
        }
    }
    return otherwise;
}

static bool is_of_text(const char *word)
{
    bool is = false;
    for (size_t i = 0; word != NULL && code_of(word, ERR_OK) == ERR_OK && i < ARRAY_LEN(of_text);
         i++) {
        is = is || str_glob(of_text[i], word);
    }
    return is;
}

bool azure_error_is_refusal(const struct err *err)
{
    int status = err->http_status;
    bool refused = status >= 400 && status < 500 && status != 408 && status != 409 && status != 429;
    return refused && code_of(err->reason, ERR_OK) == ERR_OK;
}

/* "… can be retried in 13 seconds": what Azure asks for inside a message. */
static int64_t embedded_wait_ms(const char *message)
{
    const char *p = strstr(message, "retried in ");
    int64_t s = 0;
    for (p = p != NULL ? p + strlen("retried in ") : ""; isdigit((unsigned char)*p); p++) {
        s = s * 10 + (*p - '0');
        s = s < WAIT_MOST_S ? s : WAIT_MOST_S;
    }
    return s * 1000;
}

static int fill(struct json_object *error, int otherwise, struct err *err)
{
    const char *word = json_str(error, "code");
    const char *message = str_nonnull(json_str(error, "message"));
    struct json_object *details = json_member(error, "details");
    struct json_object *first =
        json_len(details) > 0 ? json_object_array_get_idx(details, 0) : NULL;
    int code = code_of(word, code_of(json_str(first, "code"), otherwise));
    code = code == ERR_TRANSIENT && otherwise == ERR_TRANSIENT && is_of_text(word) ? ERR_INVALID
                                                                                   : code;
    if (strcasestr(message, "canceledandsupersededduetoanotheroperation") != NULL) {
        code = ERR_CONFLICT;
    }
    if (strcasestr(message, "not an active virtual machine scale set vm instanceid") != NULL) {
        code = ERR_NOT_FOUND; /* the instance goes, or went (3.8) */
    }
    const char *more = str_nonnull(json_str(first, "message"));
    (void)err_set(err, code, "%s%s%s%s%s", str_or(word, "error"), message[0] != '\0' ? ": " : "",
                  message, more[0] != '\0' && !str_eq(more, message) ? "; " : "",
                  str_eq(more, message) ? "" : more);
    (void)snprintf(err->reason, sizeof(err->reason), "%s", str_nonnull(word));
    err->retry_after_ms = embedded_wait_ms(message);
    return code;
}

int azure_error_of_answer(int status, const char *body, size_t n, struct err *err)
{
    struct err local = ERR_INIT;
    _cleanup_(json_putp) struct json_object *tree = NULL;
    err = err != NULL ? err : &local;
    int code = code_of_status(status);
    if (json_parse(body, n, NULL, &tree, NULL) == ERR_OK && json_member(tree, "error") != NULL &&
        json_object_is_type(json_member(tree, "error"), json_type_object)) {
        code = fill(json_member(tree, "error"), code, err);
    } else {
        (void)err_set(err, code, "HTTP status %d", status);
    }
    err->http_status = status;
    return code;
}

int azure_error_of_operation(struct json_object *error, const char *status, struct err *err)
{
    struct err local = ERR_INIT;
    err = err != NULL ? err : &local;
    if (error == NULL) {
        return err_set(err, ERR_TRANSIENT, "the operation ended %s", status);
    }
    return fill(error, ERR_TRANSIENT, err);
}

/* ---- balancers that cannot go ---------------------------------------------------------------- */

/* The ID in the message that has this type of resource in it; NULL: none has. */
static const char *id_in(struct arena *a, const char *message, const char *type)
{
    const char *id = strcasestr(message, type);
    if (id == NULL) {
        return NULL;
    }
    while (id > message && strcspn(id - 1, " \t\"'(,;") > 0) {
        id--;
    }
    size_t n = strcspn(id, " \t\"'),;");
    while (n > 0 && id[n - 1] == '.') {
        n--; /* the stop of the sentence; no name ends with one */
    }
    return arena_strndup(a, id, n);
}

const char *azure_error_clinging_set(struct arena *a, const struct err *err, const char *group)
{
    if (strcasestr(err->message, "LoadBalancerInUseByVirtualMachineScaleSet") == NULL) {
        return NULL;
    }
    const char *id = id_in(a, err->message, "/virtualMachineScaleSets/");
    return id != NULL && azure_eq(azure_id_group(a, id), group) ? id : NULL;
}

const char *azure_error_clinging_link(struct arena *a, const struct err *err)
{
    const char *id = id_in(a, err->message, "/privateLinkServices/");
    return id != NULL && azure_id_group(a, id) != NULL ? id : NULL;
}

/* "IpConfiguration … cannot have more than 299 NAT or load balancing rules combined." */
size_t azure_error_rules_per_nic(const struct err *err)
{
    static const char before[] = "cannot have more than ";
    static const char behind[] = " NAT or load balancing rules";
    const char *at = err->code == ERR_QUOTA ? strstr(err->message, before) : NULL;
    char *end = NULL;
    long long n = at != NULL ? strtoll(at + strlen(before), &end, 10) : 0;
    return n > 0 && str_has_prefix(end, behind) ? (size_t)n : 0;
}
