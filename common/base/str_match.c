/* SPDX-License-Identifier: Apache-2.0 */
/* str_match.c: globs, and the nearest word for "did you mean".
 *
 * Both are bounded: a glob never backtracks over more than its last star, and the distance of words
 * longer than DISTANCE_MAX_LEN is not worth knowing.  Pure. */
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

/* Row i of the dynamic-programming table, from the two before it. */
static void fill_row(const char *a, const char *b, size_t i, const size_t *before_last,
                     const size_t *last, size_t *row)
{
    row[0] = i;
    for (size_t j = 1; b[j - 1] != '\0'; j++) {
        row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
        bool crossed = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        if (crossed && before_last[j - 2] + 1 < row[j]) {
            row[j] = before_last[j - 2] + 1;
        }
    }
}

size_t str_distance(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    if (na > DISTANCE_MAX_LEN || nb > DISTANCE_MAX_LEN) {
        return strcmp(a, b) == 0 ? 0 : na > nb ? na : nb;
    }
    size_t rows[3][DISTANCE_MAX_LEN + 1];
    for (size_t j = 0; j <= nb; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        fill_row(a, b, i, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]);
    }
    return rows[na % 3][nb];
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
