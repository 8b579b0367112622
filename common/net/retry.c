/* SPDX-License-Identifier: Apache-2.0 */
/* retry.c: the state machine behind retry.h.
 *
 * Owns: how many attempts, how far apart, and when it is not worth waiting.  Waiting itself is
 * done by the sender of the request (http_request.not_before_ms), so that one thread can have
 * many requests backing off at once.  A Retry-After of the server is a lower bound: we may wait
 * longer, never shorter.
 * Must not read a clock or draw random numbers.  Pure; one owner per
 * struct. */
#include "common/net/retry.h"

void retry_begin(struct retry *r, const struct retry_policy *policy, int64_t now_ms)
{
    *r = (struct retry){.policy = policy, .attempts = 1, .started_ms = now_ms};
}

int retry_classify(int http_status)
{
    switch (http_status) {
    case 429:
        return ERR_THROTTLED;
    case 0:   /* no answer */
    case 408: /* the server gave up waiting for us */
    case 425: /* too early: replay protection (RFC 8470) */
        return ERR_TRANSIENT;
    default:
        return http_status >= 500 && http_status <= 599 ? ERR_TRANSIENT : ERR_OK;
    }
}

/* base · 2^(attempts-1), at most cap. */
static int64_t backoff_ms(const struct retry *r)
{
    int64_t d = r->policy->base_ms;
    for (int i = 1; i < r->attempts && d < r->policy->cap_ms; i++) {
        d = d > INT64_MAX / 2 ? INT64_MAX : d * 2;
    }
    return d > r->policy->cap_ms ? r->policy->cap_ms : d;
}

bool retry_next(struct retry *r, int64_t now_ms, int64_t retry_after_ms, double unit,
                int64_t *ret_at_ms)
{
    const struct retry_policy *p = r->policy;
    if (r->attempts >= p->max_attempts || retry_after_ms > p->max_retry_after_ms) {
        return false;
    }
    int64_t wait_ms = backoff_ms(r);
    if (p->full_jitter) {
        wait_ms = (int64_t)((double)wait_ms * unit);
    }
    if (wait_ms < retry_after_ms) {
        wait_ms = retry_after_ms;
    }
    if (p->budget_ms > 0 && now_ms + wait_ms - r->started_ms > p->budget_ms) {
        return false;
    }
    r->attempts++;
    *ret_at_ms = now_ms + wait_ms;
    return true;
}
