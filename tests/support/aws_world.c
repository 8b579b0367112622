/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world.c: parameters of calls, and the running of plans; see aws_world.h. */
#include "tests/support/aws_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void aws_world_init(struct aws_world *w, struct arena *a)
{
    *w = (struct aws_world){
        .a = a, .vpc = "vpc-1", .strict = true, .drains = true, .next = 1, .max_rules = 60};
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool aws_world_failed(const struct aws_world_call *c)
{
    return c->err->code != ERR_OK;
}

int aws_world_refuse(struct aws_world_call *c, int code, const char *reason, const char *fmt, ...)
{
    if (aws_world_failed(c)) {
        return c->err->code; /* the first one counts */
    }
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(c->w->a, fmt, ap);
    va_end(ap);
    (void)err_set(c->err, code, "%s: %s: %s", c->action, reason, text);
    snprintf(c->err->reason, sizeof c->err->reason, "%s", reason);
    return code;
}

const char *aws_world_param(struct aws_world_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (str_eq(c->pairs[i].name, name)) {
            c->used[i] = true;
            return c->pairs[i].value;
        }
    }
    return NULL;
}

const char *aws_world_needed(struct aws_world_call *c, const char *name)
{
    const char *text = aws_world_param(c, name);
    if (text == NULL) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "%s", name);
    }
    return str_nonnull(text);
}

bool aws_world_int(struct aws_world_call *c, const char *name, int32_t *ret)
{
    const char *text = aws_world_param(c, name);
    int64_t n = 0;
    if (text == NULL) {
        return true;
    }
    if (!str_to_i64(text, &n) || n < INT32_MIN || n > INT32_MAX) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s is %s", name, text);
        return false;
    }
    *ret = (int32_t)n;
    return true;
}

struct aws_texts aws_world_list(struct aws_world_call *c, const char *fmt)
{
    const char **items = ARENA_ARRAY(c->w->a, const char *, c->n_pairs + 1);
    size_t n = 0;
    for (;;) {
        const char *at = arena_printf(c->w->a, "%zu", n + 1);
        const char *text = aws_world_param(c, str_replace(c->w->a, fmt, "%zu", at));
        if (text == NULL) {
            return (struct aws_texts){items, n};
        }
        items[n++] = text;
    }
}

static int by_key(const void *x, const void *y)
{
    const struct aws_tag *a = x;
    const struct aws_tag *b = y;
    return strcmp(a->key, b->key);
}

struct aws_tags aws_world_pairs(struct aws_world_call *c, const char *prefix)
{
    struct aws_tag *items = ARENA_ARRAY(c->w->a, struct aws_tag, c->n_pairs + 1);
    size_t n = 0;
    for (;;) {
        const char *key = aws_world_param(c, arena_printf(c->w->a, "%s.%zu.Key", prefix, n + 1));
        if (key == NULL) {
            break;
        }
        const char *value =
            aws_world_needed(c, arena_printf(c->w->a, "%s.%zu.Value", prefix, n + 1));
        items[n++] = (struct aws_tag){key, value};
    }
    qsort(items, n, sizeof *items, by_key);
    for (size_t i = 1; i < n; i++) {
        if (str_eq(items[i].key, items[i - 1].key)) {
            (void)aws_world_refuse(c, ERR_INVALID, "DuplicateTagKeys", "%s", items[i].key);
        }
    }
    return (struct aws_tags){items, n};
}

void aws_world_output(struct aws_world_call *c, const char *path, const char *value)
{
    assert(c->n_outputs < ARRAY_LEN(c->outputs));
    c->outputs[c->n_outputs++] = (struct aws_pair){path, value};
}

struct aws_tags aws_world_merged(struct arena *a, const struct aws_tags *base,
                                 const struct aws_tags *over)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, base->n + over->n + 1);
    size_t n = 0;
    for (size_t i = 0, k = 0; i < base->n || k < over->n;) {
        int order = i == base->n   ? 1
                    : k == over->n ? -1
                                   : strcmp(base->items[i].key, over->items[k].key);
        i += order == 0;
        items[n++] = order < 0 ? base->items[i++] : over->items[k++];
    }
    return (struct aws_tags){items, n};
}

