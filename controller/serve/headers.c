/* SPDX-License-Identifier: Apache-2.0 */
/* headers.c: searching and copying headers.  Must not know what they mean. */
#include "controller/serve/headers.h"

#include <string.h>
#include <strings.h>

struct headers headers_dup(struct arena *a, const struct headers *h)
{
    struct header *items = ARENA_ARRAY(a, struct header, h->n);
    for (size_t i = 0; i < h->n; i++) {
        items[i].name = arena_strdup(a, h->items[i].name);
        items[i].value = arena_strdup(a, h->items[i].value);
    }
    return (struct headers){.items = items, .n = h->n};
}

const char *headers_find(void *arg, const char *name, bool prefix, size_t i, const char **ret_name)
{
    const struct headers *h = arg;
    size_t n = strlen(name);
    for (size_t k = 0; k < h->n; k++) {
        const struct header *one = &h->items[k];
        if (strncasecmp(one->name, name, n) != 0 || (!prefix && one->name[n] != '\0')) {
            continue;
        }
        if (i-- == 0) {
            if (prefix && ret_name != NULL) {
                *ret_name = one->name;
            }
            return one->value;
        }
    }
    return NULL;
}
