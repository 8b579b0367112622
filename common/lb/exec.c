/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c: carries out a sealed plan, wave by wave.
 *
 * The executor knows attributes, not flows.  One operation is one http_job: the provider's step function is
 * asked for the next request until it says that it is done, so waiting for a long-running cloud operation
 * and fanning out over a wave are the same loop in common/net; one that is to be sent after another one waits in it
 * (HTTP_WAIT).  After a wave each operation has one outcome
 * bit.  Operations that need no HTTP run before those of their wave that do, all of a type in one call if it wants that.
 * The first wave with a failure is the last ordinary one; from then on only operations run whose
 * `finally` allows it.  Cancelling stops those, too: the next sync finds what is left and resumes.
 * One thread; blocks; may not log (the caller is told through on_done). */
#include "common/lb/exec.h"
#include "common/base/str.h"

#include <string.h>

#define PARALLEL_MAX 32 /* requests in flight from one plan; clouds throttle beyond that */

struct output {
    const char *name;
    const char *value;
    struct output *next;
};

/* One operation while its wave runs. */
struct slot {
    struct http_job job;
    struct lb_op_run run;
    struct arena *own; /* of a caller that forgets; else NULL */
    int index;
    bool started;
    bool accepted; /* its step said so: what is sent after this one may go */
    bool withheld; /* what it was to be sent after did not end well */
    int64_t started_ms;
    int64_t ended_ms; /* valid after HTTP_DONE */
    bool ended;
};

struct lb_exec {
    const struct lb_plan *plan;
    const struct lb_exec_config *cfg;
    struct lb_exec_result *res;
    struct output **outputs; /* one list per operation */
    struct slot **slots;     /* per operation: that of the wave under way; else NULL */
    bool critical_open;
};

static enum http_next slot_step(struct http_job *job, const struct http_response *resp);
static void wave_run(struct lb_exec *x, int wave);

/* ---- what steps call -------------------------------------------------------------------------------- */
void lb_run_output(struct lb_op_run *run, const char *name, const char *value)
{
    struct arena *a = run->exec->cfg->a;
    struct output *out = ARENA_NEW(a, struct output);
    struct output **list = &run->exec->outputs[run->op - run->exec->plan->ops];
    *out = (struct output){
        .name = arena_strdup(a, name), .value = arena_strdup(a, value), .next = *list};
    *list = out; /* the newest of a name is found first */
}

const char *lb_run_value(const struct lb_op_run *run, struct lb_value v)
{
    const struct lb_exec *x = run->exec;
    if (v.text != NULL || v.op < 0 || (size_t)v.op >= x->plan->n_ops || v.output == NULL) {
        return v.text;
    }
    if ((x->res->outcomes[v.op] & (LB_DONE | LB_TOLERATED)) == 0) {
        return NULL; /* what a failed operation said is not to be built upon */
    }
    for (const struct output *out = x->outputs[v.op]; out != NULL; out = out->next) {
        if (strcmp(out->name, v.output) == 0) {
            return out->value;
        }
    }
    return NULL;
}

void lb_run_accepted(struct lb_op_run *run)
{
    CONTAINER_OF(run, struct slot, run)->accepted = true;
}

/* ---- the plan ---------------------------------------------------------------------------------------- */
static int check_runnable(const struct lb_plan *plan, struct err *err)
{
    if (!plan->sealed) {
        return err_set(err, ERR_BUG, "the plan is not sealed");
    }
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        if (op->verb != LB_KEEP && !lb_op_type_is_whole(op->type)) {
            return err_set(err, ERR_BUG, "operation %zu (%s %s) cannot be carried out", i + 1,
                           op->kind, op->name);
        }
        /* An operation without HTTP has ended before anything beside it is sent: "after" would be another wave. */
        if (op->verb != LB_KEEP && op->type->step == NULL && op->sent_after >= 0) {
            return err_set(err, ERR_BUG,
                           "operation %zu (%s %s) is not sent, and names one to be sent after",
                           i + 1, op->kind, op->name);
        }
    }
    return ERR_OK;
}

/* Cancelled before a wave: the first operation that would have run is where the plan stopped. */
static void stop_before(struct lb_exec *x, int wave)
{
    for (size_t i = 0; x->res->failed_op < 0 && i < x->plan->n_ops; i++) {
        const struct lb_op *op = &x->plan->ops[i];
        if (op->wave == wave) {
            x->res->failed_op = (int)i;
            err_set(&x->res->err, ERR_CANCELLED, "stopped before %s %s", op->kind, op->name);
        }
    }
}

