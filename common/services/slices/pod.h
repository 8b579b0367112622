/* SPDX-License-Identifier: Apache-2.0 */
/* pod.h: one pod behind a Service, and which Services a change of a pod concerns.
 *
 * The EndpointSlice controller asks all of it for each pod of a Service (slices.h); the legacy
 * controller of Endpoints shares the parts about ports and host names (legacy.h).  Results live in
 * the arena and borrow texts from the arguments.  Pure.
 * Source: Kubernetes 1.36, k8s.io/endpointslice, utils.go and util/. */
#ifndef TRIMTAB_SERVICES_SLICES_POD_H
#define TRIMTAB_SERVICES_SLICES_POD_H

#include "common/services/decode/objects.h"

/* ---- one pod --------------------------------------------------------------------------------- */

/* True when the pod can be an endpoint: it has an address and has neither succeeded nor failed.
 * Pods that are being deleted count when `terminating` is true. */
bool ks_pod_counts(const struct ks_pod *pod, bool terminating);
/* True when the Service's selector picks these labels (sorted by key).  A Service without selector
 * picks none, one with an empty selector picks all.  Namespaces are not compared. */
bool ks_service_selects(const struct ks_service *service, const struct json_kv *labels,
                        size_t n_labels);
/* True when the Service has no cluster IP of its own (absent, or "None"). */
bool ks_service_is_headless(const struct ks_service *service);

/* The number that the target port of a Service's port has in this pod; false when the pod has no
 * port of that name and protocol. */
bool ks_pod_target(const struct ks_pod *pod, const struct ks_service_port *port, int32_t *ret);
/* The pod's ports for the Service, in order of the Service's ports; those that the pod does not
 * have are left out.  NULL when *ret_n is 0. */
const struct ks_slice_port *ks_pod_ports(struct arena *a, const struct ks_service *service,
                                         const struct ks_pod *pod, size_t *ret_n);
/* The host name that the Service gives the pod in DNS; NULL for none. */
const char *ks_pod_hostname(const struct ks_service *service, const struct ks_pod *pod);
/* The pod's endpoint in one family.  `node` is the pod's node, NULL when it is not known.  An
 * endpoint without addresses is not to be published: the pod has no address of that family. */
struct ks_slice_endpoint ks_pod_endpoint(struct arena *a, const struct ks_service *service,
                                         const struct ks_pod *pod, const struct ks_node *node,
                                         enum ks_family family);

/* ---- changes of a pod ------------------------------------------------------------------------ */

/* The part of a change that tells which Services are concerned. */
struct ks_pod_change {
    const char *ns;
    const struct json_kv *labels;     /* of the new pod, or of one that is gone; sorted by key */
    const struct json_kv *old_labels; /* before the change; sorted by key */
    size_t n_labels;
    size_t n_old_labels;
    bool has_labels;     /* the pod has a map of labels, perhaps empty */
    bool has_old_labels; /* labels, host name or subdomain changed, and there was a map of labels */
    /* besides: readiness, addresses, or deletion began; meaningful with has_old_labels */
    bool pod_changed;
};
/* Tells whether a pod that was added (`before` NULL), updated or removed (`after` NULL) concerns
 * any Service.  *ret is written when it does.  Deletion counts as begun when only one of both has a
 * deletion timestamp, or they differ. */
bool ks_pod_changed(const struct ks_pod *before, const struct ks_pod *after,
                    struct ks_pod_change *ret);
/* The Services to sync after the change, in the order given: those of its namespace that select the
 * pod before or after it.  When labels alone changed, those that select it both before
 * and after are left out. */
const struct ks_service *const *ks_pod_change_services(struct arena *a,
                                                       const struct ks_pod_change *change,
                                                       const struct ks_service *const *services,
                                                       size_t n, size_t *ret_n);

#endif
