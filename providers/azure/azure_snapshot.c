/* SPDX-License-Identifier: Apache-2.0 */
/* azure_snapshot.c: lists of documents, kept by kind and scope (azure_snapshot.h). */
#include "providers/azure/azure_snapshot.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_names.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    struct json_object *array; /* owned reference */
    char *scope;
    int64_t at_ms;
};
struct azure_snapshot {
    struct clock *clock;
    struct map *kinds[AZURE_KIND_MAX]; /* lower-case scope → struct seen */
};

static void seen_free(void *arg)
{
    struct seen *seen = arg;
    json_object_put(seen->array);
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
    map_set(s->kinds[k], str_lower(a, scope), seen);
}

struct json_object *azure_snapshot_list(struct azure_snapshot *s, enum azure_kind k,
                                        const char *scope, int64_t max_age_ms, struct arena *a)
{
    struct seen *seen = seen_of(s, k, scope);
    if (seen == NULL || clock_now_ms(s->clock) - seen->at_ms > max_age_ms) {
        return NULL;
    }
    return azure_own(a, json_object_get(seen->array));
}

/* A new list that shares what is not touched. */
static void replace(struct seen *seen, const char *id, struct json_object *doc)
{
    struct json_object *array = json_object_new_array();
    bool there = false;
    struct json_object *o;
    AZURE_EACH (o, seen->array) {
        bool same = azure_id_eq(azure_doc_id(o), id);
        struct json_object *item = same ? doc : o;
        there = there || same;
        if (item != NULL) {
            (void)json_object_array_add(array, json_object_get(item));
        }
    }
    if (!there && doc != NULL) {
        (void)json_object_array_add(array, json_object_get(doc));
    }
    json_object_put(seen->array);
    seen->array = array;
}

struct put {
    const char *id;
    struct json_object *doc;
};

bool azure_snapshot_holds(const char *scope, const char *id)
{
    size_t n = strlen(scope);
    const char *name = strrchr(id, '/');
    return azure_id_eq(scope, id) ||
           (name != NULL && (size_t)(name - id) == n && azure_has_prefix(id, scope));
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
    map_each(s->kinds[k], put_where_it_belongs, &put);
}

void azure_snapshot_forget(struct azure_snapshot *s, enum azure_kind k, const char *scope)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    if (scope == NULL) {
        map_clear(s->kinds[k]);
    } else {
        (void)map_remove(s->kinds[k], str_lower(a, scope));
    }
}
