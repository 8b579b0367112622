/* SPDX-License-Identifier: Apache-2.0 */
/* fields_spec.c: edits of the spec, and of annotations that no cloud owns (edits.h).
 *
 * Edits that the API server itself refuses are tried, too, and counted apart: they never
 * reach the controller. */
#include "tests/edits/edits.h"

#define LOCAL "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101"
#define HTTP  "{\"name\":\"http\",\"port\":80}"
#define NODES                                                                                      \
    "[{\"name\":\"http\",\"port\":80,\"nodePort\":32080},{\"name\":\"https\",\"port\":443}]"
/* A new port says its node port: another run of the same edit would get another one (E4). */
#define SCTP   "[" HTTP ",{\"name\":\"s\",\"port\":132,\"protocol\":\"SCTP\",\"nodePort\":32132}]"
#define MIXED  "[" HTTP ",{\"name\":\"dns\",\"port\":53,\"protocol\":\"UDP\",\"nodePort\":32053}]"
#define UDP    "[{\"name\":\"udp\",\"port\":80,\"protocol\":\"UDP\",\"nodePort\":32081}]"
#define AFFINE "{\"sessionAffinity\":\"ClientIP\",\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]}"

#define AZURE_EXTERNAL   "azure-external azure-node-ports azure-two-balancers azure-both-families"
#define AZURE_ONE_FAMILY "azure-external azure-internal azure-node-ports azure-two-balancers"
#define ONE_FAMILY       "gce-* aws-* " AZURE_ONE_FAMILY

#define RANGES_OF_BOTH "[\"192.0.2.0/24\",\"2001:db8::/32\"]"

