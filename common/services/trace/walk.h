/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h: what the tracers of the three modes have in common.  Private to this
 * room; see trace.h. */
#ifndef TRIMTAB_SERVICES_TRACE_WALK_H
#define TRIMTAB_SERVICES_TRACE_WALK_H

#include "common/services/trace/trace.h"

#define KS_STEPS_MAX 16

/* One packet on its way. */
struct ks_walk {
    struct arena *a;
    const struct ks_plan *plan;
    const struct ks_node_config *config;
    const struct ks_packet *packet;
    bool from_node;        /* the source is an address of the node, or so the packet says */
    bool from_pod;         /* the detector sees a pod of this node */
    bool to_node;          /* the destination is an address of the node, loopback included */
    bool takes_node_ports; /* … at which node ports are answered, in this mode */
    struct ks_trace trace;
    const char *steps[KS_STEPS_MAX];
};

/* True for 127.0.0.0/8 and ::1. */
bool ks_is_loopback(const struct ip_addr *ip);
/* Adds the name of a chain, set or map. */
void ks_walk_step(struct ks_walk *w, const char *name);
/* Ends the walk at a destination (NULL: none was met). */
void ks_walk_end(struct ks_walk *w, enum ks_verdict verdict, enum ks_reason reason,
                 const struct ks_dest *dest);
/* Ends it at a list of endpoints; `marked`: every way is masqueraded. */
void ks_walk_to(struct ks_walk *w, const struct ks_dest *dest, enum ks_reason reason,
                struct ks_list list, bool marked);
/* True when a packet to a cluster IP is masqueraded: by configuration, or because no pod of this
 * node sends it. */
bool ks_walk_marks_internal(const struct ks_walk *w);
/* True when the source may use an address of a load balancer: no ranges, in one, or the address
 * itself on a node that is in one. */
bool ks_walk_in_ranges(const struct ks_walk *w, const struct ks_dest *dest);
/* Ends a walk that met no rule, and finds the reason: wrong port, node port
 * elsewhere, not captured. */
void ks_walk_end_unmet(struct ks_walk *w);

/* The three modes.  Each fills w->trace. */
void ks_walk_iptables(struct ks_walk *w);
void ks_walk_nftables(struct ks_walk *w);
void ks_walk_ipvs(struct ks_walk *w);

#endif
