/* SPDX-License-Identifier: Apache-2.0 */
/* aws_plan.h: from what is wanted and what is there to operations.  Pure.
 *
 * A Service's plan is drafted by several planners, each for one kind of resource.  They do not know
 * each other's operations: each says in which *phase* its own belongs, and aws_draft_finish() turns
 * the drafts into the plan, phase by phase.  An operation waits for those of earlier phases that it
 * needs (aws_order_plan.c), not for its own phase.  References between drafts are late-bound
 * outputs (lb_value).
 *
 *     TRY      what AWS would refuse is found out, before anything is taken down for it
 *     CLEAR    what stands in the way: a classic listener that changes, a balancer of the other
 *              scheme
 *     EMPTY    target groups of listeners that went in CLEAR, where AWS has no room for others
 *              beside them
 *     MAKE     security groups, target groups, rules that let traffic reach nodes; and the balancer
 *              when it needs none of them
 *     BALANCE  the balancer when it needs a group made in MAKE; an NLB's listener goes whose port
 *              changes between TCP and UDP
 *     FILL     listeners, targets, attributes, rules of the balancer's own group
 *     SWITCH   listeners go over to target groups that are filled now; what only then may change
 *     DROP     listeners, balancers, targets and instances that are not wanted any more
 *     LEAVE    target groups without listeners, rules in node groups that nothing needs
 *     FORGET   security groups that nothing uses any more
 *
 * Source: docs/spec/aws.md 4.6, 5.3 to 5.11, 7; docs/adr/0023. */
#ifndef TRIMTAB_AWS_PLAN_H
#define TRIMTAB_AWS_PLAN_H

#include "common/lb/plan.h"
#include "providers/aws/api/aws_call.h"
#include "providers/aws/model/aws_rules.h"

/* ---- what is there --------------------------------------------------------------------------- */

struct aws_observed_group {
    const struct aws_target_group *group;
    bool left; /* of no balancer: an interrupted run's, ours by name and tags */
    bool has_targets;
    struct aws_targets targets;
    bool has_attributes;
    struct aws_tags attributes;
};
/* Of one Service.  NULL and n 0: not there. */
struct aws_observed {
    const struct aws_classic *classic;
    /* NULL: not read, not to be compared */
    const struct aws_classic_attributes *classic_attributes;
    /* Read when the Service has additional-resource-tags; else they are not compared. */
    bool has_classic_tags;
    struct aws_tags classic_tags;
    const struct aws_nlb *nlb; /* Type network; an ALB of the name is an error of the observer */
    const struct aws_listener *listeners;
    size_t n_listeners;
    bool has_nlb_attributes; /* false: not read, not to be compared */
    struct aws_tags nlb_attributes;
    /* Those of listeners, those that AWS lists for the balancer, and left ones; by name. */
    const struct aws_observed_group *groups;
    size_t n_groups;
    /* Of the NLB, its listeners and groups; without NLBTags of the NLB at most; n 0: not read, not
     * to be compared. */
    const struct aws_arn_tags *tags;
    size_t n_tags;
};
/* Of all Services. */
struct aws_surroundings {
    struct aws_places places;
    const struct aws_group *const
        *groups; /* tagged ones, and those of targets that are not; by id */
    size_t n_groups;
    struct str_set tagged; /* ids of the cluster's among them */
    /* that the Service names, and that bear no tag; as far as read */
    const struct aws_group *named;
    size_t n_named;
    const struct aws_group *const
        *referring; /* deleting: groups without tag that name one of trimtab as source; by id */
    size_t n_referring;
    const struct aws_instance *instances; /* of the Service's targets */
    size_t n_instances;                   /* aws_plan_service() makes targets of all of them */
    bool no_node_fits; /* target-node-labels: no node has them, and those that were targets stay */
    /* Other Services of the cluster with a load balancer of ours: */
    struct str_set other_names; /* names of their load balancers */
    /* security groups that they name, that were made for them, or that they have */
    struct str_set other_groups;
    struct str_set other_mains; /* those of classic ones: nodes let their traffic in by them */
    /* … and rules in node groups that they need, whatever their description; sorted */
    struct aws_rules needed;
    bool knows_needed; /* they were asked: this Service's health checks may be theirs, too */
};

