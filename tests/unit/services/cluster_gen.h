/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_gen.h: random small clusters, and packets that are worth sending into them.
 *
 * The same seed gives the same cluster.  Addresses of Services are distinct, as the API server
 * makes them, and node ports are; everything else that a user may write is drawn: policies, ranges
 * of both families, addresses in any spelling, hints, terminating and duplicate endpoints, long
 * names, sessions, configurations of kube-proxy. */
#ifndef TRIMTAB_TESTS_UNIT_SERVICES_CLUSTER_GEN_H
#define TRIMTAB_TESTS_UNIT_SERVICES_CLUSTER_GEN_H

#include "common/services/node/world.h"

struct gen_cluster {
    uint64_t state; /* of the generator; packets continue with it */
    struct ks_node_config config;
    const struct ks_service **services;
    const struct ks_slice **slices;
    size_t n_services;
    size_t n_slices;
};
struct gen_packet {
    const char *source;
    const char *dest;
    int port;
    const char *protocol;  /* "TCP" */
    const char *interface; /* NULL: the node itself sends it */
};

void gen_cluster(struct arena *a, uint64_t seed, struct gen_cluster *ret);
/* A packet whose destination is, mostly, one of the world's. */
struct gen_packet gen_packet(struct arena *a, struct gen_cluster *c, const struct ks_world *w);
/* A number from 0 to n - 1. */
size_t gen_below(struct gen_cluster *c, size_t n);

#endif
