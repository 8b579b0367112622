/* SPDX-License-Identifier: Apache-2.0 */
/* azure_told.c: see azure_told.h. */
#include "providers/azure/azure_told.h"

#include "common/base/str.h"

struct azure_texts azure_texts_joined(struct arena *a, const struct azure_texts *x,
                                      const struct azure_texts *y)
{
    const char **items = ARENA_ARRAY(a, const char *, x->n + y->n + 1);
    for (size_t i = 0; i < x->n + y->n; i++) {
        items[i] = i < x->n ? x->items[i] : y->items[i - x->n];
    }
    return (struct azure_texts){.items = items, .n = x->n + y->n};
}

struct azure_texts azure_told(struct arena *a, const struct azure_item *it)
{
    const struct tt_service *in = it->service->in;
    const char **status = ARENA_ARRAY(a, const char *, in->n_ingress + 1);
    struct azure_texts ips = {.items = status};
    for (uint32_t i = 0; i < in->n_ingress; i++) {
        if (!str_is_empty(in->ingress[i].ip)) {
            status[ips.n++] = in->ingress[i].ip;
        }
    }
    return ips;
}

struct azure_texts azure_nameable(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    struct azure_texts ips = azure_addresses_of(y, it->service);
    if (it->want) {
        return ips;
    }
    struct azure_texts other = azure_addresses_of(y, it->flip);
    struct azure_texts status = azure_told(a, it);
    ips = azure_texts_joined(a, &ips, &other);
    return azure_texts_joined(a, &ips, &status);
}

struct str_set azure_left_addresses(struct azure_sync *y)
{
    struct azure_texts left = {0};
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_is_carried_out(it) && it->closes_later) {
            struct azure_texts status = azure_told(y->s->a, it);
            left = azure_texts_joined(y->s->a, &left, &status);
        }
    }
    return str_set_make(y->s->a, left.items, left.n);
}

bool azure_is_where_one_left(struct azure_sync *y, const struct str_set *left,
                             const struct azure_item *it)
{
    struct azure_texts now = left->n > 0 ? azure_nameable(y, it) : (struct azure_texts){0};
    bool there = false;
    for (size_t i = 0; i < now.n; i++) {
        there = there || str_set_has(left, now.items[i]);
    }
    return there;
}
