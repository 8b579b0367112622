/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws.h: what the tables of AWS' flows have in common: words for specs, bystanders.
 *
 * "near" and "old" are bystanders, a network balancer and a classic one, whose nodes' groups are the same: they must not
 * notice anything.  Groups "sg-0f…" are those of tests/data/fault/foreign-aws.json. */
#ifndef TRIMTAB_TESTS_FAULT_FLOWS_AWS_H
#define TRIMTAB_TESTS_FAULT_FLOWS_AWS_H

#include "tests/fault/flows.h"

#define AWS     .cloud = "aws"
#define NOTE(x) "\"service.beta.kubernetes.io/aws-load-balancer-" x "\""
#define NLB     NOTE("type") ":\"nlb\""

#define ONE_PORT        "\"ports\":[{\"port\":80}]"
#define TWO_PORTS       "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define UDP_PORT        "\"ports\":[{\"port\":53,\"protocol\":\"UDP\"}]"
#define NOTES(x)        "\"notes\":{" x "}"
#define ON_NLB          "{" TWO_PORTS "," NOTES(NLB) "}"
#define ON_ONE          "{" ONE_PORT "," NOTES(NLB) "}"
#define CLASSIC         "{" TWO_PORTS "}"
#define NLB_WITH(x)     "{" TWO_PORTS "," NOTES(NLB "," x) "}"
#define CLASSIC_WITH(x) "{" TWO_PORTS "," NOTES(x) "}"

#define SPEC(x)     "{\"spec\":{" x "}}"
#define ANNOTATE(x) "{\"metadata\":{\"annotations\":{" x "}}}"

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
