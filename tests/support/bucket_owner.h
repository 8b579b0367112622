/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_owner.h: the owner of a bucket of addresses, from the names of all directors: the
 * rule that each director applies to the scores of the others (holder_rules.c). */
#ifndef TRIMTAB_TESTS_BUCKET_OWNER_H
#define TRIMTAB_TESTS_BUCKET_OWNER_H

#include "providers/local/targets/slots.h"
#include <string.h>

/* Which of the directors owns the bucket: the one with the greatest SHA-256 of "name/bucket";
 * index, or -1 of none. */
static inline int local_bucket_owner(const char *const *names, size_t n, uint8_t bucket)
{
    uint8_t best[LOCAL_SCORE_BYTES] = {0};
    int owner = -1;
    for (size_t i = 0; i < n; i++) {
        uint8_t sum[LOCAL_SCORE_BYTES];
        local_bucket_score(names[i], bucket, sum);
        if (owner < 0 || memcmp(sum, best, sizeof(sum)) > 0) {
            memcpy(best, sum, sizeof(sum));
            owner = (int)i;
        }
    }
    return owner;
}

#endif
