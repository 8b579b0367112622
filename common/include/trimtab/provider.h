/* SPDX-License-Identifier: Apache-2.0 */
/* trimtab/provider.h — the interface between the controller and a cloud provider: THE ABI.
 *
 * A provider is a shared object (or a built-in) that exports one symbol, tt_provider_descriptor().
 * The controller knows nothing of it but the descriptor that this function returns.
 *
 * Life of a provider, in seven steps:
 *   1  the controller loads NAME.so from --provider-plugin-dir (or takes the built-in NAME), calls
 *   tt_provider_descriptor(), and checks abi, size, name and mandatory members;
 *   2  flags from the `options` table become part of the command line; the command line is parsed;
 *   3  open() is called once with the cloud-config and the option values; it gives back a handle;
 *   4  calls come in parallel, on many threads, but never two for one Service;
 *   5  each call may read through the host (snapshots, Kubernetes objects), change the cloud after
 *      asking host->may_mutate() before *each* mutation, and sets its results through the host;
 *   6  at shutdown call->cancelled() returns 1; a call ends within seconds, at a safe point;
 *   7  close() is called once, after all calls have returned.
 *
 * Rules of memory: inputs are borrowed for the call; results are copied by the host functions that
 * set them; a provider frees what it allocated.  Nothing is thrown, nothing long-jumps.  Rules of
 * growth: structs with `size` grow only at their end; a member may be used when TT_HAS() says so;
 * integers have fixed width; there are no enums, bools or bit-fields.  TRIMTAB_ABI_MAJOR changes
 * when an old plugin could not work, TRIMTAB_ABI_MINOR with every member that is added.
 * Errors: every operation returns a TT_ code; the message for people is set with
 * host->result_fail() or host->batch_result_fail().  A message is one line without secrets and
 * stays the same between retries.  A code that is no TT_ code, a missing result, or a text that is
 * too long or not UTF-8 is treated as TT_BUG. */
#ifndef TRIMTAB_PROVIDER_H
#define TRIMTAB_PROVIDER_H

#include <trimtab/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIMTAB_ABI_MAJOR 1u
#define TRIMTAB_ABI_MINOR 14u

#define TT_TEXT_MAX 1023u /* bytes of a message, an event text or a name that the host accepts */
#define TT_LIST_MAX 10000u

#if defined(__GNUC__)
#define TT_EXPORT __attribute__((visibility("default")))
#else
#define TT_EXPORT
#endif

/* Opaque to the provider. */
struct tt_result;   /* where one Service's outcome is collected */
struct tt_host_ctx; /* the controller's side of struct tt_host */

/* ---- what a call carries --------------------------------------------------------------------- */
struct tt_call {
    size_t size;
    const char *cluster_name; /* --cluster-name */
    int64_t deadline_ms;      /* by host->now_ms(); nothing may be sent after it */
    uint32_t waiting;  /* how many keys wait in the queue now: a hint that listing beats reading */
    uint32_t planning; /* 1 while plan() runs: the host refuses writes */
    /* 1 once the call should end.  Cheap; for the call's threads. */
    int32_t (*cancelled)(const struct tt_call *call);
    void *reserved_0_; /* NULL */
    /* Since 1.10.  1: a periodic check only (TT_REASON_RESYNC for each Service).  A provider with a
     * request limit serves other calls first. */
    uint32_t background;
    uint32_t reserved_;
};

/* Why a Service is being looked at; bits. */
#define TT_REASON_SPEC      0x1u /* it is new or its spec or annotations changed */
#define TT_REASON_NODES     0x2u
#define TT_REASON_ENDPOINTS 0x4u
#define TT_REASON_RESYNC    0x8u  /* start, retry, or periodic */
#define TT_REASON_CLEANUP   0x10u /* it is going away, or no longer wants a load balancer */
#define TT_VERB_ENSURE      1u
#define TT_VERB_UPDATE      2u /* only the backends: nodes or endpoints changed */
#define TT_VERB_DELETE      3u
/* In tt_item.flags, with TT_VERB_ENSURE, since 1.6.  Apply every setting of the Service that
 * differs: trimtab created this load balancer, or applied an edit of the Service, or does so now.
 * Without it the load balancer is adopted: keep differences that the former controller would keep,
 * and report them in tt_plan_service.left. */
#define TT_ITEM_PUT_RIGHT 0x1u
/* In addition, since 1.6: trimtab created this load balancer, in this or an earlier process. */
#define TT_ITEM_MADE 0x2u
/* With TT_VERB_UPDATE, since 1.6: this version was refused or partly applied.  Update nodes and
 * endpoints by the cloud's state; apply no setting of the Service. */
#define TT_ITEM_UNPROVEN 0x4u
/* With TT_VERB_ENSURE, since 1.8.  The Service is its last applied version, because its replacement
 * failed: recreate missing resources, and delete nothing for it (such a plan fails). */
#define TT_ITEM_FORMER 0x8u
/* With TT_VERB_ENSURE, since 1.11.  The replacement of something that works was refused for this
 * version: delete nothing that works for it now; a plan that has to fails (TT_IN_USE). */
