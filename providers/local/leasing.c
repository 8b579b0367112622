/* SPDX-License-Identifier: Apache-2.0 */
/* leasing.c: which addresses are this director's now (leasing.h). */
#include "providers/local/leasing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/str.h"

#define LOOPBACK   1    /* the index of lo in every network namespace */
#define GOODBYE_MS 1500 /* for letting go and the last write */

/* ---- what the director's thread asks --------------------------------------------------------- */

/* The pool's addresses are on every director. */
static bool is_everywhere(const struct local_pool *pool)
{
    return pool != NULL && pool->announce_by == LOCAL_ANNOUNCE_ROUTES;
}

bool local_leasing_shares(const struct local_provider *p, const struct local_pool *pool)
{
    return p->leasing != NULL && !is_everywhere(pool);
}

bool local_shared_by_config(const struct local_config *c, const struct local_pool *pool)
{
    return c->role == LOCAL_ROLE_DIRECTOR && c->director.redundancy == LOCAL_REDUNDANCY_LEASE &&
           !is_everywhere(pool);
}

bool local_leasing_seems_shared(const struct local_config *c, const struct local_pool *pool,
                                const struct local_vip *have)
{
    return local_shared_by_config(c, pool) || (have->held_on == LOOPBACK && !is_everywhere(pool));
}

static int64_t turn_while_leading(struct local_leasing *l, int64_t now_ms)
{
    const struct tt_host *host = l->p->host;

    mutex_lock(&l->lock);
    bool asks = l->offered && !l->ending;
    mutex_unlock(&l->lock);
    bool leads = asks && host->may_mutate(host->ctx, NULL) != 0;
    mutex_lock(&l->lock);
    l->until_ms = l->ending ? 0 : leads ? now_ms + l->spare_ms : l->until_ms;
    int64_t until_ms = l->until_ms;
    mutex_unlock(&l->lock);
    return until_ms;
}

static int64_t turn(void *arg, int64_t now_ms)
{
    struct local_leasing *l = arg;

    if (l->holder == NULL) {
        return turn_while_leading(l, now_ms);
    }
    mutex_lock(&l->lock);
    local_holder_turn(l->holder, now_ms);
    int64_t until_ms = local_holder_until_ms(l->holder);
    if (local_holder_write_ms(l->holder) <= now_ms) {
        cond_signal(&l->changed);
    }
    mutex_unlock(&l->lock);
    return until_ms;
}

static size_t group_of(const struct local_leasing *l, const struct ip_addr *addr)
{
    return local_lease_group_of(l->p->config, local_pool_of(l->p->config, addr));
}

static bool holds(void *arg, const struct ip_addr *addr)
{
    struct local_leasing *l = arg;
    size_t group = group_of(l, addr);

    mutex_lock(&l->lock);
    bool yes =
        l->holder == NULL ? !l->ending : local_holder_holds(l->holder, group, local_bucket(addr));
    mutex_unlock(&l->lock);
    return yes;
}

static void dropping(void *arg)
{
    struct local_leasing *l = arg;

    mutex_lock(&l->lock);
    if (l->holder != NULL) {
        local_holder_dropping(l->holder);
    }
    mutex_unlock(&l->lock);
}

static void dropped(void *arg)
{
    struct local_leasing *l = arg;

    mutex_lock(&l->lock);
    if (l->holder != NULL) {
        local_holder_dropped(l->holder);
    }
    l->over = l->over || (l->holder == NULL && l->ending);
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

static enum local_heard_answer heard(void *arg, const struct ip_addr *addr, int64_t now_ms)
{
    struct local_leasing *l = arg;
    size_t group = group_of(l, addr);
    enum local_claim_answer said = LOCAL_CLAIM_DEFEND;

    mutex_lock(&l->lock);
    if (l->holder != NULL) {
        said = local_holder_heard(l->holder, group, local_bucket(addr), now_ms);
    }
    mutex_unlock(&l->lock);
    return said == LOCAL_CLAIM_DEFEND    ? LOCAL_HEARD_DEFEND
           : said == LOCAL_CLAIM_YIELDED ? LOCAL_HEARD_YIELD
                                         : LOCAL_HEARD_IGNORE;
}

/* ---- where this director announces ----------------------------------------------------------- */

static const struct local_link *link_of(const struct local_link *links, size_t n, int index)
{
    for (size_t i = 0; i < n; i++) {
        if (links[i].index == index) {
            return &links[i];
        }
    }
    return NULL;
}

static void reach_free(struct local_reach *reach, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)reach[i].link);
    }
    free(reach);
}

