/* SPDX-License-Identifier: Apache-2.0 */
/* leases.c: processes that compete for leases of one API server
 * (controller/kube/lease/lease_keeper.h).
 *
 * The server is the simulator's; the candidates' clock is a fake one that the test advances to the
 * next awaited moment.  Whatever happens, two may never act at once: that is asked after every
 * move. */
#include "controller/kube/lease/lease_keeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/host/fence.h"
#include "tests/support/asleep.h"
#include "tests/support/clock_fake.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/rig.h"
#include "tests/support/unit.h"

#define LEASES      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
#define L4_LOCK     "l4-lb-controller-gce-lock"
#define NEG_LOCK    "ingress-gce-neg-lock"
#define PATIENCE_MS 180000 /* real time, for one thing to happen; it bounds a hang only */
#define STILL_LOOKS                                                                                \
    50 /* a millisecond apart: a client that waits by other means than clock_wait() */

static const char *const l4_only[] = {L4_LOCK};
static const char *const both[] = {L4_LOCK, NEG_LOCK};
static const char *const both_backwards[] = {NEG_LOCK, L4_LOCK};

/* One process that wants to write. */
struct candidate {
    const char *name;
    struct lease_keeper *keeper;
    struct fence fence;
    atomic_int held, lost, changes;
    size_t n_locks;
    atomic_size_t taken, given_up; /* locks, by on_change */
    bool left;
};

struct world {
    struct rig *rig;
    struct clock *clock;
    struct rng *rng;
    struct kube_config config;
    struct kube_client *client;
    struct candidate all[3];
    size_t n;
    struct mutex mutex;
    struct cond never;
};

static void on_change(void *arg, const struct lease_change *change)
{
    struct candidate *c = arg;
    assert_true(!change->held || *change->uid != '\0');
    atomic_fetch_add(&c->changes, 1);
    atomic_fetch_add(change->held ? &c->taken : &c->given_up, 1);
}

static void on_held(void *arg)
{
    atomic_fetch_add(&((struct candidate *)arg)->held, 1);
}

static void on_lost(void *arg, const char *name, const struct err *why)
{
    struct candidate *c = arg;
    (void)name;
    (void)why;
    fence_close(&c->fence);
    atomic_fetch_add(&c->lost, 1);
}

