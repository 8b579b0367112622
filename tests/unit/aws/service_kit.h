/* SPDX-License-Identifier: Apache-2.0 */
/* service_kit.h: plan_kit.h for tests of whole Services: everything that aws_plan_service() plans,
 * and what it tells. */
#ifndef TRIMTAB_TESTS_AWS_SERVICE_KIT_H
#define TRIMTAB_TESTS_AWS_SERVICE_KIT_H

#include "tests/unit/aws/plan_kit.h"

struct service_kit {
    struct kit *k;
    bool no_places;              /* nothing was read of the VPC */
    struct str_set other_groups; /* that other Services name */
    struct str_set other_mains;  /* of classic ones among them */
    struct str_set other_names;  /* of other Services' balancers */
    bool knows_needed;           /* what others need of nodes' groups was asked */
    bool referring;              /* groups without tag that refer to ours were read */
    /* AWS has said that there is no room for it, as lb_plan_makes_room() asks; or NULL */
    const char *full;
    bool texts_stay;              /* descriptions of rules may not be changed */
    bool spares;                  /* nothing that works is taken down for it (lb_spares()) */
    struct aws_planning planning; /* of the last plan */
};
/* A classic balancer wanted, in subnet-1 and subnet-2 by discovery. */
struct service_kit *service_kit_new(void);
void service_kit_free(struct service_kit *s);

/* Plans and seals.  The error is *err. */
int service_try(struct service_kit *s, bool want, struct err *err);
/* Fails the test when it cannot be planned. */
void service_plan(struct service_kit *s, bool want);
/* Plans, carries out, plans again; there is nothing to do then. */
void service_settle(struct service_kit *s, bool want);
/* The kit_waves() of the last plan; the kit_params() of its nth such operation. */
const char *service_waves(struct service_kit *s);
const char *service_params(struct service_kit *s, const char *action, size_t nth, const char *but);
/* A classic balancer that is there, with whatever the kit's lines say. */
struct service_kit *service_standing(const char *ports, const char *lines);
/* Plans an edit, carries it out, and shows what it was. */
const char *service_edited(struct service_kit *s);
/* The text of the only finding, or "" none. */
const char *service_finding(const struct service_kit *s);
/* Effects of the plan, one per line. */
const char *service_effects(const struct service_kit *s);

/* A security group of the world; `tag` NULL, or the value of the cluster's tag. */
struct aws_group *service_group(struct service_kit *s, const char *id, const char *name,
                                const char *tag);
/* "tcp 80 10.0.0.0/8", "-1 sg-1", "tcp 80 ::/0": with a description behind ';'. */
struct aws_rule service_rule(struct service_kit *s, const char *text);
/* Adds one to a group of the world. */
void service_add_rule(struct service_kit *s, const char *group, const char *text);
/* Rules of a group as such texts, one per line; NULL: there is no such group. */
const char *service_rules(const struct service_kit *s, const char *group);
/* The world's group of that name, or NULL. */
const struct aws_group *service_named(const struct service_kit *s, const char *name);

#endif
