/* SPDX-License-Identifier: Apache-2.0 */
/* arm.h: what the parts of the simulated Azure Resource Manager know of each other.  Private to
 * sim/arm.
 *
 * `struct arm` owns the store (every resource by its id, without case), the operations and the
 * tokens.  A request is routed by the operation table, checked by the schema, and served by a
 * generic verb (get, list, put, patch, delete) that a row of the kind table steers; what is special
 * about a kind hangs on its row as a small function.  Members that the cloud computes
 * (back-references) are derived again after each write; documents that change by that get a new
 * etag.  One thread: the event loop's.  Source: docs/spec/azure.md §3, §16. */
#ifndef TRIMTAB_SIM_ARM_ARM_H
#define TRIMTAB_SIM_ARM_ARM_H

#include "common/base/ip.h"
#include "common/base/map.h"
#include "sim/arm/schema.h"
#include "sim/sim.h"

#define ARM_KINDS_MAX    16
#define ARM_SUBSCRIPTION "00000000-0000-4000-8000-000000000001"
#define ARM_TENANT       "00000000-0000-4000-8000-000000000002"
#define ARM_GROUP        "rg"
#define ARM_VNET         "vnet"
#define ARM_SUBNET       "sn"
#define ARM_NSG          "nsg"
#define ARM_ROUTE_TABLE  "rt"
#define ARM_SCALE_SET    "vmss"

struct arm;
struct arm_kind;
struct arm_operation;
struct arm_request;

/* --- resources -------------------------------------------------------------------------------- */

struct arm_resource {
    const struct arm_kind *kind;      /* NULL: of a kind that is not served, only kept */
    char *id;                         /* as it was first written */
    struct json_object *body;         /* owned; what GET answers, but for arm_view() */
    uint64_t seq;                     /* order of creation */
    struct arm_operation *op;         /* the write that is running, or NULL */
    bool hides_address;               /* a public address whose first write is running */
    struct arm_resource *next, *prev; /* of the same kind, in order of creation */
};

struct arm {
    struct sim *sim;
    struct arm_resource *first[ARM_KINDS_MAX], *last[ARM_KINDS_MAX]; /* by kind; slot 0: none */
    struct map *resources; /* lower-case id → struct arm_resource, owned */
    /* lower-case "/subscriptions/s/resourcegroups/g" → its name as written, heap */
    struct map *groups;
    struct map *addresses; /* lower-case id of a machine's IP configuration → its address, heap */
    struct map *operations; /* name → struct arm_operation, owned */
    struct map *tokens;     /* access token → int64_t* expiry (wall, s) */
    struct map *buckets;    /* "reads" … → struct bucket of throttle.c, owned */
    char *subscription;     /* where new nodes go */
    char *group;
    char *location;
    char *tenant;
    char *network_tenant;         /* of networks in another directory, or the same */
    struct json_object *settings; /* world member "sim.azure", or NULL */
    struct arm_lag *lag;          /* lag.c's, the oldest first; NULL: none */
    uint64_t next_seq;
    uint64_t next_public; /* cursor: a freed address is not handed out again at once */
    uint64_t next_public6;
};

/* --- refusals --------------------------------------------------------------------------------- */

/* Why a request is not served.  status 0: it is. */
struct arm_refusal {
    int status;
    const char *code;                 /* "InvalidResourceReference" */
    const char *message;              /* arena */
    const char *detail_code, *detail; /* one entry of error.details, or NULL */
    const char *target;               /* error.target, or NULL */
    const char *policy, *policy_id;   /* the assignment that denies it, or NULL */
    int retry_after_s;                /* 0: none is sent */
};

/* Fills *r and returns false, so that a check can end in `return arm_refuse(…)`. */
bool arm_refuse(struct arm_request *q, int status, const char *code, const char *fmt, ...)
    _printf_(4, 5);
bool arm_refuse_reference(struct arm_request *q, const char *id, const char *by);
bool arm_refuse_not_found(struct arm_request *q);
/* {"error": …}; new reference. */
struct json_object *arm_error_json(const char *code, const char *message);
struct json_object *arm_refusal_json(const struct arm_refusal *r);
struct json_object *arm_error_body(void *state, const struct sim_call *call, int status,
                                   const char *reason, const char *message);

/* --- a request -------------------------------------------------------------------------------- */

/* Names of a list's items (lower case) → items, borrowed. */
struct arm_index {
    struct json_object *array;
    size_t len;
    struct map *by_name;
};
#define ARM_INDEXES_MAX 8

