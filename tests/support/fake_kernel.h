/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel.h: the functions of providers/local/kernel/kernel.h over a kernel in memory, as
 * strict as the real one.
 *
 * tests/local replays the same commands in both and compares.  Each call of a function that reaches
 * a kernel is a step; a test can refuse step n, do it and lose its answer, or be called around it
 * (to end the process there, as kill -9 does).  Not thread-safe. */
#ifndef TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_H
#define TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_H

#include "providers/local/kernel/kernel.h"

/* A kernel with the links lo (1) and eth0 (2), no table, no routes, and sysctls that forward.  End
 * with k->ops->free(). */
struct local_kernel *fake_kernel_new(const struct local_rt_args *args);

/* --- faults ----------------------------------------------------------------------------------- */

enum fake_kernel_fault {
    FAKE_KERNEL_WELL = 0,
    FAKE_KERNEL_REFUSE, /* nothing is done; the call fails with `code` */
    FAKE_KERNEL_LOSE,   /* it is done; the call fails as if its answer were lost (ENOBUFS) */
    /* the whole call is done, and the answers to all requests of it are lost */
    FAKE_KERNEL_OVERRUN,
    FAKE_KERNEL_DIE_BEFORE, /* `die` is called before anything is done */
    /* from that step on nothing is done, all calls fail with `code`: a process that
     * is killed there */
    FAKE_KERNEL_GONE,
    /* `die` is called when it is done; the caller never sees the result if that does not return */
    FAKE_KERNEL_DIE_AFTER,
};
struct fake_kernel_plan {
    enum fake_kernel_fault fault;
    unsigned step; /* from 1, counted from this call on */
    int code;      /* of REFUSE: an enum err_code */
    void (*die)(void *arg);
    void *arg;
};
void fake_kernel_plan(struct local_kernel *k, const struct fake_kernel_plan *plan);
/* Steps since the start or the last plan. */
unsigned fake_kernel_steps(const struct local_kernel *k);
/* Calls `each` before and after every step: for invariants. */
void fake_kernel_watch(struct local_kernel *k, void (*each)(void *arg, struct local_kernel *k),
                       void *arg);

/* --- others ----------------------------------------------------------------------------------- */

/* Between true and false it is others who call the functions of kernel.h: the kernel tells of their
 * changes, as of those of the functions below. */
void fake_kernel_others(struct local_kernel *k, bool yes);
/* Another version of trimtab made the table; others change its rules. */
void fake_kernel_layout(struct local_kernel *k, unsigned layout);
void fake_kernel_change_rules(struct local_kernel *k);
/* The kernel could not tell all. */
void fake_kernel_lose_events(struct local_kernel *k);
/* A route that is not ours goes. */
void fake_kernel_foreign_route_gone(struct local_kernel *k, const struct local_route *route);

/* --- the world around ------------------------------------------------------------------------- */

void fake_kernel_link(
    struct local_kernel *k,
    const struct local_link *link); /* adds, or changes the one of this index; copied */
/* The next process has other numbers for its routes and addresses. */
void fake_kernel_numbers(struct local_kernel *k, const struct local_rt_args *rt);
/* A table of the same name that others made. */
void fake_kernel_foreign_table(struct local_kernel *k, const char *name);
/* A route for the address that is not ours. */
void fake_kernel_foreign_route(struct local_kernel *k, const struct local_route *route);
/* A neighbour with this MAC has the address, and answers probes for it; NULL: none has. */
void fake_kernel_neighbour(struct local_kernel *k, const struct ip_addr *addr,
                           const uint8_t mac[6]);
/* A frame of another host that claims the address. */
void fake_kernel_claim(struct local_kernel *k, const struct ip_addr *addr, const uint8_t mac[6]);
/* A host asks where the address is; its requests that were answered so far. */
void fake_kernel_ask(struct local_kernel *k, const struct ip_addr *addr);
unsigned fake_kernel_answered(const struct local_kernel *k);
/* An entry of connection tracking. */
void fake_kernel_connection(struct local_kernel *k, const struct local_frontend_id *id,
                            const struct ip_addr *target, uint16_t target_port);
/* Whether the kernel has IPVS (as it does from the start), and whether this scheduler. */
void fake_kernel_no_ctnetlink(struct local_kernel *k, bool yes); /* it ends no connections */
void fake_kernel_no_ipvs(struct local_kernel *k, int code); /* of an enum err_code: INVALID, AUTH */
void fake_kernel_no_scheduler(struct local_kernel *k, const char *name);
/* kube-proxy runs on this machine, and these are its rules ("table ip kube-proxy"); NULL:
 * it does not. */
void fake_kernel_kube_proxy(struct local_kernel *k, const char *rules);
/* Another program changes IPVS; a change that the kernel refuses ends the test. */
void fake_kernel_foreign_ipvs(struct local_kernel *k, const struct local_ipvs_change *c);
/* Connections that a destination has now. */
/* How often packets under way were waited for since the last call; and what that says from now on
 * (an enum err_code). */
unsigned fake_kernel_settles(struct local_kernel *k, int code);
void fake_kernel_active(struct local_kernel *k, const struct local_frontend_id *id,
                        const struct ip_addr *dest, uint32_t n);
/* IPVS has counted so much for the virtual service. */
void fake_kernel_traffic(struct local_kernel *k, const struct local_ipvs_traffic *t);
/* All of IPVS without a step: for invariants. */
void fake_kernel_virtual(const struct local_kernel *k,
                         void (*each)(void *arg, const struct local_ipvs_list *l), void *arg);
/* All of IPVS as `ipvsadm -Sn` prints it, sorted; in `a`. */
const char *fake_kernel_ipvsadm(const struct local_kernel *k, struct arena *a);
void fake_kernel_sysctl(struct local_kernel *k, const char *name, int64_t value);
/* Time goes by: lifetimes of addresses end. */
void fake_kernel_pass(struct local_kernel *k, int64_t ms);
/* An address of this machine itself, which is not ours; `net` keeps its host bits. */
void fake_kernel_own_address(struct local_kernel *k, int link, const struct ip_net *net);
/* All elements, and the addresses that are held or exported, without a step: for invariants. */
void fake_kernel_elements(const struct local_kernel *k,
                          void (*each)(void *arg, const struct local_nft_element *e), void *arg);
void fake_kernel_holds(const struct local_kernel *k,
                       void (*each)(void *arg, const struct ip_addr *addr,
                                    enum local_route_kind kind, int link),
                       void *arg);
/* How often the address was announced on any link. */
unsigned fake_kernel_announced(const struct local_kernel *k, const struct ip_addr *addr);

#endif
