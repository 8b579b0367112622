/* SPDX-License-Identifier: Apache-2.0 */
/* azure_local_rules.h: pools of Local Services under several Standard balancers: one per Service
 * and family, with only the nodes that have its endpoints.
 *
 * EndpointSlices name the node, ready or not, as upstream counts them: the probe
 * on the health check port knows better and faster which of them serve.  The name of such a pool,
 * "<namespace>-<name>", is not unique: that of another Service, or of the cluster's own pool, may
 * be the same text.  Pools of one name on one balancer are one pool and hold the nodes of all its
 * Services; the cluster's own stays the cluster's.
 * Source: docs/spec/azure.md 6.4, 7.7, 17 row 19.  Pure. */
#ifndef TRIMTAB_AZURE_LOCAL_RULES_H
#define TRIMTAB_AZURE_LOCAL_RULES_H

#include "common/base/map.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_names.h"

#include <stddef.h>

/* The Service's policy is Local, and there are several balancers. */
bool azure_local_counts(const struct azure_config *c, const struct tt_service *s);
/* The pool is the Service's, or would be, were it Local; by its name, as it is written in Azure. */
bool azure_local_owns_pool(const struct azure_naming *n, const struct tt_service *s,
                           const char *pool, enum azure_family *ret);
/* Its own pools, of the families that it has not (`keep` false for both: all), leave the balancer's
 * document, unless a rule still points to one.  True: some did. */
bool azure_local_drop_pools(const struct azure_naming *n, const struct tt_service *s,
                            const bool keep[AZURE_FAMILIES], struct json_object *lb);
/* Adds the names of the nodes that have an endpoint, in lower case. */
void azure_local_add_hosts(struct arena *a, const struct tt_slice *const *slices, size_t n,
                           struct map *hosts);
/* How long changes of endpoints gather: until the next of the moments that all Services share, so
 * that they are one batch; `interval_ms` more than 0. */
int64_t azure_local_delay_ms(int64_t interval_ms, int64_t now_ms);

#endif
