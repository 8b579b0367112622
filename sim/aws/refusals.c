/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c: why a request is not served: codes and statuses in the words of each service.
 *
 * The status of a code is what the pack declares for the action, else that of the common codes,
 * else 400.
 * Source: docs/spec/aws.md §3.3; the services' lists of common errors. */
#include "sim/aws/aws.h"

#include <stdlib.h>

/* Codes whose status is not 400, whatever the action. */
static int common_status(const char *code)
{
    static const struct {
        const char *code;
        int status;
    } rows[] = {
        {"AccessDenied", 403},
        {"AuthFailure", 401},
        {"ExpiredToken", 403},
        {"InternalError", 500},
        {"InternalFailure", 500},
        {"InvalidClientTokenId", 403},
        {"MissingAuthenticationToken", 403},
        {"RequestLimitExceeded", 503},
        {"RequestTimeTooSkewed", 403},
        {"ServiceUnavailable", 503},
        {"SignatureDoesNotMatch", 403},
        {"Unavailable", 503},
        {"UnauthorizedOperation", 403},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].code, code)) {
            return rows[i].status;
        }
    }
    return 400;
}

/* NULL: the action does not declare it. */
static const char *declared_status(const struct amz_request *q, const char *code)
{
    const char *const *e = q->op ? q->op->errors : NULL;
    for (; e && *e; e += 2) {
        if (str_eq(e[0], code)) {
            return e[1];
        }
    }
    return NULL;
}

bool amz_declares(const struct amz_request *q, const char *code)
{
    return declared_status(q, code) != NULL;
}

static int status_of(const struct amz_request *q, const char *code)
{
    int64_t status;
    return str_to_i64(str_nonnull(declared_status(q, code)), &status) ? (int)status
                                                                      : common_status(code);
}

static bool refuse_va(struct amz_request *q, int status, const char *code, const char *fmt,
                      va_list ap)
{
    q->refusal = (struct amz_refusal){
        .status = status,
        .code = code,
        .message = arena_vprintf(q->a, fmt, ap),
    };
    return false;
}

#define REFUSE(q, status, code, fmt)                                                               \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        (void)refuse_va(q, status, code, fmt, ap);                                                 \
        va_end(ap);                                                                                \
        return false;                                                                              \
    } while (0)

bool amz_refuse(struct amz_request *q, const char *code, const char *fmt, ...)
{
    REFUSE(q, status_of(q, code), code, fmt);
}

bool amz_refuse_status(struct amz_request *q, int status, const char *code, const char *fmt, ...)
{
    REFUSE(q, status, code, fmt);
}

bool amz_refuse_value(struct amz_request *q, const char *fmt, ...)
{
    REFUSE(q, 400, q->service == AMZ_EC2 ? "InvalidParameterValue" : "ValidationError", fmt);
}

bool amz_refuse_combination(struct amz_request *q, const char *fmt, ...)
{
    REFUSE(q, 400, q->service == AMZ_EC2 ? "InvalidParameterCombination" : "ValidationError", fmt);
}

bool amz_refuse_missing(struct amz_request *q, const char *parameter)
{
    return amz_refuse(q, q->service == AMZ_EC2 ? "MissingParameter" : "ValidationError",
                      "The request must contain the parameter %s", parameter);
}
