/* SPDX-License-Identifier: Apache-2.0 */
/* mirror_fronts.h: the frontends of one address, packed: what mirror.c keeps of each of tens of
 * thousands.
 *
 * A head of 16 bytes for each frontend, 7 for each slot and 5 for each source range
 * of IPv4. Pure. */
#ifndef TRIMTAB_LOCAL_PLAN_MIRROR_FRONTS_H
#define TRIMTAB_LOCAL_PLAN_MIRROR_FRONTS_H

#include "providers/local/plan/state.h"

struct mirror_fronts {
    unsigned char *bytes; /* of keep.h; n frontends, one behind the other */
    uint32_t size;
    uint16_t n;
    uint8_t len; /* of the address, and so of targets and source ranges: 4 or 16 */
};

void mirror_fronts_done(struct mirror_fronts *x);
/* The kernel has the element (of a frontend) now, or has it no more. */
void mirror_fronts_element(struct mirror_fronts *x, const struct local_nft_element *e, bool gone);
/* IPVS' state of the frontend, for a change in place; made if it is not there.  Until the next call
 * of another function. */
struct local_ipvs_front *mirror_fronts_ipvs(struct mirror_fronts *x,
                                            const struct local_frontend_id *id);
/* After that: forgets the frontend if nothing of it is left. */
void mirror_fronts_ipvs_end(struct mirror_fronts *x, const struct local_frontend_id *id);
/* Slots, source ranges and marks of all of them are not known any more; what IPVS has stays. */
void mirror_fronts_forget(struct mirror_fronts *x);
/* Copies in the arena. */
struct local_front *mirror_fronts_open(const struct mirror_fronts *x, struct arena *a,
                                       const struct ip_addr *vip);
/* Of one frontend; when it is not there, its id alone. */
struct local_front mirror_fronts_open_one(const struct mirror_fronts *x, struct arena *a,
                                          const struct local_frontend_id *id);

#endif
