/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c: targets spread over the slots of an nftables map.
 *
 * The shares come first (largest remainder, at least one slot each).  Then a target keeps slots
 * that it has, up to its share; the others are dealt so that the slots of a target lie apart.
 * So a change moves no more slots than it must.  Pure. */
#include "providers/local/targets/slots_internal.h"

#include "common/base/attr.h"

#include <stdlib.h>

#define OFF_PERCENT 15 /* that a share may be away from the target's own */

static const unsigned sizes[] = {4, 16, 64, 256};

/* ---- shares ---------------------------------------------------------------------------------- */

struct remainder {
    uint64_t rest;
    size_t at;
};

static int by_rest(const void *x, const void *y)
{
    const struct remainder *a = x;
    const struct remainder *b = y;
    if (a->rest != b->rest) {
        return a->rest > b->rest ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Takes slots from those that have most, the last of equals first: others needed the one slot
 * that each must have. */
static void take_back(struct local_shares *s, unsigned excess)
{
    for (; excess > 0; excess--) {
        struct local_share *most = &s->items[0];
        for (size_t i = 1; i < s->n; i++) {
            most = s->items[i].slots >= most->slots ? &s->items[i] : most;
        }
        most->slots--;
    }
}

static void deal(struct local_shares *s, unsigned m)
{
    struct remainder rests[LOCAL_SLOTS_MAX];
    unsigned given = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint64_t part = (uint64_t)s->items[i].weight * m;
        s->items[i].slots = (uint16_t)(part / s->weight);
        rests[i] = (struct remainder){part % s->weight, i};
        if (s->items[i].slots == 0) {
            s->items[i].slots = 1;
            rests[i].rest = 0;
        }
        given += s->items[i].slots;
    }
    if (given > m) {
        take_back(s, given - m);
        return;
    }
    qsort(rests, s->n, sizeof(*rests), by_rest);
    for (size_t i = 0; given < m; i++, given++) {
        s->items[rests[i % s->n].at].slots++;
    }
}

void local_shares_make(const struct local_target_set *t, unsigned m, struct local_shares *ret)
{
    ret->n = 0;
    ret->weight = 0;
    for (size_t i = 0; i < t->n && ret->n < m; i++) {
        if (t->items[i].weight > 0) {
            ret->items[ret->n++] = (struct local_share){(uint16_t)i, t->items[i].weight, 0};
            ret->weight += t->items[i].weight;
        }
    }
    if (ret->n > 0) {
        deal(ret, m);
    }
}

struct local_share *local_shares_find(struct local_shares *s, size_t index)
{
    size_t low = 0;
    size_t high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->items[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->n && s->items[low].index == index ? &s->items[low] : NULL;
}

/* ---- size ------------------------------------------------------------------------------------ */

static bool is_near(const struct local_shares *s, unsigned m)
{
    for (size_t i = 0; i < s->n; i++) {
        uint64_t own = (uint64_t)s->items[i].weight * m;
        uint64_t has = s->items[i].slots * s->weight;
        uint64_t off = has > own ? has - own : own - has;
        if (off * 100 > own * OFF_PERCENT) {
            return false;
        }
    }
    return true;
}

unsigned local_slots_size(const struct local_target_set *t)
{
    size_t weighted = 0;
    for (size_t i = 0; i < t->n; i++) {
        weighted += t->items[i].weight > 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct local_shares s;
        local_shares_make(t, sizes[i], &s);
        if (weighted <= sizes[i] && is_near(&s, sizes[i])) {
            return sizes[i];
        }
    }
    return LOCAL_SLOTS_MAX;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Deals the free slots: each turn goes to the target that waited longest for its part (the
 * smooth order of weighted round robin). */
static void deal_free(const struct local_shares *s, unsigned m, const uint16_t *missing,
                      uint16_t *slots)
{
    int32_t credit[LOCAL_SLOTS_MAX] = {0};
    int32_t total = 0;
    for (size_t i = 0; i < s->n; i++) {
        total += missing[i];
    }
    for (unsigned k = 0; k < m; k++) {
        size_t best = 0;
        if (slots[k] != LOCAL_SLOT_NONE) {
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            credit[i] += missing[i];
            best = credit[i] > credit[best] ? i : best;
        }
        credit[best] -= total;
        slots[k] = s->items[best].index;
    }
}

void local_slots_fill(const struct local_target_set *t, unsigned m, const uint16_t *old,
                      uint16_t *slots)
{
    struct local_shares s;
    uint16_t missing[LOCAL_SLOTS_MAX];
    m = m > LOCAL_SLOTS_MAX ? LOCAL_SLOTS_MAX : m;
    local_shares_make(t, m, &s);
    for (size_t i = 0; i < s.n; i++) {
        missing[i] = s.items[i].slots;
    }
    for (unsigned k = 0; k < m; k++) {
        struct local_share *has =
            old == NULL || old[k] == LOCAL_SLOT_NONE ? NULL : local_shares_find(&s, old[k]);
        slots[k] = LOCAL_SLOT_NONE;
        if (has != NULL && missing[has - s.items] > 0) {
            missing[has - s.items]--;
            slots[k] = has->index;
        }
    }
    if (s.n > 0) {
        deal_free(&s, m, missing, slots);
    }
}
