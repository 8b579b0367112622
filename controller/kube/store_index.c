/* SPDX-License-Identifier: Apache-2.0 */
/* store_index.c: binary search and memmove (see store_index.h). */
#include "controller/kube/store_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"

void store_index_init(struct store_index *x,
                      int (*cmp)(const struct kube_object *a, const struct kube_object *b))
{
    *x = (struct store_index){.cmp = cmp};
}

void store_index_done(struct store_index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        kube_object_unref(x->entries[i].object);
    }
    free(x->entries);
    *x = (struct store_index){0};
}

size_t store_index_lower(const struct store_index *x, const struct kube_object *like)
{
    size_t low = 0;
    size_t high = x->n;
    if (x->n > 0 && x->cmp(x->entries[x->n - 1].object, like) < 0) {
        return x->n; /* the usual case of a list */
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->cmp(x->entries[mid].object, like) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct index_entry *store_index_find(const struct store_index *x, const struct kube_object *like)
{
    size_t i = store_index_lower(x, like);
    return i < x->n && x->cmp(x->entries[i].object, like) == 0 ? &x->entries[i] : NULL;
}

static void reserve_one(struct store_index *x)
{
    if (x->n == x->cap) {
        x->cap = x->cap == 0 ? 64 : x->cap + x->cap / 2;
        x->entries = xrealloc(x->entries, x->cap * sizeof *x->entries);
    }
}

struct kube_object *store_index_put(struct store_index *x, struct kube_object *o, uint64_t round)
{
    size_t i = store_index_lower(x, o);
    if (i < x->n && x->cmp(x->entries[i].object, o) == 0) {
        struct kube_object *old = x->entries[i].object;
        x->entries[i] = (struct index_entry){.object = o, .round = round};
        return old;
    }
    reserve_one(x);
    memmove(&x->entries[i + 1], &x->entries[i], (x->n - i) * sizeof *x->entries);
    x->entries[i] = (struct index_entry){.object = o, .round = round};
    x->n++;
    return NULL;
}

struct kube_object *store_index_take(struct store_index *x, const struct kube_object *like)
{
    struct index_entry *e = store_index_find(x, like);
    if (e == NULL) {
        return NULL;
    }
    struct kube_object *o = e->object;
    size_t i = (size_t)(e - x->entries);
    x->n--;
    memmove(e, e + 1, (x->n - i) * sizeof *x->entries);
    return o;
}

void store_index_take_before(struct store_index *x, uint64_t round, struct store_index *ret)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        struct index_entry e = x->entries[i];
        if (e.round == round) {
            x->entries[kept++] = e;
        } else {
            reserve_one(ret);
            ret->entries[ret->n++] = e;
        }
    }
    x->n = kept;
}

/* '/' comes before every byte of a name, so that namespace "a" is before "a-b". */
int kube_key_cmp(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    int x = *a == '/' ? 1 : (unsigned char)*a * 2;
    int y = *b == '/' ? 1 : (unsigned char)*b * 2;
    return x - y;
}

int store_cmp_key(const struct kube_object *a, const struct kube_object *b)
{
    return kube_key_cmp(a->key, b->key);
}

int store_cmp_service(const struct kube_object *a, const struct kube_object *b)
{
    int c = strcmp(a->slice->ns, b->slice->ns);
    if (c == 0) {
        c = strcmp(a->slice->service, b->slice->service);
    }
    return c != 0 ? c : strcmp(a->slice->name, b->slice->name);
}
