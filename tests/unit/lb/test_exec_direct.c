/* SPDX-License-Identifier: Apache-2.0 */
/* test_exec_direct.c: operations without HTTP: one at a time, and all of a type in
 * one call (exec.c). */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"

#include <string.h>

struct world {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct http *http;
    struct cancel *cancel;
    struct str_buf trace; /* "one(a) many(b,c) " */
};
/* How a fake operation ends. */
struct script {
    int code;
    bool cancels;
    struct lb_value wants;
    struct world *world;
};

static void end(struct lb_op_run *run, const char *before)
{
    const struct script *s = run->op->arg;
    const char *value = lb_run_value(run, s->wants);

    assert_int_equal(0, *(int *)run->state); /* zeroed, its own */
    *(int *)run->state = 1;
    clock_fake_advance(s->world->clock, 10);
    str_appendf(&s->world->trace, "%s%s%s%s", before, run->op->name, value == NULL ? "" : "=",
                str_nonnull(value));
    lb_run_output(run, "id", arena_printf(run->a, "id-%s", run->op->name));
    if (s->cancels) {
        cancel_fire(s->world->cancel);
    }
    if (s->code != ERR_OK) {
        (void)err_set(run->err, s->code, "says no");
    }
}

static void one(struct lb_op_run *run)
{
    const struct script *s = run->op->arg;

    end(run, "one(");
    str_append(&s->world->trace, ") ");
}

static void many(struct lb_op_run *const *runs, size_t n)
{
    const struct script *s = runs[0]->op->arg;

    for (size_t i = 0; i < n; i++) {
        end(runs[i], i == 0 ? "many(" : ",");
    }
    str_append(&s->world->trace, ") ");
}

static enum http_next step(struct lb_op_run *run, const struct http_response *resp)
{
    const struct script *s = run->op->arg;

    (void)resp;
    str_append(&s->world->trace, "step ");
    return HTTP_DONE;
}

static const struct lb_op_type type_one = {.name = "one", .state_size = sizeof(int), .run = one};
static const struct lb_op_type type_many = {
    .name = "many", .state_size = sizeof(int), .run_many = many};
static const struct lb_op_type type_step = {.name = "step", .step = step};
static const struct lb_op_type type_both = {.name = "both", .step = step, .run = one};
static const struct lb_op_type type_none = {.name = "none"};

struct op_row {
    const struct lb_op_type *type;
    struct lb_op op;
    struct script script;
};
static const struct row {
    const char *what;
    struct op_row ops[6];
    size_t n;
    const char *trace;
    const char *outcomes; /* D done, T tolerated, S skipped, F failed, - not run */
    int code;
} rows[] = {
    {"one after the other",
     {{&type_one, LB_OP(), {0}}, {&type_one, LB_OP(), {.wants = {.op = 0, .output = "id"}}}},
     2,
     "one(a) one(b=id-a) ",
     "DD",
     ERR_OK},
    {"all of a wave that are of the type, and no others",
     {{&type_many, LB_OP(), {0}},
      {&type_one, LB_OP(.parallel = true), {0}},
      {&type_many, LB_OP(.parallel = true), {0}},
      {&type_many, LB_OP(), {0}}},
     4,
     "many(a,c) one(b) many(d) ",
     "DDDD",
     ERR_OK},
    {"before those that are sent",
     {{&type_step, LB_OP(), {0}}, {&type_many, LB_OP(.parallel = true), {0}}},
     2,
     "many(b) step ",
     "DD",
     ERR_OK},
    {"one of many fails: the others have their own end, what follows does not run",
     {{&type_many, LB_OP(), {0}},
      {&type_many, LB_OP(.parallel = true), {.code = ERR_CONFLICT}},
      {&type_many, LB_OP(.parallel = true), {0}},
      {&type_many, LB_OP(), {0}},
      {&type_one, LB_OP(.finally = LB_FINALLY_ALWAYS), {0}}},
     5,
     "many(a,b,c) one(e) ",
     "DFD-D",
     ERR_CONFLICT},
    {"tolerated",
     {{&type_one, LB_OP(.tolerate = LB_TOLERATE_ABSENT), {.code = ERR_NOT_FOUND}},
      {&type_many, LB_OP(.only_if_op = 0, .only_if = LB_DONE), {0}},
      {&type_many, LB_OP(), {0}}},
     3,
     "one(a) many(c) ",
     "TSD",
     ERR_OK},
    {"cancelled by one of its wave: the next type does not begin",
     {{&type_one, LB_OP(), {.cancels = true}},
      {&type_many, LB_OP(.parallel = true), {0}},
      {&type_one, LB_OP(), {0}}},
     3,
     "one(a) ",
     "D--",
     ERR_CANCELLED},
};

