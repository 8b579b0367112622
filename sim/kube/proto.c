/* SPDX-License-Identifier: Apache-2.0 */
/* proto.c: reads protobuf bodies by the type tables and the field numbers below.
 *
 * A body is four bytes "k8s\0" and a runtime.Unknown whose second field holds the object.  Lengths
 * are checked against what is left; fields that have no name here are passed over.  Source: the
 * wire format of Protocol Buffers; the field numbers of the published generated.proto files of
 * k8s.io/api and apimachinery. */
#include "sim/kube/proto.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/data/json.h"

#include <string.h>

#define DEPTH_MAX 32
#define CRD       "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

/* Names by field number, from 1; gaps are empty. */
static const struct {
    const char *def_name, *names;
} numbers[] = {
    {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
     "name,generateName,namespace,selfLink,uid,resourceVersion,generation,creationTimestamp,"
     "deletionTimestamp,deletionGracePeriodSeconds,labels,annotations,ownerReferences,finalizers"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
     "kind,,name,uid,apiVersion,controller,blockOwnerDeletion"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
     "gracePeriodSeconds,preconditions,orphanDependents,propagationPolicy,dryRun"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions", "uid,resourceVersion"},
    {CRD "CustomResourceDefinition", "metadata,spec"},
    {CRD "CustomResourceDefinitionSpec",
     "group,,names,scope,,,versions,,conversion,preserveUnknownFields"},
    {CRD "CustomResourceDefinitionNames", "plural,singular,shortNames,kind,listKind,categories"},
    {CRD "CustomResourceDefinitionVersion",
     "name,served,storage,,subresources,additionalPrinterColumns,deprecated,deprecationWarning"},
    {CRD "CustomResourceSubresources", "status,scale"},
    {CRD "CustomResourceSubresourceStatus", ","},
    {CRD "CustomResourceSubresourceScale", "specReplicasPath,statusReplicasPath,labelSelectorPath"},
    {CRD "CustomResourceColumnDefinition", "name,type,format,description,priority,jsonPath"},
    {CRD "CustomResourceConversion", "strategy"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "matchLabels,matchExpressions"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "key,operator,values"},
    {"io.k8s.api.apps.v1.Deployment", "metadata,spec,status"},
    {"io.k8s.api.apps.v1.DeploymentSpec",
     "replicas,selector,template,strategy,minReadySeconds,revisionHistoryLimit,paused,,"
     "progressDeadlineSeconds"},
    {"io.k8s.api.apps.v1.DeploymentStrategy", "type,rollingUpdate"},
    {"io.k8s.api.apps.v1.RollingUpdateDeployment", "maxUnavailable,maxSurge"},
    {"io.k8s.api.core.v1.PodTemplateSpec", "metadata,spec"},
    {"io.k8s.api.core.v1.PodSpec",
     "volumes,containers,restartPolicy,terminationGracePeriodSeconds,activeDeadlineSeconds,"
     "dnsPolicy,nodeSelector,serviceAccountName,serviceAccount,nodeName,hostNetwork,hostPID,"
     "hostIPC,"
     "securityContext,imagePullSecrets,hostname,subdomain,affinity,schedulerName,initContainers,"
     "automountServiceAccountToken,tolerations"},
    {"io.k8s.api.core.v1.Toleration", "key,operator,value,effect,tolerationSeconds"},
    {"io.k8s.api.core.v1.Container",
     "name,image,command,args,workingDir,ports,env,,,,,,terminationMessagePath,imagePullPolicy,,"
     "stdin,stdinOnce,tty,,terminationMessagePolicy"},
    {"io.k8s.api.core.v1.ContainerPort", "name,hostPort,containerPort,protocol,hostIP"},
    {"io.k8s.api.core.v1.EnvVar", "name,value"},
    {"io.k8s.api.core.v1.Namespace", "metadata,spec,status"},
    {"io.k8s.api.core.v1.NamespaceSpec", "finalizers"},
    {"io.k8s.api.core.v1.NamespaceStatus", "phase"},
    {"io.k8s.api.core.v1.ConfigMap", "metadata,data,binaryData,immutable"},
    {"io.k8s.api.core.v1.Secret", "metadata,data,type,stringData,immutable"},
    {"io.k8s.api.core.v1.ServiceAccount",
     "metadata,secrets,imagePullSecrets,automountServiceAccountToken"},
    {"io.k8s.api.core.v1.Service", "metadata,spec,status"},
    {"io.k8s.api.core.v1.ServiceSpec",
     "ports,selector,clusterIP,type,externalIPs,,sessionAffinity,loadBalancerIP,"
     "loadBalancerSourceRanges,"
     "externalName,externalTrafficPolicy,healthCheckNodePort,publishNotReadyAddresses,"
     "sessionAffinityConfig,,,ipFamilyPolicy,clusterIPs,ipFamilies,allocateLoadBalancerNodePorts,"
     "loadBalancerClass,internalTrafficPolicy,trafficDistribution"},
    {"io.k8s.api.core.v1.ServicePort", "name,protocol,port,targetPort,nodePort,appProtocol"},
    {"io.k8s.api.core.v1.SessionAffinityConfig", "clientIP"},
    {"io.k8s.api.core.v1.ClientIPConfig", "timeoutSeconds"},
    {"io.k8s.api.core.v1.ServiceStatus", "loadBalancer"},
    {"io.k8s.api.core.v1.LoadBalancerStatus", "ingress"},
    {"io.k8s.api.core.v1.LoadBalancerIngress", "ip,hostname,ipMode,ports"},
    {"io.k8s.api.core.v1.PortStatus", "port,protocol,error"},
    {"io.k8s.api.core.v1.Event", "metadata,involvedObject,reason,message,source,firstTimestamp,"
                                 "lastTimestamp,count,type,eventTime,"
                                 "series,action,related,reportingComponent,reportingInstance"},
    {"io.k8s.api.core.v1.ObjectReference",
     "kind,namespace,name,uid,apiVersion,resourceVersion,fieldPath"},
    {"io.k8s.api.core.v1.EventSource", "component,host"},
    {"io.k8s.api.core.v1.EventSeries", "count,lastObservedTime"},
    {"io.k8s.api.events.v1.Event",
     "metadata,eventTime,series,reportingController,reportingInstance,action,reason,regarding,"
     "related,note,type,deprecatedSource,deprecatedFirstTimestamp,deprecatedLastTimestamp,"
     "deprecatedCount"},
    {"io.k8s.api.events.v1.EventSeries", "count,lastObservedTime"},
    {"io.k8s.api.coordination.v1.Lease", "metadata,spec"},
    {"io.k8s.api.coordination.v1.LeaseSpec",
     "holderIdentity,leaseDurationSeconds,acquireTime,renewTime,leaseTransitions,strategy,"
     "preferredHolder"},
    {"io.k8s.api.authentication.v1.TokenReview", "metadata,spec,status"},
    {"io.k8s.api.authentication.v1.TokenReviewSpec", "token,audiences"},
    {"io.k8s.api.authorization.v1.SubjectAccessReview", "metadata,spec,status"},
    {"io.k8s.api.authorization.v1.SubjectAccessReviewSpec",
     "resourceAttributes,nonResourceAttributes,user,groups,,uid"},
    {"io.k8s.api.authorization.v1.SelfSubjectAccessReview", "metadata,spec,status"},
    {"io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
     "resourceAttributes,nonResourceAttributes"},
    {"io.k8s.api.authorization.v1.ResourceAttributes",
     "namespace,verb,group,version,resource,subresource,name"},
    {"io.k8s.api.authorization.v1.NonResourceAttributes", "path,verb"},
};

struct wire {
    struct arena *arena;
    const unsigned char *p, *end;
    int depth;
    bool *broken; /* set when anything is malformed */
};

/* One field: its number and its content. */
struct wire_field {
    uint64_t number;
    int type;          /* 0 varint, 1 and 5 fixed, 2 bytes */
    uint64_t value;    /* varint */
    struct wire bytes; /* type 2 */
};

static struct json_object *read_message(struct wire *w, const struct kube_type *type);
static void fill_message(struct wire *w, const struct kube_type *type, struct json_object *o);

static bool read_varint(struct wire *w, uint64_t *ret)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && w->p < w->end; shift += 7) {
        unsigned char c = *w->p++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

/* False at the end and, with w->broken, for malformed input. */
static bool read_field(struct wire *w, struct wire_field *ret)
{
    const unsigned char *start = w->p;
    uint64_t key = 0;
    if (w->p >= w->end) {
        return false;
    }
    if (!read_varint(w, &key)) {
        *w->broken = true;
        return false;
    }
    *ret = (struct wire_field){.number = key >> 3, .type = (int)(key & 7)};
    size_t fixed = ret->type == 1 ? 8 : 4;
    switch (ret->type) {
    case 0:
        if (read_varint(w, &ret->value)) {
            return true;
        }
        break;
    case 1:
    case 5:
        if ((size_t)(w->end - w->p) >= fixed) {
            w->p += fixed;
            return true;
        }
        break;
    case 2:
        if (read_varint(w, &ret->value) && ret->value <= (uint64_t)(w->end - w->p)) {
            ret->bytes = (struct wire){w->arena, w->p, w->p + ret->value, w->depth + 1, w->broken};
            w->p += ret->value;
            return true;
        }
        break;
    default:
        break;
    }
    w->p = start;
    *w->broken = true;
    return false;
}

static const char *names_of(const struct kube_type *type)
{
    for (size_t i = 0; type->def_name && i < ARRAY_LEN(numbers); i++) {
        if (str_eq(numbers[i].def_name, type->def_name)) {
            return numbers[i].names;
        }
    }
    return NULL;
}

static const struct kube_field *field_at(struct arena *a, const struct kube_type *type,
                                         uint64_t number)
{
    size_t n = 0;
    char **names = str_split(a, str_nonnull(names_of(type)), ',', &n);
    return number >= 1 && number <= n ? kube_type_field(type, names[number - 1]) : NULL;
}

static struct json_object *text_of(const struct wire *w)
{
    return json_object_new_string_len((const char *)w->p, (int)(w->end - w->p));
}

static struct json_object *base64_of(const struct wire *w)
{
    return json_object_new_string(
        str_base64_encode(w->arena, w->p, (size_t)(w->end - w->p), false));
}

/* Seconds and nanoseconds; nothing for the zero time. */
static struct json_object *read_time(struct wire w, bool micro)
{
    struct wire_field f;
    uint64_t parts[3] = {0};
    char text[40];
    while (read_field(&w, &f)) {
        if (f.number < ARRAY_LEN(parts) && f.type == 0) {
            parts[f.number] = f.value;
        }
    }
    int64_t seconds = (int64_t)parts[1];
    if (seconds <= 0 || seconds > INT64_MAX / 2000000) {
        return NULL;
    }
    int64_t wall_us = seconds * 1000000 + (int64_t)(parts[2] % 1000000000) / 1000;
    if (micro) {
        time_format_micro(wall_us, text);
    } else {
        time_format_rfc3339(wall_us, text);
    }
    return json_object_new_string(text);
}

static struct json_object *read_int_or_str(struct wire w)
{
    struct wire_field f;
    bool is_text = false;
    int32_t number = 0;
    struct json_object *text = NULL;
    while (read_field(&w, &f)) {
        if (f.number == 1 && f.type == 0) {
            is_text = f.value == 1;
        } else if (f.number == 2 && f.type == 0) {
            number = (int32_t)f.value;
        } else if (f.number == 3 && f.type == 2) {
            json_object_put(text);
            text = text_of(&f.bytes);
        }
    }
    if (is_text && text) {
        return text;
    }
    json_object_put(text);
    return json_object_new_int(number);
}

static void read_map_entry(struct wire w, bool bytes, struct json_object *map)
{
    struct wire_field f;
    const char *key = "";
    struct json_object *value = NULL;
    while (read_field(&w, &f)) {
        if (f.number == 1 && f.type == 2) {
            key =
                arena_strndup(w.arena, (const char *)f.bytes.p, (size_t)(f.bytes.end - f.bytes.p));
        } else if (f.number == 2 && f.type == 2) {
            json_object_put(value);
            value = bytes ? base64_of(&f.bytes) : text_of(&f.bytes);
        }
    }
    json_object_object_add(map, key, value ? value : json_object_new_string(""));
}

static struct json_object *read_number(const struct kube_field *kf, uint64_t value)
{
    switch (kf->kind) {
    case KF_BOOL:
        return json_object_new_boolean(value != 0);
    case KF_I32:
        return json_object_new_int((int32_t)value);
    case KF_I64:
        return json_object_new_int64((int64_t)value);
    default:
        return NULL;
    }
}

static struct json_object *read_value(const struct kube_field *kf, struct wire_field *f)
{
    if (f->type == 0) {
        return read_number(kf, f->value);
    }
    switch (kf->kind) {
    case KF_TIME:
    case KF_MICROTIME:
        return read_time(f->bytes, kf->kind == KF_MICROTIME);
    case KF_INT_OR_STR:
        return read_int_or_str(f->bytes);
    case KF_STR:
    case KF_STRS:
        return text_of(&f->bytes);
    case KF_OBJ:
    case KF_OBJS:
        return read_message(&f->bytes, kf->type);
    default:
        return NULL;
    }
}

/* Adds one field to the object: lists and maps grow, others are set. */
static void add_value(struct json_object *o, const struct kube_field *kf, struct wire_field *f)
{
    bool is_map = kf->kind == KF_STR_MAP || kf->kind == KF_BYTES_MAP;
    bool is_list = kf->kind == KF_STRS || kf->kind == KF_OBJS;
    struct json_object *all = json_member(o, kf->name);
    if ((is_map || is_list) && !all) {
        all = is_map ? json_object_new_object() : json_object_new_array();
        json_object_object_add(o, kf->name, all);
    }
    if (is_map) {
        if (f->type == 2) {
            read_map_entry(f->bytes, kf->kind == KF_BYTES_MAP, all);
        }
        return;
    }
    struct json_object *v = read_value(kf, f);
    if (is_list && v) {
        json_object_array_add(all, v);
    } else if (v) {
        json_object_object_add(o, kf->name, v);
    }
}

/* Fields after a malformed one are missing. */
static void fill_message(struct wire *w, const struct kube_type *type, struct json_object *o)
{
    struct wire_field f;
    while (read_field(w, &f)) {
        const struct kube_field *kf = field_at(w->arena, type, f.number);
        if (kf && (f.type == 0 || f.type == 2)) {
            add_value(o, kf, &f);
        }
    }
}

static struct json_object *read_message(struct wire *w, const struct kube_type *type)
{
    if (w->depth > DEPTH_MAX) {
        *w->broken = true;
        return NULL;
    }
    struct json_object *o = json_object_new_object();
    fill_message(w, type, o);
    return o;
}

/* --- the envelope ----------------------------------------------------------------------------- */
/* The sender's name of the object; empty names are ignored. */
static void read_type_meta(struct wire w, struct json_object *o)
{
    static const char *const names[] = {NULL, "apiVersion", "kind"};
    struct wire_field f;
    while (read_field(&w, &f)) {
        bool named = f.type == 2 && f.number >= 1 && f.number < ARRAY_LEN(names);
        if (named && f.bytes.p < f.bytes.end) {
            json_object_object_add(o, names[f.number], text_of(&f.bytes));
        }
    }
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

bool kube_proto_knows(const struct kube_type *type)
{
    return names_of(type) != NULL;
}

const char *kube_proto_read(struct arena *a, const struct kube_type *type, const char *body,
                            size_t n, struct json_object **ret)
{
    static const char magic[] = "k8s";
    const unsigned char *start = (const unsigned char *)body;
    bool broken = false;
    bool found = false;
    struct wire w = {.arena = a, .p = start, .end = start + n, .broken = &broken};
    struct wire_field f;
    if (n < sizeof(magic) || memcmp(body, magic, sizeof(magic)) != 0) {
        return KUBE_PROTO_NO_MAGIC;
    }
    w.p += sizeof(magic);
    struct json_object *o = json_object_new_object();
    arena_defer(a, put_tree, o);
    while (read_field(&w, &f)) {
        if (f.number == 1 && f.type == 2) {
            read_type_meta(f.bytes, o);
        } else if (f.number == 2 && f.type == 2) {
            found = true;
            fill_message(&f.bytes, type, o);
        }
    }
    if (broken || !found) {
        return "unexpected EOF";
    }
    *ret = o;
    return NULL;
}
