/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c: findings about a Service that is served: wishes without effect, client
 * addresses that are not kept, a machine that is not ready (docs/providers/local.md).
 *
 * The controller makes of each one event for each state.  None of them stops anything. */
#include "providers/local/provider.h"

#include "common/base/str.h"
#include "common/lb/findings.h"

#define ETHERNET_MTU 1500

/* The default is not printed: the user has set no time. */
static void find_affinity(struct lb_sync *s, const struct lb_item *item,
                          const struct local_serve *serve)
{
    if (serve->affinity && !local_mode_is_ipvs(serve->mode) &&
        serve->affinity_s != LOCAL_AFFINITY_DEFAULT_S) {
        lb_finding(s, item, "AffinityTimeoutIgnored", "spec.sessionAffinityConfig",
                   "mode nft chooses by the client's address and knows no time: a client moves "
                   "when the targets change");
    }
}

void local_lacks_ctnetlink(struct local_provider *p, bool lacks)
{
    if (lacks && !p->no_ctnetlink) {
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, LOCAL_CT_NONE, NULL, 0);
    }
    p->no_ctnetlink = lacks;
}

static bool is_local(const struct tt_service *service)
{
    return str_eq(service->external_traffic_policy, "Local");
}

/* Only where the Service asks for the client's address, by its policy or its mode: with policy
 * Cluster and node ports kube-proxy hides it in any case. */
static void find_client(struct lb_sync *s, const struct lb_item *item,
                        const struct tt_service *service, const struct local_serve *serve)
{
    if (local_mode_keeps_vip(serve->mode) && !is_local(service)) {
        lb_finding(s, item, "ClientAddressNotKept", "spec.externalTrafficPolicy",
                   "client addresses are not kept: externalTrafficPolicy Cluster (Local keeps "
                   "them)");
    } else if (serve->snat && is_local(service)) {
        lb_finding(s, item, "ClientAddressNotKept", "spec.externalTrafficPolicy",
                   "client addresses are not kept: targets see this director's address "
                   "(director.directorIsGateway, or mode ipvs-dr or ipvs-tunnel, keeps them)");
    }
}

static void find_health(struct lb_sync *s, const struct lb_item *item,
                        const struct tt_service *service, const struct local_serve *serve)
{
    bool wants = serve->health.kind == LOCAL_CHECK_AUTO &&
                 serve->checks.local == LOCAL_CHECK_NODE_PORT &&
                 serve->targets != LOCAL_TARGETS_POD;

    if (wants && is_local(service) && service->health_check_node_port == 0) {
        lb_finding(
            s, item, "PolicyLocalNeedsHealth", "spec.healthCheckNodePort",
            "policy Local without healthCheckNodePort: kube-proxy's health port says whether "
            "a node lives, not whether it has pods");
    }
}

/* ---- tunnels --------------------------------------------------------------------------------- */

/* The link of a network that has the address; NULL: it is behind a router. */
static const struct local_link *link_to(const struct local_sync *y, const struct ip_addr *addr)
{
    for (size_t i = 0; i < y->n_addrs; i++) {
        const struct local_link_addr *at = &y->addrs[i];
        if (at->ours || at->net.addr.len != addr->len || !ip_net_contains(&at->net, addr)) {
            continue;
        }
        for (size_t k = 0; k < y->n_links; k++) {
            if (y->links[k].index == at->link) {
                return &y->links[k];
            }
        }
    }
    return NULL;
}

/* Bytes in front of a packet: the outer header, and that of the kind. */
static unsigned tunnel_bytes(enum local_tunnel kind, bool v6)
{
    unsigned own = kind == LOCAL_TUNNEL_GUE ? 12 : kind == LOCAL_TUNNEL_GRE ? 4 : 0;

    return (v6 ? 40 : 20) + own;
}

/* Packets come as large as the links allow on which the address is announced, or as
 * Ethernet does. */
static unsigned mtu_of_clients(const struct local_vip_pair *v)
{
    unsigned mtu = 0;

    for (size_t i = 0; i < v->n_links; i++) {
        mtu = v->links[i]->mtu > mtu ? v->links[i]->mtu : mtu;
    }
    return mtu == 0 ? ETHERNET_MTU : mtu;
}

