/* SPDX-License-Identifier: Apache-2.0 */
/* azure_arm.c: the kinds of resources: their paths, api-versions, operation ids and words
 * (azure_arm.h).
 *
 * One row per kind; docs/spec/azure.md 3.2.  The state machine of a call stands in azure_call.c. */
#include "providers/azure/arm/azure_arm.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/url_build.h"

struct kind_row {
    const char *space; /* resource provider namespace; NULL: below another resource */
    const char *type;  /* last but one segment */
    const char *word;
    const char *version;
    const char *stack_version; /* on a real Azure Stack */
    bool compute; /* lives in the compute subscription, called with that tenant's token */
    enum azure_limit limit;
};

#define NETWORK   "Microsoft.Network"
#define COMPUTE   "Microsoft.Compute"
#define V_NETWORK "2025-05-01"
#define V_COMPUTE "2025-04-01"

static const struct kind_row rows[AZURE_KIND_MAX] = {
    [AZURE_LBS] = {NETWORK, "loadBalancers", "load balancer", V_NETWORK, "2018-11-01", false,
                   AZURE_LIMIT_LB},
    [AZURE_PIPS] = {NETWORK, "publicIPAddresses", "public IP address", V_NETWORK, "2018-11-01",
                    false, AZURE_LIMIT_PIP},
    [AZURE_NSGS] = {NETWORK, "networkSecurityGroups", "network security group", V_NETWORK,
                    "2018-11-01", false, AZURE_LIMIT_NSG},
    [AZURE_SUBNETS] = {NULL, "subnets", "subnet", V_NETWORK, "2018-11-01", false,
                       AZURE_LIMIT_SUBNET},
    [AZURE_POOLS] = {NULL, "backendAddressPools", "backend address pool", V_NETWORK, V_NETWORK,
                     false, AZURE_LIMIT_LB},
    [AZURE_PLSS] = {NETWORK, "privateLinkServices", "private link service", V_NETWORK, "2019-03-01",
                    true, AZURE_LIMIT_PLS},
    [AZURE_PE_CONNECTIONS] = {NULL, "privateEndpointConnections", "private endpoint connection",
                              V_NETWORK, "2019-03-01", true, AZURE_LIMIT_PLS},
    [AZURE_NICS] = {NETWORK, "networkInterfaces", "network interface", V_NETWORK, "2018-11-01",
                    true, AZURE_LIMIT_NIC},
    [AZURE_VMS] = {COMPUTE, "virtualMachines", "virtual machine", V_COMPUTE, "2017-12-01", true,
                   AZURE_LIMIT_VM},
    [AZURE_SETS] = {COMPUTE, "availabilitySets", "availability set", V_COMPUTE, "2019-07-01", true,
                    AZURE_LIMIT_SET},
    [AZURE_VMSSS] = {COMPUTE, "virtualMachineScaleSets", "scale set", V_COMPUTE, "2019-07-01", true,
                     AZURE_LIMIT_VMSS},
    [AZURE_VMSS_VMS] = {NULL, "virtualMachines", "scale set instance", V_COMPUTE, "2019-07-01",
                        true, AZURE_LIMIT_VMSS},
    [AZURE_VMSS_NICS] = {NULL, "networkInterfaces", "network interface of a scale set",
                         "2018-10-01", "2018-10-01", true, AZURE_LIMIT_NIC},
    [AZURE_PROVIDERS] = {NULL, "providers", "resource provider", "2021-04-01", "2021-04-01", false,
                         AZURE_LIMIT_REST},
};

#define RETRIES_MAX    20
#define DURATION_MAX_S 60

/* Upstream reads the numbers and forgets them (1.4, 17 row 9). */
static struct retry_policy policy_of(const struct azure_config *c)
{
    struct retry_policy p = {
        .max_attempts = 4,
        .base_ms = 500,
        .cap_ms = 60000,
        .budget_ms = 120000,
        .max_retry_after_ms = AZURE_GATE_WAIT_MS,
        .full_jitter = true,
    };
    if (c->backoff) {
        int32_t retries = c->backoff_retries > 0 ? c->backoff_retries : 0;
        int32_t s = c->backoff_duration_s > 1 ? c->backoff_duration_s : 1;
        p.max_attempts = 1 + (retries < RETRIES_MAX ? retries : RETRIES_MAX);
        p.base_ms = 1000 * (s < DURATION_MAX_S ? s : DURATION_MAX_S);
        p.budget_ms = 600000;
    }
    return p;
}

void azure_arm_init(struct azure_arm *arm)
{
    const struct azure_config *c = arm->config;
    arm->requests = policy_of(c);
    int64_t now = clock_now_ms(arm->clock);
    mutex_init(&arm->lock);
    arm->gate = (struct azure_gate){0};
    memset(arm->usual_ms, 0, sizeof arm->usual_ms);
    for (int i = 0; i < AZURE_LIMITS; i++) {
        const struct azure_rate_limit *l = &c->limits[i];
        ratelimit_init(&arm->limits[i][0], l->on ? l->qps : 0, l->bucket > 0 ? l->bucket : 1, now);
        ratelimit_init(&arm->limits[i][1], l->on ? l->qps_write : 0,
                       l->bucket_write > 0 ? l->bucket_write : 1, now);
    }
}