struct arm_request {
    struct arm *arm;
    struct sim_call *call;
    struct arena *a;
    const struct arm_op *op;
    const char *verb;         /* last word of the operation: "CreateOrUpdate" */
    const char *id;           /* of the resource, or of the collection, as the cloud spells it */
    const char *subscription; /* "" when the path has none */
    const char *group;        /* or NULL */
    const char *name;         /* last segment, decoded */
    const struct arm_kind *kind;
    struct arm_resource *res;    /* what `id` names, when it exists */
    struct json_object *body;    /* checked, read-only members removed; NULL: none; the arena's */
    int status;                  /* of the answer; 0: 200 */
    struct json_object *answer;  /* owned until sent; NULL: no body */
    struct arm_resource *target; /* the document whose write may run on after the answer */
    bool created, removed, unchanged;
    bool throttled;                            /* this kind of request is rationed: */
    int64_t allowance;                         /* how many are left */
    struct arm_index indexes[ARM_INDEXES_MAX]; /* long lists that were searched, by name */
    struct map *picked; /* private addresses that this request was given already */
    /* who holds which private address of `holders_vnet`; NULL: not asked yet */
    struct map *holders;
    const char *holders_vnet;
    struct arm_refusal refusal;
};

/* --- kinds ------------------------------------------------------------------------------------ */

/* Members that stand for resources of their own: they get id, etag, type and state. */
struct arm_child {
    const char *member; /* in properties: "frontendIPConfigurations" */
};

struct arm_kind {
    const char *type;                 /* "Microsoft.Network/loadBalancers"; NULL ends the table */
    const char *ops;                  /* of its operations: "LoadBalancers" */
    const char *const *older;         /* older api-versions that are served too; NULL: none */
    const struct arm_child *children; /* NULL: none */
    const char *defaults;             /* JSON object of `properties` members, or NULL */
    bool located;                     /* needs a location */
    bool couples;                     /* a write may change derived members elsewhere */
    /* Checks and completes a new body (in place); `old` NULL: it is created.  False: refused. */
    bool (*put)(struct arm_request *q, struct json_object *old, struct json_object *body);
    bool (*remove)(struct arm_request *q);
    /* After the store took a body. */
    void (*after)(struct arm_request *q, struct json_object *old, struct arm_resource *res);
};

extern const struct arm_kind arm_kinds[];
const struct arm_kind *arm_kind_find(const char *type);
/* Number of the type of its documents, or -1. */
int arm_kind_type(const struct arm_kind *k);

/* Operations beyond the generic verbs. */
struct arm_action {
    const char *op;
    bool (*run)(struct arm_request *q);
    const char *const *older; /* as of a kind */
};
extern const struct arm_action arm_actions[];
/* The request's operation is there in this api-version. */
bool arm_is_served(const struct arm_request *q, const char *version);

/* --- ids.c ------------------------------------------------------------------------------------ */

char *arm_id_key(struct arena *a, const char *id); /* lower case */
const char *arm_id_name(const char *id);           /* after the last '/' */
char *arm_id_parent(struct arena *a,
                    const char *id); /* without the last two segments; "" at the top */
char *arm_id_type(struct arena *a,
                  const char *id); /* "Microsoft.Network/loadBalancers"; NULL: none */
char *arm_id_group(struct arena *a, const char *id); /* NULL: none */
char *arm_id_subscription(struct arena *a, const char *id);
bool arm_id_is_below(const char *id, const char *parent); /* parent + "/…", without case */
/* properties.X.id of a reference, or NULL. */
const char *arm_ref(struct json_object *properties, const char *member);
/* The item of that name (without case) in an array of named objects, or NULL; *ret_i
 * may be NULL. */
struct json_object *arm_named(struct json_object *array, const char *name, size_t *ret_i);
/* The same for lists that are searched for each of their items: O(1), as long as no name in it
 * changes. */
struct json_object *arm_find(struct arm_request *q, struct json_object *array, const char *name);
/* The object's "properties", made when it lacks them. */
struct json_object *arm_properties(struct json_object *o);
bool arm_name_is_valid(const char *name, size_t max);
/* {"id": id} */
struct json_object *arm_sub_resource(const char *id);

/* --- store.c ---------------------------------------------------------------------------------- */

void arm_store_init(struct arm *arm);
void arm_store_done(struct arm *arm);
struct arm_resource *arm_get(const struct arm *arm,
                             const char *id); /* NULL when absent; id may be NULL */
