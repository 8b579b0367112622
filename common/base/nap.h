/* SPDX-License-Identifier: Apache-2.0 */
/* nap.h: a thread pauses, and goes on at once when it is asked to stop.  Thread-safe. */
#ifndef TRIMTAB_BASE_NAP_H
#define TRIMTAB_BASE_NAP_H

#include <stdint.h>

struct cancel;
struct clock;

/* Blocks until clock_now_ms(clock) >= until_ms, or until `cancel` (may be NULL) has fired. */
void nap_until(struct clock *clock, struct cancel *cancel, int64_t until_ms);

#endif
