/* SPDX-License-Identifier: Apache-2.0 */
/* timefmt.h: moments and durations as text, in the forms of RFC 3339, Kubernetes and Go.
 *
 * Pure: no clock is read here, so pure modules may use it.  clock.h includes it for those who have
 * a clock anyway. */
#ifndef TRIMTAB_BASE_TIMEFMT_H
#define TRIMTAB_BASE_TIMEFMT_H

#include <stdint.h>

struct err;

/* RFC 3339 in UTC, whole seconds: 2026-01-02T15:04:05Z.  `out` has at least 32 bytes. */
void time_format_rfc3339(int64_t wall_us, char out[32]);
/* With six fraction digits, as Kubernetes' MicroTime. */
void time_format_micro(int64_t wall_us, char out[40]);
/* Reads RFC 3339 with 0 to 9 fraction digits and any offset.  False if it is not one. */
_Bool time_parse_rfc3339(const char *s, int64_t *ret_wall_us);
/* Go's time.ParseDuration ("1h30m", "-1.5s", "2µs"), in nanoseconds; fractions are
 * cut, not rounded. */
int duration_parse(const char *s, int64_t *ret_ns, struct err *err);
/* Go's Duration.String: "1m30s", "800ms", "0s".  `out` has at least 40 bytes. */
void duration_format(int64_t ns, char out[40]);

#endif
