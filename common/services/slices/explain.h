/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: which pods are behind a Service, and why the others are not, for people.
 *
 * Each pod of the Service's namespace falls under one reason, the first that applies.  Results live
 * in the arena and borrow texts from the arguments.  Pure. */
#ifndef TRIMTAB_SERVICES_SLICES_EXPLAIN_H
#define TRIMTAB_SERVICES_SLICES_EXPLAIN_H

#include "common/services/decode/objects.h"

/* The role of a pod for a Service, in one family. */
enum ks_pod_role {
    KS_POD_OTHER = 0,    /* of another namespace, or not selected */
    KS_POD_FINISHED,     /* succeeded or failed */
    KS_POD_NO_ADDRESS,   /* no address yet */
    KS_POD_OTHER_FAMILY, /* no address of this family */
    KS_POD_NODE_UNKNOWN, /* its node is not there, and not-ready addresses are not published */
    /* an endpoint without any of the Service's ports: it has no port of such a name */
    KS_POD_NO_PORT,
    KS_POD_NOT_READY, /* an endpoint that gets no traffic: the condition Ready is not True */
    KS_POD_GONE,      /* being deleted and not ready: an endpoint that gets no traffic */
    /* being deleted and ready: an endpoint that gets traffic where no other is ready */
    KS_POD_DRAINING,
    KS_POD_SERVING, /* an endpoint that gets traffic; also by publishNotReadyAddresses */
    KS_POD_MAX,
};
struct ks_pods_report {
    size_t counts[KS_POD_MAX];     /* pods per role */
    const char *first[KS_POD_MAX]; /* one of them, the first by name; NULL where there is none */
    const char *sentence; /* all in one line: "2 pods get traffic; 1 pod is not ready (web-2)" */
};

/* The role of one pod.  `node_known`: its node is there. */
enum ks_pod_role ks_pod_role(struct arena *a, const struct ks_service *service,
                             enum ks_family family, const struct ks_pod *pod, bool node_known);
/* Counts pods in any order.  O((pods + nodes) · log nodes). */
struct ks_pods_report ks_pods_explain(struct arena *a, const struct ks_service *service,
                                      enum ks_family family, const struct ks_pod *const *pods,
                                      size_t n_pods, const struct ks_node *const *nodes,
                                      size_t n_nodes);

#endif
