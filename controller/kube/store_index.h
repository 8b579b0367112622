/* SPDX-License-Identifier: Apache-2.0 */
/* store_index.h: objects in an array that is always sorted.
 *
 * Why an array and not a hash map: lists arrive sorted, so filling it is appending; a snapshot is a copy and
 * needs no sorting; 50,000 entries are 800 KiB to move at worst.  Many are taken out in one pass.  The order is the caller's.
 * Holds one reference per entry.  Not thread-safe: the store locks.  Private to store.c. */
#ifndef TRIMTAB_KUBE_STORE_INDEX_H
#define TRIMTAB_KUBE_STORE_INDEX_H

#include "controller/kube/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_entry {
    struct kube_object *object;
    uint64_t round; /* the replace in which it was last seen */
};
struct store_index {
    struct index_entry *entries; /* owned */
    size_t n;
    size_t cap;
    int (*cmp)(const struct kube_object *a, const struct kube_object *b);
};

void store_index_init(struct store_index *x,
                      int (*cmp)(const struct kube_object *a, const struct kube_object *b));
void store_index_done(struct store_index *x);
/* The entry that cmp() calls equal to `like`, or NULL.  Good until the next change. */
struct index_entry *store_index_find(const struct store_index *x, const struct kube_object *like);
/* Position of the first entry that is not before `like`. */
size_t store_index_lower(const struct store_index *x, const struct kube_object *like);
/* Takes over the reference of `o`.  Returns the object that it replaces, with its reference, or NULL. */
struct kube_object *store_index_put(struct store_index *x, struct kube_object *o,
                                    uint64_t round) _warn_unused_;
/* Takes the equal entry out; returns it with its reference, or NULL. */
struct kube_object *store_index_take(struct store_index *x,
                                     const struct kube_object *like) _warn_unused_;
/* Moves all entries but those last seen in `round` to the end of *ret, in order, with their references. */
void store_index_take_before(struct store_index *x, uint64_t round, struct store_index *ret);

/* Orders: namespace, then name; and for slices namespace, service, name. */
int kube_key_cmp(const char *a, const char *b);
int store_cmp_key(const struct kube_object *a, const struct kube_object *b);
int store_cmp_service(const struct kube_object *a, const struct kube_object *b);

#endif
