/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs.c: what the flow does for the ipvs modes: is IPVS there, what of it is ours, what must be
 * right on this machine.
 *
 * IPVS is asked for when a pool or a Service needs it, or the table's scope says that an earlier
 * run had it: the question alone can make a kernel load the module. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"

/* ---- the first use --------------------------------------------------------------------------- */

/* An address of a pool is held by a route or an address of our protocol: an earlier run was here,
 * though its table is gone, as after `nft flush ruleset`. */
static int held_before(struct local_provider *p, struct arena *a, bool *ret, struct err *err)
{
    struct local_route *routes = NULL;
    struct local_link_addr *addrs = NULL;
    size_t n_routes = 0;
    size_t n_addrs = 0;
    int rc = p->kernel->ops->routes(p->kernel, a, &routes, &n_routes, err);

    *ret = false;
    if (rc == ERR_OK) {
        rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
    }
    for (size_t i = 0; rc == ERR_OK && i < n_routes; i++) {
        *ret = *ret || local_pool_of(p->config, &routes[i].addr) != NULL;
    }
    for (size_t i = 0; rc == ERR_OK && i < n_addrs; i++) {
        *ret = *ret || (addrs[i].ours && local_pool_of(p->config, &addrs[i].net.addr) != NULL);
    }
    return rc;
}

/* With no table of ours and nothing held by us, no trimtab made what stands in a pool. */
static int check_foreign(struct local_provider *p, struct err *err)
{
    struct arena *a = arena_new();
    struct local_ipvs_service *all = NULL;
    size_t n = 0;
    char text[LOCAL_FRONTEND_TEXT_MAX];
    bool before = false;
    int rc = held_before(p, a, &before, err);

    if (rc == ERR_OK && !before) {
        rc = p->kernel->ops->ipvs_services(p->kernel, a, &all, &n, err);
    }

    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        if (local_pool_of(p->config, &all[i].id.vip) != NULL) {
            local_frontend_text(&all[i].id, text);
            rc = err_set(err, ERR_INVALID,
                         "ipvs service %s exists and no trimtab made it; --local-allow-foreign "
                         "takes it over",
                         text);
        }
    }
    arena_free(a);
    return rc;
}

int local_ipvs_usable(struct local_provider *p, struct err *err)
{
    int rc = p->ipvs ? ERR_OK : p->kernel->ops->ipvs_look(p->kernel, err);

    if (rc == ERR_OK && !p->ipvs && !p->table.exists && !p->allow_foreign) {
        rc = check_foreign(p, err);
    }
    p->ipvs = rc == ERR_OK;
    return rc;
}

int local_ipvs_start(struct local_provider *p, struct err *err)
{
    bool needed = false;

    for (size_t i = 0; i < p->config->n_pools; i++) {
        needed = needed || local_mode_is_ipvs(p->config->pools[i].serve.mode);
    }
    return needed ? local_ipvs_usable(p, err) : ERR_OK;
}

/* ---- observe --------------------------------------------------------------------------------- */

/* A pool leaves the address out: it is others'. */
static bool is_excluded(const struct local_provider *p, const struct ip_addr *vip)
{
    for (size_t i = 0; i < p->config->n_pools; i++) {
        for (size_t k = 0; k < p->config->pools[i].n_exclude; k++) {
            const struct local_range *r = &p->config->pools[i].exclude[k];
            if (local_addr_cmp(&r->first, vip) <= 0 && local_addr_cmp(vip, &r->last) <= 0) {
                return true;
            }
        }
    }
    return false;
}

/* Its address lies in a pool, or in one of an earlier run. */
static bool is_ours(const struct local_provider *p, const struct ip_addr *vip)
{
    size_t n = 0;
    const struct ip_net *scope = local_mirror_scope(p->mirror, &n);

    if (is_excluded(p, vip)) {
        return false;
    }

    for (size_t i = 0; i < n; i++) {
        if (scope[i].addr.len == vip->len && ip_net_contains(&scope[i], vip)) {
            return true;
        }
    }
    return local_pool_of(p->config, vip) != NULL;
}

/* The module is there; the question does not load it. */
static bool is_loaded(const struct local_provider *p)
{
    struct err ignored = ERR_INIT;
    int64_t value = 0;

    return p->kernel->ops->sysctl_read(p->kernel, "net.ipv4.vs.conntrack", &value, &ignored) !=
           ERR_NOT_FOUND;
}

