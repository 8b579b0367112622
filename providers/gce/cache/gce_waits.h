/* SPDX-License-Identifier: Apache-2.0 */
/* gce_waits.h: when to look again for something that another program is to bring about in the
 * cloud.
 *
 * Nothing tells us of it, so it is looked for: soon at first, then after twice the time, and so on.
 * As soon as what is missing is another thing, it begins again, because then work goes on.
 * Thread-safe; forgotten when the process ends. */
#ifndef TRIMTAB_GCE_WAITS_H
#define TRIMTAB_GCE_WAITS_H

#include "common/base/attr.h"

#include <stdint.h>

#define GCE_WAIT_FIRST_MS 5000

struct gce_waits;
struct gce_waits *gce_waits_new(void) _warn_unused_;
void gce_waits_free(struct gce_waits *w); /* NULL is fine */
/* How long to wait now, in ms, at most `longest_ms`; `missing` says in words what is waited for. */
int64_t gce_waits_next(struct gce_waits *w, const char *key, const char *missing,
                       int64_t longest_ms);
/* It is there, or is wanted no more. */
void gce_waits_forget(struct gce_waits *w, const char *key);

#endif
