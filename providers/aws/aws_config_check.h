/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config_check.h: from --cloud-config to a configuration, with words for the person who wrote
 * it.
 *
 * Findings go to the host; nothing is opened but the files of AWS' tools
 * (profiles), for check-config. */
#ifndef TRIMTAB_AWS_CONFIG_CHECK_H
#define TRIMTAB_AWS_CONFIG_CHECK_H

#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_env.h"

#include <trimtab/provider.h>

/* For open(): parses, names the file in errors, and tells the host of unknown keys and of values
 * that upstream only meets at a sync (13 row 35).  ERR_INVALID. */
int aws_config_load(struct arena *a, const struct tt_open_args *args, struct aws_config *ret,
                    struct err *err) _warn_unused_;
/* For the descriptor: the same, and whatever else a person should look at although
 * the controller would start. */
int32_t aws_config_check(const struct tt_open_args *args, struct tt_result *result);

#endif
