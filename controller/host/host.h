/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: the controller's side of struct tt_host: what a provider is offered, and what it handed
 * back.
 *
 * A `struct host` lives as long as the provider is open.  Each call into the provider is a
 * `struct host_call`:  made before it, it carries the items with their results, holds snapshots for
 * the length of the call, and is read and freed after it.  Whatever a provider hands over is
 * checked here (length, UTF-8, size of lists, codes): what does not pass turns the result into
 * TT_BUG, and nothing of it is used.
 *
 * The host decides nothing about Services; the service controller does (sync.c).
 * Thread-safe: a provider may call from any thread of a call. */
#ifndef TRIMTAB_CONTROLLER_HOST_H
#define TRIMTAB_CONTROLLER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "controller/base/progress.h"
#include "controller/host/fence.h"
#include "controller/host/orphan_guard.h"
#include "controller/kube/client/client.h"
#include "controller/kube/events/events.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"
#include "controller/rules/report_rules.h"

struct host_call;

#define HOST_CONDITIONS_MAX  32
#define HOST_ANNOTATIONS_MAX 64
#define HOST_FINALIZERS_MAX  16

/* Result of one Service's call, and its reports.  Everything text is in the call's arena; to be
 * read after the call returned. */
struct tt_result {
    struct host_call *call;
    const struct tt_service *service; /* whose; NULL in open() and list_owned() */
    const char *key;                  /* "namespace/name"; "" as above */
    uint32_t verb;                    /* TT_VERB_…; 0 as above */
    /* set by the provider */
    bool done;           /* result_done() or result_fail() was called */
    bool broken;         /* it handed over something that may not be: `message` says what */
    int32_t code;        /* TT_OK until result_fail() */
    const char *message; /* NULL without failure */
    int64_t retry_after_ms;
    bool has_ingress;
    const struct tt_ingress *ingress;
    uint32_t n_ingress;
    bool has_exists;
    bool exists;
    struct tt_condition conditions[HOST_CONDITIONS_MAX];
    uint32_t n_conditions;
    struct tt_kv annotations[HOST_ANNOTATIONS_MAX]; /* value NULL: drop */
    uint32_t n_annotations;
    const char *drop_finalizers[HOST_FINALIZERS_MAX];
    uint32_t n_drop_finalizers;
    const char *resource_kind; /* NULL: none named */
    const char *resource_name;
    const char *text;            /* explain; NULL: none */
    struct tt_explain_row *rows; /* explain, beside or instead of the text */
    size_t n_rows;
    size_t cap_rows;
    size_t rows_bytes; /* of the rows' texts and names */
    uint32_t own;      /* TT_OWN_…: what of the Service is the provider's own affair */
    int64_t again_ms;  /* when to look again though all is well; 0: not */
    /* reported about it */
    unsigned planned;         /* operations that change something, over all plans */
    unsigned news;            /* those of them that its owner hears of (not TT_OP_AGAIN) */
    unsigned operations_done; /* operations that ended well */
    /* of the plan that was reported last */
    unsigned failed_spared; /* operations that failed, and without which clients are served */
    unsigned failed_others; /* other operations that failed */
    bool only_takes; /* it takes down what works, and makes nothing: that is another plan's */
    struct report_plan changes; /* with host_args.note_plans: those that were planned, in words */
    const struct tt_finding *findings; /* of its plans; each message once */
    size_t n_findings;
    bool has_plan;             /* a plan spoke of it: findings and serves_nobody are known */
    const char *serves_nobody; /* of its last plan; NULL: it serves clients, or unknown */
    /* of a failed ensure: why what stands now serves no client; "": it does; NULL: unknown */
    const char *stands_nobody;
    bool held;                                   /* the finalizers were put there in this call, */
    const char *held_names[HOST_FINALIZERS_MAX]; /* these among them: the view may lack them */
    uint32_t n_held_names;
    /* set by the syncer: a patch that goes with the finalizers before the first mutation
     * (sync_mark.c); NULL: none */
    const char *mark_body;
    bool mark_alone;  /* it goes also when all finalizers are there */
    bool marked;      /* it was sent in this call, */
    bool mark_owed;   /* or it was refused, and the finalizers alone were taken */
    bool former_sent; /* the patch of host_hooks.former_body, in this call */
    bool may_lack;    /* something that works was taken down, as far as the answers tell */
    bool took_down;   /* something that worked was, or was changed (TT_OP_PUT_BACK) */
    bool is_back;     /* and was restored (TT_OP_RESTORES), */
    bool not_back;    /* or could not be */
    bool gave_way;    /* the same by a plan that only takes: no operation of it puts it back */
    char *version; /* set by the syncer: the resourceVersion that was seen last (service_patch.h) */
    bool let_go;   /* set by the syncer: the Service may bear fewer finalizers than it shows */
    const char *hold_failure; /* why they could not be; NULL otherwise */
    /* why the status does not name what serves (result_publish()); NULL: it does, or was not to */
    const char *publish_failure;
    int32_t publish_code; /* of it */
};