int local_ipvs_list(struct local_provider *p, struct arena *a, struct err *err)
{
    struct local_ipvs_service *all = NULL;
    size_t n_scope = 0;
    size_t n = 0;

    (void)local_mirror_scope(p->mirror, &n_scope);
    if (!p->ipvs && (n_scope == 0 || !is_loaded(p))) {
        return ERR_OK;
    }
    /* Services that an earlier run made must not be overlooked: a Service that is deleted now would
     * leave them behind. */
    int rc = local_ipvs_usable(p, err);
    if (rc != ERR_OK) {
        return rc;
    }
    rc = p->kernel->ops->ipvs_services(p->kernel, a, &all, &n, err);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        if (is_ours(p, &all[i].id.vip)) {
            local_mirror_ipvs_there(p->mirror, &all[i]);
        }
    }
    return rc;
}

static int read_one(struct lb_sync *s, const struct local_frontend_id *id, struct err *err)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct local_ipvs_list l = {.service = {.id = *id}};

    s->reads++;
    int rc = p->kernel->ops->ipvs_read(p->kernel, s->a, &l, err);
    if (rc == ERR_OK) {
        local_mirror_ipvs(p->mirror, &l, clock_now_ms(s->clock));
    }
    return rc;
}

/* Of the mirror, those at the address that are virtual services. */
static struct local_frontend_id *served_at(struct lb_sync *s, const struct ip_addr *vip,
                                           size_t *ret_n)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, s->a, vip);
    size_t n = v == NULL ? 0 : v->n_fronts;
    struct local_frontend_id *ids = ARENA_ARRAY(s->a, struct local_frontend_id, n + 1);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (v->fronts[i].ipvs.served) {
            ids[(*ret_n)++] = v->fronts[i].id;
        }
    }
    return ids;
}

