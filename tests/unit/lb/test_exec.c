/* SPDX-License-Identifier: Apache-2.0 */
/* test_exec.c: attributes of operations, one by one and together, on a fake kind of operation.
 *
 * Most operations here end without a request, because attributes are about order and outcome; the
 * last tests use a server on loopback for what needs the wire: waves side by side,
 * fixed failures, cancelling. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/http_req.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>

struct world {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct http *http;
    struct cancel *cancel;
    struct str_buf trace; /* names of operations in the order in which they began */
    struct str_buf done;  /* names in the order of on_done, with outcome letters */
};

/* Behaviour of a fake operation. */
struct script {
    int code;              /* ends with this one */
    const char *urls[3];   /* requests before that; a failed one is fixed by the next */
    struct lb_value wants; /* a value that it reads */
    const char *output;    /* what it yields as "id" */
    bool cancels;          /* fires the cancel when it begins */
    bool accepts;          /* says that the cloud has taken it up when an answer came */
    struct world *world;
};
struct script_state {
    int sent;
};

static enum http_next script_step(struct lb_op_run *run, const struct http_response *resp)
{
    const struct script *s = run->op->arg;
    struct script_state *st = run->state;
    struct world *w = s->world;
    if (resp == NULL) {
        str_appendf(&w->trace, "%s ", run->op->name);
        if (s->cancels) {
            cancel_fire(w->cancel);
        }
        const char *value = lb_run_value(run, s->wants);
        if (value != NULL) {
            str_appendf(&w->trace, "(%s) ", value);
        }
    }
    if (resp != NULL && s->accepts) {
        lb_run_accepted(run);
    }
    clock_fake_advance(w->clock, 10);
    if (st->sent < (int)ARRAY_LEN(s->urls) && s->urls[st->sent] != NULL) {
        *run->req = (struct http_request){.method = "GET", .url = s->urls[st->sent++]};
        return HTTP_SEND;
    }
    if (s->output != NULL) {
        lb_run_output(run, "id", s->output);
    }
    if (s->code != ERR_OK) {
        err_set(run->err, s->code, "says no");
    }
    return HTTP_DONE;
}

static const struct lb_op_type script_type = {
    .name = "fake", .state_size = sizeof(struct script_state), .step = script_step};

static void on_done(void *arg, const struct lb_op *op, int index, unsigned outcome,
                    const struct err *err, int64_t took_ms)
{
    struct world *w = arg;
    (void)index;
    str_appendf(&w->done, "%s:%s:%lldms ", op->name, err_code_name(err->code), (long long)took_ms);
    assert_int_equal(outcome == LB_DONE, err->code == ERR_OK);
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
    str_buf_done(&w->done);
}

/* Adds an operation that plays `script`, named "a", "b" … */
static void add(struct world *w, struct lb_plan *p, struct lb_op op, struct script script)
{
    struct script *copy = arena_memdup(w->a, &script, sizeof script);
    copy->world = w;
    op.kind = "thing";
    op.name = p->n_ops < 26 ? arena_printf(w->a, "%c", (char)('a' + p->n_ops)) : "z";
    op.why = "it is tested";
    op.verb = op.verb == 0 ? LB_CREATE : op.verb;
    op.type = op.verb == LB_KEEP ? NULL : &script_type;
    op.arg = copy;
    (void)lb_plan_add(p, "demo/web", &op);
}

static int run(struct world *w, struct lb_plan *p, struct lb_exec_result *res, struct err *err)
{
    struct lb_exec_config cfg = {.a = w->a,
                                 .http = w->http,
                                 .clock = w->clock,
                                 .rng = w->rng,
                                 .cancel = w->cancel,
                                 .on_done = on_done,
                                 .arg = w};
    assert_int_equal(lb_plan_seal(p, err), ERR_OK);
    return lb_exec_run(p, &cfg, res, err);
}

/* One letter per operation: D done, T tolerated, S skipped, F failed, - not run. */
static const char *letters(struct arena *a, const struct lb_plan *p, const unsigned *outcomes)
{
    char *text = arena_alloc(a, p->n_ops + 1);
    for (size_t i = 0; i < p->n_ops; i++) {
        switch (outcomes[i]) {
        case LB_DONE:
            text[i] = 'D';
            break;
        case LB_TOLERATED:
            text[i] = 'T';
            break;
        case LB_SKIPPED:
            text[i] = 'S';
            break;
        case LB_FAILED:
            text[i] = 'F';
            break;
        default:
            text[i] = outcomes[i] == LB_NOT_RUN ? '-' : '?';
        }
    }
    return text;
}

