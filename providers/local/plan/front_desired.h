/* SPDX-License-Identifier: Apache-2.0 */
/* front_desired.h: the frontends that a Service is to have, from what it asks for and who its
 * targets are.  Pure. */
#ifndef TRIMTAB_LOCAL_PLAN_FRONT_DESIRED_H
#define TRIMTAB_LOCAL_PLAN_FRONT_DESIRED_H

#include "providers/local/plan/state.h"

struct local_front_args;
struct local_wanted;
/* Takes weight from targets of w->fronts[i] that are not well, before slots are made of them. */
struct local_weigher {
    void (*weigh)(void *arg, struct arena *a, const struct local_front_args *x,
                  struct local_wanted *w, size_t i);
    void *arg;
};
struct local_front_args {
    const struct local_config *config;
    /* NULL: the address is in none any more; served as the director's part says */
    const struct local_pool *pool;
    const struct local_wish *wish;
    const struct tt_service *service;
    struct ip_addr vip;
    const struct tt_node *const *nodes;
    size_t n_nodes;
    const struct tt_slice *const *slices;
    size_t n_slices;
    bool has_slices;
    const char *zone;
    /* what stands at this address, so that slots move as little as can be */
    const struct local_front *have;
    size_t n_have;
    bool served; /* the Service has served before, at this address or another one */
    const struct local_link_addr *addrs; /* of this director */
    size_t n_addrs;
    const struct local_weigher *weigher; /* NULL: all targets are well */
};
struct local_wanted {
    struct local_front *fronts;       /* in the order of spec.ports */
    struct local_target_set *targets; /* of each */
    struct local_target_set *base;    /* the same before the weigher, if there is one */
    size_t n;
    struct local_serve serve;
    bool some_open;        /* at least one of them lets clients through to a target */
    size_t n_far;          /* targets that ipvs-dr cannot reach: the last of targets[0].left_out */
    struct ip_net *ranges; /* who may come where there is a target */
    size_t n_ranges;
    size_t n_ranges_left; /* ranges of other families, which open nothing here */
    size_t n_ejected;     /* targets without weight because a check fails */
    bool failed_open;     /* of some port all targets fail, and keep their weight */
};

/* ERR_INVALID: what does not go together, a range that is none, a protocol that is not served. */
int local_fronts_desired(struct arena *a, const struct local_front_args *args,
                         struct local_wanted *ret, struct err *err) _warn_unused_;

/* For a Service that is refused: the frontends of args->have as they stand, with the targets of
 * now; args->wish is not read. */
void local_fronts_kept(struct arena *a, const struct local_front_args *args,
                       struct local_wanted *ret);

/* AF_INET or AF_INET6. */
int local_family_of(const struct ip_addr *vip);
/* Arguments for the targets of `port`, without the slots that stand (`served`, `slots`). */
struct local_target_args local_front_target_args(const struct local_front_args *x,
                                                 const struct local_serve *serve,
                                                 const struct tt_port *port);
/* Notes w->targets[i] as w->base[i], and lets the weigher, if there is one, take weights. */
void local_front_weigh(struct arena *a, const struct local_front_args *x, struct local_wanted *w,
                       size_t i);
/* By what a frontend is served. */
struct local_front_serving {
    const struct local_config *config;
    const struct local_serve *serve;
    const struct local_front *have; /* what stands, or NULL */
};
/* Gives f, which has its id, slots or destinations by the weights of its targets.  When none has
 * weight, the sorry server becomes one of them, if there is one of the family and the mode
 * lets it answer. */
void local_front_serve(struct arena *a, const struct local_front_serving *by,
                       struct local_target_set *t, struct local_front *f);
/* From now on these ranges may come; none: no client. */
void local_front_let_in(struct local_front *f, struct ip_net *ranges, size_t n);
/* A target gets new connections. */
bool local_front_has_target(const struct local_front *f);
bool local_front_sorry_has_slot(const struct local_front *f, const struct local_serve *serve);

#endif
