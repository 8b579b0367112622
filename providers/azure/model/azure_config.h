/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config.h: the cloud-config of Azure, decoded, with its defaults and start-up checks.
 *
 * Reads text (YAML or JSON), the three environment variables that parsing consults, nothing else.
 * Names of keys are matched without case; unknown ones are accepted, as upstream does, but
 * collected so that a person hears of them.  Texts are never NULL: "" = not given.  Everything
 * lives in the arena and is const once parsed.
 * Source: docs/spec/azure.md 1.1 to 1.5.  Pure. */
#ifndef TRIMTAB_AZURE_CONFIG_H
#define TRIMTAB_AZURE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/lb/name_rules.h"
#include "providers/azure/model/azure_selector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum azure_vm_type {
    AZURE_VM_STANDARD = 0, /* availability sets and single machines */
    AZURE_VM_VMSS,
    AZURE_VM_VMSSFLEX,
};
enum azure_pool_type {
    AZURE_POOL_NIC = 0, /* nodeIPConfiguration */
    AZURE_POOL_IP,      /* nodeIP */
};
/* One of multipleStandardLoadBalancerConfigurations[] (1.3). */
struct azure_lb_config {
    const char *name;           /* the internal twin is "<name>-internal" */
    const char *primary_vm_set; /* required, unique without case */
    bool allow_placement;       /* allowServicePlacement; true when absent */
    struct azure_selector services;
    struct azure_selector namespaces;
    struct azure_selector nodes;
};
struct azure_kv {
    const char *key;
    const char *value;
};
/* Clients with limits by cloudProviderRateLimit…, possibly their own (3.7). */
enum azure_limit {
    AZURE_LIMIT_LB = 0,
    AZURE_LIMIT_PIP,
    AZURE_LIMIT_NSG,
    AZURE_LIMIT_SUBNET,
    AZURE_LIMIT_PLS,
    AZURE_LIMIT_NIC,
    AZURE_LIMIT_VM,
    AZURE_LIMIT_SET,  /* availability sets */
    AZURE_LIMIT_VMSS, /* scale sets and their instances */
    AZURE_LIMIT_REST, /* no client of upstream's: the common numbers */
    AZURE_LIMITS,
};
struct azure_rate_limit {
    bool given; /* a block of its own */
    bool on;
    double qps, qps_write;
    int32_t bucket, bucket_write;
};
/* auxiliaryTokenProvider (2.6): a Key Vault secret that holds the token of the networks' tenant. */
struct azure_vault {
    bool given;
    const char *subscription_id;
    const char *resource_group;
    const char *vault_name;
    const char *secret_name;
};
/* A key of the file that is not read. */
struct azure_unknown_key {
    const char *file; /* as azure_config_text.file */
    const char *path; /* "loadBalancerSkuu", "multipleStandardLoadBalancerConfigurations[0].nme" */
    int line;         /* 1…; 0 when not known */
};

