/* SPDX-License-Identifier: Apache-2.0 */
/* test_format.c: format_text() says what vsnprintf(3) says. */
#include "tests/unit/base/base_test.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "common/base/format.h"
#include "tests/support/unit.h"

#define ROOM_MAX 64

_printf_(3, 4) static int ours(char *out, size_t room, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = format_text(out, room, fmt, ap);
    va_end(ap);
    return n;
}

/* In rooms of every size: none, too small, and enough. */
#define SAME(...)                                                                                  \
    do {                                                                                           \
        for (size_t room_ = 0; room_ <= ROOM_MAX; room_++) {                                       \
            char a_[ROOM_MAX + 1];                                                                 \
            char b_[ROOM_MAX + 1];                                                                 \
            memset(a_, '#', sizeof a_);                                                            \
            memset(b_, '#', sizeof b_);                                                            \
            assert_int_equal(ours(a_, room_, __VA_ARGS__), snprintf(b_, room_, __VA_ARGS__));      \
            assert_memory_equal(a_, b_, sizeof a_);                                                \
        }                                                                                          \
    } while (0)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wformat-truncation" /* rooms that are too small are the point */
#endif

static void format__texts__as_libc(void **state)
{
    (void)state;
    const char *volatile none = NULL;
    SAME("%s", "");
    SAME("%s/%s", "default", "web");
    SAME("k8s-%s-node 100%% %c.", "0123456789abcdef", 'x');
    SAME("%.*s|%.*s|%.*s", 3, "abcdef", 9, "abc", -1, "abc");
    SAME("%s %.*s %.*s", none, 5, none, 6, none);
}

static void format__numbers__as_libc(void **state)
{
    (void)state;
    static const int64_t values[] = {0,   1,    -1,        9,         10,        99,
                                     100, -999, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int64_t v = values[i];
        SAME("%d %i %u %x", (int)v, (int)v, (unsigned)v, (unsigned)v);
        SAME("%ld %li %lu %lx", (long)v, (long)v, (unsigned long)v, (unsigned long)v);
        SAME("%lld %llu", (long long)v, (unsigned long long)v);
        SAME("%zd %zu %zx", (ssize_t)v, (size_t)v, (size_t)v);
        SAME("%02d:%03d:%06d:%09d:%02x:%04u", (int)v, (int)v, (int)v, (int)v, (unsigned)v,
             (unsigned)v);
        SAME("%08llx", (unsigned long long)v);
    }
}

/* Those that it does not know, also behind some that it knows. */
static void format__others__left_to_libc(void **state)
{
    (void)state;
    SAME("%s %d %.2f %s", "a", -7, 1.25, "b");
    SAME("%-6s|%6s|%.3s|%5d|%+d|%hhu", "a", "b", "abcdef", 7, 7, 200);
    SAME("%d %016llx %X %o", 1, 0xabcdULL, 255u, 8u);
}

UNIT_MAIN(format)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(format__texts__as_libc),
        cmocka_unit_test(format__numbers__as_libc),
        cmocka_unit_test(format__others__left_to_libc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
