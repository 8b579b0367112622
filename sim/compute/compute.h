/* SPDX-License-Identifier: Apache-2.0 */
/* compute.h: what the parts of the simulated Compute API know of each other.  Private to
 * sim/compute.
 *
 * `struct compute` owns the store (every resource by its path), the operations, the tokens.  A
 * request is routed by the operation table, checked by the schema, and served by a generic verb
 * (get, list, insert, patch, update, delete) that a row of the collection table steers; what is
 * special about a collection hangs on its row as a small function.  Refusals go through
 * `struct refusal`, which becomes the cloud's error body.  One thread: the event loop's.  Source:
 * gce-cloud-provider.md §3, §16; gce-l4.md §9. */
#ifndef TRIMTAB_SIM_COMPUTE_COMPUTE_H
#define TRIMTAB_SIM_COMPUTE_COMPUTE_H

#include "common/base/map.h"
#include "sim/compute/filter.h"
#include "sim/compute/schema.h"
#include "sim/sim.h"

#define COMPUTE_PREFIX         "https://www.googleapis.com/compute/v1/"
#define COMPUTE_PROJECT        "trimtab-sim"
#define COMPUTE_PROJECT_NUMBER "424242424242"

struct compute;
struct collection;
struct operation;

/* --- resources -------------------------------------------------------------------------------- */

struct resource {
    const struct collection *col; /* NULL: of a kind that is not served, only kept */
    char *path;                   /* "projects/p/regions/r/addresses/n" */
    struct json_object *body;     /* owned; what GET answers */
    struct json_object *members;  /* instance groups, NEGs: an array; NULL: none recorded */
    uint64_t seq;                 /* order of creation */
    struct operation *inserting;  /* the running insert, or NULL (only at --latency cloud) */
};

/* Resources of one collection in one scope. */
struct folder {
    char *path;                   /* "projects/p/regions/r/addresses" */
    const struct collection *col; /* or NULL */
    struct map *items;            /* name → struct resource, owned */
};

struct compute {
    struct sim *sim;
    struct map *folders; /* path → struct folder */
    char *project;       /* the project of new nodes and of the metadata server */
    uint64_t next_id;
    uint64_t next_seq;
    uint64_t next_address;             /* cursor: a freed address is not handed out again at once */
    struct map *operations;            /* path → struct operation */
    struct operation *oldest, *newest; /* the same in order of their beginning */
    struct map *by_request_id;         /* "id METHOD path" → struct operation, borrowed */
    struct map *windows;               /* group → requests of a minute (throttle.c) */
    struct map *tokens;                /* access token → int64_t* expiry (wall, s) */
    struct map *references; /* path → how many links of other resources lead there (not 0) */
    struct map *machines;   /* address → instance, borrowed; NULL: to be gathered again */
    struct map *endpoints;  /* text → endpoint that groups share; NULL: none yet */
    char *metadata_token;   /* what the metadata server hands out now; a key of tokens */
    void *signing_key;      /* EVP_PKEY of the service account; made when first asked for */
    struct json_object *settings; /* world member "sim", or NULL; settings.c knows the names */
};

/* --- refusals --------------------------------------------------------------------------------- */

/* Why a request is not served.  status 0: it is. */
struct refusal {
    int status;
    const char *reason;  /* "invalid", "resourceInUseByAnotherResource" */
    const char *message; /* arena */
    const char *code;    /* upper case form; set: the operation fails instead of the request */
    struct json_object *details; /* newer errors; owned until answered */
};

/* Fills *r and returns false, so that a check can end in `return ce_refuse(…)`. */
bool ce_refuse(struct refusal *r, struct arena *a, int status, const char *reason, const char *fmt,
               ...) _printf_(5, 6);
bool ce_refuse_invalid(struct refusal *r, struct arena *a, const char *field, const char *value,
                       const char *why);
/* "Required field '…' not specified". */
bool ce_refuse_required(struct refusal *r, struct arena *a, const char *field);
bool ce_refuse_not_found(struct refusal *r, struct arena *a, const char *path);
/* A range from which an address was to be picked has none left: of the subnetwork,
 * or NULL: Google's own. */
bool ce_refuse_no_address(struct refusal *r, struct arena *a, const char *subnet);
bool ce_refuse_in_use(struct refusal *r, struct arena *a, const struct resource *res,
                      const char *by);
/* An internal address that a machine, a rule or a reservation has: the operation fails,
 * not the request. */
