/* SPDX-License-Identifier: Apache-2.0 */
/* types_pod.c: the structures of Pods and of the templates that make them.
 *
 * Constant tables only; see sim/kube/types.h.  Members that decide nothing here (most volumes,
 * affinities, handlers) are known by name and kept as they come. */
#include "sim/kube/pods/types_pod.h"

#include "sim/kube/types_tables.h"

/* --- shared ----------------------------------------------------------------------------------- */
static const struct kube_field requirement_fields[] = {
    F_R("key", KF_STR),
    F_R("operator", KF_STR),
    F("values", KF_STRS),
};
static const struct kube_type requirement =
    TYPE("LabelSelectorRequirement", META "LabelSelectorRequirement", requirement_fields);
static const struct kube_field label_selector_fields[] = {
    F("matchLabels", KF_STR_MAP),
    OBJS("matchExpressions", requirement),
};
const struct kube_type kube_type_label_selector =
    TYPE("LabelSelector", META "LabelSelector", label_selector_fields);

/* --- containers ------------------------------------------------------------------------------- */
static const struct kube_field container_port_fields[] = {
    F("name", KF_STR),     F("hostPort", KF_I32), F_R("containerPort", KF_I32),
    F("protocol", KF_STR), F("hostIP", KF_STR),
};
static const struct kube_type container_port =
    TYPE("ContainerPort", CORE "ContainerPort", container_port_fields);

static const struct kube_field env_fields[] = {
    F_R("name", KF_STR),
    F("value", KF_STR),
    F("valueFrom", KF_ANY),
};
static const struct kube_type env_var = TYPE("EnvVar", CORE "EnvVar", env_fields);

static const struct kube_field resources_fields[] = {
    F("limits", KF_QTY_MAP),
    F("requests", KF_QTY_MAP),
    F("claims", KF_ANY),
};
static const struct kube_type resources =
    TYPE("ResourceRequirements", CORE "ResourceRequirements", resources_fields);

static const struct kube_field mount_fields[] = {
    F_R("name", KF_STR),      F("readOnly", KF_BOOL), F_P("recursiveReadOnly", KF_STR),
    F_R("mountPath", KF_STR), F("subPath", KF_STR),   F_P("mountPropagation", KF_STR),
    F("subPathExpr", KF_STR),
};
static const struct kube_type volume_mount = TYPE("VolumeMount", CORE "VolumeMount", mount_fields);

static const struct kube_field http_get_fields[] = {
    F("path", KF_STR),   F_R("port", KF_INT_OR_STR), F("host", KF_STR),
    F("scheme", KF_STR), F("httpHeaders", KF_ANY),
};
static const struct kube_type http_get =
    TYPE("HTTPGetAction", CORE "HTTPGetAction", http_get_fields);
static const struct kube_field probe_fields[] = {
    F("exec", KF_ANY),
    OBJ_P("httpGet", http_get),
    F("tcpSocket", KF_ANY),
    F("grpc", KF_ANY),
    F("initialDelaySeconds", KF_I32),
    F("timeoutSeconds", KF_I32),
    F("periodSeconds", KF_I32),
    F("successThreshold", KF_I32),
    F("failureThreshold", KF_I32),
    F_P("terminationGracePeriodSeconds", KF_I64),
};
static const struct kube_type probe = TYPE("Probe", CORE "Probe", probe_fields);

static const struct kube_field capabilities_fields[] = {F("add", KF_STRS), F("drop", KF_STRS)};
static const struct kube_type capabilities =
    TYPE("Capabilities", CORE "Capabilities", capabilities_fields);
static const struct kube_field profile_fields[] = {F_R("type", KF_STR),
                                                   F_P("localhostProfile", KF_STR)};
static const struct kube_type seccomp_profile =
    TYPE("SeccompProfile", CORE "SeccompProfile", profile_fields);
static const struct kube_type app_armor_profile =
    TYPE("AppArmorProfile", CORE "AppArmorProfile", profile_fields);
