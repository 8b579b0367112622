/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_vmss_plan.h: what is written to a scale set and its instances so that they are in a
 * pool, or leave it.
 *
 * The model and each instance hold the same lists; what is sent is the part that Azure needs (7.3),
 * with everything that we do not know in it as it was read.
 * Source: docs/spec/azure.md 7.3, 7.4.  Pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_VMSS_PLAN_H
#define TRIMTAB_AZURE_MEMBERS_VMSS_PLAN_H

#include "providers/azure/model/azure_config.h"
#include "providers/azure/model/azure_refs_rules.h"

/* NULL: nothing is to be written; *ret_why (else untouched) says why although something
 * was asked for. */
struct json_object *azure_vmss_model(struct arena *a, const struct azure_config *c,
                                     struct json_object *set, const struct azure_refs *refs,
                                     const char **ret_why);
struct json_object *azure_vmss_instance(struct arena *a, const struct azure_config *c,
                                        struct json_object *vm, const struct azure_refs *refs,
                                        const char **ret_why);
/* Does the model name the pool? */
bool azure_vmss_model_has(struct json_object *set, const char *pool);
bool azure_vmss_is_flexible(struct json_object *set);
/* Instances of a set whose writes may be in progress at a time: putVMSSVMBatchSize where AKS
 * coordinates, else `most`.  Upstream begins one write after the other there, but does not wait for
 * one to end before the next begins (7.3). */
size_t azure_vmss_batch(const struct azure_config *c, struct json_object *set, size_t most);
/* The instance ID that the last six characters of a computer's name stand for; -1: none. */
int64_t azure_vmss_instance_id(const char *computer);
/* Is `computer` the name of an instance of that set? */
bool azure_vmss_is_named(struct json_object *set, const char *computer);

#endif
