/* SPDX-License-Identifier: Apache-2.0 */
/* aws_sync.h: what the parts of one sync share: the Service, and the cloud as this sync has seen
 * it.
 *
 * One stage: observe, plan, execute (docs/adr/0023).  Documents of the cloud are held while the
 * sync lives, and its stake in rules of shared groups when some may change.  What an operation
 * finds out for the end of the sync (the DNS name of a balancer that was just made, a target that
 * AWS refused) is noted here.  One thread. */
#ifndef TRIMTAB_AWS_SYNC_H
#define TRIMTAB_AWS_SYNC_H

#include "providers/aws/aws_provider.h"
#include "providers/aws/plan/aws_plan.h"

#define AWS_FACTS_AGE_MS   600000 /* subnets, route tables, zones */
#define AWS_GROUP_POLL_MS  5000   /* a group that is still in use (7.4) */
#define AWS_SHOWN_AFTER_MS 60000  /* AWS has shown a new group or balancer by then */
#define AWS_SHOWN_POLL_MS  2000

/* Outlives the driver's arenas; on the stack of the call. */
struct aws_scope {
    struct aws_provider *p;
    const struct tt_call *call;
    const struct aws_doc **docs;
    size_t n_docs;
    size_t cap_docs;
    struct aws_stake stake; /* in rules of groups that others share */
    bool guards;            /* this look may be followed by a change of rules: the stake looks */
    /* Operations of the plan that add rules, or take some away, and have not ended. */
    size_t adding, taking;
    int64_t started_ms; /* what was read from then on is this sync's own */
    uint64_t mark;      /* the same moment, finer than the clock */
    /* until then AWS may show what was before a change that another process made; planning:
     * in the past */
    int64_t young_until_ms;
    /* Results of the execution of the plan. */
    struct arena *a;         /* life of the call */
    const char *uid;         /* of the Service */
    const char *dns;         /* of a balancer that was made, or NULL */
    bool has_idle_instances; /* some do not run */
    bool lacks_rights;       /* to read or set tags: what is not done for that is tried again */
    const char **refused;    /* "ID (AWS' reason)" of instances that it would not take; each once */
    size_t n_refused;
    size_t cap_refused;
};
void aws_scope_begin(struct aws_scope *x, struct aws_provider *p, const struct tt_call *call);
void aws_scope_end(struct aws_scope *x);
void aws_scope_refused(struct aws_scope *x, const char *instance, const char *reason);
/* Begins a look that may be followed by a change of rules; waits for stakes that the last claim was
 * refused for.  ERR_CANCELLED: while waiting. */
int aws_scope_look(struct aws_scope *x, struct cancel *cancel, struct err *err);
/* Of a plan that is going to be carried out: claims the rules that it takes away, those that it
 * adds, and `needs`.
 * ERR_CONFLICT: another sync needs those or takes these away, and this one has to look again. */
int aws_scope_claim(struct aws_scope *x, const struct lb_plan *plan,
                    const struct aws_staked_list *needs, struct err *err);
/* An operation has ended, well or not. */
void aws_scope_ended(struct aws_scope *x, const struct aws_write *write);

struct aws_item {
    struct lb_item *item;
    const struct aws_service *service;
    bool want;
    enum aws_claim claim;
    bool unnamed; /* AWS_CLAIM_UNNAMED: what is there decides */
    /* when this process changed something of the Service before this sync; 0: never */
    int64_t wrote_ms;
    bool saw_unused_groups; /* an earlier look of this sync did: target groups without a listener */
    bool looked;            /* `seen` is what stood at the last look of this sync, */
    bool touched;           /* and listeners or targets have changed since, or may have */
    struct aws_observed seen;
    struct aws_surroundings around;
    /* Read ahead in this look, in one round with something else; NULL: not yet. */
    /* AWS_DOC_TARGET_GROUPS_OF the balancer, or of a Service that goes all */
    const struct aws_doc *nlb_groups;
    const struct aws_doc *tagged_groups; /* AWS_DOC_TAGGED_GROUPS */
    const struct aws_finding *findings;  /* of the plan */
    size_t n_findings;
    /* Instances of nodes that AWS has not, or not in this cluster, and why: a clause each. */
    struct aws_texts left_out_ids, left_out;
};
struct aws_sync {
    struct lb_sync *s;
    struct aws_provider *p;
    struct aws_scope *scope;
    struct aws_item *items; /* one per item of the batch */
};
struct aws_sync *aws_sync_of(struct lb_sync *s);

