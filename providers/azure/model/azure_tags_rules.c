/* SPDX-License-Identifier: Apache-2.0 */
/* azure_tags_rules.c: see azure_tags_rules.h.  The only module that adds, changes
 * or removes tags. */
#include "providers/azure/model/azure_tags_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_names.h"

/* ---- parsing --------------------------------------------------------------------------------- */

void azure_tags_set(struct arena *a, struct azure_tags *tags, const char *name, const char *value)
{
    const struct azure_kv item = {.key = name, .value = value};
    for (size_t i = 0; i < tags->n; i++) {
        if (azure_eq(tags->items[i].key, name)) {
            tags->items[i] = item;
            return;
        }
    }
    struct azure_kv *items = ARENA_ARRAY(a, struct azure_kv, tags->n + 1);
    if (tags->n > 0) {
        memcpy(items, tags->items, tags->n * sizeof(*items));
    }
    items[tags->n++] = item;
    tags->items = items;
}

/* ARM keeps the word "null" for itself: blanks around it are what makes it a value. */
static const char *tag_value(struct arena *a, const char *text)
{
    const char *trimmed = str_trim_unicode(a, text);
    return azure_eq(trimmed, "null") ? text : trimmed;
}

static void set_trimmed(struct arena *a, struct azure_tags *tags, const char *name,
                        const char *value)
{
    const char *trimmed = str_trim_unicode(a, name);
    if (trimmed[0] != '\0') {
        azure_tags_set(a, tags, trimmed, tag_value(a, value));
    }
}

struct azure_tags azure_tags_parse(struct arena *a, const char *text, const struct azure_kv *map,
                                   size_t n_map)
{
    struct azure_tags tags = {0};
    size_t n = 0;
    char **pairs = str_split(a, str_nonnull(text), ',', &n);
    for (size_t i = 0; i < n; i++) {
        size_t n_sides;
        char **sides = str_split(a, pairs[i], '=', &n_sides);
        if (n_sides == 2) {
            set_trimmed(a, &tags, sides[0], sides[1]);
        }
    }
    for (size_t i = 0; i < n_map; i++) {
        set_trimmed(a, &tags, map[i].key, str_nonnull(map[i].value));
    }
    return tags;
}

/* ---- merging --------------------------------------------------------------------------------- */

static const char *key_of(struct json_object *tags, const char *name)
{
    json_object_object_foreach(tags, key, value)
    {
        (void)value;
        if (azure_eq(key, name)) {
            return key;
        }
    }
    return NULL;
}

static bool put_wanted(struct json_object *tags, const struct azure_tags *wanted)
{
    bool changed = false;
    for (size_t i = 0; i < wanted->n; i++) {
        const struct azure_kv *w = &wanted->items[i];
        const char *key = key_of(tags, w->key);
        if (key != NULL && azure_eq(str_nonnull(json_str(tags, key)), w->value)) {
            continue;
        }
        json_add(tags, key != NULL ? key : w->key, json_object_new_string(w->value));
        changed = true;
    }
    return changed;
}

static bool is_wanted(const struct azure_tags *wanted, const char *key)
{
    for (size_t i = 0; i < wanted->n; i++) {
        if (azure_eq(wanted->items[i].key, key)) {
            return true;
        }
    }
    return false;
}

/* The prefixes of systemTags, without the empty ones: those would keep everything. */
static char **system_prefixes(struct arena *a, const char *text, size_t *ret_n)
{
    size_t n = 0;
    size_t used = 0;
    char **items = str_split(a, str_nonnull(text), ',', &n);
    for (size_t i = 0; i < n; i++) {
        char *item = str_trim_unicode(a, items[i]);
        if (item[0] != '\0') {
            items[used++] = item;
        }
    }
    *ret_n = used;
    return items;
}

static bool is_system(char *const *prefixes, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (azure_has_prefix(key, prefixes[i])) {
            return true;
        }
    }
    return false;
}

static bool tidy(struct arena *a, struct json_object *tags, const struct azure_tags *wanted,
                 const char *system_tags)
{
    size_t n_prefixes;
    size_t n_gone = 0;
    char **prefixes = system_prefixes(a, system_tags, &n_prefixes);
    const char **gone = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(tags));
    if (n_prefixes == 0) {
        return false;
    }
    json_object_object_foreach(tags, key, value)
    {
        (void)value;
        if (!is_wanted(wanted, key) && !is_system(prefixes, n_prefixes, key)) {
            gone[n_gone++] = arena_strdup(a, key);
        }
    }
    for (size_t i = 0; i < n_gone; i++) {
        json_object_object_del(tags, gone[i]);
    }
    return n_gone > 0;
}

bool azure_tags_merge(struct arena *a, struct json_object *tags, const struct azure_tags *wanted,
                      const char *system_tags)
{
    bool put = put_wanted(tags, wanted);
    bool tidied = tidy(a, tags, wanted, system_tags);
    return put || tidied;
}

bool azure_tags_apply(struct arena *a, struct json_object *doc, const struct azure_tags *wanted,
                      const char *system_tags)
{
    struct json_object *tags = json_member(doc, "tags");
    if (!json_object_is_type(tags, json_type_object)) {
        if (wanted->n == 0) {
            return false;
        }
        tags = json_object_new_object();
        json_add(doc, "tags", tags);
    }
    return azure_tags_merge(a, tags, wanted, system_tags);
}

bool azure_tags_apply_config(struct arena *a, struct json_object *doc, const struct azure_config *c)
{
    if (str_is_empty(c->tags) && c->n_tags_map == 0) {
        return false;
    }
    struct azure_tags wanted = azure_tags_parse(a, c->tags, c->tags_map, c->n_tags_map);
    return azure_tags_apply(a, doc, &wanted, c->system_tags);
}

const char *azure_tag(struct json_object *doc, const char *name)
{
    struct json_object *tags = json_member(doc, "tags");
    const char *key = json_object_is_type(tags, json_type_object) ? key_of(tags, name) : NULL;
    return key == NULL ? NULL : json_str(tags, key);
}
