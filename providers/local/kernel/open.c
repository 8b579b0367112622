/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: the kernel of this machine as the table of functions of kernel.h.  Each function is in
 * the file of its subject. */
#include "providers/local/kernel/nft.h"
#include "providers/local/kernel/real.h"
#include "providers/local/kernel/rtnl_near.h"
#include "providers/local/kernel/tally.h"

#include <linux/netlink.h>
#include <string.h>

struct real_kernel {
    struct local_kernel k; /* first: the handle that callers have */
    struct local_rt_args rt;
    struct local_nl nft, rtnl, ct;
    struct local_nft_ranges ranges;
    struct local_tally nft_tally, rtnl_tally, ct_tally, ipvs_tally;
    struct local_announcer *announcer;
    struct local_settler *settler;
    struct local_ipvs ipvs;
    struct local_watch *watch; /* NULL: not asked for */
    struct local_near near;    /* without `watch` */
};

#define TALLIES(r)                                                                                 \
    {                                                                                              \
        &(r)->nft_tally, &(r)->rtnl_tally, &(r)->ct_tally, &(r)->ipvs_tally                        \
    }

static struct real_kernel *real(struct local_kernel *k)
{
    return CONTAINER_OF(k, struct real_kernel, k);
}

static int nft_make(struct local_kernel *k, const struct local_nft_table_args *args,
                    struct err *err)
{
    local_nft_ranges_forget(&real(k)->ranges);
    return local_nft_make(&real(k)->nft, args, err);
}

static int nft_remake(struct local_kernel *k, const struct local_nft_table_args *args,
                      const struct local_nft_change *adds, size_t n, struct err *err)
{
    local_nft_ranges_forget(&real(k)->ranges);
    return local_nft_remake(&real(k)->nft, args, adds, n, err);
}

static int nft_check(struct local_kernel *k, const struct local_nft_table_args *args,
                     bool *ret_whole, struct local_rt_args *ret_routes, struct err *err)
{
    return local_nft_check(&real(k)->nft, args, ret_whole, ret_routes, err);
}

static int nft_look(struct local_kernel *k, const char *instance, struct local_nft_table *ret,
                    struct err *err)
{
    return local_nft_look(&real(k)->nft, instance, ret, err);
}

static int nft_commit(struct local_kernel *k, const char *instance,
                      const struct local_nft_change *changes, size_t n, struct err *err)
{
    return local_nft_commit(&real(k)->nft, &real(k)->ranges, instance, changes, n, err);
}

static int nft_list(struct local_kernel *k, const char *instance, local_nft_each_fn *each,
                    void *arg, struct err *err)
{
    return local_nft_list(&real(k)->nft, instance, each, arg, err);
}

static int nft_read(struct local_kernel *k, const char *instance,
                    const struct local_frontend_id *id, local_nft_each_fn *each, void *arg,
                    struct err *err)
{
    struct local_nft_read_args args = {instance, id, each, arg};
    return local_nft_read(&real(k)->nft, &real(k)->ranges, &args, err);
}

static int nft_instances(struct local_kernel *k, struct arena *a, const char ***ret, size_t *ret_n,
                         struct err *err)
{
    return local_nft_instances(&real(k)->nft, a, ret, ret_n, err);
}

static int kube_proxy(struct local_kernel *k, const char **ret, struct err *err)
{
    return local_nft_kube_proxy(&real(k)->nft, ret, err);
}

static int nft_remove(struct local_kernel *k, const char *instance, struct err *err)
{
    local_nft_ranges_forget(&real(k)->ranges);
    return local_nft_remove(&real(k)->nft, instance, err);
}

static int settle(struct local_kernel *k, struct err *err)
{
    return local_settle(real(k)->settler, err);
}

static int links(struct local_kernel *k, struct arena *a, struct local_link **ret, size_t *ret_n,
                 struct err *err)
{
    struct real_kernel *r = real(k);

