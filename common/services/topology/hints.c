/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c: hints written into slices, by zone shares or by spec.trafficDistribution; see
 * topology.h.
 *
 * Slices are never changed in place: each one that is written is a copy with endpoints
 * of its own. */
#include "common/services/topology/topology.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* ---- slices that may be written -------------------------------------------------------------- */

/* The lists while hints are written: endpoints[i] belongs to update or create number i. */
struct draft {
    struct ks_slice *create;
    struct ks_slice *update;
    const struct ks_slice **unchanged;
    size_t n_create;
    size_t n_update;
    size_t n_unchanged;
};

static struct ks_slice copied(struct arena *a, const struct ks_slice *s)
{
    struct ks_slice copy = *s;
    copy.endpoints = s->n_endpoints == 0
                         ? NULL
                         : arena_memdup(a, s->endpoints, s->n_endpoints * sizeof(*s->endpoints));
    return copy;
}

static struct draft draft_of(struct arena *a, const struct ks_slice_lists *lists)
{
    struct draft d = {.create = ARENA_ARRAY(a, struct ks_slice, lists->n_create),
                      .update =
                          ARENA_ARRAY(a, struct ks_slice, lists->n_update + lists->n_unchanged),
                      .unchanged = ARENA_ARRAY(a, const struct ks_slice *, lists->n_unchanged),
                      .n_create = lists->n_create,
                      .n_update = lists->n_update};
    for (size_t i = 0; i < lists->n_create; i++) {
        d.create[i] = copied(a, lists->create[i]);
    }
    for (size_t i = 0; i < lists->n_update; i++) {
        d.update[i] = copied(a, lists->update[i]);
    }
    return d;
}

static const struct ks_slice *const *pointers(struct arena *a, const struct ks_slice *slices,
                                              size_t n)
{
    const struct ks_slice **list = ARENA_ARRAY(a, const struct ks_slice *, n);
    for (size_t i = 0; i < n; i++) {
        list[i] = &slices[i];
    }
    return list;
}

static struct ks_slice_lists lists_of(struct arena *a, const struct draft *d)
{
    return (struct ks_slice_lists){.create = pointers(a, d->create, d->n_create),
                                   .update = pointers(a, d->update, d->n_update),
                                   .unchanged = d->unchanged,
                                   .n_create = d->n_create,
                                   .n_update = d->n_update,
                                   .n_unchanged = d->n_unchanged};
}

/* The endpoints of a copy that this file made itself. */
static struct ks_slice_endpoint *endpoints_of(struct ks_slice *copy)
{
    return (struct ks_slice_endpoint *)copy->endpoints;
}

static bool is_ready(const struct ks_slice_endpoint *e)
{
    return e->ready == KS_TRUE;
}

static void clear_hints(struct ks_slice_endpoint *e)
{
    e->has_hints = false;
    e->zone_hints = e->node_hints = NULL;
    e->n_zone_hints = e->n_node_hints = 0;
}

static void hint_zone(struct arena *a, struct ks_slice_endpoint *e, const char *zone)
{
    clear_hints(e);
    e->has_hints = true;
    e->zone_hints = arena_memdup(a, &zone, sizeof(zone));
    e->n_zone_hints = 1;
}

/* ---- by spec.trafficDistribution ------------------------------------------------------------- */

enum distribution {
    DISTRIBUTE_NONE = 0,
    DISTRIBUTE_ZONE,
    DISTRIBUTE_NODE,
};

static enum distribution distribution_of(const char *text)
{
    if (str_eq(text, "PreferClose") || str_eq(text, "PreferSameZone")) {
        return DISTRIBUTE_ZONE;
    }
    return str_eq(text, "PreferSameNode") ? DISTRIBUTE_NODE : DISTRIBUTE_NONE;
}

/* The zone or node an endpoint is to be hinted for; NULL for none. */
static const char *zone_wanted(const struct ks_slice_endpoint *e, enum distribution how)
{
    return how == DISTRIBUTE_NONE || str_is_empty(e->zone) ? NULL : e->zone;
}