#define TT_ITEM_SPARE 0x10u
/* With TT_ITEM_SPARE, since 1.13.  A right was missing: if the cloud says, before anything goes,
 * that it is there by now, the plan is carried out (TT_CAP_ASKS_AGAIN). */
#define TT_ITEM_ASKS 0x20u

/* One Service in a call. */
struct tt_item {
    size_t size;
    uint32_t verb;                        /* TT_VERB_… */
    uint32_t reasons;                     /* TT_REASON_… */
    const struct tt_service *service;     /* as it is now; of a vanished object: as last seen */
    const struct tt_service *previous;    /* as last synced by this process; NULL when never */
    const struct tt_slice *const *slices; /* NULL when the provider does not want endpoints */
    uint32_t n_slices;
    uint32_t has_slices; /* 0: unknown; 1: known, perhaps none (no slice is not an empty slice) */
    struct tt_result *result; /* where its outcome goes */
    uint32_t flags;           /* TT_ITEM_…; since 1.6 (0 before) */
    uint32_t reserved_;
};

/* Data common to all items of a call. */
struct tt_batch {
    size_t size;
    const char *key; /* batch_key's text; "" for a single Service without one */
    const struct tt_item *const *items;
    const struct tt_node *const *nodes; /* all nodes, sorted by name; each with its eligibility */
    uint32_t n_items;
    uint32_t n_nodes;
};

/* ---- plans ----------------------------------------------------------------------------------- */
#define TT_OP_CREATE   1u
#define TT_OP_CHANGE   2u
#define TT_OP_DELETE   3u
#define TT_OP_KEEP     4u   /* checked, as it should be */
#define TT_OP_CRITICAL 0x1u /* from here to the end of the plan a stop leaves work to resume */
#define TT_OP_SHARED   0x2u /* other Services use the resource too */
/* In reports: an outcome that the plan tolerates (absent, in use …), without a change. */
#define TT_OP_TOLERATED 0x8u
#define TT_OP_FINALLY   0x4u /* runs when the plan fails, too (see docs/architecture.md, finally) */
/* Since 1.4.  A delete that releases a reservation of this plan; not counted as a deletion. */
#define TT_OP_GIVES_BACK 0x10u
/* Since 1.8.  A working resource is deleted for its replacement, or changed because another one is:
 * report_plan() first stores the last applied settings on the Service (it may block), and the
 * controller restores them (TT_ITEM_FORMER) if the replacement fails, also in another process. */
#define TT_OP_PUT_BACK 0x20u
/* Since 1.9.  Each process does it once for itself, without a change of the load balancer (such as
 * an announcement).  A plan with nothing else causes no event. */
#define TT_OP_AGAIN 0x40u
/* Since 1.11.  Clients are served as asked without it: nothing is restored when it fails. */
#define TT_OP_SERVES_WITHOUT 0x80u
/* Since 1.12.  Restores what an operation of this call took away, because its replacement failed.
 * When it fails, too, nothing is known to serve: the next try does not wait. */
#define TT_OP_RESTORES 0x100u
/* One difference: path in the resource, and its texts.  NULL old: added; NULL new: removed. */
struct tt_field {
    const char *path;
    const char *old_text;
    const char *new_text; /* "known after N" when it comes from operation N */
};
/* One cloud call with its waiting. */
struct tt_operation {
    size_t size;
    uint32_t n;    /* 1… in the order of the plan */
    uint32_t verb; /* TT_OP_… */
    /* 1…; one more than the longest chain of operations that it waits for; 0 for KEEP */
    uint32_t wave;
    uint32_t flags;   /* TT_OP_CRITICAL … */
    const char *kind; /* the cloud's word: "forwarding rule" */
    const char *name;
    const char *why;           /* ends the sentence "because …" */
    const char *summary;       /* "TCP 80-443 → pool"; or NULL */
    const char *note;          /* "address known after address"; or NULL */
    const char *const *owners; /* "namespace/name", sorted */
    const struct tt_field *fields;
    uint32_t n_owners;
    uint32_t n_fields;
    uint32_t calls; /* how many requests it is expected to take, waiting included */
    /* since 1.2 (0 before): number of an operation that the cloud accepts first; 0: none */
    uint32_t sent_after;
    /* since 1.8 (0 before): numbers of the operations that this one waits for, ascending.  None,
     * beyond the first wave: it waits for every operation of earlier waves. */
    uint32_t n_after;
    const uint32_t *after;
    const char *api_kind; /* since 1.14: the API's kind where several have that `kind`; or NULL */
};
/* Since 1.6.  A setting of a Service without the expected effect; it does not stop the sync.  Its
 * owner gets a Warning event once; plan, explain and the status page show it while it applies. */
