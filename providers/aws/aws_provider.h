/* SPDX-License-Identifier: Apache-2.0 */
/* aws_provider.h: the provider's handle: what open() builds and every call shares.
 *
 * Immutable after open() but for members that lock themselves.  Several workers call at the same
 * time, for different Services.  Private to providers/aws but for the descriptor. */
#ifndef TRIMTAB_AWS_PROVIDER_H
#define TRIMTAB_AWS_PROVIDER_H

#include "common/base/arena.h"
#include "common/lb/driver.h"
#include "common/net/budget.h"
#include "providers/aws/auth/aws_auth.h"
#include "providers/aws/auth/aws_imds.h"
#include "providers/aws/cloud/aws_cloud.h"
#include "providers/aws/cloud/aws_stakes.h"
#include "providers/aws/cloud/aws_written.h"
#include "providers/aws/model/aws_config.h"

#include <trimtab/provider.h>

struct aws_memory;
struct aws_provider {
    struct arena *a; /* configuration */
    const struct tt_host *host;
    struct clock *clock;
    struct rng *rng;
    struct aws_config config;
    struct aws_env env;
    struct aws_naming naming;
    const char *own_subnet; /* SubnetID, or the own instance's; "" none */
    struct aws_imds *imds;
    struct aws_auth *auth;     /* NULL offline */
    struct budgets *budgets;   /* of requests to AWS; NULL offline */
    struct aws_client *client; /* NULL offline */
    struct aws_cloud *cloud;
    struct http_pool *http;
    struct cancel *cancel; /* fired by close() */
    struct call_watch *watch;
    struct aws_stakes *stakes;   /* rules of security groups that syncs need or take away (7.5) */
    struct aws_written *written; /* those that lists may not show yet */
    struct aws_memory *memory;   /* what earlier calls of this process found out (aws_memory.h) */
    bool repair_adopted;         /* --repair-adopted */
    bool offline;                /* plan --state: what was put in is the cloud, nothing is asked */
};

/* The descriptor of the provider, for the table of built-in ones and for tests. */
extern const struct tt_provider tt_aws_provider;

/* open() with another clock, randomness and environment, for tests; NULL: the real ones. */
struct aws_open_with {
    struct clock *clock;
    struct rng *rng;
    const struct aws_env *env;
};
int32_t aws_provider_open(const struct tt_open_args *args, const struct aws_open_with *with,
                          void **ret_provider, struct tt_result *result);
/* Identity and place: region, VPC, subnet, cluster id (1.4, 2.5); makes auth and client.  Asks IMDS
 * and EC2 only for what the configuration does not say.  Names the key that would help.
 * (aws_start.c) */
int aws_start(struct aws_provider *p, const struct tt_open_args *args, struct err *err);

/* The flow (aws_flow.c). */
extern const struct lb_flow aws_flow;
int32_t aws_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t aws_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch);
/* Is there anything of this Service's? (aws_get.c) */
int32_t aws_get_load_balancer(void *provider, const struct tt_call *call,
                              const struct tt_item *item);
/* All that has a name or tag of ours (aws_owned.c). */
int32_t aws_list_owned(void *provider, const struct tt_call *call);
/* explain and validate (aws_explain.c). */
int32_t aws_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t aws_validate(void *provider, const struct tt_item *item);

#endif
