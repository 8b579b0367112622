/* SPDX-License-Identifier: Apache-2.0 */
/* flows_gce.c: the table of Google's flows (flows.h).
 *
 * "near" is a bystander with policy Cluster: it shares the node check, and must not notice
 * anything.  Static addresses are those of tests/data/fault/foreign.json. */
#include "tests/fault/flows.h"

#define TWO_PORTS "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]"
#define CLUSTER   "{" TWO_PORTS "}"
#define LOCAL                                                                                      \
    "{\"ports\":[{\"port\":80}],\"externalTrafficPolicy\":\"Local\","                              \
    "\"healthCheckNodePort\":32101}"
#define STATIC "{\"ports\":[{\"port\":80}],\"loadBalancerIP\":\"203.0.113.200\"}"

#define STATIC_443 "{\"ports\":[{\"port\":443}],\"loadBalancerIP\":\"203.0.113.200\"}"

#define NEAR                                                                                       \
    {                                                                                              \
        "near", "{\"ports\":[{\"port\":8080}]}"                                                    \
    }
#define WEB                                                                                        \
    {                                                                                              \
        "web", CLUSTER                                                                             \
    }
#define SPEC(x) "{\"spec\":{" x "}}"

static const char *const deny_on[] = {"--enable-l4-deny-firewall=true",
                                      "--enable-l4-deny-firewall-rollback-cleanup=true", NULL};
static const char *const deny_off[] = {"--enable-l4-deny-firewall-rollback-cleanup=true", NULL};
static const char *const four_workers[] = {"--concurrent-service-syncs=4", NULL};
static const char *const recorded[] = {"--cluster-name=c1", NULL};

const struct flow flows_gce[] = {
    /* ---- there, and gone again ---- */
    {.name = "create-first", .steps = {{STEP_CREATE, "web", CLUSTER}}, .whole = true},
    {.name = "create-second",
     .start = {NEAR},
     .steps = {{STEP_CREATE, "web", CLUSTER}},
     .whole = true},
    {.name = "create-local", .start = {NEAR}, .steps = {{STEP_CREATE, "web", LOCAL}}},
    {.name = "create-static", .start = {NEAR}, .steps = {{STEP_CREATE, "web", STATIC}}},
    {.name = "create-cold",
     .start = {NEAR},
     .cold = true,
     .steps = {{STEP_CREATE, "web", CLUSTER}}},
    {.name = "delete-one", .start = {NEAR, WEB}, .steps = {{STEP_DELETE, "web"}}, .whole = true},
    {.name = "delete-last", .start = {WEB}, .steps = {{STEP_DELETE, "web"}}, .whole = true},
    {.name = "delete-local", .start = {NEAR, {"web", LOCAL}}, .steps = {{STEP_DELETE, "web"}}},
    {.name = "delete-static", .start = {NEAR, {"web", STATIC}}, .steps = {{STEP_DELETE, "web"}}},
    {.name = "to-cluster-ip",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")}}},
    /* ---- edits ---- */
    {.name = "port-change",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":81}]")}}},
    {.name = "to-udp",
     .start = {NEAR, {"web", "{\"ports\":[{\"port\":53}]}"}},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":53,\"protocol\":\"UDP\"}]")}}},
    {.name = "ranges-change",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]")}}},
    {.name = "to-local",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101")}}},
    {.name = "to-local-last",
     .start = {WEB},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101")}}},
    {.name = "to-cluster",
     .start = {NEAR, {"web", LOCAL}},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null")}}},
    {.name = "to-cluster-first",
     .start = {{"web", LOCAL}},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null")}}},
    {.name = "affinity-change",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"sessionAffinity\":\"ClientIP\"")}}},
    {.name = "tier-change",
     .start = {NEAR, WEB},
     .steps =
         {{STEP_PATCH, "web",
           "{\"metadata\":{\"annotations\":{\"cloud.google.com/network-tier\":\"Standard\"}}}"}},
     .moves = "web"},
    {.name = "static-set",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerIP\":\"203.0.113.200\"")}},
     .moves = "web"},
    {.name = "static-change",
     .start = {NEAR, {"web", STATIC}},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerIP\":\"203.0.113.201\"")}},
     .moves = "web"},
    {.name = "static-clear",
     .start = {NEAR, {"web", STATIC}},
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerIP\":null")}}},
    {.name = "static-affinity",
     .start = {NEAR, {"web", STATIC}},
     .steps = {{STEP_PATCH, "web", SPEC("\"sessionAffinity\":\"ClientIP\"")}}},
    {.name = "everything-change",
     .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web",
                SPEC("\"ports\":[{\"port\":81}],\"sessionAffinity\":\"ClientIP\","
                     "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101,"
                     "\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]")}}},
    {.name = "exchange-ports",
     .start = {{"near", STATIC}, {"web", STATIC_443}},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":80}]")},
               {STEP_PATCH, "near", SPEC("\"ports\":[{\"port\":443}]")}}},
    /* ---- nodes ---- */
    {.name = "node-added", .start = {NEAR, WEB}, .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "node-removed", .start = {NEAR, WEB}, .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    /* with more than one worker those that follow the nodes are updated in one call */
    {.name = "node-added-together",
     .start = {NEAR, WEB},
     .flags = four_workers,
     .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "node-removed-together",
     .start = {NEAR, WEB},
     .flags = four_workers,
     .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    /* ---- controllers that come again ---- */
    {.name = "restart", .start = {NEAR, WEB}, .cold = true, .quiet = true},
    {.name = "adopt",
     .world = "gce/world-legacy.json",
     .start_flags = recorded,
     .flags = recorded,
     .cold = true,
     .quiet = true},
    {.name = "deny-on", .start = {NEAR, WEB}, .flags = deny_on, .cold = true},
    {.name = "deny-off",
     .start = {NEAR, WEB},
     .start_flags = deny_on,
     .flags = deny_off,
     .cold = true},
    /* ---- two at once, around the check that they share ---- */
    {.name = "create-and-delete",
     .start = {WEB},
     .flags = four_workers,
     .steps = {{STEP_CREATE, "new", "{\"ports\":[{\"port\":8080}]}"}, {STEP_DELETE, "web"}}},
    {.name = "delete-both",
     .start = {NEAR, WEB},
     .flags = four_workers,
     .steps = {{STEP_DELETE, "near"}, {STEP_DELETE, "web"}}},
    {.name = "to-local-and-create",
     .start = {WEB},
     .flags = four_workers,
     .steps = {{STEP_CREATE, "new", "{\"ports\":[{\"port\":8080}]}"},
               {STEP_PATCH, "web",
                SPEC("\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101")}}},
    {0},
};
