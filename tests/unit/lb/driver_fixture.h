/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fixture.h: a provider without a cloud, and a host that records reports.
 *
 * The cloud is a list of "stage/key" texts.  A Service that is ensured wants one entry per stage,
 * one that is deleted wants none; observing reads the list, operations change it.  Everything that
 * the driver asks of flow and host goes to one trace, line by line, so a test shows a whole sync as
 * text:
 *
 *     observe main · plan main · hold a +f · report 1 · do main/a · done main/a ok · status a ·
 *     settled a
 *
 * Included by test_driver.c, test_driver_ask.c, test_driver_retreat.c, test_driver_room.c and
 * test_driver_undo.c only. */
#ifndef TRIMTAB_TESTS_UNIT_LB_DRIVER_FIXTURE_H
#define TRIMTAB_TESTS_UNIT_LB_DRIVER_FIXTURE_H

#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/driver.h"
#include "common/lb/exec.h"
#include "common/lb/service_rules.h"
#include "tests/support/clock_fake.h"
#include "tests/support/clock_mover.h"
#include "tests/support/http_ignore_sent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ITEMS_MAX   4
#define TROUBLE_MAX 8

/* The host's idea of a result. */
struct tt_result {
    char text[256]; /* "quota: …", "settled", or "" */
    char resource[128];
    int64_t retry_after_ms;
    uint32_t own;
    int serves;        /* how often the flow said that it serves */
    int32_t unwritten; /* the status cannot be written: this code */
};

/* "do main/a" fails with this code for the next `times` times. */
struct trouble {
    const char *where; /* a line of the trace */
    int code;
    int times;
    const char *culprit; /* key named by culprits(), or NULL */
};

struct fixture {
    struct arena *a;
    struct str_buf trace;
    /* the cloud and what goes wrong in it */
    struct str_buf cloud; /* ";main/a;fw/a;" */
    struct trouble trouble[TROUBLE_MAX];
    bool snapshot; /* observing reads a snapshot unless told to be fresh */
    bool stubborn; /* … and even then */
    bool with_finalizers;
    bool shared;           /* one operation for all items of a stage */
    const char *elsewhere; /* key that facts() finds to be another program's */
    const char *invalid;   /* key that plan() refuses */
    bool only_from_memory; /* … as long as it has not looked afresh */
    const char *settled;   /* key that facts() settles */
    const char *poison;    /* letter: shared operations that serve it are refused: reason unknown */
    bool replaces;         /* what is "old/…" in the cloud goes before its replacement comes */
    const char *retreats;  /* letters: "main/…" of these goes again if they fail; NULL: none */
    int proves;  /* … and whether it may be deleted, and the new one made; 2: by one chain */
    bool asks;   /* … and the cloud is asked before whether it may be made again */
    bool tidies; /* the second stage does nothing else, and another one follows */
    const char *leaves; /* letters: the second stage takes away by what clients reach these */
    bool moves;   /* what is "old/…" goes after its replacement has come, or makes room for it */
    bool awaits;  /* … and not before the status names that */
    size_t limit; /* of things in the cloud; 0: none */
    const char *stops_at; /* name of an operation during which the provider is closed */
    bool keeps_forbidden; /* operations tolerate FORBIDDEN */
    int64_t now_ms;       /* the host's clock */
    _Atomic int32_t call_cancelled;
    int hold_code;
    const char *hold_fails; /* key */
    bool fenced;            /* may_mutate says no */
    const char *url;        /* operations send a mutating request there first */
    size_t n_stages;
    uint32_t own;      /* what of every Service is the provider's; told once per Service */
    bool with_objects; /* the flow has Kubernetes objects */
    bool with_serves;  /* the flow says when an item serves */
    bool skips_main;   /* the first stage has nothing to do */
    int status;        /* HTTP status of what the cloud refuses; 0: none */
    bool forgets;      /* the flow does; each turn then says how much it found in its arena */
    const char *first; /* kept from the first stage for the second */
    /* the call */
    struct tt_host host;
    struct tt_call call;
    struct tt_batch batch;
    struct tt_item items[ITEMS_MAX];
    const struct tt_item *item_list[ITEMS_MAX];
    struct tt_service services[ITEMS_MAX];
    struct tt_result results[ITEMS_MAX];
    /* the machinery */
    struct clock *clock;
    struct rng *rng;
    struct http_pool *pool;
    struct cancel *cancel;
    struct call_watch *watch;
};