bool ce_refuse_ip_in_use(struct refusal *r, struct arena *a, const char *ip);
/* A link that leads nowhere; `path` names the kind of resource. */
bool ce_refuse_dangling(struct refusal *r, struct arena *a, const char *field, const char *link,
                        const char *path);
bool ce_refuse_schema(struct refusal *r, struct arena *a, const struct schema_problem *p);
/* {"error": …}; new reference. */
struct json_object *ce_refusal_body(const struct refusal *r);
struct json_object *compute_error_body(void *state, const struct sim_call *call, int status,
                                       const char *reason, const char *message);

/* --- a request -------------------------------------------------------------------------------- */

enum scope { SCOPE_NONE = 0, SCOPE_GLOBAL, SCOPE_REGION, SCOPE_ZONE, SCOPE_AGGREGATED };

struct request {
    struct compute *c;
    struct sim_call *call;
    struct arena *a;
    const struct compute_op *op;
    const char *verb; /* last word of the operation: "insert", "addInstance" */
    const char *project;
    enum scope scope;
    const char *location;   /* region or zone, or NULL */
    const char *collection; /* "addresses"; "projects", "regions", "zones", "operations" too */
    const char *name;       /* or NULL */
    const struct collection *col;
    char *folder;             /* path of the collection in its scope */
    struct json_object *body; /* checked, output-only members removed; NULL: none */
    struct resource *res;     /* what `name` names, when it exists */
    bool beta;                /* asked in the API's beta version (versions.c) */
    struct refusal refusal;
};

/* --- collections ------------------------------------------------------------------------------ */

/* A member that refers to other resources. */
struct reference {
    const char *member; /* "target", "healthChecks[]", "backends[].group" */
    const char *kinds;  /* "targetPools"; "instanceGroups networkEndpointGroups" */
    bool checked;       /* refused when it points to nothing */
};

struct collection {
    const char *name;
    enum scope scope;
    const char *kind;      /* "compute#address" */
    const char *list_kind; /* "compute#addressList" */
    const char *aggregated_kind;
    const char *what;                   /* in messages: "address" */
    const struct reference *references; /* ends with member NULL */
    const char *const *required;        /* beyond the schema's; NULL-terminated or NULL */
    const char *const *immutable;       /* may not change by PATCH or PUT */
    const char *defaults;               /* JSON object of members that an insert gets */
    const char *quota;                  /* "FIREWALLS", or NULL: none; see quotas.c */
    bool fingerprint;                   /* has a fingerprint; PUT must name the current one */
    bool has_members;                   /* instance groups, NEGs */
    /* Checks and completes a new body (in place).  NULL: nothing special. */
    bool (*insert)(struct request *q, struct json_object *body);
    /* Checks a changed body before it replaces the old one. */
    bool (*change)(struct request *q, struct json_object *old, struct json_object *body);
    bool (*remove)(struct request *q);
    /* After an insert, change or delete took place. */
    void (*after)(struct request *q, struct json_object *body);
};

extern const struct collection compute_collections[]; /* name NULL ends it */
const struct collection *ce_collection_find(const char *name, enum scope scope);

/* Actions beyond the generic verbs. */
struct action {
    const char *collection;
    const char *verb;
    bool (*run)(struct request *q, struct json_object **ret_answer); /* *ret: answer of a read */
};
extern const struct action compute_actions[];

/* --- store.c ---------------------------------------------------------------------------------- */

struct resource *ce_store_get(const struct compute *c, const char *path);  /* NULL when absent */
struct folder *ce_store_folder(const struct compute *c, const char *path); /* NULL when absent */
/* Adds or replaces; takes `body` over.  A replaced resource keeps its struct, members and
 * place in time. */
struct resource *ce_store_put(struct compute *c, const char *path, struct json_object *body);
void ce_store_remove(struct compute *c, const char *path);
void ce_store_clear(struct compute *c); /* empty, also when there was no store yet */
/* Calls fn for each resource of a collection (NULL: of all), in path order; fn returns false to
 * stop, and must not add or remove any. */
void ce_store_each(const struct compute *c, const char *collection,
                   bool (*fn)(struct resource *res, void *arg), void *arg);
uint64_t ce_store_next_id(struct compute *c); /* never the same twice, and above those of a world */
/* Folder path of a collection in a scope. */
char *ce_store_folder_path(struct arena *a, const char *project, enum scope scope,
                           const char *location, const char *collection);

/* --- links.c ---------------------------------------------------------------------------------- */

/* The path ("projects/…") of a full, partial or relative link; NULL if it is not one.  `near` is
 * the path of the resource that holds the link: it lends its project to partial links. */
