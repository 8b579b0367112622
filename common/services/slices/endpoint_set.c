/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint_set.c: endpoints by identity; see endpoint_set.h. */
#include "common/services/slices/endpoint_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static const char **sorted_addresses(struct arena *a, const struct ks_slice_endpoint *e)
{
    const char **sorted = arena_memdup(a, e->addresses, e->n_addresses * sizeof(*sorted));
    qsort(sorted, e->n_addresses, sizeof(*sorted), by_text);
    return sorted;
}

/* The identity as text: each part but the last behind its length, so that texts of different parts
 * cannot run together. */
static const char *identity(struct arena *a, const struct ks_slice_endpoint *e)
{
    const char *ns = e->ref == NULL ? "" : e->ref->ns;
    const char *name = e->ref == NULL ? "" : e->ref->name;
    const char *host = str_nonnull(e->hostname);
    const char *addresses = e->n_addresses == 1 ? e->addresses[0] : "";
    if (e->n_addresses > 1) {
        addresses = str_join(a, sorted_addresses(a, e), e->n_addresses, ",");
    }
    return arena_printf(a, "%zu:%s%zu:%s%zu:%s%s", strlen(addresses), addresses, strlen(host), host,
                        strlen(ns), ns, name);
}

struct endpoint_set endpoint_set_make(struct arena *a, size_t cap)
{
    return (struct endpoint_set){.items = ARENA_ARRAY(a, struct endpoint_item, cap),
                                 .by_key = ARENA_ARRAY(a, struct endpoint_item *, cap),
                                 .cap = cap};
}

void endpoint_set_add(struct arena *a, struct endpoint_set *s, const struct ks_slice_endpoint *e)
{
    assert(s->n < s->cap);
    struct endpoint_item *item = &s->items[s->n];
    *item = (struct endpoint_item){.key = identity(a, e), .endpoint = *e, .added = s->n};
    if (e->n_addresses > 1) {
        item->endpoint.addresses = sorted_addresses(a, e);
    }
    s->by_key[s->n++] = item;
}

static int by_key(const void *x, const void *y)
{
    const struct endpoint_item *a = *(const struct endpoint_item *const *)x;
    const struct endpoint_item *b = *(const struct endpoint_item *const *)y;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : a->added < b->added ? -1 : a->added > b->added;
}

void endpoint_set_seal(struct endpoint_set *s)
{
    qsort(s->by_key, s->n, sizeof(*s->by_key), by_key);
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (kept > 0 && strcmp(s->by_key[kept - 1]->key, s->by_key[i]->key) == 0) {
            s->by_key[kept - 1]->endpoint = s->by_key[i]->endpoint;
            s->by_key[i]->taken = true;
        } else {
            s->by_key[kept++] = s->by_key[i];
        }
    }
    s->left = kept;
    s->n_keys = kept;
}

static int key_of_item(const void *key, const void *item)
{
    return strcmp(key, (*(const struct endpoint_item *const *)item)->key);
}

const struct ks_slice_endpoint *endpoint_set_find(struct arena *a, struct endpoint_set *s,
                                                  const struct ks_slice_endpoint *e, bool take)
{
    struct endpoint_item **found = s->n_keys == 0 ? NULL
                                                  : bsearch(identity(a, e), s->by_key, s->n_keys,
                                                            sizeof(*s->by_key), key_of_item);
    if (found == NULL || (*found)->taken) {
        return NULL;
    }
    if (take) {
        (*found)->taken = true;
        s->left--;
    }
    return &(*found)->endpoint;
}

const struct ks_slice_endpoint *endpoint_set_next(struct endpoint_set *s)
{
    while (s->next < s->n && s->items[s->next].taken) {
        s->next++;
    }
    if (s->next == s->n) {
        return NULL;
    }
    s->items[s->next].taken = true;
    s->left--;
    return &s->items[s->next].endpoint;
}

static bool same_target(const struct ks_ref *x, const struct ks_ref *y)
{
    if (x == NULL || y == NULL) {
        return x == y;
    }
    return str_eq(x->kind, y->kind) && str_eq(x->ns, y->ns) && str_eq(x->name, y->name) &&
           str_eq(x->uid, y->uid);
}

bool endpoints_agree(const struct ks_slice_endpoint *x, const struct ks_slice_endpoint *y)
{
    return str_eq(x->node_name, y->node_name) && str_eq(x->zone, y->zone) && x->ready == y->ready &&
           x->serving == y->serving && x->terminating == y->terminating &&
           same_target(x->ref, y->ref);
}
