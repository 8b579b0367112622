/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_questions.h: upstream's own questions about a Service's owner, one function each.
 *
 * They answer exactly as cloud-provider-gcp and ingress-gce do.  trimtab decides by gce_decide()
 * alone; test_decide_rules.c compares the two.  `found` and `rule` are those of the forwarding rule
 * of the legacy name.  Source: gce-l4.md §1.3–1.7, vectors V1–V49; gce-cloud-provider.md §5.2.
 * Pure. */
#ifndef TRIMTAB_TESTS_GCE_UPSTREAM_QUESTIONS_H
#define TRIMTAB_TESTS_GCE_UPSTREAM_QUESTIONS_H

#include "providers/gce/decide/gce_decide.h"

/* §1.3 */
bool upstream_wants_ilb(const struct tt_service *s);
bool upstream_wants_netlb(const struct tt_service *s);
/* §1.5: the L4 controller processes it. */
bool upstream_ilb_is_ours(const struct tt_service *s, enum gce_found found,
                          const struct gce_rule *rule);
/* §1.7 */
bool upstream_ilb_needs_deletion(const struct tt_service *s);
bool upstream_netlb_needs_deletion(const struct tt_service *s, enum gce_found found,
                                   const struct gce_rule *rule);
/* §1.6.1 */
bool upstream_netlb_is_rbs(const struct tt_service *s, enum gce_found found,
                           const struct gce_rule *rule, bool rbs_default);
/* §1.6.2 */
enum upstream_guard {
    UPSTREAM_GUARD_CONTINUE = 0,
    UPSTREAM_GUARD_RACE,
    UPSTREAM_GUARD_MIGRATION,
    UPSTREAM_GUARD_STOP,
};
enum upstream_guard upstream_netlb_guard(const struct tt_service *s, enum gce_found found,
                                         const struct gce_rule *rule);
/* §1.6.3: NEGs, else instance groups. */
bool upstream_netlb_uses_negs(const struct gce_case *c);
/* gce-cloud-provider.md §5.2; op ENSURE or not. */
bool upstream_ilb_groups_is_ours(const struct tt_service *s, bool ensure, bool has_rule,
                                 bool ilb_subsets);

#endif