/* One line of the trace; returns the code of trouble that is due there. */
static int note(struct fixture *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *line = arena_vprintf(f->a, fmt, ap);
    va_end(ap);
    str_appendf(&f->trace, "%s%s", f->trace.len > 0 ? " · " : "", line);
    for (size_t i = 0; i < TROUBLE_MAX; i++) {
        struct trouble *t = &f->trouble[i];
        if (t->times > 0 && strcmp(t->where, line) == 0) {
            t->times--;
            return t->code;
        }
    }
    return ERR_OK;
}

static const char *short_key(const char *key)
{
    const char *slash = strchr(key, '/');
    return slash != NULL ? slash + 1 : key;
}

/* ---- the flow -------------------------------------------------------------------------------- */
static int flow_facts(struct lb_sync *s, struct err *err)
{
    struct fixture *f = s->provider;
    int code = note(f, "facts");
    for (size_t i = 0; i < s->n_items; i++) {
        if (f->elsewhere != NULL && strcmp(short_key(s->items[i].key), f->elsewhere) == 0) {
            err_set(&s->items[i].err, ERR_IMPLEMENTED_ELSEWHERE, "another controller's");
        }
        if (f->settled != NULL && strcmp(short_key(s->items[i].key), f->settled) == 0) {
            s->items[i].settled = true;
        }
    }
    return code != ERR_OK ? err_set(err, code, "facts say no") : ERR_OK;
}

static int stage_observe(struct lb_sync *s, const char *stage, struct err *err)
{
    struct fixture *f = s->provider;
    int code = note(f, "observe%s %s", s->fresh ? "!" : "", stage);
    s->observed_fresh = (s->fresh || !f->snapshot) && !f->stubborn;
    s->reads++;
    if (f->forgets) {
        (void)note(f, "found %zu", arena_used(s->a));
        (void)note(f, "takes %d", *(char *)arena_alloc(s->a, 100000));
        f->first = f->first != NULL ? f->first : arena_strdup(s->life, stage);
        (void)note(f, "first was %s", f->first);
    }
    return code != ERR_OK ? err_set(err, code, "the list of %s", stage) : ERR_OK;
}

struct change {
    struct fixture *f;
    const char *entry;
    bool removes;
};

static enum http_next change_step(struct lb_op_run *run, const struct http_response *resp)
{
    const struct change *c = run->op->arg;
    if (resp == NULL && c->f->url != NULL) {
        *run->req = (struct http_request){.method = "POST", .url = c->f->url, .mutates = true};
        return HTTP_SEND;
    }
    if (run->err->code != ERR_OK) {
        return HTTP_DONE;
    }
    int code = note(c->f, "do %s", run->op->name);
    if (c->f->stops_at != NULL && strcmp(c->f->stops_at, run->op->name) == 0) {
        cancel_fire(c->f->cancel);
        code = ERR_CANCELLED;
    }
    if (c->f->poison != NULL && strpbrk(strchr(run->op->name, '/'), c->f->poison) != NULL) {
        code = ERR_INVALID;
    }
    size_t n = 0;
    for (const char *at = str_buf_text(&c->f->cloud); (at = strchr(at, ';')) != NULL; at++) {
        n++; /* two for each thing */
    }
    if (c->f->asks && !c->removes && code == ERR_OK &&
        strstr(str_buf_text(&c->f->cloud), c->entry) != NULL) {
        code = ERR_EXISTS;
    }
    if (c->f->proves && c->removes && code == ERR_OK &&
        strstr(str_buf_text(&c->f->cloud), c->entry) == NULL) {
        code = ERR_NOT_FOUND;
    }
    if (c->f->limit > 0 && !c->removes && n / 2 >= c->f->limit) {
        code = ERR_QUOTA;
    }
    if (code != ERR_OK) {
        err_set(run->err, code, "the cloud says no");
        run->err->retry_after_ms = code == ERR_THROTTLED ? 7000 : 0;
        run->err->http_status = c->f->status;
        return HTTP_DONE;
    }
    if (c->removes) {
        char *left = str_replace(c->f->a, str_buf_text(&c->f->cloud), c->entry, "");
        str_buf_reset(&c->f->cloud);
        str_append(&c->f->cloud, left);
    } else {
        str_append(&c->f->cloud, c->entry);
    }
    return HTTP_DONE;
}