struct tt_finding {
    size_t size;
    const char *reason;  /* of the event: "AnnotationIgnored" */
    const char *field;   /* the annotation's key, or "spec.…"; NULL: none by itself */
    const char *message; /* one line; the same as long as nothing changes */
};
/* The plan of one Service. */
struct tt_plan_service {
    size_t size;
    const char *key;            /* "namespace/name" */
    const char *kind;           /* "external, target pool, us-central1" */
    const char *address;        /* the one it has now; NULL when none */
    const char *const *because; /* why this kind of load balancer */
    const char *const *effects; /* sentences a person fears or hopes for: "The address stays." */
    uint32_t n_because;
    uint32_t n_effects;
    uint32_t checked;    /* resources that were compared */
    int32_t code;        /* TT_OK, or why it cannot be planned */
    const char *message; /* with code */
    /* since 1.6 */
    const struct tt_finding *const *findings;
    /* Sentences about settings not applied to an adopted load balancer: it is not up to date. */
    const char *const *left;
    uint32_t n_findings;
    uint32_t n_left;
    /* Why the load balancer, once the plan is carried out, serves no client: "no node takes part:
     * …".  NULL: it serves, or that is not known.  Of several plans of one call the last one
     * counts. */
    const char *serves_nobody;
};
struct tt_plan {
    size_t size;
    const struct tt_plan_service *const *services;
    const struct tt_operation *const *operations;
    uint32_t n_services;
    uint32_t n_operations;
    uint32_t waves;
    uint32_t calls; /* mutations with their waits, and the reads made to plan */
};

/* ---- explanations ---------------------------------------------------------------------------- */
/* Since 1.4: sections of an explanation.  Texts of a row that a section does not name are NULL,
 * numbers -1.  A named text must be set unless the section allows NULL, and a quoted word must be
 * one of those listed; otherwise, or with more than 4 MiB, the explanation is TT_BUG. */
/* First.  subject: "served", "loses", "elsewhere", "refused" or "none"; value: the kind of load
 * balancer, or NULL; outcome: the answer after the Service's name: "is served by …." */
#define TT_EXPLAIN_ANSWER 1u
/* A question that was asked, in its order.  subject: an annotation, a field, a flag, a resource;
 * value: what was found, or NULL; outcome: what follows, or NULL. */
#define TT_EXPLAIN_DECISION 2u
/* The nodes behind it.  value: a phrase ("6 of 8 take part"); count and of: the numbers in it. */
#define TT_EXPLAIN_NODES 3u
/* Nodes of a zone.  subject: the zone; count, of; names: the nodes. */
#define TT_EXPLAIN_ZONE 4u
/* value: by which rule nodes were chosen. */
#define TT_EXPLAIN_NODES_RULE 5u
/* subject: a node; outcome: why it is left out. */
#define TT_EXPLAIN_LEFT_OUT 6u
/* A step of a packet.  subject: "client", "load balancer", "backend", "node" or "pod"; value: its
 * name (of the load balancer: its address, NULL: a new one); port; outcome, of the last step: the
 * source address that arrives, or NULL. */
#define TT_EXPLAIN_HOP 7u
/* subject: "HTTP", "HTTPS" or "TCP"; value: the path, or NULL; port; every_ms. */
#define TT_EXPLAIN_HEALTH 8u
/* value: an address or a host name of it.  Not a line of the text. */
#define TT_EXPLAIN_ADDRESS 9u
/* Further notes.  subject: a heading of one word; value. */
#define TT_EXPLAIN_NOTE 10u
/* value: a sentence about something that a person should look at. */
#define TT_EXPLAIN_WARNING 11u
struct tt_explain_row {
    size_t size;
    uint32_t section; /* TT_EXPLAIN_… */
    uint32_t n_names;
    const char *subject;
    const char *value;
    const char *outcome;
    const char *const *names;
    int64_t count;
    int64_t of;
    int64_t port;
    int64_t every_ms;
};

/* ---- what is ours in the cloud --------------------------------------------------------------- */
#define TT_OWNED_USED                                                                              \
    0x1u /* a Service that is there and wants a load balancer, or is being cleaned up, has it */
#define TT_OWNED_UNSURE 0x2u /* its name is one of trimtab, but it may be another cluster's */
/* Since 1.3.  A resource of trimtab by name, description or tag.  Texts as in an operation. */
struct tt_owned {
    size_t size;
    const char *kind; /* the cloud's word: "forwarding rule" */
    const char *name;
    const char *place; /* zone, or what it is a part of; NULL: nothing to say */
    /* "namespace/name" of its Service; NULL if unknown or shared */
    const char *owner;
    int64_t created_us;  /* 0: the cloud does not say */
    const char *cost;    /* "billed by the hour"; NULL: not known */
    const char *command; /* by which a person takes it away; NULL: none known */
    /* A Service with which ensure_load_balancer_deleted() (TT_VERB_DELETE) deletes the resource and
     * all others of its uid; its texts may differ.  NULL: delete by hand. */
    const struct tt_service *remove_as;
    uint32_t flags; /* TT_OWNED_… */
    uint32_t reserved_;
};

/* ---- the host: what the controller offers ---------------------------------------------------- */
#define TT_LOG_INFO      0u
#define TT_LOG_WARNING   1u
#define TT_LOG_ERROR     2u
#define TT_EVENT_NORMAL  0u
#define TT_EVENT_WARNING 1u

