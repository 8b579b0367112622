/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_machines.c: flows of Azure: nodes come and go, and what they are changes
 * (flows_azure.h).
 *
 * An instance of a uniform scale set takes its pools from the set's model, so a node that comes or
 * goes there costs no write, unless the model says nothing of them.
 * Source: docs/spec/azure.md 7. */
#include "tests/fault/flows_azure.h"

#define UNIFORM  "Compute/virtualMachineScaleSets/vmss"
#define INSTANCE UNIFORM "/virtualMachines/1"
#define ADDED                                                                                      \
    {                                                                                              \
        {                                                                                          \
            STEP_ADD_NODES, "1", NULL                                                              \
        }                                                                                          \
    }
#define NIC(n) "Network/networkInterfaces/nic-" n

const struct flow flows_azure_machines[] = {
    /* ---- a uniform scale set ---- */
    {AZURE, .name = "azure-node-added", .start = {NEAR, INTO},
     .steps = {{STEP_ADD_NODES, "1", NULL}}},
    {AZURE, .name = "azure-node-removed", .start = {NEAR, INTO},
     .steps = {{STEP_REMOVE_NODE, "node-5", NULL}}},
    {AZURE, .name = "azure-node-in-no-pool", .start = {NEAR, INTO},
     .steps = {{STEP_FORGET_POOLS, UNIFORM, NULL}, {STEP_ADD_NODES, "2", NULL}}},
    {AZURE, .name = "azure-instance-left", .start = {NEAR, INTO},
     .steps = {{STEP_FORGET_POOLS, INSTANCE, NULL}, {STEP_REMOVE_NODE, "vmss000000", NULL}}},
    {AZURE, .name = "azure-create-among-nodes", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", INTERNAL},
               {STEP_ADD_NODES, "1", NULL},
               {STEP_REMOVE_NODE, "vmss000002", NULL}}},
    /* ---- a flexible one ---- */
    {AZURE, .name = "azure-flexible-create", .site = "flexible", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", INTERNAL}}},
    {AZURE, .name = "azure-flexible-added", .site = "flexible", .start = {NEAR, INTO},
     .steps = {{STEP_FORGET_POOLS, UNIFORM, NULL}, {STEP_ADD_NODES, "1", NULL}}},
    {AZURE, .name = "azure-flexible-removed", .site = "flexible", .start = {NEAR, INTO},
     .steps = {{STEP_FORGET_POOLS, NIC("1"), NULL}, {STEP_REMOVE_NODE, "vm-5", NULL}}},
    {AZURE, .name = "azure-flexible-delete", .site = "flexible", .start = {NEAR, INTO},
     .steps = {{STEP_DELETE, "web", NULL}}},
    /* ---- availability sets ---- */
    {AZURE, .name = "azure-sets-create", .site = "sets", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", INTERNAL}}},
    {AZURE, .name = "azure-sets-added", .site = "sets", .start = {NEAR, INTO}, .steps = ADDED},
    {AZURE, .name = "azure-sets-removed", .site = "sets", .start = {NEAR, INTO},
     .steps = {{STEP_FORGET_POOLS, NIC("1"), NULL}, {STEP_REMOVE_NODE, "vm-5", NULL}}},
    {AZURE, .name = "azure-sets-delete-last", .site = "sets", .alone = true, .start = {WEB},
     .steps = {{STEP_DELETE, "web", NULL}}},
    {AZURE, .name = "azure-sets-to-internal-last", .site = "sets", .alone = true, .start = {WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(IN)}}, .moves = "web"},
    /* ---- pools of addresses ---- */
    {AZURE, .name = "azure-addresses-create", .site = "addresses", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", INTERNAL}}},
    {AZURE, .name = "azure-addresses-added", .site = "addresses", .start = {NEAR, INTO},
     .steps = ADDED},
    {AZURE, .name = "azure-addresses-removed", .site = "addresses", .start = {NEAR, INTO},
     .steps = {{STEP_REMOVE_NODE, "vmss000002", NULL}}},
    {AZURE, .name = "azure-addresses-delete-last", .site = "addresses", .alone = true,
     .start = {WEB}, .steps = {{STEP_DELETE, "web", NULL}}},
    {AZURE, .name = "azure-to-addresses", .start = {NEAR, INTO}, .cold = true,
     .config = "{\"loadBalancerBackendPoolConfigurationType\":\"nodeIP\"}"},
    {AZURE, .name = "azure-to-addresses-by-api", .start = {NEAR, INTO}, .cold = true,
     .config = "{\"loadBalancerBackendPoolConfigurationType\":\"nodeIP\","
               "\"enableMigrateToIPBasedBackendPoolAPI\":true}"},
    {AZURE, .name = "azure-to-interfaces", .site = "addresses", .start = {NEAR, INTO}, .cold = true,
     .config = "{\"loadBalancerBackendPoolConfigurationType\":\"nodeIPConfiguration\"}"},
    {AZURE, .name = "azure-dual-added-node", .site = "both-families",
     .start = {NEAR, {"web", "{" ONE_PORT "," BOTH "}"}},
     .steps = {{STEP_FORGET_POOLS, UNIFORM, NULL}, {STEP_ADD_NODES, "1", NULL}}},
    {0},
};
