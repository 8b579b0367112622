/* SPDX-License-Identifier: Apache-2.0 */
/* gce_rows.h: rows of tests of Google's reach: a small world, what is other in it, and the lines
 * that follow.
 *
 * The world has node-0, node-1 (tag "node", both families) and node-2 (no tag, in no group) in
 * zones r-a, r-b and r-c, the pool "web", the backend services "groups", "endpoints" (external) and
 * "internal", all with node-0 and node-1 behind them and checks of port 10256, firewall rules
 * "web", "web6" and "inside" for TCP 80 at one address each, and "probes", "probes6".  A row
 * chooses one rule, "web", and changes what it likes. */
#ifndef TRIMTAB_TESTS_UNIT_SIM_REACH_GCE_ROWS_H
#define TRIMTAB_TESTS_UNIT_SIM_REACH_GCE_ROWS_H

#include "tests/unit/sim/reach/reach_test.h"

enum gce_base {
    GCE_NONE = 0, /* no rule */
    GCE_POOL,     /* 203.0.113.1 TCP 80 → target pool */
    GCE_GROUPS,   /* the same → backend service of instance groups */
    GCE_NEGS,     /* the same → backend service of NEGs */
    GCE_GROUPS6,  /* 2001:db8::1 TCP 80 → backend service of instance groups */
    GCE_INSIDE,   /* 10.0.0.9 TCP 80 → internal backend service of instance groups */
    GCE_INSIDE6,  /* fd00::9 TCP 80 → the same */
};

struct gce_row {
    const char *name;
    enum gce_base base;
    /* Merged into the world, with ' for ": {'global/firewalls/web': {'priority': 5}}.  A null takes
     * a resource, or a member of it, away.  Paths and links begin behind "projects/p/"; "members
     * zones/…" are the members of a group. */
    const char *patch;
    /* Lines: "203.0.113.1 TCP/80 internet 0.0.0.0/0 -> node-0:80 node-1:80!", with ! for unhealthy
     * ones, the target's clients in brackets where they are fewer, and the reason in
     * place of clients. */
    const char *want;
};

void gce_rows_check(const struct gce_row *rows, size_t n);
/* The lines of a document, in the arena. */
const char *gce_lines(struct arena *a, struct json_object *document);

#endif
