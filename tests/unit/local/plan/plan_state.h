/* SPDX-License-Identifier: Apache-2.0 */
/* plan_state.h: what the kernel has, or is to have, as a text.
 *
 * A state: Services parted by "; ", each "KEY ADDRESS words ADDRESS words…".  Words of an address:
 * guard (by=KEY: its comment), held, link (held by an address of eth0), ann, exp, other=KEY, lives;
 * and frontends "80/tcp=AABB<0.0.0.0/0^": four slots, letters are targets 10.1.0.LETTER:30080, "~"
 * before them: by the client's address, "^": snat; "=AABB|~AB": in two maps; "<<": a range that
 * stands in. */
#ifndef TRIMTAB_TESTS_UNIT_LOCAL_PLAN_STATE_H
#define TRIMTAB_TESTS_UNIT_LOCAL_PLAN_STATE_H

#include "providers/local/plan/mirror.h"
#include "providers/local/plan/service_plan.h"

#define MOST 8 /* Services, addresses of each, frontends of each */

struct state {
    size_t n;
    struct one {
        const char *key;
        struct local_vip vips[MOST];
        const char *other[MOST];
        bool lives[MOST];
        size_t n_vips;
        struct local_front fronts[MOST];
        size_t n_fronts;
    } items[MOST];
};

void plan_state_read(struct arena *a, const char *text, struct state *st);
/* The mirror shows it. */
void plan_state_put(struct local_mirror *m, const struct state *st);

#endif