static const char *node_wanted(const struct ks_slice_endpoint *e, enum distribution how)
{
    return how != DISTRIBUTE_NODE || str_is_empty(e->node_name) ? NULL : e->node_name;
}

static bool is_only(const char *const *hints, size_t n, const char *wanted)
{
    return wanted == NULL ? n == 0 : n == 1 && str_eq(hints[0], wanted);
}

/* True when the endpoint's hints are what the Service wants, or none of its business. */
static bool is_as_wanted(const struct ks_slice_endpoint *e, enum distribution how)
{
    if (how == DISTRIBUTE_NONE) {
        return !e->has_hints;
    }
    const char *zone = zone_wanted(e, how), *node = node_wanted(e, how);
    return !is_ready(e) || (e->has_hints == (zone != NULL || node != NULL) &&
                            is_only(e->zone_hints, e->n_zone_hints, zone) &&
                            is_only(e->node_hints, e->n_node_hints, node));
}

static void distribute(struct arena *a, struct ks_slice *copy, enum distribution how)
{
    for (size_t i = 0; i < copy->n_endpoints; i++) {
        struct ks_slice_endpoint *e = &endpoints_of(copy)[i];
        if (is_as_wanted(e, how)) {
            continue;
        }
        const char *zone = zone_wanted(e, how), *node = node_wanted(e, how);
        clear_hints(e);
        e->has_hints = zone != NULL || node != NULL;
        e->n_zone_hints = zone != NULL ? 1 : 0;
        e->n_node_hints = node != NULL ? 1 : 0;
        e->zone_hints = zone != NULL ? arena_memdup(a, &zone, sizeof(zone)) : NULL;
        e->node_hints = node != NULL ? arena_memdup(a, &node, sizeof(node)) : NULL;
    }
}

struct ks_slice_lists ks_hints_by_distribution(struct arena *a, const char *distribution,
                                               const struct ks_slice_lists *lists)
{
    enum distribution how = distribution_of(distribution);
    struct draft d = draft_of(a, lists);
    for (size_t i = 0; i < lists->n_unchanged; i++) {
        const struct ks_slice *s = lists->unchanged[i];
        bool fine = true;
        for (size_t k = 0; k < s->n_endpoints && fine; k++) {
            fine = is_as_wanted(&s->endpoints[k], how);
        }
        if (fine) {
            d.unchanged[d.n_unchanged++] = s;
        } else {
            d.update[d.n_update++] = copied(a, s);
        }
    }
    for (size_t i = 0; i < d.n_create; i++) {
        distribute(a, &d.create[i], how);
    }
    for (size_t i = 0; i < d.n_update; i++) {
        distribute(a, &d.update[i], how);
    }
    return lists_of(a, &d);
}

/* ---- by zone shares -------------------------------------------------------------------------- */

bool ks_wants_zone_shares(const struct ks_service *service)
{
    const struct ks_meta *m = &service->meta;
    const char *value =
        ks_kv(m->annotations, m->n_annotations, "service.kubernetes.io/topology-aware-hints");
    if (value == NULL) {
        value = ks_kv(m->annotations, m->n_annotations, "service.kubernetes.io/topology-mode");
    }
    return str_eq(value, "Auto") || str_eq(value, "auto");
}

/* Everything one call works on. */
struct hinting {
    struct arena *a;
    const struct ks_allocation *zones; /* of the shares, sorted by name */
    size_t n_zones;
    int64_t *have;  /* hints counted, per zone of the shares */
    int64_t *slice; /* the same of one slice; all 0 in between */
    struct draft d;
};

static int64_t count_ready(const struct ks_slice *const *slices, size_t n)
{
    int64_t ready = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < slices[i]->n_endpoints; k++) {
            ready += is_ready(&slices[i]->endpoints[k]) ? 1 : 0;
        }
    }
    return ready;
}

/* The index of a zone of the shares; n_zones when it is not one. */
static size_t zone_index(const struct hinting *h, const char *zone)
{
    size_t low = 0, high = h->n_zones;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(h->zones[mid].zone, zone);
        if (order == 0) {
            return mid;
        }
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return h->n_zones;
}