/* Address of a Kubernetes object.  `api_version` "v1" …; `ns` NULL: cluster-scoped. */
struct tt_kube_ref {
    const char *api_version;
    const char *resource; /* plural: "configmaps" */
    const char *ns;
    const char *name;        /* NULL for lists and creation */
    const char *subresource; /* or NULL */
};
/* Receives text once; called before the function that was given it returns. */
struct tt_text_sink {
    size_t size;
    void (*put)(void *arg, const char *text, size_t n);
    void *arg;
};
/* Since 1.9.  Takes Services one by one; `service` NULL: the one of that name is gone. */
struct tt_service_sink {
    size_t size;
    void (*put)(void *arg, const char *ns, const char *name, const struct tt_service *service);
    void *arg;
};

/* Every function may be called from any thread of a call unless it says otherwise, and none keeps a
 * pointer that it was given.  Members documented "may be NULL" are not filled by this version. */
struct tt_host {
    size_t size;
    uint32_t abi_major;
    uint32_t abi_minor;
    struct tt_host_ctx *ctx; /* first argument of everything below */

    /* A structured log line; v is klog's verbosity (0 = always).  Never blocks for long. */
    void (*log)(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                const struct tt_kv *values, uint32_t n_values);
    /* An event on a Service, for its owner.  Queued; repeated ones are counted, not repeated. */
    void (*event)(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                  const char *reason, const char *message);
    /* Metrics by the descriptor's table; unknown names are ignored (logged once). */
    void (*metric_add)(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                       uint32_t n_labels, double value); /* counters */
    void (*metric_set)(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                       uint32_t n_labels, double value); /* gauges */
    void (*metric_observe)(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                           uint32_t n_labels, double value); /* histograms */
    int64_t (*now_ms)(struct tt_host_ctx *ctx);              /* monotonic */
    int64_t (*wall_us)(struct tt_host_ctx *ctx);             /* since 1970 */
    void (*random)(struct tt_host_ctx *ctx, void *bytes, size_t n);

    /* 1: a mutation may be sent now.  Check right before each one; after a 0 (the replica lost its
     * lease) end the call with TT_CANCELLED.  `call` may be NULL inside open(); later NULL gets 0,
     * or with TT_CAP_WITHOUT_CALL the fence's answer. */
    int32_t (*may_mutate)(struct tt_host_ctx *ctx, const struct tt_call *call);

    /* Immutable snapshots, valid until the call returns.  services(): all Services of every type
     * and class, sorted by namespace and name; a later call may return a newer snapshot, and the
     * earlier one stays valid.  slices(): of one Service; *ret_known 0 = not watched. */
    void (*services)(struct tt_host_ctx *ctx, const struct tt_call *call,
                     const struct tt_service *const **ret, uint32_t *ret_n);
    void (*nodes)(struct tt_host_ctx *ctx, const struct tt_call *call,
                  const struct tt_node *const **ret, uint32_t *ret_n);
    void (*slices)(struct tt_host_ctx *ctx, const struct tt_call *call,
                   const struct tt_service *service, const struct tt_slice *const **ret,
                   uint32_t *ret_n, uint32_t *ret_known);

    /* Kubernetes objects of the kinds that the descriptor declares, as JSON text.  They block,
     * honour the call, and return TT_ codes (NOT_FOUND, EXISTS, CONFLICT, FORBIDDEN …).  `call` may
     * be NULL inside open(), and with TT_CAP_WITHOUT_CALL from open() until close() returns. */
    int32_t (*kube_get)(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_kube_ref *ref, const struct tt_text_sink *ret);
    int32_t (*kube_list)(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_kube_ref *ref, const char *label_selector,
                         const struct tt_text_sink *ret);
    int32_t (*kube_create)(struct tt_host_ctx *ctx, const struct tt_call *call,
                           const struct tt_kube_ref *ref, const char *json,
                           const struct tt_text_sink *ret);
    int32_t (*kube_patch)(struct tt_host_ctx *ctx, const struct tt_call *call,
                          const struct tt_kube_ref *ref, const char *content_type, const char *json,
                          const struct tt_text_sink *ret);
    int32_t (*kube_delete)(struct tt_host_ctx *ctx, const struct tt_call *call,
                           const struct tt_kube_ref *ref, const char *uid_precondition);
    /* May be NULL.  Calls changed(arg, type, json, n) from a thread of the host for every object
     * and change until close(); type "ADDED", "MODIFIED", "DELETED".  Declare the kind with the
     * verbs list and watch.  Events are in order; after a failure they repeat: ADDED for all
     * objects, and DELETED, with only name and namespace, for deleted ones.  Without
     * metadata.managedFields. */
    int32_t (*kube_watch)(struct tt_host_ctx *ctx, const struct tt_kube_ref *ref,
                          const char *label_selector,
                          void (*changed)(void *arg, const char *type, const char *json, size_t n),
                          void *arg);

    /* Adds the controller's cleanup finalizer (where it owns it), the named ones and the mark of
     * docs/adr/0029 in one patch, if any is missing.  Blocks.  A provider with
     * TT_CAP_HOLDS_FINALIZERS calls it before its first mutation for a Service; for others the
     * controller adds its finalizer before ensure. */
    int32_t (*hold_finalizers)(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_item *item, const char *const *names, uint32_t n);

