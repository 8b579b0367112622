/* SPDX-License-Identifier: Apache-2.0 */
/* azure_names.h: the names and IDs of everything that we make, as the Go controller makes them.
 *
 * A name is the identity of a resource: a byte off, and an upgrade would build everything a second
 * time.  IDs are compared without case, so azure_id_eq() and azure_id_*() are the only ways to look
 * at one.  Lengths are bytes.
 * Source: docs/spec/azure.md 5.1, 6.3, 6.4, 6.5, 8.2, 10.6; vectors 13.1.  Pure. */
#ifndef TRIMTAB_AZURE_NAMES_H
#define TRIMTAB_AZURE_NAMES_H

#include "common/base/arena.h"
#include "providers/azure/model/azure_config.h"

#include <stdbool.h>
#include <trimtab/types.h>

enum azure_family {
    AZURE_IPV4 = 0,
    AZURE_IPV6 = 1,
};
#define AZURE_FAMILIES 2

/* Input of names beside the Service; lives as long as the provider. */
struct azure_naming {
    const struct azure_config *config;
    const char *cluster; /* --cluster-name */
};

/* "a" + UID without dashes, 32 bytes at most: prefix of frontends, rules and probes. */
const char *azure_base_name(struct arena *a, const struct tt_service *s);
const char *azure_service_name(struct arena *a, const struct tt_service *s); /* "ns/name" */
/* EqualFold, as IDs and most names are compared. */
bool azure_eq(const char *x, const char *y);
bool azure_has_prefix(const char *s, const char *prefix); /* without case */
bool azure_has_suffix(const char *s, const char *suffix); /* without case */

const char *azure_frontend_name(struct arena *a, const struct tt_service *s, enum azure_family f);
const char *azure_frontend_id(struct arena *a, const struct azure_naming *n, const char *lb,
                              const char *frontend);
const char *azure_pool_name(struct arena *a, const struct azure_naming *n, enum azure_family f);
/* "ns-name[-ipv6]": pool of a Local Service under several balancers. */
const char *azure_local_pool_name(struct arena *a, const struct tt_service *s, enum azure_family f);
const char *azure_pool_id(struct arena *a, const struct azure_naming *n, const char *lb,
                          const char *pool);
bool azure_pool_is_ipv6(const char *pool);
const char *azure_probe_id(struct arena *a, const struct azure_naming *n, const char *lb,
                           const char *probe);
/* `protocol` as Kubernetes writes it. */
const char *azure_rule_name(struct arena *a, const struct tt_service *s, const char *protocol,
                            int32_t port, enum azure_family f);
/* By the generated rule (8.2), whatever the annotations say. */
const char *azure_pip_name(struct arena *a, const struct azure_naming *n,
                           const struct tt_service *s, enum azure_family f);
const char *azure_pip_id(struct arena *a, const struct azure_naming *n, const char *group,
                         const char *pip);
/* Of a frontend or a public IP that serves beside one of the Service of that base name for a while
 * (azure_renew_rules.h, azure_lb_former_rules.h): "BASE-interim-89abcdef[-IPv6]". */
const char *azure_interim_name(struct arena *a, const char *base, uint64_t digest,
                               enum azure_family f);
bool azure_is_interim(const char *base, const char *name);
bool azure_is_interim_of_any(const char *name);
const char *azure_subnet_id(struct arena *a, const struct azure_naming *n, const char *subnet);
const char *azure_vnet_id(struct arena *a, const struct azure_naming *n);
bool azure_lb_is_internal(const char *lb);
/* The balancer's name without "-internal" (any case), as written otherwise. */
const char *azure_lb_base(struct arena *a, const char *lb);

/* ---- IDs:
 * "/subscriptions/S/resourceGroups/G/providers/Microsoft.Network/TYPE/NAME[/SUB/NAME…]" */
bool azure_id_eq(const char *x, const char *y); /* NULL equals nothing, not even NULL */
const char *azure_id_last(const char *id);      /* last segment; borrowed */
/* The segment after `type` ("resourceGroups", "loadBalancers", "virtualMachines" …), matched
 * without case; NULL when there is none. */
const char *azure_id_part(struct arena *a, const char *id, const char *type);
const char *azure_id_group(struct arena *a, const char *id);

#endif
