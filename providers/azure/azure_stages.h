/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stages.h: the stages of one sync, in their order.
 *
 *     withdraw   security group: what Services that go take away          (only when some go)
 *     clean      Basic balancers of a cluster that is Standard now        (only where there are
 *                any)
 *     addresses  public IPs: made and changed, side by side
 *     interim    interim public IPs serve beside those that are made anew    (only when IP tags are
 *                others)
 *     renew      public IPs made anew under their names           (only when IP tags are others)
 *     unlink     private link services whose frontends go                (only when some do)
 *     admit      security group: what Services that serve will need   (only when a balancer is to
 *                send their traffic elsewhere)
 *     leave      Services that trade places leave their old balancers     (only when some do)
 *     balancers  load balancers: one document each, one write each
 *     convert    pools of the other kind than is configured: emptied   (only when there are some)
 *     members    nodes into the backend pools, once per balancer
 *     security   security group: what Services that come or stay need
 *     links      private link services
 *     tidy       the balancer of the other kind, when a Service changed sides
 *     close      security group: addresses that Services have left, once their status tells the new
 *                ones
 *     sever      private link services of former frontends                (only when some go)
 *     release    public IPs that nothing uses any more
 *
 * Stages of members are in members/azure_members.h.  azure_flow.c has the table; each stage
 * observes (blocks) and plans (pure).
 * Source: docs/spec/azure.md 4.2 to 4.4, 12.6; docs/adr/0010. */
#ifndef TRIMTAB_AZURE_STAGES_H
#define TRIMTAB_AZURE_STAGES_H

#include "providers/azure/sync/azure_sync.h"

int azure_observe_withdraw(struct lb_sync *s, struct err *err);
int azure_observe_clean(struct lb_sync *s, struct err *err);
int azure_observe_addresses(struct lb_sync *s, struct err *err);
int azure_observe_interim(struct lb_sync *s, struct err *err);
int azure_observe_renew(struct lb_sync *s, struct err *err);
int azure_observe_admit(struct lb_sync *s, struct err *err);
int azure_observe_leave(struct lb_sync *s, struct err *err);
int azure_observe_balancers(struct lb_sync *s, struct err *err);
int azure_observe_security(struct lb_sync *s, struct err *err);
int azure_observe_unlink(struct lb_sync *s, struct err *err);
int azure_observe_links(struct lb_sync *s, struct err *err);
int azure_observe_tidy(struct lb_sync *s, struct err *err);
int azure_observe_close(struct lb_sync *s, struct err *err);
int azure_observe_sever(struct lb_sync *s, struct err *err);
int azure_observe_release(struct lb_sync *s, struct err *err);
int azure_plan_withdraw(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_clean(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_addresses(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_interim(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_renew(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_admit(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_leave(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_balancers(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_security(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_unlink(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_links(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_tidy(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_close(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_sever(struct lb_sync *s, struct lb_plan *plan, struct err *err);
int azure_plan_release(struct lb_sync *s, struct lb_plan *plan, struct err *err);
/* With azure_security_goes_beside(): adds the security group to a plan that writes members. */
int azure_plan_security_beside(struct lb_sync *s, struct lb_plan *plan, struct err *err);
/* The stage "renew" takes away by what clients reach a Service whose interim addresses serve. */
bool azure_leaves_for_interim(struct lb_sync *s, struct lb_item *item);
/* Addresses for the result: these, and the additional ones that the Service names. */
void azure_tell_addresses(struct azure_sync *y, const struct azure_item *it,
                          const struct azure_texts *ips);

/* Before a Service gets anything: can it have the private link service that it asks for?  Else it
 * leaves the batch.  Reads what that takes. */
int azure_links_observe_first(struct azure_sync *y, struct err *err);
void azure_links_check_first(struct azure_sync *y, struct lb_plan *plan);
/* Deletes those of y->clinging_links that are Services' of the batch; before the
 * balancer is written. */
void azure_links_let_go(struct azure_sync *y, struct lb_plan *plan);

#endif
