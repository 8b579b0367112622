/* SPDX-License-Identifier: Apache-2.0 */
/* azure_session.h: a call that does not go through the driver (get, explain): it looks, and changes
 * nothing.
 *
 * Made of the same parts as a sync, so that "is it there?" and "what to do?" look in the same way.
 * Begin and end in the same function; one thread. */
#ifndef TRIMTAB_AZURE_SESSION_H
#define TRIMTAB_AZURE_SESSION_H

#include "common/cloud/session.h"
#include "providers/azure/azure_provider.h"
#include "providers/azure/sync/azure_observe.h"

struct azure_session {
    struct session session;
    struct lb_sync s;
    struct azure_sync y;
};
/* `fresh`: the cloud itself is read, not the snapshot. */
void azure_session_begin(struct azure_session *x, struct azure_provider *p,
                         const struct tt_call *call, const struct tt_batch *batch, bool fresh);
void azure_session_end(struct azure_session *x);
/* Reads balancers and public IPs. */
int azure_session_look(struct azure_session *x, struct err *err) _warn_unused_;
/* The first balancer, internal or external, that has a frontend of the Service; NULL when
 * there is none. */
struct json_object *azure_session_lb(struct azure_session *x, const struct azure_service *s,
                                     bool internal);

#endif
