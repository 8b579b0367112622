/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_mirror.c: see gce_neg_mirror.h.
 *
 *     name of a NEG ─▶ its zones ─▶ { state, when to compare, numbers of members }
 *     number ─▶ endpoint (gce_neg_numbers.h), counted: freed with its last NEG
 *
 * One lock around everything; it is held for the length of a copy, never for a call. */
#include "providers/gce/cache/gce_neg_mirror.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/gce/cache/gce_neg_numbers.h"

#include <string.h>

/* One NEG, in one zone. */
struct place {
    int64_t due_ms; /* monotonic; CLOCK_NEVER: it is not compared */
    uint32_t n;
    uint16_t zone;
    uint8_t state;
    uint32_t members[];
};
/* All NEGs of one name. */
struct places {
    size_t n;
    struct place *items[];
};
struct gce_neg_mirror {
    struct clock *clock;
    struct rng *rng;
    int64_t period_ms;
    struct mutex lock;
    struct map *negs _guarded_by_(lock);            /* name → struct places */
    struct gce_numbers *numbers _guarded_by_(lock); /* of endpoints */
    char **zones _guarded_by_(lock);                /* zones are few and never forgotten */
    uint16_t n_zones _guarded_by_(lock);
};

/* ---- places ---------------------------------------------------------------------------------- */

static uint16_t zone_id(struct gce_neg_mirror *m, const char *zone) _requires_(m->lock)
{
    for (uint16_t i = 0; i < m->n_zones; i++) {
        if (str_eq(m->zones[i], zone)) {
            return i;
        }
    }
    m->zones = xrealloc(m->zones, ((size_t)m->n_zones + 1) * sizeof(*m->zones));
    m->zones[m->n_zones] = xstrdup(zone);
    return m->n_zones++;
}

static struct place **find(struct gce_neg_mirror *m, const char *zone, const char *name)
    _requires_(m->lock)
{
    struct places *all = map_get(m->negs, name);
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (str_eq(m->zones[all->items[i]->zone], zone)) {
            return &all->items[i];
        }
    }
    return NULL;
}

/* Where the NEG's place is, or is to be. */
static struct place **find_or_add(struct gce_neg_mirror *m, const char *zone, const char *name)
    _requires_(m->lock)
{
    struct place **at = find(m, zone, name);
    if (at != NULL) {
        return at;
    }
    struct places *all = map_take(m->negs, name);
    size_t n = all == NULL ? 0 : all->n;
    all = xrealloc(all, sizeof(*all) + (n + 1) * sizeof(*all->items));
    all->n = n + 1;
    all->items[n] = xcalloc(1, sizeof(struct place));
    all->items[n]->zone = zone_id(m, zone);
    all->items[n]->due_ms = CLOCK_NEVER;
    map_set(m->negs, name, all);
    return &all->items[n];
}

/* The same place with room for `n` members; those beyond are let go. */
static struct place *resize(struct place **at, size_t n)
{
    *at = xrealloc(*at, sizeof(struct place) + n * sizeof(uint32_t));
    return *at;
}

static void empty(struct gce_neg_mirror *m, struct place *p) _requires_(m->lock)
{
    for (uint32_t i = 0; i < p->n; i++) {
        gce_numbers_drop(m->numbers, p->members[i]);
    }
    p->n = 0;
}

/* Some time between half of the period and its end, so that NEGs that were listed together are not
 * always listed together; what was never listed, any time in it. */
static int64_t due_at(const struct gce_neg_mirror *m, enum gce_mirror_state state)
{
    if (m->period_ms <= 0) {
        return CLOCK_NEVER;
    }
    int64_t first = state == GCE_MIRROR_BY_SIZE ? 0 : m->period_ms / 2;
    uint64_t span = (uint64_t)(m->period_ms - first);
    return clock_now_ms(m->clock) + first + (int64_t)rng_below(m->rng, span + 1);
}

