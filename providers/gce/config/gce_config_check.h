/* SPDX-License-Identifier: Apache-2.0 */
/* gce_config_check.h: from --cloud-config and flags to a configuration, and check-config.
 *
 * Reads files, never the network. */
#ifndef TRIMTAB_GCE_CONFIG_CHECK_H
#define TRIMTAB_GCE_CONFIG_CHECK_H

#include "providers/gce/config/gce_config.h"
#include "providers/gce/config/gce_options.h"

#include <trimtab/provider.h>

/* Reads the cloud config and the flags that args carry; unknown keys become findings.
 * ERR_INVALID, beginning with "file:line:column: " where a line is at fault. */
int gce_config_load(struct arena *a, const struct tt_open_args *args, struct gce_config *ret,
                    struct gce_options *ret_options, struct err *err) _warn_unused_;
/* check_config of the descriptor. */
int32_t gce_config_check(const struct tt_open_args *args, struct tt_result *result);

#endif
