/* SPDX-License-Identifier: Apache-2.0 */
/* aws.c: see reach.h. */
#include "sim/reach/reach.h"

void reach_aws(struct reach *r, struct json_object *world)
{
    (void)r;
    (void)world;
}
