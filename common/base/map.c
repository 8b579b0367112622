/* SPDX-License-Identifier: Apache-2.0 */
/* map.c: string to pointer, over uthash.
 *
 * Keys come from outside (object names, annotations), so they are hashed with a random seed per map
 * (hash.h): nobody can choose keys that all fall into one bucket.  The order of hashing never
 * leaves this file: every iteration is by sorted key.  Not thread-safe. */
#include "common/base/map.h"
#include "common/base/arena.h"
#include "common/base/hash.h"

#include <string.h>

/* The seeded hash is handed in (HASH_*_BYHASHVALUE); uthash's own function is never used. */
#define uthash_fatal(msg) abort()
#include <uthash.h>

struct entry {
    UT_hash_handle hh;
    void *value; /* owned when the map has free_value */
    char key[];  /* NUL-terminated */
};

struct map {
    struct entry *entries; /* uthash head */
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

struct map *map_new(void (*free_value)(void *value))
{
    struct map *m = xcalloc(1, sizeof *m);
    m->free_value = free_value;
    m->seed = hash_seed();
    return m;
}

void map_free(struct map *m)
{
    if (m != NULL) {
        map_clear(m);
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
}

bool map_remove(struct map *m, const char *key)
{
    struct entry *e = map_find(m, key);
    if (e == NULL) {
        return false;
    }
    HASH_DELETE(hh, m->entries, e);
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
    free(e);
    return value;
}

void map_clear(struct map *m)
{
    struct entry *e;
    struct entry *next;
    HASH_ITER (hh, m->entries, e, next) {
        HASH_DELETE(hh, m->entries, e);
        drop_value(m, e->value);
        free(e);
    }
}

static int cmp_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **map_keys(const struct map *m, size_t *ret_n)
{
    size_t n = map_size(m);
    *ret_n = n;
    if (n == 0) {
        return NULL;
    }
    const char **keys = xcalloc(n, sizeof *keys);
    size_t i = 0;
    for (struct entry *e = m->entries; e != NULL; e = e->hh.next) {
        keys[i++] = e->key;
    }
    qsort(keys, n, sizeof *keys, cmp_keys);
    return keys;
}

void map_each(const struct map *m, bool (*fn)(const char *key, void *value, void *arg), void *arg)
{
    size_t n;
    const char **keys = map_keys(m, &n);
    for (size_t i = 0; i < n && fn(keys[i], map_get(m, keys[i]), arg); i++) {
    }
    free(keys);
}
