/* SPDX-License-Identifier: Apache-2.0 */
/* host_plan.c: is a plan that a provider reports one that can be read?
 *
 * Looks at every pointer, count, word and text before anything else does; what does not pass is
 * refused as a whole, because a plan that shows a part of what is going to be done is
 * worse than none.  Pure. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/host/host_internal.h"
#include "controller/rules/word_rules.h"

#define NAME_MAX_BYTES TT_TEXT_MAX
#define TEXT_MAX_BYTES ((size_t)1024 * 1024) /* of a field: a policy, a list of ranges */
#define KEY_MAX_BYTES  512u

_printf_(2, 3) static bool refuse(char why[HOST_WHY_MAX], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, HOST_WHY_MAX, format, args); /* what is too long is cut */
    va_end(args);
    return false;
}

/* NULL passes. */
static bool is_text(const char *text, size_t max)
{
    return text == NULL || host_text_ok(text, max);
}

static bool are_texts(const char *const *texts, uint32_t n, size_t max)
{
    if (n > TT_LIST_MAX || (n > 0 && texts == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (texts[i] == NULL || !host_text_ok(texts[i], max)) {
            return false;
        }
    }
    return true;
}

static bool are_fields(const struct tt_operation *op)
{
    if (op->n_fields > TT_LIST_MAX || (op->n_fields > 0 && op->fields == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < op->n_fields; i++) {
        const struct tt_field *f = &op->fields[i];
        if (f->path == NULL || !is_text(f->path, NAME_MAX_BYTES) ||
            !is_text(f->old_text, TEXT_MAX_BYTES) || !is_text(f->new_text, TEXT_MAX_BYTES)) {
            return false;
        }
    }
    return true;
}

/* Of a plan of ABI 1.8: numbers of other operations. */
static bool is_after_ok(const struct tt_operation *op)
{
    if (!TT_HAS(op, after) || op->n_after == 0) {
        return true;
    }
    if (op->n_after > TT_LIST_MAX || op->after == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < op->n_after; i++) {
        if (op->after[i] == 0 || op->after[i] == op->n) {
            return false;
        }
    }
    return true;
}

bool host_operation_ok(const struct tt_operation *op, char why[HOST_WHY_MAX])
{
    if (op == NULL || !TT_HAS(op, calls)) {
        return refuse(why, "an operation that is NULL or too small");
    }
    if (op->verb < TT_OP_CREATE || op->verb > TT_OP_KEEP) {
        return refuse(why, "operation %u with the unknown verb %u", op->n, op->verb);
    }
    if (str_is_empty(op->kind) || op->name == NULL || !is_text(op->kind, NAME_MAX_BYTES) ||
        !is_text(op->name, NAME_MAX_BYTES)) {
        return refuse(why, "operation %u whose kind or name is absent, too long or not UTF-8",
                      op->n);
    }
    if (TT_HAS(op, api_kind) && !is_text(op->api_kind, NAME_MAX_BYTES)) {
        return refuse(why, "operation %u whose API kind is too long or not UTF-8", op->n);
    }
    if (!is_text(op->why, TEXT_MAX_BYTES) || !is_text(op->summary, TEXT_MAX_BYTES) ||
        !is_text(op->note, TEXT_MAX_BYTES)) {
        return refuse(why, "operation %u (%.60s) with a text that is too long or not UTF-8", op->n,
                      op->kind);
    }
    if (!are_texts(op->owners, op->n_owners, KEY_MAX_BYTES)) {
        return refuse(why, "operation %u (%.60s) with owners that are absent or not UTF-8", op->n,
                      op->kind);
    }
    if (!are_fields(op)) {
        return refuse(why, "operation %u (%.60s) with fields that are absent or not UTF-8", op->n,
                      op->kind);
    }
    if (!is_after_ok(op)) {
        return refuse(why, "operation %u (%.60s) that waits for operations which cannot be", op->n,
                      op->kind);
    }
    return true;
}

/* Of a plan of ABI 1.6: findings with all their texts. */
static bool are_findings(const struct tt_plan_service *s)
{
    if (!TT_HAS(s, serves_nobody)) {
        return true;
    }
    if (s->n_findings > TT_LIST_MAX || (s->n_findings > 0 && s->findings == NULL) ||
        !is_text(s->serves_nobody, NAME_MAX_BYTES)) {
        return false;
    }
    for (uint32_t i = 0; i < s->n_findings; i++) {
        const struct tt_finding *f = s->findings[i];
        if (f == NULL || !TT_HAS(f, message) || !word_is_reason(f->reason) ||
            str_is_empty(f->message) || !is_text(f->message, NAME_MAX_BYTES) ||
            !is_text(f->field, NAME_MAX_BYTES)) {
            return false;
        }
    }
    return true;
}

static bool is_service_ok(const struct tt_plan_service *s, char why[HOST_WHY_MAX])
{
    if (s == NULL || !TT_HAS(s, message)) {
        return refuse(why, "a Service that is NULL or too small");
    }
    if (str_is_empty(s->key) || !is_text(s->key, KEY_MAX_BYTES)) {
        return refuse(why, "a Service without key");
    }
    if (!is_text(s->kind, NAME_MAX_BYTES) || !is_text(s->address, NAME_MAX_BYTES) ||
        !is_text(s->message, TEXT_MAX_BYTES) ||
        !are_texts(s->because, s->n_because, TEXT_MAX_BYTES) ||
        !are_texts(s->effects, s->n_effects, TEXT_MAX_BYTES) ||
        (TT_HAS(s, n_left) && !are_texts(s->left, s->n_left, TEXT_MAX_BYTES))) {
        return refuse(why, "Service %.120s with a text that is absent, too long or not UTF-8",
                      s->key);
    }
    if (!are_findings(s)) {
        return refuse(
            why, "Service %.120s with a finding that is missing, or whose reason is not a word",
            s->key);
    }
    return true;
}

bool host_plan_ok(const struct tt_plan *plan, char why[HOST_WHY_MAX])
{
    if (plan == NULL || !TT_HAS(plan, calls)) {
        return refuse(why, "NULL, or too small");
    }
    if (plan->n_operations > TT_LIST_MAX || plan->n_services > TT_LIST_MAX) {
        return refuse(why, "%u operations and %u Services; at most %u of each are taken",
                      plan->n_operations, plan->n_services, TT_LIST_MAX);
    }
    if ((plan->n_operations > 0 && plan->operations == NULL) ||
        (plan->n_services > 0 && plan->services == NULL)) {
        return refuse(why, "a list that is NULL");
    }
    for (uint32_t i = 0; i < plan->n_services; i++) {
        if (!is_service_ok(plan->services[i], why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        if (!host_operation_ok(plan->operations[i], why)) {
            return false;
        }
    }
    return true;
}
