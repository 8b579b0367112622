/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws_options.c: flows of AWS under [Trimtab]: what upstream never does (flows_aws.h).
 * Source: docs/adr/0024. */
#include "tests/fault/flows_aws.h"

#define OPTION(x) .start_config = "[Trimtab]\n" x, .config = "[Trimtab]\n" x
#define EDIT(x)   .steps = {{STEP_PATCH, "web", x}}
#define TAGS(x)   NOTE("additional-resource-tags") ":" x
#define INTERNAL  NOTE("internal") ":\"true\""
#define BOTH(rest)                                                                                 \
    "{\"name\":\"tcp\",\"port\":53,\"nodePort\":31053,\"protocol\":\"TCP\"},"                      \
    "{\"name\":\"udp\",\"port\":53,\"nodePort\":31053,\"protocol\":\"UDP\"}" rest
#define MIXED "\"ports\":[" BOTH(",{\"name\":\"http\",\"port\":80}") "]"

const struct flow flows_aws_options[] = {
    {AWS, .name = "aws-option-tags", OPTION("NLBTags"),
     .start = {NEAR, {"web", NLB_WITH(TAGS("\"cost=7\""))}},
     EDIT(ANNOTATE(TAGS("\"cost=8,team=a\""))), .ends = {"team", "!\"cost\":\"7\""}},
    {AWS, .name = "aws-option-tags-port-added", OPTION("NLBTags"),
     .start = {NEAR, {"web", "{" ONE_PORT "," NOTES(NLB) "}"}},
     EDIT("{\"metadata\":{\"annotations\":{" TAGS("\"cost=8\"") "}},\"spec\":{" TWO_PORTS "}}"),
     .ends = {"cost"}},
    {AWS, .name = "aws-option-subnets", OPTION("NLBSubnets"), .start = {NEAR, WEB},
     EDIT(ANNOTATE(USERS_AB)), .ends = {"subnet-0e000000000000002"}},
    {AWS, .name = "aws-option-subnets-back", OPTION("NLBSubnets"),
     .start = {NEAR, {"web", NLB_WITH(USERS_AB)}}, EDIT(ANNOTATE(NOTE("subnets") ":null")),
     .ends = {"!subnet-0e000000000000002\",\"Z"}},
    {AWS, .name = "aws-option-subnets-ranges", OPTION("NLBSubnets"), .start = {NEAR, WEB},
     EDIT("{\"metadata\":{\"annotations\":{" USERS_AB "}},\"spec\":{" RANGES(DOCS) "}}")},
    {AWS, .name = "aws-option-mixed-create", OPTION("MixedProtocols"), .start = {NEAR},
     .steps = {{STEP_CREATE, "web", NLB_OF(MIXED)}}, .ends = {"TCP_UDP"}},
    {AWS, .name = "aws-option-mixed-gets-udp", OPTION("MixedProtocols"),
     .start = {NEAR,
               {"web", NLB_OF("\"ports\":[{\"name\":\"tcp\",\"port\":53,\"nodePort\":31053}]")}},
     EDIT(SPEC("\"ports\":[" BOTH("") "]")), .ends = {"TCP_UDP"}},
    {AWS, .name = "aws-option-mixed-delete", OPTION("MixedProtocols"),
     .start = {NEAR, {"web", NLB_OF(MIXED)}}, .steps = {{STEP_DELETE, "web"}},
     .ends = {"!TCP_UDP"}},
    {AWS, .name = "aws-option-scheme-nlb", OPTION("ReplaceOnSchemeChange"), .start = {NEAR, WEB},
     EDIT(ANNOTATE(INTERNAL)), .moves = "web", .ends = {"internal"}},
    {AWS, .name = "aws-option-scheme-nlb-managed",
     .start_config = MANAGED "\n[Trimtab]\nReplaceOnSchemeChange",
     .config = MANAGED "\n[Trimtab]\nReplaceOnSchemeChange", .start = {NEAR, WEB},
     EDIT(ANNOTATE(INTERNAL)), .moves = "web", .ends = {"internal"}},
    {AWS, .name = "aws-option-scheme-classic", OPTION("ReplaceOnSchemeChange"),
     .start = {OLD, WEB_CLASSIC}, EDIT(ANNOTATE(INTERNAL)), .moves = "web", .ends = {"internal"}},
    {0},
};
