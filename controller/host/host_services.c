/* SPDX-License-Identifier: Apache-2.0 */
/* host_services.c: the Services that a provider is shown: all of them, one by name, or those that
 * have changed.
 *
 * To the Services of the store belong those that are gone while their load balancers are kept
 * (orphan_guard.h): they use what they share.  Sub-commands that read files have a fixed list. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/host/host_internal.h"

static int name_cmp(const struct tt_service *x, const char *ns, const char *name)
{
    int order = strcmp(x->ns, ns);

    return order != 0 ? order : strcmp(x->name, name);
}

static int by_name(const void *a, const void *b)
{
    const struct tt_service *x = *(const struct tt_service *const *)a;
    const struct tt_service *y = *(const struct tt_service *const *)b;

    return name_cmp(x, y->ns, y->name);
}

/* Those that are kept and that no Service of the store has the name of; sorted. */
static const struct tt_service **kept_services(struct tt_host_ctx *h, struct arena *a,
                                               size_t *ret_n)
{
    size_t n_kept = 0;
    struct kube_object **kept = orphan_guard_services(h->args.orphan_guard, a, &n_kept);
    const struct tt_service **found = ARENA_ARRAY(a, const struct tt_service *, n_kept);
    size_t n = 0;

    for (size_t i = 0; i < n_kept; i++) {
        _cleanup_(kube_object_unrefp) struct kube_object *now =
            kube_store_get(h->args.services, kept[i]->key);
        if (now == NULL) { /* else another has its name, and only one can be passed on */
            found[n++] = kept[i]->service;
        }
    }
    if (n > 1) {
        qsort(found, n, sizeof(*found), by_name);
    }
    *ret_n = n;
    return found;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void fill_services(struct tt_host_ctx *h, struct host_call *c, struct host_snapshot *s)
{
    size_t n_kept = 0;
    const struct tt_service **kept = kept_services(h, c->arena, &n_kept);

    s->views = s->snapshot->views;
    s->n = s->snapshot->n;
    if (n_kept == 0) {
        return;
    }
    const void **all = ARENA_ARRAY(c->arena, const void *, s->n + n_kept);
    if (s->n > 0) {
        memcpy(all, s->snapshot->views, s->n * sizeof(*all));
    }
    memcpy(all + s->n, kept, n_kept * sizeof(*all));
    s->n += n_kept;
    qsort(all, s->n, sizeof(*all), by_name);
    s->views = all;
}

static void host_services(struct tt_host_ctx *h, const struct tt_call *call,
                          const struct tt_service *const **ret, uint32_t *ret_n)
{
    if (!host_has_places(h, ret, ret_n, "services() was called with NULL for its answer")) {
        return;
    }
    *ret = h->args.fixed_services;
    *ret_n = h->args.n_fixed_services;
    if (h->args.fixed_services != NULL || h->args.services == NULL || call == NULL) {
        return;
    }
    struct host_call *c = host_call_of(call);
    mutex_lock(&c->lock);
    /* Where objects are kept small, a list is made each time. */
    if (c->services == NULL ||
        c->services->snapshot->version != kube_store_version(h->args.services)) {
        struct host_snapshot *s = ARENA_NEW(c->arena, struct host_snapshot);
        *s = (struct host_snapshot){.snapshot = kube_store_snapshot(h->args.services),
                                    .next = c->services};
        fill_services(h, c, s);
        c->services = s; /* the older ones stay: the provider may still look at them */
    }
    *ret = (const struct tt_service *const *)c->services->views;
    *ret_n = (uint32_t)c->services->n;
    mutex_unlock(&c->lock);
}

/* ---- one ------------------------------------------------------------------------------------- */

static const struct tt_service *find_service(const struct tt_service *const *all, size_t n,
                                             const char *ns, const char *name)
{
    size_t low = 0;

    for (size_t high = n; low < high;) {
        size_t mid = low + (high - low) / 2;
        int order = name_cmp(all[mid], ns, name);
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

static const struct tt_service *host_service(struct tt_host_ctx *h, const struct tt_call *call,
                                             const char *ns, const char *name)
{
    if (ns == NULL || name == NULL) {
        host_log_fault(h, "service() was called without a name");
        return NULL;
    }
    if (h->args.fixed_services != NULL) {
        return find_service(h->args.fixed_services, h->args.n_fixed_services, ns, name);
    }
    if (h->args.services == NULL || call == NULL) {
        return NULL;
    }
    struct host_call *c = host_call_of(call);
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", ns, name);
    struct kube_object *o = kube_store_get(h->args.services, key);
    mutex_lock(&c->lock);
    const struct tt_service *found = NULL;
    if (o != NULL) {
        struct host_object *held = ARENA_NEW(c->arena, struct host_object);
        *held = (struct host_object){.object = o, .next = c->objects};
        c->objects = held; /* until the call ends */
        found = o->service;
    } else {
        size_t n = 0;
        const struct tt_service **kept = kept_services(h, c->arena, &n);
        found = find_service(kept, n, ns, name);
    }
    mutex_unlock(&c->lock);
    return found;
}

/* ---- those that have changed ----------------------------------------------------------------- */

/* Services of the store on their way to the provider, and between them those that are kept. */
struct telling {
    const struct tt_service_sink *each;
    const struct tt_service **kept;
    size_t n_kept;
    size_t told_kept;
};

static void tell_kept_before(struct telling *t, const struct tt_service *s)
{
    while (t->told_kept < t->n_kept &&
           (s == NULL || name_cmp(t->kept[t->told_kept], s->ns, s->name) < 0)) {
        const struct tt_service *k = t->kept[t->told_kept++];
        t->each->put(t->each->arg, k->ns, k->name, k);
    }
}

static void tell_one(void *arg, const char *key, const struct kube_object *cur)
{
    struct telling *t = arg;

    if (cur != NULL) {
        tell_kept_before(t, cur->service);
        t->each->put(t->each->arg, cur->service->ns, cur->service->name, cur->service);
        return;
    }
    const char *slash = strchr(key, '/');
    _cleanup_(xfreep) char *ns = xstrndup(key, (size_t)(slash - key));
    t->each->put(t->each->arg, ns, slash + 1, NULL);
}

/* The list of files never changes. */
static int32_t tell_fixed(const struct tt_host_ctx *h, uint64_t *version,
                          const struct tt_service_sink *each)
{
    bool first = *version == 0;

    for (uint32_t i = 0; first && i < h->args.n_fixed_services; i++) {
        const struct tt_service *s = h->args.fixed_services[i];
        each->put(each->arg, s->ns, s->name, s);
    }
    *version = 1;
    return first;
}

static int32_t host_services_since(struct tt_host_ctx *h, const struct tt_call *call,
                                   uint64_t *version, const struct tt_service_sink *each)
{
    if (!host_has_places(h, version, each, "services_since() was called with NULL") ||
        !host_has_places(h, version, (const void *)(uintptr_t)each->put,
                         "services_since() was called with NULL")) {
        return 0;
    }
    if (h->args.fixed_services != NULL) {
        return tell_fixed(h, version, each);
    }
    if (h->args.services == NULL || call == NULL) {
        return 1;
    }
    struct host_call *c = host_call_of(call);
    struct telling t = {.each = each};
    mutex_lock(&c->lock);
    t.kept = kept_services(h, c->arena, &t.n_kept);
    mutex_unlock(&c->lock);
    if (t.n_kept > 0) {
        *version = 0;
    }
    bool all = kube_store_since(h->args.services, version, tell_one, &t);
    tell_kept_before(&t, NULL);
    if (t.n_kept > 0) {
        *version = 0; /* a change of their results is not a change of the store */
    }
    return all;
}

void host_table_services(struct tt_host *t)
{
    t->services = host_services;
    t->service = host_service;
    t->services_since = host_services_since;
}
