/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow.h: one Service on its way through Google's flow, whatever kind of balancer it gets.
 *
 *     facts   which kind is it (gce_decide.h), what did it have before
 *     stage 1 "former load balancer": what it had as another kind and asks for no more, or all of
 *             it (DELETE), goes
 *     stage 2 "way for another Service": its rule, where two Services exchange theirs
 *     stage 3 "instance groups": the cluster's shared groups hold the nodes
 *     stage 4 "load balancer": the kind's own observe and plan; in its middle goes what it had as
 *             another kind and is in the way
 *     stage 5 "outlived load balancer": what else it had as another kind goes
 *     status  address, annotations, events, finalizers
 *
 * Private to gce_flow*.c, gce_target_pool_flow.c and gce_bs_*.c. */
#ifndef TRIMTAB_GCE_FLOW_H
#define TRIMTAB_GCE_FLOW_H

#include "common/base/hold.h"
#include "common/lb/driver.h"
#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/backend/gce_l4lb_config_rules.h"
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/gce_target_pool_observe.h"
#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_custom_fr_rules.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

/* One balancer with a backend service: the one that is wanted, or one that is to go. */
struct gce_bs_item {
    struct gce_bs_facts facts; /* with the ids of this cluster */
    struct gce_bs_input in;
    struct gce_bs_outcome outcome;
    struct gce_bs_desired d; /* ENSURE */
    bool has_desired;
    struct gce_slots slots;
    struct gce_neg_members members; /* kinds with NEGs: who belongs into them */
    struct gce_neg_plan negs;
    struct gce_groups_want groups; /* kinds with instance groups */
    const char *group_name;
    const char *neg_name;
    bool lists_groups;          /* DELETE: the instance groups go, too */
    bool negs_stay;             /* DELETE: another Service of the same name has them by now */
    struct gce_log_verdict log; /* L4LBConfig */
    int64_t began_ms;           /* by the host's clock */
    struct hold *lock;          /* of the shared health check */
    enum hold_how hold;
    bool lock_deferred;
    bool changed; /* something was written for it */
    /* NEGs alone: what the owner's forwarding rules come to; not looked at: asks nothing */
    struct gce_custom_verdict custom;
};
struct gce_item {
    struct gce_tp_item tp; /* first: what gce_target_pool_*.c see of lb_item.data */
    struct gce_decision decision;
    /* kinds that it has beside the one it gets, 1u << enum gce_kind: they go */
    unsigned former;
    struct gce_bs_item bs;
    struct gce_bs_item *was; /* of the former kinds; NULL: it was not asked for */
    bool was_ahead;          /* it was looked at in this sync already, before it was decided */
    bool looked_before;      /* an earlier stage has looked at what it had as another kind */
    /* The last operation that failed for it, and how; kinds of ingress-gce; NULL: none. */
    const struct gce_op *failed_op;
    int failed_code;
    bool made_neg; /* a NEG was made for it */
    /* Things that the plan of the former kinds takes away: the new balancer is planned as if they
     * were not there. */
    struct gce_gone {
        enum gce_collection c;
        const char *name;
    } *gone;
    size_t n_gone;
    bool gives_way; /* `gone` is in the way of the new balancer, in this turn of its stage */
    /* operations by which that goes, not sealed; of the turn; NULL: the kinds do not change, or can
     * stand together */
    struct lb_plan *way;
    /* Resources that this sync has made or taken away since its balancer was looked at, the last
     * one first (gce_stands.c). */
    struct gce_done {
        enum gce_collection c;
        const char *name;
        enum gce_known now;
        struct gce_done *before;
    } *done;
    struct gce_slots rival; /* of the stage in which it may give way to another Service */
};
static inline struct gce_item *gce_item_of(const struct lb_item *item)
{
    return item->data;
}
/* Of the former kinds, to be filled: large, and most Services have none, so it is made here. */
struct gce_bs_item *gce_item_make_was(const struct lb_sync *s, struct gce_item *g);
/* The same to be read; an empty one where it was not asked for. */
const struct gce_bs_item *gce_item_was(const struct gce_item *g);
/* gce_flow_gone.c: keeps the names of what this plan takes away from the Service. */
void gce_flow_note_gone(struct lb_sync *s, const struct lb_plan *plan, struct lb_item *item);
/* How a resource would be made again as it stands (plan.h, `ask`): it goes before the Service's
 * next one can come.  `body` is given away. */
const struct lb_undo *gce_flow_ask(const struct lb_sync *s, enum gce_collection c, const char *name,
                                   struct json_object *body);
/* Takes for gone, in the slots, what is in the way of the new balancer, and, where the sync is only
 * planned, what an earlier stage takes away. */
void gce_flow_see_gone(const struct lb_sync *s, const struct lb_item *item,
                       struct gce_slots *slots);
