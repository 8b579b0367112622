/* SPDX-License-Identifier: Apache-2.0 */
/* aws_owned_rules.h: what in the cloud is ours, by names and tags, and whose it was.  Pure.
 *
 * Load balancers are called "a<uid>", their classic groups "k8s-elb-a<uid>", rules in groups of
 * nodes name the balancer in their description: these are a unit, known by the UID.  Target groups
 * and groups of NLBs have hashed names; a tag names the owner of target groups, nothing that of
 * groups of NLBs.  Only what bears the tag of our cluster counts.
 * Source: docs/spec/aws.md 4.5, 5.7, 5.9, 5.11; docs/adr/0020. */
#ifndef TRIMTAB_AWS_OWNED_RULES_H
#define TRIMTAB_AWS_OWNED_RULES_H

#include "common/base/map.h"
#include "common/cloud/inventory.h"
#include "providers/aws/model/aws_rules.h"

/* Kinds of struct inventory_item.  `id` is the ARN, name or id by which the command names it; of a
 * rule its arguments, or NULL.  `place` of a rule is the id of its group.  `unit` is "a<uid>",
 * "ns/name", or the name itself.  A rule in a group that bears another cluster's tag, too, and
 * whose balancer is not among ours, is unsure. */
enum aws_owned_kind {
    AWS_OWNED_CLASSIC = 0,
    AWS_OWNED_NLB,
    AWS_OWNED_TARGET_GROUP,
    AWS_OWNED_GROUP,
    AWS_OWNED_RULE,
    AWS_OWNED_KINDS,
};
struct aws_owned_list {
    struct arena *a;
    const struct aws_naming *naming;
    struct map *names; /* of balancers and groups of Services that count */
    struct map *keys;  /* "ns/name" of these */
    struct inventory inv;
};
/* The maps are made here and freed by _done(). */
void aws_owned_init(struct aws_owned_list *l, struct arena *a, const struct aws_naming *naming);
void aws_owned_done(struct aws_owned_list *l);
/* A Service that has, or is being rid of, a load balancer of ours. */
void aws_owned_count(struct aws_owned_list *l, const struct tt_service *svc);

/* Could the name be one of trimtab?  Only then its tags are worth asking for. */
bool aws_owned_is_balancer_name(const char *name);
bool aws_owned_is_target_group_name(const char *name);
/* The tagged resource; skipped if the tags are not of this cluster. */
void aws_owned_classic(struct aws_owned_list *l, const char *name, const struct aws_tags *tags);
void aws_owned_nlb(struct aws_owned_list *l, const struct aws_nlb *nlb,
                   const struct aws_tags *tags);
void aws_owned_target_group(struct aws_owned_list *l, const struct aws_target_group *g,
                            const struct aws_tags *tags);
/* Groups of balancers, and rules in groups of nodes. */
void aws_owned_group(struct aws_owned_list *l, const struct aws_group *g);
/* When all groups are in: rules of this one that let in a group of those. */
void aws_owned_referring(struct aws_owned_list *l, const struct aws_group *g);
/* When all are in: inventory_settle(), and what else the parts of a unit say of each other. */
void aws_owned_settle(struct aws_owned_list *l);

extern const struct inventory_words aws_owned_words[AWS_OWNED_KINDS];
const char *aws_owned_command(struct arena *a, const struct inventory_item *item);
/* A Service by which the item's unit can be deleted; NULL: its owner is not known, or
 * is there again. */
const struct tt_service *aws_owned_service(const struct aws_owned_list *l,
                                           const struct inventory_item *item);

#endif
