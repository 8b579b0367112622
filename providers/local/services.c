/* SPDX-License-Identifier: Apache-2.0 */
/* services.c: Services of the cluster as the allocator sees them: all of them, of every class,
 * whenever one has changed. */
#include "providers/local/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/service_rules.h"

static const char *const classes[] = {LOCAL_CLASS};

bool local_wants(const struct local_provider *p, const struct tt_service *s)
{
    bool none = str_is_empty(s->lb_class);

    return s->deleted_us == 0 && svc_wants_lb_of(s, classes, ARRAY_LEN(classes)) &&
           (!none || p->config->default_class);
}

bool local_ignores(const struct local_provider *p, const struct tt_service *s,
                   const struct local_wish *wish)
{
    bool named = false;
    struct ip_addr addr;

    for (uint32_t i = 0; p->follows && i < s->n_ingress; i++) {
        named = named || (s->ingress[i].ip != NULL && ip_parse(s->ingress[i].ip, &addr) &&
                          local_pool_of(p->config, &addr) != NULL);
    }
    return wish->ignore && !named;
}

/* <0, 0, >0: by namespace, then by name, as snapshots are sorted. */
static int service_cmp(const struct tt_service *s, const char *key, size_t ns_len)
{
    int order = strncmp(s->ns, key, ns_len);

    order = order != 0 ? order : (int)(s->ns[ns_len] != '\0');
    return order != 0 ? order : strcmp(s->name, key + ns_len + 1);
}