int lb_exec_run(const struct lb_plan *plan, const struct lb_exec_config *cfg,
                struct lb_exec_result *ret, struct err *err)
{
    *ret = (struct lb_exec_result){.failed_op = -1};
    int rc = check_runnable(plan, &ret->err);
    if (rc != ERR_OK) {
        return err_copy(err, &ret->err);
    }
    struct lb_exec x = {.plan = plan, .cfg = cfg, .res = ret};
    ret->outcomes = ARENA_ARRAY(cfg->a, unsigned, plan->n_ops);
    x.outputs = ARENA_ARRAY(cfg->a, struct output *, plan->n_ops);
    x.slots = ARENA_ARRAY(cfg->a, struct slot *, plan->n_ops);
    for (size_t i = 0; i < plan->n_ops; i++) {
        bool kept = plan->ops[i].verb == LB_KEEP;
        ret->outcomes[i] = kept ? LB_TOLERATED : LB_NOT_RUN; /* kept: nothing had to be changed */
    }
    for (int wave = 1; wave <= plan->waves; wave++) {
        if (cancel_fired(cfg->cancel)) {
            stop_before(&x, wave);
            break;
        }
        wave_run(&x, wave);
    }
    ret->critical_open = ret->failed_op >= 0 && x.critical_open;
    return err_copy(err, &ret->err);
}

/* ---- one wave ---------------------------------------------------------------------------------------- */
/* After a failure, `finally` decides.  OK_OR_BEFORE_CRITICAL undoes what a half-done plan must not keep,
 * but once the critical operation has been sent, the rest must stay for the next sync to resume. */
static bool may_run(const struct lb_exec *x, const struct lb_op *op)
{
    if (x->res->failed_op < 0) {
        return true;
    }
    if (x->res->err.code == ERR_CANCELLED) {
        return false;
    }
    return op->finally == LB_FINALLY_ALWAYS ||
           (op->finally == LB_FINALLY_OK_OR_BEFORE_CRITICAL && !x->critical_open);
}

static bool condition_holds(const struct lb_exec *x, const struct lb_op *op)
{
    return op->only_if_op < 0 || (x->res->outcomes[op->only_if_op] & op->only_if) != 0;
}

static bool is_tolerated(const struct lb_op *op, int code)
{
    return (code == ERR_NOT_FOUND && (op->tolerate & LB_TOLERATE_ABSENT) != 0) ||
           (code == ERR_EXISTS && (op->tolerate & LB_TOLERATE_EXISTS) != 0) ||
           (code == ERR_IN_USE && (op->tolerate & LB_TOLERATE_IN_USE) != 0) ||
           (code == ERR_FORBIDDEN && (op->tolerate & LB_TOLERATE_FORBIDDEN) != 0);
}

/* May it be sent?  HTTP_SEND: yes; HTTP_WAIT: not yet; HTTP_DONE: not at all. */
static enum http_next slot_turn(const struct lb_exec *x, const struct slot *s)
{
    int after = s->run.op->sent_after;
    const struct slot *other = after >= 0 ? x->slots[after] : NULL;
    if (after < 0 || x->res->outcomes[after] == LB_SKIPPED) {
        return HTTP_SEND;
    }
    if (other == NULL) { /* not run, as this wave is one of `finally` */
        return HTTP_DONE;
    }
    if (other->accepted) {
        return HTTP_SEND;
    }
    if (!other->ended && !other->job.done) {
        return HTTP_WAIT;
    }
    int code = other->job.err.code;
    bool well = !other->withheld && (code == ERR_OK || is_tolerated(other->run.op, code));
    return well ? HTTP_SEND : HTTP_DONE;
}

/* A step before its first one: is it the operation's turn? */
static enum http_next slot_wait(struct lb_exec *x, struct slot *s, const struct http_response *resp)
{
    if (resp != NULL) {
        return HTTP_DONE; /* cancelled while it waited: job->err says so */
    }
    enum http_next turn = slot_turn(x, s);
    s->withheld = turn == HTTP_DONE;
    s->job.req.not_before_ms = turn == HTTP_WAIT ? CLOCK_NEVER : 0;
    return turn;
}

static void slot_begin(struct lb_exec *x, struct slot *s)
{
    s->run.now_ms = clock_now_ms(x->cfg->clock);
    s->run.wall_us = clock_wall_us(x->cfg->clock);
    s->run.unit = rng_unit(x->cfg->rng);
    if (!s->started) {
        s->started = true;
        s->started_ms = s->run.now_ms;
        /* Before the request leaves: if we die while it is under way, the cloud may have done it. */
        x->critical_open |= s->run.op->critical;
    }
}

static enum http_next slot_step(struct http_job *job, const struct http_response *resp)
{
    struct slot *s = CONTAINER_OF(job, struct slot, job);
    struct lb_exec *x = s->run.exec;
    if (!s->started) {
        enum http_next turn = slot_wait(x, s, resp);
        if (turn != HTTP_SEND) {
            return turn;
        }
    }
    slot_begin(x, s);
    enum http_next next = s->run.op->type->step(&s->run, resp);
    if (next != HTTP_DONE) {
        err_clear(&job->err); /* a failure that the step mends by asking again is none */
    } else {
        s->ended = true;
        s->ended_ms = clock_now_ms(x->cfg->clock);
    }
    return next;
}

