/* SPDX-License-Identifier: Apache-2.0 */
/* test_cancel.c: firing, hooks that may be taken away safely, and parents. */
#include "tests/unit/base/base_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/cancel.h"
#include "common/base/hooks.h"
#include "common/base/lock.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

static void cancel__fire__hooks_run_once(void **state)
{
    (void)state;
    struct cancel *c = cancel_new(NULL);
    int a = 0;
    int b = 0;
    int gone = 0;
    assert_false(cancel_fired(c));
    assert_false(cancel_fired(NULL));
    int ha = cancel_hook(c, count, &a);
    assert_true(ha != 0);
    int hgone = cancel_hook(c, count, &gone);
    cancel_unhook(c, hgone);
    cancel_unhook(c, 12345);
    cancel_fire(c);
    cancel_fire(c);
    assert_true(cancel_fired(c));
    assert_int_equal(a, 1);
    assert_int_equal(gone, 0);
    assert_int_equal(cancel_hook(c, count, &b), 0); /* at once */
    assert_int_equal(b, 1);
    cancel_unhook(c, 0);
    cancel_unhook(c, ha);
    assert_int_equal(cancel_hook(NULL, count, &b), 0);
    assert_int_equal(b, 1);
    cancel_free(c);
    cancel_free(NULL);
}

static void cancel__parent__fires_its_children(void **state)
{
    (void)state;
    struct cancel *top = cancel_new(NULL);
    struct cancel *mid = cancel_new(top);
    struct cancel *leaf = cancel_new(mid);
    struct cancel *freed = cancel_new(top);
    cancel_free(freed);
    cancel_fire(mid);
    assert_false(cancel_fired(top));
    assert_true(cancel_fired(leaf));
    cancel_fire(top);
    struct cancel *late = cancel_new(top);
    assert_true(cancel_fired(late));
    cancel_free(late);
    cancel_free(leaf);
    cancel_free(mid);
    cancel_free(top);
}

/* A hook that says it has begun and stays inside until it is let go. */
struct slow {
    struct mutex lock;
    struct cond cond;
    bool inside, let_go, finished; /* lock */
};
static void slow_hook(void *arg)
{
    struct slow *s = arg;
    mutex_lock(&s->lock);
    s->inside = true;
    cond_broadcast(&s->cond);
    while (!s->let_go) {
        pthread_cond_wait(&s->cond.c, &s->lock.m);
    }
    s->finished = true;
    mutex_unlock(&s->lock);
}
static void *fire_thread(void *arg)
{
    cancel_fire(arg);
    return NULL;
}
struct unhooker {
    struct cancel *c;
    int handle;
    struct slow *slow;
    bool finished_before_return;
};
static void *unhook_thread(void *arg)
{
    struct unhooker *u = arg;
    cancel_unhook(u->c, u->handle);
    mutex_lock(&u->slow->lock);
    u->finished_before_return = u->slow->finished;
    mutex_unlock(&u->slow->lock);
    return NULL;
}

static void cancel_unhook__while_it_runs__waits_for_its_end(void **state)
{
    (void)state;
    struct slow s = {.inside = false};
    mutex_init(&s.lock);
    cond_init(&s.cond);
    struct cancel *c = cancel_new(NULL);
    struct unhooker u = {.c = c, .handle = cancel_hook(c, slow_hook, &s), .slow = &s};
    pthread_t firing;
    pthread_t unhooking;
    pthread_create(&firing, NULL, fire_thread, c);
    mutex_lock(&s.lock);
    while (!s.inside) {
        pthread_cond_wait(&s.cond.c, &s.lock.m);
    }
    mutex_unlock(&s.lock);
    pthread_create(&unhooking, NULL, unhook_thread, &u);
    mutex_lock(&s.lock);
    s.let_go = true;
    cond_broadcast(&s.cond);
    mutex_unlock(&s.lock);
    pthread_join(unhooking, NULL);
    pthread_join(firing, NULL);
    assert_true(u.finished_before_return);
    cancel_free(c);
    cond_done(&s.cond);
    mutex_done(&s.lock);
}

struct self_remover {
    struct hooks *hooks;
    int id, calls;
};
static void remove_self(void *arg)
{
    struct self_remover *r = arg;
    r->calls++;
    hooks_remove(r->hooks, r->id);
}

static void hooks__changes_during_a_round__seen(void **state)
{
    (void)state;
    struct hooks h;
    hooks_init(&h);
    int n = 0;
    struct self_remover r = {.hooks = &h};
    r.id = hooks_add(&h, remove_self, &r);
    int id = hooks_add(&h, count, &n);
    hooks_run(&h, 0);
    hooks_run(&h, 0);
    assert_int_equal(r.calls, 1);
    assert_int_equal(n, 2);
    assert_true(hooks_next_ms(&h) == INT64_MAX);
    hooks_announce(&h, id, 70);
    hooks_announce(&h, 99, 5);
    int other = hooks_add(&h, count, &n);
    hooks_announce(&h, other, 50);
    assert_int_equal(hooks_next_ms(&h), 50);
    hooks_announce(&h, other, 0);
    assert_int_equal(hooks_next_ms(&h), 70);
    hooks_done(&h);
}

static void *run_thread(void *arg)
{
    for (int i = 0; i < 200; i++) {
        hooks_run(arg, 0);
    }
    return NULL;
}
static void count_atomic(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void hooks_run__two_threads__rounds_do_not_mix(void **state)
{
    (void)state;
    struct hooks h;
    hooks_init(&h);
    atomic_int n = 0;
    hooks_add(&h, count_atomic, &n);
    hooks_add(&h, count_atomic, &n);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, run_thread, &h);
    pthread_create(&threads[1], NULL, run_thread, &h);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(atomic_load(&n), 800);
    hooks_done(&h);
}

static void lock__static_and_dynamic__work(void **state)
{
    (void)state;
    struct mutex fixed = MUTEX_INIT;
    mutex_lock(&fixed);
    mutex_unlock(&fixed);
    struct cond c;
    cond_init(&c);
    cond_signal(&c);
    cond_done(&c);
    mutex_done(&fixed);
}

UNIT_MAIN(cancel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel__fire__hooks_run_once),
        cmocka_unit_test(cancel__parent__fires_its_children),
        cmocka_unit_test(cancel_unhook__while_it_runs__waits_for_its_end),
        cmocka_unit_test(hooks__changes_during_a_round__seen),
        cmocka_unit_test(hooks_run__two_threads__rounds_do_not_mix),
        cmocka_unit_test(lock__static_and_dynamic__work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
