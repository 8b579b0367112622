/* SPDX-License-Identifier: Apache-2.0 */
/* space.h: the addresses that the pools offer, as sorted spans without what they exclude.  Pure. */
#ifndef TRIMTAB_LOCAL_IPAM_SPACE_H
#define TRIMTAB_LOCAL_IPAM_SPACE_H

#include "providers/local/model/config.h"

/* The one that follows; false if there is none. */
bool addr_next(const struct ip_addr *a, struct ip_addr *ret);
bool addr_prev(const struct ip_addr *a, struct ip_addr *ret);
/* IPv4, ends in .0 or .255. */
bool addr_is_buggy(const struct ip_addr *a);

/* Consecutive addresses of one pool, none of them excluded by range; buggy ones may
 * be among them. */
struct span {
    struct ip_addr first;
    struct ip_addr last;
    size_t pool;
};
struct space {
    struct span *items; /* sorted by first; they do not overlap */
    size_t n;
};

/* Of all pools; space_done() frees it. */
void space_make(struct space *s, const struct local_config *config);
void space_done(struct space *s);
/* Index of the span that has the address; SIZE_MAX: none has. */
size_t space_find(const struct space *s, const struct ip_addr *addr);
/* How many addresses the pool has to give of the family (len 4 or 16); saturates at INT64_MAX. */
int64_t space_count(const struct space *s, const struct local_config *config, size_t pool,
                    uint8_t len);

#endif
