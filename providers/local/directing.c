/* SPDX-License-Identifier: Apache-2.0 */
/* directing.c: the director's thread in the provider: its start, what syncs tell it, and its words
 * to the host.
 *
 * The thread has no call of the host.  It logs, sends events to owners by name, and counts; all of
 * that may come from any thread. */
#include "providers/local/standing.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"

#define LOOK_AGAIN_MS  10000
#define PROBE_AGAIN_MS 1000

/* ---- addresses that others answer for -------------------------------------------------------- */

struct answering {
    const struct local_neighbour *by; /* has the MAC that answered */
    bool is_target;
};

static bool is_target_of(struct local_provider *p, struct served_kept *kept, void *arg)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct served *v = local_served_open(a, kept);
    struct answering *x = arg;

    (void)p;
    for (size_t i = 0; i < v->n; i++) {
        for (size_t k = 0; k < v->fronts[i].targets.n; k++) {
            x->is_target = x->is_target || ip_eq(&v->fronts[i].targets.items[k].addr, &x->by->addr);
        }
    }
    return !x->is_target;
}

/* L29: the MAC is that of a target: kube-proxy in ipvs mode has the address on kube-ipvs0.  The
 * caller holds the lock. */
static const char *in_use_text(struct local_provider *p, struct arena *a,
                               const struct local_in_use *u)
{
    const uint8_t *m = u->mac;
    struct local_neighbour *all = NULL;
    size_t n = 0;
    struct err ignored = ERR_INIT; /* the sentence is shorter then */
    char text[IP_TEXT_MAX];
    char node[IP_TEXT_MAX];

    ip_format(&u->addr, text);
    const char *said =
        arena_printf(a, LOCAL_IN_USE_FORMAT, text, m[0], m[1], m[2], m[3], m[4], m[5]);
    (void)p->kernel->ops->neighbours(p->kernel, a, &all, &n, &ignored);
    for (size_t i = 0; i < n; i++) {
        struct answering x = {.by = &all[i]};
        if (memcmp(all[i].mac, m, sizeof all[i].mac) == 0) {
            local_served_each(p, is_target_of, &x);
        }
        if (x.is_target) {
            ip_format(&all[i].addr, node);
            return arena_printf(
                a, "%s; node %s answers ARP for it: set arp_ignore=1, arp_announce=2 there", said,
                node);
        }
    }
    return said;
}

void local_look_again(const struct local_provider *p, const char *service, int64_t after_ms)
{
    const struct tt_host *host = p->host;
    const char *slash = service == NULL ? NULL : strchr(service, '/');

    if (slash != NULL && TT_HAS(host, service_again)) {
        _cleanup_(xfreep) char *ns = xstrndup(service, (size_t)(slash - service));
        host->service_again(host->ctx, ns, slash + 1, after_ms);
    }
}

/* ---- what the thread says -------------------------------------------------------------------- */

static void tell(void *arg, const struct local_news *news)
{
    struct local_provider *p = arg;
    const struct tt_host *host = p->host;
    struct tt_service owner = {0};
    const char *slash = news->service == NULL ? NULL : strchr(news->service, '/');
    const struct tt_kv of = {"service", str_nonnull(news->service)};
    char ns[256];
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *text = news->text;

    if (news->in_use.addr.len != 0 || text == NULL) {
        local_look_again(p, news->service, 0);
    }
    if (text == NULL) {
        return;
    }
    if (news->in_use.addr.len != 0) {
        mutex_lock(&p->lock);
        text = in_use_text(p, a, &news->in_use);
        mutex_unlock(&p->lock);
    }
    host->log(host->ctx, news->warning ? TT_LOG_WARNING : TT_LOG_INFO, 0, text, &of,
              news->service == NULL ? 0 : 1);
    if (slash == NULL || (size_t)(slash - news->service) >= sizeof ns) {
        return;
    }
    memcpy(ns, news->service, (size_t)(slash - news->service));
    ns[slash - news->service] = '\0';
    owner.size = sizeof owner;
    owner.ns = ns;
    owner.name = slash + 1;
    host->event(host->ctx, &owner, news->warning ? TT_EVENT_WARNING : TT_EVENT_NORMAL, news->reason,
                text);
}

static void count(void *arg, const char *counter, const char *first, const char *second, unsigned n)
{
    struct local_provider *p = arg;

    for (size_t i = 0; i < LOCAL_METRICS; i++) {
        const struct tt_metric *m = &local_metrics[i];
        if (str_eq(m->name, counter)) {
            const struct tt_kv labels[] = {{m->labels[0], first},
                                           {m->n_labels > 1 ? m->labels[1] : "", second}};
            p->host->metric_add(p->host->ctx, counter, labels, m->n_labels, n);
        }
    }
}

