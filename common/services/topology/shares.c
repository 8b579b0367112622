/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c: zones' shares of CPU, and how many endpoints each zone is to have; see topology.h. */
#include "common/services/topology/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/topology/quantity.h"

/* No endpoint should get more than this share above the mean. */
#define OVERLOAD_THRESHOLD 0.2
/* The least that a zone needs of its share; computed in this order, as upstream computes it. */
#define OVERLOAD_FACTOR (1.0 / (1.0 + OVERLOAD_THRESHOLD))

/* ---- shares ---------------------------------------------------------------------------------- */

struct counted {
    const struct ks_node *node;
    struct ks_quantity cpu;
};

static bool has_cpu(struct counted *c)
{
    return ks_quantity_parse(c->node->cpu, &c->cpu) && !ks_quantity_is_zero(&c->cpu);
}

static int by_zone(const void *x, const void *y)
{
    const struct counted *a = x, *b = y;
    return strcmp(a->node->zone, b->node->zone);
}

/* Notes a node without a zone or CPU; the first one by name is kept. */
static void note_lacking(struct ks_zone_shares *s, const struct ks_node *node)
{
    s->n_lacking++;
    if (s->lacking == NULL || strcmp(node->meta.name, s->lacking->meta.name) < 0) {
        s->lacking = node;
        s->off = str_is_empty(node->zone) ? KS_SHARES_NO_ZONE : KS_SHARES_NO_CPU;
    }
}

/* Sums of counted nodes, which are sorted by zone. */
static void add_up(struct arena *a, const struct counted *nodes, size_t n, struct ks_zone_shares *s)
{
    struct ks_zone_share *zones = ARENA_ARRAY(a, struct ks_zone_share, n);
    struct ks_quantity total = {0}, sum = {0};
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_zone(&nodes[i - 1], &nodes[i]) != 0) {
            zones[s->n++] = (struct ks_zone_share){.zone = nodes[i].node->zone};
            sum = (struct ks_quantity){0};
        }
        ks_quantity_add(&sum, &nodes[i].cpu);
        ks_quantity_add(&total, &nodes[i].cpu);
        zones[s->n - 1].milli_cpu = ks_quantity_milli(&sum);
        zones[s->n - 1].nodes++;
    }
    if (s->n < 2) {
        *s = (struct ks_zone_shares){.off = KS_SHARES_FEW_ZONES};
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        zones[i].ratio = (double)zones[i].milli_cpu / (double)ks_quantity_milli(&total);
    }
    s->zones = zones;
}

struct ks_zone_shares ks_zone_shares(struct arena *a, const struct ks_node *const *nodes, size_t n)
{
    struct ks_zone_shares s = {.off = KS_SHARES_FINE};
    struct counted *counted = ARENA_ARRAY(a, struct counted, n);
    size_t n_counted = 0;
    for (size_t i = 0; i < n; i++) {
        if (nodes[i]->control_plane || !nodes[i]->ready) {
            continue;
        }
        struct counted *c = &counted[n_counted++];
        c->node = nodes[i];
        if (str_is_empty(nodes[i]->zone) || !has_cpu(c)) {
            note_lacking(&s, nodes[i]);
        }
    }
    if (s.off == KS_SHARES_FINE) {
        qsort(counted, n_counted, sizeof(*counted), by_zone);
        add_up(a, counted, n_counted, &s);
    }
    return s;
}

/* ---- allocation ------------------------------------------------------------------------------ */

