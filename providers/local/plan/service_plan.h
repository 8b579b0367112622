/* SPDX-License-Identifier: Apache-2.0 */
/* service_plan.h: from what the kernel has to what it is to have, as operations in phases.  Pure.
 *
 *   BASE      the table; the scope, before the first virtual service of IPVS
 *   SERVE     virtual services of IPVS: the port is still closed
 *   FILL      the guard of the address, whose comment says from then on whose it is, and targets of
 *             new and changed frontends
 *   OPEN      who may come, the source address: now the port answers, if the address is held
 *   NARROW    old source ranges go, and those come that overlap them.  Meanwhile the kernel finds
 *             neither, so that the new ones stand in the set ALSO from OPEN on.  A frontend leaves
 *             the map that it was in before FILL
 *   COMPLETE  ranges of the set ALSO go
 *   HOLD      the address becomes this machine's: never without its guard
 *   ANNOUNCE  neighbours and routing daemons hear of it
 *   QUIET     destinations that go get weight 0: open connections continue
 *   WITHDRAW  … and that it is gone, then it is let go
 *   CLOSE     no client may come any more; destinations of a port that is closed but stays get
 *   weight
 *             0 only now
 *   DROP      targets, and connections that they leave behind; destinations of IPVS when they have
 *             drained, in a later plan
 *   UNGUARD   the guard, last: a process that ends before finds by its comment what is left to do
 *
 * All operations of a phase are one wave, so that run_many makes one transaction of them.  Before
 * NARROW and COMPLETE packets that were looked up before OPEN and NARROW are waited for, where they
 * could miss both what came and what goes (local_nft_deed.settles). */
#ifndef TRIMTAB_LOCAL_PLAN_SERVICE_PLAN_H
#define TRIMTAB_LOCAL_PLAN_SERVICE_PLAN_H

#include "providers/local/plan/deeds.h"
#include "providers/local/plan/front_desired.h"

/* An address that the Service has to do with. */
struct local_vip_pair {
    struct local_vip have;
    struct local_vip want; /* of one that no Service wants any more: nothing of it */
    const char *other;     /* one of the other Services that have it, too; or NULL */
    bool comment_lives;    /* the guard's comment names one that has it */
    const char *why;       /* ends "because …" */
    const struct local_link *const *links; /* where it is announced */
    size_t n_links;
};
struct local_service_state {
    const char *key;
    const struct local_front *have; /* of this Service, at any of its addresses */
    size_t n_have;
    const struct local_front *want;
    const struct local_target_set *targets; /* of each wanted one */
    size_t n_want;
    const struct local_vip_pair *vips;
    size_t n_vips;
    /* Of IPVS: */
    /* changes of it that come first; the same for all items */
    const struct local_nft_change *scope;
    size_t n_scope;
    int64_t now_ms;           /* the provider's clock */
    int64_t drain_timeout_ms; /* 0: at once */
};
/* In how many ms the Service is to be checked again, because a destination drains; 0: none does. */
int64_t local_ipvs_again_ms(const struct local_service_state *s);

/* Appends the deletion of what has drained, and nothing else. */
void local_services_plan_drained(struct lb_plan *plan, const struct local_service_state *items,
                                 size_t n);
/* A destination turns from or to ipvs-dr at one address and port: the kernel has one route for it,
 * which the other way to forward spoils, so that open connections break.  *ret: the
 * first such frontend. */
bool local_ipvs_breaks(const struct local_service_state *s, const struct local_frontend_id **ret);

/* The table, as it is. */
enum local_table_is {
    LOCAL_TABLE_ABSENT = 0,
    LOCAL_TABLE_WHOLE,
    LOCAL_TABLE_OLD,     /* of another layout */
    LOCAL_TABLE_CHANGED, /* its chains or rules are not those of this configuration */
};
/* Appends the operations for all of them.  `instance` names the table, which is made first when it
 * is not there, or recreated with what it has when it is not whole. */
void local_services_plan(struct lb_plan *plan, const char *instance, enum local_table_is table,
                         const struct local_service_state *items, size_t n);

#endif