#define OP(code, ...)                                                                              \
    {                                                                                              \
        LB_OP(__VA_ARGS__), (code)                                                                 \
    }

struct attribute_row {
    const char *what;
    struct {
        struct lb_op op;
        int code;
    } ops[5];
    size_t n;
    const char *outcomes; /* letters() */
    int failed_op;
};
static const struct attribute_row attribute_rows[] = {
    {"all well", {OP(0), OP(0), OP(0)}, 3, "DDD", -1},
    {"stops at the first failure", {OP(0), OP(ERR_QUOTA), OP(0)}, 3, "DF-", 1},
    {"the whole wave runs",
     {OP(0), OP(ERR_QUOTA, .parallel = true), OP(0, .parallel = true), OP(0)},
     4,
     "DFD-",
     1},
    {"two failures in a wave: the first counts",
     {OP(ERR_QUOTA), OP(ERR_FORBIDDEN, .parallel = true)},
     2,
     "FF",
     0},
    {"kept ones are not run", {OP(0, .verb = LB_KEEP), OP(0)}, 2, "TD", -1},
    /* tolerate */
    {"absent", {OP(ERR_NOT_FOUND, .tolerate = LB_TOLERATE_ABSENT), OP(0)}, 2, "TD", -1},
    {"exists", {OP(ERR_EXISTS, .tolerate = LB_TOLERATE_EXISTS), OP(0)}, 2, "TD", -1},
    {"in use", {OP(ERR_IN_USE, .tolerate = LB_TOLERATE_IN_USE), OP(0)}, 2, "TD", -1},
    {"forbidden", {OP(ERR_FORBIDDEN, .tolerate = LB_TOLERATE_FORBIDDEN), OP(0)}, 2, "TD", -1},
    {"another outcome is not tolerated",
     {OP(ERR_IN_USE, .tolerate = LB_TOLERATE_ABSENT | LB_TOLERATE_EXISTS), OP(0)},
     2,
     "F-",
     0},
    /* only_if */
    {"only if done: was done", {OP(0), OP(0, .only_if_op = 0, .only_if = LB_DONE)}, 2, "DD", -1},
    {"only if done: was tolerated",
     {OP(ERR_NOT_FOUND, .tolerate = LB_TOLERATE_ABSENT),
      OP(0, .only_if_op = 0, .only_if = LB_DONE)},
     2,
     "TS",
     -1},
    {"only if skipped or tolerated",
     {OP(ERR_NOT_FOUND, .tolerate = LB_TOLERATE_ABSENT), OP(0, .only_if_op = 0, .only_if = LB_DONE),
      OP(0, .only_if_op = 1, .only_if = LB_SKIPPED | LB_TOLERATED)},
     3,
     "TSD",
     -1},
    {"only if a failed one, finally",
     {OP(ERR_QUOTA), OP(0, .only_if_op = 0, .only_if = LB_FAILED, .finally = LB_FINALLY_ALWAYS),
      OP(0, .only_if_op = 0, .only_if = LB_DONE, .finally = LB_FINALLY_ALWAYS)},
     3,
     "FDS",
     0},
    /* sent_after */
    {"after one that went well", {OP(0), OP(0, .parallel = true, .sent_after = 0)}, 2, "DD", -1},
    {"after one that failed: not run, and neither is what follows it",
     {OP(ERR_QUOTA), OP(0, .parallel = true, .sent_after = 0, .critical = true),
      OP(0, .parallel = true, .sent_after = 1), OP(0, .parallel = true),
      OP(0, .finally = LB_FINALLY_ALWAYS)},
     5,
     "F--DD",
     0},
    {"after one that was tolerated",
     {OP(ERR_EXISTS, .tolerate = LB_TOLERATE_EXISTS), OP(0, .parallel = true, .sent_after = 0)},
     2,
     "TD",
     -1},
    {"after one that was skipped",
     {OP(0), OP(0, .only_if_op = 0, .only_if = LB_FAILED),
      OP(0, .parallel = true, .sent_after = 1)},
     3,
     "DSD",
     -1},
    {"after one that is not run",
     {OP(ERR_QUOTA), OP(0), OP(0, .parallel = true, .sent_after = 1, .finally = LB_FINALLY_ALWAYS)},
     3,
     "F--",
     0},
    /* finally */
    {"always: after a failure",
     {OP(ERR_QUOTA), OP(0), OP(0, .finally = LB_FINALLY_ALWAYS)},
     3,
     "F-D",
     0},
    {"ok: not after a failure", {OP(ERR_QUOTA), OP(0, .finally = LB_FINALLY_OK)}, 2, "F-", 0},
    {"ok: when all went well", {OP(0), OP(0, .finally = LB_FINALLY_OK)}, 2, "DD", -1},
    {"a failing finally hides nothing",
     {OP(ERR_QUOTA), OP(ERR_FORBIDDEN, .finally = LB_FINALLY_ALWAYS),
      OP(0, .finally = LB_FINALLY_ALWAYS)},
     3,
     "FFD",
     0},
    {"cancelled: no finally", {OP(ERR_CANCELLED), OP(0, .finally = LB_FINALLY_ALWAYS)}, 2, "F-", 0},
};