int local_directing_start(struct local_provider *p, const struct local_open_with *with,
                          const struct local_sharing *sharing, struct err *err)
{
    struct local_kernel *kernel = with == NULL ? NULL : with->directing_kernel;
    const struct local_rt_args rt = {.protocol = p->config->director.route_protocol,
                                     .table = p->config->director.route_table};
    struct local_director_args args = {.kernel = kernel,
                                       .clock = p->clock,
                                       .rng = p->rng,
                                       .tell = tell,
                                       .count = count,
                                       .changed = local_health_changed,
                                       .look = local_watch_look,
                                       .freed = local_watch_freed,
                                       .instance = p->config->instance,
                                       .own = p->kernel,
                                       .texts = p->texts,
                                       .arg = p,
                                       .sharing = sharing};
    int rc = ERR_OK;

    if (p->planning) {
        return ERR_OK;
    }
    if (kernel == NULL) {
        rc = local_kernel_open(&rt, &args.kernel, err);
    }
    if (rc == ERR_OK) {
        args.kernel->ops->time_exchanges(args.kernel, local_figures_took, p);
        p->directing = local_director_new(&args);
        rc = with != NULL && with->turns ? ERR_OK : local_director_start(p->directing, err);
    }
    return rc;
}

/* ---- announcements --------------------------------------------------------------------------- */

static struct local_announce_order order_of(const struct local_provider *p,
                                            const struct local_announce_deed *deed)
{
    const struct local_pool *pool = local_pool_of(p->config, &deed->addr);

    return (struct local_announce_order){
        .addr = deed->addr,
        .links = deed->links,
        .n_links = deed->n_links,
        .refresh_ms = pool == NULL ? LOCAL_ANNOUNCE_REFRESH : pool->refresh_ms,
        .probe = deed->probe,
        .owner = local_mirror_comment(p->mirror, &deed->addr),
    };
}

void local_directing_follow_links(struct local_provider *p, const struct local_vip_pair *v)
{
    const struct local_announce_deed deed = {
        .addr = v->have.addr, .links = v->links, .n_links = v->n_links};
    const struct local_announce_order order = order_of(p, &deed);

    if (p->directing != NULL && v->other == NULL) { /* a sharer may ask for other links */
        local_director_follow_links(p->directing, &order);
    }
}

bool local_directing_announce(struct local_provider *p, const struct local_announce_deed *deed)
{
    const struct local_announce_order order = order_of(p, deed);

    if (p->directing == NULL) {
        return false;
    }
    local_director_announce(p->directing, &order);
    return true;
}

void local_directing_again(struct local_provider *p, const struct ip_addr *addr)
{
    if (p->directing != NULL) {
        local_director_again(p->directing, addr);
    }
}

void local_directing_withdraw(struct local_provider *p, const struct ip_addr *addr)
{
    if (p->directing != NULL) {
        local_director_withdraw(p->directing, addr);
    }
}

void local_directing_find(struct lb_sync *s, const struct lb_item *item, const struct ip_addr *addr)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;

    if (p->directing == NULL) {
        return;
    }
    struct local_announce_state st = local_director_announced(p->directing, addr);
    if (st.in_use) {
        struct local_in_use u = {.addr = *addr};
        memcpy(u.mac, st.mac, sizeof u.mac);
        lb_finding(s, item, "AddressInUse", NULL, "%s", in_use_text(p, s->a, &u));
    }
}

const char *local_directing_silent(struct arena *a, const struct local_item *it, size_t address)
{
    const struct local_pool *pool = it->grant.have[address].pool;
    bool wished = it->has_wish && it->wish.n_interfaces > 0;
    char text[IP_TEXT_MAX];

    if (pool == NULL || pool->announce_by != LOCAL_ANNOUNCE_ARP || it->vips[address].n_links > 0) {
        return NULL;
    }
    ip_format(&it->grant.have[address].addr, text);
    return arena_printf(a,
                        "no interface of this machine%s has an address in a subnet with %s: no "
                        "host asks for it by ARP",
                        wished ? " that annotation " LOCAL_PREFIX "interfaces names"
                        : pool->n_interfaces > 0 ? " that announce.interfaces names"
                                                 : "",
                        text);
}

int64_t local_directing_again_ms(struct lb_sync *s, const struct local_item *it)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    int64_t after_ms = 0;

    if (TT_HAS(s->host, service_again)) { /* the thread says when there is something to see */
        return 0;
    }
    for (size_t i = 0; p->directing != NULL && i < it->grant.n; i++) {
        struct local_announce_state st =
            local_director_announced(p->directing, &it->grant.have[i].addr);
        bool ails = st.in_use || it->wanted[i].n_ejected > 0 || it->wanted[i].failed_open;
        after_ms = st.probing ? PROBE_AGAIN_MS : ails && after_ms == 0 ? LOOK_AGAIN_MS : after_ms;
    }
    return after_ms;
}
