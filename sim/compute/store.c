/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: every resource of the simulated cloud, by its path.
 *
 * Two levels: folders ("projects/p/regions/r/addresses") and the resources in them by name, so that
 * lists and look-ups both are cheap.  Kinds that the simulator does not serve are kept like the
 * others.  The store checks nothing: a world may hold anything. */
#include "sim/compute/compute.h"

#include <string.h>

static void resource_free(void *p)
{
    struct resource *res = p;
    json_object_put(res->body);
    json_object_put(res->members);
    free(res->path);
    free(res);
}

static void folder_free(void *p)
{
    struct folder *f = p;
    map_free(f->items);
    free(f->path);
    free(f);
}

/* Splits "a/b/name" at its last '/'. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
}

const char *ce_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct collection *collection_of_folder(const char *folder)
{
    enum scope scope = strstr(folder, "/zones/")     ? SCOPE_ZONE
                       : strstr(folder, "/regions/") ? SCOPE_REGION
                                                     : SCOPE_GLOBAL;
    return ce_collection_find(ce_path_name(folder), scope);
}

struct folder *ce_store_folder(const struct compute *c, const char *path)
{
    return map_get(c->folders, path);
}

struct resource *ce_store_get(const struct compute *c, const char *path)
{
    _cleanup_(xfreep) char *folder_path = folder_of(path);
    struct folder *f = map_get(c->folders, folder_path);
    return f ? map_get(f->items, ce_path_name(path)) : NULL;
}

/* The index of machines by their addresses (addresses.c) holds only as long as no machine
 * comes or goes. */
static void note_change(struct compute *c, const struct folder *f)
{
    if (c->machines && (!f || str_eq(ce_path_name(f->path), "instances"))) {
        map_free(c->machines);
        c->machines = NULL;
    }
}

struct resource *ce_store_put(struct compute *c, const char *path, struct json_object *body)
{
    _cleanup_(xfreep) char *folder_path = folder_of(path);
    if (!c->folders) {
        c->folders = map_new(folder_free);
    }
    struct folder *f = map_get(c->folders, folder_path);
    if (!f) {
        f = xcalloc(1, sizeof(*f));
        f->path = xstrdup(folder_path);
        f->col = collection_of_folder(folder_path);
        f->items = map_new(resource_free);
        map_set(c->folders, folder_path, f);
    }
    note_change(c, f);
    struct resource *res = map_get(f->items, ce_path_name(path));
    if (res) {
        ce_references_count(c, res, -1);
        json_object_put(res->body);
        res->body = body;
        ce_references_count(c, res, 1);
        return res;
    }
    res = xcalloc(1, sizeof(*res));
    res->col = f->col;
    res->path = xstrdup(path);
    res->body = body;
    res->seq = ++c->next_seq;
    map_set(f->items, ce_path_name(path), res);
    ce_references_count(c, res, 1);
    return res;
}

void ce_store_remove(struct compute *c, const char *path)
{
    _cleanup_(xfreep) char *folder_path = folder_of(path);
    struct folder *f = map_get(c->folders, folder_path);
    struct resource *res = f ? map_get(f->items, ce_path_name(path)) : NULL;
    if (res) {
        note_change(c, f);
        ce_references_count(c, res, -1);
        map_remove(f->items, ce_path_name(path));
    }
}

void ce_store_clear(struct compute *c)
{
    note_change(c, NULL);
    map_free(c->references);
    c->references = NULL;
    map_free(c->folders);
    c->folders = map_new(folder_free);
}

/* --- walking ---------------------------------------------------------------------------------- */

struct walk {
    const char *collection; /* NULL: all */
    bool (*fn)(struct resource *res, void *arg);
    void *arg;
    bool stopped;
};

static bool visit_resource(const char *name, void *value, void *arg)
{
    struct walk *w = arg;
    (void)name;
    w->stopped = !w->fn(value, w->arg);
    return !w->stopped;
}

static bool visit_folder(const char *path, void *value, void *arg)
{
    struct walk *w = arg;
    const struct folder *f = value;
    if (!w->collection || str_eq(ce_path_name(path), w->collection)) {
        map_each(f->items, visit_resource, w);
    }
    return !w->stopped;
}

void ce_store_each(const struct compute *c, const char *collection,
                   bool (*fn)(struct resource *res, void *arg), void *arg)
{
    struct walk w = {.collection = collection, .fn = fn, .arg = arg};
    map_each(c->folders, visit_folder, &w);
}

uint64_t ce_store_next_id(struct compute *c)
{
    return c->next_id++;
}

char *ce_store_folder_path(struct arena *a, const char *project, enum scope scope,
                           const char *location, const char *collection)
{
    switch (scope) {
    case SCOPE_GLOBAL:
        return arena_printf(a, "projects/%s/global/%s", project, collection);
    case SCOPE_REGION:
        return arena_printf(a, "projects/%s/regions/%s/%s", project, location, collection);
    case SCOPE_ZONE:
        return arena_printf(a, "projects/%s/zones/%s/%s", project, location, collection);
    case SCOPE_NONE:
    case SCOPE_AGGREGATED:
        break;
    }
    return arena_printf(a, "projects/%s/%s", project, collection);
}
