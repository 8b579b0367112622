/* SPDX-License-Identifier: Apache-2.0 */
/* due.c: a binary heap of moments (due.h). */
#include "providers/local/director/due.h"

#include <stdlib.h>

#include "common/base/arena.h"

void due_done(struct due_heap *h)
{
    free(h->items);
    *h = (struct due_heap){0};
}

static void put_at(struct due_heap *h, size_t i, struct due_item item)
{
    h->items[i] = item;
    item.place->at = (uint32_t)i + 1;
}

static void rise(struct due_heap *h, size_t i, struct due_item item)
{
    for (; i > 0 && item.at_ms < h->items[(i - 1) / 2].at_ms; i = (i - 1) / 2) {
        put_at(h, i, h->items[(i - 1) / 2]);
    }
    put_at(h, i, item);
}

static void sink(struct due_heap *h, size_t i, struct due_item item)
{
    for (size_t k = 2 * i + 1; k < h->n; k = 2 * i + 1) {
        k += k + 1 < h->n && h->items[k + 1].at_ms < h->items[k].at_ms;
        if (item.at_ms <= h->items[k].at_ms) {
            break;
        }
        put_at(h, i, h->items[k]);
        i = k;
    }
    put_at(h, i, item);
}

static void move(struct due_heap *h, size_t i, struct due_item item)
{
    if (i > 0 && item.at_ms < h->items[(i - 1) / 2].at_ms) {
        rise(h, i, item);
    } else {
        sink(h, i, item);
    }
}

void due_set(struct due_heap *h, struct due_place *place, int64_t at_ms)
{
    struct due_item item = {at_ms, place};

    if (place->at != 0) {
        move(h, place->at - 1, item);
        return;
    }
    if (h->n == h->cap) {
        h->cap = h->cap == 0 ? 16 : h->cap + h->cap / 8;
        h->items = xrealloc(h->items, h->cap * sizeof *h->items);
    }
    rise(h, h->n++, item);
}

void due_drop(struct due_heap *h, struct due_place *place)
{
    size_t i = place->at;

    if (i == 0) {
        return;
    }
    place->at = 0;
    struct due_item last = h->items[--h->n];
    if (i - 1 < h->n) { /* else it was the last one itself */
        move(h, i - 1, last);
    }
}

int64_t due_first_ms(const struct due_heap *h)
{
    return h->n == 0 ? INT64_MAX : h->items[0].at_ms;
}

struct due_place *due_take(struct due_heap *h, int64_t now_ms)
{
    if (due_first_ms(h) > now_ms) {
        return NULL;
    }
    struct due_place *place = h->items[0].place;
    due_drop(h, place);
    return place;
}