char *ce_link_path(struct arena *a, const char *link, const char *near);
char *ce_link_full(struct arena *a, const char *path); /* COMPUTE_PREFIX + path */
/* Do both name the same resource, whatever their forms?  An invalid link counts as absent. */
bool ce_link_same(struct arena *a, const char *x, const char *y, const char *near);
/* The paths of an array of links, as a set to look them up in (values are NULL); the caller frees
 * it.  Invalid links are omitted. */
struct map *ce_link_set(struct request *q, struct json_object *links);
bool ce_link_in(struct request *q, const struct map *set, const char *link);
/* Parts of a path "projects/P/[SCOPE/]COLLECTION/NAME"; in the arena or borrowed from `path`. */
const char *ce_path_project(struct arena *a, const char *path);
const char *ce_path_location(struct arena *a, const char *path); /* NULL: global */
const char *ce_path_scope(struct arena *a, const char *path); /* "regions/r", "zones/z", "global" */
const char *ce_path_collection(struct arena *a, const char *path);
const char *ce_path_name(const char *path);
/* The region of a zone: what stands before its last '-'. */
char *ce_zone_region(struct arena *a, const char *zone);
/* The region that a resource is in, also by its zone; NULL: a global one. */
const char *ce_path_region(struct arena *a, const char *path);

/* Checks the references of a body (kind, region, existence, readiness) and replaces links by full
 * ones; false: refused. */
bool ce_references_check(struct request *q, struct json_object *body);
/* Counts the links of a resource that comes (by 1) or goes (by -1). */
void ce_references_count(struct compute *c, const struct resource *res, int by);
/* Path of the first resource that refers to `path`, or NULL. */
const char *ce_references_user(struct compute *c, struct arena *a, const char *path);

/* --- verbs ------------------------------------------------------------------------------------ */

/* For the module's row: names a call, serves it (now or later). */
void compute_name_call(void *state, struct sim_call *call);
void compute_handle(void *state, struct sim_call *call);
/* route.c: finds the operation and takes the path apart; false: unknown. */
bool ce_route(struct request *q);
/* versions.c */
/* The path after "/compute/v1/" or "/compute/beta/"; NULL: no such path. */
const char *ce_version_below(const char *path, bool *ret_beta);
/* False, with a refusal: it is not served in the version that was asked. */
bool ce_version_check(struct request *q);
/* `body` as an answer in that version; takes the reference, and returns one. */
struct json_object *ce_version_show(struct request *q, struct json_object *body);
/* read.c: *ret is a new reference, to be answered; false: refused */
bool ce_read_get(struct request *q, struct json_object **ret);
bool ce_read_list(struct request *q, struct json_object **ret);
bool ce_read_aggregated(struct request *q, struct json_object **ret);
/* Puts the page of `items` (array, taken over) that filter, maxResults and pageToken ask for into
 * `list`; for lists that are no collections. */
bool ce_read_page(struct request *q, struct json_object *items, struct json_object *list);
/* write.c: the effect takes place at once; false: refused, nothing changed */
bool ce_write_insert(struct request *q);
bool ce_write_patch(struct request *q);
bool ce_write_update(struct request *q);
bool ce_write_delete(struct request *q);
bool ce_write_set_labels(struct request *q);
/* Stores a changed body of q->res (taken over): new fingerprint, "after" function. */
void ce_write_store(struct request *q, struct json_object *body);
/* 412 unless the request names the current fingerprint; `needed`: naming none is refused,
 * too, with 400. */
bool ce_write_check_fingerprint(struct request *q, bool needed);
/* A new fingerprint (base64). */
char *compute_fingerprint(struct compute *c, struct arena *a);
/* Now, as the cloud writes times: "2026-11-21T10:00:00.000-08:00". */
char *compute_time(struct compute *c, struct arena *a);

/* --- operations.c ----------------------------------------------------------------------------- */

void ce_operations_init(struct compute *c);
void ce_operations_done(struct compute *c);
/* The operation that an earlier request of the same requestId started, or NULL. */
struct operation *ce_operation_of_request_id(struct request *q);
/* Starts an operation for a mutation that took effect, or, with q->refusal.code, for one that
 * fails.  It belongs to the simulator. */
struct operation *ce_operation_start(struct request *q);
struct json_object *ce_operation_json(const struct operation *op); /* new reference */
void ce_operations_handle(struct request *q); /* get, list, wait; answers the call */
bool ce_operations_aggregated(struct request *q, struct json_object **ret);
/* Milliseconds that this operation takes (NULL: a request and its answer), with some jitter; 0 at
 * --latency none. */
