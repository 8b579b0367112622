/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h: one question to one target: a TCP connection, or a GET over it, without blocking.  The
 * connection ends with a reset, so that thousands of probes leave nothing behind.  One thread. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_PROBE_H
#define TRIMTAB_LOCAL_DIRECTOR_PROBE_H

#include "providers/local/director/check_rules.h"

struct local_probe;
/* Begins it; NULL: no socket is to be had, or nothing leads there, which counts as a failure. */
struct local_probe *local_probe_new(const struct local_check_spec *spec, int64_t now_ms);
void local_probe_free(struct local_probe *p); /* NULL is fine */
/* For poll(): the socket, and whether to read or to write. */
int local_probe_fd(const struct local_probe *p);
short local_probe_events(const struct local_probe *p);
int64_t local_probe_deadline_ms(const struct local_probe *p);

enum local_probe_end { LOCAL_PROBE_WAITS = 0, LOCAL_PROBE_GOOD, LOCAL_PROBE_BAD };
/* Goes on as far as it can without waiting; *ret_weight is set with LOCAL_PROBE_GOOD. */
enum local_probe_end local_probe_go(struct local_probe *p, int64_t now_ms, uint16_t *ret_weight);

#endif
