/* SPDX-License-Identifier: Apache-2.0 */
/* map.c: string to pointer, over uthash.
 *
 * Keys come from outside (object names, annotations), so they are hashed with a random seed per map
 * (hash.h): nobody can choose keys that all fall into one bucket.  The order of hashing never
 * leaves this file: every iteration is by sorted key.  The first one sorts, and from then on the
 * order is kept up to date: a map that is gone through again and again while it grows is not sorted each time.
 * Not thread-safe, iterating included. */
#include "common/base/map.h"
#include "common/base/arena.h"
#include "common/base/hash.h"

#include <string.h>

/* The seeded hash is handed in (HASH_*_BYHASHVALUE); uthash's own function is never used. */
#define uthash_fatal(msg) out_of_memory(0)
#include <uthash.h>

struct entry {
    UT_hash_handle hh;
    void *value; /* owned when the map has free_value */
    char key[];  /* NUL-terminated */
};

/* The entries by key; empty until somebody iterates. */
struct order {
    struct entry **at;
    size_t n;
    size_t cap;
    bool kept; /* it holds all entries */
};

struct map {
    struct entry *entries; /* uthash head */
    struct order *order;   /* apart, because a const map builds it, too */
    void (*free_value)(void *value);
    uint64_t seed;
};

static unsigned map_hash(const struct map *m, const char *key, size_t len)
{
    return (unsigned)hash_bytes(m->seed, key, len);
}

static struct entry *map_find(const struct map *m, const char *key)
{
    struct entry *e = NULL;
    size_t len = strlen(key);
    unsigned hash = map_hash(m, key, len);
    HASH_FIND_BYHASHVALUE(hh, m->entries, key, len, hash, e);
    return e;
}

static void drop_value(const struct map *m, void *value)
{
    if (m->free_value != NULL && value != NULL) {
        m->free_value(value);
    }
}

/* --- order ------------------------------------------------------------------------------------- */

static int cmp_entries(const void *a, const void *b)
{
    const struct entry *const *x = a;
    const struct entry *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* Where the key is, or would be. */
static size_t order_find(const struct order *o, const char *key)
{
    size_t low = 0;
    for (size_t high = o->n; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(o->at[mid]->key, key) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void order_reserve(struct order *o, size_t n)
{
    if (n > o->cap) {
        o->cap = n + n / 2;
        o->at = xrealloc(o->at, o->cap * sizeof *o->at);
    }
}

static void order_add(struct order *o, struct entry *e)
{
    if (!o->kept) {
        return;
    }
    order_reserve(o, o->n + 1);
    size_t i = order_find(o, e->key);
    memmove(&o->at[i + 1], &o->at[i], (o->n - i) * sizeof *o->at);
    o->at[i] = e;
    o->n++;
}

static void order_drop(struct order *o, const struct entry *e)
{
    if (!o->kept) {
        return;
    }
    size_t i = order_find(o, e->key);
    o->n--;
    memmove(&o->at[i], &o->at[i + 1], (o->n - i) * sizeof *o->at);
}

/* The entries in order. */
static const struct order *order_of(const struct map *m)
{
    struct order *o = m->order;
    if (!o->kept) {
        order_reserve(o, map_size(m));
        o->n = 0;
        for (struct entry *e = m->entries; e != NULL; e = e->hh.next) {
            o->at[o->n++] = e;
        }
        if (o->n > 1) {
            qsort(o->at, o->n, sizeof *o->at, cmp_entries);
        }
        o->kept = true;
    }
    return o;
}

/* --- the map ----------------------------------------------------------------------------------- */

struct map *map_new(void (*free_value)(void *value))
{
    struct map *m = xcalloc(1, sizeof *m);
    m->free_value = free_value;
    m->seed = hash_seed();
    m->order = xcalloc(1, sizeof *m->order);
    return m;
}

void map_free(struct map *m)
{
    if (m != NULL) {
        map_clear(m);
        free(m->order->at);
        free(m->order);
        free(m);
    }
}

size_t map_size(const struct map *m)
{
    return HASH_COUNT(m->entries);
}

void *map_get(const struct map *m, const char *key)
{
    struct entry *e = map_find(m, key);
    return e != NULL ? e->value : NULL;
}

bool map_has(const struct map *m, const char *key)
{
    return map_find(m, key) != NULL;
}

void map_set(struct map *m, const char *key, void *value)
{
    struct entry *e = map_find(m, key);
    if (e != NULL) {
        if (e->value != value) {
            drop_value(m, e->value);
        }
        e->value = value;
        return;
    }
    size_t len = strlen(key);
    unsigned hash = map_hash(m, key, len);
    e = xcalloc(1, sizeof *e + len + 1);
    memcpy(e->key, key, len);
    e->value = value;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->entries, e->key, len, hash, e);
    order_add(m->order, e);
}

bool map_remove(struct map *m, const char *key)
{
    struct entry *e = map_find(m, key);
    if (e == NULL) {
        return false;
    }
    HASH_DELETE(hh, m->entries, e);
    order_drop(m->order, e);
    drop_value(m, e->value);
    free(e);
    return true;
}

void *map_take(struct map *m, const char *key)
{
    struct entry *e = map_find(m, key);
    if (e == NULL) {
        return NULL;
    }
    void *value = e->value;
    HASH_DELETE(hh, m->entries, e);
    order_drop(m->order, e);
    free(e);
    return value;
}

void map_clear(struct map *m)
{
    struct entry *e;
    struct entry *next;
    m->order->n = 0;
    m->order->kept = false;
    HASH_ITER (hh, m->entries, e, next) {
        HASH_DELETE(hh, m->entries, e);
        drop_value(m, e->value);
        free(e);
    }
}

const char **map_keys(const struct map *m, size_t *ret_n)
{
    const struct order *o = order_of(m);
    *ret_n = o->n;
    if (o->n == 0) {
        return NULL;
    }
    const char **keys = xcalloc(o->n, sizeof *keys);
    for (size_t i = 0; i < o->n; i++) {
        keys[i] = o->at[i]->key;
    }
    return keys;
}

void map_each(const struct map *m, bool (*fn)(const char *key, void *value, void *arg), void *arg)
{
    const struct order *o = order_of(m);
    for (size_t i = 0; i < o->n && fn(o->at[i]->key, o->at[i]->value, arg); i++) {
    }
}
