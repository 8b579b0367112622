/* SPDX-License-Identifier: Apache-2.0 */
/* json_shallow.h: a JSON text without what is nested deeper than its readers go.
 *
 * An editor of one object of the API server can nest its managedFields thousands of levels deep,
 * and can put a NUL into a text.  trimtab reads neither; a parser with a cap on nesting, or one
 * that refuses NULs, would refuse the whole document.  Not for documents that are
 * written back whole. */
#ifndef TRIMTAB_BASE_JSON_SHALLOW_H
#define TRIMTAB_BASE_JSON_SHALLOW_H

#include "common/base/arena.h"

#include <stddef.h>

/* text[0..*n) with a 0 in place of each container that has `depth` others around it, and U+FFFD in
 * place of each escaped NUL.  The text itself when there is neither, else a NUL-terminated copy in
 * `a` with its length in *n.  A text that is not JSON stays one.  Needs no stack.  Pure. */
const char *json_shallow(struct arena *a, const char *text, size_t *n, size_t depth);

#endif
