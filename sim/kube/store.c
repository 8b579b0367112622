/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: sorted arrays of objects, one per kind, and the ring of recent changes.  See store.h.
 *
 * Thread rule: the simulator's loop only. */
#include "sim/kube/store.h"

#include "common/base/str.h"
#include "common/data/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shelf {
    struct kube_obj **objs; /* sorted by key */
    size_t n, cap;
    struct kube_event *ring; /* KUBE_WINDOW of them, made at the first change */
    size_t first, n_events;
    int64_t oldest; /* changes up to this version are gone */
};

struct kube_db {
    struct shelf *shelves;
    int n_stores;
    int64_t rv;
    void (*on_event)(void *arg, int store, const struct kube_event *ev);
    void *on_event_arg;
};

struct kube_db *kube_db_new(int n_stores)
{
    struct kube_db *s = xcalloc(1, sizeof(*s));
    s->shelves = xcalloc((size_t)n_stores, sizeof(*s->shelves));
    s->n_stores = n_stores;
    return s;
}

static void forget_events(struct shelf *h)
{
    for (size_t i = 0; i < h->n_events; i++) {
        struct kube_event *ev = &h->ring[(h->first + i) % KUBE_WINDOW];
        kube_obj_unref(ev->now);
        kube_obj_unref(ev->prev);
    }
    h->n_events = 0;
    h->first = 0;
}

static void empty_shelf(struct shelf *h)
{
    forget_events(h);
    for (size_t i = 0; i < h->n; i++) {
        kube_obj_unref(h->objs[i]);
    }
    h->n = 0;
}

void kube_db_free(struct kube_db *s)
{
    if (!s) {
        return;
    }
    for (int i = 0; i < s->n_stores; i++) {
        empty_shelf(&s->shelves[i]);
        free(s->shelves[i].objs);
        free(s->shelves[i].ring);
    }
    free(s->shelves);
    free(s);
}

void kube_db_on_event(struct kube_db *s,
                      void (*fn)(void *arg, int store, const struct kube_event *ev), void *arg)
{
    s->on_event = fn;
    s->on_event_arg = arg;
}

int64_t kube_db_rv(const struct kube_db *s)
{
    return s->rv;
}

int64_t kube_db_oldest(const struct kube_db *s, int store)
{
    return s->shelves[store].oldest;
}

size_t kube_db_count(const struct kube_db *s, int store)
{
    return s->shelves[store].n;
}

/* --- object versions -------------------------------------------------------------------------- */
struct kube_obj *kube_obj_ref(struct kube_obj *o)
{
    if (o) {
        o->refs++;
    }
    return o;
}

void kube_obj_unref(struct kube_obj *o)
{
    if (o && --o->refs == 0) {
        free(o->key);
        free(o->text);
        free(o);
    }
}

void kube_objs_free(struct kube_obj **objs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kube_obj_unref(objs[i]);
    }
    free(objs);
}

static char *make_key(const char *ns, const char *name)
{
    return str_is_empty(ns) ? xstrdup(name) : xasprintf("%s/%s", ns, name);
}

/* Metadata first, kind and apiVersion left out. */
void kube_db_print(struct str_buf *b, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    str_append(b, "{\"metadata\":");
    if (meta) {
        json_print(b, meta, JSON_COMPACT);
    } else {
        str_append(b, "{}");
    }
    json_object_object_foreach(o, key, value)
    {
        if (str_eq(key, "metadata") || str_eq(key, "kind") || str_eq(key, "apiVersion")) {
            continue;
        }
        str_append_c(b, ',');
        str_append_json_quoted(b, key);
        str_append_c(b, ':');
        json_print(b, value, JSON_COMPACT);
    }
    str_append_c(b, '}');
}

static struct kube_obj *new_obj(char *key, struct json_object *o, int64_t rv)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    kube_db_print(&b, o);
    struct kube_obj *obj = xcalloc(1, sizeof(*obj));
    obj->refs = 1;
    obj->rv = rv;
    obj->key = key;
    obj->len = b.len;
    obj->text = xrealloc(str_buf_steal(&b), obj->len + 1);
    return obj;
}

const struct json_limits kube_json_limits = {.max_depth = 1000, .allow_nul = true};

static struct json_object *parse_trusted(const char *text, size_t n)
{
    struct json_object *tree = NULL;
    if (json_parse(text, n, &kube_json_limits, &tree, NULL) != ERR_OK) {
        return json_object_new_object(); /* we printed it ourselves */
    }
    return tree;
}

struct json_object *kube_obj_tree(const struct kube_obj *o)
{
    return parse_trusted(o->text, o->len);
}

