/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owners.h: the Services that an operation is for, gathered one by one.  Pure. */
#ifndef TRIMTAB_AZURE_OWNERS_H
#define TRIMTAB_AZURE_OWNERS_H

#include "common/base/arena.h"
#include "common/base/strset.h"

#include <stdbool.h>
#include <stddef.h>

struct azure_owners {
    const char **keys; /* "ns/name", in the order of their arrival; the strings are borrowed */
    size_t n;
    size_t cap;
};
/* Appends a key; the same key twice in a row counts once. */
void azure_owners_add(struct arena *a, struct azure_owners *o, const char *key);
bool azure_owners_have(const struct azure_owners *o, const char *key);
/* The keys, sorted, each once; in the arena. */
struct str_set azure_owners_set(struct arena *a, const struct azure_owners *o);

#endif
