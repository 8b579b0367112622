/* SPDX-License-Identifier: Apache-2.0 */
/* due.h: records in the order of the moments when something of them is due: a heap.
 *
 * A turn looks at the records that are due, and not at the tens of thousands that are not.  Records
 * are borrowed; each holds a struct due_place as a member, which is zero while the record is in no
 * heap.  Pure, one thread at a time. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_DUE_H
#define TRIMTAB_LOCAL_DIRECTOR_DUE_H

#include <stddef.h>
#include <stdint.h>

struct due_place {
    uint32_t at; /* 1 is the first; 0: in no heap */
};
struct due_item {
    int64_t at_ms;
    struct due_place *place;
};
struct due_heap {
    struct due_item *items;
    size_t n, cap;
};

void due_done(struct due_heap *h);
/* The record is due then, and not when it was said to be before. */
void due_set(struct due_heap *h, struct due_place *place, int64_t at_ms);
void due_drop(struct due_heap *h, struct due_place *place); /* none is fine */
int64_t due_first_ms(const struct due_heap *h);             /* INT64_MAX: nothing is due, ever */
/* Takes the first one out if it is due; NULL: none is. */
struct due_place *due_take(struct due_heap *h, int64_t now_ms);

#endif
