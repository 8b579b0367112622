/* SPDX-License-Identifier: Apache-2.0 */
/* azure_local_rules.c: see azure_local_rules.h.  Pure. */
#include "providers/azure/lb/azure_local_rules.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>
#include <strings.h>

#define POOLS       "backendAddressPools"
#define IPV6_SUFFIX "-ipv6"

bool azure_local_counts(const struct azure_config *c, const struct tt_service *s)
{
    return azure_config_is_multi_slb(c) && str_eq(s->external_traffic_policy, "Local");
}

/* ---- whose pool it is ------------------------------------------------------------------------ */

/* The text after "<namespace>-<name>" in the pool's name; NULL: it begins otherwise.  Asked of
 * every pool for every Service, so nothing is allocated. */
static const char *after_name(const char *pool, const struct tt_service *s)
{
    const char *ns = str_nonnull(s->ns);
    const char *name = str_nonnull(s->name);
    size_t n_ns = strlen(ns);
    size_t n_name = strlen(name);
    bool is = strncasecmp(pool, ns, n_ns) == 0 && pool[n_ns] == '-' &&
              strncasecmp(pool + n_ns + 1, name, n_name) == 0;
    return is ? pool + n_ns + 1 + n_name : NULL;
}

static bool is_of_cluster(const struct azure_naming *n, const char *pool)
{
    size_t length = strlen(n->cluster);
    return strncasecmp(pool, n->cluster, length) == 0 &&
           (pool[length] == '\0' || azure_eq(pool + length, IPV6_SUFFIX));
}

bool azure_local_owns_pool(const struct azure_naming *n, const struct tt_service *s,
                           const char *pool, enum azure_family *ret)
{
    const char *rest = azure_config_is_multi_slb(n->config) ? after_name(pool, s) : NULL;
    if (rest == NULL || (rest[0] != '\0' && !azure_eq(rest, IPV6_SUFFIX)) ||
        is_of_cluster(n, pool)) {
        return false;
    }
    *ret = rest[0] != '\0' ? AZURE_IPV6 : AZURE_IPV4;
    return true;
}

/* ---- pools that go --------------------------------------------------------------------------- */

static bool is_used(struct json_object *lb, const char *id)
{
    static const char *const arrays[] = {"loadBalancingRules", "outboundRules", "inboundNatRules"};
    struct json_object *o, *ref;
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        AZURE_EACH (o, azure_array(lb, arrays[i])) {
            if (azure_id_eq(azure_ref(o, "backendAddressPool"), id)) {
                return true;
            }
            AZURE_EACH (ref, azure_array(o, POOLS)) {
                if (azure_id_eq(azure_doc_id(ref), id)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool azure_local_drop_pools(const struct azure_naming *n, const struct tt_service *s,
                            const bool keep[AZURE_FAMILIES], struct json_object *lb)
{
    struct json_object *pools = azure_array(lb, POOLS);
    bool dropped = false;
    for (size_t i = json_len(pools); i > 0; i--) {
        struct json_object *pool = json_object_array_get_idx(pools, i - 1);
        enum azure_family f;
        if (azure_local_owns_pool(n, s, azure_doc_name(pool), &f) && !keep[f] &&
            !is_used(lb, azure_doc_id(pool))) {
            azure_array_drop(pools, i - 1);
            dropped = true;
        }
    }
    return dropped;
}

/* ---- who belongs into it --------------------------------------------------------------------- */

void azure_local_add_hosts(struct arena *a, const struct tt_slice *const *slices, size_t n,
                           struct map *hosts)
{
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < slices[i]->n_endpoints; k++) {
            const char *node = str_nonnull(slices[i]->endpoints[k].node_name);
            if (node[0] != '\0') {
                map_set(hosts, str_lower(a, node), NULL);
            }
        }
    }
}

int64_t azure_local_delay_ms(int64_t interval_ms, int64_t now_ms)
{
    return interval_ms - now_ms % interval_ms;
}
