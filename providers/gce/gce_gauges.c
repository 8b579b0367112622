/* SPDX-License-Identifier: Apache-2.0 */
/* gce_gauges.c: the counts behind the gauges (gce_gauges.h).
 *
 * A Service is 16 bytes in a table of digests: hash of its key, and a word of bits with the moment
 * since when it is in error.  A series is a number.  The gauges are set while the lock is held: two
 * syncs at the same time must not leave the older number. */
#include "providers/gce/gce_gauges.h"

#include "common/base/lock.h"
#include "common/base/str.h"
#include "providers/gce/model/gce_digests.h"

#include <stdlib.h>

#define BITS_MASK ((1u << GCE_GAUGE_BITS) - 1)
#define NEVER     INT64_MAX

struct count {
    uint32_t id; /* of the series */
    uint32_t n;
};
struct gce_gauges {
    const struct gce_l4_flags *flags;
    int64_t deadline_ms;
    struct mutex lock;
    struct gce_digests services _guarded_by_(lock);
    struct count *counts _guarded_by_(lock);
    size_t n_counts _guarded_by_(lock);
    size_t cap_counts _guarded_by_(lock);
    int64_t due_ms
        _guarded_by_(lock); /* when the first of those in error becomes a persistent one */
};

struct gce_gauges *gce_gauges_new(const struct gce_l4_flags *f, int64_t deadline_ms)
{
    struct gce_gauges *g = xcalloc(1, sizeof(*g));
    g->flags = f;
    g->deadline_ms = deadline_ms;
    mutex_init(&g->lock);
    mutex_lock(&g->lock);
    g->due_ms = NEVER;
    mutex_unlock(&g->lock);
    return g;
}

void gce_gauges_free(struct gce_gauges *g)
{
    if (g == NULL) {
        return;
    }
    mutex_lock(&g->lock);
    gce_digests_done(&g->services);
    free(g->counts);
    mutex_unlock(&g->lock);
    mutex_done(&g->lock);
    free(g);
}

/* ---- words ----------------------------------------------------------------------------------- */

static uint64_t word_of(uint32_t bits, int64_t since_ms)
{
    return (uint64_t)since_ms << GCE_GAUGE_BITS | bits;
}

static uint32_t bits_of(uint64_t word)
{
    return (uint32_t)(word & BITS_MASK);
}

static int64_t since_of(uint64_t word)
{
    return (int64_t)(word >> GCE_GAUGE_BITS);
}

static bool is_in_error(uint32_t bits)
{
    return gce_gauge_get(bits, GCE_GAUGE_STATUS) == GCE_STATUS_ERROR;
}

/* ---- counting -------------------------------------------------------------------------------- */

static struct count *count_of(struct gce_gauges *g, uint32_t id) _requires_(g->lock)
{
    for (size_t i = 0; i < g->n_counts; i++) {
        if (g->counts[i].id == id) {
            return &g->counts[i];
        }
    }
    if (g->n_counts == g->cap_counts) {
        g->cap_counts = g->cap_counts == 0 ? 32 : g->cap_counts * 2;
        g->counts = xrealloc(g->counts, g->cap_counts * sizeof(*g->counts));
    }
    g->counts[g->n_counts] = (struct count){.id = id};
    return &g->counts[g->n_counts++];
}

static bool has(const struct gce_gauge_series *all, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].id == id) {
            return true;
        }
    }
    return false;
}

static void count(struct gce_gauges *g, const struct tt_host *host,
                  const struct gce_gauge_series *series, bool more) _requires_(g->lock)
{
    struct count *c = count_of(g, series->id);
    c->n = more ? c->n + 1 : c->n - 1;
    host->metric_set(host->ctx, series->metric, series->labels, series->n_labels, (double)c->n);
}

static void move(struct gce_gauges *g, const struct tt_host *host, uint32_t from, uint32_t to)
    _requires_(g->lock)
{
    struct gce_gauge_series before[GCE_GAUGE_SERIES_MAX];
    struct gce_gauge_series after[GCE_GAUGE_SERIES_MAX];
    size_t n_before = gce_gauge_series_of(from, g->flags, before);
    size_t n_after = gce_gauge_series_of(to, g->flags, after);
    for (size_t i = 0; i < n_before; i++) {
        if (!has(after, n_after, before[i].id)) {
            count(g, host, &before[i], false);
        }
    }
    for (size_t i = 0; i < n_after; i++) {
        if (!has(before, n_before, after[i].id)) {
            count(g, host, &after[i], true);
        }
    }
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* Those whose deadline is over; goes through all only when there is one. */
static void look(struct gce_gauges *g, const struct tt_host *host, int64_t now_ms)
    _requires_(g->lock)
{
    if (now_ms < g->due_ms) {
        return;
    }
    g->due_ms = NEVER;
    for (size_t i = 0; i < g->services.cap; i++) {
        struct gce_digest *slot = &g->services.slots[i];
        uint32_t bits = bits_of(slot->value);
        if (slot->name == 0 || !is_in_error(bits)) {
            continue;
        }
        int64_t due = since_of(slot->value) + g->deadline_ms;
        if (due > now_ms) {
            g->due_ms = due < g->due_ms ? due : g->due_ms;
            continue;
        }
        uint32_t now = gce_gauge_with(bits, GCE_GAUGE_STATUS, GCE_STATUS_PERSISTENT_ERROR);
        slot->value = word_of(now, since_of(slot->value));
        move(g, host, bits, now);
    }
}

void gce_gauges_set(struct gce_gauges *g, const struct tt_host *host, const char *key,
                    uint32_t bits, int64_t now_ms)
{
    uint64_t was = 0;
    mutex_lock(&g->lock);
    bool known = gce_digests_get(&g->services, key, &was);
    bool was_good = !known || gce_gauge_get(bits_of(was), GCE_GAUGE_STATUS) == GCE_STATUS_SUCCESS;
    int64_t since = is_in_error(bits) && !was_good ? since_of(was) : now_ms;
    if (is_in_error(bits) && since + g->deadline_ms <= now_ms) {
        bits = gce_gauge_with(bits, GCE_GAUGE_STATUS, GCE_STATUS_PERSISTENT_ERROR);
    } else if (is_in_error(bits) && since + g->deadline_ms < g->due_ms) {
        g->due_ms = since + g->deadline_ms;
    }
    if (bits != 0) {
        gce_digests_set(&g->services, key, word_of(bits, since));
    } else if (known) {
        gce_digests_remove(&g->services, key);
    }
    if (bits_of(was) != bits) {
        move(g, host, bits_of(was), bits);
    }
    look(g, host, now_ms);
    mutex_unlock(&g->lock);
}

uint32_t gce_gauges_get(struct gce_gauges *g, const char *key)
{
    uint64_t word = 0;
    mutex_lock(&g->lock);
    (void)gce_digests_get(&g->services, key, &word);
    mutex_unlock(&g->lock);
    return bits_of(word);
}
