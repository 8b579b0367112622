/* SPDX-License-Identifier: Apache-2.0 */
/* links.c: links between resources: reading any form, writing the full one, and references.
 *
 * The cloud accepts full links of any host, links from "projects/", and partial ones from
 * "global/", "regions/" or "zones/" (also with a leading '/'), and always answers with
 * https://www.googleapis.com/compute/v1/….  A resource that others refer to cannot be deleted.
 * Source: gce-cloud-provider.md §3.1, §4.8, §16. */
#include "sim/compute/compute.h"

#include <string.h>

/* --- forms of links --------------------------------------------------------------------------- */

const char *ce_path_project(struct arena *a, const char *path)
{
    const char *at = path + strlen("projects/");
    return str_has_prefix(path, "projects/") ? arena_strndup(a, at, strcspn(at, "/")) : "";
}

const char *ce_path_scope(struct arena *a, const char *path)
{
    size_t n = 0;
    char **seg = str_split(a, path, '/', &n);
    if (n >= 4 && (str_eq(seg[2], "regions") || str_eq(seg[2], "zones"))) {
        return arena_printf(a, "%s/%s", seg[2], seg[3]);
    }
    return "global";
}

const char *ce_path_location(struct arena *a, const char *path)
{
    const char *scope = ce_path_scope(a, path);
    const char *slash = strchr(scope, '/');
    return slash ? slash + 1 : NULL;
}

const char *ce_path_collection(struct arena *a, const char *path)
{
    size_t n = 0;
    char **seg = str_split(a, path, '/', &n);
    return n >= 2 ? seg[n - 2] : "";
}

char *ce_zone_region(struct arena *a, const char *zone)
{
    const char *dash = strrchr(zone, '-');
    return dash ? arena_strndup(a, zone, (size_t)(dash - zone)) : arena_strdup(a, zone);
}

const char *ce_path_region(struct arena *a, const char *path)
{
    const char *location = ce_path_location(a, path);
    return location && strstr(path, "/zones/") ? ce_zone_region(a, location) : location;
}

static bool has_empty_segment(const char *path)
{
    size_t n = strlen(path);
    return n == 0 || strstr(path, "//") || path[n - 1] == '/';
}

char *ce_link_path(struct arena *a, const char *link, const char *near)
{
    if (!link) {
        return NULL;
    }
    const char *at = strstr(link, "/projects/");
    if (at) {
        at++;
    } else if (str_has_prefix(link, "projects/")) {
        at = link;
    }
    if (at) {
        return has_empty_segment(at) ? NULL : arena_strdup(a, at);
    }
    const char *rest = link[0] == '/' ? link + 1 : link;
    if (!str_has_prefix(rest, "global/") && !str_has_prefix(rest, "regions/") &&
        !str_has_prefix(rest, "zones/")) {
        return NULL;
    }
    return has_empty_segment(rest)
               ? NULL
               : arena_printf(a, "projects/%s/%s", ce_path_project(a, near), rest);
}

char *ce_link_full(struct arena *a, const char *path)
{
    return arena_printf(a, "%s%s", COMPUTE_PREFIX, path);
}

bool ce_link_same(struct arena *a, const char *x, const char *y, const char *near)
{
    const char *px = ce_link_path(a, x, near), *py = ce_link_path(a, y, near);
    return px && py && str_eq(px, py);
}

struct map *ce_link_set(struct request *q, struct json_object *links)
{
    struct map *set = map_new(NULL);
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        const char *path = ce_link_path(q->a, link, q->folder);
        if (path) {
            map_set(set, path, NULL);
        }
    }
    return set;
}

bool ce_link_in(struct request *q, const struct map *set, const char *link)
{
    const char *path = ce_link_path(q->a, link, q->folder);
    return path && map_has(set, path);
}

/* --- walking the references of a body --------------------------------------------------------- */

/* Called for each link text; `set` replaces it. */
struct link_visit {
    const struct reference *ref;
    bool (*fn)(struct link_visit *v, const char *link, const char *field);
    struct json_object *holder; /* object or array that holds the link */
    const char *key;            /* member of an object holder, or NULL */
    size_t index;               /* in an array holder */
    bool quiet;                 /* fn does not ask for the field, which costs more than the rest */
    void *arg;
};

static bool visit_value(struct link_visit *v, struct json_object *value, const char *field)
{
    return !json_object_is_type(value, json_type_string) ||
           v->fn(v, json_object_get_string(value), field);
}

/* "a[]" (links in a list), "a[].b" (member of each item), "a" (a member). */
static bool visit_reference(struct arena *a, struct link_visit *v, struct json_object *body)
{
    const char *member = v->ref->member;
    const char *brackets = strstr(member, "[]");
    if (!brackets) {
        v->holder = body;
        v->key = member;
        const char *field = v->quiet ? NULL : arena_printf(a, "resource.%s", member);
        return visit_value(v, json_member(body, member), field);
    }
    char *list_name = arena_strndup(a, member, (size_t)(brackets - member));
    const char *inner = brackets[2] == '.' ? brackets + 3 : NULL;
    struct json_object *list = json_member(body, list_name);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        v->holder = inner ? item : list;
        v->key = inner;
        v->index = i;
        const char *field = v->quiet ? NULL
                                     : arena_printf(a, "resource.%s[%zu]%s%s", list_name, i,
                                                    inner ? "." : "", str_nonnull(inner));
        if (!visit_value(v, inner ? json_member(item, inner) : item, field)) {
            return false;
        }
    }
    return true;
}

