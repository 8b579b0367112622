/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_service_rules.h: what the API server refuses about a Service with 422, before it is planned.
 *
 * Source: API server validation of v1 Services in Kubernetes 1.36 (recorded answers 016–041, 085).
 * Left to the server: what depends on its flags (the range of node ports, the families of the
 * cluster) and on other objects (ports and addresses that are taken).  Pure. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_SERVICE_RULES_H
#define TRIMTAB_CONTROLLER_CMD_CMD_SERVICE_RULES_H

#include "common/data/json.h"
#include "controller/cmd/cmd_faults.h"

/* Adds a hard fault for each complaint about `service`, which has defaults
 * (cmd_manifest_complete()) and passed cmd_fields_check().  `live` is the cluster's
 * object, or NULL. */
void cmd_service_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                       struct json_object *service, struct json_object *live);
/* The same of a manifest whose object in the cluster is not known yet: only complaints that cannot
 * depend on it, so that they are printed before the first request.
 * cmd_service_check() repeats them. */
void cmd_service_check_alone(struct cmd_faults *faults, const struct cmd_origin *origin,
                             struct json_object *service);

#endif
