/* SPDX-License-Identifier: Apache-2.0 */
/* real.h: the handle of the real kernel, and what the files of the room do for the table of
 * functions in open.c. */
#ifndef TRIMTAB_LOCAL_KERNEL_REAL_H
#define TRIMTAB_LOCAL_KERNEL_REAL_H

#include "providers/local/kernel/kernel.h"
#include "providers/local/kernel/netlink.h"

/* --- links, addresses, routes (rtnl.c) -------------------------------------------------------- */

int local_rtnl_links(struct local_nl *nl, struct arena *a, struct local_link **ret, size_t *ret_n,
                     struct err *err);
/* `protocol` is that of ours. */
int local_rtnl_addrs(struct local_nl *nl, uint8_t protocol, struct arena *a,
                     struct local_link_addr **ret, size_t *ret_n, struct err *err);
struct local_rtnl_addr {
    bool del;
    int link;
    struct ip_addr addr;
    int64_t valid_ms; /* -1: forever */
    uint8_t protocol;
};
int local_rtnl_addr_change(struct local_nl *nl, const struct local_rtnl_addr *c, struct err *err);
int local_rtnl_addrs_change(struct local_nl *nl, const struct local_held_addr *items, size_t n,
                            const struct local_rtnl_addr *how, int *codes, struct err *err);
int local_rtnl_routes(struct local_nl *nl, const struct local_rt_args *rt, struct arena *a,
                      struct local_route **ret, size_t *ret_n, struct err *err);
int local_rtnl_neighbours(struct local_nl *nl, struct arena *a, struct local_neighbour **ret,
                          size_t *ret_n, struct err *err);
struct local_rtnl_change {
    const struct local_rt_args *rt;
    bool del;
    bool replace; /* an add takes the place of what is there, whosever it is */
    const struct local_route *routes;
    size_t n;
    int *codes;
};
int local_rtnl_routes_change(struct local_nl *nl, const struct local_rtnl_change *c,
                             struct err *err);
int local_rtnl_adopt(struct local_nl *nl, const struct local_rt_args *old,
                     const struct local_rt_args *now, struct err *err);

/* --- ARP and NDP (announce.c) ----------------------------------------------------------------- */

struct local_announcer;
struct local_announcer *local_announcer_new(void);
void local_announcer_free(struct local_announcer *a);
int local_announcer_send(struct local_announcer *a, const struct local_link *link,
                         const struct ip_addr *addrs, size_t n, struct err *err);
int local_announcer_probe(struct local_announcer *a, const struct local_link *link,
                          const struct ip_addr *addr, struct err *err);
int local_announcer_answer(struct local_announcer *a, const struct local_link *link,
                           const struct ip_addr *addr, struct local_probe_answer *ret,
                           struct err *err);
int local_announcer_hear(struct local_announcer *a, const struct local_link *link,
                         struct local_heard *ret, size_t max, size_t *ret_n, struct err *err);
int local_announcer_respond(struct local_announcer *a, const struct local_link *link,
                            bool (*mine)(void *arg, const struct ip_addr *addr), void *arg,
                            unsigned *ret_n, struct err *err);
size_t local_announcer_ears(const struct local_announcer *a, int *ret_fds, size_t max);

/* --- IPVS (ipvs.c) ---------------------------------------------------------------------------- */

/* A socket of generic netlink, opened when IPVS is first asked for. */
struct local_ipvs {
    struct local_nl nl;
    struct local_tally *tally; /* borrowed */
    uint16_t family;           /* 0: not resolved */
};
void local_ipvs_close(struct local_ipvs *x);
int local_ipvs_look(struct local_ipvs *x, struct err *err);
int local_ipvs_services(struct local_ipvs *x, struct arena *a, struct local_ipvs_service **ret,
                        size_t *ret_n, struct err *err);
int local_ipvs_traffic(struct local_ipvs *x, struct arena *a, struct local_ipvs_traffic **ret,
                       size_t *ret_n, struct err *err);
int local_ipvs_read(struct local_ipvs *x, struct arena *a, struct local_ipvs_list *ret,
                    struct err *err);
int local_ipvs_changes(struct local_ipvs *x, const struct local_ipvs_change *changes, size_t n,
                       int *ret_codes, struct err *err);

/* --- what others do (watch.c) ----------------------------------------------------------------- */

#define LOCAL_WATCH_OWN 4 /* sockets of this process that write */
struct local_watch_args {
    const char *instance;
    const struct local_rt_args *rt;
    const struct local_nl *own[LOCAL_WATCH_OWN]; /* or NULL */
};
struct local_watch;
int local_watch_new(const struct local_watch_args *args, struct local_watch **ret, struct err *err);
void local_watch_free(struct local_watch *w);
int local_watch_hear(struct local_watch *w, void (*each)(void *arg, const struct local_event *e),
                     void *arg, struct err *err);
unsigned local_watch_fds(const struct local_watch *w, int fds[LOCAL_WATCH_FDS]);

/* Begins a message of the family, for ipvs_sync.c. */
int local_ipvs_begin(struct local_ipvs *x, struct local_nl_buf *b, uint8_t command, uint16_t flags,
                     struct nlmsghdr **ret, struct err *err);
int local_ipvs_daemons(struct local_ipvs *x, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                       size_t *ret_n, struct err *err);
int local_ipvs_daemon_change(struct local_ipvs *x, bool stop, const struct local_ipvs_daemon *d,
                             struct err *err);

/* --- packets under way (settle.c) ------------------------------------------------------------- */

struct local_settler;
struct local_settler *local_settler_new(void);
void local_settler_free(struct local_settler *s);
int local_settle(struct local_settler *s, struct err *err);

/* --- connections, sysctls --------------------------------------------------------------------- */

int local_ct_delete(struct local_nl *nl, const struct local_connection *gone, size_t n,
                    unsigned *ret_n, struct err *err);
int local_sysctl_read(const char *name, int64_t *ret, struct err *err);
int local_sysctl_write(const char *name, int64_t value, struct err *err);

#endif
