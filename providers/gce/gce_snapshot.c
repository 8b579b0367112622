/* SPDX-License-Identifier: Apache-2.0 */
/* gce_snapshot.c: see gce_snapshot.h. */
#include "providers/gce/gce_snapshot.h"

#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of a pool as text, one per line; shared by the pools that have the same. */
struct member_list {
    unsigned refs;
    char key[17];
    char *text;
};

struct entry {
    char *text;                  /* compact JSON; NULL: absent */
    struct member_list *members; /* pools; or NULL */
    bool forgotten;              /* touched by something that failed: unknown */
    int64_t at_ms;               /* when it was read, written or forgotten */
};

struct kind {
    struct map *entries; /* name → struct entry */
    int64_t listed_ms;   /* when the last complete list began; -1: never */
    bool unlistable;
};

struct gce_snapshot {
    struct clock *clock;
    struct mutex lock;
    struct cond changed; /* a fill ended */
    struct kind kinds[GCE_SNAPSHOT_KINDS] _guarded_by_(lock);
    struct map *lists _guarded_by_(lock); /* member_list by key, borrowed */
    bool filling _guarded_by_(lock);
    uint64_t fills _guarded_by_(lock);
};

struct gce_fill {
    struct gce_snapshot *s;
    enum gce_collection kind;
    struct map *entries;
    int64_t began_ms;
    bool over; /* more than ITEMS_MAX: not a list to keep */
    bool bad;  /* an item is no resource: what else is wrong with it? */
};

#define ITEMS_MAX 100000u /* of a kind; some 40 MiB */

/* Members that are kept, per kind.  A pool's instances are kept apart. */
static const char *const kept[GCE_SNAPSHOT_KINDS][12] = {
    [GCE_ADDRESSES] = {"name", "description", "address", "addressType", "networkTier", NULL},
    [GCE_RULES] = {"name", "description", "IPAddress", "IPProtocol", "portRange", "target",
                   "backendService", "loadBalancingScheme", "networkTier", NULL},
    [GCE_POOLS] = {"name", "description", "sessionAffinity", "healthChecks", NULL},
    [GCE_FIREWALLS] = {"name", "description", "network", "direction", "sourceRanges",
                       "destinationRanges", "targetTags", "allowed", "denied", "priority",
                       "disabled", NULL},
    [GCE_CHECKS] = {"name", "description", "host", "requestPath", "port", "checkIntervalSec",
                    "timeoutSec", "healthyThreshold", "unhealthyThreshold", NULL},
};

/* ---- member lists -------------------------------------------------------------------------------- */

static struct member_list *list_ref(struct gce_snapshot *s, struct json_object *instances)
    _requires_(s->lock)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(instances); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(instances, i));
        str_appendf(&b, "%s\n", str_nonnull(text));
    }
    char key[17];
    (void)snprintf(key, sizeof(key), "%016llx",
                   (unsigned long long)hash_bytes(0, str_buf_text(&b), b.len));
    struct member_list *l = map_get(s->lists, key);
    if (l != NULL && str_eq(l->text, str_buf_text(&b))) {
        l->refs++;
        return l;
    }
    bool taken = l != NULL; /* two lists with one hash: this one is not shared */
    l = xcalloc(1, sizeof(*l));
    l->refs = 1;
    l->text = str_buf_steal(&b);
    if (!taken) {
        memcpy(l->key, key, sizeof(key));
        map_set(s->lists, key, l);
    }
    return l;
}

static void list_unref(struct gce_snapshot *s, struct member_list *l) _requires_(s->lock)
{
    if (l == NULL || --l->refs > 0) {
        return;
    }
    if (l->key[0] != '\0') {
        (void)map_remove(s->lists, l->key);
    }
    free(l->text);
    free(l);
}

static struct json_object *list_json(const struct member_list *l)
{
    struct json_object *array = json_object_new_array();
    for (const char *p = l->text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        json_object_array_add(array, json_object_new_string_len(p, (int)n));
        p += n + 1;
    }
    return array;
}

/* ---- entries ------------------------------------------------------------------------------------- */

static void entry_free(struct gce_snapshot *s, struct entry *e) _requires_(s->lock)
{
    if (e == NULL) {
        return;
    }
    list_unref(s, e->members);
    free(e->text);
    free(e);
}

