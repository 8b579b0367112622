/* SPDX-License-Identifier: Apache-2.0 */
/* report_rules.h: what a Service says of its load balancer beside the address: one condition, two
 * annotations.  Pure.
 *
 *     condition   trimtab.io/LoadBalancerReady   True, False, Unknown, with a reason and a sentence
 *                 --service-conditions
 *     annotation  trimtab.io/last-plan           what was last done to the cloud, and when
 *                 --service-annotations
 *     annotation  trimtab.io/last-error          what is wrong, since when, when it is tried next
 *                 --service-annotations
 *
 * Texts only; who writes them, and when, is sync_report.c.  Everything is bounded, and equal
 * outcomes give equal texts, so that a Service whose state did not change is not written.  Source:
 * docs/adr/0020. */
#ifndef TRIMTAB_CONTROLLER_REPORT_RULES_H
#define TRIMTAB_CONTROLLER_REPORT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"

#define REPORT_CONDITION "trimtab.io/LoadBalancerReady"
/* Bytes of a condition's message and of an annotation's value. */
#define REPORT_TEXT_MAX 1024

/* How a sync ended. */
struct report_outcome {
    int32_t code;        /* TT_OK, TT_… */
    const char *message; /* what the Warning event says; "" with TT_OK */
    bool has_address;    /* its load balancer stands, whatever its status says */
    /* the Service asks for another controller's, and ours stays for now (TT_OWN_STAYS) */
    bool stays;
    int64_t generation; /* of the Service that was synced; 0: unknown */
};

/* "QuotaExceeded": the reason for a result code, an enumeration that alerts can rely on. */
const char *report_reason(int32_t code);
/* The condition; its moment of transition is the caller's.
 *   True     the load balancer is as the Service asks
 *   False    it is not, and there is nothing that serves; or what is asked cannot be had
 *   Unknown  it is not known to be: what may fix itself is in the way, and the Service has an
 *            address */
struct tt_condition report_condition(struct arena *a, const struct report_outcome *o);

/* "since T, next try T: message".  `was` is the annotation as it stands (NULL: none):
 * its "since" stays. */
const char *report_last_error(struct arena *a, const char *was, const char *message,
                              int64_t wall_us, int64_t next_us);
/* "at T: 2 to create, 0 to change, 1 to delete: + address x; - …". */
struct report_plan {
    unsigned create;
    unsigned change;
    unsigned delete;
    const char *operations; /* "+ address x; - firewall y" */
};
const char *report_last_plan(struct arena *a, const struct report_plan *p, int64_t wall_us);
/* One more operation behind `list` ("" or NULL at first); unchanged, or with " …" once
 * it is long. */
const char *report_add_operation(struct arena *a, const char *list, const struct tt_operation *op);

/* `text`, cut to `max` bytes at the border of a character, with "…" in place of what is missing. */
const char *report_cut(struct arena *a, const char *text, size_t max);

#endif
