/* SPDX-License-Identifier: Apache-2.0 */
/* gce_snapshot.c: see gce_snapshot.h. */
#include "providers/gce/cache/gce_snapshot.h"

#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/net/url_build.h"
#include "providers/gce/cache/gce_store.h"
#include "providers/gce/model/gce_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 100000u /* of a kind */
#define SWEEP_AT  4096u   /* so many absent ones may be remembered before the old of them go */

struct kind {
    int64_t listed_ms; /* when the last complete list began; -1: never */
    bool unlistable;
};

struct gce_snapshot {
    struct clock *clock;
    struct mutex lock;
    struct cond changed; /* a fill ended */
    struct gce_store store _guarded_by_(lock);
    struct kind kinds[GCE_COLLECTION_MAX] _guarded_by_(lock);
    uint16_t last_fill _guarded_by_(lock);
    unsigned open_fills _guarded_by_(lock);
    unsigned absent _guarded_by_(lock); /* put since the last sweep */
    bool filling _guarded_by_(lock);
    uint64_t fills _guarded_by_(lock);
};

struct gce_fill {
    struct gce_snapshot *s;
    enum gce_collection kind;
    uint16_t number;
    uint32_t n;
    int64_t began_ms;
    bool over; /* more than ITEMS_MAX: not a list to keep */
    bool bad;  /* an item is no resource: what else is wrong with it? */
};

struct gce_snapshot *gce_snapshot_new(struct clock *clock)
{
    struct gce_snapshot *s = xcalloc(1, sizeof(*s));
    s->clock = clock;
    mutex_init(&s->lock);
    cond_init(&s->changed);
    mutex_lock(&s->lock);
    gce_store_init(&s->store);
    for (int k = 0; k < GCE_COLLECTION_MAX; k++) {
        s->kinds[k] = (struct kind){.listed_ms = -1};
    }
    mutex_unlock(&s->lock);
    return s;
}

void gce_snapshot_free(struct gce_snapshot *s)
{
    if (s == NULL) {
        return;
    }
    mutex_lock(&s->lock);
    gce_store_done(&s->store);
    mutex_unlock(&s->lock);
    cond_done(&s->changed);
    mutex_done(&s->lock);
    free(s);
}

/* ---- what lists say -------------------------------------------------------------------------- */

/* Others' firewalls, NEGs and groups are many: only names that begin like ours are listed.
 * Firewalls begin with "k8s", some of internal balancers on instance groups with "a" and a UID's
 * hexadecimal digits (gce-cloud-provider.md §5.1). */
static const struct {
    const char *prefix;
    const char *filter;
} listed[GCE_COLLECTION_MAX] = {
    [GCE_FIREWALLS] = {"", "name eq [ak][0-9a-f].*"},
    [GCE_NEGS] = {"k8s2-", "name eq k8s2-.*"},
    [GCE_GROUPS] = {"k8s-ig", "name eq k8s-ig.*"},
};

/* Is this a name that the list of the collection would show? */
static bool filter_covers(enum gce_collection c, const char *name)
{
    bool first = *name == 'a' || *name == 'k';
    if (c == GCE_FIREWALLS) {
        return first && name[1] != '\0' && strchr("0123456789abcdef", name[1]) != NULL;
    }
    return str_has_prefix(name, str_nonnull(listed[c].prefix));
}

bool gce_snapshot_keeps(enum gce_collection c)
{
    return gce_store_kept(c) != NULL;
}

bool gce_snapshot_lists(enum gce_collection c)
{
    return gce_snapshot_keeps(c) && c != GCE_SUBNETWORKS;
}

const char *gce_snapshot_filter(enum gce_collection c)
{
    return listed[c].filter;
}

static bool young(struct gce_snapshot *s, int64_t at_ms, int64_t max_age_ms)
{
    return at_ms >= 0 &&
           (max_age_ms == GCE_SNAPSHOT_ANY || clock_now_ms(s->clock) - at_ms <= max_age_ms);
}

