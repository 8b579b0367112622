/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_state.h: a frontend as a virtual service of IPVS and its destinations: what is wanted, and
 * what of it stands.  Pure. */
#ifndef TRIMTAB_LOCAL_PLAN_IPVS_STATE_H
#define TRIMTAB_LOCAL_PLAN_IPVS_STATE_H

#include "providers/local/kernel/kernel.h"

/* A destination that is deleted has had weight 0 for that long at least: a connection in its
 * handshake counts as inactive, and a repeated SYN comes within that time. */
#define LOCAL_IPVS_QUIET_MS 3000

struct local_ipvs_real {
    struct local_ipvs_dest dest;
    /* of one that stands with weight 0: since when this process knows that; the provider's clock */
    int64_t quiet_ms;
    const char *why; /* of one that is wanted: ends "because …" */
};
struct local_ipvs_front {
    bool served;
    struct local_ipvs_service service; /* its id is that of the frontend */
    struct local_ipvs_real *reals;     /* sorted by address and port */
    size_t n_reals;
};

/* <0, 0, >0: by address and port. */
int local_ipvs_dest_cmp(const struct local_ipvs_dest *a, const struct local_ipvs_dest *b);
/* NULL if there is none of this address and port. */
const struct local_ipvs_real *local_ipvs_find(const struct local_ipvs_front *f,
                                              const struct local_ipvs_dest *d);
/* The same scheduler, flags and time. */
bool local_ipvs_same_service(const struct local_ipvs_service *a,
                             const struct local_ipvs_service *b);
/* The same way to forward, whatever the weights. */
bool local_ipvs_same_way(const struct local_ipvs_dest *a, const struct local_ipvs_dest *b);
/* Some destination has weight. */
bool local_ipvs_some_weight(const struct local_ipvs_front *f);

/* The desired state of one frontend in an ipvs mode; empty for another mode. */
struct local_ipvs_wish {
    const struct local_config *config;
    const struct local_serve *serve;
    const struct local_target_set *targets;
    struct local_frontend_id id;
    const struct local_ipvs_front *have; /* what stands there, or NULL */
};
void local_ipvs_wanted(struct arena *a, const struct local_ipvs_wish *w,
                       struct local_ipvs_front *ret);
/* Leaves out of the targets those that are on no network of this director: ipvs-dr changes nothing
 * but the address of the frame.  Returns how many: they are the last ones of t->left_out. */
size_t local_ipvs_keep_near(struct arena *a, struct local_target_set *t,
                            const struct local_link_addr *addrs, size_t n_addrs);

/* Changes of scope4/6 that make it contain all pools and these addresses: networks that lie in a
 * new one go in the same transaction. */
struct local_ipvs_scope {
    const struct local_config *config;
    const struct ip_addr *vips; /* beside the pools */
    size_t n_vips;
    const struct ip_net *have;
    size_t n_have;
};
void local_ipvs_scope_changes(struct arena *a, const struct local_ipvs_scope *s,
                              struct local_nft_change **ret, size_t *ret_n);

#endif