const struct tt_service *local_service_of(const struct tt_service *const *all, uint32_t n,
                                          const char *key)
{
    const char *slash = strchr(key, '/');
    uint32_t low = 0;
    uint32_t high = slash == NULL ? 0 : n;

    while (low < high) { /* sorted by namespace and name (provider.h) */
        uint32_t mid = low + (high - low) / 2;
        int order = service_cmp(all[mid], key, (size_t)(slash - key));
        if (order == 0) {
            return all[mid];
        }
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return NULL;
}

const struct tt_service *local_service_called(const struct local_provider *p,
                                              const struct tt_call *call, const char *key)
{
    const char *slash = strchr(key, '/');

    if (slash == NULL) {
        return NULL;
    }
    _cleanup_(xfreep) char *ns = xstrndup(key, (size_t)(slash - key));
    return p->host->service(p->host->ctx, call, ns, slash + 1);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

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

/* All of them, in pages: asked for only when a pool asks for their labels, and a Service has
 * changed or waits for an address. */
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

/* ---- Services -------------------------------------------------------------------------------- */

static void see(struct local_provider *p, struct arena *a, const struct tt_service *s)
{
    struct local_wish wish;
    struct err ignored = ERR_INIT; /* the sync of the Service itself tells it */
    const struct labels *labels = p->namespaces == NULL ? NULL : map_get(p->namespaces, s->ns);
    bool wants = local_wants(p, s);
    bool readable = wants && local_wish_read(a, p->config, s, &wish, &ignored) == ERR_OK;
    const struct local_claim claim = {
        .service = s,
        .wants = wants && !(readable && local_ignores(p, s, &wish)),
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

/* The last Services of the host; of each Service the allocator keeps a note, by which unchanged
 * ones are skipped. */
struct local_seen {
    uint64_t seed;
    uint32_t round;   /* one more each time that the host is asked */
    uint64_t version; /* of the host's Services that were handed over last */
};

/* A digest of resourceVersion above the round in which the host named the Service last. */
#define ROUND_BITS 24
#define ROUND_MASK ((UINT64_C(1) << ROUND_BITS) - 1)

struct local_seen *local_seen_new(void)
{
    struct local_seen *seen = xcalloc(1, sizeof *seen);

    seen->seed = hash_seed();
    return seen;
}

void local_seen_free(struct local_seen *seen)
{
    free(seen);
}

/* 0: it has none. */
static uint64_t version_of(const struct local_seen *seen, const struct tt_service *s)
{
    const char *version = str_nonnull(s->resource_version);

    return version[0] == '\0' ? 0
                              : hash_quick(seen->seed, version, strlen(version)) >> ROUND_BITS | 1;
}

struct seeing {
    struct local_provider *p;
    struct arena *a;
    const struct tt_call *call;
    bool asked; /* for the labels of namespaces */
    struct str_buf key;
};

static void ask_for_labels(struct seeing *x)
{
    if (!x->asked) {
        read_namespaces(x->p, x->a, x->call);
        x->asked = true;
    }
}

static void put_service(void *arg, const char *ns, const char *name, const struct tt_service *s)
{
    struct seeing *x = arg;
    struct local_provider *p = x->p;

    str_buf_reset(&x->key);
    str_appendf(&x->key, "%s/%s", ns, name);
    if (s == NULL) {
        local_ipam_forget(p->ipam, str_buf_text(&x->key), clock_now_ms(p->clock));
        return;
    }
    uint64_t *note = local_ipam_note(p->ipam, str_buf_text(&x->key));
    uint64_t version = version_of(p->seen, s);
    if (note == NULL || version == 0 || version != *note >> ROUND_BITS) {
        ask_for_labels(x);
        see(p, x->a, s);
        note = local_ipam_note(p->ipam, str_buf_text(&x->key));
    }
    *note = version << ROUND_BITS | (p->seen->round & ROUND_MASK);
}

/* The host named all that there are, and not this one. */
static bool is_unnamed(void *arg, uint64_t note)
{
    const struct local_seen *seen = arg;

    return (note & ROUND_MASK) != (seen->round & ROUND_MASK);
}

/* A process that died between the kernel and the status: the element's comment says
 * whose the address is. */
static void remember_one(void *arg, const struct local_mirror_vip *v)
{
    struct local_provider *p = arg;

    if (v->vip.guarded && v->vip.comment != NULL) {
        local_ipam_remember(p->ipam, v->vip.comment, &v->vip.addr, clock_now_ms(p->clock));
    }
}

struct remembering {
    struct local_provider *p;
    struct arena *a;
    const struct tt_call *call;
};

static bool slots_lead_to(const struct local_front *f, int32_t port)
{
    for (size_t i = 0; i < f->m; i++) {
        if (f->slots[i].addr.len != 0 && f->slots[i].port == port) {
            return true;
        }
    }
    for (size_t i = 0; i < f->ipvs.n_reals; i++) {
        if (f->ipvs.reals[i].dest.port == port) {
            return true;
        }
    }
    return false;
}

/* A frontend of the port leads to the node port, or to the port itself where the mode keeps it. */
static bool stands(const struct local_mirror_vip *v, const struct tt_port *port)
{
    for (size_t i = 0; i < v->n_fronts; i++) {
        const struct local_front *f = &v->fronts[i];
        int protocol = port->protocol[0] == 'U' ? LOCAL_UDP : LOCAL_TCP;
        bool same = f->id.port == port->port && f->id.protocol == protocol;
        if (same && (slots_lead_to(f, port->node_port) || slots_lead_to(f, port->port))) {
            return true;
        }
    }
    return false;
}

/* Remembers which Service serves which port of a shared address: a new process does not give it
 * to another Service, whose edit was refused for it before. */
static void remember_ports(void *arg, const struct local_vip *vip)
{
    const struct remembering *r = arg;
    const char *const *keys;
    size_t n = local_ipam_sharers(r->p->ipam, r->a, &vip->addr, &keys);
    const struct local_mirror_vip *v =
        n > 1 ? local_mirror_vip(r->p->mirror, r->a, &vip->addr) : NULL;

    for (size_t i = 0; v != NULL && i < n; i++) {
        const struct tt_service *s = local_service_called(r->p, r->call, keys[i]);
        bool *served = s == NULL ? NULL : ARENA_ARRAY(r->a, bool, s->n_ports + 1);
        for (uint32_t k = 0; s != NULL && k < s->n_ports; k++) {
            served[k] = stands(v, &s->ports[k]);
        }
        if (s != NULL) {
            local_ipam_serves(r->p->ipam, keys[i], s, served);
        }
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

/* A Namespace may have got the label for which a Service without an address waits: nothing of the
 * Service changes then. */
static void see_waiting(struct seeing *x, const struct tt_batch *batch)
{
    for (uint32_t i = 0; i < batch->n_items; i++) {
        const struct tt_item *item = batch->items[i];
        bool waits = item->verb == TT_VERB_ENSURE && item->service->n_ingress == 0;
        const struct tt_service *s =
            waits ? x->p->host->service(x->p->host->ctx, x->call, item->service->ns,
                                        item->service->name)
                  : NULL;
        if (s == NULL) {
            continue;
        }
        ask_for_labels(x);
        see(x->p, x->a, s);
    }
}

void local_services_see(struct local_provider *p, struct arena *a, const struct tt_call *call,
                        const struct tt_batch *batch)
{
    bool by_labels = some_pool_asks_for_namespaces(p->config);
    struct seeing x = {.p = p, .a = a, .call = call, .asked = !by_labels};
    const struct tt_service_sink each = {.size = sizeof each, .put = put_service, .arg = &x};

    p->seen->round++;
    local_services_listed(p);
    if (p->host->services_since(p->host->ctx, call, &p->seen->version, &each) != 0) {
        local_ipam_forget_noted(p->ipam, is_unnamed, p->seen, clock_now_ms(p->clock));
    }
    str_buf_done(&x.key);
    if (by_labels) {
        see_waiting(&x, batch);
    }
    if (!p->remembered && p->looked) {
        local_mirror_each(p->mirror, remember_one, p);
        local_mirror_any(p->mirror, remember_ports, &(struct remembering){p, a, call});
        p->remembered = true;
    }
}
