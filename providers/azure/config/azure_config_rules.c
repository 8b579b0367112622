/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_rules.c: what follows from the cloud-config: the questions that more than one part
 * asks of it.
 *
 * Pure; docs/spec/azure.md 1.2, 1.3, 3.2, 5.1. */
#include "providers/azure/model/azure_config.h"
#include "providers/azure/model/azure_names.h"

bool azure_config_is_edge(const struct azure_config *c)
{
    return c->extended_location_name[0] != '\0' && c->extended_location_type[0] != '\0';
}

bool azure_config_is_stack(const struct azure_config *c)
{
    return azure_eq(c->cloud, "AZURESTACKCLOUD") && !c->disable_stack_cloud;
}

bool azure_config_is_multi_slb(const struct azure_config *c)
{
    return c->standard_sku && c->n_lbs > 0;
}

const char *azure_config_primary_vm_set(const struct azure_config *c)
{
    return c->vm_type == AZURE_VM_STANDARD ? c->primary_availability_set : c->primary_scale_set;
}