void azure_arm_done(struct azure_arm *arm)
{
    mutex_done(&arm->lock);
}

const char *azure_arm_collection(struct arena *a, const struct azure_arm *arm, enum azure_kind k,
                                 const char *group)
{
    const struct kind_row *row = &rows[k];
    const struct azure_config *c = arm->config;
    if (row->space == NULL) {
        return URL_RESOURCE_PATH(a, group, row->type);
    }
    return URL_RESOURCE_PATH(a, "", "subscriptions",
                             row->compute ? c->subscription_id : c->network_subscription_id,
                             "resourceGroups", group, "providers", row->space, row->type);
}

const char *azure_arm_everywhere(struct arena *a, const struct azure_arm *arm, enum azure_kind k)
{
    const struct kind_row *row = &rows[k];
    const struct azure_config *c = arm->config;
    return URL_RESOURCE_PATH(a, "", "subscriptions",
                             row->compute ? c->subscription_id : c->network_subscription_id,
                             "providers", row->space, row->type);
}

const char *azure_arm_id(struct arena *a, const struct azure_arm *arm, enum azure_kind k,
                         const char *group, const char *name)
{
    return URL_RESOURCE_PATH(a, azure_arm_collection(a, arm, k, group), name);
}

const char *azure_arm_op_id(enum azure_kind k, enum azure_verb v)
{
    static const struct {
        enum azure_kind kind;
        enum azure_verb verb;
        const char *id;
    } others[] = {
        {AZURE_LBS, AZURE_MIGRATE, "LoadBalancers.MigrateToIPBased"},
        {AZURE_PE_CONNECTIONS, AZURE_DELETE, "PrivateLinkServices.DeletePrivateEndpointConnection"},
        {AZURE_PE_CONNECTIONS, AZURE_LIST, "PrivateLinkServices.ListPrivateEndpointConnections"},
        {AZURE_VMSS_VMS, AZURE_PUT, "VirtualMachineScaleSetVMs.Update"},
        {AZURE_VMSS_NICS, AZURE_GET,
         "network.Interfaces.GetVirtualMachineScaleSetNetworkInterface"},
        {AZURE_VMSS_NICS, AZURE_LIST,
         "network.Interfaces.ListVirtualMachineScaleSetVMNetworkInterfaces"},
    };
#define ROW(api)                                                                                   \
    {                                                                                              \
        api ".Get", api ".List", api ".CreateOrUpdate", api ".Delete"                              \
    }
    static const char *const ids[AZURE_KIND_MAX][4] = {
        [AZURE_LBS] = ROW("LoadBalancers"),
        [AZURE_PIPS] = ROW("PublicIPAddresses"),
        [AZURE_NSGS] = ROW("SecurityGroups"),
        [AZURE_SUBNETS] = ROW("Subnets"),
        [AZURE_POOLS] = ROW("LoadBalancerBackendAddressPools"),
        [AZURE_PLSS] = ROW("PrivateLinkServices"),
        [AZURE_PE_CONNECTIONS] = ROW("PrivateLinkServices"),
        [AZURE_NICS] = ROW("Interfaces"),
        [AZURE_VMS] = ROW("VirtualMachines"),
        [AZURE_SETS] = ROW("AvailabilitySets"),
        [AZURE_VMSSS] = ROW("VirtualMachineScaleSets"),
        [AZURE_VMSS_VMS] = ROW("VirtualMachineScaleSetVMs"),
        [AZURE_VMSS_NICS] = ROW("network.Interfaces"),
        [AZURE_PROVIDERS] = ROW("resources.Providers"),
    };
#undef ROW
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (others[i].kind == k && others[i].verb == v) {
            return others[i].id;
        }
    }
    return v <= AZURE_DELETE ? ids[k][v] : "unknown";
}

const char *azure_arm_word(enum azure_kind k)
{
    return rows[k].word;
}

const char *azure_arm_version(const struct azure_arm *arm, enum azure_kind k)
{
    return azure_config_is_stack(arm->config) ? rows[k].stack_version : rows[k].version;
}

enum azure_limit azure_arm_limit(enum azure_kind k)
{
    return rows[k].limit;
}

int64_t azure_arm_age_ms(const struct azure_arm *arm, enum azure_kind k)
{
    const struct azure_config *c = arm->config;
    const int32_t given_s[AZURE_KIND_MAX] = {
        [AZURE_LBS] = c->lb_cache_s,     [AZURE_PIPS] = c->pip_cache_s,
        [AZURE_NSGS] = c->nsg_cache_s,   [AZURE_PLSS] = c->pls_cache_s,
        [AZURE_VMS] = c->vm_cache_s,     [AZURE_SETS] = c->availability_set_cache_s,
        [AZURE_VMSSS] = c->vmss_cache_s, [AZURE_VMSS_VMS] = c->vmss_vm_cache_s,
    };
    if (c->disable_api_call_cache) {
        return 0;
    }
    return given_s[k] > 0 ? INT64_C(1000) * given_s[k] : AZURE_AGE_MS;
}

bool azure_arm_is_compute(enum azure_kind k)
{
    return rows[k].compute;
}
