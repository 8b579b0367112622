/* SPDX-License-Identifier: Apache-2.0 */
/* test_buckets.c: buckets of VIPs and the directors that hold them.  Rows with a number are
 * those of the provider's specification. */
#include "tests/support/bucket_owner.h"
#include "tests/unit/local/targets/targets_test.h"

/* R14. */
static void local_bucket__addresses__numbers(void **state)
{
    static const struct {
        const char *addr;
        uint8_t bucket;
    } rows[] = {{"10.0.0.0", 203},
                {"10.0.0.1", 179},
                {"10.0.0.5", 237},
                {"203.0.113.5", 42},
                {"2001:db8::100", 246}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_addr addr;
        assert_true(ip_parse(rows[i].addr, &addr));
        assert_int_equal(local_bucket(&addr), rows[i].bucket);
    }
}

static void count_owned(const char *const *names, size_t n, unsigned *ret)
{
    memset(ret, 0, n * sizeof(*ret));
    for (unsigned b = 0; b < 256; b++) {
        ret[local_bucket_owner(names, n, (uint8_t)b)]++;
    }
}

/* R04. */
static void local_bucket_owner__third_director_joins__all_moves_lead_to_it(void **state)
{
    static const char *const names[] = {"d1", "d2", "d3"};
    unsigned two[2];
    unsigned three[3];
    unsigned moves = 0;
    (void)state;
    count_owned(names, 2, two);
    count_owned(names, 3, three);
    assert_int_equal(two[0], 120);
    assert_int_equal(two[1], 136);
    assert_int_equal(three[0], 72);
    assert_int_equal(three[1], 84);
    assert_int_equal(three[2], 100);
    for (unsigned b = 0; b < 256; b++) {
        int before = local_bucket_owner(names, 2, (uint8_t)b);
        int after = local_bucket_owner(names, 3, (uint8_t)b);
        moves += before != after;
        assert_true(before == after || after == 2);
    }
    assert_int_equal(moves, 100);
}

static void local_bucket_owner__order_of_names__does_not_matter(void **state)
{
    static const char *const forth[] = {"d1", "d2", "d3"};
    static const char *const back[] = {"d3", "d2", "d1"};
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        assert_int_equal(local_bucket_owner(forth, 3, (uint8_t)b),
                         2 - local_bucket_owner(back, 3, (uint8_t)b));
    }
    assert_int_equal(local_bucket_owner(forth, 0, 7), -1);
}

UNIT_MAIN(buckets)
{
    const struct CMUnitTest tests[] = {
        targets_test(local_bucket__addresses__numbers),
        targets_test(local_bucket_owner__third_director_joins__all_moves_lead_to_it),
        targets_test(local_bucket_owner__order_of_names__does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
