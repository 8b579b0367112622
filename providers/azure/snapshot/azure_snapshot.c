/* SPDX-License-Identifier: Apache-2.0 */
/* azure_snapshot.c: lists of documents, kept by kind and scope (azure_snapshot.h). */
#include "providers/azure/snapshot/azure_snapshot.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    struct json_object *array; /* owned reference; NULL items: taken away since it was handed out */
    char *scope;
    int64_t at_ms;
    bool handed;     /* a caller may hold the array: it is not changed any more */
    bool stale;      /* forgotten: it is good to look at, and nothing is decided by it */
    struct map *at;  /* lower-case ID → index + 1; NULL: not needed yet */
    size_t n_absent; /* NULL items */
};
struct azure_snapshot {
    struct clock *clock;
    struct map *kinds[AZURE_KIND_MAX]; /* lower-case scope → struct seen */
};

static void seen_free(void *arg)
{
    struct seen *seen = arg;
    json_object_put(seen->array);
    map_free(seen->at);
    free(seen->scope);
    free(seen);
}

struct azure_snapshot *azure_snapshot_new(struct clock *clock)
{
    struct azure_snapshot *s = xcalloc(1, sizeof(*s));
    s->clock = clock;
    for (int i = 0; i < AZURE_KIND_MAX; i++) {
        s->kinds[i] = map_new(seen_free);
    }
    return s;
}

void azure_snapshot_free(struct azure_snapshot *s)
{
    for (int i = 0; s != NULL && i < AZURE_KIND_MAX; i++) {
        map_free(s->kinds[i]);
    }
    free(s);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void keep_only(struct json_object *o, const char *const *names)
{
    if (!json_object_is_type(o, json_type_object)) {
        return;
    }
    json_object_object_foreach(o, name, value)
    {
        bool kept = false;
        (void)value;
        for (size_t i = 0; names[i] != NULL && !kept; i++) {
            kept = str_eq(name, names[i]);
        }
        if (!kept) {
            json_object_object_del(o, name);
        }
    }
    json_slim(o);
}

/* Instances of scale sets come by the thousand, and most of what they say (disks, images, what
 * agents report) is no business of ours; they are written with the members that
 * azure_vmss_instance() puts together. */
static void trim(enum azure_kind k, struct json_object *doc)
{
    static const char *const instance[] = {
        "id",   "name",       "location",   "etag", "extendedLocation",
        "tags", "instanceId", "properties", NULL};
    static const char *const properties[] = {"networkProfileConfiguration", "hardwareProfile",
                                             "provisioningState", "instanceView", NULL};
    static const char *const view[] = {"statuses", NULL};
    if (k == AZURE_VMSS_VMS) {
        keep_only(doc, instance);
        keep_only(azure_props(doc), properties);
        keep_only(json_member(azure_props(doc), "instanceView"), view);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static struct seen *seen_of(const struct azure_snapshot *s, enum azure_kind k, const char *scope)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return map_get(s->kinds[k], str_lower(a, scope));
}

void azure_snapshot_put_list(struct azure_snapshot *s, enum azure_kind k, const char *scope,
                             struct json_object *array)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct seen *seen = xcalloc(1, sizeof(*seen));
    seen->array = json_object_get(array);
    seen->scope = xstrdup(scope);
    seen->at_ms = clock_now_ms(s->clock);
    seen->handed = true;
    struct json_object *o;
    AZURE_EACH (o, array) {
        trim(k, o);
    }
    map_set(s->kinds[k], str_lower(a, scope), seen);
}

/* A list of its own, without what was taken away; the documents are shared. */
static void renew(struct seen *seen)
{
    struct json_object *array = json_object_new_array_ext((int)json_len(seen->array) + 1);
    struct json_object *o;
    AZURE_EACH (o, seen->array) {
        if (o != NULL) {
            (void)json_object_array_add(array, json_object_get(o));
        }
    }
    json_object_put(seen->array);
    map_free(seen->at);
    seen->array = array;
    seen->at = NULL;
    seen->n_absent = 0;
    seen->handed = false;
}

static struct json_object *hand_out(struct seen *seen, struct arena *a)
{
    if (seen->n_absent > 0) {
        renew(seen);
    }
    seen->handed = true;
    return azure_own(a, json_object_get(seen->array));
}

struct json_object *azure_snapshot_list(struct azure_snapshot *s, enum azure_kind k,
                                        const char *scope, int64_t max_age_ms, struct arena *a)
{
    struct seen *seen = seen_of(s, k, scope);
    if (seen == NULL || seen->stale || clock_now_ms(s->clock) - seen->at_ms > max_age_ms) {
        return NULL;
    }
    return hand_out(seen, a);
}

struct json_object *azure_snapshot_last(struct azure_snapshot *s, enum azure_kind k,
                                        const char *scope, struct arena *a)
{
    struct seen *seen = seen_of(s, k, scope);
    return seen != NULL ? hand_out(seen, a) : NULL;
}

/* By ID, so that a thousand writes into a list of a thousand do not look at each of
 * them each time. */
static void index_items(struct seen *seen)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    seen->at = map_new(NULL);
    for (size_t i = 0; i < json_len(seen->array); i++) {
        const char *id = azure_doc_id(json_object_array_get_idx(seen->array, i));
        map_set(seen->at, str_lower(a, id), (void *)(uintptr_t)(i + 1));
    }
}

