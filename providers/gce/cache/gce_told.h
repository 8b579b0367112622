/* SPDX-License-Identifier: Apache-2.0 */
/* gce_told.h: events that owners have had already.
 *
 * Upstream repeats some events at every sync; here an event about a thing is raised once, and
 * again when its text changes (§4.12, ours).  Thread-safe; forgotten when the process ends. */
#ifndef TRIMTAB_GCE_TOLD_H
#define TRIMTAB_GCE_TOLD_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <trimtab/provider.h>

struct gce_told;
struct gce_told *gce_told_new(void);
void gce_told_free(struct gce_told *t);
/* True when `text` is news about `about`. */
bool gce_told_is_news(struct gce_told *t, const char *about, const char *text);
/* The last event about it, in the arena; "" if none. */
const char *gce_told_text(struct gce_told *t, struct arena *a, const char *about);
void gce_told_forget(struct gce_told *t, const char *about);

#endif
