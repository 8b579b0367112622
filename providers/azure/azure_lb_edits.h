/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_edits.h: the balancers that a stage edits: all Services of the batch into one document
 * each, one write each.
 *
 * A Service that moves joins its new balancer in the documents first (one that cannot join stays
 * where it is), but the writes go the other way round: a public IP hangs on one frontend only, so
 * the balancer that is left is written before the one that is joined.
 * Source: docs/spec/azure.md 5.3, 6, 6.11, 12.6 (4).  Private to the stages of balancers. */
#ifndef TRIMTAB_AZURE_LB_EDITS_H
#define TRIMTAB_AZURE_LB_EDITS_H

#include "providers/azure/sync/azure_emit.h"

/* A balancer under edit. */
struct azure_lb_edit {
    const char *name;
    struct json_object *was;      /* NULL: to be made */
    struct json_object *doc;      /* the copy that is edited; NULL: not yet */
    struct azure_lb_index *index; /* of the copy */
    struct azure_owners owners;
    bool changed;
    bool frontends_changed;
    size_t level; /* written after all of lower levels */
    /* put back as it was until the public IP of that ID is recreated; or NULL */
    const char *until_pip;
};
/* A Service moves from one balancer to another. */
struct azure_lb_move {
    struct azure_item *item;
    size_t from; /* indexes of edits */
    size_t to;
};
struct azure_lb_edits {
    struct azure_sync *y;
    struct lb_plan *plan;
    struct azure_lb_edit *items;
    size_t n;
    struct azure_lb_move *moves;
    size_t n_moves;
    size_t cap_moves;
    struct azure_texts asked; /* azure_lb_ask.asked; items NULL: not gathered yet */
    bool tries;               /* nothing is written, so nothing is reported */
};
void azure_lb_edits_begin(struct azure_lb_edits *b, struct azure_sync *y, struct lb_plan *plan);
/* The index of the edit of that balancer, and its copy under edit: both made on first use.
 * Private to azure_lb_edits.c and azure_lb_fronts.c. */
size_t azure_lb_edits_of(struct azure_lb_edits *b, const char *name);
struct json_object *azure_lb_edits_doc(struct azure_lb_edits *b, struct azure_lb_edit *e);
/* Does anything on the balancer belong to the Service? */
bool azure_lb_has_pieces(struct azure_sync *y, const struct azure_service *s,
                         struct json_object *lb);
/* Puts the Service onto its target, and notes from where it moves.  False: it cannot; its error
 * says why, no document has changed. */
bool azure_lb_edits_join(struct azure_lb_edits *b, struct azure_item *it);
/* Takes the Service off every balancer of the kind of `s` but `target` (NULL: off all). */
void azure_lb_edits_leave(struct azure_lb_edits *b, struct azure_item *it,
                          const struct azure_service *s, const char *target);
/* Takes off its target what the Service does not ask for there any more: rules, or (`frontends`,
 * after the rules of all) frontends that are to be recreated.  It has to be
 * put there afterwards. */
void azure_lb_edits_give_up(struct azure_lb_edits *b, struct azure_item *it, bool frontends);
/* Azure leaves a balancer that failed as it is; writing it again fixes it (17 row 12). */
bool azure_lb_is_failed(struct json_object *lb);
/* Writes the balancers of that kind that failed: the Service may have left one by a write that
 * Azure accepted and did not carry out, and is not done before that is fixed. */
void azure_lb_edits_mend(struct azure_lb_edits *b, struct azure_item *it, bool internal);
/* Only takes off those that would wait for each other forever (they trade places); true:
 * there are some. */
bool azure_lb_edits_break(struct azure_lb_edits *b);
/* Takes the frontends with that public IP off their balancers, where no other Service uses
 * them (8.9).  False: one does, so that one of them stays. */
bool azure_lb_edits_detach(struct azure_lb_edits *b, struct azure_item *it, const char *pip);
/* Puts the interim public IP `by` on a frontend of its own beside each of those with `pip`. */
void azure_lb_edits_add_interim(struct azure_lb_edits *b, struct azure_item *it, const char *pip,
                                const char *by);
/* Puts the frontends with that public IP on another one, `by`, until it is recreated; all else of
 * them stays.  NULL: takes them off, and leaves the balancer there; they are not put back where an
 * interim frontend serves. */
void azure_lb_edits_stand_in(struct azure_lb_edits *b, struct azure_item *it, const char *pip,
                             const char *by);
/* Is it a former frontend of the Service that may go, because another one serves it? */
bool azure_lb_former_goes(struct azure_sync *y, const struct azure_service *s,
                          struct json_object *lb, struct json_object *frontend);
/* Takes off the Service's former frontends, beside which its own serve: the status tells those. */
void azure_lb_edits_drop_former(struct azure_lb_edits *b, struct azure_item *it);
/* Empty leftovers are deleted; operations are appended level by level. */
int azure_lb_edits_emit(struct azure_lb_edits *b, struct err *err) _warn_unused_;
/* Deletes a balancer as it is, members first. */
int azure_lb_emit_delete(struct azure_sync *y, struct lb_plan *plan, struct json_object *lb,
                         const struct azure_owners *owners, const char *why,
                         struct err *err) _warn_unused_;

#endif