static void lb_exec_run__attributes__outcomes(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(attribute_rows); i++) {
        const struct attribute_row *row = &attribute_rows[i];
        struct world w = world_new(*state);
        struct lb_plan p;
        lb_plan_init(&p, *state);
        for (size_t o = 0; o < row->n; o++) {
            add(&w, &p, row->ops[o].op, (struct script){.code = row->ops[o].code});
        }
        struct lb_exec_result res;
        struct err err = ERR_INIT;
        int rc = run(&w, &p, &res, &err);
        print_message("# %s\n", row->what);
        assert_string_equal(letters(*state, &p, res.outcomes), row->outcomes);
        assert_int_equal(res.failed_op, row->failed_op);
        int want = row->failed_op < 0 ? ERR_OK : row->ops[row->failed_op].code;
        assert_string_equal(err_code_name(rc), err_code_name(want));
        assert_string_equal(err.message, res.err.message);
        world_done(&w);
    }
}

static void lb_exec_run__failure__says_what_and_counts(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(), (struct script){0});
    add(&w, &p, LB_OP(.parallel = true), (struct script){.code = ERR_QUOTA});
    add(&w, &p, LB_OP(), (struct script){0});
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    assert_int_equal(run(&w, &p, &res, &err), ERR_QUOTA);
    assert_string_equal(err.message, "thing b: says no");
    assert_int_equal(res.done, 1);
    assert_string_equal(str_buf_text(&w.trace), "a b ");
    assert_string_equal(str_buf_text(&w.done), "a:ok:10ms b:quota:10ms ");
    world_done(&w);
}

static void lb_run_value__outputs__only_of_what_is_done(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(), (struct script){.output = "192.0.2.1"});
    add(&w, &p, LB_OP(.tolerate = LB_TOLERATE_EXISTS),
        (struct script){.output = "there", .code = ERR_EXISTS});
    add(&w, &p, LB_OP(.only_if_op = 0, .only_if = LB_FAILED), (struct script){.output = "never"});
    const struct lb_value values[] = {
        LB_VALUE_OF(0, "id"), LB_VALUE_OF(1, "id"), LB_VALUE_OF(2, "id"),  LB_VALUE_OF(0, "other"),
        LB_VALUE("known"),    LB_VALUE(NULL),       LB_VALUE_OF(99, "id"), {.op = 0}};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        add(&w, &p, LB_OP(), (struct script){.wants = values[i]});
    }
    struct lb_exec_result res;
    assert_int_equal(run(&w, &p, &res, NULL), ERR_OK);
    assert_string_equal(str_buf_text(&w.trace), "a b d (192.0.2.1) e (there) f g h (known) i j k ");
    world_done(&w);
}

static void lb_exec_run__plans_that_cannot_run__bug(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(), (struct script){0});
    struct lb_exec_config cfg = {.a = w.a, .http = w.http, .clock = w.clock, .rng = w.rng};
    assert_int_equal(lb_exec_run(&p, &cfg, &res, &err), ERR_BUG);
    assert_string_equal(err.message, "the plan is not sealed");
    p.ops[0].type = NULL;
    assert_int_equal(run(&w, &p, &res, &err), ERR_BUG);
    assert_string_equal(err.message, "operation 1 (thing a) cannot be carried out");
    assert_string_equal(str_buf_text(&w.trace), "");
    world_done(&w);
}

static void lb_exec_run__empty_plan__fine(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    assert_int_equal(run(&w, &p, &res, NULL), ERR_OK);
    assert_int_equal(res.done, 0);
    world_done(&w);
}

static void lb_exec_run__cancelled_between_waves__stops_before_the_next(void **state)
{
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    /* The step ends as done although it was cancelled meanwhile: what is done is done. */
    add(&w, &p, LB_OP(.critical = true), (struct script){.output = "x"});
    add(&w, &p, LB_OP(), (struct script){0});
    add(&w, &p, LB_OP(.finally = LB_FINALLY_ALWAYS), (struct script){0});
    cancel_fire(w.cancel);
    assert_int_equal(run(&w, &p, &res, &err), ERR_CANCELLED);
    assert_string_equal(letters(*state, &p, res.outcomes), "---");
    assert_string_equal(err.message, "stopped before thing a");
    assert_int_equal(res.failed_op, 0);
    world_done(&w);
}

