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
 * because only what may write services/status can forge it.
 *
 *     …,"refused":{"wish":"7f3a…","until":"2026-11-29T20:15:00Z","tries":1,"code":"quota",
 *                  "why":"…"}
 *
 * is added once the replacement was refused: for the Service as it is (`wish`) nothing that works
 * is taken down again until then.  Source: docs/adr/0030, 0050. */
#ifndef TRIMTAB_LB_FORMER_RULES_H
#define TRIMTAB_LB_FORMER_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
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

/* A replacement that was refused after what works had been taken down for it. */
struct former_refusal {
    uint64_t wish;    /* digest of the Service that asked for it; not 0 */
    int64_t until_us; /* wall clock: before it nothing is taken down for that wish again */
    unsigned tries;   /* how often something was; 1 at least */
    int code;         /* enum err_code of the last refusal */
    const char *why;  /* its message */
};
/* The message `text` with the refusal in it, in place of an older one; NULL text: of the refusal
 * alone, from which nothing is put back.  NULL: `text` is no such message, or the new one would be
 * too long. */
char *former_text_refused(struct arena *a, const char *text, const struct former_refusal *r);
/* False: the message (may be NULL) names no refusal, or one that cannot be read. */
bool former_refusal_read(struct arena *a, const char *message, struct former_refusal *ret);

/* The failure of a Service for which `kind` `name` would have been taken down, and was not
 * (TT_ITEM_FORMER, TT_ITEM_SPARE).  Returns its code, ERR_IN_USE. */
int lb_spare(struct err *err, const char *kind, const char *name);
/* Is the failure that one? */
bool lb_is_spared(const struct err *err);

#endif
