/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.h: the controller that mirrors Endpoints written by hand into EndpointSlices.
 *
 * It serves Services without a selector, so that kube-proxy, which reads slices only, finds their
 * endpoints.  One slice per family and list of ports.  Results live in the arena and borrow texts
 * from the input.  Pure.
 *
 * One fault of upstream is not copied: where slices of both families are to be created and one is
 * to be deleted, upstream may lose a slice until its next pass.  Here a created slice takes over
 * the name of a deleted one of its own family.
 * Source: Kubernetes 1.36, pkg/controller/endpointslicemirroring. */
#ifndef TRIMTAB_SERVICES_SLICES_MIRROR_H
#define TRIMTAB_SERVICES_SLICES_MIRROR_H

#include "common/services/decode/objects.h"
#include "common/services/topology/topology.h"

#define KS_MIRROR_CONTROLLER "endpointslicemirroring-controller.k8s.io"

/* Why Endpoints are not mirrored; existing mirrors are deleted then. */
enum ks_mirror_off {
    KS_MIRROR_FINE = 0,
    KS_MIRROR_NO_ENDPOINTS, /* there is no Endpoints object */
    KS_MIRROR_SKIPPED,      /* label endpointslice.kubernetes.io/skip-mirror: "true" */
    KS_MIRROR_LEADER,       /* the object is a lock of leader election */
    KS_MIRROR_NO_SERVICE,   /* there is no Service of the same name */
    KS_MIRROR_SELECTOR,     /* the Service has a selector: the EndpointSlice controller serves it */
};
struct ks_mirror_input {
    const struct ks_endpoints *endpoints; /* NULL if there is none */
    const struct ks_service *service;     /* of the same name; NULL if there is none */
    const struct ks_slice *const *slices; /* existing mirrors of these Endpoints */
    size_t n_slices;
    size_t max_endpoints; /* per subset, 1…1000; 0 means 1000 */
};
/* The outcome of one pass.  Slices to create have a generate_name and no name. */
struct ks_mirror_pass {
    enum ks_mirror_off off;
    const struct ks_slice *create;
    const struct ks_slice *update;
    const char **remove;           /* names */
    const struct ks_event *events; /* about the Endpoints */
    size_t n_create;
    size_t n_update;
    size_t n_remove;
    size_t n_events;
};

/* One whole pass.  Endpoints that are being deleted get no new slices.  Never fails; O(n log n). */
struct ks_mirror_pass ks_mirror_pass(struct arena *a, const struct ks_mirror_input *in);

#endif
