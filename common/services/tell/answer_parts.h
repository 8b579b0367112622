/* SPDX-License-Identifier: Apache-2.0 */
/* answer_parts.h: what the files that make an answer share; see answer.h.  Private to this room. */
#ifndef TRIMTAB_SERVICES_TELL_ANSWER_PARTS_H
#define TRIMTAB_SERVICES_TELL_ANSWER_PARTS_H

#include "common/services/tell/answer.h"

/* By which of its addresses a Service has the destination. */
enum ks_at {
    KS_AT_NONE = 0,
    KS_AT_NODE_PORT,
    KS_AT_HEALTH_PORT,
    KS_AT_CLUSTER_IP,
    KS_AT_EXTERNAL_IP,
    KS_AT_INGRESS,
};
struct ks_hit {
    const struct ks_service *service;
    const struct ks_service_port *port; /* NULL: it has the address, but not the port */
    enum ks_at at;
    bool proxied; /* the load balancer keeps the address for itself */
};

/* Whether the Service of that index has the destination; `at_node`: the destination is
 * an address of a node. */
struct ks_hit ks_hit_of(const struct ks_cluster *cluster, size_t service,
                        const struct ks_question *q, bool at_node);
/* The Services that have the destination, as indices of the cluster's list, which has its order. */
const size_t *ks_answer_found(struct arena *a, const struct ks_cluster *cluster,
                              const struct ks_question *q, size_t *ret_n);

/* An address of a node, loopback among them. */
bool ks_is_node_address(const struct ks_cluster *cluster, const struct ip_addr *ip);

/* Everything from which the sentences are made. */
struct ks_making {
    struct arena *a;
    const struct ks_cluster *cluster;
    const struct ks_proxy *proxy;
    const struct ks_question *q;
    struct ks_hit hit;              /* service NULL: no Service has the destination */
    const struct ks_service *rival; /* another Service with the same address and port; NULL: none */
    enum ks_family family;
    const char *range; /* of the source ranges that a client outside was taken from; NULL: none */
    struct ip_addr outside; /* a client outside */
    struct ks_answer *x;
    size_t cap_because;
};
/* The objects that can decide about the packet (answer_objects.c), narrowed to the ports and
 * addresses of the question. */
struct ks_objects {
    const struct ks_service **services;
    const struct ks_slice **slices;
    size_t n_services;
    size_t n_slices;
};
/* Sets m->hit, whose Service is the whole one, and m->rival. */
void ks_answer_choose_hit(struct ks_making *m);
/* Finds them; m->outside is chosen.  Costs the ports and slices of the Services that have the
 * destination; for a port of nodes or a host name, the number of Services. */
struct ks_objects ks_answer_objects(struct ks_making *m);

/* Fills line, because and next of m->x, whose ways and shares are complete. */
void ks_answer_sentences(struct ks_making *m);

#endif