static const struct lb_op_type change_type = {.name = "change", .step = change_step};

/* A request under that name, to be refused for it. */
static const struct lb_undo *proof_of(struct fixture *f, const char *name, bool removes,
                                      const struct lb_undo *then)
{
    struct change *c = ARENA_NEW(f->a, struct change);
    struct lb_undo *u = ARENA_NEW(f->a, struct lb_undo);
    *c = (struct change){.f = f, .entry = arena_printf(f->a, ";%s;", name), .removes = removes};
    *u = (struct lb_undo){.then = then,
                          .verb = removes ? LB_DELETE : LB_CREATE,
                          .kind = "thing",
                          .name = name,
                          .type = &change_type,
                          .arg = c};
    return u;
}

/* "old/a" goes; it is put back unless "main/a" comes.  The undo outlives the turn (plan.h). */
static void plan_removal(struct fixture *f, struct lb_plan *plan, const char *key, const char *name)
{
    struct change *c = ARENA_ARRAY(f->a, struct change, 2);
    struct lb_undo *undo = ARENA_NEW(f->a, struct lb_undo);
    const char *old = arena_printf(f->a, "old/%s", short_key(key));
    c[0] = (struct change){.f = f, .entry = arena_printf(f->a, ";%s;", old), .removes = true};
    c[1] = (struct change){.f = f, .entry = c[0].entry};
    *undo = (struct lb_undo){.verb = LB_CREATE,
                             .kind = "thing",
                             .name = old,
                             .until_kind = "thing",
                             .until_name = name,
                             .type = &change_type,
                             .arg = &c[1]};
    if (strstr(str_buf_text(&f->cloud), c[0].entry) != NULL) {
        struct lb_op op = LB_OP(.verb = LB_DELETE, .kind = "thing", .name = old, .why = "it is old",
                                .tolerate = LB_TOLERATE_ABSENT, .type = &change_type, .arg = &c[0],
                                .undo = undo, .ask = f->asks ? undo : NULL);
        op.proves_all = f->proves == 2;
        op.proof = op.proves_all ? proof_of(f, "old/a", false, NULL) : NULL;
        op.proof = f->proves > 0 ? proof_of(f, "none/a", true, op.proof) : NULL;
        (void)lb_plan_add(plan, key, &op);
    }
}

static void plan_one(struct fixture *f, struct lb_plan *plan, const char *key, const char *name,
                     bool removes)
{
    struct change *c = ARENA_NEW(plan->a, struct change);
    *c = (struct change){.f = f, .entry = arena_printf(plan->a, ";%s;", name), .removes = removes};
    bool present = strstr(str_buf_text(&f->cloud), c->entry) != NULL;
    if (f->replaces && !present) {
        plan_removal(f, plan, key, name);
    }
    struct lb_op op = LB_OP(.verb = removes ? LB_DELETE : LB_CREATE, .kind = "thing", .name = name,
                            .why = "it is tested", .type = &change_type, .arg = c, .calls = 1,
                            .parallel = !f->replaces);
    op.asked = f->proves == 1 && !removes ? proof_of(f, "old/a", false, NULL) : NULL;
    if (f->keeps_forbidden) {
        op.tolerate = LB_TOLERATE_FORBIDDEN;
        op.forbidden_event = "do it by hand";
        op.forbidden_reason = "Forbidden";
    }
    if (present != removes) {
        op.verb = LB_KEEP;
    }
    if (op.verb != LB_KEEP || !removes) {
        (void)lb_plan_add(plan, key, &op);
    }
}