    /* Reports a plan, once, before its first mutation; it may be empty.  A plan with more than
     * TT_LIST_MAX operations, an unknown verb, or a text that is missing or not UTF-8 is refused:
     * the call's Services fail, and may_mutate() returns 0.  A provider with TT_CAP_REPORTS_PLANS
     * calls it in every ensure, update and delete; the controller's events depend on it. */
    void (*report_plan)(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_plan *plan);
    /* One operation has ended. */
    void (*report_operation)(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_operation *op, int32_t code, const char *message,
                             int64_t took_ms);
    /* One request to the API `api` ("gce") has ended; `op`: its operation id; status 0: no
     * answer. */
    void (*report_call)(struct tt_host_ctx *ctx, const struct tt_call *call, const char *api,
                        const char *op, int32_t status, int64_t took_ms);

    /* Results of one Service; NULL is ignored, later settings win.  On failure only finalizers and
     * conditions count, with TT_IMPLEMENTED_ELSEWHERE (since 1.2) also annotations. */
    void (*result_ingress)(struct tt_result *result, const struct tt_ingress *ingress, uint32_t n);
    /* `status` NULL (since 1.2): the condition of this type is taken away. */
    void (*result_condition)(struct tt_result *result, const struct tt_condition *condition);
    /* `value` NULL: the annotation is dropped. */
    void (*result_annotation)(struct tt_result *result, const char *key, const char *value);
    /* One of the provider's own, not the controller's. */
    void (*result_drop_finalizer)(struct tt_result *result, const char *name);
    void (*result_exists)(struct tt_result *result, int32_t exists); /* get_load_balancer */
    /* `retry_after_ms` 0: by the code; at most 1 h.  TT_IN_PROGRESS fails after ten minutes. */
    void (*result_fail)(struct tt_result *result, int32_t code, const char *message,
                        int64_t retry_after_ms);
    /* The cloud resource that delays the result, for events and metrics. */
    void (*result_resource)(struct tt_result *result, const char *kind, const char *name);
    /* explain: whole lines; several calls append (before 1.5 the last one counted). */
    void (*result_text)(struct tt_result *result, const char *text);
    /* The Service is settled: a batch result without failure.  Singles need not call it. */
    void (*result_done)(struct tt_result *result);

    /* check_config, open: something that a person should look at.  `where` "gce.conf:12" or "". */
    void (*report_finding)(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message);
    /* list_owned: one resource of ours; owner NULL: orphan.  Superseded by report_resource. */
    void (*report_owned)(struct tt_host_ctx *ctx, const char *kind, const char *name,
                         const char *owner, const char *detail);

    /* Since 1.2.  The parts of this Service that the provider manages itself in this call: TT_OWN_
     * bits, which replace earlier ones.  Call it before the first mutation for it; default 0. */
    void (*result_own)(struct tt_result *result, uint32_t bits);
    /* Since 1.2.  As kube_list ("list"), in pages, put() per object; incomplete after a failure. */
    int32_t (*kube_each)(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_kube_ref *ref, const char *label_selector,
                         const struct tt_text_sink *each);
    /* Since 1.2.  After a successful ensure or update: ensures the Service again after this time in
     * ms (1000 to a day), with TT_REASON_RESYNC; 0: not.  Later settings replace earlier ones; the
     * next successful ensure ends it.  --resync-period counts, too.  Add jitter. */
    void (*result_again)(struct tt_result *result, int64_t after_ms);
    /* Since 1.2.  In list_left(): this Service may have left resources.  Needed: ns, name, uid (""
     * unknown), and its former type and lb_class.  If it is not of type LoadBalancer, or deleted,
     * ensure_load_balancer_deleted is called, for a deleted one with this Service. */
    void (*report_left)(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_service *service);
    /* Since 1.3.  In list_owned(): one resource; in any order, each once. */
    void (*report_resource)(struct tt_host_ctx *ctx, const struct tt_call *call,
                            const struct tt_owned *owned);
    /* Since 1.4.  explain: one row, in the order of the text; result_text() is ignored then. */
    void (*result_row)(struct tt_result *result, const struct tt_explain_row *row);
    /* Since 1.9.  The Service of that name, of any type; valid during the call; or NULL. */
    const struct tt_service *(*service)(struct tt_host_ctx *ctx, const struct tt_call *call,
                                        const char *ns, const char *name);
    /* Since 1.9, with TT_CAP_FEW_SERVICES (others get all).  Passes to put(), sorted by namespace
     * and name, the Services that changed since *version (0: all), and updates *version.  Returns 1
     * if it passed all: others are deleted; else 0. */
    int32_t (*services_since)(struct tt_host_ctx *ctx, const struct tt_call *call,
                              uint64_t *version, const struct tt_service_sink *each);
    /* Since 1.10.  Ensures the Service of that name again after `after_ms` (0 to a day), with
     * TT_REASON_RESYNC; the earliest moment counts.  From any thread, also without a call; does
     * not block.  Ignored for Services of others, and before the first lists are complete. */
    void (*service_again)(struct tt_host_ctx *ctx, const char *ns, const char *name,
                          int64_t after_ms);
    /* Since 1.11.  In an ensure, from the call's thread: what result_ingress and result_annotation
     * have set stands and serves, and only tidying is left, so it is written to the Service now.
     * Blocks for a request.  The end of the call still decides: later settings are written then. */
    void (*result_serves)(struct tt_result *result);
    /* Since 1.13.  With result_fail(), in an ensure of a Service whose status has an address: why
     * no client is served by what stands now; "": clients are.  Not called: that is not known. */
    void (*result_nobody)(struct tt_result *result, const char *why);
    /* Since 1.13.  As result_serves, for a provider that takes away next what the status may still
     * name.  Returns TT_OK once the status names the addresses of result_ingress, or no Service is
     * left.  Else leave what stands, and fail with that code: the controller reports the reason.
     * In an update nothing is written: TT_IN_USE if the status names others. */
    int32_t (*result_publish)(struct tt_result *result);
};

