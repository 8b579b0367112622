/* SPDX-License-Identifier: Apache-2.0 */
/* flows_azure_batches.c: flows of Azure: many Services at once, one of which cannot be served
 * (flows_azure.h).
 *
 * What Azure refuses it either names, or it does not, and then it must be found out.  Source:
 * docs/spec/azure.md 12.6. */
#include "tests/fault/flows_azure.h"

/* Six of which the fourth is none. */
#define SIX_WITH(spec)                                                                             \
    {STEP_CREATE, "s0", EXTERNAL}, {STEP_CREATE, "s1", INTERNAL}, {STEP_CREATE, "s2", LOCAL},      \
        {STEP_CREATE, "s3", spec}, {STEP_CREATE, "s4", LABEL("free")},                             \
        {STEP_CREATE, "s5", EXTERNAL},                                                             \
    {                                                                                              \
        STEP_REST, "s3", NULL                                                                      \
    }

/* Ten of which the fourth is none: halves of halves are tried. */
#define TEN_WITH(spec)                                                                             \
    {STEP_CREATE, "s0", EXTERNAL}, {STEP_CREATE, "s1", INTERNAL}, {STEP_CREATE, "s2", LOCAL},      \
        {STEP_CREATE, "s3", spec}, {STEP_CREATE, "s4", EXTERNAL}, {STEP_CREATE, "s5", INTERNAL},   \
        {STEP_CREATE, "s6", LABEL("free")}, {STEP_CREATE, "s7", EXTERNAL},                         \
        {STEP_CREATE, "s8", EXTERNAL}, {STEP_CREATE, "s9", EXTERNAL},                              \
    {                                                                                              \
        STEP_REST, "s3", NULL                                                                      \
    }

const struct flow flows_azure_batches[] = {
    /* By a resource that no other Service has: a DNS label. */
    {AZURE, .name = "azure-batch-poisoned", .start = {NEAR},
     .steps = {SIX_WITH(LABEL("taken")),
               {STEP_PATCH, "s3", ANNOTATE(NOTE("dns-label-name") ":\"mine\"")}}},
    /* By name in a document of all: its frontend asks for a node's address. */
    {AZURE, .name = "azure-batch-named", .start = {NEAR},
     .steps = {SIX_WITH(NOTED(IN "," NOTE("load-balancer-ipv4") ":\"10.240.1.0\"")),
               {STEP_PATCH, "s3", ANNOTATE(NOTE("load-balancer-ipv4") ":null")}}},
    /* In a document of all, without a name. */
    {AZURE, .name = "azure-batch-bisected", .start = {NEAR}, .poison = "\"frontendPort\":6666",
     .steps = {TEN_WITH("{\"ports\":[{\"port\":6666}]}"),
               {STEP_PATCH, "s3", SPEC("\"ports\":[{\"port\":6667}]")}}},
    /* In the security group, whose rules are no Service's own. */
    {AZURE, .name = "azure-batch-security", .start = {NEAR},
     .steps = {SIX_WITH(NOTED(NOTE("allowed-service-tags") ":\"No Such Tag\"")),
               {STEP_PATCH, "s3", ANNOTATE(NOTE("allowed-service-tags") ":null")}}},
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