static void replace_link(struct link_visit *v, const char *full)
{
    struct json_object *value = json_object_new_string(full);
    if (v->key) {
        json_add(v->holder, v->key, value);
    } else {
        json_object_array_put_idx(v->holder, v->index, value);
    }
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool check_link(struct link_visit *v, const char *link, const char *field)
{
    struct request *q = v->arg;
    const char *near = q->folder;
    char *path = ce_link_path(q->a, link, near);
    if (!path) {
        return ce_refuse_invalid(&q->refusal, q->a, field, link, "The URL is malformed.");
    }
    if (!has_word(v->ref->kinds, ce_path_collection(q->a, path))) {
        return ce_refuse_invalid(
            &q->refusal, q->a, field, link,
            arena_printf(q->a, "The URL must point to one of: %s.", v->ref->kinds));
    }
    const char *region = ce_path_region(q->a, path), *ours = ce_path_region(q->a, q->folder);
    if (region && ours && !str_eq(region, ours)) {
        return ce_refuse_invalid(&q->refusal, q->a, field, link,
                                 "Cross-region references are not allowed for this resource.");
    }
    const struct resource *res = ce_store_get(q->c, path);
    if (v->ref->checked && !res) {
        return ce_refuse_dangling(&q->refusal, q->a, field, link, path);
    }
    if (res && res->inserting) {
        return ce_refuse(&q->refusal, q->a, 400, "resourceNotReady",
                         "The resource '%s' is not ready", path);
    }
    replace_link(v, ce_link_full(q->a, path));
    return true;
}

bool ce_references_check(struct request *q, struct json_object *body)
{
    for (const struct reference *r = q->col->references; r && r->member; r++) {
        struct link_visit v = {.ref = r, .fn = check_link, .arg = q};
        if (!visit_reference(q->a, &v, body)) {
            return false;
        }
    }
    return true;
}

/* --- how many refer to a resource ------------------------------------------------------------- */

struct counting {
    struct compute *c;
    struct arena *a;
    const char *near;
    int by;
};

static bool count_link(struct link_visit *v, const char *link, const char *field)
{
    struct counting *n = v->arg;
    (void)field;
    const char *path = ce_link_path(n->a, link, n->near);
    if (path) {
        intptr_t count = (intptr_t)map_get(n->c->references, path) + n->by;
        if (count > 0) {
            map_set(n->c->references, path, (void *)count);
        } else {
            map_remove(n->c->references, path);
        }
    }
    return true;
}

void ce_references_count(struct compute *c, const struct resource *res, int by)
{
    if (!res->col || !res->col->references) {
        return;
    }
    struct counting n = {.c = c, .a = arena_new(), .near = res->path, .by = by};
    if (!c->references) {
        c->references = map_new(NULL);
    }
    for (const struct reference *r = res->col->references; r->member; r++) {
        struct link_visit v = {.ref = r, .fn = count_link, .arg = &n, .quiet = true};
        visit_reference(n.a, &v, res->body);
    }
    arena_free(n.a);
}

/* --- who refers to a resource ----------------------------------------------------------------- */

struct user_search {
    struct arena *a;
    const char *path;
    const char *kind; /* collection name of `path` */
    const char *user; /* found */
    const char *near;
};

static bool compare_link(struct link_visit *v, const char *link, const char *field)
{
    struct user_search *s = v->arg;
    (void)field;
    const char *name = strrchr(link, '/');
    if (!name || !str_eq(name + 1, ce_path_name(s->path))) {
        return true; /* cheap way out: most links differ in the name */
    }
    char *path = ce_link_path(s->a, link, s->near);
    if (path && str_eq(path, s->path)) {
        s->user = s->near;
        return false;
    }
    return true;
}

static bool search_resource(struct resource *res, void *arg)
{
    struct user_search *s = arg;
    if (!res->col) {
        return true;
    }
    s->near = res->path;
    for (const struct reference *r = res->col->references; r && r->member; r++) {
        struct link_visit v = {.ref = r, .fn = compare_link, .arg = s, .quiet = true};
        if (has_word(r->kinds, s->kind) && !visit_reference(s->a, &v, res->body)) {
            return false;
        }
    }
    return true;
}

const char *ce_references_user(struct compute *c, struct arena *a, const char *path)
{
    struct user_search s = {.a = a, .path = path, .kind = ce_path_collection(a, path)};
    if (!c->references || !map_has(c->references, path)) {
        return NULL; /* no user, without a search of all */
    }
    for (const struct collection *col = compute_collections; col->name && !s.user; col++) {
        bool may_refer = false;
        for (const struct reference *r = col->references; r && r->member; r++) {
            may_refer = may_refer || has_word(r->kinds, s.kind);
        }
        if (may_refer) {
            ce_store_each(c, col->name, search_resource, &s);
        }
    }
    return s.user;
}
