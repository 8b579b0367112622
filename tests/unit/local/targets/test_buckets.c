/* SPDX-License-Identifier: Apache-2.0 */
/* test_buckets.c: buckets of VIPs.  Rows with a number are those of the provider's
 * specification. */
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

UNIT_MAIN(buckets)
{
    const struct CMUnitTest tests[] = {
        targets_test(local_bucket__addresses__numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
