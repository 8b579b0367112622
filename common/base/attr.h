/* SPDX-License-Identifier: Apache-2.0 */
/* attr.h: the annotation vocabulary of the whole tree.
 *
 * Owns no code.  Every macro is a compiler attribute that gcc and clang check for us, or a
 * two-line idiom for ownership.  Lock annotations are understood by
 * clang (-Wthread-safety) only. */
#ifndef TRIMTAB_BASE_ATTR_H
#define TRIMTAB_BASE_ATTR_H

#include <stddef.h>

#define _warn_unused_       __attribute__((warn_unused_result))
#define _nonnull_(...)      __attribute__((nonnull(__VA_ARGS__)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _malloc_            __attribute__((malloc))
#define _noreturn_          __attribute__((noreturn))
#define _cleanup_(fn)       __attribute__((cleanup(fn)))
#define _unused_            __attribute__((unused))
#define _noinline_          __attribute__((noinline))

#ifdef __clang__
/* Read by people only: in C, clang before 19 cannot name a sibling member in an attribute. */
#define _guarded_by_(lock)
#define _capability_(name) __attribute__((capability(name)))
#define _acquires_(...)    __attribute__((acquire_capability(__VA_ARGS__)))
#define _releases_(...)    __attribute__((release_capability(__VA_ARGS__)))
#define _requires_(...)    __attribute__((requires_capability(__VA_ARGS__)))
#define _excludes_(...)    __attribute__((locks_excluded(__VA_ARGS__)))
#define _no_lock_check_    __attribute__((no_thread_safety_analysis))
#else
#define _guarded_by_(lock)
#define _capability_(name)
#define _acquires_(...)
#define _releases_(...)
#define _requires_(...)
#define _excludes_(...)
#define _no_lock_check_
#endif

/* Number of elements of a real array (not of a pointer). */
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Hands the value of pointer `p` over and leaves NULL behind, so that a cleanup attribute on `p`
 * frees nothing. */
#define STEAL(p)                                                                                   \
    ({                                                                                             \
        __typeof__(p) stolen_ = (p);                                                               \
        (p) = NULL;                                                                                \
        stolen_;                                                                                   \
    })

/* The structure of type `type` that embeds `ptr` as its member `member`. */
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
