/* SPDX-License-Identifier: Apache-2.0 */
/* aws_errors.c: see aws_errors.h.  Codes by name first, then by the form of their names,
 * then by status. */
#include "providers/aws/api/aws_errors.h"

#include "common/base/str.h"
#include "common/net/retry.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX                                                                                   \
    640 /* of AWS' own words: an encoded authorization message would fill the whole error */

/* `action` NULL: in any action.  The first row that fits counts; '*' stands for anything. */
static const struct {
    const char *action;
    const char *pattern;
    int code;
} rows[] = {
    /* what an action says about something else than what it is about (3.3, 10.4 row 31) */
    {"AddTags", "LoadBalancerNotFound", ERR_CONFLICT},
    {"CreateTags", "*.NotFound",
     ERR_TRANSIENT}, /* made a moment ago, and not seen everywhere yet */
    /* objects */
    {NULL, "LoadBalancerNotFound", ERR_NOT_FOUND},
    {NULL, "AccessPointNotFound", ERR_NOT_FOUND},
    {NULL, "TargetGroupNotFound", ERR_NOT_FOUND},
    {NULL, "ListenerNotFound", ERR_NOT_FOUND},
    {NULL, "PolicyNotFound", ERR_NOT_FOUND},
    {NULL, "InvalidGroup.NotFound", ERR_NOT_FOUND},
    {NULL, "InvalidInstanceID.NotFound", ERR_NOT_FOUND},
    {NULL, "DependencyViolation", ERR_IN_USE},
    {NULL, "ResourceInUse", ERR_IN_USE},
    {NULL, "InvalidGroup.InUse", ERR_IN_USE},
    {NULL, "InvalidGroup.Duplicate", ERR_EXISTS},
    {NULL, "DuplicateLoadBalancerName", ERR_EXISTS},
    {NULL, "DuplicateAccessPointName", ERR_EXISTS},
    {NULL, "DuplicateTargetGroupName", ERR_EXISTS},
    {NULL, "DuplicateListener", ERR_EXISTS},
    {NULL, "DuplicatePolicyName", ERR_EXISTS},
    {NULL, "InvalidPermission.Duplicate", ERR_CONFLICT},
    {NULL, "InvalidPermission.NotFound", ERR_CONFLICT},
    {NULL, "ConcurrentTagAccess", ERR_CONFLICT},
    /* another program can make it, or made it a moment ago: no fault of the Service's text */
    {NULL, "CertificateNotFound", ERR_TRANSIENT},
    {NULL, "SubnetNotFound", ERR_TRANSIENT},
    {NULL, "AllocationIdNotFound", ERR_TRANSIENT},
    {NULL, "InvalidSecurityGroup", ERR_TRANSIENT},
    {NULL, "InvalidSubnetID.NotFound", ERR_TRANSIENT},
    {NULL, "InvalidAllocationID.NotFound", ERR_TRANSIENT},
    /* permission and credentials */
    {NULL, "UnauthorizedOperation", ERR_FORBIDDEN},
    {NULL, "AccessDenied", ERR_FORBIDDEN},
    {NULL, "AccessDeniedException", ERR_FORBIDDEN},
    {NULL, "OptInRequired", ERR_FORBIDDEN},
    {NULL, "Blocked", ERR_FORBIDDEN},
    {NULL, "AuthFailure", ERR_AUTH},
    {NULL, "ExpiredToken", ERR_AUTH},
    {NULL, "ExpiredTokenException", ERR_AUTH},
    {NULL, "RequestExpired", ERR_AUTH},
    {NULL, "RequestInTheFuture", ERR_AUTH},
    {NULL, "RequestTimeTooSkewed", ERR_AUTH},
    {NULL, "InvalidClientTokenId", ERR_AUTH},
    {NULL, "InvalidAccessKeyId", ERR_AUTH},
    {NULL, "UnrecognizedClientException", ERR_AUTH},
    {NULL, "SignatureDoesNotMatch", ERR_AUTH},
    {NULL, "InvalidSignatureException", ERR_AUTH},
    {NULL, "IncompleteSignature", ERR_AUTH},
    {NULL, "MissingAuthenticationToken*", ERR_AUTH},
    /* too much */
    {NULL, "RequestTimeout*", ERR_TRANSIENT},
    {NULL, "InternalError", ERR_TRANSIENT},
    {NULL, "InternalFailure", ERR_TRANSIENT},
    {NULL, "InternalServerError", ERR_TRANSIENT},
    {NULL, "ServiceUnavailable*", ERR_TRANSIENT},
    {NULL, "Unavailable", ERR_TRANSIENT},
    /* too many listeners: of the codes that the action documents there is no other for it */
    {"CreateLoadBalancerListeners", "InvalidConfigurationRequest", ERR_QUOTA},
    {NULL, "TargetGroupAssociationLimit", ERR_QUOTA},
    {NULL, "InsufficientFreeAddressesInSubnet", ERR_QUOTA},
    {NULL, "TooMany*", ERR_QUOTA},
    {NULL, "*LimitExceeded", ERR_QUOTA},
    {NULL, "*QuotaExceeded*", ERR_QUOTA},
};

