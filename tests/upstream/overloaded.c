/* SPDX-License-Identifier: Apache-2.0 */
/* overloaded.c: a Service whose hints no longer fit its zones (overloaded.h). */
#include "tests/upstream/overloaded.h"

#include "common/base/str.h"

#include <math.h>
#include <string.h>

#define OVERLOAD_THRESHOLD 0.2
#define OVERLOAD_FACTOR    (1.0 / (1.0 + OVERLOAD_THRESHOLD))

bool ks_overloaded(const struct ks_zone_shares *shares, const struct ks_zone_counts *counts)
{
    int64_t total = 0;
    for (size_t i = 0; i < counts->n; i++) {
        total += counts->zones[i].hints;
    }
    if (counts->n == 0 || shares->n == 0) {
        return counts->n > 0;
    }
    size_t at = 0;
    for (size_t i = 0; i < shares->n; i++) {
        const struct ks_zone_share *z = &shares->zones[i];
        while (at < counts->n && strcmp(counts->zones[at].zone, z->zone) < 0) {
            at++;
        }
        if (at == counts->n || !str_eq(counts->zones[at].zone, z->zone) ||
            counts->zones[at].hints < (int64_t)ceil((double)total * z->ratio * OVERLOAD_FACTOR)) {
            return true;
        }
    }
    return false;
}