    if (r->watch !=
        NULL) { /* it looks once a second, and at carriers that the kernel tells of late */
        return local_rtnl_links(&r->rtnl, a, ret, ret_n, err);
    }
    return local_near_links(&r->near, &r->rtnl, a, ret, ret_n, err);
}

static int addrs(struct local_kernel *k, struct arena *a, struct local_link_addr **ret,
                 size_t *ret_n, struct err *err)
{
    struct real_kernel *r = real(k);

    if (r->watch != NULL) {
        return local_rtnl_addrs(&r->rtnl, r->rt.protocol, a, ret, ret_n, err);
    }
    return local_near_addrs(&r->near, &r->rtnl, r->rt.protocol, a, ret, ret_n, err);
}

static int addr_set(struct local_kernel *k, int link, const struct ip_addr *addr, int64_t valid_ms,
                    struct err *err)
{
    struct local_rtnl_addr c = {
        .link = link, .addr = *addr, .valid_ms = valid_ms, .protocol = real(k)->rt.protocol};
    return local_rtnl_addr_change(&real(k)->rtnl, &c, err);
}

static int addr_del(struct local_kernel *k, int link, const struct ip_addr *addr, struct err *err)
{
    struct local_rtnl_addr c = {.del = true, .link = link, .addr = *addr};
    return local_rtnl_addr_change(&real(k)->rtnl, &c, err);
}

static int addrs_change(struct local_kernel *k, const struct local_held_addr *items, size_t n,
                        int64_t valid_ms, int *ret_codes, struct err *err)
{
    struct local_rtnl_addr how = {
        .del = valid_ms == 0, .valid_ms = valid_ms, .protocol = real(k)->rt.protocol};
    return local_rtnl_addrs_change(&real(k)->rtnl, items, n, &how, ret_codes, err);
}

static int routes(struct local_kernel *k, struct arena *a, struct local_route **ret, size_t *ret_n,
                  struct err *err)
{
    return local_rtnl_routes(&real(k)->rtnl, &real(k)->rt, a, ret, ret_n, err);
}

static int routes_change(struct local_kernel *k, bool del, const struct local_route *items,
                         size_t n, int *ret_codes, struct err *err)
{
    struct local_rtnl_change c = {
        .rt = &real(k)->rt, .del = del, .routes = items, .n = n, .codes = ret_codes};
    return local_rtnl_routes_change(&real(k)->rtnl, &c, err);
}

static int routes_adopt(struct local_kernel *k, const struct local_rt_args *old, struct err *err)
{
    return local_rtnl_adopt(&real(k)->rtnl, old, &real(k)->rt, err);
}

static int announce(struct local_kernel *k, const struct local_link *link,
                    const struct ip_addr *items, size_t n, struct err *err)
{
    return local_announcer_send(real(k)->announcer, link, items, n, err);
}

static int probe_send(struct local_kernel *k, const struct local_link *link,
                      const struct ip_addr *addr, struct err *err)
{
    return local_announcer_probe(real(k)->announcer, link, addr, err);
}

static int probe_answer(struct local_kernel *k, const struct local_link *link,
                        const struct ip_addr *addr, struct local_probe_answer *ret, struct err *err)
{
    return local_announcer_answer(real(k)->announcer, link, addr, ret, err);
}

static int neighbours(struct local_kernel *k, struct arena *a, struct local_neighbour **ret,
                      size_t *ret_n, struct err *err)
{
    return local_rtnl_neighbours(&real(k)->rtnl, a, ret, ret_n, err);
}

static int hear(struct local_kernel *k, const struct local_link *link, struct local_heard *ret,
                size_t max, size_t *ret_n, struct err *err)
{
    return local_announcer_hear(real(k)->announcer, link, ret, max, ret_n, err);
}

static int respond(struct local_kernel *k, const struct local_link *link,
                   bool (*mine)(void *arg, const struct ip_addr *addr), void *arg, unsigned *ret_n,
                   struct err *err)
{
    return local_announcer_respond(real(k)->announcer, link, mine, arg, ret_n, err);
}

