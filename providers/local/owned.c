/* SPDX-License-Identifier: Apache-2.0 */
/* owned.c: what of ours the kernel carries: for orphans, and for Services that went while no
 * process watched. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"

struct listing {
    struct local_session x;
    const struct tt_service *const *all;
    uint32_t n_all;
    void (*each)(struct listing *l, const struct local_mirror_vip *v, const struct tt_service *s);
};

static void list_one(void *arg, const struct local_mirror_vip *v)
{
    struct listing *l = arg;
    const struct tt_service *s =
        v->vip.comment == NULL ? NULL : local_service_of(l->all, l->n_all, v->vip.comment);

    l->each(l, v, s);
}

static int32_t list(void *provider, const struct tt_call *call,
                    void (*each)(struct listing *l, const struct local_mirror_vip *v,
                                 const struct tt_service *s))
{
    struct local_provider *p = provider;
    const struct tt_batch none = {.size = sizeof none, .key = ""};
    struct err err = ERR_INIT;
    struct listing l = {.each = each};

    if (p->kernel == NULL) {
        return TT_OK; /* an allocator has nothing but statuses */
    }
    mutex_lock(&p->lock);
    int rc = local_session_begin(&l.x, p, call, &none, &err);

    if (rc == ERR_OK) {
        p->host->services(p->host->ctx, call, &l.all, &l.n_all);
        local_mirror_each(p->mirror, list_one, &l);
    } else {
        p->host->report_finding(p->host->ctx, TT_LOG_ERROR, "", err.message);
    }
    local_session_end(&l.x);
    mutex_unlock(&p->lock);
    return rc;
}

/* "namespace/name" as a Service by which what is left of it can be taken away. */
static const struct tt_service *stand_in(struct arena *a, const char *key)
{
    const char *slash = key == NULL ? NULL : strchr(key, '/');
    struct tt_service *s = ARENA_NEW(a, struct tt_service);

    if (slash == NULL) {
        return NULL;
    }
    *s = (struct tt_service){.size = sizeof *s,
                             .ns = arena_strndup(a, key, (size_t)(slash - key)),
                             .name = arena_strdup(a, slash + 1),
                             .uid = "",
                             .resource_version = "",
                             .type = "LoadBalancer"};
    return s;
}

/* Does the address belong to this Service, or to one that shares it? */
static bool is_used(const struct listing *l, const struct local_mirror_vip *v,
                    const struct tt_service *s)
{
    const struct local_provider *p = l->x.s.provider;
    const char *const *keys;

    return (s != NULL && (local_wants(p, s) || svc_needs_cleanup(s))) ||
           local_ipam_sharers(p->ipam, l->x.a, &v->vip.addr, &keys) > 0;
}

static void report(struct listing *l, const char *kind, const char *name, const char *owner,
                   const char *remove_as)
{
    const struct tt_host *host = l->x.s.host;
    bool used = remove_as == NULL;
    const struct tt_owned owned = {.size = sizeof owned,
                                   .kind = kind,
                                   .name = name,
                                   .owner = owner,
                                   .remove_as = stand_in(l->x.a, remove_as),
                                   .flags = used ? TT_OWNED_USED : 0};

    host->report_resource(host->ctx, l->x.s.call, &owned);
}

static void report_vip(struct listing *l, const struct local_mirror_vip *v,
                       const struct tt_service *s)
{
    char text[LOCAL_FRONTEND_TEXT_MAX];
    const char *remove_as = NULL;

    if (!local_is_of_this_instance(l->x.s.provider, v)) {
        return;
    }
    ip_format(&v->vip.addr, text);
    if (!is_used(l, v, s)) {
        remove_as = v->vip.comment != NULL ? v->vip.comment
                                           : arena_printf(l->x.a, "%s/%s", LOCAL_NOBODY, text);
    }
    report(l, v->vip.guarded ? "guard" : "hold", arena_strdup(l->x.a, text), v->vip.comment,
           remove_as);
    for (size_t i = 0; i < v->n_fronts; i++) {
        local_frontend_text(&v->fronts[i].id, text);
        report(l, "frontend", arena_strdup(l->x.a, text), v->vip.comment, remove_as);
    }
}

int32_t local_list_owned(void *provider, const struct tt_call *call)
{
    return list(provider, call, report_vip);
}

static void report_left(struct listing *l, const struct local_mirror_vip *v,
                        const struct tt_service *s)
{
    const struct tt_host *host = l->x.s.host;
    const struct tt_service *gone = stand_in(l->x.a, v->vip.comment);

    if (gone != NULL && !is_used(l, v, s)) {
        host->report_left(host->ctx, l->x.s.call, gone);
    }
}

/* Resources without a Service's name are not reported: no deletion of a Service would remove
 * them. */
static int32_t nobodys_go(struct local_provider *p, const struct tt_call *call)
{
    struct err err = ERR_INIT;
    int32_t rc = TT_OK;

    mutex_lock(&p->lock);
    if (p->host->may_mutate(p->host->ctx, call) != 0) {
        rc = local_nobodys_go(p, &err);
    }
    mutex_unlock(&p->lock);
    if (rc != TT_OK) {
        const struct tt_kv of = {"err", err.message};
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0,
                     "addresses that no Service has are still there", &of, 1);
    }
    return rc;
}

/* An API server that was restored, or a list that is not whole, must not take addresses away:
 * nothing is left before orphanGrace is over. */
int32_t local_list_left(void *provider, const struct tt_call *call)
{
    struct local_provider *p = provider;

    if (p->kernel == NULL) {
        return TT_OK;
    }
    mutex_lock(&p->lock);
    local_services_listed(p);
    bool over = p->planning || local_grace_is_over(p); /* a plan shows what will go */
    local_leasing_synced(p, call, NULL);               /* the first lists are in */
    mutex_unlock(&p->lock);
    if (!over) {
        return TT_IN_PROGRESS;
    }
    int32_t rc = list(provider, call, report_left);
    return rc == TT_OK ? nobodys_go(p, call) : rc;
}