/* Bits for result_own(), for Services that a controller of the provider's own serves. */
/* The controller does not manage its cleanup finalizer: hold_finalizers adds only the named ones,
 * and a deletion removes those of result_drop_finalizer. */
#define TT_OWN_FINALIZERS 0x1u
/* The provider sends all events.  The controller still reports failures after a success (a status
 * that could not be written), and events before a call where the provider reports no plans. */
#define TT_OWN_EVENTS 0x2u
/* Its backends depend on node_digest(): it is synced when that changes. */
#define TT_OWN_NODES 0x4u
/* Status, annotations, conditions and marks of the Service are another process' to write: the
 * controller leaves them alone, whatever this call sets and however it ends (since 1.7). */
#define TT_OWN_STATUS 0x8u
/* Since 1.13.  In an ensure or update of a Service that asks for another controller's load
 * balancer, while one of the provider's is there: it is deleted in this call, or it stays for now
 * and only its backends follow.  Events and conditions of the controller say so. */
#define TT_OWN_GOES  0x10u
#define TT_OWN_STAYS 0x20u

/* ---- the descriptor -------------------------------------------------------------------------- */
#define TT_CAP_HOLDS_FINALIZERS 0x1u /* calls host->hold_finalizers before its first mutation */
#define TT_CAP_REPORTS_PLANS    0x2u /* calls host->report_plan in every sync */
#define TT_CAP_WANTS_ENDPOINTS  0x4u /* EndpointSlices are watched for it */
/* call->waiting is used: many keys cost hardly more than one */
#define TT_CAP_BULK         0x8u
#define TT_CAP_READS_SECRET 0x10u /* open() uses secret_text beside config_text (since 1.1) */
/* It has further parts, so the service controller's part can be switched off (since 1.2). */
#define TT_CAP_MORE_PARTS 0x20u
/* Its ensure and plan make validate()'s checks: only explain calls validate() (since 1.5). */
#define TT_CAP_CHECKS_ITSELF 0x40u
/* A change of status.loadBalancer.ingress causes a sync with TT_REASON_SPEC, in which the provider
 * programs the status, restores it, or gives up what the status named before (since 1.7).  The
 * first addresses of a Service, when this process wrote them, cause none. */
#define TT_CAP_FOLLOWS_INGRESS 0x80u
/* Its own thread calls kube_* and may_mutate with `call` NULL, also while close() runs (since 1.8).
 * Such a request is not retried; it fails after 2 s, and after 0.5 s when the process ends. */
#define TT_CAP_WITHOUT_CALL 0x100u
/* It uses service() and services_since() and rarely all Services: the controller stores them in a
 * third of the memory, and services() builds a list at each call (since 1.9). */
#define TT_CAP_FEW_SERVICES 0x200u
/* update_load_balancer takes several Services, up to 128, of which only the nodes changed, and
 * settles each (result_done, result_fail): a missing result is BUG.  Only Services without a batch
 * key, and with --concurrent-service-syncs above 1.  The call has five minutes; a Service that it
 * cannot settle by then is ensured alone (since 1.11). */
#define TT_CAP_NODES_TOGETHER 0x400u
/* Since 1.13.  Heeds TT_ITEM_ASKS: such a Service is tried again as after any missing right. */
#define TT_CAP_ASKS_AGAIN 0x800u

#define TT_DRIFT_OFF    0u
#define TT_DRIFT_REPORT 1u
#define TT_DRIFT_REPAIR 2u

