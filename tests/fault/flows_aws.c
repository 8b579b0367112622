/* SPDX-License-Identifier: Apache-2.0 */
/* flows_aws.c: flows of AWS: a Service comes, changes and goes (flows_aws.h).  Source: docs/spec/aws.md 4, 5, 7. */
#include "tests/fault/flows_aws.h"

const struct flow flows_aws[] = {
    /* ---- there ---- */
    {AWS, .name = "aws-nlb-first", .whole = true, .steps = {{STEP_CREATE, "web", ON_ONE}}},
    {AWS, .name = "aws-nlb-create", .start = {NEAR, OLD}, .whole = true,
     .steps = {{STEP_CREATE, "web", ON_NLB}}},
    {0},
};
