/* SPDX-License-Identifier: Apache-2.0 */
/* test_map.c: maps, sorted sets, the sorted merge, and hashing. */
#include "tests/unit/base/base_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "tests/support/unit.h"

static void map__set_get_remove__follow_the_keys(void **state)
{
    (void)state;
    struct map *m = map_new(NULL);
    int one = 1;
    int two = 2;
    assert_int_equal(map_size(m), 0);
    assert_null(map_get(m, "a"));
    map_set(m, "a", &one);
    map_set(m, "", &two);
    map_set(m, "null", NULL);
    assert_int_equal(map_size(m), 3);
    assert_ptr_equal(map_get(m, "a"), &one);
    assert_ptr_equal(map_get(m, ""), &two);
    assert_null(map_get(m, "null"));
    assert_true(map_has(m, "null"));
    assert_false(map_has(m, "b"));
    map_set(m, "a", &two);
    assert_ptr_equal(map_get(m, "a"), &two);
    assert_true(map_remove(m, "a"));
    assert_false(map_remove(m, "a"));
    assert_ptr_equal(map_take(m, ""), &two);
    assert_null(map_take(m, ""));
    map_clear(m);
    assert_int_equal(map_size(m), 0);
    map_free(m);
    map_free(NULL);
}

static void map__owned_values__freed_once(void **state)
{
    (void)state;
    struct map *m = map_new(free); /* the leak checker of the sanitizer build is the judge */
    char *same = xstrdup("v1");
    map_set(m, "k", same);
    map_set(m, "k", same);
    map_set(m, "k", xstrdup("v2"));
    map_set(m, "l", xstrdup("v3"));
    map_set(m, "m", NULL);
    char *taken = map_take(m, "l");
    assert_string_equal(taken, "v3");
    free(taken);
    assert_true(map_remove(m, "k"));
    map_set(m, "n", xstrdup("v4"));
    map_free(m);
}

static void map_keys__between_changes__always_in_order(void **state)
{
    (void)state;
    struct map *m = map_new(NULL);
    for (unsigned step = 0; step < 400; step++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%u", step * 7919 % 97);
        if (step % 3 == 2) {
            (void)map_remove(m, key);
        } else {
            map_set(m, key, NULL);
        }
        if (step == 300) {
            map_clear(m);
        }
        size_t n;
        const char **keys = map_keys(m, &n);
        assert_int_equal(n, map_size(m));
        for (size_t i = 0; i < n; i++) {
            assert_true(map_has(m, keys[i]));
            assert_true(i == 0 || strcmp(keys[i - 1], keys[i]) < 0);
        }
        free(keys);
    }
    map_free(m);
}

static bool collect(const char *key, void *value, void *arg)
{
    struct str_buf *b = arg;
    str_appendf(b, "%s=%s;", key, (const char *)value);
    return strcmp(key, "c") != 0;
}

static void map_each__any_insertion_order__sorted_and_stoppable(void **state)
{
    (void)state;
    struct map *m = map_new(NULL);
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    size_t n = 7;
    assert_null(map_keys(m, &n));
    assert_int_equal(n, 0);
    static const char *const keys[] = {"d", "b", "a", "c", "B"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        map_set(m, keys[i], (void *)keys[i]);
    }
    map_each(m, collect, &b);
    assert_string_equal(b.data, "B=B;a=a;b=b;c=c;");
    const char **sorted = map_keys(m, &n);
    assert_int_equal(n, 5);
    assert_string_equal(sorted[4], "d");
    free(sorted);
    map_free(m);
}

static void map__many_keys__all_found(void **state)
{
    (void)state;
    struct map *m = map_new(NULL);
    char key[32];
    for (intptr_t i = 1; i <= 20000; i++) {
        (void)snprintf(key, sizeof key, "key-%d", (int)i);
        map_set(m, key, (void *)i);
    }
    for (intptr_t i = 1; i <= 20000; i++) {
        (void)snprintf(key, sizeof key, "key-%d", (int)i);
        assert_int_equal((intptr_t)map_get(m, key), i);
    }
    map_free(m);
}

/* Removing moves other entries: whatever was set and not removed must still be found. */
static void map__random_changes__as_an_array_says(void **state)
{
    enum { KEYS = 97, CHANGES = 20000 };
    (void)state;
    struct map *m = map_new(NULL);
    int values[KEYS];
    bool there[KEYS] = {false};
    size_t n = 0;
    for (uint64_t i = 0; i < CHANGES; i++) {
        uint64_t random = hash_bytes(7, &i, sizeof i);
        size_t k = (size_t)(random % KEYS);
        char key[24];
        (void)snprintf(key, sizeof key, "default/s%zu", k);
        bool had = there[k];
        if ((random >> 32) % 2 == 0) {
            map_set(m, key, &values[k]);
            there[k] = true;
        } else {
            assert_int_equal(map_remove(m, key), had);
            there[k] = false;
        }
        n = n + there[k] - had;
        assert_int_equal(map_size(m), n);
        (void)snprintf(key, sizeof key, "default/s%zu", (k + 1) % KEYS);
        assert_ptr_equal(map_get(m, key), there[(k + 1) % KEYS] ? &values[(k + 1) % KEYS] : NULL);
    }
    for (size_t k = 0; k < KEYS; k++) {
        char key[24];
        (void)snprintf(key, sizeof key, "default/s%zu", k);
        assert_int_equal(map_has(m, key), there[k]);
    }
    map_free(m);
}

