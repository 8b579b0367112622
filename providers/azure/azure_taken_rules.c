/* SPDX-License-Identifier: Apache-2.0 */
/* azure_taken_rules.c: see azure_taken_rules.h.  Pure. */
#include "providers/azure/azure_taken_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/lb/azure_select_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"
#include "providers/azure/pls/azure_pls_rules.h"

#define LINK_FRONTENDS "loadBalancerFrontendIpConfigurations"

const char *azure_taken_holder(struct arena *a, const char *id)
{
    static const struct {
        const char *type, *word;
    } words[] = {
        {"loadBalancers", "load balancer"},
        {"virtualMachineScaleSets", "scale set"},
        {"networkInterfaces", "network interface"},
        {"natGateways", "NAT gateway"},
        {"virtualNetworkGateways", "virtual network gateway"},
        {"applicationGateways", "application gateway"},
        {"azureFirewalls", "firewall"},
        {"bastionHosts", "bastion host"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *name = azure_id_part(a, id, words[i].type);
        if (name != NULL) {
            return arena_printf(a, "%s %s", words[i].word, name);
        }
    }
    return id;
}

const char *azure_taken_owner(struct arena *a, const char *service, const char *cluster)
{
    bool has_service = !str_is_empty(service);
    bool has_cluster = !str_is_empty(cluster);
    if (!has_service && !has_cluster) {
        return "nothing says which Service or cluster it belongs to";
    }
    if (!has_cluster) {
        return arena_printf(a, "it belongs to Service %s", service);
    }
    return has_service ? arena_printf(a, "it belongs to Service %s of cluster %s", service, cluster)
                       : arena_printf(a, "it belongs to cluster %s", cluster);
}

/* ---- public IPs ------------------------------------------------------------------------------ */

/* A balancer that bears a name of this cluster's is its own, whether or not a list has it. */
static bool is_own_balancer(struct arena *a, const struct azure_naming *n, const char *holder)
{
    const char *name = azure_id_part(a, holder, "loadBalancers");
    return name != NULL && azure_lb_is_managed(a, n, name) &&
           azure_eq(str_nonnull(azure_id_group(a, holder)), n->config->lb_resource_group);
}

int azure_taken_check_pip(struct arena *a, const struct azure_naming *n, struct json_object *pip,
                          const char *name, struct err *err)
{
    const char *holder = azure_ref(pip, "ipConfiguration");
    holder = holder != NULL ? holder : azure_ref(pip, "natGateway");
    if (holder == NULL || is_own_balancer(a, n, holder)) {
        return ERR_OK;
    }
    struct json_object *tags = json_member(pip, "tags");
    return err_set(err, ERR_IN_USE, "public IP %s is in use by %s; %s", name,
                   azure_taken_holder(a, holder),
                   azure_taken_owner(a, azure_pip_tag_services(tags), azure_pip_tag_cluster(tags)));
}

/* ---- private link services ------------------------------------------------------------------- */

int azure_taken_check_link(struct arena *a, const struct azure_naming *n, struct json_object *link,
                           const char *name, const char *service, struct err *err)
{
    if (azure_pls_is_ours(link, n->cluster, service)) {
        return ERR_OK;
    }
    struct json_object *frontends = azure_array(link, LINK_FRONTENDS);
    const char *at =
        json_len(frontends) > 0 ? azure_doc_id(json_object_array_get_idx(frontends, 0)) : "";
    const char *where = at[0] == '\0' ? "on no frontend"
                                      : arena_printf(a, "on frontend %s of %s", azure_id_last(at),
                                                     azure_taken_holder(a, at));
    return err_set(err, ERR_EXISTS, "private link service %s is there already, %s; %s", name, where,
                   azure_taken_owner(a, azure_tag(link, AZURE_PLS_TAG_OWNER),
                                     azure_tag(link, AZURE_PLS_TAG_CLUSTER)));
}
