/* SPDX-License-Identifier: Apache-2.0 */
/* test_exec_after.c: operations that name those they wait for: waves, what begins when, and what a
 * failure stops.
 *
 * Operations that need no HTTP show order and outcomes; one test needs the wire, because only there
 * can one operation be in progress while another one begins.  The random plans are judged by a few
 * rules of plan.h, written down again here. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#include <string.h>

struct world {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct http *http;
    struct cancel *cancel;
    struct str_buf trace; /* letters of operations in the order in which they began */
    int begun[32];        /* per operation: its turn, from 1; 0: it did not begin */
    int turns;
    bool tells_over; /* `trace` has the ends, too: "+" and the letter */
};

struct script {
    int code;
    const char *url; /* a request before it ends; NULL: none */
    bool cancels;    /* fires the cancel when it begins */
    int reads;       /* index of an operation whose output it wants; -1: none */
    struct world *world;
    int index;
};

static void begin(struct world *w, const struct lb_op_run *run)
{
    const struct script *s = run->op->arg;
    str_appendf(&w->trace, "%s", run->op->name);
    w->begun[s->index] = ++w->turns;
    if (s->cancels) {
        cancel_fire(w->cancel);
    }
    if (s->reads >= 0) {
        const char *text = lb_run_value(run, LB_VALUE_OF(s->reads, "id"));
        str_appendf(&w->trace, "(%s)", text != NULL ? text : "?");
    }
}

static void end(struct lb_op_run *run)
{
    const struct script *s = run->op->arg;
    lb_run_output(run, "id", run->op->name);
    if (s->code != ERR_OK) {
        err_set(run->err, s->code, "says no");
    }
}

static void direct(struct lb_op_run *run)
{
    begin(((const struct script *)run->op->arg)->world, run);
    end(run);
}

static enum http_next wire(struct lb_op_run *run, const struct http_response *resp)
{
    const struct script *s = run->op->arg;
    if (resp == NULL) {
        begin(s->world, run);
        if (s->url != NULL) {
            *run->req = (struct http_request){.method = "GET", .url = s->url};
            return HTTP_SEND;
        }
    }
    end(run);
    return HTTP_DONE;
}

static const struct lb_op_type direct_type = {.name = "direct", .run = direct};
static const struct lb_op_type wire_type = {.name = "wire", .step = wire};

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

static int add(struct world *w, struct lb_plan *p, struct lb_op op, struct script script)
{
    struct script *copy = arena_memdup(w->a, &script, sizeof script);
    copy->world = w;
    copy->index = (int)p->n_ops;
    op.kind = "thing";
    op.name = arena_printf(w->a, "%c", (char)('a' + p->n_ops));
    op.why = "it is tested";
    op.verb = op.verb == 0 ? LB_CREATE : op.verb;
    op.type = op.verb == LB_KEEP ? NULL : op.type != NULL ? op.type : &direct_type;
    op.arg = copy;
    return lb_plan_add(p, "demo/web", &op);
}

static void on_over(void *arg, const struct lb_op *op, unsigned outcome, const struct err *err)
{
    struct world *w = arg;
    assert_int_equal(outcome == LB_DONE, err->code == ERR_OK);
    if (w->tells_over) {
        str_appendf(&w->trace, "+%s", op->name);
    }
}

static int run(struct world *w, struct lb_plan *p, struct lb_exec_result *res)
{
    struct err err = ERR_INIT;
    struct lb_exec_config cfg = {.a = w->a,
                                 .http = w->http,
                                 .clock = w->clock,
                                 .rng = w->rng,
                                 .cancel = w->cancel,
                                 .on_over = on_over,
                                 .arg = w};
    assert_int_equal(lb_plan_seal(p, &err), ERR_OK);
    return lb_exec_run(p, &cfg, res, &err);
}

static char letter(unsigned outcome)
{
    static const char by_bit[] = {[LB_DONE] = 'D',
                                  [LB_TOLERATED] = 'T',
                                  [LB_SKIPPED] = 'S',
                                  [LB_FAILED] = 'F',
                                  [LB_NOT_RUN] = '-'};
    return outcome < sizeof by_bit ? by_bit[outcome] : '?';
}

#define AT_ONCE    .given = true, .on = {-1}
#define AFTER(...) .given = true, .on = {__VA_ARGS__, -1}
#define OP(...)    LB_OP(__VA_ARGS__)

