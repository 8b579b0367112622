/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h: the three steps from objects to a world, each by itself.  Private to this room; see
 * world.h.
 *
 *     Service ──ports.c──▶ struct ks_port
 *     slices ──endpoints.c──▶ groups
 *     both ──lists.c──▶ the lists of a node
 *
 * Pure; results are in the arena and borrow texts from the objects. */
#ifndef TRIMTAB_SERVICES_NODE_PORTS_H
#define TRIMTAB_SERVICES_NODE_PORTS_H

#include "common/services/node/world.h"

/* The ports of a Service in this family, without endpoints, sorted by port name and protocol, each
 * pair once (the last counts).  *ret_n is 0 when kube-proxy does not see the Service
 * in this family. */
struct ks_port *ks_service_ports(struct arena *a, const struct ks_service *service,
                                 enum ks_family family, size_t *ret_n);

/* Fills topology, cluster, local, reachable and the three flags from the endpoints of `p`. */
void ks_port_lists(struct arena *a, const struct ks_node_config *config, struct ks_port *p);
/* The steps of it, for ports whose lists change alone (sites.h). */
/* Fills topology, cluster, its flag and has_any. */
void ks_port_cluster(struct arena *a, const struct ks_node_config *config,
                     enum ks_topology topology, struct ks_port *p);
/* Fills reachable from the other lists.  Returns the number of endpoints that it walked over. */
size_t ks_port_reachable(struct arena *a, struct ks_port *p);

#endif
