/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws.h: what the tables of AWS' flows have in common: words for specs, bystanders, names of
 * what users have.
 *
 * "near" and "old" are bystanders, a network balancer and a classic one, whose nodes' group is the
 * same: they must not notice anything.  Groups and subnets of users are those of
 * tests/data/fault/foreign-aws.json. */
#ifndef TRIMTAB_TESTS_FAULT_FLOWS_AWS_H
#define TRIMTAB_TESTS_FAULT_FLOWS_AWS_H

#include "tests/fault/flows.h"

#define AWS     .cloud = "aws"
#define NOTE(x) "\"service.beta.kubernetes.io/aws-load-balancer-" x "\""
#define NLB     NOTE("type") ":\"nlb\""

#define ONE_PORT  "\"ports\":[{\"port\":80}]"
#define TWO_PORTS "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define UDP_PORT  "\"ports\":[{\"port\":53,\"protocol\":\"UDP\"}]"
#define LOCAL     "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101"
#define RANGES(x) "\"loadBalancerSourceRanges\":[" x "]"
#define TEN       "\"10.0.0.0/8\""
#define DOCS      "\"192.0.2.0/24\""

#define NOTES(x)        "\"notes\":{" x "}"
#define CLASSIC         "{" TWO_PORTS "}"
#define CLASSIC_WITH(x) "{" TWO_PORTS "," NOTES(x) "}"
#define ON_NLB          "{" TWO_PORTS "," NOTES(NLB) "}"
#define NLB_WITH(x)     "{" TWO_PORTS "," NOTES(NLB "," x) "}"
#define NLB_OF(spec)    "{" spec "," NOTES(NLB) "}"

#define SPEC(x)     "{\"spec\":{" x "}}"
#define ANNOTATE(x) "{\"metadata\":{\"annotations\":{" x "}}}"

/* Certificates of users; what a key of an annotation is set to. */
#define ARN(x)       "\"arn:aws:acm:us-east-1:123456789012:certificate/" x "\""
#define CERT         NOTE("ssl-cert") ":" ARN("one")
#define CERT_443     CERT "," NOTE("ssl-ports") ":\"443\""
#define OWN          NOTE("security-groups") ":\"sg-0f000000000000001\""
#define OWN_2        NOTE("security-groups") ":\"sg-0f000000000000002\""
#define EXTRA        NOTE("extra-security-groups") ":\"sg-0f000000000000002\""
#define USERS_AB     NOTE("subnets") ":\"users-a,users-b\""
#define MANAGED      "NLBSecurityGroupMode = Managed"
#define ONE_FOR_ALL  "ElbSecurityGroup = sg-0f000000000000006"
#define SHARED_PROBE "ClusterServiceLoadBalancerHealthProbeMode = Shared"

#define NEAR                                                                                       \
    {                                                                                              \
        "near", "{\"ports\":[{\"port\":8080}]," NOTES(NLB) "}"                                     \
    }
#define OLD                                                                                        \
    {                                                                                              \
        "old", "{\"ports\":[{\"port\":8081}]}"                                                     \
    }
#define WEB                                                                                        \
    {                                                                                              \
        "web", ON_NLB                                                                              \
    }
#define WEB_CLASSIC                                                                                \
    {                                                                                              \
        "web", CLASSIC                                                                             \
    }

#endif