struct aws_texts aws_world_sorted(struct arena *a, struct aws_texts items)
{
    struct str_set set = str_set_make(a, items.items, items.n);
    return (struct aws_texts){set.items, set.n};
}

/* ---- looking things up ----------------------------------------------------------------------- */

const struct aws_world_group *aws_world_group(const struct aws_world *w, const char *id)
{
    for (size_t i = 0; i < w->n_groups; i++) {
        if (str_eq(w->groups[i].group.id, id)) {
            return &w->groups[i];
        }
    }
    return NULL;
}

const struct aws_subnet *aws_world_subnet(const struct aws_world *w, const char *id)
{
    for (size_t i = 0; i < w->n_subnets; i++) {
        if (str_eq(w->subnets[i].id, id)) {
            return &w->subnets[i];
        }
    }
    return NULL;
}

const struct aws_instance *aws_world_instance(const struct aws_world *w, const char *id)
{
    for (size_t i = 0; i < w->n_instances; i++) {
        if (str_eq(w->instances[i].id, id)) {
            return &w->instances[i];
        }
    }
    return NULL;
}

/* ---- running a plan -------------------------------------------------------------------------- */

struct running {
    struct aws_world *w;
    const struct lb_plan *plan;
    struct aws_world_run *run;
    unsigned *outcomes;
    struct aws_pair (*outputs)[4]; /* of each operation: name, value */
};

static const char *value_of(const struct running *r, struct lb_value v)
{
    if (v.text != NULL || v.op < 0) {
        return v.text;
    }
    for (size_t i = 0; i < ARRAY_LEN(r->outputs[0]); i++) {
        if (str_eq(r->outputs[v.op][i].name, v.output)) {
            return r->outputs[v.op][i].value;
        }
    }
    return NULL;
}

static void keep_outputs(const struct running *r, size_t at, const struct aws_write *write,
                         struct aws_world_call *c)
{
    assert(write->n_outputs <= ARRAY_LEN(r->outputs[0]));
    for (size_t i = 0; i < write->n_outputs; i++) {
        const char *value = NULL;
        for (size_t k = 0; k < c->n_outputs; k++) {
            value =
                str_eq(c->outputs[k].name, write->outputs[i].path) ? c->outputs[k].value : value;
        }
        if (value == NULL) {
            (void)aws_world_refuse(c, ERR_BUG, "NoOutput", "%s", write->outputs[i].path);
        }
        r->outputs[at][i] = (struct aws_pair){write->outputs[i].name, value};
    }
}

static const char *const api_names[AWS_APIS] = {"ec2", "elb", "elbv2"};

static void log_call(const struct running *r, const struct aws_world_call *c)
{
    if (r->run->log == NULL) {
        return;
    }
    str_appendf(r->run->log, "%s %s\n", api_names[c->api], c->action);
    for (size_t i = 0; i < c->n_pairs; i++) {
        str_appendf(r->run->log, "  %s = %s\n", c->pairs[i].name, c->pairs[i].value);
    }
    if (aws_world_failed(c)) {
        str_appendf(r->run->log, "  refused: %s\n", c->err->message);
    }
}

static void dispatch(struct aws_world_call *c)
{
    switch (c->api) {
    case AWS_EC2:
        aws_world_ec2(c);
        break;
    case AWS_ELB:
        aws_world_elb(c);
        break;
    case AWS_ELBV2:
        aws_world_elbv2(c);
        break;
    default:
        (void)aws_world_refuse(c, ERR_BUG, "InvalidAction", "of this API");
    }
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (!c->used[i]) {
            (void)aws_world_refuse(c, ERR_BUG, "UnknownParameter", "%s", c->pairs[i].name);
        }
    }
    if (!c->changed && c->w->strict) {
        (void)aws_world_refuse(c, ERR_BUG, "NothingChanged", "the call was not needed");
    }
}

