/* SPDX-License-Identifier: Apache-2.0 */
/* str_near.c: "did you mean", for names of which several may be meant.  Pure. */
#include "common/base/str.h"

#include <string.h>

#define NEAR_MAX 3

/* "web" of "demo/web"; NULL for a name without a namespace. */
static const char *behind_slash(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash == NULL || slash[1] == '\0' ? NULL : slash + 1;
}

/* How far `item` is from what was written; SIZE_MAX: too far to be meant. */
static size_t nearness(const char *word, const char *item)
{
    const char *last = behind_slash(word);
    const char *other = behind_slash(item);
    if (word[0] != '\0' && word[1] != '\0' && str_nearest(word, &item, 1) != NULL) {
        return str_distance(word, item); /* a single letter is near every other one */
    }
    return last != NULL && str_eq(last, other) ? STR_NEAR_ELSEWHERE : SIZE_MAX;
}

/* Keeps the NEAR_MAX nearest, each once, the nearest first; of two that are as near the
 * one that came first. */
static size_t insert(const char **names, size_t *far, size_t n, const char *item, size_t distance)
{
    size_t at = n;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], item)) {
            return n;
        }
    }
    while (at > 0 && far[at - 1] > distance) {
        at--;
    }
    if (at == NEAR_MAX) {
        return n;
    }
    size_t kept = n < NEAR_MAX ? n : NEAR_MAX - 1;
    for (size_t i = kept; i > at; i--) {
        names[i] = names[i - 1];
        far[i] = far[i - 1];
    }
    names[at] = item;
    far[at] = distance;
    return kept + 1;
}

char *str_near_hint(struct arena *a, const char *word, const char *const *items, size_t n)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    const char *names[NEAR_MAX];
    size_t far[NEAR_MAX];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t distance = nearness(word, items[i]);
        if (distance != SIZE_MAX) {
            found = insert(names, far, found, items[i], distance);
        }
    }
    for (size_t i = 0; i < found; i++) {
        const char *joint = i + 1 == found ? " or " : ", ";
        str_appendf(&b, "%s%s", i == 0 ? "; did you mean " : joint, names[i]);
    }
    str_append(&b, found > 0 ? "?" : "");
    return str_buf_to_arena(&b, a);
}