struct row {
    const char *what;
    struct {
        struct lb_op op;
        int code;
        bool given;
        int on[4]; /* ends with -1 */
        bool reads;
        int reads_op;
    } ops[6];
    size_t n;
    const char *waves;
    const char *trace;
    const char *outcomes;
};
static const struct row rows[] = {
    {"nobody is named: waves", {{OP()}, {OP(.parallel = true)}, {OP()}}, 3, "112", "abc", "DDD"},
    {"a chain beside a chain",
     {{OP(), AT_ONCE}, {OP(), AT_ONCE}, {OP(), AFTER(0)}, {OP(), AFTER(1)}, {OP(), AFTER(2, 3)}},
     5,
     "11223",
     "abcde",
     "DDDDD"},
    {"a long chain does not hold a short one",
     {{OP(), AT_ONCE}, {OP(), AFTER(0)}, {OP(), AFTER(1)}, {OP(), AT_ONCE}},
     4,
     "1231",
     "adbc",
     "DDDD"},
    {"one that names nobody waits for all",
     {{OP(), AT_ONCE}, {OP(), AFTER(0)}, {OP()}, {OP(), AT_ONCE}},
     4,
     "1233",
     "abcd",
     "DDDD"},
    {"the critical one is a barrier for both sides",
     {{OP(), AT_ONCE}, {OP(.critical = true), AT_ONCE}, {OP(), AT_ONCE}},
     3,
     "123",
     "abc",
     "DDD"},
    {"neighbours marked so stay beside the critical one",
     {{OP(), AT_ONCE},
      {OP(.critical = true, .parallel = true), AT_ONCE},
      {OP(.parallel = true), AT_ONCE},
      {OP(), AT_ONCE}},
     4,
     "1112",
     "abcd",
     "DDDD"},
    {"a critical step is one, too",
     {{OP(), AT_ONCE}, {OP(.critical = true)}, {OP(), AT_ONCE}},
     3,
     "123",
     "abc",
     "DDD"},
    {"finally: after all ordinary ones",
     {{OP(.finally = LB_FINALLY_ALWAYS), AT_ONCE}, {OP(), AT_ONCE}, {OP(), AFTER(1)}},
     3,
     "312",
     "bca",
     "DDD"},
    {"finally: among themselves by name",
     {{OP(), AT_ONCE},
      {OP(.finally = LB_FINALLY_ALWAYS), AT_ONCE},
      {OP(.finally = LB_FINALLY_ALWAYS), AFTER(1)}},
     3,
     "123",
     "abc",
     "DDD"},
    {"finally in place: behind those that it names, also when these have failed",
     {{OP(), AT_ONCE},
      {OP(), ERR_QUOTA, AT_ONCE},
      {OP(.only_if_op = 0, .only_if = LB_DONE, .finally = LB_FINALLY_IN_PLACE), AFTER(1)},
      {OP(), AFTER(0)},
      {OP(), AFTER(2)}},
     5,
     "11223",
     "abc",
     "DFD--"},
    {"finally in place: others need not wait for it, and may",
     {{OP(), AT_ONCE},
      {OP(.finally = LB_FINALLY_IN_PLACE), AFTER(0)},
      {OP(), AFTER(0)},
      {OP(), AFTER(1)}},
     4,
     "1223",
     "abcd",
     "DDDD"},
    {"a failure stops what waits for it, and later waves",
     {{OP(), ERR_QUOTA, AT_ONCE},
      {OP(), AT_ONCE},
      {OP(), AFTER(0)},
      {OP(), AFTER(1)},
      {OP(.finally = LB_FINALLY_ALWAYS), AFTER(2)}},
     5,
     "11223",
     "abe",
     "FD--D"},
    {"one that fails alone stops what waits for it, and no later wave",
     {{OP(.fails_alone = true), ERR_QUOTA, AT_ONCE},
      {OP(), AT_ONCE},
      {OP(), AFTER(0)},
      {OP(), AFTER(1)},
      {OP(.finally = LB_FINALLY_OK), AFTER(3)}},
     5,
     "11223",
     "abd",
     "FD-D-"},
    {"one that fails alone stops the next part",
     {{OP(.fails_alone = true), ERR_QUOTA, AT_ONCE}, {OP(), AT_ONCE}, {OP()}},
     3,
     "112",
     "ab",
     "FD-"},
    {"what is tolerated, or passed over, is over",
     {{OP(.tolerate = LB_TOLERATE_ABSENT), ERR_NOT_FOUND, AT_ONCE},
      {OP(.only_if_op = 0, .only_if = LB_DONE), AT_ONCE},
      {OP(), AFTER(1)}},
     3,
     "123",
     "ac",
     "TSD"},
    {"only_if is an edge: also of one that failed",
     {{OP(), ERR_QUOTA, AT_ONCE},
      {OP(.only_if_op = 0, .only_if = LB_FAILED, .finally = LB_FINALLY_ALWAYS), AT_ONCE}},
     2,
     "12",
     "ab",
     "FD"},
    {"kept ones are over from the beginning",
     {{OP(.verb = LB_KEEP)}, {OP(), AFTER(0)}},
     2,
     "01",
     "b",
     "TD"},
    {"a value of one that it waits for",
     {{OP(), AT_ONCE}, {OP(), AFTER(0)}, {OP(), AFTER(1), .reads = true}},
     3,
     "123",
     "abc(a)",
     "DDD"},
    {"a value of one that it does not wait for is a bug",
     {{OP(), AT_ONCE}, {OP(), AT_ONCE, .reads = true}},
     2,
     "11",
     "ab(?)",
     "DF"},
};

