/* SPDX-License-Identifier: Apache-2.0 */
/* azure_doc_lines.h: two JSON documents as lines of what differs, for golden files.
 *
 *     properties.securityRules[allow].properties
 *       - priority = 500
 *       + priority = 501
 *
 * Every member counts, known to the provider or not, so a member that is lost on the way shows.
 * Elements of arrays are known by their name; one that is new or gone, and a list of plain values,
 * is one value.  IDs in the group "rg" are shortened to "~/…". */
#ifndef TRIMTAB_TESTS_GOLDEN_AZURE_DOC_LINES_H
#define TRIMTAB_TESTS_GOLDEN_AZURE_DOC_LINES_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/data/json.h"

/* The differences of `now` and `was`, in both directions; either may be NULL. */
void azure_doc_lines(struct arena *a, struct str_buf *b, struct json_object *was,
                     struct json_object *now);
/* The text with IDs shortened. */
const char *azure_doc_short(struct arena *a, const char *text);

#endif
