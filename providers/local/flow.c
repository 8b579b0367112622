/* SPDX-License-Identifier: Apache-2.0 */
/* flow.c: the way of a Service through the provider `local`: addresses, what stands, what is to
 * stand, status.
 *
 *   facts    the allocator sees all Services; wishes are read, addresses granted, oldest Service
 *            first
 *   observe  what this machine's kernel has (observe.c)
 *   plan     frontends that are wanted, compared with it (plan/)
 *   status   the addresses go to the Service */
#include "providers/local/provider.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"

#define IPVS_LOOK_MS       600000
#define QUOTA_AGAIN_MS     5000 /* looking costs nothing but our own time */
#define QUOTA_AGAIN_MAX_MS 60000
#define QUOTA_APART_MS     5
#define SECOND_AGAIN_MS    30000

static struct local_sync *sync_of(const struct lb_sync *s)
{
    return s->data;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static int older_first(const void *a, const void *b)
{
    const struct tt_service *x = (*(struct lb_item *const *)a)->in->service;
    const struct tt_service *y = (*(struct lb_item *const *)b)->in->service;

    if (x->created_us != y->created_us) {
        return x->created_us < y->created_us ? -1 : 1;
    }
    return strcmp(str_nonnull(x->uid), str_nonnull(y->uid));
}

/* All who wait ask again, because nothing wakes them: not more than some 200 in a second. */
static int64_t ask_again_ms(const struct local_provider *p)
{
    int64_t ms = (int64_t)local_ipam_n_waiting(p->ipam) * QUOTA_APART_MS;

    return ms < QUOTA_AGAIN_MS ? QUOTA_AGAIN_MS : ms > QUOTA_AGAIN_MAX_MS ? QUOTA_AGAIN_MAX_MS : ms;
}

static int grant(struct lb_sync *s, const struct lb_item *item, struct local_item *it,
                 struct err *err)
{
    struct local_provider *p = sync_of(s)->p;
    int64_t now_ms = clock_now_ms(s->clock);

    if (p->follows) {
        return local_ipam_follow(p->ipam, item->key, &it->grant, err);
    }
    if (item->in->verb == TT_VERB_UPDATE) {
        return local_ipam_kept(p->ipam, item->key, now_ms, &it->grant, err);
    }
    /* A process that only plans has an allocator of its own: what one Service would get is
     * not free for the next. */
    bool looks = s->planning && !p->planning;
    int rc = looks ? local_ipam_would_grant(p->ipam, item->key, now_ms, &it->grant, err)
                   : local_ipam_grant(p->ipam, item->key, now_ms, &it->grant, err);

    if (rc == ERR_QUOTA) {
        err->retry_after_ms = ask_again_ms(p);
    }
    return rc;
}

static void found_one(void *arg, const struct local_mirror_vip *v)
{
    (void)v;
    *(bool *)arg = true;
}

/* The kernel has something of this Service, or its status an address that it got here. */
static bool has_some(const struct local_provider *p, const char *key, const struct tt_service *s)
{
    bool some = false;
    struct ip_addr addr;

    if (p->kernel != NULL) {
        local_mirror_each_named(p->mirror, key, found_one, &some);
    }
    for (uint32_t i = 0; svc_has_finalizer(s, LB_CLEANUP_FINALIZER) && i < s->n_ingress; i++) {
        some = some || (s->ingress[i].ip != NULL && ip_parse(s->ingress[i].ip, &addr) &&
                        local_pool_of(p->config, &addr) != NULL);
    }
    return some;
}

static int read_item(struct lb_sync *s, struct lb_item *item, struct local_item *it,
                     struct err *err)
{
    struct local_provider *p = sync_of(s)->p;

