/* SPDX-License-Identifier: Apache-2.0 */
/* report_rules.c: the texts of report_rules.h. */
#include "controller/rules/report_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/base/timefmt.h"

#define OPERATIONS_MAX 700
#define MORE           "…"
#define SINCE          "since "
#define SINCE_BYTES    (sizeof(SINCE) - 1)
#define TIME_BYTES     20 /* 2026-01-02T15:04:05Z */

const char *report_reason(int32_t code)
{
    static const char *const reasons[] = {
        [TT_OK] = "Ready",
        [TT_INVALID] = "InvalidSpec",
        [TT_IMPLEMENTED_ELSEWHERE] = "ServedElsewhere",
        [TT_NOT_FOUND] = "NotFound",
        [TT_CONFLICT] = "Conflict",
        [TT_IN_USE] = "ResourceInUse",
        [TT_FORBIDDEN] = "Forbidden",
        [TT_QUOTA] = "QuotaExceeded",
        [TT_THROTTLED] = "Throttled",
        [TT_IN_PROGRESS] = "Provisioning",
        [TT_AUTH] = "AuthenticationFailed",
        [TT_TRANSIENT] = "CloudError",
        [TT_CANCELLED] = "Interrupted",
        [TT_BUG] = "InternalError",
        [TT_EXISTS] = "Conflict",
    };
    bool known = code >= 0 && (size_t)code < sizeof(reasons) / sizeof(reasons[0]);

    return known && reasons[code] != NULL ? reasons[code] : "InternalError";
}

const char *report_cut(struct arena *a, const char *text, size_t max)
{
    size_t n = strlen(text);

    if (n <= max) {
        return text;
    }
    n = max - strlen(MORE);
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) {
        n--; /* inside a character */
    }
    return arena_printf(a, "%.*s%s", (int)n, text, MORE);
}

/* A temporary failure says nothing about a load balancer that is there. */
static bool is_passing(int32_t code)
{
    switch (code) {
    case TT_CONFLICT:
    case TT_EXISTS:
    case TT_IN_USE:
    case TT_THROTTLED:
    case TT_TRANSIENT:
    case TT_AUTH:
        return true;
    default:
        return false;
    }
}

static const char *status_of(const struct report_outcome *o)
{
    if (o->code == TT_OK) {
        return "True";
    }
    if (o->code == TT_IN_PROGRESS) {
        return "Unknown";
    }
    return o->has_address && is_passing(o->code) ? "Unknown" : "False";
}

/* Of a load balancer that another controller's is to follow. */
static struct tt_condition stays_condition(const struct report_outcome *o)
{
    return (struct tt_condition){
        .type = REPORT_CONDITION,
        .status = "Unknown",
        .reason = "NotHandedOver",
        .message = "The Service asks for another controller's load balancer; the one that is there "
                   "stays for now, and its nodes follow",
        .observed_generation = o->generation,
    };
}

struct tt_condition report_condition(struct arena *a, const struct report_outcome *o)
{
    if (o->code == TT_OK && o->stays) {
        return stays_condition(o);
    }
    const char *message =
        o->code == TT_OK ? "The load balancer is as the Service asks" : str_nonnull(o->message);

    return (struct tt_condition){
        .type = REPORT_CONDITION,
        .status = status_of(o),
        .reason = report_reason(o->code),
        .message = report_cut(a, message, REPORT_TEXT_MAX),
        .observed_generation = o->generation,
    };
}

/* The time at the start of trimtab's annotation; false if another writer wrote it. */
static bool since_of(const char *was, char ret[TIME_BYTES + 1])
{
    int64_t us = 0;

    if (was == NULL || strncmp(was, SINCE, SINCE_BYTES) != 0 ||
        strnlen(was + SINCE_BYTES, TIME_BYTES) < TIME_BYTES) {
        return false;
    }
    memcpy(ret, was + SINCE_BYTES, TIME_BYTES);
    ret[TIME_BYTES] = '\0';
    return time_parse_rfc3339(ret, &us);
}

const char *report_last_error(struct arena *a, const char *was, const char *message,
                              int64_t wall_us, int64_t next_us)
{
    char since[TIME_BYTES + 1];
    char now[32];
    char next[32];

    time_format_rfc3339(wall_us, now);
    time_format_rfc3339(next_us, next);
    const char *text = arena_printf(a, SINCE "%s, next try %s: %s",
                                    since_of(was, since) ? since : now, next, message);
    return report_cut(a, text, REPORT_TEXT_MAX);
}

const char *report_last_plan(struct arena *a, const struct report_plan *p, int64_t wall_us)
{
    char now[32];

    time_format_rfc3339(wall_us, now);
    const char *text = arena_printf(a, "at %s: %u to create, %u to change, %u to delete: %s", now,
                                    p->create, p->change, p->delete, str_nonnull(p->operations));
    return report_cut(a, text, REPORT_TEXT_MAX);
}

const char *report_add_operation(struct arena *a, const char *list, const struct tt_operation *op)
{
    static const char *const signs[] = {"", "+", "~", "-", "="};
    size_t n = strlen(str_nonnull(list));
    const char *sign = op->verb < sizeof(signs) / sizeof(signs[0]) ? signs[op->verb] : "";

    if (n >= OPERATIONS_MAX) {
        return list; /* it ends in " …" */
    }
    const char *all =
        arena_printf(a, "%s%s%s %s %s", str_nonnull(list), n > 0 ? "; " : "", sign,
                     str_nonnull(op->kind), report_cut(a, str_nonnull(op->name), 128));
    return strlen(all) < OPERATIONS_MAX ? all : arena_printf(a, "%s; %s", all, MORE);
}
