/* SPDX-License-Identifier: Apache-2.0 */
/* retry.h: when to send a request again, as a pure state machine.
 *
 * `now` is a parameter, randomness comes in as a number, nothing sleeps: the answer is "send
 * again at t" or "give up".  Honours Retry-After; full jitter between attempts; a budget of
 * attempts and of time. Who owns one calls retry_next() after each failure and puts the moment
 * into http_request.not_before_ms. */
#ifndef TRIMTAB_NET_RETRY_H
#define TRIMTAB_NET_RETRY_H

#include "common/base/attr.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct retry_policy {
    int max_attempts;           /* sends in all, the first included; >= 1 */
    int64_t base_ms;            /* back-off before the second attempt; doubles */
    int64_t cap_ms;             /* most that one back-off may be */
    int64_t budget_ms;          /* most time from first send to last; 0 = no limit */
    int64_t max_retry_after_ms; /* a longer Retry-After is not waited for: give up and pass it on */
    bool full_jitter;           /* wait in [0, d] (true) or exactly d */
};
struct retry {
    const struct retry_policy *policy;
    int attempts; /* sends so far */
    int64_t started_ms;
};

void retry_begin(struct retry *r, const struct retry_policy *policy, int64_t now_ms);
/* The kind of failure of an answer: maps status 0 and 408, 425, 429, 5xx to TRANSIENT/THROTTLED; 0
 * (OK) for others. */
int retry_classify(int http_status);
/* After a failed attempt.  `retry_after_ms` 0 = server said nothing; `unit` in [0,1) is the
 * randomness. True: send again at *ret_at_ms.  False: give up. */
bool retry_next(struct retry *r, int64_t now_ms, int64_t retry_after_ms, double unit,
                int64_t *ret_at_ms);

#endif
