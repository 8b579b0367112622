/* SPDX-License-Identifier: Apache-2.0 */
/* detail_rules.c: see detail_rules.h. */
#include "controller/rules/detail_rules.h"

#include <string.h>

#define FIELDS_SHOWN 4
#define VALUE_SHOWN  60 /* bytes; longer ones are cut */

static void append_value(struct str_buf *b, const char *text)
{
    size_t n = strlen(text);
    bool cut = n > VALUE_SHOWN;
    n = cut ? VALUE_SHOWN : n;
    while (cut && n > 0 && ((unsigned char)text[n] & 0xc0u) == 0x80u) {
        n--; /* not within a character */
    }
    str_append_n(b, text, n);
    str_append(b, cut ? "…" : "");
}

/* "idle: 60 → 120"; an item of a list that comes or goes: "ingress + tcp 80 from 10.0.0.0/8". */
static void append_field(struct str_buf *b, const struct tt_field *f, bool same_path)
{
    const char *old = str_is_empty(f->old_text) ? NULL : f->old_text;
    const char *new = str_is_empty(f->new_text) ? NULL : f->new_text;
    str_append(b, same_path ? "" : f->path);
    if (old != NULL && new != NULL) {
        str_append(b, same_path ? "" : ": ");
        append_value(b, old);
        str_append(b, " → ");
        append_value(b, new);
    } else if (old != NULL || new != NULL) {
        str_appendf(b, "%s%s ", same_path ? "" : " ", new != NULL ? "+" : "-");
        append_value(b, new != NULL ? new : old);
    }
}

void detail_append(struct str_buf *b, const struct tt_operation *op)
{
    if (!str_is_empty(op->summary)) {
        str_append(b, op->summary);
        if (op->verb != TT_OP_CHANGE || op->n_fields == 0) {
            return; /* of a new resource it says all */
        }
        str_append(b, ": ");
    }
    for (uint32_t i = 0; i < op->n_fields && i < FIELDS_SHOWN; i++) {
        str_append(b, i > 0 ? ", " : "");
        append_field(b, &op->fields[i],
                     i > 0 && str_eq(op->fields[i].path, op->fields[i - 1].path));
    }
    if (op->n_fields > FIELDS_SHOWN) {
        str_appendf(b, " and %u more", op->n_fields - FIELDS_SHOWN);
    }
}
