/* SPDX-License-Identifier: Apache-2.0 */
/* host_internal.h: what a host and a call are made of.  Private to host*.c.
 *
 * The parts: host.c life, calls, snapshots of nodes and slices; host_services.c Services;
 * host_result.c the setters of results; host_report.c logs, events, metrics, plans; host_kube.c
 * Kubernetes objects and finalizers; host_watch.c watches.  A call's lock guards its results, its
 * arena and its snapshots, because a provider may use several threads inside one call. */
#ifndef TRIMTAB_CONTROLLER_HOST_INTERNAL_H
#define TRIMTAB_CONTROLLER_HOST_INTERNAL_H

#include <stdatomic.h>

#include "common/base/lock.h"
#include "controller/base/guard.h"
#include "controller/host/host.h"

struct tt_host_ctx {
    struct host_args args;
    struct tt_host table;
    /* open() runs: the only time when a function may be asked without a call */
    atomic_bool opening;
    struct mutex lock;
    struct host_call *open _guarded_by_(lock); /* calls that have not ended, linked by next_open */
    struct host_watch *watches _guarded_by_(lock);
};

/* The provider's view, kept for the length of the call: all Services, or slices of one. */
struct host_snapshot {
    struct kube_snapshot *snapshot;
    const void *const *views; /* of the snapshot, and of what is kept beside it */
    size_t n;
    struct host_snapshot *next;
};

/* One Service that was asked for by name. */
struct host_object {
    struct kube_object *object;
    struct host_object *next;
};

struct host_call {
    struct tt_call abi; /* first: what the provider holds a pointer to */
    struct tt_host_ctx *host;
    struct cancel *cancel;
    void *call_arg;
    int64_t began_ms;
    struct host_call *next_open; /* guarded by host->lock */
    bool told_half, told_over;   /* guarded by host->lock: what host_calls_look() has said of it */
    atomic_bool entered; /* `mark` and the results are filled: another thread may read them */
    atomic_bool refused; /* its plan may not be: nothing may be changed in it */
    atomic_uint requests;
    struct mutex lock;
    struct arena *arena _guarded_by_(lock);
    struct host_snapshot *services _guarded_by_(lock); /* newest first */
    struct host_object *objects _guarded_by_(lock);
    struct kube_snapshot *nodes _guarded_by_(lock);
    struct host_snapshot *slices _guarded_by_(lock);
    struct tt_result *results;
    uint32_t n_results;
    uint32_t found _guarded_by_(lock); /* where host_call_find() begins */
    struct guard_mark mark; /* of the thread that makes the call; function NULL: it was not made */
};

static inline struct host_call *host_call_of(const struct tt_call *call)
{
    return (struct host_call *)call; /* abi is its first member */
}

/* Fill in the members of the table that the file implements. */
void host_table_results(struct tt_host *t);
void host_table_explain(struct tt_host *t);
void host_table_reports(struct tt_host *t);
void host_table_kube(struct tt_host *t);
void host_table_watch(struct tt_host *t);
void host_table_services(struct tt_host *t);
/* Where a provider gives no place for an answer, it gets none: false, and `what` is logged
 * as its fault. */
bool host_has_places(struct tt_host_ctx *h, const void *ret, const void *ret_n, const char *what);

/* --- host_result.c ---------------------------------------------------------------------------- */
/* Returns whether `r` is set; logs that the provider passed NULL to the function `name`. */
bool host_has_result(const struct tt_result *r, const char *name);
/* The result is a fault of the provider from now on: "the provider handed over WHAT". */
void host_break_result(struct tt_result *r, const char *what) _requires_(r->call->lock);
/* A checked copy; NULL (and a broken result) when the text may not be. */
const char *host_take_text(struct tt_result *r, const char *text, size_t max, const char *what)
    _requires_(r->call->lock);

/* --- host_kube.c ------------------------------------------------------------------------------ */
/* The descriptor declares the kind of `ref` with that verb. */
bool host_kind_is_declared(const struct tt_host_ctx *h, const struct tt_kube_ref *ref,
                           const char *verb);
/* Sends the patch of host_hooks.former_body, before the plan that takes something down is carried
 * out.  A failure is logged. */
void host_keep_former(struct tt_host_ctx *h, struct tt_result *r);

/* --- host_plan.c ------------------------------------------------------------------------------ */
#define HOST_WHY_MAX 256
/* May the plan, or the operation, be read?  False: `why` says what is wrong with it. */
bool host_plan_ok(const struct tt_plan *plan, char why[HOST_WHY_MAX]);
bool host_operation_ok(const struct tt_operation *op, char why[HOST_WHY_MAX]);

/* --- host_report.c ---------------------------------------------------------------------------- */
/* Logs a fault of the provider that no result can carry; rate-limited. */
void host_log_fault(struct tt_host_ctx *h, const char *what);

/* The call's result for a key; NULL when the Service is not in the call. */
struct tt_result *host_call_find(struct host_call *c, const char *key) _requires_(c->lock);

#endif