static size_t ears(const struct local_kernel *k, int *ret_fds, size_t max)
{
    const struct real_kernel *r = CONTAINER_OF(k, struct real_kernel, k);

    return local_announcer_ears(r->announcer, ret_fds, max);
}

static int connections_delete(struct local_kernel *k, const struct local_connection *gone, size_t n,
                              unsigned *ret_n, struct err *err)
{
    return local_ct_delete(&real(k)->ct, gone, n, ret_n, err);
}

static int sysctl_read(struct local_kernel *k, const char *name, int64_t *ret, struct err *err)
{
    (void)k; /* the namespace is the process's */
    return local_sysctl_read(name, ret, err);
}

static int sysctl_write(struct local_kernel *k, const char *name, int64_t value, struct err *err)
{
    (void)k; /* the namespace is the process's */
    return local_sysctl_write(name, value, err);
}

static int ipvs_look(struct local_kernel *k, struct err *err)
{
    return local_ipvs_look(&real(k)->ipvs, err);
}

static int ipvs_traffic(struct local_kernel *k, struct arena *a, struct local_ipvs_traffic **ret,
                        size_t *ret_n, struct err *err)
{
    return local_ipvs_traffic(&real(k)->ipvs, a, ret, ret_n, err);
}

static int ipvs_services(struct local_kernel *k, struct arena *a, struct local_ipvs_service **ret,
                         size_t *ret_n, struct err *err)
{
    return local_ipvs_services(&real(k)->ipvs, a, ret, ret_n, err);
}

static int ipvs_read(struct local_kernel *k, struct arena *a, struct local_ipvs_list *ret,
                     struct err *err)
{
    return local_ipvs_read(&real(k)->ipvs, a, ret, err);
}

static int ipvs_change(struct local_kernel *k, const struct local_ipvs_change *changes, size_t n,
                       int *ret_codes, struct err *err)
{
    return local_ipvs_changes(&real(k)->ipvs, changes, n, ret_codes, err);
}

static int watch(struct local_kernel *k, const char *instance, const struct local_kernel *own,
                 struct err *err)
{
    struct real_kernel *r = real(k);
    struct local_watch_args args = {.instance = instance, .rt = &r->rt, .own = {&r->nft, &r->rtnl}};
    if (own != NULL) {
        const struct real_kernel *o = CONTAINER_OF(own, struct real_kernel, k);
        args.own[2] = &o->nft;
        args.own[3] = &o->rtnl;
    }
    local_watch_free(r->watch);
    r->watch = NULL;
    return local_watch_new(&args, &r->watch, err);
}

static int heard(struct local_kernel *k, void (*each)(void *arg, const struct local_event *e),
                 void *arg, struct err *err)
{
    struct local_watch *w = real(k)->watch;
    return w == NULL ? ERR_OK : local_watch_hear(w, each, arg, err);
}

static unsigned watch_fds(const struct local_kernel *k, int fds[LOCAL_WATCH_FDS])
{
    const struct real_kernel *r = CONTAINER_OF(k, struct real_kernel, k);
    return r->watch == NULL ? 0 : local_watch_fds(r->watch, fds);
}

static int ipvs_daemons(struct local_kernel *k, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                        size_t *ret_n, struct err *err)
{
    return local_ipvs_daemons(&real(k)->ipvs, ret, ret_n, err);
}

static int ipvs_daemon_change(struct local_kernel *k, bool stop, const struct local_ipvs_daemon *d,
                              struct err *err)
{
    return local_ipvs_daemon_change(&real(k)->ipvs, stop, d, err);
}

static uint64_t requests(const struct local_kernel *k, const char *api)
{
    const struct real_kernel *r = CONTAINER_OF(k, struct real_kernel, k);
    const struct local_tally *all[] = TALLIES(r);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i]->api, api) == 0) {
            return local_tally_sum(all[i]);
        }
    }
    return 0;
}

