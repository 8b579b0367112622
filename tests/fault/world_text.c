/* SPDX-License-Identifier: Apache-2.0 */
/* world_text.c: worlds as texts that can be compared (world.h).
 *
 * Left out is what differs between two clouds that do the same: ids, times, fingerprints, node
 * ports, order of members.  What that is in a cloud's documents, its rules know (world_internal.h).
 * Pure but for the names that it learns. */
#include "tests/fault/world_internal.h"

#include <string.h>

#include "common/base/strset.h"

#define DIFFERENCES_MAX 4 /* lines shown of each side */

/* ---- cleaning -------------------------------------------------------------------------------- */

static void drop(struct json_object *o, const char *const *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(o, members[i]);
    }
}

/* Lists of texts are sets. */
static struct json_object *sorted(struct arena *a, struct json_object *array)
{
    size_t n = json_len(array);
    const char **items = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        if (!json_object_is_type(item, json_type_string)) {
            return NULL;
        }
        items[i] = json_object_get_string(item);
    }
    struct str_set set = str_set_make(a, items, n);
    return json_strs(set.items, set.n);
}

void world_sort_lists(struct arena *a, struct json_object *o)
{
    const char **names = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(o));
    size_t n = 0;
    json_object_object_foreach(o, key, value)
    {
        if (json_len(value) > 0) {
            names[n++] = arena_strdup(a, key);
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *set = sorted(a, json_member(o, names[i]));
        if (set != NULL) {
            json_add(o, names[i], set);
        }
    }
}

/* A mark of what was made names the uid, which differs from run to run; another Service's
 * would be seen. */
static void clean_mark(struct arena *a, struct json_object *meta)
{
    static const char *const keys[] = {"trimtab.io/carried-out", "trimtab.io/carried-out-by"};
    struct json_object *annotations = json_member(meta, "annotations");
    const char *uid = json_str(meta, "uid");
    for (size_t i = 0; i < ARRAY_LEN(keys) && !str_is_empty(uid); i++) {
        const char *mark = str_nonnull(json_str(annotations, keys[i]));
        const char *at = strstr(mark, uid);
        if (at != NULL) {
            const char *text =
                arena_printf(a, "%.*s{uid}%s", (int)(at - mark), mark, at + strlen(uid));
            json_object_object_add(annotations, keys[i], json_object_new_string(text));
        }
    }
}

static struct json_object *clean_service(struct arena *a, struct json_object *service)
{
    static const char *const of_meta[] = {"uid",           "resourceVersion", "creationTimestamp",
                                          "managedFields", "generation",      "deletionTimestamp"};
    static const char *const of_spec[] = {"clusterIP", "clusterIPs"};
    static const char *const of_port[] = {"nodePort"};
    static const char *const of_condition[] = {"lastTransitionTime"};
    struct json_object *o = json_copy(service);
    clean_mark(a, json_member(o, "metadata"));
    drop(json_member(o, "metadata"), of_meta, ARRAY_LEN(of_meta));
    drop(json_member(o, "spec"), of_spec, ARRAY_LEN(of_spec));
    world_sort_lists(a, json_member(o, "metadata"));
    struct json_object *ports = json_path(o, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        drop(json_object_array_get_idx(ports, i), of_port, ARRAY_LEN(of_port));
    }
    struct json_object *conditions = json_path(o, "status.conditions");
    for (size_t i = 0; i < json_len(conditions); i++) {
        drop(json_object_array_get_idx(conditions, i), of_condition, ARRAY_LEN(of_condition));
    }
    return o;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *key_of(struct arena *a, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    return arena_printf(a, "%s/%s", str_nonnull(json_str(meta, "namespace")),
                        str_nonnull(json_str(meta, "name")));
}

static void learn(struct arena *a, struct json_object *world, struct names *names)
{
    const struct world_rules *rules = world_rules_of(world);
    struct json_object *services = json_path(world, "kubernetes.services");
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        names_learn(names, s);
        if (rules->learn_service != NULL) {
            rules->learn_service(a, s, names);
        }
    }
    struct json_object *maps = json_path(world, "kubernetes.configmaps");
    for (size_t i = 0; i < json_len(maps); i++) {
        struct json_object *m = json_object_array_get_idx(maps, i);
        if (str_eq(key_of(a, m), "kube-system/ingress-uid")) {
            names_alias(names, str_nonnull(json_str(json_member(m, "data"), "uid")), "{cluster}");
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* One line for each thing, sorted. */
static char *lines_of(struct arena *a, struct json_object *things)
{
    const char **lines = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(things));
    size_t n = 0;
    json_object_object_foreach(things, name, thing)
    {
        lines[n++] = arena_printf(a, "%s: %s", name, json_text(a, thing, JSON_SORTED));
    }
    struct str_set set = str_set_make(a, lines, n);
    return str_join(a, set.items, set.n, "\n");
}

char *world_text(struct arena *a, struct json_object *world, struct names *names)
{
    _cleanup_(json_putp) struct json_object *out = json_object_new_object();
    const struct world_rules *rules = world_rules_of(world);
    struct json_object *docs = world_docs(a, world);
    struct json_object *services = json_path(world, "kubernetes.services");
    struct json_object *maps = json_path(world, "kubernetes.configmaps");
    learn(a, world, names);
    rules->learn_addresses(a, docs, names);
    json_object_object_foreach(docs, id, doc)
    {
        rules->add_lines(a, id, doc, names, out);
    }
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        json_add(out, arena_printf(a, "service %s", key_of(a, s)), clean_service(a, s));
    }
    for (size_t i = 0; i < json_len(maps); i++) {
        const char *key = key_of(a, json_object_array_get_idx(maps, i));
        json_add_str(out, arena_printf(a, "configmap %s", key), "is there");
    }
    /* Sorted after names were made equal: their order is a whim, too. */
    size_t n = 0;
    char **lines = str_split(a, names_replace(names, a, lines_of(a, out)), '\n', &n);
    struct str_set set = str_set_make(a, (const char *const *)lines, n);
    return str_join(a, set.items, set.n, "\n");
}

char *world_exact_text(struct arena *a, struct json_object *world)
{
    _cleanup_(json_putp) struct json_object *out = json_object_new_object();
    struct json_object *services = json_path(world, "kubernetes.services");
    json_object_object_foreach(world_docs(a, world), id, doc)
    {
        json_add(out, id, json_object_get(doc));
    }
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *s = json_object_array_get_idx(services, i);
        json_add(out, arena_printf(a, "service %s", key_of(a, s)), json_object_get(s));
    }
    return lines_of(a, out);
}

/* ---- differences ----------------------------------------------------------------------------- */

struct lines {
    char **items;
    size_t n;
};

/* How many times a line stands there. */
static size_t count(const struct lines *l, const char *line)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        n += str_eq(l->items[i], line);
    }
    return n;
}

static void append_missing(struct str_buf *b, const struct lines *of, const struct lines *in,
                           char sign)
{
    size_t shown = 0;
    for (size_t i = 0; i < of->n && shown < DIFFERENCES_MAX; i++) {
        if (count(of, of->items[i]) > count(in, of->items[i])) {
            str_appendf(b, "\n%c %s", sign, of->items[i]);
            shown++;
        }
    }
}

char *world_difference(struct arena *a, const char *want, const char *got)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct lines w, g;
    if (str_eq(want, got)) {
        return NULL;
    }
    w.items = str_split(a, want, '\n', &w.n);
    g.items = str_split(a, got, '\n', &g.n);
    append_missing(&b, &w, &g, '-');
    append_missing(&b, &g, &w, '+');
    return str_buf_to_arena(&b, a);
}
