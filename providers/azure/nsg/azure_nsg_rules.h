/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_rules.h: what one Service does to the rules of a security group: clean, patch, retain.
 *
 *   clean    its addresses leave every rule of ours, but for ports that other Services still need
 *            there
 *   patch    the rules that it wants get its addresses; what is missing is made
 *   retain   what no Service and no node has leaves every rule of ours
 *
 * Clean before patch: the rules of a Service that did not change end as they were, and nothing is
 * written.  Rules that have become empty stay until the group is written, so that the next Service
 * of a batch finds them with their priorities.  Sets everywhere: a value given twice counts once
 * (18 row 1).
 * Source: docs/spec/azure.md 9.4, 9.5, 9.8; 12.5 (4); 18 rows 1, 2, 12, 13.  Pure. */
#ifndef TRIMTAB_AZURE_NSG_RULES_H
#define TRIMTAB_AZURE_NSG_RULES_H

#include "common/base/err.h"
#include "common/base/strset.h"
#include "providers/azure/nsg/azure_nsg_doc.h"

#include <stdbool.h>

/* Needs of other Services at the destinations of this one (9.5). */
struct azure_nsg_shared {
    struct str_set ports[AZURE_PROTOCOLS]; /* decimal texts */
    struct str_set denied;                 /* addresses for which one of them wants the deny rule */
    struct str_set addresses; /* where one of them is: what is split off opens no other */
};

struct azure_nsg_pass {
    const struct azure_access *access;
    bool patch;                                  /* false: clean and retain only */
    bool adds_only;                              /* patch only */
    struct str_set destinations[AZURE_FAMILIES]; /* canonical addresses */
    struct azure_nsg_shared shared;
    struct str_set allowed;     /* addresses that may be destinations: for a whole batch … */
    struct str_set allowed_now; /* … and during this pass */
};

/* ERR_QUOTA: no priority is free, or Azure's limits would be exceeded by growing; then
 * nothing has changed. */
int azure_nsg_apply(struct azure_nsg *g, const struct azure_nsg_pass *p,
                    struct err *err) _warn_unused_;

/* Would the group take what the Service needs once it has addresses of these families, beside what
 * it has?  Codes as azure_nsg_apply(); `g` is a copy that is not written, and has it then. */
int azure_nsg_try(struct azure_nsg *g, const struct azure_access *x,
                  const bool families[AZURE_FAMILIES], struct err *err) _warn_unused_;

#endif
