/* SPDX-License-Identifier: Apache-2.0 */
/* test_words.c: texts that objects share: one copy of each, bounded room, and the same answer twice
 * when it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/kube/model/pack.h"
#include "controller/kube/model/words.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static char *of_length(struct arena *a, size_t n)
{
    char *s = arena_calloc(a, n + 1, 1);
    memset(s, 'x', n);
    return s;
}

static void word__equal_texts__one_copy(void **state)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    (void)state;
    const char *one = kube_word(arena_strdup(a, "kubernetes.io/service-name"));
    const char *other = kube_word(arena_strdup(a, "kubernetes.io/service"));
    assert_string_equal(one, "kubernetes.io/service-name");
    assert_string_equal(other, "kubernetes.io/service");
    assert_ptr_equal(one, kube_word(arena_strdup(a, "kubernetes.io/service-name")));
    assert_ptr_not_equal(one, other);
    assert_string_equal(kube_word(""), "");
}

static void word__too_long__none(void **state)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    (void)state;
    assert_non_null(kube_word(of_length(a, 127)));
    assert_null(kube_word(of_length(a, 128)));
}

/* A pack's contents are readable whether its words are shared or not. */
static void pack(struct arena *a, const char *word, const char *text, size_t *ret_bytes)
{
    struct pack p;
    pack_init(&p, a);
    (void)PACK_ARRAY(&p, const char *, 2);
    (void)pack_word(&p, word);
    (void)pack_text(&p, text);
    *ret_bytes = pack_allocate(&p);
    const char **both = PACK_ARRAY(&p, const char *, 2);
    both[0] = pack_word(&p, word);
    both[1] = pack_text(&p, text);
    assert_string_equal(both[0], word);
    assert_string_equal(both[1], text);
    assert_int_equal(both[0] == kube_word(word), kube_word(word) != NULL);
    free(both);
}

static void pack__shared_word__takes_no_room(void **state)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    size_t bytes;
    (void)state;
    pack(a, "topology.kubernetes.io/zone", "web", &bytes);
    assert_int_equal(bytes, 2 * sizeof(char *) + sizeof("web"));
}

/* Last: from here on this process takes no new words. */
static void word__no_room__old_ones_stay_new_ones_are_the_objects_own(void **state)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char *before = kube_word("LoadBalancer");
    size_t bytes;
    int taken = 0;
    (void)state;
    while (taken < 2000 && kube_word(arena_printf(a, "example.com/key-%d", taken)) != NULL) {
        taken++;
    }
    assert_in_range(taken, 900, 1024);
    assert_null(kube_word("a"));
    assert_null(kube_word("a")); /* the answer stays */
    assert_ptr_equal(before, kube_word("LoadBalancer"));
    assert_non_null(kube_word("example.com/key-0"));
    pack(a, "example.com/new", "web", &bytes);
    assert_int_equal(bytes, 2 * sizeof(char *) + sizeof("example.com/new") + sizeof("web"));
}

UNIT_MAIN(words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word__equal_texts__one_copy),
        cmocka_unit_test(word__too_long__none),
        cmocka_unit_test(pack__shared_word__takes_no_room),
        cmocka_unit_test(word__no_room__old_ones_stay_new_ones_are_the_objects_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