/* Adds or replaces; takes `body` over.  Dresses nothing. */
struct arm_resource *arm_set(struct arm *arm, const char *id, struct json_object *body);
void arm_unset(struct arm *arm, const char *id);
/* Calls fn for each resource of a type (NULL: of all), in order of creation; fn returns false to
 * stop, and must not add or remove any. */
void arm_each(const struct arm *arm, const char *type,
              bool (*fn)(struct arm_resource *res, void *arg), void *arg);
bool arm_group_known(const struct arm *arm, const char *subscription, const char *group);
bool arm_subscription_known(const struct arm *arm, const char *subscription);
void arm_group_add(struct arm *arm, const char *subscription, const char *group);
void arm_group_remove(struct arm *arm, const char *subscription, const char *group);
/* The group as it was first written, or as given. */
const char *arm_group_name(const struct arm *arm, const char *subscription, const char *group);

/* --- commit.c --------------------------------------------------------------------------------- */

/* Puts a body in place (taken over): defaults, ids, types, states, and a new etag when anything
 * changed.  `state` NULL keeps the provisioningState that the old body has. */
struct arm_resource *arm_commit(struct arm *arm, const char *id, struct json_object *body,
                                const char *state);
/* Removes members and items of the wrong JSON type, which a world may hold and no request could
 * make; what the schema does not know stays. */
void arm_sanitize(int type, struct json_object *o);
/* A new etag, although no member changed. */
void arm_touch(struct arm *arm, const char *id);
/* The etag that a loaded document had; NULL leaves the new one. */
void arm_restore_etag(struct arm_resource *res, const char *etag);
/* Derives all computed members again. */
void arm_settle(struct arm *arm);
/* As it is read now: with "Updating" while a write runs; new reference. */
struct json_object *arm_view(const struct arm_resource *res);
char *arm_uuid(struct arm *arm, struct arena *a);

/* --- derive.c: members that the cloud computes ------------------------------------------------ */

struct arm_links;
struct arm_links *arm_links_new(struct arm *arm);
void arm_links_free(struct arm_links *l);
/* Sets the derived members of a body. */
void arm_derive(struct arm *arm, const struct arm_links *l, const struct arm_kind *kind,
                const char *id, struct json_object *body);
/* The derived members of a settled kind are as they should be. */
bool arm_is_derived(const struct arm_links *l, const struct arm_resource *res);
/* The id of the IP configuration that holds a public address, or NULL; borrowed. */
const char *arm_links_holder(const struct arm_links *l, const char *public_ip);
/* Ids of the IP configurations that are in a pool (array), or NULL; borrowed. */
struct json_object *arm_links_members(const struct arm_links *l, const char *pool);
/* A scale set whose model names the pool, or NULL. */
const char *arm_links_model(const struct arm_links *l, const char *pool);

/* --- machines' IP configurations: of NICs and of scale-set instances -------------------------- */

/* One IP configuration of a machine. */
struct arm_ip_config {
    const char *id;                 /* ".../networkInterfaces/nic/ipConfigurations/ipconfig1" */
    const char *nic;                /* id of its NIC */
    struct arm_resource *owner;     /* the NIC, or the scale set's instance */
    struct json_object *properties; /* of the configuration, in the owner's body */
};
void arm_each_ip_config(struct arm *arm, struct arena *a,
                        bool (*fn)(const struct arm_ip_config *c, void *arg), void *arg);
/* The same for one NIC or instance. */
void arm_each_config_of(struct arm *arm, struct arena *a, struct arm_resource *owner,
                        bool (*fn)(const struct arm_ip_config *c, void *arg), void *arg);

/* --- verbs ------------------------------------------------------------------------------------ */

void arm_name_call(void *state, struct sim_call *call);
void arm_handle(void *state, struct sim_call *call);
/* A parameter of the query; names are compared without case.  NULL: absent. */
const char *arm_param(const struct arm_request *q, const char *name);
/* route.c: finds the operation and takes the path apart; false: refused. */
bool arm_route(struct arm_request *q);
/* throttle.c: takes one request from the subscription's quota and sets the remaining number; false
 * if none is left. */
