/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_freed.c: keys that wait for what another key's run lets go of (queue_core_freed). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <trimtab/provider.h>

#include "controller/queue/queue_core.h"
#include "tests/support/unit.h"

#define SPEC   TT_REASON_SPEC
#define RESYNC TT_REASON_RESYNC
#define AWAITS QUEUE_REASON_AWAITS

static struct queue_core *core(void)
{
    return queue_core_new(&(struct queue_limits){.base_ms = 5000});
}

/* Takes what is due and ends its run; "" when nothing is. */
static const char *run(struct queue_core *q, int64_t now_ms)
{
    static char text[64];
    struct queue_batch b = {0};

    text[0] = '\0';
    if (queue_core_get(q, now_ms, &b)) {
        snprintf(text, sizeof(text), "%s", b.items[0].key);
        queue_core_done(q, text, now_ms);
        queue_batch_clear(&b);
    }
    return text;
}

static void wait_for_another(struct queue_core *q, const char *key, int failures, int64_t now_ms)
{
    int64_t delay_ms = 0;

    for (int i = 0; i < failures; i++) {
        delay_ms = queue_core_fail_capped(q, key, 300000);
    }
    queue_core_add_after(q, key, NULL, RESYNC | SPEC | AWAITS, delay_ms, now_ms);
}

static void queue_core_freed__one_that_awaits__comes_the_later_the_more_it_has_failed(void **state)
{
    (void)state;
    struct queue_core *q = core();

    wait_for_another(q, "a", 2, 0); /* else in 10 s */
    wait_for_another(q, "b", 9, 0); /* in 5 min */
    wait_for_another(q, "c", 90, 0);
    queue_core_add_after(q, "d", NULL, RESYNC | SPEC, 60000, 0);
    queue_core_freed(q, "e", 1000);
    assert_string_equal("", run(q, 1999));
    assert_string_equal("a", run(q, 2000));
    assert_string_equal("", run(q, 8999));
    assert_string_equal("b", run(q, 9000));
    assert_string_equal("c", run(q, 31000));
    assert_string_equal("", run(q, 59999)); /* their re-syncs came along */
    assert_string_equal("d", run(q, 60000));
    queue_core_free(q);
}

static void queue_core_freed__many_times__do_not_put_it_off(void **state)
{
    (void)state;
    struct queue_core *q = core();

    wait_for_another(q, "a", 5, 0);
    for (int64_t ms = 100; ms < 4100; ms += 100) {
        queue_core_freed(q, "e", ms);
        assert_string_equal("", run(q, ms));
    }
    assert_string_equal("a", run(q, 4100));
    queue_core_free(q);
}

static void queue_core_freed__by_its_own_run__waits_on(void **state)
{
    (void)state;
    struct queue_core *q = core();

    wait_for_another(q, "a", 1, 0);
    queue_core_freed(q, "a", 0);
    assert_string_equal("", run(q, 4999));
    assert_string_equal("a", run(q, 5000));
    queue_core_free(q);
}

/* It may have looked before the other one let go. */
static void queue_core_freed__during_its_run__comes_soon(void **state)
{
    (void)state;
    struct queue_core *q = core();
    struct queue_batch b = {0};

    queue_core_add(q, "a", NULL, SPEC, 0);
    assert_true(queue_core_get(q, 0, &b));
    queue_core_freed(q, "e", 10);
    wait_for_another(q, "a", 4, 20);
    queue_core_done(q, "a", 20);
    queue_batch_clear(&b);
    assert_string_equal("", run(q, 3019));
    assert_string_equal("a", run(q, 3020));
    wait_for_another(q, "a", 1, 5000);
    assert_string_equal("", run(q, 10000)); /* nothing more was let go: the back-off counts */
    queue_core_free(q);
}

UNIT_MAIN(queue_freed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_core_freed__one_that_awaits__comes_the_later_the_more_it_has_failed),
        cmocka_unit_test(queue_core_freed__many_times__do_not_put_it_off),
        cmocka_unit_test(queue_core_freed__by_its_own_run__waits_on),
        cmocka_unit_test(queue_core_freed__during_its_run__comes_soon),
    };
    return cmocka_run_group_tests_name("controller-queue-freed", tests, NULL, NULL);
}