int64_t ce_latency_of(struct compute *c, const char *op_id);

/* --- collections' own files: functions of the rows in collections.c --------------------------- */

/* A global one, which no rule of a region can have. */
bool ce_global_address_insert(struct request *q, struct json_object *body);
bool ce_address_insert(struct request *q, struct json_object *body);
bool ce_address_remove(struct request *q);
void ce_address_after(struct request *q, struct json_object *body);
bool ce_rule_insert(struct request *q, struct json_object *body);
bool ce_rule_change(struct request *q, struct json_object *old, struct json_object *body);
void ce_rule_after(struct request *q, struct json_object *body);
bool ce_rule_set_target(struct request *q, struct json_object **ret);
/* global_rules.c: a rule that leads to a proxy; the target of `body` is one of those;
 * ports overlap (rules.c). */
bool ce_global_rule_insert(struct request *q, struct json_object *body);
bool ce_global_rule_target(struct request *q, struct json_object *body);
bool ce_rule_ports_overlap(struct arena *a, struct json_object *x, struct json_object *y);
bool ce_pool_insert(struct request *q, struct json_object *body);
bool ce_pool_add_instance(struct request *q, struct json_object **ret);
bool ce_pool_remove_instance(struct request *q, struct json_object **ret);
bool ce_pool_add_health_check(struct request *q, struct json_object **ret);
bool ce_pool_remove_health_check(struct request *q, struct json_object **ret);
bool ce_pool_get_health(struct request *q, struct json_object **ret);
/* health.c: what the cluster's nodes answer (NULL: nothing is known); and whether this one, a link
 * or path, answers all checks of a pool or backend service. */
struct reach_answers;
const struct reach_answers *ce_answers(struct request *q);
bool ce_node_answers(struct request *q, const struct reach_answers *answers,
                     struct json_object *holder, const char *instance);
bool ce_check_insert(struct request *q, struct json_object *body);
bool ce_check_change(struct request *q, struct json_object *old, struct json_object *body);
bool ce_backend_insert(struct request *q, struct json_object *body);
bool ce_backend_change(struct request *q, struct json_object *old, struct json_object *body);
bool ce_backend_get_health(struct request *q, struct json_object **ret);
/* The network that the backends of a service are in, as a link; NULL: it has none that says so. */
const char *ce_backend_network(struct request *q, struct json_object *service);
/* policies.c: what a backend service says about affinity, tracking, locality, zones and logs goes
 * with its scheme. */
bool ce_policies_check(struct request *q, struct json_object *body);
bool ce_firewall_insert(struct request *q, struct json_object *body);
bool ce_firewall_change(struct request *q, struct json_object *old, struct json_object *body);
bool ce_group_insert(struct request *q, struct json_object *body);
bool ce_group_add_instances(struct request *q, struct json_object **ret);
bool ce_group_remove_instances(struct request *q, struct json_object **ret);
bool ce_group_list_instances(struct request *q, struct json_object **ret);
bool ce_group_set_named_ports(struct request *q, struct json_object **ret);
/* No instance of the groups among these backends may be in a second group that is, or would be,
 * behind a load balancer. */
bool ce_group_check_backends(struct request *q, struct json_object *backends);
bool ce_neg_insert(struct request *q, struct json_object *body);
bool ce_neg_attach(struct request *q, struct json_object **ret);
bool ce_neg_detach(struct request *q, struct json_object **ret);
bool ce_neg_list(struct request *q, struct json_object **ret);
bool ce_route_insert(struct request *q, struct json_object *body);

/* places.c */
const char *ce_place_default_network(struct request *q); /* as a link */
/* Gives a body without a network that of its subnetwork, or the default one; refuses
 * a subnetwork of another. */
bool ce_place_complete(struct request *q, struct json_object *body);
/* The first interface of a machine in this network and subnetwork (links; NULL: any); NULL: none.
 * vm may be NULL. */
struct json_object *ce_place_nic(struct request *q, const struct resource *vm, const char *network,
                                 const char *subnetwork);
/* "network" or "subnetwork" of an instance group, its own or that of its members, as a
 * link; NULL: none. */
const char *ce_place_of_group(struct request *q, const struct resource *group, const char *member);

