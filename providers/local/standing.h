/* SPDX-License-Identifier: Apache-2.0 */
/* standing.h: what the last sync of each Service wanted, and how the director's thread makes it so
 * again between two syncs.
 *
 * health.c keeps it and changes weights; watch.c looks whether others changed something.  All of it
 * by the provider's lock. */
#ifndef TRIMTAB_LOCAL_STANDING_H
#define TRIMTAB_LOCAL_STANDING_H

#include "providers/local/provider.h"

/* One frontend of a Service as the last sync wanted it, all targets well. */
struct served_front {
    struct local_front front; /* without slots */
    const struct local_serve *serve;
    struct local_target_set targets;
    struct director_check **checks; /* of each target; NULL: it is not checked */
};
struct served_kept; /* the same, packed (served.c) */
/* Opened: good for as long as the arena, and until the Service is kept anew. */
struct served {
    const char *key; /* of the Service */
    struct served_front *fronts;
    size_t n;
    struct local_vip *vips; /* its addresses, as they are wanted */
    size_t n_vips;
    bool settled;     /* that sync went well: what is missing is others' doing */
    size_t n_ejected; /* as its owner knows it */
    bool failed_open, closed;
    bool told; /* that sync told the owner of it: another is needed when it is otherwise */
    struct served_kept *kept;
};

bool local_served_has(const struct local_provider *p, const char *key);
bool local_served_is_settled(const struct served_kept *k);
/* Of the Service: something is kept, and it is settled; it is to have the frontend.  Neither
 * opens what is kept. */
bool local_served_is_settled_of(const struct local_provider *p, const char *key);
bool local_served_has_front(const struct local_provider *p, const char *key,
                            const struct local_frontend_id *id);
/* It is to have the address. */
bool local_served_is_at(const struct served_kept *k, const struct ip_addr *addr);
struct served *local_served_open(struct arena *a, struct served_kept *k);
/* NULL: nothing is kept of the Service. */
struct served *local_served_get(const struct local_provider *p, struct arena *a, const char *key);
/* Keeps it in place of what was kept of the Service. */
void local_served_put(struct local_provider *p, struct arena *a, const struct served *v);
/* Its three members about health, and whether it is settled, are others now. */
void local_served_note(const struct served *v);
void local_served_settle(struct local_provider *p, const char *key);
void local_served_drop(struct local_provider *p, const char *key);
/* In the order of their keys, until fn returns false.  fn may not keep or drop one. */
void local_served_each(struct local_provider *p,
                       bool (*fn)(struct local_provider *p, struct served_kept *k, void *arg),
                       void *arg);
/* The same in no order, for figures: sorting tens of thousands takes longer than counting them. */
void local_served_any(struct local_provider *p,
                      bool (*fn)(struct local_provider *p, struct served_kept *k, void *arg),
                      void *arg);
/* Heap array of the keys, sorted; each is dropped by the caller. */
const struct interned **local_served_keys(struct local_provider *p, size_t *ret_n);

/* Does the Service lose or get targets, seen from the frontends that are `wanted`? */
struct standing_change {
    struct served *of;
    struct local_front *have; /* of each wanted frontend, then others */
    size_t n_have;
    struct local_front *want;
    struct local_target_set *targets;
    size_t n_ejected;
    bool failed_open, closed;
    int64_t drains_ms; /* when destinations of IPVS that drain may be deleted; 0: none do */
};
struct local_target_set local_standing_targets(struct arena *a, const struct local_target_set *t);
/* The frontend of that id; NULL: none. */
const struct local_front *local_standing_front(const struct local_front *fronts, size_t n,
                                               const struct local_frontend_id *id);
/* With a sorry server that one answers in place of targets that are not well. */
bool local_standing_fails_open(const struct local_serve *serve);
/* Others may have written since the last look at the kernel: what they may have changed is doubtful
 * then.  ERR_CONFLICT: the table is gone. */
int local_standing_look(struct local_provider *p, struct err *err);
/* Reads anew what the kernel has at the Service's addresses: what is doubtful, or all; destinations
 * of IPVS always. */
int local_standing_read(struct local_provider *p, struct arena *a, const struct served *v, bool all,
                        struct err *err);
/* The same of IPVS alone. */
int local_standing_read_ipvs(struct local_provider *p, struct arena *a, const struct served *v,
                             struct err *err);
/* Fills in the frontends that the mirror has of the Service, and those that it is to have by the
 * health of its targets. */
void local_standing_compare(struct local_provider *p, struct arena *a, struct standing_change *c);
struct local_service_state local_standing_state(const struct standing_change *c);
/* Carries the plan out.  `go_on`: one refusal does not hold up the rest.  False: something was
 * refused; *err has the first. */
bool local_standing_run(struct local_provider *p, struct arena *a, const struct lb_plan *plan,
                        bool go_on, struct err *err);

#endif
