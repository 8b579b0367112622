/* SPDX-License-Identifier: Apache-2.0 */
/* azure_written.c: see azure_written.h. */
#include "providers/azure/snapshot/azure_written.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

#include <stdlib.h>
#include <string.h>

#define LAG_MS     300000 /* the longest that lists were seen to lag */
#define ETAGS_MOST 8      /* of older versions, the latest ones */

struct entry {
    char *id;
    struct json_object *doc; /* NULL: it is gone */
    char *older[ETAGS_MOST]; /* etags, in a ring */
    size_t n_older;
    int64_t until_ms;
};

struct azure_written {
    struct clock *clock;
    struct map *by_id; /* lower-case ID → struct entry */
};

static void entry_free(void *p)
{
    struct entry *e = p;
    free(e->id);
    json_object_put(e->doc);
    for (size_t i = 0; i < ETAGS_MOST; i++) {
        free(e->older[i]);
    }
    free(e);
}

struct azure_written *azure_written_new(struct clock *clock)
{
    struct azure_written *w = xcalloc(1, sizeof(*w));
    w->clock = clock;
    w->by_id = map_new(entry_free);
    return w;
}

void azure_written_free(struct azure_written *w)
{
    if (w != NULL) {
        map_free(w->by_id);
        free(w);
    }
}

static void add_older(struct entry *e, const char *etag)
{
    if (!str_is_empty(etag)) {
        char **place = &e->older[e->n_older++ % ETAGS_MOST];
        free(*place);
        *place = xstrdup(etag);
    }
}

void azure_written_note(struct azure_written *w, const char *id, struct json_object *doc,
                        const char *before)
{
    if (w == NULL) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *key = str_lower(a, id);
    struct entry *e = map_get(w->by_id, key);
    if (e == NULL) {
        e = xcalloc(1, sizeof(*e));
        e->id = xstrdup(id);
        map_set(w->by_id, key, e);
    }
    add_older(e, before);
    add_older(e, e->doc != NULL ? azure_doc_etag(e->doc) : NULL);
    json_object_put(e->doc);
    e->doc = doc != NULL ? json_copy(doc) : NULL; /* what keeps lists takes members off theirs */
    e->until_ms = clock_now_ms(w->clock) + LAG_MS;
}

/* ---- a list ---------------------------------------------------------------------------------- */

static void forget_old(struct azure_written *w)
{
    size_t n;
    const char **keys = map_keys(w->by_id, &n);
    for (size_t i = 0; i < n; i++) {
        const struct entry *e = map_get(w->by_id, keys[i]);
        if (clock_now_ms(w->clock) >= e->until_ms) {
            (void)map_remove(w->by_id, keys[i]);
        }
    }
    free(keys);
}

/* The address of a public IP never changes: with another one, or none, it is an earlier one of the
 * name, or a version of before it had one. */
static bool is_older(const struct entry *e, struct json_object *listed)
{
    const char *etag = str_nonnull(azure_doc_etag(listed));
    const char *mine = azure_prop_str(e->doc, "ipAddress");
    bool older = mine != NULL && !str_eq(mine, azure_prop_str(listed, "ipAddress"));
    for (size_t i = 0; i < ETAGS_MOST && e->older[i] != NULL && !older; i++) {
        older = str_eq(e->older[i], etag);
    }
    return older;
}

static bool is_below(const char *id, const char *scope)
{
    size_t n = strlen(scope);
    return azure_has_prefix(id, scope) && id[n] == '/' && strchr(id + n + 1, '/') == NULL;
}

/* Puts the listed version into `out`, or what is known better. */
static void take(struct azure_written *w, struct map *listed, struct json_object *out,
                 struct json_object *o)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    const char *key = str_lower(passing, azure_doc_id(o));
    const struct entry *e = map_get(w->by_id, key);
    map_set(listed, key, NULL);
    if (e == NULL || (e->doc != NULL && !is_older(e, o))) {
        (void)json_object_array_add(out, json_object_get(o));
    } else if (e->doc != NULL) {
        (void)json_object_array_add(out, json_copy(e->doc));
    }
}

struct json_object *azure_written_correct(struct azure_written *w, struct arena *a,
                                          const char *scope, struct json_object *list)
{
    if (w == NULL) {
        return list;
    }
    forget_old(w);
    if (map_size(w->by_id) == 0) {
        return list;
    }
    struct json_object *out = azure_own(a, json_object_new_array());
    struct map *listed = map_new(NULL);
    struct json_object *o;
    AZURE_EACH (o, list) {
        take(w, listed, out, o);
    }
    size_t n;
    const char **keys = map_keys(w->by_id, &n);
    for (size_t i = 0; i < n; i++) {
        const struct entry *e = map_get(w->by_id, keys[i]);
        if (e->doc != NULL && is_below(e->id, scope) && !map_has(listed, keys[i])) {
            (void)json_object_array_add(out, json_copy(e->doc));
        }
    }
    free(keys);
    map_free(listed);
    return out;
}