static bool is_among(const struct local_frontend_id *ids, size_t n,
                     const struct local_frontend_id *id)
{
    for (size_t i = 0; i < n; i++) {
        if (local_frontend_cmp(&ids[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static int observe_at(struct lb_sync *s, const struct local_item *it, const struct ip_addr *vip,
                      struct err *err)
{
    size_t n = 0;
    const struct local_frontend_id *ids = served_at(s, vip, &n);
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = read_one(s, &ids[i], err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < it->service->n_ports; i++) {
        const struct tt_port *port = &it->service->ports[i];
        const struct local_frontend_id id = {.vip = *vip,
                                             .protocol = str_eq(port->protocol, "TCP") ? LOCAL_TCP
                                                                                       : LOCAL_UDP,
                                             .port = (uint16_t)port->port};
        if (!is_among(ids, n, &id)) {
            rc = read_one(s, &id, err);
        }
    }
    return rc;
}

static bool needs_ipvs(const struct local_provider *p, const struct local_item *it)
{
    const struct local_pool *pool = it->grant.n > 0 ? it->grant.have[0].pool : NULL;
    enum local_mode mode = pool != NULL ? pool->serve.mode : p->config->director.serve.mode;

    return it->has_wish && local_mode_is_ipvs(it->wish.has_mode ? it->wish.mode : mode);
}

int local_ipvs_observe(struct lb_sync *s, const struct local_item *it, struct err *err)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    int rc = ERR_OK;

    /* Where it cannot be used, the plan says so of the Service (local_ipvs_fits()). */
    if (!p->ipvs && needs_ipvs(p, it) && local_ipvs_usable(p, &(struct err){0}) == ERR_OK) {
        s->reads++;
        rc = local_ipvs_list(p, s->a, err);
    }

    for (size_t i = 0; p->ipvs && rc == ERR_OK && i < it->n_vips; i++) {
        rc = observe_at(s, it, &it->vips[i].have.addr, err);
    }
    return rc;
}

/* ---- this machine ---------------------------------------------------------------------------- */

struct wanted_sysctl {
    const char *name;
    int64_t value;
    bool affinity_only;
};
static const struct wanted_sysctl advised[] = {
    {"net.ipv4.vs.expire_nodest_conn", 1, false},
    {"net.ipv4.vs.expire_quiescent_template", 1, true},
    {"net.ipv4.vs.conn_reuse_mode", 1, false},
};

#define SLOPPY_TCP "net.ipv4.vs.sloppy_tcp"

/* Is it as wanted, or made so?  One that this kernel does not have is not missed. */
static bool sysctl_is(const struct lb_sync *s, const char *name, int64_t want)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct err ignored = ERR_INIT;
    int64_t value = want;

    if (p->kernel->ops->sysctl_read(p->kernel, name, &value, &ignored) != ERR_OK || value == want) {
        return true;
    }
    return p->config->director.set_sysctls && !s->planning &&
           p->kernel->ops->sysctl_write(p->kernel, name, want, &ignored) == ERR_OK;
}

/* Some port is served by a mode that keeps the address. */
static bool keeps_vip_by_now(const struct local_item *it)
{
    for (size_t i = 0; i < it->n_have; i++) {
        const struct local_ipvs_front *f = &it->have[i].ipvs;
        if (f->n_reals > 0 && f->reals[0].dest.method != LOCAL_IPVS_NAT) {
            return true;
        }
    }
    return false;
}

/* kube-proxy would translate the address before IPVS sees it.  What is served already goes on: it
 * may be the proxy that is new. */
static int check_proxy(struct lb_sync *s, const struct local_item *it, struct err *err)
{
    struct local_sync *y = s->data;
    int rc = ERR_OK;

    if (keeps_vip_by_now(it)) {
        return ERR_OK;
    }
    if (!y->asked_for_proxy) {
        rc = y->p->kernel->ops->kube_proxy(y->p->kernel, &y->kube_proxy, err);
        y->asked_for_proxy = rc == ERR_OK;
    }
    if (rc == ERR_OK && y->kube_proxy != NULL) {
        /* Not the Service's fault, and mended without a change of it: asked again soon. */
        rc = err_set(err, ERR_TRANSIENT,
                     "this machine runs kube-proxy (%s exists); a DR director must not",
                     y->kube_proxy);
    }
    return rc;
}

int local_ipvs_fits(struct lb_sync *s, const struct local_item *it, struct err *err)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;

    for (size_t i = 0; i < it->n_wanted; i++) {
        enum local_mode mode = it->wanted[i].serve.mode;
        if (!local_mode_is_ipvs(mode)) {
            continue;
        }
        int rc = local_ipvs_usable(p, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (local_mode_keeps_vip(mode) && (rc = check_proxy(s, it, err)) != ERR_OK) {
            return rc;
        }
        if (mode == LOCAL_MODE_IPVS_FULLNAT && !sysctl_is(s, "net.ipv4.vs.conntrack", 1)) {
            return err_set(err, ERR_INVALID,
                           "net.ipv4.vs.conntrack is 0: no connection through ipvs-fullnat would "
                           "come about (sysctl -w net.ipv4.vs.conntrack=1)");
        }
    }
    return ERR_OK;
}

void local_ipvs_findings(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    const struct local_wanted *w = it->n_wanted > 0 ? &it->wanted[0] : NULL;

    if (w == NULL || !local_mode_is_ipvs(w->serve.mode)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(advised); i++) {
        const struct wanted_sysctl *a = &advised[i];
        if ((!a->affinity_only || w->serve.affinity) && !sysctl_is(s, a->name, a->value)) {
            lb_finding(s, item, "DirectorNotReady", NULL, "%s is not %lld (sysctl -w %s=%lld)",
                       a->name, (long long)a->value, a->name, (long long)a->value);
        }
    }
    const struct local_provider *p = ((const struct local_sync *)s->data)->p;
    bool moves = p->follows && p->config->director.redundancy != LOCAL_REDUNDANCY_NONE;
    if (moves && local_mode_keeps_vip(w->serve.mode) && !sysctl_is(s, SLOPPY_TCP, 1)) {
        lb_finding(s, item, "DirectorNotReady", NULL,
                   SLOPPY_TCP " is not 1: open connections end when the address moves to this "
                              "director (sysctl -w " SLOPPY_TCP "=1)");
    }
    for (size_t i = 0; w->n > 0 && i < w->n_far; i++) {
        const struct local_target_set *t = &w->targets[0];
        const struct local_left_out *far = &t->left_out[t->n_left_out - w->n_far + i];
        lb_finding(s, item, "TargetOutOfReach", NULL, "%s: %s", far->who, far->why);
    }
}

/* ---- plan ------------------------------------------------------------------------------------ */

static void add_served(struct ip_addr *vips, size_t *n_vips, const struct local_front *fronts,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fronts[i].ipvs.served) {
            vips[(*n_vips)++] = fronts[i].id.vip;
        }
    }
}

void local_ipvs_scope_of(struct lb_sync *s, struct local_service_state *states, size_t n)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct local_ipvs_scope x = {.config = p->config};
    struct local_nft_change *changes = NULL;
    size_t n_changes = 0;
    size_t n_vips = 0;

    for (size_t i = 0; i < n; i++) {
        n_vips += states[i].n_want + states[i].n_have;
    }
    struct ip_addr *vips = ARENA_ARRAY(s->a, struct ip_addr, n_vips + 1);
    x.vips = vips;
    for (size_t i = 0; i < n; i++) {
        add_served(vips, &x.n_vips, states[i].want, states[i].n_want);
        if (states[i].n_want >
            0) { /* what drains is ours, too, though others took the table away */
            add_served(vips, &x.n_vips, states[i].have, states[i].n_have);
        }
    }
    if (x.n_vips == 0) {
        return;
    }
    x.have = local_mirror_scope(p->mirror, &x.n_have);
    local_ipvs_scope_changes(s->a, &x, &changes, &n_changes);
    for (size_t i = 0; i < n; i++) {
        states[i].scope = changes;
        states[i].n_scope = n_changes;
    }
}
