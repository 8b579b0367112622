/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c: the table of resources.  To serve another custom resource, add a row with CUSTOM() or,
 * when it has no status subresource, CUSTOM_WHOLE().
 *
 * Constant data and look-ups; see kinds.h.  Discovery names and hashes are those
 * of kube-apiserver 1.36.2. */
#include "sim/kube/kinds.h"

#include "common/base/str.h"
#include "sim/kube/columns.h"
#include "sim/kube/deploy/deploy.h"
#include "sim/kube/pods/rules_pod.h"
#include "sim/kube/pods/types_pod.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

enum store_number {
    STORE_NAMESPACES = 0,
    STORE_NODES,
    STORE_SERVICES,
    STORE_ENDPOINTS,
    STORE_EVENTS,
    STORE_CONFIG_MAPS,
    STORE_SECRETS,
    STORE_SERVICE_ACCOUNTS,
    STORE_PODS,
    STORE_SLICES,
    STORE_LEASES,
    STORE_CRDS,
    STORE_DAEMON_SETS,
    STORE_DEPLOYMENTS,
    STORE_ROLES,
    STORE_ROLE_BINDINGS,
    STORE_CLUSTER_ROLES,
    STORE_CLUSTER_ROLE_BINDINGS,
    STORE_NETWORK_POLICIES,
    STORE_DISRUPTION_BUDGETS,
    STORE_INGRESSES,
    STORE_SNEGS,
    STORE_SERVICE_ATTACHMENTS,
    STORE_GCP_FIREWALLS,
    STORE_BACKEND_CONFIGS,
    STORE_FRONTEND_CONFIGS,
    STORE_NETWORKS,
    STORE_GKE_PARAM_SETS,
    STORE_L4LB_CONFIGS,
    STORE_MAX,
};

/* Rules common to all custom resources. */
#define CUSTOM_PARTS(group_, version_, plural_, singular_, kind_, store_, in_namespace)            \
    .group = (group_), .version = (version_), .plural = (plural_), .singular = (singular_),        \
    .kind = (kind_), .type = &kube_type_free, .store = (store_), .namespaced = (in_namespace),     \
    .counts_generation = true, .put_needs_version = true, .is_custom = true
#define CUSTOM(...)                                                                                \
    {                                                                                              \
        CUSTOM_PARTS(__VA_ARGS__), .has_status = true                                              \
    }
/* Without a status subresource: a write of the object includes its status. */
#define CUSTOM_WHOLE(short_names_, ...)                                                            \
    {                                                                                              \
        CUSTOM_PARTS(__VA_ARGS__), .short_names = (short_names_)                                   \
    }

