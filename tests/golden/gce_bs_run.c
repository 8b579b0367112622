/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_run.c: carries a plan out on the model: the second half of gce_bs_sync.h. */
#include "tests/golden/gce_bs_sync.h"

#include "providers/gce/ops/gce_ops.h"

#include <string.h>

struct run {
    struct gce_bs_sync *s;
    struct str_buf *text; /* NULL: in silence */
    unsigned *outcomes;
    const char **outputs; /* by operation: its "value" */
    int failed_wave;      /* what is in it still runs; 0: none */
    size_t left;          /* operations that may still be carried out */
    struct err err;
};

static const char *value_of(const struct run *r, const struct lb_value *v)
{
    return v->text != NULL || v->op < 0 ? v->text : r->outputs[v->op];
}

/* Here operations run one after the other, so a value would be there by chance. */
static void check_awaited(const struct run *r, int i, const struct gce_op_late *late)
{
    const struct lb_value *v = &late->value;
    if (v->text == NULL && v->op >= 0 && !lb_plan_waits_for(&r->s->plan, i, v->op)) {
        str_appendf(r->s->model->broken, "BROKEN: %s of operation %d is not waited for\n",
                    late->member, i + 1);
    }
}

static struct json_object *body_of(const struct run *r, int i)
{
    struct arena *a = r->s->a;
    const struct gce_op *op = r->s->plan.ops[i].arg;
    struct json_object *body = op->body == NULL ? NULL : json_copy(op->body);
    for (size_t k = 0; k < op->n_late; k++) {
        const struct gce_op_late *late = &op->late[k];
        check_awaited(r, i, late);
        const char *value = value_of(r, &late->value);
        const char *text = arena_printf(a, "%s%s%s", str_nonnull(late->prefix), str_nonnull(value),
                                        str_nonnull(late->suffix));
        bool list = str_has_suffix(late->member, "Ranges");
        const struct gce_strs all = gce_strs_with(a, &late->beside, text);
        json_add(body, late->member,
                 list ? json_strs(all.items, all.n) : json_object_new_string(text));
    }
    return body;
}

static bool is_tolerated(const struct lb_op *op, int code)
{
    return (code == ERR_NOT_FOUND && (op->tolerate & LB_TOLERATE_ABSENT) != 0) ||
           (code == ERR_EXISTS && (op->tolerate & LB_TOLERATE_EXISTS) != 0) ||
           (code == ERR_IN_USE && (op->tolerate & LB_TOLERATE_IN_USE) != 0) ||
           (code == ERR_FORBIDDEN && (op->tolerate & LB_TOLERATE_FORBIDDEN) != 0);
}

static void tell(struct run *r, const struct lb_op *op, const struct gce_op *arg,
                 struct json_object *body, int code)
{
    static const char *const verbs[GCE_VERB_MAX] = {
        [GCE_INSERT] = "POST", [GCE_DELETE] = "DELETE", [GCE_PATCH] = "PATCH",
        [GCE_UPDATE] = "PUT",  [GCE_ATTACH] = "attach", [GCE_DETACH] = "detach",
    };
    if (r->text == NULL) {
        return;
    }
    str_appendf(r->text, "  %d %s %s", op->wave, verbs[arg->verb],
                gce_model_path(r->s->model, arg->c, arg->zone, arg->name));
    str_append(r->text, arg->read_member != NULL ? ", then GET" : "");
    str_appendf(r->text, "%s%s\n", code == ERR_OK ? "" : " → ",
                code == ERR_OK ? "" : err_code_name(code));
    if (body != NULL) {
        str_appendf(r->text, "      %s\n", json_text(r->s->a, body, JSON_COMPACT));
    }
    if (code == ERR_FORBIDDEN && arg->command != NULL) {
        str_appendf(r->text, "      by hand: %s\n", arg->command);
    }
}

static void output(struct run *r, int i, const struct gce_op *arg, struct json_object *made)
{
    const char *value = json_str(made, arg->read_member);
    if (value == NULL) {
        str_appendf(r->s->model->broken, "BROKEN: %s of %s is not there\n", arg->read_member,
                    arg->name);
        return;
    }
    r->outputs[i] = arena_strndup(r->s->a, value, strcspn(value, "/"));
    if (arg->ret_value != NULL) {
        *arg->ret_value = r->outputs[i];
    }
}

static void do_op(struct run *r, int i)
{
    const struct lb_op *op = &r->s->plan.ops[i];
    const struct gce_op *arg = op->arg;
    struct json_object *body = body_of(r, i);
    struct json_object *made = NULL;
    struct err err = ERR_INIT;
    const struct gce_model_call call = {
        .c = arg->c, .verb = arg->verb, .zone = arg->zone, .name = arg->name, .body = body};
    int code = gce_model_do(r->s->model, &call, &made, &err);
    tell(r, op, arg, body, code);
    if (code == ERR_OK) {
        r->outcomes[i] = LB_DONE;
        if (arg->read_member != NULL) {
            output(r, i, arg, made);
        }
    } else if (is_tolerated(op, code)) {
        r->outcomes[i] = LB_TOLERATED;
    } else {
        r->outcomes[i] = LB_FAILED;
        if (r->failed_wave == 0) {
            r->err = err;
            r->failed_wave = op->wave;
        }
    }
    json_object_put(body);
    r->left--;
}

static bool may_run(const struct run *r, const struct lb_op *op)
{
    bool held = op->only_if_op < 0 || (r->outcomes[op->only_if_op] & op->only_if) != 0;
    bool withheld = op->sent_after >= 0 && r->outcomes[op->sent_after] == LB_FAILED;
    return held && !withheld && r->left > 0 &&
           (r->failed_wave == 0 || r->failed_wave == op->wave || op->finally == LB_FINALLY_ALWAYS);
}

int gce_bs_sync_run(struct gce_bs_sync *s, size_t limit, struct str_buf *text, struct err *err)
{
    struct run r = {.s = s, .text = text, .left = limit == 0 ? s->plan.n_ops + 1 : limit};
    r.outcomes = ARENA_ARRAY(s->a, unsigned, s->plan.n_ops);
    r.outputs = ARENA_ARRAY(s->a, const char *, s->plan.n_ops);
    for (size_t i = 0; i < s->plan.n_ops; i++) {
        const struct lb_op *op = &s->plan.ops[i];
        if (op->verb == LB_KEEP) {
            r.outcomes[i] = LB_TOLERATED;
        } else if (may_run(&r, op)) {
            do_op(&r, (int)i);
        } else {
            r.outcomes[i] = LB_SKIPPED;
        }
    }
    gce_model_end(s->model);
    return r.failed_wave > 0 ? err_copy(err, &r.err) : ERR_OK;
}
