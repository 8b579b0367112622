/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_links.c: flows of Azure: private link services in front of frontends (flows_azure.h).
 *
 * A link hangs on a frontend, which cannot go before it.  Source: docs/spec/azure.md 10.6. */
#include "tests/fault/flows_azure.h"

#define LINK       NOTE("pls-create") ":\"true\""
#define UNLINK     NOTE("pls-create") ":null"
#define LINKED     NOTED(IN "," LINK)
#define OUTSIDE    NOTE("load-balancer-internal") ":null"
#define NO_FLOAT   NOTE("disable-load-balancer-floating-ip") ":\"true\""
#define NO_GROUP   NOTE("pls-resource-group") ":null"
#define FAR_LINKED NOTED(IN "," LINK "," NOTE("pls-resource-group") ":\"rg-net\"")
#define NAMED(x)   NOTED(IN "," LINK "," NOTE("pls-name") ":\"" x "\"")
#define IS_THERE   "privateLinkServices/pls-{default/web}"

const struct flow flows_azure_links[] = {
    {AZURE, .name = "azure-link-create", .start = {NEAR}, .steps = {{STEP_CREATE, "web", LINKED}},
     .ends = {IS_THERE}},
    {AZURE, .name = "azure-link-added", .start = {NEAR, INTO},
     .steps = {{STEP_PATCH, "web", ANNOTATE(LINK)}}, .ends = {IS_THERE}},
    {AZURE, .name = "azure-link-change", .start = {NEAR, {"web", LINKED}},
     .steps = {{STEP_PATCH, "web",
                ANNOTATE(
                    NOTE("pls-visibility") ":\"*\"," NOTE("pls-fqdns") ":\"a.example.com\"," NOTE(
                        "pls-ip-configuration-ip-address-count") ":\"3\"")}},
     .ends = {"a.example.com"}},
    {AZURE, .name = "azure-link-delete", .start = {NEAR, {"web", LINKED}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!" IS_THERE}},
    {AZURE, .name = "azure-link-delete-last", .alone = true, .start = {{"web", LINKED}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!" IS_THERE}},
    {AZURE, .name = "azure-link-to-external", .start = {NEAR, {"web", LINKED}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OUTSIDE "," UNLINK)}}, .moves = "web",
     .ends = {"!" IS_THERE}},
    {AZURE, .name = "azure-link-goes-along",
     .start = {NEAR, {"web", NOTED(IN "," LINK "," NO_FLOAT)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OUTSIDE)}}, .moves = "web", .ends = {IS_THERE}},
    {AZURE, .name = "azure-link-moves", .site = "two-balancers",
     .start = {NEAR,
               {"web", NOTED(LINK "," NO_FLOAT
                                  "," NOTE("load-balancer-configurations") ":\"kubernetes\"")}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("load-balancer-configurations") ":\"lb-b\"")}},
     .ends = {IS_THERE, "loadBalancers/lb-b/frontendIPConfigurations/{default/web}"}},
    /* Made in another group; edited while no controller ran. */
    {AZURE, .name = "azure-link-far-removed", .start = {NEAR, {"web", FAR_LINKED}}, .cold = true,
     .steps = {{STEP_PATCH, "web", ANNOTATE(UNLINK "," NO_GROUP)}}, .ends = {"!" IS_THERE}},
    {AZURE, .name = "azure-link-far-called-back", .start = {NEAR, {"web", FAR_LINKED}},
     .cold = true, .steps = {{STEP_PATCH, "web", ANNOTATE(NO_GROUP)}},
     .ends = {"rg-net/providers/Microsoft.Network/" IS_THERE}},
    /* Of another Service, so nothing is made before it is edited. */
    {AZURE, .name = "azure-link-name-taken", .start = {NEAR, {"mate", NAMED("shared")}},
     .steps = {{STEP_CREATE, "web", NAMED("shared")},
               {STEP_REST, "web"},
               {STEP_PATCH, "web", ANNOTATE(NOTE("pls-name") ":\"own\"")}},
     .ends = {"privateLinkServices/own", "frontendIPConfigurations/{default/web}"}},
    {AZURE, .name = "azure-link-name-taken-deleted", .alone = true,
     .start = {{"mate", NOTED(LINK "," NO_FLOAT "," NOTE("pls-name") ":\"shared\"")}},
     .steps = {{STEP_CREATE, "web", NAMED("shared")}, {STEP_REST, "web"}, {STEP_DELETE, "web"}},
     .ends = {"!frontendIPConfigurations/{default/web}", "!loadBalancers/kubernetes-internal"}},
    {0},
};
