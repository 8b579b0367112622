/* SPDX-License-Identifier: Apache-2.0 */
/* test_due.c: the heap of moments against a search of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "providers/local/director/due.h"
#include "tests/support/unit.h"

#define RECORDS 50
#define STEPS   5000

struct record {
    struct due_place place;
    bool in;
    int64_t at_ms;
};

static int64_t earliest(const struct record *r)
{
    int64_t at_ms = INT64_MAX;

    for (size_t i = 0; i < RECORDS; i++) {
        at_ms = r[i].in && r[i].at_ms < at_ms ? r[i].at_ms : at_ms;
    }
    return at_ms;
}

static void due__random_life__the_first_is_the_earliest(void **state)
{
    struct record r[RECORDS] = {{.in = false}};
    struct rng *rng = rng_seeded_new(7);
    struct due_heap h = {0};

    (void)state;
    for (unsigned i = 0; i < STEPS; i++) {
        struct record *one = &r[rng_below(rng, RECORDS)];
        uint64_t what = rng_below(rng, 4);
        if (what < 2) {
            one->at_ms = (int64_t)rng_below(rng, 100);
            one->in = true;
            due_set(&h, &one->place, one->at_ms);
        } else if (what == 2) {
            one->in = false;
            due_drop(&h, &one->place);
        } else {
            int64_t now_ms = (int64_t)rng_below(rng, 100);
            int64_t first_ms = earliest(r);
            struct record *taken = (struct record *)due_take(&h, now_ms);
            assert_int_equal(first_ms <= now_ms, taken != NULL);
            if (taken != NULL) {
                assert_true(taken->in);
                assert_int_equal(taken->at_ms, first_ms);
                taken->in = false;
            }
        }
        assert_int_equal(due_first_ms(&h), earliest(r));
        assert_int_equal(one->place.at != 0, one->in);
    }
    due_done(&h);
    rng_free(rng);
}

UNIT_MAIN(due)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due__random_life__the_first_is_the_earliest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
