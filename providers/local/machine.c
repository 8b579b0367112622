/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c: sysctls that must be right on this machine, looked at at the start and every ten
 * minutes.
 *
 * A wrong one is logged once, until it changes.  Services that cannot work with it say so
 * themselves (flow.c, ipvs.c).  Nothing is written here. */
#include "providers/local/provider.h"

#include <stdio.h>

#include "common/base/str.h"

enum { NFT = 1, NAT = 2, FULLNAT = 4, DR = 8, TUNNEL = 16, V6 = 32 };
#define REWRITES (NFT | NAT | FULLNAT)
#define IPVS     (NAT | FULLNAT | DR | TUNNEL)

struct sysctl {
    const char *name;
    unsigned modes; /* of a pool, any of them; with V6 also a pool of that family */
    int64_t least, most;
    const char *why;
};
static const struct sysctl sysctls[] = {
    {"net.ipv4.ip_forward", REWRITES, 1, 1, "this machine forwards nothing"},
    {"net.ipv6.conf.all.forwarding", REWRITES | V6, 1, 2, "this machine forwards nothing"},
    {"net.ipv4.vs.conntrack", FULLNAT, 1, 1, "no connection through ipvs-fullnat would come about"},
    {"net.ipv4.vs.expire_nodest_conn", IPVS, 1, 1,
     "clients of a target that is gone wait instead of being told"},
    {"net.ipv4.vs.expire_quiescent_template", IPVS, 1, 1,
     "clients with affinity go on to a target that drains"},
    {"net.ipv4.vs.conn_reuse_mode", IPVS, 1, 1, "a client's port that is used again may hang"},
    {"net.ipv4.conf.all.rp_filter", DR | TUNNEL, 0, 0,
     "packets of clients may be dropped where their way back is another one"},
    {"net.ipv4.conf.all.arp_ignore", NFT | IPVS, 0, 0,
     "the kernel does not answer ARP for addresses that are held"},
    {"net.netfilter.nf_conntrack_max", REWRITES, 65537, INT64_MAX,
     "few connections fit into connection tracking"},
};

static unsigned modes_of(const struct local_provider *p)
{
    static const unsigned bits[] = {[LOCAL_MODE_NFT] = NFT,
                                    [LOCAL_MODE_IPVS_NAT] = NAT,
                                    [LOCAL_MODE_IPVS_FULLNAT] = FULLNAT,
                                    [LOCAL_MODE_IPVS_DR] = DR,
                                    [LOCAL_MODE_IPVS_TUNNEL] = TUNNEL};
    unsigned modes = 0;

    for (size_t i = 0; i < p->config->n_pools; i++) {
        const struct local_pool *pool = &p->config->pools[i];
        size_t mode = (size_t)pool->serve.mode;
        modes |= mode < ARRAY_LEN(bits) && bits[mode] != 0 ? bits[mode] : NFT;
        for (size_t k = 0; k < pool->n_ranges; k++) {
            modes |= pool->ranges[k].first.len == 16 ? V6 : 0;
        }
    }
    return modes;
}

static bool is_needed(const struct sysctl *x, unsigned modes)
{
    return (x->modes & modes & ~(unsigned)V6) != 0 && ((x->modes & V6) == 0 || (modes & V6) != 0);
}

static void look_at(struct local_provider *p, const struct sysctl *x)
{
    struct err ignored = ERR_INIT; /* one that this kernel does not have is not missed */
    int64_t value = x->least;
    char text[320];

    bool there = p->kernel->ops->sysctl_read(p->kernel, x->name, &value, &ignored) == ERR_OK;
    if (!there || (value >= x->least && value <= x->most)) {
        (void)map_remove(p->machine_told, x->name);
        return;
    }
    (void)snprintf(text, sizeof text, "%s is %lld: %s (sysctl -w %s=%lld)", x->name,
                   (long long)value, x->why, x->name, (long long)x->least);
    if (!str_eq(map_get(p->machine_told, x->name), text)) {
        map_set(p->machine_told, x->name, xstrdup(text));
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, text, NULL, 0);
    }
}

void local_machine_look(struct local_provider *p)
{
    unsigned modes = modes_of(p);

    for (size_t i = 0; i < ARRAY_LEN(sysctls); i++) {
        if (is_needed(&sysctls[i], modes)) {
            look_at(p, &sysctls[i]);
        }
    }
}
