/* SPDX-License-Identifier: Apache-2.0 */
/* trimtab/provider.h — the interface between the controller and a cloud provider: THE ABI.
 *
 * A provider is a shared object (or a built-in) that exports one symbol, tt_provider_descriptor().
 * The controller knows nothing of it but the descriptor that this function returns.
 *
 * Life of a provider, in seven steps:
 *   1  the controller loads NAME.so from --provider-plugin-dir (or finds NAME among the built-in
 *      ones), calls tt_provider_descriptor(), and checks abi, size, name and the mandatory members;
 *   2  flags from the `options` table become part of the command line; the command line is parsed;
 *   3  open() is called once with the cloud-config and the option values; it gives back a handle;
 *   4  many calls come in parallel, on many threads, for different Services: never two for one
 *      Service;
 *   5  each call may read through the host (snapshots, Kubernetes objects), change the cloud after
 *      asking host->may_mutate() before *each* mutation, and sets its results through the host;
 *   6  at shutdown call->cancelled() turns true; a call ends at its next safe point, within
 *      seconds;
 *   7  close() is called once, after all calls have returned.
 *
 * Rules of memory: inputs are borrowed for the call; results are copied by the host functions that
 * set them; a provider frees what it allocated.  Nothing is thrown, nothing long-jumps.  Rules of
 * growth: structs with `size` grow only at their end; a member may be used when TT_HAS() says so;
 * integers have fixed width; there are no enums, bools or bit-fields.  TRIMTAB_ABI_MAJOR changes
 * when an old plugin could not work, TRIMTAB_ABI_MINOR with every member that is added.
 * Errors: every operation returns a TT_ code; the message for people is set with
 * host->result_fail() or host->batch_result_fail().  A message is one line without secrets and
 * stays the same between retries.  A code other than a TT_ code, a missing result, or a text that
 * is too long or not UTF-8 is treated as TT_BUG. */
#ifndef TRIMTAB_PROVIDER_H
#define TRIMTAB_PROVIDER_H

#include <trimtab/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRIMTAB_ABI_MAJOR 1u
#define TRIMTAB_ABI_MINOR 10u

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
    /* 1 once the controller wants the call to end.  Cheap; may be asked often, from
     * the call's threads. */
    int32_t (*cancelled)(const struct tt_call *call);
    void *host_data; /* the host's own */
    /* Since 1.10.  1: nobody waits for the outcome, because each Service of the call is only looked at again (TT_REASON_RESYNC
     * alone).  A provider with a limited number of requests lets other calls pass. */
    uint32_t background;
    uint32_t reserved_;
};

/* Why a Service is being looked at; bits. */
#define TT_REASON_SPEC      0x1u /* it is new or its spec or annotations changed */
#define TT_REASON_NODES     0x2u
#define TT_REASON_ENDPOINTS 0x4u
#define TT_REASON_RESYNC    0x8u  /* start, retry, or periodic */
#define TT_REASON_CLEANUP   0x10u /* it is going away, or no longer wants a load balancer */

#define TT_VERB_ENSURE 1u
#define TT_VERB_UPDATE 2u /* only the backends: nodes or endpoints changed */
#define TT_VERB_DELETE 3u

/* In tt_item.flags, with TT_VERB_ENSURE, since 1.6.  What the Service names is corrected wherever
 * it differs: trimtab has made this load balancer, has carried out an edit of the Service, or is
 * about to do one of these.  Without it the load balancer was only taken over, and a named value
 * that the former controller would leave is left, too (tt_plan_service.left says so). */
#define TT_ITEM_PUT_RIGHT 0x1u
/* Beside it, since 1.6: trimtab has made this load balancer, in this process or an earlier one. */
#define TT_ITEM_MADE 0x2u
/* With TT_VERB_UPDATE, since 1.6: no ensure of this Service, as it is handed over, has ended well:
 * it was refused, or half of it was carried out.  Nodes and endpoints follow by what stands in the
 * cloud; nothing that only the Service asks for is done. */