/* The length of the JSON object that begins at s. */
static size_t object_len(const char *s)
{
    int depth = 0;
    bool in_string = false;
    for (const char *p = s; *p; p++) {
        if (in_string) {
            if (*p == '\\' && p[1]) {
                p++;
            } else if (*p == '"') {
                in_string = false;
            }
        } else if (*p == '"') {
            in_string = true;
        } else if (*p == '{') {
            depth++;
        } else if (*p == '}' && --depth == 0) {
            return (size_t)(p - s) + 1;
        }
    }
    return strlen(s);
}

struct json_object *kube_obj_meta(const struct kube_obj *o)
{
    const char *meta = o->text + strlen("{\"metadata\":");
    return parse_trusted(meta, object_len(meta));
}

const char *kube_obj_name(const struct kube_obj *o)
{
    const char *slash = strchr(o->key, '/');
    return slash ? slash + 1 : o->key;
}

char *kube_obj_ns(const struct kube_obj *o, struct arena *a)
{
    const char *slash = strchr(o->key, '/');
    return slash ? arena_strndup(a, o->key, (size_t)(slash - o->key)) : arena_strdup(a, "");
}

/* --- finding ---------------------------------------------------------------------------------- */
/* Index of the first object whose key is not less than `key`. */
static size_t lower_bound(struct kube_obj *const *objs, size_t n, const char *key)
{
    size_t lo = 0;
    size_t hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(objs[mid]->key, key) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static bool found_at(struct kube_obj *const *objs, size_t n, const char *key, size_t *ret_i)
{
    *ret_i = lower_bound(objs, n, key);
    return *ret_i < n && strcmp(objs[*ret_i]->key, key) == 0;
}

struct kube_obj *kube_db_get(const struct kube_db *s, int store, const char *ns, const char *name)
{
    const struct shelf *h = &s->shelves[store];
    char *key = make_key(ns, name);
    size_t i = 0;
    bool found = found_at(h->objs, h->n, key, &i);
    free(key);
    return found ? h->objs[i] : NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */
/* Takes over both references. */
static void remember(struct kube_db *s, int store, enum kube_event_type type, struct kube_obj *now,
                     struct kube_obj *prev)
{
    struct shelf *h = &s->shelves[store];
    if (!h->ring) {
        h->ring = xcalloc(KUBE_WINDOW, sizeof(*h->ring));
    }
    if (h->n_events == KUBE_WINDOW) {
        struct kube_event *old = &h->ring[h->first];
        h->oldest = old->rv;
        kube_obj_unref(old->now);
        kube_obj_unref(old->prev);
        h->first = (h->first + 1) % KUBE_WINDOW;
        h->n_events--;
    }
    struct kube_event *ev = &h->ring[(h->first + h->n_events++) % KUBE_WINDOW];
    *ev = (struct kube_event){.rv = now->rv, .type = type, .now = now, .prev = prev};
    if (s->on_event) {
        s->on_event(s->on_event_arg, store, ev);
    }
}

static void insert_at(struct shelf *h, size_t i, struct kube_obj *o)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->objs = xrealloc(h->objs, h->cap * sizeof(*h->objs));
    }
    memmove(&h->objs[i + 1], &h->objs[i], (h->n - i) * sizeof(*h->objs));
    h->objs[i] = o;
    h->n++;
}

static void set_version(struct json_object *o, int64_t rv)
{
    struct json_object *meta = json_member(o, "metadata");
    if (!meta) {
        meta = json_object_new_object();
        json_add(o, "metadata", meta);
    }
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)rv);
    json_add_str(meta, "resourceVersion", text);
}

struct kube_obj *kube_db_put(struct kube_db *s, int store, const char *ns, const char *name,
                             struct json_object *o)
{
    struct shelf *h = &s->shelves[store];
    set_version(o, ++s->rv);
    struct kube_obj *now = new_obj(make_key(ns, name), o, s->rv);
    size_t i = 0;
    if (found_at(h->objs, h->n, now->key, &i)) {
        struct kube_obj *prev = h->objs[i];
        h->objs[i] = now;
        remember(s, store, KUBE_MODIFIED, kube_obj_ref(now), prev);
    } else {
        insert_at(h, i, now);
        remember(s, store, KUBE_ADDED, kube_obj_ref(now), NULL);
    }
    return now;
}

bool kube_db_remove(struct kube_db *s, int store, const char *ns, const char *name)
{
    struct shelf *h = &s->shelves[store];
    char *key = make_key(ns, name);
    size_t i = 0;
    if (!found_at(h->objs, h->n, key, &i)) {
        free(key);
        return false;
    }
    struct kube_obj *prev = h->objs[i];
    memmove(&h->objs[i], &h->objs[i + 1], (h->n - i - 1) * sizeof(*h->objs));
    h->n--;
    struct json_object *tree = kube_obj_tree(prev);
    set_version(tree, ++s->rv);
    struct kube_obj *last = new_obj(key, tree, s->rv);
    json_object_put(tree);
    remember(s, store, KUBE_DELETED, last, prev);
    return true;
}

