/* SPDX-License-Identifier: Apache-2.0 */
/* trace_steps.h: what was done to the cluster while the requests of upstream's controllers were
 * recorded, step by step, so that it can be done again with ours.
 *
 * A recording is a table of steps; each is one act on the API server, or a restart, after which the
 * controller comes to rest.  The Services are those of the recording, uids included: names in the
 * cloud are made of them. */
#ifndef TRIMTAB_TESTS_TRACE_STEPS_H
#define TRIMTAB_TESTS_TRACE_STEPS_H

#include "tests/sim/adoption.h"

#define TRACE_SERVICES "/api/v1/namespaces/default/services/"

/* A Service as the API server had it; `annotations` are members. */
#define TRACE_SERVICE(name, uid, annotations, cluster_ip, spec)                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"" name                   \
    "\",\"namespace\":\"default\",\"annotations\":{" annotations "},\"uid\":\"" uid                \
    "\",\"creationTimestamp\":\"2026-11-21T10:00:00Z\"},"                                          \
    "\"spec\":{\"type\":\"LoadBalancer\",\"clusterIP\":\"" cluster_ip                              \
    "\",\"clusterIPs\":[\"" cluster_ip                                                             \
    "\"],\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\","                            \
    "\"internalTrafficPolicy\":\"Cluster\",\"allocateLoadBalancerNodePorts\":true,"                \
    "\"sessionAffinity\":\"None\"," spec "},\"status\":{\"loadBalancer\":{}}}"
#define TRACE_PORT(name, number, node_port)                                                        \
    "{\"name\":\"" name "\",\"port\":" number ",\"protocol\":\"TCP\",\"targetPort\":" number       \
    ",\"nodePort\":" node_port "}"
/* A patch: other source ranges. */
#define TRACE_RANGES "{\"spec\":{\"loadBalancerSourceRanges\":[\"10.0.0.0/8\",\"192.0.2.0/24\"]}}"

enum trace_act {
    TRACE_CREATE = 0,
    TRACE_PATCH,
    TRACE_DELETE,
    TRACE_RESTART,
    TRACE_ADD_NODE,
    TRACE_REMOVE_NODE,
};
struct trace_step {
    const char *name; /* in the recording */
    enum trace_act act;
    /* CREATE: the Service; PATCH, DELETE: names, blank separated; REMOVE_NODE: its path */
    const char *what;
    const char *body; /* PATCH */
};
/* Does it, and waits until the controller has come to rest. */
void trace_step_play(struct rig *r, const struct trace_step *step);

#endif