/* Would a list of this age have shown the resource? */
static bool list_covers(struct gce_snapshot *s, const struct gce_key *key, int64_t max_age_ms)
    _requires_(s->lock)
{
    return young(s, s->kinds[key->c].listed_ms, max_age_ms) && filter_covers(key->c, key->name);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void give_back(void *arg)
{
    json_object_put(arg);
}

/* NULL: absent, or not to be read. */
static struct json_object *tree(const struct gce_entry *e, const char *name, struct arena *a)
{
    struct json_object *o = gce_store_tree(e, name);
    if (o != NULL) {
        arena_defer(a, give_back, o);
    }
    return o;
}

static enum gce_known entry_says(struct gce_snapshot *s, const struct gce_entry *e,
                                 int64_t max_age_ms)
{
    if (e->forgotten || !young(s, e->at_ms, max_age_ms)) {
        return GCE_UNKNOWN;
    }
    return e->text.n_text == 0 ? GCE_ABSENT : GCE_PRESENT;
}

static enum gce_known find(struct gce_snapshot *s, const struct gce_key *key, int64_t max_age_ms,
                           const struct gce_entry **ret) _requires_(s->lock)
{
    int zone = gce_store_zone(&s->store, key->zone, false);
    *ret = gce_store_find(&s->store, key->c, zone, key->name, 0);
    if (*ret == NULL) {
        return list_covers(s, key, max_age_ms) ? GCE_ABSENT : GCE_UNKNOWN;
    }
    return entry_says(s, *ret, max_age_ms);
}

enum gce_known gce_snapshot_view(struct gce_snapshot *s, const struct gce_key *key,
                                 int64_t max_age_ms, struct arena *a, const struct json_view **ret)
{
    const struct gce_entry *e;
    mutex_lock(&s->lock);
    enum gce_known known = find(s, key, max_age_ms, &e);
    if (known == GCE_PRESENT) {
        const struct json_view *v = gce_store_view(e, key->name, a);
        known = v != NULL ? GCE_PRESENT : GCE_UNKNOWN;
        *ret = v != NULL ? v : *ret;
    }
    mutex_unlock(&s->lock);
    return known;
}

enum gce_known gce_snapshot_get(struct gce_snapshot *s, const struct gce_key *key,
                                int64_t max_age_ms, struct arena *a, struct json_object **ret)
{
    const struct gce_entry *e;
    mutex_lock(&s->lock);
    enum gce_known known = find(s, key, max_age_ms, &e);
    if (known == GCE_PRESENT && ret != NULL) {
        struct json_object *o = tree(e, key->name, a);
        known = o != NULL ? GCE_PRESENT : GCE_UNKNOWN;
        *ret = o != NULL ? o : *ret;
    }
    mutex_unlock(&s->lock);
    return known;
}

/* Search among all entries of a kind. */
struct search {
    struct gce_snapshot *s;
    enum gce_collection kind;
    const char *needle;
    const char *except;
    struct arena *a;
    struct json_object *found;
    struct str_set names; /* of a search for several */
    bool is_found;
    bool is_unsure;
};

static void search(struct gce_snapshot *s, struct search *q,
                   void (*fn)(struct search *q, const struct gce_entry *e, const char *name));

struct search_visit {
    struct search *q;
    void (*fn)(struct search *q, const struct gce_entry *e, const char *name);
};

static void visit(const struct gce_visit *v, void *arg)
{
    const struct search_visit *sv = arg;
    for (const struct gce_entry *e = v->first; e != NULL && !sv->q->is_found; e = e->next) {
        if (e->kind == sv->q->kind && e->fill == 0) {
            sv->fn(sv->q, e, v->name);
        }
    }
}

static void search(struct gce_snapshot *s, struct search *q,
                   void (*fn)(struct search *q, const struct gce_entry *e, const char *name))
    _requires_(s->lock)
{
    struct search_visit sv = {.q = q, .fn = fn};
    gce_store_each(&s->store, visit, &sv);
}

static bool says(const struct gce_entry *e, const char *name, const char *needle)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    return gce_store_text(e, name, &b) && strstr(str_buf_text(&b), needle) != NULL;
}

