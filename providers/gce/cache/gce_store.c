/* SPDX-License-Identifier: Apache-2.0 */
/* gce_store.c: see gce_store.h. */
#include "providers/gce/cache/gce_store.h"

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/map.h"
#include "common/data/json_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DROPPED   0xffu /* gce_entry.kind of one that is to go */
#define INDEX_MIN 64u

struct gce_name {
    uint32_t hash;
    struct gce_entry *first;
    char text[];
};

/* Members of a pool as text, one per line; shared by the pools that have the same. */
struct gce_members {
    unsigned refs;
    char key[17];
    struct map *index; /* where it is shared */
    char *text;        /* a line each */
    size_t n;
};

/* ---- members of pools ------------------------------------------------------------------------ */

static struct gce_members *members_ref(struct gce_store *s, struct json_object *instances)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(instances); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(instances, i));
        str_appendf(&b, "%s\n", str_nonnull(text));
    }
    char key[17];
    (void)snprintf(key, sizeof(key), "%016llx",
                   (unsigned long long)hash_bytes(0, str_buf_text(&b), b.len));
    struct gce_members *l = map_get(s->pools, key);
    if (l != NULL && str_eq(l->text, str_buf_text(&b))) {
        l->refs++;
        return l;
    }
    bool taken = l != NULL; /* two lists with one hash: this one is not shared */
    l = xcalloc(1, sizeof(*l));
    l->refs = 1;
    l->index = s->pools;
    l->text = str_buf_steal(&b);
    l->n = json_len(instances);
    if (!taken) {
        memcpy(l->key, key, sizeof(key));
        map_set(s->pools, key, l);
    }
    return l;
}

static void members_unref(struct gce_members *l)
{
    if (l == NULL || --l->refs > 0) {
        return;
    }
    if (l->key[0] != '\0') {
        (void)map_remove(l->index, l->key);
    }
    free(l->text);
    free(l);
}

