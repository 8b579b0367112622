/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h: the answers of the simulated cluster's nodes to health checks.
 *
 * A health check ends at a port of a node where kube-proxy listens, or behind which pods are:
 *
 *     healthCheckNodePort   200 while the node has a ready endpoint of the Service, else 503; on
 *                           any path
 *     10256                 200 on /healthz while the Node object is there, not being deleted, and
 *                           without the taint ToBeDeletedByClusterAutoscaler; 200 on /livez
 *     a node port, TCP      a connection arrives at a pod: with policy Cluster if the cluster has a
 *                           usable endpoint, with Local if the node has; what the pod answers is
 *                           taken to be good
 *
 * An endpoint is usable if it is ready, or if it serves while it terminates and none is ready.
 * Each family has answers of its own.  Everything else is answered: other ports, worlds without
 * Nodes, and Services without any EndpointSlice of the family, of whose pods nothing is known.  A
 * port of a slice without a name has the empty one, as the API server fills it in.
 * Source: Kubernetes 1.36, kube-proxy's service and proxy health servers.  Pure: a function
 * of the world. */
#ifndef TRIMTAB_SIM_REACH_ANSWERS_H
#define TRIMTAB_SIM_REACH_ANSWERS_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stdint.h>

struct reach_answers;

enum reach_probe_kind {
    REACH_PROBE_TCP = 0, /* a connection is enough */
    REACH_PROBE_HTTP,    /* status 200 is asked for */
    REACH_PROBE_TLS,     /* the same behind TLS, which kube-proxy does not speak */
};

struct reach_probe {
    const char *node; /* the machine's name: that of the Node, in any case of letters */
    uint16_t port;
    enum reach_probe_kind kind;
    const char *path; /* of an HTTP request; NULL: "/" */
    bool ipv6;        /* the family of the address that is probed */
};

/* Reads Nodes, Services and EndpointSlices of a world ("kubernetes").  Lives in the arena, and
 * borrows from the world. */
struct reach_answers *reach_answers_read(struct arena *a, struct json_object *world);
/* Whether the probe succeeds.  NULL as `x`: nothing is known of a cluster, so every probe does. */
bool reach_probe_succeeds(const struct reach_answers *x, const struct reach_probe *probe);

#endif
