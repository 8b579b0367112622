/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_merge_rules.h: puts one Service's rules and probes into the shared document, or takes
 * them out.
 *
 * Only what the Service owns is touched.  What ARM fills in (the back references of probes and
 * frontends) is kept true while editing, so that many Services can be put into one document one
 * after the other, as if each had been written and read back.
 * Source: docs/spec/azure.md 6.5 (algorithm), 6.6 (shared probe), 12.5.  Pure. */
#ifndef TRIMTAB_AZURE_LB_MERGE_RULES_H
#define TRIMTAB_AZURE_LB_MERGE_RULES_H

#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/lb/azure_lb_index.h"

struct azure_merge {
    const struct azure_naming *naming;
    const struct azure_service *service;
    bool want;
    /* of the document; told of what is edited; NULL if there is none */
    struct azure_lb_index *index;
    const struct azure_fragment *fragments; /* one per family that is wanted; none without `want` */
    size_t n_fragments;
};
/* Edits `lb` in place.  The shared probe stays as long as rules of others use it and goes with its
 * last user.  True: something of ours changed. */
bool azure_lb_merge(struct arena *a, const struct azure_merge *m, struct json_object *lb);

#endif
