/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pls_rules.h: what the private link service of a frontend has to be, and whose it is.
 *
 * One service per frontend; its tags say which cluster and which Service own it.  A link of
 * another owner is neither changed nor deleted; Services that share a frontend share its private
 * link service, too.
 * Source: docs/spec/azure.md 10.6, 17 row 17; vectors M-10 to M-23.  Pure. */
#ifndef TRIMTAB_AZURE_PLS_RULES_H
#define TRIMTAB_AZURE_PLS_RULES_H

#include "common/base/err.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_service.h"

#define AZURE_PLS_TAG_CLUSTER "k8s-azure-cluster-name"
#define AZURE_PLS_TAG_OWNER   "k8s-azure-owner-service"

struct azure_pls_ask {
    const struct azure_naming *naming;
    const struct azure_service *service;
    const char *frontend_id;
    const char *frontend_name;
    struct json_object *existing; /* on that frontend; NULL: none */
};
/* The document to write, or NULL in *ret if it is up to date.  ERR_INVALID: impossible settings;
 * ERR_EXISTS: the existing one has another owner. */
int azure_pls_plan(struct arena *a, const struct azure_pls_ask *ask, struct json_object **ret,
                   struct err *err) _warn_unused_;
/* Is the frontend of that family to have one?  ERR_INVALID: an IPv6 frontend of its own cannot. */
int azure_pls_wants(const struct azure_service *s, enum azure_family f, bool *ret,
                    struct err *err) _warn_unused_;
/* The name of the subnet that its addresses come from. */
const char *azure_pls_subnet(const struct azure_config *c, const struct azure_service *s);
/* ERR_INVALID: a fixed address of the link that the subnet does not have, or that is Azure's. */
int azure_pls_check_addresses(struct arena *a, const struct azure_service *s,
                              struct json_object *subnet, struct err *err) _warn_unused_;
/* The one on a frontend; NULL: none. */
struct json_object *azure_pls_on(struct json_object *list, const char *frontend_id);
/* Made by this cluster for this Service: only then may it be deleted. */
bool azure_pls_is_ours(struct json_object *pls, const char *cluster, const char *service);
/* The subnet with its policies for private links switched off; NULL: they are off. */
struct json_object *azure_pls_subnet_edit(struct arena *a, struct json_object *subnet);

#endif
