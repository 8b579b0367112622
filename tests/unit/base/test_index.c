/* SPDX-License-Identifier: Apache-2.0 */
/* test_index.c: records by their own keys, and strings that are kept once; a map is the
 * judge of random lives. */
#include "tests/unit/base/base_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/intern.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "tests/support/intern_count.h"
#include "tests/support/unit.h"

#define KEYS  300
#define STEPS 20000

struct record {
    const struct interned *name;
    unsigned value;
};

static struct record *record_new(struct intern_table *t, const char *name, unsigned value)
{
    struct record *r = xcalloc(1, sizeof *r);

    *r = (struct record){intern_text(t, name), value};
    return r;
}

static void record_free(struct intern_table *t, struct record *r)
{
    if (r != NULL) {
        intern_drop(t, r->name);
        free(r);
    }
}

static void assert_same(const struct index *x, const struct map *m)
{
    size_t n = 0;
    const char **keys = map_keys(m, &n);
    void **all = index_sorted(x);

    assert_int_equal(n, x->n);
    for (size_t i = 0; i < n; i++) {
        const struct record *r = all[i];
        assert_string_equal(keys[i], intern_str(r->name));
        assert_int_equal((uintptr_t)map_get(m, keys[i]), r->value);
    }
    free(keys);
    free(all);
}

static void index__random_life__is_that_of_a_map(void **state)
{
    struct intern_table *t = intern_table_new();
    struct rng *rng = rng_seeded_new(23);
    struct map *m = map_new(NULL);
    struct index x;
    char key[16];

    (void)state;
    index_init(&x, &interned_text_kind);
    for (unsigned i = 0; i < STEPS; i++) {
        snprintf(key, sizeof key, "k%u", (unsigned)rng_below(rng, KEYS));
        unsigned value = i + 1;
        struct record *was = index_get_text(&x, t, key);
        assert_int_equal((uintptr_t)map_get(m, key), was == NULL ? 0 : was->value);
        if (rng_below(rng, i / 2000 % 2 == 0 ? 3 : 2) > 0) { /* it grows, then it shrinks */
            record_free(t, index_put(&x, record_new(t, key, value)));
            map_set(m, key, (void *)(uintptr_t)value);
        } else {
            record_free(t, was == NULL ? NULL : index_take(&x, was->name));
            (void)map_remove(m, key);
        }
        assert_int_equal(x.n, intern_count(t));
        if (i % 1000 == 0) {
            assert_same(&x, m);
        }
    }
    assert_same(&x, m);
    void **all = index_sorted(&x);
    for (size_t i = 0, n = x.n; i < n; i++) {
        record_free(t, all[i]);
    }
    free(all);
    index_done(&x);
    assert_int_equal(0, intern_count(t));
    intern_table_free(t);
    map_free(m);
    rng_free(rng);
}

static void index__empty__finds_nothing(void **state)
{
    struct intern_table *t = intern_table_new();
    struct index x;

    (void)state;
    index_init(&x, &interned_text_kind);
    assert_null(index_get_text(&x, t, "a"));
    void **none = index_sorted(&x);
    assert_non_null(none);
    free(none);
    index_done(&x);
    intern_table_free(t);
    intern_table_free(NULL);
}

/* The figure that index.h names: at most three quarters full, at least three eighths from the
 * second growth on. */
static void index__many__few_bytes_a_record(void **state)
{
    struct intern_table *t = intern_table_new();
    struct record *records = xcalloc(20000, sizeof *records);
    struct index x;
    char key[16];

    (void)state;
    index_init(&x, &interned_text_kind);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "d/s%05u", i);
        records[i].name = intern_text(t, key);
        assert_null(index_put(&x, &records[i]));
        assert_true(x.n * 4 <= x.cap * 3);
    }
    assert_true(x.cap * sizeof(*x.at) <= 14 * x.n);
    index_done(&x);
    intern_table_free(t);
    free(records);
}

static void intern__equal_bytes__one_string(void **state)
{
    struct intern_table *t = intern_table_new();
    const struct interned *a = intern_get(t, "a\0b", 3);
    const struct interned *b = intern_get(t, "a\0b", 3);
    const struct interned *other = intern_get(t, "a\0c", 3);
    const struct interned *none = intern_get(t, NULL, 0);
    const struct interned *text = intern_text(t, "a");

    (void)state;
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_ptr_equal(none, intern_again(t, none));
    assert_int_equal(4, intern_count(t));
    assert_string_equal("a", intern_str(text));
    assert_ptr_equal(text, intern_find_text(t, "a"));
    assert_null(intern_find_text(t, "b"));
    assert_null(intern_text(t, NULL));
    assert_null(intern_str(NULL));
    intern_drop(t, a);
    assert_int_equal(4, intern_count(t));
    intern_drop(t, b);
    intern_drop(t, NULL);
    assert_int_equal(3, intern_count(t));
    intern_table_free(t); /* the leak checker of the sanitizer build is the judge */
}

UNIT_MAIN(index)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index__random_life__is_that_of_a_map),
        cmocka_unit_test(index__empty__finds_nothing),
        cmocka_unit_test(index__many__few_bytes_a_record),
        cmocka_unit_test(intern__equal_bytes__one_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
