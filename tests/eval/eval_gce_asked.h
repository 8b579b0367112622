/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_asked.h: upstream's questions about a Service's load balancer, asked of gce_decide().
 *
 * Upstream asks many small questions; trimtab decides once.  Each function states the premise under
 * which upstream asks (an internal Service, one that is not being deleted …), lets gce_decide()
 * decide, and reads the answer off the decision.  `found` and `rule` are those of the forwarding
 * rule of the legacy name.  Source of the questions: docs/spec/gce-l4.md §1.3–1.7;
 * gce-cloud-provider.md §5.2.  Pure; everything in `a`. */
#ifndef TRIMTAB_TESTS_EVAL_GCE_ASKED_H
#define TRIMTAB_TESTS_EVAL_GCE_ASKED_H

#include "providers/gce/decide/gce_decide.h"

/* A Service, and what was found of its rule. */
struct asked {
    const struct tt_service *service;
    enum gce_found found;
    struct gce_rule rule; /* PRESENT */
};

/* §1.3: the side that a Service asks for, whatever it has.  NULL is fine. */
bool asked_wants_ilb(struct arena *a, const struct tt_service *s);
bool asked_wants_netlb(struct arena *a, const struct tt_service *s);
/* §1.5, of a LoadBalancer that is not being deleted; without a class it counts as internal. */
bool asked_ilb_is_ours(struct arena *a, const struct asked *q);
/* §1.7: what it has of GCE_VM_IP NEGs goes.  Upstream looks at no rule. */
bool asked_ilb_needs_deletion(const struct tt_service *s);
/* §1.6.1, of a Service that is not being deleted; without a class it counts as external.  The L4
 * controller takes it up, be it that its guard for target pools turns it away then. */
bool asked_netlb_is_rbs(struct arena *a, const struct asked *q, bool rbs_default);
/* §1.7 */
bool asked_netlb_needs_deletion(const struct asked *q);
/* §1.6.2, of a LoadBalancer that is not being deleted; without a class it counts as external:
 * "continue", "race", "migration", "stop". */
const char *asked_netlb_guard(struct arena *a, const struct asked *q);
/* §1.6.3, of a Service that gets a backend service: NEGs, else instance groups.  The case has the
 * flags neg_netlb and neg_default, and the backend service that was found. */
bool asked_netlb_uses_negs(struct arena *a, const struct gce_case *c);
/* gce-cloud-provider.md §5.2, of a LoadBalancer that is not being deleted; without a class it
 * counts as internal. */
enum asked_op { ASKED_ENSURE = 0, ASKED_UPDATE, ASKED_DELETE };
bool asked_ilb_groups_is_ours(struct arena *a, const struct tt_service *s, enum asked_op op,
                              bool has_rule, bool ilb_subsets);
/* gce-cloud-provider.md §5.2, §8.1: the kind that cloud-provider-gcp alone gives a new Service. */
enum gce_kind asked_legacy_kind(const struct tt_service *s, bool ilb_subsets, bool rbs_default);

#endif
