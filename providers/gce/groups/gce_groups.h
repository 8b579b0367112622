/* SPDX-License-Identifier: Apache-2.0 */
/* gce_groups.h: the cluster's instance groups, one per zone, which all Services on groups share.
 *
 * Who needs them asks whether they hold what the nodes say; if not, the first Service that comes
 * makes them so (its plan has the operations, marked shared) while the others wait, and then find
 * it done: a change of nodes costs the group calls once, and nothing per Service.  What is in the
 * groups is remembered like NEG members (gce_neg_mirror.h).  A VM may be in one load-balanced group
 * only: that refusal gets its own words, and the VM is left out for ten minutes, so that no Service
 * runs into it again (gce-l4.md §8.4).
 *
 * Both upstream controllers fill the same groups by rules of their own.  One process has one rule:
 * that of cloud-provider-gcp whenever it plays that part, for its groups hold the nodes of
 * ingress-gce's and the unready ones besides, which the health check keeps from traffic; else
 * ingress-gce's.  So two Services of different kinds never undo each other's work.
 *
 * Source: gce-cloud-provider.md §5.4, §5.9, §5.10; gce-l4.md §8.  gce_groups_rules.c is pure. */
#ifndef TRIMTAB_GCE_GROUPS_H
#define TRIMTAB_GCE_GROUPS_H

#include "common/lb/driver.h"
#include "providers/gce/model/gce_neg_rules.h"

/* ---- rules (gce_groups_rules.c, pure) -------------------------------------------------------- */
/* Members of the group of each zone.  `legacy`: as cloud-provider-gcp counts (§5.4: eligible nodes,
 * zone label); else as ingress-gce does (ready candidates of the default subnetwork, §8.2).
 * Canonical names, sorted; the alphabetically first `max` of a zone.  Nodes without zone are in
 * `keep`: they stay where they are.  So do those of a zone without any ready node (ours): its entry
 * has no nodes.  Texts are copies. */
struct gce_groups_want {
    struct gce_zone_nodes *zones; /* sorted by zone */
    size_t n;
    struct gce_strs keep;
};
void gce_groups_of(struct arena *a, const struct tt_node *const *nodes, size_t n, bool legacy,
                   const struct gce_node_filter *f, int32_t max, struct gce_groups_want *ret);
/* Names to add and to remove (V207–V211). */
void gce_group_diff(struct arena *a, const struct gce_strs *is, const struct gce_strs *want,
                    const struct gce_strs *keep, struct gce_strs *ret_add,
                    struct gce_strs *ret_remove);

/* ---- the mirror, and who may change it ------------------------------------------------------- */
struct gce_groups;
struct gce_groups *gce_groups_new(struct clock *clock, struct rng *rng,
                                  int64_t period_ms) _warn_unused_;
void gce_groups_free(struct gce_groups *g);

/* As a stage of a flow, the first one (a turn is waited for, which no other lock may be held for):
 * observe lists members only where the mirror does not answer; plan appends the operations:
 * removals and new groups in one wave, additions in the next.  `want` of the sync's nodes.
 *
 * Before the first Service on groups nothing stands on them, and all of them are to be made.  Then
 * they need no stage of their own: the operations go into the balancers' plan, beside the address
 * and the health check, and only backend services wait for them (gce_bs_order_plan.c).  The turn is
 * kept until they have all gone well. */
int gce_groups_observe(struct gce_groups *g, struct lb_sync *s, const char *group_name,
                       const struct gce_groups_want *want, struct err *err) _warn_unused_;
/* Puts the operations off to the balancers' plan, where that may be; false: it may not.  After
 * gce_groups_observe(). */
bool gce_groups_put_off(struct gce_groups *g, struct lb_sync *s, const char *group_name,
                        const struct gce_groups_want *want);
/* Were they put off, and are not all carried out yet? */
bool gce_groups_are_put_off(struct gce_groups *g, struct lb_sync *s);
void gce_groups_plan(struct gce_groups *g, struct lb_sync *s, struct lb_plan *plan, const char *key,
                     const char *group_name, const struct gce_groups_want *want);
/* Before that: where there are groups, also in zones that have no node any more, of which a process
 * that has just started knows nothing.  One list in its life; without the permission
 * for it none. */
int gce_groups_list(struct lb_sync *s, struct err *err) _warn_unused_;
/* Appends a last wave that deletes the groups, for a Service that goes and leaves none that wants
 * them: what another program's balancer uses stays, for Google refuses it (gce-l4.md §6.3;
 * gce-cloud-provider.md §5.11 step 8). */
void gce_groups_plan_delete(struct gce_groups *g, struct lb_sync *s, struct lb_plan *plan,
                            const char *key, const char *group_name);
/* Zones whose groups have members, or will have them: an empty group has no network, and no backend
 * service takes it (gce-l4.md §8.3). */
struct gce_strs gce_groups_zones(struct gce_groups *g, struct arena *a, const char *group_name,
                                 const struct gce_groups_want *want);
/* After an operation on a group; of others' nothing is taken. */
void gce_groups_wrote(struct gce_groups *g, const struct lb_op *op, unsigned outcome,
                      const struct err *err);
/* After an operation of any kind that failed: when Google refused it because an instance would be
 * in two load-balanced groups, its owners get a Warning that names the instance, once
 * per instance (§8.4). */
#define GCE_EVENT_ONE_GROUP "InstanceInMultipleLoadBalancedGroups"
void gce_groups_tell(struct lb_sync *s, const struct lb_op *op, const struct err *err);

#endif