/* lb_flow.stands (aws_stands.c). */
const char *aws_stands(const struct lb_sync *s, const struct lb_item *item);
/* Reads what is (aws_observe.c). */
int aws_observe(struct lb_sync *s, struct err *err);
/* ERR_IN_PROGRESS for a Service that goes soon after this process began, with the time until AWS
 * shows what the process before may have made of it. */
int aws_check_young(const struct aws_sync *y, const struct aws_item *it,
                    struct err *err) _warn_unused_;
/* Target groups and what hangs on them (aws_observe_targets.c): of the balancer that was
 * found, and left ones. */
int aws_observe_target_groups(struct aws_sync *y, struct aws_item *it, struct err *err);
/* Tags of an NLB and its parts, when they are compared (aws_observe_tags.c). */
int aws_observe_tags(struct aws_sync *y, struct aws_item *it, struct err *err);
/* The groups, places and instances that a sync of this Service looks at (aws_observe_around.c). */
int aws_observe_around(struct aws_sync *y, struct aws_item *it, struct err *err);
/* Two parts of it, of an item that is wanted: around.places, and around.instances. */
int aws_observe_places(struct aws_sync *y, struct aws_item *it, struct err *err);
int aws_observe_instances(struct aws_sync *y, struct aws_item *it, struct err *err);
/* The cluster's security groups as a question, for it->tagged_groups. */
struct aws_need aws_need_tagged_groups(const struct aws_sync *y);
/* Security groups (aws_observe_groups.c). */
int aws_observe_groups(struct aws_sync *y, struct aws_item *it, struct err *err);
/* Was it made for this Service's balancer, of either kind?  Both are there when the
 * type was changed. */
bool aws_is_own_group(const struct aws_sync *y, const struct aws_item *it,
                      const struct aws_group *g);
bool aws_has_own_group(const struct aws_sync *y, const struct aws_item *it);
/* Rules that stand in the groups that were read, and that the Service needs or will need
 * (aws_shared_rules.c). */
struct aws_staked_list aws_rules_needed(const struct aws_sync *y, const struct aws_item *it);
/* Rules that other syncs are taking away from the groups that were read count as gone. */
void aws_rules_leaving(struct aws_sync *y, struct aws_item *it);
/* Needs of other load balancers (aws_observe_others.c): around.other_*, around.needed. */
int aws_observe_others(struct aws_sync *y, struct aws_item *it, struct err *err);
/* How old what is looked at may be, as aws_need.not_older_ms: balancers and all
 * that is compared. */
int64_t aws_sync_not_older(const struct aws_sync *y);
/* An UPDATE because nodes have changed: what does not hang on them is not compared. */
bool aws_item_is_about_nodes(const struct aws_item *it);
/* Is the list of all to be asked, because many Services wait? */
bool aws_sync_asks_lists(const struct aws_sync *y, const struct aws_item *it);
/* The answer to one question, held by the scope; NULL: *err says why. */
const struct aws_doc *aws_sync_read(struct aws_sync *y, enum aws_doc_kind kind, const char *key,
                                    int64_t not_older_ms, struct err *err);
/* Several at once: needs[i].doc are the scope's afterwards. */
int aws_sync_read_all(struct aws_sync *y, struct aws_need *needs, size_t n, struct err *err);
/* The moment since which facts must have been read, which change seldom (AWS_FACTS_AGE_MS). */
int64_t aws_sync_facts_not_older(const struct aws_sync *y);
/* The questions about places that a sync of this Service will ask; at most two. */
size_t aws_need_places(const struct aws_sync *y, const struct aws_item *it, struct aws_need *ret);

/* An operation of a plan: one request with its waiting; its argument is a struct aws_write. */
extern const struct lb_op_type aws_write_type;
/* As lb_flow.wrote: keeps documents true, reports to owners (aws_write.c). */
void aws_wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome, const struct err *err);

#endif