const struct kube_kind kube_kinds[] = {
    {.group = "",
     .version = "v1",
     .plural = "configmaps",
     .singular = "configmap",
     .kind = "ConfigMap",
     .short_names = "cm",
     .storage_hash = "qFsyl6wFWjQ=",
     .type = &kube_type_config_map,
     .rules = &kube_rules_config_map,
     .columns = kube_columns_config_map,
     .store = STORE_CONFIG_MAPS,
     .namespaced = true},
    {.group = "",
     .version = "v1",
     .plural = "endpoints",
     .singular = "endpoints",
     .kind = "Endpoints",
     .short_names = "ep",
     .storage_hash = "fWeeMqaN/OA=",
     .type = &kube_type_endpoints,
     .rules = &kube_rules_endpoints,
     .store = STORE_ENDPOINTS,
     .namespaced = true,
     .put_creates = true},
    {.group = "",
     .version = "v1",
     .plural = "events",
     .singular = "event",
     .kind = "Event",
     .short_names = "ev",
     .storage_hash = "r2yiGXH7wu8=",
     .type = &kube_type_event,
     .rules = &kube_rules_event,
     .columns = kube_columns_event,
     .field_labels = "involvedObject.kind,involvedObject.namespace,involvedObject.name,"
                     "involvedObject.uid,involvedObject.apiVersion,involvedObject.resourceVersion,"
                     "involvedObject.fieldPath,reason,reportingComponent,source,type",
     .store = STORE_EVENTS,
     .namespaced = true,
     .put_creates = true},
    {.group = "",
     .version = "v1",
     .plural = "namespaces",
     .singular = "namespace",
     .kind = "Namespace",
     .short_names = "ns",
     .storage_hash = "Q3oi5N2YM8M=",
     .type = &kube_type_namespace,
     .rules = &kube_rules_namespace,
     .columns = kube_columns_namespace,
     .field_labels = "status.phase",
     .store = STORE_NAMESPACES,
     .has_status = true},
    {.group = "",
     .version = "v1",
     .plural = "nodes",
     .singular = "node",
     .kind = "Node",
     .short_names = "no",
     .storage_hash = "XwShjMxG9Fs=",
     .type = &kube_type_node,
     .rules = &kube_rules_node,
     .columns = kube_columns_node,
     .field_labels = "spec.unschedulable",
     .store = STORE_NODES,
     .has_status = true},
    {.group = "",
     .version = "v1",
     .plural = "pods",
     .singular = "pod",
     .kind = "Pod",
     .short_names = "po",
     .categories = "all",
     .storage_hash = "xPOwRZ+Yhw8=",
     .type = &kube_type_pod,
     .rules = &kube_rules_pod,
     .columns = kube_columns_pod,
     .field_labels = "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,"
                     "spec.hostNetwork,status.phase,status.podIP,status.nominatedNodeName",
     .store = STORE_PODS,
     .namespaced = true,
     .has_status = true,
     .counts_generation = true},
    {.group = "",
     .version = "v1",
     .plural = "secrets",
     .singular = "secret",
     .kind = "Secret",
     .storage_hash = "S6u1pOWzb84=",
     .type = &kube_type_secret,
     .rules = &kube_rules_secret,
     .columns = kube_columns_secret,
     .field_labels = "type",
     .store = STORE_SECRETS,
     .namespaced = true},
    {.group = "",
     .version = "v1",
     .plural = "serviceaccounts",
     .singular = "serviceaccount",
     .kind = "ServiceAccount",
     .short_names = "sa",
     .storage_hash = "pbx9ZvyFpBE=",
     .type = &kube_type_service_account,
     .store = STORE_SERVICE_ACCOUNTS,
     .namespaced = true},
    {.group = "",
     .version = "v1",
     .plural = "services",
     .singular = "service",
     .kind = "Service",
     .short_names = "svc",
     .categories = "all",
     .storage_hash = "0/CO1lhkEBI=",
     .type = &kube_type_service,
     .rules = &kube_rules_service,
     .columns = kube_columns_service,
     .field_labels = "spec.clusterIP,spec.type",
     .store = STORE_SERVICES,
     .namespaced = true,
     .has_status = true,
     .put_creates = true},
    {.group = "apiextensions.k8s.io",
     .version = "v1",
     .plural = "customresourcedefinitions",
     .singular = "customresourcedefinition",
     .kind = "CustomResourceDefinition",
     .short_names = "crd,crds",
     .categories = "api-extensions",
     .storage_hash = "jfWCUB31mvA=",
     .type = &kube_type_free,
     .wire_type = &kube_type_crd_wire,
     .rules = &kube_rules_crd,
     .store = STORE_CRDS,
     .has_status = true,
     .counts_generation = true},
    {.group = "apps",
     .version = "v1",
     .plural = "daemonsets",
     .singular = "daemonset",
     .kind = "DaemonSet",
     .short_names = "ds",
     .categories = "all",
     .type = &kube_type_daemon_set,
     .rules = &kube_rules_daemon_set,
     .store = STORE_DAEMON_SETS,
     .namespaced = true,
     .has_status = true,
     .counts_generation = true},
    {.group = "apps",
     .version = "v1",
     .plural = "deployments",
     .singular = "deployment",
     .kind = "Deployment",
     .short_names = "deploy",
     .categories = "all",
     .type = &kube_type_deployment,
     .rules = &kube_rules_deployment,
     .columns = kube_columns_deployment,
     .store = STORE_DEPLOYMENTS,
     .namespaced = true,
     .has_status = true,
     .counts_generation = true},
    {.group = "authentication.k8s.io",
     .version = "v1",
     .plural = "tokenreviews",
     .singular = "tokenreview",
     .kind = "TokenReview",
     .type = &kube_type_token_review,
     .is_review = true},
    {.group = "authorization.k8s.io",
     .version = "v1",
     .plural = "selfsubjectaccessreviews",
     .singular = "selfsubjectaccessreview",
     .kind = "SelfSubjectAccessReview",
     .type = &kube_type_self_subject_access_review,
     .is_review = true},
    {.group = "authorization.k8s.io",
     .version = "v1",
     .plural = "subjectaccessreviews",
     .singular = "subjectaccessreview",
     .kind = "SubjectAccessReview",
     .type = &kube_type_subject_access_review,
     .is_review = true},
    {.group = "coordination.k8s.io",
     .version = "v1",
     .plural = "leases",
     .singular = "lease",
     .kind = "Lease",
     .storage_hash = "gqkMMb/YqFM=",
     .type = &kube_type_lease,
     .rules = &kube_rules_lease,
     .columns = kube_columns_lease,
     .store = STORE_LEASES,
     .namespaced = true,
     .put_creates = true,
     .put_needs_version = true},
    {.group = "discovery.k8s.io",
     .version = "v1",
     .plural = "endpointslices",
     .singular = "endpointslice",
     .kind = "EndpointSlice",
     .storage_hash = "qgS0xkrxYAI=",
     .type = &kube_type_endpoint_slice,
     .rules = &kube_rules_endpoint_slice,
     .columns = kube_columns_endpoint_slice,
     .store = STORE_SLICES,
     .namespaced = true,
     .counts_generation = true,
     .counts_labels = true},
    {.group = "events.k8s.io",
     .version = "v1",
     .plural = "events",
     .singular = "event",
     .kind = "Event",
     .short_names = "ev",
     .storage_hash = "r2yiGXH7wu8=",
     .type = &kube_type_events_event,
     .rules = &kube_rules_event,
     .columns = kube_columns_event,
     .field_labels = "involvedObject.kind,involvedObject.namespace,involvedObject.name,"
                     "involvedObject.uid,regarding.kind,regarding.namespace,regarding.name,"
                     "regarding.uid,reason,reportingComponent,reportingController,type",
     .store = STORE_EVENTS,
     .namespaced = true,
     .put_creates = true,
     .as_stored = kube_event_as_stored,
     .as_served = kube_event_as_served},
    {.group = "networking.k8s.io",
     .version = "v1",
     .plural = "ingresses",
     .singular = "ingress",
     .kind = "Ingress",
     .short_names = "ing",
     .type = &kube_type_ingress,
     .store = STORE_INGRESSES,
     .namespaced = true,
     .has_status = true,
     .counts_generation = true},
    {.group = "networking.k8s.io",
     .version = "v1",
     .plural = "networkpolicies",
     .singular = "networkpolicy",
     .kind = "NetworkPolicy",
     .short_names = "netpol",
     .type = &kube_type_network_policy,
     .rules = &kube_rules_network_policy,
     .store = STORE_NETWORK_POLICIES,
     .namespaced = true,
     .counts_generation = true},
    {.group = "policy",
     .version = "v1",
     .plural = "poddisruptionbudgets",
     .singular = "poddisruptionbudget",
     .kind = "PodDisruptionBudget",
     .short_names = "pdb",
     .type = &kube_type_disruption_budget,
     .rules = &kube_rules_disruption_budget,
     .store = STORE_DISRUPTION_BUDGETS,
     .namespaced = true,
     .has_status = true,
     .counts_generation = true},
    {.group = "rbac.authorization.k8s.io",
     .version = "v1",
     .plural = "clusterrolebindings",
     .singular = "clusterrolebinding",
     .kind = "ClusterRoleBinding",
     .type = &kube_type_cluster_role_binding,
     .rules = &kube_rules_binding,
     .store = STORE_CLUSTER_ROLE_BINDINGS,
     .names_are_paths = true},
    {.group = "rbac.authorization.k8s.io",
     .version = "v1",
     .plural = "clusterroles",
     .singular = "clusterrole",
     .kind = "ClusterRole",
     .type = &kube_type_cluster_role,
     .rules = &kube_rules_role,
     .store = STORE_CLUSTER_ROLES,
     .names_are_paths = true},
    {.group = "rbac.authorization.k8s.io",
     .version = "v1",
     .plural = "rolebindings",
     .singular = "rolebinding",
     .kind = "RoleBinding",
     .type = &kube_type_role_binding,
     .rules = &kube_rules_binding,
     .store = STORE_ROLE_BINDINGS,
     .namespaced = true,
     .names_are_paths = true},
    {.group = "rbac.authorization.k8s.io",
     .version = "v1",
     .plural = "roles",
     .singular = "role",
     .kind = "Role",
     .type = &kube_type_role,
     .rules = &kube_rules_role,
     .store = STORE_ROLES,
     .namespaced = true,
     .names_are_paths = true},
    CUSTOM("cloud.google.com", "v1", "backendconfigs", "backendconfig", "BackendConfig",
           STORE_BACKEND_CONFIGS, true),
    CUSTOM("networking.gke.io", "v1", "gcpfirewalls", "gcpfirewall", "GCPFirewall",
           STORE_GCP_FIREWALLS, false),
    CUSTOM("networking.gke.io", "v1", "gkenetworkparamsets", "gkenetworkparamset",
           "GKENetworkParamSet", STORE_GKE_PARAM_SETS, false),
    CUSTOM_WHOLE(NULL, "networking.gke.io", "v1", "l4lbconfigs", "l4lbconfig", "L4LBConfig",
                 STORE_L4LB_CONFIGS, true),
    CUSTOM("networking.gke.io", "v1", "networks", "network", "Network", STORE_NETWORKS, false),
    CUSTOM("networking.gke.io", "v1", "serviceattachments", "serviceattachment",
           "ServiceAttachment", STORE_SERVICE_ATTACHMENTS, true),
    CUSTOM("networking.gke.io", "v1beta1", "frontendconfigs", "frontendconfig", "FrontendConfig",
           STORE_FRONTEND_CONFIGS, true),
    CUSTOM_WHOLE("svcneg", "networking.gke.io", "v1beta1", "servicenetworkendpointgroups",
                 "servicenetworkendpointgroup", "ServiceNetworkEndpointGroup", STORE_SNEGS, true),
};
const size_t kube_n_kinds = ARRAY_LEN(kube_kinds);
const int kube_n_stores = STORE_MAX;

const char *kube_api_version(const struct kube_kind *k, struct arena *a)
{
    return *k->group ? arena_printf(a, "%s/%s", k->group, k->version) : k->version;
}

const struct kube_kind *kube_kind_find(const char *group, const char *version, const char *plural)
{
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (str_eq(k->plural, plural) && str_eq(k->group, group) && str_eq(k->version, version)) {
            return k;
        }
    }
    return NULL;
}

const struct kube_kind *kube_kind_by_plural(const char *plural)
{
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (str_eq(kube_kinds[i].plural, plural) && !kube_kinds[i].is_review) {
            return &kube_kinds[i];
        }
    }
    return NULL;
}

const struct kube_kind *kube_kind_of_store(int store)
{
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (kube_kinds[i].store == store && !kube_kinds[i].is_review) {
            return &kube_kinds[i];
        }
    }
    return NULL;
}

bool kube_group_is_served(const char *group, const char *version)
{
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (str_eq(kube_kinds[i].group, group) &&
            (!version || str_eq(kube_kinds[i].version, version))) {
            return true;
        }
    }
    return false;
}
