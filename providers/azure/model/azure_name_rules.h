/* SPDX-License-Identifier: Apache-2.0 */
/* azure_name_rules.h: names of Azure's things that a Service's owner writes, against Azure's
 * published patterns and against what the cloud-config allows.
 *
 * Source: learn.microsoft.com, "Naming rules and restrictions for Azure resources"
 * (Microsoft.Network, Microsoft.Resources, Microsoft.Compute), and "Use tags to organize your Azure
 * resources" for tags.  Pure. */
#ifndef TRIMTAB_AZURE_NAME_RULES_H
#define TRIMTAB_AZURE_NAME_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/lb/name_rules.h"
#include "providers/azure/model/azure_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/types.h>

/* Kinds of names that fields hold. */
enum azure_name_kind {
    AZURE_NAME_RESOURCE = 0, /* of Microsoft.Network: subnets, public IPs, private link services */
    AZURE_NAME_GROUP,
    AZURE_NAME_SET,    /* availability sets and scale sets */
    AZURE_NAME_PREFIX, /* ID of a public IP prefix */
    AZURE_NAME_LABEL,  /* DNS label */
    AZURE_NAME_FQDN,
    AZURE_NAME_SUBSCRIPTION,
    AZURE_NAME_SERVICE_TAG,
    AZURE_NAME_TAG, /* left side of key=value */
    AZURE_NAME_KINDS,
};
/* The pattern of a kind; of AZURE_NAME_PREFIX that of its last part. */
const struct name_rule *azure_name_rule(enum azure_name_kind k);

/* Checks every annotation of `s` that names something.  `previous`: as it was synced before, or
 * NULL (name_rules.h).  ERR_INVALID with the field and the pattern, or with the key of the
 * cloud-config that does not allow it.  Blank values and absent annotations name nothing. */
int azure_names_check(struct arena *a, const struct azure_config *c, const struct tt_service *s,
                      const struct tt_service *previous, struct err *err) _warn_unused_;

/* Can the text be one segment of an ID?  Else it counts as absent wherever a Service is
 * taken down or looked at. */
bool azure_name_is_segment(const char *text);
/* Can the text be an ID, each part one segment? */
bool azure_name_is_id(const char *text);

#endif
