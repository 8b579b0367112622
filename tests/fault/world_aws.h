/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws.h: what the parts of AWS' rules for worlds share (world_internal.h).  Private
 * to them. Pure. */
#ifndef TRIMTAB_TESTS_FAULT_WORLD_AWS_H
#define TRIMTAB_TESTS_FAULT_WORLD_AWS_H

#include "tests/fault/world_internal.h"

/* Ids of documents, as flatten() makes them. */
#define AWS_GROUP                                                                                  \
    "ec2/SecurityGroups/" /* and a group's name: foreign ones have names of their own */
#define AWS_INSTANCE "ec2/Instances/"
#define AWS_CLASSIC  "elb/LoadBalancerDescriptions/"
#define AWS_NLB      "elbv2/LoadBalancers/"
#define AWS_LISTENER "elbv2/Listeners/"
#define AWS_TARGETS  "elbv2/TargetGroups/"
#define AWS_HEALTH   "elbv2/TargetHealth/"
#define AWS_PROBES   "kubernetes.io/rule/nlb/health=" /* description of a rule */

/* "kubernetes.io/service-name" of a list of tags; NULL: absent. */
const char *aws_tag_of(struct json_object *tags, const char *key);

/* A target that is on its way out. */
bool aws_is_draining(struct json_object *target);

/* One rule of a security group for one source. */
struct aws_atom {
    const char *protocol;
    int64_t from, to; /* -1: none */
    const char *source;
    const char *description;
};
/* Each source of each permission by itself, in the arena. */
struct aws_atom *aws_atoms_of(struct arena *a, struct json_object *group, size_t *ret_n);
const char *aws_atom_text(struct arena *a, const struct aws_atom *atom);

/* As struct world_rules wants them. */
struct json_object *aws_flatten(struct arena *a, struct json_object *docs);
void aws_add_foreign(struct arena *a, struct json_object *docs, struct json_object *foreign);
void aws_strip(struct arena *a, struct json_object *docs, struct json_object *foreign);
int aws_check_whole(const struct world_view *v, struct err *err);

#endif