    it->service = item->in->service;
    item->data = it;
    if (item->in->verb == TT_VERB_DELETE) {
        return it->service->n_ingress == 0 || s->planning ? ERR_OK
                                                          : local_release_wait(p, item->key, err);
    }
    local_release_over(p, item->key);
    if (!local_wants(p, it->service)) {
        return err_set(err, ERR_IMPLEMENTED_ELSEWHERE,
                       "Services without a class are not served here (defaultClass: false)");
    }
    it->as_stands = item->in->verb == TT_VERB_UPDATE && (item->in->flags & TT_ITEM_UNPROVEN) != 0;
    if (it->as_stands) {
        return grant(s, item, it, err);
    }
    int rc = local_wish_read(s->life, p->config, it->service, &it->wish, err);
    it->has_wish = rc == ERR_OK;
    bool ignored = rc == ERR_OK && local_ignores(p, it->service, &it->wish);
    if (ignored) {
        it->leaves = item->in->verb == TT_VERB_ENSURE && has_some(p, item->key, it->service);
    }
    if (it->leaves) {
        return ERR_OK; /* no address is granted: what there is goes */
    }
    if (ignored) {
        return err_set(err, ERR_IMPLEMENTED_ELSEWHERE, "annotation " LOCAL_PREFIX "ignore says so");
    }
    return rc == ERR_OK ? grant(s, item, it, err) : rc;
}

/* The allocator learns the kernel's addresses before it assigns any. */
static int look_first(struct lb_sync *s, struct err *err)
{
    struct local_provider *p = sync_of(s)->p;

    if (p->looked || p->kernel == NULL) {
        return ERR_OK;
    }
    bool adopted = false;
    int rc = local_observe(s, err);
    if (rc == ERR_OK && !s->planning && p->host->may_mutate(p->host->ctx, s->call) != 0) {
        rc = local_routes_adopt(p, &adopted, err);
    }
    p->looked = p->looked && !adopted; /* they are read again with the first stage */
    return rc;
}

int local_facts(struct lb_sync *s, struct err *err)
{
    struct local_provider *p = s->provider;
    struct local_sync *y = ARENA_NEW(s->life, struct local_sync);
    struct lb_item **order = ARENA_ARRAY(s->life, struct lb_item *, s->n_items + 1);

    p->call = s->call;
    *y = (struct local_sync){.p = p,
                             .items = ARENA_ARRAY(s->life, struct local_item, s->n_items + 1)};
    s->data = y;
    for (size_t i = 0; i < s->n_items; i++) {
        y->items[i].service = s->items[i].in->service;
        order[i] = &s->items[i];
    }
    int rc = look_first(s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    local_services_see(p, s->life, s->call, s->batch);
    qsort(order, s->n_items, sizeof(*order), older_first);
    for (size_t i = 0; i < s->n_items; i++) {
        struct local_item *it = &y->items[order[i] - s->items];
        (void)read_item(s, order[i], it, &order[i]->err);
    }
    return ERR_OK;
}

/* ---- plan ------------------------------------------------------------------------------------ */

const struct local_pool *local_pool_at(const struct lb_sync *s, const struct local_item *it,
                                       size_t address)
{
    return address < it->grant.n
               ? it->grant.have[address].pool
               : local_pool_of(sync_of(s)->p->config, &it->grant.old[address - it->grant.n]);
}

static bool has_served(const struct local_item *it)
{
    bool some = it->grant.n_old > 0;

    for (size_t i = 0; i < it->grant.n; i++) {
        some = some || it->grant.have[i].in_status;
    }
    return some;
}

/* The desired state at one of its addresses. */
static int want_at(struct lb_sync *s, const struct lb_item *item, struct local_item *it,
                   const struct ip_addr *vip, const struct local_pool *pool,
                   struct local_wanted *ret)
{
    struct local_provider *p = sync_of(s)->p;
    struct lb_item *failed = (struct lb_item *)item;
    const struct local_front_args args = {
        .config = p->config,
        .pool = pool,
        .wish = &it->wish,
        .service = it->service,
        .vip = *vip,
        .nodes = s->batch->nodes,
        .n_nodes = s->batch->n_nodes,
        .slices = item->in->slices,
        .n_slices = item->in->n_slices,
        .has_slices = item->in->has_slices != 0,
        .served = has_served(it),
        .zone = p->config->director.zone,
        .have = it->have,
        .n_have = it->n_have,
        .addrs = sync_of(s)->addrs,
        .n_addrs = sync_of(s)->n_addrs,
        .weigher = local_health_weigher(s, item),
    };
    if (it->as_stands) {
        local_fronts_kept(s->a, &args, ret);
        return ERR_OK;
    }
    return local_fronts_desired(s->a, &args, ret, &failed->err);
}

/* A Service that leaves an address to those that share it may have a port by now that one
 * of them has there. */
static void leave_to_others(const struct lb_sync *s, const struct local_item *it,
                            struct local_wanted *w)
{
    size_t kept = 0;

    w->some_open = false;
    for (size_t i = 0; i < w->n; i++) {
        if (!local_port_is_anothers(s, it, &w->fronts[i].id)) {
            w->fronts[kept] = w->fronts[i];
            w->targets[kept] = w->targets[i];
            w->base[kept] = w->base[i];
            w->some_open = w->some_open || local_front_is_open(&w->fronts[kept]);
            kept++;
        }
    }
    w->n = kept;
}

/* Of each granted address, then of each one that goes when the status no longer has it. */
static int want(struct lb_sync *s, struct lb_item *item, struct local_item *it)
{
    size_t n = it->grant.n + it->grant.n_old;
    int rc = ERR_OK;

    it->wanted = ARENA_ARRAY(s->a, struct local_wanted, n + 1);
    it->n_wanted = 0;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        bool stays = i < it->grant.n;
        const struct ip_addr *vip =
            stays ? &it->grant.have[i].addr : &it->grant.old[i - it->grant.n];
        struct local_wanted *w = &it->wanted[it->n_wanted++];
        rc = want_at(s, item, it, vip, local_pool_at(s, it, i), w);
        if (rc == ERR_OK && !stays) {
            leave_to_others(s, it, w);
        }
    }
    return rc;
}

/* Another Service's frontend at the address lets clients through. */
static bool others_serve(const struct lb_sync *s, const struct local_vip_pair *v)
{
    const struct local_mirror_vip *m = local_mirror_vip(sync_of(s)->p->mirror, s->a, &v->have.addr);

    for (size_t i = 0; v->other != NULL && m != NULL && i < m->n_fronts; i++) {
        if (local_front_is_open(&m->fronts[i])) {
            return true;
        }
    }
    return false;
}

/* Where the address is to be held, if not by a route. */
static int link_for(const struct lb_sync *s, const struct local_pool *pool,
                    const struct local_vip_pair *v, bool neighbours)
{
    const struct local_provider *p = sync_of(s)->p;
    bool shares = s->planning
                      ? v->have.held && local_leasing_seems_shared(p->config, pool, &v->have)
                      : local_leasing_shares(p, pool);

    if (shares) {
        return local_leasing_link(&v->have.addr, v->links, v->n_links);
    }
    /* NDP answers for addresses of an interface only. */
    return neighbours && v->have.addr.len == 16 ? v->links[0]->index : 0;
}

static void want_address(const struct lb_sync *s, const struct lb_item *item,
                         const struct local_pool *pool, const struct local_wanted *w,
                         struct local_vip_pair *v)
{
    enum local_announce by = pool == NULL ? LOCAL_ANNOUNCE_ARP : pool->announce_by;
    bool serves = w->some_open || others_serve(s, v) || (pool != NULL && pool->announce_empty);
    bool neighbours = by == LOCAL_ANNOUNCE_ARP && v->n_links > 0;

