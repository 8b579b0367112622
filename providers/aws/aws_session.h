/* SPDX-License-Identifier: Apache-2.0 */
/* aws_session.h: a call that does not go through the driver (get, explain, orphans): it looks, and changes nothing.
 *
 * Made of the same parts as a sync, so that "is it there?" and "what is to be done?" look in the same way.  Begin and end in
 * the same function; one thread. */
#ifndef TRIMTAB_AWS_SESSION_H
#define TRIMTAB_AWS_SESSION_H

#include "common/cloud/session.h"
#include "providers/aws/aws_sync.h"

struct aws_session {
    struct session session;
    struct aws_scope scope;
    struct lb_sync s;
    struct aws_sync y;
};
/* Items are not `want`ed: they are looked at as a deletion does, whole.  `fresh`: no list that is a minute old will do. */
void aws_session_begin(struct aws_session *x, struct aws_provider *p, const struct tt_call *call,
                       const struct tt_batch *batch, bool fresh);
void aws_session_end(struct aws_session *x);
/* Credentials are there.  ERR_AUTH … */
int aws_session_ready(struct aws_session *x, struct err *err);

#endif
