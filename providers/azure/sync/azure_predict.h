/* SPDX-License-Identifier: Apache-2.0 */
/* azure_predict.h: a plan's own future: what the stages before would have written by now.
 *
 * A sync reads the cloud again between its stages; a plan writes nothing, so each stage would plan
 * as if the ones before had not been: no private link for a frontend that is to be made, a balancer
 * written twice.  Each write of a plan is kept here, and laid over what was read before the next
 * stage looks at it.  What Azure alone decides (addresses, etags) stays unknown.  One thread;
 * everything lives in the sync's arena; the provider's snapshot is not touched. */
#ifndef TRIMTAB_AZURE_PREDICT_H
#define TRIMTAB_AZURE_PREDICT_H

#include "providers/azure/sync/azure_sync.h"

/* A write of a plan: `doc` (copied) will be there under `id`; NULL: nothing will.  Nothing is done
 * unless it is a plan. */
void azure_predict(struct azure_sync *y, enum azure_kind kind, const char *id,
                   struct json_object *doc);
/* The document that a plan has written under that ID; NULL: none, or it goes.  May be edited. */
struct json_object *azure_predicted_doc(struct azure_sync *y, enum azure_kind kind, const char *id);
/* Lays all of them over the lists in y->seen. */
void azure_predict_apply(struct azure_sync *y);

/* ---- for azure_predict.c itself */
/* Members of pools by the write. */
void azure_predict_members(struct azure_sync *y, enum azure_kind kind, const char *id,
                           struct json_object *doc);
/* Network interfaces as they are without the balancer. */
struct json_object *azure_predict_detached(struct azure_sync *y, struct json_object *nics,
                                           const char *lb);

#endif
