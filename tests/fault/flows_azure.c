/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure.c: the table of Azure's flows (flows.h).
 *
 * "near" is a bystander on the same balancer and in the same security rules: it must not notice anything.  Public addresses
 * and DNS labels of users are those of tests/data/fault/foreign-azure.json; "taken" is a label that Azure refuses. */
#include "tests/fault/flows.h"

#define AZURE   .cloud = "azure"
#define NOTE(x) "\"service.beta.kubernetes.io/azure-" x "\""

#define TWO_PORTS "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define ONE_PORT  "\"ports\":[{\"port\":80}]"
#define NOTES(x)  "\"notes\":{" x "}"
#define IN        NOTE("load-balancer-internal") ":\"true\""
#define EXTERNAL  "{" TWO_PORTS "}"
#define INTERNAL  "{" TWO_PORTS "," NOTES(IN) "}"
#define LOCAL     "{" ONE_PORT ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101}"
#define LABEL(x)  "{" ONE_PORT "," NOTES(NOTE("dns-label-name") ":\"" x "\"") "}"

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
#define SPEC(x)     "{\"spec\":{" x "}}"
#define ANNOTATE(x) "{\"metadata\":{\"annotations\":{" x "}}}"

const struct flow flows_azure[] = {
    /* ---- there, and gone again ---- */
    {AZURE, .name = "azure-create-first", .alone = true, .steps = {{STEP_CREATE, "web", EXTERNAL}}},
    {AZURE, .name = "azure-create", .start = {NEAR}, .steps = {{STEP_CREATE, "web", EXTERNAL}}},
    {AZURE, .name = "azure-create-internal", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", INTERNAL}}},
    {AZURE, .name = "azure-create-local", .start = {NEAR}, .steps = {{STEP_CREATE, "web", LOCAL}}},
    {AZURE, .name = "azure-create-cold", .start = {NEAR}, .cold = true,
     .steps = {{STEP_CREATE, "web", EXTERNAL}}},
    {AZURE, .name = "azure-delete", .start = {NEAR, WEB}, .steps = {{STEP_DELETE, "web"}}},
    {AZURE, .name = "azure-delete-last", .alone = true, .start = {WEB},
     .steps = {{STEP_DELETE, "web"}}},
    {AZURE, .name = "azure-delete-internal", .start = {NEAR, INTO},
     .steps = {{STEP_DELETE, "web"}}},
    {AZURE, .name = "azure-to-cluster-ip", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")}}},
    /* ---- edits ---- */
    {AZURE, .name = "azure-ports", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":81}]")}}},
    {AZURE, .name = "azure-ranges", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]")}}},
    {AZURE, .name = "azure-to-local", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101")}}},
    {AZURE, .name = "azure-to-internal", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(IN)}}, .moves = "web"},
    {AZURE, .name = "azure-to-internal-last", .alone = true, .start = {WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(IN)}}, .moves = "web"},
    {AZURE, .name = "azure-to-external", .start = {NEAR, INTO},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("load-balancer-internal") ":null")}},
     .moves = "web"},
    {AZURE, .name = "azure-users-address", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":\"users-pip\"")}}, .moves = "web"},
    {AZURE, .name = "azure-own-address",
     .start = {NEAR, {"web", "{" ONE_PORT "," NOTES(NOTE("pip-name") ":\"users-pip\"") "}"}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":null")}}, .moves = "web"},
    {AZURE, .name = "azure-tags", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                ANNOTATE(NOTE("pip-tags") ":\"cost=7\"," NOTE("dns-label-name") ":\"web\"")}}},
    /* ---- nodes ---- */
    {AZURE, .name = "azure-node-added", .start = {NEAR, INTO},
     .steps = {{STEP_ADD_NODES, "1", NULL}}},
    {AZURE, .name = "azure-node-removed", .start = {NEAR, INTO},
     .steps = {{STEP_REMOVE_NODE, "node-5", NULL}}},
    {AZURE, .name = "azure-restart", .start = {NEAR, INTO}, .cold = true, .quiet = true},
    /* ---- batches ---- */
    {AZURE, .name = "azure-batch-poisoned", .start = {NEAR},
     .steps = {{STEP_CREATE, "s0", EXTERNAL},
               {STEP_CREATE, "s1", INTERNAL},
               {STEP_CREATE, "s2", LOCAL},
               {STEP_CREATE, "s3", LABEL("taken")},
               {STEP_CREATE, "s4", EXTERNAL},
               {STEP_CREATE, "s5", INTERNAL},
               {STEP_CREATE, "s6", LABEL("free")},
               {STEP_CREATE, "s7", EXTERNAL},
               {STEP_CREATE, "s8", EXTERNAL},
               {STEP_CREATE, "s9", EXTERNAL},
               {STEP_REST, "s3", NULL},
               {STEP_PATCH, "s3", ANNOTATE(NOTE("dns-label-name") ":\"mine\"")}}},
    {AZURE, .name = "azure-batch-delete",
     .start = {NEAR,
               {"s0", EXTERNAL},
               {"s1", INTERNAL},
               {"s2", LOCAL},
               {"s3", LABEL("free")},
               {"s4", EXTERNAL}},
     .steps = {{STEP_DELETE, "s0", NULL},
               {STEP_DELETE, "s1", NULL},
               {STEP_DELETE, "s2", NULL},
               {STEP_DELETE, "s3", NULL},
               {STEP_DELETE, "s4", NULL}}},
    {AZURE, .name = "azure-batch-mixed", .start = {NEAR, WEB, {"old", INTERNAL}},
     .steps = {{STEP_DELETE, "web", NULL},
               {STEP_CREATE, "new", EXTERNAL},
               {STEP_PATCH, "old", SPEC("\"ports\":[{\"port\":81}]")},
               {STEP_CREATE, "newer", INTERNAL}}},
    {0},
};
