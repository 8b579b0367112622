/* SPDX-License-Identifier: Apache-2.0 */
/* test_arena.c: memory that is given back at once. */
#include "tests/support/unit.h"
#include "tests/unit/base/base_test.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void arena_alloc__any_size__zeroed_and_aligned(void **state)
{
    struct arena *a = *state;
    static const size_t sizes[] = {0, 1, 15, 16, 17, 4000, 4096, 5000, 300000, 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned char *p = arena_alloc(a, sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(p[k], 0);
        }
        memset(p, 0xFF, sizes[i]);
    }
    assert_int_equal(arena_used(a), 0 + 1 + 15 + 16 + 17 + 4000 + 4096 + 5000 + 300000 + 1);
}

static size_t resident_pages(void)
{
    size_t size = 0;
    size_t resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu %zu", &size, &resident), 2);
    assert_int_equal(fclose(f), 0);
    return resident;
}

/* As a plan of a Service with a hundred ports, while small things are kept of it.  A sanitizer's
 * malloc keeps what was freed. */
static void arena_free__large_one_between_what_is_kept__its_pages_go(void **state)
{
    enum { KEPT = 2000, BETWEEN = 4 };
    struct arena *a = arena_new();
    char *kept[KEPT];

    (void)state;
    for (size_t i = 0; i < KEPT; i++) {
        for (int k = 0; k < BETWEEN; k++) {
            memset(arena_alloc(a, 4000), 1, 4000);
        }
        kept[i] = xmalloc(64);
    }
    size_t before = resident_pages();
    arena_free(a);
    size_t after = resident_pages();
    for (size_t i = 0; i < KEPT; i++) {
        free(kept[i]);
    }
    if (mallinfo2().uordblks > 0) {
        assert_true(after + (size_t)KEPT * BETWEEN / 2 < before); /* half of it at least */
    }
}

static void arena_alloc__many_blocks__all_stay(void **state)
{
    struct arena *a = *state;
    int *all[2000];
    for (int i = 0; i < 2000; i++) {
        all[i] = arena_alloc(a, (size_t)(i % 700) + sizeof(int));
        *all[i] = i;
    }
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(*all[i], i);
    }
}

static void arena_reset__after_use__empty_and_zeroed_again(void **state)
{
    struct arena *a = *state;
    for (int round = 0; round < 3; round++) {
        memset(arena_alloc(a, 100), 0x7F, 100);
        memset(arena_alloc(a, 100000), 0x7F, 100000);
        arena_reset(a);
        assert_int_equal(arena_used(a), 0);
        unsigned char *p = arena_alloc(a, 64);
        assert_int_equal(p[0] | p[63], 0);
    }
}

static void arena_strings__copies__own_memory(void **state)
{
    struct arena *a = *state;
    char text[] = "hello";
    char *copy = arena_strdup(a, text);
    text[0] = 'j';
    assert_string_equal(copy, "hello");
    assert_null(arena_strdup(a, NULL));
    assert_null(arena_strndup(a, NULL, 3));
    assert_null(arena_memdup(a, NULL, 3));
    assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(a, "ab", 30), "ab");
    assert_memory_equal(arena_memdup(a, "a\0b", 3), "a\0b", 3);
    assert_string_equal(arena_printf(a, "%s-%05d", "x", 42), "x-00042");
}

static void append_letter(void *arg)
{
    static const char letters[] = "abc";
    char *log = arg;
    size_t n = strlen(log);
    log[n] = letters[n];
}

struct reverse {
    char *log;
    char letter;
};
static void append_own(void *arg)
{
    struct reverse *r = arg;
    r->log[strlen(r->log)] = r->letter;
}

static void arena_defer__on_reset_and_free__newest_first(void **state)
{
    (void)state;
    char log[8] = "";
    struct arena *a = arena_new();
    struct reverse one = {log, '1'};
    struct reverse two = {log, '2'};
    arena_defer(a, append_own, &one);
    arena_defer(a, append_own, &two);
    arena_reset(a);
    assert_string_equal(log, "21");
    arena_reset(a); /* nothing runs twice */
    assert_string_equal(log, "21");
    char other[8] = "";
    arena_defer(a, append_letter, other);
    arena_defer(a, append_letter, other);
    arena_free(a);
    assert_string_equal(other, "ab");
    arena_free(NULL);
}

static void xmalloc_family__sizes_and_null__as_documented(void **state)
{
    (void)state;
    void *p = xmalloc(0);
    assert_non_null(p);
    p = xrealloc(p, 10);
    p = xrealloc(p, 0);
    assert_non_null(p);
    free(p);
    unsigned char *z = xcalloc(0, 4);
    assert_non_null(z);
    free(z);
    assert_null(xstrdup(NULL));
    assert_null(xstrndup(NULL, 4));
    char *s = xstrndup("abcdef", 2);
    assert_string_equal(s, "ab");
    xfreep(&s);
    char *f = xasprintf("%d/%s", 7, "x");
    assert_string_equal(f, "7/x");
    char *g = STEAL(f);
    assert_null(f);
    free(g);
}

UNIT_MAIN(arena)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arena_alloc__any_size__zeroed_and_aligned, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(arena_alloc__many_blocks__all_stay, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(arena_reset__after_use__empty_and_zeroed_again, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(arena_strings__copies__own_memory, arena_setup,
                                        arena_teardown),
        cmocka_unit_test(arena_defer__on_reset_and_free__newest_first),
        cmocka_unit_test(arena_free__large_one_between_what_is_kept__its_pages_go),
        cmocka_unit_test(xmalloc_family__sizes_and_null__as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