static void add_row(struct world *w, struct lb_plan *p, const struct row *row)
{
    for (size_t i = 0; i < row->n; i++) {
        int reads = row->ops[i].reads ? row->ops[i].reads_op : -1;
        int at =
            add(w, p, row->ops[i].op, (struct script){.code = row->ops[i].code, .reads = reads});
        for (size_t k = 0; row->ops[i].given; k++) {
            lb_plan_after(p, at, row->ops[i].on[k]);
            if (row->ops[i].on[k] < 0) {
                break;
            }
        }
    }
}

static void lb_exec_run__after__order_and_outcomes(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w = world_new(*state);
        struct lb_plan p;
        struct lb_exec_result res;
        char waves[8] = "";
        char outcomes[8] = "";
        lb_plan_init(&p, *state);
        add_row(&w, &p, &rows[i]);
        (void)run(&w, &p, &res);
        for (size_t n = 0; n < p.n_ops; n++) {
            waves[n] = (char)('0' + p.ops[n].wave);
            outcomes[n] = letter(res.outcomes[n]);
        }
        print_message("# %s\n", rows[i].what);
        assert_string_equal(waves, rows[i].waves);
        assert_string_equal(str_buf_text(&w.trace), rows[i].trace);
        assert_string_equal(outcomes, rows[i].outcomes);
        world_done(&w);
    }
}

static void lb_plan_seal__after_that_does_not_point_backwards__bug(void **state)
{
    for (int on = 0; on < 3; on++) {
        struct world w = world_new(*state);
        struct lb_plan p;
        struct err err = ERR_INIT;
        lb_plan_init(&p, *state);
        add(&w, &p, OP(), (struct script){.reads = -1});
        int at = add(&w, &p, OP(), (struct script){.reads = -1});
        add(&w, &p, OP(), (struct script){.reads = -1});
        lb_plan_after(&p, at, on);
        assert_int_equal(lb_plan_seal(&p, &err), on == 0 ? ERR_OK : ERR_BUG);
        assert_string_equal(err.message,
                            on == 0 ? "" : "operation 2 (thing b): after does not point backwards");
        world_done(&w);
    }
}

/* "b" hangs until "c" begins, which waits for "a" alone.  Were they waves, this would never end.
 * The end of "a" is reported meanwhile, and not with that of "b". */
static void lb_exec_run__after__begins_while_others_are_under_way(void **state)
{
    struct test_server *server = test_server_start(NULL);
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    w.tells_over = true;
    const struct lb_op op = OP(.type = &wire_type);
    int a = add(&w, &p, op, (struct script){.url = test_server_url(server, "/ok"), .reads = -1});
    int b = add(&w, &p, op, (struct script){.url = test_server_url(server, "/hang"), .reads = -1});
    int c = add(&w, &p, op, (struct script){.cancels = true, .reads = -1});
    lb_plan_after(&p, a, -1);
    lb_plan_after(&p, b, -1);
    lb_plan_after(&p, c, a);
    assert_int_equal(run(&w, &p, &res), ERR_CANCELLED);
    assert_string_equal(str_buf_text(&w.trace), "ab+ac+c+b");
    assert_int_equal(res.outcomes[a], LB_DONE);
    assert_int_equal(res.outcomes[b], LB_FAILED);
    assert_int_equal(res.outcomes[c], LB_DONE);
    world_done(&w);
    test_server_stop(server);
}

