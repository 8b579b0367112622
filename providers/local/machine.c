/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c: sysctls that must be right on this machine, looked at at the start and every ten
 * minutes.
 *
 * A wrong one is logged once, until it changes.  Services that cannot work with it say so
 * themselves (flow.c, ipvs.c).  Nothing is written here. */
#include "providers/local/provider.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"

#define LINK      "*"  /* in a name: "all", and each Ethernet link; the kernel takes the greater */
#define HELD_MANY 2000 /* addresses with a lifetime, which are renewed one by one */
#define DESTS_MANY                                                                                 \
    50000 /* destinations of IPVS, whose rates the kernel estimates every two seconds */

/* Of the last ones: a pool of IPv6; one network for clients and targets; many destinations, whose
 * counts nothing reads; counts that are read. */
enum {
    NFT = 1,
    NAT = 2,
    FULLNAT = 4,
    DR = 8,
    TUNNEL = 16,
    V6 = 32,
    ONE_ARM = 64,
    MANY = 128,
    COUNTED = 256
};
#define CONDITIONS ((unsigned)(V6 | ONE_ARM | MANY | COUNTED))
#define REWRITES   (NFT | NAT | FULLNAT)
#define IPVS       (NAT | FULLNAT | DR | TUNNEL)

struct sysctl {
    const char *name;
    unsigned modes; /* of a pool, any of them; and all of its CONDITIONS */
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
    {"net.ipv4.conf." LINK ".rp_filter", DR | TUNNEL, 0, 0,
     "packets of clients may be dropped where their way back is another one"},
    {"net.ipv4.conf." LINK ".arp_ignore", NFT | IPVS, 0, 0,
     "the kernel does not answer ARP for addresses that are held, trimtab does while it runs"},
    {"net.ipv4.conf." LINK ".send_redirects", REWRITES | ONE_ARM, 0, 0,
     "clients on the network of their targets are told to send past this machine"},
    {"net.ipv4.vs.run_estimation", IPVS | MANY, 0, 0,
     "the kernel estimates the rates of all of more than 50,000 targets"},
    /* The kernel adds up its counters where it estimates. */
    {"net.ipv4.vs.run_estimation", IPVS | COUNTED, 1, 1, "--local-service-stats counts nothing"},
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
    return (x->modes & modes & ~CONDITIONS) != 0 && (x->modes & CONDITIONS & ~modes) == 0;
}

/* Logs it unless that was logged last under this name; NULL: it is right now. */
static void say(struct local_provider *p, uint32_t level, const char *name, const char *text)
{
    if (text == NULL) {
        (void)map_remove(p->machine_told, name);
    } else if (!str_eq(map_get(p->machine_told, name), text)) {
        map_set(p->machine_told, name, xstrdup(text));
        p->host->log(p->host->ctx, level, 0, text, NULL, 0);
    }
}

static void look_at(struct local_provider *p, const struct sysctl *x, const char *name)
{
    struct err ignored = ERR_INIT; /* one that this kernel does not have is not missed */
    int64_t value = x->least;
    char text[320];

    bool there = p->kernel->ops->sysctl_read(p->kernel, name, &value, &ignored) == ERR_OK;
    bool right = !there || (value >= x->least && value <= x->most);
    (void)snprintf(text, sizeof text, "%s is %lld: %s (sysctl -w %s=%lld)", name, (long long)value,
                   x->why, name, (long long)x->least);
    /* Advice, where nothing is wrong. */
    say(p, (x->modes & MANY) != 0 ? TT_LOG_INFO : TT_LOG_WARNING, name, right ? NULL : text);
}

/* A dot in the name of a link is a slash in that of a sysctl. */
static void look_at_link(struct local_provider *p, const struct sysctl *x, const char *link)
{
    const char *star = strchr(x->name, LINK[0]);
    char name[128];
    int n = snprintf(name, sizeof name, "%.*s%s%s", (int)(star - x->name), x->name, link, star + 1);

    for (size_t i = (size_t)(star - x->name); i < (size_t)(star - x->name) + strlen(link); i++) {
        name[i] = (char)(name[i] == '.' ? '/' : name[i]);
    }
    if (n > 0 && (size_t)n < sizeof name) {
        look_at(p, x, name);
    }
}

static void look_at_links(struct local_provider *p, const struct sysctl *x)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_link *links = NULL;
    size_t n = 0;
    struct err ignored = ERR_INIT; /* the next look reads them */

    look_at_link(p, x, "all");
    if (p->kernel->ops->links(p->kernel, a, &links, &n, &ignored) != ERR_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (links[i].ethernet && !links[i].loopback && links[i].bridge == 0) {
            look_at_link(p, x, links[i].name);
        }
    }
}

static void count_one(void *arg, const struct local_offered *o)
{
    size_t *n = arg;

    *n += o->held;
}

/* All of them lie on one or two links, where the kernel walks them one by one. */
static void look_at_held(struct local_provider *p)
{
    size_t n = 0;
    char text[192];

    if (p->leasing == NULL || p->directing == NULL) {
        return;
    }
    local_director_offered(p->directing, count_one, &n);
    /* Told anew when there are a thousand more. */
    (void)snprintf(text, sizeof text,
                   "lease needs addresses with lifetimes; %zu,000 on one device are slow: use ecmp "
                   "or more directors",
                   n / 1000);
    say(p, TT_LOG_WARNING, "lease", n <= HELD_MANY ? NULL : text);
}

/* One link alone has addresses of IPv4: clients come in where their packets go out to targets, and
 * the kernel tells them of a shorter way. */
static bool has_one_arm(struct local_provider *p)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_link *links = NULL;
    struct local_link_addr *addrs = NULL;
    size_t n_links = 0;
    size_t n = 0;
    size_t arms = 0;
    struct err ignored = ERR_INIT; /* the next look reads them */

    if (p->kernel->ops->links(p->kernel, a, &links, &n_links, &ignored) != ERR_OK ||
        p->kernel->ops->addrs(p->kernel, a, &addrs, &n, &ignored) != ERR_OK) {
        return false;
    }
    for (size_t i = 0; i < n_links; i++) {
        bool has = false;
        for (size_t k = 0; k < n && !links[i].loopback; k++) {
            has = has ||
                  (addrs[k].link == links[i].index && addrs[k].net.addr.len == 4 && !addrs[k].ours);
        }
        arms += has;
    }
    return arms == 1;
}

static void count_dests(void *arg, const struct local_mirror_vip *v)
{
    size_t *n = arg;

    for (size_t i = 0; i < v->n_fronts; i++) {
        *n += v->fronts[i].ipvs.n_reals;
    }
}

static unsigned conditions_of(struct local_provider *p, unsigned modes)
{
    size_t n = 0;

    if ((modes & IPVS) != 0 && p->ipvs && !p->service_stats) {
        local_mirror_each(p->mirror, count_dests, &n);
    }
    return (p->service_stats ? COUNTED : 0u) | (n > DESTS_MANY ? MANY : 0u) |
           ((modes & REWRITES) != 0 && has_one_arm(p) ? ONE_ARM : 0u);
}

void local_machine_look(struct local_provider *p)
{
    unsigned modes = modes_of(p);

    modes |= conditions_of(p, modes);

    for (size_t i = 0; i < ARRAY_LEN(sysctls); i++) {
        if (!is_needed(&sysctls[i], modes)) {
            continue;
        }
        if (strchr(sysctls[i].name, LINK[0]) != NULL) {
            look_at_links(p, &sysctls[i]);
        } else {
            look_at(p, &sysctls[i], sysctls[i].name);
        }
    }
    look_at_held(p);
}
