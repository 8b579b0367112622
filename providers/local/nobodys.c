/* SPDX-License-Identifier: Apache-2.0 */
/* nobodys.c: addresses in the kernel that no Service has, and whose guard names none, because
 * others took it or put it there.
 *
 * Once the first lists have been in for orphanGrace they go, in a sync or, when no Service is left
 * that would be synced, in the turn of the director's thread.  With --drift=report only a sync
 * takes them along. */
#include "providers/local/standing.h"

#include <string.h>

#include "common/base/str.h"

#define SAID_MAX 8 /* addresses that the log names */

struct found {
    const struct local_provider *p;
    struct arena *a;
    const struct local_mirror_vip **items;
    size_t n, room;
    size_t n_fronts;
    bool doubtful;
};

/* Of an address that is only held the table does not say so: then the scope does, or a pool. */
bool local_is_of_this_instance(const struct local_provider *p, const struct local_mirror_vip *v)
{
    size_t n = 0;
    const struct ip_net *scope = local_mirror_scope(p->mirror, &n);

    for (size_t i = 0; i < n; i++) {
        if (scope[i].addr.len == v->vip.addr.len && ip_net_contains(&scope[i], &v->vip.addr)) {
            return true;
        }
    }
    return v->vip.guarded || v->n_fronts > 0 || local_pool_of(p->config, &v->vip.addr) != NULL;
}

static bool is_nobodys(const struct local_provider *p, struct arena *a,
                       const struct local_mirror_vip *v)
{
    const char *const *keys;

    return (v->vip.guarded || v->vip.held || v->vip.exported || v->n_fronts > 0) &&
           local_is_of_this_instance(p, v) &&
           local_ipam_sharers(p->ipam, a, &v->vip.addr, &keys) == 0;
}

const struct local_mirror_vip *local_nobodys_of(const struct local_provider *p, struct arena *a,
                                                const struct tt_service *s)
{
    struct ip_addr addr;

    if (!str_eq(s->ns, LOCAL_NOBODY) || !ip_parse(s->name, &addr)) {
        return NULL;
    }
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, a, &addr);
    return v != NULL && v->vip.comment == NULL && is_nobodys(p, a, v) ? v : NULL;
}

static void count_one(void *arg, const struct local_mirror_vip *v)
{
    struct found *f = arg;

    if (is_nobodys(f->p, f->a, v)) {
        f->room++;
        f->doubtful = f->doubtful || local_mirror_is_doubtful(f->p->mirror, &v->vip.addr);
    }
}

static void add_one(void *arg, const struct local_mirror_vip *v)
{
    struct found *f = arg;

    if (is_nobodys(f->p, f->a, v)) {
        f->items[f->n++] =
            local_mirror_vip(f->p->mirror, f->a, &v->vip.addr); /* a copy that stays */
        f->n_fronts += v->n_fronts;
    }
}

static struct found find(const struct local_provider *p, struct arena *a)
{
    struct found f = {.p = p, .a = a};

    local_mirror_each_named(p->mirror, NULL, count_one, &f);
    f.items = ARENA_ARRAY(a, const struct local_mirror_vip *, f.room + 1);
    local_mirror_each_named(p->mirror, NULL, add_one, &f);
    return f;
}

void local_nobodys_each(const struct local_provider *p, struct arena *a,
                        void (*each)(void *arg, const struct local_mirror_vip *v), void *arg)
{
    const struct found f = local_grace_is_over(p) ? find(p, a) : (struct found){0};

    for (size_t i = 0; i < f.n; i++) {
        each(arg, f.items[i]);
    }
}

/* All of the kernel is read again when another program has written: it may be a Service's by
 * now. */
