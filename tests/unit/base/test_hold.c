/* SPDX-License-Identifier: Apache-2.0 */
/* test_hold.c: users of something shared that look again at how they must hold it
 * while they wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/cancel.h"
#include "common/base/hold.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

#define USERS 8

/* Something that the first user makes, and the others only use. */
struct thing {
    struct hold *l;
    struct cancel *cancel;
    atomic_bool made;
    atomic_int asked; /* how often `wanted` was asked */
};
struct user {
    struct thing *t;
    pthread_t thread;
    enum hold_how how;
    bool got;
};

static enum hold_how wanted(void *arg)
{
    struct thing *t = arg;
    enum hold_how how = atomic_load(&t->made) ? HOLD_TOGETHER : HOLD_ALONE;
    atomic_fetch_add(&t->asked, 1);
    return how;
}

static enum hold_how nothing(void *arg)
{
    (void)arg;
    return HOLD_NOT;
}

static void *use(void *arg)
{
    struct user *u = arg;
    u->got = hold_as_wanted(u->t->l, HOLD_NOT, wanted, u->t, u->t->cancel, &u->how);
    return NULL;
}

static void start(struct thing *t, struct user *users, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        users[i] = (struct user){.t = t};
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    while (atomic_load(&t->asked) < (int)n) { /* each has looked before it is made */
        sched_yield();
    }
}

/* The first keeps on using it: none waits for it to end. */
static void hold_share__the_first_has_made_it__all_go_on(void **state)
{
    (void)state;
    struct thing t = {.l = hold_new()};
    struct user users[USERS];
    assert_true(hold_change(t.l, HOLD_NOT, HOLD_ALONE, NULL));
    start(&t, users, USERS);
    atomic_store(&t.made, true);
    hold_share(t.l);
    for (size_t i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_true(users[i].got);
        assert_int_equal(users[i].how, HOLD_TOGETHER);
    }
    assert_false(hold_try_alone(t.l));
    for (size_t i = 0; i < USERS; i++) {
        assert_true(hold_change(t.l, HOLD_TOGETHER, HOLD_NOT, NULL));
    }
    assert_false(hold_try_alone(t.l)); /* the first still has it */
    assert_true(hold_change(t.l, HOLD_TOGETHER, HOLD_NOT, NULL));
    assert_true(hold_try_alone(t.l));
    assert_true(hold_change(t.l, HOLD_ALONE, HOLD_NOT, NULL));
    hold_free(t.l);
}

/* The first failed: the next one is alone with it, and one that comes after that one waits. */
static void hold_as_wanted__it_was_not_made__the_next_is_alone(void **state)
{
    (void)state;
    struct thing t = {.l = hold_new()};
    struct user users[1];
    assert_true(hold_change(t.l, HOLD_NOT, HOLD_ALONE, NULL));
    start(&t, users, 1);
    assert_true(hold_change(t.l, HOLD_ALONE, HOLD_NOT, NULL));
    pthread_join(users[0].thread, NULL);
    assert_true(users[0].got);
    assert_int_equal(users[0].how, HOLD_ALONE);
    assert_false(hold_try_alone(t.l));
    assert_true(hold_change(t.l, HOLD_ALONE, HOLD_NOT, NULL));
    hold_free(t.l);
}

static void hold_as_wanted__cancelled__holds_nothing(void **state)
{
    (void)state;
    struct thing t = {.l = hold_new(), .cancel = cancel_new(NULL)};
    struct user users[2];
    assert_true(hold_change(t.l, HOLD_NOT, HOLD_ALONE, NULL));
    start(&t, users, ARRAY_LEN(users));
    cancel_fire(t.cancel);
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        pthread_join(users[i].thread, NULL);
        assert_false(users[i].got);
        assert_int_equal(users[i].how, HOLD_NOT);
    }
    assert_true(hold_change(t.l, HOLD_ALONE, HOLD_NOT, NULL));
    assert_true(hold_try_alone(t.l)); /* no user is still counted as waiting */
    assert_true(hold_change(t.l, HOLD_ALONE, HOLD_NOT, NULL));
    cancel_free(t.cancel);
    hold_free(t.l);
}

static void hold_as_wanted__wants_nothing__gives_back_what_it_had(void **state)
{
    (void)state;
    struct hold *l = hold_new();
    enum hold_how how = HOLD_TOGETHER;
    assert_true(hold_change(l, HOLD_NOT, HOLD_TOGETHER, NULL));
    assert_true(hold_as_wanted(l, HOLD_TOGETHER, nothing, NULL, NULL, &how));
    assert_int_equal(how, HOLD_NOT);
    assert_true(hold_try_alone(l));
    assert_true(hold_as_wanted(l, HOLD_ALONE, nothing, NULL, NULL, &how));
    hold_free(l);
}

UNIT_MAIN(hold)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_share__the_first_has_made_it__all_go_on),
        cmocka_unit_test(hold_as_wanted__it_was_not_made__the_next_is_alone),
        cmocka_unit_test(hold_as_wanted__cancelled__holds_nothing),
        cmocka_unit_test(hold_as_wanted__wants_nothing__gives_back_what_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
