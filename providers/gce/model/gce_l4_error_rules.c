/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_error_rules.c: which refusals of the cloud are the user's to fix, and what metrics call an
 * error.
 *
 * Google gives few of them a reason of their own, so upstream goes by texts, and so do we: status
 * and text, as they stand in gce-l4.md §4.14 and §8.4, vectors V214–V222.  Part
 * of gce_l4_rules.h. Pure. */
#include "providers/gce/model/gce_l4_rules.h"

#include "common/base/str.h"

#include <stdio.h>
#include <string.h>

static bool says(const char *message, const char *part)
{
    return strstr(message, part) != NULL;
}

/* "The network tier of external IP is STANDARD, that of Address must be the same." */
static bool is_tier_mismatch(const char *message)
{
    static const char before[] = "The network tier of external IP is ";
    const char *tier = strstr(message, before);
    if (tier == NULL) {
        return false;
    }
    tier += strlen(before);
    return (str_has_prefix(tier, "STANDARD") || str_has_prefix(tier, "PREMIUM")) &&
           says(tier, ", that of Address must be the same");
}

void gce_l4_error_of(int http_status, const char *message, struct gce_l4_error *ret)
{
    const char *m = str_nonnull(message);
    bool bad = http_status == 400;
    bool unsupported = bad && says(m, "is not supported");
    *ret = (struct gce_l4_error){
        .user =
            (bad &&
             says(m, "Requested internal IP address is outside the network/subnetwork range")) ||
            (http_status == 412 && says(m, "Constraint") && says(m, "violated")),
        .tier_mismatch = is_tier_mismatch(m),
        .no_strong_affinity = unsupported && says(m, "EnableStrongAffinity"),
        .no_rendezvous = unsupported && says(m, "GCP_RENDEZVOUS"),
        .ip_in_use =
            (bad && says(m, "Specified IP address is in-use and would result in a conflict")) ||
            (http_status == 409 && says(m, "IP_IN_USE_BY_ANOTHER_RESOURCE")),
        .ports_conflict =
            bad && says(m, "Forwarding rule's port range is conflicting with forwarding rule"),
        .one_group_per_instance = bad && (says(m, "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS") ||
                                          says(m, "at most one load-balanced instance group")),
    };
}

/* ---- for metrics ----------------------------------------------------------------------------- */

bool gce_l4_error_is_users(const struct err *err)
{
    struct gce_l4_error e;
    if (err->code == ERR_NOT_FOUND && err->http_status == 0) {
        return says(err->message, "can't be found for project");
    }
    if (err->code == ERR_IN_USE) {
        return says(err->message, "Conflicting ports configuration error") ||
               says(err->message, "IP configuration error");
    }
    if (err->code != ERR_INVALID || str_has_prefix(err->reason, GCE_KUBE_REASON)) {
        return false;
    }
    gce_l4_error_of(err->http_status, err->message, &e);
    /* Refusals by user settings have upstream's words (gce_ops_refusals.c). */
    return err->http_status == 0 || e.user || e.tier_mismatch || e.ip_in_use || e.ports_conflict ||
           says(err->message, "Network tier mismatch for resource") ||
           says(err->message, "Conflicting ports configuration error") ||
           says(err->message, "IP configuration error");
}

/* Go's http.StatusText. */
static const struct {
    int status;
    const char *text;
} statuses[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Requested Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {418, "I'm a teapot"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Entity"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {511, "Network Authentication Required"},
};

const char *gce_l4_error_type(const struct err *err)
{
    if (str_has_prefix(err->reason, GCE_KUBE_REASON)) {
        return err->reason;
    }
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        if (statuses[i].status == err->http_status) {
            return statuses[i].text;
        }
    }
    return "";
}

/* metav1.StatusReason, as far as our codes keep it. */
static const char *kube_reason(int code)
{
    switch (code) {
    case ERR_INVALID:
        return "Invalid";
    case ERR_NOT_FOUND:
        return "NotFound";
    case ERR_CONFLICT:
        return "Conflict";
    case ERR_EXISTS:
        return "AlreadyExists";
    case ERR_FORBIDDEN:
        return "Forbidden";
    case ERR_AUTH:
        return "Unauthorized";
    case ERR_THROTTLED:
        return "TooManyRequests";
    case ERR_TRANSIENT:
        return "InternalError";
    default:
        return NULL;
    }
}

int gce_l4_error_of_kube(struct err *err, int code)
{
    const char *reason = kube_reason(code);
    if (err != NULL && reason != NULL) {
        (void)snprintf(err->reason, sizeof(err->reason), GCE_KUBE_REASON "%s", reason);
    }
    return err != NULL ? err->code : code;
}
