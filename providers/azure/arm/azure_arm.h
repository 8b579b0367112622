/* SPDX-License-Identifier: Apache-2.0 */
/* azure_arm.h: one call of Azure Resource Manager: its URL, its token, its retries, its operation,
 * its error.
 *
 * A call is a state machine of HTTP requests, asked for the next one until it is done; so many
 * calls run at once on one handle, and one step of a plan is one call.  Inside, in this order:
 *   - a token is taken from the cache, or fetched; after a 401 it is dropped and fetched once more;
 *   - a gate per (subscription, kind, reading or writing) that a 429 has closed is waited for, or
 *     the call fails THROTTLED with the time that is left; then the rate limiter of the
 *     configuration, where it is on;
 *   - transient failures are sent again with jitter; a document's If-Match makes that safe;
 *   - a write may continue after its answer: Azure-AsyncOperation, Location, or provisioningState
 *     of the resource are polled until it has ended, and the resource is read once more when the
 *     first answer was not its final form.
 * Every request is reported to the host under its operation id.
 * Source: docs/spec/azure.md 3.  A call belongs to one thread; struct azure_arm is
 * shared and thread-safe. */
#ifndef TRIMTAB_AZURE_ARM_H
#define TRIMTAB_AZURE_ARM_H

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/data/json.h"
#include "common/net/budget.h"
#include "common/net/ratelimit.h"
#include "common/net/retry.h"
#include "providers/azure/arm/azure_auth.h"

#include <trimtab/provider.h>

enum azure_kind {
    AZURE_LBS = 0,
    AZURE_PIPS,
    AZURE_NSGS,
    AZURE_SUBNETS,
    AZURE_POOLS, /* backendAddressPools as resources of their own */
    AZURE_PLSS,  /* private link services */
    AZURE_PE_CONNECTIONS,
    AZURE_NICS,
    AZURE_VMS,
    AZURE_SETS,  /* availability sets */
    AZURE_VMSSS, /* scale sets */
    AZURE_VMSS_VMS,
    AZURE_VMSS_NICS, /* network interfaces of scale set instances */
    AZURE_PROVIDERS, /* resource provider documents */
    AZURE_KIND_MAX,
};
enum azure_verb {
    AZURE_GET = 0,
    AZURE_LIST,
    AZURE_PUT,
    AZURE_DELETE,
    AZURE_MIGRATE, /* POST …/migrateToIpBased */
    AZURE_VERB_MAX,
};
/* Closed until; by the clock's monotonic time. */
struct azure_gate {
    int64_t until_ms[AZURE_KIND_MAX][2]; /* reading, writing */
};
/* Longer than this a closed gate, or a server's Retry-After, is not waited for inside a worker. */
#define AZURE_GATE_WAIT_MS 60000
/* The endpoint, and the identity that calls it.  Owned by the provider. */
struct azure_arm {
    const char *base; /* azure_cloud.arm */
    const struct azure_config *config;
    struct azure_auth *auth;
    struct clock *clock;
    struct rng *rng;
    const struct tt_host *host; /* may be NULL in tests */
    struct budgets *budgets;    /* of azure_budget_limits; NULL: requests are sent as they come */
    /* cloudProviderBackoff… (1.4), or our own; set by azure_arm_init() */
    struct retry_policy requests;
    struct mutex lock; /* guards what follows */
    struct azure_gate gate;
    /* How long writes of a kind take until they are done, deletions apart; 0: not known. */
    int64_t usual_ms[AZURE_KIND_MAX][2];
    struct ratelimit limits[AZURE_LIMITS][2]; /* reading, writing; off unless configured */
};
void azure_arm_init(struct azure_arm *arm);
void azure_arm_done(struct azure_arm *arm);

