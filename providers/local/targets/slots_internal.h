/* SPDX-License-Identifier: Apache-2.0 */
/* slots_internal.h: how many of m slots each target gets.  Private to this room. */
#ifndef TRIMTAB_LOCAL_TARGETS_SLOTS_INTERNAL_H
#define TRIMTAB_LOCAL_TARGETS_SLOTS_INTERNAL_H

#include "providers/local/targets/slots.h"

struct local_share {
    uint16_t index;  /* of the target */
    uint16_t weight; /* 1…65535 */
    uint16_t slots;  /* at least 1 */
};
/* Targets with weight, by index; of more than m the first m. */
struct local_shares {
    size_t n;
    uint64_t weight; /* of all of them */
    struct local_share items[LOCAL_SLOTS_MAX];
};

/* m is at most LOCAL_SLOTS_MAX.  Largest remainder over weights; equal ones by index.  The sum
 * is m unless n is 0. */
void local_shares_make(const struct local_target_set *t, unsigned m, struct local_shares *ret);
/* The item of a target; NULL: it has no share. */
struct local_share *local_shares_find(struct local_shares *s, size_t index);

#endif
