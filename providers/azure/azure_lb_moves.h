/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_moves.h: Services that move from one balancer to another, and back when that is refused.
 *
 * A public IP hangs on one frontend only, so the balancer that is left is written before the one
 * that is joined, and the nodes of that come last.  When Azure refuses the second write, the driver
 * puts the first one back at once (lb_op.undo).  When it refuses the nodes, the Service moves back
 * at the end of the sync, by the stages of a move.
 * Source: docs/adr/0086.  Results lie in the arenas of the sync; one thread. */
#ifndef TRIMTAB_AZURE_LB_MOVES_H
#define TRIMTAB_AZURE_LB_MOVES_H

#include "providers/azure/azure_lb_edits.h"

/* How the balancer of that edit is put back until those that its Services move to are written;
 * NULL: none leaves it for another one that is written by this stage. */
const struct lb_undo *azure_lb_moves_undo(const struct azure_lb_edits *b, size_t from);
/* The same for the deletion of that balancer, the last operation of the plan if that has grown. */
void azure_lb_moves_put_back(const struct azure_lb_edits *b, size_t from, size_t n_ops_before);
/* The writes that Azure refused to its Services for a missing right when they were to move from
 * there, sent once more without effect (lb_op.proof); if another process saw the refusal, those of
 * the balancer that is joined and of its pools.  NULL: there was none, or these are not known. */
const struct lb_undo *azure_lb_moves_proof(const struct azure_lb_edits *b, size_t from);
/* Notes where the Service has been: it has left that, or is about to. */
void azure_lb_moves_note(const struct azure_lb_edits *b, const struct azure_lb_move *m);
/* As lb_flow.wrote: a Service arrives with its balancer, or with the first nodes of that. */
void azure_lb_moves_wrote(struct azure_sync *y, const struct lb_op *op, unsigned outcome,
                          const struct err *err);
/* Those that take part have arrived: all nodes are in the pools of their balancers. */
void azure_lb_moves_arrived(struct azure_sync *y);

/* Moves back; an element of lb_flow.retreats. */
extern const struct lb_stage azure_lb_moves_stages[];
#define AZURE_LB_MOVES_STAGES 2
bool azure_lb_moves_retreats(struct lb_sync *s, struct lb_item *item);
void azure_lb_moves_ended(struct lb_sync *s, struct lb_item *item, bool done);

#endif
