/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.h: what the kernel has of ours, as this process wrote, read or adopted it.
 *
 * By address: its guard, its hold, its frontends.  "Nothing to do" comes from here; before a change
 * the kernel is asked whether another program wrote in between (its generation).  Pure, one thread
 * at a time.  Memory: about 80 bytes for each address, and what mirror_fronts.h says
 * for its frontends. */
#ifndef TRIMTAB_LOCAL_PLAN_MIRROR_H
#define TRIMTAB_LOCAL_PLAN_MIRROR_H

#include "common/base/intern.h"
#include "providers/local/plan/state.h"

struct local_mirror;
/* Of one address: a copy in an arena. */
struct local_mirror_vip {
    struct local_vip vip; /* its comment lives until the next change */
    struct local_front *fronts;
    size_t n_fronts;
};

/* Comments are strings of `texts`, which outlives it; NULL: of a table of its own. */
struct local_mirror *local_mirror_new(struct intern_table *texts);
void local_mirror_free(struct local_mirror *m);
/* Forgets everything but what was announced. */
void local_mirror_clear(struct local_mirror *m);
/* Another program wrote: everything is doubtful until it is read again (local_mirror_clear,
 * local_mirror_forget). */
void local_mirror_doubt(struct local_mirror *m);
/* All elements of the table are read again now; holds, IPVS and what was announced stay known. */
void local_mirror_forget_table(struct local_mirror *m);
/* Routes and addresses of ours are read again now, all of them. */
void local_mirror_forget_holds(struct local_mirror *m);
/* Has another program written since the address was read, or since all was read when nothing
 * is known of it? */
bool local_mirror_is_doubtful(const struct local_mirror *m, const struct ip_addr *addr);
/* Its guard and its frontends are read again now; whether it is held and announced stays known. */
void local_mirror_forget(struct local_mirror *m, const struct ip_addr *addr);
/* The kernel has the element now, or has it no more. */
void local_mirror_element(struct local_mirror *m, const struct local_nft_element *e, bool gone);
/* The kernel has the virtual service like this, or has none; `now_ms` is when that was seen. */
void local_mirror_ipvs(struct local_mirror *m, const struct local_ipvs_list *l, int64_t now_ms);
/* The kernel has this virtual service; what is known of its destinations stays known. */
void local_mirror_ipvs_there(struct local_mirror *m, const struct local_ipvs_service *service);
/* The kernel has made this change. */
void local_mirror_ipvs_change(struct local_mirror *m, const struct local_ipvs_change *c,
                              int64_t now_ms);
/* The address is held (by a route: `link` 0) or exported now, or is not any more.  It may be held
 * in two ways. */
void local_mirror_hold(struct local_mirror *m, const struct ip_addr *addr,
                       enum local_route_kind kind, int link, bool gone);
void local_mirror_announced(struct local_mirror *m, const struct ip_addr *addr, bool yes);
/* All elements of the table that the mirror knows, as adds. */
void local_mirror_elements(const struct local_mirror *m, struct arena *a,
                           struct local_nft_change **ret, size_t *ret_n);
/* NULL: nothing of this address is there. */
const struct local_mirror_vip *local_mirror_vip(const struct local_mirror *m, struct arena *a,
                                                const struct ip_addr *addr);
/* One frontend of it: an address may have hundreds, each with hundreds of slots.  When it is not
 * there, its id alone. */
struct local_front local_mirror_front(const struct local_mirror *m, struct arena *a,
                                      const struct local_frontend_id *id);
/* Of the guard's element, until the next change; NULL if there is none. */
const char *local_mirror_comment(const struct local_mirror *m, const struct ip_addr *addr);
/* Calls `each` for every address, in their order; a copy lives during the call. */
void local_mirror_each(const struct local_mirror *m,
                       void (*each)(void *arg, const struct local_mirror_vip *v), void *arg);
/* All addresses without their frontends, in no order: for figures. */
void local_mirror_any(const struct local_mirror *m,
                      void (*each)(void *arg, const struct local_vip *v), void *arg);
/* Those whose guard has this comment, by address; NULL: those without a comment.  Costs
 * nothing for the others. */
void local_mirror_each_named(const struct local_mirror *m, const char *comment,
                             void (*each)(void *arg, const struct local_mirror_vip *v), void *arg);
/* A copy in the arena, so that the mirror may change meanwhile. */
bool local_mirror_is_held(const struct local_mirror *m, const struct ip_addr *addr);
struct local_front local_front_copy(struct arena *a, const struct local_front *f);
/* In the scope (sets scope4/6)? */
bool local_mirror_has_scope(const struct local_mirror *m, const struct ip_net *net);
/* All of it, in no order; valid until the next change. */
const struct ip_net *local_mirror_scope(const struct local_mirror *m, size_t *ret_n);

#endif