static void counts(const struct local_kernel *k,
                   void (*each)(void *arg, const struct local_kernel_count *c), void *arg)
{
    const struct real_kernel *r = CONTAINER_OF(k, struct real_kernel, k);
    const struct local_tally *all[] = TALLIES(r);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        local_tally_each(all[i], each, arg);
    }
}

static void time_exchanges(struct local_kernel *k, local_kernel_took_fn *took, void *arg)
{
    struct real_kernel *r = real(k);
    struct local_tally *all[] = TALLIES(r);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i]->took = took;
        all[i]->took_arg = arg;
    }
}

static void real_free(struct local_kernel *k)
{
    struct real_kernel *r = real(k);
    local_nl_close(&r->nft);
    local_nl_close(&r->rtnl);
    local_nl_close(&r->ct);
    local_ipvs_close(&r->ipvs);
    local_watch_free(r->watch);
    local_near_done(&r->near);
    local_nft_ranges_forget(&r->ranges);
    local_settler_free(r->settler);
    local_announcer_free(r->announcer);
    free(r);
}

static const struct local_kernel_ops ops = {
    .nft_make = nft_make,
    .nft_remake = nft_remake,
    .nft_check = nft_check,
    .nft_look = nft_look,
    .nft_instances = nft_instances,
    .kube_proxy = kube_proxy,
    .nft_commit = nft_commit,
    .nft_list = nft_list,
    .nft_read = nft_read,
    .nft_remove = nft_remove,
    .settle = settle,
    .links = links,
    .addrs = addrs,
    .addr_set = addr_set,
    .addr_del = addr_del,
    .addrs_change = addrs_change,
    .routes = routes,
    .routes_change = routes_change,
    .routes_adopt = routes_adopt,
    .announce = announce,
    .probe_send = probe_send,
    .probe_answer = probe_answer,
    .neighbours = neighbours,
    .hear = hear,
    .respond = respond,
    .ears = ears,
    .connections_delete = connections_delete,
    .sysctl_read = sysctl_read,
    .sysctl_write = sysctl_write,
    .ipvs_look = ipvs_look,
    .ipvs_services = ipvs_services,
    .ipvs_traffic = ipvs_traffic,
    .ipvs_read = ipvs_read,
    .ipvs_change = ipvs_change,
    .watch = watch,
    .heard = heard,
    .watch_fds = watch_fds,
    .ipvs_daemons = ipvs_daemons,
    .ipvs_daemon_change = ipvs_daemon_change,
    .requests = requests,
    .counts = counts,
    .time_exchanges = time_exchanges,
    .free = real_free,
};

/* A kernel without nf_tables has no socket of netfilter, or does not know the subsystem. */
static int open_nft(struct real_kernel *r, struct err *err)
{
    uint32_t generation;
    int code = local_nl_open(&r->nft, NETLINK_NETFILTER, &r->nft_tally, err);
    if (code == ERR_INVALID) {
        return err_set(err, ERR_INVALID, LOCAL_NFT_NONE);
    }
    return code != ERR_OK ? code : local_nft_generation(&r->nft, &generation, err);
}

int local_kernel_open(const struct local_rt_args *args, struct local_kernel **ret, struct err *err)
{
    struct real_kernel *r = xcalloc(1, sizeof(*r));
    r->k.ops = &ops;
    r->rt = *args;
    r->announcer = local_announcer_new();
    r->settler = local_settler_new();
    r->nft_tally.api = "nft";
    r->rtnl_tally.api = "rtnl";
    r->ct_tally.api = "ct";
    r->ipvs_tally.api = "ipvs";
    r->ipvs.tally = &r->ipvs_tally;
    int code = open_nft(r, err);
    code = code == ERR_OK ? local_nl_open(&r->rtnl, NETLINK_ROUTE, &r->rtnl_tally, err) : code;
    code = code == ERR_OK ? local_nl_open(&r->ct, NETLINK_NETFILTER, &r->ct_tally, err) : code;
    if (code != ERR_OK) {
        real_free(&r->k);
        return code;
    }
    *ret = &r->k;
    return ERR_OK;
}
