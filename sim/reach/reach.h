/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: reachability by the state of a cloud: clients, ports and targets, and the targets'
 * health.
 *
 *     GET /sim/state ── reach_gce(), reach_azure(), reach_aws() ──▶ struct reach ── reach_json()
 *
 * It judges load balancers: a packet from a client to an address, protocol and port passes
 * listeners, rules and permissions as the cloud documents them, and arrives at targets, or nowhere
 * and for a reason.  Services are not read, only the nodes' answers to health checks (answers.h).
 * A port of a target is its port of arrival.
 *
 *     {"203.0.113.10": {"TCP/80": {"from": "internet", "clients": ["0.0.0.0/0"], "why": null,
 *                                  "targets": [{"target": "node-1:30080", "healthy": true}]}}}
 *
 * Source: interfaces.md "trimtab-sim", GET /sim/reach.  Pure: a function of the world. */
#ifndef TRIMTAB_SIM_REACH_REACH_H
#define TRIMTAB_SIM_REACH_REACH_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "sim/reach/answers.h"
#include "sim/reach/ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reasons why no client reaches a port; `why` of a port. */
#define REACH_NO_LISTENER   "listener missing"
#define REACH_NO_RULE       "no rule"
#define REACH_NO_TARGET     "no target"
#define REACH_NO_PERMISSION "no permission"

struct map;
struct reach;
struct reach_port;

/* Texts and ports live in `a`. */
struct reach *reach_new(struct arena *a);
struct arena *reach_arena(struct reach *r);
/* A map without values of its own that lives as long as the arena; for the clouds' own files. */
struct map *reach_map(struct arena *a);
/* Health answers of nodes: read from the world at the first call; NULL: the world
 * has no cluster. */
const struct reach_answers *reach_cluster(struct reach *r, struct json_object *world);

/* Ports of an address; low 0 is all of them, printed as a star. */
struct reach_listener {
    const char *address; /* canonical IP, or the host name in small letters */
    const char *protocol; /* "TCP", "UDP", …; NULL with `why`: the address has no listener at all */
    uint16_t low, high;
    bool internal; /* from the network alone */
    /* Why it leads nowhere, if that is known before any target is checked: REACH_NO_LISTENER,
     * REACH_NO_RULE; or NULL. */
    const char *why;
};
/* Adds it, or finds the one with the same address, protocol and ports, whose `why` is kept
 * if both have one. */
struct reach_port *reach_listen(struct reach *r, const struct reach_listener *l);
/* A target behind it: "node-1:30080" (IPv6: "[fd00::1]:80" where the target is an address), and the
 * clients whose packets it gets, after every rule on their way.  `permitted` empty: no client, for
 * lack of a permission.  The same target twice: the union of both. */
void reach_target(struct reach_port *p, const char *target, bool healthy,
                  struct reach_ranges permitted);

/* One implementation for each cloud: adds all its load balancers' addresses, those of
 * other owners, too. */
void reach_gce(struct reach *r, struct json_object *world);
void reach_azure(struct reach *r, struct json_object *world);
void reach_aws(struct reach *r, struct json_object *world);

/* The document above, sorted; a new reference.  `clients` of a port: who reaches one of
 * its targets at least. */
struct json_object *reach_json(struct reach *r);
/* All clouds of a world; a new reference. */
struct json_object *reach_of_world(struct json_object *world);

#endif
