/* SPDX-License-Identifier: Apache-2.0 */
/* differences.c: a list of differences that grows; see differences.h. */
#include "common/services/compare/differences.h"

#include <stdlib.h>
#include <string.h>

void ks_differences_add(struct ks_differences *d, struct ks_difference difference)
{
    if (d->n == d->cap) {
        d->cap = d->cap == 0 ? 32 : 2 * d->cap;
        struct ks_difference *more = ARENA_ARRAY(d->a, struct ks_difference, d->cap);
        if (d->n > 0) {
            memcpy(more, d->items, d->n * sizeof(*more));
        }
        d->items = more;
    }
    d->items[d->n++] = difference;
}

void ks_differences_note(struct ks_differences *d, const char *text)
{
    if (d->n_notes < ARRAY_LEN(d->notes)) {
        d->notes[d->n_notes++] = text;
    }
}

static int cmp_difference(const void *x, const void *y)
{
    const struct ks_difference *p = x;
    const struct ks_difference *q = y;
    int c = strcmp(p->subject, q->subject);
    c = c != 0 ? c : strcmp(p->what, q->what);
    c = c != 0 ? c : (int)p->kind - (int)q->kind;
    return c != 0 ? c : strcmp(str_nonnull(p->want), str_nonnull(q->want));
}

void ks_differences_finish(struct ks_differences *d, struct ks_compared *ret)
{
    if (d->n > 1) {
        qsort(d->items, d->n, sizeof(*d->items), cmp_difference);
    }
    const char **notes = ARENA_ARRAY(d->a, const char *, d->n_notes + 1);
    memcpy(notes, d->notes, d->n_notes * sizeof(*notes));
    *ret = (struct ks_compared){.differences = d->items,
                                .notes = notes,
                                .n_differences = d->n,
                                .n_notes = d->n_notes,
                                .n_rules = d->n_rules,
                                .n_others = d->n_others};
}

unsigned ks_mark_bit(unsigned long mark)
{
    unsigned bit = 0;
    while (bit < 31 && (mark >> bit) != 1) {
        bit++;
    }
    return bit;
}
