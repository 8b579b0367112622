/* SPDX-License-Identifier: Apache-2.0 */
/* gce_api.h: one call of the Compute API: its URL, its token, its retries, its operation, its
 * error.
 *
 * A call is a state machine of HTTP requests (struct gce_call), asked for the next one until it
 * is done; so many calls run at once on one handle, and one step of a plan is one call.  Inside,
 * in this order:
 *   - a token is taken from the cache, or fetched; after a 401 it is dropped and fetched once more;
 *   - transient failures and throttling are retried with jitter; mutations carry a requestId
 *     that stays the same, so that a retry after a lost answer is no second mutation;
 *   - a mutation's answer is an operation: when it says DONE nothing is waited for, else
 *     operations.wait is called at once and again until it is done; failures of the poll itself
 *     are retried;
 *   - every request is reported to the host (report_call) under its operation id, the call as a
 *     metric.
 * Source: gce-cloud-provider.md §3, §14.1, §15 rows 2–4.  A call belongs to one thread; struct
 * gce_api is immutable. */
#ifndef TRIMTAB_GCE_API_H
#define TRIMTAB_GCE_API_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "common/net/budget.h"
#include "common/net/http.h"
#include "common/net/retry.h"
#include "providers/gce/api/gce_auth.h"
#include "providers/gce/api/gce_rates.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

enum gce_collection {
    GCE_ADDRESSES = 0,
    GCE_RULES,     /* forwardingRules */
    GCE_POOLS,     /* targetPools */
    GCE_FIREWALLS, /* of the network project */
    GCE_CHECKS,    /* httpHealthChecks */
    GCE_INSTANCES,
    GCE_PROJECTS,
    GCE_BACKENDS,    /* backendServices, of the region */
    GCE_HCS,         /* healthChecks, global */
    GCE_REGION_HCS,  /* healthChecks, of the region */
    GCE_NEGS,        /* networkEndpointGroups, zonal */
    GCE_GROUPS,      /* instanceGroups, zonal */
    GCE_SUBNETWORKS, /* of the network project's region */
    GCE_ZONES,
    GCE_NETWORKS,        /* of the network project */
    GCE_GLOBAL_RULES,    /* forwardingRules, global: only an owner's own (gce_custom_fr.h) */
    GCE_GLOBAL_BACKENDS, /* backendServices, global: likewise */
    GCE_COLLECTION_MAX,
};
enum gce_verb {
    GCE_GET = 0,
    GCE_LIST,
    GCE_INSERT,
    GCE_DELETE,
    GCE_PATCH,
    GCE_UPDATE, /* PUT */
    GCE_ADD_INSTANCE,
    GCE_REMOVE_INSTANCE,
    GCE_ADD_CHECK,
    GCE_REMOVE_CHECK,
    GCE_ATTACH,         /* attachNetworkEndpoints */
    GCE_DETACH,         /* detachNetworkEndpoints */
    GCE_LIST_ENDPOINTS, /* listNetworkEndpoints: a POST that reads; no operation, paged */
    GCE_ADD_INSTANCES,  /* of an instance group */
    GCE_REMOVE_INSTANCES,
    GCE_LIST_INSTANCES, /* of an instance group: a POST that reads; paged */
    GCE_LIST_ALL,       /* aggregatedList of a zonal collection: those of all zones in one list */
    GCE_VERB_MAX,
};

/* The endpoint, and the identity that calls it.  Owned by the provider; immutable after open(). */
struct gce_api {
    const char *base;            /* "https://compute.googleapis.com/compute/v1/", with its slash */
    const char *project;         /* id, or number when it could not be converted */
    const char *network_project; /* firewalls live here */
    const char *region;
    struct gce_auth *auth;
    struct clock *clock;
    struct rng *rng;
    const struct tt_host *host;    /* may be NULL in tests */
    struct budgets *budgets;       /* of gce_budget_limits; NULL: requests are sent as they come */
    const struct gce_rates *rates; /* --gce-ratelimit; NULL: none */
    struct budgets *rated;         /* of these */
    bool l4;                       /* ingress-gce's part is played: its metrics are set, too */
    const char *version;           /* that `base` ends with, for metrics: "beta"; NULL: "v1" */
};
/* The same API in its beta version: where `base` ends with "/v1/", "/beta/" stands instead. */
struct gce_api gce_api_beta(struct arena *a, const struct gce_api *api);
/* ".../projects/P/regions/R/targetPools/NAME": the link of a resource of ours; `zone` "" for a
 * collection that is not zonal. */
char *gce_api_zonal_link(struct arena *a, const struct gce_api *api, enum gce_collection c,
                         const char *zone, const char *name);
