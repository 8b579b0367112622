/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_slots.h: which resources are looked at for a load balancer with a target pool
 * (gce_slots.h), and what was seen, as its planners take it.  Pure. */
#ifndef TRIMTAB_GCE_TARGET_POOL_SLOTS_H
#define TRIMTAB_GCE_TARGET_POOL_SLOTS_H

#include "providers/gce/cache/gce_slots.h"

/* The slots of the verb; `d` for ENSURE.  The shared health check and its firewall are main slots
 * of a Service that wants them, and not among those of another one. */
void gce_tp_slots(struct gce_slots *s, const struct gce_tp_facts *facts,
                  const struct gce_tp_input *in, const struct gce_names *names,
                  const struct gce_tp_desired *d);
/* The shared health check and its firewall. */
void gce_tp_slots_shared(struct gce_slots *s, bool main, const struct gce_names *names);
/* Copies what was seen; a resource without a slot is unknown, and so is the user's address. */
void gce_tp_observed_of(const struct gce_slots *s, const struct gce_names *names,
                        struct gce_tp_observed *ret);

#endif