#define TT_ITEM_UNPROVEN 0x4u
/* With TT_VERB_ENSURE, since 1.8.  The Service is handed over as it was carried out last, because
 * its replacement failed: what is missing is made again, and nothing that stands is taken down for
 * it (a plan that would do so fails). */
#define TT_ITEM_FORMER 0x8u

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
#define TT_OP_CREATE 1u
#define TT_OP_CHANGE 2u
#define TT_OP_DELETE 3u
#define TT_OP_KEEP   4u /* checked, as it should be */

#define TT_OP_CRITICAL                                                                             \
    0x1u /* from here to the end of the plan a stop leaves something to be resumed */
#define TT_OP_SHARED 0x2u /* other Services use the resource too */
/* In reports: it ended in an outcome that the plan allows (absent, in use by others …);
 * nothing was changed. */
#define TT_OP_TOLERATED 0x8u
#define TT_OP_FINALLY   0x4u /* runs when the plan fails, too (see docs/architecture.md, finally) */
/* Since 1.4.  A delete that gives back a reservation which was made for the time of a plan only:
 * the text of the plan says so, and does not count it among what goes away. */
#define TT_OP_GIVES_BACK 0x10u

/* Since 1.8.  Something that works is taken down for its replacement: before it is, the controller
 * keeps on the Service what it asked for when it was carried out last, and leads back to it
 * (TT_ITEM_FORMER) should the replacement fail, in another process, too.  report_plan() writes
 * that; it may block. */
#define TT_OP_PUT_BACK 0x20u
/* Since 1.9.  Each process does it once, for itself, and the load balancer is the same afterwards
 * (an announcement of what has been there).  A plan with nothing else causes no event for the
 * Service's owner. */
#define TT_OP_AGAIN 0x40u

/* One difference: path inside the resource, and its texts.  NULL old: added; NULL
 * new: taken away. */
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
    /* since 1.2 (0 before): number of an operation that the cloud has taken up before this
     * one is sent; 0: none */
    uint32_t sent_after;
    /* since 1.8 (0 before): numbers of the operations that this one waits for, where its plan names
     * them; ascending.  0 of them in a wave beyond the first: it waits for every operation of the
     * waves before its own. */
    uint32_t n_after;
    const uint32_t *after;
};
/* Since 1.6.  A wish of a Service that has no effect, or not the one that its owner seems to
 * expect; it stops nothing.  Its owner gets a Warning event when the Service is made or edited so;
 * plan, explain and the status page name it as long as it is so. */
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
    /* Sentences about values that the Service names and that are left as they were taken over; a
     * Service with one is never called up to date. */
    const char *const *left;
    uint32_t n_findings;
    uint32_t n_left;
    /* Reason why the load balancer serves no client after the plan: "no node takes part: …".  NULL:
     * it serves, or that is not known.  Of several plans of one call the last one counts. */
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
 * numbers -1.  A text that a section names must be there unless it says NULL, and a quoted word
 * must be one of those; else the Service's explanation is TT_BUG.  So is one whose texts
 * are more than 4 MiB. */
/* Comes first.  subject: "served", "loses", "elsewhere", "refused" or "none"; value: the kind of
 * load balancer ("external load balancer with a target pool"), or NULL; outcome: the answer, behind
 * the Service's name: "is served by …." */
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
/* A step of a packet's way.  subject: "client", "load balancer", "backend", "node" or "pod"; value:
 * how it is called (of the load balancer: its address, NULL: it gets a new one); port; outcome, of
 * the last step: what becomes of the source address, or NULL. */
#define TT_EXPLAIN_HOP 7u
/* subject: "HTTP", "HTTPS" or "TCP"; value: the path, or NULL; port; every_ms. */
#define TT_EXPLAIN_HEALTH 8u
/* An address, or a host name, that it has; value.  Does not stand in the text by itself. */
#define TT_EXPLAIN_ADDRESS 9u
/* Further notes: subject: a heading of one word; value. */
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
/* Since 1.3.  A resource that is ours by name, description or tag.  Texts as in an operation
 * of a plan. */