static void replace(struct seen *seen, const char *id, struct json_object *doc)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *key = str_lower(a, id);
    if (seen->handed) {
        renew(seen);
    }
    if (seen->at == NULL) {
        index_items(seen);
    }
    uintptr_t at = (uintptr_t)map_get(seen->at, key);
    if (at > 0) {
        (void)json_object_array_put_idx(seen->array, at - 1, json_object_get(doc));
        seen->n_absent += doc == NULL;
    } else if (doc != NULL) {
        (void)json_object_array_add(seen->array, json_object_get(doc));
        map_set(seen->at, key, (void *)(uintptr_t)json_len(seen->array));
    }
    if (doc == NULL) {
        (void)map_remove(seen->at, key);
    }
}

struct put {
    const char *id;
    struct json_object *doc;
};

/* "/subscriptions/S/providers/NS/TYPE" holds IDs that have "/resourceGroups/G" in between, and a
 * name behind it; `n`: the length of the ID without that. */
static bool is_of_subscription(const char *scope, const char *id, size_t n)
{
    const char *type = strcasestr(scope, "/providers/");
    size_t n_type = type == NULL ? 0 : strlen(type);
    size_t n_head = type == NULL ? 0 : (size_t)(type - scope);
    return type != NULL && strcasestr(scope, "/resourceGroups/") == NULL && n > n_head + n_type &&
           strncasecmp(id, scope, n_head) == 0 &&
           strncasecmp(id + n_head, "/resourceGroups/", strlen("/resourceGroups/")) == 0 &&
           strncasecmp(id + n - n_type, type, n_type) == 0;
}

bool azure_snapshot_holds(const char *scope, const char *id)
{
    const char *name = strrchr(id, '/');
    size_t n = name != NULL ? (size_t)(name - id) : 0;
    return azure_id_eq(scope, id) || (n > 0 && n == strlen(scope) && azure_has_prefix(id, scope)) ||
           (n > 0 && is_of_subscription(scope, id, n));
}

static bool put_where_it_belongs(const char *key, void *value, void *arg)
{
    (void)key;
    const struct put *put = arg;
    struct seen *seen = value;
    if (azure_snapshot_holds(seen->scope, put->id)) {
        replace(seen, put->id, put->doc);
    }
    return true;
}

void azure_snapshot_put(struct azure_snapshot *s, enum azure_kind k, const char *id,
                        struct json_object *doc)
{
    struct put put = {.id = id, .doc = doc};
    trim(k, doc);
    map_each(s->kinds[k], put_where_it_belongs, &put);
}

static bool make_stale(const char *key, void *value, void *arg)
{
    struct seen *seen = value;
    (void)key;
    (void)arg;
    seen->stale = true;
    return true;
}

/* Those of machines are large. */
static bool is_kept(enum azure_kind k)
{
    return k == AZURE_LBS || k == AZURE_PIPS || k == AZURE_NSGS;
}

void azure_snapshot_forget(struct azure_snapshot *s, enum azure_kind k, const char *scope)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct seen *seen = scope != NULL ? seen_of(s, k, scope) : NULL;
    if (is_kept(k) && seen != NULL) {
        seen->stale = true;
    } else if (is_kept(k) && scope == NULL) {
        map_each(s->kinds[k], make_stale, NULL);
    } else if (scope == NULL) {
        map_clear(s->kinds[k]);
    } else {
        (void)map_remove(s->kinds[k], str_lower(a, scope));
    }
}
