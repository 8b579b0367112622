/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of holder_rules: which of several directors claims a bucket.  Rows with a number are those
 * of the provider's specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/bucket_owner.h"
#include "tests/support/unit.h"

static const char *const names[] = {"d1", "d2", "d3"};

/* The owner of each bucket among the first n; each bucket has exactly one. */
static void owners_of(const char *const *directors, size_t n, size_t ret[LOCAL_BUCKETS])
{
    unsigned claims = 0;
    for (size_t i = 0; i < n; i++) {
        const struct local_bucket_set set = local_buckets_claimed(directors, n, i);
        for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
            if (local_bucket_set_has(&set, b)) {
                ret[b] = i;
                claims++;
            }
        }
    }
    assert_int_equal(claims, LOCAL_BUCKETS);
}

static unsigned count_of(const size_t owners[LOCAL_BUCKETS], size_t director)
{
    unsigned n = 0;
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        n += owners[b] == director;
    }
    return n;
}

/* R04. */
static void owner__third_director_joins__all_moves_lead_to_it(void **state)
{
    size_t two[LOCAL_BUCKETS];
    size_t three[LOCAL_BUCKETS];
    unsigned moves = 0;
    (void)state;
    owners_of(names, 2, two);
    owners_of(names, 3, three);
    assert_int_equal(count_of(two, 0), 120);
    assert_int_equal(count_of(two, 1), 136);
    assert_int_equal(count_of(three, 0), 72);
    assert_int_equal(count_of(three, 1), 84);
    assert_int_equal(count_of(three, 2), 100);
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        moves += two[b] != three[b];
        assert_true(two[b] == three[b] || three[b] == 2);
    }
    assert_int_equal(moves, 100);
}

static void owner__order_of_names__does_not_matter(void **state)
{
    static const char *const back[] = {"d3", "d2", "d1"};
    size_t forth_owners[LOCAL_BUCKETS];
    size_t back_owners[LOCAL_BUCKETS];
    (void)state;
    owners_of(names, 3, forth_owners);
    owners_of(back, 3, back_owners);
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        assert_int_equal(forth_owners[b], 2 - back_owners[b]);
    }
    assert_int_equal(local_bucket_owner(names, 0, 7), -1);
}

UNIT_MAIN(bucket_owner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner__third_director_joins__all_moves_lead_to_it),
        cmocka_unit_test(owner__order_of_names__does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
