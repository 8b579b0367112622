/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_meta_rules.h: what the API server refuses about the metadata of a Service, before it is
 * planned.
 *
 * Source: apimachinery api/validation of Kubernetes 1.36.  Part of cmd_service_rules.h.  Pure. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_META_RULES_H
#define TRIMTAB_CONTROLLER_CMD_CMD_META_RULES_H

#include "common/data/json.h"
#include "controller/cmd/cmd_faults.h"

/* Adds a hard fault for each complaint about the metadata of `service`, which passed
 * cmd_fields_check(). */
void cmd_meta_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                    struct json_object *service);
/* The same for members of a manifest that only matter when the object is created: for one that the
 * cluster does not have. */
void cmd_meta_check_new(struct cmd_faults *faults, const struct cmd_origin *origin,
                        struct json_object *manifest);

#endif