static bool same_reach(const struct local_leasing *l, const struct local_reach *reach, size_t n)
{
    bool same = n == l->n_reach;

    for (size_t i = 0; same && i < n; i++) {
        same = ip_net_eq(&l->reach[i].net, &reach[i].net) &&
               strcmp(l->reach[i].link, reach[i].link) == 0;
    }
    return same;
}

static void take_reach(struct local_leasing *l, struct local_reach *reach, size_t n)
{
    const struct local_config *c = l->p->config;

    mutex_lock(&l->lock);
    if (same_reach(l, reach, n)) {
        reach_free(reach, n);
    } else {
        reach_free(l->reach, l->n_reach);
        l->reach = reach;
        l->n_reach = n;
        for (size_t g = 0; g < local_lease_groups(c); g++) {
            l->near[g] = local_lease_reaches(c, g, reach, n);
        }
        local_holder_reach(l->holder, l->near);
        cond_signal(&l->changed);
    }
    mutex_unlock(&l->lock);
}

/* Subnets of links that have a carrier. */
static void look(void *arg, struct local_kernel *kernel, const struct local_link *links, size_t n)
{
    struct local_leasing *l = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_link_addr *addrs = NULL;
    struct err ignored = ERR_INIT; /* the next look comes in a second */
    size_t n_addrs = 0;
    size_t n_reach = 0;

    if (l->holder == NULL || kernel->ops->addrs(kernel, a, &addrs, &n_addrs, &ignored) != ERR_OK) {
        return;
    }
    struct local_reach *reach = xcalloc(n_addrs + 1, sizeof *reach);
    for (size_t i = 0; i < n_addrs; i++) {
        const struct local_link *link = link_of(links, n, addrs[i].link);
        struct ip_net net = addrs[i].net;
        bool host = net.prefix == net.addr.len * 8;
        if (link != NULL && link->up && link->ethernet && !addrs[i].ours && !host) {
            char text[IP_TEXT_MAX];
            ip_net_format(&net, text);
            (void)ip_net_parse_sloppy(text, &net); /* without host bits */
            reach[n_reach++] = (struct local_reach){net, xstrdup(link->name)};
        }
    }
    take_reach(l, reach, n_reach);
}

/* ---- what syncs say -------------------------------------------------------------------------- */

int local_leasing_link(const struct ip_addr *addr, const struct local_link *const *links, size_t n)
{
    return addr->len == 16 && n > 0 ? links[0]->index : LOOPBACK;
}

void local_leasing_offer(struct local_provider *p, const struct ip_addr *addr, int link)
{
    struct local_leasing *l = p->leasing;

    mutex_lock(&l->lock);
    l->offered = true;
    mutex_unlock(&l->lock);
    local_director_offer(p->directing, addr, link);
}

static bool is_unsynced(const struct local_provider *p, const struct tt_service *s)
{
    char key[600];

    (void)snprintf(key, sizeof key, "%s/%s", s->ns, s->name);
    return local_wants(p, s) && s->n_ingress > 0 && !map_has(p->leasing->fresh, key);
}

/* The key of the last one that was not synced yet, on the heap; NULL: all were. */
static char *find_unsynced(const struct local_provider *p, const struct tt_call *call)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;

    p->host->services(p->host->ctx, call, &all, &n);
    while (n > 0 && !is_unsynced(p, all[n - 1])) {
        n--;
    }
    return n == 0 ? NULL : xasprintf("%s/%s", all[n - 1]->ns, all[n - 1]->name);
}

/* Is the one that was found last still not synced?  As long as it is, the others need not
 * be looked at. */
static bool still_waits(const struct local_provider *p, const struct tt_call *call)
{
    const char *key = p->leasing->unsynced;
    const struct tt_service *s = key == NULL ? NULL : local_service_called(p, call, key);

    return s != NULL && is_unsynced(p, s);
}

