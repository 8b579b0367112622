/* SPDX-License-Identifier: Apache-2.0 */
/* aws_delay.h: how long an operation is held back after others were throttled: the delay across
 * requests of upstream.
 *
 * The share of refused operations among the recent ones says how long; both counts fade by a fifth
 * every 20 s.  One per API (13 row 36), asked once per operation, not per attempt.  Numbers are
 * 32-bit floats, so that delays are upstream's to the second.  Source: docs/spec/aws.md 2.10;
 * vectors 11.13.  Pure: time is a parameter. */
#ifndef TRIMTAB_AWS_DELAY_H
#define TRIMTAB_AWS_DELAY_H

#include <stdint.h>

struct aws_delay {
    float errors;
    float requests;
    int64_t decayed_s; /* when both were faded last */
};
void aws_delay_init(struct aws_delay *d, int64_t now_s);
/* Counts an operation that is about to begin, and says for how many whole seconds it must wait. */
int64_t aws_delay_take(struct aws_delay *d, int64_t now_s);
/* An operation has failed for good because of too many requests. */
void aws_delay_failed(struct aws_delay *d);

#endif