static const char *const throttles[] = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "RequestThrottled",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
};

static bool is_one_of(const char *code, const char *const *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(code, codes[i])) {
            return true;
        }
    }
    return false;
}

static int code_of_status(int status)
{
    switch (status) {
    case 401:
        return ERR_AUTH;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
    case 408:
        return ERR_TRANSIENT; /* no answer of these protocols; certainly not "absent" */
    case 429:
        return ERR_THROTTLED;
    default:
        return status >= 400 && status < 500 ? ERR_INVALID : ERR_TRANSIENT;
    }
}

int aws_error_code(enum aws_api api, const char *action, int status, const char *code)
{
    (void)api; /* no code means one thing here and another there; but they could */
    if (str_is_empty(code)) {
        return code_of_status(status);
    }
    if (is_one_of(code, throttles, ARRAY_LEN(throttles))) {
        return ERR_THROTTLED;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if ((rows[i].action == NULL || str_eq(rows[i].action, action)) &&
            str_glob(rows[i].pattern, code)) {
            return rows[i].code;
        }
    }
    return status == 404 ? ERR_INVALID : code_of_status(status < 400 ? 400 : status);
}

bool aws_error_is_retried(int status, const char *code)
{
    static const char *const codes[] = {"RequestTimeout", "RequestTimeoutException"};
    return status == 500 || status == 502 || status == 503 || status == 504 ||
           is_one_of(code, codes, ARRAY_LEN(codes)) ||
           is_one_of(code, throttles, ARRAY_LEN(throttles));
}

bool aws_error_is_throttle(const char *code)
{
    static const char *const codes[] = {"RequestLimitExceeded", "Throttling",
                                        "ThrottlingException"};
    return is_one_of(code, codes, ARRAY_LEN(codes));
}

bool aws_error_is_of_time(const char *code)
{
    static const char *const codes[] = {"RequestTimeTooSkewed",  "RequestExpired",
                                        "RequestInTheFuture",    "InvalidSignatureException",
                                        "SignatureDoesNotMatch", "AuthFailure",
                                        "AccessDeniedException"};
    return is_one_of(code, codes, ARRAY_LEN(codes));
}

/* ---- bodies ---------------------------------------------------------------------------------- */

#define LOOK_DEPTH 6

static const struct aws_node *find_error(const struct aws_node *n, int depth)
{
    for (; n != NULL; n = n->next) {
        if (str_eq(n->name, "Error") && aws_xml_child(n, "Code") != NULL) {
            return n;
        }
        const struct aws_node *below = depth > 0 ? find_error(n->children, depth - 1) : NULL;
        if (below != NULL) {
            return below;
        }
    }
    return NULL;
}

const struct aws_node *aws_error_find(const struct aws_node *root)
{
    return root != NULL ? find_error(root, LOOK_DEPTH) : NULL;
}

/* RequestId, RequestID, requestId, below the root or in ResponseMetadata. */
static const char *request_id(const struct aws_node *root)
{
    static const char *const paths[] = {"RequestId", "RequestID", "requestId",
                                        "ResponseMetadata/RequestId"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *text = aws_xml_text(root, paths[i]);
        if (!str_is_empty(text)) {
            return text;
        }
    }
    return NULL;
}

/* So many bytes of a text, cut at a character. */
static int cut(const char *text, size_t most)
{
    size_t n = strnlen(text, most + 1);
    if (n > most) {
        for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--) {
        }
    }
    return (int)n;
}

/* ": the controller lacks the permission ec2:CreateTags", because EC2's own text does not say
 * which; "" without action. */
static void permission(char *buf, size_t size, enum aws_api api, const char *action)
{
    const char *service = api == AWS_EC2 ? "ec2" : api == AWS_STS ? "sts" : "elasticloadbalancing";
    *buf = '\0';
    if (action != NULL) {
        (void)snprintf(buf, size, ": the controller lacks the permission %s:%s", service, action);
    }
}

int aws_error_of_answer(enum aws_api api, const char *action, int status,
                        const struct aws_node *root, struct err *err)
{
    const struct aws_node *e = aws_error_find(root);
    const char *word = aws_xml_text(e, "Code");
    const char *text = str_nonnull(aws_xml_text(e, "Message"));
    const char *id = request_id(root);
    int code = aws_error_code(api, action, status, word);
    if (str_is_empty(word)) {
        (void)err_set(err, code, "HTTP status %d", status);
    } else {
        char lacks[160];
        permission(lacks, sizeof(lacks), api, code == ERR_FORBIDDEN ? action : NULL);
        (void)err_set(err, code, "%.*s%s%s%.*s%s%.*s%s", cut(word, sizeof(err->reason) - 1), word,
                      lacks, *text != '\0' ? ": " : "", cut(text, TEXT_MAX), text,
                      id != NULL ? " (request " : "", id != NULL ? cut(id, 64) : 0, str_nonnull(id),
                      id != NULL ? ")" : "");
        (void)snprintf(err->reason, sizeof(err->reason), "%.*s", cut(word, sizeof(err->reason) - 1),
                       word);
    }
    err->http_status = status;
    return code;
}