static const struct kube_field security_fields[] = {
    OBJ_P("capabilities", capabilities),
    F_P("privileged", KF_BOOL),
    F("seLinuxOptions", KF_ANY),
    F("windowsOptions", KF_ANY),
    F_P("runAsUser", KF_I64),
    F_P("runAsGroup", KF_I64),
    F_P("runAsNonRoot", KF_BOOL),
    F_P("readOnlyRootFilesystem", KF_BOOL),
    F_P("allowPrivilegeEscalation", KF_BOOL),
    F_P("procMount", KF_STR),
    OBJ_P("seccompProfile", seccomp_profile),
    OBJ_P("appArmorProfile", app_armor_profile),
};
static const struct kube_type security_context =
    TYPE("SecurityContext", CORE "SecurityContext", security_fields);

static const struct kube_field container_fields[] = {
    F_R("name", KF_STR),
    F("image", KF_STR),
    F("command", KF_STRS),
    F("args", KF_STRS),
    F("workingDir", KF_STR),
    OBJS_BY2("ports", container_port, "containerPort", "containerPort,protocol"),
    F("envFrom", KF_ANY),
    OBJS_BY("env", env_var, "name"),
    OBJ_K("resources", resources),
    F("resizePolicy", KF_ANY),
    F_P("restartPolicy", KF_STR),
    F("restartPolicyRules", KF_ANY),
    OBJS_BY("volumeMounts", volume_mount, "mountPath"),
    F("volumeDevices", KF_ANY),
    OBJ_P("livenessProbe", probe),
    OBJ_P("readinessProbe", probe),
    OBJ_P("startupProbe", probe),
    F("lifecycle", KF_ANY),
    F("terminationMessagePath", KF_STR),
    F("terminationMessagePolicy", KF_STR),
    F("imagePullPolicy", KF_STR),
    OBJ_P("securityContext", security_context),
    F("stdin", KF_BOOL),
    F("stdinOnce", KF_BOOL),
    F("tty", KF_BOOL),
};
static const struct kube_type container = TYPE("Container", CORE "Container", container_fields);

/* --- PodSpec ---------------------------------------------------------------------------------- */
static const struct kube_field config_volume_fields[] = {
    F("name", KF_STR),
    F("items", KF_ANY),
    F_P("defaultMode", KF_I32),
    F_P("optional", KF_BOOL),
};
static const struct kube_type config_volume =
    TYPE("ConfigMapVolumeSource", CORE "ConfigMapVolumeSource", config_volume_fields);
static const struct kube_field secret_volume_fields[] = {
    F("secretName", KF_STR),
    F("items", KF_ANY),
    F_P("defaultMode", KF_I32),
    F_P("optional", KF_BOOL),
};
static const struct kube_type secret_volume =
    TYPE("SecretVolumeSource", CORE "SecretVolumeSource", secret_volume_fields);
static const struct kube_field volume_fields[] = {
    F_R("name", KF_STR),
    F("hostPath", KF_ANY),
    F("emptyDir", KF_ANY),
    F("gcePersistentDisk", KF_ANY),
    F("awsElasticBlockStore", KF_ANY),
    F("gitRepo", KF_ANY),
    OBJ_P("secret", secret_volume),
    F("nfs", KF_ANY),
    F("iscsi", KF_ANY),
    F("glusterfs", KF_ANY),
    F("persistentVolumeClaim", KF_ANY),
    F("rbd", KF_ANY),
    F("flexVolume", KF_ANY),
    F("cinder", KF_ANY),
    F("cephfs", KF_ANY),
    F("flocker", KF_ANY),
    F("downwardAPI", KF_ANY),
    F("fc", KF_ANY),
    F("azureFile", KF_ANY),
    OBJ_P("configMap", config_volume),
    F("vsphereVolume", KF_ANY),
    F("quobyte", KF_ANY),
    F("azureDisk", KF_ANY),
    F("photonPersistentDisk", KF_ANY),
    F("projected", KF_ANY),
    F("portworxVolume", KF_ANY),
    F("scaleIO", KF_ANY),
    F("storageos", KF_ANY),
    F("csi", KF_ANY),
    F("ephemeral", KF_ANY),
    F("image", KF_ANY),
};
static const struct kube_type volume = TYPE("Volume", CORE "Volume", volume_fields);

