/* SPDX-License-Identifier: Apache-2.0 */
/* ratelimit.c: the token bucket behind ratelimit.h.
 *
 * Tokens are kept as a double that may go below zero: each taker books the next free moment, so
 * waiters are served in the order in which they asked, as golang.org/x/time/rate does it.
 * Must not wait or read a clock.  Pure; one owner per struct, or a lock around it. */
#include "common/net/ratelimit.h"

#include <math.h>

/* Doubles make 49.999999 of 50; without this slack a token would be a millisecond late. */
#define SLACK_MS 1e-6

void ratelimit_init(struct ratelimit *r, double per_second, int burst, int64_t now_ms)
{
    double b = burst < 1 ? 1.0 : (double)burst;
    *r = (struct ratelimit){.per_second = per_second, .burst = b, .tokens = b, .at_ms = now_ms};
}

static void refill(struct ratelimit *r, int64_t now_ms)
{
    if (now_ms <= r->at_ms) {
        return; /* a clock that stands still or was set back gives nothing */
    }
    r->tokens += (double)(now_ms - r->at_ms) / 1000.0 * r->per_second;
    r->tokens = r->tokens > r->burst ? r->burst : r->tokens;
    r->at_ms = now_ms;
}

int64_t ratelimit_take(struct ratelimit *r, int64_t now_ms)
{
    if (r->per_second <= 0) {
        return now_ms;
    }
    refill(r, now_ms);
    r->tokens -= 1.0;
    if (r->tokens >= 0) {
        return now_ms;
    }
    double wait_ms = -r->tokens / r->per_second * 1000.0;
    return now_ms + (int64_t)ceil(wait_ms - SLACK_MS);
}

_Bool ratelimit_try(struct ratelimit *r, int64_t now_ms)
{
    if (r->per_second <= 0) {
        return 1;
    }
    refill(r, now_ms);
    if (r->tokens < 1.0 - SLACK_MS) {
        return 0;
    }
    r->tokens -= 1.0;
    return 1;
}

double ratelimit_tokens(const struct ratelimit *r, int64_t now_ms)
{
    struct ratelimit copy = *r;

    refill(&copy, now_ms);
    return copy.tokens;
}
