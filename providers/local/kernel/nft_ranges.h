/* SPDX-License-Identifier: Apache-2.0 */
/* nft_ranges.h: a copy of the source ranges of all frontends that have some.
 *
 * The kernel can list ranges of one frontend only with those of all others, which costs
 * milliseconds where there are thousands.  The copy spares that: it is as of a generation of the
 * rule set, follows our own transactions, each of which makes the generation greater by one, and
 * counts for nothing when the kernel says another generation. */
#ifndef TRIMTAB_LOCAL_KERNEL_NFT_RANGES_H
#define TRIMTAB_LOCAL_KERNEL_NFT_RANGES_H

#include "providers/local/kernel/kernel.h"

struct map;

/* Zeroed: nothing is known. */
struct local_nft_ranges {
    bool known;
    uint32_t generation;
    char instance[40]; /* whose table */
    struct map *of;    /* "ADDRESS PROTOCOL PORT" → list of ranges; NULL: none yet */
};
/* Nothing is known from then on; frees what was. */
void local_nft_ranges_forget(struct local_nft_ranges *r);
/* Begins again, as of this generation: the caller adds all that is listed. */
void local_nft_ranges_begin(struct local_nft_ranges *r, const char *instance, uint32_t generation);
bool local_nft_ranges_count(const struct local_nft_ranges *r, const char *instance,
                            uint32_t generation);
/* An element of the sets LOCAL_NFT_FROM and LOCAL_NFT_ALSO; others are ignored. */
void local_nft_ranges_add(struct local_nft_ranges *r, const struct local_nft_element *e);
/* A transaction of our own is done in this table. */
void local_nft_ranges_follow(struct local_nft_ranges *r, const char *instance,
                             const struct local_nft_change *changes, size_t n);
/* Hands out the ranges of a frontend as elements. */
void local_nft_ranges_each(const struct local_nft_ranges *r, const struct local_frontend_id *id,
                           void (*each)(void *arg, const struct local_nft_element *e), void *arg);

#endif