/* "main/a" comes and "old/a" goes, a wave each. */
static void plan_move(struct fixture *f, struct lb_plan *plan, const char *key)
{
    const char *names[] = {arena_printf(plan->a, "main/%s", short_key(key)),
                           arena_printf(plan->a, "old/%s", short_key(key))};
    struct change *c = ARENA_ARRAY(plan->a, struct change, 2);
    bool has[2];
    for (int i = 0; i < 2; i++) {
        c[i] = (struct change){
            .f = f, .entry = arena_printf(plan->a, ";%s;", names[i]), .removes = i == 1};
        has[i] = strstr(str_buf_text(&f->cloud), c[i].entry) != NULL;
    }
    bool first = !has[0] && has[1] && lb_plan_makes_room(plan, key, "thing");
    for (int round = 0; round < 2; round++) {
        int i = (round == 1) != first;
        struct lb_op op = LB_OP(.verb = i == 1 ? LB_DELETE : LB_CREATE, .kind = "thing",
                                .name = names[i], .why = "it moves", .type = &change_type,
                                .arg = &c[i], .calls = 1, .awaits_status = i == 1 && f->awaits);
        if (has[i] == (i == 1)) {
            (void)lb_plan_add(plan, key, &op);
        }
    }
}

/* One operation that serves all active items. */
static void plan_shared(struct fixture *f, struct lb_sync *s, struct lb_plan *plan,
                        const char *stage)
{
    const char *owners[ITEMS_MAX];
    size_t n = 0;
    const char *name = arena_printf(plan->a, "%s/", stage);
    for (size_t i = 0; i < s->n_items; i++) {
        const char *done = arena_printf(plan->a, "+%s+", short_key(s->items[i].key));
        if (lb_item_is_active(&s->items[i]) && strstr(str_buf_text(&f->cloud), done) == NULL) {
            owners[n++] = s->items[i].key;
            name = arena_printf(plan->a, "%s%s", name, short_key(s->items[i].key));
        }
    }
    if (n == 0) {
        return;
    }
    struct change *c = ARENA_NEW(plan->a, struct change);
    *c = (struct change){.f = f, .entry = arena_printf(plan->a, ";%s;", name)};
    for (size_t i = 0; f->poison != NULL && i < n; i++) {
        c->entry = arena_printf(plan->a, "%s+%s+", c->entry, short_key(owners[i]));
    }
    struct lb_op op = LB_OP(.verb = LB_CHANGE, .kind = "thing", .name = name, .why = "shared",
                            .type = &change_type, .arg = c, .shared = true, .calls = 1,
                            .owners = str_set_make(plan->a, owners, n));
    (void)lb_plan_add(plan, NULL, &op);
}

static int stage_plan(struct lb_sync *s, const char *stage, struct lb_plan *plan, struct err *err)
{
    struct fixture *f = s->provider;
    int code = note(f, "plan %s", stage);
    if (f->shared) {
        plan_shared(f, s, plan, stage);
        return code;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        if (!lb_item_is_active(item)) {
            continue;
        }
        if (f->invalid != NULL && strcmp(short_key(item->key), f->invalid) == 0 &&
            !(f->only_from_memory && s->fresh)) {
            err_set(&item->err, ERR_INVALID, "no such tier");
            continue;
        }
        if (f->moves) {
            plan_move(f, plan, item->key);
            continue;
        }
        plan_one(f, plan, item->key, arena_printf(plan->a, "%s/%s", stage, short_key(item->key)),
                 item->in->verb == TT_VERB_DELETE);
    }
    return code != ERR_OK ? err_set(err, code, "the planner says no") : ERR_OK;
}