/* Built by gce_bs_*.c: with a backend service, or the NEGs of one alone. */
static inline bool gce_item_is_bs(const struct lb_item *item)
{
    enum gce_kind k = gce_item_of(item)->decision.kind;
    return gce_kind_has_service(k) || k == GCE_KIND_NEGS_ONLY;
}
static inline bool gce_kind_has_groups(enum gce_kind k)
{
    return k == GCE_KIND_ILB_GROUPS || k == GCE_KIND_NETLB_GROUPS;
}

extern const struct lb_flow gce_flow;

/* The Service gets a balancer in this sync, or its backends are updated. */
bool gce_flow_is_built(const struct lb_item *item);
/* The last Service of a kind with instance groups goes: they go, too.  By what it was
 * (gce_item.was). */
bool gce_flow_takes_groups(struct lb_sync *s, const struct lb_item *item);
/* Two Services that change into each other's kind must not wait for each other's shared check. */
void gce_flow_release_formers(struct lb_item *item);
/* Stages "former load balancer" and "outlived load balancer" (gce_flow_former.c). */
bool gce_flow_former_needed(const struct lb_sync *s);
int gce_flow_former_observe(struct lb_sync *s, struct err *err) _warn_unused_;
int gce_flow_former_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err) _warn_unused_;
bool gce_flow_outlived_needed(const struct lb_sync *s);
int gce_flow_outlived_observe(struct lb_sync *s, struct err *err) _warn_unused_;
int gce_flow_outlived_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err) _warn_unused_;
/* The heading of a plan that changes the kind: the one that is wanted, and the one before. */
void gce_flow_name_flip(struct lb_sync *s, struct lb_plan *plan, const struct lb_item *item);
/* gce_flow_way.c.  Does what it has as another kind share names with the kind that it gets? */
bool gce_flow_gives_way(const struct lb_item *item);
/* In the stage of the new load balancer, before that is looked at.  Way: what of the former one
 * goes for it; false: that was not read in this sync.  Room: the rest of the former one, once the
 * cloud has refused something for a limit. */
bool gce_flow_way_observe(struct lb_sync *s, struct lb_item *item) _warn_unused_;
void gce_flow_room_observe(struct lb_sync *s, struct lb_item *item);
/* Before the new one is planned: gives its planner the operations by which goes what is in the way;
 * where there is no room for both, appends them, and those on the rest, to the plan. */
void gce_flow_way_plan(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item);
/* Operations from index `end` on wait for those from `from` on before them. */
void gce_flow_way_first(struct lb_plan *plan, size_t from, size_t end);
/* A DELETE of a Service that nothing says anything about goes the way of target pools, which knows
 * what to wait for. */
bool gce_flow_deletes_pool(const struct lb_item *item);
/* Stage "instance groups" (gce_flow_groups.c). */
bool gce_flow_groups_needed(const struct lb_sync *s);
int gce_flow_groups_observe(struct lb_sync *s, struct err *err) _warn_unused_;
int gce_flow_groups_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err) _warn_unused_;
/* Does the balancers' plan carry the operations on groups (gce_groups_put_off())? */
bool gce_flow_groups_are_put_off(struct lb_sync *s);
/* Appends them; before the operations of any balancer. */
void gce_flow_groups_plan_beside(struct lb_sync *s, struct lb_plan *plan);

/* gce_stands.c.  Keeps what an operation has done for its owners; at its end. */
void gce_stands_note(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                     const struct err *err);
/* struct lb_flow, stands. */
const char *gce_stands(const struct lb_sync *s, const struct lb_item *item);

/* An event that is sent once until its message changes (gce_told.h). */
void gce_flow_event_once(struct lb_sync *s, const struct lb_item *item, uint32_t type,
                         const char *reason, const char *message);

/* The end of an operation: remembers for its owners whether the cloud refuses to reserve an
 * address; and whether it did so in the last try (docs/adr/0074). */
void gce_flow_note_hold(struct lb_sync *s, const struct lb_op *op, unsigned outcome);
bool gce_flow_hold_was_refused(struct lb_sync *s, const struct lb_item *item);

/* Two protocols among the ports of a kind of cloud-provider-gcp: condition and event,
 * once; and their end. */
void gce_flow_ports_are_mixed(struct lb_sync *s, const struct lb_item *item);
void gce_flow_ports_are_fine(struct lb_sync *s, const struct lb_item *item);
/* A firewall operation was forbidden, which is tolerated: tells its owners once what to do by hand
 * (gce_flow_by_hand.c). */
void gce_flow_tell_by_hand(struct lb_sync *s, const struct lb_op *op);

/* ---- several Services (gce_flow_together.c) -------------------------------------------------- */
/* Before the balancers of a batch are looked at: reads at once what the updates of its Services
 * read one by one otherwise.  Nothing for a single Service. */