static struct json_object *members_json(const struct gce_members *l)
{
    struct json_object *array = json_object_new_array();
    for (const char *p = l->text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        json_object_array_add(array, json_object_new_string_len(p, (int)n));
        p += n + 1;
    }
    return array;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint32_t hash_of(const struct gce_store *s, const char *name)
{
    return (uint32_t)hash_key(s->seed, name, strlen(name));
}

static size_t place_of(const struct gce_store *s, uint32_t hash, const char *name)
{
    size_t i = hash & (s->n_index - 1);
    while (s->index[i] != NULL &&
           (s->index[i]->hash != hash || strcmp(s->index[i]->text, name) != 0)) {
        i = (i + 1) & (s->n_index - 1);
    }
    return i;
}

/* A new index of this size for the names that have entries; the others go. */
static void reindex(struct gce_store *s, size_t size)
{
    struct gce_name **old = s->index;
    size_t n_old = s->n_index;
    s->index = xcalloc(size, sizeof(*s->index));
    s->n_index = size;
    for (size_t i = 0; i < n_old; i++) {
        struct gce_name *name = old[i];
        if (name != NULL && name->first == NULL) {
            free(name);
            s->n_names--;
        } else if (name != NULL) {
            s->index[place_of(s, name->hash, name->text)] = name;
        }
    }
    free(old);
}

static struct gce_name *name_find(const struct gce_store *s, const char *name)
{
    return s->index[place_of(s, hash_of(s, name), name)];
}

static struct gce_name *name_make(struct gce_store *s, const char *text)
{
    struct gce_name *name = name_find(s, text);
    if (name != NULL) {
        return name;
    }
    if (4 * (s->n_names + 1) > 3 * s->n_index) {
        reindex(s, 2 * s->n_index);
    }
    size_t n = strlen(text);
    name = xmalloc(sizeof(*name) + n + 1);
    name->hash = hash_of(s, text);
    name->first = NULL;
    memcpy(name->text, text, n + 1);
    s->index[place_of(s, name->hash, text)] = name;
    s->n_names++;
    return name;
}

int gce_store_zone(struct gce_store *s, const char *zone, bool make)
{
    if (zone == NULL) {
        return 0;
    }
    for (uint16_t i = 0; i < s->n_zones; i++) {
        if (str_eq(s->zones[i], zone)) {
            return i + 1;
        }
    }
    if (!make || s->n_zones == GCE_ZONES_MAX) {
        return -1;
    }
    s->zones = xrealloc(s->zones, (s->n_zones + 1u) * sizeof(*s->zones));
    s->zones[s->n_zones++] = xstrdup(zone);
    return s->n_zones;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct gce_entry *entry_in(const struct gce_name *n, enum gce_collection kind, int zone,
                                  uint16_t fill)
{
    struct gce_entry *e = n != NULL ? n->first : NULL;
    while (e != NULL && (e->kind != kind || e->zone != zone || e->fill != fill)) {
        e = e->next;
    }
    return e;
}

struct gce_entry *gce_store_find(const struct gce_store *s, enum gce_collection kind, int zone,
                                 const char *name, uint16_t fill)
{
    return zone < 0 ? NULL : entry_in(name_find(s, name), kind, zone, fill);
}

struct gce_entry *gce_store_make(struct gce_store *s, enum gce_collection kind, int zone,
                                 const char *name, uint16_t fill)
{
    struct gce_name *n = name_make(s, name);
    struct gce_entry *e = entry_in(n, kind, zone, fill);
    if (e == NULL) {
        e = xcalloc(1, sizeof(*e));
        e->kind = (uint8_t)kind;
        e->zone = (uint16_t)zone;
        e->fill = fill;
        e->next = n->first;
        n->first = e;
    }
    return e;
}

static void entry_clear(struct gce_entry *e)
{
    members_unref(e->pool);
    e->pool = NULL;
    gce_packed_done(&e->text);
}

static void entry_free(struct gce_entry *e)
{
    entry_clear(e);
    free(e);
}

const char *const *gce_store_kept(enum gce_collection kind)
{
    static const char *const kept[GCE_COLLECTION_MAX][20] = {
        [GCE_ADDRESSES] = {"name", "description", "address", "addressType", "networkTier",
                           "subnetwork", "ipVersion", "ipv6EndpointType", "ipCollection", "purpose",
                           "prefixLength"},
        [GCE_RULES] = {"name", "description", "IPAddress", "IPProtocol", "portRange", "target",
                       "backendService", "loadBalancingScheme", "networkTier", "ports", "allPorts",
                       "allowGlobalAccess", "network", "subnetwork", "ipVersion", "ipCollection"},
        [GCE_POOLS] = {"name", "description", "sessionAffinity", "healthChecks"},
        [GCE_FIREWALLS] = {"name", "description", "network", "direction", "sourceRanges",
                           "destinationRanges", "targetTags", "allowed", "denied", "priority",
                           "disabled"},
        [GCE_CHECKS] = {"name", "description", "host", "requestPath", "port", "checkIntervalSec",
                        "timeoutSec", "healthyThreshold", "unhealthyThreshold"},
        /* Without its id: a PUT must be laid over what was read, not over this (gce_ops.c). */
        [GCE_BACKENDS] = {"name", "description", "protocol", "loadBalancingScheme",
                          "sessionAffinity", "network", "localityLbPolicy", "selfLink",
                          "healthChecks", "backends", "connectionDraining",
                          "networkPassThroughLbTrafficPolicy", "connectionTrackingPolicy",
                          "logConfig"},
        [GCE_HCS] = {"name", "description", "type", "selfLink", "checkIntervalSec", "timeoutSec",
                     "healthyThreshold", "unhealthyThreshold", "httpHealthCheck"},
        [GCE_REGION_HCS] = {"name", "description", "type", "selfLink", "checkIntervalSec",
                            "timeoutSec", "healthyThreshold", "unhealthyThreshold",
                            "httpHealthCheck"},
        [GCE_NEGS] = {"name", "description", "networkEndpointType", "network", "subnetwork",
                      "selfLink", "zone", "id", "size"},
        [GCE_GROUPS] = {"name", "selfLink", "zone", "size"},
        [GCE_SUBNETWORKS] = {"name", "selfLink", "ipv6AccessType", "stackType", "ipCidrRange"},
    };
    return kept[kind][0] != NULL ? kept[kind] : NULL;
}

/* The members that are kept, always in the same order. */
static void print_kept(enum gce_collection kind, struct json_object *o, struct str_buf *ret)
{
    const char *const *kept = gce_store_kept(kind);
    _cleanup_(json_putp) struct json_object *small = json_object_new_object();
    for (size_t i = 0; kept[i] != NULL; i++) {
        struct json_object *v = json_member(o, kept[i]);
        if (v != NULL) {
            json_add(small, kept[i], json_object_get(v));
        }
    }
    json_print(ret, small, JSON_COMPACT);
}

void gce_store_set(struct gce_store *s, struct gce_entry *e, const char *name,
                   struct json_object *o)
{
    entry_clear(e);
    e->forgotten = false;
    e->seen = 0;
    if (o == NULL) {
        return;
    }
    enum gce_collection kind = (enum gce_collection)e->kind;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    print_kept(kind, o, &b);
    gce_pack(&s->packers[kind], name, b.data, b.len, &e->text);
    if (kind == GCE_POOLS) {
        e->pool = members_ref(s, json_member(o, "instances"));
    }
}

bool gce_store_text(const struct gce_entry *e, const char *name, struct str_buf *ret)
{
    str_buf_reset(ret);
    if (e->text.n_text > 0) {
        gce_unpack(&e->text, name, ret);
    }
    return e->text.n_text > 0;
}

bool gce_store_says(const struct gce_entry *e, const char *name, struct json_object *o)
{
    _cleanup_(str_buf_done) struct str_buf is = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf want = STR_BUF_INIT;
    if (e->pool != NULL || e->forgotten || !gce_store_text(e, name, &is)) {
        return false;
    }
    print_kept((enum gce_collection)e->kind, o, &want);
    return is.len == want.len && memcmp(is.data, want.data, is.len) == 0;
}

struct json_object *gce_store_tree(const struct gce_entry *e, const char *name)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *o = NULL;
    if (!gce_store_text(e, name, &b) || json_parse(b.data, b.len, NULL, &o, NULL) != ERR_OK) {
        return NULL;
    }
    if (e->pool != NULL) {
        json_add(o, "instances", members_json(e->pool));
    }
    return o;
}

/* The object with one more member, "instances". */
static const struct json_view *with_members(struct arena *a, const struct json_view *v,
                                            const struct gce_members *l)
{
    char *at = arena_strdup(a, l->text);
    const char *end = at + strlen(at);
    struct json_view *items = ARENA_ARRAY(a, struct json_view, l->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < l->n && at < end; i++, n++) {
        char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t len = line_end != NULL ? (size_t)(line_end - at) : (size_t)(end - at);
        at[len] = '\0';
        items[i] = (struct json_view){.type = JSON_V_STRING, .n = (uint32_t)len, .text = at};
        at += len + 1;
    }
    struct json_view *members = ARENA_ARRAY(a, struct json_view, v->n + 1u);
    if (v->n > 0) {
        memcpy(members, v->items, v->n * sizeof(*members));
    }
    members[v->n] = (struct json_view){.type = JSON_V_ARRAY,
                                       .n = (uint32_t)n,
                                       .name = "instances",
                                       .name_len = sizeof("instances") - 1,
                                       .items = items};
    struct json_view *whole = ARENA_NEW(a, struct json_view);
    *whole = *v;
    whole->n = v->n + 1;
    whole->items = members;
    return whole;
}

const struct json_view *gce_store_view(const struct gce_entry *e, const char *name, struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct json_view *v = NULL;
    if (!gce_store_text(e, name, &b) ||
        json_view_parse(a, b.data, b.len, NULL, &v, NULL) != ERR_OK || v->type != JSON_V_OBJECT) {
        return NULL;
    }
    return e->pool != NULL ? with_members(a, v, e->pool) : v;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void gce_store_drop(struct gce_entry *e)
{
    e->kind = DROPPED;
}

/* True when nothing is left under the name. */
static bool sweep(struct gce_name *n)
{
    for (struct gce_entry **at = &n->first; *at != NULL;) {
        struct gce_entry *e = *at;
        if (e->kind == DROPPED) {
            *at = e->next;
            entry_free(e);
        } else {
            at = &e->next;
        }
    }
    return n->first == NULL;
}

void gce_store_each(struct gce_store *s, void (*fn)(const struct gce_visit *v, void *arg),
                    void *arg)
{
    size_t empty = 0;
    for (size_t i = 0; i < s->n_index; i++) {
        struct gce_name *n = s->index[i];
        if (n != NULL) {
            const struct gce_visit v = {.name = n->text, .first = n->first};
            fn(&v, arg);
            empty += sweep(n);
        }
    }
    if (empty > 0) {
        size_t size = s->n_index;
        while (size > INDEX_MIN && 4 * (s->n_names - empty) < size) {
            size /= 2;
        }
        reindex(s, size);
    }
}

void gce_store_init(struct gce_store *s)
{
    *s = (struct gce_store){.seed = hash_seed(), .pools = map_new(NULL), .n_index = INDEX_MIN};
    s->index = xcalloc(s->n_index, sizeof(*s->index));
}

static void drop_all(const struct gce_visit *v, void *arg)
{
    (void)arg;
    for (struct gce_entry *e = v->first; e != NULL; e = e->next) {
        gce_store_drop(e);
    }
}

void gce_store_done(struct gce_store *s)
{
    gce_store_each(s, drop_all, NULL);
    free(s->index);
    for (uint16_t i = 0; i < s->n_zones; i++) {
        free(s->zones[i]);
    }
    free(s->zones);
    for (size_t k = 0; k < GCE_COLLECTION_MAX; k++) {
        gce_packer_done(&s->packers[k]);
    }
    map_free(s->pools);
}
