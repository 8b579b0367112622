/* SPDX-License-Identifier: Apache-2.0 */
/* nlb.h: what the parts of the simulated Elastic Load Balancing v2 (2015-12-01) know of each other.
 *
 * Served is what network load balancers need: balancers of type network, their listeners, and
 * target groups of instances and addresses.  An application or gateway balancer can stand in a
 * world: it is described, holds its name and can be deleted.  The documents are the API's own; what
 * follows from others (a group's LoadBalancerArns, a target's health) is worked out when it is
 * read.  Private to sim/aws/nlb_*.c and elbv2.c.
 * Source: docs/spec/aws.md §3.5, §5, §10.4. */
#ifndef TRIMTAB_SIM_AWS_NLB_H
#define TRIMTAB_SIM_AWS_NLB_H

#include "sim/aws/elb/lb.h"

#define NLB_TAGS_MAX  50
#define NLB_NAMED_MAX 20 /* names or ARNs in one Describe */

/* --- nlb_rules.c: pure ------------------------------------------------------------------------ */

/* Attributes of balancers, target groups and listeners: a list of {Key, Value} by key,
 * each with its rule. */
enum nlb_attribute_set {
    NLB_BALANCER = 0,
    NLB_LISTENER,
    NLB_GROUP,
};
/* Kind of a document: selects its attributes and their defaults. */
struct nlb_subject {
    enum nlb_attribute_set set;
    const char *protocol; /* of a group or listener: "TCP"; "" of a balancer */
    const char *target_type;
    const char *name; /* for refusals: its ARN */
    bool internal;    /* of a balancer */
};
/* The list as AWS fills it when the thing is made; new reference. */
struct json_object *nlb_attribute_defaults(const struct nlb_subject *s);
/* Each of `wanted` is known here, once, with a value that it may have, and with `have` they make
 * sense together. */
bool nlb_attributes_check(struct amz_request *q, const struct nlb_subject *s,
                          struct json_object *wanted, struct json_object *have);
/* Value of a key, "" when absent. */
const char *nlb_attribute(struct json_object *list, const char *key);
/* Sets what `wanted` says in `list`. */
void nlb_attributes_put(struct json_object *list, struct json_object *wanted);

/* --- nlb_health_rules.c: pure ----------------------------------------------------------------- */

/* "TCP", "TLS", "UDP", "TCP_UDP". */
bool nlb_protocol_is_layer4(const char *protocol);
/* Sets the health check members of a group that `in` leaves open, as AWS does for its protocol. */
void nlb_health_fill(struct json_object *group);
/* Takes the members of `in` into `group` (which is complete) and checks the outcome. */
bool nlb_health_change(struct amz_request *q, struct json_object *group, struct json_object *in);

/* --- nlb_listener_rules.c: pure --------------------------------------------------------------- */

/* ARNs of the target groups that a listener forwards to; new reference. */
struct json_object *nlb_forwards_to(struct json_object *listener);
/* A listener of that protocol may forward to a group of this one. */
bool nlb_protocols_fit(const char *listener, const char *group);
/* Checks DefaultActions and brings them into the form in which they are described (in place). */
bool nlb_actions_check(struct amz_request *q, struct json_object *actions);
/* Protocol, certificates, policies and the like go together; fills in the default policy. */
bool nlb_listener_check(struct amz_request *q, struct json_object *listener);
/* Nothing but ARN differs. */
bool nlb_listener_equal(struct json_object *a, struct json_object *b);

/* --- finding ---------------------------------------------------------------------------------- */

/* These refuse and return NULL when there is none: ValidationError for what is no
 * such ARN, …NotFound. */
struct amz_resource *nlb_find_balancer(struct amz_request *q, const char *arn);
struct amz_resource *nlb_find_listener(struct amz_request *q, const char *arn);
struct amz_resource *nlb_find_group(struct amz_request *q, const char *arn);
bool nlb_balancer_arn_is_valid(const char *arn);
bool nlb_group_arn_is_valid(const char *arn);
bool nlb_listener_arn_is_valid(const char *arn);
/* Refuses what is not of type network: only such are served. */
bool nlb_must_be_network(struct amz_request *q, const struct amz_resource *lb);
/* By name, or NULL. */
struct amz_resource *nlb_balancer_named(const struct aws *aws, const char *name);
struct amz_resource *nlb_group_named(const struct aws *aws, const char *name);
/* The texts of a list are at most NLB_NAMED_MAX. */
bool nlb_check_named(struct amz_request *q, struct json_object *list, const char *what);

