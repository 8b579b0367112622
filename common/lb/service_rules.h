/* SPDX-License-Identifier: Apache-2.0 */
/* service_rules.h: what a Service means to a load-balancer controller.  Pure.
 *
 * Predicates and values that upstream's service controller and its helpers compute from Services
 * and Nodes.
 * Source: controller.md §1.4, 1.5, 1.13–1.15, 2.3–2.6 (kubernetes cloud-provider 1.36); vectors §6.
 * Asked from outside by trimtab-eval (kubernetes.*). */
#ifndef TRIMTAB_LB_SERVICE_RULES_H
#define TRIMTAB_LB_SERVICE_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

#define LB_CLEANUP_FINALIZER        "service.kubernetes.io/load-balancer-cleanup"
#define LB_SOURCE_RANGES_ANNOTATION "service.beta.kubernetes.io/load-balancer-source-ranges"
/* Annotations and conditions that trimtab writes to a Service (controller/rules/report_rules.h). */
#define LB_LAST_PLAN_ANNOTATION  "trimtab.io/last-plan"
#define LB_LAST_ERROR_ANNOTATION "trimtab.io/last-error"
/* That a controller of ours has made its load balancer or carried out an edit of it
 * (mark_rules.h). */
#define LB_MARK_ANNOTATION    "trimtab.io/carried-out"
#define LB_MARK_BY_ANNOTATION "trimtab.io/carried-out-by" /* by which provider */
#define LB_EXCLUDE_LABEL      "node.kubernetes.io/exclude-from-external-load-balancers"
#define LB_AUTOSCALER_TAINT   "ToBeDeletedByClusterAutoscaler"

/* type LoadBalancer and no class: §1.4. */
bool svc_wants_lb(const struct tt_service *s);
/* The same, where `classes` (n of them) count as ours too. */
bool svc_wants_lb_of(const struct tt_service *s, const char *const *classes, size_t n);
bool svc_has_finalizer(const struct tt_service *s, const char *finalizer);
/* Something of it cannot be read (TT_SERVICE_UNREADABLE): it may use anything
 * that Services share. */
bool svc_is_unreadable(const struct tt_service *s);
/* §1.4: carries the cleanup finalizer and is being deleted or is no LoadBalancer any more. */
bool svc_needs_cleanup(const struct tt_service *s);
/* The same for a controller that writes annotations itself: a change of these alone (a trailing '*'
 * stands for all keys that begin so) is none.  With follows_distribution one of
 * spec.trafficDistribution counts, which upstream's generic controller does not look
 * at (gce-l4.md §7.2). */
struct svc_scope {
    const char *const *classes;
    size_t n_classes;
    const char *const *own_annotations;
    size_t n_own_annotations;
    bool follows_distribution;
    /* Addresses and host names in status.loadBalancer.ingress count, too. */
    bool follows_ingress;
    /* annotations of the controller's own (svc_is_report) count as own ones, too */
    bool skips_reports;
    /* Of the others these alone count, written in the same way; NULL: all. */
    const char *const *wishes;
    size_t n_wishes;
};
bool svc_needs_update_in(const struct svc_scope *scope, const struct tt_service *old_svc,
                         const struct tt_service *cur, const char **ret_what);
/* Does the annotation count in that scope? */
bool svc_is_wish(const struct svc_scope *scope, const char *key);
/* Is `key` one of the four annotations above, which the controller itself writes? */
bool svc_is_report(const char *key);
const char *svc_annotation(const struct tt_service *s, const char *key); /* NULL when absent */
char *svc_key(struct arena *a, const struct tt_service *s);              /* "namespace/name" */
/* "a" + UID without '-', first 32 bytes: §2.3. */
char *svc_default_lb_name(struct arena *a, const char *uid);

/* §2.5 */
bool svc_only_local_traffic(const struct tt_service *s);
bool svc_needs_health_check(const struct tt_service *s);
/* "/healthz" and the port, or NULL and 0. */
const char *svc_health_check(const struct tt_service *s, int32_t *ret_port);

/* §2.6: sorted, normalised, unique.  ERR_INVALID with upstream's text; IPv4-mapped ranges shorter
 * than /97 are INVALID (our deviation, §9.2 row 2). */
int svc_source_ranges(struct arena *a, const struct tt_service *s, struct str_set *ret,
                      struct err *err) _warn_unused_;
bool svc_ranges_allow_all(const struct str_set *ranges); /* holds "0.0.0.0/0" */

/* §1.7: "ns/name" → parts; one part: namespace "".  ERR_INVALID for more than one '/'. */
int svc_split_key(struct arena *a, const char *key, const char **ret_ns, const char **ret_name,
                  struct err *err) _warn_unused_;

#endif