static const struct kube_field pod_security_fields[] = {
    F("seLinuxOptions", KF_ANY),
    F("windowsOptions", KF_ANY),
    F_P("runAsUser", KF_I64),
    F_P("runAsGroup", KF_I64),
    F_P("runAsNonRoot", KF_BOOL),
    F("supplementalGroups", KF_ANY),
    F_P("supplementalGroupsPolicy", KF_STR),
    F_P("fsGroup", KF_I64),
    F("sysctls", KF_ANY),
    F_P("fsGroupChangePolicy", KF_STR),
    OBJ_P("seccompProfile", seccomp_profile),
    OBJ_P("appArmorProfile", app_armor_profile),
    F_P("seLinuxChangePolicy", KF_STR),
};
static const struct kube_type pod_security =
    TYPE("PodSecurityContext", CORE "PodSecurityContext", pod_security_fields);

static const struct kube_field local_reference_fields[] = {F("name", KF_STR)};
static const struct kube_type local_reference =
    TYPE("LocalObjectReference", CORE "LocalObjectReference", local_reference_fields);

static const struct kube_field preferred_fields[] = {
    F("requiredDuringSchedulingIgnoredDuringExecution", KF_ANY),
    F("preferredDuringSchedulingIgnoredDuringExecution", KF_ANY),
};
static const struct kube_type node_affinity =
    TYPE("NodeAffinity", CORE "NodeAffinity", preferred_fields);
static const struct kube_type pod_affinity =
    TYPE("PodAffinity", CORE "PodAffinity", preferred_fields);
static const struct kube_type pod_anti_affinity =
    TYPE("PodAntiAffinity", CORE "PodAntiAffinity", preferred_fields);
static const struct kube_field affinity_fields[] = {
    OBJ_P("nodeAffinity", node_affinity),
    OBJ_P("podAffinity", pod_affinity),
    OBJ_P("podAntiAffinity", pod_anti_affinity),
};
static const struct kube_type affinity = TYPE("Affinity", CORE "Affinity", affinity_fields);

static const struct kube_field toleration_fields[] = {
    F("key", KF_STR),
    F("operator", KF_STR),
    F("value", KF_STR),
    F("effect", KF_STR),
    F_P("tolerationSeconds", KF_I64),
};
static const struct kube_type toleration = TYPE("Toleration", CORE "Toleration", toleration_fields);

static const struct kube_field spread_fields[] = {
    F_R("maxSkew", KF_I32),           F_R("topologyKey", KF_STR),
    F_R("whenUnsatisfiable", KF_STR), OBJ_P("labelSelector", kube_type_label_selector),
    F_P("minDomains", KF_I32),        F_P("nodeAffinityPolicy", KF_STR),
    F_P("nodeTaintsPolicy", KF_STR),  F("matchLabelKeys", KF_STRS),
};
static const struct kube_type spread =
    TYPE("TopologySpreadConstraint", CORE "TopologySpreadConstraint", spread_fields);

