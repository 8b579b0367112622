/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws_many.c: flows of AWS: nodes come and go, several Services at once, a cloud that is slow to show what was done, starts
 * (flows_aws.h).  Source: docs/spec/aws.md 4.11, 5.11, 7.2 to 7.5; ADR 0023. */
#include "tests/fault/flows_aws.h"

#define RELEASE "{\"group_release_ms\":20000}"
#define BLIND   "{\"consistency_ms\":3000}"
#define BOTH    "{\"consistency_ms\":3000,\"group_release_ms\":20000,\"draining_ms\":60000}"

const struct flow flows_aws_many[] = {
    /* ---- nodes ---- */
    {AWS, .name = "aws-nlb-node-added", .start = {WEB}, .steps = {{STEP_ADD_NODES, "1", NULL}}},
    {AWS, .name = "aws-nlb-node-removed", .start = {WEB},
     .steps = {{STEP_REMOVE_NODE, "node-2", NULL}}},
    {AWS, .name = "aws-classic-node-added", .start = {WEB_CLASSIC},
     .steps = {{STEP_ADD_NODES, "1", NULL}}},
    {AWS, .name = "aws-classic-node-removed", .start = {WEB_CLASSIC},
     .steps = {{STEP_REMOVE_NODE, "node-2", NULL}}},
    {AWS, .name = "aws-nodes-added", .start = {NEAR, OLD, WEB},
     .steps = {{STEP_ADD_NODES, "2", NULL}}},
    {AWS, .name = "aws-node-removed", .start = {NEAR, OLD, WEB},
     .steps = {{STEP_REMOVE_NODE, "node-0", NULL}}},
    {AWS, .name = "aws-node-replaced", .start = {NEAR, OLD, WEB_CLASSIC},
     .steps = {{STEP_ADD_NODES, "1", NULL}, {STEP_REMOVE_NODE, "node-1", NULL}}},
    /* ---- several at once, who share the group of the nodes and the rule for smaller packets ---- */
    {AWS, .name = "aws-create-three", .start = {OLD},
     .steps = {{STEP_CREATE, "s1", ON_NLB},
               {STEP_CREATE, "s2", CLASSIC},
               {STEP_CREATE, "s3", NLB_OF(UDP_PORT "," RANGES(TEN))}}},
    {AWS, .name = "aws-delete-three",
     .start = {NEAR, {"s1", ON_NLB}, {"s2", CLASSIC}, {"s3", NLB_OF(UDP_PORT "," RANGES(TEN))}},
     .steps = {{STEP_DELETE, "s1", NULL}, {STEP_DELETE, "s2", NULL}, {STEP_DELETE, "s3", NULL}}},
    {AWS, .name = "aws-come-and-go", .start = {NEAR, {"s1", NLB_OF(ONE_PORT "," RANGES(TEN))}},
     .steps = {{STEP_DELETE, "s1", NULL},
               {STEP_CREATE, "s2", NLB_OF(ONE_PORT "," RANGES(TEN))},
               {STEP_PATCH, "near", SPEC(RANGES(TEN))}}},
    {AWS, .name = "aws-same-ranges",
     .start = {{"s1", NLB_OF(ONE_PORT "," RANGES(TEN))},
               {"s2", NLB_OF(ONE_PORT "," RANGES(TEN "," DOCS))}},
     .steps = {{STEP_DELETE, "s2", NULL}}},
    {AWS, .name = "aws-shared-probe", .start = {NEAR, OLD}, .cold = true, .config = SHARED_PROBE,
     .steps = {{STEP_CREATE, "new", ON_NLB}}, .ends = {"\"HealthCheckPort\":\"10256\""}},
    {AWS, .name = "aws-shared-probe-delete", .start_config = SHARED_PROBE, .config = SHARED_PROBE,
     .start = {NEAR, WEB, {"s2", NLB_OF(ONE_PORT "," RANGES(TEN))}},
     .steps = {{STEP_DELETE, "s2", NULL}}},
    /* ---- where AWS takes its time: interfaces hold their groups, readers do not see yet what was written ---- */
    {AWS, .name = "aws-slow-classic-delete", .settings = RELEASE, .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-slow-managed-delete", .settings = RELEASE, .start_config = MANAGED,
     .config = MANAGED, .start = {NEAR, WEB}, .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}", "!k8s-default-web-{hash}"}},
    {AWS, .name = "aws-slow-to-own-groups", .settings = RELEASE, .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_PATCH, "web", ANNOTATE(OWN)}}, .ends = {"!k8s-elb-{default/web}"}},
    {AWS, .name = "aws-blind-nlb-create", .settings = BLIND, .start = {NEAR},
     .steps = {{STEP_CREATE, "web", ON_NLB}}},
    {AWS, .name = "aws-blind-managed-create", .settings = BLIND, .start_config = MANAGED,
     .config = MANAGED, .start = {NEAR}, .steps = {{STEP_CREATE, "web", ON_NLB}}},
    {AWS, .name = "aws-blind-classic-create", .settings = BLIND, .start = {OLD},
     .steps = {{STEP_CREATE, "web", CLASSIC}}},
    {AWS, .name = "aws-blind-nlb-delete", .settings = BOTH, .start_config = MANAGED,
     .config = MANAGED, .start = {NEAR, WEB}, .steps = {{STEP_DELETE, "web", NULL}},
     .ends = {"!{default/web}", "!k8s-default-web-{hash}"}},
    {AWS, .name = "aws-blind-classic-delete", .settings = BOTH, .start = {OLD, WEB_CLASSIC},
     .steps = {{STEP_DELETE, "web", NULL}}, .ends = {"!{default/web}"}},
    {AWS, .name = "aws-blind-edits", .settings = BLIND, .start = {NEAR, WEB},
     .steps = {{STEP_PATCH, "web", SPEC("\"ports\":[{\"port\":81}]")},
               {STEP_PATCH, "web", SPEC(TWO_PORTS "," RANGES(TEN))}}},
    {AWS, .name = "aws-blind-nodes", .settings = BOTH, .start = {OLD, WEB},
     .steps = {{STEP_ADD_NODES, "1", NULL}, {STEP_REMOVE_NODE, "node-1", NULL}}},
    /* ---- starts ---- */
    {AWS, .name = "aws-restart", .start = {NEAR, OLD, WEB}, .cold = true, .quiet = true},
    {AWS, .name = "aws-restart-managed", .start_config = MANAGED, .config = MANAGED,
     .start = {NEAR, OLD, WEB}, .cold = true, .quiet = true},
    {AWS, .name = "aws-adopt", .world = "aws/world.json", .cold = true},
    {0},
};