static int run_row(struct world *w, const struct row *row, struct lb_exec_result *res)
{
    struct lb_plan plan;
    struct err err = ERR_INIT;

    lb_plan_init(&plan, w->a);
    for (size_t i = 0; i < row->n; i++) {
        struct lb_op op = row->ops[i].op;
        struct script *script = arena_memdup(w->a, &row->ops[i].script, sizeof *script);
        script->world = w;
        op.verb = LB_CREATE;
        op.kind = "thing";
        op.name = arena_printf(w->a, "%c", (char)('a' + i));
        op.why = "it is tested";
        op.type = row->ops[i].type;
        op.arg = script;
        (void)lb_plan_add(&plan, "demo/web", &op);
    }
    assert_int_equal(lb_plan_seal(&plan, &err), ERR_OK);
    struct lb_exec_config cfg = {
        .a = w->a, .http = w->http, .clock = w->clock, .rng = w->rng, .cancel = w->cancel};
    return lb_exec_run(&plan, &cfg, res, &err);
}

static struct world world_new(struct arena *a)
{
    struct world w = {.a = a,
                      .clock = clock_fake_new(1000, 0),
                      .rng = rng_seeded_new(1),
                      .cancel = cancel_new(NULL)};
    w.http = http_new(
        &(struct http_config){.observe = http_ignore_sent, .proxy_url = "", .clock = w.clock});
    return w;
}

static void world_done(struct world *w)
{
    http_free(w->http);
    cancel_free(w->cancel);
    rng_free(w->rng);
    clock_fake_free(w->clock);
    str_buf_done(&w->trace);
}

static char letter(unsigned outcome)
{
    static const char letters[] = {[LB_DONE] = 'D',
                                   [LB_TOLERATED] = 'T',
                                   [LB_SKIPPED] = 'S',
                                   [LB_FAILED] = 'F',
                                   [LB_NOT_RUN] = '-'};
    return outcome < sizeof letters ? letters[outcome] : '?';
}

static void lb_exec_run__without_http__order_and_outcomes(void **state)
{
    struct arena *a = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w = world_new(a);
        struct lb_exec_result res;
        char outcomes[8] = "";
        assert_int_equal(rows[i].code, run_row(&w, &rows[i], &res));
        for (size_t n = 0; n < rows[i].n; n++) {
            outcomes[n] = letter(res.outcomes[n]);
        }
        assert_string_equal(rows[i].trace, str_buf_text(&w.trace));
        assert_string_equal(rows[i].outcomes, outcomes);
        world_done(&w);
    }
}

static void lb_exec_run__types_that_cannot_run__bug(void **state)
{
    static const struct row bad[] = {
        {"two ways", {{&type_both, LB_OP(), {0}}}, 1, "", "", ERR_BUG},
        {"no way", {{&type_none, LB_OP(), {0}}}, 1, "", "", ERR_BUG},
        {"sent after",
         {{&type_step, LB_OP(), {0}}, {&type_one, LB_OP(.parallel = true, .sent_after = 0), {0}}},
         2,
         "",
         "",
         ERR_BUG},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct world w = world_new(*state);
        struct lb_exec_result res;
        assert_int_equal(ERR_BUG, run_row(&w, &bad[i], &res));
        assert_string_equal("", str_buf_text(&w.trace));
        world_done(&w);
    }
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(exec_direct)
{
    const struct CMUnitTest tests[] = {
        lb_test(lb_exec_run__without_http__order_and_outcomes),
        lb_test(lb_exec_run__types_that_cannot_run__bug),
    };
    return cmocka_run_group_tests_name("exec_direct", tests, group_setup, NULL);
}
