/* SPDX-License-Identifier: Apache-2.0 */
/* node_rules.h: which nodes take part, and when a change of nodes matters.  Pure.
 *
 * Source: controller.md §1.14, 1.15; vectors §6.4, 6.5. */
#ifndef TRIMTAB_LB_NODE_RULES_H
#define TRIMTAB_LB_NODE_RULES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

/* TT_NODE_… computed from deletionTimestamp, labels, taints and conditions.  The decoder
 * stores it in flags. */
uint32_t node_flags(const struct tt_node *n);
/* §1.14 "included": the label is absent or parses as false. */
bool node_is_included(const struct tt_node *n);
/* §1.15: the exclude predicate or the providerID changed. */
bool node_should_sync(const struct tt_node *old_node, const struct tt_node *cur);
/* Eligible ones, in the given order. */
const struct tt_node **nodes_eligible(struct arena *a, const struct tt_node *const *nodes, size_t n,
                                      size_t *ret_n);
/* A 64-bit digest of names and providerIDs of the eligible nodes: equal sets have equal ones.  By
 * this the controller decides which Services a node change concerns. */
uint64_t nodes_fingerprint(const struct tt_node *const *nodes, size_t n);
/* §1.15: at most 20 names, then "<N more>"; Go list form "[n1 n2 <3 more>]" by
 * nodes_loggable_text(). */
const char **nodes_loggable(struct arena *a, const char *const *names, size_t n, size_t *ret_n);
char *nodes_loggable_text(struct arena *a, const struct tt_node *const *nodes, size_t n);
/* Why a node is left out, in words for explain; NULL when it takes part. */
const char *node_left_out_because(struct arena *a, const struct tt_node *n);

#endif
