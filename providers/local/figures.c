/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c: metrics of the provider `local`: their table, and the values that the director's
 * thread sets every ten seconds.
 *
 * An allocator sets its own after each sync.  Counters are added to where things happen
 * (directing.c, watch.c, flow.c).  docs/metrics.md lists all of them. */
#include "providers/local/standing.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/str.h"

#define FULL_PERCENT 90 /* of connection tracking: told once until it is less */

static const char *const of_kind[] = {"kind"};
static const char *const of_check[] = {"kind", "result"};
static const char *const of_pool[] = {"pool", "family", "state"};
static const char *const of_mode[] = {"mode"};
static const char *const of_state[] = {"state"};
static const char *const of_request[] = {"api", "op", "code"};
static const char *const of_api[] = {"api"};
static const char *const of_why[] = {"why"};
static const char *const of_service[] = {"namespace", "service"};
static const char *const of_direction[] = {"namespace", "service", "direction"};
static const double seconds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                 0.5,   1,      2.5,   5,    10,    25,   60};

static const double short_seconds[] = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                       0.0025,  0.005,    0.01,    0.025,  0.1,     0.5,    2.5};

#define COUNTER(n, l, h)                                                                           \
    {                                                                                              \
        .name = n, .help = h, .type = TT_METRIC_COUNTER, .labels = l, .n_labels = ARRAY_LEN(l)     \
    }
#define GAUGE(n, l, h)                                                                             \
    {                                                                                              \
        .name = n, .help = h, .type = TT_METRIC_GAUGE, .labels = l, .n_labels = ARRAY_LEN(l)       \
    }
#define GAUGE_ALONE(n, h)                                                                          \
    {                                                                                              \
        .name = n, .help = h, .type = TT_METRIC_GAUGE                                              \
    }

const struct tt_metric local_metrics[LOCAL_METRICS] = {
    GAUGE("local_addresses", of_pool,
          "Addresses of pools, by pool, family (IPv4, IPv6) and state (used, free, reserved)"),
    GAUGE_ALONE("local_addresses_outside_pools",
                "Addresses that Services keep and that are in no pool any more"),
    COUNTER("local_announcements_total", of_kind,
            "Announcements of an address on a link, by kind: arp, ndp, answer (to a host that asks "
            "by ARP where the kernel does not answer)"),
    GAUGE("local_buckets", of_state,
          "Buckets of addresses that this director shares with others, by state: held, asked, "
          "leaving"),
    COUNTER("local_checks_total", of_check,
            "Health checks of targets, by kind (kube-proxy, healthCheckNodePort, tcp, http) and "
            "result (good, bad)"),
    GAUGE_ALONE("local_conntrack_ratio", "Part of connection tracking that is in use"),
    COUNTER("local_drift_total", of_kind,
            "Changes by other programs in this machine's kernel, by kind"),
    GAUGE("local_frontends", of_mode, "Ports of Services that this machine serves, by mode"),
    GAUGE(
        "local_holds", of_state,
        "Addresses that this machine holds, by state (announced, exported, quiet), and those that "
        "it would hold if they were not another director's (offered)"),
    {.name = "local_kernel_request_seconds",
     .help =
         "Time of an exchange with the kernel, one request or several and all their answers, by "
         "API (nft, rtnl, ct, ipvs)",
     .type = TT_METRIC_HISTOGRAM,
     .labels = of_api,
     .n_labels = ARRAY_LEN(of_api),
     .buckets = short_seconds,
     .n_buckets = ARRAY_LEN(short_seconds)},
    COUNTER("local_kernel_requests_total", of_request,
            "Requests to the kernel, by API (nft, rtnl, ct, ipvs), op (the kernel's message, as "
            "newsetelem) and code (ok, or the name of an errno; ENOBUFS: the answer was lost)"),
    COUNTER(
        "local_service_bytes_total", of_direction,
        "Bytes of packets of a Service in an ipvs mode, by direction (in, out; with ipvs-dr and "
        "ipvs-tunnel nothing goes out here), with --local-service-stats"),
    COUNTER("local_service_connections_total", of_service,
            "Connections of a Service in an ipvs mode, with --local-service-stats"),
    {.name = "local_sync_to_kernel_seconds",
     .help = "Time from the begin of a sync of one or more Services to the end of its last write",
     .type = TT_METRIC_HISTOGRAM,
     .buckets = seconds,
     .n_buckets = ARRAY_LEN(seconds)},
    COUNTER("local_takeovers_total", of_why,
            "Buckets of addresses that this director took, by why: free, dead (their director was "
            "not heard of any more)"),
    GAUGE("local_targets", of_state,
          "Targets of ports, by state: up, ejected (a health check fails), idle (weight 0 by "
          "policy or zone), draining (no port has them any more, connections may end)"),
};

