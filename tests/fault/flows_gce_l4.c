/* SPDX-License-Identifier: Apache-2.0 */
/* flows_gce_l4.c: the flows of Google's balancers with a backend service (flows.h): internal on
 * instance groups, internal on NEGs, external on groups and on NEGs, NEGs alone, and every change
 * from one kind to another.
 *
 * "near" is a bystander of the same kind: it shares health check and instance groups, and must not
 * notice anything. */
#include "tests/fault/flows.h"

#define INTERNAL   "\"notes\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}"
#define RBS        "\"notes\":{\"cloud.google.com/l4-rbs\":\"enabled\"}"
#define PORT_80    "\"ports\":[{\"port\":80}]"
#define LOCAL      "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32101"
#define SPEC(x)    "{\"spec\":{" x "}}"
#define NOTES(x)   "{\"metadata\":{\"annotations\":{" x "}}}"
#define TO_LOCAL   SPEC(LOCAL)
#define TO_CLUSTER SPEC("\"externalTrafficPolicy\":\"Cluster\",\"healthCheckNodePort\":null")
#define TO_UDP     SPEC("\"ports\":[{\"port\":80,\"protocol\":\"UDP\"}]")
#define ONE_FAMILY SPEC("\"ipFamilyPolicy\":\"SingleStack\",\"ipFamilies\":[\"IPv4\"]")
#define NO_TYPE    SPEC("\"type\":\"ClusterIP\"")
#define TO_CLASS(x)                                                                                \
    "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"LoadBalancer\","                     \
    "\"loadBalancerClass\":"                                                                       \
    "\"networking.gke.io/" x "\"}}"
#define ONLY_GENERIC                                                                               \
    "{\"metadata\":{\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"]}}"
#define PODS "{\"node-0\":1,\"node-4\":2}"

#define ILB        "{" PORT_80 "," INTERNAL "}"
#define ILB_LOC    "{" PORT_80 "," LOCAL "," INTERNAL "}"
#define NET        "{" PORT_80 "," RBS "}"
#define UNHELD     "hold-address-first = false"
#define PORT_443   "\"ports\":[{\"port\":443}]"
#define STATIC     "\"loadBalancerIP\":\"203.0.113.200\""
#define AT_80      "{" PORT_80 "," STATIC "," RBS "}"
#define AT_443     "{" PORT_443 "," STATIC "," RBS "}"
#define NET_LOC    "{" PORT_80 "," LOCAL "," RBS "}"
#define DUAL       "\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define NET_DUAL   "{" PORT_80 "," DUAL "," RBS "}"
#define ILB_DUAL   "{" PORT_80 "," DUAL "," INTERNAL "}"
#define PLAIN      "{" PORT_80 "}"
#define OF_CLASS   "\"loadBalancerClass\":\"networking.gke.io/standalone-passthrough-lb-neg\""
#define ALONE_BARE "{" PORT_80 "," OF_CLASS "}"
#define ALONE                                                                                      \
    "{" PORT_80 "," OF_CLASS ",\"notes\":{\"networking.gke.io/custom-forwarding-rule\":\"mine\"}}"

static const char *const l4[] = {"--run-l4-controller", "--enable-l4-neg", NULL};
static const char *const l4_together[] = {"--run-l4-controller", "--enable-l4-neg",
                                          "--concurrent-service-syncs=4", NULL};
static const char *const both[] = {"--run-l4-controller", "--enable-l4-neg",
                                   "--run-l4-netlb-controller", NULL};
static const char *const both_together[] = {"--run-l4-controller", "--enable-l4-neg",
                                            "--run-l4-netlb-controller",
                                            "--concurrent-service-syncs=4", NULL};
static const char *const negs[] = {"--run-l4-controller",           "--enable-l4-neg",
                                   "--run-l4-netlb-controller",     "--enable-l4-netlb-neg",
                                   "--enable-l4-netlb-neg-default", NULL};
static const char *const alone[] = {"--enable-l4-standalone-negs",
                                    "--run-l4-standalone-neg-controller", NULL};
static const char *const deny[] = {"--run-l4-netlb-controller", "--enable-l4-deny-firewall=true",
                                   "--enable-l4-deny-firewall-rollback-cleanup=true", NULL};

/* Another controller's class comes while no controller runs, and the finalizers go. */
#define TO_OTHERS                                                                                  \
    .steps = {{STEP_PATCH, "web", NO_TYPE},                                                        \
              {STEP_PATCH, "web",                                                                  \
               "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"LoadBalancer\","          \
               "\"loadBalancerClass\":\"example.com/lb\"}}"}},                                     \
    .cold = true, .ends = {"!{default/web}"}

