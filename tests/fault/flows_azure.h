/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure.h: what the tables of Azure's flows have in common: words for specs, bystanders, the
 * tables' names.
 *
 * "near" is a bystander on the same balancer and in the same security rules: it must not notice
 * anything.  Public addresses and DNS labels of users are those of
 * tests/data/fault/foreign-azure.json; "taken" is a label that Azure refuses. */
#ifndef TRIMTAB_TESTS_FAULT_FLOWS_AZURE_H
#define TRIMTAB_TESTS_FAULT_FLOWS_AZURE_H

#include "tests/fault/flows.h"

#define AZURE   .cloud = "azure"
#define NOTE(x) "\"service.beta.kubernetes.io/azure-" x "\""

#define TWO_PORTS "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define ONE_PORT  "\"ports\":[{\"port\":80}]"
#define NOTES(x)  "\"notes\":{" x "}"
#define IN        NOTE("load-balancer-internal") ":\"true\""
#define BOTH      "\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define EXTERNAL  "{" TWO_PORTS "}"
#define INTERNAL  "{" TWO_PORTS "," NOTES(IN) "}"
#define LOCAL     "{" ONE_PORT ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101}"
#define LABEL(x)  "{" ONE_PORT "," NOTES(NOTE("dns-label-name") ":\"" x "\"") "}"
#define NOTED(x)  "{" ONE_PORT "," NOTES(x) "}"

#define SPEC(x)     "{\"spec\":{" x "}}"
#define ANNOTATE(x) "{\"metadata\":{\"annotations\":{" x "}}}"

#define NEAR                                                                                       \
    {                                                                                              \
        "near", "{\"ports\":[{\"port\":8080}]}"                                                    \
    }
#define WEB                                                                                        \
    {                                                                                              \
        "web", EXTERNAL                                                                            \
    }
#define INTO                                                                                       \
    {                                                                                              \
        "web", INTERNAL                                                                            \
    }

#endif
