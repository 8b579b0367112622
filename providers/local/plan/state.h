/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: what the kernel has, or is to have, for one Service.  Pure. */
#ifndef TRIMTAB_LOCAL_PLAN_STATE_H
#define TRIMTAB_LOCAL_PLAN_STATE_H

#include "providers/local/kernel/kernel.h"
#include "providers/local/plan/ipvs_state.h"
#include "providers/local/targets/targets.h"

#define LOCAL_TCP 6 /* IANA protocol numbers */
#define LOCAL_UDP 17

/* One frontend, by slots of nftables or as a virtual service of IPVS.  Without a target
 * no client may come. */
struct local_front {
    struct local_frontend_id id;
    bool hash;                /* slots by the client's address, else one after the other */
    uint16_t m;               /* 4, 16, 64, 256; 0: no slots */
    struct local_dest *slots; /* m of them; addr.len 0: that one is missing */
    bool other_hash;          /* the same in another map, while it moves; never wanted */
    uint16_t other_m;
    struct local_dest *other_slots;
    bool all;            /* all clients may come */
    struct ip_net *open; /* else who may come, sorted */
    size_t n_open;
    struct ip_net *also; /* the same, while `open` changes; never wanted */
    size_t n_also;
    bool snat;
    struct local_ipvs_front ipvs;
};
/* One address. */
struct local_vip {
    struct ip_addr addr;
    bool guarded;
    const char *comment; /* of the guard's element */
    bool held;           /* by a route, or by an address on a link */
    int held_on;         /* that link; 0: a route */
    bool twice;     /* … and in another way, since a move did not come to its end; never wanted */
    int also_on;    /* likewise */
    bool exported;  /* to routing daemons */
    bool announced; /* to neighbours, by ARP or NDP: wanted, or known to have been done */
};

/* <0, 0, >0: by prefix and address. */
int local_net_cmp(const struct ip_net *a, const struct ip_net *b);
/* The same slots, in the same map and in no other. */
bool local_front_same_slots(const struct local_front *a, const struct local_front *b);
/* Some client may come. */
bool local_front_is_open(const struct local_front *f);
bool local_front_same_open(const struct local_front *a, const struct local_front *b);

#endif
