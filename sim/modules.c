/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c: which APIs this simulator has.
 *
 * The frame asks them in this order who claims a path.  The metadata module lives on the state of
 * the Compute module, so it comes after it; so do Azure's identity module on that of the resource
 * manager, and the metadata of AWS on its query APIs.  A new API is a new row. */
#include "sim/core/frame.h"

const struct sim_module *const sim_modules[] = {
    &sim_compute_module, &sim_metadata_module,     &sim_arm_module,  &sim_arm_identity_module,
    &sim_aws_module,     &sim_aws_metadata_module, &sim_kube_module, NULL,
};
