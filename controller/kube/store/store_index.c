/* SPDX-License-Identifier: Apache-2.0 */
/* store_index.c: binary search and memmove (see store_index.h). */
#include "controller/kube/store/store_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"

void store_index_init(struct store_index *x, bool by_service)
{
    *x = (struct store_index){.by_service = by_service};
}

void store_index_done(struct store_index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        kube_held_unref(x->entries[i].held);
    }
    free(x->entries);
    *x = (struct store_index){.by_service = x->by_service};
}

struct index_place store_index_place(const struct store_index *x, struct kube_held h)
{
    return (struct index_place){.key = kube_held_key(h),
                                .service = x->by_service ? kube_held_service(h) : NULL};
}

/* '/' ends a namespace. */
static int cmp_namespace(const char *a, const char *b)
{
    while (*a == *b && *a != '/' && *a != '\0') {
        a++;
        b++;
    }
    int x = *a == '/' ? 0 : (unsigned char)*a;
    int y = *b == '/' ? 0 : (unsigned char)*b;
    return x - y;
}

static int cmp_places(const struct store_index *x, struct index_place a, struct index_place b)
{
    int c = x->by_service ? cmp_namespace(a.key, b.key) : 0;
    if (c == 0 && x->by_service) {
        c = strcmp(a.service, b.service);
    }
    return c != 0 ? c : kube_key_cmp(a.key, b.key);
}

static int cmp_entry(const struct store_index *x, size_t i, struct index_place at)
{
    return cmp_places(x, store_index_place(x, x->entries[i].held), at);
}

size_t store_index_lower(const struct store_index *x, struct index_place at)
{
    size_t low = 0;
    size_t high = x->n;
    if (x->n > 0 && cmp_entry(x, x->n - 1, at) < 0) {
        return x->n; /* the usual case of a list */
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cmp_entry(x, mid, at) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct index_entry *store_index_find(const struct store_index *x, struct index_place at)
{
    size_t i = store_index_lower(x, at);
    return i < x->n && cmp_entry(x, i, at) == 0 ? &x->entries[i] : NULL;
}

static void reserve_one(struct store_index *x)
{
    if (x->n == x->cap) {
        x->cap = x->cap == 0 ? 64 : x->cap + x->cap / 8;
        x->entries = xrealloc(x->entries, x->cap * sizeof *x->entries);
    }
}

struct kube_held store_index_put(struct store_index *x, struct kube_held h, uint64_t round)
{
    struct index_place at = store_index_place(x, h);
    size_t i = store_index_lower(x, at);
    if (i < x->n && cmp_entry(x, i, at) == 0) {
        struct kube_held old = x->entries[i].held;
        x->entries[i] = (struct index_entry){.held = h, .round = round};
        return old;
    }
    reserve_one(x);
    memmove(&x->entries[i + 1], &x->entries[i], (x->n - i) * sizeof *x->entries);
    x->entries[i] = (struct index_entry){.held = h, .round = round};
    x->n++;
    return kube_held_none();
}

struct kube_held store_index_take(struct store_index *x, struct index_place at)
{
    struct index_entry *e = store_index_find(x, at);
    if (e == NULL) {
        return kube_held_none();
    }
    struct kube_held h = e->held;
    size_t i = (size_t)(e - x->entries);
    x->n--;
    memmove(e, e + 1, (x->n - i) * sizeof *x->entries);
    return h;
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
