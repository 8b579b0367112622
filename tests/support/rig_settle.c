/* SPDX-License-Identifier: Apache-2.0 */
/* rig_settle.c: waiting until the controller has started or come to rest, without sleeping (rig.h).
 *
 * Rest means, all at once and twice in a row: nothing is being processed or due, the controller's
 * stores hold the versions that the API server has, and no call arrives at the simulator.  While
 * that is not so, either something moves (then it is left alone), or a thread waits for time to
 * pass: then, and for keys that are due soon, the fake clock is advanced to the earliest awaited
 * moment.  Silence alone does not prove that all wait: on a busy machine a thread may be runnable
 * (asleep.h), and advancing the clock then would skip the tested moment. */
#include "tests/support/rig_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "controller/process/app_internal.h"
#include "tests/support/asleep.h"
#include "tests/support/clock_fake.h"
#include "tests/support/sim_hook.h"

#define PATIENCE_MS 200000 /* real time, for the whole of it; it bounds a hang only */
#define STILL_MS    40     /* real time without a call: a sleeping worker waits for the clock */
#define LOOK_MS     1      /* between two looks */

/* A waiter may be cancelled. */
struct caller {
    bool (*over)(void *arg); /* NULL: never */
    void *arg;
    struct mutex m;
    struct cond never;
};

struct look {
    bool idle;
    bool in_step;  /* stores and API server agree; looked at only if idle */
    int64_t calls; /* that the simulator has seen */
};

static void print_store(struct kube_store *s, struct str_buf *text)
{
    struct kube_snapshot *all = kube_store_snapshot(s);
    for (size_t i = 0; i < all->n; i++) {
        str_appendf(text, "%s %s\n", all->objects[i]->key, all->objects[i]->resource_version);
    }
    kube_snapshot_unref(all);
}

/* Cheap while the controller works: a settling test looks every millisecond. */
static struct look look_at(struct rig *r)
{
    _cleanup_(str_buf_done) struct str_buf there = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf here = STR_BUF_INIT;
    struct look l = {.calls = sim_calls_total(r->sim), .idle = app_is_idle(r->app)};
    if (!l.idle) {
        return l;
    }
    rig_versions(r, r->app->slices != NULL, &there);
    print_store(r->app->services, &here);
    print_store(r->app->nodes, &here);
    if (r->app->slices != NULL) {
        print_store(r->app->slices, &here);
    }
    l.in_step = str_eq(str_buf_text(&there), str_buf_text(&here));
    l.idle = app_is_idle(r->app);
    return l;
}

static bool same(const struct look *a, const struct look *b)
{
    return a->idle == b->idle && a->in_step == b->in_step && a->calls == b->calls;
}

/* Until something may have changed. */
static void wait_a_little(struct caller *c)
{
    mutex_lock(&c->m);
    clock_wait(clock_real(), &c->never, &c->m, clock_now_ms(clock_real()) + LOOK_MS);
    mutex_unlock(&c->m);
}

static bool is_over(struct caller *c)
{
    return c->over != NULL && c->over(c->arg);
}

static void caller_init(struct caller *c, bool (*over)(void *arg), void *arg)
{
    *c = (struct caller){.over = over, .arg = arg};
    mutex_init(&c->m);
    cond_init(&c->never);
}

static void caller_done(struct caller *c)
{
    cond_done(&c->never);
    mutex_done(&c->m);
}

static void move_clock(struct rig *r, int64_t to_ms)
{
    int64_t now_ms = clock_now_ms(r->fake);
    clock_fake_advance(r->fake, to_ms > now_ms ? to_ms - now_ms : 0);
}

/* The moment to which the clock may be moved now; CLOCK_NEVER: it may not. */
static int64_t next_moment(struct rig *r, const struct look *l, bool still, int64_t until_ms)
{
    if (r->fake == NULL) {
        return CLOCK_NEVER;
    }
    if (l->idle && l->in_step) {
        int64_t due = app_next_due_ms(r->app);
        return due <= until_ms ? due : CLOCK_NEVER;
    }
    return still ? clock_fake_next_ms(r->fake) : CLOCK_NEVER;
}

