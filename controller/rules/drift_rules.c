/* SPDX-License-Identifier: Apache-2.0 */
/* drift_rules.c: see drift_rules.h. */
#include "controller/rules/drift_rules.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "controller/rules/report_rules.h"

#define VALUE_MAX 80

int64_t drift_delay_ms(const char *key, int64_t now_ms, int64_t period_ms, int64_t offset_ms,
                       size_t n_services)
{
    int64_t most = period_ms / DRIFT_PERIOD_LEAST_MS;
    int64_t rounds = (int64_t)((n_services + DRIFT_ROUND_KEYS - 1) / DRIFT_ROUND_KEYS);

    rounds = rounds > most ? most : rounds;
    rounds = rounds < 1 ? 1 : rounds;
    int64_t round = (int64_t)(hash_bytes(1, key, strlen(key)) % (uint64_t)rounds);
    int64_t in_period = (round * (period_ms / rounds) + offset_ms) % period_ms;
    int64_t earliest = now_ms + period_ms / 2;
    int64_t at = earliest - earliest % period_ms + in_period;
    return (at < earliest ? at + period_ms : at) - now_ms;
}

bool drift_is_about(const struct tt_operation *op, const char *key)
{
    for (uint32_t i = 0; op->verb != TT_OP_KEEP && i < op->n_owners; i++) {
        if (strcmp(op->owners[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static void add_field(struct arena *a, struct str_buf *b, const struct tt_field *f)
{
    str_appendf(b, "%s ", str_nonnull(f->path));
    if (f->old_text == NULL) {
        str_appendf(b, "lacks %s", report_cut(a, str_nonnull(f->new_text), VALUE_MAX));
    } else if (f->new_text == NULL) {
        str_appendf(b, "has %s", report_cut(a, f->old_text, VALUE_MAX));
    } else {
        str_appendf(b, "is %s, should be %s", report_cut(a, f->old_text, VALUE_MAX),
                    report_cut(a, f->new_text, VALUE_MAX));
    }
}

static void add_operation(struct arena *a, struct str_buf *b, const struct tt_operation *op)
{
    str_appendf(b, "%s %s", str_nonnull(op->kind), report_cut(a, str_nonnull(op->name), 128));
    if (op->verb == TT_OP_CREATE) {
        str_append(b, " is missing");
        return;
    }
    if (op->verb == TT_OP_DELETE) {
        str_append(b, " should not be there");
        return;
    }
    str_append(b, op->n_fields > 0 ? ": " : " differs");
    for (uint32_t i = 0; i < op->n_fields; i++) {
        str_append(b, i > 0 ? ", " : "");
        add_field(a, b, &op->fields[i]);
    }
}

struct drift drift_of(struct arena *a, const struct tt_plan *plan, const char *key)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct drift d = {.text = ""};

    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        if (drift_is_about(op, key)) {
            str_append(&b, d.n++ > 0 ? "; " : "");
            add_operation(a, &b, op);
        }
    }
    if (d.n > 0) {
        d.digest = hash_bytes(1, str_buf_text(&b), b.len) | 1;
        d.text = report_cut(a, str_buf_to_arena(&b, a), DRIFT_TEXT_MAX);
    }
    return d;
}