struct tt_owned {
    size_t size;
    const char *kind; /* the cloud's word: "forwarding rule" */
    const char *name;
    const char *place; /* zone, or what it is a part of; NULL: nothing to say */
    /* "namespace/name" of the Service that it was made for; NULL if unknown or shared */
    const char *owner;
    int64_t created_us;  /* 0: the cloud does not say */
    const char *cost;    /* "billed by the hour"; NULL: not known */
    const char *command; /* by which a person takes it away; NULL: none known */
    /* Handed to ensure_load_balancer_deleted() (verb TT_VERB_DELETE) this takes the resource away,
     * with all others of the same uid; its texts need not be what the Service had.  NULL:
     * only a person can. */
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

/* A Kubernetes object, addressed.  `api_version` "v1", "networking.gke.io/v1beta1" …; `ns` NULL:
 * cluster-scoped. */
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

    /* 1: a mutation may be sent now.  To be asked right before each one (fencing: a replica that
     * lost its lease gets 0; the call should then end with TT_CANCELLED).  `call` may be NULL
     * inside open(); after it NULL gets 0, but with TT_CAP_WITHOUT_CALL the fence's answer. */
    int32_t (*may_mutate)(struct tt_host_ctx *ctx, const struct tt_call *call);

    /* Immutable snapshots, valid until the call returns.  services(): all that the controller has,
     * of every type and class, sorted by namespace and name, as of this moment: asked again it may
     * be another one, and the earlier one stays.  slices(): of one Service; *ret_known 0
     * = not watched. */
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
     * and change until close(); type "ADDED", "MODIFIED", "DELETED".  The kind is declared with the
     * verbs list and watch.  In order, late, and again after trouble: then ADDED for all objects,
     * and DELETED, with a name and a namespace alone, for each that went meanwhile.
     * metadata.managedFields is left out. */
    int32_t (*kube_watch)(struct tt_host_ctx *ctx, const struct tt_kube_ref *ref,
                          const char *label_selector,
                          void (*changed)(void *arg, const char *type, const char *json, size_t n),
                          void *arg);

    /* Makes sure that the Service carries the controller's cleanup finalizer (where the controller
     * owns it) and those named here, and the mark of what trimtab makes or edits (docs/adr/0029),
     * in one patch; no request when all are there.  Blocks.  A provider with
     * TT_CAP_HOLDS_FINALIZERS calls it before its first mutation for a Service; for others the
     * controller sets its finalizer before ensure. */
    int32_t (*hold_finalizers)(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_item *item, const char *const *names, uint32_t n);

    /* The operations to be performed (or planned), once per plan, before its first mutation; an
     * empty plan may be reported too.  One with more than TT_LIST_MAX operations, an unknown verb,
     * or a text that is absent or not UTF-8 is refused: the call's Services fail, and may_mutate()
     * says 0 in it from then on.  A provider with TT_CAP_REPORTS_PLANS calls it in every ensure,
     * update and delete; the events that say "something happens" follow from it. */
    void (*report_plan)(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_plan *plan);
    /* One operation has ended. */
    void (*report_operation)(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_operation *op, int32_t code, const char *message,
                             int64_t took_ms);
    /* One request to the cloud's API has ended: for counts and latency.  `api` "gce", `op` the
     * API's operation id; status 0: no answer. */
    void (*report_call)(struct tt_host_ctx *ctx, const struct tt_call *call, const char *api,
                        const char *op, int32_t status, int64_t took_ms);