struct host_hooks {
    /* A plan with something to do for this Service is about to be carried out; once per call and
     * Service.  `call_arg` is that of host_call_begin(). */
    void (*on_work)(void *call_arg, struct tt_result *result);
    /* A plan that takes down something that works is about to be carried out: the patch that keeps
     * on the Service what it asked for last (sync_former.c); valid as long as the call; NULL: none.
     * `call_arg` as above. */
    const char *(*former_body)(void *call_arg, const struct tt_result *result);
    /* result_serves() and result_publish(): the addresses that the result has, and its annotations,
     * are due now; in the call's thread, with its `call_arg`.  Not TT_OK: the status does not name
     * them, and result->publish_failure says why. */
    int32_t (*on_serves)(void *call_arg, struct tt_result *result);
    /* Every plan; for sub-commands.  The plan is the provider's: copy what is kept. */
    void (*on_plan)(void *arg, const struct tt_plan *plan);
    /* The same in a call that only plans (host_call_set_planning), with its `call_arg`. */
    void (*on_planned)(void *call_arg, const struct tt_plan *plan);
    /* report_left(); `call_arg` as above.  What is in `service` was checked. */
    void (*on_left)(void *call_arg, const struct tt_service *service);
    void (*on_finding)(void *arg, uint32_t severity, const char *where, const char *message);
    void (*on_owned)(void *arg, const char *kind, const char *name, const char *owner,
                     const char *detail);
    /* service_again(), from any thread; after_ms is 0 to QUEUE_AGAIN_MAX_MS. */
    void (*on_again)(void *arg, const char *ns, const char *name, int64_t after_ms);
    /* report_resource(); `arg` as above.  Texts were checked; the provider's: copy what is kept. */
    void (*on_resource)(void *arg, const struct tt_owned *owned);
    void *arg;
};

struct host_args {
    const struct tt_provider *desc; /* must live longer; so must everything else here */
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel; /* of the process: fires at shutdown; may be NULL */
    struct fence *fence;
    struct metrics *metrics;    /* NULL: none are kept */
    struct progress *progress;  /* noted at each cloud request that was answered; may be NULL */
    struct kube_client *client; /* NULL: no cluster (plan from files): kube_* answer TT_FORBIDDEN */
    struct kube_events *events; /* NULL: events are only logged (v 2) */
    struct kube_store *services; /* stores may be NULL: empty snapshots */
    struct kube_store *nodes;
    struct kube_store *slices;
    struct orphan_guard *orphan_guard; /* its Services are among services(); NULL: there are none */
    const char *cluster_name;
    /* the controller's, or NULL: hold_finalizers adds only the named ones */
    const char *cleanup_finalizer;
    bool planning;      /* nothing may be changed, in no call */
    bool note_plans;    /* tt_result.changes is filled */
    bool counts_deaths; /* a call says for which Service it is, as quarantine_rules.h counts it */
    bool quiet;         /* plans and operations are not logged: sub-commands print them */
    struct host_hooks hooks;
    /* In place of stores, for sub-commands that read Services from files.  Sorted;
     * NULL: the stores. */
    const struct tt_service *const *fixed_services;
    uint32_t n_fixed_services;
    const struct tt_node *const *fixed_nodes;
    uint32_t n_fixed_nodes;
    /* In place of the API server, for kube_get without a client: {plural: [object, …]} as a world
     * has it; borrowed. */
    struct json_object *fixed_objects;
};

