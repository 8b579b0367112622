/* SPDX-License-Identifier: Apache-2.0 */
/* test_hints.c: what a process remembers about Services between calls
 * (providers/aws/cloud/aws_memory.h). */
#include "providers/aws/cloud/aws_memory.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/memory_size.h"
#include "tests/unit/gce/pure.h"

#include <pthread.h>
#include <stdio.h>

static int setup(void **state)
{
    *state = aws_memory_new();
    return 0;
}

static int teardown(void **state)
{
    aws_memory_free(*state);
    return 0;
}

#define MEMORY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static void bits__are_per_uid_and_masked(void **state)
{
    struct aws_memory *m = *state;
    assert_int_equal(aws_memory_get(m, "a"), 0);
    aws_memory_set(m, "a", AWS_KNOWS_NO_CLASSIC | AWS_KNOWS_NO_NLB, AWS_KNOWS_NO_NLB);
    aws_memory_set(m, "a", AWS_KNOWS_FAILED, AWS_KNOWS_FAILED);
    assert_int_equal(aws_memory_get(m, "a"), AWS_KNOWS_NO_NLB | AWS_KNOWS_FAILED);
    assert_int_equal(aws_memory_get(m, "b"), 0);
    aws_memory_set(m, "a", AWS_KNOWS_FAILED, 0);
    assert_int_equal(aws_memory_get(m, "a"), AWS_KNOWS_NO_NLB);
    aws_memory_drop(m, "a");
    assert_int_equal(aws_memory_get(m, "a"), 0);
    aws_memory_drop(m, "never seen");
}

static void waits__begin_once__until_they_are_over(void **state)
{
    struct aws_memory *m = *state;
    assert_int_equal(aws_memory_waits_since(m, "a", 1000), 1000);
    assert_int_equal(aws_memory_waits_since(m, "a", 2000), 1000);
    assert_int_equal(aws_memory_waits_since(m, "b", 3000), 3000);
    aws_memory_waits_over(m, "a");
    assert_int_equal(aws_memory_waits_since(m, "a", 4000), 4000);
}

static void looks__are_counted_in_a_row(void **state)
{
    struct aws_memory *m = *state;
    assert_int_equal(aws_memory_looks(m, "a", true), 0);
    assert_int_equal(aws_memory_looks(m, "a", true), 1);
    assert_int_equal(aws_memory_looks(m, "a", true), 2);
    assert_int_equal(aws_memory_looks(m, "a", false), 0);
    assert_int_equal(aws_memory_looks(m, "a", true), 0);
}

static void group__made__is_known_for_a_while(void **state)
{
    struct aws_memory *m = *state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    assert_null(aws_memory_group(m, a, "a", 0));
    aws_memory_group_made(m, "a", "sg-1", 1000);
    same_text("made", aws_memory_group(m, a, "a", 1000), "sg-1");
    assert_null(aws_memory_group(m, a, "a", 1001));
    aws_memory_group_made(m, "a", "sg-2", 2000);
    same_text("the last one", aws_memory_group(m, a, "a", 0), "sg-2");
    aws_memory_group_gone(m, "a", "sg-1"); /* another one */
    same_text("still", aws_memory_group(m, a, "a", 0), "sg-2");
    aws_memory_group_gone(m, "a", "sg-2");
    assert_null(aws_memory_group(m, a, "a", 0));
    aws_memory_group_gone(m, "never seen", "sg-2");
}

/* A text stays good when the memory is dropped. */
static void group__text__is_the_callers(void **state)
{
    struct aws_memory *m = *state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    aws_memory_group_made(m, "a", "sg-1", 1000);
    const char *id = aws_memory_group(m, a, "a", 0);
    aws_memory_drop(m, "a");
    same_text("kept", id, "sg-1");
}

/* Empty hints are not stored: reads of Services without load balancers leave nothing. */
static void entries__that_say_nothing__are_not_kept(void **state)
{
    struct aws_memory *m = *state;
    aws_memory_set(m, "a", AWS_KNOWS_NO_NLB, 0);
    aws_memory_looks(m, "b", false);
    aws_memory_waits_over(m, "c");
    aws_memory_set(m, "d", AWS_KNOWS_FAILED, AWS_KNOWS_FAILED);
    aws_memory_set(m, "d", AWS_KNOWS_FAILED, 0);
    aws_memory_group_made(m, "e", "sg-1", 1000);
    aws_memory_group_gone(m, "e", "sg-1");
    assert_int_equal(aws_memory_size(m), 0);
    aws_memory_set(m, "f", AWS_KNOWS_NO_NLB, AWS_KNOWS_NO_NLB);
    assert_int_equal(aws_memory_size(m), 1);
    aws_memory_drop(m, "f");
    assert_int_equal(aws_memory_size(m), 0);
}

#define THREADS 4
#define ROUNDS  500

struct worker {
    struct aws_memory *m;
    pthread_t thread;
    int n;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct arena *a = arena_new();
    char uid[16];
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(uid, sizeof(uid), "%d", (w->n + i) % THREADS);
        aws_memory_group_made(w->m, uid, "sg-1", i);
        (void)aws_memory_group(w->m, a, uid, 0);
        aws_memory_set(w->m, uid, AWS_KNOWS_FAILED, AWS_KNOWS_FAILED);
        (void)aws_memory_looks(w->m, uid, true);
        aws_memory_drop(w->m, uid);
    }
    arena_free(a);
    return NULL;
}

static void threads__use_it_together(void **state)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.m = *state, .n = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    assert_true(aws_memory_size(*state) <= THREADS);
}

UNIT_MAIN(hints)
{
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(bits__are_per_uid_and_masked),
        MEMORY_TEST(waits__begin_once__until_they_are_over),
        MEMORY_TEST(looks__are_counted_in_a_row),
        MEMORY_TEST(group__made__is_known_for_a_while),
        MEMORY_TEST(group__text__is_the_callers),
        MEMORY_TEST(entries__that_say_nothing__are_not_kept),
        MEMORY_TEST(threads__use_it_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
