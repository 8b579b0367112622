/* SPDX-License-Identifier: Apache-2.0 */
/* map.c: string to pointer, by open addressing: a table of pointers to entries, at most three
 * quarters full.
 *
 * Maps hold an entry for each Service of a cluster, so an entry is small: one block with value,
 * hash and key, beside one or two places of the table.  Linear probing; the hash in the entry
 * spares most comparisons of keys, and what is removed lets those behind it move up, so that no
 * place is marked as deleted.
 * Keys come from outside (object names, annotations), so they are hashed with a random seed per map
 * (hash.h): an attacker cannot choose keys that all fall into one place.  The order of hashing
 * never leaves this file: every iteration is by sorted key.  The first one sorts, and from then on
 * the order is kept up to date: a map that is gone through again and again while it grows is not
 * sorted each time.  Not thread-safe, iterating included. */
#include "common/base/map.h"
#include "common/base/arena.h"
#include "common/base/hash.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM     ((size_t)8) /* a power of two */
#define EMPTY_ROOM_MAX ((size_t)1024)

struct entry {
    void *value; /* owned when the map has free_value */
    uint32_t hash;
    char key[]; /* NUL-terminated */
};

/* The entries by key; empty until the first iteration. */
struct order {
    struct entry **at;
    size_t n;
    size_t cap;
    bool kept; /* it holds all entries */
};

struct map {
    struct entry **slots; /* NULL where free */
    size_t room;          /* of slots: 0 or a power of two */
    size_t n;
    struct order *order; /* apart, because a const map builds it, too */
    void (*free_value)(void *value);
    uint64_t seed;
};

static uint32_t map_hash(const struct map *m, const char *key, size_t len)
{
    return (uint32_t)hash_key(m->seed, key, len);
}

/* The entry's place, or the free one where it would go.  There is a free one. */
static size_t find_slot(const struct map *m, const char *key, uint32_t hash)
{
    size_t mask = m->room - 1;
    size_t i = hash & mask;

    while (m->slots[i] != NULL &&
           (m->slots[i]->hash != hash || strcmp(m->slots[i]->key, key) != 0)) {
        i = (i + 1) & mask;
    }
    return i;
}

static struct entry *map_find(const struct map *m, const char *key)
{
    return m->n == 0 ? NULL : m->slots[find_slot(m, key, map_hash(m, key, strlen(key)))];
}

/* Room for one entry more. */
static void map_reserve(struct map *m)
{
    if ((m->n + 1) * 4 <= m->room * 3) {
        return;
    }
    size_t room = m->room == 0 ? FIRST_ROOM : m->room * 2;
    struct entry **slots = xcalloc(room, sizeof *slots);
    for (size_t k = 0; k < m->room; k++) {
        if (m->slots[k] != NULL) {
            size_t i = m->slots[k]->hash & (room - 1);
            while (slots[i] != NULL) {
                i = (i + 1) & (room - 1);
            }
            slots[i] = m->slots[k];
        }
    }
    free(m->slots);
    m->slots = slots;
    m->room = room;
}

/* Those behind a place that comes free move up, as far as each may: not before the place
 * of its hash. */
static void close_gap(struct map *m, size_t gap)
{
    size_t mask = m->room - 1;

    for (size_t i = (gap + 1) & mask; m->slots[i] != NULL; i = (i + 1) & mask) {
        size_t home = m->slots[i]->hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            m->slots[gap] = m->slots[i];
            gap = i;
        }
    }
    m->slots[gap] = NULL;
}

static void drop_value(const struct map *m, void *value)
{
    if (m->free_value != NULL && value != NULL) {
        m->free_value(value);
    }
}

/* --- order ------------------------------------------------------------------------------------ */

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
        for (size_t i = 0; i < m->room; i++) {
            if (m->slots[i] != NULL) {
                o->at[o->n++] = m->slots[i];
            }
        }
        if (o->n > 1) {
            qsort(o->at, o->n, sizeof *o->at, cmp_entries);
        }
        o->kept = true;
    }
    return o;
}

/* --- the map ---------------------------------------------------------------------------------- */

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
    return m->n;
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
    size_t len = strlen(key);
    uint32_t hash = map_hash(m, key, len);

    map_reserve(m);
    size_t i = find_slot(m, key, hash);
    struct entry *e = m->slots[i];
    if (e != NULL) {
        if (e->value != value) {
            drop_value(m, e->value);
        }
        e->value = value;
        return;
    }
    e = xmalloc(sizeof *e + len + 1);
    e->value = value;
    e->hash = hash;
    memcpy(e->key, key, len + 1);
    m->slots[i] = e;
    m->n++;
    order_add(m->order, e);
}

/* Takes the entry out; returns it, or NULL. */
static struct entry *take_entry(struct map *m, const char *key)
{
    if (m->n == 0) {
        return NULL;
    }
    size_t i = find_slot(m, key, map_hash(m, key, strlen(key)));
    struct entry *e = m->slots[i];
    if (e != NULL) {
        close_gap(m, i);
        m->n--;
        order_drop(m->order, e);
        if (m->n == 0 && m->room > EMPTY_ROOM_MAX) { /* a queue that had tens of thousands */
            free(m->slots);
            m->slots = NULL;
            m->room = 0;
        }
    }
    return e;
}

bool map_remove(struct map *m, const char *key)
{
    struct entry *e = take_entry(m, key);
    if (e == NULL) {
        return false;
    }
    drop_value(m, e->value);
    free(e);
    return true;
}

void *map_take(struct map *m, const char *key)
{
    struct entry *e = take_entry(m, key);
    void *value = e == NULL ? NULL : e->value;
    free(e);
    return value;
}

void map_clear(struct map *m)
{
    m->order->n = 0;
    m->order->kept = false;
    for (size_t i = 0; i < m->room; i++) {
        if (m->slots[i] != NULL) {
            drop_value(m, m->slots[i]->value);
            free(m->slots[i]);
        }
    }
    free(m->slots);
    m->slots = NULL;
    m->room = 0;
    m->n = 0;
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