static void match_address(struct search *q, const struct gce_entry *e, const char *name)
{
    if (e->forgotten) {
        q->is_unsure = true; /* it might be the one */
    } else if (says(e, name, q->needle)) {
        struct json_object *o = tree(e, name, q->a);
        q->is_found = str_eq(json_str(o, "address"), q->needle);
        q->found = o;
    }
}

enum gce_known gce_snapshot_address(struct gce_snapshot *s, const char *ip, int64_t max_age_ms,
                                    struct arena *a, struct json_object **ret)
{
    struct search q = {.kind = GCE_ADDRESSES, .needle = ip, .a = a};
    mutex_lock(&s->lock);
    enum gce_known known =
        young(s, s->kinds[GCE_ADDRESSES].listed_ms, max_age_ms) ? GCE_ABSENT : GCE_UNKNOWN;
    if (known == GCE_ABSENT) {
        search(s, &q, match_address);
        known = q.is_found ? GCE_PRESENT : q.is_unsure ? GCE_UNKNOWN : GCE_ABSENT;
        *ret = q.is_found ? q.found : *ret;
    }
    mutex_unlock(&s->lock);
    return known;
}

static void match_check(struct search *q, const struct gce_entry *e, const char *name)
{
    q->is_found = !str_eq(name, q->except) && says(e, name, q->needle);
}

bool gce_snapshot_check_is_used(struct gce_snapshot *s, const char *check, const char *except)
{
    char needle[160];
    (void)snprintf(needle, sizeof(needle), "/httpHealthChecks/%s\"", check);
    struct search q = {.kind = GCE_POOLS, .needle = needle, .except = except};
    mutex_lock(&s->lock);
    search(s, &q, match_check);
    mutex_unlock(&s->lock);
    return q.is_found;
}

static void match_deny(struct search *q, const struct gce_entry *e, const char *name)
{
    q->is_found = e->text.n_text > 0 && !str_eq(name, q->except) &&
                  str_has_prefix(name, "k8s-fw-") && str_has_suffix(name, "-deny");
}

static void collect_rule(struct search *q, const struct gce_entry *e, const char *name)
{
    if (says(e, name, q->needle)) {
        const char *one = arena_strdup(q->a, name);
        const struct str_set more = str_set_make(q->a, &one, 1);
        q->names = str_set_union(q->a, &q->names, &more);
    }
}

struct gce_strs gce_snapshot_rules_of(struct gce_snapshot *s, const char *backend, struct arena *a)
{
    const char *path = URL_RESOURCE_PATH(a, "", "backendServices", backend);
    struct search q = {.kind = GCE_RULES, .needle = arena_printf(a, "%s\"", path), .a = a};
    mutex_lock(&s->lock);
    search(s, &q, collect_rule);
    mutex_unlock(&s->lock);
    return gce_strs_of(a, q.names.items, q.names.n);
}

bool gce_snapshot_has_deny(struct gce_snapshot *s, const char *except)
{
    struct search q = {.kind = GCE_FIREWALLS, .except = except};
    mutex_lock(&s->lock);
    search(s, &q, match_deny);
    mutex_unlock(&s->lock);
    return q.is_found;
}

struct gce_strs gce_snapshot_zones(struct gce_snapshot *s, enum gce_collection c, const char *name,
                                   struct arena *a)
{
    mutex_lock(&s->lock);
    const char **zones = ARENA_ARRAY(a, const char *, s->store.n_zones + 1u);
    size_t n = 0;
    for (int zone = 1; zone <= s->store.n_zones; zone++) {
        const struct gce_entry *e = gce_store_find(&s->store, c, zone, name, 0);
        if (e != NULL && !e->forgotten && e->text.n_text > 0) {
            zones[n++] = arena_strdup(a, s->store.zones[zone - 1]);
        }
    }
    mutex_unlock(&s->lock);
    struct str_set set = str_set_make(a, zones, n);
    return gce_strs_of(a, set.items, set.n);
}

bool gce_snapshot_was_listed(struct gce_snapshot *s, unsigned kinds, int64_t max_age_ms)
{
    bool all = true;
    mutex_lock(&s->lock);
    for (int c = 0; c < GCE_COLLECTION_MAX; c++) {
        bool asked = (kinds & GCE_KIND(c)) != 0 && gce_snapshot_lists((enum gce_collection)c);
        const struct kind *k = &s->kinds[c];
        all = all && (!asked || k->unlistable || young(s, k->listed_ms, max_age_ms));
    }
    mutex_unlock(&s->lock);
    return all;
}

