/* SPDX-License-Identifier: Apache-2.0 */
/* gce.c: see reach.h. */
#include "sim/reach/reach.h"

void reach_gce(struct reach *r, struct json_object *world)
{
    (void)r;
    (void)world;
}
