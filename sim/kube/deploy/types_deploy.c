/* SPDX-License-Identifier: Apache-2.0 */
/* types_deploy.c: Deployment, DaemonSet, roles and bindings, NetworkPolicy, PodDisruptionBudget,
 * Ingress; and what is read of a CustomResourceDefinition in protobuf.
 *
 * Constant tables only; see sim/kube/types.h. */
#include "sim/kube/deploy/deploy.h"

#include "sim/kube/pods/types_pod.h"
#include "sim/kube/types_tables.h"

/* --- Deployment ------------------------------------------------------------------------------- */
#define APPS "io.k8s.api.apps.v1."
static const struct kube_field rolling_fields[] = {
    F("maxUnavailable", KF_INT_OR_STR),
    F("maxSurge", KF_INT_OR_STR),
};
static const struct kube_type rolling =
    TYPE("RollingUpdateDeployment", APPS "RollingUpdateDeployment", rolling_fields);
static const struct kube_field strategy_fields[] = {
    F("type", KF_STR),
    OBJ_P("rollingUpdate", rolling),
};
static const struct kube_type strategy =
    TYPE("DeploymentStrategy", APPS "DeploymentStrategy", strategy_fields);
static const struct kube_field deployment_spec_fields[] = {
    F_P("replicas", KF_I32),
    OBJ_RP("selector", kube_type_label_selector),
    OBJ_R("template", kube_type_pod_template),
    OBJ_K("strategy", strategy),
    F("minReadySeconds", KF_I32),
    F_P("revisionHistoryLimit", KF_I32),
    F("paused", KF_BOOL),
    F_P("progressDeadlineSeconds", KF_I32),
};
static const struct kube_type deployment_spec =
    TYPE("DeploymentSpec", APPS "DeploymentSpec", deployment_spec_fields);
static const struct kube_field deployment_condition_fields[] = {
    F_R("type", KF_STR),
    F_R("status", KF_STR),
    F_K("lastUpdateTime", KF_TIME),
    F_K("lastTransitionTime", KF_TIME),
    F("reason", KF_STR),
    F("message", KF_STR),
};
static const struct kube_type deployment_condition =
    TYPE("DeploymentCondition", APPS "DeploymentCondition", deployment_condition_fields);
static const struct kube_field deployment_status_fields[] = {
    F("observedGeneration", KF_I64),    F("replicas", KF_I32),
    F("updatedReplicas", KF_I32),       F("readyReplicas", KF_I32),
    F("availableReplicas", KF_I32),     F("unavailableReplicas", KF_I32),
    F_P("terminatingReplicas", KF_I32), OBJS_BY("conditions", deployment_condition, "type"),
    F_P("collisionCount", KF_I32),
};
static const struct kube_type deployment_status =
    TYPE("DeploymentStatus", APPS "DeploymentStatus", deployment_status_fields);
static const struct kube_field deployment_fields[] = {
    WITH_STATUS(deployment_spec, deployment_status)};
const struct kube_type kube_type_deployment =
    TYPE("Deployment", APPS "Deployment", deployment_fields);

/* --- DaemonSet -------------------------------------------------------------------------------- */
static const struct kube_type rolling_daemon =
    TYPE("RollingUpdateDaemonSet", APPS "RollingUpdateDaemonSet", rolling_fields);
static const struct kube_field daemon_strategy_fields[] = {
    F("type", KF_STR),
    OBJ_P("rollingUpdate", rolling_daemon),
};
static const struct kube_type daemon_strategy =
    TYPE("DaemonSetUpdateStrategy", APPS "DaemonSetUpdateStrategy", daemon_strategy_fields);
static const struct kube_field daemon_set_spec_fields[] = {
    OBJ_RP("selector", kube_type_label_selector), OBJ_R("template", kube_type_pod_template),
    OBJ_K("updateStrategy", daemon_strategy),     F("minReadySeconds", KF_I32),
    F_P("revisionHistoryLimit", KF_I32),
};
static const struct kube_type daemon_set_spec =
    TYPE("DaemonSetSpec", APPS "DaemonSetSpec", daemon_set_spec_fields);
static const struct kube_field daemon_set_condition_fields[] = {
    F_R("type", KF_STR), F_R("status", KF_STR), F_K("lastTransitionTime", KF_TIME),
    F("reason", KF_STR), F("message", KF_STR),
};
static const struct kube_type daemon_set_condition =
    TYPE("DaemonSetCondition", APPS "DaemonSetCondition", daemon_set_condition_fields);
static const struct kube_field daemon_set_status_fields[] = {
    F_R("currentNumberScheduled", KF_I32), F_R("numberMisscheduled", KF_I32),
    F_R("desiredNumberScheduled", KF_I32), F_R("numberReady", KF_I32),
    F("observedGeneration", KF_I64),       F("updatedNumberScheduled", KF_I32),
    F("numberAvailable", KF_I32),          F("numberUnavailable", KF_I32),
    F_P("collisionCount", KF_I32),         OBJS_BY("conditions", daemon_set_condition, "type"),
};
static const struct kube_type daemon_set_status =
    TYPE("DaemonSetStatus", APPS "DaemonSetStatus", daemon_set_status_fields);