/* ---- drafts ---------------------------------------------------------------------------------- */

/* AWS' word for it in plans, and in what is known of limits (lb_plan_makes_room()). */
#define AWS_WORD_TARGET_GROUP "target group"

enum aws_phase {
    AWS_PHASE_TRY = 0,
    AWS_PHASE_CLEAR,
    AWS_PHASE_EMPTY,
    AWS_PHASE_MAKE,
    AWS_PHASE_BALANCE,
    AWS_PHASE_FILL,
    AWS_PHASE_SWITCH,
    AWS_PHASE_DROP,
    AWS_PHASE_LEAVE,
    AWS_PHASE_FORGET,
    AWS_PHASES,
};
/* Targets that AWS refuses do not hold up the others: they are left out and told (3.3,
 * 12 row 19). */
enum aws_isolate {
    AWS_ISOLATE_NOTHING = 0,
    AWS_ISOLATE_TARGETS,   /* Targets.member.N; InvalidTarget */
    AWS_ISOLATE_INSTANCES, /* Instances.member.N; InvalidInstance */
};
struct aws_param {
    const char *name; /* wire name */
    struct lb_value value;
};
struct aws_output {
    const char *name; /* "arn" */
    const char *path; /* in the answer: "LoadBalancers/member/LoadBalancerArn" */
};
/* Argument of an operation; its op->arg. */
struct aws_write {
    enum aws_api api;
    const char *action;
    const struct aws_param *params;
    size_t n_params;
    const struct aws_output *outputs;
    size_t n_outputs;
    enum aws_isolate isolate;
    struct aws_rules rules; /* that aws_draft_rules() was given; n 0: none */
    bool narrows;           /* aws_draft_narrows() */
};

/* A classic balancer gets another main group, and groups of its nodes have no room for the rules
 * about both: the rules of `former` go first there.  Sorted ids. */
struct aws_exchange {
    struct str_set nodes;  /* these groups; none: nothing is exchanged */
    struct str_set former; /* groups that the balancer has, and keeps until then */
};

struct aws_draft;
struct lb_drafts;
struct aws_planning {
    struct arena *a;
    struct lb_plan *plan;
    const struct aws_naming *naming;
    const struct aws_service *service;
    const struct aws_observed *seen;
    const struct aws_surroundings *around;
    /* Differences that upstream would have left are fixed: lb_puts_right(), or
     * --repair-adopted is on. */
    bool repairs;
    bool edited;      /* and this sync is one of an edit: for what cannot be compared */
    bool anew;        /* the balancer of the other scheme goes in this plan; `seen` has none then */
    bool about_nodes; /* only nodes changed: what does not hang on them was not read */
    bool unproven;    /* lb_is_unproven(): and the Service does not say what stands */
    /* lb_spares(): nothing that works is to go first; AWS says whether there is room by now */
    bool spares;
    struct aws_exchange exchange; /* of the Service that is planned */
    bool certificates_anew; /* a classic listener's certificate cannot be changed: no right to */
    bool texts_stay;        /* descriptions of rules cannot be changed: no right to */
    /* Carries out the drafts, whose argument is a struct aws_write: aws_write_type (aws_sync.h). */
    const struct lb_op_type *write_type;
    struct lb_drafts *drafts; /* aws_draft_begin()'s */
    int critical;             /* draft that gets op->critical, or -1 */
    /* Notes for the Service's owner that no operation has: Warning events beside those of
     * service->findings. */
    struct aws_finding *findings;
    size_t n_findings, cap_findings;
    /* Once the plan is carried out: zones of the load balancer (n 0: not known), and how many of
     * its targets run there. */
    struct str_set zones;
    size_t n_serving;
};
/* (aws_service_plan.c) */
void aws_plan_finding(struct aws_planning *p, const char *reason, const char *fmt, ...)
    _printf_(3, 4);
