/* SPDX-License-Identifier: Apache-2.0 */
/* rules_met.h: the rule that decides in each chain, set and map on a packet's way.
 *
 * The names come from the tracer, the texts from the renderer, of the Services of
 * one answer only. */
#ifndef TRIMTAB_SERVICES_TELL_RULES_MET_H
#define TRIMTAB_SERVICES_TELL_RULES_MET_H

#include "common/services/trace/trace.h"

/* A step of ks_trace.steps. */
struct ks_met {
    /* as `trimtab render` prints it, behind the chain's name; NULL: no rule of it
     * takes the packet */
    const char *rule;
    const char *why; /* a few words; NULL: the rule says it */
};
/* An array of t->n_steps.  `w` is the world in which the packet was traced; all in
 * the arena. Never fails. */
const struct ks_met *ks_rules_met(struct arena *a, const struct ks_world *w, enum ks_mode mode,
                                  const struct ks_packet *p, const struct ks_trace *t);

#endif