enum ks_hints_off ks_allocate(struct arena *a, const struct ks_zone_shares *shares, int64_t ready,
                              const struct ks_allocation **ret)
{
    *ret = NULL;
    if (shares->n == 0) {
        return KS_HINTS_NO_SHARES;
    }
    if ((int64_t)shares->n > ready) {
        return KS_HINTS_FEW_ENDPOINTS;
    }
    struct ks_allocation *zones = ARENA_ARRAY(a, struct ks_allocation, shares->n);
    int64_t minima = 0;
    for (size_t i = 0; i < shares->n; i++) {
        double desired = shares->zones[i].ratio * (double)ready;
        zones[i].zone = shares->zones[i].zone;
        zones[i].minimum = (int64_t)ceil(desired * OVERLOAD_FACTOR);
        zones[i].desired = fmax(desired, (double)zones[i].minimum);
        minima += zones[i].minimum;
    }
    if (minima > ready) {
        return KS_HINTS_OVERLOAD;
    }
    for (size_t i = 0; i < shares->n; i++) {
        zones[i].maximum = zones[i].minimum + ready - minima;
    }
    *ret = zones;
    return KS_HINTS_FINE;
}

const char *ks_hints_off_text(struct arena *a, enum ks_hints_off off, int64_t ready, size_t zones)
{
    switch (off) {
    case KS_HINTS_NO_SHARES:
        return "Insufficient Node information: allocatable CPU or zone not specified on one or "
               "more nodes";
    case KS_HINTS_FEW_ENDPOINTS:
        return arena_printf(a, "Insufficient number of endpoints (%lld endpoints, %zu zones)",
                            (long long)ready, zones);
    case KS_HINTS_OVERLOAD:
        return arena_printf(a,
                            "Unable to allocate minimum required endpoints to each zone without "
                            "exceeding overload threshold (%lld endpoints, %zu zones)",
                            (long long)ready, zones);
    case KS_HINTS_NO_ZONE:
        return "One or more endpoints do not have a zone specified";
    case KS_HINTS_FINE:
    case KS_HINTS_OFF_MAX:
        break;
    }
    return "";
}

/* ---- giving and receiving -------------------------------------------------------------------- */

/* A zone, and how many it has too many or too few. */
struct most_item {
    double amount;
    size_t zone;
};
/* The zones of one side, the greatest amount on top; of equal ones the lowest zone.
 * A binary heap. */
struct most {
    struct most_item *items;
    size_t n;
};

static bool goes_above(const struct most_item *a, const struct most_item *b)
{
    return a->amount != b->amount ? a->amount > b->amount : a->zone < b->zone;
}

static void swap_items(struct most_item *a, struct most_item *b)
{
    struct most_item was = *a;
    *a = *b;
    *b = was;
}

static void sink(struct most *m, size_t i)
{
    for (;;) {
        size_t top = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->n; child++) {
            top = goes_above(&m->items[child], &m->items[top]) ? child : top;
        }
        if (top == i) {
            return;
        }
        swap_items(&m->items[i], &m->items[top]);
        i = top;
    }
}

static void heapify(struct most *m)
{
    for (size_t i = m->n / 2; i-- > 0;) {
        sink(m, i);
    }
}

/* Takes one from the zone on top. */
static void take_one(struct most *m)
{
    m->items[0].amount -= 1;
    sink(m, 0);
}

void ks_give_receive(struct arena *a, const struct ks_allocation *zones, size_t n,
                     const int64_t *have, int64_t *give, int64_t *receive)
{
    struct most givers = {.items = ARENA_ARRAY(a, struct most_item, n)};
    struct most receivers = {.items = ARENA_ARRAY(a, struct most_item, n)};
    for (size_t i = 0; i < n; i++) {
        double hints = (double)have[i];
        give[i] = receive[i] = 0;
        if (hints > zones[i].desired) {
            givers.items[givers.n++] = (struct most_item){hints - zones[i].desired, i};
        } else if (hints < zones[i].desired) {
            receivers.items[receivers.n++] = (struct most_item){zones[i].desired - hints, i};
        }
    }
    heapify(&givers);
    heapify(&receivers);
    while (givers.n > 0 && receivers.n > 0) {
        const struct most_item *g = &givers.items[0], *r = &receivers.items[0];
        if ((g->amount < 1 && r->amount < 1) || g->amount < 0.5 || r->amount < 0.5) {
            break;
        }
        give[g->zone]++;
        receive[r->zone]++;
        take_one(&givers);
        take_one(&receivers);
    }
}

/* ---- overload -------------------------------------------------------------------------------- */