/* "/subscriptions/S/resourceGroups/G/providers/Microsoft.Network/loadBalancers": the kind's
 * collection in a group of the subscription that it lives in (1.2 networkResourceSubscriptionID).
 * Kinds below another resource take its ID as `group`.  A name that cannot be one segment keeps its
 * place in it (url_resource_path()); a call of such an ID ends in ERR_INVALID before it is sent. */
const char *azure_arm_collection(struct arena *a, const struct azure_arm *arm, enum azure_kind k,
                                 const char *group);
/* The same of all groups of that subscription. */
const char *azure_arm_everywhere(struct arena *a, const struct azure_arm *arm, enum azure_kind k);
const char *azure_arm_id(struct arena *a, const struct azure_arm *arm, enum azure_kind k,
                         const char *group, const char *name);
/* "LoadBalancers.CreateOrUpdate" */
const char *azure_arm_op_id(enum azure_kind k, enum azure_verb v);
const char *azure_arm_word(enum azure_kind k); /* for people: "load balancer" */
const char *azure_arm_version(const struct azure_arm *arm, enum azure_kind k);
/* Belongs to the compute subscription and tenant (3.2, 2.6). */
bool azure_arm_is_compute(enum azure_kind k);
/* How old what was read of it may be for "nothing to do" (3.9); 0: it is read in every sync. */
int64_t azure_arm_age_ms(const struct azure_arm *arm, enum azure_kind k);
#define AZURE_AGE_MS 60000                           /* unless the cloud-config says otherwise */
enum azure_limit azure_arm_limit(enum azure_kind k); /* whose rate limit counts */

struct azure_call_spec {
    enum azure_kind kind;
    enum azure_verb verb;
    const char *id;           /* of the resource; LIST: of the collection */
    const char *query;        /* "$expand=instanceView", or NULL; without '?' */
    struct json_object *body; /* borrowed, printed when the call begins */
    /* the body is not needed any longer then: it is emptied; a large tree takes several
     * times its text */
    bool passing;
    const char *if_match; /* or NULL */
    /* PUT: nothing bore the name when it was read.  After an answer that did not come it is looked
     * what stands there before the request is sent again: another one may have written to what the
     * first one made.  ERR_CONFLICT: something stands there. */
    bool creates;
};
struct azure_call {
    /* given */
    struct azure_arm *arm;
    const struct tt_call *call; /* for reports; may be NULL */
    struct arena *a;
    struct azure_call_spec spec;
    /* state */
    int phase;
    enum azure_tenant tenant; /* whose token is being fetched */
    struct azure_fetch fetch;
    struct token_wait wait; /* for a token that another call fetches */
    bool token_renewed;
    struct retry retry;
    const char *body;
    const char *url; /* of the request in progress */
    const char *poll_url;
    int poll_style;
    int64_t poll_since_ms; /* when the write was taken up */
    int64_t poll_at_ms;    /* when it is to be looked at next; 0: a request is under way */
    bool spares;           /* looks were put off for want of reads */
    int64_t at_work_ms;    /* after this time it was not done yet */
    const char *op_id;
    char request_id[37];
    const char *bearer;
    const char *auxiliary;
    unsigned pages;
    struct http_header headers[6];
    /* result, valid when done without error; the arena's */
    struct json_object *answer; /* GET, PUT: the resource; LIST: an array; else NULL */
    unsigned requests;          /* sent so far, token requests not counted */
};
void azure_call_begin(struct azure_call *c, struct azure_arm *arm, const struct tt_call *call,
                      struct arena *a, const struct azure_call_spec *spec);
/* As http_job.step. */
enum http_next azure_call_step(struct azure_call *c, struct http_request *req,
                               const struct http_response *resp, struct err *err);

/* A call as a job, for waves of reads. */
struct azure_read {
    struct azure_call call;
    struct http_job job; /* its err is the outcome */
};
void azure_read_init(struct azure_read *r, struct azure_arm *arm, const struct tt_call *call,
                     struct arena *a, const struct azure_call_spec *spec);

#endif
