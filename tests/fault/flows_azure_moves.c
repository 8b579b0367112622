/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_moves.c: flows of Azure: Services go from one balancer to another (flows_azure.h).
 *
 * Where there are several Standard balancers, by annotation and by configuration; where there is
 * one per availability set, by mode.  A public address goes along: it hangs on one frontend at a
 * time.  Source: docs/spec/azure.md 5.3 to 5.6, 7.7. */
#include "tests/fault/flows_azure.h"

#define ON(x)   NOTE("load-balancer-configurations") ":\"" x "\""
#define MODE(x) NOTE("load-balancer-mode") ":\"" x "\""
#define ON_A    ON("kubernetes")
#define ON_B    ON("lb-b")
#define AT(x)   "loadBalancers/" x "/frontendIPConfigurations/{default/web}"
#define TWO     AZURE, .site = "two-balancers"
#define BASIC   AZURE, .site = "basic", .alone = true
#define SINGLE  "{\"multipleStandardLoadBalancerConfigurations\":null}"
#define LOCAL_ON(x)                                                                                \
    "{" ONE_PORT ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101," NOTES(x) "}"
#define NEAR_A                                                                                     \
    {                                                                                              \
        "near", "{\"ports\":[{\"port\":8080}]," NOTES(ON_A) "}"                                    \
    }
#define NEAR_B                                                                                     \
    {                                                                                              \
        "near-b", "{\"ports\":[{\"port\":8080}]," NOTES(ON_B) "}"                                  \
    }

const struct flow flows_azure_moves[] = {
    /* ---- several balancers ---- */
    {TWO, .name = "azure-two-create", .start = {NEAR_A}, .steps = {{STEP_CREATE, "web", EXTERNAL}},
     .ends = {AT("lb-b")}},
    {TWO, .name = "azure-move", .start = {NEAR_A, {"web", NOTED(ON_A)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(ON_B)}}, .ends = {AT("lb-b"), "!" AT("kubernetes")}},
    {TWO, .name = "azure-move-back", .start = {NEAR_A, NEAR_B, {"web", NOTED(ON_B)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(ON_A)}}, .ends = {AT("kubernetes"), "!" AT("lb-b")}},
    {TWO, .name = "azure-move-last", .start = {NEAR_A, {"web", NOTED(ON_B)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(ON_A)}},
     .ends = {AT("kubernetes"), "!loadBalancers/lb-b"}},
    {TWO, .name = "azure-move-internal", .start = {NEAR_A, {"web", NOTED(IN "," ON_A)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(ON_B)}}, .moves = "web",
     .ends = {AT("lb-b-internal"), "!" AT("kubernetes-internal")}},
    {TWO, .name = "azure-move-and-flip", .start = {NEAR_A, {"web", NOTED(ON_A)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(IN "," ON_B)}}, .moves = "web",
     .ends = {AT("lb-b-internal"), "!" AT("kubernetes")}},
    {TWO, .name = "azure-move-local", .start = {NEAR_A, {"web", LOCAL_ON(ON_A)}},
     .steps = {{STEP_PODS, "web", "{\"vmss000001\":1}"}, {STEP_PATCH, "web", ANNOTATE(ON_B)}},
     .ends = {"loadBalancers/lb-b/backendAddressPools/default-web",
              "!loadBalancers/kubernetes/backendAddressPools/default-web"}},
    {TWO, .name = "azure-two-pods", .start = {NEAR_A, NEAR_B, {"web", LOCAL_ON(ON_B)}},
     .steps = {{STEP_PODS, "web", "{\"vmssb000000\":1,\"vmssb000001\":1}"},
               {STEP_REST, "", NULL},
               {STEP_PODS, "web", "{\"vmssb000000\":0,\"vmssb000002\":1}"}}},
    {TWO, .name = "azure-trade-places",
     .start = {NEAR_A, NEAR_B, {"web", NOTED(ON_A)}, {"mate", NOTED(ON_B)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(ON_B)}, {STEP_PATCH, "mate", ANNOTATE(ON_A)}},
     .ends = {AT("lb-b"), "loadBalancers/kubernetes/frontendIPConfigurations/{default/mate}"}},
    {TWO, .name = "azure-two-delete-last", .start = {NEAR_A, {"web", NOTED(ON_B)}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!loadBalancers/lb-b"}},
    {TWO, .name = "azure-two-delete", .start = {NEAR_A, NEAR_B, {"web", LOCAL_ON(ON_B)}},
     .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!loadBalancers/lb-b/backendAddressPools/default-web"}},
    {TWO, .name = "azure-two-to-cluster", .start = {NEAR_A, NEAR_B, {"web", LOCAL_ON(ON_B)}},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null")}},
     .ends = {"!loadBalancers/lb-b/backendAddressPools/default-web"}},
    {TWO, .name = "azure-two-nodes", .start = {NEAR_A, NEAR_B},
     .steps = {{STEP_ADD_NODES, "1", NULL}, {STEP_REMOVE_NODE, "vmssb000001", NULL}}},
    {TWO, .name = "azure-split", .start = {NEAR, WEB, {"mate", NOTED(ON_B)}}, .cold = true,
     .start_config = SINGLE,
     .ends = {"loadBalancers/lb-b/frontendIPConfigurations/{default/mate}"}},
    /* ---- one balancer for each availability set ---- */
    {BASIC, .name = "azure-basic-create", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NOTED(MODE("as-b"))}}, .ends = {AT("as-b")}},
    {BASIC, .name = "azure-basic-auto", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NOTED(MODE("__auto__"))}}, .ends = {AT("as-b")}},
    {BASIC, .name = "azure-basic-move", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(MODE("as-b"))}},
     .ends = {AT("as-b"), "!" AT("kubernetes")}},
    {BASIC, .name = "azure-basic-move-back", .start = {NEAR, {"web", NOTED(MODE("as-b"))}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(MODE("as-a"))}},
     .ends = {AT("kubernetes"), "!loadBalancers/as-b"}},
    {BASIC, .name = "azure-basic-to-internal", .start = {NEAR, {"web", NOTED(MODE("as-b"))}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(IN)}}, .moves = "web",
     .ends = {AT("as-b-internal"), "!" AT("as-b")}},
    {BASIC, .name = "azure-basic-delete", .start = {NEAR, {"web", NOTED(MODE("as-b"))}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!loadBalancers/as-b"}},
    {BASIC, .name = "azure-basic-added", .start = {NEAR, {"web", NOTED(MODE("as-b"))}},
     .steps = {{STEP_ADD_NODES, "1", NULL}}},
    {BASIC, .name = "azure-basic-removed", .start = {NEAR, {"web", NOTED(MODE("as-b"))}},
     .steps = {{STEP_FORGET_POOLS, "Network/networkInterfaces/nic-4", NULL},
               {STEP_REMOVE_NODE, "vm-5", NULL}}},
    {BASIC, .name = "azure-basic-to-standard", .start = {NEAR, WEB, {"into", INTERNAL}},
     .cold = true, .config = "{\"loadBalancerSku\":\"standard\"}", .ends = {AT("kubernetes")}},
    {0},
};