/* ---- on the wire ----------------------------------------------------------------------------- */
/* Answers only when three requests are there: a wave that runs one by one would wait forever. */
struct gate {
    struct http_req *waiting[3];
    size_t n;
};

static void gate_handle(void *arg, struct http_req *req)
{
    struct gate *g = arg;
    g->waiting[g->n++] = req;
    if (g->n == ARRAY_LEN(g->waiting)) {
        for (size_t i = 0; i < g->n; i++) {
            http_req_answer(g->waiting[i], 200, "ok", 2);
        }
    }
}

static void lb_exec_run__wave__side_by_side(void **state)
{
    struct gate gate = {0};
    struct test_server *server =
        test_server_start(&(struct test_server_config){.handle = gate_handle, .arg = &gate});
    const char *url = test_server_url(server, "/");
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    for (size_t i = 0; i < ARRAY_LEN(gate.waiting); i++) {
        add(&w, &p, LB_OP(.parallel = true), (struct script){.urls = {url}});
    }
    int rc = run(&w, &p, &res, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, ERR_OK);
    assert_string_equal(letters(*state, &p, res.outcomes), "DDD");
    world_done(&w);
    test_server_stop(server);
}

/* Requests in the order in which they come; the answer of /slow is kept back until
 * /second was answered. */
struct order {
    struct str_buf seen;
    struct http_req *slow;
    bool second;
};

static void order_handle(void *arg, struct http_req *req)
{
    struct order *o = arg;
    str_appendf(&o->seen, "%s ", http_req_path(req));
    if (str_eq(http_req_path(req), "/slow") && !o->second) {
        o->slow = req;
        return;
    }
    o->second |= str_eq(http_req_path(req), "/second");
    http_req_answer(req, str_eq(http_req_path(req), "/refused") ? 400 : 200, "ok", 2);
    if (o->second && o->slow != NULL) {
        http_req_answer(STEAL(o->slow), 200, "ok", 2);
    }
}

struct order_row {
    const char *what;
    struct script first;
    const char *seen; /* NULL: /first, then the others */
    const char *outcomes;
};
#define URLS(...) .urls = {__VA_ARGS__}
static const struct order_row order_rows[] = {
    {"accepted: both are in flight, the second was sent after the first answer",
     {URLS("/first", "/slow"), .accepts = true},
     NULL, /* on two connections, so either may come first: but /slow is answered after /second */
     "DD"},
    {"it does not say so: the second waits for the end",
     {URLS("/first", "/then")},
     "/first /then /second ",
     "DD"},
    {"ended badly: the second is never sent",
     {URLS("/first", "/refused"), .code = ERR_INVALID},
     "/first /refused ",
     "F-"},
    {"no answer at all", {URLS("/refused"), .code = ERR_TRANSIENT}, "/refused ", "F-"},
};

static void lb_exec_run__sent_after__order_on_the_wire(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(order_rows); i++) {
        const struct order_row *row = &order_rows[i];
        struct order order = {.seen = STR_BUF_INIT};
        struct test_server *server =
            test_server_start(&(struct test_server_config){.handle = order_handle, .arg = &order});
        struct world w = world_new(*state);
        struct lb_plan p;
        struct lb_exec_result res;
        struct script first = row->first;
        print_message("# %s\n", row->what);
        for (size_t u = 0; u < ARRAY_LEN(first.urls) && first.urls[u] != NULL; u++) {
            first.urls[u] = test_server_url(server, first.urls[u]);
        }
        lb_plan_init(&p, *state);
        add(&w, &p, LB_OP(), first);
        add(&w, &p, LB_OP(.parallel = true, .sent_after = 0),
            (struct script){.urls = {test_server_url(server, "/second")}});
        int rc = run(&w, &p, &res, NULL);
        test_server_stop(server);
        assert_int_equal(rc, first.code);
        assert_true(str_has_prefix(str_buf_text(&order.seen), str_or(row->seen, "/first ")));
        assert_true(row->seen == NULL || order.seen.len == strlen(row->seen));
        assert_string_equal(letters(*state, &p, res.outcomes), row->outcomes);
        str_buf_done(&order.seen);
        world_done(&w);
    }
}

