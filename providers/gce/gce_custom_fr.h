/* SPDX-License-Identifier: Apache-2.0 */
/* gce_custom_fr.h: reads the forwarding rules that a Service with NEGs alone names, and their
 * backend services.
 *
 * Nothing is made, changed or remembered: they are the owner's (gce_custom_fr_rules.h says what
 * follows).  Read in the beta version of the API, as upstream does, because it has members that v1
 * lacks; rules in one wave, the backend services of those that can be used in a second
 * one, each once. */
#ifndef TRIMTAB_GCE_CUSTOM_FR_H
#define TRIMTAB_GCE_CUSTOM_FR_H

#include "providers/gce/gce_provider.h"
#include "providers/gce/model/gce_custom_fr_rules.h"

/* *ret_seen: one for each of refs->items, in the sync's arena; failures are in it.  Blocks. */
void gce_custom_fr_look(struct lb_sync *s, const struct gce_custom_refs *refs,
                        struct gce_custom_seen **ret_seen);

#endif