static void set(const struct local_provider *p, const char *name, const struct tt_kv *labels,
                unsigned n, double value)
{
    p->host->metric_set(p->host->ctx, name, labels, n, value);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void set_address(const struct local_provider *p, const struct local_pool_use *u, int v6,
                        const char *state, int64_t n)
{
    const struct tt_kv labels[] = {
        {"pool", u->pool->name}, {"family", v6 ? "IPv6" : "IPv4"}, {"state", state}};

    set(p, "local_addresses", labels, 3, (double)n);
}

static void set_addresses(const struct local_provider *p, struct arena *a)
{
    const struct local_pool_use *use = local_ipam_use(p->ipam, a);

    for (size_t i = 0; i < p->config->n_pools; i++) {
        for (int v6 = 0; v6 < 2; v6++) {
            int64_t taken = use[i].used[v6] + use[i].reserved[v6];
            if (use[i].total[v6] > 0) {
                set_address(p, &use[i], v6, "used", use[i].used[v6]);
                set_address(p, &use[i], v6, "reserved", use[i].reserved[v6]);
                set_address(p, &use[i], v6, "free",
                            taken < use[i].total[v6] ? use[i].total[v6] - taken : 0);
            }
        }
    }
}

/* ---- Services -------------------------------------------------------------------------------- */

struct counts {
    const struct local_provider *p;
    struct arena *a; /* of one Service */
    double frontends[LOCAL_MODE_IPVS_TUNNEL + 1];
    double up, ejected, idle, draining;
    double announced, exported, quiet, offered, outside;
    struct map *elsewhere; /* addresses that were offered and are not held */
};

/* Stands without weight, and not because it drains. */
static bool rests(const struct counts *c, const struct served_front *f,
                  const struct local_target *t)
{
    const struct local_mirror_vip *v = local_mirror_vip(c->p->mirror, c->a, &f->front.id.vip);
    const struct local_front *stands =
        v == NULL ? NULL : local_standing_front(v->fronts, v->n_fronts, &f->front.id);
    const struct local_ipvs_dest dest = {.addr = t->addr, .port = t->port};
    const struct local_ipvs_real *real =
        stands == NULL ? NULL : local_ipvs_find(&stands->ipvs, &dest);

    return real != NULL && real->dest.weight == 0;
}

static void count_target(struct counts *c, const struct served_front *f, size_t i)
{
    struct local_health health = {0};

    if (f->checks[i] != NULL) { /* else: well */
        health = local_director_health_by(c->p->directing, f->checks[i]);
    }
    c->draining -= c->p->ipvs && rests(c, f, &f->targets.items[i]);
    if (f->targets.items[i].weight == 0) {
        c->idle++;
    } else if (health.down) {
        c->ejected++;
    } else {
        c->up++;
    }
}

static bool count_service(struct local_provider *p, struct served_kept *k, void *arg)
{
    struct counts *c = arg;
    const struct served *v = local_served_open(c->a, k);

    (void)p;
    for (size_t i = 0; i < v->n; i++) {
        c->frontends[v->fronts[i].serve->mode]++;
        for (size_t n = 0; n < v->fronts[i].targets.n; n++) {
            count_target(c, &v->fronts[i], n);
        }
    }
    arena_reset(c->a);
    return true;
}

/* Destinations without weight; count_target() takes off those that rest for another reason. */
static void count_resting(void *arg, const struct local_mirror_vip *v)
{
    struct counts *c = arg;

    for (size_t i = 0; i < v->n_fronts; i++) {
        for (size_t k = 0; k < v->fronts[i].ipvs.n_reals; k++) {
            c->draining += v->fronts[i].ipvs.reals[k].dest.weight == 0;
        }
    }
}

static bool is_elsewhere(const struct counts *c, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    if (map_size(c->elsewhere) ==
        0) { /* one director alone has no such addresses, and maybe many others */
        return false;
    }
    ip_format(addr, text);
    return map_has(c->elsewhere, text);
}

static void count_address(void *arg, const struct local_vip *v)
{
    struct counts *c = arg;

    c->outside += v->guarded && local_pool_of(c->p->config, &v->addr) == NULL;
    if (is_elsewhere(c, &v->addr)) {
        c->offered++;
    } else if (v->held) {
        c->exported += v->exported;
        c->announced += v->announced && !v->exported;
        c->quiet += !v->announced && !v->exported;
    }
}

static void note_offered(void *arg, const struct local_offered *o)
{
    const struct counts *c = arg;
    char text[IP_TEXT_MAX];

    ip_format(&o->addr, text);
    if (!o->held) {
        map_set(c->elsewhere, text, NULL);
    }
}

static void set_state(const struct local_provider *p, const char *name, const char *state, double n)
{
    const struct tt_kv label = {"state", state};

    set(p, name, &label, 1, n);
}

static void set_services(struct local_provider *p)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct counts c = {.p = p, .a = a, .elsewhere = map_new(NULL)};

    if (p->leasing != NULL && p->directing != NULL) {
        local_director_offered(p->directing, note_offered, &c);
    }
    c.draining = p->directing == NULL ? 0 : (double)local_director_draining(p->directing);
    local_served_any(p, count_service, &c);
    local_mirror_any(p->mirror, count_address, &c);
    if (p->ipvs) {
        local_mirror_each(p->mirror, count_resting, &c);
    }
    for (int mode = LOCAL_MODE_NFT; mode <= LOCAL_MODE_IPVS_TUNNEL; mode++) {
        const struct tt_kv label = {"mode", local_mode_word((enum local_mode)mode)};
        set(p, "local_frontends", &label, 1, c.frontends[mode]);
    }
    set_state(p, "local_targets", "up", c.up);
    set_state(p, "local_targets", "ejected", c.ejected);
    set_state(p, "local_targets", "idle", c.idle);
    set_state(p, "local_targets", "draining", c.draining);
    set_state(p, "local_holds", "announced", c.announced);
    set_state(p, "local_holds", "exported", c.exported);
    set_state(p, "local_holds", "quiet", c.quiet);
    set_state(p, "local_holds", "offered", c.offered);
    set(p, "local_addresses_outside_pools", NULL, 0, c.outside);
    map_free(c.elsewhere);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

struct telling {
    struct local_provider *p;
    const char *whose; /* which handle's counts these are */
};

/* Counters go up by what was not counted yet. */
static void add_count(void *arg, const struct local_kernel_count *c)
{
    const struct telling *t = arg;
    const struct tt_kv labels[] = {{"api", c->api}, {"op", c->op}, {"code", c->code}};
    char key[80];

    (void)snprintf(key, sizeof key, "%s %s %s %s", t->whose, c->api, c->op, c->code);
    uint64_t *told = map_get(t->p->requests_told, key);
    if (told == NULL) {
        told = xcalloc(1, sizeof *told);
        map_set(t->p->requests_told, key, told);
    }
    /* An answer that came late makes less of those that were well. */
    double more = c->n > *told ? (double)(c->n - *told) : 0;
    if (more > 0) {
        t->p->host->metric_add(t->p->host->ctx, "local_kernel_requests_total", labels, 3, more);
        *told = c->n;
    }
}

/* Of both handles: the director's thread, which has its own, is the caller. */
static void add_requests(struct local_provider *p)
{
    struct telling t = {p, "syncs"};
    const struct local_kernel *thread = local_director_kernel(p->directing);

    p->kernel->ops->counts(p->kernel, add_count, &t);
    if (thread != NULL && thread != p->kernel) {
        t.whose = "thread";
        thread->ops->counts(thread, add_count, &t);
    }
}

void local_figures_took(void *provider, const char *api, double took_s)
{
    const struct local_provider *p = provider;
    const struct tt_kv label = {"api", api};

    p->host->metric_observe(p->host->ctx, "local_kernel_request_seconds", &label, 1, took_s);
}

static void set_conntrack(struct local_provider *p)
{
    struct err ignored = ERR_INIT; /* a kernel without connection tracking */
    int64_t count = 0;
    int64_t most = 0;
    const struct local_kernel_ops *ops = p->kernel->ops;

    if (ops->sysctl_read(p->kernel, "net.netfilter.nf_conntrack_count", &count, &ignored) !=
            ERR_OK ||
        ops->sysctl_read(p->kernel, "net.netfilter.nf_conntrack_max", &most, &ignored) != ERR_OK ||
        most <= 0) {
        return;
    }
    set(p, "local_conntrack_ratio", NULL, 0, (double)count / (double)most);
    bool full = count * 100 >= most * FULL_PERCENT;
    if (full && !p->conntrack_full) {
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0,
                     "connection tracking is 90 % full: new connections will be dropped (sysctl -w "
                     "net.netfilter.nf_conntrack_max=…)",
                     NULL, 0);
    }
    p->conntrack_full = full;
}

void local_figures_set(struct local_provider *p)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();

    set_addresses(p, a);
    set_services(p);
    add_requests(p);
    set_conntrack(p);
    local_traffic_count(p);
}

void local_figures_synced(const struct local_provider *p, int64_t took_ms)
{
    p->host->metric_observe(p->host->ctx, "local_sync_to_kernel_seconds", NULL, 0,
                            (double)took_ms / 1000);
    if (p->kernel == NULL) { /* an allocator has no thread that would do it */
        _cleanup_(arena_freep) struct arena *a = arena_new();
        set_addresses(p, a);
    }
}