static void fill(struct gce_neg_mirror *m, const char *zone, const char *name,
                 enum gce_mirror_state state, const struct gce_endpoint *e, size_t n)
{
    mutex_lock(&m->lock);
    struct place **at = find_or_add(m, zone, name);
    empty(m, *at);
    struct place *p = resize(at, n);
    for (size_t i = 0; i < n; i++) {
        p->members[p->n++] = gce_numbers_take(m->numbers, &e[i]);
    }
    p->state = (uint8_t)state;
    p->due_ms = due_at(m, state);
    mutex_unlock(&m->lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct gce_neg_mirror *gce_neg_mirror_new(struct clock *clock, struct rng *rng, int64_t period_ms)
{
    struct gce_neg_mirror *m = xcalloc(1, sizeof(*m));
    mutex_init(&m->lock);
    m->clock = clock;
    m->rng = rng;
    m->period_ms = period_ms;
    m->negs = map_new(NULL);
    m->numbers = gce_numbers_new();
    return m;
}

static void places_free(struct places *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->items[i]);
    }
    free(all);
}

static bool free_one(const char *key, void *value, void *arg)
{
    (void)key;
    (void)arg;
    places_free(value);
    return true;
}

void gce_neg_mirror_free(struct gce_neg_mirror *m)
{
    if (m == NULL) {
        return;
    }
    mutex_lock(&m->lock);
    map_each(m->negs, free_one, NULL);
    map_free(m->negs);
    gce_numbers_free(m->numbers);
    for (uint16_t i = 0; i < m->n_zones; i++) {
        free(m->zones[i]);
    }
    free(m->zones);
    mutex_unlock(&m->lock);
    mutex_done(&m->lock);
    free(m);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int by_instance(const void *x, const void *y)
{
    const struct gce_endpoint *a = x;
    const struct gce_endpoint *b = y;
    int order = strcmp(a->instance, b->instance);
    order = order != 0 ? order : strcmp(a->ip, b->ip);
    return order != 0 ? order : strcmp(a->ipv6, b->ipv6);
}

enum gce_mirror_state gce_neg_mirror_get(struct gce_neg_mirror *m, const char *zone,
                                         const char *name, struct arena *a,
                                         struct gce_endpoint **ret, size_t *ret_n, bool *ret_due)
{
    enum gce_mirror_state state = GCE_MIRROR_UNKNOWN;
    *ret = NULL;
    *ret_n = 0;
    *ret_due = true;
    mutex_lock(&m->lock);
    struct place **at = find(m, zone, name);
    if (at != NULL && (*at)->state != GCE_MIRROR_UNKNOWN) {
        const struct place *p = *at;
        state = (enum gce_mirror_state)p->state;
        *ret = ARENA_ARRAY(a, struct gce_endpoint, p->n);
        *ret_n = p->n;
        *ret_due = p->due_ms <= clock_now_ms(m->clock);
        for (uint32_t i = 0; i < p->n; i++) {
            const struct gce_endpoint x = gce_numbers_get(m->numbers, p->members[i]);
            (*ret)[i] = (struct gce_endpoint){.instance = arena_strdup(a, x.instance),
                                              .ip = arena_strdup(a, x.ip),
                                              .ipv6 = arena_strdup(a, x.ipv6)};
        }
    }
    mutex_unlock(&m->lock);
    if (*ret_n > 0) {
        qsort(*ret, *ret_n, sizeof(**ret), by_instance);
    }
    return state;
}

enum gce_mirror_state gce_neg_mirror_state(struct gce_neg_mirror *m, const char *zone,
                                           const char *name, bool *ret_due)
{
    mutex_lock(&m->lock);
    struct place **at = find(m, zone, name);
    enum gce_mirror_state state =
        at == NULL ? GCE_MIRROR_UNKNOWN : (enum gce_mirror_state)(*at)->state;
    *ret_due = state == GCE_MIRROR_UNKNOWN || (*at)->due_ms <= clock_now_ms(m->clock);
    mutex_unlock(&m->lock);
    return state;
}

bool gce_neg_mirror_is_forgotten(struct gce_neg_mirror *m, const char *zone, const char *name)
{
    mutex_lock(&m->lock);
    struct place **at = find(m, zone, name);
    bool forgotten = at != NULL && (*at)->state == GCE_MIRROR_UNKNOWN;
    mutex_unlock(&m->lock);
    return forgotten;
}

struct gce_strs gce_neg_mirror_zones(struct gce_neg_mirror *m, struct arena *a, const char *name)
{
    struct gce_strs zones = {0};
    mutex_lock(&m->lock);
    const struct places *all = map_get(m->negs, name);
    size_t n = all == NULL ? 0 : all->n;
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = arena_strdup(a, m->zones[all->items[i]->zone]);
    }
    mutex_unlock(&m->lock);
    struct str_set set = str_set_make(a, names, n);
    zones = gce_strs_of(a, set.items, set.n);
    return zones;
}

