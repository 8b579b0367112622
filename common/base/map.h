/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: a hash map from string to pointer.
 *
 * Keys are copied; values are borrowed unless the map was made with a free function.  Iteration is
 * by sorted key, so that no order of hashing is ever seen.  Not thread-safe. */
#ifndef TRIMTAB_BASE_MAP_H
#define TRIMTAB_BASE_MAP_H

#include "common/base/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct map;

/* `free_value` (may be NULL) is called for a value that is replaced, removed or freed
 * with the map. */
struct map *map_new(void (*free_value)(void *value)) _warn_unused_;
void map_free(struct map *m); /* NULL is fine */
size_t map_size(const struct map *m);
void *map_get(const struct map *m, const char *key); /* NULL when absent */
bool map_has(const struct map *m, const char *key);
void map_set(struct map *m, const char *key, void *value); /* replaces; value may be NULL */
bool map_remove(struct map *m, const char *key);           /* true when it was there */
void *map_take(struct map *m, const char *key); /* removes without freeing; NULL if absent */
void map_clear(struct map *m);
/* Calls fn for each entry in key order; fn returns false to stop.  fn must not change the map. */
void map_each(const struct map *m, bool (*fn)(const char *key, void *value, void *arg), void *arg);
/* Heap array (free it) of the keys in order, borrowed from the map; NULL when empty. */
const char **map_keys(const struct map *m, size_t *ret_n);

#endif