const struct edit_field edit_fields_spec[] = {
    {"*",
     "spec.ports",
     {{EDIT_GOOD, "[" HTTP ",{\"name\":\"https\",\"port\":8443,\"nodePort\":32443}]"},
      {EDIT_GOOD, "[" HTTP "]"},
      {EDIT_GOOD,
       "[" HTTP
       ",{\"name\":\"https\",\"port\":443},{\"name\":\"more\",\"port\":444,\"nodePort\":32444}]"},
      {EDIT_BAD, "[]"},
      {EDIT_BAD, "[{\"name\":\"http\",\"port\":0}]"}}},
    /* Google delivers packets at the Service's own ports. */
    {"gce-* aws-* " AZURE_EXTERNAL, "spec.ports", {{EDIT_IMPOSSIBLE, SCTP}}},
    {"azure-internal", "spec.ports", {{EDIT_GOOD, SCTP}}},
    {"gce-* aws-*", "spec.ports", {{EDIT_IMPOSSIBLE, MIXED}}},
    {"azure-*", "spec.ports", {{EDIT_GOOD, MIXED}}},
    {"gce-*", "spec.ports", {{EDIT_GOOD, NODES, EDIT_PORTS | EDIT_SAME}, {EDIT_GOOD, UDP}}},
    {"azure-*", "spec.ports", {{EDIT_GOOD, NODES, EDIT_PORTS}, {EDIT_GOOD, UDP}}},
    {"aws-nlb*", "spec.ports", {{EDIT_GOOD, NODES, EDIT_PORTS}, {EDIT_GOOD, UDP}}},
    {"aws-classic", "spec.ports", {{EDIT_GOOD, NODES, EDIT_PORTS}, {EDIT_IMPOSSIBLE, UDP}}},
    {"*",
     "spec.loadBalancerSourceRanges",
     {{EDIT_GOOD, "[\"192.0.2.0/24\"]"},
      {EDIT_GOOD, "[\"192.0.2.0/24\",\"10.0.0.0/8\"]"},
      {EDIT_GOOD, "[\"0.0.0.0/0\"]", EDIT_SAME},
      {EDIT_BLANK, "[\" 192.0.2.0/24 \"]"},
      {EDIT_BAD, "[\"everybody\"]"}}},
    {ONE_FAMILY, "spec.loadBalancerSourceRanges", {{EDIT_IMPOSSIBLE, "[\"2001:db8::/32\"]"}}},
    {"azure-both-families", "spec.loadBalancerSourceRanges", {{EDIT_GOOD, "[\"2001:db8::/32\"]"}}},
    {"gce-*", "spec.loadBalancerSourceRanges", {{EDIT_IMPOSSIBLE, RANGES_OF_BOTH, EDIT_PARTLY}}},
    {"aws-nlb aws-nlb-internal aws-classic",
     "spec.loadBalancerSourceRanges",
     {{EDIT_IMPOSSIBLE, RANGES_OF_BOTH, EDIT_PARTLY}}},
    {"aws-nlb-groups", "spec.loadBalancerSourceRanges", {{EDIT_GOOD, RANGES_OF_BOTH}}},
    {AZURE_ONE_FAMILY,
     "spec.loadBalancerSourceRanges",
     {{EDIT_IMPOSSIBLE, RANGES_OF_BOTH, EDIT_PARTLY}}},
    {"azure-both-families", "spec.loadBalancerSourceRanges", {{EDIT_GOOD, RANGES_OF_BOTH}}},
    {"*",
     "service.beta.kubernetes.io/load-balancer-source-ranges",
     {{EDIT_GOOD, "\"192.0.2.0/24,198.51.100.0/24\""},
      {EDIT_BLANK, "\" 192.0.2.0/24 , 10.0.0.0/8\""},
      {EDIT_BLANK, "\"\""},
      {EDIT_BAD, "\"192.0.2.0/33\""},
      {EDIT_BAD, "\"192.0.2.0/24;10.0.0.0/8\""}}},
    {ONE_FAMILY,
     "service.beta.kubernetes.io/load-balancer-source-ranges",
     {{EDIT_IMPOSSIBLE, "\"2001:db8::/32\""}}},
    {"gce-*", "spec.sessionAffinity", {{EDIT_GOOD, "\"ClientIP\""}}},
    {"azure-*", "spec.sessionAffinity", {{EDIT_GOOD, "\"ClientIP\""}}},
    {"aws-*",
     "spec.sessionAffinity",
     {{EDIT_IMPOSSIBLE, "\"ClientIP\""}, {EDIT_GOOD, "\"None\"", EDIT_SAME}}},
    {"*", "spec.sessionAffinity", {{EDIT_BAD, "\"clientip\""}}},
    {"*",
     "spec.externalTrafficPolicy",
     {{EDIT_GOOD, "\"Cluster\"", EDIT_SAME}, {EDIT_BAD, "\"Nearby\""}}},
    {"*",
     "spec.loadBalancerIP",
     {{EDIT_IMPOSSIBLE, "\"192.0.2.77\""}, {EDIT_BAD, "\"none\""}, {EDIT_BLANK, "\" \""}}},
    {"*", "spec.loadBalancerClass", {{EDIT_BAD, "\"example.com/other\""}}},
    {"*",
     "spec.type",
     {{EDIT_GOOD, "\"ClusterIP\"", EDIT_LEAVES},
      {EDIT_GOOD, "\"NodePort\"", EDIT_LEAVES},
      {EDIT_IMPOSSIBLE, "\"ExternalName\""}, /* without a name */
      {EDIT_BAD, "\"Balancer\""}}},
    {ONE_FAMILY,
     "spec",
     {{EDIT_IMPOSSIBLE,
       "{\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv4\",\"IPv6\"]}"}}},
    {"azure-both-families", /* the first family cannot be changed */
     "spec",
     {{EDIT_IMPOSSIBLE,
       "{\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv6\",\"IPv4\"]}"}}},
    {"*",
     "spec",
     {{EDIT_GOOD, "{" LOCAL ",\"ports\":[" HTTP "]}", EDIT_MEMBERS},
      {EDIT_IMPOSSIBLE, "{\"loadBalancerIP\":\"192.0.2.77\",\"ports\":[" HTTP "]}"}}},
    {"gce-*", "spec", {{EDIT_GOOD, AFFINE}}},
    {"azure-*", "spec", {{EDIT_GOOD, AFFINE}}},
    {"aws-*", "spec", {{EDIT_IMPOSSIBLE, AFFINE}}},
    {"*",
     "spec.healthCheckNodePort",
     {{EDIT_IMPOSSIBLE, "32102"}, {EDIT_BAD, "70000"}}}, /* the policy is Cluster */
    {"*", "spec.ipFamilyPolicy", {{EDIT_BAD, "\"DualStack\""}}},
    {"*", "spec.ipFamilies", {{EDIT_BAD, "[\"IPv5\"]"}}},
    {ONE_FAMILY,
     "spec",
     {{EDIT_GOOD, "{\"ipFamilyPolicy\":\"SingleStack\",\"ipFamilies\":[\"IPv4\"]}", EDIT_SAME}}},
    {"azure-both-families", /* a family is given up */
     "spec",
     {{EDIT_GOOD, "{\"ipFamilyPolicy\":\"SingleStack\",\"ipFamilies\":[\"IPv4\"]}"}}},
    {"azure-both-families",
     "spec",
     {{EDIT_GOOD, "{\"ipFamilyPolicy\":\"PreferDualStack\",\"ipFamilies\":[\"IPv4\",\"IPv6\"]}",
       EDIT_SAME}}},
    {"*",
     "spec.allocateLoadBalancerNodePorts",
     {{EDIT_GOOD, "false", EDIT_BARE | EDIT_SAME}, {EDIT_BAD, "\"no\""}}},
    {"*",
     "spec.internalTrafficPolicy",
     {{EDIT_GOOD, "\"Local\"", EDIT_SAME},
      {EDIT_GOOD, "\"Cluster\"", EDIT_SAME},
      {EDIT_BAD, "\"Nearby\""}}},
    {"*", "spec.publishNotReadyAddresses", {{EDIT_GOOD, "true", EDIT_SAME}, {EDIT_BAD, "\"yes\""}}},
    {"*",
     "spec.trafficDistribution",
     {{EDIT_GOOD, "\"PreferClose\"", EDIT_SAME}, {EDIT_BAD, "\"Near\""}}},
    {"*", "example.com/note", {{EDIT_GOOD, "\"anything\"", EDIT_SAME}}},
    {0},
};
