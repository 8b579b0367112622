/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_merge_rules.h: puts one Service's rules and probes into the shared document, or takes
 * them out.
 *
 * Only what the Service owns is touched.  In a batch, what ARM fills in (the back references of
 * probes and frontends) is kept true while editing, so that many Services can be put into one
 * document one after the other, as if each had been written and read back.
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
    /* Others are put into the same document: back references are kept true, and the shared probe
     * stays as long as rules of others use it and goes with its last user.  The Go controller,
     * which trimtab-eval is compared with, takes it away for a Service of the mode that probes no
     * port, so that Azure refuses the document, and leaves it behind when its last users are
     * several rules of a Service that became Local. */
    bool batched;
};
/* Edits `lb` in place.  True: something of ours changed. */
bool azure_lb_merge(struct arena *a, const struct azure_merge *m, struct json_object *lb);

#endif
