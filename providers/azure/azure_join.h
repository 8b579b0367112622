/* SPDX-License-Identifier: Apache-2.0 */
/* azure_join.h: the Services of a batch put onto the documents of their balancers
 * (azure_lb_edits.h), all of them.
 *
 *     first      those that go are taken off
 *     then       the others by age, each into the document that those before it have left
 *     together   when one of them finds its port or its address taken by another one that is about
 *                to leave it: all that move give up first what they ask for no more, and are put
 *                into the documents after that
 *
 * So two Services may exchange ports at a shared address, or addresses, in one write.  A Service
 * that cannot be put where it asks to be keeps what it has, and a Service that needs that is
 * refused.  Source: docs/spec/azure.md 12.6 (4).  Pure; everything lives in the sync's arena. */
#ifndef TRIMTAB_AZURE_JOIN_H
#define TRIMTAB_AZURE_JOIN_H

#include "providers/azure/azure_lb_edits.h"

/* Into the documents of `b`, which has just begun.  A Service that cannot be placed
 * has an error. */
void azure_join_all(struct azure_lb_edits *b);
/* For nothing but the errors of those that cannot be placed.  `only_external`: subnets have not
 * been read, so internal Services are passed over; they share no document with the others. */
void azure_join_try(struct azure_sync *y, struct lb_plan *plan, bool only_external);
/* Likewise of all of them, and *ret is what becomes of the documents; nothing is written of it. */
void azure_join_foresee(struct azure_sync *y, struct lb_plan *plan, struct azure_lb_edits *ret);

#endif
