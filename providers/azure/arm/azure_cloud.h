/* SPDX-License-Identifier: Apache-2.0 */
/* azure_cloud.h: where a cloud's APIs are: Azure Resource Manager, its token audience, the identity
 * authority.
 *
 * A name of the table, then the metadata endpoint of `resourceManagerEndpoint`, then the
 * environment file of Azure Stack, in this order (docs/spec/azure.md 1.5).  Texts live
 * in the arena. */
#ifndef TRIMTAB_AZURE_CLOUD_H
#define TRIMTAB_AZURE_CLOUD_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"
#include "providers/azure/model/azure_config.h"

struct azure_cloud {
    const char *arm;       /* "https://management.azure.com", without '/' at its end */
    const char *audience;  /* "https://management.core.windows.net/" */
    const char *authority; /* "https://login.microsoftonline.com/", with '/' */
};
/* By name only; unknown names are the public cloud.  Pure. */
struct azure_cloud azure_cloud_by_name(struct arena *a, const char *name);
/* With what to ask. */
struct azure_cloud_reach {
    struct http *http;
    struct clock *clock; /* the one of `http` */
    struct cancel *cancel;
};
/* Asks {resourceManagerEndpoint}/metadata/endpoints when one is configured, and reads
 * AZURE_ENVIRONMENT_FILEPATH.  Blocks.  TRANSIENT, INVALID. */
int azure_cloud_find(struct arena *a, const struct azure_config *c, const struct azure_env *env,
                     const struct azure_cloud_reach *reach, struct azure_cloud *ret,
                     struct err *err) _warn_unused_;

#endif
