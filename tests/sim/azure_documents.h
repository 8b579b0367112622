/* SPDX-License-Identifier: Apache-2.0 */
/* azure_documents.h: two documents of Azure's resource manager compared leaf by leaf, for
 * azure_adoption.c and azure_traces.c.
 *
 * A leaf is called by its path, members of lists by their names
 * ("properties.probes[p1].properties.port"); a list without names is one leaf, sorted.  What the
 * server says about a document (etag, states) does not count, and of the priorities of security
 * rules only which ones are taken does ("priorities"), since they tell the order in
 * which Services came. */
#ifndef TRIMTAB_TESTS_AZURE_DOCUMENTS_H
#define TRIMTAB_TESTS_AZURE_DOCUMENTS_H

#include "tests/sim/adoption.h"

/* Notes every leaf that is not the same.  NULL is a document without leaves. */
void azure_documents_compare(struct adoption_compare *c, const char *resource,
                             struct json_object *want, struct json_object *got);

#endif
