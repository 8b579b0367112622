/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws.c: flows of AWS: a Service comes and goes (flows_aws.h).  Source:
 * docs/spec/aws.md 4, 5, 7. */
#include "tests/fault/flows_aws.h"

#define OTHERS NOTE("type") ":\"external\""
#define OVER   NOTE("handed-over") ":\"true\""

/* Another controller's class comes while no controller runs, and the finalizers go. */
#define TO_OTHERS                                                                                  \
    .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")},                                 \
              {STEP_PATCH, "web",                                                                  \
               "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"LoadBalancer\","          \
               "\"loadBalancerClass\":\"example.com/lb\"}}"}},                                     \
    .cold = true, .ends = {"!{default/web}"}

/* The type and the finalizer go while no controller runs. */
#define ALL_GO                                                                                     \
    .steps = {{STEP_PATCH, "web",                                                                  \
               "{\"metadata\":{\"finalizers\":null},\"spec\":{\"type\":\"ClusterIP\"}}"}},         \
    .cold = true, .ends = {"!{default/web}"}

const struct flow flows_aws[] = {
    /* ---- network balancers come ---- */
    {AWS, .name = "aws-nlb-first", .steps = {{STEP_CREATE, "web", NLB_OF(ONE_PORT)}}},
    {AWS, .name = "aws-nlb-create", .start = {NEAR, OLD}, .whole = true,
     .steps = {{STEP_CREATE, "web", ON_NLB}}},
    {AWS, .name = "aws-nlb-create-udp-local", .start = {NEAR}, .whole = true,
     .steps = {{STEP_CREATE, "web", NLB_OF(UDP_PORT "," LOCAL)}}},
    {AWS, .name = "aws-nlb-create-tls", .start = {NEAR},
     .steps = {{STEP_CREATE, "web",
                NLB_WITH(CERT_443 "," NOTE(
                    "target-group-attributes") ":\"preserve_client_ip.enabled=false\"")}},
     .ends = {"\"TLS\"", "certificate/one"}},
    {AWS, .name = "aws-nlb-create-managed", .start = {NEAR}, .start_config = MANAGED,
     .config = MANAGED, .whole = true, .steps = {{STEP_CREATE, "web", ON_NLB}},
     .ends = {"k8s-default-web-{hash}"}},
    {AWS, .name = "aws-nlb-create-own-groups", .start = {NEAR}, .start_config = MANAGED,
     .config = MANAGED, .steps = {{STEP_CREATE, "web", NLB_WITH(OWN)}},
     .ends = {"!k8s-default-web-{hash}"}},
    {AWS, .name = "aws-nlb-create-internal", .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NLB_WITH(NOTE("internal") ":\"true\"," USERS_AB)}},
     .ends = {"\"internal\"", "subnet-0e000000000000001"}},
    {AWS, .name = "aws-nlb-create-cold", .start = {NEAR}, .cold = true,
     .steps = {{STEP_CREATE, "web", ON_NLB}}},
    /* ---- classic ones ---- */
    {AWS, .name = "aws-classic-first", .steps = {{STEP_CREATE, "web", CLASSIC}}},
    {AWS, .name = "aws-classic-create", .start = {NEAR, OLD}, .whole = true,
     .steps = {{STEP_CREATE, "web", CLASSIC}}},
    {AWS, .name = "aws-classic-create-ssl", .start = {OLD}, .whole = true,
     .steps =
         {{STEP_CREATE, "web",
           CLASSIC_WITH(
               CERT_443
               "," NOTE("ssl-negotiation-policy") ":\"ELBSecurityPolicy-TLS-1-2-2017-01\"," NOTE(
                   "additional-resource-tags") ":\"cost=7\"")}},
     .ends = {"k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01", "certificate/one"}},
    {AWS, .name = "aws-classic-create-proxy", .start = {OLD},
     .steps = {{STEP_CREATE, "web", CLASSIC_WITH(NOTE("proxy-protocol") ":\"*\"")}},
     .ends = {"k8s-proxyprotocol-enabled"}},
    {AWS, .name = "aws-classic-create-own-groups", .start = {OLD},
     .steps = {{STEP_CREATE, "web", CLASSIC_WITH(OWN "," EXTRA)}},
     .ends = {"!k8s-elb-{default/web}"}},
    {AWS, .name = "aws-classic-create-one-for-all", .start_config = ONE_FOR_ALL,
     .config = ONE_FOR_ALL, .start = {OLD}, .steps = {{STEP_CREATE, "web", CLASSIC}},
     .ends = {"!k8s-elb-{default/web}"}},
    {AWS, .name = "aws-classic-create-cold", .start = {OLD}, .cold = true,
     .steps = {{STEP_CREATE, "web", CLASSIC}}},
    /* ---- gone again ---- */
    {AWS, .name = "aws-nlb-delete", .start = {NEAR, OLD, WEB}, .whole = true,
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-delete-last", .start = {WEB}, .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-delete-udp-local", .start = {NEAR, {"web", NLB_OF(UDP_PORT "," LOCAL)}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-delete-managed", .start_config = MANAGED, .config = MANAGED,
     .start = {NEAR, WEB}, .whole = true, .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}", "!k8s-default-web-{hash}"}},
    {AWS, .name = "aws-nlb-delete-own-groups", .start_config = MANAGED, .config = MANAGED,
     .start = {NEAR, {"web", NLB_WITH(OWN)}}, .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-delete", .start = {NEAR, OLD, WEB_CLASSIC}, .whole = true,
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-delete-last", .start = {WEB_CLASSIC},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-delete-own-groups",
     .start = {{"old", CLASSIC_WITH(OWN)}, {"web", CLASSIC_WITH(OWN "," EXTRA)}},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-delete-one-for-all", .start_config = ONE_FOR_ALL,
     .config = ONE_FOR_ALL, .start = {OLD, WEB_CLASSIC}, .whole = true,
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-to-cluster-ip", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")}}},
    {AWS, .name = "aws-classic-to-cluster-ip", .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_PATCH, "web", SPEC("\"type\":\"ClusterIP\"")}}},
    {AWS, .name = "aws-nlb-again", .start = {NEAR, WEB},
     .steps = {{STEP_DELETE, "web", NULL}, {STEP_CREATE, "web", ON_NLB}}},
    {AWS, .name = "aws-classic-again", .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_DELETE, "web", NULL}, {STEP_CREATE, "web", CLASSIC}}},
    /* ---- handed over to another controller ---- */
    {AWS, .name = "aws-nlb-to-others", .start = {NEAR, WEB}, TO_OTHERS},
    {AWS, .name = "aws-classic-to-others", .start = {OLD, WEB_CLASSIC}, TO_OTHERS},
    {AWS, .name = "aws-nlb-all-goes", .start = {NEAR, WEB}, ALL_GO},
    {AWS, .name = "aws-classic-all-goes", .start = {OLD, WEB_CLASSIC}, ALL_GO},
    {AWS, .name = "aws-nlb-handed-over", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OTHERS)},
               {STEP_REST, "web", NULL},
               {STEP_PATCH, "web", ANNOTATE(OVER)}},
     .moves = "web", .swaps = true, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-handed-over", .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OTHERS "," OVER)}}, .moves = "web", .swaps = true,
     .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-handed-over-and-back", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OTHERS)},
               {STEP_ADD_NODES, "1", NULL},
               {STEP_PATCH, "web", ANNOTATE(NLB)}}},
    {AWS, .name = "aws-nlb-handed-over-deleted", .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OTHERS)}, {STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}"}},
    /* ---- of the other kind: refused while the first is there, which goes with the Service ---- */
    {AWS, .name = "aws-classic-to-nlb", .start = {NEAR, OLD, WEB_CLASSIC},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NLB)},
               {STEP_REST, "web", NULL},
               {STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}"}},
    {AWS, .name = "aws-nlb-to-classic", .start = {NEAR, OLD, WEB},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NOTE("type") ":null")},
               {STEP_REST, "web", NULL},
               {STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}"}},
    {AWS, .name = "aws-classic-to-nlb-and-back", .start = {NEAR, OLD, WEB_CLASSIC},
     .steps = {{STEP_PATCH, "web", ANNOTATE(NLB)},
               {STEP_REST, "web", NULL},
               {STEP_PATCH, "web", ANNOTATE(NOTE("type") ":null")}}},
    {0},
};