static const struct kube_field daemon_set_fields[] = {
    WITH_STATUS(daemon_set_spec, daemon_set_status)};
const struct kube_type kube_type_daemon_set =
    TYPE("DaemonSet", APPS "DaemonSet", daemon_set_fields);

/* --- roles and bindings ----------------------------------------------------------------------- */
#define RBAC "io.k8s.api.rbac.v1."
static const struct kube_field policy_rule_fields[] = {
    F_R("verbs", KF_STRS),       F("apiGroups", KF_STRS),       F("resources", KF_STRS),
    F("resourceNames", KF_STRS), F("nonResourceURLs", KF_STRS),
};
static const struct kube_type policy_rule =
    TYPE("PolicyRule", RBAC "PolicyRule", policy_rule_fields);
static const struct kube_field role_fields[] = {OBJECT_HEAD, OBJS_K("rules", policy_rule)};
const struct kube_type kube_type_role = TYPE("Role", RBAC "Role", role_fields);
static const struct kube_field cluster_role_fields[] = {
    OBJECT_HEAD,
    OBJS_K("rules", policy_rule),
    F("aggregationRule", KF_ANY),
};
const struct kube_type kube_type_cluster_role =
    TYPE("ClusterRole", RBAC "ClusterRole", cluster_role_fields);

static const struct kube_field subject_fields[] = {
    F_R("kind", KF_STR),
    F("apiGroup", KF_STR),
    F_R("name", KF_STR),
    F("namespace", KF_STR),
};
static const struct kube_type subject = TYPE("Subject", RBAC "Subject", subject_fields);
static const struct kube_field role_ref_fields[] = {
    F_R("apiGroup", KF_STR),
    F_R("kind", KF_STR),
    F_R("name", KF_STR),
};
static const struct kube_type role_ref = TYPE("RoleRef", RBAC "RoleRef", role_ref_fields);
static const struct kube_field binding_fields[] = {
    OBJECT_HEAD,
    OBJS("subjects", subject),
    OBJ_R("roleRef", role_ref),
};
const struct kube_type kube_type_role_binding =
    TYPE("RoleBinding", RBAC "RoleBinding", binding_fields);
const struct kube_type kube_type_cluster_role_binding =
    TYPE("ClusterRoleBinding", RBAC "ClusterRoleBinding", binding_fields);

/* --- NetworkPolicy ---------------------------------------------------------------------------- */
#define NETWORKING "io.k8s.api.networking.v1."
static const struct kube_field policy_port_fields[] = {
    F_P("protocol", KF_STR),
    F("port", KF_INT_OR_STR),
    F_P("endPort", KF_I32),
};
static const struct kube_type policy_port =
    TYPE("NetworkPolicyPort", NETWORKING "NetworkPolicyPort", policy_port_fields);
static const struct kube_field ip_block_fields[] = {F_R("cidr", KF_STR), F("except", KF_STRS)};
static const struct kube_type ip_block = TYPE("IPBlock", NETWORKING "IPBlock", ip_block_fields);
static const struct kube_field peer_fields[] = {
    OBJ_P("podSelector", kube_type_label_selector),
    OBJ_P("namespaceSelector", kube_type_label_selector),
    OBJ_P("ipBlock", ip_block),
};
static const struct kube_type peer =
    TYPE("NetworkPolicyPeer", NETWORKING "NetworkPolicyPeer", peer_fields);
static const struct kube_field ingress_rule_fields[] = {
    OBJS("ports", policy_port),
    OBJS("from", peer),
};
static const struct kube_type ingress_rule =
    TYPE("NetworkPolicyIngressRule", NETWORKING "NetworkPolicyIngressRule", ingress_rule_fields);
static const struct kube_field egress_rule_fields[] = {
    OBJS("ports", policy_port),
    OBJS("to", peer),
};
static const struct kube_type egress_rule =
    TYPE("NetworkPolicyEgressRule", NETWORKING "NetworkPolicyEgressRule", egress_rule_fields);
static const struct kube_field policy_spec_fields[] = {
    OBJ_K("podSelector", kube_type_label_selector),
    OBJS("ingress", ingress_rule),
    OBJS("egress", egress_rule),
    F("policyTypes", KF_STRS),
};
static const struct kube_type policy_spec =
    TYPE("NetworkPolicySpec", NETWORKING "NetworkPolicySpec", policy_spec_fields);
static const struct kube_field policy_fields[] = {OBJECT_HEAD, OBJ_K("spec", policy_spec)};
const struct kube_type kube_type_network_policy =
    TYPE("NetworkPolicy", NETWORKING "NetworkPolicy", policy_fields);

