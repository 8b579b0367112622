/* SPDX-License-Identifier: Apache-2.0 */
/* directing.c: the director's thread in the provider: its start, what syncs tell it, and its words to the host.
 *
 * The thread has no call of the host.  It logs, sends events to owners by name, and counts; all of that may come from any thread. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"

#define LOOK_AGAIN_MS  10000
#define PROBE_AGAIN_MS 1000

static const char *const of_kind[] = {"kind"};
static const char *const of_state[] = {"state"};
static const char *const of_why[] = {"why"};
static const char *const of_check[] = {"kind", "result"};
const struct tt_metric local_directing_metrics[LOCAL_DIRECTING_METRICS] = {
    {.name = "local_announcements_total",
     .help = "Announcements of an address on a link, by kind: arp, ndp",
     .type = TT_METRIC_COUNTER,
     .labels = of_kind,
     .n_labels = ARRAY_LEN(of_kind)},
    {.name = "local_checks_total",
     .help = "Health checks of targets, by kind (kube-proxy, healthCheckNodePort, tcp, http) and "
             "result (good, bad)",
     .type = TT_METRIC_COUNTER,
     .labels = of_check,
     .n_labels = ARRAY_LEN(of_check)},
    {.name = "local_buckets",
     .help = "Buckets of addresses that this director shares with others, by state: held, asked, "
             "leaving",
     .type = TT_METRIC_GAUGE,
     .labels = of_state,
     .n_labels = ARRAY_LEN(of_state)},
    {.name = "local_takeovers_total",
     .help = "Buckets of addresses that this director took, by why: free, dead (their director was "
             "not heard of any more)",
     .type = TT_METRIC_COUNTER,
     .labels = of_why,
     .n_labels = ARRAY_LEN(of_why)},
};

/* ---- what the thread says ------------------------------------------------------------------------ */

static void tell(void *arg, const struct local_news *news)
{
    struct local_provider *p = arg;
    const struct tt_host *host = p->host;
    struct tt_service owner = {0};
    const char *slash = news->service == NULL ? NULL : strchr(news->service, '/');
    const struct tt_kv of = {"service", str_nonnull(news->service)};
    char ns[256];

    host->log(host->ctx, news->warning ? TT_LOG_WARNING : TT_LOG_INFO, 0, news->text, &of,
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
                news->text);
}

static void count(void *arg, const char *counter, const char *first, const char *second, unsigned n)
{
    struct local_provider *p = arg;

    for (size_t i = 0; i < LOCAL_DIRECTING_METRICS; i++) {
        const struct tt_metric *m = &local_directing_metrics[i];
        if (str_eq(m->name, counter)) {
            const struct tt_kv labels[] = {{m->labels[0], first},
                                           {m->n_labels > 1 ? m->labels[1] : "", second}};
            p->host->metric_add(p->host->ctx, counter, labels, m->n_labels, n);
        }
    }
}

int local_directing_start(struct local_provider *p, struct local_kernel *kernel,
                          const struct local_sharing *sharing, struct err *err)
{
    const struct local_rt_args rt = {.protocol = p->config->director.route_protocol,
                                     .table = p->config->director.route_table};
    struct local_director_args args = {.kernel = kernel,
                                       .clock = p->clock,
                                       .rng = p->rng,
                                       .tell = tell,
                                       .count = count,
                                       .changed = local_health_changed,
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
        p->directing = local_director_new(&args);
        rc = local_director_start(p->directing, err);
    }
    return rc;
}

/* ---- announcements ------------------------------------------------------------------------------- */

bool local_directing_announce(struct local_provider *p, const struct local_announce_deed *deed)
{
    const struct local_pool *pool = local_pool_of(p->config, &deed->addr);
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, &deed->addr);
    const struct local_announce_order order = {
        .addr = deed->addr,
        .links = deed->links,
        .n_links = deed->n_links,
        .refresh_ms = pool == NULL ? LOCAL_ANNOUNCE_REFRESH : pool->refresh_ms,
        .probe = deed->probe,
        .owner = v == NULL ? NULL : v->vip.comment,
    };

    if (p->directing == NULL) {
        return false;
    }
    local_director_announce(p->directing, &order);
    return true;
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
    char text[IP_TEXT_MAX];

    if (p->directing == NULL) {
        return;
    }
    struct local_announce_state st = local_director_announced(p->directing, addr);
    if (st.in_use) {
        ip_format(addr, text);
        lb_finding(s, item, "AddressInUse", NULL, LOCAL_IN_USE_FORMAT, text, st.mac[0], st.mac[1],
                   st.mac[2], st.mac[3], st.mac[4], st.mac[5]);
    }
}

int64_t local_directing_again_ms(struct lb_sync *s, const struct local_item *it)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    int64_t after_ms = 0;

    for (size_t i = 0; p->directing != NULL && i < it->grant.n; i++) {
        struct local_announce_state st =
            local_director_announced(p->directing, &it->grant.have[i].addr);
        bool ails = st.in_use || it->wanted[i].n_ejected > 0 || it->wanted[i].failed_open;
        after_ms = st.probing ? PROBE_AGAIN_MS : ails && after_ms == 0 ? LOOK_AGAIN_MS : after_ms;
    }
    return after_ms;
}
