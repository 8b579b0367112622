/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_blind.c: flows of Azure where lists of public IPs show a write some seconds later
 * (site "blind"), and where it refuses a first load balancer (flows_azure.h).
 *
 * Source: Azure/azure-cli issues 14482 and 17760; docs/adr/0083. */
#include "tests/fault/flows_azure.h"

#define BLIND      AZURE, .site = "blind"
#define MATE(note) "{\"ports\":[{\"port\":8443}]," NOTES(note) "}"
#define LIKE_WEB   NOTE("load-balancer-ipv4") ":\"<web>\""
#define USERS      NOTE("pip-name") ":\"users-pip\""
#define NO_TAG     NOTE("allowed-service-tags") ":\"AzureClod\""
#define A_TAG      NOTE("allowed-service-tags") ":\"AzureCloud\""
#define PIP        "publicIPAddresses/kubernetes-{default/web}"

const struct flow flows_azure_blind[] = {
    /* ---- lists that lag behind ---- */
    {BLIND, .name = "azure-blind-create-first", .alone = true,
     .steps = {{STEP_CREATE, "web", EXTERNAL}}},
    {BLIND, .name = "azure-blind-create", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", EXTERNAL}}},
    {BLIND, .name = "azure-blind-delete", .start = {NEAR, WEB}, .steps = {{STEP_DELETE, "web"}},
     .ends = {"!" PIP}},
    {BLIND, .name = "azure-blind-gone-at-once", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", EXTERNAL}, {STEP_REST}, {STEP_DELETE, "web"}},
     .ends = {"!" PIP}},
    {BLIND, .name = "azure-blind-off-and-on", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")},
               {STEP_REST, "web"},
               {STEP_PATCH, "web", SPEC("\"type\":\"LoadBalancer\"")}},
     .moves = "web", .ends = {PIP}},
    {BLIND, .name = "azure-blind-edits", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("dns-label-name") ":\"web\"")},
               {STEP_REST},
               {STEP_PATCH, "web", ANNOTATE(NOTE("pip-tags") ":\"cost=7\"")}},
     .ends = {"\"domainNameLabel\":\"web\"", "\"cost\":\"7\""}},
    /* `but`: as of azure-share-first-leaves */
    {BLIND, .name = "azure-blind-share", .but = "fails-later superseded", .start = {NEAR, WEB},
     .steps = {{STEP_CREATE, "mate", MATE(LIKE_WEB)}, {STEP_REST}, {STEP_DELETE, "web"}},
     .ends = {PIP}},
    {BLIND, .name = "azure-blind-share-both-leave", .start = {NEAR, WEB, {"mate", MATE(LIKE_WEB)}},
     .steps = {{STEP_DELETE, "web"}, {STEP_REST}, {STEP_DELETE, "mate"}}, .ends = {"!" PIP}},
    {BLIND, .name = "azure-blind-own-address", .start = {NEAR, {"web", NOTED(USERS)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":null")}}, .moves = "web",
     .ends = {PIP}},
    {BLIND, .name = "azure-blind-ip-tags", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-ip-tags") ":\"FirstPartyUsage=/x\"")}},
     .moves = "web", .ends = {"FirstPartyUsage"}},
    {BLIND, .name = "azure-blind-batch", .start = {NEAR, WEB},
     .steps = {{STEP_CREATE, "s1", EXTERNAL}, {STEP_CREATE, "s2", EXTERNAL}, {STEP_DELETE, "web"}},
     .ends = {"!" PIP}},
    /* ---- a first load balancer that is refused ---- */
    {AZURE, .name = "azure-refused-then-mended", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NOTED(NO_TAG)},
               {STEP_REST, "web"},
               {STEP_PATCH, "web", ANNOTATE(A_TAG)}},
     .ends = {PIP, "AzureCloud"}},
    {AZURE, .name = "azure-refused-then-deleted", .alone = true,
     .steps = {{STEP_CREATE, "web", NOTED(NO_TAG)}, {STEP_REST, "web"}, {STEP_DELETE, "web"}},
     .ends = {"!" PIP, "!loadBalancers/kubernetes"}},
    {0},
};
