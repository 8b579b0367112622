/* SPDX-License-Identifier: Apache-2.0 */
/* index.h: a hash table of records that hold their own keys.
 *
 * For tables of tens of thousands of records: it costs about 14 bytes for each, where map.h copies
 * the key and takes about 100.  Records are borrowed, and keep their keys unchanged while they are
 * in the table.  No order of hashing is ever seen: index_sorted() sorts.  Not thread-safe. */
#ifndef TRIMTAB_BASE_INDEX_H
#define TRIMTAB_BASE_INDEX_H

#include "common/base/attr.h"

#include <stddef.h>
#include <stdint.h>

struct index_kind {
    const void *(*key)(const void *record);
    uint64_t (*hash)(uint64_t seed, const void *key);
    int (*cmp)(const void *key_a, const void *key_b); /* a total order; 0: the same key */
};
struct index {
    const struct index_kind *kind;
    uint64_t seed;
    void **at; /* cap of them, NULL: empty */
    size_t cap;
    size_t n;
};

/* Of a kind whose key() gives a text, as that at the end of a record: hashed with SipHash. */
uint64_t index_text_hash(uint64_t seed, const void *text);
int index_text_cmp(const void *a, const void *b); /* as strcmp(3) */

void index_init(struct index *x, const struct index_kind *kind);
void index_done(struct index *x);                        /* forgets all records */
void *index_get(const struct index *x, const void *key); /* NULL when absent */
/* Returns the record of the same key that was there before, which is not any more; NULL:
 * there was none. */
void *index_put(struct index *x, void *record);
void *index_take(struct index *x, const void *key); /* removes; NULL when absent */
/* Heap array (free it) of all records in the order of their keys; never NULL. */
void **index_sorted(const struct index *x) _warn_unused_;

#endif