void kube_db_load(struct kube_db *s, int store, const char *ns, const char *name,
                  struct json_object *o)
{
    struct shelf *h = &s->shelves[store];
    int64_t rv = 0;
    const char *given = json_str(json_member(o, "metadata"), "resourceVersion");
    if (given && str_to_i64(given, &rv) && rv > 0 && rv < INT64_MAX / 2) {
        s->rv = rv > s->rv ? rv : s->rv;
    } else {
        rv = ++s->rv;
        set_version(o, rv);
    }
    struct kube_obj *now = new_obj(make_key(ns, name), o, rv);
    size_t i = 0;
    if (found_at(h->objs, h->n, now->key, &i)) {
        kube_obj_unref(h->objs[i]);
        h->objs[i] = now;
    } else {
        insert_at(h, i, now);
    }
}

void kube_db_clear(struct kube_db *s)
{
    for (int i = 0; i < s->n_stores; i++) {
        empty_shelf(&s->shelves[i]);
    }
}

void kube_db_expire(struct kube_db *s, int store)
{
    s->rv++; /* versions that were handed out are older than what is left */
    for (int i = 0; i < s->n_stores; i++) {
        if (store >= 0 && i != store) {
            continue;
        }
        forget_events(&s->shelves[i]);
        s->shelves[i].oldest = s->rv;
        if (s->on_event) {
            s->on_event(s->on_event_arg, i, NULL);
        }
    }
}

/* --- the window ------------------------------------------------------------------------------- */
size_t kube_db_n_events(const struct kube_db *s, int store)
{
    return s->shelves[store].n_events;
}

const struct kube_event *kube_db_event(const struct kube_db *s, int store, size_t i)
{
    const struct shelf *h = &s->shelves[store];
    return &h->ring[(h->first + i) % KUBE_WINDOW];
}

size_t kube_db_events_after(const struct kube_db *s, int store, int64_t rv)
{
    size_t lo = 0;
    size_t hi = s->shelves[store].n_events;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (kube_db_event(s, store, mid)->rv <= rv) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Takes one change back in an array that has room for it. */
static void undo(struct kube_obj **objs, size_t *n, const struct kube_event *ev)
{
    size_t i = 0;
    bool found = found_at(objs, *n, ev->now->key, &i);
    if (ev->type == KUBE_ADDED && found) {
        kube_obj_unref(objs[i]);
        memmove(&objs[i], &objs[i + 1], (*n - i - 1) * sizeof(struct kube_obj *));
        (*n)--;
    } else if (ev->type == KUBE_MODIFIED && found) {
        kube_obj_unref(objs[i]);
        objs[i] = kube_obj_ref(ev->prev);
    } else if (ev->type == KUBE_DELETED && !found) {
        memmove(&objs[i + 1], &objs[i], (*n - i) * sizeof(struct kube_obj *));
        objs[i] = kube_obj_ref(ev->prev);
        (*n)++;
    }
}

/* Keeps the objects of one namespace. */
static size_t keep_namespace(struct kube_obj **objs, size_t n, const char *ns)
{
    size_t kept = 0;
    size_t len = strlen(ns);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(objs[i]->key, ns, len) == 0 && objs[i]->key[len] == '/') {
            objs[kept++] = objs[i];
        } else {
            kube_obj_unref(objs[i]);
        }
    }
    return kept;
}

bool kube_db_list(const struct kube_db *s, int store, const char *ns, int64_t at,
                  struct kube_obj ***ret, size_t *ret_n)
{
    const struct shelf *h = &s->shelves[store];
    bool rewind = at > 0 && at < s->rv;
    if (rewind && at < h->oldest) {
        return false;
    }
    size_t n = h->n;
    struct kube_obj **objs = xcalloc(n + h->n_events + 1, sizeof(struct kube_obj *));
    for (size_t i = 0; i < n; i++) {
        objs[i] = kube_obj_ref(h->objs[i]);
    }
    if (rewind) {
        size_t first = kube_db_events_after(s, store, at);
        for (size_t i = h->n_events; i > first; i--) {
            undo(objs, &n, kube_db_event(s, store, i - 1));
        }
    }
    if (!str_is_empty(ns)) {
        n = keep_namespace(objs, n, ns);
    }
    *ret = objs;
    *ret_n = n;
    return true;
}