    /* Results of one Service; with `result` NULL nothing is taken.  Later settings replace earlier
     * ones; nothing set on failure is used, but for finalizers and conditions.  With
     * TT_IMPLEMENTED_ELSEWHERE (since 1.2) annotations are, too: a provider may take back
     * what it had written. */
    void (*result_ingress)(struct tt_result *result, const struct tt_ingress *ingress, uint32_t n);
    /* `status` NULL (since 1.2): the condition of this type is taken away. */
    void (*result_condition)(struct tt_result *result, const struct tt_condition *condition);
    void (*result_annotation)(struct tt_result *result, const char *key,
                              const char *value); /* NULL: drop */
    void (*result_drop_finalizer)(struct tt_result *result,
                                  const char *name); /* ours, not the controller's */
    void (*result_exists)(struct tt_result *result, int32_t exists); /* get_load_balancer */
    /* `retry_after_ms` 0: as the code says; at most an hour is waited.  TT_IN_PROGRESS is reported
     * as a failure only after ten minutes. */
    void (*result_fail)(struct tt_result *result, int32_t code, const char *message,
                        int64_t retry_after_ms);
    /* Names what holds the result back, for events and metrics: kind and name of
     * the cloud resource. */
    void (*result_resource)(struct tt_result *result, const char *kind, const char *name);
    /* explain: whole lines; texts of several calls stand below each other (before 1.5 the
     * last one counted). */
    void (*result_text)(struct tt_result *result, const char *text);
    /* The Service is settled: a batch result without failure.  Singles need not call it. */
    void (*result_done)(struct tt_result *result);

    /* check_config, open: something that a person should look at.  `where` "gce.conf:12" or "". */
    void (*report_finding)(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                           const char *message);
    /* list_owned: one resource of ours; owner NULL: orphan.  Superseded by report_resource. */
    void (*report_owned)(struct tt_host_ctx *ctx, const char *kind, const char *name,
                         const char *owner, const char *detail);

    /* Since 1.2.  What of this Service is the provider's own affair, in this call: TT_OWN_ bits,
     * which replace earlier ones.  To be said before the first mutation for it; nothing said: 0. */
    void (*result_own)(struct tt_result *result, uint32_t bits);
    /* Since 1.2.  As kube_list (and declared as "list"), but put() is called for each object; they
     * are asked for in pages, so that thousands are never one text.  After a failure some
     * may be missing. */
    int32_t (*kube_each)(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_kube_ref *ref, const char *label_selector,
                         const struct tt_text_sink *each);
    /* Since 1.2.  After a successful ensure or update: the Service is ensured again after this
     * number of ms (1000 to a day) without another cause, with TT_REASON_RESYNC; 0: it is not.
     * Later settings replace earlier ones; what was said in an earlier call ends with the next
     * ensure that ends well.  --resync-period counts beside it, the earlier moment wins.  Add
     * jitter. */
    void (*result_again)(struct tt_result *result, int64_t after_ms);
    /* Since 1.2.  In list_left(): something may be left of this Service.  Needed: ns, name, uid (""
     * unknown), type and lb_class as it had them.  One that wants a load balancer now is left
     * alone; one that does not, and one that is gone, is deleted (ensure_load_balancer_deleted),
     * the latter as it is given here. */
    void (*report_left)(struct tt_host_ctx *ctx, const struct tt_call *call,
                        const struct tt_service *service);
    /* Since 1.3.  In list_owned(): one resource; in any order, each once. */
    void (*report_resource)(struct tt_host_ctx *ctx, const struct tt_call *call,
                            const struct tt_owned *owned);
    /* Since 1.4.  explain: one row, in the order of the text, which the host makes of all of them;
     * result_text() need not be called then, and does not count.  Sections that the host does not
     * know are left out. */
    void (*result_row)(struct tt_result *result, const struct tt_explain_row *row);
    /* Since 1.9.  The Service of that name, of any type and class, as services() would have it;
     * valid until the call returns.  NULL if there is none. */
    const struct tt_service *(*service)(struct tt_host_ctx *ctx, const struct tt_call *call,
                                        const char *ns, const char *name);
    /* Since 1.9, with TT_CAP_FEW_SERVICES (others get all each time).  Hands over, sorted by
     * namespace and name, what of services() is other than at *version (0: all), each as long as
     * put() runs, and sets *version to now.  Returns 0, or 1 when it handed over all that there
     * are: those that it did not are gone. */
    int32_t (*services_since)(struct tt_host_ctx *ctx, const struct tt_call *call,
                              uint64_t *version, const struct tt_service_sink *each);
};

