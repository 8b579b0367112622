/* SPDX-License-Identifier: Apache-2.0 */
/* mark_rules.h: the mark that tells what trimtab made or edited from what it only took over.  Pure.
 *
 *     trimtab.io/carried-out: 1f0e…-uid 203.0.113.10,2001:db8::1           made here
 *     trimtab.io/carried-out: 1f0e…-uid 203.0.113.10,2001:db8::1 edited    adopted, then edited
 *     trimtab.io/carried-out-by: gce 1f0e…-uid 203.0.113.10,2001:db8::1    its provider
 *
 * The uid is the Service's, so that a copy of the Service under another name has none; the
 * addresses are those that its status names, so that a load balancer that another controller made
 * for the Service meanwhile has none either.  A Service whose status names no address is being
 * made.  The controller writes the mark with its finalizers, before the first mutation, and with
 * the status; it goes with the finalizers.
 *
 * The second annotation names the provider that wrote the first one, and repeats it: two trimtabs
 * may serve one cluster, by class.  An older trimtab reads and writes the first one alone; what it
 * has changed differs from what is repeated, and then names no provider.  Everywhere
 * below `by` is the name of the provider that asks (tt_provider.name), and a mark that another one
 * wrote is none.  Source: docs/adr/0029, 0099. */
#ifndef TRIMTAB_LB_MARK_RULES_H
#define TRIMTAB_LB_MARK_RULES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

enum mark {
    MARK_NONE = 0, /* it was only taken over */
    MARK_EDITED,
    MARK_MADE,
};
/* Returns the mark of a Service with this uid and status; MARK_NONE has none. */
char *mark_text(struct arena *a, enum mark mark, const char *uid, const struct tt_ingress *ingress,
                size_t n);
/* Returns the value of the second annotation for this text of the first. */
char *mark_by_text(struct arena *a, const char *by, const char *text);
/* Returns the Service's mark, if it is its own and speaks of the load balancer that
 * its status names.  One that names no provider counts. */
enum mark mark_of(struct arena *a, const struct tt_service *s, const char *by);
/* Does the Service's own mark name addresses?  Then it has had a load balancer, although its status
 * may be empty by now.  One that names no provider counts. */
bool mark_has_addresses(const struct tt_service *s, const char *by);
/* Has this provider written the Service's own mark, whatever the status names by now?  Then it has
 * made or edited a load balancer for it, which has not been deleted since. */
bool mark_is_by(const struct tt_service *s, const char *by);
/* Has another provider written it? */
bool mark_is_by_another(const struct tt_service *s, const char *by);

/* Asked by providers: is what the Service names put right wherever it differs?
 * (TT_ITEM_PUT_RIGHT) */
bool lb_puts_right(const struct tt_item *item);
/* Did another process of ours make the load balancer?  What it had before an edit that this process
 * did not see is ours, too.  (TT_ITEM_MADE) */
bool lb_was_made(const struct tt_item *item);
/* Asked by providers in an update of backends: has the Service, as it is handed over, never been
 * carried out?  Nodes then follow by what stands.  (TT_ITEM_UNPROVEN) */
bool lb_is_unproven(const struct tt_item *item);
/* Asked by planners and the driver: is the Service handed over as it was, so that nothing that
 * stands may be taken down for it?  (TT_ITEM_FORMER) */
bool lb_leads_back(const struct tt_item *item);
/* Asked by planners and the driver: was its replacement refused a while ago, so that nothing that
 * works is taken down for it now?  (TT_ITEM_SPARE) */
bool lb_spares(const struct tt_item *item);
/* Asked by the driver: was it refused for a missing right, so that the cloud may say that the right
 * is there by now?  (TT_ITEM_ASKS) */
bool lb_asks_again(const struct tt_item *item);

#endif
