/* SPDX-License-Identifier: Apache-2.0 */
/* deeds.h: what operations of a plan carry: the argument of each (lb_op.arg) and their types, which
 * run.c defines. */
#ifndef TRIMTAB_LOCAL_PLAN_DEEDS_H
#define TRIMTAB_LOCAL_PLAN_DEEDS_H

#include "common/lb/plan.h"
#include "providers/local/plan/state.h"

/* Makes the table; arg NULL. */
extern const struct lb_op_type local_table_type;
/* One or more changes of elements, done whole or not at all; arg local_nft_deed. */
extern const struct lb_op_type local_nft_type;
/* A route or an address comes or goes; arg local_hold_deed. */
extern const struct lb_op_type local_hold_type;
/* Neighbours get an announcement; arg local_announce_deed. */
extern const struct lb_op_type local_announce_type;
/* Connections to targets that are gone end; arg local_connections_deed. */
extern const struct lb_op_type local_connections_type;

/* A virtual service or a destination comes, changes or goes; arg struct local_ipvs_change. */
extern const struct lb_op_type local_ipvs_type;

struct local_nft_deed {
    const struct local_nft_change *changes;
    size_t n;
    /* Something that is looked up earlier takes the place of what goes: packets that were looked up
     * before it came are waited for first. */
    bool settles;
};
struct local_hold_deed {
    bool del;
    enum local_route_kind kind;
    struct ip_addr addr;
    int link; /* LOCAL_ROUTE_HOLD: not 0: an address on this link instead of a route */
};
struct local_announce_deed {
    struct ip_addr addr;
    const struct local_link *const *links;
    size_t n_links;
    bool probe; /* it was not held before: another host may have it */
};
struct local_connections_deed {
    struct local_frontend_id id;
    const struct local_dest *gone;
    size_t n_gone;
    bool all; /* the port is gone: with others that it had before, too */
};

#endif