/* --- balancers -------------------------------------------------------------------------------- */

bool nlb_create_balancer(struct amz_request *q);
bool nlb_describe_balancers(struct amz_request *q);
bool nlb_delete_balancer(struct amz_request *q);
/* nlb_places.c: subnets and addresses of a balancer. */
bool nlb_set_subnets(struct amz_request *q);
bool nlb_set_address_type(struct amz_request *q);
bool nlb_set_groups(struct amz_request *q);
/* The requested place of a balancer. */
struct nlb_place {
    struct lb_place at;
    const char *allocation;   /* elastic IP, or NULL */
    const char *address;      /* private IPv4, or NULL */
    const char *ipv6_address; /* or NULL */
};
struct nlb_siting {
    struct nlb_place *places;
    size_t n;
    const char *scheme, *address_type;
};
/* Reads Subnets or SubnetMappings and checks them, as a change of `lb` (NULL: for a new one).  The
 * addresses of `self` (or NULL) count as free. */
bool nlb_read_siting(struct amz_request *q, const struct amz_resource *lb,
                     const struct amz_resource *self, struct nlb_siting *ret);
/* AvailabilityZones as described; new reference. */
struct json_object *nlb_siting_zones(struct amz_request *q, const struct nlb_siting *s);

/* --- listeners, groups, targets --------------------------------------------------------------- */

bool nlb_create_listener(struct amz_request *q);
bool nlb_describe_listeners(struct amz_request *q);
bool nlb_modify_listener(struct amz_request *q);
bool nlb_delete_listener(struct amz_request *q);
/* Removes a listener with its attributes and tags. */
void nlb_listener_drop(struct aws *aws, const char *arn);

/* --- nlb_room.c: quotas of targets ------------------------------------------------------------ */

/* The targets of a balancer's groups, of the groups `with` (ARNs, or NULL) and `more`
 * (TargetDescriptions, or NULL) are not too many, in all and in each zone: TooManyTargets. */
bool nlb_check_room(struct amz_request *q, const char *lb, struct json_object *with,
                    struct json_object *more);

bool nlb_create_group(struct amz_request *q);
bool nlb_describe_groups(struct amz_request *q);
bool nlb_modify_group(struct amz_request *q);
bool nlb_delete_group(struct amz_request *q);
/* ARNs of the balancers whose listeners forward to the group, each once; new reference. */
struct json_object *nlb_group_balancers(const struct aws *aws, const char *group);

bool nlb_register_targets(struct amz_request *q);
bool nlb_deregister_targets(struct amz_request *q);
bool nlb_describe_health(struct amz_request *q);
/* The group's health check has changed: its targets are asked at another port. */
void nlb_check_targets(struct aws *aws, const struct amz_resource *group);
/* Takes out the targets whose draining is over. */
void nlb_settle_targets(struct aws *aws, struct amz_resource *health);
/* A TargetHealthDescription that says so. */
bool nlb_target_drains(struct json_object *item);
/* Takes an instance out of a group's list, whatever the ports. */
void nlb_forget_instance(struct aws *aws, struct amz_resource *health, const char *instance);
/* How many targets the group has that are not draining. */
size_t nlb_count_targets(struct amz_resource *health);

/* --- attributes, tags ------------------------------------------------------------------------- */

bool nlb_describe_balancer_attributes(struct amz_request *q);
bool nlb_modify_balancer_attributes(struct amz_request *q);
bool nlb_describe_group_attributes(struct amz_request *q);
bool nlb_modify_group_attributes(struct amz_request *q);
bool nlb_describe_listener_attributes(struct amz_request *q);
bool nlb_modify_listener_attributes(struct amz_request *q);
/* The attributes of a balancer: what is stored over the defaults; new reference. */
struct json_object *nlb_balancer_attributes(struct amz_request *q, struct amz_resource *lb);

bool nlb_add_tags(struct amz_request *q);
bool nlb_remove_tags(struct amz_request *q);
bool nlb_describe_tags(struct amz_request *q);
/* The tags of something; borrowed, NULL: none. */
struct json_object *nlb_tags_of(const struct aws *aws, const char *arn);
/* Tags of something new (`tags` NULL or empty: none). */
void nlb_tags_set(struct aws *aws, const char *arn, struct json_object *tags);

#endif
