/* SPDX-License-Identifier: Apache-2.0 */
/* azure_state.h: a saved state in place of the cloud: documents by ID, put where the stages look
 * for them.
 *
 * For `plan --state` and for tests.  The snapshot is all there is then; nothing is
 * asked.  One thread. */
#ifndef TRIMTAB_AZURE_STATE_H
#define TRIMTAB_AZURE_STATE_H

#include "providers/azure/azure_provider.h"

/* The kind of a resource by its ID's last type: ".../loadBalancers/NAME".  False: of none
 * that we read. */
bool azure_state_kind(struct arena *a, const char *id, enum azure_kind *ret);
/* One more document of the snapshot, known by its collection and by itself, whichever a stage asks
 * for.  False: it is no document of Azure, or of a kind that we do not read.  Takes a reference;
 * the arena is the provider's. */
bool azure_state_add(struct azure_provider *p, const char *id, struct json_object *resource);
/* {"azure": {"/subscriptions/…/loadBalancers/NAME": {…}}}; other members are passed over.
 * ERR_INVALID: no JSON. */
int azure_state_load(struct azure_provider *p, const char *text, size_t n, struct err *err);

#endif
