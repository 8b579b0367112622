/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure_config.c: azure.config of trimtab-eval: a cloud-config, and what counts of it.
 *
 * The text goes through the provider's own decoder; the answer has one member per value that is not
 * an empty text. */
#include "tests/eval/eval.h"

#include "providers/azure/model/azure_config.h"
#include "tests/support/azure_config_text.h"

#include <string.h>

static struct azure_env env_of(struct json_object *o)
{
    return (struct azure_env){
        .tenant_id = json_str(o, "AZURE_TENANT_ID"),
        .client_id = json_str(o, "AZURE_CLIENT_ID"),
        .federated_token_file = json_str(o, "AZURE_FEDERATED_TOKEN_FILE"),
    };
}

static void add_texts(struct json_object *o, const struct azure_config *c)
{
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"tenantId", c->tenant_id},
        {"aadClientId", c->client_id},
        {"aadFederatedTokenFile", c->federated_token_file},
        {"cloud", c->cloud},
        {"subscriptionId", c->subscription_id},
        {"networkSubscription", c->network_subscription_id},
        {"resourceGroup", c->resource_group},
        {"location", c->location},
        {"vnetName", c->vnet_name},
        {"vnetResourceGroup", c->vnet_resource_group_text},
        {"subnetName", c->subnet_name},
        {"securityGroupName", c->security_group_name},
        {"securityGroupResourceGroup", c->security_group_resource_group},
        {"routeTableResourceGroup", c->route_table_resource_group},
        {"privateLinkServiceResourceGroup", c->pls_resource_group},
        {"loadBalancerResourceGroup", c->lb_resource_group},
        {"vmType", c->vm_type_text},
        {"primaryVMSet", azure_config_primary_vm_set(c)},
        {"loadBalancerName", c->lb_name},
        {"sharedProbePath", c->shared_probe_path},
        {"tags", c->tags},
        {"systemTags", c->system_tags},
        {"preConfiguredBackendPoolLoadBalancerTypes", c->preconfigured_pools},
        {"cloudConfigType", c->config_type},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_add_str(o, rows[i].name, str_is_empty(rows[i].value) ? NULL : rows[i].value);
    }
}

static void add_others(struct json_object *o, const struct azure_config *c)
{
    json_add_bool(o, "useFederatedWorkloadIdentityExtension", c->workload_identity);
    json_add_bool(o, "standardSku", c->standard_sku);
    json_add_bool(o, "excludeMasterFromStandardLB", c->exclude_masters);
    json_add_bool(o, "disableOutboundSNAT", c->disable_outbound_snat);
    json_add_bool(o, "poolTypeNodeIPConfig", c->pool_type == AZURE_POOL_NIC);
    json_add_bool(o, "poolTypeNodeIP", c->pool_type == AZURE_POOL_IP);
    json_add_bool(o, "multiSLB", azure_config_is_multi_slb(c));
    json_add_bool(o, "sharedProbe", c->shared_probe);
    json_add_bool(o, "enableIPTagMutationForExistingPublicIP", c->mutate_ip_tags);
    json_add_bool(o, "edgeZone", azure_config_is_edge(c));
    json_add_bool(o, "stackCloud", azure_config_is_stack(c));
    json_add_int(o, "maximumLoadBalancerRuleCount", c->max_rules);
    json_add_int(o, "sharedProbePort", c->shared_probe_port);
    json_add_int(o, "backoffRetries", c->backoff_retries);
    json_add_int(o, "backoffDuration", c->backoff_duration_s);
    json_add_int(o, "putVMSSVMBatchSize", c->put_vmss_vm_batch_size);
}

static void add_lbs(struct json_object *o, const struct azure_config *c)
{
    if (!azure_config_is_multi_slb(c)) {
        return;
    }
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < c->n_lbs; i++) {
        struct json_object *lb = json_object_new_object();
        json_add_str(lb, "name", c->lbs[i].name);
        json_add_str(lb, "primaryVMSet", c->lbs[i].primary_vm_set);
        json_add_bool(lb, "allow", c->lbs[i].allow_placement);
        json_object_array_add(array, lb);
    }
    json_add(o, "configurations", array);
    json_add_int(o, "loadBalancerBackendPoolUpdateIntervalInSeconds", c->pool_update_interval_s);
}

static int config(struct arena *a, struct json_object *in, struct json_object **ret,
                  struct err *err)
{
    const struct azure_env env = env_of(json_member(in, "env"));
    const char *text = str_nonnull(json_str(in, "text"));
    const struct azure_unknown_key *unknown;
    size_t n_unknown;
    struct azure_config c;
    int rc = azure_config_parse(a, text, strlen(text), &env, &c, &unknown, &n_unknown, err);
    if (rc == ERR_OK && str_eq(c.config_type, "file") && !c.use_instance_metadata) {
        rc = err_set(err, ERR_INVALID, "no credentials are part of this question");
    }
    if (rc == ERR_OK) {
        struct json_object *o = json_object_new_object();
        add_texts(o, &c);
        add_others(o, &c);
        add_lbs(o, &c);
        *ret = o;
    }
    return rc;
}

const struct eval_fn eval_azure_config[] = {
    {"azure.config", config},
    {0},
};