static const struct kube_field ingress_fields[] = {OBJECT_HEAD, F("spec", KF_ANY),
                                                   F("status", KF_ANY)};
const struct kube_type kube_type_ingress = TYPE("Ingress", NETWORKING "Ingress", ingress_fields);

/* --- PodDisruptionBudget ---------------------------------------------------------------------- */
#define POLICY "io.k8s.api.policy.v1."
static const struct kube_field budget_spec_fields[] = {
    F("minAvailable", KF_INT_OR_STR),
    OBJ_P("selector", kube_type_label_selector),
    F("maxUnavailable", KF_INT_OR_STR),
    F_P("unhealthyPodEvictionPolicy", KF_STR),
};
static const struct kube_type budget_spec =
    TYPE("PodDisruptionBudgetSpec", POLICY "PodDisruptionBudgetSpec", budget_spec_fields);
static const struct kube_field budget_status_fields[] = {
    F("observedGeneration", KF_I64),
    F("disruptedPods", KF_ANY),
    F_K("disruptionsAllowed", KF_I32),
    F_K("currentHealthy", KF_I32),
    F_K("desiredHealthy", KF_I32),
    F_K("expectedPods", KF_I32),
    OBJS_BY("conditions", kube_type_condition, "type"),
};
static const struct kube_type budget_status =
    TYPE("PodDisruptionBudgetStatus", POLICY "PodDisruptionBudgetStatus", budget_status_fields);
static const struct kube_field budget_fields[] = {WITH_STATUS(budget_spec, budget_status)};
const struct kube_type kube_type_disruption_budget =
    TYPE("PodDisruptionBudget", POLICY "PodDisruptionBudget", budget_fields);

/* --- CustomResourceDefinition ----------------------------------------------------------------- */
#define CRD "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
static const struct kube_field crd_names_fields[] = {
    F_R("plural", KF_STR), F("singular", KF_STR), F("shortNames", KF_STRS),
    F_R("kind", KF_STR),   F("listKind", KF_STR), F("categories", KF_STRS),
};
static const struct kube_type crd_names =
    TYPE("CustomResourceDefinitionNames", CRD "CustomResourceDefinitionNames", crd_names_fields);
static const struct kube_field crd_scale_fields[] = {
    F("specReplicasPath", KF_STR),
    F("statusReplicasPath", KF_STR),
    F("labelSelectorPath", KF_STR),
};
static const struct kube_type crd_scale =
    TYPE("CustomResourceSubresourceScale", CRD "CustomResourceSubresourceScale", crd_scale_fields);
static const struct kube_type crd_status = {.go_name = "CustomResourceSubresourceStatus",
                                            .def_name = CRD "CustomResourceSubresourceStatus"};
static const struct kube_field crd_subresources_fields[] = {
    OBJ_P("status", crd_status),
    OBJ_P("scale", crd_scale),
};
static const struct kube_type crd_subresources =
    TYPE("CustomResourceSubresources", CRD "CustomResourceSubresources", crd_subresources_fields);
static const struct kube_field crd_column_fields[] = {
    F_R("name", KF_STR),      F_R("type", KF_STR),   F("format", KF_STR),
    F("description", KF_STR), F("priority", KF_I32), F_R("jsonPath", KF_STR),
};
static const struct kube_type crd_column =
    TYPE("CustomResourceColumnDefinition", CRD "CustomResourceColumnDefinition", crd_column_fields);
static const struct kube_field crd_version_fields[] = {
    F_R("name", KF_STR),
    F_R("served", KF_BOOL),
    F_R("storage", KF_BOOL),
    F("deprecated", KF_BOOL),
    F_P("deprecationWarning", KF_STR),
    OBJ_P("subresources", crd_subresources),
    OBJS("additionalPrinterColumns", crd_column),
};
static const struct kube_type crd_version = TYPE(
    "CustomResourceDefinitionVersion", CRD "CustomResourceDefinitionVersion", crd_version_fields);
static const struct kube_field crd_conversion_fields[] = {F_R("strategy", KF_STR)};
static const struct kube_type crd_conversion =
    TYPE("CustomResourceConversion", CRD "CustomResourceConversion", crd_conversion_fields);
static const struct kube_field crd_spec_fields[] = {
    F_R("group", KF_STR),
    OBJ_K("names", crd_names),
    F_R("scope", KF_STR),
    OBJS_K("versions", crd_version),
    OBJ_P("conversion", crd_conversion),
    F("preserveUnknownFields", KF_BOOL),
};
static const struct kube_type crd_spec =
    TYPE("CustomResourceDefinitionSpec", CRD "CustomResourceDefinitionSpec", crd_spec_fields);
static const struct kube_field crd_fields[] = {OBJECT_HEAD, OBJ_K("spec", crd_spec)};
const struct kube_type kube_type_crd_wire =
    TYPE("CustomResourceDefinition", CRD "CustomResourceDefinition", crd_fields);