void gce_flow_read_ahead(struct lb_sync *s);

/* ---- which kind (gce_flow_decide.c) ---------------------------------------------------------- */
/* Fills gce_item.decision, with a look at what is there where the decision needs one and it could
 * tell something.  Blocks then.  What keeps the Service from being synced now is in item->err. */
void gce_flow_decide(struct lb_sync *s, struct lb_item *item);
/* Does a Service bear a sign of this process or its like: a finalizer, or the mark? */
bool gce_flow_has_sign(const struct tt_service *svc);
/* The rules of an internal load balancer with NEGs, among the slots: looked for in the list alone;
 * whether one of them was found.  `uid` of namespace kube-system. */
void gce_l4_rule_slots(struct gce_slots *slots, const char *uid, const struct tt_service *svc);
bool gce_l4_rule_stands(const struct gce_slots *slots, const char *uid,
                        const struct tt_service *svc);
/* Input of a check of another Service; `d` by its own settings, without reads. */
typedef bool gce_others_test(const struct tt_service *other, const struct gce_decision *d,
                             const void *arg);
/* Whether the answer is yes for some Service of the cluster other than `svc`.  Services that are
 * being deleted are not asked: of two that go, the one that ends last takes along
 * what they shared. */
bool gce_others_any(struct lb_sync *s, const struct tt_service *svc, gce_others_test *is,
                    const void *arg);

/* ---- target pools (gce_target_pool_flow.c): as the flow calls them, per item ----------------- */
int gce_tp_flow_facts(struct lb_sync *s, struct lb_item *item, struct err *err) _warn_unused_;
void gce_tp_flow_observe(struct lb_sync *s, struct lb_item *item);
void gce_tp_flow_plan(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item);
void gce_tp_flow_status(struct lb_sync *s, struct lb_item *item);
void gce_tp_flow_serves(struct lb_sync *s,
                        struct lb_item *item);   /* ENSURE: as gce_bs_flow_serves() */
void gce_tp_flow_release(struct gce_tp_item *t); /* of the shared check */
/* A Service that is alone with the shared check, and has made what was missing of it, lets others
 * use it while its own sync goes on.  At the end of each of its operations that went well; `err` as
 * for gce_op_wrote(). */
void gce_tp_flow_share(const struct lb_sync *s, struct gce_tp_item *t, const struct lb_op *op,
                       const struct err *err);

/* ---- balancers with a backend service -------------------------------------------------------- */
/* gce_bs_facts.c: names, tags' owners, membership; no look at the balancer itself. */
int gce_bs_flow_facts(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                      enum gce_kind kind, struct err *err) _warn_unused_;
/* gce_bs_observe.c */
int gce_bs_flow_observe(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                        struct err *err) _warn_unused_;
struct gce_node_filter gce_bs_node_filter(const struct gce_bs_facts *f);
void gce_bs_flow_release(
    struct gce_bs_item *b); /* of the shared check, when nothing more is done to it */
/* As gce_tp_flow_share(). */
void gce_bs_flow_share(struct lb_sync *s, struct gce_bs_item *b, const struct lb_op *op,
                       const struct err *err);
/* gce_bs_network.c.  Find: puts where the network that it names is into b->facts.  With the flag;
 * ERR_INVALID: what is wrong with the objects that say where; another code: they could not
 * be read. Blocks. */
int gce_bs_flow_find_network(struct lb_sync *s, struct gce_bs_item *b,
                             struct err *err) _warn_unused_;
/* The same of a Service that is only asked about: `name` NULL is the cluster's own, which is
 * in *f already. */
struct gce_network_reads;
int gce_bs_find_network(const struct gce_network_reads *r, const char *name, struct gce_bs_facts *f,
                        struct err *err) _warn_unused_;
/* By what was seen of it: ERR_INVALID when making it as it is wanted would take away what serves it
 * in another network. */
int gce_bs_flow_check_network(struct lb_sync *s, const struct gce_bs_item *b,
                              struct err *err) _warn_unused_;
/* The same, with a look of its own, where instance groups would be filled before its balancer is
 * looked at.  Blocks. */
int gce_bs_flow_look_ahead(struct lb_sync *s, struct gce_bs_item *b, struct err *err) _warn_unused_;
/* gce_bs_named.c: subnetwork and addresses that the Service names.  slots: what is looked at for
 * them; take: the addresses as found, into b->in; check, by what was seen: ERR_NOT_FOUND without
 * the subnetwork, ERR_INVALID for one without IPv6. */
void gce_bs_named_slots(struct lb_sync *s, struct gce_bs_item *b);
void gce_bs_named_take(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b);
int gce_bs_named_check(const struct gce_bs_item *b, struct err *err) _warn_unused_;
/* ERR_IN_USE when a rule that is to be made at an address that the Service names cannot be made
 * there; looks at who has it where a rule that stands would go for it (gce_shared_ip.h), and notes
 * in `b` whether the address is its owner's.  Blocks then. */
