/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h: the wishes of a Service that have no effect, and whether its load balancer serves
 * any client.
 *
 *     lb_findings_unknown(s, item, &gce_keys)      keys that are slips of known ones
 *     lb_finding(s, item, reason, field, "…")      anything else: a value, a wish that cannot be
 *                                                  granted here
 *     lb_serves_nobody(s, item, "…")               no client gets through, as this stage's plan
 *                                                  leaves it
 *
 * A flow calls them from facts, observe and plan; the driver puts the findings of an item into each
 * plan that it reports, and the controller makes of them events, a condition and lines of the
 * status page, once for each state.  A stage that is planned again finds again: what its earlier
 * turn found is forgotten.  A finding stops nothing; what stops a sync is item->err.
 * The table half is pure. */
#ifndef TRIMTAB_LB_FINDINGS_H
#define TRIMTAB_LB_FINDINGS_H

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/lb/driver.h"

#include <stddef.h>
#include <trimtab/provider.h>

#define LB_FINDING_IGNORED "AnnotationIgnored"
#define LB_FINDING_FAMILY  "IPFamilyIgnored"
#define LB_FINDINGS_MAX    32 /* of one Service */

/* The annotations of one cloud.  Lists end with NULL; a key that ends in '*' stands for
 * all that begin so. */
struct lb_annotation_keys {
    const char *const *prefixes; /* of keys whose names may have slips */
    const char *const *known;    /* whole keys that have a meaning here, written by us or read */
    const char *const *others;   /* keys of other programs: never a slip, however near to ours */
};
/* The known key of which `key` is probably a slip: it is near one, under a prefix of the table, or
 * has the very name of one under a domain that is near; and no program owns the key.  NULL: it is
 * known, another program's, or near nothing.  A key with a number between "port_" and "_" is
 * compared without it. */
const char *lb_annotation_meant(struct arena *a, const struct lb_annotation_keys *keys,
                                const char *key);

/* The sentence that says so of `key`. */
const char *lb_annotation_meant_text(struct arena *a, const char *key, const char *meant);
/* The value as a message shows it: long ones are cut between two characters.  NULL counts as "". */
const char *lb_finding_value(struct arena *a, const char *value);
/* Does the text mean yes, as the wish for a private load balancer, or a slip of it: "ture", "
 * true", "yes", "internl"? */
bool lb_text_means_private(struct arena *a, const char *text);
/* The annotation whose key is a slip of `wanted` and whose value lb_text_means_private(); NULL if
 * there is none. */
const struct tt_kv *lb_private_slip(struct arena *a, const struct lb_annotation_keys *keys,
                                    const struct tt_service *s, const char *wanted);
/* ERR_INVALID when the slip would make a Service public that asked to be private, and nothing
 * stands yet (ADR 0028): no address in the status, no cleanup finalizer.  `lenient` names the
 * setting that gives upstream's reading back. */
int lb_private_slip_refuse(const struct tt_kv *slip, const char *wanted, const char *lenient,
                           struct err *err);
bool lb_service_stands(const struct tt_service *s);
/* Adds a finding; one with the same message is there once.  `field` may be NULL.
 * Texts are copied. */
void lb_finding(struct lb_sync *s, const struct lb_item *item, const char *reason,
                const char *field, const char *fmt, ...) _printf_(5, 6);
/* The family that the Service requires, and of which its load balancer has no address: "IPv6",
 * "IPv4"; NULL: none.  `v4`, `v6`: those that it has.  A second family that the Service only
 * prefers is not required. */
const char *lb_family_missed(const struct tt_service *s, bool v4, bool v6);
/* Adds one for each annotation of the Service that is a slip of a known key. */
void lb_findings_unknown(struct lb_sync *s, const struct lb_item *item,
                         const struct lb_annotation_keys *keys);
/* Says why no client is served; later calls of the same turn replace it.  `reason` NULL:
 * clients are served. */
void lb_serves_nobody(struct lb_sync *s, const struct lb_item *item, const char *reason);

/* "no node takes part: REASON; REASON": each of `reasons` (NULL ones are left out) once,
 * in their order. */
const char *lb_nobody_nodes(struct arena *a, const char *const *reasons, size_t n);

/* ---- the driver's ---------------------------------------------------------------------------- */
/* Forgets later findings of the stage when it is planned again. */
void lb_findings_stage_begin(struct lb_sync *s);
void lb_findings_turn_begin(struct lb_sync *s);
/* Puts the findings of all items into the plan's Services. */
void lb_findings_put(struct lb_sync *s, struct lb_plan *plan);

#endif
