/* SPDX-License-Identifier: Apache-2.0 */
/* rtnl_near.h: links and addresses as they were listed last, while the kernel tells of no change of
 * them.  Private to the room.
 *
 * A list of links costs the kernel time for each: a node with hundreds of pods has hundreds.  One
 * thread at a time, as for the socket that lists. */
#ifndef TRIMTAB_LOCAL_KERNEL_RTNL_NEAR_H
#define TRIMTAB_LOCAL_KERNEL_RTNL_NEAR_H

#include "common/base/arena.h"
#include "providers/local/kernel/real.h"
#include "providers/local/kernel/tally.h"

/* Zeroed at first. */
struct local_near {
    struct local_nl news; /* member of the groups of links and addresses */
    bool is_deaf;         /* the kernel does not tell: each question lists */
    struct arena *a;      /* of what is kept */
    struct local_link *links;
    size_t n_links;
    bool has_links;
    struct local_link_addr *addrs;
    size_t n_addrs;
    bool has_addrs;
    struct local_tally tally; /* no request is sent by `news` */
};
void local_near_done(struct local_near *near);
/* As local_rtnl_links() and local_rtnl_addrs(), which list over `nl` when something has changed. */
int local_near_links(struct local_near *near, struct local_nl *nl, struct arena *a,
                     struct local_link **ret, size_t *ret_n, struct err *err);
int local_near_addrs(struct local_near *near, struct local_nl *nl, uint8_t protocol,
                     struct arena *a, struct local_link_addr **ret, size_t *ret_n, struct err *err);

#endif
