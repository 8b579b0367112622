/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h: carries out a sealed plan on one HTTP handle: each operation as soon as those that it
 * waits for are over.
 *
 * Knows attributes, not flows.  After a failure no later wave begins; then `finally` decides what
 * still runs.  Blocks; honours cancelling between operations and inside transfers.  One thread. */
#ifndef TRIMTAB_LB_EXEC_H
#define TRIMTAB_LB_EXEC_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/lb/plan.h"
#include "common/net/http.h"

struct lb_exec;

/* One operation in progress: what a lb_op_type's step sees. */
struct lb_op_run {
    const struct lb_op *op;
    struct lb_exec *exec;
    /* Of an operation with a step its own: until it is over, and after a failure, or if the caller
     * wants answers, until on_done() has returned.  Else the plan's. */
    struct arena *a;
    struct arena *plan_a;     /* as long as the plan */
    void *provider;           /* the provider's handle */
    void *state;              /* op->type->state_size zeroed bytes */
    struct http_request *req; /* fill it, then return HTTP_SEND */
    struct err *err;          /* set it, then return HTTP_DONE; OK when left alone */
    int64_t now_ms;           /* by the exec's clock, for retry.h */
    int64_t wall_us;
    double unit; /* randomness for this step, [0,1); 0 in a direct operation */
};
/* Outputs: strings copied; they live as long as the plan. */
void lb_run_output(struct lb_op_run *run, const char *name, const char *value);
/* The text of a value: known, or an output of an operation that is done.  NULL when absent
 * or not known. */
const char *lb_run_value(const struct lb_op_run *run, struct lb_value v);

/* The cloud has taken the operation up (its answer is a good one, also when the work continues
 * there): what is `sent_after` this one may go.  A step that never says so lets others
 * wait until it is done. */
void lb_run_accepted(struct lb_op_run *run);

struct lb_exec_config {
    struct arena *a;
    bool wants_answers; /* on_done() reads what operations that ended well have kept in run->a */
    size_t window;      /* operations in flight at most; 0: 32 */
    struct http *http;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel;
    void *provider;
    /* May be NULL.  At the end of each operation, while others go on; in the caller's
     * thread.  Must not block. */
    void (*on_over)(void *arg, const struct lb_op *op, unsigned outcome, const struct err *err);
    /* May be NULL.  After each operation, in the caller's thread; in the order of the plan, once
     * all of a part are over. */
    void (*on_done)(void *arg, const struct lb_op *op, int index, unsigned outcome,
                    const struct err *err, int64_t took_ms);
    /* May be NULL.  When the first operations of a part have begun, and each time that some have
     * ended, once those that waited for them have begun; `outcomes` per operation: LB_NOT_RUN also
     * means that it is not over yet.  May block for a request to another server: what is in flight
     * takes its time meanwhile. */
    void (*on_round)(void *arg, const unsigned *outcomes);
    /* May be NULL.  Asked for each operation that is ready; as on_round().  False: it waits, and is
     * asked for again each time that others have ended; in the end it is not run. */
    bool (*may_begin)(void *arg, const struct lb_op *op, const unsigned *outcomes);
    void *arg;
};
/* How it went: index and error of the operation that stopped the plan. */
struct lb_exec_result {
    int failed_op; /* -1: all went well */
    struct err err;
    unsigned *outcomes; /* LB_DONE … per operation */
    unsigned done;      /* operations carried out */
};
/* Returns the code of result->err. */
int lb_exec_run(const struct lb_plan *plan, const struct lb_exec_config *cfg,
                struct lb_exec_result *ret, struct err *err) _warn_unused_;

#endif
