/* SPDX-License-Identifier: Apache-2.0 */
/* test_progress.c: when a process does not get on with its work, by a fake clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/base/progress.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define MINUTE   60000
#define DEADLINE ((int64_t)5 * MINUTE)

static const struct progress_work waits = {.waiting = 3, .processing = 2};

struct scene {
    struct clock *clock;
    struct progress p;
    char why[256];
};

static void begin(struct scene *s, int64_t deadline_ms)
{
    *s = (struct scene){.clock = clock_fake_new(1000, 0)};
    progress_init(&s->p, s->clock, deadline_ms);
}

/* Checks every two seconds for `ms`, as a leader does; false as soon as one fails. */
static bool go_on(struct scene *s, int64_t ms, const struct progress_work *work)
{
    bool fine = true;
    for (int64_t at = 0; fine && at < ms; at += 2000) {
        clock_fake_advance(s->clock, 2000);
        fine = progress_check(&s->p, work, s->why, sizeof(s->why));
    }
    return fine;
}

static void check__work_waits_and_nothing_is_done__false_after_the_deadline(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, DEADLINE);
    assert_true(go_on(&s, DEADLINE, &waits));
    assert_false(go_on(&s, 2000, &waits));
    assert_string_equal(s.why,
                        "no cloud request was answered and no sync has ended for 302 s, while 2 "
                        "Services are being synced and 3 wait (--progress-deadline)");
    progress_note(&s.p);
    assert_true(go_on(&s, DEADLINE, &waits));
    clock_fake_free(s.clock);
}

static void check__what_counts_as_progress(void **state)
{
    static const struct progress_work rows[] = {
        {0},
        {.processing = 2, .calls_in_time = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scene s;
        begin(&s, DEADLINE);
        assert_true(go_on(&s, 4 * DEADLINE, &rows[i]));
        assert_true(go_on(&s, DEADLINE, &waits)); /* the time begins when work begins to wait */
        assert_false(go_on(&s, 2000, &waits));
        clock_fake_free(s.clock);
    }
}

/* Work behind calls in time waits for them; work that waits although no worker is busy does not. */
static void check__keys_wait_beside_calls_in_time__true(void **state)
{
    static const struct progress_work busy = {.waiting = 1, .processing = 2, .calls_in_time = true};
    static const struct progress_work nobody = {.waiting = 1, .calls_in_time = true};
    struct scene s;
    (void)state;
    begin(&s, DEADLINE);
    assert_true(go_on(&s, 4 * DEADLINE, &busy));
    assert_false(go_on(&s, DEADLINE + 2000, &nobody));
    clock_fake_free(s.clock);
}

static void check__process_that_slept__is_not_blamed(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, DEADLINE);
    assert_true(go_on(&s, MINUTE, &waits));
    clock_fake_advance(s.clock, 10 * DEADLINE);
    assert_true(progress_check(&s.p, &waits, s.why, sizeof(s.why)));
    assert_true(go_on(&s, DEADLINE, &waits));
    assert_false(go_on(&s, 2000, &waits));
    clock_fake_free(s.clock);
}

static void check__off__always_true(void **state)
{
    struct scene s;
    (void)state;
    begin(&s, 0);
    assert_true(go_on(&s, 100 * DEADLINE, &waits));
    progress_note(NULL);
    clock_fake_free(s.clock);
}

UNIT_MAIN(progress)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check__work_waits_and_nothing_is_done__false_after_the_deadline),
        cmocka_unit_test(check__what_counts_as_progress),
        cmocka_unit_test(check__keys_wait_beside_calls_in_time__true),
        cmocka_unit_test(check__process_that_slept__is_not_blamed),
        cmocka_unit_test(check__off__always_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
