/* SPDX-License-Identifier: Apache-2.0 */
/* azure_refs_rules.c: see azure_refs_rules.h.  Pure. */
#include "providers/azure/model/azure_refs_rules.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_node_rules.h"

#define POOLS "loadBalancerBackendAddressPools"

struct json_object *azure_refs_primary(struct json_object *array)
{
    struct json_object *o;
    if (json_len(array) == 1) {
        return json_object_array_get_idx(array, 0);
    }
    AZURE_EACH (o, array) {
        if (azure_prop_bool(o, "primary", false)) {
            return o;
        }
    }
    return NULL;
}

static bool is_ipv6(struct json_object *config)
{
    return azure_eq(azure_prop_str(config, "privateIPAddressVersion"), "IPv6");
}

/* IPv4: the only or primary one.  IPv6: the first of its family. */
static struct json_object *pick(struct json_object *configs, bool ipv6)
{
    struct json_object *o = ipv6 ? NULL : azure_refs_primary(configs);
    if (!ipv6) {
        return o != NULL && !is_ipv6(o) ? o : NULL;
    }
    AZURE_EACH (o, configs) {
        if (is_ipv6(o)) {
            return o;
        }
    }
    return NULL;
}

static bool has(struct json_object *config, const char *pool)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(config, POOLS)) {
        if (azure_id_eq(azure_doc_id(o), pool)) {
            return true;
        }
    }
    return false;
}

bool azure_refs_have(struct json_object *configs, const char *pool)
{
    struct json_object *o;
    AZURE_EACH (o, configs) {
        if (has(o, pool)) {
            return true;
        }
    }
    return false;
}

bool azure_refs_nics_have(struct json_object *nics, const char *pool)
{
    struct json_object *o;
    AZURE_EACH (o, nics) {
        if (azure_refs_have(azure_array(o, "ipConfigurations"), pool)) {
            return true;
        }
    }
    return false;
}

static bool drop(struct json_object *configs, const char *pool)
{
    bool changed = false;
    struct json_object *config;
    AZURE_EACH (config, configs) {
        struct json_object *pools = azure_array(config, POOLS);
        for (size_t i = json_len(pools); i > 0; i--) {
            if (azure_id_eq(azure_doc_id(json_object_array_get_idx(pools, i - 1)), pool)) {
                azure_array_drop(pools, i - 1);
                changed = true;
            }
        }
    }
    return changed;
}

/* The balancer of another name whose pool the configuration is in; NULL: none. */
static const char *other_lb(struct arena *a, struct json_object *config, const char *pool)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(config, POOLS)) {
        bool same = false;
        const char *lb = NULL;
        if (azure_pool_same_lb(a, pool, azure_doc_id(o), &same, &lb, NULL) != ERR_OK) {
            return azure_doc_id(o);
        }
        if (!same) {
            return lb;
        }
    }
    return NULL;
}

static bool join(struct arena *a, struct json_object *configs, const char *pool, bool standard_sku,
                 const char **ret_why)
{
    bool ipv6 = azure_pool_is_ipv6(azure_id_last(pool));
    struct json_object *config = pick(configs, ipv6);
    if (config == NULL) {
        *ret_why = arena_printf(a, "no IP configuration of IPv%d can be told", ipv6 ? 6 : 4);
        return false;
    }
    const char *other = standard_sku ? other_lb(a, config, pool) : NULL;
    if (has(config, pool) || other != NULL) {
        *ret_why = other != NULL ? arena_printf(a, "it serves load balancer %s", other) : *ret_why;
        return false;
    }
    (void)json_object_array_add(azure_array_make(config, POOLS), azure_ref_new(pool));
    return true;
}

bool azure_refs_edit(struct arena *a, struct json_object *configs, const struct azure_refs *refs,
                     bool standard_sku, const char **ret_why)
{
    bool changed = false;
    for (size_t i = 0; i < refs->n_leave; i++) {
        changed = drop(configs, refs->leave[i]) || changed;
    }
    for (size_t i = 0; i < refs->n_join; i++) {
        changed = join(a, configs, refs->join[i], standard_sku, ret_why) || changed;
    }
    return changed;
}

bool azure_refs_edit_nics(struct arena *a, struct json_object *nics, const struct azure_refs *refs,
                          bool standard_sku, const char **ret_why)
{
    const struct azure_refs leave = {.leave = refs->leave, .n_leave = refs->n_leave};
    const struct azure_refs joins = {.join = refs->join, .n_join = refs->n_join};
    struct json_object *nic = azure_refs_primary(nics);
    bool changed = false;
    struct json_object *o;
    AZURE_EACH (o, nics) {
        changed =
            azure_refs_edit(a, azure_array(o, "ipConfigurations"), &leave, standard_sku, ret_why) ||
            changed;
    }
    if (nic == NULL) {
        *ret_why = "its primary network interface cannot be told";
        return changed;
    }
    return azure_refs_edit(a, azure_array(nic, "ipConfigurations"), &joins, standard_sku,
                           ret_why) ||
           changed;
}
