/* SPDX-License-Identifier: Apache-2.0 */
/* former_rules.h: the text that keeps what a Service asked for when it was carried out last.  Pure.
 *
 *     put back if the replacement is refused: {"ports":[{"port":80,…}],"annotations":{…}}
 *
 * It is the message of the condition LB_REPLACING_CONDITION, from right before something that works
 * is taken down until its replacement stands, so that another process can lead back to it.  It
 * holds what decides over rules and listeners: ports, session affinity, traffic policy, a fixed
 * address, and the annotations by which the Service asks for something.  Source ranges are not
 * among them: an edit that is refused never lets in more clients than it asks for.  A condition,
 * because only what may write services/status can forge it.  Source: docs/adr/0030. */
#ifndef TRIMTAB_LB_FORMER_RULES_H
#define TRIMTAB_LB_FORMER_RULES_H

#include "common/base/arena.h"
#include "common/lb/service_rules.h"

#include <trimtab/provider.h>

#define LB_REPLACING_CONDITION "trimtab.io/LoadBalancerReplacing"

/* The message for `s`.  NULL: it would be too long. */
char *former_text(struct arena *a, const struct svc_scope *wishes, const struct tt_service *s);
/* `now` as it was when the message was written.  NULL: it is no such message.  What is not in it is
 * borrowed from `now`. */
const struct tt_service *former_read(struct arena *a, const struct svc_scope *wishes,
                                     const struct tt_service *now, const char *message);
/* The same of a Service that is at hand. */
const struct tt_service *former_like(struct arena *a, const struct svc_scope *wishes,
                                     const struct tt_service *now, const struct tt_service *was);

#endif