struct azure_config {
    /* where */
    const char *cloud; /* as written; azure_cloud.h tells its endpoints */
    const char *resource_manager_endpoint;
    bool disable_stack_cloud;
    const char *tenant_id;
    const char *subscription_id;
    const char *network_tenant_id;       /* networkResourceTenantID; "" = tenant_id */
    const char *network_subscription_id; /* effective: subscription_id when not given (1.2) */
    const char *resource_group;          /* lower case when it comes from a file */
    const char *location;
    const char *extended_location_name; /* both or none count: azure_config_is_edge() */
    const char *extended_location_type;
    /* network; each resource group is the effective one */
    const char *vnet_name;
    const char *vnet_resource_group;
    const char *vnet_resource_group_text; /* as written; "" = not given */
    const char *subnet_name;
    const char *security_group_name;
    const char *security_group_resource_group;
    const char *route_table_name;
    const char *route_table_resource_group;
    const char *lb_resource_group;
    const char *pls_resource_group;
    /* machines */
    enum azure_vm_type vm_type;
    const char *vm_type_text; /* as written; "vmss" by default */
    const char *primary_availability_set;
    const char *primary_scale_set;
    bool disable_availability_set_nodes;
    bool enable_vmss_flex_nodes;
    int32_t put_vmss_vm_batch_size;
    /* load balancers */
    bool standard_sku;               /* loadBalancerSku EqualFold "standard" */
    const char *lb_sku_text;         /* as written; "standard" by default */
    const char *lb_name;             /* loadBalancerName: prefix of balancer names only */
    bool service_gateway;            /* serviceGatewayEnabled: refused, it is not built */
    const char *preconfigured_pools; /* "", "internal", "external", "all"; others count as "" */
    int32_t max_rules;               /* maximumLoadBalancerRuleCount; 250 when 0 */
    bool exclude_masters;            /* effective excludeMasterFromStandardLB */
    bool disable_outbound_snat;      /* effective */
    enum azure_pool_type pool_type;
    const char *pool_type_text;        /* loadBalancerBackendPoolConfigurationType as written */
    bool migrate_to_ip_pools;          /* enableMigrateToIPBasedBackendPoolAPI */
    const struct azure_lb_config *lbs; /* multi-SLB; n_lbs 0 = one pair of balancers */
    size_t n_lbs;
    int32_t pool_update_interval_s; /* loadBalancerBackendPoolUpdateIntervalInSeconds; 30 */
    const char *probe_mode_text;    /* clusterServiceLoadBalancerHealthProbeMode as written */
    bool shared_probe;              /* clusterServiceLoadBalancerHealthProbeMode: shared */
    int32_t shared_probe_port;
    const char *shared_probe_path;
    bool mutate_ip_tags; /* enableIPTagMutationForExistingPublicIP */
    /* what annotations may name besides the configured ones; without `has`
     * everything, as upstream */
    struct name_list allowed_groups;        /* allowedResourceGroups */
    struct name_list allowed_subscriptions; /* allowedSubscriptions */
    /* lenientInternal: slips of azure-load-balancer-internal make it public */
    bool lenient_internal;
    /* tags (6.12) */
    const char *tags;
    const struct azure_kv *tags_map;
    size_t n_tags_map;
    const char *system_tags;
    /* transport */
    const char *user_agent; /* "" = the program's own */
    bool backoff;           /* cloudProviderBackoff */
    int32_t backoff_retries;
    int32_t backoff_duration_s;
    double backoff_exponent;
    double backoff_jitter;
    bool min_retry_after;                         /* enableMinimumRetryAfter */
    struct azure_rate_limit rate_limit;           /* cloudProviderRateLimit… */
    struct azure_rate_limit limits[AZURE_LIMITS]; /* effective */
    bool disable_api_call_cache;
    /* …CacheTTLInSeconds, as written; 0: not given (azure_arm_age_ms() tells what counts) */
    int32_t lb_cache_s, nsg_cache_s, pip_cache_s, pls_cache_s;
    int32_t vm_cache_s, vmss_cache_s, vmss_vm_cache_s, vmss_flex_cache_s, vmss_flex_vm_cache_s;
    int32_t availability_set_cache_s;
    bool vmss_vm_without_instance_view; /* listVmssVirtualMachinesWithoutInstanceView */
    bool use_instance_metadata;
    const char *config_type; /* "file", "secret", "merge" */
    /* credentials (2.1): never printed */
    const char *client_id;
    const char *client_secret;
    const char *client_cert_path;
    const char *client_cert_password;
    bool managed_identity;
    const char *user_assigned_identity;
    const char *federated_token_file;
    bool workload_identity;
    const char *msi_data_plane_path;
    struct azure_vault vault;
    /* disableCloudProvider: with reloading, nothing is done until it changes (1.1) */
    bool disabled;
};

/* The environment that parsing and credentials read; NULL = not set (1.1). */
struct azure_env {
    const char *tenant_id;            /* AZURE_TENANT_ID */
    const char *client_id;            /* AZURE_CLIENT_ID */
    const char *client_secret;        /* AZURE_CLIENT_SECRET */
    const char *federated_token_file; /* AZURE_FEDERATED_TOKEN_FILE */
    const char *environment_file;     /* AZURE_ENVIRONMENT_FILEPATH */
    const char *identity_endpoint;    /* IDENTITY_ENDPOINT */
    const char *identity_header;      /* IDENTITY_HEADER; secret */
};

/* One text of the configuration.  With `file`, errors begin "FILE:LINE: ", else "line LINE: ". */
struct azure_config_text {
    const char *file; /* or NULL */
    const char *text; /* NULL: there is no such text */
    size_t n;
};
/* Sources for cloudConfigType: what --cloud-config names, and what a Secret holds (1.1).  At least
 * one. */
struct azure_config_texts {
    struct azure_config_text file;
    struct azure_config_text secret;
};

/* Decodes a file and a Secret, and applies the environment and defaults.  As cloudConfigType of the
 * file says, the file alone counts, the Secret alone, or the file with what the Secret gives over
 * it, key by key (lists as a whole); without a Secret the file counts, whatever the type.
 * ERR_INVALID: no YAML, a value of the wrong type, or a text of more than 1 MiB. */
int azure_config_decode_texts(struct arena *a, const struct azure_config_texts *texts,
                              const struct azure_env *env, struct azure_config *ret,
                              const struct azure_unknown_key **ret_unknown, size_t *ret_n_unknown,
                              struct err *err) _warn_unused_;
/* The same, and checks what would stop upstream at the start (1.2, 1.3).  ERR_INVALID names line
 * and key, or the two keys that do not go together. */
int azure_config_parse_texts(struct arena *a, const struct azure_config_texts *texts,
                             const struct azure_env *env, struct azure_config *ret,
                             const struct azure_unknown_key **ret_unknown, size_t *ret_n_unknown,
                             struct err *err) _warn_unused_;
/* The line, 1…, on which a key stands for the `nth` time (1…) below line `below` (0: anywhere), in
 * YAML or JSON, whatever its case; 0 when it does not. */
int azure_config_line(const char *text, size_t n, const char *key, int nth, int below);

/* Both parts of extendedLocation are given: no zones, extendedLocation in new resources. */
bool azure_config_is_edge(const struct azure_config *c);
bool azure_config_is_stack(const struct azure_config *c); /* old api-versions (3.2) */
bool azure_config_is_multi_slb(const struct azure_config *c);
/* primaryScaleSetName or primaryAvailabilitySetName, by vmType. */
const char *azure_config_primary_vm_set(const struct azure_config *c);

#endif
