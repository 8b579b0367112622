/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws_whole.h: what the judges of whole Services share (world_aws_whole.c,
 * world_aws_admits.c).  Private to them. */
#ifndef TRIMTAB_TESTS_FAULT_WORLD_AWS_WHOLE_H
#define TRIMTAB_TESTS_FAULT_WORLD_AWS_WHOLE_H

#include "common/base/map.h"
#include "common/base/strset.h"
#include "tests/fault/world_aws.h"

#define AWS_NODES "nodes" /* the group of the nodes */

struct aws_whole {
    const struct world_view *v;
    struct str_set nodes;  /* their instances */
    struct map *wanted;    /* ids of documents that belong to a Service */
    struct map *rules;     /* texts of rules that the nodes' group must have */
    struct map *tolerated; /* and that it may have */
    /* rules for probes that it must have, of whichever balancer: without description */
    struct map *probes;
    struct err *err;
};
void aws_want(struct aws_whole *w, const char *id);
/* The value of "service.beta.kubernetes.io/aws-load-balancer-…", or NULL. */
const char *aws_note_of(struct json_object *service, const char *suffix);
/* Has the Service another port of the same number, for the other protocol? */
bool aws_serves_both(struct json_object *service, struct json_object *port);

/* Notes what must be admitted to the nodes, and that the balancer's groups are wanted
 * and admit clients. */
int aws_admit_classic(struct aws_whole *w, struct json_object *service, struct json_object *lb);
int aws_admit_to_nlb(struct aws_whole *w, struct json_object *service, struct json_object *lb);
int aws_admit_nlb(struct aws_whole *w, struct json_object *service, struct json_object *port,
                  struct json_object *lb, struct json_object *target_group);
/* The nodes' group has what was noted, what users put there, and nothing else. */
int aws_check_node_rules(struct aws_whole *w);

#endif