    v->why = arena_printf(s->a, "%s has the address", item->key);
    v->want = (struct local_vip){.addr = v->have.addr,
                                 .guarded = true,
                                 .comment = v->comment_lives ? v->have.comment : item->key,
                                 .held = serves || v->have.held};
    if (v->want.held) {
        v->want.held_on = link_for(s, pool, v, neighbours);
    }
    v->want.announced = serves && neighbours;
    if (s->planning && local_shared_by_config(sync_of(s)->p->config, pool)) {
        v->want.held = v->have.held; /* whether this director holds it hangs on the others */
        v->want.announced = v->have.held;
    }
    if (s->planning && v->have.held) {
        v->have.announced = true; /* another process has done so; this one cannot know */
    }
    v->want.exported = by == LOCAL_ANNOUNCE_ROUTES && (serves || v->have.exported);
}

static void let_address_go(const struct lb_sync *s, const struct lb_item *item,
                           struct local_vip_pair *v)
{
    v->why = v->have.guarded && v->have.comment != NULL
                 ? arena_printf(s->a, "%s does not have the address any more", item->key)
                 : "the address is released";
    v->want = v->other != NULL ? v->have : (struct local_vip){.addr = v->have.addr};
    if (v->other != NULL && !v->comment_lives) {
        v->want.comment = v->other;
    }
}

static const char *mode_text(const struct lb_sync *s, const struct local_item *it)
{
    const struct local_pool *pool = it->grant.n > 0 ? it->grant.have[0].pool : NULL;

    if (it->n_wanted == 0) {
        return "local";
    }
    return arena_printf(s->a, "local, %s, %s%s", local_mode_word(it->wanted[0].serve.mode),
                        pool == NULL ? "outside all pools" : "pool ",
                        pool == NULL ? "" : pool->name);
}

static void describe(const struct lb_sync *s, const struct lb_item *item,
                     const struct local_item *it, const struct local_service_state *st,
                     struct lb_plan *plan)
{
    struct lb_plan_service *ps = lb_plan_service(plan, item->key);
    const struct local_frontend_id *id = NULL;
    char front[LOCAL_FRONTEND_TEXT_MAX];
    char text[IP_TEXT_MAX];

