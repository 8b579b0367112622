/* SPDX-License-Identifier: Apache-2.0 */
/* gce_session.h: an HTTP handle and a cancel for a call that does not go through the driver
 * (get, explain).
 *
 * Begin and end in the same function; one thread.  Reads only: nothing that mutates may be sent
 * on it. */
#ifndef TRIMTAB_GCE_SESSION_H
#define TRIMTAB_GCE_SESSION_H

#include "common/lb/call_watch.h"
#include "providers/gce/gce_provider.h"

struct gce_session {
    struct gce_provider *p;
    const struct tt_call *call;
    struct arena *a;
    struct http *http;
    struct cancel *cancel;
    struct call_watch_entry watch;
};
void gce_session_begin(struct gce_session *s, struct gce_provider *p, const struct tt_call *call);
void gce_session_end(struct gce_session *s);
/* What of a Service's own pieces is there; the cloud itself is read, or the saved state. */
struct gce_pieces {
    enum gce_known rule;
    struct gce_rule rule_is; /* valid when PRESENT */
    bool pool;
    bool others; /* firewall, check, its firewall, held address: any of them */
};
/* `all`: look for the others when there is no rule.  Errors of the API but NOT_FOUND. */
int gce_session_pieces(struct gce_session *s, const struct tt_service *svc, bool all,
                       struct gce_pieces *ret, struct err *err) _warn_unused_;

#endif
