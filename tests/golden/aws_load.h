/* SPDX-License-Identifier: Apache-2.0 */
/* aws_load.h: a saved state of AWS (the member "aws" of a world) as aws_world.h, by
 * the provider's own decoding. */
#ifndef TRIMTAB_TESTS_GOLDEN_AWS_LOAD_H
#define TRIMTAB_TESTS_GOLDEN_AWS_LOAD_H

#include "tests/support/aws_world.h"

/* `state`: text of {"aws": …}; `instances`: those to be known.  What is loaded lives as long as the
 * world's arena. */
int aws_load_world(struct aws_world *w, const struct aws_naming *naming, const char *state,
                   struct aws_texts instances, struct err *err);

#endif