/* endpoints.c: of the group q->res */
const char *ce_endpoint_vm_path(struct request *q, struct json_object *endpoint);
struct json_object *ce_endpoint_nic(struct request *q, const struct resource *vm); /* or NULL */
/* Equal for two endpoints that are the same, however they are written. */
const char *ce_endpoint_key(struct request *q, struct json_object *endpoint);
/* The endpoint with its address, as the one value that all groups share; new reference, not
 * to be changed. */
struct json_object *ce_endpoint_share(struct request *q, struct json_object *endpoint);
/* The same for one that is complete. */
struct json_object *ce_endpoint_intern(struct compute *c, struct json_object *endpoint);

/* rule_address.c */
/* The address of a new rule: a reserved one, a free one, one that other rules have; of the right
 * family and place. */
bool ce_rule_address(struct request *q, struct json_object *body, bool internal);

/* addresses.c, address_pick.c, for rules */
/* Do both name the same address (IPv6 in any spelling, a "/96" is ignored)?  NULL is none. */
bool ce_address_same(const char *x, const char *y);
/* The holder of `ip`: an address, a rule, an instance; NULL if it is free. */
struct resource *ce_address_by_ip(struct compute *c, const char *ip);
struct resource *ce_rule_by_ip(struct compute *c, const char *ip);
struct resource *ce_instance_by_ip(struct compute *c, const char *ip);
bool ce_address_is_taken(struct compute *c, const char *ip); /* by any of these */
struct map *ce_address_taken(
    const struct compute *c);                /* all of them, as a set; the caller frees it */
bool ce_address_is_external(const char *ip); /* one that this cloud could hand out */
bool ce_address_in_subnet(struct compute *c, const char *ip, const char *subnet_path);
/* May this subnetwork (NULL: none) serve IPv6 addresses of this type ("EXTERNAL") and tier (NULL:
 * internal)?  Else refused.  `new`: the address is yet to be chosen. */
bool ce_address_check_ipv6(struct request *q, struct json_object *body, const char *type,
                           const char *tier, bool new);
/* May the external address of the live rule `holder` be reserved, or be taken by a further rule, in
 * q's region, of this type ("EXTERNAL") and tier (NULL: internal)?  Else refused. */
bool ce_address_check_holder(struct request *q, const struct resource *holder, const char *field,
                             const char *type, const char *tier);
/* "80" or "80-90", from `lowest` to 65535; for rules (1) and firewalls (0). */
bool ce_port_range_parse(const char *text, int64_t lowest, int64_t *ret_low, int64_t *ret_high);
/* A free address for a new address or rule; NULL when none is left. */
char *ce_address_pick(struct request *q, const char *type, const char *tier,
                      const char *subnet_path, bool ipv6);
/* Status and users of the addresses with this IP after a rule came or went. */
void ce_address_refresh(struct compute *c, const char *ip);

/* quotas.c */
/* Refuses what is over the project's requests a minute. */
bool ce_throttle(struct request *q);
bool ce_quota_check(struct request *q);
/* The quotas that exist; ends with NULL. */
const char *const *ce_quota_names(void);
/* May q->res have `n` members?  `quota`: "MAX_INSTANCES_IN_TARGET_POOL", … (docs/simulator.md). */
bool ce_quota_check_members(struct request *q, const char *quota, size_t n);
/* The limits of a project, or of a region (NULL: the project's own), and their
 * usage; new reference. */
struct json_object *ce_quota_json(struct compute *c, const char *project, const char *region);
/* settings.c: ERR_INVALID names a setting that is not known or of another type. */
int ce_settings_check(struct json_object *settings, struct err *err);
/* A setting of sim.gce, or of sim; NULL: not set.  Borrowed. */
struct json_object *ce_setting(const struct compute *c, const char *name);
bool ce_setting_bool(const struct compute *c, const char *name);
const char *ce_default_tier(const struct compute *c);
/* False, with a refusal: the region has no Standard Tier; a policy forbids rules of this type. */
bool ce_tier_check(struct request *q, const char *tier);
bool ce_policy_check(struct request *q, struct json_object *body);

/* tokens.c */
bool ce_token_check(struct request *q); /* false: refused with 401 */
char *ce_token_new(struct compute *c, struct arena *a, int64_t lifetime_s);
void ce_token_handle(struct compute *c, struct sim_call *call); /* POST /token */
void ce_tokens_done(struct compute *c);

/* seed.c: adds zones, network and subnetwork that a world does not bring along */
void ce_seed_missing(struct compute *c);
/* A body with what every resource has. */
struct json_object *ce_seed_body(struct compute *c, struct arena *a, const char *kind,
                                 const char *path);

#endif