static const struct kube_field pod_spec_fields[] = {
    OBJS_BY("volumes", volume, "name"),
    OBJS_BY("initContainers", container, "name"),
    {.name = "containers",
     .kind = KF_OBJS,
     .flags = KFF_KEEP | KFF_REQUIRED | KFF_MERGE,
     .type = &container,
     .merge_key = "name"},
    F("ephemeralContainers", KF_ANY),
    F("restartPolicy", KF_STR),
    F_P("terminationGracePeriodSeconds", KF_I64),
    F_P("activeDeadlineSeconds", KF_I64),
    F("dnsPolicy", KF_STR),
    F("nodeSelector", KF_STR_MAP),
    F("serviceAccountName", KF_STR),
    F("serviceAccount", KF_STR),
    F_P("automountServiceAccountToken", KF_BOOL),
    F("nodeName", KF_STR),
    F("hostNetwork", KF_BOOL),
    F("hostPID", KF_BOOL),
    F("hostIPC", KF_BOOL),
    F_P("shareProcessNamespace", KF_BOOL),
    OBJ_P("securityContext", pod_security),
    OBJS_BY("imagePullSecrets", local_reference, "name"),
    F("hostname", KF_STR),
    F("subdomain", KF_STR),
    OBJ_P("affinity", affinity),
    F("schedulerName", KF_STR),
    OBJS("tolerations", toleration),
    F("hostAliases", KF_ANY),
    F("priorityClassName", KF_STR),
    F_P("priority", KF_I32),
    F("dnsConfig", KF_ANY),
    F("readinessGates", KF_ANY),
    F_P("runtimeClassName", KF_STR),
    F_P("enableServiceLinks", KF_BOOL),
    F_P("preemptionPolicy", KF_STR),
    F("overhead", KF_QTY_MAP),
    OBJS_BY2("topologySpreadConstraints", spread, "topologyKey", "topologyKey,whenUnsatisfiable"),
    F_P("setHostnameAsFQDN", KF_BOOL),
    F("os", KF_ANY),
    F_P("hostUsers", KF_BOOL),
    F("schedulingGates", KF_ANY),
    F("resourceClaims", KF_ANY),
    OBJ_P("resources", resources),
    F_P("hostnameOverride", KF_STR),
};
static const struct kube_type pod_spec = TYPE("PodSpec", CORE "PodSpec", pod_spec_fields);

/* --- PodStatus -------------------------------------------------------------------------------- */
static const struct kube_field pod_condition_fields[] = {
    F_R("type", KF_STR),           F("observedGeneration", KF_I64),    F_R("status", KF_STR),
    F_K("lastProbeTime", KF_TIME), F_K("lastTransitionTime", KF_TIME), F("reason", KF_STR),
    F("message", KF_STR),
};
static const struct kube_type pod_condition =
    TYPE("PodCondition", CORE "PodCondition", pod_condition_fields);
static const struct kube_field ip_fields[] = {F_R("ip", KF_STR)};
static const struct kube_type pod_ip = TYPE("PodIP", CORE "PodIP", ip_fields);
static const struct kube_type host_ip = TYPE("HostIP", CORE "HostIP", ip_fields);
static const struct kube_field pod_status_fields[] = {
    F("observedGeneration", KF_I64),
    F("phase", KF_STR),
    OBJS_BY("conditions", pod_condition, "type"),
    F("message", KF_STR),
    F("reason", KF_STR),
    F("nominatedNodeName", KF_STR),
    F("hostIP", KF_STR),
    OBJS_BY("hostIPs", host_ip, "ip"),
    F("podIP", KF_STR),
    OBJS_BY("podIPs", pod_ip, "ip"),
    F_P("startTime", KF_TIME),
    F("initContainerStatuses", KF_ANY),
    F("containerStatuses", KF_ANY),
    F("qosClass", KF_STR),
    F("ephemeralContainerStatuses", KF_ANY),
    F("resize", KF_STR),
    F("resourceClaimStatuses", KF_ANY),
    F("extendedResourceClaimStatus", KF_ANY),
    F("allocatedResources", KF_QTY_MAP),
    OBJ_P("resources", resources),
};
static const struct kube_type pod_status = TYPE("PodStatus", CORE "PodStatus", pod_status_fields);

static const struct kube_field pod_fields[] = {WITH_STATUS(pod_spec, pod_status)};
const struct kube_type kube_type_pod = TYPE("Pod", CORE "Pod", pod_fields);

static const struct kube_field template_fields[] = {
    OBJ_K("metadata", kube_type_object_meta),
    OBJ_K("spec", pod_spec),
};
const struct kube_type kube_type_pod_template =
    TYPE("PodTemplateSpec", CORE "PodTemplateSpec", template_fields);
