/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_internal.h: what the kernel in memory holds; shared by its files (see
 * fake_kernel.h). */
#ifndef TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_INTERNAL_H
#define TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_INTERNAL_H

#include "common/base/map.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/fake_kernel_nft.h"

struct fake_route {
    struct local_route route;
    struct local_rt_args rt; /* protocol 0: others' */
};
struct fake_connection {
    struct local_frontend_id id;
    struct ip_addr target;
    uint16_t port;
    bool gone;
};
struct fake_kernel {
    struct local_kernel k; /* first: the handle that callers have */
    /* nftables: one table of ours, and the name of one that is not. */
    struct fake_nft *table;
    char *table_name, *foreign_table;
    struct fake_nft *left; /* the table of another instance */
    char *left_name;
    uint32_t generation;
    unsigned layout;    /* of the table; 0: ours */
    bool rules_changed; /* by others */
    /* How its rules were made. */
    bool closed_ports_drop;
    uint32_t mark_bit;
    struct local_rt_args routes_said;
    /* Links, addresses, routes. */
    struct local_link *links;
    size_t n_links;
    struct local_link_addr *addrs;
    size_t n_addrs;
    struct map *routes; /* "KIND ADDRESS" → struct fake_route */
    struct local_rt_args rt;
    uint8_t addrs_were; /* the number of our addresses before the last change of it */
    /* Neighbours, connections, sysctls. */
    struct map *neighbours;       /* address → MAC */
    struct map *probed;           /* address → "" */
    struct map *announced;        /* address → count */
    struct local_heard claims[8]; /* of other hosts, not heard yet */
    struct ip_addr asked;         /* for which a host asks; len 0: none does */
    unsigned n_answered;
    size_t n_claims;
    struct fake_connection *connections;
    size_t n_connections;
    struct map *sysctls; /* name → int64_t */
    /* Faults. */
    struct fake_kernel_plan plan;
    unsigned steps;
    void (*watch)(void *arg, struct local_kernel *k);
    void *watch_arg;
    uint64_t nft_requests, rtnl_requests, ct_requests;
    const char *kube_proxy; /* where its rules are; NULL: it is not here */
    struct fake_ipvs *ipvs;
    /* Changes by others, as watch() and heard() tell them. */
    bool watching, others;
    bool no_ctnetlink;
    unsigned settles;
    int settle_code;
    struct local_event *events;
    size_t n_events;
};
/* Notes a change by others, if there is one and the kernel is watched. */
void fake_kernel_tell(struct fake_kernel *f, enum local_event_kind kind,
                      const struct ip_addr *addr);
/* The functions of kernel.h of these names. */
int fake_watch(struct local_kernel *k, const char *instance, const struct local_kernel *own,
               struct err *err);
int fake_heard(struct local_kernel *k, void (*each)(void *arg, const struct local_event *e),
               void *arg, struct err *err);
int fake_neighbours(struct local_kernel *k, struct arena *a, struct local_neighbour **ret,
                    size_t *ret_n, struct err *err);
int fake_hear(struct local_kernel *k, const struct local_link *link, struct local_heard *ret,
              size_t max, size_t *ret_n, struct err *err);
int fake_respond(struct local_kernel *k, const struct local_link *link,
                 bool (*mine)(void *arg, const struct ip_addr *addr), void *arg, unsigned *ret_n,
                 struct err *err);
size_t fake_ears(const struct local_kernel *k, int *ret_fds, size_t max);
int fake_routes(struct local_kernel *k, struct arena *a, struct local_route **ret, size_t *ret_n,
                struct err *err);
int fake_routes_change(struct local_kernel *k, bool del, const struct local_route *items, size_t n,
                       int *ret_codes, struct err *err);
int fake_routes_adopt(struct local_kernel *k, const struct local_rt_args *old, struct err *err);
int fake_connections_delete(struct local_kernel *k, const struct local_connection *gone,
                            size_t n_gone, unsigned *ret_n, struct err *err);
unsigned fake_watch_fds(const struct local_kernel *k, int fds[LOCAL_WATCH_FDS]);

static inline struct fake_kernel *fake(const struct local_kernel *k)
{
    return (struct fake_kernel *)CONTAINER_OF(k, struct fake_kernel, k);
}

#endif