    ps->kind = mode_text(s, it);
    ps->checked = (unsigned)(it->n_have + it->n_vips);
    for (size_t i = 0; i < it->grant.n && ps->address == NULL; i++) {
        if (it->grant.have[i].in_status) {
            ip_format(&it->grant.have[i].addr, text);
            ps->address = arena_strdup(plan->a, text);
        }
    }
    if (it->grant.n > 0 && it->grant.have[0].pool != NULL) {
        lb_plan_because(plan, item->key, "pool %s has the address", it->grant.have[0].pool->name);
    }
    for (size_t i = 0; item->in->verb == TT_VERB_ENSURE && i < it->grant.n_old; i++) {
        ip_format(&it->grant.old[i], text);
        lb_plan_effect(
            plan, item->key,
            "%s is served until the Service's status shows the new address; then it goes, "
            "and connections to it end.",
            text);
    }
    if (local_ipvs_breaks(st, &id)) {
        local_frontend_text(id, front);
        lb_plan_effect(plan, item->key,
                       "Connections to %s that are open may break: targets change to or from "
                       "ipvs-dr at the same port.",
                       front);
    }
    if (it->grant.n > 0 && it->grant.have[0].in_status && it->grant.n_old == 0) {
        lb_plan_effect(plan, item->key, "The address stays.");
    }
    const char *holder =
        s->planning && it->grant.n > 0
            ? local_leasing_holder(s->provider, plan->a, s->call, &it->grant.have[0].addr)
            : NULL;
    if (holder != NULL) {
        lb_plan_effect(plan, item->key, "Held by %s.", holder);
    }
}

static void fill_state(struct lb_sync *s, const struct lb_item *item, struct local_item *it,
                       struct local_service_state *st)
{
    size_t n = 0;

    for (size_t i = 0; i < it->n_wanted; i++) {
        n += it->wanted[i].n;
    }
    struct local_front *want = ARENA_ARRAY(s->a, struct local_front, n + 1);
    struct local_target_set *targets = ARENA_ARRAY(s->a, struct local_target_set, n + 1);
    n = 0;
    for (size_t i = 0; i < it->n_wanted; i++) {
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            want[n] = it->wanted[i].fronts[k];
            targets[n++] = it->wanted[i].targets[k];
        }
    }
    for (size_t i = 0; i < it->n_vips; i++) {
        if (i < it->n_wanted) {
            want_address(s, item, local_pool_at(s, it, i), &it->wanted[i], &it->vips[i]);
        } else {
            let_address_go(s, item, &it->vips[i]);
        }
    }
    *st = (struct local_service_state){
        .key = item->key,
        .have = it->have,
        .n_have = it->n_have,
        .want = want,
        .targets = targets,
        .n_want = n,
        .vips = it->vips,
        .n_vips = it->n_vips,
        .now_ms = clock_now_ms(s->clock),
        .drain_timeout_ms = it->n_wanted == 0 ? 0 : it->wanted[0].serve.drain_timeout_ms};
    it->again_ms = local_ipvs_again_ms(st);
}

/* Others have routes for its addresses: nothing is tried until they give them up, or
 * for a while. */