static int main_observe(struct lb_sync *s, struct err *err)
{
    return stage_observe(s, "main", err);
}

static int main_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    return stage_plan(s, "main", plan, err);
}

static int second_observe(struct lb_sync *s, struct err *err)
{
    return stage_observe(s, "second", err);
}

static int second_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    return stage_plan(s, "second", plan, err);
}

static bool main_needed(const struct lb_sync *s)
{
    const struct fixture *f = s->provider;
    return !f->skips_main;
}

static int last_observe(struct lb_sync *s, struct err *err)
{
    return stage_observe(s, "last", err);
}

static int last_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct fixture *f = s->provider;
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        if (s->items[i].retreats && lb_item_is_active(&s->items[i])) {
            plan_one(f, plan, s->items[i].key,
                     arena_printf(plan->a, "main/%s", short_key(s->items[i].key)), true);
        }
    }
    return note(f, "plan last");
}

static bool flow_retreats(struct lb_sync *s, struct lb_item *item)
{
    const struct fixture *f = s->provider;
    return strpbrk(short_key(item->key), f->retreats) != NULL;
}

static void flow_ended(struct lb_sync *s, struct lb_item *item, bool done)
{
    (void)note(s->provider, "%s ended %s", short_key(item->key), done ? "well" : "badly");
}

static const struct lb_stage last_stage = {
    .name = "last", .observe = last_observe, .plan = last_plan};

static const struct lb_stage stages[] = {
    {.name = "main", .needed = main_needed, .observe = main_observe, .plan = main_plan},
    {.name = "second", .observe = second_observe, .plan = second_plan}};

static const struct lb_stage tidying_stages[] = {
    {.name = "main", .observe = main_observe, .plan = main_plan},
    {.name = "second", .observe = second_observe, .plan = second_plan, .tidies = true},
    {.name = "last", .observe = last_observe, .plan = last_plan, .tidies = true}};

static bool second_leaves(struct lb_sync *s, struct lb_item *item)
{
    struct fixture *f = s->provider;
    bool leaves = strchr(f->leaves, short_key(item->key)[0]) != NULL;
    if (leaves) {
        (void)note(f, "served elsewhere %s", short_key(item->key));
    }
    return leaves;
}

static const struct lb_stage leaving_stages[] = {
    {.name = "main", .observe = main_observe, .plan = main_plan},
    {.name = "second", .observe = second_observe, .plan = second_plan, .leaves = second_leaves},
    {.name = "last", .observe = last_observe, .plan = last_plan}};

static size_t flow_finalizers(const struct lb_sync *s, const struct lb_item *item,
                              const char *const **ret_names)
{
    static const char *const names[] = {"f"};
    const struct fixture *f = s->provider;
    (void)item;
    *ret_names = names;
    return f->with_finalizers ? 1 : 0;
}

static void flow_status(struct lb_sync *s, struct lb_item *item)
{
    (void)note(s->provider, "status %s", short_key(item->key));
}

static void flow_serves(struct lb_sync *s, struct lb_item *item)
{
    (void)note(s->provider, "serves %s", short_key(item->key));
}

static uint32_t flow_own(const struct lb_sync *s, const struct lb_item *item)
{
    (void)item;
    return ((const struct fixture *)s->provider)->own;
}

static int flow_objects(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    int code = note(s->provider, "objects %s", short_key(item->key));
    return code != ERR_OK ? err_set(err, code, "the API server says no") : ERR_OK;
}