static void slot_init(struct lb_exec *x, struct slot *s, int index)
{
    const struct lb_op *op = &x->plan->ops[index];
    *s = (struct slot){.index = index, .own = x->cfg->forgets ? arena_new() : NULL};
    s->job.step = slot_step;
    s->job.cancel = x->cfg->cancel;
    s->run = (struct lb_op_run){
        .op = op,
        .exec = x,
        .a = s->own != NULL ? s->own : x->cfg->a,
        .provider = x->cfg->provider,
        .state = arena_alloc(x->cfg->a, op->type->state_size),
        .req = &s->job.req,
        .err = &s->job.err,
    };
}

/* Books how one operation ended and tells the caller. */
static void slot_settle(struct lb_exec *x, struct slot *s)
{
    const struct lb_op *op = s->run.op;
    struct lb_exec_result *res = x->res;
    unsigned outcome = LB_DONE;
    if (s->withheld) { /* stays LB_NOT_RUN; the failure is the other one's */
        arena_free(s->own);
        return;
    }
    if (s->job.err.code != ERR_OK) {
        err_prefix(&s->job.err, "%s %s", op->kind, op->name);
        outcome = is_tolerated(op, s->job.err.code) ? LB_TOLERATED : LB_FAILED;
    }
    res->outcomes[s->index] = outcome;
    res->done += outcome == LB_DONE;
    if (outcome == LB_FAILED && res->failed_op < 0) {
        res->failed_op = s->index;
        err_copy(&res->err, &s->job.err);
    }
    if (x->cfg->on_done != NULL) {
        int64_t end_ms = s->ended ? s->ended_ms : clock_now_ms(x->cfg->clock);
        int64_t took_ms = s->started ? end_ms - s->started_ms : 0;
        x->cfg->on_done(x->cfg->arg, op, s->index, outcome, &s->job.err, took_ms);
    }
    arena_free(s->own);
}

/* All of one type that run at once, from the first of them on.  Cancelled, none of them begins. */
static void type_run(struct lb_exec *x, struct slot *slots, size_t n, size_t first)
{
    const struct lb_op_type *type = slots[first].run.op->type;
    struct lb_op_run **runs = ARENA_ARRAY(x->cfg->a, struct lb_op_run *, n);
    size_t count = 0;
    for (size_t i = first; i < n; i++) {
        struct slot *s = &slots[i];
        if (s->run.op->type != type) {
            continue;
        }
        if (cancel_fired(x->cfg->cancel)) {
            (void)err_set(&s->job.err, ERR_CANCELLED, "stopped");
            s->ended = true;
            continue;
        }
        slot_begin(x, s);
        runs[count++] = &s->run;
        if (type->run != NULL) {
            type->run(&s->run);
        }
    }
    if (type->run_many != NULL && count > 0) {
        type->run_many(runs, count);
    }
    for (size_t i = 0; i < count; i++) {
        struct slot *s = CONTAINER_OF(runs[i], struct slot, run);
        s->ended = true;
        s->ended_ms = clock_now_ms(x->cfg->clock);
    }
}

static void slots_run(struct lb_exec *x, struct slot *slots, size_t n)
{
    struct http_job *jobs[PARALLEL_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (slots[i].run.op->type->step == NULL && !slots[i].ended) {
            type_run(x, slots, n, i);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (slots[i].run.op->type->step != NULL) {
            jobs[count++] = &slots[i].job;
        }
        if (count == PARALLEL_MAX || (i + 1 == n && count > 0)) {
            http_run(x->cfg->http, jobs, count);
            count = 0;
        }
    }
    for (size_t i = 0; i < n; i++) { /* in the plan's order, so that logs of one plan are alike */
        slot_settle(x, &slots[i]);
    }
}

static void wave_run(struct lb_exec *x, int wave)
{
    const struct lb_plan *plan = x->plan;
    size_t most = 0;
    for (size_t i = 0; i < plan->n_ops; i++) {
        most += plan->ops[i].wave == wave; /* a plan may have as many waves as operations */
    }
    struct slot *slots = ARENA_ARRAY(x->cfg->a, struct slot, most + 1);
    size_t n = 0;
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        if (op->wave != wave || !may_run(x, op)) {
            continue;
        }
        if (!condition_holds(x, op)) {
            x->res->outcomes[i] = LB_SKIPPED;
            continue;
        }
        x->slots[i] = &slots[n];
        slot_init(x, &slots[n++], (int)i);
    }
    slots_run(x, slots, n);
}
