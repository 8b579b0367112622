/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_internal.h: what the files of aws_world.h share. */
#ifndef TRIMTAB_TESTS_SUPPORT_AWS_WORLD_INTERNAL_H
#define TRIMTAB_TESTS_SUPPORT_AWS_WORLD_INTERNAL_H

#include "tests/support/aws_world.h"

/* NULL: refused. */
struct aws_world_nlb *aws_world_nlb_of(struct aws_world_call *c, const char *arn);
struct aws_world_target_group *aws_world_target_group_of(struct aws_world_call *c, const char *arn);
/* Attributes with those of the call in their place, which must be among `known`, though an emulator
 * may not list all of them at first; the call has changed something when each of
 * them was another. */
struct aws_tags aws_world_attributes(struct aws_world_call *c, const struct aws_tags *has,
                                     const struct aws_tags *known);

void aws_world_create_listener(struct aws_world_call *c);
void aws_world_modify_listener(struct aws_world_call *c);
void aws_world_delete_listener(struct aws_world_call *c);
void aws_world_create_target_group(struct aws_world_call *c);
void aws_world_modify_target_group(struct aws_world_call *c);
void aws_world_delete_target_group(struct aws_world_call *c);
void aws_world_modify_group_attributes(struct aws_world_call *c);
void aws_world_register(struct aws_world_call *c);
void aws_world_deregister(struct aws_world_call *c);

#endif
