/* SPDX-License-Identifier: Apache-2.0 */
/* store_index.h: objects in an array that is always sorted.
 *
 * Why an array and not a hash map: lists arrive sorted, so filling it is appending; a snapshot is a
 * copy and needs no sorting; 50,000 entries are 800 KiB to move at worst.  Many are taken out in
 * one pass.  The order is the caller's.  Holds one reference per entry.  Not thread-safe: the store
 * locks.  Private to store.c. */
#ifndef TRIMTAB_KUBE_STORE_INDEX_H
#define TRIMTAB_KUBE_STORE_INDEX_H

#include "controller/kube/store/held.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_entry {
    struct kube_held held;
    uint64_t round; /* the replace in which it was last seen */
};
/* A place in the order: by key, or by namespace, Service and name of a slice. */
struct index_place {
    const char *key;
    const char *service; /* looked at in orders by Service only */
};
struct store_index {
    struct index_entry *entries; /* owned */
    size_t n;
    size_t cap;
    bool by_service;
};

void store_index_init(struct store_index *x, bool by_service);
void store_index_done(struct store_index *x);
struct index_place store_index_place(const struct store_index *x, struct kube_held h);
/* The entry at that place, or NULL.  Good until the next change. */
struct index_entry *store_index_find(const struct store_index *x, struct index_place at);
/* Position of the first entry that is not before `at`. */
size_t store_index_lower(const struct store_index *x, struct index_place at);
/* Takes over the reference.  Returns what it replaces, with its reference, or none. */
struct kube_held store_index_put(struct store_index *x, struct kube_held h,
                                 uint64_t round) _warn_unused_;
/* Takes the entry at that place out; returns it with its reference, or none. */
struct kube_held store_index_take(struct store_index *x, struct index_place at) _warn_unused_;
/* Moves all entries but those last seen in `round` to the end of *ret, in order,
 * with their references. */
void store_index_take_before(struct store_index *x, uint64_t round, struct store_index *ret);

/* Orders: namespace, then name; and for slices namespace, Service, name. */
int kube_key_cmp(const char *a, const char *b);

#endif
