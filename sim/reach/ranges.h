/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h: sets of client addresses, with the algebra that rules ask for.
 *
 * "Allow 10.0.0.0/8, but deny 10.1.0.0/16 before it" is reach_ranges_minus().  A set is a value:
 * sorted, disjoint ranges in an arena, IPv4 before IPv6, never changed once made.  Pure. */
#ifndef TRIMTAB_SIM_REACH_RANGES_H
#define TRIMTAB_SIM_REACH_RANGES_H

#include "common/base/arena.h"
#include "common/base/ip.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>

/* From first to last, both in it; of one family. */
struct reach_range {
    struct ip_addr first, last;
};
struct reach_ranges {
    const struct reach_range *at; /* NULL if n is 0 */
    size_t n;
};

/* No client. */
#define REACH_NOBODY ((struct reach_ranges){0})

/* Every address of the families that are asked for. */
struct reach_ranges reach_ranges_all(struct arena *a, bool ipv4, bool ipv6);
/* A network ("10.0.0.0/8") or one address ("10.0.0.1").  No client if the text is neither, or
 * NULL. */
struct reach_ranges reach_ranges_of(struct arena *a, const char *text);
/* The union of an array of such texts; empty if it is NULL. */
struct reach_ranges reach_ranges_of_list(struct arena *a, struct json_object *texts);
struct reach_ranges reach_ranges_or(struct arena *a, struct reach_ranges x, struct reach_ranges y);
struct reach_ranges reach_ranges_and(struct arena *a, struct reach_ranges x, struct reach_ranges y);
/* Those of x that are not in y. */
struct reach_ranges reach_ranges_minus(struct arena *a, struct reach_ranges x,
                                       struct reach_ranges y);
/* Those of x that have this family. */
struct reach_ranges reach_ranges_family(struct arena *a, struct reach_ranges x, bool ipv6);
bool reach_ranges_empty(struct reach_ranges x);
bool reach_ranges_equal(struct reach_ranges x, struct reach_ranges y);
/* Is every address of x in y? */
bool reach_ranges_within(struct arena *a, struct reach_ranges x, struct reach_ranges y);
/* The fewest networks that are the same set, sorted: ["10.0.0.0/8"]; a new reference. */
struct json_object *reach_ranges_json(struct reach_ranges x);

#endif
