/* SPDX-License-Identifier: Apache-2.0 */
/* azure_renew_rules.h: a public IP that has to be recreated under its own name, because Azure does
 * not change its IP tags.
 *
 * Names are upstream's, so the old one has to go before the new one can come.  Another public IP,
 * the interim one, is made with the new tags before: if Azure refuses them, nothing is lost.  The
 * frontend then stands on the interim one while the old one is deleted and recreated, so that
 * rules, probes and pools stay; in the end the interim one is released like any public IP that the
 * Service does not use.  Its name holds a digest of the tags: one with other tags is another
 * resource.
 * Source: docs/spec/azure.md 8.7; docs/adr/0030-putting-back.md.  Pure. */
#ifndef TRIMTAB_AZURE_RENEW_RULES_H
#define TRIMTAB_AZURE_RENEW_RULES_H

#include "providers/azure/pip/azure_pip_rules.h"

/* Does the annotation ask for other IP tags than the public IP has, and is it the Service's alone
 * to be recreated?  Not one that others use, that its owner made, or that the Service names or
 * whose address it names.  `pip` may be NULL. */
bool azure_renew_needed(struct arena *a, const struct azure_naming *n,
                        const struct azure_service *s, enum azure_family f,
                        struct json_object *pip);
/* The sentence for the owner whose other IP tags have no effect; NULL: they have. */
const char *azure_renew_refusal(struct arena *a, const struct azure_naming *n,
                                const struct azure_service *s, enum azure_family f,
                                struct json_object *pip);
/* Of that family. */
const char *azure_renew_interim_name(struct arena *a, const struct azure_service *s,
                                     enum azure_family f);
/* The interim public IP as it is created.  It has no DNS label, which is the old one's, and no
 * prefix, which may be full. */
struct json_object *azure_renew_interim(struct arena *a, const struct azure_pip_ask *ask);
/* The public IP as it was, without what Azure alone decides: to create it again. */
struct json_object *azure_renew_former(struct arena *a, struct json_object *pip);

#endif
