/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c: carries out a sealed plan, part by part, and within a part each operation as soon as what
 * it waits for is over.
 *
 * The executor knows attributes, not flows.  One operation is one http_job: the provider's step
 * function is asked for the next request until it says that it is done, so waiting for a
 * long-running cloud operation and having many in flight are the same loop in common/net; one that
 * is to be sent after another one waits in it (HTTP_WAIT).  Each operation passes one gate
 * (gate_open()): it waits, begins, or is withheld, and has one outcome bit in the end.  Operations
 * that need no HTTP run before those that do, all of a type that are ready in one call if it wants
 * that.
 * After a failure nothing of a later wave begins but what `finally` allows; after one of an
 * operation that fails alone, nothing of a later part.  What is in flight is waited for.
 * Cancelling stops all of it: the next sync finds what is left and resumes.
 * One thread; blocks; may not log.  on_over() reports the end of an operation at once, on_done()
 * the operations of a part in the order of waves. */
#include "common/lb/exec.h"
#include "common/base/str.h"

#include <string.h>

#define WINDOW 32 /* operations in flight from one plan; clouds throttle beyond that */

struct output {
    const char *name;
    const char *value;
    struct output *next;
};

enum op_state {
    OP_WAITS = 0,
    OP_RUNS,
    OP_OVER, /* its outcome stands */
};

struct slot;

/* Memory of an operation.  Many end long before their plan does: it is freed when the operation has
 * ended well, but where it failed, or the caller wants answers, not before on_done() has
 * returned. */
struct work {
    struct slot *slot;
    struct arena *own; /* has this struct, too; NULL: of an operation without HTTP */
    struct http_job job;
    struct lb_op_run run;
};
/* One operation from its begin until on_done() has returned. */
struct slot {
    struct work *work; /* NULL: it has ended well */
    const struct lb_op *op;
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
    struct slot **slots;     /* per operation of the part in progress; NULL before it begins */
    enum op_state *states;   /* per operation */
    int failed_wave;         /* the lowest with a failure; 0: none */
    int stopped_wave;        /* the same, without those of this part that fail alone */
    bool cancelled;          /* an operation ended so */
    size_t in_flight;        /* of HTTP */
};

static enum http_next slot_step(struct http_job *job, const struct http_response *resp);

/* ---- what steps call ------------------------------------------------------------------------- */
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
    if (!lb_plan_waits_for(x->plan, (int)(run->op - x->plan->ops), v.op)) {
        (void)err_set(run->err, ERR_BUG,
                      "the value %s of operation %d is used without waiting for it", v.output,
                      v.op + 1);
        return NULL; /* it is there by chance */
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
    CONTAINER_OF(run, struct work, run)->slot->accepted = true;
}

/* Cancelled: the first operation that would have run is where the plan stopped. */
static void stop_here(struct lb_exec *x)
{
    const struct lb_plan *plan = x->plan;
    int first = -1;
    for (size_t i = 0; x->res->failed_op < 0 && i < plan->n_ops; i++) {
        bool before = first < 0 || plan->ops[i].wave < plan->ops[first].wave;
        if (x->states[i] == OP_WAITS && before) {
            first = (int)i;
        }
    }
    if (first >= 0) {
        x->res->failed_op = first;
        err_set(&x->res->err, ERR_CANCELLED, "stopped before %s %s", plan->ops[first].kind,
                plan->ops[first].name);
    }
}

/* ---- may it begin? --------------------------------------------------------------------------- */
static bool is_cancelled(const struct lb_exec *x)
{
    return x->cancelled || cancel_fired(x->cfg->cancel);
}

/* After a failure, `finally` decides; what stands in the same wave, or before it, is not stopped by
 * it. */