static void find_mtu(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    const struct local_sync *y = s->data;
    enum local_tunnel kind = y->p->config->director.tunnel;

    for (size_t i = 0; i < it->grant.n && i < it->n_vips && i < it->n_wanted; i++) {
        const struct local_wanted *w = &it->wanted[i];
        const struct local_target_set *t = w->n > 0 ? &w->targets[0] : NULL;
        unsigned bytes = tunnel_bytes(kind, it->grant.have[i].addr.len == 16);
        unsigned clients = mtu_of_clients(&it->vips[i]);
        for (size_t k = 0; t != NULL && w->serve.mode == LOCAL_MODE_IPVS_TUNNEL && k < t->n; k++) {
            const struct local_link *link = link_to(y, &t->items[k].addr);
            if (link != NULL && link->mtu != 0 && link->mtu < clients + bytes) {
                lb_finding(s, item, "TunnelMtuSmall", NULL,
                           "the tunnel adds %u bytes, and %s takes %u: clients' packets of more "
                           "than %u bytes are answered as too big (ip link set %s mtu %u, on the "
                           "targets likewise)",
                           bytes, link->name, link->mtu, link->mtu - bytes, link->name,
                           clients + bytes);
                break;
            }
        }
    }
}

static size_t count_targets(const struct local_wanted *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        n += w->targets[i].n;
    }
    return n;
}

/* More targets than slots: the Service is served by as many as there is room for. */
static void find_over(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    for (size_t i = 0; i < it->grant.n; i++) {
        const struct local_wanted *w = &it->wanted[i];
        for (size_t k = 0; k < w->n; k++) {
            const struct local_target_set *t = &w->targets[k];
            if (t->n_over > 0) {
                lb_finding(s, item, "TargetsLeftOut", NULL,
                           "nft mode has at most 256 targets per port; %zu more get no connections "
                           "(an ipvs mode has no such limit)",
                           t->n_over);
                return;
            }
        }
    }
}

/* One of its addresses serves; another one cannot, because no target has an address of its family.
 * Where none serves, that is said instead (lb_serves_nobody). */
static void find_family(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    char text[IP_TEXT_MAX];
    bool some = false;

    for (size_t i = 0; i < it->grant.n; i++) {
        some = some || it->wanted[i].some_open;
    }
    for (size_t i = 0; some && i < it->grant.n; i++) {
        const struct ip_addr *addr = &it->grant.have[i].addr;
        if (it->wanted[i].n > 0 && count_targets(&it->wanted[i]) == 0) {
            ip_format(addr, text);
            lb_finding(s, item, "NoTargets", NULL,
                       "no target has an %s address: all ports of %s are closed",
                       addr->len == 16 ? "IPv6" : "IPv4", text);
        }
    }
}

void local_find(struct lb_sync *s, const struct lb_item *item, const struct local_item *it)
{
    char text[IP_TEXT_MAX];
    const char *shut = "no target is left for any port";
    bool open = false;

    lb_findings_unknown(s, item, &local_annotation_keys);
    local_health_find(s, item);
    for (size_t i = 0; i < it->grant.n; i++) {
        ip_format(&it->grant.have[i].addr, text);
        open = open || it->wanted[i].some_open;
        local_directing_find(s, item, &it->grant.have[i].addr);
        const char *silent = local_directing_silent(s->a, it, i);
        if (silent != NULL) {
            lb_finding(s, item, "NotAnnounced", NULL, "%s", silent);
        }
        if (it->grant.have[i].pool == NULL) {
            local_told_outside(s, item, text);
        }
        if (it->wanted[i].n_ranges_left > 0) {
            lb_finding(s, item, "SourceRangeIgnored", "spec.loadBalancerSourceRanges",
                       "ranges of the other family open nothing at %s", text);
            shut = it->wanted[i].n_ranges == 0
                       ? "loadBalancerSourceRanges has no range of the address's family"
                       : shut;
        }
    }
    if ((it->grant.flags & LOCAL_GRANT_SECOND_MISSING) != 0) {
        lb_finding(s, item, "SecondFamilyMissing", "spec.ipFamilyPolicy", LOCAL_SECOND_MISSING);
    }
    if ((it->grant.flags & LOCAL_GRANT_SHARE_BROKEN) != 0) {
        lb_finding(s, item, "PortsShared", LOCAL_PREFIX "share", LOCAL_PORTS_SHARED);
    }
    if (it->grant.n > 0) {
        const struct local_serve *serve = &it->wanted[0].serve;
        find_affinity(s, item, serve);
        find_client(s, item, it->service, serve);
        find_health(s, item, it->service, serve);
    }
    local_ipvs_findings(s, item, it);
    find_mtu(s, item, it);
    find_family(s, item, it);
    find_over(s, item, it);
    if (((const struct local_sync *)s->data)->p->no_ctnetlink) {
        lb_finding(s, item, "DirectorNotReady", NULL, LOCAL_CT_NONE);
    }
    lb_serves_nobody(s, item, open || it->grant.n == 0 ? NULL : shut);
}
