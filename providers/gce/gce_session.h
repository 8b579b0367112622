/* SPDX-License-Identifier: Apache-2.0 */
/* gce_session.h: a call that does not go through the driver (get, explain, orphans): it reads only
 * (common/cloud/session.h).
 *
 * Begin and end in the same function; one thread. */
#ifndef TRIMTAB_GCE_SESSION_H
#define TRIMTAB_GCE_SESSION_H

#include "common/cloud/session.h"
#include "providers/gce/gce_provider.h"

struct gce_session {
    struct session session;
    struct lb_sync s; /* without items and data */
    struct gce_provider *p;
};
/* `batch` may be NULL. */
void gce_session_begin(struct gce_session *x, struct gce_provider *p, const struct tt_call *call,
                       const struct tt_batch *batch);
void gce_session_end(struct gce_session *x);
/* Makes sure that a token is cached, unless a saved state stands for the cloud.  ERR_AUTH … */
int gce_session_ready(struct gce_session *x, struct err *err) _warn_unused_;
/* A Service's existing resources, read from the cloud or the saved state. */
struct gce_pieces {
    enum gce_known rule;
    struct gce_rule rule_is; /* valid when PRESENT */
    bool pool;
    bool others; /* firewall, check, its firewall, held address: any of them */
};
/* `all`: look for the others when there is no rule.  Errors of the API but NOT_FOUND. */
int gce_session_pieces(struct gce_session *x, const struct tt_service *svc, bool all,
                       struct gce_pieces *ret, struct err *err) _warn_unused_;
/* Members of its target pool; 0 also when it cannot be read. */
size_t gce_session_pool_size(struct gce_session *x, const struct tt_service *svc);

#endif