static bool is_at_rest(struct rig *r, const struct look *l, int64_t until_ms)
{
    return l->idle && l->in_step && (r->fake != NULL || app_next_due_ms(r->app) > until_ms);
}

/* Nothing has happened since `moved_ms`, for want of time that passes.  A thread that is awake gets
 * the same time again. */
static bool is_still(int64_t now_ms, int64_t *moved_ms)
{
    if (now_ms - *moved_ms < STILL_MS) {
        return false;
    }
    bool still = others_sleep();
    *moved_ms = still ? *moved_ms : now_ms;
    return still;
}

static bool settle(struct rig *r, int64_t ahead_ms, struct caller *c)
{
    int64_t until_ms = clock_now_ms(rig_clock(r)) + ahead_ms;
    int64_t give_up_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    int64_t moved_ms = clock_now_ms(clock_real());
    struct look last = {0};
    for (;;) {
        struct look l = look_at(r);
        int64_t now = clock_now_ms(clock_real());
        bool steady = same(&l, &last);
        last = l;
        if (!steady) {
            moved_ms = now;
        } else if (r->kill_fault[1] != 0 && rig_is_dead(r)) {
            return true; /* nothing moves any more */
        } else {
            int64_t to = next_moment(r, &l, is_still(now, &moved_ms), until_ms);
            if (to != CLOCK_NEVER) {
                move_clock(r, to);
                moved_ms = now;
                last = (struct look){0};
            } else if (is_at_rest(r, &l, until_ms)) {
                return true;
            }
        }
        if (now >= give_up_ms || is_over(c)) {
            return false;
        }
        wait_a_little(c);
    }
}

bool rig_settle_unless(struct rig *r, int64_t ahead_ms, bool (*over)(void *arg), void *arg)
{
    struct caller c;
    caller_init(&c, over, arg);
    bool rest = r->app != NULL && settle(r, ahead_ms, &c);
    caller_done(&c);
    return rest;
}

bool rig_settle(struct rig *r, int64_t ahead_ms)
{
    return rig_settle_unless(r, ahead_ms, NULL, NULL);
}

/* ---- starting -------------------------------------------------------------------------------- */

struct start {
    struct app *app;
    struct err err;
    int code;
    atomic_bool done;
};

static void *run_start(void *arg)
{
    struct start *s = arg;
    s->code = app_start(s->app, &s->err);
    atomic_store(&s->done, true);
    return NULL;
}

/* Moves the clock while the start waits for it. */
static void attend(struct rig *r, struct start *s, struct caller *c)
{
    int64_t moved_ms = clock_now_ms(clock_real());
    int64_t calls = 0;
    while (!atomic_load(&s->done)) {
        int64_t now = clock_now_ms(clock_real());
        int64_t calls_now = sim_calls_total(r->sim);
        if (calls_now != calls) {
            calls = calls_now;
            moved_ms = now;
        } else if (r->fake != NULL && is_still(now, &moved_ms)) {
            int64_t to = clock_fake_next_ms(r->fake);
            move_clock(r, to == CLOCK_NEVER ? 0 : to);
            moved_ms = now;
        }
        if (is_over(c)) {
            app_request_stop(r->app);
        }
        wait_a_little(c);
    }
}

int rig_start_unless(struct rig *r, bool (*over)(void *arg), void *arg, struct err *err)
{
    struct caller c;
    pthread_t thread;
    int rc = rig_prepare(r, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct start s = {.app = r->app};
    if (pthread_create(&thread, NULL, run_start, &s) != 0) {
        abort(); /* a test without threads is none */
    }
    caller_init(&c, over, arg);
    attend(r, &s, &c);
    pthread_join(thread, NULL);
    caller_done(&c);
    if (s.code != ERR_OK) {
        (void)rig_stop(r); /* *err says what went wrong before */
        return err_copy(err, &s.err);
    }
    return ERR_OK;
}
