/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h: the EndpointSlice controller: from Services and Pods to slices.
 *
 * One pass is a function of what is there: the Service, its Pods, the Nodes, its slices.  It
 * answers with the requests that the controller would send.  Per address family, pods with the same
 * ports form a group, and each group has slices of its own:  endpoints stay in the slice they are
 * in, new ones fill up slices that are written anyway, then the one unchanged slice that becomes
 * fullest, then new slices.  Slices are never merged.  Hints are written last
 * (topology/topology.h).
 *
 * Nothing depends on the order in which pods, nodes and slices are given: where upstream walks a
 * map, pods go in order of their names, slices too.  All results live in the arena and borrow texts
 * from the input.  Pure.
 * Source: Kubernetes 1.36, pkg/controller/endpointslice, k8s.io/endpointslice. */
#ifndef TRIMTAB_SERVICES_SLICES_SLICES_H
#define TRIMTAB_SERVICES_SLICES_SLICES_H

#include "common/services/decode/objects.h"
#include "common/services/topology/topology.h"

/* Labels of slices, and the controller that writes those of Services with a selector. */
#define KS_LABEL_SERVICE    "kubernetes.io/service-name"
#define KS_LABEL_MANAGED_BY "endpointslice.kubernetes.io/managed-by"
#define KS_LABEL_HEADLESS   "service.kubernetes.io/headless"
#define KS_SLICE_CONTROLLER "endpointslice-controller.k8s.io"

/* The outcome of one pass.  Slices to create have a generate_name and no name, others the name of
 * an existing one.  Endpoints and ports of a slice are its whole lists. */
struct ks_slice_pass {
    const struct ks_slice *create;
    const struct ks_slice *update;
    const char **remove; /* names */
    const struct ks_event *events;
    size_t n_create;
    size_t n_update;
    size_t n_remove;
    size_t n_events;
    /* a pod was left out, since its node is not known: the pass is to be done again */
    bool node_unknown;
    bool hints_on; /* hints by zone shares are in force after this pass; both families share it */
    /* Hints by zone shares of each family while they are in force there, for
     * ks_overloaded(); none else. */
    struct ks_zone_counts hints_ipv4;
    struct ks_zone_counts hints_ipv6;
    /* Safeguard that keeps a family without hints by zone shares; KS_HINTS_FINE when the Service
     * does not ask for them. */
    enum ks_hints_off hints_off_ipv4;
    enum ks_hints_off hints_off_ipv6;
};
struct ks_slice_input {
    const struct ks_service *service;
    const struct ks_pod *const
        *pods; /* of the Service's namespace; others and those not selected are left out */
    const struct ks_node *const *nodes;
    const struct ks_slice *const
        *slices; /* of this Service and this controller; those being deleted are left out */
    size_t n_pods;
    size_t n_nodes;
    size_t n_slices;
    size_t max_endpoints;     /* per slice, 1…1000; 0 means 100 */
    const char *trigger_time; /* RFC 3339; NULL: not triggered by a pod or Service */
    bool hints_before;        /* hints by zone shares were in force */
};

/* One whole pass.  A Service of type ExternalName or without a selector gets nothing, not even a
 * deletion.  Never fails.  O(n log n) in pods, nodes and endpoints of slices. */
struct ks_slice_pass ks_slices_pass(struct arena *a, const struct ks_slice_input *in);

#endif