/* By its name in links; two collections are called healthChecks.  False: none of ours. */
bool gce_api_collection_of(const char *name, bool regional, enum gce_collection *ret);
/* Has each zone its own? */
bool gce_api_is_zonal(enum gce_collection c);
/* Does it lie in a region or a zone? */
bool gce_api_is_local(enum gce_collection c);
/* Does the verb take a cutter, and answers with pages? */
bool gce_verb_lists(enum gce_verb v);
/* Is this answer a resource of the collection?  True for one that does not say what it is; false
 * for a forwarding rule without an address: a caller that took that for the rule would make it
 * again, and lose the address that it has. */
bool gce_api_is_one_of(enum gce_collection c, struct json_object *o);
/* Is this a page of what the verb lists?  Only its kind says so, since Google leaves `items`
 * out of an empty one. */
bool gce_api_is_list_of(enum gce_collection c, enum gce_verb v, struct json_object *o);
/* The id of the method in Google's description of the API: "compute.forwardingRules.get",
 * "compute.regionBackendServices.get". */
const char *gce_api_op_id(struct arena *a, enum gce_collection c, enum gce_verb v);

/* Cuts the items of a list answer as bytes arrive, so that a list of thousands is never one tree.
 * In an aggregated list `items` is no array but an object of scopes,
 * {"zones/Z":{"networkEndpointGroups":[…]}}: what is cut are the items of the arrays in it. */
struct gce_splitter {
    void (*item)(void *arg, const char *text, size_t n);
    void *arg;
    int depth;
    bool in_string;
    bool escaped;
    /* aggregated lists: the name of the arrays, the collection's; NULL: a plain list */
    const char *scoped;
    int items_depth;     /* of the array that it is in; 0: in none */
    bool failed;         /* an item over its cap */
    struct str_buf text; /* the item, or the rest of the document around the items */
    struct str_buf around;
};
void gce_splitter_init(struct gce_splitter *c, void (*item)(void *arg, const char *text, size_t n),
                       void *arg);
void gce_splitter_reset(struct gce_splitter *c);
void gce_splitter_done(struct gce_splitter *c);
/* False when the text is over its caps. */
bool gce_splitter_feed(struct gce_splitter *c, const char *bytes, size_t n);
/* The page without its items: {"kind":…,"items":[],"nextPageToken":…}. */
const char *gce_splitter_rest(const struct gce_splitter *c);

/* The request. */
struct gce_call_spec {
    enum gce_collection collection;
    enum gce_verb verb;
    const char *name;            /* of the resource; NULL for LIST and INSERT */
    const char *zone;            /* zonal collections */
    const char *filter;          /* LIST, LIST_ALL; or NULL */
    struct json_object *body;    /* mutations; borrowed, printed when the call begins */
    struct gce_splitter *cutter; /* lists: where items go; the job's on_body must feed it */
};
struct gce_call {
    /* given */
    const struct gce_api *api;
    const struct tt_call *call; /* for reports; may be NULL */
    struct arena *a;
    struct gce_call_spec spec;
    /* state */
    int phase;
    struct gce_fetch fetch;
    struct token_wait wait; /* for a token that another call fetches */
    const char *token;
    bool token_renewed; /* after a 401: once */
    struct retry retry;
    int64_t held_until_ms; /* a request that its budget does not let pass is tried again then */
    const char *body;
    char request_id[37];
    const char *operation; /* name of the operation that is waited for */
    const char *op_id;     /* operation id of the request under way, for reports */
    const char *page;      /* pageToken */
    unsigned pages;
    int64_t began_ms;
    struct http_header headers[3];
    /* result, valid when done without error */
    const char *answer; /* GET: the resource; "" otherwise */
    size_t answer_len;
    unsigned requests; /* sent so far, token requests not counted */
};
void gce_call_begin(struct gce_call *c, const struct gce_api *api, const struct tt_call *call,
                    struct arena *a, const struct gce_call_spec *spec);
/* As http_job.step: fills *req and returns HTTP_SEND, or HTTP_DONE with *err set or clear. */
enum http_next gce_call_step(struct gce_call *c, struct http_request *req,
                             const struct http_response *resp, struct err *err);

/* A call as a job, for waves of reads; set up by gce_call_job(). */
struct gce_read {
    struct gce_call call;
    struct http_job job; /* its err is the outcome */
};
void gce_read_init(struct gce_read *r, const struct gce_api *api, const struct tt_call *call,
                   struct arena *a, const struct gce_call_spec *spec);
/* The answer as a tree (arena-owned).  ERR_OK, the call's error, or INVALID when it is no JSON. */
int gce_read_json(const struct gce_read *r, struct arena *a, struct json_object **ret,
                  struct err *err) _warn_unused_;

#endif