static int check_taken(const struct lb_sync *s, const struct local_item *it, struct err *err)
{
    struct local_provider *p = sync_of(s)->p;
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < it->n_vips && i < it->grant.n; i++) {
        rc = it->vips[i].have.held ? ERR_OK : local_taken_check(p, &it->vips[i].have.addr, err);
    }
    return rc;
}

/* Read once for all Services of the sync.  A setting that cannot be read is no obstacle. */
static bool forwards(struct local_sync *y, bool v6, const char *name)
{
    struct err ignored = ERR_INIT;
    int64_t value = 1;

    if (!y->forwarding_read[v6]) {
        y->forwarding_read[v6] = true;
        int rc = y->p->kernel->ops->sysctl_read(y->p->kernel, name, &value, &ignored);
        y->forwarding_off[v6] = rc == ERR_OK && value == 0;
    }
    return !y->forwarding_off[v6];
}

/* Of the families of its addresses. */
static int check_forwarding(const struct lb_sync *s, const struct local_item *it, struct err *err)
{
    for (size_t i = 0; i < it->grant.n; i++) {
        if (local_mode_keeps_vip(it->wanted[i].serve.mode)) {
            continue; /* packets that keep the address are not forwarded by the routes */
        }
        bool v6 = it->grant.have[i].addr.len == 16;
        const char *name = v6 ? "net.ipv6.conf.all.forwarding" : "net.ipv4.ip_forward";
        if (!forwards(sync_of(s), v6, name)) {
            /* Not the Service's fault, and fixed without a change of it: asked again soon. */
            return err_set(err, ERR_TRANSIENT,
                           "%s is 0: this machine forwards nothing (sysctl -w %s=1)", name, name);
        }
    }
    return ERR_OK;
}

/* The machine must be able to serve it. */
static int check_fits(struct lb_sync *s, const struct local_item *it, struct err *err)
{
    int rc = check_forwarding(s, it, err);

    rc = rc != ERR_OK ? rc : local_ipvs_fits(s, it, err);
    return rc != ERR_OK ? rc : check_taken(s, it, err);
}

int local_plan_stage(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct local_sync *y = sync_of(s);
    struct local_service_state *states =
        ARENA_ARRAY(s->a, struct local_service_state, s->n_items + 1);
    size_t n = 0;

    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        struct local_item *it = &y->items[i];
        if (!lb_item_is_active(item)) {
            continue;
        }
        bool goes = item->in->verb == TT_VERB_DELETE;
        it->n_wanted = 0;
        if (!goes && (want(s, item, it) != ERR_OK ||
                      (!it->as_stands && check_fits(s, it, &item->err) != ERR_OK))) {
            local_ipam_take_back(y->p->ipam, item->key, &it->grant);
            continue;
        }
        fill_state(s, item, it, &states[n++]);
        describe(s, item, it, &states[n - 1], plan);
        if (!goes && !it->as_stands) {
            local_find(s, item, it);
        }
        local_health_keep(s, item);
        if (!s->planning) {
            local_draining_note(y->p, item->key, it->again_ms);
        }
    }
    local_ipvs_scope_of(s, states, n);
    local_services_plan(plan, y->p->config->instance, local_table_is(y->p), states, n);
    return ERR_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

const char *local_ip_mode_of(const struct local_provider *p, const struct local_serve *serve)
{
    if (p->config->ip_mode == LOCAL_IP_MODE_AUTO) {
        return local_mode_keeps_vip(serve->mode) ? "VIP" : "Proxy";
    }
    return p->config->ip_mode == LOCAL_IP_MODE_VIP ? "VIP" : "Proxy";
}

