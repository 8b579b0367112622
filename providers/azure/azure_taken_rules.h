/* SPDX-License-Identifier: Apache-2.0 */
/* azure_taken_rules.h: what bears a name that a Service asks for, and hangs on something that is
 * not the cluster's.
 *
 * A write by PUT would change it, whatever made it.  So it is checked before the first write, and
 * the refusal says what it hangs on and to which Service and cluster its tags say that it belongs.
 * Pure; docs/spec/azure.md 8.4, 10.6. */
#ifndef TRIMTAB_AZURE_TAKEN_RULES_H
#define TRIMTAB_AZURE_TAKEN_RULES_H

#include "common/base/err.h"
#include "providers/azure/model/azure_names.h"

#include <json-c/json_types.h>

/* "load balancer blue", "network interface vm-1-nic": the resource of which the ID is a part, or
 * the ID itself.  `service` and `cluster` of the next one may be NULL or "": "it belongs to Service
 * a/b of cluster c". */
const char *azure_taken_holder(struct arena *a, const char *id);
const char *azure_taken_owner(struct arena *a, const char *service, const char *cluster);

/* ERR_IN_USE: the public IP hangs on something else than a balancer of this cluster.  `name`: as
 * the Service writes it. */
int azure_taken_check_pip(struct arena *a, const struct azure_naming *n, struct json_object *pip,
                          const char *name, struct err *err) _warn_unused_;
/* ERR_EXISTS: the private link service has the name that `service` asks for, and is
 * not that Service's. */
int azure_taken_check_link(struct arena *a, const struct azure_naming *n, struct json_object *link,
                           const char *name, const char *service, struct err *err) _warn_unused_;

#endif
