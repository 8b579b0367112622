/* SPDX-License-Identifier: Apache-2.0 */
/* aws_client.h: what the calls of a process share: delays, the budget of retries, the server's time.  aws_call.c's own.
 *
 * Thread-safe; nothing here blocks.  Source: docs/spec/aws.md 2.8 to 2.10. */
#ifndef TRIMTAB_AWS_CLIENT_H
#define TRIMTAB_AWS_CLIENT_H

#include "common/base/lock.h"
#include "common/net/budget.h"
#include "providers/aws/api/aws_call.h"
#include "providers/aws/api/aws_delay.h"
#include "providers/aws/auth/aws_auth.h"

/* A clock that is off.  What is learnt from a refusal is forgotten when the own clock is set anew, or when a request that
 * went out without it is answered well: one is tried every ten minutes. */
struct aws_skew {
    int64_t us;       /* to be added to the own time; 0: none */
    int64_t base_ms;  /* wall time less monotonic time when it was learnt */
    int64_t probe_ms; /* when the next request goes without it */
};
struct aws_client {
    struct arena *a;
    const struct tt_host *host;
    struct clock *clock;
    struct aws_auth *auth;
    struct budgets *request_budgets;
    struct aws_endpoint endpoints[AWS_APIS];
    bool answers_once;
    int max_attempts;
    struct sigv4_cache cache;
    struct mutex lock;
    struct aws_delay delays[AWS_APIS] _guarded_by_(lock);
    int budgets[AWS_APIS] _guarded_by_(lock);
    struct aws_skew skew _guarded_by_(lock);
};

/* When an operation may begin; counts it. */
int64_t aws_client_delay(struct aws_client *c, enum aws_api api, int64_t now_ms);
void aws_client_throttled(struct aws_client *c, enum aws_api api);
/* False: the budget of retries is used up. */
bool aws_client_take_retry(struct aws_client *c, enum aws_api api, int cost);
/* An attempt has gone well; `cost` is what it had taken. */
void aws_client_give_back(struct aws_client *c, enum aws_api api, int cost);
/* What to add to the own time.  With `may_probe`, *ret_probes says that none is added although one is known. */
int64_t aws_client_skew(struct aws_client *c, int64_t now_ms, int64_t wall_us, bool may_probe,
                        bool *ret_probes);
void aws_client_probe_went_well(struct aws_client *c);
/* The server's time was `server_s` when ours was `wall_us`, and a request that was signed with `used_us` was refused.  False:
 * that is no difference that explains it. */
bool aws_client_learn_skew(struct aws_client *c, int64_t server_s, int64_t wall_us, int64_t now_ms,
                           int64_t used_us);

#endif