/* Arguments of open() and check_config(). */
struct tt_open_args {
    size_t size;
    const struct tt_host *host; /* valid until close() */
    const char *cluster_name;
    const char *config_path; /* --cloud-config; NULL when the flag is absent */
    const char *config_text; /* the file's content; NULL when the flag is absent */
    size_t config_len;
    const struct tt_kv *options; /* values by the options table, sorted by name; defaults are in */
    uint32_t n_options;
    uint32_t allow_untagged; /* --allow-untagged-cloud */
    uint32_t concurrency;    /* how many calls may come at once */
    uint32_t planning;       /* 1: only plan, explain and check_config will be called */
    const char *version;     /* of trimtab, for user agents */
    /* plan --state: a saved world (JSON text: {"gce": {path: resource}, "members": {…}}) to read
     * instead of the cloud, without network.  NULL: the live cloud. */
    const char *state_json;
    size_t state_len;
    /* since 1.1: a second text, from a Secret (--cloud-config-secret-name), for providers with
     * TT_CAP_READS_SECRET (for others it is config_text), or NULL.  Never print it. */
    const char *secret_path; /* where it is from, for messages */
    const char *secret_text;
    size_t secret_len;
    /* since 1.1: 1 if the configuration is watched: after a change close() and open() are called
     * again. Then open() may return TT_IMPLEMENTED_ELSEWHERE: nothing to do until it changes. */
    uint32_t reloads;
    /* since 1.2 (0 before): 1 when --controllers switches the service controller off.  A provider
     * with TT_CAP_MORE_PARTS then returns TT_IMPLEMENTED_ELSEWHERE for Services of that part. */
    uint32_t service_controller_off;
    /* since 1.5 (NULL before): long names, comma separated, of controllers that are off by default
     * and that --controllers names: "gke-service-lb-controller".  NULL or "": none. */
    const char *more_controllers;
    /* since 1.8 (0 before): --drift, for providers that detect changes at once.  They always check;
     * with TT_DRIFT_REPORT they report and change nothing. */
    uint32_t drift; /* TT_DRIFT_… */
    uint32_t reserved_;
    /* since 1.8 (0 before): with a leader election, the minimum time in ms between the last 1 of
     * may_mutate() in this process and the first in another; 0: no election. */
    int64_t election_spare_ms;
};

/* An operation on one Service.  Blocks; honours call->deadline_ms and call->cancelled(). */
struct tt_provider {
    uint32_t abi_major; /* TRIMTAB_ABI_MAJOR it was built with; must equal the host's */
    uint32_t abi_minor;
    size_t size;           /* sizeof(struct tt_provider) it was built with */
    const char *name;      /* "gce": [a-z0-9-], at most 63; what --cloud-provider names */
    const char *version;   /* free text, at most 63 bytes */
    uint32_t capabilities; /* TT_CAP_… */
    /* most calls at once, late ones (call_deadline_ms) apart; 0 = no limit, 1 = a single worker */
    uint32_t max_parallel;
    uint32_t debounce_idle_ms; /* batches: sent when nothing new came for so long; 0 = 100 */
    uint32_t debounce_max_ms;  /* and at the latest after; 0 = 2000 */
    const struct tt_option *options;
    const char *const *classes;       /* loadBalancerClass values served besides "none" */
    const char *const *finalizers;    /* finalizers of its own that it may hold */
    const char *const *event_reasons; /* reasons of its own events, for docs and filters */
    const char *event_component;      /* source component of its events; NULL: the controller's */
    const struct tt_metric *metrics;
    const struct tt_kube_kind *kube_kinds;
    const struct tt_lease *leases; /* at most 8, held while it runs: see needs_lease */
    uint32_t n_options;
    uint32_t n_classes;
    uint32_t n_finalizers;
    uint32_t n_event_reasons;
    uint32_t n_metrics;
    uint32_t n_kube_kinds;
    uint32_t n_leases;
    uint32_t codes; /* bit (1 << code) for each code it may return; 0 = any */

    /* Mandatory.  Reads the configuration; *ret_provider is passed to everything below.  May block
     * and use host->kube_*.  Failure: host->result_fail(result, …) and the code. */
    int32_t (*open)(const struct tt_open_args *args, void **ret_provider, struct tt_result *result);
    /* Mandatory.  After the last call; never while one runs. */
    void (*close)(void *provider);

    /* Mandatory.  Does any owned resource of a load balancer exist?  Sets result_exists and, if so,
     * result_ingress.  Absence is TT_OK with exists 0, never TT_NOT_FOUND. */
    int32_t (*get_load_balancer)(void *provider, const struct tt_call *call,
                                 const struct tt_item *item);
    /* Mandatory.  Creates or fully converges; idempotent and resumable; cheap when converged; sets
     * result_ingress.  Zero eligible nodes are possible. */
    int32_t (*ensure_load_balancer)(void *provider, const struct tt_call *call,
                                    const struct tt_batch *batch);
    /* Mandatory.  Only the backends; TT_NOT_FOUND without a load balancer. */
    int32_t (*update_load_balancer)(void *provider, const struct tt_call *call,
                                    const struct tt_batch *batch);
    /* Mandatory.  TT_OK when no owned resource exists; also deletes leftovers of interrupted
     * runs. */
    int32_t (*ensure_load_balancer_deleted)(void *provider, const struct tt_call *call,
                                            const struct tt_batch *batch);