struct tt_host_ctx *host_new(const struct host_args *args) _warn_unused_;
void host_free(struct tt_host_ctx *h); /* NULL is fine; the provider is closed */
/* Ends what the provider watches: before it is closed. */
void host_end_watches(struct tt_host_ctx *h);
/* The table that the provider gets; valid until host_free(). */
const struct tt_host *host_table(const struct tt_host_ctx *h);
/* Around open(): until it has returned the provider may ask for writing without a call. */
void host_set_opening(struct tt_host_ctx *h, bool opening);
/* The watched kinds are known once the provider is open: before the first call that reads it. */
void host_set_slices(struct tt_host_ctx *h, struct kube_store *slices);

/* --- calls ------------------------------------------------------------------------------------ */
/* A call for n Services: results, snapshots and texts live in `a`, which no other thread may use
 * until the call has returned.  `waiting`: how many keys wait in the queue.  End it with
 * host_call_end(). */
struct host_call *host_call_begin(struct tt_host_ctx *h, struct arena *a, uint32_t n_items,
                                  int64_t timeout_ms, uint32_t waiting, void *call_arg);
/* Places item `i`: fills result->service and key, and in->result. */
void host_call_item(struct host_call *c, uint32_t i, struct tt_item *in);
struct tt_result *host_call_result(struct host_call *c, uint32_t i);
/* The call is one of plan(): nothing may be changed in it.  Before it is made. */
void host_call_set_planning(struct host_call *c);
/* The thread is about to call the provider's `function` with it, until host_call_end(): when the
 * process dies in there, its last line says so (guard.h). */
void host_call_enter(struct host_call *c, const char *function);
const struct tt_call *host_call_abi(const struct host_call *c);
/* Requests to the cloud that were reported during the call. */
unsigned host_call_requests(const struct host_call *c);
/* Returns for how long the call has been open that is more than `grace_ms` beyond its time-out, the
 * longest of all; 0: none is.  Any thread. */
int64_t host_calls_stuck_ms(struct tt_host_ctx *h, int64_t grace_ms);
/* A call that has used half of its time, or that is beyond its deadline by more than a grace;
 * copies in the arena. */
#define HOST_LATE_SERVICES 16
struct host_late {
    const char *function;
    const char *key; /* for people, as in struct guard_mark; "" */
    bool over;       /* beyond its deadline; false: half of its time is gone */
    int64_t age_ms;
    /* ns, name, uid and resource_version, of at most HOST_LATE_SERVICES */
    struct tt_service *services;
    size_t n_services;
};
struct host_looked {
    struct host_late *calls; /* that became so since the last look */
    size_t n;
    unsigned over; /* how many are beyond it now */
};
/* How many calls are beyond their deadline by more than the grace. */
unsigned host_calls_over(struct tt_host_ctx *h, int64_t grace_ms);
struct host_looked host_calls_look(struct tt_host_ctx *h, struct arena *a, int64_t grace_ms);
/* Nodes for tt_batch, as host->nodes() gives them. */
void host_call_nodes(struct host_call *c, const struct tt_node *const **ret, uint32_t *ret_n);
/* Gives snapshots back; the results stay readable as long as the arena. */
void host_call_end(struct host_call *c);

/* Result of the call for one Service: `rc` is what the provider's function returned, `must_settle`
 * whether silence is a fault (reconcile_batch).  Fills *ret (ERR_OK, or code, message,
 * retry_after_ms). */
int host_result_outcome(const struct tt_result *r, int32_t rc, bool must_settle, struct err *ret);

/* --- inside (host_*.c) ------------------------------------------------------------------------ */
/* True when `text` is UTF-8 of at most `max` bytes. */
bool host_text_ok(const char *text, size_t max);

#endif