/* Counts one slice's hints into h->slice.  False when a ready endpoint has none, or one
 * for an unknown zone. */
static bool count_hints(struct hinting *h, const struct ks_slice *s, bool add)
{
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        if (!is_ready(e)) {
            continue;
        }
        if (e->n_zone_hints == 0) {
            return false;
        }
        for (size_t k = 0; k < e->n_zone_hints; k++) {
            size_t zone = zone_index(h, e->zone_hints[k]);
            if (zone == h->n_zones) {
                return false;
            }
            h->slice[zone] += add ? 1 : -1;
        }
    }
    return true;
}

/* True when a slice may stay: all its hints are right, and with those of slices before it no zone
 * exceeds its maximum.  Its hints are counted then. */
static bool keep_hints(struct hinting *h, const struct ks_slice *s)
{
    bool keep = count_hints(h, s, true);
    for (size_t i = 0; i < s->n_endpoints && keep; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        for (size_t k = 0; k < e->n_zone_hints && is_ready(e) && keep; k++) {
            size_t zone = zone_index(h, e->zone_hints[k]);
            keep = h->have[zone] + h->slice[zone] <= h->zones[zone].maximum;
        }
    }
    for (size_t i = 0; i < s->n_endpoints && keep; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        for (size_t k = 0; k < e->n_zone_hints && is_ready(e); k++) {
            h->have[zone_index(h, e->zone_hints[k])]++;
        }
    }
    (void)count_hints(h, s, false); /* takes away what it added, up to the same endpoint */
    return keep;
}

/* Calls fn for each ready endpoint of slices to create and to update; false when fn said so. */
static bool each_written(struct hinting *h,
                         bool (*fn)(struct hinting *h, struct ks_slice_endpoint *e, void *arg),
                         void *arg)
{
    struct draft *d = &h->d;
    for (size_t i = 0; i < d->n_create + d->n_update; i++) {
        struct ks_slice *s = i < d->n_create ? &d->create[i] : &d->update[i - d->n_create];
        for (size_t k = 0; k < s->n_endpoints; k++) {
            struct ks_slice_endpoint *e = &endpoints_of(s)[k];
            if (is_ready(e) && !fn(h, e, arg)) {
                return false;
            }
        }
    }
    return true;
}

/* Step 2: an endpoint's own zone. */
static bool hint_own_zone(struct hinting *h, struct ks_slice_endpoint *e, void *arg)
{
    (void)arg;
    if (str_is_empty(e->zone)) {
        return false;
    }
    size_t zone = zone_index(h, e->zone);
    if (zone < h->n_zones) {
        h->have[zone]++;
    }
    hint_zone(h->a, e, e->zone);
    return true;
}

struct exchange {
    int64_t *give;
    int64_t *receive;
    size_t receiver; /* no zone before it has anything left to receive */
};

/* Step 4: an endpoint of a zone that gives goes to one that receives. */
static bool exchange_hint(struct hinting *h, struct ks_slice_endpoint *e, void *arg)
{
    struct exchange *x = arg;
    while (x->receiver < h->n_zones && x->receive[x->receiver] == 0) {
        x->receiver++;
    }
    size_t giver = zone_index(h, e->zone);
    if (x->receiver == h->n_zones) {
        return false;
    }
    if (giver < h->n_zones && x->give[giver] > 0) {
        hint_zone(h->a, e, h->zones[x->receiver].zone);
        x->give[giver]--;
        h->have[giver]--;
        x->receive[x->receiver]--;
        h->have[x->receiver]++;
    }
    return true;
}

static void exchange_hints(struct hinting *h)
{
    struct exchange x = {.give = ARENA_ARRAY(h->a, int64_t, h->n_zones),
                         .receive = ARENA_ARRAY(h->a, int64_t, h->n_zones)};
    ks_give_receive(h->a, h->zones, h->n_zones, h->have, x.give, x.receive);
    (void)each_written(h, exchange_hint, &x); /* stops when nothing is left to receive */
}

struct zone_names {
    const char **names;
    size_t n;
};