/* AnnotationIgnored of that annotation, by its whole key. */
void aws_plan_finding_of(struct aws_planning *p, const char *field, const char *fmt, ...)
    _printf_(3, 4);
void aws_draft_begin(struct aws_planning *p);
/* A new operation: verb, AWS' word for the kind ("target group"), name, and why, which ends in a
 * "because …" clause.  The result is its handle until aws_draft_finish(). */
int aws_draft(struct aws_planning *p, enum aws_phase phase, enum lb_verb verb, const char *kind,
              const char *name, const char *why);
void aws_draft_action(struct aws_planning *p, int draft, enum aws_api api, const char *action);
/* Room for so many more parameters and fields, where their numbers are known and large. */
void aws_draft_reserve(struct aws_planning *p, int draft, size_t params, size_t fields);
/* Parameters, in any order.  Text NULL: left out. */
void aws_draft_text(struct aws_planning *p, int draft, const char *name, const char *text);
void aws_draft_int(struct aws_planning *p, int draft, const char *name, int64_t n);
void aws_draft_value(struct aws_planning *p, int draft, const char *name, struct lb_value v);
/* "NAME.member.1" … from 1; `fmt` has one %zu: "Subnets.member.%zu". */
void aws_draft_list(struct aws_planning *p, int draft, const char *fmt,
                    const struct aws_texts *items);
/* "PREFIX.N.Key", "PREFIX.N.Value": prefix "Tags.member" or "TagSpecification.1.Tag". */
void aws_draft_tags(struct aws_planning *p, int draft, const char *prefix,
                    const struct aws_tags *tags);
/* IpPermissions of Authorize and Revoke: rules with equal protocol and ports share a permission. */
void aws_draft_rules(struct aws_planning *p, int draft, const struct aws_rules *rules);
void aws_draft_output(struct aws_planning *p, int draft, const char *name, const char *path);
struct lb_value aws_draft_value_of(int draft, const char *output);
/* One difference for people.  Old NULL: new; new NULL: goes. */
void aws_draft_field(struct aws_planning *p, int draft, const char *path, const char *old_text,
                     const char *new_text);
void aws_draft_field_value(struct aws_planning *p, int draft, const char *path,
                           const char *old_text, struct lb_value v);
/* The operation itself, for attributes of plan.h (tolerate, isolate …) until the next draft is
 * made; indexes in only_if_op and sent_after are handles. */
struct lb_op *aws_draft_op(struct aws_planning *p, int draft);
void aws_draft_isolate(struct aws_planning *p, int draft, enum aws_isolate isolate);
/* Takes rules away by which clients come in to ports that stay, and which the Service no longer
 * lets in: it waits for the group's own new rules, and for nothing else that may be refused. */
void aws_draft_narrows(struct aws_planning *p, int draft);
/* The draft is no operation of the plan: it puts back what draft `of` takes away, unless the
 * operation of draft `until` is done (plan.h, lb_undo).  A second one of the same `of`
 * follows the first. */
void aws_draft_undoes(struct aws_planning *p, int draft, int of, int until);
/* The draft is no operation of the plan, and changes nothing: AWS' answer shows that draft `of`,
 * which takes something down, may be carried out, or that its replacement may be made (plan.h,
 * lb_op.proof).  All values are known.  Several of the same `of` ask for all that it takes. */
void aws_draft_proves(struct aws_planning *p, int draft, int of);
/* The i-th draft as it would be sent now; action NULL: it is kept, or no operation of the plan.
 * False: there is none. */
bool aws_draft_write(const struct aws_planning *p, size_t i, struct aws_write *ret);
/* Adds all drafts to the plan. */
void aws_draft_finish(struct aws_planning *p);