bool gce_snapshot_has_all(struct gce_snapshot *s, enum gce_collection kind)
{
    mutex_lock(&s->lock);
    bool has = s->kinds[kind].listed_ms >= 0;
    mutex_unlock(&s->lock);
    return has;
}

void gce_snapshot_set_unlistable(struct gce_snapshot *s, enum gce_collection kind)
{
    mutex_lock(&s->lock);
    s->kinds[kind].unlistable = true;
    mutex_unlock(&s->lock);
}

bool gce_snapshot_is_unlistable(struct gce_snapshot *s, enum gce_collection kind)
{
    mutex_lock(&s->lock);
    bool unlistable = s->kinds[kind].unlistable;
    mutex_unlock(&s->lock);
    return unlistable;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Drops old absent entries if a list confirms them. */
static void drop_old_absent(const struct gce_visit *v, void *arg)
{
    struct gce_snapshot *s = arg;
    for (struct gce_entry *e = v->first; e != NULL; e = e->next) {
        if (e->text.n_text == 0 && !e->forgotten && !young(s, e->at_ms, GCE_SNAPSHOT_AGE_MS) &&
            s->kinds[e->kind].listed_ms >= 0 &&
            filter_covers((enum gce_collection)e->kind, v->name)) {
            gce_store_drop(e);
        }
    }
}

static void sweep_absent(struct gce_snapshot *s) _requires_(s->lock)
{
    if (++s->absent >= SWEEP_AT && s->open_fills == 0) {
        gce_store_each(&s->store, drop_old_absent, s);
        s->absent = 0;
    }
}

static struct gce_entry *make(struct gce_snapshot *s, const struct gce_key *key) _requires_(s->lock)
{
    int zone = gce_store_zone(&s->store, key->zone, true);
    if (zone < 0 || !gce_snapshot_keeps(key->c)) {
        return NULL;
    }
    struct gce_entry *e = gce_store_make(&s->store, key->c, zone, key->name, 0);
    e->at_ms = clock_now_ms(s->clock);
    return e;
}

void gce_snapshot_put(struct gce_snapshot *s, const struct gce_key *key, struct json_object *o)
{
    mutex_lock(&s->lock);
    struct gce_entry *e = make(s, key);
    if (e != NULL) {
        gce_store_set(&s->store, e, key->name, o);
    }
    if (o == NULL) {
        sweep_absent(s);
    }
    mutex_unlock(&s->lock);
}

void gce_snapshot_forget(struct gce_snapshot *s, const struct gce_key *key)
{
    mutex_lock(&s->lock);
    struct gce_entry *e = make(s, key);
    if (e != NULL) {
        gce_store_set(&s->store, e, key->name, NULL);
        e->forgotten = true;
    }
    mutex_unlock(&s->lock);
}

/* ---- filling --------------------------------------------------------------------------------- */

struct gce_fill *gce_fill_begin(struct gce_snapshot *s, enum gce_collection kind)
{
    struct gce_fill *f = xcalloc(1, sizeof(*f));
    *f = (struct gce_fill){.s = s, .kind = kind, .began_ms = clock_now_ms(s->clock)};
    mutex_lock(&s->lock);
    s->open_fills++;
    s->last_fill = s->last_fill == UINT16_MAX ? 1 : (uint16_t)(s->last_fill + 1);
    f->number = s->last_fill;
    mutex_unlock(&s->lock);
    return f;
}

static const char *zone_of(const struct gce_fill *f, struct json_object *o)
{
    return gce_api_is_zonal(f->kind) ? gce_link_last(str_nonnull(json_str(o, "zone"))) : NULL;
}

void gce_fill_item(void *fill, const char *text, size_t n)
{
    struct gce_fill *f = fill;
    struct gce_snapshot *s = f->s;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (json_parse(text, n, NULL, &o, NULL) != ERR_OK || json_str(o, "name") == NULL ||
        !gce_api_is_one_of(f->kind, o) ||
        (gce_api_is_zonal(f->kind) && str_is_empty(zone_of(f, o)))) {
        f->bad = true;
        return;
    }
    f->over = f->over || f->n++ >= ITEMS_MAX;
    if (f->over) {
        return;
    }
    const char *name = json_str(o, "name");
    mutex_lock(&s->lock);
    int zone = gce_store_zone(&s->store, zone_of(f, o), true);
    struct gce_entry *e = gce_store_find(&s->store, f->kind, zone, name, 0);
    if (e != NULL && gce_store_says(e, name, o)) {
        e->seen = f->number; /* most of a list is as before: it is not kept twice meanwhile */
    } else if (zone >= 0) {
        e = gce_store_make(&s->store, f->kind, zone, name, f->number);
        e->at_ms = f->began_ms;
        gce_store_set(&s->store, e, name, o);
    }
    f->over = f->over || zone < 0;
    mutex_unlock(&s->lock);
}

bool gce_fill_is_bad(const struct gce_fill *f)
{
    return f->bad;
}

bool gce_fill_is_over(const struct gce_fill *f)
{
    return f->over;
}

static struct gce_entry *twin(const struct gce_visit *v, const struct gce_entry *of, uint16_t fill)
{
    struct gce_entry *e = v->first;
    while (e != NULL && (e->kind != of->kind || e->zone != of->zone || e->fill != fill)) {
        e = e->next;
    }
    return e;
}

/* The list has been read: what it brought is known, but for what we wrote meanwhile; what it did
 * not bring is absent. */
static void settle(const struct gce_visit *v, void *arg)
{
    const struct gce_fill *f = arg;
    for (struct gce_entry *e = v->first; e != NULL; e = e->next) {
        if (e->kind != f->kind) {
            continue;
        }
        if (e->fill == 0 && e->at_ms < f->began_ms && e->seen == f->number) {
            e->at_ms = f->began_ms;
        } else if (e->fill == 0 && e->at_ms < f->began_ms) {
            gce_store_drop(e);
        } else if (e->fill == 0) {
            struct gce_entry *brought = twin(v, e, f->number);
            if (brought != NULL) {
                gce_store_drop(brought);
            }
        }
    }
    for (struct gce_entry *e = v->first; e != NULL; e = e->next) {
        if (e->kind == f->kind && e->fill == f->number) {
            e->fill = 0;
        }
    }
}

static void forsake(const struct gce_visit *v, void *arg)
{
    const struct gce_fill *f = arg;
    for (struct gce_entry *e = v->first; e != NULL; e = e->next) {
        if (e->fill == f->number) {
            gce_store_drop(e);
        }
    }
}

void gce_fill_commit(struct gce_fill *f)
{
    struct gce_snapshot *s = f->s;
    mutex_lock(&s->lock);
    gce_store_each(&s->store, settle, f);
    s->kinds[f->kind].listed_ms = f->began_ms;
    s->open_fills--;
    mutex_unlock(&s->lock);
    free(f);
}

void gce_fill_drop(struct gce_fill *f)
{
    if (f == NULL) {
        return;
    }
    mutex_lock(&f->s->lock);
    gce_store_each(&f->s->store, forsake, f);
    f->s->open_fills--;
    mutex_unlock(&f->s->lock);
    free(f);
}

static void wake(void *arg)
{
    struct gce_snapshot *s = arg;
    mutex_lock(&s->lock);
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

bool gce_snapshot_claim(struct gce_snapshot *s, struct cancel *cancel)
{
    int hook = cancel_hook(cancel, wake, s);
    mutex_lock(&s->lock);
    uint64_t before = s->fills;
    while (s->filling && !cancel_fired(cancel)) {
        clock_wait(s->clock, &s->changed, &s->lock, CLOCK_NEVER);
    }
    bool mine = s->fills == before && !cancel_fired(cancel);
    s->filling = s->filling || mine;
    mutex_unlock(&s->lock);
    cancel_unhook(cancel, hook);
    return mine;
}

void gce_snapshot_filled(struct gce_snapshot *s)
{
    mutex_lock(&s->lock);
    s->filling = false;
    s->fills++;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}
