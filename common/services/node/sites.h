/* SPDX-License-Identifier: Apache-2.0 */
/* sites.h: one world that is moved from node to node.
 *
 * ks_world_make() reads all objects for one node.  Nodes of a cluster differ in little: which
 * endpoints are theirs, and which hints they obey.  So the objects are read once, an index by node
 * says what a move changes, and lists that hints of zones thin out are made once for each zone.
 * After a move the world is as ks_world_make() would make it.  Pure; one thread at a time. */
#ifndef TRIMTAB_SERVICES_NODE_SITES_H
#define TRIMTAB_SERVICES_NODE_SITES_H

#include "common/services/node/world.h"

struct ks_sites;

/* Reads the objects for the nodes of one family; the arguments are those of ks_world_make().  Lives
 * in `a`, borrows texts of the objects. */
struct ks_sites *ks_sites_make(struct arena *a, enum ks_family family,
                               const struct ks_service *const *services, size_t n_services,
                               const struct ks_slice *const *slices, size_t n_slices);
/* The world of the node of `config`, which has the family of the sites.  The world and its ports
 * stay where they are, their contents hold until the next move; lists of this node alone are in
 * `scratch`, and *config is borrowed.  Costs the number of the node's own endpoints; where the zone
 * is another than before, of the ports with hints for either zone; and of Services with
 * a health check. */
const struct ks_world *ks_sites_move(struct ks_sites *s, struct arena *scratch,
                                     const struct ks_node_config *config);
/* True when a port's cluster list is the same array for other nodes, so that its address
 * tells it from others. */
bool ks_sites_shares_list(const struct ks_port *p, struct ks_list list);
/* The number of endpoints that making and moving have looked at, each time counted. */
size_t ks_sites_looked_at(const struct ks_sites *s);

#endif