bool arm_throttle(struct arm_request *q);
void arm_throttle_headers(struct arm_request *q);
bool arm_read_get(struct arm_request *q);
/* As this request may see it: the instance view of a machine only on demand; new reference. */
struct json_object *arm_shown(struct arm_request *q, const struct arm_resource *res);
bool arm_read_list(struct arm_request *q);
/* Puts the page of `items` (taken over) that is asked for, with nextLink, into the answer. */
bool arm_answer_page(struct arm_request *q, struct json_object *items);
bool arm_write_put(struct arm_request *q);
bool arm_write_patch(struct arm_request *q);
bool arm_write_delete(struct arm_request *q);
/* Of something new: the last segment of the path is a name (what exists may be called anything). */
bool arm_check_name(struct arm_request *q, bool exists);
/* If-Match and If-None-Match against what is there; false: refused. */
bool arm_check_etag(struct arm_request *q, const char *current);
/* Removes what an answer's schema does not have, such as an etag of a kind without. */
void arm_prune(int type, struct json_object *o);

/* --- lag.c: lists that lag behind ------------------------------------------------------------- */

/* Before a write or the end of a deletion of that resource: lists will show it later. */
void arm_lag_note(struct arm *arm, const char *id);
/* Makes of the items below `above` of that type what a list shows by now. */
void arm_lag_apply(struct arm *arm, const char *type, const char *above, struct json_object *items);
/* Lists show all again. */
void arm_lag_done(struct arm *arm);

/* --- groups.c --------------------------------------------------------------------------------- */

/* The name of the operation if the call is about resource groups themselves, or NULL. */
const char *arm_groups_op(struct sim_call *call);
/* Serves such a call; false: refused. */
bool arm_groups_run(struct arm_request *q);

/* --- service_tags.c --------------------------------------------------------------------------- */

/* May stand for addresses in a security rule: a tag that Azure documents, also with a region. */
bool arm_is_service_tag(const char *text);

/* --- guards.c --------------------------------------------------------------------------------- */

/* The members "locks" and "policies" of settings are as they must be. */
int arm_guards_check(struct json_object *settings, struct err *err) _warn_unused_;
/* No lock forbids the request; false: refused. */
bool arm_check_locks(struct arm_request *q);
/* No policy denies what the request writes (its body must be read); false: refused. */
bool arm_check_policies(struct arm_request *q);

/* --- operations.c ----------------------------------------------------------------------------- */

void arm_operations_init(struct arm *arm);
void arm_operations_done(struct arm *arm);
/* Refuses a write on a document that is being written. */
bool arm_operations_admit(struct arm_request *q, struct arm_resource *res);
/* Answers a write that took effect: at once, or with an operation to poll. */
void arm_operations_answer(struct arm_request *q);
/* The document's state while this runs: "Updating", "Deleting". */
const char *arm_operation_state(const struct arm_operation *op);
/* A client reads a document: where its own state is the poll, that is one. */
void arm_operations_look(struct arm_resource *res);
/* Counts as a look at each running write of a document below that id. */
void arm_operations_pass(struct arm *arm, const char *above);
bool arm_operation_get(struct arm_request *q);
bool arm_operation_result(struct arm_request *q);

/* --- kinds' own files ------------------------------------------------------------------------- */

bool arm_lb_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_lb_remove(struct arm_request *q);
bool arm_lb_migrate(struct arm_request *q);
void arm_lb_derive(struct arm *arm, const struct arm_links *l, const char *id,
                   struct json_object *body);
bool arm_lb_is_standard(struct json_object *body);
/* {"sku": {"name", "tier"}}, as far as it lacks them. */
void arm_sku_fill(struct json_object *body, const char *name);
/* Defaults of the sku, frontends, rules and probes. */
void arm_lb_fill(struct json_object *body);
/* NAT rules and pools, outbound rules (nat_rules.c). */
bool arm_lb_check_nat(struct arm_request *q, struct json_object *body);
/* "…/probes/x" must be a child of this balancer; refuses the reference otherwise. */
bool arm_lb_check_ref(struct arm_request *q, struct json_object *lb, const char *by, const char *id,
                      const char *member);
bool arm_check_range(struct arm_request *q, const char *by, struct json_object *p,
                     const char *member, int64_t min, int64_t max);
/* Rules, probes: their references and conflicts. */
bool arm_lb_check_rules(struct arm_request *q, struct json_object *body);
bool arm_lb_check_pools(struct arm_request *q, struct json_object *old, struct json_object *body);
/* The rules of a pool are not more than an interface that is to join it may carry. */
bool arm_check_rules_per_nic(struct arm_request *q, const char *pool);
bool arm_pool_get(struct arm_request *q);
bool arm_pool_list(struct arm_request *q);
bool arm_pool_put(struct arm_request *q);
bool arm_pool_delete(struct arm_request *q);
/* Zones of the region, each once; refuses otherwise, naming `id`. */
bool arm_check_zones(struct arm_request *q, struct json_object *zones, const char *id,
                     const char *location);
