/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h: how a load balancer divides its traffic among nodes.
 *
 * The one rule for traces, explanations and the status page.  A node takes part unless it is left
 * out.  Of those that take part, the healthy ones get the traffic: in equal parts, or weighed by
 * the number of ready pods that their health check answers.  Where none is healthy, most load
 * balancers send to all that take part, and some to none.  Pure. */
#ifndef TRIMTAB_SERVICES_TELL_WEIGHTS_H
#define TRIMTAB_SERVICES_TELL_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tells to which nodes a load balancer sends when every node fails its health check. */
enum ks_all_down {
    KS_ALL_DOWN_UNKNOWN = 0, /* taken for KS_ALL_DOWN_OPEN */
    KS_ALL_DOWN_OPEN,        /* to all that take part: it fails open */
    KS_ALL_DOWN_CLOSED,      /* to none */
};
/* Facts of the load balancer. */
struct ks_balance {
    bool weighted; /* it weighs nodes by the answer of their health check */
    enum ks_all_down all_down;
};
struct ks_node_weight {
    bool left_out;
    /* ready pods that its health check answers; -1: the check does not ask for pods */
    int64_t ready;
    double share; /* set by ks_weigh(): of the traffic, 0…1 */
};
enum ks_weighed {
    KS_WEIGHED_HEALTHY = 0, /* the healthy nodes get the traffic */
    KS_WEIGHED_OPEN,        /* none is healthy: all that take part get it */
    KS_WEIGHED_CLOSED,      /* none is healthy: no node gets any */
    KS_WEIGHED_LEFT_OUT,    /* every node is left out, or there is none */
};

/* Sets the share of each node; together they are 1, or 0 for the last two results.  Costs n. */
enum ks_weighed ks_weigh(struct ks_node_weight *nodes, size_t n, const struct ks_balance *b);

#endif
