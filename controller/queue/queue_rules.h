/* SPDX-License-Identifier: Apache-2.0 */
/* queue_rules.h: how long a key waits before it is tried again.  Pure.
 *
 * The numbers are upstream's: 5 s, doubled after each failure, at most 300 s, no jitter, forever.
 * The queue (queue_core.h) keeps the count of failures per key; what to do with an outcome is
 * decided in sync_rules.h.
 * Source: controller.md §1.1, 1.18; asked from outside by trimtab-eval (kubernetes.retry_delay). */
#ifndef TRIMTAB_CONTROLLER_QUEUE_RULES_H
#define TRIMTAB_CONTROLLER_QUEUE_RULES_H

#include <stdint.h>

#define QUEUE_RETRY_BASE_MS 5000
#define QUEUE_RETRY_MAX_MS  300000
/* A provider may ask for "at once"; less than this would be a hot loop (§1.21, deviation 6). */
#define QUEUE_RETRY_FLOOR_MS 1000
/* And for "never": what it asks for after a failure, and after all went well, is cut to these. */
#define QUEUE_RETRY_ASKED_MAX_MS ((int64_t)60 * 60 * 1000)
#define QUEUE_AGAIN_MAX_MS       ((int64_t)24 * 60 * 60 * 1000)

/* base · 2^failures, at most max; no overflow for any count.  `failures` is the number
 * of earlier ones. */
int64_t queue_retry_delay_ms(int64_t base_ms, int64_t max_ms, int64_t failures);
/* The delay that a provider asked for, at least the minimum. */
int64_t queue_retry_after_ms(int64_t asked_ms);

#endif
