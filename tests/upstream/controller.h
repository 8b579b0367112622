/* SPDX-License-Identifier: Apache-2.0 */
/* controller.h: questions of the Go service controller that trimtab answers in another way:
 * trimtab-eval answers them as upstream does, and unit tests compare.
 *
 * Nodes: the product compares fingerprints (nodes_fingerprint()).  Updates: it names the scope
 * (svc_needs_update_in()).  Annotations: it patches single ones.  Pure.
 * Source: docs/spec/controller.md 1.5, 1.13, 1.15. */
#ifndef TRIMTAB_TESTS_UPSTREAM_CONTROLLER_H
#define TRIMTAB_TESTS_UPSTREAM_CONTROLLER_H

#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"

/* §1.15 nodesSufficientlyEqual: same names with same providerIDs. */
bool nodes_sufficiently_equal(const struct tt_node *const *a, size_t na,
                              const struct tt_node *const *b, size_t nb);
/* Merge patch of annotations; "{}" when there is no difference; null for all gone: eval
 * kubernetes.patch_annotations. */
char *annotations_patch(struct arena *a, const struct tt_kv *old_kv, size_t n_old,
                        const struct tt_kv *new_kv, size_t n_new);
/* §1.5.  *ret_what (may be NULL) names the first difference in user's words
 * ("spec.ports"), or NULL. */
bool svc_needs_update(const struct tt_service *old_svc, const struct tt_service *cur,
                      const char *const *classes, size_t n_classes, const char **ret_what);

#endif