static int look(struct local_provider *p, struct arena *a, bool doubtful, struct err *err)
{
    struct local_nft_table now = {0};
    struct local_link_addr *addrs = NULL;
    size_t n_addrs = 0;
    int rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, err);

    if (rc == ERR_OK && now.exists && !now.ours) {
        return local_table_is_foreign(p, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    bool same = p->looked && !doubtful && now.exists == p->table.exists &&
                now.generation == p->table.generation;
    p->table = now;
    if (same) {
        return ERR_OK;
    }
    rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
    return rc == ERR_OK ? local_read_all(p, a, addrs, n_addrs, err) : rc;
}

/* IPVS reports no changes. */
static int read_ipvs(struct local_provider *p, struct arena *a, const struct found *f,
                     struct err *err)
{
    struct local_frontend_id *ids = ARENA_ARRAY(a, struct local_frontend_id, f->n_fronts + 1);
    size_t n = 0;
    int rc = ERR_OK;

    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; k < f->items[i]->n_fronts; k++) {
            if (f->items[i]->fronts[k].ipvs.served) {
                ids[n++] = f->items[i]->fronts[k].id;
            }
        }
    }
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        struct local_ipvs_list l = {.service = {.id = ids[i]}};
        rc = p->kernel->ops->ipvs_read(p->kernel, a, &l, err);
        if (rc == ERR_OK) {
            local_mirror_ipvs(p->mirror, &l, clock_now_ms(p->clock));
        }
    }
    return rc;
}

static struct local_service_state state_of(const struct local_provider *p, struct arena *a,
                                           const struct found *f)
{
    struct local_vip_pair *vips = ARENA_ARRAY(a, struct local_vip_pair, f->n + 1);
    struct local_front *have = ARENA_ARRAY(a, struct local_front, f->n_fronts + 1);
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct local_mirror_vip *v = f->items[i];
        vips[i] = (struct local_vip_pair){
            .have = v->vip, .want = {.addr = v->vip.addr}, .why = "the address is released"};
        for (size_t k = 0; k < v->n_fronts; k++) {
            have[n++] = v->fronts[k];
        }
    }
    return (struct local_service_state){.key = "",
                                        .have = have,
                                        .n_have = n,
                                        .vips = vips,
                                        .n_vips = f->n,
                                        .now_ms = clock_now_ms(p->clock)};
}

static void say(const struct local_provider *p, struct arena *a, const struct found *f)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    char text[IP_TEXT_MAX];

    for (size_t i = 0; i < f->n && i < SAID_MAX; i++) {
        ip_format(&f->items[i]->vip.addr, text);
        str_appendf(&b, "%s%s", i == 0 ? "" : " ", text);
    }
    if (f->n > SAID_MAX) {
        str_appendf(&b, " and %zu more", f->n - SAID_MAX);
    }
    const struct tt_kv of = {"addresses", str_buf_to_arena(&b, a)};
    p->host->log(p->host->ctx, TT_LOG_WARNING, 0, "addresses that no Service has go", &of, 1);
}

static int take_away(struct local_provider *p, struct arena *a, const struct found *f,
                     struct err *err)
{
    const struct local_service_state st = state_of(p, a, f);
    struct local_nft_table now = {0};
    struct lb_plan plan;
    bool looked = p->looked;

    say(p, a, f);
    lb_plan_init(&plan, a);
    local_services_plan(&plan, p->config->instance, local_table_is(p), &st, 1);
    if (!local_standing_run(p, a, &plan, false, err)) {
        p->looked = p->looked && err->code != ERR_CONFLICT;
        return err->code;
    }
    int rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, err);
    if (rc == ERR_OK) {
        p->table = now; /* the mirror has what was written */
        p->looked = looked;
    }
    return rc;
}

int local_nobodys_go(struct local_provider *p, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct found f = {0};

    if (p->kernel == NULL || p->planning || p->drift == TT_DRIFT_REPORT ||
        !local_grace_is_over(p)) {
        return ERR_OK;
    }
    f = find(p, a);
    if (f.n == 0) {
        return ERR_OK;
    }
    int rc = look(p, a, f.doubtful, err);
    if (rc == ERR_OK) {
        f = find(p, a);
        rc = read_ipvs(p, a, &f, err);
    }
    if (rc == ERR_OK) {
        f = find(p, a); /* a virtual service may have gone */
    }
    return rc == ERR_OK && f.n > 0 ? take_away(p, a, &f, err) : rc;
}
