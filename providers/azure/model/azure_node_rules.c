/* SPDX-License-Identifier: Apache-2.0 */
/* azure_node_rules.c: see azure_node_rules.h.  Labels are compared with case, values as
 * each row says. */
#include "providers/azure/model/azure_node_rules.h"

#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"

#define LABEL_CONTROL_PLANE  "node-role.kubernetes.io/control-plane"
#define LABEL_MASTER         "node-role.kubernetes.io/master"
#define LABEL_ROLE           "kubernetes.io/role"
#define LABEL_RESOURCE_GROUP "kubernetes.azure.com/resource-group"
#define LABEL_MANAGED        "kubernetes.azure.com/managed"
#define PROVIDER_SCHEME      "azure://"

/* ---- filters --------------------------------------------------------------------------------- */

static const char *label(const struct tt_node *n, const char *key)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        if (str_eq(n->labels[i].key, key)) {
            return str_nonnull(n->labels[i].value);
        }
    }
    return NULL;
}

bool azure_node_is_control_plane(const struct tt_node *n)
{
    return label(n, LABEL_CONTROL_PLANE) != NULL || label(n, LABEL_MASTER) != NULL ||
           str_eq(label(n, LABEL_ROLE), "master");
}

bool azure_node_is_managed(const struct tt_node *n)
{
    return !azure_eq(label(n, LABEL_MANAGED), "false");
}

bool azure_node_is_excluded(const struct tt_node *n, const char *resource_group, bool deleted)
{
    const char *group = label(n, LABEL_RESOURCE_GROUP);
    if (!str_is_empty(group) && !azure_eq(group, resource_group)) {
        return true;
    }
    return deleted || !azure_node_is_managed(n) || label(n, LB_EXCLUDE_LABEL) != NULL;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_internal(const struct tt_node_address *a)
{
    return azure_eq(a->type, "InternalIP");
}

const char **azure_node_internal_ips(struct arena *a, const struct tt_node *n, size_t *ret_n)
{
    const char **ips = ARENA_ARRAY(a, const char *, n->n_addresses);
    *ret_n = 0;
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        if (is_internal(&n->addresses[i])) {
            ips[(*ret_n)++] = str_nonnull(n->addresses[i].address);
        }
    }
    return ips;
}

const char *azure_node_internal_ip(const struct tt_node *n, enum azure_family f)
{
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        const struct tt_node_address *address = &n->addresses[i];
        struct ip_addr ip;
        bool ipv6 = ip_parse_sloppy(str_nonnull(address->address), &ip) && ip.len == 16;
        if (is_internal(address) && ipv6 == (f == AZURE_IPV6)) {
            return str_nonnull(address->address);
        }
    }
    return "";
}

/* ---- IDs ------------------------------------------------------------------------------------- */

static bool is_number(const char *s)
{
    return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

int azure_machine_parse(struct arena *a, const char *provider_id, struct azure_machine *ret,
                        struct err *err)
{
    const char *text = str_nonnull(provider_id);
    const char *id = azure_has_prefix(text, PROVIDER_SCHEME) ? text + strlen(PROVIDER_SCHEME) : "";
    struct azure_machine m = {
        .subscription = azure_id_part(a, id, "subscriptions"),
        .resource_group = azure_id_group(a, id),
        .scale_set = azure_id_part(a, id, "virtualMachineScaleSets"),
        .name = azure_id_part(a, id, "virtualMachines"),
    };
    bool compute = azure_eq(azure_id_part(a, id, "providers"), "Microsoft.Compute");
    bool whole = id[0] == '/' && compute && m.subscription != NULL && m.resource_group != NULL &&
                 m.name != NULL && str_eq(azure_id_last(id), m.name);
    if (!whole || (m.scale_set != NULL && !is_number(m.name))) {
        return err_set(err, ERR_INVALID, "providerID \"%s\" is no machine of Azure", text);
    }
    *ret = m;
    return ERR_OK;
}

static const char *lb_of_pool(struct arena *a, const char *id)
{
    bool pool = azure_id_part(a, id, "subscriptions") != NULL && azure_id_group(a, id) != NULL &&
                azure_id_part(a, id, "backendAddressPools") != NULL;
    return pool ? azure_id_part(a, id, "loadBalancers") : NULL;
}

int azure_pool_same_lb(struct arena *a, const char *pool_id, const char *other_id, bool *ret_same,
                       const char **ret_lb, struct err *err)
{
    const char *lb = lb_of_pool(a, pool_id);
    const char *other = lb_of_pool(a, other_id);
    if (lb == NULL || other == NULL) {
        return err_set(err, ERR_INVALID, "\"%s\" is no ID of a backend pool",
                       lb == NULL ? pool_id : other_id);
    }
    *ret_same = azure_eq(azure_lb_base(a, lb), azure_lb_base(a, other));
    *ret_lb = other;
    return ERR_OK;
}
