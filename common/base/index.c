/* SPDX-License-Identifier: Apache-2.0 */
/* index.c: records by their own keys, in a table of pointers with linear probing (index.h).
 *
 * At most three quarters are full.  A record that goes is replaced by a later one of its row, so
 * that no marks stay behind. */
#include "common/base/index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/hash.h"

#define CAP_FIRST 8

uint64_t index_text_hash(uint64_t seed, const void *text)
{
    return hash_key(seed, text, strlen(text));
}

int index_text_cmp(const void *a, const void *b)
{
    return strcmp(a, b);
}

void index_init(struct index *x, const struct index_kind *kind)
{
    *x = (struct index){.kind = kind, .seed = hash_seed()};
}

void index_done(struct index *x)
{
    free(x->at);
    x->at = NULL;
    x->cap = x->n = 0;
}

static size_t home_of(const struct index *x, const void *key)
{
    return (size_t)x->kind->hash(x->seed, key) & (x->cap - 1);
}

/* Where the key is, or the empty place where it would be. */
static size_t place_of(const struct index *x, const void *key)
{
    size_t i = home_of(x, key);

    while (x->at[i] != NULL && x->kind->cmp(x->kind->key(x->at[i]), key) != 0) {
        i = (i + 1) & (x->cap - 1);
    }
    return i;
}

void *index_get(const struct index *x, const void *key)
{
    return x->n == 0 ? NULL : x->at[place_of(x, key)];
}

static void grow(struct index *x)
{
    void **old = x->at;
    size_t n = x->cap;

    x->cap = n == 0 ? CAP_FIRST : 2 * n;
    x->at = xcalloc(x->cap, sizeof(*x->at));
    for (size_t i = 0; i < n; i++) {
        if (old[i] != NULL) {
            x->at[place_of(x, x->kind->key(old[i]))] = old[i];
        }
    }
    free(old);
}

void *index_put(struct index *x, void *record)
{
    if ((x->n + 1) * 4 > x->cap * 3) {
        grow(x);
    }
    size_t i = place_of(x, x->kind->key(record));
    void *old = x->at[i];
    x->n += old == NULL;
    x->at[i] = record;
    return old;
}

/* Records behind the hole come forward unless that would put them before their homes. */
static void close_hole(struct index *x, size_t hole)
{
    size_t mask = x->cap - 1;

    for (size_t i = (hole + 1) & mask; x->at[i] != NULL; i = (i + 1) & mask) {
        size_t home = home_of(x, x->kind->key(x->at[i]));
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            x->at[hole] = x->at[i];
            hole = i;
        }
    }
    x->at[hole] = NULL;
}

void *index_take(struct index *x, const void *key)
{
    if (x->n == 0) {
        return NULL;
    }
    size_t i = place_of(x, key);
    void *record = x->at[i];
    if (record != NULL) {
        x->n--;
        close_hole(x, i);
    }
    return record;
}

static int by_key(const void *a, const void *b, void *arg)
{
    const struct index_kind *kind = arg;

    return kind->cmp(kind->key(*(void *const *)a), kind->key(*(void *const *)b));
}

void **index_sorted(const struct index *x)
{
    void **all = xcalloc(x->n + 1, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < x->cap; i++) {
        if (x->at[i] != NULL) {
            all[n++] = x->at[i];
        }
    }
    qsort_r(all, n, sizeof(*all), by_key, (void *)x->kind);
    return all;
}
