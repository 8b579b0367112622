/* SPDX-License-Identifier: Apache-2.0 */
/* site.h: clusters in Azure that differ from the simulator's own: other machines, other balancers,
 * other answers.
 *
 * A site is data: what its machines are, what its cloud-config says beside the usual, and how its
 * Azure answers.  It begins as the simulator's own cluster, whose machines are replaced.  A new
 * site is a new row in site.c.  Pure. */
#ifndef TRIMTAB_TESTS_FAULT_SITE_H
#define TRIMTAB_TESTS_FAULT_SITE_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>

enum site_machines {
    SITE_UNIFORM = 0,       /* one uniform scale set, "vmss": the simulator's own */
    SITE_TWO_UNIFORM,       /* two of them, "vmss" and "vmssb", with half of the nodes each */
    SITE_FLEXIBLE,          /* a flexible one, "vmss": each node is a machine with a NIC */
    SITE_AVAILABILITY_SETS, /* two of them, "as-a" and "as-b", with half of the nodes each */
};

struct site {
    const char *name; /* NULL ends the table */
    enum site_machines machines;
    int nodes;            /* at the start, before a second set is added; 0: six */
    bool ipv6;            /* the cluster has both families */
    const char *config;   /* members of the cloud-config beside the usual ones, JSON; NULL: none */
    const char *settings; /* the world's "sim.azure", JSON; NULL: none */
    bool lags;            /* its lists do, by the controller's clock */
};

/* The simulator's own: NULL or "".  NULL: no such site. */
const struct site *site_find(const char *name);
/* Makes the machines of a world what they are there.  The world is one of the simulator's
 * own, at its start. */
void site_build(const struct site *s, struct arena *a, struct json_object *world);
/* Puts the settings into a world: a state that was read does not have them. */
void site_set(const struct site *s, struct json_object *world);
/* The text of azure.json, as struct rig_args wants it; `more` has members that count more than the
 * site's (NULL: none). */
const char *site_config(const struct site *s, struct arena *a, const char *more);

#endif
