/* SPDX-License-Identifier: Apache-2.0 */
/* status_rules.h: comparing load-balancer status, and the bodies of the patches that the controller
 * sends.
 *
 * Pure.  Source: controller.md §1.13 (rows of the table are tests), §6.8, §6.11.  Bodies are
 * compact JSON in the arena; members in sorted order as Go prints them. */
#ifndef TRIMTAB_LB_STATUS_RULES_H
#define TRIMTAB_LB_STATUS_RULES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

/* §1.13 LoadBalancerStatusEqual; no normalisation. */
bool status_equal(const struct tt_ingress *a, size_t na, const struct tt_ingress *b, size_t nb);
/* A copy in which an ip without ipMode gets "VIP", as the server stores it (deviation
 * (C) of §1.13). */
struct tt_ingress *status_normalise(struct arena *a, const struct tt_ingress *in, size_t n);
/* NULL when equal; else {"status":{"loadBalancer":{"ingress":…}}} . */
char *status_patch(struct arena *a, const struct tt_ingress *old_in, size_t n_old,
                   const struct tt_ingress *new_in, size_t n_new);

/* Finalizers present, plus `add` (n_add of them, in order; those present are skipped).  NULL when
 * nothing is new. */
char *finalizer_patch_add(struct arena *a, const char *const *present, size_t n,
                          const char *const *add, size_t n_add);
/* {"metadata":{"$deleteFromPrimitiveList/finalizers":[…]}}: our safe form (§1.13, hazards).  NULL
 * when none of `drop` is present. */
char *finalizer_patch_remove(struct arena *a, const char *const *present, size_t n,
                             const char *const *drop, size_t n_drop);
/* One condition by type, strategic merge on the status subresource; lastTransitionTime
 * is the caller's. */
char *condition_patch(struct arena *a, const struct tt_condition *c);
/* The same that takes the condition of this type away. */
char *condition_patch_remove(struct arena *a, const char *type);
/* Merge patch of the annotations wish[0..n): a value NULL drops the key.  Names only these keys, so
 * that what others wrote meanwhile stays, and of these those whose value differs from now[i] (NULL:
 * absent), unless `drops_all`: then a key that goes is named in any case.  NULL when none is. */
char *annotations_patch(struct arena *a, const struct tt_kv *wish, const char *const *now, size_t n,
                        bool drops_all);
/* Patches of one object as one: objects are united, lists joined; NULL when n is 0. */
char *patches_join(struct arena *a, const char *const *patches, size_t n);

/* One of the patches above for this very object: it carries the uid, so that the server refuses it
 * (422) when the name stands for another object by now, and the resourceVersion, so that it refuses
 * it (409) when the object has changed.  NULL or "": left out. */
char *patch_for_object(struct arena *a, const char *patch, const char *uid, const char *version);

#endif