static void world_start(struct world *w)
{
    struct err err = ERR_INIT;
    *w = (struct world){.rng = rng_seeded_new(11)};
    if (rig_new(&(struct rig_args){0}, &w->rig, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    w->clock = rig_clock(w->rig);
    w->config = (struct kube_config){.server = (char *)rig_url(w->rig),
                                     .context = "sim",
                                     .source = "test",
                                     .ns = "default",
                                     .user = "u",
                                     .proxy_url = ""};
    w->client = kube_client_new(&(struct kube_client_args){.observe = kube_ignore_sent,
                                                           .config = &w->config,
                                                           .user_agent = "leases",
                                                           .qps = -1,
                                                           .clock = w->clock});
    mutex_init(&w->mutex);
    cond_init(&w->never);
}

static struct candidate *join_with(struct world *w, const char *name, const char *const *locks,
                                   size_t n, const char *watch_agent)
{
    struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX];
    struct err err = ERR_INIT;
    struct candidate *c = &w->all[w->n++];
    c->name = name;
    c->n_locks = n;
    for (size_t i = 0; i < n; i++) {
        terms[i] = (struct lease_terms){.ns = "kube-system",
                                        .name = locks[i],
                                        .identity = name,
                                        .duration_ms = 15000,
                                        .renew_deadline_ms = 10000,
                                        .retry_ms = 2000};
    }
    c->keeper = lease_keeper_new(&(struct lease_keeper_args){.locks = terms,
                                                             .n_locks = n,
                                                             .client = w->client,
                                                             .watch_agent = watch_agent,
                                                             .clock = w->clock,
                                                             .rng = w->rng,
                                                             .on_change = on_change,
                                                             .on_held = on_held,
                                                             .on_lost = on_lost,
                                                             .arg = c});
    fence_add_guard(&c->fence, lease_keeper_may_mutate, c->keeper);
    if (lease_keeper_start(c->keeper, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return c;
}

static struct candidate *join(struct world *w, const char *name, const char *const *locks, size_t n)
{
    return join_with(w, name, locks, n, NULL);
}

static void leave(struct candidate *c, int64_t release_ms)
{
    c->left = true;
    lease_keeper_stop(c->keeper, release_ms);
    assert_false(fence_may_mutate(&c->fence));
}

static void world_stop(struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        lease_keeper_stop(w->all[i].keeper, 0);
        lease_keeper_free(w->all[i].keeper);
    }
    kube_client_free(w->client);
    rng_free(w->rng);
    cond_done(&w->never);
    mutex_done(&w->mutex);
    rig_free(w->rig);
}

/* --- time ------------------------------------------------------------------------------------- */

/* The process that may write; NULL: none.  Never two.  Asked twice, because the first answer may be
 * old when the second comes:  only who may before and after is counted. */
static struct candidate *writer(struct world *w)
{
    struct candidate *found = NULL;
    for (size_t i = 0; i < w->n; i++) {
        if (!fence_may_mutate(&w->all[i].fence)) {
            continue;
        }
        if (found != NULL && fence_may_mutate(&found->fence)) {
            fail_msg("%s and %s may write at once", found->name, w->all[i].name);
        }
        found = &w->all[i];
    }
    return found;
}

/* A moment of real time for working threads. */
static void breathe(struct world *w)
{
    mutex_lock(&w->mutex);
    clock_wait(clock_real(), &w->never, &w->mutex, clock_now_ms(clock_real()) + 1);
    mutex_unlock(&w->mutex);
}

/* Every thread of a keeper waits for its next try: those of the locks that are kept, and of the one
 * that is to be taken next.  One that was lost ends, after it has told so. */
static bool all_wait(struct world *w)
{
    size_t threads = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct candidate *c = &w->all[i];
        size_t begun = atomic_load(&c->taken) + 1;
        size_t ended = atomic_load(&c->given_up);
        if (c->left) {
            continue;
        }
        if (ended > 0 && atomic_load(&c->lost) == 0) {
            return false;
        }
        threads += (begun < c->n_locks ? begun : c->n_locks) - ended;
    }
    return clock_fake_waiting(w->clock) == threads;
}

/* Runs until all threads wait for the clock; returns the next moment.  A request that is repeated
 * after a pause waits inside the client: then, until nothing was sent for a while, in which no
 * thread had work. */
static int64_t next_moment(struct world *w)
{
    int64_t give_up_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    int64_t next_ms = clock_fake_next_ms(w->clock);
    int64_t calls = -1;
    bool asleep = others_sleep();
    for (int still = 0; still < STILL_LOOKS && !(asleep && all_wait(w)); still++) {
        int64_t calls_now = rig_calls(w->rig, "kubernetes", "leases.*");
        int64_t next_now_ms = clock_fake_next_ms(w->clock);
        if (calls_now != calls || next_now_ms != next_ms || next_now_ms == CLOCK_NEVER || !asleep) {
            still = 0;
        }
        calls = calls_now;
        next_ms = next_now_ms;
        if (clock_now_ms(clock_real()) > give_up_ms) {
            fail_msg("nothing happens any more");
        }
        (void)writer(w);
        breathe(w);
        asleep = others_sleep();
    }
    (void)writer(w);
    return clock_fake_next_ms(w->clock);
}

/* Until `done`; moves the fake clock to what is waited for, but not past `until_ms`.
 * False: that came first. */
static bool run_until(struct world *w, bool (*done)(struct world *w, void *arg), void *arg,
                      int64_t until_ms)
{
    while (!done(w, arg)) {
        int64_t next_ms = next_moment(w);
        if (done(w, arg)) {
            break;
        }
        int64_t now_ms = clock_now_ms(w->clock);
        if (now_ms >= until_ms) {
            return false;
        }
        next_ms = next_ms < until_ms ? next_ms : until_ms;
        clock_fake_advance(w->clock, next_ms > now_ms ? next_ms - now_ms : 0);
    }
    return true;
}

static bool may_write(struct world *w, void *arg)
{
    (void)w;
    return fence_may_mutate(&((struct candidate *)arg)->fence);
}

static bool has_lost(struct world *w, void *arg)
{
    (void)w;
    return atomic_load(&((struct candidate *)arg)->lost) > 0;
}

static bool never(struct world *w, void *arg)
{
    (void)w;
    (void)arg;
    return false;
}

static void run_for(struct world *w, int64_t ms)
{
    (void)run_until(w, never, NULL, clock_now_ms(w->clock) + ms);
}

/* How long it took until this one may write; fails when that is longer. */
static int64_t wait_for(struct world *w, struct candidate *c, int64_t at_most_ms)
{
    int64_t began_ms = clock_now_ms(w->clock);
    if (!run_until(w, may_write, c, began_ms + at_most_ms)) {
        fail_msg("%s may not write after %lld ms", c->name, (long long)at_most_ms);
    }
    return clock_now_ms(w->clock) - began_ms;
}

static const char *holder(struct world *w, const char *lock)
{
    struct json_object *o = rig_get(w->rig, arena_printf(rig_arena(w->rig), "%s%s", LEASES, lock));
    return str_nonnull(json_str(json_member(o, "spec"), "holderIdentity"));
}

/* --- the tests -------------------------------------------------------------------------------- */

static void leases__two_candidates__one_writes_and_stays(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    struct candidate *b = join(&w, "b", l4_only, 1);
    run_for(&w, 120000);
    assert_ptr_equal(writer(&w), a);
    assert_int_equal(atomic_load(&b->held), 0);
    assert_int_equal(atomic_load(&a->held), 1);
    assert_int_equal(atomic_load(&a->lost), 0);
    assert_string_equal(holder(&w, L4_LOCK), "a");
    world_stop(&w);
}

static void leases__holder_lets_go__the_next_one_need_not_wait_for_the_lease(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", both, 2);
    (void)wait_for(&w, a, 1000);
    struct candidate *b = join(&w, "b", both, 2);
    run_for(&w, 30000);
    leave(a, 1000);
    assert_int_equal(atomic_load(&a->changes), 4); /* two taken, two given back */
    int64_t took_ms = wait_for(&w, b, 15000);
    assert_in_range(took_ms, 0, 4400); /* one pause between tries */
    assert_string_equal(holder(&w, L4_LOCK), "b");
    assert_string_equal(holder(&w, NEG_LOCK), "b");
    world_stop(&w);
}

/* No time passes: a watching candidate does not wait for its next poll. */
static void leases__holder_lets_go__who_watches_has_it_at_once(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    struct candidate *b = join_with(&w, "b", l4_only, 1, "leases");
    int64_t give_up_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    while (rig_calls(w.rig, "kubernetes", "leases.watch") == 0) {
        assert_true(clock_now_ms(clock_real()) < give_up_ms);
        breathe(&w);
    }
    int64_t before_ms = clock_now_ms(w.clock);
    leave(a, 1000);
    while (!may_write(&w, b)) {
        assert_true(clock_now_ms(clock_real()) < give_up_ms);
        breathe(&w);
    }
    assert_int_equal(clock_now_ms(w.clock), before_ms);
    assert_string_equal(holder(&w, L4_LOCK), "b");
    world_stop(&w);
}

static void leases__holder_dies__taken_when_the_lease_has_run_out(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    struct candidate *b = join(&w, "b", l4_only, 1);
    run_for(&w, 30000);
    leave(a, 0); /* sends nothing */
    int64_t took_ms = wait_for(&w, b, 60000);
    /* b saw the last renewal up to a pause before a died or up to one after it, and looks again
     * after another. */
    assert_in_range(took_ms, 15000 - 4400, 15000 + 2 * 4400);
    world_stop(&w);
}

/* A holder that cannot renew has stopped before another may begin, and starts no more by itself. */
static void leases__holder_cut_off__stops_before_the_other_begins(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    int64_t fault = 0;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    assert_int_equal(rig_fault(w.rig,
                               "{\"match\":{\"op\":\"leases.update\"},\"do\":\"refuse\","
                               "\"status\":500,\"count\":0}",
                               &fault, &err),
                     ERR_OK);
    struct candidate *b = join(&w, "b", l4_only, 1);
    assert_true(run_until(&w, has_lost, a, clock_now_ms(w.clock) + 15000));
    assert_false(fence_may_mutate(&a->fence));
    rig_fault_remove(w.rig, fault);
    (void)wait_for(&w, b, 60000);
    run_for(&w, 60000);
    assert_ptr_equal(writer(&w), b);
    assert_int_equal(atomic_load(&a->lost), 1);
    world_stop(&w);
}

/* Renewals whose answers are lost are renewals all the same: no other candidate takes the lease in
 * between. */
static void leases__answers_lost__the_holder_stays(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    int64_t fault = 0;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    struct candidate *b = join(&w, "b", l4_only, 1);
    assert_int_equal(rig_fault(w.rig,
                               "{\"match\":{\"op\":\"leases.update\"},\"do\":\"lose\","
                               "\"from\":2,\"count\":3}",
                               &fault, &err),
                     ERR_OK);
    run_for(&w, 60000);
    assert_ptr_equal(writer(&w), a);
    assert_int_equal(atomic_load(&b->held), 0);
    world_stop(&w);
}

/* Another holder's name in the lease, written past all rules: the holder stops as soon as
 * it sees it. */
static void leases__taken_away__lost_at_the_next_renewal(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", both, 2);
    (void)wait_for(&w, a, 1000);
    assert_int_equal(rig_kube(w.rig, "PATCH", LEASES NEG_LOCK,
                              "{\"spec\":{\"holderIdentity\":\"ingress-gce\"}}", NULL),
                     200);
    assert_true(run_until(&w, has_lost, a, clock_now_ms(w.clock) + 4000));
    assert_null(writer(&w));
    leave(a, 1000);
    assert_string_equal(holder(&w, NEG_LOCK), "ingress-gce");
    assert_string_equal(holder(&w, L4_LOCK), "");
    world_stop(&w);
}

/* Two that want the same locks in another order, all at once: one gets both. */
static void leases__several_locks__never_one_each(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", both, 2);
    struct candidate *b = join(&w, "b", both_backwards, 2);
    run_for(&w, 30000);
    struct candidate *first = writer(&w);
    assert_non_null(first);
    assert_string_equal(holder(&w, L4_LOCK), first->name);
    assert_string_equal(holder(&w, NEG_LOCK), first->name);
    leave(first, 1000);
    (void)wait_for(&w, first == a ? b : a, 15000);
    world_stop(&w);
}

static void leases__terms_that_do_not_fit__nothing_runs(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    (void)state;
    world_start(&w);
    struct lease_terms twice[2] = {{.ns = "kube-system",
                                    .name = L4_LOCK,
                                    .identity = "a",
                                    .duration_ms = 15000,
                                    .renew_deadline_ms = 10000,
                                    .retry_ms = 2000}};
    twice[1] = twice[0];
    struct lease_keeper *k = lease_keeper_new(&(struct lease_keeper_args){
        .locks = twice, .n_locks = 2, .client = w.client, .clock = w.clock, .rng = w.rng});
    assert_int_equal(lease_keeper_start(k, &err), ERR_INVALID);
    assert_string_equal(err.message, "the lock kube-system/" L4_LOCK " is asked for twice");
    assert_false(lease_keeper_may_mutate(k));
    lease_keeper_free(k);
    assert_int_equal(rig_calls(w.rig, "kubernetes", "leases.*"), 0);
    world_stop(&w);
}

/* Requests of an idle leader, beside its watches (at_rest.c). */
static void leases__an_hour_at_rest__one_update_each_retry_period(void **state)
{
    struct world w;
    (void)state;
    world_start(&w);
    struct candidate *a = join(&w, "a", l4_only, 1);
    (void)wait_for(&w, a, 1000);
    rig_counts_reset(w.rig);
    run_for(&w, (int64_t)3600 * 1000);
    assert_int_equal(rig_calls(w.rig, "kubernetes", "leases.update"), 3600 / 2);
    assert_int_equal(rig_calls(w.rig, "kubernetes", "*"), 3600 / 2);
    assert_true(may_write(&w, a));
    assert_int_equal(atomic_load(&a->changes), 1);
    world_stop(&w);
}

UNIT_MAIN(leases)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases__two_candidates__one_writes_and_stays),
        cmocka_unit_test(leases__holder_lets_go__the_next_one_need_not_wait_for_the_lease),
        cmocka_unit_test(leases__holder_lets_go__who_watches_has_it_at_once),
        cmocka_unit_test(leases__holder_dies__taken_when_the_lease_has_run_out),
        cmocka_unit_test(leases__holder_cut_off__stops_before_the_other_begins),
        cmocka_unit_test(leases__answers_lost__the_holder_stays),
        cmocka_unit_test(leases__taken_away__lost_at_the_next_renewal),
        cmocka_unit_test(leases__several_locks__never_one_each),
        cmocka_unit_test(leases__an_hour_at_rest__one_update_each_retry_period),
        cmocka_unit_test(leases__terms_that_do_not_fit__nothing_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