void local_leasing_synced(struct local_provider *p, const struct tt_call *call,
                          const struct tt_batch *batch)
{
    struct local_leasing *l = p->leasing;
    char key[600];

    if (l == NULL || l->holder == NULL || l->ready) {
        return;
    }
    for (uint32_t i = 0; batch != NULL && i < batch->n_items; i++) {
        const struct tt_service *s = batch->items[i]->service;
        (void)snprintf(key, sizeof key, "%s/%s", s->ns, s->name);
        map_set(l->fresh, key, NULL);
    }
    if (still_waits(p, call)) {
        return;
    }
    free(l->unsynced);
    l->unsynced = find_unsynced(p, call);
    if (l->unsynced != NULL) {
        return;
    }
    l->ready = true;
    map_clear(l->fresh);
    mutex_lock(&l->lock);
    local_holder_ready(l->holder, true);
    cond_signal(&l->changed);
    mutex_unlock(&l->lock);
}

/* ---- what people hear ------------------------------------------------------------------------ */

static void set_gauge(const struct local_provider *p, const char *state, unsigned n)
{
    const struct tt_kv label = {"state", state};

    p->host->metric_set(p->host->ctx, "local_buckets", &label, 1, n);
}

static void count_takeovers(const struct local_provider *p, const char *why, uint64_t n)
{
    const struct tt_kv label = {"why", why};

    if (n > 0) {
        p->host->metric_add(p->host->ctx, "local_takeovers_total", &label, 1, (double)n);
    }
}

static void tell_tentative(const struct local_provider *p, bool tentative)
{
    const char *text = !tentative ? "The API server answers again"
                       : p->config->director.api_loss_release
                           ? "The API server does not answer: what this director holds ends with "
                             "its Lease (apiLoss: release)"
                           : "The API server does not answer: this director keeps what it holds";

    p->host->log(p->host->ctx, tentative ? TT_LOG_WARNING : TT_LOG_INFO, 0, text, NULL, 0);
}

void local_leasing_tell(struct local_leasing *l)
{
    const struct local_provider *p = l->p;
    const struct tt_host *host = p->host;
    char text[200];

    mutex_lock(&l->lock);
    const struct local_holder_counts was = l->told;
    const struct local_holder_counts is = local_holder_count(l->holder);
    l->told = is;
    bool tentative = local_holder_is_tentative(l->holder);
    bool changed = tentative != l->told_tentative;
    l->told_tentative = tentative;
    mutex_unlock(&l->lock);
    if (changed) {
        tell_tentative(p, tentative);
    }
    set_gauge(p, "held", is.held);
    set_gauge(p, "asked", is.asked);
    set_gauge(p, "leaving", is.leaving);
    count_takeovers(p, "free", is.taken_free - was.taken_free);
    count_takeovers(p, "dead", is.taken_dead - was.taken_dead);
    if (is.held == was.held && is.others == was.others) {
        return;
    }
    (void)snprintf(text, sizeof text, "This director holds %u of %u buckets beside %u other%s",
                   is.held, (unsigned)(LOCAL_BUCKETS * local_lease_groups(p->config)), is.others,
                   is.others == 1 ? "" : "s");
    const struct tt_kv of = {"director", p->director};
    host->log(host->ctx, TT_LOG_INFO, 0, text, &of, 1);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Identity of a machine, independent of its name. */
static const char *machine_of(struct arena *a)
{
    static const char *const files[] = {"/etc/machine-id", "/proc/sys/kernel/random/boot_id"};
    char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct err ignored = ERR_INIT;
        if (file_read(a, files[i], LOCAL_MACHINE_MAX, &text, &n, &ignored) == ERR_OK && n > 1) {
            return str_trim(a, text);
        }
    }
    return "unknown";
}

/* A process before this one may have left holds.  The others know of none: what is
 * held comes again. */
