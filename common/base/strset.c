/* SPDX-License-Identifier: Apache-2.0 */
/* strset.c: sorted string sets and the sorted merge.
 *
 * Everything is built once in an arena and const afterwards; comparing two sets is one
 * walk over both.  Pure. */
#include "common/base/strset.h"
#include "common/base/str.h"

#include <string.h>

static int cmp_items(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Most sets are made from what is one already. */
static bool is_set(const char *const *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (strcmp(items[i - 1], items[i]) >= 0) {
            return false;
        }
    }
    return true;
}

struct str_set str_set_make(struct arena *a, const char *const *items, size_t n)
{
    if (n == 0) {
        return (struct str_set){0};
    }
    const char **sorted = ARENA_ARRAY(a, const char *, n);
    memcpy(sorted, items, n * sizeof *items);
    if (is_set(sorted, n)) {
        return (struct str_set){.items = sorted, .n = n};
    }
    qsort(sorted, n, sizeof *sorted, cmp_items);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i], sorted[kept - 1]) != 0) {
            sorted[kept++] = sorted[i];
        }
    }
    return (struct str_set){.items = sorted, .n = kept};
}

struct str_set str_set_dup(struct arena *a, const char *const *items, size_t n)
{
    struct str_set set = str_set_make(a, items, n);
    const char **copies = ARENA_ARRAY(a, const char *, set.n);
    for (size_t i = 0; i < set.n; i++) {
        copies[i] = arena_strdup(a, set.items[i]);
    }
    return (struct str_set){.items = set.n > 0 ? copies : NULL, .n = set.n};
}

bool str_set_has(const struct str_set *s, const char *item)
{
    return s->n > 0 && bsearch(&item, s->items, s->n, sizeof *s->items, cmp_items) != NULL;
}

bool str_set_eq(const struct str_set *a, const struct str_set *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0) {
            return false;
        }
    }
    return true;
}

struct str_set str_set_minus(struct arena *m, const struct str_set *a, const struct str_set *b)
{
    if (a->n == 0) {
        return (struct str_set){0};
    }
    const char **left = ARENA_ARRAY(m, const char *, a->n);
    size_t n = 0;
    size_t k = 0;
    for (size_t i = 0; i < a->n; i++) {
        int order = 1;
        while (k < b->n && (order = strcmp(b->items[k], a->items[i])) < 0) {
            k++;
        }
        if (order != 0) {
            left[n++] = a->items[i];
        }
    }
    return (struct str_set){.items = n > 0 ? left : NULL, .n = n};
}

struct str_set str_set_union(struct arena *m, const struct str_set *a, const struct str_set *b)
{
    const char **all = ARENA_ARRAY(m, const char *, a->n + b->n);
    for (size_t i = 0; i < a->n; i++) {
        all[i] = a->items[i];
    }
    for (size_t i = 0; i < b->n; i++) {
        all[a->n + i] = b->items[i];
    }
    return str_set_make(m, all, a->n + b->n);
}

char *str_set_text(struct arena *m, const struct str_set *s, const char *sep)
{
    return str_join(m, s->items, s->n, sep);
}
