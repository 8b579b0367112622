/* SPDX-License-Identifier: Apache-2.0 */
/* clb.h: what the parts of the simulated classic Elastic Load Balancing (2012-06-01) know of each
 * other.
 *
 * A balancer is one document, as DescribeLoadBalancers shows it; its attributes, policies and tags
 * lie beside it under its name.  Protocols are kept in upper case, however they were sent.  Private
 * to sim/aws/clb_*.c and elb.c.
 * Source: docs/spec/aws.md §3.5, §4, §10.4. */
#ifndef TRIMTAB_SIM_AWS_CLB_H
#define TRIMTAB_SIM_AWS_CLB_H

#include "sim/aws/elb/lb.h"

#define CLB_TAGS_MAX 10

/* --- clb_rules.c: pure ------------------------------------------------------------------------ */

/* A listener as it is described, from one of a request; new reference, or NULL: refused. */
struct json_object *clb_listener(struct amz_request *q, struct json_object *in);
bool clb_listener_is_secure(struct json_object *listener);
bool clb_listener_equal(struct json_object *a, struct json_object *b);
/* {Target, Interval …} with the target in AWS' spelling; new reference, or NULL: refused. */
struct json_object *clb_health_check(struct amz_request *q, struct json_object *in);
/* The check of a new balancer: the first listener's instance port over TCP; new reference. */
struct json_object *clb_health_default(struct arena *a, struct json_object *listener);
/* LoadBalancerAttributes of a new balancer; new reference. */
struct json_object *clb_attribute_defaults(void);
/* Members of `in` over those of `have` (in place), when they can be so. */
bool clb_attributes_change(struct amz_request *q, struct json_object *have, struct json_object *in);

/* --- clb_policy_rules.c: pure ----------------------------------------------------------------- */

/* Checks type, name and attributes of a policy. */
bool clb_policy_check(struct amz_request *q, struct json_object *policy);
/* The same type and attributes, in any order. */
bool clb_policy_equal(struct json_object *a, struct json_object *b);
/* {PolicyName, PolicyTypeName, PolicyAttributeDescriptions} of a security policy that AWS ships;
 * new reference. */
struct json_object *clb_policy_shipped(const char *name);
/* The member of Policies that lists policies of this type. */
const char *clb_policy_list(const char *type);
bool clb_policy_is_for_backend(const char *type);
/* Such a policy can be set on a listener of this protocol. */
bool clb_policy_fits(const char *type, const char *protocol);

/* --- clb_balancers.c -------------------------------------------------------------------------- */

bool clb_create(struct amz_request *q);
bool clb_describe(struct amz_request *q);
bool clb_delete(struct amz_request *q);
/* The balancer that LoadBalancerName names; NULL: LoadBalancerNotFound. */
struct amz_resource *clb_find(struct amz_request *q);
struct amz_resource *clb_find_named(struct amz_request *q, const char *name);

/* --- clb_network.c: subnets, groups, instances, health ---------------------------------------- */

/* Takes subnets (texts) into the body with their zones; refuses what cannot be. */
bool clb_place(struct amz_request *q, struct json_object *body, struct json_object *subnets);
/* Sets groups, or without any the VPC's default group; with SourceSecurityGroup. */
bool clb_set_groups(struct amz_request *q, struct json_object *body, struct json_object *groups);
bool clb_attach_subnets(struct amz_request *q);
bool clb_detach_subnets(struct amz_request *q);
bool clb_apply_groups(struct amz_request *q);
bool clb_register(struct amz_request *q);
bool clb_deregister(struct amz_request *q);
/* Takes an instance out of a balancer's list. */
void clb_forget_instance(struct aws *aws, struct amz_resource *lb, const char *instance);
bool clb_describe_health(struct amz_request *q);
bool clb_configure_health(struct amz_request *q);

/* --- clb_listeners.c, clb_policies.c, clb_attributes.c ---------------------------------------- */

/* Reads the listeners of the request into *ret (new reference): each is right by itself,
 * no port twice. */
bool clb_read_listeners(struct amz_request *q, struct json_object **ret);
/* Adds listeners to a body (copies), secure ones with their default policy. */
void clb_add_listeners(struct amz_request *q, struct json_object *body,
                       struct json_object *listeners);
bool clb_create_listeners(struct amz_request *q);
bool clb_delete_listeners(struct amz_request *q);
bool clb_set_certificate(struct amz_request *q);
/* The description of the listener of a port, or NULL. */
struct json_object *clb_listener_at(struct json_object *body, int64_t port);

/* The policies of a balancer; NULL: none; borrowed. */
struct json_object *clb_policies_of(const struct aws *aws, const char *name);
/* Adds a policy (taken over) of a balancer. */
void clb_policy_add(struct aws *aws, const char *name, struct json_object *body,
                    struct json_object *policy);
bool clb_create_policy(struct amz_request *q);
bool clb_delete_policy(struct amz_request *q);
bool clb_describe_policies(struct amz_request *q);
bool clb_set_listener_policies(struct amz_request *q);
bool clb_set_backend_policies(struct amz_request *q);

bool clb_describe_attributes(struct amz_request *q);
bool clb_modify_attributes(struct amz_request *q);
struct json_object *clb_tags_of(const struct aws *aws, const char *name);
void clb_tags_set(struct aws *aws, const char *name, struct json_object *tags);
bool clb_add_tags(struct amz_request *q);
bool clb_remove_tags(struct amz_request *q);
bool clb_describe_tags(struct amz_request *q);

#endif