    /* Optional, together.  batch_key: pure, no I/O, the same text for a Service as long as it is
     * queued; writes at most n-1 bytes and a NUL; "" = no batch.  reconcile_batch gets all due
     * Services of one key at once, verbs mixed, and must settle each item (result_done,
     * result_fail): a missing result is BUG. */
    int32_t (*batch_key)(void *provider, const struct tt_service *service, char *text, size_t n);
    int32_t (*reconcile_batch)(void *provider, const struct tt_call *call,
                               const struct tt_batch *batch);
    /* Optional.  Reports (host->report_plan) what reconciling would do, and changes nothing.  With
     * a batch_key, Services of one key come at once, as to reconcile_batch. */
    int32_t (*plan)(void *provider, const struct tt_call *call, const struct tt_batch *batch);
    /* Optional.  Which load balancer the Service gets, by which rule: host->result_row for each
     * fact (with a host older than 1.4: result_text). */
    int32_t (*explain)(void *provider, const struct tt_call *call, const struct tt_batch *batch);
    /* Optional.  host->report_resource (with a host older than 1.3: report_owned) for each cloud
     * resource with trimtab's names, without those of other clusters.  Reads only; host->services()
     * has the Services.  Failure: the code, after report_finding() with TT_LOG_ERROR. */
    int32_t (*list_owned)(void *provider, const struct tt_call *call);
    /* Optional.  Pure check of one Service: TT_OK, TT_INVALID with a message,
     * TT_IMPLEMENTED_ELSEWHERE.  Called by explain, and (since 1.5, without TT_CAP_CHECKS_ITSELF)
     * before each ensure and plan: a refused Service is neither planned nor changed.  Not called
     * before updates of backends and deletions. */
    int32_t (*validate)(void *provider, const struct tt_item *item);
    /* Optional.  Checks the configuration: findings through the host; TT_INVALID.  No network. */
    int32_t (*check_config)(const struct tt_open_args *args, struct tt_result *result);
    /* Since 1.1.  Optional, for TT_CAP_WANTS_ENDPOINTS.  Time in ms for which endpoint changes of a
     * Service are collected before a sync; negative: they do not matter.  `service` NULL: any
     * Service; negative then: EndpointSlices are not watched.  No I/O, quick, from any thread.
     * NULL: 100 for all. */
    int64_t (*endpoints_delay_ms)(void *provider, const struct tt_service *service);
    /* Since 1.2.  Optional.  A digest of a node's properties, beside name, providerID and
     * eligibility, that matter to the Services of TT_OWN_NODES; 0: none.  Also for ineligible
     * nodes.  No I/O, quick, from any thread, the same for equal nodes. */
    uint64_t (*node_digest)(void *provider, const struct tt_node *node);
    /* Since 1.2.  Annotations that it writes itself: a change of these alone is no reason to sync.
     * A text that ends in '*' stands for all keys that begin with it. */
    const char *const *own_annotations;
    uint32_t n_own_annotations;
    uint32_t reserved_;
    /* Since 1.2.  Optional.  Is this one of `leases` needed with the opened configuration?  No call
     * is made before all needed ones are held; when one is lost, may_mutate() returns 0 and the
     * process exits.  NULL: all are.  No I/O, quick. */
    uint32_t (*needs_lease)(void *provider, const struct tt_lease *lease);
    /* Since 1.2.  Optional, for Services without a finalizer, which may have been deleted while no
     * process watched: host->report_left() for each with possible leftovers.  Called once after the
     * first lists, with the leases held; again, with back-off, while it fails (result_fail is not
     * needed).  Since 1.8: TT_IN_PROGRESS, called again every few seconds.  Since 1.14 `trimtab
     * plan` calls it once, planning: what is only waited for counts.  Blocks; may use kube_*. */
    int32_t (*list_left)(void *provider, const struct tt_call *call);
    /* Since 1.5.  Time limit of a call in ms: its deadline_ms.  0: 4 minutes; the user's
     * --provider-call-deadline takes precedence.  A late call keeps its Services and its thread;
     * another thread serves the others, so that more than max_parallel calls may be open. */
    int64_t call_deadline_ms;
    /* Since 1.6.  Annotations that configure a load balancer, written as own_annotations: only
     * their changes are edits for TT_ITEM_PUT_RIGHT.  NULL: all but its own. */
    const char *const *wish_annotations;
    uint32_t n_wish_annotations;
    /* Since 1.8 (0 before).  Most Services of one batch; those that are due beyond come in the next
     * one, at once.  0: as many as a plan may have (TT_LIST_MAX). */
    uint32_t batch_max;
    /* Since 1.8.  Optional.  With these options (as in tt_open_args), does the process make
     * requests of this kind?  `trimtab rbac` calls it for each row of kube_kinds, and for
     * "services/status" and "endpointslices".  NULL: it makes all.  No I/O. */
    uint32_t (*needs_kind)(const struct tt_kv *options, uint32_t n_options,
                           const struct tt_kube_kind *kind);
    /* Since 1.12.  Optional, beside node_digest().  For a Service of TT_OWN_NODES: a digest of
     * what its backends depend on in `nodes`, all nodes of the cluster, beside names, providerIDs
     * and eligibility.  A change of node_digest() that leaves it as it was does not sync the
     * Service.  No I/O, quick, from any thread.  NULL: each change of node_digest() does. */
    uint64_t (*nodes_digest)(void *provider, const struct tt_service *service,
                             const struct tt_node *const *nodes, uint32_t n_nodes);
};

/* The one exported symbol.  Called once, from the main thread; the descriptor is static. */
TT_EXPORT const struct tt_provider *tt_provider_descriptor(void);

#ifdef __cplusplus
}
#endif

#endif
