/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_owner.h: the owner of a bucket of addresses among directors that all take buckets and
 * reach the clients: the one that claims it when it sees the others. */
#ifndef TRIMTAB_TESTS_BUCKET_OWNER_H
#define TRIMTAB_TESTS_BUCKET_OWNER_H

#include "providers/local/leases/holder_rules.h"

/* The buckets that director `self` claims beside the others.  At most LOCAL_DIRECTORS_MAX + 1
 * names, each once. */
static inline struct local_bucket_set local_buckets_claimed(const char *const *names, size_t n,
                                                            size_t self)
{
    static const bool near = true;
    static const struct local_bucket_set nothing;
    const struct local_holder_terms terms = {
        .name = names[self], .duration_ms = 15000, .renew_ms = 5000, .n_groups = 1};
    struct local_lease_seen others[LOCAL_DIRECTORS_MAX];
    struct local_bucket_set claims;
    size_t n_others = 0;
    for (size_t i = 0; i < n && n_others < LOCAL_DIRECTORS_MAX; i++) {
        if (i != self) {
            others[n_others++] = (struct local_lease_seen){.name = names[i],
                                                           .version = "1",
                                                           .duration_ms = 15000,
                                                           .takes = true,
                                                           .holds = &nothing,
                                                           .near = &near};
        }
    }
    struct local_holder *h = local_holder_new(&terms);
    local_holder_reach(h, &near);
    local_holder_ready(h, true);
    local_holder_turn(h, 1);
    local_holder_wrote(h, local_holder_claims(h, &claims), 1, 1); /* its Lease is valid … */
    local_holder_see(h, others, n_others, 2, 2);                  /* … and older than the list */
    local_holder_turn(h, 2);
    (void)local_holder_claims(h, &claims);
    local_holder_free(h);
    return claims;
}

/* Its index; -1: no director, or not exactly one claims it. */
static inline int local_bucket_owner(const char *const *names, size_t n, uint8_t bucket)
{
    int owner = -1;
    for (size_t i = 0; i < n; i++) {
        const struct local_bucket_set claims = local_buckets_claimed(names, n, i);
        if (local_bucket_set_has(&claims, bucket)) {
            if (owner >= 0) {
                return -1;
            }
            owner = (int)i;
        }
    }
    return owner;
}

#endif