/* Sent after one that is itself not ready yet: more of them than may be in flight. */
static void lb_exec_run__after__many_behind_one(void **state)
{
    struct test_server *server = test_server_start(NULL);
    const char *url = test_server_url(server, "/ok");
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    for (int i = 0; i < 60; i++) {
        struct lb_op op = OP(.type = &wire_type, .sent_after = i > 1 ? 1 : -1);
        int at = add(&w, &p, op, (struct script){.url = url, .reads = -1});
        p.ops[at].name = "z";
        ((struct script *)(uintptr_t)p.ops[at].arg)->index = 0;
        lb_plan_after(&p, at, i == 1 ? 0 : -1);
    }
    assert_int_equal(run(&w, &p, &res), ERR_OK);
    assert_int_equal(res.done, 60);
    assert_int_equal(p.waves, 2);
    assert_int_equal(p.parts, 1);
    world_done(&w);
    test_server_stop(server);
}

/* Memory of an operation is freed when it has ended well: a plan may last for minutes in which its
 * first ones are long over.  A request and an error alone are more than this. */
static void lb_exec_run__ended_well__little_of_it_stays(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    for (int i = 0; i < 26; i++) {
        (void)add(&w, &p, OP(.type = &wire_type), (struct script){.reads = -1});
    }
    struct err err = ERR_INIT;
    assert_int_equal(lb_plan_seal(&p, &err), ERR_OK);
    size_t before = arena_used(w.a);
    struct lb_exec_config cfg = {.a = w.a, .http = w.http, .clock = w.clock, .rng = w.rng};
    assert_int_equal(lb_exec_run(&p, &cfg, &res, &err), ERR_OK);
    assert_int_equal(res.done, 26);
    assert_in_range(arena_used(w.a) - before, 26, 26 * 400);
    world_done(&w);
}

/* An operation keeps a text in its memory, as others keep a document that was answered. */
struct kept {
    const char *said;
    bool *ret_freed;
    bool read;
};

static void kept_freed(void *arg)
{
    *(bool *)arg = true;
}

static enum http_next keep_step(struct lb_op_run *run, const struct http_response *resp)
{
    struct kept *k = (struct kept *)(uintptr_t)run->op->arg;
    (void)resp;
    k->said = arena_strdup(run->a, "answered");
    arena_defer(run->a, kept_freed, k->ret_freed);
    return HTTP_DONE;
}

static void read_kept(void *arg, const struct lb_op *op, int index, unsigned outcome,
                      const struct err *err, int64_t took_ms)
{
    struct kept *k = arg;
    (void)op, (void)index, (void)outcome, (void)err, (void)took_ms;
    assert_false(*k->ret_freed);
    assert_string_equal(k->said, "answered");
    k->read = true;
}

static void lb_exec_run__wants_answers__stay_until_on_done(void **state)
{
    static const struct lb_op_type keeps = {.name = "keep", .state_size = 1, .step = keep_step};
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    bool freed = false;
    struct kept k = {.ret_freed = &freed};
    lb_plan_init(&p, *state);
    int at = add(&w, &p, OP(.type = &keeps), (struct script){.reads = -1});
    p.ops[at].arg = &k;
    assert_int_equal(lb_plan_seal(&p, &err), ERR_OK);
    struct lb_exec_config cfg = {.a = w.a,
                                 .wants_answers = true,
                                 .http = w.http,
                                 .clock = w.clock,
                                 .rng = w.rng,
                                 .on_done = read_kept,
                                 .arg = &k};
    assert_int_equal(lb_exec_run(&p, &cfg, &res, &err), ERR_OK);
    assert_true(k.read);
    assert_true(freed);
    world_done(&w);
}

/* ---- random plans ---------------------------------------------------------------------------- */