static int let_go_of_leftovers(struct local_provider *p, struct err *err)
{
    struct arena *a = arena_new();
    struct local_link_addr *addrs = NULL;
    struct local_route *routes = NULL;
    size_t n = 0;
    size_t n_addrs = 0;
    int rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);

    for (size_t i = 0; rc == ERR_OK && i < n_addrs; i++) {
        const struct local_pool *pool = local_pool_of(p->config, &addrs[i].net.addr);
        if (addrs[i].ours && local_leasing_shares(p, pool)) {
            rc = p->kernel->ops->addr_del(p->kernel, addrs[i].link, &addrs[i].net.addr, err);
        }
    }
    if (rc == ERR_OK) {
        rc = p->kernel->ops->routes(p->kernel, a, &routes, &n, err);
    }
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct local_pool *pool = local_pool_of(p->config, &routes[i].addr);
        int code = ERR_OK;
        if (routes[i].kind == LOCAL_ROUTE_HOLD && local_leasing_shares(p, pool)) {
            rc = p->kernel->ops->routes_change(p->kernel, true, &routes[i], 1, &code, err);
        }
    }
    arena_free(a);
    return rc;
}

static struct local_leasing *leasing_new(struct local_provider *p, int64_t spare_ms)
{
    struct local_leasing *l = xcalloc(1, sizeof *l);
    const struct local_director_config *d = &p->config->director;

    l->p = p;
    l->spare_ms = spare_ms;
    l->machine = machine_of(p->a);
    l->fresh = map_new(NULL);
    l->version = xstrdup("");
    mutex_init(&l->lock);
    cond_init(&l->changed);
    l->sharing = (struct local_sharing){.turn = turn,
                                        .holds = holds,
                                        .look = look,
                                        .dropping = dropping,
                                        .dropped = dropped,
                                        .heard = heard,
                                        .arg = l,
                                        .renew_ms = spare_ms != 0 ? spare_ms / 3 : d->renew_ms};
    if (spare_ms == 0) {
        const struct local_holder_terms terms = {.name = p->director,
                                                 .duration_ms = d->lease_duration_ms,
                                                 .renew_ms = d->renew_ms,
                                                 .release = d->api_loss_release,
                                                 .n_groups = local_lease_groups(p->config)};
        l->holder = local_holder_new(&terms);
        l->near = xcalloc(local_lease_groups(p->config), sizeof *l->near);
    }
    return l;
}

const struct local_sharing *local_leasing_start(struct local_provider *p, int64_t spare_ms,
                                                struct err *err)
{
    bool leases = p->config->role == LOCAL_ROLE_DIRECTOR &&
                  p->config->director.redundancy == LOCAL_REDUNDANCY_LEASE;

    if (p->planning || (!leases && spare_ms == 0)) {
        return NULL;
    }
    p->leasing = leasing_new(p, leases ? 0 : spare_ms);
    return let_go_of_leftovers(p, err) == ERR_OK ? &p->leasing->sharing : NULL;
}

int local_leasing_talk(struct local_provider *p, struct err *err)
{
    bool talks = p->leasing != NULL && p->leasing->holder != NULL;

    return talks ? local_leasing_talk_start(p->leasing, err) : ERR_OK;
}

void local_leasing_end(struct local_provider *p)
{
    struct local_leasing *l = p->leasing;
    int64_t until_ms = clock_now_ms(clock_real()) + GOODBYE_MS;

    if (l == NULL || p->directing == NULL || (l->holder != NULL && !l->started)) {
        return;
    }
    mutex_lock(&l->lock);
    l->ending = true;
    if (l->holder != NULL) {
        local_holder_leave(l->holder);
    }
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
    local_director_wake(p->directing);
    mutex_lock(&l->lock);
    while (!l->over && clock_now_ms(clock_real()) < until_ms) {
        clock_wait(clock_real(), &l->changed, &l->lock, until_ms);
    }
    mutex_unlock(&l->lock);
    if (l->started) {
        (void)pthread_join(l->thread, NULL); /* started, so it can be joined */
        l->started = false;
    }
}

void local_leasing_free(struct local_leasing *l)
{
    if (l == NULL) {
        return;
    }
    local_holder_free(l->holder);
    reach_free(l->reach, l->n_reach);
    free(l->near);
    free(l->version);
    free(l->rival_renewal);
    local_lease_view_free(l->view);
    map_free(l->fresh);
    free(l->unsynced);
    cond_done(&l->changed);
    mutex_done(&l->lock);
    free(l);
}
