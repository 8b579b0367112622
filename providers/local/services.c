/* SPDX-License-Identifier: Apache-2.0 */
/* services.c: Services of the cluster as the allocator sees them: all of them, of every class, whenever one has changed. */
#include "providers/local/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"

static const char *const classes[] = {LOCAL_CLASS};

bool local_wants(const struct local_provider *p, const struct tt_service *s)
{
    bool none = str_is_empty(s->lb_class);

    return s->deleted_us == 0 && svc_wants_lb_of(s, classes, ARRAY_LEN(classes)) &&
           (!none || p->config->default_class);
}

const struct tt_service *local_service_of(const struct tt_service *const *all, uint32_t n,
                                          const char *key)
{
    const char *slash = strchr(key, '/');
    size_t ns_len = slash == NULL ? 0 : (size_t)(slash - key);
    uint32_t low = 0;
    uint32_t high = slash == NULL ? 0 : n;

    while (low < high) { /* sorted by namespace and name (provider.h) */
        uint32_t mid = low + (high - low) / 2;
        const struct tt_service *s = all[mid];
        int order = strncmp(s->ns, key, ns_len);
        order = order != 0 ? order : (int)(s->ns[ns_len] != '\0');
        order = order != 0 ? order : strcmp(s->name, slash + 1);
        if (order == 0) {
            return s;
        }
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return NULL;
}

/* ---- namespaces ---------------------------------------------------------------------------------- */

static bool some_pool_asks_for_namespaces(const struct local_config *c)
{
    for (size_t i = 0; i < c->n_pools; i++) {
        if (c->pools[i].namespace_selector.given) {
            return true;
        }
    }
    return false;
}

struct labels {
    struct tt_kv *items;
    size_t n;
};

static void labels_free(void *value)
{
    struct labels *l = value;

    for (size_t i = 0; i < l->n; i++) {
        free((char *)l->items[i].key);
        free((char *)l->items[i].value);
    }
    free(l->items);
    free(l);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct tt_kv *)a)->key, ((const struct tt_kv *)b)->key);
}

struct reading {
    struct local_provider *p;
    struct arena *a;
};

/* One Namespace, as JSON text. */
static void note_namespace(void *arg, const char *text, size_t n)
{
    struct reading *r = arg;
    struct err ignored = ERR_INIT;
    struct json_object *o = NULL;
    struct json_object *meta = NULL;
    struct json_object *labels = NULL;

    if (json_parse_arena(r->a, text, n, NULL, &o, &ignored) != ERR_OK ||
        !json_object_object_get_ex(o, "metadata", &meta)) {
        return;
    }
    const char *name = json_object_get_string(json_object_object_get(meta, "name"));
    struct labels *l = xcalloc(1, sizeof *l);
    if (json_object_object_get_ex(meta, "labels", &labels) &&
        json_object_is_type(labels, json_type_object)) {
        l->items = xcalloc((size_t)json_object_object_length(labels) + 1, sizeof *l->items);
        json_object_object_foreach(labels, key, value)
        {
            l->items[l->n++] = (struct tt_kv){xstrdup(key), xstrdup(json_object_get_string(value))};
        }
        qsort(l->items, l->n, sizeof *l->items, by_key);
    }
    map_set(r->p->namespaces, str_nonnull(name), l);
}

/* All of them, in pages: asked for only when a Service has changed and a pool asks for their labels. */
static void read_namespaces(struct local_provider *p, struct arena *a, const struct tt_call *call)
{
    struct reading r = {p, a};
    const struct tt_kube_ref ref = {.api_version = "v1", .resource = "namespaces"};
    const struct tt_text_sink each = {.size = sizeof each, .put = note_namespace, .arg = &r};
    struct map *old = p->namespaces;

    p->namespaces = map_new(labels_free);
    if (p->host->kube_each(p->host->ctx, call, &ref, NULL, &each) != TT_OK && old != NULL) {
        map_free(p->namespaces); /* what was known is better than nothing */
        p->namespaces = old;
        return;
    }
    map_free(old);
}

/* ---- Services ------------------------------------------------------------------------------------ */

static void see(struct local_provider *p, struct arena *a, const struct tt_service *s)
{
    struct local_wish wish;
    struct err ignored = ERR_INIT; /* the sync of the Service itself tells it */
    const struct labels *labels = p->namespaces == NULL ? NULL : map_get(p->namespaces, s->ns);
    bool wants = local_wants(p, s);
    bool readable = wants && local_wish_read(a, p->config, s, &wish, &ignored) == ERR_OK;
    const struct local_claim claim = {
        .service = s,
        .wants = wants && !(readable && wish.ignore),
        .is_manifest = p->planning && s->n_cluster_ips == 0,
        .was_ours = svc_has_finalizer(s, LB_CLEANUP_FINALIZER) ||
                    svc_annotation(s, LOCAL_POOL_GIVEN) != NULL,
        .wish = readable ? &wish : NULL,
        .ns_labels = labels == NULL ? NULL : labels->items,
        .n_ns_labels = labels == NULL ? 0 : labels->n,
        .has_ns_labels = labels != NULL,
    };

    local_ipam_see(p->ipam, &claim, clock_now_ms(p->clock));
}

static void forget_missing(struct local_provider *p, const struct tt_service *const *all,
                           uint32_t n)
{
    size_t n_keys;
    const char **keys = map_keys(p->seen, &n_keys);

    for (size_t i = 0; i < n_keys; i++) {
        if (local_service_of(all, n, keys[i]) == NULL) {
            local_ipam_forget(p->ipam, keys[i], clock_now_ms(p->clock));
            (void)map_remove(p->seen, keys[i]);
        }
    }
    free(keys);
}

/* A process that died between the kernel and the status: the element's comment says whose the address is. */
static void remember_one(void *arg, const struct local_mirror_vip *v)
{
    struct local_provider *p = arg;

    if (v->vip.guarded && v->vip.comment != NULL) {
        local_ipam_remember(p->ipam, v->vip.comment, &v->vip.addr, clock_now_ms(p->clock));
    }
}

void local_services_listed(struct local_provider *p)
{
    if (!p->listed) {
        p->listed = true;
        p->listed_ms = clock_now_ms(p->clock);
    }
}

bool local_grace_is_over(const struct local_provider *p)
{
    return p->listed &&
           clock_now_ms(p->clock) - p->listed_ms >= p->config->director.orphan_grace_ms;
}

void local_services_see(struct local_provider *p, struct arena *a, const struct tt_call *call)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    bool asked = !some_pool_asks_for_namespaces(p->config);
    char key[600];

    local_services_listed(p);
    p->host->services(p->host->ctx, call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "%s/%s", all[i]->ns, all[i]->name);
        if (str_eq(map_get(p->seen, key), all[i]->resource_version) && map_has(p->seen, key)) {
            continue;
        }
        if (!asked) {
            read_namespaces(p, a, call);
            asked = true;
        }
        see(p, a, all[i]);
        map_set(p->seen, key, xstrdup(str_nonnull(all[i]->resource_version)));
    }
    if (map_size(p->seen) > n) {
        forget_missing(p, all, n);
    }
    if (!p->remembered && p->looked) {
        local_mirror_each(p->mirror, remember_one, p);
        p->remembered = true;
    }
}