/* ---- planners: append drafts; ERR_INVALID, with a message for the owner, if impossible ---- */

/* The balancer's own security group: found by name among the surroundings, or made; tags repaired;
 * its rules made exactly those wanted (BALANCE when it is new: before anything has it).  *ret: its
 * id, known or late-bound. (aws_groups_plan.c) */
int aws_plan_own_group(struct aws_planning *p, const struct aws_group_want *want,
                       struct lb_value *ret, struct err *err);
/* Is there a way from the subnets that the NLB has to the wanted ones? (aws_nlb_subnets_plan.c) */
bool aws_nlb_can_move(struct aws_planning *p, const struct aws_nlb_want *want);
/* `own` text NULL and op -1: it has none. (aws_nlb_plan.c) */
int aws_plan_nlb(struct aws_planning *p, const struct aws_nlb_want *want, struct lb_value own,
                 struct err *err);
/* (aws_classic_plan.c) */
int aws_plan_classic(struct aws_planning *p, const struct aws_classic_want *want,
                     struct lb_value own, struct err *err);
/* Rules in the groups of nodes. (aws_node_groups_plan.c) */
int aws_plan_nlb_node_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                             struct err *err);
/* Groups of nodes get the rules of the NLB `lb_name` that stand in any of them, whatever its
 * Service says now. */
int aws_plan_nlb_rules_that_stand(struct aws_planning *p, const char *lb_name,
                                  struct aws_texts instances, struct err *err);
int aws_plan_classic_node_groups(struct aws_planning *p, const struct aws_classic_want *want,
                                 struct lb_value own, struct err *err);
/* Groups of ours (by name and owner tag) that the Service no longer uses: references, then the
 * group.  `keep`: name of the one that it uses, or NULL. (aws_groups_plan.c) */
int aws_plan_left_groups(struct aws_planning *p, const char *keep, struct err *err);
/* Target groups of ours that no wanted port uses and no listener forwards to. (aws_nlb_plan.c) */
int aws_plan_left_target_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                                struct err *err);
/* The balancer of this kind, which is there; with its listeners. (aws_delete_plan.c) */
void aws_plan_balancer_goes(struct aws_planning *p, enum aws_phase phase, enum aws_kind kind,
                            const char *why);
/* Everything of the Service goes, of both kinds. (aws_delete_plan.c) */
int aws_plan_delete(struct aws_planning *p, struct err *err);
/* Nodes alone, of the balancer that is there.  (aws_upkeep_plan.c) */
int aws_plan_upkeep(struct aws_planning *p, struct aws_texts instances, struct err *err);
/* Do the security groups that the Service names, and that its load balancer has or gets, and the
 * rules of nodes let no client in to any of its ports?  False also where the rules are ours, or
 * were not read.  (aws_nobody_rules.c) */
bool aws_named_groups_let_nobody_in(const struct aws_planning *p);
/* Why the source ranges let no client in: all are of IPv6, and the load balancer has IPv4
 * addresses; or nodes see the load balancer's addresses, and no range holds them.  NULL: they let
 * some in, or that is not known.  (aws_nobody_rules.c) */
const char *aws_ranges_let_nobody_in(const struct aws_planning *p);
/* With DisableSecurityGroupIngress: do the nodes' groups let nothing in to the node ports?  False
 * also where one was not read.  (aws_nobody_rules.c) */
bool aws_nodes_let_nobody_in(const struct aws_planning *p);
/* Source ranges, or some of them, that become rules of no group: a sentence, else NULL.
 * (aws_nobody_rules.c) */
const char *aws_ranges_without_effect(const struct aws_planning *p);
/* All of the above for one Service: what the flow calls. `want` false: delete.
 * (aws_service_plan.c) */
int aws_plan_service(struct aws_planning *p, bool want, struct err *err);

#endif