static bool may_run(const struct lb_exec *x, const struct lb_op *op)
{
    int failed = op->finally == LB_FINALLY_NO ? x->stopped_wave : x->failed_wave;
    if (failed == 0 || op->wave <= failed) {
        return true;
    }
    return op->finally == LB_FINALLY_ALWAYS || op->finally == LB_FINALLY_IN_PLACE;
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

/* Is all over that it waits for?  *ret_well: and it ended well.  What its only_if names may have
 * ended in any way. */
static bool all_over(const struct lb_exec *x, const struct lb_op *op, bool *ret_well)
{
    *ret_well = true;
    for (size_t i = 0; i < op->after.n; i++) {
        int on = op->after.ops[i];
        if (x->states[on] != OP_OVER) {
            return false;
        }
        bool badly = (x->res->outcomes[on] & (LB_FAILED | LB_NOT_RUN)) != 0;
        *ret_well = *ret_well && (!badly || on == op->only_if_op);
    }
    return true;
}

/* The gate of every operation.  True: it may begin.  Else it waits, or it is over
 * now without having begun. */
static bool gate_open(struct lb_exec *x, int index)
{
    const struct lb_op *op = &x->plan->ops[index];
    bool well;
    bool waits = x->states[index] == OP_WAITS && !is_cancelled(x);
    if (!waits || !all_over(x, op, &well) ||
        (op->sent_after >= 0 && x->states[op->sent_after] == OP_WAITS)) {
        return false;
    }
    /* One of `finally` cleans up behind a failure, also of what it waited for. */
    bool cleans_up = op->finally != LB_FINALLY_NO;
    if (!may_run(x, op) || (!well && !cleans_up)) {
        x->states[index] = OP_OVER; /* LB_NOT_RUN */
        return false;
    }
    if (!condition_holds(x, op)) {
        x->states[index] = OP_OVER;
        x->res->outcomes[index] = LB_SKIPPED;
        return false;
    }
    return x->cfg->may_begin == NULL || x->cfg->may_begin(x->cfg->arg, op, x->res->outcomes);
}

/* May it be sent?  HTTP_SEND: yes; HTTP_WAIT: not yet; HTTP_DONE: not at all. */
static enum http_next slot_turn(const struct lb_exec *x, const struct slot *s)
{
    int after = s->op->sent_after;
    const struct slot *other = after >= 0 ? x->slots[after] : NULL;
    if (after < 0 || (other != NULL && other->accepted)) {
        return HTTP_SEND;
    }
    if (x->states[after] != OP_OVER) {
        return HTTP_WAIT;
    }
    bool well = (x->res->outcomes[after] & (LB_FAILED | LB_NOT_RUN)) == 0;
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
    s->work->job.req.not_before_ms = turn == HTTP_WAIT ? CLOCK_NEVER : 0;
    return turn;
}

/* ---- one operation --------------------------------------------------------------------------- */
static void slot_begin(struct lb_exec *x, struct slot *s)
{
    struct lb_op_run *run = &s->work->run;
    run->now_ms = clock_now_ms(x->cfg->clock);
    run->wall_us = clock_wall_us(x->cfg->clock);
    if (s->op->type->step != NULL) { /* a direct operation is not retried: a system call less */
        run->unit = rng_unit(x->cfg->rng);
    }
    if (!s->started) {
        s->started = true;
        s->started_ms = run->now_ms;
    }
}

static void slot_end(struct lb_exec *x, struct slot *s)
{
    s->ended = true;
    s->ended_ms = clock_now_ms(x->cfg->clock);
}

static enum http_next slot_step(struct http_job *job, const struct http_response *resp)
{
    struct work *w = CONTAINER_OF(job, struct work, job);
    struct slot *s = w->slot;
    struct lb_exec *x = w->run.exec;
    if (!s->started) {
        enum http_next turn = slot_wait(x, s, resp);
        if (turn != HTTP_SEND) {
            return turn;
        }
    }
    slot_begin(x, s);
    enum http_next next = s->op->type->step(&w->run, resp);
    if (next != HTTP_DONE) {
        err_clear(&job->err); /* a failure that the step fixes by asking again is none */
    } else {
        slot_end(x, s);
    }
    return next;
}

static struct work *work_new(struct lb_exec *x, struct slot *s)
{
    struct arena *own = s->op->type->step != NULL ? arena_new() : NULL;
    struct arena *a = own != NULL ? own : x->cfg->a;
    struct work *w = ARENA_NEW(a, struct work);
    w->slot = s;
    w->own = own;
    w->job.step = slot_step;
    w->job.cancel = x->cfg->cancel;
    w->run = (struct lb_op_run){
        .op = s->op,
        .exec = x,
        .a = a,
        .plan_a = x->cfg->a,
        .provider = x->cfg->provider,
        .state = arena_alloc(a, s->op->type->state_size),
        .req = &w->job.req,
        .err = &w->job.err,
    };
    return w;
}

static void work_free(struct slot *s)
{
    if (s->work != NULL) {
        arena_free(s->work->own);
    }
    s->work = NULL;
}

static struct slot *slot_new(struct lb_exec *x, int index)
{
    struct slot *s = ARENA_NEW(x->cfg->a, struct slot);
    *s = (struct slot){.index = index, .op = &x->plan->ops[index]};
    s->work = work_new(x, s);
    x->slots[index] = s;
    x->states[index] = OP_RUNS;
    return s;
}

static int lower(int wave, int than)
{
    return than == 0 || wave < than ? wave : than;
}

/* Books how the operation ended, for those that wait for it. */
static void slot_book(struct lb_exec *x, struct slot *s)
{
    const struct lb_op *op = s->op;
    struct err *err = &s->work->job.err;
    unsigned outcome = LB_DONE;
    x->states[s->index] = OP_OVER;
    if (s->withheld) {
        return; /* stays LB_NOT_RUN; the failure is the other one's */
    }
    if (err->code != ERR_OK) {
        err_prefix(err, "%s %s", op->kind, op->name);
        outcome = is_tolerated(op, err->code) ? LB_TOLERATED : LB_FAILED;
    }
    x->res->outcomes[s->index] = outcome;
    x->res->done += outcome == LB_DONE;
    if (outcome == LB_FAILED) {
        x->failed_wave = lower(op->wave, x->failed_wave);
        x->stopped_wave = op->fails_alone ? x->stopped_wave : lower(op->wave, x->stopped_wave);
        x->cancelled = x->cancelled || err->code == ERR_CANCELLED;
    }
    if (x->cfg->on_over != NULL) {
        x->cfg->on_over(x->cfg->arg, op, outcome, err);
    }
    if (err->code == ERR_OK && !x->cfg->wants_answers) {
        work_free(s);
    }
}

static void slot_tell(struct lb_exec *x, struct slot *s)
{
    static const struct err none;
    struct lb_exec_result *res = x->res;
    const struct err *err = s->work != NULL ? &s->work->job.err : &none;
    unsigned outcome = res->outcomes[s->index];
    if (outcome == LB_FAILED && res->failed_op < 0) {
        res->failed_op = s->index;
        err_copy(&res->err, err);
    }
    if (x->cfg->on_done != NULL && !s->withheld) {
        int64_t end_ms = s->ended ? s->ended_ms : clock_now_ms(x->cfg->clock);
        int64_t took_ms = s->started ? end_ms - s->started_ms : 0;
        x->cfg->on_done(x->cfg->arg, s->op, s->index, outcome, err, took_ms);
    }
    work_free(s);
}

/* ---- one part -------------------------------------------------------------------------------- */
/* Operations of the part in progress, by wave and then in the plan's order. */
struct part {
    int *ops;
    size_t n;
};

/* All of one type that are ready, from the first of them on.  Cancelled, none of them begins. */
static void type_run(struct lb_exec *x, const struct part *part, size_t first)
{
    const struct lb_op_type *type = x->plan->ops[part->ops[first]].type;
    struct lb_op_run **runs = ARENA_ARRAY(x->cfg->a, struct lb_op_run *, part->n);
    size_t count = 0;
    for (size_t i = first; i < part->n; i++) {
        if (x->plan->ops[part->ops[i]].type != type || !gate_open(x, part->ops[i])) {
            continue;
        }
        struct slot *s = slot_new(x, part->ops[i]);
        slot_begin(x, s);
        runs[count++] = &s->work->run;
        if (type->run != NULL) {
            type->run(&s->work->run);
        }
    }
    if (type->run_many != NULL && count > 0) {
        type->run_many(runs, count);
    }
    for (size_t i = 0; i < count; i++) {
        struct slot *s = CONTAINER_OF(runs[i], struct work, run)->slot;
        slot_end(x, s);
        slot_book(x, s);
    }
}

/* Operations without HTTP, until none is ready. */
static void run_direct(struct lb_exec *x, const struct part *part)
{
    bool some = true;
    while (some) {
        some = false;
        for (size_t i = 0; i < part->n; i++) {
            const struct lb_op *op = &x->plan->ops[part->ops[i]];
            if (op->type->step == NULL && gate_open(x, part->ops[i])) {
                type_run(x, part, i);
                some = true;
            }
        }
    }
}

/* Books what has ended; returns whether something has. */
static bool book_ended(struct lb_exec *x, const struct part *part)
{
    bool some = false;
    for (size_t i = 0; i < part->n; i++) {
        struct slot *s = x->slots[part->ops[i]];
        if (x->states[part->ops[i]] == OP_RUNS && s->work->job.done) {
            slot_book(x, s);
            x->in_flight--;
            some = true;
        }
    }
    return some;
}

/* Begins what is ready, as long as there is room.  One that ends at once makes others ready. */
static void begin_ready(struct lb_exec *x, const struct part *part)
{
    size_t window = x->cfg->window > 0 ? x->cfg->window : WINDOW;
    for (size_t i = 0; i < part->n && x->in_flight < window; i++) {
        const struct lb_op *op = &x->plan->ops[part->ops[i]];
        if (op->type->step != NULL && gate_open(x, part->ops[i])) {
            x->in_flight++;
            http_start(x->cfg->http, &slot_new(x, part->ops[i])->work->job);
        }
    }
}

static void part_run(struct lb_exec *x, const struct part *part)
{
    for (bool some = true;;) {
        run_direct(x, part);
        begin_ready(x, part);
        if (some && x->cfg->on_round != NULL) {
            x->cfg->on_round(x->cfg->arg, x->res->outcomes);
        }
        some = book_ended(x, part);
        if (some) {
            continue;
        }
        if (x->in_flight == 0) {
            break;
        }
        http_wait(x->cfg->http, CLOCK_NEVER);
    }
    for (size_t i = 0; i < part->n; i++) { /* in this order, so that logs of one plan are alike */
        if (x->slots[part->ops[i]] != NULL) {
            slot_tell(x, x->slots[part->ops[i]]);
        }
    }
}

static struct part part_of(const struct lb_exec *x, int no)
{
    const struct lb_plan *plan = x->plan;
    size_t n = 0;
    int from = plan->waves;
    int to = 0;
    for (size_t i = 0; i < plan->n_ops; i++) {
        if (plan->ops[i].part_no == no) {
            n++;
            from = plan->ops[i].wave < from ? plan->ops[i].wave : from;
            to = plan->ops[i].wave > to ? plan->ops[i].wave : to;
        }
    }
    struct part part = {.ops = ARENA_ARRAY(x->cfg->a, int, n + 1)};
    for (int wave = from; wave <= to; wave++) {
        for (size_t i = 0; i < plan->n_ops; i++) {
            if (plan->ops[i].part_no == no && plan->ops[i].wave == wave) {
                part.ops[part.n++] = (int)i;
            }
        }
    }
    return part;
}

/* ---- the plan -------------------------------------------------------------------------------- */
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
        /* An operation without HTTP has ended before anything beside it is sent. */
        if (op->verb != LB_KEEP && op->type->step == NULL && op->sent_after >= 0) {
            return err_set(err, ERR_BUG,
                           "operation %zu (%s %s) is not sent, and names one to be sent after",
                           i + 1, op->kind, op->name);
        }
    }
    return ERR_OK;
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
    x.states = ARENA_ARRAY(cfg->a, enum op_state, plan->n_ops);
    for (size_t i = 0; i < plan->n_ops; i++) {
        bool kept = plan->ops[i].verb == LB_KEEP;
        ret->outcomes[i] = kept ? LB_TOLERATED : LB_NOT_RUN; /* kept: nothing had to be changed */
        x.states[i] = kept ? OP_OVER : OP_WAITS;
    }
    for (int no = 1; no <= plan->parts; no++) {
        struct part part = part_of(&x, no);
        part_run(&x, &part);
        x.stopped_wave = x.failed_wave;
    }
    if (is_cancelled(&x)) {
        stop_here(&x);
    }
    return err_copy(err, &ret->err);
}
