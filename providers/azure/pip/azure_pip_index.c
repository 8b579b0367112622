/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_index.c: see azure_pip_index.h.  Pure. */
#include "providers/azure/pip/azure_pip_index.h"
#include "common/base/ip.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_find.h"
#include "providers/azure/pip/azure_pip_tags.h"

#include <string.h>

enum by {
    BY_NAME = 0,
    BY_IP,
    BY_SERVICE,
    BY_COUNT,
};

struct bucket {
    struct azure_pip_slot **items;
    size_t n;
    size_t cap;
};
struct azure_pip_index {
    struct arena *a;
    struct map *by_id;        /* lower-case ID → slot */
    struct map *by[BY_COUNT]; /* → bucket */
    struct bucket all;
};

static void put_map(void *arg)
{
    map_free(arg);
}

static struct map *own_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, put_map, m);
    return m;
}

/* ---- filling --------------------------------------------------------------------------------- */

static void append(struct arena *a, struct bucket *b, struct azure_pip_slot *slot)
{
    if (b->n == b->cap) {
        b->cap = b->cap * 2 + 2;
        struct azure_pip_slot **more = ARENA_ARRAY(a, struct azure_pip_slot *, b->cap);
        if (b->n > 0) {
            memcpy(more, b->items, b->n * sizeof(*more));
        }
        b->items = more;
    }
    b->items[b->n++] = slot;
}

static void add(struct azure_pip_index *ix, enum by by, const char *key,
                struct azure_pip_slot *slot)
{
    struct bucket *b = map_get(ix->by[by], key);
    if (b == NULL) {
        b = ARENA_NEW(ix->a, struct bucket);
        map_set(ix->by[by], key, b);
    }
    for (size_t i = b->n; i > 0; i--) {
        if (b->items[i - 1] == slot) {
            return;
        }
    }
    append(ix->a, b, slot);
}

/* One spelling for each address; text that is no address is its own. */
static const char *spelling(const char *ip, char text[IP_TEXT_MAX])
{
    struct ip_addr addr;
    if (!ip_parse(ip, &addr)) {
        return ip;
    }
    ip_format(&addr, text);
    return text;
}

static void add_all(struct azure_pip_index *ix, struct azure_pip_slot *slot)
{
    char text[IP_TEXT_MAX];
    size_t n;
    const char *ip = azure_pip_address(slot->doc);
    add(ix, BY_NAME, str_lower(ix->a, azure_doc_name(slot->doc)), slot);
    if (ip[0] != '\0') {
        add(ix, BY_IP, spelling(ip, text), slot);
    }
    const char *const *services = azure_pip_services(ix->a, json_member(slot->doc, "tags"), &n);
    for (size_t i = 0; i < n; i++) {
        add(ix, BY_SERVICE, str_lower(ix->a, services[i]), slot);
    }
}

void azure_pip_index_put(struct azure_pip_index *ix, const char *id, struct json_object *doc)
{
    const char *key = str_lower(ix->a, id);
    struct azure_pip_slot *slot = map_get(ix->by_id, key);
    if (slot == NULL || slot->doc == NULL) {
        slot = ARENA_NEW(ix->a, struct azure_pip_slot);
        slot->order = ix->all.n;
        append(ix->a, &ix->all, slot);
        map_set(ix->by_id, key, slot);
    }
    slot->doc = doc;
    if (doc != NULL) {
        add_all(ix, slot);
    }
}

struct azure_pip_index *azure_pip_index_new(struct arena *a, struct json_object *const *items,
                                            size_t n)
{
    struct azure_pip_index *ix = ARENA_NEW(a, struct azure_pip_index);
    *ix = (struct azure_pip_index){.a = a, .by_id = own_map(a)};
    for (int i = 0; i < BY_COUNT; i++) {
        ix->by[i] = own_map(a);
    }
    for (size_t i = 0; i < n; i++) {
        azure_pip_index_put(ix, azure_doc_id(items[i]), items[i]);
    }
    return ix;
}

/* ---- finding --------------------------------------------------------------------------------- */

struct json_object *azure_pip_index_by_id(const struct azure_pip_index *ix, const char *id)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    const struct azure_pip_slot *slot = map_get(ix->by_id, str_lower(passing, id));
    return slot != NULL ? slot->doc : NULL;
}

struct json_object **azure_pip_index_all(struct arena *a, const struct azure_pip_index *ix,
                                         size_t *ret_n)
{
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, ix->all.n + 1);
    *ret_n = 0;
    for (size_t i = 0; i < ix->all.n; i++) {
        if (ix->all.items[i]->doc != NULL) {
            items[(*ret_n)++] = ix->all.items[i]->doc;
        }
    }
    return items;
}

static struct azure_pip_slots find(const struct azure_pip_index *ix, enum by by, const char *key)
{
    const struct bucket *b = map_get(ix->by[by], key);
    return b != NULL ? (struct azure_pip_slots){.items = b->items, .n = b->n}
                     : (struct azure_pip_slots){0};
}

struct azure_pip_slots azure_pip_index_by_name(const struct azure_pip_index *ix, const char *name)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    return find(ix, BY_NAME, str_lower(passing, name));
}

struct azure_pip_slots azure_pip_index_by_ip(const struct azure_pip_index *ix, const char *ip)
{
    char text[IP_TEXT_MAX];
    return find(ix, BY_IP, spelling(ip, text));
}

struct azure_pip_slots azure_pip_index_by_service(const struct azure_pip_index *ix, const char *key)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    return find(ix, BY_SERVICE, str_lower(passing, key));
}
