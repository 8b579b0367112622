/* SPDX-License-Identifier: Apache-2.0 */
/* store_changes.h: keys of the last changes of a store, so that a reader who knows one version
 * finds what is other now.
 *
 * Each change has the version that it made, one above the one before.  The oldest keys go when
 * there are too many: then a reader who stayed away for long has to look at everything.  Not
 * thread-safe: the store locks.  Private to store.c. */
#ifndef TRIMTAB_KUBE_STORE_CHANGES_H
#define TRIMTAB_KUBE_STORE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"

#define STORE_CHANGES_MAX ((size_t)4096)

struct store_changes {
    char **keys; /* a ring of STORE_CHANGES_MAX; NULL: none was added */
    size_t first;
    size_t n;
    uint64_t version; /* of the last one */
};

void store_changes_done(struct store_changes *c);
void store_changes_add(struct store_changes *c, const char *key, uint64_t version);
/* Heap array (free it, and each) of the keys that changed after `version`, sorted, each once;
 * *ret_n may be 0.  NULL: that is not known any more. */
char **store_changes_after(const struct store_changes *c, uint64_t version,
                           size_t *ret_n) _warn_unused_;

#endif
