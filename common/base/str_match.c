/* SPDX-License-Identifier: Apache-2.0 */
/* str_match.c: globs, and the nearest word for "did you mean".
 *
 * Both are bounded: a glob never backtracks over more than its last star, and the distance of words longer
 * than DISTANCE_MAX_LEN is not worth knowing.  Pure. */
#include "common/base/str.h"

#include <string.h>

#define DISTANCE_MAX_LEN ((size_t)128)

bool str_glob(const char *pattern, const char *s)
{
    const char *star = NULL; /* behind the last `*` seen */
    const char *resume = NULL;
    while (*s != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            resume = s;
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star != NULL) {
            pattern = star;
            s = ++resume; /* the star takes one byte more */
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* One row of the dynamic-programming table at a time. */
size_t str_distance(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    if (na > DISTANCE_MAX_LEN || nb > DISTANCE_MAX_LEN) {
        return strcmp(a, b) == 0 ? 0 : na > nb ? na : nb;
    }
    size_t row[DISTANCE_MAX_LEN + 1];
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[nb];
}

/* A slip is at most one edit in every three letters, and never more than three. */
const char *str_nearest(const char *word, const char *const *items, size_t n)
{
    size_t allowed = strlen(word) / 3;
    allowed = allowed < 1 ? 1 : allowed > 3 ? 3 : allowed;
    const char *best = NULL;
    size_t best_distance = allowed + 1;
    for (size_t i = 0; i < n; i++) {
        size_t distance = str_distance(word, items[i]);
        if (distance < best_distance) {
            best = items[i];
            best_distance = distance;
        }
    }
    return best;
}
