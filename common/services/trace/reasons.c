/* SPDX-License-Identifier: Apache-2.0 */
/* reasons.c: a sentence for each reason of a trace; see trace.h. */
#include "common/services/trace/trace.h"

#include "common/base/attr.h"

const char *ks_reason_text(enum ks_reason reason)
{
    static const char *const texts[] = {
        [KS_R_NONE] = "no Service has this address",
        [KS_R_CLUSTER_LIST] = "policy Cluster: any endpoint that the node uses may be chosen",
        [KS_R_LOCAL_LIST] = "policy Local: only endpoints on this node are chosen",
        [KS_R_SHORT_CIRCUIT_POD] = "policy Local is for clients outside; for a pod of this node "
                                   "any endpoint may be chosen",
        [KS_R_SHORT_CIRCUIT_NODE] =
            "policy Local is for clients outside; for the node itself any endpoint may be chosen",
        [KS_R_NO_ENDPOINTS] = "the Service port has no endpoint that is ready or still serves",
        [KS_R_NO_LOCAL_ENDPOINTS] =
            "policy Local: the Service port has endpoints, but none on this node",
        [KS_R_SOURCE_RANGES] = "the source is outside spec.loadBalancerSourceRanges",
        [KS_R_HEALTH_CHECK] = "health check node port: kube-proxy answers with the number of ready "
                              "endpoints on this node",
        [KS_R_WRONG_PORT] = "the address belongs to a Service, but no port of it has this number "
                            "and protocol",
        [KS_R_UNALLOCATED] = "the address is in the range of cluster IPs, but no Service has it",
        [KS_R_NOT_CAPTURED] = "the address has ipMode Proxy: the node leaves it to the load "
                              "balancer",
        [KS_R_NODE_PORT_ELSEWHERE] = "the node port is not answered on this address of the node",
        [KS_R_IPVS_NO_LOCAL] = "policy Local without an endpoint on this node: IPVS takes the "
                               "endpoints of other nodes instead",
    };
    return (size_t)reason < ARRAY_LEN(texts) ? texts[reason] : texts[KS_R_NONE];
}