static void hash_quick__lengths_seeds_and_each_byte__count(void **state)
{
    (void)state;
    unsigned char text[40] = {0};
    assert_true(hash_quick(5, "12345678", 8) == hash_quick(5, "12345678", 8));
    for (size_t n = 0; n < sizeof text; n++) {
        uint64_t plain = hash_quick(7, text, n);
        assert_true(plain != hash_quick(8, text, n));
        assert_true(plain != hash_quick(7, text, n + 1));
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            assert_true(plain != hash_quick(7, text, n));
            text[i] = 0;
        }
    }
}

static void hash_bytes__siphash_vectors__known_values(void **state)
{
    (void)state;
    /* With seed 0 the key of SipHash-2-4 is all zero; values from an independent implementation. */
    assert_true(hash_bytes(0, "", 0) == 0x1e924b9d737700d7ull);
    assert_true(hash_bytes(0, "abc", 3) != hash_bytes(0, "abd", 3));
    assert_true(hash_bytes(1, "abc", 3) != hash_bytes(2, "abc", 3));
    assert_true(hash_bytes(5, "12345678", 8) == hash_bytes(5, "12345678", 8));
    assert_true(hash_seed() != hash_seed());
}

static int getrandom_calls;

/* In place of the C library's. */
ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    getrandom_calls++;
    return syscall(SYS_getrandom, to, n, flags);
}

/* A map in a sync costs no system call: the kernel is asked once at most for a thousand seeds. */
static void hash_seed__many__all_differ_and_the_kernel_is_asked_once(void **state)
{
    uint64_t seeds[1000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
        seeds[i] = hash_seed();
        for (size_t k = 0; k < i; k++) {
            assert_true(seeds[k] != seeds[i]);
        }
    }
    assert_in_range(getrandom_calls, 0, 1);
}

static void str_set__make__sorted_and_unique(void **state)
{
    struct arena *a = *state;
    char volatile_text[] = "b";
    const char *items[] = {"c", "a", volatile_text, "a", "c"};
    struct str_set s = str_set_make(a, items, 5);
    struct str_set d = str_set_dup(a, items, 5);
    assert_string_equal(str_set_text(a, &s, ", "), "a, b, c");
    assert_true(str_set_eq(&s, &d));
    assert_ptr_not_equal(d.items[1], volatile_text);
    assert_true(str_set_has(&s, "b"));
    assert_false(str_set_has(&s, "bb"));
    struct str_set none = str_set_make(a, NULL, 0);
    assert_int_equal(none.n, 0);
    assert_null(none.items);
    none = str_set_dup(a, NULL, 0);
    assert_null(none.items);
    assert_false(str_set_has(&none, "a"));
    assert_string_equal(str_set_text(a, &none, ","), "");
    const char *item;
    size_t seen = 0;
    STR_SET_EACH (item, &s) {
        seen += strlen(item);
    }
    assert_int_equal(seen, 3);
}

static void str_set__algebra__merge_rules(void **state)
{
    struct arena *a = *state;
    const char *abc[] = {"a", "b", "c"};
    const char *bd[] = {"d", "b"};
    const char *abd[] = {"a", "b", "d"};
    struct str_set x = str_set_make(a, abc, 3);
    struct str_set y = str_set_make(a, bd, 2);
    struct str_set z = str_set_make(a, abd, 3);
    struct str_set none = {0};
    struct str_set got = str_set_minus(a, &x, &y);
    assert_string_equal(str_set_text(a, &got, " "), "a c");
    got = str_set_minus(a, &x, &x);
    assert_null(got.items);
    got = str_set_minus(a, &none, &x);
    assert_int_equal(got.n, 0);
    got = str_set_union(a, &x, &y);
    assert_string_equal(str_set_text(a, &got, " "), "a b c d");
    got = str_set_union(a, &none, &none);
    assert_int_equal(got.n, 0);
    assert_false(str_set_eq(&x, &y));
    assert_false(str_set_eq(&x, &z));
    assert_true(str_set_eq(&none, &none));
}

UNIT_MAIN(map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map__set_get_remove__follow_the_keys),
        cmocka_unit_test(map__owned_values__freed_once),
        cmocka_unit_test(map_each__any_insertion_order__sorted_and_stoppable),
        cmocka_unit_test(map_keys__between_changes__always_in_order),
        cmocka_unit_test(map__many_keys__all_found),
        cmocka_unit_test(map__random_changes__as_an_array_says),
        cmocka_unit_test(hash_bytes__siphash_vectors__known_values),
        cmocka_unit_test(hash_seed__many__all_differ_and_the_kernel_is_asked_once),
        cmocka_unit_test(hash_quick__lengths_seeds_and_each_byte__count),
        cmocka_unit_test(str_set__make__sorted_and_unique),
        cmocka_unit_test(str_set__algebra__merge_rules),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
