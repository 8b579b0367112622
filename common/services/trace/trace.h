/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: where a new connection goes that arrives at a node, and why.
 *
 * Walks the plan (node/plan.h), never rendered text.  Only the first packet of a connection: later
 * ones follow the kernel's connection table.  Affinity lists are empty.  Pure.
 * Source: kube-proxy 1.36, the tracers of its tests; the table of decisions in docs/services.md. */
#ifndef TRIMTAB_SERVICES_TRACE_TRACE_H
#define TRIMTAB_SERVICES_TRACE_TRACE_H

#include "common/services/node/plan.h"

struct ks_packet {
    struct ip_addr source;
    struct ip_addr dest;
    int32_t port;
    const char *protocol; /* "TCP", "UDP", "SCTP" */
    /* a process of the node itself sends it; else it is so when `source` is an address of it */
    bool from_node;
    /* the interface by which it came in, or the beginning of its name, for detectors by interface;
     * NULL: that of no pod of this node */
    const char *interface_;
};

enum ks_verdict {
    KS_NOT_OURS = 0, /* no rule meets it: it is routed on as it is */
    KS_TO_ENDPOINTS, /* one of `list`, each with the same probability */
    KS_DROP,         /* nothing comes back: the client waits until it gives up */
    KS_REJECT,       /* the client is refused at once (ICMP port unreachable) */
    KS_ACCEPT,       /* kube-proxy itself answers (health check node port) */
};

/* Why it ends so; each has a sentence (ks_reason_text()). */
enum ks_reason {
    KS_R_NONE = 0,
    /* the endpoints of the whole cluster (or of the zone, the node: `topology`) */
    KS_R_CLUSTER_LIST,
    KS_R_LOCAL_LIST,         /* the endpoints on this node */
    KS_R_SHORT_CIRCUIT_POD,  /* policy Local, but a pod of this node asks: cluster list */
    KS_R_SHORT_CIRCUIT_NODE, /* policy Local, but the node itself asks: cluster list */
    KS_R_NO_ENDPOINTS,       /* none anywhere */
    KS_R_NO_LOCAL_ENDPOINTS, /* policy Local, none on this node */
    KS_R_SOURCE_RANGES,      /* not in spec.loadBalancerSourceRanges */
    KS_R_HEALTH_CHECK,
    KS_R_WRONG_PORT,          /* an address of a Service, but no port of it */
    KS_R_UNALLOCATED,         /* nftables: in a service CIDR, but no Service has it */
    KS_R_NOT_CAPTURED,        /* an address with ipMode Proxy: goes to the real load balancer */
    KS_R_NODE_PORT_ELSEWHERE, /* a node port, but not on this address */
    /* IPVS: policy Local without local endpoints goes to remote ones, whose answer is lost */
    KS_R_IPVS_NO_LOCAL,
};

struct ks_trace {
    enum ks_verdict verdict;
    enum ks_reason reason;
    const struct ks_dest *dest; /* the destination that was met; NULL: none */
    struct ks_list list;        /* for KS_TO_ENDPOINTS, in the order of the rules */
    bool masquerade;            /* the source address becomes the node's, on at least one way */
    bool masquerade_every;      /* … on every way, whichever endpoint is chosen */
    bool hairpin; /* the source is one of the endpoints: masqueraded on the way back to itself */
    bool loses_answer; /* KS_R_IPVS_NO_LOCAL */
    const char *const *
        /* names of chains, sets or maps on the way, in order, in the mode's words; without
         * those of endpoints */
        steps;
    size_t n_steps;
};

/* Never fails; `p->dest` of the other family is KS_NOT_OURS. */
struct ks_trace ks_trace_packet(struct arena *a, const struct ks_plan *plan, enum ks_mode mode,
                                const struct ks_packet *p);
/* One English sentence for a reason, without the names of things. */
const char *ks_reason_text(enum ks_reason reason);

#endif
