/* SPDX-License-Identifier: Apache-2.0 */
/* azure_refs_rules.h: the pools that an IP configuration names: put in, taken out, in place.
 *
 * Network interfaces, models of scale sets and instances hold the same lists at different depths;
 * what is one rule for all three stands here.  A configuration that serves a balancer of another
 * name is left alone (7.1), and the caller continues with the next machine (17 row 13).
 * Source: docs/spec/azure.md 7.1 to 7.3.  Pure; edits the documents that it is given. */
#ifndef TRIMTAB_AZURE_REFS_RULES_H
#define TRIMTAB_AZURE_REFS_RULES_H

#include "providers/azure/model/azure_doc.h"

/* IDs of pools that a machine, or a model, must join and leave.  The name of a pool tells its
 * family. */
struct azure_refs {
    const char *const *join;
    size_t n_join;
    const char *const *leave;
    size_t n_leave;
};

/* `configs`: ipConfigurations of a network interface.  Returns whether they changed; *ret_why (may
 * be set either way, else untouched) says why a pool was not joined. */
bool azure_refs_edit(struct arena *a, struct json_object *configs, const struct azure_refs *refs,
                     bool standard_sku, const char **ret_why);
/* `nics`: networkInterfaceConfigurations of a model or an instance: leaves everywhere, joins
 * on the primary one. */
bool azure_refs_edit_nics(struct arena *a, struct json_object *nics, const struct azure_refs *refs,
                          bool standard_sku, const char **ret_why);
/* Does any configuration name that pool? */
bool azure_refs_have(struct json_object *configs, const char *pool);
bool azure_refs_nics_have(struct json_object *nics, const char *pool);
/* The only one, or the one that says primary; NULL otherwise. */
struct json_object *azure_refs_primary(struct json_object *array);

#endif
