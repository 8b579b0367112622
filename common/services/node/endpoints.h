/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.h: the endpoints of one Service from its slices, whether or not the Service has such
 * ports.
 *
 * Pure; results are in the arena and borrow texts from the slices.
 * Source: kube-proxy 1.36, endpointslicecache.go, endpointschangetracker.go. */
#ifndef TRIMTAB_SERVICES_NODE_ENDPOINTS_H
#define TRIMTAB_SERVICES_NODE_ENDPOINTS_H

#include "common/services/node/world.h"

/* The endpoints of one port name and protocol. */
struct ks_endpoint_group {
    const char *port_name;
    const char *protocol;
    struct ks_endpoint *items; /* sorted by text, each once */
    size_t n;
};
struct ks_service_endpoints {
    const struct ks_endpoint_group *groups; /* sorted by port name, protocol; none is empty */
    size_t n_groups;
    size_t local_ready; /* distinct addresses of ready endpoints on this node, over all groups */
    size_t n_endpoints; /* in all groups */
    size_t n_left_out;  /* of groups that are missing for want of room */
};
/* A Service of a world, whether or not its ports use all of its endpoints. */
struct ks_world_service {
    struct ks_service_health health;
    struct ks_service_endpoints endpoints;
};

/* The name of the Service that a slice belongs to; NULL when kube-proxy does not look at the slice
 * in this family. */
const char *ks_slice_service(const struct ks_slice *slice, enum ks_family family);
/* The slices that kube-proxy looks at, sorted by namespace, Service, name of the slice,
 * place in the input. */
const struct ks_slice **ks_slices_sorted(struct arena *a, enum ks_family family,
                                         const struct ks_slice *const *slices, size_t n,
                                         size_t *ret_n);
/* All endpoints of one Service.  `slices` are its own, sorted as above.  A group that would bring
 * more than `room` endpoints together is left out: a small slice with a thousand ports and a
 * thousand endpoints makes a million. */
struct ks_service_endpoints ks_service_endpoints(struct arena *a,
                                                 const struct ks_node_config *config,
                                                 const struct ks_slice *const *slices, size_t n,
                                                 size_t room);
/* The group of a port; NULL when the slices have none. */
const struct ks_endpoint_group *ks_endpoint_group(const struct ks_service_endpoints *of,
                                                  const char *port_name, const char *protocol);

#endif
