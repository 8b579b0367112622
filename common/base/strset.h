/* SPDX-License-Identifier: Apache-2.0 */
/* strset.h: sorted sets of strings, and the sorted merge by which two lists are compared.
 *
 * Sets that are compared are sorted by byte value at construction (CONTRIBUTING.md), so that hash
 * order never reaches an API call, a log line or a golden file.  Items are borrowed; the array
 * lives in the arena. */
#ifndef TRIMTAB_BASE_STRSET_H
#define TRIMTAB_BASE_STRSET_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct str_set {
    const char *const *items; /* sorted by strcmp, unique; NULL when n is 0 */
    size_t n;
};

/* Sorts and removes duplicates; the strings are borrowed, not copied. */
struct str_set str_set_make(struct arena *a, const char *const *items, size_t n);
/* The same with copies of the strings. */
struct str_set str_set_dup(struct arena *a, const char *const *items, size_t n);
bool str_set_has(const struct str_set *s, const char *item);
bool str_set_eq(const struct str_set *a, const struct str_set *b);
/* Items of `a` that are not in `b`. */
struct str_set str_set_minus(struct arena *m, const struct str_set *a, const struct str_set *b);
struct str_set str_set_union(struct arena *m, const struct str_set *a, const struct str_set *b);
/* "a, b, c". */
char *str_set_text(struct arena *m, const struct str_set *s, const char *sep);

#define STR_SET_EACH(var, set)                                                                     \
    for (size_t var##_i = 0; var##_i < (set)->n && ((var) = (set)->items[var##_i], 1); var##_i++)

#endif
