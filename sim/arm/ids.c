/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c: taking Azure's resource ids apart, and small helpers on its documents.
 *
 * Ids are compared without case everywhere: ARM does, and clients rely on it (docs/spec/azure.md,
 * conventions).  Pure, but for the indexes that a request keeps. */
#include "sim/arm/arm.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define SHORT_LIST 16 /* searched as it is */

char *arm_id_key(struct arena *a, const char *id)
{
    return str_lower(a, id);
}

const char *arm_id_name(const char *id)
{
    const char *slash = strrchr(id, '/');
    return slash ? slash + 1 : id;
}

char *arm_id_parent(struct arena *a, const char *id)
{
    const char *end = strrchr(id, '/');
    while (end && end > id && end[-1] != '/') {
        end--;
    }
    return end && end > id ? arena_strndup(a, id, (size_t)(end - 1 - id)) : arena_strdup(a, "");
}

/* The segment after "/<word>/", or NULL. */
static char *segment_after(struct arena *a, const char *id, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = id; (p = strchr(p, '/')) != NULL; p++) {
        if (strncasecmp(p + 1, word, n) == 0 && p[1 + n] == '/') {
            const char *start = p + n + 2;
            return arena_strndup(a, start, strcspn(start, "/"));
        }
    }
    return NULL;
}

char *arm_id_group(struct arena *a, const char *id)
{
    return segment_after(a, id, "resourceGroups");
}

char *arm_id_subscription(struct arena *a, const char *id)
{
    return segment_after(a, id, "subscriptions");
}

char *arm_id_type(struct arena *a, const char *id)
{
    const char *at = NULL;
    for (const char *p = id; (p = strchr(p, '/')) != NULL; p++) {
        at = strncasecmp(p, "/providers/", strlen("/providers/")) == 0 ? p : at;
    }
    if (!at) {
        return NULL;
    }
    size_t n = 0;
    char **parts = str_split(a, at + strlen("/providers/"), '/', &n);
    char *type = parts[0];
    for (size_t i = 1; i < n; i += 2) {
        type = arena_printf(a, "%s/%s", type, parts[i]);
    }
    return type;
}

bool arm_id_is_below(const char *id, const char *parent)
{
    size_t n = strlen(parent);
    return strncasecmp(id, parent, n) == 0 && id[n] == '/';
}

const char *arm_ref(struct json_object *properties, const char *member)
{
    return json_str(json_member(properties, member), "id");
}

struct json_object *arm_named(struct json_object *array, const char *name, size_t *ret_i)
{
    for (size_t i = 0; name && i < json_len(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        if (str_eq_nocase(json_str(item, "name"), name)) {
            if (ret_i) {
                *ret_i = i;
            }
            return item;
        }
    }
    return NULL;
}

static void free_map(void *m)
{
    map_free(m);
}

static struct map *index_of(struct arm_request *q, struct json_object *array)
{
    struct arm_index *x = q->indexes;
    while (x < q->indexes + ARM_INDEXES_MAX && x->array &&
           (x->array != array || x->len != json_len(array))) {
        x++;
    }
    if (x == q->indexes + ARM_INDEXES_MAX) {
        return NULL;
    }
    if (!x->array) {
        *x = (struct arm_index){.array = array, .len = json_len(array), .by_name = map_new(NULL)};
        arena_defer(q->a, free_map, x->by_name);
        for (size_t i = 0; i < x->len; i++) {
            struct json_object *item = json_object_array_get_idx(array, i);
            const char *key = str_lower(q->a, str_nonnull(json_str(item, "name")));
            if (!map_has(x->by_name, key)) {
                map_set(x->by_name, key, item);
            }
        }
    }
    return x->by_name;
}

struct json_object *arm_find(struct arm_request *q, struct json_object *array, const char *name)
{
    struct map *by_name = name && json_len(array) > SHORT_LIST ? index_of(q, array) : NULL;
    return by_name ? map_get(by_name, str_lower(q->a, name)) : arm_named(array, name, NULL);
}

struct json_object *arm_properties(struct json_object *o)
{
    if (!json_member(o, "properties")) {
        json_add(o, "properties", json_object_new_object());
    }
    return json_member(o, "properties");
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool arm_name_is_valid(const char *name, size_t max)
{
    size_t n = strlen(name);
    if (n == 0 || n > max || !is_word(name[0]) || !is_word(name[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_word(name[i]) && name[i] != '.' && name[i] != '-') {
            return false;
        }
    }
    return true;
}

struct json_object *arm_sub_resource(const char *id)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "id", id);
    return o;
}
