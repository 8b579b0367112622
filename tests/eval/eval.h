/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h: the table of functions that trimtab-eval answers for.
 *
 * Each entry takes the `in` member of a request and makes the `out` member of the answer, by
 * calling exactly the function that the controller calls.  An error means that the function refuses
 * this input.  The arena lives for one line. */
#ifndef TRIMTAB_TESTS_EVAL_H
#define TRIMTAB_TESTS_EVAL_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <trimtab/types.h>

/* Result of a function for an input of a kind that is not built. */
#define EVAL_UNSUPPORTED (-1)

struct eval_fn {
    const char *name; /* NULL ends a table */
    /* *ret_out is a new reference; leave it NULL for the answer null.  ERR_OK, EVAL_UNSUPPORTED, or
     * the code by which the function refuses. */
    int (*run)(struct arena *a, struct json_object *in, struct json_object **ret_out,
               struct err *err);
};
extern const struct eval_fn eval_kubernetes[];
extern const struct eval_fn eval_gce[];           /* Services, names, links, ports */
extern const struct eval_fn eval_gce_resources[]; /* cloud resources */
extern const struct eval_fn eval_gce_l4_decide[]; /* whose is a Service */
extern const struct eval_fn eval_gce_neg[];       /* nodes behind a balancer */
extern const struct eval_fn
    eval_gce_l4_rules[]; /* balancers with a backend service: names, Services */
extern const struct eval_fn eval_gce_l4_resources[]; /* … their cloud resources, compared */
extern const struct eval_fn eval_gce_l4_desired[];   /* … the whole cloud */
extern const struct eval_fn eval_aws_config[];       /* cloud config, signatures */
extern const struct eval_fn eval_azure_config[];     /* cloud-config */
extern const struct eval_fn eval_azure_nsg[];        /* security rules */
extern const struct eval_fn eval_azure_pip[];        /* public IPs */
extern const struct eval_fn eval_azure_lb[];         /* load balancer documents */
extern const struct eval_fn eval_azure_names[];      /* names, selection, annotations, tags */
extern const struct eval_fn eval_aws_names[];        /* names, tags, annotations, nodes */
extern const struct eval_fn eval_aws_desired[];      /* load balancers */
extern const struct eval_fn eval_aws_network[];      /* subnets, security groups, targets */
extern const struct eval_fn eval_local[];            /* slots, buckets, targets */
extern const struct eval_fn
    eval_services_node[]; /* inside the cluster: names, lists, traces, health */
extern const struct eval_fn eval_services_render[]; /* inside the cluster: rules */

/* Objects as the API server serves them, through the controller's own decoder; what the decoder
 * insists on and the caller left out (name, resourceVersion) is filled in.  NULL `o` gives
 * an empty object. */
int eval_service(struct arena *a, struct json_object *o, const struct tt_service **ret,
                 struct err *err);
int eval_node(struct arena *a, struct json_object *o, const struct tt_node **ret, struct err *err);
int eval_nodes(struct arena *a, struct json_object *array, const struct tt_node *const **ret,
               size_t *ret_n, struct err *err);
int eval_slices(struct arena *a, struct json_object *array, const struct tt_slice *const **ret,
                size_t *ret_n, struct err *err);
/* The strings of a member that is an array; none when it is absent; null reads as "". */
const char **eval_strs(struct arena *a, struct json_object *o, const char *name, size_t *ret_n);

#endif
