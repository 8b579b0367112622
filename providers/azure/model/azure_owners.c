/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owners.c: the Services that an operation is for (azure_owners.h). */
#include "providers/azure/model/azure_owners.h"
#include "common/base/str.h"

#include <string.h>

void azure_owners_add(struct arena *a, struct azure_owners *o, const char *key)
{
    if (o->n > 0 && str_eq(o->keys[o->n - 1], key)) {
        return;
    }
    if (o->n == o->cap) {
        o->cap = o->cap * 2 + 4;
        const char **more = ARENA_ARRAY(a, const char *, o->cap);
        if (o->n > 0) {
            memcpy(more, o->keys, o->n * sizeof(*more));
        }
        o->keys = more;
    }
    o->keys[o->n++] = key;
}

bool azure_owners_have(const struct azure_owners *o, const char *key)
{
    bool has = false;
    for (size_t i = 0; i < o->n && !has; i++) {
        has = str_eq(o->keys[i], key);
    }
    return has;
}

struct str_set azure_owners_set(struct arena *a, const struct azure_owners *o)
{
    return str_set_make(a, o->keys, o->n);
}
