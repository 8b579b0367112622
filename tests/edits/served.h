/* SPDX-License-Identifier: Apache-2.0 */
/* served.h: reads the answer of GET /sim/reach about one address, protocol and port, and the wishes
 * of a Service.  Pure. */
#ifndef TRIMTAB_TESTS_EDITS_SERVED_H
#define TRIMTAB_TESTS_EDITS_SERVED_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "sim/reach/ranges.h"

#define SERVED_PORTS_MAX 32

struct served_port {
    const char *protocol; /* "TCP" */
    int port;
};
/* The ports of a Service; returns how many. */
size_t served_ports(struct json_object *service, struct served_port out[SERVED_PORTS_MAX]);
/* Adds those of `more` that are not yet among the first `n`; returns how many there are. */
size_t served_ports_join(struct served_port out[SERVED_PORTS_MAX], size_t n,
                         const struct served_port *more, size_t n_more);
/* The address as reach writes it, whatever form the status has: "2001:db8:0:0:0:0:0:1"; a name as
 * it is. */
const char *served_host(struct arena *a, const char *text);
/* The Service's condition says that no client is served. */
bool served_says_nobody(struct json_object *service);
/* Returns the clients that reach that port of `host` (NULL: none). */
struct reach_ranges served_clients(struct arena *a, struct json_object *reach, const char *host,
                                   const struct served_port *p);
/* Names of the targets there without their ports, as one text: "node-0 node-1". */
const char *served_nodes(struct arena *a, struct json_object *reach, const char *host,
                         const struct served_port *p);
/* The clients that the Service allows by its source ranges; all of the families of `all` if it has
 * none, or no valid one. */
struct reach_ranges served_allowed(struct arena *a, struct json_object *service,
                                   struct reach_ranges all);
/* "TCP/80". */
const char *served_port_text(struct arena *a, const struct served_port *p);
const char *served_ranges_text(struct arena *a, struct reach_ranges x);

#endif
