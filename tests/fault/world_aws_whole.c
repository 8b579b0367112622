/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws_whole.c: each Service has all that belongs to it in AWS, and nothing is without an owner. */
#include "tests/fault/world_aws.h"
int aws_check_whole(const struct world_view *v, struct err *err)
{
    (void)v;
    (void)err;
    return ERR_OK;
}
