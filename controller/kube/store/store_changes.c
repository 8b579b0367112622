/* SPDX-License-Identifier: Apache-2.0 */
/* store_changes.c: see store_changes.h. */
#include "controller/kube/store/store_changes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/kube/store/store_index.h"

void store_changes_done(struct store_changes *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->keys[(c->first + i) % STORE_CHANGES_MAX]);
    }
    free(c->keys);
    *c = (struct store_changes){0};
}

void store_changes_add(struct store_changes *c, const char *key, uint64_t version)
{
    assert(c->n == 0 || version == c->version + 1);
    if (c->keys == NULL) {
        c->keys = xcalloc(STORE_CHANGES_MAX, sizeof *c->keys);
    }
    if (c->n == STORE_CHANGES_MAX) {
        free(c->keys[c->first]);
        c->first = (c->first + 1) % STORE_CHANGES_MAX;
        c->n--;
    }
    c->keys[(c->first + c->n) % STORE_CHANGES_MAX] = xstrdup(key);
    c->n++;
    c->version = version;
}

static int by_key(const void *a, const void *b)
{
    return kube_key_cmp(*(const char *const *)a, *(const char *const *)b);
}

char **store_changes_after(const struct store_changes *c, uint64_t version, size_t *ret_n)
{
    if (version > c->version || c->version - version > c->n) {
        return NULL;
    }
    size_t n = (size_t)(c->version - version);
    const char **found = xcalloc(n + 1, sizeof *found);
    for (size_t i = 0; i < n; i++) {
        found[i] = c->keys[(c->first + c->n - n + i) % STORE_CHANGES_MAX];
    }
    if (n > 1) {
        qsort(found, n, sizeof *found, by_key);
    }
    char **keys = xcalloc(n + 1, sizeof *keys);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(keys[kept - 1], found[i]) != 0) {
            keys[kept++] = xstrdup(found[i]);
        }
    }
    free(found);
    *ret_n = kept;
    return keys;
}
