/* SPDX-License-Identifier: Apache-2.0 */
/* json_shallow.h: a JSON text without what is nested deeper than its readers go.
 *
 * Whoever may write one object of the API server may nest its managedFields thousands of levels deep.  Nobody here reads
 * that; a parser with a cap on nesting would refuse the whole document for it.  Not for documents that are written
 * back whole. */
#ifndef TRIMTAB_BASE_JSON_SHALLOW_H
#define TRIMTAB_BASE_JSON_SHALLOW_H

#include "common/base/arena.h"

#include <stddef.h>

/* text[0..*n) with a 0 in place of each container that has `depth` others around it.  The text itself when there is none, else
 * a NUL-terminated copy in `a` with its length in *n.  A text that is not JSON stays one.  Needs no stack.  Pure. */
const char *json_shallow(struct arena *a, const char *text, size_t *n, size_t depth);

#endif
