/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep.c: records of all sizes come, change their sizes and go in any order; none lies on
 * another, and what is given back is used again. */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/keep.h"
#include "tests/support/unit.h"

#define RECORDS 3000
#define STEPS   60000

struct record {
    unsigned char *p;
    size_t size;
    unsigned char mark;
};

static uint64_t random_of(uint64_t *n)
{
    (*n)++;
    return hash_bytes(7, n, sizeof *n);
}

static void assert_is(const struct record *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->mark, r->p[i]);
    }
}

static void assert_zero(const unsigned char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        assert_int_equal(0, p[i]);
    }
}

static void drop(struct record *r)
{
    assert_is(r, r->size);
    keep_free(r->p, r->size);
    r->p = NULL;
}

static void keep__random_life__each_record_has_its_bytes(void **state)
{
    static struct record all[RECORDS];
    size_t before = keep_used();
    uint64_t n = 0;

    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        struct record *r = &all[random_of(&n) % RECORDS];
        size_t size = random_of(&n) % 10 == 0 ? random_of(&n) % 1500 : 1 + random_of(&n) % 130;
        if (r->p == NULL) {
            *r = (struct record){keep_alloc(size), size, (unsigned char)(1 + i % 255)};
            assert_int_equal(0, (uintptr_t)r->p % sizeof(uint64_t));
            assert_zero(r->p, 0, size);
        } else if (random_of(&n) % 3 == 0) {
            drop(r);
            continue;
        } else {
            r->p = keep_resize(r->p, r->size, size);
            assert_is(r, r->size < size ? r->size : size);
            assert_zero(r->p, r->size, size);
            r->size = size;
        }
        if (r->p != NULL) {
            memset(r->p, r->mark, r->size);
        }
    }
    for (size_t i = 0; i < RECORDS; i++) {
        if (all[i].p != NULL) {
            drop(&all[i]);
        }
    }
    assert_int_equal(before, keep_used());
}

/* Two records of 24 bytes take 48, and those that went leave room for others. */
static void keep__many__side_by_side_and_again(void **state)
{
    static unsigned char *all[20000];
    size_t before = keep_used();
    bool sanitized = false;

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            all[i] = keep_alloc(20);
        }
        size_t used = keep_used() - before;
        sanitized = used == 0; /* they are malloc's then */
        assert_int_equal(sanitized ? 0 : 24 * ARRAY_LEN(all), used);
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            keep_free(all[i], 20);
        }
    }
    assert_int_equal(before, keep_used());
    keep_free(NULL, 20);
    assert_null(keep_resize(keep_alloc(20), 20, 0));
}

UNIT_MAIN(keep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep__random_life__each_record_has_its_bytes),
        cmocka_unit_test(keep__many__side_by_side_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