static struct entry *entry_new(struct gce_snapshot *s, enum gce_collection kind,
                               struct json_object *o, int64_t at_ms) _requires_(s->lock)
{
    struct entry *e = xcalloc(1, sizeof(*e));
    e->at_ms = at_ms;
    if (o == NULL) {
        return e;
    }
    _cleanup_(json_putp) struct json_object *small = json_object_new_object();
    for (size_t i = 0; kept[kind][i] != NULL; i++) {
        struct json_object *v = json_member(o, kept[kind][i]);
        if (v != NULL) {
            json_add(small, kept[kind][i], json_object_get(v));
        }
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    json_print(&b, small, JSON_COMPACT);
    e->text = str_buf_steal(&b);
    if (kind == GCE_POOLS) {
        e->members = list_ref(s, json_member(o, "instances"));
    }
    return e;
}

/* Entries cannot be freed by the map itself: their member lists need the snapshot. */
static void entries_free(struct gce_snapshot *s, struct map *m) _requires_(s->lock)
{
    size_t n;
    const char **names = map_keys(m, &n);
    for (size_t i = 0; i < n; i++) {
        entry_free(s, map_get(m, names[i]));
    }
    free(names);
    map_free(m);
}

static void entry_set(struct gce_snapshot *s, struct map *m, const char *name, struct entry *e)
    _requires_(s->lock)
{
    entry_free(s, map_get(m, name));
    map_set(m, name, e);
}

struct gce_snapshot *gce_snapshot_new(struct clock *clock)
{
    struct gce_snapshot *s = xcalloc(1, sizeof(*s));
    s->clock = clock;
    mutex_init(&s->lock);
    cond_init(&s->changed);
    mutex_lock(&s->lock);
    s->lists = map_new(NULL);
    for (int k = 0; k < GCE_SNAPSHOT_KINDS; k++) {
        s->kinds[k] = (struct kind){.entries = map_new(NULL), .listed_ms = -1};
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
    for (int k = 0; k < GCE_SNAPSHOT_KINDS; k++) {
        entries_free(s, s->kinds[k].entries);
    }
    map_free(s->lists);
    mutex_unlock(&s->lock);
    cond_done(&s->changed);
    mutex_done(&s->lock);
    free(s);
}

/* ---- asking -------------------------------------------------------------------------------------- */

static bool young(struct gce_snapshot *s, int64_t at_ms, int64_t max_age_ms)
{
    return at_ms >= 0 &&
           (max_age_ms == GCE_SNAPSHOT_ANY || clock_now_ms(s->clock) - at_ms <= max_age_ms);
}

static struct json_object *entry_tree(const struct entry *e, struct arena *a)
{
    struct json_object *o;
    if (json_parse_arena(a, e->text, strlen(e->text), NULL, &o, NULL) != ERR_OK) {
        return NULL;
    }
    if (e->members != NULL) {
        json_add(o, "instances", list_json(e->members));
    }
    return o;
}

enum gce_known gce_snapshot_get(struct gce_snapshot *s, enum gce_collection kind, const char *name,
                                int64_t max_age_ms, struct arena *a, struct json_object **ret)
{
    enum gce_known known = GCE_UNKNOWN;
    mutex_lock(&s->lock);
    const struct kind *k = &s->kinds[kind];
    const struct entry *e = map_get(k->entries, name);
    if (e == NULL) {
        known = young(s, k->listed_ms, max_age_ms) ? GCE_ABSENT : GCE_UNKNOWN;
    } else if (e->forgotten || !young(s, e->at_ms, max_age_ms)) {
        known = GCE_UNKNOWN;
    } else if (e->text == NULL) {
        known = GCE_ABSENT;
    } else {
        struct json_object *o = entry_tree(e, a);
        known = o != NULL ? GCE_PRESENT : GCE_UNKNOWN;
        if (o != NULL) {
            *ret = o;
        }
    }
    mutex_unlock(&s->lock);
    return known;
}

enum gce_known gce_snapshot_address(struct gce_snapshot *s, const char *ip, int64_t max_age_ms,
                                    struct arena *a, struct json_object **ret)
{
    enum gce_known known;
    mutex_lock(&s->lock);
    const struct kind *k = &s->kinds[GCE_ADDRESSES];
    known = young(s, k->listed_ms, max_age_ms) ? GCE_ABSENT : GCE_UNKNOWN;
    size_t n = 0;
    const char **names = known == GCE_ABSENT ? map_keys(k->entries, &n) : NULL;
    for (size_t i = 0; i < n && known == GCE_ABSENT; i++) {
        const struct entry *e = map_get(k->entries, names[i]);
        if (e->forgotten) {
            known = GCE_UNKNOWN; /* it might be the one */
        } else if (e->text != NULL && strstr(e->text, ip) != NULL) {
            struct json_object *o = entry_tree(e, a);
            if (str_eq(json_str(o, "address"), ip)) {
                *ret = o;
                known = GCE_PRESENT;
            }
        }
    }
    free(names);
    mutex_unlock(&s->lock);
    return known;
}

bool gce_snapshot_check_is_used(struct gce_snapshot *s, const char *check, const char *except)
{
    char needle[160];
    (void)snprintf(needle, sizeof(needle), "/httpHealthChecks/%s\"", check);
    bool used = false;
    mutex_lock(&s->lock);
    size_t n;
    const char **names = map_keys(s->kinds[GCE_POOLS].entries, &n);
    for (size_t i = 0; i < n && !used; i++) {
        const struct entry *e = map_get(s->kinds[GCE_POOLS].entries, names[i]);
        used = e->text != NULL && !str_eq(names[i], except) && strstr(e->text, needle) != NULL;
    }
    free(names);
    mutex_unlock(&s->lock);
    return used;
}

bool gce_snapshot_has_deny(struct gce_snapshot *s, const char *except)
{
    bool found = false;
    mutex_lock(&s->lock);
    size_t n;
    const char **names = map_keys(s->kinds[GCE_FIREWALLS].entries, &n);
    for (size_t i = 0; i < n && !found; i++) {
        const struct entry *e = map_get(s->kinds[GCE_FIREWALLS].entries, names[i]);
        found = e->text != NULL && !str_eq(names[i], except) &&
                str_has_prefix(names[i], "k8s-fw-") && str_has_suffix(names[i], "-deny");
    }
    free(names);
    mutex_unlock(&s->lock);
    return found;
}

bool gce_snapshot_was_listed(struct gce_snapshot *s, int64_t max_age_ms)
{
    bool all = true;
    mutex_lock(&s->lock);
    for (int k = 0; k < GCE_SNAPSHOT_KINDS; k++) {
        all = all && (s->kinds[k].unlistable || young(s, s->kinds[k].listed_ms, max_age_ms));
    }
    mutex_unlock(&s->lock);
    return all;
}

bool gce_snapshot_has_all(struct gce_snapshot *s, enum gce_collection kind)
{
    mutex_lock(&s->lock);
    bool listed = s->kinds[kind].listed_ms >= 0;
    mutex_unlock(&s->lock);
    return listed;
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

/* ---- filling ------------------------------------------------------------------------------------- */

void gce_snapshot_put(struct gce_snapshot *s, enum gce_collection kind, const char *name,
                      struct json_object *o)
{
    mutex_lock(&s->lock);
    entry_set(s, s->kinds[kind].entries, name, entry_new(s, kind, o, clock_now_ms(s->clock)));
    mutex_unlock(&s->lock);
}

void gce_snapshot_forget(struct gce_snapshot *s, enum gce_collection kind, const char *name)
{
    mutex_lock(&s->lock);
    struct entry *e = entry_new(s, kind, NULL, clock_now_ms(s->clock));
    e->forgotten = true;
    entry_set(s, s->kinds[kind].entries, name, e);
    mutex_unlock(&s->lock);
}

struct gce_fill *gce_fill_begin(struct gce_snapshot *s, enum gce_collection kind)
{
    struct gce_fill *f = xcalloc(1, sizeof(*f));
    *f = (struct gce_fill){
        .s = s, .kind = kind, .entries = map_new(NULL), .began_ms = clock_now_ms(s->clock)};
    return f;
}

void gce_fill_item(void *fill, const char *text, size_t n)
{
    struct gce_fill *f = fill;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (json_parse(text, n, NULL, &o, NULL) != ERR_OK || json_str(o, "name") == NULL ||
        !gce_api_is_one_of(f->kind, o)) {
        f->bad = true;
        return;
    }
    f->over = f->over || map_size(f->entries) >= ITEMS_MAX;
    if (f->over) {
        return;
    }
    mutex_lock(&f->s->lock);
    entry_set(f->s, f->entries, json_str(o, "name"), entry_new(f->s, f->kind, o, f->began_ms));
    mutex_unlock(&f->s->lock);
}

bool gce_fill_is_bad(const struct gce_fill *f)
{
    return f->bad;
}

bool gce_fill_is_over(const struct gce_fill *f)
{
    return f->over;
}

void gce_fill_commit(struct gce_fill *f)
{
    struct gce_snapshot *s = f->s;
    mutex_lock(&s->lock);
    struct kind *k = &s->kinds[f->kind];
    size_t n;
    const char **names = map_keys(k->entries, &n);
    for (size_t i = 0; i < n; i++) {
        struct entry *e = map_get(k->entries, names[i]);
        if (e != NULL && e->at_ms >= f->began_ms) {
            entry_set(s, f->entries, names[i], e);
            map_set(k->entries, names[i], NULL);
        }
    }
    free(names);
    entries_free(s, k->entries);
    k->entries = f->entries;
    k->listed_ms = f->began_ms;
    mutex_unlock(&s->lock);
    free(f);
}

void gce_fill_drop(struct gce_fill *f)
{
    if (f == NULL) {
        return;
    }
    mutex_lock(&f->s->lock);
    entries_free(f->s, f->entries);
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