/* ---- telling --------------------------------------------------------------------------------- */

void gce_neg_mirror_set(struct gce_neg_mirror *m, const char *zone, const char *name,
                        const struct gce_endpoint *e, size_t n)
{
    fill(m, zone, name, GCE_MIRROR_KNOWN, e, n);
}

void gce_neg_mirror_assume(struct gce_neg_mirror *m, const char *zone, const char *name,
                           const struct gce_endpoint *e, size_t n)
{
    fill(m, zone, name, GCE_MIRROR_BY_SIZE, e, n);
}

static void forget(struct gce_neg_mirror *m, struct place *p) _requires_(m->lock)
{
    empty(m, p);
    p->state = GCE_MIRROR_UNKNOWN;
    p->due_ms = CLOCK_NEVER;
}

/* The NEG that is about to be changed here; NULL when its members are not known, and then they stay
 * unknown: what was only taken for true by its size is no ground to build on. */
static struct place **find_known(struct gce_neg_mirror *m, const char *zone, const char *name)
    _requires_(m->lock)
{
    struct place **at = find(m, zone, name);
    if (at == NULL || (*at)->state == GCE_MIRROR_KNOWN) {
        return at;
    }
    forget(m, *at);
    return NULL;
}

/* By its number: a NEG of 3,000 is searched 3,000 times. */
static bool has(const struct gce_neg_mirror *m, const struct place *p, const struct gce_endpoint *e,
                uint32_t *ret_at) _requires_(m->lock)
{
    uint32_t id;
    bool known = gce_numbers_find(m->numbers, e, &id);
    for (uint32_t i = 0; known && i < p->n; i++) {
        if (p->members[i] == id) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

void gce_neg_mirror_add(struct gce_neg_mirror *m, const char *zone, const char *name,
                        const struct gce_endpoint *e, size_t n)
{
    uint32_t where;
    mutex_lock(&m->lock);
    struct place **at = find_known(m, zone, name);
    if (at != NULL) {
        struct place *p = resize(at, (*at)->n + n);
        for (size_t i = 0; i < n; i++) {
            if (!has(m, p, &e[i], &where)) {
                p->members[p->n++] = gce_numbers_take(m->numbers, &e[i]);
            }
        }
    }
    mutex_unlock(&m->lock);
}

void gce_neg_mirror_remove(struct gce_neg_mirror *m, const char *zone, const char *name,
                           const struct gce_endpoint *e, size_t n)
{
    uint32_t where;
    mutex_lock(&m->lock);
    struct place **at = find_known(m, zone, name);
    for (size_t i = 0; at != NULL && i < n; i++) {
        struct place *p = *at;
        if (has(m, p, &e[i], &where)) {
            gce_numbers_drop(m->numbers, p->members[where]);
            p->members[where] = p->members[--p->n];
        }
    }
    if (at != NULL) {
        (void)resize(at, (*at)->n);
    }
    mutex_unlock(&m->lock);
}

void gce_neg_mirror_forget(struct gce_neg_mirror *m, const char *zone, const char *name)
{
    mutex_lock(&m->lock);
    struct place **at = find(m, zone, name);
    if (at != NULL) {
        forget(m, *at);
    }
    mutex_unlock(&m->lock);
}

void gce_neg_mirror_drop(struct gce_neg_mirror *m, const char *zone, const char *name)
{
    mutex_lock(&m->lock);
    struct place **at = find(m, zone, name);
    if (at != NULL) {
        struct places *all = map_get(m->negs, name);
        empty(m, *at);
        free(*at);
        *at = all->items[--all->n];
        if (all->n == 0) {
            (void)map_remove(m->negs, name);
            free(all);
        }
    }
    mutex_unlock(&m->lock);
}
