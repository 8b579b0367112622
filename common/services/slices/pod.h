/* SPDX-License-Identifier: Apache-2.0 */
/* pod.h: one pod behind a Service.
 *
 * The EndpointSlice controller asks all of it for each pod of a Service (slices.h).  Results live
 * in the arena and borrow texts from the arguments.  Pure.
 * Source: Kubernetes 1.36, k8s.io/endpointslice, utils.go and util/. */
#ifndef TRIMTAB_SERVICES_SLICES_POD_H
#define TRIMTAB_SERVICES_SLICES_POD_H

#include "common/services/decode/objects.h"

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

#endif