/* Bits for result_own(), for Services that a controller of the provider's own serves. */
/* The controller's cleanup finalizer is neither put on the Service nor taken off it:
 * hold_finalizers holds only the named ones, and a deletion lets go of those of
 * result_drop_finalizer. */
#define TT_OWN_FINALIZERS 0x1u
/* None of the controller's events: the provider sends its own, of failures too.  What happens after
 * it ended well (a status that could not be written) is still told by the controller, and what it
 * says before a call (to providers without TT_CAP_REPORTS_PLANS, or with --strict-upstream-events)
 * cannot be taken back. */
#define TT_OWN_EVENTS 0x2u
/* Its backends hang on what node_digest() says of nodes: it is synced when that changes. */
#define TT_OWN_NODES 0x4u
/* Status, annotations, conditions and marks of the Service are another process' to write: the
 * controller leaves them alone, whatever this call sets and however it ends (since 1.7). */
#define TT_OWN_STATUS 0x8u

/* ---- the descriptor -------------------------------------------------------------------------- */
#define TT_OPTION_STRING   1u
#define TT_OPTION_BOOL     2u
#define TT_OPTION_INT      3u
#define TT_OPTION_DURATION 4u /* Go syntax; handed over in milliseconds, as decimal text */
#define TT_OPTION_LIST     5u /* comma separated */
/* A command-line flag that the provider adds. */
struct tt_option {
    const char *name;         /* "enable-rbs-default-l4-netlb" */
    uint32_t type;            /* TT_OPTION_… */
    uint32_t secret;          /* 1: the host masks its value everywhere */
    const char *default_text; /* as it would be written */
    const char *help;
};
#define TT_METRIC_COUNTER   1u
#define TT_METRIC_GAUGE     2u
#define TT_METRIC_HISTOGRAM 3u
struct tt_metric {
    const char *name;
    const char *help;
    const char *const *labels;
    const double *buckets; /* histograms */
    uint32_t type;
    uint32_t n_labels;
    uint32_t n_buckets;
    uint32_t reserved_;
};
/* A kind of Kubernetes objects that the provider uses; RBAC is generated from it. */
struct tt_kube_kind {
    const char *api_version;
    const char *resource;
    const char *ns;    /* NULL: all namespaces */
    const char *name;  /* NULL: any */
    const char *verbs; /* "get,list,watch,create" */
};
struct tt_lease {
    const char *ns;
    const char *name;
};

#define TT_CAP_HOLDS_FINALIZERS 0x1u /* calls host->hold_finalizers before its first mutation */
#define TT_CAP_REPORTS_PLANS    0x2u /* calls host->report_plan in every sync */
#define TT_CAP_WANTS_ENDPOINTS  0x4u /* EndpointSlices are watched for it */
/* call->waiting is used: many keys cost hardly more than one */
#define TT_CAP_BULK         0x8u
#define TT_CAP_READS_SECRET 0x10u /* open() uses secret_text beside config_text (since 1.1) */
/* It runs more than the service controller's part, so that this one alone can be
 * switched off (since 1.2). */
#define TT_CAP_MORE_PARTS 0x20u
/* Its ensure and its plan refuse what validate() refuses, and say so themselves: validate() is
 * asked by explain alone (since 1.5). */
#define TT_CAP_CHECKS_ITSELF 0x40u
/* A change of status.loadBalancer.ingress by another writer is a reason to sync, with
 * TT_REASON_SPEC: it programs what the status says, or writes it again when it was wiped (since
 * 1.7). */
#define TT_CAP_FOLLOWS_INGRESS 0x80u
/* A thread of its own asks kube_* and may_mutate with `call` NULL, also while close() runs (since
 * 1.8).  Such a request is not repeated; it fails after two seconds, and after half a second when
 * the process ends. */