bool arm_pip_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_pip_remove(struct arm_request *q);
/* Empty arrays and default rules. */
void arm_nsg_fill(struct json_object *body);
bool arm_nsg_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_nsg_remove(struct arm_request *q);
bool arm_subnet_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_subnet_remove(struct arm_request *q);
bool arm_route_table_remove(struct arm_request *q);
bool arm_availability_set_remove(struct arm_request *q);
/* The pools that an IP configuration `by` names are there, where it is, and fit together. */
bool arm_check_pools_of(struct arm_request *q, struct json_object *properties, const char *by);
bool arm_nic_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_nic_remove(struct arm_request *q);
bool arm_pls_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_pls_remove(struct arm_request *q);
void arm_pls_after(struct arm_request *q, struct json_object *old, struct arm_resource *res);
/* The private link service that stands on a frontend, or NULL; borrowed. */
const char *arm_pls_of_frontend(struct arm_request *q, const char *fip);
bool arm_pls_connection(struct arm_request *q);
bool arm_vm_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_vm_instance_view(struct arm_request *q);
bool arm_vmss_put(struct arm_request *q, struct json_object *old, struct json_object *body);
bool arm_vmss_remove(struct arm_request *q);
void arm_vmss_after(struct arm_request *q, struct json_object *old, struct arm_resource *res);
bool arm_vmss_vm_put(struct arm_request *q, struct json_object *old, struct json_object *body);
void arm_vmss_vm_after(struct arm_request *q, struct json_object *old, struct arm_resource *res);
bool arm_vmss_nic_get(struct arm_request *q);
bool arm_vmss_nic_list(struct arm_request *q);
bool arm_vmss_ip_get(struct arm_request *q);
bool arm_vmss_ip_list(struct arm_request *q);
bool arm_provider_get(struct arm_request *q);
bool arm_provider_list(struct arm_request *q);

/* addresses.c */
/* A free address of a subnet, or NULL; `ipv6` says which family. */
char *arm_subnet_pick(struct arm_request *q, const char *subnet, bool ipv6);
/* Checks an address that is asked for by `owner` (id of an IP configuration). */
bool arm_subnet_check(struct arm_request *q, const char *subnet, const char *address,
                      const char *owner);
/* Holders of the private addresses of a virtual network: address → id of an IP configuration
 * (arena).  map_free() it. */
struct map *arm_private_holders(struct arm *arm, struct arena *a, const char *vnet);
/* A limit of the settings ("sim.azure.limits") or of --quota; `otherwise` when neither names it. */
int64_t arm_limit(const struct arm *arm, const char *name, int64_t otherwise);
/* The subnet exists; refuses otherwise, naming `by`. */
bool arm_subnet_exists(struct arm_request *q, const char *subnet, const char *by);
/* The resource is in its user's location, or has none; refuses the reference otherwise. */
bool arm_check_region(struct arm_request *q, const char *id, const char *location, const char *by);
/* A static IP configuration has an address of its version. */
bool arm_check_static(struct arm_request *q, struct json_object *p, const char *by);
char *arm_public_pick(struct arm *arm, struct arena *a, bool ipv6, const char *prefix);
/* The address of a machine's IP configuration; made up when nothing is known. */
const char *arm_machine_address(struct arm *arm, struct arena *a, const struct arm_ip_config *c);

/* seed.c: adds what a world of Azure does not bring along */
void arm_seed(struct arm *arm);
/* Gives each machine an address that has none: that of its Node (NULL: none is known), or
 * a free one. */
void arm_addresses_give(struct arm *arm, struct json_object *nodes);
/* The zones of its region: "1", "2", "3". */
const char **arm_zones(const struct arm *arm, struct arena *a, size_t *ret_n);

/* identity.c */
const char *arm_token_new(struct arm *arm, struct arena *a, int64_t lifetime_s);
bool arm_token_check(struct arm_request *q);

/* assertions.c: why the directory does not believe an assertion of `client`; NULL: it does. */
struct arm_denial {
    int number;       /* of AADSTS */
    const char *text; /* with the number */
};
const struct arm_denial *arm_assertion_judge(struct arm *arm, struct sim_call *call,
                                             const char *jwt, const char *client);

#endif