static struct str_set flow_culprits(const struct lb_sync *s, const struct lb_op *op,
                                    const struct err *err)
{
    struct fixture *f = s->provider;
    (void)err;
    for (size_t i = 0; i < TROUBLE_MAX; i++) {
        const struct trouble *t = &f->trouble[i];
        if (t->culprit != NULL && strcmp(t->where + strlen("do "), op->name) == 0) {
            return str_set_make(s->a, &t->culprit, 1);
        }
    }
    return f->poison != NULL ? (struct str_set){0} : op->owners;
}

/* ---- the host -------------------------------------------------------------------------------- */
static struct fixture *of(struct tt_host_ctx *ctx)
{
    return (struct fixture *)ctx;
}

static int32_t host_hold(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_item *item, const char *const *names, uint32_t n)
{
    struct fixture *f = of(ctx);
    (void)call;
    (void)note(f, "hold %s%s%s", item->service->name, n > 0 ? " +" : "", n > 0 ? names[0] : "");
    bool fails = f->hold_fails != NULL && strcmp(f->hold_fails, item->service->name) == 0;
    return fails ? f->hold_code : TT_OK;
}

static void host_report_plan(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_plan *plan)
{
    struct fixture *f = of(ctx);
    (void)call;
    uint32_t changes = 0;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        changes += plan->operations[i]->verb != TT_OP_KEEP;
    }
    (void)note(f, "report %u", changes);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        if (plan->services[i]->code != TT_OK) {
            (void)note(f, "unplanned %s", short_key(plan->services[i]->key));
        }
    }
}

static void host_report_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
                                  const struct tt_operation *op, int32_t code, const char *message,
                                  int64_t took_ms)
{
    (void)call;
    (void)message;
    (void)took_ms;
    (void)note(of(ctx), "done %s %s", op->name, err_code_name(code));
}

static void host_event(struct tt_host_ctx *ctx, const struct tt_service *service, uint32_t type,
                       const char *reason, const char *message)
{
    (void)type;
    (void)note(of(ctx), "event %s %s: %s", service->name, reason, message);
}

static int64_t host_now_ms(struct tt_host_ctx *ctx)
{
    return of(ctx)->now_ms;
}

static int32_t host_may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    (void)call;
    return !of(ctx)->fenced;
}

static void host_result_fail(struct tt_result *r, int32_t code, const char *message,
                             int64_t retry_after_ms)
{
    (void)snprintf(r->text, sizeof r->text, "%s: %s", err_code_name(code), message);
    r->retry_after_ms = retry_after_ms;
}

static void host_result_done(struct tt_result *r)
{
    (void)snprintf(r->text, sizeof r->text, "settled");
}

static void host_result_resource(struct tt_result *r, const char *kind, const char *name)
{
    (void)snprintf(r->resource, sizeof r->resource, "%s %s", kind, name);
}

static void host_result_own(struct tt_result *r, uint32_t bits)
{
    r->own = bits;
}

static void host_result_serves(struct tt_result *r)
{
    r->serves++;
}

static int32_t host_result_publish(struct tt_result *r)
{
    r->serves++;
    return r->unwritten;
}

static int32_t call_cancelled(const struct tt_call *call)
{
    return atomic_load(&CONTAINER_OF(call, struct fixture, call)->call_cancelled);
}