#define TT_CAP_WITHOUT_CALL 0x100u
/* It asks for Services by service() and services_since(), and hardly ever for all of them: the
 * controller keeps them in a form that takes a third of the room, and services() makes a list at
 * each call (since 1.9). */
#define TT_CAP_FEW_SERVICES 0x200u

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
    /* plan --state: the cloud as a saved world (JSON text: {"gce": {path: resource}, "members":
     * {…}}), to be read instead of the cloud itself; no network is used then.  NULL:
     * the live cloud. */
    const char *state_json;
    size_t state_len;
    /* since 1.1: a second text, from a Secret of the cluster (--cloud-config-secret-name), for
     * providers with TT_CAP_READS_SECRET; others find it in config_text.  NULL if there is none.
     * Never to be printed. */
    const char *secret_path; /* where it is from, for messages */
    const char *secret_text;
    size_t secret_len;
    /* since 1.1: 1 when the configuration is watched: after a change close() and open() come again.
     * Then open() may say TT_IMPLEMENTED_ELSEWHERE: there is nothing to do until it changes. */
    uint32_t reloads;
    /* since 1.2 (0 before): 1 when --controllers switches the service controller off.  The
     * provider, which has TT_CAP_MORE_PARTS, then serves only what belongs to its other parts, and
     * says TT_IMPLEMENTED_ELSEWHERE to the rest. */
    uint32_t service_controller_off;
    /* since 1.5 (NULL before): long names, comma separated, of controllers that are off by default
     * and that --controllers names: "gke-service-lb-controller".  NULL or "": none. */
    const char *more_controllers;
    /* since 1.8 (0 before): --drift, for providers that hear at once of what others change.  They
     * look in any case; with TT_DRIFT_REPORT they tell and change nothing. */
    uint32_t drift; /* TT_DRIFT_… */
    uint32_t reserved_;
    /* since 1.8 (0 before): with a leader election the time in ms that lies at least between the
     * last moment in which may_mutate() says 1 in this process and the first in which it may in
     * another; 0: there is no election. */
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

    /* Mandatory.  Reads the configuration; *ret_provider is handed to everything below.  May block
     * (metadata, discovery) and may use host->kube_*.  Failure: host->result_fail(result,
     * …) and the code. */
    int32_t (*open)(const struct tt_open_args *args, void **ret_provider, struct tt_result *result);
    /* Mandatory.  After the last call; never while one runs. */
    void (*close)(void *provider);

    /* Mandatory.  Does an owned load balancer (or any owned piece of one) exist?  Sets
     * result_exists and, when there is one, result_ingress.  Absence is TT_OK with exists
     * 0, never TT_NOT_FOUND. */
    int32_t (*get_load_balancer)(void *provider, const struct tt_call *call,
                                 const struct tt_item *item);
    /* Mandatory.  Creates or fully converges; idempotent and resumable; cheap when converged; sets
     * result_ingress.  Zero eligible nodes are possible. */
    int32_t (*ensure_load_balancer)(void *provider, const struct tt_call *call,
                                    const struct tt_batch *batch);
    /* Mandatory.  Only the backends of an existing load balancer; TT_NOT_FOUND when
     * there is none. */
    int32_t (*update_load_balancer)(void *provider, const struct tt_call *call,
                                    const struct tt_batch *batch);
    /* Mandatory.  TT_OK when everything owned is gone, or never was; also deletes what an
     * interrupted run left. */
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
    /* Optional.  host->report_resource (with a host older than 1.3: report_owned) for everything in
     * the cloud that carries our names; what is known to be another cluster's is left out.  Reads
     * only; host->services() says which Services there are.  Failure: the code, after
     * report_finding() with TT_LOG_ERROR, which says why: there is no result to fail. */
    int32_t (*list_owned)(void *provider, const struct tt_call *call);
    /* Optional.  Pure check of one Service: TT_OK, TT_INVALID with a message,
     * TT_IMPLEMENTED_ELSEWHERE.  Asked by explain, and (since 1.5, without TT_CAP_CHECKS_ITSELF)
     * before each ensure and plan: what it refuses is neither planned nor made, and a load balancer
     * that the Service has already stays as it is.  Not asked before updates of
     * backends and deletions. */
    int32_t (*validate)(void *provider, const struct tt_item *item);
    /* Optional.  Reads the configuration without opening: findings through the host; TT_INVALID
     * when it would not start.  No network. */
    int32_t (*check_config)(const struct tt_open_args *args, struct tt_result *result);
    /* Since 1.1.  Optional, for TT_CAP_WANTS_ENDPOINTS.  For how long, in ms, changes of the
     * endpoints of a Service gather before it is synced for their sake; negative: they do not
     * concern it.  `service` NULL: any Service at all; negative then: EndpointSlices need not be
     * watched.  No I/O, quick, from any thread.  NULL: 100 for all. */
    int64_t (*endpoints_delay_ms)(void *provider, const struct tt_service *service);
    /* Since 1.2.  Optional.  A digest of what of a node, beside name, providerID and eligibility,
     * concerns the Services of TT_OWN_NODES (labels, readiness, addresses …); 0: the node concerns
     * none of them.  Also asked of nodes that are not eligible.  No I/O, quick, from any thread,
     * the same for equal nodes. */
    uint64_t (*node_digest)(void *provider, const struct tt_node *node);
    /* Since 1.2.  Annotations that it writes itself: a change of only these does not cause a sync.
     * A text that ends in '*' stands for all keys that begin with it. */
    const char *const *own_annotations;
    uint32_t n_own_annotations;
    uint32_t reserved_;
    /* Since 1.2.  Optional.  Is this one of `leases` needed, as it was opened?  Until all that are
     * needed are held no call is made; when one is lost may_mutate() says no and the process ends.
     * NULL: all are.  No I/O, quick. */
    uint32_t (*needs_lease)(void *provider, const struct tt_lease *lease);
    /* Since 1.2.  Optional, for Services that bear no finalizer: host->report_left() for each of
     * which something may be there, because one may have gone while no process watched.  Called
     * once, after the first lists are in and the leases are held; again, with back-off, as long as
     * it fails (result_fail need not be called).  Since 1.8: TT_IN_PROGRESS, it is not known yet,
     * and asked again every few seconds.  Blocks; may use kube_*. */
    int32_t (*list_left)(void *provider, const struct tt_call *call);
    /* Since 1.5.  How long one call may take, in ms: the call's deadline_ms.  0: 4 minutes; the
     * user's --provider-call-deadline wins.  A call that continues after it keeps its Services and
     * its thread until it returns; for the others another thread is started, so that more than
     * max_parallel calls may be open then. */
    int64_t call_deadline_ms;
    /* Since 1.6.  Annotations that configure a load balancer, written as own_annotations are: a
     * change of others is not an edit in the sense of TT_ITEM_PUT_RIGHT.  NULL: all but its own
     * are. */
    const char *const *wish_annotations;
    uint32_t n_wish_annotations;
    /* Since 1.8 (0 before).  Most Services of one batch; those that are due beyond come in the next
     * one, at once.  0: as many as a plan may have (TT_LIST_MAX). */
    uint32_t batch_max;
    /* Since 1.8.  Optional.  With these options (as in tt_open_args), does the process make
     * requests of this kind?  Asked by `trimtab rbac` for each row of kube_kinds, and for two of
     * the controller's own: "services/status" and "endpointslices".  NULL: it makes
     * all.  No I/O. */
    uint32_t (*needs_kind)(const struct tt_kv *options, uint32_t n_options,
                           const struct tt_kube_kind *kind);
};

/* The one exported symbol.  Called once, from the main thread; the descriptor is static. */
TT_EXPORT const struct tt_provider *tt_provider_descriptor(void);

#ifdef __cplusplus
}
#endif

#endif