static void lb_exec_run__wide_wave__all_done(void **state)
{
    struct test_server *server = test_server_start(NULL);
    const char *url = test_server_url(server, "/ok");
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    for (size_t i = 0; i < 70; i++) {
        add(&w, &p, LB_OP(.parallel = true), (struct script){.urls = {url}});
    }
    assert_int_equal(run(&w, &p, &res, NULL), ERR_OK);
    assert_int_equal(res.done, 70);
    assert_int_equal(p.waves, 1);
    world_done(&w);
    test_server_stop(server);
}

static void lb_exec_run__lost_answer_asked_again__no_failure(void **state)
{
    struct test_server *server = test_server_start(NULL);
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(),
        (struct script){
            .urls = {test_server_url(server, "/drop"), test_server_url(server, "/ok")}});
    assert_int_equal(run(&w, &p, &res, &err), ERR_OK);
    assert_string_equal(err.message, "");
    assert_string_equal(str_buf_text(&w.done), "a:ok:30ms ");
    world_done(&w);
    test_server_stop(server);
}

struct canceller {
    struct test_server *server;
    struct cancel *cancel;
};

static void *cancel_when_asked(void *arg)
{
    struct canceller *c = arg;
    test_server_wait_requests(c->server, 1);
    cancel_fire(c->cancel);
    return NULL;
}

static void lb_exec_run__cancelled_in_transfer__ends(void **state)
{
    struct test_server *server = test_server_start(NULL);
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(.critical = true),
        (struct script){.urls = {test_server_url(server, "/hang")}, .code = ERR_CANCELLED});
    add(&w, &p, LB_OP(.finally = LB_FINALLY_ALWAYS), (struct script){0});
    struct canceller c = {server, w.cancel};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_asked, &c), 0);
    assert_int_equal(run(&w, &p, &res, &err), ERR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(letters(*state, &p, res.outcomes), "F-");
    world_done(&w);
    test_server_stop(server);
}

/* The operation that is waited for lies in an earlier run of the handle: a wave is run in parts. */
static void lb_exec_run__sent_after__in_a_wide_wave(void **state)
{
    struct test_server *server = test_server_start(NULL);
    const char *url = test_server_url(server, "/ok");
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    lb_plan_init(&p, *state);
    for (int i = 0; i < 70; i++) {
        add(&w, &p, LB_OP(.parallel = true, .sent_after = i > 0 ? i / 2 : -1),
            (struct script){.urls = {url}, .accepts = i % 3 == 0});
    }
    assert_int_equal(run(&w, &p, &res, NULL), ERR_OK);
    assert_int_equal(res.done, 70);
    assert_int_equal(p.waves, 1);
    world_done(&w);
    test_server_stop(server);
}

static void lb_exec_run__sent_after__cancelled_while_it_waits(void **state)
{
    struct test_server *server = test_server_start(NULL);
    struct world w = world_new(*state);
    struct lb_plan p;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    lb_plan_init(&p, *state);
    add(&w, &p, LB_OP(),
        (struct script){.urls = {test_server_url(server, "/hang")}, .code = ERR_CANCELLED});
    add(&w, &p, LB_OP(.parallel = true, .sent_after = 0, .critical = true),
        (struct script){.urls = {test_server_url(server, "/ok")}});
    struct canceller c = {server, w.cancel};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_asked, &c), 0);
    assert_int_equal(run(&w, &p, &res, &err), ERR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(str_buf_text(&w.trace), "a "); /* the second never began */
    world_done(&w);
    test_server_stop(server);
}

static int group_setup(void **state)
{
    (void)state;
    return http_global_init(NULL);
}

UNIT_MAIN(exec)
{
    const struct CMUnitTest tests[] = {
        lb_test(lb_exec_run__attributes__outcomes),
        lb_test(lb_exec_run__failure__says_what_and_counts),
        lb_test(lb_run_value__outputs__only_of_what_is_done),
        lb_test(lb_exec_run__plans_that_cannot_run__bug),
        lb_test(lb_exec_run__empty_plan__fine),
        lb_test(lb_exec_run__cancelled_between_waves__stops_before_the_next),
        lb_test(lb_exec_run__wave__side_by_side),
        lb_test(lb_exec_run__sent_after__order_on_the_wire),
        lb_test(lb_exec_run__sent_after__in_a_wide_wave),
        lb_test(lb_exec_run__sent_after__cancelled_while_it_waits),
        lb_test(lb_exec_run__wide_wave__all_done),
        lb_test(lb_exec_run__lost_answer_asked_again__no_failure),
        lb_test(lb_exec_run__cancelled_in_transfer__ends),
    };
    return cmocka_run_group_tests_name("exec", tests, group_setup, NULL);
}