int gce_bs_named_check_ip(struct lb_sync *s, struct gce_bs_item *b, struct err *err) _warn_unused_;
/* Fills `in.reserved_ips`: ENSURE, once the desired state is made; DELETE: of all its rules. */
void gce_bs_named_reserved(struct lb_sync *s, struct gce_bs_item *b);
/* Only the snapshot says that it is not there: it has forgotten that now, and the look is
 * to be made again. */
bool gce_bs_named_forget_miss(struct lb_sync *s, const struct gce_bs_item *b);
/* The same check with a look of its own, where something is written before the balancer
 * is looked at.  Blocks. */
int gce_bs_named_check_ahead(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                             struct err *err) _warn_unused_;
/* gce_bs_members.c: NEGs.  think: who belongs into them, by what is known; slots: which NEGs are
 * looked at; observe, after the look: looks at those in zones that no node is in any more, lists
 * what must be known, fills b->negs. */
/* Another Service of this one's name, made since, has NEGs: they are those of this one, too. */
bool gce_bs_negs_are_anothers(struct lb_sync *s, const struct gce_bs_item *b);
bool gce_bs_has_negs(const struct lb_sync *s,
                     const struct gce_bs_item *b); /* its kind has, and they are ours to make */
int gce_bs_members_think(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                         struct err *err) _warn_unused_;
void gce_bs_members_slots(struct lb_sync *s, struct gce_bs_item *b);
int gce_bs_members_observe(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                           struct err *err) _warn_unused_;
/* Lists the members that the updates of several Services must know, in one wave; what could not be
 * listed is asked for again, and told, by gce_bs_members_observe(). */
void gce_bs_members_read_ahead(struct lb_sync *s, struct lb_item *const *items, size_t n);
/* gce_bs_status.c */
int gce_bs_flow_objects(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                        struct err *err) _warn_unused_;
void gce_bs_flow_status(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b);
/* ENSURE: addresses and annotations, once the rules are there. */
void gce_bs_flow_serves(struct lb_sync *s, struct lb_item *item, const struct gce_bs_item *b);
/* Sets an annotation that has another value now; `value` NULL: takes it away. */
void gce_bs_flow_annotate(struct lb_sync *s, struct lb_item *item, const char *key,
                          const char *value);
/* ingress-gce looks at each Service again every --sync-period; here a little earlier or later, so
 * that those that were synced together do not stay together (gce-l4.md §7.3, §9.6).  At the latest
 * after `at_most_ms`; 0: that period. */
void gce_bs_flow_look_again(struct lb_sync *s, struct lb_item *item, int64_t at_most_ms);
/* gce_bs_events.c.  DELETE: the rule because of which the Service's backend service could not be
 * deleted last time, in the sync's arena. */
struct gce_strs gce_bs_flow_older_told(struct lb_sync *s, const char *key, uint32_t verb);
/* gce_bs_older.c.  After the look: adds to `in.older_rules`, and to the slots, the rules that an
 * older Service of this name left.  True when the slots are to be looked at once more. */
bool gce_bs_flow_find_older(struct lb_sync *s, struct gce_bs_item *b);
/* The owner hears of one operation of the L4 parts. */
void gce_bs_flow_tell(struct lb_sync *s, const struct lb_item *item, const struct lb_op *op,
                      unsigned outcome, const struct err *err);
/* Takes away what the L4 parts wrote on a Service that is theirs no more. */
void gce_bs_flow_clear_annotations(struct lb_sync *s, struct lb_item *item);
void gce_bs_flow_failed(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b);

/* ---- giving way (gce_give_way.c): stage between the former load balancer and the new one ----- */
bool gce_give_way_needed(const struct lb_sync *s);
int gce_give_way_observe(struct lb_sync *s, struct err *err) _warn_unused_;
int gce_give_way_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err) _warn_unused_;
/* While planning: takes out of `uses` the rules of a Service with which this one exchanges.  `uid`
 * of kube-system, or "". */
void gce_give_way_leave_out(struct lb_sync *s, const struct tt_service *svc, const char *uid,
                            struct gce_ip_uses *uses);

/* ---- NEGs alone (gce_negs_only.c) ------------------------------------------------------------ */
/* Reads the forwarding rules that the Service names; with --run-l4-standalone-neg-controller. */
void gce_negs_only_look(struct lb_sync *s, struct gce_bs_item *b);
void gce_negs_only_status(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b);
void gce_negs_only_failed(struct lb_sync *s, const struct lb_item *item);
/* Removes their published addresses. */
void gce_negs_only_clear(struct lb_sync *s, struct lb_item *item);

#endif
