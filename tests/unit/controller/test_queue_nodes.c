/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_nodes.c: the work queue of a provider that updates several Services at once: keys that
 * only follow the nodes are one batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <trimtab/provider.h>

#include "controller/queue/queue_core.h"
#include "tests/support/unit.h"

#define SPEC   TT_REASON_SPEC
#define NODES  TT_REASON_NODES
#define RESYNC TT_REASON_RESYNC

/* Takes what is due; "" when nothing is.  The keys are joined by blanks. */
static const char *take(struct queue_core *q, int64_t now_ms)
{
    static char text[256];
    struct queue_batch b = {0};
    size_t used = 0;

    text[0] = '\0';
    if (!queue_core_get(q, now_ms, &b)) {
        return text;
    }
    for (size_t i = 0; i < b.n; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "",
                                 b.items[i].key);
    }
    queue_batch_clear(&b);
    return text;
}

static struct queue_core *core_of_nodes(void)
{
    return queue_core_new(&(struct queue_limits){.nodes_together = true});
}

static void queue_core__nodes_together__one_batch_without_a_batch_key(void **state)
{
    (void)state;
    struct queue_core *q = core_of_nodes();
    struct queue_batch b = {0};

    queue_core_add(q, "a", NULL, NODES, 0);
    queue_core_add(q, "b", NULL, NODES, 10);
    queue_core_add(q, "edited", NULL, SPEC, 10);
    queue_core_add(q, "shared", "lb", NODES, 20);
    assert_string_equal("edited", take(q, 10));
    assert_true(queue_core_get(q, 110, &b));
    assert_true(b.nodes);
    assert_string_equal("", b.batch_key);
    assert_int_equal(2, b.n);
    queue_batch_clear(&b);
    assert_true(queue_core_get(q, 120, &b)); /* of its own batch key */
    assert_false(b.nodes);
    assert_string_equal("lb", b.batch_key);
    queue_batch_clear(&b);
    queue_core_free(q);
}

static void queue_core__nodes_together__another_reason_takes_a_key_out(void **state)
{
    (void)state;
    struct queue_core *q = core_of_nodes();

    for (int i = 0; i < 3; i++) {
        queue_core_add(q, i == 0 ? "a" : i == 1 ? "b" : "c", NULL, NODES, 0);
    }
    queue_core_add(q, "b", NULL, SPEC, 1);
    queue_core_add_after(q, "c", NULL, RESYNC, 50, 1);
    assert_string_equal("b", take(q, 1));
    assert_string_equal("a", take(q, 100)); /* the delay of c ended at 51 */
    assert_string_equal("c", take(q, 100));
    assert_int_equal(0, queue_core_counts(q).waiting);
    queue_core_free(q);
}

static void queue_core__nodes_together__a_key_in_line_stays_alone(void **state)
{
    (void)state;
    struct queue_core *q = core_of_nodes();

    queue_core_add(q, "a", NULL, RESYNC, 0);
    queue_core_add(q, "a", NULL, NODES, 0);
    queue_core_add(q, "b", NULL, NODES, 0);
    assert_string_equal("a", take(q, 0));
    assert_string_equal("b", take(q, 100));
    queue_core_free(q);
}

/* One whose operation hangs keeps none but its batch waiting. */
static void queue_core__nodes_together__batches_do_not_exclude_each_other(void **state)
{
    (void)state;
    struct queue_core *q = core_of_nodes();

    queue_core_add(q, "a", NULL, NODES, 0);
    queue_core_add(q, "b", NULL, NODES, 0);
    assert_string_equal("a b", take(q, 100));
    queue_core_add(q, "b", NULL, NODES, 200);
    queue_core_add(q, "c", NULL, NODES, 200);
    assert_string_equal("c", take(q, 300));
    queue_core_done(q, "c", 300);
    queue_core_done(q, "a", 300);
    queue_core_done(q, "b", 300);
    assert_string_equal("b", take(q, 400));
    queue_core_free(q);
}

static void queue_core__nodes_together__many_keys_are_several_batches(void **state)
{
    (void)state;
    struct queue_core *q = core_of_nodes();
    struct queue_batch b = {0};
    char key[16];

    for (int i = 0; i <= QUEUE_NODES_MAX; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        queue_core_add(q, key, NULL, NODES, 0);
    }
    assert_true(queue_core_get(q, 100, &b));
    assert_int_equal(QUEUE_NODES_MAX, b.n);
    queue_batch_clear(&b);
    assert_true(queue_core_get(q, 100, &b)); /* while the first is being processed */
    assert_int_equal(1, b.n);
    queue_batch_clear(&b);
    queue_core_free(q);
}

static void queue_core__nodes_without_together__each_alone_and_at_once(void **state)
{
    (void)state;
    struct queue_core *q = queue_core_new(&(struct queue_limits){0});

    queue_core_add(q, "a", NULL, NODES, 0);
    queue_core_add(q, "b", NULL, NODES, 0);
    assert_string_equal("a", take(q, 0));
    assert_string_equal("b", take(q, 0));
    queue_core_free(q);
}

UNIT_MAIN(queue_nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_core__nodes_together__one_batch_without_a_batch_key),
        cmocka_unit_test(queue_core__nodes_together__another_reason_takes_a_key_out),
        cmocka_unit_test(queue_core__nodes_together__a_key_in_line_stays_alone),
        cmocka_unit_test(queue_core__nodes_together__batches_do_not_exclude_each_other),
        cmocka_unit_test(queue_core__nodes_together__many_keys_are_several_batches),
        cmocka_unit_test(queue_core__nodes_without_together__each_alone_and_at_once),
    };
    return cmocka_run_group_tests_name("controller-queue-nodes", tests, NULL, NULL);
}
