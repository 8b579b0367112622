/* SPDX-License-Identifier: Apache-2.0 */
/* queue_rules.c: the arithmetic of trying again.
 *
 * Whole numbers only: Go computes the same in floating point and cuts at the maximum, which gives
 * the same value for every base and maximum of whole milliseconds. */
#include "controller/queue/queue_rules.h"

int64_t queue_retry_delay_ms(int64_t base_ms, int64_t max_ms, int64_t failures)
{
    int64_t delay = base_ms;

    if (delay <= 0) {
        return delay < max_ms ? delay : max_ms;
    }
    for (int64_t i = 0; i < failures && delay < max_ms; i++) {
        delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
    }
    return delay < max_ms ? delay : max_ms;
}

int64_t queue_retry_after_ms(int64_t asked_ms)
{
    return asked_ms < QUEUE_RETRY_FLOOR_MS ? QUEUE_RETRY_FLOOR_MS : asked_ms;
}
