/* SPDX-License-Identifier: Apache-2.0 */
/* space.c: pools as spans (space.h).
 *
 * An IPv6 pool may be larger than any counter: nothing here walks from address to address. */
#include "providers/local/ipam/space.h"

#include <stdlib.h>

#include "common/base/arena.h"

static bool step(const struct ip_addr *a, int by, struct ip_addr *ret)
{
    uint8_t end = by > 0 ? 0xff : 0;

    *ret = *a;
    for (size_t i = a->len; i-- > 0;) {
        if (ret->bytes[i] != end) {
            ret->bytes[i] = (uint8_t)(ret->bytes[i] + by);
            return true;
        }
        ret->bytes[i] = (uint8_t)~end;
    }
    return false;
}

bool addr_next(const struct ip_addr *a, struct ip_addr *ret)
{
    return step(a, 1, ret);
}

bool addr_prev(const struct ip_addr *a, struct ip_addr *ret)
{
    return step(a, -1, ret);
}

bool addr_is_buggy(const struct ip_addr *a)
{
    return a->len == 4 && (a->bytes[3] == 0 || a->bytes[3] == 255);
}

static void add_span(struct space *s, size_t *cap, const struct span *span)
{
    if (s->n == *cap) {
        *cap = *cap == 0 ? 16 : *cap * 2;
        s->items = xrealloc(s->items, *cap * sizeof *s->items);
    }
    s->items[s->n++] = *span;
}

/* The range without what the pool excludes; exclusions are sorted and may overlap. */
static void add_range(struct space *s, size_t *cap, const struct local_pool *pool, size_t index,
                      const struct local_range *range)
{
    struct span rest = {.first = range->first, .last = range->last, .pool = index};

    for (size_t i = 0; i < pool->n_exclude; i++) {
        const struct local_range *x = &pool->exclude[i];
        if (local_addr_cmp(&x->last, &rest.first) < 0 ||
            local_addr_cmp(&x->first, &rest.last) > 0) {
            continue;
        }
        struct span before = rest;
        if (local_addr_cmp(&x->first, &rest.first) > 0 && addr_prev(&x->first, &before.last)) {
            add_span(s, cap, &before);
        }
        if (local_addr_cmp(&x->last, &rest.last) >= 0 || !addr_next(&x->last, &rest.first)) {
            return;
        }
    }
    add_span(s, cap, &rest);
}

static int by_first(const void *a, const void *b)
{
    return local_addr_cmp(&((const struct span *)a)->first, &((const struct span *)b)->first);
}

void space_make(struct space *s, const struct local_config *config)
{
    size_t cap = 0;

    *s = (struct space){0};
    for (size_t i = 0; i < config->n_pools; i++) {
        const struct local_pool *pool = &config->pools[i];
        for (size_t r = 0; r < pool->n_ranges; r++) {
            add_range(s, &cap, pool, i, &pool->ranges[r]);
        }
    }
    if (s->n > 0) {
        qsort(s->items, s->n, sizeof *s->items, by_first);
    }
}

void space_done(struct space *s)
{
    free(s->items);
    *s = (struct space){0};
}

size_t space_find(const struct space *s, const struct ip_addr *addr)
{
    size_t low = 0;
    size_t high = s->n;

    while (low < high) { /* the first that begins behind it */
        size_t mid = low + (high - low) / 2;
        if (local_addr_cmp(&s->items[mid].first, addr) <= 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > 0 && local_addr_cmp(addr, &s->items[low - 1].last) <= 0 ? low - 1 : SIZE_MAX;
}

/* ---- counting -------------------------------------------------------------------------------- */

static uint64_t number_at(const struct ip_addr *a, size_t from, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        v = v << 8 | a->bytes[from + i];
    }
    return v;
}

static int64_t add_up(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Buggy ones among 0…x. */
static int64_t buggy_up_to(uint64_t x)
{
    return (int64_t)(x / 256) * 2 + 1 + (x % 256 == 255);
}

static int64_t span_size(const struct span *s, bool avoid_buggy)
{
    if (s->first.len == 16) {
        uint64_t high = number_at(&s->last, 0, 8) - number_at(&s->first, 0, 8);
        uint64_t low = number_at(&s->last, 8, 8) - number_at(&s->first, 8, 8);
        bool fits = high == 0 && low < INT64_MAX;
        return fits ? (int64_t)low + 1 : INT64_MAX;
    }
    uint64_t first = number_at(&s->first, 0, 4);
    uint64_t last = number_at(&s->last, 0, 4);
    int64_t n = (int64_t)(last - first) + 1;
    int64_t buggy = buggy_up_to(last) - (first == 0 ? 0 : buggy_up_to(first - 1));
    return avoid_buggy ? n - buggy : n;
}

int64_t space_count(const struct space *s, const struct local_config *config, size_t pool,
                    uint8_t len)
{
    int64_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].pool == pool && s->items[i].first.len == len) {
            n = add_up(n, span_size(&s->items[i], config->pools[pool].avoid_buggy_ips));
        }
    }
    return n;
}