/* The type and the finalizers go in one edit. */
#define ALL_GO                                                                                     \
    .steps = {{STEP_PATCH, "web",                                                                  \
               "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"ClusterIP\"}}"}},         \
    .ends = {"!{default/web}"}

/* The flags of the start are those of the flow. */
#define KIND(f)       .start_flags = (f), .flags = (f)
#define WITH(f, spec) KIND(f), .start = {{"near", spec}, {"web", spec}}
#define ONLY(f, spec) KIND(f), .start = {{"web", spec}}

const struct flow flows_gce_l4[] = {
    /* ---- internal, NEGs ---- */
    {.name = "ilb-neg-create-first", KIND(l4), .steps = {{STEP_CREATE, "web", ILB}}, .whole = true},
    {.name = "ilb-neg-create-second",
     KIND(l4),
     .start = {{"near", ILB}},
     .steps = {{STEP_CREATE, "web", ILB}}},
    {.name = "ilb-neg-create-local",
     KIND(l4),
     .steps = {{STEP_CREATE, "web", ILB_LOC}, {STEP_PODS, "web", PODS}}},
    {.name = "ilb-neg-delete-one", WITH(l4, ILB), .steps = {{STEP_DELETE, "web"}}},
    {.name = "ilb-neg-delete-last", ONLY(l4, ILB), .steps = {{STEP_DELETE, "web"}}, .whole = true},
    {.name = "ilb-neg-port",
     WITH(l4, ILB),
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":81}]")}}},
    {.name = "ilb-neg-udp", WITH(l4, ILB), .steps = {{STEP_PATCH, "web", TO_UDP}}},
    {.name = "ilb-neg-to-local", WITH(l4, ILB), .steps = {{STEP_PATCH, "web", TO_LOCAL}}},
    {.name = "ilb-neg-to-cluster", ONLY(l4, ILB_LOC), .steps = {{STEP_PATCH, "web", TO_CLUSTER}}},
    {.name = "ilb-neg-global-access",
     WITH(l4, ILB),
     .steps = {{STEP_PATCH, "web",
                NOTES("\"networking.gke.io/internal-load-balancer-allow-global-access\":"
                      "\"true\"")}}},
    {.name = "ilb-neg-pods-move",
     ONLY(l4, ILB_LOC),
     .steps = {{STEP_PODS, "web", PODS}, {STEP_REST}, {STEP_PODS, "web", "{\"node-2\":1}"}}},
    {.name = "ilb-neg-node-added", WITH(l4, ILB), .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "ilb-neg-node-removed", WITH(l4, ILB), .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    {.name = "ilb-neg-node-added-together",
     .start_flags = l4,
     .flags = l4_together,
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "ilb-neg-node-removed-together",
     .start_flags = l4,
     .flags = l4_together,
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    {.name = "ilb-neg-zone-lost",
     WITH(l4, ILB),
     .steps = {{STEP_REMOVE_NODE, "node-2"}, {STEP_REMOVE_NODE, "node-5"}}},
    {.name = "ilb-neg-restart", WITH(l4, ILB), .cold = true, .quiet = true},
    {.name = "ilb-neg-cluster-ip",
     WITH(l4, ILB),
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")}}},
    /* ---- internal, instance groups ---- */
    {.name = "ilb-group-create-first", .steps = {{STEP_CREATE, "web", ILB}}, .whole = true},
    {.name = "ilb-group-create-second",
     .start = {{"near", ILB}},
     .steps = {{STEP_CREATE, "web", ILB}}},
    {.name = "ilb-group-delete-one",
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_DELETE, "web"}}},
    {.name = "ilb-group-delete-last", .start = {{"web", ILB}}, .steps = {{STEP_DELETE, "web"}}},
    {.name = "ilb-group-udp",
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_PATCH, "web", TO_UDP}}},
    {.name = "ilb-group-to-local",
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_PATCH, "web", TO_LOCAL}}},
    {.name = "ilb-group-node-added",
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "ilb-group-node-removed",
     .start = {{"near", ILB}, {"web", ILB}},
     .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    {.name = "ilb-group-restart",
     .start = {{"near", ILB}, {"web", ILB}},
     .cold = true,
     .quiet = true},
    /* ---- external, backend service ---- */
    {.name = "netlb-create-first", KIND(both), .steps = {{STEP_CREATE, "web", NET}}, .whole = true},
    {.name = "netlb-create-second",
     KIND(both),
     .start = {{"near", NET}},
     .steps = {{STEP_CREATE, "web", NET}}},
    {.name = "netlb-create-local", KIND(both), .steps = {{STEP_CREATE, "web", NET_LOC}}},
    /* The cloud chooses the first rule's address, so that its firewall comes last. */
    {.name = "netlb-create-local-unheld",
     KIND(both),
     .config = UNHELD,
     .steps = {{STEP_CREATE, "web", NET_LOC}}},
    {.name = "netlb-neg-create-unheld",
     KIND(negs),
     .config = UNHELD,
     .steps = {{STEP_CREATE, "web", NET}}},
    {.name = "ilb-neg-create-unheld",
     KIND(l4),
     .config = UNHELD,
     .steps = {{STEP_CREATE, "web", ILB}}},
    {.name = "ilb-group-create-unheld", .config = UNHELD, .steps = {{STEP_CREATE, "web", ILB}}},
    {.name = "netlb-exchange-ports",
     KIND(negs),
     .start = {{"near", AT_80}, {"web", AT_443}},
     .steps = {{STEP_PATCH, "web", SPEC(PORT_80)}, {STEP_PATCH, "near", SPEC(PORT_443)}}},
    {.name = "netlb-delete-last", ONLY(both, NET), .steps = {{STEP_DELETE, "web"}}},
    {.name = "netlb-delete-one", WITH(both, NET), .steps = {{STEP_DELETE, "web"}}},
    {.name = "netlb-port",
     WITH(both, NET),
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":81}]")}}},
    {.name = "netlb-udp", WITH(both, NET), .steps = {{STEP_PATCH, "web", TO_UDP}}},
    {.name = "netlb-to-local", WITH(both, NET), .steps = {{STEP_PATCH, "web", TO_LOCAL}}},
    {.name = "netlb-to-cluster", ONLY(both, NET_LOC), .steps = {{STEP_PATCH, "web", TO_CLUSTER}}},
    {.name = "netlb-tier",
     WITH(both, NET),
     .steps = {{STEP_PATCH, "web", NOTES("\"cloud.google.com/network-tier\":\"Standard\"")}},
     .moves = "web"},
    {.name = "netlb-static",
     WITH(both, NET),
     .steps = {{STEP_PATCH, "web", SPEC("\"loadBalancerIP\":\"203.0.113.200\"")}},
     .moves = "web"},
    {.name = "netlb-node-added", WITH(both, NET), .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "netlb-node-added-together",
     .start_flags = both,
     .flags = both_together,
     .start = {{"near", NET}, {"web", NET}},
     .steps = {{STEP_ADD_NODES, "1"}}},
    {.name = "netlb-restart", WITH(both, NET), .cold = true, .quiet = true},
    {.name = "netlb-deny-on",
     .start_flags = both,
     .flags = deny,
     .start = {{"web", NET}},
     .cold = true},
    {.name = "netlb-neg-create", KIND(negs), .steps = {{STEP_CREATE, "web", NET}}},
    {.name = "netlb-neg-delete", WITH(negs, NET), .steps = {{STEP_DELETE, "web"}}},
    {.name = "netlb-neg-node-removed", WITH(negs, NET), .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    /* ---- NEGs alone: what remembers them when a Service goes is the object beside it ---- */
    {.name = "alone-create", KIND(alone), .steps = {{STEP_CREATE, "web", ALONE}}, .whole = true},
    {.name = "alone-delete-one", WITH(alone, ALONE), .steps = {{STEP_DELETE, "web"}}},
    {.name = "alone-delete-last",
     ONLY(alone, ALONE),
     .steps = {{STEP_DELETE, "web"}},
     .whole = true},
    {.name = "alone-cluster-ip",
     WITH(alone, ALONE),
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\",\"loadBalancerClass\":null")}}},
    {.name = "alone-node-removed", WITH(alone, ALONE), .steps = {{STEP_REMOVE_NODE, "node-5"}}},
    {.name = "alone-restart", WITH(alone, ALONE_BARE), .cold = true, .quiet = true},
    /* ---- from two families to one ---- */
    {.name = "netlb-dual-removed",
     ONLY(both, NET_DUAL),
     .both = "EXTERNAL",
     .steps = {{STEP_PATCH, "web", ONE_FAMILY}},
     .moves = "web"},
    {.name = "netlb-dual-removed-ports",
     ONLY(both, NET_DUAL),
     .both = "EXTERNAL",
     .steps = {{STEP_PATCH, "web",
                SPEC("\"ports\":[{\"port\":81}],\"ipFamilyPolicy\":\"SingleStack\","
                     "\"ipFamilies\":[\"IPv4\"]")}},
     .moves = "web"},
    {.name = "ilb-dual-removed",
     ONLY(both, ILB_DUAL),
     .both = "INTERNAL",
     .steps = {{STEP_PATCH, "web", ONE_FAMILY}},
     .moves = "web"},
    /* ---- from kind to kind ---- */
    {.name = "kind-ilb-to-netlb",
     ONLY(both, ILB),
     .steps = {{STEP_PATCH, "web",
                NOTES("\"networking.gke.io/load-balancer-type\":null,"
                      "\"cloud.google.com/l4-rbs\":\"enabled\"")}},
     .moves = "web"},
    {.name = "kind-netlb-to-ilb",
     ONLY(both, NET),
     .steps = {{STEP_PATCH, "web",
                NOTES("\"networking.gke.io/load-balancer-type\":\"Internal\","
                      "\"cloud.google.com/l4-rbs\":null")}},
     .moves = "web"},
    {.name = "kind-ilb-to-pool",
     ONLY(both, ILB),
     .steps = {{STEP_PATCH, "web", NOTES("\"networking.gke.io/load-balancer-type\":null")}},
     .moves = "web"},
    {.name = "kind-pool-to-ilb",
     ONLY(both, PLAIN),
     .steps = {{STEP_PATCH, "web", NOTES("\"networking.gke.io/load-balancer-type\":\"Internal\"")}},
     .moves = "web"},
    {.name = "kind-pool-to-group",
     .start = {{"web", PLAIN}},
     .steps = {{STEP_PATCH, "web", NOTES("\"networking.gke.io/load-balancer-type\":\"Internal\"")}},
     .moves = "web"},
    {.name = "kind-group-to-pool",
     .start = {{"web", ILB}},
     .steps = {{STEP_PATCH, "web", NOTES("\"networking.gke.io/load-balancer-type\":null")}},
     .moves = "web"},
    /* A class comes, and the finalizers that told of the former kind have gone. */
    {.name = "kind-pool-to-class-external",
     ONLY(both, PLAIN),
     .steps = {{STEP_PATCH, "web", NO_TYPE}, {STEP_PATCH, "web", TO_CLASS("l4-regional-external")}},
     .cold = true,
     .moves = "web"},
    {.name = "kind-pool-to-class-internal",
     ONLY(both, PLAIN),
     .steps = {{STEP_PATCH, "web", NO_TYPE}, {STEP_PATCH, "web", TO_CLASS("l4-regional-internal")}},
     .cold = true,
     .moves = "web"},
    /* The generic finalizer alone is left of it, and the Service goes. */
    {.name = "kind-pool-to-class-deleted",
     ONLY(both, PLAIN),
     .steps = {{STEP_PATCH, "web", NO_TYPE},
               {STEP_PATCH, "web", TO_CLASS("l4-regional-external")},
               {STEP_PATCH, "web", ONLY_GENERIC},
               {STEP_DELETE, "web"}},
     .cold = true},
    {.name = "kind-pool-to-others", ONLY(both, PLAIN), TO_OTHERS},
    {.name = "kind-netlb-to-others", ONLY(both, NET), TO_OTHERS},
    {.name = "kind-ilb-to-others", WITH(both, ILB), TO_OTHERS},
    {.name = "kind-group-to-others", .start = {{"near", ILB}, {"web", ILB}}, TO_OTHERS},
    {.name = "kind-pool-all-goes", ONLY(both, PLAIN), ALL_GO, .cold = true},
    {.name = "kind-netlb-all-goes", ONLY(both, NET), ALL_GO, .cold = true},
    {.name = "kind-ilb-all-goes", WITH(both, ILB), ALL_GO, .cold = true},
    {.name = "kind-ilb-all-goes-watched", WITH(both, ILB), ALL_GO},
    {.name = "kind-group-all-goes", .start = {{"near", ILB}, {"web", ILB}}, ALL_GO, .cold = true},
    {.name = "kind-group-all-goes-watched", .start = {{"near", ILB}, {"web", ILB}}, ALL_GO},
    {.name = "kind-ilb-to-pool-unmarked",
     ONLY(both, ILB),
     .steps = {{STEP_PATCH, "web", "{\"metadata\":{\"finalizers\":null,\"annotations\":null}}"}},
     .cold = true,
     .moves = "web"},
    {.name = "kind-subsetting-on",
     .start = {{"web", ILB}},
     .flags = l4,
     .steps = {{STEP_CREATE, "new", ILB}},
     .cold = true},
    {0},
};