/* IPVS reports no changes that others make: so it is checked again without a cause. */
static int64_t local_again_ms(const struct lb_sync *s, const struct local_item *it)
{
    bool ipvs = it->grant.n > 0 && local_mode_is_ipvs(it->wanted[0].serve.mode);
    bool sync_ends = it->again_ms > 0 && sync_of(s)->p->directing == NULL;

    if (sync_ends || !ipvs) {
        return sync_ends ? it->again_ms : 0;
    }
    return IPVS_LOOK_MS - (int64_t)rng_below(s->rng, IPVS_LOOK_MS / 10);
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    const struct local_item *it = item->data;
    struct tt_ingress in[2];
    char text[2][IP_TEXT_MAX];

    local_health_settled(sync_of(s)->p, item->key);
    if (item->in->verb == TT_VERB_DELETE) {
        local_release_over(sync_of(s)->p, item->key);
        s->host->result_annotation(item->in->result, LOCAL_POOL_GIVEN, NULL);
        return;
    }
    if (it->leaves) {
        s->host->result_annotation(item->in->result, LOCAL_POOL_GIVEN, NULL);
    }
    if (it->as_stands) {
        return; /* an update shows nothing, and the Service's ports may not be those that stand */
    }
    local_ipam_serves(sync_of(s)->p->ipam, item->key, it->service, NULL);
    for (size_t i = 0; i < it->grant.n; i++) {
        ip_format(&it->grant.have[i].addr, text[i]);
        local_directing_follow_links(sync_of(s)->p, &it->vips[i]);
        in[i] = (struct tt_ingress){
            .ip = text[i], .ip_mode = local_ip_mode_of(sync_of(s)->p, &it->wanted[i].serve)};
    }
    s->host->result_ingress(item->in->result, in, (uint32_t)it->grant.n);
    int64_t again_ms = local_again_ms(s, it);
    if ((it->grant.flags & LOCAL_GRANT_SECOND_MISSING) != 0 && again_ms == 0) {
        again_ms = SECOND_AGAIN_MS; /* another Service may have given one back */
    }
    int64_t ails_ms = local_directing_again_ms(s, it);
    again_ms = again_ms == 0 || (ails_ms != 0 && ails_ms < again_ms) ? ails_ms : again_ms;
    if (again_ms > 0 && TT_HAS(s->host, result_again)) {
        s->host->result_again(item->in->result, again_ms);
    }
    const struct local_pool *pool = it->grant.n > 0 ? it->grant.have[0].pool : NULL;
    if (pool != NULL) {
        s->host->result_annotation(item->in->result, LOCAL_POOL_GIVEN, pool->name);
    }
}

/* The mirror follows each operation (run.c); what a refusal says of it is that it may be wrong. */
static void wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    (void)op;
    if (outcome == LB_FAILED && err->code != ERR_AUTH && err->code != ERR_CANCELLED) {
        sync_of(s)->p->looked = false;
    }
}

/* Targets are addresses of nodes.  A director's Services belong to the allocator in everything but
 * what the kernel has. */
static uint32_t own(const struct lb_sync *s, const struct lb_item *item)
{
    const struct local_provider *p = s->provider;

    (void)item;
    return TT_OWN_NODES | (p->follows ? TT_OWN_FINALIZERS | TT_OWN_EVENTS | TT_OWN_STATUS : 0);
}

/* A Service that is to be left alone: its addresses go once its status names none. */
static bool leaves(struct lb_sync *s, struct lb_item *item)
{
    const struct local_item *it = item->data;

    if (it->leaves) {
        s->host->result_ingress(item->in->result, NULL, 0);
    }
    return it->leaves;
}

static const struct lb_stage stages[] = {
    {.name = "kernel", .observe = local_observe, .plan = local_plan_stage, .leaves = leaves},
};
const struct lb_flow local_flow = {
    .name = "local",
    .facts = local_facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .own = own,
    .status = status,
    .wrote = wrote,
};

static const struct lb_flow *flow_of(const struct local_provider *p)
{
    return p->config->role == LOCAL_ROLE_ALLOCATOR ? &local_allocator_flow : &local_flow;
}

int32_t local_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct local_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(flow_of(p), p);

    mutex_lock(&p->lock);
    int64_t began_ms = clock_now_ms(p->clock);
    int32_t code = lb_driver_reconcile(&cfg, call, batch);
    local_leasing_synced(p, call, batch);
    p->call = NULL;
    local_figures_synced(p, clock_now_ms(p->clock) - began_ms);
    mutex_unlock(&p->lock);
    return code;
}

int32_t local_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct local_provider *p = provider;
    const struct lb_driver_config cfg = LB_DRIVER_CONFIG(flow_of(p), p);

    mutex_lock(&p->lock);
    int32_t code = lb_driver_plan(&cfg, call, batch);
    p->call = NULL;
    mutex_unlock(&p->lock);
    return code;
}
