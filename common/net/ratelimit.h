/* SPDX-License-Identifier: Apache-2.0 */
/* ratelimit.h: a token bucket, like client-go's and x/time/rate: starts full, refills evenly.
 *
 * Pure: `now` is a parameter.  ratelimit_take() books a token and says when it may be used; the
 * caller waits (http_request.not_before_ms).  Thread-safe variant: lock around it. */
#ifndef TRIMTAB_NET_RATELIMIT_H
#define TRIMTAB_NET_RATELIMIT_H

#include <stdint.h>

struct ratelimit {
    double per_second; /* <= 0: no limit */
    double burst;      /* >= 1 */
    double tokens;     /* may go below 0: booked ahead */
    int64_t at_ms;     /* when `tokens` was true */
};

void ratelimit_init(struct ratelimit *r, double per_second, int burst, int64_t now_ms);
/* The moment (>= now_ms) at which the booked token may be used. */
int64_t ratelimit_take(struct ratelimit *r, int64_t now_ms);
/* True when a token was there at once and was taken; false takes nothing. */
_Bool ratelimit_try(struct ratelimit *r, int64_t now_ms);
/* How many could be taken now without waiting; below 0: so many wait. */
double ratelimit_tokens(const struct ratelimit *r, int64_t now_ms);

#endif
