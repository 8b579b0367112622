/* SPDX-License-Identifier: Apache-2.0 */
/* azure_emit.h: operations as all stages write them into a plan: one write of one document. */
#ifndef TRIMTAB_AZURE_EMIT_H
#define TRIMTAB_AZURE_EMIT_H

#include "common/lb/diff.h"
#include "providers/azure/model/azure_owners.h"
#include "providers/azure/sync/azure_sync.h"

#define AZURE_PARALLEL_MAX 16 /* instances of one scale set written at a time */

/* Why a document that they share is written: "it is not as default/web and 3 more ask for",
 * "default/web needs it" (when it is new), "default/web goes".  At least one owner. */
const char *azure_owners_why(const struct azure_sync *y, const struct azure_owners *o, bool is_new);

struct azure_emit {
    enum azure_kind kind;
    const char *id;
    struct json_object *was; /* NULL: created; its etag guards the write */
    struct json_object *doc; /* NULL: deleted */
    const char *why;
    const char *summary;
    const struct azure_owners *owners;
    const struct lb_diff *diff; /* may be NULL */
    bool shared;
    bool parallel; /* in the wave of the operation before it */
    /* waits for no operation of its wave, and for none of those beside it: the executor has as many
     * under way as it may */
    bool beside;
    bool touches_pips;
    bool touches_lbs;
    bool unguarded; /* without If-Match, where Azure's clients send none (3.4) */
    bool announced; /* as in azure_write */
    bool passing;   /* `doc` is a copy that is not needed once it is sent */
    /* the operation before it in the plan that writes the document, too, plus one: its
     * etag guards; 0: none */
    int follows;
    struct str_set parties; /* as in azure_write */
    unsigned tolerate;
    const struct lb_undo *undo;  /* azure_undo(), or NULL */
    const struct lb_undo *proof; /* azure_proof(), of all that is needed; or NULL */
};
/* Returns the operation's index. */
int azure_emit(struct azure_sync *y, struct lb_plan *plan, const struct azure_emit *e);
/* The index from which on the plan's operations are those of the stage under way. */
size_t azure_stage_ops(const struct azure_sync *y, const struct lb_plan *plan);
/* How a document is put back as it was, should the public IP `until_pip`, which the same plan
 * makes, the balancer `until_lb`, which it writes, or (both NULL) the next write of the document
 * be refused. */
struct azure_undo_ask {
    enum lb_verb verb;
    enum azure_kind kind;
    const char *id;
    struct json_object *doc; /* in the sync's life */
    const char *until_pip;   /* ID, or NULL */
    const char *until_lb;    /* name, or NULL */
    bool takes_down;         /* as in lb_undo */
};
const struct lb_undo *azure_undo(struct azure_sync *y, const struct azure_undo_ask *ask);
/* A write that changes nothing, as its If-Match names no version: with the right Azure answers that
 * the version is another one, or that there is none.  `body` is what would be sent. */
struct lb_undo *azure_proof(struct azure_sync *y, enum azure_kind kind, const char *id,
                            struct json_object *body);
/* "checked, as it should be" */
void azure_emit_keep(struct azure_sync *y, struct lb_plan *plan, enum azure_kind k, const char *id,
                     const char *key);

#endif