/* ---- a test's frame -------------------------------------------------------------------------- */
/* Services "n/a", "n/b" …, one per letter of `verbs`: E ensure, U update, D delete. */
static struct fixture *fixture_new(struct arena *a, const char *verbs)
{
    static const char *const cleanup[] = {LB_CLEANUP_FINALIZER, "f"};
    struct fixture *f = ARENA_NEW(a, struct fixture);
    f->a = a;
    f->n_stages = 1;
    f->clock = clock_fake_new(1000, 0);
    f->rng = rng_seeded_new(7);
    f->pool = http_pool_new(
        &(struct http_config){.observe = http_ignore_sent, .proxy_url = "", .clock = f->clock});
    f->cancel = cancel_new(NULL);
    f->watch = call_watch_new();
    f->host = (struct tt_host){.size = sizeof f->host,
                               .ctx = (struct tt_host_ctx *)f,
                               .event = host_event,
                               .now_ms = host_now_ms,
                               .may_mutate = host_may_mutate,
                               .hold_finalizers = host_hold,
                               .report_plan = host_report_plan,
                               .report_operation = host_report_operation,
                               .result_fail = host_result_fail,
                               .result_done = host_result_done,
                               .result_resource = host_result_resource,
                               .result_own = host_result_own,
                               .result_serves = host_result_serves,
                               .result_publish = host_result_publish};
    f->call = (struct tt_call){.size = sizeof f->call, .cancelled = call_cancelled};
    f->batch = (struct tt_batch){.size = sizeof f->batch, .key = "", .items = f->item_list};
    for (size_t i = 0; verbs[i] != '\0'; i++) {
        f->services[i] = (struct tt_service){.size = sizeof f->services[i],
                                             .ns = "n",
                                             .name = arena_printf(a, "%c", (char)('a' + i)),
                                             .type = "LoadBalancer",
                                             .finalizers = cleanup,
                                             .n_finalizers = 2};
        f->items[i] = (struct tt_item){.size = sizeof f->items[i],
                                       .verb = verbs[i] == 'E'   ? TT_VERB_ENSURE
                                               : verbs[i] == 'U' ? TT_VERB_UPDATE
                                                                 : TT_VERB_DELETE,
                                       .service = &f->services[i],
                                       .result = &f->results[i]};
        f->item_list[i] = &f->items[i];
        f->batch.n_items++;
    }
    return f;
}

static void fixture_done(struct fixture *f)
{
    call_watch_free(f->watch);
    cancel_free(f->cancel);
    http_pool_free(f->pool);
    rng_free(f->rng);
    clock_fake_free(f->clock);
    str_buf_done(&f->trace);
    str_buf_done(&f->cloud);
}

static int32_t fixture_drive(struct fixture *f, bool planning)
{
    const struct lb_retreat retreat = {&last_stage, 1, flow_retreats, flow_ended};
    const struct lb_flow flow = {.name = "fake",
                                 .facts = flow_facts,
                                 .stages = f->leaves != NULL ? leaving_stages
                                           : f->tidies       ? tidying_stages
                                                             : stages,
                                 .n_stages = f->n_stages,
                                 .retreats = &retreat,
                                 .n_retreats = f->retreats != NULL ? 1 : 0,
                                 .forgets = f->forgets,
                                 .finalizers = flow_finalizers,
                                 .own = f->own != 0 ? flow_own : NULL,
                                 .complete = f->with_objects ? flow_objects : NULL,
                                 .serves = f->with_serves ? flow_serves : NULL,
                                 .status = flow_status,
                                 .culprits = flow_culprits};
    const struct lb_driver_config cfg = {.flow = &flow,
                                         .provider = f,
                                         .host = &f->host,
                                         .http = f->pool,
                                         .clock = f->clock,
                                         .rng = f->rng,
                                         .cancel = f->cancel,
                                         .watch = f->watch};
    return planning ? lb_driver_plan(&cfg, &f->call, &f->batch)
                    : lb_driver_reconcile(&cfg, &f->call, &f->batch);
}

/* ---- time ------------------------------------------------------------------------------------ */
/* `*ret_naps`: how often the driver waited for the clock. */
static int32_t drive_with_moving_clock(struct fixture *f, int *ret_naps)
{
    struct clock_mover *m = clock_mover_start(f->clock);
    int32_t code = fixture_drive(f, false);
    *ret_naps = clock_mover_stop(m);
    return code;
}

#define assert_trace(f, want)  assert_string_equal(str_buf_text(&(f)->trace), (want))
#define assert_code(got, want) assert_string_equal(err_code_name(got), err_code_name(want))

#endif
