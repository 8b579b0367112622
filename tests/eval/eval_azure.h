/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure.h: what the functions azure.* of trimtab-eval share: the members of their inputs.
 *
 * Everything lives in the arena of the line. */
#ifndef TRIMTAB_TESTS_EVAL_AZURE_H
#define TRIMTAB_TESTS_EVAL_AZURE_H

#include "providers/azure/lb/azure_select_rules.h"
#include "tests/eval/eval.h"

/* `config` and `clusterName` of an input: keys as they stand in a
 * cloud-config, defaults applied. */
int eval_azure_naming(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                      struct err *err);
/* The same, and `service`. */
int eval_azure_service(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                       const struct azure_service **ret_service, struct err *err);
/* An array of ARM documents. */
struct json_object *const *eval_azure_docs(struct arena *a, struct json_object *in,
                                           const char *name, size_t *ret_n);
/* {"ipv4": …, "ipv6": …}; NULL counts as "". */
struct json_object *eval_azure_pair(const char *ipv4, const char *ipv6);

#endif