static void add_random(struct world *w, struct lb_plan *p, struct rng *rng)
{
    static const int codes[] = {ERR_OK, ERR_OK, ERR_OK,    ERR_OK,
                                ERR_OK, ERR_OK, ERR_QUOTA, ERR_NOT_FOUND};
    int n = (int)p->n_ops;
    struct lb_op op = OP(.parallel = rng_below(rng, 2) == 0, .tolerate = LB_TOLERATE_ABSENT);
    op.verb = rng_below(rng, 8) == 0 ? LB_KEEP : LB_CREATE;
    op.finally = rng_below(rng, 6) == 0 ? LB_FINALLY_ALWAYS : LB_FINALLY_NO;
    int at = add(w, p, op,
                 (struct script){.code = codes[rng_below(rng, ARRAY_LEN(codes))], .reads = -1});
    if (op.verb == LB_KEEP || rng_below(rng, 3) == 0) {
        return;
    }
    lb_plan_after(p, at, -1);
    for (int k = 0; n > 0 && k < 2; k++) {
        int on = (int)rng_below(rng, (uint64_t)n);
        bool ordinary = p->ops[on].finally == LB_FINALLY_NO;
        if (ordinary || op.finally != LB_FINALLY_NO) {
            lb_plan_after(p, at, on);
        }
    }
}

/* Each operation began after all its dependencies, and these succeeded. */
static void check_order(const struct world *w, const struct lb_plan *p,
                        const struct lb_exec_result *res)
{
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct lb_op *op = &p->ops[i];
        for (size_t k = 0; w->begun[i] > 0 && k < op->after.n; k++) {
            size_t on = (size_t)op->after.ops[k];
            assert_true(p->ops[on].verb == LB_KEEP || p->ops[on].wave < op->wave);
            assert_true(w->begun[on] < w->begun[i]);
            bool well = (res->outcomes[on] & (LB_DONE | LB_TOLERATED | LB_SKIPPED)) != 0;
            assert_true(well || op->finally == LB_FINALLY_ALWAYS);
        }
        for (size_t k = 0; w->begun[i] > 0 && !op->after.given && k < i; k++) {
            const struct lb_op *other = &p->ops[k];
            bool late = other->after.given && other->finally != LB_FINALLY_NO;
            if (other->verb != LB_KEEP && !late && other->wave < op->wave) {
                assert_true(w->begun[k] < w->begun[i]);
            }
        }
    }
}

/* Nothing is left out without a failure; after one, only what is of a later wave, or
 * waits for it. */
static void check_whole(const struct lb_plan *p, const struct lb_exec_result *res)
{
    int failed_wave = p->waves + 1;
    for (size_t i = 0; i < p->n_ops; i++) {
        bool failed = res->outcomes[i] == LB_FAILED;
        failed_wave = failed && p->ops[i].wave < failed_wave ? p->ops[i].wave : failed_wave;
    }
    for (size_t i = 0; i < p->n_ops; i++) {
        if (res->outcomes[i] == LB_NOT_RUN) {
            assert_true(p->ops[i].wave > failed_wave);
            assert_int_equal(p->ops[i].finally, LB_FINALLY_NO);
        }
    }
    assert_int_equal(res->failed_op >= 0, failed_wave <= p->waves);
}

static void lb_exec_run__random_plans__order_holds(void **state)
{
    (void)state;
    struct rng *rng = rng_seeded_new(24);
    for (int i = 0; i < 2000; i++) {
        struct arena *a = arena_new();
        struct world w = world_new(a);
        struct lb_plan p;
        struct lb_exec_result res;
        lb_plan_init(&p, a);
        for (uint64_t n = rng_below(rng, 24) + 1; n > 0; n--) {
            add_random(&w, &p, rng);
        }
        (void)run(&w, &p, &res);
        check_order(&w, &p, &res);
        check_whole(&p, &res);
        world_done(&w);
        arena_free(a);
    }
    rng_free(rng);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(exec_after)
{
    const struct CMUnitTest tests[] = {
        lb_test(lb_exec_run__after__order_and_outcomes),
        lb_test(lb_plan_seal__after_that_does_not_point_backwards__bug),
        lb_test(lb_exec_run__after__begins_while_others_are_under_way),
        lb_test(lb_exec_run__after__many_behind_one),
        lb_test(lb_exec_run__ended_well__little_of_it_stays),
        lb_test(lb_exec_run__wants_answers__stay_until_on_done),
        lb_test(lb_exec_run__random_plans__order_holds),
    };
    return cmocka_run_group_tests_name("exec_after", tests, group_setup, NULL);
}
