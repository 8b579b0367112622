/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_addresses.c: flows of Azure: public addresses, of users, of ours, shared, elsewhere,
 * of two families (flows_azure.h).  Source: docs/spec/azure.md 8, 10.1, 6.3. */
#include "tests/fault/flows_azure.h"

#define USERS      NOTE("pip-name") ":\"users-pip\""
#define SINKS      NOTE("disable-load-balancer-floating-ip") ":\"true\""
#define FAR        NOTE("load-balancer-resource-group") ":\"rg-net\""
#define MATE(note) "{\"ports\":[{\"port\":8443}]," NOTES(note) "}"
#define PINNED(ip) NOTED(IN "," NOTE("load-balancer-ipv4") ":\"" ip "\"")
#define ONE        "{" ONE_PORT "}"
#define LIKE_WEB   NOTE("load-balancer-ipv4") ":\"<web>\""
#define DUAL       "{" TWO_PORTS "," BOTH "}"
#define DUAL_IN    "{" TWO_PORTS "," BOTH "," NOTES(IN) "}"
#define ONE_FAMILY SPEC("\"ipFamilyPolicy\":\"SingleStack\",\"ipFamilies\":[\"IPv4\"]")

const struct flow flows_azure_addresses[] = {
    /* ---- a user's ---- */
    {AZURE, .name = "azure-users-address", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":\"users-pip\"")}}, .moves = "web"},
    {AZURE, .name = "azure-own-address",
     .start = {NEAR, {"web", "{" ONE_PORT "," NOTES(NOTE("pip-name") ":\"users-pip\"") "}"}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":null")}}, .moves = "web"},
    {AZURE, .name = "azure-tags", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                ANNOTATE(NOTE("pip-tags") ":\"cost=7\"," NOTE("dns-label-name") ":\"web\"")}}},
    {AZURE, .name = "azure-ip-tags", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-ip-tags") ":\"FirstPartyUsage=/x\"")}},
     .moves = "web", .ends = {"FirstPartyUsage", "!-interim-"}},
    {AZURE, .name = "azure-other-users-address", .start = {NEAR, {"web", NOTED(USERS)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":\"users-pip-2\"")}}, .moves = "web"},
    {AZURE, .name = "azure-by-number", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerIP\":\"20.99.0.2\"")}}, .moves = "web",
     .ends = {"\"20.99.0.2\""}},
    /* where the former address cannot serve beside the new one, the plan says so */
    {AZURE, .name = "azure-users-address-no-floating", .start = {NEAR, {"web", NOTED(SINKS)}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(USERS)}}, .moves = "web", .ends = {"\"20.99.0.2\""}},
    {AZURE, .name = "azure-private-address", .start = {NEAR, {"web", PINNED("10.240.3.1")}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("load-balancer-ipv4") ":\"10.240.3.2\"")}},
     .moves = "web"},
    {AZURE, .name = "azure-users-address-and-ports", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                "{\"metadata\":{\"annotations\":{" USERS "}},"
                "\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":80},"
                "{\"name\":\"c\",\"port\":8443}]}}"}},
     .moves = "web", .ends = {"\"20.99.0.2\"", "{default/web}-TCP-8443"}},
    {AZURE, .name = "azure-users-address-and-back", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(USERS)},
               {STEP_REST},
               {STEP_PATCH, "web", ANNOTATE(NOTE("pip-name") ":null")}},
     .moves = "web", .ends = {"publicIPAddresses/kubernetes-{default/web}"}},
    {AZURE, .name = "azure-far-address", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(FAR "," NOTE("pip-name") ":\"users-far\"")}},
     .moves = "web", .ends = {"\"20.99.0.6\""}},
    {AZURE, .name = "azure-far-create", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NOTED(FAR)}},
     .ends = {"resourceGroups/rg-net/providers/Microsoft.Network/publicIPAddresses/"
              "kubernetes-{default/web}"}},
    {AZURE, .name = "azure-far-delete", .start = {NEAR, {"web", NOTED(FAR)}},
     .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!publicIPAddresses/kubernetes-{default/web}"}},
    {AZURE, .name = "azure-delete-users", .start = {NEAR, {"web", NOTED(USERS)}},
     .steps = {{STEP_DELETE, "web", NULL}}},
    /* ---- shared ---- */
    {AZURE, .name = "azure-share", .start = {NEAR, WEB},
     .steps = {{STEP_CREATE, "mate", MATE(LIKE_WEB)}},
     .ends = {"!publicIPAddresses/kubernetes-{default/mate}"}},
    /* A public IP whose last write fails, but takes effect, is fixed when one of its
     * other Services is synced. */
    {AZURE, .name = "azure-share-first-leaves", .but = "fails-later superseded",
     .start = {NEAR, WEB, {"mate", MATE(LIKE_WEB)}}, .steps = {{STEP_DELETE, "web", NULL}}},
    {AZURE, .name = "azure-share-second-leaves", .but = "fails-later superseded",
     .start = {NEAR, WEB, {"mate", MATE(LIKE_WEB)}}, .steps = {{STEP_DELETE, "mate", NULL}}},
    {AZURE, .name = "azure-share-both-leave", .start = {NEAR, WEB, {"mate", MATE(LIKE_WEB)}},
     .steps = {{STEP_DELETE, "web", NULL}, {STEP_DELETE, "mate", NULL}},
     .ends = {"!publicIPAddresses/kubernetes-{default/web}"}},
    {AZURE, .name = "azure-share-users",
     .start = {NEAR, {"web", NOTED(USERS)}, {"mate", MATE(USERS)}},
     .steps = {{STEP_DELETE, "web", NULL}}},
    /* ---- exchanged: each asks for what the other has until then (`but`: see above) --- */
    {AZURE, .name = "azure-exchange-ports", .start = {NEAR, {"web", ONE}, {"mate", MATE(LIKE_WEB)}},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":8443}]")},
               {STEP_PATCH, "mate", SPEC("\"ports\":[{\"port\":80}]")}},
     .ends = {"{default/web}-TCP-8443", "{default/mate}-TCP-80", "!{default/web}-TCP-80"}},
    {AZURE, .name = "azure-exchange-addresses", .but = "fails-later superseded",
     .start = {NEAR, {"web", ONE}, {"mate", ONE}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("load-balancer-ipv4") ":\"<mate>\"")},
               {STEP_PATCH, "mate", ANNOTATE(NOTE("load-balancer-ipv4") ":\"<web>\"")}},
     .moves = "web mate"},
    {AZURE, .name = "azure-exchange-private",
     .start = {NEAR, {"web", PINNED("10.240.3.1")}, {"mate", PINNED("10.240.3.2")}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("load-balancer-ipv4") ":\"10.240.3.2\"")},
               {STEP_PATCH, "mate", ANNOTATE(NOTE("load-balancer-ipv4") ":\"10.240.3.1\"")}},
     .moves = "web mate"},
    {AZURE, .name = "azure-take-over-private", .start = {NEAR, {"web", PINNED("10.240.3.1")}},
     .steps = {{STEP_DELETE, "web", NULL}, {STEP_CREATE, "new", PINNED("10.240.3.1")}},
     .ends = {"frontendIPConfigurations/{default/new}"}},
    /* ---- two families ---- */
    {AZURE, .name = "azure-dual-create", .site = "both-families", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", DUAL}},
     .ends = {"publicIPAddresses/kubernetes-{default/web}-IPv6"}},
    {AZURE, .name = "azure-dual-label", .site = "both-families", .start = {NEAR, {"web", DUAL}},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("dns-label-name") ":\"shop\"")}},
     .ends = {"\"domainNameLabel\":\"shop\""}},
    {AZURE, .name = "azure-dual-internal", .site = "both-families", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", DUAL_IN}}},
    {AZURE, .name = "azure-dual-added", .site = "both-families", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC(BOTH)}},
     .ends = {"publicIPAddresses/kubernetes-{default/web}-IPv6"}},
    {AZURE, .name = "azure-dual-removed", .site = "both-families", .start = {NEAR, {"web", DUAL}},
     .steps = {{STEP_PATCH, "web", ONE_FAMILY}}, .moves = "web",
     .ends = {"!publicIPAddresses/kubernetes-{default/web}-IPv6"}},
    {AZURE, .name = "azure-dual-removed-internal", .site = "both-families",
     .start = {NEAR, {"web", DUAL_IN}}, .steps = {{STEP_PATCH, "web", ONE_FAMILY}}, .moves = "web",
     .ends = {"!-IPv6\""}},
    {AZURE, .name = "azure-dual-removed-no-floating", .site = "both-families",
     .start = {NEAR, {"web", "{" ONE_PORT "," BOTH "," NOTES(SINKS) "}"}},
     .steps = {{STEP_PATCH, "web", ONE_FAMILY}}, .moves = "web",
     .ends = {"!publicIPAddresses/kubernetes-{default/web}-IPv6"}},
    {AZURE, .name = "azure-dual-delete", .site = "both-families", .start = {NEAR, {"web", DUAL}},
     .steps = {{STEP_DELETE, "web", NULL}}},
    {0},
};