/* Collects hints for zones that the shares do not know. */
static bool collect_unknown(struct hinting *h, struct ks_slice_endpoint *e, void *arg)
{
    struct zone_names *z = arg;
    if (zone_index(h, e->zone) == h->n_zones) {
        z->names[z->n++] = e->zone;
    }
    return true;
}

static int by_zone_name(const void *x, const void *y)
{
    return strcmp(((const struct ks_zone_count *)x)->zone, ((const struct ks_zone_count *)y)->zone);
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* All counts, also of zones that the shares do not know. */
static struct ks_zone_counts counts_of(struct hinting *h, int64_t ready)
{
    struct zone_names z = {.names = ARENA_ARRAY(h->a, const char *, (size_t)ready)};
    (void)each_written(h, collect_unknown, &z);
    qsort(z.names, z.n, sizeof(*z.names), by_text);
    struct ks_zone_count *counts = ARENA_ARRAY(h->a, struct ks_zone_count, h->n_zones + z.n);
    size_t n = 0;
    for (size_t i = 0; i < h->n_zones; i++) {
        counts[n++] = (struct ks_zone_count){h->zones[i].zone, h->have[i]};
    }
    for (size_t i = 0; i < z.n; i++) {
        if (i == 0 || strcmp(z.names[i - 1], z.names[i]) != 0) {
            counts[n++] = (struct ks_zone_count){z.names[i], 0};
        }
        counts[n - 1].hints++;
    }
    qsort(counts, n, sizeof(*counts), by_zone_name);
    return (struct ks_zone_counts){.zones = counts, .n = n};
}

static void add_event(struct arena *a, struct ks_hints *r, bool warning, const char *text,
                      enum ks_family family)
{
    struct ks_event e = {
        .type = warning ? "Warning" : "Normal",
        .reason = warning ? "TopologyAwareHintsDisabled" : "TopologyAwareHintsEnabled",
        .message = arena_printf(a, "%s, addressType: %s", text, ks_address_type(family))};
    r->events = arena_memdup(a, &e, sizeof(e));
    r->n_events = 1;
}

struct ks_hints ks_hints_by_shares(struct arena *a, const struct ks_zone_shares *shares,
                                   enum ks_family family, const struct ks_slice_lists *lists,
                                   bool on_before)
{
    struct ks_hints r = {.on = false};
    struct hinting h = {.a = a, .n_zones = shares->n};
    int64_t ready = count_ready(lists->create, lists->n_create) +
                    count_ready(lists->update, lists->n_update) +
                    count_ready(lists->unchanged, lists->n_unchanged);
    r.off = ks_allocate(a, shares, ready, &h.zones);
    if (r.off == KS_HINTS_FINE) {
        h.d = draft_of(a, lists);
        h.have = ARENA_ARRAY(a, int64_t, h.n_zones);
        h.slice = ARENA_ARRAY(a, int64_t, h.n_zones);
        for (size_t i = 0; i < lists->n_unchanged; i++) {
            const struct ks_slice *s = lists->unchanged[i];
            if (keep_hints(&h, s)) {
                h.d.unchanged[h.d.n_unchanged++] = s;
            } else {
                h.d.update[h.d.n_update++] = copied(a, s);
            }
        }
        r.off = each_written(&h, hint_own_zone, NULL) ? KS_HINTS_FINE : KS_HINTS_NO_ZONE;
    }
    if (r.off != KS_HINTS_FINE) {
        /* As upstream: what stopped being unchanged before the safeguard spoke is written
         * all the same. */
        const struct ks_slice_lists now = lists_of(a, &h.d);
        r.lists = ks_hints_by_distribution(a, NULL, h.have != NULL ? &now : lists);
        add_event(a, &r, true, ks_hints_off_text(a, r.off, ready, shares->n), family);
        return r;
    }
    exchange_hints(&h);
    r.on = true;
    r.counts = counts_of(&h, ready);
    r.lists = lists_of(a, &h.d);
    if (!on_before) {
        add_event(a, &r, false, "Topology Aware Hints has been enabled", family);
    }
    return r;
}
