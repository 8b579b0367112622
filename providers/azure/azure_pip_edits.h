/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_edits.h: the public IPs that a stage makes, changes and deletes: one write each,
 * several Services may share one.
 *
 * Each edit shows at once in `now`, so that the next Service of the batch decides by it: the first
 * one that lets go of a shared address makes the other one its last owner.  Source:
 * docs/spec/azure.md 8, 12.6 (3), (7).  Private to the stages of addresses.  One thread; everything
 * lives in the sync's arena, the undo of a deletion in its life. */
#ifndef TRIMTAB_AZURE_PIP_EDITS_H
#define TRIMTAB_AZURE_PIP_EDITS_H

#include "providers/azure/pip/azure_pip_index.h"
#include "providers/azure/sync/azure_emit.h"

/* One public IP that several Services may change. */
struct azure_pip_edit {
    const char *id;
    struct json_object *was;
    struct json_object *doc; /* NULL: to be deleted */
    const char *why;
    struct azure_owners owners;
    bool spared; /* another one serves: it is not put back */
};
struct azure_pip_edits {
    struct azure_sync *y;
    struct azure_pip_edit *items;
    size_t n;
    /* what is deleted is recreated by the same plan, and put back if that is refused */
    bool makes_anew;
    struct map *by_id;           /* lower-case ID → struct azure_pip_edit */
    struct azure_pip_index *now; /* the public IPs as they would be: what the next Service sees */
};
void azure_pip_edits_begin(struct azure_pip_edits *e, struct azure_sync *y);
/* Only to be looked into by its index. */
struct azure_pips azure_pip_edits_now(const struct azure_pip_edits *e);
/* Those that the Service may own, of one family. */
struct azure_pips azure_pip_edits_of(struct arena *a, const struct azure_pip_edits *e,
                                     const struct azure_service *s, enum azure_family f);
/* The public IP is edited once more, or for the first time.  `doc` NULL: it is deleted. */
struct azure_pip_edit *azure_pip_edits_put(struct azure_pip_edits *e, const char *id,
                                           struct json_object *was, struct json_object *doc,
                                           const char *why, const char *key);
/* Side by side, 16 at a time. */
void azure_pip_edits_emit(struct azure_pip_edits *e, struct lb_plan *plan);

/* ---- azure_stage_renew.c */
/* Among the edits of the stage of addresses: what stands in for it->pips[ask->family] while
 * that is recreated. */
void azure_renew_begin(struct azure_pip_edits *e, struct azure_item *it,
                       const struct azure_pip_ask *ask, struct lb_plan *plan);

#endif
