/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure.c: see eval_azure.h. */
#include "tests/eval/eval_azure.h"

#include <stddef.h>

#include "providers/azure/azure_names.h"

/* ---- configuration ------------------------------------------------------------------------------- */

enum kind { TEXT, NUMBER, SWITCH };
struct key {
    const char *name;
    enum kind kind;
    size_t offset;
};
#define KEY(name, kind, member)                                                                    \
    {                                                                                              \
        name, kind, offsetof(struct azure_config, member)                                          \
    }

static const struct key keys[] = {
    KEY("subscriptionId", TEXT, subscription_id),
    KEY("networkResourceSubscriptionID", TEXT, network_subscription_id),
    KEY("resourceGroup", TEXT, resource_group),
    KEY("loadBalancerResourceGroup", TEXT, lb_resource_group),
    KEY("privateLinkServiceResourceGroup", TEXT, pls_resource_group),
    KEY("vmType", TEXT, vm_type_text),
    KEY("primaryAvailabilitySetName", TEXT, primary_availability_set),
    KEY("primaryScaleSetName", TEXT, primary_scale_set),
    KEY("loadBalancerSku", TEXT, lb_sku_text),
    KEY("loadBalancerName", TEXT, lb_name),
    KEY("preConfiguredBackendPoolLoadBalancerTypes", TEXT, preconfigured_pools),
    KEY("maximumLoadBalancerRuleCount", NUMBER, max_rules),
    KEY("disableOutboundSNAT", SWITCH, disable_outbound_snat),
    KEY("clusterServiceSharedLoadBalancerHealthProbePort", NUMBER, shared_probe_port),
    KEY("clusterServiceSharedLoadBalancerHealthProbePath", TEXT, shared_probe_path),
    KEY("enableIPTagMutationForExistingPublicIP", SWITCH, mutate_ip_tags),
    KEY("systemTags", TEXT, system_tags),
    KEY("tags", TEXT, tags),
};

static void read_key(struct arena *a, const struct key *k, struct json_object *o,
                     struct azure_config *c)
{
    void *at = (char *)c + k->offset;
    switch (k->kind) {
    case TEXT:
        *(const char **)at = arena_strdup(a, str_nonnull(json_str(o, k->name)));
        break;
    case NUMBER:
        *(int32_t *)at = (int32_t)json_int(o, k->name, 0);
        break;
    case SWITCH:
        *(bool *)at = json_bool(o, k->name, false);
        break;
    }
}

static int read_lb(struct arena *a, struct json_object *o, struct azure_lb_config *ret,
                   struct err *err)
{
    ret->name = arena_strdup(a, str_nonnull(json_str(o, "name")));
    ret->primary_vm_set = arena_strdup(a, str_nonnull(json_str(o, "primaryVMSet")));
    ret->allow_placement = json_bool(o, "allowServicePlacement", true);
    int rc = azure_selector_decode(a, json_member(o, "serviceLabelSelector"), &ret->services, err);
    if (rc == ERR_OK) {
        rc = azure_selector_decode(a, json_member(o, "serviceNamespaceSelector"), &ret->namespaces,
                                   err);
    }
    if (rc == ERR_OK) {
        rc = azure_selector_decode(a, json_member(o, "nodeSelector"), &ret->nodes, err);
    }
    return rc;
}

static int read_lbs(struct arena *a, struct json_object *array, struct azure_config *c,
                    struct err *err)
{
    size_t n = json_len(array);
    struct azure_lb_config *lbs = ARENA_ARRAY(a, struct azure_lb_config, n);
    for (size_t i = 0; i < n; i++) {
        int rc = read_lb(a, json_object_array_get_idx(array, i), &lbs[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    c->lbs = lbs;
    c->n_lbs = n;
    return ERR_OK;
}

/* docs/spec/azure.md 1.2 */
static void apply_defaults(struct arena *a, struct json_object *o, struct azure_config *c)
{
    c->resource_group = str_lower(a, c->resource_group);
    c->network_subscription_id = str_or(c->network_subscription_id, c->subscription_id);
    c->lb_resource_group = str_or(c->lb_resource_group, c->resource_group);
    c->pls_resource_group = str_or(c->pls_resource_group, c->resource_group);
    c->vm_type_text = str_or(c->vm_type_text, "vmss");
    c->vm_type = azure_eq(c->vm_type_text, "vmss")       ? AZURE_VM_VMSS
                 : azure_eq(c->vm_type_text, "vmssflex") ? AZURE_VM_VMSSFLEX
                                                         : AZURE_VM_STANDARD;
    c->lb_sku_text = str_or(c->lb_sku_text, "standard");
    c->standard_sku = azure_eq(c->lb_sku_text, "standard");
    c->max_rules = c->max_rules == 0 ? 250 : c->max_rules;
    c->shared_probe = azure_eq(json_str(o, "clusterServiceLoadBalancerHealthProbeMode"), "shared");
    c->shared_probe_port = c->shared_probe_port == 0 ? 10256 : c->shared_probe_port;
    c->shared_probe_path = str_or(c->shared_probe_path, "/healthz");
    c->vnet_name = c->subnet_name = c->location = c->cloud = "";
    c->security_group_name = c->extended_location_name = c->extended_location_type = "";
    c->vnet_resource_group = c->security_group_resource_group = c->resource_group;
}

int eval_azure_naming(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                      struct err *err)
{
    struct json_object *given = json_member(in, "config");
    struct azure_config *c = ARENA_NEW(a, struct azure_config);
    struct azure_naming *n = ARENA_NEW(a, struct azure_naming);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        read_key(a, &keys[i], given, c);
    }
    apply_defaults(a, given, c);
    int rc = read_lbs(a, json_member(given, "multipleStandardLoadBalancerConfigurations"), c, err);
    if (rc == ERR_OK) {
        *n = (struct azure_naming){.config = c,
                                   .cluster = str_or(json_str(in, "clusterName"), "kubernetes")};
        *ret = n;
    }
    return rc;
}

/* ---- the rest ------------------------------------------------------------------------------------ */

int eval_azure_service(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                       const struct azure_service **ret_service, struct err *err)
{
    const struct tt_service *s;
    int rc = eval_azure_naming(a, in, ret, err);
    if (rc == ERR_OK) {
        rc = eval_service(a, json_member(in, "service"), &s, err);
    }
    if (rc == ERR_OK) {
        *ret_service = azure_service_read(a, *ret, s);
    }
    return rc;
}

struct json_object *const *eval_azure_docs(struct arena *a, struct json_object *in,
                                           const char *name, size_t *ret_n)
{
    struct json_object *array = json_member(in, name);
    size_t n = json_len(array);
    struct json_object **docs = ARENA_ARRAY(a, struct json_object *, n);
    for (size_t i = 0; i < n; i++) {
        docs[i] = json_object_array_get_idx(array, i);
    }
    *ret_n = n;
    return docs;
}

struct json_object *eval_azure_pair(const char *ipv4, const char *ipv6)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "ipv4", str_nonnull(ipv4));
    json_add_str(o, "ipv6", str_nonnull(ipv6));
    return o;
}