/* The world is left as it was by a call that was refused. */
static void carry_out(const struct running *r, size_t at, struct err *err)
{
    const struct aws_write *write = r->plan->ops[at].arg;
    struct aws_pair *pairs = ARENA_ARRAY(r->w->a, struct aws_pair, write->n_params + 1);
    struct aws_world_call c = {.w = r->w, .api = write->api, .action = write->action, .err = err};
    for (size_t i = 0; i < write->n_params; i++) {
        const char *value = value_of(r, write->params[i].value);
        if (value == NULL) {
            (void)aws_world_refuse(&c, ERR_BUG, "UnknownValue", "%s", write->params[i].name);
        }
        pairs[i] = (struct aws_pair){write->params[i].name, str_nonnull(value)};
    }
    c.pairs = pairs;
    c.n_pairs = write->n_params;
    c.used = ARENA_ARRAY(r->w->a, bool, write->n_params + 1);
    struct aws_world *before = arena_memdup(r->w->a, r->w, sizeof *r->w);
    if (!aws_world_failed(&c)) {
        r->run->calls++;
        dispatch(&c);
    }
    if (!aws_world_failed(&c)) {
        keep_outputs(r, at, write, &c);
    }
    if (aws_world_failed(&c)) {
        *r->w = *before;
    }
    log_call(r, &c);
    if (r->run->after != NULL) {
        r->run->after(r->run->arg);
    }
}

static bool is_tolerated(const struct lb_op *op, int code)
{
    return (code == ERR_NOT_FOUND && (op->tolerate & LB_TOLERATE_ABSENT) != 0) ||
           (code == ERR_EXISTS && (op->tolerate & LB_TOLERATE_EXISTS) != 0) ||
           (code == ERR_IN_USE && (op->tolerate & LB_TOLERATE_IN_USE) != 0) ||
           (code == ERR_FORBIDDEN && (op->tolerate & LB_TOLERATE_FORBIDDEN) != 0);
}

static int run_one(const struct running *r, size_t at, struct err *err)
{
    const struct lb_op *op = &r->plan->ops[at];
    if (op->only_if_op >= 0 && (r->outcomes[op->only_if_op] & op->only_if) == 0) {
        r->outcomes[at] = LB_SKIPPED;
        return ERR_OK;
    }
    struct err one = ERR_INIT;
    carry_out(r, at, &one);
    if (one.code == ERR_OK || is_tolerated(op, one.code)) {
        r->outcomes[at] = one.code == ERR_OK ? LB_DONE : LB_TOLERATED;
        return ERR_OK;
    }
    r->outcomes[at] = LB_FAILED;
    r->run->failed_op = (int)at;
    return err_copy(err, &one);
}

/* From `from` to before the return value is one wave, with what is kept in between. */
static size_t wave_end(const struct lb_plan *plan, size_t from)
{
    size_t end = from + 1;
    while (end < plan->n_ops && (plan->ops[end].verb == LB_KEEP || plan->ops[end].parallel)) {
        end++;
    }
    return end;
}

int aws_world_run(struct aws_world *w, const struct lb_plan *plan, struct aws_world_run *run,
                  struct err *err)
{
    struct running r = {.w = w, .plan = plan, .run = run};
    r.outcomes = ARENA_ARRAY(w->a, unsigned, plan->n_ops + 1);
    r.outputs = arena_calloc(w->a, plan->n_ops + 1, sizeof *r.outputs);
    run->failed_op = -1;
    run->calls = 0;
    int rc = ERR_OK;
    for (size_t from = 0; from < plan->n_ops && rc == ERR_OK;) {
        size_t end = wave_end(plan, from);
        for (size_t i = 0; i < end - from && rc == ERR_OK; i++) {
            size_t at = run->backwards ? end - 1 - i : from + i;
            if (plan->ops[at].verb == LB_KEEP) {
                r.outcomes[at] = LB_TOLERATED;
            } else if (run->stop_after >= 0 && run->calls >= (unsigned)run->stop_after) {
                return ERR_OK;
            } else {
                rc = run_one(&r, at, err);
            }
        }
        from = end;
    }
    return rc;
}
