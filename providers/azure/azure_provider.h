/* SPDX-License-Identifier: Apache-2.0 */
/* azure_provider.h: the entries of the Azure provider: its descriptor and the calls in it.
 *
 * Private to providers/azure but for the descriptor.  The handle is sync/azure_handle.h. */
#ifndef TRIMTAB_AZURE_PROVIDER_H
#define TRIMTAB_AZURE_PROVIDER_H

#include "providers/azure/sync/azure_handle.h"

/* The descriptor of the provider, for the table of built-in ones and for tests. */
extern const struct tt_provider tt_azure_provider;

/* open() with another clock and randomness, for tests; NULL: the real ones. */
int32_t azure_provider_open(const struct tt_open_args *args, struct clock *clock, struct rng *rng,
                            void **ret_provider, struct tt_result *result);
/* Reads the cloud config; unknown keys become findings.  ERR_INVALID names line and key.
 * (azure_config_check.c) */
int azure_config_load(struct arena *a, const struct tt_open_args *args, struct azure_env *ret_env,
                      struct azure_config *ret, struct err *err) _warn_unused_;
int32_t azure_config_check(const struct tt_open_args *args, struct tt_result *result);

/* The flow of shared documents (azure_flow.c). */
extern const struct lb_flow azure_flow;
/* Is there anything of this Service's? (azure_get.c) */
int32_t azure_get_load_balancer(void *provider, const struct tt_call *call,
                                const struct tt_item *item);
/* All that has a name or tag of ours (azure_owned.c). */
int32_t azure_list_owned(void *provider, const struct tt_call *call);
/* explain and validate (azure_explain.c). */
int32_t azure_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t azure_validate(void *provider, const struct tt_item *item);

#endif
