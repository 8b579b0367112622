/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws.h: what the files of functions aws.* of trimtab-eval share: inputs taken
 * apart, answers put together. */
#ifndef TRIMTAB_TESTS_EVAL_AWS_H
#define TRIMTAB_TESTS_EVAL_AWS_H

#include "providers/aws/model/aws_rules.h"
#include "tests/eval/eval.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* clusterID, clusterName, legacyTags and config of a question. */
struct aws_naming eval_aws_naming(struct json_object *in);
/* … and its service, read. */
int eval_aws_service(struct arena *a, struct json_object *in, struct aws_naming *ret_naming,
                     const struct aws_service **ret, struct err *err);
struct aws_texts eval_aws_texts(struct arena *a, struct json_object *in, const char *name);
/* [{"Key": …, "Value": …}] in the order given. */
struct aws_tags eval_aws_tag_list(struct arena *a, struct json_object *array);
/* {"key": "value"} in the order given. */
struct aws_tags eval_aws_tag_map(struct arena *a, struct json_object *map);
struct json_object *eval_aws_tags(const struct aws_tags *tags);
/* Permissions as EC2 spells them, one rule per source. */
struct aws_rules eval_aws_rules(struct arena *a, struct json_object *permissions);
/* Rules in the order of eval's tuples. */
struct json_object *eval_aws_tuples(struct arena *a, const struct aws_rules *rules);
struct aws_classic_listener *eval_aws_listeners(struct arena *a, struct json_object *array,
                                                size_t *ret_n);
struct json_object *eval_aws_listener(const struct aws_classic_listener *l);
/* instance: InstanceId, SecurityGroups. */
struct aws_instance eval_aws_instance(struct arena *a, struct json_object *o);

#endif
